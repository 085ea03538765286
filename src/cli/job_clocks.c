/* job_clocks.c - the clocks of a job by its ranks, for whoever merges or joins their traces */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job_in.h"
#include "heddle/report.h"

typedef struct clock_rows {
    const hd_table *table;
    size_t host, rank, offset, bar, drift, at_ns;
    size_t at; /* where the search begins: members and clocks are in one order, nearly */
} clock_rows;

/* Rows of a host, or without one of the rank alone. */
static bool is_of(const clock_rows *c, size_t row, const hd_job_member *member)
{
    size_t size;
    if (hd_table_is_null(c->table, row, c->host)) return hd_table_get_int(c->table, row, c->rank) == member->rank;
    const char *host = hd_table_get_string(&size, c->table, row, c->host);
    return member->host.data && size == member->host.size && memcmp(host, member->host.data, size) == 0;
}

/* false: it is not known, or a clock that was set has several. */
static bool find_clock(hd_convert_clock *out, bool *out_set, clock_rows *c, const hd_job_member *member)
{
    const hd_table *t = c->table;
    size_t rows = hd_table_row_count(t);
    for (size_t i = 0; i < rows; i++) {
        size_t row = (c->at + i) % rows;
        if (!is_of(c, row, member)) continue;
        c->at = row;
        bool is_one = !(row + 1 < rows && is_of(c, row + 1, member)) && !(row && is_of(c, row - 1, member));
        *out_set = !is_one;
        if (!is_one || hd_table_is_null(t, row, c->offset)) return false;
        *out = (hd_convert_clock){.rank = member->rank, .offset_ns = hd_table_get_int(t, row, c->offset)};
        if (!hd_table_is_null(t, row, c->bar)) out->bar_ns = hd_table_get_int(t, row, c->bar);
        if (!hd_table_is_null(t, row, c->at_ns)) out->at_ns = hd_table_get_int(t, row, c->at_ns);
        if (!hd_table_is_null(t, row, c->drift)) out->drift_ppm = hd_table_get_decimal(t, row, c->drift);
        return true;
    }
    return false;
}

static bool add_clocks(job_clocks *out, const hd_job *job, const hd_table *table)
{
    clock_rows rows = {.table = table,
                       .host = hd_table_find_column(table, "host"),
                       .rank = hd_table_find_column(table, "rank"),
                       .offset = hd_table_find_column(table, "offset"),
                       .bar = hd_table_find_column(table, "bar"),
                       .drift = hd_table_find_column(table, "drift_ppm"),
                       .at_ns = hd_table_find_column(table, "at")};
    out->list = calloc(hd_job_count(job) + 1, sizeof *out->list);
    out->shifts = calloc(hd_job_count(job) + 1, sizeof *out->shifts);
    for (size_t i = 0; out->list && out->shifts && i < hd_job_count(job); i++) {
        const hd_job_member *member = hd_job_at(job, i);
        hd_convert_clock *clock = &out->list[out->count];
        bool was_set = false;
        if (member->rank == HD_NO_NUMBER) continue;
        if (!find_clock(clock, &was_set, &rows, member)) {
            if (!was_set || out->why) continue;
            snprintf(out->text, sizeof out->text,
                     "the clock of rank %" PRId64
                     " was set during the run, and has no one offset: heddle clocks tells when; "
                     "summarise and convert what lies on one side of it (--from, --until), or leave out --clocks",
                     member->rank);
            out->why = out->text;
            continue;
        }
        char **text = &out->shifts[out->count];
        if (asprintf(text, "%" PRId64 "=%" PRId64 "ns", clock->rank, clock->offset_ns) < 0) return false;
        out->count++;
    }
    return out->list && out->shifts;
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
                              "no rank has a number and one known clock; `heddle clocks` tells why");
    hd_report_free(&report);
    hd_job_free(job);
    return status;
}

void job_clocks_deinit(job_clocks *clocks)
{
    for (size_t i = 0; i < clocks->count; i++) free(clocks->shifts[i]);
    free(clocks->shifts);
    free(clocks->list);
}
