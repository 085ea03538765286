/* walk.h - reads a message by a table that maps fields to members of a struct
 *
 *     typedef struct line { hd_proto_head head; uint64_t id; hd_proto_span name; } line;
 *     static const hd_proto_member members[] = {
 *         [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, line, id),
 *         [HD_PROTO_BYTES(2)] = HD_MEMBER(HD_PUT_SPAN, line, name),
 *         [HD_PROTO_BYTES(4)] = {HD_PUT_EACH, 0},
 *     };
 *     line l = {0};
 *     HD_TRY(hd_proto_walk(&l, &message, &(hd_proto_schema){members, HD_PROTO_COUNT(members)}, each, user));
 *     if (message.failed) …
 *
 * The table is indexed by tags of one byte, so it can have fields 1 to 15 only. Other fields are counted. Of a repeated
 * field the last one counts, as in protobuf.
 */
#ifndef HD_BASE_PROTOBUF_WALK_H
#define HD_BASE_PROTOBUF_WALK_H

#include "base/protobuf/read.h"
#include "heddle/status.h"

/* Bytes, a text or a message within: borrowed. data is NULL where the field is absent. */
typedef struct hd_proto_span {
    const uint8_t *data;
    size_t size;
} hd_proto_span;

/* The first member of every such struct. */
typedef struct hd_proto_head {
    uint64_t seen;    /* bit n: field n was there, and is in the table */
    uint64_t unknown; /* fields that are not in the table */
} hd_proto_head;

static inline bool hd_proto_has(const hd_proto_head *head, unsigned number)
{
    return head->seen >> number & 1;
}

typedef enum hd_proto_put {
    HD_PUT_UNKNOWN, /* not in the table */
    HD_PUT_VALUE,   /* uint64_t: of a varint, of the bits of a fixed64 or fixed32 */
    HD_PUT_SPAN,    /* hd_proto_span */
    HD_PUT_EACH,    /* given to the caller */
    HD_PUT_PASS,    /* known, and not needed */
} hd_proto_put;

typedef struct hd_proto_member {
    uint16_t put;    /* hd_proto_put */
    uint16_t offset; /* in the struct */
} hd_proto_member;

#define HD_MEMBER(put, type, member)                                                                                   \
    {                                                                                                                  \
        (put), offsetof(type, member)                                                                                  \
    }
#define HD_PROTO_COUNT(members) (sizeof(members) / sizeof *(members))

typedef struct hd_proto_schema {
    const hd_proto_member *members; /* by tag */
    size_t count;                   /* at most 128 */
} hd_proto_schema;

/* Called for fields of HD_PUT_EACH. Any status but HD_OK ends the walk. */
typedef hd_status hd_proto_each(void *user, const hd_proto_field *field);

/* After hd_proto_next failed: the remaining bytes of a field that claims to be longer than its message, `value` is the
 * number of those missing. false: another damage, or a tag of several bytes. */
bool hd_proto_take_rest(hd_proto_field *out, const hd_proto_reader *message);

/* Reads all fields of `message` into the struct `out`, which the caller has filled with zeros or defaults. If the
 * message is cut off, or its last field claims to be longer than it is, message->failed is set; a cut last field of
 * HD_PUT_EACH is passed on anyway, so that its complete parts are read, with the number of missing bytes in `value`,
 * which is 0 otherwise. Status: that of `each`. */
hd_status hd_proto_walk(void *out, hd_proto_reader *message, const hd_proto_schema *schema, hd_proto_each *each,
                        void *user);

#endif
