#!/usr/bin/python3
"""Real files of other profilers, cut and flipped: no crash, no hang, no flood of memory, and what was lost is told.

usage: tests/format/checks/cut_check.py --heddle PROGRAM [--cuts N] [--flips N] [NAME...]

Each file of ../shared/data that is not Chrome JSON or OTF2 (those have tests of their own) is cut at N places, spread
evenly, and N times some bytes of it are turned. `heddle info` then either refuses the file, says what it lost or
repaired, or says that nothing is missing and has as many events as are in the whole file. A cut behind a whole line of
text, or a whole message of protobuf, cannot be told from a file that ends there: for those formats fewer events are
right without a word. A file that is cut never has more events than the whole one. --cuts 200 is the full round, which
takes minutes. Skipped (77) where there is no ../shared.
"""
import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DATA = Path(__file__).resolve().parents[3].parent / "shared/data"
FOLDERS = ["ascend", "cupti", "ftrace", "nsys", "perf", "pprof", "rocm", "rocm/rocprofv3_csv", "stacks", "xctrace", "xplane",
           "xray"]
ARE_NOT = (".string", "kernel_details.csv", "_trace.csv", ".cc", "xbin", "xfbin", "trace_event.json")
# Formats whose records follow one another without a count, a size or an end.
OPEN_ENDED = {"ftrace", "folded", "perf-script", "cupti", "pprof", "xplane", "rocprofv3"}
OPEN_ENDED_FILES = ("perf.data.piped", "basic.xbin")
SECONDS = 60
ROOM = 256 << 20  # beside 8 times the memory for the whole file


class Outcome:
    def __init__(self, heddle, path):
        run = subprocess.Popen([heddle, "info", "--json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        timer = threading.Timer(SECONDS, run.kill)
        timer.start()
        out = run.stdout.read()
        self.error = run.stderr.read().decode(errors="replace").strip()
        _, status, usage = os.wait4(run.pid, 0)
        timer.cancel()
        run.stdout.close()
        run.stderr.close()
        run.returncode = self.code = os.waitstatus_to_exitcode(status)
        self.memory = usage.ru_maxrss << 10  # or that of this program, where it has more
        about = json.loads(out) if out and self.code in (0, 1) else {}
        self.events, self.format = about.get("events"), about.get("format")
        self.told = about.get("losses", 0) + about.get("repairs", 0)


def fault_of(outcome, whole, is_cut, is_open_ended):
    """What is wrong, or None."""
    if outcome.code not in (0, 1):
        return f"ended with {outcome.code}: {outcome.error[-200:]}"
    if outcome.memory > 8 * whole.memory + ROOM:
        return f"took {outcome.memory >> 20} MiB"
    if outcome.events is None:
        return None if outcome.error else "refused without a word"
    if not is_cut:
        return None
    if outcome.events > whole.events + outcome.told:
        return f"{outcome.events} events of {whole.events}"
    if outcome.events < whole.events and not outcome.told and not is_open_ended:
        return f"{whole.events - outcome.events} of {whole.events} events lost without a word"
    return None


def turned(raw, dice):
    changed = bytearray(raw)
    for _ in range(dice.choice([1, 1, 4, 64])):
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def check(heddle, name, cuts, flips, folder):
    raw = (DATA / name).read_bytes()
    ending = Path(name)
    if ending.suffix == ".gz":
        raw, ending = gzip.decompress(raw), ending.with_suffix("")
    place = Path(tempfile.mkdtemp(dir=folder)) / ending.name
    place.write_bytes(raw)
    whole = Outcome(heddle, place)
    if whole.events is None:  # one of them came with damage that tells nothing more
        return name, 1, [] if "copied as text" in whole.error else [f"{name} as it is: {whole.error}"]
    is_open_ended = whole.format in OPEN_ENDED or ending.name.startswith(OPEN_ENDED_FILES)
    dice, faults, seen = random.Random(name), [], 0
    for i in range(cuts + flips):
        is_cut = i < cuts
        what = f"cut at {i + 1}/{cuts + 1}" if is_cut else f"flip {i - cuts}"
        place.write_bytes(raw[: len(raw) * (i + 1) // (cuts + 1)] if is_cut else turned(raw, dice))
        fault = fault_of(Outcome(heddle, place), whole, is_cut, is_open_ended)
        seen += 1
        if fault:
            faults.append(f"{name} ({whole.format}), {what}: {fault}")
    return name, seen, faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--cuts", type=int, default=6)
    parser.add_argument("--flips", type=int, default=4)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if not DATA.is_dir():
        print("no ../shared/data here")
        return 77
    names = sorted(f"{folder}/{path.name}" for folder in FOLDERS for path in (DATA / folder).iterdir()
                   if path.is_file() and not path.name.endswith(ARE_NOT))
    names = [name for name in names if not args.names or any(wanted in name for wanted in args.names)]
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="heddle-cut-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, seen, faults in pool.map(lambda name: check(args.heddle, name, args.cuts, args.flips, folder), names):
            passed += seen - len(faults)
            failed += len(faults)
            for fault in faults:
                print(f"FAIL: {fault}")
            print(f"{name}: {seen} damaged files", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
