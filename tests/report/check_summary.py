#!/usr/bin/env python3
"""Holds `heddle report summary` to what must be true of findings in any trace - no share above 100 %, no saving above the
whole, each percentage that of the two numbers before it, no event in two findings, in order - and its other tables to
the first rows of the slow reports of tests/report/oracle.

  check_summary.py --heddle HEDDLE [FILE.json[.gz] ...]
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "oracle"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import check_reports  # noqa: E402
import random_trace  # noqa: E402
import reports  # noqa: E402
import rounds  # noqa: E402
import trace  # noqa: E402

problems, checked = [], collections.Counter()
COPIED = {"breakdown": "breakdown", "kernels": "kernels", "idle": "idle", "communication": "communication"}
ROWS = 5
pages = {page.stem for page in (pathlib.Path(__file__).resolve().parents[2] / "docs/findings").glob("*.md")}


def device(row):
    return row["rank"], row["device"]


def seconds(number, unit):
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def check_sentence(name, text):
    """Every "X of Y (p %)", of times or of counts, has p = 100 X / Y."""
    for x, unit, y, of, percent in re.findall(r"([\d.]+)(ns|us|ms|s) of ([\d.]+)(ns|us|ms|s) \(([\d.]+) %\)", text):
        right = 100 * seconds(x, unit) / seconds(y, of)
        if abs(float(percent) - right) > 0.06 + right / 500:
            problems.append("%s: %r: right is %.1f %%" % (name, text, right))
        checked["percentages"] += 1
    for percent, x, y in re.findall(r"([\d.]+) % of \w+ \((\d+) of (\d+)\)", text):
        if abs(float(percent) - 100 * int(x) / int(y)) > 0.5001:
            problems.append("%s: %r: right is %.1f %%" % (name, text, 100 * int(x) / int(y)))
        checked["percentages"] += 1


def check_finding(name, f, by_id):
    problem = lambda text: problems.append("%s: %s: %s: %r" % (name, f["code"], text, f))
    for column in ("saves", "then", "amount"):
        if f[column] is not None and not 0 <= f[column] <= f["whole"]:
            problem("%s is outside of the whole" % column)
    if f["share"] is not None and not 0 <= f["share"] <= 100:
        problem("share")
    if (f["saves"] is None) != (f["how"] is None) or (f["saves"] is None) != (f["reason"] is not None):
        problem("either it is told how the saving is known, or why it is not")
    if (f["then"] is None) != (f["behind"] is None):
        problem("then and behind")
    if (f["trust"] == "inferred") != (f["trust_reason"] is not None) and f["trust"] != "doubtful":
        problem("trust without a reason")
    if f["code"] not in pages:
        problem("there is no page docs/findings/%s.md" % f["code"])
    event = by_id.get(f["id"])
    if f["id"] is not None and (event is None or f["start"] != event.start):
        problem("its event is another")
    check_sentence(name, f["finding"])


def check_findings(name, findings, by_id):
    """An event's time is in one finding: slices whose whole time is claimed are evidence once."""
    seen, ranks = {}, []
    for f in findings:
        checked["findings"] += 1
        check_finding(name, f, by_id)
        ids = [] if f["code"] in ("idle-unexplained", "slow-step", "slow-first-step") else (f["evidence"] or "").split(",")
        for i in ids:
            if i and i in seen and seen[i] != f["code"] and "host-bound" not in (seen[i], f["code"]):
                problems.append("%s: event %s shows %s and %s" % (name, i, seen[i], f["code"]))
            seen[i] = f["code"]
        # What includes waiting for ranks that are not there may be saved whole.
        waits = f["saves"] is None and "waiting for ranks that are not in this trace" in (f["reason"] or "")
        group = 0 if waits else 1 if f["saves"] is None else 2 if f["saves"] == 0 else 0
        ranks.append((group, -(f["then"] if group == 2 else f["saves"] or f["amount"] or 0)))
    if ranks != sorted(ranks):
        problems.append("%s: findings are not in order: %r" % (name, ranks))


def has_two_processes(tables):
    """Rows without a device may be of several processes, which the summary cannot tell apart either."""
    seen = collections.Counter(device(row) for row in tables["breakdown"])
    return any(count > 1 for count in seen.values())


def check(heddle, path, name):
    t = trace.read(path)
    tables = {}
    for report in ("breakdown", "kernels", "idle", "communication", "steps"):
        tables.update(reports.report(report, t))
    if has_two_processes(tables):
        return
    done = subprocess.run([heddle, "report", "summary", "--json", path], stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError("heddle report summary %s: %d" % (path, done.returncode))
    got = json.loads(done.stdout)
    got = got[0] if isinstance(got, list) else got
    check_findings(name, got["findings"], {s.id: s for s in t.slices})
    for table, of in COPIED.items():
        rows, seen = [], collections.Counter()
        for row in tables[of]:
            seen[device(row)] += 1
            if table == "breakdown" or seen[device(row)] <= ROWS:
                rows.append(row)
        rows = [{c: v for c, v in row.items() if got[table] and c in got[table][0]} for row in rows]
        checked[table] += len(rows)
        for text in list(check_reports.differences(got[table], rows))[:2]:
            problems.append("%s: %s: %s" % (name, table, text))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("files", nargs="*")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(0 if asked.files else rounds.rounds(5)):
            path = os.path.join(folder, "random.json")
            with open(path, "w", encoding="utf-8") as file:
                # Without windows: in a capture that has some, the host has nothing outside of them.
                file.write(random_trace.text(seed, windows=False))
            check(asked.heddle, path, "random trace %d" % seed)
    for path in asked.files or check_reports.real_traces(None):
        check(asked.heddle, path, os.path.basename(path))
    print("  ".join("%d %s" % (n, what) for what, n in sorted(checked.items())))
    print("\n".join(problems[:40]))
    return 1 if problems or not checked["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
