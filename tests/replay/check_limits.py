#!/usr/bin/env python3
"""What `heddle replay` foretells where the hardware limits a program, against a machine that runs the program, as it is and
changed: queues of launches that are full, SMs and engines of copies that are taken.

  check_limits.py --heddle HEDDLE
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile


class Machine:
    """A thread, and a GPU whose queues take `depth` operations that have not begun; then a launch waits. Times: us."""

    def __init__(self, depth, seed):
        self.rng, self.depth = random.Random(seed), depth
        self.now, self.id, self.rows = 1000.0, 0, []
        self.starts, self.free = {}, {}  # by stream: of operations; when it ends what it has

    def about(self, value):
        return value * self.rng.uniform(0.9, 1.1)

    def row(self, name, cat, tid, start, end, **args):
        self.rows.append({"ph": "X", "name": name, "cat": cat, "pid": 1 if tid < 5 else 0, "tid": tid, "ts": start, "dur": end - start, "args": args})

    def cpu(self, name, length):
        self.row(name, "cpu_op", 1, self.now, self.now + length)
        self.now += length

    def launch(self, name, length, stream=7, call=4.0, cat="kernel", **args):
        self.id += 1
        starts, start, end = self.starts.setdefault(stream, []), self.now, self.now + self.about(call)
        if len(starts) >= self.depth:
            end = max(end, starts[-self.depth] + self.about(1.5))
        begin = max(end + self.about(2), self.free.get(stream, 0) + self.about(1.1))
        self.free[stream] = begin + length
        starts.append(begin)
        self.row("cudaLaunchKernel", "cuda_runtime", 1, start, end, correlation=self.id)
        self.row(name, cat, stream, begin, begin + length, device=0, stream=stream, correlation=self.id, **args)
        self.now = end + self.about(1)

    def wait(self):
        self.id += 1
        end = max([self.now + 2] + [t + self.about(3) for t in self.free.values()])
        self.row("cudaDeviceSynchronize", "cuda_runtime", 1, self.now, end, correlation=self.id)
        self.now = end + 1

    def step(self, number, program):
        start = self.now
        program(self)
        self.row(f"ProfilerStep#{number}", "user_annotation", 1, start, self.now)
        self.now += 1

    def write(self, path):
        for row in self.rows:
            row["ts"], row["dur"] = round(row["ts"], 3), round(row["dur"], 3)
        path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "GPU", "numSms": 100}], "traceEvents": self.rows + [{"ph": "M", "name": "process_labels", "pid": 0, "args": {"labels": "GPU 0"}}]}))


def made(path, depth, program, seed, machine=Machine):
    machine = machine(depth, seed)
    for step in range(2):
        machine.step(step, program)
    machine.write(path)
    return path


def replay(heddle, path, *options):
    run = subprocess.run([heddle, "replay", "--json", *options, path], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{options}: {run.stderr}")
    return json.loads(run.stdout)


def steps(report, column="recorded"):
    return sum(r[column] for r in report["steps"])


def launches(length, count=900):
    """Work of the thread follows the launches, and hides behind kernels, or not, as they wait."""
    def program(m):
        for _ in range(count):
            m.launch("spin", m.about(length))
        m.cpu("load", 12000)
        m.wait()
    return program


def depth_of(report):
    return [int(r["note"].split()[4]) for r in report["notes"] if r["note"].startswith("launch calls wait while")]


def check_depth(heddle, folder):
    base = made(folder / "base.json", 256, launches(50), 1)
    yield "depth", depth_of(replay(heddle, base)) != [256], depth_of(replay(heddle, base))
    for factor in (0.1, 0.3, 2):
        told = replay(heddle, base, "--scale", f"spin={factor}")
        truth = steps(replay(heddle, made(folder / "changed.json", 256, launches(50 * factor), 2)))
        off = 100 * (steps(told, "changed") / truth - 1)
        yield f"kernels {factor} times as long", abs(off) > 1, f"{off:+.2f} %"
    for depth in (32, 600, 0):
        told = replay(heddle, base, "--queue-depth", str(depth))
        truth = steps(replay(heddle, made(folder / "changed.json", depth or 1 << 30, launches(50), 3)))
        off = 100 * (steps(told, "changed") / truth - 1)
        yield f"a depth of {depth}", abs(off) > 1, f"{off:+.2f} %"
    # never full: nothing is told, until a change would fill it
    free = made(folder / "free.json", 1 << 30, launches(5, 2000), 4)
    told, slower = replay(heddle, free), replay(heddle, free, "--scale", "spin=50")
    hint = [r["note"] for r in slower["notes"] if "--queue-depth" in r["note"]]
    yield "no limit", depth_of(told) or any("--queue-depth" in r["note"] for r in told["notes"]) or not hint, hint
    # calls that are long at random tell of no limit
    def slow_calls(m):
        for i in range(400):
            m.launch("spin", m.about(50), call=200 if m.rng.random() < 0.1 else 4)
        m.wait()
    told = replay(heddle, made(folder / "slow.json", 1 << 30, slow_calls, 5))
    yield "slow calls", depth_of(told), depth_of(told)


def check_shares(heddle, folder):
    """Forty kernels or copies of 100 us on one queue, that could run on two: twice as fast if they fit beside one another."""
    def program(*kinds):
        def run(m):
            for i in range(40):
                name, cat, args = kinds[i % len(kinds)]
                m.launch(name, 100, cat=cat, **args)
            m.wait()
        return run
    into, back = "Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)"
    cases = [
        ("wide kernels", 1, [("gemm", "kernel", {"blocks per SM": 4.0})]),
        ("kernels of half the SMs", 0.5, [("gemm", "kernel", {"blocks per SM": 0.49})]),
        ("wide kernels by their grid", 1, [("gemm", "kernel", {"grid": [20, 20, 1]})]),
        ("kernels of half the SMs by their grid", 0.5, [("gemm", "kernel", {"grid": [7, 7, 1]})]),
        ("kernels of three quarters", 0.75, [("gemm", "kernel", {"blocks per SM": 0.75})]),
        ("copies to the GPU", 1, [(into, "gpu_memcpy", {})]),
        ("copies from it", 1, [(back, "gpu_memcpy", {})]),
        ("copies in both directions", 0.5 / 0.9, [(into, "gpu_memcpy", {}), (back, "gpu_memcpy", {})]),
        ("a wide kernel and a copy", 0.5, [("gemm", "kernel", {"blocks per SM": 4.0}), (into, "gpu_memcpy", {})]),
        ("kernels that do not tell", 0.5, [("gemm", "kernel", {})]),
    ]
    for name, share, kinds in cases:
        report = replay(heddle, made(folder / "shares.json", 1 << 30, program(*kinds), 6), "--schedule", "streams=2")
        busy = next(r for r in report["what_if"] if r["what"] == "busy")
        off = 100 * (busy["after"] / busy["before"] / share - 1)
        is_told = any("no number of blocks" in r["note"] for r in report["notes"])
        yield name, abs(off) > 2 or is_told != (name == "kernels that do not tell"), f"{off:+.2f} %"


class Link(Machine):
    """A GPU with an engine for copies of each direction; while both run, each is `part` as fast. Copies wait for their stream."""

    def __init__(self, part, seed):
        super().__init__(1 << 30, seed)
        self.part, self.copies = part, []

    def copy(self, stream, way, length):  # of so many us, if it is alone
        self.id += 1
        end = self.now + self.about(4)
        self.row("cudaMemcpyAsync", "cuda_runtime", 1, self.now, end, correlation=self.id)
        name = {"in": "Memcpy HtoD (Pinned -> Device)", "out": "Memcpy DtoH (Device -> Pinned)"}[way]
        self.copies.append({"id": self.id, "stream": stream, "name": name, "sent": end + self.about(2), "bytes": round(length * 50000), "left": length * self.rng.uniform(0.99, 1.01)})
        self.now = end + self.about(1)

    def wait(self):
        """All copies run, from one beginning or end to the next."""
        queues = {}
        for c in self.copies:
            queues.setdefault(c["stream"], []).append(c)
        time, ready = 0.0, dict.fromkeys(queues, 0.0)
        while any(queues.values()):
            heads = {stream: queue[0] for stream, queue in queues.items() if queue}
            begins = {stream: c.get("start") or max(c["sent"], ready[stream]) for stream, c in heads.items()}
            running = [stream for stream in heads if begins[stream] <= time]
            for stream in running:
                heads[stream].setdefault("start", begins[stream])
            rate = self.part if len({heads[stream]["name"] for stream in running}) == 2 else 1
            next_time = min([time + heads[stream]["left"] / rate for stream in running] + [b for b in begins.values() if b > time])
            for stream in running:
                c = heads[stream]
                c["left"] -= (next_time - time) * rate
                if c["left"] < 1e-9:
                    self.row(c["name"], "gpu_memcpy", stream, c["start"], next_time, device=0, stream=stream, correlation=c["id"], bytes=c["bytes"])
                    queues[stream].pop(0)
                    ready[stream] = next_time + self.about(1.1)
            time = next_time
        self.free, self.copies = ready, []
        super().wait()


def check_link(heddle, folder):
    """Copies of random sizes in both directions: first none beside another, which tells the rates, then all at once."""
    def program(streams, scale=1.0, shows_alone=True):
        def run(m):
            sizes = random.Random(9)
            for way in ("in", "out") * (6 if shows_alone else 0):
                m.copy(streams[way], way, sizes.uniform(50, 300) * (scale if way == "out" else 1))
                m.wait()
            for way in ("in", "out") * 20:
                m.copy(streams[way], way, sizes.uniform(50, 300) * (scale if way == "out" else 1))
            m.wait()
        return run
    def steps_of(part, streams, options=(), seed=1, **more):
        return replay(heddle, made(folder / "link.json", part, program(streams, **more), seed, Link), *options)
    one, two = {"in": 7, "out": 7}, {"in": 7, "out": 8}
    for part in (0.6, 0.8, 0.97):
        for name, options, streams, scale in (("one after another", ["--streams", "1"], one, 1), ("half as long from the GPU", ["--scale", "*DtoH*=0.5"], two, 0.5)):
            off = 100 * (steps(steps_of(part, two, options), "changed") / steps(steps_of(part, streams, scale=scale, seed=2)) - 1)
            yield f"a link that leaves {part}, {name}", abs(off) > 1, f"{off:+.2f} %"
    # of a part that the trace does not tell, one is taken; the truth is within its uncertainty
    for part in (0.82, 0.9, 0.98):
        base = steps_of(0.9, one, ["--schedule", "streams=2"], shows_alone=False)
        change = next(r for r in base["what_if"] if r["what"] == "steps")
        off = steps(steps_of(part, two, shows_alone=False, seed=2)) - change["after"]
        yield f"a link that would leave {part}", abs(off) > change["uncertainty"] or (part == 0.9 and abs(off) > change["after"] / 100), f"{100 * off / change['after']:+.2f} %, uncertainty {100 * change['uncertainty'] / change['after']:.2f} %"


class Blocks(Machine):
    """A GPU that runs blocks: 100 SMs with room for two each. A free place goes to the kernel of the highest priority, then
    to that which was there first."""

    def __init__(self, priorities, seed, tells):
        super().__init__(1 << 30, seed)
        self.priorities, self.tells, self.kernels, self.places = priorities, tells, [], [0.0] * 200

    def kernel(self, stream, blocks, length):  # of blocks that take about as long
        self.id += 1
        end = self.now + self.about(4)
        self.row("cudaLaunchKernel", "cuda_runtime", 1, self.now, end, correlation=self.id)
        self.kernels.append({"id": self.id, "stream": stream, "sent": end + self.about(2), "blocks": [length * self.rng.uniform(0.98, 1.02) for _ in range(blocks)], "starts": [], "end": None})
        self.now = end + self.about(1)

    def run_until(self, kernel):
        """Blocks begin in the order of time, until all of that kernel have; what is sent later than that is not there yet."""
        while len(kernel["starts"]) < len(kernel["blocks"]):
            before, ready = {}, {}
            for k in self.kernels:
                if len(k["starts"]) < len(k["blocks"]) and k["stream"] not in ready:
                    ready[k["stream"]] = (max(k["sent"], before.get(k["stream"], 0) + 1.1), k["id"], k)
                before[k["stream"]] = k["end"] or 0
            place = min(range(len(self.places)), key=self.places.__getitem__)
            time = max(self.places[place], min(r[0] for r in ready.values()))
            k = min((self.priorities.get(k["stream"], 0), at, number, k) for at, number, k in ready.values() if at <= time)[-1]
            self.places[place] = time + k["blocks"][len(k["starts"])]
            k["starts"].append(time)
            k["end"] = max(k["end"] or 0, self.places[place])

    def wait_for(self, stream):
        for k in self.kernels:
            if k["stream"] == stream:
                self.run_until(k)
        self.id += 1
        end = max([self.now + 2] + [k["end"] + self.about(3) for k in self.kernels if k["stream"] == stream])
        self.row("cudaStreamSynchronize", "cuda_runtime", 1, self.now, end, correlation=self.id)
        self.row("Stream Sync", "cuda_sync", stream, self.now, end, device=0, stream=stream, correlation=self.id)
        self.now = end + 1

    def write(self, path):
        for k in self.kernels:
            self.run_until(k)
            told = {"priority": self.priorities[k["stream"]]} if self.tells and k["stream"] in self.priorities else {}
            self.row("gemm" if k["stream"] == 7 else "reduce", "kernel", k["stream"], k["starts"][0], k["end"], device=0, stream=k["stream"],
                     correlation=k["id"], grid=[len(k["blocks"]), 1, 1], block=[1024, 1, 1], **told)
        super().write(path)


def check_priorities(heddle, folder):
    """A thread sends long kernels to one stream and waits for short ones on another, over and again: by far shorter, if these
    go first, unless the long ones are of one wave. Told by the trace, too, where there they do, how it were if all were equal."""
    for name, waves, length, wide in (("many waves", 12, 40, 20), ("a few", 3, 150, 20), ("a wide one beside many", 8, 60, 200), ("one wave", 1, 400, 20)):
        def program(m):
            for _ in range(6):
                m.kernel(7, 200 * waves, length)
            for _ in range(12):
                m.cpu("load", 20)
                m.kernel(8, wide, 30)
                m.wait_for(8)
            m.wait_for(7)
        def steps_of(priorities, options=(), tells=True, seed=1):
            machine = Blocks(priorities, seed, tells)
            for step in range(2):
                machine.step(step, program)
            machine.write(folder / "priorities.json")
            return replay(heddle, folder / "priorities.json", *options)
        before, after = steps(steps_of({})), steps(steps_of({8: -5}, seed=2))
        for what, told, truth in (("first", steps_of({}, ["--schedule", "priorities=8:-5"]), after),
                                  ("equal", steps_of({8: -5}, ["--schedule", "priorities=all:0"], seed=2), before)):
            off = 100 * (steps(told, "changed") / truth - 1)
            yield f"priorities: {name}, {what}", abs(off) > 3, f"{off:+.2f} %, before {before}, after {after}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    with tempfile.TemporaryDirectory() as folder:
        results = list(check_depth(heddle, pathlib.Path(folder))) + list(check_shares(heddle, pathlib.Path(folder))) + list(check_link(heddle, pathlib.Path(folder))) + list(check_priorities(heddle, pathlib.Path(folder)))
    for name, is_wrong, told in results:
        print(f"{'WRONG: ' if is_wrong else ''}{name}: {told}")
    sys.exit(any(is_wrong for _, is_wrong, _ in results))


if __name__ == "__main__":
    main()
