/* tracefs.h - many functions as one event of the kernel
 *
 * An event of the PMU "uprobe" is of one function, and each CPU's event is a probe of its own: closing one takes the
 * kernel 10 to 80 ms, and every hit runs the probes of all CPUs. tracefs combines any number of functions into one
 * event, which all CPUs share. It needs root and Linux 5.4; otherwise the PMU is used.
 *
 * tracefs need not be mounted: a private, detached mount suffices. A killed tracer leaves only a name without a
 * breakpoint there; the next tracer removes it.
 */
#ifndef HD_CAPTURE_UPROBE_TRACEFS_H
#define HD_CAPTURE_UPROBE_TRACEFS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/uprobe/plan.h"

typedef struct uprobe_tracefs {
    int folder; /* -1: none */
    uint32_t groups;
} uprobe_tracefs;

void uprobe_tracefs_open(uprobe_tracefs *out);
/* Makes one event for the calls, or the returns, of `count` targets. *out_id: its number for PERF_TYPE_TRACEPOINT.
 * false: impossible, and nothing of it is left. */
bool uprobe_tracefs_add(uprobe_tracefs *tracefs, const uprobe_target *targets, uint32_t count, bool is_return,
                        uint64_t *out_id);
/* Removes all events; they must not be open any more. */
void uprobe_tracefs_close(uprobe_tracefs *tracefs);

#endif
