/* lookup.c - tables that rows of others refer to: texts, arguments and call chains by id; and small ones as metadata */
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

/* ---- arguments ---- */

typedef struct side_reader {
    sq_side *out;
    sq_worker *worker;
    sq_plan plan;
    int number, key, value; /* columns; key, value: of pairs */
    uint64_t scope;
    int64_t last; /* number of the row before */
} side_reader;

/* The row that the next items belong to: the last one, if the number is still the same. */
static struct sq_side_row *side_row(side_reader *r, int64_t number)
{
    sq_side *out = r->out;
    if (r->key >= 0 && out->row_count && r->last == number) return &out->rows[out->row_count - 1];
    hd_map_entry *entry = hd_map_at(&out->map, (uint64_t)number, r->scope);
    if (!entry || out->row_count >= UINT32_MAX - 1 ||
        !hd_grow((void **)&out->rows, &out->row_capacity, out->row_count, sizeof *out->rows))
        return NULL;
    uint32_t at = (uint32_t)++out->row_count;
    struct sq_side_row *rows = out->rows;
    rows[at - 1] = (struct sq_side_row){.first = (uint32_t)out->item_count, .name = r->worker->row.name};
    if (!entry->value) entry->value = at;
    if (rows[entry->value - 1].last) rows[rows[entry->value - 1].last - 1].next = at;
    rows[entry->value - 1].last = at;
    r->last = number;
    return &rows[at - 1];
}

static hd_status see_side(void *user, hd_error *err)
{
    side_reader *r = user;
    sq_side *out = r->out;
    sq_worker *w = r->worker;
    const sq_value *values = w->cursor.values;
    int64_t number = sq_value_number(&values[r->number]);
    if (number == HD_NO_NUMBER) return HD_OK;
    sq_worker_take_row(w, &r->plan);
    if (r->key >= 0) sq_add_pair(w, &values[r->key], &values[r->value]);
    struct sq_side_row *row = side_row(r, number);
    if (!row) return HD_NOMEM(err);
    for (uint32_t i = 0; i < w->item_count; i++) {
        if (out->item_count == UINT32_MAX ||
            !hd_grow((void **)&out->items, &out->item_capacity, out->item_count, sizeof *out->items))
            return HD_NOMEM(err);
        out->items[out->item_count++] = w->items[i];
        row->count++;
    }
    return HD_OK;
}

static hd_status read_side(side_reader *r, sq_reader *reader, const char *table, const char *number,
                           const sq_map_column *columns, hd_error *err)
{
    static const sq_map_table map = {.category = ""};
    const sq_table *found = sq_file_table(reader->file, table);
    if (!found || reader->used[found - reader->file->tables]) return HD_OK;
    r->worker = &reader->workers[0];
    r->number = sq_table_column(found, number);
    if (r->number < 0) return HD_OK;
    HD_TRY(sq_plan_init(&r->plan, reader, &map, found, columns, err));
    r->plan.roles[r->number] = SQ_SKIP;
    for (uint32_t i = 0; r->key >= 0 && i < found->column_count; i++) r->plan.roles[i] = SQ_SKIP;
    return each_row(reader, found, see_side, r, err);
}

hd_status sq_side_read(sq_side *out, sq_reader *reader, const char *table, const char *number, uint64_t scope,
                       const sq_map_column *columns, hd_error *err)
{
    side_reader r = {.out = out, .key = -1, .scope = scope, .last = HD_NO_NUMBER};
    return read_side(&r, reader, table, number, columns, err);
}

hd_status sq_side_read_pairs(sq_side *out, sq_reader *reader, const char *table, const char *number, uint64_t scope,
                             const char *key, const char *value, hd_error *err)
{
    static const sq_map_column none[] = {{0}};
    const sq_table *found = sq_file_table(reader->file, table);
    side_reader r = {.out = out, .scope = scope, .last = HD_NO_NUMBER};
    if (!found) return HD_OK;
    r.key = sq_table_column(found, key);
    r.value = sq_table_column(found, value);
    return r.key < 0 || r.value < 0 ? HD_OK : read_side(&r, reader, table, number, none, err);
}

void sq_side_deinit(sq_side *side)
{
    hd_map_deinit(&side->map);
    free(side->rows);
    free(side->items);
}

const struct sq_side_row *sq_side_first(const sq_side *side, int64_t number, uint64_t scope)
{
    uint32_t row = 0;
    hd_map_get(&row, &side->map, (uint64_t)number, scope);
    return row ? &side->rows[row - 1] : NULL;
}

bool sq_side_add(sq_worker *worker, const sq_side *side, int64_t number, uint64_t scope)
{
    const struct sq_side_row *first = sq_side_first(side, number, scope);
    for (const struct sq_side_row *row = first; row; row = sq_side_next(side, row)) {
        if (row->name != HD_STRING_NONE) worker->row.name = row->name;
        for (uint32_t i = 0; i < row->count; i++) {
            const sq_item *item = &side->items[row->first + i];
            sq_add(worker, item->key, (hd_arg_type)item->type, item->bits);
        }
    }
    return first != NULL;
}

/* ---- call chains ---- */

typedef struct chain_reader {
    sq_reader *reader;
    hd_map *out;
    hd_frame_kind kind;
    int64_t id;
    struct chain_frame {
        int64_t depth;
        uint32_t name;
        hd_frame_kind kind;
    } * frames;
    size_t count, capacity;
} chain_reader;

static int deepest_first(const void *a, const void *b)
{
    const struct chain_frame *x = a, *y = b;
    return (x->depth < y->depth) - (x->depth > y->depth);
}

static hd_status end_chain(chain_reader *r, hd_error *err)
{
    uint32_t node = HD_STACK_NONE;
    if (!r->count) return HD_OK;
    qsort(r->frames, r->count, sizeof *r->frames, deepest_first);
    for (size_t i = 0; i < r->count; i++)
        node = hd_stacks_push(r->reader->stacks, node, r->frames[i].name, r->frames[i].kind);
    r->count = 0;
    if (node == HD_NONE || !hd_map_set(r->out, (uint64_t)r->id, 0, node)) return HD_NOMEM(err);
    return HD_OK;
}

/* id, depth, frame, kernel mode */
static hd_status see_frame(void *user, const sq_value *const *v, hd_error *err)
{
    chain_reader *r = user;
    if (v[0]->type != SQ_INT || v[1]->type != SQ_INT) return HD_OK;
    if (r->count && v[0]->number != r->id) HD_TRY(end_chain(r, err));
    r->id = v[0]->number;
    if (!hd_grow((void **)&r->frames, &r->capacity, r->count, sizeof *r->frames)) return HD_NOMEM(err);
    uint32_t name = v[2]->type == SQ_INT ? sq_strings_at(&r->reader->strings, v[2]->number) : HD_STRING_NONE;
    hd_string text = hd_builder_string(r->reader->builder, name);
    if (name == HD_STRING_NONE) text = (hd_string){"[unknown]", 9};
    r->frames[r->count++] = (struct chain_frame){v[1]->number, hd_stacks_name(r->reader->stacks, text.data, text.size),
                                                 v[3]->type == SQ_INT && v[3]->number == 1 ? HD_FRAME_OS : r->kind};
    return HD_OK;
}

hd_status sq_chains_read(hd_map *out, sq_reader *reader, const char *table, const char *depth, const char *frame,
                         const char *kernel_mode, hd_frame_kind kind, hd_error *err)
{
    chain_reader r = {.reader = reader, .out = out, .kind = kind};
    const char *const columns[] = {"id", depth, frame, kernel_mode, NULL};
    hd_status status = sq_each(reader, table, columns, see_frame, &r, err);
    if (status == HD_OK) status = end_chain(&r, err);
    free(r.frames);
    return status;
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

/* ---- devices ---- */

typedef struct device_reader {
    sq_reader *reader;
    hd_json_out out;
} device_reader;

static hd_status see_device(void *user, const sq_value *const *v, hd_error *err)
{
    static const char *const keys[SQ_DEVICE_COLUMNS] = {"id",           "name",         "totalGlobalMem",
                                                        "computeMajor", "computeMinor", "numSms"};
    device_reader *r = user;
    hd_json_put_text(&r->out, r->out.size > 1 ? ",{" : "{");
    for (size_t i = 0, shown = 0; i < SQ_DEVICE_COLUMNS; i++) {
        if (v[i]->type != (i == 1 ? SQ_TEXT : SQ_INT)) continue;
        hd_json_put_text(&r->out, shown++ ? ",\"" : "\"");
        hd_json_put_text(&r->out, keys[i]);
        hd_json_put_text(&r->out, "\":");
        if (i == 1)
            hd_json_put_string(&r->out, v[i]->data, v[i]->size);
        else
            hd_json_put_int(&r->out, v[i]->number);
    }
    hd_json_put_text(&r->out, "}");
    return r->out.failed ? HD_NOMEM(err) : HD_OK;
}

hd_status sq_devices_to_metadata(sq_reader *reader, const char *table, const char *const columns[SQ_DEVICE_COLUMNS + 1],
                                 hd_error *err)
{
    device_reader r = {.reader = reader};
    hd_json_put_text(&r.out, "[");
    hd_status status = sq_again(reader, table, columns, see_device, &r, err);
    hd_json_put_text(&r.out, "]");
    if (status == HD_OK && r.out.failed) status = HD_NOMEM(err);
    if (status == HD_OK && r.out.size > 2)
        hd_builder_metadata(reader->builder, hd_builder_intern_text(reader->builder, "deviceProperties"),
                            hd_builder_intern(reader->builder, r.out.data, r.out.size), false);
    free(r.out.data);
    return status;
}
