"""gpu-idle: gpu-idle --json TRACE."""
import json
import subprocess
import sys

import adapter

TITLE = "gpu-idle"
DOCUMENTED = "gpu-idle --json TRACE: busy_pct of window_ms, n_kernels, findings"
CLAIMS = {"kineto": ("open", "counts", "gpu_busy", "findings")}
CAUSES_KNOWN = ("data-loading", "launch-bound", "pageable-copy", "gpu-bound")
CAUSES = {"dataloader": "data-loading", "smallbatch": "launch-bound", "h2d_copy": "pageable-copy"}


class Tool:
    def __init__(self, form, files):
        self.form, self.files, self.got = form, files, None

    def report(self):
        if self.got is None:
            done = subprocess.run([sys.executable.replace("python", "gpu-idle"), "--json", *self.files], capture_output=True, text=True)
            last = done.stderr.strip().split("\n")[-1]
            if "Traceback" in done.stderr:
                raise (adapter.Refused if last.startswith(("ValueError", "json.", "UnicodeDecodeError")) else RuntimeError)(last)
            if not done.stdout.strip():
                raise adapter.Refused(done.stderr.strip())
            self.got = json.loads(done.stdout)
            if "error" in self.got:
                raise adapter.Refused(self.got["error"])
        return self.got

    def open(self):
        self.report()
        return {"opens": 1}

    def measured(self):
        got = self.report()
        return got.get("measurements") or {}

    def counts(self):
        return {"kernels": self.measured().get("n_kernels", 0)}

    def gpu_busy(self):
        """Of kernels alone, of its window."""
        m = self.measured()
        if "busy_pct" not in m:
            raise adapter.Refused("no measurements")
        return {"kernels": m["busy_pct"] / 100 * m["window_ms"] * 1e6}

    def findings(self):
        causes = [CAUSES.get(f["cause"], f["cause"]) for f in self.report()["findings"]]
        return {"culprits": causes or ["gpu-bound"]}  # nothing found means that the GPU is busy


if __name__ == "__main__":
    adapter.main(sys.modules[__name__])
