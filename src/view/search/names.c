/* names.c - a search for names: matches their texts, and sums the index counts of matching ones */
#include "view/search/impl.h"

static void add_cells(search_worker *w, const search_cell *cell, const search_cell *end)
{
    view_search *s = w->run->search;
    for (; cell < end; cell++) {
        uint32_t what = cell->what & CELL_WHAT_MASK;
        switch (cell->what >> CELL_OF_SHIFT) {
        case CELL_OF_BUCKET: w->buckets[what] += cell->count; break;
        case CELL_OF_TRACK: w->track_hits[what] += cell->count; break;
        default: __atomic_fetch_add(&s->blocks[what].hits, cell->count, __ATOMIC_RELAXED); break;
        }
    }
}

void search_names(void *worker)
{
    search_worker *w = worker;
    search_run *run = w->run;
    const view_search_index *index = run->index;
    for (size_t first; (first = atomic_fetch_add(&run->next, SEARCH_NAMES)) < index->names;) {
        if ((run->gone && atomic_load(run->gone)) || search_is_late(run)) return;
        size_t end = first + SEARCH_NAMES < index->names ? first + SEARCH_NAMES : index->names;
        for (size_t name = first; name < end; name++) {
            const uint32_t *cells = &index->first[name];
            if (cells[0] == cells[1] || !search_text_matches(w, (uint32_t)name)) continue;
            run->search->memo[name] = MEMO_HIT;
            add_cells(w, index->cells + cells[0], index->cells + cells[1]);
        }
    }
}
