/* impl.h - decisions that a merge makes before it copies, and its parts */
#ifndef HD_PASS_MERGE_IMPL_H
#define HD_PASS_MERGE_IMPL_H

#include "heddle/stacks.h"
#include "pass/merge/merge.h"

/* Maximum number of argument names with correlation ids: those of hd_builder_shape, and that of a graph node's
 * creator. */
enum { MERGE_ID_KEYS = 4 };

#define MERGE_EXACT_LIMIT ((int64_t)1 << 53) /* beyond, JSON readers with doubles round */

/* Maps ids of flows and async slices to those of the merged trace. */
typedef struct merge_ids {
    bool apart; /* false: ids stay */
    bool as_text;
    int64_t shift;
    int64_t low, high; /* range of the input's numbers; low > high: none */
} merge_ids;

typedef struct merge_rank {
    hd_ident *pids; /* by track of the input, in terms of the builder */
    merge_ids ids;
    int64_t shift_ns;          /* of the clock */
    uint32_t host;             /* of a process, numbers from 1; 0: unknown, or ranks are merged */
    int64_t correlation_shift; /* added to ids from 1 on; 0: unchanged */
} merge_rank;

/* The frames of all inputs as one tree. */
typedef struct merge_stacks {
    hd_stacks *tree; /* NULL: no input has any */
    uint64_t *keys;  /* of its nodes; NULL: the node numbers */
    /* the input at hand */
    hd_trace_stacks *open; /* NULL: it has none */
    uint32_t *nodes;       /* by its node, that of `tree` */
    uint32_t sf_key;       /* of its strings */
    uint64_t unknown;      /* events of all inputs whose frame does not exist */
} merge_stacks;

typedef struct merger {
    hd_merge_input *inputs;
    merge_rank *ranks;
    size_t count;
    bool processes; /* processes of one run instead of ranks */
    bool shared;    /* ids are apart by rank */
    hd_builder *builder;
    hd_pass_result *result;
    int64_t base_ns; /* HD_NO_TIME: clocks are unchanged */
    uint64_t overflows;
    merge_stacks stacks;
    /* the input at hand */
    size_t at;
    const hd_trace *trace;
    const merge_rank *rank;
    char prefix[48];           /* "rank 3: " */
    uint32_t *new_ids;         /* by string: its new id, for hd_copy_change; 0 not made yet */
    uint32_t *process_strings; /* by track: its new name, likewise; 0: unchanged */
    uint8_t *named;            /* by track of a process: an event names it */
    uint32_t process_name, name_key, bind_key;
    uint32_t correlation_keys[MERGE_ID_KEYS];
} merger;

hd_status merge_choose_ids(merger *m);
/* A whole number, 12 or 0x1f, from 0 on; false: any other text. */
bool merge_id_number(int64_t *out, bool *out_hex, hd_string text);

/* word: the kind of input, "rank" or "process". */
hd_status merge_choose_pids(merge_rank *ranks, const hd_merge_input *inputs, size_t count, const char *word,
                            hd_builder *builder, hd_error *err);

/* ---- metadata.c ---- */

/* The text of a top-level key, the last one of that name; data NULL: absent. */
hd_string merge_metadata_of(const hd_trace *trace, const char *key);
hd_status merge_metadata(merger *m, hd_error *err);
void merge_facts(const merger *m);

/* ---- processes.c ---- */

/* The pid of an input's own process in the merged trace, "" if it has none. */
hd_string merge_process_label(const merger *m, size_t index);
/* Finds the host of each input. */
hd_status merge_process_hosts(merger *m, hd_error *err);
/* Clocks of one host are one clock: inputs from it get the base time of the first. */
hd_status merge_process_bases(int64_t *bases, const merger *m, hd_error *err);
hd_status merge_choose_correlations(merger *m, hd_error *err);
/* The names of its arguments with correlation ids, then HD_NONE. */
void merge_correlation_keys(uint32_t out[MERGE_ID_KEYS], const hd_trace *trace);
/* The name of a process with a changed pid, as a string of the builder. */
uint32_t merge_process_text(const merger *m, size_t index, const hd_track *process);

/* ---- stacks.c ---- */

/* Begin and end an input (m->trace). */
hd_status merge_stacks_open(merger *m, hd_error *err);
void merge_stacks_close(merger *m);
/* Maps values of `sf` to those of the merged tree. */
hd_status merge_stacks_values(merger *m, hd_copy *copy, hd_arg_type type, int64_t *values, uint32_t count,
                              hd_error *err);
/* Gives the tree to the builder. */
hd_status merge_stacks_finish(merger *m, hd_error *err);

#endif
