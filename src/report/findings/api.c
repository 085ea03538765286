/* api.c - the API that the advice of a trace's findings is about */
#include <string.h>

#include "heddle/analysis/launches.h"
#include "model/roles/trace_roles.h"
#include "report/findings/finding.h"
#include "report/properties.h"

static bool note_model(void *user, report_properties *p)
{
    finding_api *api = user;
    if (p->name) *api = finding_api_of_model((hd_string){p->name, strlen(p->name)});
    return !p->name; /* the first is enough */
}

finding_api findings_api(const findings *f)
{
    finding_api api = FINDING_API_CUDA;
    bool is_known = false;
    for (uint32_t i = 0; i < hd_trace_string_count(f->scope.trace); i++) {
        hd_string name = hd_trace_string(f->scope.trace, i);
        if (!f->names[i] || hd_launch_sort_of(name) == HD_LAUNCH_UNKNOWN) continue;
        if (findings_begins(name, "cu")) return FINDING_API_CUDA;
        if (!is_known || findings_begins(name, "hip"))
            api = findings_begins(name, "hip") ? FINDING_API_HIP : FINDING_API_OTHER;
        is_known = true;
    }
    const char *producer = hd_producer_of(f->scope.trace);
    if (!is_known && producer) api = finding_api_of_model((hd_string){producer, strlen(producer)});
    if (!is_known && api == FINDING_API_CUDA) report_properties_read(f->scope.trace, note_model, &api);
    return api;
}

const char *findings_advice(char out[FINDING_ADVICE], const findings *f, const finding_rule *rule)
{
    return finding_advice_in(out, rule->plain_advice && !f->is_torch ? rule->plain_advice : rule->about.advice, f->api,
                             f->device_kind);
}
