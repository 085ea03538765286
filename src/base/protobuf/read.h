/* read.h - the protobuf wire format, read from memory without running over its end
 *
 *     hd_proto_reader r = hd_proto_reader_of(data, size);
 *     hd_proto_field f;
 *     while (hd_proto_next(&f, &r)) switch (f.tag) {
 *     case HD_PROTO_VARINT(8): time = f.value; break;
 *     case HD_PROTO_BYTES(11): nested = hd_proto_reader_of(f.data, f.size); break;
 *     }
 *     if (r.failed) … r.at is the offset of the field that cannot be read
 *
 * A tag contains number and wire type, so that a field of an unexpected type is an unknown field.
 */
#ifndef HD_BASE_PROTOBUF_READ_H
#define HD_BASE_PROTOBUF_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HD_PROTO_GROUP_DEPTH = 100, HD_PROTO_VARINT_BYTES = 10 };

typedef enum hd_proto_wire {
    HD_WIRE_VARINT = 0,
    HD_WIRE_FIXED64 = 1,
    HD_WIRE_BYTES = 2,
    HD_WIRE_GROUP = 3, /* skipped as a whole; returned as a field so that it can be counted */
    HD_WIRE_GROUP_END = 4,
    HD_WIRE_FIXED32 = 5,
} hd_proto_wire;

#define HD_PROTO_VARINT(number) ((uint32_t)(number) << 3 | HD_WIRE_VARINT)
#define HD_PROTO_FIXED64(number) ((uint32_t)(number) << 3 | HD_WIRE_FIXED64)
#define HD_PROTO_BYTES(number) ((uint32_t)(number) << 3 | HD_WIRE_BYTES)

typedef struct hd_proto_field {
    uint32_t tag; /* number << 3 | wire type */
    uint64_t value;
    const uint8_t *data; /* of HD_WIRE_BYTES; borrowed, never NULL */
    size_t size;
} hd_proto_field;

typedef struct hd_proto_reader {
    const uint8_t *data;
    size_t size, at; /* at <= size */
    bool failed;
} hd_proto_reader;

static inline hd_proto_reader hd_proto_reader_of(const void *data, size_t size)
{
    return (hd_proto_reader){.data = (const uint8_t *)data, .size = size};
}

/* The varint at data[*at]; moves *at after it. false: cut off, or more than 64 bits; *at is unchanged. */
bool hd_proto_varint(uint64_t *out, const uint8_t *data, size_t size, size_t *at);

/* hd_proto_next for fields of any length. */
bool hd_proto_next_any(hd_proto_field *out, hd_proto_reader *reader);

/* The next field. false at the end, and at bytes that are not a field: then `failed` is set and `at` is their offset.
 * The fast path is a tag of one byte, with a value or length of one. */
static inline bool hd_proto_next(hd_proto_field *out, hd_proto_reader *reader)
{
    size_t left = reader->size - reader->at;
    if (left < 2 || reader->failed) return hd_proto_next_any(out, reader);
    const uint8_t *p = reader->data + reader->at;
    if (p[0] < 8 || (p[0] | p[1]) >= 0x80) return hd_proto_next_any(out, reader);
    if ((p[0] & 7) == HD_WIRE_VARINT) {
        *out = (hd_proto_field){.tag = p[0], .value = p[1]};
        reader->at += 2;
        return true;
    }
    if ((p[0] & 7) != HD_WIRE_BYTES || p[1] > left - 2) return hd_proto_next_any(out, reader);
    *out = (hd_proto_field){.tag = p[0], .data = p + 2, .size = p[1]};
    reader->at += 2 + (size_t)p[1];
    return true;
}

static inline uint32_t hd_proto_number(const hd_proto_field *field)
{
    return field->tag >> 3;
}

static inline double hd_proto_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The values of a repeated scalar field, packed or not: the first call with *at = 0.
 *
 *     for (size_t at = 0; hd_proto_repeated(&value, &f, HD_WIRE_VARINT, &at, &r);) …
 *
 * false: no more. Invalid values set `failed` of the reader. */
bool hd_proto_repeated(uint64_t *out, const hd_proto_field *field, hd_proto_wire wire, size_t *at,
                       hd_proto_reader *reader);

#endif
