#!/usr/bin/env python3
"""Holds the collectives in the graph of eight ranks in one trace against the raw files: the n-th AllReduce of a rank belongs
to the n-th of each other, and none transfers before the last of them has come. The critical path is as long as the trace.

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


def kernels_of(path):
    """(start, end) in ns of all AllReduce kernels of a file, in the order of time."""
    events = json.loads(gzip.open(path).read(), parse_float=Decimal)["traceEvents"]
    of = [e for e in events if e.get("cat", "").lower() == "kernel" and "AllReduce" in e["name"]]
    return sorted((int(e["ts"] * 1000), int((e["ts"] + e["dur"]) * 1000)) for e in of)


def check(heddle, paths, folder):
    merged = pathlib.Path(folder) / "job.heddle"
    subprocess.run([heddle, "convert", *paths, merged], check=True, stdout=subprocess.DEVNULL)
    graph = json.loads(subprocess.run([heddle, "graph", "--json", merged], check=True, capture_output=True).stdout)
    nodes = {n["node"]: n for n in graph["nodes"]}
    edges = sorted((nodes[e["from"]]["start"], nodes[e["to"]]["start"], nodes[e["to"]]["end"]) for e in graph["edges"] if e["kind"] == "collective")
    ranks = [kernels_of(path) for path in paths]
    wanted = []
    for together in zip(*ranks, strict=True):
        last = max(start for start, _ in together)
        wanted += [(last, last + 1, end) for start, end in together if start < last]
    if edges != sorted(wanted) or not edges:
        sys.exit(f"wanted only: {sorted(set(wanted) - set(edges))[:5]}, got only: {sorted(set(edges) - set(wanted))[:5]}")
    said = json.loads(subprocess.run([heddle, "report", "critical-path", "--pieces", "--json", merged], check=True, capture_output=True).stdout)
    length = max(n["end"] for n in nodes.values()) - min(n["start"] for n in nodes.values())
    if said["paths"][0]["length"] != length or sum(p["duration"] for p in said["pieces"]) != length:
        sys.exit(f"the path is not {length} ns long")
    print(f"{len(paths)} ranks: {len(edges)} edges agree, the path has {length} ns")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    args = parser.parse_args()
    jobs = [sorted((SHARED / "data" / "ranks" / name).glob("rank*.json.gz")) for name in ("dlrm", "megatron-tp8")]
    if not all(jobs):
        print("skipped: the ranks are not there")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        for paths in jobs:
            check(args.heddle, paths, folder)


if __name__ == "__main__":
    main()
