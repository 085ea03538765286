/* meta.c - names and order of tracks from metadata events
 *
 * Sources   thread_name, thread_sort_index, process_name, process_labels, process_sort_index, gpu_stream, process_rank
 *           ("M" events; the last one counts); for arguments and top-level keys see format/conventions.h
 */
#include <stdlib.h>

#include "base/error.h"
#include "format/chrome/chrome.h"
#include "format/conventions.h"

/* String ids of the names looked for; HD_NONE where the trace does not have it. */
typedef struct names {
    uint32_t thread_name, thread_sort_index, process_name, process_labels, process_sort_index;
    uint32_t name, labels, sort_index;
    uint32_t gpu_stream, device, stream, thread, process_rank, rank;
} names;

static uint32_t find(const hd_trace *trace, const char *text)
{
    return hd_trace_find_string(trace, text, strlen(text));
}

static names find_names(const hd_trace *trace)
{
    return (names){
        .thread_name = find(trace, "thread_name"),
        .thread_sort_index = find(trace, "thread_sort_index"),
        .process_name = find(trace, "process_name"),
        .process_labels = find(trace, "process_labels"),
        .process_sort_index = find(trace, "process_sort_index"),
        .name = find(trace, "name"),
        .labels = find(trace, "labels"),
        .sort_index = find(trace, "sort_index"),
        .gpu_stream = find(trace, HD_STREAM_EVENT),
        .device = find(trace, "device"),
        .stream = find(trace, "stream"),
        .thread = find(trace, "thread"),
        .process_rank = find(trace, HD_RANK_EVENT),
        .rank = find(trace, "rank"),
    };
}

static uint32_t string_arg(const hd_trace *trace, const hd_event *event, uint32_t key)
{
    hd_value value;
    if (!hd_event_arg(&value, trace, event, key) || value.type != HD_ARG_STRING) return HD_STRING_NONE;
    return (uint32_t)value.bits;
}

/* By track, whether an event gives its kind. */
static void apply_meta_event(hd_builder *builder, uint8_t *told, const names *n, const hd_event *event)
{
    const hd_trace *trace = hd_builder_trace(builder);
    if (event->track == HD_NONE) return;
    uint32_t text;
    int64_t order;
    bool of_process = hd_trace_track_at(trace, event->track)->kind == HD_TRACK_PROCESS;
    if (event->name == n->thread_name) {
        if (of_process && hd_trace_track_at(trace, event->track)->name) return;
        if ((text = string_arg(trace, event, n->name))) hd_builder_name_track(builder, event->track, text);
        return;
    }
    if (event->name == n->thread_sort_index) {
        if (hd_event_arg_int(&order, trace, event, n->sort_index)) hd_builder_sort_track(builder, event->track, order);
        return;
    }
    if (event->name == n->gpu_stream) {
        int64_t device = HD_NO_NUMBER, stream = HD_NO_NUMBER;
        hd_value is_thread;
        told[event->track] = true;
        if (hd_event_arg(&is_thread, trace, event, n->thread)) return;
        hd_event_arg_int(&device, trace, event, n->device);
        hd_event_arg_int(&stream, trace, event, n->stream);
        hd_builder_set_stream(builder, event->track, device, stream);
        return;
    }
    bool is_name = event->name == n->process_name, is_labels = event->name == n->process_labels;
    bool is_rank = event->name == n->process_rank;
    if (!is_name && !is_labels && !is_rank && event->name != n->process_sort_index) return;
    uint32_t process = hd_builder_track(builder, hd_trace_track_at(trace, event->track)->pid, (hd_ident){0}, true);
    if (process == HD_NONE) return;
    if (is_name) {
        if ((text = string_arg(trace, event, n->name))) hd_builder_name_track(builder, process, text);
    } else if (is_labels) {
        if ((text = string_arg(trace, event, n->labels))) hd_builder_label_track(builder, process, text);
    } else if (is_rank) {
        if (hd_event_arg_int(&order, trace, event, n->rank)) hd_builder_set_rank(builder, process, order);
    } else if (hd_event_arg_int(&order, trace, event, n->sort_index)) {
        hd_builder_sort_track(builder, process, order);
    }
}

static void apply_meta_events(hd_builder *builder, uint8_t *told, const names *n)
{
    const hd_trace *trace = hd_builder_trace(builder);
    for (size_t i = 0; i < hd_trace_block_count(trace, HD_KIND_META); i++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_META, i);
        for (uint32_t row = 0; row < block->row_count; row++) {
            hd_event event;
            hd_block_event(&event, block, row);
            apply_meta_event(builder, told, n, &event);
        }
    }
}

hd_status chrome_apply_metadata(hd_builder *builder, hd_error *err)
{
    names n = find_names(hd_builder_trace(builder));
    uint8_t *told = calloc((size_t)hd_trace_track_count(hd_builder_trace(builder)) + 1, 1); /* processes come behind */
    if (!told) return HD_NOMEM(err);
    apply_meta_events(builder, told, &n);
    hd_status status = HD_OK;
    if (hd_builder_facts(builder)->has_args) status = hd_conventions_find_streams(builder, told, err);
    free(told);
    HD_TRY(status);
    return hd_conventions_find_facts(builder, err);
}
