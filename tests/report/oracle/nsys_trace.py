#!/usr/bin/env python3
"""A Nsight Systems SQLite export as a trace in Chrome's JSON format: kernels, copies, sets, calls, NVTX ranges.

Each process is a rank, as the correlation ids of two may be the same: rows are named "rank 0: GPU 1", as of a merge.

  nsys_trace.py FILE.sqlite > trace.json
"""
import json
import sqlite3
import sys

COPIES = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP"}


def connect(path):
    return sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True)


def has(db, table):
    return bool(db.execute("select 1 from sqlite_master where name = ?", (table,)).fetchone())


class Microseconds(float):
    """Nanoseconds as a number of JSON with all its digits."""

    def __new__(cls, ns):
        self = super().__new__(cls, ns / 1000)
        self.text = "%d.%03d" % divmod(ns, 1000)
        return self

    def __repr__(self):
        return self.text


def event(category, name, pid, tid, start, end, args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": Microseconds(start),
            "dur": Microseconds(end - start), "args": args}


def row_of(ranks, process, device):
    """The pid of a device of a process."""
    return 1000 * (ranks[process >> 24] + 1) + device


def works_of(db, names, ranks):
    for row in db.execute("select globalPid, start, end, deviceId, streamId, correlationId, demangledName,"
                          " registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ"
                          " from CUPTI_ACTIVITY_KIND_KERNEL"):
        process, start, end, device, stream, number, name, registers = row[:8]
        yield event("kernel", names[name], row_of(ranks, process, device), stream, start, end,
                    {"device": device, "stream": stream, "correlation": number, "registers per thread": registers,
                     "grid": list(row[8:11]), "block": list(row[11:14])})
    for table, category in (("MEMCPY", "gpu_memcpy"), ("MEMSET", "gpu_memset")):
        if not has(db, "CUPTI_ACTIVITY_KIND_" + table):
            continue
        kind = "copyKind" if table == "MEMCPY" else "0"
        for process, start, end, device, stream, number, count, copy in db.execute(
                "select globalPid, start, end, deviceId, streamId, correlationId, bytes, %s from CUPTI_ACTIVITY_KIND_%s"
                % (kind, table)):
            name = "Memcpy " + COPIES.get(copy, "") if copy else "Memset (Device)"
            yield event(category, name, row_of(ranks, process, device), stream, start, end,
                        {"device": device, "stream": stream, "correlation": number, "bytes": count})


def events_of(db):
    names = dict(db.execute("select id, value from StringIds"))
    ranks = {process >> 24: i for i, (process,) in enumerate(db.execute(
        "select distinct globalTid / 0x1000000 * 0x1000000 from CUPTI_ACTIVITY_KIND_RUNTIME order by 1"))}
    for process, rank in ranks.items():
        devices = [row_of(ranks, process << 24, device) for device in range(16)]
        for pid, name in [(process & 0xFFFFFF, "program")] + [(pid, "GPU") for pid in devices]:
            yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0,
                   "args": {"name": "rank %d: %s" % (rank, name)}}
    yield from works_of(db, names, ranks)
    for start, end, thread, number, name in db.execute(
            "select start, end, globalTid, correlationId, nameId from CUPTI_ACTIVITY_KIND_RUNTIME"):
        yield event("cuda_runtime", names[name], thread >> 24 & 0xFFFFFF, thread & 0xFFFFFF, start, end,
                    {"correlation": number})
    if has(db, "NVTX_EVENTS"):
        for start, end, thread, text in db.execute(
                "select start, end, globalTid, coalesce(text, (select value from StringIds where id = textId))"
                " from NVTX_EVENTS where eventType in (59, 60) and end is not null"):
            yield event("nvtx", text or "", thread >> 24 & 0xFFFFFF, thread & 0xFFFFFF, start, end, {})


def document(path):
    return {"traceEvents": list(events_of(connect(path)))}


def dumps(value):
    """json.dumps does not ask subclasses of float for their digits."""
    if isinstance(value, Microseconds):
        return value.text
    if isinstance(value, dict):
        return "{%s}" % ",".join("%s:%s" % (json.dumps(k), dumps(v)) for k, v in value.items())
    if isinstance(value, list):
        return "[%s]" % ",\n".join(map(dumps, value))
    return json.dumps(value)


if __name__ == "__main__":
    print(dumps(document(sys.argv[1])))
