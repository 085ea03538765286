/* patch_lanes.c - names and order of new lanes, after the last event */
#include <stdio.h>
#include <stdlib.h>

#include "format/chrome/patch.h"
#include "trace/event.h"

enum { SEARCHED_BYTES = 1 << 20 };

/* The first and the last event of the input. */
static hd_event event_at_end(const hd_trace *trace, bool last)
{
    hd_event found = {.source_offset = last ? 0 : UINT64_MAX};
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        uint64_t rows = hd_trace_row_count(trace, (hd_kind)kind);
        if (rows == 0) continue;
        hd_event event = hd_event_at(trace, (hd_kind)kind, last ? rows - 1 : 0);
        if (last ? event.source_offset >= found.source_offset : event.source_offset < found.source_offset)
            found = event;
    }
    return found;
}

/* The bytes before an event: the last one, or, where going there means to unpack all, the first. */
static size_t read_before(char *out, size_t capacity, hd_input *input, const hd_trace *trace)
{
    bool random = hd_input_is_random(input);
    uint64_t offset = event_at_end(trace, random).source_offset;
    size_t size = offset < capacity ? (size_t)offset : capacity, got = 0, filled = 0;
    char *head;
    if (random) return hd_input_pread(input, out, size, offset - size, &got, NULL) == HD_OK && got == size ? size : 0;
    if (offset > SEARCHED_BYTES || hd_input_rewind(input, NULL) != HD_OK || !(head = malloc((size_t)offset + 1)))
        return 0;
    while (filled < offset && hd_input_next(input, head + filled, (size_t)offset - filled, &got, NULL) == HD_OK)
        filled += got;
    if (filled == offset) memcpy(out, head + filled - size, size);
    free(head);
    return filled == offset ? size : 0;
}

/* The white space before the events of the input. */
static void find_separator(char *out, size_t out_size, hd_input *input, const hd_trace *trace)
{
    size_t size = read_before(out, out_size - 1, input, trace), from = size;
    while (from > 0 && memchr(" \n\r\t", out[from - 1], 4)) from--;
    if (size > 0) memmove(out, out + from, size - from);
    out[size - from] = '\0';
    if (size == 0) snprintf(out, out_size, "\n  ");
}

static void put_ident(hd_json_out *out, const hd_trace *trace, hd_ident ident)
{
    hd_string s = hd_trace_string(trace, ident.text);
    if (ident.type == HD_IDENT_STRING)
        hd_json_put_string(out, s.data, s.size);
    else
        hd_json_put(out, s.data, s.size);
}

static void put_lane_meta(hd_json_out *out, const hd_trace *trace, const hd_patch_lane *lane, const char *separator,
                          const char *name)
{
    const hd_track *track = hd_trace_track_at(trace, lane->track);
    hd_json_put_text(out, ",");
    hd_json_put_text(out, separator);
    hd_json_put_text(out, "{\"ph\": \"M\", \"name\": \"");
    hd_json_put_text(out, name);
    hd_json_put_text(out, "\"");
    if (track->pid.type != HD_IDENT_NONE) {
        hd_json_put_text(out, ", \"pid\": ");
        put_ident(out, trace, track->pid);
    }
    hd_json_put_text(out, ", \"tid\": ");
    if (lane->tid_is_number)
        hd_json_put(out, lane->tid, lane->tid_size);
    else
        hd_json_put_string(out, lane->tid, lane->tid_size);
    hd_json_put_text(out, ", \"args\": {");
}

static void put_lanes(hd_json_out *out, const hd_trace *trace, const hd_patch *patch, const char *separator)
{
    for (size_t i = 0; i < patch->lane_count; i++) {
        const hd_patch_lane *lane = &patch->lanes[i];
        put_lane_meta(out, trace, lane, separator, "thread_name");
        hd_json_put_text(out, "\"name\": ");
        hd_json_put_string(out, lane->name, lane->name_size);
        hd_json_put_text(out, "}}");
        put_lane_meta(out, trace, lane, separator, "thread_sort_index");
        hd_json_put_text(out, "\"sort_index\": ");
        hd_json_put_int(out, lane->sort_index);
        hd_json_put_text(out, "}}");
    }
}

uint64_t chrome_put_lanes(hd_json_out *out, hd_input *input, const hd_trace *trace, const hd_patch *patch)
{
    char separator[256];
    hd_event last = event_at_end(trace, true);
    if (patch->lane_count) find_separator(separator, sizeof separator, input, trace);
    put_lanes(out, trace, patch, separator);
    return last.source_offset + last.source_size;
}
