/* attribution_maker.h - small traces by hand: calls, GPU work and stack samples */
#ifndef HD_TESTS_ATTRIBUTION_MAKER_H
#define HD_TESTS_ATTRIBUTION_MAKER_H

#include <stdlib.h>
#include <string.h>

#include "heddle/analysis/attribution.h"

typedef struct maker {
    hd_builder *builder;
    hd_batch *batch;
    hd_stacks *stacks;
    int64_t base_ns; /* HD_NO_TIME: unknown */
} maker;

static inline maker maker_new(void)
{
    maker m = {.base_ns = HD_NO_TIME};
    assert_int_equal(hd_builder_new(&m.builder, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&m.batch, m.builder, NULL), HD_OK);
    assert_int_equal(hd_stacks_new(&m.stacks, NULL), HD_OK);
    return m;
}

static inline hd_trace *maker_finish(maker *m)
{
    hd_chunk *chunk;
    hd_trace *trace;
    assert_int_equal(hd_batch_take(&chunk, m->batch, NULL), HD_OK);
    assert_int_equal(hd_builder_append(m->builder, chunk, NULL), HD_OK);
    assert_int_equal(hd_stacks_save(m->stacks, m->builder, NULL), HD_OK);
    hd_builder_facts(m->builder)->base_ns = m->base_ns;
    hd_batch_free(m->batch);
    hd_stacks_free(m->stacks);
    assert_int_equal(hd_builder_finish(&trace, m->builder, NULL), HD_OK);
    return trace;
}

static inline void maker_add(maker *m, hd_row *row, const char *const *names, const hd_arg_scope *scopes,
                             const int64_t *values, uint32_t count)
{
    hd_arg_key keys[4];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = hd_builder_intern_text(m->builder, names[i]);
        keys[i] = (hd_arg_key){.key = key, .type = HD_ARG_INT, .scope = (uint8_t)scopes[i]};
    }
    row->shape = hd_builder_shape(m->builder, keys, count, true);
    assert_int_equal(hd_batch_add(m->batch, row, values, NULL), HD_OK);
}

/* A slice with a correlation id (0: none) and, of a graph's node, the id of the call that made it. */
static inline void maker_slice(maker *m, const char *category, const char *name, int64_t pid, int64_t tid,
                               int64_t start, int64_t duration, int64_t id, int64_t creator)
{
    static const char *const names[] = {"correlation", "graphNodeCreatorCorrelationId"};
    static const hd_arg_scope scopes[] = {HD_SCOPE_ARGS, HD_SCOPE_ARGS};
    int64_t values[] = {id, creator};
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    row.category = hd_builder_intern_text(m->builder, category);
    row.name = hd_builder_intern_text(m->builder, name);
    row.track = hd_builder_thread(m->builder, pid, tid);
    row.start_ns = start;
    row.duration_ns = duration;
    maker_add(m, &row, names, scopes, values, id == 0 ? 0 : creator == 0 ? 1 : 2);
}

static inline void maker_call(maker *m, const char *name, int64_t pid, int64_t tid, int64_t start, int64_t id)
{
    maker_slice(m, "cuda_runtime", name, pid, tid, start, 2000, id, 0);
}

static inline void maker_kernel(maker *m, const char *name, int64_t start, int64_t id)
{
    maker_slice(m, "kernel", name, 0, 7, start, 1000, id, 0);
}

/* Frames from the root to the leaf, parted by ';'. */
static inline uint32_t maker_stack(maker *m, const char *frames)
{
    uint32_t node = HD_STACK_NONE;
    while (*frames) {
        size_t size = strcspn(frames, ";");
        node = hd_stacks_push(m->stacks, node, hd_stacks_name(m->stacks, frames, size), HD_FRAME_NATIVE);
        frames += size + (frames[size] == ';');
    }
    return node;
}

static inline void maker_event_on(maker *m, const char *event, uint32_t track, int64_t time, const char *frames,
                                  int64_t id)
{
    static const char *const names[] = {"sf", "correlation"};
    static const hd_arg_scope scopes[] = {HD_SCOPE_EVENT, HD_SCOPE_ARGS};
    int64_t values[] = {maker_stack(m, frames), id};
    hd_row row = hd_row_of(HD_KIND_SAMPLE, 'P');
    row.name = hd_builder_intern_text(m->builder, event);
    row.track = track;
    row.start_ns = time;
    maker_add(m, &row, names, scopes, values, id ? 2 : 1);
}

static inline void maker_event(maker *m, const char *event, int64_t pid, int64_t tid, int64_t time, const char *frames,
                               int64_t id)
{
    maker_event_on(m, event, hd_builder_thread(m->builder, pid, tid), time, frames, id);
}

/* The track of a thread whose process is not known, as `perf script` has it. */
static inline uint32_t maker_lone_thread(maker *m, const char *tid)
{
    const hd_ident none = {0}, known = {HD_IDENT_NUMBER, hd_builder_intern_text(m->builder, tid)};
    return hd_builder_track(m->builder, none, known, false);
}

static inline void maker_sample(maker *m, int64_t pid, int64_t tid, int64_t time, const char *frames, int64_t id)
{
    maker_event(m, "stack", pid, tid, time, frames, id);
}

/* "main;train;cudaLaunchKernel". The caller frees it. */
static inline char *maker_text(const hd_stacks *stacks, uint32_t node)
{
    char *text = calloc(1, 1);
    size_t size = 0;
    for (; node != HD_STACK_NONE;) {
        hd_frame frame = hd_stacks_at(stacks, node);
        hd_string name = hd_stacks_text(stacks, frame.name);
        char *longer = malloc(size + name.size + 2);
        memcpy(longer, name.data, name.size);
        longer[name.size] = ';';
        memcpy(longer + name.size + (size > 0), text, size + 1);
        size += name.size + (size > 0);
        free(text);
        text = longer;
        node = frame.caller;
    }
    text[size] = 0;
    return text;
}

#endif
