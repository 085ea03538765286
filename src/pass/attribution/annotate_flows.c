/* annotate_flows.c - adds flows from launches to their activities where the trace has none
 *
 * Points are at the starts of both slices. An activity that began before its launch (two clocks) gets none: such a flow
 * would run backward. Ids are larger than those of all flows and async slices of the trace, up to the limit of exact
 * numbers in JSON readers; beyond that they begin at 1, with their own name and category.
 */
#include "base/error.h"
#include "base/memory/large.h"
#include "model/flows/bind.h"
#include "pass/attribution/annotate.h"

#define EXACT_LIMIT ((int64_t)1 << 53) /* beyond, JSON readers with doubles round */

/* ---- flows of the trace ---- */

/* A bit for each slice that a flow ends at. */
static hd_status find_ends(uint64_t **out, const hd_trace *trace, uint64_t large, hd_error *err)
{
    uint64_t slices = hd_trace_row_count(trace, HD_KIND_SLICE);
    uint64_t *ends = hd_large_zeroed((size_t)(slices / 64 + 1), sizeof *ends, large);
    uint32_t *bound = NULL;
    *out = ends;
    if (!ends) return HD_NOMEM(err);
    if (hd_trace_row_count(trace, HD_KIND_FLOW) == 0) return HD_OK;
    HD_TRY(hd_flows_bind(&bound, trace, err));
    for (size_t i = 0; i < hd_trace_block_count(trace, HD_KIND_FLOW); i++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_FLOW, i);
        for (uint32_t row = 0; row < block->row_count; row++) {
            uint32_t slice = bound[block->first_row + row];
            char phase = (char)(hd_column_at(&block->columns[HD_COL_PHASE], row) & HD_PHASE_MASK);
            if (slice != UINT32_MAX && phase != 's') ends[slice >> 6] |= UINT64_C(1) << (slice & 63);
        }
    }
    hd_large_free(bound);
    return HD_OK;
}

static int64_t largest_id(const hd_trace *trace)
{
    static const hd_kind kinds[] = {HD_KIND_FLOW, HD_KIND_ASYNC};
    int64_t largest = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t i = 0; i < hd_trace_block_count(trace, kinds[k]); i++) {
            const hd_block *block = hd_trace_block_at(trace, kinds[k], i);
            for (uint32_t row = 0; row < block->row_count; row++) {
                hd_point_id id = hd_point_id_of(trace, (uint32_t)hd_column_at(&block->columns[HD_COL_ID_TYPE], row),
                                                hd_column_at(&block->columns[HD_COL_ID], row));
                if ((id.type & HD_ID_VALUE_MASK) == 1 && id.value > largest) largest = id.value;
            }
        }
    }
    return largest;
}

/* ---- new ones ---- */

typedef struct flow_maker {
    annotate *t;
    uint64_t *ends;
    int64_t next_id;
    uint32_t text; /* "stack" */
} flow_maker;

/* A point at the start of a slice; false: the slice has no place or time. */
static bool point_at(hd_row *out, const flow_maker *m, uint64_t slice, char phase)
{
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, m->t->gpu, HD_KIND_SLICE, slice);
    uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], at);
    *out = hd_row_of(HD_KIND_FLOW, phase);
    if (phase == 'f') out->phase |= HD_FLAG_BIND_ENCLOSING;
    out->track = track == HD_NONE ? HD_NONE : hd_copy_track(m->t->copy, track);
    out->start_ns = hd_column_at(&block->columns[HD_COL_START], at);
    int64_t below = hd_column_at(&block->columns[HD_COL_START_PS], at);
    out->start_ps = hd_below_ps(below);
    out->start_finer = (uint64_t)(below / 1000);
    out->name = out->category = m->text;
    out->id_type = HD_ID_INT;
    out->id = m->next_id;
    return out->track != HD_NONE && out->start_ns != HD_NO_TIME;
}

static bool is_before(const hd_row *a, const hd_row *b)
{
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    if (a->start_ps != b->start_ps) return a->start_ps < b->start_ps;
    return a->start_finer < b->start_finer;
}

static hd_status add_flow(flow_maker *m, const hd_launch *launch, hd_error *err)
{
    const hd_launches *launches = m->t->a->launches;
    hd_row start, end;
    bool started = false;
    if (!point_at(&start, m, launch->row, 's')) return HD_OK;
    for (uint32_t i = launch->first_work; i < launch->first_work + launch->work_count; i++) {
        uint64_t row = launches->works[launches->work_order[i]].row;
        if (m->ends[row >> 6] >> (row & 63) & 1 || !point_at(&end, m, row, 'f') || is_before(&end, &start)) continue;
        if (!started) HD_TRY(hd_batch_add(m->t->flows, &start, NULL, err));
        started = true;
        HD_TRY(hd_batch_add(m->t->flows, &end, NULL, err));
    }
    m->next_id += started;
    return hd_batch_row_count(m->t->flows) < HD_BLOCK_ROWS ? HD_OK : annotate_append(m->t, m->t->flows, err);
}

hd_status annotate_flows(annotate *t, hd_error *err)
{
    const hd_launches *launches = t->a->launches;
    if (launches->launch_count == 0 || launches->work_count == 0) return HD_OK;
    int64_t largest = largest_id(t->gpu);
    flow_maker m = {.t = t,
                    .next_id = largest < EXACT_LIMIT - (int64_t)launches->launch_count ? largest + 1 : 1,
                    .text = hd_builder_intern_text(t->builder, "stack")};
    hd_status status = find_ends(&m.ends, t->gpu, t->large, err);
    for (size_t i = 0; status == HD_OK && i < launches->launch_count; i++)
        status = add_flow(&m, &launches->launches[i], err);
    hd_large_free(m.ends);
    return status;
}
