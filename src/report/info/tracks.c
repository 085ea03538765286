/* tracks.c - tracks and processes, and how much of their time they are busy */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "model/identity/process.h"
#include "model/progress.h"
#include "model/roles/busy.h"
#include "report/info/info.h"
#include "report/report.h"
#include "report/spans.h"
#include "trace/lazy.h"

/* ---- lanes ---- */

static void widen(info_lane *lane, const hd_track *track)
{
    if (track->start_ns == HD_NO_TIME) return;
    if (lane->start_ns == HD_NO_TIME || track->start_ns < lane->start_ns) lane->start_ns = track->start_ns;
    if (lane->end_ns == HD_NO_TIME || track->end_ns > lane->end_ns) lane->end_ns = track->end_ns;
}

static void sum_lanes(info_lane *lanes, const hd_trace *trace)
{
    uint32_t count = hd_trace_track_count(trace);
    for (uint32_t i = 0; i < count; i++) {
        lanes[i].track = i;
        lanes[i].kind = hd_trace_track_at(trace, i)->kind;
        lanes[i].start_ns = lanes[i].end_ns = HD_NO_TIME;
    }
    for (uint32_t i = 0; i < count; i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        info_lane *lane = &lanes[track->same_as];
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
            lane->rows[kind] += track->rows[kind];
            if (kind != HD_KIND_META) lane->events += track->rows[kind];
        }
        widen(lane, track);
    }
}

/* A process may have slices of its own. */
static bool is_queue(const info_lane *lane)
{
    return lane->sort == HD_ROW_QUEUE && lane->kind != HD_TRACK_PROCESS;
}

static int by_busy(const void *a, const void *b)
{
    const info_lane *x = a, *y = b;
    if (x->busy_ns != y->busy_ns) return x->busy_ns > y->busy_ns ? -1 : 1;
    if (x->events != y->events) return x->events > y->events ? -1 : 1;
    return (x->track > y->track) - (x->track < y->track);
}

static void count_processes(info_tracks *tracks, uint8_t *seen)
{
    for (size_t i = 0; i < tracks->lane_count; i++) {
        const hd_track *track = hd_trace_track_at(tracks->trace, tracks->lanes[i].track);
        uint32_t process = hd_process_track(tracks->trace, track)->same_as;
        tracks->process_count += !seen[process];
        seen[process] = 1;
        tracks->track_count++;
        tracks->stream_count += is_queue(&tracks->lanes[i]);
    }
}

static hd_status read_index(info_lane *lanes, hd_roles *roles, const hd_index *index, hd_error *err)
{
    int64_t *queues;
    HD_TRY(hd_queues_busy(&queues, roles, index, false, err));
    for (size_t i = 0; i < hd_index_lane_count(index); i++) {
        const hd_lane *lane = hd_index_lane_at(index, i);
        info_lane *own = &lanes[lane->track];
        own->busy_ns = own->sort == HD_ROW_QUEUE ? queues[i] : lane->busy_ns;
    }
    free(queues);
    return HD_OK;
}

static hd_status sum_spans(info_tracks *tracks, hd_roles *roles, hd_error *err)
{
    info_lane *lanes = tracks->lanes;
    span_index spans;
    HD_TRY(span_index_init(&spans, roles->trace, err));
    for (uint32_t i = 0; i < spans.lane_count; i++) {
        uint64_t slices;
        const slice_span *list = span_index_lane(&spans, i, &slices);
        hd_busy_sum sum = HD_BUSY_NONE;
        int64_t ranks = spans.ticks.ranks; /* of a picosecond: lengths in ticks are not exact */
        for (uint64_t s = 0; s < slices; s++) {
            uint32_t at;
            const hd_block *block = hd_trace_columns_of(&at, roles->trace, HD_KIND_SLICE, list[s].row);
            if (hd_counts_as_busy(roles, block, at, lanes[i].sort))
                hd_busy_add(&sum, list[s].start / ranks, list[s].end / ranks);
        }
        lanes[i].busy_ns = sum.busy / spans.ticks.per_ns;
        hd_say_part(tracks->input->progress, tracks->input->progress_user, INFO_SPANS_DONE, INFO_TRACKS_DONE,
                    spans.first[i + 1], spans.first[spans.lane_count]);
    }
    span_index_deinit(&spans);
    return HD_OK;
}

/* Tracks that only describe a device's activities have none themselves. */
static hd_status find_busy(info_tracks *tracks, hd_error *err)
{
    info_lane *lanes = tracks->lanes;
    const hd_trace *trace = tracks->trace;
    const hd_index *index = hd_trace_index(trace);
    uint32_t count = hd_trace_track_count(trace);
    hd_roles roles;
    hd_status status = hd_roles_init(&roles, trace) ? HD_OK : HD_NOMEM(err);
    for (uint32_t i = 0; i < count && status == HD_OK; i++) lanes[i].sort = hd_roles_row(&roles, i);
    if (status == HD_OK)
        status = index ? read_index(tracks->lanes, &roles, index, err) : sum_spans(tracks, &roles, err);
    for (uint32_t i = 0; i < count && status == HD_OK; i++) {
        if (lanes[i].sort == HD_ROW_TOLD) lanes[i].busy_ns = HD_NO_TIME;
    }
    hd_roles_deinit(&roles);
    return status;
}

hd_status info_tracks_init(info_tracks *tracks, const hd_report_input *input, hd_error *err)
{
    const hd_trace *trace = input->trace;
    uint32_t count = hd_trace_track_count(trace);
    *tracks = (info_tracks){.input = input, .trace = trace};
    tracks->lanes = calloc((size_t)count + 1, sizeof *tracks->lanes);
    uint8_t *seen = calloc((size_t)count + 1, 1);
    hd_status status = tracks->lanes && seen ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) {
        sum_lanes(tracks->lanes, trace);
        status = find_busy(tracks, err);
    }
    if (status == HD_OK) {
        for (uint32_t i = 0; i < count; i++) {
            if (tracks->lanes[i].events) tracks->lanes[tracks->lane_count++] = tracks->lanes[i];
        }
        hd_sort(tracks->lanes, tracks->lane_count, sizeof *tracks->lanes, by_busy);
        count_processes(tracks, seen);
    }
    free(seen);
    if (status == HD_OK) status = info_find_devices(tracks, err);
    if (status != HD_OK) info_tracks_deinit(tracks);
    return status;
}

void info_tracks_deinit(info_tracks *tracks)
{
    for (size_t i = 0; i < tracks->device_count; i++) free(tracks->devices[i].name);
    free(tracks->devices);
    free(tracks->lanes);
    *tracks = (info_tracks){0};
}

/* ---- tables ---- */

static const char *kind_name(const info_lane *lane)
{
    if (lane->kind == HD_TRACK_PROCESS) return "process";
    return is_queue(lane) ? "stream" : lane->sort == HD_ROW_TOLD ? "device" : "thread";
}

static void add_lane(hd_table_builder *builder, const hd_trace *trace, const info_lane *lane)
{
    const hd_track *track = hd_trace_track_at(trace, lane->track);
    int64_t span = HD_NO_TIME;
    if (lane->start_ns != HD_NO_TIME && __builtin_sub_overflow(lane->end_ns, lane->start_ns, &span)) span = INT64_MAX;
    report_cell_ident(builder, trace, track->pid);
    report_cell_ident(builder, trace, track->tid);
    report_cell_string(builder, trace, track->name);
    hd_table_add_text(builder, kind_name(lane));
    report_cell_int(builder, track->device);
    report_cell_int(builder, track->stream);
    hd_table_add_count(builder, lane->rows[HD_KIND_SLICE]);
    hd_table_add_count(builder, lane->events - lane->rows[HD_KIND_SLICE]);
    report_cell_int(builder, lane->start_ns);
    report_cell_int(builder, span);
    report_cell_int(builder, span == HD_NO_TIME ? HD_NO_TIME : lane->busy_ns);
    if (span == HD_NO_TIME || span == 0 || lane->busy_ns == HD_NO_TIME)
        hd_table_add_null(builder);
    else
        hd_table_add_decimal(builder, 100.0 * (double)lane->busy_ns / (double)span);
}

hd_status info_add_tracks(hd_report *out, const info_tracks *tracks, hd_error *err)
{
    hd_table_builder *builder;
    HD_TRY(report_builder(&builder, &report_info_about, "tracks", err));
    hd_table_set_decimals(builder, 1);
    for (size_t i = 0; i < tracks->lane_count; i++) add_lane(builder, tracks->trace, &tracks->lanes[i]);
    return report_add(out, builder, err);
}

/* Sums over the lanes of one process. */
typedef struct process_sum {
    uint64_t threads, streams, events, slices;
} process_sum;

static void sum_processes(process_sum *sums, const info_tracks *tracks)
{
    for (size_t i = 0; i < tracks->lane_count; i++) {
        const info_lane *lane = &tracks->lanes[i];
        const hd_track *track = hd_trace_track_at(tracks->trace, lane->track);
        process_sum *sum = &sums[hd_process_track(tracks->trace, track)->same_as];
        sum->threads += lane->kind == HD_TRACK_THREAD && hd_row_is_host(lane->sort);
        sum->streams += is_queue(lane);
        sum->events += lane->events;
        sum->slices += lane->rows[HD_KIND_SLICE];
    }
}

hd_status info_add_processes(hd_report *out, const info_tracks *tracks, hd_error *err)
{
    uint32_t count = hd_trace_track_count(tracks->trace);
    process_sum *sums = calloc((size_t)count + 1, sizeof *sums);
    hd_table_builder *builder;
    if (!sums) return HD_NOMEM(err);
    sum_processes(sums, tracks);
    hd_status status = report_builder(&builder, &report_info_about, "processes", err);
    for (uint32_t i = 0; status == HD_OK && i < count; i++) {
        const hd_track *track = hd_trace_track_at(tracks->trace, i);
        if (track->kind != HD_TRACK_PROCESS || !sums[i].events) continue;
        report_cell_ident(builder, tracks->trace, track->pid);
        report_cell_string(builder, tracks->trace, track->name);
        report_cell_string(builder, tracks->trace, track->labels);
        hd_table_add_count(builder, sums[i].threads);
        hd_table_add_count(builder, sums[i].streams);
        hd_table_add_count(builder, sums[i].slices);
        hd_table_add_count(builder, sums[i].events);
        report_cell_int(builder, track->rank);
    }
    free(sums);
    return status == HD_OK ? report_add(out, builder, err) : status;
}
