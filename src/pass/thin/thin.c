/* thin.c - marks the slices that stay, gives the time of the others to the slices around them, and filters
 *
 * model/contexts sweeps each lane of the host: time belongs to the slice that started last. A removed slice's own time
 * goes to the innermost slice that encloses it and stays, else to the sums of its track.
 */
#include "pass/thin/thin.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/write.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "model/contexts/contexts.h"
#include "model/roles/trace_roles.h"
#include "model/trust/trust.h"
#include "pass/copy/points.h"
#include "trace/event.h"
#include "trace/spill.h"

typedef struct sum {
    uint64_t count;
    int64_t ns;
} sum;

typedef struct open_slice {
    int64_t end;
    uint64_t row;
} open_slice;

typedef struct thinner {
    const hd_trace *trace;
    int64_t least_ns;
    uint8_t *stays;      /* by row of a slice */
    uint8_t *flow_stays; /* by row of a flow point */
    uint64_t dropped_points;
    sum *inside;      /* by row: removed slices within */
    sum *of_tracks;   /* by track: removed ones around which none stays */
    sum host, gpu;    /* all removed ones */
    open_slice *open; /* that stay, innermost last */
    size_t open_count, open_capacity;
    uint32_t lane; /* that `open` is of */
} thinner;

static void add(sum *to, uint64_t count, int64_t ns)
{
    to->count += count;
    to->ns = gpu_sum(to->ns, ns);
}

/* ---- which stay ---- */

static bool is_long(const thinner *t, const hd_block *block, uint32_t row)
{
    int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], row);
    bool has_end = !hd_never_ends(duration, hd_column_at(&block->columns[HD_COL_PHASE], row));
    return !has_end || duration < 0 || duration >= t->least_ns;
}

/* Whether a slice stays by what it is. */
static bool is_kept(const thinner *t, hd_role role, uint32_t name, bool keep_gpu)
{
    if (hd_role_is_work(role)) return keep_gpu;
    return role == HD_ROLE_SYNC || role == HD_ROLE_GPU_ANNOTATION ||
           hd_marks_step(role, hd_trace_string(t->trace, name));
}

static void remove_activity(thinner *t, const hd_block *block, uint32_t row)
{
    int64_t ns = hd_column_at(&block->columns[HD_COL_DURATION], row);
    uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
    add(&t->gpu, 1, ns);
    if (track != HD_NONE) add(&t->of_tracks[track], 1, ns);
}

static hd_status choose(thinner *t, bool keep_gpu, hd_error *err)
{
    hd_launches *launches;
    hd_roles roles;
    if (!hd_roles_init(&roles, t->trace)) {
        hd_roles_deinit(&roles);
        return HD_NOMEM(err);
    }
    for (size_t b = 0; b < hd_trace_block_count(t->trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_trace_block_at(t->trace, HD_KIND_SLICE, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            uint8_t *stays = &t->stays[block->first_row + i];
            hd_event event;
            *stays = is_long(t, block, i);
            if (*stays) continue;
            hd_block_event(&event, block, i);
            hd_role role = hd_roles_at(&roles, event.category, event.name, event.track);
            *stays = is_kept(t, role, event.name, keep_gpu);
            if (!*stays && hd_role_is_work(role)) remove_activity(t, block, i);
        }
    }
    hd_roles_deinit(&roles);
    HD_TRY(hd_launches_new(&launches, t->trace, err));
    for (size_t i = 0; i < launches->launch_count; i++) {
        const hd_launch *launch = &launches->launches[i];
        bool any = launch->work_count == 0;
        for (uint32_t k = 0; k < launch->work_count && !any; k++)
            any = t->stays[launches->works[launches->work_order[launch->first_work + k]].row];
        if (any) t->stays[launch->row] = 1;
    }
    hd_launches_free(launches);
    return HD_OK;
}

/* ---- the time of the others ---- */

static hd_status take_contexts(void *user, const hd_context *contexts, size_t count, hd_error *err)
{
    thinner *t = user;
    for (size_t i = 0; i < count; i++) {
        const hd_context *c = &contexts[i];
        int64_t end = c->start_ns + c->duration_ns;
        if (c->track != t->lane) t->open_count = 0;
        t->lane = c->track;
        while (t->open_count && t->open[t->open_count - 1].end < end) t->open_count--;
        if (t->stays[c->row]) {
            if (!hd_grow((void **)&t->open, &t->open_capacity, t->open_count, sizeof *t->open)) return HD_NOMEM(err);
            t->open[t->open_count++] = (open_slice){end, c->row};
            continue;
        }
        add(&t->host, 1, c->self_ns);
        add(t->open_count ? &t->inside[t->open[t->open_count - 1].row] : &t->of_tracks[c->track], 1, c->self_ns);
    }
    return HD_OK;
}

static hd_status share_times(thinner *t, hd_error *err)
{
    hd_stacks *stacks;
    const hd_context_options all = {0};
    t->lane = HD_NONE;
    HD_TRY(hd_stacks_new(&stacks, err));
    hd_status status = hd_contexts_walk(stacks, t->trace, &all, take_contexts, t, err);
    hd_stacks_free(stacks);
    return status;
}

/* ---- what is written ---- */

static hd_status add_sums(const thinner *t, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    int64_t *values[HD_COPY_ADDED];
    uint8_t *added = NULL;
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        const sum *inside = &t->inside[rows->block->first_row + i];
        if (!inside->count) continue;
        if (!added) added = hd_copy_add_arguments(copy, values);
        if (!added) return HD_NOMEM(err);
        added[i] = HD_COPY_ADDED;
        values[0][i] = (int64_t)inside->count;
        values[1][i] = inside->ns;
    }
    return HD_OK;
}

static hd_status change_rows(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    const thinner *t = user;
    const hd_block *block = rows->block;
    if (block->kind == HD_KIND_FLOW) memcpy(rows->keep, t->flow_stays + block->first_row, block->row_count);
    if (block->kind == HD_KIND_END) {
        const int64_t *partner = hd_copy_look(rows, HD_COL_PARTNER);
        for (uint32_t i = 0; i < block->row_count; i++) rows->keep[i] = partner[i] < 0 || t->stays[partner[i]];
    }
    if (block->kind != HD_KIND_SLICE) return HD_OK;
    memcpy(rows->keep, t->stays + block->first_row, block->row_count);
    return add_sums(t, copy, rows, err);
}

static void put_number(hd_json_out *out, const char *key, int64_t value)
{
    hd_json_put_text(out, key);
    hd_json_put_int(out, value);
}

static void put_ident(hd_json_out *out, const char *key, const hd_trace *trace, hd_ident ident)
{
    hd_string text = hd_trace_string(trace, ident.text);
    hd_json_put_text(out, key);
    if (ident.type == HD_IDENT_NUMBER)
        hd_json_put(out, text.data, text.size);
    else
        hd_json_put_string(out, text.data, text.size);
}

static hd_status add_metadata(hd_builder *builder, const thinner *t, hd_error *err)
{
    hd_json_out out = {0};
    const char *before = "";
    put_number(&out, "{\"min_duration_ns\":", t->least_ns);
    put_number(&out, ",\"" THINNED_SLICES "\":", (int64_t)t->host.count);
    put_number(&out, ",\"slices_ns\":", t->host.ns);
    put_number(&out, ",\"" THINNED_ACTIVITIES "\":", (int64_t)t->gpu.count);
    put_number(&out, ",\"activities_ns\":", t->gpu.ns);
    hd_json_put_text(&out, ",\"outermost\":[");
    for (uint32_t i = 0; i < hd_trace_track_count(t->trace); i++) {
        const hd_track *track = hd_trace_track_at(t->trace, i);
        if (!t->of_tracks[i].count) continue;
        hd_json_put_text(&out, before);
        put_ident(&out, "{\"pid\":", t->trace, track->pid);
        put_ident(&out, ",\"tid\":", t->trace, track->tid);
        put_number(&out, ",\"count\":", (int64_t)t->of_tracks[i].count);
        put_number(&out, ",\"ns\":", t->of_tracks[i].ns);
        hd_json_put_text(&out, "}");
        before = ",";
    }
    hd_json_put_text(&out, "]}");
    uint32_t key = hd_builder_intern_text(builder, THINNED_KEY);
    if (!out.failed) hd_builder_metadata(builder, key, hd_builder_intern(builder, out.data, out.size), true);
    free(out.data);
    return out.failed ? HD_NOMEM(err) : HD_OK;
}

/* ---- the pass ---- */

hd_status hd_thin_valid(const hd_thin *options, hd_error *err)
{
    if (options->min_duration.unit == HD_CONVERT_NS && options->min_duration.value > 0) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a least duration is a time above 0, such as 5us");
}

static bool make_room(thinner *t)
{
    size_t rows = (size_t)hd_trace_row_count(t->trace, HD_KIND_SLICE) + 1;
    uint64_t large = hd_trace_large_bytes(t->trace);
    t->stays = hd_large_zeroed(rows, sizeof *t->stays, large);
    t->inside = hd_large_zeroed(rows, sizeof *t->inside, large);
    t->flow_stays = hd_large_zeroed((size_t)hd_trace_row_count(t->trace, HD_KIND_FLOW) + 1, 1, large);
    t->of_tracks = calloc((size_t)hd_trace_track_count(t->trace) + 1, sizeof *t->of_tracks);
    return t->stays && t->inside && t->flow_stays && t->of_tracks;
}

static hd_status decide(thinner *t, bool keep_gpu, hd_error *err)
{
    if (!make_room(t)) return HD_NOMEM(err);
    HD_TRY(choose(t, keep_gpu, err));
    HD_TRY(share_times(t, err));
    return hd_points_keep_bound(t->flow_stays, &t->dropped_points, t->trace,
                                &(hd_points_bound){.slice_stays = t->stays}, err);
}

static hd_status copy_into(hd_builder *builder, hd_pass_result *result, thinner *t, hd_error *err)
{
    hd_copy *copy;
    const hd_arg_key keys[HD_COPY_ADDED] = {{.key = hd_builder_intern_text(builder, THINNED_COUNT), .type = HD_ARG_INT},
                                            {.key = hd_builder_intern_text(builder, THINNED_NS), .type = HD_ARG_INT}};
    const hd_copy_hooks hooks = {.user = t, .added_keys = keys, .rows = change_rows};
    HD_TRY(hd_copy_new(&copy, t->trace, builder, err));
    hd_status status = hd_copy_tracks(copy, NULL, NULL, err);
    if (status == HD_OK) status = hd_copy_events(copy, &hooks, err);
    if (status == HD_OK) status = hd_copy_surroundings(copy, err);
    if (status == HD_OK) status = add_metadata(builder, t, err);
    result->removed = hd_copy_dropped(copy);
    const struct {
        const char *code;
        uint64_t count;
    } notes[] = {{"thin.slices", t->host.count},
                 {"thin.activities", t->gpu.count},
                 {"thin.flow-points", t->dropped_points},
                 {"thin.no-room-for-sums", hd_copy_not_added(copy)}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        if (notes[i].count)
            hd_builder_ledger(builder, "thin", notes[i].code, HD_LEDGER_NOTE, notes[i].count, HD_OFFSET_NONE);
    }
    hd_copy_free(copy);
    return status;
}

hd_status hd_thin_trace(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_thin *options,
                        hd_error *err)
{
    hd_builder *builder = NULL;
    thinner t = {.trace = trace, .least_ns = options->min_duration.value};
    *out = NULL;
    *result = (hd_pass_result){0};
    if (hd_trace_find_string(trace, THINNED_COUNT, sizeof THINNED_COUNT - 1) != HD_NONE)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "short slices were removed from this trace before: take the one that it was made from");
    hd_status status = decide(&t, options->keep_gpu, err);
    if (status == HD_OK) status = hd_builder_new(&builder, err);
    if (status == HD_OK) status = copy_into(builder, result, &t, err);
    hd_large_free(t.stays);
    hd_large_free(t.inside);
    hd_large_free(t.flow_stays);
    free(t.of_tracks);
    free(t.open);
    if (status == HD_OK) return hd_builder_finish(out, builder, err);
    hd_builder_free(builder);
    return status;
}
