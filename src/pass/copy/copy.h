/* copy.h - the step that all passes from trace to trace share: the events of one trace go into a builder
 *
 * Events keep their order. Works on whole blocks: a pass gets the decoded columns it asks for, says which rows stay,
 * and changes times and tracks; strings, shapes and tracks are mapped to those of the builder, and only strings in use
 * are taken along. Begin and end events are paired anew when the builder finishes. Byte offsets of the source are
 * dropped.
 *
 *     hd_copy_new(&copy, trace, builder, err);
 *     hd_copy_tracks(copy, NULL, NULL, err);
 *     hd_copy_events(copy, &hooks, err);
 *     hd_copy_surroundings(copy, err);
 *     hd_copy_free(copy);
 *
 * In: a trace and hooks. Out: its events in a builder. Begin with copy.c; block.c does the work.
 */
#ifndef HD_PASS_COPY_COPY_H
#define HD_PASS_COPY_COPY_H

#include "heddle/builder.h"

/* What a pass did to the events: in + added == out + removed + lost. Lost ones have a LOSS row in the new ledger. */
typedef struct hd_pass_result {
    uint64_t removed, added, lost;
} hd_pass_result;

typedef struct hd_copy hd_copy;

/* The rows of one block on their way. */
typedef struct hd_copy_rows {
    const hd_trace *trace;
    const hd_block *block;
    uint8_t *keep;       /* by row, 1 at first; set it to 0 to drop the row */
    bool changes_values; /* false at first: set it to have the hook `values` called for this block */
    bool adds_arguments; /* hd_copy_add_arguments was called */
    /* internal */
    int64_t *columns[HD_COL_COUNT];
    uint32_t decoded, changed; /* a bit per column */
} hd_copy_rows;

/* A column, decoded, as the source trace has it. */
const int64_t *hd_copy_look(hd_copy_rows *rows, hd_column_id column);
/* The same, to be changed: START, DURATION, START_PS, END_PS, TRACK, NAME, ID and ID_TYPE. Tracks and strings are those
 * of the source trace, or what hd_copy_add_track and hd_copy_add_string gave. */
int64_t *hd_copy_change(hd_copy_rows *rows, hd_column_id column);

enum { HD_COPY_ADDED = 2 };

/* How many of hooks->added_keys each row gets, from the first on: 0 until changed. (*out_values)[key][row] are their
 * values, strings being those of the builder; they take the place of arguments of the same key and scope. NULL when
 * memory runs out. For the block at hand. */
uint8_t *hd_copy_add_arguments(hd_copy *copy, int64_t *out_values[HD_COPY_ADDED]);

typedef struct hd_copy_hooks {
    void *user;
    const hd_arg_key *added_keys; /* arguments that rows may get, HD_COPY_ADDED of them; key: string of the builder */
    /* For each block; NULL: all stays as it is. */
    hd_status (*rows)(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err);
    /* For each argument of the rows that stay, by shape and key: values[i] belongs to row row_of[i] of the block and
     * may be changed within the key's type. NULL: no argument changes. */
    hd_status (*values)(void *user, hd_copy *copy, hd_copy_rows *rows, const hd_arg_key *key, int64_t *values,
                        const uint32_t *row_of, uint32_t count, hd_error *err);
} hd_copy_hooks;

hd_status hd_copy_new(hd_copy **out, const hd_trace *trace, hd_builder *builder, hd_error *err);
void hd_copy_free(hd_copy *copy);

/* Make the tracks, in the order of the source. keep[i] 0: not this one, unless an event of it stays; NULL: all.
 * pids[i]: the pid that track i gets, in terms of the builder; NULL: its own. */
hd_status hd_copy_tracks(hd_copy *copy, const uint8_t *keep, const hd_ident *pids, hd_error *err);
/* The builder's track and string for one of the source. */
uint32_t hd_copy_track(hd_copy *copy, uint32_t source_track);
uint32_t hd_copy_string(hd_copy *copy, uint32_t source_string);
/* Ids for hd_copy_change that stand for a track, a string of the builder; HD_NONE when memory runs out. */
uint32_t hd_copy_add_track(hd_copy *copy, uint32_t builder_track);
uint32_t hd_copy_add_string(hd_copy *copy, uint32_t builder_string);

hd_status hd_copy_events(hd_copy *copy, const hd_copy_hooks *hooks, hd_error *err);
/* How many were dropped. */
uint64_t hd_copy_dropped(const hd_copy *copy);
/* How many rows got no added arguments, since theirs are a text that was not taken apart (too many shapes). */
uint64_t hd_copy_not_added(const hd_copy *copy);

/* Ledger, or metadata, ledger and facts. */
hd_status hd_copy_ledger(hd_copy *copy, hd_error *err);
hd_status hd_copy_surroundings(hd_copy *copy, hd_error *err);

/* ---- names of tracks that stand in events ---- */

/* Whether names and order of the trace's tracks are META events (or there are none), so that new ones must be too. */
bool hd_names_are_events(const hd_trace *trace);

/* A META event with one argument. */
typedef struct hd_meta_event {
    uint32_t track;   /* of the builder */
    const char *name; /* "thread_name" */
    const char *key;  /* "name" */
    hd_arg_type type; /* HD_ARG_STRING or HD_ARG_INT */
    int64_t value;
} hd_meta_event;

hd_status hd_copy_add_meta(hd_builder *builder, hd_batch *batch, const hd_meta_event *event, hd_error *err);

#endif
