"""What the parts of run.py need: running programs under heddle, and reading what they left independently of heddle's library."""
import collections
import json
import os
import shutil
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

KEPT_BYTES = 2_000_000  # of a trace that is kept beside the results
PATIENCE = 600 * max(1.0, float(os.environ.get("HEDDLE_TEST_PATIENCE") or 1))  # seconds; against hangs alone


class Skip(Exception):
    """What a part needs is not here."""


class Failure(Exception):
    """The part ran, and something is wrong."""


def check(condition, *what):
    if not condition:
        raise Failure(" ".join(str(w) for w in what)[:1500])


def ns(microseconds):
    """Exact, from the digits."""
    return int(Decimal(microseconds) * 1000) if microseconds is not None else 0


class Trace:
    """A trace as JSON, read by Python alone."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.data = json.load(file, parse_float=Decimal)
        self.events = self.data["traceEvents"]
        self.slices = [e for e in self.events if e.get("ph") == "X"]
        self.frames = self.data.get("stackFrames", {})

    def of(self, *categories):
        return [e for e in self.slices if e.get("cat") in categories]

    def stack(self, event):
        """Names of the frames, innermost first."""
        names, at = [], event.get("sf")
        while at is not None and len(names) < 1000:
            frame = self.frames[str(at)]
            names.append(frame["name"])
            at = frame.get("parent")
        return names

    @property
    def captures(self):
        """heddle.capture of each process."""
        if "heddle.capture" in self.data:
            return [self.data["heddle.capture"]]
        return [p["heddle.capture"] for p in self.data.get("processes", {}).values() if "heddle.capture" in p]


class Recorded:
    def __init__(self, place, name, status, stdout, stderr, wall):
        self.place, self.name, self.status = place, name, status
        self.stdout, self.stderr, self.wall = stdout, stderr, wall
        self.path = place.out / (name + ".heddle")

    def trace(self):
        check(self.path.exists(), self.name, "left no trace:", self.stderr)
        json_path = self.place.out / (self.name + ".json")
        try:
            done = self.place.heddle("convert", self.path, json_path)
            check(done.returncode == 0, "heddle convert:", done.stderr)
            return Trace(json_path)
        finally:
            remove(json_path)
            if self.path.exists() and self.path.stat().st_size > KEPT_BYTES:
                remove(self.path)

    def losses(self):
        """Of the ledger, what is not a note."""
        done = self.place.heddle("info", "--json", self.path)
        rows = json.loads(done.stdout)["ledger"]
        return {row["code"]: row["count"] for row in rows if row["level"] != "note"}


def run_quietly(command, **more):
    """What subprocess.run gives, with both outputs as text. (Python 3.6, of RHEL 8, has no capture_output.)"""
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          **more)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(str(path))
    elif os.path.lexists(path):
        os.unlink(path)


def now_ns():
    return int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e9)


class Place:
    """The heddle that is tested, the folder for results, and this machine."""

    def __init__(self, options):
        self.options = options
        self.here = Path(__file__).resolve().parent
        self.heddle_path = options.heddle
        self.out = Path(options.out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.double = Path(options.double).resolve() if options.double else None
        self.python = options.python
        self.cupti = None  # path, once a trace told it

    def program(self, name):
        """A program of the archive or the build tree: beside run.py, beside heddle, or in the build."""
        if name == "gpu_program" and self.options.program:
            return Path(self.options.program).resolve()
        root = Path(self.heddle_path).resolve().parent
        for folder in (self.here, root, root / "../lib/heddle", root / "../../tests/gpu"):
            if (folder / name).exists():
                return (folder / name).resolve()
        compiler = shutil.which("cc") or shutil.which("gcc")
        if name == "gpu_program" and compiler:
            built = self.out / name
            run_quietly([compiler, "-O1", "-g", "-fno-inline", "-D_GNU_SOURCE", "-o", built, self.here / "gpu_program.c",
                         "-ldl", "-lpthread"], check=True)
            return built
        raise Skip(f"{name} is neither here nor beside heddle, and there is no compiler")

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("HEDDLE_", "CUDA_INJECTION", "NVTX_INJECTION"))}
        if "HEDDLE_CUPTI" in os.environ:
            env["HEDDLE_CUPTI"] = os.environ["HEDDLE_CUPTI"]
        if self.double:
            env["LD_LIBRARY_PATH"] = str(self.double)
            env["HEDDLE_CUPTI"] = str(self.double / "libcupti.so.13")
            # Where all is built with sanitizers: the program leaks, and crashes when it is told to.
            env["ASAN_OPTIONS"] = "detect_leaks=0:handle_segv=0:allocator_may_return_null=1"
        env.update({k: str(v) for k, v in more.items()})
        return env

    def heddle(self, *words):
        return run_quietly([self.heddle_path, *words], timeout=PATIENCE)

    def run(self, *command, env=None, limit=PATIENCE):
        """Without heddle: (status, stdout, stderr, seconds)."""
        start = time.monotonic()
        done = run_quietly(command, timeout=limit, cwd=str(self.out), env=env or self.environment())
        return done.returncode, done.stdout, done.stderr, time.monotonic() - start

    def record_command(self, name, command, options):
        path = self.out / (name + ".heddle")
        for old in (path, Path(str(path) + ".parts")):
            remove(old)
        library = ["--library", self.options.library] if self.options.library else []
        return [self.heddle_path, "record", *library, *options, "-o", path, "--", *map(str, command)]

    def record(self, name, *command, options=(), env=None, limit=PATIENCE):
        status, stdout, stderr, wall = self.run(*self.record_command(name, command, options), env=env, limit=limit)
        return Recorded(self, name, status, stdout, stderr, wall)

    def captured(self, name):
        """How many kernels the captures of a recording that goes on have."""
        count, path = 0, self.out / (name + ".part.json")
        for part in sorted((self.out / (name + ".heddle.parts")).glob("*.hdcap")):
            if self.heddle("convert", part, path).returncode == 0:
                count += len(Trace(path).of("kernel"))
            remove(path)
        return count

    def record_watched(self, name, *command, options=(), watch):
        """`watch()` is called until it gives something: (recorded, that)."""
        process = subprocess.Popen([str(c) for c in self.record_command(name, command, options)], cwd=str(self.out),
                                   env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   universal_newlines=True)
        end = time.monotonic() + PATIENCE
        seen = watch()
        while not seen:
            check(time.monotonic() < end and process.poll() is None, name, "ended or hangs before it was where it should be")
            time.sleep(0.01)
            seen = watch()
        stdout, stderr = process.communicate(timeout=PATIENCE)
        return Recorded(self, name, process.returncode, stdout, stderr, 0), seen

    def record_waiting(self, name, log, kernels, *command):
        """Of a program that has the word `wait`: it goes on when so many kernels are in its captures."""
        def watch():
            if self.captured(name) < kernels:
                return False
            Path(str(log) + ".go").touch()
            return True
        remove(str(log) + ".go")
        return self.record_watched(name, self.program("gpu_program"), log, *command, watch=watch)[0]

    def need_real(self):
        if self.double:
            raise Skip("the double of CUDA computes nothing")

    def need_module(self, name):
        """A module of the Python that programs are run with; its version."""
        self.need_real()
        status, out, err, _ = self.run(self.python, "-c", f"import {name} as m; print(getattr(m, '__version__', '?'))",
                                       limit=120)
        if status != 0:
            raise Skip(f"no {name}: {(err.strip().splitlines() or ['?'])[-1]}")
        return out.strip()


def read_log(path):
    """Whole lines: programs are killed."""
    text = Path(path).read_bytes() if os.path.exists(path) else b""
    return [json.loads(line) for line in text[:text.rfind(b"\n") + 1].splitlines()]


def count(things):
    return collections.Counter(things)


def difference(want, have, limit=4):
    """What is missing and what is too much, of two Counters; '' if they are equal."""
    missing, more = want - have, have - want
    if not missing and not more:
        return ""
    return (f"{sum(missing.values())} of {sum(want.values())} missing {list(missing.items())[:limit]}, "
            f"{sum(more.values())} too many {list(more.items())[:limit]}")


def say(*what):
    print(*what, file=sys.stderr, flush=True)
