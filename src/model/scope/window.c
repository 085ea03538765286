/* window.c - from and until of options on the clock of a trace */
#include "model/scope/window.h"

#include "base/error.h"

static int64_t clock_time(int64_t start_ns, int64_t end_ns, hd_convert_time time, int64_t unset)
{
    __extension__ typedef __int128 i128;
    if (time.unit == HD_CONVERT_UNSET) return unset;
    i128 from_start = time.value;
    if (time.unit == HD_CONVERT_PERCENT) from_start = ((i128)end_ns - start_ns) * time.value / 1000000;
    i128 at = start_ns + from_start;
    return at > INT64_MAX ? INT64_MAX : at < -INT64_MAX ? -INT64_MAX : (int64_t)at;
}

hd_status hd_crop_window_of(int64_t *from_ns, int64_t *until_ns, bool *any, int64_t start_ns, int64_t end_ns,
                            hd_convert_time from, hd_convert_time until, const char *path, hd_error *err)
{
    bool to_the_end = until.unit == HD_CONVERT_PERCENT && until.value >= 1000000;
    *from_ns = -INT64_MAX;
    *until_ns = INT64_MAX;
    *any = false;
    if (from.unit == HD_CONVERT_UNSET && until.unit == HD_CONVERT_UNSET) return HD_OK;
    if (start_ns == HD_NO_TIME) return HD_OK; /* nothing has a time */
    *from_ns = clock_time(start_ns, end_ns, from, -INT64_MAX);
    *until_ns = to_the_end ? INT64_MAX : clock_time(start_ns, end_ns, until, INT64_MAX);
    *any = true;
    if (*from_ns > end_ns)
        return hd_error_set(err, HD_ERR_ARGUMENT, path, HD_OFFSET_NONE,
                            "ends %.9g s after its start, so nothing is left from %.9g s on",
                            ((double)end_ns - (double)start_ns) / 1e9, ((double)*from_ns - (double)start_ns) / 1e9);
    if (*from_ns >= *until_ns)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "the time to begin at is not before the time to end at: nothing would be left");
    return HD_OK;
}

hd_status hd_crop_window_find(int64_t *from_ns, int64_t *until_ns, bool *any, const hd_trace *trace,
                              hd_convert_time from, hd_convert_time until, const char *path, hd_error *err)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    return hd_crop_window_of(from_ns, until_ns, any, facts->start_ns, facts->end_ns, from, until, path, err);
}
