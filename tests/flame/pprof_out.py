#!/usr/bin/python3
"""flame --to pprof, and --to otlp, hold the stacks and weights that folded text has.

usage: tests/flame/pprof_out.py --heddle PROGRAM [--go] [FILE...]

The profile is decoded here field by field, by profile.proto alone, and must have the stacks of the folded text with their
weights; so must a profile of OpenTelemetry, which is decoded by profiles.proto alone, and by the package opentelemetry-proto where it is installed;
heddle reads its own file back to the same text; with --go, `go tool pprof -raw` reads it (Go may compile that tool first, which takes a minute). Names that
protobuf cannot hold, an empty graph and --diff are tried on a made trace.
"""
import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

UNITS = {"gpu-time": "nanoseconds", "cpu-time": "nanoseconds", "launches": "count"}


class Failure(Exception):
    pass


def heddle(program, *words, status=0):
    result = subprocess.run([program, *map(str, words)], capture_output=True)
    if result.returncode != status:
        raise Failure(f"heddle {' '.join(map(str, words))}: {result.returncode} {result.stderr.decode('utf-8', 'replace')}")
    return result.stdout


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        elif tag & 7:
            raise Failure(f"wire type {tag & 7}")
        yield tag >> 3, value


def packed(data):
    out, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def decode(path):
    """[(type, unit)], and for each sample its frames from the root and its values."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    types, samples, functions, locations, strings, default = [], [], {}, {}, [], 0
    for number, value in fields(data):
        if number == 1:
            types.append(dict(fields(value)))
        elif number == 2:
            sample = dict(fields(value))
            samples.append((packed(sample[1]), packed(sample[2])))
        elif number == 4:
            location = dict(fields(value))
            locations[location[1]] = dict(fields(location[4]))[1]
        elif number == 5:
            function = dict(fields(value))
            functions[function[1]] = function[2]
        elif number == 6:
            strings.append(value.decode("utf-8"))
        elif number == 14:
            default = value
    if strings[0]:
        raise Failure("the first string is not empty")
    stacks = [([strings[functions[locations[i]]] for i in reversed(ids)], values) for ids, values in samples]
    named = [(strings[t[1]], strings[t[2]]) for t in types]
    if strings[default] != named[0][0]:
        raise Failure(f"the default is {strings[default]}")
    return named, stacks


def members(data):
    """The values of each field of a message."""
    out = {}
    for number, value in fields(data):
        out.setdefault(number, []).append(value)
    return out


def decode_otlp(path):
    """As decode, of the first profile; the second has the second value."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    whole = members(data)
    tables = members(whole[2][0])
    strings = [text.decode("utf-8") for text in tables[5]]
    for number in (1, 2, 3, 4, 5, 6, 7):
        if tables[number][0]:
            raise Failure(f"the first entry of table {number} is not empty")
    name_of = [strings[members(f).get(1, [0])[0]] for f in tables[3]]
    frame_of = [None] + [name_of[members(members(place)[3][0])[1][0]] for place in tables[2][1:]]
    stacks = [None] + [[frame_of[i] for i in reversed(packed(members(stack)[1][0]))] for stack in tables[7][1:]]
    profiles = [members(profile) for profile in members(members(whole[1][0])[2][0])[2]]
    named = [tuple(strings[members(profile[1][0])[i][0]] for i in (1, 2)) for profile in profiles]
    samples = [[(members(sample)[1][0], packed(members(sample)[4][0])[0]) for sample in profile.get(2, [])] for profile in profiles]
    if [stack for stack, _ in samples[0]] != [stack for stack, _ in samples[1]]:
        raise Failure("the two profiles have other stacks")
    try:
        from opentelemetry.proto.profiles.v1development import profiles_pb2
        theirs = profiles_pb2.ProfilesData.FromString(data)
        table = theirs.dictionary
        known = [[(sample.stack_index, sample.values[0]) for sample in profile.samples] for profile in theirs.resource_profiles[0].scope_profiles[0].profiles]
        frames = [[table.string_table[table.function_table[table.location_table[i].lines[0].function_index].name_strindex] for i in reversed(stack.location_indices)]
                  for stack in table.stack_table]
        if known != samples or frames[1:] != stacks[1:]:
            raise Failure("opentelemetry-proto reads something else")
    except ImportError:
        pass
    return named, [(stacks[stack], [weight, count]) for (stack, weight), (_, count) in zip(*samples)]


def check(program, path, work, of, go):
    made, folded, again = work / "flame.pb.gz", work / "flame.folded", work / "again.folded"
    heddle(program, "flame", "-q", "--of", of, "-o", made, path)
    heddle(program, "flame", "-q", "--of", of, "-o", folded, path)
    types, stacks = decode(made)
    if types != [(of, UNITS[of]), ("count", "count")]:
        raise Failure(f"types {types}")
    wanted, got = Counter(), Counter()
    for line in folded.read_text().splitlines():
        stack, weight = line.rsplit(" ", 1)
        wanted[stack] += int(weight)
    for stack, values in stacks:
        got[";".join(name.replace(";", ":") for name in stack)] += values[0]
    if wanted != got:
        raise Failure(f"{of}: {wanted - got} of the folded text, {got - wanted} of the profile")
    heddle(program, "flame", "-q", "--of", of, "-o", work / "flame.otlp.gz", path)
    if decode_otlp(work / "flame.otlp.gz") != (types, stacks):
        raise Failure(f"{of}: the profile of OpenTelemetry has something else")
    if not stacks:
        return 0
    for written in (made, work / "flame.otlp.gz"):
        heddle(program, "flame", "-q", "-o", again, written)
        if again.read_bytes() != folded.read_bytes():
            raise Failure(f"{of}: {written.name}, read back, has other stacks")
    if go:
        raw = subprocess.run([go, "tool", "pprof", "-raw", str(made)], capture_output=True, text=True,
                             env={**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"})
        if raw.returncode:
            raise Failure(f"go tool pprof: {raw.stderr}")
        rows = re.search(r"^Samples:\n.*\n((?: +\d+ +\d+:.*\n)+)", raw.stdout, re.M)
        weights = sorted(int(row.split()[0]) for row in rows.group(1).splitlines())
        if weights != sorted(values[0] for _, values in stacks):
            raise Failure(f"go tool pprof has {weights}")
    return len(stacks)


def made_trace(path, count):
    events = []
    for n in range(count):
        name = ["gemm", "a;b", "é", "\ud800 broken", "", "line\nend"][n % 6]
        events += [{"ph": "X", "cat": "cpu_op", "name": f"op{n % 4}", "pid": 1, "tid": 1, "ts": 100 * n, "dur": 50},
                   {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 100 * n + 1,
                    "dur": 5, "args": {"correlation": n + 1}},
                   {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 100 * n + 9, "dur": 7 * n + 0.001,
                    "args": {"device": 0, "stream": 7, "correlation": n + 1}}]
    path.write_text(json.dumps({"traceEvents": events}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--go", action="store_true")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    go = shutil.which("go") if options.go else None
    if options.go and not go:
        print("skipped: Go is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        made = work / "made.json"
        made_trace(made, 12)
        for path in options.files:
            print(path, [check(options.heddle, path, work, of, go) for of in UNITS])
        if not options.files:
            odd, plain = work / "odd.pprof", work / "plain.json"
            heddle(options.heddle, "flame", "-q", "-o", odd, "--title", "of me", made)
            names = {stack[-1] for stack, _ in decode(odd)[1]}
            if not {"[GPU_Kernel]a;b", "[GPU_Kernel]é"} <= names:
                raise Failure(f"names {names}")
            plain.write_bytes(made.read_bytes().replace(b"a;b", b"ab").replace(b"\\n", b"-").replace(b"\\ud800", b"?"))
            print([check(options.heddle, plain, work, of, go) for of in UNITS])
            made_trace(work / "empty.json", 0)
            heddle(options.heddle, "flame", "-q", "-o", work / "empty.pb", work / "empty.json")
            heddle(options.heddle, "flame", "-q", "-o", work / "empty.otlp", work / "empty.json")
            heddle(options.heddle, "flame", "-q", "-o", work / "odd.otlp", made)
            if decode(work / "empty.pb")[1] or decode_otlp(work / "empty.otlp")[1]:
                raise Failure("an empty graph has samples")
            if decode_otlp(work / "odd.otlp")[1] != decode(odd)[1]:
                raise Failure("the profile of OpenTelemetry has other names")
            for name in ("x.pb", "x.otlp"):
                heddle(options.heddle, "flame", "-q", "--diff", "-o", work / name, plain, plain, status=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
