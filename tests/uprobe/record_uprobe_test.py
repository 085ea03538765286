#!/usr/bin/python3
"""heddle record --uprobe, and the join of its stacks with a GPU trace of the same run.

usage: tests/uprobe/record_uprobe_test.py --heddle PROGRAM --program PROGRAM [-v] [TEST...]

The GPU trace is made here, of the calls that were traced: no GPU is needed. Tests of real probes are skipped where the
machine allows none.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
from patience import patience  # noqa: E402

PATHS = argparse.Namespace()
LAUNCH = "libuprobe_library.so:launch_kernel"


class Uprobe(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="heddle-uprobe-"))
        self.addCleanup(shutil.rmtree, self.dir, True)

    def heddle(self, *words):
        done = subprocess.run([str(PATHS.heddle), *map(str, words)], cwd=self.dir, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=patience(600))
        return done.returncode, done.stdout, done.stderr

    def record(self, *words, program=("run", 2, 1, 25)):
        """With stacks so small that all of them fit into the ring of one CPU, of 2 MiB at least: none is lost."""
        size = () if "none" in words else ("--uprobe-stack-bytes", 4096)
        status, out, err = self.heddle("record", "-o", "out.heddle", *size, *words, "--", PATHS.program, *program)
        if "not allowed" in err or "kernel has no" in err:
            self.assertEqual(status, 1, "the program runs, and there is no trace: " + err)
            self.skipTest(err.strip())
        self.assertEqual(status, 0, err)
        return err

    def trace(self, name):
        status, out, err = self.heddle("convert", name, "-", "--to", "chrome")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def test_the_trace_has_every_call_with_its_stack(self):
        err = self.record("--uprobe", LAUNCH)
        self.assertIn("300 calls of 1 function, 300 stacks", err)
        events = self.trace("out.heddle")["traceEvents"]
        samples = [e for e in events if e["ph"] == "P"]
        self.assertEqual(len(samples), 300)
        self.assertEqual(len([e for e in events if e["ph"] == "i" and e["name"] == "launch_kernel"]), 300)
        threads = {(e["pid"], e["tid"]) for e in samples}
        self.assertEqual(len(threads), 6)
        self.assertEqual(len({pid for pid, _ in threads}), 2)
        self.assertFalse((self.dir / "out.heddle.parts").exists())

    def test_the_processes_that_are_said_are_those_of_the_trace(self):
        for children in (0, 4):
            summary = json.loads(self.record("--uprobe", LAUNCH, "--json", program=("run", 0, children, 5)))
            pids = {e["pid"] for e in self.trace("out.heddle")["traceEvents"] if e["ph"] == "P"}
            self.assertEqual((summary["processes"], len(pids)), (children + 1, children + 1))

    def test_returns_make_slices(self):
        self.record("--uprobe", LAUNCH, "--uprobe-return", "--uprobe-stacks", "none")
        events = self.trace("out.heddle")["traceEvents"]
        self.assertEqual(len([e for e in events if e["ph"] == "X" and e["name"] == "launch_kernel"]), 300)
        self.assertEqual(len([e for e in events if e["ph"] == "P"]), 0)

    def test_a_library_that_is_loaded_late_is_said_to_miss_calls(self):
        self.assertNotIn("missing", self.record("--uprobe", LAUNCH))
        shutil.copy(PATHS.program.parent / "libuprobe_library.so", self.dir)
        err = self.record("--uprobe", LAUNCH, program=("load", self.dir / "libuprobe_library.so", "launch_kernel", 3))
        self.assertIn("1 function is in libraries loaded while the program ran: calls before the probes were set may be "
                      "missing", err)

    def gpu_trace(self, lines):
        """A kernel for each call, 5 us later, launched by a slice of the thread that called, on a clock of its own."""
        events = []
        for i, line in enumerate(lines):
            time, _, pid, tid, _, _ = line.split(" ", 5)
            us = (int(time) + 3_000_000_000) / 1000
            name = "one" if "way_one" in line else "two"
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": int(pid),
                           "tid": int(tid), "ts": us - 0.2, "dur": 1.5, "args": {"correlation": i + 1}})
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": us + 5, "dur": 1,
                           "args": {"correlation": i + 1, "device": 0, "stream": 7}})
        (self.dir / "gpu.json").write_text(json.dumps({"traceEvents": events}))

    def joined(self, stacks):
        status, out, err = self.heddle("merge", "--cpu", stacks, "--gpu", "gpu.json", "-o", "joined.folded", "-w", "count",
                                       "--strict")
        self.assertEqual(status, 0, err)
        return [line.rsplit(" ", 1) for line in (self.dir / "joined.folded").read_text().splitlines()]

    def test_stacks_join_the_kernels_that_their_calls_launched(self):
        self.record("--uprobe", LAUNCH, "--folded", "calls.folded", "--keep", program=("slowly", 200))
        lines = (self.dir / "calls.folded").read_text().splitlines()
        self.assertEqual(len(lines), 400)
        self.gpu_trace(lines)
        has_names = {"calls.folded"}
        if "built without libdw" not in self.heddle("symbolize", "out.heddle")[1]:
            has_names.add("out.heddle")
        for stacks in ("calls.folded", next((self.dir / "out.heddle.parts").glob("*.hdcap")), "out.heddle"):
            found = {"one": 0, "two": 0}
            for stack, count in self.joined(stacks):
                kernel = stack.rsplit("]", 1)[1]
                if stacks in has_names:
                    self.assertIn("way_" + kernel, stack)
                self.assertIn("launch_kernel", stack)
                found[kernel] += int(count)
            self.assertEqual(found, {"one": 200, "two": 200}, stacks)

    def test_functions_of_python_have_names_where_perf_has_them(self):
        ask = "import sysconfig, sys; sys.exit(not sysconfig.get_config_var('PY_HAVE_PERF_TRAMPOLINE'))"
        if subprocess.run([sys.executable, "-c", ask]).returncode:
            self.skipTest("needs Python 3.12 or later with perf's trampolines")
        (self.dir / "app.py").write_text("import os\ndef launch(): os.getppid()\ndef inner(): list(map(other, [0]))\n"
                                         "def other(_): launch()\nfor _ in range(9): inner()\n")
        status, _, err = self.heddle("record", "-o", "out.heddle", "--uprobe", "libc.so.6:getppid", "--",
                                     sys.executable, "-X", "perf", "app.py")
        if "not allowed" in err or "kernel has no" in err:
            self.skipTest(err.strip())
        self.assertEqual(status, 0, err)
        if "addresses" in err and "built without libdw" in err:
            self.skipTest(err.strip())
        folded = self.heddle("flame", "--of", "samples", "out.heddle")[1]
        for name in ("inner", "other", "launch"):
            self.assertIn(f"{name} (", folded)

    # ---- a program that runs already ----

    def running(self, *program):
        process = subprocess.Popen([PATHS.program, *map(str, program)], stdin=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def attach(self, pid, *words):
        heddle = subprocess.Popen(
            list(map(str, [PATHS.heddle, "record", "-o", "out.heddle", "--pid", pid, "--uprobe-stack-bytes", 4096, *words])),
            cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(heddle.kill)
        end = time.monotonic() + patience(60)
        # Probes are set once the capture is there.
        while heddle.poll() is None and not list(self.dir.glob("out.heddle.parts/uprobe-*.hdcap")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        if heddle.poll() is not None:
            err = heddle.communicate()[1]
            if "not allowed" in err or "kernel has no" in err:
                self.skipTest(err.strip())
            self.fail(err)
        time.sleep(0.5)
        return heddle

    def ends(self, heddle):
        _, err = heddle.communicate(timeout=patience(120))
        self.assertEqual(heddle.returncode, 0, err)
        self.assertFalse((self.dir / "out.heddle.parts").exists(), err)
        return err

    def check_attached(self, err, calls, pid):
        self.assertIn(f"{calls} calls of 1 function, {calls} stacks", err)
        events = self.trace("out.heddle")["traceEvents"]
        samples = [e for e in events if e["ph"] == "P"]
        self.assertEqual([{e["pid"] for e in samples}, len(samples)], [{pid}, calls])
        names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
        self.assertIn(PATHS.program.name[:15], names)
        # Its mappings, of before the tracer, lead from the call to main and to the C library.
        folded = self.heddle("flame", "--of", "samples", "out.heddle")[1]
        if "built without libdw" not in err:
            self.assertRegex(folded, r"main.*launch_kernel")

    def test_a_program_that_runs_is_recorded_until_it_ends(self):
        program = self.running("wait", 150)
        heddle = self.attach(program.pid, "--uprobe", LAUNCH)
        program.communicate(b"\n")
        self.assertEqual(program.returncode, 0)
        self.check_attached(self.ends(heddle), 150, program.pid)

    def test_a_program_goes_on_when_its_recording_ends(self):
        for how in ("signal", "duration"):
            program = self.running("wait", 40)
            more = ("--duration", "1s") if how == "duration" else ()
            heddle = self.attach(program.pid, "--uprobe", LAUNCH, *more)
            if how == "signal":
                heddle.send_signal(signal.SIGINT)
            self.assertIn("0 calls", self.ends(heddle))
            self.assertIsNone(program.poll())
            program.communicate(b"\n")
            self.assertEqual(program.returncode, 0)
            (self.dir / "out.heddle").unlink()

    def test_what_cannot_be_attached_to_is_said(self):
        program = self.running("wait", 1)
        for words, status, part in ((("--pid", 4194000), 1, "there is no process"), (("--pid", program.pid, "true"), 2, "no command"),
                                    (("--pid", program.pid, "--memory"), 2, "cannot put into"),
                                    (("--pid", program.pid, "--library", "x.so"), 2, "--pid runs none"),
                                    (("--pid", program.pid, "--uprobe", "libuprobe_library.so:launch_kernal"), 1, "near: launch_kernel")):
            got, _, err = self.heddle("record", *words)
            self.assertEqual((got, part in err), (status, True), err)
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_a_name_that_is_wrong_is_told_before_the_program_runs(self):
        for spec, part in (("libuprobe_library.so:launch_kernal", "near: launch_kernel"), ("coda", "cuda and hip"),
                           ("libuprobe_librarx.so:f", "near: libuprobe_library.so")):
            status, out, err = self.heddle("record", "--uprobe", spec, "--", "touch", "it-ran")
            if "librar" in spec:
                status, out, err = self.heddle("record", "--uprobe", spec, "--", PATHS.program, "run", 0, 0, 0)
            self.assertEqual(status, 1, err)
            self.assertIn(part, err)
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_options_that_would_do_nothing_are_refused(self):
        for words in (("--folded", "a.folded"), ("--uprobe", "cuda", "--folded", "a.folded", "--no-stacks"),
                      ("--uprobe-return",), ("--uprobe-stacks", "frames"), ("--uprobe-stacks", "none"),
                      ("--uprobe-stack-bytes", 4096),
                      ("--uprobe", "cuda", "--uprobe-stack-bytes", 4097), ("--uprobe", "cuda", "--recover", "a.parts")):
            status, out, err = self.heddle("record", *words, "--", "true")
            self.assertEqual(status, 2, err)

    def test_strict_runs_nothing_if_the_tracer_cannot_begin(self):
        words = ("--strict", "--uprobe", "libc.so.6:getpid", "--folded", "missing/a.folded")
        status, out, err = self.heddle("record", *words, "--", "touch", "it-ran")
        self.assertEqual(status, 1, err)
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_as_nobody_the_program_runs_and_the_user_is_told_how(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become nobody")
        os.chmod(self.dir, 0o777)
        words = [str(PATHS.heddle), "record", "-o", "out.heddle", "--uprobe", "libc.so.6:getpid", "--", "echo", "ran"]
        done = subprocess.run(words, cwd=self.dir, capture_output=True, text=True, user=65534, group=65534,
                              extra_groups=[], timeout=patience(600))
        self.assertEqual(done.stdout, "ran\n")
        self.assertEqual(done.returncode, 1, done.stderr)
        if "kernel has no" not in done.stderr:
            self.assertIn("uprobes are not allowed here", done.stderr)
            self.assertIn("setcap", done.stderr)
        words.insert(2, "--strict")
        done = subprocess.run(words, cwd=self.dir, capture_output=True, text=True, user=65534, group=65534,
                              extra_groups=[], timeout=patience(600))
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", type=Path, required=True)
    parser.add_argument("--program", type=Path, required=True)
    args, rest = parser.parse_known_args()
    PATHS.heddle, PATHS.program = args.heddle.resolve(), args.program.resolve()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
