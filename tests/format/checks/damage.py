#!/usr/bin/env python3
"""Damaged fixtures of every format through the commands: nothing wrong, nothing silent.

Seeded damage: cut, bits turned, bytes of 0 or 0xff, swapped, twice or left out. Each command ends with 0 or 1 (diff: 2 as well) within
CPU seconds and memory by the size of the input, and what it prints as JSON, or converts to JSON, is JSON. With fewer events than the
fixture `convert --strict` fails, or a repair says so, for a file that is cut and for text with a hole of zeros. Other damage may be
another valid file: --all lists those with fewer events and no word, to be looked at. Captures have a checksum for each chunk, so any
damage is a loss; half of them get right checksums again, so that their contents are read. A summary of a job (.hds) is whole, or
`job combine --strict` fails; its reports are read.
usage: damage.py --heddle PROGRAM [--seeds FROM UNTIL] [--all] [--keep FOLDER] [--only FORMAT,...] [--captures FOLDER]"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORPUS = os.path.join(HERE, "../../fuzz/corpus")
sys.path[1:1] = [os.path.join(HERE, ".."), os.path.join(HERE, "../job")]
import hds
from rounds import rounds, seed

CPU_S, MEMORY, SIZES = 5, 200 << 20, range(21, 400_000)
#: One record after the other, without a count or an end: cut behind one it is a shorter file.
OPEN_ENDED = ("folded", "perfscript", "cupti", "ftrace", "pprof", "xplane", "xray", "rocprofv3", "producers")
TEXT = ("folded", "perfscript", "cupti", "chrome", "producers", "cpuprofile", "speedscope", "rocprofv3")
OTHERS = (("summary", "--json"), ("check", "--json"), ("report", "kernels", "--json"), ("report", "idle,launches,critical-path", "--json"), ("query", "--json"),
          ("flame",), ("flame", "-o", "out.svg"), ("diff", "--json"), ("convert", "out.pftrace"), ("convert", "out.heddle"), ("job", "summarize", "-o", "out.hds"), ("fix", "out.json"))
OF_A_JOB = ("stragglers", "imbalance", "slowdown", "topology", "job", "clocks")


def damage(rng, data):
    """What was done, and the bytes."""
    data, kind = bytearray(data), rng.choice(("cut", "bit", "bits", "zeros", "ones", "swap", "twice", "without"))
    at = rng.randrange(len(data))
    size = min(len(data) - at, rng.choice((1, 4, 16, 64, 512, 4096)))
    end = at + size
    if kind == "cut":
        del data[at:]
    elif kind in ("bit", "bits"):
        for _ in range(1 if kind == "bit" else rng.randrange(2, 20)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind in ("zeros", "ones"):
        data[at:end] = (b"\0" if kind == "zeros" else b"\xff") * size
    elif kind == "swap":
        to = rng.randrange(len(data) - size + 1)
        data[at:end], data[to:to + size] = data[to:to + size], data[at:end]
    elif kind == "twice":
        data[end:end] = data[at:end]
    else:
        del data[at:end]
    return kind if kind != "zeros" or size < 16 else "hole", bytes(data)


def seal(data):
    """A capture whose header and chunks have the checksums of what is in them (docs/formats/capture.md)."""
    data, at = bytearray(data), 64
    if len(data) >= at:
        data[:8], data[56:64] = b"\x89HDCAP\r\n", hds.checksum(bytes(data[:56])).to_bytes(8, "little")
    while at + 40 <= len(data):
        size = min(int.from_bytes(data[at + 12:at + 16], "little"), len(data) - at - 40)
        data[at:at + 8], data[at + 12:at + 16] = bytes.fromhex("4844434be50ec5d7"), size.to_bytes(4, "little")
        data[at + 24:at + 32] = hds.checksum(bytes(data[at + 40:at + 40 + size])).to_bytes(8, "little")
        data[at + 32:at + 40] = hds.checksum(bytes(data[at:at + 32])).to_bytes(8, "little")
        at += 40 + size
    return bytes(data)


class Trial:
    def __init__(self, heddle, folder, path, name):
        self.heddle, self.folder, self.path, self.name, self.wrong = heddle, folder, path, name, []

    def run(self, *args):
        """(exit status, output, messages); notes what no command may do."""
        with open(os.path.join(self.folder, "stdout"), "w+b") as out, open(os.path.join(self.folder, "stderr"), "w+b") as err:
            run = subprocess.Popen([self.heddle, *args], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.folder)
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            text, messages = out.read(), err.read().decode(errors="replace")
        if run.returncode not in ((0, 1, 2) if args[0] == "diff" else (0, 1)):
            self.wrong.append(f"{args[0]}: exit status {run.returncode}: {messages[:200]}")
        if used.ru_utime + used.ru_stime > CPU_S:
            self.wrong.append(f"{args[0]}: {used.ru_utime + used.ru_stime:.1f} s")
        if used.ru_maxrss << 10 > 10 * os.path.getsize(self.path) + MEMORY and not os.environ.get("ASAN_OPTIONS"):
            self.wrong.append(f"{args[0]}: {used.ru_maxrss >> 10} MiB")
        if run.returncode == 1 and not text and not messages:
            self.wrong.append(f"{args[0]}: fails without a word")
        if "--json" in args and (text or not run.returncode):
            self.parse(text, args[0])
        return run.returncode, text, messages

    def parse(self, text, what):
        try:
            return json.loads(text)
        except ValueError as error:
            self.wrong.append(f"{what}: no JSON: {error}")
            return None

    def events(self):
        status, text, _ = self.run("info", "--json", self.path)
        told = json.loads(text) if text and not status else {}
        return (told[0] if isinstance(told, list) else told).get("events", 0)

    def ask(self, rng, fixture, is_sure):
        before, now = Trial(self.heddle, self.folder, fixture, self.name).events(), self.events()
        out = os.path.join(self.folder, "out.json")
        status, text, messages = self.run("convert", "--strict", self.path, "out.json")
        if os.path.exists(out):
            if status:
                self.wrong.append("convert --strict fails and leaves a file")
            with open(out, "rb") as file:
                self.parse(file.read(), "convert")
            os.remove(out)
        if not status and now < before and " repair " not in text.decode(errors="replace") + messages and is_sure:
            self.wrong.append(f"{before} events, now {now}, and nothing is lost")
        other = rng.choice(OTHERS)
        self.run(*{"diff": ("diff", "--json", fixture, self.path), "query": ("query", "--json", self.path, "select count(*), sum(dur) from slice"),
                   "convert": ("convert", self.path, other[-1])}.get(other[0], (*other, self.path)))

    def ask_job(self, fixture):
        """Of a summary: it is combined to the same bytes, or it is said what is missing."""
        out = os.path.join(self.folder, "out.hds")
        status, text, messages = self.run("job", "combine", "--strict", self.path, "-o", "out.hds")
        if os.path.exists(out):
            with open(out, "rb") as file, open(fixture, "rb") as whole:
                if file.read() != whole.read() and not status:
                    self.wrong.append("another summary, and nothing is lost")
        elif not status:
            self.wrong.append("nothing written, exit status 0")
        for report in OF_A_JOB:
            self.run("report", report, "--json", self.path)


def fixtures(captures):
    for folder in sorted(os.listdir(HERE)):
        names = sorted(os.listdir(os.path.join(HERE, folder))) if os.path.isdir(os.path.join(HERE, folder)) else []
        for name in names:
            path = os.path.join(HERE, folder, name)
            if os.path.isfile(path) and not name.startswith("bad-") and not name.endswith((".expect", ".py", ".c", ".h", ".md", ".pyc")) and os.path.getsize(path) in SIZES:
                yield folder, path
    for name in sorted(os.listdir(os.path.join(CORPUS, "capture"))):
        if name != "cut.hdcap":
            yield "capture", os.path.join(CORPUS, "capture", name)
    for name in sorted(os.listdir(captures)) if captures else ():
        yield "capture", os.path.join(captures, name)
    yield "hds", os.path.join(CORPUS, "hds/job.hds")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--seeds", type=int, nargs=2, metavar=("FROM", "UNTIL"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--keep", help="where damaged files stay")
    parser.add_argument("--only", help="formats", type=lambda text: text.split(","))
    parser.add_argument("--captures", help="a folder of more captures")
    options = parser.parse_args()
    first = options.seeds[0] if options.seeds else seed(1)
    until = options.seeds[1] if options.seeds else first + rounds(20)
    all_fixtures, wrong = [fixture for fixture in fixtures(options.captures) if not options.only or fixture[0] in options.only], 0
    for number in range(first, until):
        rng = random.Random(number)
        kind_of, fixture = rng.choice(all_fixtures)
        with open(fixture, "rb") as file:
            kind, data = damage(rng, file.read())
        is_sealed = kind_of == "capture" and hds.XXH and rng.randrange(2)
        if is_sealed:
            kind, data = kind + ", sealed", seal(data)
        is_sure = options.all or (kind_of == "capture" and not is_sealed) or (kind == "cut" and kind_of not in OPEN_ENDED) or (kind == "hole" and kind_of in TEXT)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(options.keep or folder, f"{number}-{os.path.basename(fixture)}")
            with open(path, "wb") as file:
                file.write(data)
            trial = Trial(os.path.abspath(options.heddle), folder, os.path.abspath(path), f"seed {number}, {kind_of}, {kind}")
            if kind_of == "hds":
                trial.ask_job(fixture)
            else:
                trial.ask(rng, fixture, is_sure)
        wrong += len(trial.wrong)
        for line in trial.wrong:
            print(f"WRONG {trial.name} {os.path.basename(fixture)}: {line}", flush=True)
    print(f"{until - first} damaged files, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
