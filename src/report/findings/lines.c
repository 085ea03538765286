/* lines.c - the line of the user's code that a finding is about */
#include "model/host/lines.h"

#include <stdio.h>
#include <stdlib.h>

#include "report/findings/finding.h"
#include "trace/event.h"

/* The line with most of `lengths`, by id; HD_NONE: there is none. */
static uint32_t choose_line(int64_t *sums, const uint32_t *lines, const int64_t *lengths, size_t count)
{
    uint32_t best = HD_NONE;
    for (size_t i = 0; i < count; i++) {
        if (lines[i] == HD_NONE) continue;
        sums[lines[i]] = gpu_sum(sums[lines[i]], lengths[i]);
        if (best == HD_NONE || sums[lines[i]] > sums[best]) best = lines[i];
    }
    return best;
}

hd_status findings_line(char out[96], const findings *f, const gpu_place *places, const int64_t *lengths, size_t count,
                        hd_error *err)
{
    char name[72];
    gpu_texts texts = {0};
    gpu_lines lines = {0};
    uint32_t *of = calloc(count + 1, sizeof *of);
    int64_t *sums = calloc(count + 1, sizeof *sums); /* each place adds at most one text */
    *out = '\0';
    hd_status status = of && sums ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && count) status = gpu_lines_init(&lines, &texts, f->scope.trace, "", err);
    if (status == HD_OK && count) status = gpu_lines_around(of, &lines, &f->scope, places, count, count, err);
    uint32_t best = status == HD_OK ? choose_line(sums, of, lengths, count) : HD_NONE;
    if (best != HD_NONE) snprintf(out, 96, ", called by %s", findings_short_text(name, gpu_text_of(&texts, best)));
    gpu_lines_deinit(&lines);
    gpu_texts_deinit(&texts);
    free(of);
    free(sums);
    return status;
}

hd_status findings_line_of_longest(char out[96], const findings *f, hd_error *err)
{
    const finding *of = &f->list[f->count - 1];
    *out = '\0';
    if (!of->id_count) return HD_OK;
    hd_event event = hd_event_at(f->scope.trace, HD_KIND_SLICE, (uint64_t)of->ids[0]);
    const gpu_place place = {gpu_time(event.start_ns), gpu_lane_of(f->scope.trace, event.track), 0};
    return findings_line(out, f, &place, &of->lengths[0], 1, err);
}
