/* list.c - the passes of libheddle: a descriptor per folder; a new pass is a folder and a line in `passes` */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "heddle/analysis/attribution.h"
#include "heddle/pass.h"
#include "pass/anonymize/anonymize.h"
#include "pass/counters/counters.h"
#include "pass/crop/crop.h"
#include "pass/filter/filter.h"
#include "pass/join.h"
#include "pass/lanes/apply.h"
#include "pass/merge/merge.h"
#include "pass/pass.h"
#include "pass/thin/thin.h"
#include "trace/chunk.h"

static void take_result(hd_pass_report *report, hd_pass_result result)
{
    report->added = result.added;
    report->removed = result.removed;
    report->lost = result.lost;
}

/* ---- lanes ---- */

static hd_status run_lanes(hd_trace **out, hd_pass_report *report, const void *options, hd_pass_input *inputs,
                           size_t count, const hd_pass_input *second, hd_error *err)
{
    const pass_lanes *o = options;
    const hd_trace *trace = inputs->trace;
    hd_lane_plan plan;
    hd_pass_result result;
    (void)count, (void)second;
    HD_TRY(hd_lanes_plan(&plan, trace, (int64_t)(o->snap_threshold_us * 1e6 + 0.5), err));
    report->new_lanes = plan.lane_count;
    report->snapped_crossings = plan.snapped_crossings;
    for (size_t i = 0; i < plan.track_count; i++) report->moved_slices += plan.tracks[i].moved;
    hd_status status = hd_lanes_apply(out, &result, trace, &plan, err);
    if (status == HD_OK) take_result(report, result);
    hd_lane_plan_deinit(&plan);
    return status;
}

static const hd_option_about lanes_options[] = {
    {"snap-threshold-us", HD_OPTION_DECIMAL, "5", "snap crossings smaller than this in place; 0 snaps none",
     offsetof(pass_lanes, snap_threshold_us)},
    {0},
};
const hd_pass_about hd_pass_lanes = {
    .name = "lanes",
    .summary = "repair lanes: slices that cross are snapped, or move to lanes of their own",
    .options = lanes_options,
    .options_size = sizeof(pass_lanes),
    .run = run_lanes,
};

/* ---- crop ---- */

static hd_status run_crop(hd_trace **out, hd_pass_report *report, const void *options, hd_pass_input *inputs,
                          size_t count, const hd_pass_input *second, hd_error *err)
{
    const pass_crop *o = options;
    hd_crop_window window = {.clip = o->clip};
    hd_pass_result result;
    bool any; /* false: all of time, and everything stays */
    (void)count, (void)second;
    if (o->window)
        window = *o->window;
    else
        HD_TRY(hd_crop_window_find(&window.from_ns, &window.until_ns, &any, inputs->trace, o->from, o->until,
                                   inputs->path, err));
    HD_TRY(hd_crop(out, &result, inputs->trace, &window, err));
    take_result(report, result);
    return HD_OK;
}

static hd_status check_crop(const void *options, hd_error *err)
{
    const pass_crop *o = options;
    if (!o->clip || o->from.unit != HD_CONVERT_UNSET || o->until.unit != HD_CONVERT_UNSET) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "pass crop: clip needs from or until");
}

static const hd_option_about crop_options[] = {
    {"from", HD_OPTION_TIME, NULL, "keep what happens from this time on, counted from the first event",
     offsetof(pass_crop, from)},
    {"until", HD_OPTION_TIME, NULL, "keep what happens before this time", offsetof(pass_crop, until)},
    {"clip", HD_OPTION_FLAG, NULL, "cut slices that straddle those times, instead of keeping them whole",
     offsetof(pass_crop, clip)},
    {0},
};
const hd_pass_about hd_pass_crop = {
    .name = "crop",
    .summary = "keep what touches a range of time",
    .options = crop_options,
    .options_size = sizeof(pass_crop),
    .check = check_crop,
    .run = run_crop,
};

/* ---- filter ---- */

static hd_status run_filter(hd_trace **out, hd_pass_report *report, const void *options, hd_pass_input *inputs,
                            size_t count, const hd_pass_input *second, hd_error *err)
{
    hd_pass_result result;
    (void)count, (void)second;
    HD_TRY(hd_filter_trace(out, &result, inputs->trace, options, err));
    take_result(report, result);
    return HD_OK;
}

static hd_status check_filter(const void *options, hd_error *err)
{
    return hd_filter_valid(options, err);
}

static const hd_option_about filter_options[] = {
    {"tracks", HD_OPTION_PATTERNS, NULL, "keep the tracks whose name, process name or PROCESS/THREAD matches",
     offsetof(hd_filter, tracks)},
    {"names", HD_OPTION_PATTERNS, NULL, "keep events of these names", offsetof(hd_filter, names)},
    {"category", HD_OPTION_PATTERNS, NULL, "keep events of these categories", offsetof(hd_filter, category)},
    {0},
};
const hd_pass_about hd_pass_filter = {
    .name = "filter",
    .summary = "keep the events of some tracks, names, categories",
    .options = filter_options,
    .options_size = sizeof(hd_filter),
    .check = check_filter,
    .run = run_filter,
};

/* ---- merge ---- */

/* Captures are processes of one run, since captures are never made per rank. */
static bool are_captures(const hd_pass_input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(hd_trace_facts_of(inputs[i].trace)->format, "capture") != 0) return false;
    }
    return true;
}

/* Of a rank that occurs twice the first is kept, and the events of the others are lost. */
static hd_status merge_ranks(hd_trace **out, hd_pass_result *result, const pass_merge *o, hd_pass_input *inputs,
                             size_t count, hd_error *err)
{
    bool *twins;
    size_t kept = 0;
    uint64_t lost = 0;
    hd_pass_input *once = calloc(count + 1, sizeof *once);
    hd_status status = hd_merge_find_twins(&twins, inputs, count, err);
    if (status == HD_OK && !once) status = HD_NOMEM(err);
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        if (twins[i])
            lost += hd_trace_event_count(inputs[i].trace);
        else
            once[kept++] = inputs[i];
    }
    if (status == HD_OK) status = hd_merge_find_shifts(once, kept, o->shift, err);
    if (status == HD_OK) status = hd_merge(out, result, once, kept, o->share && !o->first, err);
    for (size_t i = count; i-- > 0 && kept;)
        if (!twins[i]) inputs[i] = once[--kept];
    if (status == HD_OK && lost)
        status = hd_trace_add_ledger(*out, "merge", "merge.rank-twice", HD_LEDGER_LOSS, lost, err);
    result->lost += lost;
    free(once);
    free(twins);
    return status;
}

static hd_status run_merge(hd_trace **out, hd_pass_report *report, const void *options, hd_pass_input *inputs,
                           size_t count, const hd_pass_input *second, hd_error *err)
{
    const pass_merge *o = options;
    hd_pass_result result;
    (void)second;
    for (size_t i = 0; i < count; i++) inputs[i].path = inputs[i].path ? inputs[i].path : "";
    report->processes = o->processes || (!o->ranks && !o->shift.count && are_captures(inputs, count));
    if (report->processes) {
        HD_TRY(hd_merge_processes(out, &result, inputs, count, err));
    } else {
        bool are_one = hd_merge_is_one_rank(inputs, count);
        HD_TRY(hd_merge_find_ranks(inputs, count, &report->ranks_by_place, err));
        report->ranks_by_place |= o->by_place;
        for (size_t i = 0; i < count && report->ranks_by_place && o->places; i++)
            inputs[i].rank = (int64_t)o->places[i];
        HD_TRY(merge_ranks(out, &result, o, inputs, count, err));
        if (are_one) HD_TRY(hd_trace_add_ledger(*out, "merge", "merge.ranks-by-place", HD_LEDGER_NOTE, count, err));
    }
    take_result(report, result);
    return HD_OK;
}

static hd_status check_merge(const void *options, hd_error *err)
{
    const pass_merge *o = options;
    HD_TRY(hd_merge_find_shifts(NULL, 0, o->shift, err));
    if (!o->processes || (!o->ranks && !o->shift.count)) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        o->ranks ? "inputs are either ranks or processes of one run, not both"
                                 : "processes of one run have one clock: ranks are shifted");
}

static const hd_option_about merge_options[] = {
    {"ranks", HD_OPTION_FLAG, NULL, "the inputs are ranks, even where all are captures", offsetof(pass_merge, ranks)},
    {"processes", HD_OPTION_FLAG, NULL, "the inputs are processes of one run, as captures are",
     offsetof(pass_merge, processes)},
    {"shift", HD_OPTION_TEXTS, NULL,
     "RANK=TIME, once for each rank: add this to its times, as heddle clocks measured it; 3=-1.5ms",
     offsetof(pass_merge, shift)},
    {0},
};
const hd_pass_about hd_pass_merge = {
    .name = "merge",
    .summary = "put the inputs into one trace, as ranks or as processes of one run",
    .options = merge_options,
    .options_size = sizeof(pass_merge),
    .merges = true,
    .check = check_merge,
    .run = run_merge,
};

/* ---- attribution ---- */

typedef struct pass_attribution {
    const char *cpu;
    double tolerance_ms;
    hd_convert_time clock_offset;
    bool force, forward;
} pass_attribution;

static hd_status run_attribution(hd_trace **out, hd_pass_report *report, const void *options, hd_pass_input *inputs,
                                 size_t count, const hd_pass_input *second, hd_error *err)
{
    const pass_attribution *o = options;
    const hd_attribution_options join = {
        .tolerance_ns = o->tolerance_ms * 1e6 < 1 ? 1 : (int64_t)(o->tolerance_ms * 1e6 + 0.5),
        .force = o->force,
        .forward = o->forward,
        .has_offset = o->clock_offset.unit != HD_CONVERT_UNSET,
        .clock_offset_ns = o->clock_offset.value,
    };
    const hd_trace *gpu = inputs->trace, *cpu = second ? second->trace : NULL;
    hd_attribution *attribution;
    (void)count;
    hd_status status = hd_attribute(&attribution, gpu, cpu, &join, err);
    if (status == HD_OK && attribution->launches->work_count == 0 && attribution->launches->launch_count == 0)
        status = hd_error_set(err, HD_ERR_FORMAT, inputs->path, HD_OFFSET_NONE,
                              "holds no work of a GPU; heddle info shows what it holds");
    if (status == HD_OK) status = hd_attribution_annotate(out, attribution, gpu, cpu, err);
    if (status == HD_OK) report->added = hd_trace_event_count(*out) - hd_trace_event_count(gpu);
    hd_attribution_free(attribution);
    return status;
}

static const hd_option_about attribution_options[] = {
    {"cpu", HD_OPTION_TRACE, NULL, "stacks: another trace with stack samples; else those of the trace itself",
     offsetof(pass_attribution, cpu)},
    {"tolerance-ms", HD_OPTION_DECIMAL, "10", "how far a stack may be from its launch",
     offsetof(pass_attribution, tolerance_ms)},
    {"clock-offset", HD_OPTION_OFFSET, NULL, "time of the GPU side minus time of the stacks; else it is estimated",
     offsetof(pass_attribution, clock_offset)},
    {"force", HD_OPTION_FLAG, NULL, "join also where no clock offset fits", offsetof(pass_attribution, force)},
    {"forward", HD_OPTION_FLAG, NULL, "put the work of a backward pass under the forward operator it belongs to",
     offsetof(pass_attribution, forward)},
    {0},
};
const hd_pass_about hd_pass_attribution = {
    .name = "attribution",
    .summary = "give the GPU's work the stacks that launched it",
    .options = attribution_options,
    .options_size = sizeof(pass_attribution),
    .run = run_attribution,
};

/* ---- memory ---- */

static hd_status run_memory(hd_trace **out, hd_pass_report *report, const void *options, hd_pass_input *inputs,
                            size_t count, const hd_pass_input *second, hd_error *err)
{
    hd_pass_result result;
    (void)options, (void)count;
    if (!second) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "pass memory needs profile=FILE");
    HD_TRY(hd_join(out, &result, inputs->trace, second->trace, err));
    take_result(report, result);
    report->added += hd_trace_event_count(second->trace);
    return HD_OK;
}

static const hd_option_about memory_options[] = {
    {"profile", HD_OPTION_TRACE, NULL, "the memory profile that TensorFlow wrote", offsetof(pass_memory, profile)},
    {0},
};
const hd_pass_about hd_pass_memory = {
    .name = "memory",
    .summary = "join TensorFlow's memory profile: its allocators become tracks",
    .options = memory_options,
    .options_size = sizeof(pass_memory),
    .run = run_memory,
};

/* ---- counters ---- */

/* The last sample before the trace becomes its first, and all others outside of it are left out. */
static hd_status join_counters(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_trace *counters,
                               hd_error *err)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    const hd_crop_window span = {.from_ns = facts->start_ns, .until_ns = facts->end_ns};
    hd_pass_result cropped;
    hd_trace *part;
    HD_TRY(hd_crop(&part, &cropped, counters, &span, err));
    hd_status status = hd_join(out, result, trace, part, err);
    result->added += hd_trace_event_count(part);
    hd_trace_free(part);
    if (status != HD_OK || !cropped.removed) return status;
    return hd_trace_add_ledger(*out, "counters", "counters.outside-trace", HD_LEDGER_NOTE, cropped.removed, err);
}

static hd_status run_counters(hd_trace **out, hd_pass_report *report, const void *options, hd_pass_input *inputs,
                              size_t count, const hd_pass_input *second, hd_error *err)
{
    hd_pass_result result;
    hd_trace *counters;
    (void)count;
    if (!second) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "pass counters needs file=FILE");
    HD_TRY(hd_counters_move(&counters, inputs->trace, second->trace, options, err));
    hd_status status = join_counters(out, &result, inputs->trace, counters, err);
    hd_trace_free(counters);
    if (status == HD_OK) take_result(report, result);
    return status;
}

static const hd_option_about counters_options[] = {
    {"file", HD_OPTION_TRACE, NULL, "the counters: output of nvidia-smi, dcgmi, rocm-smi, or metrics of Prometheus",
     offsetof(hd_counters_join, file)},
    {"zone", HD_OPTION_TEXT, NULL, "the time zone of local times: +02:00, UTC, or local, that of this machine",
     offsetof(hd_counters_join, zone)},
    {"offset", HD_OPTION_OFFSET, NULL, "add this to the times of the counters", offsetof(hd_counters_join, offset)},
    {"at", HD_OPTION_OFFSET, NULL,
     "the first sample is there, counted from the trace's first event, whatever the clocks say",
     offsetof(hd_counters_join, at)},
    {"interval", HD_OPTION_TIME, NULL, "how far the rows of a file without times are apart",
     offsetof(hd_counters_join, interval)},
    {"gpu", HD_OPTION_TEXTS, NULL, "the GPU of the file that is device 0, then 1, …; else those of the same number",
     offsetof(hd_counters_join, gpus)},
    {0},
};
const hd_pass_about hd_pass_counters = {
    .name = "counters",
    .summary = "join counters of GPUs, such as power and clocks, that a monitor wrote meanwhile",
    .options = counters_options,
    .options_size = sizeof(hd_counters_join),
    .run = run_counters,
};

/* ---- anonymize ---- */

static hd_status run_anonymize(hd_trace **out, hd_pass_report *report, const void *options, hd_pass_input *inputs,
                               size_t count, const hd_pass_input *second, hd_error *err)
{
    hd_pass_result result;
    (void)count, (void)second;
    HD_TRY(hd_anonymize_trace(out, &result, inputs->trace, options, err));
    take_result(report, result);
    return HD_OK;
}

static hd_status check_anonymize(const void *options, hd_error *err)
{
    return hd_anonymize_valid(options, err);
}

static const hd_option_about anonymize_options[] = {
    {"what", HD_OPTION_PATTERNS, NULL, "names, paths, args, hosts, or some of them; else all but names",
     offsetof(hd_anonymize, kinds)},
    {"salt", HD_OPTION_TEXT, NULL, "of the hash, so that files of one salt can be compared; else a random one",
     offsetof(hd_anonymize, salt)},
    {0},
};
const hd_pass_about hd_pass_anonymize = {
    .name = "anonymize",
    .summary = "replace texts by which a user, a host or a program can be recognised",
    .options = anonymize_options,
    .options_size = sizeof(hd_anonymize),
    .check = check_anonymize,
    .run = run_anonymize,
};

/* ---- thin ---- */

static hd_status run_thin(hd_trace **out, hd_pass_report *report, const void *options, hd_pass_input *inputs,
                          size_t count, const hd_pass_input *second, hd_error *err)
{
    hd_pass_result result;
    (void)count, (void)second;
    HD_TRY(hd_thin_trace(out, &result, inputs->trace, options, err));
    take_result(report, result);
    return HD_OK;
}

static hd_status check_thin(const void *options, hd_error *err)
{
    return hd_thin_valid(options, err);
}

static const hd_option_about thin_options[] = {
    {"min-duration", HD_OPTION_TIME, NULL, "slices that take at least this stay", offsetof(hd_thin, min_duration)},
    {"keep-gpu", HD_OPTION_FLAG, NULL, "GPU activities stay, however short", offsetof(hd_thin, keep_gpu)},
    {0},
};
const hd_pass_about hd_pass_thin = {
    .name = "thin",
    .summary = "remove short slices; those around them get their number and time",
    .options = thin_options,
    .options_size = sizeof(hd_thin),
    .check = check_thin,
    .run = run_thin,
};

/* ---- the list ---- */

static const hd_pass_about *const passes[] = {
    &hd_pass_lanes,  &hd_pass_crop,     &hd_pass_filter,    &hd_pass_merge, &hd_pass_attribution,
    &hd_pass_memory, &hd_pass_counters, &hd_pass_anonymize, &hd_pass_thin,
};

size_t hd_pass_count(void)
{
    return sizeof passes / sizeof *passes;
}

const hd_pass_about *hd_pass_at(size_t index)
{
    return index < hd_pass_count() ? passes[index] : NULL;
}
