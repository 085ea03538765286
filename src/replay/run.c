/* run.c - heddle/analysis/replay.h: the graph, its delays, the unchanged replay, then the requested one */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "heddle/names.h"
#include "heddle/pass.h"
#include "pass/options.h"
#include "replay/replay.h"
#include "trace/event.h"
#include "trace/spill.h"

const hd_report_about *hd_replay_about(void)
{
    return &replay_about;
}

/* ---- what the graph does not have at hand ---- */

static bool index_works(replay *r)
{
    const hd_launches *l = r->scope.launches;
    const hd_graph *g = r->graph;
    uint64_t rows = hd_trace_row_count(r->trace, HD_KIND_SLICE);
    uint32_t *of_rows = hd_large_new(rows + 1, sizeof *of_rows, r->large);
    r->works = hd_large_new((size_t)(g->node_count - r->first_work) + 1, sizeof *r->works, r->large);
    r->nodes = hd_large_new(l->work_count + 1, sizeof *r->nodes, r->large);
    bool fine = of_rows && r->works && r->nodes;
    for (uint32_t w = 0; fine && w < l->work_count; w++) {
        of_rows[l->works[w].row] = w;
        r->nodes[w] = HD_NONE;
    }
    for (uint32_t n = r->first_work; fine && n < g->node_count; n++) {
        r->works[n - r->first_work] = of_rows[g->slices[n]];
        r->nodes[of_rows[g->slices[n]]] = n;
    }
    hd_large_free(of_rows);
    return fine;
}

static bool index_lanes(replay *r)
{
    const hd_graph *g = r->graph;
    uint32_t tracks = hd_trace_track_count(r->trace);
    r->lanes = malloc(((size_t)tracks + 1) * sizeof *r->lanes);
    r->first_work = g->node_count;
    for (uint32_t t = 0; r->lanes && t < tracks; t++) r->lanes[t] = HD_NONE;
    for (uint32_t l = g->lane_count; r->lanes && l-- > 0;) {
        if (g->lanes[l].is_queue)
            r->first_work = g->lanes[l].first_node;
        else
            r->lanes[g->lanes[l].track] = l;
    }
    return r->lanes != NULL;
}

static hd_status find_window(replay *r, hd_error *err)
{
    const replay_options *o = r->options;
    if (o->steps && (o->from.unit || o->until.unit))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "steps is a window; it takes no from, until");
    if (!o->steps)
        return hd_crop_window_find(&r->from, &r->until, &r->has_window, r->trace, o->from, o->until, NULL, err);
    r->has_window = true;
    return gpu_steps_window(&r->from, &r->until, &r->scope, o->steps, err);
}

static hd_status prepare(replay *r, const replay_options *options, hd_error *err)
{
    const hd_report_input input = {.trace = r->trace};
    r->options = options;
    r->gpu_options = (gpu_options){.by = "step", .step = options->step};
    HD_TRY(gpu_scope_init(&r->scope, &input, &r->gpu_options, GPU_BY_STEP, err));
    HD_TRY(hd_graph_new(&r->graph, r->trace, r->scope.launches, err));
    HD_TRY(find_window(r, err));
    if (!index_lanes(r) || !index_works(r)) return HD_NOMEM(err);
    HD_TRY(replay_plan_init(&r->plan, r, err));
    HD_TRY(replay_find_shares(r, err));
    HD_TRY(replay_find_depth(r, err));
    HD_TRY(replay_model(r, err));
    return replay_find_returns(r, err);
}

/* ---- the whole ---- */

static hd_status refuse(hd_report *out, const replay *r, hd_error *err)
{
    HD_TRY(replay_add_notes(out, r, err));
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                        "a replay without change is off by %.2f %%, so no change is predicted; the table `missing` "
                        "lists the activities whose waits are unknown",
                        r->error);
}

static hd_status dry_run(hd_report *out, hd_trace **out_trace, replay *r, hd_error *err)
{
    if (out_trace || r->options->run || r->options->ties || r->options->within.unit)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "mode: a dry run writes and launches nothing, and has no ties");
    if (strcmp(r->options->mode, "dry-run") != 0)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "mode: '%.40s' is not dry-run",
                            r->options->mode);
    HD_TRY(replay_change(r, err));
    HD_TRY(replay_simulate(&r->changed, r, &r->plan, err));
    HD_TRY(replay_settle(r, err));
    HD_TRY(replay_add_operations(out, r, err));
    return replay_add_notes(out, r, err);
}

static hd_status run(hd_report *out, hd_trace **out_trace, replay *r, hd_error *err)
{
    if (r->options->mode) return dry_run(out, out_trace, r, err);
    HD_TRY(replay_simulate(&r->unchanged, r, &r->plan, err));
    HD_TRY(replay_check(out, r, err));
    HD_TRY(replay_change(r, err));
    if ((r->has_change || r->options->ties) && r->error > r->options->max_error) return refuse(out, r, err);
    HD_TRY(replay_simulate(&r->changed, r, &r->plan, err));
    HD_TRY(replay_settle(r, err));
    HD_TRY(replay_find_doubt(r, err));
    if (r->has_change && !r->depth && !r->options->queue_depth)
        HD_TRY(replay_most_waiting(&r->waiting, r, &r->changed, err));
    HD_TRY(replay_add_what_if(out, r, err));
    HD_TRY(replay_add_steps(out, r, err));
    HD_TRY(replay_add_path(out, r, err));
    HD_TRY(replay_add_ties(out, r, err));
    if (r->options->run) HD_TRY(replay_on_hardware(out, r, err));
    HD_TRY(replay_add_notes(out, r, err));
    return out_trace ? replay_write(out_trace, r, err) : HD_OK;
}

static void deinit(replay *r)
{
    replay_times_deinit(&r->unchanged);
    replay_times_deinit(&r->changed);
    replay_plan_deinit(&r->plan);
    hd_large_free(r->works);
    hd_large_free(r->nodes);
    hd_large_free(r->shares);
    hd_large_free(r->launch_classes);
    hd_large_free(r->returns);
    free(r->return_kinds);
    hd_large_free(r->data);
    free(r->queues);
    hd_large_free(r->awaited);
    hd_large_free(r->names);
    free(r->lanes);
    hd_graph_free(r->graph);
    gpu_scope_deinit(&r->scope);
}

/* "KEY=VALUE" or "KEY". */
static hd_status set_options(hd_option_values *values, const char *const *options, hd_error *err)
{
    for (const char *const *o = options; o && *o; o++) {
        char key[64];
        size_t size = strcspn(*o, "=");
        snprintf(key, sizeof key, "%.*s", size < sizeof key ? (int)size : (int)sizeof key - 1, *o);
        HD_TRY(hd_option_values_set(values, "replay", key, (*o)[size] ? *o + size + 1 : NULL, err));
    }
    return HD_OK;
}

hd_status hd_replay(hd_report *out, hd_trace **out_trace, const hd_trace *trace, const char *const *options,
                    const hd_gpus *gpus, hd_error *err)
{
    hd_option_values values;
    replay r = {.trace = trace, .gpus = gpus, .large = hd_trace_large_bytes(trace)};
    *out = (hd_report){0};
    if (out_trace) *out_trace = NULL;
    HD_TRY(hd_option_values_init(&values, replay_about.options, replay_about.options_size, err));
    hd_status status = set_options(&values, options, err);
    if (status == HD_OK) status = prepare(&r, values.values, err);
    if (status == HD_OK) status = run(out, out_trace, &r, err);
    deinit(&r);
    hd_option_values_deinit(&values);
    return status;
}

hd_status hd_replay_compare(hd_report *out, bool *out_same, const hd_trace *trace, const hd_trace *against,
                            hd_error *err)
{
    hd_option_values values;
    replay a = {.trace = trace, .large = hd_trace_large_bytes(trace)};
    replay b = {.trace = against, .large = hd_trace_large_bytes(against)};
    *out = (hd_report){0};
    *out_same = false;
    HD_TRY(hd_option_values_init(&values, replay_about.options, replay_about.options_size, err));
    hd_status status = prepare(&a, values.values, err);
    if (status == HD_OK) status = prepare(&b, values.values, err);
    if (status == HD_OK) status = replay_compare(out, out_same, &a, &b, err);
    deinit(&a);
    deinit(&b);
    hd_option_values_deinit(&values);
    return status;
}
