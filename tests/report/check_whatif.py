#!/usr/bin/env python3
"""Holds `heddle report what-if` against a slow simulation of its own, on random jobs with slow workers put in, on tables with
what tables may have of damage, and against the published results of a real job.

  check_whatif.py --heddle HEDDLE
"""
import argparse
import collections
import csv
import gzip
import io
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import rounds  # noqa: E402
from patience import patience  # noqa: E402

HEAD = ["dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "mb_id", "gmc"]
COMPUTE = {"forward-compute", "backward-compute", "gc", "optimizer"}
STREAMS = {"forward-send": "forward", "forward-recv": "forward", "backward-send": "backward", "backward-recv": "backward"}
END = ["gc", "layernorm-grads-all-reduce", "embedding-grads-all-reduce", "grads-reduce-scatter", "optimizer-clip-main-grad", "optimizer"]
problems = []


def check(good, *what):
    if not good:
        problems.append(" ".join(str(w) for w in what))


def schedule(stage, stages, batches, chunks):
    """(kind, k, chunk) of compute in order: one forward, one backward; with several chunks all forward, then all backward."""
    if chunks > 1:
        count = batches * chunks
        return [("forward-compute", k, k // batches) for k in range(count)] + \
               [("backward-compute", k, chunks - 1 - k // batches) for k in range(count)]
    ahead = min(stages - 1 - stage, batches)
    out = [("forward-compute", k, 0) for k in range(ahead)]
    for k in range(batches - ahead):
        out += [("forward-compute", ahead + k, 0), ("backward-compute", k, 0)]
    return out + [("backward-compute", k, 0) for k in range(batches - ahead, batches)]


def dependencies(stages, batches, chunks):
    """(stage, kind, k) -> those it waits for; and the chunk of each compute and gather."""
    deps, chunk_of = collections.defaultdict(list), {}
    for s in range(stages):
        whole = schedule(s, stages, batches, chunks)
        order = [c[:2] for c in whole]
        chunk_of.update({(s, *c[:2]): c[2] for c in whole})
        for i, c in enumerate(order):
            deps[(s, *c)] += [(s, *order[i - 1])] if i else []
        first = next(i for i, c in enumerate(order) if c[0] == "backward-compute")
        for stream, way in STREAMS.items():
            end = 0 if stream in ("forward-recv", "backward-send") else stages * chunks - 1
            computes = [k for kind, k, chunk in whole if kind == f"{way}-compute" and chunk * stages + s != end]
            for j, k in enumerate(computes):
                me, compute = (s, stream, j), (s, f"{way}-compute", k)
                deps[me] += [(s, stream, j - 1)] if j else []
                if stream.endswith("send"):
                    deps[me].append(compute)
                else:
                    deps[compute].append(me)
                    deps[me] += [(s, f"{way}-compute", k - 1)] if k else []
            if way == "backward" and first >= 2 and computes:
                deps[s, stream, 0].append((s, *order[first - 2]))
        for c in range(chunks):
            deps[s, "params-all-gather", c] = [(s, "params-all-gather", c - 1)] if c else []
            deps[s, "forward-compute", c * batches].append((s, "params-all-gather", c))
            chunk_of[s, "params-all-gather", c] = c
        last = (s, *order[-1])
        for kind in END:
            if kind != "embedding-grads-all-reduce" or s in (0, stages - 1):
                deps[s, kind, 0] = [last] + ([(s, "params-all-gather", chunks - 1)] if kind == "grads-reduce-scatter" else [])
                last = (s, kind, 0)
    return deps, chunk_of


def group(node, dp, stages):
    s, kind, k = node
    if kind in STREAMS:
        down = s if kind.endswith("send") == kind.startswith("forward") else s - 1
        return dp, STREAMS[kind], down % stages, k
    if kind in ("params-all-gather", "grads-reduce-scatter"):
        return kind, s, k
    if kind == "optimizer-clip-main-grad":
        return kind
    if kind == "embedding-grads-all-reduce":
        return dp, kind
    return dp, node


def plan_of(deps, dps):
    """What runs at once, each behind what it waits for: lists of (member, what it waits for, whether it computes)."""
    groups, stages = collections.defaultdict(list), 1 + max(node[0] for node in deps)
    for dp in range(dps):
        for node in deps:
            groups[group(node, dp, stages)].append(((dp, node), [(dp, d) for d in deps[node]], node[1] in COMPUTE))
    plan, ended, left = [], set(), list(groups.values())
    while left:
        later = []
        for members in left:
            if all(d in ended for _, waits, _ in members for d in waits):
                plan.append(members)
                ended.update(member for member, _, _ in members)
            else:
                later.append(members)
        assert len(later) < len(left), "a circle"
        left = later
    return plan


def simulate(plan, work):
    """When each starts and ends."""
    start, end = {}, {}
    for members in plan:
        for member, waits, _ in members:
            start[member] = max([end[d] for d in waits], default=0.0)
        last = max(start[member] for member, _, _ in members)
        for member, _, computes in members:
            end[member] = (start[member] if computes else last) + work(*member)
    return start, end


def step_time(end):
    return max(e for (_, node), e in end.items() if node[1] == "optimizer")


class Job:
    """Work of each operation, drawn; the table is what a run without launch delays would have measured."""

    def __init__(self, seed):
        r = random.Random(seed)
        self.dps, self.stages, self.batches = r.randint(1, 4), r.randint(2, 5), r.randint(5, 8)
        self.chunks = r.choice((1, 1, 2, 3))
        self.deps, chunk_of = dependencies(self.stages, self.batches, self.chunks)
        self.plan = plan_of(self.deps, self.dps)
        self.steps = sorted(r.sample(range(1000), r.randint(1, 4)))
        slow = (r.randrange(self.dps), r.randrange(self.stages), 1 + 3 * r.random())
        self.slow, self.work, self.rows = slow, {}, []
        for step in self.steps:
            for dp in range(self.dps):
                for node in self.deps:
                    usual = {"forward-compute": 50e6, "backward-compute": 90e6}.get(node[1], 2e6) * r.uniform(0.95, 1.1)
                    factor = slow[2] if (dp, node[0]) == slow[:2] and node[1] in COMPUTE else 1
                    self.work[step, dp, node] = float(round(usual * factor))
            start, end = simulate(self.plan, lambda dp, node, step=step: self.work[step, dp, node])
            for (dp, node), s in start.items():
                self.rows.append([dp, node[0], dp * self.stages + node[0], step, node[1], f"{s / 1e9 + 100:.9f}",
                                  f"{(end[dp, node] - s) / 1e9:.9f}", node[2], chunk_of.get(node, -1), -1,
                                  chunk_of[node] * self.stages + node[0] if node[1].endswith("-compute") else -1])
        r.shuffle(self.rows)

    def ideal(self):
        values = collections.defaultdict(list)
        for (_, _, node), w in self.work.items():
            values[node[1]].append(w)
        return {kind: (statistics.fmean if kind in COMPUTE else statistics.median)(v) for kind, v in values.items()}

    def mean(self, keeps, ideal):
        return statistics.fmean(step_time(simulate(self.plan, lambda dp, node, step=step: self.work[step, dp, node]
                                                   if keeps(dp, node) else ideal[node[1]])[1]) for step in self.steps)


def write(path, rows, head=HEAD):
    with (gzip.open(path, "wt", newline="") if str(path).endswith(".gz") else open(path, "w", newline="")) as out:
        csv.writer(out).writerows([head, *rows])


def ask(heddle, path):
    done = subprocess.run([heddle, "report", "what-if", "--json", "--operations", str(path)], capture_output=True, text=True, timeout=patience(600))
    check(done.returncode in (0, 1, 2) and "Sanitizer" not in done.stderr, path, "ends with", done.returncode, done.stderr[-500:])
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else {}, done.stderr


def near(got, want, what, by=2e-6):
    check(got is not None and abs(got - want) <= by * max(1, abs(want)), what, "is", got, "and not", want)


def check_random(heddle, folder, seed):
    job, path = Job(seed), folder / f"job{seed}.csv"
    write(path, job.rows)
    status, told, error = ask(heddle, path)
    check(status == 0, "job", seed, error)
    if status:
        return
    ideal = job.ideal()
    base, best = job.mean(lambda dp, node: True, ideal), job.mean(lambda dp, node: False, ideal)
    of = lambda keeps: job.mean(keeps, ideal)  # noqa: E731
    row = told["what_if"][0]
    near(row["slowdown"], base / best, f"{seed}: S")
    near(told["self_check"][0]["error"], 0, f"{seed}: error", 1e-3)
    near(row["last_stage_share"], (base - of(lambda dp, node: node[0] != job.stages - 1)) / (base - best), f"{seed}: M_S", 1e-4)
    stages = [of(lambda dp, node, s=s: node[0] == s) / best for s in range(job.stages)]
    dps = [of(lambda dp, node, d=d: dp == d) / best for d in range(job.dps)]
    for s, r in enumerate(told["stages"]):
        near(r["slowdown"], stages[s], f"{seed}: stage {s}")
    for d, r in enumerate(told["dp_ranks"]):
        near(r["slowdown"], dps[d], f"{seed}: dp rank {d}")
    for r in told["workers"]:
        at = (r["dp_rank"], r["stage"])
        near(r["slowdown"], of(lambda dp, node: (dp, node[0]) == at) / best, f"{seed}: worker {at}")
        near(r["score"], min(dps[at[0]], stages[at[1]]), f"{seed}: score of {at}")
    for r in told["operations"]:
        name = r["operation"].replace("pp-comm", "")
        near(r["slowdown"], of(lambda dp, node: node[1] == name or name.endswith("-") and node[1] in STREAMS and
                               node[1].startswith(name)) / best, f"{seed}: {name}")
    worst = [(r["dp_rank"], r["stage"]) for r in told["workers"] if r["worst"]]
    check(len(worst) == 1, seed, "worst", worst)
    near(row["worst_workers_share"], (base - of(lambda dp, node: (dp, node[0]) != worst[0])) / (base - best), f"{seed}: M_W", 1e-4)
    if job.slow[2] > 1.5:
        check(worst[0] == job.slow[:2], seed, "the slow worker is", job.slow, "and not", worst)


def check_damage(heddle, folder):
    job = next(job for job in map(Job, range(100)) if len(job.steps) > 2 and job.dps > 1 and job.stages > 2 and job.chunks == 1)
    rows = sorted(job.rows, key=lambda r: (r[3], r[0]))
    path, place = folder / "damage.csv", {name: i for i, name in enumerate(HEAD)}

    def told(changed, head=HEAD):
        write(path, changed, head)
        status, out, error = ask(heddle, path)
        return status, {r["code"]: (r["rows"], r["first_row"]) for r in out.get("ledger", [])}, error, out

    def other(at, column, value):
        return [r if i != at else [*r[:place[column]], value, *r[place[column] + 1:]] for i, r in enumerate(rows)]

    step = sum(r[3] == rows[4][3] for r in rows)
    for column, value, code in (("duration", "x", "bad-number"), ("start_ts", "", "bad-number"), ("step", "1.5", "bad-number"),
                                ("dp_rank", "-1", "bad-number"), ("duration", "-1", "negative-duration"), ("start_ts", "1e300", "bad-number"),
                                ("optype", "broadcast", "unknown-operation")):
        status, ledger, error, _ = told(other(4, column, value))
        check(status == 0 and ledger == {code: (1, 5), "odd-step": (step - 1, ledger.get("odd-step", (0, 0))[1])}, column, value, ledger, error)
    status, ledger, _, _ = told(rows + [rows[0]])
    check(status == 0 and ledger == {"double-row": (1, len(rows) + 1)}, "double", ledger)
    status, ledger, _, _ = told(rows[1:])
    check(status == 0 and ledger.get("odd-step", (0,))[0] == step - 1, "missing", ledger)
    status, _, error, _ = told([r for r in rows if r[1] != 1])
    check(status == 1 and "stage 1" in error, "no stage 1", error)
    status, _, error, _ = told([r for r in rows if r[4] != "forward-recv" or r[7] != 1])
    check(status == 1 and "forward-recv" in error, "no receive", error)
    status, _, error, _ = told(rows, ["x" + h for h in HEAD])
    check(status == 1 and "dp_rank" in error, "head", error)
    status, _, error, _ = told([])
    check(status == 1 and "0" in error, "no rows", error)
    late = [r if r[4] != "optimizer-clip-main-grad" else [*r[:5], f"{float(r[5]) - 0.4:.9f}", f"{float(r[6]) + 0.4:.9f}", *r[7:]]
            for r in rows]
    status, _, error, _ = told(late)
    check(status == 1 and "% off" in error, "a clip before what it waits for is refused", error)
    circle = [[*r[:5], f"{float(r[5]) + 50 * (r[4] == 'forward-compute' and r[7] == 0):.9f}", *r[6:]] for r in rows]
    status, _, error, _ = told(circle)
    check(status == 1 and "circle" in error, "a first forward at the end is refused", error)
    one = [r for r in rows if r[1] == 0 and r[4] not in STREAMS]
    status, _, error, _ = told([[r[0], 0, r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], 0] for r in one])
    check(status == 0, "one stage", error)
    write(folder / "whole.csv.gz", rows)
    packed = (folder / "whole.csv.gz").read_bytes()
    write(path, rows)
    text = path.read_bytes()
    r = random.Random(1)
    for i in range(rounds.rounds(60)):
        source = packed if i % 2 else text
        broken = bytearray(source[:len(source) * r.randint(1, 200) // 200] if i % 3 == 0 else source)
        for _ in range(r.randint(0, 8)):
            broken[r.randrange(len(broken))] ^= 1 << r.randrange(8)
        (folder / "broken.csv").write_bytes(broken)
        ask(heddle, folder / "broken.csv")


def check_published(heddle, folder):
    trace, result = folder / "trace-ST.csv.gz", json.loads((folder / "result-ST.json").read_text())
    _, told, _ = ask(heddle, trace)
    row = told["what_if"][0]
    for name, want, by in (("slowdown", 1.178702, 6e-7), ("worst_workers_share", 0.0314, 6e-5), ("last_stage_share", 1.2194, 6e-5),
                           ("slowdown", result["blocking_slowdown"], 1e-6), ("launch_slowdown", result["launch_slowdown"], 1e-6)):
        near(row[name], want, name, by)
    for table, column, name in (("stages", "stage", "stage"), ("dp_ranks", "dp_rank", "dp_rank"), ("operations", "operation", "optype")):
        want = result[f"blocking_decompose_by_{name}"]
        check(len(told[table]) == len(want), table, "has", len(told[table]), "rows")
        for r in told[table]:
            near(r["slowdown"], want[str(r[column])], f"{table} {r[column]}", 1e-6)
        parts = [r for r in told["parts"] if r["part"] == column]
        check(len(parts) == len(want) * len(told["steps"]), "parts", len(parts))
        for r in parts:
            near(r["slowdown"], result[f"blocking_decompose_by_{name}_per_step"][str(r["step"])][r["name"]], f"{r}", 1e-6)
    for r in told["steps"]:
        step = str(r["step"])
        for name, key, unit in (("measured", "step_t_base", 1e9), ("no_delay", "step_t_nodelay", 1e9), ("ideal", "step_t_noblk", 1e9),
                                ("slowdown", "blocking_step_slowdown", 1), ("launch_slowdown", "launch_step_slowdown", 1)):
            near(r[name] / unit, result[key][step], f"step {step} {name}", 1e-6)


def large(path, steps):
    """128 workers, as a published job has; of 43 steps it was."""
    job = Job(3)
    job.stages, job.batches, job.dps = 4, 8, 32
    job.deps, _ = dependencies(4, 8, 1)
    rows = []
    start, end = simulate(plan_of(job.deps, 32), lambda dp, node: 1e6 * (3 + dp % 5 + node[0]))
    for step in range(steps):
        for (dp, node), s in start.items():
            rows.append([dp, node[0], 0, step, node[1], s / 1e9, (end[dp, node] - s) / 1e9, node[2], -1, -1, -1])
    write(path, rows)


def check_size(heddle, folder):
    """43 steps take no square of what 5 take: the least CPU times of several, in turn."""
    sizes, least = (5, 43), {}
    for steps in sizes:
        large(folder / f"{steps}.csv.gz", steps)
    for _ in range(6):
        for steps in sizes:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            status, told, error = ask(heddle, folder / f"{steps}.csv.gz")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            least[steps] = min(least.get(steps, took), took)
            said = told["self_check"][0] if status == 0 else {}
            check(said.get("workers") == 128 and said.get("steps") == steps, steps, "steps", error)
        if least[43] < 24 * least[5]:
            return print(f"128 workers: {least[5]:.2f} s of CPU for 5 steps, {least[43]:.2f} s for 43")
    check(False, "the time of 43 steps is that of", least[43] / least[5], "times 5 steps")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    published = pathlib.Path(os.environ.get("HEDDLE_SOURCE_ROOT", ".")).parent / "shared/data/straggler"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed in range(rounds.rounds(40)):
            check_random(heddle, folder, seed)
        check_damage(heddle, folder)
        check_size(heddle, folder)
    if published.is_dir():
        check_published(heddle, published)
    else:
        print("no published job here: skipped")
    for problem in problems[:20]:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
