/* launches.c - GPU activities and the calls that launched them, by correlation id
 *
 * Joined as in heddle/analysis/launches.h. In a recording of one side only, every partner is missing: then single
 * events are not reported. An activity is early if it starts before its call and no other call comes before it: ids
 * of one process that was recorded twice give no false alarm. Calls whose activity a graph launches later are complete.
 */
#include <stdlib.h>

#include "base/error.h"
#include "heddle/analysis/launches.h"
#include "report/check/check.h"
#include "report/report.h"

static bool is_recorded_on_both_sides(const hd_launches *l)
{
    bool calls = false, works = false;
    for (size_t i = 0; i < l->launch_count && !calls; i++) calls = l->launches[i].id != 0;
    for (size_t i = 0; i < l->work_count && !works; i++) works = l->works[i].id != 0;
    return calls && works;
}

static int64_t lead_of(const hd_launches *l, const hd_work *work)
{
    int64_t lead;
    const hd_launch *launch = &l->launches[work->launch];
    if (work->start_ns >= launch->start_ns || launch->id != work->id) return 0;
    return __builtin_sub_overflow(launch->start_ns, work->start_ns, &lead) ? INT64_MAX : lead;
}

static void look_at_work(const hd_launches *l, const hd_work *work, unsigned doubts, check_launch_found *found,
                         void *user)
{
    if (work->id == 0 || work->track == HD_NONE) return;
    if (work->launch == HD_NONE) {
        bool is_before = doubts >> GPU_DOUBT_BEFORE & 1;
        found(user, is_before ? CHECK_GPU_BEFORE_RECORDING : CHECK_GPU_WITHOUT_LAUNCH, work, NULL, 0);
        return;
    }
    int64_t lead = lead_of(l, work);
    if (lead) found(user, CHECK_GPU_BEFORE_LAUNCH, work, &l->launches[work->launch], lead);
}

bool check_launches_walk(const hd_launches *l, const gpu_trust *trust, check_launch_found *found, void *user)
{
    if (!is_recorded_on_both_sides(l)) return true;
    bool *creates = calloc(l->launch_count + 1, sizeof *creates);
    if (!creates) return false;
    for (size_t i = 0; i < l->work_count; i++) {
        if (l->works[i].graph_launch != HD_NONE) creates[l->works[i].graph_launch] = true;
        look_at_work(l, &l->works[i], trust->of_works ? trust->of_works[i] : 0, found, user);
    }
    for (size_t i = 0; i < l->launch_count; i++) {
        const hd_launch *launch = &l->launches[i];
        if (launch->work_count || launch->untimed_count || launch->id == 0 || launch->sort == HD_LAUNCH_UNKNOWN ||
            creates[i])
            continue;
        bool is_after = gpu_launch_is_after(trust, launch);
        if (launch->track != HD_NONE)
            found(user, is_after ? CHECK_GPU_AFTER_RECORDING : CHECK_LAUNCH_WITHOUT_GPU, NULL, launch, 0);
    }
    free(creates);
    return true;
}

static void found_launch(void *user, check_code code, const hd_work *work, const hd_launch *launch, int64_t lead)
{
    if (!work)
        check_found(user, code, launch->track, CHECK_EVENT(HD_KIND_SLICE, launch->row));
    else if (!launch)
        check_found(user, code, work->track, CHECK_EVENT(HD_KIND_SLICE, work->row));
    else
        check_found(user, code, work->track, CHECK_PAIR(HD_KIND_SLICE, work->row, HD_KIND_SLICE, launch->row, lead));
}

/* Defects that make figures wrong, once for the whole trace; missing parts of single events have codes of their own. */
static hd_status check_trust(check *c, const gpu_trust *trust, hd_error *err)
{
    static const struct {
        gpu_doubt_code doubt;
        check_code code;
    } codes[] = {{GPU_DOUBT_OVERLAP, CHECK_GPU_OVERLAP},     {GPU_DOUBT_CLOCKS, CHECK_CLOCKS_APART},
                 {GPU_DOUBT_BEYOND, CHECK_GPU_BEYOND},       {GPU_DOUBT_FAR, CHECK_GPU_FAR},
                 {GPU_DOUBT_TOO_LONG, CHECK_GPU_TOO_LONG},   {GPU_DOUBT_UNRECORDED, CHECK_GPU_UNRECORDED},
                 {GPU_DOUBT_STEPS, CHECK_STEPS_WITHOUT_GPU}, {GPU_DOUBT_GRAPHS, CHECK_GRAPH_NODES},
                 {GPU_DOUBT_NO_CALLS, CHECK_NO_CALLS}};
    HD_TRY(report_set_trust(c->report, c->trace, trust, err));
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const gpu_doubt *d = &trust->doubts[codes[i].doubt];
        if (d->count && d->track != HD_NONE)
            check_found(c, codes[i].code, d->track, CHECK_EVENT(HD_KIND_SLICE, d->row));
    }
    return HD_OK;
}

hd_status check_launches(check *c, hd_error *err)
{
    hd_launches *l;
    const gpu_trust *trust;
    HD_TRY(hd_launches_new(&l, c->trace, err));
    hd_status status = gpu_trust_of(&trust, c->trace, l, err);
    if (status == HD_OK && !check_launches_walk(l, trust, found_launch, c)) status = HD_NOMEM(err);
    if (status == HD_OK) status = check_trust(c, trust, err);
    hd_launches_free(l);
    return status;
}
