#!/usr/bin/python3
"""Add up the test cases of Meson builds: cmocka's own cases, the cases of our scripts, else the test itself.

usage: test_summary.py BUILD_DIR...
Prints a line for each test that failed, with what its log says of it, the SLOWEST tests and what all took, and last of all
`N passed, N failed, N skipped`.
Exit status 1 when anything failed or nothing ran.
"""
import json
import re
import sys
from pathlib import Path

CMOCKA = re.compile(r"\[\s*(OK|FAILED|SKIPPED|ERROR)\s*\] (\w+)\s*$", re.M)
SCRIPT = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)
SLOWEST = 10
GOOD, SKIPPED = ("OK", "EXPECTEDFAIL"), ("SKIP", "IGNORED")


def cases(entry):
    """(passed, failed, skipped) of one test of testlog.json."""
    text = entry.get("stdout", "")
    if script := SCRIPT.findall(text):
        counts = [int(number) for number in script[-1]]
    else:
        # cmocka prints "[  FAILED  ] name" again in its list at the end, so names are counted once.
        results = {name: result for result, name in CMOCKA.findall(text + "\n" + entry.get("stderr", ""))}
        values = list(results.values())
        counts = [values.count("OK"), values.count("FAILED") + values.count("ERROR"), values.count("SKIPPED")]
    if entry["result"] in SKIPPED:
        return [0, 0, max(1, sum(counts))]
    if entry["result"] not in GOOD and counts[1] == 0:
        counts[1] = 1  # crashed, timed out, or a sanitizer spoke
    if sum(counts) == 0:
        counts[0] = 1
    return counts


def reasons(entry, lines=12, most=40):
    """The places of a failed test's output that tell of a failure; its last lines where none does."""
    text = (entry.get("stdout", "") + "\n" + entry.get("stderr", "")).splitlines()
    starts = [n for n, line in enumerate(text) if re.match(r"failed: |not ok|\[  (FAILED|ERROR)|.*(Sanitizer|runtime error):", line)]
    wanted = sorted({n for start in starts for n in range(start, min(start + lines, len(text)))})
    return [text[n] for n in wanted][:most] if wanted else text[-lines:]


def main():
    total, durations = [0, 0, 0], []
    for build in sys.argv[1:]:
        log = Path(build) / "meson-logs" / "testlog.json"
        if not log.is_file():
            print(f"failed: {build}: no tests were run")
            total[1] += 1
            continue
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            entry = json.loads(line)
            durations.append((entry["duration"], f"{Path(build).name}/{entry['name'].split(' / ')[-1]}"))
            counts = cases(entry)
            total = [a + b for a, b in zip(total, counts)]
            if counts[1]:
                print(f"failed: {build}: {entry['name']} ({entry['result']}); see {log.with_suffix('.txt')}")
                for said in reasons(entry):
                    print(f"    {said[:300]}")
    slowest = sorted(durations, reverse=True)[:SLOWEST]
    print(f"slowest: {', '.join(f'{name} {seconds:.0f} s' for seconds, name in slowest)}: "
          f"{sum(seconds for seconds, _ in slowest):.0f} s of {sum(seconds for seconds, _ in durations):.0f} s in all tests")
    passed, failed, skipped = total
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


sys.exit(main())
