#!/usr/bin/python3
"""Make the fixtures of the format rocpd, tests/format/rocpd/*.db, by the tables that rocprofiler-sdk documents.

usage: rocpd_fixtures.py FOLDER

small        schema 3: calls with arguments and what they launched, copies, allocations, counters of a kernel and of samples, markers
v4           schema 4: the same, with tracks, timestamps, categories and call stacks
two          two guids of two nodes, whose ids and pids are the same; each with its strings and kernels
edge         tables without a guid, rows that refer to nothing
edge-hostile views of the names that readers ask for, which loop; a trigger
bad-page     a page of the dispatches' b-tree is zeros
bad-cut      the file ends within its pages
bad-rows     no time, an end before the start
"""
import os
import sqlite3
import sys

from nsys_fixtures import create, spoil

GUIDS = ["0000000a-0000-7000-8000-00000000000a", "0000000b-0000-7000-8000-00000000000b"]
ID = "id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT"
EXTRA = "extdata JSONB DEFAULT '{}'"
WHERE = "nid INTEGER, pid INTEGER, tid INTEGER"
SHAPE = "private_segment_size INTEGER, group_segment_size INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, region_name_id INTEGER, event_id INTEGER"
V3 = {
    "metadata": "tag TEXT NOT NULL, value TEXT NOT NULL",
    "string": "string TEXT NOT NULL",
    "info_node": "hash BIGINT, machine_id TEXT, system_name TEXT, hostname TEXT",
    "info_process": "nid INTEGER, ppid INTEGER, pid INTEGER, command TEXT, environment JSONB DEFAULT '{}'",
    "info_thread": "nid INTEGER, ppid INTEGER, pid INTEGER, tid INTEGER, name TEXT",
    "info_agent": "nid INTEGER, pid INTEGER, type TEXT, absolute_index INTEGER, logical_index INTEGER, type_index INTEGER, uuid INTEGER, name TEXT, product_name TEXT",
    "info_queue": "nid INTEGER, pid INTEGER, name TEXT",
    "info_stream": "nid INTEGER, pid INTEGER, name TEXT",
    "info_pmc": "nid INTEGER, pid INTEGER, agent_id INTEGER, target_arch TEXT, name TEXT, symbol TEXT, units TEXT",
    "info_kernel_symbol": "nid INTEGER, pid INTEGER, code_object_id INTEGER, kernel_name TEXT, display_name TEXT, sgpr_count INTEGER, arch_vgpr_count INTEGER",
    "track": "nid INTEGER, pid INTEGER, tid INTEGER, name_id INTEGER",
    "event": "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, call_stack JSONB DEFAULT '{}', line_info JSONB DEFAULT '{}'",
    "arg": "event_id INTEGER, position INTEGER, type TEXT, name TEXT, value TEXT",
    "pmc_event": "event_id INTEGER, pmc_id INTEGER, value REAL",
    "region": f"{WHERE}, start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER",
    "sample": "track_id INTEGER, timestamp BIGINT, event_id INTEGER",
    "kernel_dispatch": f"{WHERE}, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, queue_id INTEGER, stream_id INTEGER, start BIGINT, end BIGINT, {SHAPE}",
    "memory_copy": f"{WHERE}, start BIGINT, end BIGINT, name_id INTEGER, dst_agent_id INTEGER, dst_address INTEGER, src_agent_id INTEGER, src_address INTEGER, size INTEGER, queue_id INTEGER, stream_id INTEGER, region_name_id INTEGER, event_id INTEGER",
    "memory_allocate": f"{WHERE}, agent_id INTEGER, type TEXT, level TEXT, start BIGINT, end BIGINT, address INTEGER, size INTEGER, queue_id INTEGER, stream_id INTEGER, event_id INTEGER",
}
V4 = V3 | {
    "info_category": "name TEXT NOT NULL",
    "info_pc": "nid INTEGER, pid INTEGER, function TEXT, address_id INTEGER, file TEXT, line INTEGER",
    "track": "nid INTEGER, ppid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER, name_id INTEGER",
    "timestamp": "value BIGINT NOT NULL, phase INTEGER, track_id INTEGER",
    "event": "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER",
    "call_stack": "event_id INTEGER, pc_id INTEGER, depth INTEGER",
    "region": "track_id INTEGER, name_id INTEGER, start_id INTEGER, end_id INTEGER, event_id INTEGER",
    "sample": "track_id INTEGER, name_id INTEGER, timestamp_id INTEGER, event_id INTEGER",
    "kernel_dispatch": f"track_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, start_id INTEGER, end_id INTEGER, {SHAPE}",
    "memory_copy": "track_id INTEGER, start_id INTEGER, end_id INTEGER, name_id INTEGER, dst_agent_id INTEGER, dst_address INTEGER, src_agent_id INTEGER, src_address INTEGER, size INTEGER, region_name_id INTEGER, event_id INTEGER",
    "memory_allocate": "track_id INTEGER, type TEXT, level TEXT, start_id INTEGER, end_id INTEGER, name_id INTEGER, address INTEGER, size INTEGER, region_name_id INTEGER, event_id INTEGER",
}


def tables(schema, rows, guid=GUIDS[0], suffix=None):
    """Rows without id, guid and extdata, which stand around them."""
    suffix = "_" + guid.replace("-", "_") if suffix is None else suffix
    out = {}
    for name, columns in schema.items():
        if name == "metadata":
            out[f"rocpd_metadata{suffix}"] = (f"{ID}, {columns}", [(i + 1, *row) for i, row in enumerate(rows.get(name, []))])
            continue
        default = ["{}" if "JSONB" in column else None for column in columns.split(", ")] + ["{}"]
        full = [(i + 1, guid, *row, *default[len(row):]) for i, row in enumerate(rows.get(name, []))]
        out[f"rocpd_{name}{suffix}"] = (f"{ID}, guid TEXT DEFAULT '{guid}' NOT NULL, {columns}, {EXTRA}", full)
    return out


STRINGS = ["HIP_RUNTIME_API_EXT", "hipLaunchKernel", "hipMemcpyAsync", "KERNEL_DISPATCH", "MEMORY_COPY_HOST_TO_DEVICE", "MARKER_CORE_RANGE_API", "step 1", "HSA_CORE_API",
           "hsa_queue_create", "GPU power", "region a", "MEMORY_ALLOCATION", "RCCL_API", "ncclAllReduce"]
S = {text: i + 1 for i, text in enumerate(STRINGS)}


def v3_rows(pid=300, host="node1", kernel="add(int*)", shift=0):
    return {
        "metadata": [("schema_version", "3")],
        "string": [(text,) for text in STRINGS],
        "info_node": [(1, "m1", "Linux", host)],
        "info_process": [(1, 1, pid, "./app", "{}")],
        "info_thread": [(1, 1, 1, pid, "main"), (1, 1, 1, pid + 1, None)],
        "info_agent": [(1, 1, "CPU", 0, 0, 0, 1, "cpu", "EPYC"), (1, 1, "GPU", 1, 1, 0, 2, "gfx942", "AMD Instinct MI300X"), (1, 1, "GPU", 2, 2, 1, 3, "gfx942", "AMD Instinct MI300X")],
        "info_queue": [(1, 1, "Queue 1")],
        "info_stream": [(1, 1, "Stream 0"), (1, 1, None)],
        "info_pmc": [(1, 1, 2, "GPU", "SQ_WAVES", "SQ_WAVES", ""), (1, 1, 2, "GPU", "power", "power", "W")],
        "info_kernel_symbol": [(1, 1, 1, "_Z3addPi.kd", kernel, 32, 16), (1, 1, 1, "_Z3mulPi.kd", None, 8, 8)],
        "track": [(1, 1, None, S["GPU power"]), (1, 1, 1, None)],
        "event": [(S["HIP_RUNTIME_API_EXT"], 1, 0, 0), (S["KERNEL_DISPATCH"], 1, 0, 0), (S["HIP_RUNTIME_API_EXT"], 2, 0, 77, '{"a": 1}'), (S["MEMORY_ALLOCATION"], 2, 0, 0),
                  (S["MARKER_CORE_RANGE_API"], 3, 0, 0), (S["HSA_CORE_API"], 4, 3, 0), (None, None, None, None), (None, None, None, None), (S["RCCL_API"], 9, 0, 0)],
        "arg": [(1, 0, "const void*", "function_address", "0x10"), (1, 1, "dim3", "numBlocks", "(4,1,1)"), (3, 0, "void*", "dst", "0x20")],
        "pmc_event": [(2, 1, 64.0), (7, 2, 97.5)],
        "region": [(1, 1, 1, 100 + shift, 110 + shift, S["hipLaunchKernel"], 1), (1, 1, 1, 120 + shift, 130 + shift, S["hipMemcpyAsync"], 3), (1, 1, 1, 90 + shift, 400 + shift, S["step 1"], 5, '{"x":1}'),
                   (1, 1, 2, 95 + shift, 99 + shift, S["hsa_queue_create"], 6), (1, 1, 1, 131 + shift, 132 + shift, S["ncclAllReduce"], 9)],
        "sample": [(1, 150 + shift, 7), (2, 151 + shift, 8)],
        "kernel_dispatch": [(1, 1, 1, 2, 1, 1, 1, 2, 200 + shift, 300 + shift, 0, 512, 256, 1, 1, 1000, 2, 1, S["region a"], 2),
                            (1, 1, 1, 3, 2, 2, 1, None, 210 + shift, 220 + shift, 0, 0, 64, 1, 1, 64, 1, 1, None, None)],
        "memory_copy": [(1, 1, 1, 140 + shift, 190 + shift, S["MEMORY_COPY_HOST_TO_DEVICE"], 2, 0x7000, 1, 0x1000, 4096, 1, 1, None, 4)],
        "memory_allocate": [(1, 1, 1, 2, "ALLOC", "REAL", 80 + shift, 85 + shift, 0x7000, 4096, 0, 0, None), (1, 1, 1, 2, "FREE", "REAL", 390 + shift, 395 + shift, 0x7000, 0, 0, 0, None)],
    }


def v4_rows():
    rows = v3_rows()
    categories = ["HIP_RUNTIME_API_EXT", "KERNEL_DISPATCH"]
    rows |= {
        "metadata": [("schema_version", "4.0.0")],
        "info_category": [(c,) for c in categories],
        "info_pc": [(1, 1, "main", None, "a.c", 3), (1, 1, "launch", None, "a.c", 9)],
        "track": [(1, 1, 1, 1, None, None, None, None), (1, 1, 1, None, 2, 1, 2, None), (1, 1, 1, None, None, None, None, S["GPU power"])],
        "timestamp": [(t, 1, 1) for t in (100, 110, 200, 300, 140, 190, 80, 85, 150)],
        "event": [(1, 1, 0, 0), (2, 1, 0, 0), (None, None, None, None)],
        "call_stack": [(1, 2, 0), (1, 1, 1)],
        "pmc_event": [(2, 1, 64.0), (3, 2, 97.5)],
        "region": [(1, S["hipLaunchKernel"], 1, 2, 1), (1, S["step 1"], 99, 100, None)],
        "sample": [(3, S["GPU power"], 9, 3)],
        "kernel_dispatch": [(2, 1, 1, 3, 4, 0, 512, 256, 1, 1, 1000, 2, 1, None, 2)],
        "memory_copy": [(2, 5, 6, S["MEMORY_COPY_HOST_TO_DEVICE"], 2, 1, 1, 2, 4096, None, None)],
        "memory_allocate": [(2, "ALLOC", "REAL", 7, 8, S["MEMORY_ALLOCATION"], 0x7000, 4096, None, None)],
    }
    return rows


def edge():
    out = tables(V3, {"kernel_dispatch": [(1, 2, 3, 4, 5, 6, 7, 8, 10, 20, None, None, 0, 0, 0, 7, 7, 7, 9, 9), (None,) * 8 + (30, 40) + (None,) * 10],
                      "region": [(None, None, None, 1, 2, None, None), (9, 9, 9, 3, 4, 5, 6)], "sample": [(5, 5, 5)], "memory_copy": [(1, 1, 1, 5, 6, 7, None, None, None, None, 1, None, None, None, None)],
                      "memory_allocate": [(1, 1, 1, None, None, None, 7, 8, None, None, None, None, None)]}, suffix="")
    out["rocpd_new_things"] = ("id INTEGER, nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT, end BIGINT, what TEXT", [(1, 1, 1, 1, 50, 60, "so"), (2, 1, 1, None, 70, None, None)])
    return out


def bad_rows():
    return tables(V3, {"region": [(1, 1, 1, None, 2, 1, None), (1, 1, 1, 5, 4, 1, None), (1, 1, 1, 6, 7, 1, None)]})


def many():
    rows = {"kernel_dispatch": [(1, 1, 1, 2, 1, i, 1, 1, 10 * i, 10 * i + 5, 0, 0, 64, 1, 1, 64, 1, 1, None, None) for i in range(60)]}
    return {name: table for name, table in tables(V3, rows).items() if "dispatch" in name or "string" in name}


def hostile(path):
    create(path, tables(V3, v3_rows()))
    db = sqlite3.connect(path)
    db.execute("create view rocpd_region as select * from rocpd_kernel_dispatch")
    db.execute("create view rocpd_kernel_dispatch as select * from rocpd_region")
    db.execute("create view rocpd_event as select * from rocpd_string_0000000a_0000_7000_8000_00000000000a, rocpd_region")
    db.execute("create trigger bomb after insert on rocpd_string_0000000a_0000_7000_8000_00000000000a begin delete from rocpd_metadata_0000000a_0000_7000_8000_00000000000a; end")
    db.commit()
    db.close()


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    two = tables(V3, v3_rows()) | tables(V3, v3_rows(host="node2", kernel="mul(float*)", shift=1000), GUIDS[1])
    for name, content in {"small": tables(V3, v3_rows()), "v4": tables(V4, v4_rows()), "two": two, "edge": edge(), "bad-rows": bad_rows(), "bad-page": many(), "bad-cut": many()}.items():
        create(f"{folder}/{name}.db", content)
    hostile(f"{folder}/edge-hostile.db")
    spoil(f"{folder}/bad-page.db")
    os.truncate(f"{folder}/bad-cut.db", os.path.getsize(f"{folder}/bad-cut.db") - 700)


if __name__ == "__main__":
    main()
