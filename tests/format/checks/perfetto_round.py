#!/usr/bin/env python3
"""What is read from Perfetto protobuf is what was written: a round trip, replayed by perfetto_model.py.

usage: perfetto_round.py --write PROGRAM --copy PROGRAM [FILE...]

A JSON trace is written as Perfetto protobuf; that is read and written as Perfetto protobuf again, and also as JSON, of
which a third file is made. The replays of the three must agree in

  slices, instants    track, start, end, name, category and arguments of each
  counters            name, time and value of each sample
  flows               which slice each of them leads from and to
  processes           names, labels, order
  the whole           top-level keys; what the clock's zero is in real time

With no FILE: the fixtures of the Chrome format, random documents, and those traces of HEDDLE_SHARED/data (default:
../shared/data beside the project) of the sizes that tests/sizes.py says; where they are absent, that is said.
"""
import argparse
import collections
import concurrent.futures
import gc
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2]))
import perfetto_model as model  # noqa: E402
from rounds import rounds  # noqa: E402

DOCUMENTS = rounds(40)


class Replay(model.Replay):
    """Remembers which slices flows join."""

    def __init__(self, data):
        self.open_flows, self.arrows = {}, []
        super().__init__(data)

    def event(self, now, data):
        before = len(self.slices), len(self.instants)
        self.bound = None
        super().event(now, data)
        if self.bound is None:
            return
        ends, goes = self.bound
        record = self.slices[-1] if len(self.slices) > before[0] else self.instants[-1]
        for flow in goes + ends:
            if flow in self.open_flows:
                self.arrows.append((self.open_flows[flow], record))
            self.open_flows[flow] = record
        for flow in ends:
            del self.open_flows[flow]

    def bind(self, kinds):
        self.bound = kinds[48], kinds[47]
        super().bind(kinds)


HELD = {"event." + key for key in ("ph", "ts", "dur", "name", "cat", "pid", "tid", "args", "id", "id2", "scope", "bp")}


def args_of(replay, record):
    """Its annotations. Those of both ends: see docs/formats/chrome.md, "A begin and an end in one"."""
    groups = {}
    begins = record.get("begin_annotations", len(record["annotations"]))
    for i, raw in enumerate(record["annotations"]):
        annotation = model.message(raw)
        name = replay.interned[3][annotation[1]].decode("utf-8", "surrogatepass")
        if name == "event.tts" and i >= begins and name not in groups:
            name = "end.tts"
        groups.setdefault(name, []).append(replay.value(annotation, raw))
    args = {}
    for name, values in groups.items():
        first_keeps = name.startswith("event.") and name not in HELD
        keeper = values[0 if first_keeps else -1]
        if name == "event.tts" and len(values) == 2 and all(isinstance(v, int) for v in values):
            args |= {name: values[0], "event.tdur": values[1] - values[0]}
            continue
        if name == "event.track":  # uuids count tracks
            keeper, values = str(replay.key(keeper)), []
        args[name] = keeper
        args |= {f"{name}#{n}": v for n, v in enumerate(values, 1) if repr(v) != repr(keeper)}
    return args


def described(replay):
    """Everything in a file as counters of texts and numbers."""
    keys = {uuid: replay.key(uuid) for uuid in replay.tracks}

    def short(record):
        return keys[record["uuid"]], record["start"], record["end"], record["name"]

    def whole(record):
        return *short(record), record["category"], json.dumps(args_of(replay, record), sort_keys=True)

    return {
        "slices": collections.Counter(map(whole, replay.slices)),
        "instants": collections.Counter(map(whole, replay.instants)),
        "counters": collections.Counter((replay.tracks[u].name, t, repr(v)) for u, t, v in replay.counters),
        "flows": collections.Counter((short(a), short(b)) for a, b in replay.arrows),
        "names": collections.Counter(keys[r["uuid"]] + (replay.tracks[r["uuid"]].name,) for r in replay.slices),
        "processes": collections.Counter((t.process[1], t.process.get(6), t.process.get(8), t.process.get(3))
                                         for t in replay.tracks.values() if t.process and len(t.process) > 1),
        "metadata": collections.Counter({(k, json.dumps(json.loads(v), sort_keys=True)): 1
                                         for k, v in replay.metadata.items()}),
        "real time": collections.Counter([replay.realtime]),
    }


def copy(program, source, target):
    run = subprocess.run([program, str(source), str(target)], capture_output=True, text=True)
    if run.returncode:
        raise model.Broken(f"{target.name}: exit status {run.returncode}: {run.stderr.strip()}")


def check_file(options, path, folder):
    """What differs after reading, and the number of flows that join slices."""
    first, second, third = (folder / f"{i}.pftrace" for i in range(3))
    as_json = folder / "copy.json"
    model.write(options.write, path, first, False)
    model.write(options.write, first, second, True)
    copy(options.copy, first, as_json)
    model.write(options.write, as_json, third, True)
    replay = Replay(first.read_bytes())
    before, problems = described(replay), []
    for name, file in (("read as Perfetto", second), ("by way of JSON", third)):
        after = described(Replay(file.read_bytes()))
        for what in before:
            problems += model.difference(f"{name}: {what}", before[what], after[what])
    return problems, len(replay.arrows)


# ---- documents ----


def random_args(rng, depth=0):
    values = [lambda: rng.randrange(-2**63, 2**64), lambda: rng.random() * 10**rng.randrange(-9, 9), lambda: True,
              lambda: None, lambda: json.loads("[" * 40 + "null" + "]" * 40), lambda: "text \"\\\u00e9\U0001f600" + str(rng.randrange(9)), lambda: [], lambda: {}]
    if depth < 3:
        values += [lambda: random_args(rng, depth + 1), lambda: list(random_args(rng, depth + 1).values())]
    return {f"key {rng.randrange(20)}": rng.choice(values)() for _ in range(rng.randrange(5))}


def random_document(rng):
    """Slices that nest or cross, flows between them, counters, instants, asynchronous slices."""
    events, starts = [], []
    tracks = [(rng.randrange(3), rng.choice([1, 2, 7, "worker", None])) for _ in range(4)]
    for i in range(rng.randrange(5, 120)):
        pid, tid = rng.choice(tracks)
        e = {"pid": pid, "ts": rng.randrange(0, 4000) / 4, "name": f"event {rng.randrange(12)}",
             "cat": rng.choice(["cpu_op", "kernel", "a,b"])}
        if tid is not None:
            e["tid"] = tid
        phase = e["ph"] = rng.choice("XXXXXiCbsf")
        if phase in "Xi":
            e["args"] = random_args(rng)
        if phase == "X":
            e["dur"] = rng.choice([0, 0.25, 1, 10, 100, 1000])
            starts.append(e)
            if e["cat"] == "kernel":
                e["args"].update(device=pid, stream=rng.choice([7, 20]))
        elif phase == "C":
            e["args"] = {rng.choice(["value", "used"]): rng.choice([rng.randrange(2**40), rng.random()])}
        elif phase == "b":
            e["id"] = f"0x{i:x}"
            events.append(dict(e, ph="e", ts=e["ts"] + rng.randrange(9)))
        elif phase in "sf" and len(starts) > 1:
            a, b = rng.sample(starts, 2)
            for at, point in (("s", a), ("f", b)):
                events.append({"ph": at, "bp": "e", "id": i, "cat": "flow", "name": "flow", "ts": point["ts"],
                               "pid": point["pid"], **({"tid": point["tid"]} if "tid" in point else {})})
            continue
        events.append(e)
    document = {"distributedInfo": {"rank": rng.randrange(8), "world_size": 8}, "traceEvents": events}
    if rng.random() < 0.5:
        document["baseTimeNanoseconds"] = rng.randrange(2**60)
    return document


def inputs(root):
    """What to check: files, and seeds of documents."""
    fixtures = (root / "tests/format/chrome").glob("*.json")
    yield from sorted(p for p in fixtures if p.stem != "bad-deep")  # which is too deep for Python
    yield from range(DOCUMENTS)
    data = pathlib.Path(os.environ.get("HEDDLE_SHARED", root.parent / "shared")) / "data"
    if not data.is_dir():
        print(f"skipped: the real traces, {data} is not there")
        return
    yield from (path for path, _ in model.inputs(root) if data in path.parents)


def run(options, work):
    """(name, problems, flows)."""
    name = f"document {work}" if isinstance(work, int) else work.name
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if isinstance(work, int):
            (folder / "document.json").write_text(json.dumps(random_document(random.Random(work))))
            work = folder / "document.json"
        try:
            return name, *check_file(options, work, folder)
        except model.Broken as error:
            return name, [str(error)], 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", required=True)
    parser.add_argument("--copy", required=True)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    root = pathlib.Path(os.environ.get("HEDDLE_SOURCE_ROOT", pathlib.Path(__file__).parents[3]))
    gc.disable()  # it would walk millions of objects again and again, and none of them is in a cycle
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        tasks = [pool.submit(run, options, work) for work in options.files or inputs(root)]
        for task in tasks:
            name, problems, flows = task.result()
            failed += bool(problems)
            head = f"{'FAIL' if problems else 'ok  '} {name}, {flows} flows"
            print("\n  ".join([head] + problems), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
