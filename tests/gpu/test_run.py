#!/usr/bin/env python3
"""run.py, the acceptance test on a GPU, with the test double of CUDA: it says what is right, and above all what is wrong.

  test_run.py --heddle HEDDLE --library LIBHEDDLE_CUDA --double FOLDER --program GPU_PROGRAM
"""
import argparse
import ast
import copy
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from gpu_compare import compare  # noqa: E402
from gpu_support import PATIENCE, Failure, Place, read_log  # noqa: E402
from part_driver import EVERYTHING, recorded  # noqa: E402
from run import PARTS, name_of, options_of  # noqa: E402

OPTIONS = None
SHORT = [word if ":" not in word else word.replace("200", "40").replace("100", "10").replace(":20", ":4") for word in EVERYTHING]


def change(rows, op, key, value, at=3):
    row = [r for r in rows if r["op"] == op][at]
    row[key] = value(row[key])


def drop(rows, op, at=3):
    rows.remove([r for r in rows if r["op"] == op][at])


def swap(rows):
    """Two launches of one thread, which the trace has in the other order."""
    a, b = [r for r in rows if r["op"] == "kernel"][4:6]
    a["grid"], b["grid"] = b["grid"], a["grid"]


# What the log may be made to say that was not so.
LIES = {
    "a launch less": lambda rows: drop(rows, "kernel"),
    "a launch more": lambda rows: rows.append(dict([r for r in rows if r["op"] == "kernel"][0])),
    "another grid": lambda rows: change(rows, "kernel", "grid", lambda g: [g[0] + 1, 1, 1]),
    "another name": lambda rows: change(rows, "kernel", "name", lambda n: n + "_"),
    "another order": swap,
    "an earlier call": lambda rows: change(rows, "kernel", "after", lambda t: t - 1_000_000_000),
    "a later call": lambda rows: change(rows, "kernel", "before", lambda t: t + 1_000_000_000),
    "another thread": lambda rows: change(rows, "kernel", "tid", lambda t: t + 1),
    "another stream": lambda rows: change(rows, "kernel", "stream", lambda s: s + 1),
    "a longer kernel": lambda rows: change(rows, "kernel", "ns", lambda t: 10**9, at=1),
    "other bytes of a copy": lambda rows: change(rows, "copy", "bytes", lambda b: b + 4),
    "another way of a copy": lambda rows: change(rows, "copy", "way", lambda w: "DtoH" if w == "HtoD" else "HtoD"),
    "a copy less": lambda rows: drop(rows, "copy"),
    "a set more": lambda rows: rows.append({"op": "set", "bytes": 4}),
    "a launch of a graph less": lambda rows: drop(rows, "graph"),
    "another address": lambda rows: change(rows, "allocate", "address", lambda a: a + 1),
    "other bytes of memory": lambda rows: change(rows, "allocate", "bytes", lambda b: b + 1),
    "a release more": lambda rows: rows.append({"op": "release", "memory": "Device", "address": 4, "bytes": 4}),
    "a wrong result": lambda rows: rows.append({"op": "result", "wrong": 1}),
    "nothing": lambda rows: rows.clear(),
}


def run(*words):
    return subprocess.run([sys.executable, str(HERE / "run.py"), "--heddle", OPTIONS.heddle, "--library", OPTIONS.library, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=3 * PATIENCE)


class Script(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="heddle gpu ")
        self.out = Path(self.folder.name) / "results"

    def tearDown(self):
        self.folder.cleanup()

    def run_double(self, *words, program=None):
        done = run("--double", OPTIONS.double, "--out", str(self.out), "--program", str(program or OPTIONS.program), *words)
        results = json.loads((self.out / "gpu-results.json").read_text())
        return done, {r["part"]: r for r in results["parts"]}

    def test_the_parts_that_need_no_kernel_pass(self):
        done, parts = self.run_double("--only", "driver,processes,killed,torch,jax,devices")
        self.assertEqual(done.returncode, 0, done.stdout)
        states = {name: part["state"] for name, part in parts.items()}
        self.assertEqual(states, {"driver": "ok", "processes": "ok", "killed": "ok", "torch": "skipped", "jax": "skipped",
                                  "devices": "skipped"}, done.stdout)
        self.assertGreater(parts["driver"]["figures"]["kernels"], 1000)
        self.assertIn("3 ok, 0 failed, 3 skipped", done.stdout)
        kept = {p.name for p in self.out.glob("*.heddle")}
        self.assertLessEqual({"driver.heddle", "exec.heddle", "killed.heddle"}, kept)

    def test_what_a_launch_costs_has_its_figures(self):
        _, parts = self.run_double("--only", "bench", "--runs", "1")
        self.assertEqual(parts["bench"]["state"], "ok", parts["bench"])
        self.assertIn("with stacks, ns a launch beyond minimum", parts["bench"]["figures"])

    def test_a_program_that_does_not_log_a_launch_fails(self):
        liar = Path(self.folder.name) / "liar"
        liar.write_text(f'#!/bin/sh\n"{OPTIONS.program}" "$@"; status=$?\n'
                        """sed -i '0,/"op": "kernel"/{/"op": "kernel"/d}' "$1"; exit $status\n""")
        liar.chmod(0o755)
        done, parts = self.run_double("--only", "driver", program=liar)
        self.assertEqual((done.returncode, parts["driver"]["state"]), (1, "FAILED"), done.stdout)
        self.assertIn("kernels instead of", parts["driver"]["why"])

    def test_each_lie_is_found(self):
        place = Place(options_of(["--heddle", OPTIONS.heddle, "--library", OPTIONS.library, "--double", OPTIONS.double, "--out",
                                  str(self.out), "--program", OPTIONS.program]))
        _, rows, trace = recorded(place, "lies", *SHORT, options=["--memory"])
        compare(rows, trace, memory=True)
        for name, lie in LIES.items():
            changed = copy.deepcopy(rows)
            lie(changed)
            with self.subTest(name), self.assertRaises(Failure):
                compare(changed, trace, memory=True)
        # And what the trace may be made to lose.
        for what in ("sf", "correlation"):
            for category in ("cuda_driver", "kernel") if what == "correlation" else ("cuda_driver",):
                changed = copy.deepcopy(trace)
                event = changed.of(category)[-1] if category == "kernel" else [
                    e for e in changed.of(category) if e["name"] == "cuLaunchKernel"][-1]
                if what == "sf":
                    del event["sf"]
                else:
                    event["args"]["correlation"] = 0
                with self.subTest(what + category), self.assertRaises(Failure):
                    compare(rows, changed, memory=True)
        self.assertEqual(read_log(self.out / "lies.log"), rows)

    @unittest.skipIf(Path("/dev/nvidiactl").exists(), "there is a GPU")
    def test_without_a_gpu_it_says_what_it_would_do(self):
        done = run("--out", str(self.out))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skipped: there is no /dev/nvidiactl", done.stdout)
        for part in PARTS:
            self.assertIn(f"  {name_of(part)} ", done.stdout)
        self.assertFalse(self.out.exists())

    def test_wrong_usage_is_told(self):
        self.assertEqual(run("--only", "nonsense").returncode, 2)

    def test_the_pythons_of_old_systems_read_it(self):
        for path in [p for p in HERE.glob("*.py") if not p.name.startswith(("programs_", "test_"))]:
            ast.parse(path.read_text(), feature_version=(3, 6))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("heddle", "library", "double", "program"):
        parser.add_argument("--" + option, required=True, type=lambda p: str(Path(p).resolve()))
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
