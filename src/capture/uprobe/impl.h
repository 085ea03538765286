/* impl.h - the tracer: while it runs, only its own thread uses it, except `ending`
 *
 * In: functions to probe. Out: their calls in a capture. Begin with uprobe.c.
 */
#ifndef HD_CAPTURE_UPROBE_IMPL_H
#define HD_CAPTURE_UPROBE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "capture/uprobe/perf.h"
#include "capture/uprobe/plan.h"
#include "capture/uprobe/record.h"
#include "capture/uprobe/unwind.h"
#include "capture/uprobe/write.h"

struct hd_uprobe {
    hd_uprobe_plan *plan;
    hd_uprobe_options options;
    uprobe_perf perf;
    uprobe_spaces spaces;
    uprobe_writer writer;
    hd_uprobe_stats stats;
    uint64_t side_lost;
    pthread_t thread;
    atomic_bool ending;
    bool is_running;
    uprobe_stack stack;
    uprobe_cfi_cache *cache; /* NULL: there was no memory for it */
    uint8_t record[UPROBE_RECORD_BYTES];
};

/* running.c: the mappings and threads of a process that runs. `found`: a file that no process had mapped before.
 * Errors: ARGUMENT, no such process; IO. */
hd_status uprobe_running_read(hd_uprobe *t, uint32_t pid, void (*found)(hd_uprobe *, const uprobe_module *),
                              hd_error *err);

/* calls.c: a probed function was entered, or has returned. */
void uprobe_call_entered(hd_uprobe *t, const uprobe_event *event, uprobe_hit *hit);
void uprobe_call_returned(hd_uprobe *t, const uprobe_event *event, const uprobe_hit *hit);
/* Of the thread's open calls, all except the outermost `left` will never return. */
void uprobe_calls_drop(hd_uprobe *t, uprobe_thread *thread, uint32_t left);

#endif
