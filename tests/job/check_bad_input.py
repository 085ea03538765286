#!/usr/bin/env python3
"""Summaries that do not fit together, are not summaries, or cannot be written: what is good is kept, the rest is reported.

  check_bad_input.py --heddle HEDDLE
"""
import argparse
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

LAUNCHERS = [("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"),
             ("RANK", "WORLD_SIZE"), ("JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"), ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT")]


def run(*command, code=0, say=(), **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    assert done.returncode == code, (command, done.returncode, done.stderr[-2000:])
    assert all(text in done.stderr for text in say), (command, say, done.stderr)
    return done.stderr


def small_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def said_by_all(heddle, files, told):
    """What reports of a job and clocks say of its ranks: each once, and nothing else."""
    for command in (("clocks",), *(("report", name) for name in ("job", "stragglers", "imbalance", "slowdown", "topology", "clocks"))):
        for quiet in ((), ("-q",)):
            done = subprocess.run([heddle, *command, *quiet, "--json", *files], capture_output=True, text=True)
            lines = [line.removeprefix("heddle: ") for line in done.stderr.splitlines()]
            refused = "slowdown" in command and done.returncode == 1 and "nothing is predicted" in lines[-1]
            lines = lines[:-1] if refused else lines
            assert done.returncode == 0 or refused or command == ("clocks",), (command, done)
            assert len(lines) == len(told) and all(a.startswith(b) for a, b in zip(lines, told)), (command, quiet, files, lines, told)


def check_sets(heddle, folder, parts, other, again, whole):
    """Ranks missing, double, of another job."""
    out = folder / "out.hds"
    run(heddle, "combine", parts[0], parts[2], "-o", out, say=["2 of 4 ranks are missing: 1, 3", "out.hds: 2 ranks"])
    run(heddle, "combine", "--strict", parts[0], parts[2], "-o", out, code=1)
    assert "missing" not in run(heddle, "combine", *parts, parts[1], whole, "-o", out)
    assert out.read_bytes() == whole.read_bytes(), "what is given twice is kept once"
    run(heddle, "combine", *parts, other, "-o", out, say=["is there more than once (", "out.hds: 4 ranks",
                                                          "two jobs? Traces are of 4 and of 7 ranks"])
    run(heddle, "combine", "--strict", *parts, other, "-o", out, code=1)
    run(heddle, "combine", "--strict", *parts, again, "-o", out, code=1, say=["is there more than once (", "out.hds: 4 ranks"])
    groups = [folder / f"group{rank}.json" for rank in range(2)]
    for rank, path in enumerate(groups):
        job = {"rank": rank, "world_size": 2, "pg_config": [{"pg_name": "tp", "ranks": [[0, 1], [1]][rank]}]}
        path.write_text(json.dumps({"distributedInfo": job, "traceEvents": []}))
    run(heddle, "report", "stragglers", "-q", "--json", out)
    for files, told in (((whole,), []), ((parts[0], parts[2]), ["2 of 4 ranks are missing: 1, 3"]),
                        ((*parts, again), ["rank 2 is there more than once (a_rank2.json and c_rank2.json): two jobs, or two recordings?"]),
                        ((*parts, other), ["rank 1 is there more than once (a_rank1.json and b_rank1.json): two jobs, or two recordings?",
                                           "two jobs? Traces are of 4 and of 7 ranks"]),
                        (groups, ["two jobs? Process group tp is of other ranks for rank 1 than for rank 0"])):
        said_by_all(heddle, files, told)
    run(heddle, "combine", whole, "-o", whole, code=2)
    assert whole.read_bytes() == out.with_name("copy.hds").read_bytes(), "output over input"


def check_times(heddle, folder, traces):
    """Ranks of two runs of one size, of which the clocks alone tell: what lies minutes apart is none of one job."""
    moved = [folder / f"moved_rank{rank}.json" for rank in range(4)]
    later, earlier = "1 of 4 traces were recorded {} later than the others: rank 2", "1 of 4 traces were recorded {} earlier than the others: rank 0"
    for minutes, ranks, told in ((0, (), None), (9, (2,), None), (12, (2,), later.format("12 min")), (12.4, (2,), later.format("12 min")),
                                 (12.6, (2,), later.format("13 min")), (119.4, (2,), later.format("119 min")), (119.6, (2,), later.format("2 h")),
                                 (-12, (0, 2), "2 of 4 traces were recorded 12 min later than the others: rank 1, 3"),
                                 (-49.4 * 60, (0,), earlier.format("49 h")), (-49.6 * 60, (0,), earlier.format("50 h"))):
        for rank, (old, new) in enumerate(zip(traces, moved)):
            trace = json.loads(old.read_text())
            trace["baseTimeNanoseconds"] += int(minutes * 60) * 10**9 * (rank in ranks)
            new.write_text(json.dumps(trace))
        run(heddle, "summarize", "-q", *moved, "-o", folder / "moved.hds")
        for command in (("combine", folder / "moved.hds", "-o", folder / "again.hds"), ("convert", "-q", *moved, folder / "all.json")):
            said = run(heddle, *command, say=[f"two jobs? {told}\n"] if told else [])
            assert told or "two jobs" not in said, said
        for files in (moved, [folder / "moved.hds"]) if minutes in (0, 12) else ():
            said_by_all(heddle, files, [f"two jobs? {told}"] if told else [])


def check_files(heddle, folder, parts, whole):
    """What is not a summary, among those that are."""
    out, bad = folder / "out.hds", folder / "bad"
    bad.mkdir()
    (bad / "empty.hds").write_bytes(b"")
    (bad / "text.hds").write_text("no summary at all\n" * 9)
    (bad / "cut.hds").write_bytes(parts[0].read_bytes()[:-40])
    for path in (*bad.iterdir(), bad / "absent.hds"):
        run(heddle, "combine", path, *parts, "-o", out, say=[path.name, "out.hds: 4 ranks"])
        assert out.read_bytes() == whole.read_bytes(), path
        run(heddle, "combine", "--strict", path, *parts, "-o", out, code=1)
        out.unlink()
        run(heddle, "combine", path, "-o", out, code=1)
        assert not out.exists(), path
    later = bytearray(whole.read_bytes())
    later[8] = 2
    out.write_bytes(later)
    run(heddle, "combine", out, parts[0], "-o", out, code=2, say=["would be lost"])
    assert out.read_bytes() == later, "a file of a later version was written over"
    run(heddle, "combine", *parts, "-o", out)
    run(heddle, "combine", bad, *parts, "-o", out, say=["empty.hds", "text.hds", "cut.hds", "out.hds: 4 ranks"])


def check_full(heddle, folder, traces, whole):
    """A full disk leaves what was there, and nothing beside it."""
    out = folder / "full" / "out.hds"
    out.parent.mkdir()
    for command in (["summarize", *traces], ["job", *traces]):
        run(heddle, *command, "-o", out.with_name("out.json"), code=2, say=["named .hds"])
    for command in (["summarize", *traces], ["combine", whole], ["job", *traces]):
        out.write_bytes(b"before")
        run(heddle, *command, "-o", out, code=1, say=["out.hds"], preexec_fn=small_files)
        assert out.read_bytes() == b"before" and os.listdir(out.parent) == ["out.hds"], (command, os.listdir(out.parent))
    run(heddle, "combine", whole, "-o", f"{out.parent}/job.parquet/", code=1, say=["kernels.parquet"], preexec_fn=small_files)
    assert os.listdir(out.parent) == ["out.hds"], "some of the tables"
    tables = folder / "job.parquet"
    tables.mkdir()
    (tables / "ledger.parquet").write_text("of a job that lost something")
    run(heddle, "combine", whole, "-o", f"{tables}/")
    assert "ledger.parquet" not in os.listdir(tables) and len(os.listdir(tables)) == 11, os.listdir(tables)
    run(heddle, "combine", whole, "-o", out.parent / "none" / "out.hds", code=1, say=["No such file"])


def check_folder(heddle, traces, whole):
    """Summaries that lie beside the traces do not stand for them the next time, and a database beside them is not passed over."""
    out, database = traces[0].parent / "beside.hds", traces[0].parent / "rank9.db"
    for command in ("summarize", "job"):
        run(heddle, command, traces[0], "-o", out)
        run(heddle, command, traces[0].parent, "-o", out)
        assert out.read_bytes() == whole.read_bytes(), command
    run(heddle, "summarize", traces[0], "-o", out)
    run(heddle, "combine", traces[0].parent, "-o", out.with_suffix(".one.hds"),
        say=["1 rank\n", f"{traces[0].parent}: 1 summary; also in it {len(traces)} traces, passed over: name the files themselves to have them\n"])
    said_by_all(heddle, [traces[0]], [])
    said_by_all(heddle, [out], ["3 of 4 ranks are missing: 1-3"])
    database.write_bytes(b"SQLite format 3\0")
    run(heddle, "job", traces[0].parent, "-o", out, say=["rank9.db: ", f"{len(traces)} ranks\n"])
    database.unlink()


def check_shards(heddle, folder, traces, whole):
    """The shards together are the whole, whoever launches them."""
    clean = {k: v for k, v in os.environ.items() if k not in sum(LAUNCHERS, ())}
    one = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}  # as each task of an array job has it
    for index, count in LAUNCHERS:
        parts = folder / index
        parts.mkdir()
        for i in range(3):
            run(heddle, "summarize", "-q", *traces, "--shard", "auto", "-o", parts / "{shard}.hds", env={**clean, **one, index: str(i), count: "3"})
        assert sorted(os.listdir(parts)) == ["0.hds", "1.hds", "2.hds"], os.listdir(parts)
        run(heddle, "combine", "-q", parts, "-o", folder / "out.hds")
        assert (folder / "out.hds").read_bytes() == whole.read_bytes(), index
    run(heddle, "summarize", *traces, "--shard", "auto", "-o", folder / "{shard}.hds", code=2, env=clean)
    run(heddle, "summarize", *traces, "--shard", "3/3", "-o", folder / "{shard}.hds", code=2)
    run(heddle, "summarize", *traces, "--shard", "0/3", "-o", folder / "out.hds", code=2, say=["every shard would write the same file"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for ranks, stem, steps in ((4, "a", 2), (7, "b", 2), (4, "c", 3)):
            run(heddle, "synth", "-q", "--ranks", ranks, "--steps", steps, "--layers", 2, "-o", folder / f"{stem}.json")
        traces = [folder / f"a_rank{rank}.json" for rank in range(4)]
        parts, whole = [folder / f"part{rank}.hds" for rank in range(4)], folder / "whole.hds"
        other, again = folder / "other.hds", folder / "again.hds"
        for trace, part in zip((*traces, folder / "b_rank1.json", folder / "c_rank2.json"), (*parts, other, again)):
            run(heddle, "summarize", "-q", trace, "-o", part)
        run(heddle, "combine", "-q", *parts, "-o", whole)
        (folder / "copy.hds").write_bytes(whole.read_bytes())
        check_sets(heddle, folder, parts, other, again, whole)
        check_times(heddle, folder, traces)
        check_files(heddle, folder, parts, whole)
        check_full(heddle, folder, traces, whole)
        check_shards(heddle, folder, traces, whole)
        own = folder / "own"
        own.mkdir()
        check_folder(heddle, [trace.rename(own / trace.name) for trace in traces], whole)
    print("ranks missing, double, of two jobs; files that are none; full disks; shards of six launchers")
    return 0


sys.exit(main())
