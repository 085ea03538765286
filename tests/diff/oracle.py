#!/usr/bin/python3
"""What heddle diff must say of two traces, worked out slowly from the raw JSON; shares no code with Heddle.

usage: tests/diff/oracle.py BEFORE AFTER     prints the accounts of both sides

The definitions are those of docs/reports/definitions.md: an activity is of the step in which its launch begins; on each device
the window of a step goes from the last end of activities of the step before (the first: its own first start) to the last end
of its own. In a window compute is the union of kernels and memsets that are not communication, exposed communication that of
communication outside of compute, exposed copy that of copies outside of both, and idle the rest.
"""
import gzip
import json
import re
import sys
from decimal import Decimal
from fractions import Fraction

PARTS = ("compute", "exposed_communication", "exposed_copy", "idle")


def ns(value):
    return int((Decimal(value) * 1000).to_integral_value())


def classes(event):
    category = event.get("cat", "").lower()
    if category in ("gpu_memcpy", "memcpy"):
        return "copy"
    if category in ("kernel",):
        return "communication" if event["name"].lower().startswith("nccl") else "compute"
    return "compute" if category in ("gpu_memset", "memset") else None


def union(intervals):
    """Sorted, disjoint intervals that cover the same."""
    out = []
    for begin, end in sorted(intervals):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        elif end > begin:
            out.append([begin, end])
    return out


def length(intervals):
    return sum(end - begin for begin, end in union(intervals))


def clip(intervals, begin, end):
    return [(max(a, begin), min(b, end)) for a, b in intervals if a < end and b > begin]


def read(path):
    data = open(path, "rb").read()
    whole = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, parse_float=Decimal)
    return whole if isinstance(whole, list) else whole["traceEvents"]


def account(path):
    """One dictionary for each step, in order: its name, its length on the host, its window on the device, parts, counts, and
    the sum of the durations of its activities. Traces with one device and one process."""
    events = [event for event in read(path) if event.get("ph") == "X"]
    steps = sorted((ns(e["ts"]), ns(e["ts"]) + ns(e.get("dur", 0)), e["name"]) for e in events
                   if re.match(r"ProfilerStep#\d+$", e["name"]) and "gpu" not in e.get("cat", ""))
    calls = {e["args"]["correlation"]: ns(e["ts"]) for e in events
             if e.get("cat", "").lower() in ("cuda_runtime", "cuda_driver", "runtime") and "correlation" in (e.get("args") or {})}
    out = [{"name": name, "host_ns": end - begin, "work": [], "kernels": 0, "copies": 0} for begin, end, name in steps]

    def step_at(t):
        found = None
        for n, (begin, end, _) in enumerate(steps):
            if begin <= t < end:
                found = n
        return found

    every = {"compute": [], "communication": [], "copy": []}
    for event in events:
        kind = classes(event)
        if kind is None:
            continue
        begin = ns(event["ts"])
        end = begin + ns(event.get("dur", 0))
        every[kind].append((begin, end))
        launch = calls.get((event.get("args") or {}).get("correlation"))
        step = None if launch is None else step_at(launch)
        if step is not None:
            out[step]["work"].append((begin, end, event["name"]))
            out[step]["kernels"] += event["cat"].lower() == "kernel"
            out[step]["copies"] += kind == "copy"
    covered = {kind: union(intervals) for kind, intervals in every.items()}
    order = sorted((n for n in range(len(out)) if out[n]["work"]), key=lambda n: (max(w[1] for w in out[n]["work"]), steps[n][0]))
    before = None
    for n in order:
        last = max(w[1] for w in out[n]["work"])
        first = min(w[0] for w in out[n]["work"]) if before is None else before
        inside = {kind: clip(covered[kind], first, last) for kind in covered}
        compute = length(inside["compute"])
        comm = length(inside["compute"] + inside["communication"])
        busy = length(inside["compute"] + inside["communication"] + inside["copy"])
        out[n].update(window=(first, last), window_ns=last - first, compute=compute, exposed_communication=comm - compute,
                      exposed_copy=busy - comm, idle=last - first - busy, gpu_ns=sum(w[1] - w[0] for w in out[n]["work"]))
        before = last
    return out


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return Fraction(values[middle]) if len(values) % 2 else Fraction(values[middle - 1] + values[middle], 2)


def skipped(steps):
    """Steps that are not like the others: the first of four or more and those behind it that take half as long again as the
    median, up to a third of all; and one behind a step that was not recorded, whose window holds that one's time."""
    numbers = [int(step["name"].rpartition("#")[2]) for step in steps]
    skip = {n for n in range(1, len(steps)) if numbers[n] > numbers[n - 1] and numbers[n] != numbers[n - 1] + 1}
    if len(steps) >= 4:
        middle = sorted(step["window_ns"] for step in steps)[len(steps) // 2]
        skip.add(0)
        for n in range(1, len(steps) // 3):
            if steps[n]["window_ns"] // 3 <= middle // 2:
                break
            skip.add(n)
    return skip


def compared(before, after):
    """The steps of both sides that heddle diff compares: of one number, if the sides have three and half of the shorter in
    common; else the first with the first, if there are as many; else all."""
    sides, skip = (before, after), (skipped(before), skipped(after))
    where = {step["name"]: n for n, step in enumerate(after)}
    pairs = [(n, where[step["name"]]) for n, step in enumerate(before) if step["name"] in where]
    if len(pairs) < 3 or len(pairs) < (min(len(before), len(after)) + 1) // 2:
        if len(before) != len(after):
            return tuple([step for n, step in enumerate(side) if n not in skip[k]] for k, side in enumerate(sides))
        pairs = [(n, n) for n in range(len(before))]
    pairs = [(n, m) for n, m in pairs if n not in skip[0] and m not in skip[1]]
    return [before[n] for n, _ in pairs], [after[m] for _, m in pairs]


if __name__ == "__main__":
    for name in sys.argv[1:3]:
        print(name)
        for step in account(name):
            print("  ", step["name"], step["host_ns"], step.get("window_ns"), *[f"{part} {step.get(part)}" for part in PARTS])
