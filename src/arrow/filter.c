/* filter.c - which events a stream has */
#include <stdlib.h>
#include <string.h>

#include "arrow/impl.h"
#include "base/error.h"
#include "trace/event.h"

static hd_status choose_tracks(arrow_filter *out, const hd_trace *trace, const hd_arrow_options *options, hd_error *err)
{
    uint32_t count = hd_trace_track_count(trace);
    filter_list list;
    bool failed = false;
    HD_TRY(filter_list_init(&list, options->tracks, "tracks", err));
    out->track_passes = calloc((size_t)count + 1, 1);
    if (!out->track_passes) {
        filter_list_deinit(&list);
        return HD_NOMEM(err);
    }
    for (size_t i = 0; i < options->track_id_count; i++) {
        if (options->track_ids[i] < count) out->track_passes[options->track_ids[i]] = 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool passes = !options->track_ids || out->track_passes[i];
        out->track_passes[i] = passes && filter_track_passes(&failed, &list, trace, hd_trace_track_at(trace, i));
    }
    filter_list_deinit(&list);
    return failed ? HD_NOMEM(err) : HD_OK;
}

hd_status arrow_filter_init(arrow_filter *out, const hd_trace *trace, const hd_arrow_options *options, hd_error *err)
{
    *out = (arrow_filter){.has_start = options->has_start,
                          .has_end = options->has_end,
                          .start_ns = options->start_ns,
                          .end_ns = options->end_ns};
    if (options->tracks || options->track_ids) HD_TRY(choose_tracks(out, trace, options, err));
    if (!options->names) return HD_OK;
    HD_TRY(filter_list_init(&out->names, options->names, "names", err));
    out->name_passes = calloc((size_t)hd_trace_string_count(trace) + 1, 1);
    return out->name_passes ? HD_OK : HD_NOMEM(err);
}

void arrow_filter_deinit(arrow_filter *filter)
{
    filter_list_deinit(&filter->names);
    free(filter->name_passes);
    free(filter->track_passes);
}

/* No value of a column is below its base. */
static bool may_never_end(const hd_block *block)
{
    return block->kind == HD_KIND_SLICE && block->columns[HD_COL_DURATION].base == HD_NO_TIME;
}

bool arrow_filter_takes_block(const arrow_filter *filter, const hd_block *block)
{
    if (!filter->has_start && !filter->has_end) return true;
    if (block->start_ns == HD_NO_TIME) return false;
    return !(filter->has_end && block->start_ns >= filter->end_ns) &&
           !(filter->has_start && block->end_ns < filter->start_ns && !may_never_end(block));
}

/* An event without a duration is an instant at its start; others end before their end, or never. */
static bool is_in_time(const arrow_filter *filter, int64_t start, int64_t duration, int64_t phase)
{
    int64_t end;
    if (start == HD_NO_TIME) return false;
    if (filter->has_end && start >= filter->end_ns) return false;
    if (!filter->has_start || start >= filter->start_ns) return true;
    if (hd_never_ends(duration, phase)) return true;
    if (duration <= 0) return false;
    return __builtin_add_overflow(start, duration, &end) || end > filter->start_ns;
}

static void drop_other_times(uint8_t *stays, arrow_rows *rows)
{
    const int64_t *start = arrow_look(rows, 0, HD_COL_START), *duration = arrow_look(rows, 1, HD_COL_DURATION);
    const int64_t *phase = arrow_look(rows, 2, HD_COL_PHASE);
    for (uint32_t i = 0; i < rows->block->row_count; i++)
        stays[i] = is_in_time(&rows->stream->filter, start[i], duration[i], phase[i]);
}

static void drop_other_tracks(uint8_t *stays, arrow_rows *rows)
{
    const int64_t *track = arrow_look(rows, 0, HD_COL_TRACK);
    uint32_t count = hd_trace_track_count(rows->stream->trace);
    const uint8_t *passes = rows->stream->filter.track_passes;
    for (uint32_t i = 0; i < rows->block->row_count; i++)
        stays[i] &= passes[track[i] >= 0 && track[i] < count ? track[i] : count];
}

static void drop_other_names(uint8_t *stays, arrow_rows *rows)
{
    const hd_trace *trace = rows->stream->trace;
    arrow_filter *filter = &rows->stream->filter;
    const int64_t *name = arrow_look(rows, 0, HD_COL_NAME);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        if (!stays[i]) continue;
        uint8_t *known = &filter->name_passes[name[i]];
        if (!*known) {
            hd_string text = hd_trace_string(trace, (uint32_t)name[i]);
            *known = filter_list_passes(&filter->names, &(filter_text){text.data, text.size}, 1) ? 2 : 1;
        }
        stays[i] = *known == 2;
    }
}

bool arrow_filter_rows(uint32_t *rows, uint32_t *out_count, arrow_stream *stream, const hd_block *block)
{
    const arrow_filter *filter = &stream->filter;
    arrow_rows all = {.stream = stream, .block = block};
    uint32_t count = 0;
    if (!filter->has_start && !filter->has_end && !filter->track_passes && !filter->name_passes) return false;
    memset(stream->null, 1, block->row_count);
    if (filter->has_start || filter->has_end) drop_other_times(stream->null, &all);
    if (filter->track_passes) drop_other_tracks(stream->null, &all);
    if (filter->name_passes) drop_other_names(stream->null, &all);
    for (uint32_t i = 0; i < block->row_count; i++) {
        rows[count] = i;
        count += stream->null[i];
    }
    *out_count = count;
    return true;
}
