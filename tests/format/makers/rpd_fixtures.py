#!/usr/bin/python3
"""Make the fixtures of the format rpd, tests/format/rpd/*.rpd.

usage: rpd_fixtures.py FOLDER

small    calls and what they launched: a kernel, one of a module, a copy, a fill, a graph's tasks, a barrier; marks, monitors
edge     missing tables and strings, text for numbers, an extension's table with times
bad-page a page of the operations' b-tree is zeros
bad-cut  the file ends within its pages
bad-rows no time, an end before the start
"""
import os
import sys

from nsys_fixtures import create, spoil

TEXTS = ["", "hipLaunchKernel", "hipExtModuleLaunchKernel", "hipMemcpyAsync", "hipGraphLaunch", "UserMarker", "aten::mul", "OpTable::writeRows", "hsa_queue_create",
         "void add(int)", "KernelExecution", "CopyHostToDevice", "FillBuffer", "Task", "Barrier", "ptr=0x1 | size=0x2", "hipMemsetAsync", "ncclAllReduce"]
S = {text: i + 1 for i, text in enumerate(TEXTS)}
STRING = ('"id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "string" varchar(4096) NOT NULL', [(S[t], t) for t in TEXTS])
API = '"id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "pid" integer NOT NULL, "tid" integer NOT NULL, "start" integer, "end" integer NOT NULL, "apiName_id" integer NOT NULL REFERENCES "rocpd_string" ("id") DEFERRABLE INITIALLY DEFERRED, "args_id" integer NOT NULL'
OP = '"id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "gpuId" integer NOT NULL, "queueId" integer NOT NULL, "sequenceId" integer NOT NULL, "completionSignal" varchar(18) NOT NULL, "start" integer, "end" integer NOT NULL, "description_id" integer NOT NULL, "opType_id" integer NOT NULL'
BIG = 1 << 32


def op(number, start, end, name, kind, queue=0):
    return (number, 2, queue, 0, "", start, end, S[name], S[kind])


def small():
    return {
        "rocpd_string": STRING,
        "rocpd_metadata": ('"id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "tag" varchar(4096) NOT NULL, "value" varchar(4096) NOT NULL', [(1, "schema_version", "2")]),
        "rocpd_api": (API, [
            (BIG + 1, 100, 101, 1000, 1010, S["hipLaunchKernel"], 1), (BIG + 2, 100, 101, 1020, 1030, S["hipExtModuleLaunchKernel"], 1),
            (BIG + 3, 100, 101, 1040, 1050, S["hipMemcpyAsync"], S["ptr=0x1 | size=0x2"]), (BIG + 4, 100, 101, 1060, 1070, S["hipGraphLaunch"], 1),
            (BIG + 5, 100, 101, 990, 1080, S["UserMarker"], S["aten::mul"]), (BIG + 6, 100, 102, 2000, 2100, S["OpTable::writeRows"], 1),
            (BIG + 7, 100, 102, 900, 910, S["hsa_queue_create"], 1), (BIG + 8, 100, 101, 1071, 1072, S["hipMemsetAsync"], 1), (BIG + 9, 100, 101, 1073, 1074, S["ncclAllReduce"], 1)]),
        "rocpd_op": (OP, [
            op(1, 1100, 1200, "void add(int)", "KernelExecution"), op(2, 1210, 1300, "void add(int)", "KernelExecution"), op(3, 1310, 1320, "", "CopyHostToDevice", 1),
            op(4, 1330, 1340, "void add(int)", "Task"), op(5, 1341, 1350, "void add(int)", "Task"), op(6, 1360, 1370, "", "FillBuffer"), op(7, 1380, 1390, "", "Barrier")]),
        "rocpd_api_ops": ('"id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "api_id" integer NOT NULL, "op_id" integer NOT NULL',
                          [(1, BIG + 1, 1), (2, BIG + 2, 2), (3, BIG + 3, 3), (4, BIG + 4, 4), (5, BIG + 4, 5), (6, BIG + 8, 6)]),
        "rocpd_kernelapi": (
            '"api_ptr_id" integer NOT NULL PRIMARY KEY, "stream" varchar(18) NOT NULL, "gridX" integer NOT NULL, "gridY" integer NOT NULL, "gridZ" integer NOT NULL, "workgroupX" integer NOT NULL, "workgroupY" integer NOT NULL, "workgroupZ" integer NOT NULL, "groupSegmentSize" integer NOT NULL, "privateSegmentSize" integer NOT NULL, "kernelName_id" integer NOT NULL',
            [(BIG + 1, "0x0", 1, 2, 1, 128, 1, 1, 64, 0, S["void add(int)"]), (BIG + 2, "0x7f", 1792, 785, 1, 256, 2, 1, 0, 0, S["void add(int)"])]),
        "rocpd_copyapi": ('"api_ptr_id" integer NOT NULL PRIMARY KEY, "stream" varchar(18) NOT NULL, "size" integer NOT NULL, "width" integer NOT NULL, "kind" integer NOT NULL, "dst" varchar(18) NOT NULL, "src" varchar(18) NOT NULL',
                          [(BIG + 3, "0x0", 4096, "", 1, "0x2", "0x1")]),
        "rocpd_monitor": ('"id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "deviceType" varchar(16) NOT NULL, "deviceId" integer NOT NULL, "monitorType" varchar(16) NOT NULL, "start" integer NOT NULL, "end" integer NOT NULL, "value" varchar(255) NOT NULL',
                          [(1, "gpu", 0, "sclk", 950, 1200, "800"), (2, "gpu", 0, "power", 950, 1200, "97.5"), (3, "cpu", 1, "state", 950, 1200, "on")]),
        "ext_autogradapi": ('"api_ptr_id" integer NOT NULL PRIMARY KEY, "autogradName_id" integer NOT NULL, "seq" integer NOT NULL, "op_id" integer NOT NULL, "sizes" varchar(4096) NOT NULL',
                            [(BIG + 5, S["aten::mul"], 7, 1, "[[2, 3]]")]),
        "ext_callstack": ('"id" integer NOT NULL PRIMARY KEY, "parent_id" integer, "child_id" integer, "depth" integer', [(0, BIG + 5, BIG + 1, 1)]),
        "rocpd_barrierop": ('"op_ptr_id" integer NOT NULL PRIMARY KEY, "signalCount" integer NOT NULL', [(7, 1)]),
    }


def edge():
    return {
        "rocpd_op": (OP.replace("NOT NULL", ""), [(1, 2, 0, 0, "s", 10, 20, 77, 78), (2, "0", "x", None, None, "30", "40", None, None)]),
        "rocpd_api_ops": ("id integer primary key, api_id integer, op_id integer", [(1, 9, 1), (2, None, 1), (3, 10, 99)]),
        "rocpd_kernelapi": ("api_ptr_id integer primary key, gridX, gridY integer, gridZ integer, workgroupX integer, workgroupY integer, workgroupZ integer", [(9, "many", 1, 1, 1, 1, 1)]),
        "rocpd_api": ("pid integer, tid integer, start integer, end integer, apiName_id integer, id integer primary key", [(5, None, 1, 2, 1, 9), (None, None, 3, 4, None, 10)]),
        "ext_ranges": ("pid integer, tid integer, start integer, end integer, what text", [(5, 5, 6, 7, "x"), (5, 5, 8, None, "y")]),
        "no times": ("a real", [(2.5,)]),
    }


def bad_rows():
    return {"rocpd_op": (OP, [(1, 2, 0, 0, "", None, 20, 1, 1), (2, 2, 0, 0, "", 20, 10, 1, 1), op(3, 1, 2, "", "Task")])}


def many():
    return {"rocpd_string": STRING, "rocpd_op": (OP, [op(i, 10 * i, 10 * i + 5, "void add(int)", "KernelExecution") for i in range(1, 61)])}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, tables in {"small": small(), "edge": edge(), "bad-rows": bad_rows(), "bad-page": many(), "bad-cut": many()}.items():
        create(f"{folder}/{name}.rpd", tables)
    spoil(f"{folder}/bad-page.rpd")
    os.truncate(f"{folder}/bad-cut.rpd", os.path.getsize(f"{folder}/bad-cut.rpd") - 700)


if __name__ == "__main__":
    main()
