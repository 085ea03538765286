/* replay.h - simulates a trace with changes: how long a step would take with faster kernels, cheaper launches, fewer
 * streams
 *
 *     const char *const options[] = {"scale=ncclDevKernel*=0.5", "launch-cost=2us", NULL};
 *     hd_report report;
 *     if (hd_replay(&report, NULL, trace, options, NULL, &err) == HD_OK) … hd_report_table(&report, "what_if") …
 *     hd_report_free(&report);
 *
 * A discrete-event simulation of the graph of a trace (graph.h). Threads take as long as in the trace, also in
 * gaps without slices; API calls that wait for a GPU take as long as the wait in the simulation. An activity begins
 * when its launch has reached the GPU, the activities before it on its queue have ended, and the events that its queue
 * waits for have occurred. Each kind of these delays is modelled by one value: its mean over the activities that
 * nothing else can have held back. An activity that overlaps the one before it on its queue keeps its offset within
 * that one.
 *
 * Activities that several threads launch on one queue at the same time may run in any order: the option `ties` replays
 * some orders, and the tables ties, tie_times and tie_names show the effect. No rows in the last one: no effect.
 *
 * First the trace is replayed without changes to test the model: if the replay differs by more than `max-error`
 * percent, the program has dependencies that the trace does not contain, and changes are refused.
 */
#ifndef HEDDLE_REPLAY_H
#define HEDDLE_REPLAY_H

#include "heddle/gpus.h"
#include "heddle/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The description of its options and tables; `run` is NULL. Static. */
const hd_report_about *hd_replay_about(void);

/* Replay a trace with the changes in options. options: "scale=PATTERN=0.5" …, ends with NULL; NULL: none. gpus: NULL is
 * the library's table. *out has the tables of hd_replay_about; the caller frees it, also after a failure. *out_trace:
 * the same events at their replayed times; the caller frees it; out_trace may be NULL. O(n log n). Errors: ARGUMENT;
 * UNSUPPORTED: changes are refused, *out has only the tables of the unchanged replay; LIMIT (2^31 slices); MEMORY. */
hd_status hd_replay(hd_report *out, hd_trace **out_trace, const hd_trace *trace, const char *const *options,
                    const hd_gpus *gpus, hd_error *err);

/* Whether two traces of a program are equal: the same activities in the same order on their queues (queues match by
 * rank, device and the order of streams), launched by the same calls in the same order, with the same waits. *out are
 * the tables `order` and `dependencies`, which the caller frees, also after a failure. O(n log n). Errors: LIMIT (2^31
 * slices); MEMORY. */
hd_status hd_replay_compare(hd_report *out, bool *out_same, const hd_trace *trace, const hd_trace *against,
                            hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
