/* facts.c - the tables `metadata`, `ledger`, `trust` and `heddle_tables` */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "model/trust/trust.h"
#include "query/tables/arg_set.h"
#include "report/coverage.h"

/* ---- metadata ---- */

static const hd_query_column_about metadata_columns[] = {
    {"id", "INT", "the row", false},
    {"name", "TEXT", "key of the input's top level; json_metadata.KEY of those in its object metadata", false},
    {"value", "TEXT", "value as JSON; null of json_metadata.KEY", false},
    {"int_value", "INT", "value, if it is an integer", false},
    {"str_value", "TEXT", "value, if it is a text", false},
    {"real_value", "REAL", "value, if it is another number", false},
    {"rank", "INT", "rank of the input; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

/* A top-level key, or a key of the object under the key metadata. */
typedef struct metadata_row {
    hd_string key;
    query_cell value; /* as written, unless it is an integer or a text */
    hd_string json;
} metadata_row;

typedef struct metadata_rows {
    metadata_row *list;
    size_t count, capacity;
    query_arg_set inner; /* keys and texts of the object */
} metadata_rows;

static void free_metadata(void *made)
{
    metadata_rows *rows = made;
    query_arg_set_deinit(&rows->inner);
    free(rows->list);
    free(rows);
}

static hd_status add_metadata(metadata_rows *rows, hd_string key, const query_cell *value, hd_string json,
                              hd_error *err)
{
    if (!hd_grow((void **)&rows->list, &rows->capacity, rows->count, sizeof *rows->list)) return HD_NOMEM(err);
    rows->list[rows->count++] = (metadata_row){.key = key, .value = *value, .json = json};
    return HD_OK;
}

static hd_status read_metadata(metadata_rows *rows, const query_source *source, hd_error *err)
{
    const query_cell none = {.type = SQLITE_NULL};
    for (size_t i = 0; i < hd_trace_metadata_count(source->trace); i++) {
        const hd_metadata *entry = hd_trace_metadata_at(source->trace, i);
        hd_string key = hd_trace_string(source->trace, entry->key), json = hd_trace_string(source->trace, entry->value);
        bool is_object = json.size && json.data[0] == '{';
        if (!is_object) {
            HD_TRY(query_arg_set_json(&rows->inner, key, json, err));
            const query_cell *value = rows->inner.count ? &rows->inner.list[rows->inner.count - 1].value : &none;
            HD_TRY(add_metadata(rows, key, rows->inner.count ? value : &none, json, err));
            rows->inner.count = 0;
            continue;
        }
        HD_TRY(add_metadata(rows, key, &none, json, err));
        if (key.size != 8 || memcmp(key.data, "metadata", 8) != 0) continue;
        HD_TRY(query_arg_set_json(&rows->inner, (hd_string){"json_metadata", 13}, json, err));
        for (size_t k = 0; k < rows->inner.count; k++)
            HD_TRY(add_metadata(rows, rows->inner.list[k].key, &rows->inner.list[k].value, (hd_string){"", 0}, err));
        rows->inner.count = 0;
    }
    return HD_OK;
}

static hd_status make_metadata(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    metadata_rows *rows = calloc(1, sizeof *rows);
    hd_status status = rows ? read_metadata(rows, source, err) : HD_NOMEM(err);
    if (status != HD_OK) {
        if (rows) free_metadata(rows);
        return status;
    }
    *out = rows;
    *out_count = rows->count;
    return HD_OK;
}

static void metadata_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    (void)source;
    const metadata_row *entry = &((const metadata_rows *)made)->list[row];
    int wanted = column == 3 ? SQLITE_INTEGER : column == 4 ? SQLITE_TEXT : SQLITE_FLOAT;
    if (column == 1)
        query_cell_text(out, entry->key);
    else if (column == 2 && entry->json.size)
        query_cell_text(out, entry->json);
    else if (column > 2 && entry->value.type == wanted)
        *out = entry->value;
}

/* ---- ledger ---- */

static const hd_query_column_about ledger_columns[] = {
    {"id", "INT", "the row", false},
    {"stage", "TEXT", "who found it: input, a format, builder …", false},
    {"code", "TEXT", "what it is, as `heddle check` explains it", false},
    {"level", "TEXT", "note, repair or loss", false},
    {"count", "INT", "how often", false},
    {"first_offset", "INT", "byte offset of the first in the input", false},
    {"detail", "TEXT", "the first in words", false},
    {"lost_events", "INT", "how many of them are whole events that are missing", false},
    {"rank", "INT", "rank of the input; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

static hd_status make_ledger(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    (void)err;
    *out = NULL;
    *out_count = hd_trace_ledger_count(source->trace);
    return HD_OK;
}

static void ledger_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    static const char *const levels[] = {"note", "repair", "loss"};
    (void)made;
    const hd_ledger_row *entry = hd_trace_ledger_at(source->trace, (size_t)row);
    switch (column) {
    case 1: query_cell_word(out, entry->stage); break;
    case 2: query_cell_word(out, entry->code); break;
    case 3: query_cell_word(out, levels[entry->level]); break;
    case 4: query_cell_int(out, (int64_t)entry->count); break;
    case 5:
        if (entry->first_offset != HD_OFFSET_NONE) query_cell_int(out, (int64_t)entry->first_offset);
        break;
    case 6: query_cell_string(out, source, entry->detail); break;
    default: query_cell_int(out, (int64_t)entry->lost_events);
    }
}

/* ---- trust ---- */

static const hd_query_column_about trust_columns[] = {
    {"id", "INT", "the row", false},
    {"code", "TEXT", "which doubt", false},
    {"level", "TEXT", "error: figures are wrong; warning: some may be; note", false},
    {"count", "INT", "number of events with it; of a coverage: ns of GPU time", false},
    {"of_count", "INT", "of how many; null: not known", false},
    {"ns", "INT", "by how much, in ns", false},
    {"sentence", "TEXT", "the same in words", false},
    {"figures", "TEXT", "figures that depend on it", false},
    {"slice_id", "INT", "the first slice that shows it", false},
    {"rank", "INT", "rank of the input; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

/* First the entries with a count, then those about a share of the GPU time. */
typedef struct trust_rows {
    const gpu_trust *trust; /* of the launches of the source */
    report_coverage coverage;
    struct {
        int code; /* gpu_doubt_code, from GPU_DOUBTS on report_coverage_kind */
        char sentence[GPU_DOUBT_TEXT], figures[GPU_DOUBT_TEXT];
    } list[GPU_DOUBTS + COVERAGES];
} trust_rows;

static hd_status make_trust(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    const gpu_trust *trust;
    HD_TRY(query_launches(source, err));
    HD_TRY(gpu_trust_of(&trust, source->trace, source->launches, err));
    trust_rows *rows = calloc(1, sizeof *rows);
    if (!rows) return HD_NOMEM(err);
    rows->trust = trust;
    *out_count = 0;
    for (int i = 0; i < GPU_DOUBTS; i++) {
        if (!trust->doubts[i].count) continue;
        rows->list[*out_count].code = i;
        gpu_doubt_text(rows->list[*out_count].sentence, (gpu_doubt_code)i, &trust->doubts[i]);
        gpu_figure_names(rows->list[(*out_count)++].figures, gpu_doubt_abouts[i].figures);
    }
    hd_status status = report_coverage_of(&rows->coverage, source->trace, source->launches, err);
    for (int i = 0; i < COVERAGES && status == HD_OK; i++) {
        if (!rows->coverage.list[i].of) continue;
        rows->list[*out_count].code = GPU_DOUBTS + i;
        snprintf(rows->list[*out_count].figures, GPU_DOUBT_TEXT, "%s", report_coverage_abouts[i].figures);
        report_coverage_text(rows->list[(*out_count)++].sentence, (report_coverage_kind)i, &rows->coverage.list[i],
                             NULL);
    }
    if (status == HD_OK)
        *out = rows;
    else
        free(rows);
    return status;
}

static void coverage_cell(query_cell *out, const trust_rows *rows, uint64_t row, int column)
{
    int kind = rows->list[row].code - GPU_DOUBTS;
    switch (column) {
    case 1: query_cell_word(out, report_coverage_abouts[kind].code); break;
    case 2: query_cell_word(out, "note"); break;
    case 3: query_cell_int(out, rows->coverage.list[kind].known); break;
    case 4: query_cell_int(out, rows->coverage.list[kind].of); break;
    case 6: query_cell_word(out, rows->list[row].sentence); break;
    case 7: query_cell_word(out, rows->list[row].figures); break;
    default: break;
    }
}

static void trust_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    const trust_rows *rows = made;
    int code = rows->list[row].code;
    if (code >= GPU_DOUBTS) {
        coverage_cell(out, rows, row, column);
        return;
    }
    const gpu_doubt *doubt = &rows->trust->doubts[code];
    switch (column) {
    case 1: query_cell_word(out, gpu_doubt_abouts[code].code); break;
    case 2: query_cell_word(out, gpu_doubt_abouts[code].level); break;
    case 3: query_cell_int(out, (int64_t)doubt->count); break;
    case 4:
        if (doubt->of) query_cell_int(out, (int64_t)doubt->of);
        break;
    case 5:
        if (doubt->ns != HD_NO_TIME) query_cell_int(out, doubt->ns);
        break;
    case 6: query_cell_word(out, rows->list[row].sentence); break;
    case 7: query_cell_word(out, rows->list[row].figures); break;
    default:
        if (doubt->track != HD_NONE) query_cell_int(out, query_id(source, doubt->row));
    }
}

/* ---- heddle_tables ---- */

static const hd_query_column_about tables_columns[] = {
    {"id", "INT", "the row", false},
    {"table_name", "TEXT", "table, view or function", false},
    {"table_meaning", "TEXT", "what its rows are", false},
    {"name", "TEXT", "column", false},
    {"type", "TEXT", "INT, TEXT or REAL", false},
    {"meaning", "TEXT", "what it says, and its unit", false},
    {"is_argument", "INT", "1: an argument of a function, given in parentheses or by = in where", false},
    {"rank", "INT", "null", false},
    QUERY_INPUT_COLUMN,
    {0},
};

static const hd_query_column_about *column_at(const hd_query_table_about **table, const query_tables *tables,
                                              uint64_t row)
{
    for (*table = tables->abouts; (*table)->name; ++*table)
        for (const hd_query_column_about *c = (*table)->columns; c->name; c++)
            if (row-- == 0) return c;
    return NULL;
}

static hd_status make_tables(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    const hd_query_table_about *table;
    (void)err;
    *out = NULL;
    *out_count = 0;
    if (source->index == 0)
        while (column_at(&table, source->tables, *out_count)) ++*out_count;
    return HD_OK;
}

static void tables_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    const hd_query_table_about *table;
    (void)made;
    const hd_query_column_about *about = column_at(&table, source->tables, row);
    switch (column) {
    case 1: query_cell_word(out, table->name); break;
    case 2: query_cell_word(out, table->meaning); break;
    case 3: query_cell_word(out, about->name); break;
    case 4: query_cell_word(out, about->type); break;
    case 5: query_cell_word(out, about->meaning); break;
    default: query_cell_int(out, about->is_argument);
    }
}

const query_rows_about query_fact_tables[] = {
    {{"metadata", "what the input says of itself", metadata_columns},
     make_metadata,
     free_metadata,
     metadata_cell,
     true},
    {{"ledger", "what reading has repaired or lost", ledger_columns}, make_ledger, NULL, ledger_cell, true},
    {{"trust", "what is missing or impossible in the trace, and figures that depend on it", trust_columns},
     make_trust,
     free,
     trust_cell,
     true},
    {{"heddle_tables", "all tables, views and functions with their columns", tables_columns},
     make_tables,
     NULL,
     tables_cell,
     true},
    {.about = {0}},
};
