"""Pairs of traces for comparison: what was planted between the two is the truth. And single runs with one planted cause."""
import chrome
from model import COPY, MEMCPY, Run, truth


def steps(seed, count=10, slow=1.0, extra=0, copies=0, missing=False, launches=1, sync=0):
    run = Run(seed, 1000)

    def body():
        for i in range(6):
            run.op("aten::mm", lambda: run.kernel(0, dur=int(100 * slow) * 1000 + 1000 * run.random.randrange(3)))
            for _ in range(launches):
                run.op("aten::add", lambda: run.kernel(1, dur=50_000 // launches + 1000 * run.random.randrange(2)))
            if not missing:
                run.op("aten::softmax", lambda: run.kernel(2, dur=30_000))
        for _ in range(extra):
            run.op("aten::layer_norm", lambda: run.kernel("vectorized_layer_norm_kernel", dur=80_000))
        for _ in range(copies):
            run.op("aten::copy_", lambda: run.copy(dur=60_000))
        run.synchronize()
        if sync:
            run.pause(sync)

    for number in range(count):
        run.step(number + 1, body)
        run.pause(10_000)
    return run


CHANGES = {  # name: (about, what differs after)
    "same": ("two runs of the same program: nothing changed but noise", {}),
    "kernel-slower": ("one kernel takes 1.5 times as long", {"slow": 1.5}),
    "kernel-faster": ("one kernel takes half as long", {"slow": 0.5}),
    "kernel-added": ("an operator was added, twice a step", {"extra": 2}),
    "kernel-removed": ("an operator was removed", {"missing": True}),
    "copy-added": ("a copy was added, three times a step", {"copies": 3}),
    "kernel-split": ("one kernel was split into five shorter ones", {"launches": 5}),
    "host-slower": ("the host pauses 0.5 ms at the end of each step", {"sync": 500_000}),
}


def step_gpu_time(run):
    """GPU time by name, per step."""
    out = {}
    count = sum(r.kind == "step" for r in run.ranges)
    for a in run.activities:
        out[a.name] = out.get(a.name, 0) + a.dur
    return {name: ns / count for name, ns in out.items()}


def median(values):
    v = sorted(values)
    return (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2


def step_time(run):
    return round(median([r.dur for r in run.ranges if r.kind == "step"][1:]))


def causes():
    """Runs in which one thing costs most. The cause's word is Heddle's code for it; adapters translate others' words."""
    run = Run(120, 1000)
    for n in range(6):
        def body():
            run.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", lambda: run.pause(2_000_000), "annotation")
            for i in range(8):
                run.kernel(i, dur=50_000)
            run.synchronize()
        run.step(n + 1, body)
    yield "cause-data-loading", "the data loader takes 80 % of each step", run, "data-loading"
    run = Run(121, 1000)
    for n in range(6):
        def body():
            for i in range(30):
                run.op("aten::add_", lambda: (run.kernel(i, dur=3000), run.pause(25_000)))
            run.synchronize()
        run.step(n + 1, body)
    yield "cause-small-kernels", "180 kernels of 3 µs, one each 40 µs", run, "launch-bound"
    run = Run(122, 1000)
    for n in range(6):
        def body():
            for i in range(6):
                run.op("aten::mm", lambda: run.kernel(0, dur=300_000))
                run.op("aten::item", lambda: run.op("aten::_local_scalar_dense", lambda: (run.copy(), setattr(run, "names", {**run.names, "sync": "cudaStreamSynchronize"}), run.synchronize())))
                run.pause(200_000)
        run.step(n + 1, body)
    yield "cause-item", "a value is read from the GPU after each kernel", run, "sync-item"
    run = Run(123, 1000)
    for n in range(6):
        def body():
            for i in range(20):
                run.kernel(0, dur=200_000)
            run.synchronize()
        run.step(n + 1, body)
    yield "cause-gpu-bound", "one kernel keeps the GPU busy", run, "gpu-bound"
    run = Run(124, 1000)
    run.rank, run.world = 0, 8
    for n in range(6):
        def body():
            run.kernel(0, dur=200_000)
            run.wait_event(7, 20)
            run.all_reduce(dur=600_000)
            run.wait_event(20, 7)
            run.kernel(1, dur=100_000)
            run.synchronize()
        run.step(n + 1, body)
    yield "cause-exposed-communication", "an AllReduce that nothing hides takes two thirds of each step", run, "exposed-communication"
    run = Run(125, 1000)
    for n in range(6):
        def body():
            for i in range(4):
                call = run.call("cudaMemcpyAsync", 3000)
                a = run.run(call, MEMCPY, "Memcpy HtoD (Pageable -> Device)", 400_000, COPY, bytes=4_000_000)
                call.dur = a.end - call.start + 2000
                run.now = call.start + call.dur + 1000
                run.kernel(i, dur=100_000)
            run.synchronize()
        run.step(n + 1, body)
    yield "cause-pageable-copy", "copies from pageable memory, for which the host waits", run, "pageable-copy"
    run = Run(126, 1000)
    for n in range(6):
        def body():
            for i in range(5):
                run.op("aten::empty", lambda: run.call("cudaMalloc", 400_000))
                run.kernel(i, dur=60_000)
            run.synchronize()
        run.step(n + 1, body)
    yield "cause-device-allocation", "cudaMalloc takes most of each step", run, "device-allocation"


def add_to(zoo):
    for n, (name, (about, change)) in enumerate(CHANGES.items()):
        before, after = steps(100 + 2 * n), steps(101 + 2 * n, **change)
        a, b = step_gpu_time(before), step_gpu_time(after)
        moved = sorted(k for k in {**a, **b} if abs(b.get(k, 0) - a.get(k, 0)) > 20_000)
        facts = dict.fromkeys(("counts", "gpu_busy", "launches", "steps", "classes", "exposed_communication", "gpu_time_ns", "findings"))
        facts["diff"] = {"step_change_ns": step_time(after) - step_time(before), "gpu_time_change_ns": round(sum(b.values()) - sum(a.values())),
                         "changed": {k: round(b.get(k, 0) - a.get(k, 0)) for k in moved}}
        files = [f"diff-{name}-{side}.json.gz" for side in ("before", "after")]

        def write(folder, files=files, before=before, after=after):
            for file, run in zip(files, (before, after)):
                chrome.write(f"{folder}/{file}", chrome.kineto(run, 2026))

        zoo.add(f"diff-{name}", "pair", "kineto-pair", about, files, facts, write)
    for name, about, run, cause in causes():
        facts = truth(run)
        facts["findings"] = {"culprit": cause, "straggler": None}
        zoo.add(name, "cause", "kineto", about, [f"{name}.json"], facts, lambda folder, name=name, run=run: chrome.write(f"{folder}/{name}.json", chrome.kineto(run, 2026)))
