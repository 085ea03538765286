/* joined.c - the quality of the join of stacks with GPU activities, and GPU time
 *
 * join      one row: counts, the clocks, the GPU time with and without a stack
 * rules     launches by the rule that gave their stacks
 * kernels   activities by short name, most time first
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "base/text/ends.h"
#include "heddle/analysis/attribution.h"
#include "heddle/names.h"
#include "report/report.h"

static const hd_report_column join_columns[] = {
    {"samples", HD_VALUE_COUNT, "stack samples, or stacks in the trace"},
    {"samples_without_stack", HD_VALUE_COUNT, "of them, empty"},
    {"stack_frames", HD_VALUE_COUNT, "different frames of all stacks"},
    {"launches", HD_VALUE_COUNT, "API calls that start GPU activities"},
    {"launches_without_work", HD_VALUE_COUNT, "those without an activity in the trace"},
    {"works", HD_VALUE_COUNT, "kernels, copies and memsets"},
    {"kernels", HD_VALUE_COUNT, "of them, kernels"},
    {"kernels_of_graphs", HD_VALUE_COUNT, "of them, launched by a graph"},
    {"works_without_launch", HD_VALUE_COUNT, "activities whose launch is not in the trace"},
    {"works_without_stack", HD_VALUE_COUNT, "activities without a stack"},
    {"pending_stacks", HD_VALUE_COUNT, "stacks without a launch"},
    {"forward_joined", HD_VALUE_COUNT, "backward operators that found their forward operator"},
    {"span", HD_VALUE_DURATION, "from the first work to the end of the last"},
    {"gpu_time", HD_VALUE_DURATION, "sum of the durations of all work"},
    {"kernel_time", HD_VALUE_DURATION, "of the kernels alone"},
    {"gpu_time_without_stack", HD_VALUE_DURATION, "of the work that has no stack"},
    {"clock_offset_ns", HD_VALUE_INT, "added to the samples' clock to match that of the launches, in ns"},
    {"clock_spread", HD_VALUE_DURATION, "median distance of a sample to its launch, with that offset"},
    {"clock_worst", HD_VALUE_DURATION, "largest such distance"},
    {"clock_pairs", HD_VALUE_COUNT, "samples that were joined by time"},
    {"clock_ambiguous", HD_VALUE_BOOL, "whether another offset fits nearly as well"},
    {"threads_by_id", HD_VALUE_COUNT, "threads joined by their ids"},
    {"threads_by_sequence", HD_VALUE_COUNT, "threads joined by the sequence of their launches"},
    {"threads_unmatched", HD_VALUE_COUNT, "threads with samples that match no launches"},
    {0},
};

static const hd_report_column rules_columns[] = {
    {"rule", HD_VALUE_STRING, "as in heddle/analysis/attribution.h"},
    {"launches", HD_VALUE_COUNT, "launches whose stack was found by this rule"},
    {"works", HD_VALUE_COUNT, "of those launches"},
    {"gpu_time", HD_VALUE_DURATION, "GPU time of these activities"},
    {"share", HD_VALUE_DECIMAL, "of the time of all work, in percent"},
    {0},
};

static const hd_report_column kernels_columns[] = {
    {"kernel", HD_VALUE_STRING, "short name"},
    {"count", HD_VALUE_COUNT, "how often it ran"},
    {"total", HD_VALUE_DURATION, "sum of the durations"},
    {"mean", HD_VALUE_DURATION, "of the durations"},
    {"share", HD_VALUE_DECIMAL, "of the time of all work, in percent"},
    {"without_stack", HD_VALUE_COUNT, "of them, without a stack"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"join", "one row: samples, launches and activities, and how many of each have no match", join_columns},
    {"rules", "by which rule launches got their stacks", rules_columns},
    {"kernels", "all work by short name, most time first", kernels_columns},
    {0},
};

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    hd_attribution *own = NULL;
    hd_status status = HD_OK;
    (void)options;
    if (!input->attribution) status = hd_attribute(&own, input->trace, NULL, NULL, err);
    if (status == HD_OK)
        status = hd_report_attribution(out, input->attribution ? input->attribution : own, input->trace, err);
    hd_attribution_free(own);
    return status;
}

const hd_report_about report_attribution_about = {
    .name = "attribution",
    .title = "how stacks were joined with GPU activities",
    .text = "Which samples were matched with which launches and by which rule, how many on each side have no match, "
            "how well the clocks fit, and the time of all GPU activities by kernel.",
    .tables = tables,
    .run = run,
};

/* Durations of hostile traces may add up to more than there is. */
static int64_t add_up(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

/* ---- join, rules ---- */

typedef struct sums {
    uint64_t kernels, idle_launches, lone_works;
    int64_t kernel_ns, start_ns, end_ns;
} sums;

static sums sums_of(const hd_launches *l)
{
    sums s = {.start_ns = INT64_MAX, .end_ns = INT64_MIN};
    for (size_t i = 0; i < l->work_count; i++) {
        const hd_work *work = &l->works[i];
        int64_t end = add_up(work->start_ns, work->duration_ns);
        if (work->role == HD_ROLE_KERNEL) {
            s.kernels++;
            s.kernel_ns = add_up(s.kernel_ns, work->duration_ns);
        }
        s.lone_works += work->launch == HD_NONE;
        if (work->start_ns < s.start_ns) s.start_ns = work->start_ns;
        if (end > s.end_ns) s.end_ns = end;
    }
    for (size_t i = 0; i < l->launch_count; i++) s.idle_launches += l->launches[i].work_count == 0;
    return s;
}

static void cell_span(hd_table_builder *b, const sums *s)
{
    int64_t span;
    if (s->start_ns > s->end_ns || __builtin_sub_overflow(s->end_ns, s->start_ns, &span))
        hd_table_add_null(b);
    else
        hd_table_add_int(b, span);
}

static void cells_clock(hd_table_builder *b, const hd_clock_fit *clock)
{
    if (!clock->known) {
        for (int i = 0; i < 5; i++) hd_table_add_null(b);
        return;
    }
    hd_table_add_int(b, clock->offset_ns);
    hd_table_add_int(b, clock->spread_ns);
    hd_table_add_int(b, clock->worst_ns);
    hd_table_add_count(b, clock->pairs);
    hd_table_add_bool(b, clock->ambiguous);
}

static hd_status add_join(hd_report *out, const hd_attribution *a, hd_error *err)
{
    hd_table_builder *b;
    const sums s = sums_of(a->launches);
    HD_TRY(report_builder(&b, &report_attribution_about, "join", err));
    const uint64_t counts[] = {a->sample_count,
                               a->without_stack,
                               hd_stacks_count(a->stacks) - 1,
                               a->launches->launch_count,
                               s.idle_launches,
                               a->launches->work_count,
                               s.kernels,
                               a->kernels_of_graphs,
                               s.lone_works,
                               a->works_by[HD_RULE_NONE],
                               a->pending_count,
                               a->forward_joined};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) hd_table_add_count(b, counts[i]);
    cell_span(b, &s);
    hd_table_add_int(b, a->launches->work_ns);
    hd_table_add_int(b, s.kernel_ns);
    hd_table_add_int(b, a->work_ns_by[HD_RULE_NONE]);
    cells_clock(b, &a->clock);
    hd_table_add_count(b, a->threads_by_id);
    hd_table_add_count(b, a->threads_by_sequence);
    hd_table_add_count(b, a->threads_unmatched);
    return report_add(out, b, err);
}

static hd_status add_rules(hd_report *out, const hd_attribution *a, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_attribution_about, "rules", err));
    for (int i = 1; i <= HD_RULES; i++) {
        int rule = i % HD_RULES; /* those without a rule come last */
        if (!a->works_by[rule] && !a->launches_by[rule]) continue;
        hd_table_add_text(b, hd_stack_rule_name((hd_stack_rule)rule));
        hd_table_add_count(b, a->launches_by[rule]);
        hd_table_add_count(b, a->works_by[rule]);
        hd_table_add_int(b, a->work_ns_by[rule]);
        hd_table_add_decimal(b, percent(a->work_ns_by[rule], a->launches->work_ns));
    }
    return report_add(out, b, err);
}

/* ---- kernels ---- */

typedef struct kernel {
    const char *text; /* short name, from the stacks of one table that lives as long as the list */
    size_t size;
    uint64_t count, without_stack;
    int64_t total_ns;
} kernel;

static int by_time(const void *a, const void *b)
{
    const kernel *x = a, *y = b;
    if (x->total_ns != y->total_ns) return x->total_ns > y->total_ns ? -1 : 1;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return hd_text_compare(x->text, x->size, y->text, y->size);
}

/* Short names are numbered by a tree of frames, which is a table of strings as good as any. */
static hd_status sum_kernels(kernel *kernels, hd_stacks *names, uint32_t *name_of, const hd_attribution *a,
                             const hd_trace *gpu, hd_error *err)
{
    for (size_t i = 0; i < a->launches->work_count; i++) {
        const hd_work *work = &a->launches->works[i];
        uint32_t *name = &name_of[work->name];
        if (!*name) {
            char text[HD_NAME_BYTES];
            size_t size = hd_name_short(text, hd_name_plain(hd_trace_string(gpu, work->name)));
            *name = hd_stacks_name(names, size ? text : "(no name)", size ? size : 9);
            if (*name == HD_NONE) return HD_NOMEM(err);
            hd_string kept = hd_stacks_text(names, *name);
            kernels[*name].text = kept.data;
            kernels[*name].size = kept.size;
        }
        kernel *k = &kernels[*name];
        k->count++;
        k->total_ns = add_up(k->total_ns, work->duration_ns);
        k->without_stack += a->work_rule[i] == HD_RULE_NONE;
    }
    return HD_OK;
}

static hd_status kernel_rows(hd_report *out, kernel *kernels, size_t count, int64_t whole, hd_error *err)
{
    hd_table_builder *b;
    hd_sort(kernels, count, sizeof *kernels, by_time);
    HD_TRY(report_builder(&b, &report_attribution_about, "kernels", err));
    for (size_t i = 0; i < count; i++) {
        const kernel *k = &kernels[i];
        hd_table_add_string(b, k->text, k->size);
        hd_table_add_count(b, k->count);
        hd_table_add_int(b, k->total_ns);
        hd_table_add_int(b, k->total_ns / (int64_t)k->count);
        hd_table_add_decimal(b, percent(k->total_ns, whole));
        hd_table_add_count(b, k->without_stack);
    }
    return report_add(out, b, err);
}

static hd_status add_kernels(hd_report *out, const hd_attribution *a, const hd_trace *gpu, hd_error *err)
{
    hd_stacks *names;
    size_t limit = (size_t)hd_trace_string_count(gpu) + 2;
    HD_TRY(hd_stacks_new(&names, err));
    kernel *kernels = calloc(limit, sizeof *kernels);
    uint32_t *name_of = calloc(limit, sizeof *name_of);
    hd_status status = kernels && name_of ? sum_kernels(kernels, names, name_of, a, gpu, err) : HD_NOMEM(err);
    if (status == HD_OK)
        status = kernel_rows(out, kernels + 1, hd_stacks_name_count(names) - 1, a->launches->work_ns, err);
    free(name_of);
    free(kernels);
    hd_stacks_free(names);
    return status;
}

hd_status hd_report_attribution(hd_report *out, const hd_attribution *attribution, const hd_trace *gpu, hd_error *err)
{
    *out = (hd_report){0};
    hd_status status = add_join(out, attribution, err);
    if (status == HD_OK) status = add_rules(out, attribution, err);
    if (status == HD_OK) status = add_kernels(out, attribution, gpu, err);
    if (status != HD_OK) hd_report_free(out);
    return status;
}
