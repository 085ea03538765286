"""The log of gpu_program against the trace that heddle wrote of it."""
from gpu_support import check, count, difference, ns

CLOCK_SLACK_NS = 50_000  # of CUPTI's map from the GPU's clock
LAUNCH, GRAPH_LAUNCH = "cuLaunchKernel", "cuGraphLaunch"
NODES = 5  # of each graph of gpu_program


def grid_key(name, grid, block):
    return name, tuple(grid), tuple(block)


def kernels_of(trace):
    """Kernels by the correlation of their call."""
    out = {}
    for kernel in trace.of("kernel"):
        out.setdefault(kernel["args"].get("correlation"), []).append(kernel)
    return out


def calls_by_thread(trace, name):
    out = {}
    for call in trace.of("cuda_driver"):
        if call["name"] == name:
            out.setdefault(call["tid"], []).append(call)
    for calls in out.values():
        calls.sort(key=lambda c: ns(c["ts"]))
    return out


def rows_by_thread(rows, op):
    out = {}
    for row in rows:
        if row["op"] == op:
            out.setdefault(row["tid"], []).append(row)
    return out


def check_kernel(row, call, kernels):
    """A row of the log, the call that the trace has for it, and that call's kernels."""
    start, end = ns(call["ts"]), ns(call["ts"]) + ns(call["dur"])
    check(row["before"] <= start and end <= row["after"], "a call is not when it was made:", row, call)
    check(len(kernels) == 1, len(kernels), "kernels of one launch", row)
    kernel = kernels[0]
    have, want = grid_key(kernel["name"], kernel["args"]["grid"], kernel["args"]["block"]), grid_key(
        row["name"], row["grid"], row["block"])
    check(have == want, "another kernel:", have, "instead of", want)
    check(ns(kernel["ts"]) + CLOCK_SLACK_NS >= start, "a kernel before its call:", kernel, call)
    check(ns(kernel["dur"]) + CLOCK_SLACK_NS >= row.get("ns", 0), "a kernel is too short:", kernel, row)
    return ns(kernel["ts"]) - start


def check_launches(rows, trace, has_stacks):
    """In the order of each thread: the same launches, at the same time, of the same kernels. Latencies in ns."""
    kernels, calls, latencies, streams = kernels_of(trace), calls_by_thread(trace, LAUNCH), [], {}
    for tid, wanted in rows_by_thread(rows, "kernel").items():
        # Launches into a graph that is captured start nothing.
        have = [c for c in calls.get(tid, []) if c["args"]["correlation"] in kernels]
        check(len(have) == len(wanted), "thread", tid, "has", len(have), "launches instead of", len(wanted))
        for row, call in zip(wanted, have):
            made = kernels[call["args"]["correlation"]]
            latencies.append(check_kernel(row, call, made))
            streams.setdefault(row["stream"], set()).add(made[0]["tid"])
            if has_stacks:
                stack = trace.stack(call)
                check(any("launch_" in frame or "gpu_program+0x" in frame for frame in stack), "a launch without its stack:",
                      row, stack)
    check(all(len(rows) == 1 for rows in streams.values()), "a stream on several rows:", streams)
    check(len({r for rows in streams.values() for r in rows}) == len(streams), "streams on one row:", streams)
    return latencies


def check_graphs(rows, trace, has_stacks, whole):
    kernels, calls = kernels_of(trace), calls_by_thread(trace, GRAPH_LAUNCH)
    wholes = count(e["args"]["correlation"] for e in trace.of("graph_trace"))
    for tid, wanted in rows_by_thread(rows, "graph").items():
        have = calls.get(tid, [])
        check(len(have) == len(wanted), "thread", tid, "has", len(have), "launches of graphs instead of", len(wanted))
        for row, call in zip(wanted, have):
            check(row["before"] <= ns(call["ts"]) <= row["after"], "a launch of a graph at another time:", row, call)
            correlation = call["args"]["correlation"]
            if whole:
                check(wholes[correlation] == 1, wholes[correlation], "slices of a graph's launch", row)
                continue
            made = kernels.get(correlation, [])
            grids = count(k["args"]["grid"][0] for k in made)
            check(grids == count(range(1, NODES + 1)), "nodes of a graph:", grids)
            if has_stacks:
                check(all(any("graph_by_" in f or "gpu_program+0x" in f for f in trace.stack(k)) for k in made),
                      "a node without the stack of the line that made it", made[0])


def check_copies(rows, trace):
    want = count((r["way"], r["bytes"]) for r in rows if r["op"] == "copy")
    have = count((e["name"].split()[1], e["args"]["bytes"]) for e in trace.of("gpu_memcpy"))
    check(not difference(want, have), "copies:", difference(want, have))
    want = count(r["bytes"] for r in rows if r["op"] == "set")
    have = count(e["args"]["bytes"] for e in trace.of("gpu_memset"))
    check(not difference(want, have), "sets:", difference(want, have))


def check_memory(rows, trace):
    """The driver may allocate for itself besides."""
    want = count((r["op"], r["memory"], r["address"]) for r in rows if r["op"] in ("allocate", "release"))
    have = count(("allocate" if e["args"].get("Bytes", -1) > 0 else "release", e.get("cat"), e["args"]["Addr"])
                 for e in trace.events if e["name"] == "[memory]")
    missing = want - have
    check(not missing, "memory:", sum(missing.values()), "missing", list(missing.items())[:4])
    sizes = {r["address"]: r["bytes"] for r in rows if r["op"] == "allocate"}
    told = count((e["args"]["Addr"], e["args"]["Bytes"]) for e in trace.events
                 if e["name"] == "[memory]" and e["args"].get("Bytes", -1) > 0)
    check(all(any(a == address and b == size for a, b in told) for address, size in sizes.items()), "other sizes")


def compare(rows, trace, has_stacks=True, memory=False, whole=False):
    """Raises Failure with the first difference. Figures of what was compared."""
    kernels = sum(r["op"] == "kernel" for r in rows)
    graphs = sum(r["op"] == "graph" for r in rows)
    check(kernels, "the log is empty")
    check(not sum(r.get("wrong", 0) for r in rows), "the GPU computed wrong numbers")
    want = kernels + (0 if whole else NODES * graphs)
    check(len(trace.of("kernel")) == want, len(trace.of("kernel")), "kernels instead of", want)
    latencies = check_launches(rows, trace, has_stacks)
    check_graphs(rows, trace, has_stacks, whole)
    check_copies(rows, trace)
    if memory:
        check_memory(rows, trace)
    latencies.sort()
    return {"kernels": want, "graph launches": graphs, "launch to start, median us": latencies[len(latencies) // 2] / 1000,
            "launch to start, least us": latencies[0] / 1000}
