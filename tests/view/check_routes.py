#!/usr/bin/env python3
"""Asks `heddle view` for flame graphs, pieces, tracks and the fidelity line, and holds them against other ways to know.

  check_routes.py --heddle HEDDLE [FILE.json[.gz] ...]

Flame graphs: `heddle flame` of the same range. Pieces (crop): every event of the file, by the rule of docs/reference/view-protocol.md
and src/pass/crop/crop.c, in all formats. Tracks and fidelity: `heddle info` and `heddle check`. Without files: one that
`heddle synth` makes, and those of the folder that HEDDLE_QUERY_TRACES names.
"""
import argparse
import collections
import fractions
import glob
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import urllib.parse

from check_queries import SKIP, Server, nanoseconds, seed
from job_server import PATIENCE_S, open_url


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as file:
        data = json.load(file, parse_float=fractions.Fraction, strict=False)
    return data["traceEvents"] if isinstance(data, dict) else data


def command(heddle, *arguments):
    """What it prints; 1 means that a check found something."""
    done = subprocess.run([heddle, *arguments], capture_output=True)
    assert done.returncode in (0, 1), (arguments, done.stderr.decode("utf-8", "replace")[:500])
    return done.stdout.decode("utf-8", "replace")


# ---- flame graphs ----

def plain(frame):
    """A frame as folded text has it."""
    text = "".join(" " if ord(c) < 32 or ord(c) == 127 else c for c in frame.replace(";", ":"))
    return text.replace(" ", "_")


def folded_totals(text):
    """By path: what it and all below it weigh."""
    totals = collections.Counter()
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        frames = tuple(plain(frame) for frame in stack.split(";"))
        for depth in range(len(frames) + 1):
            totals[frames[:depth]] += int(weight)
    return totals


def node_totals(answer):
    totals, paths = collections.Counter(), []
    for number, (parent, name, own, total, _) in enumerate(answer["nodes"]):
        assert (parent == -1) == (number == 0) and parent < number and 0 <= own <= total
        path = paths[parent] + (plain(answer["names"][name]), ) if number else ()
        paths.append(path)
        totals[path] += total
    return totals


def check_flame(heddle, server, path, query, options):
    answer = server.get("flame", **query)
    must = folded_totals(command(heddle, "flame", "--quiet", "--to", "folded", *options, path, "-o", "-"))
    assert answer["total"] == must[()], ("flame", query, answer["total"], must[()])
    found, least = node_totals(answer), max(1, answer["total"] // 5000)
    for frames, total in found.items():
        assert must[frames] == total, ("flame", query, frames, total, must[frames])
    if answer["left_out"] == 0:
        assert set(found) >= {frames for frames, total in must.items() if total}, ("flame", query)
    # Siblings that differ in kind alone are one line of folded text: two may be left out that are enough together.
    missing = [frames for frames, total in must.items() if total >= 2 * least and frames not in found]
    assert not missing, ("flame leaves out", query, missing[:3])


def check_flames(heddle, server, path, span, chance):
    kinds = [("gpu-time", "nothing"), ("gpu-time", "stream"), ("cpu-time", "thread"), ("cpu-self", "nothing"),
             ("launches", "name"), ("cpu-time", "step")]
    for of, by in kinds:
        first = chance.randrange(span)
        until = first + 1 + chance.randrange(span)
        reverse = chance.randrange(2)
        extra = ["--reverse"] if reverse else []
        check_flame(heddle, server, path, {"of": of, "by": by, "reverse": reverse},
                    ["--of", of, "--by", by, *extra])
        check_flame(heddle, server, path, {"of": of, "by": by, "reverse": reverse, "from": first, "until": until},
                    ["--of", of, "--by", by, "--from", "%dns" % first, "--until", "%dns" % until, *extra])


# ---- pieces ----

def extent(event):
    """Start and end of an event, ns."""
    start = fractions.Fraction(event["ts"])
    length = fractions.Fraction(event.get("dur") or 0) if event["ph"] == "X" else 0
    return nanoseconds(start), max(nanoseconds(start), nanoseconds(start + length))


def touches(event, first, until):
    start, end = extent(event)
    return start < until and (start >= first or end > first)


def counter_of(event):
    return str(event.get("pid")), event.get("name"), event.get("id")


def expected_samples(events, first, until):
    """Samples of counters in the range, and the last before it at its start, unless one stands there."""
    inside = [e for e in events if e["ph"] == "C" and first <= extent(e)[0] < until]
    last = {}
    for event in events:
        if event["ph"] == "C" and extent(event)[0] < first:
            key = counter_of(event)
            if key not in last or extent(event)[0] >= extent(last[key])[0]:
                last[key] = event
    at_start = {counter_of(e) for e in inside if extent(e)[0] == first}
    moved = [e for key, e in last.items() if key not in at_start]
    return collections.Counter([(*counter_of(e), extent(e)[0], str(e.get("args"))) for e in inside] +
                               [(*counter_of(e), first, str(e.get("args"))) for e in moved])


def slices_of(events):
    return collections.Counter((e.get("name"), *extent(e)) for e in events if e["ph"] == "X")


def flows_of(events):
    return collections.Counter((e.get("cat"), str(e.get("id")), e.get("name")) for e in events if e["ph"] in "stf")


def check_piece(events, piece, first, until):
    """Whole events: the very events of the file, in their order. Flows go with their slices, and are looked at apart."""
    apart = ("C", "s", "t", "f", "b", "e", "n", "B", "E")
    must = [e for e in events if e["ph"] not in apart and (e["ph"] == "M" or touches(e, first, until))]
    found = [e for e in piece if e["ph"] not in apart]
    for a, b in zip(must, found):
        assert a == b, ("crop", a, b)
    assert len(must) == len(found), ("crop", len(must), len(found))
    samples = collections.Counter((*counter_of(e), extent(e)[0], str(e.get("args"))) for e in piece if e["ph"] == "C")
    assert samples == expected_samples(events, first, until), "crop: counters"
    flows, before = flows_of(piece), flows_of(events)
    lone = [key for key, count in flows.items() if count < 2 <= before[key]]
    assert not lone, ("crop: a flow of one point", lone[:3])


def check_clipped(events, piece, first, until):
    must = collections.Counter()
    for event in events:
        if event["ph"] == "X" and touches(event, first, until):
            start, end = extent(event)
            must[event.get("name"), max(start, first), min(end, until)] += 1
    assert slices_of(piece) == must, ("crop, clipped", list((slices_of(piece) - must).items())[:3],
                                      list((must - slices_of(piece)).items())[:3])


def check_perfetto(again, piece):
    """Perfetto knows one sort of slice: begins that have an end come back as such; async ones as they were."""
    lost = slices_of(piece) - slices_of(again)
    assert not lost, ("crop: pftrace", list(lost.items())[:3])
    more = sum((slices_of(again) - slices_of(piece)).values())
    assert more == sum(1 for e in piece if e["ph"] == "B"), ("crop: pftrace", more)
    begun = [sum(1 for e in events if e["ph"] == "b") for events in (piece, again)]
    assert begun[0] == begun[1], ("crop: pftrace, async", begun)


def download(server, folder, form, **params):
    query = urllib.parse.urlencode({"trace": 0, "format": form, **params})
    path = os.path.join(folder, "piece." + form)
    with open_url("%scrop?%s" % (server.base, query), timeout=PATIENCE_S) as answer, open(path, "wb") as file:
        assert answer.headers["Content-Disposition"].split(".", 1)[1].strip('"').endswith(form)
        file.write(answer.read())
    return path


def check_crop(heddle, server, events, folder, zero, first, until):
    window = {"from": first - zero, "until": until - zero}
    plain_file = download(server, folder, "json", **window)
    piece = load(plain_file)
    check_piece(events, piece, first, until)
    packed = download(server, folder, "json.gz", **window)
    with gzip.open(packed) as one, open(plain_file, "rb") as other:
        assert one.read() == other.read(), "crop: json.gz is not json"
    for form in ("heddle", "pftrace"):
        back = os.path.join(folder, "back.json")
        command(heddle, "convert", "--quiet", download(server, folder, form, **window), back)
        again = load(back)
        if form == "heddle":
            assert again == piece, "crop: heddle"
        else:
            check_perfetto(again, piece)
    check_clipped(events, load(download(server, folder, "json", clip=1, **window)), first, until)


# ---- tracks and fidelity ----

def check_tracks(heddle, server, path):
    info = json.loads(command(heddle, "info", "--json", "--all", path))
    told = server.get("tracks")["tracks"]
    rows = {(t.get("pid"), t.get("tid")): t for t in told
            if t.get("events_kind") == "slice" and not t.get("derived") and t["role"] in ("thread", "stream")}
    for track in info["tracks"]:
        if not track["slices"] or track["kind"] not in ("thread", "stream"):
            continue
        found = rows.get((track["pid"], track["tid"]))
        assert found, ("no track for", track)
        assert found["events"] == track["slices"], ("events", track, found["events"])
        assert found["exact"] and found["on_lanes"] <= found["events"]
        if not track["other_events"]:
            assert found["busy"] == track["busy"], ("busy", track, found["busy"])
            assert found["end"] - found["start"] == track["span"], ("span", track, found)
    assert sum(t["events"] for t in rows.values()) <= info["slices"]
    return info


def check_fidelity(heddle, server, path, info):
    told = server.get("fidelity")
    found = collections.Counter()
    for finding in json.loads(command(heddle, "check", "--json", "--all", path)):
        count = finding["slices"] if finding["code"] == "crossing" else finding["count"]
        found[finding["code"]] += count
    assert told["slices"] == {"read": info["slices"], "shown": info["slices"], "dropped": 0}, told["slices"]
    assert told["events"] == info["events"]
    for key, code in {"on_lanes": "crossing", "no_end": "begin-without-end", "negative": "negative-duration",
                      "before_launch": "gpu-before-launch", "without_launch": "gpu-without-launch",
                      "before_recording": "gpu-before-recording", "after_recording": "gpu-after-recording",
                      "without_work": "launch-without-gpu"}.items():
        assert told[key] == found[code], ("fidelity", key, told[key], found[code])
    for key in ("without_start", "without_end", "unbound", "backward"):
        assert told["flows"][key] == found["flow-" + key.replace("_", "-")], ("fidelity", key)
    for what, count in (("on-lanes", told["on_lanes"]), ("no-end", told["no_end"]), ("negative", told["negative"]),
                        ("before-launch", told["before_launch"]), ("unbound-flows", told["flows"]["unbound"]),
                        ("without-launch", told["without_launch"]),
                        ("before-recording", told["before_recording"]), ("after-recording", told["after_recording"]),
                        ("without-work", told["without_work"]),
                        ("flows-without-start", told["flows"]["without_start"]),
                        ("flows-without-end", told["flows"]["without_end"])):
        listed = server.get("fidelity/list", what=what, limit=1000)
        assert listed["count"] == count and len(listed["events"]) == min(count, 1000), ("list", what, listed["count"])


def check_names(server):
    """Every name that a tile or a table could tell of is told, once, and never changes."""
    count = server.get("tracks")["names"]
    first = [n for at in range(0, count, 8192)
             for n in server.get("names", ids="%d-%d" % (at, min(count, at + 8192) - 1))["names"]]
    assert [n["id"] for n in first] == list(range(count))
    chosen = sorted(random.Random(seed(2)).sample(range(count), min(50, count)), reverse=True)
    again = server.get("names", ids=",".join(map(str, chosen)))["names"]
    assert again == [first[i] for i in chosen]


def rank_file(folder, rank):
    """What a profiler writes of one rank: a process of the CPU, and one that has streams alone."""
    meta = [(41, "process_name", {"name": "python3"}), (41, "process_labels", {"labels": "CPU"}),
            (0, "process_name", {"name": "python3"}), (0, "process_labels", {"labels": "GPU 0"})]
    events = [{"ph": "M", "name": name, "pid": pid, "tid": 0, "ts": 1, "args": args} for pid, name, args in meta]
    events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 41, "tid": 41, "ts": 10, "dur": 5,
                "args": {"correlation": 7}},
               {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 30, "dur": 9,
                "args": {"device": 0, "stream": 7, "correlation": 7}}]
    path = os.path.join(folder, "hand_rank%d.json" % rank)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8}, "traceEvents": events}, file)
    return path


def check_ranks(heddle, folder):
    """Ranks that were merged into one store, which knows them: each section says of which it is."""
    merged = os.path.join(folder, "merged.heddle")
    command(heddle, "convert", "--quiet", rank_file(folder, 3), rank_file(folder, 5), merged)
    server = Server(heddle, merged)
    try:
        server.wait()
        sections = {t["name"]: (t["role"], t.get("rank")) for t in server.get("tracks")["tracks"]
                    if t["kind"] == "section"}
    finally:
        server.close()
    assert sections == {"rank 3 \u00b7 python3 \u00b7 CPU": ("process", 3), "rank 3 \u00b7 GPU 0": ("device", 3),
                        "rank 5 \u00b7 python3 \u00b7 CPU": ("process", 5), "rank 5 \u00b7 GPU 0": ("device", 5)}, sections


def check_small_frames(heddle, folder):
    """A kernel that is most of the time in many short launches, below operators of names of their own: all of it is told by name."""
    short, count, long = 9, 7000, 70000
    slices = [("user_annotation", "all", 1, 0, 30 * count, {})]
    for i in range(count):
        kernel = ("one_long", long) if i == 3 else ("many_short", short)
        slices += [("cpu_op", "op %d" % i, 1, 5 + 20 * i, 15, {}),
                   ("cuda_runtime", "cudaLaunchKernel", 1, 6 + 20 * i, 4, {"correlation": i + 1}),
                   ("kernel", kernel[0], 9 if i == 3 else 8, 12 + 20 * i, kernel[1], {"correlation": i + 1, "device": 0, "stream": 9 if i == 3 else 8})]
    path = os.path.join(folder, "small_frames.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump([{"ph": "X", "cat": cat, "name": name, "pid": int(cat != "kernel"), "tid": tid, "ts": ts, "dur": dur, "args": args}
                   for cat, name, tid, ts, dur, args in slices], file)
    server = Server(heddle, path)
    try:
        server.wait()
        answer = server.get("flame", of="gpu-time")
    finally:
        server.close()
    own = collections.Counter()
    for node, name, self, total in [(n[0], *n[1:4]) for n in answer["nodes"]] + answer["small"]:
        own[answer["names"][name]] += self
    small = {answer["names"][name]: (self, total) for _, name, self, total in answer["small"]}
    all_short = 1000 * short * (count - 1)
    told = next(weight for name, weight in own.items() if "many_short" in name)
    assert told == all_short and sum(own.values()) == answer["total"] == all_short + 1000 * long, (told, answer["total"])
    assert small["cudaLaunchKernel"] == (0, all_short), small
    assert not any(name.startswith("op ") for name in small) and len(small) == 2, small # each is little in all


# ---- all of it ----

def check(heddle, path, folder):
    events = [e for e in load(path) if isinstance(e, dict) and (e.get("ph") == "M" or "ts" in e)]
    chance = random.Random(seed(7))
    server = Server(heddle, path)
    try:
        trace = server.wait()
        zero, span = int(trace["start_ns"]), trace["span_ns"]
        info = check_tracks(heddle, server, path)
        check_fidelity(heddle, server, path, info)
        check_names(server)
        check_flames(heddle, server, path, span, chance)
        for _ in range(2):
            first = zero + chance.randrange(span)
            check_crop(heddle, server, events, folder, zero, first, first + 1 + chance.randrange(span // 3))
    finally:
        server.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    shown = subprocess.run([args.heddle, "view", "--help"], capture_output=True, text=True)
    if shown.returncode != 0:
        print("skipped: this heddle was built without the page")
        return SKIP
    failed = 0
    with tempfile.TemporaryDirectory(prefix="heddle-routes-") as folder:
        files = args.files
        if not files:
            files = [os.path.join(folder, "synth.json")]
            subprocess.run([args.heddle, "synth", "--quiet", "--events", "6000", "--crossings", "50", "--late-kernels",
                            "7", "--negatives", "3", "-o", files[0]], check=True, stdout=subprocess.DEVNULL)
            files += sorted(glob.glob(os.path.join(os.environ.get("HEDDLE_QUERY_TRACES", folder), "*.json")))
            files = list(dict.fromkeys(files))
        checks = [(path, lambda path=path: check(args.heddle, path, folder)) for path in files]
        for name, run in checks + [("ranks", lambda: check_ranks(args.heddle, folder)), ("small frames", lambda: check_small_frames(args.heddle, folder))]:
            try:
                run()
                print("%s: the same" % os.path.basename(name), flush=True)
            except AssertionError as problem:
                failed += 1
                print("%s: differs: %s" % (os.path.basename(name), str(problem)[:2000]), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
