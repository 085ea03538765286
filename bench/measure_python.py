"""The row of `import heddle`: open and all slices as a pandas DataFrame, beside pandas over the json module, and what the
binding costs beside reading alone. Needs a build with -Dpython=enabled, and a Python with pandas: BENCH_PYTHON, or
build/peers."""
import os
import subprocess
import sys

from measure_run import THREADS, alternate, warm

SECONDS, OVERHEAD = 0.5, 5  # of the 54 MB trace; percent

OURS = """
import sys, time, numpy, pandas, heddle
begin = time.perf_counter()
trace = heddle.open(sys.argv[1], threads=int(sys.argv[2]))
opened = time.perf_counter()
rows = len(trace.slices().to_pandas())
print(f"open={opened - begin} all={time.perf_counter() - begin} rows={rows}")
"""
THEIRS = """
import sys, time, json, pandas
begin = time.perf_counter()
events = json.load(open(sys.argv[1]))
events = events["traceEvents"] if isinstance(events, dict) else events
rows = len(pandas.DataFrame([e for e in events if e.get("ph") == "X"]))
print(f"all={time.perf_counter() - begin} rows={rows}")
"""


def has_pandas(python):
    return subprocess.run([python, "-c", "import pandas"], capture_output=True, check=False).returncode == 0


def python(bench):
    name, path = bench.small
    size, package = os.path.getsize(path), os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(bench.heddle))), "python")
    peers = os.path.join(os.path.dirname(bench.here), "build", "peers", "bin", "python")
    found = next((p for p in (os.environ.get("BENCH_PYTHON"), peers, sys.executable) if p and has_pandas(p)), None)
    if not found or not os.path.exists(os.path.join(package, "heddle", "_heddle.abi3.so")):
        print("python: left out: needs -Dpython=enabled, and pandas (BENCH_PYTHON=...)")
        return
    warm(path)
    os.environ["PYTHONPATH"] = package
    (ours, theirs, ingest), others = alternate(
        ([found, "-c", OURS, path, str(THREADS)], None, (0,)), ([found, "-c", THEIRS, path], None, (0,)),
        ([bench.program("bench_ingest"), "-t", str(THREADS), path], None, (0,)))
    if ours.word("rows") != theirs.word("rows"):
        sys.exit(f"bench: {ours.word('rows')} slices, pandas found {theirs.word('rows')}")
    bench.add("python: open, slices, pandas", name, size, ours, f"{ours.word('all'):.2f} s",
              f"pandas over json: {theirs.word('all'):.2f} s", f"{SECONDS} s", ours.word("all") <= SECONDS, others)
    bench.add("python: open", name, size, ours, f"{ours.word('open'):.3f} s", f"reading alone: {ingest.seconds:.3f} s",
              f"{OVERHEAD} % over it", ours.word("open") <= ingest.seconds * (1 + OVERHEAD / 100), others)
