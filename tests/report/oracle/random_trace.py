#!/usr/bin/env python3
"""Small random traces as Kineto writes them, with all that makes reports hard: overlapping work, launches without
work and work without launches, negative delays, slices of length 0, graphs, waits, steps that overlap, several devices.

  random_trace.py SEED [--size N] > trace.json
"""
import argparse
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import random_ops  # noqa: E402

KERNELS = ["gemm", "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int, float)",
           "ampere_sgemm_128x64_nn", "void (anonymous namespace)::softmax<float, 2>(float*, int)", "hipKernel_nccl",
           "__amd_rocclr_copyBuffer", "void takes_a_comm<float>(ncclComm*)", "triton_poi_fused_all_reduce_0"]
COMMUNICATION = ["ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
                 "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", "ncclDevKernel_Generic(ncclDevKernelArgs)",
                 "void multimem_all_reduce_kernel<c10::BFloat16, 16>(int)",
                 "void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)", "all-gather.3"]
COPIES = ["Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pinned)", "Memcpy DtoD (Device -> Device)",
          "Memcpy PtoP (Device -> Device)", "Memcpy weird"]
COLLECTIVES = ["allreduce", "_allgather_base", "reduce_scatter_tensor_coalesced", "all_to_all", "broadcast", "barrier",
               "send", "gather", "scatter"]
OPS = ["aten::mm", "aten::add", "aten::copy_", "aten::linear", "aten::item", "aten::_local_scalar_dense",
       "record_param_comms", "aten::conv2d"]
CALLS = ["cudaMalloc", "cudaEventQuery", "cudaStreamWaitEvent", "cudaDeviceSynchronize", "cudaStreamSynchronize",
         "cudaEventSynchronize", "hipDeviceSynchronize", "cudaLaunchKernel", "cudaMemcpy", "cudaLaunchHostFunc"]
LAUNCHES = ["cudaLaunchKernel", "cudaLaunchKernelExC", "hipLaunchKernel", "cuLaunchKernelEx"]
COPY_CALLS = ["cudaMemcpyAsync", "cudaMemcpyAsync", "cudaMemcpy", "hipMemcpyWithStream"]


GPUS = ["NVIDIA A100-SXM4-80GB", "NVIDIA H100 PCIe", "Tesla T4", 'Odd "GPU\\"', "GPU of nobody"]


class Maker:
    def __init__(self, seed, size):
        self.r, self.shapes, self.nccl = (random.Random(s) for s in (seed, "shapes %d" % seed, "nccl %d" % seed))
        r, self.ops = self.r, OPS if self.nccl.random() < 0.7 else [name for name in OPS if name != "record_param_comms"]
        self.size, self.scale = size, r.choice([1, 1, 20, 1000])  # ns of a unit
        self.base = r.choice([0, 0, 1669783687389324000, 4458676416788066123])
        self.digits = r.choice([0, 0, 3])  # below a nanosecond
        self.events, self.correlation, self.has_launches = [], 100, r.random() < 0.92
        self.devices = r.sample([0, 1, 7], r.choice([1, 1, 2, 3]))
        self.streams = {d: r.sample([7, 14, 20, 24], r.randint(1, 3)) for d in self.devices}
        self.threads = [(4000, 4000 + i) for i in range(r.randint(1, 3))]
        self.length, self.rounds = 40 * size, 1

    def time(self, ns):
        """Microseconds with exact digits, as a number of JSON; `ns` is a whole number."""
        whole = ns * 10 ** self.digits + (self.r.randrange(10 ** self.digits) if self.digits else 0)
        places = 3 + self.digits
        text = "%s%d.%0*d" % ("-" if whole < 0 else "", abs(whole) // 10 ** places, places, abs(whole) % 10 ** places)
        return Number(text)

    def add(self, category, name, pid, tid, start, duration, args=None):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
                            "ts": self.time(self.base + start * self.scale),
                            "dur": self.time(max(0, duration) * self.scale), **({"args": args} if args else {})})

    # ---- the CPU ----

    def add_op(self, pid, tid, start, duration):
        r, args = self.r, {"External id": len(self.events)}
        name = r.choice(self.ops)
        if r.random() < 0.5:
            m, k, n = (r.choice([1, 4, 16]) for _ in range(3))
            args.update({"Input Dims": [[m, k], [k, n]], "Concrete Inputs": ["", ""],
                         "Input type": r.choice([["float", "float"], ["c10::Half", "c10::Half"]])})
        if name == "record_param_comms" and r.random() < 0.7:
            args.update(self.collective())
        elif self.shapes.random() < 0.4:
            name, more = random_ops.operator(self.shapes)
            args.update(more)
        self.add(r.choice(["cpu_op"] * 5 + ["Operator"]), name, pid, tid, start, duration, args)

    def annotation(self, name, pid, tid, at, duration):
        n = self.nccl
        if n.random() < 0.7:
            return name, pid, tid, at, duration
        args = {"NCCL communicator ID": n.choice([1, 2]), "Message size [bytes]": n.choice([0, 4096, -1, 1 << 30])}
        return n.choice(["ncclAllReduce", "ncclBroadcast"]), pid, tid, at, duration, args

    def fill(self, pid, tid, start, end, depth):
        """Slices within [start, end), some at its edges, some of length 0, few that cross."""
        r, at = self.r, start
        while at < end:
            at += r.choice([0, 0, 1, 2, 5])
            duration = min(r.choice([0, 1, 2, 3, 5, 8, 20, 60]), end - at)
            if r.random() < 0.03:
                duration += 3
            if duration < 0:
                break
            kind = r.random()
            if kind < 0.45:
                self.add_op(pid, tid, at, duration)
            elif kind < 0.6:
                self.add("python_function", r.choice(["train.py(%d): step" % r.randint(1, 9), "nn.Module: Linear_0",
                                                      "nn.Module: Block_1"]), pid, tid, at, duration, {"Python id": 1})
            elif kind < 0.7:
                self.add("user_annotation", *self.annotation(r.choice(["forward", "backward", "nccl:all_reduce"]), pid, tid, at, duration))
            elif self.has_launches or r.random() < 0.3:
                self.add_call(pid, tid, at, duration)
                duration = max(duration, 1)
                at += duration
                continue
            if depth < 4 and duration > 1:
                self.fill(pid, tid, at, at + duration, depth + 1)
            at += max(duration, 1)

    # ---- calls and what they start ----

    def add_call(self, pid, tid, at, duration):
        r = self.r
        if r.random() < 0.3 or not self.has_launches:
            self.add("cuda_runtime", r.choice(CALLS), pid, tid, at, duration, {"correlation": self.next_id()})
            return
        number, kind = self.next_id(), r.random()
        if r.random() < 0.03 and number > 103:
            number -= 3  # an id that is used twice
        device = r.choice(self.devices)
        stream = r.choice(self.streams[device])
        lag = r.choice([-6, -duration, -1, 0, 0, 1, 2, 5, 20, 60])
        start = at + duration + lag
        if kind < 0.06:
            self.add("cuda_runtime", "cudaGraphLaunch", pid, tid, at, duration, {"correlation": number})
            for _ in range(r.randint(1, 4)):
                self.add_work("kernel", device, stream, start, number)
                start += r.choice([0, 3, 9])
            return
        if kind < 0.55:
            name, work = r.choice(LAUNCHES), "kernel"
        elif kind < 0.8:
            name, work = r.choice(COPY_CALLS), "gpu_memcpy"
        else:
            name, work = "cudaMemset" if duration > 4 else "cudaMemsetAsync", "gpu_memset"
        self.add("cuda_driver" if name.startswith("cu") and name[2].isupper() else "cuda_runtime", name, pid, tid, at,
                 duration, {"correlation": number})
        if r.random() < 0.1 and duration > 1:
            self.add("cuda_driver", "cuLaunchKernel", pid, tid, at + r.choice([0, 1]), duration - 1,
                     {"correlation": number})
        if r.random() < 0.1:  # a flow in the place of an id
            self.add_work(work, device, stream, start, None)
            for phase, row, when in (("s", (pid, tid), at), ("f", (device, stream), start)):
                self.events.append({"ph": phase, "bp": "e", "cat": "ac2g", "name": "ac2g", "id": number, "pid": row[0],
                                    "tid": row[1], "ts": self.time(self.base + when * self.scale)})
        elif r.random() < 0.95:
            self.add_work(work, device, stream, start, number)

    def next_id(self):
        self.correlation += 1
        return self.correlation

    def collective(self):
        r, n = self.r, self.r.choice([1, 2, 8])
        return {"Collective name": r.choice(COLLECTIVES), "In msg nelems": r.choice([0, 64, 1000]),
                "Out msg nelems": r.choice([64, 4096]), "Group size": n,
                "dtype": r.choice(["Float", "BFloat16", "Byte", "Odd"]),
                "Process Group Name": r.choice(["0", "tp"]), "Process Group Ranks": "[0, 1, ...]"}

    def add_work(self, kind, device, stream, start, number):
        r = self.r
        args = {"device": device, "stream": stream, "correlation": number}
        if kind == "kernel":
            name = r.choice(KERNELS * 2 + COMMUNICATION)
            args.update({"registers per thread": r.choice([16, 32, 255]), "grid": [r.choice([1, 8]), 1, 1],
                         "block": [128, 1, 1], "est. achieved occupancy %": r.choice([0, 25, 100])})
            if name in COMMUNICATION and r.random() < 0.6 or r.random() < 0.02:
                args.update(self.collective())
        else:
            name = r.choice(COPIES) if kind == "gpu_memcpy" else "Memset (Device)"
            if r.random() < 0.8:
                args["bytes"] = r.choice([0, 1, 4095, 4096, 70000, 1 << 20, 1 << 28])
        if number is None:
            del args["correlation"]
        self.add(kind, name, device, stream, start, r.choice([0, 0, 1, 2, 4, 8, 15, 40]), args)

    # ---- the rest ----

    def add_steps(self):
        r = self.r
        kind = r.random()
        at, count = r.randint(0, 10), r.randint(1, 4)
        if kind < 0.4:
            self.rounds = r.choice([1, 4, 6, 9])
            return
        for i in range(count):
            duration = self.length // count
            extra = r.choice([0, 0, 0, duration // 2])  # reaches into the next
            pid, tid = r.choice(self.threads)
            self.add("user_annotation", "ProfilerStep#%d" % (9 + i), pid, tid, at, duration + extra)
            at += duration + r.choice([0, 0, 5])

    def add_windows(self, r):
        """Windows of a capture, on a thread of their own: of two processes sometimes, and then they may overlap."""
        for pid in r.choice([[4000], [4000], [4000, 4001]]):
            at = r.randint(-20, self.length // 2)
            for i in range(r.randint(1, 6)):
                duration = r.choice([0, 5, 60, self.length // 6])
                self.add("capture", "window %d (step %d)" % (i + 1, 64 * i), pid, 1999999999, at, duration)
                at += duration + r.choice([0, 1, 30, self.length // 4])

    def properties(self):
        """Mostly of one model; some have no name, or no id."""
        r = self.shapes
        model, ids = r.choice(GPUS), r.choice([[0, 1, 7], [0, 1, 2, 3, 4, 5, 6, 7], [1, 0]])
        said = [{"id": i, "name": model if r.random() < 0.9 else r.choice(GPUS), "numSms": 108} for i in ids]
        if r.random() < 0.2:
            del r.choice(said)[r.choice(["id", "name"])]
        return said

    def make(self):
        r = self.r
        self.add_steps()
        for pid, tid in self.threads:
            start, length = r.randint(0, 30), self.length // self.rounds
            states = r.getstate(), self.shapes.getstate()
            for i in range(self.rounds):  # the same again
                r.setstate(states[0])
                self.shapes.setstate(states[1])
                self.fill(pid, tid, i * length + start, (i + 1) * length, 0)
        for _ in range(r.choice([0, 3, 6])):  # launched before the recording, or by calls that were lost
            device = r.choice(self.devices)
            self.add_work(r.choice(["kernel", "gpu_memcpy", "gpu_memset"]), device, r.choice(self.streams[device]),
                          r.choice([-40, -5, 0, 10, self.length]), r.choice([None, 0, 7, 99]))
        for _ in range(r.choice([0, 0, 8])):
            device = r.choice(self.devices)
            stream = r.choice(self.streams[device] + [-1])
            self.add("cuda_sync", r.choice(["Stream Wait Event", "Stream Wait Event", "Event Sync", "Notify Wait", "hcom_x"]), device, stream,
                     r.randint(0, self.length), r.choice([1, 5, 30]), {"device": device, "stream": stream})
        if r.random() < 0.3:
            device = self.devices[0]
            self.add("gpu_user_annotation", "forward", device, self.streams[device][0], 0, self.length)
        r.shuffle(self.events)
        document = {"traceEvents": self.events}
        if self.shapes.random() < 0.8:
            document["deviceProperties"] = self.properties()
        if r.random() < 0.7:
            document["distributedInfo"] = {"rank": r.choice([0, 3])}
        return document


class Number(float):
    """A decimal that json writes with the digits it was made of."""

    def __new__(cls, text):
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __repr__(self):
        return self.text


def make(seed, size=20, plain=False, windows=True):
    """plain: whole nanoseconds near 0, and no waits of Ascend's collectives, which accounts.py counts. One in six is of two ranks, which have the same devices and correlation ids."""
    r = random.Random("ranks %d" % seed)
    ranks = r.sample([0, 1, 5], 2) if r.random() < 1 / 6 else [None]
    events, document = [], {}
    chance = random.Random("windows %d" % seed)
    has_windows = chance.random() < 1 / 5 and windows
    for i, rank in enumerate(ranks):
        maker = Maker(seed * 10 + i, size)
        if plain:
            maker.scale, maker.base = 1, 0
        if has_windows:
            maker.add_windows(chance)
        document = maker.make()
        if plain:
            document["traceEvents"] = [e for e in document["traceEvents"]
                                       if e.get("cat") != "cuda_sync" or e["name"] not in ("Notify Wait", "hcom_x")]
        for pid in sorted({e["pid"] for e in document["traceEvents"]}) if rank is not None else []:
            events.append({"ph": "M", "name": "process_name", "pid": 10000 * i + pid, "tid": 0,
                           "args": {"name": "rank %d: %s" % (rank, "python" if pid >= 4000 else "")}})
        for event in document["traceEvents"]:
            event["pid"] += 10000 * i
        events += document["traceEvents"]
    if len(ranks) > 1:
        document.pop("distributedInfo", None)
        r.shuffle(events)
    return {**document, "traceEvents": events}


def text(seed, size=20, windows=True):
    return dumps(make(seed, size, windows=windows))


def dumps(value):
    """json.dumps does not ask subclasses of float for their digits."""
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (json.dumps(k), dumps(v)) for k, v in value.items())
    if isinstance(value, list):
        return "[%s]" % ", ".join(map(dumps, value))
    return json.dumps(value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("--size", type=int, default=20)
    asked = parser.parse_args()
    print(text(asked.seed, asked.size))
