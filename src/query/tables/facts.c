/* facts.c - the tables `metadata`, `ledger` and `heddle_tables` */
#include <stdlib.h>
#include <string.h>

#include "query/tables/rows.h"

/* ---- metadata ---- */

static const hd_query_column_about metadata_columns[] = {
    {"id", "INT", "the row", false},
    {"name", "TEXT", "key of the input's top level; json_metadata.KEY of those in its object metadata", false},
    {"value", "TEXT", "value as JSON", false},
    {"int_value", "INT", "value, if it is an integer", false},
    {"str_value", "TEXT", "value, if it is a text", false},
    {"rank", "INT", "rank of the input, or its place", false},
    {0},
};

static hd_status make_metadata(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    (void)err;
    *out = NULL;
    *out_count = hd_trace_metadata_count(source->trace);
    return HD_OK;
}

static void metadata_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    (void)made;
    const hd_metadata *entry = hd_trace_metadata_at(source->trace, (size_t)row);
    hd_string value = hd_trace_string(source->trace, entry->value);
    bool is_text = value.size >= 2 && value.data[0] == '"' && !memchr(value.data, '\\', value.size);
    switch (column) {
    case 1: query_cell_string(out, source, entry->key); break;
    case 2: query_cell_string(out, source, entry->value); break;
    case 3:
        if (value.size && value.size < 19 && strspn(value.data, "-0123456789") == value.size)
            query_cell_int(out, strtoll(value.data, NULL, 10));
        break;
    default:
        if (is_text) query_cell_text(out, (hd_string){value.data + 1, value.size - 2});
    }
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
    {"lost_events", "INT", "how many of them are whole events that are not there", false},
    {"rank", "INT", "rank of the input, or its place", false},
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

/* ---- heddle_tables ---- */

static const hd_query_column_about tables_columns[] = {
    {"id", "INT", "the row", false},
    {"table_name", "TEXT", "table, view or function", false},
    {"table_meaning", "TEXT", "what its rows are", false},
    {"name", "TEXT", "column", false},
    {"type", "TEXT", "INT, TEXT or REAL", false},
    {"meaning", "TEXT", "what it says, and its unit", false},
    {"is_argument", "INT", "1: of a function, which is given in parentheses or by = in where", false},
    {"rank", "INT", "0", false},
    {0},
};

static const hd_query_column_about *column_at(const hd_query_table_about **table, const query_tables *tables, uint64_t row)
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
    {{"metadata", "what the input says of itself", metadata_columns}, make_metadata, NULL, metadata_cell, true},
    {{"ledger", "what reading has repaired or lost", ledger_columns}, make_ledger, NULL, ledger_cell, true},
    {{"heddle_tables", "all tables, views and functions with their columns", tables_columns}, make_tables, NULL,
     tables_cell, true},
    {.about = {0}},
};
