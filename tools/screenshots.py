#!/usr/bin/python3
"""The pictures of docs/view.md: a training run of twelve steps, one of which waits for its data, in the viewer.

usage: tools/screenshots.py --heddle PROGRAM [FOLDER]

Generates the trace (heddle synth; the loader waits 6 ms in step 8, as in examples/find_the_slow_step.ipynb), opens it in Debian's
Chromium, and writes the pictures to FOLDER, else to docs/images. screenshots.mjs lists them.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/web"))
import chromium  # noqa: E402

SLOW, LATE_US = 8, 6000


def delay(run):
    """What comes after a moment in the loader of a step is later, what is under way then takes longer."""
    moment = next(e["ts"] + 60 for e in run["traceEvents"] if e.get("name") == f"ProfilerStep#{SLOW}" and e["cat"] == "user_annotation")
    for event in run["traceEvents"]:
        if event.get("ts", 0) >= moment:
            event["ts"] += LATE_US
        elif event.get("ts", 0) + event.get("dur", 0) > moment:
            event["dur"] += LATE_US


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", type=Path, required=True)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "docs/images")
    args = parser.parse_args()
    node, browser, missing = chromium.tools()
    if missing:
        sys.exit(f"there is no {missing}; tools/setup.sh test installs it")
    with tempfile.TemporaryDirectory(prefix="heddle-pictures-") as folder:
        path = Path(folder) / "run.json"
        subprocess.run([args.heddle, "synth", "-q", "--steps", "12", "--layers", "6", "--seed", "3", "-o", path], check=True)
        run = json.loads(path.read_text(encoding="utf-8"))
        delay(run)
        path.write_text(json.dumps(run), encoding="utf-8")
        subprocess.run([node, ROOT / "tools/screenshots.mjs", browser, args.heddle.resolve(), path, args.folder.resolve()], check=True)


main()
