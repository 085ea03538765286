#!/usr/bin/python3
"""Make the fixtures of the format nsys, tests/format/nsys/*.sqlite, and the seeds of its fuzz target.

usage: nsys_fixtures.py FOLDER

small    a launch, its kernel, a copy, a wait, NVTX of two domains, memory, samples with call chains, scheduling, metrics
edge     columns in other places and missing, no labels, NULLs, an open range, text that is not UTF-8, a blob, unknown tables
payload  binary payloads of NVTX: NCCL's, all kinds of entries, what stays hexadecimal, schemas that processes tell otherwise
bad-page a page of the kernels' b-tree is zeros
bad-cut  the file ends within its pages
bad-rows no time, an end before the start
"""
import os
import sqlite3
import struct
import sys

PID = 1 << 56 | 77 << 24


def create(path, tables):
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.text_factory = bytes
    db.execute("pragma page_size=512")
    for name, (columns, rows) in tables.items():
        db.execute(f'create table "{name}" ({columns})')
        for row in rows:
            db.execute(f'insert into "{name}" values ({",".join("?" * len(row))})', row)
    db.commit()
    db.close()


def spoil(path):
    """Zeros in place of the last leaf with rows."""
    with open(path, "r+b") as file:
        data = file.read()
        file.seek(next(at for at in range(len(data) - 512, 0, -512) if data[at] == 13 and int.from_bytes(data[at + 3:at + 5], "big") > 4))
        file.write(bytes(512))


STRINGS = [(1, "void add(int)"), (2, "cudaLaunchKernel_v7000"), (3, "cuMemcpyAsync_v2"), (4, "main"), (5, "work"),
           (6, "python3"), (7, "_Z3addi"), (8, "poll"), (9, "registered")]


def small():
    tid = PID | 78
    return {
        "StringIds": ("id INTEGER PRIMARY KEY, value TEXT", STRINGS),
        "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs INTEGER", [(1700000000000000000,)]),
        "TARGET_INFO_GPU": ("id INTEGER, name TEXT, totalMemory INTEGER, computeMajor INTEGER, computeMinor INTEGER, smCount INTEGER, cuDevice INTEGER",
                            [(0, "NVIDIA H100", 80 << 30, 9, 0, 132, 0)]),
        "TARGET_INFO_CUDA_STREAM": ("streamId INTEGER, hwId INTEGER, vmId INTEGER, processId INTEGER, contextId INTEGER, priority INTEGER",
                                    [(7, 1, 0, 77, 1, 4294967291), (7, 2, 0, 77, 1, 4294967292), (7, 1, 0, 77, 2, 1), (13, 1, 0, 77, 1, 0)]),
        "ThreadNames": ("nameId INTEGER, priority INTEGER, globalTid INTEGER", [(5, 0, tid)]),
        "PROCESSES": ("globalPid INTEGER, pid INTEGER, name TEXT", [(PID, 77, "python3"), (PID + (1 << 24), 78, "other")]),
        "ENUM_CUPTI_OVERHEAD_TYPE": ("id INTEGER, name TEXT, label TEXT", [(3, "X", "Buffer flush")]),
        "ENUM_SAMPLING_THREAD_STATE": ("id INTEGER, name TEXT, label TEXT", [(1, "Running", "Running")]),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (
            "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER",
            [(100, 150, 0, tid, 11, 2, 0, 1), (160, 170, 0, tid, 12, 3, 700, None)]),
        "CUPTI_ACTIVITY_KIND_KERNEL": (
            "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
            "demangledName INTEGER, mangledName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, "
            "blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER",
            [(200, 300, 0, 1, 7, 11, PID, 1, 7, 32, 4, 2, 1, 128, 1, 1, 1024, 512, None)]),
        "CUPTI_ACTIVITY_KIND_MEMCPY": (
            "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, "
            "copyKind INTEGER, srcKind INTEGER, dstKind INTEGER", [(310, 320, 0, 1, 13, 12, PID, 4096, 1, 0, 2)]),
        "CUPTI_ACTIVITY_KIND_MEMSET": (
            "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, "
            "bytes INTEGER, memKind INTEGER", [(330, 331, 0, 1, 7, 13, PID, 0, 64, 2)]),
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (
            "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER",
            [(180, 305, 0, 1, 7, 14, PID, 3), (180, 305, 0, 1, 4294967295, 15, PID, 4)]),
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (
            "start INTEGER, end INTEGER, deviceId INTEGER, graphId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER",
            [(400, 500, 0, 3, 1, 7, 16, PID)]),
        "CUPTI_ACTIVITY_KIND_OVERHEAD": ("start INTEGER, end INTEGER, globalTid INTEGER, overheadType INTEGER", [(151, 155, tid, 3)]),
        "CUDA_GPU_MEMORY_USAGE_EVENTS": (
            "start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER",
            [(90, PID, 0, 1, 0x7000, 4096, 2, 0), (600, PID, 0, 1, 0x7000, 4096, 2, 1)]),
        "NVTX_EVENTS": (
            "start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, "
            "textId INTEGER, domainId INTEGER, int64Value INTEGER, doubleValue REAL",
            [(0, None, 75, None, None, "NCCL", tid, None, None, 1, None, None), (0, None, 33, None, 5, "phase", tid, None, None, 0, None, None),
             (95, 360, 59, None, 5, "step", tid, None, None, 0, 42, None), (105, 140, 59, None, None, None, tid, None, 9, 1, None, 2.5),
             (110, 350, 60, 901, None, "range", tid, tid + 1, None, 0, None, None), (120, None, 34, None, None, "mark", tid, None, None, 0, None, None)]),
        "COMPOSITE_EVENTS": ("id INTEGER PRIMARY KEY, start INTEGER, cpu INTEGER, threadState INTEGER, globalTid INTEGER", [(1, 130, 3, 1, tid)]),
        "SAMPLING_CALLCHAINS": ("id INTEGER, symbol INTEGER, module INTEGER, kernelMode INTEGER, stackDepth INTEGER",
                                [(1, 5, 4, None, 0), (1, 4, 4, None, 1)]),
        "CUDA_CALLCHAINS": ("id INTEGER, symbol INTEGER, stackDepth INTEGER", [(1, 4, 0)]),
        "SCHED_EVENTS": ("start INTEGER, cpu INTEGER, isSchedIn INTEGER, globalTid INTEGER", [(80, 3, 1, tid), (180, 3, 0, tid)]),
        "OSRT_API": ("start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, nestingLevel INTEGER", [(361, 390, tid, 8, 0)]),
        "TARGET_INFO_GPU_METRICS": ("typeId INTEGER, metricId INTEGER, metricName TEXT", [(256, 1, "SM Active")]),
        "GPU_METRICS": ("timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER", [(200, 256, 1, 90), (300, 256, 1, 10)]),
    }


def edge():
    return {
        "EXPORT_META_DATA": ("name TEXT, value TEXT", [("EXPORT_SCHEMA_VERSION_MAJOR", "2")]),
        "CUPTI_ACTIVITY_KIND_KERNEL": (
            "later TEXT, streamId INTEGER, end INTEGER, start INTEGER, deviceId INTEGER, big BLOB",
            [("x", 7, 20, 10, 1, b"\x01\xff"), (None, None, None, 30, None, None)]),
        "NVTX_EVENTS": ("start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER",
                        [(5, None, 59, "open", PID | 77), (6, None, 60, "open range", PID | 77)]),
        "VULKAN_API": ("id INTEGER PRIMARY KEY, start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER", [(9, 40, 50, PID | 79, 1)]),
        "StringIds": ("id INTEGER PRIMARY KEY, value TEXT", [(1, "a" * 2000)]),
        "no times": ('"a ""b" REAL, [c d] INTEGER CHECK (max(1, 2)), PRIMARY KEY ("c d")', [(1.5, 2)]),
    }


def payload():
    """Domain 1 is NCCL's. Schemas: 1 what it tells, 2 every kind of number, an enumeration and texts, 3 an array, 4 told otherwise by
    another process, 5 an entry outside, 6 of no entries."""
    tid = PID | 78
    kinds = [(1, "<b", -1), (4, "<H", 65535), (5, "<i", -5), (7, "<q", -(1 << 63)), (18, "<Q", (1 << 64) - 1), (19, "<f", 0.5), (20, "<d", -1e300),
             (22, "<Q", 1 << 40), (900, "<i", 2), (900, "<i", 77)]
    entries = [(1, 0, 18, "NCCL communicator ID", None, None, None), (1, 1, 22, "Message size [bytes]", 8, None, None),
               (1, 2, 5, "Peer rank", 16, None, None)]
    body, at = b"", 0
    for i, (kind, form, value) in enumerate(kinds):
        entries.append((2, i, kind, f"entry {i}", at, 0, None))
        body += struct.pack(form, value)
        at += struct.calcsize(form)
    entries += [(2, 20, 75, "text", at, 0, 8), (3, 0, 5, "list", 0, 16, 2), (4, 0, 5, "rank", 0, None, None), (4, 0, 6, "rank", 0, None, None),
                (5, 0, 18, "far", 4, None, None), (5, 1, 5, "near", 0, None, None)]
    nccl = struct.pack("<QQi", 0xfedcba9876543210, 1 << 20, 3)

    def blob(schema, data, size=None, domain=1):
        return struct.pack("<QQQQ", domain, schema, len(data) if size is None else size, 32 + len(data)) + data

    blobs = [blob(1, nccl), blob(2, body + b"abc\0defg"), blob(3, bytes(8)), blob(4, bytes(4)), blob(5, bytes(8)), blob(6, b""), blob(1, nccl, 21),
             blob(1, nccl, domain=2), nccl[:7], blob(1, nccl)[:40], None]
    return {
        "StringIds": ("id INTEGER PRIMARY KEY, value TEXT", STRINGS),
        "NVTX_EVENTS": ("start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER, binaryData TEXT",
                        [(10 * i, 10 * i + 5, 59, f"range {i}", tid, 1, data) for i, data in enumerate(blobs)]),
        "NVTX_PAYLOAD_SCHEMAS": ("domainId INTEGER, schemaId INTEGER, payloadSize INTEGER", [(1, 1, 20)]),
        "NVTX_PAYLOAD_SCHEMA_ENTRIES": ("domainId INTEGER, schemaId INTEGER, idx INTEGER, type INTEGER, name TEXT, offset INTEGER, flags INTEGER, "
                                        "arrayOrUnionDetail INTEGER", [(1,) + entry for entry in entries] + [(1,) + entries[0]]),
        "NVTX_PAYLOAD_ENUMS": ("domainId INTEGER, schemaId INTEGER, name TEXT, numEntries INTEGER, size INTEGER", [(1, 900, "operation", 2, 4)]),
        "NVTX_PAYLOAD_ENUM_ENTRIES": ("domainId INTEGER, schemaId INTEGER, idx INTEGER, name TEXT, value INTEGER, isFlag INTEGER",
                                      [(1, 900, 0, "sum", 0, 0), (1, 900, 1, "max", 2, 0)]),
    }


def bad_rows():
    return {"OSRT_API": ("start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER", [(10, 5, PID, 1), (None, 5, PID, 1), (1, 2, PID, 1)])}


def many():
    columns, rows = small()["CUPTI_ACTIVITY_KIND_KERNEL"]
    row = rows[0]
    return {"CUPTI_ACTIVITY_KIND_KERNEL": (columns, [(1000 * i, 1000 * i + 500) + row[2:] for i in range(40)])}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, tables in {"small": small(), "edge": edge(), "payload": payload(), "bad-rows": bad_rows(), "bad-page": many(), "bad-cut": many()}.items():
        create(f"{folder}/{name}.sqlite", tables)
    with open(f"{folder}/edge.sqlite", "r+b") as file:
        data = file.read()
        file.seek(data.index(b"open range"))
        file.write(b"open \xff")
    with open(f"{folder}/bad-page.sqlite", "r+b") as file:
        file.seek(4 * 512)
        file.write(bytes(512))
    os.truncate(f"{folder}/bad-cut.sqlite", 5 * 512 + 100)


if __name__ == "__main__":
    main()
