/* maker.h - a comparison in the making: what diff.c and rows.c share */
#ifndef HD_REPORT_DIFF_MAKER_H
#define HD_REPORT_DIFF_MAKER_H

#include "report/diff/diff.h"

typedef struct diff_row diff_row;

typedef struct diff_maker {
    hd_diff *out;
    diff_units units;
    diff_aligned aligned;
    const hd_diff_side *side[2];
    double min_ns, noise;
    bool all;
    bool names_differ, are_strangers; /* pairs rest on the structure alone; which is not the same either */
    diff_change step;
    hd_table_builder *reasons;
    uint32_t reason_count;
    gpu_groups rows; /* keys of rows.c */
    double *over[2]; /* by node: its time in pairs whose operators differ */
    diff_row *list;
} diff_maker;

/* An interval without 0, and a change as large as --min and --noise say. */
bool diff_is_beyond(const diff_change *change, const diff_maker *m);
/* Finds all rows in m->aligned, judges them and sorts them: m->list, as many as m->rows.count. */
hd_status diff_rows_find(diff_maker *m, hd_error *err);
/* The rows of the table: those that are noise only with m->all. */
void diff_rows_put(hd_table_builder *out, const diff_maker *m);
/* A row for each of the user's groups: by_group.c. */
hd_status diff_groups_put(hd_table_builder *out, diff_maker *m, hd_error *err);

/* Cells. A time that is not finite, and HD_NONE, are null. */
void diff_add_ns(hd_table_builder *out, double value);
void diff_add_text(hd_table_builder *out, const gpu_texts *texts, uint32_t text);

#endif
