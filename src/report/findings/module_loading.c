/* module_loading.c - GPU code is loaded or compiled while the program runs */
#include <stdio.h>

#include "report/findings/finding.h"
#include "trace/event.h"

static bool is_one(hd_string name)
{
    static const char *const words[] = {"ModuleLoad", "LibraryLoad", "nvrtcCompileProgram", "hiprtcCompileProgram",
                                        "cuLink"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (findings_contains(name, words[i])) return true;
    return false;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char name[72], amount[96];
    HD_TRY(findings_gather_named(&of, f, rule, is_one, err));
    if (!of) return HD_OK;
    uint32_t longest = (uint32_t)hd_event_at(f->scope.trace, HD_KIND_SLICE, (uint64_t)of->ids[0]).name;
    snprintf(of->text, sizeof of->text, "GPU code is loaded or compiled for %s: %s, %llu calls.",
             findings_amount(amount, of), findings_short(name, f->scope.trace, longest),
             (unsigned long long)of->events);
    return HD_OK;
}

const finding_rule finding_module_loading = {
    .about.code = "module-loading",
    .about.severity = "warning",
    .about.meaning = "GPU code is loaded or compiled while the program runs",
    .about.advice = "Load before the first step: run each shape once as warm-up, or set CUDA_MODULE_LOADING=EAGER.",
    .find = find,
};
