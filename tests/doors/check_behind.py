#!/usr/bin/env python3
"""Every report and every row of SQL before and behind a conversion to each format that reads back: equal, or a code of the
conversion's ledger says what is not. What tests/proven lists is not compared again. Of the formats' fixtures and seeded random traces; with --data of the real traces."""
import argparse
import glob
import json
import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True
TESTS = os.path.join(os.path.dirname(__file__), "..")
sys.path.insert(1, TESTS)
import ask
import behind
import inputs
import known
import proven
from rounds import rounds

SEEDS = rounds(6)
#: One or more of each reader's fixtures; hostile ones of a format's own details stand in its tests.
FIXTURES = ("ascend/small.db", "ascend/edge.db", "cpuprofile/small.cpuprofile", "chakra/linked.json", "chakra/edge-attributes.et", "chakra/timed.et", "chrome/small.json",
            "chrome/edge-pairs.json", "cupti/edge-lines.cupti", "flight/small.pickle", "folded/edge-comm.folded", "ftrace/kinds.ftrace", "ftrace/bad-graph.ftrace", "gecko/processed.json", "nsys/small.sqlite",
            "nsys/edge.sqlite", "nsys/payload.sqlite", "h100/jax.xplane.pb", "heddle/edge-times.heddle", "perfdata/small.data", "perfetto/edge-pairs.pftrace", "producers/jax.json", "producers/mindspore.json",
            "producers/unitrace.json", "rocpd/two.db", "rocprofv3/run.json", "rpd/edge.rpd", "torchmemory/bad-object.pickle", "xctrace/metal.xml",
            "xplane/small.pb", "xray/fdr.xray")


def random_trace(seed):
    """Processes, devices, streams, threads of numbers and texts; slices of all kinds, async ones, counters, flows and arguments."""
    rng = random.Random(seed)
    events, calls, ts = [], [], rng.choice((0, 10**9, 1700000000 * 10**6))
    pids = rng.sample((1, 7, "7", 4711, -3, "host", "a, b", "GPU 0 of 7"), rng.randrange(1, 4))
    for n, pid in enumerate(pids):
        if rng.random() < 0.8:
            events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": rng.choice(("python", "GPU 1", "/device:GPU:0", "rank 3: x"))}})
        if rng.random() < 0.4:
            events.append({"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": rng.choice((-1, 5, 2**33))}})
        if rng.random() < 0.3:
            events.append({"ph": "M", "name": "process_labels", "pid": pid, "args": {"labels": rng.choice(("CPU", "GPU 1", "NPU"))}})
        for tid in rng.sample((1, 2, 7, -9, "main", "stream 7", 2**40, 2**63 + 9), rng.randrange(1, 4)):
            if rng.random() < 0.5:
                events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": rng.choice(("work", "stream 3", "Stream #14(Compute)", "CPU 2"))}})
            kind = rng.choice(("cpu", "gpu", "sync", "mixed"))
            at = ts + rng.randrange(1000)
            for i in range(rng.randrange(1, 9)):
                at += rng.randrange(1, 60)
                args = rng.choice(({}, {"x": 1}, {"t": "", "big": 2**64 - 1, "f": 0.1, "j": [1, {"k": None}], "b": True, "n": None}, {"low": -2**63, "s": "é\n"}))
                where = {"pid": pid, "tid": tid, "ts": at}
                if kind != "cpu" and (kind != "mixed" or i % 2):
                    cat = "cuda_sync" if kind == "sync" else rng.choice(("kernel", "gpu_memcpy", "gpu_memset"))
                    number = {} if rng.random() < 0.3 else {"device": n, "stream": rng.choice((3, 7))}
                    events.append({"ph": "X", "cat": cat, "name": rng.choice(("gemm", "Memcpy HtoD (Pageable -> Device)")), **where, "dur": rng.randrange(1, 40), "args": {**args, **number, "correlation": calls.pop(0) if calls else len(events)}})
                elif rng.random() < 0.7:
                    calls.append(len(events))  # each of one work: of several the order in the file decides
                    events.append({"ph": "XX" if i == 3 else "X", "cat": rng.choice(("cpu_op", "cuda_runtime", "user_annotation")), "name": rng.choice(("cudaLaunchKernel", "aten::mm", f"ProfilerStep#{i}")),
                                   **where, **({"dur": rng.randrange(0, 40)} if rng.random() < 0.9 else {}), "args": {**args, "correlation": calls[-1]}})
                else:
                    if i % 3 == 0:  # within no pair that comes after it
                        events.append({"ph": "X", "name": "empty", **where, "dur": 0})
                    events += [{"ph": "B", "cat": "c", "name": "b", **where, "args": args}, {"ph": "E", "name": "b", **where, "ts": at + 0.5, **({"tts": at} if i % 2 else {})}]
            events.append({"ph": "i", "s": rng.choice("tpg"), "cat": "mark", "name": "i", "pid": pid, "tid": tid, "ts": at})
            for i in range(rng.randrange(3)):
                key = rng.choice(({"id": i}, {"id": f"0x{i}"}, {"id2": {"local": i}}))
                begin, end = rng.choice(("be", "SF"))
                events += [{"ph": begin, "cat": "a", "name": f"async {i}", "pid": pid, "tid": tid, "ts": at + i, **key},
                           {"ph": end, "cat": "a", "name": f"async {i}", "pid": pid, "tid": tid, "ts": at + i + rng.randrange(1, 90), **key}]
        unit = rng.choice(({}, {"unit": "%"}, {"unit": "bytes"}, {"unit": "Bytes"}))
        events += [{"ph": "C", "cat": rng.choice(("", "memory")), "name": "count", "pid": pid, "ts": ts + i, **unit, "args": rng.choice(({"value": i}, {"used (MB)": i + 0.5, "free": 2**53 + i}))} for i in range(3)]
    slices = [e for e in events if e["ph"] == "X" and e.get("dur")]
    for i in range(rng.randrange(4) if slices else 0):
        for ph, at in (("s", rng.choice(slices)), ("f", rng.choice(slices))):
            events.append({"ph": ph, "cat": "flow", "name": "flow", "id": i, "bp": "e", "pid": at["pid"], "tid": at["tid"], "ts": at["ts"]})
    more = {"distributedInfo": {"rank": rng.randrange(9), "world_size": 9}} if rng.random() < 0.5 else {}
    return {"traceEvents": events, **more}


def check(doors, name, path, forms, right):
    """How many tables differ."""
    try:
        said = behind.answers(doors, path)
    except ValueError as error:
        print(f"NO ANSWER {name}: {error}")
        return 1
    wrong, before = 0, None
    for form in forms:
        to = os.path.join(doors.folder, f"{os.path.basename(path).split('.')[0]}.behind.{form}")  # a rank may be in its name
        done = doors.run("convert", "--json", path, to)
        said_behind = behind.answers(doors, to)
        os.remove(to)
        key = right.key(name.encode(), *(text.replace(doors.folder, "").replace(path, "").encode() for text in (form, done.stdout, *said, *said_behind)))
        if right.holds(key):
            continue
        before, after, wrong_before = before or behind.everything(*said), behind.everything(*said_behind), wrong
        for noun, (lost, new) in behind.differences(before, after, json.loads(done.stdout)["ledger"]).items():
            is_known = (name, form, noun) in known.BEHIND
            wrong += not is_known
            print(f"{'known' if is_known else 'DIFFERS'} {name}, {form}, {noun}: {len(lost)} rows only before, {len(new)} only behind: {' | '.join(row[:300] for row in lost[:1] + new[:1])}")
        if wrong == wrong_before:
            right.add(key)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--data", action="store_true", help="the real traces of ../shared/data, of at most 128 kB")
    parser.add_argument("--all", action="store_true", help="every fixture of every reader; with --data those of any size")
    parser.add_argument("--seed", type=int, nargs="*", help="random traces of these alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        doors, asked, wrong = ask.Doors(options.heddle, folder), 0, 0
        right = proven.Proven("behind_data" if options.data else "behind")
        if options.data:
            top = inputs.data_folder()
            paths = [p for p in sorted(glob.glob(f"{top}/**/*", recursive=True)) if os.path.isfile(p) and (options.all or os.path.getsize(p) < 128 << 10) and is_trace(p)]
            if not paths:
                print("skipped: ../shared/data is not there")
                sys.exit(77)
            made = [(os.path.relpath(p, top), p) for p in paths]
        else:
            names = all_fixtures() if options.all else [] if options.seed else FIXTURES
            made = [(f, p) for f in names for p in [os.path.join(TESTS, "format", f)] if os.path.exists(p)]
            for seed in options.seed or range(SEEDS):
                made.append((f"seed {seed}", os.path.join(folder, f"seed{seed}.json")))
                with open(made[-1][1], "w", encoding="utf-8") as out:
                    json.dump(random_trace(seed), out)
        for name, path in made:
            done = doors.run("info", "-q", path) if options.all else None
            if done and not done.stdout:
                print(f"refused {name}: {done.stderr.strip()[-160:]}")
                continue
            asked += 1
            wrong += check(doors, name, path, ask.FORMS, right)
    right.end()
    print(f"{asked} traces, {wrong} tables differ")
    sys.exit(1 if wrong else 0)


def all_fixtures():
    top = os.path.join(TESTS, "format")
    for path in sorted(glob.glob(f"{top}/*/**", recursive=True)):
        name = os.path.relpath(path, top)
        if os.path.isfile(path) and is_trace(path) and not name.endswith((".expect", ".py", ".mjs", ".c", ".h", ".pyc", ".build")):
            yield name


def is_trace(path):
    return not path.endswith((".csv", "-shm", "-wal", ".csv.gz", "result-ST.json", ".txt", ".md", ".cc", ".def", ".evt", ".cfg", ".parquet", ".string", ".trace_event.json")) and not os.access(path, os.X_OK)


main()
