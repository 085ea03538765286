/* memory_series.c - what is live behind each event, by device and by category */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/large.h"
#include "report/memory.h"
#include "trace/spill.h"

__extension__ typedef __int128 signed_wide;

typedef struct series {
    signed_wide *pools, *groups; /* live */
    uint32_t *replaces;          /* by event: the allocation whose place it took, HD_NONE: none */
} series;

static int64_t clamp(signed_wide sum)
{
    if (sum > INT64_MAX) return INT64_MAX;
    return sum < INT64_MIN + 1 ? INT64_MIN + 1 : (int64_t)sum;
}

static void change(series *s, const hd_memory *m, const hd_memory_event *event, signed_wide bytes)
{
    s->groups[event->group] += bytes;
    s->pools[m->groups[event->group].pool] += bytes;
}

static void step(series *s, const hd_memory *m, uint32_t index)
{
    const hd_memory_event *event = &m->events[index];
    if (s->replaces[index] != HD_NONE) {
        const hd_memory_event *before = &m->events[s->replaces[index]];
        change(s, m, before, -(signed_wide)before->bytes);
    }
    if (!event->is_free)
        change(s, m, event, event->bytes);
    else if (!event->has_address)
        change(s, m, event, -(signed_wide)event->bytes);
    else if (event->end != HD_NONE)
        change(s, m, &m->events[event->end], -(signed_wide)m->events[event->end].bytes);
}

static void cells(hd_table_builder *b, const series *s, const hd_memory *m, const hd_trace *trace,
                  const hd_memory_event *event)
{
    const hd_memory_group *group = &m->groups[event->group];
    int64_t bytes = event->bytes > INT64_MAX ? INT64_MAX : (int64_t)event->bytes;
    hd_table_add_int(b, event->time_ns);
    memory_cells_pool(b, trace, &m->pools[group->pool]);
    report_cell_string(b, trace, group->category);
    hd_table_add_int(b, event->is_free ? -bytes : bytes);
    memory_cell_bytes(b, clamp(s->groups[event->group]));
    memory_cell_bytes(b, clamp(s->pools[group->pool]));
    memory_cell_bytes(b, event->allocated);
    memory_cell_bytes(b, event->reserved);
}

hd_status memory_add_series(hd_report *out, const hd_memory *m, const hd_trace *trace, hd_error *err)
{
    static const report_column columns[] = {{"time", HD_VALUE_TIME},      {"process", HD_VALUE_STRING},
                                            {"device", HD_VALUE_STRING},  {"category", HD_VALUE_STRING},
                                            {"change", HD_VALUE_INT},     {"category_live", HD_VALUE_BYTES},
                                            {"live", HD_VALUE_BYTES},     {"allocated", HD_VALUE_BYTES},
                                            {"reserved", HD_VALUE_BYTES}, {NULL, HD_VALUE_INT}};
    series s = {.pools = calloc(m->pool_count + 1, sizeof *s.pools),
                .groups = calloc(m->group_count + 1, sizeof *s.groups),
                .replaces = hd_large_new(m->event_count + 1, sizeof *s.replaces, hd_trace_large_bytes(trace))};
    hd_table_builder *b = NULL;
    hd_status status = s.pools && s.groups && s.replaces ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = report_builder(&b, "series", columns, err);
    if (status == HD_OK) memset(s.replaces, 0xff, m->event_count * sizeof *s.replaces);
    for (uint32_t i = 0; i < m->event_count && status == HD_OK; i++)
        if (m->events[i].is_replaced) s.replaces[m->events[i].end] = i;
    for (uint32_t i = 0; i < m->event_count && status == HD_OK; i++) {
        step(&s, m, i);
        cells(b, &s, m, trace, &m->events[i]);
    }
    if (status == HD_OK) status = report_add(out, b, err);
    free(s.pools);
    free(s.groups);
    hd_large_free(s.replaces);
    return status;
}
