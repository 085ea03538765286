#!/usr/bin/env python3
"""Each limit on the way of an event, one below it, at it and one above: the neighbours stay, and what goes is told.

usage: limits.py --heddle PROGRAM [--beyond]

--beyond: only one above each, on whose way an event passes the limit itself: for sanitizers, with which these take long.
An input has neighbours before and behind one thing of a given size. It is written as JSON, where need be by way of another
format. Of the neighbours all must come back, each with its time, duration and argument; the thing itself must too, or the
report tells a loss or a repair.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2]))

import scratch  # noqa: E402

NEIGHBOURS = 8


class Failure(Exception):
    pass


def neighbour(i):
    return {"ph": "X", "name": f"neighbour {i}", "pid": 1, "tid": 1, "ts": 1000 + 10 * i, "dur": 5, "args": {"i": i}}


def slice_of(**more):
    return {"ph": "X", "name": "it", "pid": 1, "tid": 1, "ts": 1000 + 5 * NEIGHBOURS - 3, "dur": 1, **more}


def document(*things, text=None):
    """The things in the middle of the neighbours; `text` stands for one that is not JSON."""
    half = NEIGHBOURS // 2
    texts = [json.dumps(neighbour(i)) for i in range(half)] + [json.dumps(t) for t in things]
    texts += [text] * (text is not None) + [json.dumps(neighbour(i)) for i in range(half, NEIGHBOURS)]
    return "[" + ",\n".join(texts) + "]"


# ---- things of size n: what stands in the input ----


def deep(n, broken=False):
    """n levels with the event and its args."""
    value = "[" * (n - 2) + "]" * (n - 2)
    ts = "0" * broken + str(slice_of()["ts"])
    return document(text=f'{{"ph":"X","name":"it","pid":1,"tid":1,"ts":{ts},"dur":1,"args":{{"a":{value}}}}}')


def keys(n):
    return document(slice_of(args={f"key {i}": i for i in range(n)}))


def members(n):
    return document({**slice_of(), **{f"key {i}": i for i in range(n)}})


def shapes(n):
    return document(*(slice_of(args={f"key {i}": i}) for i in range(n)))


def name(n):
    return document(slice_of() | {"name": "it" + "x" * (n - 2)})


def broken_name(n):
    return document(text=json.dumps(slice_of() | {"name": "it" + "x" * (n - 2)}).replace('"pid"', "pid"))


def key(n):
    return document(slice_of(args={"k" * n: 1}))


def broken_key(n):
    return document(text=json.dumps(slice_of(args={"k" * n: 1})).replace('"pid"', "pid"))


def pid(n):
    return document(slice_of() | {"pid": "p" * n})


def text(n):
    return document(slice_of(args={"text": "x" * n}))


def nested(n):
    """n slices, one in the other."""
    return document(*(slice_of() | {"ts": 5000 + i, "dur": 4 * n - 2 * i} for i in range(n)))


def crossing(n):
    """n slices that all cross each other."""
    return document(*(slice_of() | {"ts": 5000 + i, "dur": 2 * n} for i in range(n)))


def series(n):
    return document({"ph": "C", "name": "it", "pid": 1, "tid": 1, "ts": 5000, "args": {f"s{i}": i for i in range(n)}})


def digits(n):
    return document(text=json.dumps(slice_of(args={"v": 1})).replace('"v": 1', '"v": ' + "1" * n))


def decimals(n):
    return document(text=json.dumps(slice_of(args={"v": 1})).replace('"v": 1', '"v": 1.' + "1" * n))


# (what, limit, ways): the limits that stand in src/base, src/format and src/trace
JSON, STORE, PERFETTO, OTF2 = ".json", ".heddle", ".pftrace", ".otf2"
CASES = (
    (deep, 1000, (JSON, STORE)),  # HD_JSON_REPAIR_DEPTH, on a valid event
    (lambda n: deep(n, True), 1000, (JSON, STORE)),
    (deep, 1024, (JSON, STORE, PERFETTO, OTF2)),  # HD_JSON_DEPTH_LIMIT
    (lambda n: deep(n, True), 1024, (JSON,)),
    (deep, 34, (PERFETTO,)),  # DEPTH_LIMIT of the Perfetto writer
    (deep, 66, (PERFETTO,)),  # … and reader
    (deep, 514, (PERFETTO, OTF2)),
    (keys, 1024, (JSON, STORE, PERFETTO, OTF2)),  # CHROME_KEY_LIMIT
    (keys, 256, (PERFETTO, OTF2)),
    (keys, 512, (PERFETTO, OTF2)),
    (members, 1024, (JSON, STORE)),
    (members, 256, (PERFETTO, OTF2)),
    (shapes, 4096 - 3, (JSON, STORE, PERFETTO, OTF2)),  # HD_SHAPE_LIMIT, but for the empty, the raw and the neighbours'
    (name, 4096, (JSON, PERFETTO, OTF2)),  # LOOK_WINDOW
    (broken_name, 4096, (JSON,)),
    (key, 4096, (JSON, PERFETTO, OTF2)),
    (broken_key, 4096, (JSON,)),
    (pid, 24, (JSON, STORE)),  # CHROME_TOKEN_LIMIT
    (text, 65536, (JSON, STORE, PERFETTO, OTF2)),  # LOOK_BASE
    (text, 1 << 20, (PERFETTO, OTF2)),  # STRING_BYTES_MAX
    (nested, 511, (PERFETTO, OTF2)),  # DEPTH_LIMIT of lanes
    (nested, 512, (PERFETTO, OTF2)),
    (crossing, 64, (PERFETTO, OTF2)),  # LANES_TRIED
    (crossing, 512, (PERFETTO, OTF2)),  # LANE_MAX
    (series, 255, (JSON, PERFETTO, OTF2)),  # OW_SERIES_MAX
    (digits, 19, (JSON, STORE, PERFETTO, OTF2)),
    (decimals, 19, (JSON, STORE, PERFETTO, OTF2)),
    (decimals, 31, (JSON, STORE, PERFETTO, OTF2)),  # of a scale
)


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"heddle {words[0]}: status {done.returncode}: {done.stderr[-300:]}")
    report = json.loads(done.stdout)
    return report["events_in"], [f'{row["level"]} {row["code"]} {row["count"]}' for row in report["ledger"]
                                 if row["level"] != "note" or row["code"] == "perfetto.number-as-text"]


def events_of(document):
    return document if isinstance(document, list) else document["traceEvents"]


def digits_kept(text):
    return json.loads(text, parse_int=str, parse_float=str)


def scalars(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [v for one in value for v in scalars(one)] if isinstance(value, list) else [value]


def check(program, case, folder):
    make, size, way = case
    text_in = make(size)
    source, out = folder / "in.json", folder / "out.json"
    source.write_text(text_in)
    _, told = run(program, "convert", "--json", source, out if way == JSON else folder / f"way{way}")
    if way != JSON:
        told += run(program, "convert", "--json", folder / f"way{way}", out)[1]
    written = events_of(json.loads(out.read_text()))
    found = {e.get("name"): e for e in written}
    for i in range(NEIGHBOURS):
        expected, got = neighbour(i), found.get(f"neighbour {i}")
        if got is None or any(got.get(k) != expected[k] for k in ("ts", "dur", "args")):
            raise Failure(f"neighbour {i} became {got}; told: {told}")
    if told:
        return
    try:
        things = [e for e in digits_kept(text_in) if not str(e["name"]).startswith("neighbour")]
    except ValueError:
        raise Failure("a broken thing, and nothing is told") from None
    back = [e for e in events_of(digits_kept(out.read_text())) if not str(e.get("name", "")).startswith("neighbour") and e["ph"] != "M"]
    count = sum(len(e.get("args", {})) if e["ph"] == "C" else 1 for e in things)
    if sum(len(e.get("args", {})) if e["ph"] == "C" else 1 for e in back) != count:
        raise Failure(f"{count} became {len(back)}, and nothing is told")
    if sorted(map(str, scalars([e.get("args", {}) for e in things]))) != \
       sorted(map(str, scalars([e.get("args", {}) for e in back]))) and make is not members:
        raise Failure(f"arguments of {str(things)[:200]} became those of {str(back)[:200]}, and nothing is told")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--beyond", action="store_true")
    options = parser.parse_args()
    program, steps = options.heddle, (1,) if options.beyond else (-1, 0, 1)
    sys.setrecursionlimit(20000)
    threading.stack_size(64 << 20)
    has_otf2 = b"otf2" in subprocess.run([program, "formats"], capture_output=True).stdout
    jobs = [(make, limit + more, way) for make, limit, ways in CASES for way in ways for more in steps
            if way != OTF2 or has_otf2]

    def one(job):
        with tempfile.TemporaryDirectory(dir=scratch.in_memory()) as folder:
            try:
                check(program, job, pathlib.Path(folder))
            except Failure as e:
                return f"FAILED: {job[0].__name__} of {job[1]} by way of {job[2]}: {e}"
        return None

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [f for f in pool.map(one, jobs) if f]
    print("\n".join(failures) or f"{len(jobs)} inputs at limits: all neighbours are there, and what went was told")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
