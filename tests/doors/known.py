"""What is known to disagree: (noun, door, input). A line whose door answers right must be removed; none is to be added."""
GENERATED = set()
REAL = set()
#: Behind conversions, of the real traces: (input, format, noun).
BEHIND = {
    # The store's summary of a lane has ends to the nanosecond.
    ("ascend/level1_rank0_trace_view.json.gz", "heddle", "info.tracks"), ("straggler/ideal-timeline-ST.json.gz", "heddle", "info.tracks"),
    # Of equal ends the path takes the one that stands first in the file, and .pftrace is in the order of time.
    ("cupti/cupti_trace.json", "pftrace", "critical-path.paths"), ("cupti/cupti_trace.json", "pftrace", "critical-path.names"),
    ("cupti/cupti_trace.json", "pftrace", "critical-path.classes"),
    # Thread times of an end, slices of no length at one time, and a phase of several letters.
    ("chrome/perfetto/tests.json_all_slice_types.json", "pftrace", "slices"), ("chrome/perfetto/tests.json_flow.json", "pftrace", "slices"),
    ("chrome/perfetto/tests.same_ts_zero_duration_slice_then_begin_end_slice_unnesting.json", "pftrace", "slices"),
    ("chrome/perfetto/tests.string_pid_tid.json", "pftrace", "args"), ("chrome/perfetto/tests.decimal_timestamp_slices.json", "pftrace", "args"),
}
