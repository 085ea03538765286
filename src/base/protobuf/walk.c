/* walk.c - a message read by a table */
#include "base/protobuf/walk.h"

bool hd_proto_take_rest(hd_proto_field *out, const hd_proto_reader *message)
{
    uint64_t tag, size;
    size_t at = message->at;
    if (!hd_proto_varint(&tag, message->data, message->size, &at) || tag > 127 || (tag & 7) != HD_WIRE_BYTES)
        return false;
    if (!hd_proto_varint(&size, message->data, message->size, &at) || size <= message->size - at) return false;
    size_t there = message->size - at;
    *out = (hd_proto_field){.tag = (uint32_t)tag, .value = size - there, .data = message->data + at, .size = there};
    return true;
}

hd_status hd_proto_walk(void *out, hd_proto_reader *message, const hd_proto_schema *schema, hd_proto_each *each,
                        void *user)
{
    hd_proto_head *head = out;
    hd_proto_field f;
    while (hd_proto_next(&f, message)) {
        const hd_proto_member *member = f.tag < schema->count ? &schema->members[f.tag] : NULL;
        void *place = (char *)out + (member ? member->offset : 0);
        switch (member ? member->put : HD_PUT_UNKNOWN) {
        case HD_PUT_VALUE: memcpy(place, &f.value, sizeof f.value); break;
        case HD_PUT_SPAN: memcpy(place, &(hd_proto_span){f.data, f.size}, sizeof(hd_proto_span)); break;
        case HD_PUT_PASS: break;
        case HD_PUT_EACH: {
            hd_status status = each(user, &f);
            if (status != HD_OK) return status;
            break;
        }
        default: head->unknown++; continue;
        }
        head->seen |= UINT64_C(1) << (f.tag >> 3);
    }
    if (!message->failed || !hd_proto_take_rest(&f, message) || f.tag >= schema->count) return HD_OK;
    return schema->members[f.tag].put == HD_PUT_EACH ? each(user, &f) : HD_OK;
}
