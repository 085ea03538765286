#!/usr/bin/env python3
"""Holds the window --steps of reports against SQL, and against the JSON of the trace, read without any code of ours.

  check_steps.py --heddle HEDDLE

The window goes from the first begin of the chosen steps to their last end: activities that start in it are listed, and
`breakdown` divides all of it.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from decimal import Decimal

WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
STEPS = 6
problems = []


def expect(what, got, wanted):
    if got != wanted:
        problems.append(f"{what}: {str(got)[:200]}; wanted {str(wanted)[:200]}")


def busy_in(works, begin, end):
    """Nanoseconds of [begin, end) in which an activity runs."""
    total, reached = 0, begin
    for start, until in sorted(works):
        start, until = max(start, reached), min(until, end)
        total += max(0, until - start)
        reached = max(reached, until)
    return total


class Trace:
    def __init__(self, heddle, path):
        self.heddle, self.path = heddle, path
        events = [e for e in json.load(open(path), parse_float=Decimal)["traceEvents"] if e.get("ph") == "X"]
        spans = [(e["name"], e.get("cat"), int(e["ts"] * 1000), int((e["ts"] + e["dur"]) * 1000)) for e in events]
        self.first = min(start for _, _, start, _ in spans)
        self.steps = {int(name.partition("#")[2]): (start, end) for name, cat, start, end in spans if cat == "user_annotation" and name.startswith("ProfilerStep#")}
        self.works = [(name, cat, start, end) for name, cat, start, end in spans if cat in WORK]

    def ask(self, *words):
        done = subprocess.run([self.heddle, *words, "--json", self.path], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    def sql(self, statement):
        done = subprocess.run([self.heddle, "query", "--json", self.path, statement], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        return [tuple(row.values()) for row in json.loads(done.stdout)]

    def check(self, chosen, first, last):
        begin, end = self.steps[first][0], self.steps[last][1]
        listed = [(name, e - s) for name, cat, s, e in self.works if cat == "kernel" and begin <= s < end]
        # From the file; from SQL over the slices; from SQL over the report.
        totals = {name: [sum(d for n, d in listed if n == name), sum(n == name for n, _ in listed)] for name, _ in listed}
        kernels = {row["name"]: [row["total"], row["count"]] for row in self.ask("report", "kernels", "--steps", chosen)["kernels"]}
        expect(f"--steps {chosen}: kernels", kernels, totals)
        window = f"(select min(ts) from step where name = 'ProfilerStep#{first}') and (select max(ts + dur) - 1 from step where name = 'ProfilerStep#{last}')"
        expect(f"--steps {chosen}: SQL", {name: [total, count] for name, total, count in self.sql(
            f"select name, sum(dur), count(*) from gpu_slice where category = 'kernel' and ts between {window} group by name")}, totals)
        expect(f"--steps {chosen}: as an argument in SQL", {name: [total, count] for name, total, count in self.sql(
            f"select name, total, count from kernels where steps = '{chosen}'")}, totals)
        row = self.ask("report", "breakdown", "--steps", chosen)["breakdown"][0]
        expect(f"--steps {chosen}: breakdown", [row["span"], row["busy"], row["works"]],
               [end - begin, busy_in([(s, e) for _, _, s, e in self.works], begin, end), sum(begin <= s < end for _, _, s, _ in self.works)])
        times = ("--from", f"{begin - self.first}ns", "--until", f"{end - self.first}ns")
        for name in ("steps", "kernels", "breakdown", "idle", "launches", "communication", "critical-path", "summary"):
            one, other = (self.ask("report", name, *words) for words in (("--steps", chosen), times))
            expect(f"report {name} --steps {chosen}, and {' '.join(times)}", one, other)
        expect(f"--steps {chosen}: steps", [row["step"] for row in self.ask("report", "steps", "--steps", chosen)["steps"]],
               [f"ProfilerStep#{n}" for n in range(first, last + 1)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = os.path.abspath(parser.parse_args().heddle)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        subprocess.run([heddle, "synth", "-q", "--steps", str(STEPS), "--seed", "41", "-o", path], check=True)
        trace = Trace(heddle, path)
        expect("steps of the file", sorted(trace.steps), list(range(1, STEPS + 1)))
        for chosen, first, last in (("2:4", 2, 4), ("1", 1, 1), ("ProfilerStep#6", 6, 6), ("5:99", 5, 6)):
            trace.check(chosen, first, last)
        for words in (("--steps", "9"), ("--steps", "4:2"), ("--steps", "x"), ("--steps", "2", "--from", "1us")):
            expect(f"report kernels {' '.join(words)}: it is refused", isinstance(trace.ask("report", "kernels", *words), str), True)
    print("\n".join(problems) or "steps: the same everywhere")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
