#!/usr/bin/env python3
"""The injected tracer from end to end, on the test double of CUDA (fake_cuda/double.h).

  test_inject.py --app FAKE_APP --library LIBHEDDLE_CUDA --heddle HEDDLE [TEST ...]

Programs run with the tracer as `heddle record` would start them; what they captured is read by heddle, and compared
with the double's log of every record that it made. Nothing here needs a GPU.
"""
import collections
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
from rounds import rounds, seed  # noqa: E402
from inject_support import (GPU, SLICES, UNTRACED, Waiting, check, check_same, expected, found, is_running, key_of, ns,
                            run_tests, until)

EVERYTHING = ["launch:30", "runtime:20", "streams:30", "copy:5", "peer:3", "set:4", "alloc:3", "graph:5:6",
              "threads:4:40", "device:1", "launch:10", "sync"]


# ---- what is recorded ----

def test_every_record_is_there(place):
    # One record a buffer: few of them, since the tracer has 512 buffers, and may read none of them before the end.
    few = ["launch:30", "streams:20", "copy:5", "set:4", "graph:3:6", "threads:4:10", "sync"]
    for words, script in ((EVERYTHING, ""), (EVERYTHING, "order shuffled\nbuffer-records 13\n"), (EVERYTHING, "order reversed\n"),
                          (few, "buffer-records 1\n")):
        run = place.run_both(*words, script=script)
        trace, truth = run.trace(), run.truth()
        check_same(trace, truth)
        check(words is EVERYTHING or sum(r["what"] == "record" for r in truth) < 500, "records of the short program", len(truth))
        check(not trace.losses, "ledger", dict(trace.losses))


def test_work_stands_on_its_stream_and_calls_on_their_thread(place):
    run = place.run(*EVERYTHING)
    trace = run.trace()
    rows = {(SLICES[r["kind"]], r["correlation"], r["start"]): r for r in run.truth() if r["what"] == "record"
            and r["kind"] in SLICES}
    seen = collections.Counter()
    for event in trace.slices:
        if event.get("cat") not in SLICES.values():
            continue
        args = event["args"]
        row = rows[event["cat"], args.get("correlation", 0), ns(event["ts"])]
        seen[row["kind"]] += 1
        if row["kind"] in GPU:
            check(str(event["pid"]) == str(row["device"]) and str(event["tid"]) == str(row["stream"]), event, row)
            check(args["device"] == row["device"] and args["stream"] == row["stream"], event, row)
            check(args["context"] == row["context"], event, row)
            check(args.get("bytes", 0) == row["bytes"], event, row)
        elif row["kind"] in ("runtime", "driver"):
            check(event["pid"] == row["pid"] and event["tid"] == row["thread"], event, row)
            check(event["name"] == row["name"].replace("_v2", ""), event["name"], row["name"])
        if row["kind"] == "kernel":
            check(args["grid"][0] == row["value"] and args["block"] == [row["detail"], 1, 1], event, row)
            check(args["registers per thread"] == 32, event)
            check(args.get("graph node id", 0) == row["node"], event, row)
    check(set(seen) == set(SLICES) - {"overhead", "graph"}, dict(seen))
    names = {e["name"] for e in trace.of("kernel")}
    check("vector_add" in names and 'odd "name" \\ here' in names, names)
    check(any("matmul" in name for name in names), names)
    check({e["name"] for e in trace.of("gpu_memcpy")} == {"Memcpy HtoD (Pageable -> Device)",
                                                           "Memcpy DtoH (Device -> Pinned)",
                                                           "Memcpy PtoP (Device -> Device)"},
          {e["name"] for e in trace.of("gpu_memcpy")})


def test_a_runtime_call_and_its_work_have_one_correlation(place):
    run = place.run("runtime:50", "sync")
    trace = run.trace()
    kernels = {e["args"]["correlation"]: e for e in trace.of("kernel")}
    calls = {e["args"]["correlation"]: e for e in trace.of("cuda_runtime") if e["name"] == "cudaLaunchKernel"}
    check(len(kernels) == 50 and kernels.keys() == calls.keys(), len(kernels), len(calls))
    check(all(ns(kernels[c]["ts"]) > ns(calls[c]["ts"]) for c in kernels), "kernels before their calls")


def test_nodes_of_graphs_are_kernels_of_one_launch(place):
    run = place.run("graph:6:4")
    trace = run.trace()
    launches = [e for e in trace.slices if e["name"] in ("cuGraphLaunch", "cudaGraphLaunch")]
    by_launch = collections.Counter(e["args"]["correlation"] for e in trace.of("kernel"))
    check(len(set(e["args"]["correlation"] for e in launches)) == 4, launches)
    check(set(by_launch.values()) == {6} and len(by_launch) == 4, by_launch)
    nodes = {e["args"]["graph node id"] for e in trace.of("kernel")}
    clones = {r["node"] for r in run.truth() if r["what"] == "node" and r["original"]}
    check(nodes == clones, nodes, clones)


def functions_of(trace, place, event):
    """Names of the program's own functions on the stack of a slice, inlined ones too: a set."""
    frames, stack, offsets = trace.data["stackFrames"], event.get("sf"), []
    while stack is not None:
        frame = frames[str(stack)]
        if frame["name"].startswith("fake_app+0x"):
            offsets.append(frame["name"].split("+")[1])
        stack = frame.get("parent")
    known = place.functions
    unknown = [o for o in offsets if o not in known]
    if unknown:
        done = subprocess.run(["addr2line", "-a", "-i", "-f", "-e", place.app, *unknown], capture_output=True, text=True)
        for line in done.stdout.splitlines():
            if line.startswith("0x"):
                names = known.setdefault(hex(int(line, 16)), set())
            elif "/" not in line and not line.startswith("??"):
                names.add(line.split(" ")[0])
    return set().union(*(known[hex(int(o, 16))] for o in offsets)) if offsets else set()


def test_launches_have_the_stacks_of_those_who_launched(place):
    if not shutil.which("addr2line"):
        return print("   skipped: no addr2line, which comes with binutils")
    run = place.run("launch:20", "runtime:20", "threads:3:20", "copy:3", "graph:3:4", "sync")
    trace = run.trace()
    grids = {e["args"]["correlation"]: e["args"]["grid"] for e in trace.of("kernel")}
    seen = collections.Counter()
    for event in trace.of("cuda_driver") + trace.of("cuda_runtime"):
        names = functions_of(trace, place, event)
        if event["name"] == "cuGraphLaunch":
            want = "do_graph"
        elif event["name"] in ("cuMemcpyHtoD", "cuMemcpyDtoHAsync", "cudaMemcpyAsync"):
            want = "do_copy"
        elif event["name"] not in ("cuLaunchKernel", "cudaLaunchKernel"):
            continue
        elif event["tid"] != event["pid"]:
            want = "run_thread"
        else:
            want = "do_launch" if grids[event["args"]["correlation"]][1] == 2 else "do_runtime"
        check(want in names and (want == "run_thread") != ("main" in names), event["name"], want, names)
        seen[want] += 1
    check(seen == {"do_launch": 20, "do_runtime": 40, "run_thread": 60, "do_copy": 9, "do_graph": 4}, seen)
    nodes = [e for e in trace.of("kernel") if "graph node id" in e["args"]]
    check(len(nodes) == 12 and all("do_graph" in functions_of(trace, place, e) for e in nodes), "stacks of graph nodes")


def test_without_stacks_there_are_none(place):
    trace = place.run("launch:20", "graph:2:2", "sync", options="stacks=0").trace()
    check(len(trace.of("kernel")) == 24, len(trace.of("kernel")))
    check(not [e for e in trace.events if "sf" in e] and "stackFrames" not in trace.data, "stacks")


def test_a_graph_as_a_whole_is_one_slice(place):
    run = place.run("graph:6:4", options="graph=whole")
    trace = run.trace()
    check_same(trace, run.truth())
    check(len(trace.of("graph_trace")) == 4 and not trace.of("kernel"), len(trace.of("graph_trace")))


def test_memory_is_told_with_addresses_and_bytes(place):
    run = place.run("alloc:5", "sync", options="memory=1")
    trace = run.trace()
    want = collections.Counter()
    for row in run.truth():
        if row["what"] == "record" and row["kind"] == "memory":
            host = row["device"] == 0xFFFFFFFF
            want[row["value"], row["bytes"] if row["detail"] == 1 else 0, -1 if host else row["device"]] += 1
    have = collections.Counter()
    for event in trace.instants:
        if event["name"] == "[memory]":
            args = event["args"]
            bytes_ = args.get("Bytes", 0)
            have[args["Addr"], max(bytes_, 0), -1 if args["Device Type"] == 0 else args["Device Id"]] += 1
    check(sum(want.values()) == 34, sum(want.values()))
    check({k[0] for k in want} == {k[0] for k in have}, want, have)
    check(sum(have.values()) == sum(want.values()), want - have, have - want)
    check(not any(e["name"] == "[memory]" for e in place.run("alloc:5").trace().instants), "memory, and nobody asked")


def test_overhead_of_cupti_is_shown(place):
    run = place.run("launch:50", "sync", script="overhead-every 10\n")
    trace = run.trace()
    check_same(trace, run.truth())
    check(len(trace.of("overhead")) >= 5, len(trace.of("overhead")))


def test_ten_thousand_launches(place):
    # What one thread writes is more than its ring holds, and the tracer's thread may have to wait for a processor.
    run = place.run("threads:4:2500", script="order shuffled\nbuffer-records 500\n", options="policy=block")
    trace = run.trace()
    check_same(trace, run.truth())
    check(len(trace.of("kernel")) == 10000, len(trace.of("kernel")))
    check(not trace.losses, dict(trace.losses))
    capture = trace.capture
    check(capture["tracer"] == "cuda" and capture["cupti"] == 130101, capture)
    check(capture["callbacks"] >= 10000 and capture["callbackNs"] > 0 and capture["helperCpuNs"] > 0, capture)


# ---- what is lost is counted ----

def test_dropped_records_stand_in_the_ledger(place):
    run = place.run("launch:100", "copy:5", "sync", script="drop-every 7\n")
    trace = run.trace()
    check_same(trace, run.truth())
    dropped = sum(r.get("fate") == "dropped" for r in run.truth())
    check(dropped == 110 // 7 and trace.ledger["cuda.dropped"] == dropped, dropped, dict(trace.ledger))


def test_bad_times_stand_in_the_ledger_and_nothing_is_hidden(place):
    for how in ("zero", "reversed"):
        run = place.run("launch:90", "sync", script=f"bad-times-every 9 {how}\n")
        trace = run.trace()
        check_same(trace, run.truth())
        bad = [r for r in run.truth() if r.get("fate") == "bad-times"]
        check(len(bad) == 10 and trace.ledger["cuda.bad-times"] == 10, how, len(bad), dict(trace.ledger))
        shown = {e["args"]["correlation"] for e in trace.instants if e.get("cat") == "kernel"}
        check(shown == {r["correlation"] for r in bad}, shown)


def test_records_of_unknown_kinds_are_passed_over_and_counted(place):
    run = place.run("launch:90", "sync", script="unknown-every 5\n")
    trace = run.trace()
    check_same(trace, run.truth())
    check(trace.ledger["cuda.record-unknown"] >= 90 / 5, dict(trace.ledger))


def test_a_damaged_buffer_costs_its_rest_alone(place):
    run = place.run("launch:300", "sync", script="damaged-every 3\nbuffer-records 50\n")
    trace = run.trace()
    truth = run.truth()
    readable = {(r["pid"], r["buffer"]): r["readable"] for r in truth if r["what"] == "buffer"}
    kept = [r for r in truth if r["what"] != "record" or r["index"] < readable[r["pid"], r["buffer"]]]
    check(len(kept) < len(truth), "nothing was damaged")
    check_same(trace, kept)
    damaged = sum(1 for r in truth if r["what"] == "buffer" and r["readable"] < r["records"])
    check(damaged and trace.ledger["cuda.record-damaged"] == damaged, damaged, dict(trace.ledger))


def test_work_that_still_runs_at_the_end_is_shown_and_counted(place):
    run = place.run("launch:3", script="kernel 30000000000\n")
    trace = run.trace()
    open_ = [r for r in run.truth() if r.get("fate") == "incomplete"]
    check(len(open_) == 3, len(open_))
    shown = [e for e in trace.instants if e.get("cat") == "kernel"]
    check(len(shown) == 3 and trace.ledger["cuda.bad-times"] == 3, len(shown), dict(trace.ledger))


def codes_of(trace):
    return [p["code"] for p in trace.capture["problems"]]


def test_a_profiler_that_takes_the_buffers_later_is_noticed_at_the_end(place):
    run = place.run_both("launch:20", "sync", "take-buffers", "launch:30", "runtime:5", "graph:3:2", "threads:2:10", "sync")
    trace, truth = run.trace(), run.truth()
    check_same(trace, truth)
    taken = [r for r in truth if r.get("fate") == "taken" and r["name"] in ("cuLaunchKernel", "cuGraphLaunch")]
    check(len(taken) == 30 + 5 + 2 + 20 and trace.ledger["cuda.buffers-taken"] == len(taken), len(taken), dict(trace.ledger))
    check(codes_of(trace) == ["cuda.buffers-taken"], codes_of(trace))


def test_a_profiler_that_takes_the_buffers_later_is_noticed_while_the_program_runs(place):
    run = Waiting(place, "launch:20", "sync", "wait", "take-buffers", "launch:3000", "sync", "wait", "_exit:0")
    run.until_it_waits()
    run.go_on()
    run.until_it_waits()

    def is_told(trace):
        return trace.ledger["cuda.buffers-taken"] >= 3000 and codes_of(trace)
    until(lambda: is_told(run.so_far().trace()), "told")
    run.go_on()
    trace = run.end().trace()
    check(len(trace.of("kernel")) == 20 and trace.ledger["cuda.buffers-taken"] == 3000, dict(trace.ledger))
    check(codes_of(trace) == ["cuda.buffers-taken"], codes_of(trace))


def test_buffers_that_cupti_keeps_back_are_not_taken(place):
    # While the first kernel runs, no buffer comes, however often the tracer asks.
    run = place.run_both("launch:3000", "sleep:400", "launch:5", script="hold-back\nkernel 600000000000\n")
    trace = run.trace()
    check(trace.ledger["cuda.bad-times"] == 3005 and not codes_of(trace), dict(trace.ledger), codes_of(trace))


def test_kernels_have_the_priority_of_their_stream(place):
    trace = place.run("streams:30", "copy:1", "launch:2", "sync").trace()
    told = {s["stream"]: s["priority"] for s in trace.capture["streams"]}
    check(sorted(told.values()) == [-5, 0, 0, 0], told)
    kernels = trace.of("kernel")
    check(len(kernels) == 32 and sum("priority" in e["args"] for e in kernels) == 10, len(kernels))
    check(all(e["args"].get("priority", 0) == told[e["args"]["stream"]] for e in kernels), kernels)
    check(not any("priority" in e["args"] for e in trace.of("gpu_memcpy")), "copies have none")
    calls = {e["args"]["correlation"] for e in trace.of("cuda_driver")}
    check(calls >= {e["args"]["correlation"] for e in kernels}, "each has its call")


def test_streams_that_are_not_listed_are_counted(place):
    trace = place.run("streams:3", *["streams:3"] * 99, "sync").trace()
    listed = trace.capture["streams"]
    check(len(listed) == 256 and trace.ledger["cuda.streams-unlisted"] == 301 - 256, len(listed), dict(trace.ledger))
    check(len({e["tid"] for e in trace.of("kernel")}) == 300, "streams with work")


# ---- clocks, threads, versions ----

def check_near(trace, truth, tolerance_ns):
    """Every slice is where it was, by CUPTI's clock made ours; returns the largest error."""
    want = {}
    for row in truth:
        if row["what"] == "record" and row["kind"] in SLICES and row["fate"] == "delivered" \
                and row["name"] not in UNTRACED:
            want.setdefault((SLICES[row["kind"]], row["correlation"], row["name"] if row["kind"] == "driver" else "",
                             row["detail"] if row["kind"] == "sync" else 0), []).append(row)
    count = worst = 0
    for rows in want.values():
        count += len(rows)
    check(sum(found(trace).values()) == count, sum(found(trace).values()), "of", count)
    kernels = {r["correlation"]: r for r in truth if r.get("kind") == "kernel" and not r["node"]}
    for event in trace.of("kernel"):
        row = kernels[event["args"]["correlation"]]
        worst = max(worst, abs(ns(event["ts"]) - row["start"]))
    check(worst < tolerance_ns, "off by", worst, "ns")
    return worst


def test_an_old_cupti_of_another_clock_is_mapped_to_ours(place):
    # 11.0 has no clock of ours, does not switch single calls, and its records are shorter.
    run = place.run("launch:20", "sleep:4200", "launch:20", "copy:2", "sync", old=True,
                    script="version 13\nclock 123456789 200\n")
    trace = run.trace()
    worst = check_near(trace, run.truth(), 700000)  # 200 ppm are 840 µs after 4.2 s, if nobody looked again
    check(trace.capture["cupti"] == 13 and trace.capture["clock"]["source"] == "pairs", trace.capture)
    print("   largest error of a time:", worst, "ns")
    check(not [e for e in trace.of("kernel") if any("cluster" in k for k in e["args"])], "fields of later versions")


def test_a_cupti_that_gives_times_of_0_with_a_clock_of_ours_gets_none(place):
    for version, source, defects in ((23, "CLOCK_MONOTONIC", 2), (24, "pairs", 3), (130000, "pairs", 4),
                                     (130100, "CLOCK_MONOTONIC", 2), (130500, "CLOCK_MONOTONIC", 0)):
        trace = place.run("launch:5", "sync", script=f"version {version}\n").trace()
        check(trace.capture["clock"]["source"] == source, version, trace.capture["clock"])
        check(trace.ledger["cuda.cupti-defects"] == defects, version, dict(trace.ledger))
        told = [p["message"] for p in trace.capture["problems"] if p["code"] == "cuda.cupti-wrong"]
        check(bool(told) == (version == 130000), version, told)
    trace = place.run("launch:5", "sync", script="version 130100\n", options="budget_ppm=10000").trace()
    check("graph launches" in trace.capture["problems"][0]["message"], trace.capture["problems"])


def test_all_versions_are_read(place):
    for version in (13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 26, 28, 130000, 130100):
        options = "graph=whole" if version >= 17 else None
        run = place.run(*EVERYTHING, script=f"version {version}\nbuffer-records 37\n", options=options)
        trace = run.trace()
        if trace.capture["clock"]["source"] == "pairs":  # times are those of another clock: see above
            have, want = ([key[:2] for key in counter.elements()] for counter in (found(trace), expected(run.truth())))
            check(sorted(have) == sorted(want), version, len(have), len(want))
        else:
            check_same(trace, run.truth())
        check(trace.capture["cupti"] == version, trace.capture)


def test_pthread_ids_become_tracks_of_their_own(place):
    run = place.run("launch:10", "threads:2:10", "sync", script="pthread-ids\n")
    check_same(run.trace(), run.truth())


def test_too_old_is_refused_and_told(place):
    run = place.run_both("launch:10", "sync", script="version 12\n")
    trace = run.trace()
    check(not found(trace), found(trace))
    codes = {p["code"]: p["message"] for p in trace.capture["problems"]}
    check("cuda.no-cupti" in codes and "older" in codes["cuda.no-cupti"], codes)


# ---- CUPTI that does not work ----

def test_another_subscriber_keeps_its_buffers_and_is_told(place):
    run = place.run_both("launch:10", "runtime:5", "sync", script="subscriber-taken\n")
    trace = run.trace()
    check(not found(trace), found(trace))
    codes = {p["code"]: p["message"] for p in trace.capture["problems"]}
    check(list(codes) == ["cuda.other-subscriber"], codes)
    check(trace.ledger["cuda.other-subscriber"] == 1, dict(trace.ledger))


def test_no_cupti_is_told_and_the_program_runs(place):
    # The double's driver without its CUPTI. Where CUDA is installed, the real CUPTI is found, and refuses.
    folder = place.folder()
    for name in ("libcuda.so.1", "libcudart.so.13"):
        os.symlink(os.path.join(place.fake, name), os.path.join(folder, name))
    run = place.run_both("launch:10", "sync", env={"LD_LIBRARY_PATH": folder, "HEDDLE_CUPTI": None})
    trace = run.trace()
    codes = {p["code"]: p["message"] for p in trace.capture["problems"]}
    check(list(codes) == ["cuda.no-cupti"] and "HEDDLE_CUPTI=" in codes["cuda.no-cupti"], codes)
    check(not found(trace) and trace.losses["cuda.no-cupti"] == 1, dict(trace.losses))


def test_the_newest_cupti_that_the_driver_runs_is_used(place):
    """Of that next to the runtime, which does not say its version, of the toolkit, of the loader, and of CUDA 14, whose
    driver is not here. No other is loaded, as constructors of libraries would run in the program."""
    folder, paths = place.folder(), {}
    for name, version in (("toolkit", 130401), ("loader", 130301), ("later", 140000)):
        below = os.path.join(folder, name, "" if name == "loader" else "extras/CUPTI/lib64")
        os.makedirs(below)
        paths[name] = os.path.join(below, "libcupti.so.13")
        shutil.copy(os.path.join(place.fake, "libcupti.so.13"), paths[name])
        with open(paths[name] + ".version", "w", encoding="utf-8") as file:
            file.write(str(version))
        with open(paths[name], "ab") as file:
            cuda = f"{version // 10000}.{version // 100 % 100}"
            file.write(b"x" * 65500 + f"Build cuda_{cuda}.r{cuda}/compiler.3603{version % 100:02}37_0".encode() + b"\0")
    loads = os.path.join(folder, "loads")
    env = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": loads, "LD_LIBRARY_PATH": f"{folder}/loader:{place.fake}", "CUDA_PATH": f"{folder}/later", "HEDDLE_CUPTI": None}
    for home, wanted in ((f"{folder}/toolkit", "toolkit"), (None, "loader")):
        run = place.run("launch:10", "sync", env={**env, "CUDA_HOME": home})
        trace = run.trace()
        check(trace.capture["cuptiPath"] == os.path.realpath(paths[wanted]), wanted, trace.capture["cuptiPath"])
        check(len(trace.of("kernel")) == 10, wanted)
        said = "".join(path.read_text(errors="replace") for path in Path(folder).glob("loads.*"))
        begun = set(re.findall(r"calling init: (\S*libcupti\S*)", said))
        check({os.path.realpath(path) for path in begun} == {os.path.realpath(paths[wanted])}, begun)
        for path in Path(folder).glob("loads.*"):
            path.unlink()
    run = place.run("launch:10", "sync", env={**env, "CUDA_HOME": f"{folder}/toolkit", "HEDDLE_CUPTI": paths["loader"]})
    check(run.trace().capture["cuptiPath"] == paths["loader"], run.trace().capture)


def test_a_tracer_that_falls_behind_refuses_buffers_and_counts(place):
    run = place.run_both("launch:400", "sync", "launch:400", "sync", "launch:400", "sync",
                         script="buffer-records 2\nslow cuptiActivityGetNextRecord 2000\n")
    trace, truth = run.trace(), run.truth()
    check_same(trace, truth)
    refused = sum(r.get("fate") == "refused" for r in truth)
    check(refused > 0 and trace.ledger["cuda.dropped"] == refused, refused, dict(trace.ledger))
    check(trace.ledger["cuda.no-buffer"] > 0, dict(trace.ledger))


FUNCTIONS = ["cuptiGetVersion", "cuptiSubscribe", "cuptiEnableCallback", "cuptiActivityRegisterCallbacks",
             "cuptiActivityEnable", "cuptiActivityEnableRuntimeApi", "cuptiActivityEnableDriverApi",
             "cuptiActivityDisable", "cuptiActivityFlushAll", "cuptiActivityGetNextRecord",
             "cuptiActivityGetNumDroppedRecords", "cuptiSetThreadIdType", "cuptiGetTimestamp", "cuptiGetGraphNodeId",
             "cuptiGetResultString", "cuptiGetCallbackName", "cuptiActivityRegisterTimestampCallback",
             "cuptiActivitySetAttribute", "cuptiSubscribe_v2", "cuptiUnsubscribe"]


def test_a_failure_of_any_function_leaves_the_program_alone(place):
    words = ["launch:10", "graph:2:2", "sync"]
    alone = place.run(*words, inject=False)
    for function in FUNCTIONS:
        for status, start in ((999, 1), (35, 1), (15, 3)):
            run = place.run(*words, script=f"fail {function} {status} {start}\n")
            check((run.status, run.stdout, run.stderr) == (alone.status, alone.stdout, alone.stderr), function, run.stderr)
            trace = run.trace()
            # What is there is right; what is missing is told, where the function matters.
            more = found(trace) - expected(run.truth())
            check(not more or function == "cuptiActivityRegisterTimestampCallback", function, more)
            check("cuda.buffers-taken" not in codes_of(trace), function, "failed, and another profiler is blamed")
            if function in ("cuptiSubscribe", "cuptiActivityRegisterCallbacks", "cuptiActivityEnable") and start == 1:
                check(trace.capture["problems"], function, "failed, and nobody says so")


def test_slow_functions_only_cost_time(place):
    run = place.run_both("launch:200", "sync", script="slow cuptiActivityFlushAll 80000\n"
                         "slow cuptiActivityGetNumDroppedRecords 20000\nbuffer-records 40\n")
    check_same(run.trace(), run.truth())


# ---- processes ----

def test_programs_and_children_end_as_they_would(place):
    for words in (["launch:5", "exit:3"], ["launch:5", "_exit:4"], ["launch:5", "abort"], ["print:nothing"],
                  ["launch:5", "signals", "launch:5"], ["init"], ["threads:8:20", "_exit:0"],
                  ["launch:5", "fork:launch=3+exit=0"], ["launch:5", "fork:print=hi+_exit=2"],
                  ["launch:5", "fork:print=child", "launch:5"], ["launch:2", "fork:abort"]):
        run = place.run_both(*words)
        for trace in run.traces():
            check(not (found(trace) - expected(run.truth(trace.pid))), words)


def test_what_exit_leaves_is_all_and_finished(place):
    for words in (["launch:50", "sync", "exit:3"], ["threads:4:50"]):
        run = place.run(*words)
        trace = run.trace()
        check_same(trace, run.truth())
        check(not trace.losses, dict(trace.losses))


def test_children_before_cuda_have_files_of_their_own(place):
    run = place.run_both("fork:launch=20+sync", "launch:10", "sync", "exec:launch=30+sync")
    traces = run.traces()
    check(len(traces) == 3, [t.path for t in traces])
    check(sorted(len(t.of("kernel")) for t in traces) == [10, 20, 30], [len(t.of("kernel")) for t in traces])
    for trace in traces:
        check_same(trace, run.truth(trace.pid))


def test_a_child_after_cuda_does_not_disturb_its_parent(place):
    run = place.run_both("launch:20", "fork:print=in_the_child+sleep=80", "launch:20", "exec:launch=5+sync", "sync")
    traces = {t.pid: t for t in run.traces()}
    pids = {r["pid"] for r in run.truth() if r["what"] == "record"}
    check(len(pids) == 2 and pids <= set(traces), pids, list(traces))
    for pid in pids:
        check_same(traces[pid], run.truth(pid))


def test_daemons_that_close_everything_are_recorded(place):
    done = os.path.join(place.root, "daemon-done")
    run = place.run("print:parent", f"daemon:launch=50+sync+sleep=200+launch=50+sync+touch={done}")
    check(run.status == 0 and run.stdout == "parent\nstarted\n", run.status, run.stdout)
    until(lambda: os.path.exists(done), "the daemon's end")
    trace = run.trace()
    until(lambda: not is_running(trace.pid), "the daemon's end")
    trace = run.trace()
    check_same(trace, run.truth())
    check(len(trace.of("kernel")) == 100, len(trace.of("kernel")))


def test_closing_all_descriptors_in_the_middle_loses_nothing(place):
    run = Waiting(place, "launch:50", "sync", "wait", "close-all", "launch:50", "sync", "_exit:9")
    run.until_it_waits()
    before = expected(run.so_far().truth())
    until(lambda: not before - found(run.so_far().trace()), "all in the file")
    run.go_on()
    run = run.end()
    check(run.status == 9, run.status)
    have = found(run.trace())
    check(not have - expected(run.truth()) and not before - have, sum(have.values()), sum(before.values()))
    run = place.run_both("launch:50", "sync", "sleep:120", "close-all", "launch:50", "sync", "sleep:300", "exit:9")
    check_same(run.trace(), run.truth())


# ---- disks ----

def test_a_full_disk_does_not_stop_the_program(place):
    run = Waiting(place, "launch:50", "sync", "wait", "launch:1600", "sync", env={"FAKE_CUDA_TRUTH": None})
    run.until_it_waits()
    until(lambda: run.so_far().trace().of("kernel"), "kernels in the file")
    resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (0, 0))
    run.go_on()
    run = run.end()
    trace = run.trace()
    check(run.status == 0 and len(trace.of("kernel")) < 1650, run.status, run.stderr, len(trace.of("kernel")))
    # By the chunks behind, or, if not even the end had room, by its absence.
    check(trace.losses["capture.events-missing"] or trace.losses["capture.not-finished"], dict(trace.losses))


def test_a_folder_that_cannot_be_written_is_no_matter_to_the_program(place):
    for folder in ("/proc/nowhere", os.path.join(place.root, "not-there"), "", None):
        run = place.run_both("launch:10", "sync", env={"HEDDLE_CAPTURE_DIR": folder})
        check(not run.files, run.files)


def test_options_that_are_unknown_are_told(place):
    run = place.run("launch:3", "sync", options="stacks=0,colour=blue,memory=maybe")
    trace = run.trace()
    check_same(trace, run.truth())
    check(trace.ledger["cuda.option-unknown"] == 1 and trace.ledger["cuda.option-bad"] == 1, dict(trace.ledger))


# ---- SIGKILL ----

def order_of_delivery(truth):
    """Records of buffers that were given back, and when: [(row, moment)]; order within a buffer as written."""
    moments = {r["buffer"]: r["time"] for r in truth if r["what"] == "buffer"}
    rows = [r for r in truth if r["what"] == "record" and r["kind"] in SLICES and r["fate"] == "delivered"
            and r["name"] not in UNTRACED and r["buffer"] in moments]
    return [(r, moments[r["buffer"]]) for r in rows]


def until_delivered(run):
    until(lambda: any(b'"what": "buffer"' in line for line in Path(run.truth_path).read_bytes().splitlines()[-400:])
          if os.path.exists(run.truth_path) else False, "a buffer delivered")


def check_killed(place, when, words):
    # Who makes more than a ring holds waits for room: nothing is dropped in the middle.
    run, moment = place.run_killed(*words, when=when, script="buffer-records 200\n", options="policy=block")
    if not run.files:  # before cuInit
        check(not any(r["what"] == "record" for r in run.truth()), "records, and no file")
        return 0, 0, 0
    trace = run.trace()
    have = found(trace)
    check(not have - expected(run.truth()), "what was never made")
    delivered = order_of_delivery(run.truth())
    present = [have[(SLICES[r["kind"]], r["correlation"], r["start"], r["end"])] > 0 for r, _ in delivered]
    count = sum(present)
    # What is there is the beginning: nothing is missing before something that is there.
    check(all(present[:count]), "a hole after", present.index(False) if False in present else -1, "of", count)
    missing = [when for (_, when), there in zip(delivered, present) if not there]
    late = [moment - when for when in missing]
    return count, len(delivered), max(late, default=0)


def test_killed_at_a_hundred_moments_the_file_opens_and_only_the_last_is_missing(place):
    import random
    generator = random.Random(seed(6))
    total = missing = longest = opened = 0
    count_of_kills = rounds(100)
    for i in range(count_of_kills):
        # Paced programs, whose records the tracer keeps up with, and floods; some from their first moment on.
        is_flood, is_early, pause = i % 4 == 3, i % 5 == 4, generator.uniform(0.0, 0.2)
        words = ["streams:30", "threads:3:20000"] if is_flood else ["launch:20", "forever:400"]

        def when(run):
            if not is_early:
                until_delivered(run)
            time.sleep(pause)
        count, delivered, late = check_killed(place, when, words)
        opened += delivered > 0
        total += count
        if not is_flood:
            missing = max(missing, delivered - count)
            longest = max(longest, late)
    print(f"   {opened} files, {total} slices; of what CUPTI had delivered to programs at a steady pace, at most "
          f"{missing} were missing, delivered at most {longest / 1e6:.1f} ms before the end")
    check(opened >= 0.8 * count_of_kills, "only", opened, "files had anything")


def test_what_was_made_is_in_the_file_while_the_program_runs(place):
    # Nothing but the tracer's asking makes the double give its buffer.
    def made_by(run):
        return collections.Counter(key_of(r) for r in run.truth() if r["what"] == "record" and r["kind"] in SLICES
                                   and r["name"] not in UNTRACED)

    for _ in range(3):
        made = collections.Counter()

        def when(run):
            until(lambda: sum(made_by(run).values()) > 500, "500 records")
            made.update(made_by(run))
            start = time.monotonic()
            until(lambda: not made - found(run.trace()), "all of them in the file")
            print(f"   {sum(made.values())} made, and in the file {time.monotonic() - start:.1f} s later")
        run, _ = place.run_killed("launch:20", "forever:20000", when=when)
        check(not made - found(run.trace()), "were there, and are not")


# ---- NVTX, and by `heddle record` ----

def ranges_of(trace):
    """Ranges of NVTX, which begin and end: {name: (start, end)}."""
    out, open_ = {}, collections.defaultdict(list)
    for event in trace.events:
        if event.get("ph") == "B":
            open_[event["tid"]].append((event["name"], ns(event["ts"])))
        elif event.get("ph") == "E":
            name, start = open_[event["tid"]].pop()
            out[name] = (start, ns(event["ts"]))
    check(not any(open_.values()), "open", dict(open_))
    return out


def test_ranges_of_nvtx_lie_around_their_calls(place):
    run = place.run_both("launch:1", "push:outer", "launch:5", "push:inner", "launch:3", "pop", "pop", "launch:2", "sync")
    trace = run.trace()
    ranges = ranges_of(trace)
    calls = [ns(e["ts"]) for e in trace.of("cuda_driver") if e["name"] == "cuLaunchKernel"]
    check(set(ranges) == {"outer", "inner"} and len(calls) == 11, ranges, len(calls))
    inside = {name: sum(start <= c < end for c in calls) for name, (start, end) in ranges.items()}
    check(inside == {"outer": 8, "inner": 3}, inside)


def times_of(events):
    return collections.Counter((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events)


def test_recorded_with_children_everything_is_in_one_trace(place):
    words = ["launch:40", "fork:print=child", "exec:runtime=30+graph=2:2+sync".replace("2:2", "2=2"), "threads:3:20",
             "copy:2", "sync", "exit:5"]
    alone = place.run(*words, inject=False)
    run, trace = place.record(*words)
    check((run.status, run.stdout) == (alone.status, alone.stdout), run.status, run.stdout, alone.stdout)
    rows = [r for r in run.truth() if r.get("kind") == "kernel"]
    check(times_of(trace.of("kernel")) == collections.Counter((r["start"], r["end"]) for r in rows), "kernels")
    check(len(rows) == 40 + 30 + 4 + 60 and len({r["pid"] for r in rows}) == 2, len(rows))
    check(f"{len(rows)} kernels" in run.stderr and "overhead" in run.stderr, run.stderr)
    check(not os.path.exists(trace.path + ".parts"), "the parts are still there")


def test_recorded_and_killed_the_trace_is_there(place):
    def until_captured(parts):
        until(lambda: sum(len(t.of("kernel")) for t in parts.traces()) == 300, "all kernels in the file")
    run, trace = place.record("launch:300", "sync", "wait", "abort", meanwhile=until_captured)
    check(run.status == 128 + signal.SIGABRT, run.status)
    rows = [r for r in run.truth() if r.get("kind") == "kernel"]
    check(times_of(trace.of("kernel")) == collections.Counter((r["start"], r["end"]) for r in rows), len(rows))


def test_recorded_what_is_missing_is_said_once(place):
    for script, words in (("subscriber-taken\n", "being profiled by another tool"), ("version 12\n", "older than CUDA"),
                          ("fail cuptiActivityRegisterCallbacks 35\n", "records nothing"),
                          ("drop-every 5\n", "lost: cuda.dropped 10")):
        run, _ = place.record("launch:50", "exec:launch=2+sync", "sync", script=script)
        said = [line for line in run.stderr.splitlines() if words in line]
        check(run.status == 0 and len(said) == 1, script, run.stderr)


BAD_PLACES = (("fail cuptiSubscribe 35", "ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0"),
              ("fail cuptiActivityEnable 35", "ERR_NVGPUCTRPERM", "--cap-add=SYS_ADMIN"),
              ("fail cuptiActivityRegisterCallbacks 40", "ERR_NVGPUCTRPERM", "run as root"),
              ("fail cuptiSubscribe 2", "does not know this GPU", "HEDDLE_CUPTI"),
              ("fail cuptiSubscribe 14", "CUPTI and driver do not fit", "HEDDLE_CUPTI"),
              ("fail cuptiSubscribe 26", "Another profiler", "end it"),
              ("fail cuptiSubscribe 33", "virtual GPU", "administrator"),
              ("fail cuptiSubscribe 41", "confidential computing", "turn that off"),
              ("fail cuptiSubscribe 42", "for mining", "use another"),
              ("fail cuptiSubscribe 43", "MIG instance cannot be profiled", "or the whole GPU"),
              ("fail cuptiSubscribe 44", "SLI", "turn SLI off"),
              ("fail cuptiSubscribe 45", "WSL", "run on Linux"),
              ("version 12", "older than CUDA 11.0", "pip install"),
              ("mps", "shares the GPU with others by MPS", "nvidia-cuda-mps-control"),
              ("mig", "GPU 0 is a MIG instance (GPU instance 7, compute instance 0)", ""))


def test_recorded_in_a_bad_place_it_says_which_and_what_to_do_and_the_program_runs(place):
    alone = place.run("launch:20", "sync", inject=False)
    for script, which, what in BAD_PLACES:
        run, trace = place.record("launch:20", "sync", script=script + "\n")
        check((run.status, run.stdout) == (alone.status, alone.stdout), script, run.status, run.stdout)
        # Three kinds of records may be refused each by itself.
        said = [line for line in run.stderr.splitlines() if which in line]
        check(said and what in said[0], script, run.stderr)
        check(script in ("mps", "mig") or "lost: cuda." in run.stderr, script, run.stderr)
        check(len(trace.of("kernel")) == (20 if script in ("mps", "mig") else 0), script, len(trace.of("kernel")))


def test_recorded_buffers_that_are_taken_are_said_once(place):
    run, _ = place.record("launch:5", "take-buffers", "launch:7", "sync")
    check(run.stderr.count("took CUPTI's buffers") == 1 and "lost: cuda.buffers-taken 7" in run.stderr, run.stderr)


def test_recorded_with_the_shortest_delay_it_begins_closed(place):
    def until_open(parts):
        until(lambda: any(t.capture.get("window", {}).get("count") for t in parts.traces()), "a window")
    _, trace = place.record("init", "wait", "launch:1", "sync", options=["--delay", "100us"], meanwhile=until_open)
    check([e for e in trace.events if e.get("cat") == "capture"], "no window")


def test_recorded_steps_are_those_asked_for(place):
    words = []
    for step in range(6):
        words += [f"push:ProfilerStep#{step}", "launch:10", "sync", "pop"]
    run, trace = place.record(*words, options=["--steps", "2:3"])
    made = {e["args"]["correlation"] for e in trace.of("kernel")}
    check(len(made) == 20, len(made))
    names = set(ranges_of(trace))
    check({"ProfilerStep#2", "ProfilerStep#3"} <= names and "ProfilerStep#5" not in names, names)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
