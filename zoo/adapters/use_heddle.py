"""Heddle, by its command line: info, query, breakdown, launches, steps, summary, job, diff, each with --json."""
import json
import os
import subprocess

from adapter import Refused

TITLE = "Heddle"
DOCUMENTED = "heddle info, query, flame, diff, report breakdown, steps, summary, job"
GPU = ("open", "counts", "gpu_busy", "launches", "steps", "exposed_communication", "findings")
STACKS = ("folded", "perf-script", "perf-data", "speedscope", "gecko", "cpuprofile", "pprof")
CLAIMS = {**dict.fromkeys(("kineto", "chrome-gpu", "cupti", "nsys", "rocpd", "rpd", "rocprofv3", "xplane", "ascend", "xctrace", "ftrace"), GPU),
          **dict.fromkeys(("chrome", "pftrace", "chakra", *STACKS), ("open", "counts")),
          "kineto-job": ("open", "exposed_communication", "findings"), "kineto-pair": ("open", "diff")}
PROGRAM = os.environ.get("ZOO_HEDDLE", "heddle")
COUNTS = """
select 'kernels' k, count(*) n from slice where role = 'kernel' union all
select 'copies', count(*) from slice where role = 'copy' union all
select 'memsets', count(*) from slice where role = 'set' union all
select 'calls', count(*) from slice where role in ('runtime', 'driver') or role = 'sync' and (select device from track where id = track_id) is null union all
select 'slices', count(*) from slice where type <> 'instant' union all
select 'instants', count(*) from slice where type = 'instant' union all
select 'nodes', count(*) from slice where type = 'slice' union all
select 'flows', count(*) from flow where slice_out is not null and slice_in is not null union all
select 'counters', count(*) from counter union all
select 'samples', max(n) from (select count(*) n from stack_sample group by name) union all
select 'slice_ns', sum(dur) from slice where type <> 'instant'
"""
NAMED = "select name, sum(dur) ns from slice where type <> 'instant' group by 1"
LAUNCHES = "select count(*) n, sum(work_ts - ts) ns from launch where launch_id is not null and work_id is not null"
LEDGER = "select group_concat(code || ' ' || count, ', ') said from ledger where level <> 'note'"


def version(_):
    return subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout.split("\n")[0]


class Tool:
    def __init__(self, form, files):
        self.form, self.files, self.made = form, files, {}

    def run(self, *words, files=None):
        key = (words, tuple(files or self.files))
        if key not in self.made:
            done = subprocess.run([PROGRAM, *words, "--json", *key[1]], capture_output=True, text=True, errors="replace")
            if done.returncode < 0:
                raise RuntimeError(f"ended by signal {-done.returncode}: {done.stderr[-200:]}")
            if not done.stdout.strip():
                raise Refused(done.stderr.strip())
            self.made[key] = self.parse(done.stdout)
        return self.made[key]

    @staticmethod
    def parse(text):
        """One JSON text, or several of several statements."""
        decoder, out, at = json.JSONDecoder(), [], 0
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            out.append(value)
            while at < len(text) and text[at].isspace():
                at += 1
        return out[0] if len(out) == 1 else out

    def one(self, report, *words):
        got = self.run("report", report, *words)
        return got[0] if isinstance(got, list) else got

    def trust(self, report):
        """What the report says is doubtful in its own rows."""
        rows = [row.get("doubt") for name, table in report.items() if isinstance(table, list) for row in table if isinstance(row, dict)]
        return "; ".join(sorted({str(d) for d in rows if d})) or None

    def query(self):
        key = "query"
        if key not in self.made:
            done = subprocess.run([PROGRAM, "query", "--json", *self.files[:1], ";".join((COUNTS, NAMED, LEDGER, LAUNCHES))], capture_output=True, text=True, errors="replace")
            if done.returncode < 0:
                raise RuntimeError(f"ended by signal {-done.returncode}")
            if done.returncode:
                raise Refused(done.stderr.strip())
            self.made[key] = self.parse(done.stdout)
        return self.made[key]

    def open(self):
        info = self.run("info")
        return {"opens": len(info) if isinstance(info, list) else 1}

    def counts(self):
        counts, named, ledger, _ = self.query()
        got = {**{r["k"]: r["n"] for r in counts if r["n"] is not None}, "slice_named": {r["name"]: r["ns"] for r in named}}
        if self.form in STACKS:
            done = subprocess.run([PROGRAM, "flame", "-q", "-o", "-", *self.files], capture_output=True, text=True, errors="replace")
            got["weight"] = sum(int(line.rpartition(" ")[2]) for line in done.stdout.splitlines())
        return got, ledger[0]["said"]

    def breakdown(self, column):
        report = self.one("breakdown")
        return {str(n if r["device"] is None else r["device"]): r[column] for n, r in enumerate(report["breakdown"])}, self.trust(report)

    def gpu_busy(self):
        return self.breakdown("busy")

    def exposed_communication(self):
        if self.form == "kineto-job":
            got = self.run("report", "breakdown")
            return {str(g["breakdown"][0]["rank"]): g["breakdown"][0]["exposed_communication"] for g in got}
        return self.breakdown("exposed_communication")

    def launches(self):
        rows = self.query()[3]
        return {"matched": rows[0]["n"], "delay_ns": rows[0]["ns"] or 0}

    def steps(self):
        return {"steps": [[r["step"], r["duration"]] for r in self.one("steps")["steps"]]}

    def findings(self):
        if self.form == "kineto-job":
            found = [f for f in self.one("job")["findings"] if f["severity"] != "note" and f["ranks"]]
            return {"straggler": int(found[0]["ranks"].split(",")[0]) if found else None}
        report = self.one("summary")
        return {"culprits": [f["code"] for f in report["findings"]]}

    def diff(self):
        got = self.run("diff")
        if got["verdict"] is None or got["step"]["before_ns"] is None:
            raise Refused("; ".join(got["reasons"]))
        rows, out = got["rows"], {}
        for r in rows:
            if r["kind"] in ("kernel", "copy", "memset"):
                for name, ns in ((r["name"], -r["before_ns"]), (r["name_after"] or r["name"], r["after_ns"])):
                    out[name] = out.get(name, 0) + (ns or 0)
        return {"step_change_ns": got["step"]["change_ns"], "changed": {k: v for k, v in out.items() if abs(v) > 20_000}}
