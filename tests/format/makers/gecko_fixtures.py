#!/usr/bin/python3
"""Make the fixtures of the format gecko, tests/format/gecko/*.json, and the seeds of its fuzz target.

usage: gecko_fixtures.py FOLDER

raw         of Gecko itself, as perf's script writes it too: rows, and another process within
processed   as profiler.firefox.com saves it: columns, weights, allocations, markers
shared      strings and tables that all threads have, times as deltas, counts of calls
bad-cut     the text ends in its samples
bad-refs    strings, functions, frames and stacks that are not there; samples and markers without a time
"""
import json
import sys
from pathlib import Path

CATEGORIES = [{"name": "Other", "color": "grey"}, {"name": "Kernel", "color": "orange"}, {"name": "JavaScript", "color": "yellow"}]


def rows(schema, data):
    return {"schema": {name: i for i, name in enumerate(schema)}, "data": data}


def raw_thread(name, pid, tid, samples, markers=()):
    return {"name": name, "processType": "default", "pid": pid, "tid": tid, "registerTime": 0,
            "samples": rows(["stack", "time", "eventDelay"], samples),
            "markers": rows(["name", "startTime", "endTime", "phase", "category", "data"], list(markers)),
            "stackTable": rows(["prefix", "frame"], [[None, 0], [0, 1], [1, 2]]),
            "frameTable": rows(["location", "relevantForJS", "line", "category"], [[0, False, None, 0], [1, False, None, 1], [2, True, 12, 2]]),
            "stringTable": ["(root)", "do_syscall_64 (in [kernel.kallsyms])", "f (file:///a.js:3:4)", "Paint", "Styles"]}


def raw():
    meta = {"version": 29, "interval": 1, "stackwalk": 1, "startTime": 1700000000000.25, "categories": CATEGORIES}
    markers = [[3, 1.5, 2.75, 1, 0, {"type": "Text", "name": "x"}], [4, 3, None, 0, 2], [3, 4, None, 2, 0], [3, None, 5.000001, 3, 0]]
    other = {"meta": {**meta, "startTime": 1700000000010.25}, "libs": [], "threads": [raw_thread("Web", 8, 9, [[1, 0.5]])], "processes": []}
    return {"meta": meta, "libs": [{"name": "libxul.so"}], "threads": [raw_thread("GeckoMain", 7, 7, [[2, 1], [1, 2.000001, 0.5], [None, 3]], markers)],
            "processes": [other]}


def processed():
    samples = {"stack": [1, 0, None], "time": [1, 2.5, 4], "weight": [1.5, 1.5, 2], "weightType": "tracing-ms", "length": 3}
    thread = {"name": "Main", "processName": "app", "pid": "7", "tid": 7, "samples": samples, "stringArray": ["main", "a.c", "", "GC"],
              "stackTable": {"frame": [0, 1, 2], "prefix": [None, 0, 1], "length": 3},
              "frameTable": {"func": [0, 1, 2], "line": [3, None, 9], "column": [None, None, 2], "address": [-1, 4660, -1], "category": [0, 1, 2], "length": 3},
              "funcTable": {"name": [0, 2, 0], "fileName": [1, None, 1], "lineNumber": [2, None, None], "columnNumber": [5, None, None], "length": 3},
              "nativeAllocations": {"stack": [2, 2], "time": [1, 3], "weight": [4096, -4096], "weightType": "bytes", "length": 2},
              "markers": {"name": [3, 3], "startTime": [1, 2], "endTime": [1.25, None], "phase": [1, 0], "category": [1, 0],
                          "data": [{"type": "GCMinor"}, None], "length": 2}}
    return {"meta": {"preprocessedProfileVersion": 47, "interval": 1, "startTime": 1700000000000, "categories": CATEGORIES, "product": "app"},
            "libs": [], "pages": [], "threads": [thread], "counters": [{"name": "malloc"}]}


def shared():
    thread = {"name": "A", "pid": "1", "tid": 1, "markers": {"length": 0}, "samples":
              {"stack": [0, 0], "timeDeltas": [1, 0.5], "weight": [3, 4], "weightType": "samples", "length": 2}}
    return {"meta": {"interval": 1, "preprocessedProfileVersion": 58}, "threads": [thread], "shared": {
        "stringArray": ["f"], "funcTable": {"name": [0], "fileName": [None]}, "frameTable": {"func": [0]}, "stackTable": {"frame": [0], "prefix": [None]}}}


def main():
    folder = Path(sys.argv[1])
    bad = raw()
    thread = bad["threads"][0]
    thread["samples"]["data"] += [[77, 4], [1, None], [1, "x"], 5]
    thread["stackTable"]["data"] += [[99, 1], [0, 99]]
    thread["frameTable"]["data"] += [[99]]
    thread["markers"]["data"] += [[3, None, None, 0], [99, 1, 2, 1], [0, 1, 2, 7]]
    text = json.dumps(raw())
    files = {"raw": text, "processed": json.dumps(processed(), indent=1), "shared": json.dumps(shared()),
             "bad-cut": text[:text.index("2.000001") + 4], "bad-refs": json.dumps(bad)}
    seeds = folder.parents[2] / "fuzz/corpus/gecko"
    for target in (folder, seeds):
        target.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (target / (f"{name}.json" if target == folder else name)).write_text(content)


main()
