#!/usr/bin/python3
"""A page of `heddle view --save` in Firefox, from file://, without a server: its figures are those of the command.

usage: tests/wasm/firefox.py --heddle PROGRAM [--pictures FOLDER] [FILE...]

FILE: traces that are saved and compared, one page each; one of its own without. Firefox is driven by the protocol that it
has (Marionette). Exits with 77, and says why, where Firefox or the engine is missing.
"""
import argparse
import base64
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import SKIP, make_trace

PATIENCE = 600  # seconds
ROWS = "select name, count(*), sum(dur), min(ts), max(dur) from slice group by 1 order by 3 desc, 1 limit 40"
SETTLED = """
const done = arguments[arguments.length - 1];
const look = async () => {
  const session = window.heddle && JSON.parse(await (await window.heddleTransport.fetch("api/session", {})).text());
  const all = session && session.traces.length > 0 && session.traces.every(trace => trace.state === "ready" && !trace.busy);
  if (all && window.heddle.app.tiles.idle(false)) done(session.traces.map(trace => trace.name)); else setTimeout(look, 50);
};
look();"""
QUERY = """
const done = arguments[arguments.length - 1];
window.heddleTransport.fetch("api/query", {method: "POST", body: arguments[0]}).then(answer => answer.text()).then(done);"""


class Firefox:
    def __init__(self, program, folder):
        (folder / "user.js").write_text('user_pref("marionette.port", 0);\n')
        self.program = subprocess.Popen([program, "--headless", "--marionette", "--no-remote", "--profile", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.count, port, end = 0, folder / "MarionetteActivePort", time.monotonic() + PATIENCE
        while not (port.exists() and port.read_text().strip()):
            assert self.program.poll() is None and time.monotonic() < end, "Firefox does not start"
            time.sleep(0.1)
        self.socket = socket.create_connection(("127.0.0.1", int(port.read_text())), PATIENCE)
        self.answer()
        self.ask("NewSession", {})
        self.ask("SetTimeouts", {"script": PATIENCE * 1000, "pageLoad": PATIENCE * 1000})

    def answer(self):
        size = b""
        while not size.endswith(b":"):
            size += self.socket.recv(1)
        text, size = b"", int(size[:-1])
        while len(text) < size:
            text += self.socket.recv(size - len(text))
        return json.loads(text)

    def ask(self, what, of):
        self.count += 1
        text = json.dumps([0, self.count, "WebDriver:" + what, of]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, value = self.answer()
        assert not error, error
        return value and value.get("value")

    def run(self, script, *words):
        return self.ask("ExecuteAsyncScript", {"script": script, "args": words})

    def stop(self):
        self.program.terminate()
        self.program.wait()


def check(firefox, heddle, trace, folder, pictures):
    page = folder / "page.html"
    subprocess.run([heddle, "view", "-q", "--save", page, trace], check=True)
    begin = time.monotonic()
    firefox.ask("Navigate", {"url": page.as_uri()})
    names = firefox.run(SETTLED)
    seconds = time.monotonic() - begin
    assert names == [trace.name], names
    rows = json.loads(firefox.run(QUERY, ROWS))["rows"]
    expected = [list(row.values()) for row in json.loads(subprocess.run([heddle, "query", "-q", "-f", "json", trace, ROWS], check=True, capture_output=True).stdout)]
    assert rows and rows == expected, (rows[:2], expected[:2])
    if pictures:
        (pictures / (trace.name + ".png")).write_bytes(base64.b64decode(firefox.ask("TakeScreenshot", {"full": False})))
    print(f"{trace.name}: {4 * len(rows)} numbers in Firefox are those of the command; settled after {seconds:.1f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", type=Path, required=True)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_args()
    program = shutil.which("firefox") or shutil.which("firefox-esr")
    if not program:
        print("skipped: there is no firefox (package firefox-esr)")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="heddle-firefox-") as name:
        folder = Path(name)
        (folder / "profile").mkdir()
        own = folder / "own.json"
        make_trace(own, 1)
        firefox = Firefox(program, folder / "profile")
        try:
            for trace in args.files or [own]:
                check(firefox, args.heddle.resolve(), trace, folder, args.pictures)
        finally:
            firefox.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
