#!/usr/bin/env python3
"""Holds `heddle replay` against a simulator without any code of ours: the graph of random traces (`heddle graph --json`,
which check_graph.py holds), the delays from its times, then each node when all that it waits for has run. Compared are the
tables and, event by event to the nanosecond, the trace that -o writes.

  check_replay.py --heddle HEDDLE [--rounds N]
"""
import argparse
import copy
import decimal
import fnmatch
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

from check_graph import Trace
import rounds  # noqa: E402  by check_graph's path


def ask(*command, ok=(0,)):
    run = subprocess.run([str(x) for x in command], capture_output=True, text=True)
    if run.returncode not in ok:
        sys.exit(f"{' '.join(map(str, command))}: {run.returncode}\n{run.stderr}")
    return run.stdout


def stretch(part, whole, now):
    return now + part - whole if part >= whole or whole == 0 else part * now // whole


class Sms:
    """The SMs of a device: who runs stands in an order, and takes what those before leave."""

    def __init__(self, priority, recorded=False):
        self.priority, self.recorded = priority, recorded  # of a node; in the trace
        self.now = self.granted = self.full = -(1 << 62)
        self.order, self.coming, self.count, self.waiters = [], [], 0, []

    def copy(self):
        out = copy.copy(self)
        out.order, out.coming = [dict(e) for e in self.order], list(self.coming)
        return out

    def last_wave(self, e):
        """What is to be got until then."""
        return e["demand"] - e["tail"] * e["wave"] - e["got"]

    def shares(self):
        left, out = 1024, {}
        for e in self.order:
            is_last = e["until"] - self.now <= e["wave"] if e["until"] is not None else self.last_wave(e) <= 0
            out[e["node"]] = min(e["most"], left, e["tail"] if is_last else 1024)
            left -= out[e["node"]]
        return out

    def reorder(self, stays, known):
        shares = self.shares()
        for e in self.order:
            if e["node"] in known:
                e["most"] = shares[e["node"]] if e["node"] in stays else e["width"]
        mine = [e for e in self.order if e["node"] in known]
        mine.sort(key=lambda e: (e["node"] not in stays, self.priority(e["node"]), e["number"]))
        self.order = mine + [e for e in self.order if e["node"] not in known]

    def rate(self, e, shares):
        return max(shares[e["node"]], e["width"] // 128, 1)

    def ahead(self, e, shares):
        """When it changes, and when it ends."""
        if e["until"] is not None:
            return [e["until"] - e["wave"]] if e["until"] - e["wave"] > self.now else [], e["until"]
        last, rate = self.last_wave(e), self.rate(e, shares)
        return [self.now - -last // rate] if last > 0 else [], self.now - -(e["demand"] - e["got"]) // rate

    def advance(self, to, ended):
        """`ended`: by node, (end, what it got)."""
        while True:
            while self.coming and self.coming[0][0] <= self.now:
                self.reorder(*self.coming.pop(0)[1:])
            shares = self.shares()
            ahead = {e["node"]: self.ahead(e, shares) for e in self.order}
            after = min([to] + [t for changes, end in ahead.values() for t in changes + [end]] + [c[0] for c in self.coming if self.order])
            if self.order and after > self.now:
                for e in self.order:
                    e["got"] += self.rate(e, shares) * (after - self.now)
                    if shares[e["node"]] > 2 * e["had"]:
                        e["phase"] = self.now
                    e["had"] = shares[e["node"]]
                if sum(shares.values()) >= 1024:
                    self.full = after
            self.now = max(after, self.now)
            for e in [e for e in self.order if ahead[e["node"]][1] <= self.now]:
                ended[e["node"]] = (ahead[e["node"]][1], e["got"])
                self.order.remove(e)
            if self.now >= to and not (self.coming and self.coming[0][0] <= self.now):
                return

    def outcome(self):
        ended, future = {}, self.copy()
        future.advance(1 << 60, ended)
        return ended

    def givers(self, node, time):
        """From `time` on, by node, when it gives SMs to that, and how many; who keeps its own."""
        planned, then = self.outcome(), self.copy()
        then.advance(time, {})
        shares, gives, stays = then.shares(), {}, set()
        for e in then.order:
            if self.priority(e["node"]) > self.priority(node):
                after = time + (-(time - e["phase"]) % e["wave"] if e["wave"] and not self.recorded else 0)
                if shares[e["node"]] and planned[e["node"]][0] - after < (e["wave"] if self.recorded else e["wave"] // 2):
                    stays.add(e["node"])
                else:
                    gives[e["node"]] = (after, shares[e["node"]])
        return gives, stays, shares

    def can_begin(self, node, start):
        then = self.copy()
        then.advance(start, {})
        while sum(then.shares().values()) >= 1024:
            then.advance(then.now + 1, {})
        gives = self.givers(node, max(start, self.granted))[0]
        return then.now if then.now <= start else min([then.now] + [t for t, held in gives.values() if held])

    def begin(self, node, start, width, waves, tail, end, demand):
        """By node, (end, what it gets) of all that run then."""
        self.advance(start, {})
        if sum(self.shares().values()) >= 1024:
            self.full = start
        wave = (end - start) // waves if end is not None else demand // (width * (waves - 1) + tail)
        self.order.append({"node": node, "width": width, "most": width, "tail": tail, "wave": wave, "phase": start, "had": 0, "got": 0,
                           "until": end, "demand": demand, "number": self.count})
        self.count += 1
        time = max(start, self.granted)
        gives, stays, shares = self.givers(node, time)
        wanted, held = width - shares.get(node, width), 0
        if wanted > 0 and (gives or stays):
            for after in sorted({t for t, share in gives.values() if share}):
                if held < wanted:
                    held += sum(share for t, share in gives.values() if t == after)
                    time = after
            self.granted = time
            self.coming.append((time, stays, {e["node"] for e in self.order}))
        return self.outcome()

    # ---- who waits ----

    def wake_first(self, time, can):
        if self.waiters and self.waiters[0][2] is None:
            node, since, _ = self.waiters[0]
            can[node] = self.can_begin(node, time)
            self.waiters[0] = (node, since, can[node])

    def waits(self, node, start, can):
        """It waits for SMs, or for those who wait before it: sets when it is asked again."""
        since = next((since for n, since, wakes in self.waiters if n == node and wakes == start), start)
        self.waiters = [w for w in self.waiters if w[0] != node]
        key = lambda w: (self.priority(w[0]), w[1], w[0])
        wakes = self.can_begin(node, start) if not self.waiters or key((node, since)) < key(self.waiters[0]) else None
        if wakes == start:
            return False
        self.waiters = sorted(self.waiters + [(node, since, wakes)], key=key)
        self.wake_first(start, can)
        can[node] = wakes if wakes is not None else 1 << 60
        return True


class Replay:
    def __init__(self, rows, graph, changes):
        self.rows = rows
        self.nodes = {n["node"]: n for n in graph["nodes"]}
        self.into = {n: [] for n in self.nodes}
        for e in graph["edges"]:
            self.into[e["to"]].append((e["from"], e["kind"]))
        self.was = {n: (x["start"], x["end"]) for n, x in self.nodes.items()}
        self.is_work = {n: x["kind"] == "work" for n, x in self.nodes.items()}
        self.calls = {r["args"]["correlation"]: i for i, r in enumerate(rows) if r["name"] in ("cudaLaunchKernel", "cudaMemcpy")}
        self.call_of = {n: self.calls.get(rows[x["id"]]["args"]["correlation"]) for n, x in self.nodes.items() if self.is_work[n]}
        self.lags, self.from_start, self.call_part, self.usual = {}, set(), {}, 0
        self.works = [n for n in self.nodes if self.is_work[n]]
        self.share = {n: self.share_of(rows[self.nodes[n]["id"]]) for n in self.works}
        self.priority = {n: rows[self.nodes[n]["id"]]["args"].get("priority", 0) for n in self.works}
        self.priority = {n: p - (1 << 32) if p > 1 << 31 else p for n, p in self.priority.items()}
        self.look_at_shares()
        self.reckon()
        self.length = {n: e - s for n, (s, e) in self.was.items()}
        self.gone = set()
        self.pinned = {n for n in self.nodes if self.is_left_out(n, changes)}
        self.look_at_returns()
        self.edges = self.into
        self.unchanged = self.simulate()
        self.change(changes)
        self.changed = self.simulate()
        if {"scale", "launch-cost", "remove", "queue-depth", "priorities"} & set(changes) and not {"overlap", "streams"} & set(changes):
            self.settle()

    # ---- delays ----

    def key(self, node, source, kind):
        role = self.rows[self.nodes[node]["id"]]["cat"]
        if kind == "event":
            return ("event", role)
        if kind == "queue":
            return ("queue", role, self.rows[self.nodes[source]["id"]]["cat"])
        call = self.rows[self.call_of[node]]
        return ("launch", role, call["name"], self.was[source][0] < call["start"])

    def lag_key(self, key):
        """The class whose delay it has; None: there is none of its kind."""
        order = ["kernel", "gpu_memcpy", "cudaLaunchKernel", "cudaMemcpy", False, True]
        kind = [k for k in self.lags if k[0] == key[0]]
        return key if key in self.lags else min(kind, key=lambda k: (-self.counts[k], [order.index(x) for x in k[1:]]), default=None)

    def lag(self, key):
        of = self.lag_key(key)
        return self.lags.get(of, self.usual if key[0] == "queue" else 0) - (self.call_part.get(of, 0) if of != key and key[-1] is False else 0)

    def own_call(self, node):
        """The stretch of the call that launches a work and waits for it; None."""
        source = next((s for s, k in self.into[node] if k == "launch"), None)
        if source is None or not self.key(node, source, "launch")[3] or self.is_work.get(source + 1, True):
            return None
        return source + 1 if (node, "sync") in self.into[source + 1] else None

    def ready(self, node, source, kind, at, plain=False):
        (was_start, was_end), start = self.was[source], self.was[node][0]
        whole, now = was_end - was_start, at[1] - at[0]
        if kind == "slot":
            return at[0]
        if kind == "launch":
            key = self.key(node, source, kind)
            lag, call = self.lag(key), self.own_call(node)
            if self.lag_key(key) in self.from_start and not key[3]:
                return at[0] + stretch(lag, whole, now)
            if not plain and call is not None and self.call_part.get(key):
                lag += self.length[call] - self.call_part[key]
                return at[1] + lag
            return max(at[0], at[1] + lag)
        if kind == "queue" and not plain and node in self.gone:
            return at[1]
        if was_end > start and kind != "event" and not (kind == "queue" and source + 1 != node):
            return at[0] + stretch(start - was_start, whole, now)
        return at[1] + (self.lag(self.key(node, source, kind)) if kind in ("queue", "event") else 0)

    def samples(self, kinds, place):
        found = {}
        for node in filter(self.is_work.get, self.nodes):
            if not any(k == "launch" for _, k in self.into[node]):
                continue
            for source, kind in self.into[node]:
                if kind not in kinds or (kind != "launch" and self.was[source][1] > self.was[node][0]):
                    continue
                limit = self.was[source][0 if kind == "launch" else 1]
                others = [self.was[s][1] if k == kind else self.ready(node, s, k, self.was[s], True) for s, k in self.into[node] if (s, k) != (source, kind)]
                if self.full[node] <= limit and all(o <= limit for o in others):
                    found.setdefault(self.key(node, source, kind), []).append(self.was[node][0] - self.was[source][place])
        return found

    @staticmethod
    def mean(values):
        cut = (len(values) + 9) // 10 if len(values) > 2 else 0
        kept = sorted(values)[cut:len(values) - cut]
        return int((abs(sum(kept)) + len(kept) // 2) // len(kept)) * (1 if sum(kept) >= 0 else -1)

    def reckon(self):
        def spread(values):
            middle = sorted(values)[len(values) // 2]
            return sorted(abs(v - middle) for v in values)[len(values) // 2]

        starts, ends = self.samples(("launch",), 0), self.samples(("launch",), 1)
        self.counts = {key: len(values) for key, values in ends.items()}
        free = {key: self.mean(values) for key, values in ends.items() if not key[3]}
        most = min(free, key=lambda k: (-self.counts[k], ["kernel", "gpu_memcpy", "cudaLaunchKernel", "cudaMemcpy"].index(k[1]), k[2]), default=None)
        for key in ends:
            if not key[3] and spread(starts[key]) < spread(ends[key]):
                self.from_start.add(key)
            self.lags[key] = self.mean(starts[key] if key in self.from_start else ends[key])
            if key[3] and free:  # what the call takes until its work is launched
                self.call_part[key] = max(0, self.lags[key] - free.get(key[:3] + (False,), free[most]))
        found = self.samples(("queue", "event"), 1)
        self.counts.update({key: len(values) for key, values in found.items()})
        self.lags.update({key: self.mean(values) for key, values in found.items()})
        self.usual = 1000

    # ---- calls that wait ----

    def look_at_returns(self):
        """How long after its work each returns; what it takes itself becomes its length."""
        self.wake = {}
        waits = {n: max(self.was[s][1] for s, k in e if k == "sync") for n, e in self.into.items() if any(k == "sync" for _, k in e)}
        named = {}
        for n in waits:
            named.setdefault(self.nodes[n]["name"] if self.nodes[n].get("id") is not None else None, []).append(n)
        since = {n: self.was[n][0] - end for n, end in waits.items()}
        length = {n: self.was[n][1] - self.was[n][0] for n in waits}
        order = [r["name"] for r in self.rows]  # strings have numbers as they come
        of = {name: [length[n] for n in nodes if since[n] <= 0] for name, nodes in named.items()}
        most = max(of, key=lambda name: (len(of[name]), -(order.index(name) if name else 1 << 30)), default=None)
        for name, nodes in named.items():
            waited = of[name]
            wake = self.mean(waited or of[most]) if of[most] else None
            alone = [length[n] for n in nodes if since[n] > 0 and since[n] >= (wake if waited else 0)]
            own = self.mean(alone) if alone else None
            for n in nodes:
                self.wake[n] = length[n] if since[n] <= 0 or wake is None else min(wake, length[n] + since[n])
                if since[n] > 0 or n in self.pinned:
                    continue
                launched = [s for s, k in self.into[n] if k == "sync" and self.is_work[s] and self.own_call(s) == n]
                thread = [s for s, k in self.into[n] if k == "thread"]
                if launched:
                    source = next(s for s, k in self.into[launched[-1]] if k == "launch")
                    self.length[n] = self.call_part.get(self.key(launched[-1], source, "launch"), 0)
                elif own is not None:
                    self.length[n] = min(own, self.was[n][1] - self.was[thread[0]][1]) if thread else own

    def settle(self):
        """Calls wait for what has been launched then of queues of another thread: replayed until that stays."""
        tid = lambda n: self.nodes[n]["tid"]
        of = {n: next((s for s, k in self.into[n] if k == "launch"), None) for n in self.works}
        foreign = {}
        for lane in self.queues():
            by = {of[n] is not None and tid(of[n]) for n in lane}
            foreign.update({n: (lane, by) for n in lane if len(by) == 1 and False not in by})
        moving = [(n, i) for n, edges in self.into.items() if n in self.wake and edges[0][1] == "thread" and self.nodes[n]["name"] in ("cudaStreamSynchronize", "cudaDeviceSynchronize")
                  for i, (s, k) in enumerate(edges) if k == "sync" and s in foreign and tid(n) not in foreign[s][1]]
        base = {n: list(e) for n, e in self.edges.items()}
        last = {(n, i): self.into[n][i][0] for n, i in moving}
        for _ in range(8 if moving else 0):
            now = {}
            for n, i in moving:
                called, lane = self.changed[n - 1][1], foreign[self.into[n][i][0]][0]
                launched, now[n, i] = -1, None
                for w in lane:
                    launched = max(launched, self.changed[of[w]][0 if self.own_call(w) is None else 1])
                    if launched < called:
                        now[n, i] = w
            if now == last:
                break
            last = now
            self.edges = {n: list(e) for n, e in base.items()}
            for n, i in moving:
                at = self.edges[n].index(self.into[n][i])
                self.edges[n][at:at + 1] = [(last[n, i], "sync")] if last[n, i] is not None else []
            self.changed = self.simulate()

    # ---- what is shared ----

    @staticmethod
    def share_of(row):
        """What it takes of its device: ("in" or "out", ), or ("sms" or "held", how many of 1024); None."""
        name = row["name"]
        if row["cat"] == "gpu_memcpy":
            return None if "Pageable" in name else ("in",) if "HtoD" in name else ("out",) if "DtoH" in name else None
        blocks = row["args"].get("blocks per SM")
        if row["cat"] != "kernel" or not blocks:
            return None
        held, registers = 32, row["args"].get("registers per thread", 0)
        if "block" in row["args"]:  # whole warps; registers in parts of 256
            warps = -(-row["args"]["block"][0] // 32)
            held = min(held, 2048 // (32 * warps), 65536 // (-(-registers * 32 // 256) * 256 or 1) // warps if registers else held)
        width = min(1024, int(blocks * 1024 + 1)) if blocks < 1 else 1024
        by, is_known = blocks / max(1, held if "block" in row["args"] else 1), "block" in row["args"]
        waves = max(1, math.ceil(by))
        tail = min(width, int(width * (by - (waves - 1)) + 1)) if waves > 1 and is_known else width
        return ("held" if name.startswith("nccl") or "Collective name" in row["args"] else "sms", width, waves, tail)

    def device(self, node):
        return self.rows[self.nodes[node]["id"]]["args"]["device"]

    def look_at_shares(self):
        free, overlap, copied, devices, early, worked, last_copy = {}, {}, {}, {}, {}, {}, {}
        self.beside = {}  # of a copy: ns at the same time as one of the other direction
        self.full = {n: -(1 << 62) for n in self.nodes}
        self.demand = {}
        before = {n: s for n in self.works for s, k in self.into[n] if k == "queue"}
        for n in sorted(self.works, key=lambda n: (self.was[n][0], self.nodes[n]["id"])):
            start, end = self.was[n]
            kind, device = self.share[n] and self.share[n][0], self.device(n)
            if kind in ("in", "out"):
                last = free.get((device, kind), -(1 << 62))
                overlap[device, kind] = overlap.get((device, kind), 0) + max(0, min(end, last) - start)
                copied[device, kind] = copied.get((device, kind), 0) + end - start
                self.full[n], free[device, kind] = last, max(last, end)
                other = last_copy.get((device, "out" if kind == "in" else "in"))
                if other is not None and self.was[other][1] > start:
                    for m in (n, other):
                        self.beside[m] = self.beside.get(m, 0) + min(end, self.was[other][1]) - start
                if end > last:
                    last_copy[device, kind] = n
            elif kind:
                sms = devices.setdefault(device, Sms(self.priority.get, True))
                if n not in before or self.was[before[n]][1] <= start:
                    early[device] = early.get(device, 0) + min(sms.can_begin(n, start), end) - start
                    worked[device] = worked.get(device, 0) + end - start
                self.demand.update({m: got for m, (_, got) in sms.begin(n, start, *self.share[n][1:], end, 0).items()})
                self.full[n] = sms.full if kind == "sms" else self.full[n]
        def needs(n):
            (_, width, waves, tail), length = self.share[n], self.was[n][1] - self.was[n][0]
            return width * (length - length // waves) + tail * (length // waves)
        self.is_crowded = any(self.share[n][0] == "sms" and got < needs(n) for n, got in self.demand.items())
        self.is_crowded |= any(self.beside.values())
        self.begins_full = any(early[d] > worked[d] // 10 for d in early)
        crossed = {d for (d, k) in copied if overlap[d, k] > copied[d, k] // 50}  # nothing is known of what is beside those
        self.beside = {n: 0 if self.device(n) in crossed else both for n, both in self.beside.items()}
        for n in self.works:
            kind = self.share[n] and self.share[n][0]
            if kind in ("in", "out") and overlap[self.device(n), kind] > copied[self.device(n), kind] // 50:
                self.share[n], self.full[n] = None, -(1 << 62)

    # ---- changes ----

    def is_left_out(self, node, changes):
        """Not in the window, where its call has to be, or of another stream."""
        start = self.was[node][0]
        if self.is_work[node] and self.call_of[node] is not None:
            start = self.rows[self.call_of[node]]["start"]
        first = min(r["start"] for r in self.rows)
        if not changes.get("from", 0) <= start - first < changes.get("until", 1 << 60):
            return True
        if "events" in changes:
            row = self.nodes[node].get("id")
            return row is None or not {str(row), self.nodes[node]["name"]} & set(changes["events"].split(","))
        return self.is_work[node] and "stream" in changes and self.rows[self.nodes[node]["id"]]["args"]["stream"] != changes["stream"]

    def in_slice(self, row):
        r = self.rows[row]
        mine = [n for n, x in self.nodes.items() if not self.is_work[n] and x["tid"] == r["tid"]]
        return [n for n in mine if self.was[n][0] >= r["start"] and (self.was[n][0] < r["end"] or self.nodes[n].get("id") == row)]

    def drop(self, nodes):
        for n in (n for n in nodes if n not in self.pinned):
            self.gone.add(n)
            self.length[n] = 0

    def change(self, changes):
        for stream, priority in changes.get("priorities", []):
            for n in self.works:
                if stream in ("all", self.rows[self.nodes[n]["id"]]["args"]["stream"]) or stream == self.kind_of(n):
                    self.priority[n] = priority
        name = {n: x["name"] if x.get("id") is not None else None for n, x in self.nodes.items()}
        self.idle = []  # finds nothing
        for pattern, factor in changes.get("scale", []):
            wanted = [n for n in self.nodes if name[n] and fnmatch.fnmatchcase(name[n], pattern) and n not in self.pinned]
            for n in wanted:
                self.length[n] = int(self.length[n] * factor + 0.5)
            self.idle += [] if wanted else [f"--scale '{pattern}'"]
        if "launch-cost" in changes:
            for row in sorted(self.calls.values(), key=lambda i: (self.rows[i]["start"], i)):
                of = [n for n in self.in_slice(row) if n not in self.pinned]
                total, given = sum(self.length[n] for n in of), 0
                for n in of:
                    self.length[n] = changes["launch-cost"] - given if n == of[-1] else self.length[n] * changes["launch-cost"] // max(total, 1)
                    given += self.length[n]
        if "remove" in changes:
            wanted = [n for n in self.nodes if name[n] and fnmatch.fnmatchcase(name[n], changes["remove"]) and n not in self.pinned]
            self.idle += [] if wanted else [f"--remove '{changes['remove']}'"]
            for n in wanted:
                self.drop([n] if self.is_work[n] else self.in_slice(self.nodes[n]["id"]))
            self.drop([n for n in self.nodes if self.is_work[n] and any(k == "launch" and s in self.gone for s, k in self.into[n])])
            for n in [n for n in self.gone if self.is_work[n] and self.call_of[n] is not None]:
                self.drop(self.in_slice(self.call_of[n]))

        if "overlap" in changes or "streams" in changes:
            self.part(changes.get("overlap"), changes.get("streams", 1))
        if "queue-depth" in changes:
            self.limit(changes["queue-depth"])

    def limit(self, depth):
        """The longest stretch of a call that launches waits until the operation `depth` before it on its queue has begun."""
        before = {n: s for n, edges in self.edges.items() if self.is_work[n] for s, k in edges if k == "queue"}
        after = {s: n for n, s in before.items()}
        sent = {}
        for n in filter(self.is_work.get, self.nodes):
            if self.call_of[n] is not None:
                sent.setdefault(self.call_of[n], []).append((self.was[n][0], self.nodes[n]["id"], n))
        first = {min(works)[2] for works in sent.values()}
        self.edges = {n: list(edges) for n, edges in self.edges.items()}
        for head in (n for n in self.nodes if self.is_work[n] and n not in before):
            queue = [head]
            while queue[-1] in after:
                queue.append(after[queue[-1]])
            queue = [n for n in queue if n in first and n not in self.gone]
            for slot, n in zip(queue, queue[depth:]):
                call = self.in_slice(self.call_of[n])
                if call and not any(k == "sync" for c in call for _, k in self.into[c]):
                    longest = max(call, key=lambda c: (self.was[c][1] - self.was[c][0], c))
                    self.edges[longest] = [e for e in self.edges[longest] if e[1] != "slot"] + [(slot, "slot")]

    def kind_of(self, node):
        row = self.rows[self.nodes[node]["id"]]
        told = row["name"].startswith("nccl") or "Collective name" in row["args"]
        return "copy" if row["cat"] == "gpu_memcpy" else "communication" if told else "compute"

    def queues(self):
        out = {}
        for n in sorted(filter(self.is_work.get, self.nodes)):
            out.setdefault(self.nodes[n]["track_id"], []).append(n)
        return out.values()

    def with_edges(self, before, beside, moved):
        """The edges where works stand behind others on their queues now: `beside`, all of a queue that what waited for a
        work waits for as well."""
        self.edges = {}
        for n, edges in self.into.items():
            new = [(s, k) for s, k in edges if not (k == "queue" and self.is_work[n])]
            if self.is_work[n]:
                lane = next(q for q in self.queues() if n in q)
                last = before[n] if before.get(n) is not None else lane[0] - 1
                new += [(before[n], "queue")] if before.get(n) is not None else []
                new += [(s, "event") for k in lane if last < k < n for s, kind in self.into[k] if kind == "event"]
            for s, k in edges:
                if k in ("sync", "event") and s in moved and not (k == "sync" and self.own_call(s) == n):  # the events before what is moved
                    lane = next(q for q in self.queues() if s in q)
                    stayed = max((o for o in lane if o < s and o not in moved), default=-1)
                    new += [(o, k) for w in lane if stayed < w <= s for o, kind in self.into[w] if kind == "event"]
            new += [(o, k) for s, k in edges if k in ("sync", "event") for o in beside.get(s, []) if not (k == "sync" and self.own_call(s) == n)]
            left_behind = {s for s in moved if self.nodes[n]["name"] in ("cudaStreamSynchronize", "cudaEventSynchronize") and self.kind_of(s) == "communication"}
            self.edges[n] = [(s, k) for s, k in new if not (k == "event" and (n in moved or s in moved)) and not (k == "sync" and s in left_behind)]

    def part(self, overlaps, by):
        """Of each queue, what overlaps becomes one of its own; the rest `by`, in turn, if it is not all communication."""
        before, beside, moved = {}, {}, set()
        for lane in self.queues():
            here = {n for n in lane if self.kind_of(n) == overlaps}
            here = set() if len(here) == len(lane) else here
            moved |= here
            mine = by if any(self.kind_of(n) != "communication" for n in lane) else 1
            queue = {n: i % mine for i, n in enumerate(n for n in lane if n not in here)}
            last = {}
            for n in lane:
                name = queue.get(n, "moved")
                before[n], beside[n] = last.get(name), [k for q, k in last.items() if q != name]
                last[name] = n
        self.with_edges(before, beside, moved)

    # ---- the run ----

    def chains(self):
        """By work, what is before it on its queue, and the first of that; by work, what follows it."""
        before = {n: s for n in self.works for s, k in self.edges[n] if k == "queue"}
        after, first = {s: n for n, s in before.items()}, {}
        for n in self.works:
            first[n] = n
            while first[n] in before:
                first[n] = before[first[n]]
        return before, after, first

    def is_shared(self, first):
        things = {}
        for n in self.works:
            if self.share[n] and n not in self.gone:
                kind = self.share[n][0]
                things.setdefault((self.device(n), "link" if kind in ("in", "out") else "sms"), set()).add(first[n])
        return self.is_crowded or any(len(queues) > 1 for queues in things.values())

    def begin(self, node, edges, times):
        start = self.was[node][0] if not (self.is_work[node] and node in self.gone) else min(s for s, _ in self.was.values())
        if edges and node not in self.pinned:
            start = max(self.ready(node, s, k, times[s]) for s, k in edges)
        return start

    def returns(self, node, edges, times):
        """When a call returns that waits: behind its own work, and what it waits for."""
        start = times[node][0]
        end = max([times[s][1] for s, k in edges if k == "thread"], default=start) + self.length[node]
        return max([start, end] + [times[s][1] + self.wake[node] for s, k in edges if k == "sync"])

    LINK = 0.9  # of its rate alone, while copies of both directions run; no copy here is large enough to tell it

    def alone(self, node):
        """How long a copy takes by the changes, if none of the other direction is beside it."""
        whole = self.was[node][1] - self.was[node][0]
        both = min(self.beside.get(node, 0), whole)
        return int(self.length[node] * ((whole - both + int(both * self.LINK + 0.5)) / whole) + 0.5) if whole else self.length[node]

    def beside_other(self, left, both):
        """How long it takes, the other direction being busy for the first `both`; None: for all of it."""
        slow = int(left * (1 / self.LINK) + 0.5)
        return slow if both is None or slow <= both else left + both - int(both * self.LINK + 0.5)

    def move(self, moved, edges, times, can):
        """Who waits for what ends at another time begins, or returns, at another."""
        while moved:
            m, end = moved.pop()
            times[m] = (times[m][0], end)
            behind = [k for k in edges if any(s == m for s, _ in edges[k])]
            can.update({k: self.begin(k, edges[k], times) for k in behind if k in can})
            moved += [(k, self.returns(k, edges[k], times)) for k in behind if k in times and k in self.wake and k not in self.pinned | self.gone
                      and self.returns(k, edges[k], times) != times[k][1]]

    def simulate(self):
        """In the order of time: of what can begin, what begins first."""
        edges = {n: [(s, k) for s, k in e if n not in self.pinned and not (k in ("launch", "sync") and n in self.gone)] for n, e in self.edges.items()}
        before, after, first = self.chains()
        shared, times, can = self.is_shared(first), {}, {}
        engines, devices = {}, {}
        waiting = set(edges)
        while waiting or can:
            for n in [n for n in waiting if all(s in times for s, _ in edges[n])]:
                can[n] = self.begin(n, edges[n], times)
                waiting.discard(n)
            assert can
            n = min(can, key=lambda n: (can[n], n))
            start, end = can[n], can[n] + self.length[n]
            kind = shared and self.is_work[n] and n not in self.gone and self.share[n] and self.share[n][0]
            device = self.device(n) if kind else None
            if kind in ("in", "out"):
                free, last = engines.get((device, kind), (None, None))
                if last is not None and n not in self.pinned and before.get(n) != last:
                    cat = lambda x: self.rows[self.nodes[x]["id"]]["cat"]
                    soon = lambda x: free + self.lag(("queue", cat(x), cat(last)))
                    follows = after.get(last)
                    if start < soon(n):
                        can[n] = soon(n)
                        continue
                    if follows in can and self.share[follows] == (kind,) and not {follows} & (self.pinned | self.gone) and can[follows] <= soon(follows):
                        can[n] = can[follows] + 1
                        continue
                end = start + (self.length[n] if n in self.pinned else self.alone(n))
                other_end, other = engines.get((device, "out" if kind == "in" else "in"), (start, None))
                moved = []
                if other_end > start:
                    mine, its = end - start, other_end - start
                    first_end = self.beside_other(min(mine, its), None)
                    if n not in self.pinned:
                        end = start + self.beside_other(mine, its if other in self.pinned else first_end)
                    if other not in self.pinned:
                        other_end = start + self.beside_other(its, end - start)
                        engines[device, "out" if kind == "in" else "in"] = (other_end, other)
                        moved = [(other, other_end)]
                if free is None or end >= free:
                    engines[device, kind] = (end, n)
                times[n] = (start, end)
                del can[n]
                self.move(moved, edges, times, can)
                continue
            elif kind:
                width, whole = self.share[n][1], self.was[n][1] - self.was[n][0]
                demand = self.demand[n] * self.length[n] // whole if whole else width * self.length[n]
                fixed = kind == "held" or n in self.pinned
                sms = devices.setdefault(device, Sms(self.priority.get))
                keeps = n in self.pinned or self.begins_full or (n in before and times[before[n]][1] > start)
                if not keeps and sms.waits(n, start, can):
                    continue
                told = sms.begin(n, start, *self.share[n][1:], end if fixed else None, demand)
                times[n] = (start, told[n][0])
                del can[n]
                moved = [(m, told[m][0]) for m in told if m != n and told[m][0] != times[m][1]]
                self.move(moved, edges, times, can)
                sms.wake_first(start, can)
                continue
            if n in self.wake and n not in self.pinned | self.gone:
                times[n] = (start, end)
                end = self.returns(n, edges[n], times)
            times[n] = (start, end)
            del can[n]
        return times

    def operations(self):
        """[(row, what it waits for: {"1 queue", …})], as they begin"""
        skipped = self.gone | self.pinned
        order = [n for _, n in sorted((self.changed[n][0], n) for n in self.nodes if self.is_work[n] and n not in skipped)]
        number = {n: i + 1 for i, n in enumerate(order)}
        out = []
        for n in order:
            after, open_, seen = set(), [(s, k) for s, k in self.edges[n]], set()
            while open_:
                source, kind = open_.pop()
                if source in number:
                    after.add(f"{number[source]} {kind}")
                elif self.is_work[source] and (source, kind) not in seen:  # what it waits for stands for it
                    seen.add((source, kind))
                    open_ += [(s, kind) for s, _ in self.edges[source]]
            out.append((self.nodes[n]["id"], after))
        return out

    def time_of(self, tid, time):
        lane = [n for n, x in self.nodes.items() if not self.is_work[n] and x["tid"] == tid]
        before = [n for n in lane if self.was[n][0] <= time]
        if not before:
            return time + self.changed[lane[0]][0] - self.was[lane[0]][0]
        n = before[-1]
        (ws, we), (s, e) = self.was[n], self.changed[n]
        if time <= we or n == lane[-1]:
            return s + stretch(time - ws, we - ws, e - s)
        after = lane[lane.index(n) + 1]
        return e + stretch(time - we, self.was[after][0] - we, max(self.changed[after][0] - e, 0))

    def events(self):
        """(start, end) by row: of work, and of threads in the graph what is left."""
        out = {x["id"]: self.changed[n] for n, x in self.nodes.items() if self.is_work[n] and n not in self.gone}
        threads = {x["tid"] for n, x in self.nodes.items() if not self.is_work[n]}
        for i, r in enumerate(self.rows):
            if r["cat"] in ("kernel", "gpu_memcpy", "cuda_sync") or r["tid"] not in threads:
                continue
            lane = [n for n, x in self.nodes.items() if not self.is_work[n] and x["tid"] == r["tid"]]
            last = r["end"] - 1 if r["end"] > r["start"] else r["end"]
            first, last = (max(n for n in lane if self.was[n][0] <= t) for t in (r["start"], last)) \
                if any(self.was[n][0] <= r["start"] for n in lane) else (None, None)
            if first is None or not (first in self.gone and last in self.gone and self.changed[first][0] == self.changed[last][1]):
                start, end = self.time_of(r["tid"], r["start"]), self.time_of(r["tid"], r["end"])
                out[i] = (start, max(start, end))
        return out


def busy(spans):
    total, end = 0, None
    for s, e in sorted(spans):
        total += max(0, e - (s if end is None else max(s, end)))
        end = e if end is None else max(end, e)
    return total


def problems(replay, said, rows, written):
    works = [n for n in replay.nodes if replay.is_work[n]]
    def figures(times):
        of_device = {}
        for n in works:
            of_device.setdefault(rows[replay.nodes[n]["id"]]["args"]["device"], []).append(times[n])
        return {"span": max(e for _, e in times.values()) - min(s for s, _ in times.values()), "busy": sum(map(busy, of_device.values()))}
    off = sorted(abs(replay.unchanged[n][0] - replay.was[n][0]) for n in works if n not in replay.pinned)
    check = {r["what"]: r for r in said["check"]}
    for what, recorded, replayed in [(w, figures(replay.was)[w], figures(replay.unchanged)[w]) for w in ("span", "busy")]:
        if (check[what]["recorded"], check[what]["replayed"]) != (recorded, replayed):
            yield f"check {what}: {check[what]}, not {recorded}, {replayed}"
    for what, at in (("median", len(off) // 2), ("99 %", len(off) * 99 // 100), ("largest", len(off) - 1)):
        if off and check["start of work: " + what]["error"] != off[at]:
            yield f"start {what}: {check['start of work: ' + what]['error']}, not {off[at]}"
    for row in said.get("what_if", []):
        if row["what"] in ("span", "busy") and (row["before"], row["after"]) != (figures(replay.unchanged)[row["what"]], figures(replay.changed)[row["what"]]):
            yield f"what_if: {row}, not {figures(replay.unchanged)}, {figures(replay.changed)}"
    for side, times in (("before", replay.unchanged), ("after", replay.changed)):
        total = sum(r[side] or 0 for r in said["path"])
        if said["path"] and (side == "before" or "what_if" in said) and total != figures(times)["span"]:
            yield f"the path of {total} ns is not the span of {figures(times)['span']} ns"
    notes = " ".join(r["note"] for r in said["notes"] if "change nothing in the trace" in r["note"])
    for text in ("--scale '", "--remove '"):
        if notes.count(text) != sum(i.startswith(text) for i in replay.idle) or not all(i in notes for i in replay.idle):
            yield f"nothing to change: {notes}, not {replay.idle}"
    wanted = replay.events()
    got = {e["args"]["n"]: tuple(int(decimal.Decimal(str(v)) * 1000) for v in (e["ts"], e["ts"] + e["dur"]))
           for e in written["traceEvents"] if e["ph"] == "X"}
    for n, span in wanted.items():
        if got.get(n) != span:
            yield f"row {n} {rows[n]}: {got.get(n)}, not {span}"
    for n in got.keys() - wanted.keys():
        if rows[n]["cat"] in ("kernel", "gpu_memcpy"):
            yield f"row {n} {rows[n]} should be gone"


def own_streams(rows, rng):
    """Each thread launches on a stream of its own, and waits for its own or another's."""
    threads = {r["args"]["correlation"]: r["tid"] for r in rows if r["cat"] == "cuda_runtime"}
    for r in rows:
        if r["cat"] in ("kernel", "gpu_memcpy") and r["args"]["correlation"] in threads:
            r["tid"] = r["args"]["stream"] = threads[r["args"]["correlation"]] - 70
        elif r["cat"] == "cuda_sync" and r["args"]["stream"] >= 0:
            r["args"]["stream"] = r["tid"] = rng.choice([t for t in threads.values() if t // 1000 == r["tid"] // 1000]) - 70


def random_changes(rng):
    out, options = {}, []
    for _ in range(rng.choice([0, 1, 1, 2])):
        pattern, factor = rng.choice(["gemm*", "nccl*", "op1", "cuda*", "*"]), rng.choice([0, 0.25, 0.5, 1.5, 3])
        out.setdefault("scale", []).append((pattern, factor))
        options += ["--scale", f"{pattern}={factor}"]
    if rng.random() < 0.3:
        out["launch-cost"] = rng.choice([0, 3, 40])
        options += ["--launch-cost", f"{out['launch-cost']}ns"]
    if rng.random() < 0.4:
        out["remove"] = rng.choice(["gemm*", "nccl*", "op2", "fill"])
        options += ["--remove", out["remove"]]
    if rng.random() < 0.2:
        out["from"], out["until"] = rng.randint(0, 150), rng.randint(150, 500)
        options += ["--from", f"{out['from']}ns", "--until", f"{out['until']}ns"]
    if rng.random() < 0.1:
        out["stream"] = rng.choice([20, 22, 1020, 1022])
        options += ["--stream", str(out["stream"])]
    elif rng.random() < 0.15:
        out["events"] = rng.choice(["gemm_a", "nccl_c,3", "7,cudaLaunchKernel,gemm_b", "0", "3"])
        options += ["--events", out["events"]]
    more = rng.random()
    if more < 0.3:
        out["overlap"] = rng.choice(["communication", "copy"])
        options += ["--overlap", out["overlap"]]
    if 0.2 < more < 0.6:
        out["streams"] = rng.choice([2, 3, 128])
        options += ["--schedule", "earliest" if out["streams"] == 128 else f"streams={out['streams']}"]
    if rng.random() < 0.3:
        out["queue-depth"] = rng.randint(1, 6)
        options += ["--queue-depth", str(out["queue-depth"])]
    return out, options


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--seed", type=int, default=rounds.seed(101))
    args = parser.parse_args()
    compared = moved = stuck = 0
    with tempfile.TemporaryDirectory() as folder:
        path, out = pathlib.Path(folder) / "a.json", pathlib.Path(folder) / "b.json"
        for seed in range(args.seed, args.seed + args.rounds):
            rng = random.Random(seed)
            trace = Trace(rng)
            for n, row in enumerate(trace.rows):
                row["args"]["n"] = n
                if row["cat"] in ("kernel", "gpu_memcpy"):
                    row["name"] = rng.choice(["gemm_a", "gemm_b", "nccl_c", "fill"])
            if seed % 2:  # what shares a device
                for row in trace.rows:
                    if row["cat"] == "kernel" and rng.random() < 0.9:
                        row["args"]["blocks per SM"] = rng.choice([0.97, 1, 3.5, 62] if seed % 8 == 5 else [0.008, 0.1, 0.25, 0.5, 0.75, 0.97, 1, 3.5, 62])
                        if seed % 4 == 1:
                            row["args"]["priority"] = {7: 0, 20: -1, 21: 4294967291, 22: 0}[row["args"]["stream"] % 1000]
                            if rng.random() < 0.5:
                                row["args"].update(block=[rng.choice([32, 100, 256, 1024]), 1, 1], **{"registers per thread": rng.choice([16, 40, 128, 255])})
                    elif row["cat"] == "gpu_memcpy":
                        row["name"] = rng.choice(["Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)", "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoD (Device -> Device)"])
            if seed % 5 == 0:
                own_streams(trace.rows, rng)
            path.write_text(json.dumps(trace.json()))
            graph = json.loads(ask(args.heddle, "graph", "--json", path))
            if not graph["nodes"]:
                continue
            tids = {}
            for x in graph["nodes"]:  # what has a row tells the thread of its track
                if x.get("id") is not None:
                    tids[x["track_id"]] = trace.rows[x["id"]]["tid"]
            for x in graph["nodes"]:
                x["tid"] = tids[x["track_id"]]
            changes, options = random_changes(rng)
            streams = sorted({trace.rows[x["id"]]["args"]["stream"] for x in graph["nodes"] if x["kind"] == "work"})
            if streams and "streams" not in changes and seed % 2 and rng.random() < 0.5:
                changes["priorities"] = [(rng.choice(streams + ["all"]), rng.randint(-3, 2)) for _ in range(rng.randint(1, 3))]
                options += ["--schedule", "priorities=" + ",".join(f"{s}:{p}" for s, p in changes["priorities"])]
            out.unlink(missing_ok=True)
            said = ask(args.heddle, "replay", "--json", "--max-error", "1e9", *options, "-o", out, path, ok=(0, 2) if {"from", "events", "stream"} & set(changes) else (0,))
            if not said:  # the trace ends before
                continue
            said = json.loads(said)
            if any("contradict one another" in r["note"] for r in said["notes"]):
                stuck += 1  # what a queue holds back launches what that waits for
                continue
            replay = Replay(trace.rows, graph, changes)
            for problem in problems(replay, said, trace.rows, json.loads(out.read_text(), parse_float=decimal.Decimal)):
                sys.exit(f"seed {seed} {options}: {problem}")
            if seed % 3 == 0:
                said = json.loads(ask(args.heddle, "replay", "--json", "--mode", "dry-run", *options, path))["operations"]
                if [(r["id"], set((r["after"] or "").split(", ")) - {""}) for r in said] != replay.operations():
                    sys.exit(f"seed {seed} {options}: a dry run: {said}, not {replay.operations()}")
            compared += len(replay.nodes)
            moved += sum(replay.changed[n] != replay.was[n] for n in replay.nodes)
    print(f"{compared} nodes agree, {moved} of them at other times than recorded; {stuck} programs would hang")
    if compared < args.rounds or stuck > args.rounds // 10 or moved < compared // 10:
        sys.exit("too little to prove anything")


if __name__ == "__main__":
    main()
