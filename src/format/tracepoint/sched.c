/* sched.c - scheduling -> slices of CPUs, and states of threads (phase T, category thread_state)
 *
 * A thread runs from the switch to it up to the switch from it, then is in the state given by the switch, and runnable
 * (R) from its wakeup on. The idle thread is not recorded: a CPU without a slice idles.
 */
#include <stdio.h>

#include "base/error.h"
#include "format/stack_text.h"
#include "format/tracepoint/tracepoint.h"

/* ---- states ---- */

static bool read_number(uint64_t *out, const char **at, const char *end)
{
    const char *start = *at;
    unsigned base = end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | 32) == 'x' ? 16 : 10;
    if (base == 16) *at += 2;
    for (*out = 0; *at < end; (*at)++) {
        char c = **at | 32;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : 16;
        if (digit >= base) break;
        *out = *out * base + digit;
    }
    return *at > start;
}

/* The letters of the flags that are set, by pairs { 0x1, "S" }; returns all flags that there are. */
static uint64_t put_letters(char out[64], size_t *size, const char *at, size_t left, uint64_t value)
{
    const char *end = at + left;
    uint64_t flag, all = 0;
    while ((at = memchr(at, '{', (size_t)(end - at)))) {
        do at++;
        while (at < end && *at == ' ');
        if (!read_number(&flag, &at, end)) continue;
        while (at < end && (*at == ',' || *at == ' ')) at++;
        if (end - at < 3 || *at != '"') continue;
        all |= flag;
        if (!(value & flag)) continue;
        for (at++; at < end && *at != '"' && *size + 2 < 64; at++) out[(*size)++] = *at;
    }
    return all;
}

/* By the event's own print format, since kernels differ; without it the flags common to all kernels, and a number for
 * others. */
static uint32_t state_of(tp_place *p, const tp_event *event, int64_t state)
{
    static const char known[] = "{ 0x1, \"S\" }, { 0x2, \"D\" }, { 0x4, \"T\" }, { 0x8, \"t\" }";
    enum { PREEMPTED = 0x100 }; /* or above, in all kernels */
    char text[64];
    size_t size = 0;
    uint64_t value = (uint64_t)state, all = 0;
    if (event->state_text) all = put_letters(text, &size, event->state_text, event->state_size, value);
    bool is_known = all != 0;
    if (!is_known) all = put_letters(text, &size, known, sizeof known - 1, value);
    bool is_more = is_known ? (value & ~all) != 0 : value >= PREEMPTED;
    if (!is_known && value && !size && !is_more) return tp_ident(p, state).text;
    if (!size) text[size++] = 'R';
    if (is_more) text[size++] = '+';
    return tp_text(p, text, size);
}

static uint32_t previous_state(tp_place *p, const tp_event *event)
{
    int64_t state = 0;
    uint32_t text = tp_string(p, event, "prev_state");
    if (text) return text;
    tp_int(&state, p, event, "prev_state");
    return state_of(p, event, state);
}

/* ---- threads ---- */

/* Ends the thread's current state. */
static hd_status end_state(tp_place *p, const tp_thread *thread, int64_t end_ns)
{
    hd_row row = hd_row_of(HD_KIND_ASYNC, 'T');
    if (thread->since_ns == HD_NO_TIME) return HD_OK;
    row.track = thread->track;
    row.name = thread->state;
    row.category = tp_key(p, "thread_state");
    row.start_ns = thread->since_ns;
    row.duration_ns = end_ns == HD_NO_TIME ? HD_NO_TIME : end_ns - thread->since_ns;
    const tp_value cpu = {tp_key(p, "cpu"), HD_ARG_INT, thread->cpu};
    return tp_emit(p, &row, &cpu, thread->cpu >= 0);
}

static void begin_state(tp_thread *thread, int64_t time_ns, uint32_t state, int64_t cpu)
{
    thread->since_ns = time_ns;
    thread->state = state;
    thread->cpu = cpu;
}

/* ---- CPUs ---- */

/* Ends the slice of the thread that runs on a CPU. */
static hd_status end_run(tp_place *p, tp_cpu *cpu, int64_t end_ns, uint32_t state)
{
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    uint32_t count = 0, pid;
    tp_value values[4];
    if (cpu->since_ns == HD_NO_TIME || cpu->tid <= 0) return HD_OK;
    row.track = tp_cpu_track(p, cpu, "CPUs", &cpu->track);
    row.name = cpu->name;
    row.category = tp_key(p, "sched");
    row.start_ns = cpu->since_ns;
    row.duration_ns = end_ns == HD_NO_TIME ? HD_NO_TIME : end_ns - cpu->since_ns;
    if (hd_map_get(&pid, &p->process_of, (uint64_t)cpu->tid, 0))
        values[count++] = (tp_value){tp_key(p, "pid"), HD_ARG_INT, pid};
    values[count++] = (tp_value){tp_key(p, "tid"), HD_ARG_INT, cpu->tid};
    if (cpu->priority != HD_NO_NUMBER) values[count++] = (tp_value){tp_key(p, "prio"), HD_ARG_INT, cpu->priority};
    if (state) values[count++] = (tp_value){tp_key(p, "end_state"), HD_ARG_STRING, state};
    return tp_emit(p, &row, values, count);
}

static uint32_t name_of(tp_place *p, const tp_event *event, const char *key, int64_t tid)
{
    char text[32];
    uint32_t name = tp_string(p, event, key);
    hd_string known = hd_builder_string(p->builder, name);
    if (name && known.size) return name;
    snprintf(text, sizeof text, "thread %lld", (long long)tid);
    return tp_key(p, text);
}

static hd_status learn_name(tp_place *p, const tp_event *event, const char *key, int64_t tid)
{
    hd_string name = hd_builder_string(p->builder, tp_string(p, event, key));
    return name.size ? tp_know_name(p, tid, name) : HD_OK;
}

static hd_status switch_from(tp_place *p, tp_cpu *cpu, const tp_event *event, int64_t tid)
{
    uint32_t state = previous_state(p, event);
    bool is_known = cpu->since_ns != HD_NO_TIME && cpu->tid == tid;
    /* Switches in between were lost: it is unknown when it left the CPU. */
    if (cpu->since_ns != HD_NO_TIME && !is_known) {
        p->switches_lost++;
        HD_TRY(end_run(p, cpu, HD_NO_TIME, HD_STRING_NONE));
    }
    if (is_known) HD_TRY(end_run(p, cpu, event->time_ns, state));
    tp_thread *thread = tp_thread_of(p, tid);
    if (!thread) return HD_OK;
    HD_TRY(learn_name(p, event, "prev_comm", tid));
    HD_TRY(end_state(p, thread, event->time_ns));
    begin_state(thread, event->time_ns, state, TP_NO_CPU);
    return HD_OK;
}

hd_status tp_on_switch(tp_place *p, const tp_event *event)
{
    int64_t from, to;
    tp_cpu *cpu = tp_cpu_of(p, event->cpu);
    if (!cpu || !tp_int(&from, p, event, "prev_pid") || !tp_int(&to, p, event, "next_pid")) return tp_instant(p, event);
    HD_TRY(switch_from(p, cpu, event, from));
    uint32_t name = name_of(p, event, "next_comm", to);
    tp_thread *thread = tp_thread_of(p, to);
    if (thread) {
        HD_TRY(learn_name(p, event, "next_comm", to));
        HD_TRY(end_state(p, thread, event->time_ns));
        begin_state(thread, event->time_ns, tp_key(p, "Running"), event->cpu);
    }
    cpu->tid = to;
    cpu->since_ns = event->time_ns;
    cpu->name = name;
    cpu->priority = HD_NO_NUMBER;
    tp_int(&cpu->priority, p, event, "next_prio");
    return HD_OK;
}

hd_status tp_on_wakeup(tp_place *p, const tp_event *event)
{
    int64_t tid;
    tp_thread *thread = tp_int(&tid, p, event, "pid") ? tp_thread_of(p, tid) : NULL;
    if (thread && thread->cpu < 0) {
        uint32_t runnable = tp_key(p, "R");
        hd_string comm = hd_builder_string(p->builder, tp_string(p, event, "comm"));
        if (comm.size) HD_TRY(tp_know_name(p, tid, comm));
        if (thread->since_ns == HD_NO_TIME || thread->state != runnable) {
            HD_TRY(end_state(p, thread, event->time_ns));
            begin_state(thread, event->time_ns, runnable, TP_NO_CPU);
        }
    }
    return tp_instant(p, event);
}

hd_status tp_finish_sched(tp_place *p)
{
    for (size_t i = 0; i < p->cpu_count; i++) HD_TRY(end_run(p, &p->cpus[i], HD_NO_TIME, HD_STRING_NONE));
    for (size_t i = 0; i < p->thread_count; i++) HD_TRY(end_state(p, &p->threads[i], HD_NO_TIME));
    return HD_OK;
}
