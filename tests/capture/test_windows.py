#!/usr/bin/env python3
"""Capture windows of programs that use CUDA, on the test double (fake_cuda/double.h).

  test_windows.py --app FAKE_APP --library LIBHEDDLE_CUDA --heddle HEDDLE [TEST ...]

As test_inject.py. Programs wait where the test tells them to, and `heddle trigger` opens and closes their capture.
"""
import json
import os
import signal
import subprocess
import sys

from inject_support import PATIENCE, Waiting, check, ns, run_tests, until


def launches(trace):
    return sum(e["name"] == "cuLaunchKernel" for e in trace.of("cuda_driver"))


def check_whole(run):
    check(run.status == 0, "status", run.status, run.stderr)
    trace = run.trace()
    losses = {code: count for code, count in trace.losses.items() if count}
    check(not losses, "ledger", losses)
    return trace


# ---- what is captured ----

def test_steps_bound_what_is_captured(place):
    words = ["launch:1", "sync"]
    for i in range(8):
        words += ["push:step", f"launch:{i + 1}", "pop"] + ["sync"] * (i % 2)
    run = place.run_both(*words, "sync", options="steps=2:4")
    trace = check_whole(run)
    check(len(trace.of("kernel")) == 3 + 4 + 5, len(trace.of("kernel")), "kernels")
    check(launches(trace) == 12, launches(trace), "launches")
    calls = {e["args"]["correlation"] for e in trace.of("cuda_driver") if e["name"] == "cuLaunchKernel"}
    check({e["args"]["correlation"] for e in trace.of("kernel")} == calls, "work and calls are not of the same ids")
    check(trace.capture["window"]["count"] == 1, trace.capture)
    check(trace.capture["window"]["spans"][0]["opened_by"] == "step 2", trace.capture)


def test_a_trigger_opens_and_closes_several_times(place):
    words = ["launch:3", "sync", "wait"]
    for count in (5, 7, 11, 13, 17, 19):
        words += [f"launch:{count}", "sync", "wait"]
    run = Waiting(place, *words, options="trigger=1")
    run.until_it_waits()
    for i in range(6):
        answer = run.trigger("start" if i % 2 == 0 else "stop")
        check(len(answer) == 1 and answer[0]["pid"] == run.pid, answer)
        check(answer[0]["state"] == ("open" if i % 2 == 0 else "closed"), answer)
        run.go_on()
        run.until_it_waits()
    run.go_on()
    trace = check_whole(run.end())
    check(len(trace.of("kernel")) == 5 + 11 + 17, len(trace.of("kernel")), "kernels")
    check(launches(trace) == 33, launches(trace), "launches")
    check(trace.capture["window"]["count"] == 3, trace.capture["window"])
    # While it is closed there are no callbacks: what costs is off.
    check(trace.capture["callbacks"] < 2 * (33 + 6) + 20, trace.capture["callbacks"], "callbacks")


def test_what_is_captured_from_the_start_can_be_closed(place):
    run = Waiting(place, "launch:4", "sync", "wait", "launch:8", "sync", "wait", "launch:16", "sync")
    run.until_it_waits()
    check(run.trigger("status")[0]["by"] == "start", "not open from the start")
    run.trigger("stop")
    run.trigger("stop", status=1)
    run.go_on()
    run.until_it_waits()
    run.trigger("start")
    run.trigger("start", status=1)
    run.go_on()
    trace = check_whole(run.end())
    check(len(trace.of("kernel")) == 20, len(trace.of("kernel")), "kernels")


def test_a_delay_and_a_duration_bound_what_is_captured(place):
    # Where nobody gets to run within a short window, a longer one shows the same.
    steps, within, ms = 1000, 0, 100
    while not within:
        ms *= 3
        run = Waiting(place, "init", *["wait", "launch:1", "sync"] * steps, options=f"delay_ms=100,duration_ms={ms}")
        before = state = {"state": "", "by": ""}
        while state["by"] != "duration":
            run.until_it_waits()
            before, state = state, run.trigger("status")[0]
            within += before["state"] == state["state"] == "open"
            run.go_on()
        run.process.stdin.write(b"x" * steps)
        trace = check_whole(run.end())
        times = sorted(ns(e["ts"]) for e in trace.of("kernel"))
        check(within <= len(times) < steps, within, len(times), "kernels")
        span = trace.capture["window"]["spans"][0]
        length = span["closed_ns"] - span["opened_ns"]
        check(span["opened_ns"] >= 100_000_000 and length >= ms * 1_000_000, span)
        check(not within or times[-1] - times[0] <= length or times[-2] - times[0] <= length, times[0], times[-1], span)


def test_the_end_of_the_steps_leaves_another_window_open(place):
    run = Waiting(place, "init", "push:step_1", "launch:3", "sync", "wait", "pop", "push:step_2", "pop", "launch:5", "sync",
                  options="steps=1:2")
    run.until_it_waits()
    run.trigger("stop")
    run.trigger("start")
    run.go_on()
    trace = check_whole(run.end())
    check(len(trace.of("kernel")) == 3 + 5, len(trace.of("kernel")), "kernels")
    check([s.get("closed_by") for s in trace.capture["window"]["spans"]] == ["trigger", "end"], trace.capture["window"])


def test_a_socket_that_could_not_be_had_is_had_later(place):
    # While it sleeps the tracer's thread finds its socket closed, and no descriptor for another.
    run = Waiting(place, "init", "files:3", "sleep:1500", "files:1024", "wait")
    run.until_it_waits()
    status = [place.heddle, "trigger", str(run.pid), "status"]
    until(lambda: subprocess.run(status, capture_output=True, timeout=PATIENCE).returncode == 0, "heard")
    run.go_on()
    check(run.end().status == 0, "status")


def test_sigusr2_toggles(place):
    run = Waiting(place, "launch:3", "sync", "wait", "launch:5", "sync", "wait", "launch:7", "sync",
                  options="trigger=1")
    for state in ("open", "closed"):
        run.until_it_waits()
        os.kill(run.pid, signal.SIGUSR2)
        until(lambda: run.trigger("status")[0]["state"] == state, state)
        run.go_on()
    trace = check_whole(run.end())
    check(len(trace.of("kernel")) == 5, len(trace.of("kernel")), "kernels")


def test_the_handlers_of_the_program_are_its_own(place):
    run = place.run_both("init", "signals", "launch:3", "sync", options="trigger=1")
    check("caught" in run.stdout, run.stdout)
    run = place.run_both("signals", "launch:3", "sync", options="trigger=1")
    check(run.trace().ledger["window.signal-taken"] == 1, dict(run.trace().ledger))


def test_killed_within_a_window_the_file_has_it(place):
    run = Waiting(place, "launch:3", "sync", "wait", "launch:50", "sync", "wait", options="trigger=1")
    run.until_it_waits()
    run.trigger("start")
    run.go_on()
    run.until_it_waits()

    def is_written(trace):
        return len(trace.of("kernel")) == 50 and trace.capture.get("window", {}).get("count") == 1
    until(lambda: is_written(run.so_far().trace()), "all in the file")
    os.kill(run.pid, signal.SIGKILL)
    trace = run.end().trace()
    check(len(trace.of("kernel")) == 50, len(trace.of("kernel")), "kernels")
    check(trace.capture["window"]["count"] == 1, trace.capture["window"])


def test_all_that_a_launcher_started_is_told(place):
    app = place.app
    run = Waiting(place, shell=f"exec 3<&0; {app} wait launch:5 sync <&3 & {app} wait launch:5 sync <&3 & wait",
                  options="trigger=1")
    # Neither has called CUDA yet: nobody is traced.
    run.until_it_waits()
    run.until_it_waits()
    done = subprocess.run([place.heddle, "trigger", str(run.pid)], capture_output=True, timeout=PATIENCE)
    check(done.returncode == 1 and b"start it with heddle record" in done.stderr, done.stderr)
    run.go_on()
    run.go_on()
    check(run.end().status == 0, "status")

    run = Waiting(place, shell=f"exec 3<&0; {app} init wait launch:5 sync <&3 & {app} init wait launch:5 sync <&3 & "
                               "wait", options="trigger=1")
    run.until_it_waits()
    run.until_it_waits()
    answer = run.trigger("start")
    check(len(answer) == 2 and all(row["state"] == "open" and not row["error"] for row in answer), answer)
    run.go_on()
    run.go_on()
    traces = run.end().traces()
    check(len(traces) == 2 and all(len(t.of("kernel")) == 5 for t in traces), [len(t.of("kernel")) for t in traces])


# ---- a budget ----

def step_words(count):
    """Steps of a millisecond; step i launches i % 7 + 1 kernels."""
    return [w for i in range(count) for w in (f"push:step {i}", f"launch:{i % 7 + 1}", "sleep:1", "pop")] + ["sync"]


def check_budget(trace, count):
    """Windows are whole steps, at numbers divisible by N or at slow steps; what they launched is there, to the unit."""
    window = trace.capture["window"]
    budget, spans = window["budget"], window["spans"]
    within = []
    for i, span in enumerate(spans):
        first = int(span["opened_by"].split()[-1])
        last = count - 1 if span["closed_by"] == "end" else int(span["closed_by"].split()[-1])
        check((first % 64 == 0 or span["opened_by"].startswith("slow step ")) and (last == first + (9 if i else 1) or span["closed_by"] == "end"),
              i, span)
        within += range(first, last + 1)
    kernels = sum(i % 7 + 1 for i in within)
    check(budget["recordedSteps"] == len(within) and budget["steps"] == count, budget, len(within))
    check(budget["windows"] == window["count"] == len(spans), budget, window["count"])
    check(len(trace.of("kernel")) == launches(trace) == kernels, len(trace.of("kernel")), launches(trace), kernels)
    calls = {e["args"]["correlation"] for e in trace.of("cuda_driver") if e["name"] == "cuLaunchKernel"}
    check({e["args"]["correlation"] for e in trace.of("kernel")} == calls, "kernels and calls are not of the same ids")
    steps = [e["name"] for e in trace.events if e.get("ph") in ("B", "X") and e["name"].startswith("step ")]
    check(steps == [f"step {i}" for i in within], steps[:5], within[:5])
    slices = [e for e in trace.events if e.get("ph") in ("B", "X") and e["name"].startswith("window ")]
    check(len(slices) == len(spans), len(slices), "slices of windows")
    counts = trace.capture
    check(counts["records"] == sum(counts[key] for key in ("shown", "facts", "filtered", "unknown", "bad")), counts)
    check(0 < budget["spentNs"] and budget["text"].startswith("budget 50 %, spent "), budget)
    return budget


def test_a_budget_opens_windows_again_and_again(place):
    count = 890
    run = place.run_both("init", *step_words(count), options="budget_ppm=500000")
    trace = check_whole(run)
    budget = check_budget(trace, count)
    check(budget["windows"] >= 3, budget)
    check(budget["spentNs"] <= 0.5 * budget["timeNs"], budget)
    # Between windows nothing is recorded: launches outside of them left no record.
    kernels = [row for row in run.truth() if row["what"] == "record" and row["kind"] == "kernel"]
    check(len(kernels) == len(trace.of("kernel")), len(kernels), "kernels recorded by CUPTI")


def test_heddle_record_prints_what_the_windows_cost(place):
    run, trace = place.record("init", *step_words(300), options=["--budget", "50%"])
    text = check_budget(trace, 300)["text"]
    check(f"heddle: {text}\n" in run.stderr, text, run.stderr)


def report(place, path, *words):
    done = subprocess.run([place.heddle, "report", *words, "--json", str(path)], check=True, capture_output=True,
                          timeout=PATIENCE)
    return json.loads(done.stdout)


def test_reports_count_what_windows_contain(place):
    """Of each window from the first start to the last end of its kernels, from the trace itself."""
    count = 420
    run = place.run("init", *step_words(count), options="budget_ppm=500000")
    trace, path = check_whole(run), run.files[0]
    opens = sorted(ns(e["ts"]) for e in trace.events if e.get("cat") == "capture" and e.get("ph") in ("B", "X"))
    check(len(opens) >= 3, len(opens), "windows")
    called = {e["args"]["correlation"]: ns(e["ts"]) for e in trace.of("cuda_driver") if e["name"] == "cuLaunchKernel"}
    windows, busy, until = {}, 0, 0
    for e in sorted(trace.of("kernel"), key=lambda e: ns(e["ts"])):
        start, end = ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])
        window = sum(t <= called[e["args"]["correlation"]] for t in opens)
        first, last = windows.get(window, (start, end))
        windows[window] = min(first, start), max(last, end)
        busy += max(0, end - max(start, until))
        until = max(until, end)
    span = sum(last - first for first, last in windows.values())
    row = report(place, path, "breakdown")["breakdown"][0]
    check((row["span"], row["busy"], row["idle"]) == (span, busy, span - busy), row, span, busy)
    causes = report(place, path, "idle")["idle"]
    check(sum(r["total"] for r in causes) == span - busy, causes, span - busy)
    summary = report(place, path, "summary")
    check(summary["trace"][0]["whole"] == span, summary["trace"], span)
    for finding in summary["findings"]:
        check(finding["whole"] == span and (finding["saves"] or 0) <= span, finding)
    steps = report(place, path, "breakdown", "--by", "step", "--step", "step *")["breakdown"]
    check(sum(r["span"] for r in steps) == span and sum(r["busy"] for r in steps) == busy, span, busy)
    check(len(steps) >= trace.capture["window"]["budget"]["recordedSteps"], len(steps))
    whole = report(place, path, "breakdown")
    said = f"the devices were recorded in {len(windows)} windows, together "
    check(any(r["note"].startswith(said) for r in whole["notes"]), said, whole["notes"])
    doubts = [(d["code"], d["count"]) for d in whole["trust"]["doubts"]]
    check(doubts == [("recorded-in-windows", len(windows))], whole["trust"])


def test_time_between_windows_is_unrecorded_on_a_path(place):
    """Also while a range is open that began in a window; and a replay keeps it."""
    run = Waiting(place, "init", "wait", "push:outer", "launch:3", "sync", "wait", "sleep:100", "wait", "launch:3", "sync", "wait",
                  "pop", options="trigger=1")
    for action in ("start", "stop", "start", "stop"):
        run.until_it_waits()
        run.trigger(action)
        run.go_on()
    done = run.end()
    path = done.files[0]
    rows = subprocess.run([place.heddle, "query", "-f", "csv", str(path), "SELECT ts, dur, category FROM slice WHERE dur > 0"],
                          check=True, capture_output=True, text=True, timeout=PATIENCE).stdout.split()[1:]
    rows = [(int(ts), int(ts) + int(dur), category) for ts, dur, category in (row.split(",") for row in rows)]
    (_, closed), (opened, end) = sorted(row[:2] for row in rows if row[2] == "capture")
    check(opened - closed >= 100_000_000, opened, closed)
    # The path of all ends with the range, after the last window.
    last = max(row[1] for row in rows if row[2] != "capture")
    wanted = opened - closed + last - end
    classes = {r["class"]: r["total"] for r in report(place, path, "critical-path")["classes"]}
    check(classes.get("unrecorded") == wanted, classes, wanted)
    out = subprocess.run([place.heddle, "replay", "--json", str(path)], check=True, capture_output=True, timeout=PATIENCE).stdout
    replayed = {r["class"]: r["before"] for r in json.loads(out)["path"]}
    check(replayed.get("unrecorded") == wanted, replayed, wanted)


def test_reports_know_a_window_in_which_the_program_was_killed(place):
    run = Waiting(place, "init", "launch:3", "sync", "wait", "sleep:200", "wait", "launch:5", "sync", "wait", options="")
    for action in ("stop", "start"):
        run.until_it_waits()
        run.trigger(action)
        run.go_on()
    run.until_it_waits()
    until(lambda: len(run.so_far().trace().of("kernel")) == 8, "all in the file")
    os.kill(run.pid, signal.SIGKILL)
    done = run.end()
    times = sorted((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in done.trace().of("kernel"))
    check(len(times) == 8 and times[3][0] - times[2][1] >= 200_000_000, times)
    row = report(place, done.files[0], "breakdown")["breakdown"][0]
    check(row["span"] == times[2][1] - times[0][0] + times[7][1] - times[3][0], row, times)


def test_what_windows_cost_is_measured(place):
    # Each of some ten kinds takes a millisecond when a window closes.
    count = 1190
    trace = check_whole(place.run("init", *step_words(count), options="budget_ppm=200000",
                                  script="slow cuptiActivityDisable 1000\n"))
    windows = trace.capture["window"]
    budget = windows["budget"]
    check(windows["count"] >= 2, windows)
    per_window = budget["spentNs"] / budget["windows"]
    check(7e6 <= per_window <= 60e6, "of a window:", per_window)
    check(budget["spentNs"] <= 0.2 * budget["timeNs"], budget)


def test_without_steps_no_window_opens_early_and_the_text_says_so(place):
    trace = place.run("launch:5", "sync", options="budget_ppm=10000").trace()
    check(trace.capture["window"]["budget"]["text"] == "budget 1 %, cost not measured without steps, 0 windows",
          trace.capture["window"])
    check(trace.losses["window.never-opened"] == 1 and not trace.of("kernel"), trace.losses)


# ---- live memory ----

def memory_of(trace):
    """(time, order, address, bytes, category) in the order of time; bytes 0: a release whose size CUPTI did not tell."""
    rows = []
    for i, event in enumerate(trace.instants):
        if event["name"] == "[memory]":
            rows.append((ns(event["ts"]), i, event["args"]["Addr"], event["args"].get("Bytes", 0), event["cat"]))
    return sorted(rows)


def live_at(truth, moment):
    live = {}
    for row in sorted((r for r in truth if r["what"] == "record" and r["kind"] == "memory"), key=lambda r: r["start"]):
        if row["start"] > moment:
            break
        if row["bytes"]:
            live[row["value"]] = row["bytes"]
        else:
            live.pop(row["value"], None)
    return live


def test_a_window_begins_with_what_is_live(place):
    words = ["keep:50", "release:20", "wait", "keep:7", "release:11", "wait", "keep:5", "release:16", "wait", "keep:2",
             "launch:1", "sync"]
    for script in ("", "order shuffled\n", "buffer-records 3\n"):
        run = Waiting(place, *words, options="trigger=1,memory=1", script=script)
        for action in ("start", "stop", "start"):
            run.until_it_waits()
            run.trigger(action)
            run.go_on()
        done = run.end()
        trace, truth = check_whole(done), done.truth()
        rows, spans = memory_of(trace), trace.capture["window"]["spans"]
        check(len(spans) == 2, spans)
        first = [row for row in rows if row[4] == "snapshot" and row[0] == rows[0][0]]
        snapshot = {address: size for _, _, address, size, _ in first}
        want = live_at(truth, first[0][0])
        check(len(want) == 30 and snapshot == want and len(first) == 30, len(first), len(want), script)
        # In both windows, at every record: what the file says is live is what is live.
        live, second = {}, max(row[0] for row in rows if row[4] == "snapshot")
        for i, (moment, _, address, size, _) in enumerate(rows):
            if size > 0:
                check(address not in live, "allocated twice", address)
                live[address] = size
            else:
                before = live.pop(address, None)
                check(before and size in (0, -before), "released, and was not there:", address, size)
            if i + 1 == len(rows) or rows[i + 1][0] > moment:
                check(live == live_at(truth, moment), "at", moment, "of", second, len(live))
        check(len(live) == 50 + 7 - 11 - 20 + 5 - 16 + 2, len(live))
        report = json.loads(subprocess.run([place.heddle, "memory", "--json", str(done.files[0])], check=True,
                                           capture_output=True, timeout=PATIENCE).stdout)
        check(sum(live.values()) in numbers_of(report), "heddle memory does not say", sum(live.values()))


def test_calls_of_a_window_are_there_where_cupti_loses_those_switched_on_late(place):
    # CUPTI 13.0.1 records no call that was switched on by itself once CUDA is in use, and says nothing.
    script = "version 130001\nlate-calls-lost\n"
    words = ["launch:3", "sync", "wait", "launch:5", "sync", "wait", "launch:7", "sync", "wait", "launch:11", "sync"]
    for options, actions, kernels in (("trigger=1", ("start", "stop", "start"), 5 + 11), ("stacks=0", ("stop", "start", "stop"), 3 + 7)):
        run = Waiting(place, *words, options=options, script=script)
        for action in actions:
            run.until_it_waits()
            run.trigger(action)
            run.go_on()
        trace = check_whole(run.end())
        check(len(trace.of("kernel")) == kernels, options, len(trace.of("kernel")), "kernels")
        check(launches(trace) == len(trace.of("kernel")), options, launches(trace), "launches")
        calls = {e["args"]["correlation"] for e in trace.of("cuda_driver") if e["name"] == "cuLaunchKernel"}
        check({e["args"]["correlation"] for e in trace.of("kernel")} == calls, "kernels and calls are not of the same ids")
        check(trace.ledgers[0]["cuda.calls-unfiltered"] == 1, trace.ledgers[0])
    steps = [w for i in range(4) for w in ("push:step", f"launch:{i + 1}", "pop")]
    trace = check_whole(place.run("launch:1", "sync", *steps, "sync", options="steps=1:2", script=script))
    check(launches(trace) == len(trace.of("kernel")) == 2 + 3, launches(trace), "launches in steps")


def test_kernels_without_any_call_are_a_loss(place):
    # A CUPTI that is taken for one that can, and cannot.
    run = Waiting(place, "launch:3", "sync", "wait", "launch:5", "sync", options="trigger=1", script="version 130500\nlate-calls-lost\n")
    run.until_it_waits()
    run.trigger("start")
    run.go_on()
    trace = run.end().trace()
    check(len(trace.of("kernel")) == 5 and launches(trace) == 0, len(trace.of("kernel")), launches(trace))
    check(trace.losses["cuda.no-calls"] == 5, trace.losses)


def numbers_of(data):
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list):
        return set().union(*(numbers_of(item) for item in data))
    return {data} if isinstance(data, int) else set()


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
