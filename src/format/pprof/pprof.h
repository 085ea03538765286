/* pprof.h - profiles of pprof: stacks with values
 *
 *     protobuf (proto.c) ──┐                                  ┌──> names of addresses (format/mapped)
 *     text, CPU (legacy.c) ┴──> profile (profile.c): samples ─┴──> metadata
 *
 * In: the bytes of a file. Out: samples of a builder, one for each value. Begin with proto.c.
 */
#ifndef HD_FORMAT_PPROF_PPROF_H
#define HD_FORMAT_PPROF_PPROF_H

#include "base/json/write.h"
#include "base/memory/arena.h"
#include "base/protobuf/walk.h"
#include "format/mapped/mappings.h"

#define PPROF_STAGE "pprof"

enum { PPROF_VALUES = 64 };

typedef enum pprof_code {
    PPROF_TRUNCATED,
    PPROF_DAMAGED,     /* a message that cannot be read to its end */
    PPROF_UNKNOWN,     /* fields that are not known */
    PPROF_MISSING,     /* a number that nothing has: a string's, a location's, a function's, a mapping's */
    PPROF_VALUE_COUNT, /* a sample has more or fewer values than there are types */
    PPROF_LABEL,       /* more labels than fit */
    PPROF_UTF8,
    PPROF_LINE,         /* of a text, that is not a sample */
    PPROF_SIGNAL_FRAMES /* of the profiler's own signal handler */
} pprof_code;

typedef struct pprof_type {
    uint32_t name, unit; /* string ids; unit HD_STRING_NONE: none */
} pprof_type;

typedef struct pprof_profile {
    hd_stack_samples samples;
    hd_builder *builder;
    hd_error *err;
    const uint8_t *data; /* the input */
    size_t size;

    pprof_type types[PPROF_VALUES];
    size_t type_count, first_type; /* first_type: the default type */

    hd_mappings mappings;

    hd_arg_key keys[HD_STACK_MORE]; /* labels of the sample at hand */
    int64_t values[HD_STACK_MORE];
    uint32_t label_count;

    hd_json_out about; /* members of the metadata `pprof` */
    hd_bytes text;
    hd_arena arena; /* texts that differ from the input */
} pprof_profile;

/* ---- proto.c, legacy.c ---- */

bool pprof_is_proto(const unsigned char *head, size_t size);
hd_status pprof_read_proto(pprof_profile *p);

typedef enum pprof_legacy { PPROF_NO_LEGACY, PPROF_CPU, PPROF_HEAP } pprof_legacy;
pprof_legacy pprof_legacy_of(const unsigned char *head, size_t size);
hd_status pprof_read_legacy(pprof_profile *p, pprof_legacy kind);

/* ---- profile.c ---- */

/* Counts a fault at `place` of the input (NULL: anywhere). DAMAGED when strict, unless it is a note. */
hd_status pprof_count(pprof_profile *p, pprof_code code, uint64_t count, const void *place);
/* The text's id, as UTF-8. */
hd_status pprof_intern(uint32_t *out, pprof_profile *p, hd_string text);
/* One more type of values; the name of one that is there already gets its unit. */
hd_status pprof_add_type(pprof_profile *p, hd_string name, hd_string unit);
/* One more argument of the sample at hand. */
hd_status pprof_add_label(pprof_profile *p, uint32_t key, hd_arg_type type, int64_t value);
/* A sample for each value, the first type's first. The labels are gone then. */
hd_status pprof_add_sample(pprof_profile *p, uint32_t node, const int64_t *values, size_t count);
/* A member of the metadata. */
void pprof_tell_text(pprof_profile *p, const char *key, hd_string text);
void pprof_tell_json(pprof_profile *p, const char *key, const char *json, size_t size);
void pprof_tell_int(pprof_profile *p, const char *key, int64_t value);

#endif
