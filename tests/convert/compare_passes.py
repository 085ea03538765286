#!/usr/bin/python3
"""A chain of passes by `heddle convert --pass` makes what the same passes make as one command each; `attribution` makes what
`heddle merge` writes, `memory` what --memory-profile joins. On made traces, and on real ones of $HEDDLE_SHARED/data, or
../shared/data beside the project, where that is present.

usage: compare_passes.py --heddle HEDDLE
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

PASSES = ["lanes", "lanes:snap-threshold-us=0", "crop:from=10%", "crop:from=1us,until=60%,clip", "filter:names=a*,names=b",
          "filter:category=k,tracks=!2", "filter:names=!/^c/", "merge:ranks", "symbolize"]
ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("HEDDLE_SHARED") or ROOT.parent / "shared") / "data"


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


def same(heddle, folder, text, source, *command):
    """The pass makes what another command of Heddle makes."""
    made, wanted = folder / "made.json", folder / "wanted.json"
    assert convert(heddle, source, made, "--pass", text), (text, source)
    subprocess.run([heddle, *command, wanted], check=True, capture_output=True)
    assert made.read_bytes() == wanted.read_bytes(), (text, source)
    return made


def attribution(heddle, folder, gpu, cpu=None):
    words = ["-c", cpu] if cpu else []
    text = "attribution" + (":cpu=" + str(cpu) if cpu else "")
    made = same(heddle, folder, text, gpu, "merge", "-q", "-g", gpu, *words, "--to", "chrome", "-o")
    joined = [e for e in json.loads(made.read_text())["traceEvents"] if "stack" in e.get("args", {}) or e.get("sf")]
    assert joined, gpu


def memory(heddle, folder):
    profile = ROOT / "tests" / "format" / "tfmemory" / "two.memory_profile.json"
    trace = folder / "other.json"
    small(random.Random(3), trace)
    made = same(heddle, folder, f"memory:profile={profile}", trace, "convert", "-q", "--memory-profile", profile, trace)
    assert any(e["ph"] == "C" for e in json.loads(made.read_text())["traceEvents"])
    for wrong in ("memory", f"memory:profile={trace}", f"memory:profile={folder}/none"):
        assert convert(heddle, trace, folder / "no.json", "--pass", wrong) is None, wrong


def real_traces():
    """The smallest few of each folder."""
    for name in ("kineto", "chrome", "cupti", "rocm", "ascend"):
        yield from sorted((DATA / name).glob("**/*.json*"), key=lambda p: p.stat().st_size)[:3]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    rng = random.Random(15)
    done = real = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(25):
            small(rng, folder / "in.json")
            done += compare(heddle, folder, folder / "in.json", rng.choices(PASSES, k=rng.randint(2, 4)))
        assert done >= 15, done
        memory(heddle, folder)
        gpu, cpu = folder / "gpu.json", folder / "cpu.txt"
        subprocess.run([heddle, "synth", "-q", "-o", gpu, "--cupti", "--steps", "3", "--graphs", "2", "--stacks", cpu], check=True)
        attribution(heddle, folder, gpu, cpu)
        for source in real_traces():
            real += compare(heddle, folder, source, rng.choices(PASSES, k=3))
        attributed = DATA / "kineto" / "b200_eager.json.gz"
        if attributed.is_file():
            attribution(heddle, folder, attributed)
    assert real or not DATA.is_dir(), real
    print(f"{done} chains on made traces, {real} on real ones" if real else f"{done} chains; no real traces here")


sys.exit(main())
