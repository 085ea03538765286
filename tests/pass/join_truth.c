/* join_truth.c - see join_truth.h */
#include "pass/join_truth.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static uint32_t below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % n);
}

hd_synth_options join_options(uint64_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    hd_synth_options how = hd_synth_options_default();
    for (int i = 0; i < 4; i++) below(&state, 2);
    how.seed = seed;
    how.steps = 1 + below(&state, 3);
    how.layers = 1 + below(&state, 3);
    how.ranks = 1 + (below(&state, 4) == 0) * below(&state, 3);
    how.streams = 1 + below(&state, 4);
    how.jitter_percent = below(&state, 40);
    how.cupti = below(&state, 2);
    how.python = below(&state, 3) == 0;
    how.flows = below(&state, 2);
    how.counters = how.memory = false;
    how.graphs = below(&state, 3) == 0 ? 1 + below(&state, 6) : 0;
    how.late_kernels = below(&state, 3);
    how.orphans = below(&state, 3) == 0 ? below(&state, 5) : 0;
    how.stack_paths = below(&state, 3) == 0 ? 1 + below(&state, 50) : 0;
    how.stack_comm = below(&state, 3) == 0 ? "train worker" : NULL;
    return how;
}

static void check(hd_status status, const hd_error *err)
{
    if (status == HD_OK) return;
    fprintf(stderr, "%s\n", err->message);
    abort();
}

join_case join_case_make(const hd_synth_options *options, bool with_ids)
{
    join_case c = {0};
    hd_error err = {0};
    check(hd_synth_trace_with_stacks(&c.gpu, &c.truth, NULL, options, &err), &err);
    check(hd_synth_stacks_trace(&c.cpu, &c.truth, with_ids, &err), &err);
    return c;
}

void join_case_free(join_case *c)
{
    hd_trace_free(c->gpu);
    hd_trace_free(c->cpu);
    hd_synth_stacks_deinit(&c->truth);
    *c = (join_case){0};
}

/* ---- stacks of two trees, compared by hashes of their frames ---- */

static uint64_t *stack_hashes(const hd_stacks *stacks)
{
    uint32_t count = hd_stacks_count(stacks);
    uint64_t *hashes = calloc(count, sizeof *hashes);
    assert(hashes);
    for (uint32_t node = 1; node < count; node++) {
        hd_frame frame = hd_stacks_at(stacks, node);
        hd_string text = hd_stacks_text(stacks, frame.name);
        hashes[node] = hd_hash_pair(hashes[frame.caller], hd_hash(text.data, text.size)) | 1;
    }
    return hashes;
}

/* ---- truth by correlation ---- */

static int by_correlation(const void *a, const void *b)
{
    const hd_synth_sample *x = *(const hd_synth_sample *const *)a, *y = *(const hd_synth_sample *const *)b;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

typedef struct judge {
    const join_case *c;
    const hd_attribution *found;
    const hd_synth_sample **samples; /* by correlation */
    uint64_t *truth, *stacks;        /* hashes */
    uint64_t *row_correlation;       /* of the samples that are there, by row */
    size_t row_count;
    join_score *score;
} judge;

static const hd_synth_sample *sample_of(const judge *j, int64_t correlation)
{
    size_t low = 0, high = j->c->truth.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (j->samples[middle]->correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    bool there = low < j->c->truth.count && j->samples[low]->correlation == correlation;
    return there ? j->samples[low] : NULL;
}

static void judge_init(judge *j)
{
    const hd_synth_stacks *truth = &j->c->truth;
    j->samples = calloc(truth->count + 1, sizeof *j->samples);
    j->row_correlation = calloc(truth->count + 1, sizeof *j->row_correlation);
    assert(j->samples && j->row_correlation);
    for (size_t i = 0; i < truth->count; i++) {
        j->samples[i] = &truth->samples[i];
        if (!truth->samples[i].lost) j->row_correlation[j->row_count++] = (uint64_t)truth->samples[i].correlation;
    }
    if (truth->count) qsort(j->samples, truth->count, sizeof *j->samples, by_correlation);
    j->truth = stack_hashes(truth->stacks);
    j->stacks = stack_hashes(j->found->stacks);
}

static void judge_deinit(judge *j)
{
    free(j->samples);
    free(j->row_correlation);
    free(j->truth);
    free(j->stacks);
}

/* The stack of a graph's kernel is its launch's, and below that the one that made its node. */
static bool is_below(const hd_stacks *stacks, uint32_t node, uint32_t above)
{
    while (node != HD_STACK_NONE && node != above) node = hd_stacks_at(stacks, node).caller;
    return node == above;
}

static void judge_work(judge *j, size_t index)
{
    const hd_work *work = &j->found->launches->works[index];
    if (work->role != HD_ROLE_KERNEL || work->launch == HD_NONE) return;
    const hd_synth_sample *sample = sample_of(j, work->id);
    if (!sample) return;
    uint32_t stack = j->found->launch_stack[work->launch];
    /* From slices it may have another stack, which is no question of samples. */
    if (j->found->launch_rule[work->launch] == HD_RULE_SLICES) stack = HD_STACK_NONE;
    bool right = stack != HD_STACK_NONE && j->stacks[stack] == j->truth[sample->stack];
    if (sample->lost) {
        j->score->lost++;
        j->score->lost_wrong += stack != HD_STACK_NONE && !right;
        return;
    }
    uint64_t row = j->found->launch_sample[work->launch];
    j->score->kernels++;
    j->score->right += right;
    j->score->wrong += stack != HD_STACK_NONE && !right;
    j->score->absent += stack == HD_STACK_NONE;
    j->score->exact += right && row < j->row_count && j->row_correlation[row] == (uint64_t)work->id;
    if (right) assert(is_below(j->found->stacks, j->found->work_stack[index], stack));
}

/* ---- what holds for every join ---- */

static void check_sums(const judge *j)
{
    const hd_attribution *found = j->found;
    uint64_t works = 0, launches = 0;
    int64_t ns = 0;
    for (int rule = 0; rule < HD_RULES; rule++) {
        works += found->works_by[rule];
        launches += found->launches_by[rule];
        ns += found->work_ns_by[rule];
    }
    assert(works == found->launches->work_count);
    assert(launches == found->launches->launch_count);
    assert(ns == found->launches->work_ns);
    assert(found->sample_count == j->row_count);
}

/* A sample is that of one launch, or pending, and nothing else. */
static void check_samples(const judge *j)
{
    const hd_attribution *found = j->found;
    uint8_t *used = calloc(j->row_count + 1, 1);
    assert(used);
    for (size_t i = 0; i < found->launches->launch_count; i++) {
        uint64_t row = found->launch_sample[i];
        if (row == UINT64_MAX) continue;
        assert(row < j->row_count);
        assert(!used[row]);
        used[row] = 1;
    }
    for (size_t i = 0; i < found->pending_count; i++) {
        assert(found->pending[i].row < j->row_count);
        assert(!used[found->pending[i].row]);
        used[found->pending[i].row] = 1;
    }
    for (size_t i = 0; i < j->row_count; i++) assert(used[i]);
    free(used);
}

void join_case_score(join_score *score, const join_case *c, const hd_attribution_options *options)
{
    hd_attribution *found;
    hd_error err = {0};
    hd_status status = hd_attribute(&found, c->gpu, c->cpu, options, &err);
    score->cases++;
    if (status == HD_ERR_DAMAGED) {
        score->refused++;
        score->kernels += c->truth.count;
        score->absent += c->truth.count;
        hd_attribution_free(found);
        return;
    }
    check(status, &err);
    judge j = {.c = c, .found = found, .score = score};
    judge_init(&j);
    check_sums(&j);
    check_samples(&j);
    for (size_t i = 0; i < found->launches->work_count; i++) judge_work(&j, i);
    judge_deinit(&j);
    hd_attribution_free(found);
}
