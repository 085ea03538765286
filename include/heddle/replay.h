/* replay.h - a trace is run again: how long a step would take if kernels were faster, launches cheaper, streams fewer
 *
 *     const char *const options[] = {"scale=ncclDevKernel*=0.5", "launch-cost=2us", NULL};
 *     hd_report report;
 *     if (hd_replay(&report, NULL, trace, options, NULL, &err) == HD_OK) … hd_report_table(&report, "what_if") …
 *     hd_report_free(&report);
 *
 * A discrete-event simulation of the graph of a trace (graph.h). Threads take the time that they took, also where they
 * do nothing that is known; calls that wait for a GPU do so as long as they have to. Work begins when its launch has
 * reached the GPU, its queue has come to it, and the events for which that waits have come. These delays are modelled:
 * each kind has one, the mean over where nothing else can be what held the work back. Work that begins while what
 * is before it on its queue runs keeps its place in that.
 *
 * Work of several threads that is launched on one queue at the same time may run in any order: `ties` replays some, and
 * the tables ties, tie_times and tie_names show what that changes. The last has no rows: nothing.
 *
 * First the trace is replayed as it is, which proves or disproves the model: what a replay gets wrong by more than
 * `max-error` percent has edges that the trace does not contain, and changes of it are refused.
 */
#ifndef HEDDLE_REPLAY_H
#define HEDDLE_REPLAY_H

#include "heddle/gpus.h"
#include "heddle/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Its options and tables; `run` is NULL. Static. */
const hd_report_about *hd_replay_about(void);

/* Replay a trace, with the changes that the options name, if they do. options: "scale=PATTERN=0.5" …, ends with NULL;
 * NULL: none. gpus: NULL is the library's table. *out are tables of hd_replay_about, which the caller frees, also after
 * a failure. out_trace: the replayed trace, of the same events at other times, which the caller frees; NULL: it is not
 * wanted. O(n log n). Errors: ARGUMENT; UNSUPPORTED: changes are refused, *out has only what the replay without change
 * told; LIMIT (2^31 slices); MEMORY. */
hd_status hd_replay(hd_report *out, hd_trace **out_trace, const hd_trace *trace, const char *const *options,
                    const hd_gpus *gpus, hd_error *err);

/* Whether two traces of one program are the same: the same work in the same order on their queues, which are matched
 * by rank, device and stream in their order; launched by the same calls in the same order; waiting for the same events
 * and waited for. *out are the tables `order` and `dependencies`, which the caller frees, also after a failure.
 * O(n log n). Errors: LIMIT (2^31 slices); MEMORY. */
hd_status hd_replay_compare(hd_report *out, bool *out_same, const hd_trace *trace, const hd_trace *against,
                            hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
