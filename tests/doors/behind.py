"""Everything a file answers, and what of it differs behind a conversion: {noun: rows}, without ids, and without what stands
only in the file that is asked (offsets, what reading it repaired)."""
import collections
import json
import math
import os

REPORTS = ("summary breakdown kernels copies operators modules ranges steps launches queue states idle syncs critical-path communication flops "
           "timeline memory info check attribution").split()
PLACE = "p.name process, p.pid, t.tid, t.name track, t.device, t.stream"
OF = "left join track t on t.id = e.track_id left join process p on p.upid = t.upid"
#: Every row of every table of the events, without ids.
SQL = {
    "slices": f"select e.type, e.category, e.name, e.ts, e.dur, e.depth, e.role, e.correlation, e.rank, e.thread_ts, e.thread_dur, {PLACE} from slice e {OF}",
    "instants": f"select e.category, e.name, e.ts, {PLACE} from instant e {OF}",
    "args": "select e.type, e.name, e.ts, a.key, a.value_type, a.display_value from slice e join args a on a.arg_set_id = e.arg_set_id",
    "counts": "select t.kind, p.name process, t.name, t.sort_index, count(*) n from slice e left join track t on t.id = e.track_id left join process p on p.upid = t.upid group by 1, 2, 3, 4",
    "counters": "select t.name, p.name process, p.pid, e.ts, e.value from counter e join counter_track t on t.id = e.track_id left join process p on p.upid = t.upid",
    "flows": "select a.name, a.ts, b.name to_name, b.ts to_ts from flow f left join slice a on a.id = f.slice_out left join slice b on b.id = f.slice_in",
    "launches": "select name, ts, dur, work_name, work_ts, work_dur, role, correlation, rank from launch",
    "steps": "select name, ts, dur from step",
    "samples": f"select e.ts, e.name, e.category, f.name frame, f.kind, f.depth, g.name caller, {PLACE} from stack_sample e left join stack_frame f on f.id = e.stack_id left join stack_frame g on g.id = f.parent_id {OF}",
    "memory_events": "select ts, type, address, bytes, device_type, device, category from memory_event",
    "processes": "select pid, name, rank from process",
    "threads": "select p.pid, p.name process, t.tid, t.name from thread t left join process p on p.upid = t.upid",
    "states": "select s.ts, s.dur, s.cpu, s.state, t.tid, t.name from thread_state s left join thread t on t.utid = s.utid",
    "metadata": "select name, value from metadata",
}
#: Of a row of a report: what tells where in the file it stands.
ABOUT_THE_FILE = ("id", "row", "offset", "other_offset", "finding")
#: Of `info`: what tells of the file, and what its metadata events add.
INFO = {"info.file": ("format", "path", "compression", "input_bytes", "stored_bytes", "strings", "losses", "repairs", "events", "origin", "origin_compression", "notes", "bytes_per_event")}


def plain(row, noun):
    row = {c: v for c, v in row.items() if c not in ABOUT_THE_FILE and not c.endswith("_id") and c not in INFO.get(noun, ())}
    if row.get("doubt"): # reading the file lost something: the ledger of the conversion says so
        row["doubt"] = ", ".join(d for d in row["doubt"].split(", ") if d != "input-lost") or None
    return row


def kept(row, noun):
    return not (noun.endswith(".notes") and "lost" in row["note"]) and row.get("kind") not in ("metadata", "meta") and not (noun == "check.findings" and "." in row["code"])


def rows_of(rows, noun):
    """As a multiset that can be compared; floats by nine digits."""
    value = lambda v: float(f"{v:.9g}") if isinstance(v, float) and math.isfinite(v) else v
    return collections.Counter(json.dumps({c: value(v) for c, v in plain(row, noun).items()}, sort_keys=True) for row in rows if kept(row, noun))


def everything(doors, path):
    out = {}
    told = doors.json("report", ",".join(REPORTS), "--json", path)
    for report in told:
        for table, rows in report.items():
            if isinstance(rows, list) and table != "ledger":
                out[f"{report['report']}.{table}"] = rows_of(rows, f"{report['report']}.{table}")
    for noun, sql in SQL.items():
        out[noun] = rows_of(doors.json("query", "--json", path, sql), noun)
    return out


def differences(before, behind):
    """{noun: (rows only before, rows only behind)}"""
    none = collections.Counter()
    return {noun: (before.get(noun, none) - behind.get(noun, none), behind.get(noun, none) - before.get(noun, none))
            for noun in {**before, **behind} if before.get(noun, none) != behind.get(noun, none)}


def columns(lost, new):
    """The columns in which the rows that are most alike differ."""
    out = collections.Counter()
    rows = [json.loads(r) for r in new]
    for text in list(lost)[:50]:
        row = json.loads(text)
        if not rows:
            return {"(gone)": sum(lost.values())}
        best = min(rows, key=lambda r: sum(row[c] != r.get(c) for c in row))
        for c in row:
            if row[c] != best.get(c):
                out[c, str(row[c])[:40], str(best.get(c))[:40]] += 1
    if not lost:
        out["(new)"] = sum(new.values())
    return out
