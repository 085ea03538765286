/* patch.h - changes for copying a file with some events changed, for formats that support it */
#ifndef HD_FORMAT_PATCH_H
#define HD_FORMAT_PATCH_H

#include "base/io/input.h"
#include "base/io/output.h"
#include "heddle/trace.h"

/* The changes of one event. */
typedef struct hd_patch_edit {
    uint64_t offset; /* of its first byte in the input */
    uint32_t size;
    bool set_start, set_duration;
    int64_t start_ns, start_part;       /* any sum of the two; part: of 10^-18 ns */
    int64_t duration_ns, duration_part; /* likewise */
    const char *tid;                    /* NULL: unchanged */
    size_t tid_size;
    bool tid_is_number;
} hd_patch_edit;

/* A new track next to an existing one: its name and order are added after the last event. */
typedef struct hd_patch_lane {
    uint32_t track; /* of the trace: the new track has the same process */
    const char *tid, *name;
    size_t tid_size, name_size;
    bool tid_is_number;
    int64_t sort_index;
} hd_patch_lane;

typedef struct hd_patch {
    const hd_patch_edit *edits; /* by ascending offset */
    size_t edit_count;
    const hd_patch_lane *lanes;
    size_t lane_count;
} hd_patch;

/* Copies all of `input` (which is rewound) to `output` with the patch, and the trace's own patches (the repairs of the
 * input). All other bytes are unchanged. The trace was read from the input with hd_read_options.sources. Errors: IO,
 * also if the input is not what was read; MEMORY. */
typedef hd_status hd_patch_file(hd_output *output, hd_input *input, const hd_trace *trace, const hd_patch *patch,
                                hd_error *err);

#endif
