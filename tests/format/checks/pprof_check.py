#!/usr/bin/python3
"""Real profiles of pprof, sample by sample: protobuf as read here by the wire format, legacy files as pprof itself dumps them.

usage: pprof_check.py --heddle HEDDLE

What tests/proven lists is not compared again. Skips where ../shared is absent.
"""
import argparse
import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
import proven  # noqa: E402
import wire  # noqa: E402

SKIP = 77


def as_json(heddle, path, folder, way):
    """What Heddle makes of a profile, by way of a format."""
    out = Path(folder) / "out.json"
    source = path
    if way != ".json":
        source = Path(folder) / f"way{way}"
        subprocess.run([heddle, "convert", "-q", path, source], check=True)
    subprocess.run([heddle, "convert", "-q", source, out], check=True)
    return out.read_bytes()


def samples_of(text):
    """(name, unit, weight, frames from the root, other arguments) of each sample, in order."""
    trace = json.loads(text)
    stacks = {None: []}
    for node, frame in trace.get("stackFrames", {}).items():  # callers stand before their callees
        stacks[int(node)] = stacks[frame.get("parent")] + [frame["name"]]
    rows = []
    for event in trace["traceEvents"]:
        if event["ph"] == "P":
            args = dict(event.get("args", {}))
            rows.append((event["name"], event.get("cat"), args.pop("weight", None), tuple(stacks[event.get("sf")]), tuple(sorted(args.items()))))
    return rows


# ---- the wire format ----


def fields(data):
    return [(number, value) for number, _, value in wire.fields(data)]


def one(message, field):
    return next((value for number, value in reversed(message) if number == field), 0)


def numbers(message, field):
    out = []
    for number, value in message:
        if number != field:
            continue
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            element, at = wire.varint(value, at)
            out.append(element)
    return out


def proto_samples(data):
    profile = fields(data)
    strings = [value.decode() for number, value in profile if number == 6]
    messages = {number: [fields(value) for field, value in profile if field == number] for number in (1, 2, 3, 4, 5)}
    functions = {one(f, 1): (strings[one(f, 2)], strings[one(f, 4)]) for f in messages[5]}
    mappings = {one(m, 1): m for m in messages[3]}
    locations = {}
    for message in messages[4]:
        frames = []
        for line in [fields(value) for number, value in message if number == 4]:
            name, file = functions[one(line, 1)]
            where = file + (f":{one(line, 2)}" if one(line, 2) else "")
            frames.append(f"{name} ({where})" if where else name)
        if not frames:
            m = mappings[one(message, 2)]
            bias = one(m, 2) - one(m, 4)
            bias = 0 if bias < 1 << 32 else bias
            frames = [f"{strings[one(m, 5)].rpartition('/')[2]}+0x{one(message, 3) - bias:x}"]
        locations[one(message, 1)] = frames
    types = [(strings[one(t, 1)], strings[one(t, 2)]) for t in messages[1]]
    default = strings[one(profile, 14)]
    first = max((i for i, t in enumerate(types) if t[0] == default), default=len(types) - 1)
    order = [first] + [i for i in range(len(types)) if i != first]
    for sample in messages[2]:
        stack = tuple(reversed([frame for location in numbers(sample, 1) for frame in locations[location]]))
        values = [wire.signed(v) for v in numbers(sample, 2)]
        labels = {}
        for label in [fields(value) for number, value in sample if number == 3]:
            labels[strings[one(label, 1)]] = strings[one(label, 2)] if one(label, 2) else wire.signed(one(label, 3))
            if one(label, 4):
                labels[strings[one(label, 1)] + " unit"] = strings[one(label, 4)]
        for i in order:
            yield (*types[i], values[i], stack, tuple(sorted(labels.items())))


# ---- dumps of pprof ----


def dumped_samples(text):
    """Of `pprof -raw`: samples with numbers of locations, locations with addresses, mappings."""
    head, _, rest = text.partition("Locations\n")
    places, _, maps = rest.partition("Mappings\n")
    mappings = {int(m[1]): (int(m[2], 16), int(m[3], 16), m[4]) for m in re.finditer(r"^(\d+): 0x(\w+)/0x\w+/0x(\w+) (\S+)", maps, re.M)}
    frames = {}
    for m in re.finditer(r"^ *(\d+): 0x(\w+)(?: M=(\d+))?", places, re.M):
        start, offset, file = mappings.get(int(m[3] or 0), (0, 0, ""))
        bias = start - offset if start - offset >= 1 << 32 else 0
        name = file.rpartition("/")[2]
        frames[m[1]] = f"{name}+0x{int(m[2], 16) - bias:x}" if name else f"0x{m[2]}"
    lines = head.splitlines()
    at = lines.index("Samples:") + 1
    types = [tuple(t.split("/")) for t in re.sub(r"\[dflt\]", "", lines[at]).split()]
    for i, line in enumerate(lines[at + 1:], at + 1):
        values, colon, stack = line.partition(":")
        if not colon or "[" in line:
            continue
        label = re.fullmatch(r" *bytes:\[(\d+)\]", lines[i + 1]) if i + 1 < len(lines) else None
        more = (("bytes", int(label[1])),) if label else ()
        frame_list = tuple(frames[n] for n in reversed(stack.split()))
        for (name, unit), value in reversed(list(zip(types, map(int, values.split())))):
            yield name, unit, value, frame_list, more


# ---- all ----


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    data = Path(__file__).resolve().parents[4] / "shared/data/pprof"
    if not data.is_dir():
        print("skipped: there is no ../shared/data/pprof")
        return SKIP
    wrong, known = 0, proven.Proven("pprof", *sorted(data.iterdir()))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("large.cpu", "speedscope-simple.prof", "cppbench.cpu", "cppbench.heap", "cppbench.growth"):
            path = data / name
            texts = {way: as_json(heddle, path, folder, way) for way in (".json", ".heddle")}
            flame = Path(folder) / "flame.folded"
            subprocess.run([heddle, "flame", "-q", "-o", flame, path], check=True)
            key = known.key(name.encode(), *texts.values(), flame.read_bytes())
            if known.holds(key):
                continue
            wrong_before = wrong
            dump = data / f"{name}.string"
            wanted = list(dumped_samples(dump.read_text()) if dump.exists() else proto_samples(gzip.decompress(path.read_bytes())))
            for way, text in texts.items():
                got = samples_of(text)
                differs = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), None)
                wrong += differs is not None or len(got) != len(wanted) or not wanted
                print(f"{name} by {way}: {len(got)} samples, {len(wanted)} wanted", *([got[differs], wanted[differs]] if differs is not None else []))
            folded = Counter()
            for line in flame.read_text().splitlines():
                stack, _, weight = line.rpartition(" ")
                folded[tuple(stack.split(";"))] += int(weight)
            first = Counter()
            for name_of, _, weight, stack, _ in wanted:
                if name_of == wanted[0][0]:
                    first[tuple(frame.replace(";", ":") for frame in stack)] += weight
            wrong += folded != first
            print(f"{name}: flame {sum(folded.values())}, {sum(first.values())} wanted", next(iter((folded - first).items()), ""))
            if wrong == wrong_before:
                known.add(key)
    known.end()
    return wrong > 0


sys.exit(main())
