#!/usr/bin/env python3
"""make.py - writes the fixtures *.xml beside itself, and the seeds of fuzz/corpus/xctrace"""

import pathlib
import sys

GPU = (("start", "start-time"), ("duration", "duration"), ("channel-name", "gpu-channel-name"), ("frame-number", "gpu-frame-number"), ("start-latency", "duration"),
       ("event-depth", "metal-nesting-level"), ("event-label", "formatted-label"), ("state", "gpu-state"), ("process", "process"), ("gpu", "metal-device-name"),
       ("bytes", "size-in-bytes"), ("cmdbuffer-id", "metal-command-buffer-id"), ("encoder-id", "metal-command-buffer-id"), ("gpu-submission-id", "uint64"))
SUBMIT = (("timestamp", "start-time"), ("process", "process"), ("thread", "thread"), ("event-label", "narrative"), ("cmdbuffer-id", "metal-command-buffer-id"))
DRIVER = (("start", "start-time"), ("duration", "duration"), ("event-type", "metal-object-label"), ("event-depth", "metal-nesting-level"),
          ("event-label", "formatted-label"), ("process", "process"), ("thread", "thread"), ("gpu", "metal-device-name"), ("object-id", "metal-command-buffer-id"))
PROFILE = (("time", "sample-time"), ("thread", "thread"), ("process", "process"), ("core", "core"), ("weight", "weight"), ("stack", "tagged-backtrace"))


class Document:
    """values that were written once are referred to"""

    def __init__(self):
        self.ids = {}

    def value(self, tag, text=None, fmt=None, inner="", **more):
        if text is None and fmt is None and not inner and not more:
            return "<sentinel/>"
        key = (tag, text, fmt, inner, tuple(more.items()))
        if key in self.ids:
            return f'<{tag} ref="{self.ids[key]}"/>'
        self.ids[key] = len(self.ids) + 1
        fmt = f' fmt="{fmt}"' if fmt is not None else ""
        extra = "".join(f' {k}="{v}"' for k, v in more.items())
        return f'<{tag} id="{self.ids[key]}"{fmt}{extra}>{"" if text is None else text}{inner}</{tag}>'

    def process(self, name, pid):
        key = ("process", pid)
        if key in self.ids:
            return f'<process ref="{self.ids[key]}"/>'
        inner = self.value("pid", pid, str(pid))
        self.ids[key] = len(self.ids) + 1
        return f'<process id="{self.ids[key]}" fmt="{name} ({pid})">{inner}<device-session><!-- none --></device-session></process>'

    def thread(self, name, tid, process, pid):
        key = ("thread", tid)
        if key in self.ids:
            return f'<thread ref="{self.ids[key]}"/>'
        inner = self.value("tid", tid, hex(tid)) + self.process(process, pid)
        self.ids[key] = len(self.ids) + 1
        return f'<thread id="{self.ids[key]}" fmt="{name} ({hex(tid)}) ({process}, pid: {pid})">{inner}</thread>'


def schema(name, columns):
    return f'<schema name="{name}">' + "".join(f"<col><mnemonic>{m}</mnemonic><name>{m}</name><engineering-type>{t}</engineering-type></col>" for m, t in columns) + \
        "</schema>"


def node(number, head, rows, run=1):
    return f"<node xpath='//trace-toc[1]/run[{run}]/data[1]/table[{number}]'>{head}" + "\n".join(f"<row>{r}</row>" for r in rows) + "</node>\n"


def document(*nodes):
    return '<?xml version="1.0"?>\n<trace-query-result>\n' + "".join(nodes) + "</trace-query-result>\n"


def gpu_row(d, start, duration, channel, depth, label, process, pid, buffer, encoder, device="Apple M3", latency=6330000):
    return d.value("start-time", start, "00:00.9") + d.value("duration", duration, "1 µs") + d.value("gpu-channel-name", channel, channel) + \
        d.value("gpu-frame-number", 1, "Frame 1") + d.value("duration", latency, "6.33 ms") + d.value("metal-nesting-level", depth, str(depth)) + \
        d.value("formatted-label", None, f"{label}   ({process} ({pid})) 0x4e18") + d.value("gpu-state", "Active", "Active") + d.process(process, pid) + \
        d.value("metal-device-name", device, device) + d.value("size-in-bytes", 4096, "4.00 KiB") + d.value("metal-command-buffer-id", buffer, hex(buffer)) + \
        d.value("metal-command-buffer-id", encoder, hex(encoder)) + d.value("uint64", 2**64 - 1, "18,446,744,073,709,551,615")


def metal():
    """two processes, two channels, nested and overlapping rows, two devices; a table without its schema"""
    d = Document()
    rows = [gpu_row(d, 907208000, 13830, "Compute", 0, "Command Buffer 0:Compute Command 0", "app", 99, 500, 501),
            gpu_row(d, 907209000, 1000, "Compute", 1, "Command Buffer 0:Compute Command 1", "app", 99, 500, 502),
            gpu_row(d, 907220000, 5000, "Compute", 0, "Command Buffer 7:Blit", "WindowServer", 300, 700, 701),
            gpu_row(d, 907208500, 100, "Fragment", 0, "Command Buffer 1:Render", "app", 99, 510, 511),
            gpu_row(d, 907208500, 0, "Compute", 0, "Command Buffer 2:Compute", "app", 99, 2**64 - 1, 2, device="eGPU")]
    submits = [d.value("start-time", t, "00:00.9") + d.process("app", 99) + d.thread("Main Thread", 0x11ab, "app", 99) + d.value("narrative", None, "Committed") +
               d.value("metal-command-buffer-id", b, hex(b)) for t, b in ((900869000, 500), (900900000, 510))]
    driver = [d.value("start-time", 900921000, "") + d.value("duration", 5380000, "5.38 ms") + d.value("metal-object-label", "Command Buffer", "Command Buffer") +
              d.value("metal-nesting-level", 0, "0") + d.value("formatted-label", "Wire &amp; <b/>".replace("<b/>", ""), None) + d.process("app", 99) +
              d.thread("", 0x11ac, "app", 99) + d.value("metal-device-name", "Apple M3", "Apple M3") + d.value("metal-command-buffer-id", 2**64 - 1, "0xffffffffffffffff")]
    bare = [gpu_row(d, 907300000, 700, "Vertex", 0, "Command Buffer 3:Render", "app", 99, 510, 512)]
    return document(node(1, schema("metal-gpu-intervals", GPU), rows), node(2, schema("metal-application-command-buffer-submissions", SUBMIT), submits),
                    node(3, schema("metal-driver-intervals", DRIVER), driver), node(4, "", bare))


def samples():
    """backtraces with names; references that come before what they refer to, in values too; nulls"""
    d = Document()
    binary = d.value("binary", None, None, name="libfoo.dylib", path="/usr/lib/libfoo.dylib")
    frames = d.value("frame", None, None, inner=binary, name="leaf", addr="0x1000") + d.value("frame", None, None, name="main", addr="0x2000")
    stack = d.value("tagged-backtrace", None, "leaf", inner=f'<backtrace id="900">{frames}</backtrace>')
    one = d.value("sample-time", 678398000, "00:00.678") + '<thread ref="1000"/>' + d.process("app", 99) + d.value("core", 6, "CPU 6 (P Core)") + \
        d.value("weight", 1000000, "1.00 ms") + stack
    two = d.value("sample-time", 679398000, "00:00.679") + d.thread("Main Thread", 0x11ab, "app", 99).replace('id="', 'id="').replace("<thread id", "<thread id") + \
        d.process("app", 99) + "<sentinel/>" + d.value("weight", 1000000, "1.00 ms") + \
        '<tagged-backtrace id="901" fmt="leaf"><backtrace ref="902"/></tagged-backtrace>'
    three = "<sentinel/>" + d.thread("Main Thread", 0x11ab, "app", 99) + d.process("app", 99) + "<sentinel/><sentinel/><sentinel/>"
    late = '<sample-time id="903">680000000</sample-time><thread id="1000" fmt="late (0x7) (app, pid: 99)"><tid id="904" fmt="0x7">7</tid>' + d.process("app", 99) + \
        '</thread><sentinel/><sentinel/><sentinel/><tagged-backtrace id="905" fmt="x"><backtrace id="902"><frame id="906" name="" addr="0x3000"/>' \
        '<frame id="907" name="other"/></backtrace></tagged-backtrace>'
    return document(node(1, schema("time-profile", PROFILE), [one, two, three, late], run=3), node(9, schema("tick", (("time", "sample-time"),)), [
        d.value("sample-time", 10000000, "00:00.010")]))


def broken():
    """a row that is not XML, a reference to nothing, a negative duration, a time beyond 64 bits, a row that is cut off"""
    text = metal()
    text = text.replace("Command 1 ", "Command < 1 ", 1).replace(">5000<", ">-5000<", 1).replace(">100<", f">{2**63 - 1}<", 1)
    return text.replace('</row></node>\n<node xpath=\'//trace-toc[1]/run[1]/data[1]/table[4]', '<uint64 ref="9999"/></row></node>\n<node xpath=\'//trace-toc[1]/run[1]/'
                        'data[1]/table[4]', 1)[:-60]


def deep():
    text = metal()
    return text.replace("<row>", "<row>" + "<a>" * 300 + "</a>" * 300, 1).replace("</row></node>", "</row><row>" + "<b>" * 100 + "</b>" * 100 + "</row></node>", 1)


def bomb():
    entities = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{i} "&a{i - 1};&a{i - 1};&a{i - 1};">' for i in range(1, 30))
    return metal().replace("<trace-query-result>", f"<!DOCTYPE x [{entities}]>\n<trace-query-result>").replace("Active<", "&a29;<")


def detail():
    """a table, and Leaks: a detail of a track, whose rows are attributes"""
    row = '<row leaked-object="Malloc %d Bytes" size="%d" responsible-frame="%s" count="%d" responsible-library="app"/>'
    rows = row % (48, 48, "make_widget", 1) + row % (16, 48, "grow", 3)
    node = f"<node xpath='//trace-toc[1]/run[1]/tracks[1]/track[1]/details[1]/detail[1]'>{rows}</node>\n"
    return samples().replace("</trace-query-result>", node + "</trace-query-result>")


FIXTURES = {"metal": metal, "edge-samples": samples, "bad-row": broken, "bad-deep": deep, "bad-detail": detail, "doctype": bomb}

if __name__ == "__main__":
    place = pathlib.Path(__file__).parent
    if sys.argv[1:]:
        sys.stdout.write(FIXTURES[sys.argv[1]]())
        sys.exit()
    for name, make in FIXTURES.items():
        if name != "doctype":  # which is refused
            (place / f"{name}.xml").write_text(make())
        (place.parents[2] / "fuzz/corpus/xctrace" / name).write_text(make())
