/* process.h - which process a track belongs to
 *
 * Process  a pid of a trace: pids, tids and correlation ids of several processes may be equal, and mean nothing without
 *          theirs. A device's rows stand in a process of their own in most traces, which is none of the machine's:
 *          whose work they show is known from launches (hd_launches.processes), or from what hd_process_told reads.
 */
#ifndef HD_MODEL_IDENTITY_PROCESS_H
#define HD_MODEL_IDENTITY_PROCESS_H

#include "heddle/trace.h"
#include "model/identity/process.h"

/* The track of its process, of twins the lowest; of a process itself. HD_NONE: there is no such track. */
uint32_t hd_process_of(const hd_trace *trace, uint32_t track);
/* The track that a track stands below, itself if that is none: without a look at twins. */
static inline const hd_track *hd_process_track(const hd_trace *trace, const hd_track *track)
{
    return track->parent == HD_NONE ? track : hd_trace_track_at(trace, track->parent);
}
/* The process that uses the GPU whose rows stand below the track's process, as that is called "GPU 0 of 4711" (the
 * reader of Nsight Systems); HD_NONE: not told. */
uint32_t hd_process_told(const hd_trace *trace, uint32_t track);

/* What tells a process apart: its name and pid, "python (4711)", or the pid alone. Cut to `size` bytes. */
void hd_process_text(char *out, size_t size, const hd_trace *trace, uint32_t process);

/* Whether what is of one process may concern the other: not where both are known, and differ. */
static inline bool hd_may_share(uint32_t process, uint32_t other)
{
    return process == other || process == HD_NONE || other == HD_NONE;
}

#endif
