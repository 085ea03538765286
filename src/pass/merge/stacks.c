/* stacks.c - merges the frames of all inputs into one tree, and maps `sf` of events to its nodes
 *
 * In a share, `sf` become the numbers that frames have in every tree, since its events are not visited again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "pass/merge/impl.h"
#include "trace/stacks/trace_stacks.h"

/* Nodes of the input, in terms of the merged tree. Callers have smaller numbers, so one pass suffices. */
static hd_status add_nodes(merge_stacks *s, hd_error *err)
{
    const hd_stacks *from = hd_trace_stacks_tree(s->open);
    uint32_t count = hd_stacks_count(from), names = hd_stacks_name_count(from);
    uint32_t *name_of = malloc(((size_t)names + 1) * sizeof *name_of);
    s->nodes = malloc(((size_t)count + 1) * sizeof *s->nodes);
    bool fine = name_of && s->nodes;
    for (uint32_t i = 0; i < names && fine; i++) {
        hd_string text = hd_stacks_text(from, i);
        name_of[i] = hd_stacks_name(s->tree, text.data, text.size);
        fine = name_of[i] != HD_NONE;
    }
    if (fine) s->nodes[0] = HD_STACK_NONE;
    for (uint32_t i = 1; i < count && fine; i++) {
        hd_frame frame = hd_stacks_at(from, i);
        s->nodes[i] = hd_stacks_push(s->tree, s->nodes[frame.caller], name_of[frame.name], frame.kind);
        fine = s->nodes[i] != HD_NONE;
    }
    free(name_of);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status merge_stacks_open(merger *m, hd_error *err)
{
    merge_stacks *s = &m->stacks;
    s->open = NULL;
    s->nodes = NULL;
    s->sf_key = hd_trace_find_string(m->trace, "sf", 2);
    if ((m->count == 1 && !m->shared) || !merge_metadata_of(m->trace, "stackFrames").data) return HD_OK;
    hd_status status = hd_trace_stacks_new(&s->open, m->trace, err);
    if (status != HD_OK) hd_error_add_cause(err, "cannot read the stack frames of %.160s", m->inputs[m->at].path);
    if (status == HD_OK && !s->tree) status = hd_stacks_new(&s->tree, err);
    if (status == HD_OK) status = add_nodes(s, err);
    return status == HD_OK && m->count == 1 ? hd_stacks_common_keys(&s->keys, s->tree, err) : status;
}

void merge_stacks_close(merger *m)
{
    hd_trace_stacks_free(m->stacks.open);
    free(m->stacks.nodes);
    m->stacks.open = NULL;
    m->stacks.nodes = NULL;
}

static bool store_id(merger *m, hd_copy *copy, hd_arg_type type, int64_t *value, int64_t id)
{
    char text[24];
    if (type == HD_ARG_INT) *value = id;
    if (type == HD_ARG_DECIMAL) *value = hd_decimal_pack(id, 0);
    if (type != HD_ARG_STRING && type != HD_ARG_NUMBER) return true;
    snprintf(text, sizeof text, "%" PRId64, id);
    *value = hd_copy_add_string(copy, hd_builder_intern_text(m->builder, text));
    return *value != HD_NONE;
}

hd_status merge_stacks_values(merger *m, hd_copy *copy, hd_arg_type type, int64_t *values, uint32_t count,
                              hd_error *err)
{
    merge_stacks *s = &m->stacks;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = s->nodes[hd_trace_stacks_node(s->open, type, values[i])];
        s->unknown += node == HD_STACK_NONE;
        if (!store_id(m, copy, type, &values[i], s->keys ? (int64_t)s->keys[node] : node)) return HD_NOMEM(err);
    }
    return HD_OK;
}

hd_status merge_stacks_finish(merger *m, hd_error *err)
{
    merge_stacks *s = &m->stacks;
    if (s->unknown)
        hd_builder_ledger(m->builder, "merge", "merge.frames-missing", HD_LEDGER_LOSS, s->unknown, HD_OFFSET_NONE);
    if (!s->tree) return HD_OK;
    if (m->shared && !s->keys) HD_TRY(hd_stacks_common_keys(&s->keys, s->tree, err));
    if (m->shared) return hd_stacks_save_by(s->tree, s->keys, m->builder, err);
    hd_stacks *tree = s->tree;
    s->tree = NULL;
    return hd_stacks_give(tree, m->builder, err);
}
