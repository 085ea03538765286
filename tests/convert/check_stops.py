#!/usr/bin/env python3
"""check_stops.py --heddle HEDDLE - a command that a signal stops while it writes leaves nothing unfinished

Each command is stopped as soon as its unfinished file or folder is there; one that ended before is run again.
"""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1]))

from patience import patience  # noqa: E402

TRIES = 20
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def as_usual():
    """Nothing is ignored, also where this test itself runs under nohup."""
    for number in NUMBERS:
        signal.signal(number, signal.SIG_DFL)


def stop(command, folder, number):
    """The exit status of the command, stopped once something is in the folder that was not there, and what is left."""
    before = set(os.listdir(folder))
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=as_usual)
    while process.poll() is None and set(os.listdir(folder)) == before:
        time.sleep(0.0005)
    if process.poll() is None:
        process.send_signal(number)
    status = process.wait(patience(60))
    return status, set(os.listdir(folder)) - before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = os.path.abspath(parser.parse_args().heddle)
    with tempfile.TemporaryDirectory() as place:
        trace, summary, out = [pathlib.Path(place) / name for name in ("trace.json", "summary.hds", "out")]
        subprocess.run([heddle, "synth", "-o", str(trace), "--events", "40000"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([heddle, "synth", "-o", str(summary), "--steps", "50"], check=True, stdout=subprocess.DEVNULL)
        out.mkdir()
        commands = {"convert": ["convert", trace, "new.json"], "convert to a folder": ["convert", trace, "new.parquet"],
                    "fix": ["fix", trace, "new.json.gz"], "query": ["query", "-o", "new.csv", trace, "select * from slice"], "merge": ["merge", "--gpu", trace, "--to", "chrome", "-o", "new.json"],
                    "job summarize": ["job", "summarize", trace, "-o", "new.hds"], "job combine": ["job", "combine", *[summary] * 200, "-o", "new.hds"]}
        whole = {}
        for name in ("job summarize", "job combine"):
            subprocess.run([heddle, *map(str, commands[name])], cwd=out, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            whole[name] = (out / "new.hds").read_bytes()
            (out / "new.hds").unlink()
        for name, words in commands.items():
            for number in NUMBERS:
                for _ in range(TRIES):
                    status, left = stop([heddle, *map(str, words)], out, number)
                    if status != 0:
                        break
                    assert len(left) == 1, (name, left)
                    subprocess.run(["rm", "-rf", str(out / left.pop())], check=True)
                if left == {"new.hds"}:  # these are written at once: whole, or not at all
                    assert (out / "new.hds").read_bytes() == whole[name], (name, number)
                    (out / left.pop()).unlink()
                assert not left, (name, number, status, left)
                assert status in (-number, 128 + number), (name, number, status)
        # What is ignored stays so, as under nohup.
        process = subprocess.run(["sh", "-c", 'trap "" TERM; "$0" convert "$1" kept.json & p=$!; kill -TERM $p; wait $p', heddle, str(trace)],
                                 cwd=out, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert process.returncode == 0 and os.listdir(out) == ["kept.json"], (process.returncode, os.listdir(out))
    print(f"{3 * len(commands)} commands stopped")


if __name__ == "__main__":
    sys.exit(main())
