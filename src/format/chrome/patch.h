/* patch.h - the text of a Chrome JSON trace, copied with some events changed */
#ifndef HD_FORMAT_CHROME_PATCH_H
#define HD_FORMAT_CHROME_PATCH_H

#include "base/io/input.h"
#include "base/io/output.h"
#include "heddle/trace.h"

/* What to change in one event. */
typedef struct chrome_edit {
    uint64_t offset; /* of its `{` in the input */
    uint32_t size;
    bool set_start, set_duration;
    int64_t start_ns, start_part;       /* any sum of the two; part: of 10^-18 ns */
    int64_t duration_ns, duration_part; /* likewise */
    const char *tid;                    /* NULL: unchanged */
    size_t tid_size;
    bool tid_is_number;
} chrome_edit;

/* Text to put in at an offset. */
typedef struct chrome_insertion {
    uint64_t offset;
    const char *text;
    size_t size;
} chrome_insertion;

/* Copy all of `input` (which is rewound) to `output` with the edits (by ascending offset), the trace's own patches (the
 * repairs of its JSON), and the insertion (size 0: none). What is not named keeps its bytes. */
hd_status chrome_patch(hd_output *output, hd_input *input, const hd_trace *trace, const chrome_edit *edits,
                       size_t edit_count, const chrome_insertion *insertion, hd_error *err);

#endif
