#!/usr/bin/env python3
"""Writes docs/reports/NAME.md, and README.md, their list, from `heddle report --json`.

usage: tools/report_pages.py --heddle PROGRAM [--check]

With --check nothing is written: pages that are not as they would be are named, and the exit status is 1.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "docs/reports"
MARK = "<!-- Made by tools/report_pages.py from the report's descriptor. -->"
DEFINED = FOLDER / "definitions.md"


def cell(text):
    """Text in a table, of which nothing means anything to Markdown."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", text)


def wrapped(text, width=120):
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(report):
    name = report["name"]
    parts = [MARK, f"# heddle report {name}", report["title"][0].upper() + report["title"][1:] + ".", wrapped(cell(report["text"]))]
    if re.search(rf"^## {name}$", DEFINED.read_text(encoding="utf-8"), re.M):
        parts.append(f"What each figure is, exactly: [definitions](definitions.md#{name}).")
    read = f"--{report['table_option']} table.csv" if report["table_option"] else "rank*.json" if report["of_job"] else "trace.json"
    parts.append(f"```sh\nheddle report {name} {read}\nheddle report {name} -o tables/ {read}\n```")
    if report["options"]:
        rows = [[f"`--{o['name']}" + ("`" if o["type"] == "flag" else f" {o['type'].upper()}`"), o["default"] or "",
                 cell(o["meaning"])] for o in report["options"]]
        parts += ["## Options", "`heddle help report` lists the options of every report.",
                  table(["option", "default", "meaning"], rows)]
    parts.append("## Tables")
    for about in report["tables"]:
        rows = [[f"`{c['name']}`", c["type"], cell(c["meaning"])] for c in about["columns"]]
        parts += [f"### {about['name']}", cell(about["meaning"][0].upper() + about["meaning"][1:]) + ".",
                  table(["column", "type", "meaning"], rows)]
    return "\n\n".join(parts) + "\n"


def index(reports):
    rows = "".join(f"| [{report['name']}]({report['name']}.md) | {report['title']} |\n" for report in reports)
    return (f"<!-- Made by tools/report_pages.py from the reports' descriptors. -->\n\n# Reports\n\n"
            f"`heddle report NAME FILE...` prints one of these; `heddle FILE` prints `summary`. [definitions](definitions.md) says what\n"
            f"each figure means.\n\n| report | answers |\n| --- | --- |\n{rows}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    told = subprocess.run([asked.heddle, "report", "--json"], stdout=subprocess.PIPE, check=True).stdout
    wanted = {FOLDER / f"{report['name']}.md": page(report) for report in json.loads(told)}
    wanted[FOLDER / "README.md"] = index(json.loads(told))
    old = {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md") if path != DEFINED}
    wrong = sorted(path for path in wanted.keys() | old.keys() if wanted.get(path) != old.get(path))
    for path in wrong:
        if asked.check:
            print(f"docs/reports/{path.name} is not what tools/report_pages.py makes: run it")
        elif path in wanted:
            path.write_text(wanted[path], encoding="utf-8")
        else:
            path.unlink()
    return 1 if asked.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
