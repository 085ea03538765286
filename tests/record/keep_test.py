#!/usr/bin/python3
"""heddle record --keep-last: a flight recorder, on fake_cuda.

usage: tests/record/keep_test.py --heddle PROGRAM --tracer FILE --app PROGRAM [-v] [TEST...]

The program makes ticks, NVTX ranges numbered from 1 with five kernels each, and counts what it emits itself
(fake_cuda/emitted.h). So the last ticks, and the number of kernels that aged out, are known without the trace.
"""
import argparse
import csv
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PATHS = argparse.Namespace()
SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(1, str(SOURCE / "tests"))
from patience import patience  # noqa: E402

TIMEOUT_S = patience(120)
KERNELS = 5
KEPT_S, TICK_S = 1, 0.05
# What the account of a program that ended by itself may not have.
LOSSES = "SELECT code, count FROM ledger WHERE level = 'loss'"


def ticks(count, first=1):
    return [word for i in range(first, first + count)
            for word in (f"push:tick_{i:05}", f"launch:{KERNELS}", "sync", f"sleep:{TICK_S * 1000:.0f}", "pop")]


class Keeping(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="heddle-keep-"))
        self.addCleanup(shutil.rmtree, self.dir, True)
        fake = PATHS.app.parent
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("HEDDLE_", "CUDA_", "NVTX_", "FAKE_"))}
        self.env.update(HEDDLE_CUDA_LIBRARY=str(PATHS.tracer), HEDDLE_CUPTI=str(fake / "libcupti.so.13"),
                        LD_LIBRARY_PATH=str(fake), FAKE_APP_COUNTS=str(self.dir / "counts"))

    def start(self, *words, options=()):
        process = subprocess.Popen(
            [PATHS.heddle, "record", "--keep-last", f"{KEPT_S}s", *options, "-o", "out.heddle", "--", PATHS.app, "pid", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.dir, env=self.env)
        self.addCleanup(process.kill)
        self.pid = int(process.stdout.readline())
        return process

    def end(self, process, status=0):
        _, err = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, status, err)
        return err

    def heddle(self, *words):
        done = subprocess.run([PATHS.heddle, *words], cwd=self.dir, env=self.env, capture_output=True, text=True,
                              timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def rows(self, query, trace="out.heddle"):
        return list(csv.reader(self.heddle("query", "-f", "csv", trace, query).splitlines()))[1:]

    def numbers(self, query, trace="out.heddle"):
        return [int(value) for value in self.rows(query, trace)[0]]

    def ticks_in(self, trace="out.heddle"):
        return [int(name[5:]) for name, in self.rows("SELECT name FROM slice WHERE name GLOB 'tick_*' ORDER BY ts", trace)]

    def emitted_kernels(self):
        return struct.unpack("<4Q", (self.dir / "counts").read_bytes())[1]

    def until(self, condition, what):
        end = time.monotonic() + TIMEOUT_S
        while not (got := condition()):
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)
        return got

    def parts(self):
        return sorted((self.dir / "out.heddle.parts").glob("*.hdcap*"))

    # ---- what is kept ----

    def check_last(self, trace, last, longest=KEPT_S * 1.25 + 3 * TICK_S):
        """The last ticks and no others, each with its kernels; as long as they should be, on a machine of any speed."""
        shown = self.ticks_in(trace)
        self.assertEqual(shown, list(range(last - len(shown) + 1, last + 1)))
        start, end = self.numbers("SELECT ts, ts + dur FROM slice WHERE category = 'capture'", trace)
        self.assertGreaterEqual(end - start, KEPT_S * 1e9 - TICK_S * 1e9)
        slowest, = self.numbers("SELECT max(dur) FROM slice WHERE name GLOB 'tick_*'", trace)
        self.assertLess(end - start, longest * 1e9 + 4 * (slowest - TICK_S * 1e9))
        per_tick = self.rows(
            "SELECT count(*) FROM slice t JOIN slice k ON k.category = 'kernel' AND k.ts >= t.ts AND k.ts < t.ts + t.dur "
            "WHERE t.name GLOB 'tick_*' GROUP BY t.name", trace)
        self.assertEqual(per_tick, [[str(KERNELS)]] * len(shown))
        return shown

    def test_the_last_ticks_are_kept_with_names_and_stacks_and_all_others_are_counted(self):
        sizes, names = [], []
        process = self.start(*ticks(100))
        while process.poll() is None:
            here = []
            for path in self.parts():
                try:
                    here.append((path.name, path.stat().st_size))
                except FileNotFoundError:
                    pass
            sizes.append(sum(size for _, size in here))
            names.append(sum(".k" in name for name, _ in here))
            time.sleep(0.05)
        self.end(process)
        self.check_last("out.heddle", 100)
        self.assertEqual(self.rows(LOSSES), [])
        # Everything that was emitted is in the trace or counted.
        aged, = self.numbers("SELECT count FROM ledger WHERE code = 'capture.aged-out'")
        whole = subprocess.run(
            [PATHS.heddle, "record", "-o", "whole.heddle", "--", PATHS.app, "pid", *ticks(100)], cwd=self.dir,
            env=self.env, capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        count = "SELECT count(*) FROM slice WHERE category <> 'capture'"
        ends = "SELECT count(*) FROM slice WHERE name GLOB 'tick_*'"  # a range is two events
        shown, all_ = (self.numbers(count, t)[0] + self.numbers(ends, t)[0] for t in ("out.heddle", "whole.heddle"))
        self.assertEqual(shown + aged, all_)
        # Each launch has its stack.
        events = [e for e in json.loads(self.heddle("convert", "out.heddle", "-"))["traceEvents"] if e.get("ph") == "X"]
        launches = [e for e in events if e["name"] == "cuLaunchKernel"]
        self.assertEqual([e for e in launches if "sf" not in e], [])
        self.assertEqual(len(launches), self.numbers("SELECT count(*) FROM slice WHERE name = 'cuLaunchKernel'")[0])
        # The disk is bounded: five segments, and what is written once does not grow.
        self.assertLessEqual(max(names), 6)  # one is removed just after the next was made
        half = len(sizes) // 2
        self.assertLess(max(sizes[half:]), 1.5 * max(sizes[half // 2:half]) + 4096)

    def test_a_short_run_is_kept_whole(self):
        self.end(self.start(*ticks(8)))
        self.assertEqual(self.ticks_in(), list(range(1, 9)))
        self.assertEqual(self.rows("SELECT 1 FROM slice WHERE category = 'capture'"), [])
        self.assertEqual(self.rows("SELECT 1 FROM ledger WHERE code = 'capture.aged-out'"), [])
        self.assertEqual(self.rows(LOSSES), [])

    def test_a_killed_program_leaves_its_last_ticks(self):
        process = self.start(*ticks(60), "touch:killed", *ticks(200, 61))
        self.until((self.dir / "killed").exists, "the sixtieth tick")
        os.kill(self.pid, signal.SIGKILL)
        self.end(process, 137)
        shown = self.ticks_in()
        self.assertGreaterEqual(len(shown), KEPT_S / TICK_S / 2)
        self.assertEqual(shown, list(range(shown[0], shown[0] + len(shown))))
        kernels, = self.numbers("SELECT count(*) FROM slice WHERE category = 'kernel'")
        due = [int(count) for _, count in self.rows(LOSSES + " AND code = 'session.not-delivered'")]
        self.assertGreaterEqual(kernels + sum(due), KERNELS * (len(shown) - 2))
        losses = {code for code, _ in self.rows(LOSSES)} - {"session.not-delivered"}
        self.assertEqual(losses, set())
        self.assertFalse((self.dir / "out.heddle.parts").exists())

    def test_a_child_of_fork_keeps_its_own_last_ticks(self):
        child = "+".join(f"push=c{i}+sleep=250+pop" for i in range(9))
        self.end(self.start("push:parent", "pop", f"fork:{child}", *ticks(4)))
        shown = [int(name[1:]) for name, in self.rows("SELECT name FROM slice WHERE name GLOB 'c[0-9]' ORDER BY ts")]
        self.assertEqual(shown, list(range(9 - len(shown), 9)))
        self.assertTrue(3 <= len(shown) <= 7, shown)
        self.assertEqual(self.rows(LOSSES), [])

    def test_time_that_aged_out_is_not_idle(self):
        # Busy ticks, a long pause, busy ticks again: of the pause only what is kept may count.
        self.end(self.start(*ticks(10), "sleep:1500", *ticks(60, 11)))
        self.check_last("out.heddle", 70)
        kept, = self.numbers("SELECT dur FROM slice WHERE category = 'capture'")
        span, busy = self.numbers("SELECT max(ts + dur) - min(ts), sum(dur) FROM slice WHERE category = 'kernel'")
        summary = json.loads(self.heddle("report", "summary", "out.heddle", "--json"))
        breakdown, = summary["breakdown"]
        self.assertEqual((breakdown["span"], breakdown["idle"]), (span, span - busy))
        self.assertEqual(sum(row["total"] for row in summary["idle"]), span - busy)
        self.assertLessEqual(span, kept)

    def test_nodes_of_a_graph_that_was_made_before_have_their_stacks(self):
        self.end(self.start("pause:50", "graph:4:60"))
        aged, = self.numbers("SELECT count FROM ledger WHERE code = 'capture.aged-out'")
        self.assertGreater(aged, 0)
        events = json.loads(self.heddle("convert", "out.heddle", "-"))["traceEvents"]
        kernels = [e for e in events if e.get("cat") == "kernel"]
        self.assertGreater(len(kernels), 4 * KEPT_S / TICK_S / 2)
        self.assertEqual([e for e in kernels if "sf" not in e], [])

    def test_of_processes_that_ended_too_long_ago_nothing_is_left(self):
        process = self.start("push:parent", "pop", *[w for i in range(3) for w in (f"fork:push=c{i}+pop", "sleep:1500")],
                             "fork:push=last+pop", "sleep:10")
        err = self.end(process)
        shown = {name for name, in self.rows("SELECT name FROM slice WHERE category = 'user_annotation'")}
        self.assertEqual(shown & {"parent", "last", "c0"}, {"parent", "last"})
        self.assertRegex(err, "[1-3] captures? of processes that ended before the time that is kept")

    def test_ranges_that_began_before_are_not_shown(self):
        self.end(self.start("push:long", *[w for _ in range(40) for w in ("push:short", f"sleep:{TICK_S * 1000:.0f}", "pop")],
                            "pop", "push:after", "pop"))
        names = dict(self.rows("SELECT name, count(*) FROM slice WHERE category = 'user_annotation' GROUP BY name"))
        self.assertEqual(sorted(names), ["after", "short"])
        self.assertEqual(self.rows("SELECT 1 FROM slice WHERE dur < 0"), [])

    # ---- writing out ----

    def wrote(self, process, count):
        """heddle's messages until it has written so many traces."""
        text = ""
        for line in process.stderr:
            text += line
            if len(re.findall("^heddle: wrote out.[0-9]+.heddle", text, re.M)) == count:
                return text
        self.fail(text)

    def trigger(self, pid, *words):
        return json.loads(self.heddle("--json", "trigger", str(pid), *words))

    def test_triggers_write_what_is_kept_and_recording_goes_on(self):
        process = self.start(*ticks(40), "wait", *ticks(40, 41), "wait", *ticks(40, 81))
        for number, last in ((1, 40), (2, 80)):
            trace = self.dir / f"out.{number}.heddle"
            self.until(lambda: self.waits(self.pid), "the program waits")
            self.trigger(self.pid if number == 1 else process.pid)
            self.until(trace.exists, trace)
            self.until(lambda: not (self.dir / f"{trace.name}.parts").exists(), "the copy is removed")
            self.check_last(trace.name, last)
            self.assertEqual(self.rows(LOSSES, trace.name), [])
            process.stdin.write("x")
            process.stdin.flush()
        err = self.end(process)
        self.assertEqual(len(re.findall(r"wrote out\.[12]\.heddle: .*heddle trigger", err)), 2, err)
        self.check_last("out.heddle", 120)
        self.assertEqual(self.rows(LOSSES), [])

    def waits(self, pid):
        """In read(0)."""
        try:
            return Path(f"/proc/{pid}/syscall").read_text().startswith("0 0x0 ")
        except OSError:
            return False

    def test_signals_to_heddle_and_to_the_program_write_it(self):
        process = self.start(*ticks(30), "wait", *ticks(2, 31), "wait")
        for number, pid in ((1, process.pid), (2, self.pid)):
            self.until(lambda: self.waits(self.pid), "the program waits")
            os.kill(pid, signal.SIGUSR2)
            self.until((self.dir / f"out.{number}.heddle").exists, "a trace")
            process.stdin.write("x")
            process.stdin.flush()
        err = self.end(process)
        self.assertEqual(len(re.findall("SIGUSR2", err)), 2, err)
        self.check_last("out.1.heddle", 30)
        self.check_last("out.2.heddle", 32, longest=KEPT_S * 2 + 3 * TICK_S + TIMEOUT_S)

    def test_a_stall_writes_it_once_and_what_happened_before_is_kept(self):
        process = self.start(*ticks(40), "wait", *ticks(30, 41), options=("--on-stall", "1s"))
        self.until((self.dir / "out.1.heddle").exists, "a trace")
        time.sleep(1.5)  # in which it would be written again
        self.check_last("out.1.heddle", 40)
        process.stdin.write("x")
        process.stdin.flush()
        err = self.end(process)
        self.assertEqual(len(re.findall("wrote out.[0-9]+.heddle: .*stall", err)), 1, err)
        self.check_last("out.heddle", 70)

    def test_a_trigger_that_would_end_the_capture_is_refused(self):
        process = self.start("launch:1", "sync", "wait")
        self.until(lambda: self.waits(self.pid), "the program waits")
        for words in (("stop",), ("start", "--duration", "5s")):
            done = subprocess.run([PATHS.heddle, "trigger", str(self.pid), *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, "has no end" in done.stdout), (1, True), done)
        process.stdin.write("x")
        self.end(process)
        self.assertEqual(list(self.dir.glob("out.*.heddle")), [])

    def test_killed_with_heddle_the_folder_makes_the_trace(self):
        process = self.start(*ticks(60), "touch:killed", *ticks(200, 61))
        self.until((self.dir / "killed").exists, "the sixtieth tick")
        process.kill()
        os.kill(self.pid, signal.SIGKILL)
        process.communicate(timeout=TIMEOUT_S)
        self.heddle("record", "--recover", "out.heddle.parts", "-o", "recovered.heddle")
        shown = self.ticks_in("recovered.heddle")
        self.assertEqual(shown, list(range(shown[0], shown[0] + len(shown))))
        self.assertTrue(KEPT_S / TICK_S / 2 < len(shown) < 60, shown)

    def test_options_that_contradict_it_are_refused(self):
        for words in (["--budget", "1%"], ["--trigger"], ["--steps", "1:2"], ["--duration", "1s"], ["--memory"], ["--kernel"]):
            done = subprocess.run([PATHS.heddle, "record", "--keep-last", "2s", *words, "true"], capture_output=True, text=True)
            self.assertEqual((done.returncode, words[0] in done.stderr), (2, True), done)
        for words in (["--keep-last", "1ms"], ["--keep-last", "50%"], ["--on-stall", "60s"], ["--keep-last", "25h"]):
            done = subprocess.run([PATHS.heddle, "record", *words, "true"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done)


def main():
    parser = argparse.ArgumentParser()
    for name in ("heddle", "tracer", "app"):
        parser.add_argument(f"--{name}", type=lambda p: Path(p).resolve(), required=True)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args(namespace=PATHS)
    unittest.main(argv=[sys.argv[0], *args.tests], verbosity=2 if args.verbose else 1)


if __name__ == "__main__":
    main()
