"""The doors: each answers {noun: value} about one file."""
import json
import os
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

FORMS = ("json", "pftrace", "heddle")
CLASSES = ("compute", "communication", "copy")
# Every question to SQL in one statement: a row for each noun, its rows as a JSON array.
SQL = " union all ".join(f"select '{noun}' noun, json_group_array(json_array({columns})) rows from {source}" for noun, columns, source in (
    ("least", "ts", "(select min(ts) ts from slice)"),
    ("names", "name", "(select distinct name from slice where type = 'async')"),
    ("slices", "name, ts, dur", "slice where type != 'instant'"),
    ("info", "pid, n", "(select p.pid pid, count(*) n from slice s join track t on t.id = s.track_id join process p on p.upid = t.upid"
                       " where s.type = 'slice' group by 1)"),
    ("work", "id", "gpu_slice"),
    ("process", "pid, n", "(select p.pid pid, count(*) n from slice s join track t on t.id = s.track_id left join process p on p.upid = t.upid"
                          " where s.type != 'instant' group by 1)"),
    ("device", "device", "(select distinct t.device device, case when t.device is null then t.upid end row from gpu_slice s join track t on t.id = s.track_id)"),
    ("rank", "rank, n", "(select rank, count(*) n from gpu_slice group by 1)"),
    ("class", "device, compute, communication, copy", "breakdown"),
    ("launch", "work_name, work_ts, name, ts", "launch where work_id is not null"),
    ("steps", "name, ts, dur", "step"),
    ("gpu_time", "ns", "(select coalesce(sum(max(dur, 0)), 0) ns from gpu_slice)")))


class Doors:
    def __init__(self, heddle, folder):
        self.heddle, self.folder = heddle, folder

    def run(self, *args):
        return subprocess.run([self.heddle, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)

    def text(self, *args):
        done = self.run(*args)
        if not done.stdout.strip():
            raise ValueError(f"{args[0]}: {done.stderr.strip()[-200:]}")
        return done.stdout

    def json(self, *args):
        return json.loads(self.text(*args))

    def sql(self, path, names=None):
        """The answers, and what the page needs to be asked the same. `names`: of async slices, which some formats keep as slices."""
        got = {row["noun"]: json.loads(row["rows"]) for row in self.json("query", "--json", path, SQL)}
        least = got["least"][0][0] or 0
        ago = lambda ts: None if ts is None else ts - least
        spans = lambda rows: sorted(([n, ago(ts), None if dur is None or dur < 0 else dur] for n, ts, dur in rows), key=str)
        names = {row[0] for row in got["names"]} if names is None else names
        rows = spans(got["slices"])
        told = {"slices": rows, "async": [row for row in rows if row[0] in names], "info": counted(got["info"]), "steps": spans(got["steps"]), "process": counted(got["process"]),
                "device": sorted(str(row[0]) for row in got["device"]), "rank": counted(got["rank"]), "class": summed((row[0], row[1:]) for row in got["class"]),
                "launch": sorted(([w, ago(b), name, ago(ts) if name else None] for w, b, name, ts in got["launch"]), key=str),
                "gpu_time": got["gpu_time"][0][0]}
        return told, {"least": least, "names": sorted(names), "work": [row[0] for row in got["work"]]}

    def reports(self, path, least):
        rows = self.json("report", "breakdown", "--json", path)["breakdown"]
        work = self.json("report", "kernels", "--json", path)["kernels"]
        work += self.json("report", "copies", "--json", path)["copies"]
        took = self.json("report", "steps", "--json", path)["steps"]
        return {"device": sorted(str(row["device"]) for row in rows), "class": summed((row["device"], [row[c] for c in CLASSES]) for row in rows),
                "gpu_time": sum(row["time"] for row in rows),
                "rank": counted((row["rank"], row["count"]) for row in work) if work else None,
                "steps": sorted(([row["step"], row["start"] - least, row["duration"]] for row in took), key=str)}

    def info(self, path):
        told = self.json("info", "--json", path)
        devices = [d for d in told["devices"] if d["slices"]]
        return {"device": sorted(str(d["device"]) for d in devices), "info": counted((number_of(p["pid"]), p["slices"]) for p in told["processes"] if p["slices"])}

    def flame(self, path):
        to = os.path.join(self.folder, "out.folded")
        self.run("flame", "-q", "--of", "gpu-time", "-o", to, path)
        with open(to, encoding="utf-8") as lines:
            total = sum(int(line.rsplit(" ", 1)[1]) for line in lines if line.strip())
        os.remove(to)
        return {"gpu_time": total}

    def convert(self, paths, form):
        to = os.path.join(self.folder, f"again.{form}")
        if os.path.exists(to):
            os.remove(to)
        done = self.run("convert", "-q", *paths, to)
        if not os.path.exists(to):
            raise ValueError(done.stderr.strip()[-200:])
        return to

    def page(self, path, least, names, work):
        with Page(self.heddle, path) as page:
            return page.answers(least, names, work)


def number_of(pid):
    """SQL has pids that are numbers."""
    return pid if str(pid).lstrip("-").isdigit() else None


def summed(rows):
    """By device; those without numbers together."""
    out = {}
    for key, times in rows:
        out[str(key)] = [a + b for a, b in zip(out.get(str(key), [0] * len(times)), times)]
    return out


def counted(pairs):
    out = {}
    for key, count in pairs:
        out[str(key)] = out.get(str(key), 0) + count
    return out


class Page:
    """`heddle view` on a free port, ended with the block."""
    def __init__(self, heddle, path):
        self.process = subprocess.Popen([heddle, "view", "--no-open", "--json", "-p", "0", "--stop-after", "300", path],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def __enter__(self):
        try:
            self.url = json.loads(self.process.stdout.readline())["url"].rstrip("/")
            for _ in range(3000):
                self.session = self.get("/api/session")
                if all(t["state"] != "reading" and not t.get("busy") for t in self.session["traces"]):
                    return self
                time.sleep(0.02)
            raise ValueError("the page is still reading")
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def get(self, route, **query):
        url = self.url + route + ("?" + urllib.parse.urlencode(query) if query else "")
        for _ in range(3000):
            try:
                with urllib.request.urlopen(url, timeout=60) as got:
                    return json.load(got)
            except urllib.error.HTTPError as error:
                if error.code not in (409, 503):
                    raise
                time.sleep(0.02)
        raise ValueError(f"{route} is still busy")

    def answers(self, least, names, work):
        trace = self.session["traces"][0]
        shift = int(trace["start_ns"]) - least
        tracks = self.get("/api/tracks", trace=0).get("tracks", [])
        by_id = {t["id"]: t for t in tracks}
        process, classes, rank, found = {}, {}, {}, []
        for track in tracks:
            if track.get("role") in CLASSES:
                classes.setdefault(str(track.get("device")), [0, 0, 0])[CLASSES.index(track["role"])] += track.get("covers", track.get("busy"))
            if track.get("derived"):
                continue
            if track.get("role") == "stream":
                key = str(track.get("rank", trace.get("rank")))
                rank[key] = rank.get(key, 0) + track["events"]
            if track["kind"] == "slices" and track.get("events_kind") in ("slice", "async"):
                up = track
                while up and "pid" not in up:
                    up = by_id.get(up.get("parent"))
                key = str(number_of(up["pid"]) if up else None)
                process[key] = process.get(key, 0) + track["events"]
        launches = []
        for row in work:
            event = self.get("/api/event", trace=0, kind="slice", row=row)
            launch = event.get("launch") or {}
            launches.append([event["name"], event["start"] + shift, launch.get("name"), launch["start"] + shift if launch else None])
        for name in names:
            for event in self.get("/api/find", trace=0, name=name).get("events", []):
                whole = self.get("/api/event", trace=0, kind=event["kind"], row=event["row"])
                if event["kind"] == "async" and whole.get("phase", "b") in ("b", "S"):
                    dur = whole["duration"]
                    found.append([name, event["start"] + shift, None if dur is None or dur < 0 else dur])
        total = self.get("/api/flame", trace=0, **{"from": 0, "until": trace["span_ns"], "of": "gpu-time"})["total"] if rank or classes else 0
        return {"process": process, "class": classes, "rank": rank, "gpu_time": total, "async": sorted(found, key=str), "launch": sorted(launches, key=str),
                "device": sorted(str(t.get("device")) for t in tracks if t.get("role") == "device")}
