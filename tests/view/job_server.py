"""A `heddle view` of a job, asked by its routes, and the pictures that it answers with."""
import json
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from patience import patience  # noqa: E402

PATIENCE_S = patience(300)
open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


class Server:
    def __init__(self, heddle, *arguments):
        self.process = subprocess.Popen([str(a) for a in (heddle, "view", "--json", "--no-open", "--port", "0", *arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.base = "http://127.0.0.1:%d/api/" % json.loads(self.process.stdout.readline())["port"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait() in (0, 1)  # 1: a file could not be read

    def ask(self, route, method="GET", ok=200):
        try:
            with open_url(urllib.request.Request(self.base + route, method=method), timeout=PATIENCE_S) as answer:
                status, body, kind = answer.status, answer.read(), answer.headers["Content-Type"]
        except urllib.error.HTTPError as error:
            status, body, kind = error.code, error.read(), error.headers["Content-Type"]
        assert status == ok, (route, status, body[:300])
        return json.loads(body) if kind.startswith("application/json") else body

    def session(self, holds):
        """The session once that is so."""
        end, revision = time.monotonic() + PATIENCE_S, None
        while time.monotonic() < end:
            said = self.ask("session" + (f"?after={revision}" if revision else ""))
            if holds(said):
                return said
            revision = said["revision"]
        raise AssertionError(said)

    def ready(self, count):
        """The traces once so many are laid out."""
        return self.session(lambda said: sum(t["state"] == "ready" and not t["busy"] for t in said["traces"]) == count)["traces"]

    def picture(self):
        self.session(lambda said: not said["job"] or said["job"]["done"] == said["job"]["files"])
        head, figures = decode(self.ask("job"))
        late, more = decode(self.ask(f"job/late?of={head['number']}"))
        return {**head, "roles": {r["name"]: r["at"] for r in late["roles"]}, "late_notes": late["notes"]}, {**figures, **more}


def decode(body):
    """The text of a picture, and its figures by name; None: not known."""
    assert body[:4] == b"HDJ1", body[:100]
    size, = struct.unpack_from("<I", body, 4)
    head, at = json.loads(body[8:8 + size]), (8 + size + 7) // 8 * 8
    figures = {}
    for each in head["figures"]:
        list_of = struct.unpack_from(f"<{head['cells']}{'dI'[each['bytes'] == 4]}", body, at)
        figures[each["name"]] = [None if f != f or each["bytes"] == 4 and f == 0xffffffff else int(f) for f in list_of]
        at += (each["bytes"] * head["cells"] + 7) // 8 * 8
    assert at == len(body)
    return head, figures
