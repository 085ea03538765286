/* copy.h - copies the events of a trace into a builder; shared by all passes from trace to trace
 *
 * Events keep their order. Works on whole blocks: a pass gets the decoded columns it requests, selects the rows to
 * keep, and changes times and tracks; strings, shapes and tracks are mapped to those of the builder, and only used
 * strings are copied. Begin and end events are paired again when the builder finishes. Byte offsets of the source are
 * dropped.
 *
 *     hd_copy_new(&copy, trace, builder, err);
 *     hd_copy_tracks(copy, NULL, NULL, err);
 *     hd_copy_events(copy, &hooks, err);
 *     hd_copy_surroundings(copy, err);
 *     hd_copy_free(copy);
 *
 * In: a trace and hooks. Out: its events in a builder. Begin with copy.c; block.c copies blocks.
 */
#ifndef HD_PASS_COPY_COPY_H
#define HD_PASS_COPY_COPY_H

#include "heddle/builder.h"

/* How a pass changed the number of events: in + added == out + removed + lost. Lost ones have a LOSS row in the new
 * ledger. */
typedef struct hd_pass_result {
    uint64_t removed, added, lost;
} hd_pass_result;

typedef struct hd_copy hd_copy;

/* The rows of a block being copied. */
typedef struct hd_copy_rows {
    const hd_trace *trace;
    const hd_block *block;
    uint8_t *keep;       /* by row, 1 at first; set it to 0 to drop the row */
    bool changes_values; /* false at first: set it to get a call of the hook `values` for this block */
    bool adds_arguments; /* hd_copy_add_arguments was called */
    /* internal */
    int64_t *columns[HD_COL_COUNT];
    uint32_t decoded, changed; /* a bit per column */
} hd_copy_rows;

/* A decoded column with the values of the source trace. */
const int64_t *hd_copy_look(hd_copy_rows *rows, hd_column_id column);
/* The same, for changing: START, DURATION, START_PS, END_PS, TRACK, NAME, ID and ID_TYPE. Tracks and strings are those
 * of the source trace, or ids from hd_copy_add_track and hd_copy_add_string. */
int64_t *hd_copy_change(hd_copy_rows *rows, hd_column_id column);

enum { HD_COPY_ADDED = 2 };

/* The number of hooks->added_keys that each row gets, from the first on: 0 until changed. (*out_values)[key][row] are
 * their values, with strings of the builder; they replace arguments of the same key and scope. NULL: no memory. For the
 * current block. */
uint8_t *hd_copy_add_arguments(hd_copy *copy, int64_t *out_values[HD_COPY_ADDED]);

typedef struct hd_copy_hooks {
    void *user;
    const hd_arg_key *added_keys; /* arguments that may be added to rows, HD_COPY_ADDED of them; key: string of the
                                     builder */
    /* Called for each block; NULL: no row changes. */
    hd_status (*rows)(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err);
    /* Called for each argument of the kept rows, by shape and key: values[i] belongs to row row_of[i] of the block and
     * may be changed within the key's type. NULL: no argument changes. */
    hd_status (*values)(void *user, hd_copy *copy, hd_copy_rows *rows, const hd_arg_key *key, int64_t *values,
                        const uint32_t *row_of, uint32_t count, hd_error *err);
} hd_copy_hooks;

hd_status hd_copy_new(hd_copy **out, const hd_trace *trace, hd_builder *builder, hd_error *err);
void hd_copy_free(hd_copy *copy);

/* Where a string of the source is used. */
typedef enum hd_copy_place {
    HD_COPY_TRACK, /* names, labels and string idents of tracks, and arguments of META events */
    HD_COPY_NAME,  /* of an event; not of those that the hook `rows` changed to added strings */
    HD_COPY_CATEGORY,
    HD_COPY_KEY,      /* of an argument, or of the trace's metadata */
    HD_COPY_VALUE,    /* of an argument, or an id */
    HD_COPY_NUMBER,   /* the text of a number: an ident, an id, an argument */
    HD_COPY_JSON,     /* an argument, or all arguments of an event, as JSON text */
    HD_COPY_METADATA, /* a value, as JSON text */
    HD_COPY_PLACES,
} hd_copy_place;
/* Returns the builder's string for one of the source; HD_STRING_NONE: no memory. Before hd_copy_tracks; arguments
 * cannot be added then. */
typedef uint32_t hd_copy_text(void *user, hd_copy_place place, uint32_t source_string);
void hd_copy_set_text(hd_copy *copy, hd_copy_text *text, void *user);

/* Makes the tracks, in the order of the source. keep[i] 0: omit track i unless one of its events is kept; NULL: all.
 * pids[i]: the new pid of track i, in terms of the builder; NULL: unchanged. */
hd_status hd_copy_tracks(hd_copy *copy, const uint8_t *keep, const hd_ident *pids, hd_error *err);
/* The builder's track or string for one of the source. */
uint32_t hd_copy_track(hd_copy *copy, uint32_t source_track);
uint32_t hd_copy_string(hd_copy *copy, uint32_t source_string);
/* Ids for hd_copy_change of a track or string of the builder; HD_NONE: no memory. */
uint32_t hd_copy_add_track(hd_copy *copy, uint32_t builder_track);
uint32_t hd_copy_add_string(hd_copy *copy, uint32_t builder_string);

hd_status hd_copy_events(hd_copy *copy, const hd_copy_hooks *hooks, hd_error *err);
/* How many were dropped. */
uint64_t hd_copy_dropped(const hd_copy *copy);
/* Number of rows that got no added arguments, since theirs are an undecoded text (too many shapes). */
uint64_t hd_copy_not_added(const hd_copy *copy);

/* Ledger, or metadata, ledger and facts. */
hd_status hd_copy_ledger(hd_copy *copy, hd_error *err);
hd_status hd_copy_surroundings(hd_copy *copy, hd_error *err);

/* ---- names of tracks inside events ---- */

/* Whether names and order of the trace's tracks are META events (or there are none), so that new ones must be events
 * too. */
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
