/* idle_unknown.c - idle time without a known cause */
#include <stdio.h>

#include "report/findings/finding.h"

typedef struct cause_about {
    gpu_cause cause;
    const char *sentence, *reason;
} cause_about;

static const cause_about abouts[] = {
    {GPU_CAUSE_UNKNOWN, "before activities whose launch is not recorded", "the launches are not in the trace"},
    {GPU_CAUSE_DEVICE, "though work was queued", "the trace does not say what the queued work waits for"},
    {GPU_CAUSE_DEPENDENCY, "while a stream waits for an event of another",
     "of what the other stream does meanwhile the trace has no activity"},
    {GPU_CAUSE_TRANSFER, "while another device copies or communicates",
     "the activity of the other device is a finding of its own"},
};

static hd_status add_cause(findings *f, const finding_rule *rule, uint32_t device, const cause_about *about,
                           hd_error *err)
{
    const gpu_gaps *gaps = &f->gaps;
    int64_t total = 0;
    finding *of = findings_add(f, rule);
    char amount[96];
    if (!of) return HD_NOMEM(err);
    for (size_t i = gaps->first[device]; i < gaps->first[device + 1]; i++) {
        const gpu_gap *gap = &gaps->list[i];
        int64_t start = gap->start > f->from ? gap->start : f->from, end = gap->end < f->until ? gap->end : f->until;
        if (gap->cause != about->cause || end <= start) continue;
        total += end - start;
        of->events++;
        findings_show(f, (int64_t)f->scope.launches->works[gap->work].row, end - start);
    }
    if (!findings_is_worth(f, total)) {
        findings_drop(f);
        return HD_OK;
    }
    of->amount = total;
    of->device = device;
    of->rank = f->scope.devices[device].rank;
    of->reason = about->reason;
    snprintf(of->text, sizeof of->text, "The %s is idle for %s %s, in %llu gap%s.", f->device_kind,
             findings_amount(amount, of), about->sentence, (unsigned long long)of->events, FINDINGS_S(of->events));
    return HD_OK;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    for (uint32_t d = 0; d < f->scope.device_count; d++)
        for (size_t i = 0; i < sizeof abouts / sizeof *abouts; i++) HD_TRY(add_cause(f, rule, d, &abouts[i], err));
    return HD_OK;
}

const finding_rule finding_idle_unknown = {
    .about.code = "idle-unexplained",
    .about.severity = "note",
    .about.meaning = "the GPU is idle, and the trace does not show the cause",
    .about.advice =
        "Record API calls and CPU operators as well (ProfilerActivity.CPU; heddle record; nsys --trace=cuda), then "
        "heddle report idle.",
    .find = find,
};
