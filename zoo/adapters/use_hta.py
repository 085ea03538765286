"""Holistic Trace Analysis: its Python interface, as its documentation's features have it. The last step is included."""
import gzip
import os
import re
import shutil
import tempfile
import warnings

import adapter

TITLE = "HTA"
DOCUMENTED = "TraceAnalysis(trace_files, include_last_profiler_step=True): get_temporal_breakdown, get_gpu_kernel_breakdown, get_cuda_kernel_launch_stats, get_potential_stragglers; TraceDiff.compare_traces"
CLAIMS = {"kineto": ("open", "counts", "gpu_busy", "launches", "exposed_communication"), "kineto-job": ("open", "exposed_communication", "findings"), "kineto-pair": ("open", "diff")}


LAUNCHES = {"cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync"}


class Tool:
    def __init__(self, form, files):
        warnings.filterwarnings("ignore")
        self.form, self.files = form, files
        self.analysis = None

    def trace(self):
        if self.analysis is None:
            from hta.trace_analysis import TraceAnalysis
            self.analysis = TraceAnalysis(trace_files=dict(enumerate(self.files)), include_last_profiler_step=True)
        return self.analysis

    def open(self):
        return {"opens": sum(len(self.trace().t.get_trace(rank)) > 0 for rank in range(len(self.files)))}

    def counts(self):
        trace = self.trace().t
        words = trace.symbol_table.sym_table
        by = trace.get_trace(0)["cat"].map(lambda i: words[i].lower()).value_counts().to_dict()
        slices = sum(by.values())
        return {"kernels": by.get("kernel", 0), "copies": by.get("gpu_memcpy", 0) + by.get("memcpy", 0), "memsets": by.get("gpu_memset", 0) + by.get("memset", 0),
                "calls": sum(n for c, n in by.items() if "runtime" in c), "slices": slices}

    def breakdown(self, rank=0):
        rows = self.trace().get_temporal_breakdown(visualize=False)
        return rows[rows["rank"] == rank].iloc[0]

    def gpu_busy(self):
        row = self.breakdown()
        return {"any": 1000 * float(row["kernel_time(us)"] - row["idle_time(us)"])}, self.rounding()

    def rounding(self):
        """It rounds the times of slices down to whole µs, and logs that."""
        with open(self.files[0], "rb") as file:
            data = file.read()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode(errors="replace")
        return "times are rounded down to whole µs" if re.search(r'"(ts|dur)": \d+\.\d*[1-9]', text) else None

    def exposed_communication(self):
        kinds, _ = self.trace().get_gpu_kernel_breakdown(visualize=False)
        alone = kinds[kinds["kernel_type"].isin(["COMMUNICATION", "COMMUNICATION overlapping MEMORY"])]
        return {"all" if self.form == "kineto-job" else "kernels": 1000 * float(alone["sum"].sum())}, self.rounding()  # all: summed over ranks

    def launches(self):
        if not LAUNCHES & set(self.trace().t.symbol_table.sym_table):
            raise adapter.NotClaimed("of these three calls, as its documentation says")
        stats = self.trace().get_cuda_kernel_launch_stats(ranks=[0], visualize=False)
        return {"matched": len(stats[0])}

    def findings(self):
        found = self.trace().get_potential_stragglers(num_candidates=1)
        return {"straggler": found[0] if len(found) else None}

    def diff(self):
        from hta.common.trace import Trace
        from hta.trace_diff import DeviceType, LabeledTrace, TraceDiff
        sides = []
        for n, file in enumerate(self.files):
            folder = tempfile.mkdtemp()
            shutil.copy(file, os.path.join(folder, "rank0.json.gz"))
            trace = Trace(trace_files={0: os.path.join(folder, "rank0.json.gz")}, trace_dir=folder)
            trace.parse_traces(use_multiprocessing=False)
            trace.decode_symbol_ids()
            sides.append(LabeledTrace(label=("before", "after")[n], t=trace))
        steps = range(2, 10)
        rows = TraceDiff.compare_traces(*sides, control_iteration=list(steps), test_iteration=list(steps), device_type=DeviceType.GPU)
        changed = {name: 1000 * float(row["diff_duration"]) / len(steps) for name, row in rows.iterrows()}
        return {"changed": {k: v for k, v in changed.items() if abs(v) > 20_000}, "printed_to_ns": 20_000}


if __name__ == "__main__":
    import sys
    adapter.main(sys.modules[__name__])
