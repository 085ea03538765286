#!/usr/bin/python3
"""A chain of passes by `heddle convert --pass` makes what the same passes make as one command each.

usage: compare_passes.py --heddle HEDDLE
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

PASSES = ["lanes", "lanes:snap-threshold-us=0", "crop:from=10%", "crop:from=1us,until=60%,clip", "filter:names=a*,names=b",
          "filter:category=k,tracks=!2", "filter:names=!/^c/", "merge:ranks", "symbolize"]
REAL = ["kineto", "chrome"]


def convert(heddle, source, out, *options):
    """The books of every step balance. None: it failed."""
    run = subprocess.run([heddle, "convert", "--json", *options, str(source), str(out)], capture_output=True, text=True)
    if run.returncode:
        return None
    report = json.loads(run.stdout)
    for row in report["steps"] + [{**report, "in": report["events_in"], "out": report["events_out"]}]:
        assert row["in"] + row["added"] == row["out"] + row["removed"] + row["lost"], row
    return report


def small(rng, path):
    events = [{"ph": "X", "name": rng.choice("abc") + rng.choice(["", "x"]), "cat": rng.choice(["k", "cpu_op"]),
               "pid": 1, "tid": rng.randint(1, 3), "ts": rng.randint(0, 200), "dur": rng.randint(0, 60)} for _ in range(30)]
    path.write_text(json.dumps(events))


def compare(heddle, folder, source, chain):
    """Whether both ways could be gone; what they make is equal."""
    whole, at = folder / "whole.json", source
    together = convert(heddle, source, whole, *[word for text in chain for word in ("--pass", text)])
    for i, text in enumerate(chain):
        out = folder / (f"step{i}.heddle" if i + 1 < len(chain) else "last.json")
        if not convert(heddle, at, out, "--pass", text):
            assert together is None, (source, chain, text)
            return False
        at = out
    assert together is not None, (source, chain)
    assert whole.read_bytes() == at.read_bytes(), (source, chain)
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    shared = Path(__file__).resolve().parents[2] / "shared" / "data"
    real = [next((p for p in sorted((shared / name).glob("**/*.json*")) if p.stat().st_size < 2 << 20), None) for name in REAL]
    rng = random.Random(15)
    done = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(25):
            small(rng, folder / "in.json")
            done += compare(heddle, folder, folder / "in.json", rng.choices(PASSES, k=rng.randint(2, 4)))
        assert done >= 15, done
        for source in filter(None, real):
            done += compare(heddle, folder, source, rng.choices(PASSES, k=3))
    if not any(real):
        print("no real traces here")
    print(f"{done} chains")


sys.exit(main())
