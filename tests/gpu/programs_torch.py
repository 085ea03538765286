"""A small transformer that trains, or does one of what is told apart below; run by part_python.py, with and without heddle.

  programs_torch.py WHAT RESULT [STEPS]

RESULT gets JSON: `begin` and `end` (CLOCK_MONOTONIC, ns, of the steps that count, the GPU idle at both), `step_ms` of each
step, and what is said with each WHAT. The same seed gives the same kernels.
"""
import json
import os
import signal
import sys
import time

import torch
from torch import nn

WIDTH, LAYERS, BATCH, LENGTH, WARM = 256, 2, 8, 128, 3


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.head(self.body(x))


class Trainer:
    def __init__(self, compiled=False):
        torch.manual_seed(7)
        self.model = Model().cuda()
        self.run = torch.compile(self.model) if compiled else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, capturable=True)
        self.input = torch.randn(BATCH, LENGTH, WIDTH, device="cuda")

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.run(self.input).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss


def steps(step, count, result):
    """Warm-up, then the steps that count."""
    for _ in range(WARM):
        step()
    torch.cuda.synchronize()
    result["begin"], times = now(), []
    for i in range(count):
        start = time.perf_counter()
        torch.cuda.nvtx.range_push(f"ProfilerStep#{i}")
        step()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
        times.append(1000 * (time.perf_counter() - start))
    result["end"], result["step_ms"] = now(), times


def train(count, result):
    steps(Trainer().step, count, result)


def compiled(count, result):
    steps(Trainer(compiled=True).step, count, result)


def inference(count, result):
    trainer = Trainer()
    trainer.model.eval()
    with torch.inference_mode():
        steps(lambda: trainer.model(trainer.input), count, result)


def graph(count, result):
    """A whole step as a CUDA graph."""
    trainer = Trainer()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            trainer.step()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        trainer.step()
    steps(captured.replay, count, result)


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, at):
        return torch.full((LENGTH, WIDTH), float(at))


def loader(count, result):
    """Workers are forked after CUDA was used."""
    trainer = Trainer()
    batches = iter(torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2, pin_memory=True))

    def step():
        trainer.input = next(batches).cuda(non_blocking=True)
        trainer.step()
    steps(step, min(count, 10), result)


def one_child(rank, folder):
    result = {}
    steps(Trainer().step, 3, result)
    with open(os.path.join(folder, f"child-{rank}.json"), "w", encoding="utf-8") as file:
        json.dump(result, file)


def spawn(count, result):
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(one_child, args=(folder,), nprocs=2)
        result["children"] = [json.load(open(os.path.join(folder, f"child-{i}.json"), encoding="utf-8")) for i in range(2)]


def nvtx(count, result):
    trainer = Trainer()
    with torch.autograd.profiler.emit_nvtx():
        steps(trainer.step, count, result)


def memory(count, result):
    """What the caching allocator asked the driver for: reserved is what cudaMalloc gave."""
    trainer = Trainer()
    steps(trainer.step, count, result)
    stats = torch.cuda.memory_stats()
    result["reserved"] = stats["reserved_bytes.all.allocated"]
    result["peak"] = stats["reserved_bytes.all.peak"]
    result["segments"] = stats["segment.all.allocated"]


def kill(count, result):
    trainer = Trainer()
    for i in range(10_000):
        trainer.step()
        torch.cuda.synchronize()
        if i == count:
            result["moment"], result["pid"] = now(), os.getpid()
            write(result)
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGKILL)


def nccl(count, result):
    import torch.distributed as dist
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29531")
    dist.init_process_group("nccl", rank=0, world_size=1)
    numbers, gathered = torch.ones(1 << 20, device="cuda"), torch.empty(1 << 20, device="cuda")
    steps(lambda: dist.all_gather_into_tensor(gathered, numbers), count, result)
    result["version"] = str(torch.cuda.nccl.version())
    dist.destroy_process_group()


def triton(count, result):
    import triton as tr
    import triton.language as tl

    @tr.jit
    def heddle_triton_add(x, y, out, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    x, y = (torch.rand(1 << 16, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    steps(lambda: heddle_triton_add[(x.numel() // 256,)](x, y, out, x.numel(), block=256), count, result)
    result["wrong"] = int((out != x + y).sum())


def profiled(what, count, result):
    """The same under torch.profiler: of each kernel's name its count and ns."""
    from torch.profiler import ProfilerActivity, profile
    profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])

    def started(trainer_step):
        state = {"n": 0}

        def step():
            if state["n"] == WARM:
                torch.cuda.synchronize()
                profiler.start()
            state["n"] += 1
            trainer_step()
        return step
    original = globals()["steps"]
    globals()["steps"] = lambda step, n, r: original(started(step), n, r)
    globals()[what](count, result)
    profiler.stop()
    path = RESULT + ".trace.json"
    profiler.export_chrome_trace(path)
    kernels = {}
    with open(path, encoding="utf-8") as file:
        for event in json.load(file)["traceEvents"]:
            if event.get("cat") == "kernel":
                entry = kernels.setdefault(event["name"], [0, 0])
                entry[0] += 1
                entry[1] += round(event["dur"] * 1000)
    os.unlink(path)
    result["kernels"] = kernels


def write(result):
    with open(RESULT + ".part", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.replace(RESULT + ".part", RESULT)


if __name__ == "__main__":
    WHAT, RESULT = sys.argv[1:3]
    COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    outcome = {"torch": torch.__version__}
    if WHAT.startswith("profile-"):
        profiled(WHAT[len("profile-"):], COUNT, outcome)
    else:
        globals()[WHAT](COUNT, outcome)
    write(outcome)
