#!/usr/bin/python3
"""Random execution traces of Chakra, as .et and as JSON, against what Python makes of the same nodes: every slice and every flow.

usage: check_random.py HEDDLE [NODES]
"""
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import make  # noqa: E402

KINDS = {2: "memory", 3: "memory", 4: "compute", 5: "communication", 6: "communication", 7: "communication"}


def ns(value):
    return int(Decimal(str(value)) * 1000)


def convert(heddle, content, folder, name):
    path, out = Path(folder) / name, Path(folder) / "out.json"
    path.write_bytes(content)
    subprocess.run([heddle, "convert", "-q", path, out], check=True)
    events = json.loads(out.read_text(), parse_float=Decimal)["traceEvents"]
    slices = Counter((e["args"]["id"], e["name"], e["cat"], str(e["tid"]), ns(e["ts"]), ns(e["dur"])) for e in events if e["ph"] == "X")
    flows = Counter((e["name"], e["ph"], str(e["tid"]), ns(e["ts"])) for e in events if e["ph"] in "sf")
    return slices, flows


def differ(what, got, wanted):
    if got == wanted:
        return 0
    print(f"{what}: {sum(got.values())} and {sum(wanted.values())}; {list((got - wanted).items())[:2]} {list((wanted - got).items())[:2]}")
    return 1


def proto_trace(rng, count, timed):
    """Nodes that wait for earlier ones, and for a few that never come."""
    messages, slices, flows, free, ends, starts, tracks = [make.METADATA], Counter(), Counter(), {}, {}, {}, {}
    waiting = []
    for id in range(1, count + 1):
        type, duration = rng.choice([2, 3, 4, 4, 4, 5, 6, 7]), rng.randrange(0, 5000)
        where = rng.choice(["none", "stream", "thread"])
        attributes = {"none": [], "stream": [("is_cpu_op", "bool", False), ("stream", "int64", rng.randrange(3))],
                      "thread": [("is_cpu_op", "bool", True), ("tid", "int64", rng.randrange(5, 8))]}[where]
        attributes.append(("x", rng.choice(["double", "sint64", "fixed32", "uint64"]), rng.randrange(1000)))
        waits = sorted({rng.randrange(1, id) for _ in range(rng.randrange(3))}) if id > 1 else []
        control = [id + 1 if rng.random() < .5 else count + 9] if rng.random() < .1 else []
        track = {"none": KINDS[type], "stream": f"stream {attributes[1][2] if where == 'stream' else 0}", "thread": str(attributes[1][2]) if where == "thread" else ""}[where]
        cpu = where == "thread"
        category = ("memory" if cpu else "gpu_memcpy") if type in (2, 3) else "cpu_op" if cpu else "kernel"
        start = rng.randrange(1, 10 ** 12) if timed else 0
        begin = start * 1000 if timed else max([free.get(track, 0)] + [ends[w] for w in waits])
        end = begin + duration * 1000
        free[track], ends[id], starts[id], tracks[id] = end, end, begin, track
        slices[id, f"n{id % 7}", category, track, begin, end - begin] += 1
        waiting += [("ctrl_dep", c, id) for c in control] + [("data_dep", w, id) for w in waits]
        messages.append(make.node(id, f"n{id % 7}", type, control, waits, start, duration, attributes, packed=rng.random() < .5))
    for name, source, target in waiting:
        if source in starts:
            flows[name, "s", tracks[source], starts[source]] += 1
            flows[name, "f", tracks[target], starts[target]] += 1
    return make.stream(messages), slices, flows


def observer_trace(rng, count):
    """Threads with stacks of operators: ids are given on entry, nodes are written on exit."""
    nodes, slices, flows, stacks, starts, highest, next_id = [], Counter(), Counter(), {}, {}, {}, 2
    edges, parents = [], {}
    while len(nodes) < count or any(stacks.values()):
        thread = rng.choice([1, 2, 3])
        stack = stacks.setdefault(thread, [])
        if len(nodes) < count and (not stack or rng.random() < .5) and len(stack) < 30:
            parent = stack[-1] if stack else rng.choice([1] + [s[-1] for t, s in stacks.items() if t != thread and s])
            stack.append(next_id)
            edges.append((parent, next_id, thread))
            starts[next_id] = (next_id, thread)
            parents[next_id] = parent
            highest[thread] = next_id
            next_id += rng.randrange(1, 4)  # tensors have ids, too
        elif stack:
            id = stack.pop()
            parent = parents[id]
            name, scope = f"op{id % 5}", rng.choice([0, 7])
            nodes.append({"id": id, "name": name, "ctrl_deps": parent, "inputs": {"values": [[1, "a]},{"]]}, "attrs": [{"name": "tid", "type": "uint64", "value": thread},
                                                                                   {"name": "scope", "type": "uint64", "value": scope}]})
            slices[id, name, "user_annotation" if scope == 7 else "cpu_op", str(thread), id, highest[thread] + 1 - id] += 1
    for parent, child, thread in edges:
        if parent in starts and starts[parent][1] != thread:
            flows["ctrl_dep", "s", str(starts[parent][1]), parent] += 1
            flows["ctrl_dep", "f", str(thread), child] += 1
    return json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 9, "nodes": nodes}).encode(), slices, flows


def main():
    heddle, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 800
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(6):
            rng = random.Random(seed)
            for name, (content, slices, flows) in {"asap.et": proto_trace(rng, count, False), "timed.et": proto_trace(rng, count, True),
                                                   "observer.json": observer_trace(rng, count)}.items():
                got = convert(heddle, content, folder, name)
                wrong += differ(f"{name} {seed}: slices", got[0], slices) + differ(f"{name} {seed}: flows", got[1], flows)
    print(f"18 traces of {count} nodes, {wrong} differences")
    return wrong > 0


sys.exit(main())
