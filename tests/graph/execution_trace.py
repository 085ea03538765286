#!/usr/bin/python3
"""graph -o FILE.et holds the nodes and edges of graph --json, as protobuf reads them by et_def.proto.

usage: tests/graph/execution_trace.py --heddle PROGRAM [FILE...]

The messages are declared here by their numbers, and read by the package protobuf, or by tests/wire.py where it is not installed. Each
node must have the name, start, duration and dependencies of the graph; what heddle reads back must be the same slices and flows. A
simulator that issues nodes as ASTRA-sim's feeder does, one dependency less for each node that ends, must reach all of them.
Without FILE: random traces, and the real ones of ../shared/data.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import rounds
import sizes
import wire

COLLECTIVES = {"allreduce": 0, "broadcast": 5, "_allgather_base": 2, "reduce_scatter": 7, "all_to_all": 6, "barrier": 9, "reduce": 1, "gather": 3, "scatter": 4}
ARGUMENTS = ("Collective name", "Process Group Name")


class Failure(Exception):
    pass


def heddle(program, *words, status=0):
    result = subprocess.run([program, *map(str, words)], capture_output=True)
    if result.returncode != status:
        raise Failure(f"heddle {' '.join(map(str, words))}: {result.returncode} {result.stderr.decode('utf-8', 'replace')}")
    return result.stdout


def message_classes():
    """GlobalMetadata and Node by the package protobuf; None: it is not installed."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        return None
    F = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="et.proto", package="et", syntax="proto3")

    def message(name, *members):
        made = file.message_type.add(name=name)
        for field, number, kind, repeated in members:
            row = made.field.add(name=field, number=number, label=F.LABEL_REPEATED if repeated else F.LABEL_OPTIONAL)
            row.type = F.TYPE_MESSAGE if kind == "Attribute" else getattr(F, "TYPE_" + kind)
            if kind == "Attribute":
                row.type_name = ".et.Attribute"

    message("Attribute", ("name", 1, "STRING", 0), ("int64_val", 9, "INT64", 0), ("bool_val", 27, "BOOL", 0), ("string_val", 29, "STRING", 0))
    message("GlobalMetadata", ("version", 1, "STRING", 0), ("attr", 2, "Attribute", 1))
    message("Node", ("id", 1, "UINT64", 0), ("name", 2, "STRING", 0), ("type", 3, "INT32", 0), ("ctrl_deps", 4, "UINT64", 1), ("data_deps", 5, "UINT64", 1),
            ("start_time_micros", 6, "UINT64", 0), ("duration_micros", 7, "UINT64", 0), ("attr", 10, "Attribute", 1))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName("et." + name)) for name in ("GlobalMetadata", "Node")]


CLASSES = message_classes()


def messages(data):
    at, out = 0, []
    while at < len(data):
        size, at = wire.varint(data, at)
        if size > len(data) - at:
            raise Failure("cut off")
        out.append(data[at:at + size])
        at += size
    return out


def packed(data):
    at, out = 0, []
    while at < len(data):
        value, at = wire.varint(data, at)
        out.append(value)
    return out


def by_hand(data):
    node = {"id": 0, "name": "", "type": 0, "ctrl": [], "data": [], "start": 0, "duration": 0, "attr": {}}
    for number, _, value in wire.fields(data):
        if number in (1, 3, 6, 7):
            node[{1: "id", 3: "type", 6: "start", 7: "duration"}[number]] = value
        elif number == 2:
            node["name"] = value.decode()
        elif number in (4, 5):
            node["ctrl" if number == 4 else "data"] += packed(value)
        elif number == 10:
            attribute = {n: v for n, _, v in wire.fields(value)}
            name = attribute.pop(1).decode()
            (kind, read), = attribute.items()
            node["attr"][name] = wire.signed(read) if kind == 9 else bool(read) if kind == 27 else read.decode()
        else:
            raise Failure(f"field {number}")
    return node


def decode(path):
    if CLASSES:
        from google.protobuf.unknown_fields import UnknownFieldSet
    first, *rest = messages(path.read_bytes())
    nodes = [by_hand(data) for data in rest]
    if CLASSES:
        if not CLASSES[0].FromString(first).version or CLASSES[0].FromString(first).ByteSize() != len(first):
            raise Failure("metadata")
        for data, node in zip(rest, nodes):
            theirs = CLASSES[1].FromString(data)
            same = (theirs.id, theirs.name, theirs.type, list(theirs.ctrl_deps), list(theirs.data_deps), theirs.start_time_micros, theirs.duration_micros)
            own = (node["id"], node["name"], node["type"], node["ctrl"], node["data"], node["start"], node["duration"])
            if same != own or len(UnknownFieldSet(theirs)):
                raise Failure(f"protobuf reads {theirs}")
            attributes = {a.name: a.string_val or a.int64_val or a.bool_val for a in theirs.attr}
            if any(value != node["attr"][name] and (value or node["attr"][name]) for name, value in attributes.items()) or len(attributes) != len(node["attr"]):
                raise Failure(f"protobuf reads {theirs}")
    return nodes


def compare(graph, nodes, args_of):
    """The file's nodes are the graph's; args_of: by id of a slice its category and arguments."""
    wanted, waits, launches = {n["node"]: n for n in graph["nodes"]}, {}, {}
    for edge in graph["edges"]:
        waits.setdefault(edge["to"], set()).add(edge["from"])
        if edge["kind"] == "launch":
            launches.setdefault(edge["to"], set()).add(edge["from"])
    if sorted(n["id"] for n in nodes) != sorted(wanted):
        raise Failure(f"{len(nodes)} nodes for {len(wanted)}")
    first = min((n["start"] // 1000 for n in wanted.values()), default=1)
    shift, done, lanes, types = max(0, 1 - first), set(), {}, Counter()
    for node in nodes:
        own = wanted[node["id"]]
        if node["name"] != (own["name"] if own["name"] is not None else "(gap)").encode("utf-8", "replace").decode() and "?" not in node["name"]:
            raise Failure(f"{node} for {own}")
        if node["start"] - shift != own["start"] // 1000 or node["start"] + node["duration"] - shift != own["end"] // 1000:
            raise Failure(f"times of {node} for {own}")
        for kind, of in (("data", waits), ("ctrl", launches)):
            if sorted(node[kind]) != sorted(of.get(node["id"], ())):
                raise Failure(f"{kind}_deps of {node}: {of.get(node['id'])}")
        if not done.issuperset(node["data"]):
            raise Failure(f"{node} is before a node that it waits for")
        done.add(node["id"])
        attr = node["attr"]
        is_work = own["kind"] == "work"
        if attr["is_cpu_op"] == is_work or attr["kind"] != own["kind"] or ("stream" in attr) != is_work or ("tid" in attr) == is_work:
            raise Failure(f"attributes of {node} for {own}")
        if lanes.setdefault((is_work, attr.get("stream", attr.get("tid"))), own["track_id"]) != own["track_id"]:
            raise Failure(f"two tracks are one: {node}")
        category, arguments = args_of.get(own["id"], (None, {}))
        if attr.get("cat") != category:
            raise Failure(f"category of {node}: {category}")
        collective = COLLECTIVES.get(arguments.get("Collective name")) if is_work else None
        if collective is not None:
            if node["type"] != 7 or attr["comm_type"] != collective or ("Process Group Name" in arguments) != ("pg_name" in attr):
                raise Failure(f"{node} is {arguments}")
        types[node["type"]] += 1
    return types


def simulate(nodes):
    """Issues what waits for nothing; each node that ends is removed once from the lists of those that wait for it, as the feeder does."""
    left, children = {n["id"]: list(n["data"]) for n in nodes}, {}
    for node in nodes:
        for wait in set(node["data"]):
            children.setdefault(wait, []).append(node["id"])
    ready = [n for n, waits in left.items() if not waits]
    issued = 0
    while ready:
        issued += 1
        one = ready.pop()
        for child in children.get(one, ()):
            left[child].remove(one)
            if not left[child]:
                ready.append(child)
    if issued != len(nodes):
        raise Failure(f"{issued} of {len(nodes)} nodes can be issued")


def check(program, path, work):
    et, back = work / "graph.et", work / "back.json"
    graph = json.loads(heddle(program, "graph", "--json", path))
    heddle(program, "graph", "-q", "-o", et, path)
    args_of = {}
    asked = ", ".join(f"extract_arg(arg_set_id, '{name}') AS a{i}" for i, name in enumerate(ARGUMENTS))
    for row in json.loads(heddle(program, "query", "--json", path, f"SELECT id, category, {asked} FROM slice")):
        args_of[row["id"]] = (row["category"], {name: row[f"a{i}"] for i, name in enumerate(ARGUMENTS) if row[f"a{i}"] is not None})
    nodes = decode(et)
    types = compare(graph, nodes, args_of)
    simulate(nodes)
    if not nodes:
        return types
    heddle(program, "convert", "-q", et, back)
    events = json.loads(back.read_text())["traceEvents"]
    slices = Counter((e["name"], e["args"]["id"], round(e["ts"]), round(e["dur"]), e["cat"]) for e in events if e["ph"] == "X")
    fallback = {True: "cpu_op", False: "kernel"}
    wanted = Counter((n["name"], n["id"], n["start"], n["duration"], n["attr"].get("cat", fallback[n["attr"]["is_cpu_op"]])) for n in nodes)
    flows = Counter(e["name"] for e in events if e["ph"] == "s")
    if slices != wanted or flows != Counter({k: v for k, v in (("ctrl_dep", sum(len(n["ctrl"]) for n in nodes)), ("data_dep", sum(len(n["data"]) for n in nodes))) if v}):
        raise Failure(f"read back: {list((slices - wanted).items())[:3]} for {list((wanted - slices).items())[:3]}, {flows}")
    return types


def random_trace(rng, path):
    events, correlation, begin = [], 0, rng.choice([0, 0.001, 5, 1.7e15])
    ends = {}
    for thread in range(rng.randrange(1, 4)):
        at = begin + rng.random() * 10
        for _ in range(rng.randrange(1, 30)):
            long = round(rng.random() * rng.choice([0.5, 3, 40]), 3)
            events.append({"ph": "X", "cat": "cpu_op", "name": rng.choice(["aten::mm", "é", "\ud800", "a;b"]), "pid": rng.choice([1, 1, "p"]), "tid": thread, "ts": at, "dur": long + 4})
            correlation += 1
            events.append({**events[-1], "cat": "cuda_runtime", "name": rng.choice(["cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize"]), "ts": at + 1, "dur": 1, "args": {"correlation": correlation}})
            device, stream = rng.randrange(2), rng.choice([7, 20])
            start = max(ends.get((device, stream), 0), at + 2 + long)
            name = rng.choice(["gemm", "ncclDevKernel_AllReduce_Sum_f32", "Memcpy HtoD (Pageable -> Device)"])
            args = {"correlation": correlation, "device": device, "stream": stream}
            if name.startswith("nccl"):
                args |= {"Collective name": rng.choice(sorted(COLLECTIVES)), "Process Group Name": "0", "In msg nelems": 8, "Out msg nelems": 8, "dtype": "Float", "Group size": 2}
            ends[device, stream] = start + long
            events.append({"ph": "X", "cat": "gpu_memcpy" if name.startswith("Memcpy") else "kernel", "name": name, "pid": device, "tid": stream, "ts": start, "dur": long, "args": args})
            at += long + 4 + rng.choice([0, 1.5])
    path.write_text(json.dumps({"traceEvents": events}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("files", nargs="*", type=Path)
    sizes.options(parser)
    options = parser.parse_args()
    rng = random.Random(rounds.seed(1))
    total = Counter()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for _ in range(0 if options.files or options.choice == "rest" else rounds.rounds(10)):
            random_trace(rng, work / "random.json")
            total += check(options.heddle, work / "random.json", work)
        shared = Path(os.environ.get("HEDDLE_SHARED", Path(__file__).resolve().parents[3] / "shared"))
        real = [p for p in sorted((shared / "data/kineto").glob("*.json.gz")) + sorted((shared / "data/nsys").glob("*.sqlite"))]
        for path in options.files or sizes.chosen(real, options.choice):
            found = check(options.heddle, path, work)
            print(path.name, dict(found))
            total += found
    print(f"{total.total()} nodes, {total[7]} of collectives, read by {'protobuf' if CLASSES else 'tests/wire.py alone'}")
    if not options.files and options.choice != "rest" and not total[7]:
        raise Failure("no collective")
    return 0


if __name__ == "__main__":
    sys.exit(main())
