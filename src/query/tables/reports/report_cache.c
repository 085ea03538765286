/* report_cache.c - reports that were run, by their options: a join requests the same report again and again */
#include "query/tables/reports/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "heddle/analysis/diff.h"
#include "heddle/analysis/job.h"

enum { ENTRIES_MAX = 32, OPTIONS_MAX = 64 };

static void free_entry(report_entry *entry)
{
    if (!entry) return;
    hd_report_free(&entry->result);
    free(entry->options);
    free(entry);
}

/* Builds one job from all inputs. */
static hd_status make_job(hd_job **out, const query_tables *tables, hd_error *err)
{
    hd_status status = hd_job_new(out, err);
    for (size_t i = 0; i < tables->count && status == HD_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "input %zu", i);
        status = hd_job_add_trace(*out, tables->sources[i].trace, name, err);
    }
    return status == HD_OK ? hd_job_finish(*out, err) : status;
}

/* All inputs are there for its sides. */
static hd_status run_diff(hd_report *out, const query_tables *tables, const char *const *options, hd_error *err)
{
    const hd_trace **traces = malloc((tables->count + 1) * sizeof *traces);
    if (!traces) return HD_NOMEM(err);
    for (size_t i = 0; i < tables->count; i++) traces[i] = tables->sources[i].trace;
    hd_status status = hd_diff_report_run(out, traces, tables->count, options, err);
    free(traces);
    return status;
}

static hd_status run(report_entry *entry, const query_tables *tables, hd_error *err)
{
    const char *list[OPTIONS_MAX + 1] = {0};
    size_t count = 0;
    char *copy = strdup(entry->options), *rest = copy;
    hd_job *job = NULL;
    if (!copy) return HD_NOMEM(err);
    for (char *one; count < OPTIONS_MAX && (one = strsep(&rest, "\n")) != NULL;)
        if (*one) list[count++] = one;
    if (entry->report == hd_diff_report_about()) {
        hd_status compared = run_diff(&entry->result, tables, list, err);
        free(copy);
        return compared;
    }
    hd_status status = entry->report->of_job ? make_job(&job, tables, err) : HD_OK;
    const hd_report_input input = {.trace = tables->sources[entry->input].trace,
                                   .job = job,
                                   .options = list,
                                   .launches = tables->sources[entry->input].launches,
                                   .gpus = tables->query->options.gpus};
    if (status == HD_OK) status = hd_report_run(&entry->result, entry->report->name, &input, err);
    free(copy);
    hd_job_free(job);
    return status;
}

/* The place for the next entry: at the end, or the least recently used entry. */
static report_entry **place(struct query_reports *reports)
{
    size_t oldest = SIZE_MAX;
    for (size_t i = 0; i < reports->entry_count && reports->entry_count >= ENTRIES_MAX; i++) {
        bool is_older = oldest == SIZE_MAX || reports->entries[i]->used < reports->entries[oldest]->used;
        if (reports->entries[i]->users == 0 && is_older) oldest = i;
    }
    if (oldest != SIZE_MAX) {
        free_entry(reports->entries[oldest]);
        return &reports->entries[oldest];
    }
    if (!hd_grow((void **)&reports->entries, &reports->entry_capacity, reports->entry_count, sizeof *reports->entries))
        return NULL;
    return &reports->entries[reports->entry_count++];
}

hd_status report_cache_take(report_entry **out, query_tables *tables, const hd_report_about *report, size_t input,
                            const char *options, hd_error *err)
{
    struct query_reports *reports = tables->reports;
    for (size_t i = 0; i < reports->entry_count; i++) {
        report_entry *entry = reports->entries[i];
        if (entry->report != report || entry->input != input || strcmp(entry->options, options) != 0) continue;
        entry->users++;
        entry->used = ++reports->uses;
        *out = entry;
        return HD_OK;
    }
    report_entry *entry = calloc(1, sizeof *entry);
    if (!entry) return HD_NOMEM(err);
    *entry = (report_entry){.report = report, .input = input, .options = strdup(options), .users = 1};
    hd_status status = entry->options ? run(entry, tables, err) : HD_NOMEM(err);
    report_entry **slot = status == HD_OK ? place(reports) : NULL;
    if (!slot) {
        free_entry(entry);
        return status == HD_OK ? HD_NOMEM(err) : status;
    }
    entry->used = ++reports->uses;
    *slot = *out = entry;
    return HD_OK;
}

void report_cache_give(report_entry *entry)
{
    if (entry) entry->users--;
}

void report_cache_free(struct query_reports *reports)
{
    for (size_t i = 0; i < reports->entry_count; i++) free_entry(reports->entries[i]);
    free(reports->entries);
}
