/* diff.c - compares two sides: refusals, the step, its parts; the rows that explain the change are in rows.c */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/options.h"
#include "base/sorted.h"
#include "heddle/names.h"
#include "report/diff/maker.h"
#include "report/diff/result.h"

const char *const diff_side_names[2] = {"before", "after"};
const char *const diff_kind_names[DIFF_KINDS] = {"kernel", "collective", "copy", "operator", "module", "idle"};
const char *const diff_verdict_names[] = {"same", "slower", "faster", "inconclusive"};

static void add_reason(diff_maker *m, const char *format, ...) HD_PRINTF(2, 3);
static void add_reason(diff_maker *m, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!m->reason_count++) snprintf(m->out->reason, sizeof m->out->reason, "%s", text);
    hd_table_add_text(m->reasons, text);
}

static hd_status keep(diff_maker *m, hd_table_builder *b, hd_error *err)
{
    HD_TRY(hd_table_finish(&m->out->tables[m->out->table_count], b, err));
    m->out->table_count++;
    return HD_OK;
}

/* ---- what refuses ---- */

static hd_string fact_of(const hd_diff_side *s, int fact)
{
    return s->facts[fact] == HD_NONE ? (hd_string){NULL, 0} : gpu_text_of(&s->texts, s->facts[fact]);
}

static bool facts_differ(const diff_maker *m, int fact)
{
    hd_string x = fact_of(m->side[0], fact), y = fact_of(m->side[1], fact);
    return x.data && y.data && (x.size != y.size || memcmp(x.data, y.data, x.size) != 0);
}

static void refuse_facts(diff_maker *m, unsigned across)
{
    static const int facts[] = {DIFF_FACT_GPU, DIFF_FACT_WORLD};
    static const char *const hints[] = {"; --across gpus compares them all the same",
                                        "; --across ranks compares them all the same"};
    for (int i = 0; i < 2; i++) {
        if (across & (i ? HD_DIFF_ACROSS_RANKS : HD_DIFF_ACROSS_GPUS)) continue;
        hd_string x = fact_of(m->side[0], facts[i]), y = fact_of(m->side[1], facts[i]);
        if (facts_differ(m, facts[i]))
            add_reason(m, "before has %s %.*s, after %.*s%s", diff_fact_names[facts[i]],
                       (int)(x.size < 80 ? x.size : 80), x.data, (int)(y.size < 80 ? y.size : 80), y.data, hints[i]);
    }
    if (!(across & HD_DIFF_ACROSS_RANKS) && m->side[0]->places.count != m->side[1]->places.count &&
        m->side[0]->places.count && m->side[1]->places.count)
        add_reason(m, "before has %u GPU%s with activities, after %u%s", m->side[0]->places.count,
                   m->side[0]->places.count == 1 ? "" : "s", m->side[1]->places.count, hints[1]);
}

/* Refuses a comparison with a doubt on one side only, about more than a twentieth of the data. */
static void refuse_doubts(diff_maker *m)
{
    for (int i = 0; i < GPU_DOUBTS; i++) {
        const gpu_doubt_about *about = &gpu_doubt_abouts[i];
        double share[2];
        if (strcmp(about->level, "note") == 0) continue;
        for (int h = 0; h < 2; h++) {
            double of = (double)m->side[h]->doubts_of[i];
            share[h] = (double)m->side[h]->doubts[i] / (of > 0 ? of : 1);
        }
        int worse = share[1] > share[0];
        if (share[worse] - share[!worse] <= 0.05) continue;
        add_reason(m,
                   i == GPU_DOUBT_INPUT_LOST ? "%s lost part of its input (%s: %llu), %s did not"
                                             : "%s cannot be trusted (%s: %llu) as %s can",
                   diff_side_names[worse], about->code, (unsigned long long)m->side[worse]->doubts[i],
                   diff_side_names[!worse]);
    }
}

static void refuse_steps(diff_maker *m)
{
    const diff_half *x = &m->units.half[0], *y = &m->units.half[1];
    const char *what = m->units.by_run ? "runs" : "steps";
    for (int h = 0; h < 2; h++) {
        if (!m->side[h]->sample_count) add_reason(m, "%s has no GPU activity", diff_side_names[h]);
        if (m->side[h]->has_host && !m->side[!h]->has_host && m->side[!h]->sample_count)
            add_reason(m, "%s has no GPU activity, and %s has", diff_side_names[h], diff_side_names[!h]);
        if (m->side[h]->lacks_steps && m->side[!h]->has_steps)
            add_reason(m, "%s has no steps, and %s has some", diff_side_names[h], diff_side_names[!h]);
    }
    if (m->reason_count) return;
    if (m->side[0]->lacks_steps && x->units < DIFF_UNITS_MIN)
        add_reason(
            m,
            "there are no steps: whole recordings are compared, of which %u and %u are not enough; name steps by "
            "--step PATTERN, or give more runs",
            x->units, y->units);
    else if (x->units < DIFF_UNITS_MIN || y->units < DIFF_UNITS_MIN)
        add_reason(m, "too few %s: %u and %u can be compared, and %d are needed", what, x->units, y->units,
                   DIFF_UNITS_MIN);
}

#define NAMED_LEAST 0.1  /* of the time of a side, in pairs of one name: else pairs rest on the structure alone, */
#define PAIRED_LEAST 0.9 /* which is then to agree in this share */

/* Refuses to compare programs with other names and another structure; warns if only the structure is the same. */
static void refuse_strangers(diff_maker *m)
{
    const diff_common c = diff_common_of(&m->aligned, &m->units);
    bool is_strange = false;
    if (!(c.all[0] > 0 && c.all[1] > 0)) return;
    for (int h = 0; h < 2; h++) {
        if (c.named[h] >= NAMED_LEAST * c.all[h]) return;
        is_strange |= c.paired[h] < PAIRED_LEAST * c.all[h];
    }
    m->names_differ = true;
    m->are_strangers = is_strange;
    if (is_strange)
        add_reason(
            m,
            "the sides have next to nothing in common: %.0f %% of the time of before and %.0f %% of that of "
            "after are in operators or kernels with a name that both have, and %.0f %% and %.0f %% have the same "
            "place in the tree of calls",
            100 * c.named[0] / c.all[0], 100 * c.named[1] / c.all[1], 100 * c.paired[0] / c.all[0],
            100 * c.paired[1] / c.all[1]);
}

/* ---- small tables ---- */

/* HD_NO_NUMBER: not known, or several. */
static int64_t only_rank(const hd_diff_side *s)
{
    return s->places.count == 1 ? ((const diff_place_key *)gpu_group_key(&s->places, 0))->rank : HD_NO_NUMBER;
}

static hd_status add_differs(diff_maker *m, hd_error *err)
{
    hd_table_builder *b;
    char text[2][64];
    HD_TRY(report_builder(&b, &diff_about, "differs", err));
    for (int i = 0; i < DIFF_FACTS; i++) {
        if (!facts_differ(m, i)) continue;
        hd_table_add_text(b, diff_fact_names[i]);
        for (int h = 0; h < 2; h++) diff_add_text(b, &m->side[h]->texts, m->side[h]->facts[i]);
    }
    for (int what = 0; what < 2; what++) {
        for (int h = 0; h < 2; h++)
            snprintf(text[h], sizeof text[h], "%zu", what ? (size_t)m->side[h]->runs : m->side[h]->sample_count);
        if (strcmp(text[0], text[1]) == 0) continue;
        hd_table_add_text(b, what ? "runs" : "steps");
        for (int h = 0; h < 2; h++) hd_table_add_text(b, text[h]);
    }
    const int64_t ranks[2] = {only_rank(m->side[0]), only_rank(m->side[1])};
    if (ranks[0] != ranks[1] && ranks[0] != HD_NO_NUMBER && ranks[1] != HD_NO_NUMBER) {
        hd_table_add_text(b, "rank");
        for (int h = 0; h < 2; h++) {
            snprintf(text[h], sizeof text[h], "%lld", (long long)ranks[h]);
            hd_table_add_text(b, text[h]);
        }
    }
    for (int i = 0; i < GPU_DOUBTS; i++) {
        if (m->side[0]->doubts[i] == m->side[1]->doubts[i]) continue;
        hd_table_add_text(b, gpu_doubt_abouts[i].code);
        for (int h = 0; h < 2; h++) {
            snprintf(text[h], sizeof text[h], "%llu", (unsigned long long)m->side[h]->doubts[i]);
            hd_table_add_text(b, text[h]);
        }
    }
    return keep(m, b, err);
}

static hd_status add_steps(diff_maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "steps", err));
    for (int h = 0; h < 2; h++) {
        for (size_t i = 0; i < m->side[h]->sample_count; i++) {
            const diff_sample *sample = &m->side[h]->samples[i];
            const diff_place_key *place = gpu_group_key(&m->side[h]->places, sample->place);
            hd_table_add_text(b, diff_side_names[h]);
            hd_table_add_count(b, sample->run);
            report_cell_int(b, place->rank);
            report_cell_int(b, place->device);
            diff_add_text(b, &m->side[h]->texts, sample->name);
            hd_table_add_int(b, sample->length);
            hd_table_add_bool(b, m->units.half[h].unit_of[i] != HD_NONE);
            hd_table_add_count(b, sample->input);
            report_cell_int(b, sample->name == HD_NONE ? HD_NO_NUMBER : sample->start);
            report_cell_int(b, m->units.paired && m->units.half[h].unit_of[i] != HD_NONE ? m->units.half[h].unit_of[i]
                                                                                         : HD_NO_NUMBER);
        }
    }
    return keep(m, b, err);
}

static hd_status add_sides(diff_maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "sides", err));
    for (int h = 0; h < 2; h++) {
        const diff_half *half = &m->units.half[h];
        size_t size = 0;
        for (size_t i = 0; i < half->side->path_count; i++) size += strlen(half->side->paths[i]) + 2;
        char *files = calloc(size + 1, 1), *end = files;
        for (size_t i = 0; files && i < half->side->path_count; i++)
            end += sprintf(end, "%s%s", i ? ", " : "", half->side->paths[i]);
        hd_table_add_text(b, diff_side_names[h]);
        hd_table_add_text(b, files);
        hd_table_add_count(b, half->used);
        hd_table_add_count(b, half->dropped);
        hd_table_add_count(b, half->side->runs);
        diff_add_ns(b, diff_median(half));
        diff_add_ns(b, diff_spread(half));
        free(files);
    }
    return keep(m, b, err);
}

static double mean_column(const diff_half *half, unsigned c)
{
    return half->used ? (double)diff_sum(half, c) / half->used : 0;
}

/* The identity: parts add up to the steps, on both sides. */
static hd_status add_parts(diff_maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "parts", err));
    gpu_i128 sum[2] = {0, 0};
    for (unsigned c = 0; c < DIFF_PARTS; c++) {
        gpu_i128 total[2];
        double mean[2];
        for (int h = 0; h < 2; h++) {
            sum[h] += total[h] = diff_sum(&m->units.half[h], c);
            mean[h] = mean_column(&m->units.half[h], c);
        }
        if (!total[0] && !total[1]) continue;
        hd_table_add_text(b, diff_column_name(c));
        for (int h = 0; h < 2; h++) diff_add_ns(b, mean[h]);
        diff_add_ns(b, mean[1] - mean[0]);
        for (int h = 0; h < 2; h++) hd_table_add_int(b, gpu_whole(total[h]));
    }
    HD_TRY(keep(m, b, err));
    for (int h = 0; h < 2; h++) {
        gpu_i128 all = diff_sum(&m->units.half[h], DIFF_COLUMNS);
        if (sum[h] != all) return gpu_broken("the parts of all steps, in ns", gpu_whole(sum[h]), gpu_whole(all), err);
    }
    return HD_OK;
}

/* Digits that a mean count is printed with. */
static unsigned decimals_of(const diff_half *half)
{
    for (unsigned c = DIFF_LAUNCHES; c < DIFF_COUNTS; c++)
        if (half->used && diff_sum(half, c) % half->used) return 2;
    return 0;
}

static hd_status add_counts(diff_maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(hd_table_builder_new(&b, "counts", err));
    hd_table_add_column(b, "what", HD_VALUE_STRING);
    for (int h = 0; h < 2; h++) {
        hd_table_add_column(b, diff_side_names[h], HD_VALUE_DECIMAL);
        hd_table_set_decimals(b, decimals_of(&m->units.half[h]));
    }
    for (unsigned c = DIFF_LAUNCHES; c < DIFF_COUNTS; c++) {
        hd_table_add_text(b, diff_column_name(c));
        for (int h = 0; h < 2; h++)
            gpu_cell_decimal(b, mean_column(&m->units.half[h], c), !diff_unknown(&m->units.half[h], c));
    }
    return keep(m, b, err);
}

static hd_status add_figures(diff_maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "figures", err));
    diff_figures_put(b, &m->units);
    return keep(m, b, err);
}

static hd_status add_groups(diff_maker *m, hd_error *err)
{
    hd_table_builder *b;
    if (!gpu_group_count()) return HD_OK;
    HD_TRY(report_builder(&b, &diff_about, "groups", err));
    hd_status status = diff_groups_put(b, m, err);
    if (status == HD_OK) return keep(m, b, err);
    hd_table_builder_free(b);
    return status;
}

static hd_status add_rows(diff_maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "rows", err));
    bool both = m->units.half[0].used && m->units.half[1].used; /* an item of only one side is no change */
    both = both && (m->all || !m->are_strangers);
    if (both) diff_rows_put(b, m);
    return keep(m, b, err);
}

/* ---- the verdict ---- */

static hd_status add_step(diff_maker *m, hd_error *err)
{
    const diff_change *c = &m->step;
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "step", err));
    bool has[2] = {m->units.half[0].used, m->units.half[1].used}, both = has[0] && has[1];
    diff_add_ns(b, has[0] ? c->before : INFINITY);
    diff_add_ns(b, has[1] ? c->after : INFINITY);
    diff_add_ns(b, both ? c->change : INFINITY);
    if (c->before > 0 && both)
        hd_table_add_decimal(b, 100 * c->change / c->before);
    else
        hd_table_add_null(b);
    diff_add_ns(b, c->low);
    diff_add_ns(b, c->high);
    for (int h = 0; h < 2; h++) hd_table_add_int(b, gpu_whole(diff_sum(&m->units.half[h], DIFF_COLUMNS)));
    hd_table_add_text(b, diff_verdict_names[m->out->verdict]);
    hd_table_add_text(b, m->out->sentence);
    return keep(m, b, err);
}

/* "+1.2", without a sign where it is 0. */
static double shown(double share)
{
    return fabs(share) < 0.05 ? 0 : share;
}

static void say(diff_maker *m)
{
    const diff_change *c = &m->step;
    char before[HD_VALUE_TEXT_BYTES], after[HD_VALUE_TEXT_BYTES];
    char *out = m->out->sentence;
    size_t size = sizeof m->out->sentence;
    const char *unit = m->side[0]->lacks_steps ? "the recording"
                       : m->side[0]->has_host  ? "a step on the CPU"
                                               : "a step";
    double percent = c->before > 0 ? 100 / c->before : 0;
    double share = percent * c->change, low = percent * c->low, high = percent * c->high;
    hd_text_duration(before, gpu_round(c->before));
    hd_text_duration(after, gpu_round(c->after));
    if (m->out->verdict == HD_DIFF_INCONCLUSIVE)
        snprintf(out, size, "nothing can be concluded: %s", m->out->reason);
    else if (m->out->is_identical)
        snprintf(out, size, "no change: before and after hold the same, %s takes %s", unit, before);
    else if (m->out->verdict == HD_DIFF_SAME)
        snprintf(out, size, "%s: %s before, %s after, %s (%+.1f %%, 99 %%: %+.1f to %+.1f %%)",
                 shown(low) > 0 || shown(high) < 0 ? "no change above the limits of --min and --noise"
                                                   : "no change beyond noise",
                 before, after, unit, shown(share), shown(low), shown(high));
    else
        snprintf(out, size, "after is %.1f %% %s: %s -> %s %s (99 %%: %+.1f to %+.1f %%)", fabs(share),
                 diff_verdict_names[m->out->verdict], before, after, unit, low, high);
    if (m->names_differ && m->out->verdict != HD_DIFF_INCONCLUSIVE)
        snprintf(out + strlen(out), size - strlen(out),
                 "; next to no name is on both sides: operators and kernels were matched by their place in the tree of "
                 "calls alone");
}

static void decide(diff_maker *m)
{
    const diff_change *c = &m->step;
    bool beyond = diff_is_beyond(c, m);
    m->out->verdict = m->reason_count ? HD_DIFF_INCONCLUSIVE
                      : !beyond       ? HD_DIFF_SAME
                      : c->change > 0 ? HD_DIFF_SLOWER
                                      : HD_DIFF_FASTER;
    say(m);
}

static hd_status add_gate(diff_maker *m, const char *const *fail_if, hd_error *err)
{
    bool conclusive = m->out->verdict != HD_DIFF_INCONCLUSIVE, fails = false, unsaid = false;
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "gate", err));
    for (; fail_if && *fail_if; fail_if++) {
        diff_condition condition;
        hd_status status = diff_condition_parse(&condition, *fail_if, err);
        if (status != HD_OK) {
            hd_table_builder_free(b);
            return status;
        }
        hd_diff_gate gate = diff_condition_judge(b, &condition, &m->step, &m->units, conclusive);
        fails |= gate == HD_DIFF_FAILS;
        unsaid |= gate == HD_DIFF_UNSAID;
    }
    m->out->gate = fails ? HD_DIFF_FAILS : unsaid || !conclusive ? HD_DIFF_UNSAID : HD_DIFF_PASSES;
    return keep(m, b, err);
}

static hd_status make(diff_maker *m, const hd_diff_options *o, hd_error *err)
{
    HD_TRY(report_builder(&m->reasons, &diff_about, "reasons", err));
    HD_TRY(diff_units_init(&m->units, m->side[0], m->side[1], o->seed, err));
    HD_TRY(diff_align(&m->aligned, &m->units, err));
    m->out->is_identical = diff_sides_are_same(m->side[0], m->side[1]);
    refuse_facts(m, o->across);
    refuse_doubts(m);
    if (!m->out->is_identical || !m->side[0]->sample_count) refuse_steps(m);
    refuse_strangers(m);
    HD_TRY(diff_change_of_step(&m->step, &m->units, err));
    decide(m);
    HD_TRY(diff_rows_find(m, err));
    HD_TRY(add_sides(m, err));
    HD_TRY(add_step(m, err));
    HD_TRY(add_steps(m, err));
    HD_TRY(add_parts(m, err));
    HD_TRY(add_counts(m, err));
    HD_TRY(add_figures(m, err));
    HD_TRY(add_groups(m, err));
    HD_TRY(add_rows(m, err));
    HD_TRY(add_differs(m, err));
    hd_table_builder *reasons = m->reasons;
    m->reasons = NULL;
    HD_TRY(keep(m, reasons, err));
    return add_gate(m, o->fail_if, err);
}

hd_status hd_diff_conditions_valid(const char *const *fail_if, hd_error *err)
{
    diff_condition condition;
    for (; fail_if && *fail_if; fail_if++) HD_TRY(diff_condition_parse(&condition, *fail_if, err));
    return HD_OK;
}

static bool keep_paths(hd_diff *out, int h, const hd_diff_side *side)
{
    out->paths[h] = calloc(side->path_count + 1, sizeof *out->paths[h]);
    for (size_t i = 0; out->paths[h] && i < side->path_count; i++) {
        out->paths[h][i] = strdup(side->paths[i]);
        if (!out->paths[h][i]) return false;
        out->path_counts[h]++;
    }
    return out->paths[h] != NULL;
}

hd_status hd_diff_new(hd_diff **out, const hd_diff_side *before, const hd_diff_side *after,
                      const hd_diff_options *options, hd_error *err)
{
    *out = NULL;
    HD_OWN_OPTIONS(hd_diff_options, options, err);
    diff_maker m = {.side = {before, after},
                    .min_ns = (double)(options->min_ns ? options->min_ns : HD_DIFF_MIN_NS),
                    .noise = options->noise,
                    .all = options->all};
    m.out = *out = calloc(1, sizeof **out);
    if (!m.out) return HD_NOMEM(err);
    m.out->seed = options->seed;
    bool fine = keep_paths(m.out, 0, before) && keep_paths(m.out, 1, after);
    hd_status status = fine ? make(&m, options, err) : HD_NOMEM(err);
    hd_table_builder_free(m.reasons);
    diff_units_deinit(&m.units);
    diff_aligned_deinit(&m.aligned);
    gpu_groups_deinit(&m.rows);
    for (int h = 0; h < 2; h++) free(m.over[h]);
    free(m.list);
    if (status == HD_OK) return HD_OK;
    hd_diff_free(m.out);
    *out = NULL;
    return status;
}

void hd_diff_free(hd_diff *diff)
{
    if (!diff) return;
    for (size_t i = 0; i < diff->table_count; i++) hd_table_free(diff->tables[i]);
    for (int h = 0; h < 2; h++) {
        for (size_t i = 0; i < diff->path_counts[h]; i++) free(diff->paths[h][i]);
        free(diff->paths[h]);
    }
    free(diff);
}

hd_diff_verdict hd_diff_verdict_of(const hd_diff *diff)
{
    return diff->verdict;
}

hd_diff_gate hd_diff_gate_of(const hd_diff *diff)
{
    return diff->gate;
}

const char *hd_diff_sentence(const hd_diff *diff)
{
    return diff->sentence;
}

const hd_table *hd_diff_table_at(const hd_diff *diff, size_t index)
{
    return index < diff->table_count ? diff->tables[index] : NULL;
}

const hd_table *hd_diff_table(const hd_diff *diff, const char *name)
{
    for (size_t i = 0; i < diff->table_count; i++)
        if (strcmp(hd_table_name(diff->tables[i]), name) == 0) return diff->tables[i];
    return NULL;
}
