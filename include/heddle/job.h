/* job.h - what a rank's trace tells of its job: its collectives; and with those of other ranks, who came late
 *
 *     hd_collectives *all;
 *     HD_TRY(hd_collectives_new(&all, trace, err));
 *     for (size_t i = 0; i < hd_collectives_count(all); i++) use(hd_collectives_at(all, i));
 *     hd_collectives_free(all);
 */
#ifndef HEDDLE_JOB_H
#define HEDDLE_JOB_H

#include "heddle/report.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_collectives hd_collectives;

/* One collective of one rank, as its kernel shows it. Numbers that nobody tells are HD_NO_NUMBER, texts have a NULL
 * data. Match by (group, is_point_to_point, sequence), never by order in time. */
typedef struct hd_collective {
    int64_t rank, device, stream;
    hd_string group;     /* process group or communicator, as the trace names it. NULL: `stream` stands for it */
    hd_string operation; /* "AllReduce", "AllGather" …, as the report "communication" has them */
    int64_t size;        /* ranks in the group */
    int64_t bytes;       /* as the report "communication" counts them: what AllGather gives out, else what goes in */
    int64_t sequence;    /* within the group: the argument "Seq" of the kernel, or see sequence_is_counted */
    bool sequence_is_counted; /* from 0 at the first of this recording: matches only ranks whose recordings begin with
                                 the same collective */
    bool is_point_to_point;   /* sends and receives have a sequence of their own in each group */
    int64_t start_ns, end_ns; /* on the trace's clock; a rank's duration includes waiting for the others */
    uint64_t event;           /* row of HD_KIND_SLICE over all blocks; `id` in heddle query's table slice */
} hd_collective;

/* All collectives of a trace, by rank, device, group (the unnamed first, by stream), point to point last, then start.
 * Borrows the trace. The caller frees it with hd_collectives_free. Any thread may read it. Temporary memory is that of
 * the report "communication", what stays about 250 bytes each. Errors: MEMORY, LIMIT (2^32 slices). */
hd_status hd_collectives_new(hd_collectives **out, const hd_trace *trace, hd_error *err);
void hd_collectives_free(hd_collectives *collectives);
size_t hd_collectives_count(const hd_collectives *collectives);
/* Borrowed, as are its texts. */
const hd_collective *hd_collectives_at(const hd_collectives *collectives, size_t index);

/* Who came last to the collectives of a job, by how much, and what does not match. Needs no common clock: whoever comes
 * last waits for nobody, so that its duration is the shortest. Collectives are one if group, is_point_to_point and
 * sequence are; unnamed groups are one if their streams are. A member is a rank and a device, or, where the rank is not
 * known, the place in `traces`. Durations are ns. Tables:
 *
 * `stragglers`  a row per member: `rank`, `device`; `collectives` compared, of which it was `last` (of several the
 *               lowest); `late`: sum of longest - own duration; `waited`: sum of own - shortest; `transfer`: sum of the
 *               shortest; `z`: (late / collectives - median) / (1.4826 MAD) among members, null if MAD is 0
 * `collectives` a row per collective that was compared: `group`, `stream`, `point_to_point`, `sequence`, `counted` (as
 *               sequence_is_counted of any), `operation`, `members`, `last_rank`, `last_device`, `late`: longest -
 *               shortest, `transfer`: shortest
 * `mismatched`  a row per defect of a collective: `group`, `stream`, `point_to_point`, `sequence`, `defect`, `rank` and
 *               `device` of the first that has it, `members` that have it. Defects: "double" (twice of one member) and
 *               "operation" (another than the first member's), which are not compared; "missing" (members of the
 *               group that lack it), "size" and "bytes" (others than the first member's)
 * `last`        a row per member and group, where a job that hangs stopped: `rank`, `device`, `group`, `stream`,
 *               `point_to_point`, `sequence` (the highest), `operation`, `behind`: the highest of the group - that
 *
 * Errors: MEMORY, LIMIT (2^32 traces). */
hd_status hd_report_stragglers(hd_report *out, const hd_collectives *const *traces, size_t count, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
