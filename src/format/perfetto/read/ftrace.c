/* ftrace.c - FtraceEventBundle packets -> rows, by the code that reads ftrace (format/tracepoint)
 *
 * A bundle is of one CPU, and bundles of several CPUs follow each other: events are kept undecoded until all are read,
 * then placed in order of time. Events of scheduling, interrupts, power and GPUs are known; others are counted.
 * Switches and wakeups also occur as columns (compact_sched), without the previous thread, which is that of the CPU's
 * previous switch.
 */
#include <stdlib.h>

#include "base/memory/vector.h"
#include "base/protobuf/write.h"
#include "base/sorted.h"
#include "format/numbers.h"
#include "format/perfetto/read/reader.h"
#include "format/stack_text.h"

enum { KEYS = 8, KERNEL_4_14 = 4 << 16 | 14 };

typedef struct kernel_kind {
    uint32_t number; /* of the field of FtraceEvent */
    const char *name;
    const char *keys[KEYS]; /* by number of the field, from 1 */
} kernel_kind;

#define WAKEUP                                                                                                         \
    {                                                                                                                  \
        "comm", "pid", "prio", "success", "target_cpu"                                                                 \
    }
#define JOB                                                                                                            \
    {                                                                                                                  \
        "entity", "fence", "hw_job_count", "id", "job_count", "name"                                                   \
    }
#define FENCE                                                                                                          \
    {                                                                                                                  \
        "context", "driver", "seqno", "timeline"                                                                       \
    }

enum { KIND_SWITCH, KIND_WAKING };

static const kernel_kind kinds[] = {
    [KIND_SWITCH] = {4,
                     "sched_switch",
                     {"prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"}},
    [KIND_WAKING] = {20, "sched_waking", WAKEUP},
    {3, "print", {"ip", "buf"}},
    {11, "cpu_frequency", {"state", "cpu_id"}},
    {13, "cpu_idle", {"state", "cpu_id"}},
    {17, "sched_wakeup", WAKEUP},
    {24, "softirq_entry", {"vec"}},
    {25, "softirq_exit", {"vec"}},
    {26, "softirq_raise", {"vec"}},
    {36, "irq_handler_entry", {"irq", "name", "handler"}},
    {37, "irq_handler_exit", {"irq", "ret"}},
    {114, "sched_wakeup_new", WAKEUP},
    {236, "task_rename", {"pid", "oldcomm", "newcomm", "oom_score_adj"}},
    {340, "gpu_mem_total", {"gpu_id", "pid", "size"}},
    {411, "drm_sched_job", JOB},
    {412, "drm_run_job", JOB},
    {413, "drm_sched_process_job", {"fence"}},
    {415, "dma_fence_emit", FENCE},
    {416, "dma_fence_signaled", FENCE},
    {417, "dma_fence_wait_start", FENCE},
    {418, "dma_fence_wait_end", FENCE},
    {488, "gpu_work_period", {"gpu_id", "uid", "start_time_ns", "end_time_ns", "total_active_duration_ns"}},
};

struct perfetto_kernel_event {
    int64_t time_ns, tid;
    size_t at; /* of its message's bytes */
    uint32_t size, kind, cpu;
};

/* Data shared by all events of a bundle. */
typedef struct bundle {
    perfetto_reader *reader;
    perfetto_sequence *sequence;
    uint32_t cpu;
    int64_t shift_ns; /* from its clock to the time since boot */
} bundle;

/* ---- events ---- */

static hd_status keep_event(const bundle *b, uint32_t kind, int64_t tid, uint64_t time, const uint8_t *data,
                            size_t size)
{
    perfetto_reader *r = b->reader;
    int64_t time_ns;
    if (!perfetto_trace_time(&time_ns, r, b->sequence, PF_CLOCK_BOOTTIME, time + (uint64_t)b->shift_ns)) return HD_OK;
    HD_TRY(perfetto_grow(r, (void **)&r->kernel_events, &r->kernel_event_capacity, r->kernel_event_count,
                         sizeof *r->kernel_events));
    r->kernel_events[r->kernel_event_count++] =
        (perfetto_kernel_event){time_ns, tid, r->kernel_bytes.size, (uint32_t)size, kind, b->cpu};
    hd_bytes_put(&r->kernel_bytes, data, size);
    return r->kernel_bytes.failed ? HD_NOMEM(r->err) : HD_OK;
}

static hd_status read_event(const bundle *b, const hd_proto_field *field)
{
    enum { TIMESTAMP = 1, PID = 2, FLAGS = 5 };
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f, event = {0};
    uint64_t time = 0;
    int64_t tid = HD_NO_NUMBER;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(TIMESTAMP)) time = f.value;
        if (f.tag == HD_PROTO_VARINT(PID)) tid = (int32_t)f.value;
        if ((f.tag & 7) == HD_WIRE_BYTES) event = f;
    }
    HD_TRY(perfetto_check(b->reader, &message));
    for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds && event.tag; i++) {
        if (kinds[i].number == hd_proto_number(&event)) return keep_event(b, i, tid, time, event.data, event.size);
    }
    perfetto_note(b->reader, "perfetto.ftrace-event-unknown", HD_LEDGER_LOSS, 1);
    return HD_OK;
}

/* ---- columns ---- */

enum {
    SWITCH_TIME = 1,
    SWITCH_STATE,
    SWITCH_PID,
    SWITCH_PRIORITY,
    NAMES,
    SWITCH_NAME,
    WAKING_TIME,
    WAKING_PID,
    WAKING_CPU,
    WAKING_PRIORITY,
    WAKING_NAME,
    COLUMNS
};

typedef struct columns {
    hd_proto_field of[COLUMNS];
    size_t at[COLUMNS];
    hd_proto_field *names;
    size_t name_count, name_capacity;
    hd_proto_reader *message;
} columns;

static uint64_t next_value(columns *c, int column)
{
    uint64_t value = 0;
    if (c->of[column].data) hd_proto_repeated(&value, &c->of[column], HD_WIRE_VARINT, &c->at[column], c->message);
    return value;
}

static void put_name(hd_bytes *out, const columns *c, uint32_t number, uint64_t index)
{
    if (index < c->name_count) hd_pb_put_bytes(out, number, c->names[index].data, c->names[index].size);
}

/* Converts each row to the message that it represents. */
static hd_status keep_rows(const bundle *b, columns *c, bool are_switches)
{
    hd_bytes out = {0};
    int time_column = are_switches ? SWITCH_TIME : WAKING_TIME;
    uint64_t time = 0, delta;
    hd_status status = HD_OK;
    if (!c->of[time_column].data) return HD_OK;
    while (status == HD_OK &&
           hd_proto_repeated(&delta, &c->of[time_column], HD_WIRE_VARINT, &c->at[time_column], c->message)) {
        time += delta;
        out.size = 0;
        if (are_switches) {
            hd_pb_put_uint(&out, 4, next_value(c, SWITCH_STATE));
            hd_pb_put_uint(&out, 6, next_value(c, SWITCH_PID));
            hd_pb_put_uint(&out, 7, next_value(c, SWITCH_PRIORITY));
            put_name(&out, c, 5, next_value(c, SWITCH_NAME));
        } else {
            hd_pb_put_uint(&out, 2, next_value(c, WAKING_PID));
            hd_pb_put_uint(&out, 3, next_value(c, WAKING_PRIORITY));
            hd_pb_put_uint(&out, 5, next_value(c, WAKING_CPU));
            put_name(&out, c, 1, next_value(c, WAKING_NAME));
        }
        if (out.failed) status = HD_NOMEM(b->reader->err);
        if (status == HD_OK)
            status = keep_event(b, are_switches ? KIND_SWITCH : KIND_WAKING, HD_NO_NUMBER, time, out.data, out.size);
    }
    hd_bytes_deinit(&out);
    return status;
}

static hd_status read_columns(const bundle *b, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    columns c = {.message = &message};
    hd_status status = HD_OK;
    while (status == HD_OK && hd_proto_next(&f, &message)) {
        uint32_t number = hd_proto_number(&f);
        if ((f.tag & 7) != HD_WIRE_BYTES || number >= COLUMNS) continue;
        if (number != NAMES) c.of[number] = f;
        if (number != NAMES) continue;
        status = perfetto_grow(b->reader, (void **)&c.names, &c.name_capacity, c.name_count, sizeof f);
        if (status == HD_OK) c.names[c.name_count++] = f;
    }
    if (status == HD_OK) status = keep_rows(b, &c, true);
    if (status == HD_OK) status = keep_rows(b, &c, false);
    free(c.names);
    return status == HD_OK ? perfetto_check(b->reader, &message) : status;
}

/* ---- bundles ---- */

hd_status perfetto_read_ftrace(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field)
{
    enum { CPU = 1, EVENT, LOST, COMPACT, CLOCK, CLOCK_TIME, BOOT_TIME };
    hd_proto_reader first = hd_proto_reader_of(field->data, field->size), message = first;
    hd_proto_field f;
    uint64_t clock = 0, clock_time = 0, boot_time = 0;
    bundle b = {.reader = reader, .sequence = sequence};
    while (hd_proto_next(&f, &first)) {
        if (f.tag == HD_PROTO_VARINT(CPU)) b.cpu = (uint32_t)f.value;
        if (f.tag == HD_PROTO_VARINT(CLOCK)) clock = f.value;
        if (f.tag == HD_PROTO_VARINT(CLOCK_TIME)) clock_time = f.value;
        if (f.tag == HD_PROTO_VARINT(BOOT_TIME)) boot_time = f.value;
        if (f.tag == HD_PROTO_VARINT(LOST) && f.value)
            perfetto_note(reader, "perfetto.ftrace-events-lost", HD_LEDGER_LOSS, 1);
    }
    if (clock && clock_time && boot_time) b.shift_ns = (int64_t)(boot_time - clock_time);
    if (clock && !boot_time) perfetto_note(reader, "perfetto.ftrace-clock", HD_LEDGER_NOTE, 1);
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_BYTES(EVENT)) HD_TRY(read_event(&b, &f));
        if (f.tag == HD_PROTO_BYTES(COMPACT)) HD_TRY(read_columns(&b, &f));
    }
    return perfetto_check(reader, &message);
}

/* "6.1.0-13-amd64" of SystemInfo's utsname. */
hd_status perfetto_read_system_info(perfetto_reader *reader, const hd_proto_field *field)
{
    enum { UTSNAME = 1, RELEASE = 3 };
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f, g;
    perfetto_note(reader, "perfetto.packet-system-info", HD_LEDGER_NOTE, 1);
    while (hd_proto_next(&f, &message)) {
        if (f.tag != HD_PROTO_BYTES(UTSNAME)) continue;
        hd_proto_reader names = hd_proto_reader_of(f.data, f.size);
        while (hd_proto_next(&g, &names)) {
            uint32_t part[2] = {0};
            if (g.tag != HD_PROTO_BYTES(RELEASE)) continue;
            for (size_t i = 0, n = 0; i < g.size && n < 2 && (g.data[i] == '.' || hd_is_digit((char)g.data[i])); i++) {
                if (g.data[i] == '.')
                    n++;
                else if (part[n] < 1000)
                    part[n] = part[n] * 10 + (uint32_t)(g.data[i] - '0');
            }
            reader->kernel_version = part[0] << 16 | part[1];
        }
    }
    return perfetto_check(reader, &message);
}

/* ---- rows ---- */

static bool is_address(const char *key)
{
    return strcmp(key, "fence") == 0 || strcmp(key, "ip") == 0 || strcmp(key, "entity") == 0 ||
           strcmp(key, "handler") == 0;
}

/* The state flags by kernel version, since the trace has no print format. Without a version Perfetto assumes old
 * ones. */
static const char *states_of(const perfetto_reader *r)
{
    static const char old[] = "{ 1, \"S\" }, { 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"X\" }, { 32, \"Z\" }, "
                              "{ 64, \"x\" }, { 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }, { 1024, \"N\" }";
    static const char since_4_14[] = "{ 1, \"S\" }, { 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"X\" }, "
                                     "{ 32, \"Z\" }, { 64, \"P\" }, { 128, \"I\" }";
    return r->kernel_version >= KERNEL_4_14 ? since_4_14 : old;
}

static void decode(tp_event *out, tp_place *place, const perfetto_kernel_event *event, const uint8_t *data,
                   const char *states)
{
    const kernel_kind *kind = &kinds[event->kind];
    hd_proto_reader message = hd_proto_reader_of(data, event->size);
    hd_proto_field f;
    *out = (tp_event){.time_ns = event->time_ns, .cpu = event->cpu, .tid = event->tid};
    out->name = tp_key(place, kind->name);
    out->state_text = states;
    out->state_size = strlen(states);
    while (hd_proto_next(&f, &message) && out->count < TP_VALUES) {
        uint32_t number = hd_proto_number(&f);
        const char *key = number && number <= KEYS ? kind->keys[number - 1] : NULL;
        tp_value *value = &out->values[out->count];
        if (!key) continue;
        value->key = tp_key(place, key);
        if ((f.tag & 7) == HD_WIRE_BYTES) {
            value->type = HD_ARG_STRING;
            value->bits = tp_text(place, (const char *)f.data, f.size);
        } else if (is_address(key)) {
            value->type = hd_value_of_unsigned(&value->bits, place->builder, f.value);
        } else {
            value->type = HD_ARG_INT;
            value->bits = (int64_t)f.value;
        }
        out->count++;
    }
}

/* Of columns the thread that was left is the one that ran. */
static void add_previous(tp_event *event, tp_place *place)
{
    int64_t known;
    tp_cpu *cpu = tp_cpu_of(place, event->cpu);
    if (tp_int(&known, place, event, "prev_pid")) return;
    tp_put_int(place, event, tp_key(place, "prev_pid"), cpu && cpu->since_ns != HD_NO_TIME ? cpu->tid : 0);
}

static hd_status place_all(perfetto_reader *r, tp_place *place)
{
    for (size_t i = 0; i < r->kernel_processes.count; i++) {
        const hd_map_entry *entry = &r->kernel_processes.entries[i];
        HD_TRY(tp_know_process(place, (int64_t)entry->a, entry->value));
    }
    for (size_t i = 0; i < r->kernel_event_count; i++) {
        const perfetto_kernel_event *e = &r->kernel_events[i];
        tp_event event;
        decode(&event, place, e, r->kernel_bytes.data + e->at, states_of(r));
        if (e->kind == KIND_SWITCH) add_previous(&event, place);
        HD_TRY(tp_add(place, &event));
    }
    if (place->repaired) perfetto_note(r, "perfetto.utf8", HD_LEDGER_REPAIR, place->repaired);
    if (place->switches_lost) perfetto_note(r, "perfetto.switch-missing", HD_LEDGER_NOTE, place->switches_lost);
    return tp_finish(place);
}

hd_status perfetto_finish_ftrace(perfetto_reader *r)
{
    tp_place place;
    if (!r->kernel_event_count) return HD_OK;
    perfetto_kernel_event *spare = malloc(r->kernel_event_count * sizeof *spare);
    if (!spare) return HD_NOMEM(r->err);
    HD_SORT_RUNS(r->kernel_events, spare, r->kernel_event_count, x, y, x->time_ns < y->time_ns);
    free(spare);
    hd_status status = tp_open(&place, r->builder, r->options, r->err);
    if (status == HD_OK) status = place_all(r, &place);
    tp_close(&place);
    return status;
}

void perfetto_ftrace_free(perfetto_reader *r)
{
    free(r->kernel_events);
    hd_bytes_deinit(&r->kernel_bytes);
    hd_map_deinit(&r->kernel_processes);
}
