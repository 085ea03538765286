/* row.c - sums of a part of one row, if all slices of the track nest
 *
 * A slice's self time is then its time minus the part covered by the row below; both rows are walked together, without
 * a common order of several rows.
 */
#include "base/error.h"
#include "base/memory/vector.h"
#include "view/select/impl.h"

enum { READ = 256, PIECE = 1 << 17 };

bool select_cut_rows(selector *s, const view_track *track)
{
    const hd_trace *trace = view_scene_trace(s->scene);
    for (uint32_t depth = 0; depth < track->rows.count; depth++) {
        const view_row *row = &track->rows.rows[depth];
        uint64_t end = s->until == INT64_MAX ? row->count : view_row_find(row, trace, s->until);
        for (view_slice slice; end < row->count && view_row_read(&slice, row, trace, end, 1) == 1; end++)
            if (slice.start_ns >= s->until) break;
        for (uint64_t at = view_row_find(row, trace, s->from); at < end;) {
            uint64_t stop = end - at > PIECE ? at + PIECE : end;
            if (!hd_grow((void **)&s->pieces, &s->piece_capacity, s->piece_count, sizeof *s->pieces)) return false;
            s->pieces[s->piece_count++] =
                (select_piece){.track = track->id, .is_row = true, .depth = depth, .first = at, .end = stop};
            at = stop;
        }
    }
    return true;
}

/* Iterates over the slices of a row. */
typedef struct row_stream {
    const view_row *row;
    const hd_trace *trace;
    uint64_t next;
    size_t at, count;
    view_slice slices[READ];
} row_stream;

static const view_slice *peek(row_stream *r)
{
    if (r->at < r->count) return &r->slices[r->at];
    if (!r->row) return NULL;
    r->count = view_row_read(r->slices, r->row, r->trace, r->next, READ);
    r->next += r->count;
    r->at = 0;
    return r->count ? &r->slices[0] : NULL;
}

/* The part of [from, until) covered by the slices below; the last of them may extend beyond. */
static int64_t covered(row_stream *below, int64_t from, int64_t until)
{
    int64_t sum = 0;
    for (const view_slice *s; (s = peek(below)) && s->start_ns < until; below->at++) {
        int64_t start = s->start_ns > from ? s->start_ns : from, end = s->end_ns < until ? s->end_ns : until;
        if (end > start) select_add_time(&sum, view_length(start, end));
        if (s->end_ns > until) break;
    }
    return sum;
}

hd_status select_sum_row(select_worker *w, const select_piece *piece)
{
    const selector *s = w->selector;
    const view_track *track = view_scene_track(s->scene, piece->track);
    row_stream own = {
        .row = &track->rows.rows[piece->depth], .trace = view_scene_trace(s->scene), .next = piece->first};
    row_stream below = {.trace = own.trace};
    for (uint64_t at = piece->first; at < piece->end; at++, own.at++) {
        const view_slice *slice = peek(&own);
        if (!slice) break;
        uint32_t slot = select_slot(w, slice->name);
        if (slot == HD_NONE || !select_count(w, slot, slice, piece->track)) return HD_NOMEM(&w->error);
        int64_t from = slice->start_ns > s->from ? slice->start_ns : s->from;
        int64_t until = slice->end_ns < s->until ? slice->end_ns : s->until;
        if (at == piece->first && piece->depth + 1 < track->rows.count) {
            below.row = own.row + 1;
            below.next = view_row_find(below.row, own.trace, from);
        }
        if (until > from) select_add_time(&w->sums[slot].self, view_length(from, until) - covered(&below, from, until));
        if ((at - piece->first) % READ == 0 && s->gone && atomic_load(s->gone))
            return hd_error_set(&w->error, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "the client went away");
    }
    return HD_OK;
}
