#!/usr/bin/env python3
"""make.py - writes the fixtures beside itself, and the seeds of fuzz/corpus/ftrace"""
import pathlib
import struct
import zlib

COMMON = [("unsigned short common_type", 0, 2, 0), ("unsigned char common_flags", 2, 1, 0),
          ("unsigned char common_preempt_count", 3, 1, 0), ("int common_pid", 4, 4, 1)]
STATES = 'print fmt: "prev_comm=%s ==> next_comm=%s", REC->prev_comm, __print_flags(REC->prev_state, "|", { 0x1, "S" }, ' \
    '{ 0x2, "D" }, { 0x40, "P" }), REC->prev_state & 0x80 ? "+" : "", REC->next_comm'
EVENTS = {
    "sched": [("sched_switch", 10, ["char prev_comm[16]", "pid_t prev_pid", "int prev_prio", "long prev_state", "char next_comm[16]",
                                    "pid_t next_pid", "int next_prio"], STATES),
              ("sched_waking", 11, ["char comm[16]", "pid_t pid", "int prio", "int target_cpu"], ""),
              ("sched_process_exec", 12, ["__data_loc char[] filename", "pid_t pid"], "")],
    "irq": [("irq_handler_entry", 20, ["int irq", "__rel_loc char[] name"], ""), ("irq_handler_exit", 21, ["int irq", "int ret"], ""),
            ("softirq_entry", 22, ["unsigned int vec"], ""), ("softirq_exit", 23, ["unsigned int vec"], "")],
    "gpu_scheduler": [
        ("drm_sched_job_queue", 30, ["unsigned long long fence_context", "unsigned long long fence_seqno", "__data_loc char[] ring",
                                     "__data_loc char[] dev", "unsigned int job_count"], ""),
        ("drm_sched_job_run", 31, ["unsigned long long fence_context", "unsigned long long fence_seqno", "__data_loc char[] ring",
                                   "__data_loc char[] dev", "unsigned int job_count"], ""),
        ("drm_sched_job_done", 32, ["unsigned long long fence_context", "unsigned long long fence_seqno"], ""),
        ("drm_sched_job", 33, ["void * fence", "__data_loc char[] name"], ""), ("drm_run_job", 34, ["void * fence", "__data_loc char[] name"], ""),
        ("drm_sched_process_job", 35, ["void * fence"], "")],
    "odd": [("arrays", 40, ["unsigned char bytes[4]", "unsigned long big", "signed char small", "__data_loc unsigned int[] list"], "")],
}
WIDTHS = {"pid_t": 4, "int": 4, "long": 8, "unsigned long long": 8, "void *": 8, "unsigned int": 4, "unsigned long": 8, "signed char": 1,
          "unsigned short": 2}
KERNEL = 2**64 - 0x1000


def width(field):
    if field.startswith(("__data_loc", "__rel_loc")):
        return 4
    if field.endswith("]"):
        return int(field[field.index("[") + 1:-1])
    return WIDTHS[field.rsplit(" ", 1)[0]]


def layout(fields):
    at = 8
    for field in fields:
        size = width(field)
        at += -at % min(size, 8) if not field.endswith("]") else 0
        yield field, at, size
        at += size


def format_text(name, number, fields, extra):
    lines = [f"name: {name}", f"ID: {number}", "format:"]
    for text, at, size, signed in COMMON:
        lines.append(f"\tfield:{text};\toffset:{at};\tsize:{size};\tsigned:{signed};")
    lines.append("")
    for text, at, size in layout(fields):
        signed = int(not text.startswith(("unsigned", "void", "__")))
        lines.append(f"\tfield:{text};\toffset:{at};\tsize:{size};\tsigned:{signed};")
    return "\n".join(lines + ["", extra or 'print fmt: ""']) + "\n"


BY_NAME = {e[0]: e for events in EVENTS.values() for e in events}


def event(name, tid, *values):
    _, number, fields, _ = BY_NAME[name]
    places = list(layout(fields))
    end = max((at + size for _, at, size in places), default=8)
    data = bytearray(struct.pack("<HBBi", number, 0, 0, tid).ljust(end, b"\0"))
    for (field, at, size), value in zip(places, values):
        if field.startswith(("__data_loc", "__rel_loc")):
            value = value.encode() + b"\0" if isinstance(value, str) else value
            start = len(data) - (at + 4 if field.startswith("__rel_loc") else 0)
            data[at:at + 4] = struct.pack("<I", start | len(value) << 16)
            data += value
        elif isinstance(value, (str, bytes)):
            data[at:at + size] = (value.encode() if isinstance(value, str) else value).ljust(size, b"\0")[:size]
        else:
            data[at:at + size] = (value % 2**(8 * size)).to_bytes(size, "little")
    return bytes(data) + bytes(-len(data) % 4)


def page(start, events, missed=0, stored=0, size=4096):
    """events: (time, bytes), or bytes of a record as they stand"""
    body, now = b"", start
    for time, data in events:
        delta = time - now
        if delta >> 27:
            body += struct.pack("<II", 30 | (delta & (1 << 27) - 1) << 5, delta >> 27)
            delta = 0
        now = time
        if len(data) // 4 <= 28:
            body += struct.pack("<I", len(data) // 4 | delta << 5) + data
        else:
            body += struct.pack("<II", delta << 5, len(data) + 4) + data
    flags = (1 << 31 if missed else 0) | (1 << 30 if stored else 0)
    tail = struct.pack("<Q", missed) if stored else b""
    return (struct.pack("<QQ", start, len(body) | flags) + body + tail).ljust(size, b"\0")


def block(text, bits=64):
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q" if bits == 64 else "<I", len(data)) + data


HEADER_PAGE = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" \
    "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
CMDLINES = "7 worker\n8 <...>\n9 gpu app\n"


def header_info():
    return b"header_page\0" + block(HEADER_PAGE) + b"header_event\0" + block("# compressed entry header\n")


def systems():
    out = struct.pack("<I", len(EVENTS))
    for name, events in EVENTS.items():
        out += name.encode() + b"\0" + struct.pack("<I", len(events)) + b"".join(block(format_text(*e)) for e in events)
    return out


def options(*items):
    return b"".join(struct.pack("<HI", number, len(data)) + data for number, data in items)


def six(cpus, opts=b"", names=CMDLINES):
    head = b"\x17\x08\x44tracing6\0" + struct.pack("<BBI", 0, 8, 4096) + header_info() + struct.pack("<I", 0) + systems() + \
        block("", 32) + block("", 32) + block(names) + struct.pack("<I", len(cpus)) + b"options  \0" + opts + struct.pack("<H", 0) + b"flyrecord\0"
    at = len(head) + 16 * len(cpus)
    at += -at % 4096
    table, data = b"", b""
    for pages in cpus:
        body = b"".join(pages)
        table += struct.pack("<QQ", at + len(data), len(body))
        data += body
    return (head + table).ljust(at, b"\0") + data


def packed(data):
    small = zlib.compress(data)
    return struct.pack("<II", len(small), len(data)) + small


def seven(cpus, compressed=False):
    """sections of version 7, not compressed, or by zlib"""
    name = b"zlib\x001.2\0" if compressed else b"none\0\0"
    out = bytearray(b"\x17\x08\x44tracing7\0" + struct.pack("<BBI", 0, 8, 4096) + name + bytes(8))
    where = len(out) - 8

    def section(number, data, pack=compressed):
        data = packed(data) if pack else data
        out.extend(struct.pack("<HHIQ", number, int(compressed), 0, len(data)) + data)
        return len(out) - len(data) - 16

    offsets = [(16, section(16, header_info())), (17, section(17, struct.pack("<I", 0))), (18, section(18, systems())),
               (21, section(21, block(CMDLINES))), (23, section(23, block("7 6\n9 9\n")))]
    bodies = [b"".join(p) for p in cpus]
    if compressed:  # the number of chunks, which the size does not count, and a chunk for each page
        bodies = [struct.pack("<I", len(p)) + b"".join(map(packed, p)) for p in cpus]
    buffer = section(3, b"".join(bodies), False)
    table, at = b"", buffer + 16
    for number, body in enumerate(bodies):
        table += struct.pack("<IQQ", number, at, len(body) - (4 if compressed else 0))
        at += len(body)
    about = struct.pack("<Q", buffer) + b"\0" + b"x86-tsc\0" + struct.pack("<II", 4096, len(cpus)) + table
    ticks = struct.pack("<IIQ", 3, 1, 5)
    out[where:where + 8] = struct.pack("<Q", len(out))
    items = options(*[(n, struct.pack("<Q", o)) for n, o in offsets], (14, ticks), (3, about), (0, bytes(8)))
    section(0, items)
    return bytes(out)


def cpus():
    fence = KERNEL + 0x40
    one = [(1000, event("sched_switch", 0, "swapper/0", 0, 120, 0, "worker", 7, 120)),
           (1100, event("irq_handler_entry", 7, 19, "eth0")), (1150, event("irq_handler_exit", 7, 19, 1)),
           (1160, event("softirq_entry", 7, 3)), (1190, event("softirq_exit", 7, 3)),
           (1200, event("drm_sched_job_queue", 7, 5, 1, "gfx", "0000:03:00.0", 1)),
           (1300, event("drm_sched_job_queue", 7, 5, 2, "sdma0", "0000:03:00.0", 2)),
           (1400, event("sched_switch", 7, "worker", 7, 120, 2, "gpu app", 9, 110)),
           (1500, event("drm_sched_job", 9, fence, "comp_1")),
           (1600 + (1 << 28), event("sched_switch", 9, "gpu app", 9, 110, 0x80, "worker", 7, 120))]
    two = [(1050, event("sched_waking", 0, "worker", 7, 120, 0)), (1250, event("drm_sched_job_run", 20, 5, 1, "gfx", "0000:03:00.0", 1)),
           (1350, event("sched_waking", 20, "gpu app", 9, 110, 0)), (1360, event("drm_sched_job_run", 20, 5, 2, "sdma0", "0000:03:00.0", 2)),
           (1450, event("drm_sched_job_done", 0, 5, 1)), (1460, event("drm_sched_job_done", 0, 5, 2)),
           (1520, event("drm_run_job", 20, fence, "comp_1")), (1530, event("sched_waking", 20, "worker", 7, 120, 1)),
           (1580, event("drm_sched_process_job", 0, fence)), (1590, event("drm_sched_job_done", 0, 77, 1)),
           (1595, event("sched_process_exec", 20, "/usr/bin/a-path-that-is-longer-than-one-hundred-and-twelve-bytes" + "/x" * 40, 20)),
           (1596, event("arrays", 20, b"\x01\x02\xfe\xff", 2**64 - 1, -3, b"\x01\0\0\0\x02\0\0\0"))]
    return [[page(1000, one[:5]), page(1160, one[5:])], [page(1050, two)]]


GPU = """# tracer: nop
#
#           TASK-PID     TGID     CPU#  |||||  TIMESTAMP  FUNCTION
          app one-41      (     40) [001] d..3.    10.000001: drm_sched_job: entity=00000000aa, id=1, fence=00000000f1, ring=gfx, job count:1, hw job count:0
     gfx_0.0.0-50      (-----) [002] .....    10.000003: drm_run_job: entity=00000000aa, id=1, fence=00000000f1, ring=gfx, job count:0, hw job count:1
          <idle>-0       (-----) [001] d.h..    10.000009: drm_sched_process_job: fence=00000000f1 signaled
          app one-41      (     40) [001] .....    10.000010: drm_sched_job_queue: dev=0000:03:00.0, id=2, fence=7:1, ring=sdma1, job count:1, hw job count:0, client_id:12
           sdma1-51      (     51) [002] .....    10.000011: drm_sched_job_run: dev=0000:03:00.0, id=2, fence=7:1, ring=sdma1, job count:0, hw job count:1, client_id:12
           sdma1-51      (     51) [002] .....    10.000012: drm_sched_job_add_dep: fence=7:2 depends on fence=7:1
          <idle>-0       (-----) [001] d.h..    10.000015: drm_sched_job_done: fence=7:1 signaled
          app one-41      (     40) [001] .....    10.000020: amdgpu_cs_ioctl: sched_job=3, timeline=gfx_0.0.0, context=9, seqno=4, ring_name=gfx_0.0.0, num_ibs=1
     gfx_0.0.0-50      (-----) [002] .....    10.000021: amdgpu_sched_run_job: sched_job=3, timeline=gfx_0.0.0, context=9, seqno=4, ring_name=gfx_0.0.0, num_ibs=1
          app one-41      (     40) [001] .....    10.000022: dma_fence_wait_start: driver=drm_sched timeline=gfx_0.0.0 context=9 seqno=4
          <idle>-0       (-----) [002] d.h..    10.000030: dma_fence_signaled: driver=drm_sched timeline=gfx_0.0.0 context=9 seqno=4
          app one-41      (     40) [001] .....    10.000031: dma_fence_wait_end: driver=drm_sched timeline=gfx_0.0.0 context=9 seqno=4
          app one-41      (     40) [001] .....    10.000032: i915_request_queue: dev=0, engine=1:0, ctx=3, seqno=8, flags=0x0
          app one-41      (     40) [001] .....    10.000033: i915_request_add: dev=0, engine=1:0, ctx=3, seqno=8, tail=64
          app one-41      (     40) [001] .....    10.000040: i915_request_retire: dev=0, engine=1:0, ctx=3, seqno=8
          app one-41      (     40) [001] .....    10.000041: dma_fence_emit: driver=i915 timeline=rcs0 context=2 seqno=1
          app one-41      (     40) [001] .....    10.000049: dma_fence_signaled: driver=i915 timeline=rcs0 context=2 seqno=1
          app one-41      (     40) [001] .....    10.000050: gpu_mem_total: gpu_id=0 pid=40 size=4096
          app one-41      (     40) [001] .....    10.000051: gpu_mem_total: gpu_id=0 pid=0 size=8192
          app one-41      (     40) [001] .....    10.000060: gpu_work_period: gpu_id=0 uid=1000 start_time_ns=10000001000 end_time_ns=10000050000 total_active_duration_ns=30000
          app one-41      (     40) [001] .....    10.000061: drm_sched_job_queue: dev=0000:03:00.0, id=5, fence=7:9, ring=gfx, job count:1, hw job count:0, client_id:12
     gfx_0.0.0-50      (-----) [002] .....    10.000062: drm_sched_job_run: dev=0000:03:00.0, id=5, fence=7:9, ring=gfx, job count:0, hw job count:1, client_id:12
"""
KINDS = """cpus=2
         a-b:c 1-12    [000]   100.5: sched_switch:         a-b:c 1:12 [120] S ==> rs:main Q:Reg:13 [100]
   rs:main Q:Reg-13    [000]   100.500000123: sched_waking:         a-b:c 1:12 [120] CPU:001
   rs:main Q:Reg-13    [000]   100.500000200: sched_switch:         prev_comm=rs:main Q:Reg prev_pid=13 prev_prio=100 prev_state=R+ ==> next_comm=a b=c next_pid=12 next_prio=120
            a b=c-12    [000]   100.500000300: irq_handler_entry: irq=7 name=eth0 rx
            a b=c-12    [000]   100.500000310: softirq_entry: vec=1 [action=TIMER]
            a b=c-12    [000]   100.500000320: softirq_exit: vec=1 [action=TIMER]
            a b=c-12    [000]   100.500000330: irq_handler_exit: irq=7 ret=handled
          <idle>-0     [001]   100.500000340: cpu_frequency: state=1200000 cpu_id=1
            a b=c-12    [000]   100.500000350: sys_close <-system_call_fastpath
            a b=c-12    [000]   100.500000360: print: tracing_mark_write: B|12|frame
            a b=c-12    [000]   100.500000370: my:event: x=-5 y=9223372036854775808 z=
"""
BAD = """# tracer: nop
            sh-1    [000]   1.000000: sched_switch: prev_comm=sh prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=x next_pid=2 next_prio=120
CPU:0 [LOST 12 EVENTS]
            sh-1    [000]   1.000100: sched_switch: prev_comm=sh prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=x next_pid=2 next_prio=120
 0)   0.5 us    |  do_it();
no event at all
            b\xff-3    [000]   1.000200: thing: a=\xfe
            sh-1    [000]   99999999999999999.0: thing: a=1
            sh-1    [000]   2.000000: cut_off
"""

GRAPH = """# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0)               |          } /* outer_one */
 0)   0.541 us    |          __fput();
 0) ! 120.500 us  |        } /* outer_two */
 0)               |  do_sys_open(dfd=0xffffff9c, flags=0x8000) {
 0)   0.541 us    |    getname(); /* = 0x0 */
 0)   ==========> |
 0)               |    /* sched_waking: comm=sh pid=12 prio=120 target_cpu=001 */
 0)               |    /* it is (a text) of trace_printk */
 0)   <========== |
 0) + 10.125 us   |  } /* do_sys_open ret=0x3 */
 ------------------------------------------
 0)     sh-12     =>   kworker/0:1-7
 ------------------------------------------

 0)               |  process_one_work() {
 0)               |    work_fn [mod]() {
 1)   2.000 us    |  tick_irq_enter();
 0)   4.000 us    |  } /* process_one_work */
   360.774522 |   1)    sh-12     |  d..1 |   0.541 us    |  stop_one();
   360.774530 |   1)    sh-12     |  d..1 |               |  stop_all() {
   360.774531 |   1)    sh-12     |  d..1 |   1.999 us    |    stop_two();
   360.774533 |   1)    sh-12     |  d..1 |   2.100 us    |  }
              sh-12    [001]   361.000000001: funcgraph_entry:                   |  vfs_read() {
              sh-12    [001]   361.000000101: funcgraph_entry:        0.500 us   |    rw_verify_area();
              sh-12    [001]   361.000000901: funcgraph_exit:         0.900 us   |  }
              sh-12    [001]   361.000001: do_filp_open <-do_sys_open
              sh-12    [001]   361.000002: funcgraph_entry:                   |  never_ends() {
"""
BAD_GRAPH = """# tracer: function_graph
 0)               |  {
 0)   x us        |  name();
 0)   1.0 us      |  no call
 0)   1.0 us
 999999999999999999999)   1.0 us    |  name();
 0)  9223372036854775807.0 us    |  long();
 0)  9223372036854775.0 us    |  long();
 0)  9223372036854775.0 us    |  longer();
 0)   1.0 us      |  }
 0)   1.0 us      |  } /*
 0)               |  a\xff() {
 0)   1.0 us      |  } /* b */
CPU:1 [LOST 3 EVENTS]
 9223372036.0 |  1)   9223372036854775.0 us    |  name();
 1)   -1.0 us     |  name();
 1)  a-99999999999999999999 | 1.0 us     |  name();
"""


def main():
    place = pathlib.Path(__file__).parent
    good = six(cpus(), options((4, b"[local] global x86-tsc"), (14, b"")))
    lost = cpus()
    lost[0][1] = page(1160, [(1200, event("arrays", 7, b"1234", 1, 1, b""))], missed=3, stored=3)
    lost[1] = [page(1050, [(1060, struct.pack("<HHi", 99, 0, 1)), (1070, event("arrays", 7, b"1234", 1, 1, b"")[:12])]),
               page(1100, [], missed=1)[:16] + struct.pack("<I", 27) + bytes(4076)]
    broken = bytearray(six(lost))
    at = broken.rindex(struct.pack("<QQ", 1100, 1 << 31))
    broken[at + 8:at + 16] = struct.pack("<Q", 8 | 1 << 31)
    inflated = bytearray(seven(cpus(), True))
    inflated[704:712] = b"\xfe\x7f" + bytes(6)  # within a chunk: what a decompressor made of it depended on fresh memory
    hole = bytearray(good)
    hole[-4096:] = bytes(4096)  # a page that was never written
    lines = GPU.encode().splitlines(True)
    torn = b"".join(lines[:6]) + lines[6][:20] + bytes(200) + lines[9][40:] + b"".join(lines[10:14])
    files = {"bad-zlib.dat": bytes(inflated), "bad-zeros.dat": bytes(hole), "bad-hole.ftrace": torn, "small.dat": good, "edge-seven.dat": seven(cpus()), "edge-seven-zlib.dat": seven(cpus(), True), "bad-lost.dat": bytes(broken), "bad-cut.dat": good[:-5000],
             "gpu.ftrace": GPU.encode(), "kinds.ftrace": KINDS.encode(), "bad-lines.ftrace": BAD.encode("latin-1"),
             "graph.ftrace": GRAPH.encode(), "bad-graph.ftrace": BAD_GRAPH.encode("latin-1")}
    for name, data in files.items():
        (place / name).write_bytes(data)
        (place.parents[2] / "fuzz/corpus/ftrace" / name.replace(".", "-")).write_bytes(data)


if __name__ == "__main__":
    main()
