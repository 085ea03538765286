#!/usr/bin/python3
"""XPlane files beside the trace viewer of TensorBoard (the peer xprof): event by event, argument by argument.

usage: build/peers/bin/python tests/format/checks/xplane_tensorboard_check.py --heddle PROGRAM

xprof makes the trace viewer's JSON of each real .xplane.pb of ../shared/data; `heddle convert` makes Chrome JSON of the
same file. On every line that both have, events of the same name, time and duration in ns, and each argument that
TensorBoard shows has the same text here. What may differ, and why:

  only theirs  lines that xprof derives from others and shows without being in the file ("… - from #16", Framework
               Ops, Source code, Host Offload Ops row N, which spread the line "Async XLA Ops"); the slices
               ThreadpoolListener::Region, which it makes of two instants that we keep; arguments it derives (flow,
               is_eager, group_id) or does not show (opaque bytes)
  only ours    what it hides as internal: instants (memory, schedule), PrefetchConsume, PrefetchProduce

Skipped (77) without ../shared or xprof.
"""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

DATA = Path(__file__).resolve().parents[3].parent / "shared/data/xplane"
DERIVED_LINE = re.compile(r".* - from #\d+|Framework (Name Scope|Ops)|Source code|Host Offload Ops row \d+")
DERIVED_EVENTS = {"ThreadpoolListener::Region"}
DERIVED_ARGS = {"flow", "is_eager", "group_id"}
HIDDEN_LINES = {"Async XLA Ops"}
HIDDEN_EVENTS = {"PrefetchConsume", "PrefetchProduce"}


def tensorboard(path, folder):
    from xprof.convert import raw_to_tool_data
    copy = folder / "host.xplane.pb"
    shutil.copyfile(path, copy)
    data, _ = raw_to_tool_data.xspace_to_tool_data([str(copy)], "trace_viewer", {})
    return json.loads(data)


def ours(heddle, path, folder):
    out = folder / "ours.json"
    subprocess.run([heddle, "convert", "-q", path, out], check=True)
    return json.loads(out.read_text())


def by_line(trace):
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    named = [e for e in events if e.get("ph") == "M"]
    process = {e["pid"]: e["args"]["name"] for e in named if e["name"] == "process_name"}
    thread = {(e["pid"], e["tid"]): e["args"]["name"] for e in named if e["name"] == "thread_name"}
    lines = defaultdict(lambda: defaultdict(list))
    for e in events:
        if e.get("ph") in ("X", "i", "I"):
            key = e["name"], round(e["ts"] * 1000), round(e.get("dur", 0) * 1000)
            lines[process.get(e["pid"]), thread.get((e["pid"], e["tid"]))][key].append(e.get("args", {}))
    return lines


def compare_args(theirs, here):
    """Arguments of theirs that none of ours at the same place has."""
    for args in theirs:
        for name, text in args.items():
            if name in DERIVED_ARGS or text == "<opaque bytes>":
                continue
            yield None if any(str(other.get(name)) == text for other in here) else f"{name}: {text}"


def compare(theirs, here):
    seen, faults = Counter(), []
    for line in sorted(set(theirs) | set(here), key=str):
        if DERIVED_LINE.fullmatch(str(line[1])) or line[1] in HIDDEN_LINES:
            continue
        a, b = theirs.get(line, {}), here.get(line, {})
        for key in set(a) | set(b):
            more = len(a.get(key, [])) - len(b.get(key, []))
            seen["events"] += len(a.get(key, []))
            if more > 0 and key[0] not in DERIVED_EVENTS:
                faults.append(f"{line}: {key} is not here")
            elif more < 0 and key[2] != 0 and key[0] not in HIDDEN_EVENTS:
                faults.append(f"{line}: {key} is not theirs")
            if more > 0 or key not in a:
                continue
            for fault in compare_args(a[key], b[key]):
                seen["arguments"] += 1
                if fault:
                    faults.append(f"{line}: {key}: {fault}")
    return seen, faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    if not DATA.is_dir():
        print("no ../shared/data here")
        return 77
    try:
        import xprof.convert.raw_to_tool_data  # noqa: F401
    except ImportError as error:
        print(f"no xprof here: {error}")
        return 77
    failed = 0
    for path in sorted(DATA.glob("*.xplane.pb")):
        if path.name == "tpu_inference_2.xplane.pb":  # its bytes were copied as text: nobody reads it
            continue
        with tempfile.TemporaryDirectory(prefix="heddle-tensorboard-") as folder:
            theirs, here = by_line(tensorboard(path, Path(folder))), by_line(ours(heddle, path, Path(folder)))
        seen, faults = compare(theirs, here)
        for fault in faults[:20]:
            print(f"FAIL: {path.name}: {fault}")
        print(f"{path.name}: {seen['events']} events, {seen['arguments']} arguments, {len(faults)} differ")
        failed += len(faults) + (seen["events"] < 1000)
    print(f"{'FAIL' if failed else 'ok'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
