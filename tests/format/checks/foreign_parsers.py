#!/usr/bin/python3
"""What is written of damaged input is read by parsers that share no code with Heddle.

usage: tests/format/checks/foreign_parsers.py --heddle PROGRAM [--flips N]

A store of a trace with all kinds of events is damaged, one bit at each of N places, and each of its sections by zeros; the
JSON it was made from is cut and flipped. All that can be written of what is left (JSON, Perfetto, Parquet, folded stacks,
speedscope, SVG, reports as JSON, CSV and HTML, SQL as JSON and CSV) is parsed: by Python's json, csv, html.parser and
expat, a walk over protobuf's wire format, and pyarrow where it is installed. Nothing written, with a reason, is as good.
"""
import argparse
import concurrent.futures
import csv
import html.parser
import io
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zlib

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(1, str(HERE.parent))
import rounds  # noqa: E402
import wire  # noqa: E402

try:
    import pyarrow.parquet
except ImportError:
    pyarrow = None

NEVER_CLOSED = {"meta", "link", "br", "hr", "img", "input", "col", "wbr", "source", "tr", "td", "th", "p", "li", "dt", "dd"}


def events():
    yield {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "host \"a\""}}
    for i in range(12):
        text = {"note": f"text {i} \n\\\u20ac", "tiny": 1e-9, "list": [i, {"a": None}], "big": 10**20 + i, "device": 0, "stream": 7, "correlation": i}
        yield {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": "t", "ts": 10 * i, "dur": 2.5, "args": {"correlation": i}}
        yield {"ph": "X", "cat": "kernel", "name": f"kernel<{i % 3}>&", "pid": 0, "tid": 7, "ts": 10 * i + 4, "dur": 5, "args": text}
        yield {"ph": "s", "id": i, "name": "launch", "cat": "ac2g", "pid": 1, "tid": "t", "ts": 10 * i}
        yield {"ph": "f", "id": i, "name": "launch", "cat": "ac2g", "pid": 0, "tid": 7, "ts": 10 * i + 4, "bp": "e"}
        yield {"ph": "C", "name": "memory", "pid": 1, "ts": 10 * i, "args": {"bytes": i * 1.5}}
        yield {"ph": "b", "id": f"0x{i}", "cat": "c", "name": "async", "pid": 1, "tid": 3, "ts": i}
        yield {"ph": "e", "id": f"0x{i}", "cat": "c", "name": "async", "pid": 1, "tid": 3, "ts": i + 7}
        yield {"ph": "P", "name": "cycles", "pid": 1, "tid": 3, "ts": i, "sf": 1 + i % 2, "args": {"weight": i}}
        yield {"ph": "i", "s": "g", "name": "=mark,\"", "pid": 1e3, "tid": 4, "ts": i, "args": {"number": -0.0}}


# ---- parsers: each raises an exception of its own ----

def read_json(data):
    json.loads(data.decode())


def read_csv(data):
    rows = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    if len({len(row) for row in rows}) > 1:
        raise ValueError("rows of several lengths")


def read_folded(data):
    for line in data.decode().splitlines():
        if not re.fullmatch(r".+ \d+(\.\d+)?", line):
            raise ValueError(f"no stack with a weight: {line!r}")


def read_svg(data):
    xml.etree.ElementTree.fromstring(data.decode())


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in NEVER_CLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in NEVER_CLOSED and (not self.open or self.open.pop() != tag):
            raise ValueError(f"</{tag}> closes something else")


def read_html(data):
    page = Page()
    page.feed(data.decode())
    page.close()
    if page.open:
        raise ValueError(f"never closed: {page.open}")


def read_pftrace(data):
    """Trace: packets (1), which may be compressed (50); in each, tracks (60) and events (11) are messages"""
    for number, kind, packet in wire.fields(data):
        if (number, kind) != (1, 2):
            raise ValueError(f"field {number} of wire type {kind} in a Trace")
        for inner, inner_kind, value in wire.fields(packet):
            if inner == 50 and inner_kind == 2:
                read_pftrace(zlib.decompress(value))
            elif inner in (11, 12, 60, 66):
                list(wire.fields(value))


def read_parquet(folder):
    for path in folder.glob("*.parquet"):
        if pyarrow:
            pyarrow.parquet.read_table(path)
        elif path.read_bytes()[:4] != b"PAR1" or path.read_bytes()[-4:] != b"PAR1":
            raise ValueError(f"{path.name} has no magic at both ends")


OUTPUTS = [  # words before the input and behind it ("OUT" is the file; without one, standard output), and the parser
    (["convert"], ["out.json"], read_json),
    (["convert", "--pretty"], ["pretty.json"], read_json),
    (["convert"], ["out.pftrace"], read_pftrace),
    (["convert"], ["out.parquet"], read_parquet),
    (["flame", "--of", "samples"], [], read_folded),
    (["flame", "-o", "out.svg"], [], read_svg),
    (["flame", "-o", "out.speedscope.json"], [], read_json),
    (["info", "--json"], [], read_json),
    (["check", "--json"], [], read_json),
    (["report", "kernels", "--json"], [], read_json),
    (["report", "kernels", "--csv"], [], read_csv),
    (["report", "-o", "out.html"], [], read_html),
    (["query", "--json"], ["select * from slice"], read_json),
    (["query", "--json"], ["select * from args"], read_json),
    (["query", "-o", "out.csv"], ["select * from track"], read_csv),
]


def written(heddle, path, folder, before, behind):
    """What was written: a path or bytes; None: nothing"""
    words = [str(folder / word) if word.startswith(("out.", "pretty.")) else word for word in before + [str(path)] + behind]
    done = subprocess.run([heddle, *words], capture_output=True)
    if done.returncode not in (0, 1):
        raise ValueError(f"exit {done.returncode}: {done.stderr.decode(errors='replace')[-200:]}")
    out = next((pathlib.Path(word) for word in words if word.startswith(str(folder)) and word != str(path)), None)
    if out is None:
        return done.stdout or None
    return None if not out.exists() else out if out.is_dir() else out.read_bytes()


def check(heddle, path):
    count, faults = 0, []
    for before, behind, parser in OUTPUTS:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            try:
                data = written(heddle, path, pathlib.Path(folder), before, behind)
                count += data is not None
                if data is not None:
                    parser(data)
            except Exception as error:  # a parser may raise anything
                faults.append(f"{path.name}: heddle {' '.join(before)}: {type(error).__name__}: {str(error)[:120]}")
    return count, faults


def damaged(folder, random_of, flips, heddle):
    whole = folder / "whole.json"
    whole.write_text(json.dumps({"stackFrames": {"1": {"name": "main"}, "2": {"name": "w;o\"rk", "parent": 1}}, "facts": {"a": [1.50]},
                                 "traceEvents": list(events())}))
    store = folder / "whole.heddle"
    subprocess.run([heddle, "convert", "-q", whole, store], check=True)
    yield whole
    yield store
    for source in (store, whole):
        data = source.read_bytes()
        for i in range(flips):
            copy = bytearray(data)
            at = (2 * i + 1) * len(data) // (2 * flips)
            copy[at] ^= 1 << random_of.randrange(8)
            if i % 4 == 3:  # much of it
                copy[at:at + 40] = bytes(len(copy[at:at + 40]))
            path = folder / f"{i}-at-{at}{source.suffix}"
            path.write_bytes(copy[:at] if source is whole and i % 4 == 1 else copy)
            yield path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--flips", type=int, default=24)
    args = parser.parse_args()
    random_of = random.Random(rounds.seed(40))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        paths = list(damaged(pathlib.Path(folder), random_of, args.flips, args.heddle))
        results = list(pool.map(lambda path: check(args.heddle, path), paths))
    faults = [fault for _, found in results for fault in found]
    for fault in faults:
        print(fault)
    print(f"{len(paths)} files, {sum(count for count, _ in results)} outputs, {len(faults)} that no other parser reads"
          + ("" if pyarrow else "; Parquet by its magic alone: no pyarrow"))
    return len(faults) > 0 or results[0][0] < len(OUTPUTS)


if __name__ == "__main__":
    sys.exit(main())
