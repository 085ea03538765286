/* run.c - runs a pass and verifies its account of events */
#include <assert.h>
#include <inttypes.h>

#include "base/error.h"
#include "pass/pass.h"

hd_status hd_pass_run(hd_trace **out, hd_pass_report *report, const hd_pass *pass, hd_pass_input *inputs, size_t count,
                      const hd_pass_input *second, hd_error *err)
{
    hd_pass_report own;
    const hd_pass_about *about = pass->about;
    hd_pass_report *r = report ? report : &own;
    uint64_t in = 0;
    *out = NULL;
    *r = (hd_pass_report){0};
    if (count == 0 || (count > 1 && !about->merges))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s takes one trace, and %zu are given",
                            about->name, count);
    if (second && !hd_pass_second_option(about))
        return hd_error_set(err, HD_ERR_ARGUMENT, second->path, HD_OFFSET_NONE, "%s takes no second trace",
                            about->name);
    for (size_t i = 0; i < count; i++) in += hd_trace_event_count(inputs[i].trace);
    HD_TRY(about->run(out, r, pass->options.values, inputs, count, second, err));
    r->in = in;
    r->out = hd_trace_event_count(*out);
    for (size_t i = 0; i < count; i++) {
        if (!inputs[i].take) continue;
        hd_trace_free(inputs[i].trace);
        inputs[i].trace = NULL;
    }
    if (r->in + r->added == r->out + r->removed + r->lost) return HD_OK;
    hd_trace_free(*out);
    *out = NULL;
    assert(!"in + added == out + removed + lost");
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE,
                        "%s lost count: %" PRIu64 " events in, %" PRIu64 " out", about->name, r->in, r->out);
}
