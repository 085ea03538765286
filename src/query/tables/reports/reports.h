/* reports.h - reports as table-valued functions: shared by reports.c and report_cache.c */
#ifndef HD_QUERY_TABLES_REPORTS_REPORTS_H
#define HD_QUERY_TABLES_REPORTS_REPORTS_H

#include "heddle/report.h"
#include "query/tables/tables.h"

/* A report of one input with one set of options. */
typedef struct report_entry {
    const hd_report_about *report;
    size_t input;
    char *options; /* "by=step\nrows=5\n" */
    hd_report result;
    unsigned users; /* cursors */
    uint64_t used;  /* when, counted in uses */
} report_entry;

struct query_reports {
    struct report_function *functions;
    size_t function_count;
    report_entry **entries;
    size_t entry_count, entry_capacity;
    uint64_t uses;
};

/* The report with these options, run if it is not in the cache; the caller gives it back. Errors: those of the
 * report. */
hd_status report_cache_take(report_entry **out, query_tables *tables, const hd_report_about *report, size_t input,
                            const char *options, hd_error *err);
void report_cache_give(report_entry *entry);
void report_cache_free(struct query_reports *reports);

#endif
