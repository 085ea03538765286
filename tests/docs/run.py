#!/usr/bin/python3
"""Runs the examples of README.md, docs and the guide for coding agents.

usage: tests/docs/run.py --heddle PROGRAM [--python FOLDER] [--update] [-v] [PAGE...]

What is an example:

    ```console    each line "$ COMMAND" runs, and must print what follows it; a line "…" stands for any lines
    ```sh         each line that begins with heddle runs, and must succeed; indented lines and blocks without a language too
    ```sql        the statement runs over two ranks, and gives rows (but those of the ledger, which is empty)
    ```python     all blocks of a page run as one program, with --python FOLDER (where the package heddle is), else are compiled
    | `heddle …`  a command in a table of README.md runs

Each page has a folder of its own with the inputs that make_inputs() writes. A command that cannot run here (NOT_RUN) is held against
`heddle help`: its options must exist. `--update` writes what console blocks print now: read the diff before you commit it.
"""
import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from patience import patience  # noqa: E402
import diff_inputs  # noqa: E402

# Commands that need a GPU, a person, a server, the kernel's tracing, or a file that is not in the tree.
NOT_RUN = re.compile(r"heddle (record|trigger|view|devices|completion|query \S+$|clocks .*--ntp)\b"
                     r"|app\.perf|perf\.data|trace\.dat|rank7\b|37=|\.parts|profile\.json|/tmp/out|--operations|<|PID")
# Commands that exit with 1 for what they find.
FINDS = re.compile(r"heddle (report )?(check|clocks)\b|--strict|--against")
# Python that needs another package, or a GPU.
PYTHON_NOT_RUN = re.compile(r"torch\.|pyspark|heddle\.record\(|address, size|subprocess|dask")


def pages(names):
    every = [ROOT / "README.md", ROOT / "examples/README.md", ROOT / "share/skill/SKILL.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in every if not names or any(name in str(page.relative_to(ROOT)) for name in names)]


def examples(text, cells):
    """(language, first line, lines) of each block: fenced, indented after a blank line, or, with `cells`, in a table."""
    lines, found, n = text.split("\n"), [], 0
    while n < len(lines):
        line = lines[n]
        if line.startswith("```"):
            end = next(k for k in range(n + 1, len(lines)) if lines[k].startswith("```"))
            found.append((line[3:].strip(), n + 1, lines[n + 1:end]))
            n = end
        elif line.startswith("    ") and (n == 0 or not lines[n - 1].strip()):
            end = next((k for k in range(n, len(lines)) if lines[k].strip() and not lines[k].startswith("    ")), len(lines))
            found.append(("", n, [text[4:] for text in lines[n:end]]))
            n = end - 1
        elif cells and line.startswith("|"):
            found.append(("cell", n, [cell.replace("\\|", "|") for cell in re.findall(r"(?<=[ (])`(heddle [^`]+ [^`]+)`", line)]))
        n += 1
    return found


def make_inputs(heddle, folder):
    """What the documents name: traces of one rank, ranks of a job, summaries, stacks, captures."""
    def run(*args):
        subprocess.run([heddle, *args], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    def same(source, *names):
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            os.link(folder / source, folder / name)

    small = ("synth", "-q", "--steps", "4")
    run(*small, "-o", "trace.json")
    run(*small, "-o", "trace.json.gz")
    run(*small, "--seed", "2", "-o", "other.json")
    same("other.json", "new.json", "after.json", "old.json", "before.json", "run.json")
    run("synth", "-q", "--ranks", "2", "--steps", "6", "-o", "train.json")
    run("convert", "-q", "train_rank0.json", "train_rank0.heddle")
    run("synth", "-q", "--ranks", "4", "--steps", "4", "-o", "rank.json.gz")
    for n in range(4):
        (folder / f"rank_rank{n}.json.gz").rename(folder / f"rank{n}.json.gz")
        same(f"rank{n}.json.gz", f"traces/rank{n}.json.gz")
        run("convert", "-q", f"rank{n}.json.gz", f"rank{n}.json")
        run("convert", "-q", f"rank{n}.json.gz", f"rank{n}.heddle")
        run("summarize", "-q", f"rank{n}.json.gz", "-o", f"rank{n}.hds")
        same(f"rank{n}.hds", f"parts/rank{n}.hds")
    run("combine", "-q", "parts", "-o", "job.hds")
    run("synth", "-q", "--cupti", "--stacks", "stacks.txt", "--stack-offset", "3s", "-o", "cupti.json")
    same("stacks.txt", "cpu.txt", "stacks.folded")
    same("cupti.json", "gpu.json")
    run("convert", "-q", "trace.json", "trace.heddle")
    run("convert", "-q", "trace.json", "a.heddle")
    (folder / "scorep").mkdir()
    run("convert", "-q", "trace.json", "scorep/traces.otf2")
    (folder / "kernels.sql").write_text("select count(*) as calls from gpu_slice where name like '%' || :name || '%';\n")
    (folder / "table.csv").write_text("name,size\na,1\n")
    diff_inputs.make(heddle, folder)
    capture = ROOT / "fuzz/corpus/capture"
    for path in sorted(capture.glob("*.hdcap"))[:1]:
        shutil.copy(path, folder / "run.hdcap")
        same("run.hdcap", "rank0.hdcap", "rank1.hdcap")


class Page:
    def __init__(self, path, inputs, env, args):
        self.path, self.env, self.args, self.problems, self.ran, self.held = path, env, args, [], 0, 0
        self.name = str(path.relative_to(ROOT))
        self.text = path.read_text(encoding="utf-8")
        self.work = tempfile.TemporaryDirectory(prefix="heddle-docs-")
        self.folder = Path(self.work.name) / "here"
        shutil.copytree(inputs, self.folder, copy_function=os.link)
        self.helped = {}

    def problem(self, line, what):
        self.problems.append(f"{self.name}:{line + 1}: {what}")

    def sh(self, command):
        self.ran += 1
        if self.args.verbose:
            print(f"{self.name}: {command}", flush=True)
        done = subprocess.run(["/bin/sh", "-c", command], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=patience(300), check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def hold(self, line, command):
        """The options of a command that does not run exist."""
        self.held += 1
        try:
            words = shlex.split(command, comments=True)
        except ValueError:
            return
        words = words[words.index("heddle") + 1:]
        if "--" in words:
            words = words[:words.index("--")]
        topic = words[:2] if words[:1] == ["report"] else words[:1]
        key = " ".join(topic)
        if key not in self.helped:
            done = subprocess.run([self.args.heddle, "help", *topic], env=self.env, capture_output=True, text=True, check=False)
            self.helped[key] = done.stdout + done.stderr
        for word in words[1:]:
            option = re.match(r"--?[A-Za-z][\w-]*", word)
            if option and not re.search(rf"(?<![\w-]){re.escape(option[0])}(?![\w-])", self.helped[key]):
                self.problem(line, f"'heddle help {key}' has no {option[0]}: {command}")

    def command(self, line, command):
        if NOT_RUN.search(command.split("#")[0].strip()):
            self.hold(line, command)
            return
        status, said = self.sh(command)
        if status > (1 if FINDS.search(command) else 0):
            self.problem(line, f"exit {status}: {command}\n{said}")

    def console(self, first, lines):
        """Runs a block, and returns it as it is now."""
        new, n = [], 0
        while n < len(lines):
            command = lines[n].removeprefix("$ ")
            end = next((k for k in range(n + 1, len(lines)) if lines[k].startswith("$ ")), len(lines))
            wanted = lines[n + 1:end]
            if NOT_RUN.search(command):
                self.hold(first + n, command)
                new += lines[n:end]
            else:
                shown = self.sh(command)[1].replace(str(self.folder), ".").rstrip("\n")
                shown = shown.split("\n") if shown else []
                while wanted and not wanted[-1]:
                    wanted.pop()
                pattern = "".join(r"(?:.*\n)*" if text.strip() == "…" else re.escape(text.rstrip() + "\n") for text in wanted)
                if re.fullmatch(pattern, "".join(text.rstrip() + "\n" for text in shown)):
                    new += lines[n:end]
                else:
                    self.problem(first + n, "prints something else (--update):\n" + "\n".join(
                        difflib.unified_diff(wanted, shown, "shown", "printed", n=0, lineterm="")))
                    new += [lines[n], *[text.rstrip() for text in shown]]
            n = end
        return new

    def python(self, blocks):
        program = "".join(GIVEN + code + "\n" for _, code in blocks if not PYTHON_NOT_RUN.search(code))
        for line, code in blocks:
            try:
                compile(code, self.name, "exec")
            except SyntaxError as error:
                self.problem(line, f"{error}")
        if not self.args.python or not program:
            return
        self.ran += 1
        done = subprocess.run([sys.executable, "-c", program], cwd=self.folder, capture_output=True, text=True, check=False,
                              env=self.env | {"PYTHONPATH": self.args.python}, timeout=patience(300))
        if done.returncode and "No module named" not in done.stderr.rsplit("\n", 2)[-2]:
            self.problem(blocks[0][0], f"Python:\n{done.stderr}")

    def run(self):
        lines, python, shown = self.text.split("\n"), [], []
        for language, first, block in examples(self.text, self.name == "README.md"):
            if language == "console":
                shown.append((first, len(block), self.console(first, block)))
            elif language == "sql":
                (self.folder / "block.sql").write_text("\n".join(block))
                status, said = self.sh("heddle query -q -f csv -i block.sql train_rank0.heddle train_rank1.json")
                if status or (said.count("\n") < 2 and "from ledger" not in "\n".join(block)):
                    self.problem(first, f"exit {status}: {said}")
            elif language == "python":
                python.append((first, "\n".join(block)))
            elif language in ("sh", "", "cell"):
                for n, line in enumerate(block):
                    line = line.removeprefix("$ ")
                    if line.startswith("heddle ") and not line.endswith("\\"):
                        self.command(first + (n if language != "cell" else 0), line if language else AFTER.sub("", line))
        if python:
            self.python(python)
        for first, count, new in reversed(shown):
            lines[first:first + count] = new
        if self.args.update and lines != self.text.split("\n"):
            self.path.write_text("\n".join(lines), encoding="utf-8")
            print(f"{self.name}: updated")


# Blocks without a language align a meaning with two spaces and no "#".
AFTER = re.compile(r" {2,}.*")
# What each block of Python takes as given.
GIVEN = """
import heddle
trace, t0, t1 = heddle.open("trace.json.gz"), 0, 10**18
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True, type=os.path.abspath)
    parser.add_argument("--python", type=os.path.abspath)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("pages", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heddle-docs-") as base:
        inputs, programs = Path(base) / "inputs", Path(base) / "bin"
        inputs.mkdir()
        programs.mkdir()
        (programs / "heddle").symlink_to(args.heddle)
        env = {key: value for key, value in os.environ.items() if not key.startswith(("HEDDLE_", "LC_", "NO_COLOR"))}
        env.update(PATH=f"{programs}:{env.get('PATH', '/usr/bin:/bin')}", LANG="C.UTF-8", TERM="dumb", XDG_CONFIG_HOME=base)
        make_inputs(args.heddle, inputs)
        failed = ran = held = 0
        for path in pages(args.pages):
            page = Page(path, inputs, env, args)
            page.run()
            ran, held, failed = ran + page.ran, held + page.held, failed + len(page.problems)
            print("".join(f"{text}\n" for text in page.problems), end="")
    print(f"{ran} run, {held} held against help, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
