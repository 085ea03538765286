#!/usr/bin/python3
"""Make the fixtures of the format ascend, tests/format/ascend/*.db.

usage: ascend_fixtures.py FOLDER

small        operators with a call chain and connections, calls, ranges, tasks of all kinds, a collective, memory, counters
edge         what msprof writes alone: other columns, no texts, unknown tables, memory with addresses, two devices
bad-page     a page of the tasks' b-tree is zeros
bad-cut      the file ends within its pages
bad-rows     no time, an end before the start, a huge number
edge-hostile names, views and triggers that loop, a table without rowids, a row of 20 KB
"""
import os
import sqlite3
import sys

from nsys_fixtures import create, spoil

NONE = 0xffffffff
T0 = 1_700_000_000_000_000_000
PID = 500
TEXTS = ["KERNEL_AICORE", "MEMCPY_ASYNC", "Notify Wait", "SDMA", "AI_CORE", "EVENT_WAIT", "MIX_AIV", "Conv2D1", "AI_VECTOR_CORE", "Conv2D",
         "hcom_allReduce__1_0_1", "Memcpy", "Notify_Wait", "group_a", "aclnnMul", "launch", "aten::mul", "Enqueue", "Dequeue@aclnnMul", "train.py(1): main",
         "train.py(2): step", "aiv_vec_time", "read", "PTA", "my range", "domain", "MESH", "allocate", "release", "nn.Module: Net", "MulBackward", "MEMSET_ASYNC",
         "add_mix", "hcom_allReduce_", "mark", "GE"]
S = {text: i for i, text in enumerate(TEXTS)}
STRINGS = ("id INTEGER PRIMARY KEY, value TEXT", list(enumerate(TEXTS)))


def tid(thread):
    return PID << 32 | thread


TASK = "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER"


def task(start, end, connection, number, kind, context=NONE, stream=2, task_id=None, device=0):
    return (T0 + start, T0 + end, device, connection, number, PID, S[kind], context, stream, number if task_id is None else task_id, NONE)


def small():
    return {
        "META_DATA": ("name TEXT, value TEXT", [("SCHEMA_VERSION", "1.0.0")]),
        "NPU_INFO": ("id INTEGER, name TEXT", [(0, "Ascend910B")]),
        "RANK_DEVICE_MAP": ("rankId INTEGER, deviceId INTEGER", [(3, 0)]),
        "HOST_INFO": ("hostUid TEXT, hostName TEXT", [("35389", "node7")]),
        "STRING_IDS": STRINGS,
        "ENUM_API_TYPE": ("id INTEGER PRIMARY KEY, name TEXT", [(10000, "node"), (20000, "acl"), (50001, "op")]),
        "ENUM_MODULE": ("id INTEGER PRIMARY KEY, name TEXT", [(7, "RUNTIME")]),
        "ENUM_HCCL_DATA_TYPE": ("id INTEGER PRIMARY KEY, name TEXT", [(4, "FP32")]),
        "ENUM_HCCL_LINK_TYPE": ("id INTEGER PRIMARY KEY, name TEXT", [(1, "HCCS")]),
        "ENUM_MEMCPY_OPERATION": ("id INTEGER PRIMARY KEY, name TEXT", [(1, "host to device")]),
        "TASK": (TASK, [
            task(200, 300, 11, 1, "KERNEL_AICORE"), task(310, 320, 12, 2, "MEMCPY_ASYNC"), task(325, 330, 13, 3, "EVENT_WAIT"),
            task(331, 340, 14, 4, "MEMSET_ASYNC"), task(400, 500, 15, 5, "AI_CORE", task_id=77, stream=4),
            task(405, 420, 15, 6, "SDMA", 0, 4, 77), task(420, 480, 15, 7, "Notify Wait", 1, 4, 77),
            task(510, 550, NONE, 8, "AI_CORE", task_id=88), task(512, 548, NONE, 9, "MIX_AIV", 0, task_id=88)]),
        "COMPUTE_TASK_INFO": (
            "name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, taskType INTEGER, opType INTEGER, inputShapes INTEGER",
            [(S["Conv2D1"], 1, 32, S["AI_VECTOR_CORE"], S["Conv2D"], NONE), (S["add_mix"], 9, 8, S["MIX_AIV"], None, None)]),
        "TASK_PMU_INFO": ("globalTaskId INTEGER, name INTEGER, value NUMERIC", [(1, S["aiv_vec_time"], 1173.888888888889), (1, S["read"], 7), (9, S["read"], 1)]),
        "MEMCPY_INFO": ("globalTaskId INTEGER, size INTEGER, memcpyOperation INTEGER", [(2, 4096, 1)]),
        "COMMUNICATION_TASK_INFO": (
            "name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER, groupName INTEGER, size INTEGER, dataType INTEGER, linkType INTEGER, opId INTEGER",
            [(S["hcom_allReduce__1_0_1"], 6, S["Memcpy"], 0, S["group_a"], 1024, 4, 1, 1), (S["hcom_allReduce__1_0_1"], 7, S["Notify_Wait"], 1, S["group_a"], 0, 65535, 1, 1)]),
        "COMMUNICATION_OP": (
            "opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER, opId INTEGER PRIMARY KEY, dataType INTEGER, algType INTEGER, count NUMERIC, opType INTEGER",
            [(S["hcom_allReduce__1_0_1"], T0 + 402, T0 + 500, 15, S["group_a"], 1, 4, S["MESH"], 256, S["hcom_allReduce_"])]),
        "CANN_API": ("startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER PRIMARY KEY, name INTEGER",
                     [(T0 + 150, T0 + 160, 10000, tid(502), 11, S["launch"]), (T0 + 161, T0 + 165, 20000, tid(502), 12, S["launch"])]),
        "PYTORCH_API": (
            "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER, type INTEGER, depth INTEGER",
            [(str(T0 + 90), str(T0 + 600), tid(501), None, S["nn.Module: Net"], None, None, None, None, None, 50003, 0),
             (str(T0 + 100), str(T0 + 140), tid(501), 1, S["aten::mul"], 5, 0, None, None, 0, 50001, 1),
             (str(T0 + 110), str(T0 + 112), tid(501), 2, S["Enqueue"], None, None, None, None, None, 50002, 2),
             (str(T0 + 145), str(T0 + 170), tid(502), 3, S["Dequeue@aclnnMul"], None, None, None, None, None, 50002, 0),
             (str(T0 + 180), str(T0 + 190), tid(503), 4, S["MulBackward"], 5, 501, None, None, None, 50001, 0),
             (str(T0 + 191), str(T0 + 192), tid(503), None, S["my range"], None, None, None, None, None, 50004, 0)]),
        "CONNECTION_IDS": ("id INTEGER, connectionId INTEGER", [(1, 11), (1, 12), (1, 901), (2, 900), (3, 900), (4, 901)]),
        "PYTORCH_CALLCHAINS": ("id INTEGER, stack INTEGER, stackDepth INTEGER", [(0, S["train.py(2): step"], 0), (0, S["train.py(1): main"], 1)]),
        "MSTX_EVENTS": (
            "startNs INTEGER, endNs INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, message INTEGER, globalTid INTEGER, endGlobalTid INTEGER, domainId INTEGER, connectionId INTEGER",
            [(T0 + 95, T0 + 95, 0, NONE, NONE, S["mark"], tid(501), tid(501), S["domain"], 13), (T0 + 96, T0 + 199, 1, NONE, NONE, S["my range"], tid(501), tid(501), S["domain"], NONE),
             (T0 + 97, T0 + 250, 2, 42, NONE, S["my range"], tid(501), tid(502), None, NONE)]),
        "STEP_TIME": ("id INTEGER, startNs INTEGER, endNs INTEGER", [(50, T0 + 80, T0 + 700)]),
        "OSRT_API": ("name INTEGER, globalTid INTEGER, startNs INTEGER, endNs INTEGER", [(S["read"], tid(501), T0 + 601, T0 + 610)]),
        "GC_RECORD": ("startNs INTEGER, endNs INTEGER, globalTid INTEGER", [(T0 + 611, T0 + 612, tid(501))]),
        "OVERLAP_ANALYSIS": ("id INTEGER PRIMARY KEY, deviceId INTEGER, startNs INTEGER, endNs INTEGER, type INTEGER", [(1, 0, T0 + 200, T0 + 300, 0), (2, 0, T0 + 300, T0 + 400, 3)]),
        "OP_MEMORY": (
            "name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, releaseTotalAllocated INTEGER, releaseTotalReserved INTEGER, streamPtr INTEGER, deviceId INTEGER",
            [(S["aten::mul"], 512, T0 + 101, T0 + 590, 1024, 4096, 512, 4096, 77, 0), (S["aten::mul"], 256, T0 + 102, None, 1280, 4096, None, None, 77, 0),
             (S["aten::mul"], 64, None, T0 + 103, None, None, 1216, 4096, 77, 0), (S["aten::mul"], 1, None, None, None, None, None, None, 77, 0)]),
        "NPU_OP_MEM": ("operatorName INTEGER, addr INTEGER, type INTEGER, size INTEGER, timestampNs INTEGER, globalTid INTEGER, totalAllocate NUMERIC, totalReserve NUMERIC, component INTEGER, deviceId INTEGER",
                       [(S["Conv2D1"], 4096, S["allocate"], 64, T0 + 104, tid(501), 64, 128, S["GE"], 0)]),
        "MEMORY_RECORD": ("component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER, totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER",
                          [(S["PTA"], T0 + 101, 1024, 4096, 1024, 77, 0)]),
        "HBM": ("deviceId INTEGER, timestampNs INTEGER, bandwidth NUMERIC, hbmId INTEGER, type INTEGER", [(0, T0 + 100, 0, 1, S["read"]), (0, T0 + 200, 12.5, 1, S["read"])]),
        "NPU_MODULE_MEM": ("moduleId INTEGER, timestampNs INTEGER, totalReserved NUMERIC, deviceId INTEGER", [(7, T0 + 100, 4096, 0), (99, T0 + 100, 1, 0)]),
        "LLC": ("deviceId INTEGER, llcId INTEGER, timestampNs INTEGER, hitRate REAL, throughput INTEGER, mode INTEGER", [(0, 0, T0 + 100, 85.9, 18168939544, S["read"])]),
        "AICORE_FREQ": ("deviceId INTEGER, timestampNs NUMERIC, freq INTEGER", [(0, T0 + 100, 1800)]),
        "CPU_USAGE": ("timestampNs INTEGER, cpuId INTEGER, usage NUMERIC", [(T0 + 100, 3, 50)]),
    }


def edge():
    return {
        "NPU_INFO": ("id INTEGER, name TEXT", [(0, "Ascend910B"), (1, "Ascend910B")]),
        "RANK_DEVICE_MAP": ("rankId INTEGER, deviceId INTEGER", [(8, 0), (9, 1)]),
        "HOST_INFO": ("hostUid TEXT, hostName TEXT", [("1", "a"), ("2", "b")]),  # which of them is not told
        "STRING_IDS": ("id INTEGER PRIMARY KEY, value TEXT", [(S["KERNEL_AICORE"], "KERNEL_AICORE"), (40, b"bad \xff"), (S["release"], "release")]),
        "TASK": (TASK.replace("INTEGER, endNs", "INTEGER, later TEXT, endNs"), [
            (T0, "x", T0 + 10, 0, NONE, 1, PID, S["KERNEL_AICORE"], NONE, 2, 1, NONE), (T0, None, T0 + 10, 1, NONE, 2, PID + 1, 40, NONE, 2, 1, 7),
            (T0 + 20, None, T0 + 30, None, None, None, None, None, None, None, None, None), (T0, None, T0, 0, 5, 3, PID, 99, NONE, 2, 2, NONE)]),
        "COMPUTE_TASK_INFO": ("name INTEGER, globalTaskId INTEGER PRIMARY KEY, block_dim INTEGER", [(12345, 2, 1)]),
        "NPU_OP_MEM": ("operatorName INTEGER, addr INTEGER, type INTEGER, size INTEGER, timestampNs INTEGER, deviceId INTEGER",
                       [(None, 4096, 777, 64, T0 + 1, 1), (None, 4096, S["release"], 64, T0 + 2, 1)]),
        "NEW_THINGS": ("startNs INTEGER, endNs INTEGER, deviceId INTEGER, how TEXT", [(T0 + 5, T0 + 6, 0, "so"), (T0 + 7, None, 0, None)]),
        "no times": ("a REAL, b BLOB", [(1.5, b"\x00\xff")]),
        "HOST_MEM_USAGE": ("timestampNs INTEGER, usage NUMERIC", [(T0, 1.5)]),
        "MSTX_EVENTS": ("startNs INTEGER, endNs INTEGER, eventType INTEGER, message INTEGER, globalTid INTEGER", [(T0, None, 2, None, tid(1))]),
    }


def bad_rows():
    return {"NPU_INFO": ("id INTEGER, name TEXT", []),
            "TASK": (TASK, [(None, T0, 0, NONE, 1, PID, 0, NONE, 2, 1, NONE), (T0 + 5, T0, 0, NONE, 2, PID, 0, NONE, 2, 2, NONE),
                            (-(1 << 63) + 1, (1 << 63) - 1, 0, NONE, 3, PID, 0, NONE, 2, 3, NONE), task(1, 2, 1, 4, "SDMA")])}


def many():
    return {"NPU_INFO": ("id INTEGER, name TEXT", []), "STRING_IDS": STRINGS, "TASK": (TASK, [task(10 * i, 10 * i + 5, i, i, "KERNEL_AICORE") for i in range(60)])}


def hostile(path):
    create(path, many())
    db = sqlite3.connect(path)
    db.execute("create view loop_a as select * from loop_b")
    db.execute("create view loop_b as select * from loop_a")
    db.execute("create trigger bomb after insert on TASK begin insert into TASK select * from TASK; end")
    db.execute("create table without_rowid (a INTEGER PRIMARY KEY, startNs INTEGER) without rowid")
    db.execute("create table blobs (startNs INTEGER, data BLOB)")
    db.execute("insert into blobs values (?, ?)", (T0, b"\xab" * 20_000))
    db.execute('create table "CANN_API"" --" (startNs INTEGER)')
    db.execute(f"create table wide ({','.join(f'c{i}' for i in range(400))})")
    db.commit()
    db.close()


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, tables in {"small": small(), "edge": edge(), "bad-rows": bad_rows(), "bad-page": many(), "bad-cut": many()}.items():
        create(f"{folder}/{name}.db", tables)
    hostile(f"{folder}/edge-hostile.db")
    spoil(f"{folder}/bad-page.db")
    os.truncate(f"{folder}/bad-cut.db", os.path.getsize(f"{folder}/bad-cut.db") - 700)


if __name__ == "__main__":
    main()
