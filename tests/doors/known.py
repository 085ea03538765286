"""What is known to disagree: (noun, door, input). A line whose door answers right must be removed; none is to be added."""
GENERATED = set()
REAL = set()
#: Behind conversions, of the real traces: (input, format, noun).
BEHIND = {
    # An empty slice before a begin event of the same time comes back inside of that slice.
    ("chrome/perfetto/tests.same_ts_zero_duration_slice_then_begin_end_slice_unnesting.json", "pftrace", "slices"),
}
