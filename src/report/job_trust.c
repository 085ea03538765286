/* job_trust.c - the trust of a job: defects in the summaries of its traces, and contradictions between them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "report/job/cells.h"
#include "report/report.h"
#include "trace/text.h"

/* A code summed over the members that have it. Texts are those of the first. */
typedef struct doubt_sum {
    uint32_t code, level, sentence, figures;
    uint64_t count, of, members;
    int64_t ns, first_rank;
} doubt_sum;

typedef struct job_trust {
    const hd_job *job;
    gpu_texts texts;
    gpu_groups codes; /* texts */
    doubt_sum *sums;  /* by code */
    size_t capacity;
    uint64_t members; /* that have a list of defects */
} job_trust;

static hd_status see_rank(void *user, size_t place, const job_cells *cells, hd_error *err)
{
    job_trust *t = user;
    (void)place, (void)err;
    t->members += cells->rows && job_int(cells, 0, 0) != HD_NO_NUMBER;
    return HD_OK;
}

static uint64_t positive(int64_t value)
{
    return value > 0 ? (uint64_t)value : 0;
}

static hd_status see_doubts(void *user, size_t place, const job_cells *cells, hd_error *err)
{
    enum { CODE, LEVEL, COUNT, OF, NS, SENTENCE, FIGURES };
    job_trust *t = user;
    for (size_t row = 0; row < cells->rows; row++) {
        doubt_sum one = {.first_rank = hd_job_at(t->job, place)->rank, .ns = HD_NO_TIME};
        if (!job_text(&one.code, &t->texts, cells, row, CODE) || !job_text(&one.level, &t->texts, cells, row, LEVEL) ||
            !job_text(&one.sentence, &t->texts, cells, row, SENTENCE) ||
            !job_text(&one.figures, &t->texts, cells, row, FIGURES))
            return HD_NOMEM(err);
        if (one.code == HD_NONE || one.level == HD_NONE || one.sentence == HD_NONE) continue;
        uint32_t known = t->codes.count, code = gpu_group(&t->codes, &one.code);
        if (code == HD_NONE || !hd_grow((void **)&t->sums, &t->capacity, code, sizeof *t->sums)) return HD_NOMEM(err);
        if (code == known) t->sums[code] = one;
        doubt_sum *sum = &t->sums[code];
        int64_t ns = job_int(cells, row, NS);
        sum->count += positive(job_int(cells, row, COUNT));
        sum->of += positive(job_int(cells, row, OF));
        if (ns != HD_NO_TIME && (sum->ns == HD_NO_TIME || llabs(ns) > llabs(sum->ns))) sum->ns = ns;
        sum->members++;
    }
    return HD_OK;
}

/* ---- of each member ---- */

typedef struct member_doubts {
    gpu_texts *texts;
    uint32_t *of_member;
    unsigned figures;         /* that are wanted */
    char all[GPU_DOUBT_TEXT]; /* names of all figures */
} member_doubts;

/* Whether a defect affects the requested figures; a defect that concerns all affects any. */
static bool concerns(const member_doubts *d, hd_string figures)
{
    bool any = hd_string_is(figures, d->all);
    for (unsigned one = 1; one && one <= d->figures && !any; one <<= 1) {
        char name[GPU_DOUBT_TEXT];
        gpu_figure_names(name, one);
        any = d->figures & one && memmem(figures.data, figures.size, name, strlen(name)) != NULL;
    }
    return any;
}

static hd_status list_codes(void *user, size_t place, const job_cells *cells, hd_error *err)
{
    enum { CODE, LEVEL, FIGURES };
    member_doubts *d = user;
    char list[GPU_DOUBT_TEXT];
    size_t used = 0;
    for (size_t row = 0; row < cells->rows; row++) {
        hd_string texts[FIGURES + 1];
        bool known = true;
        for (int i = CODE; i <= FIGURES; i++) {
            int64_t at = job_int(cells, row, i);
            known = known && at != HD_NO_NUMBER;
            if (known) texts[i] = (hd_string){cells->packed.texts[at].data, cells->packed.texts[at].size};
        }
        if (!known || hd_string_is(texts[LEVEL], "note") || used + texts[CODE].size + 3 > sizeof list ||
            !concerns(d, texts[FIGURES]))
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", used ? ", " : "", (int)texts[CODE].size,
                                 texts[CODE].data);
    }
    if (!used) return HD_OK;
    d->of_member[place] = gpu_text(d->texts, list, used);
    return d->of_member[place] == HD_NONE ? HD_NOMEM(err) : HD_OK;
}

hd_status job_doubts_of_members(uint32_t **out, gpu_texts *texts, const hd_job *job, unsigned figures, hd_error *err)
{
    static const job_wanted wanted[] = {
        {"code", HD_VALUE_STRING}, {"level", HD_VALUE_STRING}, {"figures", HD_VALUE_STRING}};
    size_t count = hd_job_count(job);
    member_doubts d = {.texts = texts, .of_member = *out = malloc((count + 1) * sizeof **out), .figures = figures};
    if (!d.of_member) return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) d.of_member[i] = HD_NONE;
    gpu_figure_names(d.all, ~0U);
    return job_each_table(&job, 1, NULL, "trust", wanted, sizeof wanted / sizeof *wanted, NULL, list_codes, &d, err);
}

bool job_add_doubt(uint32_t *doubts, gpu_texts *texts, uint32_t more)
{
    if (more == HD_NONE || more == *doubts) return true;
    if (*doubts == HD_NONE) return (*doubts = more, true);
    char list[GPU_DOUBT_TEXT];
    hd_string have = gpu_text_of(texts, *doubts), other = gpu_text_of(texts, more);
    size_t used = (size_t)snprintf(list, sizeof list, "%.*s", (int)have.size, have.data), before = used;
    for (size_t at = 0, end; at < other.size; at = end + 2) {
        const char *comma = memmem(other.data + at, other.size - at, ", ", 2);
        end = comma ? (size_t)(comma - other.data) : other.size;
        if (memmem(list, used, other.data + at, end - at) || used + (end - at) + 3 > sizeof list) continue;
        used += (size_t)snprintf(list + used, sizeof list - used, ", %.*s", (int)(end - at), other.data + at);
    }
    if (used > before) *doubts = gpu_text(texts, list, used);
    return *doubts != HD_NONE;
}

bool job_doubt_of_rank(uint32_t *out, gpu_texts *texts, const uint32_t *doubts, const hd_job *job, int64_t rank)
{
    size_t first = job_place_of_rank(job, rank);
    bool fine = true;
    *out = HD_NONE;
    for (size_t i = first; fine && i < hd_job_count(job) && hd_job_at(job, i)->rank == hd_job_at(job, first)->rank &&
                           (i == first || hd_job_at(job, i)->rank != HD_NO_NUMBER);
         i++)
        fine = job_add_doubt(out, texts, doubts[i]);
    return fine;
}

/* ---- as a report has it ---- */

static void put_sentence(char *out, size_t size, const job_trust *t, const doubt_sum *sum)
{
    char rank[40] = "of an unknown rank";
    hd_string text = gpu_text_of(&t->texts, sum->sentence);
    int cut = text.size < GPU_DOUBT_TEXT ? (int)text.size : GPU_DOUBT_TEXT;
    if (sum->first_rank != HD_NO_NUMBER) snprintf(rank, sizeof rank, "rank %lld", (long long)sum->first_rank);
    if (sum->members == 1)
        snprintf(out, size, "%s: %.*s", rank, cut, text.data);
    else
        snprintf(out, size, "%llu of %zu traces, the first of %s: %.*s", (unsigned long long)sum->members,
                 hd_job_count(t->job), rank, cut, text.data);
}

typedef struct trust_table {
    hd_table_builder *rows;
    char text[HD_REPORT_TRUST_BYTES];
    size_t count;
} trust_table;

static int rank_of_level(hd_string level)
{
    return hd_string_is(level, "error") ? 2 : hd_string_is(level, "warning") ? 1 : 0;
}

/* A row, and the sentence of the worst so far. */
static void add_row(trust_table *table, int *worst, hd_string code, hd_string level, const doubt_sum *sum,
                    const char *sentence, hd_string figures)
{
    hd_table_builder *b = table->rows;
    hd_table_add_string(b, code.data, code.size);
    hd_table_add_string(b, level.data, level.size);
    hd_table_add_count(b, sum->count);
    if (sum->of)
        hd_table_add_count(b, sum->of);
    else
        hd_table_add_null(b);
    report_cell_int(b, sum->ns);
    hd_table_add_text(b, sentence);
    hd_table_add_string(b, figures.data ? figures.data : "", figures.size);
    hd_table_add_null(b); /* start and id are those of one trace */
    hd_table_add_null(b);
    table->count++;
    if (rank_of_level(level) <= *worst) return;
    *worst = rank_of_level(level);
    snprintf(table->text, sizeof table->text, "%.*s", HD_REPORT_TRUST_BYTES - 1, sentence);
}

static hd_string words(const char *text)
{
    return (hd_string){text, strlen(text)};
}

static void put_nothing(char *out, const job_trust *t)
{
    size_t count = hd_job_count(t->job);
    if (t->members == count)
        snprintf(out, HD_REPORT_TRUST_BYTES, "nothing missing or impossible found in %zu trace%s", count,
                 count == 1 ? "" : "s");
    else
        snprintf(
            out, HD_REPORT_TRUST_BYTES,
            "nothing missing or impossible found in %llu of %zu traces; the summaries of the others are of an older "
            "version, which did not look",
            (unsigned long long)t->members, count);
}

static hd_status make_table(hd_report *report, const job_trust *t, const hd_misfit *misfits, size_t count,
                            hd_error *err)
{
    trust_table table = {0};
    int worst = -1;
    HD_TRY(hd_table_builder_new(&table.rows, "trust", err));
    for (const hd_report_column *c = report_trust_columns; c->name; c++)
        hd_table_add_column(table.rows, c->name, c->type);
    for (size_t i = 0; i < count; i++)
        add_row(&table, &worst, words(misfits[i].code), words("warning"),
                &(doubt_sum){.count = misfits[i].count, .ns = HD_NO_TIME}, misfits[i].text,
                words("what compares ranks"));
    for (uint32_t i = 0; i < t->codes.count; i++) {
        char sentence[2 * GPU_DOUBT_TEXT];
        const doubt_sum *sum = &t->sums[i];
        put_sentence(sentence, sizeof sentence, t, sum);
        add_row(&table, &worst, gpu_text_of(&t->texts, sum->code), gpu_text_of(&t->texts, sum->level), sum, sentence,
                sum->figures == HD_NONE ? words("") : gpu_text_of(&t->texts, sum->figures));
    }
    if (!table.count) put_nothing(table.text, t);
    char more[32] = "";
    size_t used = strlen(table.text);
    if (table.count > 1) snprintf(more, sizeof more, "; %zu more", table.count - 1);
    snprintf(report->trust_text, sizeof report->trust_text, "%.*s%s",
             (int)(used + strlen(more) < HD_REPORT_TRUST_BYTES ? used : HD_REPORT_TRUST_BYTES - 1 - strlen(more)),
             table.text, more);
    return hd_table_finish(&report->trust, table.rows, err);
}

hd_status job_set_trust(hd_report *report, const hd_job *job, hd_error *err)
{
    static const job_wanted of_rank[] = {{"trust", HD_VALUE_STRING}};
    static const job_wanted of_doubt[] = {
        {"code", HD_VALUE_STRING}, {"level", HD_VALUE_STRING},    {"count", HD_VALUE_COUNT},   {"of", HD_VALUE_COUNT},
        {"ns", HD_VALUE_DURATION}, {"sentence", HD_VALUE_STRING}, {"figures", HD_VALUE_STRING}};
    job_trust t = {.job = job, .codes.key_size = sizeof(uint32_t)};
    hd_misfit *misfits;
    size_t count;
    HD_TRY(hd_job_misfits(&misfits, &count, job, HD_MISFIT_RANKS, err));
    hd_status status = job_each_table(&job, 1, NULL, "rank", of_rank, 1, NULL, see_rank, &t, err);
    if (status == HD_OK)
        status = job_each_table(&job, 1, NULL, "trust", of_doubt, sizeof of_doubt / sizeof *of_doubt, NULL, see_doubts,
                                &t, err);
    if (status == HD_OK) status = make_table(report, &t, misfits, count, err);
    free(misfits);
    free(t.sums);
    gpu_groups_deinit(&t.codes);
    gpu_texts_deinit(&t.texts);
    return status;
}
