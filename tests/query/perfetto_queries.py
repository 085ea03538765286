#!/usr/bin/python3
"""Queries of Perfetto's own tests give the rows that Perfetto gives.

usage: tests/query/perfetto_queries.py --heddle PROGRAM [NAME...]

Each NAME.json in $HEDDLE_SHARED/data/chrome/perfetto, or ../shared/data beside the project, has a query and its expected
rows beside it; without the folder nothing is tested, and that is said. Rows are compared in order where the query has an
ORDER BY, else as a set. DIFFERENT says which do not agree, and why: those have to differ, so that the list stays true.
"""
import argparse
import csv
import io
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = Path(os.environ.get("HEDDLE_SHARED") or ROOT.parent / "shared")
FOLDER = SHARED / "data" / "chrome" / "perfetto"
SKIPPED = 77

KEPT = "what Perfetto drops is kept: a slice without a duration (null, not -1), an async slice needs neither category nor id"
PAIRS = "an end closes the begin before it, whatever its name, as Chrome draws it; Perfetto wants equal names"
GHOSTS = "Perfetto makes a thread for each process, and a process 0; here are those that events name"
LOG = "stats and _trace_import_logs are of trace_processor's own reader; ours is the table ledger"
DIFFERENT = {
    "tests.invalid_string_ts_and_dur": KEPT,
    "tests.json_all_slice_types": PAIRS,
    "tests.json_async": KEPT,
    "tests.json_extreme_vals": PAIRS,
    "tests.json_flow": PAIRS,
    "tests.json_id2": KEPT,
    "tests.json_metadata": "an event without a pid has none here, and 0 there",
    "tests.json_sort_index_hints": GHOSTS,
    "tests.json_sort_index_ordering": GHOSTS,
    "tests.overlapping_complete_event_import_log": LOG,
    "tests.overlapping_complete_event_recovered": LOG,
    "tests.string_ts_trailing_chars": KEPT,
    "tests.trailing_empty_event": LOG,
    "tests.x_event_order": "an event without a tid is on a track of its own, and there on its process's main thread",
}


def expected(text):
    """Query and rows of an expectation; cells as text, None for null."""
    query, rows = re.fullmatch(r"-- query\n(.*?)\n-- expected\n(.*)", text, re.S).groups()
    lines = [line.strip() for line in rows.strip().splitlines()]
    cells = list(csv.reader(lines))
    return query.strip(), cells[0], [[None if cell == "[NULL]" else cell for cell in row] for row in cells[1:]]


def plain(cell):
    """Numbers that are equal look equal."""
    if cell is None:
        return None
    try:
        return int(cell)
    except ValueError:
        pass
    try:
        return float(cell)
    except ValueError:
        return cell


def order(row):
    return [(cell is not None, str(type(cell)), str(cell)) for cell in row]


def run(program, trace, query):
    result = subprocess.run([program, "query", "-f", "csv", trace, query], capture_output=True, text=True)
    if result.returncode != 0:
        return None, [[result.stderr.strip()]]
    # A null is an empty field, an empty text "", which csv cannot tell: no expectation has an empty text.
    table = list(csv.reader(io.StringIO(result.stdout)))
    # Columns of one name are told apart by numbers.
    return [re.sub(r"_[0-9]+$", "", name) for name in table[0]], [[cell if cell else None for cell in row] for row in table[1:]]


def check(program, name):
    """None, or what differs."""
    query, columns, rows = expected((FOLDER / f"{name}.expected.txt").read_text())
    got_columns, got = run(program, FOLDER / f"{name}.json", query)
    rows, got = [[plain(c) for c in row] for row in rows], [[plain(c) for c in row] for row in got]
    if not re.search(r"order\s+by\s+(?!.*process_hint)", query, re.I):
        rows, got = sorted(rows, key=order), sorted(got, key=order)
    if got_columns == columns and got == rows:
        return None
    return f"expected {columns} {rows}\n     got {got_columns} {got}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if not FOLDER.is_dir():
        print(f"skipped: {FOLDER} is not there")
        return SKIPPED
    names = options.names or sorted(p.name[: -len(".json")] for p in FOLDER.glob("*.json"))
    failed = agreed = 0
    for name in names:
        difference = check(options.heddle, name)
        agreed += difference is None
        if (difference is None) == (name in DIFFERENT):
            failed += 1
            print(f"{name}: {difference or 'agrees, though DIFFERENT says that it does not'}")
    print(f"{len(names)} queries: {agreed} agree, {len(names) - agreed} do not; {failed} failures")
    return 1 if failed or (not options.names and agreed < 20) else 0


if __name__ == "__main__":
    sys.exit(main())
