/* report.c - the tables of a diff, described; and a diff as a report, for pages, files and SQL */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/diff/diff.h"

static const hd_report_column rows_columns[] = {
    {"kind", HD_VALUE_STRING, "kernel, collective, copy, operator, module, idle"},
    {"name", HD_VALUE_STRING, "before; of what is new, after"},
    {"name_after", HD_VALUE_STRING, "after; null: the same"},
    {"within", HD_VALUE_STRING, "operator, or operators or modules around it"},
    {"matched", HD_VALUE_STRING, "how the two sides were matched: same, place, renamed, split, new, gone …"},
    {"before", HD_VALUE_DURATION, "mean per step"},
    {"after", HD_VALUE_DURATION, "likewise"},
    {"change", HD_VALUE_DURATION, "after - before"},
    {"low", HD_VALUE_DURATION, "of the interval of the change; null: too few steps"},
    {"high", HD_VALUE_DURATION, "likewise"},
    {"calls_before", HD_VALUE_DECIMAL, "per step"},
    {"calls_after", HD_VALUE_DECIMAL, "likewise"},
    {"n_before", HD_VALUE_COUNT, "steps or runs that were compared"},
    {"n_after", HD_VALUE_COUNT, "likewise"},
    {"per_call_before", HD_VALUE_DURATION, "mean of a call"},
    {"per_call_after", HD_VALUE_DURATION, "likewise"},
    {"cpu_before", HD_VALUE_DURATION, "of operators and modules: their own time on the CPU"},
    {"cpu_after", HD_VALUE_DURATION, "likewise"},
    {"verdict", HD_VALUE_STRING,
     "slower, faster, new, gone, noise; too few: it would be beyond noise, were it the only row"},
    {0}};

static const hd_report_column step_columns[] = {
    {"before", HD_VALUE_DURATION, "median of the steps"},
    {"after", HD_VALUE_DURATION, "likewise"},
    {"change", HD_VALUE_DURATION, "after - before"},
    {"share", HD_VALUE_DECIMAL, "the change in percent of before"},
    {"low", HD_VALUE_DURATION, "of the interval of the change, at 99 %; null: too few steps"},
    {"high", HD_VALUE_DURATION, "likewise"},
    {"before_total", HD_VALUE_DURATION, "sum of the steps that were compared"},
    {"after_total", HD_VALUE_DURATION, "likewise"},
    {"verdict", HD_VALUE_STRING, "same, slower, faster, inconclusive"},
    {"sentence", HD_VALUE_STRING, "the same in words"},
    {0}};

static const hd_report_column parts_columns[] = {
    {"part", HD_VALUE_STRING,
     "compute, exposed_communication, exposed_copy, idle by its cause; host: on the CPU, without any GPU"},
    {"before", HD_VALUE_DURATION, "mean per step"},
    {"after", HD_VALUE_DURATION, "likewise"},
    {"change", HD_VALUE_DURATION, "after - before"},
    {"before_total", HD_VALUE_DURATION, "sum over the steps that were compared; the parts add up to step, to the ns"},
    {"after_total", HD_VALUE_DURATION, "likewise"},
    {0}};

static const hd_report_column groups_columns[] = {
    {"group", HD_VALUE_STRING, "of --groups FILE, its parents first: model/attention; null: of no group"},
    {"before", HD_VALUE_DURATION, "mean per step of the durations of its activities"},
    {"after", HD_VALUE_DURATION, "likewise"},
    {"change", HD_VALUE_DURATION, "after - before"},
    {"low", HD_VALUE_DURATION, "of the interval of the change; null: too few steps"},
    {"high", HD_VALUE_DURATION, "likewise"},
    {"calls_before", HD_VALUE_DECIMAL, "activities per step"},
    {"calls_after", HD_VALUE_DECIMAL, "likewise"},
    {"before_total", HD_VALUE_DURATION, "sum over the steps that were compared"},
    {"after_total", HD_VALUE_DURATION, "likewise"},
    {"verdict", HD_VALUE_STRING, "slower, faster, noise; null: too few steps"},
    {0}};

static const hd_report_column counts_columns[] = {
    {"what", HD_VALUE_STRING, "launches, kernels, copies, syncs, copied_bytes"},
    {"before", HD_VALUE_DECIMAL, "mean per step; copied_bytes: null if a copy does not have its bytes"},
    {"after", HD_VALUE_DECIMAL, "likewise"},
    {0}};

static const hd_report_column figures_columns[] = {
    {"what", HD_VALUE_STRING,
     "memory_peak: the most that the allocator had in use in a step; flop: of matrix products, attention and "
     "convolutions; tflops: of them in the time of the step; collective_bytes; bus_bandwidth"},
    {"unit", HD_VALUE_STRING, "bytes, FLOP, TFLOP/s, GB/s"},
    {"before", HD_VALUE_DECIMAL, "mean per step; rates: over all steps that were compared; null: not known"},
    {"after", HD_VALUE_DECIMAL, "likewise"},
    {"change", HD_VALUE_DECIMAL, "in percent of before"},
    {"coverage_before", HD_VALUE_DECIMAL,
     "what the figure rests on, in percent: steps with allocations; time of kernels that compute, or of collectives"},
    {"coverage_after", HD_VALUE_DECIMAL, "likewise"},
    {"note", HD_VALUE_STRING, "why it is not known, or that it rests on less than 90 %; null: neither"},
    {0}};

static const hd_report_column steps_columns[] = {
    {"side", HD_VALUE_STRING, "before, after"},
    {"run", HD_VALUE_COUNT, "of the rank, from 0 on"},
    {"rank", HD_VALUE_INT, "null: unknown"},
    {"device", HD_VALUE_INT, "null: the process has no device number"},
    {"step", HD_VALUE_STRING, "its name; null: the recording, as there are no steps"},
    {"length", HD_VALUE_DURATION, "of its window on the device"},
    {"compared", HD_VALUE_BOOL, "no: warm-up, after a missing step, or without a counterpart"},
    {"input", HD_VALUE_COUNT, "place of its file among those of the side, from 0 on"},
    {"start", HD_VALUE_TIME, "when it begins on the host, by the clock of its file; null: the recording"},
    {"pair", HD_VALUE_INT, "steps of one number are compared with each other; null: not pair by pair"},
    {0}};

static const hd_report_column sides_columns[] = {{"side", HD_VALUE_STRING, "before, after"},
                                                 {"files", HD_VALUE_STRING, "its inputs"},
                                                 {"steps", HD_VALUE_COUNT, "steps that were compared"},
                                                 {"dropped", HD_VALUE_COUNT, "steps that were not compared"},
                                                 {"runs", HD_VALUE_COUNT, "recordings of a rank"},
                                                 {"median", HD_VALUE_DURATION, "of the steps"},
                                                 {"spread", HD_VALUE_DURATION, "half the distance of their quartiles"},
                                                 {0}};

static const hd_report_column differs_columns[] = {{"what", HD_VALUE_STRING, "GPU, steps, versions, trust …"},
                                                   {"before", HD_VALUE_STRING, ""},
                                                   {"after", HD_VALUE_STRING, ""},
                                                   {0}};

static const hd_report_column reasons_columns[] = {{"reason", HD_VALUE_STRING, "a sentence"}, {0}};

static const hd_report_column gate_columns[] = {{"condition", HD_VALUE_STRING, "as of --fail-if"},
                                                {"verdict", HD_VALUE_STRING, "passes, fails, cannot be said"},
                                                {"text", HD_VALUE_STRING, "the figures on both sides"},
                                                {0}};

static const hd_report_table_about tables[] = {
    {"rows", "what makes up the change, the largest first", rows_columns},
    {"step", "the time of a step, one row", step_columns},
    {"parts", "what the mean step is made of", parts_columns},
    {"groups", "only with --groups: GPU activities by group, the largest change first", groups_columns},
    {"counts", "of a step; counts have no noise", counts_columns},
    {"figures", "of a step, each with what it rests on", figures_columns},
    {"steps", "each step on each device", steps_columns},
    {"sides", "what was compared", sides_columns},
    {"differs", "what is not the same on both sides", differs_columns},
    {"reasons", "why nothing can be concluded", reasons_columns},
    {"gate", "conditions", gate_columns},
    {0},
};

typedef struct diff_values {
    const char *inputs, *step, *across;
    hd_convert_time min;
    double noise;
    uint64_t seed;
    bool all;
} diff_values;

static const hd_option_about options[] = {
    {"inputs", HD_OPTION_TEXT, NULL,
     "places of the inputs before and after, 0,1:2,3; else the first and the second of two",
     offsetof(diff_values, inputs)},
    {"step", HD_OPTION_PATTERNS, NULL, "annotations of these names are the steps; none: compare whole recordings",
     offsetof(diff_values, step)},
    {"across", HD_OPTION_PATTERNS, NULL, "gpus, ranks: what may differ", offsetof(diff_values, across)},
    {"min", HD_OPTION_TIME, NULL, "what changes by less per step is noise; else 20us", offsetof(diff_values, min)},
    {"noise", HD_OPTION_DECIMAL, NULL, "what changes by less, in percent of before, is noise",
     offsetof(diff_values, noise)},
    {"seed", HD_OPTION_COUNT, NULL, "of the random numbers of the interval", offsetof(diff_values, seed)},
    {"all", HD_OPTION_FLAG, NULL, "rows that are noise as well", offsetof(diff_values, all)},
    {0}};

const hd_report_about diff_about = {
    .name = "diff",
    .title = "what changed between two runs, and whether it is real",
    .text = "The steps of the side before are compared with those of the side after. Rows are means per step. Changes "
            "smaller than the noise of the steps are not listed.",
    .options = options,
    .options_size = sizeof(diff_values),
    .of_job = true,
    .tables = tables,
};

const hd_report_about *hd_diff_report_about(void)
{
    return &diff_about;
}

hd_status hd_diff_report(hd_report *out, const hd_diff *diff, hd_error *err)
{
    *out = (hd_report){0};
    for (const hd_report_table_about *about = tables; about->name; about++) {
        const hd_table *table = hd_diff_table(diff, about->name);
        if (!table) continue;
        hd_status status = hd_table_head(&out->tables[out->table_count], table, hd_table_row_count(table), err);
        if (status != HD_OK) {
            hd_report_free(out);
            return status;
        }
        out->table_count++;
    }
    return HD_OK;
}

/* ---- of some traces ---- */

/* The inputs of a list until a colon or its end, to which *at moves. */
static hd_status add_inputs(hd_diff_side *side, const char **at, const hd_trace *const *traces, size_t count,
                            hd_error *err)
{
    char name[32], *end;
    for (bool is_last = false; !is_last; *at = is_last ? end : end + 1) {
        unsigned long long input = strtoull(*at, &end, 10);
        is_last = *end == ':' || !*end;
        if (end == *at || (!is_last && *end != ',') || input >= count)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "diff: inputs are as 0:1 or 0,1:2,3, of 0 to %zu", count - 1);
        snprintf(name, sizeof name, "input %llu", input);
        HD_TRY(hd_diff_side_add(side, traces[input], name, err));
    }
    return HD_OK;
}

static hd_status add_sides(hd_diff_side *const sides[2], const char *inputs, const hd_trace *const *traces,
                           size_t count, hd_error *err)
{
    if (!inputs && count != 2)
        return hd_error_set(
            err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
            "diff compares two inputs, and there are %zu: diff('0,1:2') compares the first two with the "
            "third",
            count);
    const char *at = inputs ? inputs : "0:1";
    HD_TRY(add_inputs(sides[0], &at, traces, count, err));
    bool has_both = *at++ == ':';
    if (has_both) HD_TRY(add_inputs(sides[1], &at, traces, count, err));
    if (has_both && !*at) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "diff: '%.60s' is not two sides with a colon between", inputs);
}

static bool has_word(const char *list, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == size && memcmp(at, word, size) == 0) return true;
    return false;
}

static hd_status set_options(hd_diff_options *out, const diff_values *v, hd_error *err)
{
    *out = (hd_diff_options){.size = sizeof *out, .noise = v->noise / 100, .seed = v->seed, .all = v->all};
    if (has_word(v->across, "gpus")) out->across |= HD_DIFF_ACROSS_GPUS;
    if (has_word(v->across, "ranks")) out->across |= HD_DIFF_ACROSS_RANKS;
    out->min_ns = v->min.value;
    if (v->min.value && v->min.unit != HD_CONVERT_NS)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "diff: min is no time, as 20us");
    if (v->across && !out->across)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "diff: across is gpus or ranks");
    return HD_OK;
}

hd_status hd_diff_report_run(hd_report *out, const hd_trace *const *traces, size_t count, const char *const *list,
                             hd_error *err)
{
    hd_option_values values;
    hd_diff_options o;
    hd_diff_side *sides[2] = {NULL, NULL};
    hd_diff *diff = NULL;
    *out = (hd_report){0};
    HD_TRY(report_options_set(&values, &diff_about, list, err));
    const diff_values *v = values.values;
    hd_status status = set_options(&o, v, err);
    for (int h = 0; h < 2 && status == HD_OK; h++) status = hd_diff_side_new(&sides[h], v->step, err);
    if (status == HD_OK) status = add_sides(sides, v->inputs, traces, count, err);
    if (status == HD_OK) status = hd_diff_new(&diff, sides[0], sides[1], &o, err);
    if (status == HD_OK) status = hd_diff_report(out, diff, err);
    hd_diff_free(diff);
    for (int h = 0; h < 2; h++) hd_diff_side_free(sides[h]);
    hd_option_values_deinit(&values);
    return status;
}
