/* apply.c - a pass on one trace that is in memory, with the second trace that the pass names */
#include "base/error.h"
#include "heddle/convert.h"

hd_status hd_convert_trace(hd_trace **trace, const char *path, const char *text, hd_error *err)
{
    hd_pass *pass;
    hd_trace *made = NULL;
    hd_pass_input input = {.trace = *trace, .path = path}, second = {0};
    HD_TRY(hd_pass_new(&pass, text, NULL, 0, err));
    second.path = hd_pass_second(pass);
    hd_status status = second.path ? hd_trace_read(&second.trace, second.path, NULL, err) : HD_OK;
    if (status == HD_OK) status = hd_pass_run(&made, NULL, pass, &input, 1, second.path ? &second : NULL, err);
    hd_trace_free(second.trace);
    hd_pass_free(pass);
    if (status != HD_OK) return status;
    hd_trace_free(*trace);
    *trace = made;
    return HD_OK;
}
