/* rows.c - rows of slices: made, read, searched, summed up */
#include "view/rows/rows.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "view/rows/impl.h"

/* ---- made ---- */

static hd_status out_of_order(uint64_t at, hd_error *err)
{
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "slice %llu of a row starts before the one ahead ends", (unsigned long long)at);
}

hd_status view_row_of_slices(view_row *out, view_slice *slices, uint64_t count, hd_error *err)
{
    *out = (view_row){0};
    for (uint64_t i = 0; i < count; i++) {
        if (slices[i].end_ns >= slices[i].start_ns && (i == 0 || slices[i].start_ns >= slices[i - 1].end_ns)) continue;
        free(slices);
        return out_of_order(i, err);
    }
    if (count == 0) {
        free(slices);
        return HD_OK;
    }
    view_row_data *data = calloc(1, sizeof *data);
    if (!data) {
        free(slices);
        return HD_NOMEM(err);
    }
    data->slices = slices;
    data->count = count;
    *out = (view_row){count, data};
    return HD_OK;
}

hd_status row_of_table(view_row *out, uint32_t *rows, uint64_t count, hd_kind kind, int64_t open_end_ns, hd_error *err)
{
    *out = (view_row){0};
    view_row_data *data = count ? calloc(1, sizeof *data) : NULL;
    if (!data) {
        free(rows);
        return count ? HD_NOMEM(err) : HD_OK;
    }
    data->rows = rows;
    data->kind = kind;
    data->count = count;
    data->open_end_ns = open_end_ns;
    *out = (view_row){count, data};
    return HD_OK;
}

view_row view_row_share(const view_row *row)
{
    if (row->data) row->data->shares++;
    return *row;
}

void view_row_deinit(view_row *row)
{
    view_row_data *data = row->data;
    *row = (view_row){0};
    if (!data) return;
    if (data->shares) {
        data->shares--;
        return;
    }
    if (data->kept.data) {
        free(data->levels);
    } else {
        row_free_levels(data);
        free(data->marks);
        free(data->rows);
        free(data->slices);
    }
    view_kept_free(&data->kept);
    free(data);
}

void view_rows_deinit(view_rows *rows)
{
    for (uint32_t i = 0; i < rows->count; i++) view_row_deinit(&rows->rows[i]);
    free(rows->rows);
    *rows = (view_rows){0};
}

size_t view_row_bytes(const view_row *row)
{
    const view_row_data *data = row->data;
    if (!data) return 0;
    size_t size = sizeof *data + (size_t)data->count * (data->slices ? sizeof *data->slices : sizeof *data->rows) +
                  data->mark_count * sizeof *data->marks;
    for (unsigned z = 0; data->levels && z <= VIEW_ZOOM_MAX; z++) {
        const row_level *level = &data->levels[z];
        size += sizeof *level + level->capacity * (level->wide ? sizeof *level->wide : sizeof *level->narrow);
    }
    return size;
}

/* ---- marks ---- */

static bool make_marks(view_row_data *data, const hd_trace *trace)
{
    row_reader reader = row_reader_of(data, trace);
    uint64_t busy = 0;
    data->mark_count = (size_t)((data->count + ROW_MARK_SLICES - 1) / ROW_MARK_SLICES);
    data->marks = malloc(data->mark_count * sizeof *data->marks);
    if (!data->marks) return false;
    for (uint64_t i = 0; i < data->count; i++) {
        row_slice slice = row_read(&reader, i);
        if (i % ROW_MARK_SLICES == 0) data->marks[i / ROW_MARK_SLICES] = (row_mark){slice.start, busy};
        busy += (uint64_t)(slice.end - slice.start);
    }
    return true;
}

hd_status view_row_index(view_row *row, const hd_trace *trace, int64_t zero_ns, hd_error *err)
{
    view_row_data *data = row->data;
    if (!data || data->marks) return HD_OK;
    data->zero_ns = zero_ns;
    if (data->count < ROW_MARK_SLICES) return HD_OK;
    if (!make_marks(data, trace) || !row_build_levels(data, trace)) return HD_NOMEM(err);
    row_keep(data);
    return HD_OK;
}

/* ---- read ---- */

uint32_t row_event_span(int64_t *out_start_ns, int64_t *out_end_ns, const hd_block *block, uint32_t row,
                        int64_t open_end_ns)
{
    int64_t start = hd_column_at(&block->columns[HD_COL_START], row);
    int64_t duration = block->kind == HD_KIND_SLICE ? hd_column_at(&block->columns[HD_COL_DURATION], row) : 0;
    *out_start_ns = *out_end_ns = start;
    if (duration > 0) {
        if (__builtin_add_overflow(start, duration, out_end_ns)) *out_end_ns = INT64_MAX;
        return 0;
    }
    if (duration == HD_NO_TIME && (hd_column_at(&block->columns[HD_COL_PHASE], row) & HD_PHASE_MASK) == 'B') {
        if (open_end_ns > start) *out_end_ns = open_end_ns;
        return VIEW_SLICE_NO_END;
    }
    return VIEW_SLICE_NO_LENGTH;
}

void row_read_absolute(view_slice *out, row_reader *reader, uint64_t position)
{
    const view_row_data *data = reader->data;
    uint32_t row;
    if (data->slices) {
        *out = data->slices[position];
        if (out->end_ns == out->start_ns) out->flags |= VIEW_SLICE_NO_LENGTH;
        return;
    }
    const hd_block *block = row_reader_block(reader, data->rows[position], &row);
    out->flags = row_event_span(&out->start_ns, &out->end_ns, block, row, data->open_end_ns);
    out->name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row);
    out->row = data->rows[position];
}

size_t view_row_read(view_slice *out, const view_row *row, const hd_trace *trace, uint64_t first, size_t count)
{
    if (first >= row->count) return 0;
    if (count > row->count - first) count = (size_t)(row->count - first);
    row_reader reader = row_reader_of(row->data, trace);
    for (size_t i = 0; i < count; i++) row_read_absolute(&out[i], &reader, first + i);
    return count;
}

/* ---- searched ---- */

uint64_t row_lower_bound(row_reader *reader, int64_t time)
{
    const view_row_data *data = reader->data;
    uint64_t low = 0, high = data->count;
    if (data->marks) {
        size_t from = 0, until = data->mark_count; /* the first mark at or after it */
        HD_PARTITION_POINT(from, until, at, data->marks[at].start < time);
        if (from == 0) return 0;
        low = (uint64_t)(from - 1) * ROW_MARK_SLICES + 1;
        if (low - 1 + ROW_MARK_SLICES < high) high = low - 1 + ROW_MARK_SLICES;
    }
    HD_PARTITION_POINT(low, high, at, row_start(reader, at) < time);
    return low;
}

uint64_t view_row_find(const view_row *row, const hd_trace *trace, int64_t time_ns)
{
    if (!row->data) return 0;
    row_reader reader = row_reader_of(row->data, trace);
    int64_t time = row_relative(time_ns, row->data->zero_ns);
    uint64_t at = row_lower_bound(&reader, time);
    if (at && row_read(&reader, at - 1).end > time) at--;
    return at;
}

/* Nanoseconds before a relative time. */
static uint64_t busy_before(row_reader *reader, int64_t time)
{
    const view_row_data *data = reader->data;
    uint64_t until = row_lower_bound(reader, time), at = 0, busy = 0;
    if (data->marks && until) {
        at = (until - 1) / ROW_MARK_SLICES * ROW_MARK_SLICES;
        busy = data->marks[at / ROW_MARK_SLICES].busy_before;
    }
    for (; at < until; at++) {
        row_slice slice = row_read(reader, at);
        busy += (uint64_t)((slice.end < time ? slice.end : time) - slice.start);
    }
    return busy;
}

int64_t view_row_busy(const view_row *row, const hd_trace *trace, int64_t from_ns, int64_t until_ns)
{
    if (!row->data || until_ns <= from_ns) return 0;
    row_reader reader = row_reader_of(row->data, trace);
    uint64_t before = busy_before(&reader, row_relative(from_ns, row->data->zero_ns));
    return (int64_t)(busy_before(&reader, row_relative(until_ns, row->data->zero_ns)) - before);
}
