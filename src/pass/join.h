/* join.h - adds the events of a second trace as further tracks of a first one, on the same clock
 *
 * Unlike in merge.h no track is renumbered: the second trace belongs to the run of the first.
 */
#ifndef HD_PASS_JOIN_H
#define HD_PASS_JOIN_H

#include "pass/copy/copy.h"

/* Facts are those of `trace`; metadata and ledger are those of both. added: names of tracks, if `trace` names tracks by
 * events. The caller frees all three. */
hd_status hd_join(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_trace *more, hd_error *err);

#endif
