#!/usr/bin/python3
"""heddle record --kernel: the trace against what the kernel wrote, parsed here by the kernel's own layouts.

usage: tests/record/record_kernel_test.py --heddle PROGRAM --child PROGRAM --library FILE [-v] [TEST...]

Tests of real events are skipped where the machine allows none.
"""
import argparse
import collections
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

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
from patience import patience  # noqa: E402

PATHS = argparse.Namespace()
PING_PONG = """
import os, sys
a, b = os.pipe(), os.pipe()
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
if os.fork() == 0:
    for _ in range(int(sys.argv[1])):
        os.read(a[0], 1), os.write(b[1], b"x")
    os._exit(0)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    os.write(a[1], b"x"), os.read(b[0], 1)
print("done", flush=True)
sys.stdin.readline()
"""


class Recorded:
    """The records of a pipe's perf.data."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        self.names, self.formats, self.samples, self.lost = {}, {}, [], 0
        at, ids = 16, {}
        while at < len(data):
            kind, _, size = struct.unpack_from("<IHH", data, at)
            body, at = data[at + 8:at + size], at + size
            if kind == 64:
                attr_size, config = struct.unpack_from("<IQ", body, 4)
                for (number,) in struct.iter_unpack("<Q", body[attr_size:]):
                    ids[number] = config
            elif kind == 66:
                (size,) = struct.unpack_from("<I", body)
                for text in data[at:at + size].split(b"name: ")[1:]:
                    name, number = re.match(rb"(\w+)\nID: (\d+)\n", text).groups()
                    self.names[int(number)] = name.decode()
                    self.formats[name.decode()] = {f.decode(): (int(o), int(s)) for f, o, s in re.findall(
                        rb"field:[^;]*?(\w+)(?:\[\d+\])?;\toffset:(\d+);\tsize:(\d+)", text)}
                at += size
            elif kind == 2:
                self.lost += struct.unpack_from("<Q", body, 8)[0]
            elif kind == 9:
                number, pid, tid, when, cpu, _, _ = struct.unpack_from("<QIIQIII", body)
                self.samples.append((when, cpu, self.names[ids[number]], body[36:], pid, tid))
        self.samples.sort(key=lambda s: s[0])

    def value(self, name, field, raw):
        offset, size = self.formats[name][field]
        return int.from_bytes(raw[offset:offset + size], "little", signed=True)

    def runs(self):
        """(CPU, tid, start, length) of what a CPU ran between two switches that agree, but for its idle thread."""
        last, found = {}, []
        for when, cpu, name, raw, _, _ in self.samples:
            if name == "sched_switch":
                if cpu in last and last[cpu][1] and last[cpu][1] == self.value(name, "prev_pid", raw):
                    found.append((f"CPU {cpu}", last[cpu][1], last[cpu][0], when - last[cpu][0]))
                last[cpu] = (when, self.value(name, "next_pid", raw))
        return found


class Kernel(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="heddle-kernel-"))
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("HEDDLE_", "CUDA_", "NVTX_"))}
        self.env["HEDDLE_CUDA_LIBRARY"] = str(PATHS.library)

    def heddle(self, *words, **more):
        done = subprocess.run([str(PATHS.heddle), *map(str, words)], cwd=self.dir, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=patience(600), env=self.env, **more)
        return done.returncode, done.stdout, done.stderr

    def record(self, *command):
        status, _, err = self.heddle("record", "--kernel", "-k", "-o", "out.heddle", "--", *command)
        self.assertEqual(status, 0, err)
        if "kernel's events are not" in err or "kernel's events may not" in err:
            self.skipTest(err.strip())
        return Recorded(self.dir / "out.heddle.parts/kernel.perfdata")

    def trace(self):
        status, out, err = self.heddle("convert", "out.heddle", "-", "--to", "chrome")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def test_the_trace_has_every_event_of_the_kernel(self):
        recorded = self.record("sh", "-c", "sleep 0.1; ls / >/dev/null; sleep 0.1")
        events = self.trace()["traceEvents"]
        runs = sorted((e["tid"], e["args"]["tid"], round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in events
                      if e.get("pid") == "CPUs" and "dur" in e)
        theirs = recorded.runs()
        self.assertGreater(len(theirs), 10)
        first = (min(r[2] for r in runs), min(t[2] for t in theirs))  # ts count from another zero
        self.assertEqual([(cpu, tid, start - first[0], length) for cpu, tid, start, length in runs],
                         sorted((cpu, tid, start - first[1], length) for cpu, tid, start, length in theirs))
        count = collections.Counter(name for _, _, name, _, _, _ in recorded.samples)
        for name in ("softirq_raise", "dma_fence_init"):
            self.assertEqual(len([e for e in events if e["ph"] == "i" and e["name"] == name]), count[name], name)
        begins = len([e for e in events if e["ph"] in "BX" and e.get("pid") == "Interrupts"])
        self.assertEqual(begins, count["softirq_entry"] + count["irq_handler_entry"])

    def test_perf_reads_the_file_and_counts_the_same(self):
        if not shutil.which("perf"):
            self.skipTest("no perf here")
        recorded = self.record("sleep", "0.1")
        done = subprocess.run(["perf", "script", "-i", "out.heddle.parts/kernel.perfdata", "-F", "event"], cwd=self.dir,
                              capture_output=True, text=True)
        theirs = collections.Counter(re.findall(r":(\w+):", done.stdout))
        self.assertEqual(theirs, collections.Counter(s[2] for s in recorded.samples), done.stderr)

    def test_a_capture_and_the_kernel_meet_in_one_process_on_one_clock(self):
        recorded = self.record(PATHS.child, "work", 3, "finish")
        trace = self.trace()
        events = trace["traceEvents"]
        ours = [e for e in events if e.get("cat") == "cuda_runtime" and e["name"] == "cudaLaunchKernel"]
        self.assertEqual(len(ours), 3)
        pid = ours[0]["pid"]
        self.assertTrue([s for s in recorded.samples if s[4] == pid], "the pid is the kernel's")
        states = [e for e in events if e.get("pid") == pid and e.get("cat") == "thread_state"]
        self.assertTrue(states)
        processes = [e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name" and e.get("pid") == pid]
        self.assertEqual(len(set(processes)), 1)

    def test_what_a_ring_has_no_room_for_is_counted(self):
        recorder = subprocess.Popen([PATHS.heddle, "record", "--kernel", "-k", "-o", "out.heddle", "--", sys.executable,
                                     "-c", PING_PONG, "100000"], cwd=self.dir, env=self.env, text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(recorder.stdout.readline(), "ready\n")
        if not (self.dir / "out.heddle.parts/kernel.perfdata").exists():
            _, err = recorder.communicate("\n\n")
            self.skipTest(err.strip())
        recorder.send_signal(signal.SIGSTOP)
        recorder.stdin.write("\n")
        recorder.stdin.flush()
        self.assertEqual(recorder.stdout.readline(), "done\n")
        recorder.send_signal(signal.SIGCONT)
        time.sleep(0.1)
        _, err = recorder.communicate("\n")
        self.assertEqual(recorder.returncode, 0, err)
        recorded = Recorded(self.dir / "out.heddle.parts/kernel.perfdata")
        self.assertGreater(recorded.lost, 1000)
        switches = len([s for s in recorded.samples if s[2] == "sched_switch"])
        self.assertGreater(switches + recorded.lost, 200000, "each turn switches twice")
        _, out, _ = self.heddle("info", "--json", "out.heddle")
        lost = [row["count"] for row in json.loads(out)["ledger"] if row["code"] == "perfdata.events-lost"]
        self.assertEqual(lost, [recorded.lost])

    def test_without_rights_it_says_what_to_do_and_the_command_runs(self):
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        os.chmod(self.dir, 0o777)
        try:
            _, out, _ = self.heddle("devices", "--json", **nobody)
        except PermissionError:
            self.skipTest("others may not run the program")
        if {w["way"]: w["works"] for w in json.loads(out)["ways"]}["kernel"] == "yes":
            self.skipTest("everybody may")
        status, out, err = self.heddle("record", "--kernel", "-o", "out.heddle", "--", "echo", "ran", **nobody)
        self.assertEqual((status, out), (1, "ran\n"), err)
        self.assertRegex(err, "setcap cap_perfmon|mount -t tracefs")
        status, out, err = self.heddle("record", "--kernel", "--strict", "-o", "out.heddle", "--", "echo", "ran",
                                       **nobody)
        self.assertEqual((status, out), (1, ""), err)
        self.assertRegex(err, "setcap cap_perfmon|mount -t tracefs")

    def test_it_is_of_running_a_command(self):
        self.assertEqual(self.heddle("record", "--kernel", "--recover", "x.parts")[0], 2)


def main():
    parser = argparse.ArgumentParser()
    for name in ("heddle", "child", "library"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    known, rest = parser.parse_known_args()
    for key, value in vars(known).items():
        setattr(PATHS, key, value.resolve())
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
