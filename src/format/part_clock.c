/* part_clock.c - clock offsets for the times of an archive that is joined with others */
#include <math.h>

#include "format/format.h"

static int64_t offset_of(const hd_format_clock *clock, int64_t at_ns)
{
    return clock->offset_ns + (int64_t)llround(clock->drift * ((double)at_ns - (double)clock->at_ns));
}

int64_t hd_format_part_offset(int64_t *out_bar_ns, const hd_format_part *part, int64_t at_ns)
{
    const hd_format_clock *clock = part->clocks;
    size_t left = part->clock_count;
    for (; left > 1 && at_ns >= clock[1].first_ns; left--) clock++;
    if (out_bar_ns) *out_bar_ns = left ? clock->bar_ns : 0;
    if (!left) return part->offset_ns;
    if (left == 1 || at_ns <= clock->last_ns) return part->offset_ns + offset_of(clock, at_ns);
    int64_t from = offset_of(clock, clock->last_ns), to = offset_of(&clock[1], clock[1].first_ns);
    double share = (double)(at_ns - clock->last_ns) / (double)(clock[1].first_ns - clock->last_ns);
    return part->offset_ns + from + (int64_t)llround((double)(to - from) * share);
}
