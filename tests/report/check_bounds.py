#!/usr/bin/env python3
"""Bounds of findings hold where activities of one queue overlap: random programs whose kernels wait for the end of the one
before them, or begin before it ends (programmatic dependent launch), or are nodes of graphs that run side by side. The
trace shows when they run, not what they wait for. What kernels, or the host, save in truth is the program again with each
of them at 0 ns, and may not be more than the bound.

  check_bounds.py --heddle HEDDLE [--rounds N]
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import rounds  # noqa: E402

CALL, LATENCY, HOST = 4000, 2000, "host"


class Program:
    """Steps of ("launch", stream, nodes) and ("sync",). A node: its name, its time, and what it waits for on its queue: all
    before it, all but the end of the one before it ("early", ns), or a list of nodes of its own launch ("nodes", [k, ...])."""
    def __init__(self, rng):
        self.actions, self.names = [], []
        ways = rng.choice([["all"], ["all", "early"], ["early"], ["all", "graph"], ["all", "early", "graph"], ["all", "early", "graph"]])
        for _ in range(rng.randint(3, 12)):
            if rng.random() < 0.2:
                self.actions.append(("sync",))
            way, stream = rng.choice(ways), rng.choice([7, 7, 7, 9])
            if way == "graph":
                waits = [("nodes", sorted(rng.sample(range(k), rng.randint(0, min(k, 2))))) for k in range(rng.randint(2, 5))]
            else:
                waits = [("early", rng.randint(1, 4000)) if way == "early" else ("all",)]
            self.actions.append(("launch", stream, [self.node(rng, w) for w in waits], rng.randint(0, 60000)))

    def node(self, rng, waits):
        name = "kernel_%d" % rng.randint(0, 4)
        self.names.append(name)
        return name, rng.randint(5000, 200000), waits

    def run(self, gone=()):
        """The events, and the end; kernels of the names in `gone` take no time, nor does what the host does if HOST is."""
        events, now, number = [], 0, 0
        ends = {}  # by stream: the end of everything before; the latest start
        add = lambda cat, name, ts, dur, pid=1, tid=1, **args: events.append((cat, name, ts, dur, pid, tid, args))
        for action in self.actions:
            number += 1
            if action[0] == "sync":
                end = max([now] + [e["all"] for e in ends.values()]) + 1000
                add("cuda_runtime", "cudaDeviceSynchronize", now, end - now, correlation=number)
                now = end
                continue
            _, stream, nodes, host = action
            host = 0 if HOST in gone else host
            add("cpu_op", "op", now, host)
            now += host
            add("cuda_runtime", "cudaGraphLaunch" if len(nodes) > 1 else "cudaLaunchKernel", now, CALL, correlation=number)
            now += CALL
            before = ends.setdefault(stream, {"all": 0, "start": 0})
            free, done = before["all"], []
            for name, length, waits in nodes:
                length = 0 if name in gone else length
                start = now + LATENCY
                if waits[0] == "early":  # what is before its own work overlaps the end of the one before it
                    start = max(start, free - waits[1], before["start"])
                    end = max(start + (0 if name in gone else waits[1]), free) + length
                else:
                    start = max([start, free] + [done[k] for k in waits[1:] and waits[1]])
                    end = start + length
                done.append(end)
                add("kernel", name, start, end - start, 0, stream, device=0, stream=stream, correlation=number)
                before.update(all=max(before["all"], end), start=max(before["start"], start))
        end = max([now] + [e["all"] for e in ends.values()]) + 1000
        add("cuda_runtime", "cudaDeviceSynchronize", now, end - now, correlation=number + 1)
        add("user_annotation", "ProfilerStep#0", 0, end)
        return events, end

    def write(self, path):
        events, _ = self.run()
        path.write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": cat, "name": name, "ts": ts / 1000, "dur": dur / 1000, "pid": pid, "tid": tid, "args": args}
                                                    for cat, name, ts, dur, pid, tid, args in events]}))


def claimed(finding, findings, program):
    """The names of the kernels that the finding is about, or HOST; none: it is not firm, or about something else."""
    if finding["code"] == "host-bound" and finding["trust"] == "firm":
        return {HOST}
    hotspots = {re.search(r"kernel_\d", f["finding"]).group() for f in findings if f["code"] == "kernel-hotspot"}
    if finding["code"] == "kernel-hotspot":
        return {re.search(r"kernel_\d", finding["finding"]).group()}
    return set(program.names) - hotspots if finding["code"] == "gpu-bound" else set()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--rounds", type=int, default=25)
    asked = parser.parse_args()
    rng = random.Random(rounds.seed(1))
    compared, unknown, problems = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.json")
        for number in range(rounds.rounds(asked.rounds)):
            program = Program(rng)
            program.write(path)
            answer = subprocess.run([asked.heddle, "report", "summary", "--json", path], check=True, stdout=subprocess.PIPE)
            findings = json.loads(answer.stdout)["findings"]
            others = sum(f["saves"] for f in findings if f["code"] == "uneven-kernel")  # of the same kernels, by other claims
            for f in findings:
                gone = claimed(f, findings, program)
                if not gone:
                    continue
                truth = program.run()[1] - program.run(gone)[1]
                compared += f["saves"] is not None
                unknown += f["saves"] is None
                if f["saves"] is not None and truth > f["saves"] + others + 10:
                    problems.append("round %d: %s of %s saves %d at most (%s), in truth %d" % (number, f["code"], sorted(gone), f["saves"], f["how"], truth))
    print("%d bounds compared, %d not known" % (compared, unknown))
    print("\n".join(problems))
    return 0 if compared and not unknown and not problems else 1


if __name__ == "__main__":
    sys.exit(main())
