#!/usr/bin/python3
"""Tables hold what the trace holds, and conditions, orders, groups and joins give what SQLite gives over copied rows.

usage: tests/query/compare_tables.py --heddle PROGRAM

Random traces are written here, so that what the tables have to hold is known without Heddle. Their rows, and those of a
synthetic store of several blocks, are then copied into plain tables of Python's sqlite3, and random queries run over both:
whatever Heddle works out without SQLite must change nothing. Of one input and of two.
"""
import argparse
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from rounds import rounds, seed  # noqa: E402

TABLES = ("slice", "track", "counter", "flow", "args", "launch", "thread", "thread_track", "process", "process_track",
          "counter_track", "instant", "gpu_slice", "thread_slice", "step")
NAMES = ["gemm", "cudaLaunchKernel", "cudaMemcpyAsync", "a b", "", "α", "100%", "GEMM", "ProfilerStep#7", "x'y", "10",
         "5", "05", "5.0", "+7", "7e0", " 7 ", "7x", "0x7", "-0", "1e300", "9007199254740993"]
CATEGORIES = ["kernel", "cuda_runtime", "cpu_op", "gpu_memcpy", "python_function", "10"]


class Failure(Exception):
    pass


class Heddle:
    def __init__(self, program, inputs):
        self.program, self.inputs = program, [str(i) for i in inputs]

    def rows(self, query):
        return self.rows_of([query])[0]

    def rows_of(self, queries):
        """The rows of each, by one process."""
        script = ";\n".join(queries).encode()
        result = subprocess.run([self.program, "query", "-f", "json", *self.inputs, "-i", "-"], input=script, capture_output=True)
        if result.returncode != 0:
            raise Failure(result.stderr.decode("utf-8", "replace"))
        text, at, tables = result.stdout.decode("utf-8", "replace"), 0, []
        for _ in queries:
            table, at = json.JSONDecoder().raw_decode(text, at)
            at += len(text) - at - len(text[at:].lstrip())
            tables.append([tuple(row.values()) for row in table])
        return tables

    def columns(self, table):
        query = f"select name, type from heddle_tables where table_name = '{table}' and not is_argument order by id"
        return self.rows(query)


# ---- traces ----


def random_events(r):
    events = [{"ph": "M", "name": what, "pid": 1 + tid // 3, "tid": tid, "ts": 0, "args": {"name": r.choice(NAMES)}}
              for tid in range(4) for what in ("thread_name", "process_name") if r.random() < 0.6]
    for _ in range(r.choice((0, 1, 5, 40, 300))):
        tid, ts = r.randrange(4), r.randrange(1000)
        event = {"pid": 1 + tid // 3, "tid": tid, "ts": ts, "name": r.choice(NAMES)}
        if r.random() < 0.8:
            event["cat"] = r.choice(CATEGORIES)
        kind = r.random()
        if kind < 0.6:
            event |= {"ph": "X", "dur": r.choice((0, 1, 10, r.randrange(300)))}
        elif kind < 0.75:
            event |= {"ph": "i", "s": r.choice("tpg")}
        elif kind < 0.85:
            event |= {"ph": "C", "args": {k: r.choice((r.randrange(9), 2**53 + r.randrange(3))) for k in r.sample(("a", "b"), r.randrange(1, 3))}}
        else:
            event |= {"ph": r.choice("bbne"), "id": r.randrange(3), "cat": "as", "name": r.choice(("p", "q"))}
        if event["ph"] != "C" and r.random() < 0.5:
            event["args"] = random_args(r)
        events.append(event)
    return events


def random_args(r):
    args = {}
    if r.random() < 0.7:
        args["correlation"] = r.randrange(20)
    if r.random() < 0.4:
        args["grid"] = [r.randrange(4) for _ in range(r.randrange(4))]
    if r.random() < 0.4:
        args["nested"] = {"a": {"b": r.choice((1.5, "x", None, True, [{}, [2]]))}}
    if r.random() < 0.4:
        args["text"] = r.choice(("", "ü", "7", 'a"b\\c'))
    return args


# ---- what the tables have to hold, from the events ----


def flatten(key, flat, value):
    if value is None:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from flatten(f"{key}.{name}", f"{flat}.{name}", inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from flatten(f"{key}[{number}]", flat, inner)
    elif isinstance(value, bool):
        yield key, flat, int(value), None, None
    elif isinstance(value, int):
        yield key, flat, value, None, None
    elif isinstance(value, float):
        yield key, flat, None, None, value
    else:
        yield key, flat, None, value, None


def args_of(event):
    return sorted((row for k, v in event.get("args", {}).items() for row in flatten(f"args.{k}", f"args.{k}", v)), key=repr)


def async_slices(events):
    """Pairs by process and id, in the order of time; an end closes the innermost of its name, else the innermost."""
    opened, out = {}, []
    points = [e for e in events if e["ph"] in "bne"]
    for event in sorted(points, key=lambda e: e["ts"]):
        stack = opened.setdefault((event["pid"], event["id"]), [])
        if event["ph"] == "e":
            same = [s for s in stack if s["event"]["name"] == event["name"]] or stack
            if same:
                same[-1]["dur"] = (event["ts"] - same[-1]["event"]["ts"]) * 1000
                stack.remove(same[-1])
            continue
        slice_ = {"event": event, "dur": 0 if event["ph"] == "n" else None, "depth": len(stack)}
        out.append(slice_)
        if event["ph"] == "b":
            stack.append(slice_)
    return out


def expected_slices(events):
    """(type, ts, dur, name, category, args) of each."""
    for event in events:
        if event["ph"] in "Xi":
            what = "slice" if event["ph"] == "X" else "instant"
            yield what, event["ts"] * 1000, event.get("dur", 0) * 1000, event["name"], event.get("cat"), args_of(event)
    for pair in async_slices(events):
        event = pair["event"]
        yield "async", event["ts"] * 1000, pair["dur"], event["name"], event["cat"], args_of(event)


def check_content(heddle, events):
    sets = {}
    for set_id, *row in heddle.rows("select arg_set_id, key, flat_key, int_value, string_value, real_value from args"):
        sets.setdefault(set_id, []).append(tuple(row))
    query = "select type, ts, dur, name, category, arg_set_id from slice"
    got = [(*row[:5], sorted(sets.get(row[5], []), key=repr)) for row in heddle.rows(query)]
    wanted = list(expected_slices(events))
    if sorted(map(repr, got)) != sorted(map(repr, wanted)):
        missing = set(map(repr, wanted)) ^ set(map(repr, got))
        raise Failure(f"slices are not those of the trace: {sorted(missing)[:4]}")
    samples = [(e["ts"] * 1000, f"{e['name']} {k}", v) for e in events if e["ph"] == "C" for k, v in e["args"].items()]
    got = heddle.rows("select c.ts, t.name, c.value from counter c join counter_track t on t.id = c.track_id")
    if sorted(got) != sorted(samples):
        raise Failure(f"counters are not those of the trace: {sorted(set(got) ^ set(samples))[:4]}")
    threads = {(e["pid"], e["tid"]) for e in events}
    got = set(heddle.rows("select p.pid, t.tid from thread t join process p using (upid)"))
    if not {t for t in threads} >= got:
        raise Failure(f"threads that are not there: {got - threads}")


# ---- random queries ----


def literal(value):
    return "null" if value is None else "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def condition(r, rows, prefix=""):
    row = r.choice(rows) if rows else {}
    column = r.choice(("id", "ts", "dur", "track_id", "name", "category", "depth", "parent_id", "correlation", "type",
                       "role", "arg_set_id", "rank", "ts", "name", "rowid"))
    value = row.get("id" if column == "rowid" else column)
    kind = r.random()
    name = prefix + column
    if column in ("name", "category", "type", "role"):
        pick = r.choice([value, r.choice(NAMES), r.choice(CATEGORIES), "kernel", "instant"])
        if kind < 0.4:
            return f"{name} = {literal(pick)}" + r.choice(("", "", " collate nocase"))
        if kind < 0.6:
            return f"{name} in ({', '.join(literal(x) for x in (pick, value, 'gemm', 10))})"
        if kind < 0.85:
            pattern = r.choice(("%e%", "G%", "_emm", "%", "", "100\\%", "%α%", None))
            return f"{name} {r.choice(('like', 'not like'))} {literal(pattern)}"
        return r.choice((f"{name} glob '*e*'", f"{name} is null", f"{name} is not null", f"{name} > 'f'", f"{name} = 10"))
    number = value if isinstance(value, (int, float)) else r.choice((0, 5, -1))
    if kind < 0.25:
        return f"{name} = {number}"
    if kind < 0.45:
        return f"{name} in ({number}, {number + 1}, null, '{number}', {number + 0.5})"
    if kind < 0.85:
        other = r.choice((number, number + 0.5, -number, number + 1000, 1e300, -1e300, f"'{number}'", "'x'", "null", "9223372036854775807"))
        return f"{name} {r.choice(('<', '<=', '>', '>='))} {other}"
    return r.choice((f"{name} between {number - 100000} and {number + 100000}", f"{name} is null", f"{name} <> {number}"))


def mixed(r, texts, numbers):
    """Text against number: what SQLite makes of it depends on what both sides are, a column, a cast or neither."""
    text, number = r.choice(texts), r.choice(numbers)
    value = r.choice(("5", "7.0", "7", "1e300", "9007199254740992", "9007199254740993", "'05'", "x'35'", "null"))
    values = ", ".join(r.sample(("5", "'5'", "7.0", "'+7'", "x'37'", "null", "1e300", "9007199254740993", "'gemm'"), 3))
    operator = r.choice(("=", "=", "=", "<", ">=", "<>", "is", "is not"))
    return r.choice((
        f"{text} = {number}", f"{text} {operator} +{number}", f"{number} {operator} {text}", f"{number} {operator} {value}",
        f"{text} {operator} {value}", f"{text} = cast({value} as {r.choice(('int', 'real', 'text', 'blob'))})",
        f"{text} collate nocase in ({values}, 'Gemm')", f"{text} in ({values})", f"{number} in ({values})",
        f"{text} in (select {r.choice(('', '+'))}correlation from slice)", f"{number} in (select name from slice)",
        f"{number} in (select cast(name as int) from slice)", f"{text} in (select name from slice where depth = 0)",
        f"{text} {r.choice(('like', 'glob'))} {r.choice((number, text, '5', '7.0', 'null'))}",
        f"{text} between {value} and 'z'", f"({text} = 5 or {text} = '05')", f"{text} || '' = {number}"))


def where(r, rows, prefix=""):
    texts, numbers = [[prefix + c for c in cs] for cs in (("name", "name", "category", "role"), ("correlation", "depth"))]
    conditions = [condition(r, rows, prefix) if r.random() < 0.8 else mixed(r, texts, numbers)
                  for _ in range(r.choice((0, 1, 1, 2, 3)))]
    return " where " + " and ".join(conditions) if conditions else ""


def random_query(r, rows, columns, large):
    """A query, and whether the order of its rows is told. Of a large trace none whose rows are pairs of anything."""
    kind = r.choice((0, 1, 1, 2, 2, 3, 4, 7, 8)) if large else r.randrange(12)
    if kind == 0:
        return "select * from slice" + where(r, rows), False
    if kind == 1:
        order = r.choice(("ts, id", "id", "ts desc, id desc", "id desc", "track_id, ts, id", "track_id desc, id", "rank, id"))
        return f"select id, ts, name from slice{where(r, rows)} order by {order} limit {r.randrange(1, 30)}", True
    if kind == 2:
        key = r.choice(("name", "category", "name, track_id", "track_id", "role", "type, name", "depth", "name, category, depth"))
        order = r.choice(("", "", f" order by {key}", " order by " + ", ".join(f"{k} desc" for k in key.split(", "))))
        return f"select {key}, count(*), sum(dur), min(ts), max(id) from slice{where(r, rows)} group by {key}{order}", bool(order)
    if kind == 3:
        key = r.choice(("name", "category", "track_id", "name, role", "ts"))
        order = r.choice(("", f" order by {key}"))
        return f"select distinct {key} from slice{where(r, rows)}{order}", bool(order)
    if kind == 4:
        return f"select p.id, c.id, c.name from slice p join slice c on c.parent_id = p.id{where(r, rows, 'p.')}", False
    if kind == 5:
        on = r.choice(("b.correlation = a.correlation", "b.track_id = a.track_id and b.ts > a.ts and b.ts < a.ts + a.dur",
                       "b.ts >= a.ts and b.ts < a.ts + a.dur", "b.name = a.category", "b.ts = a.ts", "b.id = a.parent_id"))
        return f"select a.id, b.id from slice a join slice b on {on}{where(r, rows, 'a.')}", False
    if kind == 6:
        join = r.choice(("left join", "join"))
        key = r.choice(("", " and a.key = 'args.grid[1]'", " and a.flat_key = 'args.text'", " and a.key = 'args.nested.a.b'"))
        return f"select s.id, a.key, a.display_value from slice s {join} args a on a.arg_set_id = s.arg_set_id{key}{where(r, rows, 's.')}", False
    if kind == 7:
        return ("select t.name, th.tid, count(*), sum(s.dur) from slice s join thread_track t on s.track_id = t.id "
                f"join thread th using (utid){where(r, rows, 's.')} group by 1, 2"), False
    if kind == 9:
        return f"select a.id, b.id from slice a join slice b on {mixed(r, ['a.name', 'a.category'], ['b.correlation', 'b.depth'])}", False
    if kind > 9:
        table = r.choice([name for name in TABLES if name in columns])
        texts, numbers = [[c for c, kind in columns[table] if kind in kinds] for kinds in (("TEXT",), ("INT",))]
        conditions = [mixed(r, texts or numbers, numbers) for _ in range(r.choice((1, 2)))]
        return f"select * from {table} where {' and '.join(conditions)}", False
    return f"select max(ts), min(ts), count(name), max(dur) from slice{where(r, rows)}", False


def sortable(row):
    return [(type(cell).__name__, cell) if cell is not None else ("", 0) for cell in row]


def check_queries(heddle, r, count, large=False):
    oracle = sqlite3.connect(":memory:")
    rows, all_columns = [], {}
    for table in TABLES:
        if large and table == "args":
            continue
        columns = all_columns[table] = heddle.columns(table)
        names = ", ".join(f'"{name}"' for name, _ in columns)
        declared = ", ".join(f'"{name}" {kind}' for name, kind in columns)
        declared = declared.replace('"value" REAL', '"value"')  # some of a counter's are integers that no double holds
        copied = heddle.rows(f"select {names} from {table}")
        if table == "slice":
            declared = declared.replace('"id" INT', '"id" integer primary key')
            rows = [dict(zip((n for n, _ in columns), row)) for row in copied]
        oracle.execute(f"create table {table}({declared})")
        oracle.executemany(f"insert into {table} values ({', '.join('?' * len(columns))})", copied)
    for column in ("ts", "parent_id", "correlation", "name", "track_id"):
        oracle.execute(f"create index slice_{column} on slice({column})")
    if not large:
        oracle.execute("create index args_set on args(arg_set_id)")
    found = 0
    queries = [random_query(r, rows, all_columns, large) for _ in range(count)]
    for (query, ordered), got in zip(queries, heddle.rows_of([query for query, _ in queries])):
        wanted = oracle.execute(query).fetchall()
        if not ordered:
            wanted, got = sorted(wanted, key=sortable), sorted(got, key=sortable)
        if wanted != got:
            differ = next((pair for pair in zip(wanted, got) if pair[0] != pair[1]), None)
            raise Failure(f"{query}\n  {len(wanted)} rows wanted, {len(got)} got; first difference {differ}\n  of {heddle.inputs}")
        found += len(wanted)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    options = parser.parse_args()
    r = random.Random(seed(1))
    checked = found = 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            paths = []
            for number in range(rounds(3)):
                events = random_events(r)
                paths.append(Path(folder) / f"{number}.json")
                paths[-1].write_text(json.dumps({"traceEvents": events}))
                heddle = Heddle(options.heddle, paths[-1:])
                check_content(heddle, events)
                found += check_queries(heddle, r, 60)
                checked += 60
            for number in range(rounds(1)):
                found += check_queries(Heddle(options.heddle, r.sample(paths, min(3, len(paths)))), r, 60)
                checked += 60
            store = Path(folder) / "synth.heddle"
            text = store.with_suffix(".json")
            number = str(r.randrange(1000))
            subprocess.run([options.heddle, "synth", "-q", "--events", "240000", "--seed", number, "-o", text], check=True)
            subprocess.run([options.heddle, "convert", "-q", text, store], check=True)
            found += check_queries(Heddle(options.heddle, [store]), r, rounds(9), large=True)
        except Failure as failure:
            print(failure)
            return 1
    print(f"{checked + rounds(9)} queries gave the same {found} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
