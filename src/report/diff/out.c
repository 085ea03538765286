/* out.c - a diff as JSON, CSV and Markdown, and as a file */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/io/output.h"
#include "base/json/write.h"
#include "heddle/names.h"
#include "report/diff/diff.h"
#include "report/diff/result.h"

/* ---- cells as JSON ---- */

static void put_key(hd_json_out *out, const char *key, bool is_first)
{
    hd_json_put_text(out, is_first ? "\"" : ", \"");
    hd_json_put_text(out, key);
    hd_json_put_text(out, "\": ");
}

/* A number with a point as tables write it. */
static void put_decimal(hd_json_out *out, double value)
{
    bool is_below = value < 0;
    double size = is_below ? -value : value;
    if (!(size < 9e12)) {
        hd_json_put_text(out, "null");
        return;
    }
    int64_t whole = (int64_t)(size * 1e6 + 0.5);
    hd_json_put_decimal(out, is_below ? -whole : whole, 6);
}

static void put_cell(hd_json_out *out, const hd_table *table, size_t row, const char *name)
{
    size_t column = hd_table_find_column(table, name), size;
    if (column == SIZE_MAX || row >= hd_table_row_count(table) || hd_table_is_null(table, row, column)) {
        hd_json_put_text(out, "null");
        return;
    }
    hd_value_type type = hd_table_get_column(table, column)->type;
    if (type == HD_VALUE_STRING) {
        const char *text = hd_table_get_string(&size, table, row, column);
        hd_json_put_string(out, text, size);
    } else if (type == HD_VALUE_DECIMAL) {
        put_decimal(out, hd_table_get_decimal(table, row, column));
    } else if (type == HD_VALUE_COUNT) {
        hd_json_put_int(out, (int64_t)hd_table_get_count(table, row, column));
    } else {
        hd_json_put_int(out, hd_table_get_int(table, row, column));
    }
}

/* Keys and the columns that they are of, in pairs; ends with NULL. */
static void put_members(hd_json_out *out, const hd_table *table, size_t row, const char *const *members)
{
    for (size_t i = 0; members[i]; i += 2) {
        put_key(out, members[i], i == 0);
        put_cell(out, table, row, members[i + 1]);
    }
}

static void put_table(hd_json_out *out, const hd_diff *diff, const char *key, const char *name,
                      const char *const *members)
{
    const hd_table *table = hd_diff_table(diff, name);
    hd_json_put_text(out, ",\n  \"");
    hd_json_put_text(out, key);
    hd_json_put_text(out, "\": [");
    for (size_t row = 0; row < hd_table_row_count(table); row++) {
        hd_json_put_text(out, row ? ",\n    {" : "\n    {");
        put_members(out, table, row, members);
        hd_json_put_text(out, "}");
    }
    hd_json_put_text(out, hd_table_row_count(table) ? "\n  ]" : "]");
}

static void put_side(hd_json_out *out, const hd_diff *diff, size_t side)
{
    const hd_table *table = hd_diff_table(diff, "sides");
    static const char *const members[] = {"steps", "steps", "dropped_steps", "dropped", "runs", "runs", NULL};
    hd_json_put_text(out, side ? ",\n  \"after\": {" : ",\n  \"before\": {");
    hd_json_put_text(out, "\"files\": [");
    for (size_t i = 0; i < diff->path_counts[side]; i++) {
        if (i) hd_json_put_text(out, ", ");
        hd_json_put_string(out, diff->paths[side][i], strlen(diff->paths[side][i]));
    }
    hd_json_put_text(out, "], ");
    put_members(out, table, side, members);
    hd_json_put_text(out, "}");
}

static void put_reasons(hd_json_out *out, const hd_diff *diff)
{
    const hd_table *table = hd_diff_table(diff, "reasons");
    hd_json_put_text(out, ",\n  \"reasons\": [");
    for (size_t row = 0; row < hd_table_row_count(table); row++) {
        if (row) hd_json_put_text(out, ", ");
        put_cell(out, table, row, "reason");
    }
    hd_json_put_text(out, "]");
}

static void put_step(hd_json_out *out, const hd_diff *diff)
{
    static const char *const members[] = {
        "before_ns",      "before",      "after_ns", "after",   "change_ns", "change",          "change_share",
        "share",          "low_ns",      "low",      "high_ns", "high",      "before_total_ns", "before_total",
        "after_total_ns", "after_total", "verdict",  "verdict", NULL};
    const hd_table *sides = hd_diff_table(diff, "sides");
    hd_json_put_text(out, ",\n  \"step\": {");
    put_members(out, hd_diff_table(diff, "step"), 0, members);
    for (size_t side = 0; side < 2; side++) {
        put_key(out, side ? "after_spread_ns" : "before_spread_ns", false);
        put_cell(out, sides, side, "spread");
    }
    hd_json_put_text(out, "}");
}

static void put_json(hd_json_out *out, const hd_diff *diff)
{
    static const char *const differs[] = {"what", "what", "before", "before", "after", "after", NULL};
    static const char *const parts[] = {"part",           "part",        "before_ns", "before",          "after_ns",
                                        "after",          "change_ns",   "change",    "before_total_ns", "before_total",
                                        "after_total_ns", "after_total", NULL};
    static const char *const groups[] = {"group",
                                         "group",
                                         "before_ns",
                                         "before",
                                         "after_ns",
                                         "after",
                                         "change_ns",
                                         "change",
                                         "low_ns",
                                         "low",
                                         "high_ns",
                                         "high",
                                         "calls_before",
                                         "calls_before",
                                         "calls_after",
                                         "calls_after",
                                         "before_total_ns",
                                         "before_total",
                                         "after_total_ns",
                                         "after_total",
                                         "verdict",
                                         "verdict",
                                         NULL};
    static const char *const rows[] = {"kind",
                                       "kind",
                                       "name",
                                       "name",
                                       "name_after",
                                       "name_after",
                                       "within",
                                       "within",
                                       "matched",
                                       "matched",
                                       "before_ns",
                                       "before",
                                       "after_ns",
                                       "after",
                                       "change_ns",
                                       "change",
                                       "low_ns",
                                       "low",
                                       "high_ns",
                                       "high",
                                       "calls_before",
                                       "calls_before",
                                       "calls_after",
                                       "calls_after",
                                       "n_before",
                                       "n_before",
                                       "n_after",
                                       "n_after",
                                       "per_call_before_ns",
                                       "per_call_before",
                                       "per_call_after_ns",
                                       "per_call_after",
                                       "cpu_before_ns",
                                       "cpu_before",
                                       "cpu_after_ns",
                                       "cpu_after",
                                       "verdict",
                                       "verdict",
                                       NULL};
    static const char *const figures[] = {"what",
                                          "what",
                                          "unit",
                                          "unit",
                                          "before",
                                          "before",
                                          "after",
                                          "after",
                                          "change",
                                          "change",
                                          "coverage_before",
                                          "coverage_before",
                                          "coverage_after",
                                          "coverage_after",
                                          "note",
                                          "note",
                                          NULL};
    static const char *const gate[] = {"condition", "condition", "verdict", "verdict", "text", "text", NULL};
    const char *verdict = diff_verdict_names[diff->verdict];
    hd_json_put_text(out, "{\n  \"schema\": \"heddle.diff/1\",\n  \"verdict\": ");
    hd_json_put_string(out, verdict, strlen(verdict));
    hd_json_put_text(out, ",\n  \"sentence\": ");
    hd_json_put_string(out, diff->sentence, strlen(diff->sentence));
    put_reasons(out, diff);
    put_table(out, diff, "differs", "differs", differs);
    put_side(out, diff, 0);
    put_side(out, diff, 1);
    put_step(out, diff);
    hd_json_put_text(out, ",\n  \"parts_of\": \"mean step\"");
    put_table(out, diff, "parts", "parts", parts);
    if (hd_diff_table(diff, "groups")) put_table(out, diff, "groups", "groups", groups);
    put_table(out, diff, "counts", "counts", differs);
    put_table(out, diff, "figures", "figures", figures);
    put_table(out, diff, "rows", "rows", rows);
    put_table(out, diff, "gate", "gate", gate);
    hd_json_put_text(out, ",\n  \"seed\": ");
    hd_json_put_int(out, (int64_t)diff->seed);
    hd_json_put_text(out, "\n}\n");
}

/* ---- Markdown ---- */

static hd_status put_text(hd_sink sink, const char *text)
{
    return sink.write(sink.user, text, strlen(text));
}

/* Names without parameters; what was matched plainly needs no word. */
static void add_narrow_cell(hd_table_builder *b, const hd_table *table, size_t row, const char *name)
{
    char out[HD_NAME_BYTES];
    size_t size = 0, column = hd_table_find_column(table, name);
    bool is_text = hd_table_get_column(table, column)->type == HD_VALUE_STRING && !hd_table_is_null(table, row, column);
    const char *text = is_text ? hd_table_get_string(&size, table, row, column) : NULL;
    if (text && strcmp(name, "matched") == 0 && size == 4 && memcmp(text, "same", size) == 0)
        hd_table_add_null(b);
    else if (text && strncmp(name, "name", 4) == 0)
        hd_table_add_string(b, out, hd_name_short(out, (hd_string){text, size}));
    else
        hd_table_add_cell(b, table, row, column);
}

static bool has_values(const hd_table *table, const char *name, size_t rows)
{
    size_t column = hd_table_find_column(table, name);
    for (size_t row = 0; row < rows; row++)
        if (!hd_table_is_null(table, row, column)) return true;
    return false;
}

enum { NARROW_COLUMNS = 10 };

/* The first rows, without columns that are null in all of them. */
static hd_status narrow(hd_table **out, const hd_table *table, const char *const *wanted, size_t rows, hd_error *err)
{
    hd_table_builder *b;
    const char *names[NARROW_COLUMNS];
    size_t count = 0;
    *out = NULL;
    HD_TRY(hd_table_builder_new(&b, hd_table_name(table), err));
    for (size_t i = 0; wanted[i]; i++) {
        const hd_table_column *column = hd_table_get_column(table, hd_table_find_column(table, wanted[i]));
        if (!has_values(table, wanted[i], rows)) continue;
        hd_table_add_column(b, names[count++] = wanted[i], column->type);
        if (column->type == HD_VALUE_DECIMAL) hd_table_set_decimals(b, column->decimals);
    }
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < count; i++) add_narrow_cell(b, table, row, names[i]);
    return hd_table_finish(out, b, err);
}

/* Tables for people: the columns that fit a screen, or a comment. */
static const struct narrow_about {
    const char *name, *title, *columns[NARROW_COLUMNS];
} narrows[] = {
    {"reasons", "Why nothing can be concluded", {"reason"}},
    {"gate", "Conditions", {"condition", "verdict", "text"}},
    {"rows",
     "What makes up the change, per step",
     {"kind", "name", "name_after", "matched", "before", "after", "change", "verdict"}},
    {"parts", "Of which the mean step is made; they add up to it", {"part", "before", "after", "change"}},
    {"groups", "GPU activities by group, per step", {"group", "before", "after", "change", "verdict"}},
    {"counts", "Counts per step", {"what", "before", "after"}},
    {"figures",
     "Figures of a step, with what they rest on",
     {"what", "unit", "before", "after", "change", "coverage_before", "coverage_after", "note"}},
    {"sides", "What was compared", {"side", "files", "steps", "dropped", "runs", "median", "spread"}},
    {"differs", "What is not the same", {"what", "before", "after"}},
};

hd_status hd_diff_narrow(hd_table **out, const hd_diff *diff, const char *name, hd_error *err)
{
    for (size_t i = 0; i < sizeof narrows / sizeof *narrows; i++) {
        const hd_table *table = hd_diff_table(diff, name);
        if (table && strcmp(narrows[i].name, name) == 0)
            return narrow(out, table, narrows[i].columns, hd_table_row_count(table), err);
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no table of a diff: %s", name);
}

enum { MARKDOWN_ROWS = 15 };

static hd_status put_markdown_table(hd_sink sink, const hd_diff *diff, const struct narrow_about *about, hd_error *err)
{
    const hd_table *table = hd_diff_table(diff, about->name);
    size_t rows = table ? hd_table_row_count(table) : 0, shown = rows < MARKDOWN_ROWS ? rows : MARKDOWN_ROWS;
    hd_table *few;
    char more[80];
    if (!rows) return HD_OK;
    HD_TRY(put_text(sink, "\n"));
    HD_TRY(put_text(sink, about->title));
    HD_TRY(put_text(sink, ":\n\n"));
    HD_TRY(narrow(&few, table, about->columns, shown, err));
    hd_status status = hd_table_write(few, sink, &(hd_table_style){.format = HD_TABLE_MARKDOWN}, err);
    hd_table_free(few);
    if (status != HD_OK || shown == rows) return status;
    snprintf(more, sizeof more, "\n%zu more rows: `heddle diff --all`\n", rows - shown);
    return put_text(sink, more);
}

static hd_status put_markdown(hd_sink sink, const hd_diff *diff, hd_error *err)
{
    HD_TRY(put_text(sink, "**"));
    HD_TRY(put_text(sink, diff->sentence));
    HD_TRY(put_text(sink, "**\n"));
    for (size_t i = 0; i < sizeof narrows / sizeof *narrows; i++)
        HD_TRY(put_markdown_table(sink, diff, &narrows[i], err));
    return HD_OK;
}

hd_status hd_diff_print(hd_sink sink, hd_diff_format format, const hd_diff *diff, hd_error *err)
{
    if (format == HD_DIFF_CSV)
        return hd_table_write(hd_diff_table(diff, "rows"), sink, &(hd_table_style){.format = HD_TABLE_CSV}, err);
    if (format == HD_DIFF_MARKDOWN) return put_markdown(sink, diff, err);
    hd_json_out out = {0};
    put_json(&out, diff);
    hd_status status = out.failed ? HD_NOMEM(err) : sink.write(sink.user, out.data, out.size);
    free(out.data);
    return status;
}

/* ---- files ---- */

static hd_status write_output(void *user, const char *data, size_t size)
{
    return hd_output_write(user, data, size, NULL);
}

static hd_status write_printed(const char *path, hd_diff_format format, const hd_diff *diff, hd_error *err)
{
    hd_output *out;
    HD_TRY(hd_output_create(&out, path, NULL, err));
    hd_status status = hd_diff_print((hd_sink){write_output, out}, format, diff, err);
    if (status == HD_OK) return hd_output_commit(out, err);
    hd_output_abort(out);
    return hd_error_set(err, status, path, HD_OFFSET_NONE, "cannot be written");
}

static hd_status write_report(const char *path, hd_report_format format, const hd_diff *diff, hd_error *err)
{
    const hd_table *sides = hd_diff_table(diff, "sides");
    size_t sizes[2], files = hd_table_find_column(sides, "files");
    const char *before = hd_table_get_string(&sizes[0], sides, 0, files),
               *after = hd_table_get_string(&sizes[1], sides, 1, files);
    hd_report report;
    char *name;
    if (asprintf(&name, "before %.*s, after %.*s", (int)(sizes[0] < 4000 ? sizes[0] : 4000), before,
                 (int)(sizes[1] < 4000 ? sizes[1] : 4000), after) < 0)
        return HD_NOMEM(err);
    hd_status status = hd_diff_report(&report, diff, err);
    const hd_report_part part = {name, &diff_about, &report, 0};
    if (status == HD_OK) status = hd_report_write(path, format, &part, 1, err);
    hd_report_free(&report);
    free(name);
    return status;
}

static hd_report_format format_of(const char *path)
{
    size_t size = strlen(path);
    hd_report_format format = hd_report_format_of(path);
    return !format && size && path[size - 1] == '/' ? HD_REPORT_CSV : format;
}

hd_status hd_diff_path_valid(const char *path, hd_error *err)
{
    hd_report_format format = format_of(path);
    if (format && format != HD_REPORT_DOT) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "what to write does not follow from '%.100s': use .html, .json, .md, .csv, .parquet or FOLDER/",
                        path);
}

hd_status hd_diff_write(const char *path, const hd_diff *diff, hd_error *err)
{
    HD_TRY(hd_diff_path_valid(path, err));
    hd_report_format format = format_of(path);
    if (format == HD_REPORT_JSON) return write_printed(path, HD_DIFF_JSON, diff, err);
    if (format == HD_REPORT_MARKDOWN) return write_printed(path, HD_DIFF_MARKDOWN, diff, err);
    return write_report(path, format, diff, err);
}
