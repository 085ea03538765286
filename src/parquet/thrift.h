/* thrift.h - the compact protocol of Thrift, as far as Parquet's metadata needs it: fields in ascending order */
#ifndef HD_PARQUET_THRIFT_H
#define HD_PARQUET_THRIFT_H

#include "base/bytes.h"

enum {
    THRIFT_TRUE = 1,
    THRIFT_FALSE,
    THRIFT_I8,
    THRIFT_I16,
    THRIFT_I32,
    THRIFT_I64,
    THRIFT_BINARY = 8,
    THRIFT_LIST,
    THRIFT_STRUCT = 12
};

/* A struct under construction. Zero-initialised but for `out`. */
typedef struct thrift {
    hd_bytes *out;
    int last; /* id of the field before */
} thrift;

static inline void thrift_field(thrift *t, int id, unsigned type)
{
    hd_bytes_put_u8(t->out, (uint8_t)((unsigned)(id - t->last) << 4 | type)); /* ids are less than 16 apart */
    t->last = id;
}
static inline void thrift_int(thrift *t, int id, unsigned type, int64_t value)
{
    thrift_field(t, id, type);
    hd_bytes_put_zigzag(t->out, value);
}
static inline void thrift_i32(thrift *t, int id, int64_t value)
{
    thrift_int(t, id, THRIFT_I32, value);
}
static inline void thrift_i64(thrift *t, int id, int64_t value)
{
    thrift_int(t, id, THRIFT_I64, value);
}
static inline void thrift_bool(thrift *t, int id, bool value)
{
    thrift_field(t, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}
static inline void thrift_put_binary(hd_bytes *out, const void *data, size_t size)
{
    hd_bytes_put_varint(out, size);
    hd_bytes_put(out, data, size);
}
static inline void thrift_binary(thrift *t, int id, const void *data, size_t size)
{
    thrift_field(t, id, THRIFT_BINARY);
    thrift_put_binary(t->out, data, size);
}
static inline void thrift_text(thrift *t, int id, const char *text)
{
    thrift_binary(t, id, text, strlen(text));
}
/* A list of `count` elements of that type follows, encoded by the caller: ints as zigzags, structs begun with
 * thrift_begin. */
static inline void thrift_list(thrift *t, int id, unsigned type, size_t count)
{
    thrift_field(t, id, THRIFT_LIST);
    hd_bytes_put_u8(t->out, (uint8_t)((count < 15 ? count : 15) << 4 | type));
    if (count >= 15) hd_bytes_put_varint(t->out, count);
}
/* A struct in a field; in a list: thrift_begin. */
static inline thrift thrift_struct(thrift *t, int id)
{
    thrift_field(t, id, THRIFT_STRUCT);
    return (thrift){t->out, 0};
}
static inline thrift thrift_begin(hd_bytes *out)
{
    return (thrift){out, 0};
}
static inline void thrift_end(thrift *t)
{
    hd_bytes_put_u8(t->out, 0);
}

#endif
