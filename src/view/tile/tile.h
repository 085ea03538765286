/* tile.h - tiles of tracks: 512 columns of 2^z ns, as docs/reference/view-protocol.md says
 *
 * In: a track and a zoom. Out: bytes for the page. Begin with tile.c.
 */
#ifndef HD_VIEW_TILE_TILE_H
#define HD_VIEW_TILE_TILE_H

#include "view/scene/scene.h"

enum { VIEW_TILE_EXACT = 1, VIEW_TILE_COUNTER = 2, VIEW_TILE_ABSENT = 4, VIEW_TILE_HITS = 8 };

/* Append a tile of a track; *out_exact: nothing in it is an estimate. `summary`: one row, the union of all rows; of a
 * section that of all tracks below. hits: as view_tile_row has them. Errors: MEMORY, LIMIT (a tile of 1 GiB). */
hd_status view_tile_track(hd_bytes *out, bool *out_exact, view_scene *scene, uint32_t track, unsigned z, int64_t i,
                          bool summary, const view_hits *hits, hd_error *err);

/* Row parts of tiles. counter.c: of a series. */
hd_status view_tile_series(hd_bytes *out, const view_series *series, int64_t zero_ns, unsigned z, int64_t i,
                           hd_error *err);
/* estimate.c: of a lane's summaries, spread evenly over their time. */
hd_status view_tile_lane(hd_bytes *out, const hd_lane *lane, int64_t zero_ns, unsigned z, int64_t i, hd_error *err);

/* A tile's columns as times relative to the zero, cut to the valid range (±VIEW_FARTHEST); from > last: empty. */
typedef struct view_tile_range {
    int64_t from, last;   /* first and last ns */
    int64_t first_column; /* of the whole: column 0 of the tile */
} view_tile_range;

view_tile_range view_tile_range_of(unsigned z, int64_t i);

/* Parts of a row of slices. */
typedef struct view_tile_column {
    uint64_t busy, longest;
    uint32_t count, name, row;
    uint16_t column;
    bool is_hit; /* an event that touches it is one */
} view_tile_column;

typedef struct view_tile_event {
    int64_t start; /* relative to the zero */
    uint64_t duration;
    uint32_t name, row;
    uint8_t flags;
} view_tile_event;

hd_status view_tile_put_row(hd_bytes *out, const view_tile_column *columns, uint32_t column_count,
                            const view_tile_event *events, uint32_t event_count, uint32_t starting,
                            const view_tile_range *range, unsigned z, bool has_hits, hd_error *err);
/* Zeros up to a multiple of 8 bytes. */
void view_tile_align(hd_bytes *out);

#endif
