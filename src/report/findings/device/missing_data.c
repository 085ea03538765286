/* missing_data.c - activities, launches or steps that the profiler lost or did not record */
#include <stdio.h>

#include "model/trust/trust.h"
#include "report/findings/finding.h"

/* One in a hundred, or of unknown many any. */
static bool is_worth(const gpu_doubt *doubt)
{
    return doubt->count && doubt->count >= doubt->of / 100;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    static const gpu_doubt_code codes[] = {GPU_DOUBT_INPUT_LOST, GPU_DOUBT_UNRECORDED, GPU_DOUBT_STEPS,
                                           GPU_DOUBT_GRAPHS,     GPU_DOUBT_NO_CALLS,   GPU_DOUBT_UNLINKED};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const gpu_doubt *doubt = &f->trust->doubts[codes[i]];
        char text[GPU_DOUBT_TEXT];
        if (!is_worth(doubt)) continue;
        finding *of = findings_add(f, rule);
        if (!of) return HD_NOMEM(err);
        of->events = doubt->count;
        of->reason = "what is missing is not known";
        snprintf(of->text, sizeof of->text, "%s.", gpu_doubt_text(text, codes[i], doubt));
        if (doubt->track != HD_NONE) findings_show(f, (int64_t)doubt->row, 0);
        return HD_OK;
    }
    return HD_OK;
}

const finding_rule finding_missing_data = {
    .about.code = "missing-data",
    .about.severity = "note",
    .about.meaning = "activities, launches or steps that the profiler lost or did not record",
    .about.advice =
        "Record less at once: fewer steps, no stacks, shapes or memory, larger buffers (heddle record, nsys "
        "--flush-interval), all processes and API calls; heddle check says what is missing and what rests on it.",
    .find = find,
};
