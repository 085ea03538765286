"""Parts of run.py: the program of the driver API, whole and in trouble, and what a launch costs."""
import json
import os
import signal
import statistics

from gpu_compare import compare
from gpu_support import Skip, check, now_ns, read_log, remove

EVERYTHING = ["streams:200", "copies:10", "sets:20", "events:10", "graphs:20", "pinned:3", "managed:4", "threads:8:100"]
KILLED_MS = 100  # what may be missing of a program that was killed


def words(place, *more):
    return ["blind" if place.double else "look", *more]


def log_of(place, name):
    path = place.out / (name + ".log")
    remove(path)
    return path


def recorded(place, name, *wanted, options=(), may_lose=(), waits_for=0):
    """(recorded, rows of the log, trace) of the program, which must end well. waits_for: kernels, at its word `wait`."""
    log = log_of(place, name)
    if waits_for:
        run = place.record_waiting(name, log, waits_for, *words(place, *wanted))
    else:
        run = place.record(name, place.program("gpu_program"), log, *words(place, *wanted), options=options)
    check(run.status == 0, "status", run.status, run.stderr)
    trace, rows = run.trace(), read_log(log)
    check(not set(run.losses()) - set(may_lose), "lost:", run.losses())
    for capture in trace.captures:
        check(not capture.get("problems"), "problems:", capture["problems"])
        place.cupti = capture.get("cuptiPath") or place.cupti
    return run, rows, trace


def driver(place):
    """streams, copies, sets, events, graphs, managed and pinned memory, threads, against the program's own log"""
    run, rows, trace = recorded(place, "driver", *EVERYTHING, options=["--memory"])
    figures = compare(rows, trace, memory=True)
    said = {c.get("clock", {}).get("source") for c in trace.captures}
    return {**figures, "clock": " ".join(sorted(map(str, said))), "trace bytes": run.path.stat().st_size if run.path.exists() else 0}


def options(place):
    """the same without stacks, with graphs as a whole, and with less than a buffer"""
    _, rows, trace = recorded(place, "no-stacks", *EVERYTHING, options=["--no-stacks"])
    compare(rows, trace, has_stacks=False)
    check(not any("sf" in e for e in trace.slices), "stacks that nobody asked for")
    _, rows, trace = recorded(place, "graph-whole", *EVERYTHING, options=["--graph", "whole"])
    compare(rows, trace, whole=True)
    _, rows, trace = recorded(place, "tiny", "streams:1")
    compare(rows, trace)
    return {}


def processes(place):
    """fork before and after CUDA, exec, threads that end, a reset of the device"""
    figures = {}
    for name, wanted in (("fork-before", ["fork:50", "streams:70"]), ("fork-after", ["streams:70", "fork:50", "streams:30"]),
                         ("exec", ["streams:40", "wait", "exec:60"]), ("reset", ["streams:50", "reset:80"]),
                         ("threads", ["threads:4:20", "threads:16:20", "threads:1:5"])):
        # What exec ends is not finished: it has what was written before.
        _, rows, trace = recorded(place, name, *wanted, may_lose=["capture.not-finished"] if name == "exec" else [],
                                  waits_for=40 if "wait" in wanted else 0)
        want, have = sum(r["op"] == "kernel" for r in rows), len(trace.of("kernel"))
        check(want == have, name, "has", have, "kernels instead of", want)
        figures[name + ", kernels"] = have
    return figures


def check_prefix(rows, trace, moment, kept):
    """All but the last 100 ms of a program that was killed, and nothing that is not in its log. kept: on a busy machine
    with a double, so many launches that were seen in the captures, instead of the 100 ms."""
    wanted = [r for r in rows if r["op"] == "kernel"]
    have = sorted(trace.of("kernel"), key=lambda k: k["args"]["correlation"])
    # The last call may have been made, and not yet told.
    check(len(have) <= len(wanted) + 1, len(have), "kernels of", len(wanted), "launches")
    for row, kernel in zip(wanted, have):
        check(kernel["args"]["grid"] == row["grid"], "another kernel:", kernel, row)
    missing = [r for r in wanted[len(have):] if r["after"] < moment - KILLED_MS * 1_000_000 and not kept]
    check(len(have) >= kept, len(have), "kernels, and there were", kept, "before the kill")
    check(not missing, len(missing), "launches are missing that were made", KILLED_MS, "ms before the kill and earlier")
    return len(wanted) - len(have)


def killed(place):
    """SIGKILL in the middle, and a crash: the trace opens, and holds all but the last 100 ms"""
    log, made = log_of(place, "killed"), []

    def watch():
        rows = read_log(log)
        made.append(sum(r["op"] == "kernel" for r in rows))
        enough = next((count for count in made if count > 3000), None)
        if not enough or place.double and place.captured("killed") < enough:
            return None
        moment = now_ns()
        os.kill(rows[0]["pid"], signal.SIGKILL)
        return moment, enough
    run, (moment, enough) = place.record_watched("killed", place.program("gpu_program"), log, *words(place, "forever:100"),
                                                 watch=watch)
    check(run.status == 128 + 9, "status", run.status, run.stderr)
    missing = check_prefix(read_log(log), run.trace(), moment, enough if place.double else 0)
    log = log_of(place, "crash")
    run = place.record_waiting("crash", log, 100, *words(place, "streams:100", "wait", "crash"))
    check(run.status == 128 + 11, "status", run.status, run.stderr)
    rows, trace = read_log(log), run.trace()
    check(len(trace.of("kernel")) == sum(r["op"] == "kernel" for r in rows), "kernels of the program that crashed:",
          len(trace.of("kernel")))
    return {"launches missing after SIGKILL": missing}


# ---- launched again ----

RUN_OFF = 25  # percent that the span of all kernels may be off: the program launches as fast as it can


def run_again(place, path, name):
    """(the table hardware, the trace of another run, which is recorded, as is every launch of it)."""
    status, out, err, _ = place.run(place.heddle_path, "replay", "--run", "--json", path)
    check(status == 0, "status", status, err[-1000:])
    again = place.record(name, place.heddle_path, "replay", "--run", "--quiet", path, options=["--no-stacks"])
    check(again.status == 0, "status", again.status, again.stderr[-1000:])
    return {row["what"]: row for row in json.loads(out)["hardware"]}, again.trace()


def replay(place):
    """replay --run of what was recorded: as many kernels, together as long; how far off they begin"""
    run = place.record("replay-of", place.program("gpu_program"), log_of(place, "replay-of"),
                       *words(place, "streams:200", "copies:10", "events:10", "threads:4:50"), options=["--no-stacks"])
    check(run.status == 0, "status", run.status, run.stderr)
    rows, again = run_again(place, run.path, "replay-again")
    want, have = len(run.trace().of("kernel")), len(again.of("kernel"))
    check(have == want + 1, have, "kernels instead of", want, "and the first launch")
    span = rows["span of kernels"]
    check(place.double or span["error_percent"] < RUN_OFF, span)
    return {"kernels": want, "span, % off": round(span["error_percent"], 2),
            "time of kernels, % off": round(rows["time of kernels"]["error_percent"], 2),
            "start, median us off": round(rows["start of kernels: median"]["error"] / 1000, 1),
            "start, 99 % us off": round(rows["start of kernels: 99 %"]["error"] / 1000, 1)}


# ---- what a launch costs ----

LAUNCHES, RUNS = 10_000, 7


def bench_once(place, how):
    name = "bench-" + how.replace(" ", "-")
    log, program = log_of(place, name), place.program("gpu_program")
    wanted = words(place, f"bench:{LAUNCHES}")
    if how in ("alone", "minimum"):
        env = place.environment()
        if how == "minimum":
            env["CUDA_INJECTION64_PATH"] = str(place.program("libnull-tracer.so"))
            if place.cupti:
                env["HEDDLE_CUPTI"] = place.cupti
        status, _, err, wall = place.run(program, log, *wanted, env=env)
        check(status == 0, how, "status", status, err)
    else:
        run = place.record(name, program, log, *wanted, options=["--no-stacks"] if how == "without stacks" else [])
        check(run.status == 0, how, "status", run.status, run.stderr)
        wall, trace = run.wall, run.trace()
        check_bench(trace, how, run.losses())
    rows = [r for r in read_log(log) if r["op"] == "bench"]
    return rows[0]["issue_ns"] / LAUNCHES, rows[0]["ns"] / LAUNCHES, wall


def check_bench(trace, how, losses):
    """Every launch a kernel, every kernel its stack."""
    kernels = trace.of("kernel")
    check(len(kernels) == LAUNCHES + 100 and not losses, len(kernels), "kernels, lost", losses)
    calls = {c["args"]["correlation"]: c for c in trace.of("cuda_driver") if c["name"] == "cuLaunchKernel"}
    check(all(k["args"]["correlation"] in calls for k in kernels), "kernels without their call")
    bare = [c for c in calls.values() if not trace.stack(c)]
    check(len(bare) == (LAUNCHES + 100 if how == "without stacks" else 0), len(bare), "launches without a stack,", how)


def bench(place):
    """10,000 launches: every launch a kernel, every kernel its stack; what a launch costs beyond CUPTI's own minimum"""
    hows = ["alone", "minimum", "without stacks", "with stacks"]
    if not place.cupti and not place.double:
        recorded(place, "tiny", "streams:1")
    try:
        place.program("libnull-tracer.so")
    except Skip:
        hows.remove("minimum")
    times = {how: [] for how in hows}
    for _ in range(place.options.runs or RUNS):
        for how in hows:
            times[how].append(bench_once(place, how))
    base = {how: [t[0] for t in times[how]] for how in hows}
    figures = {f"{how}, ns a launch": round(statistics.median(base[how]), 1) for how in hows}
    lowest = "minimum" if "minimum" in base else "alone"
    for how in ("without stacks", "with stacks"):
        figures[f"{how}, ns a launch beyond {lowest}"] = round(
            statistics.median(a - b for a, b in zip(base[how], base[lowest])), 1)
        figures[f"{how}, wall s"] = round(statistics.median(t[2] for t in times[how]), 3)
    figures["alone, wall s"] = round(statistics.median(t[2] for t in times["alone"]), 3)
    return figures


PARTS = [driver, options, processes, killed, replay, bench]
