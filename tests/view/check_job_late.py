#!/usr/bin/env python3
"""Ranks beside each other in `heddle view`: lateness, collectives across ranks and clocks, recomputed from the traces' JSON; of
open traces, and of those that a job's summaries open.

  check_job_late.py --heddle HEDDLE
"""
import argparse
import bisect
import gzip
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from decimal import Decimal

from job_server import Server

RANKS, HOST_RANKS, SHIFT_MS = 4, 2, 5
US = 1000
SHARED = pathlib.Path(os.environ.get("HEDDLE_SHARED", pathlib.Path(__file__).resolve().parents[3] / "shared"))


# ---- what the files say, by the plainest means ----

def nanoseconds(us):
    return round(us * US)


def collectives_of(path):
    """{(group, number): (start, end) on its clock in Unix ns, and the step of its launch}: a kernel belongs to the call around that, which has both."""
    data = json.loads(path.read_text(), parse_float=Decimal)
    slices = [e for e in data["traceEvents"] if e.get("ph") == "X"]
    launches = {e["args"]["correlation"]: e for e in slices if e.get("cat") == "cuda_runtime"}
    calls = sorted((e["ts"], e["dur"], e["tid"], e["args"]) for e in slices if "Seq" in e.get("args", {}) and e.get("cat") != "kernel")
    steps = [(e["ts"], e["ts"] + e["dur"], int(e["name"].split("#")[1])) for e in slices if e["name"].startswith("ProfilerStep#")]
    found = {}
    for e in slices:
        if e.get("cat") != "kernel" or "nccl" not in e["name"]:
            continue
        launch = launches[e["args"]["correlation"]]
        at = bisect.bisect(calls, (launch["ts"], float("inf")))
        args = next(a for ts, dur, tid, a in reversed(calls[:at]) if tid == launch["tid"] and launch["ts"] <= ts + dur)
        start, end, base = nanoseconds(e["ts"]), nanoseconds(e["ts"] + e["dur"]), data["baseTimeNanoseconds"]
        step = next(number for begin, until, number in steps if begin <= launch["ts"] < until)
        found[args["Process Group Name"], args["Seq"]] = (start + base, end + base, step)
    return found


def numbers(found):
    """The same by the numbers that Heddle counts in each group and step, as kernels have none: all ranks have the file's own in one order."""
    groups = {}
    for (group, number), times in sorted(found.items(), key=lambda item: item[1][:2]):
        groups.setdefault((group, times[2]), []).append((number, times))
    assert all(list_of == sorted(list_of) for list_of in groups.values())
    return {(*key, k): times for key, list_of in groups.items() for k, (_, times) in enumerate(list_of)}


# ---- the routes ----

def check_collectives(server, traces, ranks, found, everyone):
    """traces: by rank, that are open; found: of every rank; everyone: the ranks that the answer knows of."""
    own, with_ = traces[ranks[0]], ",".join(str(traces[r]["id"]) for r in sorted(ranks, key=lambda r: traces[r]["id"]))
    numbered = {rank: numbers(found[rank]) for rank in everyone}
    first = min(traces[r]["id"] for r in ranks)
    said = server.ask(f"collectives?trace={first}&with={with_}")
    told = {}
    for c in said["collectives"]:
        key = c["group"], c["step"], c["sequence"]
        durations = {r: numbered[r][key][1] - numbered[r][key][0] for r in everyone}
        assert (c["ranks"], c["longest"], c["shortest"]) == (len(everyone), max(durations.values()), min(durations.values())), (c, durations)
        assert c["last_rank"] == (min(r for r in everyone if durations[r] == c["shortest"]) if c["longest"] > c["shortest"] else None), (c, durations)
        told[key] = {part[6]: part for part in c["parts"]}
        assert len(told[key]) == len(c["parts"]) == len(ranks), c
        for rank, (trace, track, depth, start, duration, row, _, _) in told[key].items():
            assert trace == traces[rank]["id"] and track >= 0
            times = numbered[rank][key]
            assert (start + int(traces[rank]["unix_ns"]), duration) == (times[0], durations[rank]), (c, rank, times)
            if c["sequence"] % 5 == 0: # the event that stands there
                event = server.ask(f"event?trace={trace}&kind=slice&row={row}")
                assert (event["start"], event["duration"], event["track"], event["depth"]) == (start, duration, track, depth), event
                assert event["name"].startswith("nccl"), event
    keys = set.intersection(*(set(numbered[r]) for r in ranks))
    assert told.keys() == keys and said["count"] == len(keys) > 20, (len(told), len(keys))
    for other in ranks: # each is told once, of the first trace that has it
        if traces[other]["id"] != first:
            assert server.ask(f"collectives?trace={traces[other]['id']}&with={with_}") == {"collectives": [], "count": 0}
    key = max(keys)
    row, start = told[key][ranks[0]][5], told[key][ranks[0]][3]
    assert server.ask(f"collectives?trace={own['id']}&with={with_}&row={row}")["collectives"][0]["sequence"] == key[2]
    end, base = start + told[key][ranks[0]][4], int(own["unix_ns"])
    for begin, until in ((start, start + 1), (start - 1, start), (end, end + 1), (end + 1, end + 2)):  # its first and last ns, and outside
        some = server.ask(f"collectives?trace={own['id']}&with={with_}&from={begin}&until={until}")
        touching = sum(t[0] - base < until and t[1] - base >= begin for t in numbered[ranks[0]].values())
        assert some["count"] == (touching if own["id"] == first else 0), (begin, until, some["count"], touching)
    assert len(server.ask(f"collectives?trace={first}&with={with_}&limit=7")["collectives"]) == 7
    assert server.ask(f"collectives?trace={first}&with={with_}&row=0") == {"collectives": [], "count": 0}
    for wrong in ("", f"&with={first},{first}", f"&with={','.join(str(traces[r]['id']) for r in ranks if traces[r]['id'] != first)}", "&with=99"):
        assert "with" in server.ask(f"collectives?trace={first}{wrong}", ok=400)["error"], wrong


def check_clocks(server, traces, found, truth):
    """truth(rank, time): what is to be added for the clock of host 0. Two hosts: a host's ranks have one clock."""
    clocks = {c["trace"]: c for c in server.ask("clocks")["clocks"]}
    first = min(traces, key=lambda rank: traces[rank]["id"])
    assert len(clocks) == len(traces)
    for rank, trace in traces.items():
        c, shared = clocks[trace["id"]], rank // HOST_RANKS == first // HOST_RANKS
        apart = int(trace["unix_ns"]) - int(traces[first]["unix_ns"])
        assert c["offset_ns"] == apart + c["shift_ns"] and trace["offset_ns"] == apart, (c, apart)
        if shared:
            assert (c["basis"], c["shift_ns"], c["bar_ns"]) == ("reference", 0, 0), c
            continue
        ends = [found[first][key][1] - found[rank][key][1] for key in found[rank].keys() & found[first].keys()]
        assert c["basis"] == "ends" and 0 < c["bar_ns"] < 100 * US, c
        assert abs(c["shift_ns"] - statistics.median(ends)) <= c["bar_ns"], (c, statistics.median(ends))
        for time in (int(trace["unix_ns"]), int(trace["unix_ns"]) + trace["span_ns"]):
            assert abs(c["shift_ns"] - truth(rank, first, time)) <= c["bar_ns"], (c, truth(rank, first, time))


def make(heddle, folder, steps=6):
    said = subprocess.run([heddle, "synth", "-q", "--json", "--ranks", str(RANKS), "--host-ranks", str(HOST_RANKS), "--clock-shift", f"1={SHIFT_MS}ms", "--steps", str(steps),
                           "--layers", "2", "--no-python", "-o", folder / "t.json"], check=True, capture_output=True, text=True).stdout
    files = [folder / f"t_rank{rank}.json" for rank in range(RANKS)]
    subprocess.run([heddle, "summarize", "-q", *files, "-o", folder / "job.hds"], check=True)
    zero = min(min(times)[0] for times in (list(collectives_of(f).values()) for f in files[:1]))

    def ahead(rank, time):
        offset, drift = json.loads(said)[rank]["clock_offset_ns"], json.loads(said)[rank]["clock_drift_ppb"] / 1e9
        return offset + drift * (time - zero - offset)
    return files, lambda rank, first, time: ahead(first, time) - ahead(rank, time)


def traces_by_rank(traces):
    return {t["rank"]: t for t in traces}


def late_of(heddle, files):
    with Server(heddle, *files) as server:
        if len(files) > 1:
            server.ready(len(files))
        head, figures = server.picture()
        return head["late_notes"], figures["late"]


def check_sums(heddle, files, found):
    """A cell is the lateness of all collectives of its step: the sum of a row is what `report stragglers` says of the rank."""
    with Server(heddle, *files) as server:
        server.ready(RANKS)
        head, figures = server.picture()
        of_job = server.ask("report?name=stragglers")
    with Server(heddle, files[0].parent / "job.hds") as server:
        server.picture()
        of_summaries = server.ask("report?name=stragglers")
    late = dict.fromkeys(((rank, step) for rank in range(RANKS) for step in head["steps"]), 0)
    for key in found[0]:
        longest = max(of[key][1] - of[key][0] for of in found)
        for rank, of in enumerate(found):
            start, end, step = of[key]
            late[rank, f"ProfilerStep#{step}"] += longest - (end - start)
    assert head["rank"] == list(range(RANKS)) and figures["late"] == list(late.values()), (figures["late"], late)
    told = json.loads(subprocess.run([heddle, "report", "stragglers", "--json", *files], check=True, capture_output=True, text=True).stdout)
    sums = {rank: sum(figures["late"][rank * len(head["steps"]):][:len(head["steps"])]) for rank in range(RANKS)}
    assert {row["rank"]: row["late"] for row in told["stragglers"]} == sums, (told["stragglers"], sums)
    for answer in of_job, of_summaries:
        table, = (t for t in answer["tables"] if t["name"] == "stragglers")
        rank, late = ([c["name"] for c in table["columns"]].index(name) for name in ("rank", "late"))
        assert {row[rank]: row[late] for row in table["rows"]} == sums and f"{RANKS} traces" in answer["trust"], answer


def check_open(heddle, files, found, truth):
    with Server(heddle, *files) as server:
        traces = traces_by_rank(server.ready(RANKS))
        check_collectives(server, traces, list(range(RANKS)), found, list(range(RANKS)))
        check_clocks(server, traces, found, truth)
    return traces


def check_of_summaries(heddle, folder, found, truth):
    """Three of four are opened, not in their order: the answers know of all four."""
    with Server(heddle, folder / "job.hds") as server:
        head, _ = server.picture()
        for rank in (3, 0, 1):
            server.ask(f"job/open?of={head['number']}&row={head['rank'].index(rank)}&step=0", "POST")
        traces = traces_by_rank(server.ready(3))
        check_collectives(server, traces, [3, 0, 1], found, list(range(RANKS)))
        check_clocks(server, traces, found, truth)


def check_apart(heddle, folder, files, truth):
    """Rank 0 meets 2 alone, and 1 meets 3: what 0 and 3 are apart only the summaries of all tell, as 0 and 1 share a host."""
    for rank, path in enumerate(files):
        data = json.loads(path.read_text())
        for e in data["traceEvents"]:
            if "Process Group Name" in e.get("args", {}):
                e["args"].update({"Process Group Name": f"pair{rank % 2}", "Group size": 2, "Process Group Ranks": f"[{rank % 2}, {rank % 2 + 2}]"})
        data["distributedInfo"]["pg_config"] = [{"pg_name": f"pair{rank % 2}", "pg_desc": "pairs", "pg_size": 2}]
        (folder / f"pair_rank{rank}.json").write_text(json.dumps(data))
    files = [folder / f"pair_rank{rank}.json" for rank in range(RANKS)]
    subprocess.run([heddle, "summarize", "-q", *files, "-o", folder / "pairs.hds"], check=True)
    with Server(heddle, files[0], files[3]) as server:
        server.ready(2)
        assert [(c["basis"], c["of"], c["ranks"]) for c in server.ask("clocks")["clocks"]][1] == ("unknown", "open", 2)
    for first, second in ((0, 3), (3, 0)):
        with Server(heddle, folder / "pairs.hds") as server:
            head, _ = server.picture()
            server.ask(f"job/open?of={head['number']}&row={first}&step=0", "POST")
            server.ready(1)
            assert server.ask("clocks")["clocks"][0]["basis"] == "reference"
            server.ask(f"job/open?of={head['number']}&row={second}&step=0", "POST")
            trace = traces_by_rank(server.ready(2))[second]
            clock = {c["trace"]: c for c in server.ask("clocks")["clocks"]}[trace["id"]]
            assert (clock["basis"], clock["of"], clock["ranks"]) == ("ends", "job", RANKS) and 0 < clock["bar_ns"] < 100 * US, clock
            for time in (int(trace["unix_ns"]), int(trace["unix_ns"]) + trace["span_ns"]):
                assert abs(clock["shift_ns"] - truth(second, first, time)) <= clock["bar_ns"], (clock, truth(second, first, time))


def check_few(heddle, folder):
    """Two steps have too few collectives to say that no clock stepped outside of them: the traces are aligned all the same."""
    (folder / "few").mkdir()
    files, truth = make(heddle, folder / "few", 2)
    found = [collectives_of(path) for path in files]
    with Server(heddle, *files) as server:
        traces = traces_by_rank(server.ready(RANKS))
        assert all(c["collectives"] < 12 for c in server.ask("clocks")["clocks"])
        check_clocks(server, traces, found, truth)


def check_other_files(heddle, folder):
    """Files of the names that the summaries tell, and of another run: nothing is told of them by those."""
    (folder / "other").mkdir()
    subprocess.run([heddle, "synth", "-q", "--ranks", str(RANKS), "--host-ranks", str(HOST_RANKS), "--steps", "6", "--layers", "2", "--no-python", "--seed", "9",
                    "-o", folder / "other" / "t.json"], check=True)
    with Server(heddle, "--traces", folder / "other", folder / "job.hds") as server:
        head, _ = server.picture()
        for rank in (0, 2):
            server.ask(f"job/open?of={head['number']}&row={rank}&step=0", "POST")
        server.ready(2)
        assert [(c["basis"], c["offset_ns"]) for c in server.ask("clocks")["clocks"]] == [("unknown", None)] * 2
        for c in server.ask("collectives?trace=0&with=0-1")["collectives"]:
            assert all(c["shortest"] <= part[4] <= c["longest"] for part in c["parts"]), c


def check_absent(heddle, folder):
    """A trace that is not next to its summary is not found: that is not an error of the server."""
    (folder / "alone").mkdir()
    shutil.copy(folder / "job.hds", folder / "alone")
    with Server(heddle, folder / "alone" / "job.hds") as server:
        head, _ = server.picture()
        assert "--traces" in server.ask(f"job/open?of={head['number']}&row=0&step=0", "POST", ok=404)["error"]


def check_without_steps(heddle, folder, files, found):
    for number, path in enumerate(files):
        data = json.loads(path.read_text())
        kept = [e for e in data["traceEvents"] if "ProfilerStep" not in e.get("name", "") and not e.get("cat", "").startswith("gpu_mem")]
        for at, event in enumerate(e for e in kept if e.get("cat") == "kernel"):
            event["name"] += f" {at}" # nothing repeats
        (folder / f"plain_rank{number}.json").write_text(json.dumps({**data, "traceEvents": kept}))
    paths = [folder / f"plain_rank{rank}.json" for rank in range(RANKS)]
    with Server(heddle, *paths) as server:
        traces = traces_by_rank(server.ready(RANKS))
        head, _ = server.picture()
        assert not head["steps"] and head["rank"] == list(range(RANKS)), head
        stepless = [{key: (*times[:2], None) for key, times in of.items()} for of in found]
        check_collectives(server, traces, list(range(RANKS)), stepless, list(range(RANKS)))


def check_merged(heddle, folder, files, found):
    """All ranks in one trace: every collective has all its parts there, and the trace has no clock of its own."""
    subprocess.run([heddle, "convert", "-q", "--ranks", *files, folder / "all.json"], check=True)
    with Server(heddle, folder / "all.json") as server:
        server.ready(1)
        said = server.ask("collectives?trace=0&with=0")
        assert said["count"] == len(said["collectives"]) == len(found[0]), said["count"]
        for c in said["collectives"]:
            assert sorted(part[6] for part in c["parts"]) == list(range(RANKS)) and c["shortest"] == min(part[4] for part in c["parts"]), c
        assert [c["basis"] for c in server.ask("clocks")["clocks"]] == ["unknown"]


def real_collectives(path):
    """{(stream, is it a SendRecv, number): (start, end)}, of files whose groups have no names."""
    found = {}
    for e in json.loads(gzip.open(path).read(), parse_float=Decimal)["traceEvents"]:
        if e.get("cat") == "kernel" and "nccl" in e["name"].lower():
            start = nanoseconds(e["ts"])
            found.setdefault((e["args"]["stream"], "SendRecv" in e["name"]), []).append((start, start + nanoseconds(e["dur"])))
    return {(*key, k): times for key, list_of in found.items() for k, times in enumerate(sorted(list_of))}


def check_real(heddle):
    """Eight ranks of DLRM."""
    files = [SHARED / "data/ranks/dlrm" / f"rank{rank}.json.gz" for rank in range(8)]
    if not files[0].exists():
        print("skipped: real ranks are not here")
        return
    found = [real_collectives(path) for path in files]
    with Server(heddle, *files) as server:
        traces = traces_by_rank(server.ready(8))
        told = server.ask("collectives?trace=0&with=0-7")["collectives"]
        assert {(c["stream"], c["operation"] == "SendRecv", c["sequence"]) for c in told} == set(found[0]) and {c["step"] for c in told} == {10} and len(told) == len(found[0])
        for c in told:
            key = c["stream"], c["operation"] == "SendRecv", c["sequence"]
            durations = [of[key][1] - of[key][0] for of in found]
            assert (c["longest"], c["shortest"], c["last_rank"]) == (max(durations), min(durations), durations.index(min(durations)) if max(durations) > min(durations) else None), (c, durations)
            for _, _, _, start, duration, _, rank, _ in c["parts"]:
                assert (start + int(traces[rank]["start_ns"]), duration) == (found[rank][key][0], durations[rank]), (c, found[rank][key])
            assert sorted(part[6] for part in c["parts"]) == list(range(8))


def check_real_clocks(heddle):
    """Ranks that ran on one machine, whose groups have no names: their times are as the files tell them, within the bars. Of seven of them
    nobody can say that. Of Ascend's the machine is told."""
    for name in "dlrm", "megatron-tp8":
        files = [SHARED / "data/ranks" / name / f"rank{rank}.json.gz" for rank in range(8)]
        if not files[0].exists():
            print("skipped: real ranks are not here")
            return
        for count in 8, 7:
            with Server(heddle, *files[:count]) as server:
                traces = server.ready(count)
                clocks = server.ask("clocks")["clocks"]
                assert clocks[0]["basis"] == "reference" and clocks[0]["why"] is None, clocks
                if count == 7:
                    assert all(c["basis"] == "unknown" and c["offset_ns"] is None and "have no names, and not all ranks of the job are here" in c["why"] for c in clocks[1:]), clocks
                for trace, c in zip(traces[1:], clocks[1:]):
                    apart = int(trace["start_ns"]) - int(traces[0]["start_ns"])
                    assert count == 7 or (c["basis"] == "ends" and abs(c["offset_ns"] - apart) <= c["bar_ns"] <= 150 * US and c["collectives"] >= 5 and c["why"] is None), (c, apart)
    with Server(heddle, SHARED / "data/ascend") as server:
        traces = server.ready(3)
        db, json_, other = server.ask("clocks")["clocks"]
        assert (db["basis"], other["basis"], other["bar_ns"], json_["basis"], json_["why"]) == ("reference", "reference", 0, "unknown", "no collective has a group, a number and an operation that ends for all at once"), (db, json_, other)
        assert other["offset_ns"] == int(traces[2]["start_ns"]) - int(traces[0]["start_ns"])


def check_lacking(heddle, files, found):
    """A rank lacks one: what the group has in that step is not matched, as numbers are counted in it; all else is."""
    data = json.loads(files[1].read_text())
    calls = [e for e in data["traceEvents"] if e.get("cat") == "kernel" and "nccl" in e["name"]]
    data["traceEvents"].remove(calls[len(calls) // 2])
    files[1].write_text(json.dumps(data))
    gone, = found[1].keys() - collectives_of(files[1]).keys()
    step = found[1][gone][2]
    whole = numbers(found[0])
    left = {key for key in whole if key[:2] != (gone[0], step)}
    assert 0 < len(left) < len(whole)
    with Server(heddle, *files) as server:
        server.ready(RANKS)
        head, figures = server.picture()
        names = [int(name.split("#")[1]) for name in head["steps"]]
        assert head["late_notes"] and [f is None for f in figures["late"]] == [name == step for name in names] * RANKS, (head["late_notes"], figures)
        said = server.ask(f"collectives?trace=0&with=0-{RANKS - 1}")
        assert {(c["group"], c["step"], c["sequence"]) for c in said["collectives"]} == left and said["count"] == len(left), said["count"]
        alone = [c for row in range(3000) for c in server.ask(f"collectives?trace=0&with=0-{RANKS - 1}&row={row}")["collectives"] if c["longest"] is None]
        assert {(c["group"], c["step"], c["sequence"]) for c in alone} == whole.keys() - left, alone
        assert all((c["longest"], len(c["parts"])) == (None, 1) for c in alone)
    told = json.loads(subprocess.run([heddle, "report", "stragglers", "--json", *files], check=True, capture_output=True, text=True).stdout)
    assert len(told["collectives"]) == len(left)
    first = 10**9 * (step + 1)
    counted, missing = sorted(told["mismatched"], key=lambda row: row["defect"])
    assert [counted[k] for k in ("group", "sequence", "defect", "members")] == [gone[0], first, "counted", RANKS], counted
    assert [missing[k] for k in ("group", "defect", "rank", "members")] == [gone[0], "missing", 1, 1], missing
    same = [key for key in whole if key[:2] == (gone[0], step) and kind_of(files[0], whole[key]) == kind_of(files[0], found[0][gone])]
    assert missing["sequence"] - first == max(place for *_, place in same), (missing, same)


def kind_of(path, times):
    """What distinguishes a collective from others of its step and group, of the kernel that has these times."""
    data = json.loads(path.read_text(), parse_float=Decimal)
    e, = (e for e in data["traceEvents"] if e.get("cat") == "kernel" and nanoseconds(e["ts"]) + data["baseTimeNanoseconds"] == times[0] and "nccl" in e["name"])
    return e["name"], e["args"].get("In msg nelems"), e["args"].get("Out msg nelems"), e["args"].get("dtype")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    if "Usage" not in subprocess.run([heddle, "view", "--help"], capture_output=True, text=True).stdout:
        print("skipped: this heddle was built without the page")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files, truth = make(heddle, folder)
        notes, figures = late_of(heddle, files)
        assert not notes and None not in figures, (notes, figures)
        assert late_of(heddle, [folder / "job.hds"]) == (notes, figures), "of summaries"
        found = [collectives_of(path) for path in files]
        assert all(of.keys() == found[0].keys() for of in found)
        check_sums(heddle, files, found)
        check_open(heddle, files, found, truth)
        check_of_summaries(heddle, folder, found, truth)
        check_apart(heddle, folder, files, truth)
        check_few(heddle, folder)
        check_other_files(heddle, folder)
        check_absent(heddle, folder)
        check_without_steps(heddle, folder, files, found)
        check_merged(heddle, folder, files, found)
        check_lacking(heddle, files, found)
        check_real(heddle)
        check_real_clocks(heddle)
    print("ranks beside each other agree with their files")
    return 0


sys.exit(main())
