"""Parts of run.py: PyTorch and what else uses a GPU from Python."""
import collections
import json
import shutil
import statistics

from gpu_support import Skip, check, count, difference, ns, remove

STEPS = 20
NOISE = 0.25  # of a kernel's time in two runs, where it sums up to more than 100 us
FLOORS = {"without stacks": 1.0, "with stacks": 3.0}  # percent of a step
RUNS = 5


def script(place, what, *more, recorded=True, options=(), name=None, env=None):
    """(recorded or None, what the program wrote)."""
    name = name or "torch-" + what
    result = place.out / (name + ".result.json")
    remove(result)
    command = [place.python, place.here / "programs_torch.py", what, result, *more]
    if recorded:
        run = place.record(name, *command, options=options)
        status, err = run.status, run.stderr
    else:
        run = None
        status, _, err, _ = place.run(*command, env=env)
    check(status == 0, what, "status", status, err[-1200:])
    data = json.loads(result.read_text())
    remove(result)
    return run, data


def within(trace, data):
    """Kernels whose call was made between begin and end."""
    calls = {}
    for call in trace.of("cuda_runtime", "cuda_driver"):
        calls[call["pid"], call["args"].get("correlation")] = ns(call["ts"])
    begin, end = data["begin"], data["end"]
    by_correlation = {}
    for (_, correlation), at in calls.items():
        by_correlation.setdefault(correlation, at)
    return [k for k in trace.of("kernel") if begin <= by_correlation.get(k["args"]["correlation"], 0) <= end]


LEFT_OUT = {"nvtx.payloads-left-out"}  # of NVTX's payload extension: told, and not read


def check_clean(run, trace):
    check(not set(run.losses()) - LEFT_OUT, "lost:", run.losses())
    for capture in trace.captures:
        check(not [p for p in capture.get("problems", []) if "mig" not in p["code"] and "mps" not in p["code"]],
              capture["problems"])
        run.place.cupti = capture.get("cuptiPath") or run.place.cupti


def against_profiler(place, what):
    run, data = script(place, what, STEPS)
    trace = run.trace()
    check_clean(run, trace)
    kernels = within(trace, data)
    _, profiled = script(place, "profile-" + what, STEPS, recorded=False)
    want = count({n: c for n, (c, _) in profiled["kernels"].items()})
    have = count(k["name"] for k in kernels)
    check(not difference(want, have), what, "against torch.profiler:", difference(want, have))
    times = collections.Counter()
    for kernel in kernels:
        times[kernel["name"]] += ns(kernel["dur"])
    apart = {n: (times[n], t) for n, (_, t) in profiled["kernels"].items() if t > 100_000 and abs(times[n] - t) > NOISE * t}
    total, theirs = sum(times.values()), sum(t for _, t in profiled["kernels"].values())
    check(len(apart) <= len(want) // 10, "times of kernels differ:", list(apart.items())[:4])
    check(abs(total - theirs) <= NOISE * theirs, "GPU time", total, "instead of", theirs)
    return {"kernels": len(kernels), "names": len(have), "GPU ms": round(total / 1e6, 2), "GPU ms, torch.profiler":
            round(theirs / 1e6, 2)}, trace


def torch(place):
    """training steps and inference of a transformer, against torch.profiler: equal counts of each kernel, equal times"""
    figures = {"torch": place.need_module("torch")}
    for what in ("train", "inference"):
        told, trace = against_profiler(place, what)
        figures.update({f"{what}, {k}": v for k, v in told.items()})
        bare = [c for c in trace.of("cuda_runtime") if "LaunchKernel" in c["name"] and not trace.stack(c)]
        check(not bare, len(bare), "launches without a stack")
    return figures


def torch_graph(place):
    """a whole step as a CUDA graph, each node a kernel; and with --graph whole"""
    place.need_module("torch")
    run, data = script(place, "graph", STEPS)
    trace = run.trace()
    check_clean(run, trace)
    nodes = count(k["args"]["correlation"] for k in within(trace, data))
    check(len(nodes) == STEPS, len(nodes), "launches of the graph instead of", STEPS)
    check(len(set(nodes.values())) == 1, "launches have other numbers of kernels:", set(nodes.values()))
    whole, data = script(place, "graph", STEPS, options=["--graph", "whole"], name="torch-graph-whole")
    inside = [g for g in whole.trace().of("graph_trace") if data["begin"] <= ns(g["ts"]) <= data["end"]]
    check(len(inside) == STEPS, len(inside), "graphs as a whole instead of", STEPS)
    return {"kernels a launch": next(iter(nodes.values()))}


def torch_compile(place):
    """torch.compile, where it works, against torch.profiler"""
    place.need_module("torch")
    status, _, err, _ = place.run(place.python, place.here / "programs_torch.py", "compiled", place.out / "compiled.json", 2)
    remove(place.out / "compiled.json")
    if status != 0:
        raise Skip("torch.compile does not work here: " + (err.strip().splitlines() or ["?"])[-1][:200])
    return against_profiler(place, "compiled")[0]


def torch_processes(place):
    """a DataLoader with workers (fork after CUDA), and two processes by multiprocessing.spawn"""
    place.need_module("torch")
    run, data = script(place, "loader", 10)
    trace = run.trace()
    check_clean(run, trace)
    check(within(trace, data), "no kernels")
    run, data = script(place, "spawn", 3)
    trace = run.trace()
    check_clean(run, trace)
    counts = [len(within(trace, child)) for child in data["children"]]
    pids = {c["pid"] for c in trace.of("cuda_runtime") if "LaunchKernel" in c["name"]}
    check(len(pids) == 2 and all(counts), "processes:", pids, "kernels:", counts)
    return {"kernels of two processes": len(trace.of("kernel"))}


def torch_cost(place):
    """what recording costs a training step beyond CUPTI's own minimum: the median of alternating runs, below 1 % without
    stacks and 3 % with, and what runs alone differ by"""
    place.need_module("torch")
    times = {"alone": [], "minimum": [], "without stacks": [], "with stacks": []}
    tracer = {"CUDA_INJECTION64_PATH": place.program("libnull-tracer.so")}
    if place.cupti:
        tracer["HEDDLE_CUPTI"] = place.cupti
    for _ in range(place.options.runs or RUNS):
        for how, steps in times.items():
            _, data = script(place, "train", 50, recorded="stacks" in how, name="torch-cost",
                             options=["--no-stacks"] if how == "without stacks" else [],
                             env=place.environment(**tracer) if how == "minimum" else None)
            steps.append(statistics.median(data["step_ms"]))
    remove(place.out / "torch-cost.heddle")
    middle = statistics.median(times["alone"])
    noise = 100 * statistics.median(abs(t / middle - 1) for t in times["alone"])
    figures = {"alone, ms a step": round(middle, 3), "alone, % that runs differ by": round(noise, 1),
               "minimum, % of a step": round(100 * (statistics.median(times["minimum"]) / middle - 1), 1)}
    for how, floor in FLOORS.items():
        cost = 100 * statistics.median(b / a - 1 for a, b in zip(times["minimum"], times[how]))
        figures[f"{how}, % of a step beyond minimum"] = round(cost, 2)
        figures[f"{how}, below {floor} %"] = cost < floor + 2 * noise
    check(all(v for k, v in figures.items() if "below" in k), figures)
    return figures


def torch_killed(place):
    """SIGKILL in the middle of training: the trace opens, and the steps until 100 ms before are in it"""
    place.need_module("torch")
    result = place.out / "torch-killed.result.json"
    remove(result)
    run = place.record("torch-killed", place.python, place.here / "programs_torch.py", "kill", result, 30)
    check(run.status == 128 + 9 and result.exists(), "status", run.status, run.stderr[-1000:])
    moment = json.loads(result.read_text())["moment"]
    remove(result)
    trace = run.trace()
    launches = {c["args"]["correlation"]: ns(c["ts"]) for c in trace.of("cuda_runtime") if "LaunchKernel" in c["name"]}
    kernels = {k["args"]["correlation"] for k in trace.of("kernel")}
    lost = [c for c, at in launches.items() if at < moment and c not in kernels]
    # It slept for 0.5 s after the last step, so that nothing of it may be missing.
    check(kernels and not lost, len(lost), "launches without their kernel,", len(kernels), "kernels")
    return {"kernels": len(kernels)}


def torch_nvtx(place):
    """emit_nvtx: the ranges of operators, and those of the steps, on their threads"""
    place.need_module("torch")
    run, _ = script(place, "nvtx", 5)
    trace = run.trace()
    check_clean(run, trace)
    # A range is a B and an E.
    names = count(e["name"] for e in trace.events if e.get("ph") in "BX" and e.get("cat") == "user_annotation")
    for i in range(5):
        check(names[f"ProfilerStep#{i}"] == 1, f"ProfilerStep#{i} is there {names[f'ProfilerStep#{i}']} times")
    operators = sum(c for n, c in names.items() if n.startswith("aten::"))
    check(operators > 100, operators, "ranges of operators")
    return {"ranges of operators": operators}


def torch_memory(place):
    """--memory against torch.cuda.memory_stats(): what the caching allocator got from the driver"""
    place.need_module("torch")
    run, data = script(place, "memory", 5, options=["--memory"])
    trace = run.trace()
    allocated = [e["args"] for e in trace.events if e.get("name") == "[memory]" and e.get("cat") == "Device"
                 and e["args"].get("Bytes", -1) > 0]
    # Segments of PyTorch are among them; cuBLAS and the driver allocate besides.
    total = sum(a["Bytes"] for a in allocated)
    check(total >= data["reserved"], total, "bytes instead of", data["reserved"])
    check(len(allocated) >= data["segments"], len(allocated), "allocations instead of", data["segments"])
    check(total <= data["reserved"] + (512 << 20), total, "bytes instead of", data["reserved"])
    return {"allocated by the driver, MB": round(total / 1e6, 1), "reserved by PyTorch, MB": round(data["reserved"] / 1e6, 1)}


def nccl(place):
    """all_gather of a group of one"""
    place.need_module("torch")
    run, data = script(place, "nccl", 10)
    trace = run.trace()
    check_clean(run, trace)
    check(within(trace, data) or [m for m in trace.of("gpu_memcpy") if data["begin"] <= ns(m["ts"]) <= data["end"]],
          "all_gather left nothing")
    return {"nccl": data["version"]}


def triton(place):
    """a kernel of Triton by its name"""
    place.need_module("torch")
    place.need_module("triton")
    run, data = script(place, "triton", 10)
    trace = run.trace()
    check_clean(run, trace)
    have = sum("heddle_triton_add" in k["name"] for k in within(trace, data))
    check(have == 10 and not data["wrong"], have, "kernels,", data["wrong"], "wrong")
    return {}


def other(place, what, *more):
    result = place.out / f"{what}.result.json"
    run = place.record(what, place.python, place.here / "programs_other.py", what, result, *more)
    if run.status != 0 and "has no GPU" in run.stderr:
        raise Skip(run.stderr.strip().splitlines()[0])
    check(run.status == 0, "status", run.status, run.stderr[-1000:])
    data = json.loads(result.read_text())
    remove(result)
    trace = run.trace()
    return run, trace, data


def cupy(place):
    """a kernel of CuPy, 20 times"""
    version = place.need_module("cupy")
    run, trace, data = other(place, "cupy")
    check_clean(run, trace)
    have = sum(k["name"] == "heddle_cupy_add" for k in within(trace, data))
    check(have == data["launches"] and not data["wrong"], have, "kernels,", data["wrong"], "wrong")
    return {"cupy": version}


def jax(place):
    """a jitted step of JAX; and without heddle its own profile, kept as xplane.pb, which heddle reads"""
    version = place.need_module("jax")
    run, trace, data = other(place, "jax")
    check_clean(run, trace)
    kernels = within(trace, data)
    check(len(kernels) >= data["launches"], len(kernels), "kernels of", data["launches"], "steps")
    folder, result = place.out / "jax-profile", place.out / "jax.result.json"
    status, _, err, _ = place.run(place.python, place.here / "programs_other.py", "jax", result, folder)
    check(status == 0, err[-1000:])
    remove(result)
    planes = sorted(folder.rglob("*.xplane.pb"))
    check(planes, "jax.profiler wrote no XPlane")
    shutil.copy(str(planes[0]), str(place.out / "jax.xplane.pb"))
    remove(folder)
    return {"jax": version, "kernels": len(kernels)}


PARTS = [torch, torch_graph, torch_compile, torch_processes, torch_cost, torch_killed, torch_nvtx, torch_memory, nccl, triton,
         cupy, jax]
