#!/usr/bin/env python3
"""Holds the collectives in the graph of eight ranks in one trace, and of four devices of one process, against the raw files:
the n-th of a rank belongs to the n-th of each other, and none transfers before the last of them has come. The critical path
is as long as the trace.

  check_graph_ranks.py --heddle HEDDLE
"""
import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from decimal import Decimal

SHARED = pathlib.Path(os.environ.get("HEDDLE_SHARED", pathlib.Path(__file__).parents[2].parent / "shared"))


def kernels_of(text, word):
    """By device (start, end) in ns of all such kernels, in the order of time."""
    out = {}
    for e in json.loads(text, parse_float=Decimal)["traceEvents"]:
        if e.get("cat", "").lower() == "kernel" and word in e["name"]:
            out.setdefault(e["args"]["device"], []).append((int(e["ts"] * 1000), int((e["ts"] + e["dur"]) * 1000)))
    return [sorted(kernels) for kernels in out.values()]


def check(heddle, merged, ranks):
    graph = json.loads(subprocess.run([heddle, "graph", "--json", merged], check=True, capture_output=True).stdout)
    nodes = {n["node"]: n for n in graph["nodes"]}
    edges = sorted((nodes[e["from"]]["start"], nodes[e["to"]]["start"], nodes[e["to"]]["end"]) for e in graph["edges"] if e["kind"] == "collective")
    wanted = []
    for n, together in enumerate(zip(*ranks, strict=True)):
        last = max(start for start, _ in together)
        wanted += [(last, last + 1, end) for rank, (start, end) in zip(ranks, together)
                   if start < last and end > last + 1 and (n + 1 == len(rank) or rank[n + 1][0] > last + 1)]
    if edges != sorted(wanted) or not edges:
        sys.exit(f"wanted only: {sorted(set(wanted) - set(edges))[:5]}, got only: {sorted(set(edges) - set(wanted))[:5]}")
    said = json.loads(subprocess.run([heddle, "report", "critical-path", "--pieces", "--json", merged], check=True, capture_output=True).stdout)
    length = max(n["end"] for n in nodes.values()) - min(n["start"] for n in nodes.values())
    if said["paths"][0]["length"] != length or sum(p["duration"] for p in said["pieces"]) != length:
        sys.exit(f"the path is not {length} ns long")
    print(f"{len(ranks)} ranks: {len(edges)} edges agree, the path has {length} ns")


def leave_out(text):
    """The trace without one of a device's collectives, and the kernels of those steps in which all devices have as many: as they have no
    numbers, which belong together in the other is not known."""
    trace = json.loads(text, parse_float=Decimal)
    events = trace["traceEvents"]
    launches = {e["args"]["correlation"]: e["ts"] for e in events if e.get("cat") == "cuda_runtime"}
    steps = [(e["ts"], e["ts"] + e["dur"], e["name"]) for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"]
    step_of = lambda e: next(name for start, end, name in steps if start <= launches[e["args"]["correlation"]] < end)
    calls = [e for e in events if e.get("cat") == "kernel" and "nccl" in e["name"]]
    gone = calls[len(calls) // 2]
    left = {**trace, "traceEvents": [e for e in events if e is not gone]}
    alike = {**trace, "traceEvents": [e for e in calls if step_of(e) != step_of(gone)]}
    return json.dumps(left, default=float), kernels_of(json.dumps(alike, default=float), "nccl")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    args = parser.parse_args()
    jobs = [sorted((SHARED / "data" / "ranks" / name).glob("rank*.json.gz")) for name in ("dlrm", "megatron-tp8")]
    with tempfile.TemporaryDirectory() as folder:
        merged, devices = pathlib.Path(folder) / "job.heddle", pathlib.Path(folder) / "devices.json"
        subprocess.run([args.heddle, "synth", "-q", "--ranks", "4", "--merged", "--no-python", "--slow-gpu", "2=30", "-o", devices], check=True)
        check(args.heddle, devices, kernels_of(devices.read_bytes(), "nccl"))
        text, kernels = leave_out(devices.read_bytes())
        devices.write_text(text)
        check(args.heddle, devices, kernels)
        if not all(jobs):
            print("the ranks are not there")
        for paths in filter(None, jobs):
            subprocess.run([args.heddle, "convert", *paths, merged], check=True, stdout=subprocess.DEVNULL)
            check(args.heddle, merged, [kernels for path in paths for kernels in kernels_of(gzip.open(path).read(), "AllReduce")])


if __name__ == "__main__":
    main()
