#!/usr/bin/env python3
"""Holds `heddle report critical-path --hta` against HolisticTraceAnalysis: against what its own tests and runs say of real
traces, and, where it is installed (with pandas below 2.2, by tools/setup.sh in build/peers), edge by edge.

  check_hta_path.py --heddle HEDDLE [--python PYTHON]

Of HEDDLE_SHARED or ../shared; skips without. PYTHON is one that has hta.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

SKIP = 77
# Words, which of the times, nodes, edges, path: nodes, edges, events; weights in us: all, path. Of HTA 0.5.0.
KNOWN = {
    "simple_add": (["--by", "step", "--step", "*measure|forward]"], 1, 414, 415, 315, 314, 159, 247692, 241724),
    "cuda_event_sync": (["--by", "step"], 0, 54, 57, 40, 39, 22, 2488, 2401),
    "cuda_event_sync_multi_stream": ([], 0, 78, 82, 59, 58, 31, 1538, 1178),
}
ANNOTATIONS = {"simple_add": ("[param|pytorch.model.alex_net|0|0|0|measure|forward]", 1), "cuda_event_sync": ("ProfilerStep", 0),
               "cuda_event_sync_multi_stream": ("", None)}
PEER = """
import json, sys, logging, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
folder, annotation, instance = json.loads(sys.argv[1])
graph, fine = TraceAnalysis(trace_dir=folder).critical_path_analysis(rank=0, annotation=annotation, instance_id=instance)
frame = graph.full_trace_df
def node(n):
    event = graph.node_list[n]
    row = frame.loc[event.ev_idx]
    return [int(row.ts), int(row.dur), graph.sym_table[row["name"]], not event.is_start]
edges = [[e.type.value, node(e.begin), node(e.end), int(e.weight), e in graph.critical_path_edges_set]
         for u, v in graph.edges for e in [graph.edges[u, v]["object"]]]
print("\\n" + json.dumps(edges))
"""


def fail(*words):
    sys.exit(" ".join(str(w) for w in words))


def ask(heddle, *words):
    return json.loads(subprocess.run([heddle, *words], capture_output=True, text=True, check=True).stdout)


def edges_of(heddle, path, said, step_start):
    """[kind, from, to, weight, on path] with events as [start, duration, name, end], in us from the first."""
    rows = {r["id"]: r for r in ask(heddle, "query", "--json", str(path), "select id, ts, dur, name from slice")}
    base = min(r["ts"] for r in rows.values())

    def node(row, end):
        return [(rows[row]["ts"] - base) // 1000, rows[row]["dur"] // 1000, rows[row]["name"], end]
    return [[e["kind"], node(e["from"], e["from_end"]), node(e["to"], e["to_end"]), e["weight"] // 1000, e["on_path"]]
            for e in said["hta_edges"] if e["step_start"] == step_start]


def check_simple_add(edges):
    """What HTA's test says of single edges."""
    weights = collections.Counter((e[0], e[3]) for e in edges)
    if not weights["critical_path_kernel_launch_delay", 27] or not weights["critical_path_kernel_kernel_delay", 7]:
        fail("simple_add: no launch edge of 27 us, or none between kernels of 7 us")
    into = {json.dumps(e[1]): e for e in edges if e[0] == "critical_path_operator"}
    for begin in (e[1] for e in edges if e[1][2] == "aten::relu_" and not e[1][3]):
        chain, at = [], begin
        while json.dumps(at) in into and at != begin[:3] + [True]:
            edge = into[json.dumps(at)]
            chain.append(edge[3])
            at = edge[2]
        if chain == [15, 14, 17, 15, 32]:
            return
    fail("simple_add: no relu of 15, 14, 17, 15, 32 us")


def from_first(edges):
    """The same, with times from the first of them: HTA leaves out events before it counts from the first."""
    base = min(e[1][0] for e in edges)
    return [[kind, [a[0] - base, *a[1:]], [b[0] - base, *b[1:]], weight, on_path] for kind, a, b, weight, on_path in edges]


def check_peer(python, folder, name, edges):
    run = subprocess.run([python, "-c", PEER, json.dumps([str(folder), *ANNOTATIONS[name]])], capture_output=True, text=True)
    if run.returncode:
        print(f"{name}: HTA does not run here: {run.stderr.strip().splitlines()[-1:]}")
        return
    theirs = json.loads(run.stdout.strip().splitlines()[-1])
    ours, theirs = (collections.Counter(map(json.dumps, from_first(list_))) for list_ in (edges, theirs))
    if ours != theirs:
        fail(name, "only ours:", list((ours - theirs))[:5], "only HTA's:", list((theirs - ours))[:5])
    print(f"{name}: {sum(ours.values())} edges are HTA's")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    peers = pathlib.Path(__file__).resolve().parents[2] / "build/peers/bin/python"
    parser.add_argument("--python", default=str(peers) if peers.exists() else None)
    args = parser.parse_args()
    root = pathlib.Path(os.environ.get("HEDDLE_SHARED") or pathlib.Path(__file__).resolve().parents[2].parent / "shared")
    root = root / "data/analysis/hta/critical_path"
    if not root.is_dir():
        print(f"there is no {root.name} of HTA in shared data")
        sys.exit(SKIP)
    for name, (words, which, *wanted) in KNOWN.items():
        path = next((root / name).glob("*.json.gz"))
        said = ask(args.heddle, "report", "critical-path", "--hta", "--json", *words, str(path))
        sums = [r for r in said["hta"] if r["kind"] is None][which]
        got = [sums[k] for k in ("nodes", "edges", "path_nodes", "path_edges", "path_events")]
        got += [sums[k] // 1000 for k in ("weight", "path_weight")]
        if got != wanted:
            fail(name, "is", got, "should be", wanted)
        edges = edges_of(args.heddle, path, said, sums["step_start"])
        if name == "simple_add":
            check_simple_add(edges)
        if args.python:
            check_peer(args.python, root / name, name, edges)


if __name__ == "__main__":
    main()
