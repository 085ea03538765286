/* annotate.c - adds counters of live memory to a trace
 *
 * On the process of each device, a sample per event of memory:
 *     memory cuda:0                 live; allocated and reserved if the allocator reports them
 *     memory cuda:0, weights        live, for each category, if there are categories
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pass/copy/copy.h"
#include "pass/memory/impl.h"

enum { LIVE = 1, WITH_TOTALS = 3, BATCH_ROWS = 1 << 18 };

typedef struct annotate {
    const hd_memory *memory;
    const hd_trace *trace;
    hd_builder *builder;
    hd_copy *copy;
    hd_batch *batch;
    uint32_t *pool_names, *group_names; /* of the builder; HD_STRING_NONE: no counter */
    uint32_t shapes[WITH_TOTALS + 1];   /* by number of series */
} annotate;

static hd_status flush(annotate *a, hd_error *err)
{
    hd_chunk *chunk;
    if (hd_batch_row_count(a->batch) == 0) return HD_OK;
    HD_TRY(hd_batch_take(&chunk, a->batch, err));
    return hd_builder_append(a->builder, chunk, err);
}

static hd_status add_sample(annotate *a, const hd_memory_pool *pool, uint32_t name, int64_t time_ns,
                            const int64_t *values, uint32_t count, hd_error *err)
{
    hd_row row = hd_row_of(HD_KIND_COUNTER, 'C');
    row.track = hd_copy_track(a->copy, pool->process);
    row.name = name;
    row.start_ns = time_ns;
    row.shape = a->shapes[count];
    if (row.track == HD_NONE) return HD_NOMEM(err);
    HD_TRY(hd_batch_add(a->batch, &row, values, err));
    return hd_batch_row_count(a->batch) >= BATCH_ROWS ? flush(a, err) : HD_OK;
}

static hd_status add_step(void *user, const hd_memory_step *step, hd_error *err)
{
    annotate *a = user;
    const hd_memory *m = a->memory;
    const hd_memory_event *event = step->event;
    uint32_t pool_index = m->groups[step->group].pool;
    const hd_memory_pool *pool = &m->pools[pool_index];
    bool totals = pool->has_totals && event->reserved != HD_NO_NUMBER;
    const int64_t values[] = {step->live_bytes, event->allocated, event->reserved};
    HD_TRY(add_sample(a, pool, a->pool_names[pool_index], event->time_ns, values, totals ? WITH_TOTALS : LIVE, err));
    if (a->group_names[step->group] != HD_STRING_NONE)
        HD_TRY(add_sample(a, pool, a->group_names[step->group], event->time_ns, &step->group_live_bytes, LIVE, err));
    uint32_t other = step->replaced_group;
    if (other == HD_NONE || a->group_names[other] == HD_STRING_NONE) return HD_OK;
    return add_sample(a, pool, a->group_names[other], event->time_ns, &step->replaced_live_bytes, LIVE, err);
}

/* Names of counters and shapes of their samples. */
static hd_status prepare(annotate *a, hd_error *err)
{
    const hd_memory *m = a->memory;
    static const char *const series[] = {"live", "allocated", "reserved"};
    hd_arg_key keys[WITH_TOTALS];
    a->pool_names = calloc(m->pool_count + 1, sizeof *a->pool_names);
    a->group_names = calloc(m->group_count + 1, sizeof *a->group_names);
    if (!a->pool_names || !a->group_names) return HD_NOMEM(err);
    for (int i = 0; i < WITH_TOTALS; i++)
        keys[i] = (hd_arg_key){.key = hd_builder_intern_text(a->builder, series[i]), .type = HD_ARG_INT};
    a->shapes[LIVE] = hd_builder_shape(a->builder, keys, LIVE, true);
    a->shapes[WITH_TOTALS] = hd_builder_shape(a->builder, keys, WITH_TOTALS, true);
    for (size_t i = 0; i < m->pool_count; i++) {
        char name[HD_MEMORY_NAME_BYTES], text[HD_MEMORY_NAME_BYTES + 16];
        snprintf(text, sizeof text, "memory %s", hd_memory_pool_name(name, a->trace, &m->pools[i]));
        a->pool_names[i] = hd_builder_intern_text(a->builder, text);
    }
    for (size_t i = 0; i < m->group_count; i++) {
        char name[HD_MEMORY_NAME_BYTES], text[2 * HD_MEMORY_NAME_BYTES + 16];
        hd_string category = hd_trace_string(a->trace, m->groups[i].category);
        if (m->groups[i].category == HD_STRING_NONE) continue;
        int size = snprintf(text, sizeof text, "memory %s, %.*s",
                            hd_memory_pool_name(name, a->trace, &m->pools[m->groups[i].pool]),
                            (int)(category.size < 90 ? category.size : 90), category.data);
        a->group_names[i] = hd_builder_intern(a->builder, text, (size_t)size);
    }
    return HD_OK;
}

static hd_status annotate_all(annotate *a, hd_error *err)
{
    const hd_copy_hooks hooks = {0};
    HD_TRY(hd_copy_new(&a->copy, a->trace, a->builder, err));
    HD_TRY(hd_batch_new(&a->batch, a->builder, err));
    HD_TRY(hd_copy_tracks(a->copy, NULL, NULL, err));
    HD_TRY(hd_copy_events(a->copy, &hooks, err));
    HD_TRY(hd_copy_surroundings(a->copy, err));
    HD_TRY(prepare(a, err));
    HD_TRY(hd_memory_walk(a->memory, add_step, a, err));
    return flush(a, err);
}

hd_status hd_memory_annotate(hd_trace **out, const hd_memory *memory, const hd_trace *trace, hd_error *err)
{
    annotate a = {.memory = memory, .trace = trace};
    *out = NULL;
    HD_TRY(hd_builder_new(&a.builder, err));
    hd_status status = annotate_all(&a, err);
    hd_copy_free(a.copy);
    hd_batch_free(a.batch);
    free(a.pool_names);
    free(a.group_names);
    if (status == HD_OK) return hd_builder_finish(out, a.builder, err);
    hd_builder_free(a.builder);
    return status;
}
