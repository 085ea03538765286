#!/usr/bin/python3
"""docs/reference/query-tables.md says of each table what `heddle_tables` says; and plans leave to SQLite what they should.

usage: tests/query/tables_doc.py --heddle PROGRAM [--update]

The lists of the page stand between marks and are written by --update; what stands around them is written by hand.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/reference/query-tables.md"
BEGIN, END = "<!-- tables: made by tests/query/tables_doc.py --update -->\n", "<!-- end of tables -->\n"
TRACE = {"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "name": "a", "cat": "kernel", "ts": t, "dur": 2} for t in range(9)]}

# What EXPLAIN QUERY PLAN has to say (+) or must not (-): letters of columns as slice.c has them, then what they are compared by.
PLANS = (
    ("select sum(dur) from slice where ts >= 10 and ts < 20", "+:bg", "+b<"),
    ("select * from slice where id = 3", "+:a="),
    ("select * from slice where track_id in (1, 2) and name = 'a'", "+di", "+f="),
    ("select * from slice where name like '%a%'", "+f~"),
    ("select * from slice order by ts", "+;b+", "-TEMP B-TREE"),
    ("select * from slice order by ts desc limit 3", "+;b-", "-TEMP B-TREE"),
    ("select * from slice order by id limit 3", "-TEMP B-TREE"),
    ("select name, sum(dur) from slice group by name", "+;f+", "-TEMP B-TREE"),
    ("select track_id, name, sum(dur) from slice group by track_id, name", "-TEMP B-TREE"),
    ("select k.dur from launch l join slice k on k.id = l.work_id", "+:a=", "-AUTOMATIC"),
    ("select c.name from slice p join slice c on c.parent_id = p.id where p.name = 'a'", "-AUTOMATIC"),
    ("select t.name, s.ts from slice s join thread_track t on s.track_id = t.id", "-AUTOMATIC"),
    ("select a.key from slice s join args a using (arg_set_id)", "+INDEX 1:", "-AUTOMATIC"),
    ("select f.id from slice s join flow f on f.slice_out = s.id", "-AUTOMATIC"),
)


def rows(program, query):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as trace:
        json.dump(TRACE, trace)
        trace.flush()
        out = subprocess.run([program, "query", "-f", "json", trace.name, query], capture_output=True, check=True)
    return json.loads(out.stdout)


def cell(text):
    return (text or "").replace("|", "\\|")


def lists(program):
    tables = {}
    for row in rows(program, "select * from heddle_tables order by id"):
        tables.setdefault(row["table_name"], (row["table_meaning"], []))[1].append(row)
    text, functions = "", []
    for name, (meaning, columns) in tables.items():
        arguments = [c["name"] for c in columns if c["is_argument"]]
        is_report = not any(c["table_name"].startswith(("interval_", "containing")) for c in columns) and \
            list(tables).index(name) > list(tables).index("thread_or_process_slice")
        if is_report:
            functions.append((name, meaning, arguments))
            continue
        text += f"\n### {name}\n\n{meaning[0].upper() + meaning[1:]}.\n\n| column | type | meaning |\n|---|---|---|\n"
        for column in columns:
            argument = " (argument)" if column["is_argument"] else ""
            text += f"| {column['name']} | {column['type']} | {cell(column['meaning'])}{argument} |\n"
    text += "\n### Reports\n\nTheir columns are defined in [reports](../reports/definitions.md) and listed in `heddle_tables`.\n\n"
    text += "| function | rows | arguments |\n|---|---|---|\n"
    for name, meaning, arguments in functions:
        text += f"| {name} | {cell(meaning)} | {', '.join(arguments)} |\n"
    return text.lstrip("\n") + "\n"


def check_plans(program):
    failed = 0
    for query, *wanted in PLANS:
        plan = " / ".join(row["detail"] for row in rows(program, "explain query plan " + query))
        for word in wanted:
            if (word[1:] in plan) != (word[0] == "+"):
                failed += 1
                print(f"{query}\n  {word} in: {plan}")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    wanted = before + BEGIN + "\n" + lists(options.heddle) + END + after
    if options.update:
        PAGE.write_text(wanted)
        return 0
    failed = check_plans(options.heddle)
    if page != wanted:
        failed += 1
        print(f"{PAGE} does not say what heddle_tables says: tests/query/tables_doc.py --update")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
