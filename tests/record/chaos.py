#!/usr/bin/python3
"""heddle record while programs and heddle itself are killed, stopped, forked, replaced or out of disk, at random moments.

usage: tests/record/chaos.py --heddle PROGRAM --tracer FILE --app PROGRAM [--rounds N] [--only KIND] [-v]

The program counts its kernels and NVTX ranges itself, before and after each, in a file that is mapped by all of its
processes (fake_cuda/emitted.h). In each round, for both:  done <= in the trace + counted as lost <= begun.
A full disk is a tmpfs in a user namespace; without one these rounds are left out.
"""
import argparse
import collections
import csv
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(1, str(SOURCE / "tests"))
from patience import patience  # noqa: E402
import rounds  # noqa: E402

TIMEOUT_S = patience(120)
ENDLESS = 100_000_000
# Losses of events of any kind.
LOST = ("capture.dropped-newest", "capture.dropped-oldest", "capture.dropped-nested", "capture.events-missing", "cuda.dropped")
# Losses of an unknown number: the account cannot be checked. Allowed where heddle itself is killed.
UNKNOWN = ("capture.not-finished", "session.rings-lost", "session.ring-damaged", "cuda.buffers-unread")


class Round:
    def __init__(self, paths, number, rng):
        self.paths, self.number, self.rng = paths, number, rng
        self.dir = Path(tempfile.mkdtemp(prefix="heddle-chaos-"))
        self.place = self.dir  # where the trace goes
        self.may_be_unknown = False
        self.policy = rng.choice(["newest", "newest", "oldest", "block"])
        self.did = f" ({self.policy})"
        env = {k: v for k, v in os.environ.items() if not k.startswith(("HEDDLE_", "CUDA_", "NVTX_", "FAKE_"))}
        fake = paths.app.parent
        env.update(HEDDLE_CUDA_LIBRARY=str(paths.tracer), HEDDLE_CUPTI=str(fake / "libcupti.so.13"),
                   LD_LIBRARY_PATH=str(fake), FAKE_APP_COUNTS=str(self.dir / "counts"))
        self.env = env

    def start(self, *words):
        """heddle record, and the pid of the program once it runs."""
        self.heddle = subprocess.Popen(
            [self.paths.heddle, "record", "--policy", self.policy, "-o", self.place / "out.heddle", "--", self.paths.app, "pid",
             *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.dir, env=self.env,
            start_new_session=True)
        self.pid = int(self.heddle.stdout.readline())

    def wait_a_moment(self, most_s=0.15):
        moment = self.rng.random() * most_s
        self.did += f" {moment * 1000:.0f} ms"
        time.sleep(moment)

    def kill(self, pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def finish(self):
        _, self.err = self.heddle.communicate(timeout=TIMEOUT_S)
        return self.heddle.returncode

    def recover(self):
        done = subprocess.run(
            [self.paths.heddle, "record", "--recover", self.place / "out.heddle.parts", "-o", self.dir / "recovered.heddle"],
            capture_output=True, text=True, env=self.env, timeout=TIMEOUT_S)
        self.err += done.stderr
        assert done.returncode == 0, f"--recover gives {done.returncode}: {self.err}"

    # ---- what happens ----

    def kill_the_program(self):
        self.start(*self.rng.choice([(f"mix:{ENDLESS}",), (f"background:{ENDLESS}", f"mix:{ENDLESS}"),
                                     (f"ranges:{ENDLESS}",), (f"runtime:{ENDLESS}",)]))
        self.wait_a_moment()
        self.kill(self.pid, self.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV]))
        self.finish()

    def stop_and_continue(self):
        self.start(f"background:{ENDLESS}", f"mix:{self.rng.randrange(2000, 20000)}")
        for _ in range(3):
            self.wait_a_moment(0.05)
            self.kill(self.pid, signal.SIGSTOP)
            self.wait_a_moment(0.05)
            self.kill(self.pid, signal.SIGCONT)
        if self.rng.random() < 0.5:
            self.kill(self.pid, signal.SIGKILL)
        self.finish()

    def stop_heddle(self):
        self.start(f"mix:{ENDLESS}")
        self.wait_a_moment(0.05)
        self.kill(self.heddle.pid, signal.SIGSTOP)
        self.wait_a_moment(0.05)
        self.kill(self.pid, signal.SIGKILL)
        self.wait_a_moment(0.02)
        self.kill(self.heddle.pid, signal.SIGCONT)
        self.finish()

    def kill_heddle(self):
        self.start(f"mix:{self.rng.randrange(100, 20000)}")
        self.wait_a_moment(0.05)
        self.kill(self.heddle.pid, signal.SIGKILL)
        self.may_be_unknown = True  # heddle may be killed before it has received a program's memory
        self.finish()  # the program ends by itself, and with it the pipe
        self.recover()

    def storm(self):
        self.start(f"ranges:{self.rng.randrange(1, 50)}", f"storm:{self.rng.randrange(2, 30)}",
                   f"mix:{self.rng.randrange(1000)}", self.rng.choice(["_exit:0", "exit:0", "abort"]))
        self.finish()

    def replace(self):
        words = "+".join([f"mix={self.rng.randrange(3000)}", self.rng.choice(["_exit=0", "exit=0", "ranges=5"])])
        self.start(*self.rng.choice([(f"background:{ENDLESS}",), ()]), f"mix:{self.rng.randrange(3000)}", f"become:{words}")
        self.finish()

    def unload(self):
        self.start(f"mix:{self.rng.randrange(500)}", "dlclose", f"mix:{self.rng.randrange(500)}", "dlclose", "exit:0")
        self.finish()

    def leave(self):
        self.start(f"background:{ENDLESS}", f"mix:{self.rng.randrange(5000)}", self.rng.choice(["_exit:0", "exit:0"]))
        self.finish()

    def fill_the_disk(self):
        disk = self.place = self.dir / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", disk], check=True)
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * self.rng.randrange(3 << 20, (4 << 20) - (16 << 10)))
        self.start(f"mix:{self.rng.choice([2000, 20000, 60000])}", self.rng.choice(["exit:0", "_exit:0", "abort"]))
        if self.rng.random() < 0.5:
            self.wait_a_moment()
            ballast.unlink(missing_ok=True)
        self.finish()
        ballast.unlink(missing_ok=True)
        if not (disk / "out.heddle").exists() and "was captured" not in self.err:
            self.recover()

    # ---- the account ----

    def trace(self):
        found = [p for p in (self.dir / "recovered.heddle", self.place / "out.heddle") if p.exists()]
        return found[0] if found else None

    def counts(self, query):
        """Rows of two columns, the second a number."""
        out = subprocess.run([self.paths.heddle, "query", "-f", "csv", self.trace(), query], capture_output=True, text=True,
                             env=self.env, timeout=TIMEOUT_S)
        assert out.returncode == 0, out.stderr
        return collections.Counter({name: int(count) for name, count in list(csv.reader(out.stdout.splitlines()))[1:]})

    def shown(self):
        counts = self.counts("SELECT category, count(*) FROM slice WHERE category = 'kernel' OR (category = 'user_annotation' "
                             "AND name = 'range') GROUP BY category")
        return counts["kernel"], counts["user_annotation"]

    def ledger(self):
        return self.counts("SELECT code, sum(count) FROM ledger GROUP BY code")

    def check(self):
        begun_k, done_k, begun_r, done_r = struct.unpack("<4Q", (self.dir / "counts").read_bytes())
        if not self.trace():
            told = "nothing was captured" in self.err and "is full" in self.err
            assert told or not done_k and not done_r, f"no trace of {done_k} kernels and {done_r} ranges: {self.err}"
            return "nothing"
        kernels, ranges = self.shown()
        ledger = self.ledger()
        unknown = {code: ledger[code] for code in UNKNOWN if ledger[code]}
        if unknown and self.may_be_unknown:
            return f"{unknown}"
        lost, due = sum(ledger[code] for code in LOST), ledger["session.not-delivered"]
        text = (f"kernels {done_k} to {begun_k}: {kernels} shown, {due} not delivered; ranges {done_r} to {begun_r}: {ranges} shown; "
                f"{lost} events of all kinds lost")
        about = f"{text}\n{dict(ledger)}\n{self.err}"
        assert not unknown, about
        assert done_k <= kernels + due + lost and done_r <= ranges + lost, about
        assert kernels <= begun_k and ranges <= begun_r and (lost or kernels + due <= begun_k), about
        return text

    def clean(self):
        for pid in {self.pid, self.heddle.pid}:
            self.kill(pid, signal.SIGKILL)
        if self.place != self.dir:
            subprocess.run(["umount", self.place], check=False)
        shutil.rmtree(self.dir, True)


KINDS = [Round.kill_the_program, Round.stop_and_continue, Round.stop_heddle, Round.kill_heddle, Round.storm, Round.replace,
         Round.unload, Round.leave, Round.fill_the_disk]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True, type=Path)
    parser.add_argument("--tracer", required=True, type=Path)
    parser.add_argument("--app", required=True, type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only")
    parser.add_argument("--in-namespace", action="store_true")
    parser.add_argument("-v", action="store_true")
    paths = parser.parse_args()
    if not paths.in_namespace and subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode == 0:
        os.execvp("unshare", ["unshare", "-rm", sys.executable, *sys.argv, "--in-namespace"])
    for name in ("heddle", "tracer", "app"):
        setattr(paths, name, getattr(paths, name).resolve())
    kinds = [k for k in KINDS if paths.only in (None, k.__name__)]
    if not paths.in_namespace and Round.fill_the_disk in kinds:
        kinds.remove(Round.fill_the_disk)
        print("no user namespace: no full disk")
    seed, failed = rounds.seed(1), 0
    for number in range(rounds.rounds(paths.rounds)):
        kind = kinds[number % len(kinds)]
        r = Round(paths, number, random.Random(f"{seed} {number} {kind.__name__}"))
        try:
            kind(r)
            text = r.check()
            if paths.v:
                print(f"{number} {kind.__name__}{r.did}: {text}", flush=True)
        except AssertionError as why:
            failed += 1
            print(f"FAIL round {number}, {kind.__name__}{r.did}: {why}", flush=True)
        finally:
            r.clean()
    print(f"{failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
