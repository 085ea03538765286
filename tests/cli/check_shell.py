#!/usr/bin/python3
"""The shell of heddle query on a terminal of its own: statements, commands, Ctrl-C, Ctrl-D, the history.

usage: check_shell.py --heddle PROGRAM [--editing]

--editing: built with libedit, so that Tab completes and what was typed is kept.
"""
import argparse
import os
import pty
import re
import select
import tempfile
import time
from pathlib import Path

TIMEOUT_S = 60
TRACE = '[{"ph":"X","ts":1,"dur":2,"name":"first","pid":1,"tid":1},{"ph":"X","ts":9,"dur":1,"name":"second","pid":1,"tid":1}]'
FOREVER = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c;"


class Shell:
    def __init__(self, heddle, folder):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(TERM="xterm", XDG_STATE_HOME=str(folder / "state"), NO_COLOR="1", LC_ALL="C.UTF-8", HOME=str(folder),
                              ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")  # libedit leaks its last line
            os.execv(heddle, [heddle, "query", "trace.json"])

    def wait(self, pattern):
        """What came until then, which is taken away."""
        end = time.monotonic() + TIMEOUT_S
        while not (found := re.search(pattern, self.text, re.S)):
            assert time.monotonic() < end, f"no {pattern!r} in {self.text!r}"
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace").replace("\r", "")
                except OSError:
                    raise AssertionError(f"ended without {pattern!r}: {self.text!r}") from None
        before, self.text = self.text[:found.end()], self.text[found.end():]
        return before

    def type(self, keys, pattern="\n", prompt="heddle> "):
        """The answer to a line: the pattern, and the prompt for the next one behind it."""
        os.write(self.fd, keys.encode())
        return self.wait(pattern + ".*" + re.escape(prompt) + "$")

    def end(self, keys):
        os.write(self.fd, keys.encode())
        while True:
            try:
                if not os.read(self.fd, 65536):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def check_statements(shell, folder):
    shell.wait("heddle> $")
    shell.type("select name\r", prompt="...> ")
    shell.type("from slice;\r", r"name\n+first\nsecond\n")
    shell.type("select nope from slice;\r", r"no such column: nope; .*\^\n")
    shell.type("select 'left\x03", r"\^C")
    shell.type("select 40 + 2;\r", r"\n *42\n")
    shell.type(".rows 1\r")
    shell.type("select name from slice;\r", r"first\n.*\.rows all\n")
    shell.type(".mode csv\r")
    shell.type("select 1 as a, 'x,y' as b;\r", r'a,b\n1,"x,y"\n')
    shell.type(".param who=second\r")
    shell.type(".params\r", r"who = second\n")
    shell.type("select ts from slice where name = :who;\r", r"ts\n9000\n")
    shell.type(".timer on\r")
    shell.type("select 7 as t;\r", r"1 row, [0-9.]+ s\n")
    shell.type(".timer off\r")
    shell.type(".tables\r", r"\nslice +")
    shell.type(".schema slice\r", r"\ndur +INT ")
    shell.type(".schema slcie\r", r"did you mean slice\?")
    shell.type(".nonsense\r", r"no command of the shell")
    shell.type(".output out.csv\r")
    shell.type("select 5 as five;\r")
    shell.type(".output\r")
    (folder / "script.sql").write_text("select 11 as eleven;\n", encoding="utf-8")
    shell.type(".read script.sql\r", r"eleven\n *11\n")


def check_interrupt(shell):
    os.write(shell.fd, (FOREVER + "\r").encode())
    shell.wait("\n")
    time.sleep(0.5)
    shell.type("\x03", r"heddle: interrupted\n")
    shell.type("select 6 * 9;\r", r"\n *54\n")


def check_editing(shell):
    os.write(shell.fd, b"select ts, du\t")
    shell.wait("du[^a-z]*r")
    shell.type(" from slice order by 1;\r", r"\n *1000 +2000\n")
    shell.type("\x1b[A\r", r"\n *1000 +2000\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--editing", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "trace.json").write_text(TRACE, encoding="utf-8")
        shell = Shell(args.heddle, folder)
        check_statements(shell, folder)
        check_interrupt(shell)
        if args.editing:
            check_editing(shell)
        status = shell.end("\x04")
        assert status == 0, status
        written = (folder / "out.csv").read_bytes()
        assert written == b"five\r\n5\r\n", written
        history = folder / "state/heddle/query_history"
        assert history.exists() == args.editing
        if args.editing:
            assert "second" in history.read_text(encoding="utf-8") and history.stat().st_mode & 0o77 == 0


main()
