/* async.c - begins and ends of async slices without the other (model/pairing/async.h) */
#include "model/pairing/async.h"
#include "base/error.h"
#include "base/memory/large.h"
#include "report/check/check.h"

hd_status check_async(check *c, hd_error *err)
{
    hd_async_point *points;
    size_t count;
    if (!hd_trace_row_count(c->trace, HD_KIND_ASYNC)) return HD_OK;
    HD_TRY(hd_async_points(&points, &count, c->trace, err));
    for (size_t i = 0; i < count; i++) {
        const hd_async_point *p = &points[i];
        if (p->other != HD_NONE || p->track == HD_NONE) continue;
        if (hd_async_begins(p)) check_found(c, CHECK_ASYNC_WITHOUT_END, p->track, CHECK_EVENT(HD_KIND_ASYNC, p->row));
        if (hd_async_ends(p)) check_found(c, CHECK_ASYNC_WITHOUT_BEGIN, p->track, CHECK_EVENT(HD_KIND_ASYNC, p->row));
    }
    hd_large_free(points);
    return HD_OK;
}
