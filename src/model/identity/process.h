/* process.h - the process of a track
 *
 * Process  a pid of a trace: pids, tids and correlation ids of several processes may be equal, and are meaningful only
 *          within theirs. A device's tracks are in a process of their own in most traces, which is not one of the
 *          machine: the process of their activities is known from launches (hd_launches.processes), or by
 *          hd_process_told.
 */
#ifndef HD_MODEL_IDENTITY_PROCESS_H
#define HD_MODEL_IDENTITY_PROCESS_H

#include "heddle/trace.h"
#include "model/identity/process.h"

/* The track of its process, of twins the lowest; of a process itself. HD_NONE: there is no such track. */
uint32_t hd_process_of(const hd_trace *trace, uint32_t track);
/* The parent of a track, itself if it has none: ignoring twins. */
static inline const hd_track *hd_process_track(const hd_trace *trace, const hd_track *track)
{
    return track->parent == HD_NONE ? track : hd_trace_track_at(trace, track->parent);
}
/* The process that uses the GPU of the track's process, if that is named "GPU 0 of 4711" (the reader of Nsight
 * Systems); HD_NONE: unknown. */
uint32_t hd_process_told(const hd_trace *trace, uint32_t track);

/* A unique text for a process: its name and pid, "python (4711)", or the pid alone. Cut to `size` bytes. */
void hd_process_text(char *out, size_t size, const hd_trace *trace, uint32_t process);

/* Whether data of one process may concern the other: false if both are known and differ. */
static inline bool hd_may_share(uint32_t process, uint32_t other)
{
    return process == other || process == HD_NONE || other == HD_NONE;
}

#endif
