/* series.c - live bytes after each event, by device and by category */
#include "base/error.h"
#include "report/memory/memory.h"

typedef struct series {
    hd_table_builder *builder;
    const hd_memory *memory;
    const hd_trace *trace;
} series;

static hd_status add_cells(void *user, const hd_memory_step *step, hd_error *err)
{
    (void)err; /* failures stick to the builder */
    const series *s = user;
    const hd_memory_event *event = step->event;
    const hd_memory_group *group = &s->memory->groups[step->group];
    int64_t bytes = event->bytes > INT64_MAX ? INT64_MAX : (int64_t)event->bytes;
    hd_table_add_int(s->builder, event->time_ns);
    memory_cells_pool(s->builder, s->trace, &s->memory->pools[group->pool]);
    report_cell_string(s->builder, s->trace, group->category);
    hd_table_add_int(s->builder, event->is_free ? -bytes : bytes);
    memory_cell_bytes(s->builder, step->group_live_bytes);
    memory_cell_bytes(s->builder, step->live_bytes);
    memory_cell_bytes(s->builder, event->allocated);
    memory_cell_bytes(s->builder, event->reserved);
    return HD_OK;
}

hd_status memory_add_series(hd_report *out, const hd_memory *m, const hd_trace *trace, hd_error *err)
{
    series s = {.memory = m, .trace = trace};
    HD_TRY(report_builder(&s.builder, &report_memory_about, "series", err));
    hd_status status = hd_memory_walk(m, add_cells, &s, err);
    if (status == HD_OK) return report_add(out, s.builder, err);
    hd_table_builder_free(s.builder);
    return status;
}
