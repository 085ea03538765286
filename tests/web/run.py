#!/usr/bin/python3
"""The tests of what heddle writes for browsers, in Debian's Chromium.

usage: tests/web/run.py --make-flames PROGRAM [--keep DIR] [NAME...]

Writes the pictures, then runs flame.test.mjs over them (NAME: only tests with that in their names). Exits with 77, and
says why, where Chromium, node or tests/web/node_modules (npm ci, which tools/setup.sh runs) is missing.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIP = 77


def first_of(*names):
    return next((path for path in map(shutil.which, names) if path), None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make-flames", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="write the pictures there, and leave them")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    node, chromium = first_of("node", "nodejs"), first_of("chromium", "chromium-browser")
    for what, there in (("node", node), ("chromium", chromium),
                        ("tests/web/node_modules", (HERE / "node_modules" / "playwright-core").is_dir())):
        if not there:
            print(f"skipped: there is no {what}; tools/setup.sh sees to it")
            return SKIP
    with tempfile.TemporaryDirectory(prefix="heddle-web-") as folder:
        pictures = args.keep or Path(folder)
        pictures.mkdir(parents=True, exist_ok=True)
        subprocess.run([args.make_flames.resolve(), pictures], check=True)
        # The profile and caches of the browser stay in the folder, too.
        env = {**os.environ, "HOME": folder, "TMPDIR": folder}
        return subprocess.run([node, HERE / "flame.test.mjs", chromium, pictures.resolve(), *args.names],
                              env=env).returncode


sys.exit(main())
