#!/usr/bin/env python3
"""check_real.py HEDDLE - exports of xctrace, event by event: `heddle convert` to Chrome JSON against xml.etree

Of each row: kind, times, process, thread, name, arguments, stack; of GPU channels also the time that they are busy. The
fixtures that are whole, and all of ../shared/data/xctrace where that is there.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from decimal import Decimal

HERE = pathlib.Path(__file__).resolve().parent
CATEGORIES = {"metal-gpu-intervals": "kernel", "metal-application-command-buffer-submissions": "metal_runtime", "metal-driver-intervals": "metal_driver",
              "OSSignpostIntervals": "user_annotation"}
NAMES = ["name", "interval-type", "event", "event-label", "event-name", "label", "event-type", "message", "period", "narrative", "signpost-name", "formatted-label"]
LANES = ["channel-name", "display-name", "display", "track-label", "gpu-channel-name"]
TIMES = ("start-time", "event-time", "sample-time")
STACKS = ("tagged-backtrace", "kperf-bt", "backtrace")


class Table:
    def __init__(self, name, columns):
        self.name, self.columns = name, columns
        if name == "table" and any(t == "gpu-channel-name" for _, t in columns):
            self.sort = "metal-gpu-intervals"
        else:
            self.sort = name
        self.category = CATEGORIES.get(self.sort, name)

    def find(self, keys, types=()):
        for key in keys:
            for i, (k, _) in enumerate(self.columns):
                if k == key:
                    return i
        for type_ in types:
            for i, (_, t) in enumerate(self.columns):
                if t == type_:
                    return i
        return None


def resolve(element, ids):
    while element is not None and "ref" in element.attrib:
        element = ids.get(element.attrib["ref"])
    return None if element is None or element.tag == "sentinel" else element


def number(element):
    text = (element.text or "").strip() if element is not None and not len(element) else ""
    try:
        return int(text) if abs(int(text)) < 2**63 and text.lstrip("-").isdigit() else None
    except ValueError:
        return None


def shown(element):
    """what an argument says: a number, or text"""
    if element is None:
        return None
    text = "" if len(element) else (element.text or "").strip()
    fmt, value = element.get("fmt", ""), number(element)
    if value is not None and (not fmt or fmt[0] in "-0123456789" or fmt == text):
        return value
    return fmt or text or None


def child(element, tag, ids):
    for c in element if element is not None else ():
        if c.tag == tag:
            return resolve(c, ids)
    return None


def stack_of(element, ids):
    """outermost first"""
    out, address = [], number(child(element, "text-address", ids)) if element is not None else None
    if element is None:
        return []
    if address is not None:
        out.append(hex(address))
    inner = child(element, "backtrace", ids)
    for c in inner if inner is not None else element:
        r = resolve(c, ids)
        if r is None:
            continue
        if c.tag == "text-addresses":
            out += [hex(int(x)) for x in r.text.split()]
        elif c.tag == "frame":
            out.append(r.get("name", r.get("addr", "")) or "[unknown]")
    return out[::-1]


def pid_of(process, ids):
    value = number(child(process, "pid", ids))
    return value if value is not None else shown(process)


def rows_of(path):
    root = ET.parse(path).getroot()
    ids = {e.attrib["id"]: e for e in root.iter() if "id" in e.attrib}
    for node in root:
        table = None
        for part in node:
            if part.tag == "schema":
                table = Table(part.get("name"), [(c.findtext("mnemonic"), c.findtext("engineering-type")) for c in part])
            if part.tag == "row":
                table = table or Table("table", [(c.tag, c.tag) for c in part])
                yield table, [resolve(c, ids) for c in part], ids


def expected(table, cells, ids, gpus):
    def at(index):
        return cells[index] if index is not None and index < len(cells) else None

    start, duration = table.find(("start", "timestamp", "time"), TIMES), table.find(("duration",))
    thread, process = table.find(("thread", "start-thread"), ("thread",)), table.find(("process",))
    user, kernel = table.find(("cp-user-callstack",), STACKS), table.find(("cp-kernel-callstack",))
    name, lane, gpu = table.find(NAMES), table.find(LANES), table.find(("gpu",), ("metal-device-name",))
    begin, length = number(at(start)), number(at(duration))
    launches, queues = table.category == "metal_runtime", table.category == "kernel"
    phase = "X" if length is not None or launches else "P" if user is not None and at(duration) is None else "i"
    said = {start, duration, thread, user, kernel} | (set() if queues else {process})
    label = shown(at(name))
    label = label if isinstance(label, str) else ""
    cut = label.find("   (") > 0
    if cut:
        label = label.split("   (")[0]
    else:
        said.add(name)
    if begin is None:
        phase, said = None, set() if cut else {None}
    owner = at(process)
    if queues:
        device = gpus.setdefault(shown(at(gpu)), len(gpus))
        place = (f"GPU {device}", shown(at(lane)))
    elif at(thread) is not None:
        inner = child(at(thread), "process", ids)
        tid = number(child(at(thread), "tid", ids))
        place = (pid_of(inner if inner is not None else owner, ids), tid if tid is not None else shown(at(thread)))
    else:
        row = at(lane) if at(lane) is not None else at(gpu)
        place = (pid_of(owner, ids), table.name) if owner is not None else (table.name, shown(row) if row is not None else table.name)
    args = {}
    for i, cell in enumerate(cells):
        if i not in said and shown(cell) is not None:
            key = table.columns[i][0]
            if key in args:  # of a table without its schema; Chrome JSON has each key once
                args[f"{key}#1"] = args[key]
            args[key] = shown(cell)
    buffer = number(at(table.find(("cmdbuffer-id", "metal-command-buffer-id"))))
    if (queues or launches) and buffer and buffer > 0:
        args["correlation"] = buffer
    stack = stack_of(at(user), ids) + stack_of(at(kernel), ids)
    return phase, begin, length if length is not None else 0, place, label or ("sample" if phase == "P" else table.name), table.category, args, stack


def frames(trace, node):
    out, tree = [], trace.get("stackFrames", {})
    while node is not None and node != 0:
        frame = tree[str(node)]
        out.append(frame["name"])
        node = int(frame["parent"]) if "parent" in frame else None
    return out[::-1]


def union(intervals):
    total, end = 0, 0
    for a, b in sorted(intervals):
        total += max(0, b - max(a, end))
        end = max(end, b)
    return total


def ns(value):
    return int(Decimal(str(value)) * 1000)


def check(heddle, path):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        subprocess.run([heddle, "convert", "-q", "--strict", path, out], check=True)
        trace = json.loads(out.read_text(), parse_float=Decimal)
        info = json.loads(subprocess.run([heddle, "info", "--json", "--all", path], check=True, capture_output=True).stdout)
    gpus, wanted, got, busy = {}, Counter(), Counter(), defaultdict(list)
    for table, cells, ids in rows_of(path):
        e = expected(table, cells, ids, gpus)
        phase, begin, length, place, label, category, args, stack = e
        text = json.dumps(args, sort_keys=True)
        if category == "user_annotation":
            wanted["b", begin, None, place, label, category, text, ()] += 1
            wanted["e", begin + length, None, place, label, category, "{}", ()] += 1
            continue
        wanted[phase, begin, length if phase == "X" else None, place, label, category, text, tuple(stack)] += 1
        if category == "kernel":
            busy[place].append((begin, begin + length))
    for e in trace["traceEvents"]:
        if e.get("ph") == "M":
            continue
        args = json.dumps(e.get("args", {}), sort_keys=True)
        got[e.get("ph"), ns(e["ts"]) if "ts" in e else None, ns(e["dur"]) if "dur" in e else None, (e["pid"], e["tid"]), e["name"], e["cat"], args,
            tuple(frames(trace, e.get("sf")))] += 1
    assert got == wanted, f"{path}:\n  only heddle: {list((got - wanted).items())[:2]}\n  only here: {list((wanted - got).items())[:2]}"
    lanes = {(t["pid"], t["tid"]): t["busy"] for t in info["tracks"] if t["kind"] == "stream"}
    assert lanes == {p: union(i) for p, i in busy.items()}, (path, lanes)
    print(f"{path}: {sum(got.values())} events and {len(lanes)} channels are the same")


def main():
    files = [HERE / "metal.xml", HERE / "edge-samples.xml"]
    real = sorted((HERE.parents[2] / "../shared/data/xctrace").glob("*.xml"))
    for path in files + real:
        check(sys.argv[1], path)
    if not real:
        print("skipped: there is no ../shared/data/xctrace")
    return 0


if __name__ == "__main__":
    sys.exit(main())
