/* imbalance.c - report imbalance: how unevenly the ranks of a job share its time and memory, by kind, kernel and
 * operator
 *
 * In: tables of all members. A sample is the value of one rank for one name, summed over its devices and steps; all
 * samples are sorted by name and rank, and a run of them is a row. Only steps that all ranks have, equally often, are
 * summed: data outside of steps, or in a step that a rank did not record, is not imbalance.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/job/cells.h"
#include "report/job/groups.h"

typedef struct sample {
    int64_t rank, value;
    uint32_t name, doubt; /* texts */
} sample;

enum { PARTS = 6 }; /* steps, and what they are made of */

typedef struct samples {
    sample *list;
    size_t count, capacity;
} samples;

typedef struct job {
    const hd_job *of;
    gpu_texts texts;
    hd_table_builder *lost;
    uint8_t *is_equal;     /* by text of a step's name: all ranks with steps have it, equally often */
    size_t named;          /* number of texts in is_equal */
    size_t equal, unequal; /* names of steps */
    size_t stepped;        /* ranks that have steps */
    sample first_unequal;  /* value: ranks that have it */
} job;

/* ---- samples ---- */

static bool add_sample(samples *s, int64_t rank, uint32_t name, int64_t value, uint32_t doubt)
{
    if (value == HD_NO_NUMBER || name == HD_NONE) return true;
    if (!hd_grow((void **)&s->list, &s->capacity, s->count, sizeof *s->list)) return false;
    s->list[s->count++] = (sample){rank, value, name, doubt};
    return true;
}

/* Merges samples by name and rank. sums: they add up, else the largest counts. false: no memory. */
static bool merge_samples(sample *list, size_t *count, bool sums, gpu_texts *texts)
{
    sample *spare = malloc((*count + 1) * sizeof *spare);
    size_t kept = 0;
    bool fine = true;
    if (!spare) return false;
    if (*count) HD_SORT_RUNS(list, spare, *count, x, y, x->name != y->name ? x->name < y->name : x->rank < y->rank);
    free(spare);
    for (size_t i = 0; i < *count && fine; i++) {
        sample *last = kept ? &list[kept - 1] : NULL;
        if (!last || last->name != list[i].name || last->rank != list[i].rank) {
            list[kept++] = list[i];
            continue;
        }
        last->value = sums                          ? gpu_sum(last->value, list[i].value)
                      : last->value > list[i].value ? last->value
                                                    : list[i].value;
        fine = job_add_doubt(&last->doubt, texts, list[i].doubt);
    }
    *count = kept;
    return fine;
}

/* ---- steps that all ranks have ---- */

/* How often each rank has each name of a step. */
static hd_status count_steps(samples *s, job *j, hd_error *err)
{
    static const job_wanted wanted[] = {{"rank", HD_VALUE_INT}, {"step", HD_VALUE_STRING}};
    bool fine = true;
    for (size_t m = 0; fine && m < hd_job_count(j->of); m++) {
        job_cells cells;
        HD_TRY(job_cells_of(&cells, j->of, m, "steps", wanted, 2, NULL, err));
        for (size_t row = 0; fine && row < cells.rows; row++) {
            int64_t rank = job_int(&cells, row, 0);
            uint32_t name;
            fine = job_text(&name, &j->texts, &cells, row, 1) &&
                   add_sample(s, rank == HD_NO_NUMBER ? (int64_t)m : rank, name, 1, HD_NONE);
        }
        job_cells_deinit(&cells);
    }
    return fine && merge_samples(s->list, &s->count, true, &j->texts) ? HD_OK : HD_NOMEM(err);
}

/* false: no memory. */
static bool count_stepped(size_t *out, const samples *s)
{
    gpu_groups ranks = {.key_size = sizeof(int64_t)};
    bool fine = true;
    for (size_t i = 0; i < s->count && fine; i++) fine = gpu_group(&ranks, &s->list[i].rank) != HD_NONE;
    *out = ranks.count;
    gpu_groups_deinit(&ranks);
    return fine;
}

static hd_status find_equal_steps(job *j, hd_error *err)
{
    samples s = {0};
    hd_status status = count_steps(&s, j, err);
    for (size_t i = 0; i < s.count; i++)
        if (s.list[i].name >= j->named) j->named = (size_t)s.list[i].name + 1;
    j->is_equal = calloc(j->named + 1, 1);
    if (status == HD_OK && !(j->is_equal && count_stepped(&j->stepped, &s))) status = HD_NOMEM(err);
    for (size_t i = 0, end; status == HD_OK && i < s.count; i = end) {
        bool is_equal = true;
        for (end = i + 1; end < s.count && s.list[end].name == s.list[i].name; end++)
            is_equal &= s.list[end].value == s.list[i].value;
        is_equal &= end - i == j->stepped;
        j->is_equal[s.list[i].name] = is_equal;
        if (!is_equal && !j->unequal++)
            j->first_unequal = (sample){.name = s.list[i].name, .value = (int64_t)(end - i)};
        j->equal += is_equal;
    }
    free(s.list);
    return status;
}

/* Whether a rank's data in a step is compared; HD_NONE: in no step. If no step is common to all, each counts. */
static bool is_compared(const job *j, uint32_t step)
{
    if (!j->stepped) return true;
    return step != HD_NONE && (!j->equal || (step < j->named && j->is_equal[step]));
}

/* ---- tables of members ---- */

/* Columns of a table, each a name of its own, which rest on `figures`. sums: of steps. */
static hd_status add_columns(samples *s, job *j, const char *table, const char *const *columns,
                             const char *const *names, hd_value_type type, bool sums, unsigned figures, hd_error *err)
{
    enum { RANK, STEP, FIRST };
    job_wanted wanted[8] = {{"rank", HD_VALUE_INT}, {"step", HD_VALUE_STRING}};
    uint32_t texts[8], step;
    uint32_t *doubts;
    int count = FIRST;
    hd_status status = job_doubts_of_members(&doubts, &j->texts, j->of, figures, err);
    bool fine = true;
    for (; columns[count - FIRST]; count++) {
        wanted[count] = (job_wanted){columns[count - FIRST], type};
        texts[count] = gpu_text(&j->texts, names[count - FIRST], strlen(names[count - FIRST]));
        fine &= texts[count] != HD_NONE;
    }
    for (size_t m = 0; status == HD_OK && fine && m < hd_job_count(j->of); m++) {
        job_cells cells;
        size_t before = s->count, own;
        status = job_cells_of(&cells, j->of, m, table, wanted, (size_t)count, j->lost, err);
        if (status != HD_OK) break;
        for (size_t row = 0; row < cells.rows && fine; row++) {
            int64_t rank = job_int(&cells, row, RANK);
            fine = job_text(&step, &j->texts, &cells, row, STEP);
            for (int c = FIRST; c < count && fine && (!sums || is_compared(j, step)); c++)
                fine = add_sample(s, rank == HD_NO_NUMBER ? (int64_t)m : rank, texts[c], job_int(&cells, row, c),
                                  doubts[m]);
        }
        job_cells_deinit(&cells);
        own = s->count - before;
        fine = fine && (!own || merge_samples(s->list + before, &own, sums, &j->texts));
        s->count = before + own;
    }
    free(doubts);
    return fine ? status : HD_NOMEM(err);
}

/* Names and totals of a table, which rest on `figures`. */
static hd_status add_names(samples *s, job *j, const char *table, unsigned figures, hd_error *err)
{
    enum { RANK, NAME, TOTAL, COLUMNS };
    static const job_wanted wanted[COLUMNS] = {
        {"rank", HD_VALUE_INT}, {"name", HD_VALUE_STRING}, {"total", HD_VALUE_DURATION}};
    uint32_t *doubts;
    hd_status status = job_doubts_of_members(&doubts, &j->texts, j->of, figures, err);
    bool fine = true;
    for (size_t m = 0; status == HD_OK && fine && m < hd_job_count(j->of); m++) {
        job_cells cells;
        status = job_cells_of(&cells, j->of, m, table, wanted, COLUMNS, j->lost, err);
        if (status != HD_OK) break;
        for (size_t row = 0; fine && row < cells.rows; row++) {
            int64_t rank = job_int(&cells, row, RANK);
            uint32_t name;
            fine =
                job_text(&name, &j->texts, &cells, row, NAME) &&
                add_sample(s, rank == HD_NO_NUMBER ? (int64_t)m : rank, name, job_int(&cells, row, TOTAL), doubts[m]);
        }
        job_cells_deinit(&cells);
    }
    free(doubts);
    return fine ? status : HD_NOMEM(err);
}

/* ---- notes ---- */

static void add_note_of_steps(hd_table_builder *b, const job *j)
{
    char text[400];
    hd_string name = gpu_text_of(&j->texts, j->first_unequal.name);
    int size = name.size < 120 ? (int)name.size : 120;
    if (!j->unequal) return;
    if (!j->equal)
        snprintf(text, sizeof text,
                 "no step is one that all %zu ranks have, as often: their parts are those of different steps",
                 j->stepped);
    else
        snprintf(text, sizeof text,
                 "parts are of the %zu step%s that all %zu ranks have; left out: %zu, such as %.*s, which %" PRId64
                 " of them have. Kernels and operators are of all that each rank recorded",
                 j->equal, j->equal == 1 ? "" : "s", j->stepped, j->unequal, size, name.data ? name.data : "",
                 j->first_unequal.value);
    hd_table_add_text(b, text);
}

/* Ranks whose file has GPU activities and no step, while others have steps. */
static void add_note_of_stepless(hd_table_builder *b, const job *j, size_t members)
{
    char text[160];
    if (!j->stepped || !members) return;
    snprintf(text, sizeof text,
             "%zu file%s GPU activities in no step, though others have steps: none of them is compared", members,
             members == 1 ? " has" : "s have");
    hd_table_add_text(b, text);
}

/* A file without ranks may hold several processes, which are not one rank. */
static hd_status add_notes(hd_report *out, job *j, hd_error *err)
{
    static const job_wanted wanted[] = {{"rank", HD_VALUE_INT}, {"device", HD_VALUE_INT}, {"step", HD_VALUE_STRING}};
    hd_table_builder *b;
    size_t stepless = 0;
    HD_TRY(report_builder(&b, &report_imbalance_about, "notes", err));
    add_note_of_steps(b, j);
    hd_status status = HD_OK;
    for (size_t m = 0; m < hd_job_count(j->of) && status == HD_OK; m++) {
        job_cells cells;
        bool several = false, has_step = false;
        status = job_cells_of(&cells, j->of, m, "breakdown", wanted, 3, NULL, err);
        for (size_t row = 0; status == HD_OK && row < cells.rows; row++) {
            several |= job_int(&cells, row, 0) == HD_NO_NUMBER && job_int(&cells, row, 1) != job_int(&cells, 0, 1);
            has_step |= job_int(&cells, row, 2) != HD_NO_NUMBER;
        }
        stepless += cells.rows && !has_step;
        job_cells_deinit(&cells);
        if (!several) continue;
        char text[256];
        hd_string file = hd_job_at(j->of, m)->file;
        snprintf(text, sizeof text,
                 "%.*s has no rank numbers and several devices: their times are added up as if one rank had them all",
                 file.size < 120 ? (int)file.size : 120, file.data ? file.data : "");
        hd_table_add_text(b, *text == ' ' ? text + 1 : text);
    }
    add_note_of_stepless(b, j, stepless);
    if (status == HD_OK) return report_add(out, b, err);
    hd_table_builder_free(b);
    return status;
}

/* ---- rows ---- */

/* Bytes are counts. */
static void add_value(hd_table_builder *b, bool is_bytes, int64_t value)
{
    if (is_bytes)
        hd_table_add_count(b, value > 0 ? (uint64_t)value : 0);
    else
        hd_table_add_int(b, value);
}

/* Samples of one name, a rank once, in order of ranks. */
static bool add_row(hd_table_builder *b, job *j, const sample *s, size_t count, bool is_bytes)
{
    double middle, spread, sum = 0, squares = 0, *values = malloc((count + 1) * sizeof *values);
    size_t low = 0, high = 0;
    uint32_t doubt = HD_NONE;
    if (!values) return false;
    for (size_t i = 0; i < count; i++) {
        values[i] = (double)s[i].value;
        sum += values[i];
        if (s[i].value < s[low].value) low = i;
        if (s[i].value > s[high].value) high = i;
    }
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
    bool fine = job_spread(&middle, &spread, values, count);
    for (size_t i = 0; i < count && fine; i++) fine = job_add_doubt(&doubt, &j->texts, s[i].doubt);
    free(values);
    gpu_cell_text(b, &j->texts, s->name);
    hd_table_add_count(b, count);
    add_value(b, is_bytes, gpu_round(mean));
    add_value(b, is_bytes, gpu_round(middle));
    add_value(b, is_bytes, s[low].value);
    hd_table_add_int(b, s[low].rank);
    add_value(b, is_bytes, s[high].value);
    hd_table_add_int(b, s[high].rank);
    gpu_cell_decimal(b, 100 * ((double)s[high].value - mean) / mean, mean > 0);
    gpu_cell_decimal(b, 100 * sqrt(squares / (double)(count - 1)) / mean, mean > 0 && count > 1);
    gpu_cell_decimal(b, ((double)s[high].value - middle) / spread, spread > 0);
    add_value(b, is_bytes, gpu_round((double)s[high].value - mean));
    gpu_cell_text(b, &j->texts, doubt);
    return fine;
}

static hd_status add_table(hd_report *out, job *j, const char *table, samples *s, bool sums, hd_error *err)
{
    hd_table_builder *b = NULL;
    hd_status status = report_builder(&b, &report_imbalance_about, table, err);
    bool fine = status == HD_OK && merge_samples(s->list, &s->count, sums, &j->texts);
    for (size_t i = 0, end; fine && i < s->count; i = end) {
        for (end = i + 1; end < s->count && s->list[end].name == s->list[i].name;) end++;
        fine = add_row(b, j, s->list + i, end - i, !sums);
    }
    if (fine && hd_table_sort(b, NULL, "cost") == HD_OK) return report_add(out, b, err);
    hd_table_builder_free(b);
    return status == HD_OK ? HD_NOMEM(err) : status;
}

/* A row per rank: its samples, each part once; they are sorted by rank after that. */
static hd_status add_ranks(hd_report *out, job *j, samples *s, const char *const names[PARTS], hd_error *err)
{
    hd_table_builder *b = NULL;
    hd_status status = report_builder(&b, &report_imbalance_about, "ranks", err);
    sample *spare = malloc((s->count + 1) * sizeof *spare);
    bool fine = status == HD_OK && spare;
    uint32_t parts[PARTS];
    for (size_t p = 0; p < PARTS && fine; p++)
        fine = (parts[p] = gpu_text(&j->texts, names[p], strlen(names[p]))) != HD_NONE;
    if (fine && s->count) HD_SORT_RUNS(s->list, spare, s->count, x, y, x->rank < y->rank);
    for (size_t i = 0, end; fine && i < s->count; i = end) {
        int64_t values[PARTS] = {0};
        bool has[PARTS] = {false};
        uint32_t doubt = HD_NONE;
        for (end = i; fine && end < s->count && s->list[end].rank == s->list[i].rank; end++) {
            for (size_t p = 0; p < PARTS; p++) {
                if (parts[p] != s->list[end].name) continue;
                values[p] = s->list[end].value;
                has[p] = true;
            }
            fine = job_add_doubt(&doubt, &j->texts, s->list[end].doubt);
        }
        hd_table_add_int(b, s->list[i].rank);
        for (size_t p = 0; p < PARTS; p++) gpu_cell_time(b, values[p], has[p]);
        gpu_cell_text(b, &j->texts, doubt);
    }
    free(spare);
    if (fine) return report_add(out, b, err);
    hd_table_builder_free(b);
    return status == HD_OK ? HD_NOMEM(err) : status;
}

/* ---- the report ---- */

static hd_status add_tables(hd_report *out, job *j, hd_error *err)
{
    static const char *const parts[] = {"compute", "exposed_communication", "exposed_copy",
                                        "idle",    "communication",         NULL};
    static const char *const part_names[PARTS] = {"steps",          "compute", "exposed communication",
                                                  "exposed copies", "idle",    "all communication"};
    static const char *const durations[] = {"duration", NULL};
    static const char *const peaks[] = {"peak", NULL}, *const peak_names[] = {"peak"};
    samples s = {0};
    hd_status status = find_equal_steps(j, err);
    if (status == HD_OK) status = add_columns(&s, j, "steps", durations, part_names, HD_VALUE_DURATION, true, 0, err);
    if (status == HD_OK)
        status = add_columns(&s, j, "breakdown", parts, part_names + 1, HD_VALUE_DURATION, true,
                             GPU_FIGURE_TIME | GPU_FIGURE_IDLE, err);
    if (status == HD_OK) status = add_table(out, j, "imbalance", &s, true, err);
    if (status == HD_OK) status = add_ranks(out, j, &s, part_names, err);
    s.count = 0;
    if (status == HD_OK) status = add_names(&s, j, "kernels", GPU_FIGURE_TIME, err);
    if (status == HD_OK) status = add_table(out, j, "kernels", &s, true, err);
    s.count = 0;
    if (status == HD_OK) status = add_names(&s, j, "operators", 0, err);
    if (status == HD_OK) status = add_table(out, j, "operators", &s, true, err);
    s.count = 0;
    if (status == HD_OK) status = add_columns(&s, j, "memory", peaks, peak_names, HD_VALUE_BYTES, false, 0, err);
    if (status == HD_OK) status = add_table(out, j, "memory", &s, false, err);
    free(s.list);
    return status;
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    job j = {0};
    (void)options;
    j.of = input->job;
    hd_status status = report_builder(&j.lost, &report_imbalance_about, "lost", err);
    if (status == HD_OK) status = add_tables(out, &j, err);
    if (status == HD_OK) status = add_notes(out, &j, err);
    if (status == HD_OK) {
        status = report_add(out, j.lost, err);
        j.lost = NULL;
    }
    hd_table_builder_free(j.lost);
    gpu_texts_deinit(&j.texts);
    free(j.is_equal);
    return status;
}

#define SPREAD(type)                                                                                                   \
    {"ranks", HD_VALUE_COUNT, "ranks that have it"}, {"mean", type, "of these"}, {"median", type, "of these"},         \
        {"min", type, "the smallest value"},                                                                           \
        {"min_rank", HD_VALUE_INT, "rank with the minimum; of several the lowest"},                                    \
        {"max", type, "the largest value"},                                                                            \
        {"max_rank", HD_VALUE_INT, "rank with the maximum; of several the lowest"},                                    \
        {"imbalance_percent", HD_VALUE_DECIMAL, "(max - mean) / mean"},                                                \
        {"variation_percent", HD_VALUE_DECIMAL, "standard deviation / mean, of a sample (n - 1); null: of one rank"},  \
        {"z", HD_VALUE_DECIMAL, "(max - median) / (1.4826 MAD); above 3 it stands out; null: MAD is 0"},               \
        {"cost", type, "max - mean: what an even share would save, if all wait for the last"}, GPU_COLUMN_DOUBT,       \
    {                                                                                                                  \
        0                                                                                                              \
    }
static const hd_report_column part_columns[] = {
    {"what", HD_VALUE_STRING, "of the steps that all ranks have: their time, and parts of it as of report breakdown"},
    SPREAD(HD_VALUE_DURATION)};
static const hd_report_column rank_columns[] = {
    {"rank", HD_VALUE_INT, "where the trace does not state it: the position of its file, from 0"},
    {"steps", HD_VALUE_DURATION, "time of the steps that all ranks have; null here and below: the rank has none of it"},
    {"compute", HD_VALUE_DURATION, "as of report breakdown, in these steps, summed over its devices"},
    {"exposed_communication", HD_VALUE_DURATION, "likewise; it includes waiting for other ranks"},
    {"exposed_copies", HD_VALUE_DURATION, "likewise"},
    {"idle", HD_VALUE_DURATION, "likewise"},
    {"communication", HD_VALUE_DURATION, "likewise: exposed or not"},
    GPU_COLUMN_DOUBT,
    {0}};
static const hd_report_column name_columns[] = {{"name", HD_VALUE_STRING, "in full"}, SPREAD(HD_VALUE_DURATION)};
static const hd_report_column memory_columns[] = {{"what", HD_VALUE_STRING, "peak: of what was allocated on a device"},
                                                  SPREAD(HD_VALUE_BYTES)};
static const hd_report_column lost_columns[] = {JOB_COLUMNS_LOST};

static const hd_report_table_about tables[] = {
    {.name = "imbalance",
     .meaning = "a row per part of the steps: how unevenly ranks have it, the costliest first",
     .columns = part_columns,
     .chart = HD_CHART_BARS,
     .chart_label = "what",
     .chart_values = "cost"},
    {.name = "ranks", .meaning = "a row per rank: its steps and their parts", .columns = rank_columns},
    {.name = "kernels", .meaning = "a row per kernel: its time on each rank", .columns = name_columns},
    {.name = "operators", .meaning = "a row per operator: its time on each rank", .columns = name_columns},
    {.name = "memory", .meaning = "the peak of each rank", .columns = memory_columns},
    {.name = "notes", .meaning = "what makes ranks hard to compare", .columns = gpu_notes_columns},
    {.name = "lost", .meaning = "what of the summaries cannot be read", .columns = lost_columns},
    {0},
};

const hd_report_about report_imbalance_about = {
    .name = "imbalance",
    .title = "how unevenly the ranks of a job share its time and memory",
    .text = "Sums up the time of each rank by part of its steps, by kernel and by operator, and compares ranks. A "
            "rank with more compute waits less in communication, so read the two together: waiting in communication "
            "is caused by other ranks. Ranks with different roles, such as pipeline stages, differ by nature.",
    .of_job = true,
    .says_trust = true,
    .tables = tables,
    .run = run,
};
