#!/usr/bin/python3
"""heddle fix on thousands of small random traces, held against chrome_model.py.

usage: tests/fix/random_fix.py --heddle PROGRAM [--rounds N] [--seed N]

Each file holds many small traces, one per pid: X and B/E mixed, several tracks, flow points, equal times, no duration,
events out of order. What compare_fix.py asks of real traces is asked here, for several thresholds and layouts.
"""
import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
from chrome_model import by_track, crossings, slices_of  # noqa: E402
from compare_fix import Failure, compare_events, events_of, fix, parse, require  # noqa: E402
from rounds import rounds  # noqa: E402

TRACES_A_FILE = 60
THRESHOLDS_US = ("0", "0.001", "5", "1000")


PS = 10 ** 15  # times are whole numbers of 10^-15 ps, the finest that is kept
US = 10 ** 6 * PS


def text_of(rng, time, decimals):
    """Microseconds with some decimals more than needed, now and then as a string or with an exponent."""
    sign, time = "-" * (time < 0), abs(time)
    text = f"{sign}{time // US}.{time % US:021d}"
    text = text[:len(text) - 21 + max(decimals, len(text.rstrip("0")) - (len(text) - 21))].rstrip(".")
    if rng.random() < 0.02:
        text = f"{sign}{time}e-21"
    return json.dumps(text) if rng.random() < 0.02 else text


class Trace:
    def __init__(self, rng, pid, base_ps):
        self.rng, self.pid = rng, pid
        self.base = base_ps * PS
        self.unit = rng.choice((1000000 * PS, 1000000 * PS, 1000 * PS, 1000000000 * PS, 250000 * PS, PS, PS // 4, 1, 10 ** 13 + 7))
        self.span = rng.choice((8, 20, 60, 400))
        self.decimals = rng.choice((0, 3))
        self.events = []  # (time, sequence, text)

    def time(self):
        return self.base + self.rng.randrange(self.span) * self.unit

    def add(self, ph, tid, time, *more):
        rng = self.rng
        members = [f'"ph": "{ph}"', f'"pid": {self.pid}', f'"tid": {tid}', f'"ts": {text_of(rng, time, self.decimals)}', *more]
        if rng.random() < 0.1:
            rng.shuffle(members)
        self.events.append((time, len(self.events), "{" + rng.choice((", ", ", ", ",", " ,\t")).join(members) + "}"))

    def slices(self, tid):
        rng = self.rng
        for i in range(rng.choice((1, 3, 6, 12, 25))):
            start = self.time()
            length = rng.choice((0, 1, 2, rng.randrange(self.span), rng.randrange(self.span))) * self.unit
            name = f'"name": "s{i}"'
            if rng.random() < 0.02:
                length = -length
            category = rng.choice(('"cat": "kernel"', '"cat": "cpu_op"', '"args": {"n": 1.50}'))
            if rng.random() < 0.02:
                self.add("X", tid, start, name)
            else:
                self.add("X", tid, start, f'"dur": {text_of(rng, length, self.decimals)}', name, category)

    def pairs(self, tid, time, depth):
        """Begin/end pairs, nested, in the order of time; now and then one without the other."""
        rng = self.rng
        for _ in range(rng.choice((1, 2, 3))):
            time += rng.choice((0, 0, 1, 2, 5)) * self.unit
            if rng.random() < 0.97:
                self.add("B", tid, time, '"name": "b"')
            if depth and rng.random() < 0.7:
                time = self.pairs(tid, time, depth - 1)
            time += rng.choice((0, 1, 1, 3, 9)) * self.unit
            if rng.random() < 0.97:
                self.add("E", tid, time, '"args": {"e": [1]}')
        return time

    def flows(self, tid):
        rng = self.rng
        for i in range(rng.choice((0, 2, 8))):
            ph = rng.choice("sttff")
            self.add(ph, tid, self.time(), f'"id": {i}', '"name": "flow"', *(['"bp": "e"'] if ph != "s" and rng.random() < 0.5 else []))

    def make(self):
        rng = self.rng
        for n in range(rng.choice((1, 1, 2, 3))):
            tid = rng.choice((str(n + 7), str(n + 7), f'"stream {n}"', str(7000 + n), "0", "-3", '"7"', "9007199254740993"))
            kind = rng.random()
            if kind < 0.7:
                self.slices(tid)
            if kind > 0.5:
                self.pairs(tid, self.base, rng.choice((0, 2, 3)))
            self.flows(tid)
            if rng.random() < 0.3:
                self.add("i", tid, self.time(), '"s": "t"')
            if rng.random() < 0.3:
                self.add("M", tid, 0, '"name": "thread_name"', '"args": {"name": "a \\"name\\""}')
        order = rng.random()
        if order < 0.6:
            self.events.sort(key=lambda event: event[:2])
        elif order < 0.7 and self.unit >= 1000 * PS:  # begins and ends within a nanosecond are paired as they stand
            rng.shuffle(self.events)
        elif self.unit < 1000 * PS:
            self.events.sort(key=lambda event: event[:2])
        return [text for _, _, text in self.events]


def document(rng, pids):
    base = rng.choice((0, 0, 1000000000, 1700000000000000000000, -5000000))
    events = [text for pid in range(pids) for text in Trace(rng, pid, base).make()]
    separator = rng.choice((",\n", ",\n  ", ",", ", ", "\n ,\n"))
    before, behind = rng.choice((('{"traceEvents": [\n  ', '\n]}\n'), ("[", "]"), ('{"traceEvents":[', '],"otherData":{"a":1}}')))
    return before + separator.join(events) + behind


def compare_check(heddle, path, pairs):
    """heddle check names the tracks on which slices cross, and no others."""
    result = subprocess.run([heddle, "check", "--json", str(path)], capture_output=True)
    found = {(row["pid"], row["tid"]) for row in json.loads(result.stdout) if row["code"] == "crossing"}
    expected = {outer.track for outer, _ in pairs}
    require(found == expected, "check finds crossings on", sorted(found - expected), "and none on", sorted(expected - found))


def check(heddle, rng, pids, work, seed):
    source, fixed, again = work / "in.json", work / "fixed.json", work / "again.json"
    source.write_text(document(rng, pids))
    threshold = rng.choice(THRESHOLDS_US)
    report = fix(heddle, source, fixed, "--snap-threshold-us", threshold)
    old, new = parse(source.read_bytes()), parse(fixed.read_bytes())
    require(new is not None, "the result is not valid JSON")
    before, after = events_of(old), events_of(new)
    counts = compare_events(before, after, int(float(threshold) * 1000000))
    compare_check(heddle, source, crossings(by_track(slices_of(before))))
    compare_check(heddle, fixed, [])
    subprocess.run([heddle, "convert", "-q", "--fix", "--snap-threshold-us", threshold, str(source), str(again)], check=True)
    written = slices_of(events_of(parse(again.read_bytes())))
    require(not any(crossings(by_track(written))), "convert --fix writes slices that cross")
    stated = re.search(r"could not keep (\d+) flow", report)
    allowed = int(stated.group(1)) if stated else 0
    lost = [i for i in counts["lost"]]
    require(len(lost) <= allowed, f"threshold {threshold}:", len(lost), "flow points bound elsewhere,", allowed, "stated, the first:",
            before[lost[0]] if lost else "", after[lost[0]] if lost else "")
    fix(heddle, fixed, again, "--snap-threshold-us", threshold)
    require(again.read_bytes() == fixed.read_bytes(), "fixing the fixed trace changes it")
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--rounds", type=int, default=rounds(20))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pids", type=int, default=TRACES_A_FILE)
    parser.add_argument("--keep", type=Path, help="where to leave the input of a failure")
    args = parser.parse_args()
    sums, failed = {}, 0
    with tempfile.TemporaryDirectory(prefix="heddle-fix-") as work:
        for seed in range(args.seed, args.seed + args.rounds):
            try:
                for key, value in check(args.heddle, random.Random(seed), args.pids, Path(work), seed).items():
                    sums[key] = sums.get(key, 0) + (len(value) if key == "lost" else value)
            except Failure as failure:
                failed += 1
                print(f"FAILED seed {seed} (--seed {seed} --rounds 1 --pids {args.pids}): {failure}", flush=True)
                if args.keep:
                    args.keep.write_bytes((Path(work) / "in.json").read_bytes())
    print(f"{args.rounds * args.pids} traces, {failed} failed:", ", ".join(f"{value} {key}" for key, value in sums.items()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
