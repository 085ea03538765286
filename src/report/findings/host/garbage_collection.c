/* garbage_collection.c - pauses of the garbage collector */
#include "report/findings/finding.h"

static bool is_one(hd_string name)
{
    static const char *const words[] = {"gc.collect",      "gc_collect", "Garbage",
                                        "garbage collect", "Python GC",  "python_gc"};
    if (FINDINGS_HAS(name, words)) return true;
    return name.size == 2 && (findings_begins(name, "GC") || findings_begins(name, "gc"));
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    return findings_find_named(f, rule, is_one, "The garbage collector stops the host", "times", err);
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
