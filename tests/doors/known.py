"""What is known to disagree: (noun, door, input). A line whose door answers right must be removed; none is to be added."""
GENERATED = set()
REAL = set()
#: Behind conversions, of the real traces: (input, format, noun).
BEHIND = set()
