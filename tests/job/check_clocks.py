#!/usr/bin/env python3
"""hd_clocks_new against jobs whose clocks are known: made ones with offsets, drift, steps, jitter, lost ranks; jobs where
nothing can be known; contradictions; limits of numbers; and a real job with shifts put in.

  check_clocks.py --print PRINT_CLOCKS [--cases N] [--seed N]

The made jobs share no code with Heddle. Of all answers 99 % must hold within their bars, of each kind."""
import argparse
import collections
import csv
import gzip
import math
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rounds  # noqa: E402

BOTH, GIVES, TAKES = range(3)
US, MS, S = 1_000, 1_000_000, 1_000_000_000
LEAST, MOST = -(1 << 63), (1 << 63) - 1


class Clock:
    """True time in ns -> a host's clock: an offset, a drift, and steps, each (true time, by how much)."""

    def __init__(self, offset, drift, steps=()):
        self.offset, self.drift, self.steps = offset, drift, steps

    def at(self, true):
        return self.offset + true + round(self.drift * true) + sum(by for when, by in self.steps if true >= when)


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def noise(rng, kind, scale, outliers):
    if rng.random() < outliers:
        return scale * rng.uniform(5, 200)
    return {"exponential": lambda: rng.expovariate(1 / scale), "normal": lambda: abs(rng.gauss(0, scale)),
            "uniform": lambda: rng.uniform(0, 2 * scale), "two": lambda: rng.choice((0, scale)) + rng.uniform(0, scale / 10)}[kind]()


def make_clocks(rng, hosts, span, kinds):
    clocks = []
    for h in range(hosts):
        offset = rng.choice((0, round(rng.choice((-1, 1)) * log_uniform(rng, US, 1000 * S)), rng.randrange(10**18)))
        drift = rng.choice((0, rng.uniform(-50e-6, 50e-6))) if "drift" in kinds else 0
        steps = []
        if "step" in kinds and rng.random() < 1.5 / hosts:
            steps = [(rng.uniform(0.05, 0.95) * span, round(rng.choice((-1, 1)) * log_uniform(rng, 5 * US, S)))
                     for _ in range(rng.choice((1, 1, 1, 2)))]
        clocks.append(Clock(offset, drift, steps))
    return clocks


def make_collectives(rng, members, clocks, span, group, count, kind, lost):
    """Of one group: members, (host, rank), come when they like, and all end when the last has come and a transfer is over."""
    scale, outliers = log_uniform(rng, 1 * US, 100 * US), rng.choice((0, 0, 0.02, 0.1))
    shape = rng.choice(("exponential", "normal", "uniform", "two"))
    transfer, wait = log_uniform(rng, 20 * US, 5 * MS), log_uniform(rng, 10 * US, 50 * MS)
    lag = {host: rng.uniform(0, 5 * US) for host, _ in members}
    events = []
    for sequence, true in enumerate(sorted(rng.uniform(0, span) for _ in range(count))):
        starts = [true - rng.expovariate(1 / wait) for _ in members]
        last = max(starts) if kind == "all" else starts[0] if kind == "from root" else None
        for i, (host, rank) in enumerate(members):
            role = BOTH if kind == "all" else (GIVES if i == 0 else TAKES) if kind == "from root" else (TAKES if i == 0 else GIVES)
            end = (last if last is not None else max(starts[1:]) if i == 0 else starts[i]) + transfer + lag[host]
            end = max(end, starts[i]) + noise(rng, shape, scale, outliers)
            if rng.random() >= lost:
                events.append((host, rank, hash_of(kind), role, group, sequence, clocks[host].at(round(starts[i])), clocks[host].at(round(end))))
    return events


def hash_of(kind):
    return {"all": 1, "from root": 2, "to root": 3}[kind]


def make_job(rng):
    """A case with what is true of it."""
    hosts, per_host = rng.randint(2, 8), rng.choice((1, 1, 2, 4))
    span = log_uniform(rng, 10 * MS, 600 * S)
    kinds = {k for k in ("drift", "step") if rng.random() < (0.6 if k == "drift" else 0.3)}
    clocks = make_clocks(rng, hosts, span, kinds)
    count = rng.choice((0, 1, 3, 6, 10, 20, 40, 80, 150))
    lost_ranks = rng.choice((0, 0, 0.1, 0.3))
    alive = {(h, h * per_host + i) for h in range(hosts) for i in range(per_host) if rng.random() >= lost_ranks}
    parts = [list(range(hosts))] if rng.random() < 0.8 else [list(range(hosts // 2)), list(range(hosts // 2, hosts))]
    events, group = [], 0
    kind = rng.choice(("all", "all", "all", "roots"))
    for part in parts:
        groups = [[(h, h * per_host + i) for h in part] for i in range(per_host)]
        if rng.random() < 0.3:  # all in one
            groups = [sum(groups, [])]
        if rng.random() < 0.5:  # a chain instead: only neighbours talk
            groups = [[(h, h * per_host) for h in pair] for pair in zip(part, part[1:])]
        for members in groups:
            members = [m for m in members if m in alive]
            if len(members) < 2:
                continue
            for each in ("all",) if kind == "all" else ("from root", "to root"):
                group += 1
                events += make_collectives(rng, members, clocks, span, group, count, each, rng.choice((0, 0, 0.05)))
    rng.shuffle(events)
    hints = []
    if rng.random() < 0.15:
        for h in range(hosts):
            bar = round(log_uniform(rng, 10 * US, 10 * MS))
            most = abs(clocks[h].drift) * span + sum(abs(by) for _, by in clocks[h].steps)
            hints.append((h, round(-clocks[h].offset + rng.uniform(-bar, bar)), round(bar + most)))
    questions, truths = [], []
    for _ in range(12):
        h, true = rng.randrange(hosts), rng.uniform(0, span)
        questions.append((h, clocks[h].at(round(true))))
        truths.append(clocks[0].at(round(true)) - questions[-1][1])
    if kinds & {"step"} and kind != "all" and not hints:
        truths = None  # bounds do not see steps, and say so
    return (hosts, events, hints, questions), truths, parts, kinds, kind, count


def text_of(case):
    hosts, events, hints, questions = case
    head = f"{hosts} {len(events)} {len(hints)} {len(questions)}"
    return "\n".join([head, *(" ".join(map(str, line)) for part in (events, hints, questions) for line in part)]) + "\n"


def solve(program, cases):
    """(bases, size of the contradiction, left out, answers) of each."""
    done = subprocess.run([program], input="".join(map(text_of, cases)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = iter(done.stdout.splitlines())
    for hosts, events, hints, questions in cases:
        bases = next(lines).split()
        cycle, left_out = map(int, next(lines).split())
        yield bases, cycle, left_out, [None if a == "?" else tuple(map(int, a.split())) for a in (next(lines) for _ in questions)]


# ---- made jobs ----

class Tally:
    def __init__(self):
        self.held = self.missed = self.unknown = 0
        self.bars = []

    def add(self, answer, truth):
        if answer is None:
            self.unknown += 1
            return True
        offset, bar = answer
        self.held += abs(offset - truth) <= bar
        self.missed += abs(offset - truth) > bar
        self.bars.append(bar)
        return abs(offset - truth) <= bar


def check_made(program, cases, seed, verbose):
    tallies, refused, worst = collections.defaultdict(Tally), 0, []
    for first in range(0, cases, 200):
        jobs = [make_job(random.Random(seed * 1_000_003 + i)) for i in range(first, min(first + 200, cases))]
        for i, ((case, truths, parts, kinds, kind, count), got) in enumerate(zip(jobs, solve(program, [j[0] for j in jobs]))):
            hosts, events, hints, questions = case
            bases, cycle, left_out, answers = got
            assert left_out == 0 or "step" in kinds, (first + i, left_out)
            refused += cycle > 0 and "step" not in kinds
            if truths is None:
                continue
            for (host, _), answer, truth in zip(questions, answers, truths):
                if host == 0:
                    assert answer == (0, 0), (first + i, answer)
                    continue
                basis = bases[host]
                if not hints and not any(0 in part and host in part for part in parts) or (not events and not hints):
                    assert answer is None and basis in ("unknown", "refused"), (first + i, host, basis, answer)
                key = (kind, "hints" if hints else "no hints", "+".join(sorted(kinds)) or "steady", "few" if count < 5 else "some" if count < 40 else "many")
                for k in (key, ("basis", basis), ("all",)):
                    good = tallies[k].add(answer, truth)
                if not good:
                    worst.append((first + i, host, basis, key, answer[0] - truth, answer[1]))
    for key, t in sorted(tallies.items()):
        known = t.held + t.missed
        share = t.held / known if known else 1
        median = statistics.median(t.bars) / US if t.bars else float("nan")
        if verbose or len(key) < 3:
            print(f"{' '.join(key):40} known {known:7} of {known + t.unknown:7}, within the bar {100 * share:7.3f} %, median bar {median:10.1f} us")
        seldom = "step" in "".join(key) and "few" in key  # so few collectives that nobody can see a clock step between them
        assert verbose or known < 300 or share >= (0.9 if seldom else 0.99), (key, share)
    print(f"jobs refused without a step: {refused} of {cases}")
    if verbose:
        for line in worst[:60]:
            print(line)
    assert refused <= cases / 1000, refused
    many = tallies[("all", "no hints", "steady", "many")]
    assert many.unknown < 0.35 * (many.held + many.unknown), "too little is known"


# ---- bounds, against all pairs of all collectives ----

def bounds_of(hosts, events, questions, drift=0.0002):
    """What difference constraints between the hosts, all pairs and as often as it takes, say of each question."""
    span = {h: (min(e[6] for e in events if e[0] == h), max(e[7] for e in events if e[0] == h)) for h in {e[0] for e in events}}
    middle = {h: int((low + high) / 2) if abs(low + high) < 2**53 else (abs(low + high) // 2) * (1 if low + high >= 0 else -1) for h, (low, high) in span.items()}

    def slack(host, time):
        return math.ceil(drift * abs(float(time - middle[host]))) if host else 0

    collectives = collections.defaultdict(list)
    for e in events:
        collectives[e[4:6]].append(e)
    most = collections.defaultdict(lambda: math.inf)  # (a, b): clock a - clock b is at most
    for members in collectives.values():
        for g in members:
            for t in members:
                if g[0] != t[0] and g[3] != TAKES and t[3] != GIVES:
                    d = t[7] - g[6] + slack(t[0], t[7]) + slack(g[0], g[6])
                    most[g[0], t[0]] = min(most[g[0], t[0]], d)
    for k in range(hosts):
        for a in range(hosts):
            for b in range(hosts):
                most[a, b] = min(most[a, b], most[a, k] + most[k, b])
    if any(most[h, h] < 0 and min(most[0, h], most[h, 0]) < math.inf for h in range(hosts)):
        return None  # a cycle that hosts near the reference are in, or hang on
    answers = []
    for host, time in questions:
        high, low = most[host, 0], -most[0, host]
        if host == 0:
            answers.append((0, 0))
        elif math.isinf(high) or math.isinf(low) or not span[host][0] <= time <= span[host][1]:
            answers.append(None)
        else:
            half = abs(low + high) // 2 * (1 if low + high >= 0 else -1)
            answers.append((half, (high - low) // 2 + 1 + slack(host, time)))
    return answers


def check_bounds(program, cases, seed):
    jobs = []
    for i in range(cases):
        rng = random.Random(seed * 7_000_003 + i)
        hosts = rng.randint(2, 5)
        clocks = [Clock(round(rng.choice((-1, 1)) * log_uniform(rng, US, S)), rng.uniform(-50e-6, 50e-6)) for _ in range(hosts)]
        events = []
        for group in range(rng.randint(1, 6)):
            members = [(h, 4 * h + i) for h in sorted(rng.sample(range(hosts), rng.randint(2, hosts))) for i in range(rng.choice((1, 1, 2, 4)))]
            kind = rng.choice(("from root", "to root", "all"))
            events += make_collectives(rng, rng.sample(members, len(members)), clocks, S, group, rng.randint(1, 4), kind, 0)
        if rng.random() < 0.3:  # one that cannot be
            hit, away = rng.choice(events), round(rng.choice((-1, 1)) * 100 * MS)
            moved = [e for e in events if (e[0], *e[4:6]) == (hit[0], *hit[4:6])]  # of a host all, which is at odds with others then, not with itself
            events = [e for e in events if e not in moved] + [(*e[:6], e[6] + away, e[7] + away) for e in moved]
        questions = [(h, e[6] + rng.randrange(1000)) for h in range(hosts) for e in events if e[0] == h][:20]
        jobs.append((hosts, events, [], questions))
    refused = known = 0
    for case, (bases, cycle, _, answers) in zip(jobs, solve(program, jobs)):
        expected = bounds_of(case[0], case[1], case[3])
        assert (expected is None) == (cycle > 0), (case, bases, cycle, answers)
        assert expected is None or expected == answers, (case, expected, answers)
        refused += expected is None
        known += sum(a is not None for a in answers)
    print(f"bounds: {cases} jobs of few collectives as all pairs say, {known} answers, {refused} refused")
    assert cases < 300 or (refused > cases / 50 and known > cases)


# ---- what is laid out by hand ----

def job_of(hosts, events, hints=(), questions=()):
    return hosts, [(h, h, 0, BOTH, g, s, a, b) for g, s, h, a, b in events], list(hints), list(questions)


def check_by_hand(program):
    pair = [e for s in range(40) for e in ((1, s, 0, s * MS, s * MS + 300 * US), (1, s, 1, s * MS + 5 * MS, s * MS + 5 * MS + 300 * US))]
    cases = {
        "nothing": job_of(2, [], questions=[(0, 5), (1, 5)]),
        "one host": job_of(1, [(1, s, 0, s, s + 1) for s in range(20)], questions=[(0, 0), (0, LEAST), (0, MOST)]),
        "a pair": job_of(2, pair, questions=[(1, 6 * MS)]),
        "a hint that agrees": job_of(2, pair, [(0, 10 * S, MS), (1, 10 * S - 5 * MS, MS)], [(1, 6 * MS)]),
        "a hint that does not": job_of(2, pair, [(0, 10 * S, MS), (1, 10 * S - 50 * MS, MS)], [(1, 6 * MS)]),
        "hints alone": job_of(3, [], [(0, -S, 2 * MS), (2, MOST, 0)], [(1, 0), (2, 0)]),
        # 1 must be 8 us or more ahead by the first, 4 or less by the second
        "a cycle": job_of(2, [(1, 0, 0, 10 * US, 11 * US), (1, 0, 1, 0, 2 * US), (1, 1, 1, 1010 * US, 1011 * US), (1, 1, 0, 1010 * US, 1014 * US)],
                          questions=[(1, 5)]),
        "one collective that cannot be": job_of(2, pair + [(2, 0, 0, 90 * MS, 91 * MS), (2, 0, 1, 50 * MS, 51 * MS)], questions=[(1, 6 * MS)]),
        "a member twice": job_of(2, pair + [(1, 3, 1, 0, 1)], questions=[(1, 6 * MS)]),
        "ends before it begins": job_of(2, pair + [(3, 0, 0, 5, 4), (3, 1, 0, MOST, LEAST)], questions=[(1, 6 * MS)]),
        "limits": job_of(3, [(g, s, h, rng.choice((LEAST, LEAST + s, -s, MOST - s)), rng.choice((MOST, MOST - s)))
                             for rng in (random.Random(3),) for g in range(3) for s in range(30) for h in range(3)],
                         [(0, LEAST, MOST), (1, MOST, MOST), (2, LEAST, LEAST)], [(h, t) for h in range(3) for t in (LEAST, -1, 0, MOST)]),
        "all at once": job_of(3, [(1, s, h, 7, 7) for s in range(200) for h in range(3)], questions=[(2, 7)]),
    }
    got = dict(zip(cases, solve(program, list(cases.values()))))
    offset, bar = got["a pair"][3][0]
    assert offset == -5 * MS and 10 * US <= bar <= 12 * US, got["a pair"]
    assert got["nothing"] == (["reference", "unknown"], 0, 0, [(0, 0), None])
    assert got["one host"] == (["reference"], 0, 0, [(0, 0)] * 3)
    assert got["a hint that agrees"][0] == ["reference", "ends"] and got["a hint that agrees"][3] == got["a pair"][3]
    assert got["a hint that does not"][0] == ["reference", "refused"] and got["a hint that does not"][3] == [None]
    assert got["hints alone"][0] == ["reference", "unknown", "hint"] and got["hints alone"][3][0] is None
    assert got["a cycle"][:2] == (["reference", "refused"], 2) and got["a cycle"][3] == [None], got["a cycle"]
    assert got["one collective that cannot be"][:2] == (["reference", "refused"], 1)
    assert got["a member twice"][2] == 3 and abs(got["a member twice"][3][0][0] + 5 * MS) <= 1
    assert got["ends before it begins"][2] == 2 and got["ends before it begins"][3] == got["a pair"][3]
    assert got["all at once"][3][0][0] == 0
    print(f"{len(cases)} jobs by hand")


# ---- a real job ----

def real_events(path, shifts):
    """Collectives of trace-ST, a host for each rank, steps laid one behind the other; shifts are added to each clock."""
    operations = ["params-all-gather", "grads-reduce-scatter", "embedding-grads-all-reduce", "optimizer-clip-main-grad"]
    steps, events = {}, []
    with gzip.open(path, "rt") as text:
        for row in csv.DictReader(text):
            if row["optype"] not in operations:
                continue
            operation, rank = operations.index(row["optype"]), int(row["rank"])
            base = steps.setdefault(row["step"], len(steps)) * 10 * S + shifts[rank]
            group = operation * 100 + (0 if operation == 3 else int(row["dp_rank"] if operation == 2 else row["stage"]))
            start, end = (round(float(row["start_ts"]) * S), round((float(row["start_ts"]) + float(row["duration"])) * S))
            events.append((rank, rank, operation, BOTH, group, steps[row["step"]] * 10 + int(row["seq_id"]), base + start, base + end))
    return events


def check_real(program, path, cases):
    # Ranks of one stage meet in their gathers and scatters, the first and the last stage in the embedding, all in the clip.
    # In the first 14 steps, and in the 28th, the file has the two stages between 0.9 ms aside: a step that is found.
    rng, worst, bars, known = random.Random(1), 0, [], 0
    shifts = [[0] * 8] + [[rng.randint(-5 * MS, 5 * MS) for _ in range(8)] for _ in range(cases)]
    jobs = [(8, real_events(path, shift), [], [(h, t * S) for h in range(8) for t in (200, 50)]) for shift in shifts]
    answers = [got[3] for got in solve(program, jobs)]
    for shift, answer in zip(shifts[1:], answers[1:]):
        for host in range(1, 8):
            (late, bar), (early, early_bar) = answer[2 * host:2 * host + 2]
            put_in = shift[0] - shift[host]
            error = abs(early - answers[0][2 * host + 1][0] - put_in)
            assert abs(late - put_in) <= bar and error <= early_bar, (host, late, early, put_in, bar)
            worst, known = max(worst, error), known + 1
            bars.append(bar)
    print(f"trace-ST: {known} shifts of up to 5 ms come back, at most {worst} ns off, median bar {statistics.median(bars) / US:.1f} us;"
          f" without shifts {[o for o, _ in answers[0][::2]]} ns, before the step {[o for o, _ in answers[0][1::2]]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--print", required=True)
    parser.add_argument("--cases", type=int, default=rounds.rounds(1000))
    parser.add_argument("--seed", type=int, default=rounds.seed(1))
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    check_by_hand(args.print)
    check_bounds(args.print, args.cases, args.seed)
    check_made(args.print, args.cases, args.seed, args.verbose)
    shared = Path(os.environ.get("HEDDLE_SHARED", Path(__file__).resolve().parents[3] / "shared"))
    path = shared / "data/straggler/trace-ST.csv.gz"
    if path.is_file():
        check_real(args.print, path, 20)
    else:
        print(f"skipped: no {path}")


if __name__ == "__main__":
    main()
