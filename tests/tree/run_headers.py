#!/usr/bin/python3
"""Every public header compiles alone under -Wall -Wextra -pedantic -Werror, as C17 and as C++17.

usage: run_headers.py --include DIR [--cc CC] [--cxx CXX]
"""
import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


def compiler(named, candidates):
    for candidate in [named, *candidates]:
        if candidate and shutil.which(candidate.split()[0]):
            return candidate.split()
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=Path, required=True)
    parser.add_argument("--cc", default=os.environ.get("CC"))
    parser.add_argument("--cxx", default=os.environ.get("CXX"))
    args = parser.parse_args()

    languages = [
        ("c", "-std=c17", compiler(args.cc, ["cc", "gcc", "clang"])),
        ("c++", "-std=c++17", compiler(args.cxx, ["c++", "g++", "clang++"])),
    ]
    passed = failed = skipped = 0
    for header in sorted((args.include / "heddle").rglob("*.h")):
        for language, standard, command in languages:
            name = f"{header.name} as {standard[5:]}"
            if command is None:
                print(f"skip {name}: no {language} compiler")
                skipped += 1
                continue
            # Twice: the second time must be the include guard's.
            text = f'#include "{header.relative_to(args.include)}"\n' * 2
            result = subprocess.run([*command, "-x", language, standard, *WARNINGS, "-I", str(args.include),
                                     "-fsyntax-only", "-"], input=text, text=True, capture_output=True)
            if result.returncode == 0:
                passed += 1
            else:
                failed += 1
                print(f"FAILED {name}\n{result.stderr}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


sys.exit(main())
