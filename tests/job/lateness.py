"""Who came how late to the collectives of a job, by what src/report/job/meetings.h says, from the tables of summaries, slowly.

    of = lateness.expected([(place, [row, ...]), ...])      rows of the tables `collectives` as dicts, summaries in their order
    of.meetings     {(group, sequence): Meeting}, group: (name or None, stream or None, point to point)
    of.arrivals     [(place, party, row, meeting)] of those that are compared; late and waited follow from the meeting
    of.defects      {(group, sequence or None, defect): (first party, parties)}
"""
import collections
import dataclasses
import itertools

OWN_SIZES = ("AllToAll", "SendRecv")  # have other bytes on each rank
OF_STEP = 10**9  # a counted number is that of the step + 1 times this, and a place


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


def lacks(rows):
    """{sequence: parties that lack it} of a step whose parties have not as many collectives, as the one that has most has them: it may be any
    choice of as many of its own that looks like the other's, and is the first in the order of places."""
    looks = lambda row: (row["operation"], None if row["operation"] in OWN_SIZES else row["bytes"])
    lists, of = {}, collections.defaultdict(set)
    for _, party, row in sorted(rows, key=lambda r: r[2]["sequence"]):
        lists.setdefault(party, []).append((looks(row), row["sequence"]))
    most = max(sorted(lists, key=key), key=lambda party: len(lists[party]))
    for party, own in lists.items():
        for chosen in itertools.combinations(range(len(lists[most])), len(own)):
            if all(lists[most][at][0] == mine[0] for at, mine in zip(chosen, own)):
                for at in set(range(len(lists[most]))) - set(chosen):
                    of[lists[most][at][1]].add(party)
                break
    return of, {sequence for _, sequence in lists[most]}


def judge_step(of, found, parties):
    """What a group has in a step, where numbers are counted: changes `found` and tells whether it can't be compared."""
    rows = [r for m in of.values() for r in m.rows]
    here = {party for _, party, _ in rows}
    if all({party for _, party, _ in m.rows} == here for m in of.values()):
        mixed = any("operation" in f or ("bytes" in f and of[s].rows[0][2]["operation"] not in OWN_SIZES) for s, f in found.items())
        if mixed and len(here) > 1:
            found[min(of)]["counted"] = sorted(here, key=key)
        return mixed and len(here) > 1
    doubles = any("double" in f for f in found.values())
    lacking, most = ({}, set()) if doubles else lacks(rows)
    for sequence, f in found.items():
        for name in ("operation", "bytes", "missing"):
            f.pop(name, None)
        who = lacking.get(sequence, set()) | (parties - here if sequence in most else set())
        if who:
            f["missing"] = sorted(who, key=key)
    found[min(of)]["counted"] = sorted(here, key=key)
    return True


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
        several = len(parties) > 1 and 0 < sizes.get(group, 0) < len(parties)
        if several:
            defects[group, None, "several"] = min(parties, key=key), len(parties)
        elif sizes.get(group, 0) > len(parties) and not group[2]:
            defects[group, None, "fewer"] = min(parties, key=key), len(parties)
        uneven = set()
        if any(row["counted"] for _, _, row in rows):
            for step in {sequence // OF_STEP for sequence in of}:
                in_it = [sequence for sequence in of if sequence // OF_STEP == step]
                if judge_step({s: of[s] for s in in_it}, {s: found[s] for s in in_it}, parties):
                    uneven.update(in_it)
        for sequence, m in of.items():
            meetings[group, sequence] = m
            defects.update({(group, sequence, name): (min(who, key=key), len(who)) for name, who in found[sequence].items()})
            m.compared = len({p for _, p, _ in m.rows}) > 1 and not several and sequence not in uneven and not found[sequence].keys() & {"double", "operation", "untimed"}
            arrivals += [(place, party, row, m) for place, party, row in m.rows if m.compared]
    return Lateness(meetings, arrivals, defects, seats)
