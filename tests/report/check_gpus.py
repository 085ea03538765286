#!/usr/bin/env python3
"""Holds the reader of tables of GPUs against Python's tomllib: random tables in random spelling are read as it reads them,
and of damaged ones none is taken that is not TOML, or that means something else there.

  check_gpus.py --heddle HEDDLE
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import rounds  # noqa: E402

TYPES = {"fp64": "double", "fp32": "float", "bf16": "c10::BFloat16", "fp16": "c10::Half", "fp8": "c10::Float8_e4m3fn",
         "int8": "signed char"}  # tf32 is float's with --tf32
NAME = 'a "b" \\ # ü'
ELEMENTS, COPY_NS = 1000000, 10000


def trace():
    """A matrix product of each type, and a copy, whose share of the roofline tells the bandwidth."""
    events = []
    for i, (op, dtype, dims) in enumerate([("aten::mm", t, [[64, 64], [64, 64]]) for t in TYPES.values()] +
                                          [("aten::copy_", "int", [[ELEMENTS], [ELEMENTS]])]):
        events += [{"ph": "X", "cat": "cpu_op", "name": op, "pid": 1, "tid": 1, "ts": 100 * i, "dur": 50,
                    "args": {"Input Dims": dims, "Input type": [dtype] * 2, "Concrete Inputs": ["", ""]}},
                   {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 100 * i + 1,
                    "dur": 5, "args": {"correlation": i + 1}},
                   {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 100 * i + 10,
                    "dur": COPY_NS / 1000, "args": {"correlation": i + 1, "device": 0, "stream": 7}}]
    return {"traceEvents": events, "deviceProperties": [{"id": 0, "name": NAME}]}


# ---- spelling ----

def number(r):
    text = r.choice([str(r.randint(1, 5000)), "%d.%d" % (r.randint(0, 5000), r.randint(1, 99999)), "0.5", "1000000000"])
    return text, float(text)


def blank(r, lines=False):
    return "".join(r.choice(["", " ", "\t", " # [x] = \"\u00e9\n" if lines else "", "\r\n" if lines else ""])
                   for _ in range(r.randint(0, 2)))


def line_end(r):
    return r.choice(["", " ", "\t# a comment [[gpu]]", "#"]) + r.choice(["\n", "\n", "\r\n", "\n\n  \n"])


def quoted(name):
    return '"%s"' % name.replace("\\", "\\\\").replace('"', '\\"')


def table(r, with_name):
    names = [NAME] if with_name else []
    names += ["other %d" % r.randint(0, 10 ** 9) for _ in range(r.randint(0 if names else 1, 2))]
    r.shuffle(names)
    keys = ["bandwidth"] + r.sample(["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8"], r.randint(0, 7))
    values = {key: number(r)[0] for key in keys}
    array = ("," + blank(r, True)).join(blank(r, True) + quoted(name) + blank(r, True) for name in names)
    values["names"] = "[%s%s%s]" % (array, r.choice(["", ","]), blank(r, True))
    keys = list(values)
    r.shuffle(keys)
    return "[[gpu]]" + line_end(r) + "".join(
        "%s%s%s=%s%s%s" % (blank(r), key, blank(r), blank(r), values[key], line_end(r)) for key in keys)


def document(r):
    at, count = r.randrange(3), 3
    return line_end(r) + "".join(table(r, i == at) for i in range(count))


def damaged(r, text):
    for _ in range(r.randint(1, 3)):
        at = r.randrange(len(text))
        piece = r.choice(["", "", text[r.randrange(len(text)):][:r.randint(1, 8)], r.choice("[]\"'\\=,.#\n\r\t_-+e0x1 a\0\x7f")])
        text = text[:at] + piece + text[at + r.randint(0, 2):]
    return text


# ---- what it means ----

def meant(text):
    """What Python reads of NAME; None: it is not TOML, or none of NAME."""
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError):
        return None
    return next((gpu for gpu in found.get("gpu", []) if NAME in gpu["names"]), {})


def read(heddle, path, trace_path):
    """({key: figure}, error) as heddle reads them."""
    out = {}
    for words in ([], ["--tf32"]):
        done = subprocess.run([heddle, "report", "flops", "--json", "--gpus", path, *words, trace_path],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env={**os.environ, "XDG_CONFIG_HOME": "/nonexistent"})
        if done.returncode:
            return None, done.stderr.decode(errors="replace")
        for row in json.loads(done.stdout)["flops"]:
            if row["op"] == "aten::copy_" and row["roofline_share"] is not None:
                out["bandwidth"] = 100 * row["bytes"] / row["roofline_share"] / COPY_NS
            for key, dtype in TYPES.items():
                if row["dtype"] == dtype and row["peak"] is not None:
                    out["tf32" if words and key == "fp32" else key] = row["peak"]
    return out, ""


def check(heddle, path, trace_path, text, is_whole):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    got, error = read(heddle, path, trace_path)
    if got is None:
        if is_whole:
            return "refused: %s" % error
        return None if " line " in error else "refused without a line: %s" % error
    wanted = meant(text)
    if wanted is None:
        return "taken, though it is not TOML"
    wanted = {key: value for key, value in wanted.items() if key != "names"}
    same = wanted.keys() == got.keys() and all(abs(got[k] - v) <= 1e-9 * v for k, v in wanted.items())
    return None if same else "read as %r, means %r" % (got, wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    asked = parser.parse_args()
    taken = 0
    with tempfile.TemporaryDirectory() as folder:
        path, trace_path = os.path.join(folder, "gpus.toml"), os.path.join(folder, "trace.json")
        with open(trace_path, "w", encoding="utf-8") as file:
            json.dump(trace(), file)
        for seed in range(rounds.rounds(200)):
            r = random.Random(seed)
            text, is_whole = document(r), seed % 4 == 0
            if not is_whole:
                text = damaged(r, text)
            problem = check(asked.heddle, path, trace_path, text, is_whole)
            if problem:
                print("seed %d: %s\n%s" % (seed, problem, text))
                return 1
            taken += is_whole
    print("%d tables in random spelling are read, and no damaged one wrongly" % taken)
    return 0


if __name__ == "__main__":
    sys.exit(main())
