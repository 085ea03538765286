"""What is known to disagree: (noun, door, input). A line whose door answers right must be removed; none is to be added."""
ALL = ("sql", "json", "pftrace", "heddle")
GENERATED = {
    # Some libraries' collectives are taken for computation.
    *(("class", door, "libraries") for door in (*ALL, "report")),
    # memset is compute; the page has it as a copy.
    ("class", "page", "memset"),
    # `info` leaves out devices without numbers.
    ("device", "info", "devices_without_numbers"),
    # Correlation ids are taken for the file's, not the process'.
    *(("launch", door, "same_correlations") for door in (*ALL, "page")),
    # A rank that nothing tells is 0 in SQL, and null in reports and on the page.
    *(("rank", door, "steps") for door in ALL),
}
