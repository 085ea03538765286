/* lookup.c - tables that rows of others refer to: texts, arguments and call chains by id; and small ones as metadata */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/double.h"
#include "format/numbers.h"
#include "format/sqlite/map.h"
#include "trace/lazy.h"

/* ---- tables ---- */

/* Nothing, or _ and a GUID with parts joined by _; another word is the name of another table. */
static bool is_guid_or_none(const char *rest)
{
    return !*rest || (*rest == '_' && rest[strspn(rest, "_-0123456789abcdefABCDEF")] == '\0');
}

bool sq_name_is(const char *pattern, const char *name)
{
    size_t size = strlen(pattern);
    if (size && pattern[size - 1] == '#')
        return strncasecmp(pattern, name, size - 1) == 0 && is_guid_or_none(name + size - 1);
    if (size && pattern[size - 1] == '*') return strncasecmp(pattern, name, size - 1) == 0;
    return strcasecmp(pattern, name) == 0;
}

uint64_t sq_scope_of(const sq_reader *reader, const sq_table *table)
{
    return reader->mapping->scope ? reader->mapping->scope(reader, table) : 0;
}

/* Calls `each` for all tables of a name that have not been read; `again`: also for those that have been. */
typedef hd_status each_table(void *user, sq_reader *reader, const sq_table *table, hd_error *err);
static hd_status for_tables(sq_reader *reader, const char *pattern, bool again, each_table *each, void *user,
                            hd_error *err)
{
    for (size_t t = 0; t < reader->file->table_count; t++) {
        if ((again || !reader->used[t]) && sq_name_is(pattern, reader->file->tables[t].name))
            HD_TRY(each(user, reader, &reader->file->tables[t], err));
    }
    return HD_OK;
}

/* ---- all rows, one after the other ---- */

/* By worker 0, which is idle. Pages read `again` are released first. */
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
    w->scope = sq_scope_of(reader, table);
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

hd_status sq_table_twice(sq_reader *reader, const sq_table *table, hd_status (*see)(void *user, hd_error *err),
                         void *user, hd_error *err)
{
    return walk(reader, table, true, see, user, err);
}

struct each {
    const char *const *columns;
    bool again;
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

static hd_status each(void *user, sq_reader *reader, const sq_table *table, hd_error *err)
{
    struct each *e = user;
    e->worker = &reader->workers[0];
    for (e->count = 0; e->columns[e->count] && e->count < SQ_FIELDS; e->count++)
        e->at[e->count] = sq_table_column(table, e->columns[e->count]);
    return walk(reader, table, e->again, see_columns, e, err);
}

hd_status sq_each(sq_reader *reader, const char *table, const char *const *columns, sq_see *see, void *user,
                  hd_error *err)
{
    struct each e = {.columns = columns, .see = see, .user = user};
    return for_tables(reader, table, false, each, &e, err);
}

hd_status sq_again(sq_reader *reader, const char *table, const char *const *columns, sq_see *see, void *user,
                   hd_error *err)
{
    struct each e = {.columns = columns, .see = see, .user = user, .again = true};
    return for_tables(reader, table, true, each, &e, err);
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
    return hd_map_set(&r->out->map, (uint64_t)values[0]->number, r->worker->scope, text) ? HD_OK : HD_NOMEM(err);
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
    const char *number_column, *key_column, *value_column; /* key, value: of pairs, else NULL */
    const sq_map_column *columns;
    const sq_strings *keys;
    sq_worker *worker;
    sq_plan plan;
    int number, key, value; /* columns */
    int64_t last;           /* number of the row before */
    bool is_sum;            /* pairs of one number and key are parts of one value */
    double *sums;           /* of `is_sum`: by item */
    size_t sum_capacity;
} side_reader;

/* The row of the next items: of pairs the last one, if the number is the same. */
static struct sq_side_row *side_row(side_reader *r, int64_t number)
{
    sq_side *out = r->out;
    if (r->key_column && out->row_count && r->last == number) return &out->rows[out->row_count - 1];
    hd_map_entry *entry = hd_map_at(&out->map, (uint64_t)number, r->worker->scope);
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

static bool number_of(double *out, const sq_value *value)
{
    *out = value->type == SQ_INT ? (double)value->number : value->type == SQ_REAL ? value->real : 0;
    return value->type == SQ_INT || value->type == SQ_REAL;
}

/* Adds the value to that which the number has of this key already. false: there is none. */
static bool add_to_sum(side_reader *r, int64_t number)
{
    sq_worker *w = r->worker;
    double value;
    if (!w->item_count || !number_of(&value, &w->cursor.values[r->value])) return false;
    const struct sq_side_row *row = sq_side_first(r->out, number, w->scope);
    for (; row; row = sq_side_next(r->out, row)) {
        for (uint32_t i = row->first; i < row->first + row->count; i++) {
            sq_item *item = &r->out->items[i];
            if (item->key != w->items[0].key) continue;
            r->sums[i] += value;
            item->type = (uint8_t)hd_value_of_double(&item->bits, w->reader->builder, r->sums[i]);
            return true;
        }
    }
    return false;
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
    if (r->key_column) sq_add_pair(w, r->keys, &values[r->key], &values[r->value]);
    if (r->is_sum && add_to_sum(r, number)) return HD_OK;
    struct sq_side_row *row = side_row(r, number);
    if (!row) return HD_NOMEM(err);
    for (uint32_t i = 0; i < w->item_count; i++) {
        if (out->item_count == UINT32_MAX ||
            !hd_grow((void **)&out->items, &out->item_capacity, out->item_count, sizeof *out->items))
            return HD_NOMEM(err);
        if (r->is_sum) {
            if (!hd_grow((void **)&r->sums, &r->sum_capacity, out->item_count, sizeof *r->sums)) return HD_NOMEM(err);
            if (!number_of(&r->sums[out->item_count], &values[r->value])) r->sums[out->item_count] = 0;
        }
        out->items[out->item_count++] = w->items[i];
        row->count++;
    }
    return HD_OK;
}

static hd_status read_side(void *user, sq_reader *reader, const sq_table *table, hd_error *err)
{
    static const sq_map_table map = {.category = ""};
    side_reader *r = user;
    r->worker = &reader->workers[0];
    r->last = HD_NO_NUMBER;
    r->number = sq_table_column(table, r->number_column);
    if (r->number < 0) return HD_OK;
    HD_TRY(sq_plan_init(&r->plan, reader, &map, table, r->columns, err));
    r->plan.roles[r->number] = SQ_SKIP;
    if (r->key_column) {
        r->key = sq_table_column(table, r->key_column);
        r->value = sq_table_column(table, r->value_column);
        if (r->key < 0 || r->value < 0) return HD_OK;
        for (uint32_t i = 0; i < table->column_count; i++) r->plan.roles[i] = SQ_SKIP;
    }
    return walk(reader, table, false, see_side, r, err);
}

hd_status sq_side_read(sq_side *out, sq_reader *reader, const char *table, const char *number,
                       const sq_map_column *columns, hd_error *err)
{
    side_reader r = {.out = out, .number_column = number, .columns = columns};
    return for_tables(reader, table, false, read_side, &r, err);
}

hd_status sq_side_read_pairs(sq_side *out, sq_reader *reader, const char *table, const char *number,
                             const sq_strings *keys, const char *key, const char *value, hd_error *err)
{
    static const sq_map_column none[] = {{0}};
    side_reader r = {
        .out = out, .number_column = number, .key_column = key, .value_column = value, .columns = none, .keys = keys};
    return for_tables(reader, table, false, read_side, &r, err);
}

hd_status sq_side_read_sums(sq_side *out, sq_reader *reader, const char *table, const char *number,
                            const sq_strings *keys, const char *key, const char *value, hd_error *err)
{
    static const sq_map_column none[] = {{0}};
    side_reader r = {.out = out,
                     .number_column = number,
                     .key_column = key,
                     .value_column = value,
                     .columns = none,
                     .keys = keys,
                     .is_sum = true};
    hd_status status = for_tables(reader, table, false, read_side, &r, err);
    free(r.sums);
    return status;
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

bool sq_side_add(sq_worker *worker, const sq_side *side, int64_t number)
{
    const struct sq_side_row *first = sq_side_first(side, number, worker->scope);
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
    const sq_strings *names;
    hd_frame_kind kind;
    int64_t id;
    uint64_t scope;
    struct chain_frame {
        int64_t depth;
        size_t place; /* among those that were read */
        uint32_t name;
        hd_frame_kind kind;
    } * frames;
    size_t count, capacity;
} chain_reader;

static int deepest_first(const void *a, const void *b)
{
    const struct chain_frame *x = a, *y = b;
    if (x->depth != y->depth) return x->depth > y->depth ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static hd_status end_chain(chain_reader *r, hd_error *err)
{
    uint32_t node = HD_STACK_NONE;
    if (!r->count) return HD_OK;
    hd_sort(r->frames, r->count, sizeof *r->frames, deepest_first);
    for (size_t i = 0; i < r->count; i++)
        node = hd_stacks_push(r->reader->stacks, node, r->frames[i].name, r->frames[i].kind);
    r->count = 0;
    if (node == HD_NONE || !hd_map_set(r->out, (uint64_t)r->id, r->scope, node)) return HD_NOMEM(err);
    return HD_OK;
}

/* id, depth, frame, kernel mode */
static hd_status see_frame(void *user, const sq_value *const *v, hd_error *err)
{
    chain_reader *r = user;
    if (v[0]->type != SQ_INT || v[1]->type != SQ_INT) return HD_OK;
    uint64_t scope = r->reader->workers[0].scope;
    if (r->count && (v[0]->number != r->id || scope != r->scope)) HD_TRY(end_chain(r, err));
    r->id = v[0]->number;
    r->scope = scope;
    if (!hd_grow((void **)&r->frames, &r->capacity, r->count, sizeof *r->frames)) return HD_NOMEM(err);
    uint32_t name = v[2]->type == SQ_INT ? sq_strings_in(r->names, v[2]->number, scope) : HD_STRING_NONE;
    hd_string text = hd_builder_string(r->reader->builder, name);
    if (name == HD_STRING_NONE) text = (hd_string){"[unknown]", 9};
    r->frames[r->count] =
        (struct chain_frame){.depth = v[1]->number,
                             .place = r->count,
                             .name = hd_stacks_name(r->reader->stacks, text.data, text.size),
                             .kind = v[3]->type == SQ_INT && v[3]->number == 1 ? HD_FRAME_OS : r->kind};
    r->count++;
    return HD_OK;
}

hd_status sq_chains_read(hd_map *out, sq_reader *reader, const sq_chain_table *chains, const sq_strings *names,
                         hd_error *err)
{
    chain_reader r = {.reader = reader, .out = out, .names = names, .kind = chains->kind};
    const char *const columns[] = {chains->id, chains->depth, chains->frame, chains->kernel_mode, NULL};
    hd_status status = sq_each(reader, chains->table, columns, see_frame, &r, err);
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
        hd_json_put_text(out, hd_double_text(text, value->real));
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
    hd_status status = walk(reader, table, false, see_json, &j, err);
    hd_json_put_text(&j.out, "]");
    if (status == HD_OK && j.out.failed) status = HD_NOMEM(err);
    *out_fits = j.out.size <= METADATA_LIMIT;
    if (status == HD_OK && *out_fits && j.out.size > 2 && hd_utf8_valid(key, strlen(key), false)) {
        const uint32_t key_id = hd_builder_intern_text(reader->builder, key);
        hd_builder_metadata(reader->builder, key_id, hd_builder_intern(reader->builder, j.out.data, j.out.size), false);
    }
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
    enum { KEYS = 6 };
    static const char *const keys[KEYS] = {"id", "name", "totalGlobalMem", "computeMajor", "computeMinor", "numSms"};
    device_reader *r = user;
    if (v[KEYS]->type == SQ_TEXT && v[KEYS]->size == 3 && memcmp(v[KEYS]->data, "CPU", 3) == 0) return HD_OK;
    hd_json_put_text(&r->out, r->out.size > 1 ? ",{" : "{");
    for (size_t i = 0, shown = 0; i < KEYS; i++) {
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
    if (status == HD_OK && r.out.size > 2) {
        const uint32_t key_id = hd_builder_intern_text(reader->builder, "deviceProperties");
        hd_builder_metadata(reader->builder, key_id, hd_builder_intern(reader->builder, r.out.data, r.out.size), false);
    }
    free(r.out.data);
    return status;
}
