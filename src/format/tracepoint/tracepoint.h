/* tracepoint.h - converts events of Linux's tracepoints, from any source, to rows of a trace
 *
 *   layout.c   the kernel's `format` text, and the fields of an event by it
 *   place.c    an event -> rows: threads, interrupts, counters; all other events are instants
 *   sched.c    scheduling -> slices of CPUs, and states of threads (phase T, category thread_state)
 *   gpu.c      drm_sched, amdgpu, i915, dma_fence, gpu_mem_total -> activities on queues, waits, counters
 *
 *     tp_open(&place, builder, options, err);
 *     tp_add(&place, &event); …                     events in order of time
 *     tp_finish(&place);                            tp_close(&place);
 */
#ifndef HD_FORMAT_TRACEPOINT_TRACEPOINT_H
#define HD_FORMAT_TRACEPOINT_TRACEPOINT_H

#include "base/bytes.h"
#include "base/map.h"
#include "format/format.h"
#include "format/rows_out.h"

enum { TP_VALUES = 64, TP_NO_CPU = -1 };

typedef struct tp_value {
    uint32_t key; /* string id */
    hd_arg_type type;
    int64_t bits;
} tp_value;

typedef struct tp_event {
    int64_t time_ns;
    int64_t cpu;            /* TP_NO_CPU: unknown */
    int64_t pid, tid;       /* the thread that it came from; HD_NO_NUMBER: unknown */
    uint32_t name;          /* string id */
    const char *state_text; /* of sched_switch: its print format, NULL: unknown */
    size_t state_size;
    tp_value values[TP_VALUES];
    uint32_t count;
} tp_event;

/* ---- layouts ---- */

typedef enum tp_field_kind {
    TP_SIGNED,
    TP_UNSIGNED,
    TP_CHARS,
    TP_DYNAMIC,
    TP_DYNAMIC_RELATIVE,
    TP_BYTES
} tp_field_kind;

typedef struct tp_field {
    uint32_t key; /* string id */
    uint32_t offset, size;
    tp_field_kind kind;
    bool is_text; /* of DYNAMIC: characters; else bytes or numbers */
} tp_field;

typedef struct tp_layout {
    uint32_t id, name, system; /* name, system: string ids */
    tp_field *fields;          /* without those of all events (common_…) */
    uint32_t field_count;
    uint32_t pid_offset; /* of common_pid */
    bool has_pid;
    char *print; /* the print format, malloc'ed */
} tp_layout;

typedef struct tp_layouts {
    tp_layout *list;
    size_t count, capacity;
    hd_map by_id;
} tp_layouts;

typedef struct tp_place tp_place;

/* Adds the text of one `format` file. false: invalid; *err: MEMORY. */
hd_status tp_layouts_add(tp_layouts *layouts, bool *out_good, tp_place *place, hd_string system, const char *text,
                         size_t size);
const tp_layout *tp_layouts_find(const tp_layouts *layouts, uint32_t id); /* NULL: none */
void tp_layouts_deinit(tp_layouts *layouts);

/* Decodes the values, and the tid, of an event's bytes; values outside of them are left out, and false is returned. */
bool tp_decode(tp_event *out, tp_place *place, const tp_layout *layout, const uint8_t *data, size_t size);

/* ---- places ---- */

typedef struct tp_thread {
    int64_t tid;
    uint32_t track, comm;
    int64_t since_ns; /* of its state; HD_NO_TIME: unknown */
    uint32_t state;   /* string id */
    int64_t cpu;      /* while it runs */
} tp_thread;

typedef struct tp_cpu {
    int64_t number;
    uint32_t track, interrupts;      /* HD_NONE: not made yet */
    int64_t tid, since_ns, priority; /* of the running thread; since: HD_NO_TIME unknown */
    uint32_t name;
} tp_cpu;

/* Work of a GPU between its queueing and its end (gpu.c). */
typedef struct tp_job tp_job;

struct tp_place {
    hd_builder *builder;
    const hd_read_options *options;
    hd_error *err;
    hd_rows_out rows;
    hd_map handlers, shapes, thread_by_tid, cpu_by_number, process_of, comm_of;
    tp_thread *threads;
    size_t thread_count, thread_capacity;
    tp_cpu *cpus;
    size_t cpu_count, cpu_capacity;
    hd_map jobs;    /* (fence's context, number), or (0, address) -> tp_job */
    hd_map fences;  /* likewise -> id of the async slice */
    hd_map rings;   /* (device, ring) -> track, + 1 */
    hd_map devices; /* -> number, + 1 */
    int64_t correlations;
    hd_bytes text;
    uint64_t repaired; /* texts that are not UTF-8 */
    uint64_t events;
    bool no_instants;       /* the caller stores them otherwise */
    uint64_t switches_lost; /* a CPU's thread was another than the last switch said */
};

hd_status tp_open(tp_place *place, hd_builder *builder, const hd_read_options *options, hd_error *err);
hd_status tp_add(tp_place *place, const tp_event *event);
/* Running states have no end. Rows go to the builder; threads get their names. */
hd_status tp_finish(tp_place *place);
void tp_close(tp_place *place);

/* The process of a thread, and its name; the last counts. Before its first event. */
hd_status tp_know_process(tp_place *place, int64_t tid, int64_t pid);
hd_status tp_know_name(tp_place *place, int64_t tid, hd_string name);

/* Append "key=value key=value", as events are printed. */
void tp_put_words(hd_bytes *out, const tp_place *place, const tp_event *event);
/* The id of a text, as UTF-8. */
uint32_t tp_text(tp_place *place, const char *data, size_t size);
uint32_t tp_key(tp_place *place, const char *text);
void tp_put_int(tp_place *place, tp_event *event, uint32_t key, int64_t value);
void tp_put_text(tp_event *event, uint32_t key, uint32_t text);

/* ---- among the files of this room ---- */

bool tp_int(int64_t *out, tp_place *place, const tp_event *event, const char *key);
uint32_t tp_string(tp_place *place, const tp_event *event, const char *key); /* HD_STRING_NONE: it has none */
hd_ident tp_ident(tp_place *place, int64_t number);
tp_thread *tp_thread_of(tp_place *place, int64_t tid); /* NULL: no memory, or tid is 0 or less */
tp_cpu *tp_cpu_of(tp_place *place, int64_t number);
uint32_t tp_cpu_track(tp_place *place, tp_cpu *cpu, const char *process, uint32_t *track);
/* The thread's track, that of the CPU, or HD_NONE. */
uint32_t tp_track_of(tp_place *place, const tp_event *event);
/* A row with the event's values as arguments. */
hd_status tp_emit(tp_place *place, hd_row *row, const tp_value *values, uint32_t count);
hd_status tp_instant(tp_place *place, const tp_event *event);

typedef hd_status tp_handler(tp_place *place, const tp_event *event);
tp_handler tp_on_switch, tp_on_wakeup;
tp_handler tp_on_job_queue, tp_on_job_run, tp_on_job_done;
tp_handler tp_on_amdgpu_run, tp_on_i915_queue, tp_on_i915_run, tp_on_i915_done;
tp_handler tp_on_fence_emit, tp_on_fence_signaled, tp_on_fence_wait, tp_on_fence_wait_end;
tp_handler tp_on_memory_total, tp_on_work_period;
hd_status tp_finish_sched(tp_place *place);
hd_status tp_finish_jobs(tp_place *place);
void tp_close_jobs(tp_place *place);

#endif
