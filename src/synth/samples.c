/* samples.c - the stacks of launches as samples: when, on which thread, and how badly timed */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "synth/impl.h"

enum { LAG_NS = 150, LAG_SPREAD_NS = 300, CPUS = 64, OTHER_TID = 200000 };

/* ---- recording ---- */

static const char *comm_of(const synth *s, synth_thread_id which)
{
    if (s->options.stack_comm) return s->options.stack_comm;
    return which == SYNTH_MAIN ? "python3" : "pt_autograd_0";
}

void synth_samples_begin_rank(synth *s)
{
    if (!s->stacks) return;
    s->first_sample = s->stacks->count;
    s->sample_random = synth_seed(s->options.seed ^ 0x737461636b73, s->rank);
    for (int i = 0; i < SYNTH_THREADS; i++) {
        const char *comm = comm_of(s, (synth_thread_id)i);
        s->tids[i] = s->pid + (i == SYNTH_MAIN ? SYNTH_MAIN_TID : SYNTH_AUTOGRAD_TID);
        if (s->options.stack_ids) s->tids[i] += OTHER_TID;
        s->comms[i] = hd_stacks_name(s->stacks->stacks, comm, strlen(comm));
        s->cpus[i] = (uint32_t)synth_below(&s->sample_random, CPUS);
    }
}

/* A thread stays on its core for a while. */
static uint32_t next_cpu(synth *s, synth_thread_id which)
{
    if (synth_below(&s->sample_random, 40) == 0) s->cpus[which] = (uint32_t)synth_below(&s->sample_random, CPUS);
    return s->cpus[which];
}

void synth_sample(synth *s, synth_thread *t, synth_text_id call, synth_kernel_id kernel, int64_t correlation,
                  int64_t start_ns)
{
    if (!s->collect) return;
    hd_synth_stacks *out = s->stacks;
    uint32_t stack = synth_stack_of(s, t, call, kernel);
    if (stack == HD_NONE || !hd_grow((void **)&out->samples, &s->sample_capacity, out->count, sizeof *out->samples)) {
        s->failed = true;
        return;
    }
    int64_t lag_ns = LAG_NS + synth_below(&s->sample_random, LAG_SPREAD_NS);
    out->samples[out->count++] = (hd_synth_sample){
        .time_ns = synth_clock(s, start_ns) - lag_ns,
        .correlation = correlation,
        .pid = s->pid,
        .tid = s->tids[t->which],
        .stack = stack,
        .comm = s->comms[t->which],
        .cpu = next_cpu(s, t->which),
    };
}

/* ---- what a recording does to them ---- */

/* Each moves by itself, but none of a thread before the one ahead. */
static void move_times(synth *s)
{
    int64_t most_ns = (int64_t)s->options.stack_jitter_us * 1000, last_ns[SYNTH_THREADS];
    for (int i = 0; i < SYNTH_THREADS; i++) last_ns[i] = INT64_MIN;
    for (size_t i = s->first_sample; i < s->stacks->count; i++) {
        hd_synth_sample *sample = &s->stacks->samples[i];
        int which = sample->tid == s->tids[SYNTH_MAIN] ? SYNTH_MAIN : SYNTH_AUTOGRAD;
        if (most_ns) sample->time_ns += synth_below(&s->sample_random, 2 * most_ns + 1) - most_ns;
        if (sample->time_ns <= last_ns[which]) sample->time_ns = last_ns[which] + 1;
        last_ns[which] = sample->time_ns;
    }
}

/* Each sample is lost with the chance that makes it exactly so many. */
static hd_status lose(synth *s)
{
    uint64_t left = s->stacks->count - s->first_sample, due = s->options.stack_lost;
    if (due > left)
        return hd_error_set(s->err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "%" PRIu64 " samples cannot be lost of the %" PRIu64 " of a rank", due, left);
    s->stacks->lost += due;
    for (size_t i = s->first_sample; due; i++, left--) {
        bool lost = (uint64_t)synth_below(&s->sample_random, (int64_t)left) < due;
        s->stacks->samples[i].lost = lost;
        due -= lost;
    }
    return HD_OK;
}

hd_status synth_samples_end_rank(synth *s)
{
    if (!s->stacks) return HD_OK;
    if (s->stacks->count > UINT32_MAX)
        return hd_error_set(s->err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 samples would be made");
    move_times(s);
    return lose(s);
}

static int by_time(const void *a, const void *b)
{
    const hd_synth_sample *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    if (x->correlation != y->correlation) return x->correlation < y->correlation ? -1 : 1;
    if (x->tid != y->tid) return x->tid < y->tid ? -1 : 1;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

void synth_samples_finish(synth *s)
{
    if (!s->stacks) return;
    for (size_t i = 0; i < s->stacks->count; i++) s->stacks->samples[i].time_ns += s->options.stack_offset_ns;
    if (s->stacks->count) hd_sort(s->stacks->samples, s->stacks->count, sizeof *s->stacks->samples, by_time);
}
