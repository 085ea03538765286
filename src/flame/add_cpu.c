/* add_cpu.c - the time of slices on CPU threads, and stack samples
 *
 * Time belongs to the open slice that started last (model/contexts), so that a thread's weights add up to the time that
 * its slices cover.
 */
#include <stdlib.h>

#include "flame/add.h"
#include "model/contexts/contexts.h"
#include "trace/spill.h"
#include "trace/stacks/trace_stacks.h"

/* ---- slices ---- */

typedef struct cpu_walk {
    flame_adder *adder;
    int64_t inside; /* time in the window */
} cpu_walk;

static bool in_window(const flame_adder *a, const hd_context *context)
{
    int64_t part;
    return !a->has_window || flame_clip(&part, a, context->start_ns, context->duration_ns);
}

static hd_status add_context(cpu_walk *walk, const hd_context *context)
{
    flame_adder *a = walk->adder;
    uint32_t group;
    if (!in_window(a, context)) return HD_OK;
    walk->inside = flame_sum(walk->inside, context->self_ns);
    if (!flame_frame_passes(a, context->node)) {
        a->flame->removed = flame_sum(a->flame->removed, context->self_ns);
        return a->no_memory ? HD_NOMEM(a->err) : HD_OK;
    }
    const flame_place place = {context->track, context->track, context->start_ns, UINT64_MAX};
    HD_TRY(flame_group_of(&group, a, &place));
    return flame_put_own(a, group, context->node, a->flame->of == HD_FLAME_CPU_TIME, context->self_ns);
}

static hd_status take_contexts(void *user, const hd_context *contexts, size_t count, hd_error *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++) HD_TRY(add_context(user, &contexts[i]));
    return HD_OK;
}

static hd_status sum_contexts(void *user, const hd_context *contexts, size_t count, hd_error *err)
{
    int64_t *sum = user;
    (void)err;
    for (size_t i = 0; i < count; i++) *sum = flame_sum(*sum, contexts[i].self_ns);
    return HD_OK;
}

/* Computes the weight outside of the window by a second walk without a window. */
static hd_status sum_outside(flame_adder *a, int64_t inside)
{
    hd_stacks *stacks;
    const hd_context_options options = {.threads = a->attribution.threads};
    int64_t all = 0;
    HD_TRY(hd_stacks_new(&stacks, a->err));
    hd_stacks_set_large(stacks, hd_trace_large_bytes(a->trace));
    hd_status status = hd_contexts_walk(stacks, a->trace, &options, sum_contexts, &all, a->err);
    hd_stacks_free(stacks);
    a->flame->removed = flame_sum(a->flame->removed, all - inside);
    return status;
}

hd_status flame_add_cpu(flame_adder *adder)
{
    hd_stacks *stacks;
    cpu_walk walk = {.adder = adder};
    const hd_context_options options = {
        .has_window = adder->has_window,
        .from_ns = adder->from_ns,
        .until_ns = adder->until_ns,
        .threads = adder->attribution.threads,
    };
    HD_TRY(hd_stacks_new(&stacks, adder->err));
    hd_stacks_set_large(stacks, hd_trace_large_bytes(adder->trace));
    hd_status status = flame_source(adder, stacks);
    if (status == HD_OK) status = hd_contexts_walk(stacks, adder->trace, &options, take_contexts, &walk, adder->err);
    if (status == HD_OK && adder->has_window) status = sum_outside(adder, walk.inside);
    hd_stacks_free(stacks);
    return status;
}

/* ---- samples ---- */

/* To the nearest integer, the half away from 0. */
static int64_t rounded(int64_t packed)
{
    int64_t mantissa = hd_decimal_mantissa(packed);
    int64_t digit = 0; /* the last digit removed */
    for (unsigned i = hd_decimal_scale(packed); i > 0; i--) {
        digit = mantissa % 10;
        mantissa /= 10;
    }
    return mantissa + (digit >= 5) - (digit <= -5);
}

/* Samples without a numeric weight count as one. */
static bool weight_of(int64_t *out, const flame_adder *a, const hd_event *event, uint32_t key)
{
    hd_value value;
    *out = 1;
    if (!hd_event_arg(&value, a->trace, event, key)) return false;
    if (value.type == HD_ARG_DECIMAL) {
        *out = rounded(value.bits);
        return true;
    }
    return hd_event_arg_int(out, a->trace, event, key);
}

/* A negative weight, for freed memory or a decrease, has no width: it is left out and counted. */
static hd_status add_sample(flame_adder *a, const hd_event *event, uint32_t stack, int64_t weight)
{
    if (weight < 0) {
        a->flame->negative = flame_sum(a->flame->negative, weight);
        a->flame->negative_count++;
        return HD_OK;
    }
    const flame_leaf none = {HD_NONE, HD_FRAME_UNKNOWN};
    const filter_text nothing = {FLAME_NO_STACK, strlen(FLAME_NO_STACK)};
    int64_t part;
    bool outside = a->has_window && !flame_clip(&part, a, event->start_ns, 0), own = stack != HD_STACK_NONE;
    if (outside || !(own ? flame_frame_passes(a, stack) : flame_text_passes(a, &nothing, 1))) {
        a->flame->removed = flame_sum(a->flame->removed, weight);
        return a->no_memory ? HD_NOMEM(a->err) : HD_OK;
    }
    uint32_t group;
    const flame_place place = {event->track, event->track, event->start_ns, UINT64_MAX};
    HD_TRY(flame_group_of(&group, a, &place));
    return own ? flame_put_own(a, group, stack, true, weight) : flame_put(a, group, HD_STACK_NONE, none, true, weight);
}

static hd_status add_samples(flame_adder *a, const hd_trace_stacks *stacks)
{
    uint32_t key = hd_trace_find_string(a->trace, "weight", 6), wanted;
    const char *unit = NULL; /* of the first sample with a weight */
    HD_TRY(flame_choose_event(&wanted, a, stacks));
    HD_TRY(flame_source(a, hd_trace_stacks_tree(stacks)));
    for (size_t b = 0; b < hd_trace_block_count(a->trace, HD_KIND_SAMPLE); b++) {
        const hd_block *block = hd_trace_block_at(a->trace, HD_KIND_SAMPLE, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (wanted != HD_NONE && event.name != wanted) continue;
            int64_t weight;
            if (weight_of(&weight, a, &event, key) && !unit) unit = flame_unit_of_sample(a->trace, &event);
            HD_TRY(add_sample(a, &event, hd_trace_stacks_of(stacks, &event), weight));
        }
    }
    return flame_set_unit(a, unit ? unit : flame_unit_of(HD_FLAME_SAMPLES));
}

hd_status flame_add_samples(flame_adder *adder)
{
    hd_trace_stacks *stacks;
    HD_TRY(hd_trace_stacks_new(&stacks, adder->trace, adder->err));
    hd_status status = add_samples(adder, stacks);
    hd_trace_stacks_free(stacks);
    return status;
}
