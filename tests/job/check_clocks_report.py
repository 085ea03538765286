#!/usr/bin/env python3
"""heddle clocks over traces of jobs whose clocks are known: of heddle synth, of PyTorch's JSON made here, and a real job
with shifts put in; what could be matched wrongly is left out, and damage is survived.

  check_clocks_report.py --heddle PROGRAM [--few] [--cases N] [--seed N]

--few leaves out what runs no other code than the rest, but longer: larger jobs, and archives of a thousand rows."""
import argparse
import csv
import gzip
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rounds  # noqa: E402
import scratch  # noqa: E402

US, MS, S = 1_000, 1_000_000, 1_000_000_000
UNIX = 1_750_000_000 * S
MOST = (1 << 63) - 1


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)


def clocks(program, *arguments):
    """The report, and whether all clocks are known."""
    done = run(program, "-q", "clocks", "--json", *arguments)
    assert done.returncode in (0, 1), done
    report = json.loads(done.stdout)
    assert done.returncode == any(row["offset"] is None for row in report["clocks"]), done
    return report


def offset_at(row, time):
    return row["offset"] + (row["drift_ppm"] / 1e6 * (time - row["at"]) if row["drift_ppm"] else 0)


def evidence(report, word):
    return sum(row["count"] for row in report["evidence"] if word in row["what"])


class Tally:
    def __init__(self):
        self.errors, self.bars, self.missed = [], [], 0

    def add(self, row, time, truth):
        error = abs(offset_at(row, time) - truth)
        self.errors.append(error)
        self.bars.append(row["bar"])
        self.missed += error > row["bar"]

    def check(self, what):
        share = self.missed / len(self.errors)
        print(f"{what}: {len(self.errors)} answers, {100 - 100 * share:.2f} % within the bar, at most {max(self.errors) / US:.3f} us off,"
              f" median bar {statistics.median(self.bars) / US:.3f} us")
        assert share <= 0.01, what


# ---- jobs of heddle synth, whose operations have no numbers ----

def check_synth(program, folder, cases, seed):
    tally = Tally()
    for case in range(cases):
        rng = random.Random(seed * 1_000_003 + case)
        of_host, hosts = rng.randint(1, 3), rng.randint(2, 4)
        shift = rng.choice((1, -1)) * rng.choice((rng.randint(1, 5000), rng.randint(1, 3600_000_000)))
        made = run(program, "synth", "-q", "--json", "-o", folder / f"s{case}.json", "--ranks", of_host * hosts, "--host-ranks", of_host,
                   "--steps", rng.randint(5, 8), "--layers", 2, "--no-python", "--seed", rng.randint(1, 10**6),
                   "--clock-shift", f"{rng.randrange(1, hosts)}={shift}us", *rng.choice(([], ["--late-loader", "1=20ms"], ["--slow-gpu", "0=40"])))
        assert made.returncode == 0, made
        truths = json.loads(made.stdout)
        first = json.load(open(truths[0]["path"]))
        zero = round(min(e["ts"] for e in first["traceEvents"] if e["ph"] == "X") * US) + first["baseTimeNanoseconds"]
        report = clocks(program, *(t["path"] for t in truths))
        assert [(r["host"], r["rank"], r["ranks"]) for r in report["clocks"]] == [(f"node{h}", h * of_host, of_host) for h in range(hosts)]
        for row in report["clocks"][1:]:
            truth = truths[row["rank"]]
            assert row["basis"] == "ends", row
            for time in (row["first"], row["at"], row["last"]):
                offset, drift = truth["clock_offset_ns"], truth["clock_drift_ppb"] / 1e9
                tally.add(row, time, -(offset + drift * (time - zero - offset)))
        for t in truths:
            os.remove(t["path"])
    tally.check(f"{cases} jobs of heddle synth")


# ---- jobs in PyTorch's JSON ----

def write_rank(folder, rank, collectives, host=None, base=UNIX, world=8):
    """collectives: (operation, group or None, size or None, sequence or None, step or None, start, end, all of the rank's clock)."""
    events, steps = [], {}
    for i, (operation, group, size, sequence, step, start, end) in enumerate(collectives):
        args = {"device": 0, "stream": 7, "correlation": i + 1, "Collective name": operation.lower()}
        for key, value in (("Process Group Name", group), ("Group size", size), ("Seq", sequence)):
            if value is not None:
                args[key] = value
        event = {"ph": "X", "cat": "kernel", "name": f"ncclDevKernel_{operation}_f32", "pid": 0, "tid": 7, "args": args}
        events.append({**event, "ts": (start - base) / US, "dur": (end - start) / US})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": (start - base) / US - 5,
                       "dur": 2, "args": {"correlation": i + 1}})
        low, high = steps.get(step, (start, start))
        steps[step] = min(low, start), max(high, start)
    for step, (low, high) in steps.items():
        if step is not None:
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                           "ts": (low - base) / US - 20, "dur": (high - low) / US + 30})
    trace = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}, "traceEvents": events}
    if base:
        trace["baseTimeNanoseconds"] = base
    if host:
        trace["hostname"] = host
    path = folder / f"r{rank}.json"
    path.write_text(json.dumps(trace))
    return path


def job(folder, ranks, shifts, count=40, per_step=None, skip=lambda rank, i: False, parts=None, at=lambda rank, time: time, hosts=True,
        base=lambda rank: UNIX, operation="AllReduce", numbered=True, group="dp", size=None, late=0):
    """A job of ranks, one on each host: collective i of all in `parts` ends at i * 10 ms; part p is p * late behind."""
    paths, job.starts = [], {}
    for rank in range(ranks):
        rng, rows = random.Random(rank), []
        part = next(p for p, members in enumerate(parts or [range(ranks)]) if rank in members)
        for i in range(count):
            if skip(rank, i):
                continue
            end = UNIX + S + i * 10 * MS + part * late + rng.randrange(2000)
            start = end - rng.randint(100, 900) * US
            job.starts.setdefault(i, {})[rank] = start
            shift = shifts[rank] + at(rank, end - UNIX)
            rows.append((operation, group, size if size is not None else ranks, i if numbered else None, i // per_step if per_step else None,
                         start + shift, end + shift))
        paths.append(write_rank(folder, rank, rows, f"host{rank}" if hosts else None, base(rank), world=ranks))
    return paths


def expect(program, paths, shifts, known=True, word=None, options=()):
    report = clocks(program, *options, *paths)
    assert len(report["clocks"]) == len(paths), report
    for row in report["clocks"][1:]:
        assert (row["offset"] is not None) == known, report
        assert not known or abs(row["offset"] - (shifts[0] - shifts[row["rank"]])) <= row["bar"] <= 20 * US, (row, shifts)
    assert not word or evidence(report, word) > 0, report
    return report


def check_made(program, folder):
    four = [0, 5 * MS, -3 * S, 77 * US]
    expect(program, job(folder, 4, four), four)
    expect(program, job(folder, 4, four, numbered=False, per_step=8), four)
    # Without numbers, and two ranks that recorded other steps, or whose recording begins within one
    expect(program, job(folder, 4, four, numbered=False, per_step=8, skip=lambda r, i: i // 8 == (0, 4, 0, 1)[r]), four)
    report = expect(program, job(folder, 4, four, numbered=False, per_step=8, skip=lambda r, i: r == 3 and i < 3), four)
    assert [r["collectives"] for r in report["clocks"]][3] == 32, report
    expect(program, job(folder, 4, four, numbered=False), four, False, "no number")
    # Of operations with a root, ends say little; nor is it known who is meant without a name
    expect(program, job(folder, 4, four, operation="Broadcast"), four, False, "no operation")
    expect(program, job(folder, 4, four, operation="SendRecv"), four, False, "no operation")
    expect(program, job(folder, 4, four, group=None), four)
    expect(program, job(folder, 4, four, group=None, size=2), four, False, "no name")
    # Two groups with one name: stage 1 is always 4 ms behind
    report = expect(program, job(folder, 4, four, size=2, parts=[(0, 1), (2, 3)], late=4 * MS), four, False, "too many")
    # Nobody tells the hosts, or what times count from: each rank has a clock of its own
    report = expect(program, job(folder, 4, four, hosts=False), four)
    assert all(r["host"] is None for r in report["clocks"]), report
    report = expect(program, [write_rank(folder, r, [("AllReduce", "dp", 2, i, None, r * MS + i * MS + 50 * US, r * MS + i * MS + 100 * US) for i in range(30)],
                                         "same", 0, 2) for r in range(2)], [0, MS])
    assert all(r["ranks"] == 1 for r in report["clocks"]), report
    # A clock that is set in between: a row for each time
    paths = job(folder, 2, [0, MS], count=60, at=lambda r, time: 2 * MS if r == 1 and time > S + 300 * MS else 0)
    rows = clocks(program, *paths)["clocks"]
    assert [r["rank"] for r in rows] == [0, 1, 1] and rows[1]["last"] < rows[2]["first"], rows
    assert abs(rows[1]["offset"] + MS) <= rows[1]["bar"] and abs(rows[2]["offset"] + 3 * MS) <= rows[2]["bar"], rows
    # One that ends before another has begun: all is refused, and it is named
    one = [("AllReduce", "dp", 2, i, None, UNIX + i * MS, UNIX + i * MS + 100 * US) for i in range(30)]
    two = [("AllReduce", "dp", 2, i, None, UNIX + i * MS, UNIX + i * MS + 100 * US) for i in range(30)]
    two.append(("AllGather", "tp", 2, 3, None, UNIX + 40 * MS, UNIX + 41 * MS))
    one.append(("AllGather", "tp", 2, 3, None, UNIX + 50 * MS, UNIX + 51 * MS))
    report = clocks(program, write_rank(folder, 0, one, "a", world=2), write_rank(folder, 1, two, "b", world=2))
    assert report["clocks"][1]["basis"] == "refused", report
    assert [(r["group"], r["operation"], r["sequence"], r["giver_rank"], r["taker_rank"], r["giver_host"], r["taker_host"], r["giver_start"], r["taker_end"])
            for r in report["contradiction"]] == [("tp", "AllGather", 3, 0, 1, "a", "b", UNIX + 50 * MS, UNIX + 41 * MS)], report
    # Limits of numbers
    edge = [("AllReduce", "dp", 2, i, None, base + i, base + i + 1) for i in range(9) for base in (MOST - 20 * US, 0)]
    clocks(program, write_rank(folder, 0, edge, "a", 0, 2), write_rank(folder, 1, edge, "b", UNIX, 2))
    print("made jobs: what can be told is within the bar, the rest is left out")


def check_arrivals(program, folder):
    """Who came last, and who waited how long, against the true starts."""
    four, known, unknown = [0, 5 * MS, -3 * S, 77 * US], 0, 0
    report = expect(program, job(folder, 4, four, count=300), four, options=["--arrivals"])
    bars = {r["rank"]: r["bar"] for r in report["clocks"]}
    assert [r["sequence"] for r in report["arrivals"]] == list(range(300))
    for row in report["arrivals"]:
        starts = job.starts[row["sequence"]]
        order = sorted(starts, key=starts.get)
        if row["last_rank"] is None:
            assert starts[order[3]] - starts[order[2]] <= 2 * (bars[order[3]] + bars[order[2]]), (row, starts)
        else:
            assert row["last_rank"] == order[3] and row["last_host"] == f"host{order[3]}", (row, starts)
        if row["wait"] is not None:
            error = abs(row["wait"] - (starts[order[3]] - starts[row["first_rank"]]))
            assert row["last_rank"] is None or error <= row["bar"] <= 2 * max(bars.values()) + 10 * US, (row, starts)
        known, unknown = known + (row["last_rank"] is not None), unknown + (row["last_rank"] is None)
    assert known > 200 and unknown > 5, (known, unknown)
    print(f"arrivals: of {known + unknown} collectives {known} have a last one beyond the bars, as it was")


def check_hints(program, folder):
    paths, hints = job(folder, 3, [0, 5 * MS, 0], operation="Broadcast"), folder / "hints.txt"
    hints.write_text("host0 0.000000 0.000000\nhost1 0.000060 -0.005010\n")
    rows = clocks(program, "--mpisync", hints, *paths)["clocks"]
    assert [(r["basis"], r["offset"]) for r in rows] == [("reference", 0), ("hint", -5010 * US), ("unknown", None)], rows
    assert 30 * US <= rows[1]["bar"] <= 35 * US, rows
    hints.write_text("host0 1.5 1e-3\nhost1 1.495 0.0005\n\n# end\nhost2 1.5 0.25e-3\n")
    rows = clocks(program, "--ntp", hints, *paths)["clocks"]
    assert [r["offset"] for r in rows] == [0, -5 * MS, 0] and 1500 * US <= rows[1]["bar"] < 1501 * US, rows
    done = run(program, "clocks", "--json", "--ntp", hints, *job(folder, 3, [0, 5 * MS, 7 * MS]))
    report = json.loads(done.stdout)
    assert done.returncode == 1 and [r["basis"] for r in report["clocks"]] == ["reference", "ends", "refused"], report
    assert evidence(report, "its hint puts elsewhere") == 1, report["evidence"]
    for text in ("host1 1\n", "host1 1 2 3\n", "host1 1 -2\n", "host1 1e99 0\n", "host1 1 2s\n"):
        hints.write_text(text)
        done = run(program, "clocks", "--ntp", hints, *paths)
        assert done.returncode == 1 and "line 1" in done.stderr, (text, done)
    rng = random.Random(9)
    for _ in range(40):
        data = bytearray(b"host0 1.5 1e-3\nhost1 9223372036.9 0.0005\n#\nhost2 -9223372036.854775808 1.25e9\n")
        for _ in range(rng.randint(0, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        hints.write_bytes(data[:rng.randint(1, len(data))])
        done = run(program, "clocks", "--json", rng.choice(("--ntp", "--mpisync")), hints, *paths)
        assert done.returncode in (0, 1), done


def check_merged(program, folder):
    """Ranks of a job on the reference's clock: all times of a rank shifted by the same, ends together, nothing if one is not known."""
    four = [0, 5 * MS, -3 * S, 77 * US]
    paths, summaries, merged = job(folder, 4, four), folder / "merged.hds", folder / "merged.json"
    assert run(program, "summarize", "-q", *paths, "-o", summaries).returncode == 0
    rows = clocks(program, summaries)["clocks"]
    assert run(program, "convert", "-q", "--clocks", summaries, *paths, merged).returncode == 0
    trace, ends, base = json.loads(merged.read_text()), {}, UNIX
    assert trace["clock_shifts_ns"] == {str(r["rank"]): r["offset"] for r in rows}, trace["clock_shifts_ns"]
    for row, path in zip(rows, paths):
        old = [(e["name"], round(e["ts"] * US), e["dur"]) for e in json.loads(path.read_text())["traceEvents"]]
        new = [(e["name"], round(e["ts"] * US), e["dur"]) for e in trace["traceEvents"] if e["ph"] == "X" and e["pid"] % 1000 == 0 and e["pid"] // 1000 == row["rank"]]
        assert len(new) == 40 and set(new) <= {(n, t + row["offset"], d) for n, t, d in old}, (row, new[:3])
        for e in trace["traceEvents"]:
            if e.get("cat") == "kernel" and e["pid"] // 1000 == row["rank"]:
                ends.setdefault(e["args"]["Seq"], []).append(e["ts"] + e["dur"])
    assert len(ends) == 40 and all(len(e) == 4 and max(e) - min(e) < 40 for e in ends.values()), ends
    # Of three of them, the fourth is not known; and a clock that was set has no one offset
    assert run(program, "summarize", "-q", *paths[:3], "-o", summaries).returncode == 0
    done = run(program, "convert", "--clocks", summaries, *paths, merged)
    assert done.returncode == 1 and "no shift is known of rank 3" in done.stderr, done
    paths = job(folder, 2, [0, MS], count=60, at=lambda r, time: 2 * MS if r == 1 and time > S + 300 * MS else 0)
    assert run(program, "summarize", "-q", *paths, "-o", summaries).returncode == 0
    done = run(program, "convert", "--clocks", summaries, *paths, merged)
    assert done.returncode == 1 and "no shift is known of rank 1" in done.stderr and "the clock of rank 1 was set" in done.stderr, done
    assert "write OTF2" in done.stderr, done
    # As that message says: what lies before it has one
    parts = [path.with_suffix(".part.json") for path in paths]
    for path, part in zip(paths, parts):
        assert run(program, "convert", "-q", "--until", "280ms", path, part).returncode == 0
    assert run(program, "summarize", "-q", *parts, "-o", summaries).returncode == 0
    done = run(program, "convert", "-q", "--clocks", summaries, "--until", "280ms", *paths, merged)
    assert done.returncode == 0 and "1" in json.loads(merged.read_text())["clock_shifts_ns"], done
    # Some tell what their times count from, and some do not
    paths = job(folder, 2, [0, MS], base=lambda r: UNIX if r else UNIX - S)
    assert run(program, "convert", "--pass", "merge:shift=0=0ns,shift=1=-1ms", *paths, merged).returncode == 0
    done = run(program, "convert", "--pass", "merge:shift=0=0ns", *paths, merged)
    assert done.returncode == 1 and "rank 1" in done.stderr, done
    for text in ("shift=0", "shift=x=1ms", "shift=-1=1ms", "shift=0=1", "processes,shift=0=1ms"):
        assert run(program, "convert", "--pass", f"merge:{text}", *paths, merged).returncode == 2, text


def check_joined(program, folder):
    """Ranks converted apart: their files of events as each has them alone, and beside them ClockOffset records, which bring all times to
    the reference's clock: base times, offsets to the nanosecond, drift to one. A clock of which nothing is known is refused."""
    paths = job(folder, 4, [0, 5 * MS, -3 * S, 77 * US], at=lambda r, time: time * 60 // 1_000_000 if r == 2 else 0,
                base=lambda r: UNIX - r * S)
    summaries, archive, alone, back = (folder / name for name in ("joined.hds", "joined.otf2", "alone.otf2", "back.json"))
    assert run(program, "summarize", "-q", *paths, "-o", summaries).returncode == 0
    rows = {row["rank"]: row for row in clocks(program, summaries)["clocks"]}
    assert -65 < rows[2]["drift_ppm"] < -55, rows[2]
    done = run(program, "convert", "-q", "--clocks", summaries, *paths, archive)
    assert done.returncode == 0, done
    assert run(program, "convert", "-q", archive, back).returncode == 0
    times, location, expected, below = {}, 0, [], {}
    for e in json.loads(back.read_text())["traceEvents"]:
        if e["ph"] == "X":
            pid = e["pid"] if e["pid"] < 1000 else e["pid"] // 1000
            times.setdefault((e["pid"] // 1000, e["name"], e["args"]["correlation"]), []).append(round(e["ts"] * US))
            assert pid < 4, e
    base = UNIX - 3 * S
    for rank, path in enumerate(paths):
        trace, row = json.loads(path.read_text()), rows[rank]
        below[rank] = max(0, -min(round(e["ts"] * US) for e in trace["traceEvents"]))  # OTF2 has no times below 0
        for e in trace["traceEvents"]:
            unix = round(e["ts"] * US) + trace["baseTimeNanoseconds"]
            got, wanted = times[rank, e["name"], e["args"]["correlation"]], unix - base + (offset_at(row, unix) if rank else 0)
            assert len(got) == 1 and abs(got[0] - wanted) <= (1 if row["drift_ppm"] else 0), (rank, e, got, wanted)
        assert run(program, "convert", "-q", "--clean", path, alone).returncode == 0
        files = sorted((alone / "traces").glob("*.evt"), key=lambda file: int(file.stem))
        for file in files:
            assert file.read_bytes() == (archive / f"traces/{location + int(file.stem)}.evt").read_bytes(), (rank, file)
        expected += [(location + i, rank) for i in range(len(list((alone / "traces").glob("*.def"))))]
        location = len(expected)
    assert below[2] > 0, below
    check_records(archive, rows, dict(expected), below)
    assert "otf2" not in run(program, "check", "-q", archive).stdout
    check_cut(program, folder, summaries, paths, rows, base)
    done = run(program, "convert", "--mpi", "none", "--clocks", summaries, *paths, folder / "joined.json")
    assert done.returncode == 2 and "--mpi is for otf2" in done.stderr, done
    assert run(program, "summarize", "-q", *paths[:3], "-o", summaries).returncode == 0
    done = run(program, "convert", "--mpi", "none", "--clocks", summaries, *paths, folder / "refused.otf2")
    assert done.returncode == 1 and "no shift is known of rank 3" in done.stderr and not list(folder.glob("*refused.otf2*")), done


def added(rows, time):
    """What is to be added to a time of a clock that was set: between the last that was known and the next a line."""
    for row, after in zip(rows, [*rows[1:], None]):
        if after is None or time <= row["last"]:
            return offset_at(row, time)
        if time < after["first"]:
            low, high = offset_at(row, row["last"]), offset_at(after, after["first"])
            return low + (high - low) * (time - row["last"]) / (after["first"] - row["last"])
    raise AssertionError


def check_set(program, folder):
    """A clock that was set twice, by 2 s and back by 4 ms, and one that drifts and was set: ClockOffset records where it was known last and
    known first, so that all times read back are the true ones but for those between, which a line has. Of ends that
    have no place as events too, whose times are attributes. Cuts fall on one time. A clock that was set back behind what was before is refused."""
    def at(rank, time):
        if rank == 1:
            return 2 * S * (time > S + 205 * MS) - 4 * MS * (time > S + 405 * MS)
        return (30 * time // 1_000_000 - 3 * MS * (time > S + 255 * MS)) if rank == 2 else 0
    shifts, (summaries, archive, back) = [0, 5 * MS, -3 * S], (folder / name for name in ("set.hds", "set.otf2", "set.json"))
    paths = job(folder, 3, shifts, count=70, at=at, base=lambda r: UNIX - r * S)
    for path, rank in (paths[1], 1), (paths[2], 2):
        trace = json.loads(path.read_text())
        last = max(e["ts"] + e["dur"] for e in trace["traceEvents"])
        for i in range(700):  # more than the writer has lanes for: ends of some are attributes
            for phase, at_us in ("b", last - 2000 + i / 2), ("e", last - 1000 + i / 2):
                trace["traceEvents"].append({"ph": phase, "cat": "a", "id": i, "name": f"{phase}{i}", "pid": 1, "tid": 9, "ts": at_us, "args": {"correlation": 0}})
        path.write_text(json.dumps(trace))
    assert run(program, "summarize", "-q", *paths, "-o", summaries).returncode == 0
    rows, base = {}, UNIX - 2 * S
    for row in clocks(program, summaries)["clocks"]:
        rows.setdefault(row["rank"], []).append(row)
    assert [len(rows[rank]) for rank in range(3)] == [1, 3, 2], rows
    done = run(program, "convert", "--json", "--clocks", summaries, *paths, archive)
    assert done.returncode == 0 and '"code": "convert.clock-set", "count": 3' in done.stdout, done
    assert run(program, "convert", "-q", archive, back).returncode == 0 and "otf2" not in run(program, "check", "-q", archive).stdout
    shown, seen = {}, 0
    for e in json.loads(back.read_text())["traceEvents"]:
        if e["ph"] in "Xbe":
            shown[e["pid"] // 1000, e["name"], e.get("args", {}).get("correlation", 0)] = round(e["ts"] * US), round((e["ts"] + e.get("dur", 0)) * US)
    for rank, path in enumerate(paths):
        trace = json.loads(path.read_text())
        for e in trace["traceEvents"]:
            key, start = (rank, e["name"], e["args"]["correlation"]), round(e["ts"] * US) + trace["baseTimeNanoseconds"]
            for got, unix in zip(shown[key], (start, start + round(e.get("dur", 0) * US))):
                assert abs(got + base - unix - added(rows[rank], unix)) <= 2, (key, got, unix)
                row = next((row for row in rows[rank] if rank and row["first"] <= unix <= row["last"]), None)
                if row:
                    true = unix - shifts[rank]
                    true -= at(rank, true - UNIX) if rank == 2 else next(x for x in (0, 2 * S, 2 * S - 4 * MS) if at(rank, true - x - UNIX) == x)
                    seen += 1
                    assert abs(got + base - true) <= row["bar"] + 1, (key, got + base - true, row)
    assert seen > 400, seen
    if shutil.which("otf2-print"):
        found = {}
        for location, time, offset in re.findall(r"^CLOCK_OFFSET +(\d+)  Time: (\d+), Offset: ([+-]?\d+)", run("otf2-print", "-C", archive / "traces.otf2").stdout, re.M):
            found.setdefault(int(location), []).append((int(time), int(offset)))
        for rank in range(3):
            ours = [records for records in found.values() if len(records) == 2 * len(rows[rank])]
            below = max(0, -min(round(e["ts"] * US) for e in json.loads(paths[rank].read_text())["traceEvents"]))  # OTF2 has no times below 0
            own = UNIX - rank * S - below
            assert ours and all(abs(offset + base - own - added(rows[rank], time + own)) <= 1 for time, offset in ours[0]), (rank, ours)
        printed = [int(time) for time in re.findall(r"^ENTER +\d+ +(\d+) ", run("otf2-print", archive / "traces.otf2").stdout, re.M)]
        assert len(printed) >= 420 and {time for time in printed} >= {start for key, (start, _) in shown.items() if key[2]}, len(printed)
    first = min(start for start, _ in shown.values())
    for after, before in (150 * MS, 300 * MS), (380 * MS, 460 * MS):
        done = run(program, "convert", "-q", "--clean", "--clocks", summaries, "--from", f"{after}ns", "--until", f"{before}ns", *paths, folder / "setcut.otf2")
        assert done.returncode == 0 and run(program, "convert", "-q", folder / "setcut.otf2", back).returncode == 0, done
        events = json.loads(back.read_text())["traceEvents"]
        ranks = {e["pid"]: int(e["args"]["name"].split()[1].rstrip(":")) for e in events if e["name"] == "process_name"}
        got = {(ranks[e["pid"]], e["name"], e["args"]["correlation"]) for e in events if e["ph"] == "X"}
        assert got == {key for key, (start, end) in shown.items() if key[2] and start - first < before and end - first > after} and 30 < len(got) < 200, (after, len(got))
    # Back by more than there is between two collectives: some times are there twice
    paths = job(folder, 2, [0, 0], count=60, at=lambda r, time: -300 * MS if r == 1 and time > S + 300 * MS else 0)
    assert run(program, "summarize", "-q", *paths, "-o", summaries).returncode == 0
    done = run(program, "convert", "--clocks", summaries, *paths, folder / "twice.otf2")
    assert done.returncode == 1 and "the clock of rank 1 was set" in done.stderr and "write OTF2" not in done.stderr, done


def check_cut(program, folder, summaries, paths, rows, base):
    """--from and --until are one time of the archive's clock for all ranks, and count from the first event of any. Those that touch an edge
    by no more than rounding are left out of the comparison."""
    def on_archive(rank, unix):
        return unix - base + (offset_at(rows[rank], unix) if rank else 0)
    spans = {}
    for rank, path in enumerate(paths):
        trace = json.loads(path.read_text())
        for e in trace["traceEvents"]:
            unix = round(e["ts"] * US) + trace["baseTimeNanoseconds"]
            spans[rank, e["name"], e["args"]["correlation"]] = on_archive(rank, unix), on_archive(rank, unix + round(e["dur"] * US))
    start, end = min(s for s, _ in spans.values()), max(e for _, e in spans.values())
    cuts = [(round(p * (end - start) / 100), round(q * (end - start) / 100), f"{p}%", f"{q}%") for p, q in ((30, 60), (95, 100))]
    cuts.append((200 * MS + 1, 200 * MS + 80 * US, "200000001ns", "200080us"))
    archive, back = folder / "cut.otf2", folder / "cut.json"
    for i, (after, before, *words) in enumerate(cuts):
        mpi = ["--mpi", "none"] if i % 2 else []
        done = run(program, "convert", "-q", "--clean", *mpi, "--clocks", summaries, "--from", words[0], "--until", words[1], *paths, archive)
        assert done.returncode == 0 and run(program, "convert", "-q", archive, back).returncode == 0, done
        events = json.loads(back.read_text())["traceEvents"]
        ranks = {e["pid"]: int(e["args"]["name"].split()[1].rstrip(":")) for e in events if e["name"] == "process_name"}
        got = {(ranks[e["pid"]], e["name"], e["args"]["correlation"]) for e in events if e["ph"] == "X"}
        near = {k for k, times in spans.items() if any(abs(t - start - edge) <= 4 for t in times for edge in (after, before))}
        wanted = {k for k, (s, e) in spans.items() if s - start < before and (e - start > after or s - start >= after)}
        assert got - near == wanted - near and 0 < len(wanted - near) < len(spans) and len(near) < 9, (words, got ^ wanted, len(wanted), near)
    for words in ["--from", "3000s"], ["--from", "2ms", "--until", "1ms"]:
        done = run(program, "convert", "-q", "--clocks", summaries, *words, *paths, folder / "nothing.otf2")
        assert done.returncode != 0 and done.stderr and not list(folder.glob("*nothing.otf2*")), done


def check_records(archive, rows, rank_of, below):
    """The records as OTF2's own tool shows them: two of each location, and their deviation: 99 % of a normal distribution are the bar."""
    if not shutil.which("otf2-print"):
        return
    done, found = run("otf2-print", "-C", archive / "traces.otf2"), {}
    for location, time, offset, deviation in re.findall(r"^CLOCK_OFFSET +(\d+)  Time: (\d+), Offset: ([+-]?\d+), StdDev: ([\d.e+-]+)", done.stdout, re.M):
        found.setdefault(int(location), []).append((int(time), int(offset), float(deviation)))
    base = UNIX - 3 * S
    assert found.keys() == {location for location, rank in rank_of.items()}, (found, rank_of)
    for location, rank in rank_of.items():
        row, records = rows[rank], found[location]
        own = UNIX - rank * S
        assert len(records) == 2 and records[0][0] < records[1][0], records
        for time, offset, deviation in records:
            time, offset = time - below[rank], offset + below[rank]
            assert abs(offset - (own - base) - (offset_at(row, time + own) if rank else 0)) <= 1, (row, records)
            assert abs(deviation * statistics.NormalDist().inv_cdf(0.995) - row["bar"]) < 0.001 * row["bar"] + 1, (row, records)


# ---- groups without names ----

def write_unnamed(folder, groups, shifts, count=60, gap=lambda rng: rng.randint(2, 9) * MS, transfer=300 * US, wait=lambda rng: rng.randint(0, 4) * MS,
                  present=None, world=None):
    """Ranks on one stream whose traces tell neither names nor sizes of groups. A collective of each group ends at the same time but for some
    microseconds: groups are in lock-step; and in each another rank comes last."""
    rng, rows, end = random.Random(5), {r: [] for g in groups for r in g}, UNIX + S
    for _ in range(count):
        end += gap(rng) + transfer
        for g in groups:
            last = rng.choice(g)
            for r in g:
                own = end + rng.randrange(4000)
                rows[r].append(("AllReduce", None, None, None, None, own - transfer - (0 if r == last else wait(rng)) + shifts[r], own + shifts[r]))
    return [write_rank(folder, r, rows[r], world=world or len(rows)) for r in sorted(rows) if present is None or r in present]


def check_unnamed(program, folder):
    four = [0, 5 * MS, -3 * S, 77 * US]
    one, two, three = [[0, 1, 2, 3]], [[0, 1], [2, 3]], [[0, 1], [2, 3], [4, 5]]
    expect(program, write_unnamed(folder, one, four), four, word="taken to be of all")

    def refused(word, *args, **more):
        report = clocks(program, *write_unnamed(folder, *args, **more))
        assert [r["basis"] for r in report["clocks"]] == ["reference"] + ["unknown"] * (len(report["clocks"]) - 1), report
        assert all(word in r["why"] for r in report["clocks"][1:]) and evidence(report, "proven") == 0, (word, report)

    refused("may be several", two, four)  # look alike, in lock-step
    refused("may be several", three, [*four, 0, 9])
    refused("may be several", one, four, wait=lambda rng: 0)  # one that nobody can tell from several
    refused("match in several ways", one, four, gap=lambda rng: 5 * MS)  # each is like the next
    refused("not all ranks", one, four, present=[0, 1, 2])  # the fourth may be in another group with the third
    refused("not all ranks", one, four, world=8)
    refused("fewer than five", one, four, count=4)
    paths = write_unnamed(folder, one, four)
    assert all("here twice" in r["why"] for r in clocks(program, *paths, Path(shutil.copy(paths[2], folder / "again_r2.json")))["clocks"][1:])
    other = json.loads(paths[1].read_text())
    for e in other["traceEvents"]:
        if e.get("cat") == "kernel":
            e["args"]["stream"] = e["tid"] = 9
    paths[1].write_text(json.dumps(other))
    assert all("no stream has" in r["why"] for r in clocks(program, *paths)["clocks"][1:])
    # A rank that has one more at the beginning, and one less at the end
    paths = write_unnamed(folder, one, four)
    trace = json.loads(paths[0].read_text())
    kernels = sorted((e for e in trace["traceEvents"] if e.get("cat") == "kernel"), key=lambda e: e["ts"])
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e not in (kernels[0], kernels[-1])]
    paths[0].write_text(json.dumps(trace))
    expect(program, paths, four, word="taken to be of all")
    # Merged they end together; or the reason is told
    summaries, merged = folder / "unnamed.hds", folder / "unnamed.json"
    paths = write_unnamed(folder, one, four)
    assert run(program, "summarize", "-q", *paths, "-o", summaries).returncode == 0
    assert run(program, "convert", "-q", "--clocks", summaries, *paths, merged).returncode == 0
    assert all(abs(shift - (four[0] - four[int(r)])) <= 20 * US for r, shift in json.loads(merged.read_text())["clock_shifts_ns"].items())
    paths = write_unnamed(folder, two, four)
    assert run(program, "summarize", "-q", *paths, "-o", summaries).returncode == 0
    done = run(program, "convert", "-q", "--clocks", summaries, *paths, merged)
    assert done.returncode == 1 and "the clock of rank 1 is not known: groups of collectives have no names, and may be several that look alike:" in done.stderr, done
    print("groups without names: one that proves itself is told, several that look alike are not")


def check_real_unnamed(program, path, folder):
    """Real ranks of one machine: its clock is theirs, so that offsets are none; and with shifts put in, these besides."""
    rng = random.Random(3)
    traces = [json.loads(gzip.decompress(file.read_bytes())) for file in sorted(path.glob("rank*.json.gz"))]
    assert len(traces) == 8
    found = []
    for shifts in ([0] * 8, [rng.randint(-10**6, 10**6) for _ in traces], [rng.randint(-10**12, 10**12) for _ in traces]):  # microseconds
        paths = []
        for r, (trace, shift) in enumerate(zip(traces, shifts)):
            moved = {**trace, "traceEvents": [{**e, "ts": e["ts"] + shift} if "ts" in e else e for e in trace["traceEvents"]]}
            paths.append(folder / f"real{r}.json")
            paths[-1].write_text(json.dumps(moved))
        rows = clocks(program, *paths)["clocks"]
        assert len(rows) == 8 and all(r["why"] is None for r in rows), rows
        for row in rows[1:]:
            assert abs(row["offset"] - (shifts[0] - shifts[row["rank"]]) * US) <= row["bar"] <= 150 * US, (row, shifts)
        found.append([(row["offset"] - (shifts[0] - shifts[row["rank"]]) * US, row["bar"]) for row in rows])
    assert all(abs(a[0] - b[0]) <= 3 and abs(a[1] - b[1]) <= 3 for other in found[1:] for a, b in zip(found[0], other)), found
    print(f"{path.name}: 8 ranks without names, offsets {max(abs(o) for o, _ in found[0]) / US:.1f} us at most, bars up to {max(b for _, b in found[0]) / US:.1f} us; the same with shifts put in")


def check_ascend(program, path):
    """Two ranks of one machine, four collectives of many tasks each; and another run of the program, whose host nobody tells."""
    report = clocks(program, *sorted(path.glob("*.db")))
    assert [(r["ranks"], r["basis"]) for r in report["clocks"]] == [(2, "reference")] and evidence(report, "collectives of ranks") == 8, report
    report = clocks(program, path)
    assert [(r["basis"], r["why"]) for r in report["clocks"]] == [("reference", None), ("unknown", "no collective has a group, a number and an operation that ends for all at once")], report
    done = json.loads(run(program, "report", "stragglers", "--json", *sorted(path.glob("*.db"))).stdout)
    # Starts and ends as SQL has them: SELECT startNs, endNs FROM COMMUNICATION_OP
    told = [((1736410576431631806, 1736410576520382799), (1736410576435164432, 1736410576520398275)), ((1736410576520386579, 1736410576522566903), (1736410576520401935, 1736410576522581178)),
            ((1736410576522570523, 1736410576524983151), (1736410576522584898, 1736410576524992766)), ((1736410576524986831, 1736410576533750986), (1736410576524996506, 1736410576533765742))]
    for row, ((start, end), (second, other)) in zip(done["collectives"], told, strict=True):
        assert abs(row["late"] - abs((end - start) - (other - second))) <= 100, (row, start, end)


# ---- a real job ----

def check_real(program, path, folder):
    """trace-ST, a host for each rank, steps 10 s apart: in the first 14 steps, and the 28th, the file's two stages are 0.9 ms aside."""
    operations = {"params-all-gather": "AllGather", "grads-reduce-scatter": "ReduceScatter", "embedding-grads-all-reduce": "AllReduce",
                  "optimizer-clip-main-grad": "AllReduce"}
    ranks, steps = {}, {}
    with gzip.open(path, "rt") as text:
        for row in csv.DictReader(text):
            if row["optype"] not in operations:
                continue
            base = steps.setdefault(row["step"], len(steps)) * 10 * S
            groups = {"embedding-grads-all-reduce": "dp_rank", "optimizer-clip-main-grad": "optype"}
            group = f"{row['optype']} {row[groups.get(row['optype'], 'stage')]}"
            start, length = float(row["start_ts"]), float(row["duration"])
            sequence = steps[row["step"]] * 10 + int(row["seq_id"])
            ranks.setdefault(int(row["rank"]), []).append((operations[row["optype"]], group, None, sequence, None, UNIX + base + round(start * S),
                                                           UNIX + base + round((start + length) * S)))

    def rows_of(shifts):
        paths = [write_rank(folder, rank, [(*c[:5], c[5] + shifts[rank], c[6] + shifts[rank]) for c in rows], f"host{rank}") for rank, rows in ranks.items()]
        return {(r["rank"], i): r for rank in ranks for i, r in enumerate(x for x in clocks(program, *paths)["clocks"] if x["rank"] == rank)}

    rng, tally = random.Random(1), Tally()
    plain = rows_of([0] * 8)
    for _ in range(5):
        shifts = [rng.randint(-5 * MS, 5 * MS) for _ in range(8)]
        shifted = rows_of(shifts)
        assert shifted.keys() == plain.keys()
        for (rank, piece), row in shifted.items():
            if rank:
                tally.add(row, row["at"], offset_at(plain[rank, piece], row["at"] - shifts[rank]) + shifts[0] - shifts[rank])
    tally.check("trace-ST with shifts of up to 5 ms")


# ---- damage ----

def check_damage(program, folder, rounds_of):
    paths, whole, damaged = job(folder, 4, [0, MS, 2 * MS, 3 * MS]), folder / "job.hds", folder / "damaged.hds"
    assert run(program, "summarize", "-q", *paths, "-o", whole).returncode == 0
    data, rng = whole.read_bytes(), random.Random(5)
    for i in range(rounds_of):
        if i % 2:
            at = rng.randrange(len(data))
            damaged.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:])
        else:
            damaged.write_bytes(data[:len(data) * i // rounds_of])
        done = run(program, "clocks", "--json", damaged)
        assert done.returncode in (0, 1), (i, done)
        told = done.stderr or '"offset": null' in done.stdout or '"lost": []' not in done.stdout
        assert bool(done.returncode) == bool(told), (i, done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--cases", type=int, default=rounds.rounds(4))
    parser.add_argument("--seed", type=int, default=rounds.seed(1))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=scratch.in_memory()) as name:
        folder = Path(name)
        has_otf2 = '"otf2"' in run(args.heddle, "formats", "--json").stdout
        check_made(args.heddle, folder)
        check_arrivals(args.heddle, folder)
        check_hints(args.heddle, folder)
        check_merged(args.heddle, folder)
        if has_otf2:
            check_joined(args.heddle, folder)
        check_damage(args.heddle, folder, 60)
        if args.few:
            return
        if has_otf2:
            check_set(args.heddle, folder)
        check_unnamed(args.heddle, folder)
        check_synth(args.heddle, folder, args.cases, args.seed)
        data = Path(os.environ.get("HEDDLE_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "data"
        for name in "megatron-tp8", "dlrm":
            if (data / "ranks" / name).is_dir():
                check_real_unnamed(args.heddle, data / "ranks" / name, folder)
        if (data / "ascend").is_dir():
            check_ascend(args.heddle, data / "ascend")
        path = data / "straggler/trace-ST.csv.gz"
        if path.is_file():
            check_real(args.heddle, path, folder)
        else:
            print(f"skipped: no {path}")


if __name__ == "__main__":
    main()
