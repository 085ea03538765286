"""What is known to disagree: (noun, door, input). A line whose door answers right must be removed; none is to be added."""
GENERATED = set()
#: The page does not count an Ascend collective's waits as communication, as `breakdown` does.
REAL = {("class", "page", "ascend/level1_rank1.db")}
