/* lines.c - the line of the user's code behind a finding */
#include "model/host/lines.h"

#include <stdio.h>
#include <stdlib.h>

#include "report/findings/finding.h"
#include "trace/event.h"

hd_status findings_line(uint32_t *out, const findings *f, const gpu_place *places, const int64_t *lengths, size_t count,
                        hd_error *err)
{
    *out = HD_STRING_NONE;
    if (!f->is_slowed || !count) return HD_OK; /* no frames */
    uint32_t *names = calloc(count, sizeof *names);
    int64_t *sums = calloc(hd_trace_string_count(f->scope.trace) + 1, sizeof *sums);
    hd_status status = names && sums ? gpu_line_names(names, places, count, count, &f->scope, err) : HD_NOMEM(err);
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        if (names[i] == HD_STRING_NONE) continue;
        sums[names[i]] = gpu_sum(sums[names[i]], lengths[i]);
        if (*out == HD_STRING_NONE || sums[names[i]] > sums[*out]) *out = names[i];
    }
    free(names);
    free(sums);
    return status;
}

hd_status findings_line_of_longest(uint32_t *out, const findings *f, hd_error *err)
{
    const finding *of = &f->list[f->count - 1];
    *out = HD_STRING_NONE;
    if (!of->id_count) return HD_OK;
    hd_event event = hd_event_at(f->scope.trace, HD_KIND_SLICE, (uint64_t)of->ids[0]);
    const gpu_place place = {gpu_time(event.start_ns), gpu_lane_of(f->scope.trace, event.track), 0};
    return findings_line(out, f, &place, &of->lengths[0], 1, err);
}

const char *findings_line_text(char out[96], const findings *f, uint32_t line)
{
    char name[72];
    *out = '\0';
    if (line != HD_STRING_NONE) snprintf(out, 96, ", called by %s", findings_short(name, f->scope.trace, line));
    return out;
}
