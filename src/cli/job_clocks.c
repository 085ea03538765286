/* job_clocks.c - the clocks of a job by rank, for commands that merge or join traces */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job_in.h"
#include "heddle/report.h"

typedef struct clock_rows {
    const hd_table *table;
    size_t host, rank, offset, bar, drift, at_ns, first_ns, last_ns, why;
    size_t at; /* where the search begins: members and clocks are in one order, nearly */
} clock_rows;

/* Rows of a host, or without one of the rank alone. */
static bool is_of(const clock_rows *c, size_t row, const hd_job_member *member)
{
    size_t size;
    const bool shares = member->host.data && member->base_ns != HD_NO_TIME; /* its host's */
    if (hd_table_is_null(c->table, row, c->host))
        return !shares && hd_table_get_int(c->table, row, c->rank) == member->rank;
    const char *host = hd_table_get_string(&size, c->table, row, c->host);
    return member->host.data && size == member->host.size && memcmp(host, member->host.data, size) == 0;
}

/* The rows of a member's clock, which are adjacent; *out_count 0: none. */
static size_t find_rows(size_t *out_count, clock_rows *c, const hd_job_member *member)
{
    size_t rows = hd_table_row_count(c->table), first = c->at, left = rows;
    *out_count = 0;
    for (; left && !is_of(c, first, member); left--) first = (first + 1) % rows;
    if (!left) return 0;
    while (first && is_of(c, first - 1, member)) first--;
    while (first + *out_count < rows && is_of(c, first + *out_count, member)) ++*out_count;
    return c->at = first;
}

static int64_t time_or(const clock_rows *c, size_t row, size_t column, int64_t none)
{
    return hd_table_is_null(c->table, row, column) ? none : hd_table_get_int(c->table, row, column);
}

/* false: it is not known. */
static bool read_clock(hd_convert_clock *out, const clock_rows *c, size_t row, int64_t rank)
{
    if (hd_table_is_null(c->table, row, c->offset)) return false;
    *out = (hd_convert_clock){.rank = rank,
                              .offset_ns = hd_table_get_int(c->table, row, c->offset),
                              .bar_ns = time_or(c, row, c->bar, 0),
                              .at_ns = time_or(c, row, c->at_ns, 0),
                              .first_ns = time_or(c, row, c->first_ns, INT64_MIN),
                              .last_ns = time_or(c, row, c->last_ns, INT64_MAX)};
    if (!hd_table_is_null(c->table, row, c->drift)) out->drift_ppm = hd_table_get_decimal(c->table, row, c->drift);
    return true;
}

/* Where both are known, of which the second follows, on either clock. */
static bool follows(const hd_convert_clock *before, const hd_convert_clock *clock)
{
    const int64_t last_ns = before->last_ns, first_ns = clock->first_ns;
    const double last = before->drift_ppm / 1e6 * (double)(last_ns - before->at_ns) + (double)before->offset_ns;
    const double first = clock->drift_ppm / 1e6 * (double)(first_ns - clock->at_ns) + (double)clock->offset_ns;
    return last_ns < first_ns && (double)(first_ns - last_ns) + first - last > 0;
}

static void tell_set(job_clocks *out, int64_t rank, bool fits)
{
    if (out->why) return;
    snprintf(out->text, sizeof out->text,
             "the clock of rank %" PRId64
             " was set during the run, and has no one offset: heddle clocks prints when; %s",
             rank,
             fits ? "write OTF2, which has all of them; or summarise and convert what lies on one side of it (--from, "
                    "--until), or leave out --clocks"
                  : "summarise and convert what lies on one side of it (--from, --until), or leave out --clocks");
    out->why = out->text;
}

static void tell_unknown(job_clocks *out, const clock_rows *c, size_t row, int64_t rank)
{
    size_t size;
    if (out->why || hd_table_is_null(c->table, row, c->why)) return;
    const char *why = hd_table_get_string(&size, c->table, row, c->why);
    snprintf(out->text, sizeof out->text, "the clock of rank %" PRId64 " is not known: %.*s", rank, (int)size, why);
    out->why = out->text;
}

/* All clocks of a rank, or none. */
static void add_rank(job_clocks *out, clock_rows *rows, const hd_job_member *member)
{
    size_t count, first = find_rows(&count, rows, member);
    hd_convert_clock *list = &out->list[out->count];
    bool fits = count > 0;
    for (size_t i = 0; i < count && fits; i++)
        fits = read_clock(&list[i], rows, first + i, member->rank) && (!i || follows(&list[i - 1], &list[i]));
    if (count > 1) tell_set(out, member->rank, fits);
    if (count == 1 && !fits) tell_unknown(out, rows, first, member->rank);
    if (fits) out->count += count;
}

/* A shift RANK=OFFSET for each rank with one offset, then for those whose clock was set in between. */
static bool add_shifts(job_clocks *out)
{
    for (int sets = 0; sets < 2; sets++) {
        for (size_t i = 0, end; i < out->count; i = end) {
            for (end = i + 1; end < out->count && out->list[end].rank == out->list[i].rank;) end++;
            if ((end - i > 1) != sets) continue;
            char **text = &out->shifts[out->shift_count];
            if (asprintf(text, "%" PRId64 "=%" PRId64 "ns", out->list[i].rank, out->list[i].offset_ns) < 0)
                return false;
            out->shift_count++;
        }
        if (!sets) out->plain_count = out->shift_count;
    }
    return true;
}

static bool add_clocks(job_clocks *out, const hd_job *job, const hd_table *table)
{
    clock_rows rows = {.table = table,
                       .host = hd_table_find_column(table, "host"),
                       .rank = hd_table_find_column(table, "rank"),
                       .offset = hd_table_find_column(table, "offset"),
                       .bar = hd_table_find_column(table, "bar"),
                       .drift = hd_table_find_column(table, "drift_ppm"),
                       .at_ns = hd_table_find_column(table, "at"),
                       .first_ns = hd_table_find_column(table, "first"),
                       .last_ns = hd_table_find_column(table, "last"),
                       .why = hd_table_find_column(table, "why")};
    size_t count = 0, of_one;
    for (size_t i = 0; i < hd_job_count(job); i++) {
        find_rows(&of_one, &rows, hd_job_at(job, i));
        count += of_one;
    }
    out->list = calloc(count + 1, sizeof *out->list);
    out->shifts = calloc(hd_job_count(job) + 1, sizeof *out->shifts);
    for (size_t i = 0; out->list && out->shifts && i < hd_job_count(job); i++) {
        const hd_job_member *member = hd_job_at(job, i);
        bool is_twin = i && hd_job_at(job, i - 1)->rank == member->rank;
        if (member->rank != HD_NO_NUMBER && !is_twin) add_rank(out, &rows, member);
    }
    return out->list && out->shifts && add_shifts(out);
}

hd_status job_clocks_find(job_clocks *out, cli_run *run, const char *path)
{
    const hd_read_options read = {.lazy = true};
    hd_report report = {0};
    hd_job *job;
    *out = (job_clocks){0};
    hd_status status = hd_job_new(&job, &run->err);
    if (status != HD_OK) return status;
    status = job_add(job, run, path, &read);
    if (status == HD_OK) status = hd_job_finish(job, &run->err);
    if (status == HD_OK) status = hd_report_run(&report, "clocks", &(hd_report_input){.job = job}, &run->err);
    if (status == HD_OK && !add_clocks(out, job, hd_report_table(&report, "clocks")))
        status = hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    if (status == HD_OK && !out->count)
        status = hd_error_set(&run->err, HD_ERR_FORMAT, path, HD_OFFSET_NONE,
                              "no rank has a number and a known clock; `heddle clocks` prints the reason");
    hd_report_free(&report);
    hd_job_free(job);
    return status;
}

void job_clocks_deinit(job_clocks *clocks)
{
    for (size_t i = 0; i < clocks->shift_count; i++) free(clocks->shifts[i]);
    free(clocks->shifts);
    free(clocks->list);
}
