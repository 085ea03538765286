"""Everything that a file answers, and what of it differs behind a conversion without a word of its ledger."""
import collections
import json
import math
import re

#: Every report of one file.
REPORTS = ("summary breakdown kernels copies operators modules ranges steps launches queue states idle syncs critical-path communication flops "
           "timeline memory info check attribution").split()
PLACE = "p.name process, p.pid, t.tid, t.name track, t.device, t.stream"
OF = "left join track t on t.id = e.track_id left join process p on p.upid = t.upid"
#: Every row of the tables of events, without ids.
SQL = {
    "slices": f"select e.type, e.category, e.name, e.ts, e.dur, e.depth, e.role, e.correlation, e.rank, e.thread_ts, e.thread_dur, {PLACE} from slice e {OF}",
    "instants": f"select e.category, e.name, e.ts, {PLACE} from instant e {OF}",
    "args": "select e.type, e.name, e.ts, a.key, a.value_type, a.display_value from slice e join args a on a.arg_set_id = e.arg_set_id",
    "tracks": f"select t.kind, t.sort_index, {PLACE}, count(*) n from slice e {OF} where t.kind is not null group by 1, 2, 3, 4, 5, 6, 7, 8",
    "counters": "select t.name, p.name process, p.pid, e.ts, e.value from counter e join counter_track t on t.id = e.track_id left join process p on p.upid = t.upid",
    "units": "select e.ts, t.name, a.display_value unit from counter e join counter_track t on t.id = e.track_id join args a on a.arg_set_id = e.arg_set_id where a.key = 'unit'",
    "flows": "select a.name, a.ts, b.name to_name, b.ts to_ts from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in",
    "launches": "select name, ts, dur, work_name, work_ts, work_dur, role, correlation, rank from launch",
    "steps": "select name, ts, dur from step",
    "samples": f"select e.ts, f.name frame, f.kind, f.depth, g.name caller, {PLACE} from stack_sample e left join stack_frame f on f.id = e.stack_id"
               f" left join stack_frame g on g.id = f.parent_id {OF}",
    "memory_events": "select ts, type, address, bytes, device_type, device, category from memory_event",
    "processes": "select pid, name, rank from process where pid is not null or name is not null",
    "threads": "select p.pid, p.name process, t.tid, t.name from thread t left join process p on p.upid = t.upid where t.name is not null",
    "states": "select s.ts, s.dur, s.cpu, s.state, t.tid, t.name from thread_state s left join thread t on t.utid = s.utid",
    "metadata": "select name, value from metadata",
}
#: What tells of the file: where in it a row stands, its size, how many events it takes to say the same, their order (which is the first of equals), and what was
#: lost when it was read; who wrote it, which some formats say by themselves. info.samples is filled for perf script only. (Table: columns; none: all of them.)
OF_THE_FILE = {
    "": ("id", "row", "offset", "other_offset"),
    "info.file": ("format", "path", "compression", "input_bytes", "stored_bytes", "losses", "repairs", "notes", "events", "bytes_per_event",
                  "origin", "origin_compression", "track_count", "process_count", "producer"),
    "summary.trace": ("producer",),
    "info.tracks": ("other_events",), "info.processes": ("events", "threads"),
    "check.findings": ("start", "example", "pid", "tid", "track"), "summary.findings": ("start", "evidence", "trust"), "info.samples": None, "info.kinds": None, "info.categories": None, "check.examples": None, "check.summary": None,
}
#: What a loss or repair may change, by the beginning of its code; "": everything.
EXCUSES = {
    "heddle.block-damaged": "", "perfetto.event-": "", "perfetto.time-": "", "perfetto.duration-negative": "", "json.": "",
    "perfetto.sample-values": "samples info. attribution.", "perfetto.counter-": "counters units check.",
    "perfetto.end-name": "args check.", "perfetto.metadata": "metadata",
    "perfetto.number-as-text": "args", "perfetto.ids-merged": "", "chrome.key-numbered": "args",
    "devices-on-one-row": "check.",
}


def kept(noun, row):
    if noun == "summary.findings" and row["code"] == "missing-data":
        return False  # it repeats the first of these codes of check, whose counts are compared there, with an example
    if noun == "check.findings":  # codes with a point are of the ledger
        return "." not in row["code"] and row["code"] not in ("out-of-order", "input-lost", "merged-track",
                                                             "pid-over-32-bits", "tid-over-32-bits")
    if noun.endswith(".notes"):
        return "lost" not in row["note"] and "ends in the middle" not in row["note"]
    if noun == "info.tracks":
        return row["slices"] or (row["name"] and row["tid"] is not None)  # what is of the process itself: its table, and those of events
    if noun in ("info.processes", "tracks"):  # what is of no process has one without a pid in most formats
        return row["pid"] is not None
    if noun == "args":  # members that no column holds, as arguments
        return not row["key"].startswith("args.event.")
    return True


def rows_of(noun, rows):
    """As a multiset; floats by nine digits."""
    without = OF_THE_FILE[""] + OF_THE_FILE.get(noun, ())
    value = lambda v: float(f"{v:.9g}") if isinstance(v, float) and math.isfinite(v) else v
    out = collections.Counter()
    for row in rows:
        row = {c: value(v) for c, v in row.items() if c not in without and not c.endswith("_id")}
        if row.get("doubt"):
            row["doubt"] = ", ".join(d for d in row["doubt"].split(", ") if d != "input-lost") or None
        if kept(noun, row):
            out[json.dumps(row, sort_keys=True)] += 1
    return out


def answers(doors, path):
    """What is printed of a file: its reports, and its rows."""
    sql = " union all ".join(f"select '{noun}' noun, (select json_group_array(json_object({columns(select)})) from ({select})) rows" for noun, select in SQL.items())
    return doors.text("report", ",".join(REPORTS), "--json", path), doors.text("query", "--json", path, sql)


def everything(of_reports, of_rows):
    """Both answers as {noun: multiset of rows}."""
    out = {}
    for report in json.loads(of_reports):
        for table, rows in report.items():
            noun = f"{report['report']}.{table}"
            if isinstance(rows, list) and table != "ledger" and OF_THE_FILE.get(noun, ()) is not None:
                out[noun] = rows_of(noun, rows)
    for row in json.loads(of_rows):
        out[row["noun"]] = rows_of(row["noun"], json.loads(re.sub(r":(-?)Inf(?=[,}])", r":\1Infinity", row["rows"])))  # SQLite's infinity is no JSON
    return out


def columns(select):
    """'name', name, … of what a statement selects."""
    names = [part.strip().split(".")[-1].split()[-1] for part in select[len("select "):select.index(" from ")].split(", ")]
    return ", ".join(f"'{name}', {name}" for name in names)


def differences(before, behind, ledger):
    """{noun: (rows only before, rows only behind)}, where no code of the ledger tells it."""
    excused = [EXCUSES[start] for row in ledger for start in EXCUSES if row["code"].startswith(start)]
    if "" in excused:
        return {}
    excused = tuple(" ".join(excused).split())
    none, out = collections.Counter(), {}
    for noun in sorted({*before, *behind}):
        lost, new = before.get(noun, none) - behind.get(noun, none), behind.get(noun, none) - before.get(noun, none)
        if noun in ("metadata", "args", "units"):  # a format has keys of its own, or takes a unit from the name; what an end says is the slice's in some
            new = none
        if (lost or new) and not noun.startswith(excused):
            out[noun] = (sorted(lost.elements()), sorted(new.elements()))
    return out
