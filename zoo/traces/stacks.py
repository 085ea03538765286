"""Profiles of stacks: one run of samples in each format. The truth is how many samples there are, and the sum of their weights."""
import random

import profiles
from faults import NOTHING

PATHS = (["main", "train", "step", "forward", "matmul"], ["main", "train", "step", "forward", "softmax"], ["main", "train", "step", "backward"], ["main", "train", "load", "read"], ["main", "train", "step", "forward"], ["main"])


def samples(seed, count=60):
    r = random.Random(seed)
    return [("app", PATHS[r.randrange(len(PATHS))], 1_000_000 * r.randrange(1, 4)) for _ in range(count)]


def add_to(zoo):
    rows = samples(80)
    total, count = sum(w for *_, w in rows), len(rows)
    merged = len({tuple(f) for _, f, _ in rows})

    def add(name, extension, about, data, truth):
        zoo.add(name, "stacks", name.split("_")[0], about, [name + extension], {"counts": truth, **NOTHING}, lambda folder: profiles.save(f"{folder}/{name}{extension}", data()))

    add("folded", ".folded", "folded stacks: equal ones are one line", lambda: profiles.folded(rows), {"samples": merged, "weight": total})
    add("perf-script", ".perf", "text of perf script, with periods", lambda: profiles.perf_script(rows), {"samples": count, "weight": total})
    add("perf-data", ".data", "perf.data of perf record -g", lambda: profiles.perf_data(rows), {"samples": count, "weight": total})
    add("speedscope", ".speedscope.json", "speedscope, sampled", lambda: profiles.speedscope(rows), {"samples": count, "weight": total})
    add("speedscope_evented", ".speedscope.json", "speedscope, opened and closed frames", lambda: profiles.speedscope(rows, True), {"weight": total})
    add("gecko", ".gecko.json", "Firefox Profiler, processed format 47", lambda: profiles.gecko(rows), {"samples": count, "weight": total})
    add("cpuprofile", ".cpuprofile", "V8's CPU profile", lambda: profiles.cpuprofile(rows), {"samples": count})
    add("pprof", ".pprof", "pprof, protobuf", lambda: profiles.pprof(rows), {"samples": count, "weight": total})
    from model import Run, truth
    run = Run(81, 1000)
    for i in range(12):
        run.kernel(i)
    run.all_reduce()
    zoo.add("chakra", "producer", "chakra", "Chakra execution trace with times", ["chakra.et"], {**truth(run), "counts": {"nodes": len(run.activities)}, "launches": None, "gpu_busy": None, "classes": None, "exposed_communication": None},
            lambda folder: profiles.save(f"{folder}/chakra.et", profiles.chakra(run)))
