#!/usr/bin/python3
"""heddle diff by its other doors: files of -o, the HTML page, and the SQL functions have the figures of --json.

usage: tests/diff/check_doors.py --heddle PROGRAM
"""
import argparse
import csv
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import oracle  # noqa: E402
from patience import patience  # noqa: E402
from small import Op, training, write  # noqa: E402

HOSTILE = "<script>alert(1)</script>&\"'"


class Page(html.parser.HTMLParser):
    """Elements that must be closed are; what the pictures show."""

    VOID = {"meta", "br", "path", "tr", "td"}       # `path` closes itself, cells need no end

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.paths, self.widths, self.h1 = [], [], [], [], ""
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        attrs = dict(attrs)
        if tag == "path":
            self.paths.append((attrs["class"], attrs["d"].count("M")))
        if tag == "i" and "width:" in attrs.get("style", ""):
            self.widths.append((attrs["class"], float(re.search(r"(?:^|;)width:([\d.]+)%", attrs["style"])[1])))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        if tag == "path":
            attrs = dict(attrs)
            self.paths.append((attrs["class"], attrs["d"].count("M")))

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open and self.open[-1] == tag, f"</{tag}> inside of {self.open[-3:]}"
            self.open.pop()

    def handle_data(self, data):
        if "h1" in self.open:
            self.h1 += data


class Run:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, *args, status=(0,)):
        done = subprocess.run([self.program, *map(str, args)], capture_output=True, text=True, timeout=patience(60), check=False, cwd=self.folder)
        assert done.returncode in status, f"{args}: exit {done.returncode}: {done.stdout[:300]}{done.stderr}"
        return done

    def sql(self, text, *inputs, status=(0,)):
        done = self("query", "--json", *inputs, text, status=status)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def check_files(run, answer):
    (run.folder / "all").mkdir()
    for name, form in (("x.json", "--json"), ("x.md", "--markdown"), ("x.csv", "--csv")):
        run("diff", "-o", name, "b.json", "a.json")
        assert (run.folder / name).read_text() == run("diff", form, "b.json", "a.json").stdout, f"{name} is not {form}"
    run("diff", "-o", "all/", "b.json", "a.json")
    tables = {path.stem: list(csv.DictReader(path.open())) for path in (run.folder / "all").iterdir()}
    assert [int(row["change"]) for row in tables["rows"]] == [row["change_ns"] for row in answer["rows"]]
    assert [int(row["before_total"]) for row in tables["parts"]] == [row["before_total_ns"] for row in answer["parts"]]
    assert tables["step"][0]["sentence"] == answer["sentence"]
    done = run("diff", "-o", "x.foo", "b.json", "a.json", status=(2,))
    assert "x.foo" in done.stderr and not (run.folder / "x.foo").exists()
    run("diff", "-o", "b.json", "b.json", "a.json", status=(2,))


def check_page(run, answer, steps):
    run("diff", "-o", "page.html", "b.json", "a.json")
    text = (run.folder / "page.html").read_text()
    page = Page(text)
    assert page.h1 == answer["sentence"], page.h1
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text
    assert not re.search(r"(?:src|href)=", text.split("<script type=module>")[0]), "the page loads something"
    ticks = sum(count for _, count in page.paths)
    assert ticks == sum(map(len, steps)) + 2, f"{ticks} ticks, not one for each of {list(map(len, steps))} steps and two medians"
    sums = {side: sum(part[side + "_ns"] for part in answer["parts"]) for side in ("before", "after")}
    drawn = [width for of, width in page.widths if of.startswith("k")]
    expected = 100 * (sums["before"] + sums["after"]) / max(sums.values())
    assert abs(sum(drawn) - expected) < 0.1, f"bars are {sum(drawn)} %, not {expected}"
    ways = [of for of, _ in page.widths if of in ("up", "down")]
    assert ways == ["up" if row["change_ns"] >= 0 else "down" for row in answer["rows"][:15]], ways


def check_sql(run, answer, steps):
    inputs = ("b.json", "a.json")
    rows = run.sql("select kind, name, name_after, before, after, change, low, high, verdict from diff", *inputs)
    keys = {"before": "before_ns", "after": "after_ns", "change": "change_ns", "low": "low_ns", "high": "high_ns"}
    assert rows == [{key: row[keys.get(key, key)] for key in rows[0]} for row in answer["rows"]], rows[:2]
    rows = run.sql("select part, before_total, after_total from diff_parts", *inputs)
    assert rows == [{"part": row["part"], "before_total": row["before_total_ns"], "after_total": row["after_total_ns"]} for row in answer["parts"]]
    rows = run.sql("select side, length, compared from diff_steps", *inputs)
    for side, whole in zip(("before", "after"), steps):
        assert [row["length"] for row in rows if row["side"] == side] == [step["window_ns"] for step in whole], side
        assert sum(row["compared"] for row in rows if row["side"] == side) == answer[side]["steps"]
    [row] = run.sql("select sentence, verdict from diff_step", *inputs)
    assert row == {"sentence": answer["sentence"], "verdict": answer["verdict"]}
    swapped = run.sql("select change from diff_step('1:0')", *inputs)
    assert swapped[0]["change"] == -answer["step"]["change_ns"]
    several = run("diff", "--json", "--all", "--before", "b.json", "--before", "b2.json", "--after", "a.json", status=(0, 2))
    rows = run.sql("select name, change from diff('0,1:2') where \"all\" = 1", "b.json", "b2.json", "a.json")
    assert rows == [{"name": row["name"], "change": row["change_ns"]} for row in json.loads(several.stdout)["rows"]]
    for text, args in (("two inputs", ("select * from diff", "b.json")), ("colon", ("select * from diff('0')", *inputs)),
                       ("0 to 1", ("select * from diff('0:2')", *inputs)), ("colon", ("select * from diff('0:1:0')", *inputs)),
                       ("gpus or ranks", ("select * from diff('across=x')", *inputs))):
        said = run.sql(*args, status=(1, 2))
        assert text in said, (args, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True, type=os.path.abspath)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heddle-diff-doors-") as folder:
        run = Run(args.heddle, Path(folder))
        for name, ops, seed in (("b.json", training(), 1), ("b2.json", training(), 3),
                                ("a.json", [*training(scale=1.2), Op(HOSTILE, (HOSTILE, 90_000))], 2)):
            write(run.folder / name, ops, seed=seed)
        answer = json.loads(run("diff", "--json", "b.json", "a.json").stdout)
        steps = [[step for step in oracle.account(run.folder / name) if step["work"]] for name in ("b.json", "a.json")]
        assert answer["verdict"] == "slower" and len(answer["rows"]) >= 3
        check_files(run, answer)
        check_page(run, answer, steps)
        check_sql(run, answer, steps)


if __name__ == "__main__":
    main()
