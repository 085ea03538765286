#!/usr/bin/env python3
"""GPU activities that heddle convert --typed-gpu writes are in Perfetto's own table of them.

usage: perfetto_gpu.py --heddle PROGRAM [--seed [SEED ...]] [FILE...]

Perfetto's own trace_processor (perfetto_engine.mjs) loads what is made of random JSON, and of real traces where they are there. gpu_slice must have
each kernel, copy and memset of the JSON once, with its start, duration, name, stream, correlation id and arguments, and trace_processor must not
complain. What Heddle reads of the file must be what it reads of one without the option. Exits with 77, and says why, without node or
tests/web/perfetto.
"""
import argparse
import collections
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from rounds import rounds, seed as first_seed  # noqa: E402

HERE = Path(__file__).resolve().parent
SKIP = 77
WORK = ("kernel", "gpu_memcpy", "gpu_memset")
REAL = ("kineto/nccl_data.json.gz", "kineto/mi250_minitoy.json.gz", "kineto/event_sync_multi_stream.json.gz", "kineto/normalization_layer_test.json.gz")
ASK = """
import {Engine} from "%s";
import fs from "node:fs";
const [folder, ...files] = process.argv.slice(2), engine = new Engine(folder);
await engine.start();
for (const file of files) {
  engine.load(fs.readFileSync(file));
  const ask = sql => engine.query(sql);
  console.log(JSON.stringify({
    trouble: ask("select name, sum(value) from stats where value <> 0 and severity in ('error', 'data_loss') group by 1"),
    slices: ask("select g.id, g.ts - (select min(ts) from slice), g.dur, g.name, t.name, ifnull(g.submission_id, 0) from gpu_slice g join track t on t.id = g.track_id"),
    args: ask("select g.id, a.key, a.display_value from gpu_slice g join slice s using(id) join args a on a.arg_set_id = s.arg_set_id")},
    (_, value) => typeof value === "bigint" ? Number(value) : value));
}
"""


def document(seed):
    rng, events, time = random.Random(seed), [], 100
    for i in range(rng.randrange(1, 60)):
        time += rng.randrange(20)
        call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 8, "ts": time, "dur": 2, "args": {"correlation": i + 1}}
        device, stream = rng.randrange(2), rng.choice((7, 20))
        args = {"device": device, "stream": stream, "correlation": i + 1, "grid": [1, 2, i], "occupancy": rng.choice((0.25, 1.5, 100)), "note": rng.choice(("", "a b", "é"))}
        gpu = {"ph": "X", "cat": rng.choice(WORK), "name": rng.choice(("gemm", "add<float, 4>", "Memcpy HtoD")), "pid": device, "tid": stream,
               "ts": time + rng.randrange(40), "dur": rng.choice((0, 1, 30)), "args": args}
        events += [call, gpu]
    return events


def expected(events):
    """Of each activity its start, duration in ns, name, stream, correlation and arguments."""
    first, out = None, []
    for e in events:
        if e.get("ph") == "X":
            start = round(float(e["ts"]) * 1000)
            first = start if first is None else min(first, start)
    for e in events:
        if e.get("cat") in WORK and e.get("ph") == "X":
            start = round(float(e["ts"]) * 1000)
            out.append((start - first, round((float(e["ts"]) + float(e["dur"])) * 1000) - start, e["name"], int(e["args"].get("correlation", 0)), e["args"]))
    return out


def compare(name, events, answer, exact):
    wrong, args = [], collections.defaultdict(dict)
    if answer["trouble"]:
        wrong.append(f"trace_processor complains: {answer['trouble']}")
    for number, key, value in answer["args"]:
        args[number][key] = value
    wanted = expected(events)
    got = collections.Counter((dur, label, id_of) for _, _, dur, label, _, id_of in answer["slices"])
    want = collections.Counter((dur, label, id_of) for _, dur, label, id_of, _ in wanted)
    if exact and got != want:
        wrong.append(f"{len(answer['slices'])} slices, of the JSON {len(wanted)}: {list((got - want).items())[:3]}, {list((want - got).items())[:3]}")
    if len(answer["slices"]) != len(wanted):
        wrong.append(f"{len(answer['slices'])} slices, of the JSON {len(wanted)}")
    if not exact:
        return wrong
    starts = collections.Counter((ts, label, track) for _, ts, _, label, track, _ in answer["slices"])
    for ts, _, label, _, of in wanted:
        starts[ts, label, f"stream {of['stream']}"] -= 1
    if any(starts.values()):
        wrong.append(f"starts and streams: {[k for k, v in starts.items() if v][:4]}")
    by_id = {of["correlation"]: of for _, _, _, _, of in wanted}
    for number, _, _, _, _, id_of in answer["slices"]:
        for key, value in by_id[id_of].items():
            said = args[number].get(key)
            # An empty text is none in trace_processor.
            if (json.loads(said) if isinstance(value, list) else said or "") != (value if isinstance(value, list) else value if isinstance(value, str) else json.dumps(value)):
                wrong.append(f"argument {key} of {id_of}: {said!r}, not {value!r}")
    return wrong[:4]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--seed", nargs="*", type=int)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    options.heddle = Path(options.heddle).resolve()  # it runs in other folders
    root = Path(os.environ.get("HEDDLE_SOURCE_ROOT", HERE.parents[2]))
    node, engine = shutil.which("node") or shutil.which("nodejs"), root / "tests/web/perfetto"
    for what, there in (("node", node), ("tests/web/perfetto", (engine / "engine_bundle.js").is_file())):
        if not there:
            print(f"skipped: there is no {what}; tools/setup.sh test sees to it")
            return SKIP
    shared = Path(os.environ.get("HEDDLE_SHARED", root.parent / "shared")) / "data"
    first = first_seed(1)
    inputs = list(options.seed or range(first, first + rounds(8))) + (options.files or [shared / name for name in REAL if (shared / name).is_file()])
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder, documents, files = Path(folder), [], []
        for i, of in enumerate(inputs):
            data = json.dumps(document(of)).encode() if isinstance(of, int) else of.read_bytes()
            data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
            source, typed, plain = folder / f"{i}.json", folder / f"{i}-typed" / "a.pftrace", folder / f"{i}-plain" / "a.pftrace"
            source.write_bytes(data)
            for path, more in ((typed, ["--typed-gpu"]), (plain, [])):
                path.parent.mkdir()
                subprocess.run([options.heddle, "convert", "-q", source, path, *more], check=True, capture_output=True)
            documents.append(json.loads(data))
            files.append(typed)
            back = [subprocess.run([options.heddle, "convert", "-q", "a.pftrace", "-"], cwd=path.parent, capture_output=True).stdout for path in (typed, plain)]
            if back[0] != back[1] or not back[0]:
                failed += 1
                print(f"FAIL {of}: Heddle reads something else of the file with render stages")
        (folder / "ask.mjs").write_text(ASK % (HERE / "perfetto_engine.mjs"))
        run = subprocess.run([node, folder / "ask.mjs", engine, *files], capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    if len(answers) != len(files):
        print(run.stderr)
        return 1
    for of, events, answer in zip(inputs, documents, answers):
        events = events if isinstance(events, list) else events["traceEvents"]
        wrong = compare(of, events, answer, isinstance(of, int))
        failed += bool(wrong)
        print("\n  ".join([f"{'FAIL' if wrong else 'ok  '} {of}: {len(answer['slices'])} activities"] + wrong))
    return failed > 0


sys.exit(main())
