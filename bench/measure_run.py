"""Running commands in turn and taking medians of their time and memory; for measure.py and measure_convert.py."""
import mmap
import os
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = int(os.environ.get("BENCH_RUNS", "5"))
THREADS = int(os.environ.get("BENCH_THREADS", "0")) or min(2, os.cpu_count())


class Load:
    """How many cores other processes keep busy meanwhile."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        with open("/proc/stat") as f:
            ticks = [int(w) for w in f.readline().split()[1:9]]
        times = os.times()
        return time.monotonic(), (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK"), sum(times[:4])

    def others(self):
        (t0, busy0, own0), (t1, busy1, own1) = self.start, self.now()
        return max(0.0, (busy1 - busy0 - (own1 - own0)) / max(t1 - t0, 1e-9))


class Outcome:
    def __init__(self):
        self.walls, self.cpus, self.peaks, self.words = [], [], [], []

    def word(self, key):
        return statistics.median(float(w[key]) for w in self.words)

    @property
    def seconds(self):
        return statistics.median(self.walls)

    @property
    def peak_bytes(self):
        return statistics.median(self.peaks) * 1024


def run_once(outcome, command, out=None, ok=(0,)):
    if out and os.path.exists(out):
        os.unlink(out)
    with tempfile.NamedTemporaryFile("r") as peak:
        used = sum(os.times()[2:4])
        start = time.monotonic()
        done = subprocess.run(["/usr/bin/time", "-q", "-f", "%M", "-o", peak.name] + command, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        wall = time.monotonic() - start
        if done.returncode not in ok:
            sys.exit(f"bench: failed ({done.returncode}): {' '.join(command)}\n{done.stderr}")
        outcome.peaks.append(int(peak.read().split()[-1]))
    outcome.walls.append(wall)
    outcome.cpus.append(sum(os.times()[2:4]) - used)
    outcome.words.append(dict(w.split("=", 1) for w in done.stdout.split() if "=" in w))
    if out and os.path.exists(out):
        os.unlink(out)


def alternate(*commands, runs=None):
    """Each command: (argv, output or None, good statuses). One Outcome for each, and the load of others."""
    outcomes, load = [Outcome() for _ in commands], Load()
    for _ in range(runs or RUNS):
        for outcome, (argv, out, ok) in zip(outcomes, commands):
            run_once(outcome, argv, out, ok)
    return outcomes, load.others()


def warm(*paths):
    touch_memory(max(map(os.path.getsize, paths)))
    for path in paths:
        with open(path, "rb", buffering=0) as f:
            while f.read(1 << 22):
                pass


def touch_memory(size):
    """Use and free as much memory as the runs will want. A virtual machine may get its memory from the host only when
    it is first used, at less than 1 GB/s, and whoever runs first would pay for it."""
    with open("/proc/meminfo") as f:
        available = next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemAvailable"))
    child = os.fork()
    if child == 0:
        page, count = b"\1" * (1 << 22), min(4 * size, available // 2) >> 22
        with mmap.mmap(-1, max(count, 1) << 22) as memory_map:
            for _ in range(count):
                memory_map.write(page)
        os._exit(0)
    os.waitpid(child, 0)


def memory(outcome, size):
    return 100 * outcome.peak_bytes / size
