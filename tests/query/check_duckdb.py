#!/usr/bin/python3
"""What `heddle query` answers is what DuckDB answers over the Parquet that `heddle convert` writes of the same trace.

usage: check_duckdb.py --heddle HEDDLE [--only TEXT] [--verbose]

Queries as users write them, on real traces of ../shared/data: of two GPUs' profilers, of four ranks at once, of a browser.
Skips where build/peers or the traces are absent. What Parquet has under other names, or otherwise, is mapped by views:

- slice    `slices`, and `instants`, whose ids are 2^38 higher and whose
           duration is 0. Async slices are points in Parquet: queries of a trace that has some say `type`, or compare their begins.
           An instant's track is not compared: of a process it is on its track, in Parquet on that of the thread that told it.
- args     objects and arrays are one JSON text in Parquet, a row for each leaf in `args`: only leaves that stand alone
           are compared, and those of slices and instants.
- flow     the points of `flows` that have both ends, with the times of the points.
- launch   pairs only. Calls and work alone, which `launch` has as well, are left out by `pair`.
- counter  the series's name has the event's, its id and its key.
- ids      those of input i are i * 2^40 higher.

LIKE of SQLite is ILIKE in DuckDB. A query with a second text needs what one of them spells otherwise.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

try:
    import duckdb
except ImportError:
    print("DuckDB is not there: tools/setup.sh test makes build/peers")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from patience import patience  # noqa: E402

DATA = Path(os.environ.get("HEDDLE_SHARED") or ROOT.parent / "shared") / "data"
TORCH = {
    "nccl": ["kineto/nccl_data.json.gz"],
    "resnet": ["kineto/resnet50_2021.json.gz"],
    "ranks": [f"ranks/dlrm/rank{rank}.json.gz" for rank in range(4)],
}
TIMEOUT = patience(600)  # seconds of a query
CHROME = {"browser": ["chrome/lthi_cats.json.gz"]}

# Of one folder: {f} is its path, {i} its place, {k} what its ids are higher by.
VIEWS = {
    "args": "select arg_set_id + 16 * {k} as arg_set_id, key, int_value, real_value, string_value, value_type from '{f}/args.parquet'",
    "slice": """
        with set_of as (select arg_set_id, any_value(int_value) filter (key = 'args.correlation') as correlation
                        from '{f}/args.parquet' group by 1)
        select id + {k} as id, ts, dur, track_id + {k} as track_id, category, name, depth,
               parent_id + {k} as parent_id, arg_set_id + 16 * {k} as arg_set_id, 'slice' as type, set_of.correlation,
               rank from '{f}/slices.parquet' left join set_of using (arg_set_id)
        union all select id + {k} + (1::bigint << 38), ts, 0, null, category, name, 0, null, arg_set_id + 16 * {k}, 'instant',
                         null, rank from '{f}/instants.parquet'""",
    "begin_point": "select * from '{f}/async.parquet' where phase in ('b', 'n', 'S')",
    "flow": """
        select f.id + {k} as id, slice_out + {k} as slice_out, slice_in + {k} as slice_in, f.category, f.name,
               o.ts as from_ts, i.ts as to_ts, f.rank as rank from '{f}/flows.parquet' f
        join '{f}/slices.parquet' o on o.id = slice_out join '{f}/slices.parquet' i on i.id = slice_in""",
    "launch": """
        select c.id + {k} as launch_id, w.id + {k} as work_id, l.correlation, c.ts, c.dur, w.ts as work_ts, w.dur as work_dur,
               w.ts - c.ts - c.dur as delay, c.track_id + {k} as track_id, w.track_id + {k} as work_track_id, c.name,
               w.name as work_name, work_kind as role, l.rank as rank from '{f}/launches.parquet' l
        join '{f}/slices.parquet' c on c.id = call_id join '{f}/slices.parquet' w on w.id = work_id""",
    "track": """
        select id + {k} as id, kind, parent_id + {k} as parent_id, coalesce(name, case when kind = 'process' then case when try_cast(pid as bigint) is null then pid end else case when try_cast(tid as bigint) is null then tid end end) as name, try_cast(pid as bigint) as pid,
               try_cast(tid as bigint) as tid, stream, slices, start_ts, end_ts, rank from '{f}/tracks.parquet'""",
    "counter": """
        select c.id + {k} as id, c.ts, c.name || coalesce('[' || coalesce(id_text, id_int::text) || ']', '') || ' ' || series as series,
               t.pid, value from '{f}/counters.parquet' c join '{f}/tracks.parquet' t on t.id = c.track_id""",
}
DERIVED = """
    create view gpu_slice as select * from slice where lower(category) in ('kernel', 'memcpy', 'memset', 'gpu_memcpy', 'gpu_memset');
    create view thread as select id as utid, tid, name, parent_id as upid, start_ts, end_ts, rank from track where kind in ('thread', 'stream');
    create view thread_track as select id, name, id as utid, rank from track where kind in ('thread', 'stream');
    create view process as select id as upid, pid, name, rank from track where kind = 'process';
    create view pair as select * from launch;
    create view step as select id as slice_id, ts, dur, name, track_id, rank, cast(substr(name, 14) as bigint) as number
        from slice where name glob 'ProfilerStep#[0-9]*' and lower(coalesce(category, '')) not like 'gpu%';
    create macro extract_arg(arg_set, wanted) as (select coalesce(string_value, int_value::text, real_value::text) from args
        where arg_set_id = arg_set and key = wanted);
"""

# Names, queries of Heddle and of DuckDB where it is another. What ends in "order by" columns that decide is compared in order.
QUERIES = [
    ("sums", "select count(*), sum(dur), min(ts), max(ts + dur), avg(dur), max(depth) from slice"),
    ("by name", "select name, count(*), sum(dur), min(dur), max(dur), avg(dur) from slice group by name"),
    ("by name, the longest", "select name, sum(dur) as total from slice group by name order by total desc, name limit 20"),
    ("by category", "select category, type, count(*) as n, count(distinct name), sum(dur) from slice group by 1, 2 order by n desc, 1, 2"),
    ("having", "select name, count(*) as n, sum(dur) / 1e6 as ms from gpu_slice group by name having n > 10 order by ms desc, name",
     "select name, count(*) as n, sum(dur) / 1e6 as ms from gpu_slice group by name having count(*) > 10 order by ms desc, name"),
    ("one name", "select count(*), sum(dur), min(ts), max(ts) from slice where name = 'cudaLaunchKernel'"),
    ("some names", "select name, count(*), sum(dur) from slice where name in ('aten::add_', 'aten::copy_', 'aten::mul', 'aten::empty', 'nothing') group by name"),
    ("like", "select name, category, count(*), max(dur) from slice where name like '%Gemm%' or name like 'aten::CONV%' group by 1, 2"),
    ("not like", "select count(*), count(distinct name) from slice where name not like 'aten::%' and category not like '%kernel%'"),
    ("glob", "select name, count(*) from slice where name glob 'cuda[LM]*' group by name order by name"),
    ("top kernels", "select id, name, ts, dur, track_id from gpu_slice order by dur desc, ts, id limit 25"),
    ("range", "select count(*), sum(dur), min(id), max(id) from slice where ts >= (select min(ts) + 20000000 from slice where type = 'slice') "
     "and ts < (select min(ts) + 90000000 from slice where type = 'slice')"),
    ("page of a range", "select id, ts, dur, name from slice where ts > (select min(ts) + 15000000 from slice) and dur > 5000 order by ts, id limit 50 offset 25"),
    ("nested conditions", "select rank, type, count(*) from slice where (dur between 1000 and 20000 or dur > 1000000) and not (depth = 0 or name is null) group by 1, 2"),
    ("threads", "select t.tid, t.name, count(*), sum(s.dur), min(s.ts) from slice s join thread_track tt on tt.id = s.track_id join thread t using (utid) "
     "where s.type = 'slice' group by t.utid, t.tid, t.name"),
    ("processes", "select p.pid, p.name, count(*), sum(s.dur) from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid) "
     "join process p using (upid) where s.type = 'slice' group by p.upid, p.pid, p.name"),
    ("tracks", "select id, kind, parent_id, name, pid, tid, stream, rank from track where kind in ('thread', 'stream', 'process')"),
    ("ends of threads", "select utid, tid, name, end_ts - start_ts from thread t where exists "
     "(select 1 from slice s where s.track_id = t.utid and s.type = 'slice')"),
    ("launches", "select name, work_name, role, count(*), sum(delay), min(delay), max(delay), sum(work_dur) from pair group by 1, 2, 3"),
    ("slowest launches", "select launch_id, work_id, correlation, ts, delay from pair order by delay desc, work_id limit 20"),
    ("launches and slices", "select c.depth, c.category, w.category, count(*), sum(w.dur), sum(w.ts - c.ts) from pair l "
     "join slice c on c.id = l.launch_id join slice w on w.id = l.work_id group by 1, 2, 3"),
    ("launching operators", "select p.name, count(*), sum(l.work_dur) as gpu from pair l join slice c on c.id = l.launch_id "
     "join slice p on p.id = c.parent_id group by p.name order by gpu desc, p.name limit 30"),
    ("calls and kernels by correlation", "select c.name, k.name, count(*), sum(k.dur) from gpu_slice k join slice c on c.correlation = k.correlation "
     "and c.rank is not distinct from k.rank where c.name glob 'cuda*' group by 1, 2"),
    ("work without a quick launch", "select count(*), sum(g.dur) from gpu_slice g left join pair l on l.work_id = g.id and l.delay < 5000 where l.work_id is null"),
    ("gaps", "with g as (select track_id, name, ts - lag(ts + dur) over (partition by track_id order by ts, id) as gap from gpu_slice) "
     "select track_id, count(*), sum(gap), max(gap), avg(gap) from g where gap > 0 group by track_id"),
    ("what is before gaps", "with g as (select lag(name) over w as before, name, ts - lag(ts + dur) over w as gap from gpu_slice "
     "window w as (partition by track_id order by ts, id)) select before, name, count(*), sum(gap) as total from g where gap > 0 "
     "group by 1, 2 order by total desc, 1, 2 limit 20"),
    ("three of each category", "select * from (select category, name, dur, row_number() over (partition by category order by dur desc, ts, id) as k "
     "from slice where type = 'slice') where k <= 3 order by category, k"),
    ("running sums", "select id, sum(dur) over (partition by track_id order by ts, id) as busy, count(*) over (partition by name) as alike "
     "from gpu_slice order by id limit 400"),
    ("deciles", "select tile, count(*), min(dur), max(dur) from (select dur, ntile(10) over (order by dur, id) as tile from slice) group by tile"),
    ("percentiles", "select name, percentile(dur, 50), percentile(dur, 95), percentile(dur, 99) from slice group by name",
     "select name, quantile_cont(dur, 0.5), quantile_cont(dur, 0.95), quantile_cont(dur, 0.99) from slice group by name"),
    ("median", "select category, median(dur), quantile(dur, 0.25) from slice group by 1",
     "select category, median(dur), quantile_cont(dur, 0.25) from slice group by 1"),
    ("self time", "select s.name, sum(s.dur - coalesce(c.within, 0)) as self from slice s left join (select parent_id, sum(dur) as within "
     "from slice where parent_id is not null group by parent_id) c on c.parent_id = s.id group by s.name order by self desc, s.name limit 40"),
    ("parents", "select p.name, c.name, count(*) as n, sum(c.dur) from slice c join slice p on p.id = c.parent_id group by 1, 2 order by n desc, 1, 2 limit 60"),
    ("ancestors", "with recursive up(id, parent, name, depth) as (select id, parent_id, name, depth from "
     "(select * from slice order by depth desc, id limit 1) union all select s.id, s.parent_id, s.name, s.depth from slice s "
     "join up on s.id = up.parent) select * from up order by depth"),
    ("descendants", "with recursive down(id, dur, depth) as (select id, dur, 0 from (select * from slice where type = 'slice' and parent_id is null "
     "order by dur desc, id limit 1) union all select s.id, s.dur, down.depth + 1 from slice s join down on s.parent_id = down.id) "
     "select depth, count(*), sum(dur), max(id) from down group by depth"),
    ("streams by argument", "select cast(extract_arg(arg_set_id, 'args.stream') as int) as stream, count(*), sum(dur) from gpu_slice group by 1"),
    ("arguments", "select key, value_type, count(*), avg(int_value), min(int_value), max(int_value), sum(real_value) from args join slice using (arg_set_id) "
     "where value_type in ('int', 'real') and key glob 'args.*' and key not glob '*[[]*' group by 1, 2"),
    ("copies", "select s.name, count(*), sum(b.int_value), sum(b.int_value) * 1.0 / sum(s.dur) from gpu_slice s join args b on b.arg_set_id = s.arg_set_id "
     "and b.key in ('args.bytes', 'args.Bytes') group by 1"),
    ("operators and kernels by external id", "with op as materialized (select o.rank, o.name, a.int_value as x from slice o join args a using (arg_set_id) "
     "where o.name glob 'aten::*' and a.key in ('args.External id', 'args.external id') and a.int_value > 0), "
     "work as materialized (select k.rank, k.dur, b.int_value as x from gpu_slice k join args b using (arg_set_id) "
     "where b.key in ('args.External id', 'args.external id') and b.int_value > 0) "
     "select op.name, count(*), sum(work.dur) from op join work on op.x = work.x and op.rank is not distinct from work.rank group by op.name"),
    ("texts of arguments", "select a.key, a.string_value, count(*) from args a join slice s using (arg_set_id) where a.value_type = 'string' "
     "and a.key glob 'args.*' and a.key not glob '*[[]*' and s.type = 'slice' group by 1, 2 order by 3 desc, 1, 2 limit 50"),
    ("flows", "select f.category, count(*), count(distinct slice_out), sum(i.ts - o.ts - o.dur), min(i.ts - o.ts) from flow f "
     "join slice o on o.id = f.slice_out join slice i on i.id = f.slice_in group by f.category"),
    ("flows by name", "select o.name, i.name, f.category, count(*) from flow f join slice o on o.id = f.slice_out join slice i on i.id = f.slice_in group by 1, 2, 3"),
    ("work of steps", "select s.rank, s.number, s.dur, count(k.id), sum(k.dur) from step s left join gpu_slice k on k.rank is not distinct from s.rank and k.ts >= s.ts "
     "and k.ts < s.ts + s.dur group by 1, 2, 3 order by 1, 2"),
    ("instants", "select name, category, count(*), sum(cast(extract_arg(arg_set_id, 'args.Bytes') as int)) from slice where type = 'instant' group by 1, 2",
     "select name, category, count(*), sum(cast(extract_arg(arg_set_id, 'args.Bytes') as bigint)) from slice where type = 'instant' group by 1, 2"),
    ("histogram of time", "select (ts - (select min(ts) from slice)) / 10000000 as bucket, count(*), sum(dur) from slice group by bucket",
     "select (ts - (select min(ts) from slice)) // 10000000 as bucket, count(*), sum(dur) from slice group by bucket"),
    ("overlapping streams", "select count(*), sum(n.dur) from gpu_slice n where lower(n.name) glob '*nccl*' and exists (select 1 from gpu_slice k where k.track_id <> n.track_id "
     "and k.rank is not distinct from n.rank and k.ts < n.ts + n.dur and k.ts + k.dur > n.ts)"),
    ("busy time", "select sum(dur) from interval_union('gpu_slice')",
     "with m as (select *, max(ts + dur) over (order by ts, dur desc, id rows between unbounded preceding and 1 preceding) as before from gpu_slice where dur > 0), "
     "i as (select *, sum(case when before >= ts then 0 else 1 end) over (order by ts, dur desc, id rows unbounded preceding) as island from m) "
     "select sum(dur) from (select max(ts + dur) - min(ts) as dur from i group by island)"),
    ("case and texts", "select case when name glob '*gemm*' then 'gemm' when name glob '*nccl*' then 'nccl' else substr(name, 1, 6) end as k, "
     "count(*), sum(length(name)), max(upper(name)) from gpu_slice group by 1"),
    ("union and except", "select name from slice where lower(category) = 'cuda_runtime' union select name from gpu_slice except select name from slice where dur > 100000"),
    ("spread of ranks", "select name, count(*), max(total) - min(total) from (select rank, name, sum(dur) as total from gpu_slice group by 1, 2) group by name"),
]
BROWSER = [
    ("sums", "select count(*), sum(dur), min(ts), max(ts), count(distinct name) from slice where type = 'slice'"),
    ("unfinished", "select name, category, ts, track_id from slice where dur is null and type = 'slice'"),
    ("instants by name", "select category, name, count(*), min(ts), max(ts) from slice where type = 'instant' group by 1, 2"),
    ("async slices", "select category, name, count(*), min(ts), max(ts) from slice where type = 'async' group by 1, 2",
     "select category, name, count(*), min(ts), max(ts) from begin_point group by 1, 2"),
    ("counters", "select t.name, p.pid, count(*), min(value), max(value), avg(value) from counter c join counter_track t on t.id = c.track_id "
     "left join process p using (upid) group by 1, 2",
     "select series, pid::bigint, count(*), min(value), max(value), avg(value) from counter group by 1, 2"),
    ("steps of counters", "select name, sum(abs(d)), max(d) from (select t.name, value - lag(value) over (partition by t.id order by ts, c.id) as d "
     "from counter c join counter_track t on t.id = c.track_id) group by name",
     "select series, sum(abs(d)), max(d) from (select series, value - lag(value) over (partition by series, pid order by ts, id) as d from counter) group by series"),
    ("truth in arguments", "select key, value_type, int_value, count(*) from args join slice using (arg_set_id) where value_type = 'bool' and type = 'slice' "
     "and key not glob '*[[]*' group by 1, 2, 3"),
    ("threads of processes", "select p.pid, p.name, t.tid, t.name, count(*) from slice s join thread_track k on k.id = s.track_id join thread t using (utid) "
     "join process p using (upid) where s.type = 'slice' group by 1, 2, 3, 4"),
    ("flows", "select f.name, o.name, i.name, count(*), sum(i.ts - o.ts) from flow f join slice o on o.id = f.slice_out join slice i on i.id = f.slice_in group by 1, 2, 3"),
]


class Failure(Exception):
    pass


def open_folders(folders):
    """DuckDB with the views of all. A query that needs gigabytes fails, instead of taking the machine."""
    db = duckdb.connect(config={"threads": 2, "memory_limit": "2GB", "temp_directory": ""})
    db.execute("set default_null_order = 'sqlite'")
    for name, text in VIEWS.items():
        parts = (f"({text.format(f=folder, i=i, k=i << 40)})" for i, folder in enumerate(folders))
        db.execute(f"create view {name} as {' union all '.join(parts)}")
    db.execute(DERIVED)
    return db


def heddle_rows(heddle, paths, query):
    pair = "(select * from launch where launch_id is not null and work_id is not null)"
    result = subprocess.run([heddle, "query", "-f", "json", *paths, query.replace("from pair", f"from {pair}").replace("join pair", f"join {pair}")],
                            capture_output=True, check=False, timeout=TIMEOUT)
    if result.returncode != 0:
        raise Failure(result.stderr.decode("utf-8", "replace"))
    return [tuple(row.values()) for row in json.loads(result.stdout)]


def sortable(row):
    """Doubles last and rounded: what differs in the last digits must not change the order."""
    exact = [("", 0) if v is None else (type(v).__name__, v) for v in row if not isinstance(v, float)]
    return exact, [f"{v:.6e}" for v in row if isinstance(v, float)]


def alike(mine, other):
    if isinstance(mine, float) or isinstance(other, float):
        return mine is not None and other is not None and math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-9)
    return mine == other


def compare(got, wanted, ordered):
    if not ordered:
        got, wanted = (sorted(rows, key=sortable) for rows in (got, wanted))
    if len(got) != len(wanted):
        raise Failure(f"{len(got)} rows, DuckDB has {len(wanted)}; e.g. {sorted(set(got) ^ set(wanted), key=sortable)[:4]}")
    for mine, other in zip(got, wanted):
        if len(mine) != len(other) or not all(map(alike, mine, other)):
            raise Failure(f"{mine}\n  DuckDB: {other}")


def check_input(heddle, name, paths, queries, folder, verbose):
    """The queries on one input; (queries, rows, faults)."""
    paths = [str(DATA / path) for path in paths]
    for i, path in enumerate(paths):
        subprocess.run([heddle, "convert", "-q", path, f"{folder}/{name}{i}.parquet"], check=True, stdout=subprocess.DEVNULL)
    db, rows, faults, empty = open_folders([f"{folder}/{name}{i}.parquet" for i in range(len(paths))]), 0, [], []
    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(heddle_rows, heddle, paths, query[1]) for query in queries]
        for (what, *texts), answer in zip(queries, answers):
            try:
                begin = time.monotonic()
                wanted = db.execute(texts[-1].replace(" like ", " ilike ")).fetchall()
                compare(answer.result(), wanted, texts[0].rpartition("order by ")[2].count(")") == 0 and "order by" in texts[0])
                rows += len(wanted)
                if verbose:
                    print(f"{name}: {what}: {len(wanted)} rows, {time.monotonic() - begin:.2f} s", flush=True)
                if not any(cell for row in wanted for cell in row):
                    empty.append(what)
            except (Failure, duckdb.Error, subprocess.TimeoutExpired) as failure:
                faults.append(f"{name}: {what}: {texts[0]}\n  {failure}")
    if verbose:
        print(f"{name}: {rows} rows; empty: {', '.join(empty) or 'none'}")
    return len(queries), rows, faults, empty


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--only", default="", help="queries whose name has this text")
    parser.add_argument("--verbose", action="store_true", help="tell of each input")
    options = parser.parse_args()
    inputs = [(name, paths, QUERIES) for name, paths in TORCH.items()] + [(name, paths, BROWSER) for name, paths in CHROME.items()]
    if not all((DATA / path).exists() for _, paths, _ in inputs for path in paths):
        print(f"real traces are not there: {DATA}")
        return 77
    checked = found = 0
    faults, empty = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for name, paths, queries in inputs:
            queries = [query for query in queries if options.only in query[0]]
            count, rows, more, nothing = check_input(options.heddle, name, paths, queries, folder, options.verbose)
            checked, found, faults = checked + count, found + rows, faults + more
            empty[name] = set(nothing)
    never = set.intersection(*(empty[name] for name in TORCH)) | empty["browser"]
    faults += [f"{what}: gives nothing on any input, so it proves nothing" for what in sorted(never)]
    print("\n".join(faults + [f"{checked} queries on {len(inputs)} inputs, {found} rows, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
