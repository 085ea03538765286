/* args.c - the table `args` and the function extract_arg()
 *
 * A set is found by its id. Without one, all sets of all slices, tracks and counters are read, one after the other; if
 * key or flat_key is compared with a text, only sets whose shape may have it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "query/tables/arg_set.h"
#include "query/tables/counters.h"
#include "query/tables/slice.h"

enum {
    ARGS_ID,
    ARGS_SET,
    ARGS_FLAT_KEY,
    ARGS_KEY,
    ARGS_INT,
    ARGS_STRING,
    ARGS_REAL,
    ARGS_TYPE,
    ARGS_DISPLAY,
    ARGS_RANK,
    ARGS_INPUT
};
enum { CHECK_SETS = 4096 };

static const hd_query_column_about columns[] = {
    {"id", "INT", "place in its set", false},
    {"arg_set_id", "INT", "the set: arg_set_id of slice, thread …", false},
    {"flat_key", "TEXT", "key without indices: args.grid", false},
    {"key", "TEXT", "key: args.grid[0], args.External id", false},
    {"int_value", "INT", "value, if it is an integer or a truth value", false},
    {"string_value", "TEXT", "value, if it is a text", false},
    {"real_value", "REAL", "value, if it is another number", false},
    {"value_type", "TEXT", "int, string, real or bool", false},
    {"display_value", "TEXT", "value as text", false},
    {"rank", "INT", "rank of the input; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};
static const hd_query_table_about about = {"args", "arguments of slices, tracks and counters", columns};

typedef struct args_cursor {
    sqlite3_vtab_cursor base;
    query_arg_set set;
    int64_t id;   /* of the set */
    size_t at;    /* in the set */
    int64_t *ids; /* sets to read; NULL: all */
    size_t id_count, id_at;
    char *key; /* only keys that begin so matter; NULL: all */
    size_t key_size;
    uint8_t **wanted; /* by input, then shape: 0 unknown, 1 no, 2 yes */
    size_t part;      /* of all: input and owner */
    uint64_t row;
    bool ended;
} args_cursor;

/* ---- plans ---- */

/* idxNum: 1 a set, 2 a list of sets, 4 a key follows. */
static int args_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    int set = -1, key = -1, count = 0;
    hd_error error;
    query_tables *tables = ((query_vtab *)base)->user;
    if (slice_open(tables->slice, &error) != HD_OK) return query_fail(base, tables, &error);
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (!c->usable || c->op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
        if (c->iColumn == ARGS_SET) set = i;
        bool is_key = c->iColumn == ARGS_KEY || c->iColumn == ARGS_FLAT_KEY;
        if (is_key && sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0 && !sqlite3_vtab_in(info, i, -1))
            key = i;
    }
    double rows = (double)tables->slice->count * 5 + 10;
    info->estimatedCost = key >= 0 ? rows / 5 : rows * 2;
    info->estimatedRows = (sqlite3_int64)(key >= 0 ? rows / 20 : rows);
    if (set >= 0) {
        bool in = sqlite3_vtab_in(info, set, 1);
        info->idxNum = in ? 2 : 1;
        info->aConstraintUsage[set].argvIndex = ++count;
        info->aConstraintUsage[set].omit = true;
        info->estimatedRows = key >= 0 ? 1 : 8;
        info->estimatedCost = in ? 100 : 10;
        /* The rows of a set are ordered by id, the index in the set. */
        info->orderByConsumed =
            !in && info->nOrderBy == 1 && info->aOrderBy[0].iColumn == ARGS_ID && !info->aOrderBy[0].desc;
    }
    if (key >= 0) {
        info->idxNum |= 4;
        info->aConstraintUsage[key].argvIndex = ++count;
    }
    return SQLITE_OK;
}

static int args_connect(sqlite3 *db, void *user, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    return query_connect(db, columns, user, 0, out);
}

/* ---- cursors ---- */

static int args_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    return query_cursor_new(out, sizeof(args_cursor));
}

static query_tables *tables_of(const args_cursor *cursor)
{
    return ((query_vtab *)cursor->base.pVtab)->user;
}

static void reset(args_cursor *cursor)
{
    for (size_t i = 0; cursor->wanted && i < tables_of(cursor)->count; i++) free(cursor->wanted[i]);
    free(cursor->wanted);
    free(cursor->ids);
    free(cursor->key);
    cursor->wanted = NULL;
    cursor->ids = NULL;
    cursor->key = NULL;
    cursor->id_count = cursor->id_at = cursor->part = 0;
    cursor->row = 0;
    cursor->ended = false;
}

static int args_close(sqlite3_vtab_cursor *base)
{
    args_cursor *cursor = (args_cursor *)base;
    reset(cursor);
    query_arg_set_deinit(&cursor->set);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* Whether a shape can have a key that equals, or begins, the requested key. */
static bool shape_may_have(const args_cursor *cursor, const query_source *source, uint32_t shape)
{
    const hd_shape *about_shape = hd_trace_shape_at(source->trace, shape);
    for (uint32_t k = 0; k < about_shape->key_count; k++) {
        const char *key = cursor->key;
        size_t size = cursor->key_size;
        hd_string name = hd_trace_string(source->trace, about_shape->keys[k].key);
        if (about_shape->keys[k].scope == HD_SCOPE_ARGS) {
            if (size < 5 || memcmp(key, "args.", 5) != 0) continue;
            key += 5;
            size -= 5;
        }
        bool begins = size >= name.size && memcmp(key, name.data, name.size) == 0;
        if (begins && (size == name.size || key[name.size] == '.' || key[name.size] == '[')) return true;
    }
    return false;
}

static bool is_wanted(args_cursor *cursor, const query_source *source, uint32_t shape)
{
    if (!cursor->key) return true;
    uint8_t *known = &cursor->wanted[source->index][shape];
    if (!*known) *known = shape_may_have(cursor, source, shape) ? 2 : 1;
    return *known == 2;
}

/* Parts of an input: its slices, instants, async slices, then tracks, then counters. */
enum { PART_TRACKS = SLICE_KINDS, PART_COUNTERS, PARTS };

static uint64_t rows_of(const args_cursor *cursor, size_t part)
{
    const query_tables *tables = tables_of(cursor);
    const query_source *source = &tables->sources[part / PARTS];
    size_t owner = part % PARTS;
    if (owner < SLICE_KINDS) return tables->slice->sections[part / PARTS * SLICE_KINDS + owner].count;
    return owner == PART_TRACKS ? hd_trace_track_count(source->trace)
                                : hd_trace_row_count(source->trace, HD_KIND_COUNTER);
}

static int64_t id_of(const args_cursor *cursor, size_t part, uint64_t row)
{
    const query_source *source = &tables_of(cursor)->sources[part / PARTS];
    size_t owner = part % PARTS;
    if (owner < SLICE_KINDS)
        return query_id(source, (uint64_t)owner << QUERY_KIND_SHIFT | row) << QUERY_ARG_SHIFT | QUERY_ARGS_SLICE;
    return query_id(source, row) << QUERY_ARG_SHIFT | (owner == PART_TRACKS ? QUERY_ARGS_TRACK : QUERY_ARGS_COUNTER);
}

/* The next set, of all sets that may have rows; false: no more. */
static bool next_of_all(args_cursor *cursor, hd_status *status, hd_error *err)
{
    query_tables *tables = tables_of(cursor);
    for (; cursor->part < tables->count * PARTS; cursor->part++, cursor->row = 0) {
        for (uint64_t rows = rows_of(cursor, cursor->part); cursor->row < rows;) {
            hd_event event;
            query_source *source;
            int64_t id = id_of(cursor, cursor->part, cursor->row++);
            if (cursor->row % CHECK_SETS == 0 && (*status = query_check_stop(tables, err)) != HD_OK) return false;
            bool is_track = cursor->part % PARTS == PART_TRACKS;
            if (!is_track && (!query_arg_event(&event, &source, tables, id) || !event.args ||
                              !is_wanted(cursor, source, event.shape)))
                continue;
            cursor->id = id;
            return true;
        }
    }
    return false;
}

static hd_status next_set(args_cursor *cursor, hd_error *err)
{
    hd_status status = HD_OK;
    cursor->at = 0;
    for (;;) {
        bool more = cursor->ids ? cursor->id_at < cursor->id_count : next_of_all(cursor, &status, err);
        HD_TRY(status);
        cursor->ended = !more;
        if (!more) return HD_OK;
        if (cursor->ids) cursor->id = cursor->ids[cursor->id_at++];
        HD_TRY(query_arg_set_read(&cursor->set, tables_of(cursor), cursor->id, err));
        if (cursor->set.count) return HD_OK;
    }
}

static hd_status set_ids(args_cursor *cursor, bool in, sqlite3_value *list, hd_error *err)
{
    size_t capacity = 0;
    sqlite3_value *value = list;
    if (!hd_grow((void **)&cursor->ids, &capacity, 0, sizeof *cursor->ids)) return HD_NOMEM(err);
    int code = in ? sqlite3_vtab_in_first(list, &value) : SQLITE_OK;
    while (code == SQLITE_OK && value) {
        query_bounds bounds = QUERY_ALL;
        query_bounds_add(&bounds, SQLITE_INDEX_CONSTRAINT_EQ, value);
        if (bounds.low <= bounds.high) {
            if (!hd_grow((void **)&cursor->ids, &capacity, cursor->id_count, sizeof *cursor->ids)) return HD_NOMEM(err);
            cursor->ids[cursor->id_count++] = bounds.low;
        }
        value = NULL;
        code = in ? sqlite3_vtab_in_next(list, &value) : SQLITE_DONE;
    }
    return HD_OK;
}

static hd_status set_key(args_cursor *cursor, sqlite3_value *value, hd_error *err)
{
    const query_tables *tables = tables_of(cursor);
    const char *text = (const char *)sqlite3_value_text(value);
    cursor->key_size = text ? (size_t)sqlite3_value_bytes(value) : 0;
    cursor->key = text ? strndup(text, cursor->key_size) : strdup("");
    cursor->wanted = calloc(tables->count, sizeof *cursor->wanted);
    bool room = cursor->key && cursor->wanted;
    for (size_t i = 0; i < tables->count && room; i++) {
        cursor->wanted[i] = calloc((size_t)hd_trace_shape_count(tables->sources[i].trace) + 1, 1);
        room = cursor->wanted[i] != NULL;
    }
    return room ? HD_OK : HD_NOMEM(err);
}

static int args_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc, sqlite3_value **argv)
{
    (void)text;
    args_cursor *cursor = (args_cursor *)base;
    hd_error error;
    hd_status status = HD_OK;
    reset(cursor);
    if (plan & 3) status = set_ids(cursor, plan & 2, argv[0], &error);
    if (status == HD_OK && plan & 4 && !(plan & 3)) status = set_key(cursor, argv[argc - 1], &error);
    if (status == HD_OK) status = next_set(cursor, &error);
    return status == HD_OK ? SQLITE_OK : query_fail(base->pVtab, tables_of(cursor), &error);
}

static int args_next(sqlite3_vtab_cursor *base)
{
    args_cursor *cursor = (args_cursor *)base;
    hd_error error;
    if (++cursor->at < cursor->set.count) return SQLITE_OK;
    return next_set(cursor, &error) == HD_OK ? SQLITE_OK : query_fail(base->pVtab, tables_of(cursor), &error);
}

static int args_eof(sqlite3_vtab_cursor *base)
{
    return ((args_cursor *)base)->ended;
}

static void display(sqlite3_context *context, const query_arg *arg)
{
    char text[40];
    if (arg->value.type == SQLITE_TEXT) {
        sqlite3_result_text64(context, arg->value.text.data, arg->value.text.size, SQLITE_TRANSIENT, SQLITE_UTF8);
        return;
    }
    if (arg->value.type == SQLITE_FLOAT)
        sqlite3_snprintf(sizeof text, text, "%!.15g", arg->value.real);
    else if (arg->type[0] == 'b')
        sqlite3_snprintf(sizeof text, text, "%s", arg->value.integer ? "true" : "false");
    else
        sqlite3_snprintf(sizeof text, text, "%lld", (long long)arg->value.integer);
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void result_text(sqlite3_context *context, hd_string text)
{
    sqlite3_result_text64(context, text.data, text.size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static int args_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const args_cursor *cursor = (const args_cursor *)base;
    const query_arg *arg = &cursor->set.list[cursor->at];
    int type = arg->value.type;
    switch (column) {
    case ARGS_ID: sqlite3_result_int64(context, (int64_t)cursor->at); break;
    case ARGS_SET: sqlite3_result_int64(context, cursor->id); break;
    case ARGS_FLAT_KEY: result_text(context, arg->flat_key); break;
    case ARGS_KEY: result_text(context, arg->key); break;
    case ARGS_INT:
        if (type == SQLITE_INTEGER) sqlite3_result_int64(context, arg->value.integer);
        break;
    case ARGS_STRING:
        if (type == SQLITE_TEXT) result_text(context, arg->value.text);
        break;
    case ARGS_REAL:
        if (type == SQLITE_FLOAT) sqlite3_result_double(context, arg->value.real);
        break;
    case ARGS_TYPE: sqlite3_result_text(context, arg->type, -1, SQLITE_STATIC); break;
    case ARGS_DISPLAY: display(context, arg); break;
    case ARGS_INPUT: sqlite3_result_int64(context, cursor->id >> (QUERY_INPUT_SHIFT + QUERY_ARG_SHIFT)); break;
    default:
        query_result_int(context, tables_of(cursor)->sources[cursor->id >> (QUERY_INPUT_SHIFT + QUERY_ARG_SHIFT)].rank);
    }
    return SQLITE_OK;
}

static int args_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const args_cursor *cursor = (const args_cursor *)base;
    *out = (sqlite3_int64)((uint64_t)cursor->id << 16 ^ cursor->at);
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = args_connect,
    .xBestIndex = args_best_index,
    .xDisconnect = query_disconnect,
    .xOpen = args_open,
    .xClose = args_close,
    .xFilter = args_filter,
    .xNext = args_next,
    .xEof = args_eof,
    .xColumn = args_column,
    .xRowid = args_rowid,
};

/* ---- extract_arg(arg_set_id, key) ---- */

static void extract_arg(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    query_tables *tables = sqlite3_user_data(context);
    const char *key = (const char *)sqlite3_value_text(values[1]);
    query_arg_set scratch = {0};
    query_cell cell;
    hd_error error;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL || !key) return;
    hd_status status = query_arg_find(&cell, &scratch, tables, sqlite3_value_int64(values[0]), key,
                                      (size_t)sqlite3_value_bytes(values[1]), &error);
    if (status != HD_OK)
        sqlite3_result_error_nomem(context);
    else if (cell.type == SQLITE_TEXT)
        result_text(context, cell.text);
    else
        query_cell_result(context, &cell);
    query_arg_set_deinit(&scratch);
}

hd_status query_args_register(query_tables *tables, hd_error *err)
{
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int code =
        sqlite3_create_function_v2(tables->query->db, "extract_arg", 2, flags, tables, extract_arg, NULL, NULL, NULL);
    if (code != SQLITE_OK) return query_failed(tables->query, code, err);
    HD_TRY(query_add_about(tables, &about, err));
    return query_add_module(tables, "args", &module, tables, err);
}
