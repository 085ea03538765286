/* module_loading.c - GPU code is loaded or compiled while the program runs */
#include "report/findings/finding.h"

static bool is_one(hd_string name)
{
    static const char *const words[] = {"ModuleLoad", "LibraryLoad", "nvrtcCompileProgram", "hiprtcCompileProgram",
                                        "cuLink"};
    return FINDINGS_HAS(name, words);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    return findings_find_named(f, rule, is_one, "GPU code is loaded or compiled", "calls", err);
}

const finding_rule finding_module_loading = {
    .about.code = "module-loading",
    .about.severity = "warning",
    .about.meaning = "GPU code is loaded or compiled while the program runs",
    .about.advice = "Load before the first step: run each shape once as warm-up, or set CUDA_MODULE_LOADING=EAGER.",
    .find = find,
};
