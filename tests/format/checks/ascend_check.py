#!/usr/bin/python3
"""Real databases of the Ascend PyTorch profiler against Python's sqlite3, event by event, and against the table of kernels and the trace
of the same program's run before. Skips where ../shared is absent.

usage: ascend_check.py --heddle HEDDLE
"""
import argparse
import csv
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

SKIP = 77
NONE = 0xffffffff
COUNTERS = {"HBM": ("hbmId", "type"), "LLC": ("llcId", "mode"), "NPU_MEM": (None, "type"), "ACC_PMU": ("accId", None), "AICORE_FREQ": (None, None),
            "SOC_BANDWIDTH_LEVEL": (None, None), "MEMORY_RECORD": (None, "component"), "NPU_MODULE_MEM": (None, None)}


def ns(value):
    return int(Decimal(str(value)) * 1000)


class Check:
    def __init__(self, heddle, path, place):
        self.path, self.wrong = path, 0
        out = Path(place) / "out.json"
        subprocess.run([heddle, "convert", "-q", path, out], check=True)
        trace = json.loads(out.read_text(), parse_float=Decimal)
        base = int(trace.get("baseTimeNanoseconds", 0))
        self.events = trace["traceEvents"]
        for event in self.events:
            if "ts" in event:
                event["ns"] = ns(event["ts"]) + base
        self.db = sqlite3.connect(f"file:{path}?immutable=1&mode=ro", uri=True)
        self.texts = dict(self.ask("select id, value from STRING_IDS"))

    def ask(self, sql):
        return self.db.execute(sql).fetchall()

    def expect(self, what, got, wanted):
        got, wanted = Counter(got), Counter(wanted)
        if got != wanted or not wanted:
            self.wrong += 1
            print(f"{self.path.name}: {what}: {sum(got.values())} events, {sum(wanted.values())} rows; {list((got - wanted).items())[:2]} {list((wanted - got).items())[:2]}")

    def of(self, category, phase="X"):
        return [e for e in self.events if e["ph"] == phase and e.get("cat") == category]

    # ---- tasks ----

    def task_rows(self):
        compute = dict(self.ask("select globalTaskId, name from COMPUTE_TASK_INFO"))
        collective = {a: (b, c) for a, b, c in self.ask("select globalTaskId, name, taskType from COMMUNICATION_TASK_INFO")}
        rows = self.ask("select startNs, endNs, deviceId, streamId, connectionId, globalTaskId, taskType, contextId, taskId from TASK")
        parts = {(r[2], r[3], r[8]) for r in rows if r[7] != NONE}
        for start, end, device, stream, connection, task, kind, context, number in rows:
            kind = self.texts[kind]
            if task in collective:
                name, kind_in = (self.texts[x] for x in collective[task])
                category = "gpu_sync" if kind_in.startswith("Notify") else "kernel"
            elif context == NONE and (device, stream, number) in parts:
                name, category = kind, "gpu_user_annotation"
            else:
                name = self.texts[compute[task]] if task in compute else kind
                category = "kernel" if task in compute or "CORE" in kind else "gpu_memcpy" if "MEMCPY" in kind else "gpu_sync"
            yield (start, end - start, device, stream, None if connection == NONE else connection, name, kind, category)

    def check_tasks(self):
        tasks = [e for e in self.events if e["ph"] == "X" and "task type" in e.get("args", {})]
        self.expect("TASK", [(e["ns"], ns(e["dur"]), e["args"]["device"], e["args"]["stream"], e["args"].get("correlation"), e["name"], e["args"]["task type"], e["cat"])
                             for e in tasks], list(self.task_rows()))
        pmu = defaultdict(dict)
        for task, name, value in self.ask("select globalTaskId, name, value from TASK_PMU_INFO"):
            pmu[task][self.texts[name]] = value
        wanted = [(start, frozenset(pmu[task].items())) for start, task in self.ask("select startNs, globalTaskId from TASK") if task in pmu]
        keys = {key for values in pmu.values() for key in values}
        self.expect("TASK_PMU_INFO", [(e["ns"], frozenset((k, float(v)) for k, v in e["args"].items() if k in keys)) for e in tasks if keys & e["args"].keys()],
                    [(start, frozenset((k, float(v)) for k, v in values)) for start, values in wanted])

    # ---- the host ----

    def check_host(self):
        self.expect("CANN_API", [(e["ns"], ns(e["dur"]), e["pid"] << 32 | e["tid"], e["args"]["correlation"], e["name"]) for e in self.of("cann_runtime")],
                    [(s, e - s, t, c, self.texts[n]) for s, e, t, c, n in self.ask("select startNs, endNs, globalTid, connectionId, name from CANN_API")])
        self.events = [e | {"cat": "cpu_op"} if e.get("name", "").startswith("ProfilerStep#") else e for e in self.events]
        categories = {50001: "cpu_op", 50002: "task_queue", 50003: "python_function"}
        got = [(e["ns"], ns(e["dur"]), e["pid"] << 32 | e["tid"], e["name"], e["cat"]) for c in categories.values() for e in self.of(c)]
        self.expect("PYTORCH_API", got, [(int(s), int(e) - int(s), t, self.texts[n], categories[k]) for s, e, t, n, k in self.ask(
            "select startNs, endNs, globalTid, name, type from PYTORCH_API")])
        self.expect("STEP_TIME", [(e["ns"], ns(e["dur"]), e["name"]) for e in self.events if e.get("name", "").startswith("ProfilerStep#")],
                    [(s, e - s, f"ProfilerStep#{i}") for i, s, e in self.ask("select id, startNs, endNs from STEP_TIME")])
        groups = {a: self.texts[b] for a, b in self.ask("select connectionId, groupName from COMMUNICATION_OP")}
        self.expect("COMMUNICATION_OP", [(e["ns"], ns(e["dur"]), e["name"], e["args"]["Process Group Name"]) for e in self.of("gpu_user_annotation")
                                         if "algorithm" in e.get("args", {})],
                    [(s, e - s, self.texts[n], groups[c]) for s, e, n, c in self.ask("select startNs, endNs, opName, connectionId from COMMUNICATION_OP")])

    def check_flows(self):
        """From operators to what they asked for, and among operators by shared connections."""
        of = defaultdict(list)
        for a, b in self.ask("select id, connectionId from CONNECTION_IDS"):
            of[a].append(b)
        ops = defaultdict(list)
        for row, kind, start in self.ask("select connectionId, type, startNs from PYTORCH_API where connectionId is not null"):
            for connection in of[row]:
                ops[connection].append((int(start), kind))
        frames = {r[:2] for r in self.task_rows() if r[7] == "gpu_user_annotation"}
        collectives = {x for x, kind in self.ask("select globalTaskId, taskType from COMMUNICATION_TASK_INFO") if self.texts[kind].startswith("Notify")}
        wanted = []
        for connection, starts in ops.items():
            if len(starts) == 1:
                wanted.append(("async_npu", "s", connection, starts[0][0]))
                wanted += [("async_npu", "f", connection, s) for s, e, g in self.ask(f"select startNs, endNs, globalTaskId from TASK where connectionId={connection}")
                           if g not in collectives and (s, e - s) not in frames]
                wanted += [("async_npu", "f", connection, s) for s, in self.ask(f"select startNs from COMMUNICATION_OP where connectionId={connection}")]
            for start, kind in starts if len(starts) > 1 else []:
                wanted.append(("async_task_queue" if kind == 50002 else "fwdbwd", "s" if start == min(starts)[0] else "f", connection, start))
        self.expect("connections", [(e["cat"], e["ph"], e["id"], e["ns"]) for e in self.events if e["ph"] in "sf"], wanted)
        if not self.ask("select 1 from sqlite_master where name='connectionCats'"):
            return  # MindStudio has not opened it
        known = Counter(cat for cat, in self.ask("select cat from connectionCats"))
        told = Counter(e["cat"] for e in self.events if e["ph"] == "s")
        for category in ("async_npu", "async_task_queue", "fwdbwd"):
            if told[category] != known[category]:
                self.wrong += 1
                print(f"{self.path.name}: {told[category]} flows {category}, MindStudio has {known[category]}")

    def check_operators(self, heddle):
        """GPU time by the operators from which connections come, though another thread launches."""
        of = defaultdict(list)
        for a, b in self.ask("select id, connectionId from CONNECTION_IDS"):
            of[a].append(b)
        ops = defaultdict(list)
        for row, name in self.ask("select connectionId, name from PYTORCH_API where connectionId is not null"):
            for connection in of[row]:
                ops[connection].append(self.texts[name])
        wanted = defaultdict(int)
        for start, duration, _, _, connection, _, _, category in self.task_rows():
            if category in ("kernel", "gpu_memcpy") and len(ops[connection]) == 1:
                wanted[ops[connection][0]] += duration
        out = subprocess.run([heddle, "report", "operators", "--json", "--all", self.path], check=True, stdout=subprocess.PIPE)
        rows = json.loads(out.stdout)["operators"]
        got = {row["name"]: row["gpu_self"] for row in rows if row["gpu_self"] and not row["name"].startswith("(no")}
        self.expect("report operators", got.items(), wanted.items())

    # ---- counters, memory ----

    def check_counters(self):
        modules = dict(self.ask("select id, name from ENUM_MODULE"))
        for table, (number, kind) in COUNTERS.items():
            columns = [row[1] for row in self.ask(f"pragma table_info({table})")]
            wanted = []
            for row in self.ask(f"select * from {table}"):
                row = dict(zip(columns, row))
                time, device = row.pop("timestampNs" if "timestampNs" in row else "timestamp"), row.pop("deviceId")
                name = table + (f" {row.pop(number)}" if number else "") + (f" {self.texts[row.pop(kind)]}" if kind else "")
                if table == "NPU_MODULE_MEM":
                    module = row.pop("moduleId")
                    name += f" {modules.get(module, module)}"
                row.pop("streamPtr", None)
                wanted.append((time, f"NPU {device} {table}", name, tuple(sorted((k, float(v)) for k, v in row.items()))))
            got = [(e["ns"], e["pid"], e["name"], tuple(sorted((k, float(v)) for k, v in e["args"].items() if k != "stream"))) for e in self.of(table, "C")]
            self.expect(table, got, wanted)
        memory = [(e["ns"], e["args"]["Bytes"], e["args"]["name"], e["args"]["Addr"]) for e in self.events if e["name"] == "[memory]"]
        wanted = []
        for row, name, size, start, end in self.ask("select rowid, name, size, allocationTime, releaseTime from OP_MEMORY"):
            wanted += [(t, s, self.texts[name], row) for t, s in ((start, size), (end, -size)) if t is not None]
        self.expect("OP_MEMORY", memory, wanted)

    # ---- the run before, as told by the profiler's own tables ----

    def check_other_run(self, folder):
        with open(folder / "level1_rank0_kernel_details.csv", newline="") as file:
            rows = [row for row in csv.DictReader(file) if not row["Name"].startswith("hcom")]
        got = [(e["name"], e["args"]["op type"], e["args"]["Input Dims"], e["args"]["block dim"], e["args"]["stream"]) for e in self.of("kernel") if "op type" in e["args"]]
        self.expect("kernel_details.csv", got, [(r["Name"], r["Type"], r["Input Shapes"] or "", int(r["Block Dim"]), int(r["Stream ID"])) for r in rows])
        with gzip.open(folder / "level1_rank0_trace_view.json.gz") as file:
            other = json.load(file)
        names = {e["pid"]: e["args"]["name"] for e in other if e["name"] == "process_name"}
        wanted = [(e["tid"], e["name"]) for e in other if e["ph"] == "X" and names[e["pid"]] == "Ascend Hardware" and e["tid"] == 2]
        tasks = [(e["args"]["stream"], e["name"]) for e in self.events if e["ph"] == "X" and "task type" in e.get("args", {}) and e["cat"] != "gpu_user_annotation"
                 and e["args"]["stream"] == 2]
        self.expect("trace_view.json", tasks, wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = os.path.abspath(parser.parse_args().heddle)
    folder = Path(os.environ.get("HEDDLE_SOURCE_ROOT", Path(__file__).parents[3])).resolve().parent / "shared/data/ascend"
    if not folder.is_dir():
        print("skipped: there are no databases of Ascend's profilers in ../shared/data/ascend")
        return SKIP
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        for path in sorted(folder.glob("*.db")):
            check = Check(heddle, path, place)
            check.check_tasks()
            check.check_host()
            check.check_flows()
            check.check_operators(heddle)
            check.check_counters()
            if "rank0" in path.name:
                check.check_other_run(folder)
            wrong += check.wrong
    print(f"{wrong} differences")
    return wrong > 0


sys.exit(main())
