/* otlp.h - profiles of OpenTelemetry: shared by otlp.c (profiles, samples), frames.c (stacks), attributes.c (values)
 *
 *     dictionary ──> tables of spans ──┬──> frames.c: nodes of stacks ──┐
 *     profiles ──> samples ────────────┴──> attributes.c: arguments ────┴──> samples of a builder
 *
 * Begin with otlp.c.
 */
#ifndef HD_FORMAT_OTLP_OTLP_H
#define HD_FORMAT_OTLP_OTLP_H

#include "base/json/write.h"
#include "base/protobuf/walk.h"
#include "format/mapped/mappings.h"

#define OTLP_STAGE "otlp"

typedef enum otlp_code {
    OTLP_TRUNCATED,
    OTLP_DAMAGED,     /* a message that cannot be read to its end */
    OTLP_UNKNOWN,     /* fields that are not known */
    OTLP_MISSING,     /* an index that no table has */
    OTLP_VALUE_COUNT, /* a sample with another number of values than of times, or with neither */
    OTLP_TIME,        /* beyond int64 */
    OTLP_ATTRIBUTE,   /* more attributes than fit */
    OTLP_STACK_CUT,   /* more frames than fit */
    OTLP_UTF8,
} otlp_code;

/* By the field number in ProfilesDictionary. */
typedef enum otlp_table {
    OTLP_MAPPINGS = 1,
    OTLP_LOCATIONS,
    OTLP_FUNCTIONS,
    OTLP_LINKS,
    OTLP_STRINGS,
    OTLP_ATTRIBUTES,
    OTLP_STACKS,
    OTLP_TABLES
} otlp_table;

typedef struct otlp_list {
    hd_proto_span *at;
    size_t count, capacity;
} otlp_list;

/* The frames of a location, from the outermost: frames[first … first + count), made when a stack first has it. */
typedef struct otlp_location {
    uint32_t first, count;
    bool made;
} otlp_location;

typedef struct otlp_frame {
    uint32_t name;
    hd_frame_kind kind;
} otlp_frame;

/* A process and thread, as attributes name them. */
typedef struct otlp_thread {
    int64_t pid, tid; /* HD_NO_NUMBER: not known */
    hd_string name;
} otlp_thread;

typedef struct otlp_reader {
    hd_stack_samples samples;
    hd_mappings mappings; /* by index */
    hd_builder *builder;
    hd_error *err;
    const uint8_t *data; /* the input */
    size_t size;
    bool is_cut;
    otlp_list tables[OTLP_TABLES];
    otlp_location *locations;
    otlp_frame *frames;
    size_t frame_count, frame_capacity;
    uint32_t *nodes;    /* by stack: node + 1; 0: not made */
    uint32_t *interned; /* by string, 0: not yet */
    hd_bytes text;
    hd_json_out about; /* the metadata `otlp` */
    /* of the sample at hand */
    hd_arg_key keys[HD_STACK_MORE];
    int64_t values[HD_STACK_MORE];
    uint32_t count;
    otlp_thread thread;
} otlp_reader;

/* ---- otlp.c ---- */

/* Counts a fault at `place` of the input. DAMAGED when strict, unless it is a note. */
hd_status otlp_count(otlp_reader *r, otlp_code code, uint64_t count, const void *place);
/* After a message was walked: unknown fields, damage. A cut by the end of the input is reported once. */
hd_status otlp_check(otlp_reader *r, const hd_proto_reader *message, const hd_proto_head *head);
/* An entry of a table. false: it has none, which is counted in *status. */
bool otlp_entry(hd_proto_reader *out, otlp_reader *r, otlp_table table, uint64_t index, hd_status *status);
/* Empty where there is none. */
hd_string otlp_string(const otlp_reader *r, uint64_t index);
/* The builder's id of a text, as UTF-8. */
hd_status otlp_intern(uint32_t *out, otlp_reader *r, hd_string text);

/* ---- frames.c ---- */

hd_status otlp_read_mappings(otlp_reader *r);
/* The node of a stack by its index. */
hd_status otlp_node_of(uint32_t *out, otlp_reader *r, uint64_t stack);

/* ---- attributes.c ---- */

/* An argument of the sample at hand. */
hd_status otlp_add_argument(otlp_reader *r, uint32_t key, hd_arg_type type, int64_t value);
/* An attribute of the table: an argument of the sample at hand, which may name its thread. */
hd_status otlp_add_attribute(otlp_reader *r, uint64_t index);
/* The text of a mapping's attribute of this name; empty: it has none. */
hd_string otlp_attribute_text(otlp_reader *r, uint64_t index, const char *name);
/* Members of an object: KeyValue (`in_table` false) as a resource has them, or an attribute of the table. */
hd_status otlp_put_member(otlp_reader *r, hd_json_out *out, hd_proto_span message, bool in_table, otlp_thread *thread);

#endif
