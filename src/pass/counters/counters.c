/* counters.c - moves counters of GPUs that a monitor wrote to the clock of a trace of what these GPUs did */
#include "pass/counters/counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/text/dates.h"
#include "model/counters/counters.h"
#include "trace/clock.h"

static const int64_t SECOND_NS = 1000000000, DAY_NS = INT64_C(86400000000000);

typedef struct joiner {
    const hd_counters_join *options;
    const hd_trace *trace, *counters;
    const hd_trace_facts *facts, *of_counters;
    __int128 shift;   /* added to times of the counters */
    int64_t interval; /* of rows a second apart; 0: they have times */
    uint8_t *keep;    /* by track of the counters */
    int64_t *devices; /* likewise: its new number; HD_NO_NUMBER: as it is */
    hd_error *err;
} joiner;

static hd_status refuse(const joiner *j, const char *what)
{
    return hd_error_set(j->err, HD_ERR_ARGUMENT, j->options->file, HD_OFFSET_NONE, "%s", what);
}

/* ---- the clock ---- */

/* What local times are ahead of UTC. */
static hd_status find_zone(const joiner *j, int64_t *out, int64_t local_s)
{
    const char *zone = j->options->zone;
    if (!zone)
        return refuse(j, "its times have no time zone: zone=+02:00, zone=UTC or zone=local (that of this machine) says "
                         "which, or at=TIME where its first sample is, from the trace's first event on");
    if (strcmp(zone, "local") == 0) {
        struct tm parts;
        time_t wall = (time_t)local_s;
        if (!gmtime_r(&wall, &parts)) return refuse(j, "its times are no dates of this machine's time zone");
        parts.tm_isdst = -1;
        *out = ((int64_t)wall - (int64_t)mktime(&parts)) * SECOND_NS;
        return HD_OK;
    }
    if (hd_zone_parse(out, zone, strlen(zone)) == strlen(zone) && *zone) return HD_OK;
    return refuse(j, "zone is +02:00, -0330, UTC or local");
}

/* The shift by clocks: base is the Unix time of the trace's zero. */
static hd_status shift_by_clock(joiner *j, hd_string clock, int64_t base)
{
    int64_t days = 0, zone, start = j->of_counters->start_ns;
    bool is_date = clock.size == sizeof "\"2026-11-29\"" - 1 && hd_date_parse(&days, clock.data + 1, clock.size - 2);
    if (!clock.size) {
        j->shift = (__int128)j->of_counters->base_ns - base;
        return HD_OK;
    }
    HD_TRY(find_zone(j, &zone, days * (DAY_NS / SECOND_NS) + start / SECOND_NS));
    j->shift = (__int128)days * DAY_NS - zone - base;
    if (is_date) return HD_OK;
    /* A time of the day: of the day that brings it nearest to the trace. */
    __int128 from = (__int128)j->facts->start_ns - (start + j->shift);
    __int128 nearest = (from + (from < 0 ? -DAY_NS / 2 : DAY_NS / 2)) / DAY_NS;
    j->shift += nearest * DAY_NS;
    return HD_OK;
}

static hd_status find_shift(joiner *j)
{
    const hd_counters_join *o = j->options;
    hd_string clock = hd_trace_metadata_find(j->counters, HD_COUNTERS_CLOCK);
    bool is_rows = clock.size == 6 && memcmp(clock.data, "\"rows\"", 6) == 0;
    int64_t base = hd_trace_clock_base(j->trace);
    if (o->interval.unit != HD_CONVERT_UNSET && !is_rows) return refuse(j, "interval is for files without times");
    if (is_rows && (o->interval.unit == HD_CONVERT_UNSET || o->at.unit == HD_CONVERT_UNSET))
        return refuse(j, "it has no times: interval=TIME says how far its rows are apart, and at=TIME where the first "
                         "is, from the trace's first event on");
    if (is_rows) j->interval = o->interval.value;
    if (is_rows && (j->interval <= 0 || o->interval.unit != HD_CONVERT_NS))
        return refuse(j, "interval is a time above 0, such as 500ms");
    if (o->at.unit != HD_CONVERT_UNSET) {
        if (o->zone) return refuse(j, "at says where the first sample is, whatever zone: give one of the two");
        j->shift = (__int128)j->facts->start_ns + o->at.value - j->of_counters->start_ns;
    } else if (base == HD_NO_TIME) {
        return refuse(j, "the trace does not say what its times count from: at=TIME says where the first sample is, "
                         "from the trace's first event on");
    } else if (!clock.size && j->of_counters->base_ns == HD_NO_TIME) {
        return refuse(j, "it does not say what its times count from: at=TIME says where the first sample is, from the "
                         "trace's first event on");
    } else {
        HD_TRY(shift_by_clock(j, clock, base));
    }
    if (o->offset.unit != HD_CONVERT_UNSET) j->shift += o->offset.value;
    return HD_OK;
}

static int64_t moved(const joiner *j, int64_t time)
{
    __int128 at = time;
    if (j->interval) at = j->of_counters->start_ns + (at - j->of_counters->start_ns) / SECOND_NS * j->interval;
    at += j->shift;
    return at > INT64_MAX ? INT64_MAX : at <= INT64_MIN ? INT64_MIN + 1 : (int64_t)at;
}

/* Counters of another hour than the trace: a zone or an offset is wrong, or it is another file. */
static hd_status check_span(const joiner *j)
{
    int64_t start = moved(j, j->of_counters->start_ns), end = moved(j, j->of_counters->end_ns);
    bool is_before = end<j->facts->start_ns, is_after = start> j->facts->end_ns;
    if (!is_before && !is_after) return HD_OK;
    double apart = is_before ? (double)j->facts->start_ns - (double)end : (double)start - (double)j->facts->end_ns;
    return hd_error_set(j->err, HD_ERR_ARGUMENT, j->options->file, HD_OFFSET_NONE,
                        "its samples are all %s the trace, %.3f s away: another zone=, or offset=TIME, which is added "
                        "to their times, or at=TIME",
                        is_before ? "before" : "after", apart / 1e9);
}

/* ---- devices ---- */

/* "3" of "GPU 3 counters"; all of another name. */
static hd_string gpu_of(hd_string name)
{
    static const char end[] = " counters";
    size_t size = sizeof end - 1;
    if (name.size > size && memcmp(name.data + name.size - size, end, size) == 0) name.size -= size;
    if (name.size > 4 && memcmp(name.data, "GPU ", 4) == 0) name.data += 4, name.size -= 4;
    return name;
}

/* -1: none of the options; else its place, the device. */
static int64_t place_in_options(const joiner *j, hd_string gpu)
{
    for (size_t i = 0; i < j->options->gpus.count; i++) {
        const char *item = j->options->gpus.items[i];
        if (strlen(item) == gpu.size && memcmp(item, gpu.data, gpu.size) == 0) return (int64_t)i;
    }
    return -1;
}

/* Whether the trace has activities of a device; of any, if it is HD_NO_NUMBER. */
static bool has_device(const hd_trace *trace, int64_t device)
{
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *t = hd_trace_track_at(trace, i);
        if (t->kind == HD_TRACK_STREAM && t->device != HD_NO_NUMBER && (t->device == device || device == HD_NO_NUMBER))
            return true;
    }
    return false;
}

static hd_status choose_tracks(joiner *j)
{
    uint32_t count = hd_trace_track_count(j->counters), kept = 0;
    bool any_device = has_device(j->trace, HD_NO_NUMBER);
    char gpus[96] = "";
    j->keep = calloc((size_t)count + 1, 1);
    j->devices = calloc((size_t)count + 1, sizeof *j->devices);
    if (!j->keep || !j->devices) return HD_NOMEM(j->err);
    for (uint32_t i = 0; i < count; i++) {
        const hd_track *track = hd_trace_track_at(j->counters, i);
        hd_string name = hd_trace_string(j->counters, track->name), gpu = gpu_of(name);
        int64_t device = hd_counter_device(name), place = place_in_options(j, gpu);
        bool is_gpu = name.size > 4 && memcmp(name.data, "GPU", 3) == 0 && gpu.size;
        j->devices[i] = place >= 0 ? place : HD_NO_NUMBER;
        if (j->options->gpus.count)
            j->keep[i] = !is_gpu || (place >= 0 && (!any_device || has_device(j->trace, place)));
        else
            j->keep[i] = device == HD_NO_NUMBER || !any_device || has_device(j->trace, device);
        kept += j->keep[i];
        if (!j->keep[i] && strlen(gpus) < 40)
            snprintf(gpus + strlen(gpus), sizeof gpus - strlen(gpus), "%s%.*s", *gpus ? ", " : "",
                     (int)(gpu.size < 40 ? gpu.size : 40), gpu.data);
    }
    if (kept) return HD_OK;
    return hd_error_set(j->err, HD_ERR_ARGUMENT, j->options->file, HD_OFFSET_NONE,
                        "none of its GPUs (%s) is a device of the trace: gpu=GPU, once for each device, says which GPU "
                        "is device 0, 1, …, as CUDA_VISIBLE_DEVICES does",
                        *gpus ? gpus : "none");
}

/* ---- the counters on the trace's clock ---- */

static hd_status move_rows(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    const joiner *j = user;
    (void)copy, (void)err;
    const int64_t *tracks = hd_copy_look(rows, HD_COL_TRACK);
    int64_t *starts = hd_copy_change(rows, HD_COL_START);
    if (!tracks || !starts) return HD_NOMEM(err);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        rows->keep[i] = rows->block->kind == HD_KIND_COUNTER && j->keep[tracks[i]];
        if (starts[i] != HD_NO_TIME) starts[i] = moved(j, starts[i]);
    }
    return HD_OK;
}

static hd_status copy_counters(joiner *j, hd_builder *builder)
{
    hd_copy *copy;
    const hd_copy_hooks hooks = {.user = j, .rows = move_rows};
    HD_TRY(hd_copy_new(&copy, j->counters, builder, j->err));
    hd_status status = hd_copy_tracks(copy, j->keep, NULL, j->err);
    if (status == HD_OK) status = hd_copy_events(copy, &hooks, j->err);
    if (status == HD_OK) status = hd_copy_ledger(copy, j->err);
    for (uint32_t i = 0; status == HD_OK && i < hd_trace_track_count(j->counters); i++) {
        char name[48];
        if (!j->keep[i] || j->devices[i] == HD_NO_NUMBER) continue;
        snprintf(name, sizeof name, "GPU %" PRId64 " counters", j->devices[i]);
        uint32_t id = hd_builder_intern_text(builder, name);
        hd_builder_name_track(builder, hd_copy_track(copy, i), id);
    }
    hd_copy_free(copy);
    return status;
}

static hd_status move_counters(joiner *j, hd_trace **out)
{
    hd_builder *builder;
    HD_TRY(hd_builder_new(&builder, j->err));
    hd_status status = copy_counters(j, builder);
    if (status == HD_OK) return hd_builder_finish(out, builder, j->err);
    hd_builder_free(builder);
    return status;
}

hd_status hd_counters_move(hd_trace **out, const hd_trace *trace, const hd_trace *counters,
                           const hd_counters_join *options, hd_error *err)
{
    joiner j = {.options = options,
                .trace = trace,
                .counters = counters,
                .facts = hd_trace_facts_of(trace),
                .of_counters = hd_trace_facts_of(counters),
                .err = err};
    *out = NULL;
    if (!hd_trace_row_count(counters, HD_KIND_COUNTER) || j.of_counters->start_ns == HD_NO_TIME)
        return refuse(&j, "it has no counters with times");
    if (j.facts->start_ns == HD_NO_TIME) return refuse(&j, "the trace has no times that counters could be joined by");
    hd_status status = find_shift(&j);
    if (status == HD_OK) status = check_span(&j);
    if (status == HD_OK) status = choose_tracks(&j);
    if (status == HD_OK) status = move_counters(&j, out);
    free(j.keep);
    free(j.devices);
    return status;
}
