#!/usr/bin/python3
"""Commands that take over a second show on a terminal how far they are, with rate and remaining time, and nothing elsewhere.

usage: tests/cli/check_progress.py --heddle PROGRAM --clock LIBRARY

LIBRARY is tests/cli/fast_clock.c: seconds pass for the command within microseconds. A pseudo-terminal is its standard error.
"""
import argparse
import fcntl
import os
import re
import struct
import subprocess
import tempfile
import termios
import threading

READING, ANALYSING, CONVERTING, WRITING = "reading", "analysing", "converting", "writing"
# What is run, and what it shows while it does.
DOORS = {
    ("trace.json",): {READING, ANALYSING},
    ("info", "trace.json"): {READING, ANALYSING},
    ("check", "trace.json"): {READING, ANALYSING},
    ("memory", "trace.json"): {READING, ANALYSING},
    ("timeline", "trace.json"): {READING, ANALYSING},
    ("report", "critical-path", "trace.json"): {READING, ANALYSING},
    ("graph", "trace.json", "-o", "out.csv"): {READING, ANALYSING},
    ("convert", "long.json", "out.pftrace"): {READING, WRITING},
    ("convert", "--pass", "lanes", "long.json", "out.json"): {READING, CONVERTING, WRITING},
    ("flame", "trace.json", "-o", "out.folded"): {READING},
    ("fix", "trace.json", "out.json"): {READING},
    ("diff", "trace.json", "trace.json"): {READING},
    ("replay", "trace.json"): {READING},
    ("merge", "--gpu", "trace.json", "-o", "out.folded"): {READING},
}
LINE = re.compile(r"(\w+) +(\d+)%  (?:[\d.]+ M?B?(?: events)?  )?[\d.]+ (?:MB/s|M/s|%/s)(  \d+ s left)?\x1b\[K")


def run(heddle, clock, words, terminal):
    """What it writes to standard output and, as text, to standard error."""
    near, far = os.openpty() if terminal else os.pipe()
    if terminal:
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    written = bytearray()

    def collect():
        try:
            while piece := os.read(near, 1 << 16):
                written.extend(piece)
        except OSError:  # the terminal's other end is closed
            pass

    reader = threading.Thread(target=collect)
    reader.start()
    done = subprocess.run([heddle, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=far, check=False,
                          env={**os.environ, "LD_PRELOAD": clock, "TERM": "xterm", "NO_COLOR": "1"})
    os.close(far)
    reader.join()
    os.close(near)
    return done.stdout, written.decode()


def faults(heddle, clock, words, expected):
    out, shown = run(heddle, clock, words, True)
    lines = [LINE.fullmatch(line) for line in shown.split("\r") if line.endswith("\x1b[K") and line != "\x1b[K"]
    if not all(lines):
        yield f"a line of progress is none: {shown!r}"
        return
    verbs = {line[1] for line in lines}
    if verbs != expected:
        yield f"shows {sorted(verbs)}, not {sorted(expected)}"
    if without := expected - {line[1] for line in lines if line[3]}:
        yield f"no remaining time while {sorted(without)}"
    for verb in verbs:
        done = [int(line[2]) for line in lines if line[1] == verb]
        if max(done) > 100:
            yield f"{verb}: {done} percent"
    if "\r\x1b[K" not in shown[shown.rfind(lines[-1][0]):] if lines else True:
        yield f"the last line is not cleared: {shown[-200:]!r}"
    for quiet, terminal in ((False, False), (True, True)):
        other, silent = run(heddle, clock, [*words, "-q"] if quiet else words, terminal)
        if "\x1b[K" in silent or any(verb in silent for verb in expected):
            yield f"progress {'with -q' if quiet else 'in a pipe'}: {silent!r}"
        if not quiet and other != out:
            yield "standard output differs between a terminal and a pipe at standard error"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True, type=os.path.abspath)
    parser.add_argument("--clock", required=True, type=os.path.abspath)
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, steps in (("trace.json", 20), ("long.json", 90)):  # writers say it for each 65,536 events
            subprocess.run([args.heddle, "synth", "-q", "--steps", str(steps), "-o", name], check=True)
        for words, expected in DOORS.items():
            for fault in faults(args.heddle, args.clock, words, expected):
                print(f"heddle {' '.join(words)}: {fault}")
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
