/* sched.c - the table `thread_state`: events of phase T and category thread_state, as Perfetto reads them
 *
 * sched and cpu are views of it (views.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "query/tables/rows.h"

static const hd_query_column_about columns[] = {
    {"id", "INT", "the span", false},
    {"ts", "INT", "start, ns", false},
    {"dur", "INT", "duration, ns; null: it never ended", false},
    {"cpu", "INT", "number of the CPU, while it runs", false},
    {"utid", "INT", "its thread: thread.utid", false},
    {"state", "TEXT", "Running, R, S, D …", false},
    {"io_wait", "INT", "1: it waits for a disk", false},
    {"blocked_function", "TEXT", "function of the system that it waits in", false},
    {"rank", "INT", "its rank; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

typedef struct state_row {
    int64_t start_ns, duration_ns, cpu, io_wait;
    uint32_t track, name, function;
} state_row;

typedef struct state_rows {
    state_row *list;
    size_t count, capacity;
} state_rows;

static void free_states(void *made)
{
    free(((state_rows *)made)->list);
    free(made);
}

static int64_t number_of(const hd_trace *trace, const hd_event *event, const char *key)
{
    int64_t number;
    uint32_t id = hd_trace_find_string(trace, key, strlen(key));
    return hd_event_arg_int(&number, trace, event, id) ? number : QUERY_NULL;
}

static hd_status add_state(state_rows *rows, const hd_trace *trace, const hd_event *event, hd_error *err)
{
    hd_value value;
    uint32_t function = hd_trace_find_string(trace, "blocked_function", 16);
    if (!hd_grow((void **)&rows->list, &rows->capacity, rows->count, sizeof *rows->list)) return HD_NOMEM(err);
    bool has = hd_event_arg(&value, trace, event, function) && value.type == HD_ARG_STRING;
    rows->list[rows->count++] = (state_row){.start_ns = event->start_ns,
                                            .duration_ns = event->duration_ns,
                                            .cpu = number_of(trace, event, "cpu"),
                                            .io_wait = number_of(trace, event, "io_wait"),
                                            .track = event->track,
                                            .name = event->name,
                                            .function = has ? (uint32_t)value.bits : HD_STRING_NONE};
    return HD_OK;
}

static hd_status make_states(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    const hd_trace *trace = source->trace;
    uint32_t category = hd_trace_find_string(trace, "thread_state", 12);
    state_rows *rows = calloc(1, sizeof *rows);
    hd_status status = rows ? HD_OK : HD_NOMEM(err);
    size_t blocks = category == HD_NONE ? 0 : hd_trace_block_count(trace, HD_KIND_ASYNC);
    for (size_t b = 0; b < blocks && status == HD_OK; b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_ASYNC, b);
        for (uint32_t i = 0; i < block->row_count && status == HD_OK; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (event.phase == 'T' && event.category == category) status = add_state(rows, trace, &event, err);
        }
    }
    if (status != HD_OK) {
        if (rows) free_states(rows);
        return status;
    }
    *out = rows;
    *out_count = rows->count;
    return HD_OK;
}

static void state_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    const state_row *state = &((const state_rows *)made)->list[row];
    switch (column) {
    case 1: query_cell_int(out, query_time(source, state->start_ns)); break;
    case 2: query_cell_int(out, state->duration_ns); break;
    case 3: query_cell_int(out, state->cpu); break;
    case 4:
        if (state->track < hd_trace_track_count(source->trace))
            query_cell_id(out, source, hd_trace_track_at(source->trace, state->track)->same_as);
        break;
    case 5: query_cell_string(out, source, state->name); break;
    case 6: query_cell_int(out, state->io_wait); break;
    default: query_cell_string(out, source, state->function);
    }
}

static uint32_t track_of_state(const query_source *source, const void *made, uint64_t row)
{
    (void)source;
    return ((const state_rows *)made)->list[row].track;
}

const query_rows_about query_state_tables[] = {
    {{"thread_state", "what threads did: ran, waited, slept", columns},
     make_states,
     free_states,
     state_cell,
     true,
     track_of_state},
    {.about = {0}},
};
