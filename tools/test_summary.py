#!/usr/bin/python3
"""Add up the test cases of Meson builds: cmocka's own cases, the cases of our scripts, else the test itself.

usage: test_summary.py BUILD_DIR...

Prints for each failed test what its log says and the command that runs it alone, then the SLOWEST tests, then the CPU time
of each suite, and last of all `N passed, N failed, N skipped`.
A suite whose tests take more CPU time than tests/budgets.txt allows counts as one failed test. Wall time is never judged,
and CPU time only against that of the other suites of the same run: what slows all, as a busy neighbour on the same core
does, for minutes or for the whole run, makes no suite fail.
Exit status 1 when anything failed or nothing ran.
"""
import json
import re
import shlex
import sys
import time
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(1, str(TESTS))

import patience  # noqa: E402

CMOCKA = re.compile(r"\[\s*(OK|FAILED|SKIPPED|ERROR)\s*\] (\w+)\s*$", re.M)
SCRIPT = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)
RUN = re.compile(r"^\[ RUN +\] (\w+)\s*$", re.M)
SEED = re.compile(r"HEDDLE_TEST_SEED=(\d+)")
GOLDEN = re.compile(r"^FAILED ([\w.-]+)$", re.M)   # of tests/cli/run.py
INPUT = re.compile(r"^failed input: (.+)$", re.M)  # of fuzz/fuzz_main.c
PAGE = re.compile(r"^failed: (.+)$", re.M)          # of tests/web/browser.mjs
SLOWEST = 10
GOOD, SKIPPED = ("OK", "EXPECTEDFAIL"), ("SKIP", "IGNORED")
BUDGETS = TESTS / "budgets.txt"  # measured on the machine of patience.REFERENCE_S
USUAL = 1 / 3  # what suites take of their budgets there; twice as much is what a neighbour on the same core does to one of them


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
        counts[1] = 1  # crashed, timed out, or a sanitizer reported an error
    if sum(counts) == 0:
        counts[0] = 1
    return counts


def reasons(entry, lines=12, most=40):
    """The lines of a failed test's output that name a failure, each with what follows; its last lines where none does."""
    text = (entry.get("stdout", "") + "\n" + entry.get("stderr", "")).splitlines()
    starts = [n for n, line in enumerate(text) if re.match(r"failed: |not ok|\[  (FAILED|ERROR)|.*(Sanitizer|runtime error):", line)]
    wanted = sorted({n for start in starts for n in range(start, min(start + lines, len(text)))})
    return [text[n] for n in wanted][:most] if wanted else text[-lines:]


def seed_of(entry):
    """The seed that the failed case of a test had, else that of the test; None where it has none. Cases of cmocka may have one each."""
    cut = RUN.split(entry.get("stdout", ""))
    first, of_case = cut[0], dict(zip(cut[1::2], cut[2::2]))
    failed = [name for result, name in CMOCKA.findall(entry.get("stdout", "") + "\n" + entry.get("stderr", "")) if result in ("FAILED", "ERROR")]
    case = next((of_case[name] for name in failed if name in of_case), cut[-1])  # without a name it crashed: in the last
    seeds = SEED.findall(case) or SEED.findall(first + ("" if of_case else entry.get("stderr", "")))
    return seeds[-1] if seeds else None


def rerun(build, name, entry):
    """The shell command that runs a failed test alone: with the seed that it had, the bytes that Meson fills fresh memory with, and, where
    its log names the script, the input or the case that failed, that alone."""
    text = entry.get("stdout", "") + "\n" + entry.get("stderr", "")
    golden = GOLDEN.findall(text) if name == "cli" else []
    if golden:
        return shlex.join(["tests/cli/run.py", "--heddle", f"{build}/src/cli/heddle", *golden])
    if name.startswith("fuzz_") and (inputs := INPUT.findall(text)):
        return shlex.join([f"{build}/fuzz/{name}", inputs[0]])
    env = {"HEDDLE_TEST_SEED": seed_of(entry), "MALLOC_PERTURB_": (entry.get("env") or {}).get("MALLOC_PERTURB_")}
    pages = PAGE.findall(text) if name.startswith(("page_", "flame_web")) else []
    words = ["meson", "test", "-C", str(build), "--print-errorlogs", *(["--test-args=" + shlex.quote(pages[0])] if pages else []), name]
    return " ".join([*(f"{key}={value}" for key, value in env.items() if value), shlex.join(words)])


def cpu_by_suite(build):
    """{suite: CPU seconds} of what `time` wrote of each test: a test counts for the first of its suites."""
    suites = {" ".join(t["cmd"]): t["suite"][0].split(":")[-1] for t in json.loads((build / "meson-info/intro-tests.json").read_text())}
    took = defaultdict(float)
    log = build / "meson-logs/cpu.txt"
    for line in log.read_text(errors="replace").splitlines() if log.is_file() else []:
        user, system, command = line.split(" ", 2)
        took[suites.get(command, "other")] += float(user) + float(system)
    return took


def slowness(shares, once):
    """How many times as slow as the budgets' machine this one was in the run: by what it takes now for a fixed piece of work, or by
    what the middle one of the suites took of its budget, whichever is more."""
    middle = sorted(shares)[len(shares) // 2] if shares else 0.0
    return max(1.0, once / patience.REFERENCE_S, middle / USUAL)


def over_budget(builds):
    """Print the CPU time of all suites; the number of those that took more than their budget."""
    budgets = {(b, s): float(n) for b, s, n in (line.split() for line in BUDGETS.read_text().splitlines() if line and line[0] != "#")}
    once = min(patience.once(time.process_time) for _ in range(5))  # other processes only make it longer
    took = {(build, suite): seconds for build in builds for suite, seconds in cpu_by_suite(build).items()}
    share = {(build, suite): seconds / budgets.get((build.name, suite), budgets[("any", "any")]) for (build, suite), seconds in took.items()}
    # Suites with no budget of their own take next to nothing, whatever the machine.
    slower = slowness([part for (build, suite), part in share.items() if (build.name, suite) in budgets], once)
    for build in builds:
        of_build = sorted(((seconds, suite) for (b, suite), seconds in took.items() if b == build), reverse=True)
        if of_build:
            print(f"CPU s of {build.name}: " + ", ".join(f"{suite} {seconds:.0f}" for seconds, suite in of_build))
    over = [key for key in sorted(took, key=str) if share[key] > slower]
    for build, suite in over:
        limit = took[build, suite] / share[build, suite] * slower
        print(f"failed: {build}: suite {suite} took {took[build, suite]:.0f} s of CPU time, budget {limit:.0f} s (tests/budgets.txt)")
    print(f"CPU: {sum(took.values()):.0f} s in all tests; this machine is taken as {slower:.2f} times as slow as that of the budgets")
    return len(over)


def main():
    total, durations = [0, 0, 0], []
    builds = [Path(name) for name in sys.argv[1:]]
    for build in builds:
        logs = sorted(build.glob("meson-logs/testlog*.json"))
        if not logs:
            print(f"failed: {build}: no tests were run")
            total[1] += 1
        for entry in (json.loads(line) for log in logs for line in log.read_text(encoding="utf-8", errors="replace").splitlines()):
            name = entry["name"].split(" / ")[-1]
            durations.append((entry["duration"], f"{build.name}/{name}"))
            counts = cases(entry)
            total = [a + b for a, b in zip(total, counts)]
            if counts[1]:
                print(f"failed: {build}: {entry['name']} ({entry['result']}); see {logs[0].with_suffix('.txt')}")
                for said in reasons(entry):
                    print(f"    {said[:300]}")
                print(f"    run it alone: {rerun(build, name, entry)}")
    total[1] += over_budget([b for b in builds if (b / "meson-info/intro-tests.json").is_file()])
    slowest = sorted(durations, reverse=True)[:SLOWEST]
    print(f"slowest: {', '.join(f'{name} {seconds:.0f} s' for seconds, name in slowest)}: "
          f"{sum(seconds for seconds, _ in slowest):.0f} s of {sum(seconds for seconds, _ in durations):.0f} s in all tests")
    passed, failed, skipped = total
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
