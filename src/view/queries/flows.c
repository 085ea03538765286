/* flows.c - lines from slice to slice */
#include "view/queries/flows.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/flows/bind.h"
#include "trace/lazy.h"
#include "trace/spill.h"
#include "view/queries/queries.h"

/* ---- making them ---- */

static int by_time(const void *a, const void *b)
{
    const view_line *x = a, *y = b;
    if (x->to_ns != y->to_ns) return x->to_ns < y->to_ns ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    if (x->from_flow != y->from_flow) return x->from_flow < y->from_flow ? -1 : 1;
    return (x->to_flow > y->to_flow) - (x->to_flow < y->to_flow);
}

enum { RADIX = 1 << 16 };

/* Sorts the lines of one slice, which are adjacent. */
static void sort_runs(view_flows *f)
{
    for (size_t i = 0, next; i < f->count; i = next) {
        bool sorted = true;
        for (next = i + 1; next < f->count && f->lines[next].from == f->lines[i].from; next++)
            sorted = sorted && by_time(&f->lines[next - 1], &f->lines[next]) <= 0;
        if (!sorted) hd_sort(f->lines + i, next - i, sizeof *f->lines, by_time);
    }
}

static uint32_t key_at(const char *keys, size_t line)
{
    uint32_t key;
    memcpy(&key, keys + line * sizeof(view_line), sizeof key);
    return key;
}

/* The numbers of the lines by their `from` or `to`, a uint32_t at `offset`: a radix sort of 2 × 16 bits; equal ones
 * stay in order. To be freed with hd_large_free; NULL: no memory. */
static uint32_t *order_lines(const view_flows *f, size_t offset)
{
    const char *keys = (const char *)f->lines + offset;
    uint32_t *order = hd_large_new(f->count + 1, sizeof *order, f->large);
    uint32_t *other = hd_large_new(f->count + 1, sizeof *other, f->large);
    uint32_t *counts = malloc((RADIX + 1) * sizeof *counts);
    bool fine = order && other && counts;
    for (size_t i = 0; fine && i < f->count; i++) order[i] = (uint32_t)i;
    for (int shift = 0; fine && shift < 32; shift += 16) {
        memset(counts, 0, (RADIX + 1) * sizeof *counts);
        for (size_t i = 0; i < f->count; i++) counts[(key_at(keys, i) >> shift & (RADIX - 1)) + 1]++;
        for (int i = 0; i < RADIX; i++) counts[i + 1] += counts[i];
        for (size_t i = 0; i < f->count; i++) other[counts[key_at(keys, order[i]) >> shift & (RADIX - 1)]++] = order[i];
        uint32_t *swap = order;
        order = other;
        other = swap;
    }
    hd_large_free(other);
    free(counts);
    if (fine) return order;
    hd_large_free(order);
    return NULL;
}

/* By `from`, then time: no two are equal, so that their order is none of the hashes that points are joined by. */
static bool sort_lines(view_flows *f)
{
    uint32_t *order = order_lines(f, offsetof(view_line, from));
    view_line *sorted = hd_large_new(f->count + 1, sizeof *sorted, f->large);
    bool fine = order && sorted;
    for (size_t i = 0; fine && i < f->count; i++) sorted[i] = f->lines[order[i]];
    hd_large_free(order);
    hd_large_free(fine ? f->lines : sorted);
    if (!fine) return false;
    f->lines = sorted;
    sort_runs(f);
    return true;
}

/* Lines of the flows of the trace. */
static hd_status add_flows(view_flows *f, const hd_trace *trace, hd_error *err)
{
    hd_flow_point *points;
    uint32_t *bound = NULL;
    size_t count, lines = 0;
    HD_TRY(hd_flow_points(&points, &count, trace, err));
    hd_flow_points_join(points, count);
    hd_status status = hd_flows_bind(&bound, trace, err);
    for (size_t i = 0; i < count; i++) lines += points[i].from != HD_NONE;
    f->lines = hd_large_new(lines + 1, sizeof *f->lines, f->large);
    if (status == HD_OK && !f->lines) status = HD_NOMEM(err);
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        if (points[i].from == HD_NONE) continue;
        const hd_flow_point *from = &points[points[i].from], *to = &points[i];
        if (bound[from->row] == UINT32_MAX || bound[to->row] == UINT32_MAX) continue;
        f->lines[f->count++] = (view_line){.from_ns = from->start_ns,
                                           .to_ns = to->start_ns,
                                           .from = bound[from->row],
                                           .to = bound[to->row],
                                           .from_flow = from->row,
                                           .to_flow = to->row};
    }
    hd_large_free(points);
    hd_large_free(bound);
    return status == HD_OK && !sort_lines(f) ? HD_NOMEM(err) : status;
}

static bool index_ends(view_flows *f)
{
    hd_large_free(f->by_to);
    f->by_to = order_lines(f, offsetof(view_line, to));
    return f->by_to != NULL;
}

/* Marks activities with a line from their launch: lines sorted by end and activities by row are walked together. */
static void mark_works(uint8_t *marks, const view_flows *f, const hd_launches *launches)
{
    size_t at = 0;
    for (size_t i = 0; i < f->count; i++) {
        const view_line *line = &f->lines[f->by_to[i]];
        while (at < launches->work_count && launches->works[at].row < line->to) at++;
        if (at == launches->work_count) return;
        uint32_t launch = launches->works[at].launch;
        if (launches->works[at].row == line->to && launch != HD_NONE && launches->launches[launch].row == line->from)
            marks[at] = 1;
    }
}

/* Lines of launches that no flow leads from. */
static hd_status add_launches(view_flows *f, const hd_launches *launches, hd_error *err)
{
    uint8_t *has_line = calloc(launches->work_count + 1, 1);
    size_t count = 0;
    if (!has_line) return HD_NOMEM(err);
    mark_works(has_line, f, launches);
    for (size_t i = 0; i < launches->work_count; i++) count += launches->works[i].launch != HD_NONE && !has_line[i];
    bool fine = !count || hd_large_resize((void **)&f->lines, f->count, f->count + count, sizeof *f->lines, f->large);
    for (size_t i = 0; fine && count && i < launches->work_count; i++) {
        const hd_work *work = &launches->works[i];
        if (work->launch == HD_NONE || has_line[i]) continue;
        const hd_launch *launch = &launches->launches[work->launch];
        f->lines[f->count++] = (view_line){.from_ns = launch->start_ns,
                                           .to_ns = work->start_ns,
                                           .from = (uint32_t)launch->row,
                                           .to = (uint32_t)work->row,
                                           .from_flow = HD_NONE,
                                           .to_flow = HD_NONE};
    }
    free(has_line);
    f->launch_count = count;
    if (fine && count) fine = sort_lines(f) && index_ends(f);
    return fine ? HD_OK : HD_NOMEM(err);
}

static int by_count(const void *a, const void *b)
{
    const view_flow_category *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static void count_categories(view_flows *f, const hd_trace *trace)
{
    view_flow_category *found = f->categories;
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (f->lines[i].from_flow == HD_NONE) continue;
        uint32_t id = view_line_category(&f->lines[i], trace);
        size_t at = 0;
        while (at < count && found[at].id != id) at++;
        if (at == VIEW_FLOW_CATEGORIES) continue;
        if (at == count) found[count++] = (view_flow_category){.id = id};
        found[at].count++;
    }
    if (f->launch_count) found[count++] = (view_flow_category){HD_NONE, f->launch_count};
    hd_sort(found, count, sizeof *found, by_count);
    f->category_count = count;
}

/* launches may be NULL. */
static hd_status flows_new(view_flows **out, const hd_trace *trace, const hd_launches *launches, hd_error *err)
{
    view_flows *f = calloc(1, sizeof *f);
    *out = NULL;
    if (!f) return HD_NOMEM(err);
    f->large = hd_trace_large_bytes(trace);
    hd_status status = add_flows(f, trace, err);
    if (status == HD_OK && !index_ends(f)) status = HD_NOMEM(err);
    if (status == HD_OK && launches) status = add_launches(f, launches, err);
    if (status == HD_OK && f->count >= UINT32_MAX)
        status = hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 flows");
    if (status == HD_OK) count_categories(f, trace);
    if (status == HD_OK)
        *out = f;
    else
        view_flows_free(f);
    return status;
}

hd_status view_derive_flows(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    const view_flows *flows;
    (void)stop;
    return view_flows_get(&flows, scene, err);
}

void view_flows_free(view_flows *flows)
{
    if (!flows) return;
    hd_large_free(flows->lines);
    hd_large_free(flows->by_to);
    free(flows);
}

/* ---- asking them ---- */

hd_status view_flows_get(const view_flows **out, const view_scene *scene, hd_error *err)
{
    view_queries *q = view_scene_queries(scene);
    hd_status status = HD_OK;
    *out = NULL;
    pthread_mutex_lock(&q->lock_flows);
    const hd_launches *launches = view_scene_launches(scene);
    if (!launches && !q->flows) {
        pthread_mutex_unlock(&q->lock_flows);
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "the launches of the trace are still being found: ask again in a moment");
    }
    if (!q->flows) status = flows_new(&q->flows, view_scene_trace(scene), launches, err);
    *out = q->flows;
    pthread_mutex_unlock(&q->lock_flows);
    return status;
}

size_t view_flows_from(size_t *out_first, const view_flows *flows, uint32_t slice)
{
    size_t low = 0, high = flows->count;
    HD_PARTITION_POINT(low, high, at, flows->lines[at].from < slice);
    *out_first = low;
    size_t count = 0;
    while (low + count < flows->count && flows->lines[low + count].from == slice) count++;
    return count;
}

size_t view_flows_to(size_t *out_first, const view_flows *flows, uint32_t slice)
{
    size_t low = 0, high = flows->count;
    HD_PARTITION_POINT(low, high, at, flows->lines[flows->by_to[at]].to < slice);
    *out_first = low;
    size_t count = 0;
    while (low + count < flows->count && flows->lines[flows->by_to[low + count]].to == slice) count++;
    return count;
}

uint32_t view_line_category(const view_line *line, const hd_trace *trace)
{
    uint32_t at;
    if (line->to_flow >= hd_trace_row_count(trace, HD_KIND_FLOW)) return HD_STRING_NONE; /* a slice is the point */
    const hd_block *block = hd_trace_columns_of(&at, trace, HD_KIND_FLOW, line->to_flow);
    return (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], at);
}
