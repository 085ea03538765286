#!/usr/bin/python3
"""heddle record, with record_child in the place of a CUDA program, and with the injected tracer on fake_cuda.

usage: tests/record/record_test.py --heddle PROGRAM --child PROGRAM --library FILE --tracer FILE --app PROGRAM [-v] [TEST...]

Each test runs in a folder of its own.
"""
import argparse
import collections
import json
import os
import pty
import random
import resource
import select
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
import rounds  # noqa: E402

TIMEOUT_S = patience(600)


class Recording(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="heddle-record-"))
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("HEDDLE_", "CUDA_", "NVTX_"))}
        self.env["HEDDLE_CUDA_LIBRARY"] = str(PATHS.library)

    def start(self, *words, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("cwd", self.dir)
        more.setdefault("env", self.env)
        return subprocess.Popen([str(PATHS.heddle), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **more)

    def heddle(self, *words, **more):
        text = more.pop("input", None)
        if text is not None:
            more["stdin"] = subprocess.PIPE
        process = self.start(*words, **more)
        out, err = process.communicate(text, timeout=TIMEOUT_S)
        return process.returncode, out, err

    def record(self, *child, options=(), **more):
        """heddle record -o out.heddle OPTIONS -- record_child CHILD…"""
        return self.heddle("record", "-o", "out.heddle", *options, "--", PATHS.child, *child, **more)

    def trace(self, name="out.heddle"):
        status, out, err = self.heddle("convert", name, "-")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def kernels(self, name="out.heddle"):
        return [e for e in self.trace(name)["traceEvents"] if e.get("cat") == "kernel"]

    def files(self):
        return sorted(str(p.relative_to(self.dir)) for p in self.dir.rglob("*"))

    def ready(self, process):
        self.assertEqual(process.stdout.readline(), "ready\n")

    # ---- the command is as it would be alone ----

    def test_exit_status_and_standard_streams_are_the_commands(self):
        status, out, err = self.heddle("record", "-o", "out.heddle", "--", "sh", "-c",
                                       "cat; echo to stderr >&2; exit 7", input="text\n")
        self.assertEqual((status, out), (7, "text\n"))
        self.assertIn("to stderr\n", err)

    def test_exit_status_2_is_no_usage_error(self):
        status, _, err = self.record("work", 1, "finish", "exit", 2)
        self.assertEqual(status, 2)
        self.assertNotIn("Try", err)

    def test_a_killed_command_gives_128_and_the_signal(self):
        self.assertEqual(self.record("work", 3, "die", 9)[0], 137)
        self.assertEqual(len(self.kernels()), 3)

    def test_arguments_behind_the_command_are_its_own(self):
        status, out, err = self.heddle("record", "-o", "out.heddle", "echo", "--help", "-q", "--", "x")
        self.assertEqual((status, out), (1, "--help -q -- x\n"), err)

    def test_signals_of_the_command_are_as_they_were(self):
        script = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"
        for ignored in ("", "trap '' HUP PIPE CHLD INT; "):
            alone = subprocess.run(["sh", "-c", f"{ignored}exec {script}"], capture_output=True, text=True)
            inside = subprocess.run(["sh", "-c", f"{ignored}exec {PATHS.heddle} record -o x.heddle -- {script}"
                                     .replace("'^Sig(Blk|Ign|Cgt)'", "'^Sig(Blk|Ign|Cgt)'")],
                                    capture_output=True, text=True, cwd=self.dir, env=self.env)
            self.assertEqual(inside.stdout, alone.stdout, inside.stderr)

    def test_no_descriptor_leaks_into_the_command(self):
        alone = subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True)
        status, out, _ = self.heddle("record", "-o", "out.heddle", "--", "ls", "/proc/self/fd")
        self.assertEqual(out, alone.stdout)

    def test_a_command_that_is_not_there_gives_127_and_leaves_nothing(self):
        for name in ("no-such-command-here", "./not/here"):
            status, out, err = self.heddle("record", "-o", "out.heddle", "--", name)
            self.assertEqual((status, out, self.files()), (127, "", []), err)
            self.assertIn(name, err)

    def test_a_command_that_cannot_be_executed_gives_126(self):
        (self.dir / "data").write_text("x")
        status, _, err = self.heddle("record", "-o", "out.heddle", "--", "./data")
        self.assertEqual((status, self.files()), (126, ["data"]), err)
        self.assertIn("Permission denied", err)

    # ---- signals ----

    def test_a_signal_sent_to_heddle_reaches_the_command_and_the_trace_is_made(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start("record", "-o", "out.heddle", "--", PATHS.child, "handler", "work", 4, "ready", "sleep",
                                 3600000)
            self.ready(process)
            process.send_signal(number)
            out, err = process.communicate(timeout=TIMEOUT_S)
            self.assertEqual((process.returncode, out), (40 + number, f"caught {number:02}\n"), err)
            self.assertEqual(len(self.kernels()), 4)

    def test_sigusr2_goes_on_to_the_command_and_nobody_ends(self):
        process = self.start("record", "-o", "out.heddle", "--", PATHS.child, "handler", "ready", "caught", "exit", 5)
        self.ready(process)
        process.send_signal(signal.SIGUSR2)
        out, err = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual((process.returncode, out), (5, "caught 12\n"), err)

    def shell(self, after_stop):
        """In the terminal, as a shell: heddle in a process group of its own. Never returns."""
        words = ["record", "-o", "out.heddle", "--", str(PATHS.child), "handler", "work", "2", "ready", "sleep", "3600000"]
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.chdir(self.dir)
            os.execve(PATHS.heddle, ["heddle", *words], self.env)
        while True:
            status = os.waitpid(job, os.WUNTRACED)[1]
            if not os.WIFSTOPPED(status):
                os._exit(os.waitstatus_to_exitcode(status) & 0xff)
            after_stop(job)
            os.killpg(job, signal.SIGCONT)

    def in_terminal(self, keys, after_stop=None):
        """Run in a terminal, type each of `keys` when its text appears. The exit status and what was printed."""
        pid, terminal = pty.fork()
        if pid == 0:
            self.shell(after_stop)
        text, end = b"", time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    text += os.read(terminal, 4096)
                except OSError:
                    break
            if keys and keys[0][0] in text:
                os.write(terminal, keys.pop(0)[1])
        status = os.waitpid(pid, 0)[1]
        os.close(terminal)
        return os.waitstatus_to_exitcode(status), text.decode()

    def test_ctrl_c_reaches_the_command_once(self):
        status, text = self.in_terminal([(b"ready", b"\x03")])
        self.assertEqual(status, 42, text)
        self.assertEqual(text.count("caught 02"), 1, text)
        self.assertEqual(len(self.kernels()), 2)

    def child_of(self, pid):
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    def stopped(self, pid):
        """The state that it comes to: T, if it stops in time."""
        state, end = "", time.monotonic() + TIMEOUT_S
        while state != "T" and time.monotonic() < end:
            time.sleep(0.01)
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return state

    def test_ctrl_z_stops_both_and_cont_goes_on(self):
        def after_stop(job):
            print(f"heddle stopped, the command is in {self.stopped(self.child_of(job))}.", flush=True)

        status, text = self.in_terminal([(b"ready", b"\x1a"), (b"stopped", b"\x03")], after_stop)
        self.assertIn("heddle stopped, the command is in T.", text)
        self.assertEqual((status, text.count("caught 02")), (42, 1), text)

    def test_a_stop_that_is_sent_to_heddle_goes_on_to_the_command(self):
        process = self.start("record", "-o", "out.heddle", "--", PATHS.child, "ready", "wait", "exit", 5,
                             stdin=subprocess.PIPE, process_group=0)
        self.ready(process)
        child = self.child_of(process.pid)
        process.send_signal(signal.SIGTSTP)
        self.assertEqual((self.stopped(process.pid), self.stopped(child)), ("T", "T"))
        process.send_signal(signal.SIGCONT)
        _, err = process.communicate("x", timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 5, err)

    # ---- what is captured ----

    def test_children_stand_in_the_trace_each_with_its_own_work(self):
        status, _, err = self.record("work", 10, "children", 3, "finish")
        self.assertEqual(status, 0, err)
        self.assertEqual(self.files(), ["out.heddle"])
        trace = self.trace()
        kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
        calls = {e["args"]["correlation"]: e for e in trace["traceEvents"] if e.get("cat") == "cuda_runtime"}
        self.assertEqual(len(kernels), 13)
        self.assertEqual(len(calls), 17)
        of_gpu = {}
        for kernel in kernels:
            launcher = calls[kernel["args"]["correlation"]]["pid"]
            self.assertEqual(of_gpu.setdefault(kernel["pid"], launcher), launcher)
        self.assertEqual(len(set(of_gpu.values())), 4)
        self.assertEqual(len(trace["processes"]), 4)
        self.assertIn("4 processes, 13 kernels, 4 copies, 17 launches, 4 ranges, 38 events", err)
        self.assertIn("40 calls of 500ns", err)

    def test_the_summary_as_json_is_one_object(self):
        status, _, err = self.record("work", 5, "finish", "exit", 3, options=["--json"])
        summary = json.loads(err)
        self.assertEqual(status, 3)
        for key, value in {"kernels": 5, "copies": 1, "launches": 6, "events": 13, "processes": 1, "callbacks": 10,
                           "callback_ns": 5000, "helper_cpu_ns": 7000, "exit_status": 3, "parts": None,
                           "lost": 0}.items():
            self.assertEqual(summary[key], value, key)
        self.assertEqual(summary["output_bytes"], (self.dir / "out.heddle").stat().st_size)
        self.assertGreater(summary["wall_ns"], 0)

    def test_an_overhead_that_was_not_measured_is_not_0(self):
        self.assertRegex(self.record("work", 5, "finish")[2], r"overhead: 5.000us in .*; 7.000us CPU time")
        self.assertRegex(self.record("work", 5)[2], r"overhead: at least 5.000us in .*; at least 7.000us CPU time")
        self.env["RECORD_CHILD_COSTS"] = '"callbacks": 0, "callbackNs": 0, "helperCpuNs": 0'
        err = self.record("work", 5, "finish")[2]
        self.assertIn("overhead in the program not measured; CPU time of other threads not measured", err)
        summary = json.loads(self.record("work", 5, "finish", options=["--json"])[2])
        self.assertEqual((summary["callback_ns"], summary["helper_cpu_ns"]), (None, None))

    def test_quiet_says_nothing_when_nothing_is_lost(self):
        self.assertEqual(self.record("work", 5, "finish", options=["-q"]), (0, "", ""))

    def test_the_environment_names_the_library_the_folder_and_the_options(self):
        names = ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "HEDDLE_CAPTURE_DIR", "HEDDLE_CAPTURE_OPTIONS"]
        words = [word for name in names for word in ("env", name)]
        _, out, _ = self.record(*words)
        library = str(PATHS.library.resolve())
        plain = "stacks=1,python=0,memory=0,graph=node,nvtx=1,trigger=0,delay_ms=0,duration_ms=0,policy=newest"
        self.assertEqual(out.split("\n")[:4], [library, library, str(self.dir / "out.heddle.parts"), plain])
        _, out, _ = self.record("env", names[3], options=[
            "--no-stacks", "--memory", "--graph", "whole", "--no-nvtx", "--trigger", "--delay", "1.5s", "--duration",
            "20ms", "--steps", "3:5", "--policy", "block"])
        self.assertEqual(out, "stacks=0,python=0,memory=1,graph=whole,nvtx=0,trigger=1,delay_ms=1500,duration_ms=20,"
                              "policy=block,steps=3:5\n")
        _, out, _ = self.record("env", names[3], options=["--budget", "0.5%", "--step-name", "batch"])
        self.assertIn("policy=newest,budget_ppm=5000,step_name=batch", out)
        _, out, _ = self.record("env", names[3], options=["--python"])
        self.assertIn("python=1", out)

    def test_another_injected_tool_is_named_and_replaced(self):
        self.env["CUDA_INJECTION64_PATH"] = "/opt/other.so"
        _, out, err = self.record("env", "CUDA_INJECTION64_PATH")
        self.assertEqual(out, str(PATHS.library.resolve()) + "\n")
        self.assertIn("CUDA_INJECTION64_PATH was /opt/other.so", err)

    def test_a_library_that_does_not_load_is_not_injected_and_said_once(self):
        bad = self.dir / "bad.so"
        bad.write_text("no ELF file")
        self.env["HEDDLE_CUDA_LIBRARY"] = str(bad)
        status, out, err = self.record("env", "CUDA_INJECTION64_PATH", "env", "NVTX_INJECTION64_PATH")
        self.assertEqual((status, out), (1, "(unset)\n(unset)\n"), err)
        self.assertEqual(err.count("does not load here"), 1, err)
        status, out, err = self.record("env", "HOME", options=["--strict"])
        self.assertEqual((status, out), (1, ""), err)
        self.assertEqual(err.count("does not load here"), 1, err)
        # what captures itself is captured all the same
        self.assertEqual(self.record("work", 2, "finish")[0], 0)
        self.assertEqual(len(self.kernels()), 2)

    def test_a_command_without_cuda_is_a_failed_recording_and_is_told_plainly(self):
        self.assertEqual(self.record("exit", 5)[0], 5)
        status, _, err = self.record("exit", 0)
        self.assertEqual((status, self.files()), (1, []), err)
        self.assertIn("nothing was captured, so out.heddle was not written: no process of the command used CUDA", err)

    @unittest.skipIf(os.path.exists("/proc/driver/nvidia/version"), "there is a driver here")
    def test_without_a_driver_it_is_said_why_and_what_to_do(self):
        status, _, err = self.record("exit", 7)
        said = [line for line in err.splitlines() if "CUDA cannot be captured here: no NVIDIA driver: " in line]
        self.assertEqual((status, len(said)), (7, 1), err)
        self.assertIn("a container needs --gpus all", said[0])
        status, out, err = self.record("ready", "exit", 7, options=["--strict", "--library", PATHS.library])
        self.assertEqual((status, out, self.files()), (1, "", []), err)
        self.assertEqual(err.count("CUDA cannot be captured here: no NVIDIA driver: "), 1, err)
        self.assertIn("the command was not run", err)

    def test_the_default_name_is_command_and_date(self):
        status, _, err = self.heddle("record", PATHS.child, "work", 1, "finish")
        self.assertEqual(status, 0, err)
        self.assertRegex("\n".join(self.files()), r"^record_child-\d{8}-\d{6}\.heddle$")

    def test_each_rank_of_a_launcher_has_a_file_of_its_own(self):
        for rank, launcher in ((0, ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")), (11, ("SLURM_PROCID", "SLURM_NTASKS"))):
            env = {**self.env, launcher[0]: str(rank), launcher[1]: "12"}
            status, _, err = self.heddle("record", PATHS.child, "work", 1, "finish", env=env)
            self.assertEqual(status, 0, err)
            self.assertRegex("\n".join(self.files()), rf"(?m)^record_child-\d{{8}}-\d{{6}}-rank{rank}\.heddle$")
            status, _, err = self.heddle("record", "-o", "rank{rank}.json", "--summary", "{rank}/rank{rank}.hds", PATHS.child, "work", 1, "finish", env=env)
            self.assertEqual((status, f"rank{rank}.json" in self.files()), (1, False), err)
            status, _, err = self.heddle("record", "-o", "rank{rank}.json", "--summary", "rank{rank}.hds", PATHS.child, "work", 1, "finish", env=env)
            self.assertEqual((status, {f"rank{rank}.json", f"rank{rank}.hds"} - set(self.files())), (0, set()), err)
        (self.dir / "one.heddle.parts").mkdir()
        _, _, err = self.heddle("record", "-o", "one.heddle", "true", env=env)
        self.assertIn("each rank of a job needs a file of its own", err)

    def test_the_extension_chooses_the_format(self):
        status, _, err = self.heddle("record", "-o", "out.json", PATHS.child, "work", 4, "finish")
        self.assertEqual(status, 0, err)
        events = json.loads((self.dir / "out.json").read_text())["traceEvents"]
        self.assertEqual(sum(e.get("cat") == "kernel" for e in events), 4)

    def test_a_summary_is_made_of_the_trace_and_where_it_cannot_be_nothing_runs(self):
        status, _, err = self.record("work", 4, "finish", options=("--summary", "rank3.hds"), env={**self.env, "RANK": "3"})
        self.assertEqual(status, 0, err)
        status, _, err = self.heddle("summarize", "-q", "out.heddle", "-o", "again.hds")
        self.assertEqual(((self.dir / "rank3.hds").read_bytes(), status), ((self.dir / "again.hds").read_bytes(), 0), err)
        status, out, err = self.heddle("combine", "-q", "rank3.hds", "-o", "tables.parquet/")
        self.assertIn("tables.parquet/kernels.parquet", self.files(), err)
        for name, says in (("none/rank3.hds", "No such file"), ("rank3.json", "named .hds")):
            status, out, err = self.heddle("record", "-o", "other.heddle", "--summary", name, "--", "echo", "it ran")
            self.assertEqual((bool(status), out, "other.heddle" in self.files()), (True, "", False), err)
            self.assertIn(says, err)

    # ---- faults ----

    def test_where_nothing_can_be_written_the_command_runs_and_strict_does_not(self):
        words = ["record", "-o", "/proc/out.heddle"]
        status, out, err = self.heddle(*words, "--", PATHS.child, "work", 1, "ready", "exit", 3)
        self.assertEqual((status, out), (3, "ready\n"), err)
        self.assertEqual(err.count("runs without being captured"), 1, err)
        self.assertEqual(err.count("/proc/out.heddle"), 1, err)
        self.assertEqual(self.heddle(*words, "true")[0], 1)
        status, out, err = self.heddle(*words, "--strict", "--", PATHS.child, "ready")
        self.assertEqual((status, out), (1, ""), err)

    def test_an_output_that_is_there_is_replaced_and_kept_if_that_fails(self):
        (self.dir / "out.heddle").write_text("old")
        self.assertEqual(self.record("work", 1, "finish")[0], 0)
        self.assertEqual(len(self.kernels()), 1)
        before = (self.dir / "out.heddle").read_bytes()
        self.record("exit", 0)
        self.assertEqual((self.dir / "out.heddle").read_bytes(), before)

    def test_parts_of_another_recording_are_never_touched(self):
        (self.dir / "out.heddle.parts").mkdir()
        (self.dir / "out.heddle.parts/a.hdcap").write_text("x")
        status, out, err = self.record("ready", "exit", 4)
        self.assertEqual((status, out), (4, "ready\n"), err)
        self.assertIn("--recover", err)
        self.assertEqual((self.dir / "out.heddle.parts/a.hdcap").read_text(), "x")

    def test_a_file_in_the_place_of_the_parts_is_told(self):
        (self.dir / "out.heddle.parts").write_text("mine")
        status, out, err = self.record("ready", "exit", 4)
        self.assertEqual((status, out), (4, "ready\n"), err)
        self.assertIn("is a file", err)
        self.assertNotIn("--recover", err)
        self.assertEqual((self.dir / "out.heddle.parts").read_text(), "mine")

    def test_when_heddle_is_killed_the_command_goes_on_and_the_parts_make_the_trace(self):
        process = self.start("record", "-o", "out.heddle", "--", PATHS.child, "work", 20, "children", 2, "ready", "wait",
                             "work", 5, "finish", "ready", stdin=subprocess.PIPE)
        self.ready(process)
        process.kill()
        self.assertEqual(process.wait(TIMEOUT_S), -9)
        process.stdin.write("x")
        process.stdin.flush()
        self.ready(process)  # the command
        process.communicate()
        parts = self.dir / "out.heddle.parts"
        self.assertEqual(parts.stat().st_mode & 0o777, 0o700)  # captures hold paths and arguments
        self.assertEqual({part.stat().st_mode & 0o777 for part in parts.iterdir()}, {0o600})
        self.assertIn("heddle record --recover", (parts / "README").read_text())
        status, _, err = self.heddle("convert", *sorted(parts.glob("*.hdcap")), "by-hand.heddle")
        self.assertEqual(status, 0, err)
        status, _, err = self.heddle("record", "--recover", "out.heddle.parts", "-k")
        self.assertEqual(status, 0, err)
        self.assertTrue(parts.exists())
        status, _, err = self.heddle("record", "--recover", "out.heddle.parts", "-o", "less.sbt")
        self.assertEqual(status, 0, err)
        self.assertIn("cannot hold all that was captured", err)
        self.assertTrue(parts.exists())  # the only copy of what SBT has no place for
        (self.dir / "less.sbt").unlink()
        status, _, err = self.heddle("record", "--recover", "out.heddle.parts/")
        self.assertEqual(status, 0, err)
        self.assertEqual(self.files(), ["by-hand.heddle", "out.heddle"])
        self.assertEqual(len(self.kernels()), 27)
        self.assertEqual(len(self.kernels("by-hand.heddle")), 27)

    def test_a_command_killed_at_any_moment_leaves_a_trace(self):
        for size in range(0, 400_000, 50_000):  # of its capture, at least
            process = self.start("record", "-o", f"{size}.heddle", "--", PATHS.child, "work", 5, "ready", "fill", 100,
                                 "wait", stdin=subprocess.PIPE)
            self.ready(process)
            (capture,) = (self.dir / f"{size}.heddle.parts").glob("*.hdcap")
            while capture.stat().st_size < size:
                time.sleep(0.001)
            os.kill(self.child_of(process.pid), signal.SIGKILL)
            _, err = process.communicate(timeout=TIMEOUT_S)
            self.assertEqual(process.returncode, 137, err)
            self.assertNotIn("lost:", err)
            self.assertEqual(len(self.kernels(f"{size}.heddle")), 5)

    def test_a_program_that_ends_without_a_word_loses_nothing(self):
        for words in (("exit", 3), ("die", signal.SIGKILL.value)):
            status, _, err = self.record("work", 50, *words)
            self.assertIn(status, (3, 137))
            self.assertNotIn("lost:", err)
            self.assertEqual(len(self.kernels()), 50)

    def test_recovering_refuses_options_of_running_a_command(self):
        for words in (("--python",), ("--steps", "1:2"), ("--no-stacks",), ("--strict",), ("--wait", "all")):
            self.assertEqual(self.heddle("record", "--recover", "nothing", *words)[0], 2, words)

    def test_recovering_what_is_no_recording_is_an_error(self):
        status, _, err = self.heddle("record", "--recover", "nothing")
        self.assertEqual(status, 1)
        self.assertIn("leaves FILE.parts", err)
        (self.dir / "empty").mkdir()
        status, _, err = self.heddle("record", "--recover", "empty")
        self.assertEqual(status, 1)
        self.assertIn("there are no captures in it", err)
        self.assertEqual(self.files(), ["empty"])

    def test_empty_and_foreign_files_do_not_spoil_the_trace(self):
        status, _, err = self.record("work", 3, "empty", "cut.hdcap", "finish")
        self.assertEqual((status, self.files()), (0, ["out.heddle"]), err)
        self.assertIn("1 file is not in the trace", err)
        script = 'head -c 100 /dev/zero >"$HEDDLE_CAPTURE_DIR/zero.hdcap"; echo >"$HEDDLE_CAPTURE_DIR/mine"; exec "$@"'
        status, _, err = self.heddle("record", "-o", "out.heddle", "sh", "-c", script, "-", PATHS.child, "work", 3, "finish")
        self.assertEqual(status, 0, err)
        self.assertEqual(len(self.kernels()), 3)
        # what may hold something stays
        self.assertIn("out.heddle.parts/zero.hdcap", self.files())

    def parts_of_three(self):
        """What a recording of three processes left, with 1, 1 and 3 kernels; the last file is the parent's."""
        status, _, err = self.record("work", 3, "children", 2, "finish", options=["--keep"])
        self.assertEqual(status, 0, err)
        (self.dir / "out.heddle").unlink()
        return sorted((self.dir / "out.heddle.parts").glob("*.hdcap"), key=lambda part: part.stat().st_size)

    def recover(self):
        status, _, err = self.heddle("record", "--recover", "out.heddle.parts", "--json")
        self.assertEqual(status, 0, err)
        at = err.index("{\n")
        return err[:at], json.loads(err[at:])

    def test_a_capture_that_cannot_be_read_is_named_and_the_others_make_the_trace(self):
        # a header of version 9, with the right checksum; what is not a capture
        later = bytes.fromhex("8948444341500d0a09000000" + "2a" + 43 * "00" + "66898e6521de6b14")
        for bad, why in ((later, "version 9"), (b"damaged beyond its magic" * 9, "no reader knows")):
            part = self.parts_of_three()[0]
            part.write_bytes(bad)
            said, summary = self.recover()
            self.assertIn(f"{part.name} is left out of the trace: ", said)
            self.assertIn(why, said)
            self.assertEqual((summary["processes"], summary["unreadable"], summary["lost"]), (2, 1, 1))
            self.assertEqual(len(self.kernels()), 4)
            self.assertIn("convert.input-left-out", self.heddle("info", "out.heddle", "--json")[1])
            self.assertTrue(part.exists())
            shutil.rmtree(part.parent)

    @staticmethod
    def damage(rng, folder):
        """Changes a random part of a recording; returns what was done."""
        part = rng.choice(sorted(folder.glob("*.hdcap")))
        data = bytearray(part.read_bytes())
        kind = rng.choice(("flip", "cut", "zeros", "missing", "foreign", "twice", "longer"))
        at = rng.randrange(len(data))
        if kind == "flip":
            for _ in range(rng.choice((1, 1, 8))):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        elif kind == "cut":
            del data[at:]
        elif kind == "zeros":
            end = min(len(data), at + rng.choice((16, 64, 512, 4096)))
            data[at:end] = bytes(end - at)
        elif kind == "longer":
            data += rng.choice((bytes(4096), rng.randbytes(300), data[at:]))
        elif kind == "twice":
            (folder / f"a-{part.name}").write_bytes(data)
        elif kind == "foreign":
            (folder / rng.choice(("mine.hdcap", "kernel.perfdata", "notes.txt"))).write_bytes(
                rng.choice((b"", b"\0" * 5000, rng.randbytes(900), data[:64], b'{"traceEvents": []}')))
        if kind == "missing":
            part.unlink()
        else:
            part.write_bytes(data)
        return f"{kind} at {at} of {part.name}"

    def events(self):
        """Without numbers of processes and tracks: the merge numbers those that there are. A time is the process of the whole recording
        that it is in: captures are aligned to the clock of one of them, as exactly as a clock is read, and that one may be gone."""
        status, out, err = self.heddle("convert", "-q", "out.heddle", "-t", "chrome", "-")
        self.assertEqual(status, 0, err)
        events = [e for e in json.loads(out)["traceEvents"] if e["ph"] != "M"]
        if not self.starts:  # processes are a millisecond apart, events of one some microseconds
            times = sorted(e["ts"] for e in events)
            self.starts = [ts for before, ts in zip([-1e9] + times, times) if ts - before > 500]
        process = lambda ts: next((i for i, start in enumerate(self.starts) if -250 < ts - start < 250), ts)
        return collections.Counter((e["ph"], e["name"], e.get("cat"), process(e["ts"]), e.get("dur")) for e in events)

    @staticmethod
    def without_names(events):
        """Names and categories have a chunk of their own, and may be lost alone."""
        out = collections.Counter()
        for (phase, _, _, ts, dur), count in events.items():
            out[phase, ts, dur] += count
        return out

    def test_events_of_damaged_parts_are_in_the_trace_or_lost_with_a_word(self):
        self.record("work", 3, "children", 2, "finish", options=["--keep"])
        self.starts = []
        self.of_whole = self.events()
        self.assertEqual(len(self.starts), 3)
        parts, whole = self.dir / "out.heddle.parts", self.dir / "whole"
        parts.rename(whole)
        for seed in range(rounds.seed(1), rounds.seed(1) + rounds.rounds(4)):
            rng = random.Random(seed)
            shutil.rmtree(parts, True)
            (self.dir / "out.heddle").unlink(missing_ok=True)
            shutil.copytree(whole, parts, ignore=shutil.ignore_patterns("recorder"))
            before = {part.name for part in parts.glob("*.hdcap")}
            what = f"seed {seed}: " + ", ".join(self.damage(rng, parts) for _ in range(rng.choice((1, 1, 2))))
            gone = before - {part.name for part in parts.glob("*.hdcap")}
            status, _, err = self.heddle("record", "--recover", "out.heddle.parts", "--json", "-k")
            self.assertIn(status, (0, 1), f"{what}\n{err}")
            if status == 1:  # there is no trace, with the reason
                self.assertIn("heddle: ", err, what)
                self.assertFalse((self.dir / "out.heddle").exists(), what)
                continue
            found = self.events()
            summary = json.loads(err[err.index("{\n"):])
            counted = summary["lost"] or summary["unreadable"] or summary["damaged"]
            if "twice at" not in what and "longer at" not in what:
                self.assertFalse(self.without_names(found) - self.without_names(self.of_whole), f"{what}: events that never were\n{err}")
                names = {event[1] for event in found} - {event[1] for event in self.of_whole}
                self.assertTrue(counted or not names, f"{what}: {names}\n{err}")
                self.assertTrue(all(name.startswith("(lost") for name in names), f"{what}: {names}\n{err}")
            if not gone and not counted:
                self.assertFalse(self.of_whole - found, f"{what}: lost without a word\n{err}")

    def test_a_capture_that_may_not_be_opened_is_named(self):
        part = self.parts_of_three()[0]
        part.chmod(0)
        if os.access(part, os.R_OK):
            self.skipTest("this user may read everything")
        said, summary = self.recover()
        self.assertIn("Permission denied", said)
        self.assertEqual((summary["processes"], len(self.kernels())), (2, 4))
        self.assertTrue(part.exists())

    def test_when_no_capture_can_be_read_that_is_an_error_and_they_stay(self):
        parts = self.parts_of_three()
        for part in parts:
            part.write_bytes(b"\0" * 100)
        status, _, err = self.heddle("record", "--recover", "out.heddle.parts")
        self.assertEqual((status, err.count("is left out of the trace")), (1, 3), err)
        self.assertIn("no input can be read", err)
        self.assertEqual([part.stat().st_size for part in parts], [100, 100, 100])
        self.assertFalse((self.dir / "out.heddle").exists())

    def test_what_is_left_of_a_damaged_capture_is_in_the_trace_and_the_file_stays(self):
        for at, code in ((20, "capture.header-damaged"), (64 + 41, "capture.bytes-skipped")):
            part = self.parts_of_three()[0]
            damaged = bytearray(part.read_bytes())
            damaged[at] ^= 255
            part.write_bytes(damaged)
            said, summary = self.recover()
            self.assertIn(f"{part.name} is damaged ({code})", said)
            self.assertEqual((summary["processes"], summary["damaged"], len(self.kernels())), (3, 1, 5))
            self.assertTrue(part.exists())
            shutil.rmtree(part.parent)

    def test_a_cut_at_any_place_leaves_what_was_written_before_it(self):
        for size in (0, 7, 63, 64, 65, 103, 104, 200, 600):
            part = self.parts_of_three()[0]
            os.truncate(part, size)
            said, summary = self.recover()
            self.assertEqual((said, summary["processes"], summary["unreadable"]),
                             ("", 3, 0) if size >= 64 else ("", 2, 1))
            self.assertGreaterEqual(len(self.kernels()), 4)
            self.assertFalse(part.exists())

    def test_several_captures_of_one_process_count_once(self):
        status, _, err = self.record("work", 1, "finish", "work", 2, "finish", "children", 1, options=["--json"])
        summary = json.loads(err)
        self.assertEqual((status, summary["processes"], summary["captures"], summary["measured_processes"]), (0, 2, 3, 2))
        self.assertEqual((summary["kernels"], summary["callbacks"]), (4, 30))

    def test_files_of_others_in_the_folder_are_not_removed(self):
        script = 'echo >"$HEDDLE_CAPTURE_DIR/mine"; exec "$@"'
        status, _, err = self.heddle("record", "-o", "out.heddle", "sh", "-c", script, "-", PATHS.child, "work", 3, "finish")
        self.assertEqual((status, self.files()), (0, ["out.heddle", "out.heddle.parts", "out.heddle.parts/mine"]), err)
        self.assertIn("out.heddle.parts", err)

    def end_daemon(self, out):
        """The one that said its pid finishes its capture."""
        pid = int(out.split()[1])
        os.kill(pid, signal.SIGTERM)
        while self.runs(pid):
            time.sleep(0.01)

    def runs(self, pid):
        try:
            return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return False

    def test_a_daemon_keeps_its_capture_until_it_has_ended(self):
        status, out, err = self.record("work", 1, "finish", "daemon", 3600000)
        self.assertEqual(status, 0, err)
        self.assertIn("1 process of the command still runs", err)
        self.assertEqual(len(self.kernels()), 3)
        self.end_daemon(out)
        status, _, err = self.heddle("record", "--recover", "out.heddle.parts", "-o", "later.heddle")
        self.assertEqual(status, 0, err)
        self.assertEqual((len(self.kernels("later.heddle")), self.files()), (3, ["later.heddle", "out.heddle"]))

    def test_waiting_for_all_waits_for_daemons(self):
        status, _, err = self.record("work", 1, "daemon", 1000, "finish", "exit", 6, options=["--wait", "all"])
        self.assertEqual((status, self.files()), (6, ["out.heddle"]), err)
        self.assertEqual(len(self.kernels()), 3)
        self.assertNotIn("not-finished", err)

    def interrupt_waiting(self, *words):
        process = self.start("record", "--wait", "all", "-o", "out.heddle", "--", PATHS.child, *words)
        while "waiting" not in (line := process.stderr.readline()):
            self.assertTrue(line, "it ended")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 0, err)
        return out, err

    def test_a_signal_ends_the_waiting_for_daemons(self):
        out, err = self.interrupt_waiting("daemon", 3600000)
        self.assertIn("1 process of the command still runs", err)
        self.assertEqual(len(self.kernels()), 2)
        self.end_daemon(out)

    def test_a_daemon_that_captures_after_the_waiting_finds_its_folder(self):
        out, err = self.interrupt_waiting("late", 3600000)
        self.assertIn("processes of the command still run;", err)
        self.end_daemon(out)
        status, _, err = self.heddle("record", "--recover", "out.heddle.parts")
        self.assertEqual((status, len(self.kernels()), self.files()), (0, 2, ["out.heddle"]), err)

    def test_a_program_that_closes_its_descriptors_is_captured(self):
        status, _, err = self.record("work", 2, "closeall", "work", 3, "finish")
        self.assertEqual(status, 0, err)
        self.assertEqual(len(self.kernels()), 5)

    def test_a_full_disk_loses_what_it_loses_and_keeps_the_rest(self):
        def limited():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        status, out, err = self.record("work", 5, "fill", 1, "ready", "finish", preexec_fn=limited)
        self.assertEqual(out, "ready\n")
        if status == 0:  # the trace of the first part fitted
            self.assertIn("what follows is not in the trace", err)
        else:
            self.assertEqual(status, 1, err)
            self.assertIn("--recover", err)
        status, _, err = self.heddle("record", "--recover", "out.heddle.parts")
        self.assertEqual(status, 0, err)
        self.assertEqual(len(self.kernels()), 5)
        self.assertEqual(self.files(), ["out.heddle"])

    def test_hundreds_of_children_make_one_trace(self):
        status, _, err = self.record("work", 1, "children", 300, "finish")
        self.assertEqual((status, self.files()), (0, ["out.heddle"]), err)
        kernels = self.kernels()
        self.assertEqual(len(kernels), 301)
        self.assertEqual(len({k["pid"] for k in kernels}), 301)
        self.assertEqual(len({k["args"]["correlation"] for k in kernels}), 301)

    # ---- with the injected tracer, on the test double of CUDA ----

    def record_cuda(self, *words, options=(), **env):
        fake = PATHS.app.parent
        self.env.update(HEDDLE_CUDA_LIBRARY=str(PATHS.tracer), LD_LIBRARY_PATH=str(fake),
                        HEDDLE_CUPTI=str(fake / "libcupti.so.13"), FAKE_CUDA_TRUTH=str(self.dir / "truth"),
                        ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1")
        self.env.update(env)
        return self.heddle("record", "-o", "out.heddle", *options, "--", PATHS.app, *words)

    def truth(self):
        """By process, the ids of the kernels that the double ran."""
        kernels = {}
        for line in (self.dir / "truth").read_text().splitlines():
            row = json.loads(line)
            if row.get("what") == "record" and row.get("kind") == "kernel":
                kernels.setdefault(row["pid"], []).append(row["correlation"])
        return kernels

    def not_delivered(self, err):
        return sum(int(line.split()[-1].replace(",", "")) for line in err.splitlines() if "session.not-delivered" in line)

    def test_launches_that_cupti_did_not_deliver_to_a_killed_program_are_counted(self):
        status, _, err = self.record_cuda("launch:300", "sync", "sleep:200", "launch:200", "abort")
        self.assertEqual(status, 128 + signal.SIGABRT, err)
        self.assertEqual(len(self.kernels()) + self.not_delivered(err), 500, err)

    def emitted(self):
        """Kernels that the program began to launch, and those whose launch returned, by its own count."""
        return struct.unpack("<4Q", (self.dir / "counts").read_bytes())[:2]

    def test_a_program_killed_between_any_two_records_has_each_launch_once(self):
        # CUPTI's double kills the process in the tracer's thread: between a record and the next, behind a buffer.
        words = ("launch:40", "runtime:20", "capture:7", "graph:4:10", "sync", "sleep:120", "launch:200", "sleep:300")
        places = [("NextRecord", n) for n in (1, 2, 3, 60, 61, 90, 150, 151, 210, 500)]
        for function, n in [*places, ("NumDroppedRecords", 1), ("NumDroppedRecords", 2)]:
            with self.subTest(function, n=n):
                (self.dir / "script").write_text(f"kernel 400000\nkill cuptiActivityGet{function} {n}\n")
                status, _, err = self.record_cuda(*words, FAKE_CUDA_SCRIPT=str(self.dir / "script"),
                                                  FAKE_APP_COUNTS=str(self.dir / "counts"))
                self.assertEqual(status, 128 + signal.SIGKILL, err)
                kernels = self.kernels()
                graphs = {k["args"]["correlation"] for k in kernels if k["args"].get("graph node id")}
                launches = len([k for k in kernels if not k["args"].get("graph node id")]) + len(graphs)
                begun, done = self.emitted()
                # Of a graph the program counts four kernels, the ledger one launch.
                launched = min(done, 60) + min(max(done - 60, 0), 40) // 4 + max(done - 100, 0)
                self.assertIn(launches + self.not_delivered(err) - launched, range(begun - done + 1), err)
                for path in ("counts", "out.heddle"):
                    (self.dir / path).unlink()

    def test_every_kernel_of_a_cuda_program_and_its_children_is_there(self):
        status, out, err = self.record_cuda("launch:50", "runtime:20", "fork:launch=7", "exec:launch=5+threads=2=10")
        self.assertEqual(status, 0, err)
        self.assertEqual(self.files(), ["out.heddle", "truth"])
        truth = self.truth()
        self.assertGreaterEqual(sum(map(len, truth.values())), 82)
        trace = self.trace()
        kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
        self.assertEqual(len(kernels), sum(map(len, truth.values())), err)
        calls = {e["args"]["correlation"]: e["pid"] for e in trace["traceEvents"]
                 if e.get("cat") in ("cuda_runtime", "cuda_driver")}
        of = {}
        for kernel in kernels:
            pid = calls[kernel["args"]["correlation"]]
            of[pid] = of.get(pid, 0) + 1
        self.assertEqual(of, {pid: len(ids) for pid, ids in truth.items()})
        frames = [f["name"] for f in trace["stackFrames"].values()]
        self.assertIn("do_launch", frames)
        self.assertIn("overhead:", err)

    def test_what_the_tracer_misses_is_told_once(self):
        status, _, err = self.record_cuda("exec:launch=2+sync", "launch:3", "sync", HEDDLE_CUPTI="/nonexistent")
        self.assertEqual(status, 0, err)
        self.assertEqual(err.count("/nonexistent"), 1, err)
        self.assertIn("2 of 2 processes: ", err)

    # ---- by another tool ----

    def double(self, name, script):
        """A test double of a tool: a shell script on PATH that notes its words, one a line."""
        folder = self.dir / "bin"
        folder.mkdir(exist_ok=True)
        tool = folder / name
        tool.write_text(f'#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word"; done >>"{self.dir}/words"\n{script}\n')
        tool.chmod(0o755)
        self.env["PATH"] = f"{folder}:{os.environ['PATH']}"

    def same_events(self, one, other):
        """whether two traces hold the same slices"""
        texts = []
        for path in (one, other):
            status, _, err = self.heddle("convert", str(path), "same.json")
            self.assertEqual(status, 0, err)
            events = json.loads((self.dir / "same.json").read_text())["traceEvents"]
            texts.append(sorted((e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X" and "dur" in e))
            self.assertTrue(texts[0])
        return texts[0] == texts[1]

    def words(self):
        return (self.dir / "words").read_text().replace(str(self.dir), "$DIR").splitlines()

    GPU = ('{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":1,'
           '"args":{"correlation":1}},{"ph":"X","cat":"kernel","name":"k","pid":2,"tid":7,"ts":3,"dur":1,'
           '"args":{"correlation":1}}')

    def pftrace(self):
        """What rocprofv3 writes, as far as its format goes."""
        (self.dir / "gpu.json").write_text(self.GPU + "]}")
        self.assertEqual(self.heddle("convert", "gpu.json", "gpu.pftrace")[0], 0)
        return self.dir / "gpu.pftrace"

    def test_rocprofv3_runs_the_command_and_its_files_become_the_trace(self):
        trace = self.pftrace()
        self.double("rocprofv3", f"""while [ "$1" != -- ]; do [ "$1" = --output-directory ] && dir=$2; shift; done
shift
cp {trace} "$dir/out-10_results.pftrace"; mkdir "$dir/host"; cp {trace} "$dir/host/out-11_results.pftrace"
exec "$@" """)
        status, out, err = self.heddle("record", "--with", "rocprofv3", "-o", "out.heddle", "--", "sh", "-c",
                                       'echo "$0 $1"; exit 6', "a b", "-o")
        self.assertEqual((status, out), (6, "a b -o\n"), err)
        self.assertEqual(self.words(), ["--runtime-trace", "--output-format", "pftrace", "--output-directory",
                                        "$DIR/out.heddle.rocprofv3", "--output-file", "out-%pid%", "--", "sh", "-c",
                                        'echo "$0 $1"; exit 6', "a b", "-o"])
        self.assertEqual(len(self.kernels()), 2)
        self.assertIn("2 processes, 2 kernels, 2 launches", err)
        self.assertTrue((self.dir / "out.heddle.rocprofv3/out-10_results.pftrace").exists())
        self.assertIn("out.heddle.rocprofv3", err)

    def test_mctracer_leaves_its_json_open_and_is_read_all_the_same(self):
        (self.dir / "cut.json").write_text(self.GPU + ",\n")
        self.double("mcTracer", f'cp {self.dir}/cut.json "$3/tracer_out-99.json"; shift 3; exec "$@"')
        status, _, err = self.heddle("record", "--with", "mctracer", "-o", "out.heddle", "true")
        self.assertEqual(status, 0, err)
        self.assertEqual(self.words(), ["--mctx", "--odname", "$DIR/out.heddle.mctracer", "true"])
        self.assertEqual(len(self.kernels()), 1)

    NSYS = """if [ "$1" = export ]; then EXPORT; fi
for word; do case $word in --output=*) echo raw >"${word#--output=}.nsys-rep";; esac; done
while [ "$1" != env ]; do shift; done; exec "$@" """

    def test_nsys_runs_the_command_and_its_export_becomes_the_trace(self):
        sqlite = SOURCE / "tests/format/nsys/small.sqlite"
        self.double("nsys", self.NSYS.replace("EXPORT", f'cp "{sqlite}" "${{4#--output=}}"; exit 0'))
        status, out, err = self.heddle("record", "--with", "nsys", "-o", "out.heddle", "env")
        self.assertEqual(status, 0, err)
        self.assertEqual(self.words(), ["profile", "--trace=cuda,nvtx,osrt", "--force-overwrite=true",
                                        "--output=$DIR/out.heddle.nsys/report", "env",
                                        "export", "--type=sqlite", "--force-overwrite=true",
                                        "--output=$DIR/out.heddle.nsys/report.sqlite", "$DIR/out.heddle.nsys/report.nsys-rep"])
        self.assertNotIn("CUDA_INJECTION64_PATH", out)
        self.assertNotIn("HEDDLE_CAPTURE", out)
        self.assertEqual((self.dir / "out.heddle.nsys/report.nsys-rep").read_text(), "raw\n")
        self.assertEqual(self.same_events("out.heddle", sqlite), True)

    def test_an_export_that_fails_is_told_and_the_output_is_kept(self):
        self.double("nsys", self.NSYS.replace("EXPORT", 'echo "no licence" >&2; exit 3'))
        status, _, err = self.heddle("record", "--with", "nsys", "-o", "out.heddle", "env")
        self.assertEqual(status, 0, err)
        self.assertIn("no licence", err)
        self.assertIn("ended with status 3", err)
        self.assertIn(f"what nsys wrote is in {self.dir}/out.heddle.nsys, and heddle cannot read it", err)
        self.assertFalse((self.dir / "out.heddle").exists())

    def test_xctrace_runs_the_command_and_its_export_becomes_the_trace(self):
        xml = SOURCE / "tests/format/xctrace/metal.xml"
        self.double("xctrace", f'if [ "$1" = export ]; then cp "{xml}" "$5"; exit 0; fi; mkdir "$5"; echo raw >"$5/x"; shift 9; exec "$@"')
        status, out, err = self.heddle("record", "--with", "xctrace", "-o", "out.heddle", "echo", "hello")
        self.assertEqual((status, out), (0, "hello\n"), err)
        words = self.words()
        self.assertEqual(words[:11], ["record", "--template", "Metal System Trace", "--output",
                                      "$DIR/out.heddle.xctrace/run.trace", "--target-stdout", "-", "--launch", "--",
                                      "echo", "hello"])
        self.assertEqual(words[11:17], ["export", "--input", "$DIR/out.heddle.xctrace/run.trace", "--output",
                                        "$DIR/out.heddle.xctrace/run.xml", "--xpath"])
        self.assertIn('@schema="metal-gpu-intervals"', words[17])
        self.assertTrue((self.dir / "out.heddle.xctrace/run.trace/x").exists())
        if "xctrace" not in self.heddle("formats")[1]:
            self.skipTest("this heddle has no expat")
        self.assertTrue(self.same_events("out.heddle", xml))

    def test_a_tool_that_is_missing_is_an_error_that_says_how_to_get_it(self):
        self.env["PATH"] = str(self.dir)
        for name, hint in (("nsys", "developer.nvidia.com"), ("rocprofv3", "/opt/rocm/bin"), ("xctrace", "macOS"),
                           ("mctracer", "/opt/maca/bin")):
            status, out, err = self.heddle("record", "--with", name, "-o", "out.heddle", "/bin/echo", "ran")
            self.assertEqual((status, out, self.files()), (1, "", []), err)
            self.assertIn("is not on PATH", err)
            self.assertIn(hint, err)

    def test_a_tool_that_fails_gives_its_status_and_its_output_is_kept(self):
        self.double("nsys", 'echo "no permission" >&2; echo half >"${4#--output=}.qdstrm"; exit 9')
        status, _, err = self.heddle("record", "--with", "nsys", "-o", "out.heddle", "true")
        self.assertEqual(status, 9)
        self.assertIn("no permission", err)
        self.assertEqual((self.dir / "out.heddle.nsys/report.qdstrm").read_text(), "half\n")
        # what looks as if it could be read, and cannot
        self.double("rocprofv3", 'echo nonsense >"$5/a.pftrace"; exit 0')
        status, _, err = self.heddle("record", "--with", "rocprofv3", "-o", "out.heddle", "true")
        self.assertEqual(status, 1, err)
        self.assertTrue((self.dir / "out.heddle.rocprofv3/a.pftrace").exists())
        self.assertIn("out.heddle.rocprofv3", err)
        # nothing at all
        self.double("nsys", "exit 0")
        status, _, err = self.heddle("record", "--with", "nsys", "-o", "other.heddle", "true")
        self.assertEqual(status, 1, err)
        self.assertIn("wrote nothing", err)
        self.assertFalse((self.dir / "other.heddle.nsys").exists())

    def test_options_that_a_tool_would_ignore_are_refused(self):
        self.double("nsys", "exit 0")
        for words in (["--python"], ["--delay", "1s"], ["--steps", "1:2"], ["--policy", "block"], ["--keep"]):
            status, _, err = self.heddle("record", "--with", "nsys", *words, "true")
            self.assertEqual(status, 2, err)
        self.assertEqual(self.heddle("record", "--with", "nvprof", "true")[0], 2)
        self.assertFalse((self.dir / "words").exists())

    # ---- names for addresses, what works here ----

    def test_addresses_in_stacks_get_names_unless_told_not_to(self):
        self.assertEqual(self.record("native", 2, "finish")[0], 0)
        if "built without libdw" in self.heddle("symbolize", "out.heddle")[1]:
            self.skipTest("this heddle has no libdw")
        frames = [f["name"] for f in self.trace()["stackFrames"].values()]
        self.assertIn("named_function", frames)
        status, _, err = self.record("native", 2, "finish", options=["--no-symbolize"])
        frames = [f["name"] for f in self.trace()["stackFrames"].values()]
        self.assertNotIn("named_function", frames)
        self.assertRegex(frames[0], r"^record_child\+0x")

    def test_check_lists_the_ways_and_runs_nothing(self):
        status, out, _ = self.heddle("record", "--check", "--json")
        ways = {way["way"]: way for way in json.loads(out)["ways"]}
        self.assertIn("cuda", ways)
        self.assertIn("uprobe", ways)
        self.assertEqual(status, 1 if ways["cuda"]["works"] == "no" else 0)
        self.assertEqual(self.heddle("record", "--check", "true")[0], 2)

    # ---- usage ----

    def test_wrong_usage_runs_nothing(self):
        for words in (["--steps", "5:3"], ["--steps", "a"], ["--delay", "5%"], ["--duration", "5"], ["--graph", "x"],
                      ["--budget", "1"], ["--budget", "x%"], ["--budget", "0.001%"], ["--budget", "51%"], ["--budget", "nan%"],
                      ["--budget", "1%", "--steps", "1:2"], ["--budget", "1%", "--trigger"],
                      ["--budget", "1%", "--duration", "1s"], ["-o", "-"], ["-o", "out.hdcap"], ["-o", "out"], ["--python", "--no-stacks"]):
            status, out, err = self.heddle("record", *words, "--", PATHS.child, "ready")
            self.assertEqual((status, out), (2, ""), (words, err))
        self.assertEqual(self.heddle("record")[0], 2)
        self.assertEqual(self.files(), [])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", type=Path, required=True)
    parser.add_argument("--child", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--tracer", type=Path, required=True)
    parser.add_argument("--app", type=Path, required=True)
    args, rest = parser.parse_known_args()
    PATHS.heddle, PATHS.child, PATHS.library = args.heddle.resolve(), args.child.resolve(), args.library.resolve()
    PATHS.tracer, PATHS.app = args.tracer.resolve(), args.app.resolve()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for what runs behind them, and we pass it on
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
