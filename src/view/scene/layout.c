/* layout.c - sorts the events of a lane by start, and places them on rows
 *
 * The summary of a device's track with activities (model/roles/trace_roles.h) is the union of these alone, like that of
 * the device: annotations and waits shown there would hide idle time. A device's track without activities is not busy,
 * and a track that only describes activities elsewhere has no busy time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "view/scene/impl.h"

typedef struct placed_row {
    uint32_t *rows;
    size_t count, capacity;
} placed_row;

typedef struct lane_layout {
    const hd_trace *trace;
    view_row_data events; /* to be read from */
    placed_row *rows;
    size_t row_count, row_capacity;
    uint64_t crossing;
    int64_t start_ns, end_ns;
    uint64_t busy_ns;
} lane_layout;

/* ---- start order ---- */

static uint32_t read_span(int64_t *out_start, int64_t *out_end, row_reader *reader, uint32_t row)
{
    uint32_t within;
    const hd_block *block = row_reader_block(reader, row, &within);
    return row_event_span(out_start, out_end, block, within, reader->data->open_end_ns);
}

static hd_status sort_rows(lane_layout *l, hd_error *err)
{
    uint32_t count = (uint32_t)l->events.count;
    lane_span *spans = malloc((size_t)count * sizeof *spans);
    lane_span *scratch = malloc(((size_t)count / 2 + 1) * sizeof *scratch);
    row_reader reader = row_reader_of(&l->events, l->trace);
    bool fine = spans && scratch;
    for (uint32_t i = 0; fine && i < count; i++) {
        lane_span *s = &spans[i];
        s->ordinal = l->events.rows[i];
        s->name = 0;
        read_span(&s->start, &s->end, &reader, s->ordinal);
    }
    if (fine) lane_sort(spans, count, scratch);
    for (uint32_t i = 0; fine && i < count; i++) l->events.rows[i] = spans[i].ordinal;
    free(spans);
    free(scratch);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- rows ---- */

static void forget(lane_layout *l)
{
    for (size_t i = 0; i < l->row_count; i++) free(l->rows[i].rows);
    l->row_count = 0;
    l->crossing = l->busy_ns = 0;
    l->start_ns = l->end_ns = HD_NO_TIME;
}

static bool put_on(lane_layout *l, uint32_t at, uint32_t row)
{
    if (at == l->row_count) {
        if (!hd_grow((void **)&l->rows, &l->row_capacity, at, sizeof *l->rows)) return false;
        l->rows[l->row_count++] = (placed_row){0};
    }
    placed_row *list = &l->rows[at];
    if (!hd_grow((void **)&list->rows, &list->capacity, list->count, sizeof *list->rows)) return false;
    list->rows[list->count++] = row;
    return true;
}

static void cover(lane_layout *l, int64_t start, int64_t end)
{
    if (l->start_ns == HD_NO_TIME) {
        l->start_ns = start;
        l->end_ns = start;
    }
    int64_t from = start > l->end_ns ? start : l->end_ns;
    if (end > from) l->busy_ns += (uint64_t)end - (uint64_t)from;
    if (end > l->end_ns) l->end_ns = end;
    if (start > l->end_ns) l->end_ns = start;
}

/* HD_END: they are not in start order. */
static hd_status place_rows(lane_layout *l, hd_error *err)
{
    row_stacker *stacker = row_stacker_new();
    row_reader reader = row_reader_of(&l->events, l->trace);
    int64_t last_start = INT64_MIN, last_end = INT64_MAX;
    hd_status status = stacker ? HD_OK : HD_NOMEM(err);
    for (uint64_t i = 0; i < l->events.count && status == HD_OK; i++) {
        int64_t start, end;
        uint32_t at;
        bool crosses;
        read_span(&start, &end, &reader, l->events.rows[i]);
        if (start < last_start || (start == last_start && end > last_end)) {
            status = HD_END;
            break;
        }
        if (!row_stacker_place(stacker, &at, &crosses, start, end) || !put_on(l, at, l->events.rows[i]))
            status = HD_NOMEM(err);
        l->crossing += crosses;
        cover(l, start, end);
        last_start = start;
        last_end = end;
    }
    row_stacker_free(stacker);
    return status;
}

/* The lists become rows. */
static hd_status make_rows(view_rows *out, lane_layout *l, hd_error *err)
{
    out->count = 0;
    out->rows = calloc(l->row_count + 1, sizeof *out->rows);
    if (!out->rows) return HD_NOMEM(err);
    for (size_t i = 0; i < l->row_count; i++) {
        placed_row *list = &l->rows[i];
        uint32_t *trimmed = realloc(list->rows, list->count * sizeof *trimmed);
        if (!trimmed) trimmed = list->rows;
        list->rows = NULL;
        HD_TRY(
            row_of_table(&out->rows[out->count++], trimmed, list->count, l->events.kind, l->events.open_end_ns, err));
    }
    return HD_OK;
}

/* ---- works of a stream ---- */

/* *out: a lane with the activities among the events of a device's track, in the same order. out->events.rows is
 * malloc'ed. */
static hd_status pick_works(lane_layout *out, const lane_layout *l, view_scene *scene, hd_error *err)
{
    uint64_t count = 0;
    uint32_t *rows = malloc((size_t)(l->events.count + 1) * sizeof *rows);
    row_reader reader = row_reader_of(&l->events, l->trace);
    if (!rows) return HD_NOMEM(err);
    for (uint64_t i = 0; i < l->events.count; i++) {
        uint32_t within;
        const hd_block *block = row_reader_block(&reader, l->events.rows[i], &within);
        uint32_t category = (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], within);
        if (hd_role_is_work(hd_roles_in(&scene->roles, block, within, category))) rows[count++] = l->events.rows[i];
    }
    *out = (lane_layout){.trace = l->trace, .events = l->events, .start_ns = HD_NO_TIME, .end_ns = HD_NO_TIME};
    out->events.rows = rows;
    out->events.count = count;
    return HD_OK;
}

/* ---- the summary ---- */

static hd_status sum_up(view_row *out, view_scene *scene, const view_rows *rows, uint64_t crossing, hd_error *err)
{
    if (rows->count == 0) return HD_OK;
    if (crossing == 0) { /* all others are nested in slices of the first row */
        *out = view_row_share(&rows->rows[0]);
        return HD_OK;
    }
    const view_row **list = malloc(rows->count * sizeof *list);
    if (!list) return HD_NOMEM(err);
    for (uint32_t i = 0; i < rows->count; i++) list[i] = &rows->rows[i];
    hd_status status = view_rows_union(out, list, rows->count, scene->trace, err);
    free(list);
    HD_TRY(status);
    return view_row_index(out, scene->trace, scene->start_ns, err);
}

static hd_status sum_up_works(view_track *track, view_scene *scene, lane_layout *works, hd_error *err)
{
    static const char detail[] =
        "busy is what its kernels, copies and memsets cover; annotations and waits are not work";
    view_rows rows = {0};
    hd_status status = place_rows(works, err);
    if (status == HD_OK) status = make_rows(&rows, works, err);
    if (status == HD_OK && works->crossing == 0)
        status = view_row_index(&rows.rows[0], scene->trace, scene->start_ns, err);
    if (status == HD_OK) status = sum_up(&track->summary, scene, &rows, works->crossing, err);
    view_rows_deinit(&rows);
    track->detail = strdup(detail);
    return status == HD_OK && !track->detail ? HD_NOMEM(err) : status;
}

/* The rows with their index, and the summary. */
static hd_status finish_rows(view_scene *scene, view_track *track, lane_layout *l, lane_layout *works, hd_error *err)
{
    HD_TRY(make_rows(&track->rows, l, err));
    for (uint32_t i = 0; i < track->rows.count; i++)
        HD_TRY(view_row_index(&track->rows.rows[i], scene->trace, scene->start_ns, err));
    if (track->told || !works->events.rows || works->events.count == l->events.count)
        return sum_up(&track->summary, scene, &track->rows, l->crossing, err);
    HD_TRY(sum_up_works(track, scene, works, err));
    l->busy_ns = works->busy_ns;
    return HD_OK;
}

enum { FOLDED_ROWS = 8 }; /* stacks of Python that are deeper hide all that is below them */

/* Whether a thread has deep stacks of Python frames: it is one row at first. */
static bool is_python_stack(const lane_layout *l, view_scene *scene)
{
    row_reader reader = row_reader_of(&l->events, l->trace);
    if (l->row_count <= FOLDED_ROWS || l->events.kind != HD_KIND_SLICE) return false;
    for (size_t i = 0; i < FOLDED_ROWS; i++) {
        uint32_t within;
        const hd_block *block = row_reader_block(&reader, l->rows[i].rows[0], &within);
        uint32_t category = (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], within);
        if (hd_roles_in(&scene->roles, block, within, category) == HD_ROLE_PYTHON) return true;
    }
    return false;
}

hd_status scene_lay_out_lane(view_scene *scene, view_track *track, scene_lane *lane, hd_error *err)
{
    lane_layout l = {.trace = scene->trace}, works = {0};
    l.events = (view_row_data){.rows = lane->rows, .count = lane->count, .kind = track->events};
    l.events.open_end_ns = hd_trace_facts_of(scene->trace)->end_ns;
    l.start_ns = l.end_ns = HD_NO_TIME;
    hd_status status = place_rows(&l, err);
    if (status == HD_END) {
        forget(&l);
        status = sort_rows(&l, err);
        if (status == HD_OK) status = place_rows(&l, err);
    }
    hd_row_sort row = track->events == HD_KIND_SLICE ? hd_roles_row(&scene->roles, track->source) : HD_ROW_HOST;
    if (status == HD_OK && !hd_row_is_host(row)) status = pick_works(&works, &l, scene, err);
    track->told = !hd_row_is_host(row) && works.events.count == 0;
    if (status == HD_OK) track->collapsed |= is_python_stack(&l, scene);
    free(lane->rows);
    lane->rows = NULL;
    if (status == HD_OK) status = finish_rows(scene, track, &l, &works, err);
    if (status == HD_OK) {
        track->event_count = lane->count;
        track->on_lanes = l.crossing;
        track->start_ns = l.start_ns;
        track->end_ns = l.end_ns;
        if (track->told) l.busy_ns = 0;
        track->busy_ns = l.start_ns == HD_NO_TIME || row == HD_ROW_TOLD ? HD_NO_TIME
                         : l.busy_ns < INT64_MAX                        ? (int64_t)l.busy_ns
                                                                        : INT64_MAX;
        atomic_store_explicit(&track->ready, 1, memory_order_release);
    }
    forget(&l);
    forget(&works);
    free(l.rows);
    free(works.rows);
    free(works.events.rows);
    return status;
}
