/* check.c - the error of the unchanged replay, and the effect of changes on steps
 *
 * A step takes from its start, or the end of the previous step if that is later, to its end and that of the activities
 * launched in it: consecutive steps add up to the whole, also if activities run past the end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "replay/replay.h"
#include "trace/event.h"

enum { NAME_MOST = 80 }; /* bytes of a call's name in a table */

/* ---- figures ---- */

static int64_t span_of(const replay *r, const replay_times *t)
{
    int64_t start = INT64_MAX, end = INT64_MIN;
    for (uint32_t n = 0; n < r->graph->node_count; n++) {
        if (t->starts[n] < start) start = t->starts[n];
        if (t->ends[n] > end) end = t->ends[n];
    }
    return start <= end ? end - start : 0;
}

typedef struct busy {
    int64_t start, end;
    uint32_t device;
} busy;

/* Summed up over devices. */
static hd_status busy_of(int64_t *out, const replay *r, const replay_times *t, hd_error *err)
{
    size_t count = 0, most = (size_t)(r->graph->node_count - r->first_work) + 1;
    busy *list = hd_large_new(most, sizeof *list, r->large), *spare = hd_large_new(most, sizeof *spare, r->large);
    bool fine = list && spare;
    for (uint32_t n = r->first_work; fine && n < r->graph->node_count; n++)
        list[count++] = (busy){t->starts[n], t->ends[n], replay_gpu_work(r, n)->device};
    if (fine)
        HD_SORT_RUNS(list, spare, count, x, y, x->device != y->device ? x->device < y->device : x->start < y->start);
    *out = 0;
    for (size_t i = 0, end = 0; fine && i < count; i++) {
        bool is_first = i == 0 || list[i].device != list[i - 1].device;
        int64_t start = is_first || list[i].start > list[end].end ? list[i].start : list[end].end;
        if (is_first || list[i].end > list[end].end) end = i;
        if (list[i].end > start) *out = gpu_sum(*out, list[i].end - start);
    }
    hd_large_free(list);
    hd_large_free(spare);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* By step of the scope; HD_NO_TIME for steps whose thread is not in the graph, and of other windows. */
static hd_status steps_of(int64_t **out, const replay *r, const replay_times *t, hd_error *err)
{
    const gpu_scope *s = &r->scope;
    int64_t *ends = malloc(((size_t)s->step_count + 1) * sizeof *ends);
    *out = malloc(((size_t)s->step_count + 1) * sizeof **out);
    for (uint32_t i = 0; ends && i < s->step_count; i++) ends[i] = INT64_MIN;
    for (uint32_t n = r->first_work; ends && n < r->graph->node_count; n++) {
        uint32_t step = replay_gpu_work(r, n)->step;
        if (step != HD_NONE && t->ends[n] > ends[step]) ends[step] = t->ends[n];
    }
    for (uint32_t i = 0; ends && *out && i < s->step_count; i++) {
        const gpu_step *step = &s->steps[i];
        uint32_t lane = r->lanes[step->lane];
        (*out)[i] = HD_NO_TIME;
        if (lane == HD_NONE) continue;
        int64_t start = replay_time_of(r, t, &r->graph->lanes[lane], step->start);
        int64_t end = replay_time_of(r, t, &r->graph->lanes[lane], step->end);
        if (end > ends[i]) ends[i] = end;
        for (uint32_t k = i; k-- > 0;) {
            if (s->steps[k].rank != step->rank || (*out)[k] == HD_NO_TIME) continue;
            if (ends[k] > start) start = ends[k];
            break;
        }
        (*out)[i] = ends[i] > start ? ends[i] - start : 0;
        if (ends[i] < start) ends[i] = start; /* an earlier step goes on beyond its end */
    }
    free(ends);
    return *out ? HD_OK : HD_NOMEM(err);
}

static bool is_step_listed(const replay *r, uint32_t step)
{
    int64_t start = r->scope.steps[step].start;
    return !r->has_window || (start >= r->from && start < r->until);
}

hd_status replay_measure(replay_measures *out, const replay *r, const replay_times *times, hd_error *err)
{
    int64_t *steps;
    *out = (replay_measures){{[REPLAY_SPAN] = span_of(r, times)}};
    HD_TRY(busy_of(&out->ns[REPLAY_BUSY], r, times, err));
    hd_status status = steps_of(&steps, r, times, err);
    for (uint32_t i = 0; status == HD_OK && i < r->scope.step_count; i++) {
        if (steps[i] != HD_NO_TIME && is_step_listed(r, i))
            out->ns[REPLAY_STEPS] = gpu_sum(out->ns[REPLAY_STEPS], steps[i]);
    }
    free(steps);
    return status;
}

/* ---- the check ---- */

static double percent(int64_t difference, int64_t of)
{
    return of > 0 ? 100 * (double)(difference < 0 ? -difference : difference) / (double)of : 0;
}

static void add_check(hd_table_builder *t, replay *r, const char *what, int64_t recorded, int64_t replayed,
                      double error)
{
    hd_table_add_text(t, what);
    hd_table_add_int(t, recorded);
    hd_table_add_int(t, replayed);
    hd_table_add_int(t, replayed - recorded);
    hd_table_add_decimal(t, error);
    if (error > r->error) r->error = error;
}

static hd_status check_steps(hd_table_builder *t, replay *r, const replay_times *recorded, hd_error *err)
{
    int64_t *before, *after = NULL, sums[3] = {0};
    hd_status status = steps_of(&before, r, recorded, err);
    if (status == HD_OK) status = steps_of(&after, r, &r->unchanged, err);
    for (uint32_t i = 0; status == HD_OK && i < r->scope.step_count; i++) {
        if (before[i] == HD_NO_TIME || !is_step_listed(r, i)) continue;
        sums[0] = gpu_sum(sums[0], before[i]);
        sums[1] = gpu_sum(sums[1], after[i]);
        sums[2] = gpu_sum(sums[2], after[i] > before[i] ? after[i] - before[i] : before[i] - after[i]);
    }
    free(before);
    free(after);
    if (status == HD_OK && sums[0]) add_check(t, r, "steps", sums[0], sums[1], percent(sums[2], sums[0]));
    return status;
}

hd_status replay_middle(int64_t out[3], int64_t *list, size_t count, const replay *r, hd_error *err)
{
    int64_t *spare = hd_large_new(count + 1, sizeof *spare, r->large);
    if (!spare) return HD_NOMEM(err);
    HD_SORT_RUNS(list, spare, count, x, y, *x < *y);
    hd_large_free(spare);
    out[0] = count ? list[count / 2] : 0;
    out[1] = count ? list[(size_t)((gpu_i128)count * 99 / 100)] : 0;
    out[2] = count ? list[count - 1] : 0;
    return HD_OK;
}

static hd_status check_starts(hd_table_builder *t, replay *r, int64_t span, hd_error *err)
{
    static const char *const names[] = {"start of work: median", "start of work: 99 %", "start of work: largest"};
    size_t count = 0, most = (size_t)(r->graph->node_count - r->first_work) + 1;
    int64_t *list = hd_large_new(most, sizeof *list, r->large), errors[3];
    hd_status status = list ? HD_OK : HD_NOMEM(err);
    for (uint32_t n = r->first_work; list && n < r->graph->node_count; n++) {
        int64_t error = r->unchanged.starts[n] - r->graph->starts[n];
        if (!(r->plan.flags[n] & PLAN_PINNED)) list[count++] = error < 0 ? -error : error;
    }
    if (status == HD_OK) status = replay_middle(errors, list, count, r, err);
    for (int i = 0; status == HD_OK && count && i < 3; i++) {
        hd_table_add_text(t, names[i]);
        hd_table_add_null(t);
        hd_table_add_null(t);
        hd_table_add_int(t, errors[i]);
        hd_table_add_decimal(t, percent(errors[i], span));
        if (i < 2 && percent(errors[i], span) > r->error) r->error = percent(errors[i], span);
    }
    hd_large_free(list);
    return status;
}

/* ---- what is missing ---- */

typedef struct missing_key {
    uint32_t name, kind; /* kind: hd_edge_kind; HD_EDGE_KINDS: no launch */
} missing_key;

typedef struct missing {
    uint64_t works;
    int64_t late, early, longest;
    uint32_t id;
} missing;

typedef struct missings {
    gpu_groups keys;
    missing *list;
    size_t capacity;
} missings;

/* How much later an activity began than its edges explain, by the times of the trace; *kind: that of the edge that is
 * ready last. */
static int64_t unexplained(uint32_t *kind, const replay *r, uint32_t node)
{
    const hd_graph *g = r->graph;
    int64_t latest = INT64_MIN, full = r->shares[node - r->first_work].full_ns;
    bool has_launch = false;
    HD_GRAPH_EDGES(e, g, node) {
        hd_edge_kind of = hd_graph_edge_kind(g, e);
        uint32_t from = hd_graph_edge_from(g, e);
        int64_t ready = replay_ready(r, NULL, node, from, of, (replay_span){g->starts[from], g->ends[from]});
        has_launch |= of == HD_EDGE_LAUNCH;
        if (ready < latest) continue;
        latest = ready;
        *kind = of;
    }
    if (latest == INT64_MIN) return 0;
    if (!has_launch) *kind = HD_EDGE_KINDS;
    return gpu_whole((gpu_i128)g->starts[node] - (latest > full ? latest : full));
}

static bool sum_missing(missings *m, const replay *r)
{
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        missing_key key = {.name = replay_work(r, n)->name};
        int64_t late = r->plan.flags[n] & PLAN_PINNED ? 0 : unexplained(&key.kind, r, n);
        if (!late) continue;
        uint32_t count = m->keys.count, group = gpu_group(&m->keys, &key);
        if (group == HD_NONE || !hd_grow((void **)&m->list, &m->capacity, group, sizeof *m->list)) return false;
        missing *sum = &m->list[group];
        if (group == count) *sum = (missing){.longest = INT64_MIN};
        sum->works++;
        int64_t *side = late > 0 ? &sum->late : &sum->early;
        *side = gpu_sum(*side, late > 0 ? late : -late);
        if (late <= sum->longest) continue;
        sum->longest = late;
        sum->id = r->graph->slices[n];
    }
    return true;
}

static hd_status add_missing(hd_report *out, const replay *r, hd_error *err)
{
    hd_table_builder *t;
    missings m = {.keys = {.key_size = sizeof(missing_key)}};
    hd_status status = report_builder(&t, &replay_about, "missing", err);
    bool fine = status == HD_OK && sum_missing(&m, r);
    for (uint32_t i = 0; fine && i < m.keys.count; i++) {
        const missing_key *key = gpu_group_key(&m.keys, i);
        report_cell_string(t, r->trace, key->name);
        hd_table_add_text(t, key->kind == HD_EDGE_KINDS ? "no launch" : hd_edge_kind_name((hd_edge_kind)key->kind));
        hd_table_add_count(t, m.list[i].works);
        hd_table_add_int(t, m.list[i].late);
        hd_table_add_int(t, m.list[i].early);
        hd_table_add_int(t, m.list[i].longest);
        hd_table_add_int(t, m.list[i].id);
    }
    free(m.list);
    gpu_groups_deinit(&m.keys);
    if (status != HD_OK) return status;
    if (fine && hd_table_sort(t, NULL, "late") == HD_OK) return report_add(out, t, err);
    hd_table_builder_free(t);
    return HD_NOMEM(err);
}

static void add_lag(hd_table_builder *t, const char *name, const replay_lag *lag)
{
    if (!lag->samples) return;
    hd_table_add_text(t, name);
    hd_table_add_count(t, lag->samples);
    hd_table_add_int(t, lag->ns);
    hd_table_add_text(t, lag->from_start ? "start" : "end");
    hd_table_add_int(t, lag->spread_ns);
}

static hd_status add_model(hd_report *out, const replay *r, hd_error *err)
{
    hd_table_builder *t;
    char name[120];
    HD_TRY(report_builder(&t, &replay_about, "model", err));
    for (unsigned i = 0; i < LAG_CLASSES; i++) {
        replay_lag_name(name, sizeof name, i);
        add_lag(t, name, &r->lags[i]);
    }
    for (size_t i = 0; i < r->return_kind_count; i++) {
        const replay_return_kind *kind = &r->return_kinds[i];
        hd_string of = hd_trace_string(r->trace, kind->name);
        size_t size = of.data ? of.size : 0;
        if (size > NAME_MOST) /* whole characters */
            for (size = NAME_MOST; size && (of.data[size] & 0xc0) == 0x80;) size--;
        snprintf(name, sizeof name, "return: %.*s", (int)size, of.data ? of.data : "");
        add_lag(t, name, &kind->wake);
        snprintf(name, sizeof name, "call: %.*s", (int)size, of.data ? of.data : "");
        add_lag(t, name, &kind->own);
    }
    return report_add(out, t, err);
}

hd_status replay_check(hd_report *out, replay *r, hd_error *err)
{
    const replay_times recorded = {.starts = r->graph->starts, .ends = r->graph->ends};
    hd_table_builder *t;
    int64_t before, after, span = span_of(r, &recorded), replayed = span_of(r, &r->unchanged);
    HD_TRY(busy_of(&before, r, &recorded, err));
    HD_TRY(busy_of(&after, r, &r->unchanged, err));
    HD_TRY(report_builder(&t, &replay_about, "check", err));
    add_check(t, r, "span", span, replayed, percent(replayed - span, span));
    hd_status status = check_steps(t, r, &recorded, err);
    if (status == HD_OK) add_check(t, r, "busy", before, after, percent(after - before, before));
    if (status == HD_OK) status = check_starts(t, r, span, err);
    if (status != HD_OK) {
        hd_table_builder_free(t);
        return status;
    }
    HD_TRY(report_add(out, t, err));
    HD_TRY(add_model(out, r, err));
    return add_missing(out, r, err);
}

/* ---- with changes ---- */

static void add_what_if(hd_table_builder *t, const replay *r, const char *what, int64_t before, int64_t after,
                        int64_t doubt)
{
    hd_table_add_text(t, what);
    hd_table_add_int(t, before);
    hd_table_add_int(t, after);
    gpu_cell_decimal(t, 100 * ((double)after - (double)before) / (double)before, before > 0);
    hd_table_add_int(t, gpu_sum(replay_scaled(after, r->error / 100), doubt));
}

hd_status replay_add_what_if(hd_report *out, const replay *r, hd_error *err)
{
    hd_table_builder *t;
    replay_measures before, after;
    static const char *const whats[REPLAY_MEASURES] = {"steps", "span", "busy"};
    if (!r->has_change) return HD_OK;
    HD_TRY(replay_measure(&before, r, &r->unchanged, err));
    HD_TRY(replay_measure(&after, r, &r->changed, err));
    HD_TRY(report_builder(&t, &replay_about, "what_if", err));
    for (int i = 0; i < REPLAY_MEASURES; i++) {
        if (i != REPLAY_STEPS || before.ns[i]) add_what_if(t, r, whats[i], before.ns[i], after.ns[i], r->doubt.ns[i]);
    }
    return report_add(out, t, err);
}

hd_status replay_add_steps(hd_report *out, const replay *r, hd_error *err)
{
    const replay_times recorded = {.starts = r->graph->starts, .ends = r->graph->ends};
    hd_table_builder *t;
    int64_t *lists[3] = {NULL};
    hd_status status = steps_of(&lists[0], r, &recorded, err);
    if (status == HD_OK) status = steps_of(&lists[1], r, &r->unchanged, err);
    if (status == HD_OK) status = steps_of(&lists[2], r, r->has_change ? &r->changed : &r->unchanged, err);
    if (status == HD_OK) status = report_builder(&t, &replay_about, "steps", err);
    for (uint32_t i = 0; status == HD_OK && i < r->scope.step_count; i++) {
        if (lists[0][i] == HD_NO_TIME || !is_step_listed(r, i)) continue;
        gpu_cells_rank(t, &r->scope, r->scope.steps[i].rank, i);
        for (int k = 0; k < 3; k++) report_cell_int(t, k < 2 || r->has_change ? lists[k][i] : HD_NO_NUMBER);
    }
    for (int k = 0; k < 3; k++) free(lists[k]);
    return status == HD_OK ? report_add(out, t, err) : status;
}
