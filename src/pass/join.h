/* join.h - the events of a second trace as further tracks of a first one, on the same clock
 *
 * No track is renumbered, as opposed to merge.h: what the second trace tells belongs to the run of the first.
 */
#ifndef HD_PASS_JOIN_H
#define HD_PASS_JOIN_H

#include "pass/copy/copy.h"

/* Facts are those of `trace`; metadata and ledger those of both. added: names of tracks, where the names of `trace`
 * are events. The caller frees all three. */
hd_status hd_join(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_trace *more, hd_error *err);

#endif
