#!/usr/bin/env python3
"""Writes share/schemas/NAME.json, the JSON Schema of `heddle report NAME --json`, from the reports' descriptors.

usage: tools/report_schemas.py --heddle PROGRAM [--check]

With --check nothing is written. The exit status is 1 if a schema is not as it would be, or if a report of a made trace or job does
not fit its schema, or has a table or column that is not in it.

Within a version, fields are only added: the tool refuses to take one out or to change its type. To do so, raise VERSION.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "share/schemas"
VERSION = 1
# Any value may be null: the trace does not tell it.
TYPES = {"number": "integer", "bytes": "integer", "count": "integer", "duration": "integer", "time": "integer", "decimal": "number",
         "text": "string", "yes or no": "boolean"}
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
            "title": report["title"], "type": "object", "required": ["path", "report"],
            "properties": {"path": {"type": "string"}, "report": {"const": report["name"]}, **tables,
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


def taken_out(old, new, where):
    """What the old schema has and the new one has not, or has otherwise."""
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
