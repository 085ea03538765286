#!/usr/bin/env python3
"""A replay without change of the real traces with GPU work in ../shared/data: how far off it is, and that changes are refused
where that is too far.

  check_unchanged.py --heddle HEDDLE [--table]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

# The largest error in percent: of span, steps, busy time, starts of 99 % of the work.
BOUNDS = {
    "analysis/h100_qwen/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz": 0.2,
    "kineto/b200_eager.json.gz": 0.1,
    "kineto/df_index_resolver.json.gz": 0.1,
    "kineto/event_sync_multi_stream.json.gz": 0.1,
    "kineto/mi250_minitoy.json.gz": 0.1,
    "kineto/mtia_rank_0.json.gz": 0.3, # its launches wait for their kernel, and are taken as a little longer
    "kineto/nccl_data.json.gz": 0.1,
    "kineto/normalization_layer_test.json.gz": 0.1,
    "kineto/particle_transformer_a100.json.gz": 0.1,
    "kineto/resnet50_2021.json.gz": 2,
    "nsys/h100_2gpu_1s.sqlite": 0.1,
    "nsys/perlmutter-cloverleaf-cuda.sqlite": 0.1,
    "nsys/saxpy-mpi-cuda_nsys_perlmutter0.sqlite": 0.1,
    "rocm/mytrace.rpd.gz": 2,
    "rocm/rocprofiler_v1_memcpy.json.gz": 2,
    "ranks/dlrm/rank2.json.gz": 4,
    "ranks/dlrm/rank4.json.gz": 0.1,
    "ranks/dlrm/rank7.json.gz": 3,
    "ranks/megatron-tp8/rank0.json.gz": 0.1,
    "ranks/megatron-tp8/rank2.json.gz": 0.5,
    "xplane/gpu_multi_worker.xplane.pb": 0.2,
    "xplane/jax_conv_minimal_08.xplane.pb": 0.2,
}
# Without launches, or cut.
REFUSED = [
    "analysis/hta/trace_compare/base/base.json.gz",
    "ascend/level1_rank0.db",
    "kineto/negative_queue_rank0.json.gz",
    "rocm/rocprofv3_908_results.json.gz",
]


def replay(heddle, path, *options):
    run = subprocess.run([heddle, "replay", "--json", *options, path], capture_output=True, text=True)
    report = json.loads(run.stdout) if run.stdout else {"check": []}
    errors = {r["what"]: r["error_percent"] for r in report["check"] if r["what"] != "start of work: largest"}
    return run, report, errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    root = os.environ.get("HEDDLE_SHARED") or os.path.join(os.environ.get("HEDDLE_SOURCE_ROOT", "."), "..", "shared")
    data, wrong, count = pathlib.Path(root) / "data", [], 0
    if not data.is_dir():
        print("skipped: no ../shared/data")
        sys.exit(77)
    for name, bound in BOUNDS.items():
        if not (data / name).exists():
            continue
        run, report, errors = replay(args.heddle, data / name, "--scale", "*=1")
        count += 1
        if args.table:
            print(f"| `{name}` |", " | ".join(f"{what}: {errors[what]:.3f} %" for what in errors), "|")
        if run.returncode or not errors or max(errors.values()) > bound:
            wrong.append(f"{name}: {errors}, bound {bound}; {run.stderr.strip()}")
        # what changes nothing changes nothing
        wrong += [f"{name}: scaled by 1: {r}" for r in report.get("what_if", []) if r["before"] != r["after"]]
    for name in REFUSED:
        if not (data / name).exists():
            continue
        run, report, errors = replay(args.heddle, data / name, "--scale", "*=0.5")
        count += 1
        if "negative_queue" in name and not any(r["note"].startswith("launch calls wait while 907 operations") for r in report["notes"]):
            wrong.append(f"{name}: calls that end when the 907th operation before theirs begins: {report['notes']}")
        if run.returncode != 1 or report.get("what_if") or "no change is predicted" not in run.stderr or max(errors.values()) <= 5:
            wrong.append(f"{name} is not refused: {run.returncode} {errors} {run.stderr.strip()}")
    print(f"{count} traces replayed, {len(wrong)} wrong")
    sys.exit("\n".join(wrong) or (0 if count else 77))


if __name__ == "__main__":
    main()
