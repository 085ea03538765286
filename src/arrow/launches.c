/* launches.c - columns of GPU work and its launch calls: a row for each piece of work, then calls without work in the
 * trace */
#include <stdlib.h>

#include "arrow/impl.h"
#include "base/error.h"
#include "heddle/analysis/launches.h"
#include "trace/event.h"

typedef struct launch_rows {
    hd_launches *launches;
    uint32_t *alone; /* calls without work */
    size_t alone_count;
} launch_rows;

static void free_rows(void *data)
{
    launch_rows *rows = data;
    hd_launches_free(rows->launches);
    free(rows->alone);
    free(rows);
}

hd_status arrow_open_launches(arrow_stream *stream, hd_error *err)
{
    launch_rows *rows = calloc(1, sizeof *rows);
    if (!rows) return HD_NOMEM(err);
    stream->side[0] = (arrow_side){rows, free_rows};
    HD_TRY(hd_launches_new(&rows->launches, stream->trace, err));
    const hd_launches *all = rows->launches;
    rows->alone = malloc((all->launch_count + 1) * sizeof *rows->alone);
    if (!rows->alone) return HD_NOMEM(err);
    for (size_t i = 0; i < all->launch_count; i++) {
        if (all->launches[i].work_count == 0) rows->alone[rows->alone_count++] = (uint32_t)i;
    }
    return HD_OK;
}

uint64_t arrow_count_launches(const arrow_stream *stream)
{
    const launch_rows *rows = stream->side[0].data;
    return rows->launches->work_count + rows->alone_count;
}

/* The work and the call of a row; NULL: there is none. */
typedef struct launch_row {
    const hd_work *work;
    const hd_launch *call, *graph_call;
} launch_row;

static launch_row row_at(const arrow_rows *rows, uint32_t i)
{
    const launch_rows *all = rows->stream->side[0].data;
    const hd_launches *l = all->launches;
    uint64_t at = rows->first + i;
    if (at >= l->work_count) return (launch_row){.call = &l->launches[all->alone[at - l->work_count]]};
    const hd_work *work = &l->works[at];
    return (launch_row){work, work->launch == HD_NONE ? NULL : &l->launches[work->launch],
                        work->graph_launch == HD_NONE ? NULL : &l->launches[work->graph_launch]};
}

#define LAUNCH_FIELD(name, expression)                                                                                 \
    static void make_##name(arrow_rows *rows, int64_t *out)                                                            \
    {                                                                                                                  \
        for (uint32_t i = 0; i < rows->count; i++) {                                                                   \
            launch_row row = row_at(rows, i);                                                                          \
            out[i] = (int64_t)(expression);                                                                            \
        }                                                                                                              \
    }

static int64_t rank_at(const arrow_rows *rows, uint32_t track)
{
    uint32_t count = hd_trace_track_count(rows->stream->trace);
    return rows->stream->ranks[track < count ? track : count];
}

LAUNCH_FIELD(call_id, row.call ? (int64_t)row.call->row : -1)
LAUNCH_FIELD(work_id, row.work ? (int64_t)row.work->row : -1)
LAUNCH_FIELD(correlation, row.work ? row.work->id : row.call->id)
LAUNCH_FIELD(call_ts, row.call ? row.call->start_ns : HD_NO_TIME)
LAUNCH_FIELD(call_dur, row.call ? row.call->duration_ns : HD_NO_TIME)
LAUNCH_FIELD(call_track, row.call ? row.call->track : HD_NONE)
LAUNCH_FIELD(call_name, row.call ? row.call->name : HD_STRING_NONE)
LAUNCH_FIELD(call_kind, row.call ? (int)row.call->sort : -1)
LAUNCH_FIELD(work_ts, row.work ? row.work->start_ns : HD_NO_TIME)
LAUNCH_FIELD(work_dur, row.work ? row.work->duration_ns : HD_NO_TIME)
LAUNCH_FIELD(work_track, row.work ? row.work->track : HD_NONE)
LAUNCH_FIELD(work_name, row.work ? row.work->name : HD_STRING_NONE)
LAUNCH_FIELD(work_kind, row.work ? (int)row.work->role - HD_ROLE_KERNEL : -1)
LAUNCH_FIELD(graph_call_id, row.graph_call ? (int64_t)row.graph_call->row : -1)
LAUNCH_FIELD(rank, rank_at(rows, row.work ? row.work->track : row.call->track))

static void make_delay(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        launch_row row = row_at(rows, i);
        out[i] = HD_NO_TIME;
        if (!row.work || !row.call || row.work->start_ns == HD_NO_TIME || row.call->start_ns == HD_NO_TIME) continue;
        int64_t returned = hd_end_or_start(row.call->start_ns, row.call->duration_ns);
        if (__builtin_sub_overflow(row.work->start_ns, returned, &out[i])) out[i] = HD_NO_TIME;
    }
}

static const char *const call_kinds[] = {"unknown", "kernel", "graph", "copy", "set", NULL};
static const char *const work_kinds[] = {"kernel", "copy", "set", NULL};
_Static_assert(HD_ROLE_COPY == HD_ROLE_KERNEL + 1 && HD_ROLE_SET == HD_ROLE_KERNEL + 2, "work_kinds");
_Static_assert(HD_LAUNCH_SET == 4, "call_kinds");

const arrow_field arrow_launch_fields[] = {
    {.name = "call_id", .make = make_call_id, .null = -1},
    {.name = "work_id", .make = make_work_id, .null = -1},
    {.name = "correlation", .make = make_correlation, .null = 0},
    {.name = "delay", .make = make_delay, .null = HD_NO_TIME},
    {.name = "call_ts", .make = make_call_ts, .null = HD_NO_TIME},
    {.name = "call_dur", .make = make_call_dur, .null = HD_NO_TIME},
    {.name = "call_track_id", .make = make_call_track, .null = HD_NONE},
    {.name = "call_name", .make = make_call_name, .null = HD_STRING_NONE},
    {.name = "call_kind", .make = make_call_kind, .null = -1, .dictionary = ARROW_WORDS, .words = call_kinds},
    {.name = "work_ts", .make = make_work_ts, .null = HD_NO_TIME},
    {.name = "work_dur", .make = make_work_dur, .null = HD_NO_TIME},
    {.name = "work_track_id", .make = make_work_track, .null = HD_NONE},
    {.name = "work_name", .make = make_work_name, .null = HD_STRING_NONE},
    {.name = "work_kind", .make = make_work_kind, .null = -1, .dictionary = ARROW_WORDS, .words = work_kinds},
    {.name = "graph_call_id", .make = make_graph_call_id, .null = -1},
    {.name = "rank", .make = make_rank, .null = HD_NO_NUMBER},
    {0},
};
