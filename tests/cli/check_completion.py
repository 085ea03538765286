#!/usr/bin/python3
"""Real shells complete heddle's words: bash, and zsh and fish where they are installed.

usage: tests/cli/check_completion.py --heddle PROGRAM

A shell runs in a terminal of its own, where `heddle` prints its arguments, but asks the real one for completions. A line
is typed, the Tab key, and Return: what is printed is what the shell made of it.
"""
import argparse
import fcntl
import json
import os
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
from patience import patience  # noqa: E402

# What is typed, and the words that come of it.
LINES = [
    ("flam", ["flame"]),
    ("kern", ["kernels"]),
    ("kernels --lin", ["kernels", "--linked"]),
    ("job comb", ["job", "combine"]),
    ("flame --by dev", ["flame", "--by", "device"]),
    ("flame --by=dev", ["flame", "--by=device"]),
    ("flame --revers", ["flame", "--reverse"]),
    ("flame --diff -o gra", ["flame", "--diff", "-o", "graph.svg"]),
    ("convert --to perf", ["convert", "--to", "perfetto"]),
    ("convert --pass attr", ["convert", "--pass", "attribution"]),
    ("convert --pass crop:cl", ["convert", "--pass", "crop:clip"]),
    ("convert trace.json --category ker", ["convert", "trace.json", "--category", "kernel"]),
    ("convert trace.json --category kernel,gpu_mem", ["convert", "trace.json", "--category", "kernel,gpu_memcpy"]),
    ("check --only crossing,time-o", ["check", "--only", "crossing,time-outlier"]),
    ("info other/a\\ b", ["info", "other/a b.heddle"]),
    ("info tra", ["info", "trace.json"]),
    ("--all trace", ["--all", "trace.json"]),
    ("--rows 1 --js", ["--rows", "1", "--json"]),
    ("report mem", ["report", "memory"]),
    ("report memory --no-st", ["report", "memory", "--no-stacks"]),
    ("timeline --tra", ["timeline", "--tracks"]),
    ("report check --tab", ["report", "check", "--table"]),
    ("memory --csv lea", ["memory", "--csv", "leaks"]),
    ("synth --damage nan,quo", ["synth", "--damage", "nan,quote"]),
    ("help symbol", ["help", "symbolize"]),
    ("completion fi", ["completion", "fish"]),
]
WRAPPER = '; heddle() { if [ "$3" = -- ]; then command heddle "$@"; else command args "$@"; fi; }; echo rea""dy\r'
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             "bind 'set enable-bracketed-paste off'; eval \"$(command heddle completion bash)\""),
    "zsh": (["zsh", "-f", "-i"],
            "unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D; eval \"$(command heddle completion zsh)\""),
}


class Shell:
    def __init__(self, command, folder, environment):
        self.terminal, self.line = os.openpty()  # our side and its
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.line, termios.TIOCSCTTY, 0)
            for descriptor in range(3):
                os.dup2(self.line, descriptor)
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.seen = b""

    def type(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, pattern):
        """What matches first of what is printed from now on."""
        end = time.monotonic() + patience(300)
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(self.seen[-400:])
            self.seen += os.read(self.terminal, 65536)
        self.seen = self.seen[found.end():]
        return found

    def complete(self, line):
        # Tab may have to ask heddle: Return is not typed before the shell has read it, and waits behind it.
        self.type(f"heddle {line}\t")
        end = time.monotonic() + patience(300)
        while (termios.tcgetattr(self.line)[3] & termios.ICANON or self.unread()) and time.monotonic() < end:
            time.sleep(0.001)
        self.type("\r")
        return json.loads(self.wait_for(rb"ARGS(\[.*?\])\r?\n").group(1))

    def unread(self):
        """How many typed characters the shell has not read."""
        return struct.unpack("i", fcntl.ioctl(self.line, termios.FIONREAD, b"\0" * 4))[0]

    def close(self):
        os.close(self.line)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def in_terminal(name, folder, environment):
    command, setup = SHELLS[name]
    shell, failed = Shell(command, folder, {**environment, "TERM": "dumb", "HISTFILE": ""}), 0
    try:
        shell.type(setup + WRAPPER)
        shell.wait_for(rb"\bready\r?\n")
        for line, wanted in LINES:
            try:
                made = shell.complete(line)
            except TimeoutError as error:
                made = f"nothing; the terminal shows {error}"
            if made != wanted:
                print(f"FAIL: {name}: {line!r} becomes {made}, not {wanted}")
                failed += 1
            if isinstance(made, str):
                break
    finally:
        shell.close()
    return failed


def in_fish(folder, environment):
    failed = 0
    for line, wanted in LINES:
        if "gra" in line or "a\\ b" in line or line == "info tra":
            continue  # fish offers files itself
        script = f"heddle completion fish | source; complete -C 'heddle {line}'"
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
        offered = [row.split("\t")[0] for row in done.stdout.splitlines()]
        if offered != wanted[-1:]:
            print(f"FAIL: fish: {line!r} offers {offered}, not {wanted[-1:]}: {done.stderr}")
            failed += 1
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", type=Path, required=True)
    heddle = parser.parse_args().heddle.resolve()
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory(prefix="heddle-completion-") as folder:
        folder = Path(folder)
        (folder / "bin").mkdir()
        (folder / "bin/heddle").symlink_to(heddle)
        (folder / "bin/args").write_text(f"#!{sys.executable}\nimport json, sys\nprint('ARGS' + json.dumps(sys.argv[1:]))\n")
        (folder / "bin/args").chmod(0o755)
        (folder / "other").mkdir()
        for name in ("graph.svg", "trash.c", "other/a b.heddle", "other/a b.c"):
            (folder / name).write_text("")
        events = [{"ph": "X", "cat": cat, "name": "x", "pid": 1, "tid": 1, "ts": 1, "dur": 1} for cat in ("kernel", "gpu_memcpy")]
        (folder / "trace.json").write_text(json.dumps(events))
        environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
        for name in ("bash", "zsh", "fish"):
            if not shutil.which(name):
                print(f"{name} is not installed: skipped")
                skipped += 1
                continue
            bad = in_fish(folder, environment) if name == "fish" else in_terminal(name, folder, environment)
            passed, failed = passed + (not bad), failed + bool(bad)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
