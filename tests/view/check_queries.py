#!/usr/bin/env python3
"""Asks `heddle view` and computes the same from the JSON: selections, searches, arguments, flows.

  check_queries.py --heddle HEDDLE [FILE.json[.gz] ...]

Without files: one that `heddle synth` makes, some of HEDDLE_SHARED or ../shared, and those of the folder that HEDDLE_QUERY_TRACES
names.
"""
import argparse
import bisect
import collections
import fractions
import glob
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import urllib.parse

import job_server
from pairs import pairs_of  # by way of job_server
from rounds import seed

SKIP = 77


class Server(job_server.Server):
    def get(self, route, **params):
        return self.ask("%s?%s" % (route, urllib.parse.urlencode({"trace": 0, **params})))

    def wait(self):
        trace, = self.session(lambda said: all(t["state"] == "failed" or t["state"] == "ready" and not t["busy"] for t in said["traces"]))["traces"]
        if trace["state"] == "failed":
            raise RuntimeError(trace["error"])
        return trace

    def close(self):
        self.__exit__()


def nanoseconds(number):
    """Floor, of a number as it was written."""
    return int(fractions.Fraction(number) * 1000 // 1)


def pair_ends(slices, markers):
    """Fill in the ends of begins; false: one has none. Markers by thread, as pairs.py takes them."""
    complete = True
    for list_of in markers.values():
        for row, end in pairs_of(list_of)[0]:
            complete &= end is not None
            if end is not None:
                slices[row] = (slices[row][0], end, *slices[row][2:])
    return complete


def read_slices(path):
    """Slices with a time and a length, as (start, end, name, thread, args, category), in order of the file, begins by theirs; how
    many other events there are; and whether every begin has an end."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as file:
        data = json.load(file, parse_float=fractions.Fraction, strict=False)
    events = data["traceEvents"] if isinstance(data, dict) else data
    slices, others = [], collections.Counter()
    markers = collections.defaultdict(list)
    for event in events:
        phase = event.get("ph")
        thread = str(event.get("pid")), str(event.get("tid"))
        if phase == "B" and "ts" in event:
            start = nanoseconds(fractions.Fraction(event["ts"]))
            markers[thread].append((start, False, event.get("name"), len(slices)))
            slices.append((start, None, event.get("name"), thread, None, event.get("cat")))
            continue
        if phase == "E" and "ts" in event:
            end = nanoseconds(fractions.Fraction(event["ts"]))
            markers[thread].append((end, True, event.get("name"), end))
            continue
        if phase != "X" or "dur" not in event or "ts" not in event:
            others[phase] += 1
            continue
        start = fractions.Fraction(event["ts"])
        end = nanoseconds(start + fractions.Fraction(event["dur"]))
        start = nanoseconds(start)
        slices.append((start, max(start, end), event.get("name"), thread, event.get("args"), event.get("cat")))
    return slices, others, pair_ends(slices, markers)


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
                       "min": list_of[0], "max": list_of[-1], "self": own[name],
                       "mean": sum(list_of) / len(list_of)}
    return table


def of_program(slices):
    """Without what Kineto says of itself."""
    return [s for s in slices if s[3][0] not in ("Spans", "Traces")]


def check_select(server, slices, working, zero, first, until, tracks):
    answer = server.get("select", **{"from": first - zero, "until": until - zero, "limit": 100000, "tracks": tracks})
    found = {row["text"]: row for row in answer["table"]}
    table = expected_table(slices, first, until)
    assert set(found) == set(table), sorted(set(found) ^ set(table))[:5]
    for name, must in table.items():
        row = found[name]
        for key, value in must.items():
            if key == "mean" and abs(row[key] - value) <= 1e-9 * value:
                continue
            assert row[key] == value, (name, key, row[key], value)
    assert answer["busy"] == busy_time(working, first, until), "busy"


def check_search(server, slices, text):
    count = sum(1 for s in slices if text.lower() in (s[2] or "").lower())
    tracks = {t["id"]: t for t in server.get("tracks")["tracks"]}
    answer = server.get("search", q=text)
    found = sum(n for t, n in answer["tracks"] if tracks[t].get("events_kind") == "slice")
    assert found == count, ("search", text, found, count)
    assert sum(answer["buckets"]) == answer["count"]


def read_tiles(body):
    """Of each row of slices: its aggregates, as (column, row of the longest, is a hit), and its events, as (row, flags)."""
    rows, at = [], 8
    for _ in range(int.from_bytes(body[4:8], "little")):
        _, flags, count, size = struct.unpack_from("<4I", body, at)
        end, place = at + size, at + 16
        assert flags & 2 or flags & 4 or flags & 8, "the tile does not say which events are hits"

        def take(form, many):
            nonlocal place
            values = struct.unpack_from("<%d%s" % (many, form), body, place)
            place += -(-struct.calcsize(form) * many // 8) * 8
            return values
        for _ in range(0 if flags & 2 else count):
            columns, events, wide, _ = take("I", 4)
            time = "d" if wide else "I"
            take(time, columns), take(time, columns), take("I", columns), take("I", columns)
            longest, column, hits = take("I", columns), take("H", columns), take("B", columns)
            take("d" if wide else "i", events), take(time, events), take("I", events)
            rows.append((list(zip(column, longest, hits)), list(zip(take("I", events), take("B", events)))))
        at = end
    return rows


def value_text(value):
    return {True: "true", False: "false", None: "null"}[value] if isinstance(value, (bool, type(None))) else str(value)


def check_conditions(server, slices, zero, span, tracks, chance):
    """Conditions: each hit that stepping visits, and what tiles say of events and columns."""
    durations = sorted(end - start for start, end, *_ in slices)
    some = durations[chance.randrange(len(durations))]
    with_args = [s for s in slices if any(isinstance(v, int) or (isinstance(v, str) and v.isalnum()) for v in (s[4] or {}).values())]
    cases = [("dur>=%dns" % some, lambda s: s[1] - s[0] >= some), ("dur<%dns e" % some, lambda s: s[1] - s[0] < some and "e" in (s[2] or "").lower())]
    if with_args:
        args = with_args[chance.randrange(len(with_args))][4]
        key, value = chance.choice([(k, v) for k, v in args.items() if isinstance(v, int) or (isinstance(v, str) and v.isalnum())])
        if " " not in key and "=" not in key:
            cases.append(("arg:%s=%s" % (key, value_text(value)),
                          lambda s: key in (s[4] or {}) and value_text(s[4][key]).lower() == value_text(value).lower()))
    for text, holds in cases:
        hits = {row for row, s in enumerate(slices) if holds(s)}
        order = sorted((slices[row][0], row) for row in hits)
        assert server.get("search", q=text)["by_event"]
        for at in [0, *(chance.randrange(len(order) + 1) for _ in range(20))]:
            start, row = order[at] if at < len(order) else (zero + span + 1, 0)
            answer = server.get("search", q=text, **{"from": start - zero})
            found = answer.get("next")
            if found and found["kind"] == "slice":
                assert (found["start"] + zero, found["row"]) == order[bisect.bisect_left(order, (start, -1))], (text, found)
            elif text.startswith("dur"):
                assert not found and at == len(order), (text, at, len(order))
        for z in {max(0, span.bit_length() - 9), max(0, some.bit_length() - 2), 10}:
            i = chance.randrange((span >> z) // 512 + 1)
            request = urllib.parse.urlencode({"trace": 0, "z": z, "i": i, "tracks": tracks, "q": text})
            from_ns = zero + (i * 512 << z)
            seen, touched = set(), set()
            tiles = server.ask("tiles?" + request)
            assert tiles == server.ask("tiles?" + request), "the second answer, which was kept"
            for columns, events in read_tiles(tiles):
                for row, flags in events:
                    assert (flags & 8 != 0) == (row in hits), (text, z, i, row)
                    seen.add(row)
                for column, longest, is_hit in columns:
                    assert is_hit or longest not in hits, (text, z, i, column)
                    if is_hit:
                        touched.add(column)
            expected = set()
            for row in hits:
                first, last = (slices[row][0] - from_ns) >> z, (max(slices[row][1] - 1, slices[row][0]) - from_ns) >> z
                expected.update(range(max(0, first), min(511, last) + 1))
                assert row in seen or last < 0 or first > 511 or touched.issuperset(range(max(0, first), min(511, last) + 1)), (text, z, i, row)
            assert touched <= expected, (text, z, i)


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


def read_flows(path):
    """Points of flows as (id, phase, time, thread), by time: those of category ac2g."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as file:
        data = json.load(file, parse_float=fractions.Fraction, strict=False)
    events = data["traceEvents"] if isinstance(data, dict) else data
    points = collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "ac2g" and event.get("ph") in ("s", "t", "f") and "ts" in event:
            assert event["ph"] == "s" or event.get("bp") == "e", "an end that binds to the next slice is not modelled"
            points[str(event["id"]), event.get("name")].append(
                (nanoseconds(fractions.Fraction(event["ts"])), event["ph"] != "s", str(event.get("pid")),
                 str(event.get("tid"))))
    return points


def bound_slice(threads, point):
    """Row of the slice around a point that began last, of those at one time the shortest; None: there is none."""
    time, _, pid, tid = point
    slices = threads.get((pid, tid), [])
    at = bisect.bisect_right(slices, (time, 1))
    while at > 0:
        at -= 1
        start, _, row, end = slices[at]
        if start <= time <= end and (end > time or start == end == time or end == time):
            return row
    return None


def expected_flows(slices, points):
    """Lines of ac2g that run forward, as (row, time, row, time), from a start to each end behind it; None: too odd."""
    threads = collections.defaultdict(list)
    for row, (start, end, _, thread, *_) in enumerate(slices):
        threads[thread].append((start, -end, row, end))
    for list_of in threads.values():
        list_of.sort()
    lines = collections.Counter()
    for list_of in points.values():
        list_of.sort()
        start = None
        if all(point[1] for point in list_of):
            continue  # the start was not recorded
        if list_of[0][1]:
            return None  # it runs backward: which line there is, is another matter
        for point in list_of:
            if not point[1]:
                start = point
                continue
            ends = bound_slice(threads, start), bound_slice(threads, point)
            if None not in ends:
                lines[ends[0], start[0], ends[1], point[0]] += 1
    return lines


def check_flows(server, slices, points, zero, chance, span):
    lines = expected_flows(slices, points)
    if not lines:
        return 0
    for first, until in [(None, None)] + [(chance.randrange(span), chance.randrange(1, span // 20 + 2)) for _ in range(3)]:
        window = {} if first is None else {"from": first, "until": first + until}
        answer = server.get("flows", category="ac2g", limit=20000, **window)
        must = collections.Counter({line: n for line, n in lines.items() if first is None or
                                    (line[1] - zero < first + until and line[3] - zero >= first)})
        assert answer["count"] == sum(must.values()), ("flows", window, answer["count"], sum(must.values()))
        told = collections.Counter((f[7], f[2] + zero, f[8], f[5] + zero) for f in answer["flows"])
        assert len(answer["flows"]) == min(20000, answer["count"])
        assert not told - must, ("flows", window, list((told - must).items())[:3])
        assert not any(f[6] for f in answer["flows"]), "a flow that runs forward is said to run backward"
    assert dict(answer["categories"])["ac2g"] == sum(lines.values())
    return sum(lines.values())


def check(heddle, path):
    slices, others, is_whole = read_slices(path)
    server = Server(heddle, path)
    try:
        trace = server.wait()
        zero, span = int(trace["start_ns"]), trace["span_ns"]
        tracks = ",".join(str(t["id"]) for t in server.get("tracks")["tracks"]
                          if t.get("events_kind") == "slice" and not t.get("derived"))
        working = that_work(slices, server.get("tracks")["tracks"])
        chance = random.Random(seed(5))
        flows = 0
        fits = is_whole and not others["B"] and not others["X"]  # begins without a time, slices without a length
        if fits and slices:
            flows = check_flows(server, slices, read_flows(path), zero, chance, span)
            selected, working = of_program(slices), of_program(working)
            check_select(server, selected, working, zero, zero, zero + span + 1, tracks)
            for _ in range(3):
                first = zero + chance.randrange(span)
                check_select(server, selected, working, zero, first, first + 1 + chance.randrange(span), tracks)
            check_events(server, slices, [chance.randrange(len(slices)) for _ in range(20)])
            for text in ("a", "kernel", "nothing has this name"):
                check_search(server, slices, text)
            check_conditions(server, slices, zero, span, tracks, chance)
    finally:
        server.close()
    checked = "" if fits else ": some have no end, nothing was compared"
    print("%s: %d slices, %d flows%s" % (os.path.basename(path), len(slices), flows, checked), flush=True)
    return fits


SHARED = os.environ.get("HEDDLE_SHARED") or os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared")
REAL = ("kineto/nccl_data", "kineto/mi250_minitoy", "kineto/particle_transformer_a100", "ranks/megatron-tp8/rank0",
        "ranks/dlrm/rank3")


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
            files += filter(os.path.exists, (os.path.join(SHARED, "data", name + ".json.gz") for name in REAL))
            files = list(dict.fromkeys(files))
        failed = 0
        for path in files:
            try:
                assert check(args.heddle, path) or args.files or path != files[0], "what is made here must be compared"
            except AssertionError as problem:
                failed += 1
                print("%s: differs: %s" % (os.path.basename(path), problem), flush=True)
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
