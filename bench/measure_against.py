#!/usr/bin/env python3
"""Compares two builds of heddle: CPU time and peak memory of every report, of info, check, query, flame, convert, and of a job.

  measure_against.py OLD NEW [--inputs FILE...] [--events N] [--ranks 8] [--only WORD,...] [--runs 5] [--folder DIR] [--limit 1.05]

OLD and NEW are commands. They run in turn, so that other programs slow both; a figure is the median of the user and system time of
all threads, and of the peak resident set. Without --inputs, `OLD synth` makes a trace of N events, of which reports read a store, and
a job of so many ranks. Rows above the limit, in time (by more than a hundredth of a second) or memory (by more than a megabyte), are
marked; the status is then 1.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

MB = 1e6
LEAST_SECONDS, LEAST_MB = 0.01, 1.0
QUERIES = (
    ("count", "select count(*) from slice"),
    ("by name", "select name, count(*), sum(dur) from slice group by name"),
    ("one track", "select sum(dur) from slice where track_id = 3 and dur > 1000"),
    ("join", "select count(*), sum(d.dur) from flow f join slice d on d.id = f.slice_in"),
    ("arguments", "select count(*), sum(extract_arg(arg_set_id, 'args.stream')) from slice where category = 'kernel'"),
)


def run_once(command, out):
    """Seconds of CPU and MB of memory; None if the command fails. Status 1 is that something was found, but of a query, that
    it failed."""
    with open(os.devnull, "wb") as null:
        process = subprocess.Popen([str(c) for c in command], stdin=null, stdout=null, stderr=null)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if out.exists():
        out.unlink()
    if process.returncode not in (0, 1) or (process.returncode and command[1] == "query"):
        return None
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / MB


def compare(builds, arguments, out, runs):
    """The medians of each build; None: one of them does not have the command."""
    figures = [[], []]
    for _ in range(runs):
        for of_build, heddle in zip(figures, builds):
            one = run_once([heddle, *arguments], out)
            if not one:
                return None
            of_build.append(one)
    return [[statistics.median(values) for values in zip(*of_build)] for of_build in figures]


def reports_of(heddle):
    listed = subprocess.run([heddle, "report"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line[:1].isalpha()]


def questions(builds, source, out, ranks):
    """Name and arguments of each command."""
    both = [r for r in reports_of(builds[1]) if r in reports_of(builds[0])]
    yield "FILE", [source]
    yield "info", ["info", source]
    yield "check", ["check", source]
    for name, sql in QUERIES:
        yield f"query {name}", ["query", source, sql]
    yield "flame", ["flame", source, "-o", out.with_suffix(".folded")]
    yield "convert", ["convert", "-q", source, out.with_suffix(".heddle")]
    for report in both:
        yield f"report {report}", ["report", report, "--json", source]
    for report in both if ranks else ():
        yield f"report {report}, {len(ranks)} ranks", ["report", report, "--json", *ranks]


def make_inputs(heddle, folder, events, ranks):
    """A store of a synthetic trace, and the ranks of a job, as they are recorded."""
    trace, store = folder / "trace.json", folder / "trace.heddle"
    subprocess.run([heddle, "synth", "-q", "--events", str(events), "-o", trace], check=True)
    subprocess.run([heddle, "convert", "-q", trace, store], check=True)
    job = [folder / f"rank{rank}.json" for rank in range(ranks)]
    for rank, path in enumerate(job):
        subprocess.run([heddle, "synth", "-q", "--ranks", str(ranks), "--rank", str(rank), "--events", str(events // 10),
                        "-o", path], check=True)
    return [trace, store], job


def print_row(name, source, figures, limit):
    """Whether the row is within the limit."""
    (old_cpu, old_mb), (new_cpu, new_mb) = figures
    slower = new_cpu > limit * old_cpu and new_cpu - old_cpu > LEAST_SECONDS
    larger = new_mb > limit * old_mb and new_mb - old_mb > LEAST_MB
    print(f"{name:<34}{source:<26}{old_cpu:8.3f}{new_cpu:8.3f} s{new_cpu / old_cpu:6.2f}{old_mb:8.0f}{new_mb:8.0f} MB"
          f"{new_mb / old_mb:6.2f}{'  slower' * slower}{'  larger' * larger}", flush=True)
    return not (slower or larger)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--inputs", nargs="*", type=pathlib.Path, default=[])
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--only", default="", help="rows whose name contains one of these words")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=1.05)
    parser.add_argument("--folder", help="for inputs that are made, and outputs")
    options = parser.parse_args()
    builds, only = [options.old, options.new], [w for w in options.only.split(",") if w]
    fine = True
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        inputs, job = options.inputs, []
        if not inputs:
            inputs, job = make_inputs(options.old, folder, options.events, options.ranks)
        for i, source in enumerate(inputs):
            for what, arguments in questions(builds, source, folder / "out", job if i == 0 else []):
                if only and not any(word in what for word in only):
                    continue
                figures = compare(builds, arguments, folder / "out", options.runs)
                if figures:
                    fine &= print_row(what, source.name, figures, options.limit)
    return not fine


if __name__ == "__main__":
    sys.exit(main())
