/* json.h - writes answers to the web UI: members of objects, tables */
#ifndef HD_VIEW_WRITE_JSON_H
#define HD_VIEW_WRITE_JSON_H

#include "base/json/write.h"
#include "heddle/report.h"

/* `"key": `, preceded by a comma unless the last output was an opening bracket. */
void view_json_key(hd_json_out *json, const char *key);
void view_json_text(hd_json_out *json, const char *key, hd_string text);
void view_json_int(hd_json_out *json, const char *key, int64_t value);
void view_json_digits(hd_json_out *json, const char *key,
                      int64_t value); /* as a text: it may have more digits than a double */
void view_json_double(hd_json_out *json, const char *key, double value); /* null for a non-number */
void view_json_bool(hd_json_out *json, const char *key, bool value);
/* The short name as `key` where it is another than the name. */
void view_json_short(hd_json_out *json, const char *key, hd_string name);
/* Which rows of a table are written, and what its times are relative to. */
typedef struct view_table_part {
    int64_t start_ns;
    const int64_t *steps; /* only rows whose `step_start` is one of these; tables without that column are whole */
    size_t step_count;    /* 0: all rows */
} view_table_part;

/* A table with its report's descriptions, at most 5,000 rows. */
void view_json_table(hd_json_out *json, const hd_table *table, const hd_report_about *of, const view_table_part *part);

#endif
