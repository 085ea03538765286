#!/usr/bin/python3
"""Pairs of traces with a known difference, for heddle diff.

usage: tests/diff/mutate.py --heddle PROGRAM --seed N [--kind KIND] [--noise PERCENT] [--trace FILE] --out FOLDER

Writes before.json, after.json and truth.json. Without --trace the run is one of heddle synth, its options drawn from the seed;
else a real Kineto trace with steps. Both sides are the same run with noise of their own on every duration of a kernel, a copy
and an API call; `after` has one change as well:

  slow        one kernel of one operator takes 10 % to 50 % longer
  rename      a kernel has another name, and its time
  split       a kernel became two, with a launch each, 10 % to 30 % longer together
  fuse        two kernels of neighbouring operators became one, 20 % to 40 % faster; the second operator is gone
              (a run without such operators: slow)
  move        a kernel is on another stream
  drop        a step is missing
  insert      one more operator with a kernel
  launch      each launch of a run that waits for its host takes 2 us to 5 us longer
  sync        a cudaDeviceSynchronize after each third to sixth launch
  collective  a collective takes 20 % to 60 % longer
  copy        one more copy in each step
  noise       nothing
"""
import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from retime import Edits, Trace, retime, write  # noqa: E402

KINDS = ("slow", "rename", "split", "fuse", "move", "drop", "insert", "launch", "sync", "collective", "copy", "noise")
LEAST = 30_000      # ns per step that a change makes at least, where the run permits: heddle diff has --min 20us


def synth(heddle, seed, kind, path, steps=None):
    """A run of heddle synth: 8 to 14 steps, small enough to make many."""
    rng = random.Random(f"base {seed}")
    options = ["--steps", str(steps or rng.randint(8, 14)), "--layers", str(rng.randint(1, 3)), "--streams", str(rng.randint(1, 2)),
               "--seed", str(rng.randint(1, 10**6))]
    if kind == "collective" or rng.random() < 0.3:
        options += ["--ranks", "2", "--rank", "0"]
    subprocess.run([heddle, "synth", "-q", "-o", str(path), "--no-python", "--no-counters", "--no-memory", "--no-flows", *options],
                   check=True, stdout=subprocess.DEVNULL)


def communication(name):
    return "nccl" in name.lower()


class Mutation:
    def __init__(self, trace, kind, rng):
        self.trace, self.kind, self.rng = trace, kind, rng
        self.edits = Edits()
        self.names, self.rows, self.matched = set(), set(), None
        self.scale = 1.0                # of every GPU activity, on both sides
        self.steps = len(trace.steps)
        self.in_steps = [a for a in trace.activities if trace.step_of(a) is not None]
        self.groups = {}                # (kernel, operators) -> activities
        for a in self.in_steps:
            self.groups.setdefault((a.name, tuple(trace.operators(a))), []).append(a)
        self.total = sum(a.length for a in self.in_steps)
        getattr(self, kind)()

    def pick(self, wanted=lambda name, operators: not communication(name) and operators, least=0.02, kind="kernel", each=True, grows=0.5):
        """A group in each step that takes a share of the GPU time, and so much that growing by `grows` is LEAST in a step."""
        found = [key for key, group in self.groups.items() if group[0].kind == kind and wanted(*key)
                 and (not each or len({self.trace.step_of(a) for a in group}) == self.steps)]
        share = {key: sum(a.length for a in self.groups[key]) / self.total for key in found}
        fit = [key for key in found if share[key] >= max(least, LEAST / grows * self.steps / self.total)]
        fit = fit or sorted(found, key=lambda key: (share[key], key))[-1:]
        key = self.rng.choice(sorted(fit))
        self.names |= {key[0], *key[1]}
        return key, self.groups[key]

    def factor(self, group, low, high):
        """How many times as long the group takes: by LEAST in a step at least, if `high` permits."""
        mean = sum(a.length for a in group) / self.steps
        return self.rng.uniform(min(high, max(low, 1 + LEAST / mean)), high)

    def anchors(self):
        """An activity of the same operator in each step: where something is inserted."""
        _, group = self.pick(least=0.005)
        self.names.clear()
        firsts = {}
        for a in group:
            firsts.setdefault(self.trace.step_of(a), a)
        return [firsts[step] for step in sorted(firsts)]

    def outermost(self, activity):
        at = activity.launch.parent
        while at.parent and at.parent.raw["cat"].lower() in ("cpu_op", "operator"):
            at = at.parent
        return at

    def slow(self):
        _, group = self.pick()
        factor = self.factor(group, 1.1, 1.5)
        for a in group:
            self.edits.length[a] = int(a.length * factor)
        self.rows = {"kernel", "operator"}

    def collective(self):
        _, group = self.pick(lambda name, operators: communication(name))
        factor = self.factor(group, 1.2, 1.6)
        for a in group:
            self.edits.length[a] = int(a.length * factor)
        self.rows = {"kernel", "operator", "collective"}

    def rename(self):
        key, _ = self.pick()
        old = key[0]
        new = old.translate(str.maketrans("0123456789", "1234567890"))
        new = "sm90_xmma_" + old if new == old or self.rng.random() < 0.5 else new
        for a in self.trace.activities:
            if a.name == old:
                self.edits.name[a] = new
        self.names, self.rows, self.matched, self.renamed = {old}, {"kernel", "operator"}, "renamed", new

    def split(self):
        key, group = self.pick(grows=0.3)
        factor, part = self.factor(group, 1.1, 1.3), self.rng.uniform(0.3, 0.7)
        second = "splitKreduce_" + key[0]
        for a in group:
            self.edits.length[a] = int(a.length * factor * part)
            self.edits.launches.append((a.launch.end, second, int(a.length * factor * (1 - part)), a, a.stream, None, "kernel"))
        self.names.add(second)
        self.rows, self.matched = {"kernel", "operator"}, "split"

    def fuse(self):
        """Kernels that directly follow one another on a stream, from operators of one parent, always as a pair."""
        following = {}
        for a in self.in_steps:
            following.setdefault((a.device, a.stream), []).append(a)
        pairs, alone = {}, {}
        for a in self.in_steps:
            key = (a.name, tuple(self.trace.operators(a)))
            alone[key] = alone.get(key, 0) + 1
        for line in following.values():
            for a, b in zip(line, line[1:]):
                if a.kind == b.kind == "kernel" and a.launch and b.launch and self.trace.step_of(a) == self.trace.step_of(b) \
                        and self.trace.operators(a) and self.trace.operators(b) and not communication(a.name + b.name):
                    x, y = self.outermost(a), self.outermost(b)
                    if x is not y and x.parent is y.parent:
                        key = (a.name, tuple(self.trace.operators(a))), (b.name, tuple(self.trace.operators(b)))
                        pairs.setdefault(key, []).append((a, b))
        fit = {key: found for key, found in pairs.items() if key[0] != key[1]
               and sum(a.length + b.length for a, b in found) > max(0.02 * self.total, 4 * LEAST * self.steps)
               and len({self.trace.step_of(a) for a, _ in found}) == self.steps and len(found) == alone[key[1]]
               and len({id(self.outermost(b)) for _, b in found}) == len(found)
               and all(sum(self.outermost(c) is self.outermost(b) for c in self.in_steps if c.launch and c.launch.parent
                           and abs(c.order - b.order) < 400) == 1 for _, b in found[:3])}
        if not fit:
            self.kind = "slow"
            return self.slow()
        key = self.rng.choice(sorted(fit))
        faster = self.rng.uniform(0.6, 0.8)
        for a, b in pairs[key]:
            self.edits.length[a] = int((a.length + b.length) * faster)
            top = self.outermost(b)
            self.edits.gone |= {b, b.launch}
            self.edits.gone |= {e for e in self.trace.events if e.thread == top.thread and top.start <= e.start and e.end <= top.end}
            self.edits.name[a] = f"fused_{key[0][0][:40]}_{key[1][0][:40]}"
            self.names.add(self.edits.name[a])
        for part in key:
            self.names |= {part[0], *part[1]}
        whole = len(pairs[key]) == alone[key[0]]    # else the first kernel is still there as well
        self.rows, self.matched = {"kernel", "operator"}, "fused" if whole else "new"

    def move(self):
        _, group = self.pick()
        to = 1 + max(a.stream for a in self.trace.activities)
        for a in group:
            self.edits.stream[a] = to
        self.rows, self.matched = {"kernel", "operator"}, "moved"

    def drop(self):
        k = self.rng.randrange(self.steps - 1) if self.steps > 4 else self.steps - 1
        step = self.trace.steps[k]
        end = self.trace.steps[k + 1].start if k + 1 < self.steps else step.end
        self.edits.gone = {e for e in self.trace.events if not e.gpu and step.start <= e.start < end}
        self.edits.gone |= {a for a in self.trace.activities if a.launch in self.edits.gone or not a.launch and step.start <= a.start < end}
        self.edits.shift.append((end, step.start - end))

    def insert(self):
        name, length = "aten::hardswish", int(self.total / self.steps * self.rng.uniform(0.03, 0.1))
        for a in self.anchors():
            self.edits.launches.append((self.outermost(a).end, "hardswish_kernel", length, a, a.stream, name, "kernel"))
        self.names, self.rows, self.matched = {name, "hardswish_kernel"}, {"kernel", "operator"}, "new"

    def copy(self):
        length = int(self.total / self.steps * self.rng.uniform(0.03, 0.1))
        for a in self.anchors():
            self.edits.launches.append((self.outermost(a).end, "Memcpy DtoH (Device -> Pageable)", length, a, a.stream, "aten::item_copy", "copy"))
        self.names = {"Memcpy DtoH (Device -> Pageable)", "aten::item_copy"}
        self.rows, self.matched = {"copy", "kernel", "operator"}, "new"

    def launch(self):
        self.scale = 0.03
        more = self.rng.randint(2_000, 5_000)
        for event in self.trace.events:
            if event.kind == "call" and "Launch" in event.name:
                self.edits.longer[event] = more
        self.rows = {"idle"}

    def sync(self):
        calls = {}
        for a in self.in_steps:
            if a.launch and "Launch" in a.launch.name:
                calls.setdefault(self.trace.step_of(a), []).append(a.launch)
        every = self.rng.randint(3, 6)
        for step in calls.values():
            self.edits.syncs += [(call.end, call) for call in sorted(step, key=lambda call: call.start)[every::every]]
        self.rows = {"idle"}

    def noise(self):
        pass

    def expected(self):
        """ns of GPU time by which the changed activities grow in a step, without noise."""
        if self.kind == "drop":
            return 0
        grown = sum(length - a.length for a, length in self.edits.length.items())
        grown += sum(more[2] for more in self.edits.launches) - sum(a.length for a in self.edits.gone if a.gpu)
        return round(grown / self.steps)


def with_noise(trace, edits, scale, share, rng):
    """The edits with noise on all durations: iid, at most three times its deviation."""
    noisy = Edits()
    noisy.__dict__.update(edits.__dict__)
    noisy.length, noisy.longer = dict(edits.length), dict(edits.longer)

    def factor():
        return 1 + min(3 * share, max(-3 * share, rng.gauss(0, share)))

    for a in trace.activities:
        noisy.length[a] = max(1, round(noisy.length.get(a, a.length) * scale * factor()))
    noisy.launches = [more[:2] + (max(1, round(more[2] * scale * factor())),) + more[3:] for more in edits.launches]
    if share:
        for event in trace.events:
            if event.kind == "call":
                noisy.longer[event] = noisy.longer.get(event, 0) + round(event.length * (factor() - 1))
    return noisy


def steps_of(events):
    """Lengths of the steps as the host saw them."""
    return [end - start for raw, start, end in sorted(events, key=lambda e: e[1]) if raw["name"].startswith("ProfilerStep")]


def make(trace, kind, seed, share=0.05):
    """(events before, events after, truth)."""
    rng = random.Random(f"{kind} {seed}")
    mutation = Mutation(trace, kind, rng)
    plain = [retime(trace, with_noise(trace, edits, mutation.scale, 0, rng)) for edits in (Edits(), mutation.edits)]
    sides = [retime(trace, with_noise(trace, edits, mutation.scale, share, rng)) for edits in (Edits(), mutation.edits)] if share else plain
    lengths = [steps_of(side) for side in plain]
    mean = [sum(side) / len(side) for side in lengths]
    truth = {"kind": mutation.kind, "seed": seed, "names": sorted(mutation.names), "rows": sorted(mutation.rows), "matched": mutation.matched,
             "renamed": getattr(mutation, "renamed", None), "steps": mutation.steps, "gpu_ns": mutation.expected(),
             "step_before_ns": round(mean[0]), "step_change_ns": round(mean[1] - mean[0])}
    return *sides, truth


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", type=os.path.abspath, default="heddle")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--noise", type=float, default=5)
    parser.add_argument("--trace")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    kind = args.kind or KINDS[args.seed % len(KINDS)]
    print(f"seed: {args.seed}, {kind}")
    args.out.mkdir(parents=True, exist_ok=True)
    base = args.trace
    if not base:
        base = args.out / "base.json"
        synth(args.heddle, args.seed, kind, base)
    trace = Trace(base)
    before, after, truth = make(trace, kind, args.seed, args.noise / 100)
    write(trace, before, args.out / "before.json")
    write(trace, after, args.out / "after.json")
    (args.out / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    print(json.dumps(truth))


if __name__ == "__main__":
    main()
