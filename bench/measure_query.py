"""The rows of `heddle query` on a store, each beside DuckDB on the Parquet files of the same trace (BENCH_PYTHON, or
build/peers), and of `heddle convert` to Parquet. A floor is for 10 million events and grows with them; what both count
has to be the same."""
import os
import shutil
import subprocess
import sys

from measure_report import store_of
from measure_run import alternate, warm

CONVERT_FLOOR, CONVERT_SIZE = 300, 1.5  # MB/s of JSON; times the store
QUERIES = (  # name, floor in seconds, ours, DuckDB's
    ("count", 0.5, "select count(*) as n from slice", "select count(*) as n from slices"),
    ("sum", 0.5, "select sum(dur) as n from slice", "select sum(dur) as n from slices"),
    ("one name", 0.3, "select sum(dur) as n from slice where name = :name", "select sum(dur) as n from slices where name = $name"),
    ("group by name", 1.5, "select count(*) as n from (select name, sum(dur) as d from slice group by name)",
     "select count(*) as n from (select name, sum(dur) as d from slices group by name)"),
)
THEIRS = """
import sys, duckdb
folder, sql, name = sys.argv[1:]
base = duckdb.connect()
base.execute(f"create view slices as select name, coalesce(dur, -1) as dur from read_parquet('{folder}/slices.parquet') "
             f"union all select name, 0 from read_parquet('{folder}/instants.parquet')")
pairs = base.execute(f"select count(*) from read_parquet('{folder}/async.parquet')").fetchone()[0]
print(f"n={base.execute(sql, {'name': name} if '$name' in sql else {}).fetchone()[0]} pairs={pairs}")
"""


def first_row(text):
    return text.split()[-1]


def ask(bench, store, sql, *more):
    return subprocess.run([bench.heddle, "query", "-q", "--format", "csv", *more, store, sql], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def duckdb_python(bench):
    peers = os.path.join(os.path.dirname(bench.here), "build", "peers", "bin", "python")
    for python in (os.environ.get("BENCH_PYTHON"), peers, sys.executable):
        if python and subprocess.run([python, "-c", "import duckdb"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def convert(bench, name, path, store, folder):
    """The folder of Parquet files, and the row of making it."""
    size, log = os.path.getsize(path), os.path.join(bench.folder, "parquet.log")
    warm(path)
    shutil.rmtree(folder, ignore_errors=True)
    (outcome,), others = alternate((["sh", "-c", 'rm -rf "$3"; exec "$1" convert -q "$2" "$3" >"$4"', "sh", bench.heddle, path,
                                     folder, log], None, (0,)))
    bytes_ = sum(os.path.getsize(os.path.join(folder, file)) for file in os.listdir(folder))
    speed, times = size / outcome.seconds / 1e6, bytes_ / os.path.getsize(store)
    bench.add("convert to Parquet", name, size, outcome, f"{speed:,.0f} MB/s, {bytes_ / 1e6:,.1f} MB",
              f"store: {os.path.getsize(store) / 1e6:,.1f} MB", f"{CONVERT_FLOOR} MB/s, {CONVERT_SIZE} x store",
              speed >= CONVERT_FLOOR and times <= CONVERT_SIZE, others)


def query(bench):
    python = duckdb_python(bench)
    for name, path in bench.inputs:
        store, folder, size = store_of(bench, name, path), os.path.join(bench.folder, f"query_{name}.parquet"), os.path.getsize(path)
        convert(bench, name, path, store, folder)
        events = int(first_row(ask(bench, store, "select count(*) from slice")))
        most = ask(bench, store, "select name from slice group by name order by count(*) desc limit 1").splitlines()[-1].strip('"')
        warm(store)
        for which, floor, ours_sql, theirs_sql in QUERIES:
            more = ["--param", f"name={most}"] if ":name" in ours_sql else []
            commands = [([bench.heddle, "query", "-q", "--format", "csv", *more, store, ours_sql], None, (0,))]
            if python:
                commands.append(([python, "-c", THEIRS, folder, theirs_sql, most], None, (0,)))
            outcomes, others = alternate(*commands)
            peer = "DuckDB: not installed (BENCH_PYTHON=...)"
            if python:
                ours, theirs = int(first_row(ask(bench, store, ours_sql, *more))), int(outcomes[1].word("n"))
                if ours != theirs and not outcomes[1].word("pairs"):  # they lie unpaired in Parquet
                    sys.exit(f"bench: {which} of {path}: {ours}, DuckDB found {theirs}")
                peer = f"DuckDB, Parquet: {outcomes[1].seconds:.2f} s"
            limit = floor * max(events, 1_000_000) / 10e6
            bench.add(f"query {which}, store", name, size, outcomes[0], f"{outcomes[0].seconds:.2f} s", peer,
                      f"{limit:.2f} s", outcomes[0].seconds <= limit, others)
