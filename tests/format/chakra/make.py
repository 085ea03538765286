#!/usr/bin/python3
"""Execution traces of Chakra: the wire format in a few lines, and the fixtures beside this file.

usage: make.py            writes the fixtures
"""
import json
import struct
from pathlib import Path


def varint(value):
    out = b""
    value &= (1 << 64) - 1
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def fixed(field, value, form):
    return varint(field << 3 | (1 if struct.calcsize(form) == 8 else 5)) + struct.pack("<" + form, value)


def zigzag(value):
    return value << 1 ^ value >> 63


# sort -> (field of a value, how one is written)
SORTS = {"double": (3, "d"), "float": (5, "f"), "int32": (7, None), "int64": (9, None), "uint32": (11, None), "uint64": (13, None), "sint32": (15, zigzag),
         "sint64": (17, zigzag), "fixed32": (19, "I"), "fixed64": (21, "Q"), "sfixed32": (23, "i"), "sfixed64": (25, "q"), "bool": (27, None)}


def attribute(name, sort, value):
    if sort in ("string", "bytes"):
        field = 29 if sort == "string" else 31
        if isinstance(value, list):
            return data(1, name) + data(field + 1, b"".join(data(1, v) for v in value))
        return data(1, name) + data(field, value)
    field, form = SORTS[sort]
    if isinstance(value, list):
        packed = b"".join(struct.pack("<" + form, v) if isinstance(form, str) else varint(form(v) if form else v) for v in value)
        return data(1, name) + data(field + 1, data(1, packed))
    if isinstance(form, str):
        return data(1, name) + fixed(field, value, form)
    return data(1, name) + number(field, form(value) if form else int(value))


def node(id, name, type, control=(), waits=(), start=0, duration=0, attributes=(), inputs=None, packed=True):
    out = number(1, id) + data(2, name) + number(3, type)
    for field, ids in ((4, control), (5, waits)):
        if ids:
            out += data(field, b"".join(varint(i) for i in ids)) if packed else b"".join(number(field, i) for i in ids)
    out += number(6, start) if start else b""
    out += number(7, duration) if duration else b""
    out += data(8, b"".join(data(i + 1, text) for i, text in enumerate(inputs))) if inputs else b""
    return out + b"".join(data(10, attribute(*a)) for a in attributes)


def stream(messages):
    return b"".join(varint(len(m)) + m for m in messages)


METADATA = data(1, "0.0.4")
COMPUTE, LOAD, COLLECTIVE = 4, 2, 7


def fixtures():
    gpu, cpu = ("is_cpu_op", "bool", False), ("is_cpu_op", "bool", True)
    step = [node(1, "load", LOAD, duration=5), node(2, "gemm", COMPUTE, waits=[1], duration=20, attributes=[gpu, ("num_ops", "int64", 1 << 40)]),
            node(3, "all_reduce", COLLECTIVE, waits=[2], duration=10, attributes=[gpu, ("comm_type", "int64", 0), ("comm_size", "int64", 4096)]),
            node(4, "gemm", COMPUTE, waits=[1], duration=7, attributes=[gpu])]
    yield "step.et", stream([METADATA] + step)
    timed = [node(10, "aten::mm", COMPUTE, start=100, duration=50, attributes=[cpu, ("tid", "int64", 7)], inputs=["[1]", "[[2,2]]", "[\"Tensor\"]"]),
             node(11, "sgemm", COMPUTE, control=[10], start=120, duration=9, attributes=[gpu, ("stream", "int64", 3)], packed=False)]
    yield "timed.et", stream([METADATA + data(2, attribute("pid", "int64", 77))] + timed)
    every = [(sort, sort, value) for sort, value in
             {"double": -0.5, "float": 1.5, "int32": -7, "int64": -(1 << 63), "uint32": (1 << 32) - 1, "uint64": (1 << 64) - 1, "sint32": -3,
              "sint64": -(1 << 62), "fixed32": 9, "fixed64": 1 << 63, "sfixed32": -9, "sfixed64": -10, "bool": True, "string": "caf\u00e9", "bytes": b"\0\xff"}.items()]
    every += [(sort + " list", sort, [value, value]) for _, sort, value in every] + [("empty", "int64", [])]
    yield "edge-attributes.et", stream([METADATA, node((1 << 64) - 1, "", 99, waits=[1, (1 << 64) - 1], attributes=every) + data(11, b"\x08\x01") + number(14, 3)])
    yield "edge-order.et", stream([METADATA, node(2, "late", COMPUTE, waits=[3, 9], duration=4), node(3, "first", COMPUTE, duration=1 << 62), node(2, "again", COMPUTE)])
    whole = stream([METADATA] + step)
    yield "bad-cut.et", whole[:-3]
    broken = [step[0], step[1][:4] + b"\xff" + step[1][5:], step[2], number(2, 5) + step[3], step[3]]
    yield "bad-node.et", stream([METADATA] + broken)
    yield "bad-utf8.et", stream([METADATA, node(1, "x", COMPUTE).replace(b"x", b"\xe9")])[:-0 or None] + stream([node(2, "y", COMPUTE)])[:-1]

    def attrs(tid, scope=0, **more):
        return [{"name": "rf_id", "type": "uint64", "value": 1}, {"name": "scope", "type": "uint64", "value": scope},
                {"name": "tid", "type": "uint64", "value": tid}] + [{"name": k, "type": "string", "value": v} for k, v in more.items()]

    def op(id, name, parent, tid, **more):
        return {"id": id, "name": name, "ctrl_deps": parent, "inputs": {"values": [[5, 6, 0, 4, 4, "cpu"]], "shapes": [[2, 2]], "types": ["Tensor(float)"], "strides": [[2, 1]]},
                "outputs": {"values": [], "shapes": [], "types": [], "strides": []}, "attrs": attrs(tid), **more}

    head = {"schema": "1.1.1-chakra.0.0.4", "pid": 42, "time": "2026-01-02 03:04:05", "start_ts": 1000}
    nodes = [op(2, "[pytorch|profiler|execution_trace|thread]", 1, 1), op(7, "aten::t", 6, 1), op(9, "aten::addmm", 6, 1), op(6, "aten::linear", 3, 1),
             {**op(3, "## forward ##", 2, 1), "attrs": attrs(1, 7)}, op(11, "[pytorch|profiler|execution_trace|thread]", 1, 2), op(12, "AddmmBackward0", 11, 2, fw_parent=6),
             {**op(1, "[pytorch|profiler|execution_trace|process]", 1, 0), "attrs": attrs(0, 7)}]
    yield "observer.json", json.dumps({**head, "nodes": nodes, "finish_ts": 1005}, indent=1).encode()
    linked = [op(3, "aten::mm", 2, 1, ts=100.25, inclusive_dur=50.5, exclusive_dur=10), op(4, "cudaLaunchKernel", 3, 1, ts=110, inclusive_dur=5, cat="cuda_runtime"),
              {**op(5, "sgemm", 4, 1, ts=130.001, inclusive_dur=9.0005, exclusive_dur=9, cat="kernel", ph="X", stream=7), "attrs": []},
              op(6, "aten::add", 2, 2, ts=170, inclusive_dur=3, inter_thread_dep=3)]
    yield "linked.json", json.dumps({**head, "nodes": linked}).encode()
    text = json.dumps({**head, "nodes": nodes})
    yield "bad-json-cut.json", text[:1500].encode()
    yield "bad-json-node.json", text.replace('"id": 9,', '"id": 9x,').encode()


if __name__ == "__main__":
    for name, content in fixtures():
        (Path(__file__).parent / name).write_bytes(content)
