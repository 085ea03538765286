#!/usr/bin/python3
"""Damage in real text of profilers costs what it hits, and no more.

usage: tests/format/checks/text_damage.py --heddle PROGRAM

CUPTI's text, perf script and folded stacks of ../shared/data are damaged in nine ways at many places. All events but
those of the lines hit, and one neighbour, are still there. Damage in the first line may hide what the file is: that is
told as an error, and never an empty trace. Skipped (77) where there is no such folder.
"""
import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
from patience import patience  # noqa: E402

DATA = Path(__file__).resolve().parents[3].parent / "shared/data"
FILES = ["cupti/cupti_trace.txt", "stacks/example-perf-stacks.txt.gz", "stacks/gpu_final.txt.gz", "stacks/pytorch.folded",
         "stacks/merged_trace.folded", "stacks/gpu_trace.folded"]
MUCH = 300_000  # more than is looked at to tell a format, and than one piece of a reader's input
DAMAGE = {
    "8 bytes of 0xff": lambda text, at, dice: text[:at] + b"\xff" * 8 + text[at + 8:],
    "64 NULs": lambda text, at, dice: text[:at] + b"\0" * 64 + text[at + 64:],
    "a newline": lambda text, at, dice: text[:at] + b"\n" + text[at:],
    "50 bytes gone": lambda text, at, dice: text[:at] + text[at + 50:],
    "a quote": lambda text, at, dice: text[:at] + b'"' + text[at:],
    "brackets": lambda text, at, dice: text[:at] + b"{[" + text[at:],
    "much noise": lambda text, at, dice: text[:at] + dice.randbytes(MUCH) + text[at:],
    "a long word": lambda text, at, dice: text[:at] + b"a" * MUCH + text[at:],
    "many NULs": lambda text, at, dice: text[:at] + b"\0" * MUCH + text[at:],
}


def events(heddle, path, text):
    path.write_bytes(text)
    done = subprocess.run([heddle, "info", "--json", path], capture_output=True, text=True, timeout=patience(600))
    return json.loads(done.stdout)["events"] if done.returncode == 0 else done.stderr.strip() or done.returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    if not DATA.is_dir():
        print("no ../shared/data here")
        return 77
    dice, passed, failed = random.Random(14), 0, 0
    with tempfile.TemporaryDirectory(prefix="heddle-damage-") as folder:
        for name in FILES:
            raw = (DATA / name).read_bytes()
            text = gzip.decompress(raw) if name.endswith(".gz") else raw
            path = Path(folder) / "damaged.txt"
            whole, line = events(heddle, path, text), text.index(b"\n")
            if not isinstance(whole, int):
                print(f"FAIL: {name} as it is: {whole}")
                failed += 1
                continue
            for what, damage in DAMAGE.items():
                for at in [0, 1, line // 2, line, line + 1] + [dice.randrange(len(text)) for _ in range(6)]:
                    found = events(heddle, path, damage(text, at, dice))
                    if isinstance(found, int):
                        good = found >= whole - 2
                    else:
                        good = at <= line + 1 and ("no reader knows" in found or "no array of trace events" in found)
                    passed, failed = passed + good, failed + (not good)
                    if not good:
                        print(f"FAIL: {name}, {what} at byte {at}: {found} of {whole} events")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
