"""speedscope: its own page in Chromium loads the file; the profile that it saves is what it made of it."""
import json
import os
import shutil
import subprocess
import sys

import adapter

TITLE = "speedscope"
DOCUMENTED = "the page opens the file (Ctrl O) and saves what it made of it (Ctrl S)"
STACKS = ("folded", "perf-script", "speedscope", "gecko", "cpuprofile", "pprof")
CLAIMS = dict.fromkeys(STACKS, ("open", "counts"))
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/web/speedscope.mjs")
UNITS = {"nanoseconds": 1, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9, "none": 1, "bytes": 1}


class Tool:
    def __init__(self, form, files):
        self.form, self.file, self.got = form, files[0], None

    def profile(self):
        if self.got is None:
            program = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
            done = subprocess.run(["node", PAGE, program, self.file], capture_output=True, text=True)
            lines = done.stdout.splitlines()
            if not lines:
                raise RuntimeError(done.stderr.strip().split("\n")[-1][:300])
            got = json.loads(lines[0])
            if "error" in got:
                got = {"profile": adapter.Refused(got["error"].strip().split("\n")[0])}
            self.got = got["profile"]
        if isinstance(self.got, adapter.Refused):
            raise self.got
        return self.got

    def open(self):
        self.profile()
        return {"opens": 1}

    def counts(self):
        if self.form == "perf-script":
            raise adapter.NotClaimed("it weighs samples by the time between them, not by their period")
        weight = 0
        for p in self.profile()["profiles"]:
            unit = UNITS[p["unit"]]
            if p["type"] == "sampled":
                weight += sum(p["weights"]) * unit
                continue
            opened = []
            for e in p["events"]:
                if e["type"] == "O":
                    opened.append(e["at"])
                else:
                    begun = opened.pop()
                    weight += 0 if opened else (e["at"] - begun) * unit
        return {"weight": weight}


if __name__ == "__main__":
    adapter.main(sys.modules[__name__])
