#!/usr/bin/python3
"""Jobs of 1, 2, 4 and 8 processes of an MPI: the tree, long messages, a process that dies or aborts, no plugin.

usage: check_mpi.py --kind openmpi|mpich|none --program mpi_job --heddle HEDDLE [--plugin heddle-mpi-KIND.so]
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from patience import patience  # noqa: E402

LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--allow-run-as-root", "-n"], "mpich": ["mpiexec.mpich", "-n"]}
PIECE = 64 << 20  # src/mpi/mpi.c
# MPI's libraries leave memory behind.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "MPI_"))} | {
    "ASAN_OPTIONS": "detect_leaks=0", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def run(*words):
    return subprocess.run([str(word) for word in words], env=ENVIRONMENT, capture_output=True, text=True, timeout=patience(300))


def expect(true, what, done):
    if not true:
        sys.exit(f"{what}: status {done.returncode}\n{done.stdout}\n{done.stderr}")


def lines(size):
    return "".join(f"process {rank} of {size}\n" for rank in range(size) if rank % 3 != 2)


def check_jobs(launch, program, kind):
    for size in 1, 2, 3, 4, 8:
        for named in ["auto", kind] if size == 2 else ["auto"]:
            done = run(*launch, size, program, named, "list")
            expect(done.returncode == 0 and done.stdout == lines(size), f"{named}: {size} processes", done)
    done = run(*launch, 2, program, "none", "list")
    expect(done.returncode == 0 and done.stdout == lines(1) * 2, "none: each by itself", done)
    for count in 0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 12345:
        done = run(*launch, 2, program, "auto", "long", count)
        expect(done.returncode == 0 and done.stdout == f"{count} bytes, 0 wrong\n", f"{count} bytes", done)


def check_shares(launch, program):
    for size in 1, 2, 4, 8:
        for count in 0, 3, 200:
            with tempfile.TemporaryDirectory() as folder:
                done = run(*launch, size, program, "auto", "share", count, folder)
            items = [line.split() for line in done.stdout.splitlines()]
            expect(done.returncode == 0 and sorted(int(item) for item, _ in items) == list(range(count)),
                   f"{count} items in {size} processes: each is done once", done)
            expect(count < 200 or len({rank for _, rank in items}) == size, f"{size} processes: all have worked", done)
        for count in [0, PIECE + 1] if size > 2 else [1]:
            done = run(*launch, size, program, "auto", "all", count)
            expect(done.returncode == 0 and done.stdout == lines(size), f"{count} bytes to all of {size}", done)


def check_deaths(launch, program):
    for rank in 0, 3:
        with tempfile.TemporaryDirectory() as folder:
            done = run(*launch, 4, program, "auto", "kill", rank, folder)
            file = Path(folder, "died").read_text()
        told = [line for line in done.stderr.splitlines() if "died while it was at" in line]
        expect(done.returncode != 0 and len(told) == 1 and f"process {rank} of 4 " in told[0] and told[0].endswith(" " + file),
               f"process {rank} is killed", done)
        done = run(*launch, 4, program, "auto", "abort", rank)
        expect(done.returncode != 0 and f"process {rank}: " in done.stderr and "rank5.json" in done.stderr,
               f"process {rank} aborts", done)
        expect("died" not in done.stderr, "who is ended with it is not blamed", done)


def check_alone(program, heddle):
    for kind in "auto", "none":
        done = run(program, kind, "list")
        expect(done.returncode == 0 and done.stdout == lines(1), f"{kind}: no launcher", done)
    for linked in program, heddle:
        done = run("ldd", linked)
        expect("libc.so" in done.stdout and "mpi" not in done.stdout.replace("mpi_job", ""), f"{linked} is linked with MPI", done)


def main():
    parser = argparse.ArgumentParser()
    for name in "--kind", "--program", "--heddle", "--plugin":
        parser.add_argument(name)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # As in a build tree: the program in one folder, plugins in one beside it.
        program = Path(folder, "cli", "mpi_job")
        program.parent.mkdir()
        shutil.copy(options.program, program)
        check_alone(program, options.heddle)
        if options.kind == "none":
            return 0
        launch = LAUNCHERS[options.kind]
        if not shutil.which(launch[0]):
            print(f"skipped: no {launch[0]}")
            return 77
        done = run(*launch, 2, program, "auto", "list")
        expect(done.returncode != 0 and done.stdout == "" and f"there is no heddle-mpi-{options.kind}.so" in done.stderr
               and "install" in done.stderr, "no plugin", done)
        Path(folder, "mpi").mkdir()
        Path(folder, "mpi", f"heddle-mpi-{options.kind}.so").write_text("damaged")
        done = run(*launch, 2, program, "auto", "list")
        expect(done.returncode != 0 and done.stdout == "" and "does not load" in done.stderr, "a damaged plugin", done)
        shutil.copy(options.plugin, Path(folder, "mpi"))
        check_jobs(launch, program, options.kind)
        check_shares(launch, program)
        check_deaths(launch, program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
