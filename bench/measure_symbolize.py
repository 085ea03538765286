#!/usr/bin/python3
"""Names of random addresses of large files, beside llvm-symbolizer and addr2line; the answers of the former are compared.

usage: bench/measure_symbolize.py HEDDLE [FILE...]      without FILEs: heddle itself, libLLVM, chromium, libc, if they are here

Times are of whole processes, medians of RUNS. "equal" compares the chains of functions, with inlined ones, and their
lines. "alias": only the outermost name differs, where a function has several (mprotect, __mprotect) or a suffix
(.isra.0) that the linker knows and DWARF does not.
"""
import glob
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ADDRESSES, FEW, RUNS = 100_000, 2_000, 3


def sections(path):
    """Name -> (address, size, is in the file)."""
    found = {}
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout
    for line in text.splitlines():
        fields = line[line.find("]") + 1:].split()
        if line.lstrip().startswith("[") and len(fields) > 5 and fields[0].startswith("."):
            found[fields[0]] = (int(fields[2], 16), int(fields[4], 16), fields[1] != "NOBITS")
    return found


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
    return next((line.split(":")[1].strip() for line in text.splitlines() if "Build ID" in line), "")


def write_trace(out, path, addresses):
    name = os.path.basename(path)
    numbers = range(1, len(addresses) + 1)
    trace = {
        "modules": [{"name": name, "path": path, "buildId": build_id(path)}],
        "traceEvents": [{"ph": "P", "name": "s", "pid": 1, "tid": 1, "ts": i, "sf": i} for i in numbers],
        "stackFrames": {str(i): {"name": f"{name}+{addresses[i - 1]:#x}"} for i in numbers},
    }
    with open(out, "w") as file:
        json.dump(trace, file)


def timed(command, text=None, runs=RUNS):
    """Seconds, standard output."""
    seconds, output = [], ""
    for _ in range(runs):
        begin = time.monotonic()
        output = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        seconds.append(time.monotonic() - begin)
    return statistics.median(seconds), output


def our_chains(path):
    """By event, the frames from the innermost on: (function, "FILE:LINE" or "")."""
    with open(path) as file:
        trace = json.load(file)
    frames, chains = trace["stackFrames"], []
    for event in sorted((e for e in trace["traceEvents"] if e.get("ph") == "P"), key=lambda e: e["ts"]):
        chain, at = [], str(event["sf"])
        while at in frames:
            name, line = frames[at]["name"], ""
            if name.endswith(")") and name.rpartition(":")[2][:-1].isdigit():
                name, _, line = name[:-1].rpartition(" (")
            chain.append((name, line))
            at = str(frames[at].get("parent", ""))
        chains.append(chain)
    return chains


def demangled(names):
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True).stdout
    return dict(zip(names, text.splitlines()))


def spelled(name):
    return name.replace("> >", ">>").replace("operator<< <", "operator<<<")


def compare(module, addresses, ours, peer_output):
    peer = [[(s["FunctionName"], f"{s['FileName']}:{s['Line']}" if s["FileName"] and s["Line"] else "")
             for s in json.loads(line).get("Symbol", [])] for line in peer_output.splitlines()]
    plain = demangled(sorted({f for chain in peer for f, _ in chain if f}))
    counts, examples = dict.fromkeys(("equal", "alias", "only ours", "only theirs", "differ"), 0), []
    for address, mine, theirs in zip(addresses, ours, peer):
        mine = [(spelled(f), at) for f, at in mine if f != f"{module}+{address:#x}"]
        theirs = [(spelled(plain[f]), at) for f, at in theirs if f]
        if mine == theirs:
            kind = "equal"
        elif not mine or not theirs:
            kind = "only ours" if mine else "only theirs"
        elif mine[:-1] == theirs[:-1] and mine[-1][1] == theirs[-1][1]:
            kind = "alias"
        else:
            kind = "differ"
            examples.append((hex(address), mine, theirs))
        counts[kind] += 1
    return ", ".join(f"{kind} {count:,}" for kind, count in counts.items() if count), examples[:2]


def measure_peers(heddle, path, folder, trace, addresses):
    text = "\n".join(map(hex, addresses)) + "\n"
    if shutil.which("llvm-symbolizer"):
        out = os.path.join(folder, "out.json")
        command = ["llvm-symbolizer", f"--obj={path}", "-i", "-f", "--no-demangle", "--output-style=JSON"]
        seconds, output = timed(command, text)
        subprocess.run([heddle, "symbolize", "-q", "--lines", "--paths", trace, "-o", out], check=True)
        words, examples = compare(os.path.basename(path), addresses, our_chains(out), output)
        print(f"  llvm-symbolizer   {seconds:6.2f} s; {words}")
        for example in examples:
            print("   ", *example)
    if shutil.which("addr2line"):
        few = "\n".join(map(hex, random.sample(addresses, min(FEW, len(addresses))))) + "\n"
        seconds, _ = timed(["addr2line", "-e", path, "-i", "-f"], few, runs=1)
        print(f"  addr2line         {seconds:6.2f} s for {FEW:,} of them")


def measure(heddle, path, folder):
    there = sections(path)
    if ".text" not in there:
        return
    start, size, _ = there[".text"]
    random.seed(1)
    addresses = sorted({start + random.randrange(size) for _ in range(ADDRESSES)})
    trace = os.path.join(folder, "trace.json")
    write_trace(trace, path, addresses)
    kinds = [kind for kind in (".symtab", ".dynsym", ".debug_info") if there.get(kind, (0, 0, False))[2]]
    print(f"{path}: {os.path.getsize(path) / 1e6:,.0f} MB, {len(addresses):,} addresses, {' '.join(kinds)}", flush=True)
    read, _ = timed([heddle, "info", trace])
    names, _ = timed([heddle, "symbolize", "-q", trace])
    lines, _ = timed([heddle, "symbolize", "-q", "--lines", "--paths", trace])
    print(f"  heddle symbolize  {names:6.2f} s, with lines {lines:.2f} s (heddle info of the trace: {read:.2f} s)", flush=True)
    measure_peers(heddle, path, folder, trace, addresses)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    heddle, files = os.path.abspath(sys.argv[1]), [os.path.abspath(f) for f in sys.argv[2:]]
    if not files:
        here = [heddle, *glob.glob("/usr/lib/llvm-*/lib/libLLVM-*.so")[-1:], "/usr/lib/chromium/chromium",
                *glob.glob("/usr/lib/*/libc.so.6")[:1]]
        files = [f for f in here if os.path.isfile(f)]
    with tempfile.TemporaryDirectory(prefix="heddle-symbolize-") as folder:
        for path in files:
            measure(heddle, path, folder)


main()
