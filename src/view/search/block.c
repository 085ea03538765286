/* block.c - the rows of a block whose names or arguments match */
#include "view/search/impl.h"

bool search_text_matches(search_worker *w, uint32_t id)
{
    view_search *s = w->run->search;
    uint8_t memo = search_memo(s, id);
    if (memo != MEMO_UNKNOWN) return memo >= MEMO_YES;
    hd_string text = hd_trace_string(w->run->trace, id);
    bool found = id != HD_STRING_NONE && view_matches(&w->matcher, text.data ? text.data : "", text.size);
    __atomic_store_n(&s->memo[id], (uint8_t)(found ? MEMO_YES : MEMO_NO), __ATOMIC_RELAXED);
    return found;
}

static void note_hit(view_search *s, uint32_t id)
{
    if (search_memo(s, id) == MEMO_YES) __atomic_store_n(&s->memo[id], (uint8_t)MEMO_HIT, __ATOMIC_RELAXED);
}

static bool name_matches(search_worker *w, uint32_t id)
{
    view_search *s = w->run->search;
    if (!search_text_matches(w, id)) return false;
    if (!search_has_conditions(s)) note_hit(s, id);
    return true;
}

/* Names that are known not to match cost a load and a look each. */
#define WALK_NAMES(type)                                                                                               \
    do {                                                                                                               \
        const type *deltas = column->data;                                                                             \
        for (uint32_t i = 0; i < rows; i++) {                                                                          \
            uint32_t id = base + (uint32_t)deltas[i];                                                                  \
            if (search_memo(s, id) != MEMO_NO && name_matches(w, id)) w->rows[count++] = i;                            \
        }                                                                                                              \
    } while (0)

static uint32_t rows_by_name(search_worker *w, const hd_block *block)
{
    const view_search *s = w->run->search;
    const hd_column *column = &block->columns[HD_COL_NAME];
    uint32_t rows = block->row_count, base = (uint32_t)column->base, count = 0;
    switch (column->width) {
    case 0:
        if (search_memo(s, base) == MEMO_NO || !name_matches(w, base)) return 0;
        for (; count < rows; count++) w->rows[count] = count;
        break;
    case 1: WALK_NAMES(uint8_t); break;
    case 2: WALK_NAMES(uint16_t); break;
    case 4: WALK_NAMES(uint32_t); break;
    default: WALK_NAMES(uint64_t); break;
    }
    return count;
}

/* Rows whose arguments are marked, and with `names` also those whose name matches. */
static uint32_t rows_by_args(search_worker *w, const hd_block *block, bool names)
{
    uint32_t count = 0, shapes = hd_trace_shape_count(w->run->trace);
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint32_t shape = (uint32_t)hd_column_at(&block->columns[HD_COL_SHAPE], i);
        uint32_t marks = shape < shapes ? w->mark_at[shape] : 0;
        bool hit = marks && w->marks[marks - 1 + (uint32_t)hd_column_at(&block->columns[HD_COL_ARGS_ROW], i)];
        if (names && name_matches(w, (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], i))) hit = true;
        if (hit) w->rows[count++] = i;
    }
    return count;
}

uint32_t search_track(const view_search *search, const hd_block *block, uint32_t row)
{
    const uint32_t *track_of = search->track_of[block->kind];
    if (!track_of) return view_scene_track_of_event(search->scene, block->kind, block->first_row + row);
    uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
    uint32_t tracks = hd_trace_track_count(view_scene_trace(search->scene));
    return track_of[track < tracks ? track : tracks];
}

static uint32_t drop_others(search_worker *w, const hd_block *block, uint32_t count)
{
    view_search *s = w->run->search;
    bool has_conditions = search_has_conditions(s);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = w->rows[i];
        if (!search_row_counts(s, block, row)) continue;
        if (has_conditions && !search_meets_conditions(w, block, row)) continue;
        if (has_conditions) note_hit(s, (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row));
        w->rows[kept++] = row;
    }
    return kept;
}

uint32_t search_block(search_worker *w, const hd_block *block)
{
    view_search_in in = w->run->search->in;
    uint32_t count;
    if (in == VIEW_IN_NAMES) {
        count = rows_by_name(w, block);
    } else {
        if (!search_mark_args(w, block)) return UINT32_MAX;
        count = rows_by_args(w, block, in == VIEW_IN_ALL);
        search_unmark_args(w, block);
    }
    return drop_others(w, block, count);
}
