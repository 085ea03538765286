"""Sets of whole nanoseconds as sorted lists of (start, end) that do not touch: union, common part, difference."""


def union(spans):
    out = []
    for start, end in sorted(spans):
        if end <= start:
            continue
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def length(spans):
    return sum(end - start for start, end in spans)


def common(a, b):
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < end:
            out.append((start, end))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return out


def without(a, b):
    """What is in a and not in b."""
    out, j = [], 0
    for start, end in a:
        while j < len(b) and b[j][1] <= start:
            j += 1
        k = j
        while k < len(b) and b[k][0] < end:
            if b[k][0] > start:
                out.append((start, b[k][0]))
            start = max(start, b[k][1])
            k += 1
        if start < end:
            out.append((start, end))
    return out


def of(slices):
    return union((s.start, s.end) for s in slices)


def levels(spans, window):
    """[(start, end, how many of the spans run)] over the window, without gaps: [window) in pieces."""
    changes = {window[0]: 0, window[1]: 0}
    for start, end in spans:
        start, end = max(start, window[0]), min(end, window[1])
        if start < end:
            changes[start] = changes.get(start, 0) + 1
            changes[end] = changes.get(end, 0) - 1
    out, level, times = [], 0, sorted(changes)
    for at, until in zip(times, times[1:]):
        level += changes[at]
        out.append((at, until, level))
    return out
