/* slice_scan.c - rows of the slice table in order of their positions, block by block */
#include <stdlib.h>

#include "base/memory/large.h"
#include "base/thread.h"
#include "query/tables/slice_cursor.h"

enum { PREFETCH_LEAST = 4, PREFETCH_AHEAD = 64, THREADS_MAX = 7 };

/* ---- blocks ahead ---- */

struct slice_prefetch {
    const slice_section *section;
    query_bounds ts;
    bool whole;
    size_t block_count;
    atomic_size_t next, reached; /* blocks: to be loaded next, and where the cursor is */
    atomic_bool stop;
    unsigned thread_count;
    pthread_t threads[THREADS_MAX];
};

/* Whether a block can have rows with these starts. */
static bool may_have(const slice_section *section, size_t block, query_bounds ts)
{
    const hd_block *extent = hd_trace_extent_at(section->source->trace, section->kind, block);
    if (ts.low == QUERY_ALL.low && ts.high == QUERY_ALL.high) return true;
    return extent->start_ns != HD_NO_TIME && query_time(section->source, extent->start_ns) <= ts.high &&
           query_time(section->source, extent->end_ns) >= ts.low;
}

static void *load_ahead(void *user)
{
    slice_prefetch *p = user;
    while (!atomic_load_explicit(&p->stop, memory_order_relaxed)) {
        size_t block = atomic_fetch_add(&p->next, 1);
        if (block >= p->block_count || block > atomic_load(&p->reached) + PREFETCH_AHEAD * (size_t)p->thread_count)
            break;
        if (may_have(p->section, block, p->ts)) slice_load(p->section, block, p->whole);
    }
    return NULL;
}

static void stop_prefetch(slice_cursor *cursor)
{
    slice_prefetch *p = cursor->prefetch;
    if (!p) return;
    atomic_store(&p->stop, true);
    for (unsigned i = 0; i < p->thread_count; i++) pthread_join(p->threads[i], NULL);
    free(p);
    cursor->prefetch = NULL;
}

/* Prefetching starts at the second block of a section, since a statement that wants few rows ends in the first. */
static void start_prefetch(slice_cursor *cursor, const slice_section *section, size_t count)
{
    unsigned wanted = hd_thread_count(0, THREADS_MAX + 1) - 1;
    if (cursor->prefetch || wanted == 0 || count < cursor->block + PREFETCH_LEAST) return;
    slice_prefetch *p = calloc(1, sizeof *p);
    if (!p) return;
    p->section = section;
    p->ts = cursor->ts;
    p->whole = cursor->whole;
    p->block_count = count;
    atomic_init(&p->next, cursor->block + 1);
    atomic_init(&p->reached, cursor->block);
    atomic_init(&p->stop, false);
    cursor->prefetch = p;
    while (p->thread_count < wanted && p->thread_count < THREADS_MAX &&
           hd_thread_start(&p->threads[p->thread_count], load_ahead, p) == 0)
        p->thread_count++;
}

/* ---- chunks ---- */

static bool next_section(slice_cursor *cursor)
{
    stop_prefetch(cursor);
    cursor->section++;
    cursor->block = 0;
    cursor->in_block = 0;
    return cursor->section < cursor->table->section_count;
}

static bool next_async(slice_cursor *cursor, slice_section *section)
{
    if (cursor->in_block >= section->count) return false;
    uint64_t left = section->count - cursor->in_block;
    uint32_t count = left < SLICE_CHUNK ? (uint32_t)left : SLICE_CHUNK;
    slice_chunk_run(&cursor->chunk, section, NULL, 0, cursor->in_block, count);
    cursor->in_block += count;
    return true;
}

/* The next run of rows of the section; false: no more. */
static bool next_run(slice_cursor *cursor, slice_section *section)
{
    const hd_trace *trace = section->source->trace;
    if (section->kind == HD_KIND_ASYNC) return next_async(cursor, section);
    size_t count = hd_trace_block_count(trace, section->kind);
    while (cursor->block < count) {
        const hd_block *extent = hd_trace_extent_at(trace, section->kind, cursor->block);
        if (cursor->in_block < extent->row_count && may_have(section, cursor->block, cursor->ts)) {
            const hd_block *block = extent;
            uint32_t left = extent->row_count - cursor->in_block, run = left < SLICE_CHUNK ? left : SLICE_CHUNK;
            if (cursor->plan.columns || cursor->filter_count) {
                if (cursor->block > 0 && cursor->in_block == 0) start_prefetch(cursor, section, count);
                block = slice_load(section, cursor->block, cursor->whole);
            }
            slice_chunk_run(&cursor->chunk, section, block, cursor->in_block, block->first_row + cursor->in_block, run);
            cursor->in_block += run;
            return true;
        }
        cursor->block++;
        cursor->in_block = 0;
        if (cursor->prefetch) atomic_store(&cursor->prefetch->reached, cursor->block);
    }
    return false;
}

static bool next_chunk(slice_cursor *cursor)
{
    if (cursor->list) {
        size_t left = cursor->end - cursor->at;
        if (left == 0) return false;
        uint32_t count = left < SLICE_CHUNK ? (uint32_t)left : SLICE_CHUNK;
        slice_chunk_list(&cursor->chunk, cursor->table, cursor->list + cursor->at, count, cursor->whole);
        cursor->at += count;
        return true;
    }
    while (cursor->section < cursor->table->section_count) {
        if (next_run(cursor, &cursor->table->sections[cursor->section])) return true;
        next_section(cursor);
    }
    return false;
}

hd_status slice_cursor_advance(slice_cursor *cursor, hd_error *err)
{
    unsigned rounds = 0;
    cursor->selected = 0;
    while (next_chunk(cursor)) {
        for (int i = 0; i < cursor->filter_count && cursor->chunk.selected_count; i++)
            slice_filter_apply(&cursor->filters[i], &cursor->chunk, cursor->table);
        if (cursor->chunk.selected_count) return HD_OK;
        if (rounds++ % 16 == 15) HD_TRY(query_check_stop(cursor->table->tables, err));
    }
    cursor->ended = true;
    stop_prefetch(cursor);
    for (size_t i = 0; i < cursor->table->tables->count; i++)
        HD_TRY(query_source_status(&cursor->table->tables->sources[i], err));
    return HD_OK;
}

void slice_cursor_stop(slice_cursor *cursor)
{
    stop_prefetch(cursor);
    hd_large_free(cursor->own);
    cursor->own = NULL;
    cursor->list = NULL;
    cursor->at = cursor->end = 0;
    cursor->section = cursor->block = 0;
    cursor->in_block = 0;
    cursor->ended = false;
}
