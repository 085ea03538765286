/* trust.c - what in a trace's GPU activities is missing or impossible */
#include "model/trust/trust.h"

#include <stdio.h>

/* Activities of a stream that is in order may overlap by so much: programmatic dependent launches do by about 1 us, and
 * clocks are read with some noise. */
enum { OVERLAP_SLACK_NS = 5000, LEAST_CLOCK_GAP_NS = 1000000000 };

static void doubt(gpu_doubt *d, uint32_t work)
{
    if (!d->count++) d->work = work;
}

/* Activities that another launch put on their stream behind one that still runs. Nodes of one graph may run side by side,
 * and what no call launched may be sums or parts of other rows. */
static void find_overlaps(gpu_doubt *out, const gpu_scope *s, const gpu_row *row)
{
    const gpu_work *longest = NULL;
    if (row->stream == HD_NO_NUMBER) return;
    for (uint32_t i = 0; i < row->count; i++) {
        uint32_t at = s->by_row[row->first + i];
        const gpu_work *work = &s->works[at];
        if (work->launch == HD_NONE || s->launches->launches[work->launch].work_count > 1) continue;
        out->of++;
        int64_t overlap = longest ? longest->end - work->start : 0;
        if (overlap > OVERLAP_SLACK_NS && longest->launch != work->launch) {
            doubt(out, at);
            if (overlap > out->ns) out->ns = overlap;
        }
        if (!longest || work->end > longest->end) longest = work;
    }
}

static void find_unrecorded(gpu_doubt *out, const gpu_scope *s)
{
    const hd_launches *l = s->launches;
    for (size_t i = 0; i < l->launch_count; i++) {
        const hd_launch *launch = &l->launches[i];
        if (launch->sort != HD_LAUNCH_KERNEL && launch->sort != HD_LAUNCH_GRAPH) continue;
        out->of++;
        if (!launch->work_count) doubt(out, HD_NONE);
    }
    /* Activities without a time were recorded; at the edges of a recording some launches are without. */
    out->count -= l->works_without_time < out->count ? l->works_without_time : out->count;
    if (!s->has_launches || 100 * out->count < out->of) out->count = 0;
}

/* Two clocks, or single times that are wrong. */
static void find_clocks(gpu_trust *t, const gpu_scope *s)
{
    const hd_launches *l = s->launches;
    gpu_doubt *apart = &t->doubts[GPU_DOUBT_CLOCKS], *far = &t->doubts[GPU_DOUBT_FAR];
    int64_t first = INT64_MAX, last = INT64_MIN, least = INT64_MAX;
    for (size_t i = 0; i < l->launch_count; i++) {
        if (l->launches[i].start_ns < first) first = l->launches[i].start_ns;
        if (l->launches[i].start_ns > last) last = l->launches[i].start_ns;
    }
    if (first > last) return;
    gpu_i128 span = (gpu_i128)last - first, reach = span + 3600 * (gpu_i128)1000000000;
    for (size_t i = 0; i < l->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (work->device == HD_NONE) continue;
        far->of++;
        if (work->start < first - reach || work->start > last + reach) doubt(far, (uint32_t)i);
        if (work->launch == HD_NONE) continue;
        int64_t delay = gpu_sum(work->start, -l->launches[work->launch].start_ns);
        if (delay < least) least = delay;
        if (!apart->of++) apart->work = (uint32_t)i;
    }
    apart->ns = least;
    if (apart->of && least > span && least > LEAST_CLOCK_GAP_NS) apart->count = apart->of;
    if (apart->count) far->count = 0; /* the same fact */
}

gpu_trust gpu_trust_of(const gpu_scope *s)
{
    gpu_trust t = {0};
    const hd_launches *l = s->launches;
    for (int i = 0; i < GPU_DOUBTS; i++) t.doubts[i].work = HD_NONE;
    t.doubts[GPU_DOUBT_NO_TIME].count = l->works_without_time;
    t.doubts[GPU_DOUBT_NO_TIME].of = l->works_without_time + l->work_count;
    t.doubts[GPU_DOUBT_NO_END].count = l->works_without_end;
    t.doubts[GPU_DOUBT_NO_END].of = l->work_count;
    t.doubts[GPU_DOUBT_GUESSED].count = l->guessed_works;
    t.doubts[GPU_DOUBT_GUESSED].of = l->work_count;
    find_unrecorded(&t.doubts[GPU_DOUBT_UNRECORDED], s);
    for (uint32_t r = 0; r < s->row_count; r++)
        if (s->rows[r].device != HD_NONE) find_overlaps(&t.doubts[GPU_DOUBT_OVERLAP], s, &s->rows[r]);
    find_clocks(&t, s);
    return t;
}

const char *gpu_doubt_text(char out[GPU_DOUBT_TEXT], gpu_doubt_code code, const gpu_doubt *d)
{
    unsigned long long count = d->count, of = d->of;
    double seconds = (double)d->ns / 1e9;
    switch (code) {
    case GPU_DOUBT_NO_TIME:
        snprintf(out, GPU_DOUBT_TEXT,
                 "%llu of %llu GPU activities have no time, since the profiler could not take it: no figure has them",
                 count, of);
        break;
    case GPU_DOUBT_NO_END:
        snprintf(out, GPU_DOUBT_TEXT, "%llu of %llu GPU activities never end in this trace: they count as 0 ns", count,
                 of);
        break;
    case GPU_DOUBT_UNRECORDED:
        snprintf(
            out, GPU_DOUBT_TEXT,
            "of %llu of %llu launches of kernels and graphs no GPU activity was recorded: what the GPU did then is "
            "not known, and what counts as idle may be activity",
            count, of);
        break;
    case GPU_DOUBT_GUESSED:
        snprintf(
            out, GPU_DOUBT_TEXT,
            "several processes have the correlation ids of %llu of %llu GPU activities: which process launched them is "
            "taken from the order of calls and may be wrong",
            count, of);
        break;
    case GPU_DOUBT_OVERLAP:
        snprintf(out, GPU_DOUBT_TEXT,
                 "%llu of %llu GPU activities begin while an earlier one of their stream runs, by up to %.6g s: a "
                 "stream runs "
                 "one after the other, so durations or times are wrong",
                 count, of, seconds);
        break;
    case GPU_DOUBT_CLOCKS:
        snprintf(out, GPU_DOUBT_TEXT,
                 "all %llu GPU activities with a launch begin %.6g s or more behind it, longer than the launches of "
                 "the trace "
                 "take: CPU and GPU have clocks of their own, and what compares their times is wrong",
                 count, seconds);
        break;
    default:
        snprintf(out, GPU_DOUBT_TEXT,
                 "%llu of %llu GPU activities lie more than an hour outside the time of all launches: their times are "
                 "wrong, "
                 "and spans and idle time with them",
                 count, of);
    }
    return out;
}
