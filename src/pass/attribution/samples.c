/* samples.c - matches launches with their stack samples: by id, by time, by order; the rest is pending */
#include "pass/attribution/samples.h"

#include "base/error.h"
#include "base/memory/large.h"
#include "trace/spill.h"

/* Whether hd_attribution_annotate made the trace: its activities have stacks, and its samples the ids of their
 * launches. */
static bool was_joined(const attribution_join *j)
{
    bool given = false;
    for (size_t i = 0; i < j->a->launches->work_count && !given; i++) given = j->a->work_rule[i] == HD_RULE_GIVEN;
    return given && j->own && j->has_ids;
}

static hd_status list_pending(attribution_join *j, hd_error *err)
{
    hd_attribution *a = j->a;
    size_t count = 0;
    for (size_t i = 0; i < j->sample_count; i++) count += !j->used[i] && j->sample_stacks[i] != HD_STACK_NONE;
    a->pending = hd_large_new(count + 1, sizeof *a->pending, j->large);
    if (!a->pending) return HD_NOMEM(err);
    for (size_t i = 0; i < j->sample_count; i++) {
        if (j->used[i] || j->sample_stacks[i] == HD_STACK_NONE) continue;
        a->pending[a->pending_count++] = (hd_pending_stack){j->sample_rows[i], j->sample_stacks[i]};
    }
    return HD_OK;
}

static hd_status join(attribution_join *j, hd_error *err)
{
    size_t launches = j->a->launches->launch_count;
    HD_TRY(attribution_gather_samples(j, err));
    if (j->sample_count == 0) return HD_OK;
    j->joined = hd_large_new(launches + 1, sizeof *j->joined, j->large);
    if (!j->joined) return HD_NOMEM(err);
    for (size_t i = 0; i < launches; i++) j->joined[i] = HD_NONE;
    HD_TRY(attribution_by_id(j, err));
    if (was_joined(j)) return list_pending(j, err); /* a sample without a partner had none then either */
    HD_TRY(attribution_gather_marks(j, err));
    HD_TRY(attribution_by_time(j, err));
    HD_TRY(attribution_by_order(j, err));
    return j->own ? HD_OK : list_pending(j, err); /* nothing says that the trace's own samples are launches */
}

hd_status attribution_from_samples(hd_attribution *a, const hd_trace *gpu, const hd_trace *cpu,
                                   const hd_attribution_options *options, hd_error *err)
{
    attribution_join j = {.a = a, .gpu = gpu, .cpu = cpu ? cpu : gpu, .options = options, .own = !cpu || cpu == gpu};
    j.large = hd_trace_large_bytes(gpu);
    j.tolerance = options->tolerance_ns > 0 ? options->tolerance_ns : HD_TOLERANCE_NS;
    if (options->has_offset) a->clock = (hd_clock_fit){.known = true, .offset_ns = options->clock_offset_ns};
    if (hd_trace_row_count(j.cpu, HD_KIND_SAMPLE) == 0) return HD_OK;
    hd_status status = join(&j, err);
    attribution_join_deinit(&j);
    return status;
}
