"""Small Kineto traces for heddle diff, written out by hand: each is a list of operators that run in each step."""
import json
import random
import re

H100, MI300 = "NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"


def us(ns):
    """Microseconds with all digits, as a text that write() takes out of its quotes: a float has too few at times of an epoch."""
    return f"us {ns // 1000}.{ns % 1000:03d}"


class Op:
    """An operator with the kernels it launches: (name, ns) or (name, ns, grid, stream)."""

    def __init__(self, name, *kernels, category="cpu_op", host=2_000, inner=()):
        self.name, self.kernels, self.category, self.host, self.inner = name, kernels, category, host, inner


def training(layers=4, gemm="ampere_bf16_s16816gemm_bf16_128x128_tn", scale=1.0):
    """A forward pass of a few layers, a copy before and an optimizer after."""
    ops = [Op("aten::copy_", ("Memcpy HtoD (Pinned -> Device)", 20_000))]
    for n in range(layers):
        ops.append(Op("aten::linear", inner=(Op("aten::addmm", (gemm, int(scale * (80_000 + 4_000 * n)), (64 + 8 * n, 1, 1))),)))
        ops.append(Op("aten::relu", ("vectorized_elementwise_kernel<4>", int(scale * 15_000), (128, 1, 1))))
    ops.append(Op("Optimizer.step#SGD.step", ("multi_tensor_apply_kernel", int(scale * 60_000)), category="user_annotation"))
    return ops


def write(path, ops, steps=10, gpu=H100, devices=1, first=1, seed=1, noise=0.01, start=10**12, between=0, step_name="ProfilerStep#{}",
          host=3_000, rank=None):
    """`ops`: a list of operators, or a function of the number of the step that returns one. `between`: ns from step to step."""
    rng = random.Random(seed)
    events = []
    now, correlation, free = start, 0, {}
    pid = 100 + (rank or 0)

    def slice_(category, name, begin, end, tid, args=None, of=None):
        events.append({"ph": "X", "cat": category, "name": name, "pid": pid if of is None else of, "tid": tid, "ts": us(begin),
                       "dur": us(end - begin), "args": args or {}})
        return events[-1]

    def run(op, device):
        nonlocal now, correlation
        begin, at = now, len(events)
        now += int(op.host * (1 + rng.gauss(0, noise)))
        for inner in op.inner:
            run(inner, device)
        for name, length, *more in op.kernels:
            grid, stream = (more + [(32, 1, 1), 7])[:2] if len(more) < 2 else more
            correlation += 1
            slice_("cuda_runtime", "cudaMemcpyAsync" if "Memcpy" in name else "cudaLaunchKernel", now, now + host - 500, 1,
                   {"correlation": correlation})
            busy = max(now + 4_000, free.get((device, stream), 0) + 1_000)
            length = max(1, int(length * (1 + rng.gauss(0, noise))))
            args = {"device": device, "stream": stream, "correlation": correlation}
            if "Memcpy" in name:
                slice_("gpu_memcpy", name, busy, busy + length, stream, {**args, "bytes": length * 20}, device)
            else:
                slice_("kernel", name, busy, busy + length, stream, {**args, "grid": list(grid), "block": [128, 1, 1]}, device)
            free[device, stream] = busy + length
            now += host
        now += 500
        events.insert(at, {"ph": "X", "cat": op.category, "name": op.name, "pid": pid, "tid": 1, "ts": us(begin),
                           "dur": us(now - begin), "args": {}})

    for n in range(steps):
        begin, at = now, len(events)
        now += 2_000
        for op in ops(n) if callable(ops) else ops:
            for device in range(devices):
                run(op, device)
        for device in range(devices):
            ends = max((end for (of, _), end in free.items() if of == device), default=now)
            slice_("cuda_runtime", "cudaDeviceSynchronize", now, max(now + 1_000, ends + 2_000), 1, {"correlation": 10**6 + 8 * n + device})
            now = max(now + 1_000, ends + 2_000) + 500
        if step_name:
            events.insert(at, {"ph": "X", "cat": "user_annotation", "name": step_name.format(first + n), "pid": pid, "tid": 1,
                               "ts": us(begin), "dur": us(now - begin), "args": {}})
        now += 1_000 + between
    whole = {"schemaVersion": 1, "traceEvents": events}
    if gpu:
        whole["deviceProperties"] = [{"id": n, "name": gpu, "totalGlobalMem": 85028765696} for n in range(devices)]
    if rank is not None:
        whole["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    path.write_text(re.sub(r'"us ([0-9.]+)"', r"\1", json.dumps(whole)) + "\n")
    return path
