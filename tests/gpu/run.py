#!/usr/bin/env python3
"""The acceptance test of `heddle record` on a machine with an NVIDIA GPU.

  run.py [--heddle HEDDLE] [--only PART,...] [--out FOLDER]

Needs Python 3.6, a driver and CUPTI (of a toolkit or of PyTorch), and nothing else: no compiler, no network. What a part needs
and this machine lacks is said, and the part skipped. Prints a table, and writes gpu-results.json and small traces into FOLDER.
Exit status: 0 all that ran is right, 1 something is wrong, 2 wrong usage.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import part_driver  # noqa: E402
import part_machine  # noqa: E402
import part_python  # noqa: E402
from gpu_support import Failure, Place, Skip, say  # noqa: E402

PARTS = [*part_machine.FIRST, *part_driver.PARTS, *part_python.PARTS, *part_machine.LAST]


def name_of(part):
    return part.__name__.replace("_", "-")


def find_heddle():
    here = Path(__file__).resolve()
    candidates = [here.parents[1] / "bin/heddle", here.parents[2] / "bin/heddle",
                  here.parents[2] / "build/release/src/cli/heddle"]
    return next((str(p) for p in candidates if p.exists()), shutil.which("heddle"))


def why_no_gpu():
    """None, if there is a driver and a GPU that it knows."""
    if not os.path.exists("/dev/nvidiactl"):
        return "there is no /dev/nvidiactl: no NVIDIA driver, or a container without --gpus all"
    try:
        import ctypes
        cuda, found = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
        status = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(found))
    except OSError as error:
        return f"libcuda.so.1: {error}"
    return None if status == 0 and found.value else f"cuInit: CUDA error {status}, {found.value} GPUs"


def run_part(place, part):
    start = time.monotonic()
    result = {"part": name_of(part), "what": part.__doc__, "state": "ok", "why": "", "figures": {}}
    say(f"gpu: {result['part']}: {result['what']}")
    try:
        result["figures"] = part(place) or {}
    except Skip as why:
        result.update(state="skipped", why=str(why))
    except (Failure, subprocess.SubprocessError, OSError, KeyError, ValueError, StopIteration) as why:
        result.update(state="FAILED", why=f"{'' if isinstance(why, Failure) else type(why).__name__ + ': '}{why}")
    result["seconds"] = round(time.monotonic() - start, 1)
    return result


def print_table(results):
    width = max(len(r["part"]) for r in results)
    for r in results:
        print(f"{r['part']:{width}}  {r['state']:8} {r['seconds']:7.1f} s  {r['why']}".rstrip())
        for key, value in r["figures"].items():
            print(f"{'':{width}}  {'':8} {key}: {value}")
    states = [r["state"] for r in results]
    print(f"{states.count('ok')} ok, {states.count('FAILED')} failed, {states.count('skipped')} skipped")


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=find_heddle(), help="the command (default: that of the archive or the build)")
    parser.add_argument("--library", help="libheddle-cuda.so (default: as heddle finds it)")
    parser.add_argument("--program", help="gpu_program (default: beside this file or heddle)")
    parser.add_argument("--only", default="", help="these parts, with commas: " + " ".join(map(name_of, PARTS)))
    parser.add_argument("--out", default="gpu-results", help="folder for results and traces")
    parser.add_argument("--python", default=shutil.which("python3") or sys.executable, help="which has PyTorch and the others")
    parser.add_argument("--runs", type=int, default=0, help="of what is measured (default: 5 to 7)")
    parser.add_argument("--double", help="folder of the test double of CUDA, instead of a GPU")
    parser.add_argument("--list", action="store_true", help="what each part does, and nothing more")
    options = parser.parse_args(arguments)
    known = {name_of(p): p for p in PARTS}
    wanted = [n for n in options.only.split(",") if n]
    for name in wanted:
        if name not in known:
            parser.error(f"there is no part {name}; there are {' '.join(known)}")
    if not options.heddle:
        parser.error("no heddle was found: name it with --heddle")
    options.heddle = os.path.abspath(options.heddle)
    options.library = options.library and os.path.abspath(options.library)
    options.parts = [known[n] for n in wanted] or PARTS
    return options


def main(arguments=None):
    options = options_of(arguments)
    why = None if options.double else why_no_gpu()
    if options.list or why:
        if why:
            print(f"gpu: skipped: {why}. On a machine with a GPU this would be tested:")
        for part in options.parts:
            print(f"  {name_of(part):12} {part.__doc__}")
        return 0
    place = Place(options)
    results = [run_part(place, part) for part in options.parts]
    version = place.heddle("version").stdout.strip()
    with open(str(place.out / "gpu-results.json"), "w", encoding="utf-8") as file:
        json.dump({"heddle": version, "machine": part_machine.facts(place), "parts": results}, file, indent=1, default=str)
        file.write("\n")
    print_table(results)
    print(f"results and traces: {place.out}")
    return 1 if any(r["state"] == "FAILED" for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
