#!/usr/bin/env python3
"""What HTA (HolisticTraceAnalysis) takes for what `heddle report summary` tells: the breakdown of time, kernels, overlap of
communication, idle causes and queue lengths of one rank.

usage: peer_hta.py TRACE.json[.gz]        prints busy=PERCENT, as HTA finds it
"""
import contextlib
import io
import logging
import os
import shutil
import sys
import tempfile


def with_rank(path, folder):
    """HTA reads only files that contain their rank."""
    out = os.path.join(folder, "rank0.json")
    with open(path, encoding="utf-8") as file:
        head = file.read(1 << 20)
    if '"distributedInfo"' in head:
        os.symlink(os.path.abspath(path), out)
        return
    with open(path, encoding="utf-8") as file, open(out, "w", encoding="utf-8") as to:
        begin = file.read(1 << 16)
        to.write(begin.replace("{", '{"distributedInfo": {"rank": 0},', 1))
        shutil.copyfileobj(file, to)


def main(path):
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        with_rank(path, folder)
        from hta.trace_analysis import TraceAnalysis
        analysis = TraceAnalysis(trace_dir=folder)
        breakdown = analysis.get_temporal_breakdown(visualize=False)
        for ask in ("get_gpu_kernel_breakdown", "get_comm_comp_overlap"):
            with contextlib.suppress(Exception):
                getattr(analysis, ask)(visualize=False)
        with contextlib.suppress(Exception):
            analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
        with contextlib.suppress(Exception):
            analysis.get_queue_length_summary(ranks=[0])
    row = breakdown.iloc[0]
    print("busy=%.3f" % (100 - float(row["idle_time_pctg"])))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
