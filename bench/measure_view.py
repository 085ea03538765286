#!/usr/bin/env python3
"""Memory and times of the server of `heddle view`: while it lays a file out, and while it is asked everything.

  measure_view.py HEDDLE FILE [--json] [--runs 5] [--clients 20]

Samples RssAnon (memory that is of no file) every 20 ms. Prints how long after the command the tiles of the whole trace are
there, the peak of each step of the layout, of each question,
asked singly and then all at once, with the median time of the runs; and how long batches of 100 tracks' tiles take
while many clients ask, each a process of its own.
"""
import argparse
import http.client
import json
import multiprocessing
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse

SAMPLE_S, BATCH_TRACKS, BATCHES, CROP_SHARE, WIDTH = 0.02, 100, 30, 0.0005, 1600


class Memory:
    """The peak of a process's RssAnon since it was last asked for, in MB."""

    def __init__(self, pid):
        self.path, self.peak, self.lock, self.ended = f"/proc/{pid}/status", 0.0, threading.Lock(), False
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def now(self):
        try:
            with open(self.path, encoding="ascii") as file:
                for line in file:
                    if line.startswith("RssAnon:"):
                        return int(line.split()[1]) / 1024
        except OSError:
            pass
        return 0.0

    def watch(self):
        while not self.ended:
            value = self.now()
            with self.lock:
                self.peak = max(self.peak, value)
            time.sleep(SAMPLE_S)

    def take(self):
        value = self.now()
        with self.lock:
            peak, self.peak = max(self.peak, value), 0.0
        return peak


class Client:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def get(self, route, **params):
        """(seconds, body)"""
        query = urllib.parse.urlencode({"trace": 0, **params}, safe=",-")
        begin = time.perf_counter()
        self.connection.request("GET", f"/api/{route}?{query}")
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{route}?{query}: {answer.status} {body[:200]!r}")
        return time.perf_counter() - begin, body


def wait(client, memory):
    """Until everything is laid out; peaks by what the server said it did."""
    steps, last, begin, session = {}, "reading", time.perf_counter(), {}
    while True:
        session = json.loads(client.get("session")[1])["traces"][0]
        if session["state"] == "failed":
            raise RuntimeError(session["error"])
        what = (session["busy"] or "rest").split(":")[0] if session["state"] == "ready" else "reading"
        steps[last] = max(steps.get(last, 0), memory.take())
        last = what
        if what == "rest":
            return steps, time.perf_counter() - begin, session
        time.sleep(SAMPLE_S)


def first_tiles(client, began):
    """Seconds from the command to the tiles of the whole trace, as wide as a window."""
    while json.loads(client.get("session")[1])["traces"][0]["state"] == "reading":
        time.sleep(0.002)
    session = json.loads(client.get("session", **{"with": "tracks"})[1])
    span, tracks = session["traces"][0]["span_ns"], session["lists"][0]["tracks"]
    ids, z = ",".join(str(t["id"]) for t in tracks[:BATCH_TRACKS] if t["kind"] != "section"), zoom_of(span, WIDTH)
    for i in range((span >> z >> 9) + 1):
        client.get("tiles", z=z, i=i, tracks=ids)
    return time.perf_counter() - began


def zoom_of(span, columns):
    """The zoom at which a span takes about so many columns."""
    z = 0
    while z < 54 and span >> z > columns:
        z += 1
    return z


def questions(client, session):
    """name -> (route, params)"""
    span = session["span_ns"]
    tracks = [t for t in json.loads(client.get("tracks")[1])["tracks"] if t["kind"] != "section"]
    ids = ",".join(str(t["id"]) for t in tracks[:BATCH_TRACKS])
    asked = {"session": ("session", {}), "tracks": ("tracks", {}), "fidelity": ("fidelity", {}),
             "fidelity list": ("fidelity/list", {"what": "before-launch"}), "names": ("names", {"ids": "1-500"})}
    for columns in (512, 65536, 1 << 22):
        z = zoom_of(span, columns)
        asked[f"tiles z={z}"] = ("tiles", {"z": z, "i": (span >> z >> 9) // 2, "tracks": ids})
    for text, mode in (("kernel", "text"), ("gemm.*_[0-9]+", "regex"), ("*add*", "glob")):
        asked[f"search {mode}"] = ("search", {"q": text, "mode": mode, "in": "names"})
    asked["search args"] = ("search", {"q": "1234", "in": "args"})
    asked["search args text"] = ("search", {"q": "Float", "in": "args"})
    asked["search all regex"] = ("search", {"q": "12[0-9]4$", "mode": "regex", "in": "all"})
    asked["select whole"] = ("select", {"from": 0, "until": span + 1})
    asked["flows all"] = ("flows", {"from": 0, "until": span + 1, "all": 1})
    asked["step"] = ("step", {"track": tracks[-1]["id"], "time": span // 2, "go": "next"})
    asked["flame whole"] = ("flame", {"from": 0, "until": span + 1})
    asked["crop small"] = ("crop", {"from": span // 2, "until": span // 2 + max(1, int(span * CROP_SHARE)),
                                    "format": "heddle"})
    asked["event"] = ("event", {"kind": "slice", "row": 12345})
    return asked, ids


def attempt(client, route, params):
    """(seconds, why it failed or None)"""
    try:
        return client.get(route, **params)[0], None
    except RuntimeError as error:
        return 0.0, str(error)


def ask_singly(client, asked, memory, runs):
    rows = {}
    for name, (route, params) in asked.items():
        memory.take()
        times, failure = [], None
        for _ in range(runs):
            seconds, failure = attempt(client, route, params)
            if failure:
                break
            times.append(seconds * 1e3)
        rows[name] = {"peak_mb": memory.take(), "failed": failure,
                      "first_ms": times[0] if times else None, "median_ms": statistics.median(times) if times else None}
    return rows


def ask_together(port, asked, memory, rounds=3):
    memory.take()
    for _ in range(rounds):
        threads = [threading.Thread(target=lambda r=route, p=params: attempt(Client(port), r, p))
                   for route, params in asked.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return memory.take()


def batches(job):
    """One of many clients: times in ms of batches at places all over the trace."""
    port, ids, span, seed = job
    client, times = Client(port), []
    for n in range(BATCHES):
        z = zoom_of(span, 512 << (n + seed) % 16)
        tiles = max(1, span >> z >> 9)
        times.append(client.get("tiles", z=z, i=(n * 7919 + seed * 104729) % tiles, tracks=ids)[0] * 1e3)
    return times


def spread(times):
    times = sorted(times)
    return {"p50": times[len(times) // 2], "p95": times[len(times) * 95 // 100], "n": len(times)}


def measure_batches(port, ids, span, clients):
    one = spread(batches((port, ids, span, 0)))
    with multiprocessing.get_context("fork").Pool(clients) as pool:
        many = pool.map(batches, [(port, ids, span, n + 1) for n in range(clients)], chunksize=1)
    return one, spread([t for times in many for t in times])


def measure(heddle, path, runs, clients):
    began = time.perf_counter()
    server = subprocess.Popen([heddle, "view", "--no-open", "--port", "0", "--json", path], stdout=subprocess.PIPE,
                              text=True)
    memory = Memory(server.pid)
    try:
        port = json.loads(server.stdout.readline())["port"]
        client = Client(port)
        first = first_tiles(client, began)
        steps, seconds, session = wait(client, memory)
        result = {"file": path, "first_tiles_s": first, "layout_s": seconds, "layout": steps, "rest_mb": memory.now()}
        asked, ids = questions(client, session)
        result["asked"] = ask_singly(client, asked, memory, runs)
        result["together_mb"] = ask_together(port, asked, memory)
        result["one_client"], result["many_clients"] = measure_batches(port, ids, session["span_ns"], clients)
        result["batches_mb"] = memory.take()
        time.sleep(1)
        result["end_mb"] = memory.now()
        result["peak_mb"] = max([*steps.values(), result["together_mb"], result["batches_mb"],
                                 *(row["peak_mb"] for row in result["asked"].values())])
        return result
    finally:
        memory.ended = True
        server.terminate()
        server.wait()


def show(result, clients):
    print(f"{result['file']}: first tiles {result['first_tiles_s']:.2f} s after the command, laid out in {result['layout_s']:.1f} s")
    for what, peak in result["layout"].items():
        print(f"  {what:34} peak {peak:6.0f} MB")
    print(f"  {'at rest':34}      {result['rest_mb']:6.0f} MB")
    for name, row in result["asked"].items():
        times = row["failed"] or f"first {row['first_ms']:8.1f} ms, median {row['median_ms']:8.1f} ms"
        print(f"  {name:34} peak {row['peak_mb']:6.0f} MB  {times}")
    print(f"  {'all of these at once':34} peak {result['together_mb']:6.0f} MB")
    one, many = result["one_client"], result["many_clients"]
    print(f"  {'batch of tiles, one client':34} p50 {one['p50']:.1f} ms, p95 {one['p95']:.1f} ms")
    print(f"  {f'batch of tiles, {clients} clients':34} peak {result['batches_mb']:6.0f} MB  p50 {many['p50']:.1f} ms, "
          f"p95 {many['p95']:.1f} ms")
    print(f"  {'a second later':34}      {result['end_mb']:6.0f} MB")
    print(f"  {'highest':34}      {result['peak_mb']:6.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("heddle")
    parser.add_argument("file")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--clients", type=int, default=20)
    options = parser.parse_args()
    result = measure(options.heddle, options.file, options.runs, options.clients)
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
    else:
        show(result, options.clients)


if __name__ == "__main__":
    main()
