#!/usr/bin/python3
"""Make the fixtures of the format speedscope, tests/format/speedscope/*.json, and the seeds of its fuzz target.

usage: speedscope_fixtures.py FOLDER

small       a sampled profile in seconds and an evented one in milliseconds; frames behind them
edge        every unit, weights that are fractions, int64's limits, values without a frame, empty stacks, unknown members
bad-cut     the text ends in its samples
bad-frames  frames that are not there, a frame without a name
bad-events  events that close another frame, that are not closed, of unknown type, without a time
bad-json    a value that is none in the samples
"""
import json
import sys
from pathlib import Path

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
FRAMES = [{"name": "main", "file": "train.py", "line": 12}, {"name": "step"}, {"name": "f", "file": "a.c"}, {"name": "g", "file": "/x/y.js", "line": 3, "col": 7}]


def document(*profiles, frames=FRAMES, **more):
    return {"$schema": SCHEMA, "profiles": list(profiles), "shared": {"frames": frames}, **more}


def sampled(unit, samples, weights, start=0, name="thread", **more):
    return {"type": "sampled", "name": name, "unit": unit, "startValue": start, "endValue": 100, "samples": samples, "weights": weights, **more}


def evented(unit, events, start=0, name="calls"):
    return {"type": "evented", "name": name, "unit": unit, "startValue": start, "endValue": 50,
            "events": [{"type": t, "frame": f, "at": at} for t, f, at in events]}


def main():
    folder = Path(sys.argv[1])
    small = document(sampled("seconds", [[0, 1], [0, 1, 3], [0]], [0.01, 0.02, 0.010000000000000002], 1.5),
                     evented("milliseconds", [("O", 0, 0), ("O", 1, 1.25), ("C", 1, 3), ("O", 1, 3), ("C", 1, 4.000001), ("C", 0, 50)]),
                     name="run", exporter="py-spy@0.3.14", activeProfileIndex=0)
    edge = {"exporter": "x", "$schema": SCHEMA, "shared": {"frames": FRAMES, "more": [1]}, "profiles": [
        sampled("none", [[0], [], [0]], [1, 2.5, 9223372036854775807], name="Zähler \"1\""), sampled("bytes", [[1, 2]], [4096]),
        sampled("nanoseconds", [[1]], [0.0000000000000000017], 3, color="red"), sampled("microseconds", [[2], [3]], [1.5, 1e3], 0.5),
        evented("bytes", [("O", 0, 10), ("O", 1, 110), ("C", 1, 115), ("C", 0, 200)], 10), {"type": "sampled", "samples": [], "weights": []}]}
    cut = json.dumps(small)
    cut = json.dumps({"$schema": SCHEMA, "shared": {"frames": FRAMES}, "profiles": [sampled("none", [[0, 1], [0], [1, 2]], [1, 2, 3])]})
    files = {"small": json.dumps(small), "edge": json.dumps(edge, ensure_ascii=False, indent=1),
             "bad-cut": cut[:cut.index("[1, 2]") + 4],
             "bad-frames": json.dumps(document(sampled("none", [[0, 9], [-1], ["x", 1], [0]], [1, 2, 3]), frames=[{"name": "a"}, {"file": "f"}, 7])),
             "bad-events": json.dumps(document(evented("nanoseconds", [("O", 0, 1), ("O", 1, 2), ("C", 0, 3), ("C", 1, 4), ("C", 1, 5), ("O", 2, 6),
                                                                       ("Q", 2, 7), ("C", 2, None)]))),
             "bad-json": json.dumps(small).replace("[0, 1, 3]", "[0, 1, 3}")}
    seeds = folder.parents[2] / "fuzz/corpus/speedscope"
    for target in (folder, seeds):
        target.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (target / (f"{name}.json" if target == folder else name)).write_text(text)


main()
