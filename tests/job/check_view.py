#!/usr/bin/env python3
"""The heat map of `heddle view` (/api/job), recomputed from the tables of the summaries; the traces that it opens; what it refuses.

  check_view.py --heddle HEDDLE

Summaries are read, taken apart and written by hds.py. Damaged ones are left out and named, and names that lead elsewhere open
nothing.
"""
import argparse
import collections
import copy
import itertools
import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "view"))

import hds  # noqa: E402
import lateness  # noqa: E402
from check_job_reports import DP, RANKS, TP, make, run  # noqa: E402
from job_server import Server, decode  # noqa: E402


# ---- the same from the tables ----

def rows_of(member, name):
    chunk = member.tables.get(name)
    names, rows = hds.table(chunk) if chunk else ([], [])
    return [{n: v.decode() if isinstance(v, bytes) else v for n, v in zip(names, row)} for row in rows]


def last_number(name):
    found = re.findall(r"[0-9]+", name)
    return int(found[-1]) if found else None


def expected(members):
    """({(rank, file, device): {step: {figure: ns}}}, [steps]); steps by number where all have one."""
    cells, steps = {}, []
    for m in members:
        if None in (m.tables.get("steps", b""), m.tables.get("breakdown", b"")):
            continue
        durations = {(s["rank"], s["start"]): s["duration"] for s in rows_of(m, "steps")}
        for b in rows_of(m, "breakdown"):
            row = cells.setdefault((b["rank"], m.file.decode(), b["device"]), {})
            if b["step"] is None:
                continue
            name = next(n for n in itertools.chain([b["step"]], (f"{b['step']} ({k})" for k in itertools.count(2))) if n not in row)
            row[name] = {"time": durations.get((b["rank"], b["step_start"]), b["span"]), "exposed": b["exposed_communication"], "idle": b["idle"],
                         "start": b["step_start"]}
            if name not in steps:
                steps.append(name)
    if all(last_number(n) is not None and not n.endswith(")") for n in steps):
        steps.sort(key=last_number)
    return cells, steps


def add_lateness(cells, members):
    """The sum over the collectives of a step. Whether something of several ranks is not told."""
    of = lateness.expected((place, rows_of(m, "collectives") if m.tables.get("collectives") else []) for place, m in enumerate(members))
    for place, _, row, meeting in of.arrivals:
        own = cells.get((row["rank"], members[place].file.decode(), row["device"]), {})
        step = next((s for s in own.values() if s["start"] == row["step_start"]), None)
        if step:
            step["late"] = step.get("late", 0) + max(meeting.durations()) - lateness.duration(row)
    return any(defect in ("counted", "several") or (defect in ("double", "operation", "untimed") and len({party for _, party, _ in of.meetings[group, sequence].rows}) > 1)
               for group, sequence, defect in of.defects)


def check_report(heddle, path, cells):
    """Report stragglers tells the same of each rank and step."""
    have = collections.defaultdict(dict)
    for row in json.loads(run(heddle, "report", "stragglers", "--json", path))["steps"]:
        have[row["rank"], row["device"]][row["step_start"]] = row["late"]
    for (rank, _, device), steps in cells.items():
        for step in steps.values():
            if "late" in step:
                assert step["late"] == have[rank, device][step["start"]], (rank, device, step)


def compare(server, members):
    head, figures = server.picture()
    cells, steps = expected(members)
    differs = add_lateness(cells, members)
    assert head["steps"] == steps, (head["steps"], steps)
    keys = list(zip(head["rank"], head["file"], head["device"]))
    assert sorted(map(str, keys)) == sorted(map(str, cells)) and head["cells"] == len(keys) * len(steps), (keys, cells.keys())
    ranks = [math.inf if r is None else r for r in head["rank"]]
    assert ranks == sorted(ranks)
    for at, key in enumerate(keys):
        for s, step in enumerate(steps):
            want = cells[key].get(step, {})
            for figure in ("time", "exposed", "idle", "late"):
                assert figures[figure][at * len(steps) + s] == want.get(figure), (key, step, figure, figures[figure][at * len(steps) + s], want)
    assert any("differ in their collectives" in n for n in head["late_notes"]) == differs, head["late_notes"]
    return head, cells


# ---- cases ----

def check_whole(heddle, folder, job):
    with Server(heddle, folder / "job.hds", folder / "job.hds") as server: # twice the same is once
        head, cells = compare(server, job.members)
        assert head["host"] == [f"node{r // 2}" for r in range(RANKS)] and head["notes"] == []
        positions = {"tp": [r % TP for r in range(RANKS)], "dp": [r // TP % DP for r in range(RANKS)], "pp": [r // (TP * DP) for r in range(RANKS)]}
        assert head["roles"] == positions, head["roles"]
        assert server.ask("session")["traces"] == []
        check_parts(server)
        check_open(server, head, cells)
        check_refused(server, head)


def check_parts(server):
    """Figures that are asked for alone are those of all; a revision that is not told yet is waited for."""
    head, all_of = decode(server.ask("job"))
    for names in (["time"], ["exposed", "idle"], ["idle", "time", "exposed"]):
        own, figures = decode(server.ask("job?revision=1&figures=" + ",".join(names)))
        assert list(figures) == names and figures == {name: all_of[name] for name in names}, names
        assert {**own, "figures": None} == {**head, "figures": None}
    for names in ("", "late", "time,", "time,time,time,time"):
        assert "time, exposed, idle" in server.ask("job?figures=" + names, ok=400)["error"], names
    assert "revision" in server.ask("job?revision=-1", ok=400)["error"]
    try:
        urllib.request.urlopen(server.base + "job?revision=2", timeout=0.5)
        raise AssertionError("revision 2 is not waited for")
    except (TimeoutError, urllib.error.URLError):
        pass


def link_of(server):
    with urllib.request.urlopen(server.base.replace("api/", "")) as page:
        return page.headers["Link"]


def check_early(heddle, folder, job):
    """Who asks for the first picture before the summaries are read gets all of it; the page's head names that address."""
    with Server(heddle, folder / "job.hds") as server:
        address, = re.findall("^<api/(.*)>; rel=preload; as=fetch; crossorigin=anonymous$", link_of(server))
        early, times = decode(server.ask(address))
        head, figures = decode(server.ask("job"))
        assert times == {"time": figures["time"]} and {**early, "figures": None} == {**head, "figures": None}
        assert len(early["rank"]) == RANKS and server.ask("session")["job"]["revision"] == 1
    for arguments in ([folder / "t_rank0.json"], ["--summaries", folder / "t_rank0.json"]): # none, or several pictures one after the other
        with Server(heddle, *arguments) as server:
            assert link_of(server) is None


def check_open(server, head, cells):
    for row, step in ((5, 3), (2, 0), (5, 1)):
        said = server.ask(f"job/open?of={head['number']}&row={row}&step={step}", "POST")
        own = cells[row, f"t_rank{row}.json", head["device"][row]][head["steps"][step]]
        assert (int(said["start"]), said["duration"]) == (own["start"], own["time"]), (said, own)
        assert said["trace"] == (0 if row == 5 else 1), said
    traces = server.session(lambda s: all(t["state"] == "ready" for t in s["traces"]))["traces"]
    assert [(t["name"], t["rank"]) for t in traces] == [("t_rank5.json", 5), ("t_rank2.json", 2)], traces
    assert server.ask("job")[:4] == b"HDJ1" and decode(server.ask("job"))[0]["number"] == head["number"]


def check_refused(server, head):
    of = f"of={head['number']}"
    for route, status, words in ((f"job/open?{of}&row={RANKS}&step=0", 400, "no such row"), (f"job/open?{of}&row=0&step={len(head['steps'])}", 400, "no such row"),
                                 (f"job/open?{of}&row=-1&step=0", 400, "row"), (f"job/open?{of}&row=0", 400, "step"),
                                 (f"job/open?of={head['number'] + 1}&row=0&step=0", 409, "ask again")):
        assert words in server.ask(route, "POST", status)["error"], route
    assert "ask again" in server.ask(f"job/late?of={head['number'] + 1}", ok=409)["error"]
    assert "of" in server.ask("job/late", ok=400)["error"]
    server.ask(f"job/open?{of}&row=0&step=0", ok=405)


def check_files(heddle, folder, job):
    """Names that lead elsewhere open nothing; --traces is where traces are looked for."""
    other, secret = folder / "other", folder / "secret"
    other.mkdir(), secret.mkdir()
    names = [b"../secret/t.json", str(secret / "t.json").encode(), None, b"", b"t\0.json", b"absent.json", b"..", b"t_rank7.json"]
    shutil.copy(folder / "t_rank0.json", secret / "t.json")
    changed = copy.deepcopy(job)
    for member, name in zip(changed.members, names):
        member.file = name
    hds.write(other / "odd.hds", changed)
    for arguments, opens in (([], False), (["--traces", folder], True)):
        with Server(heddle, other / "odd.hds", *arguments) as server:
            head, _ = server.picture()
            for row, rank in enumerate(head["rank"]):
                name, fine = names[rank], opens and rank == 7
                said = server.ask(f"job/open?of={head['number']}&row={row}&step=0", "POST", 200 if fine or name == b".." else 404)
                if not fine and name != b"..":
                    assert "not next to the summaries" in said["error"], (name, said)
            traces = server.session(lambda s: all(t["state"] != "reading" for t in s["traces"]))["traces"]
            assert [t["name"] for t in traces if t["state"] == "ready"] == (["t_rank7.json"] if opens else []), traces


def other_steps(chance, chunk):
    """A breakdown that lacks some rows, and in which a step has the name of another or none."""
    columns = hds.columns(chunk)
    kept = [row for row in range(len(columns[0][2])) if chance.random() < 0.8]
    taken = [(name, kind, [values[row] for row in kept]) for name, kind, values in columns]
    names = next(values for name, _, values in taken if name == "step")
    for row in range(len(names)):
        if chance.random() < 0.2:
            names[row] = chance.choice([None, *names])
    return hds.pack(taken) if kept else chunk


def change_member(chance, member, job):
    sort = chance.randrange(7)
    if sort == 0:
        member.tables[chance.choice(["steps", "breakdown", "collectives", "groups"])] = None
    elif sort == 1:
        member.tables.pop(chance.choice(["steps", "breakdown", "collectives", "groups"]), None)
    elif sort == 2: # of another rank: its rows are
        member.tables = dict(chance.choice(job.members).tables)
    elif sort == 3:
        member.host = chance.choice([None, b"", b"\xff\xfe", "knoten-ü".encode()])
    elif sort == 4 and member.tables.get("breakdown"):
        member.tables["breakdown"] = other_steps(chance, member.tables["breakdown"])


def check_random(heddle, folder, job, seed):
    chance = random.Random(seed)
    changed = hds.Job(job.tables, [m for m in copy.deepcopy(job.members) if chance.random() < 0.8] or copy.deepcopy(job.members))
    for member in changed.members:
        change_member(chance, member, job)
    hds.write(folder / "random.hds", changed)
    with Server(heddle, folder / "random.hds") as server:
        head, cells = compare(server, changed.members)
        lost = [m for m in changed.members if None in (m.tables.get("steps", b""), m.tables.get("breakdown", b""))]
        assert len(head["notes"]) == min(len(lost), 6) and all("is left out" in n for n in head["notes"][:5]), head["notes"]
    check_report(heddle, folder / "random.hds", cells)


def check_traces(heddle, folder, job):
    """Traces are summarised one by one; one that is none is named. The same as of the summaries."""
    (folder / "broken.json").write_text("no trace at all")
    paths = [folder / f"t_rank{rank}.json" for rank in range(RANKS)]
    with Server(heddle, "--summaries", *paths[:4], folder / "broken.json", *paths[4:]) as server:
        head, cells = compare(server, job.members)
        assert len(head["notes"]) == 1 and head["notes"][0].startswith("broken.json is left out: "), head["notes"]
        said = server.ask(f"job/open?of={head['number']}&row=6&step=2", "POST")
        assert int(said["start"]) == cells[6, "t_rank6.json", head["device"][6]][head["steps"][2]]["start"]
        assert server.session(lambda s: s["traces"][0]["state"] == "ready")["traces"][0]["rank"] == 6
    with Server(heddle, *paths) as server: # traces that are open tell the same
        server.session(lambda s: all(t["state"] == "ready" for t in s["traces"]))
        assert server.ask("session")["job"] is None
        _, figures = decode(server.ask("job"))
        wanted, steps = expected(job.members)
        assert figures["time"] == [wanted[key].get(s, {}).get("time") for key in sorted(wanted) for s in steps]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = make(args.heddle, folder, "--no-python", "--late-loader", "5=20ms")
        run(args.heddle, "summarize", "-q", *paths, "-o", folder / "job.hds")
        job = hds.read(folder / "job.hds")
        if subprocess.run([args.heddle, "view", "--no-open", "--port", "0", "--stop-after", "0.01", folder / "job.hds"], capture_output=True).returncode:
            print("skipped: this heddle has no page")
            return 77
        check_whole(args.heddle, folder, job)
        check_early(args.heddle, folder, job)
        check_files(args.heddle, folder, job)
        check_traces(args.heddle, folder, job)
        for seed in range(args.seeds):
            check_random(args.heddle, folder, job, seed)
    print(f"the pictures of {args.seeds + 3} jobs agree")
    return 0


sys.exit(main())
