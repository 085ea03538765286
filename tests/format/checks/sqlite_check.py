#!/usr/bin/env python3
"""sqlite_check.py - what SQLite itself makes of a database is what Heddle reads, or Heddle says that it lost something

Names of columns and tables know no case. Pages in a log or a hot journal next to the file count.
"""
import argparse
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "makers"))
sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
from rounds import rounds, seed as first_seed  # noqa: E402
from rocpd_fixtures import GUIDS, V3, create, tables, v3_rows  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--heddle", required=True)
HEDDLE = os.path.abspath(parser.parse_args().heddle)


def heddle(*args):
    return json.loads(subprocess.run([HEDDLE, *map(str, args)], check=True, capture_output=True, text=True).stdout)


def losses(path):
    return {entry["code"]: entry["count"] for entry in heddle("info", "--json", path)["ledger"] if entry["level"] == "loss"}


def make(path, columns, strings="StringIds"):
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"CREATE TABLE {strings}(id INTEGER PRIMARY KEY, value TEXT)")
    db.execute(f"INSERT INTO {strings} VALUES(3,'scan'),(4,'sort')")
    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL({columns})")
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(100,250,0,1,7,61,4),(300,380,0,1,7,62,3)")
    return db


def check_names(folder):
    for at, (columns, strings) in enumerate([("start,end,deviceId,contextId,streamId,correlationId,demangledName", "StringIds"),
                                             ("START,End,DEVICEID,contextid,streamID,CORRELATIONID,demangledname", "STRINGIDS")]):
        path = folder / f"names{at}.sqlite"
        db = make(path, columns, strings)
        want = db.execute("SELECT s.value, k.start, k.correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s "
                          "ON s.id = k.demangledName ORDER BY k.start").fetchall()
        db.close()
        got = [tuple(row.values()) for row in heddle("query", "--json", path, "SELECT name, ts, correlation FROM slice ORDER BY ts")]
        assert got == want, f"{columns}: {got}, SQLite reads {want}"


def check_calls(folder):
    """A call is called what nsys calls it: without its version, if it has one."""
    path = folder / "calls.sqlite"
    names = ["cudaLaunchKernel_v7000", "cuMemcpyAsync_v2", "a_v1", "cudaFree", "_v7000", "cuMemAlloc_v", "cuMemAlloc2", "cu_v2x"]
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)")
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, nameId)")
    db.executemany("INSERT INTO StringIds VALUES(?,?)", enumerate(names))
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?,?,0,16777217,?,?)", [(10 * n, 10 * n + 5, n + 1, n) for n in range(len(names))])
    db.close()
    got = [row["name"] for row in heddle("query", "--json", path, "SELECT name FROM slice ORDER BY ts")]
    assert got == ["cudaLaunchKernel", "cuMemcpyAsync", "a"] + names[3:], got


def check_unknown(folder):
    """The tables of a file of no profiler are named, all of them where there are few."""
    for count, of in ((3, "t%d"), (5, "t%d"), (90, "t%d"), (5, "a_name_of_more_than_forty_characters_as_some_have_%d")):
        path = folder / f"unknown{count}{len(of)}.sqlite"
        db = sqlite3.connect(path, isolation_level=None)
        for n in range(count):
            db.execute(f"CREATE TABLE {of % n}(x)")
        db.close()
        run = subprocess.run([HEDDLE, "info", path], capture_output=True, text=True)
        shown = run.stderr[run.stderr.index("its tables are ") + 15:run.stderr.index(";")]
        listed = shown.removesuffix(" …").split(", ")
        assert run.returncode == 1 and listed == [(of % n)[:40] for n in range(len(listed))], shown
        assert shown.endswith(" …") == (len(listed) < count) and len(listed) >= min(count, 3), shown


def kernels(path):
    """Of Heddle, and of SQLite in a copy, which may change it."""
    got = [tuple(row.values()) for row in heddle("query", "--json", path, "SELECT ts, dur, correlation FROM slice ORDER BY ts")]
    with tempfile.TemporaryDirectory() as place:
        for beside in path.parent.glob(path.name + "*"):
            shutil.copy(beside, place)
        db = sqlite3.connect(Path(place) / path.name)
        want = db.execute("SELECT start, end - start, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start").fetchall()
        db.close()
    return got, want


def check_beside(folder):
    """Copies of what a writer that still runs has on disk: as if it were killed then. SQLite reads them, and none of them changes."""
    columns = "start,end,deviceId,contextId,streamId,correlationId,demangledName"
    for mode, suffix, code in [("wal", "-wal", "sqlite.wal-unread"), ("delete", "-journal", "sqlite.journal-unread")]:
        path, copy = folder / f"{mode}.sqlite", folder / f"{mode}-copy.sqlite"
        db = make(path, columns)
        db.execute(f"PRAGMA journal_mode={mode}")
        db.execute("PRAGMA cache_size=1")
        db.execute("PRAGMA cache_spill=1")
        db.execute("BEGIN")
        db.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 9")
        db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?,?,0,1,7,8,3)", [(n, n + 1) for n in range(1000, 9000)])
        if mode == "wal":
            db.execute("COMMIT")
        shutil.copy(path, copy)
        beside = Path(f"{copy}{suffix}")
        shutil.copy(f"{path}{suffix}", beside)
        before = copy.read_bytes(), beside.read_bytes()
        got, want = kernels(copy)
        assert got == want and len(want) == (8002 if mode == "wal" else 2) and not losses(copy), f"{mode}: {len(got)}, SQLite reads {len(want)}"
        assert (copy.read_bytes(), beside.read_bytes()) == before and sorted(folder.glob(copy.name + "*")) == [copy, beside], f"{mode}: a file changed"
        copy.write_bytes(copy.read_bytes().replace(b"CREATE TABLE StringIds", b"CREATE TABLE StringId("))
        beside.write_bytes(beside.read_bytes().replace(b"CREATE TABLE StringIds", b"CREATE TABLE StringId("))
        if mode == "delete":  # SQLite refuses it: what it would have read is a loss
            assert losses(copy).get(code) == 1, f"{mode}: {losses(copy)}"
        shutil.copy(path, copy)
        beside.write_bytes(bytes(4096))  # its header was erased: PRAGMA journal_mode=persist
        assert code not in losses(copy), f"{mode}: a loss for a file that was erased"
        db.close()


def check_references(folder):
    """args_id of RPD is an id of the table that the schema names, whichever other tables of texts there are."""
    for at, table in enumerate(['"rocpd_ustring"', "rocpd_string", "[ROCPD_USTRING]"]):
        path = folder / f"references{at}.rpd"
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("CREATE TABLE rocpd_string(id integer PRIMARY KEY, string text)")
        db.execute("CREATE TABLE rocpd_ustring(id integer PRIMARY KEY, string text)")
        db.execute("CREATE TABLE rocpd_api(id integer PRIMARY KEY, pid integer, tid integer, start integer, end integer, "
                   f"apiName_id integer REFERENCES rocpd_string(id), args_id integer NOT NULL REFERENCES {table}(id))")
        db.execute("CREATE TABLE rocpd_op(id integer PRIMARY KEY, gpuId integer, queueId integer, sequenceId integer, "
                   "start integer, end integer, description_id integer, opType_id integer)")
        db.execute("INSERT INTO rocpd_string VALUES(1,'UserMarker'),(2,'epoch')")
        db.execute("INSERT INTO rocpd_ustring VALUES(1,'evaluate'),(2,'warm up')")
        db.execute("INSERT INTO rocpd_api VALUES(1,5,6,100,200,1,2)")
        want = db.execute(f"SELECT t.string FROM rocpd_api a JOIN {table} t ON t.id = a.args_id").fetchall()
        db.close()
        got = [tuple(row.values()) for row in heddle("query", "--json", path, "SELECT name FROM slice")]
        assert got == want, f"{table}: {got}, SQLite reads {want}"


def check_longer_name(folder):
    """A table whose name goes on behind that of another is a table of its own, whose ids are not the other's."""
    def events(path):
        return heddle("query", "--json", path, "SELECT name, category, ts, dur, correlation FROM slice WHERE category "
                      "NOT LIKE 'rocpd_event_%' ORDER BY ts, name")
    suffix = "_" + GUIDS[0].replace("-", "_")
    for at, name in enumerate(["rocpd_event_detail", "ROCPD_string_note"]):
        path = folder / f"longer{at}.db"
        create(path, tables(V3, v3_rows()))
        before = events(path)
        db = sqlite3.connect(path, isolation_level=None)
        db.execute(f"CREATE TABLE {name}{suffix}(id INTEGER PRIMARY KEY, category_id INTEGER, correlation_id INTEGER, string TEXT)")
        db.executemany(f"INSERT INTO {name}{suffix} VALUES(?,9,77,'other')", [(n,) for n in range(1, 30)])
        db.close()
        assert len(before) > 2 and events(path) == before, f"{name}: {events(path)}, without it {before}"


def check_keys(folder):
    """Only of the type INTEGER alone is a key the rowid, however the two are written."""
    head, tail = "start,end,deviceId,contextId,streamId,", ",demangledName"
    types = ['INTEGER', '"INTEGER"', '[integer]', 'INTEGER(8)', 'INTEGER UNSIGNED', 'INT']
    keys = ['correlationId %s PRIMARY KEY|', 'correlationId %s PRIMARY KEY DESC|', 'correlationId %s|, PRIMARY KEY(correlationId DESC)',
            '"correlationId" %s DEFAULT desc|, CONSTRAINT a CHECK(1) PRIMARY KEY((correlationId COLLATE NOCASE))',
            "'correlationId' %s|, UNIQUE(end) CONSTRAINT b PRIMARY KEY([correlationId], start)"]
    for at, (key, kind) in enumerate((key, kind) for key in keys for kind in types):
        path = folder / f"keys{at}.sqlite"
        column, behind = (key % kind).split("|")
        db = make(path, head + column + tail + behind)
        want = db.execute("SELECT start, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start").fetchall()
        db.close()
        got = [tuple(row.values()) for row in heddle("query", "--json", path, "SELECT ts, correlation FROM slice ORDER BY ts")]
        assert got == want, f"{column}{behind}: {got}, SQLite reads {want}"


def check_pages(folder):
    """What a page says of its cells is more or less than they are: rows may be missing in it or others', which is a loss."""
    path = folder / "pages.sqlite"
    db = make(path, "start,end,deviceId,contextId,streamId,correlationId,demangledName")
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?,?,0,1,7,8,3)", [(n, n + 1) for n in range(1000, 1400)])
    db.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start % 5 = 0 AND start >= 1000")
    size = db.execute("PRAGMA page_size").fetchone()[0]
    root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'").fetchone()[0]
    db.close()
    whole = path.read_bytes()
    top = (root - 1) * size
    leaf = (int.from_bytes(whole[top + 8:top + 12], "big") - 1) * size  # the last one
    assert whole[top] == 5 and whole[leaf] == 13 and not losses(path)
    cells = [int.from_bytes(whole[leaf + at:leaf + at + 2], "big") for at in (8, 10)]
    for what, at, value in [("a cell less", leaf + 3, int.from_bytes(whole[leaf + 3:leaf + 5], "big") - 1), ("no cell", leaf + 3, 0), ("a cell twice", leaf + 8, cells[1]),
                            ("a free cell", leaf + 8, int.from_bytes(whole[leaf + 1:leaf + 3], "big")), ("a child less", top + 3, int.from_bytes(whole[top + 3:top + 5], "big") - 1)]:
        path.write_bytes(whole[:at] + value.to_bytes(2, "big") + whole[at + 2:])
        assert losses(path) in ({"sqlite.page-damaged": 1}, {"sqlite.row-damaged": 1}), f"{what}: {losses(path)}"


CONSTANTS = ["42", "-5", "+5", "- 7", "1.50", "2.0", "5000000000", "0x1F", "-0x10", "1e3", "2.5E+2", ".5", "3.", "007", "'abc'", "'42'", "' 43 '",
             "'4.5x'", "'6.0'", "'it''s'", "''", "x'4142'", "X'00ff'", "NULL", "(7)", "((-8))", "(-(9))", "TRUE", "false", "ident", '"q i"',
             "[a[[b]", "wwhat", "`a``b`", "(true)", "('x') NOT NULL", "'a,b)c' COLLATE NOCASE", "4611686018427387904", "9223372036854775808", "0.1e-2", "'.5'", "'1e'",
             "'0x10'", "'inf'", "/* c */ 11 /* d */", "12 CHECK (1)", "'DEFAULT'"]
TYPES = ["", "INTEGER", "TEXT", "REAL", "NUM", "BLOB", "UNSIGNED BIG INT", "VARCHAR(20)", "DOUBLE PRECISION", "NUMERIC(3,1)", "\"TEXT\"", "CHARINT"]


def arguments(path):
    """By start and key."""
    rows = heddle("query", "--json", path, "SELECT s.ts, a.key, coalesce(a.int_value, a.real_value, a.string_value) v "
                  "FROM slice s JOIN args a USING(arg_set_id) WHERE a.key LIKE 'args.c\"%'")
    return {(row["ts"], int(row["key"][7:])): row["v"] for row in rows}


def written(value):
    return value.hex() if isinstance(value, bytes) else "Infinity" if value == float("inf") else value


def check_defaults(folder):
    """A row from before ALTER TABLE … ADD COLUMN has the default, one from later its own value."""
    for at, kind in enumerate(TYPES):
        path = folder / f"defaults{at}.sqlite"
        db = make(path, "start,end,deviceId,contextId,streamId,correlationId,demangledName")
        for n, constant in enumerate(CONSTANTS):
            db.execute(f'ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN "c""{n}" {kind} DEFAULT {constant}')
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start,end,deviceId,contextId,streamId,correlationId,demangledName,"
                   "\"c\"\"0\") VALUES(400,450,0,1,7,63,4,77)")
        rows = db.execute("SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start").fetchall()
        db.close()
        got = arguments(path)
        want = {(row[0], n): written(value) for row in rows for n, value in enumerate(row[7:]) if value is not None}
        wrong = [(CONSTANTS[key[1]], got.get(key), want.get(key)) for key in got.keys() | want.keys() if got.get(key) != want.get(key)]
        assert not wrong and not losses(path), f"{kind}: {wrong}, {losses(path)}"


def set_schema(path, old, new):
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA writable_schema=1")
    db.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'", (old, new))
    db.close()


def check_other_defaults(folder):
    """What is not a constant, or makes too much of short rows, is a loss for each row; no text of a schema does harm."""
    for at, text in enumerate(["(1+2)", "(abs(3))", "CURRENT_TIME", "-'5'", "('a' || 'b')", "(\"start\")", "x'4g'", "x'414'", "0x", "0x11112222333344445",
                               ".", "1_0x", "((((1)", "-", "'open", "(" * 90000, "- " * 90000 + "x", "9" * 5000, "'" + "z" * 5000 + "'",
                               "x'" + "41" * 3000 + "'"]):
        path = folder / f"others{at}.sqlite"
        db = make(path, "start,end,deviceId,contextId,streamId,correlationId,demangledName")
        db.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN \"c\"\"1\" DEFAULT 8")
        db.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN \"c\"\"2\" INTEGER DEFAULT 31415")
        db.close()
        assert arguments(path) == {(100, 1): 8, (100, 2): 31415, (300, 1): 8, (300, 2): 31415}
        set_schema(path, "31415", text)
        if text in ("((((1)", "'open") or text[:2] == "((":  # the list of columns never ends: the only table of events is lost
            run = subprocess.run([HEDDLE, "info", path], capture_output=True, text=True)
            assert run.returncode == 1 and "no profiler that is known" in run.stderr, f"{text[:20]}: {run}"
        else:
            want = {(100, 1): 8, (300, 1): 8}
            try:
                db = sqlite3.connect(path)
                rows = db.execute('SELECT start, "c""2" FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchall()
                want |= {(start, 2): written(value) for start, value in rows if value is not None}
                lost = {}
            except sqlite3.Error:  # a text that SQLite refuses
                lost = {"sqlite.default-unread": 2}
            db.close()
            assert losses(path) == lost, f"{text[:20]}: {losses(path)}"
            assert arguments(path) == want, text[:20]


# Columns of a table, and what is behind them, as a program might write them; and what ALTER TABLE adds later.
KEYS = ["correlationId INTEGER PRIMARY KEY|)", "correlationId INT PRIMARY KEY|)", "'correlationId' \"INTEGER\" PRIMARY KEY DESC|)", "correlationId|, PRIMARY KEY(correlationId))",
        "correlationId INTEGER|, PRIMARY KEY([correlationId] DESC))", "correlationId INTEGER|, PRIMARY KEY(correlationId)) WITHOUT ROWID",
        "correlationId TEXT NOT NULL|, UNIQUE(correlationId, start))", "correlationId REAL|, PRIMARY KEY(start, correlationId)) WITHOUT ROWID",
        "correlationId INTEGER CHECK(correlationId > 0)|) STRICT"]
ADDED = ["INTEGER DEFAULT 42", "TEXT DEFAULT 'abc'", "REAL DEFAULT 7", "DEFAULT -1.5", "AS (correlationId * 2 + start)", "TEXT AS ('k' || correlationId || \"c\"\"0\") VIRTUAL",
         "REAL DEFAULT 1e300", "DEFAULT x'00ff'", "TEXT DEFAULT 'größe'", "INTEGER AS (CASE WHEN start > 200 THEN 5 END)", "DOUBLE AS (correlationId)"]
FUNCTIONS = ["AS (abs(correlationId))", "AS (hex(zeroblob(correlationId)))", "AS (correlationId LIKE '1%')"]


def make_random(path, rng):
    """A database of an Nsight Systems export, and how many columns have functions, which are not computed."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous=OFF")
    db.execute(f"PRAGMA page_size={rng.choice([512, 1024, 4096, 65536])}")
    db.execute(f"PRAGMA encoding='{rng.choice(['UTF-8', 'UTF-8', 'UTF-16le', 'UTF-16be'])}'")
    db.execute(f"PRAGMA auto_vacuum={rng.randrange(3)}")
    mode = rng.choice(["delete", "wal", "wal", "persist", "truncate"])
    db.execute(f"PRAGMA journal_mode={mode}")
    db.execute(rng.choice(["CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)", "CREATE TABLE StringIds(value TEXT, id INT PRIMARY KEY) WITHOUT ROWID"]))
    db.executemany("INSERT INTO StringIds(id, value) VALUES(?,?)", [(3, "scan"), (4, "größe ✓ 𝄞")])
    key, behind = rng.choice(KEYS).split("|")
    types = [" INTEGER"] * 6 if "STRICT" in behind else rng.choices(["", " INTEGER", " INT", " BIGINT", " NUMERIC"], k=6)
    names = ["start", "end", "deviceId", "contextId", "streamId", "demangledName"]
    places = [f"{name}{kind}" for name, kind in zip(names, types)]
    places.insert(rng.randrange(7), key)
    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL({', '.join(places)}{behind}")
    lost = 0

    def insert(first, count):
        for n in range(first, first + count):
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start,end,deviceId,contextId,streamId,demangledName,correlationId) VALUES(?,?,0,1,?,?,?)",
                       (100 + 10 * n, 100 + 10 * n + rng.randrange(1, 9), rng.randrange(7, 9), rng.choice([3, 4]), n * 3))
    insert(1, rng.randrange(1, 60))
    added = rng.sample(ADDED, rng.randrange(5)) + (rng.sample(FUNCTIONS, 1) if rng.random() < 0.2 else [])
    for n, column in enumerate(["INTEGER DEFAULT 1"] + added):
        if "STRICT" in behind and column.split()[0] in ("DEFAULT", "AS", "DOUBLE"):
            continue
        db.execute(f'ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN "c""{n}" {column}')
        lost += column in FUNCTIONS
    insert(61, rng.randrange(30))
    if mode == "wal" and rng.random() < 0.5:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.execute("BEGIN")
    insert(91, rng.randrange(300))
    db.execute(rng.choice(["COMMIT", "COMMIT", "ROLLBACK"]))
    if mode != "wal" and rng.random() < 0.5:  # a transaction that never ends, in part in the file already
        db.execute("PRAGMA cache_size=1")
        db.execute("PRAGMA cache_spill=1")
        db.execute("BEGIN")
        db.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 5")
        insert(400, 200)
    return db, lost


def check_generated(folder):
    """Databases of all forms: rows and arguments are those of SQLite."""
    rng = random.Random(first_seed(random.randrange(1, 1 << 31)))
    for at in range(rounds(24)):
        path, copy = folder / f"generated{at}.sqlite", folder / f"generated{at}-copy.sqlite"
        db, lost = make_random(path, rng)
        for suffix in ("", "-wal", "-journal"):
            if os.path.exists(f"{path}{suffix}"):
                shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
        db.close()
        names, got = arguments(copy), heddle("query", "--json", copy, "SELECT ts, name, dur, correlation FROM slice ORDER BY ts")
        assert losses(copy) == ({"sqlite.column-unread": lost} if lost else {}), f"{at}: {losses(copy)}"
        db = sqlite3.connect(copy)
        want = db.execute("SELECT start, s.value, end - start, CAST(correlationId AS INTEGER) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds s ON s.id = demangledName "
                          "ORDER BY start").fetchall()
        assert [tuple(row.values()) for row in got] == want, f"{at}: {len(got)} rows, SQLite reads {len(want)}"
        values = {}
        for name, hidden, sql in db.execute("SELECT x.name, x.hidden, m.sql FROM pragma_table_xinfo('CUPTI_ACTIVITY_KIND_KERNEL') x, sqlite_master m WHERE "
                                            "m.name = 'CUPTI_ACTIVITY_KIND_KERNEL' AND x.name LIKE 'c\"%'").fetchall():
            quoted = name.replace('"', '""')
            if hidden == 2 and any(f'"{quoted}" {text}' in sql for text in FUNCTIONS):
                continue
            for start, value in db.execute(f'SELECT start, "{quoted}" FROM CUPTI_ACTIVITY_KIND_KERNEL'):
                if value is not None:
                    values[start, int(name[2:])] = written(value)
        db.close()
        wrong = [(key, names.get(key), values.get(key)) for key in names.keys() | values.keys() if names.get(key) != values.get(key)]
        assert not wrong, f"{at}: {wrong[:5]} of {len(values)}"
        path.unlink()


def check_sums(folder):
    """A counter of a dispatch has a row for each dimension: its value is their sum, in whatever order they stand."""
    suffix = "_" + GUIDS[0].replace("-", "_")
    path = folder / "sums.db"
    create(path, tables(V3, v3_rows()))
    db = sqlite3.connect(path, isolation_level=None)
    events = [row[0] for row in db.execute(f"SELECT event_id FROM rocpd_kernel_dispatch{suffix} ORDER BY start")]
    db.execute(f"DELETE FROM rocpd_pmc_event{suffix}")
    for value in (2.5, 2.5, 7, 11):
        for at, event in enumerate(events):
            db.execute(f"INSERT INTO rocpd_pmc_event{suffix}(event_id, pmc_id, value) VALUES(?,1,?)", (event, value + at))
    want = [row[0] for row in db.execute(f"SELECT sum(p.value) FROM rocpd_kernel_dispatch{suffix} k JOIN rocpd_pmc_event{suffix} p "
                                         "USING(event_id) GROUP BY k.id ORDER BY k.start")]
    (name,) = db.execute(f"SELECT name FROM rocpd_info_pmc{suffix} WHERE id = 1").fetchone()
    db.close()
    got = [float(row["v"]) for row in heddle("query", "--json", path, "SELECT a.display_value v FROM slice s JOIN args a USING(arg_set_id) "
                                             f"WHERE s.category = 'kernel' AND a.key = 'args.{name}' ORDER BY s.ts")]
    assert want and got == want, f"{name}: {got}, SQLite sums {want}"


with tempfile.TemporaryDirectory() as place:
    check_names(Path(place))
    check_calls(Path(place))
    check_unknown(Path(place))
    check_beside(Path(place))
    check_references(Path(place))
    check_longer_name(Path(place))
    check_keys(Path(place))
    check_pages(Path(place))
    check_defaults(Path(place))
    check_other_defaults(Path(place))
    check_sums(Path(place))
    check_generated(Path(place))
