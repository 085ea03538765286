/* cupti_known.h - versions of CUPTI with known defects, from NVIDIA's release notes: for the tracer, and for `heddle
 * devices`
 *
 * Versions are those of cuptiGetVersion: 24 is CUDA 12.6, 28 is 12.9 Update 1, 130001 is 13.0 Update 1. Before 13.0 an
 * update has no version of its own, so a row may name more than the release that has the defect.
 */
#ifndef HD_BASE_CUPTI_KNOWN_H
#define HD_BASE_CUPTI_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum hd_cupti_defect {
    HD_CUPTI_ZERO_TIMES = 1, /* the tracer works around this and the next two */
    HD_CUPTI_SYNCS_MISSING,
    HD_CUPTI_GRAPH_IDS,
    HD_CUPTI_SLOW,
} hd_cupti_defect;

static const struct {
    hd_cupti_defect what;
    uint32_t since, before;
    const char *text;
} hd_cupti_defects[] = {
    {HD_CUPTI_ZERO_TIMES, 24, 130100, "times of 0 if it is given a clock (12.6 Update 2 to 13.0), so it is given none"},
    {HD_CUPTI_SYNCS_MISSING, 130000, 130001,
     "no records of cudaDeviceSynchronize, and a deadlock when kernels are "
     "disabled (13.0)"},
    {HD_CUPTI_GRAPH_IDS, 0, 130101,
     "wrong correlation ids of graph launches from the second window on (before 13.1 "
     "Update 1)"},
    {HD_CUPTI_SLOW, 130200, 130300, "slower repeated API calls (13.2)"},
    {HD_CUPTI_SLOW, 0, 130401, "CPU time that grows in long recordings (before 13.4 Update 1)"},
};

enum { HD_CUPTI_DEFECTS = sizeof hd_cupti_defects / sizeof *hd_cupti_defects };

static inline bool hd_cupti_has(size_t row, uint32_t version)
{
    return version >= hd_cupti_defects[row].since && version < hd_cupti_defects[row].before;
}

static inline bool hd_cupti_has_defect(hd_cupti_defect what, uint32_t version)
{
    bool has = false;
    for (size_t i = 0; i < HD_CUPTI_DEFECTS; i++) has |= hd_cupti_defects[i].what == what && hd_cupti_has(i, version);
    return has;
}

/* All of a version, "; " between them; returns how many. */
static inline uint32_t hd_cupti_tell(char *out, size_t room, uint32_t version)
{
    uint32_t count = 0;
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < HD_CUPTI_DEFECTS; i++) {
        if (!hd_cupti_has(i, version)) continue;
        int size = snprintf(out + used, room - used, "%s%s", count ? "; " : "", hd_cupti_defects[i].text);
        if (size > 0) used = used + (size_t)size < room ? used + (size_t)size : room - 1;
        count++;
    }
    return count;
}

#endif
