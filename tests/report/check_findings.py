#!/usr/bin/env python3
"""Bounds of findings hold: what `heddle report summary` says that a finding saves at most, in random programs, against the
generator's own truth. Each program is made again without the cause (`heddle synth --what-if`), and may not be over
earlier than the bound allows.

usage: check_findings.py --heddle HEDDLE [--seeds N]
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# What of a program is changed for a finding; NAME is that of its longest event. A copy that takes no time may still be
# waited for, so that the truth is less than the bound, never more.
CHANGES = {"data-loading": "scale:enumerate?DataLoader*=0", "launch-bound": "launch-cost:0us", "kernel-hotspot": "scale:{name}=0", "exposed-copy": "scale:Memcpy*=0", "exposed-communication": "scale:ncclDev*=0",
           "same-stream-communication": "scale:ncclDev*=0", "gpu-bound": None}
# The share of bounds that must hold: kernels that share a GPU slow one another, which no edge of a graph has.
HOLD = 0.99


def ns(text):
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def make(heddle, path, seed, *changes):
    words = [w for change in changes for w in ("--what-if", change)]
    subprocess.run([heddle, "synth", "-q", "-o", path, "--program", "--seed", str(seed), "--steps", "3", *words], check=True)
    return [e for e in json.loads(Path(path).read_text(), parse_float=str, parse_int=str)["traceEvents"] if e["ph"] == "X"]


def length(events):
    """From the first step to the end of the last, and of the work."""
    steps = [e for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"]
    work = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
    return max(ns(e["ts"]) + ns(e["dur"]) for e in steps + work) - min(ns(e["ts"]) for e in steps)


def pattern(name):
    return "".join(c if c.isalnum() or c == "_" else "?" for c in name)


def name_of(finding, events):
    """Of its longest event."""
    times = finding["start"], finding["duration"]
    return next((e["name"] for e in events if times == (ns(e["ts"]), ns(e["dur"]))), "")


def changes_of(code, name, events, others):
    """gpu-bound is about all kernels that compute, but those of a finding of their own."""
    if CHANGES[code]:
        return [CHANGES[code].format(name=pattern(name))]
    names = {e["name"] for e in events if e["cat"] == "kernel" and not e["name"].startswith("nccl")} - others
    return ["scale:%s=0" % pattern(name) for name in sorted(names)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--seeds", type=int, default=25)
    asked = parser.parse_args()
    compared, broken = 0, []
    with tempfile.TemporaryDirectory() as folder:
        before, after = str(Path(folder, "before.json")), str(Path(folder, "after.json"))
        for seed in range(1, asked.seeds + 1):
            events = make(asked.heddle, before, seed)
            report = json.loads(subprocess.run([asked.heddle, "report", "summary", "--json", before], check=True,
                                               stdout=subprocess.PIPE).stdout)
            hotspots = {name_of(f, events) for f in report["findings"] if f["code"] == "kernel-hotspot"}
            for f in report["findings"]:
                if f["code"] not in CHANGES or f["saves"] is None:
                    continue
                changes = changes_of(f["code"], name_of(f, events), events, hotspots)
                truth = length(events) - length(make(asked.heddle, after, seed, *changes))
                compared += 1
                if truth > f["saves"] + f["whole"] // 500:
                    broken.append("seed %d: %s saves %d at most (%s), in truth %d of %d (%s)" %
                                  (seed, f["code"], f["saves"], f["how"], truth, f["whole"], changes[0]))
    print("%d bounds compared, %d broken" % (compared, len(broken)))
    print("\n".join(broken))
    return 0 if compared and len(broken) <= (1 - HOLD) * compared else 1


if __name__ == "__main__":
    sys.exit(main())
