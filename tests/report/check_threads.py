#!/usr/bin/env python3
"""Holds the handoffs of `heddle graph --json` between threads against their rules in docs/reports/definitions.md, applied
to random traces slowly and without any code of ours; and `heddle replay --scale` against a max-plus of that graph.

  check_threads.py --heddle HEDDLE [--rounds N]
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

LEAST = 10000
WAITS = {"## backward ##", "torch/_tensor.py(5): backward", "<built-in method run_backward of x>", "threading.py(7): join",
         "aten::wait"}
OTHERS = {"ProfilerStep#1", "aten::convolution_backward", "threading.py(7): run", "mark"}


# ---- random traces: times in ns ----

class Trace:
    def __init__(self, rng):
        self.rng, self.rows, self.flows = rng, [], []
        self.told = rng.choice(["flows", "numbers", "none", "none"])
        self.number = 1
        for self.pid in range(1, 1 + rng.choice([1, 1, 2])):
            self.process()
        self.pid, end = 1, min(r["start"] for r in self.rows) + 2
        self.add("cuda_runtime", "cudaLaunchKernel", 1, end - 1, 1, correlation=1)
        self.rows.append({"cat": "kernel", "name": "k", "pid": 90, "tid": 7, "start": end, "end": end + 1,
                          "args": {"correlation": 1, "device": 0, "stream": 7}})

    def add(self, cat, name, tid, start, dur, **args):
        self.rows.append({"cat": cat, "name": name, "pid": self.pid, "tid": tid, "start": start, "end": start + dur, "args": args})

    def process(self):
        rng, time = self.rng, self.rng.randint(0, 40000)
        name = rng.choice(sorted(WAITS | OTHERS) + [None])
        main, engine = 10 * self.pid, 10 * self.pid + 1
        only = rng.random() < 0.6  # the engine works only while the main thread stands
        for _ in range(rng.randint(1, 4)):
            begin = time
            for _ in range(rng.randint(0, 3)):
                length = rng.randint(1, 30000)
                self.add("cpu_op", "forward", main, time, length, **self.numbered(main, time))
                if length > 15000 and rng.random() < 0.3:
                    self.add("cuda_runtime", "cudaMalloc", main, time + 1000, length - 2000)
                time += length + rng.choice([0, rng.randint(1, 12000)])
            length = rng.randint(5000, 120000)
            if name:
                self.add("cpu_op" if name.startswith("aten") else "user_annotation", name, main, time, length)
            self.engine(engine, time, time + length)
            if rng.random() < 0.2:  # it does something itself meanwhile
                self.add("cpu_op", "own", main, time + rng.randint(0, length - 1000), rng.randint(1, 1000))
            if rng.random() < 0.3:
                self.engine(engine + 1, time + rng.randint(-9000, 9000), time + length + rng.randint(-9000, 9000))
            time += length + rng.randint(0, 9000)
            if not only and rng.random() < 0.5:
                at = begin + rng.randint(0, max(1, time - begin))
                self.add("cpu_op", "noise", engine, at, rng.randint(1, 20000))
        if rng.random() < 0.3:
            self.add("user_annotation", "around", main, 0, time)
        self.add("cpu_op", "last", main, time, rng.randint(1, 9000))

    def numbered(self, tid, time):
        self.number += 1
        self.last = (self.pid, tid, time, self.number)
        return {"Sequence number": self.number} if self.told == "numbers" else {}

    def engine(self, tid, start, end):
        rng = self.rng
        end = max(end, start + 3)
        time = start + rng.choice([0, rng.randint(-3000, 3000), rng.randint(0, (end - start) // 2)])
        for _ in range(rng.randint(1, 4)):
            length = rng.randint(1, max(2, (end - start) // 3))
            args = {}
            if getattr(self, "last", (0,))[0] == self.pid and rng.random() < 0.7:
                pid, forward, at, number = self.last
                if self.told == "numbers" and time > at:
                    args = {"Sequence number": number, "Fwd thread id": 1}
                if self.told == "flows" and time > at:
                    self.flows.append({"pid": pid, "from": forward, "at": at, "to": tid, "time": time})
            self.add("cpu_op", "backward_op", tid, max(time, 0), length, **args)
            time += length + rng.choice([0, rng.randint(1, 4000)])

    def pairs(self):
        """(backward thread, forward thread, start of the backward op)"""
        if self.told == "flows":
            return [((f["pid"], f["to"]), (f["pid"], f["from"]), f["time"]) for f in self.flows]
        forward = {(r["pid"], r["args"]["Sequence number"]): r for r in self.rows
                   if "Sequence number" in r["args"] and "Fwd thread id" not in r["args"]}
        found = []
        for r in self.rows:
            if "Fwd thread id" in r["args"]:
                f = forward[r["pid"], r["args"]["Sequence number"]]
                if f["start"] <= r["start"]:
                    found.append(((r["pid"], r["tid"]), (f["pid"], f["tid"]), r["start"]))
        return [p for p in found if p[0] != p[1]]

    def json(self):
        events = [{"ph": "X", "cat": r["cat"], "name": r["name"], "pid": r["pid"], "tid": r["tid"], "ts": r["start"] / 1000,
                   "dur": (r["end"] - r["start"]) / 1000, "args": r["args"]} for r in self.rows]
        for number, f in enumerate(self.flows):
            events.append({"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": number, "pid": f["pid"], "tid": f["from"], "ts": f["at"] / 1000})
            events.append({"ph": "f", "bp": "e", "cat": "fwdbwd", "name": "fwdbwd", "id": number, "pid": f["pid"], "tid": f["to"], "ts": f["time"] / 1000})
        return {"traceEvents": events}


# ---- the rules ----

def cut(rows, order):
    times = sorted({t for i in order for t in (rows[i]["start"], rows[i]["end"])})
    nodes, before = [], object()
    for t, next_t in zip(times, times[1:]):
        owner = next((i for i in reversed(order) if rows[i]["start"] <= t < rows[i]["end"]), None)
        if owner != before:
            nodes.append([t, t, owner])
        nodes[-1][1] = next_t
        before = owner
    return nodes


def busy_of(nodes):
    spans = []
    for start, end, row in nodes:
        if row is not None and spans and spans[-1][1] == start:
            spans[-1][1] = end
        elif row is not None:
            spans.append([start, end])
    return spans


class Wait:
    """What `other` does while a stretch [a, b) lasts; None where it does nothing to its end."""

    @staticmethod
    def of(spans, other, a, b):
        w = Wait()
        w.other = other
        w.begins = not any(s <= a < e for s, e in spans)
        w.ends = not any(s < b < e for s, e in spans)
        starts = [s for s, _ in spans if s > a]
        ends = [e for _, e in spans if e <= b]
        if w.begins and not starts or not ends:
            return None
        w.start = min(starts) if w.begins else a
        w.end = max(ends)
        return w if w.start < w.end and w.start < b else None


class Graph:
    def __init__(self, trace):
        self.rows, self.edges, self.suspects = trace.rows, [], 0
        self.lanes = {}
        for key in dict.fromkeys((r["pid"], r["tid"]) for r in self.rows if r["cat"] != "kernel"):
            of = [i for i, r in enumerate(self.rows) if (r["pid"], r["tid"]) == key and r["cat"] != "kernel"]
            if any(self.rows[i]["cat"] == "cpu_op" or self.rows[i]["name"] == "cudaLaunchKernel" for i in of):
                self.lanes[key] = cut(self.rows, sorted(of, key=lambda i: (self.rows[i]["start"], -self.rows[i]["end"], i)))
        self.find(trace.pairs())

    def find(self, pairs):
        old = {key: list(map(list, nodes)) for key, nodes in self.lanes.items()}
        spans = {key: busy_of(nodes) for key, nodes in old.items()}
        waits, within = [], {}
        for key, nodes in old.items():
            for k, (a, b, row) in enumerate(nodes):
                for other in old:
                    if b - a < LEAST or other == key or other[0] != key[0]:
                        continue
                    w = Wait.of(spans[other], other, a, b)
                    if not w or row is None and not w.begins and not w.ends:
                        continue
                    w.thread, w.at = key, k
                    w.sure = self.evidence(w, a, b, row)
                    w.is_backward = any(p[0] == other and p[1] == key and a <= p[2] < b for p in pairs)
                    if w.sure == "contained":
                        count = sum(1 for s, e, _ in old[other] if s < w.end and e > w.start)
                        n, times = within.get((key, other), (0, 0))
                        within[key, other] = (n + count, times + 1)
                    waits.append(w)
        for w in waits:
            if w.sure == "contained":
                n, times = within[w.thread, w.other]
                w.sure = "sure" if 10 * n >= 9 * max(0, len(old[w.other]) - times - 1) else "suspect"
            w.sure = "sure" if w.is_backward else w.sure
        self.cut_all([w for w in waits if w.sure == "sure"], old)
        cut_nodes = {(w.thread, w.at) for w in waits if w.sure == "sure"}
        self.suspects = len({(w.thread, w.at) for w in waits if w.sure == "suspect"} - cut_nodes)

    def evidence(self, w, a, b, row):
        within = w.begins and w.ends
        half = w.end - w.start >= (b - a) // 2
        if row is None:
            return "suspect" if within and half else None
        r = self.rows[row]
        if r["name"] in WAITS:
            return "sure" if w.ends else "suspect"
        if r["cat"] == "cuda_runtime" or not within:
            return None
        return "contained" if half else "suspect" if r["cat"] != "cpu_op" else None

    def cut_all(self, waits, old):
        groups, changes, links = {}, {}, []
        for w in waits:
            groups.setdefault((w.thread, w.at), []).append(w)
        for (thread, k), of in groups.items():
            a, b, row = old[thread][k]
            start, end = max(a, min(w.start for w in of)), max(w.end for w in of)
            made = ([[a, start, row]] if start > a else []) + [[end, b, row]]
            self.change(changes, thread, k, True, made)
            for w in of:
                if w.begins:
                    links.append((w.other, start, None, thread, start))
                    self.turn(changes, old, w, start, start > a or k > 0)
                links.append((thread, end, None, w.other, w.end))
        for (thread, k, replaces), made in sorted(changes.items(), key=lambda c: c[0], reverse=True):
            self.lanes[thread][k:k + replaces] = made
        for to, time, _, source, before in links:
            froms = [n for n in self.lanes[source] if n[0] < before]
            tos = [n for n in self.lanes[to] if n[0] >= time]
            if froms and tos and froms[-1][0] < tos[0][0]:
                self.edges.append((froms[-1], tos[0], "handoff"))

    def turn(self, changes, old, w, start, has_before):
        if not has_before:
            return
        nodes = old[w.other]
        gaps = [k for k, n in enumerate(nodes) if n[2] is None and n[1] == w.start]
        made = [[start, w.start, None]] if w.start > start else []
        if gaps:
            self.change(changes, w.other, gaps[0], True, made)
        elif made:
            self.change(changes, w.other, 0, False, made)

    @staticmethod
    def change(changes, thread, k, replaces, made):
        changes.setdefault((thread, k, replaces), made)

    # ---- max-plus ----

    def span_with(self, name, factor):
        nodes = [n for lane in self.lanes.values() for n in lane]
        into = {id(n): [] for n in nodes}
        for lane in self.lanes.values():
            for x, y in zip(lane, lane[1:]):
                into[id(y)].append(x)
        for x, y, _ in self.edges:
            into[id(y)].append(x)
        ends, left = {}, nodes
        while left:
            later = []
            for n in left:
                if any(id(x) not in ends for x in into[id(n)]):
                    later.append(n)
                    continue
                length = n[1] - n[0]
                if n[2] is not None and self.rows[n[2]]["name"] == name:
                    length = int(length * factor + 0.5)
                ends[id(n)] = max((ends[id(x)] for x in into[id(n)]), default=n[0]) + length
            if len(later) == len(left):
                sys.exit("a cycle")
            left = later
        return max(ends.values()) - min(n[0] for n in nodes)


def ask(heddle, *words):
    p = subprocess.run([heddle, *words], capture_output=True, text=True)
    return json.loads(p.stdout) if p.returncode == 0 else p.stderr


def text(node):
    return tuple(-1 if v is None else v for v in node)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    edges = suspected = faster = same = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.json"
        for seed in range(args.seed, args.seed + args.rounds):
            trace = Trace(random.Random(seed))
            path.write_text(json.dumps(trace.json()))
            said = ask(args.heddle, "graph", "--json", path)
            nodes = {n["node"]: (n["start"], n["end"], -1 if n["id"] is None else n["id"]) for n in said["nodes"] if n["kind"] != "work"}
            got = sorted((nodes[e["from"]], nodes[e["to"]]) for e in said["edges"] if e["kind"] == "handoff")
            graph = Graph(trace)
            wanted = sorted((text(x), text(y)) for x, y, _ in graph.edges)
            for what, a, b in (("nodes", sorted(text(n) for lane in graph.lanes.values() for n in lane), sorted(nodes.values())), ("handoffs", wanted, got)):
                if a != b:
                    sys.exit(f"seed {seed}: {what}\n  wanted only: {[x for x in a if x not in b][:5]}\n  got only: {[x for x in b if x not in a][:5]}")
            edges += len(got)
            suspected += graph.suspects
            replay = ask(args.heddle, "replay", "--scale", "backward_op=0.5", "--max-error", "1", "--json", path)
            if isinstance(replay, str):
                sys.exit(f"seed {seed}: {replay}")
            span = next(w for w in replay["what_if"] if w["what"] == "span")
            right = graph.span_with("backward_op", 0.5)
            if span["after"] != right or span["before"] != graph.span_with("", 1):
                sys.exit(f"seed {seed}: span {span}, by hand {graph.span_with('', 1)}, then {right}")
            if ("threads may wait" in json.dumps(replay["notes"])) != (graph.suspects > 0):
                sys.exit(f"seed {seed}: {graph.suspects} suspects, notes {replay['notes']}")
            faster += span["after"] < span["before"]
            same += graph.suspects > 0 and span["uncertainty"] > 0
    print(f"{edges} handoffs agree, {suspected} stretches suspected; {faster} programs are faster, {same} with an uncertainty of threads")
    if edges < args.rounds or suspected < args.rounds / 10 or faster < args.rounds / 5 or not same:
        sys.exit("too few to prove anything")


if __name__ == "__main__":
    main()
