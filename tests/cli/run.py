#!/usr/bin/python3
"""Golden tests of the command.

usage: tests/cli/run.py --heddle PROGRAM [--update] [--shared] [NAME...]

Each NAME.test under tests/cli is a shell script. It runs in an empty directory of its own, with `heddle` on the PATH,
$HERE this folder, $ROOT the tree and $PATIENCE the seconds after which what hangs is ended. NAME.expect holds what it
must print and its exit status:

    exit 2
    --- stdout
    --- stderr
    heddle: unknown option --jsno; did you mean --json?

Standard input is empty. A test that exits with 77 is skipped; its last line says why. NAME-shared.test reads the traces
of ../shared/data: with --shared those alone are run, else all others.
`--update` writes the .expect files from what is printed now: read the diff before you commit it.
"""
import argparse
import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIP = 77
sys.path.insert(0, str(HERE.parent))
import scratch  # noqa: E402
from patience import patience  # noqa: E402

TIMEOUT_S = patience(600)


def environment(heddle, bin_dir):
    (bin_dir / "heddle").symlink_to(heddle)
    (bin_dir / "python3").symlink_to(sys.executable)  # what is first on the PATH may be a script that looks for one
    env = {key: value for key, value in os.environ.items() if not key.startswith(("HEDDLE_", "LC_", "NO_COLOR"))}
    env.update(PATH=f"{bin_dir}:{env.get('PATH', '/usr/bin:/bin')}", HERE=str(HERE), ROOT=str(HERE.parent.parent), PATIENCE=str(int(TIMEOUT_S)),
               LANG="C.UTF-8", TERM="xterm", XDG_CONFIG_HOME=str(bin_dir))
    return env


def run_script(script, env):
    """What a script prints and returns, in the shape of an .expect file, and its exit status."""
    with tempfile.TemporaryDirectory(prefix="heddle-test-", dir=scratch.in_memory()) as work:
        try:
            result = subprocess.run(["/bin/sh", str(script)], cwd=work, env=env, stdin=subprocess.DEVNULL,
                                    capture_output=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return f"did not end within {TIMEOUT_S} s\n", 1
    texts = [part.decode("utf-8", "backslashreplace").replace(work, "$WORK") for part in (result.stdout, result.stderr)]
    texts = [text if not text or text.endswith("\n") else text + "\n\\ no newline at the end\n" for text in texts]
    return f"exit {result.returncode}\n--- stdout\n{texts[0]}--- stderr\n{texts[1]}", result.returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", type=Path, default=HERE.parent.parent / "build/plain/src/cli/heddle")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()

    counts = {"passed": 0, "failed": 0, "skipped": 0}
    bin_dir = Path(tempfile.mkdtemp(prefix="heddle-bin-"))
    try:
        env = environment(args.heddle.resolve(), bin_dir)
        for script in sorted(HERE.rglob("*.test")):
            if script.stem not in args.names if args.names else script.stem.endswith("-shared") != args.shared:
                continue
            expect = script.with_suffix(".expect")
            got, status = run_script(script, env)
            wanted = expect.read_text(encoding="utf-8") if expect.exists() else ""
            if status == SKIP:
                counts["skipped"] += 1
                print(f"skipped {script.stem}: {got.splitlines()[-1]}")
            elif got == wanted:
                counts["passed"] += 1
            elif args.update:
                counts["passed"] += 1
                expect.write_text(got, encoding="utf-8")
                print(f"updated {expect.name}")
            else:
                counts["failed"] += 1
                print(f"FAILED {script.stem}")
                sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), got.splitlines(True),
                                                           expect.name, "now"))
    finally:
        shutil.rmtree(bin_dir)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["failed"] or not sum(counts.values()) else 0


sys.exit(main())
