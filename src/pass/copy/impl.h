/* impl.h - the state of a copy */
#ifndef HD_PASS_COPY_IMPL_H
#define HD_PASS_COPY_IMPL_H

#include "base/json/write.h"
#include "pass/copy/copy.h"
#include "trace/chunk.h"

/* Ids of the source -> ids of the builder, HD_NONE: not mapped yet; added ones come after those of the source. */
typedef struct hd_copy_map {
    uint32_t *ids;
    size_t count, capacity;
    uint32_t source_count;
} hd_copy_map;

struct hd_copy {
    const hd_trace *trace;
    hd_builder *builder;
    const hd_copy_hooks *hooks;
    hd_error *err;
    hd_copy_map strings, tracks, shapes;
    const hd_ident *pids;
    hd_copy_text *text_of; /* NULL: strings stay as they are */
    void *text_user;
    uint32_t most_rows; /* of a block */
    /* the block at hand */
    hd_copy_rows rows;
    uint32_t kept;         /* number of kept rows */
    uint32_t *group_of;    /* by source shape: its group in the block */
    uint32_t *picks;       /* source argument rows to keep, group by group */
    uint32_t *pick_rows;   /* the block's row of each */
    uint32_t *group_first; /* first index of each group in picks, one more than groups */
    uint32_t group_capacity;
    int64_t *scratch;
    hd_json_out text;
    uint8_t *added; /* by row: number of added arguments */
    int64_t *added_values[HD_COPY_ADDED];
    uint32_t *added_shapes;  /* by source shape and number of added arguments: shape of the builder */
    uint32_t *variant_of;    /* by the same: variant in the block, HD_NONE */
    bool has_builder_shapes; /* the column SHAPE is in terms of the builder already */
    /* the whole trace */
    hd_chunk *chunk;
    uint64_t *kept_bits[HD_KIND_COUNT]; /* NULL: all rows of the kind so far are kept */
    size_t next_block[HD_KIND_COUNT];
    uint64_t next_row[HD_KIND_COUNT];
    uint64_t dropped, not_added;
    bool no_memory; /* no memory for a shape, which otherwise looks like one too many */
};

uint32_t hd_copy_shape(hd_copy *copy, uint32_t source_shape);
/* The builder's string for one that is used there. */
uint32_t hd_copy_string_at(hd_copy *copy, hd_copy_place place, uint32_t source_string);
static inline bool hd_copy_is_string_type(unsigned type)
{
    return type == HD_ARG_STRING || type == HD_ARG_NUMBER || type == HD_ARG_JSON;
}
/* The values of one key of a group in scratch[at … at + count), in terms of the builder. */
hd_status hd_copy_values(hd_copy *copy, size_t at, const hd_arg_group *group, uint32_t key, const uint32_t *picks,
                         const uint32_t *rows, uint32_t count);
/* A row's arguments as text, with the first `added` of the added ones: {"event member":1,"args":{…}}. group is NULL for
 * a shape without keys. Returns its id in the builder. */
uint32_t hd_copy_argument_text(hd_copy *copy, uint32_t source_shape, const hd_arg_group *group, uint32_t args_row,
                               uint32_t block_row, uint32_t added);
/* Whether one of the first `added` arguments replaces a key of the source. */
bool hd_copy_is_replaced(hd_copy *copy, const hd_arg_key *key, uint32_t added);
/* added.c: the groups of a block to which arguments are added. */
hd_status hd_copy_added_groups(hd_copy *copy, hd_block *out);
/* Copies one block into copy->chunk. */
hd_status hd_copy_block(hd_copy *copy, const hd_block *block);

#endif
