#!/usr/bin/env python3
"""Real traces of ../shared/data written as OTF2 archives and read back: what comes back is what went in.

usage: otf2_round.py --copy PROGRAM --heddle HEDDLE [--rest|--all] [FILE...]

Each trace goes to JSON twice, directly and by way of an archive. Every event must be in both, with its times in ns, name,
category, pid, tid, id, phase and typed arguments, but for as many as the writer's ledger says were lost; begin and end events
become one slice. Tracks with events have the same names, labels and order, top-level keys the same values. `heddle check`
finds nothing of its own ("otf2.…") in the archive. Which traces, tests/sizes.py says. Skips where they are absent.
"""
import argparse
import collections
import decimal
import gc
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import sizes  # noqa: E402

SKIP = 77
FILES = ["kineto/nccl_data", "kineto/b200_eager", "kineto/mi250_minitoy", "kineto/normalization_layer_test",
         "kineto/event_sync_multi_stream", "kineto/particle_transformer_a100", "kineto/resnet50_2021",
         "kineto/cupti_counters", "chrome/fuchsia_trace", "chrome/lthi_cats",
         "chrome/perf_sampling_trace_with_trace_events", "ranks/dlrm/rank0"]
NAMES = {"process_name", "process_labels", "process_sort_index", "thread_name", "thread_sort_index"}


def ns(value):
    return int((decimal.Decimal(value) * 1000).to_integral_value(decimal.ROUND_FLOOR))


def plain(value):
    """A value as something to compare: 12.500 is 12.5, 1.0 is another thing than true."""
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, (int, decimal.Decimal)):
        return ("number", decimal.Decimal(value).normalize())
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, default=str)


def arguments(event):
    return tuple(sorted((key, plain(value)) for key, value in (event.get("args") or {}).items()))


def key_of(event, phase, start, end):
    ids = tuple((key, plain(event[key])) for key in ("id", "id2", "bp", "s") if key in event)
    return (phase, event.get("name", ""), event.get("cat", ""), str(event.get("pid")), str(event.get("tid")), start, end,
            ids, arguments(event))


def chains(frames):
    """The names of each stack from the root, by its id."""
    found = {}
    for key in frames:
        path, at = [], key
        while at is not None and len(path) <= len(frames):
            frame = frames[at]
            path.append(frame["name"])
            at = None if frame.get("parent") is None else str(frame["parent"])
        found[key] = tuple(reversed(path))
    return found


def load(path):
    """Events as a multiset, names of tracks with events, top-level keys."""
    text = path.read_text().replace("\\u0000", "\u2400")  # what the writer makes of it, and tells the ledger
    document = json.loads(text, parse_float=decimal.Decimal, strict=False)
    if isinstance(document, list):
        document = {"traceEvents": document}
    events, names, used = collections.Counter(), {}, set()
    stacks = collections.defaultdict(list)
    stack_of = chains(document.get("stackFrames", {}))
    if stack_of:
        document["stackFrames"] = sorted(map(list, set(stack_of.values())))  # whichever their ids
    for event in document.pop("traceEvents"):
        if "sf" in event:
            event["args"] = {**(event.get("args") or {}), "sf": stack_of[str(event["sf"])]}
        phase, track = event.get("ph"), (str(event.get("pid")), str(event.get("tid")))
        if phase == "M" and event.get("name") in NAMES:
            where = track if event["name"].startswith("thread") else track[:1]
            names[where, event["name"]] = arguments(event)
            continue
        if "ts" not in event:
            events[key_of(event, phase, None, None)] += 1
            continue
        used |= {track, track[:1]}
        start = ns(event["ts"])
        if phase == "B":
            stacks[track].append((event, start))
        elif phase == "E" and stacks[track]:
            begin, start = stacks[track].pop()
            begin = dict(begin, args={**(begin.get("args") or {}), **(event.get("args") or {})})
            events[key_of(begin, "X", start, ns(event["ts"]))] += 1
        else:
            end = ns(decimal.Decimal(event["ts"]) + decimal.Decimal(event["dur"])) if "dur" in event else None
            events[key_of(event, phase, start, end)] += 1
    for begin, start in (item for stack in stacks.values() for item in stack):
        events[key_of(begin, "X", start, None)] += 1  # never ended
    names = {where: value for where, value in names.items() if where[0] in used}
    return events, names, {key: plain(value) for key, value in document.items()}


def compare(copy, heddle, path, folder):
    """None, or what is wrong."""
    direct, archive, back = folder / "direct.json", folder / "out.otf2", folder / "back.json"
    subprocess.run([copy, str(path), str(direct)], check=True, stdout=subprocess.DEVNULL)
    ledger = subprocess.run([copy, str(path), str(archive)], check=True, capture_output=True, text=True).stdout
    subprocess.run([copy, str(archive), str(back)], check=True, stdout=subprocess.DEVNULL)
    rows = [line.split() for line in ledger.splitlines() if line.startswith("otf2.")]
    lost = {code: int(count) for code, level, count in rows if level == "2"}
    if ("\\u0000" in direct.read_text()) != ("otf2.nul-in-string" in lost):
        return f"NUL in strings, and the ledger: {lost}"
    wanted, got = load(direct), load(back)
    missing, extra = wanted[0] - got[0], got[0] - wanted[0]
    changed = [event for event in missing if event[0] not in "stf" and event[5] is not None]
    if changed or extra:
        return f"{len(changed)} events are not there, such as {changed[:2]}; {len(extra)} are new: {list(extra)[:2]}"
    flows = sum(count for event, count in missing.items() if event[0] in "stf")
    if flows != lost.get("otf2.flow-unmatched", 0):
        return f"{flows} flow points are missing: {lost}"
    others = sum(missing.values()) - flows
    if others > lost.get("otf2.event-without-time", 0) + lost.get("otf2.metadata-event-lost", 0):
        return f"{others} events without a time are missing: {lost}"
    if wanted[1] != got[1]:
        return f"names differ: {set(wanted[1].items()) ^ set(got[1].items())}"
    if wanted[2] != got[2]:
        return f"top-level keys differ: {[key for key in wanted[2] if wanted[2][key] != got[2].get(key)]}"
    check = subprocess.run([heddle, "check", "-q", str(archive)], capture_output=True, text=True)
    return f"check: {check.stdout[:500]}" if "otf2." in check.stdout or check.stderr else None


def compare_ranks(heddle, files, folder):
    """None, or what is wrong: the ranks of a job in one archive, against the same in one JSON file."""
    merged, archive, back = folder / "merged.json", folder / "ranks.otf2", folder / "back.json"
    names = [str(path) for path in files]
    subprocess.run([heddle, "convert", "-q", *names, str(merged)], check=True)
    report = subprocess.run([heddle, "convert", "--json", *names, str(archive)], check=True, capture_output=True, text=True)
    lost = {row["code"]: row["count"] for row in json.loads(report.stdout)["ledger"] if row["level"] == "loss"}
    subprocess.run([heddle, "convert", "-q", str(archive), str(back)], check=True)
    wanted, got = load(merged), load(back)
    missing, extra = wanted[0] - got[0], got[0] - wanted[0]
    if extra or any(event[0] not in "stf" and event[5] is not None for event in missing):
        return f"events differ: {list(missing)[:2]}, {list(extra)[:2]}"
    if sum(missing.values()) != lost.get("otf2.flow-unmatched", 0) + lost.get("otf2.event-without-time", 0):
        return f"{sum(missing.values())} events are missing: {lost}"
    if wanted[1] != got[1]:
        return f"names differ: {set(wanted[1].items()) ^ set(got[1].items())}"
    info = json.loads(subprocess.run([heddle, "info", "--json", "--all", str(archive)], check=True, capture_output=True,
                                     text=True).stdout)
    info = info["files"][0] if "files" in info else info
    ranks = {process["rank"] for process in info["processes"] if process["slices"]}
    if ranks != set(range(len(files))):
        return f"processes have ranks {ranks}"
    if shutil.which("otf2-print"):
        printed = subprocess.run(["otf2-print", "-G", str(archive / "traces.otf2")], check=True, capture_output=True, text=True)
        for rank in range(len(files)):
            for kind in ("PROCESS", "ACCELERATOR"):
                if not re.search(rf'^LOCATION_GROUP .*Name: "rank {rank}\b.*Type: {kind}', printed.stdout, re.M):
                    return f"no group of rank {rank}, type {kind}"
    check = subprocess.run([heddle, "check", "-q", str(archive)], capture_output=True, text=True)
    return f"check: {check.stdout[:500]}" if "otf2." in check.stdout or check.stderr else None


def with_events(loaded):
    return {key[3] for key in loaded[0]}


def shared_pids(ranks):
    """By rank and pid, what stands for a pid that several ranks have."""
    owners = collections.Counter(pid for loaded in ranks.values() for pid in with_events(loaded))
    factor = max(1000, 10 ** max(len(pid) for pid in owners if pid.isdigit()))
    new = {}
    for rank, loaded in ranks.items():
        for pid in with_events(loaded):
            other = str(rank * factor + int(pid)) if pid.isdigit() else f"{pid} (rank {rank})" if pid else f"rank {rank}"
            new[rank, pid] = other if owners[pid] > 1 else pid
    return new


def joined_id(value, rank):
    """An id as no other rank has it."""
    if isinstance(value, tuple):
        return "number", value[1] + rank * 10**10
    if re.fullmatch("0[xX][0-9a-fA-F]+", value) and rank:
        return hex(int(value, 16) + rank * 10**10)
    return value if rank == 0 else str(int(value) + rank * 10**10)


def as_joined(loaded, rank, pids, shift):
    """What a rank's own events and names are in an archive of ranks that were converted apart; shift: of its base time."""
    events, names = collections.Counter(), {}
    for (phase, name, category, pid, tid, start, end, ids, args), count in loaded[0].items():
        start, end = start + shift, end if end is None else end + shift
        ids = tuple((key, joined_id(value, rank) if key == "id" and phase in "stfbneSTpF" else value) for key, value in ids)
        events[phase, name, category, pids[rank, pid], tid, start, end, ids, args] += count
    for (where, kind), value in loaded[1].items():
        names[(pids[rank, where[0]], *where[1:]), kind] = value
    return events, names


def compare_apart(heddle, files, folder, unmatched=0, passes=()):
    """None, or what is wrong: ranks that were converted apart and joined, against what each is alone."""
    passes = [word for name in passes for word in ("--pass", name)]
    alone, archive, back, merged = (folder / name for name in ("alone.json", "apart.otf2", "apart.json", "merged.json"))
    report = subprocess.run([heddle, "convert", "--json", "--mpi", "none", "--clean", *passes, *files, archive], check=True,
                            capture_output=True, text=True)
    report = json.loads(report.stdout)
    lost = {row["code"]: row["count"] for row in report["ledger"] if row["level"] == "loss"}
    subprocess.run([heddle, "convert", "-q", archive, back], check=True)
    ranks = {}
    for rank, path in enumerate(files):
        subprocess.run([heddle, "convert", "-q", "--ranks", *passes, path, alone], check=True)
        ranks[rank] = load(alone)
    pids = shared_pids(ranks)
    bases = [int(loaded[2].get("baseTimeNanoseconds", (0, 0))[1]) for loaded in ranks.values()]
    wanted, names = collections.Counter(), {}
    for rank, loaded in ranks.items():
        events, own = as_joined(loaded, rank, pids, bases[rank] - min(bases))
        wanted += events
        names |= own
    got = load(back)
    missing, extra = wanted - got[0], got[0] - wanted
    if extra or any(event[0] not in "stf" and event[5] is not None for event in missing):
        return f"events differ: {list(missing)[:2]}, {list(extra)[:2]}"
    if sum(missing.values()) != lost.get("otf2.flow-unmatched", 0) + lost.get("otf2.event-without-time", 0):
        return f"{sum(missing.values())} events are missing: {lost}"
    if report["events_out"] + sum(missing.values()) + report["removed"] != report["events_in"] + report["added"]:
        return f"the report does not add up: {report['events_in']} + {report['added']} - {missing.total()} != {report['events_out']}"
    if names != got[1]:
        return f"names differ: {set(names.items()) ^ set(got[1].items())}"
    got[2].pop("otf2.findings", None)  # that offsets of clocks were applied
    stacks = {tuple(stack) for rank in ranks.values() for stack in json.loads(rank[2].get("stackFrames", "[]"))}
    stacks_got = {tuple(stack) for stack in json.loads(got[2].pop("stackFrames", "[]"))}
    if stacks != stacks_got:
        return f"stacks differ: {stacks ^ stacks_got}"
    top = load(merged)[2]
    top.pop("stackFrames", None)
    if top != got[2]:
        return "top-level keys are not those of merged ranks"
    check = subprocess.run([heddle, "check", "--json", archive], capture_output=True, text=True)
    found = {line["code"]: line["count"] for line in json.loads(check.stdout) if line["code"].startswith("otf2.")}
    if found != ({"otf2.message-unmatched": unmatched} if unmatched else {}):
        return f"check: {found}"
    return check_groups(archive, folder / "ranks.otf2", len(files))


def check_groups(archive, together, ranks):
    """One communicator for the process group of all ranks, whose members are a stream of each; definitions once each; markers as of
    ranks that were merged."""
    if not shutil.which("otf2-print"):
        return None
    markers = [sorted(subprocess.run(["otf2-marker", folder / "traces.otf2"], check=True, capture_output=True, text=True).stdout.splitlines())
               for folder in (archive, together)]
    if markers[0] != markers[1] or len(markers[0]) < ranks:
        return f"markers: {markers}"
    printed = subprocess.run(["otf2-print", "-G", archive / "traces.otf2"], check=True, capture_output=True, text=True).stdout
    group = re.findall(r'^GROUP +(\d+)  Name: "(?:NCCL|process group).*COMM_GROUP, Paradigm: MPI, .* (\d+) Members: (.*)$', printed, re.M)
    if len(group) != 1 or int(group[0][1]) != ranks or len(re.findall(r'^COMM .*Group: "(?:NCCL|process group)', printed, re.M)) != 1:
        return f"communicators of the process group: {group}"
    if sorted(re.findall(r"CUDA\[(\d+):", group[0][2])) != [str(rank) for rank in range(ranks)]:
        return f"members of the process group: {group}"
    for kind in "REGION", "ATTRIBUTE":
        found = collections.Counter(re.sub(r'" <\d+>', '"', line) for line in re.findall(rf"^{kind} +\d+  (.*)$", printed, re.M))
        if found.most_common(1)[0][1] > 1:
            return f"{kind} twice: {found.most_common(1)}"
    return None


GROUP = [9, 2, 0, 1]
MESSAGES = [(0, 1), (1, 2), (1, 0), (0, 1), (2, 9), (1, 2)]  # 9 has no trace


def check_messages(archive, ranks):
    """Sends and receives between ranks as OTF2's own tool shows them: at the begin of the one and the end of the other, in order, with
    their bytes; of both ranks if both are there."""
    if not shutil.which("otf2-print"):
        return None
    printed = subprocess.run(["otf2-print", archive / "traces.otf2"], check=True, capture_output=True, text=True).stdout
    defs = subprocess.run(["otf2-print", "-G", archive / "traces.otf2"], check=True, capture_output=True, text=True).stdout
    rank_of_group = {int(ref): int(rank) for ref, rank in re.findall(r'^LOCATION_GROUP +(\d+)  Name: "rank (\d+)', defs, re.M)}
    rank_of = {int(ref): rank_of_group[int(group)] for ref, group in re.findall(r'^LOCATION +(\d+) .*, Group: ".*" <(\d+)>', defs, re.M)}
    found = {"SEND": [], "RECV": []}
    for kind, location, time, other, size in re.findall(
            r'^MPI_(SEND|RECV) +(\d+) +(\d+)  (?:Receiver|Sender): \d+ \("[^"]*" <(\d+)>\), Communicator: "messages of.*Tag: 0, Length: (\d+)', printed, re.M):
        found[kind].append((int(time), rank_of[int(location)], rank_of[int(other)], int(size)))
    bases = {rank: (3 - rank) * 12345678901 - 12345678901 for rank in range(3)}
    for kind, side in ("SEND", 0), ("RECV", 1):
        wanted = [(round((1000100 + 10 * at + 8 * side) * 1000) + bases[message[side]], message[side], message[1 - side], 2 * (100 + at))
                  for at, message in enumerate(MESSAGES) if message[side] in ranks and (message[1 - side] in ranks or archive.stem == "apart")]
        if sorted(found[kind]) != sorted(wanted):
            return f"{kind}: {sorted(found[kind])}, and wanted: {sorted(wanted)}"
    return None


def make_ranks(folder):
    """Ranks whose clocks count from other times, one of which has times below 0, and whose pids, ids and texts meet."""
    paths = []
    for rank in range(3):
        op, kernel = {"pid": 10, "tid": 1}, {"pid": 0, "tid": 7}
        collective = {"device": rank, "stream": 7, "correlation": 5, "Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float",
                      "Process Group Name": "dp", "Process Group Ranks": "[0, 1, 2]"}
        events = [
            {"ph": "X", "name": f"op{rank}", "cat": "cpu_op", **op, "ts": 1000000.5 + rank, "dur": 10, "args": {"s": f"text {rank}"}},
            {"ph": "X", "name": "ncclDevKernel_AllReduce", "cat": "kernel", **kernel, "ts": 1000020, "dur": 5.25, "args": collective},
            {"ph": "i", "name": "at zero", **op, "ts": 0, "s": "t"}, {"ph": "i", "name": "everywhere", **op, "ts": 1000001, "s": "g"},
            {"ph": "b", "name": "as", "cat": "a", "id": "0x77", **op, "ts": 1000001},
            {"ph": "e", "name": "as2", "cat": "a", "id": "0x77", "pid": 10, "tid": 2, "ts": 1000012, "args": {"end": rank}},
            {"ph": "s", "name": "f", "cat": "f", "id": 3, **op, "ts": 1000002},
            {"ph": "f", "name": "f", "cat": "f", "id": 3, **kernel, "ts": 1000021, "bp": "e"},
            {"ph": "C", "name": "counter", "pid": 10, "ts": 1000003, "args": {"a": 1, "b": 2.5 if rank else 3}},
            {"ph": "X", "name": "cudaLaunchKernel", "cat": "cuda_runtime", **op, "ts": 1000029, "dur": 6, "args": {"correlation": 5}},
            {"ph": "N", "name": "object", "id": "0x1", **op, "ts": 1000006},
            {"ph": "X", "name": "spans", "pid": "Spans", "tid": "PyTorch", "ts": 1000000, "dur": 100}]
        for at, (sender, receiver) in enumerate(MESSAGES):
            if rank in (sender, receiver):
                # As PyTorch has it: "Rank" is the other's place in the group, "Dst Rank" and "Src Rank" its rank in the job.
                other = receiver if rank == sender else sender
                way = {"Collective name": "send", "Dst Rank": other} if rank == sender else {"Collective name": "recv", "Src Rank": other}
                way["Rank"] = GROUP.index(other)
                events.append({"ph": "X", "name": "ncclDevKernel_SendRecv", "cat": "kernel", "pid": 0, "tid": 20 + min(sender, receiver),
                               "ts": 1000100 + 10 * at, "dur": 8 - (rank == sender), "args":
                               {"device": rank, "stream": 20 + min(sender, receiver), "In msg nelems": 100 + at, "dtype": "Half",
                                "Process Group Name": "pp", "Process Group Ranks": str(GROUP), **way}})
        if rank == 1:
            events.append({"ph": "X", "name": "before", "cat": "x", "pid": 10, "tid": 9, "ts": -5, "dur": 2})
        # Frames of all ranks and of one, under ids that mean other frames elsewhere; bytes that are not UTF-8; ids as text and numbers.
        names = ["main", f"rank {rank}", "step", "bad \udcff", "main"]
        frames = {str(key): {"name": name, "category": "native", **({"parent": parent} if parent is not None else {})}
                  for key, name, parent in zip((5 + rank, 6 + rank, 7 + rank, 1, 2), names, (None, 5 + rank, 5 + rank, str(7 + rank), 1))}
        events += [{"ph": "P", "name": "sample", "cat": "s", **op, "ts": 1000030 + at, "sf": int(key) if at % 2 else key}
                   for at, key in enumerate(frames)]
        trace = {"stackFrames": frames, "baseTimeNanoseconds": 17 * 10**17 + (3 - rank) * 12345678901, "distributedInfo": {"rank": rank, "world_size": 3},
                 "only": rank, "traceEvents": events}
        paths.append(folder / f"made{rank}.json")
        paths[-1].write_bytes(json.dumps(trace, ensure_ascii=False).encode(errors="surrogateescape"))
    return paths


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--copy", required=True)
    parser.add_argument("--heddle", required=True)
    sizes.options(parser)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    root = pathlib.Path(os.environ.get("HEDDLE_SOURCE_ROOT", pathlib.Path(__file__).parents[3]))
    data = pathlib.Path(os.environ.get("HEDDLE_SHARED", root.parent / "shared")) / "data"
    gc.disable()  # it would walk millions of objects again and again, and none of them is in a cycle
    files = options.files or sizes.chosen([p for name in FILES for p in sorted(data.glob(name + ".json*"))], options.choice)
    if not files:
        print(f"skipped: no traces in {data}")
        return SKIP
    bad = 0
    for path in files:
        with tempfile.TemporaryDirectory() as folder:
            problem = compare(options.copy, options.heddle, path, pathlib.Path(folder))
        if problem:
            bad += 1
            print(f"{path}: {problem[:3000]}")
    ranks = [] if options.files or options.choice == "rest" else sorted((data / "ranks" / "dlrm").glob("rank*.json*"))
    with tempfile.TemporaryDirectory() as folder:
        problem = compare_ranks(options.heddle, ranks, pathlib.Path(folder)) if ranks else None
        problem = problem or (compare_apart(options.heddle, ranks, pathlib.Path(folder)) if ranks else None)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = make_ranks(folder)
        problem = problem or compare_ranks(options.heddle, made, folder) or check_messages(folder / "ranks.otf2", range(3))
        problem = problem or compare_apart(options.heddle, made, folder, 1, ["attribution", "filter:names=!spans"])
        problem = problem or compare_apart(options.heddle, made, folder, 1) or check_messages(folder / "apart.otf2", range(3))
    if problem:
        bad += 1
        print(f"{len(ranks)} ranks: {problem[:3000]}")
    print(f"{len(files)} files and {len(ranks)} ranks, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
