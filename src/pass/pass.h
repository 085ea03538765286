/* pass.h - the list of passes, their options, and a pass with its options set
 *
 * list.c has a descriptor for each folder, parse.c makes a pass from its text, run.c runs it.
 */
#ifndef HD_PASS_PASS_H
#define HD_PASS_PASS_H

#include "heddle/pass.h"
#include "pass/crop/crop.h"
#include "pass/options.h"

struct hd_pass {
    const hd_pass_about *about;
    hd_option_values options;
};

typedef struct pass_lanes {
    double snap_threshold_us;
} pass_lanes;

typedef struct pass_crop {
    hd_convert_time from, until;
    bool clip;
    const hd_crop_window *window; /* the window, if the caller computed it; NULL: computed here */
} pass_crop;

typedef struct pass_merge {
    bool ranks, processes;
    hd_option_texts shift;
    size_t share;  /* the index, from 1 on, of the single input among those of a job; the others are merged elsewhere.
                      0: not a share */
    bool first;    /* the first of two merges of a share: ids and stacks are made distinct in the second one */
    bool by_place; /* of a share: its rank is its index, whatever the trace says */
    const size_t *places; /* of the inputs, which are their ranks if none is given; NULL: in order */
} pass_merge;

typedef struct pass_memory {
    const char *profile;
} pass_memory;

extern const hd_pass_about hd_pass_lanes, hd_pass_crop, hd_pass_filter, hd_pass_merge, hd_pass_attribution,
    hd_pass_memory, hd_pass_counters, hd_pass_anonymize, hd_pass_thin;

/* Its option of kind TRACE; NULL: none. */
const hd_option_about *hd_pass_second_option(const hd_pass_about *about);

/* A pass with all options at their defaults. */
hd_status hd_pass_new_default(hd_pass **out, const hd_pass_about *about, hd_error *err);

#endif
