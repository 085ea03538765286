/* values.c - arguments of events: values, shapes */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/vector.h"
#include "format/args.h"
#include "format/perfetto/read/reader.h"

enum { KEY_LIMIT = 256 };

/* ---- lists ---- */

hd_status perfetto_add_arg(perfetto_reader *reader, perfetto_args *args, uint32_t key, hd_arg_type type,
                           hd_arg_scope scope, int64_t bits)
{
    if (!reader->want_args) return HD_OK;
    if (args->count == args->capacity)
        HD_TRY(perfetto_grow(reader, (void **)&args->list, &args->capacity, args->count, sizeof *args->list));
    args->list[args->count++] = (perfetto_arg){
        .key = {.key = key, .type = (uint8_t)type, .scope = (uint8_t)scope},
        .bits = bits,
    };
    return HD_OK;
}

static uint32_t key_of(perfetto_reader *reader, const char *key)
{
    return hd_builder_intern_text(reader->builder, key);
}

hd_status perfetto_add_text_arg(perfetto_reader *reader, const char *key, uint32_t text)
{
    return perfetto_add_arg(reader, &reader->args, key_of(reader, key), HD_ARG_STRING, HD_SCOPE_ARGS, text);
}

hd_status perfetto_add_int_arg(perfetto_reader *reader, const char *key, int64_t value)
{
    return perfetto_add_arg(reader, &reader->args, key_of(reader, key), HD_ARG_INT, HD_SCOPE_ARGS, value);
}

hd_status perfetto_add_unsigned_arg(perfetto_reader *reader, const char *key, uint64_t value)
{
    int64_t bits;
    hd_arg_type type = hd_value_of_unsigned(&bits, reader->builder, value);
    return perfetto_add_arg(reader, &reader->args, key_of(reader, key), type, HD_SCOPE_ARGS, bits);
}

hd_status perfetto_add_member(perfetto_reader *reader, const char *key, hd_arg_type type, int64_t bits)
{
    return perfetto_add_arg(reader, &reader->args, key_of(reader, key), type, HD_SCOPE_EVENT, bits);
}

/* ---- shapes ---- */

/* There are too many shapes or keys: all values as one text. */
static hd_status raw_shape(perfetto_reader *reader, hd_row *row, size_t count)
{
    uint32_t text = hd_args_as_text(reader->builder, reader->keys, reader->values, (uint32_t)count);
    if (text == HD_STRING_NONE) return HD_NOMEM(reader->err);
    reader->values[0] = text;
    row->shape = hd_builder_raw_shape(reader->builder);
    perfetto_note(reader, "perfetto.raw-arguments", HD_LEDGER_NOTE, 1);
    return HD_OK;
}

hd_status perfetto_shape(perfetto_reader *reader, hd_row *row, const perfetto_args *args)
{
    size_t count = args ? args->count : 0, capacity = reader->key_capacity;
    while (reader->key_capacity <= count || !reader->keys) {
        HD_TRY(perfetto_grow(reader, (void **)&reader->keys, &capacity, capacity, sizeof *reader->keys));
        HD_TRY(perfetto_grow(reader, (void **)&reader->values, &reader->value_capacity, reader->value_capacity,
                             sizeof *reader->values));
        reader->key_capacity = capacity < reader->value_capacity ? capacity : reader->value_capacity;
    }
    bool has_args = false;
    for (size_t i = 0; i < count; i++) {
        reader->keys[i] = args->list[i].key;
        reader->values[i] = args->list[i].bits;
        has_args |= args->list[i].key.scope == HD_SCOPE_ARGS;
    }
    row->shape =
        count > KEY_LIMIT ? HD_NONE : hd_builder_shape(reader->builder, reader->keys, (uint32_t)count, has_args);
    if (row->shape != HD_NONE && (count == 0 || row->shape != hd_builder_raw_shape(reader->builder))) return HD_OK;
    return raw_shape(reader, row, count);
}
