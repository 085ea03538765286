"""Perfetto's trace processor, the WebAssembly build of its UI: SQL over the tables that its documentation names."""
import gzip
import json
import os
import subprocess
import sys

import adapter

TITLE = "Perfetto"
DOCUMENTED = "trace_processor: SQL on slice, flow, counter, perf_sample, stats"
CLAIMS = {**dict.fromkeys(("kineto", "chrome", "chrome-gpu", "pftrace"), ("open", "counts", "launches")), **dict.fromkeys(("perf-script", "perf-data"), ("open", "counts"))}
HERE = os.path.dirname(os.path.abspath(__file__))
ENGINE = os.path.join(HERE, "../../tests/web/perfetto")
LOSSES = "select group_concat(name || ' ' || value, ', ') from (select name, sum(value) value from stats where value <> 0 and (severity in ('error', 'data_loss') or name like 'flow%') group by 1)"
SQL = {
    "kernels": "select count(*) from slice where lower(category) in ('kernel', 'gpu_kernel')",
    "copies": "select count(*) from slice where lower(category) in ('gpu_memcpy', 'memcpy')",
    "memsets": "select count(*) from slice where lower(category) in ('gpu_memset', 'memset')",
    "calls": "select count(*) from slice where lower(category) like '%runtime'",
    "slices_and_instants": "select count(*) from slice",
    "slice_ns": "select total(dur) from slice where dur > 0",
    "flows": "select count(*) from flow",
    "counters": "select count(*) from counter",
    "samples": "select (select count(*) from perf_sample where callsite_id is not null) + (select count(*) from cpu_profile_stack_sample)",
    "slice_named": "select name, sum(dur) from slice group by 1",
    "matched": "select count(*) from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in where lower(a.category) like '%runtime' or lower(a.category) like 'cpu_op'",
    "delay_ns": "select total(b.ts - a.ts) from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in where lower(a.category) like '%runtime' or lower(a.category) like 'cpu_op'",
    "unfinished": "select count(*) from slice where dur = -1",
    "said": LOSSES,
}
OF = {"kineto": ("kernels", "copies", "memsets", "calls", "slices_and_instants", "flows"), "chrome": ("slices_and_instants", "slice_ns", "flows", "counters", "slice_named"), "chrome-gpu": (),
      "pftrace": ("slices_and_instants", "slice_ns")}


class Tool:
    def __init__(self, form, files):
        self.form, self.file, self.rows = form, files[0], None

    def ask(self, *names):
        if self.rows is None:
            done = subprocess.run(["node", os.path.join(HERE, "perfetto.mjs"), ENGINE, self.file, *SQL.values()], capture_output=True, text=True)
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            if lines and "error" in lines[0]:
                raise adapter.Refused(lines[0]["error"].strip().split("\n")[0])
            if len(lines) < len(SQL):
                raise RuntimeError(done.stderr.strip().split("\n")[-1][:300] or "ended without an answer")
            self.rows = {name: line["rows"] for name, line in zip(SQL, lines)}
        return {n: dict(self.rows[n]) if n == "slice_named" else self.rows[n][0][0] for n in names}

    def said(self):
        losses, open_ = self.ask("said", "unfinished").values()
        return ", ".join(filter(None, (losses, f"{open_} slices did not end" if open_ else None))) or None

    def open(self):
        self.ask("said")
        return {"opens": 1}

    def counts(self):
        return self.ask(*OF.get(self.form, ("samples",))), self.said()

    def launches(self):
        if self.form != "kineto":
            raise adapter.NotClaimed("its flows are arrows; that they are launches is a convention of Kineto")
        with open(self.file, "rb") as file:
            data = file.read()
        if b'"ph": "s"' not in (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data):
            raise adapter.NotClaimed("the file has no flows")
        return self.ask("matched", "delay_ns"), self.said()


if __name__ == "__main__":
    adapter.main(sys.modules[__name__])
