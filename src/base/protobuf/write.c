/* write.c - messages of the protobuf wire format, written into a buffer */
#include "base/protobuf/write.h"

void hd_pb_put_double(hd_bytes *out, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    hd_pb_put_fixed64(out, field, bits);
}

void hd_pb_put_bytes(hd_bytes *out, uint32_t field, const void *data, size_t size)
{
    hd_pb_put_tag(out, field, HD_PB_LENGTH);
    hd_bytes_put_varint(out, size);
    hd_bytes_put(out, data, size);
}

void hd_pb_put_text(hd_bytes *out, uint32_t field, const char *text)
{
    hd_pb_put_bytes(out, field, text, strlen(text));
}

size_t hd_pb_begin(hd_bytes *out, uint32_t field)
{
    hd_pb_put_tag(out, field, HD_PB_LENGTH);
    hd_bytes_put_u8(out, 0);
    return out->size;
}

void hd_pb_end(hd_bytes *out, size_t mark)
{
    if (out->failed) return;
    size_t size = out->size - mark;
    unsigned more = hd_varint_size(size) - 1;
    if (more) {
        if (!hd_bytes_room(out, more)) return;
        memmove(out->data + mark + more, out->data + mark, size);
        out->size += more;
    }
    hd_varint_write(out->data + mark - 1, size);
}
