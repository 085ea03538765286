/* garbage_collection.c - pauses of the garbage collector */
#include <stdio.h>

#include "report/findings/finding.h"
#include "trace/event.h"

static bool is_one(hd_string name)
{
    static const char *const words[] = {"gc.collect",      "gc_collect", "Garbage",
                                        "garbage collect", "Python GC",  "python_gc"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (findings_contains(name, words[i])) return true;
    return name.size == 2 && (findings_begins(name, "GC") || findings_begins(name, "gc"));
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char name[72], amount[96];
    HD_TRY(findings_gather_named(&of, f, rule, is_one, err));
    if (!of) return HD_OK;
    uint32_t longest = (uint32_t)hd_event_at(f->scope.trace, HD_KIND_SLICE, (uint64_t)of->ids[0]).name;
    snprintf(of->text, sizeof of->text, "The garbage collector stops the host for %s: %s, %llu times.",
             findings_amount(amount, of), findings_short(name, f->scope.trace, longest),
             (unsigned long long)of->events);
    return HD_OK;
}

const finding_rule finding_garbage_collection = {
    .about.code = "garbage-collection",
    .about.severity = "warning",
    .about.meaning = "pauses of the garbage collector",
    .about.advice =
        "Collect where it does not hurt: gc.disable() in the loop and gc.collect() every N steps on all ranks at "
        "once, or gc.freeze() after the model is built.",
    .find = find,
};
