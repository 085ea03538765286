#!/usr/bin/env python3
"""tools/upstream.py says of files in checkouts whether they changed, and its table has every format that reads.

usage: upstream.py SOURCE
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(sys.argv[1])
OWN = {"heddle", "parquet", "capture"}  # formats that Heddle defines


def git(folder, *words):
    run = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", folder, *words], check=True, capture_output=True, text=True)
    return run.stdout.strip()


def commit(folder, **files):
    for name, text in files.items():
        (folder / "x").mkdir(exist_ok=True)
        (folder / f"x/{name}.proto").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "change")
    return git(folder, "rev-parse", "HEAD")


def upstream(*words):
    run = subprocess.run([sys.executable, SOURCE / "tools/upstream.py", *map(str, words)], capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def check_table():
    status, listed, _ = upstream()
    assert status == 0
    for name in re.findall(r"^FORMAT\((\w+)\)", (SOURCE / "src/format/formats.inc").read_text(encoding="utf-8"), re.M):
        assert name in OWN or re.search(rf"^{name} ", listed, re.M), f"tools/pinned/upstream.txt has no line of {name}"
    for line in (SOURCE / "tools/pinned/upstream.txt").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if not line.startswith("#") and len(cells) == 6:
            assert re.fullmatch(r"-|[0-9a-f]{40}", cells[3]) and re.fullmatch(r"-|[0-9a-f]{64}", cells[4]), line


def check_states(place):
    table, folder = place / "table.txt", place / "checkouts/owner/thing"
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    first = commit(folder, a="one\n", b="two\n", c="three\n")
    table.write_text("# head\n" + "".join(f"pprof | owner/thing | x/{name}.proto | - | - | words of {name}\n" for name in "abc") +
                     "gecko | owner/absent | y | - | - | other\nnsys | - | not known\n")
    words = ("--table", table, "--checkout", place / "checkouts")
    status, out, _ = upstream(*words)
    assert status == 1 and [line.split()[0] for line in out.splitlines()] == ["new"] * 3, out
    assert upstream(*words, "--update")[0] == 0 and table.read_text().count(first) == 3
    assert table.read_text().startswith("# head\n") and table.read_text().endswith("gecko | owner/absent | y | - | - | other\nnsys | - | not known\n")
    status, out, _ = upstream(*words)
    assert status == 0 and [line.split()[0] for line in out.splitlines()] == ["same"] * 3, out
    commit(folder, a="ONE\n")
    git(folder, "rm", "-q", "x/b.proto")
    commit(folder, d="four\n")
    status, out, _ = upstream(*words)
    states = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    assert status == 1 and states == ["changed", "gone", "same"] and "-one" in out and "+ONE" in out, out
    one = place / "thing"  # a checkout by itself, which lacks the commit
    git(place, "clone", "-q", "--depth", "1", f"file://{folder}", one)
    status, out, _ = upstream("--table", table, "--checkout", one)
    assert status == 1 and f"no commit {first}" in out, out
    assert upstream("--table", table, "--checkout", place)[0] == 1  # there it is, too
    status, _, problem = upstream("--table", table, "--checkout", place, "--format", "gecko")
    assert status == 1 and "no file of these checkouts" in problem, problem
    assert upstream("--update")[0] == 2


check_table()
with tempfile.TemporaryDirectory() as place:
    check_states(Path(place))
