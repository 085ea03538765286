#!/usr/bin/env python3
"""Writes share/schemas/NAME.json, the JSON Schema of each object that --json prints: of `heddle report NAME --json` from the reports'
descriptors, of other commands from what they print of made inputs, in addition to what the schema has already.

usage: tools/report_schemas.py --heddle PROGRAM [--check]

With --check nothing is written. The exit status is 1 if a report's schema is not as it would be, or if what a report or command prints
of a made trace or job names no schema, does not fit it, or has a member that is not in it.

Within a version, fields are only added: the tool refuses to take one out or to change its type. To do so, raise VERSION.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "share/schemas"
VERSION = 1
# Any value may be null: the trace does not contain it.
TYPES = {"number": "integer", "bytes": "integer", "count": "integer", "duration": "integer", "time": "integer", "decimal": "number",
         "text": "string", "yes or no": "boolean"}
# Members whose own names depend on the build.
OPEN = {("version", "libraries"), ("version", "parts")}
# What commands print of made inputs.
COMMANDS = {
    "check-code": ["check", "--explain", "--json"], "check-finding": ["check", "--json", "bad.json"],
    "convert": ["convert", "--json", "--from", "10%", "one.json", "out.heddle"], "devices": ["devices", "--json"],
    "diff": ["diff", "--json", "--all", "one.json", "slow.json"],
    "fix": ["fix", "--json", "bad.json", "fixed.json"], "flame": ["flame", "--json", "-o", "out.svg", "one.json"],
    "formats": ["formats", "--json"], "formats-classes": ["formats", "--classes", "--json"],
    "graph": ["graph", "--json", "one.json"], "info-file": ["info", "--json", "one.json"],
    "memory-file": ["memory", "--json", "one.json"], "merge": ["merge", "--json", "-o", "out.folded", "-g", "one.json"],
    "passes": ["passes", "--json"], "record-check": ["record", "--check", "--json"],
    "replay": ["replay", "--json", "--scale", "*gemm*=0.5", "one.json"], "reports": ["report", "--json"],
    "symbolize": ["symbolize", "--json", "one.json"], "synth": ["synth", "--json", "-o", "made.json"],
    "version": ["version", "--json"], "view": ["view", "--json", "--no-open", "--port", "0", "--stop-after", "0.01", "one.json"],
}


def known(**members):
    return {name: {"type": [kind, "null"]} for name, kind in members.items()}


def list_of(**members):
    return {"type": ["array", "null"], "items": {"type": ["object", "null"], "properties": known(**members)}}


# What needs a GPU, or a program that is traced.
ELSEWHERE = {
    "devices": {"gpus": list_of(gpu="integer", name="string", memory="integer", multiprocessors="integer", architecture="string",
                                driver="string", pci="string", numa_node="integer", cpus="string", problem="string", vendor="string",
                                index="integer"),
                "links": list_of(a="integer", b="integer", link="string", count="integer", mb_per_s="integer")},
    "diff": {"reasons": {"type": ["array", "null"], "items": {"type": ["string", "null"]}},
             "differs": list_of(what="string", before="string", after="string"), "rows": list_of(name_after="string"),
             "gate": list_of(condition="string", verdict="string", text="string")},
    "fix": known(snap_threshold_us="number"),
    "replay": {"check": list_of(error_percent="number"), "what_if": list_of(change_percent="number"),
               "hardware": list_of(error_percent="number")},
    "record": {**known(output="string", parts="string", exit_status="integer", **dict.fromkeys((
                   "output_bytes", "processes", "captures", "unreadable", "damaged", "running", "events", "kernels", "copies", "sets",
                   "launches", "annotations", "addresses_named", "addresses_unnamed", "lost", "wall_ns", "cpu_ns",
                   "measured_processes", "callbacks", "callback_ns", "helper_cpu_ns"), "integer")),
               "problems": list_of(message="string", processes="integer"),
               "ledger": list_of(stage="string", code="string", level="string", count="integer")},
    "trigger": known(pid="integer", name="string", state="string", by="string", since="integer", left="integer", windows="integer",
                     events="integer", dropped="integer", bytes="integer", signal="string", file="string", error="string"),
}
IS = {"integer": int, "number": (int, float), "string": str, "boolean": bool, "null": type(None), "object": dict, "array": list}


def rows(table):
    columns = {c["name"]: {"type": [TYPES[c["type"]], "null"], "description": f"{c['type']}: {c['meaning']}"} for c in table["columns"]}
    return {"type": "array", "description": table["meaning"], "items": {"type": "object", "properties": columns}}


def schema(report):
    texts = {"type": "object", "required": ["sentence", "doubts"],
             "properties": {"sentence": {"type": "string"}, "doubts": {"type": "array", "items": {"type": "object"}}}}
    notes = {"type": "array", "items": {"type": "object", "properties": {"note": {"type": "string"}}}}
    tables = {table["name"]: rows(table) for table in report["tables"]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"heddle.{report['name']}/{VERSION}",
            "title": report["title"], "type": "object", "required": ["schema", "path", "report"],
            "properties": {"schema": {"const": f"heddle.{report['name']}/{VERSION}"}, "path": {"type": "string"}, "report": {"const": report["name"]}, **tables,
                           "notes": notes, "trust": texts}}


def fits(value, about, where):
    """What of a value is not as its schema has it. A property that an object of known ones does not have is a fault here."""
    kinds = about.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "const" in about and value != about["const"]:
        return [f"{where}: {value!r} is not {about['const']!r}"]
    if kinds and not any(isinstance(value, IS[kind]) and (kind == "boolean" or not isinstance(value, bool)) for kind in kinds):
        return [f"{where}: {value!r} is no {' or '.join(kinds)}"]
    faults = []
    if isinstance(value, dict):
        known = about.get("properties")
        faults += [f"{where}: has no {name}" for name in about.get("required", []) if name not in value]
        for name, inner in value.items() if known else ():
            faults += fits(inner, known[name], f"{where}.{name}") if name in known else [f"{where}.{name}: is not in the schema"]
    if isinstance(value, list):
        for item in value:
            faults += fits(item, about.get("items", {}), f"{where}[]")
    return sorted(set(faults))


def merged(old, new):
    """A schema that both kinds of values fit."""
    out = {**old, **new}
    if "type" in old and "type" in new:
        kinds = {kind for one in (old, new) for kind in ([one["type"]] if isinstance(one["type"], str) else one["type"])}
        kinds -= {"integer"} if "number" in kinds else set()
        out["type"] = sorted(kinds - {"null"}) + ["null"] if "null" in kinds else sorted(kinds)
        out["type"] = out["type"][0] if len(out["type"]) == 1 else out["type"]
    if "properties" in old and "properties" in new:
        names = [*old["properties"], *(name for name in new["properties"] if name not in old["properties"])]
        out["properties"] = {name: merged(old["properties"].get(name, {}), new["properties"].get(name, {})) for name in names}
    if "items" in old and "items" in new:
        out["items"] = merged(old["items"], new["items"])
    return out


def schema_of(value, name="", where=()):
    """That of a value, and of others like it: any member may be null."""
    if isinstance(value, dict):
        members = {} if (name, *where) in OPEN else {"properties": {key: schema_of(one, name, (*where, key)) for key, one in value.items()}}
        return {"type": ["object", "null"], **members}
    if isinstance(value, list):
        items = {}
        for one in value:
            items = merged(items, schema_of(one, name, (*where, "[]")))
        return {"type": ["array", "null"], "items": items}
    kinds = [kind for kind in ("boolean", "integer", "number", "string") if isinstance(value, IS[kind])]
    return {"type": [kinds[0], "null"]} if kinds else {}


def shared(schemas, name):
    """Members of a command's object that are tables of a report, or the row of one: those of the reports' schemas."""
    def tables(report, *but):
        return {key: one for key, one in schemas[report]["properties"].items() if one.get("type") == "array" and key not in (*but, "notes")}
    if name == "memory-file":
        return tables("memory")
    if name == "info-file":
        return {**schemas["info"]["properties"]["file"]["items"]["properties"], **tables("info", "file")}
    if name == "check-finding":
        return {**schemas["check"]["properties"]["findings"]["items"]["properties"], "examples": schemas["check"]["properties"]["examples"]}
    if name == "merge":
        return {"join": schemas["attribution"]["properties"]["join"]["items"], **tables("attribution", "join")}
    return {}


def command_schema(name, values, of_reports):
    """Of what a command prints, as objects."""
    out = {"properties": merged({"properties": of_reports}, {"properties": ELSEWHERE.get(name, {})})["properties"]}
    for value in values:
        out = merged(out, schema_of(value, name))
    out["properties"] = {"schema": {"const": f"heddle.{name}/{VERSION}"}, **{key: one for key, one in out["properties"].items() if key != "schema"}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"heddle.{name}/{VERSION}", "title": f"an object of heddle {name}",
            "type": "object", "required": ["schema"], "properties": out["properties"]}


def run_commands(heddle):
    """What each of COMMANDS prints, as a list of objects."""
    with tempfile.TemporaryDirectory(prefix="heddle-schemas-") as folder:
        def run(*args):
            return subprocess.run([heddle, *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=300).stdout
        run("synth", "-q", "--steps", "3", "-o", "one.json")
        run("synth", "-q", "--steps", "3", "--slow-gpu", "0=50", "-o", "slow.json")
        run("synth", "-q", "--crossings", "40", "--damage", "all", "-o", "bad.json")
        printed = {}
        for name, args in COMMANDS.items():
            value = json.loads(run(*args) or "[]")
            printed[name] = value if isinstance(value, list) else [value]
        return printed


# Commands whose --json are reports'; and rows of a query, whose members are the statement's.
OF_REPORTS = {"report", "timeline", "clocks", "query"}


def check_commands(heddle, printed, schemas):
    page = (FOLDER.parents[1] / "docs/commands.md").read_text(encoding="utf-8")
    held = {args[0] for args in COMMANDS.values()} | ELSEWHERE.keys() | OF_REPORTS
    faults = []
    for name in re.findall(r"^### heddle (.+)$", page, re.M):
        said = subprocess.run([heddle, "help", *name.split()], stdout=subprocess.PIPE, check=True, text=True).stdout
        if re.search(r"^ *--json ", said, re.M) and name.split()[-1] not in held:
            faults.append(f"heddle {name} has --json: COMMANDS of tools/report_schemas.py lacks it")
    for name, values in printed.items():
        if not values:
            faults.append(f"{name}: prints nothing")
        for value in values:
            faults += fits(value, schemas.get(name, {}), name)
    return sorted(set(faults))


def taken_out(old, new, where):
    """What the old schema has and the new one has not, or has otherwise."""
    if isinstance(old, list) and isinstance(new, list): # types, of which more may come, and members that are always there
        return [] if set(old) <= set(new) else [f"{where}: {old} became {new}"]
    if not isinstance(old, dict) or not isinstance(new, dict):
        return [] if old == new else [f"{where}: {old} became {new}"]
    return [fault for name in old if name not in ("description", "title")
            for fault in (taken_out(old[name], new[name], f"{where}.{name}") if name in new else [f"{where}.{name} is gone"])]


def check_reports(heddle, schemas, reports):
    with tempfile.TemporaryDirectory(prefix="heddle-schemas-") as folder:
        def run(*args):
            return subprocess.run([heddle, *args], cwd=folder, stdout=subprocess.PIPE, check=False, timeout=300).stdout
        run("synth", "-q", "--steps", "3", "-o", "one.json")
        run("synth", "-q", "--ranks", "2", "--steps", "3", "-o", "job.json")
        faults = []
        for report in reports:
            if report["table_option"]:
                continue
            name = report["name"]
            files = ["job_rank0.json", "job_rank1.json"] if report["of_job"] else ["one.json"]
            said = run("report", "-q", name, "--json", *files)
            made = json.loads(said) if said else None
            faults += fits(made, schemas[name], name)
        return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True, type=lambda name: str(pathlib.Path(name).resolve()))
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    reports = json.loads(subprocess.run([asked.heddle, "report", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    schemas = {report["name"]: schema(report) for report in reports}
    faults = check_reports(asked.heddle, schemas, reports) if asked.check else []
    old = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
    printed = run_commands(asked.heddle)
    reports_schemas = dict(schemas)
    for name in sorted(printed.keys() | ELSEWHERE.keys()):
        made = merged(old.get(name, {}), command_schema(name, [] if asked.check else printed.get(name, []),
                                                           shared(reports_schemas, name)))
        schemas[name] = {**made, "type": "object"}
    if asked.check:
        faults += check_commands(asked.heddle, printed, schemas)
    for name in sorted(old.keys() | schemas.keys()):
        if name in old and old[name]["$id"].endswith(f"/{VERSION}"):
            faults += taken_out(old[name], schemas.get(name, {}), name)
        if asked.check and old.get(name) != schemas.get(name):
            faults.append(f"share/schemas/{name}.json is not what tools/report_schemas.py makes: run it")
    if not asked.check and not faults:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, made in schemas.items():
            (FOLDER / f"{name}.json").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for name in old.keys() - schemas.keys():
            (FOLDER / f"{name}.json").unlink()
    print("".join(f"{fault}\n" for fault in faults), end="")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
