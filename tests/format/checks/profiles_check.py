#!/usr/bin/python3
"""Profiles of stacks against slow readers in Python, row by row, by way of JSON and of a store.

usage: profiles_check.py --heddle HEDDLE [FILE...]

Ours are the fixtures that are not damaged; what heddle flame writes of real traces must come back (../shared, where it is).
"""
import argparse
import gzip
import itertools
import json
import math
import pickle
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal, localcontext
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
import wire  # noqa: E402

HERE = Path(__file__).resolve().parents[1]
DATA = HERE.parents[2] / "shared/data"


def load(text):
    return json.loads(text, parse_float=Decimal)


class Heddle:
    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)

    def trace(self, path, way):
        out = self.folder / "out.json"
        source = path
        if way != "json":
            source = self.folder / f"way.{way}"
            subprocess.run([self.program, "convert", "-q", path, source], check=True)
        subprocess.run([self.program, "convert", "-q", source, out], check=True)
        return load(out.read_text())

    def flame(self, path, *words):
        out = self.folder / "flame.folded"
        subprocess.run([self.program, "flame", "-q", "-o", out, *words, path], check=True)
        folded = Counter()
        for line in out.read_text().splitlines():
            stack, _, weight = line.rpartition(" ")
            folded[stack] += int(weight)
        return folded


def rows_of(trace):
    """(phase, name, category, time in ns, track, weight, stack, other arguments)"""
    stacks = {None: ()}
    for node, frame in trace.get("stackFrames", {}).items():
        stacks[int(node)] = stacks[frame.get("parent")] + (frame["name"],)
    names = {(e.get("pid"), e.get("tid")): e["args"]["name"] for e in trace["traceEvents"] if e.get("name") == "thread_name"}
    for e in trace["traceEvents"]:
        if e["ph"] == "M":
            continue
        args = dict(e.get("args", {}))
        time = e.get("ts")
        yield (e["ph"], e.get("name"), e.get("cat"), None if time is None else Decimal(time) * 1000, names.get((e.get("pid"), e.get("tid"))),
               args.pop("weight", None), stacks[e.get("sf")], args, None if e.get("dur") is None else Decimal(e["dur"]) * 1000)


def place(name, file="", line=0, column=0):
    where = file + (f":{line}" if line > 0 else "") + (f":{column}" if line > 0 and column > 0 else "")
    return f"{name} ({where})" if where else name


# ---- speedscope ----

SHIFTS = {"nanoseconds": 0, "microseconds": 3, "milliseconds": 6, "seconds": 9}


def speedscope_rows(document):
    frames = [place(f.get("name") or "[unknown]", f.get("file") or "", f.get("line") or 0, f.get("col") or 0) for f in document["shared"]["frames"]]
    for p in document["profiles"]:
        unit = p.get("unit", "none")
        scale = Decimal(10) ** SHIFTS[unit] if unit in SHIFTS else 1
        name, category = ("time", "nanoseconds") if unit in SHIFTS else ({"none": "samples"}.get(unit, unit), unit)
        start = p.get("startValue", 0) * scale
        if p["type"] == "sampled":
            for sample, weight in zip(p["samples"], p["weights"]):
                weight *= scale
                yield "P", name, category, start if unit in SHIFTS else None, p.get("name"), weight, tuple(frames[i] for i in sample), {}, None
                start += weight
            continue
        opened = []
        for e in p["events"]:
            at = e["at"] * scale
            if unit in SHIFTS:
                yield {"O": "B", "C": "E"}[e["type"]], frames[e["frame"]], None, at, p.get("name"), None, (), {}, None
            elif opened and at > start:
                yield "P", name, category, None, p.get("name"), at - start, tuple(opened), {}, None
            start = at
            opened = opened + [frames[e["frame"]]] if e["type"] == "O" else opened[:-1]


# ---- V8 ----


def cpuprofile_rows(document):
    nodes = {n["id"]: n for n in document["nodes"]}
    parents = {c: n["id"] for n in document["nodes"] for c in n.get("children", ())}
    parents.update((n["id"], n["parent"]) for n in document["nodes"] if "parent" in n)

    def stack(ident):
        frame = nodes[ident]["callFrame"]
        own = place(frame["functionName"] or "(anonymous)", frame["url"], frame["lineNumber"] + 1, frame["columnNumber"] + 1)
        return (stack(parents[ident]) if ident in parents else ()) + (own,)

    if "samples" not in document:
        for n in document["nodes"]:
            if n["hitCount"]:
                yield "P", "hits", "count", None, "JavaScript", n["hitCount"], stack(n["id"]), {}, None
        return
    times = document.get("timestamps")
    if times is None:
        now, times = document["startTime"], []
        for delta in document["timeDeltas"]:
            now += delta
            times.append(now)
    ends = times[1:] + [max(document.get("endTime", 0), times[-1])]
    for ident, start, end in zip(document["samples"], times, ends):
        yield "P", "time", "nanoseconds", Decimal(start) * 1000, "JavaScript", max(end - start, 0) * 1000, stack(ident), {}, None


# ---- Firefox ----


def table_rows(table):
    """Rows of a table of either form, as dicts."""
    if not table:
        return []
    if "schema" in table:
        names = {place: name for name, place in table["schema"].items()}
        return [{names[i]: cell for i, cell in enumerate(row)} for row in table["data"]]
    columns = {name: cells for name, cells in table.items() if isinstance(cells, list)}
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def gecko_rows(document, first_start=None):
    start = Decimal(document["meta"].get("startTime", 0))
    first_start = start if first_start is None else first_start
    later = (start * 10**6 // 1 - first_start * 10**6 // 1)
    categories = [c["name"] for c in document["meta"].get("categories", ())]

    def ns(ms):
        return ms * Decimal(10) ** 6 // 1 + later

    for thread in document["threads"]:
        tables = {**document.get("shared", {}), **thread}
        strings = tables.get("stringArray") or tables["stringTable"]
        funcs, frames, stacks = table_rows(tables.get("funcTable")), [], []
        for f in table_rows(tables["frameTable"]):
            if "location" in f:
                frames.append(strings[f["location"]])
                continue
            func = funcs[f["func"]]
            name = strings[func["name"]] or (hex(f["address"]) if f.get("address", -1) >= 0 else "[unknown]")
            line, column = (func["lineNumber"], func["columnNumber"]) if func.get("lineNumber") is not None else (f.get("line"), f.get("column"))
            file = "" if func.get("fileName") is None else strings[func["fileName"]]
            frames.append(place(name, file, line or 0, column or 0))
        for s in table_rows(tables["stackTable"]):
            stacks.append((() if s["prefix"] is None else stacks[s["prefix"]]) + (frames[s["frame"]],))
        for key in ("samples", "jsAllocations", "nativeAllocations"):
            table, now = thread.get(key, {}), 0
            kind = table.get("weightType", "samples")
            scale = 10**6 if kind == "tracing-ms" else 1
            name = key if key != "samples" else "time" if kind == "tracing-ms" else kind
            for s in table_rows(table):
                now = s["time"] if "time" in s else now + s["timeDeltas"]
                yield ("P", name, None, ns(now), thread["name"], None if s.get("weight") is None else s["weight"] * scale,
                       () if s["stack"] is None else stacks[s["stack"]], {}, None)
        for m in table_rows(thread.get("markers")):
            begin, end = m.get("startTime"), m.get("endTime")
            duration = ns(end) - ns(begin) if m["phase"] == 1 else None
            args = {"data": m["data"]} if m.get("data") else {}
            yield "iXBE"[m["phase"]], strings[m["name"]], categories[m["category"]], ns(end if m["phase"] == 3 else begin), thread["name"], None, (), args, duration
    for process in document.get("processes", ()):
        yield from gecko_rows(process, first_start)


# ---- PyTorch ----


def torchmemory_rows(document):
    for device, trace in enumerate(document["device_traces"]):
        deltas = [({"alloc": 1, "free_completed": -1}.get(e["action"], 0) * e["size"],
                   {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}.get(e["action"], 0) * e["size"]) for e in trace]
        segments = [s for s in document.get("segments", ()) if s["device"] == device]
        now = [sum(s[key] for s in segments) - sum(d[i] for d in deltas) for i, key in enumerate(("active_size", "total_size"))]
        for e, delta in zip(trace, deltas):
            now = [a + b for a, b in zip(now, delta)]
            args = {k: v for k, v in e.items() if k not in ("action", "frames", "time_us") and v is not None}
            if delta[0]:
                args = {"Addr": args.pop("addr"), "Bytes": delta[0] + 0 * args.pop("size"), **args}
            if any(delta):
                args = {"Device Id": device, "Device Type": 1, **args}
                if "segments" in document:
                    args.update({"Total Allocated": now[0], "Total Reserved": now[1]})
            stack = tuple(place(f["name"], f["filename"], f["line"]) for f in reversed(e["frames"]))
            args = load(json.dumps(args))
            yield "i", "[memory]" if delta[0] else e["action"], None, Decimal(e["time_us"] * 1000), f"cuda:{device}", None, stack, args, None
            if delta[1]:
                args = {"allocated": now[0], "reserved": now[1]}
                yield "C", f"segments cuda:{device}", None, Decimal(e["time_us"] * 1000), f"cuda:{device}", None, (), args, None


def flight_rows(document):
    """What an entry of the flight recorder is: a slice that begins when it was seen to have started, or else was created."""
    for e in document["entries"]:
        group = e.get("process_group", str(e["pg_id"]))
        name, description = group if isinstance(group, (list, tuple)) else (group, "")
        description = description if description not in ("", "undefined") else None
        config = document.get("pg_config", {}).get(name, {})
        start, end = e["time_discovered_started_ns"] or e["time_created_ns"], e["time_discovered_completed_ns"]
        args = {"Collective name": e["profiling_name"].split(":")[1].split(" ")[0], "Process Group Name": name, "Process Group Description": description,
                "Process Group Ranks": config.get("ranks"), "Group size": len(json.loads(config["ranks"])) if config else None,
                "Seq": e["p2p_seq_id" if e["is_p2p"] else "collective_seq_id"], "In msg nelems": sum(map(math.prod, e["input_sizes"])),
                "Out msg nelems": sum(map(math.prod, e["output_sizes"])), "dtype": e["input_dtypes"][0],
                **{k: v for k, v in e.items() if k not in ("profiling_name", "frames", "process_group")}}
        args = load(json.dumps({k: v for k, v in args.items() if v is not None}))
        stack = tuple(place(f["name"], f["filename"], f["line"]) for f in reversed(e.get("frames", ())))
        yield ("X" if end else "B", e["profiling_name"], "flight_recorder", Decimal(start), f"{description} ({name})" if description else name, None, stack, args,
               Decimal(end - start) if end else None)


def flight_document(path):
    return (json.loads if path.suffix == ".json" else pickle.loads)(path.read_bytes())


def timeline_rows(entries):
    categories = ("parameter", "optimizer_state", "input", "temporary", "activation", "gradient", "autograd_detail", "unknown")
    first = min(entry[0] for entry in entries if entry[0] >= 0)
    for time, action, size, category in entries:
        args = {"Bytes": size, "action": {1: "preexisting", 2: "create", 3: "increment_version", 4: "destroy"}[action]}
        yield "i", "[memory]", categories[category], Decimal(max(time, first)), None, None, (), args, None


# ---- OpenTelemetry ----


def otlp_rows(data):
    """By profiles.proto: a row per value or time, a dictionary of tables, whose entries are messages."""
    def members(message):
        out = {}
        for number, _, value in wire.fields(message):
            out.setdefault(number, []).append(value)
        return out

    def numbers(message, number, width=0):
        out = []
        for value in message.get(number, ()):
            if isinstance(value, int):
                out.append(value)
            elif width:
                out += struct.unpack(f"<{len(value) // width}Q", value)
            else:
                at = 0
                while at < len(value):
                    element, at = wire.varint(value, at)
                    out.append(element)
        return out

    def one(message, number):
        return message.get(number, [0])[-1]

    def any_value(message):
        (number, (value,)), = members(message).items()
        return {1: lambda: value.decode(), 2: lambda: bool(value), 3: lambda: wire.signed(value), 4: lambda: struct.unpack("<d", value)[0],
                5: lambda: [any_value(v) for v in members(value).get(1, ())], 6: lambda: {one(p, 1).decode(): any_value(one(p, 2)) for p in map(members, members(value).get(1, ()))},
                7: lambda: value.hex(), 8: lambda: strings[value]}[number]()

    def frames(location):
        lines = [members(line) for line in location.get(3, ())]
        for line in reversed(lines):
            name, system, file = (strings[one(functions[one(line, 1)], n)] for n in (1, 2, 3))
            yield place(name or system, file, one(line, 2), one(line, 3))
        if not lines:
            mapping = mappings[one(location, 1)]
            bias = one(mapping, 1) - one(mapping, 3)
            file = strings[one(mapping, 4)].rpartition("/")[2]
            yield f"{file}+0x{one(location, 2) - (bias if bias >= 1 << 32 else 0):x}" if file else f"0x{one(location, 2):x}"

    whole = members(data)
    tables = {n: entries for dictionary in whole[2] for n, entries in members(dictionary).items()}
    strings = [text.decode() for text in tables[5]]
    mappings, locations, functions, links, attributes, stacks = (list(map(members, tables.get(n, ()))) for n in (1, 2, 3, 4, 6, 7))
    comms = {}
    rows = []
    for resource in map(members, whole[1]):
        pairs = {one(p, 1).decode(): any_value(one(p, 2)) for p in map(members, members(one(resource, 1) or b"").get(1, ()))}
        for profile in (members(p) for scope in resource.get(2, ()) for p in members(scope).get(2, ())):
            kind = members(one(profile, 1) or b"")
            name, unit = strings[one(kind, 1)] or "value", strings[one(kind, 2)] or None
            for sample in map(members, profile.get(2, ())):
                args, thread = {}, [pairs.get("process.pid"), None]
                for attribute in (attributes[i] for i in numbers(sample, 2)):
                    key, value = strings[one(attribute, 1)], any_value(one(attribute, 2))
                    same = 1 + (key == "weight") + sum(k.partition("#")[0] == key for k in args)
                    args[key if same == 1 else f"{key}#{same}"] = value
                    if one(attribute, 3):
                        args[key + " unit"] = strings[one(attribute, 3)]
                    thread[1] = value if key == "thread.id" else thread[1]
                    if key == "thread.name":
                        comms[thread[0], thread[1]] = value
                if one(sample, 3):
                    args.update(zip(("trace_id", "span_id"), (one(links[one(sample, 3)], n).hex() for n in (1, 2))))
                stack = tuple(f for i in reversed(numbers(stacks[one(sample, 1)], 1)) for f in frames(locations[i]))
                values, times = list(map(wire.signed, numbers(sample, 4))), numbers(sample, 5, 8)
                for value, time in itertools.zip_longest(values, times):
                    rows.append(("P", name, unit, None if time is None else Decimal(time), tuple(thread), 1 if value is None else value, stack, load(json.dumps(args)), None))
    for row in rows:
        yield (*row[:4], comms.get(row[4]), *row[5:])


READERS = {"otlp": (".otlp", lambda path: otlp_rows(path.read_bytes())), "timeline": (".raw.gz", lambda path: timeline_rows(json.loads(gzip.decompress(path.read_bytes())))), "cpuprofile": (".cpuprofile", lambda path: cpuprofile_rows(load(path.read_text()))),
           "torchmemory": (".pickle", lambda path: torchmemory_rows(pickle.loads(path.read_bytes()))),
           "flight": (".[pj]*", lambda path: flight_rows(flight_document(path))),
           "gecko": (".json", lambda path: gecko_rows(load(path.read_text()))), "speedscope": (".json", lambda path: speedscope_rows(load(path.read_text())))}


def rounded(row):
    """What a time or weight keeps: 10^-18 ns."""
    return tuple(v.quantize(Decimal(1).scaleb(-18), rounding="ROUND_FLOOR") if isinstance(v, Decimal) else v for v in row)


def check_rows(heddle, kind, path):
    wrong = 0
    wanted = list(map(rounded, READERS[kind][1](path)))
    for way in ("json", "heddle"):
        got = list(map(rounded, rows_of(heddle.trace(path, way))))
        differs = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), None)
        bad = differs is not None or len(got) != len(wanted) or not wanted
        wrong += bad
        if bad or way == "json":
            print(f"{path.name} by {way}: {len(got)} rows, {len(wanted)} wanted", *([got[differs], wanted[differs]] if differs is not None else []))
    samples = Counter()
    first = next((row[1] for row in wanted if row[0] == "P"), None)
    for row in wanted:
        if row[0] == "P" and row[1] == first:
            weight = 1 if row[5] is None else row[5]
            samples[";".join(frame.replace(";", ":") for frame in row[6]) or "[no stack]"] += int(Decimal(weight).quantize(1, rounding="ROUND_HALF_UP"))
    if samples and max(samples.values()) < 1 << 62:
        flame = heddle.flame(path, "--of", "samples", "--event", first)
        samples = +samples
        if flame != samples:
            wrong += 1
            print(f"{path.name}: flame {sum(flame.values())}, {sum(samples.values())} wanted", list((flame - samples).items())[:1], list((samples - flame).items())[:1])
    return wrong


def check_ours(heddle, path, *words):
    """What heddle flame writes as speedscope is read with the same weights."""
    written = heddle.folder / "flame.speedscope.json"
    subprocess.run([heddle.program, "flame", "-q", "-o", written, *words, path], check=True)
    before, after = heddle.flame(path, *words), heddle.flame(written)
    before.pop("", None)
    if before != after:
        print(f"{path.name}: as speedscope {sum(after.values())} in {len(after)} stacks, {sum(before.values())} in {len(before)} wanted",
              list((before - after).items())[:1], list((after - before).items())[:1])
    return (before != after) + check_rows(heddle, "speedscope", written)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, localcontext() as context:
        context.prec = 60
        heddle = Heddle(options.heddle, folder)
        for kind, (extension, _) in READERS.items():
            for path in sorted((HERE / kind).glob(f"*{extension}")):
                if not path.name.startswith("bad-"):
                    wrong += check_rows(heddle, kind, path)
        for path in options.files or [*(HERE / "h100").glob("*.pickle"), *(HERE / "h100").glob("*.raw.gz")]:
            kind = next(k for k in READERS if k in str(path) or path.name.endswith(READERS[k][0]))
            wrong += check_rows(heddle, kind, path)
        if DATA.is_dir():
            wrong += check_rows(heddle, "timeline", DATA / "kineto/memory_timeline.raw.gz")
            for name in ("pprof/large.cpu", "stacks/pytorch.folded", "kineto/normalization_layer_test.json.gz", "stacks/example-perf-stacks.txt.gz"):
                wrong += check_ours(heddle, DATA / name)
    return wrong > 0


sys.exit(main())
