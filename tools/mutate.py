#!/usr/bin/python3
"""Which small changes of C files the tests find: a sample of mutants, by a seed.

usage: tools/mutate.py [--seed N] [--count N] [--most SECONDS] [--limit SECONDS] [--jobs N] [--build FOLDER] [--times FOLDER] PLACE...

PLACE is a folder, a file, or a mutant by the name that this program prints (src/base/hash.c:91.2; src/base/hash.c:91 for all of a
line). A mutant has one operator, constant or condition changed, or one statement left out. The file is changed in place, and
restored at the end: commit nothing meanwhile. The mutant is built in --build (build/plain), and tests run in turn until one fails:
that test has killed it. First come the tests that are named like the file, then the suite that is named like its layer, then the
suites in NEAR, each time those that took least CPU time in --times (build/plain, after `make test`). Left out are tests that took
more than --most seconds (20; four times that if they are named like the file), and those that fail without the mutant. What does
not compile, or compiles to the same code, is not a mutant. With --limit no test begins later than that after the first.

Prints a line for each mutant, then how many were killed. A test that takes ten times as long as it did, and a minute, has failed.
"""
import argparse
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SWAPS = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "), (r" \+ ", " - "),
         (r" - ", " + "), (r" && ", " || "), (r" \|\| ", " && "), (r"\bif \(", "if (!"), (r"\breturn ([a-z])", r"return !\1"),
         (r"(?<![\w.\"'])(\d+)(?![\w.\"'])", lambda m: str(int(m[1]) + 1))]
STATEMENT = re.compile(r"^( {4,})(?!return|break|goto|case|assert|struct|const|static|\w+ \*?\w+ =)[a-z_]\w*[^{}]*;$")
QUIET = re.compile(r"^\s*(#|/?\*|//|static |enum |.*\bassert\()")
# The suites that a layer's own is followed by.
NEAR = {"base": "trace format cli", "trace": "format pass cli convert", "model": "report pass view flame job cli", "format": "cli convert",
        "pass": "convert fix cli report", "graph": "report cli", "report": "cli job view", "flame": "view cli", "view": "query cli",
        "query": "cli", "capture": "record cli"}
# Of these no test runs: they take a browser, or look at the tree, or are longer ones of a kind.
LEFT_OUT = {"web", "tree", "long", "mpi", "python"}


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


def chosen(places):
    """(name, path, line number, new line) of all mutants of the places."""
    for place in places:
        file, _, wanted = place.partition(":")
        paths = sorted((ROOT / file).rglob("*.c")) if (ROOT / file).is_dir() else [ROOT / file]
        for path in paths:
            of_line = Counter()
            for n, new in mutants(path):
                of_line[n] += 1
                name = f"{n + 1}.{of_line[n]}"
                if not wanted or wanted in (name, str(n + 1)):
                    yield f"{path.relative_to(ROOT)}:{name}", path, n, new


class Build:
    """A build, and its tests."""

    def __init__(self, folder, jobs, times):
        self.folder, self.jobs = folder, jobs
        about = self.folder / "meson-info"
        files = {t["id"]: [str(Path(f).relative_to(self.folder)) for f in t["filename"]] for t in json.loads((about / "intro-targets.json").read_text())}
        self.tests = {t["name"]: t for t in json.loads((about / "intro-tests.json").read_text())}
        for test in self.tests.values():
            test["suite"] = [suite.split(":")[-1] for suite in test["suite"]]
            test["files"] = [file for target in test["depends"] for file in files[target]]
        self.took, self.good = self.cpu_times(times), {}
        self.split_cli()
        self.objects = defaultdict(list)
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            source = (self.folder / entry["file"]).resolve()
            group = re.findall(r'#include "(.*)"', source.read_text()) if source.parent.name == "grouped" else [source]  # tools/grouped.py
            for file in group:
                self.objects[Path(file).resolve()].append(self.folder / entry["output"])

    def split_cli(self):
        """Each script of tests/cli as a test of its own."""
        whole = self.tests.pop("cli")
        scripts = [script.stem for script in sorted((ROOT / "tests/cli").rglob("*.test")) if not script.stem.endswith("-shared")]
        for script in scripts:
            self.tests["cli " + script] = {**whole, "name": "cli " + script, "cmd": [*whole["cmd"], script]}
            self.took["cli " + script] = self.took.get("cli", 30) / len(scripts)

    @staticmethod
    def cpu_times(folder):
        """{test: CPU seconds} of a build whose tests ran by `make test`."""
        took, log = {}, folder / "meson-logs/cpu.txt"
        if log.is_file():
            names = {" ".join(t["cmd"]): t["name"] for t in json.loads((folder / "meson-info/intro-tests.json").read_text())}
            for line in log.read_text(errors="replace").splitlines():
                user, system, command = line.split(" ", 2)
                took[names.get(command)] = float(user) + float(system)
        return took

    def order(self, path, most):
        """The tests for a file, in the order in which they run."""
        layer, words = path.parts[1], set(re.split(r"[/_.]", str(path))) - {"c", "h", "src"}
        groups = [layer, *NEAR.get(layer, "cli").split()]

        def key(test):
            like = len(words & set(re.split("[-_ ]", test["name"])))
            return (-like, min(groups.index(suite) if suite in groups else 99 for suite in test["suite"]), self.took.get(test["name"], 1))

        return [t for t in sorted(self.tests.values(), key=key) if self.took.get(t["name"], 1) <= most * (4 if key(t)[0] else 1)
                and not LEFT_OUT & set(t["suite"]) and (set(groups) & set(t["suite"]) or key(t)[0])]

    def make(self, files):
        """Does it build?"""
        return self.runs(["ninja", f"-j{self.jobs}", "-C", self.folder, *files], 1200) == 0

    def objects_of(self, path):
        """The code of a file as it is compiled: what debuggers need of it names columns of lines."""
        for object in self.objects[path]:
            if object.exists():
                subprocess.run(["strip", "-g", "-o", f"{object}.code", object], check=True)
                yield Path(f"{object}.code").read_bytes()

    def runs(self, command, limit, env=None):
        """The exit status of a command, in a process group and a folder for temporary files of its own; None behind the time limit."""
        def guard():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
            resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 30, 8 << 30))

        with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as place:
            process = subprocess.Popen(command, cwd=self.folder, env={**os.environ, **(env or {}), "TMPDIR": place}, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=guard)
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)  # it, or what it has left behind
                except ProcessLookupError:
                    pass
                process.wait()

    def passes(self, test):
        """Does it pass, or skip? A reason, where it does not."""
        env = {"HEDDLE_SHARED": str(ROOT.parent / "shared"), **os.environ, **test["env"], "MALLOC_PERTURB_": "165"}
        status = self.runs(test["cmd"], 60 + 10 * self.took.get(test["name"], 1) * float(os.environ.get("HEDDLE_TEST_PATIENCE", 1)), env)
        return None if status in (0, 77) else "hangs" if status is None else f"exit {status}"

    def killer(self, path, lines, most, limit):
        """What kills the file with these lines: a test and how, None; or False where it is no mutant."""
        whole, before, objects = path.read_text(), list(self.objects_of(path)), [o.relative_to(self.folder) for o in self.objects[path] if o.exists()]
        try:
            path.write_text(lines)
            if objects and (not self.make(objects) or list(self.objects_of(path)) == before):
                return False
            tests = [test for test in self.order(path.relative_to(ROOT), most) if self.good.get(test["name"], True)]
            start = time.monotonic()
            for i, test in enumerate(tests):
                if time.monotonic() > start + limit:
                    break
                if self.good.get(test["name"], True):
                    if (i == 0 or i % 8 == 2) and not self.make({file for test in tests[i:i + 8 if i else 2] for file in test["files"]}):
                        return False
                    how = self.passes(test)
                    if how and test["name"] not in self.good:
                        path.write_text(whole)
                        self.good[test["name"]] = self.make(test["files"]) and self.passes(test) is None
                        path.write_text(lines)
                        self.make(test["files"])
                    if how and self.good[test["name"]]:
                        return test["name"], how
            return None
        finally:
            path.write_text(whole)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0], description=__doc__.split("\n\n", 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--most", type=float, default=20)
    parser.add_argument("--limit", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", type=Path, default=ROOT / "build/plain")
    parser.add_argument("--times", type=Path, default=ROOT / "build/plain")
    parser.add_argument("places", metavar="PLACE", nargs="+")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the file is restored
    everything = list(chosen(args.places))
    random.Random(args.seed).shuffle(everything)
    build = Build(args.build.resolve(), args.jobs, args.times)
    killed, left = Counter(), args.count
    for name, path, n, new in everything:
        if left == 0:
            break
        start, lines = time.monotonic(), path.read_text().splitlines(keepends=True)
        found = build.killer(path, "".join([*lines[:n], new + "\n", *lines[n + 1:]]), args.most, args.limit)
        if found is not False:
            left -= 1
            killed[found[0] if found else None] += 1
            print(f"{'%s (%s)' % found if found else 'SURVIVED'}: {name}: {lines[n].strip()} -> {new.strip()} [{time.monotonic() - start:.0f} s]", flush=True)
    print(f"seed {args.seed}: {sum(killed.values())} mutants of {len(everything)}, {killed[None]} survived; "
          + ", ".join(f"{test} {count}" for test, count in killed.most_common() if test))


if __name__ == "__main__":
    main()
