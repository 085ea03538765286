/* attribution.c - finds who launched each GPU activity: the rules in order of reliability, and sums */
#include "pass/attribution/attribution.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"
#include "base/options.h"
#include "trace/spill.h"
#include "trace/stacks/trace_stacks.h"

static const char *const rule_names[HD_RULES] = {
    [HD_RULE_NONE] = "none",     [HD_RULE_GIVEN] = "given",       [HD_RULE_ID] = "id",
    [HD_RULE_THREAD] = "thread", [HD_RULE_SEQUENCE] = "sequence", [HD_RULE_ORDER] = "order",
    [HD_RULE_SLICES] = "slices",
};

const char *hd_stack_rule_name(hd_stack_rule rule)
{
    return (unsigned)rule < HD_RULES ? rule_names[rule] : "";
}

/* ---- works ---- */

enum { JOINTS = 4096, MOST_FRAMES = 1 << 16 };
/* Deep creation stacks below very many launches would exceed memory: once this many frames per activity, and some
 * millions, are used, activities get the stack of their launch. */
enum { CREATION_FRAMES = 64, CREATION_FRAMES_LEAST = 1 << 23 };

/* A launch's stack with a graph node's creation stack below it; many activities share one. */
typedef struct joint {
    uint32_t launch, creation, node;
} joint;

typedef struct spreader {
    hd_attribution *a;
    joint *joints;
    uint32_t *path;       /* frames of a creation stack, leaf first */
    uint32_t mark;        /* name of the frame between */
    uint64_t frames_left; /* of creation stacks, that may be put below launches */
} spreader;

/* HD_NONE: no memory. */
static uint32_t join_stacks(spreader *s, uint32_t launch, uint32_t creation)
{
    joint *known = &s->joints[hd_hash_pair(launch, creation) % JOINTS];
    if (known->node && known->launch == launch && known->creation == creation) return known->node;
    hd_stacks *stacks = s->a->stacks;
    size_t count = 0;
    uint64_t frames = (uint64_t)hd_stacks_at(stacks, creation).depth + 1;
    if (frames > s->frames_left) return launch;
    s->frames_left -= frames;
    for (uint32_t at = creation; at != HD_STACK_NONE && count < MOST_FRAMES;) {
        s->path[count++] = at;
        at = hd_stacks_at(stacks, at).caller;
    }
    uint32_t node = hd_stacks_push(stacks, launch, s->mark, HD_FRAME_MARK);
    while (count > 0) {
        hd_frame frame = hd_stacks_at(stacks, s->path[--count]);
        node = hd_stacks_push(stacks, node, frame.name, frame.kind);
    }
    *known = (joint){launch, creation, node};
    return node;
}

static bool give_works(spreader *s)
{
    hd_attribution *a = s->a;
    for (size_t i = 0; i < a->launches->work_count; i++) {
        const hd_work *work = &a->launches->works[i];
        if (a->work_rule[i] != HD_RULE_NONE || work->launch == HD_NONE) continue;
        uint32_t stack = a->launch_stack[work->launch], creation = HD_STACK_NONE;
        if (a->launch_rule[work->launch] == HD_RULE_NONE) continue;
        if (work->graph_launch != HD_NONE && work->graph_launch != work->launch)
            creation = a->launch_stack[work->graph_launch];
        if (creation != HD_STACK_NONE) stack = join_stacks(s, stack, creation);
        if (stack == HD_NONE) return false;
        a->work_stack[i] = stack;
        a->work_rule[i] = a->launch_rule[work->launch];
    }
    return true;
}

static hd_status spread(hd_attribution *a, hd_error *err)
{
    static const char mark[] = "[graph node]";
    spreader s = {.a = a};
    s.frames_left = (uint64_t)a->launches->work_count * CREATION_FRAMES + CREATION_FRAMES_LEAST;
    s.joints = calloc(JOINTS, sizeof *s.joints);
    s.path = malloc(MOST_FRAMES * sizeof *s.path);
    s.mark = hd_stacks_name(a->stacks, mark, sizeof mark - 1);
    bool done = s.joints && s.path && s.mark != HD_NONE && give_works(&s);
    free(s.joints);
    free(s.path);
    return done ? HD_OK : HD_NOMEM(err);
}

static void sum_up(hd_attribution *a)
{
    const hd_launches *l = a->launches;
    for (size_t i = 0; i < l->launch_count; i++) a->launches_by[a->launch_rule[i]]++;
    for (size_t i = 0; i < l->work_count; i++) {
        const hd_work *work = &l->works[i];
        int64_t *sum = &a->work_ns_by[a->work_rule[i]];
        a->works_by[a->work_rule[i]]++;
        if (__builtin_add_overflow(*sum, work->duration_ns, sum)) *sum = INT64_MAX;
        bool of_graph = work->graph_launch != HD_NONE ||
                        (work->launch != HD_NONE && l->launches[work->launch].sort == HD_LAUNCH_GRAPH);
        a->kernels_of_graphs += of_graph && work->role == HD_ROLE_KERNEL;
    }
}

static bool is_recorded(uint8_t rule)
{
    return rule != HD_RULE_NONE && rule != HD_RULE_SLICES;
}

/* In a trace with recorded stacks, also one made by annotate, the call alone is not a stack: its sample is missing, and
 * the result must show that. */
static void drop_bare_calls(hd_attribution *a, bool has_samples)
{
    size_t launches = a->launches->launch_count, works = a->launches->work_count;
    for (size_t i = 0; i < launches && !has_samples; i++) has_samples = is_recorded(a->launch_rule[i]);
    for (size_t i = 0; i < works && !has_samples; i++) has_samples = is_recorded(a->work_rule[i]);
    for (size_t i = 0; i < launches && has_samples; i++) {
        if (a->launch_rule[i] != HD_RULE_SLICES || hd_stacks_at(a->stacks, a->launch_stack[i]).depth > 1) continue;
        a->launch_rule[i] = HD_RULE_NONE;
        a->launch_stack[i] = HD_STACK_NONE;
    }
}

/* ---- all of it ---- */

static hd_status make_arrays(hd_attribution *a, uint64_t large, hd_error *err)
{
    size_t launches = a->launches->launch_count, works = a->launches->work_count;
    a->launch_stack = hd_large_zeroed(launches + 1, sizeof *a->launch_stack, large);
    a->launch_rule = hd_large_zeroed(launches + 1, sizeof *a->launch_rule, large);
    a->launch_sample = hd_large_new(launches + 1, sizeof *a->launch_sample, large);
    a->work_stack = hd_large_zeroed(works + 1, sizeof *a->work_stack, large);
    a->work_rule = hd_large_zeroed(works + 1, sizeof *a->work_rule, large);
    if (!a->launch_stack || !a->launch_rule || !a->launch_sample || !a->work_stack || !a->work_rule)
        return HD_NOMEM(err);
    for (size_t i = 0; i < launches; i++) a->launch_sample[i] = UINT64_MAX;
    return HD_OK;
}

static hd_status attribute(hd_attribution *out, const hd_trace *gpu, const hd_trace *cpu,
                           const hd_attribution_options *options, hd_error *err)
{
    HD_TRY(hd_stacks_new(&out->stacks, err));
    hd_stacks_set_large(out->stacks, hd_trace_large_bytes(gpu));
    HD_TRY(hd_launches_new(&out->launches, gpu, err));
    HD_TRY(make_arrays(out, hd_trace_large_bytes(gpu), err));
    HD_TRY(attribution_from_given(out, gpu, options, err));
    HD_TRY(attribution_from_samples(out, gpu, cpu, options, err));
    HD_TRY(attribution_from_slices(out, gpu, options, err));
    drop_bare_calls(out, cpu && cpu != gpu);
    HD_TRY(spread(out, err));
    sum_up(out);
    return HD_OK;
}

hd_status hd_attribute(hd_attribution **out, const hd_trace *gpu, const hd_trace *cpu,
                       const hd_attribution_options *options, hd_error *err)
{
    *out = NULL;
    HD_OWN_OPTIONS(hd_attribution_options, options, err);
    *out = calloc(1, sizeof **out);
    hd_status status = *out ? attribute(*out, gpu, cpu, options, err) : HD_NOMEM(err);
    if (status == HD_OK || status == HD_ERR_DAMAGED) return status;
    hd_attribution_free(*out);
    *out = NULL;
    return status;
}

void hd_attribution_free(hd_attribution *attribution)
{
    if (!attribution) return;
    hd_stacks_free(attribution->stacks);
    hd_launches_free(attribution->launches);
    hd_large_free(attribution->launch_stack);
    hd_large_free(attribution->launch_rule);
    hd_large_free(attribution->launch_sample);
    hd_large_free(attribution->work_stack);
    hd_large_free(attribution->work_rule);
    hd_large_free(attribution->pending);
    free(attribution);
}
