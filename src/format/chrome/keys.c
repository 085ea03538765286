/* keys.c - chooses the written name of each member of an event, so that none occurs twice
 *
 * Shapes have equal keys if a reader made one slice of a begin and an end, each with its own `tts`. And they have keys
 * with the name of a column: if the column could not represent a time as the input wrote it, or a begin had a `dur`.
 */
#include "format/chrome/keys.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "trace/lazy.h"
#include "trace/text.h"

/* ---- columns ---- */

unsigned chrome_columns_of(const hd_trace *trace, const hd_event *e)
{
    const hd_track *track = e->track == HD_NONE ? NULL : hd_trace_track_at(trace, e->track);
    bool is_id2 = e->id_type & (HD_ID_LOCAL | HD_ID_GLOBAL);
    unsigned columns = 0;
    if (e->phase) columns |= 1u << CHROME_M_PH;
    if (e->category) columns |= 1u << CHROME_M_CAT;
    if (e->name) columns |= 1u << CHROME_M_NAME;
    if (track && track->pid.type != HD_IDENT_NONE) columns |= 1u << CHROME_M_PID;
    if (track && track->tid.type != HD_IDENT_NONE) columns |= 1u << CHROME_M_TID;
    if (e->start_ns != HD_NO_TIME) columns |= 1u << CHROME_M_TS;
    if (e->duration_ns != HD_NO_TIME && e->phase != 'B') columns |= 1u << CHROME_M_DUR;
    if (e->id_type != HD_ID_NONE) columns |= 1u << (is_id2 ? CHROME_M_ID2 : CHROME_M_ID);
    if (e->flags & HD_FLAG_BIND_ENCLOSING) columns |= 1u << CHROME_M_BP;
    if (hd_trace_shape_at(trace, e->shape)->has_args) columns |= 1u << CHROME_M_ARGS;
    return columns;
}

__extension__ typedef __int128 i128;

/* Nanoseconds times HD_FIXED_ONE. */
static i128 exact(int64_t ns, i128 part)
{
    return (i128)ns * HD_FIXED_ONE + part;
}

/* The time of a value in microseconds; false: not a number. */
static bool time_of(i128 *out, const hd_trace *trace, unsigned type, int64_t bits)
{
    hd_json_out text = {0};
    hd_fixed ns;
    if (type == HD_ARG_INT) hd_json_put_int(&text, bits);
    if (type == HD_ARG_DECIMAL) hd_json_put_decimal(&text, hd_decimal_mantissa(bits), hd_decimal_scale(bits));
    if (type == HD_ARG_NUMBER || type == HD_ARG_STRING) {
        hd_string s = hd_trace_string(trace, (uint32_t)bits);
        hd_json_put(&text, s.data, s.size);
    }
    bool known = text.size && chrome_micros_of_text(&ns, text.data, text.size) && ns.whole != HD_NO_TIME;
    if (known) *out = exact(ns.whole, ns.part);
    free(text.data);
    return known;
}

/* Whether the value equals the columns, which may have been rounded down to the trace's resolution on the way. */
static bool spells(const chrome_keys *keys, const hd_trace *trace, const hd_event *e, chrome_member member,
                   unsigned type, int64_t bits)
{
    i128 said, start = chrome_part_of(e->start_ps, e->start_finer), end = chrome_part_of(e->end_ps, e->end_finer);
    if (member == CHROME_M_PH) {
        hd_string s = type == HD_ARG_STRING ? hd_trace_string(trace, (uint32_t)bits) : (hd_string){0};
        return s.size && s.data[0] == e->phase;
    }
    if ((member != CHROME_M_TS && member != CHROME_M_DUR) || !time_of(&said, trace, type, bits)) return false;
    i128 apart = said - (member == CHROME_M_TS ? exact(e->start_ns, start) : exact(e->duration_ns, end - start));
    return apart < keys->step && apart > (member == CHROME_M_TS ? -1 : -keys->step);
}

unsigned chrome_own_columns(const hd_trace *trace, const hd_event *e, const chrome_keys *keys)
{
    const hd_shape *shape = hd_trace_shape_at(trace, e->shape);
    const chrome_shape_keys *of = keys->shapes[e->shape];
    unsigned own = 0, columns = chrome_columns_of(trace, e);
    for (uint32_t i = 0; of && i < shape->key_count; i++) {
        chrome_member member = (chrome_member)of->members[i];
        if (!(columns & 1u << member) || of->names[i].number) continue;
        int64_t bits = hd_column_at(&e->args->columns[i], e->args_row);
        if (spells(keys, trace, e, member, shape->keys[i].type, bits)) own |= 1u << member;
    }
    return own;
}

/* Picoseconds alone take two bytes at most. */
static int64_t step_of_column(const hd_column *column)
{
    if (column->width == 0 && column->base == 0) return HD_FIXED_ONE;
    return column->width <= 2 && column->base >= 0 && column->base < 1000 ? HD_FINER_PER_PS : 1;
}

static int64_t step_of(const hd_trace *trace)
{
    int64_t step = HD_FIXED_ONE;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; step > 1 && i < hd_trace_block_count(trace, (hd_kind)kind); i++) {
            const hd_block *block = hd_trace_block_at(trace, (hd_kind)kind, i);
            int64_t start = step_of_column(&block->columns[HD_COL_START_PS]);
            int64_t end = step_of_column(&block->columns[HD_COL_END_PS]);
            if (start < step) step = start;
            if (end < step) step = end;
            hd_trace_release(trace, block);
        }
    }
    return step;
}

bool chrome_is_raw_shape(const hd_trace *trace, const hd_shape *shape)
{
    return shape->key_count == 1 && hd_trace_string(trace, shape->keys[0].key).size == 0 && !shape->has_args &&
           shape->keys[0].type == HD_ARG_JSON;
}

/* ---- shapes ---- */

static uint8_t member_of(const hd_trace *trace, hd_arg_key key)
{
    static const char *const names[CHROME_M_OTHER] = {
        [CHROME_M_PH] = "ph",   [CHROME_M_TS] = "ts",     [CHROME_M_ID] = "id",    [CHROME_M_BP] = "bp",
        [CHROME_M_CAT] = "cat", [CHROME_M_PID] = "pid",   [CHROME_M_TID] = "tid",  [CHROME_M_DUR] = "dur",
        [CHROME_M_ID2] = "id2", [CHROME_M_NAME] = "name", [CHROME_M_ARGS] = "args"};
    hd_string name = hd_trace_string(trace, key.key);
    for (uint8_t i = CHROME_M_START + 1; key.scope == HD_SCOPE_EVENT && i < CHROME_M_OTHER; i++) {
        if (hd_string_is(name, names[i])) return i;
    }
    return CHROME_M_OTHER;
}

/* *times: whether a member of it says a time. */
static hd_status add_shape(bool *times, chrome_keys *keys, const hd_trace *trace, uint32_t s, hd_error *err)
{
    const hd_shape *shape = hd_trace_shape_at(trace, s);
    size_t count = shape->key_count;
    bool plain = true;
    chrome_shape_keys *of = hd_arena_alloc(&keys->arena, sizeof *of);
    hd_shape_name *names = hd_arena_alloc(&keys->arena, count * sizeof *names);
    uint8_t *members = hd_arena_alloc(&keys->arena, count);
    if (!of || !names || !members) return HD_NOMEM(err);
    HD_TRY(hd_shape_names(names, trace, shape, err));
    for (size_t i = 0; i < count; i++) {
        members[i] = member_of(trace, shape->keys[i]);
        *times |= members[i] == CHROME_M_TS || members[i] == CHROME_M_DUR;
        plain = plain && members[i] == CHROME_M_OTHER && names[i].keeper == i;
    }
    *of = (chrome_shape_keys){.members = members, .names = names};
    if (!plain) keys->shapes[s] = of;
    return HD_OK;
}

/* ---- top-level keys ---- */

typedef struct place {
    uint32_t key;
    size_t index;
} place;

static int by_key(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

typedef struct top_level {
    const hd_trace *trace;
    place *places; /* by key */
    size_t count;
    hd_json_out name; /* scratch */
} top_level;

static bool is_taken(top_level *top, uint32_t key, uint32_t number)
{
    top->name.size = 0;
    hd_shape_put_key(&top->name, top->trace, key, number); /* with quotes; no other key has its escaped form */
    if (top->name.failed) return false;
    uint32_t id = hd_trace_find_string(top->trace, top->name.data + 1, top->name.size - 2);
    size_t from = 0, to = top->count;
    HD_PARTITION_POINT(from, to, at, top->places[at].key < id);
    return id != HD_NONE && from < top->count && top->places[from].key == id;
}

/* The last key of a name keeps it, unless it is the events' key; others with a different value are called KEY#n. */
static void number_metadata(chrome_keys *keys, top_level *top, size_t first, size_t end)
{
    const place *places = top->places;
    hd_string name = hd_trace_string(top->trace, places[first].key);
    bool is_events = name.size == 11 && memcmp(name.data, "traceEvents", 11) == 0;
    uint32_t last = hd_trace_metadata_at(top->trace, places[end - 1].index)->value, number = 0;
    for (size_t i = first; i < end; i++) {
        uint32_t *out = &keys->metadata[places[i].index];
        bool same = i < end - 1 && hd_trace_metadata_at(top->trace, places[i].index)->value == last;
        *out = same ? CHROME_LEFT_OUT : 0;
        if (same || (i == end - 1 && !is_events)) continue;
        do number++;
        while (is_taken(top, places[i].key, number));
        *out = number;
    }
}

static hd_status add_metadata(chrome_keys *keys, const hd_trace *trace, hd_error *err)
{
    top_level top = {.trace = trace, .count = hd_trace_metadata_count(trace)};
    top.places = malloc(top.count * sizeof *top.places + 1);
    keys->metadata = calloc(top.count + 1, sizeof *keys->metadata);
    bool failed = !top.places || !keys->metadata;
    for (size_t i = 0; !failed && i < top.count; i++) top.places[i] = (place){hd_trace_metadata_at(trace, i)->key, i};
    if (!failed && top.count) hd_sort(top.places, top.count, sizeof *top.places, by_key);
    for (size_t i = 0, next; !failed && i < top.count; i = next) {
        for (next = i + 1; next < top.count && top.places[next].key == top.places[i].key;) next++;
        number_metadata(keys, &top, i, next);
    }
    failed |= top.name.failed;
    free(top.name.data);
    free(top.places);
    return failed ? HD_NOMEM(err) : HD_OK;
}

/* ---- all ---- */

hd_status chrome_keys_init(chrome_keys *keys, const hd_trace *trace, hd_error *err)
{
    *keys = (chrome_keys){.shapes = calloc((size_t)hd_trace_shape_count(trace) + 1, sizeof *keys->shapes)};
    if (!keys->shapes) return HD_NOMEM(err);
    bool times = false;
    for (uint32_t s = 0; s < hd_trace_shape_count(trace); s++) HD_TRY(add_shape(&times, keys, trace, s, err));
    if (times) keys->step = step_of(trace);
    return add_metadata(keys, trace, err);
}

void chrome_keys_deinit(chrome_keys *keys)
{
    free(keys->shapes);
    free(keys->metadata);
    hd_arena_deinit(&keys->arena);
}
