/* arg_set.c - splits the arguments of events into keys and values */
#include "query/tables/arg_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/memory/vector.h"
#include "query/tables/counters.h"

enum { DEPTH_MAX = 32, KEY_BYTES_MAX = 4096 };

/* ---- which keys count ---- */

static bool is_arg(const hd_trace *trace, hd_arg_key key)
{
    static const char *const columns[] = {"tts", "tdur",  "tidelta", "ticount", "s",   "dur",
                                          "ts",  "scope", "bp",      "id",      "id2", "sf"};
    if (key.type == HD_ARG_NULL) return false;
    if (key.scope == HD_SCOPE_ARGS) return true;
    hd_string name = hd_trace_string(trace, key.key);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strlen(columns[i]) == name.size && memcmp(columns[i], name.data, name.size) == 0) return false;
    return true;
}

bool *query_shapes_with_args(const hd_trace *trace)
{
    uint32_t count = hd_trace_shape_count(trace);
    bool *out = calloc((size_t)count + 1, sizeof *out);
    for (uint32_t i = 0; i < count && out; i++) {
        const hd_shape *shape = hd_trace_shape_at(trace, i);
        for (uint32_t k = 0; k < shape->key_count; k++) out[i] |= is_arg(trace, shape->keys[k]);
    }
    return out;
}

/* ---- whose they are ---- */

static query_source *source_of(const query_tables *tables, int64_t id)
{
    uint64_t at = (uint64_t)id >> (QUERY_INPUT_SHIFT + QUERY_ARG_SHIFT);
    return id >= 0 && at < tables->count ? &tables->sources[at] : NULL;
}

bool query_arg_event(hd_event *out, query_source **out_source, const query_tables *tables, int64_t id)
{
    query_source *source = source_of(tables, id);
    uint64_t row = (uint64_t)id >> QUERY_ARG_SHIFT & (((uint64_t)1 << QUERY_INPUT_SHIFT) - 1);
    hd_kind kind = HD_KIND_COUNTER;
    if (!source) return false;
    if ((id & ((1 << QUERY_ARG_SHIFT) - 1)) == QUERY_ARGS_SLICE) {
        static const hd_kind kinds[] = {HD_KIND_SLICE, HD_KIND_INSTANT, HD_KIND_ASYNC, HD_KIND_COUNT};
        kind = kinds[row >> QUERY_KIND_SHIFT];
        row &= ((uint64_t)1 << QUERY_KIND_SHIFT) - 1;
        if (kind == HD_KIND_ASYNC && (!source->async || row >= source->async->slice_count)) return false;
        if (kind == HD_KIND_ASYNC) row = source->async->slices[row].row;
    } else if ((id & ((1 << QUERY_ARG_SHIFT) - 1)) != QUERY_ARGS_COUNTER) {
        return false;
    }
    if (kind == HD_KIND_COUNT || row >= hd_trace_row_count(source->trace, kind)) return false;
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, source->trace, kind, row);
    hd_block_event(out, block, at);
    *out_source = source;
    return true;
}

/* ---- values ---- */

static hd_status add_arg(query_arg_set *set, hd_string key, hd_string flat, const char *type, const query_cell *value,
                         hd_error *err)
{
    if (!hd_grow((void **)&set->list, &set->capacity, set->count, sizeof *set->list)) return HD_NOMEM(err);
    set->list[set->count++] = (query_arg){.key = key, .flat_key = flat, .type = type, .value = *value};
    return HD_OK;
}

/* A key with a suffix, in the arena. */
static bool join(hd_string *out, query_arg_set *set, hd_string key, const char *mark, hd_string more)
{
    size_t mark_size = strlen(mark), size = key.size + mark_size + more.size;
    char *text = size <= KEY_BYTES_MAX ? hd_arena_alloc(&set->arena, size + 1) : NULL;
    if (!text) return false;
    memcpy(text, key.data, key.size);
    memcpy(text + key.size, mark, mark_size);
    memcpy(text + key.size + mark_size, more.data, more.size);
    *out = (hd_string){text, size};
    return true;
}

static hd_status add_number(query_arg_set *set, hd_string key, hd_string flat, const char *from, const char *end,
                            hd_error *err)
{
    query_cell cell = {.type = SQLITE_NULL};
    hd_json_number number;
    char copy[64];
    int64_t whole;
    if (hd_json_scan_number(&number, from) && hd_json_number_whole(&whole, &number)) {
        query_cell_int(&cell, whole);
        return add_arg(set, key, flat, "int", &cell, err);
    }
    snprintf(copy, sizeof copy, "%.*s", (int)(end - from < 63 ? end - from : 63), from);
    query_cell_real(&cell, strtod(copy, NULL));
    return add_arg(set, key, flat, "real", &cell, err);
}

static hd_status add_scalar(query_arg_set *set, hd_string key, hd_string flat, const char *from, const char *end,
                            hd_error *err)
{
    query_cell cell = {.type = SQLITE_NULL};
    hd_json_text text;
    if (*from == '"') {
        size_t size = 0;
        char *decoded = hd_json_string(&text, from + 1) ? hd_arena_alloc(&set->arena, text.size + 1) : NULL;
        if (!decoded) return HD_NOMEM(err);
        if (!hd_json_decode(decoded, &size, &text)) return HD_OK;
        query_cell_text(&cell, (hd_string){decoded, size});
        return add_arg(set, key, flat, "string", &cell, err);
    }
    if (*from == 'n') return HD_OK;
    if (*from != 't' && *from != 'f') return add_number(set, key, flat, from, end, err);
    query_cell_int(&cell, *from == 't');
    return add_arg(set, key, flat, "bool", &cell, err);
}

static hd_status add_json(query_arg_set *set, hd_string key, hd_string flat, const char *from, unsigned depth,
                          hd_error *err);

/* Adds a member of an object or array; its value begins at `from`. */
static hd_status add_member(query_arg_set *set, hd_string key, hd_string flat, bool is_object, hd_string name,
                            const char *from, unsigned depth, hd_error *err)
{
    hd_string inner, inner_flat = flat;
    bool room = join(&inner, set, key, is_object ? "." : "", name);
    if (room && is_object) room = join(&inner_flat, set, flat, ".", name);
    return room ? add_json(set, inner, inner_flat, from, depth + 1, err)
                : HD_OK; /* a key that is longer than all sense */
}

static hd_status add_json(query_arg_set *set, hd_string key, hd_string flat, const char *from, unsigned depth,
                          hd_error *err)
{
    const char *end = hd_json_skip_value(from), *p = from + 1;
    bool is_object = *from == '{';
    if (!end) return HD_OK;
    if (!is_object && *from != '[') return add_scalar(set, key, flat, from, end, err);
    if (depth >= DEPTH_MAX) {
        query_cell cell = {.type = SQLITE_NULL};
        query_cell_text(&cell, (hd_string){from, (size_t)(end - from)});
        return add_arg(set, key, flat, "string", &cell, err);
    }
    for (size_t number = 0;; number++) {
        char index[32], *name;
        hd_json_text text;
        hd_string member = {index, (size_t)snprintf(index, sizeof index, "[%zu]", number)};
        p = hd_json_skip_space(p);
        if (*p == '}' || *p == ']') return HD_OK;
        if (is_object) {
            p = hd_json_string(&text, p + 1);
            name = p ? hd_arena_alloc(&set->arena, text.size + 1) : NULL;
            if (!name) return HD_NOMEM(err);
            if (!hd_json_decode(name, &member.size, &text)) member.size = 0;
            member.data = name;
            p = hd_json_skip_space(hd_json_skip_space(p) + 1);
        }
        HD_TRY(add_member(set, key, flat, is_object, member, p, depth, err));
        p = hd_json_skip_space(hd_json_skip_value(p));
        if (*p != ',') return HD_OK;
        p++;
    }
}

hd_status query_arg_set_json(query_arg_set *set, hd_string key, hd_string json, hd_error *err)
{
    char *copy = hd_arena_alloc(&set->arena, json.size + HD_JSON_PADDING);
    if (!copy) return HD_NOMEM(err);
    memcpy(copy, json.data, json.size);
    memset(copy + json.size, 0, HD_JSON_PADDING);
    const char *start = hd_json_skip_space(copy), *end = hd_json_skip_value(start);
    return end && end <= copy + json.size ? add_json(set, key, key, start, 0, err) : HD_OK;
}

static hd_status add_value(query_arg_set *set, const query_source *source, hd_string key, hd_value value, hd_error *err)
{
    query_cell cell = {.type = SQLITE_NULL};
    double number = 0;
    hd_string text = hd_trace_string(source->trace, (uint32_t)value.bits);
    switch (value.type) {
    case HD_ARG_BOOL: query_cell_int(&cell, value.bits); return add_arg(set, key, key, "bool", &cell, err);
    case HD_ARG_INT: query_cell_int(&cell, value.bits); return add_arg(set, key, key, "int", &cell, err);
    case HD_ARG_STRING: query_cell_text(&cell, text); return add_arg(set, key, key, "string", &cell, err);
    case HD_ARG_DECIMAL:
    case HD_ARG_NUMBER:
        if (!hd_value_double(&number, source->trace, value)) return HD_OK;
        query_cell_real(&cell, number);
        return add_arg(set, key, key, "real", &cell, err);
    case HD_ARG_JSON: return query_arg_set_json(set, key, text, err);
    default: return HD_OK;
    }
}

/* ---- sets ---- */

void query_arg_set_deinit(query_arg_set *set)
{
    hd_arena_deinit(&set->arena);
    free(set->list);
    *set = (query_arg_set){0};
}

static void clear(query_arg_set *set)
{
    hd_arena_deinit(&set->arena);
    set->arena = (hd_arena){0};
    set->count = 0;
}

static hd_status add_key(query_arg_set *set, const query_source *source, const hd_event *event, uint32_t k,
                         hd_error *err)
{
    const hd_arg_key key = hd_trace_shape_at(source->trace, event->shape)->keys[k];
    hd_value value = {.type = (hd_arg_type)key.type, .bits = hd_column_at(&event->args->columns[k], event->args_row)};
    hd_string name = hd_trace_string(source->trace, key.key);
    if (key.scope == HD_SCOPE_ARGS && !join(&name, set, (hd_string){"args", 4}, ".", name)) return HD_NOMEM(err);
    return add_value(set, source, name, value, err);
}

static hd_status read_track(query_arg_set *set, const query_source *source, uint64_t row, hd_error *err)
{
    if (row >= hd_trace_track_count(source->trace)) return HD_OK;
    const hd_track *track = hd_trace_track_at(source->trace, (uint32_t)row);
    query_cell cell = {.type = SQLITE_NULL};
    bool of_process = track->kind == HD_TRACK_PROCESS;
    const char *name = of_process ? "process_sort_index_hint" : "thread_sort_index_hint";
    hd_string key = {name, strlen(name)};
    query_cell_int(&cell, track->sort_index);
    return cell.type == SQLITE_NULL ? HD_OK : add_arg(set, key, key, "int", &cell, err);
}

hd_status query_arg_set_read(query_arg_set *out, const query_tables *tables, int64_t id, hd_error *err)
{
    hd_event event;
    query_source *source = source_of(tables, id);
    clear(out);
    if (source && (id & ((1 << QUERY_ARG_SHIFT) - 1)) == QUERY_ARGS_TRACK)
        return read_track(out, source, (uint64_t)id >> QUERY_ARG_SHIFT & (((uint64_t)1 << QUERY_INPUT_SHIFT) - 1), err);
    if (!query_arg_event(&event, &source, tables, id) || !event.args) return HD_OK;
    const hd_shape *shape = hd_trace_shape_at(source->trace, event.shape);
    for (uint32_t k = 0; k < shape->key_count; k++)
        if (is_arg(source->trace, shape->keys[k])) HD_TRY(add_key(out, source, &event, k, err));
    return HD_OK;
}

/* ---- one argument ---- */

static bool is_same(hd_string text, const char *key, size_t size)
{
    return text.size == size && memcmp(text.data, key, size) == 0;
}

/* Finds a key of the shape by its unmodified name. */
static int find_key(const hd_trace *trace, const hd_shape *shape, const char *key, size_t size)
{
    static const char *const prefixes[] = {"args.", "debug."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t skip = strlen(prefixes[i]);
        if (size <= skip || memcmp(key, prefixes[i], skip) != 0) continue;
        uint32_t name = hd_trace_find_string(trace, key + skip, size - skip);
        int found = hd_shape_find(shape, name, HD_SCOPE_ARGS);
        if (found >= 0) return found;
    }
    uint32_t name = hd_trace_find_string(trace, key, size);
    if (name == HD_NONE) return -1;
    int found = hd_shape_find(shape, name, HD_SCOPE_EVENT);
    return found >= 0 ? found : hd_shape_find(shape, name, HD_SCOPE_ARGS);
}

hd_status query_arg_find(query_cell *out, query_arg_set *scratch, const query_tables *tables, int64_t id,
                         const char *key, size_t size, hd_error *err)
{
    hd_event event;
    query_source *source;
    *out = (query_cell){.type = SQLITE_NULL};
    if (query_arg_event(&event, &source, tables, id)) {
        if (!event.args) return HD_OK;
        const hd_shape *shape = hd_trace_shape_at(source->trace, event.shape);
        int found = find_key(source->trace, shape, key, size);
        if (found < 0 && !memchr(key, '[', size) && !memchr(key, '.', size)) return HD_OK;
        if (found >= 0 && shape->keys[found].type != HD_ARG_JSON) {
            clear(scratch);
            HD_TRY(add_key(scratch, source, &event, (uint32_t)found, err));
            if (scratch->count) *out = scratch->list[0].value;
            return HD_OK;
        }
    }
    HD_TRY(query_arg_set_read(scratch, tables, id, err));
    for (size_t i = 0; i < scratch->count; i++) {
        hd_string full = scratch->list[i].key;
        bool is_args = full.size > 5 && memcmp(full.data, "args.", 5) == 0;
        bool same =
            is_same(full, key, size) || (is_args && is_same((hd_string){full.data + 5, full.size - 5}, key, size));
        if (!same) continue;
        *out = scratch->list[i].value;
        return HD_OK;
    }
    return HD_OK;
}
