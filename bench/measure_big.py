#!/usr/bin/env python3
"""Every command once on traces of 10^7 and 10^8 events under a limit of memory: `make test-big` calls this.

  measure_big.py HEDDLE FOLDER [--events 10000000,100000000] [--limit 8] [--only WORD,...]

Makes a store of each size in FOLDER (heddle synth, seed 1, through a pipe) and, of a tenth of the events, traces of an
unusual shape: one track with all slices, a track for every ten slices, a name for each slice, slices within one another.
Each command runs once in a control group with so many GiB of memory, pages of files included; where this user can make
none, with `ulimit -v`, which also counts what is mapped and not in memory. A row has seconds, CPU seconds, the peak of
memory that is of no file (RssAnon, sampled every 20 ms), and how much more than linearly CPU time (of a view, time) grew from the size before.
Exit status 1: a command failed or was killed, or an answer is wrong: counts and sums of SQL are compared with those of
the maker.
"""
import argparse
import atexit
import json
import os
import resource
import subprocess
import sys
import time

from measure_report import SLICES
from measure_view import Client, Memory, measure_batches, questions

GIB = 1 << 30
REPORTS = SLICES + ("modules", "critical-path", "timeline", "memory", "attribution")
DEPTH = 1000  # slices within one another


class Bench:
    def __init__(self, options):
        self.heddle, self.folder, self.limit = options.heddle, options.folder, int(options.limit * GIB)
        self.only = [word for word in (options.only or "").split(",") if word]
        self.failed, self.rows = 0, {}

        self.group = self.new_group()
        print(f"limit: {options.limit:g} GiB of {'memory' if self.group else 'address space'}", flush=True)

    def new_group(self):
        """A control group with the limit, of cgroup v2 or v1; None: not permitted."""
        for root, limit in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
            group = f"{root}/heddle-big-{os.getpid()}"
            try:
                os.mkdir(group)
                with open(f"{group}/{limit}", "r+", encoding="ascii") as file:  # the system has made it
                    file.write(str(self.limit))
                atexit.register(os.rmdir, group)
                return group
            except OSError:
                if os.path.isdir(group):
                    os.rmdir(group)
        return None

    def limited(self):
        if not self.group:
            return resource.setrlimit(resource.RLIMIT_AS, (self.limit, self.limit))
        with open(f"{self.group}/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    def start(self, command, stdout=subprocess.PIPE, **more):
        return subprocess.Popen([self.heddle, *command], preexec_fn=self.limited, stdout=stdout, **more)

    def fail(self, work, why):
        self.failed += 1
        print(f"FAILED {work}: {why}", flush=True)

    def row(self, shape, work, events, seconds, cpu, peak):
        before = max((n for s, w, n in self.rows if s == shape and w == work and n < events), default=None)
        used = self.rows[shape, work, events] = cpu or seconds
        growth = used / self.rows[shape, work, before] / (events / before) if before else None
        print(f"{shape:10} {events:>11,} {work:28} {seconds:8.2f} s {cpu:8.2f} s {peak:7.0f} MB"
              f"{f'  {growth:.2f}' if growth else ''}", flush=True)

    def wants(self, work):
        return not self.only or any(word in work for word in self.only)

    def run(self, shape, events, work, *command, expect=None, good=(0,), feed=None, stdout=subprocess.PIPE):
        """One command; expect: the last word that it prints. Its output, or None where it failed."""
        if not feed and not self.wants(work):
            return None
        begin = time.perf_counter()
        used = sum(os.times()[2:4])
        process = self.start(command, stdout, text=True, stderr=subprocess.PIPE, stdin=feed)
        memory = Memory(process.pid)
        if feed:
            feed.close()  # the maker ends where the command ends before it
        out, err = process.communicate()
        memory.ended = True
        if process.returncode not in good:
            self.fail(f"{shape} {events:,} {work}", f"exit status {process.returncode}: {err.strip()[-300:]}")
            return None
        self.row(shape, work, events, time.perf_counter() - begin, sum(os.times()[2:4]) - used, memory.take())
        last = (out or "x").split()[-1]
        if expect is not None and last != str(expect):
            self.fail(f"{shape} {events:,} {work}", f"{last} instead of {expect}")
        return out

    # ---- inputs ----

    def path(self, name):
        return os.path.join(self.folder, name)

    def from_pipe(self, shape, events, maker, store):
        """JSON through a pipe into a store."""
        part = self.path("part.heddle")
        self.run(shape, events, "convert JSON of a pipe", "convert", "-q", "-", part, feed=maker.stdout)
        if maker.wait() or not os.path.exists(part):
            sys.exit(f"measure_big: {store} was not made")
        os.rename(part, store)

    def synth(self, events):
        store = self.path(f"synth_{events}.heddle")
        if not os.path.exists(store):
            maker = subprocess.Popen([self.heddle, "synth", "-q", "--events", str(events), "--crossings",
                                      str(events // 10000), "-o", "-"], stdout=subprocess.PIPE)
            self.from_pipe("synth", events, maker, store)
        return store

    def shaped(self, shape, events):
        """(store, slices, sum of durations in ns)"""
        store = self.path(f"{shape}_{events}.heddle")
        if not os.path.exists(store):
            maker = subprocess.Popen([sys.executable, __file__, "--make", shape, str(events)], stdout=subprocess.PIPE)
            self.from_pipe(shape, events, maker, store)
        return store, events, sum(slice_of(shape, i, events)[3] for i in range(events)) * 1000

    # ---- works ----

    def queries(self, shape, events, store, slices=None, total=None):
        sums = self.run(shape, events, "query sum(dur)", "query", "--format", "csv", store, "select sum(dur) from slice",
                        expect=total)
        self.run(shape, events, "query count(*)", "query", "--format", "csv", store, "select count(*) from slice",
                 expect=slices)
        name = self.run(shape, events, "query commonest name", "query", "--format", "csv", store,
                        "select name from slice group by name order by count(*) desc, name limit 1")
        if name:
            self.run(shape, events, "query one name", "query", "--format", "csv", "--param", f"name={name.splitlines()[-1]}",
                     store, "select count(*) from slice where name = :name")
        groups = "select sum(d) from (select sum(dur) as d from slice group by name)"
        self.run(shape, events, "query group by name", "query", "--format", "csv", store, groups,
                 expect=sums.split()[-1] if sums else None)

    def conversions(self, shape, events, store):
        for name in ("chrome", "perfetto"):
            self.run(shape, events, f"convert to {name}", "convert", "-q", "-t", name, store, "-", stdout=subprocess.DEVNULL)
        out = self.path("out.parquet")
        self.run(shape, events, "convert to parquet", "convert", "-q", store, out)
        subprocess.run(["rm", "-rf", out], check=True)

    def view(self, shape, events, store):
        if not self.wants("view"):
            return
        begin = time.perf_counter()
        server = self.start(["view", "--no-open", "--port", "0", "--json", store], text=True)
        memory = Memory(server.pid)
        try:
            client = Client(json.loads(server.stdout.readline())["port"])
            session = {"state": ""}
            while session["state"] != "ready":
                session = json.loads(client.get("session")[1])["traces"][0]
                if session["state"] == "failed":
                    raise RuntimeError(session["error"])
                time.sleep(0.005)
            _, ids = questions(client, session)
            client.get("tiles", z=max(0, session["span_ns"].bit_length() - 9), i=0, tracks=ids)
            self.row(shape, "view: first tiles", events, time.perf_counter() - begin, 0, memory.take())
            one, _ = measure_batches(client.connection.port, ids, session["span_ns"], 1)
            self.row(shape, "view: tiles, p95", events, one["p95"] / 1000, 0, memory.take())
        except (RuntimeError, OSError, ValueError) as error:
            self.fail(f"{shape} {events:,} view", error)
        finally:
            memory.ended = True
            server.terminate()
            server.wait()

    def everything(self, shape, events, store, slices=None, total=None):
        self.run(shape, events, "info", "info", store)
        self.run(shape, events, "check", "check", store, good=(0, 1))
        for report in REPORTS:
            self.run(shape, events, f"report {report}", "report", report, "--json", store)
        self.queries(shape, events, store, slices, total)
        self.run(shape, events, "flame", "flame", "-q", "-o", self.path("out.svg"), store)
        self.conversions(shape, events, store)
        self.run(shape, events, "convert a window", "convert", "-q", "--from", "10%", "--until", "11%", store,
                 self.path("out.heddle"))
        self.view(shape, events, store)


def slice_of(shape, i, events):
    """(track, name, start, duration in us) of slice i."""
    if shape == "tracks":
        return i // 10, i % 100, i % 10 * 10, 5
    if shape == "names":
        return i % 8, i, i // 8 * 10, 7
    if shape == "nested":
        level = i % DEPTH
        return 0, level, i // DEPTH * 4 * DEPTH + level, 2 * (DEPTH - level)
    return 0, i % 1000, i * 10, 1 + i % 9


def make(shape, events):
    lines = []
    print("[", end="")
    for i in range(events):
        track, name, start, duration = slice_of(shape, i, events)
        lines.append(f'{{"ph":"X","pid":1,"tid":{track},"name":"n{name}","cat":"cpu_op","ts":{start},"dur":{duration}}}')
        if len(lines) == 10000:
            print(",\n".join(lines), end=",\n" if i + 1 < events else "")
            lines = []
    print(",\n".join(lines), end="]\n")


def main():
    if sys.argv[1:2] == ["--make"]:
        make(sys.argv[2], int(sys.argv[3]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("heddle")
    parser.add_argument("folder", help="for inputs, which are kept, and outputs, which are not")
    parser.add_argument("--events", default="10000000,100000000", help="sizes, the smallest first")
    parser.add_argument("--limit", type=float, default=8, help="GiB of memory")
    parser.add_argument("--only", help="only works with one of these words in their name")
    options = parser.parse_args()
    bench = Bench(options)
    os.makedirs(options.folder, exist_ok=True)
    print(f"{'shape':10} {'events':>11} {'work':28} {'time':>10} {'CPU':>10} {'memory':>10}  growth")
    for events in map(int, options.events.split(",")):
        bench.everything("synth", events, bench.synth(events))
        for shape in ("track", "tracks", "names", "nested"):
            store, slices, total = bench.shaped(shape, events // 10)
            bench.everything(shape, events // 10, store, slices, total)
    print(f"{len(bench.rows)} rows, {bench.failed} failed")
    return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
