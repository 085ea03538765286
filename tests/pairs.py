"""Begins and ends of a track of Chrome JSON, paired as docs/formats/chrome.md says: for tests, in Python alone."""


def directly_followed(markers):
    """Is each begin directly followed by its end, at its time or later, of its name or of none?"""
    opened = None
    for time, is_end, name, _ in markers:
        if is_end == (opened is None):
            return False
        if is_end and (time < opened[0] or name not in (None, "", opened[1])):
            return False
        opened = None if is_end else (time, name)
    return True


def pairs_of(markers):
    """markers: (time, is_end, name, item) of one track, as in the file. Returns [(begin's item, end's item or None)] and
    the items of ends without a begin. An end closes the last open begin of its name, else the last open begin."""
    if not directly_followed(markers):
        markers = sorted(markers, key=lambda m: m[0])
    pairs, opened, alone = [], [], []
    for _, is_end, name, item in markers:
        if not is_end:
            opened.append((name, item))
        elif opened:
            of_name = [i for i, (begun, _) in enumerate(opened) if name and begun == name]
            _, begin = opened.pop(of_name[-1] if of_name else -1)
            pairs.append((begin, item))
        else:
            alone.append(item)
    return pairs + [(begin, None) for _, begin in opened], alone
