/* categories.c - events and time of each kind and category */
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/thread.h"
#include "trace/index/lane_index.h"
#include "trace/lazy.h"

enum { CHUNK_ROWS = 2048 };

/* Sums in order of first occurrence. */
typedef struct category_list {
    hd_category_sum *sums;
    size_t count, capacity;
    hd_slots slots;
} category_list;

/* NULL: no memory. */
static hd_category_sum *sum_of(category_list *list, hd_kind kind, uint32_t category)
{
    uint32_t at;
    uint64_t hash = hd_hash_pair(category, kind);
    HD_SLOTS_FIND(at, &list->slots, hash, list->sums[at].category == category && list->sums[at].kind == kind);
    if (at != HD_SLOTS_NONE) return &list->sums[at];
    if (!hd_grow((void **)&list->sums, &list->capacity, list->count, sizeof *list->sums) ||
        !hd_slots_add(&list->slots, hash, (uint32_t)list->count))
        return NULL;
    list->sums[list->count] = (hd_category_sum){.kind = kind, .category = category};
    return &list->sums[list->count++];
}

static void add_to_sum(hd_category_sum *sum, uint64_t count, int64_t total_ns)
{
    sum->count += count;
    if (__builtin_add_overflow(sum->total_ns, total_ns, &sum->total_ns)) sum->total_ns = INT64_MAX;
}

/* A range of the blocks of all kinds. */
typedef struct category_worker {
    const hd_trace *trace;
    size_t from, until;
    category_list list;
    bool failed;
    int64_t category[CHUNK_ROWS], duration[CHUNK_ROWS];
} category_worker;

static bool sum_block(category_worker *w, const hd_block *block)
{
    hd_category_sum *last = NULL;
    for (uint32_t first = 0, n; first < block->row_count; first += n) {
        n = block->row_count - first < CHUNK_ROWS ? block->row_count - first : CHUNK_ROWS;
        hd_column_decode(w->category, &block->columns[HD_COL_CATEGORY], first, n);
        hd_column_decode(w->duration, &block->columns[HD_COL_DURATION], first, n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t category = (uint32_t)w->category[i];
            if (!last || last->category != category) last = sum_of(&w->list, block->kind, category);
            if (!last) return false;
            add_to_sum(last, 1, w->duration[i] > 0 ? w->duration[i] : 0);
        }
    }
    return true;
}

static void sum_blocks(void *state)
{
    category_worker *w = state;
    size_t at = 0;
    hd_block_room room = {0};
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        size_t count = hd_trace_block_count(w->trace, (hd_kind)kind);
        for (size_t b = 0; b < count && !w->failed; b++, at++) {
            if (at < w->from || at >= w->until) continue;
            w->failed = !sum_block(w, hd_walk_columns(&room, w->trace, (hd_kind)kind, b));
        }
    }
    hd_walk_end(&room, w->trace);
}

/* A sum with its index, so that sorting is stable. */
typedef struct placed_sum {
    hd_category_sum sum;
    size_t place;
} placed_sum;

static int by_time_and_count(const void *a, const void *b)
{
    const placed_sum *x = a, *y = b;
    if (x->sum.kind != y->sum.kind) return x->sum.kind < y->sum.kind ? -1 : 1;
    if (x->sum.total_ns != y->sum.total_ns) return x->sum.total_ns > y->sum.total_ns ? -1 : 1;
    if (x->sum.count != y->sum.count) return x->sum.count > y->sum.count ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static bool sort_sums(category_list *list)
{
    placed_sum *placed = malloc((list->count + 1) * sizeof *placed);
    if (!placed) return false;
    for (size_t i = 0; i < list->count; i++) placed[i] = (placed_sum){list->sums[i], i};
    hd_sort(placed, list->count, sizeof *placed, by_time_and_count);
    for (size_t i = 0; i < list->count; i++) list->sums[i] = placed[i].sum;
    free(placed);
    return true;
}

/* Joins ranges in order, so that categories are in the order of the trace. */
static bool join(category_list *all, const category_worker *workers, unsigned count)
{
    for (unsigned t = 0; t < count; t++) {
        if (workers[t].failed) return false;
        for (size_t i = 0; i < workers[t].list.count; i++) {
            const hd_category_sum *more = &workers[t].list.sums[i];
            hd_category_sum *sum = sum_of(all, more->kind, more->category);
            if (!sum) return false;
            add_to_sum(sum, more->count, more->total_ns);
        }
    }
    return sort_sums(all);
}

hd_status hd_sum_categories(hd_category_sum **out, size_t *out_count, const hd_trace *trace, unsigned threads,
                            hd_error *err)
{
    size_t blocks = 0;
    category_list all = {0};
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) blocks += hd_trace_block_count(trace, (hd_kind)kind);
    unsigned count = hd_thread_count(threads, blocks);
    category_worker *workers = calloc(count, sizeof *workers);
    *out = NULL;
    *out_count = 0;
    if (!workers) return HD_NOMEM(err);
    for (unsigned t = 0; t < count; t++) {
        workers[t].trace = trace;
        workers[t].from = blocks * t / count;
        workers[t].until = blocks * (t + 1) / count;
    }
    hd_threads_run(sum_blocks, workers, sizeof *workers, count);
    bool fine = join(&all, workers, count);
    for (unsigned t = 0; t < count; t++) {
        free(workers[t].list.sums);
        hd_slots_deinit(&workers[t].list.slots);
    }
    free(workers);
    hd_slots_deinit(&all.slots);
    if (fine) {
        *out = all.sums;
        *out_count = all.count;
        return HD_OK;
    }
    free(all.sums);
    return HD_NOMEM(err);
}
