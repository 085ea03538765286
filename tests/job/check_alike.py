#!/usr/bin/env python3
"""Clocks by collectives of groups that have no name (src/report/job/clock_alike.c), against jobs whose clocks and groups are
known: one group of all ranks, and several that look alike, apart and in lock-step; cut recordings, lost events and ranks.

  check_alike.py --print PRINT_ALIKE [--cases N] [--seed N]

The made jobs share no code with Heddle. Of all answers 99 % must hold within their bars; and ranks of several groups may not
be told of one another, whatever the answer."""
import argparse
import collections
import random
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rounds  # noqa: E402
from check_clocks import MS, S, US, Clock, Tally, log_uniform, noise  # noqa: E402

ENDS = ["none", "world", "many", "missing", "twice", "streams", "lists", "few", "shift", "groups", "found"]


def make_program(rng, count):
    """What all ranks run: for each collective its operation, transfer, the work before it, who is late by how much in every group."""
    transfers = [log_uniform(rng, 10 * US, 5 * MS) for _ in range(rng.choice((1, 1, 2, 3)))]
    work = log_uniform(rng, 100 * US, 20 * MS)
    operation = rng.choice((0, 0, 1, None))  # None: both
    regular = rng.random() < 0.2
    program = []
    for _ in range(count):
        kind = rng.randrange(len(transfers))
        gap = work if regular else work * rng.uniform(0.3, 3)
        late = rng.choice((0, 0, rng.expovariate(1 / work))) if rng.random() < 0.5 else 0
        program.append((rng.randrange(2) if operation is None else operation, transfers[kind], gap, late, rng.randrange(8)))
    return program


def run_groups(rng, program, groups, coupling, of_all):
    """True times of each rank's collectives: [(operation, start, end)]. Ranks work, come, and all of a group end when its last has come
    and the transfer is over. coupling: 0: groups run apart; n: a barrier at every n-th; -1: each waits for the one before. of_all: how
    many of the collectives are of all ranks, in the same list."""
    jitter, straggle = rng.choice((0.0002, 0.002, 0.01, 0.05)), rng.choice((0, 0.05, 0.3))
    scale, shape, outliers = log_uniform(rng, 0.5 * US, 30 * US), rng.choice(("exponential", "normal", "uniform", "two")), rng.choice((0, 0, 0.02))
    transfer_noise = rng.choice((0, 0.01, 0.1))
    laggard = rng.random() < 0.5  # the program's own lateness: always the same place in a group, and the same on all groups
    speed = [rng.choice((1, 1, rng.uniform(0.5, 2))) for _ in groups]
    lag = {r: rng.uniform(0, 5 * US) for g in groups for r in g}
    at, out = {r: 0.0 for g in groups for r in g}, {r: [] for g in groups for r in g}
    for i, (operation, transfer, gap, late, who) in enumerate(program):
        before = 0
        for g, ranks in enumerate([sum(groups, [])] if rng.random() < of_all else groups):
            starts = {}
            for place, r in enumerate(ranks):
                at[r] = max(at[r], before)
                own = gap * (1 + abs(rng.gauss(0, jitter)))
                if rng.random() < straggle / len(ranks):
                    own += rng.expovariate(1 / gap)
                if laggard and place == who % len(ranks):
                    own += late
                starts[r] = at[r] + own
            over = max(starts.values()) + transfer * speed[g] * (1 + abs(rng.gauss(0, transfer_noise)))
            for r in ranks:
                end = over + lag[r] + noise(rng, shape, scale, outliers)
                out[r].append((operation, starts[r], end))
                at[r] = end
            before = over if coupling < 0 else 0
        if coupling > 0 and i % coupling == 0:  # a barrier of all that nobody recorded
            last = max(at.values())
            at = {r: last for r in at}
    return out, len(program) >= 40 and straggle == 0.3 and scale < 5 * US


def make_job(rng):
    world = rng.choice((2, 2, 3, 4, 4, 6, 8, 8, 16))
    ranks = list(range(world))
    several = rng.random() < 0.5
    if several and world > 2 and rng.random() < 0.7:
        size = rng.choice([s for s in range(1, world) if world % s == 0])
        if rng.random() < 0.5:
            rng.shuffle(ranks)
        groups = [ranks[i:i + size] for i in range(0, world, size)]
    elif several:
        cut = rng.randrange(1, world)
        groups = [ranks[:cut], ranks[cut:]]
    else:
        groups = [ranks]
    program = make_program(rng, rng.choice((3, 6, 10, 20, 40, 80, 150)))
    coupling = rng.choice((0, 1, 1, 1, 4, -1)) if several else rng.choice((0, 0, 1))
    of_all = rng.choice((0, 0, 0, 0.3, 0.7)) if several else 0
    times, clear = run_groups(rng, program, groups, coupling, of_all)
    span = max(t[-1][2] for t in times.values())
    steps = rng.random() < 0.05
    clocks = []
    for r in range(world):
        offset = rng.choice((0, round(rng.choice((-1, 1)) * log_uniform(rng, US, 100 * S)), rng.randrange(10**18)))
        set_back = [(rng.uniform(0.1, 0.9) * span, round(rng.choice((-1, 1)) * log_uniform(rng, 5 * US, S)))] if steps and rng.random() < 0.3 else []
        clocks.append(Clock(offset, rng.choice((0, rng.uniform(-50e-6, 50e-6))), set_back))
    cut, lost = rng.random() < 0.3, rng.random() < 0.1
    away = rng.randrange(world) if rng.random() < 0.08 else None
    quantum = rng.choice((1, 1000))
    events = []
    for r in range(world):
        own = times[r]
        if cut:
            own = own[rng.randrange(1 + min(5, len(own) // 4)):len(own) - rng.randrange(1 + min(5, len(own) // 4))]
        if lost and rng.random() < 0.3:
            own = [e for e in own if rng.random() > 0.02]
        if r != away:
            events += [(r, 7, operation, clocks[r].at(round(start)) // quantum * quantum, max(clocks[r].at(round(end)) // quantum, clocks[r].at(round(start)) // quantum) * quantum)
                       for operation, start, end in own]
    questions, truths = [], []
    for _ in range(8):
        r, true = rng.randrange(world), rng.uniform(0, span)
        questions.append((r, clocks[r].at(round(true))))
        truths.append(clocks[0].at(round(true)) - questions[-1][1])
    return (world, events, questions), truths, groups, {"mixed" if of_all else "several" if len(groups) > 1 else "one", *(["steps"] if steps else []), *(["away"] if away is not None else []),
                                                          *(["cut"] if cut else []), *(["lost"] if lost else []), *(["clear"] if clear and len(groups) == 1 and world <= 8 else [])}


def text_of(case):
    world, events, questions = case
    return "\n".join([f"{world} {len(events)} {len(questions)}", *(" ".join(map(str, line)) for part in (events, questions) for line in part)]) + "\n"


def solve(program, cases):
    """(bases, how it ended, events proven, answers) of each."""
    done = subprocess.run([program], input="".join(map(text_of, cases)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = iter(done.stdout.splitlines())
    for _, _, questions in cases:
        bases = next(lines).split()
        end, proven = map(int, next(lines).split())
        yield bases, ENDS[end], proven, [None if a == "?" else tuple(map(int, a.split())) for a in (next(lines) for _ in questions)]


def check_made(program, cases, seed, verbose):
    ends, all_of, joined, tally = collections.Counter(), collections.Counter(), [], Tally()
    for first in range(0, cases, 200):
        jobs = [make_job(random.Random(seed * 1_000_003 + i)) for i in range(first, min(first + 200, cases))]
        for i, ((case, truths, groups, kinds), (bases, end, proven, answers)) in enumerate(zip(jobs, solve(program, [j[0] for j in jobs]))):
            name = next(iter(kinds & {"one", "several", "mixed"}))
            ends[name, end] += 1
            all_of[name] += 1
            if "clear" in kinds and not kinds & {"steps", "away", "lost"}:
                ends["clear", end] += 1
                all_of["clear"] += 1
            assert (end == "found") == (proven > 0), (first + i, end, proven)
            assert not ("away" in kinds and proven), (first + i, kinds)
            if name == "several" and proven:
                joined.append(first + i)
            for (rank, _), answer, truth in zip(case[2], answers, truths):
                if rank == 0:
                    assert answer == (0, 0), (first + i, answer)
                elif not tally.add(answer, truth) and verbose:
                    print("missed", first + i, kinds, rank, bases[rank], answer, answer[0] - truth)
    known = tally.held + tally.missed
    print(f"{cases} jobs without names: {100 * ends['one', 'found'] / all_of['one']:.1f} % of those of one group are found, {100 * ends['clear', 'found'] / max(all_of['clear'], 1):.1f} % of {all_of['clear']} clear ones, {len(joined)} of {all_of['several']} of several, {ends['mixed', 'found']} of {all_of['mixed']} where some are of all;"
          f" {known} answers, {100 * tally.held / max(known, 1):.3f} % within the bar, median bar {statistics.median(tally.bars or [0]) / US:.1f} us")
    if verbose:
        print(dict(ends), joined[:50])
    assert len(joined) <= all_of["several"] / 1000, joined
    assert known < 300 or tally.held >= 0.99 * known, tally.held / known
    assert all_of["clear"] < 20 or ends["clear", "found"] > 0.6 * all_of["clear"], ends


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--print", required=True)
    parser.add_argument("--cases", type=int, default=rounds.rounds(600))
    parser.add_argument("--seed", type=int, default=rounds.seed(1))
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    check_made(args.print, args.cases, args.seed, args.verbose)


if __name__ == "__main__":
    main()
