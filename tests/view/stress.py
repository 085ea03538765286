#!/usr/bin/env python3
"""Many clients ask `heddle view` everything at once, open and close traces, from the first moment on, and some go away in the
middle.

  stress.py --heddle HEDDLE [--answers N] [--clients N] [--events N] [FILE ...]

Without files: one made here, whose names hold control characters, broken UTF-8 and the like; as `make test` runs it.
The long form: --answers 200000 --clients 20 and a file of 50 MB, with a HEDDLE built for ThreadSanitizer.

Every answer must have a status that the protocol knows, JSON must be strict, tiles must be whole, what may be kept
for ever must always be the same, every route must have answered, and SIGTERM in the middle of it all must end the
server with 0, without a word of a sanitizer and with no file left.
"""
import argparse
import collections
import gzip
import hashlib
import http.client
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from patience import patience  # noqa: E402
from rounds import seed  # noqa: E402

SKIP = 77
STATUSES = {200, 304, 400, 404, 405, 409, 413, 414, 503}
ROUTES = ["session", "tracks", "names", "fidelity", "fidelity/list", "tiles", "event", "step", "snap", "search",
          "select", "flows", "flame", "crop", "open", "close"]
PATIENCE = patience(300)
SLOW = 20  # seconds: the server cuts off whom it waits for longer than 30

# ---- a trace full of trouble ----

NAMES = [b"plain", b"tab\\tand\\u0000NUL", b"\\u001b[31mred", b"\xff\xfe\xc3", b"\\ud800 half", b"\xed\xa0\x80",
         b"\xe2\x80\xa8line", b"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", b"</script><b>", b"%n%s", b"\\\"\\\\", b"x" * 4096,
         b"\x7f\x01raw", b"\xf0\x9f\x94\xa5", b"cudaLaunchKernel", b"_ZN2at6native3addIfEEvPT_", b"", b"NaN"]


def number(chance):
    return chance.choice([b"1.5", b"NaN", b"-Infinity", b"1e999", b"18446744073709551616", b"-0", b"12"])


def event(chance, i):
    """One event of a random sort, as bytes: some of it is not text at all."""
    name, other = chance.choice(NAMES), chance.choice(NAMES)
    pid, tid = chance.randrange(3), chance.randrange(12)
    at = i * 3 + chance.randrange(40)
    head = b'"name":"%s","cat":"%s","pid":%d,"tid":%d,"ts":%d.%03d' % (name, other[:40], pid, tid, at, i % 1000)
    sort = chance.randrange(20)
    if sort < 9:
        return b'{"ph":"X",%s,"dur":%d,"args":{"%s":"%s","n":%s}}' % (head, chance.randrange(200), name, other,
                                                                    number(chance))
    if sort < 12:
        return (b'{"ph":"X","cat":"kernel","name":"%s","pid":7,"tid":%d,"ts":%d,"dur":%d,'
                b'"args":{"device":%d,"stream":%d,"correlation":%d}}' % (name, tid, at, chance.randrange(90), pid, tid,
                                                                         i // 2))
    if sort < 14:
        return (b'{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":2,'
                b'"args":{"correlation":%d}}' % (at, i // 2))
    if sort == 14:
        return b'{"ph":"B",%s}' % head if chance.randrange(20) == 0 else b'{"ph":"i",%s,"s":"t"}' % head
    if sort == 15:
        return b'{"ph":"C",%s,"args":{"%s":%d,"b":2}}' % (head, name[:60], chance.randrange(1 << 40))
    if sort < 18:
        return b'{"ph":"%s",%s,"id":%d,"bp":"e"}' % (chance.choice([b"s", b"t", b"f"]), head, chance.randrange(300))
    if sort == 18:
        return b'{"ph":"%s",%s,"id":"0x%x"}' % (chance.choice([b"b", b"e", b"n"]), head, chance.randrange(30))
    return b'{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":"%s"}}' % (pid, tid, other)


def make_trace(path, events):
    chance = random.Random(3)
    with open(path, "wb") as file:
        file.write(b"[\n")
        file.write(b",\n".join(event(chance, i) for i in range(events)))
        file.write(b"\n]\n")


# ---- what answers must be ----

class Wrong(Exception):
    """An answer that must not be."""


def no_constant(text):
    raise Wrong("%s is not JSON" % text)


def unique(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise Wrong("a key twice: %s" % names[:20])
    return dict(pairs)


def strict_json(body):
    try:
        return json.loads(body.decode("utf-8"), parse_constant=no_constant)
    except ValueError as problem:
        raise Wrong("no strict JSON: %s in %r" % (problem, body[:300]))


def check_keys(body):
    json.loads(body.decode("utf-8"), object_pairs_hook=unique)


def aligned(at):
    return (at + 7) // 8 * 8


def walk_row(body, at):
    """Where the row of slices that begins at `at` ends."""
    columns, events, wide, _ = struct.unpack_from("<4I", body, at)
    if columns > 512 or events > 1537 or wide > 1:
        raise Wrong("a row of %d columns, %d events, wide %d" % (columns, events, wide))
    size, at = 8 if wide else 4, at + 16
    for count, bytes_each in ((columns, size), (columns, size), (columns, 4), (columns, 4), (columns, 4), (columns, 2),
                              (events, size), (events, size), (events, 4), (events, 4), (events, 1)):
        at = aligned(at + count * bytes_each)
    return at


def check_tiles(body):
    magic, tiles = struct.unpack_from("<4sI", body, 0)
    at = 8
    if magic != b"HDT1":
        raise Wrong("tiles begin with %r" % magic)
    for _ in range(tiles):
        _, flags, rows, size = struct.unpack_from("<4I", body, at)
        end, inner = at + size, at + 16
        if size % 8 or end > len(body) or flags > 7 or (flags & 4 and rows):
            raise Wrong("a tile of %d bytes, flags %d, rows %d" % (size, flags, rows))
        if not flags & 2:
            for _ in range(rows):
                inner = walk_row(body, inner)
            if inner != end:
                raise Wrong("rows of a tile end at %d, not at %d" % (inner, end))
        at = end
    if at != len(body):
        raise Wrong("%d bytes behind the last tile" % (len(body) - at))


# ---- what is asked ----

TIMES = [0, 1, -1, 2**31, -2**31, 2**53, 2**62, -2**62, 2**63 - 1, -2**63 + 1, -2**63, 2**63, 10**30, "", "1e3", "x",
         "\xe9" * 30, "%00", "-", "0x10"]
WORDS = ["a", "kernel", "\x01", "\u202e", "e" * 300, "*", "[", "(a|b)*c", "\\", "", "12", "\x7f"]


class Asker:
    """Makes up requests; knows what the server told of the trace."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.tracks, self.span, self.names, self.traces = 20, 10**9, 50, [0]

    def time(self):
        if self.chance.randrange(5) == 0:
            return self.chance.choice(TIMES)
        return self.chance.randrange(-self.span // 10, self.span * 11 // 10 + 1)

    def number(self, end):
        return self.chance.choice([-1, end, 2**32 - 1, 2**32, 2**64, "a"]) if self.chance.randrange(
            12) == 0 else self.chance.randrange(max(end, 1))

    def list_of(self, end):
        sort = self.chance.randrange(10)
        if sort == 0:
            return self.chance.choice(["", ",", "3-1", "0-9999", "0-4294967295", "1,1,1", "0-%d" % end])
        if sort < 4:
            return "0-%d" % max(0, min(end, 4096) - 1)
        return ",".join(str(self.chance.randrange(max(end, 1))) for _ in range(self.chance.randrange(1, 20)))

    def range(self):
        sort, query = self.chance.randrange(4), {}
        if sort != 0:
            query["from"] = self.time()
        if sort != 1:
            query["until"] = self.time()
        if sort == 3 and all(isinstance(t, int) for t in query.values()):
            query["from"], query["until"] = sorted(query.values())
        return query

    def query(self, route):
        pick, chance = self.chance.choice, self.chance
        if route == "session":
            return {"after": pick([0, 1, -1, 2**40, "x"])} if chance.randrange(3) == 0 else {}
        made = {
            "tracks": lambda: {},
            "names": lambda: {"ids": self.list_of(self.names)},
            "fidelity": lambda: {},
            "fidelity/list": lambda: {"what": pick(["on-lanes", "before-launch", "no-end", "negative", "no-time",
                                                    "unbound-flows", "cows"]),
                                      "limit": pick([0, 3, 1000, 1001]), "at": pick([0, 5, 10**7, 2**70])},
            "tiles": lambda: {"z": pick([0, 10, 14, 20, 25, 30, 54, 55]), "i": pick([0, 0, 1, 3, -1, 2**63 - 1, -2**63,
                                                                                     2**63]),
                              "tracks": self.list_of(self.tracks), "detail": pick(["rows", "summary", "rows", "all"])},
            "event": lambda: {"kind": pick(["slice", "slice", "instant", "async", "counter", "flow", "sample", "end",
                                            "cow"]), "row": self.number(3000)},
            "step": lambda: {"track": self.number(self.tracks), "time": self.time(),
                             "go": pick(["next", "previous", "first", "last", "back"]), "row": self.number(3000)},
            "snap": lambda: {"time": self.time(), "within": pick([0, 10**6, 2**63 - 2, 2**63 - 1]),
                             "tracks": self.list_of(self.tracks)},
            "search": lambda: {"q": pick(WORDS), "mode": pick(["text", "regex", "glob"]), "in": pick(["names", "args",
                                                                                                      "all"]),
                               "from": self.time(), "case": pick([0, 1])},
            "select": lambda: {**self.range(), "sort": pick(["total", "p99", "name", "self", "weight"])},
            "flows": lambda: {**self.range(), **pick([{"all": 1}, {"category": pick(WORDS)}, {"category": "launch"},
                                                      {"row": self.number(3000)}, {}]), "limit": pick([0, 7, 20000])},
            "flame": lambda: {**self.range(), "of": pick(["auto", "gpu-time", "cpu-time", "cpu-self", "launches",
                                                          "bytes", "samples", "love"]),
                              "by": pick(["nothing", "rank", "stream", "thread", "step", "name"]),
                              "reverse": pick([0, 1])},
            "crop": lambda: {**self.range(), "format": pick(["heddle", "json", "json.gz", "pftrace", "xls"]),
                             "clip": pick([0, 1])},
            "close": lambda: {},
        }[route]()
        if route == "close":  # never the first
            return {"trace": pick(self.traces[1:] or [99])}
        made["trace"] = pick(self.traces) if chance.randrange(20) else pick([99, -1, "x", 2**32])
        return made

    def learn(self, route, answer):
        if route == "tracks" and answer["tracks"]:
            self.tracks, self.names = len(answer["tracks"]), answer["names"]
        if route == "session":
            self.traces = [trace["id"] for trace in answer["traces"]]
            self.span = max(1000, answer["traces"][0].get("span_ns") or 0)


# ---- the crowd ----

class Crowd:
    def __init__(self, port, weights):
        self.port, self.weights = port, weights
        self.stopped, self.lock = threading.Event(), threading.Lock()
        self.counts, self.wrong, self.kept = collections.Counter(), [], {}
        self.opened, self.aborted = 0, 0

    def blame(self, path, problem):
        with self.lock:
            self.wrong.append("%s: %s" % (path[:300], problem))

    def judge(self, asker, route, path, answer, body):
        if answer.status not in STATUSES:
            raise Wrong("status %d: %r" % (answer.status, body[:200]))
        if answer.getheader("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        kind = answer.getheader("Content-Type") or ""
        if answer.status != 200 or (kind.startswith("application/json") and route != "crop"):
            told = strict_json(body)
            if answer.status != 200 and not told.get("error"):
                raise Wrong("status %d without a reason" % answer.status)
            if answer.status == 200:
                asker.learn(route, told)
                if route not in ("event", ):  # its args are as the file has them
                    check_keys(body)
        elif route == "tiles":
            check_tiles(body)
        if "immutable" in (answer.getheader("Cache-Control") or ""):
            digest = hashlib.sha1(body).digest()
            with self.lock:
                if self.kept.setdefault(path, digest) != digest:
                    raise Wrong("is immutable, and was different before")

    def ask(self, asker, route, path, chance):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"Accept-Encoding": chance.choice(["identity", "gzip"])}
        body = b'[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":5,"name":"dropped"}]' if route == "open" else None
        began = time.monotonic()
        try:
            connection.request("POST" if route in ("open", "close") else "GET", path, body, headers)
            if chance.randrange(8) == 0:  # gone before, or in the middle of the answer
                if chance.randrange(2):
                    time.sleep(chance.random() * 0.05)
                else:
                    connection.sock.recv(chance.choice([1, 100, 5000]))
                with self.lock:
                    self.aborted += 1
                    self.opened -= route == "open"
                return
            answer = connection.getresponse()
            data = answer.read()
            with self.lock:
                self.counts[route, answer.status] += 1
                self.opened -= route == "close" and answer.status == 200
            self.judge(asker, route, path, answer, data)
        except (OSError, http.client.HTTPException) as problem:
            if isinstance(problem, TimeoutError) or time.monotonic() - began < SLOW:
                raise
            with self.lock:  # this machine was too slow
                self.aborted += 1
                self.opened -= route == "open"
        finally:
            connection.close()

    def has_said(self, wanted):
        """Whether there were as many answers, and every route has had its say; one that has not after so many never will."""
        with self.lock:
            count = sum(self.counts.values())
            return count >= wanted and all(self.counts[route, 200] for route in ROUTES) or count >= 20 * wanted

    def client(self, number):
        asker = Asker(number)
        chance = asker.chance
        while not self.stopped.is_set():
            route = chance.choices(ROUTES, self.weights)[0]
            with self.lock:
                if route == "open" and self.opened >= 4:
                    continue
                self.opened += route == "open"
            query = {"name": "dropped \x01%d.json" % number} if route == "open" else asker.query(route)
            path = "/api/%s?%s" % (route, urllib.parse.urlencode(query, encoding="latin-1", errors="replace"))
            try:
                self.ask(asker, route, path, chance)
            except Wrong as problem:
                self.blame(path, problem)
            except (OSError, http.client.HTTPException) as problem:
                if not self.stopped.is_set():
                    self.blame(path, "cut off: %r" % problem)
            except Exception as problem:  # a test that breaks must not pass
                self.blame(path, "%r" % problem)


# ---- the run ----

def is_ready(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", "/api/session")
        trace = strict_json(connection.getresponse().read())["traces"][0]
    finally:
        connection.close()
    if trace["state"] == "failed":
        raise Wrong("the trace failed: %s" % trace["error"])
    return trace["state"] == "ready" and not trace["busy"]


def wait_ready(port, until):
    while not is_ready(port):
        if time.monotonic() > until:
            raise Wrong("the trace is still not ready")
        time.sleep(0.2)


def finish(process, errors):
    """What is wrong with how the server ended."""
    process.send_signal(signal.SIGTERM)
    try:
        code = process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return ["it does not end on SIGTERM"]
    errors.seek(0)
    text = errors.read().decode("utf-8", "replace")
    wrong = ["it ended with %d" % code] if code else []
    if any(word in text for word in ("Sanitizer", "runtime error", "Assertion")):
        wrong.append(text[:20000])
    return wrong


def run(args, folder, path):
    scratch = os.path.join(folder, "scratch")
    os.makedirs(scratch, exist_ok=True)
    errors = tempfile.TemporaryFile(dir=folder)
    environment = {**os.environ, "TMPDIR": scratch}
    # Work that takes longer than half a second to stop is left to the end of the process, on purpose.
    environment["TSAN_OPTIONS"] = environment.get("TSAN_OPTIONS", "") + ":report_thread_leaks=0"
    process = subprocess.Popen([args.heddle, "view", "--json", "--no-open", "--port", "0", path], stdout=subprocess.PIPE,
                               stderr=errors, env=environment)
    port = json.loads(process.stdout.readline())["port"]
    crowd = Crowd(port, [1 if route in ("select", "crop", "flame", "search") else 4 for route in ROUTES])
    first = seed(0)
    threads = [threading.Thread(target=crowd.client, args=(first + i, )) for i in range(args.clients)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    try:
        wait_ready(port, began + PATIENCE)
        ready = time.monotonic() - began
        wanted = sum(crowd.counts.values()) + args.answers
        while not crowd.wrong and not crowd.has_said(wanted):  # each answer comes within PATIENCE, or is wrong
            time.sleep(0.05)
    except (Wrong, OSError) as problem:
        crowd.blame("session", problem)
        ready = 0
    crowd.stopped.set()
    wrong = finish(process, errors)
    for thread in threads:
        thread.join()
    wrong += crowd.wrong
    wrong += ["%s never answered" % route for route in ROUTES if not crowd.counts[route, 200]]
    wrong += ["left behind: %s" % name for name in os.listdir(scratch)]
    statuses = collections.Counter()
    for (_, status), count in crowd.counts.items():
        statuses[status] += count
    print("%s: ready after %.1f s; %d answers (%s), %d given up" % (
        os.path.basename(path), ready, sum(statuses.values()),
        ", ".join("%d × %d" % (count, status) for status, count in sorted(statuses.items())), crowd.aborted), flush=True)
    for line in wrong[:20]:
        print("  wrong: %s" % line, flush=True)
    return not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--answers", type=int, default=3000, help="how many once the trace is ready")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--events", type=int, default=12000, help="of the trace that is made")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    shown = subprocess.run([args.heddle, "view", "--help"], capture_output=True, text=True)
    if shown.returncode != 0:
        print("skipped: this heddle was built without the page")
        return SKIP
    fine = True
    with tempfile.TemporaryDirectory(prefix="heddle-stress-") as folder:
        files = args.files
        if not files:
            files = [os.path.join(folder, "trouble \x1b.json")]
            make_trace(files[0], args.events)
        for path in files:
            fine = run(args, folder, path) and fine
    return 0 if fine else 1


sys.exit(main())
