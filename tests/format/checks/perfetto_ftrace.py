#!/usr/bin/env python3
"""Scheduling in Perfetto traces is what Perfetto itself makes of it.

usage: perfetto_ftrace.py HEDDLE

Random switches and wakeups of several CPUs, as events and as columns (compact_sched), bundles in any order: each slice of a
CPU (`sched`) and each state of a thread (`thread_state`) is compared with trace_processor's (perfetto_engine.mjs). Exits with
77, and says why, without node or tests/web/perfetto.
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "perfetto"))
sys.path.insert(0, str(HERE.parent))
import make_ftrace as made  # noqa: E402
from rounds import rounds  # noqa: E402

SKIP, TRACES, CPUS = 77, rounds(20), 3
STATES = (1, 1, 1, 2, 0, 256, 4, 8, 16, 32, 64, 128)


def thread(tid):
    return (f"thread {tid}" if tid else "swapper", tid, 100 + tid % 21)


def random_trace(random_numbers):
    """each CPU switches among its own threads; those that sleep are woken before they run"""
    release = random_numbers.choice(("", "4.4.302", "4.14.1", "6.1.0-13-amd64"))
    out, bundles = made.system(release) if release else b"", []
    out += made.tree(*[(100 * c + t, 100 * c + 1, f"thread {100 * c + t}") for c in range(1, CPUS + 1) for t in range(1, 5)])
    compact = random_numbers.random() < 0.4
    firsts = set()  # of columns trace_processor takes the first switch of a CPU for what was before, and begins no slice
    for cpu in range(CPUS):
        now, running, asleep = 1000 + cpu, 0, {}
        switches, wakings, parts = [], [], b""
        for _ in range(random_numbers.randrange(2, 60)):
            now += random_numbers.randrange(3, 200)
            following = random_numbers.choice([t for t in [0] + [100 * (cpu + 1) + n for n in range(1, 5)] if t != running])
            if asleep.get(following):
                wakings.append((now - 2, thread(following), cpu))
                parts += made.waking(now - 2, running, thread(following), cpu)
                asleep[following] = False
            state = random_numbers.choice(STATES) if running else 0
            if running:
                asleep[running] = state not in (0, 256)
            switches.append((now, state, thread(following)))
            parts += made.switch(now, thread(running), state, thread(following))
            running = following
            if not compact and random_numbers.random() < 0.1:
                bundles.append(made.bundle(cpu, parts))
                parts = b""
        bundles.append(made.bundle(cpu, made.columns(switches, wakings) if compact else parts))
        if compact:
            firsts.add((switches[0][0], cpu))
    if not compact:  # bundles of one CPU stay in their order
        order = sorted(range(len(bundles)), key=lambda i: (random_numbers.random() * 3 + i, i)) if random_numbers.random() < 0.5 else range(len(bundles))
        bundles = [bundles[i] for i in sorted(order)]
    return out + b"".join(bundles), firsts


def rows_of(heddle, path, sql):
    out = subprocess.run([heddle, "query", "--json", str(path), sql], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    table = json.loads(out.stdout)
    rows = table if isinstance(table, list) else next(v for v in table.values() if isinstance(v, list) and (not v or isinstance(v[0], (list, dict))))
    return sorted((tuple(r.values()) if isinstance(r, dict) else tuple(r) for r in rows), key=repr)


def main():
    heddle, web = sys.argv[1], HERE.parent / "web/perfetto"
    if not shutil.which("node") or not (web / "trace_processor.wasm").is_file():
        print("skipped: there is no node, or no tests/web/perfetto")
        return SKIP
    numbers, total = random.Random(7), [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        files, firsts = [], []
        for i in range(TRACES):
            files.append(pathlib.Path(folder) / f"{i}.pftrace")
            data, first = random_trace(numbers)
            files[-1].write_bytes(data)
            firsts.append(first)
        done = subprocess.run(["node", str(HERE / "checks/perfetto_engine.mjs"), str(web), *map(str, files)], capture_output=True, text=True, check=True)
        for path, line, first in zip(files, done.stdout.splitlines(), firsts, strict=True):
            theirs = json.loads(line)
            assert "error" not in theirs, theirs
            sched = sorted(((r[0], r[1], r[2], r[3]) for r in theirs["sched"]), key=repr)
            states = sorted((tuple(r) for r in theirs["states"]), key=repr)
            mine = rows_of(heddle, path, "select ts, coalesce(dur, -1), cpu, tid from sched join thread using(utid)")
            mine = [r for r in mine if (r[0], r[2]) not in first]
            assert mine == sched, (path.name, "ours", set(mine) - set(sched), "theirs", set(sched) - set(mine))
            mine = rows_of(heddle, path, "select ts, coalesce(dur, -1), state, cpu, tid from thread_state join thread using(utid)")
            mine = [r for r in mine if (r[0], r[3]) not in first]
            assert mine == states, (path.name, "ours", sorted(set(mine) - set(states), key=repr)[:6], "theirs", sorted(set(states) - set(mine), key=repr)[:6])
            total = [total[0] + len(sched), total[1] + len(states)]
    print(f"{TRACES} traces: {total[0]} slices of CPUs, {total[1]} states of threads")
    return 0


if __name__ == "__main__":
    sys.exit(main())
