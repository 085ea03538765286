/* chakra.h - shared by the files of this folder: a node of an execution trace, and the reader's data about nodes so far
 *
 *     et_json.c, et_proto.c ──> chakra_node, its arguments in reader->args ──> et_nodes.c ──> slices and flows
 *
 * Begin with chakra.c, then et_nodes.c.
 */
#ifndef HD_FORMAT_CHAKRA_H
#define HD_FORMAT_CHAKRA_H

#include "base/map.h"
#include "base/text/decimal.h"
#include "format/args.h"
#include "format/format.h"

#define CHAKRA_STAGE "chakra"

/* NodeType of et_def.proto; nodes of PyTorch's observer have none. */
typedef enum chakra_type {
    CHAKRA_UNTYPED,
    CHAKRA_METADATA,
    CHAKRA_MEM_LOAD,
    CHAKRA_MEM_STORE,
    CHAKRA_COMPUTE,
    CHAKRA_SEND,
    CHAKRA_RECEIVE,
    CHAKRA_COLLECTIVE,
    CHAKRA_STORAGE,
    CHAKRA_BATCH,
    CHAKRA_CHECKPOINT,
    CHAKRA_TYPES
} chakra_type;

typedef enum chakra_dependency { CHAKRA_CONTROL, CHAKRA_DATA, CHAKRA_THREAD, CHAKRA_DEPENDENCIES } chakra_dependency;

typedef struct chakra_node {
    uint64_t id;
    uint32_t name, category; /* string ids; category HD_STRING_NONE: by the type, or the scope */
    uint64_t type;
    bool has_start, has_duration, is_cpu, has_is_cpu;
    hd_fixed start, duration;                  /* ns */
    int64_t thread, stream, scope, collective; /* HD_NO_NUMBER: not given */
} chakra_node;

/* Where a node went. */
typedef struct chakra_seen {
    uint32_t track;
    int64_t start, end;
} chakra_seen;

typedef struct chakra_edge {
    uint64_t from; /* id of the node that is waited for */
    uint32_t to;   /* index in seen */
    uint32_t kind; /* chakra_dependency */
} chakra_edge;

typedef struct chakra_reader {
    hd_builder *builder;
    const hd_read_options *options;
    hd_args args;
    bool by_order; /* nodes are written when they end, and numbered when they begin */
    int64_t pid;
    chakra_seen *seen;
    size_t seen_count, seen_capacity;
    hd_map index; /* id -> index in seen */
    chakra_edge *edges;
    size_t edge_count, edge_capacity, first_edge; /* first_edge: of the node in hand */
    hd_map threads;                               /* thread -> index of clocks */
    int64_t *clocks;                              /* by order: the last id; else when the track is free */
    size_t clock_count, clock_capacity;
    uint32_t key_id, key_type, key_edges[CHAKRA_DEPENDENCIES], types[CHAKRA_TYPES], unknown; /* string ids, of .et */
    uint64_t untimed, twice, missing, flows, bad_times;
    uint64_t damaged, damage_offset;
    uint64_t scanned; /* bytes scanned for a node after damage: bounds the time */
    bool is_cut;
    uint64_t read_bytes;
} chakra_reader;

void chakra_node_init(chakra_node *node);
/* `from` is a node that the one in hand waits for. */
hd_status chakra_add_edge(chakra_reader *reader, chakra_dependency kind, uint64_t from, hd_error *err);
/* Adds the node in hand with its arguments, and forgets both. */
hd_status chakra_add_node(chakra_reader *reader, const chakra_node *node, hd_error *err);
/* Damage is skipped and counted, or an error when strict. */
hd_status chakra_damage(chakra_reader *reader, uint64_t offset, hd_error *err);

bool chakra_is_json(const unsigned char *head, size_t size);
bool chakra_is_proto(const unsigned char *head, size_t size);
hd_status chakra_read_json(chakra_reader *reader, hd_input *input, hd_error *err);
hd_status chakra_read_proto(chakra_reader *reader, hd_input *input, hd_error *err);
/* et_nodes.c: flows of all edges, tracks, the ledger. */
hd_status chakra_finish(chakra_reader *reader, hd_error *err);

#endif
