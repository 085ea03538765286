#!/usr/bin/python3
"""import heddle, from outside: against the JSON that it reads, and against what it promises of errors, threads, signals.

usage: check_python.py [TEST…]    with PYTHONPATH at the package, HEDDLE_BIN at the command
"""
import ast
import concurrent.futures
import gzip
import io
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path

import heddle
from heddle import _heddle

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/diff")]
from patience import patience  # noqa: E402
from rounds import rounds, seed  # noqa: E402
from small import training, write  # noqa: E402

DATA = ROOT.parent / "shared" / "data" / "kineto"


def trace_json(count=1000, seed=1):
    """Slices on three threads, whose times are whole microseconds; each with an argument."""
    draw = random.Random(seed)
    events = [{"ph": "X", "name": f"op{draw.randrange(20)}", "cat": draw.choice(["cpu_op", "kernel"]), "pid": 1, "tid": draw.randrange(3),
               "ts": i * 10, "dur": draw.randrange(1, 9), "args": {"i": i}} for i in range(count)]
    return events, json.dumps({"traceEvents": events}).encode()


class Base(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.place = Path(self.folder.name)
        self.events, self.bytes = trace_json()
        self.path = self.place / "trace.json"
        self.path.write_bytes(self.bytes)


class Diffs(Base):
    def setUp(self):
        super().setUp()
        for name, ops, number in (("b", training(), 1), ("a", training(scale=1.2), 2)):
            setattr(self, name, write(self.place / f"{name}.json", ops, seed=number))

    def command(self, *args):
        done = subprocess.run([os.environ["HEDDLE_BIN"], "diff", *map(str, args)], capture_output=True, text=True, timeout=patience(60), check=False)
        return done.returncode, done.stdout

    def test_a_diff_is_that_of_the_command(self):
        status, text = self.command("--json", "--fail-if", "step>3%", self.b, self.a)
        said = json.loads(text)
        got = heddle.diff(self.b, self.a, fail_if=["step>3%"])
        self.assertEqual((got.verdict, got.sentence, got.reasons, got.gate, status), (said["verdict"], said["sentence"], [], "fails", 1))
        self.assertEqual([(row.name, row.change) for row in got], [(row["name"], row["change_ns"]) for row in said["rows"]])
        self.assertEqual(got.tables["parts"]["before_total"], [row["before_total_ns"] for row in said["parts"]])
        self.assertEqual(len(got.tables["steps"]), 20)
        self.assertIn(got.sentence, repr(got))

    def test_a_side_is_a_trace_or_a_list_or_a_baseline(self):
        wanted = heddle.diff(self.b, self.a).to_dicts()
        self.command("--save", self.place / "base.hds", self.b)
        with heddle.open(self.b) as before, heddle.open([self.a]) as after:
            for side in (before, [before], str(self.b), self.place / "base.hds", [self.place / "base.hds"]):
                self.assertEqual(heddle.diff(side, after).to_dicts(), wanted)
        self.assertEqual(heddle.diff([self.b, self.b], [self.a, self.a], all=True).tables["sides"]["runs"], [2, 2])

    def test_files_and_mistakes(self):
        got = heddle.diff(self.b, self.a)
        got.write(self.place / "diff.json")
        self.assertEqual(json.loads((self.place / "diff.json").read_text())["sentence"], got.sentence)
        self.assertIn("after is", got.to_html(self.place / "diff.html"))
        with self.assertRaises(heddle.ArgumentError):
            got.write("x.foo")
        for options in ({"across": "planets"}, {"min_ns": 0}, {"fail_if": ["step<3"]}):
            with self.assertRaises(ValueError):
                heddle.diff(self.b, self.a, **options)
        with self.assertRaises(heddle.NotFoundError):
            heddle.diff(self.b, self.place / "none.json")
        none = heddle.diff(self.path, self.a)
        self.assertEqual((none.verdict, none.gate), ("inconclusive", "cannot be said"))
        self.assertTrue(none.reasons)


class Reading(Base):
    def test_rows_are_those_of_the_json(self):
        rows = list(heddle.open(self.path).slices(columns=["ts", "dur", "name", "category"]))
        self.assertEqual([tuple(row) for row in rows], [(e["ts"] * 1000, e["dur"] * 1000, e["name"], e["cat"]) for e in self.events])
        self.assertEqual(rows[0]._fields, ("ts", "dur", "name", "category"))

    def test_an_xray_log_gets_its_names_from_the_program_that_is_named(self):
        data = DATA.parent / "xray"
        if not data.is_dir():
            self.skipTest("there is no ../shared/data/xray")
        log, program = self.place / "alone", data / "xbin"
        log.write_bytes(next(data.glob("basic.xbin.??????")).read_bytes())
        for source in (log, log.read_bytes()):
            names = {row.name for row in heddle.open(source, binary=program).slices()}
            self.assertIn("main", names)
            self.assertNotIn("main", {row.name for row in heddle.open(source).slices()})
        with heddle.open(log, binary=program) as trace:
            heddle.convert(trace, self.place / "opened.heddle")
        heddle.convert(log, self.place / "named.heddle", binary=program)
        for name in ("opened.heddle", "named.heddle"):
            self.assertEqual({row.name for row in heddle.open(self.place / name).slices()}, names)
        with self.assertRaises(ValueError):
            heddle.open(self.path, binary=program)

    def test_path_bytes_file_and_packed_are_one_trace(self):
        packed = self.place / "trace.json.gz"
        packed.write_bytes(gzip.compress(self.bytes))
        wanted = heddle.open(self.path).slices().to_dicts()
        sources = [str(self.path), self.bytes, bytearray(self.bytes), memoryview(self.bytes), io.BytesIO(self.bytes), packed]
        with open(self.path, "rb") as file:
            for source in [*sources, file]:
                self.assertEqual(heddle.open(source).slices().to_dicts(), wanted, source)

    def test_a_store_is_the_same_from_memory_lazily_or_not(self):
        trace = heddle.open(self.path)
        store = trace.to_bytes()
        for lazy in (True, False):
            self.assertEqual(heddle.open(store, lazy=lazy).slices(["ts", "dur", "name"]).to_dicts(),
                             trace.slices(["ts", "dur", "name"]).to_dicts())

    def test_selections(self):
        trace = heddle.open(self.path)
        draw = random.Random(seed(7))
        names = [e["name"] for e in self.events]
        ids = {row.tid: row.id for row in trace.tracks if row.tid is not None}
        for _ in range(rounds(30)):
            start, end = sorted(draw.randrange(0, 10_000_000) for _ in range(2))
            name, tid = draw.choice(names), str(draw.randrange(3))
            got = trace.slices(["ts"], start=start, end=end, names=[name], tracks=[ids[tid]])["ts"]
            self.assertEqual(got, [e["ts"] * 1000 for e in self.events if e["name"] == name and str(e["tid"]) == tid and
                                   e["ts"] * 1000 < end and (e["ts"] + e["dur"]) * 1000 > start])

    def test_info_metadata_ledger(self):
        trace = heddle.open(b'{"traceEvents": [{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}], "k": {"a": [1]}}')
        self.assertEqual((trace.info.format, trace.info["events"], trace.info.duration_ns), ("chrome", 1, 2000))
        self.assertEqual(dict(trace.info)["counts"]["slice"], 1)
        self.assertEqual((trace.info.span, trace.info["span"]), ((1000, 3000), (1000, 3000)))
        with self.assertRaisesRegex(KeyError, "there are format"):
            trace.info["spam"]
        self.assertEqual(trace.metadata, {"k": {"a": [1]}})
        self.assertEqual(list(trace.ledger), [])

    def test_reports_as_html_pages(self):
        events = [{"ph": "X", "cat": "kernel", "name": f"k<{i}>", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 8,
                   "args": {"device": 0, "stream": 7}} for i in range(3)]
        trace = heddle.open(json.dumps({"traceEvents": events}).encode())
        summary, timeline = trace.report("summary"), trace.report("timeline", width=13)
        path = self.place / "page.html"
        page = summary.to_html(path)
        self.assertEqual(path.read_text(encoding="utf-8"), page)
        for heading in ("Where the GPU time goes", "Timeline", "Flame graph"):
            self.assertTrue(f"<h2>{heading}</h2>" in page, heading)
        self.assertTrue("k&lt;2&gt;" in page)
        page = timeline.to_html()
        self.assertTrue("<title>timeline of trace</title>" in page)
        self.assertTrue('data-v="13">13' in page)
        with self.assertRaisesRegex(heddle.ArgumentError, "no trace"):
            pickle.loads(pickle.dumps(timeline)).to_html()

    def test_no_events_and_one(self):
        for text, count in (('{"traceEvents": []}', 0), ('[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]', 1)):
            table = heddle.open(text.encode()).slices()
            self.assertEqual((len(table), len(list(table)), len(table.to_dicts()), len(table.head())), (count,) * 4)
            self.assertIn(f"{count} rows", repr(table))
            self.assertIn("<table>", table._repr_html_())

    def test_losses_warn_once_for_each_input(self):
        store = bytearray(heddle.open(trace_json(200_000)[1]).to_bytes())
        cut = bytes(store[:len(store) * 2 // 3])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trace = heddle.open(cut, lazy=False)
        self.assertEqual([w.category for w in caught], [heddle.LossWarning])
        self.assertEqual(caught[0].filename, __file__)
        self.assertTrue(any(row.level == "loss" for row in trace.ledger))

    def test_blocks_that_cannot_be_read_warn_once(self):
        path = self.place / "flipped.heddle"
        store = bytearray(heddle.open(trace_json(200_000)[1]).to_bytes())
        store[len(store) // 3] ^= 1
        path.write_bytes(store)
        for ask in (lambda trace: trace.report("steps"), lambda trace: trace.query("select sum(dur) from slice"),
                    lambda trace: trace.slices().to_dicts(), lambda trace: trace.slices().collect()):
            trace = heddle.open(path)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                ask(trace), ask(trace)
            self.assertEqual([w.category for w in caught], [heddle.LossWarning])
            self.assertIn("flipped.heddle: 1 block of events cannot be read", str(caught[0].message))
            self.assertEqual(caught[0].filename, __file__)

    def test_several_are_ranks(self):
        paths = [self.place / "rank0.json", self.place / "rank1.json"]
        paths[0].write_bytes(self.bytes)
        paths[1].write_bytes(trace_json(50, seed=3)[1])
        trace = heddle.open(paths)
        self.assertEqual((len(trace.slices()), trace.paths), (1050, [str(path) for path in paths]))
        self.assertEqual({row.rank for row in trace.slices(["rank"])}, {0, 1})
        with self.assertRaises(heddle.ArgumentError):
            heddle.open([self.path, paths[1]]).slices()  # which rank is the first?

    def test_several_are_on_one_clock(self):
        text = lambda rank, base: json.dumps({"distributedInfo": {"rank": rank}, **({"baseTimeNanoseconds": base} if base else {}), "traceEvents": [
            {"ph": "X", "name": "a", "ts": 5, "dur": 2, "pid": 1, "tid": 1}]}).encode()
        starts = lambda *parts: heddle.open(parts).query("select rank, ts from slice order by 1").to_dicts()
        base = 1_600_000_000_000_000_000
        apart = [{"rank": 0, "ts": 5_000}, {"rank": 1, "ts": 3_005_000}]
        self.assertEqual(starts(text(0, base), text(1, base + 3_000_000)), apart)
        self.assertEqual([row.ts for row in heddle.open([text(0, base), text(1, base + 3_000_000)]).slices(["ts"])], [5_000, 3_005_000])
        self.assertEqual([row["ts"] for row in starts(text(0, base), text(1, None))], [5_000, 5_000])

    def test_text_that_is_no_utf8(self):
        trace = heddle.open(b'[{"ph":"X","name":"a\xff\xfeb","ts":1,"dur":2,"pid":1,"tid":1}]')
        self.assertEqual(trace.slices(["name"])[0].name, "a\ufffd\ufffdb")
        same = heddle.open(b'[{"ph":"X","name":"a\xffb","ts":1,"dur":2,"pid":1,"tid":1},{"ph":"X","name":"a\xfeb","ts":9,"dur":2,"pid":1,"tid":1}]')
        (column,) = same.slices(["name"]).collect()
        self.assertEqual((column.texts, column.data.tolist()), (["a\ufffdb"], [0, 0]))


class Tables(Base):
    def test_columns_in_memory(self):
        table = heddle.open(self.path).slices()
        for column in table.collect():
            self.assertEqual(len(column.data), 1000)
            self.assertTrue(column.data.readonly and column.data.contiguous)
            self.assertEqual(column.to_list(), [row[table.columns.index(column.name)] for row in table])

    def test_nulls(self):
        table = heddle.open(self.path).slices(["parent_id"])
        self.assertEqual(table["parent_id"], [None] * 1000)
        (column,) = table.collect()
        self.assertEqual(sum(column.mask.tolist()), 1000)

    def test_rows_by_place(self):
        table = heddle.open(self.path).slices(["ts"])
        self.assertEqual((table[0].ts, table[-1].ts, table[999].ts), (0, 9990000, 9990000))
        for key in (1000, -1001):
            with self.assertRaises(IndexError):
                table[key]
        with self.assertRaisesRegex(heddle.ArgumentError, "no table 'slicez'; did you mean slices"):
            heddle.open(self.path).table("slicez")
        with self.assertRaisesRegex(KeyError, "no column 'tss'; did you mean ts"):
            table["tss"]
        for rows, first in ((3, 997), (1000, 0), (2000, 0)):
            last = table.tail(rows)
            self.assertEqual((type(last), last["ts"]), (type(table), table["ts"][first:]))
        self.assertEqual(len(table.tail(0)), 0)
        with self.assertRaisesRegex(TypeError, "to_pandas"):
            table[1.5]

    def test_names_of_other_libraries_are_answered(self):
        trace = heddle.open(self.path)
        table = trace.slices(["ts", "dur"])
        for of, name, said in ((table, "dur", r"table\['dur'\]"), (table, "iloc", "to_pandas"), (table, "describe", "to_pandas"),
                               (trace, "kernels", r'trace.report\("kernels"\)'), (trace, "critical_path", r'report\("critical-path"\)'),
                               (trace, "instants", r'trace.table\("instants"\)'), (trace, "to_pandas", "slices"), (trace, "sql", "query"),
                               (trace, "slice", "did you mean slices"), (heddle, "load", r"heddle.open\(")):
            with self.assertRaisesRegex(AttributeError, f"{name}.*{said}"):
                getattr(of, name)
        self.assertFalse(hasattr(table, "__array__") or hasattr(trace, "__array__"))

    def same_rows(self, table, rows):
        self.assertIsInstance(table, heddle.Table)
        self.assertEqual(([tuple(row) for row in table], len(table)), (rows, len(rows)))

    def test_slices_are_tables(self):
        trace = heddle.open(self.path)
        query = "with recursive c(i) as (select 1 union all select i + 1 from c where i < 50) select i, i / 2.0 as h, " \
                "nullif('x' || (i % 3), 'x1') as t, nullif(i % 2, 1) as n, i % 2 = 0 as b from c"
        for table in (trace.slices(), trace.query(query), trace.report("kernels"), trace.report("info").tables["tracks"]):
            rows = [tuple(row) for row in table]
            for part in (slice(0, 2), slice(None, None, 3), slice(5, 2), slice(-3, None), slice(None, None, -1)):
                self.same_rows(table[part], rows[part])
                self.assertEqual((table[part].columns, table[part].types), (table.columns, table.types))
                self.assertIn("arrow_array_stream", repr(table[part].__arrow_c_stream__()))
            self.same_rows(table.head(), rows[:10])
            self.same_rows(table.head(0), [])
            self.same_rows(table[3:30][2:4], rows[3:30][2:4])

    def test_pickled_tables(self):
        trace = heddle.open(self.path)
        for table in (trace.slices(), trace.slices()[7:9], trace.slices(names="none"), trace.query("select 1 as a, null as b, 'x' as c")):
            self.same_rows(pickle.loads(pickle.dumps(table)), [tuple(row) for row in table])
        report = trace.report("info")
        again = pickle.loads(pickle.dumps(report))
        self.assertEqual((again.report, [*again.tables]), ("info", [*report.tables]))
        for name, table in report.tables.items():
            self.same_rows(again.tables[name], [tuple(row) for row in table])

    def test_a_pickle_that_lies_is_refused(self):
        good = ("a", "l", False, bytes(16), None, None)
        for bad in (("a", "l", False, bytes(8), None, None), ("a", "zz", False, bytes(16), None, None), ("a", "l", False, bytes(16), b"x", None),
                    ("a", "u", True, bytes(8), None, []), ("a", "u", True, bytes(8), None, "text"), ("a", "u", True, bytes(8), None, [1])):
            with self.assertRaises((ValueError, TypeError)):
                _heddle.held([good, bad])
        with self.assertRaises(TypeError):
            _heddle.held((good,))

    def test_what_is_empty_is_not_shown(self):
        trace = heddle.open(self.path)
        for table in (trace.slices(["ts", "parent_id"]), trace.query("select 1 as ts, null as parent_id"), trace.report("kernels", by="stream")):
            head, *_, foot = repr(table).splitlines()[1:]
            self.assertRegex(foot, "no value in these rows: .*(parent_id|stream)")
            self.assertNotRegex(head, "parent_id|stream")
            self.assertIn("no value in these rows", table._repr_html_())

    def test_many_blocks(self):
        events, data = trace_json(150_000)
        table = heddle.open(data).slices(["dur", "name"])
        self.assertEqual(table["dur"], [e["dur"] * 1000 for e in events])
        self.assertEqual([row.name for row in table], [e["name"] for e in events])
        self.assertEqual(len(table), 150_000)

    def test_capsules(self):
        table = heddle.open(self.path).slices()
        self.assertIn("arrow_array_stream", repr(table.__arrow_c_stream__()))
        self.assertIn("arrow_schema", repr(table.__arrow_c_schema__()))  # both dropped unused

    def test_query_rows_can_be_asked_again(self):
        table = heddle.open(self.path).query(
            "with recursive c(i) as (select 1 union all select i + 1 from c where i < 1000) select i, i / 2.0 as h, 'x' || (i % 3) as t, :p as p from c", p=None)
        for _ in range(2):
            self.assertEqual([tuple(row) for row in table], [(i, i / 2, f"x{i % 3}", None) for i in range(1, 1001)])
            self.assertIn("arrow_array_stream", repr(table.__arrow_c_stream__()))
        self.assertEqual(len(table), 1000)


class Errors(Base):
    def test_each_says_what_and_where(self):
        with self.assertRaises(heddle.NotFoundError) as caught:
            heddle.open(self.place / "absent.json")
        self.assertIsInstance(caught.exception, FileNotFoundError)
        self.assertEqual((caught.exception.status, caught.exception.path), ("io", str(self.place / "absent.json")))
        with self.assertRaises(heddle.FormatError) as caught:
            heddle.open(b"no trace at all")
        self.assertIsInstance(caught.exception, ValueError)
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((str(again), again.offset, again.causes), (str(caught.exception), caught.exception.offset, caught.exception.causes))
        with self.assertRaises(heddle.DamagedError) as caught:
            heddle.open(b'[{"ph":"X","name":"a","ts":NaN,"dur":2,"pid":1,"tid":1}', strict=True)
        self.assertIsNotNone(caught.exception.offset)

    def test_arguments(self):
        trace = heddle.open(self.path)
        for call in (lambda: trace.report("nope"), lambda: trace.report("kernels", nope=1), lambda: trace.table("nope"),
                     lambda: trace.slices(columns=["nope"]), lambda: trace.slices(names="/(/"), lambda: trace.query("selec 1"),
                     lambda: trace.query("select :x"), lambda: trace.query("select 1", x=1), lambda: trace.query("  "),
                     lambda: trace.apply("nope"), lambda: trace.crop(from_="3 bananas")):
            with self.assertRaises(heddle.ArgumentError):
                call()
        for call in (lambda: heddle.open(3), lambda: heddle.open(None), lambda: trace.slices(start=1.5), lambda: trace.query(b"select 1"),
                     lambda: trace.query("select :x", x=[]), lambda: heddle.open(io.StringIO("[]"))):
            with self.assertRaises(TypeError):
                call()
        with self.assertRaises(OverflowError):
            trace.slices(start=2**63)
        with self.assertRaises(heddle.ArgumentError) as caught:
            trace.query("select 1; select nope")
        self.assertGreaterEqual(caught.exception.offset, 9)

    def test_queries_that_never_end(self):
        with self.assertRaises(heddle.LimitError):
            heddle.open(self.path).query("with recursive c(i) as (select 1 union all select i + 1 from c) select sum(i) from c", timeout=0.2)

    def test_a_closed_trace(self):
        with heddle.open(self.path) as trace:
            table = trace.slices(["ts"])
        for call in (trace.slices, lambda: trace.info, trace.check, trace.__enter__, lambda: pickle.dumps(trace)):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        self.assertTrue(trace.closed)
        self.assertEqual(len(table["ts"]), 1000)  # made before
        trace.close()
        self.assertIn("closed", repr(trace))

    def test_file_objects_that_fail(self):
        class Broken:
            def read(self, size):
                raise KeyError("mine")

        class Greedy:
            def read(self, size):
                return b"x" * (size + 1)

        with self.assertRaisesRegex(KeyError, "mine"):
            heddle.open(Broken())
        with self.assertRaises(ValueError):
            heddle.open(Greedy())

    def test_a_file_that_vanishes_or_changes(self):
        store = self.place / "t.heddle"
        heddle.open(trace_json(300_000)[1]).write(store)
        trace = heddle.open(store)
        store.unlink()
        self.assertEqual(len(trace.slices(["ts"])), 300_000)  # it is open
        heddle.open(trace_json(300_000)[1]).write(store)
        trace = heddle.open(store)
        size = store.stat().st_size
        with open(store, "r+b") as file:
            file.seek(size // 8)
            file.write(os.urandom(size // 2))
        with self.assertRaises(heddle.Error) as caught:
            trace.slices(["ts", "name"]).collect()
        self.assertIn(caught.exception.status, ("io", "damaged"))


class Doing(Base):
    def test_every_event_is_accounted_for(self):
        report = heddle.convert(self.path, self.place / "out.heddle")
        self.assertEqual((report.events_in, report.events_out, report.format), (1000, 1000, "heddle"))
        report = heddle.crop(self.path, self.place / "crop.json", from_=0, until="50%")
        kept = [e for e in self.events if e["ts"] * 1000 < (9990 + self.events[-1]["dur"]) * 500]
        self.assertEqual((report.events_out, report.removed), (len(kept), 1000 - len(kept)))
        report = heddle.filter(self.path, self.place / "filter.json", names=["op1", "op2"])
        self.assertEqual(report.events_out, sum(e["name"] in ("op1", "op2") for e in self.events))
        merged = heddle.merge([self.path, heddle.open(self.path)], self.place / "merged.heddle")
        self.assertEqual(merged.events_in, 2000)
        self.assertEqual(merged.events_in + merged.added, merged.events_out + merged.removed + merged.lost)

    def test_what_never_ended_is_in_each_window_behind_its_start(self):
        path = self.place / "open.json"
        path.write_text('[{"ph":"B","name":"hang","pid":1,"tid":1,"ts":1},{"ph":"X","name":"a","pid":1,"tid":2,"ts":0,"dur":0.5},'
                        '{"ph":"X","name":"b","pid":1,"tid":2,"ts":9,"dur":0.5}]')
        rows = heddle.open(path).slices(start=4000).to_dicts()
        self.assertEqual([(row["name"], row["dur"]) for row in rows], [("hang", None), ("b", 500)])

    def test_an_extension_that_no_format_has_is_an_error(self):
        trace = heddle.open(self.path)
        for name in ("o.csv", "o.html", "o.json.bz2", "o"):
            for write in (lambda: trace.write(self.place / name), lambda: heddle.convert(self.path, self.place / name),
                          lambda: heddle.crop(trace, self.place / name, from_="10%")):
                with self.assertRaisesRegex(heddle.ArgumentError, "no format is known by the extension"):
                    write()
            self.assertFalse((self.place / name).exists())
        with self.assertRaises(heddle.ArgumentError):
            trace.to_bytes("csv")
        self.assertEqual(trace.to_bytes("chrome"), trace.to_bytes("json"))
        self.assertEqual(heddle.convert(self.path, self.place / "o", format="heddle").format, "heddle")

    def test_what_reports_are_named_in_help(self):
        named = set(re.findall(r'"([a-z-]+)"', heddle.Trace.report.__doc__)) - {"stream"}
        self.assertEqual(named - set(heddle.reports()), set())
        with self.assertRaisesRegex(heddle.ArgumentError, "it has id, .*ts, dur"):
            heddle.open(self.path).slices(["duration"])
        with self.assertRaisesRegex(heddle.ArgumentError, "no column 'nam'; did you mean name[?] It has id"):
            heddle.open(self.path).slices(["ts", "nam"])

    def test_traces_of_traces(self):
        trace = heddle.open(self.path)
        self.assertEqual(len(trace.filter(names="op3").slices()), sum(e["name"] == "op3" for e in self.events))
        back = trace.write(self.place / "t.json.gz")
        self.assertEqual((back, heddle.open(self.place / "t.json.gz").slices(["ts"])["ts"]), ([], trace.slices(["ts"])["ts"]))

    def test_fix(self):
        crossing = [{"ph": "X", "name": n, "ts": ts, "dur": 100, "pid": 1, "tid": 1} for n, ts in (("a", 0), ("b", 50))]
        source, target = self.place / "x.json", self.place / "y.json"
        source.write_text(json.dumps(crossing))
        report = heddle.fix(source, dry_run=True)
        self.assertEqual((report.slices, report.moved, target.exists()), (2, 1, False))
        report = heddle.fix(source, target)
        self.assertEqual((report.moved_list[0].name, report.tracks[0].lane_count, report.new_lanes), ("b", 2, 1))
        self.assertEqual({t["tid"] for t in json.loads(target.read_text()) if t["ph"] == "X"}.__len__(), 2)
        with self.assertRaises(ValueError):
            heddle.fix(source)

    def test_flame_is_the_time_of_the_trace(self):
        flame = heddle.open(self.path).flame("cpu-time")
        self.assertEqual(sum(flame.folded().values()), flame.total)
        self.assertEqual(flame.total, sum(e["dur"] for e in self.events if e["cat"] == "cpu_op") * 1000)
        self.assertTrue(flame.svg().lstrip().startswith("<"))
        with self.assertRaises(ValueError):
            heddle.open(self.path).flame("nope")

    def test_view(self):
        import urllib.error
        import urllib.request
        view = heddle.open(self.path).view()
        base, token = view.url.split("/?token=")
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(base + "/api/session")
        self.assertEqual(caught.exception.code, 401)
        ask = urllib.request.Request(view.url, headers={"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"})
        try:
            policy = urllib.request.urlopen(ask).headers["Content-Security-Policy"]
            self.assertIn("frame-ancestors http://localhost:*", policy)
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, 404)  # a build without the page
        self.assertIn(token, view._repr_html_())
        view.stop()
        view.stop()
        with self.assertRaises(ValueError):
            view.url
        memory = heddle.open(self.bytes).view()
        memory.stop()


class Sessions(Base):
    def test_events_come_back(self):
        path = self.place / "s.hdcap"
        with heddle.session(path) as session:
            with session.slice("outer", "c", number=3, text="ä", real=0.5, big=2**70):
                with session.slice("inner"):
                    session.counter("loss", 0.25)
            session.instant("now")
            session.memory(4096, 512)
            session.memory(4096, -512)
            begin = session.now()
            session.complete("known", begin, begin + 1000)
            wrapped = session.wrap(lambda x: x + 1, name="wrapped")
            self.assertEqual(wrapped(1), 2)
        trace = heddle.open(path)
        self.assertEqual(sorted(row.name for row in trace.slices(["name"])), ["inner", "known", "outer", "wrapped"])
        args = {row.key: row for row in trace.args() if row.key.startswith("args.")}
        self.assertEqual((args["args.number"].int_value, args["args.text"].string_value, args["args.real"].real_value, args["args.big"].string_value),
                         (3, "ä", 0.5, str(2**70)))
        self.assertEqual(trace.counters(["value"])["value"], [0.25])
        session.instant("after the end")  # ignored
        with self.assertRaises(TypeError):
            session.instant(3)
        with self.assertRaises(ValueError):
            session.instant("many", **{f"k{i}": i for i in range(30)})

    def test_the_modules_own(self):
        @heddle.trace
        def plain():
            with heddle.slice("within"):
                return 1

        @heddle.trace(name="later", category="async")
        async def later():
            return 2

        import asyncio
        self.assertEqual(plain(), 1)  # nothing is active
        heddle.start(self.place / "m.hdcap")
        with self.assertRaises(RuntimeError):
            heddle.start(self.place / "m2.hdcap")
        self.assertEqual((plain(), asyncio.run(later())), (1, 2))
        stats = heddle.stop()
        self.assertEqual((stats["emitted"], stats["written"]), (5, 5))
        self.assertIsNone(heddle.stop())
        names = heddle.open(self.place / "m.hdcap").slices(["name"])["name"]
        self.assertEqual(sorted(name.rsplit(".", 1)[-1] for name in names), ["later", "plain", "within"])

    def test_a_generator_is_a_slice_to_its_end(self):
        import asyncio
        pause = 0.01

        @heddle.trace
        def numbers():
            got = []
            for i in range(3):
                time.sleep(pause)
                try:
                    got.append((yield i))
                except KeyError:
                    got.append("caught")
            return got

        @heddle.trace
        async def later():
            for i in range(3):
                await asyncio.sleep(pause)
                try:
                    yield i
                except KeyError:
                    yield "caught"

        async def ask():
            some = [i async for i in later()]
            one = later()
            await one.asend(None)
            some.append(await one.athrow(KeyError()))
            await one.aclose()
            return some

        def drive():
            made = numbers()
            self.assertEqual((next(made), made.send("a"), made.throw(KeyError())), (0, 1, 2))
            with self.assertRaises(StopIteration) as ended:
                next(made)
            self.assertEqual(ended.exception.value, ["a", "caught", None])
            self.assertEqual(asyncio.run(ask()), [0, 1, 2, "caught"])

        drive()  # nothing is active
        heddle.start(self.place / "g.hdcap")
        drive()
        heddle.stop()
        rows = [(row.name.rsplit(".", 1)[-1], row.dur) for row in heddle.open(self.place / "g.hdcap").slices(["name", "dur"])]
        self.assertEqual(sorted(name for name, _ in rows), ["later", "later", "numbers"])
        for name in ("numbers", "later"):
            self.assertGreaterEqual(max(dur for other, dur in rows if other == name), 3 * pause * 1e9)

    def test_threads_and_loss_are_counted(self):
        with heddle.session(self.place / "t.hdcap", policy="block") as session:
            def work():
                for _ in range(2000):
                    with session.slice("w"):
                        pass
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(heddle.open(self.place / "t.hdcap").slices()), 8000)

    def test_trace_handler(self):
        class Profiler:
            def export_chrome_trace(self, path):
                Path(path).write_text('[{"ph":"X","name":"a","ts":0,"dur":100,"pid":1,"tid":1},{"ph":"X","name":"b","ts":50,"dur":100,"pid":1,"tid":1}]')

        path = heddle.trace_handler(self.place / "traces", "w")(Profiler())
        self.assertRegex(path, r"traces/w\.\d+\.pt\.trace\.heddle$")
        self.assertEqual(len({row.track_id for row in heddle.open(path).slices()}), 2)
        self.assertEqual(len(list((self.place / "traces").iterdir())), 1)

    def test_record(self):
        program = "import heddle, sys\nheddle.start()\nwith heddle.slice('mine'): pass\nsys.exit(3)"
        out = self.place / "r.heddle"
        recording = heddle.record([sys.executable, "-c", program], out, quiet=True)
        self.assertEqual(recording.exit_status, 3, recording.stderr)
        self.assertEqual(recording.output, str(out), recording.stderr)
        self.assertIn("mine", heddle.open(out).slices(["name"])["name"])


class Processes(Base):
    def test_threads_ask_one_trace(self):
        trace = heddle.open(self.path)
        wanted = trace.slices().to_dicts()
        table = trace.slices()

        def ask(i):
            return trace.report("info")["format"] if i % 4 == 0 else table.to_dicts() == wanted if i % 4 == 1 else \
                trace.query("select count(*) as n from (select 1 union all select 2)")[0].n if i % 4 == 2 else len(trace.slices())

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            got = list(pool.map(ask, range(200)))
        self.assertEqual(got[:4] * 50, got)
        self.assertEqual(got[1:4], [True, 2, 1000])

    def test_the_gil_is_let_go(self):
        """Nobody is made to let go of the lock while this waits: another thread gets on as often as we let go of it."""
        data = trace_json(200_000)[1]
        count, done = 0, threading.Event()

        def tick():
            nonlocal count
            while not done.is_set():
                count += 1
                time.sleep(0.001)

        before, most, end = sys.getswitchinterval(), 0, time.monotonic() + patience(60)
        sys.setswitchinterval(10_000)
        self.addCleanup(sys.setswitchinterval, before)
        thread = threading.Thread(target=tick)
        thread.start()
        while most < 10 and time.monotonic() < end:  # on a busy machine it may get no turn during one
            began = count
            heddle.open(data).slices().collect()
            most = max(most, count - began)
        done.set()
        thread.join()
        self.assertGreaterEqual(most, 10)

    def test_fork(self):
        trace = heddle.open(self.path)
        pid = os.fork()
        if pid == 0:
            try:
                os._exit(0 if len(trace.slices()["ts"]) == 1000 and len(heddle.open(self.path).slices()) == 1000 else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_pickle(self):
        trace = pickle.loads(pickle.dumps(heddle.open(self.path, args=False)))
        self.assertEqual((len(trace.slices()), trace.info.has_args), (1000, False))
        with self.assertRaises(TypeError):
            pickle.dumps(heddle.open(self.bytes))

    def interrupted(self, call):
        """What has no end of its own ends by a signal."""
        with self.assertRaises(KeyboardInterrupt):
            threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            call()

    def test_ctrl_c(self):
        trace = heddle.open(self.path)
        endless = "with recursive c(i) as (select 1 union all select i + 1 from c) select sum(i) from c"
        self.interrupted(lambda: trace.query(endless))

        class Slow:
            def read(self, size):
                time.sleep(0.02)
                return b" " * 100

        self.interrupted(lambda: heddle.open(Slow()))


class Types(unittest.TestCase):
    def test_the_stub_names_what_is_there(self):
        stub = ast.parse(Path(heddle.__file__).with_name("_heddle.pyi").read_text())
        told = {node.name: {part.name for part in node.body if isinstance(part, ast.FunctionDef) and part.name != "__init__"}
                if isinstance(node, ast.ClassDef) else None for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        there = {name for name in dir(_heddle) if not name.startswith("__")} - {"version"}
        self.assertEqual(set(told), there)
        for name, members in told.items():
            if members is not None:
                own = {member for member in vars(getattr(_heddle, name)) if not member.startswith("__") or member in ("__enter__", "__exit__")}
                self.assertEqual(members, own - {"path"}, name)

    def test_no_dependency_is_imported(self):
        code = "import sys, heddle; print(sorted({'numpy', 'pandas', 'pyarrow', 'IPython'} & set(sys.modules)))"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout, "[]\n")


if __name__ == "__main__":
    unittest.main()
