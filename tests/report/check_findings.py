#!/usr/bin/env python3
"""Bounds of findings hold: what `heddle report summary` says that a finding saves at most, in random programs, against the
generator's own truth. Each program is made again without the cause (`heddle synth --what-if`), and may not be over
earlier than the bound allows. Then programs into which one to three causes are planted: each that costs something must be
named, the first that is named must be the one that costs most, and bounds must hold; the truth of a cause is the same
program without it.

usage: check_findings.py --heddle HEDDLE [--seeds N]
"""
import argparse
import json
import random
import re
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


# Causes that can be planted; a copy on the stream of compute that takes longer than compute is an exposed one.
CAUSES = {"data-loading": (), "garbage-collection": (), "module-loading": (), "recompilation": (), "device-allocation": (), "host-collectives": (),
          "no-tensor-cores": (), "layout-conversions": (), "same-stream-copy": ("exposed-copy",), "pageable-copy": (), "sync-item": ()}
COPIES = {"same-stream-copy", "pageable-copy", "sync-copy"}
WAITS = ("pageable-copy", "sync-item")  # without the cause there is no call; else it is there and takes no time
NAMED = 0.03  # of the whole: a cause that costs so much must be named
NEAR = 0.02   # causes that are so near one another may come in any order


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


def of_others(code, amount, before, after):
    """A change takes more than a finding claims: launches of calls that wait belong to the wait's finding."""
    calls = [sum(ns(e["dur"]) for e in events if e["cat"] == "cuda_runtime" and ("Launch" in e["name"] or "Memcpy" in e["name"])) for events in (before, after)]
    return max(0, calls[0] - calls[1] - amount) if code == "launch-bound" else 0


def changes_of(code, name, events, others):
    """gpu-bound is about all kernels that compute, but those of a finding of their own."""
    if CHANGES[code]:
        return [CHANGES[code].format(name=pattern(name))]
    names = {e["name"] for e in events if e["cat"] == "kernel" and not e["name"].startswith("nccl")} - others
    return ["scale:%s=0" % pattern(name) for name in sorted(names)]


def summary(heddle, path):
    return json.loads(subprocess.run([heddle, "report", "summary", "--json", path], check=True, stdout=subprocess.PIPE).stdout)["findings"]


def without(cause, change, found):
    """The change with which the program is as if the cause were removed."""
    if cause in WAITS:
        return []
    name, _, text = change.partition("=")
    ratio = [re.search(r"peak is ([0-9.]+) times", f["finding"]) for f in found if f["code"] == cause == "no-tensor-cores"]
    left = int(text[:-2]) / float(ratio[0][1]) if ratio and ratio[0] else 0
    return ["%s=%dus" % (name, left)]


def check_planted(heddle, seed, folder, broken, failed):
    """How many bounds were compared."""
    drawn = random.Random(seed)
    before, after = str(Path(folder, "before.json")), str(Path(folder, "after.json"))
    causes = drawn.sample(sorted(CAUSES), drawn.randint(1, 3))
    changes = ["plant:%s=%dus" % (cause, drawn.randint(200, 5000)) for cause in causes]
    whole = length(make(heddle, before, seed, *changes))
    found = summary(heddle, before)
    truth = {}
    for i, cause in enumerate(causes):
        truth[cause] = whole - length(make(heddle, after, seed, *changes[:i], *without(cause, changes[i], found), *changes[i + 1:]))
    of = {f["code"]: cause for cause in causes for f in found if f["code"] in (cause, *CAUSES[cause])}
    told = "seed %d: planted %s, found %s" % (seed, {c: truth[c] for c in causes}, [(f["code"], f["saves"]) for f in found])
    for cause in causes:
        if truth[cause] >= NAMED * whole and cause not in of.values():
            failed.append("%s: %s is not named" % (told, cause))
    ranked = [of[f["code"]] for f in found if f["code"] in of]
    if ranked and truth[ranked[0]] + NEAR * whole < max(truth.values()):
        failed.append("%s: %s is not the largest" % (told, ranked[0]))
    for cause in set(of.values()):
        bounds = [f["saves"] for f in found if of.get(f["code"]) == cause]
        if None not in bounds and truth[cause] > sum(bounds) + whole // 500:
            broken.append("%s: %s" % (told, cause))
    return len(set(of.values()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--seeds", type=int, default=25)
    asked = parser.parse_args()
    compared, broken, failed = 0, [], []
    with tempfile.TemporaryDirectory() as folder:
        before, after = str(Path(folder, "before.json")), str(Path(folder, "after.json"))
        for seed in range(1, asked.seeds + 1):
            events = make(asked.heddle, before, seed)
            findings = summary(asked.heddle, before)
            hotspots = {name_of(f, events) for f in findings if f["code"] == "kernel-hotspot"}
            for f in findings:
                if f["code"] not in CHANGES or f["saves"] is None:
                    continue
                if f["code"] == "exposed-copy" and COPIES & {other["code"] for other in findings}:
                    continue  # some of the copies that change are another finding's
                changes = changes_of(f["code"], name_of(f, events), events, hotspots)
                changed = make(asked.heddle, after, seed, *changes)
                truth = length(events) - length(changed)
                compared += 1
                if truth > f["saves"] + of_others(f["code"], f["amount"], events, changed) + f["whole"] // 500:
                    broken.append("seed %d: %s saves %d at most (%s), in truth %d of %d (%s)" %
                                  (seed, f["code"], f["saves"], f["how"], truth, f["whole"], changes[0]))
            compared += check_planted(asked.heddle, seed, folder, broken, failed)
    print("%d bounds compared, %d broken; %d planted causes not named or not first" % (compared, len(broken), len(failed)))
    print("\n".join(broken + failed))
    return 0 if compared and not failed and len(broken) <= (1 - HOLD) * compared else 1


if __name__ == "__main__":
    sys.exit(main())
