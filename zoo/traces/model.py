"""A run as the zoo defines it: API calls, GPU activities, ranges. Writers turn a run into files, truth() into figures.

All times are integers in ns. Nothing here reads a trace: a figure is computed from the run that the files are written from.
"""
import random
from dataclasses import dataclass, field

COMPUTE, COMMUNICATION, COPY = "compute", "communication", "copy"
KERNEL, MEMCPY, MEMSET = "kernel", "memcpy", "memset"

# What the vendors' libraries call the same things.
NAMES = {
    "cuda": {"launch": "cudaLaunchKernel", "memcpy": "cudaMemcpyAsync", "memset": "cudaMemsetAsync", "sync": "cudaDeviceSynchronize",
             "graph": "cudaGraphLaunch", "comm": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
             "kernels": ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
                         "void (anonymous namespace)::softmax_warp_forward<float, float, 7>(float*, int)")},
    "hip": {"launch": "hipLaunchKernel", "memcpy": "hipMemcpyAsync", "memset": "hipMemsetAsync", "sync": "hipDeviceSynchronize", "graph": "hipGraphLaunch",
            "comm": "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
            "kernels": ("Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI16x16x16x1", "void at::native::elementwise_kernel<512, 1>(int)", "softmax_warp_forward")},
    "xla": {"launch": "cuLaunchKernelEx", "memcpy": "MemcpyH2D", "memset": "Memset", "sync": "cuStreamSynchronize", "graph": "cuGraphLaunch", "comm": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "kernels": ("gemm_fusion_dot_1", "loop_add_fusion", "input_reduce_fusion")},
    "ascend": {"launch": "aclnnMatmul", "memcpy": "aclrtMemcpyAsync", "memset": "aclrtMemsetAsync", "sync": "aclrtSynchronizeStream", "graph": "aclmdlExecute", "comm": "hcom_allReduce__1_0_1",
               "kernels": ("aclnnMatmul_MatMulV2", "aclnnAdd_Add", "aclnnSoftmax_SoftmaxV2")},
    "ze": {"launch": "zeCommandListAppendLaunchKernel", "memcpy": "zeCommandListAppendMemoryCopy", "memset": "zeCommandListAppendMemoryFill", "sync": "zeCommandQueueSynchronize", "graph": "", "comm": "oneccl_allreduce_large_kernel",
           "kernels": ("gemm_kernel", "elementwise_add", "softmax_forward")},
}


@dataclass
class Call:
    name: str
    start: int
    dur: int
    id: int
    process: int = 0
    thread: int = 0


@dataclass
class Activity:
    kind: str
    name: str
    cls: str
    start: int
    dur: int
    device: int = 0
    stream: int = 7
    call: Call = None
    process: int = 0
    bytes: int = 0
    id: int = 0  # correlation, also where the call was not recorded
    args: dict = field(default_factory=dict)

    @property
    def end(self):
        return self.start + self.dur


@dataclass
class Range:
    name: str
    start: int
    dur: int
    kind: str  # step, annotation, op
    process: int = 0
    thread: int = 0


class Run:
    """Makes a run as a program does: a call takes CPU time now, its activity GPU time when its stream is free. unit: how exact
    the producer's times are, in ns."""

    def __init__(self, seed=1, unit=1000, vendor="cuda"):
        self.random, self.unit, self.names = random.Random(seed), unit, NAMES[vendor]
        self.calls, self.activities, self.ranges = [], [], []
        self.now, self.free, self.next_id, self.process, self.rank, self.world = 0, {}, 1000, 0, None, None

    def time(self, low, high):
        """Between low and high µs, a whole number of units."""
        ns = self.random.randrange(low * 1000, high * 1000)
        return ns - ns % self.unit

    def pause(self, ns):
        self.now += ns - ns % self.unit

    def call(self, name, dur=None, id=None):
        if id is None:
            self.next_id += 1
        call = Call(name, self.now, dur if dur is not None else self.time(3, 7), id or self.next_id, self.process)
        self.calls.append(call)
        self.now += call.dur + 1000
        return call

    def run(self, call, kind, name, dur, cls=COMPUTE, stream=7, device=0, bytes=0, after=0, **args):
        start = max((call.start + call.dur if call else self.now) + 2000, self.free.get((device, stream), 0), after)
        one = Activity(kind, name, cls, start, dur, device, stream, call, self.process, bytes, call.id if call else self.next_id, args)
        self.activities.append(one)
        self.free[device, stream] = one.end + 1000
        return one

    def kernel(self, which=0, low=20, high=60, dur=None, **more):
        name = which if isinstance(which, str) else self.names["kernels"][which % 3]
        return self.run(self.call(self.names["launch"]), KERNEL, name, dur or self.time(low, high), **more)

    def all_reduce(self, low=40, high=80, dur=None, stream=20, **more):
        return self.run(self.call(self.names["launch"]), KERNEL, self.names["comm"], dur or self.time(low, high), COMMUNICATION, stream, bytes=1 << 20, **more)

    def copy(self, dur=None, stream=7, bytes=1 << 16, **more):
        return self.run(self.call(self.names["memcpy"]), MEMCPY, "Memcpy HtoD (Pinned -> Device)", dur or self.time(8, 16), COPY, stream, bytes=bytes, **more)

    def memset(self, **more):
        return self.run(self.call(self.names["memset"]), MEMSET, "Memset (Device)", self.time(2, 5), bytes=4096, **more)

    def synchronize(self):
        """Waits for all streams of the process."""
        end = max((a.end for a in self.activities if a.process == self.process), default=self.now)
        return self.call(self.names["sync"], max(end - self.now, 0) + 2000)

    def wait_event(self, of, stream, device=0):
        """What is launched on a stream from now on begins when what was launched on another has ended."""
        self.call("cudaEventRecord", 1000)
        self.call("cudaStreamWaitEvent", 1000)
        self.free[device, stream] = max(self.free.get((device, stream), 0), self.free.get((device, of), 0) + 1000)

    def op(self, name, body, kind="op"):
        start = self.now
        self.now += 1000
        result = body()
        self.now += 1000
        self.ranges.append(Range(name, start, self.now - start, kind, self.process))
        return result

    def step(self, number, body):
        self.op(f"ProfilerStep#{number}", body, "step")


def training(seed=1, unit=1000, vendor="cuda", steps=3, layers=3, devices=1, comm=True, copies=True, sync=True):
    """A small training run: a copy, layers of three kernels, an AllReduce that compute hides in part, a memset."""
    run = Run(seed, unit, vendor)

    def layer(device):
        for which, name in enumerate(("aten::mm", "aten::add", "aten::softmax")):
            run.op(name, lambda which=which: run.kernel(which, device=device))

    def body():
        for device in range(devices):
            if copies:
                run.op("aten::copy_", lambda: run.copy(device=device))
            for _ in range(layers):
                layer(device)
            if comm:
                last = run.activities[-1].end
                run.op("nccl:all_reduce", lambda: run.all_reduce(device=device, after=last - 10_000), "annotation")
                run.op("aten::add", lambda: run.kernel(1, device=device))
            if copies:
                run.op("aten::zero_", lambda: run.memset(device=device))
        if sync:
            run.synchronize()

    for number in range(steps):
        run.step(number + 1, body)
        run.pause(20_000)
    return run


# ---- truth ----


def union(spans):
    """Sorted, disjoint [start, end)."""
    out = []
    for start, end in sorted(s for s in spans if s[1] > s[0]):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def length(spans):
    return sum(end - start for start, end in union(spans))


def minus(a, b):
    return length(a + b) - length(b)


def by_device(run, figure):
    out = {}
    for device in sorted({a.device for a in run.activities}):
        spans = {c: [(a.start, a.end) for a in run.activities if a.device == device and a.cls == c] for c in (COMPUTE, COMMUNICATION, COPY)}
        out[str(device)] = figure(spans)
    return out


def readings(run):
    """The same questions as some tools define them: over all devices of the file at once (any), of kernels alone, over all
    devices (kernels) or as the sum over devices (kernels_all)."""
    def spans(cls=None, kinds=(KERNEL, MEMCPY, MEMSET), apart=0):
        return [(a.device * apart + a.start, a.device * apart + a.end) for a in run.activities if a.kind in kinds and cls in (None, a.cls)]

    def busy(apart):
        return length(spans(kinds=(KERNEL,), apart=apart))

    def exposed(apart):
        return minus(spans(COMMUNICATION, apart=apart), spans(COMPUTE, (KERNEL,), apart))

    far = 1 << 60

    return {"gpu_busy": {"any": length(spans()), "kernels": busy(0), "kernels_all": busy(far)},
            "exposed_communication": {"any": minus(spans(COMMUNICATION), spans(COMPUTE)), "kernels": exposed(0), "kernels_all": exposed(far)}}


def truth(run, **more):
    """The figures of a run. `more` replaces what a fault changes; None: the question makes no sense here."""
    counts = {"kernels": sum(a.kind == KERNEL for a in run.activities), "copies": sum(a.kind == MEMCPY for a in run.activities),
              "memsets": sum(a.kind == MEMSET for a in run.activities), "calls": len(run.calls)}
    linked = [a for a in run.activities if a.call]
    out = {
        "counts": counts,
        "gpu_time_ns": sum(a.dur for a in run.activities),
        "gpu_busy": by_device(run, lambda s: length(s[COMPUTE] + s[COMMUNICATION] + s[COPY])),
        "readings": readings(run),
        "launches": {"matched": len(linked), "delay_ns": sum(a.start - a.call.start for a in linked)} if run.calls else None,
        "steps": [[r.name, r.dur] for r in run.ranges if r.kind == "step"] or None,
        "classes": by_device(run, lambda s: {c: length(s[c]) for c in s}),
        "exposed_communication": by_device(run, lambda s: minus(s[COMMUNICATION], s[COMPUTE])) if any(a.cls == COMMUNICATION for a in run.activities) else None,
        "findings": None, "diff": None}
    out.update(more)
    return out
