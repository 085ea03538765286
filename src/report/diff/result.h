/* result.h - the result of hd_diff_new */
#ifndef HD_REPORT_DIFF_RESULT_H
#define HD_REPORT_DIFF_RESULT_H

#include "heddle/analysis/diff.h"

enum { DIFF_TABLES = 11 };

struct hd_diff {
    hd_table *tables[DIFF_TABLES]; /* owned */
    size_t table_count;
    hd_diff_verdict verdict;
    hd_diff_gate gate;
    bool is_identical;
    uint64_t seed;
    char **paths[2]; /* owned, of the sides */
    size_t path_counts[2];
    char sentence[600], reason[400];
};

extern const char *const diff_verdict_names[];

#endif
