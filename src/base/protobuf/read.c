/* read.c - the protobuf wire format */
#include "base/protobuf/read.h"

#include "base/bytes.h"

bool hd_proto_varint(uint64_t *out, const uint8_t *data, size_t size, size_t *at)
{
    uint64_t value = 0;
    size_t i = *at;
    for (unsigned shift = 0; shift < 70 && i < size; shift += 7) {
        uint8_t byte = data[i++];
        if (shift == 63 && byte > 1) return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            *at = i;
            return true;
        }
    }
    return false;
}

/* The same; a fast path, since most are one or two bytes long. */
static inline bool varint(uint64_t *out, const uint8_t *data, size_t size, size_t *at)
{
    const uint8_t *p = data + *at;
    if (size - *at < 2) return hd_proto_varint(out, data, size, at);
    if (p[0] < 0x80) {
        *out = p[0];
        *at += 1;
        return true;
    }
    if (p[1] < 0x80) {
        *out = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
        *at += 2;
        return true;
    }
    return hd_proto_varint(out, data, size, at);
}

static bool read_fixed(uint64_t *out, const hd_proto_reader *r, size_t *at, unsigned width)
{
    if (r->size - *at < width) return false;
    *out = hd_le_get(r->data + *at, width);
    *at += width;
    return true;
}

/* A tag and, unless it is of a group, its value; moves *at after them. */
static inline bool read_field(hd_proto_field *out, const hd_proto_reader *r, size_t *at)
{
    uint64_t tag, size;
    if (!varint(&tag, r->data, r->size, at) || tag > UINT32_MAX || tag >> 3 == 0) return false;
    out->tag = (uint32_t)tag;
    out->value = 0;
    out->data = NULL;
    out->size = 0;
    if ((tag & 7) == HD_WIRE_VARINT) return varint(&out->value, r->data, r->size, at);
    if ((tag & 7) == HD_WIRE_BYTES) {
        if (!varint(&size, r->data, r->size, at) || size > r->size - *at) return false;
        out->data = r->data + *at;
        out->size = (size_t)size;
        *at += (size_t)size;
        return true;
    }
    switch (tag & 7) {
    case HD_WIRE_FIXED64: return read_fixed(&out->value, r, at, 8);
    case HD_WIRE_FIXED32: return read_fixed(&out->value, r, at, 4);
    case HD_WIRE_GROUP:
    case HD_WIRE_GROUP_END: return true;
    default: return false;
    }
}

/* Moves after the end of a group whose start was just read. Nested groups need a stack of their numbers. */
static bool skip_group(const hd_proto_reader *r, size_t *at, uint32_t number)
{
    uint32_t open[HD_PROTO_GROUP_DEPTH];
    size_t depth = 0;
    open[depth++] = number;
    while (depth) {
        hd_proto_field field;
        if (!read_field(&field, r, at)) return false;
        if ((field.tag & 7) == HD_WIRE_GROUP) {
            if (depth == HD_PROTO_GROUP_DEPTH) return false;
            open[depth++] = field.tag >> 3;
        } else if ((field.tag & 7) == HD_WIRE_GROUP_END && open[--depth] != field.tag >> 3) {
            return false;
        }
    }
    return true;
}

bool hd_proto_next_any(hd_proto_field *out, hd_proto_reader *reader)
{
    size_t at = reader->at;
    if (reader->failed || at >= reader->size) return false;
    bool fine = read_field(out, reader, &at) && (out->tag & 7) != HD_WIRE_GROUP_END;
    if (fine && (out->tag & 7) == HD_WIRE_GROUP) fine = skip_group(reader, &at, out->tag >> 3);
    if (fine)
        reader->at = at;
    else
        reader->failed = true;
    return fine;
}

bool hd_proto_repeated(uint64_t *out, const hd_proto_field *field, hd_proto_wire wire, size_t *at,
                       hd_proto_reader *reader)
{
    if ((field->tag & 7) == (uint32_t)wire) { /* one, not packed */
        *out = field->value;
        return (*at)++ == 0;
    }
    if ((field->tag & 7) != HD_WIRE_BYTES || *at >= field->size) return false;
    if (wire == HD_WIRE_VARINT) {
        if (varint(out, field->data, field->size, at)) return true;
    } else {
        const hd_proto_reader packed = hd_proto_reader_of(field->data, field->size);
        if (read_fixed(out, &packed, at, wire == HD_WIRE_FIXED64 ? 8 : 4)) return true;
    }
    reader->failed = true;
    return false;
}
