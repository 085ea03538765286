#!/usr/bin/env python3
"""Measure each figure beside its peer, print a table, and write it as Markdown; bench/run.sh calls this.

usage: measure.py BUILD_DIR BENCH_DIR SMALL NAME=INPUT...

A figure and its peers run in turn, BENCH_RUNS times; what is shown are medians. Seconds are of the whole process
(where a program measures a part of itself, of that part), memory is the peak resident set as /usr/bin/time reports it,
in percent of the input as JSON text; MB are 1,000,000 bytes. CPU is user and system time of all threads: it tells,
where others keep the machine busy, what the time would be without them (no less than CPU / threads).
"""
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

import measure_capture
import measure_convert
import measure_flame
import measure_import
import measure_page
import measure_python
import measure_query
import measure_report
from measure_run import RUNS, THREADS, Load, alternate, memory, warm

ONLY = [w for w in os.environ.get("BENCH_ONLY", "").split(",") if w]
FIX_FLOOR, FIX_MEMORY = 600, 25
INGEST_FLOOR, INGEST_MEMORY = 500, 60
GZIP_FLOOR = 1.5
JUDGED_BYTES = 400_000_000  # smaller inputs are mostly buffers and thread starts: no floor holds for them


class Bench:
    def __init__(self, build, folder, small, inputs):
        self.heddle = os.path.join(build, "src/cli/heddle")
        self.programs = os.path.join(build, "bench")
        self.here = os.path.dirname(os.path.abspath(__file__))
        self.folder = folder
        self.out = os.path.join(folder, "out.json")
        self.small = small.split("=", 1)
        self.inputs = [i.split("=", 1) for i in inputs]
        self.rows = []
        self.missed = 0

    def program(self, name):
        return os.path.join(self.programs, name)

    def add(self, what, name, size, outcome, figure, peer="", floor="", met=None, others=0.0, whole=True):
        if size < JUDGED_BYTES:
            met = None
        verdict = "" if met is None else "met" if met else "NOT MET"
        self.missed += met is False
        row = (what, f"{name} {size / 1e6:,.0f} MB", figure, f"{memory(outcome, size):.0f} %" if whole else "",
               f"{statistics.median(outcome.cpus):.1f} s" if whole else "", peer, floor, verdict, "" if others is None else f"{others:.1f}")
        self.rows.append(row)
        self.print_row(row)

    @staticmethod
    def print_row(row):
        print("  ".join(f"{c:<{w}}" for c, w in zip(row, WIDTHS)).rstrip(), flush=True)

    # ---- the rows ----

    def fix(self):
        for name, path in self.inputs:
            size = os.path.getsize(path)
            warm(path)
            (fix, cp), others = alternate(
                ([self.heddle, "fix", "-q", "--threads", str(THREADS), path, self.out], self.out, (0,)),
                (["cp", path, self.out], self.out, (0,)))
            speed, mem = size / fix.seconds / 1e6, memory(fix, size)
            self.add("fix IN OUT", name, size, fix, f"{speed:,.0f} MB/s",
                     f"cp: {size / cp.seconds / 1e6:,.0f} MB/s, {fix.seconds / cp.seconds:.1f} times",
                     f"{FIX_FLOOR} MB/s, {FIX_MEMORY} %", speed >= FIX_FLOOR and mem <= FIX_MEMORY, others)
        name, path = self.small
        size = os.path.getsize(path)
        warm(path)
        (fix,), _ = alternate(
            ([self.heddle, "fix", "-q", "--threads", str(THREADS), path, self.out], self.out, (0,)))
        (python,), others = alternate(
            ([sys.executable, os.path.join(self.here, "peers", "peer_fix.py"), path, self.out], self.out, (0,)), runs=1)
        self.add("fix IN OUT", name, size, fix, f"{size / fix.seconds / 1e6:,.0f} MB/s",
                 f"Python script: {size / python.seconds / 1e6:,.0f} MB/s, {memory(python, size):,.0f} %", others=others)

    def ingest(self):
        processor = shutil.which("trace_processor_shell")
        for name, path in self.inputs:
            size = os.path.getsize(path)
            warm(path)
            commands = [([self.program("bench_ingest"), "-t", str(THREADS), path], None, (0,))]
            if processor:
                query = os.path.join(self.folder, "count.sql")
                with open(query, "w") as f:
                    f.write("select count(*) from slice;\n")
                commands.append(([processor, "-q", query, path], None, (0,)))
            outcomes, others = alternate(*commands)
            speed, mem = size / outcomes[0].seconds / 1e6, memory(outcomes[0], size)
            peer = "trace_processor_shell: not installed"
            if processor:
                peer = (f"trace_processor_shell: {size / outcomes[1].seconds / 1e6:,.0f} MB/s, "
                        f"{memory(outcomes[1], size):,.0f} %")
            self.add("ingest with args", name, size, outcomes[0], f"{speed:,.0f} MB/s", peer,
                     f"{INGEST_FLOOR} MB/s, {INGEST_MEMORY} %", speed >= INGEST_FLOOR and mem <= INGEST_MEMORY, others)
        name, path = self.small
        size = os.path.getsize(path)
        warm(path)
        (ingest,), _ = alternate(([self.program("bench_ingest"), "-t", str(THREADS), path], None, (0,)))
        (python,), others = alternate(([sys.executable, os.path.join(self.here, "peers", "peer_fix.py"), path], None, (0,)), runs=1)
        self.add("ingest with args", name, size, ingest, f"{size / ingest.seconds / 1e6:,.0f} MB/s",
                 f"Python json.load: {size / python.seconds / 1e6:,.0f} MB/s, {memory(python, size):,.0f} %",
                 others=others)

    def scan(self):
        peer = self.program("peer_simdjson")
        for name, path in self.inputs:
            size = os.path.getsize(path)
            warm(path)
            commands = [([self.program("bench_scan"), path], None, (0,))]
            if os.path.exists(peer):
                commands.append(([peer, path], None, (0,)))
            outcomes, others = alternate(*commands, runs=(RUNS + 1) // 2)
            text = "simdjson: not installed"
            if len(outcomes) == 2:
                ours, theirs = (o.words[0] for o in outcomes)
                for key in ("events", "timed", "phases", "name_bytes"):
                    if ours[key] != theirs[key]:
                        sys.exit(f"bench: the scans of {path} differ in {key}: {ours[key]} and {theirs[key]}")
                text = (f"simdjson On-Demand: {outcomes[1].word('mb_per_s'):,.0f} MB/s, "
                        f"{outcomes[0].word('seconds') / outcomes[1].word('seconds'):.1f} times as fast")
            self.add("scan, no args, 1 thread", name, size, outcomes[0], f"{outcomes[0].word('mb_per_s'):,.0f} MB/s",
                     text, others=others, whole=False)

    def gzip(self):
        igzip = shutil.which("igzip")
        if not igzip:
            print("gzip: igzip is not installed (package isal)")
            return
        for name, path in self.inputs:
            size = os.path.getsize(path)
            warm(path, path + ".gz")
            (packed, alone, plain), others = alternate(
                ([self.program("bench_ingest"), "-t", str(THREADS), path + ".gz"], None, (0,)),
                (["sh", "-c", f"exec '{igzip}' -dc '{path}.gz' >/dev/null"], None, (0,)),
                ([self.program("bench_ingest"), "-t", str(THREADS), path], None, (0,)))
            limit = GZIP_FLOOR * (alone.seconds + plain.seconds)
            self.add("ingest of .json.gz", name, size, packed,
                     f"{packed.seconds:.2f} s, {size / packed.seconds / 1e6:,.0f} MB/s",
                     f"igzip -dc: {alone.seconds:.2f} s, {packed.seconds / alone.seconds:.2f} times",
                     f"{GZIP_FLOOR} x ({alone.seconds:.2f} + {plain.seconds:.2f}) = {limit:.2f} s",
                     packed.seconds <= limit, others)

    def threads(self):
        counts = sorted({1, min(2, os.cpu_count()), os.cpu_count()})
        for name, path in self.inputs:
            size = os.path.getsize(path)
            warm(path)
            outcomes, others = alternate(
                *(([self.program("bench_ingest"), "-t", str(n), path], None, (0,)) for n in counts))
            for n, outcome in zip(counts, outcomes):
                self.add(f"ingest, {n} thread" + "s" * (n > 1), name, size, outcome,
                         f"{size / outcome.seconds / 1e6:,.0f} MB/s",
                         f"{outcomes[0].seconds / outcome.seconds:.2f} times one thread" if n > 1 else "",
                         others=others)

    def commands(self):
        for command in ("info", "check"):
            if subprocess.run([self.heddle, command, "--help"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode:
                continue
            for name, path in self.inputs:
                size = os.path.getsize(path)
                warm(path)
                (outcome,), others = alternate(([self.heddle, command, path], None, (0, 1)))
                self.add(f"{command} FILE", name, size, outcome,
                         f"{outcome.seconds:.2f} s, {size / outcome.seconds / 1e6:,.0f} MB/s", others=others)

    def write(self):
        packed = self.out + ".gz"
        igzip = shutil.which("igzip")
        for name, path in self.inputs:
            size = os.path.getsize(path)
            warm(path)
            (plain, cp), others = alternate(
                ([self.program("bench_write"), "-t", str(THREADS), path, self.out], self.out, (0,)),
                (["cp", path, self.out], self.out, (0,)))
            self.add("write .json", name, size, plain, f"{plain.word('mb_per_s'):,.0f} MB/s",
                     f"cp: {size / cp.seconds / 1e6:,.0f} MB/s", others=others, whole=False)
            commands = [([self.program("bench_write"), "-t", str(THREADS), path, packed], packed, (0,))]
            if igzip:
                commands.append((["sh", "-c", f"exec '{igzip}' -c '{path}' >'{packed}'"], packed, (0,)))
            outcomes, others = alternate(*commands)
            self.add("write .json.gz", name, size, outcomes[0], f"{outcomes[0].word('mb_per_s'):,.0f} MB/s",
                     f"igzip -c: {size / outcomes[1].seconds / 1e6:,.0f} MB/s" if igzip else "", others=others,
                     whole=False)

    def lanes(self):
        done = subprocess.run([self.program("bench_lanes")], stdout=subprocess.PIPE, text=True, check=True)
        print("\nlane repair of one track: slices, time, peak memory for a slice, what was done")
        print(done.stdout, end="")
        self.lanes_text = done.stdout


HEADS = ("what", "input", "Heddle", "memory", "CPU", "beside it", "floor", "", "others")
WIDTHS = (24, 14, 20, 6, 6, 48, 28, 7, 6)


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = " ".join(line.split(":", 1)[1].split())
                break
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {os.cpu_count()} cores, {gib:.0f} GiB, {platform.system()} {platform.release()}"


def markdown(bench, about):
    lines = [f"<!-- made by `make bench` on {time.strftime('%Y-%m-%d')} -->", about, ""]
    lines.append("| " + " | ".join(h or "met?" for h in HEADS) + " |")
    lines.append("|" + "---|" * len(HEADS))
    lines += ["| " + " | ".join(row) + " |" for row in bench.rows]
    if hasattr(bench, "lanes_text"):
        lines += ["", "Lane repair of one track (slices, time, peak memory for a slice, what was done):", "", "```",
                  bench.lanes_text.rstrip(), "```"]
    if hasattr(bench, "size_lines"):
        lines += ["", "Sizes in bytes of real traces:", ""] + bench.size_lines
    return "\n".join(lines) + "\n"


def main(build, folder, small, *inputs):
    if not os.path.exists("/usr/bin/time"):
        sys.exit("bench: /usr/bin/time is missing (package time)")
    bench, load = Bench(build, folder, small, inputs), Load()
    before = os.getloadavg()[0]
    print(f"{machine()}; {THREADS} thread{'s' * (THREADS > 1)}, {RUNS} runs, medians; "
          f"load before {before:.2f}\n")
    print("  ".join(f"{c:<{w}}" for c, w in zip(HEADS, WIDTHS)).rstrip())
    for part in ("fix", "ingest", "scan", "gzip", "threads", "commands", "write", "lanes"):
        if not ONLY or part in ONLY:
            getattr(bench, part)()
    for part in (measure_convert.store, measure_convert.perfetto, measure_convert.otf2, measure_convert.sizes,
                 measure_flame.join, measure_flame.flame, measure_flame.svg, measure_page.tiles,
                 measure_page.page, measure_report.report, measure_query.query, measure_import.imports,
                 measure_capture.capture, measure_python.python):
        if not ONLY or part.__name__ in ONLY:
            part(bench)
    about = (f"{machine()}; {THREADS} thread{'s' * (THREADS > 1)}, medians of {RUNS} runs in turn with the peer, "
             f"everything in the page cache. Others: cores that other processes kept busy meanwhile, "
             f"{load.others():.1f} on the whole (load {before:.2f} before, {os.getloadavg()[0]:.2f} after).")
    text = markdown(bench, about)
    result = os.path.join(folder, "results.md")
    with open(result, "w") as f:
        f.write(text)
    print(f"\n{text}\nbench: {bench.missed} floor(s) not met; the table above is in {os.path.relpath(result)}")
    return 1 if bench.missed else 0


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
