#!/usr/bin/env python3
"""What commands built by other compilers and with another C library say about each fixture, byte by byte.

Each format's fixtures through info, check, all reports, SQL and a conversion to each format: output, messages and exit status are equal, but
for formats that a build does not have. musl.py FIRST OTHER... [--only PART-OF-A-NAME] [--also FOLDER]"""
import argparse
import concurrent.futures
import difflib
import hashlib
import os
import subprocess
import sys
import tempfile

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
REPORTS = ("summary breakdown kernels copies operators modules ranges steps launches queue states idle syncs critical-path communication flops "
           "timeline memory attribution").split()
SQL = "select * from slice; select * from launch; select avg(dur), total(dur) / 3.7, sum(dur * 1e-3) from slice; select lower(name), upper(name) from thread order by 1"
#: Of each file: what is asked, and the file that it writes.
ASKED = (("info", "--json"), ("check", "--json"), ("report", ",".join(REPORTS), "--json"), ("report", "kernels,idle,breakdown"), ("query", "--json"), ("flame",),
         ("convert", "out.json"), ("convert", "out.pftrace"), ("convert", "out.heddle"), ("convert", "out.sbt"))
ABSENT = "was built without"


def fixtures(top):
    for folder, _, names in sorted(os.walk(top)):
        for name in sorted(names):
            if not name.endswith((".expect", ".py", ".c", ".h", ".mjs", ".md", ".pyc", ".build", ".otf2")):  # the last is in no build with musl
                yield os.path.join(folder, name)


def answer(heddle, path, asked, folder):
    command, out = [heddle, asked[0]], None
    if asked[0] == "convert":
        out = os.path.join(folder, asked[1])
        command += [path, out]
    else:
        command += [*asked[1:], path] + ([SQL] if asked[0] == "query" else [])
    environment = {**os.environ, "TMPDIR": folder, "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False, cwd=folder, env=environment)
    written = b""
    if out and os.path.exists(out):
        with open(out, "rb") as file:
            written = file.read()
        os.remove(out)
    return [done.returncode, done.stdout, done.stderr, hashlib.sha256(written).hexdigest(), written]


def first_difference(one, other):
    for x, y in zip(one, other):
        if isinstance(x, bytes) and x != y:
            lines = difflib.unified_diff(x.decode(errors="replace").splitlines(), y.decode(errors="replace").splitlines(), n=0, lineterm="")
            return "\n      ".join(line[:300] for line in list(lines)[2:8])
        if x != y:
            return f"{x} and {y}"
    return ""


def check(path, programs):
    """The number of answers, and what differs."""
    answers, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for asked in ASKED:
            first = None
            for program in programs:
                got = answer(program, path, asked, folder)
                if ABSENT in got[2].decode(errors="replace"):
                    continue
                answers += 1
                first = first or (program, got)
                if got[:4] != first[1][:4]:
                    wrong.append(f"{' '.join(asked)} {os.path.relpath(path, TESTS)}: {first[0]} and {program}\n      {first_difference(first[1], got)}")
    return answers, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", metavar="HEDDLE")
    parser.add_argument("--only", default="")
    parser.add_argument("--also", metavar="FOLDER", help="other traces")
    options = parser.parse_args()
    programs = [os.path.abspath(p) for p in options.programs if os.path.exists(p)]
    for missing in sorted(set(options.programs) - {os.path.relpath(p) for p in programs} - set(programs)):
        print(f"without {missing}, which is not there")
    if len(programs) < 2:
        print("skipped: there is one program")
        sys.exit(77)
    tops = [os.path.join(TESTS, "format"), *filter(None, [options.also])]
    paths = [path for top in tops for path in fixtures(top) if options.only in path]
    answers = wrong = count = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for more, problems in pool.map(lambda path: check(path, programs), paths):
            count += 1
            answers += more
            wrong += len(problems)
            for problem in problems:
                print("DIFFERS", problem)
    print(f"{count} files, {answers} answers of {len(programs)} programs, {wrong} differ")
    sys.exit(1 if wrong or not answers else 0)


main()
