/* index.c - events counted by name: a hash of all pairs that occur, then sorted by name */
#include "view/search/index.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "base/memory/vector.h"
#include "trace/lazy.h"
#include "view/search/impl.h"

enum { MOST_PAIRS = 1 << 21 }; /* 32 bytes each while it is made, 8 a cell that stays */

/* Key: name in the upper bits, cell.what below. */
typedef struct pair {
    uint64_t key;
    uint32_t count;
} pair;

typedef struct index_maker {
    view_search search; /* its tracks and blocks, as a search has them */
    const hd_trace *trace;
    view_search_index *index;
    pair *pairs;
    size_t pair_count, pair_capacity;
    hd_slots slots;     /* of pairs */
    uint32_t *of_block; /* by name: events of the block at hand */
    uint32_t *seen;     /* names of the block, HD_BLOCK_ROWS */
    bool is_full;       /* more pairs than it may have */
} index_maker;

/* ---- pairs ---- */

/* false: no memory. */
static bool add_pair(index_maker *m, uint32_t name, search_cell_of of, uint32_t what, uint32_t count)
{
    uint32_t at;
    uint64_t key = (uint64_t)name << 32 | (uint32_t)of << CELL_OF_SHIFT | (what & CELL_WHAT_MASK);
    uint64_t hash = hd_hash_pair(key, 0);
    HD_SLOTS_FIND(at, &m->slots, hash, m->pairs[at].key == key);
    if (at == HD_SLOTS_NONE) {
        m->is_full = m->pair_count >= MOST_PAIRS;
        if (m->is_full) return true;
        if (!hd_grow((void **)&m->pairs, &m->pair_capacity, m->pair_count, sizeof *m->pairs) ||
            !hd_slots_add(&m->slots, hash, (uint32_t)m->pair_count))
            return false;
        at = (uint32_t)m->pair_count++;
        m->pairs[at] = (pair){.key = key};
    }
    m->pairs[at].count += count;
    return true;
}

/* ---- blocks ---- */

static bool add_row(index_maker *m, view_search_block *found, const hd_block *block, uint32_t row, uint32_t *seen_count)
{
    const view_search *s = &m->search;
    int64_t start = hd_column_at(&block->columns[HD_COL_START], row);
    uint32_t name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row);
    if (!search_row_counts(s, block, row) || name == HD_STRING_NONE || name >= m->index->names) return true;
    uint32_t track = search_track(s, block, row);
    if (m->of_block[name]++ == 0) m->seen[(*seen_count)++] = name;
    found->hits++;
    if (start < found->first_ns) found->first_ns = start;
    if (start > found->last_ns) found->last_ns = start;
    return add_pair(m, name, CELL_OF_BUCKET, (uint32_t)search_bucket(s->scene, start), 1) &&
           (track >= s->tracks || add_pair(m, name, CELL_OF_TRACK, track, 1));
}

static bool add_block(index_maker *m, uint32_t at)
{
    view_search_block *found = &m->search.blocks[at];
    const hd_block *block = hd_trace_block_at(m->trace, (hd_kind)found->kind, found->index);
    uint32_t seen = 0;
    bool fine = true;
    found->first_ns = INT64_MAX;
    found->last_ns = INT64_MIN;
    for (uint32_t row = 0; row < block->row_count && fine && !m->is_full; row++)
        fine = add_row(m, found, block, row, &seen);
    hd_trace_release(m->trace, block);
    for (uint32_t i = 0; i < seen; i++) {
        uint32_t name = m->seen[i];
        if (fine && !m->is_full) fine = add_pair(m, name, CELL_OF_BLOCK, at, m->of_block[name]);
        m->of_block[name] = 0;
    }
    return fine;
}

/* Pairs in the order of their names. */
static bool sort_cells(index_maker *m)
{
    view_search_index *index = m->index;
    index->first = calloc((size_t)index->names + 2, sizeof *index->first);
    index->cells = malloc((m->pair_count + 1) * sizeof *index->cells);
    if (!index->first || !index->cells) return false;
    uint32_t *next = index->first + 1; /* position of the next entry of a name; finally, of the first entry of the next
                                          name */
    for (size_t i = 0; i < m->pair_count; i++) next[(m->pairs[i].key >> 32) + 1]++;
    for (uint32_t name = 0; name < index->names; name++) next[name + 1] += next[name];
    for (size_t i = 0; i < m->pair_count; i++)
        index->cells[next[m->pairs[i].key >> 32]++] = (search_cell){(uint32_t)m->pairs[i].key, m->pairs[i].count};
    return true;
}

static bool make(index_maker *m, const atomic_bool *stop)
{
    m->of_block = calloc((size_t)m->index->names + 1, sizeof *m->of_block);
    m->seen = malloc(HD_BLOCK_ROWS * sizeof *m->seen);
    if (!m->of_block || !m->seen) return false;
    m->is_full = m->search.block_count > CELL_WHAT_MASK || m->search.tracks > CELL_WHAT_MASK;
    for (size_t at = 0; at < m->search.block_count && !m->is_full; at++) {
        if (stop && atomic_load(stop)) m->is_full = true;
        if (!m->is_full && !add_block(m, (uint32_t)at)) return false;
    }
    if (m->is_full) return true;
    if (!sort_cells(m)) return false;
    m->index->blocks = m->search.blocks;
    m->index->block_count = m->search.block_count;
    m->search.blocks = NULL;
    return true;
}

static void index_free(void *index)
{
    view_search_index *i = index;
    if (!i) return;
    free(i->first);
    free(i->cells);
    free(i->blocks);
    free(i);
}

/* *out is NULL where it would be too large, or *stop. Errors: MEMORY. */
static hd_status index_new(view_search_index **out, const view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    index_maker m = {.trace = view_scene_trace(scene)};
    m.search = (view_search){.scene = scene, .query.track = HD_NONE, .tracks = view_scene_track_count(scene)};
    *out = NULL;
    m.index = calloc(1, sizeof *m.index);
    bool fine = m.index && search_find_tracks(&m.search, m.trace) && search_list_blocks(&m.search, m.trace);
    if (fine) m.index->names = search_string_end(m.trace);
    fine = fine && make(&m, stop);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) free(m.search.track_of[kind]);
    free(m.search.blocks);
    free(m.of_block);
    free(m.seen);
    free(m.pairs);
    hd_slots_deinit(&m.slots);
    if (fine && !m.is_full)
        *out = m.index;
    else
        index_free(m.index);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status view_derive_search(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    view_search_index *index;
    HD_TRY(index_new(&index, scene, stop, err));
    if (index) view_scene_set_note(scene, VIEW_NOTE_SEARCH, index, index_free);
    return HD_OK;
}
