#!/usr/bin/python3
"""Build a Meson build as far as some of its tests need it: what is not a test, and the tests that are run. A build of all
has two hundred programs more: tests for sanitizers, and benchmarks. Where files cannot be compiled together (tools/grouped.py)
they are compiled one by one.

usage: build_for.py MESON BUILD_DIR [OPTION OF MESON TEST...]
"""
import json
import re
import subprocess
import sys
from pathlib import Path


def targets(meson, build, options):
    """The files to build, as Ninja names them."""
    listed = subprocess.run([meson, "test", "-C", build, "--list", *options], check=True, stdout=subprocess.PIPE, text=True).stdout
    names = {line.rsplit(" / ")[-1] for line in listed.splitlines()}
    about = build / "meson-info"
    needed = {target for test in json.loads((about / "intro-tests.json").read_text()) if test["name"] in names for target in test["depends"]}
    for target in json.loads((about / "intro-targets.json").read_text()):
        of_tests = Path(target["defined_in"]).parent.name in ("tests", "fuzz", "bench") and target["type"] == "executable"
        if target["id"] in needed or target["build_by_default"] and not of_tests:
            yield from (str(Path(file).relative_to(build.resolve())) for file in target["filename"])


def main():
    meson, build = sys.argv[1], Path(sys.argv[2])
    ninja = ["ninja", "-C", build, *sorted(targets(meson, build, sys.argv[3:]))]
    done = subprocess.run(ninja)
    if done.returncode == 0:
        return 0
    done = subprocess.run([*ninja, "-k", "0"], stdout=subprocess.PIPE, text=True)
    groups = re.findall(r"FAILED: .*grouped_(\w+)\.c\.o", done.stdout)
    if groups:
        folder = build / "src/grouped"
        with open(folder / "apart.txt", "a", encoding="utf-8") as apart:
            apart.writelines(line.split('"')[1] + "\n" for group in groups for line in open(folder / (group + ".c"), encoding="utf-8"))
        print("compiling one by one what cannot be compiled together:", *groups)
        subprocess.run([meson, "setup", "--reconfigure", build], check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run(ninja)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
