#!/usr/bin/python3
"""Millions of launches through every mode of the tracer, on the test double of CUDA: none is shown twice, none is missing
without a word, and memory does not grow with their number.

usage: tests/record/launches.py BUILD [--launches N] [--only MODE]

In each mode the program counts its launches itself (fake_cuda/emitted.h), and must find:
    launched = in the trace + lost, by the ledger + outside of windows, by the steps that the trace says it recorded
BUILD has the command, the tracer and the double. N is 10,000,000 by default.
"""
import argparse
import csv
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEP = 1000  # launches
PEAK_KIB = 640 << 10  # of the program with the tracer, whose pool of buffers has at most 512 MiB, and the double


def steps(n):
    return [f"steps:{n // STEP}:{STEP}"]


# Name: options of heddle record, words of the program, the double's script.
MODES = {
    "no stacks": (["--no-stacks"], steps, ""),
    "stacks": ([], steps, ""),
    "runtime": ([], lambda n: [f"runtime:{n}", "sync"], ""),
    "8 threads": (["--no-nvtx"], lambda n: [f"threads:8:{n // 8}"], ""),
    "graph, nodes": ([], lambda n: [f"graph:100:{n // 100}"], ""),
    "graph, whole": (["--graph", "whole"], lambda n: [f"graph:100:{n // 100}"], ""),
    "memory": (["--memory"], lambda n: ["keep:1000", *steps(n), "release:500"], ""),
    "steps": (["--steps", "100:199"], steps, ""),
    "budget": (["--budget", "5%"], steps, ""),
    "ring that blocks": (["--policy", "block"], steps, ""),
    "ring without its oldest": (["--policy", "oldest"], steps, ""),
    "clock pairs": ([], steps, "clock 5000000000 20\nversion 12060\n"),
    "records in any order": ([], steps, "order shuffled\n"),
    "records dropped": (["--no-stacks"], steps, "drop-every 1000\n"),
    "times missing": ([], steps, "bad-times-every 1000 zero\n"),
    "small buffers": ([], steps, "buffer-records 50\n"),
}


class Mode:
    def __init__(self, build, name, launches):
        self.build, self.name, self.launches = build, name, launches
        self.options, words, self.script = MODES[name]
        self.words = words(launches)

    def heddle(self, *words):
        done = subprocess.run([self.build / "src/cli/heddle", *words], capture_output=True, text=True, check=True)
        return done.stdout

    def counts(self, trace, query):
        rows = list(csv.reader(self.heddle("query", "-f", "csv", trace, query).splitlines()))[1:]
        return {name: int(count) for name, count in rows}

    def run(self, folder):
        fake, trace = self.build / "tests/capture/fake_cuda", folder / "out.heddle"
        (folder / "script").write_text("latency 1\nkernel 1\n" + self.script)
        env = dict(os.environ, HEDDLE_CUDA_LIBRARY=str(self.build / "src/capture/cuda/libheddle-cuda.so"),
                   HEDDLE_CUPTI=str(fake / "libcupti.so.13"), LD_LIBRARY_PATH=str(fake), FAKE_CUDA_SCRIPT=str(folder / "script"),
                   FAKE_APP_COUNTS=str(folder / "counts"))
        began = time.monotonic()
        done = subprocess.run([self.build / "src/cli/heddle", "record", "--no-symbolize", *self.options, "-o", trace, "--",
                               fake / "fake_app", *self.words, "peak"], capture_output=True, text=True, env=env)
        if done.returncode:
            sys.exit(f"{self.name}: {done.stderr}")
        self.seconds = time.monotonic() - began
        self.peak_kib, self.cpu_s = re.search(r"peak (\d+) KiB, CPU ([\d.]+) s", done.stdout).groups()
        self.begun, self.done = struct.unpack("<4Q", (folder / "counts").read_bytes())[:2]
        self.check(trace)
        return (f"{self.name}: {self.begun} launched = {self.shown} shown + {self.lost} lost + {self.outside} outside; "
                f"program {self.cpu_s} s CPU, {int(self.peak_kib) >> 10} MiB, "
                f"of which buffers {self.pool_mib} MiB; all {self.seconds:.0f} s")

    def check(self, trace):
        kinds = self.counts(trace, "SELECT category, count(*) FROM slice GROUP BY category")
        ledger = self.counts(trace, "SELECT code, sum(count) FROM ledger GROUP BY code")
        self.shown = kinds.get("kernel", 0) + 100 * kinds.get("graph_trace", 0)
        self.lost = ledger.get("cuda.dropped", 0)
        self.outside = 0
        if self.name == "small buffers":  # so many that the pool is empty: the double drops records of all kinds
            waits = self.launches // STEP
            self.lost -= self.launches + waits - kinds["cuda_driver"] + waits - kinds["cuda_sync"]
        capture = json.loads(next(csv.reader([self.heddle("query", "-f", "csv", trace, "SELECT value FROM metadata WHERE name = "
                                                          "'heddle.capture'").split("\n", 1)[1]]))[0])
        self.pool_mib = capture["poolBytes"] >> 20
        if "--steps" in self.options:
            self.outside = self.begun - 100 * STEP
        if "--budget" in self.options:
            self.outside = self.begun - STEP * capture["window"]["budget"]["recordedSteps"]
        assert self.begun == self.done == self.launches, (self.name, self.begun, self.done)
        assert self.begun == self.shown + self.lost + self.outside, (self.name, self.begun, self.shown, ledger, kinds)
        assert int(self.peak_kib) < PEAK_KIB, (self.name, self.peak_kib)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--launches", type=int, default=10_000_000)
    parser.add_argument("--only")
    options = parser.parse_args()
    for name in MODES:
        if options.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory(prefix="heddle-launches-") as folder:
            print(Mode(options.build.resolve(), name, options.launches).run(Path(folder)), flush=True)


if __name__ == "__main__":
    main()
