#!/usr/bin/python3
"""Which small changes of C files a test finds: a sample of mutants, by a seed.

usage: tools/mutate.py [--seed N] [--count N] --build COMMAND --test COMMAND [--test COMMAND...] FILE...

A mutant has one operator, constant or condition changed, or one statement left out; it is built, and the tests run in turn
until one fails: that test has killed it. What does not compile is not a mutant. Prints each mutant with the test that killed it, and how
many each test killed. With a test as it was behind the test as it is, the second number is what was lost. FILEs are changed
in place and restored at the end.
"""
import argparse
import random
import re
import subprocess
from collections import Counter
from pathlib import Path

SWAPS = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "), (r" \+ ", " - "),
         (r" - ", " + "), (r" && ", " || "), (r" \|\| ", " && "), (r"\bif \(", "if (!"), (r"\breturn ([a-z])", r"return !\1"),
         (r"(?<![\w.\"'])(\d+)(?![\w.\"'])", lambda m: str(int(m[1]) + 1))]
STATEMENT = re.compile(r"^( {4,})(?!return|break|goto|case|assert|struct|const|static|\w+ \*?\w+ =)[a-z_]\w*[^{}]*;$")
QUIET = re.compile(r"^\s*(#|/?\*|//|static |enum |.*\bassert\()")


def mutants(path):
    """(line number, new line) of all mutants of a file; texts, declarations of tables and comments are left alone."""
    found, depth = [], 0
    for n, line in enumerate(path.read_text().splitlines()):
        if depth and not QUIET.match(line):
            for pattern, new in SWAPS:
                for at in re.finditer(pattern, line):
                    if line[: at.start()].count('"') % 2 == 0 and "/*" not in line[: at.start()]:
                        found.append((n, line[: at.start()] + (new(at) if callable(new) else at.expand(new)) + line[at.end():]))
            if STATEMENT.match(line):
                found.append((n, STATEMENT.sub(r"\1;", line)))
        depth += line.count("{") - line.count("}")
    return found


def passes(command):
    try:
        return subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--build", required=True)
    parser.add_argument("--test", required=True, action="append")
    parser.add_argument("files", type=Path, nargs="+")
    args = parser.parse_args()
    everything = [(path, n, new) for path in args.files for n, new in mutants(path)]
    random.Random(args.seed).shuffle(everything)
    killed, left = Counter(), args.count
    for path, n, new in everything:
        if left == 0:
            break
        whole = path.read_text()
        lines = whole.splitlines(keepends=True)
        try:
            path.write_text("".join([*lines[:n], new + "\n", *lines[n + 1:]]))
            if not passes(args.build):
                continue
            killer = next((i for i, test in enumerate(args.test) if not passes(test)), None)
        finally:
            path.write_text(whole)
        left -= 1
        killed[killer] += 1
        print(f"{'survived' if killer is None else f'killed by {killer + 1}'}: {path}:{n + 1}: {new.strip()}", flush=True)
    subprocess.run(args.build, shell=True, stdout=subprocess.DEVNULL)
    print(f"seed {args.seed}: {sum(killed.values())} mutants of {len(everything)}; "
          + ", ".join(f"test {i + 1} killed {killed[i]}" for i in range(len(args.test))) + f", {killed[None]} survived")


if __name__ == "__main__":
    main()
