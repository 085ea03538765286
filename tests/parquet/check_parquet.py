#!/usr/bin/python3
"""Folders of Parquet files against Python's own reading of the JSON that they come from.

usage: check_parquet.py --heddle HEDDLE [--rest|--all]

Each value of slices, instants, flows, counters and arguments is what Python makes of the event; pyarrow, DuckDB and Polars read
the same; statistics and the page index are true. Of random traces, and with --rest or --all of those of ../shared/data that tests/sizes.py says.
Folders that tests/proven lists are not read again.
Skips where build/peers is not there: tools/setup.sh test makes it.
"""
import argparse
import glob
import gzip
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
from decimal import Decimal, localcontext

ROOT = os.environ.get("HEDDLE_SOURCE_ROOT") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "tests"))
import proven  # noqa: E402
import rounds  # noqa: E402
import sizes  # noqa: E402

try:
    import duckdb
    import polars
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    print("skipped: no pyarrow, DuckDB and Polars; tools/setup.sh test installs them in build/peers")
    sys.exit(77)

# Kinds as docs/formats/parquet.md numbers them, and the phases of each.
KINDS = {"slices": (0, "XB"), "ends": (1, "E"), "instants": (2, "iIRr"), "counters": (3, "C"), "flows": (4, "stf"),
         "async": (5, "bneSTpF"), "samples": (6, "P"), "objects": (7, "NOD"), "meta_events": (8, "M")}


def fail(text):
    sys.exit(f"check_parquet: {text}")


# ---- what Python makes of an event ----

class Pairs(list):
    """The members of an object, in order, those of one name all."""

    def last(self, name):
        return next((value for key, value in reversed(self) if key == name), None)


def plain(value):
    if isinstance(value, Pairs):
        return {key: plain(item) for key, item in value}
    return [plain(item) for item in value] if isinstance(value, list) else value


def read_events(text):
    document = json.loads(text, parse_float=Decimal, object_pairs_hook=Pairs)
    if not isinstance(document, Pairs):
        return document
    samples = document.last("samples") or []  # the top-level ones, as the events that say the same
    members = ("name", "cat", "ts", "pid", "tid", "sf")
    return document.last("traceEvents") + [Pairs([("ph", "P"), *(m for m in s if m[0] in members), ("args", Pairs(m for m in s if m[0] not in members))])
                                           for s in samples if isinstance(s, Pairs) and s.last("sf") is not None]


def nanoseconds(value):
    return math.floor(Decimal(value) * 1000)


def is_number(value):
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def expected_rows(events):
    """By table: (ts, dur, name, category, args as pairs) of each event, in order. None: Python's reading has no opinion."""
    tables = {name: [] for name in KINDS}
    for event in events:
        phase, ts, dur = event.last("ph"), event.last("ts"), event.last("dur")
        name = next((table for table, (_, phases) in KINDS.items() if isinstance(phase, str) and len(phase) == 1 and phase in phases), None)
        if name is None or not (is_number(ts) or ts is None):
            return None
        start = nanoseconds(ts) if ts is not None else None
        length = nanoseconds(Decimal(ts) + Decimal(dur)) - start if phase == "X" and is_number(dur) and start is not None else None
        tables[name].append((start, length, event.last("name"), event.last("cat"), event.last("args"), phase))
    return tables


# ---- comparing ----

def value_of(row):
    kind = row["value_type"]
    if kind == "json":
        return plain(json.loads(row["string_value"], parse_float=Decimal, object_pairs_hook=Pairs))
    return {"null": None, "int": row["int_value"], "bool": bool(row["int_value"]), "real": row["real_value"],
            "string": row["string_value"]}[kind]


def same_value(got, want):
    if isinstance(want, Decimal) or isinstance(want, int) and not isinstance(want, bool) and not -2**63 < want < 2**63:
        return got == float(want)
    return type(got) is type(plain(want)) and got == plain(want)


def compare_table(where, name, rows, want):
    if name == "counters":
        rows = {row["id"]: row for row in rows}
        rows = [rows[key] for key in sorted(rows)]
    if len(rows) != len(want):
        fail(f"{where}: {name} has {len(rows)} rows, Python {len(want)}")
    for i, (row, (ts, dur, label, category, _, phase)) in enumerate(zip(rows, want)):
        mine = [row["ts"], row["dur"] if phase == "X" else None, row["name"], row["category"], row["id"]]
        text = [label if isinstance(label, str) else mine[2], category if isinstance(category, str) else mine[3]]
        if mine != [ts, dur, *text, i]:
            fail(f"{where}: {name} {i}: {mine}, Python has {[ts, dur, *text, i]}")


def compare_args(where, folder, tables):
    got = {}
    for row in pq.read_table(f"{folder}/args.parquet").to_pylist():
        if row["key"].startswith("args."):
            got.setdefault(row["arg_set_id"], []).append((row["key"][5:], value_of(row)))
    for name, (kind, _) in KINDS.items():
        for i, (*_, args, _) in enumerate(tables[name] if name != "counters" else []):
            want = list(args) if isinstance(args, Pairs) else []
            mine = got.pop(i * 16 + kind, [])
            if sorted(k for k, _ in mine) != sorted(k for k, _ in want):
                fail(f"{where}: arguments of {name} {i}: {mine}, Python has {want}")
            if len({key for key, _ in want}) == len(want) and not all(same_value(dict(mine)[k], v) for k, v in want):
                fail(f"{where}: arguments of {name} {i}: {mine}, Python has {want}")
    if got:
        fail(f"{where}: arguments of nobody: {list(got.items())[:3]}")


def compare_counters(where, folder, want):
    got = {}
    for row in pq.read_table(f"{folder}/counters.parquet").to_pylist():
        value = row["value_int"] if row["value_type"] == "int" else row["value"] if row["value_type"] == "real" else None
        if row["series"] is not None:
            got.setdefault(row["id"], {})[row["series"]] = value
    for i, (*_, args, _) in enumerate(want):
        numbers = {key: value for key, value in args or [] if is_number(value)}
        mine = {key: value for key, value in got.get(i, {}).items() if value is not None}
        if mine.keys() != numbers.keys() or not all(same_value(mine[k], v) for k, v in numbers.items()):
            fail(f"{where}: counter {i}: {mine}, Python has {numbers}")


# ---- the file itself ----

class Thrift:
    """The compact protocol, as its specification has it: structs are dicts by field id."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (3, 4, 5, 6):
            number = self.varint()
            return number >> 1 ^ -(number & 1)
        if kind == 8:
            size = self.varint()
            self.at += size
            return self.data[self.at - size:self.at]
        if kind == 9:
            head = self.data[self.at]
            self.at += 1
            count = self.varint() if head >> 4 == 15 else head >> 4
            if head & 15 in (1, 2):
                self.at += count
                return [byte == 1 for byte in self.data[self.at - count:self.at]]
            return [self.value(head & 15) for _ in range(count)]
        return self.struct()

    def struct(self):
        out, field = {}, 0
        while (head := self.data[self.at]) != 0:
            self.at += 1
            field += head >> 4
            out[field] = self.value(head & 15)
        self.at += 1
        return out


def decode_bound(physical, data):
    if physical == 6:
        return data.decode()
    return struct.unpack({0: "<?", 1: "<i", 2: "<q", 5: "<d"}[physical], data)[0]


def check_bounds(where, physical, low, high, values, exact):
    present = [value for value in values if value is not None and value == value]
    if not present:
        return
    low, high = decode_bound(physical, low), decode_bound(physical, high)
    if physical == 6:  # texts are cut
        present, low, high = [text.encode() for text in present], low.encode(), high.encode()
    if exact and (low, high) != (min(present), max(present)) or low > min(present) or high < max(present):
        fail(f"{where}: from {low} to {high}, but values are from {min(present)} to {max(present)}")


def check_file(path):
    """Statistics, column index and offset index against the values."""
    with open(path, "rb") as f:
        data = f.read()
    size = int.from_bytes(data[-8:-4], "little")
    meta = Thrift(data[len(data) - 8 - size:len(data) - 8]).struct()
    table = pq.read_table(path)
    columns = [table.column(i).cast(pa.int64()).to_pylist() if table.schema.field(i).name == "time" else table.column(i).to_pylist()
               for i in range(table.num_columns)]
    first = pages = 0
    for group in meta.get(4, []):
        for i, chunk in enumerate(group[1]):
            where, physical = f"{path}: {table.schema.field(i).name}", chunk[3][1]
            values, statistics = columns[i][first:first + group[3]], chunk[3][12]
            if statistics[3] != values.count(None):
                fail(f"{where}: {statistics[3]} nulls")
            if 5 in statistics:
                check_bounds(where, physical, statistics[6], statistics[5], values, statistics[7] and statistics[8])
            else:
                present = [value for value in values if value is not None and value == value]
                if present and str(max(present))[0] != "\U0010ffff":  # the only text that has no larger one
                    fail(f"{where}: no bounds of {present[:9]}")
            places = Thrift(data[chunk[4]:chunk[4] + chunk[5]]).struct()[1]
            starts = [place.get(3, 0) for place in places] + [group[3]]
            index = Thrift(data[chunk[6]:chunk[6] + chunk[7]]).struct() if 6 in chunk else None
            for n, place in enumerate(places):
                page = values[starts[n]:starts[n + 1]]
                header = Thrift(data[place[1]:place[1] + 64]).struct()
                if header[5][1] != len(page) or place[1] + place[2] > chunk[3][9] + chunk[3][7]:
                    fail(f"{where}: page {n} is not where the index says")
                if index:
                    if index[1][n] != all(value is None for value in page) or index[5][n] != page.count(None):
                        fail(f"{where}: nulls of page {n}")
                    check_bounds(f"{where}: page {n}", physical, index[2][n], index[3][n], page, physical != 6)
                pages += 1
        for by in group.get(4, []):
            order = columns[by[1]][first:first + group[3]]
            if order != sorted(order):
                fail(f"{path}: is not sorted as it says")
        first += group[3]
    if first != len(table) or meta[3] != first:
        fail(f"{path}: row groups have {first} rows")
    return table, pages


def check_readers(path, table):
    duck = duckdb.sql(f"select * from '{path}'").to_arrow_table() if len(table) else None
    polar = polars.read_parquet(path).to_arrow()
    for other in [duck, polar]:
        for name in table.column_names if other is not None else []:
            mine, its = table[name], other[name]
            if pa.types.is_timestamp(mine.type):
                mine, its = mine.cast(pa.int64()), its.cast(pa.int64())
            if mine.to_pylist() != its.cast(mine.type).to_pylist() and not any(v != v for v in mine.to_pylist()):
                fail(f"{path}: {name} is read otherwise by {'DuckDB' if other is duck else 'Polars'}")


def check_trace(heddle, path, where, readers, known):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as f:
        text = f.read()
    with tempfile.TemporaryDirectory() as work:
        folder = f"{work}/out.parquet"
        subprocess.run([heddle, "convert", "-q", path, folder], check=True, stdout=subprocess.DEVNULL)
        info = json.loads(subprocess.run([heddle, "info", "--json", path], check=True, stdout=subprocess.PIPE).stdout)
        events = pages = 0
        files = sorted(glob.glob(f"{folder}/*.parquet"))
        key = known.key(text, b"%d" % info["events"], *(part for file in files for part in (os.path.basename(file).encode(), open(file, "rb").read())))
        if known.holds(key):
            return
        for file in files:
            table, more = check_file(file)
            pages += more
            name = os.path.basename(file)[:-8]
            if name in KINDS or name == "other":
                events += len(set(table["id"].to_pylist()))
            if readers:
                check_readers(file, table)
        if events != info["events"]:
            fail(f"{where}: {events} events, heddle info has {info['events']}")
        try:
            tables = expected_rows(read_events(text))
        except (ValueError, AttributeError):
            tables = None
        if tables:
            for name in KINDS:
                compare_table(where, name, pq.read_table(f"{folder}/{name}.parquet").to_pylist(), tables[name])
            compare_args(where, folder, tables)
            compare_counters(where, folder, tables["counters"])
        known.add(key)
        print(f"{where}: {events} events, {pages} pages{'' if tables else ', not compared with JSON'}", flush=True)


# ---- random traces ----

TEXTS = ["", "gemm", "aten::add", "ä\u20ac\U0001f600", "x" * 63, "x" * 64 + "a", "x" * 64 + "b", "\U0010ffff" * 17, "a\u0000b", "π" * 40]


def random_value(r, depth=0):
    kind = r.randrange(9 if depth < 2 else 7)
    if kind < 2:
        return r.choice([0, 1, -1, 7, 2**31, 2**53 + 1, 2**63 - 1, -2**63, r.randrange(1000)])
    if kind == 2:
        return r.choice([0.5, -0.0, 1e-9, 1e300, 12.25, r.random()])
    if kind < 5:
        return r.choice(TEXTS) if r.random() < 0.5 else f"text {r.randrange(100000)}"
    if kind < 7:
        return r.choice([True, False, None])
    return [random_value(r, depth + 1) for _ in range(r.randrange(3))] if kind == 7 else {f"k{i}": random_value(r, depth + 1) for i in range(2)}


def random_event(r, at):
    phase = r.choices("XiCsMb", [60, 10, 10, 5, 2, 5])[0]
    event = {"ph": phase, "pid": r.choice([1, 2, "gpu"]), "tid": r.randrange(4), "ts": at, "name": r.choice(TEXTS) + r.choice(["", "1", "2"])}
    if phase == "X":
        event["dur"] = r.choice([0, 1, r.randrange(5000), r.randrange(10**6) / 1000])
    if r.random() < 0.7:
        event["cat"] = r.choice(["kernel", "cpu_op", ""])
    if phase in "sb":
        event["id"] = r.choice([1, 2, "0x3"])
    if phase == "C":
        event["args"] = {key: random_value(r) for key in r.sample(["a", "b", "bytes"], r.randrange(3))}
    elif phase == "M":
        event |= {"name": "thread_name", "args": {"name": r.choice(TEXTS)}}
    elif r.random() < 0.8:
        event["args"] = {key: random_value(r) for key in r.sample(["stream", "device", "corr", "ä"], r.randrange(4))}
    return event


def random_trace(r):
    count, at, events = r.choice([0, 1, 2, 300, 2000]), r.choice([0, 1669783687464181]), []
    for _ in range(count):
        at += r.choice([0, 1, 5, 1000]) + r.choice([0, 0.125])
        events.append(random_event(r, at if r.random() < 0.9 else max(0, at - 100)))
    return json.dumps({"traceEvents": events}, ensure_ascii=r.random() < 0.5)


def check_ranks(heddle, work):
    """The example of docs/formats/parquet.md: a folder of ranks."""
    for rank in (3, 11):
        path = f"{work}/rank{rank}.json"
        event = {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": rank, "name": "AllReduce"}
        with open(path, "w") as f:
            json.dump([event, event, {**event, "name": "other"}], f)
        os.makedirs(f"{work}/job", exist_ok=True)
        subprocess.run([heddle, "convert", "-q", "--to", "parquet", path, f"{work}/job/rank={rank}"], check=True)
    rows = duckdb.sql(f"select rank, sum(dur) from read_parquet('{work}/job/*/slices.parquet', hive_partitioning = true) "
                      "where name like '%AllReduce%' group by rank order by rank").fetchall()
    if [(int(rank), int(ns)) for rank, ns in rows] != [(3, 6000), (11, 22000)]:
        fail(f"a folder of ranks: {rows}")


def check_arrow(heddle, path):
    """pyarrow reads the rows of SQL that the JSON of the same statement has."""
    command = [heddle, "query", path, "select ts, dur, name, category, 0.5 as half, null as none from slice order by id", "-f"]
    stream, text = (subprocess.run([*command, form], check=True, stdout=subprocess.PIPE).stdout for form in ("arrow", "json"))
    table = pa.ipc.open_stream(stream).read_all()
    table.validate(full=True)
    if table.to_pylist() != json.loads(text):
        fail(f"{path}: rows of SQL differ as Arrow and JSON")
    return len(table)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    sizes.options(parser)
    args = parser.parse_args()
    known = proven.Proven(f"parquet_{args.choice or 'random'}", os.path.join(ROOT, "tests/peers.txt"))
    with tempfile.TemporaryDirectory() as work:
        check_ranks(args.heddle, work)
        rows = 0
        for seed in range(rounds.rounds(15)):
            path = f"{work}/random.json"
            with open(path, "w", encoding="utf-8", errors="surrogatepass") as f:
                f.write(random_trace(random.Random(seed)))
            check_trace(args.heddle, path, f"seed {seed}", True, known)
            rows += check_arrow(args.heddle, path)
        if not rows:
            fail("no row as Arrow")
    shared = os.path.join(os.environ.get("HEDDLE_SHARED") or os.path.join(ROOT, "../shared"), "data")
    paths = sorted(glob.glob(f"{shared}/kineto/*.json.gz") + glob.glob(f"{shared}/ranks/*/rank0*.json*") + glob.glob(f"{shared}/chrome/*.json*"))
    for path in sizes.chosen(paths, args.choice, few=lambda path: False):
        check_trace(args.heddle, path, os.path.relpath(path, shared), False, known)
    known.end()


with localcontext() as context:
    context.prec = 60
    main()
