/* slow_step.c - a step that takes longer than the others do, by more than they differ */
#include <stdio.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "report/findings/finding.h"

typedef struct timed {
    int64_t ns;
    uint32_t step;
} timed;

static int by_time(const void *a, const void *b)
{
    const timed *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return x->step < y->step ? -1 : 1;
}

/* Of at least four steps of one process the longest: 1.5 times the median, and beyond the quartiles by 1.5 times their
 * distance (Tukey's fence). wants_first: only if it is the first of the process, else only if not. */
static void find_slow(findings *f, const timed *list, uint32_t count, uint32_t first, const finding_rule *rule,
                      bool wants_first, bool *fine)
{
    int64_t median = list[count / 2].ns, low = list[count / 4].ns, high = list[(count - 1) - count / 4].ns;
    const timed *slowest = &list[count - 1];
    if (slowest->ns - median <= median / 2 || slowest->ns - high <= (high - low) + (high - low) / 2) return;
    if ((slowest->step == first) != wants_first) return;
    const gpu_step *step = &f->scope.steps[slowest->step];
    finding *of = findings_add(f, rule);
    char name[72], length[HD_VALUE_TEXT_BYTES], usual[HD_VALUE_TEXT_BYTES];
    *fine = of != NULL;
    if (!of) return;
    of->rank = step->rank;
    of->step = slowest->step;
    of->amount = slowest->ns - median;
    of->events = 1;
    of->reason = "what happens in the step is in the other findings";
    findings_show(f, step->row, slowest->ns);
    snprintf(of->text, sizeof of->text, "%s, %s, takes %s, %.2f times the median of %s.",
             wants_first ? "The first step" : "One step", findings_short(name, f->scope.trace, step->name),
             hd_text_duration(length, slowest->ns), (double)slowest->ns / (double)median,
             hd_text_duration(usual, median));
}

static hd_status find_with(findings *f, const finding_rule *rule, bool wants_first, hd_error *err)
{
    const gpu_scope *s = &f->scope;
    timed *list = calloc((size_t)s->step_count + 1, sizeof *list);
    bool fine = list != NULL;
    for (uint32_t i = 0, end; fine && i < s->step_count; i = end) {
        uint32_t count = 0;
        for (end = i; end < s->step_count && s->steps[end].rank == s->steps[i].rank &&
                      s->steps[end].process == s->steps[i].process;
             end++)
            list[count++] = (timed){s->steps[end].end - s->steps[end].start, end};
        hd_sort(list, count, sizeof *list, by_time);
        if (count >= 4 && list[count / 2].ns > 0) find_slow(f, list, count, i, rule, wants_first, &fine);
    }
    free(list);
    return fine ? HD_OK : HD_NOMEM(err);
}

static hd_status find_first(findings *f, const finding_rule *rule, hd_error *err)
{
    return find_with(f, rule, true, err);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    return find_with(f, rule, false, err);
}

const finding_rule finding_slow_first_step = {
    .about.code = "slow-first-step",
    .about.severity = "note",
    .about.meaning = "the first step is slower than the others: warm-up",
    .about.advice =
        "Leave it out: profiler schedule(wait=1, warmup=2, active=…), or --from. If it counts, warm up before "
        "(compile, allocate, load modules).",
    .find = find_first,
};

const finding_rule finding_slow_step = {
    .about.code = "slow-step",
    .about.severity = "warning",
    .about.meaning = "one step is much slower than the others, beyond their usual variation",
    .about.advice =
        "Look at what only this step does: heddle view at its start, heddle report breakdown --by step; often a "
        "checkpoint, validation, logging or a garbage collection.",
    .find = find,
};
