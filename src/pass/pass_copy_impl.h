/* pass_copy_impl.h - what a copy on its way is made of; for pass_copy*.c only */
#ifndef HD_PASS_PASS_COPY_IMPL_H
#define HD_PASS_PASS_COPY_IMPL_H

#include "base/json_write.h"
#include "pass/pass_copy.h"
#include "trace/chunk.h"

/* Ids of the source -> ids of the builder, HD_NONE where not asked for yet; behind those of the source stand added
 * ones. */
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
    /* the block at hand */
    hd_copy_rows rows;
    uint32_t kept;         /* rows of it that stay */
    uint32_t *group_of;    /* by source shape: its group in the block */
    uint32_t *picks;       /* source argument rows that stay, group by group */
    uint32_t *pick_rows;   /* the block's row each belongs to */
    uint32_t *group_first; /* where each group begins in picks, one more than groups */
    uint32_t group_capacity;
    int64_t *scratch;
    hd_json_out text;
    /* the whole trace */
    hd_chunk *chunk;
    uint64_t *kept_bits[HD_KIND_COUNT]; /* NULL: all rows of the kind stay so far */
    size_t next_block[HD_KIND_COUNT];
    uint64_t next_row[HD_KIND_COUNT];
    uint64_t dropped;
};

uint32_t hd_copy_shape(hd_copy *copy, uint32_t source_shape);
/* Copy one block into copy->chunk. */
hd_status hd_copy_block(hd_copy *copy, const hd_block *block);

#endif
