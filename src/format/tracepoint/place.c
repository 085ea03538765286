/* place.c - an event -> rows: threads, interrupts, counters; all other events are instants
 *
 * Threads are identified by their number alone, as in the kernel's events; their process is added if the source knows
 * it. An event of thread 0, the idle thread of each CPU, is on its CPU.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "format/stack_text.h"
#include "format/tracepoint/tracepoint.h"
#include "trace/lazy.h"

/* ---- texts and values ---- */

uint32_t tp_text(tp_place *p, const char *data, size_t size)
{
    if (hd_utf8_valid(data, size, false)) return hd_builder_intern(p->builder, data, size);
    p->text.size = 0;
    p->repaired += hd_text_put_utf8(&p->text, data, size);
    return hd_builder_intern(p->builder, (char *)p->text.data, p->text.size);
}

uint32_t tp_key(tp_place *p, const char *text)
{
    return hd_builder_intern_text(p->builder, text);
}

void tp_put_int(tp_place *p, tp_event *event, uint32_t key, int64_t value)
{
    (void)p;
    if (event->count < TP_VALUES) event->values[event->count++] = (tp_value){key, HD_ARG_INT, value};
}

void tp_put_text(tp_event *event, uint32_t key, uint32_t text)
{
    if (event->count < TP_VALUES) event->values[event->count++] = (tp_value){key, HD_ARG_STRING, text};
}

void tp_put_words(hd_bytes *out, const tp_place *p, const tp_event *event)
{
    char number[24];
    for (uint32_t i = 0; i < event->count; i++) {
        const tp_value *value = &event->values[i];
        hd_string key = hd_builder_string(p->builder, value->key), text;
        if (value->type == HD_ARG_INT)
            text = (hd_string){number, (size_t)snprintf(number, sizeof number, "%lld", (long long)value->bits)};
        else
            text = hd_builder_string(p->builder, (uint32_t)value->bits);
        if (i) hd_bytes_put_u8(out, ' ');
        hd_bytes_put(out, key.data, key.size);
        hd_bytes_put_u8(out, '=');
        hd_bytes_put(out, text.data, text.size);
    }
}

static const tp_value *find_value(tp_place *p, const tp_event *event, const char *key)
{
    uint32_t id = tp_key(p, key);
    for (uint32_t i = 0; i < event->count; i++) {
        if (event->values[i].key == id) return &event->values[i];
    }
    return NULL;
}

bool tp_int(int64_t *out, tp_place *p, const tp_event *event, const char *key)
{
    const tp_value *value = find_value(p, event, key);
    if (!value || value->type != HD_ARG_INT) return false;
    *out = value->bits;
    return true;
}

uint32_t tp_string(tp_place *p, const tp_event *event, const char *key)
{
    const tp_value *value = find_value(p, event, key);
    return value && value->type == HD_ARG_STRING ? (uint32_t)value->bits : HD_STRING_NONE;
}

hd_ident tp_ident(tp_place *p, int64_t number)
{
    char text[24];
    int size = snprintf(text, sizeof text, "%lld", (long long)number);
    return (hd_ident){HD_IDENT_NUMBER, hd_builder_intern(p->builder, text, (size_t)size)};
}

/* ---- rows ---- */

static uint32_t shape_of(tp_place *p, const tp_value *values, uint32_t count)
{
    hd_arg_key keys[TP_VALUES];
    uint64_t a = count, b = 0;
    uint32_t shape;
    for (uint32_t i = 0; i < count; i++) {
        a = hd_hash_pair(a ^ values[i].key, values[i].type);
        b = hd_hash_pair(b, a);
    }
    if (hd_map_get(&shape, &p->shapes, a, b)) return shape;
    for (uint32_t i = 0; i < count; i++)
        keys[i] = (hd_arg_key){.key = values[i].key, .type = (uint8_t)values[i].type, .scope = HD_SCOPE_ARGS};
    shape = hd_builder_shape(p->builder, keys, count, count > 0);
    if (shape != HD_NONE) hd_map_set(&p->shapes, a, b, shape);
    return shape;
}

hd_status tp_emit(tp_place *p, hd_row *row, const tp_value *values, uint32_t count)
{
    int64_t bits[TP_VALUES];
    if (p->options->args != HD_ARGS_ALL) count = 0;
    row->shape = count ? shape_of(p, values, count) : 0;
    if (row->shape == HD_NONE) row->shape = count = 0; /* a file of thousands of kinds of events */
    for (uint32_t i = 0; i < count; i++) bits[i] = values[i].bits;
    return hd_rows_out_add(&p->rows, row, bits, p->err);
}

/* ---- threads and CPUs ---- */

tp_thread *tp_thread_of(tp_place *p, int64_t tid)
{
    uint32_t index, pid, comm = HD_STRING_NONE;
    if (tid <= 0) return NULL;
    if (hd_map_get(&index, &p->thread_by_tid, (uint64_t)tid, 0)) return &p->threads[index];
    if (!hd_grow((void **)&p->threads, &p->thread_capacity, p->thread_count, sizeof *p->threads) ||
        !hd_map_set(&p->thread_by_tid, (uint64_t)tid, 0, (uint32_t)p->thread_count)) {
        hd_builder_fail(p->builder);
        return NULL;
    }
    hd_ident process = {0};
    if (hd_map_get(&pid, &p->process_of, (uint64_t)tid, 0)) process = tp_ident(p, pid);
    hd_map_get(&comm, &p->comm_of, (uint64_t)tid, 0);
    tp_thread *thread = &p->threads[p->thread_count++];
    *thread = (tp_thread){.tid = tid, .comm = comm, .since_ns = HD_NO_TIME, .cpu = TP_NO_CPU};
    thread->track = hd_builder_track(p->builder, process, tp_ident(p, tid), false);
    return thread;
}

hd_status tp_know_process(tp_place *p, int64_t tid, int64_t pid)
{
    bool fine = tid <= 0 || pid < 0 || pid > UINT32_MAX || hd_map_set(&p->process_of, (uint64_t)tid, 0, (uint32_t)pid);
    return fine ? HD_OK : HD_NOMEM(p->err);
}

hd_status tp_know_name(tp_place *p, int64_t tid, hd_string name)
{
    static const char unknown[] = "<...>";
    uint32_t index;
    if (tid <= 0 || (name.size == 5 && memcmp(name.data, unknown, 5) == 0)) return HD_OK;
    uint32_t id = tp_text(p, name.data, name.size);
    if (hd_map_get(&index, &p->thread_by_tid, (uint64_t)tid, 0)) {
        p->threads[index].comm = id;
        return HD_OK;
    }
    return hd_map_set(&p->comm_of, (uint64_t)tid, 0, id) ? HD_OK : HD_NOMEM(p->err);
}

tp_cpu *tp_cpu_of(tp_place *p, int64_t number)
{
    uint32_t index;
    if (number < 0) return NULL;
    if (hd_map_get(&index, &p->cpu_by_number, (uint64_t)number, 0)) return &p->cpus[index];
    if (!hd_grow((void **)&p->cpus, &p->cpu_capacity, p->cpu_count, sizeof *p->cpus) ||
        !hd_map_set(&p->cpu_by_number, (uint64_t)number, 0, (uint32_t)p->cpu_count)) {
        hd_builder_fail(p->builder);
        return NULL;
    }
    tp_cpu *cpu = &p->cpus[p->cpu_count++];
    *cpu = (tp_cpu){.number = number, .track = HD_NONE, .interrupts = HD_NONE, .since_ns = HD_NO_TIME};
    return cpu;
}

/* Tracks of CPUs are named like those of Nsight Systems. */
uint32_t tp_cpu_track(tp_place *p, tp_cpu *cpu, const char *process, uint32_t *track)
{
    char text[40];
    if (*track != HD_NONE) return *track;
    snprintf(text, sizeof text, "CPU %lld", (long long)cpu->number);
    const hd_ident pid = {HD_IDENT_STRING, tp_key(p, process)}, tid = {HD_IDENT_STRING, tp_key(p, text)};
    return *track = hd_builder_track(p->builder, pid, tid, false);
}

uint32_t tp_track_of(tp_place *p, const tp_event *event)
{
    tp_thread *thread = tp_thread_of(p, event->tid);
    if (thread) return thread->track;
    tp_cpu *cpu = tp_cpu_of(p, event->cpu);
    return cpu ? tp_cpu_track(p, cpu, "CPUs", &cpu->track) : HD_NONE;
}

/* ---- events ---- */

hd_status tp_instant(tp_place *p, const tp_event *event)
{
    hd_row row = hd_row_of(HD_KIND_INSTANT, 'i');
    tp_value values[TP_VALUES];
    uint32_t count = event->count;
    if (p->no_instants) return HD_OK;
    row.track = tp_track_of(p, event);
    row.name = event->name;
    row.category = tp_key(p, "ftrace");
    row.start_ns = event->time_ns;
    memcpy(values, event->values, count * sizeof *values);
    if (event->cpu >= 0 && count < TP_VALUES) values[count++] = (tp_value){tp_key(p, "CPU"), HD_ARG_INT, event->cpu};
    return tp_emit(p, &row, values, count);
}

/* Interrupts of a CPU nest: a hard one may occur within a soft one. */
static hd_status on_interrupt(tp_place *p, const tp_event *event, bool begins, uint32_t name)
{
    tp_cpu *cpu = tp_cpu_of(p, event->cpu);
    if (!cpu) return tp_instant(p, event);
    hd_row row = hd_row_of(begins ? HD_KIND_SLICE : HD_KIND_END, begins ? 'B' : 'E');
    row.track = tp_cpu_track(p, cpu, "Interrupts", &cpu->interrupts);
    row.name = name;
    row.category = tp_key(p, "irq");
    row.start_ns = event->time_ns;
    return tp_emit(p, &row, event->values, event->count);
}

static uint32_t irq_name(tp_place *p, const tp_event *event)
{
    char text[200];
    int64_t irq = 0;
    hd_string name = hd_builder_string(p->builder, tp_string(p, event, "name"));
    tp_int(&irq, p, event, "irq");
    int size = snprintf(text, sizeof text, "IRQ %lld %.*s", (long long)irq, (int)(name.size < 128 ? name.size : 128),
                        name.size ? name.data : "");
    return tp_text(p, text, (size_t)size);
}

static uint32_t softirq_name(tp_place *p, const tp_event *event)
{
    static const char *const names[] = {"softirq HI",      "softirq TIMER",    "softirq NET_TX",  "softirq NET_RX",
                                        "softirq BLOCK",   "softirq IRQ_POLL", "softirq TASKLET", "softirq SCHED",
                                        "softirq HRTIMER", "softirq RCU"};
    int64_t vector = -1;
    tp_int(&vector, p, event, "vec");
    bool is_known = vector >= 0 && vector < (int64_t)(sizeof names / sizeof *names);
    return tp_key(p, is_known ? names[vector] : "softirq");
}

static hd_status on_irq_entry(tp_place *p, const tp_event *event)
{
    return on_interrupt(p, event, true, irq_name(p, event));
}
static hd_status on_irq_exit(tp_place *p, const tp_event *event)
{
    return on_interrupt(p, event, false, HD_STRING_NONE);
}
static hd_status on_softirq_entry(tp_place *p, const tp_event *event)
{
    return on_interrupt(p, event, true, softirq_name(p, event));
}

/* cpu_frequency, cpu_idle: a value of the CPU that the event names. */
static hd_status on_cpu_value(tp_place *p, const tp_event *event)
{
    int64_t number, state;
    tp_cpu *cpu = tp_int(&number, p, event, "cpu_id") ? tp_cpu_of(p, number) : NULL;
    if (!cpu || !tp_int(&state, p, event, "state")) return tp_instant(p, event);
    hd_row row = hd_row_of(HD_KIND_COUNTER, 'C');
    row.track = tp_cpu_track(p, cpu, "CPUs", &cpu->track);
    row.name = event->name;
    row.start_ns = event->time_ns;
    const tp_value value = {tp_key(p, "state"), HD_ARG_INT, state};
    return tp_emit(p, &row, &value, 1);
}

static hd_status on_comm(tp_place *p, const tp_event *event)
{
    int64_t pid;
    hd_string name = hd_builder_string(p->builder, tp_string(p, event, "newcomm"));
    if (name.size && (tp_int(&pid, p, event, "pid") || (pid = event->tid) > 0)) HD_TRY(tp_know_name(p, pid, name));
    return tp_instant(p, event);
}

static const struct {
    const char *name;
    tp_handler *handler;
} handlers[] = {
    {"sched_switch", tp_on_switch},
    {"sched_wakeup", tp_on_wakeup},
    {"sched_waking", tp_on_wakeup},
    {"sched_wakeup_new", tp_on_wakeup},
    {"task_rename", on_comm},
    {"irq_handler_entry", on_irq_entry},
    {"irq_handler_exit", on_irq_exit},
    {"softirq_entry", on_softirq_entry},
    {"softirq_exit", on_irq_exit},
    {"cpu_frequency", on_cpu_value},
    {"cpu_idle", on_cpu_value},
    {"drm_sched_job", tp_on_job_queue},
    {"drm_sched_job_queue", tp_on_job_queue},
    {"drm_run_job", tp_on_job_run},
    {"drm_sched_job_run", tp_on_job_run},
    {"drm_sched_process_job", tp_on_job_done},
    {"drm_sched_job_done", tp_on_job_done},
    {"amdgpu_cs_ioctl", tp_on_job_queue},
    {"amdgpu_sched_run_job", tp_on_amdgpu_run},
    {"i915_request_queue", tp_on_i915_queue},
    {"i915_request_add", tp_on_i915_run},
    {"i915_request_retire", tp_on_i915_done},
    {"dma_fence_emit", tp_on_fence_emit},
    {"dma_fence_signaled", tp_on_fence_signaled},
    {"dma_fence_wait_start", tp_on_fence_wait},
    {"dma_fence_wait_end", tp_on_fence_wait_end},
    {"gpu_mem_total", tp_on_memory_total},
    {"gpu_work_period", tp_on_work_period},
};

hd_status tp_open(tp_place *p, hd_builder *builder, const hd_read_options *options, hd_error *err)
{
    *p = (tp_place){.builder = builder, .options = options, .err = err};
    for (uint32_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (!hd_map_set(&p->handlers, tp_key(p, handlers[i].name), 0, i)) return HD_NOMEM(err);
    }
    return hd_rows_out_init(&p->rows, builder, options->threads, err);
}

hd_status tp_add(tp_place *p, const tp_event *event)
{
    uint32_t index;
    p->events++;
    return hd_map_get(&index, &p->handlers, event->name, 0) ? handlers[index].handler(p, event) : tp_instant(p, event);
}

hd_status tp_finish(tp_place *p)
{
    HD_TRY(tp_finish_sched(p));
    HD_TRY(tp_finish_jobs(p));
    HD_TRY(hd_rows_out_flush(&p->rows, p->err));
    for (size_t i = 0; i < p->thread_count; i++) {
        const tp_thread *t = &p->threads[i];
        uint32_t pid;
        if (!t->comm) continue;
        hd_builder_name_track(p->builder, t->track, t->comm);
        if (hd_map_get(&pid, &p->process_of, (uint64_t)t->tid, 0) && pid == t->tid)
            hd_builder_name_track(p->builder, hd_builder_track(p->builder, tp_ident(p, pid), (hd_ident){0}, true),
                                  t->comm);
    }
    return p->text.failed ? HD_NOMEM(p->err) : HD_OK;
}

void tp_close(tp_place *p)
{
    hd_map *const maps[] = {&p->handlers, &p->shapes, &p->thread_by_tid, &p->cpu_by_number, &p->process_of,
                            &p->comm_of,  &p->fences, &p->rings,         &p->devices};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) hd_map_deinit(maps[i]);
    hd_rows_out_deinit(&p->rows);
    hd_bytes_deinit(&p->text);
    free(p->threads);
    free(p->cpus);
    tp_close_jobs(p);
}
