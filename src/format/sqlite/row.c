/* row.c - a row of a table as an event: its columns by their roles, its arguments, its shape */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "format/numbers.h"
#include "format/sqlite/map.h"
#include "format/stack_text.h"
#include "trace/lazy.h"

const char SQ_PLACED[] = "";
static const sq_value null_value = {.type = SQ_NULL};

/* ---- plans ---- */

static const sq_map_column *find_column(const sq_map_column *columns, const char *name)
{
    for (const sq_map_column *c = columns; c && c->name; c++) {
        if (strcasecmp(c->name, name) == 0) return c;
    }
    return NULL;
}

/* The names of an enumeration, read when a column first needs them. *out NULL: no such table. */
static hd_status find_labels(const sq_strings **out, sq_reader *reader, const char *table, hd_error *err)
{
    struct sq_labels *l = reader->labels;
    *out = NULL;
    while (l->table && strcmp(l->table, table) != 0) {
        if (++l == reader->labels + SQ_LABEL_TABLES) return HD_OK;
    }
    if (!l->table) {
        l->table = table;
        HD_TRY(sq_strings_read(&l->strings, reader, table, "id", "name", err));
    }
    *out = &l->strings;
    return HD_OK;
}

hd_status sq_plan_init(sq_plan *plan, sq_reader *reader, const sq_map_table *map, const sq_table *table,
                       const sq_map_column *common, hd_error *err)
{
    *plan = (sq_plan){.map = map, .table = table, .scope = sq_scope_of(reader, table)};
    const char *category = map->category ? map->category : table->name;
    if (!hd_utf8_valid(category, strlen(category), false)) category = "?";
    plan->category = hd_builder_intern_text(reader->builder, category);
    for (uint32_t i = 0; i < table->column_count; i++) {
        const char *name = table->columns[i], *key = name;
        const sq_map_column *column = find_column(map->columns, name);
        if (!column) column = find_column(common, name);
        plan->roles[i] = column ? column->role : SQ_ARG;
        if (column && column->key) key = column->key;
        plan->has_times |= plan->roles[i] == SQ_START;
        if (!hd_utf8_valid(key, strlen(key), false)) key = "?";
        bool has_key = plan->roles[i] <= SQ_LABEL || plan->roles[i] == SQ_EXTRA;
        plan->keys[i] = has_key ? hd_builder_intern_text(reader->builder, key) : HD_STRING_NONE;
        if (has_key && plan->keys[i] == HD_STRING_NONE) return HD_NOMEM(err);
        if (plan->roles[i] == SQ_LABEL) HD_TRY(find_labels(&plan->labels[i], reader, column->labels, err));
        if (plan->roles[i] == SQ_STRING) plan->labels[i] = &reader->strings;
    }
    return plan->category != HD_STRING_NONE ? HD_OK : HD_NOMEM(err);
}

/* ---- values ---- */

int64_t sq_value_number(const sq_value *value)
{
    int64_t number;
    switch (value->type) {
    case SQ_INT: return value->number;
    case SQ_REAL:
        if (value->real >= -9e18 && value->real <= 9e18) return (int64_t)value->real;
        return HD_NO_NUMBER;
    case SQ_TEXT: return hd_fixed_parse_whole(&number, value->data, value->size) ? number : HD_NO_NUMBER;
    default: return HD_NO_NUMBER;
    }
}

int64_t sq_field(const sq_worker *w, int field)
{
    return sq_value_number(w->fields[field - SQ_FIELD]);
}

uint32_t sq_value_text(sq_worker *w, const sq_value *value)
{
    if (value->type != SQ_TEXT) return HD_STRING_NONE;
    if (hd_utf8_valid(value->data, value->size, false))
        return hd_builder_intern(w->reader->builder, value->data, value->size);
    w->text.size = 0;
    w->text_repairs += hd_text_put_utf8(&w->text, value->data, value->size);
    if (w->text.failed) {
        hd_builder_fail(w->reader->builder);
        return HD_STRING_NONE;
    }
    return hd_builder_intern(w->reader->builder, (char *)w->text.data, w->text.size);
}

uint32_t sq_field_text(sq_worker *w, int field)
{
    return sq_value_text(w, w->fields[field - SQ_FIELD]);
}

uint32_t sq_field_string_of(sq_worker *w, const sq_strings *strings, int field)
{
    const sq_value *value = w->fields[field - SQ_FIELD];
    uint32_t text = HD_STRING_NONE;
    if (value->type != SQ_INT) return text;
    if (!hd_map_get(&text, &strings->map, (uint64_t)value->number, w->scope)) w->texts_missing++;
    return text;
}

uint32_t sq_field_string(sq_worker *w, int field)
{
    return sq_field_string_of(w, &w->reader->strings, field);
}

uint32_t sq_intern(hd_builder *builder, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (size < 0) size = 0;
    if ((size_t)size >= sizeof text) size = sizeof text - 1;
    while (size && !hd_utf8_valid(text, (size_t)size, false)) size--; /* cut within a character */
    return hd_builder_intern(builder, text, (size_t)size);
}

hd_ident sq_number_ident(hd_builder *builder, int64_t value)
{
    return (hd_ident){HD_IDENT_NUMBER, sq_intern(builder, "%lld", (long long)value)};
}

hd_ident sq_text_ident(hd_builder *builder, const char *format, ...)
{
    char text[128];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return (hd_ident){HD_IDENT_STRING, hd_builder_intern_text(builder, text)};
}

/* ---- arguments ---- */

void sq_add(sq_worker *w, uint32_t key, hd_arg_type type, int64_t bits)
{
    if (w->item_count == SQ_ITEMS) {
        w->arguments_lost++;
        return;
    }
    w->items[w->item_count++] = (sq_item){key, (uint8_t)type, bits};
}

void sq_add_real(sq_worker *w, uint32_t key, double value)
{
    int64_t bits;
    hd_arg_type type = hd_value_of_double(&bits, w->reader->builder, value);
    sq_add(w, key, type, bits);
}

void sq_add_field(sq_worker *w, const char *key, int field)
{
    int64_t value = sq_field(w, field);
    if (value != HD_NO_NUMBER) sq_add(w, hd_builder_intern_text(w->reader->builder, key), HD_ARG_INT, value);
}

void sq_add_three(sq_worker *w, uint32_t key, const int64_t numbers[3])
{
    const long long n[3] = {numbers[0], numbers[1], numbers[2]};
    if (n[0] == HD_NO_NUMBER || n[1] == HD_NO_NUMBER || n[2] == HD_NO_NUMBER) return;
    sq_add(w, key, HD_ARG_JSON, sq_intern(w->reader->builder, "[%lld,%lld,%lld]", n[0], n[1], n[2]));
}

void sq_add_triple(sq_worker *w, uint32_t key, int x, int y, int z)
{
    sq_add_three(w, key, (const int64_t[]){sq_field(w, x), sq_field(w, y), sq_field(w, z)});
}

static void add_hex(sq_worker *w, uint32_t key, const sq_value *value)
{
    static const char digits[] = "0123456789abcdef";
    w->text.size = 0;
    uint8_t *room = hd_bytes_room(&w->text, 2 * value->size + 1);
    if (!room) return hd_builder_fail(w->reader->builder);
    for (size_t i = 0; i < value->size; i++) {
        room[2 * i] = (uint8_t)digits[(uint8_t)value->data[i] >> 4];
        room[2 * i + 1] = (uint8_t)digits[value->data[i] & 15];
    }
    sq_add(w, key, HD_ARG_STRING, hd_builder_intern(w->reader->builder, (char *)room, 2 * value->size));
}

void sq_add_value(sq_worker *w, uint32_t key, const sq_strings *labels, const sq_value *value)
{
    switch (value->type) {
    case SQ_NULL: break;
    case SQ_INT: {
        uint64_t scope = labels == &w->reader->strings ? w->scope : 0;
        uint32_t text = labels ? sq_strings_in(labels, value->number, scope) : HD_STRING_NONE;
        if (text != HD_STRING_NONE)
            sq_add(w, key, HD_ARG_STRING, text);
        else
            sq_add(w, key, HD_ARG_INT, value->number);
        break;
    }
    case SQ_REAL: sq_add_real(w, key, value->real); break;
    case SQ_TEXT: sq_add(w, key, HD_ARG_STRING, sq_value_text(w, value)); break;
    case SQ_BLOB: add_hex(w, key, value); break;
    }
}

/* The number in a text; false: not a number in the range of a double. */
static bool real_of(double *out, const sq_value *value)
{
    char text[40], *end;
    if (value->type != SQ_TEXT || value->size == 0 || value->size >= sizeof text) return false;
    memcpy(text, value->data, value->size);
    text[value->size] = '\0';
    *out = strtod(text, &end);
    return end == text + value->size;
}

void sq_add_number(sq_worker *w, uint32_t key, int field)
{
    const sq_value *value = w->fields[field - SQ_FIELD];
    int64_t number = value->type == SQ_REAL ? HD_NO_NUMBER : sq_value_number(value);
    double real;
    if (number != HD_NO_NUMBER)
        sq_add(w, key, HD_ARG_INT, number);
    else if (real_of(&real, value))
        sq_add_real(w, key, real);
    else
        sq_add_value(w, key, NULL, value);
}

/* A text, or the id of one among the strings. */
static uint32_t text_of(sq_worker *w, const sq_strings *strings, const sq_value *value)
{
    return value->type == SQ_INT ? sq_strings_in(strings, value->number, w->scope) : sq_value_text(w, value);
}

static bool is_empty_object(const sq_value *value)
{
    return value->type == SQ_TEXT && (value->size == 0 || (value->size == 2 && memcmp(value->data, "{}", 2) == 0));
}

void sq_add_pair(sq_worker *w, const sq_strings *keys, const sq_value *key, const sq_value *value)
{
    uint32_t text = text_of(w, keys, key);
    if (text != HD_STRING_NONE) sq_add_value(w, text, NULL, value);
}

/* ---- rows ---- */

/* Reads the cursor's row, by the roles of its columns. */
void sq_worker_take_row(sq_worker *w, const sq_plan *plan)
{
    w->plan = plan;
    w->scope = plan->scope;
    w->row = hd_row_of(plan->map->kind, plan->map->phase);
    w->row.category = plan->category;
    w->end = HD_NO_NUMBER;
    w->item_count = 0;
    w->sf = HD_STACK_NONE;
    for (int i = 0; i < SQ_FIELDS; i++) w->fields[i] = &null_value;
    for (uint32_t i = 0; i < plan->table->column_count; i++) {
        const sq_value *value = &w->cursor.values[i];
        int role = plan->roles[i];
        switch (role) {
        case SQ_ARG:
        case SQ_STRING:
        case SQ_LABEL: sq_add_value(w, plan->keys[i], plan->labels[i], value); break;
        case SQ_NAME: w->row.name = text_of(w, &w->reader->strings, value); break;
        case SQ_EXTRA:
            if (!is_empty_object(value)) sq_add_value(w, plan->keys[i], NULL, value);
            break;
        case SQ_SKIP: break;
        case SQ_START: w->row.start_ns = sq_value_number(value); break;
        case SQ_END: w->end = sq_value_number(value); break;
        case SQ_DURATION: w->row.duration_ns = sq_value_number(value); break;
        default: w->fields[role - SQ_FIELD] = value;
        }
    }
}

static uint64_t hash_items(const sq_worker *w)
{
    uint64_t hash = w->item_count;
    for (uint32_t i = 0; i < w->item_count; i++)
        hash = (hash ^ ((uint64_t)w->items[i].key << 8 | w->items[i].type)) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static bool same_keys(const sq_shape *shape, const sq_worker *w)
{
    for (uint32_t i = 0; i < w->item_count; i++) {
        if (shape->keys[i].key != w->items[i].key || shape->keys[i].type != w->items[i].type) return false;
    }
    return true;
}

/* HD_NONE: there are too many shapes. */
static uint32_t find_shape(sq_worker *w, uint32_t has_sf)
{
    uint64_t hash = hash_items(w) + has_sf;
    sq_shape *shape = &w->shapes[hash % SQ_SHAPE_SLOTS];
    if (shape->keys && shape->hash == hash && shape->count == w->item_count + has_sf && shape->has_sf == has_sf &&
        same_keys(shape, w))
        return shape->shape;
    if (!shape->keys) shape->keys = malloc((SQ_ITEMS + 1) * sizeof *shape->keys);
    if (!shape->keys) {
        hd_builder_fail(w->reader->builder);
        return 0;
    }
    uint32_t count = w->item_count;
    for (uint32_t i = 0; i < count; i++)
        shape->keys[i] = (hd_arg_key){.key = w->items[i].key, .type = w->items[i].type};
    if (has_sf) shape->keys[count++] = (hd_arg_key){.key = w->reader->sf, .type = HD_ARG_INT, .scope = HD_SCOPE_EVENT};
    shape->hash = hash;
    shape->count = count;
    shape->has_sf = has_sf;
    shape->shape = hd_builder_shape(w->reader->builder, shape->keys, count, w->item_count > 0);
    return shape->shape;
}

/* Of items of one key, which side tables may bring, the first stays. */
static void drop_same_keys(sq_worker *w)
{
    uint64_t filter = 0;
    bool is_any = false;
    for (uint32_t i = 0; i < w->item_count; i++) {
        uint64_t bit = (uint64_t)1 << (w->items[i].key & 63);
        is_any |= (filter & bit) != 0;
        filter |= bit;
    }
    if (!is_any) return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->item_count; i++) {
        uint32_t j = 0;
        while (j < kept && w->items[j].key != w->items[i].key) j++;
        if (j == kept)
            w->items[kept++] = w->items[i];
        else
            w->arguments_lost += w->items[j].type != w->items[i].type || w->items[j].bits != w->items[i].bits;
    }
    w->item_count = kept;
}

static hd_status emit(sq_worker *w, hd_error *err)
{
    int64_t values[SQ_ITEMS + 1];
    uint32_t has_sf = w->sf != HD_STACK_NONE;
    if (w->row.track == HD_NONE && w->row.kind == HD_KIND_SLICE)
        w->row.track =
            hd_builder_track(w->reader->builder, (hd_ident){0}, (hd_ident){0}, false); /* or no report has it */
    if (w->reader->options->args != HD_ARGS_ALL) return hd_batch_add(w->batch, &w->row, NULL, err);
    drop_same_keys(w);
    for (uint32_t i = 0; i < w->item_count; i++) values[i] = w->items[i].bits;
    values[w->item_count] = w->sf;
    w->row.shape = find_shape(w, has_sf);
    if (w->row.shape == HD_NONE) {
        w->arguments_lost += w->item_count;
        w->row.shape = 0;
    }
    return hd_batch_add(w->batch, &w->row, values, err);
}

void sq_emit(sq_worker *w)
{
    if (emit(w, NULL) != HD_OK) hd_builder_fail(w->reader->builder);
}

void sq_emit_flow(sq_worker *w, char phase, uint32_t category, int64_t id)
{
    hd_row row = hd_row_of(HD_KIND_FLOW, phase);
    row.phase |= HD_FLAG_BIND_ENCLOSING;
    row.name = row.category = category;
    row.track = w->row.track;
    row.start_ns = w->row.start_ns;
    row.id_type = HD_ID_INT;
    row.id = id;
    if (hd_batch_add(w->batch, &row, NULL, NULL) != HD_OK) hd_builder_fail(w->reader->builder);
}

static void lose(sq_worker *w, const char *code)
{
    w->lost++;
    for (int i = 0; i < SQ_LOSSES; i++) {
        if (w->losses[i].code && w->losses[i].code != code) continue;
        w->losses[i].code = code;
        w->losses[i].count++;
        return;
    }
    w->losses[SQ_LOSSES - 1].count++;
}

/* End before start, or a difference beyond 64 bits: no duration. */
static bool set_duration(sq_worker *w)
{
    hd_row *row = &w->row;
    int64_t duration;
    if (w->end == HD_NO_NUMBER || row->kind != HD_KIND_SLICE) return true;
    if (w->end < row->start_ns || __builtin_sub_overflow(w->end, row->start_ns, &duration)) return false;
    row->duration_ns = duration;
    return true;
}

hd_status sq_worker_row(sq_worker *w, hd_error *err)
{
    w->rows++;
    if (w->reader->mapping->take_times) w->reader->mapping->take_times(w);
    if (w->row.start_ns == HD_NO_TIME) {
        lose(w, "sqlite.no-time");
        return HD_OK;
    }
    if (!set_duration(w)) {
        lose(w, "sqlite.end-before-start");
        return HD_OK;
    }
    const char *code = w->plan->map->place ? w->plan->map->place(w) : NULL;
    if (code == SQ_PLACED) {
        w->placed++;
        return HD_OK;
    }
    if (code) {
        lose(w, code);
        return HD_OK;
    }
    w->events++;
    return emit(w, err);
}

/* ---- tracks ---- */

sq_track *sq_track_at(sq_worker *w, uint64_t a, uint64_t b)
{
    uint32_t at;
    if (hd_map_get(&at, &w->track_index, a, b)) return &w->tracks[at];
    bool fine = hd_grow((void **)&w->tracks, &w->track_capacity, w->track_count, sizeof *w->tracks) &&
                hd_map_set(&w->track_index, a, b, (uint32_t)w->track_count);
    if (!fine) {
        hd_builder_fail(w->reader->builder);
        w->spare = (sq_track){.track = HD_NONE};
        return &w->spare;
    }
    w->tracks[w->track_count] = (sq_track){.track = HD_NONE};
    return &w->tracks[w->track_count++];
}
