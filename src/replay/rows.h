/* rows.h - the tracks of the activities of a replayed trace */
#ifndef HD_REPLAY_ROWS_H
#define HD_REPLAY_ROWS_H

#include "pass/copy/copy.h"
#include "replay/replay.h"

typedef struct replay_rows {
    const replay *r;
    hd_copy *copy;
    hd_builder *builder;
    hd_batch *names;
    uint32_t *tracks; /* by row of the slice table, as for hd_copy_change: the new track; HD_NONE: unchanged. NULL: all
                         unchanged */
    int64_t last_tid;
} replay_rows;

/* By node less first_work, the first node of its queue by the plan. false: no memory. */
/* By activity minus first_work: the next one on its queue, HD_NONE. The caller frees it with hd_large_free; NULL: no
 * memory. */
uint32_t *replay_afters(const replay *r);
bool replay_find_firsts(uint32_t *firsts, const replay *r);

/* After hd_copy_tracks. Call deinit in any case. Errors: MEMORY. */
hd_status replay_rows_init(replay_rows *rows, const replay *r, hd_copy *copy, hd_builder *builder, hd_error *err);
void replay_rows_deinit(replay_rows *rows);
/* Sets the track of row i of a block, which is that slice, its end, or bound to it; slice below 0: bound to none. */
void replay_rows_set(const replay_rows *rows, hd_copy_rows *of, uint32_t i, int64_t slice);

#endif
