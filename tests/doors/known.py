"""What is known to disagree: (noun, door, input). A line whose door answers right must be removed; none is to be added."""
ALL = ("sql", "json", "pftrace", "heddle")
GENERATED = {
    # `info` leaves out devices without numbers.
    ("device", "info", "devices_without_numbers"),
}
