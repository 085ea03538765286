"""nsys-ai: nsys-ai skill run SKILL PROFILE --format json.

Where its DuckDB cannot load an extension from the network, it falls back to SQLite after some 20 s a skill, with the same rows.
"""
import json
import os
import subprocess
import sys

import adapter

TITLE = "nsys-ai"
DOCUMENTED = "nsys-ai skill run pipeline_bubble_metrics, overlap_breakdown, top_kernels, memory_transfers, iteration_timing, root_cause_matcher, each with --format json; with SQLite, as its DuckDB loads an extension from the network, which the machine of these results did not have"
CLAIMS = {"nsys": ("open", "counts", "gpu_busy", "steps", "exposed_communication")}


class Tool:
    def __init__(self, form, files):
        self.form, self.files, self.made = form, files, {}

    def skill(self, name, *words):
        key = (name, *words)
        if key not in self.made:
            done = subprocess.run([os.path.join(os.path.dirname(sys.executable), "nsys-ai"), "skill", "run", name, self.files[0], "--format", "json", *words], capture_output=True, text=True, env={**os.environ, "HOME": "/tmp"})
            if "Traceback" in done.stderr:
                raise RuntimeError(done.stderr.strip().split("\n")[-1])
            if '"error"' in done.stdout[:200]:
                raise adapter.Refused(done.stdout.strip()[:300])
            at = done.stdout.find("[\n") if "[\n" in done.stdout else done.stdout.find("[]")
            if done.returncode or at < 0:
                raise adapter.Refused(next((line for line in reversed(done.stderr.split("\n")) if "rror" in line and "ERROR Could not" not in line), f"exit status {done.returncode}"))
            self.made[key] = json.loads(done.stdout[at:])
        rows = self.made[key]
        if rows and isinstance(rows[0], dict) and "error" in rows[0]:
            raise adapter.Refused(str(rows[0]["error"]))
        return rows

    def open(self):
        self.skill("schema_inspect")
        return {"opens": 1}

    def counts(self):
        kernels = self.skill("top_kernels", "-p", "limit=1000")
        copies = self.skill("memory_transfers")
        return {"kernels_all": sum(r["invocations"] for r in kernels if "invocations" in r), "copies": sum(r["count"] for r in copies if "count" in r)}

    def gpu_busy(self):
        """Its figure is of kernels, copies and memsets of a device."""
        rows = self.skill("pipeline_bubble_metrics")
        return {**{str(r["deviceId"]): r["active_ms"] * 1e6 for r in rows if "deviceId" in r}, "printed_to_ns": 10_000}

    def exposed_communication(self):
        devices = [r["deviceId"] for r in self.skill("pipeline_bubble_metrics") if "deviceId" in r]
        rows = [self.skill("overlap_breakdown", "-p", f"device={d}")[0] for d in devices]
        return {"kernels_all": sum(r["nccl_only_ms"] for r in rows) * 1e6, "printed_to_ns": 10_000 * len(rows)}

    def steps(self):
        """The times of its table are of what the GPU did for the step, so only their number is asked."""
        return {"count": len([r for r in self.skill("iteration_timing", "-p", "marker=ProfilerStep") if "iteration" in r])}


if __name__ == "__main__":
    adapter.main(sys.modules[__name__])
