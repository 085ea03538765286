"""The rows of capturing: rings, events of sessions, stacks, launches with the injected tracer; see measure.py."""
import os
import statistics
import subprocess

import measure_inject
from measure_run import RUNS

RING_PER_S, EMIT_NS, STACK_NS = 50e6, 25, 1500


def lines(program, *arguments):
    """Each run prints the same lines of key=value: one dict a line, with the median of each number over the runs."""
    runs = []
    for _ in range(RUNS):
        done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=True)
        runs.append([dict(w.split("=", 1) for w in line.split() if "=" in w) for line in done.stdout.splitlines()])
    out = []
    for same in zip(*runs):
        out.append({key: median([line[key] for line in same]) for key in same[0]})
    return out


def median(words):
    try:
        return statistics.median(float(w) for w in words)
    except ValueError:
        return words[0]


def row(bench, what, of, figure, beside="", floor="", met=None):
    bench.missed += met is False
    verdict = "" if met is None else "met" if met else "NOT MET"
    bench.rows.append((what, of, figure, "", "", beside, floor, verdict, ""))
    bench.print_row(bench.rows[-1])


def rings(bench):
    for m in lines(bench.program("bench_ring"), "8000000"):
        through, is_one = m["through_per_s"], m["producers"] == 1 and m["consumer"] == "rests"
        judged = is_one and m["policy"] == "block"
        row(bench, "ring", f"{m['producers']:.0f} to 1, {m['policy']}", f"{m['push_ns']:.1f} ns a push",
            f"{through / 1e6:.0f} M/s through; the consumer is {m['consumer']}" if m["consumer"] == "eager"
            else f"{through / 1e6:.0f} M/s through; the consumer rests",
            f"{RING_PER_S / 1e6:.0f} M/s" if judged else "", through >= RING_PER_S if judged else None)


def sessions(bench):
    for m in lines(bench.program("bench_session"), "-d", bench.folder):
        reads_clock = m["clock"] == 1
        judged = m["threads"] == 1 and not reads_clock
        row(bench, "event of a session", f"{m['threads']:.0f} threads, {m['policy']}", f"{m['emit_ns']:.1f} ns",
            f"reads the clock: {m['clock_ns']:.1f} ns of it" if reads_clock else "with times of its own",
            f"{EMIT_NS} ns" if judged else "", m["emit_ns"] < EMIT_NS if judged else None)


def stacks(bench):
    for m in lines(bench.program("bench_stack"), "-d", bench.folder):
        judged = "floor_ns" in m
        row(bench, "stack", f"{m['of']:.0f} frames", f"{m['stack_ns']:.0f} ns", f"{m['way']}: {m['frames']:.0f} found",
            f"{STACK_NS} ns" if judged else "", m["stack_ns"] < STACK_NS if judged else None)


def launches(bench):
    build = os.path.dirname(os.path.dirname(bench.program("bench_inject")))
    for name, (whole, ours, said) in measure_inject.measure(build, 3 * RUNS, 10000).items():
        goal = measure_inject.GOALS.get(name)
        if goal:
            row(bench, "CUDA launch (double)", name, f"{ours:.0f} ns more", f"by its own account {said:.0f} ns",
                f"{goal} ns", ours < goal)
        else:
            row(bench, "CUDA launch (double)", name, f"{whole:.0f} ns in all")


def capture(bench):
    for part in (rings, sessions, stacks, launches):
        part(bench)
