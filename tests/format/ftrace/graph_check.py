#!/usr/bin/env python3
"""graph_check.py - calls made up here, printed as function_graph prints them, and what heddle reads of that

usage: graph_check.py HEDDLE

Each round is a tree of calls of three threads on two CPUs. It is printed in five ways; names, threads, callers and durations
of all calls have to come back, and times where they were printed.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile
from decimal import Decimal

THREADS = {101: ("sh", 0), 102: ("kworker/0:1", 0), 103: ("a-b (x)", 1)}


class Call:
    def __init__(self, tid, name, start, parent):
        self.tid, self.name, self.start, self.parent, self.inner, self.end = tid, name, start, parent, [], None


def make_calls(rng, tid, now, parent, depth):
    calls = []
    for _ in range(rng.randint(1, 4)):
        now += rng.randint(50, 4000)
        call = Call(tid, f"f{rng.randint(0, 30)}" + rng.choice(["", ".isra.0", " [mod]"]), now, parent)
        now += rng.randint(20, 900)
        if depth and rng.random() < 0.6:
            call.inner, now = make_calls(rng, tid, now, call, depth - 1)
        now += rng.randint(20, 200000 if rng.random() < 0.1 else 900)
        call.end = now
        calls.append(call)
    return calls, now


def flat(calls):
    for call in calls:
        yield call
        yield from flat(call.inner)


def lines_of(calls, depth=0):
    """(time, tid, depth, duration or None, text)"""
    for call in calls:
        length = call.end - call.start
        if not call.inner:
            yield call.start, call.tid, depth, length, f"{call.name}();"
            continue
        yield call.start, call.tid, depth, None, f"{call.name}() {{"
        yield from lines_of(call.inner, depth + 1)
        yield call.end, call.tid, depth, length, "}"


def micros(ns):
    return f"{ns // 1000}.{ns % 1000:03}"


def duration_field(ns):
    if ns is None:
        return " " * 13
    mark = "!" if ns > 100000 else "+" if ns > 10000 else " "
    return f"{mark} {micros(ns):>7} us"


def print_lines(lines, how):
    out, running = [], {}
    if how != "trace-cmd":
        out += ["# tracer: function_graph", "#", "# CPU  DURATION                  FUNCTION CALLS"]
    for time, tid, depth, length, text in lines:
        comm, cpu = THREADS[tid]
        body = f"{duration_field(length)} |  {'  ' * depth}{text}"
        if how == "trace-cmd":
            kind = "funcgraph_exit: " if text == "}" else "funcgraph_entry:"
            out.append(f"{comm:>16}-{tid} [{cpu:03}] {time // 10**9}.{time % 10**9:09}: {kind}  {body}")
            continue
        if how == "switches" and running.get(cpu) != tid:
            before = running.get(cpu)
            out += [" " + "-" * 42, f" {cpu})  {THREADS[before][0] + '-' + str(before) if before else '<idle>-0'}  =>  {comm}-{tid}",
                    " " + "-" * 42, ""]
            running[cpu] = tid
        task = f"{comm}-{tid}   | " if how in ("proc", "absolute") else ""
        flags = " d..1 | " if how == "absolute" else ""
        when = f" {time // 10**9}.{time % 10**9 // 1000:06} |  " if how == "absolute" else ""
        out.append(f"{when} {cpu})  {task}{flags} {body}")
    return "\n".join(out) + "\n"


def read(heddle, folder, text):
    path, out = folder / "calls.ftrace", folder / "calls.json"
    path.write_text(text)
    subprocess.run([heddle, "convert", str(path), str(out)], check=True, capture_output=True)
    trace = json.loads(out.read_text(), parse_float=Decimal)
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    for e in slices:
        e["start"], e["length"] = int(Decimal(e["ts"]) * 1000), int(Decimal(e["dur"]) * 1000)
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    return slices, names


def callers(slices):
    """Of each slice that of its caller, by time alone: (row, name, caller's name, length)."""
    found = []
    for row in {e["tid"] for e in slices}:
        stack = []
        for e in sorted((e for e in slices if e["tid"] == row), key=lambda e: (e["start"], -e["length"])):
            while stack and stack[-1]["start"] + stack[-1]["length"] <= e["start"]:
                stack.pop()
            if stack:
                assert e["start"] + e["length"] <= stack[-1]["start"] + stack[-1]["length"], ("crosses", e, stack[-1])
            found.append((e["tid"], e["name"], stack[-1]["name"] if stack else None, e["length"]))
            stack.append(e)
    return sorted(found, key=str)


def check_round(heddle, folder, seed):
    rng = random.Random(seed)
    calls = []
    for tid in THREADS:
        calls += make_calls(rng, tid, rng.randint(10**12, 10**12 + 10**6), None, 4)[0]
    every = list(flat(calls))
    lines = sorted(lines_of(calls), key=lambda line: line[0])
    wanted = sorted(((c.tid, c.name, c.parent.name if c.parent else None, c.end - c.start) for c in every), key=str)
    for how in ("trace-cmd", "absolute", "proc", "switches"):
        slices, names = read(heddle, folder, print_lines(lines, how))
        assert len(slices) == len(every), (seed, how, len(slices), len(every))
        assert names == {tid: comm for tid, (comm, _) in THREADS.items()}, (how, names)
        if how == "absolute":  # starts are rounded to microseconds, and nothing crosses
            got = sorted((e["tid"], e["name"], e["start"]) for e in slices)
            theirs = sorted((c.tid, c.name, c.start) for c in every)
            for (tid, name, start), (other, other_name, other_start) in zip(got, theirs):
                assert (tid, name) == (other, other_name) and abs(start - other_start) < 1000 * 4, (seed, start, other_start)
            callers(slices)
        elif how == "trace-cmd":
            assert callers(slices) == wanted, (seed, how)
            first = min(c.start for c in every) - min(e["start"] for e in slices)
            assert sorted((e["tid"], e["start"] + first) for e in slices) == sorted((c.tid, c.start) for c in every), (seed, how)
        else:
            assert callers(slices) == wanted, (seed, how)
    return len(every)


def main():
    heddle = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        print(sum(check_round(heddle, pathlib.Path(folder), seed) for seed in range(12)), "calls")


if __name__ == "__main__":
    sys.exit(main())
