#!/usr/bin/env python3
"""Holds `heddle report summary` against the slow reports of tests/report/oracle: what each finding would save, that none is
missing, and the first rows of the other reports.

  check_summary.py --heddle HEDDLE [FILE.json[.gz] ...]
"""
import argparse
import collections
import json
import os
import pathlib
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


def device(row):
    return row["rank"], row["device"]


def wanted_findings(tables):
    """[(rank, device, saves)] with whole ns, for all but launches, of which no saving is told."""
    out = []
    for row in tables["breakdown"]:
        span = row["span"]

        def add(saves, device_=device(row), span=span):
            if saves > 0 and saves >= span // 100:
                out.append((*device_, saves))
        add(row["exposed_communication"])
        add(row["exposed_copy"])
        for cause in tables["idle"]:
            if device(cause) == device(row) and cause["cause"] != "outside":
                add(cause["total"])
        totals = [k["total"] for k in tables["kernels"] if device(k) == device(row)]
        if totals:
            add(max(totals))
    for rank in {row["rank"] for row in tables["breakdown"]}:
        times = sorted(s["duration"] for s in tables["steps"] if s["rank"] == rank)
        if len(times) > 2:
            middle = len(times) // 2
            median = times[middle] if len(times) % 2 else (times[middle - 1] + times[middle] + 1) // 2
            if times[-1] // 2 > median:
                out.append((rank, None, times[-1] - median))
    return sorted(out, key=repr)


def shows(finding, event):
    """A gap ends where the event starts, a step that repetition tells with its launch; all else is the event."""
    if event is None:
        return False
    if " the GPU is idle " in finding["finding"]:
        return finding["start"] + finding["duration"] == event.start
    if finding["finding"].startswith("the slowest step") and event.role != "annotation":
        return finding["start"] == (event.launch or event).start
    return (finding["start"], finding["duration"]) == (event.start, event.end - event.start)


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
    found = sorted(((f["rank"], f["device"], f["saves"]) for f in got["findings"] if f["saves"] is not None), key=repr)
    checked["findings"] += len(found)
    if found != wanted_findings(tables):
        problems.append("%s: findings save %r, right is %r" % (name, found, wanted_findings(tables)))
    order = [f["saves"] for f in got["findings"] if f["saves"] is not None]
    if order != sorted(order, reverse=True):
        problems.append("%s: findings are not in order: %r" % (name, order))
    by_id = {s.id: s for s in t.slices}
    for f in got["findings"]:
        if f["id"] is not None and not shows(f, by_id.get(f["id"])):
            problems.append("%s: finding %r is not shown by event %d" % (name, f["finding"], f["id"]))
        checked["events of findings"] += f["id"] is not None
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
                file.write(random_trace.text(seed))
            check(asked.heddle, path, "random trace %d" % seed)
    for path in asked.files or check_reports.real_traces(False):
        check(asked.heddle, path, os.path.basename(path))
    print("  ".join("%d %s" % (n, what) for what, n in sorted(checked.items())))
    print("\n".join(problems[:40]))
    return 1 if problems or not checked["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
