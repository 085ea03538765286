#!/usr/bin/python3
"""What tools/test_summary.py makes of CPU times: a suite that takes too much fails, a slow machine or a busy neighbour does not; and the
command that it names for a failed test."""
import contextlib
import io
import json
import shlex
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import test_summary  # noqa: E402


def over(slower, one=1.0, once=0.0):
    """How many suites are over budget where each takes `slower` times its usual, and the first of them `one` times that."""
    budgets = [line.split() for line in test_summary.BUDGETS.read_text().splitlines() if line and line[0] != "#"]
    test_summary.patience.once = lambda clock: once
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        builds = sorted({Path(folder, build) for build, _, _ in budgets if build != "any"})
        for build in builds:
            rows = [(suite, float(budget)) for b, suite, budget in budgets if b == build.name]
            (build / "meson-info").mkdir(parents=True)
            (build / "meson-logs").mkdir()
            tests = [{"cmd": ["test_" + suite, "a word"], "suite": ["heddle:" + suite]} for suite, _ in rows]
            (build / "meson-info/intro-tests.json").write_text(json.dumps(tests))
            times = [(test_summary.USUAL * budget * slower, suite) for suite, budget in rows]
            if build == builds[0]:
                times[0] = times[0][0] * one, times[0][1]
            (build / "meson-logs/cpu.txt").write_text("".join(f"{s / 4:.3f} {s * 3 / 4:.3f} test_{suite} a word\n" for s, suite in times))
        count = test_summary.over_budget(builds)
    assert said.getvalue().count("failed: ") == count, said.getvalue()
    return count


def command(name, stdout, stderr="", **env):
    return test_summary.rerun("build/asan", name, {"stdout": stdout, "stderr": stderr, "env": env})


def name_commands():
    meson = "meson test -C build/asan --print-errorlogs"
    seed, run, bad = "seed: {0} (HEDDLE_TEST_SEED={0})\n", "[ RUN      ] test_{}\n", "[  FAILED  ] test_{}\n"
    cases = run.format("a") + seed.format(5) + run.format("b") + seed.format(6) + run.format("c")
    assert command("parts", cases, bad.format("a")) == f"HEDDLE_TEST_SEED=5 {meson} parts"  # the seed of the case that failed
    assert command("parts", cases, bad.format("b"), MALLOC_PERTURB_="77") == f"HEDDLE_TEST_SEED=6 MALLOC_PERTURB_=77 {meson} parts"
    assert command("parts", cases, "ERROR: AddressSanitizer") == f"{meson} parts"  # in the last, which has none
    assert command("parts", seed.format(4) + cases, "") == f"HEDDLE_TEST_SEED=4 {meson} parts"  # of the program
    assert command("random_fix", seed.format(9), "Traceback") == f"HEDDLE_TEST_SEED=9 {meson} random_fix"
    words = shlex.split(command("page_seen", "ok: one\nfailed: it's two\nstack\n"))
    assert shlex.split(words[-2].removeprefix("--test-args=")) == ["it's two"] and words[-1] == "page_seen"
    assert command("cli", "FAILED info\nFAILED check\n") == "tests/cli/run.py --heddle build/asan/src/cli/heddle info check"
    assert command("fuzz_json", "", "failed input: fuzz/corpus/json/x\n") == "build/asan/fuzz/fuzz_json fuzz/corpus/json/x"


def main():
    name_commands()
    reference = test_summary.patience.REFERENCE_S
    assert over(1) == 0 and over(1, 3.1) == 1
    assert over(1, 2) == 0  # a neighbour while that suite ran
    assert over(10) == 0 and over(10, 2) == 0 and over(10, 3.1) == 1
    assert over(1, 3.1, once=4 * reference) == 0 and over(1, 13, once=4 * reference) == 1
    print("8 runs judged")


if __name__ == "__main__":
    main()
