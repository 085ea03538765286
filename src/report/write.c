/* write.c - reports as files: JSON, CSV, Markdown, Parquet; html.c is the page */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/output.h"
#include "base/json/write.h"
#include "base/text/ends.h"
#include "heddle/parquet.h"
#include "report/html/html.h"

static hd_status put(hd_sink sink, const char *text)
{
    return sink.write(sink.user, text, strlen(text));
}

/* ---- JSON ---- */

/* Of schemas of reports, in share/schemas: within it, tables and columns are only added. */
#define HD_SCHEMA_VERSION "1"

static hd_status json_head(hd_sink sink, const hd_report_part *part, hd_error *err)
{
    hd_json_out out = {0};
    hd_json_put_text(&out, "{\n  \"schema\": \"heddle.");
    hd_json_put_text(&out, part->about->name);
    hd_json_put_text(&out, "/" HD_SCHEMA_VERSION "\",\n  \"path\": ");
    hd_json_put_string(&out, part->path, strlen(part->path));
    hd_json_put_text(&out, ",\n  \"report\": ");
    hd_json_put_string(&out, part->about->name, strlen(part->about->name));
    hd_status status = out.failed ? HD_NOMEM(err) : sink.write(sink.user, out.data, out.size);
    free(out.data);
    return status;
}

static hd_status json_trust(hd_sink sink, const hd_report *report, hd_error *err)
{
    const hd_table_style style = {.format = HD_TABLE_JSON, .indent = 4};
    hd_json_out out = {0};
    hd_json_put_text(&out, ",\n  \"trust\": {\n    \"sentence\": ");
    hd_json_put_string(&out, report->trust_text, strlen(report->trust_text));
    hd_json_put_text(&out, ",\n    \"doubts\": ");
    hd_status status = out.failed ? HD_NOMEM(err) : sink.write(sink.user, out.data, out.size);
    free(out.data);
    if (status == HD_OK) status = hd_table_write(report->trust, sink, &style, err);
    return status == HD_OK ? put(sink, "\n  }") : status;
}

static hd_status json_part(hd_sink sink, const hd_report_part *part, hd_error *err)
{
    const hd_table_style style = {.format = HD_TABLE_JSON, .indent = 2};
    HD_TRY(json_head(sink, part, err));
    for (size_t i = 0; i < part->report->table_count; i++) {
        const hd_table *table = part->report->tables[i];
        HD_TRY(put(sink, ",\n  \""));
        HD_TRY(put(sink, hd_table_name(table)));
        HD_TRY(put(sink, "\": "));
        HD_TRY(hd_table_write(table, sink, &style, err));
    }
    if (part->report->trust) HD_TRY(json_trust(sink, part->report, err));
    return put(sink, "\n}");
}

static hd_status print_json(hd_sink sink, const hd_report_part *parts, size_t count, hd_error *err)
{
    if (count != 1) HD_TRY(put(sink, "["));
    for (size_t i = 0; i < count; i++) {
        if (i) HD_TRY(put(sink, ",\n"));
        HD_TRY(json_part(sink, &parts[i], err));
    }
    return put(sink, count != 1 ? "]\n" : "\n");
}

/* ---- Markdown ---- */

/* Text of a line, with Markdown and HTML escaped. */
static hd_status markdown_text(hd_sink sink, const char *text)
{
    for (; *text; text++) {
        char two[2] = {'\\', *text};
        if ((unsigned char)*text < ' ' || *text == 0x7f) two[1] = '?';
        bool special = strchr("\\`*_{}[]<>()#+-.!|&~", *text) != NULL;
        HD_TRY(sink.write(sink.user, special ? two : two + 1, special ? 2 : 1));
    }
    return HD_OK;
}

const hd_report_table_about *report_table_about(const hd_report_about *about, const char *table)
{
    for (const hd_report_table_about *t = about->tables; t && t->name; t++) {
        if (strcmp(t->name, table) == 0) return t;
    }
    return NULL;
}

static hd_status markdown_part(hd_sink sink, const hd_report_part *part, hd_error *err)
{
    const hd_table_style style = {.format = HD_TABLE_MARKDOWN};
    HD_TRY(put(sink, "# "));
    HD_TRY(put(sink, part->about->name));
    HD_TRY(put(sink, ": "));
    HD_TRY(markdown_text(sink, part->path));
    HD_TRY(put(sink, "\n\n"));
    HD_TRY(put(sink, part->about->text));
    HD_TRY(put(sink, "\n"));
    for (size_t i = 0; i < part->report->table_count; i++) {
        const hd_table *table = part->report->tables[i];
        HD_TRY(put(sink, "\n## "));
        HD_TRY(put(sink, hd_table_name(table)));
        HD_TRY(put(sink, "\n\n"));
        const hd_report_table_about *about = report_table_about(part->about, hd_table_name(table));
        if (about) HD_TRY(markdown_text(sink, about->meaning));
        HD_TRY(put(sink, hd_table_row_count(table) ? "\n\n" : "\n\nNo rows.\n"));
        if (hd_table_row_count(table)) HD_TRY(hd_table_write(table, sink, &style, err));
    }
    return HD_OK;
}

static hd_status print_markdown(hd_sink sink, const hd_report_part *parts, size_t count, hd_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (i) HD_TRY(put(sink, "\n"));
        HD_TRY(markdown_part(sink, &parts[i], err));
    }
    return HD_OK;
}

/* ---- CSV and Parquet ---- */

static hd_status only_one(const hd_report_part *parts, size_t count, hd_error *err)
{
    for (size_t i = 0; i < count && parts[i].about == parts->about; i++)
        if (i + 1 == count) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "CSV and Parquet are of one report");
}

static const hd_table *table_named(const hd_report *report, const char *name)
{
    for (size_t i = 0; i < report->table_count; i++)
        if (strcmp(hd_table_name(report->tables[i]), name) == 0) return report->tables[i];
    return NULL;
}

/* The rows of one file's table, in the columns of `like`. */
static hd_status add_rows(hd_table_builder *b, const char *file, const hd_table *table, const hd_table *like)
{
    for (size_t row = 0; row < hd_table_row_count(table); row++) {
        HD_TRY(hd_table_add_text(b, file));
        for (size_t c = 0; c < hd_table_column_count(like); c++) {
            size_t from = hd_table_find_column(table, hd_table_get_column(like, c)->name);
            HD_TRY(from == SIZE_MAX ? hd_table_add_null(b) : hd_table_add_cell(b, table, row, from));
        }
    }
    return HD_OK;
}

/* A table of several files: the rows of all, each behind the path of its file. */
static hd_status join(hd_table **out, const hd_table *like, const hd_report_part *parts, size_t count, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(hd_table_builder_new(&b, hd_table_name(like), err));
    hd_status status = hd_table_add_column(b, "file", HD_VALUE_STRING);
    for (size_t c = 0; c < hd_table_column_count(like) && status == HD_OK; c++) {
        const hd_table_column *column = hd_table_get_column(like, c);
        status = hd_table_add_column(b, column->name, column->type);
        if (status == HD_OK && column->type == HD_VALUE_DECIMAL) status = hd_table_set_decimals(b, column->decimals);
    }
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        const hd_table *table = table_named(parts[i].report, hd_table_name(like));
        if (table) status = add_rows(b, parts[i].path, table, like);
    }
    if (status == HD_OK) return hd_table_finish(out, b, err);
    hd_table_builder_free(b);
    return HD_NOMEM(err);
}

static hd_status put_bytes(void *user, const void *data, size_t size, hd_error *err)
{
    const hd_sink *sink = user;
    (void)err;
    return sink->write(sink->user, data, size);
}

static hd_status put_parquet(hd_sink sink, const hd_table *table, hd_error *err)
{
    hd_byte_sink *bytes;
    struct ArrowArrayStream stream;
    HD_TRY(hd_byte_sink_new_callback(&bytes, put_bytes, &sink, NULL, err));
    hd_status status = hd_table_arrow_stream(&stream, table, err);
    if (status == HD_OK) status = hd_parquet_write(bytes, &stream, NULL, err);
    hd_byte_sink_free(bytes);
    return status;
}

/* A table of the first part, with the rows of the others. */
static hd_status put_table(hd_sink sink, hd_report_format format, const hd_table *table, const hd_report_part *parts,
                           size_t count, hd_error *err)
{
    const hd_table_style style = {.format = HD_TABLE_CSV};
    hd_table *joined = NULL;
    if (count > 1) HD_TRY(join(&joined, table, parts, count, err));
    if (joined) table = joined;
    hd_status status =
        format == HD_REPORT_PARQUET ? put_parquet(sink, table, err) : hd_table_write(table, sink, &style, err);
    hd_table_free(joined);
    return status;
}

static hd_status print_table(hd_sink sink, hd_report_format format, const hd_report_part *parts, size_t count,
                             hd_error *err)
{
    HD_TRY(only_one(parts, count, err));
    if (parts->report->table_count) return put_table(sink, format, parts->report->tables[0], parts, count, err);
    if (format == HD_REPORT_CSV) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the report has no table to write as Parquet");
}

static hd_status draw(hd_sink sink, const hd_report_part *parts, size_t count, hd_error *err)
{
    if (count == 1 && parts->about->draw) return parts->about->draw(sink, parts->report, err);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "a drawing (.dot) is of one report that has one: topology");
}

hd_status hd_report_print(hd_sink sink, hd_report_format format, const hd_report_part *parts, size_t count,
                          hd_error *err)
{
    switch (format) {
    case HD_REPORT_JSON: return print_json(sink, parts, count, err);
    case HD_REPORT_CSV:
    case HD_REPORT_PARQUET: return print_table(sink, format, parts, count, err);
    case HD_REPORT_MARKDOWN: return print_markdown(sink, parts, count, err);
    case HD_REPORT_HTML: return report_print_html(sink, parts, count, err);
    case HD_REPORT_DOT: return draw(sink, parts, count, err);
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no format of reports: %d", (int)format);
}

/* ---- files ---- */

hd_report_format hd_report_format_of(const char *path)
{
    static const struct {
        const char *end;
        hd_report_format format;
    } formats[] = {{".json", HD_REPORT_JSON},
                   {".csv", HD_REPORT_CSV},
                   {".md", HD_REPORT_MARKDOWN},
                   {".html", HD_REPORT_HTML},
                   {".dot", HD_REPORT_DOT}};
    static const char *const packed[] = {"", ".gz", ".zst"};
    if (hd_ends_with(path, strlen(path), ".parquet") || hd_ends_with(path, strlen(path), ".parquet/"))
        return HD_REPORT_PARQUET;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        for (size_t k = 0; k < sizeof packed / sizeof *packed; k++) {
            char end[16];
            snprintf(end, sizeof end, "%s%s", formats[i].end, packed[k]);
            if (hd_ends_with(path, strlen(path), end)) return formats[i].format;
        }
    }
    return 0;
}

typedef struct file_sink {
    hd_output *output;
    hd_error *err;
} file_sink;

static hd_status write_output(void *user, const char *data, size_t size)
{
    file_sink *file = user;
    return hd_output_write(file->output, data, size, file->err);
}

/* Written, but not committed. The caller ends *out with commit or abort, also after a failure. */
static hd_status prepare_file(hd_output **out, const char *path, hd_report_format format, const hd_report_part *parts,
                              size_t count, hd_error *err)
{
    HD_TRY(hd_output_create(out, path, NULL, err));
    file_sink file = {*out, err};
    HD_TRY(hd_report_print((hd_sink){write_output, &file}, format, parts, count, err));
    return hd_output_finish(*out, err);
}

/* A table of several parts, into a file of its own. */
static hd_status prepare_table(hd_output **out, const char *path, hd_report_format format, const hd_table *table,
                               const hd_report_part *parts, size_t count, hd_error *err)
{
    HD_TRY(hd_output_create(out, path, NULL, err));
    file_sink file = {*out, err};
    HD_TRY(put_table((hd_sink){write_output, &file}, format, table, parts, count, err));
    return hd_output_finish(*out, err);
}

/* Of a folder all that could be written is there, or nothing new. */
static hd_status prepare_folder(hd_output **outputs, const char *path, hd_report_format format,
                                const hd_report_part *parts, size_t count, hd_error *err)
{
    const char *extension = format == HD_REPORT_PARQUET ? "parquet" : "csv";
    for (size_t i = 0; i < parts->report->table_count; i++) {
        const hd_table *table = parts->report->tables[i];
        char name[PATH_MAX];
        if (snprintf(name, sizeof name, "%s%s.%s", path, hd_table_name(table), extension) >= (int)sizeof name)
            return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "the path is too long");
        HD_TRY(prepare_table(&outputs[i], name, format, table, parts, count, err));
    }
    return HD_OK;
}

static hd_status end_files(hd_status status, hd_output **outputs, size_t count, hd_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (status == HD_OK)
            status = hd_output_commit(outputs[i], err);
        else
            hd_output_abort(outputs[i]);
    }
    return status;
}

static hd_status write_folder(const char *path, hd_report_format format, const hd_report_part *parts, size_t count,
                              hd_error *err)
{
    hd_output *outputs[HD_REPORT_TABLES] = {NULL};
    bool is_new = mkdir(path, 0777) == 0;
    if (!is_new && errno != EEXIST)
        return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot make the folder: %s", strerror(errno));
    hd_status status =
        end_files(prepare_folder(outputs, path, format, parts, count, err), outputs, parts->report->table_count, err);
    if (status != HD_OK && is_new) rmdir(path);
    return status;
}

hd_status hd_report_write(const char *path, hd_report_format format, const hd_report_part *parts, size_t count,
                          hd_error *err)
{
    size_t size = strlen(path);
    if (size && path[size - 1] == '/') {
        HD_TRY(only_one(parts, count, err));
        return write_folder(path, format, parts, count, err);
    }
    hd_output *output = NULL;
    return end_files(prepare_file(&output, path, format, parts, count, err), &output, 1, err);
}
