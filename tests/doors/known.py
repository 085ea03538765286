"""What is known to disagree: (noun, door, input). A line whose door answers right must be removed; none is to be added."""
GENERATED = set()
REAL = set()
#: Behind conversions, of the real traces: (input, format, noun).
BEHIND = {
    # The store's summary of a lane has ends to the nanosecond.
    ("ascend/level1_rank0_trace_view.json.gz", "heddle", "info.tracks"), ("straggler/ideal-timeline-ST.json.gz", "heddle", "info.tracks"),
    # Launches and waits at one time stand in another order: the path goes by other pieces.
    ("cupti/cupti_trace.json", "pftrace", "critical-path.paths"), ("cupti/cupti_trace.json", "pftrace", "critical-path.names"),
    ("cupti/cupti_trace.json", "pftrace", "critical-path.classes"),
    # Slices of no length at one time with another's begin.
    ("chrome/perfetto/tests.same_ts_zero_duration_slice_then_begin_end_slice_unnesting.json", "pftrace", "slices"),
}
