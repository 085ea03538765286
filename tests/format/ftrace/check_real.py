#!/usr/bin/env python3
"""check_real.py HEDDLE - ftrace event by event: `heddle convert` to Chrome JSON against `trace-cmd report` and a replay here

sched_load.trace.dat, as it is, and as version 7, plain and compressed, where trace-cmd is there to convert it; its report
as text; trace.txt. Of each event the time, CPU, thread, name and fields; of switches the slices of CPUs and the states of
threads, which are replayed here. Exit status 77 without ../shared/data/ftrace.
"""
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal

LINE = re.compile(r"^\s*(?P<comm>.*)-(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<part>\d+):\s+(?P<name>[^:\s]+):\s*(?P<rest>.*)$")
FIELD = re.compile(r"(?:^|(?<=\s))(\w+)=(.*?)(?=\s+(?:==>\s+)?\w+=|$)")
SHORT = re.compile(r"^(.*):(\d+) \[(\d+)\] (\S+) ==> (.*):(\d+) \[(\d+)\]$")
LETTERS = {0: "R", 1: "S", 2: "D", 4: "T", 8: "t"}
WAKEUPS = {"sched_wakeup", "sched_waking", "sched_wakeup_new"}


def events(text):
    for line in text.splitlines():
        m = LINE.match(line)
        if m:
            ns = int(m["s"]) * 10**9 + int(m["part"].ljust(9, "0"))
            yield ns, int(m["cpu"]), int(m["tid"]), m["name"], m["rest"], m["comm"].strip()


def fields_of(rest):
    return {k: v.strip() for k, v in FIELD.findall(rest)}


def switch_of(rest, states):
    short = SHORT.match(rest)
    if short:
        return int(short[2]), short[4], int(short[6]), short[5], int(short[7])
    f = fields_of(rest)
    state = f["prev_state"]
    return int(f["prev_pid"]), states(int(state)) if state.isdigit() else state, int(f["next_pid"]), f["next_comm"], int(f["next_prio"])


def replay(rows, states):
    """slices of CPUs, states of threads, all other events"""
    cpus, threads, slices, spans, others = {}, {}, [], [], []

    def leave(tid, ns):
        if tid in threads:
            since, state, cpu = threads.pop(tid)
            spans.append((tid, since, None if ns is None else ns - since, state, cpu))

    for ns, cpu, tid, name, rest, _ in rows:
        if name != "sched_switch":
            others.append((ns, cpu, tid, name, rest))
        if name in WAKEUPS:
            woken = int(fields_of(rest)["pid"])
            now = threads.get(woken)
            if not (now and (now[1] == "R" or now[2] is not None)):
                leave(woken, ns)
                threads[woken] = (ns, "R", None)
        if name != "sched_switch":
            continue
        prev, state, following, comm, priority = switch_of(rest, states)
        if cpu in cpus and cpus[cpu][1] == prev and prev:
            slices.append((cpu, cpus[cpu][0], ns - cpus[cpu][0], cpus[cpu][2], prev, cpus[cpu][3], state))
        elif cpu in cpus and cpus[cpu][1] != prev and cpus[cpu][1]:
            slices.append((cpu, cpus[cpu][0], None, cpus[cpu][2], cpus[cpu][1], cpus[cpu][3], None))
        if prev:
            leave(prev, ns)
            threads[prev] = (ns, state, None)
        if following:
            leave(following, ns)
            threads[following] = (ns, "Running", cpu)
        cpus[cpu] = (ns, following, comm, priority)
    for cpu, (since, tid, comm, priority) in cpus.items():
        if tid:
            slices.append((cpu, since, None, comm, tid, priority, None))
    for tid in list(threads):
        leave(tid, None)
    return slices, spans, others


def ns_of(value):
    return int(Decimal(str(value)) * 1000)


def converted(heddle, path, folder):
    out = pathlib.Path(folder) / "out.json"
    out.unlink(missing_ok=True)
    subprocess.run([heddle, "convert", "--strict", str(path), str(out)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(out.read_text(), parse_float=Decimal)["traceEvents"]


def duration(e):
    return ns_of(e["dur"]) if "dur" in e else None


def same_value(mine, wanted):
    return str(mine) == wanted or (isinstance(mine, int) and re.fullmatch(r"0x[0-9a-f]+|\d+", wanted) and int(wanted, 0) == mine)


def check(heddle, path, rows, folder, states):
    got = converted(heddle, path, folder)
    slices, spans, others = replay(rows, states)
    mine = Counter((int(e["tid"].split()[1]), ns_of(e["ts"]), duration(e), e["name"], e["args"]["tid"], e["args"]["prio"],
                    e["args"].get("end_state")) for e in got if e.get("cat") == "sched")
    assert mine == Counter(slices), (path, list((mine - Counter(slices)).items())[:3], list((Counter(slices) - mine).items())[:3])
    mine = Counter((e["tid"], ns_of(e["ts"]), duration(e), e["name"], e["args"]["cpu"] if "args" in e else None)
                   for e in got if e.get("cat") == "thread_state")
    assert mine == Counter(spans), (path, list((mine - Counter(spans)).items())[:3], list((Counter(spans) - mine).items())[:3])
    instants = sorted(((ns_of(e["ts"]), e) for e in got if e["ph"] in "iIC"), key=lambda x: x[0])
    others.sort(key=lambda x: x[0])
    assert len(instants) == len(others), (path, len(instants), len(others))
    compared = 0
    for (ns, e), (at, cpu, tid, name, rest) in zip(instants, others):
        where = (path, at, name)
        assert (ns, e["name"]) == (at, name), (where, ns, e["name"])
        wanted = fields_of(rest)
        if e["ph"] == "C":
            assert (e["pid"], e["tid"]) == ("CPUs", f"CPU {wanted['cpu_id']}") and e["args"] == {"state": int(wanted["state"])}, where
            continue
        assert e["args"]["CPU"] == cpu and (e["tid"] == tid or (tid == 0 and e["tid"] == f"CPU {cpu}")), (where, e)
        if name == "print":
            continue  # its text is free
        for key, value in wanted.items():
            assert same_value(e["args"][key], value), (where, key, e["args"], value)
            compared += 1
    print(f"{pathlib.Path(path).name}: {len(slices)} slices, {len(spans)} states, {len(others)} other events, {compared} fields")


def dat_states(value):
    """of the kernel that wrote sched_load.trace.dat, by its print format"""
    letters = {1: "S", 2: "D", 4: "T", 8: "t", 16: "X", 32: "Z", 64: "x", 128: "K", 256: "W", 512: "P", 1024: "N"}
    text = "".join(v for k, v in letters.items() if value & k) or "R"
    return text + "+" if value & ~2047 else text


def text_states(value):
    """without a format: the flags that all kernels have"""
    text = "".join(v for k, v in LETTERS.items() if value & k)
    if value and not text and value < 256:
        return str(value)
    return (text or "R") + ("+" if value >= 256 else "")


def report(path, *options):
    return subprocess.run(["trace-cmd", "report", "-t", *options, str(path)], capture_output=True, text=True, errors="replace").stdout


def main():
    heddle = sys.argv[1]
    shared = pathlib.Path(__file__).resolve().parents[3] / "../shared/data/ftrace"
    if not shared.is_dir():
        print("skipped: there is no ../shared/data/ftrace")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        text = gzip.decompress((shared / "trace.txt.gz").read_bytes()).decode()
        check(heddle, shared / "trace.txt.gz", list(events(text)), folder, text_states)
        if not shutil.which("trace-cmd"):
            print("without trace-cmd nothing to hold trace.dat against")
            return 0
        dat = pathlib.Path(folder) / "six.dat"
        dat.write_bytes(gzip.decompress((shared / "sched_load.trace.dat.gz").read_bytes()))
        rows = list(events(report(dat, "-R")))
        check(heddle, dat, rows, folder, dat_states)
        for compression in "none", "zstd", "zlib":
            seven = pathlib.Path(folder) / f"seven-{compression}.dat"
            done = subprocess.run(["trace-cmd", "convert", "--file-version", "7", "--compression", compression, "-i", dat, "-o", seven],
                                  capture_output=True)
            if done.returncode == 0 and seven.exists():
                check(heddle, seven, rows, folder, dat_states)
        words = pathlib.Path(folder) / "report.txt"
        words.write_text(report(dat))
        check(heddle, words, list(events(words.read_text())), folder, dat_states)
    return 0


if __name__ == "__main__":
    sys.exit(main())
