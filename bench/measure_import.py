"""The rows of reading other profilers' files, made large from small real ones (make_imports.py), beside reading the bytes."""
import os

import make_imports
from measure_run import THREADS, alternate, memory, warm

BINARY_FLOOR, TEXT_FLOOR, MEMORY = 200, 100, 100  # MB/s; percent of the input


def imports(bench):
    size = int(os.environ.get("BENCH_MB", "1000")) * 500_000
    for name, (make, real, is_text) in make_imports.MAKERS.items():
        source = os.path.join(os.environ.get("HEDDLE_SHARED", os.path.join(bench.here, "../../shared")), "data", real)
        if not os.path.exists(source):
            print(f"imports: {name} is left out: there is no {real} in ../shared/data")
            continue
        path = os.path.join(bench.folder, f"import_{name}_{size}")
        if not os.path.exists(path):
            make(source, path + ".part", size)
            os.rename(path + ".part", path)
        warm(path)
        (outcome, cat), others = alternate(([bench.program("bench_ingest"), "-t", str(THREADS), path], None, (0,)),
                                           (["sh", "-c", f"exec cat '{path}' | cat >/dev/null"], None, (0,)))
        read, floor = os.path.getsize(path), TEXT_FLOOR if is_text else BINARY_FLOOR
        speed = read / outcome.seconds / 1e6
        bench.add(f"read {name}", name, read, outcome, f"{speed:,.0f} MB/s, {outcome.word('events') / 1e6:,.1f} M events",
                  f"cat: {read / cat.seconds / 1e6:,.0f} MB/s", f"{floor} MB/s, {MEMORY} %",
                  speed >= floor and memory(outcome, read) <= MEMORY, others)
