#!/usr/bin/python3
"""heddle fix on real traces: no crossing, and nothing else changed.

usage: tests/fix/compare_fix.py --heddle PROGRAM [--rest|--all] [FILE...]

Without files: every Chrome JSON in $HEDDLE_SHARED/data, or ../shared/data beside the project; of ranks, which are alike,
the first, and of those what tests/sizes.py says. Exits with 77 where that is absent. For each file it looks at the events before and after, read by Python alone:

    - no two slices of a track cross, here and by shared/tools/overlaps.py
    - the same events in the same order, with the same members in the same order and the same values, digit by digit;
      only ts, dur and tid of slices and flow points may differ, and names of new lanes follow behind
    - a slice keeps its track and shifts inward by less than the threshold, or keeps its times and moves to a new lane
    - flow points are bound to the slices that they were bound to
    - the text outside of changed values is the same; a fixed trace is fixed to the same bytes

Where fix changed no byte, only the first is asked, and by our own model alone.
"""
import argparse
import gc
import gzip
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from chrome_model import PER_PS, by_track, crossings, exact_time, flow_bindings, slices_of, track_of  # noqa: E402
import sizes  # noqa: E402

SKIP = 77
ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = Path(os.environ.get("HEDDLE_SHARED") or ROOT.parent / "shared")
DATA = ("ascend", "chrome", "cupti", "kineto", "ranks", "rocm", "straggler", "xray")
THRESHOLD_PS = 5000000


class Number(str):
    """The text of a number, so that no digit is lost; never equal to a string."""
    __slots__ = ()

    def __eq__(self, other):
        return isinstance(other, Number) and str.__eq__(self, other)

    __hash__ = str.__hash__


class Numbers(dict):
    """One Number for each text, so that what is the same is found to be so at once."""
    def __missing__(self, text):
        return self.setdefault(text, Number(text))


class Members(dict):
    """An object that remembers all of its members, duplicates too."""
    __slots__ = ("pairs",)

    def __eq__(self, other):
        return isinstance(other, Members) and self.pairs == other.pairs

    __hash__ = None


def members(pairs):
    object_ = Members(pairs)
    object_.pairs = pairs
    return object_


def parse(data, numbers=None):
    """The document, or None where Python does not take it for JSON. `numbers`: those of the document to compare it with."""
    number = (Numbers() if numbers is None else numbers).__getitem__
    try:
        return json.loads(data.decode("utf-8-sig"), parse_int=number, parse_float=number, object_pairs_hook=members,
                          parse_constant=lambda text: (_ for _ in ()).throw(ValueError(text)))
    except (ValueError, RecursionError):
        return None


def plain(data):
    """The document with numbers as text, or None: enough where nothing is compared."""
    try:
        return json.loads(data.decode("utf-8-sig"), parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None


def events_of(document):
    if isinstance(document, list):
        return document
    events = document.get("traceEvents") if isinstance(document, dict) else None
    return events if isinstance(events, list) else []


def equal(a, b):
    return type(a) is type(b) and a == b  # no Number is equal to what is none


def unlike(before, after):
    """The members that differ, or None if the keys do. A tid may be put in front."""
    old, new = before.pairs, after.pairs
    if len(new) == len(old) + 1 and new[0][0] == "tid" and "tid" not in before:
        old = [("tid", None)] + old
    if [key for key, _ in old] != [key for key, _ in new]:
        return None
    return {key for (key, x), (_, y) in zip(old, new) if not equal(x, y)}


class Failure(Exception):
    pass


def require(condition, *what):
    if not condition:
        raise Failure(" ".join(str(part)[:300] for part in what))


def check_lanes(events, count, lanes):
    """Every new lane has its name and order, and those are all that was put in."""
    names, orders = set(), set()
    for event in events[count:]:
        require(event.get("ph") == "M", "no metadata was put in:", event)
        require(list(event) in (["ph", "name", "pid", "tid", "args"], ["ph", "name", "tid", "args"]), "odd metadata", event)
        if event["name"] == "thread_name":
            require(re.search(r" lane \d+$", event["args"]["name"]), "odd name of a lane", event)
            names.add(track_of(event))
        else:
            require(event["name"] == "thread_sort_index", "odd metadata", event)
            orders.add(track_of(event))
    require(names == orders == lanes, "lanes", lanes, "names", names, "orders", orders)


def compare_events(before, after, threshold_ps):
    """Raises Failure; returns what was counted."""
    count = len(before)
    old_slices, new_slices = slices_of(before), slices_of(after)
    old_tracks, new_tracks = by_track(old_slices), by_track(new_slices)
    for outer, inner in crossings(new_tracks):
        require(False, "cross still:", after[outer.first], after[inner.first])
    require(old_slices.keys() == new_slices.keys(), "not the same slices")

    ends = {s.last: s for s in old_slices.values() if s.last is not None and s.last != s.first}
    moved_to, changed, lanes, known = {}, set(), set(), {track_of(e) for e in before if isinstance(e, dict)}
    for i, (old, new) in enumerate(zip(before, after)):
        if equal(old, new):
            continue
        require(isinstance(old, Members) and isinstance(new, Members), "changed what is not an event:", old, new)
        keys = unlike(old, new)
        phase = old.get("ph")
        allowed = {"X": {"ts", "dur", "tid"}, "B": {"ts", "tid"}, "E": {"ts", "tid"}}.get(phase, {"ts", "tid"})
        require(keys is not None and keys <= allowed, "changed", keys, "of", old, new)
        require(phase in "XBEstf", "changed", old, new)
        for key in keys - {"tid"}:
            require(isinstance(new[key], Number) == isinstance(old[key], Number), "type of", key, "changed:", old, new)
        changed.add(i)
    for first, old in old_slices.items():
        new = new_slices[first]
        require(old.last == new.last, "paired with another end:", before[first], old.last, new.last)
        if old.track == new.track:
            require(old.end <= old.start or new.end > new.start, "inverted:", before[first], after[first])
            require(0 <= new.start - old.start and 0 <= old.end - new.end, "shifted outward:", before[first], after[first])
            shift = max(new.start - old.start, old.end - new.end)
            require(shift < threshold_ps * PER_PS or shift == 0, "shifted by", shift, before[first], after[first])
        else:
            require((old.start, old.end) == (new.start, new.end), "moved in time:", before[first], after[first])
            require(old.track[0] == new.track[0] and new.track not in known, "moved to", new.track, before[first])
            require(old.end > old.start, "moved without extent:", before[first])
            lanes.add(new.track)
            moved_to.setdefault(new.track, old.track)
            require(moved_to[new.track] == old.track, "two tracks share the lane", new.track)
    for i in changed:
        phase = before[i]["ph"]
        if phase in "XBE":
            s = old_slices.get(i) or ends.get(i)
            n = new_slices[s.first]
            require((s.start, s.end, s.track) != (n.start, n.end, n.track), "changed for nothing:", before[i], after[i])
    check_lanes(after, count, lanes)

    old_bound, new_bound = flow_bindings(before, old_tracks), flow_bindings(after, new_tracks)
    lost = [i for i in old_bound if old_bound[i] != new_bound.get(i)]
    return {"slices": len(old_slices), "lanes": len(lanes), "flows": len(old_bound), "lost": lost, "changed": len(changed),
            "crossed": sum(1 for _ in crossings(old_tracks))}


def compare_text(before, after):
    """The texts are alike but for numbers, strings and what is put in: lines, if there are any, stay where they were."""
    if before.count(b"\n") > 100:
        same = sum(x == y for x, y in zip(before.split(b"\n"), after.split(b"\n")))
        require(same > 0, "no line is the same")


def load_overlaps():
    spec = importlib.util.spec_from_file_location("overlaps", SHARED / "tools/overlaps.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.ps = exact_time  # it rounds start and duration to picoseconds each, and finds crossings of 1 ps in doing so
    return module


def fix(heddle, source, target, *options):
    result = subprocess.run([heddle, "fix", *options, str(source), str(target)], capture_output=True)
    require(result.returncode == 0, "fix failed:", result.stderr.decode("utf-8", "replace"))
    return result.stdout.decode("utf-8", "replace")


def check_file(heddle, path, work, overlaps):
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    fixed, again = work / "fixed.json", work / "again.json"
    if b'"traceEvents"' not in data and isinstance(plain(data), dict):
        return "not of this format"
    report = fix(heddle, path, fixed)
    after = fixed.read_bytes()
    if data == after and (document := plain(data)) is not None:
        slices = slices_of(events_of(document))
        require(not any(crossings(by_track(slices))), "cross still")
        return "%d slices, nothing to change" % len(slices)
    fix(heddle, fixed, again)
    require(again.read_bytes() == after, "fixing the fixed trace changes it")
    numbers = Numbers()
    old = parse(data, numbers)
    new = parse(after, numbers)
    require(new is not None, "the result is not valid JSON")
    found = overlaps.stats(str(fixed))
    require(found.get("crossing_pairs", 0) == 0, "overlaps.py finds", found.get("crossing_pairs"), "crossings")
    require(not found.get("note"), "overlaps.py notes", found.get("note"))
    if old is None:
        return "broken JSON: valid now, %d slices" % found.get("slices", 0)
    if isinstance(old, dict):
        require([k for k, _ in old.pairs] == [k for k, _ in new.pairs], "top-level keys differ")
        for (key, x), (_, y) in zip(old.pairs, new.pairs):
            require(key == "traceEvents" or equal(x, y), "top-level", key, "differs")
    counts = compare_events(events_of(old), events_of(new), THRESHOLD_PS)
    require(counts["changed"] > 0, "nothing to change, and the bytes differ")
    compare_text(data, after)
    stated = re.search(r"could not keep (\d+) flow", report)
    require(len(counts["lost"]) <= int(stated.group(1) if stated else 0),
            len(counts["lost"]), "flow points bound elsewhere, the first:", events_of(old)[counts["lost"][0]] if counts["lost"] else "")
    return "%(slices)d slices, %(crossed)d crossed, %(changed)d events changed, %(lanes)d lanes, %(flows)d flow points" % counts


def real_traces():
    for folder in DATA:
        for path in sorted((SHARED / "data" / folder).rglob("*.json*")):
            if path.name.endswith((".json", ".json.gz")) and not re.search("memory_timeline|rank[1-7]", path.name):
                yield path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    sizes.options(parser)
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_args()
    gc.disable()  # it would walk millions of objects again and again, and none of them is in a cycle
    files = args.files or sizes.chosen(real_traces(), args.choice)
    if not files or not (SHARED / "tools/overlaps.py").exists():
        print(f"skipped: no traces in {SHARED}/data")
        return SKIP
    overlaps, failed = load_overlaps(), 0
    with tempfile.TemporaryDirectory(prefix="heddle-fix-") as work:
        for path in files:
            try:
                print(f"{path.name}: {check_file(args.heddle, path, Path(work), overlaps)}", flush=True)
            except Failure as failure:
                failed += 1
                print(f"FAILED {path}: {failure}", flush=True)
    print(f"{len(files)} traces, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
