/* annotate.c - copies the GPU trace and adds the stacks that launched its activities
 *
 * Activity gets `sf` (a key of the event) and the argument "stack": frames from the root joined by ';'. A ';' in a
 *          frame becomes ',', control characters become spaces. An activity that already has both keeps them.
 * Frames   stackFrames of the GPU trace keep their ids; new ones get ids after the largest of them.
 * Text     a stack's text is one string, shared by its activities. Once the sum of texts exceeds TEXT_LIMIT, further
 *          stacks are given by `sf` only, and the ledger counts the activities: attribution.stack-text.
 */
#include "pass/attribution/annotate.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "trace/spill.h"
#include "trace/stacks/trace_stacks.h"

#define TEXT_LIMIT (UINT64_C(256) << 20)

/* Beyond the ids of all frames, for a trace whose `sf` refer to missing or unreadable frames. */
#define LOST_FRAMES_BASE (UINT64_C(1) << 40)

/* ---- work ---- */

/* The text of a node's stack as a string of the builder; HD_NONE: the limit is reached. After the first text that does
 * not fit, no more are made: testing further deep stacks would take longer than everything else. */
static hd_status text_of(uint32_t *out, annotate *t, uint32_t node, hd_error *err)
{
    uint32_t *known = &t->texts[node];
    if (*known == HD_STRING_NONE && !t->text_full) {
        uint64_t room = t->text_limit - t->text_bytes;
        t->text.size = 0;
        if (!hd_stacks_put(&t->text, t->a->stacks, node, room)) return HD_NOMEM(err);
        t->text_full = t->text.size > room;
        if (!t->text_full) {
            *known = hd_builder_intern(t->builder, t->text.data ? t->text.data : "", t->text.size);
            t->text_bytes += t->text.size;
            if (*known == HD_STRING_NONE) return HD_NOMEM(err);
        }
    }
    *out = *known == HD_STRING_NONE ? HD_NONE : *known;
    return HD_OK;
}

static hd_status annotate_work(annotate *t, hd_copy_rows *rows, size_t work, hd_error *err)
{
    uint32_t node = t->a->work_stack[work], row = (uint32_t)(t->a->launches->works[work].row - rows->block->first_row);
    uint32_t text = HD_NONE;
    int64_t *values[HD_COPY_ADDED];
    if (node == HD_STACK_NONE) return HD_OK;
    if (t->a->work_rule[work] == HD_RULE_GIVEN && t->annotated[hd_copy_look(rows, HD_COL_SHAPE)[row]]) return HD_OK;
    uint8_t *added = hd_copy_add_arguments(t->copy, values);
    uint32_t made = attribution_map_node(&t->map, node);
    if (!added || made == HD_NONE) return HD_NOMEM(err);
    HD_TRY(text_of(&text, t, node, err));
    values[0][row] = (int64_t)(t->base + made);
    values[1][row] = text;
    added[row] = text == HD_NONE ? 1 : 2;
    t->no_text += text == HD_NONE;
    return HD_OK;
}

static hd_status annotate_rows(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    annotate *t = user;
    const hd_launches *launches = t->a->launches;
    (void)copy;
    if (rows->block->kind != HD_KIND_SLICE) return HD_OK;
    uint64_t until = rows->block->first_row + rows->block->row_count;
    for (; t->next_work < launches->work_count && launches->works[t->next_work].row < until; t->next_work++) {
        if (launches->works[t->next_work].row >= rows->block->first_row)
            HD_TRY(annotate_work(t, rows, t->next_work, err));
    }
    return HD_OK;
}

/* ---- frames that the trace has ---- */

static uint32_t find_text(const hd_trace *trace, const char *text)
{
    return hd_trace_find_string(trace, text, strlen(text));
}

/* Finds the shapes with both arguments, and whether any has an `sf`. */
static bool look_at_shapes(annotate *t, bool *out_has_sf)
{
    uint32_t sf = find_text(t->gpu, "sf"), stack = find_text(t->gpu, "stack"), count = hd_trace_shape_count(t->gpu);
    *out_has_sf = false;
    t->annotated = calloc((size_t)count + 1, 1);
    if (!t->annotated || sf == HD_NONE) return t->annotated != NULL;
    for (uint32_t i = 0; i < count; i++) {
        const hd_shape *shape = hd_trace_shape_at(t->gpu, i);
        bool has_sf = hd_shape_find(shape, sf, HD_SCOPE_EVENT) >= 0;
        int at = hd_shape_find(shape, stack, HD_SCOPE_ARGS);
        *out_has_sf = *out_has_sf || has_sf;
        t->annotated[i] = has_sf && at >= 0 && shape->keys[at].type == HD_ARG_STRING;
    }
    return true;
}

/* Chooses the first id of new frames. *out_damaged: the trace's stackFrames cannot be read. */
static hd_status choose_base(annotate *t, bool *out_damaged, hd_error *err)
{
    hd_trace_stacks *known = NULL;
    bool has_sf, has_frames = hd_trace_metadata_find(t->gpu, "stackFrames").size > 0;
    *out_damaged = false;
    if (!look_at_shapes(t, &has_sf)) return HD_NOMEM(err);
    t->base = has_sf ? LOST_FRAMES_BASE : 0;
    if (!has_frames) return HD_OK;
    hd_status status = hd_trace_stacks_new(&known, t->gpu, NULL);
    *out_damaged = status == HD_ERR_DAMAGED;
    if (status == HD_OK) {
        t->base = hd_trace_stacks_last_id(known);
        t->no_frame = hd_trace_stacks_has_id(known, 0) ? t->base + HD_NONE : 0; /* no tree has that many nodes */
    }
    hd_trace_stacks_free(known);
    return status == HD_OK || *out_damaged ? HD_OK : HD_NOMEM(err);
}

/* ---- the whole ---- */

static hd_status begin(annotate *t, hd_error *err)
{
    HD_TRY(hd_stacks_new(&t->stacks, err));
    HD_TRY(hd_copy_new(&t->copy, t->gpu, t->builder, err));
    HD_TRY(hd_batch_new(&t->flows, t->builder, err));
    HD_TRY(hd_batch_new(&t->names, t->builder, err));
    hd_stacks_set_large(t->stacks, t->large);
    t->texts = hd_large_zeroed(hd_stacks_count(t->a->stacks), sizeof *t->texts, t->large);
    if (!t->texts || !attribution_map_init(&t->map, t->stacks, t->a->stacks, t->large)) return HD_NOMEM(err);
    t->keys[0] =
        (hd_arg_key){.key = hd_builder_intern_text(t->builder, "sf"), .type = HD_ARG_INT, .scope = HD_SCOPE_EVENT};
    t->keys[1] =
        (hd_arg_key){.key = hd_builder_intern_text(t->builder, "stack"), .type = HD_ARG_STRING, .scope = HD_SCOPE_ARGS};
    return HD_OK;
}

hd_status annotate_append(annotate *t, hd_batch *batch, hd_error *err)
{
    hd_chunk *chunk;
    if (hd_batch_row_count(batch) == 0) return HD_OK;
    HD_TRY(hd_batch_take(&chunk, batch, err));
    return hd_builder_append(t->builder, chunk, err);
}

static void note(annotate *t, const char *code, hd_ledger_level level, uint64_t count)
{
    if (count) hd_builder_ledger(t->builder, "attribution", code, level, count, HD_OFFSET_NONE);
}

static void add_ledger(annotate *t, bool damaged)
{
    uint64_t without = 0;
    for (size_t i = 0; i < t->a->launches->work_count; i++) without += t->a->work_stack[i] == HD_STACK_NONE;
    note(t, "attribution.no-stack", HD_LEDGER_NOTE, without);
    note(t, "attribution.pending", HD_LEDGER_NOTE, t->a->pending_count);
    note(t, "attribution.clock-unknown", HD_LEDGER_NOTE, t->no_clock);
    note(t, "attribution.stack-text", HD_LEDGER_NOTE, t->no_text);
    note(t, "attribution.not-added", HD_LEDGER_NOTE, hd_copy_not_added(t->copy));
    note(t, "attribution.stack-frames", HD_LEDGER_LOSS, damaged);
}

static hd_status annotate_all(annotate *t, hd_error *err)
{
    bool damaged;
    HD_TRY(begin(t, err));
    HD_TRY(choose_base(t, &damaged, err));
    const hd_copy_hooks hooks = {.user = t, .rows = annotate_rows, .added_keys = t->keys};
    HD_TRY(hd_copy_tracks(t->copy, NULL, NULL, err));
    HD_TRY(hd_copy_events(t->copy, &hooks, err));
    HD_TRY(hd_copy_surroundings(t->copy, err));
    HD_TRY(annotate_samples(t, err));
    HD_TRY(annotate_flows(t, err));
    HD_TRY(annotate_append(t, t->flows, err));
    HD_TRY(annotate_append(t, t->names, err));
    add_ledger(t, damaged);
    return hd_stacks_save_from(t->stacks, t->base, !damaged, t->builder, err);
}

static void annotate_deinit(annotate *t)
{
    attribution_map_deinit(&t->map);
    hd_copy_free(t->copy);
    hd_batch_free(t->flows);
    hd_batch_free(t->names);
    hd_stacks_free(t->stacks);
    hd_large_free(t->texts);
    free(t->text.data);
    free(t->annotated);
}

hd_status annotate_within(hd_trace **out, const hd_attribution *attribution, const hd_trace *gpu, const hd_trace *cpu,
                          uint64_t text_limit, hd_error *err)
{
    annotate t = {.a = attribution, .gpu = gpu, .cpu = cpu == gpu ? NULL : cpu, .text_limit = text_limit};
    t.large = hd_trace_large_bytes(gpu);
    *out = NULL;
    HD_TRY(hd_builder_new(&t.builder, err));
    hd_status status = annotate_all(&t, err);
    annotate_deinit(&t);
    if (status == HD_OK) return hd_builder_finish(out, t.builder, err);
    hd_builder_free(t.builder);
    return status;
}

hd_status hd_attribution_annotate(hd_trace **out, const hd_attribution *attribution, const hd_trace *gpu,
                                  const hd_trace *cpu, hd_error *err)
{
    return annotate_within(out, attribution, gpu, cpu, TEXT_LIMIT, err);
}
