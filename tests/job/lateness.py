"""Who came how late to the collectives of a job, by what src/report/job/meetings.h says, from the tables of summaries, slowly.

    of = lateness.expected([(place, [row, ...]), ...])      rows of the tables `collectives` as dicts, summaries in their order
    of.meetings     {(group, sequence): Meeting}, group: (name or None, stream or None, point to point)
    of.arrivals     [(place, party, row, meeting)] of those that are compared; late and waited follow from the meeting
    of.defects      {(group, sequence or None, defect): (first party, parties)}
"""
import collections
import dataclasses


@dataclasses.dataclass
class Meeting:
    rows: list  # (place, party, row) as read
    compared: bool = False

    def durations(self):
        return [duration(row) for _, _, row in self.rows]

    def last(self):
        return min((duration(row), key(party)) for _, party, row in self.rows)[1]


@dataclasses.dataclass
class Lateness:
    meetings: dict
    arrivals: list
    defects: dict
    seats: dict  # {(group, party): row with the highest sequence}


def duration(row):
    if row["start"] is None or row["end"] is None or row["end"] < row["start"]:
        return None
    return row["end"] - row["start"]


def key(party):
    """None is the lowest."""
    return tuple((n is not None, n) for n in party)


def defects_of(meeting, parties):
    """{defect: parties in the order of reading}"""
    first, found, seen = meeting.rows[0][2], collections.defaultdict(list), set()
    for _, party, row in meeting.rows:
        for name, has in (("operation", row["operation"] != first["operation"]), ("untimed", duration(row) is None), ("bytes", row["bytes"] != first["bytes"]),
                          ("size", row["size"] != first["size"]), ("double", party in seen)):
            if has:
                found[name].append(party)
        seen.add(party)
    if parties - seen:
        found["missing"] = sorted(parties - seen, key=key)
    return found


def expected(summaries):
    groups, sizes, arrivals, defects, meetings, seats = {}, {}, [], {}, {}, {}
    for place, rows in summaries:
        for row in rows:
            party = (place if row["rank"] is None else row["rank"], row["device"])
            group = (row["group"], row["stream"] if row["group"] is None else None, row["point_to_point"])
            groups.setdefault(group, {}).setdefault(row["sequence"], Meeting([])).rows.append((place, party, row))
            if row["size"] is not None:
                sizes.setdefault(group, row["size"])
            above = seats.get((group, party))
            if above is None or row["sequence"] >= above["sequence"]:
                seats[group, party] = row
    for group, of in groups.items():
        rows = [r for m in of.values() for r in m.rows]
        parties = {party for _, party, _ in rows}
        found = {sequence: defects_of(m, parties) for sequence, m in of.items()}
        uneven = any(f.keys() - {"size"} for f in found.values())
        refused = []
        if len(parties) > 1:
            refused += ["counted"] if uneven and any(row["counted"] for _, _, row in rows) else []
            refused += ["several"] if 0 < sizes.get(group, 0) < len(parties) else []
        defects.update({(group, None, name): (min(parties, key=key), len(parties)) for name in refused})
        for sequence, m in of.items():
            meetings[group, sequence] = m
            defects.update({(group, sequence, name): (min(who, key=key), len(who)) for name, who in found[sequence].items()})
            m.compared = len({p for _, p, _ in m.rows}) > 1 and not refused and not found[sequence].keys() & {"double", "operation", "untimed"}
            arrivals += [(place, party, row, m) for place, party, row in m.rows if m.compared]
    return Lateness(meetings, arrivals, defects, seats)
