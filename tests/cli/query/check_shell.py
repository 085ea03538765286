#!/usr/bin/python3
"""The shell of `heddle query` in a terminal of its own: prompts, statements, commands, completion, history, signals.

usage: tests/cli/query/check_shell.py --heddle PROGRAM

What is typed waits for the prompt, and what is printed for its pattern: nothing depends on how fast the machine is.
"""
import argparse
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from patience import patience  # noqa: E402

PATIENCE = patience(300)
PROMPT = rb"heddle> "
MORE = rb"   \.\.\.> "
ENDLESS = "select 'be' || 'gun' as x; with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c;"
TAB, UP, CTRL_C, CTRL_D, CTRL_R, CTRL_U = "\t", "\x1b[A", "\x03", "\x04", "\x12", "\x15"


class Shell:
    def __init__(self, heddle, folder):
        environment = {**os.environ, "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        environment.pop("XDG_STATE_HOME", None)
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(heddle, ["heddle", "query", "t.json"], environment)
        self.seen = b""
        self.wait_for(PROMPT)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def press(self, keys):
        """Keys of the line editor: libedit takes the terminal over behind its prompt, and what comes before is the terminal's."""
        end = time.monotonic() + PATIENCE
        while termios.tcgetattr(self.terminal)[3] & termios.ICANON:
            if time.monotonic() > end:
                raise TimeoutError("the shell does not read keys")
            time.sleep(0.001)
        self.type(keys)

    def wait_for(self, pattern):
        """What is printed up to what matches first, and with it."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.seen)):
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(f"no {pattern} in {self.seen[-2000:]}")
            self.seen += os.read(self.terminal, 65536)
        before, self.seen = self.seen[:found.end()], self.seen[found.end():]
        return before.decode(errors="surrogateescape").replace("\r", "")

    def run(self, line, prompt=PROMPT):
        """What a line prints, without the line itself, up to the next prompt."""
        self.type(line + "\n")
        self.wait_for(re.escape(line.encode()) + rb"\r\n")
        # libedit sets the terminal's mode behind its prompt: what is typed before that is echoed twice.
        return re.sub(prompt.decode() + "$", "", self.wait_for(prompt)).removeprefix(line + "\n")

    def complete(self, line, made):
        """Tab makes `made` of a line, which is then given up."""
        self.press(line + TAB)
        self.wait_for(PROMPT + re.escape(made.encode()))
        self.type(CTRL_C)
        self.wait_for(rb"\^C\r\n" + PROMPT)

    def wait(self):
        """The exit status; a shell that does not end is killed."""
        end = time.monotonic() + PATIENCE
        while not (done := os.waitpid(self.pid, os.WNOHANG))[0]:
            if time.monotonic() > end:
                self.kill()
                raise TimeoutError("the shell did not end")
            time.sleep(0.01)
        self.pid = None
        return os.waitstatus_to_exitcode(done[1])

    def kill(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = None

    def close(self):
        self.kill()
        os.close(self.terminal)


def expect(got, wanted):
    assert got == wanted, f"{got!r}, not {wanted!r}"


def statements(shell, _folder):
    expect(shell.run("select 1", MORE), "")
    expect(shell.run("+ 1 as two;"), "two\n  2\n")
    expect(shell.run("select name from slice; select 'a;b' as x;"), "name\na\nb\n\nx\na;b\n")
    expect(shell.run("select ';", MORE), "")
    assert "error" not in (text := shell.run("' as x;")) and text.startswith("x"), text
    expect(shell.run("select nme from slice;"),
           "heddle: no such column: nme; did you mean name?\n  select nme from slice;\n         ^\n")
    expect(shell.run("select 1,", MORE), "")
    assert "\n  +;\n   ^\n" in (text := shell.run("+;")), text
    expect(shell.run("-- a comment alone"), "")


def commands(shell, folder):
    text = shell.run(".tables")
    assert re.search(r"^slice  +slices, instants", text, re.M) and re.search(r"^interval_union ", text, re.M), text
    text = shell.run(".schema slice")
    assert text.startswith("slice: ") and re.search(r"^dur +INT +duration", text, re.M), text
    expect(shell.run(".schema slcie"), "heddle: no such table; did you mean slice?\n")
    expect(shell.run(".nope"), "heddle: .nope is not a command of the shell, or lacks a word; .help lists them\n")
    assert ".timer on|off" in shell.run(".help")
    shell.run(".timer on")
    assert re.fullmatch(r"five\n   5\n1 row, \d+\.\d{3} s\n", text := shell.run("select 5 as five;")), text
    shell.run(".timer off")
    shell.run(".mode csv")
    expect(shell.run("select 1 as a, 'x,y' as b;"), 'a,b\n1,"x,y"\n')
    expect(shell.run(".mode xml"), "heddle: .mode: table, csv, json, jsonl or md, not 'xml'\n")
    shell.run(".mode table")
    shell.run(".param n=3")
    expect(shell.run("select :n + 1 as n;"), "n\n4\n")
    expect(shell.run(".params"), "n = 3\n")
    shell.run(".rows 1")
    expect(shell.run("select name from slice;"), "name\na\n… there are more rows; .rows all\n")
    shell.run(".rows all")
    (folder / "script.sql").write_text("select 7 as seven;\nselect\n  x from slice;\n")
    text = shell.run(".read script.sql")
    assert text.startswith("seven\n    7\n") and "script.sql:3" in text and text.endswith("\n    x from slice;\n    ^\n"), text
    assert "missing.sql" in (text := shell.run(".read missing.sql")), text


def output(shell, folder):
    shell.run(".output out.csv")
    expect(shell.run("select name from slice;"), "")
    shell.run(".output")
    expect((folder / "out.csv").read_bytes(), b"name\na\nb\n")
    expect(shell.run("select 1 as x;"), "x\n1\n")
    shell.run(".output out.parquet")
    expect(shell.run("select name from slice;"), "")
    expect((folder / "out.parquet").read_bytes()[:4], b"PAR1")
    expect(shell.run("select 1 as x;"), "x\n1\n")
    assert "no/such" in (text := shell.run(".output no/such/out.csv")), text
    expect(shell.run("select 1 as x;"), "x\n1\n")


def completion(shell, _folder):
    shell.complete("select * from thread_tr", "select * from thread_track ")
    shell.complete("select arg_set", "select arg_set_id ")
    shell.complete("select name from slice where corr", "select name from slice where correlation ")
    shell.complete("select extract_a", "select extract_arg(")
    shell.complete(".ti", ".timer ")
    shell.complete(".timer of", ".timer off ")
    shell.complete(".schema thread_tr", ".schema thread_track ")
    shell.run("create view my_own_view as select 1 as x;")
    shell.complete("select * from my_o", "select * from my_own_view ")
    # Several that have no more in common are listed.
    shell.press("select * from thread_" + TAB)
    text = shell.wait_for(rb"\n" + PROMPT + rb"select \* from thread_")
    assert "thread_slice" in text and "thread_state" in text, text
    shell.type(CTRL_C)
    shell.wait_for(rb"\^C\r\n" + PROMPT)


def signals(shell, _folder):
    shell.run("select 1", MORE)
    shell.type(CTRL_C)  # the statement so far is given up
    shell.wait_for(rb"\^C\r\n" + PROMPT)
    expect(shell.run("select 2 as x;"), "x\n2\n")
    shell.type("select not_meant" + CTRL_C)
    shell.wait_for(rb"\^C\r\n" + PROMPT)
    for _ in range(2):
        shell.type(ENDLESS + "\n")
        shell.wait_for(rb"begun\r\n")
        shell.type(CTRL_C)
        assert "heddle: interrupted\n" in (text := shell.wait_for(PROMPT)), text
    expect(shell.run("select 3 as x;"), "x\n3\n")
    # More of them than statements: none ends the shell.
    shell.type(ENDLESS + "\n")
    shell.wait_for(rb"begun\r\n")
    for _ in range(20):
        os.kill(shell.pid, signal.SIGINT)
        time.sleep(0.002)
    shell.wait_for(rb"interrupted\r\n")
    shell.type("select 4 as four;\n")
    shell.wait_for(rb"four\r\n   4\r\n")


def changed(shell, folder):
    """The file changes below the trace."""
    store = folder / "t.json"
    expect(shell.run("select count(*) as n from slice;"), "   n\n1926\n")
    os.truncate(store, 3000)
    for _ in range(2):
        assert "the file changed after it was opened: open it again\n" in (text := shell.run("select sum(dur) from slice;")), text
    expect(shell.run("select 1 as x;"), "x\n1\n")
    shell.type(".quit\n")
    expect(shell.wait(), 0)


def history(shell, folder):
    shell.press(UP)
    shell.wait_for(rb"select 4 as four;")
    shell.press(CTRL_U)
    shell.press(CTRL_R + "+ 1 as t")
    shell.wait_for(rb"select 1 \+ 1 as two;")  # a statement of two lines is one
    shell.type("\n")
    shell.wait_for(rb"two\r\n  2\r\n")
    shell.wait_for(PROMPT)
    shell.press(CTRL_D)
    expect(shell.wait(), 0)
    kept = folder / ".local/state/heddle/query_history"
    assert "four" in kept.read_text()
    expect(kept.stat().st_mode & 0o777, 0o600)
    expect(kept.parent.stat().st_mode & 0o777, 0o700)


def history_is_read(shell, _folder):
    shell.press(UP)
    shell.wait_for(rb"select 1 \+ 1 as two;")
    shell.type("\n")
    shell.wait_for(rb"two\r\n  2\r\n")
    shell.wait_for(PROMPT)
    shell.type(".quit\n")
    expect(shell.wait(), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", type=Path, required=True)
    heddle = parser.parse_args().heddle.resolve()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="heddle-shell-") as folder:
        folder = Path(folder)
        events = [{"ph": "X", "cat": "k", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 2} for name in "ab"]
        (folder / "t.json").write_text(json.dumps(events))
        for part in ([statements, commands, output, completion, signals, history], [history_is_read], [changed]):
            if part == [changed]:
                subprocess.run([heddle, "synth", "-q", "--steps", "3", "--layers", "2", "--seed", "7", "-o", "t.heddle"], cwd=folder,
                               check=True)
                (folder / "t.heddle").rename(folder / "t.json")
            shell = Shell(heddle, folder)
            try:
                for step in part:
                    step(shell, folder)
            except (AssertionError, TimeoutError, OSError) as error:
                print(f"FAIL: {step.__name__}, line {error.__traceback__.tb_next.tb_lineno}: {error}")
                failed += 1
                break
            finally:
                shell.close()
    print("the shell fails" if failed else "the shell does what it should")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
