#!/usr/bin/env python3
"""How summaries of ranks grow: `heddle combine` and `heddle report job` over 8 to 100,000 of them.

  measure_job.py HEDDLE [--ranks 8,64,1024,100000] [--steps 100] [--folder DIR]

The summary of one synthetic rank of 100 steps is written again with other ranks, 8 on a host (tests/job/hds.py), so that nothing but
its bytes has to be there: in the directory alone, so that reports on collectives would find them double. tests/job/check_faults.py
--ranks 1024 measures those on a job that is one. Prints wall time, memory and size. 100,000 need 2 GB of disk.
"""
import argparse
import dataclasses
import os
import pathlib
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heddle")
    parser.add_argument("--ranks", default="8,64,1024,10000")
    parser.add_argument("--steps", default="100")
    parser.add_argument("--folder")
    options = parser.parse_args()
    if not hds.ZSTD or not hds.XXH:
        print("job: skipped: libzstd.so or libxxhash.so is not here")
        return 0
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        subprocess.run([options.heddle, "synth", "-q", "--steps", options.steps, "--ranks", "2", "--rank", "0", "--events", "200000",
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
            for rank in range(count):
                member = dataclasses.replace(one.members[0], rank=rank, world_size=count, host=b"node%d" % (rank // 8),
                                             file=b"rank%d.json" % rank)
                hds.write(parts / f"{rank}.hds", hds.Job(one.tables, [member]))
            job = folder / "job.hds"
            wall, cpu, memory = timed(options.heddle, "combine", "-q", parts, "-o", job)
            print(f"{count} ranks: combine {wall:.2f} s ({cpu:.2f} s of CPU), {memory:.0f} MB; {job.stat().st_size / 1e6:.1f} MB", flush=True)
            for report in ("job",):
                wall, cpu, memory = timed(options.heddle, "report", report, "-q", "--json", job)
                print(f"{count} ranks: {report} {wall:.2f} s, {memory:.0f} MB", flush=True)
            subprocess.run(["rm", "-rf", parts], check=True)
    return 0


sys.exit(main())
