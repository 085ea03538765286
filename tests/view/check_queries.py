#!/usr/bin/env python3
"""Asks `heddle view` and computes the same from the JSON: selections, searches, arguments.

  check_queries.py --heddle HEDDLE [FILE.json[.gz] ...]

Without files: one that `heddle synth` makes, and those of the folder that HEDDLE_QUERY_TRACES names.
"""
import argparse
import collections
import fractions
import glob
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
SKIP = 77


class Server:
    def __init__(self, heddle, path):
        self.process = subprocess.Popen([heddle, "view", "--json", "--no-open", "--port", "0", path],
                                        stdout=subprocess.PIPE, text=True)
        self.base = "http://127.0.0.1:%d" % json.loads(self.process.stdout.readline())["port"]

    def get(self, route, **params):
        query = urllib.parse.urlencode({"trace": 0, **params})
        with open_url("%s/api/%s?%s" % (self.base, route, query), timeout=120) as answer:
            return json.load(answer)

    def wait(self):
        for _ in range(1200):
            trace = self.get("session")["traces"][0]
            if trace["state"] == "failed":
                raise RuntimeError(trace["error"])
            if trace["state"] == "ready" and not trace["busy"]:
                return trace
            time.sleep(0.1)
        raise RuntimeError("the trace did not get ready")

    def close(self):
        self.process.terminate()
        self.process.wait()


def nanoseconds(number):
    """Floor, of a number as it was written."""
    return int(fractions.Fraction(number) * 1000 // 1)


def read_slices(path):
    """Complete events with a time and a length, as (start, end, name, thread, args), in order of the file."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as file:
        data = json.load(file, parse_float=fractions.Fraction, strict=False)
    events = data["traceEvents"] if isinstance(data, dict) else data
    slices, others = [], collections.Counter()
    for event in events:
        phase = event.get("ph")
        if phase != "X" or "dur" not in event or "ts" not in event:
            others[phase] += 1
            continue
        start = fractions.Fraction(event["ts"])
        end = nanoseconds(start + fractions.Fraction(event["dur"]))
        start = nanoseconds(start)
        slices.append((start, max(start, end), event.get("name"), (str(event.get("pid")), str(event.get("tid"))),
                       event.get("args"), event.get("cat")))
    return slices, others


WORK = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "gpu_kernel", "concurrent_kernel")


def that_work(slices, tracks):
    """Without annotations and waits on GPU streams that have work: these are not busy by them."""
    streams = {(t.get("pid"), t.get("tid")) for t in tracks if t["role"] == "stream"}
    is_work = [(s[5] or "").lower() in WORK for s in slices]
    working = {s[3] for s, work in zip(slices, is_work) if work and s[3] in streams}
    return [s for s, work in zip(slices, is_work) if work or s[3] not in working]


def self_times(slices, first, until):
    """By name: time in [first, until) in which the slice that started last of those open has it; by thread."""
    sums = collections.Counter()
    threads = collections.defaultdict(list)
    for number, s in enumerate(slices):
        threads[s[3]].append((s[0], -s[1], number, s[2]))
    for events in threads.values():
        events.sort()
        stack, now = [], first

        def run(stop):
            nonlocal now
            while stack and now < stop:
                end, name = stack[-1]
                if end > now:
                    upto = min(end, stop)
                    sums[name] += upto - now
                    now = upto
                if end > stop:
                    break
                stack.pop()
            now = max(now, stop)

        for start, end, _, name in events:
            if start >= until:
                break
            run(max(start, first))
            stack.append((-end, name))
        run(until)
    return sums


def busy_time(slices, first, until):
    busy, reach = 0, first
    for start, end, *_ in sorted((s[0], s[1]) for s in slices):
        start, end = max(start, reach), min(end, until)
        if end > start:
            busy += end - start
            reach = end
    return busy


def rank(lengths, percent):
    return lengths[-(-len(lengths) * percent // 100) - 1]


def expected_table(slices, first, until):
    lengths, total = collections.defaultdict(list), collections.Counter()
    for start, end, name, *_ in slices:
        if start < until and (end > first or start >= first):
            lengths[name].append(end - start)
            total[name] += max(0, min(end, until) - max(start, first))
    own = self_times(slices, first, until)
    table = {}
    for name, list_of in lengths.items():
        list_of.sort()
        table[name] = {"count": len(list_of), "total": total[name], "p50": rank(list_of, 50), "p99": rank(list_of, 99),
                       "min": list_of[0], "max": list_of[-1], "self": own[name]}
    return table


def check_select(server, slices, working, zero, first, until, tracks):
    answer = server.get("select", **{"from": first - zero, "until": until - zero, "limit": 100000, "tracks": tracks})
    found = {row["text"]: row for row in answer["table"]}
    table = expected_table(slices, first, until)
    assert set(found) == set(table), sorted(set(found) ^ set(table))[:5]
    for name, must in table.items():
        row = found[name]
        for key, value in must.items():
            assert row[key] == value, (name, key, row[key], value)
    assert answer["busy"] == busy_time(working, first, until), "busy"


def check_search(server, slices, text):
    count = sum(1 for s in slices if text.lower() in (s[2] or "").lower())
    tracks = {t["id"]: t for t in server.get("tracks")["tracks"]}
    answer = server.get("search", q=text)
    found = sum(n for t, n in answer["tracks"] if tracks[t].get("events_kind") == "slice")
    assert found == count, ("search", text, found, count)
    assert sum(answer["buckets"]) == answer["count"]


def check_events(server, slices, chosen):
    for row in chosen:
        event = server.get("event", kind="slice", row=row)
        start, end, name, _, args, _ = slices[row]
        assert event["name"] == (name or ""), (row, event["name"], name)
        assert event["duration"] == end - start, (row, event["duration"], end - start)
        digits = set(event.get("digits", {}))
        for key, value in (args or {}).items():
            if key in digits:
                continue
            is_float = isinstance(value, fractions.Fraction)
            assert event["args"][key] == (float(value) if is_float else value), (row, key)


def check(heddle, path):
    slices, others = read_slices(path)
    server = Server(heddle, path)
    try:
        trace = server.wait()
        zero, span = int(trace["start_ns"]), trace["span_ns"]
        tracks = ",".join(str(t["id"]) for t in server.get("tracks")["tracks"]
                          if t.get("events_kind") == "slice" and not t.get("derived"))
        working = that_work(slices, server.get("tracks")["tracks"])
        chance = random.Random(5)
        if others["B"] == 0 and slices:
            check_select(server, slices, working, zero, zero, zero + span + 1, tracks)
            for _ in range(3):
                first = zero + chance.randrange(span)
                check_select(server, slices, working, zero, first, first + 1 + chance.randrange(span), tracks)
            check_events(server, slices, [chance.randrange(len(slices)) for _ in range(20)])
            for text in ("a", "kernel", "nothing has this name"):
                check_search(server, slices, text)
    finally:
        server.close()
    print("%s: %d slices" % (os.path.basename(path), len(slices)), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    shown = subprocess.run([args.heddle, "view", "--help"], capture_output=True, text=True)
    if shown.returncode != 0:
        print("skipped: this heddle was built without the page")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="heddle-queries-") as folder:
        files = args.files
        if not files:
            files = [os.path.join(folder, "synth.json")]
            subprocess.run([args.heddle, "synth", "--quiet", "--events", "20000", "--crossings", "50", "-o", files[0]],
                           check=True, stdout=subprocess.DEVNULL)
            files += sorted(glob.glob(os.path.join(os.environ.get("HEDDLE_QUERY_TRACES", folder), "*.json")))
            files = list(dict.fromkeys(files))
        failed = 0
        for path in files:
            try:
                check(args.heddle, path)
            except AssertionError as problem:
                failed += 1
                print("%s: differs: %s" % (os.path.basename(path), problem), flush=True)
        return 1 if failed else 0


sys.exit(main())
