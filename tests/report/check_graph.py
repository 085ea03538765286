#!/usr/bin/env python3
"""Holds `heddle graph --json` against the rules of include/heddle/analysis/graph.h, applied to random traces one by one, slowly
and without any code of ours; and `heddle report critical-path` against simulations of that graph, in which one node after
the other is later.

  check_graph.py --heddle HEDDLE [--rounds N]
"""
import argparse
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1]))

import rounds  # noqa: E402

NAMES = {"stream": "cudaStreamSynchronize", "event": "cudaEventSynchronize", "device": "cudaDeviceSynchronize",
         "copy": "cudaMemcpy", "record": "cudaEventRecord", "wait": "cudaStreamWaitEvent"}
PAGEABLE = "cudaMemcpyAsync"
TOLD = {"stream": "Stream Sync", "event": "Event Sync", "device": "Context Sync", "wait": "Stream Wait Event"}


# ---- random traces: times in ns; rows are the order of slices ----

class Trace:
    def __init__(self, rng, pageable=0):
        """pageable: how often calls copy memory that is staged."""
        self.rng, self.rows, self.next_id, self.pageable = rng, [], 1, pageable
        self.ranks = rng.choice([1, 1, 2, 3])
        collectives = [rng.randint(0, 300) for _ in range(rng.randint(1, 6))]
        for self.rank in range(self.ranks):
            self.streams = [self.rank * 1000 + s for s in rng.sample([7, 20, 21, 22], rng.randint(1, 3))]
            for thread in range(rng.randint(1, 3)):
                self.thread(self.rank * 1000 + 100 + thread)
            for number, start in enumerate(collectives if self.ranks > 1 else []):
                for _ in range(rng.choice([0] + [1] * 20 + [2])):
                    self.collective(number, start + rng.randint(0, 60))
        if rng.random() < 0.3:  # a thread that watches
            self.add("python_function", "wait", 99, rng.randint(0, 50), rng.randint(0, 2000))
            if rng.random() < 0.5:
                self.add("cuda_runtime", "cudaEventQuery", 99, rng.randint(0, 4000), 1, correlation=self.next_id)
                self.next_id += 1
        rng.shuffle(self.rows)

    def add(self, cat, name, tid, start, dur, **args):
        self.rows.append({"cat": cat, "name": name, "pid": self.rank * 2 + (cat not in ("kernel", "gpu_memcpy", "cuda_sync")), "tid": tid,
                          "start": start, "end": start + dur, "args": args})

    def collective(self, number, start):
        rng, stream = self.rng, self.rng.choice(self.streams)
        self.add("cuda_runtime", "cudaLaunchKernel", self.rank * 1000 + 100, start - rng.randint(0, 20), 5, correlation=self.next_id)
        self.add("kernel", "ncclDevKernel_x", stream, start, rng.randint(0, 150), device=self.rank, stream=stream, correlation=self.next_id, Seq=number,
                 **{"Collective name": rng.choice(["allreduce"] * 20 + ["reduce"]), "Process Group Name": "all"})
        self.next_id += 1

    def thread(self, tid):
        rng, time = self.rng, self.rng.randint(0, 50)
        for _ in range(rng.randint(1, 12)):
            time += rng.choice([0, rng.randint(1, 30)])
            length = rng.choice([0, rng.randint(1, 120)])
            if rng.random() < 0.7:
                self.add("cpu_op", "op%d" % rng.randint(0, 3), tid, time, length)
            if rng.random() < 0.15:  # crosses it, or is around it
                self.add("user_annotation", "enumerate(DataLoader)#x.__next__", tid, time + rng.randint(-9, length), rng.randint(0, 80))
            if rng.random() < 0.2:  # crosses it
                self.add("user_annotation", "mark", tid, time + rng.randint(0, length), rng.randint(0, 80))
            for _ in range(rng.randint(0, 2)):
                self.call(tid, time + rng.randint(0, length), rng.randint(0, 20))
            time += length

    def call(self, tid, start, dur):
        rng, number = self.rng, self.next_id
        self.next_id += 1
        kind = rng.choice(["launch"] * 5 + ["pageable"] * self.pageable + list(NAMES))
        stream = rng.choice(self.streams)
        self.add("cuda_runtime", NAMES.get(kind, PAGEABLE if kind == "pageable" else "cudaLaunchKernel"), tid, start, dur * (3 if kind == "pageable" else 1),
                 correlation=number)
        if kind in ("launch", "copy", "pageable") and rng.random() < 0.95:
            begin = start + (rng.randint(0, 3 * dur) if kind == "pageable" else rng.randint(-3, 60))
            addresses = {"bytes": rng.randint(0, 9), "src": rng.randint(0, 30), "dst": hex(rng.randint(0, 30))} if kind == "copy" else {}
            self.add("kernel" if kind == "launch" else "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)" if kind == "pageable" else "work", stream, begin, rng.randint(0, 50), device=self.rank, stream=stream,
                     correlation=number if rng.random() < 0.95 else 100000 + number, **addresses)
        if kind in TOLD and rng.random() < 0.6:
            more = {"wait_on_stream": rng.choice(self.streams + [-1]), "wait_on_cuda_event_record_corr_id": rng.randint(-1, number)}
            if rng.random() < 0.1:
                stream = -1
            self.add("cuda_sync", TOLD[kind], stream, start, dur, device=self.rank, correlation=number, stream=stream, **(more if kind in ("event", "wait") else {}))

    def json(self):
        names = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"rank {pid // 2}: python"}} for pid in range(2 * self.ranks)]
        return {"traceEvents": (names if self.ranks > 1 else []) + [{"ph": "X", "cat": r["cat"], "name": r["name"], "pid": r["pid"], "tid": r["tid"],
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


def runs(row):
    """What a thread with it does: works, asks, watches; nothing that is known."""
    if row["cat"] == "cpu_op" or row["name"] in (*NAMES.values(), PAGEABLE, "cudaLaunchKernel"):
        return 3
    return {"cuda_runtime": 2, "python_function": 1}.get(row["cat"], 0)


class Graph:
    def __init__(self, rows):
        self.rows, self.edges, self.lanes, self.queues = rows, [], {}, {}
        is_host = [r["cat"] not in ("kernel", "gpu_memcpy", "cuda_sync") for r in rows]
        most = max(runs(r) for r in rows)
        for tid in dict.fromkeys(r["tid"] for r, host in zip(rows, is_host) if host):  # tracks are in the order of the file
            of = [i for i, r in enumerate(rows) if is_host[i] and r["tid"] == tid]
            if any(runs(rows[i]) == most for i in of):
                order = sorted(of, key=lambda i: (rows[i]["start"], -rows[i]["end"], i))
                self.lanes[tid] = [{"at": n, "tid": tid, "order": order} for n in cut(rows, order)]
        calls = {r["args"]["correlation"]: i for i, r in enumerate(rows) if r["cat"] == "cuda_runtime"}
        for stream in dict.fromkeys(r["tid"] for r in rows if r["pid"] % 2 == 0):
            launched = lambda row: rows[calls[row["args"]["correlation"]]]["start"] if row["args"]["correlation"] in calls else -math.inf
            works = sorted((i for i, r in enumerate(rows) if r["cat"] in ("kernel", "gpu_memcpy") and r["tid"] == stream),
                           key=lambda i: (rows[i]["start"], launched(rows[i]), rows[i]["end"], i))
            self.queues[stream] = []
            for i in works:
                call = calls.get(rows[i]["args"]["correlation"])
                self.queues[stream].append({"at": [rows[i]["start"], rows[i]["end"], i], "call": call, "queue": stream,
                                            "launched": rows[call]["start"] if call is not None else None})
        self.told = {}
        self.guessed = 0
        for r in rows:
            if r["cat"] == "cuda_sync":
                self.told.setdefault(r["args"]["correlation"], r["args"])
        self.calls = calls
        self.wait_all()
        self.launch_all()
        self.meet_all()
        self.read_all()
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
        works = [w for w in works if w["at"][1] <= (call["end"] if w["at"][0] < w["at"][1] else call["start"])]
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
                and record in self.kept and self.rows[record]["tid"] // 1000 == call["tid"] // 1000 and self.rows[record]["start"] <= call["start"]:
            return self.rows[record]["start"]
        return call["start"]

    def find_blocking(self, works):
        """Names of calls in which kernels of their own run for half of the time or more, and end in them."""
        inside, calls = {}, {}
        for w in works:
            call, row = self.rows[w["call"]], self.rows[w["at"][2]]
            calls[w["call"]] = call
            if row["cat"] == "kernel" and call["start"] <= row["start"] and row["end"] <= call["end"]:
                inside[call["name"]] = inside.get(call["name"], 0) + row["end"] - row["start"]
        return {name for name, ns in inside.items() if ns and 2 * ns >= sum(c["end"] - c["start"] for c in calls.values() if c["name"] == name)}

    def wait_all(self):
        kinds = {name: kind for kind, name in NAMES.items()}
        works = sorted((w for queue in self.queues.values() for w in queue), key=lambda w: w["at"][2])
        blocking = self.find_blocking([w for w in works if w["call"] is not None])
        for w in works:
            if w["call"] is None:
                continue
            call, row = self.rows[w["call"]], self.rows[w["at"][2]]
            is_pageable, is_blocking = "Pageable" in row["name"], row["cat"] == "kernel" and call["start"] <= row["start"] and call["name"] in blocking
            if w["at"][1] <= call["end"] and (is_pageable or is_blocking or call["name"] == NAMES["copy"]):
                self.wait_for(call, [w])
            elif is_pageable and call["start"] < w["at"][0] < call["end"]:  # it is staged then
                queue = self.queues[w["queue"]]
                before = queue[queue.index(w) - 1:][:1] if queue.index(w) else []
                self.wait_for(call, [b for b in before if call["start"] < b["at"][1] <= w["at"][0]])
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
        for i in self.kept:
            if kinds[self.rows[i]["name"]] == "wait" and self.rows[i]["args"]["correlation"] not in self.told:
                self.told[self.rows[i]["args"]["correlation"]] = {"stream": self.next_queue(self.rows[i]), "wait_on_stream": -1}
        for i in sorted(self.kept, key=lambda i: self.rows[i]["args"]["correlation"]):
            call, kind = self.rows[i], kinds[self.rows[i]["name"]]
            told = self.told.get(call["args"]["correlation"])
            if kind == "wait":
                self.wait_event(call, told)
            elif kind != "record":
                self.wait_call(call, kind, told)

    def next_queue(self, call):
        """The queue on which the thread of a call launches next."""
        works = [(self.rows[w["call"]]["start"], w["call"], queue) for queue, list_ in self.queues.items() for w in list_ if w["call"] is not None]
        return min((w for w in works if self.rows[w[1]]["tid"] == call["tid"] and w[0] >= call["end"]), default=(0, 0, None))[2]

    def other_of(self, call, told):
        """The queue that a queue waits for; where it is not told, that other one whose work ended last before it went on."""
        if told["wait_on_stream"] != -1:
            return told["wait_on_stream"]
        target = self.queues.get(told["stream"], [])
        first = first_launched(target, call["start"])
        ends = []
        for number, queue in self.queues.items():
            last = first_launched(queue, self.record_time(call, told))
            if number != told["stream"] and number // 1000 == call["tid"] // 1000 and last and first < len(target) \
                    and queue[last - 1]["at"][1] <= target[first]["at"][0]:
                ends.append((queue[last - 1]["at"][1], number))
        return max(ends, key=lambda e: e[0])[1] if ends else None

    def waits_of(self, stream):
        """Calls by which a queue waits for another, both with work: when, for which, since when."""
        for i in self.kept:
            told = self.told.get(self.rows[i]["args"]["correlation"])
            if self.rows[i]["name"] == NAMES["wait"] and told and told["stream"] == stream:
                other = self.other_of(self.rows[i], told)
                if self.queues.get(other):
                    yield self.rows[i]["start"], other, self.record_time(self.rows[i], told)

    def behind(self, stream, time):
        """What an event of a queue is recorded behind: its last work, and what it waited for since. By queue the last."""
        last = first_launched(self.queues[stream], time)
        works = {stream: last - 1} if last else {}
        for start, other, record in self.waits_of(stream):
            if start < time and first_launched(self.queues[stream], start) == last:
                for queue, at in self.behind(other, record).items():
                    works[queue] = max(at, works.get(queue, 0))
        return works

    def wait_event(self, call, told):
        other = self.other_of(call, told) if told else None
        self.guessed += told is not None and told["wait_on_stream"] == -1 and other is not None
        if not self.queues.get(other) or not self.queues.get(told["stream"]):
            return
        target = self.queues[told["stream"]]
        first = first_launched(target, call["start"])
        for queue, at in self.behind(other, self.record_time(call, told)).items():
            work = self.queues[queue][at]
            if first < len(target) and work["at"][1] <= target[first]["at"][0]:
                self.add(work, target[first], "event")

    def wait_call(self, call, kind, told):
        stream, time = -1, call["start"]
        if told and kind == "event":
            stream, time = told["wait_on_stream"], self.record_time(call, told)
        if told and kind == "stream":
            stream = told["stream"]
        if kind != "device" and stream < 0:
            told = None  # not of what
        works = []
        for number, queue in self.queues.items():
            last = first_launched(queue, time)
            if last and stream == -1 and number // 1000 == call["tid"] // 1000:
                works.append(queue[last - 1])
        if stream >= 0 and self.queues.get(stream):
            works = [self.queues[queue][at] for queue, at in self.behind(stream, time).items()]
        self.wait_for(call, works, not told and kind != "device")

    def launch_all(self):
        for w in (w for queue in self.queues.values() for w in queue if w["call"] is not None):
            call = self.rows[w["call"]]
            last = min(w["at"][0], max(call["start"], call["end"] - 1))
            sources = [n for n in self.lanes[call["tid"]] if n["at"][0] <= last]
            if w["at"][0] >= call["start"] and sources:
                self.add(sources[-1], w, "launch")

    def meet_all(self):
        """The collectives of several ranks, one after the other."""
        works = [(queue, k) for queue in self.queues.values() for k in range(len(queue))]
        row_of = lambda queue, k: self.rows[queue[k]["at"][2]]
        for number in range(10):
            of = sorted((w for w in works if row_of(*w)["args"].get("Seq") == number), key=lambda w: row_of(*w)["pid"])
            if len(of) < 2 or len({row_of(*w)["pid"] for w in of}) < len(of) or len({row_of(*w)["args"]["Collective name"] for w in of}) > 1:
                continue
            last = max(of, key=lambda w: w[0][w[1]]["at"][0])
            come = last[0][last[1]]["at"][0]
            for queue, k in of:
                at = queue[k]["at"]
                if at[0] < come and at[1] > come + 1 and (k + 1 == len(queue) or queue[k + 1]["at"][0] > come + 1):
                    at[0] = come + 1
                    self.add(last[0][last[1]], queue[k], "collective")


    def read_all(self):
        """Copies read what others wrote last, byte by byte; 0 is not an address. Those of one process see one another."""
        place = {id(w): k for k, w in enumerate(w for queue in self.queues.values() for w in queue)}
        accesses, last, pairs = [], {}, set()
        for w in (w for queue in self.queues.values() for w in queue):
            args, (start, end, row) = self.rows[w["at"][2]]["args"], w["at"]
            space = (self.rows[row]["pid"], w["call"] is not None)
            for turn, time, address in ((False, start, args.get("src", 0)), (True, end, int(args.get("dst", "0"), 16))):
                if address:
                    accesses.append((time, 1 if start == end else 2 * (not turn), place[id(w)], turn, w, [(space, address + b) for b in range(args["bytes"])]))
        for _, _, _, is_write, w, places in sorted(accesses, key=lambda a: a[:4]):
            for at in places:
                if is_write:
                    last[at] = w
                elif at in last and id(last[at]) != id(w) and (id(last[at]), id(w)) not in pairs:
                    pairs.add((id(last[at]), id(w)))
                    self.add(last[at], w, "address")


def key(node):
    return tuple(-1 if v is None else v for v in node["at"])


def wanted_of(rows):
    g = Graph(rows)
    if not g.lanes and not g.queues:
        return [], [], None, 0
    nodes = {id(n): n for lane in [*g.lanes.values(), *g.queues.values()] for n in lane}
    edges = sorted((key(nodes[x]), key(nodes[y]), kind) for x, y, kind in g.edges)
    return sorted(key(n) for n in nodes.values()), text_edges(edges), Schedule(g), g.guessed


def text_edges(edges):
    return sorted("%s -> %s %s" % edge for edge in edges)


# ---- the critical path ----

class Schedule:
    """Start and end of all nodes, when some are later than they were."""

    def __init__(self, g):
        lanes = [n for lane in [*g.lanes.values(), *g.queues.values()] for n in lane]
        self.kinds = {id(n): "work" if "queue" in n else None for n in lanes}
        place = {id(n): k for k, n in enumerate(lanes)}
        self.order = sorted(lanes, key=lambda n: (n["at"][0], place[id(n)]))
        self.at = {id(n): n["at"] for n in lanes}
        self.into = {id(n): [] for n in lanes}
        for x, y, kind in g.edges:
            self.into[y].append((x, kind))
        self.begin, self.end = min(n["at"][0] for n in lanes), max(n["at"][1] for n in lanes)
        self.delays = {y: self.at[y][0] - self.latest(y, self.at) for y in self.at}

    def ready(self, x, y, kind, at):
        """The edge leaves the end of x, or its start if x went on beyond the start of y; on a queue, if y ends last and
        overlaps by 5 us at most, as long before the end of x as it did."""
        overlap = self.at[x][1] - self.at[y][0]
        if overlap <= 0 or (kind == "queue" and overlap <= 5000 and self.at[x][1] <= self.at[y][1]):
            return at[x][1] - max(0, overlap)
        return at[x][0]

    def latest(self, y, at):
        return max([self.ready(x, y, kind, at) for x, kind in self.into[y]], default=self.begin)

    def end_with(self, late, shift):
        at = {}
        for n in self.order:
            y = id(n)
            start = self.latest(y, at) + self.delays[y]
            start += shift if y == late else 0
            at[y] = (start, start + self.at[y][1] - self.at[y][0])
        return max(end for _, end in at.values())

    def problems(self, said, rows):
        pieces, slack = said["pieces"], {r["id"]: r["slack"] for r in said["slack"]}
        if said["paths"][0]["length"] != self.end - self.begin or sum(c["total"] for c in said["classes"]) != self.end - self.begin:
            yield "the path is not as long as the trace"
        if sum(n["total"] for n in said["names"]) != self.end - self.begin:
            yield "names are not as long as the trace"
        time = self.begin
        for p in pieces:
            if p["start"] != time:
                yield f"a gap before {p}"
            time += p["duration"]
            yield from self.piece_problems(p, rows)
        if time != self.end:
            yield "it ends elsewhere"
        for row in {n["at"][2] for n in self.order} - {None}:
            of = [id(n) for n in self.order if n["at"][2] == row]
            if any(self.end_with(y, slack[row]) > self.end for y in of) or not any(self.end_with(y, slack[row] + 1) > self.end for y in of):
                yield f"slack of {row}: {slack[row]}"

    @staticmethod
    def is_loading(i, rows):
        place = lambda k: (rows[k]["start"], -rows[k]["end"], k)
        return any("DataLoader" in r["name"] and r["tid"] == rows[i]["tid"] and place(k) <= place(i) and rows[i]["end"] <= r["end"]
                   for k, r in enumerate(rows))

    def piece_problems(self, p, rows):
        """Some node of that event must be there then, lie on a longest path, and be of that class."""
        start, end = p["start"], p["start"] + p["duration"]
        for n in self.order:
            y, at = id(n), n["at"]
            if (at[2] if at[2] is not None else None) != p["id"]:
                continue
            if not p["waits"] and at[0] <= start and end <= at[1]:
                row = rows[at[2]] if at[2] is not None else None
                wanted = "gap" if row is None else {"kernel": "communication" if "Seq" in row["args"] else "compute", "gpu_memcpy": "copy"}.get(
                    row["cat"], "sync" if row["name"] in (NAMES["stream"], NAMES["event"], NAMES["device"], NAMES["copy"]) else
                    "data loading" if self.is_loading(at[2], rows) else "cpu")
                fine = p["class"] == wanted
            elif p["waits"] and end == at[0] and start == at[0] - self.delays[y]:
                kinds = {kind for x, kind in self.into[y] if self.ready(x, y, kind, self.at) == start} or {"none"}
                fine = p["class"] in {{"launch": "launch", "queue": "queue", "event": "sync", "sync": "sync", "collective": "communication", "address": "sync", "none": "unknown"}.get(k) for k in kinds}
            else:
                continue
            if fine and self.end_with(y, 1) == self.end + 1:
                return
        yield f"no such node on a longest path: {p}"


def ask(heddle, *words):
    return json.loads(subprocess.run([heddle, *words], capture_output=True, text=True, check=True).stdout)


def got_of(heddle, path):
    said = ask(heddle, "graph", "--json", path)
    nodes = {n["node"]: (n["start"], n["end"], -1 if n["id"] is None else n["id"]) for n in said["nodes"]}
    edges = [(nodes[e["from"]], nodes[e["to"]], e["kind"]) for e in said["edges"]]
    return sorted(nodes.values()), text_edges(edges), said["left_out"]["waits_guessed"]


def event_edges(heddle, path):
    said = ask(heddle, "graph", "--json", path)
    nodes = {n["node"]: (n["start"], n["track_id"], n["name"]) for n in said["nodes"]}
    return {(nodes[e["from"]], nodes[e["to"]]) for e in said["edges"] if e["kind"] == "event"}


def check_guesses(heddle, folder, programs):
    """What programs tell of waits is found again where they do not."""
    right = missed = wrong = 0
    path = pathlib.Path(folder) / "program.json"
    for seed in range(programs):
        subprocess.run([heddle, "synth", "-q", "--program", "--seed", str(seed), "-o", path], check=True)
        told = event_edges(heddle, path)
        trace = json.loads(path.read_text())
        trace["traceEvents"] = [e for e in trace["traceEvents"] if e["name"] != "Stream Wait Event"]
        path.write_text(json.dumps(trace))
        found = event_edges(heddle, path)
        right, missed, wrong = right + len(told & found), missed + len(told - found), wrong + len(found - told)
    print(f"of {right + missed} waits that are told {right} are found without, and {wrong} others")
    if right < 0.75 * (right + missed) or wrong > 0.03 * right:
        sys.exit("too few, or too many others")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--seed", type=int, default=rounds.seed(1))
    parser.add_argument("--programs", type=int, default=8)
    args = parser.parse_args()
    edges = met = read = guessed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.seed, args.seed + args.rounds):
            trace = Trace(random.Random(seed), pageable=2)
            if not trace.rows:
                continue
            path = pathlib.Path(folder) / "a.json"
            path.write_text(json.dumps(trace.json()))
            wanted, got = wanted_of(trace.rows), got_of(args.heddle, path)
            edges += len(got[1])
            met += sum(edge.endswith("collective") for edge in got[1])
            read += sum(edge.endswith("address") for edge in got[1])
            guessed += got[2]
            for what, a, b in (("nodes", wanted[0], got[0]), ("edges", wanted[1], got[1]), ("guessed", [wanted[3]], [got[2]])):
                if a != b:
                    sys.exit(f"seed {seed}: {what}\n  wanted only: {[x for x in a if x not in b][:5]}\n  got only: {[x for x in b if x not in a][:5]}")
            if wanted[2]:
                said = ask(args.heddle, "report", "critical-path", "--pieces", "--slack", "--json", path)
                for problem in wanted[2].problems(said, trace.rows):
                    sys.exit(f"seed {seed}: {problem}")
        check_guesses(args.heddle, folder, args.programs)
    print(f"{edges} edges agree, {met} of them of collectives, {read} by address; {guessed} waits guessed")
    if edges < args.rounds or met < args.rounds / 2 or read < args.rounds / 10 or guessed < args.rounds / 20:
        sys.exit("too few edges to prove anything")


if __name__ == "__main__":
    main()
