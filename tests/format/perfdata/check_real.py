#!/usr/bin/env python3
"""check_real.py HEDDLE [FILE...] - perf.data event by event: `heddle convert` to Chrome JSON against `perf script`

Compares of each sample time, process, thread, CPU, event, period and every frame: what perf prints as an address in a
file is, by the mappings that perf lists, the offset that the frame says. Without files: all of ../shared/data/perf, and
a compressed recording made here if the system lets us; exit status 77 without perf or those files.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal

HEADER = re.compile(r"^(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?(?P<s>\d+)\.(?P<ns>\d{9}):"
                    r"\s+(?P<period>\d+)\s+(?P<event>\S+):(?:\s+(?P<rest>.*))?$")
FRAME = re.compile(r"^\s*(?P<ip>[0-9a-f]+)\s+\((?P<dso>.*)\)$")
CORRUPT = "perf.data.piped.corrupted.zero_size_sample-3.2"
ZERO_AT, ZERO_SIZE = 49104, 48  # the record without a size, and what its neighbours have


def perf(path, *options):
    done = subprocess.run(["perf", "script", "--ns", "-i", str(path), *options], capture_output=True, text=True,
                          errors="replace")
    return done.stdout.splitlines()


def expected(path, has_cpu):
    samples = []
    for line in perf(path, "-F", "comm,pid,tid," + ("cpu," if has_cpu else "") + "time,period,event,ip,dso"):
        m = HEADER.match(line)
        if m:
            samples.append((m, []))
            line = m["rest"] or ""
        frame = FRAME.match(line)
        if frame:
            samples[-1][1].append((int(frame["ip"], 16), frame["dso"]))
    return samples


def key_of(m):
    return (int(m["s"]) * 10**9 + int(m["ns"]), int(m["pid"]), int(m["tid"]), int(m["cpu"]) if m["cpu"] else None,
            m["event"], int(m["period"]))


def kernel_or_file(dso):
    module = re.match(r"^(?:.*/)?([^/]+)\.ko(\.\w+)?$", dso)
    if module:
        return "[" + module[1].replace("-", "_") + "]"
    return dso.split("/")[-1] if dso.startswith("/") else dso


def mappings(path):
    """what perf lists: path -> start minus offset, of all that were ever mapped"""
    bases = {}
    for line in perf(path, "--show-mmap-events"):
        m = re.search(r"PERF_RECORD_MMAP2? .*?: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0)[^\]]*\]: \S+ (.*)$", line)
        if m:
            name = re.sub(r"^(\[.*?\]).*", r"\1", m[4])
            bases.setdefault(kernel_or_file(name), []).append((int(m[1], 16), int(m[2], 16), int(m[3], 16)))
    return bases


def frames_of(trace, node):
    frames = trace.get("stackFrames", {})
    while node is not None:
        frame = frames[str(node)]
        yield frame["name"]
        node = frame.get("parent")


def check_frames(where, got, wanted, bases):
    assert len(got) == len(wanted), (where, got, wanted)
    before = None  # whether the frame before is the kernel's; the first of a mode was interrupted, the others call
    for name, (ip, dso) in zip(got, wanted):
        is_kernel = ip >> 63 == 1 and dso != "[unknown]"
        ip -= before is not None and before == is_kernel and ip > 0
        before = is_kernel
        module, _, offset = name.rpartition("+")
        if not module:
            assert int(name, 16) == ip and dso in ("[unknown]", "inlined"), (where, name, hex(ip), dso)
            continue
        assert kernel_or_file(module) == kernel_or_file(dso), (where, name, dso)
        places = {ip - start + at for start, size, at in bases.get(kernel_or_file(dso), [])
                  if start <= ip < start + size}
        if not places or dso == "[kernel.kallsyms]":
            places = {ip}  # perf gives no offset of the kernel: it stays at its addresses
        assert int(offset, 16) in places, (where, name, hex(ip), [hex(p) for p in places])


def check(heddle, path, folder, oracle=None, lost=0):
    out = pathlib.Path(folder) / "out.json"
    out.unlink(missing_ok=True)
    subprocess.run([heddle, "convert", str(path), str(out)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    trace = json.loads(out.read_text(), parse_float=Decimal)
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    samples = [e for e in trace["traceEvents"] if e["ph"] in "PI" and "sf" in e or e["ph"] == "P"]
    got = [((int(e["ts"] * 1000), e["pid"], e["tid"], e.get("args", {}).get("cpu"), e["name"], e["args"]["weight"]), e)
           for e in samples]
    wanted = [(key_of(m), m["comm"].strip(), f)
              for m, f in expected(oracle or path, any(k[3] is not None for k, _ in got))]
    bases = mappings(oracle or path)
    comms = {}
    if lost:  # those that the damage took
        keys = {k for k, _ in got}
        missing = [w for w in wanted if w[0] not in keys]
        assert len(missing) == lost, (path, len(missing))
        wanted = [w for w in wanted if w[0] in keys]
    assert len(got) == len(wanted), (path, len(got), len(wanted))
    assert len(got) > 0, path
    # perf keeps the order of files where times are equal; only what is at one time may differ
    got.sort(key=lambda g: g[0][:3])
    wanted.sort(key=lambda w: w[0][:3])
    frames = 0
    for number, ((key, event), (other, comm, chain)) in enumerate(zip(got, wanted)):
        where = f"{path}: sample {number}"
        assert key == other, (where, key, other)
        stack = list(frames_of(trace, event.get("sf")))
        check_frames(where, stack, chain, bases)
        frames += len(stack)
        comms.setdefault(key[2], []).append(comm)
    for tid, all_names in comms.items():
        assert names.get(tid, f":{tid}") in all_names or len(set(all_names)) > 1, (path, tid, names.get(tid), all_names[-1])
    print(f"{pathlib.Path(path).name}: {len(got)} samples, {frames} frames")


def record(folder):
    """a compressed recording; None if the system does not let us"""
    path = pathlib.Path(folder) / "compressed.data"
    done = subprocess.run(["perf", "record", "-z", "-e", "cpu-clock", "-g", "-o", str(path), "--", sys.executable, "-c",
                           "import json; sum(range(2000000))"], capture_output=True)
    return path if done.returncode == 0 and path.exists() else None


def check_tracepoints(heddle, folder):
    """fields of tracepoints, and as many slices of CPUs as there are switches to a thread"""
    folder = pathlib.Path(folder)
    done = subprocess.run(["perf", "record", "-a", "-e", "sched:sched_switch,sched:sched_wakeup", "-o", "points.data", "--", "sleep", "0.2"],
                          cwd=folder, capture_output=True)
    if done.returncode:
        print("no tracepoints recorded: the system does not let us")
        return
    wanted = []
    for line in perf(folder / "points.data", "-F", "tid,time,event,trace"):
        tid, time, event, rest = line.split(None, 3)
        fields = dict(re.findall(r"(\w+)=(.*?)(?=\s+(?:==>\s+)?\w+=|$)", rest))
        wanted.append((int(time.rstrip(":").replace(".", "")), int(tid), event.rstrip(":"), fields))
    (folder / "out.json").unlink(missing_ok=True)
    subprocess.run([heddle, "convert", "points.data", "out.json"], cwd=folder, check=True, capture_output=True)
    events = json.loads((folder / "out.json").read_text(), parse_float=Decimal)["traceEvents"]
    got = sorted(((int(e["ts"] * 1000), e["tid"], e["name"], e["args"]["trace"]) for e in events if e["ph"] == "P"), key=lambda x: x[:3])
    wanted.sort(key=lambda x: x[:3])
    assert [g[:3] for g in got] == [w[:3] for w in wanted] and got, (len(got), len(wanted))
    for mine, (*_, fields) in zip(got, wanted):
        for key, value in fields.items():
            if key != "prev_state":  # a number here, letters there
                plain = str(int(value)) if value.isdigit() else value.strip()
                assert f"{key}={plain}" in mine[3], (mine, key, value)
    switches = sum(w[2] == "sched:sched_switch" and w[3]["next_pid"] != "0" for w in wanted)
    slices = sum(e.get("cat") == "sched" for e in events)
    assert slices == switches, (slices, switches)
    print(f"tracepoints: {len(got)} samples, {slices} slices of CPUs")


PROGRAM = """__attribute__((noinline)) unsigned long hot_loop(unsigned long n)
{ unsigned long x = 1; for (unsigned long i = 0; i < n; i++) x = x * 6364136223846793005ul + i; return x; }
int main(void) { return hot_loop(300000000ul) == 7; }
"""


def check_symbols(heddle, folder):
    """a program whose segments lie elsewhere than in its file: `heddle symbolize` names what perf names"""
    folder = pathlib.Path(folder)
    (folder / "hot.c").write_text(PROGRAM)
    built = subprocess.run(["cc", "-O1", "-no-pie", "-o", "hot", "hot.c"], cwd=folder, capture_output=True)
    made = built.returncode == 0 and subprocess.run(["perf", "record", "-e", "cpu-clock", "-o", "hot.data", "./hot"],
                                                    cwd=folder, capture_output=True).returncode == 0
    if not made:
        print("no program recorded: the system does not let us")
        return
    lines = [line.split() for line in perf(folder / "hot.data", "-F", "period,ip,sym")]
    wanted = sum(int(words[0]) for words in lines if words[-1:] == ["hot_loop"])
    done = subprocess.run([heddle, "symbolize", "hot.data", "-o", "hot.heddle"], cwd=folder, capture_output=True, text=True)
    if "cannot read symbols" in done.stderr:
        print("no symbols: this build has no libdw")
        return
    assert done.returncode in (0, 1) and wanted > 0, done.stderr
    flame = subprocess.run([heddle, "flame", "hot.heddle"], cwd=folder, capture_output=True, text=True).stdout
    got = sum(int(line.split()[-1]) for line in flame.splitlines() if line.split()[0].split(";")[-1] == "hot_loop")
    assert got == wanted, (got, wanted, flame)
    print(f"symbols: {got} ns in hot_loop")


def main():
    heddle, files = os.path.abspath(sys.argv[1]), sys.argv[2:]
    shared = pathlib.Path(__file__).resolve().parents[3] / "../shared/data/perf"
    if not shutil.which("perf") or (not files and not shared.is_dir()):
        print("skipped: there is no perf, or no ../shared/data/perf")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for path in files or sorted(shared.glob("*perf.data*")):
            if pathlib.Path(path).name == CORRUPT:
                mended = pathlib.Path(folder) / "mended"
                data = bytearray(pathlib.Path(path).read_bytes())
                data[ZERO_AT:ZERO_AT + 8] = b"\x09\0\0\0\x01\0" + ZERO_SIZE.to_bytes(2, "little")
                mended.write_bytes(data)
                check(heddle, path, folder, mended, 1)
            else:
                check(heddle, path, folder)
        made = None if files else record(folder)
        if made:
            check(heddle, made, folder)
            check_symbols(heddle, folder)
            check_tracepoints(heddle, folder)
        elif not files:
            print("no recording: the system does not let us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
