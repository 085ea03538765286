#!/usr/bin/env python3
"""Random programs of `heddle synth --program` keep the rules of the machine, and a change changes what it says alone.

usage: check_program.py --heddle HEDDLE [--seeds N]
"""
import argparse
import fnmatch
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

WORK = ("kernel", "gpu_memcpy")


def ns(text):
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


class Trace:
    def __init__(self, heddle, path, seed, *changes):
        words = [w for change in changes for w in ("--what-if", change)]
        subprocess.run([heddle, "synth", "-q", "-o", path, "--program", "--seed", str(seed), "--steps", "3", *words], check=True)
        self.bytes = Path(path).read_bytes()
        rows = json.loads(self.bytes, parse_float=str, parse_int=str)["traceEvents"]
        self.slices = [e for e in rows if e["ph"] == "X" and e["cat"] != "Trace"]
        for e in self.slices:
            e["start"], e["duration"] = ns(e["ts"]), ns(e["dur"])
            e["end"] = e["start"] + e["duration"]
            e["id"] = int(e["args"].get("correlation", 0))
        self.rows = [e for e in self.slices if e["cat"] in WORK]
        self.work = {e["id"]: e for e in self.rows}
        self.calls = {e["id"]: e for e in self.slices if e["cat"] == "cuda_runtime"}
        self.told = {e["id"]: e for e in self.slices if e["cat"] == "cuda_sync"}
        self.launches = [c for i, c in sorted(self.calls.items()) if c["name"] in ("cudaLaunchKernel", "cudaMemcpyAsync")]


def check_streams(trace):
    """Work follows its launch, and the work before it on its stream."""
    last = defaultdict(int)
    assert trace.work.keys() == {c["id"] for c in trace.launches}
    for number, work in sorted(trace.work.items()):
        call = trace.calls[number]
        assert call["start"] < work["start"], (call, work)
        assert last[work["tid"]] < work["start"], work
        last[work["tid"]] = work["end"]


def work_before(trace, stream, number):
    """When the work ends that was launched before a call; events that it waits for end before it."""
    return max((w["end"] for i, w in trace.work.items() if i < number and stream in (None, w["args"]["stream"])), default=0)


def check_waits(trace):
    for number, told in trace.told.items():
        call, args = trace.calls[number], told["args"]
        assert call["start"] <= told["start"] and told["end"] == call["end"]
        if call["name"] == "cudaDeviceSynchronize":
            assert call["end"] > work_before(trace, None, number)
        elif call["name"] == "cudaStreamSynchronize":
            assert call["end"] > work_before(trace, args["stream"], number)
        else:
            record = int(args["wait_on_cuda_event_record_corr_id"])
            assert trace.calls[record]["name"] == "cudaEventRecord"
            until = work_before(trace, args["wait_on_stream"], record)
            if call["name"] == "cudaEventSynchronize":
                assert call["end"] > until
                continue
            later = [w for i, w in trace.work.items() if i > number and w["args"]["stream"] == args["stream"]]
            assert call["name"] == "cudaStreamWaitEvent" and all(w["start"] > until for w in later)


def check_nesting(trace):
    threads = defaultdict(list)
    for e in trace.slices:
        if e["cat"] in ("cpu_op", "user_annotation", "cuda_runtime"):
            threads[e["tid"]].append(e)
    for rows in threads.values():
        ends = []
        for e in sorted(rows, key=lambda e: (e["start"], -e["end"])):
            while ends and ends[-1] <= e["start"]:
                ends.pop()
            assert not ends or e["end"] <= ends[-1], e
            ends.append(e["end"])


def durations(trace):
    """Thread by thread: how those two mix changes with their times."""
    order = sorted(trace.rows, key=lambda w: (trace.calls[w["id"]]["tid"], w["id"]))
    return [(w["name"], w["duration"]) for w in order]


def check_changes(heddle, path, seed, base):
    pattern = "*gemm*"
    hits = [fnmatch.fnmatchcase(name, pattern) for name, _ in durations(base)]
    scaled = Trace(heddle, path, seed, f"scale:{pattern}=0.25")
    assert durations(scaled) == [(name, ns // 4 if hit else ns) for hit, (name, ns) in zip(hits, durations(base))]
    removed = Trace(heddle, path, seed, f"remove:{pattern}")
    assert durations(removed) == [row for hit, row in zip(hits, durations(base)) if not hit]
    cheap = Trace(heddle, path, seed, "launch-cost:1.5us")
    assert durations(cheap) == durations(base)
    assert all(c["duration"] == 1500 or "DtoH" in cheap.work[c["id"]]["name"] for c in cheap.launches)
    one = Trace(heddle, path, seed, "streams:1")
    assert durations(one) == durations(base) and len({w["tid"] for w in one.work.values() if w["cat"] == "kernel"}) <= 2
    fused = Trace(heddle, path, seed, "fuse:*")
    assert sum(ns for _, ns in durations(fused)) == sum(ns for _, ns in durations(base))
    graph = Trace(heddle, path, seed, "graph")
    assert durations(graph) == durations(base) and len(graph.launches) <= 2 * 3
    slices = Trace(heddle, path, seed, "remove:Optimizer*")
    assert not any(s["name"].startswith("Optimizer") for s in slices.slices)
    adam = [name for name, _ in durations(slices) if "Adam" in name]
    assert not adam and len(slices.work) < len(base.work)
    own = Trace(heddle, path, seed, "overlap")
    assert durations(own) == durations(base)
    assert not any("nccl" in w["name"] and w["tid"] == "7" for w in own.work.values())
    both = Trace(heddle, path, seed, f"remove:{pattern}", f"scale:{pattern}=3")
    assert both.bytes == removed.bytes
    return [scaled, removed, cheap, one, slices, own, fused]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--heddle", required=True)
    options.add_argument("--seeds", type=int, default=12)
    options = options.parse_args()
    fused = 0
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/program.json"
        for seed in range(options.seeds):
            base = Trace(options.heddle, path, seed)
            assert base.bytes == Trace(options.heddle, path, seed, "scale:*=1", "remove:none").bytes
            traces = [base] + check_changes(options.heddle, path, seed, base)
            fused += len(base.work) - len(traces[-1].work)
            for trace in traces:
                check_streams(trace)
                check_waits(trace)
                check_nesting(trace)
    assert fused > 0
    print(f"{options.seeds} programs keep the rules; {fused} kernels were fused away")


if __name__ == "__main__":
    sys.exit(main())
