#!/usr/bin/env python3
"""What is written as Perfetto protobuf is what Perfetto itself makes of the JSON.

usage: perfetto_real.py --heddle PROGRAM [FILE...]

Perfetto's own trace_processor (perfetto_engine.mjs) loads a JSON trace and what `heddle convert` makes of it. The latter
must load without a complaint and have

  slices      as many of each name, as long, at the same time
  counters    as many samples of each name, of the same sum
  arguments   all that the JSON has
  flows       at least as many

Where trace_processor leaves out parts of the JSON (slices that cross, damage), there may be more of ours, and where it
refuses it, there is nothing to compare. What tests/proven lists is not loaded again. With no FILE: the fixtures of the Chrome format, random documents of flows, and
those traces of HEDDLE_SHARED/data (default: ../shared/data beside the project) that are no larger than LARGEST when they
are unpacked (--most BYTES: others).
Exits with 77, and says why, without node or tests/web/perfetto.
"""
import argparse
import collections
import concurrent.futures
import gzip
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2]))
import perfetto_model as model  # noqa: E402
import proven  # noqa: E402
from rounds import rounds  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parents[1]
SKIP, LARGEST, DOCUMENTS = 77, 1 << 20, rounds(12)

# Slices whose times are beyond int64 ns, which Perfetto wraps round; here they have no time, and are not slices.
BEYOND = {"edge-nanoseconds.json": {"beyond both", "too early for a date"}}
# Of these, the JSON in Perfetto has less, and does not say so.
MORE = {
    "bad-concatenated.json": "several documents",
    "bad-backslash.json": "escapes that JSON does not have",
    "edge-lines.json": "one event a line",
    "edge-samples.json": "stack samples, which have a counter of their timebase in Perfetto's own format",
    "tests.json_thread_state.json": "states of threads, which are not slices there",
    "tests.json_thread_state_sched.json": "states of threads",
}


# Of these, Perfetto reads times that are quoted as a number of nanoseconds in a double, which is so far off.
COARSE = {"basic.xbin.H9qt9c.trace_event.json": 256, "fdr.xfbin.5xc6Dn.trace_event.json": 256}


def plain_key(key):
    """The key of an argument without `debug.` or `args.`: names within annotations have neither dots nor brackets."""
    return key.split(".", 1)[1].translate({ord(c): "_" for c in ".[]"})


def plain_value(text):
    """A text without the escapes that Perfetto leaves in some strings of JSON; a decimal with the digits that hold."""
    try:
        if text and "\\" in text:
            return json.loads(f'"{text}"', strict=False)
        return f"{float(text):.13g}" if text and "." in text else text
    except ValueError:
        return text


def compare_slices(theirs, ours, exact, tolerance):
    found, problems = {row[0]: row[1:] for row in ours}, []
    for name, count, length, begins, unended in theirs:
        n, l, b, _ = found.pop(name, (0, 0, 0, 0))
        if n < count or (exact and n > count):
            problems.append(f"slices {name!r}: {n}, of the JSON {count}")
        # Both cut to nanoseconds, the one the length and the other the end.
        elif exact and not unended and (abs(l - length) > n * tolerance or abs(b - begins) > n * tolerance + 1e-12 * begins):
            problems.append(f"slices {name!r}: {l} ns, begins {b}; of the JSON {length} ns, {begins}")
    if exact and found:
        problems.append(f"slices that the JSON does not have: {sorted(found)[:5]}")
    return problems


def compare_counters(theirs, ours, exact):
    def named(rows):
        return {name.removesuffix(" value"): (count, total) for name, count, total in rows}

    found, problems = named(ours), []
    for name, (count, total) in named(theirs).items():
        n, t = found.pop(name, (0, 0))
        if n < count or (exact and (n > count or not math.isclose(t, total, rel_tol=1e-9))):
            problems.append(f"counter {name!r}: {n} of sum {t}, of the JSON {count} of {total}")
    if exact and found:
        problems.append(f"counters that the JSON does not have: {sorted(found)[:5]}")
    return problems


def compare_args(theirs, ours):
    def counted(rows):
        out = collections.Counter()
        for name, key, value, count in rows:
            out[name, plain_key(key), plain_value(value)] += count
        return out

    lost = counted(theirs) - counted(ours)
    return [f"{sum(lost.values())} arguments are not there: {list(lost)[:5]}"] if lost else []


def compare(name, theirs, ours):
    if "error" in ours:
        return [f"trace_processor: {ours['error'][:600]}"]
    problems = [f"trace_processor complains: {ours['trouble']}"] if ours["trouble"] else []
    if "error" in theirs:
        return problems
    exact = not theirs["trouble"] and name not in MORE
    slices = [row for row in theirs["slices"] if row[0] not in BEYOND.get(name, ())]
    problems += compare_slices(slices, ours["slices"], exact, COARSE.get(name, 1))
    problems += compare_counters(theirs["counters"], ours["counters"], exact)
    problems += compare_args(theirs["args"], ours["args"])
    joined = [sum(row[-1] for row in side["flows"]) for side in (theirs, ours)]
    if joined[1] < joined[0]:
        problems.append(f"{joined[1]} flows join slices, of the JSON {joined[0]}")
    return problems


# ---- documents of flows ----


def random_flows(seed):
    """Slices, instants and flows of both kinds, of which few are around their points: Perfetto takes what was before.

    Left out is what trace_processor makes up: flows from the first slice of all, for an end that waits for a slice and
    has no start; flows whose bind_id is the number of another flow; ends at the time of their begin."""
    rng, events, time, open_slices, begun, started = random.Random(seed), [], 1, {}, set(), set()
    kinds = rng.choice(["Xstf", "Xiistf", "BBXstf", "Xbb", "XiBstfb"])
    for i in range(60):
        time, tid, kind = time + rng.choice([0, 1, 1, 2, 5]), rng.choice([1, 2, 3]), rng.choice(kinds)
        e = {"ph": kind, "pid": 1, "tid": tid, "ts": time, "cat": "c", "name": f"slice {i}"}
        stack = open_slices.setdefault(tid, [])
        if kind == "B" and stack:
            if stack[-1]["ts"] == time:
                continue
            e.update(ph="E", name=stack.pop()["name"])
        elif kind == "B":
            stack.append(e)
        elif kind in "Xb":
            e.update(ph="X", dur=rng.choice([0, 1, 3, 10, 30]))
        if kind == "b":
            e.update(rng.choice([{"flow_in": True}, {"flow_out": True}, {"flow_in": True, "flow_out": True}]),
                     bind_id=hex((1 << 40) + rng.randrange(4)))
        if kind in "stf":
            e.update(name="flow", id=rng.randrange(4))
            if kind == "s" and tid not in begun:
                continue
            if kind == "s":
                started.add(e["id"])
            if kind == "f" and (e["id"] not in started or rng.random() < 0.6):
                e["bp"] = "e"
        else:
            begun.add(tid)
        events.append(e)
    return events


# ---- all ----


def check(options, engine, paths, known):
    """[(name, problems, what there was)] of some files, by one run of the engine."""
    with tempfile.TemporaryDirectory(prefix="heddle-perfetto-") as folder:
        names, checked, keys, out = [], [], [], []
        for i, path in enumerate(paths):
            plain_json, ours = pathlib.Path(folder, f"{i}.json"), pathlib.Path(folder, f"{i}.pftrace")
            name = path.name if isinstance(path, pathlib.Path) else f"flows {path}"
            data = path.read_bytes() if isinstance(path, pathlib.Path) else json.dumps(random_flows(path)).encode()
            plain_json.write_bytes(gzip.decompress(data) if name.endswith(".gz") else data)
            run = subprocess.run([options.heddle, "convert", "-q", plain_json, ours], capture_output=True, text=True)
            if run.returncode:
                out.append((name, [f"heddle convert: {run.stderr}"], ""))
                continue
            key = known.key(plain_json.read_bytes(), ours.read_bytes())
            if not known.holds(key):
                checked.append(name)
                keys.append(key)
                names += [plain_json, ours]
        if not names:
            return out
        run = subprocess.run([options.node, HERE / "checks/perfetto_engine.mjs", engine, *names], capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    if len(answers) != len(names):
        return [(name, [f"the engine answered {len(answers)} of {len(names)}: {run.stderr}"], "") for name in checked]
    for name, key, theirs, ours in zip(checked, keys, answers[::2], answers[1::2]):
        said = theirs.get("error", "").split("\n")[0] or theirs["trouble"]
        there = ", ".join(f"{sum(row[n] for row in ours[what])} {what}" for what, n in
                          (("slices", 1), ("counters", 1), ("args", 3), ("flows", 2)) if what in ours)
        problems = compare(name.removesuffix(".gz"), theirs, ours)
        if not problems:
            known.add(key)
        out.append((name, problems, there + (f" (of the JSON, trace_processor says: {said})" if said else "")))
    return out


def inputs(root, most):
    """Files, and seeds of documents."""
    files = [path for path, _ in model.inputs(root) if model.sizes.unpacked(path) <= most]
    return files + list(range(DOCUMENTS))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--most", type=int, default=LARGEST)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    root = pathlib.Path(os.environ.get("HEDDLE_SOURCE_ROOT", HERE.parents[1]))
    options.node = shutil.which("node") or shutil.which("nodejs")
    engine = root / "tests/web/perfetto"
    for what, there in (("node", options.node), ("tests/web/perfetto", (engine / "engine_bundle.js").is_file())):
        if not there:
            print(f"skipped: there is no {what}; tools/setup.sh test sees to it")
            return SKIP
    known = proven.Proven("perfetto_real", HERE / "checks/perfetto_engine.mjs", root / "tests/web/perfetto.txt")
    paths, failed = options.files or inputs(root, options.most), 0
    workers = min(4, os.cpu_count() or 1, len(paths))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for results in pool.map(lambda i: check(options, engine, paths[i::workers], known), range(workers)):
            for name, problems, there in results:
                failed += bool(problems)
                print("\n  ".join([f"{'FAIL' if problems else 'ok  '} {name}: {there}"] + problems), flush=True)
    known.end()
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
