/* lookup.c - tables that rows of others refer to: texts by id; and small ones as metadata */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "format/sqlite/map.h"
#include "trace/lazy.h"

/* ---- all rows, one after the other ---- */

/* By worker 0, which has nothing else to do. Pages that are `again` to be read, or were, are given back first. */
static hd_status walk(sq_reader *reader, const sq_table *table, bool again, hd_status (*see)(void *user, hd_error *err),
                      void *user, hd_error *err)
{
    sq_worker *w = &reader->workers[0];
    sq_file *file = reader->file;
    sq_leaves leaves;
    unsigned char *before = again ? malloc(file->page_count) : NULL;
    if (again && !before) return HD_NOMEM(err);
    for (uint32_t i = 0; again && i < file->page_count; i++) before[i] = atomic_exchange(&file->seen[i], 0);
    hd_status status = sq_file_leaves(&leaves, file, table, err);
    sq_cursor_begin(&w->cursor, file, table, leaves.pages, leaves.count);
    while (status == HD_OK && (status = sq_cursor_next(&w->cursor, err)) == HD_OK) status = see(user, err);
    for (uint32_t i = 0; again && i < file->page_count; i++) atomic_store(&file->seen[i], before[i]);
    if (!again) {
        reader->used[table - file->tables] = 1;
        sq_damage_add(&reader->damage, &leaves.damage);
        sq_damage_add(&reader->damage, &w->cursor.damage);
    }
    free(before);
    free(leaves.pages);
    if (status == HD_END && hd_builder_failed(reader->builder)) return HD_NOMEM(err);
    return status == HD_END ? HD_OK : status;
}

static hd_status each_row(sq_reader *reader, const sq_table *table, hd_status (*see)(void *user, hd_error *err),
                          void *user, hd_error *err)
{
    return walk(reader, table, false, see, user, err);
}

hd_status sq_table_twice(sq_reader *reader, const sq_table *table, hd_status (*see)(void *user, hd_error *err),
                         void *user, hd_error *err)
{
    return walk(reader, table, true, see, user, err);
}

struct each {
    sq_worker *worker;
    int at[SQ_FIELDS];
    size_t count;
    sq_see *see;
    void *user;
};

static hd_status see_columns(void *user, hd_error *err)
{
    static const sq_value none = {.type = SQ_NULL};
    struct each *e = user;
    const sq_value *values[SQ_FIELDS];
    for (size_t i = 0; i < e->count; i++) values[i] = e->at[i] < 0 ? &none : &e->worker->cursor.values[e->at[i]];
    return e->see(e->user, values, err);
}

static hd_status each(sq_reader *reader, const char *table, bool again, const char *const *columns, sq_see *see,
                      void *user, hd_error *err)
{
    const sq_table *found = sq_file_table(reader->file, table);
    struct each e = {.worker = &reader->workers[0], .see = see, .user = user};
    if (!found || (!again && reader->used[found - reader->file->tables])) return HD_OK;
    for (; columns[e.count] && e.count < SQ_FIELDS; e.count++) e.at[e.count] = sq_table_column(found, columns[e.count]);
    return walk(reader, found, again, see_columns, &e, err);
}

hd_status sq_each(sq_reader *reader, const char *table, const char *const *columns, sq_see *see, void *user,
                  hd_error *err)
{
    return each(reader, table, false, columns, see, user, err);
}

hd_status sq_again(sq_reader *reader, const char *table, const char *const *columns, sq_see *see, void *user,
                   hd_error *err)
{
    return each(reader, table, true, columns, see, user, err);
}

/* ---- texts ---- */

typedef struct strings_reader {
    sq_strings *out;
    sq_worker *worker;
} strings_reader;

static hd_status see_string(void *user, const sq_value *const *values, hd_error *err)
{
    strings_reader *r = user;
    if (values[0]->type != SQ_INT || values[1]->type != SQ_TEXT) return HD_OK;
    uint32_t text = sq_value_text(r->worker, values[1]);
    return hd_map_set(&r->out->map, (uint64_t)values[0]->number, 0, text) ? HD_OK : HD_NOMEM(err);
}

hd_status sq_strings_read(sq_strings *out, sq_reader *reader, const char *table, const char *id, const char *text,
                          hd_error *err)
{
    strings_reader r = {out, &reader->workers[0]};
    return sq_each(reader, table, (const char *const[]){id, text, NULL}, see_string, &r, err);
}

/* ---- metadata ---- */

enum { METADATA_LIMIT = 1 << 20 };

typedef struct json_table {
    sq_worker *worker;
    const sq_table *table;
    hd_json_out out;
} json_table;

static void put_value(hd_json_out *out, const sq_value *value)
{
    char text[40];
    switch (value->type) {
    case SQ_INT: hd_json_put_int(out, value->number); break;
    case SQ_TEXT: hd_json_put_string(out, value->data, value->size); break;
    case SQ_REAL:
        if (value->real - value->real != 0) return hd_json_put_text(out, "null");
        hd_json_put(out, text, (size_t)snprintf(text, sizeof text, "%.17g", value->real));
        break;
    default: hd_json_put_text(out, "null");
    }
}

static hd_status see_json(void *user, hd_error *err)
{
    json_table *j = user;
    hd_json_put_text(&j->out, j->out.size > 1 ? ",{" : "{");
    for (uint32_t i = 0, shown = 0; i < j->table->column_count; i++) {
        const sq_value *value = &j->worker->cursor.values[i];
        if (value->type == SQ_NULL) continue;
        if (shown++) hd_json_put_text(&j->out, ",");
        hd_json_put_string(&j->out, j->table->columns[i], strlen(j->table->columns[i]));
        hd_json_put_text(&j->out, ":");
        put_value(&j->out, value);
    }
    hd_json_put_text(&j->out, "}");
    if (j->out.failed) return HD_NOMEM(err);
    return j->out.size > METADATA_LIMIT ? HD_END : HD_OK;
}

hd_status sq_table_to_metadata(bool *out_fits, sq_reader *reader, const sq_table *table, const char *key, hd_error *err)
{
    json_table j = {.worker = &reader->workers[0], .table = table};
    hd_json_put_text(&j.out, "[");
    hd_status status = each_row(reader, table, see_json, &j, err);
    hd_json_put_text(&j.out, "]");
    if (status == HD_OK && j.out.failed) status = HD_NOMEM(err);
    *out_fits = j.out.size <= METADATA_LIMIT;
    if (status == HD_OK && *out_fits && j.out.size > 2 && hd_utf8_valid(key, strlen(key), false))
        hd_builder_metadata(reader->builder, hd_builder_intern_text(reader->builder, key),
                            hd_builder_intern(reader->builder, j.out.data, j.out.size), false);
    free(j.out.data);
    return status;
}
