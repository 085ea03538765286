"""The rows of `heddle merge` and `heddle flame`: the join, the flame graph of a large trace, a picture of a million
stacks; see measure.py."""
import os
import shutil
import subprocess
import sys

from measure_run import THREADS, Outcome, alternate, run_once, warm

JOIN_SECONDS, JOIN_MEMORY, JOIN_EVENTS = 2.0, 500e6, 3_200_000  # a third each of launches, kernels and other calls
PEER_EVENTS = 600_000
FLAME_FLOOR = 1.5
SVG_BYTES = 5e6


def synth(bench, stem, extension, events, *options):
    """A GPU side and its stacks, made once: their paths."""
    gpu, cpu = (os.path.join(bench.folder, f"{stem}{e}") for e in (extension, ".txt"))
    if not (os.path.exists(gpu) and os.path.exists(cpu)):
        part = os.path.join(bench.folder, f"part_{stem}")
        subprocess.run([bench.heddle, "synth", "-q", "--cupti", "--events", str(events), "--stack-jitter-us", "20",
                        "-o", part + extension, "--stacks", part + ".txt", *options], check=True,
                       stdout=subprocess.DEVNULL)
        os.rename(part + extension, gpu)
        os.rename(part + ".txt", cpu)
    return gpu, cpu


def merge_command(bench, cpu, gpu, out):
    return [bench.heddle, "merge", "--threads", str(THREADS), "--cpu", cpu, "--gpu", gpu, "-o", out]


def stack_total(path):
    """Weight of the kernels that have a stack of their own, which is all that the peer weighs."""
    with open(path) as lines:
        return sum(int(line.rsplit(" ", 1)[1]) for line in lines
                   if "[GPU_Kernel]" in line and not line.startswith("[no stack]"))


def phases(bench, cpu, gpu):
    """Where the time of a join goes, in words."""
    outcome = Outcome()
    run_once(outcome, [bench.program("bench_join"), "-t", str(THREADS), cpu, gpu])
    return ", ".join(f"{p} {outcome.word(p):.2f}" for p in ("read_cpu", "read_gpu", "attribute", "flame", "write"))


def join_row(bench, what, cpu, gpu, floor=True):
    size = os.path.getsize(cpu) + os.path.getsize(gpu)
    out = os.path.join(bench.folder, "joined.folded")
    warm(cpu, gpu)
    (outcome,), others = alternate((merge_command(bench, cpu, gpu, out), out, (0,)))
    met = outcome.seconds <= JOIN_SECONDS and outcome.peak_bytes <= JOIN_MEMORY
    bench.missed += floor and not met
    limit = f"{JOIN_SECONDS:.0f} s, {JOIN_MEMORY / 1e6:.0f} MB: " + ("met" if met else "NOT MET") if floor else ""
    bench.add(what, "synth", size, outcome, f"{outcome.seconds:.2f} s, {outcome.peak_bytes / 1e6:,.0f} MB",
              "one after another: " + phases(bench, cpu, gpu), limit, others=others)


def join_peer(bench):
    """A smaller input, which Python has the memory for. Both must find the same weight, or the bench stops."""
    gpu, cpu = synth(bench, "join_small", ".json", PEER_EVENTS)
    ours, theirs = (os.path.join(bench.folder, n) for n in ("ours.folded", "theirs.folded"))
    peer = [sys.executable, os.path.join(bench.here, "peers", "peer_join.py"), cpu, gpu, theirs]
    size = os.path.getsize(cpu) + os.path.getsize(gpu)
    warm(cpu, gpu)
    (outcome,), others = alternate((merge_command(bench, cpu, gpu, ours), ours, (0,)))
    (python,), _ = alternate((peer, theirs, (0,)), runs=1)
    subprocess.run(merge_command(bench, cpu, gpu, ours), check=True, stdout=subprocess.DEVNULL)
    subprocess.run(peer, check=True, stdout=subprocess.DEVNULL)
    if stack_total(ours) != stack_total(theirs):
        sys.exit(f"bench: the joins of {cpu} differ: {stack_total(ours)} ns and {stack_total(theirs)} ns")
    bench.add("merge", "synth", size, outcome, f"{outcome.seconds:.2f} s, {outcome.peak_bytes / 1e6:,.0f} MB",
              f"Python, in order, no clock: {python.seconds:.1f} s, {python.peak_bytes / 1e6:,.0f} MB", others=others)


def join(bench):
    """A million stacks, launches and kernels: CUPTI's lines of JSON, Chrome JSON, the store."""
    join_peer(bench)
    gpu, cpu = synth(bench, "join", ".json", JOIN_EVENTS)
    join_row(bench, "merge, Chrome JSON", cpu, gpu)
    stored = os.path.join(bench.folder, "join.heddle")
    if not os.path.exists(stored):
        subprocess.run([bench.heddle, "convert", "-q", gpu, stored], check=True, stdout=subprocess.DEVNULL)
    join_row(bench, "merge, .heddle", cpu, stored)
    if reads_lines(bench):
        lines, cpu = synth(bench, "join_lines", ".ndjson", JOIN_EVENTS)
        join_row(bench, "merge, CUPTI lines", cpu, lines)


def reads_lines(bench):
    done = subprocess.run([bench.heddle, "formats"], stdout=subprocess.PIPE, text=True, check=True)
    return "cupti" in done.stdout


def flame(bench):
    """Of the large traces, beside the ingest of the same file in the same run."""
    out = os.path.join(bench.folder, "out.svg")
    for name, path in bench.inputs:
        size = os.path.getsize(path)
        warm(path)
        (drawn, ingest), others = alternate(
            ([bench.heddle, "flame", "--threads", str(THREADS), path, "-o", out], out, (0,)),
            ([bench.program("bench_ingest"), "-t", str(THREADS), path], None, (0,)))
        times = drawn.seconds / ingest.seconds
        bench.add("flame graph", name, size, drawn, f"{drawn.seconds:.2f} s, {size / drawn.seconds / 1e6:,.0f} MB/s",
                  f"ingest: {ingest.seconds:.2f} s, {times:.2f} times", f"{FLAME_FLOOR} times", times <= FLAME_FLOOR,
                  others)


def svg(bench):
    """A million launches, each reached by a way of its own."""
    gpu, cpu = synth(bench, "join_many", ".json", JOIN_EVENTS, "--stack-paths", "10M")
    out = os.path.join(bench.folder, "many.svg")
    size = os.path.getsize(cpu) + os.path.getsize(gpu)
    warm(cpu, gpu)
    (drawn,), others = alternate((merge_command(bench, cpu, gpu, out), None, (0,)))
    bytes_ = os.path.getsize(out)
    os.unlink(out)
    met = bytes_ <= SVG_BYTES
    bench.missed += not met
    bench.add("merge to .svg, 1M stacks", "synth", size, drawn,
              f"{drawn.seconds:.2f} s, picture {bytes_ / 1e6:.2f} MB, memory {drawn.peak_bytes / 1e6:,.0f} MB",
              svg_peer(bench, cpu, gpu), f"{SVG_BYTES / 1e6:.0f} MB: " + ("met" if met else "NOT MET"), others=others)


def svg_peer(bench, cpu, gpu):
    """flamegraph.pl of the same weights, as text that Heddle made: drawing alone."""
    tool = shutil.which("flamegraph.pl")
    if not tool:
        return "flamegraph.pl: not on PATH"
    folded, theirs = (os.path.join(bench.folder, n) for n in ("many.folded", "theirs.svg"))
    subprocess.run(merge_command(bench, cpu, gpu, folded), check=True, stdout=subprocess.DEVNULL)
    (perl,), _ = alternate((["sh", "-c", f"exec '{tool}' '{folded}' >'{theirs}'"], None, (0,)), runs=1)
    text = f"flamegraph.pl, drawing alone: {perl.seconds:.1f} s, {os.path.getsize(theirs) / 1e6:,.1f} MB"
    os.unlink(folded)
    os.unlink(theirs)
    return text
