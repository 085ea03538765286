"""Jobs of 2 to 64 ranks with one culprit: a rank that comes late to each collective, or whose GPU is slow.

The collectives of one order end together on all ranks; a rank that comes late has the shortest ones.
"""
import os
import random

import chrome
from model import COMMUNICATION, KERNEL, Range, Run, truth


def job(world, seed, late=None, slow=None, steps=3, layers=2):
    """The ranks' runs are computed together: a collective begins on the GPU when its rank comes, and ends 30 µs after the last one came."""
    runs = [Run(seed * 1000 + r, 1000) for r in range(world)]
    for r, run in enumerate(runs):
        run.rank, run.world = r, world
    for number in range(steps):
        begun = [run.now for run in runs]
        for layer in range(layers):
            arrivals = []
            for r, run in enumerate(runs):
                if r == late:
                    run.pause(400_000)
                factor = 3 if r == slow else 1
                for which in range(2):
                    run.kernel(which, dur=(40_000 + 1000 * run.random.randrange(4)) * factor)
                call = run.call("cudaLaunchKernel")
                arrivals.append((call, max(call.start + call.dur + 2000, run.free.get((0, 7), 0))))
            end = max(at for _, at in arrivals) + 30_000
            for (call, at), run in zip(arrivals, runs):
                run.run(call, KERNEL, run.names["comm"], end - at, COMMUNICATION, stream=20, bytes=1 << 20, after=at, **{
                    "Collective name": "allreduce", "In msg nelems": 524288, "Out msg nelems": 524288, "Group size": world, "dtype": "BFloat16", "Process Group Name": "0", "Process Group Description": "default_pg",
                    "Process Group Ranks": str(list(range(world))), "Seq": number * layers + layer + 1})
                run.free[0, 7] = end + 1000  # the next kernel needs the result
        for r, run in enumerate(runs):
            run.synchronize()
            run.ranges.append(Range(f"ProfilerStep#{number + 1}", begun[r], run.now - begun[r], "step"))
            run.pause(10_000)
    return runs


def add_to(zoo):
    for n, (world, what) in enumerate(((2, "late"), (4, "late"), (8, "late"), (16, "late"), (32, "late"), (64, "late"), (2, "slow"), (4, "slow"), (8, "slow"), (16, "slow"), (4, "even"), (8, "even"))):
        culprit = random.Random(900 + n).randrange(1, world) if what != "even" else None
        small = {"steps": 2, "layers": 1} if world > 16 else {}
        runs = job(world, 90 + n, culprit if what == "late" else None, culprit if what == "slow" else None, **small)
        name = f"job-{world}-{what}"
        files = [f"{name}/rank{r}.json.gz" for r in range(world)]
        facts = truth(runs[0], **dict.fromkeys(("counts", "gpu_busy", "launches", "steps", "classes", "exposed_communication", "gpu_time_ns")))
        exposed = {str(r): truth(run)["exposed_communication"]["0"] for r, run in enumerate(runs)}
        facts["findings"] = {"culprit": {"late": "late-rank", "slow": "slow-gpu", "even": None}[what], "straggler": culprit}
        facts["exposed_communication"] = exposed

        def write(folder, runs=runs, files=files):
            os.makedirs(os.path.dirname(f"{folder}/{files[0]}"), exist_ok=True)
            for run, file in zip(runs, files):
                chrome.write(f"{folder}/{file}", chrome.kineto(run, 2026))

        about = {"late": f"the CPU of rank {culprit} comes 0.4 ms late to each collective", "slow": f"the GPU of rank {culprit} takes three times as long", "even": "no rank is slower than others"}[what]
        zoo.add(name, "job", "kineto-job", f"{world} ranks: {about}", files, facts, write)
