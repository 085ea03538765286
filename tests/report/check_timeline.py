#!/usr/bin/env python3
"""Asks `heddle timeline --json` how busy each row is, column by column, and with which name, and computes the same from
the JSON of the traces, without any code of ours.

  check_timeline.py --heddle HEDDLE [--rest|--all] [FILE.json[.gz] ...]

Without files: random ones, and of HEDDLE_SHARED or ../shared a few real ones; with --rest or --all those that
tests/sizes.py says.
"""
import argparse
import collections
import decimal
import heapq
import json
import os
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import check_busy as busy  # noqa: E402

decimal.getcontext().prec = 80  # ends are exact sums
problems = []


def owned(slices):
    """(start, end, name) in ns: of the slices that are open the time is that of the last by start, longest first."""
    order = sorted(range(len(slices)), key=lambda i: (slices[i][2], -slices[i][3], i))
    spans = [(slices[i][2] // 1000, slices[i][3] // 1000, slices[i][1]) for i in order]
    bounds = sorted({t for start, end, _ in spans for t in (start, end) if end > start})
    begun = [rank for rank, (start, end, _) in enumerate(spans) if end > start]
    opened, at = [], 0
    for low, high in zip(bounds, bounds[1:]):
        while at < len(begun) and spans[begun[at]][0] <= low:
            heapq.heappush(opened, -begun[at])
            at += 1
        while opened and spans[-opened[0]][1] <= low:
            heapq.heappop(opened)
        if opened:
            yield low, high, spans[-opened[0]][2]


def cells_of(slices, low, high, width):
    """By column: busy ns, the name with most time (the first by its bytes) and its time."""
    bounds = [low + (high - low) * column // width for column in range(width + 1)]
    times = collections.defaultdict(collections.Counter)
    column = 0
    for start, end, name in owned(slices):
        start, end = max(start, low), min(end, high)
        while start < end:
            while bounds[column + 1] <= start:
                column += 1
            piece = min(end, bounds[column + 1]) - start
            times[column][name] += piece
            start += piece
    for column, names in times.items():
        name, most = min(names.items(), key=lambda item: (-item[1], item[0].encode("utf-8", "surrogatepass")))
        yield column, (bounds[column], bounds[column + 1], sum(names.values()), name, most)


def compare(heddle, path, name, rows, words, width):
    said = busy.ask(heddle, "timeline", "--json", "--rows", "100000", "--width", str(width), *words, path)
    if not said["window"]:
        return 0
    low, high = said["window"][0]["from"], said["window"][0]["until"]
    got = collections.defaultdict(dict)
    for cell in said["cells"]:
        got[cell["row"]][cell["column"]] = tuple(cell[k] for k in ("start", "end", "busy", "name", "name_time"))
    numbers = {(row["pid"], row["tid"]): row for row in said["rows"]}
    names, complete = collections.Counter(), True
    for key, row in rows.items():
        device = row.device()
        if "B" in row.kinds or device is False:
            complete = complete and key not in numbers
            continue
        slices = list(row.work_slices()) if device else row.slices
        wanted = dict(cells_of(slices, low, high, width))
        for start, end, own in owned(slices):
            names[own] += max(0, min(end, high) - max(start, low))
        if bool(wanted) != (key in numbers):
            problems.append("%s: row %s %s is %sthere" % (name, *key, "not " if wanted else ""))
            continue
        if not wanted:
            continue
        about, cells = numbers[key], got[numbers[key]["row"]]
        total = sum(cell[2] for cell in wanted.values())
        if about["busy"] != total or abs(about["share"] - 100 * total / (high - low)) > 1e-9:
            problems.append("%s: row %s %s: busy %r, share %r, not %d" % (name, *key, about["busy"], about["share"], total))
        wrong = [column for column in wanted.keys() | cells.keys() if cells.get(column) != wanted.get(column)]
        for column in sorted(wrong)[:2]:
            problems.append("%s %s: row %s %s, column %d: %r, not %r" % (name, " ".join(words), *key, column,
                                                                        cells.get(column), wanted.get(column)))
    wanted = [{"name": own, "time": time} for own, time in
              sorted(names.items(), key=lambda item: (-item[1], item[0].encode("utf-8", "surrogatepass"))) if time]
    if complete and numbers.keys() <= rows.keys() and said["names"] != wanted:
        problems.append("%s %s: names %r, not %r" % (name, " ".join(words), said["names"][:5], wanted[:5]))
    return len(said["cells"])


def check(heddle, path, name):
    events = busy.read(path)
    rows = busy.rows_of(events)
    return sum(compare(heddle, path, name, rows, words, width) for words, width in
               (([], 100), ([], 7), (["--from", "30%", "--until", "31%"], 40)))


def random_events(seed):
    rand = random.Random(seed)
    names = ["gemm", "copy", "a", "b", "\u00e4", "long " * 10]
    step = rand.choice([1, 0.001, 0.37])
    events = [{"ph": "X", "cat": "cpu_op", "name": "long", "pid": 1, "tid": 9, "ts": 5, "dur": 50}]
    for _ in range(rand.randrange(1, 150)):
        device = rand.random() < 0.5
        start, length = rand.randrange(60) * step, rand.choice([0, 0, 1, 2, 3, rand.randrange(40)]) * step
        event = {"ph": "X", "name": rand.choice(names), "ts": round(start, 3), "dur": round(length, 3),
                 "pid": 0 if device else 1, "tid": rand.randrange(2) + (7 if device else 0)}
        event["cat"] = rand.choice(["kernel", "gpu_memcpy", "gpu_user_annotation", "cuda_sync"] if device else ["cpu_op"])
        if device:
            event["args"] = {"device": 0, "stream": event["tid"]}
        events.append(event)
    return events


def check_oracle():
    slices = [("", "outer", 0, 10000), ("", "inner", 2000, 4000), ("", "crosses", 3000, 12000)]
    assert list(owned(slices)) == [(0, 2, "outer"), (2, 3, "inner"), (3, 4, "crosses"), (4, 10, "crosses"),
                                   (10, 12, "crosses")]
    assert dict(cells_of(slices, 0, 12, 3)) == {0: (0, 4, 4, "outer", 2), 1: (4, 8, 4, "crosses", 4),
                                                2: (8, 12, 4, "crosses", 4)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    busy.sizes.options(parser)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    checked = 0
    check_oracle()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(0 if args.files or args.choice else 40):
            path = os.path.join(folder, "random.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(random_events(seed), file)
            checked += check(args.heddle, path, "random trace %d" % seed)
    for path in args.files or busy.real_traces(args.choice):
        checked += check(args.heddle, path, os.path.basename(path))
    print("%d cells" % checked)
    print("\n".join(problems[:40]))
    return 1 if problems or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
