"""xprof-rs: its commands for agents, each of a session's folder."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import adapter

TITLE = "xprof-rs"
DOCUMENTED = "xprof-rs list_xplane_events, get_kernel_stats SESSION"
CLAIMS = {"xplane": ("open", "counts")}


class Tool:
    def __init__(self, form, files):
        self.session = os.path.join(tempfile.mkdtemp(), "plugins/profile/run")
        os.makedirs(self.session)
        shutil.copy(files[0], os.path.join(self.session, "host.xplane.pb"))

    def run(self, *words):
        done = subprocess.run([os.path.join(os.path.dirname(sys.executable), "xprof-rs"), words[0], self.session, *words[1:]], capture_output=True, text=True)
        if done.returncode < 0:
            raise RuntimeError(f"signal {-done.returncode}")
        if done.returncode or not done.stdout.strip():
            raise adapter.Refused(done.stderr.strip() or done.stdout.strip())
        got = json.loads(done.stdout)
        if isinstance(got, dict) and got.get("error"):
            raise adapter.Refused(str(got["error"]))
        return got

    def kernels(self):
        steps = {str(n) for n in range(100)}
        return [r for r in self.run("get_kernel_stats") if r["kernel_name"] not in steps and not r["kernel_name"].startswith("jit_")]

    def open(self):
        if not self.run("get_kernel_stats"):
            raise adapter.Refused("no kernels")
        return {"opens": 1}

    def counts(self):
        """Its table names what runs on the device; rows of steps and modules are in it as well and are left out here."""
        rows = self.kernels()
        return {"activities": sum(r["execution_count"] for r in rows), "gpu_time_ns": round(sum(r["total_duration_us"] for r in rows) * 1000)}


if __name__ == "__main__":
    adapter.main(sys.modules[__name__])
