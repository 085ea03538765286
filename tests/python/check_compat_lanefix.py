"""heddle.compat.lanefix against trace-lanefix itself: the same report and the same slices.

trace-lanefix works with doubles; so figures are compared where all times are whole microseconds. It lists slices in the order
of the file, we list the largest shift first.
"""
import contextlib
import gzip
import importlib.util
import io
import json
import os
import random
import re
import sys
import tempfile
import unittest

import heddle
from heddle.compat.lanefix import SNAP_THRESHOLD_US, fix_overlaps

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from rounds import rounds, seed  # noqa: E402

DATA = os.path.join(os.path.dirname(__file__), "../../../shared/data")
HAS_ORIGINAL = importlib.util.find_spec("trace_lanefix") is not None
ROUNDS = rounds(40)
FIRST = seed(0)

KNOWN = [
    {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 10, "name": "a"},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 20, "name": "b"},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 24, "dur": 20, "name": "c"},
    {"ph": "X", "pid": 1, "tid": 7, "ts": 24, "dur": 20, "name": "k", "cat": "kernel"},
    {"ph": "X", "pid": 1, "tid": 7, "ts": 43.5, "dur": 20, "name": "k", "cat": "kernel"},
    {"ph": "X", "pid": 1, "tid": 8, "ts": 0, "dur": 10, "name": "d"},
    {"ph": "X", "pid": 1, "tid": 8, "ts": 8.75, "dur": 20, "name": "e"},
    {"ph": "s", "id": 3, "pid": 1, "tid": 1, "ts": 24, "cat": "ac2g", "name": "ac2g"},
    {"ph": "f", "bp": "e", "id": 3, "pid": 1, "tid": 7, "ts": 43.5, "cat": "ac2g", "name": "ac2g"},
]
REPORT = """processing 3 track(s)
  pid=1 tid=1: 2 lane(s), 1 slice(s) moved, 0 snapped
  pid=1 tid=7: 1 lane(s), 0 slice(s) moved, 1 snapped
  pid=1 tid=8: 1 lane(s), 0 slice(s) moved, 1 snapped
snapped 2 sub-5.0us crossing(s)
updated 3 slice(s): total |start shift|=1.750us, total |end shift|=0.000us, total |boundary shift|=1.750us
kernel timing summary (1 run(s) across 1 kernel name(s)):
  k: runs=1, total delayed=500ns, total trimmed=0.000us, total boundary shift=500ns, moved=0, snapped=1
moved slices (1):
  b pid=1: moved to lane 1 (tid 1 -> 1001)
snapped slices (1):
  e pid=1 tid=8: start delayed by 1.250us
rewrote 1 flow endpoint(s) onto rewritten slice starts/lanes
wrote OUT: 7 slices, 1 new lanes
"""


def printed(function, source, out, **options):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert function(source, out, **options) is None
    return text.getvalue().replace(out, "OUT")


def slices(path):
    """Every slice: lane, times, name; and the flow points."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    return sorted((str(e["ph"]), str(e["pid"]), str(e["tid"]), float(e["ts"]), float(e.get("dur", 0)), e["name"])
                  for e in events if e["ph"] in "Xsf")


def drawn(draw, tid, span):
    return {"ph": "X", "pid": 1, "tid": tid, "ts": draw.randrange(span), "dur": draw.randrange(1, 50),
            "name": f"s{draw.randrange(99)}", "cat": draw.choice(["kernel", "cpu_op"])}


def crossings(rows):
    """Pairs on one lane that overlap and do not nest; by trying all."""
    spans = [(row[:3], row[3], row[3] + row[4]) for row in rows if row[0] == "X"]
    return sum(a[0] == b[0] and a[1] < b[1] < a[2] < b[2] for a in spans for b in spans)


def counted(report):
    """Sums and sorted lines: the order of a list is each tool's own."""
    return sorted(report.splitlines())


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source, self.out, self.theirs = (os.path.join(folder.name, name) for name in ("in.json", "out.json", "theirs.json"))

    def write(self, events):
        with open(self.source, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)


class Known(Case):
    def test_report__is_that_of_trace_lanefix(self):
        self.write(KNOWN)
        self.assertEqual(printed(fix_overlaps, self.source, self.out), REPORT)
        self.assertIn(("f", "1", "7", 44.0, 0.0, "ac2g"), slices(self.out))

    def test_threshold__0_snaps_nothing(self):
        self.write(KNOWN)
        report = printed(fix_overlaps, self.source, self.out, snap_threshold_us=0)
        self.assertNotIn("snapped slices", report)
        self.assertIn("3 new lanes", report)
        self.assertEqual(SNAP_THRESHOLD_US, 5.0)

    def test_threshold__what_is_no_time_is_refused(self):
        for value in (-1, float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "snap_threshold_us is microseconds"):
                fix_overlaps(self.source, self.out, snap_threshold_us=value)

    def test_same_file__and_broken_json(self):
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(json.dumps({"traceEvents": KNOWN})[:-2])
        report = printed(fix_overlaps, self.source, self.source)
        self.assertIn("mended broken JSON in", report)
        self.assertEqual(len([row for row in slices(self.source) if row[0] == "X"]), 7)

    def test_errors__say_what_is_missing_and_leave_no_output(self):
        with self.assertRaises(heddle.Error):
            fix_overlaps(self.source, self.out)
        self.assertFalse(os.path.exists(self.out))


@unittest.skipUnless(HAS_ORIGINAL, "trace-lanefix is not installed (tests/peers.txt)")
class Original(Case):
    def both(self, **options):
        from trace_lanefix import fix_overlaps as original

        return printed(fix_overlaps, self.source, self.out, **options), printed(original, self.source, self.theirs, **options)

    def compare(self, **options):
        ours, theirs = self.both(**options)
        self.assertEqual(counted(ours), counted(theirs))
        self.assertEqual(slices(self.out), slices(self.theirs))

    def test_known(self):
        self.write(KNOWN)
        for threshold in (5.0, 0, 1.25, 1):
            self.compare(snap_threshold_us=threshold)

    def test_random__two_slices_of_a_track_are_repaired_alike(self):
        for round_ in range(FIRST, FIRST + ROUNDS):
            draw = random.Random(round_)
            with self.subTest(round_):
                self.write([drawn(draw, tid, 60) for tid in range(8) for _ in range(2)])
                self.compare(snap_threshold_us=draw.choice([0, 1, 3, 5.0, 20]))

    def test_random__of_many_no_more_are_moved(self):
        """Which slice gives way is each tool's choice. Ours must leave no crossing, lose nothing and move no more in sum."""
        moved = [0, 0]
        for round_ in range(FIRST, FIRST + ROUNDS):
            draw = random.Random(round_)
            with self.subTest(round_):
                self.write([drawn(draw, draw.randrange(3), 200) for _ in range(draw.randrange(60))])
                reports = self.both(snap_threshold_us=draw.choice([0, 1, 3, 5.0, 20]))
                moved = [sum_ + sum(map(int, re.findall(r"(\d+) slice\(s\) moved", report))) for sum_, report in zip(moved, reports)]
                rows = slices(self.out)
                self.assertEqual(sorted(row[5] for row in rows), sorted(row[5] for row in slices(self.source)))
                self.assertEqual(crossings(rows), 0)
        self.assertLessEqual(moved[0], moved[1])

    @unittest.skipUnless(os.path.isdir(DATA), "no real traces beside the repository")
    def test_real_traces__of_whole_microseconds(self):
        """Doubles cannot tell quarters of a microsecond apart there, so that times are compared by what they round to."""
        for name in ("kineto/negative_queue_rank0", "ranks/dlrm/rank0"):
            with self.subTest(name):
                self.unpack(name)
                ours, theirs = self.both()
                self.assertEqual(counted(ours), counted(theirs))
                rows, others = slices(self.out), slices(self.theirs)
                self.assertEqual([(*row[:3], row[5]) for row in rows], [(*row[:3], row[5]) for row in others])
                self.assertTrue(all(abs(row[i] - other[i]) <= 0.25 for row, other in zip(rows, others) for i in (3, 4)))

    @unittest.skipUnless(os.path.isdir(DATA), "no real traces beside the repository")
    def test_real_traces__lines_are_of_one_form(self):
        """Of fractions the figures differ, as theirs are doubles; whoever reads the lines finds the same words."""
        self.unpack("kineto/b200_eager")
        forms = [{re.sub(r"[\d.]+(ns|us)?", "#", line).split(": ")[-1] for line in report.splitlines()} for report in self.both()]
        self.assertEqual(forms[0] - forms[1], set())

    def unpack(self, name):
        with gzip.open(os.path.join(DATA, name + ".json.gz")) as packed, open(self.source, "wb") as file:
            file.write(packed.read())


if __name__ == "__main__":
    unittest.main()
