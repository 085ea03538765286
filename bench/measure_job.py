#!/usr/bin/env python3
"""How summaries of ranks grow: `heddle combine` and reports over 8 to 100,000 of them.

  measure_job.py HEDDLE [--ranks 8,64,1024,100000] [--events 200000] [--reports job,stragglers,imbalance,clocks,page] [--folder DIR] [--keep DIR]

The summary of one synthetic rank is written again with other ranks, 8 on a host (tests/job/hds.py). Its collectives become those of
a job: the first half those of a group of 8 ranks, the others those of all, and each rank begins them at a time of its own. What steps
take differs from rank to rank, by up to a tenth. Prints wall
time, memory and size. A trace of 200,000 events has 119 steps and 711 collectives, and a summary of 35 kB; of 395,000 events 64 kB;
of 168,000 events 100 steps and 31 kB.
100,000 need twice that on the disk. `page` is the heat map in a browser (measure_job_page.mjs); --keep FOLDER keeps the jobs.
"""
import argparse
import collections
import dataclasses
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/job"))
import hds  # noqa: E402


def timed(*command):
    start = time.monotonic()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    err = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command}: {err.decode()[-500:]}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class Ranks:
    """Summaries of ranks, made of one. Columns are packed once: those of times in some variants."""
    VARIANTS, LATE_NS = 64, 400_000
    TAKEN = ("duration", "span", "exposed_communication", "idle")  # of steps

    def __init__(self, one, count):
        self.one, self.count = one, count
        names, rows = hds.table(one.members[0].tables["collectives"])
        columns = dict(zip(names, map(list, zip(*rows))))
        self.rows, self.half = len(rows), len(rows) // 2
        places = collections.Counter() # they are counted within steps
        for i, step in enumerate(columns["step"]):
            unit = i < self.half, int(step.split(b"#")[1]) + 1
            columns["sequence"][i] = 10**9 * unit[1] + places[unit]
            places[unit] += 1
        columns["size"] = [8] * self.half + [count] * (self.rows - self.half)
        kinds = {**dict.fromkeys(("rank", "device", "stream", "sequence", "size", "id"), hds.INT), "step": hds.STRING, "group": hds.STRING, "operation": hds.STRING,
                 "point_to_point": hds.BOOL, "counted": hds.BOOL, "bytes": hds.COUNT, **dict.fromkeys(("step_start", "start", "end"), hds.TIME), "busy": hds.DURATION}
        self.names = names
        self.fixed = {n: hds.column(n, kinds[n], columns[n]) for n in names}
        chance = random.Random(1)
        self.starts = [hds.column("start", hds.TIME, [s + chance.randrange(min(self.LATE_NS, e - s + 1)) for s, e in zip(columns["start"], columns["end"])])
                       for _ in range(self.VARIANTS)]

        self.steps = {name: [self.varied(hds.columns(one.members[0].tables[name]), chance) for _ in range(self.VARIANTS)] for name in ("steps", "breakdown")}

    def varied(self, columns, chance):
        """Packed columns behind that of ranks, and how many rows they have."""
        assert columns[0][0] == "rank"
        return [hds.column(name, kind, [v and v + chance.randrange(v // 10 + 1) for v in values] if name in self.TAKEN else values)
                for name, kind, values in columns[1:]], len(columns[0][2])

    def of_rank(self, name, rank):
        columns, rows = self.steps[name][rank * 37 % self.VARIANTS]
        return hds.compress(hds.varint(1 + len(columns)) + hds.varint(rows) + hds.column("rank", hds.INT, [rank] * rows) + b"".join(columns))

    def collectives(self, rank):
        own = dict(self.fixed, start=self.starts[rank * 31 % self.VARIANTS])
        own["rank"] = hds.column("rank", hds.INT, [rank])[:-len(hds.zigzag(rank))] + hds.zigzag(rank) + bytes(self.rows - 1)
        own["group"] = hds.column("group", hds.STRING, [b"tp%d" % (rank // 8)]) + bytes(self.half - 1) + b"\1\5world" + b"\1" * (self.rows - self.half - 1)
        return hds.compress(hds.varint(len(self.names)) + hds.varint(self.rows) + b"".join(own[n] for n in self.names))

    def write(self, path, rank):
        tables = dict(self.one.members[0].tables, collectives=self.collectives(rank), **{name: self.of_rank(name, rank) for name in self.steps})
        member = dataclasses.replace(self.one.members[0], rank=rank, world_size=self.count, host=b"node%d" % (rank // 8), file=b"rank%d.json" % rank, tables=tables)
        hds.write(path, hds.Job(self.one.tables, [member]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heddle")
    parser.add_argument("--ranks", default="8,64,1024,10000")
    parser.add_argument("--events", default="200000")
    parser.add_argument("--reports", default="job,stragglers,imbalance,clocks")
    parser.add_argument("--folder")
    parser.add_argument("--keep")
    options = parser.parse_args()
    if not hds.ZSTD or not hds.XXH:
        print("job: skipped: libzstd.so or libxxhash.so is not here")
        return 0
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        subprocess.run([options.heddle, "synth", "-q", "--ranks", "2", "--rank", "0", "--events", options.events,
                        "-o", folder / "one.json"], check=True)
        wall, cpu, memory = timed(options.heddle, "summarize", "-q", folder / "one.json", "-o", folder / "one.hds")
        read, _, _ = timed(options.heddle, "info", "-q", folder / "one.json")
        size = (folder / "one.json").stat().st_size
        print(f"summarize: {size / 1e6:.0f} MB in {wall:.2f} s, {memory:.0f} MB; reading alone (info) {read:.2f} s; "
              f"{(folder / 'one.hds').stat().st_size} bytes")
        one = hds.read(folder / "one.hds")
        for count in map(int, options.ranks.split(",")):
            parts = folder / f"parts{count}"
            parts.mkdir()
            ranks = Ranks(one, count)
            for rank in range(count):
                ranks.write(parts / f"{rank}.hds", rank)
            job = folder / "job.hds"
            wall, cpu, memory = timed(options.heddle, "combine", "-q", parts, "-o", job)
            print(f"{count} ranks: combine {wall:.2f} s ({cpu:.2f} s of CPU), {memory:.0f} MB; "
                  f"{job.stat().st_size / 1e6:.1f} MB, {job.stat().st_size / count / 1e3:.1f} kB a rank", flush=True)
            subprocess.run(["rm", "-rf", parts], check=True)
            if options.keep:
                shutil.copy(job, pathlib.Path(options.keep) / f"job{count}.hds")
            for report in options.reports.split(","):
                if report == "page":
                    print(f"{count} ranks: page:", flush=True)
                    subprocess.run(["node", pathlib.Path(__file__).with_name("measure_job_page.mjs"), options.heddle, job], check=True)
                    continue
                wall, cpu, memory = timed(options.heddle, "report", report, "-q", "--json", job)
                print(f"{count} ranks: {report} {wall:.2f} s ({cpu:.2f} s of CPU), {memory:.0f} MB", flush=True)
    return 0


sys.exit(main())
