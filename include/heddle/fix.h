/* fix.h - lane repair: a trace in which every viewer shows every slice
 *
 * On one track slices must be disjoint or nested; viewers drop or misdraw slices that cross. A crossing smaller than
 * the snap threshold is timing noise and is snapped in place; a larger one moves to a lane of its own below the track.
 * Flow points stay bound to their slices. All other bytes are unchanged: the output is the input with patches. Broken
 * JSON is repaired.
 */
#ifndef HEDDLE_FIX_H
#define HEDDLE_FIX_H

#include "heddle/format.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All times in picoseconds: 1 us is 1,000,000. */
#define HD_FIX_SNAP_THRESHOLD_PS INT64_C(5000000)
#define HD_FIX_SNAP_NONE INT64_C(-1) /* nothing is snapped: every crossing slice moves */
enum { HD_FIX_LIST_LIMIT = 50 };

typedef struct hd_fix_options {
    size_t size;                   /* of this struct; see "Options" in status.h */
    int64_t snap_threshold_ps;     /* crossings below it are snapped; 0: HD_FIX_SNAP_THRESHOLD_PS; HD_FIX_SNAP_NONE */
    bool dry_run;                  /* report only; the output is not touched */
    bool full_lists;               /* list every changed slice, not the HD_FIX_LIST_LIMIT largest */
    const hd_read_options *read;   /* strict, threads, memory, progress; this function sets the rest. NULL: defaults */
    const hd_write_options *write; /* pretty, sync, level. NULL: defaults */
} hd_fix_options;

/* A track with slices. */
typedef struct hd_fix_track {
    const char *pid, *tid;           /* as in the input, "" if absent */
    uint32_t lane_count;             /* lanes, the track itself included: at least 1 */
    uint64_t slices, moved, snapped; /* snapped: crossings; a slice may have several */
} hd_fix_track;

/* All changed slices of category "kernel" with one name. */
typedef struct hd_fix_kernel {
    const char *name;
    uint64_t runs, moved, snapped;  /* runs: changed ones */
    int64_t delayed_ps, trimmed_ps; /* sums of starts moved later and of ends moved earlier */
} hd_fix_kernel;

typedef struct hd_fix_slice {
    const char *name, *pid, *tid;
    uint32_t lane;                        /* 0: snapped in place */
    const char *lane_tid;                 /* tid of the lane it moved to, NULL if snapped */
    int64_t start_shift_ps, end_shift_ps; /* at least 0 each */
} hd_fix_slice;

/* Strings and lists belong to the report. */
typedef struct hd_fix_report {
    size_t track_count; /* tracks with slices */
    hd_fix_track *tracks;
    uint64_t slices, moved, snapped_crossings, updated; /* updated: slices that moved or were snapped */
    int64_t start_shift_ps, end_shift_ps;
    size_t kernel_count;
    hd_fix_kernel *kernels;                  /* largest total shift first */
    uint64_t moved_others, snapped_others;   /* changed slices that are not kernels */
    size_t moved_count, snapped_count;       /* those listed below */
    hd_fix_slice *moved_list, *snapped_list; /* longest, and largest shift, first */
    uint64_t flow_endpoints;                 /* rewritten */
    uint64_t flows_unresolved;               /* flow points that could not stay bound to their slice */
    uint64_t new_lanes;
    uint64_t repairs, losses; /* of the JSON; the input's ledger lists them */
    uint64_t output_bytes;    /* uncompressed, 0 if pretty */
} hd_fix_report;

void hd_fix_report_free(hd_fix_report *report);

/* Repair the file `from` into `to` (the same name works: the file appears whole or not at all; "-": standard input,
 * output). options may be NULL. *out, unless out is NULL, lists the changes; the caller frees it. After a failure it is
 * NULL. Errors: as of hd_trace_read and hd_trace_write; UNSUPPORTED: the input is not Chrome trace event JSON. */
hd_status hd_fix_overlaps(hd_fix_report **out, const char *from, const char *to, const hd_fix_options *options,
                          hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
