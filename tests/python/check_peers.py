#!/usr/bin/python3
"""Tables given to pandas, polars, pyarrow, DuckDB and NumPy equal the JSON; the package passes mypy --strict. What is not installed is
left out, and said.

usage: check_peers.py    with PYTHONPATH at the package; run by a Python that has them: build/peers/bin/python
"""
import gzip
import importlib
import importlib.util
import json
import subprocess
import sys
import unittest
from pathlib import Path

import heddle

ROOT = Path(__file__).resolve().parents[2]
TRACES = [ROOT.parent / "shared/data/kineto" / f"{name}.json.gz" for name in ("resnet50_2021", "nccl_data")]


def needs(name):
    return unittest.skipUnless(importlib.util.find_spec(name), f"{name} is not installed")


def ns(number):
    """Decimal microseconds, as text, → ns, floored."""
    whole, _, part = str(number).partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def expected(path):
    document = json.loads(gzip.decompress(path.read_bytes()), parse_float=str)
    events = document["traceEvents"] if isinstance(document, dict) else document
    return sorted((ns(e["ts"]), e["name"]) for e in events if e.get("ph") == "X")


class Peers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        found = [path for path in TRACES if path.exists()]
        if not found:
            raise unittest.SkipTest("no ../shared/data")
        cls.traces = [(heddle.open(path), expected(path)) for path in found]

    def check(self, rows_of):
        for trace, wanted in self.traces:
            self.assertEqual(sorted(rows_of(trace.slices(columns=["ts", "name"]))), wanted)

    @needs("pandas")
    def test_pandas(self):
        self.check(lambda table: [(int(ts), name) for ts, name in table.to_pandas().itertuples(index=False)])
        frame = self.traces[0][0].slices().to_pandas()
        self.assertEqual((str(frame.ts.dtype), str(frame.name.dtype), str(frame.parent_id.dtype)), ("int64", "category", "Int64"))
        self.assertEqual([None if value is self.pandas_na() else int(value) for value in frame.parent_id[:2000]],
                         [row.parent_id for row in self.traces[0][0].slices().head(2000)])
        frame.loc[0, "ts"] = 5  # memory of its own

    @staticmethod
    def pandas_na():
        import pandas
        return pandas.NA

    @needs("numpy")
    def test_numpy(self):
        self.check(lambda table: zip(table.to_numpy()["ts"].tolist(), table.to_numpy()["name"].tolist()))
        columns = self.traces[0][0].slices().to_numpy()
        self.assertFalse(columns["ts"].flags.writeable or columns["ts"].flags.owndata)

    @needs("polars")
    def test_polars(self):
        self.check(lambda table: [(ts, name) for ts, name in table.to_polars().iter_rows()])

    @needs("pyarrow")
    def test_pyarrow(self):
        self.check(lambda table: zip(*(column.to_pylist() for column in table.to_arrow().columns)))
        table = heddle.open(TRACES[0]).slices()
        self.assertEqual(table.to_arrow().nbytes, table.to_arrow().nbytes)  # each call a fresh stream
        held = heddle.open(TRACES[0]).query("select 1 as a union all select null")
        self.assertEqual(held.to_arrow().to_pylist(), [{"a": None}, {"a": 1}] if held[0].a is None else [{"a": 1}, {"a": None}])
        import pyarrow
        arrow = pyarrow.table(heddle.open(TRACES[0]).slices())  # outlives its trace
        arrow.validate(full=True)
        self.assertEqual(pyarrow.schema(table), arrow.schema)

    @needs("duckdb")
    def test_duckdb(self):
        import duckdb
        for trace, wanted in self.traces:
            source = trace.slices(columns=["ts", "name"]).to_arrow() if importlib.util.find_spec("pyarrow") else self.skipTest("no pyarrow")
            got = duckdb.sql("select name::varchar, count(*), min(ts) from source group by 1").fetchall()
            names = {name for _, name in wanted}
            self.assertEqual(sorted(got), sorted((name, sum(n == name for _, n in wanted), min(ts for ts, n in wanted if n == name)) for name in names))

    @needs("mypy")
    def test_types(self):
        ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir=/dev/null", "--exclude", "compat", "-p", "heddle"],
                             cwd=ROOT / "python", capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)


if __name__ == "__main__":
    unittest.main()
