#!/usr/bin/python3
"""Names inside of CUDA graphs: kernels of replays are under what was open when their nodes were captured.

usage: check_graph_nodes.py --heddle HEDDLE [--seed [SEED ...]]

Random processes capture graphs under ranges and operators, instantiate them (a clone of each node, sometimes a clone of that), and replay them
later, also on another thread. They are written as a database of Nsight Systems, whose ranges are NVTX, and as Chrome's JSON, whose ranges are
operators. Creations of some nodes were not recorded: their kernels stay under the replay's call. The truth is what the generator did.
"""
import argparse
import collections
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from rounds import rounds, seed as first_seed  # noqa: E402

NAMES = ("mm", "add", "softmax", "layer", "head")


class Program:
    """Slices as (kind, process, thread, start, end, name, correlation, node, original), and for each kernel the ranges around its creation."""
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.rows, self.kernels, self.ranges = [], [], collections.Counter()
        for process in range(self.rng.choice((1, 2))):
            self.process = process
            self.run()

    def run(self):
        rng, self.now, self.correlation, self.node = self.rng, 1000, 0, 10
        graphs = []
        for _ in range(rng.randrange(1, 4)):
            self.names, self.nodes = [], []
            self.capture(0)
            for _ in range(rng.choice((1, 1, 2))):
                clones = {}
                for node, names in self.nodes:
                    clones[node] = self.create(node)
                self.nodes = [(clones[node], names) for node, names in self.nodes]
            graphs.append(self.nodes)
        gpu = self.now
        for _ in range(rng.randrange(1, 6)):
            thread, nodes = rng.choice((1, 1, 2)), rng.choice(graphs)
            outer, start = rng.random() < 0.7, self.now
            self.now += 5
            call = self.call(thread, "cudaGraphLaunch_v10000")
            gpu = max(gpu, self.now)
            for node, names in nodes:
                duration = rng.randrange(1, 90)
                self.kernels.append((self.process, gpu, gpu + duration, call, node, names, ("replay",) if outer else ()))
                gpu += duration + rng.randrange(3)
            if outer:
                self.range(thread, start, "replay")

    def tick(self, most=9):
        self.now += self.rng.randrange(1, most)
        return self.now

    def row(self, kind, thread, start, name, correlation=None, node=None, original=None):
        self.rows.append((kind, self.process, thread, start, self.now, name, correlation, node, original))

    def range(self, thread, start, name):
        self.row("range", thread, start, name)
        self.ranges[self.process, name] += 1
        self.tick()

    def call(self, thread, name):
        self.correlation += 1
        start = self.tick()
        self.now += 6
        self.row("call", thread, start, name, self.correlation)
        self.tick()
        return self.correlation

    def create(self, original=None):
        self.node += self.rng.randrange(1, 3)
        start = self.tick()
        self.tick(3)
        if original is not None or self.rng.random() < 0.9:
            self.row("node", 1, start, "Graph Node Creation", None, self.node, original)
        else:
            self.lost = True
        return self.node

    def capture(self, depth):
        for _ in range(self.rng.randrange(1, 4)):
            start, name = self.tick(), self.rng.choice(NAMES)
            self.tick()
            self.names.append(name)
            for _ in range(self.rng.randrange(0, 3)):
                self.correlation += 1
                begin, self.lost = self.tick(), False
                node = self.create()
                self.tick()
                # The call around the creation may be missing.
                if self.rng.random() < 0.9:
                    self.row("call", 1, begin, "cudaLaunchKernel_v7000", self.correlation)
                self.nodes.append((node, None if self.lost else tuple(self.names)))
            if depth < 2 and self.rng.random() < 0.5:
                self.capture(depth + 1)
            self.names.pop()
            self.range(1, start, name)


def write_nsys(program, path):
    db = sqlite3.connect(path)
    strings = {}

    def text(name):
        return strings.setdefault(name, len(strings) + 1)

    def process_id(process):
        return 1 << 56 | (100 + process) << 24

    db.execute("create table CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)")
    db.execute("create table NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER)")
    db.execute("create table CUDA_GRAPH_NODE_EVENTS(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, graphNodeId INTEGER, originalGraphNodeId INTEGER)")
    db.execute("create table CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, "
               "globalPid INTEGER, demangledName INTEGER, graphNodeId INTEGER)")
    for kind, process, thread, start, end, name, correlation, node, original in program.rows:
        tid = process_id(process) | thread
        if kind == "range":
            db.execute("insert into NVTX_EVENTS values (?, ?, 59, ?, ?)", (start, end, name, tid))
        elif kind == "call":
            db.execute("insert into CUPTI_ACTIVITY_KIND_RUNTIME values (?, ?, 0, ?, ?, ?)", (start, end, tid, correlation, text(name)))
        else:
            db.execute("insert into CUDA_GRAPH_NODE_EVENTS values (?, ?, 0, ?, ?, ?, ?)", (start, end, tid, text(name), node, original))
    for process, start, end, call, node, _, _ in program.kernels:
        db.execute("insert into CUPTI_ACTIVITY_KIND_KERNEL values (?, ?, ?, 1, 7, ?, ?, ?, ?)", (start, end, process, call, process_id(process), text(f"kernel{node}"), node))
    db.execute("create table StringIds(id INTEGER PRIMARY KEY, value TEXT)")
    db.executemany("insert into StringIds values (?, ?)", [(number, name) for name, number in strings.items()])
    db.commit()
    db.close()


def write_chrome(program, path):
    category = {"range": "cpu_op", "call": "cuda_runtime", "node": "cuda_graph_node"}
    events = []
    for kind, process, thread, start, end, name, correlation, node, original in program.rows:
        args = {"correlation": correlation, "graph node id": node, "originalGraphNodeId": original}
        events.append({"ph": "X", "cat": category[kind], "name": name, "pid": 100 + process, "tid": thread, "ts": start, "dur": end - start,
                       "args": {key: value for key, value in args.items() if value is not None}})
    for process, start, end, call, node, _, _ in program.kernels:
        events.append({"ph": "X", "cat": "kernel", "name": f"kernel{node}", "pid": f"GPU {process} of {100 + process}", "tid": 7, "ts": start, "dur": end - start,
                       "args": {"device": process, "stream": 7, "correlation": call, "graph node id": node}})
    path.write_text(json.dumps(events))


def answer(heddle, report, path, *options):
    return json.loads(subprocess.run([heddle, "report", report, "--json", path, *options], check=True, capture_output=True, text=True).stdout)[report]


def expected_operators(program, unit):
    """By name: activities of which it is the innermost one, their time, and the time of those of which it is around."""
    own, total, works = collections.Counter(), collections.Counter(), collections.Counter()
    for process, start, end, _, _, names, outer in program.kernels:
        around = outer if names is None else names
        innermost = around[-1] if around else "(no operator)"
        works[innermost] += 1
        own[innermost] += (end - start) * unit
        for name in set(around) or {"(no operator)"}:
            total[name] += (end - start) * unit
    return {name: (works[name], own[name], total[name]) for name in total}


def expected_ranges(program, by_graph):
    works, time = collections.Counter(), collections.Counter()
    for process, start, end, _, _, names, outer in program.kernels:
        for name in set(outer if names is None or not by_graph else names):
            works[name] += 1
            time[name] += end - start
    return {name: (works[name], time[name]) for name in works}


def check(heddle, seed, folder):
    program, wrong = Program(seed), []
    write_nsys(program, folder / "trace.sqlite")
    write_chrome(program, folder / "trace.json")
    if not program.kernels:
        return False
    rows = answer(heddle, "operators", folder / "trace.json")
    got = {row["name"]: (row["works"], row["gpu_self"], row["gpu_total"]) for row in rows if row["gpu_total"]}
    if got != expected_operators(program, 1000):
        wrong.append(("operators", got, expected_operators(program, 1000)))
    got = collections.Counter()
    for row in answer(heddle, "kernels", folder / "trace.json", "--by", "op"):
        got[row["op"] or "(no operator)"] += row["count"]
    expected = {name: counts[0] for name, counts in expected_operators(program, 1).items() if counts[0]}
    if dict(got) != expected:
        wrong.append(("kernels --by op", dict(got), expected))
    for options, by_graph in (((), False), (("--across", "graphs"), True)):
        rows = answer(heddle, "ranges", folder / "trace.sqlite", *options)
        got = {row["name"]: (row["works"], row["gpu_time"]) for row in rows if row["works"]}
        if got != expected_ranges(program, by_graph):
            wrong.append(("ranges", options, got, expected_ranges(program, by_graph)))
    # A flame graph has the ranges of the replay, then a mark, then those of the capture.
    text = subprocess.run([heddle, "flame", folder / "trace.sqlite", "-o", "-", "--to", "folded"], check=True, capture_output=True, text=True).stdout
    got = collections.Counter()
    for line in text.splitlines():
        stack, _, weight = line.rpartition(" ")
        frames = stack.split(";")
        if "[graph node]" in frames:
            got[tuple(f for f in frames[frames.index("[graph node]"):] if f in NAMES)] += int(weight)
    expected = collections.Counter()
    for _, start, end, _, _, names, _ in program.kernels:
        if names is not None:
            expected[names] += end - start
    if got != expected:
        wrong.append(("flame", dict(got), dict(expected)))
    for line in wrong[:2]:
        print(f"seed {seed}:", *line)
    return bool(wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--seed", nargs="*", type=int)
    options = parser.parse_args()
    first = first_seed(1)
    seeds = options.seed or range(first, first + rounds(10))
    bad = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            bad += check(options.heddle, seed, Path(folder))
    print(f"{len(list(seeds))} programs, {bad} differ")
    return bad > 0


sys.exit(main())
