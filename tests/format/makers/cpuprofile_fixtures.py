#!/usr/bin/python3
"""Make the fixtures of the format cpuprofile, tests/format/cpuprofile/*.cpuprofile, and the seeds of its fuzz target.

usage: cpuprofile_fixtures.py FOLDER        node.cpuprofile is a run of node --cpu-prof

small       a tree, samples, the time between them
edge        times instead of deltas, callers by `parent`, children before their callers, other members, a time that goes back
hits        nodes without samples
bad-cut     the text ends in its samples
bad-nodes   ids that are not there, twice, in a circle; values of other types; more samples than deltas
"""
import json
import sys
from pathlib import Path


def node(ident, name, children=(), url="", line=-1, column=-1, hits=0, **more):
    frame = {"functionName": name, "scriptId": "7", "url": url, "lineNumber": line, "columnNumber": column}
    return {"id": ident, "callFrame": frame, "hitCount": hits, **({"children": list(children)} if children else {}), **more}


def main():
    folder = Path(sys.argv[1])
    tree = [node(1, "(root)", [2, 5]), node(2, "", [3, 4], "file:///app/a.js", 0, 0, 1), node(3, "f", [], "file:///app/a.js", 9, 12, 2,
            positionTicks=[{"line": 11, "ticks": 2}]), node(4, "JSON.stringify", hits=1), node(5, "(garbage collector)", hits=1)]
    small = {"nodes": tree, "startTime": 1000, "endTime": 2000, "samples": [2, 3, 3, 4, 5], "timeDeltas": [100, 125, 130, 0, 245]}
    by_parent = [{k: v for k, v in n.items() if k != "children"} for n in tree]
    for n, parent in zip(by_parent, (None, 1, 2, 2, 1)):
        if parent:
            n["parent"] = parent
    edge = {"title": "p \"1\"", "samples": [3, 1, 3, 2], "timestamps": [9000000000000, 9000000000100, 9000000000050, 9000000000075], "nodes": by_parent,
            "startTime": 8999999999999, "endTime": 9000000000075, "$vscode": {"a": [1]}}
    backwards = {"nodes": tree[::-1], "startTime": 5, "samples": [4, 3], "timeDeltas": [1, 7]}
    hits = {"nodes": tree, "startTime": 1, "endTime": 2}
    bad = {"nodes": [node(1, "a", [2]), node(2, "b", [1, 9, "x"]), node(2, "c"), {"id": 3}, 7, {"callFrame": 5, "id": 4}], "startTime": 0, "endTime": 9,
           "samples": [1, 77, "x", 3, 4], "timeDeltas": [1, "y", 3]}
    text = json.dumps(small)
    files = {"small": text, "edge": json.dumps(edge, indent=1), "backwards": json.dumps(backwards), "hits": json.dumps(hits),
             "bad-cut": text[:text.index("[2, 3, 3") + 7], "bad-nodes": json.dumps(bad)}
    seeds = folder.parents[2] / "fuzz/corpus/cpuprofile"
    for target in (folder, seeds):
        target.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (target / (f"{name}.cpuprofile" if target == folder else name)).write_text(content)


main()
