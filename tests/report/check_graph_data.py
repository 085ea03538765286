#!/usr/bin/env python3
"""Holds the edges "data" and "address" of `heddle graph --json` against slow recomputations from the files: of random
Chakra traces, of random copies byte by byte, and of rocmProfileData's real copies, read with SQLite.

  check_graph_data.py --heddle HEDDLE [--rounds N]
"""
import argparse
import collections
import gzip
import json
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

REAL = pathlib.Path(__file__).resolve().parents[2].parent / "shared/data/rocm/mytrace.rpd.gz"


def ask(*words):
    return json.loads(subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True).stdout)


def is_before(graph, x, y):
    return (graph["nodes"][x]["start"], x) < (graph["nodes"][y]["start"], y)


def same(what, wanted, got):
    if sorted(wanted) != sorted(got):
        sys.exit(f"{what}\n  wanted only: {sorted(set(wanted) - set(got))[:5]}\n  got only: {sorted(set(got) - set(wanted))[:5]}")
    return len(got)


def edges_of(graph, kind):
    return [(e["from"], e["to"]) for e in graph["edges"] if e["kind"] == kind]


# ---- Chakra ----

def chakra(rng):
    """Nodes: id, tid or stream, start, end in ns, what they depend on. Ids may stand twice, or nowhere."""
    nodes, number = [], rng.randint(0, 5)
    for lane in [1, 2, "7"][:rng.randint(1, 3)]:
        time = rng.randint(0, 40)
        for _ in range(rng.randint(1, 9)):
            length = rng.choice([0, rng.randint(1, 40)])
            nodes.append([number, lane, time, time + length])
            while isinstance(lane, int) and rng.random() < 0.4:  # within it, or beyond its end
                start = time + rng.choice([0, rng.randint(0, length)])
                number += 1
                nodes.append([number, lane, start, start + rng.randint(0, 30)])
            time += length + rng.choice([0, rng.randint(0, 20)])
            number += rng.choice([1, 1, 1, 1, 1, 1, 0, 2 ** 63 if number < 2 ** 63 else 1])
    rng.shuffle(nodes)
    out = []
    for n in nodes:  # what a thread's node leads to on a queue is a launch
        ids = [x[0] for x in nodes if isinstance(n[1], int) or isinstance(x[1], str)] + [number + 77]
        tensors = [[tensor(rng) for _ in range(rng.choice([0, 1, 2]))] for _ in range(2)]
        out.append(n + [[rng.choice(ids) for _ in range(rng.choice([0, 1, 1, 3]))], rng.choice([None, None, rng.choice(ids)]), tensors])
    return out


def tensor(rng):
    """What looks like one but is none as well: a list of numbers, a text."""
    numbers = [rng.randint(1, 9), rng.randint(1, 2), rng.randint(0, 3), rng.randint(0, 4), rng.choice([1, 2, 4]), rng.choice(["cpu", "cpu", "cuda:0"])]
    return rng.choice([numbers] * 8 + [numbers[:5] + [7], json.dumps(numbers), [numbers, numbers[:5] + ["cpu"]]])


def chakra_json(nodes):
    out = []
    for number, lane, start, end, data, thread, tensors in nodes:
        gpu = isinstance(lane, str)
        node = {"id": number, "name": f"n{number}", "ctrl_deps": None, "inputs": {"values": tensors[0], "shapes": [[2, 2]], "types": ["Tensor(float)"]}, "outputs": {"values": tensors[1]}, "attrs": [{"name": "tid", "type": "uint64", "value": 0 if gpu else lane}],
                "ts": start / 1000, "inclusive_dur": (end - start) / 1000, "cat": "kernel" if gpu else "cpu_op"}
        node |= {"stream": int(lane), "ph": "X"} if gpu else {}
        node |= {"data_deps": data} if data else {}
        node |= {"inter_thread_dep": thread} if thread is not None else {}
        out.append(node)
    return {"schema": "1.1.1-chakra.0.0.4", "pid": 42, "time": "2026-01-02 03:04:05", "start_ts": 0, "nodes": out}


def end_node(graph, row, node, is_end):
    """The graph's node on that lane in which the slice ends or begins."""
    number, lane, start, end = node[:4]
    own = [n["node"] for n in graph["nodes"] if n["id"] == row]
    if isinstance(lane, str) or start == end:
        return min(own, default=None)
    track = {n["track_id"] for n in graph["nodes"] if n["id"] == row}
    if not track:  # others cover all of it
        track = {t for t in {n["track_id"] for n in graph["nodes"]} if any(n["name"] and graph["rows"][n["id"]][1] == lane for n in graph["nodes"] if n["track_id"] == t)}
    time = end - 1 if is_end else start
    return next((n["node"] for n in graph["nodes"] if n["track_id"] in track and n["start"] <= time < n["end"]), None)


def flat(values):
    for v in values:
        if isinstance(v, list):
            yield from [v] if isinstance(v[-1], str) else flat(v)


def check_tensors(graph, nodes):
    """Storage by storage and byte by byte: who wrote last what a node reads."""
    accesses, last, pairs, has_work = [], {}, set(), any(isinstance(n[1], str) for n in nodes)
    for row, node in enumerate(nodes):
        for is_write in (False, True):
            at = end_node(graph, row, node, is_write)
            time = node[3] if is_write else node[2]
            for t in flat(node[6][is_write]):
                if at is not None and (t[5] == "cpu" or isinstance(node[1], str) or not has_work):
                    turn = 1 if node[2] == node[3] else 0 if is_write else 2
                    accesses.append((time, turn, at, is_write, row, len(accesses), [(t[1], t[2] * t[4] + b) for b in range(t[3] * t[4])]))
    for _, _, at, is_write, _, number, places in sorted(accesses, key=lambda a: (a[0], a[1], a[2], a[3], a[5])):
        for place in places:
            if is_write:
                last[place] = at
            elif place in last and last[place] != at:
                pairs.add((last[place], at, number))
    return [(x, y) for x, y, _ in pairs]


def check_chakra(heddle, path, rng):
    nodes = chakra(rng)
    path.write_text(json.dumps(chakra_json(nodes)))
    graph = ask(heddle, "graph", "--json", path) | {"rows": nodes}
    times = collections.Counter(n[0] for n in nodes)
    wanted, backward, left_out = [], 0, 0
    for row, node in enumerate(nodes):
        for source in node[4] + ([node[5]] if node[5] is not None else []):
            at = next((i for i, n in enumerate(nodes) if n[0] == source and times[source] == 1), None)
            if at == row:
                continue
            x = end_node(graph, at, nodes[at], True) if at is not None else None
            y = end_node(graph, row, node, False)
            if x is None or y is None or x == y:
                left_out += 1
            elif is_before(graph, x, y):
                wanted.append((x, y))
            else:
                backward += 1
    count = same(f"chakra {path}", wanted, edges_of(graph, "data"))
    said = graph["left_out"]
    pairs = check_tensors(graph, nodes)
    by_tensor = same(f"tensors {path}", [(x, y) for x, y in pairs if is_before(graph, x, y)], edges_of(graph, "address"))
    if said["backward_address"] != sum(not is_before(graph, x, y) for x, y in pairs):
        sys.exit(f"backward: {said}")
    if (said["dependencies"], said["backward_data"]) != (left_out, backward):
        sys.exit(f"left out: {said}, wanted {left_out} and backward {backward}")
    return count, left_out, backward, by_tensor


# ---- copies ----

def copies(rng):
    rows = []
    for number in range(rng.randint(2, 30)):
        start = rng.randint(0, 300)
        what = rng.choice(["gpu_memcpy"] * 4 + ["gpu_memset", "kernel"])
        pick = lambda: rng.choice([rng.randint(0, 25), 2 ** 64 - rng.randint(1, 20)])
        rows.append({"cat": what, "pid": rng.choice([1, 2]), "start": start, "end": start + rng.choice([0, rng.randint(1, 60)]), "stream": rng.choice([7, 8]),
                     "bytes": rng.choice([0, 1, 8, 20]), "src": pick(), "dst": pick(), "id": number + 1, "launch": rng.random() < 0.8})
    return rows


def copies_json(rng, rows):
    source, target = rng.choice([("source address", "destination address"), ("source", "destination"), ("src", "dst")])
    text = rng.choice([lambda x: x, hex, str])
    out = []
    for r in rows:
        args = {"correlation": r["id"], "device": 0, "stream": r["stream"], "bytes": r["bytes"], source: text(r["src"]), target: text(r["dst"])}
        out.append({"ph": "X", "cat": r["cat"], "name": "w", "pid": 0, "tid": r["stream"], "ts": r["start"] / 1000, "dur": (r["end"] - r["start"]) / 1000, "args": args})
        if r["launch"]:
            out.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": r["pid"], "tid": r["pid"], "ts": -1, "dur": 0.5, "args": {"correlation": r["id"]}})
    return {"traceEvents": out}


def writers(rows):
    """(writer, reader): pairs of rows."""
    accesses = []
    for i, r in enumerate(rows):
        zero = r["start"] == r["end"]
        if not r["bytes"] or r["cat"] == "kernel":
            continue
        if r["cat"] == "gpu_memcpy" and r["src"] and r["src"] + r["bytes"] < 2 ** 64:
            accesses.append((r["start"], 1 if zero else 2, r["order"], False, i, r["src"]))
        if r["dst"] and r["dst"] + r["bytes"] < 2 ** 64:
            accesses.append((r["end"], 1 if zero else 0, r["order"], True, i, r["dst"]))
    last, out = {}, set()
    for _, _, _, is_write, i, address in sorted(accesses):
        for byte in range(address, address + rows[i]["bytes"]):
            key = (rows[i]["space"], byte)
            if is_write:
                last[key] = i
            elif key in last:
                out.add((last[key], i))
    return out


def check_copies(heddle, path, rng):
    rows = copies(rng)
    path.write_text(json.dumps(copies_json(rng, rows)))
    graph = ask(heddle, "graph", "--json", path)
    works = {n["id"]: n["node"] for n in graph["nodes"] if n["kind"] == "work"}
    at = 0
    for r in rows:  # the file's order of slices is that of rows
        r["order"], at = works[at], at + 1 + r["launch"]
        r["space"] = r["pid"] if r["launch"] else None
    wanted, backward = [], 0
    for x, y in writers(rows):
        x, y = rows[x]["order"], rows[y]["order"]
        if x == y:
            continue
        if is_before(graph, x, y):
            wanted.append((x, y))
        else:
            backward += 1
    if graph["left_out"]["backward_address"] != backward:
        sys.exit(f"backward: {graph['left_out']}, wanted {backward}")
    return same(f"copies {path}", wanted, edges_of(graph, "address"))


def check_many(heddle, path):
    """A copy that reads what 64 have written has their edges, one that reads what 65 have is counted."""
    for count in (63, 64, 65):
        rows = [{"cat": "gpu_memset", "start": 10 * i, "end": 10 * i + 5, "stream": 7, "bytes": 4, "src": 0, "dst": 1000 + 4 * i, "id": i + 1, "pid": 1, "launch": False} for i in range(count)]
        rows.append({"cat": "gpu_memcpy", "start": 10000, "end": 10005, "stream": 8, "bytes": 4 * count, "src": 1000, "dst": 1, "id": 1000, "pid": 1, "launch": False})
        path.write_text(json.dumps(copies_json(random.Random(1), rows)))
        graph = ask(heddle, "graph", "--json", path)
        if (len(edges_of(graph, "address")), graph["left_out"]["dependencies"]) != (min(count, 64), int(count > 64)):
            sys.exit(f"{count} writers: {len(edges_of(graph, 'address'))} edges, {graph['left_out']}")


def check_real(heddle, folder):
    if not REAL.exists():
        print("skipped: no real trace of rocmProfileData")
        return
    path = folder / "real.rpd"
    path.write_bytes(gzip.decompress(REAL.read_bytes()))
    rows = []
    for start, end, size, kind, dst, src in sqlite3.connect(path).execute(
            "select o.start, o.end, c.size, c.kind, c.dst, c.src from rocpd_op o join rocpd_api_ops l on l.op_id = o.id join rocpd_copyapi c on c.api_ptr_id = l.api_id "
            "join rocpd_string s on s.id = o.opType_id where s.string like 'Copy%' order by o.start, o.id"):
        rows.append((start, end, int(src, 16), int(dst, 16), size))
    wanted = set()
    for i, (start, _, source, _, size) in enumerate(rows):  # pieces of what it reads, the latest writer first
        open_pieces = [(source, source + size)]
        for j in sorted((j for j in range(len(rows)) if j != i and rows[j][1] <= start), key=lambda j: -rows[j][1]):
            low, high = rows[j][3], rows[j][3] + rows[j][4]
            if any(low < b and a < high for a, b in open_pieces):
                wanted.add((rows[j][0], start))
                open_pieces = [(x, y) for a, b in open_pieces for x, y in ((a, min(b, low)), (max(a, high), b)) if x < y]
    graph = ask(heddle, "graph", "--json", path)
    start = {n["node"]: n["start"] for n in graph["nodes"]}
    count = same("real copies", wanted, [(start[x], start[y]) for x, y in edges_of(graph, "address")])
    print(f"{count} edges between {len(rows)} real copies")
    if count < 100:
        sys.exit("too few to prove anything")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    sums, by_address = [0, 0, 0, 0], 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for seed in range(args.seed, args.seed + args.rounds):
            rng = random.Random(seed)
            sums = [a + b for a, b in zip(sums, check_chakra(args.heddle, folder / "c.json", rng))]
            by_address += check_copies(args.heddle, folder / "a.json", rng)
        check_many(args.heddle, folder / "m.json")
        check_real(args.heddle, folder)
    print(f"{sums[0]} edges of data agree, {sums[1]} left out, {sums[2]} backward; {sums[3]} by tensors, {by_address} by addresses")
    if min(*sums, by_address) < args.rounds:
        sys.exit("too few edges to prove anything")


if __name__ == "__main__":
    main()
