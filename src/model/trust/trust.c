/* trust.c - finds missing or impossible GPU activities of a trace */
#include "model/trust/trust.h"

#include <stdlib.h>

#include "base/error.h"
#include "model/identity/process.h"
#include "model/steps/steps.h"
#include "model/sweep/sweep.h"
#include "trace/event.h"

enum { SECOND_NS = 1000000000, TOO_LONG_TIMES = 10000, TOO_LONG_OTHERS = 10 };

static void doubt_work(gpu_trust *t, const gpu_scope *s, gpu_doubt_code code, uint32_t at)
{
    const hd_work *work = &s->launches->works[at];
    gpu_doubt_add(&t->doubts[code], work->row, work->track);
    t->of_works[at] |= (uint16_t)(1u << code);
}

static void at_most(int64_t *most, int64_t ns)
{
    if (*most == HD_NO_TIME || ns > *most) *most = ns;
}

/* ---- the input ---- */

static void find_input(gpu_trust *t, const hd_trace *trace)
{
    for (int i = 0; i < GPU_DOUBTS; i++) t->doubts[i] = (gpu_doubt){.track = HD_NONE, .ns = HD_NO_TIME};
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (row->level == HD_LEDGER_LOSS) t->doubts[GPU_DOUBT_INPUT_LOST].count += row->count;
        if (row->level == HD_LEDGER_REPAIR) t->doubts[GPU_DOUBT_INPUT_REPAIRED].count += row->count;
    }
    trust_find_thinned(t, trace);
}

/* ---- what is there ---- */

/* From the launch to the activity, of a device. */
typedef struct delays {
    int64_t least, most; /* of none: INT64_MAX, INT64_MIN */
} delays;

/* What one walk over all activities finds, so that most traces need no other. */
typedef struct survey {
    delays *of_devices;
    int64_t first, last;     /* starts of activities of devices */
    uint64_t listed, linked; /* of devices */
    uint64_t kernels;
    bool any_long, any_beyond;
} survey;

static int64_t delay_of(const gpu_scope *s, const gpu_work *work)
{
    return gpu_sum(work->start, -gpu_time(s->launches->launches[work->launch].start_ns));
}

static bool may_be_too_long(const gpu_work *work)
{
    return work->role == HD_ROLE_KERNEL && work->class == GPU_COMPUTE && gpu_duration(work) > SECOND_NS;
}

/* The caller frees of_devices. false: no memory. */
static bool survey_works(survey *out, const gpu_scope *s)
{
    *out = (survey){.first = INT64_MAX, .last = INT64_MIN};
    out->of_devices = malloc(((size_t)s->device_count + 1) * sizeof *out->of_devices);
    if (!out->of_devices) return false;
    for (uint32_t d = 0; d < s->device_count; d++) out->of_devices[d] = (delays){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        out->kernels += work->role == HD_ROLE_KERNEL;
        out->any_long |= may_be_too_long(work);
        out->any_beyond |= work->start <= -GPU_LAST_TIME || work->start >= GPU_LAST_TIME || work->end >= GPU_LAST_TIME;
        if (work->device == HD_NONE) continue;
        out->listed++;
        if (work->start < out->first) out->first = work->start;
        if (work->start > out->last) out->last = work->start;
        if (work->launch == HD_NONE) continue;
        out->linked++;
        delays *of = &out->of_devices[work->device];
        int64_t delay = delay_of(s, work);
        if (delay < of->least) of->least = delay;
        if (delay > of->most) of->most = delay;
    }
    return true;
}

/* ---- activities of a stream ---- */

/* Activities that another launch put on their stream after one that still runs. Nodes of one graph may run
 * concurrently, and activities without a launch may be sums or parts of other tracks. */
static void find_overlaps(gpu_trust *t, const gpu_scope *s, const gpu_row *row)
{
    gpu_doubt *doubt = &t->doubts[GPU_DOUBT_OVERLAP];
    uint32_t longest = HD_NONE;
    if (row->stream == HD_NO_NUMBER) return;
    for (uint32_t i = 0; i < row->count; i++) {
        uint32_t at = s->by_row[row->first + i];
        const gpu_work *work = &s->works[at], *before = longest == HD_NONE ? NULL : &s->works[longest];
        if (work->launch == HD_NONE || s->launches->launches[work->launch].work_count > 1) continue;
        doubt->of++;
        if (before && before->end - work->start > GPU_CLOCK_SLACK_NS && before->launch != work->launch) {
            at_most(&doubt->ns, before->end - work->start);
            doubt_work(t, s, GPU_DOUBT_OVERLAP, at);
            t->of_works[longest] |= 1u << GPU_DOUBT_OVERLAP;
        }
        if (!before || work->end > before->end) longest = at;
    }
}

/* ---- durations ---- */

/* For kernels that take more than a second, compares the durations of equal names. Communication waits for others, and
 * the time of copies depends on their size. */
static hd_status find_too_long(gpu_trust *t, const gpu_scope *s, const survey *found, hd_error *err)
{
    gpu_doubt *doubt = &t->doubts[GPU_DOUBT_TOO_LONG];
    const hd_work *works = s->launches->works;
    gpu_groups names = {.key_size = sizeof works->name};
    size_t count = 0, all = s->launches->work_count;
    bool fine = true;
    doubt->of = found->kernels;
    if (!found->any_long) return HD_OK;
    for (size_t i = 0; fine && i < all; i++)
        if (may_be_too_long(&s->works[i])) fine = gpu_group(&names, &works[i].name) != HD_NONE;
    uint32_t wanted = names.count;
    gpu_value *values = fine && wanted ? malloc(all * sizeof *values) : NULL;
    gpu_stats *stats = fine && wanted ? calloc(wanted, sizeof *stats) : NULL;
    for (size_t i = 0; values && fine && i < all; i++) {
        uint32_t name = gpu_group(&names, &works[i].name);
        fine = name != HD_NONE;
        if (fine && name < wanted) values[count++] = (gpu_value){gpu_duration(&s->works[i]), name};
    }
    fine = fine && (!wanted || (values && stats && gpu_stats_of(stats, wanted, values, count, s->large)));
    for (size_t i = 0; fine && wanted && i < all; i++) {
        if (!may_be_too_long(&s->works[i])) continue;
        const gpu_stats *of = &stats[gpu_group(&names, &works[i].name)];
        gpu_i128 limit = (gpu_i128)of->median * TOO_LONG_TIMES;
        if (of->count < TOO_LONG_OTHERS || gpu_duration(&s->works[i]) <= limit) continue;
        at_most(&doubt->ns, gpu_duration(&s->works[i]));
        doubt_work(t, s, GPU_DOUBT_TOO_LONG, (uint32_t)i);
    }
    free(values);
    free(stats);
    gpu_groups_deinit(&names);
    return fine ? HD_OK : HD_NOMEM(err);
}

static void find_beyond(gpu_trust *t, const gpu_scope *s, const survey *found)
{
    gpu_doubt *doubt = &t->doubts[GPU_DOUBT_BEYOND];
    doubt->of = s->launches->work_count;
    for (size_t i = 0; found->any_beyond && i < s->launches->work_count; i++) {
        const hd_work *work = &s->launches->works[i];
        int64_t end = hd_end_or_last(work->start_ns, work->duration_ns);
        if (gpu_time(end) == end && gpu_time(work->start_ns) == work->start_ns) continue;
        doubt_work(t, s, GPU_DOUBT_BEYOND, (uint32_t)i);
    }
}

/* ---- clocks ---- */

/* One defect per activity: its device has a clock of its own, since all its activities begin after, or before, their
 * launch by more than the launches take; else it is far from all launches; else it begins before its launch by more
 * than noise. */
static void find_clocks(gpu_trust *t, const gpu_scope *s, const delays *of_devices, gpu_i128 span, int64_t from,
                        int64_t until)
{
    gpu_doubt *apart = &t->doubts[GPU_DOUBT_CLOCKS], *early = &t->doubts[GPU_DOUBT_EARLY];
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (work->device == HD_NONE) continue;
        const delays *of = &of_devices[work->device];
        bool is_late = of->least > span && of->least > SECOND_NS, is_early = of->most < -span && of->most < -SECOND_NS;
        int64_t delay = work->launch != HD_NONE ? delay_of(s, work) : 0;
        if (work->launch != HD_NONE && (is_late || is_early)) {
            if (!apart->count) apart->ns = is_late ? of->least : of->most;
            doubt_work(t, s, GPU_DOUBT_CLOCKS, (uint32_t)i);
        } else if (work->start < from || work->start > until) {
            doubt_work(t, s, GPU_DOUBT_FAR, (uint32_t)i);
        } else if (delay < -GPU_CLOCK_SLACK_NS) {
            at_most(&early->ns, -delay);
            doubt_work(t, s, GPU_DOUBT_EARLY, (uint32_t)i);
        }
    }
}

static void find_times(gpu_trust *t, const gpu_scope *s, const survey *found)
{
    const hd_launches *l = s->launches;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < l->launch_count; i++) {
        int64_t start = gpu_time(l->launches[i].start_ns);
        if (start < first) first = start;
        if (start > last) last = start;
    }
    if (first > last) return;
    gpu_i128 span = (gpu_i128)last - first, reach = span + 3600 * (gpu_i128)SECOND_NS;
    int64_t from = gpu_whole(first - reach), until = gpu_whole(last + reach);
    t->doubts[GPU_DOUBT_CLOCKS].of = t->doubts[GPU_DOUBT_EARLY].of = found->linked;
    t->doubts[GPU_DOUBT_FAR].of = found->listed;
    bool any = found->first < from || found->last > until;
    for (uint32_t d = 0; found->linked && d < s->device_count; d++) {
        const delays *of = &found->of_devices[d];
        any |= of->least <= of->most && (of->least < -GPU_CLOCK_SLACK_NS || of->least > SECOND_NS);
    }
    if (any) find_clocks(t, s, found->of_devices, span, from, until);
}

/* ---- activities without a launch ---- */

/* By process, as far as tracks show it, else by device: whether it has kernels, and none of its activities is linked.
 * Copies may have tracks of their own. */
static bool find_unlinked(gpu_trust *t, const gpu_scope *s, const survey *found)
{
    enum { KERNELS = 1, CALLS = 2 };
    if (!s->has_launches) return true;
    t->doubts[GPU_DOUBT_NO_CALLS].of = t->doubts[GPU_DOUBT_UNLINKED].of = t->doubts[GPU_DOUBT_BEFORE].of =
        found->listed;
    if (found->linked == found->listed) return true;
    uint8_t *has = calloc((size_t)hd_trace_track_count(s->trace) + 1, sizeof *has);
    if (!has) return false;
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (work->device == HD_NONE) continue;
        uint32_t process = hd_process_of(s->trace, s->rows[work->row].lane);
        if (process == HD_NONE) continue;
        if (work->role == HD_ROLE_KERNEL) has[process] |= KERNELS;
        if (work->launch != HD_NONE) has[process] |= CALLS;
    }
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (work->device == HD_NONE || work->launch != HD_NONE) continue;
        uint32_t process = hd_process_of(s->trace, s->rows[work->row].lane);
        bool no_calls = process != HD_NONE && has[process] == KERNELS;
        gpu_doubt_code code = work->before ? GPU_DOUBT_BEFORE : no_calls ? GPU_DOUBT_NO_CALLS : GPU_DOUBT_UNLINKED;
        doubt_work(t, s, code, (uint32_t)i);
    }
    free(has);
    return true;
}

/* ---- the whole ---- */

static void find_what_launches_tell(gpu_trust *t, const hd_launches *l)
{
    t->works = l->work_count;
    t->launches = l->launch_count;
    gpu_doubt *no_time = &t->doubts[GPU_DOUBT_NO_TIME], *no_end = &t->doubts[GPU_DOUBT_NO_END];
    gpu_doubt *guessed = &t->doubts[GPU_DOUBT_GUESSED];
    no_time->count = l->works_without_time;
    no_time->of = l->works_without_time + l->work_count;
    no_end->count = l->works_without_end;
    guessed->count = l->guessed_works;
    no_end->of = guessed->of = l->work_count;
}

/* Of the devices that were not recorded all the time. */
static void find_windows(gpu_trust *t, const gpu_scope *s)
{
    gpu_doubt *doubt = &t->doubts[GPU_DOUBT_WINDOWS];
    for (uint32_t d = 0; s->recorded && d < s->device_count; d++) {
        const gpu_device *device = &s->devices[d];
        int64_t recorded = gpu_spans_covered(&s->recorded[d], device->start, device->end);
        if (recorded == device->end - device->start) continue;
        doubt->ns = doubt->count ? gpu_sum(doubt->ns, recorded) : recorded;
        doubt->count += s->recorded[d].count;
    }
}

static hd_status find(gpu_trust *t, const gpu_scope *s, hd_error *err)
{
    const hd_launches *l = s->launches;
    t->steps = s->step_count;
    t->has_launches = s->has_launches;
    t->of_works = calloc(l->work_count + 1, sizeof *t->of_works);
    t->of_lanes = calloc((size_t)hd_trace_track_count(s->trace) + 1, sizeof *t->of_lanes);
    if (!t->of_works || !t->of_lanes) return HD_NOMEM(err);
    for (uint32_t r = 0; r < s->row_count; r++)
        if (s->rows[r].device != HD_NONE) find_overlaps(t, s, &s->rows[r]);
    survey found;
    hd_status status = survey_works(&found, s) ? HD_OK : HD_NOMEM(err);
    find_windows(t, s);
    if (status == HD_OK) {
        find_beyond(t, s, &found);
        find_times(t, s, &found);
        if (!find_unlinked(t, s, &found)) status = HD_NOMEM(err);
    }
    if (status == HD_OK) status = find_too_long(t, s, &found, err);
    free(found.of_devices);
    HD_TRY(status);
    HD_TRY(trust_find_graphs(t, s, err));
    HD_TRY(trust_find_unrecorded(t, s, err));
    unsigned shown = 0;
    for (size_t i = 0; i < l->work_count; i++) {
        if (!t->of_works[i] || s->works[i].row == HD_NONE) continue;
        shown |= t->of_works[i];
        t->of_lanes[s->rows[s->works[i].row].lane] |= t->of_works[i];
    }
    for (int i = 0; i < GPU_DOUBTS; i++)
        if (t->doubts[i].count && !(shown >> i & 1)) t->all |= 1u << i;
    if (shown) return HD_OK;
    free(t->of_works);
    free(t->of_lanes);
    t->of_works = t->of_lanes = NULL;
    return HD_OK;
}

gpu_trust gpu_trust_of_input(const hd_trace *trace)
{
    gpu_trust t = {.is_of_input = true};
    find_input(&t, trace);
    return t;
}

/* Stores it with the launches, unless another thread was faster. */
static const gpu_trust *keep(const hd_launches *launches, gpu_trust *made)
{
    void *before = NULL, **place = (void **)&((hd_launches *)launches)->trust;
    if (__atomic_compare_exchange_n(place, &before, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return made;
    gpu_trust_free(made);
    return before;
}

/* whole: a scope of all activities, whether it is by step or not, as their own steps are not read; NULL: none yet. */
static hd_status trust_of(const gpu_trust **out, const hd_trace *trace, const hd_launches *launches,
                          const gpu_scope *whole, hd_error *err)
{
    static const gpu_options by_step = {.by = "step"};
    *out = __atomic_load_n(&launches->trust, __ATOMIC_ACQUIRE);
    if (*out) return HD_OK;
    gpu_scope scope = {0};
    gpu_trust *made = calloc(1, sizeof *made);
    const hd_report_input input = {.trace = trace, .launches = launches, .scope = whole};
    if (!made) return HD_NOMEM(err);
    find_input(made, trace);
    find_what_launches_tell(made, launches);
    bool any = launches->work_count > 0;
    hd_status status = any ? gpu_scope_init(&scope, &input, &by_step, GPU_BY_STEP, err) : HD_OK;
    if (any && status == HD_OK) status = find(made, &scope, err);
    gpu_scope_deinit(&scope);
    if (status == HD_OK)
        *out = keep(launches, made);
    else
        gpu_trust_free(made);
    return status;
}

hd_status gpu_trust_of(const gpu_trust **out, const hd_trace *trace, const hd_launches *launches, hd_error *err)
{
    return trust_of(out, trace, launches, NULL, err);
}

hd_status gpu_trust_of_scope(const gpu_trust **out, const gpu_scope *s, hd_error *err)
{
    const gpu_options *o = s->options;
    bool is_whole = !o->step && !o->names && !o->tracks && !o->ranks && !o->linked && !s->has_from && !s->has_until;
    return trust_of(out, s->trace, s->launches, is_whole ? s : NULL, err);
}

void gpu_trust_free(gpu_trust *trust)
{
    if (!trust) return;
    free(trust->of_works);
    free(trust->of_lanes);
    free(trust->of_steps);
    free(trust->last_recorded);
    free(trust);
}
