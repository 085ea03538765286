"""One trace for each producer and version convention, in a few shapes of run."""
import chrome
import databases
import profiles
from model import MEMSET, Run, training, truth


def queued(seed, unit=1000, vendor="cuda", **more):
    """The host is far ahead of the GPU: delays of launches grow, the GPU never waits."""
    run = Run(seed, unit, vendor)
    run.step(1, lambda: [run.kernel(i, 60, 90) for i in range(12)] and run.synchronize())
    return run


def two_streams(seed, unit=1000, vendor="cuda", **more):
    """Kernels of two streams overlap, a collective is hidden but for its end, copies are hidden or not."""
    run = Run(seed, unit, vendor)

    def body():
        for i in range(4):
            run.kernel(i, dur=run.time(59, 61))
            run.kernel(i + 1, dur=run.time(29, 31), stream=9)
            run.copy(dur=run.time(19, 21), stream=11)
        run.all_reduce(dur=run.time(390, 410))
        run.synchronize()

    for number in (1, 2):
        run.step(number, body)
        run.pause(50_000)
    return run


SHAPES = {"steps": training, "two-gpus": lambda seed, **more: training(seed, devices=2, steps=2, layers=2, **more), "queued": queued, "streams": two_streams}


def without(run, *kinds):
    """A producer records no activities of these kinds; their calls stay."""
    run.activities = [a for a in run.activities if a.kind not in kinds]
    return run


def first_device(run):
    run.activities = [a for a in run.activities if a.device == 0]
    return run


def ranges_are(run, *kinds):
    run.ranges = [r for r in run.ranges if r.kind in kinds]
    return run


# name: (format, extension, vendor, unit, shapes, about, writer(path, run), preparation or None, keys of the truth without meaning)
def table():
    k = lambda year, runtime="cuda_runtime": lambda path, run: chrome.write(path, chrome.kineto(run, year, runtime))  # noqa: E731
    j = lambda make: lambda path, run: chrome.write(path, make(run))  # noqa: E731
    p = lambda make, **more: lambda path, run: profiles.save(path, make(run, **more))  # noqa: E731
    every = tuple(SHAPES)
    no_steps = ("steps",)
    yield "kineto-2021", "kineto", ".json", "cuda", 1000, every, "PyTorch 1.9: Operator, Runtime, Kernel; Unix time in whole µs", k(2021), None, ()
    yield "kineto-2023", "kineto", ".json", "cuda", 1, every, "PyTorch 2.0: cpu_op, cuda_runtime, kernel; Unix time in µs with three decimals", k(2023), None, ()
    yield "kineto-2026", "kineto", ".json", "cuda", 1, every, "PyTorch 2.10: µs relative to baseTimeNanoseconds", k(2026), None, ()
    yield "kineto-rocm", "kineto", ".json", "hip", 1, every, "PyTorch for ROCm: hip calls", k(2026), None, ()
    yield "kineto-xpu", "kineto", ".json", "ze", 1, ("steps", "queued"), "PyTorch for Intel GPUs: xpu_runtime", k(2026, "xpu_runtime"), None, ()
    yield "kineto-gz", "kineto", ".json.gz", "cuda", 1, ("steps",), "the same, compressed by gzip", k(2026), None, ()
    yield "cupti-injection", "chrome-gpu", ".json", "cuda", 1, ("steps", "queued"), "an injected CUPTI library: CUDA_Runtime, GPU_Kernel", j(chrome.injection), lambda r: ranges_are(r), no_steps
    yield "cupti-lines", "cupti", ".cupti", "cuda", 1, ("steps", "two-gpus"), "JSON lines of CUPTI's activity records", lambda path, run: profiles.save(path, chrome.cupti_lines(run)), lambda r: ranges_are(r), no_steps
    yield "unitrace", "chrome-gpu", ".json", "ze", 1000, ("steps", "two-gpus"), "Intel's unitrace", j(chrome.unitrace), lambda r: ranges_are(r), no_steps
    yield "ascend-json", "chrome-gpu", ".json", "ascend", 1, ("steps",), "Ascend's PyTorch profiler, trace_view.json", j(chrome.ascend), lambda r: first_device(ranges_are(r, "op")), no_steps
    yield "jax-json", "chrome-gpu", ".json", "xla", 1, ("queued",), "JAX's trace.json: derived lines next to the streams", j(chrome.jax), lambda r: ranges_are(r), ("steps", "launches")
    yield "paddle", "chrome-gpu", ".json", "cuda", 1, ("steps",), "Paddle's profiler", j(chrome.paddle), lambda r: first_device(ranges_are(r)), no_steps
    yield "mctracer", "chrome-gpu", ".json", "cuda", 1, ("queued",), "MetaX' mcTracer: times in ns", j(chrome.mctracer), lambda r: ranges_are(r), no_steps
    yield "rocprof", "chrome-gpu", ".json", "hip", 1, ("queued", "two-gpus"), "rocprof of ROCm 5: texts for numbers, BeginNs and EndNs", j(chrome.rocprof), lambda r: ranges_are(r), no_steps
    for schema in ("2.7", "3.13", "3.25"):
        yield f"nsys-{schema}", "nsys", ".sqlite", "cuda", 1, every, f"Nsight Systems' export, schema {schema}", lambda path, run, schema=schema: databases.nsys(path, run, schema), None, ()
    for version in (3, 4):
        yield f"rocpd-{version}", "rocpd", ".db", "hip", 1, ("steps", "two-gpus", "queued"), f"rocprofv3's database, schema {version}", lambda path, run, version=version: databases.rocpd(path, run, version), lambda r: without(r, MEMSET), ()
    yield "rpd", "rpd", ".rpd", "hip", 1, ("steps", "two-gpus", "queued"), "rocmProfileData", databases.rpd, None, ()
    yield "rocprofv3-json", "rocprofv3", ".json", "hip", 1, ("steps", "two-gpus", "queued"), "rocprofv3's JSON", p(profiles.rocprofv3_json), lambda r: without(ranges_are(r), MEMSET), no_steps
    yield "rocprofv3-csv", "rocprofv3", "", "hip", 1, ("steps", "queued"), "rocprofv3's CSV, a folder", profiles.rocprofv3_csv, lambda r: without(ranges_are(r), MEMSET), no_steps
    yield "xplane-gpu", "xplane", ".xplane.pb", "xla", 1, ("queued", "two-gpus", "streams"), "XPlane of JAX on GPUs", p(profiles.xplane), lambda r: ranges_are(r, "step"), ("steps",)
    yield "xplane-tpu", "xplane", ".xplane.pb", "xla", 1, ("queued",), "XPlane of a TPU: XLA Ops", p(profiles.xplane, kind="TPU"), lambda r: ranges_are(r, "step"), ("steps", "launches")
    yield "ascend-db", "ascend", ".db", "ascend", 1, ("steps", "queued", "streams"), "Ascend's PyTorch profiler, SQLite", databases.ascend, lambda r: first_device(ranges_are(r)), no_steps
    yield "xctrace", "xctrace", ".xml", "cuda", 1, ("queued",), "Apple Instruments: Metal's GPU intervals", p(profiles.xctrace), lambda r: ranges_are(r), no_steps
    yield "ftrace", "ftrace", ".ftrace", "cuda", 1000, ("queued",), "ftrace of the kernel's GPU scheduler", p(profiles.ftrace), lambda r: ranges_are(r), no_steps
    yield "pftrace", "pftrace", ".pftrace", "cuda", 1, ("steps", "queued"), "Perfetto's track events", p(profiles.pftrace), None, ("steps", "launches", "gpu_busy", "classes", "exposed_communication")


def add_to(zoo):
    for n, (name, form, extension, vendor, unit, shapes, about, write, prepare, without_meaning) in enumerate(table()):
        for m, shape in enumerate(shapes):
            run = SHAPES[shape](100 * n + m, unit=unit, vendor=vendor)
            if prepare:
                run = prepare(run) or run
            facts = truth(run, **{key: None for key in without_meaning})
            if name == "xplane-tpu" or name.startswith(("xctrace", "ftrace")):  # no calls of an API, and copies are not distinguished
                facts["counts"] = {"kernels": facts["counts"]["kernels"] + facts["counts"]["copies"] + facts["counts"]["memsets"]} if not name.startswith("xplane") else facts["counts"]
                facts["counts"].pop("calls", None)
            if f"{name}-{shape}" == "rocprof-two-gpus":  # of which GPU a copy is, is not in the file
                facts.update(gpu_busy=None, classes=None, exposed_communication=None)
            if name in ("pftrace",):
                slices = len(run.calls) + len(run.activities) + len(run.ranges)
                facts["counts"] = {"slices": slices}
                facts["slice_ns"] = sum(x.dur for x in [*run.calls, *run.activities, *run.ranges])
            if form == "kineto":
                facts["counts"]["slices"] = len(run.calls) + len(run.activities) + len(run.ranges)
                facts["counts"]["flows"] = sum(a.call is not None for a in run.activities)
            file = f"{name}-{shape}{extension}"
            zoo.add(f"{name}-{shape}", "producer", form, f"{about}; shape of the run: {shape}", [file], facts, lambda folder, write=write, run=run, file=file: write(f"{folder}/{file}", run))
