/* busy.h - the time that GPU activities cover on the queues of devices
 *
 * In: roles, and the index of their trace. Out: a time for each lane. A store has these times, with the digest of the
 * rules that made them.
 */
#ifndef HD_MODEL_ROLES_BUSY_H
#define HD_MODEL_ROLES_BUSY_H

#include "heddle/index.h"
#include "model/roles/trace_roles.h"

/* The time covered by slices in start order; overlaps count once. */
typedef struct hd_busy_sum {
    int64_t busy, until;
} hd_busy_sum;
#define HD_BUSY_NONE ((hd_busy_sum){0, INT64_MIN})
void hd_busy_add(hd_busy_sum *sum, int64_t start, int64_t end);
/* Whether a slice counts: on a queue only activities do. */
bool hd_counts_as_busy(hd_roles *roles, const hd_block *block, uint32_t row, hd_row_sort sort);

/* By lane of the index, ns: of queues the time that activities cover, HD_NO_TIME if not all of their slices can be
 * read; of other lanes HD_NO_TIME. free() it. What the index knows from a store is taken from there unless `anew`.
 * Errors: MEMORY. */
hd_status hd_queues_busy(int64_t **out, hd_roles *roles, const hd_index *index, bool anew, hd_error *err);

/* A digest of the rules in this folder: two programs with the same one give a slice the same role. */
uint64_t hd_role_rules(void);

#endif
