#!/usr/bin/env python3
"""/api/job/late of `heddle view`: told where all ranks of a group recorded the same collectives, and not where one lacks one or
sends other sizes; of traces and of their summaries.

  check_job_late.py --heddle HEDDLE
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import urllib.request


def picture(url, path):
    data = urllib.request.urlopen(url + path, timeout=60).read()
    assert data[:4] == b"HDJ1", data[:60]
    size, = struct.unpack_from("<I", data, 4)
    head, figures, at = json.loads(data[8:8 + size]), {}, (8 + size + 7) & ~7
    for figure in head["figures"]:
        count, wide = head["cells"], figure["bytes"]
        values = struct.unpack_from(f"<{count}{'d' if wide == 8 else 'I'}", data, at)
        figures[figure["name"]] = [math.nan if wide == 4 and v == 0xffffffff else v for v in values]
        at = (at + wide * count + 7) & ~7
    return head, figures


def late(heddle, files):
    view = subprocess.Popen([heddle, "view", "--no-open", "--port", "0", "--json", *map(str, files)], stdout=subprocess.PIPE, text=True)
    try:
        url = json.loads(view.stdout.readline())["url"].split("?")[0]
        while True:
            head, _ = picture(url, "api/job")
            if len(head["rank"]) == 4:
                break
        told, figures = picture(url, f"api/job/late?of={head['number']}")
        return told["notes"], figures["late"]
    finally:
        view.terminate()
        view.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    if "Usage" not in subprocess.run([heddle, "view", "--help"], capture_output=True, text=True).stdout:
        print("skipped: this heddle was built without the page")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([heddle, "synth", "-q", "--ranks", "4", "--steps", "3", "--layers", "2", "--no-python", "-o", folder / "t.json"], check=True)
        files = [folder / f"t_rank{rank}.json" for rank in range(4)]
        subprocess.run([heddle, "summarize", "-q", *files, "-o", folder / "job.hds"], check=True)
        notes, figures = late(heddle, files)
        assert not notes and not any(map(math.isnan, figures)), (notes, figures)
        assert late(heddle, [folder / "job.hds"]) == (notes, figures), "of summaries"
        data = json.loads(files[1].read_text())
        calls = [e for e in data["traceEvents"] if e.get("cat") == "kernel" and "nccl" in e["name"]]
        data["traceEvents"].remove(calls[-1])
        files[1].write_text(json.dumps(data))
        notes, figures = late(heddle, files)
        assert notes and all(map(math.isnan, figures)), (notes, figures)
        print("lateness is told where ranks agree, and not where one lacks a collective")
    return 0


sys.exit(main())
