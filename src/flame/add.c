/* add.c - adds the weights of a trace to the tree
 *
 * This file decides what is counted, in which window and under which names; add_gpu.c and add_cpu.c find weights and
 * their stacks, add_group.c the group, add_path.c the place on the tree.
 */
#include <stdlib.h>

#include "base/options.h"
#include "flame/add.h"
#include "heddle/pass.h"
#include "model/roles/trace_roles.h"
#include "trace/stacks/trace_stacks.h"

bool flame_clip(int64_t *out_ns, const flame_adder *adder, int64_t start_ns, int64_t duration_ns)
{
    int64_t end;
    *out_ns = duration_ns;
    if (!adder->has_window) return true;
    if (start_ns == HD_NO_TIME || start_ns >= adder->until_ns) return false;
    if (__builtin_add_overflow(start_ns, duration_ns, &end)) end = INT64_MAX;
    if (end <= adder->from_ns && !(duration_ns == 0 && start_ns == adder->from_ns)) return false;
    int64_t from = start_ns > adder->from_ns ? start_ns : adder->from_ns;
    *out_ns = (end < adder->until_ns ? end : adder->until_ns) - from;
    return true;
}

/* ---- what to count ---- */

static bool block_has_work(hd_roles *roles, const hd_block *block)
{
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint32_t category = (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], i);
        if (hd_role_is_work(hd_roles_in(roles, block, i, category))) return true;
    }
    return false;
}

static hd_status has_work(bool *out, const hd_trace *trace, hd_error *err)
{
    hd_roles roles;
    hd_status status = hd_roles_init(&roles, trace) ? HD_OK : HD_NOMEM(err);
    *out = false;
    for (size_t b = 0; status == HD_OK && b < hd_trace_block_count(trace, HD_KIND_SLICE) && !*out; b++)
        *out = block_has_work(&roles, hd_trace_block_at(trace, HD_KIND_SLICE, b));
    hd_roles_deinit(&roles);
    return status;
}

static hd_status choose_of(hd_flame *flame, const hd_trace *trace, const hd_attribution *attribution,
                           const hd_flame_options *options, hd_error *err)
{
    bool work = attribution && attribution->launches->work_count;
    if (options->of >= HD_FLAME_OFS || options->by >= HD_FLAME_BYS)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no such weight or group");
    if (flame->traces && flame->reverse != options->reverse)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "a flame graph goes from the root to the leaf or the other way, not both");
    if (flame->of != HD_FLAME_AUTO) {
        if (options->of == HD_FLAME_AUTO || options->of == flame->of) return HD_OK;
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s cannot be added to a flame graph of %s",
                            hd_flame_of_name(options->of), hd_flame_of_name(flame->of));
    }
    flame->of = options->of;
    if (flame->of != HD_FLAME_AUTO) return HD_OK;
    if (!attribution) HD_TRY(has_work(&work, trace, err));
    flame->of = work                                        ? HD_FLAME_GPU_TIME
                : hd_trace_row_count(trace, HD_KIND_SAMPLE) ? HD_FLAME_SAMPLES
                                                            : HD_FLAME_CPU_TIME;
    return HD_OK;
}

/* ---- all of it ---- */

static hd_status add_work_of(flame_adder *a, const hd_trace *cpu, const hd_attribution *attribution)
{
    hd_attribution *own;
    if (attribution) return flame_add_gpu(a, attribution, cpu);
    hd_status status = hd_attribute(&own, a->trace, cpu, &a->attribution, a->err);
    if (status == HD_OK) status = flame_add_gpu(a, own, cpu);
    hd_attribution_free(own);
    return status;
}

static hd_status add_stacks(flame_adder *a, const hd_trace *cpu, const hd_attribution *attribution)
{
    const hd_flame_options *options = a->options;
    HD_TRY(filter_list_init(&a->names, options->names, "--names", a->err));
    HD_TRY(hd_crop_window_find(&a->from_ns, &a->until_ns, &a->has_window, a->trace, options->from, options->until, NULL,
                               a->err));
    HD_TRY(flame_groups_init(a));
    switch (a->flame->of) {
    case HD_FLAME_CPU_TIME:
    case HD_FLAME_CPU_SELF: return flame_add_cpu(a);
    case HD_FLAME_SAMPLES: return flame_add_samples(a);
    default: return add_work_of(a, cpu, attribution);
    }
}

/* Counts frames whose names folded text cannot hold unchanged. */
static hd_status count_cut_names(hd_flame *flame, hd_error *err)
{
    uint32_t names = hd_stacks_name_count(flame->stacks);
    uint8_t *cut = calloc(names, 1);
    if (!cut) return HD_NOMEM(err);
    for (uint32_t i = 0; i < names; i++) cut[i] = !flame_text_fits(hd_stacks_text(flame->stacks, i), true);
    flame->cut_names = 0;
    for (uint32_t n = hd_stacks_count(flame->stacks); n-- > 1;)
        flame->cut_names += cut[hd_stacks_at(flame->stacks, n).name];
    free(cut);
    return HD_OK;
}

hd_status hd_flame_add(hd_flame *flame, const hd_trace *trace, const hd_trace *cpu, const hd_attribution *attribution,
                       const hd_flame_options *options, hd_error *err)
{
    HD_OWN_OPTIONS(hd_flame_options, options, err);
    flame_adder a = {.flame = flame, .trace = trace, .options = options, .err = err};
    HD_TRY(hd_options_copy(&a.attribution, sizeof a.attribution, sizeof a.attribution, options->attribution, err));
    HD_TRY(flame_make_room(flame, err));
    HD_TRY(choose_of(flame, trace, attribution, a.options, err));
    if (a.options->event && flame->of != HD_FLAME_SAMPLES)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "an event is chosen of samples, and %s is counted", hd_flame_of_name(flame->of));
    if (flame->of != HD_FLAME_SAMPLES) HD_TRY(flame_set_unit(&a, flame_unit_of(flame->of)));
    flame->reverse = a.options->reverse;
    flame->weightless |= a.options->weightless && flame->of == HD_FLAME_GPU_TIME;
    /* with two sides, the samples of the CPU side count */
    if (flame->of == HD_FLAME_SAMPLES && cpu) a.trace = cpu;
    hd_status status = add_stacks(&a, cpu, attribution);
    filter_list_deinit(&a.names);
    flame_groups_deinit(&a);
    flame_paths_deinit(&a);
    flame->traces++;
    if (status != HD_OK) return status;
    hd_stacks_rest(flame->stacks);
    flame_total(flame->total, flame->self, flame->stacks);
    return count_cut_names(flame, err);
}
