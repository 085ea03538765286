/* table.h - any table with times as derived tracks, on request of the web UI: of a report, of a query
 *
 * In: a scene that is laid out (VIEW_NOTE_FIDELITY is there), a table. Out: published tracks of role VIEW_TABLE_ROLE.
 */
#ifndef HD_VIEW_DERIVE_TABLE_H
#define HD_VIEW_DERIVE_TABLE_H

#include "heddle/table.h"
#include "view/scene/scene.h"

#define VIEW_TABLE_ROLE "table"

typedef struct view_table_about {
    const char *title;  /* of the tracks: "queue length" */
    const char *detail; /* a sentence, and the question that the table answers: equal ones are made once */
    const char *value;  /* the column of a counter; NULL: none */
} view_table_about;

typedef struct view_table_tracks {
    uint32_t *ids; /* of the scene, malloc'ed */
    size_t count;
    uint64_t left_out; /* rows without a time, a length or a value */
} view_table_tracks;

/* Columns `start` and `duration` become slices, else `time` and the value a counter. One at a time, while no worker
 * modifies the scene (view_queries.lock_tables). Errors: ARGUMENT (no such columns, no row with a time, more than 256
 * tracks), LIMIT, MEMORY. */
hd_status view_derive_table(view_table_tracks *out, view_scene *scene, const hd_table *table,
                            const view_table_about *about, hd_error *err);
/* The tracks of a role that were made with this detail before; detail NULL: with any. `left_out` is not known any more.
 * Errors: MEMORY. */
hd_status view_made_tracks_find(view_table_tracks *out, const view_scene *scene, const char *role, const char *detail,
                                hd_error *err);

#define VIEW_SKIPPING_ROLE "own_source"
/* Tracks of source lines, as the worker makes them, in which code in the folders `skip` is not the user's (lines.c).
 * They are made once, and `out` has none where no line is left. The lock is needed likewise. Errors: LIMIT, MEMORY. */
hd_status view_derive_lines_skipping(view_table_tracks *out, view_scene *scene, const char *skip, hd_error *err);

#endif
