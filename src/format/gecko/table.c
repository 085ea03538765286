/* table.c - reads a table of a Firefox profile row by row, stored as rows or as columns */
#include "format/gecko/gecko.h"

#include "base/text/decimal.h"
#include "trace/text.h"

static hd_status read_schema(gecko_table *t, const char *at, const char *const *names)
{
    bool is_null, first = true, is_number;
    int64_t place;
    hd_string key;
    hd_status status;
    HD_TRY(hd_walk_try_enter(t->walk, &at, '{', &is_null));
    if (is_null) return HD_OK;
    while ((status = hd_walk_member(&key, t->walk, &at, &first)) == HD_OK) {
        size_t column = 0;
        while (column < t->count && !hd_string_is(key, names[column])) column++;
        HD_TRY(hd_walk_int(&place, &is_number, t->walk, &at));
        if (column < t->count && is_number && place >= 0 && place < GECKO_CELLS) t->places[place] = (int)column;
    }
    return status == HD_END ? HD_OK : status;
}

static hd_status open_list(gecko_table *t, const char **list)
{
    bool is_null;
    HD_TRY(hd_walk_try_enter(t->walk, list, '[', &is_null));
    if (is_null) *list = NULL;
    return HD_OK;
}

hd_status gecko_table_open(gecko_table *out, hd_json_walk *walk, const char *at, const char *const *names, size_t count)
{
    bool is_null, first = true;
    hd_string key;
    hd_status status;
    const char *schema = NULL, *data = NULL;
    *out = (gecko_table){.walk = walk, .count = count};
    for (int i = 0; i < GECKO_CELLS; i++) out->places[i] = -1;
    for (int i = 0; i < GECKO_COLUMNS; i++) out->first[i] = true;
    HD_TRY(hd_walk_try_enter(walk, &at, '{', &is_null));
    if (is_null) return HD_OK;
    while ((status = hd_walk_member(&key, walk, &at, &first)) == HD_OK) {
        if (hd_string_is(key, "schema")) schema = at;
        if (hd_string_is(key, "data")) data = at;
        for (size_t i = 0; i < count; i++) {
            if (hd_string_is(key, names[i])) out->at[i] = at;
        }
        hd_walk_pass_over(walk, &at);
    }
    if (status != HD_END) return status;
    out->has_rows = schema != NULL;
    if (out->has_rows) {
        HD_TRY(read_schema(out, schema, names));
        out->at[0] = data;
        return open_list(out, &out->at[0]);
    }
    for (size_t i = 0; i < count; i++) {
        if (out->at[i] && *out->at[i] != '[') out->at[i] = NULL; /* a single value for all rows */
        HD_TRY(open_list(out, &out->at[i]));
    }
    return HD_OK;
}

/* The next row that is a list. A cut-off row is none. */
static hd_status read_row(gecko_table *t)
{
    bool is_null = true, first = true;
    int place = 0;
    hd_status status;
    while (is_null) {
        HD_TRY(hd_walk_item(t->walk, &t->at[0], &t->first[0]));
        HD_TRY(hd_walk_try_enter(t->walk, &t->at[0], '[', &is_null));
    }
    const char *end = t->at[0];
    while ((status = hd_walk_item(t->walk, &t->at[0], &first)) == HD_OK) {
        int column = place < GECKO_CELLS ? t->places[place] : -1;
        if (column >= 0 && *t->at[0] != 'n') t->cells[column] = t->at[0];
        place++;
        hd_walk_pass_over(t->walk, &t->at[0]);
        end = t->at[0];
    }
    if (status != HD_END) return status;
    bool is_whole = t->at[0] < t->walk->text + t->walk->size || *hd_json_skip_space(end) == ']';
    return is_whole ? HD_OK : HD_END;
}

hd_status gecko_table_next(gecko_table *t)
{
    bool any = false;
    memset(t->cells, 0, sizeof t->cells);
    if (t->has_rows) return t->at[0] ? read_row(t) : HD_END;
    for (size_t i = 0; i < t->count; i++) {
        if (!t->at[i]) continue;
        hd_status status = hd_walk_item(t->walk, &t->at[i], &t->first[i]);
        if (status != HD_OK && status != HD_END) return status;
        if (status == HD_END) {
            t->at[i] = NULL;
            continue;
        }
        if (*t->at[i] != 'n') t->cells[i] = t->at[i];
        hd_walk_pass_over(t->walk, &t->at[i]);
        any = true;
    }
    return any ? HD_OK : HD_END;
}

int64_t gecko_table_index(const gecko_table *t, size_t column)
{
    int64_t value;
    const char *cell = t->cells[column];
    const char *end = cell ? hd_json_skip_number(cell) : NULL;
    if (!end || end == t->walk->text + t->walk->size) return -1;
    return hd_fixed_parse_whole(&value, cell, (size_t)(end - cell)) && value >= 0 ? value : -1;
}
