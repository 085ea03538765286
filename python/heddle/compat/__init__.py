"""Modules with the names, parameters and results of other tools, over Heddle: a program changes one import.

    from heddle.compat.lanefix import fix_overlaps       # trace-lanefix
    from heddle.compat.hta import TraceAnalysis          # Holistic Trace Analysis
    import heddle.compat.tracesmith as ts                # TraceSmith

docs/reference/python-compat.md lists the equivalents, and where the figures differ on purpose.
"""
