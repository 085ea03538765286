#!/usr/bin/env python3
"""No JSON that heddle writes has a key twice in an object, and begins and ends survive the way through other formats.

usage: unique_keys.py --heddle PROGRAM [--rest|--all]

Every output is read by Python's json with a hook that refuses a key that stands twice. Taken are fixtures, written as JSON
and through the commands that print JSON; slices as B and E with members that are called as columns, or that both ends
have, by way of each format. With --rest or --all, every fixture and the traces that tests/sizes.py says, by
way of OTF2 and Perfetto too; where there are none, it says so.
"""
import argparse
import concurrent.futures
import decimal
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
import sizes  # noqa: E402

FORMATS = ("chrome", "cupti", "folded", "heddle", "perfetto", "perfscript", "sbt", "tfmemory")
SUFFIXES = (".json", ".heddle", ".pftrace", ".otf2", ".sbt")
REPORTS = (["info", "--json"], ["check", "--json"], ["flame", "--to", "speedscope"], ["memory", "--json"])


class Failure(Exception):
    pass


def once(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Failure(f"a key stands twice: {[k for k, _ in pairs]}")
    return members


def parse(text, where):
    try:
        return json.loads(text, object_pairs_hook=once, parse_float=decimal.Decimal)
    except (Failure, ValueError) as e:
        raise Failure(f"{where}: {e}") from None


def run(program, *words):
    """Exit status and standard output. 1 is for what is damaged, or was found."""
    done = subprocess.run([program, *map(str, words)], capture_output=True)
    if done.returncode not in (0, 1):
        raise Failure(f"heddle {' '.join(map(str, words))}: status {done.returncode}: {done.stderr[-2000:].decode()}")
    return done.returncode, done.stdout


def check_file(program, path, folder, suffixes, reports):
    """How many outputs were read."""
    outputs = 0
    for i, suffix in enumerate(suffixes):
        way = folder / f"{i}{suffix}"
        if suffix != ".json" and run(program, "convert", "-q", path, way)[0] != 0:
            continue
        status, text = run(program, "convert", "-q", "--to", "chrome", path if suffix == ".json" else way, "-")
        if status == 0:
            parse(text, f"{path} by way of {suffix}")
            outputs += 1
    for words in reports:
        text = run(program, *words, path)[1]
        if text.strip():
            parse(text, f"{words} {path}")
            outputs += 1
    return outputs


def each(jobs, work):
    """Work on jobs in two threads, each job with a folder of its own; the results in order."""
    def one(job):
        with tempfile.TemporaryDirectory() as folder:
            return work(job, pathlib.Path(folder))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, jobs))


# ---- begins and ends ----


def begins_and_ends(seed):
    """A document of pairs, and what they are: [(name, start, duration)] in nanoseconds."""
    rng = random.Random(seed)
    events, slices, now = [], [], 1000
    for i in range(40):
        length, more, end_more = rng.randrange(1, 5000), {}, {}
        start, now = now, now + length + rng.randrange(1, 100)
        quote = str if rng.random() < 0.5 else float
        if rng.random() < 0.5:
            more["dur"] = rng.choice((0, 7, "12.5", length / 1000))
        if rng.random() < 0.5:
            more["tts"] = rng.randrange(1000)
        if rng.random() < 0.5:
            end_more["tts"] = rng.randrange(1000, 2000)
        for members in (more, end_more):
            if rng.random() < 0.6:
                members["args"] = {"k": rng.randrange(2), "list": [{"a": 1}], f"k{rng.randrange(3)}": "v"}
            if rng.random() < 0.2:
                members["mine"] = rng.choice((1, 2, "x"))
        name = f"slice {i}"
        events.append({"ph": "B", "pid": 1, "tid": 1, "name": name, "ts": quote(start / 1000), **more})
        events.append({"ph": "E", "pid": 1, "tid": 1, "name": name, "ts": quote((start + length) / 1000), **end_more})
        slices.append((name, start, length))
    return json.dumps({"traceEvents": events}), slices


def slices_of(document):
    """The slices of a document, in the order of their starts; `dur` means that of an X only."""
    open_slices, slices = [], []
    for e in document["traceEvents"]:
        ns = decimal.Decimal(e.get("ts", 0)) * 1000
        if e["ph"] == "X":
            slices.append((e["name"], int(ns), int(decimal.Decimal(e.get("dur", -1)) * 1000)))
        elif e["ph"] == "B":
            open_slices.append((e["name"], int(ns)))
        elif e["ph"] == "E":
            name, start = open_slices.pop()
            slices.append((name, start, int(ns) - start))
    return sorted(slices, key=lambda s: s[1])


def values_of(value):
    """All scalars in it."""
    if isinstance(value, dict):
        value = list(value.values())
    return [v for one in value for v in values_of(one)] if isinstance(value, list) else [value]


def check_pairs(program, job, folder):
    seed, suffix = job
    text, expected = begins_and_ends(seed)
    (folder / "in.json").write_text(text)
    way = folder / f"way{suffix}"
    for words in (["in.json", way.name], [way.name, "out.json"]):
        status, _ = run(program, "convert", "-q", *(folder / w for w in words))
        if status != 0:
            raise Failure(f"{words}: status {status}")
    out = parse((folder / "out.json").read_text(), f"seed {seed} by way of {suffix}")
    if slices_of(out) != expected:
        different = [f"{a} became {b}" for a, b in zip(expected, slices_of(out)) if a != b]
        raise Failure(f"seed {seed} by way of {suffix}: {different[:3]}")
    if suffix == ".sbt":
        return  # keeps times and names, and says what it lost
    # both ends' values are somewhere, but for those that are equal
    by_name = {}
    for e in out["traceEvents"]:
        by_name.setdefault(e.get("name"), []).append(e)
    for e in json.loads(text, parse_float=decimal.Decimal)["traceEvents"]:
        there = [str(v) for v in values_of(by_name[e["name"]])]
        start = [int(o["tts"]) for o in by_name[e["name"]] if "tts" in o]
        there += [str(s + o["tdur"]) for o in by_name[e["name"]] for s in start if "tdur" in o]
        for key in e.keys() - {"ph", "ts", "pid", "tid", "name"}:
            for v in values_of(e[key]):
                if str(v) not in there and decimal.Decimal(v) not in map(decimal.Decimal, filter(is_number, there)):
                    raise Failure(f"seed {seed} by way of {suffix}: {e} lost {key} {v} in {by_name[e['name']]}")


def is_number(text):
    try:
        return decimal.Decimal(text).is_finite()
    except decimal.InvalidOperation:
        return False


# ---- all ----


def fixtures():
    for name in FORMATS:
        for path in sorted((ROOT / "tests/format" / name).iterdir()):
            if path.is_file() and path.suffix not in (".expect", ".c", ".h"):
                yield path


def real_traces():
    data = pathlib.Path(os.environ.get("HEDDLE_SHARED", ROOT.parent / "shared")) / "data"
    if not data.is_dir():
        print("there are no real traces:", data)
        return
    for path in sorted(data.rglob("*")):
        if path.is_file() and (path.suffix in (".json", ".folded", ".otf2") or path.name.endswith(".json.gz")):
            yield path


def main():
    sys.setrecursionlimit(20000)  # a fixture has a thousand levels
    threading.stack_size(64 << 20)
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    sizes.options(parser)
    options = parser.parse_args()
    program = options.heddle
    suffixes = [s for s in SUFFIXES if s != ".otf2" or b"otf2" in run(program, "formats")[1]]
    try:
        if options.choice:
            counts = each(fixtures(), lambda path, folder: check_file(program, path, folder, [".json"], REPORTS))
            counts += each(sizes.chosen(real_traces(), options.choice, few=lambda path: False), lambda path, folder: check_file(
                program, path, folder, [s for s in suffixes if s in (".json", ".otf2", ".pftrace")], REPORTS))
        else:
            counts = each((p for p in fixtures() if p.stem == "edge-args"),
                          lambda path, folder: check_file(program, path, folder, [".json"], REPORTS[:2]))
            each([(seed, suffix) for seed in range(2) for suffix in suffixes],
                 lambda job, folder: check_pairs(program, job, folder))
        if sum(counts) < len(counts) / 2:
            raise Failure(f"{sum(counts)} outputs of {len(counts)} files")
    except Failure as e:
        print("FAILED:", e)
        return 1
    print(f"{sum(counts)} outputs of {len(counts)} files have no key twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
