/* values.c - columns of arguments and series */
#include <stdlib.h>

#include "arrow/impl.h"
#include "base/error.h"
#include "base/map.h"
#include "base/memory/vector.h"

/* ---- values ---- */

static int64_t bits_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits == ARROW_NULL_DOUBLE ? INT64_C(0x7ff8000000000000) : bits;
}

/* A quotient of two doubles that hold their integers is the nearest double. */
static double decimal_of(int64_t packed)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int64_t mantissa = hd_decimal_mantissa(packed);
    unsigned scale = hd_decimal_scale(packed);
    bool is_exact = mantissa > -(INT64_C(1) << 53) && mantissa < INT64_C(1) << 53;
    return is_exact && scale < sizeof powers / sizeof *powers ? (double)mantissa / powers[scale]
                                                              : hd_decimal_double(packed);
}

static int64_t real_of(const arrow_stream *stream, const arrow_value *value)
{
    double real;
    if (value->type == HD_ARG_DECIMAL) return bits_of(decimal_of(value->bits));
    if (value->type != HD_ARG_NUMBER) return ARROW_NULL_DOUBLE;
    bool is_number = hd_value_double(&real, stream->trace, (hd_value){HD_ARG_NUMBER, value->bits});
    return is_number ? bits_of(real) : ARROW_NULL_DOUBLE;
}

static void make_real(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) out[i] = real_of(rows->stream, &rows->values[i]);
}

/* Of a series: any number. */
static void make_value(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        const arrow_value *value = &rows->values[i];
        bool is_int = value->type == HD_ARG_INT || value->type == HD_ARG_BOOL;
        out[i] = is_int ? bits_of((double)value->bits) : real_of(rows->stream, value);
    }
}

static void make_int(arrow_rows *rows, int64_t *out)
{
    rows->has_null = true;
    for (uint32_t i = 0; i < rows->count; i++) {
        const arrow_value *value = &rows->values[i];
        out[i] = value->bits;
        rows->stream->null[i] = value->type != HD_ARG_INT && value->type != HD_ARG_BOOL;
    }
}

static void make_text(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        const arrow_value *value = &rows->values[i];
        bool is_text = value->type == HD_ARG_STRING || value->type == HD_ARG_JSON || value->type == HD_ARG_NUMBER;
        out[i] = is_text ? value->bits : HD_STRING_NONE;
    }
}

static void make_type(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) out[i] = rows->values[i].is_none ? -1 : rows->values[i].type;
}

/* By hd_arg_type; numbers of any kind that are not integers are "real". */
static const char *const type_words[] = {"null", "bool", "int", "real", "real", "string", "json", NULL};

/* ---- counters ---- */

static void make_series(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) out[i] = rows->values[i].is_none ? HD_STRING_NONE : rows->values[i].key;
}

const arrow_field arrow_counter_fields[] = {
    {.name = "series", .make = make_series, .null = HD_STRING_NONE},
    {.name = "value", .make = make_value, .null = ARROW_NULL_DOUBLE},
    {.name = "value_int", .make = make_int},
    {.name = "value_text", .make = make_text, .null = HD_STRING_NONE},
    {.name = "value_type", .make = make_type, .null = -1, .dictionary = ARROW_WORDS, .words = type_words},
    {0},
};

/* ---- arguments ---- */

/* "args.stream" of arguments, as Perfetto calls them; "tts" of other keys of an event. */
typedef struct arg_names {
    hd_map places; /* (key, scope) -> index */
    char **texts;
    size_t *sizes;
    size_t count, text_room, size_room;
} arg_names;

static void free_names(void *data)
{
    arg_names *names = data;
    for (size_t i = 0; i < names->count; i++) free(names->texts[i]);
    free(names->texts);
    free(names->sizes);
    hd_map_deinit(&names->places);
    free(names);
}

static bool add_name(arg_names *names, const hd_trace *trace, const hd_arg_key *key)
{
    uint32_t at;
    if (hd_map_get(&at, &names->places, key->key, key->scope)) return true;
    hd_string text = hd_trace_string(trace, key->key);
    size_t prefix = key->scope == HD_SCOPE_ARGS ? 5 : 0;
    if (!hd_grow((void **)&names->texts, &names->text_room, names->count, sizeof *names->texts) ||
        !hd_grow((void **)&names->sizes, &names->size_room, names->count, sizeof *names->sizes))
        return false;
    char *copy = malloc(prefix + text.size + 1);
    if (!copy) return false;
    memcpy(copy, "args.", prefix);
    if (text.size) memcpy(copy + prefix, text.data, text.size);
    names->texts[names->count] = copy;
    names->sizes[names->count] = prefix + text.size;
    return hd_map_set(&names->places, key->key, key->scope, (uint32_t)names->count++);
}

static hd_string name_at(const void *user, uint32_t index)
{
    const arg_names *names = user;
    return (hd_string){names->texts[index], names->sizes[index]};
}

hd_status arrow_open_args(arrow_stream *stream, hd_error *err)
{
    arg_names *names = calloc(1, sizeof *names);
    if (!names) return HD_NOMEM(err);
    stream->side[0] = (arrow_side){names, free_names};
    for (uint32_t s = 0; s < hd_trace_shape_count(stream->trace); s++) {
        const hd_shape *shape = hd_trace_shape_at(stream->trace, s);
        for (uint32_t i = 0; i < shape->key_count; i++) {
            if (!add_name(names, stream->trace, &shape->keys[i])) return HD_NOMEM(err);
        }
    }
    return arrow_texts_of_list(&stream->own, (uint32_t)names->count, name_at, names, err);
}

static void make_key(arrow_rows *rows, int64_t *out)
{
    const arg_names *names = rows->stream->side[0].data;
    uint32_t place = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const arrow_value *value = &rows->values[i];
        if (i == 0 || value->key != value[-1].key || value->scope != value[-1].scope)
            hd_map_get(&place, &names->places, value->key, value->scope);
        out[i] = place;
    }
}

static void make_set(arrow_rows *rows, int64_t *out)
{
    const hd_block *block = rows->block;
    for (uint32_t i = 0; i < rows->count; i++)
        out[i] = (int64_t)((block->first_row + rows->rows[i]) << 4 | (uint64_t)block->kind);
}

const arrow_field arrow_arg_fields[] = {
    {.name = "arg_set_id", .make = make_set, .null = ARROW_NEVER},
    {.name = "key", .make = make_key, .null = ARROW_NEVER, .dictionary = ARROW_OWN},
    {.name = "int_value", .make = make_int},
    {.name = "real_value", .make = make_real, .null = ARROW_NULL_DOUBLE},
    {.name = "string_value", .make = make_text, .null = HD_STRING_NONE},
    {.name = "value_type", .make = make_type, .null = -1, .dictionary = ARROW_WORDS, .words = type_words},
    {0},
};
