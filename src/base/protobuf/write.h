/* write.h - messages of the protobuf wire format, written into a buffer; reading is read.h
 *
 * The buffer remembers that memory ran out (hd_bytes.failed). Fields are in the order of the calls.
 */
#ifndef HD_BASE_PROTOBUF_WRITE_H
#define HD_BASE_PROTOBUF_WRITE_H

#include "base/bytes.h"

enum { HD_PB_VARINT = 0, HD_PB_FIXED64 = 1, HD_PB_LENGTH = 2 };

static inline void hd_pb_put_tag(hd_bytes *out, uint32_t field, unsigned wire_type)
{
    hd_bytes_put_varint(out, (uint64_t)field << 3 | wire_type);
}

/* uint32, uint64, bool, enum. */
static inline void hd_pb_put_uint(hd_bytes *out, uint32_t field, uint64_t value)
{
    hd_pb_put_tag(out, field, HD_PB_VARINT);
    hd_bytes_put_varint(out, value);
}

/* int32, int64: ten bytes where negative. */
static inline void hd_pb_put_int(hd_bytes *out, uint32_t field, int64_t value)
{
    hd_pb_put_uint(out, field, (uint64_t)value);
}

static inline void hd_pb_put_fixed64(hd_bytes *out, uint32_t field, uint64_t value)
{
    hd_pb_put_tag(out, field, HD_PB_FIXED64);
    hd_bytes_put_le(out, value, 8);
}

void hd_pb_put_double(hd_bytes *out, uint32_t field, double value);
/* bytes, string, or a message that is there already. */
void hd_pb_put_bytes(hd_bytes *out, uint32_t field, const void *data, size_t size);
void hd_pb_put_text(hd_bytes *out, uint32_t field, const char *text);

/* A nested message: everything put between begin and end belongs to it. begin reserves one byte for its length; end
 * moves the content if that is too few. The mark is for end. */
size_t hd_pb_begin(hd_bytes *out, uint32_t field);
void hd_pb_end(hd_bytes *out, size_t mark);

#endif
