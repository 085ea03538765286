#!/usr/bin/env python3
"""`heddle replay --run` launches what a trace has: recorded by `heddle record` over the test double of CUDA, whose kernels take
as long as they are told to, each stream has the kernels of one of the trace's, in their order and to the nanosecond as long,
and the copies of their sizes; and no kernel begins before what it waited for has ended.

  check_run.py --heddle HEDDLE --library LIBRARY --double FOLDER TRACE.json.gz ...
"""
import argparse
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from decimal import Decimal

WORK = {"kernel", "gpu_memcpy", "gpu_memset"}


def load(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=Decimal)["traceEvents"]


def ns(microseconds):
    return int(Decimal(microseconds) * 1000)


def queues(events):
    """By stream its work in order: what, and ns or bytes."""
    found = collections.defaultdict(list)
    for e in sorted((e for e in events if e.get("ph") == "X" and e.get("cat") in WORK), key=lambda e: Decimal(e["ts"])):
        args = e["args"]
        size = ns(e["dur"]) if e["cat"] == "kernel" else int(args.get("bytes", args.get("size", 0))) // 4 * 4
        found[int(args["stream"])].append((e["cat"], size, ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])))
    return found


def run(options, trace, folder, *changes):
    again = folder / "again.heddle"
    env = dict(os.environ, LD_LIBRARY_PATH=options.double, HEDDLE_CUPTI=str(pathlib.Path(options.double) / "libcupti.so.13"),
               ASAN_OPTIONS="detect_leaks=0")
    done = subprocess.run([options.heddle, "record", "-q", "--no-stacks", "--library", options.library, "-o", again,
                           "--summary", folder / "again.hds", "--",
                           options.heddle, "replay", "--json", "--run", *changes, trace], env=env, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    subprocess.run([options.heddle, "convert", "-q", again, folder / "again.json"], check=True)
    return json.loads(done.stdout), load(folder / "again.json")


def of_table(report, what):
    return next(row for row in report["hardware"] if row["what"] == what)


def check(options, trace, folder):
    want = queues(load(trace))
    report, events = run(options, trace, folder)
    have = queues(events)
    shapes = sorted([work[:2] for work in queue] for queue in want.values())
    # The first launch, the cleared stamps and their copy are the command's own, on the default stream.
    ran = sorted([work[:2] for work in queue] for stream, queue in have.items() if stream != 7)
    assert shapes == ran, (trace, [len(s) for s in shapes], [len(s) for s in ran],
                           [(a, b) for x, y in zip(shapes, ran) for a, b in zip(x, y) if a != b][:4])
    kernels = sum(size for queue in want.values() for what, size, *_ in queue if what == "kernel")
    assert of_table(report, "time of kernels")["expected"] == of_table(report, "time of kernels")["ran"] == kernels
    summary = json.loads(subprocess.run([options.heddle, "report", "imbalance", "--json", folder / "again.hds"], capture_output=True, check=True).stdout)
    assert [(row["name"], row["mean"]) for row in summary["kernels"]] == [("heddle_spin", kernels + 1000)], summary["kernels"]
    return sum(len(s) for s in shapes), of_table(report, "span of kernels")


def check_waits(options, trace, folder):
    """copies-overlap, streams-two: what begins a step begins after all of the step before, on every stream."""
    _, events = run(options, trace, folder)
    have = {s: q for s, q in queues(events).items() if s != 7}
    steps = 3
    lengths = {s: len(q) // steps for s, q in have.items()}
    for step in range(1, steps):
        before = max(q[step * lengths[s] - 1][3] for s, q in have.items())
        first = min(q[step * lengths[s]][2] for s, q in have.items())
        assert first >= before, (trace, step, first, before)


def shapes_of(events):
    """Works of each stream but the default one, which has the command's own."""
    return sorted([work[:2] for work in queue] for stream, queue in queues(events).items() if stream != 7)


def calls(events, name):
    return [e for e in events if e.get("ph") == "X" and e["name"] == name]


def check_changes(options, trace, folder):
    """What-ifs run as well: what is removed is not launched, a graph is, one stream has what two had, fused kernels are one."""
    spins = [e for e in load(trace) if e.get("cat") == "kernel" and "spin_kernel" in e["name"]]
    before = shapes_of(run(options, trace, folder)[1])
    works = sorted(work for queue in before for work in queue)
    if len(spins) < len(works):
        _, events = run(options, trace, folder, "--remove", "*spin_kernel*")
        left = sorted(work for queue in shapes_of(events) for work in queue)
        gone = collections.Counter(works) - collections.Counter(left)
        assert spins and gone == collections.Counter(("kernel", ns(e["dur"])) for e in spins) and len(left) == len(works) - len(spins)
    _, events = run(options, trace, folder, "--graph")
    assert sorted(work for queue in shapes_of(events) for work in queue) == works # on the double all of a graph is on one stream
    assert [len(calls(events, name)) for name in ("cuGraphLaunch", "cuLaunchKernel")] == [3, sum(what == "kernel" for what, _ in works) + 1]
    _, events = run(options, trace, folder, "--streams", "1")
    assert [sorted(queue) for queue in shapes_of(events)] == [works], trace
    _, events = run(options, trace, folder, "--fuse", "*spin_kernel*")
    have = [work for queue in shapes_of(events) for work in queue]
    assert sum(size for _, size in have) == sum(size for _, size in works)
    if "streams-two" in trace: # on each stream the ten kernels of a step stand behind one another
        assert len(have) == 6 < len(works), (len(have), len(works))


def check_held(options, trace, folder):
    """What had to wait for SMs does so behind what has them. A machine that is slow makes a run longer, and nothing makes it shorter."""
    span = of_table(run(options, trace, folder)[0], "span of kernels")
    assert span["ran"] > 0.97 * span["expected"], (trace, span)


def check_copies(options, trace, folder):
    """Copies go where they went, however a profiler calls that."""
    copies = [e["name"] for e in load(trace) if e.get("cat") == "gpu_memcpy"]
    assert copies and all("HtoD" in name for name in copies), set(copies)
    text = gzip.open(trace, "rt", encoding="utf-8").read()
    for name in ("MemcpyH2D", "CopyHostToDevice"):
        (folder / "named.json").write_text(text.replace(copies[0], name))
        _, events = run(options, folder / "named.json", folder)
        assert sum("HtoD" in e["name"] for e in events if e.get("cat") == "gpu_memcpy") == len(copies), name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--double", required=True)
    parser.add_argument("traces", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for trace in options.traces:
            if "priorities" in trace:
                check_held(options, trace, pathlib.Path(name))
                continue
            works, span = check(options, trace, pathlib.Path(name))
            print(f"{pathlib.Path(trace).name}: {works} pieces of work as they were; span {span['expected']} ns expected, {span['ran']} ran")
            if "streams-two" in trace:
                check_waits(options, trace, pathlib.Path(name))
            if "copies-overlap" in trace:
                check_copies(options, trace, pathlib.Path(name))
            if "sleep-base" in trace or "streams-two" in trace:
                check_changes(options, trace, pathlib.Path(name))
    return 0


sys.exit(main())
