"""The pairs of traces that docs/diff.md compares, made from runs of heddle synth with a known change (tests/diff/mutate.py)."""
import json
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "diff"))
import mutate  # noqa: E402
from retime import Edits, Trace, retime, write  # noqa: E402

NOISE = 0.02
SMALL = ("--no-python", "--no-counters", "--no-memory", "--no-flows")


def make(heddle, folder):
    """main and change (a kernel is slower), eager and compiled (kernels are fused), h100 and mi300, slow_rank0 and slow_rank1."""
    def synth(name, *options):
        subprocess.run([heddle, "synth", "-q", "-o", name, *SMALL, *options], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    synth("base.json", "--steps", "12", "--layers", "2", "--seed", "5")
    trace = Trace(folder / "base.json")
    before, after, _ = mutate.make(trace, "slow", 4, NOISE)
    write(trace, before, folder / "main.json")
    write(trace, after, folder / "change.json")

    write(trace, before, folder / "eager.json")
    fused = trace
    for name in ("aten::gelu", "aten::native_dropout", "aten::gelu_backward"):     # each with the kernel before or behind it
        seed = next(n for n in range(100) if name in mutate.Mutation(fused, "fuse", random.Random(f"fuse {n}")).names)
        _, after, _ = mutate.make(fused, "fuse", seed, NOISE if name == "aten::gelu_backward" else 0)
        write(trace, after, folder / "compiled.json")
        fused = Trace(folder / "compiled.json")

    write(trace, before, folder / "h100.json")
    edits, rng = Edits(), random.Random(7)
    for activity in trace.activities:
        gemm = "gemm" in activity.name
        edits.length[activity] = int(activity.length * (0.8 if gemm else 1.1))
        if gemm:
            edits.name[activity] = activity.name.replace("synth_gemm_bf16_f32acc", "Cijk_BBS_BH")
    other = json.loads(json.dumps(trace.rest, default=float).replace("NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"))
    trace.rest, after = other, retime(trace, mutate.with_noise(trace, edits, 1.0, NOISE, rng))
    write(trace, after, folder / "mi300.json")
    (folder / "base.json").unlink()

    synth("slow.json", "--steps", "10", "--layers", "2", "--ranks", "2", "--slow-gpu", "1=20")
