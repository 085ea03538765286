#!/usr/bin/env python3
"""Holds `heddle graph --json` against the rules of include/heddle/graph.h, applied to random traces one by one, slowly
and without any code of ours.

  check_graph.py --heddle HEDDLE [--rounds N]
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

NAMES = {"stream": "cudaStreamSynchronize", "event": "cudaEventSynchronize", "device": "cudaDeviceSynchronize",
         "copy": "cudaMemcpy", "record": "cudaEventRecord", "wait": "cudaStreamWaitEvent"}
TOLD = {"stream": "Stream Sync", "event": "Event Sync", "device": "Context Sync", "wait": "Stream Wait Event"}


# ---- random traces: times in ns; rows are the order of slices ----

class Trace:
    def __init__(self, rng):
        self.rng, self.rows, self.next_id = rng, [], 1
        self.streams = rng.sample([7, 20, 21, 22], rng.randint(1, 3))
        for thread in range(rng.randint(1, 3)):
            self.thread(100 + thread)
        rng.shuffle(self.rows)

    def add(self, cat, name, tid, start, dur, **args):
        self.rows.append({"cat": cat, "name": name, "pid": 0 if cat in ("kernel", "gpu_memcpy", "cuda_sync") else 1, "tid": tid,
                          "start": start, "end": start + dur, "args": args})

    def thread(self, tid):
        rng, time = self.rng, self.rng.randint(0, 50)
        for _ in range(rng.randint(1, 12)):
            time += rng.choice([0, rng.randint(1, 30)])
            length = rng.choice([0, rng.randint(1, 120)])
            if rng.random() < 0.7:
                self.add("cpu_op", "op%d" % rng.randint(0, 3), tid, time, length)
            if rng.random() < 0.2:  # crosses it
                self.add("user_annotation", "mark", tid, time + rng.randint(0, length), rng.randint(0, 80))
            for _ in range(rng.randint(0, 2)):
                self.call(tid, time + rng.randint(0, length), rng.randint(0, 20))
            time += length

    def call(self, tid, start, dur):
        rng, number = self.rng, self.next_id
        self.next_id += 1
        kind = rng.choice(["launch"] * 5 + list(NAMES))
        stream = rng.choice(self.streams)
        self.add("cuda_runtime", NAMES.get(kind, "cudaLaunchKernel"), tid, start, dur, correlation=number)
        if kind in ("launch", "copy") and rng.random() < 0.95:
            begin = start + rng.randint(-3, 60)
            self.add("gpu_memcpy" if kind == "copy" else "kernel", "work", stream, begin, rng.randint(0, 50), device=0, stream=stream,
                     correlation=number if rng.random() < 0.95 else 100000 + number)
        if kind in TOLD and rng.random() < 0.6:
            more = {"wait_on_stream": rng.choice(self.streams + [-1]), "wait_on_cuda_event_record_corr_id": rng.randint(-1, number)}
            if rng.random() < 0.1:
                stream = -1
            self.add("cuda_sync", TOLD[kind], stream, start, dur, device=0, correlation=number, stream=stream, **(more if kind in ("event", "wait") else {}))

    def json(self):
        return {"traceEvents": [{"ph": "X", "cat": r["cat"], "name": r["name"], "pid": r["pid"], "tid": r["tid"],
                                 "ts": r["start"] / 1000, "dur": (r["end"] - r["start"]) / 1000, "args": r["args"]} for r in self.rows]}


# ---- the rules ----

def cut(rows, order):
    """Nodes of a thread: [start, end, row or None]; `order` is by start, longest first, then row."""
    nodes, low, high = [], rows[order[0]]["start"], max(rows[i]["end"] for i in order)
    points = {rows[i]["start"] for i in order if rows[i]["start"] == rows[i]["end"]}
    before = object()
    for t in range(low, high + 1):
        nodes += [[t, t, i] for i in order if rows[i]["start"] == rows[i]["end"] == t]
        if t == high:
            break
        owner = next((i for i in reversed(order) if rows[i]["start"] <= t < rows[i]["end"]), None)
        if owner != before or t in points:
            nodes.append([t, t, owner])
        nodes[-1][1] = t + 1
        before = owner
    return nodes


def first_launched(queue, time):
    return next((k for k in range(len(queue)) if any(q["launched"] is not None and q["launched"] >= time for q in queue[:k + 1])), len(queue))


class Graph:
    def __init__(self, rows):
        self.rows, self.edges, self.lanes, self.queues = rows, [], {}, {}
        is_host = [r["cat"] not in ("kernel", "gpu_memcpy", "cuda_sync") for r in rows]
        has_program = any(r["cat"] in ("cpu_op", "cuda_runtime") for r in rows)
        for tid in sorted({r["tid"] for r, host in zip(rows, is_host) if host}):
            of = [i for i, r in enumerate(rows) if is_host[i] and r["tid"] == tid]
            if not has_program or any(rows[i]["cat"] != "user_annotation" for i in of):
                order = sorted(of, key=lambda i: (rows[i]["start"], -rows[i]["end"], i))
                self.lanes[tid] = [{"at": n, "tid": tid, "order": order} for n in cut(rows, order)]
        calls = {r["args"]["correlation"]: i for i, r in enumerate(rows) if r["cat"] == "cuda_runtime"}
        for stream in sorted({r["tid"] for r in rows if r["cat"] in ("kernel", "gpu_memcpy")}):
            works = sorted((i for i, r in enumerate(rows) if r["cat"] in ("kernel", "gpu_memcpy") and r["tid"] == stream),
                           key=lambda i: (rows[i]["start"], i))
            self.queues[stream] = []
            for i in works:
                call = calls.get(rows[i]["args"]["correlation"])
                self.queues[stream].append({"at": [rows[i]["start"], rows[i]["end"], i], "call": call, "queue": stream,
                                            "launched": rows[call]["start"] if call is not None else None})
        self.told = {}
        for r in rows:
            if r["cat"] == "cuda_sync":
                self.told.setdefault(r["args"]["correlation"], r["args"])
        self.calls = calls
        self.wait_all()
        self.launch_all()
        for lane in [*self.lanes.values(), *self.queues.values()]:
            for x, y in zip(lane, lane[1:]):
                self.edges.append((id(x), id(y), "queue" if "queue" in x else "thread"))

    def add(self, x, y, kind):
        """Threads stand before queues, and what stands first on a lane before what follows."""
        lanes = [n for lane in [*self.lanes.values(), *self.queues.values()] for n in lane]
        place = {id(n): k for k, n in enumerate(lanes)}
        if (x["at"][0], place[id(x)]) < (y["at"][0], place[id(y)]):
            self.edges.append((id(x), id(y), kind))

    def wait_for(self, call, works, only_last=False):
        works = [w for w in works if w["at"][1] <= call["end"]]
        if not works:
            return
        time = max(w["at"][1] for w in works)
        if only_last:
            works = [[w for w in works if w["at"][1] == time][-1]]
        lane = self.lanes[call["tid"]]
        before = [n for n in lane if n["at"][0] < time]
        node = before[-1] if time > call["start"] and before else None
        if node and node["at"][0] >= call["start"] and node["at"][1] >= time:
            node["at"][0] = time
        else:
            node = next((n for n in lane if n["at"][0] >= call["start"]), None)
            if not node or node["at"][0] < time or node["at"][1] > call["end"]:
                return
        for w in works:
            self.add(w, node, "sync")

    def record_time(self, call, told):
        record = self.calls.get(told.get("wait_on_cuda_event_record_corr_id", -1))
        if record is not None and self.rows[record]["name"] in (NAMES["record"], NAMES["wait"], NAMES["stream"], NAMES["event"], NAMES["device"]) \
                and record in self.kept and self.rows[record]["start"] <= call["start"]:
            return self.rows[record]["start"]
        return call["start"]

    def wait_all(self):
        kinds = {name: kind for kind, name in NAMES.items()}
        works = sorted((w for queue in self.queues.values() for w in queue), key=lambda w: w["at"][2])
        for w in works:
            if w["call"] is not None and self.rows[w["call"]]["name"] == NAMES["copy"]:
                call = self.rows[w["call"]]
                if w["at"][1] <= call["end"]:
                    self.wait_for(call, [w])
        # of calls that wait within one another the outermost; of all others each
        self.kept = set()
        for lane in self.lanes.values():
            reach = -1
            for i in lane[0]["order"]:
                r, kind = self.rows[i], kinds.get(self.rows[i]["name"])
                if kind in (None, "copy") or r["start"] < reach:
                    continue
                self.kept.add(i)
                if kind in ("stream", "event", "device"):
                    reach = r["end"]
        for i in sorted(self.kept, key=lambda i: self.rows[i]["args"]["correlation"]):
            call, kind = self.rows[i], kinds[self.rows[i]["name"]]
            told = self.told.get(call["args"]["correlation"])
            if kind == "wait":
                self.wait_event(call, told)
            elif kind != "record":
                self.wait_call(call, kind, told)

    def wait_event(self, call, told):
        if not told or told["stream"] < 0 or told["wait_on_stream"] < 0:
            return
        source, target = self.queues.get(told["wait_on_stream"], []), self.queues.get(told["stream"], [])
        last = first_launched(source, self.record_time(call, told))
        first = first_launched(target, call["start"])
        if last and first < len(target) and source[last - 1]["at"][1] <= target[first]["at"][0]:
            self.add(source[last - 1], target[first], "event")

    def wait_call(self, call, kind, told):
        stream, time = -1, call["start"]
        if told and kind == "event":
            stream, time = told["wait_on_stream"], self.record_time(call, told)
        if told and kind == "stream":
            stream = told["stream"]
        if told and kind != "device" and stream < 0:
            return
        works = []
        for number, queue in self.queues.items():
            last = first_launched(queue, time)
            if last and stream in (-1, number):
                works.append(queue[last - 1])
        self.wait_for(call, works, not told and kind != "device")

    def launch_all(self):
        for w in (w for queue in self.queues.values() for w in queue if w["call"] is not None):
            call = self.rows[w["call"]]
            last = min(w["at"][0], max(call["start"], call["end"] - 1))
            sources = [n for n in self.lanes[call["tid"]] if n["at"][0] <= last]
            if w["at"][0] >= call["start"] and sources:
                self.add(sources[-1], w, "launch")


def key(node):
    return tuple(-1 if v is None else v for v in node["at"])


def wanted_of(rows):
    g = Graph(rows)
    nodes = {id(n): n for lane in [*g.lanes.values(), *g.queues.values()] for n in lane}
    edges = sorted((key(nodes[x]), key(nodes[y]), kind) for x, y, kind in g.edges)
    return sorted(key(n) for n in nodes.values()), text_edges(edges)


def text_edges(edges):
    return sorted("%s -> %s %s" % edge for edge in edges)


def got_of(heddle, path):
    out = subprocess.run([heddle, "graph", "--json", path], capture_output=True, text=True, check=True).stdout
    said = json.loads(out)
    nodes = {n["node"]: (n["start"], n["end"], -1 if n["id"] is None else n["id"]) for n in said["nodes"]}
    edges = [(nodes[e["from"]], nodes[e["to"]], e["kind"]) for e in said["edges"]]
    return sorted(nodes.values()), text_edges(edges)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    edges = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.seed, args.seed + args.rounds):
            trace = Trace(random.Random(seed))
            if not trace.rows:
                continue
            path = pathlib.Path(folder) / "a.json"
            path.write_text(json.dumps(trace.json()))
            wanted, got = wanted_of(trace.rows), got_of(args.heddle, path)
            edges += len(got[1])
            for what, a, b in (("nodes", wanted[0], got[0]), ("edges", wanted[1], got[1])):
                if a != b:
                    sys.exit(f"seed {seed}: {what}\n  wanted only: {[x for x in a if x not in b][:5]}\n  got only: {[x for x in b if x not in a][:5]}")
    print(f"{edges} edges agree")
    if edges < args.rounds:
        sys.exit("too few edges to prove anything")


if __name__ == "__main__":
    main()
