"""The rows of `heddle report` and `heddle replay`: each report from the store, summary from JSON beside the reading of it, and beside HTA
where it is installed; see measure.py."""
import os
import subprocess
import sys

from measure_run import THREADS, alternate, memory, run_once, warm, Outcome

REPORT_SECONDS, SUMMARY_SECONDS, MEMORY = 0.5, 1.5, 30
GRAPH_SECONDS, GRAPH_MB, REPLAY_SECONDS, SLACK_SECONDS = 3, 1500, 3, 5
READING = 1.3  # times the reading
SLICES = ("breakdown", "kernels", "copies", "operators", "ranges", "steps", "launches", "queue", "idle", "syncs",
          "communication", "flops", "states", "summary")


def store_of(bench, name, path):
    """The input as a store, made once."""
    store = os.path.join(bench.folder, f"report_{name}.heddle")
    if not os.path.exists(store):
        part = store.replace(".heddle", ".part.heddle")
        subprocess.run([bench.heddle, "convert", "-q", path, part], check=True, stdout=subprocess.DEVNULL)
        os.rename(part, store)
    return store


def hta_python():
    """A Python that has HTA: HTA_PYTHON, or this one."""
    for python in (os.environ.get("HTA_PYTHON"), sys.executable):
        if python and subprocess.run([python, "-c", "import hta"], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    return None


def report(bench):
    known = subprocess.run([bench.heddle, "report"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    out = os.path.join(bench.folder, "report.json")
    for name, path in bench.inputs:
        store, size = store_of(bench, name, path), os.path.getsize(path)
        warm(store)
        for which in SLICES:
            if which not in known:
                continue
            (outcome,), others = alternate(([bench.heddle, "report", which, "-o", out, store], out, (0,)))
            limit = SUMMARY_SECONDS if which == "summary" else REPORT_SECONDS
            bench.add(f"report {which}, store", name, size, outcome, f"{outcome.seconds:.2f} s", "",
                      f"{limit} s, {MEMORY} %", outcome.seconds <= limit and memory(outcome, size) <= MEMORY, others)
        (outcome,), others = alternate(([bench.heddle, "graph", store], None, (0,)))
        bench.add("graph, store", name, size, outcome, f"{outcome.seconds:.2f} s", "",
                  f"{GRAPH_SECONDS} s, {GRAPH_MB} MB",
                  outcome.seconds <= GRAPH_SECONDS and outcome.peak_bytes <= GRAPH_MB * 1e6, others)
        (outcome,), others = alternate(
            ([bench.heddle, "replay", "-q", "--max-error", "1e9", "--scale", "*=0.5", store], None, (0,)))
        bench.add("replay twice, store", name, size, outcome, f"{outcome.seconds:.2f} s", "", f"{REPLAY_SECONDS} s",
                  outcome.seconds <= REPLAY_SECONDS, others)
        (outcome,), others = alternate(([bench.heddle, "report", "critical-path", "--slack", "-o", out, store], out, (0,)))
        bench.add("report critical-path --slack, store", name, size, outcome, f"{outcome.seconds:.2f} s", "",
                  f"{SLACK_SECONDS} s", outcome.seconds <= SLACK_SECONDS, others)
        warm(path)
        (outcome, ingest), others = alternate(
            ([bench.heddle, "report", "breakdown", "-o", out, path], out, (0,)),
            ([bench.program("bench_ingest"), "-t", str(THREADS), path], None, (0,)))
        limit = READING * ingest.seconds
        bench.add("report breakdown, JSON", name, size, outcome, f"{outcome.seconds:.2f} s",
                  f"reading it: {ingest.seconds:.2f} s", f"{READING} x reading", outcome.seconds <= limit, others)
    beside_hta(bench, out)


def beside_hta(bench, out):
    name, path = bench.small
    size, python = os.path.getsize(path), hta_python()
    warm(path)
    (outcome,), others = alternate(([bench.heddle, "report", "summary", "-o", out, path], out, (0,)))
    peer = "HTA: not installed (HTA_PYTHON=...)"
    if python:
        theirs = Outcome()
        run_once(theirs, [python, os.path.join(bench.here, "peers", "peer_hta.py"), path])
        peer = (f"HTA: {theirs.seconds:.1f} s, {theirs.peak_bytes / 1e6:,.0f} MB, "
                f"{theirs.seconds / outcome.seconds:.0f} times")
    bench.add("report summary, JSON", name, size, outcome,
              f"{outcome.seconds:.2f} s, {outcome.peak_bytes / 1e6:,.0f} MB", peer, others=others)
