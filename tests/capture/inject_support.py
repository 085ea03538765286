"""What test_inject.py needs: runs of the test double's program, what was captured, and what the truth log says."""
import argparse
import collections
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
from patience import patience  # noqa: E402

PATIENCE = patience(600)  # seconds

# Records of the truth that the trace shows as slices, and the category that they have there.
SLICES = {"kernel": "kernel", "memcpy": "gpu_memcpy", "memcpy2": "gpu_memcpy", "memset": "gpu_memset",
          "runtime": "cuda_runtime", "driver": "cuda_driver", "sync": "cuda_sync", "overhead": "overhead",
          "graph": "graph_trace"}
GPU = {"kernel", "memcpy", "memcpy2", "memset", "graph"}
# Calls that the double makes and the tracer has no use for.
UNTRACED = {"cuDevicePrimaryCtxRetain", "cuStreamCreate", "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphDestroy",
            "cuGraphExecDestroy"}


class Failure(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Failure(" ".join(str(w) for w in what))


def ns(microseconds):
    """Exact, from the digits."""
    return int(Decimal(str(microseconds)) * 1000)


def until(condition, what):
    """Wait for what must come; what `condition` returned then."""
    end = time.monotonic() + PATIENCE
    while not (got := condition()):
        check(time.monotonic() < end, "never", what)
        time.sleep(0.01)
    return got


def is_running(pid):
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


class Trace:
    """A capture, as `heddle convert` writes it as JSON."""

    def __init__(self, place, path, data):
        self.place = place
        self.path = path
        self.data = data
        self.events = data["traceEvents"]
        self.slices = [e for e in self.events if e.get("ph") == "X"]
        self.instants = [e for e in self.events if e.get("ph") in ("i", "I")]

    def of(self, category):
        return [e for e in self.slices if e.get("cat") == category]

    @functools.cached_property
    def ledgers(self):
        return self.place.ledger(self.path)

    ledger = property(lambda self: self.ledgers[0])
    losses = property(lambda self: self.ledgers[1])

    @property
    def capture(self):
        return self.data.get("heddle.capture", {})

    @property
    def pid(self):
        return int(Path(self.path).name.split("-")[-2])


class Run:
    """One run of a program: its end, its output, its captures and the truth."""

    def __init__(self, place, status, stdout, stderr, folder, truth):
        self.place = place
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
        self.folder = folder
        self.truth_path = truth

    @property
    def files(self):
        return sorted(Path(self.folder).glob("*.hdcap"))

    def traces(self):
        return [self.place.read(path) for path in self.files]

    def trace(self):
        files = self.files
        check(len(files) == 1, "captures:", [f.name for f in files])
        return self.place.read(files[0])

    def truth(self, pid=None):
        """Its whole lines: programs may still write it."""
        text = Path(self.truth_path).read_bytes() if os.path.exists(self.truth_path) else b""
        rows = [json.loads(line) for line in text[:text.rfind(b"\n") + 1].splitlines()]
        return [row for row in rows if pid is None or row.get("pid") == pid]


class Place:
    """The programs of the build, and a folder for files."""

    def __init__(self, options):
        self.app = os.path.abspath(options.app)
        self.library = os.path.abspath(options.library)
        self.heddle = os.path.abspath(options.heddle)
        self.fake = os.path.dirname(self.app)
        self.root = tempfile.mkdtemp(prefix="heddle-inject-")
        self.count = 0
        self.functions = {}  # of the program, by offset

    def close(self):
        shutil.rmtree(self.root, ignore_errors=True)

    def folder(self):
        self.count += 1
        path = os.path.join(self.root, str(self.count))
        os.mkdir(path)
        return path

    def environment(self, folder, script, options, inject, old, more):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("HEDDLE_", "CUDA_", "NVTX_", "FAKE_CUDA_", "LD_"))}
        fakes = [os.path.join(self.fake, "old")] if old else []
        env["LD_LIBRARY_PATH"] = ":".join(fakes + [self.fake])
        env["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1"
        env["FAKE_CUDA_TRUTH"] = os.path.join(folder, "truth")
        path = os.path.join(folder, "script")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        env["FAKE_CUDA_SCRIPT"] = path
        if inject:
            env["CUDA_INJECTION64_PATH"] = self.library
            env["NVTX_INJECTION64_PATH"] = self.library
            env["HEDDLE_CAPTURE_DIR"] = os.path.join(folder, "captures")
            env["HEDDLE_CUPTI"] = os.path.join(fakes[0] if old else self.fake, "libcupti.so.13")
            if options:
                env["HEDDLE_CAPTURE_OPTIONS"] = options
        env.update(more or {})
        return {k: v for k, v in env.items() if v is not None}

    def prepare(self, script, options, inject, old, more):
        folder = self.folder()
        os.mkdir(os.path.join(folder, "captures"))
        return folder, self.environment(folder, script, options, inject, old, more)

    def run(self, *words, script="", options=None, inject=True, old=False, env=None, limit=PATIENCE, before=None):
        folder, environment = self.prepare(script, options, inject, old, env)
        done = subprocess.run([self.app, *words], env=environment, capture_output=True, timeout=limit, cwd=folder,
                              preexec_fn=before)
        return Run(self, done.returncode, done.stdout.decode(), done.stderr.decode(), os.path.join(folder, "captures"),
                   os.path.join(folder, "truth"))

    def record(self, *words, options=(), script="", before=None, meanwhile=None):
        """By `heddle record`: (run, the trace it wrote, what it says). `meanwhile` gets the captures at the word `wait`."""
        folder, env = self.prepare(script, None, False, False, {"HEDDLE_CUPTI": os.path.join(self.fake, "libcupti.so.13")})
        out, truth = os.path.join(folder, "out.json"), os.path.join(folder, "truth")
        process = subprocess.Popen([self.heddle, "record", "--library", self.library, "-o", out, *options, "--", self.app,
                                    *words], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=folder, preexec_fn=before)
        if meanwhile:
            check(process.stdout.readline() == b"waits\n", "it does not wait")
            meanwhile(Run(self, None, "", "", out + ".parts", truth))
        stdout, stderr = process.communicate(b"x" if meanwhile else b"", timeout=PATIENCE)
        run = Run(self, process.returncode, stdout.decode(), stderr.decode(), folder, truth)
        check(os.path.exists(out), "no trace:", run.stderr)
        with open(out, encoding="utf-8") as file:
            return run, Trace(self, out, json.load(file))

    def run_both(self, *words, **named):
        """With the tracer and without: output and end must be the same."""
        with_us = self.run(*words, **named)
        named.pop("options", None)
        without = self.run(*words, inject=False, **named)
        check(with_us.status == without.status, "status", with_us.status, "instead of", without.status,
              with_us.stderr)
        check(with_us.stdout == without.stdout, "output", with_us.stdout, "instead of", without.stdout)
        check(with_us.stderr == without.stderr, "errors", with_us.stderr, "instead of", without.stderr)
        return with_us

    def run_killed(self, *words, when, script="", options=None):
        """SIGKILL once `when(run)` returns. (run, moment of the kill in ns)"""
        folder, environment = self.prepare(script, options, True, False, None)
        process = subprocess.Popen([self.app, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=folder)
        run = Run(self, None, "", "", os.path.join(folder, "captures"), os.path.join(folder, "truth"))
        try:
            when(run)
        finally:
            moment = time.monotonic_ns()
            process.send_signal(signal.SIGKILL)
            out, err = process.communicate()
        run.status, run.stdout, run.stderr = process.returncode, out.decode(), err.decode()
        return run, moment

    def read(self, path):
        out = os.path.join(self.folder(), "trace.json")
        done = subprocess.run([self.heddle, "convert", str(path), out], capture_output=True, timeout=PATIENCE)
        check(done.returncode == 0, "heddle convert", path, done.returncode, done.stderr.decode())
        with open(out, encoding="utf-8") as file:
            return Trace(self, str(path), json.load(file))

    def ledger(self, path):
        done = subprocess.run([self.heddle, "info", "--json", str(path)], capture_output=True, timeout=PATIENCE)
        check(done.returncode in (0, 1), "heddle info", path, done.stderr.decode())
        counts, losses = collections.Counter(), collections.Counter()
        for row in find_ledger(json.loads(done.stdout)):
            counts[row["code"]] += row["count"]
            if row["level"] != "note":
                losses[row["code"]] += row["count"]
        return counts, losses


class Waiting:
    """A program that stops at each word `wait`, until it is told to go on."""

    def __init__(self, place, *words, options=None, script="", shell=None, before=None, env=None):
        self.place = place
        self.folder, environment = place.prepare(script, options, True, False, env)
        command = ["/bin/sh", "-c", shell] if shell else [place.app, *words]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=self.folder, preexec_fn=before)
        self.pid = self.process.pid

    def until_it_waits(self):
        line = self.process.stdout.readline()
        check(line == b"waits\n", "instead of waiting:", line)

    def go_on(self):
        self.process.stdin.write(b"x")
        self.process.stdin.flush()

    def trigger(self, action, *more, status=0):
        done = subprocess.run([self.place.heddle, "trigger", str(self.pid), action, "--json", *more],
                              capture_output=True, timeout=PATIENCE)
        check(done.returncode == status, "heddle trigger", action, done.returncode, done.stderr.decode())
        return json.loads(done.stdout)

    def so_far(self):
        """What is written by now."""
        return Run(self.place, None, "", "", os.path.join(self.folder, "captures"), os.path.join(self.folder, "truth"))

    def end(self):
        out, err = self.process.communicate(timeout=PATIENCE)
        return Run(self.place, self.process.returncode, out.decode(), err.decode(),
                   os.path.join(self.folder, "captures"), os.path.join(self.folder, "truth"))


def find_ledger(data):
    """The rows with a code and a count, wherever `heddle info --json` has them."""
    if isinstance(data, list):
        for item in data:
            yield from find_ledger(item)
    elif isinstance(data, dict):
        if "code" in data and "count" in data:
            yield data
        else:
            for item in data.values():
                yield from find_ledger(item)


def expected(truth, fates=("delivered",)):
    """Slices that a trace must have, as (category, correlation, start, end): a Counter."""
    out = collections.Counter()
    for row in truth:
        if row["what"] == "record" and row["kind"] in SLICES and row["fate"] in fates and row["name"] not in UNTRACED:
            out[key_of(row)] += 1
    return out


def key_of(row):
    return SLICES[row["kind"]], row["correlation"], row["start"], row["end"]


def found(trace):
    out = collections.Counter()
    for event in trace.slices:
        if event.get("cat") in SLICES.values():
            start = ns(event["ts"])
            out[event["cat"], event.get("args", {}).get("correlation", 0), start, start + ns(event["dur"])] += 1
    return out


def check_same(trace, truth, **named):
    want, have = expected(truth, **named), found(trace)
    check(want, "the truth is empty")
    missing, more = want - have, have - want
    check(not missing and not more, sum(missing.values()), "of", sum(want.values()), "missing:",
          list(missing.items())[:4], "; too many:", sum(more.values()), list(more.items())[:4])


def run_tests(functions):
    """The command line of a file of tests, and those that it names a part of: each once. What to exit with."""
    parser = argparse.ArgumentParser()
    for name in ("app", "library", "heddle"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    names = [n for n in functions if n.startswith("test_") and (not options.tests or any(t in n for t in options.tests))]
    failed = []
    place = Place(options)
    try:
        for name in names:
            start = time.monotonic()
            try:
                functions[name](place)
                print(f"ok   {name} ({time.monotonic() - start:.1f} s)", flush=True)
            except (Failure, KeyError, OSError, subprocess.SubprocessError) as error:
                failed.append(name)
                print(f"FAIL {name}: {type(error).__name__} {error}"[:1500], flush=True)
    finally:
        place.close()
    print(f"{len(names) - len(failed)} of {len(names)} passed")
    return 1 if failed or not names else 0
