/* check_launches.c - GPU work and the calls that launched it, by correlation id
 *
 * Joined as heddle/launches.h says. A recording of one side only lacks every partner: nothing is wrong with single
 * events. Work is early when it starts before its call, though a call may come before it: ids of one process that was
 * recorded twice give no false alarm. Calls whose work a graph launches later lack none.
 */
#include <stdlib.h>

#include "base/error.h"
#include "heddle/launches.h"
#include "report/check.h"

static bool is_recorded_on_both_sides(const hd_launches *l)
{
    bool calls = false, works = false;
    for (size_t i = 0; i < l->launch_count && !calls; i++) calls = l->launches[i].id != 0;
    for (size_t i = 0; i < l->work_count && !works; i++) works = l->works[i].id != 0;
    return calls && works;
}

int64_t check_launch_lead(const hd_launches *l, const hd_work *work)
{
    int64_t lead;
    if (work->id == 0 || work->track == HD_NONE || work->launch == HD_NONE) return 0;
    const hd_launch *launch = &l->launches[work->launch];
    if (work->start_ns >= launch->start_ns || launch->id != work->id) return 0;
    return __builtin_sub_overflow(launch->start_ns, work->start_ns, &lead) ? INT64_MAX : lead;
}

static void check_work(check *c, const hd_launches *l, const hd_work *work)
{
    if (work->id == 0 || work->track == HD_NONE) return;
    if (work->launch == HD_NONE) {
        check_found(c, CHECK_GPU_WITHOUT_LAUNCH, work->track, CHECK_EVENT(HD_KIND_SLICE, work->row));
        return;
    }
    int64_t lead = check_launch_lead(l, work);
    if (!lead) return;
    check_found(c, CHECK_GPU_BEFORE_LAUNCH, work->track,
                CHECK_PAIR(HD_KIND_SLICE, work->row, HD_KIND_SLICE, l->launches[work->launch].row, lead));
}

hd_status check_launches(check *c, hd_error *err)
{
    hd_launches l;
    HD_TRY(hd_launches_find(&l, c->trace, err));
    bool *creates = calloc(l.launch_count + 1, sizeof *creates), both = is_recorded_on_both_sides(&l);
    for (size_t i = 0; creates && both && i < l.work_count; i++) {
        if (l.works[i].graph_launch != HD_NONE) creates[l.works[i].graph_launch] = true;
        check_work(c, &l, &l.works[i]);
    }
    for (size_t i = 0; creates && both && i < l.launch_count; i++) {
        const hd_launch *launch = &l.launches[i];
        if (launch->work_count || launch->id == 0 || launch->sort == HD_LAUNCH_UNKNOWN || creates[i]) continue;
        if (launch->track != HD_NONE)
            check_found(c, CHECK_LAUNCH_WITHOUT_GPU, launch->track, CHECK_EVENT(HD_KIND_SLICE, launch->row));
    }
    hd_status status = creates ? HD_OK : HD_NOMEM(err);
    free(creates);
    hd_launches_deinit(&l);
    return status;
}
