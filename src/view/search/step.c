/* step.c - stepping from hit to hit: only blocks whose hits are around the time are walked again */
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "base/thread.h"
#include "trace/index/lane_index.h"
#include "view/search/impl.h"

/* One thread. */
typedef struct stepper {
    search_worker worker;
    const view_hit *from;
    bool behind;
    const uint32_t *list; /* blocks to walk */
    size_t count;
    atomic_size_t *next;
    view_search_step found;
} stepper;

static void offer(view_search_step *found, const view_hit *hit, bool before, bool at)
{
    if (before) {
        if (!found->has_previous || view_hit_compare(hit, &found->previous) > 0) found->previous = *hit;
        found->has_previous = true;
    } else if (!at) {
        if (!found->has_next || view_hit_compare(hit, &found->next) < 0) found->next = *hit;
        found->has_next = true;
    }
}

/* As search_block of a block that was searched: fills w->rows. */
static uint32_t known_hits(search_worker *w, const hd_block *block)
{
    const view_search *s = w->run->search;
    uint32_t count = 0;
    if (!s->is_by_event) return search_block(w, block);
    for (uint32_t row = 0; row < block->row_count; row++)
        if (view_is_hit(&s->hits, block->kind, block->first_row + row)) w->rows[count++] = row;
    return count;
}

static void walk_block(stepper *s, uint32_t at)
{
    search_worker *w = &s->worker;
    const view_search_block *found = &w->run->search->blocks[at];
    const hd_block *block = hd_trace_block_at(w->run->trace, (hd_kind)found->kind, found->index);
    uint32_t count = known_hits(w, block);
    for (uint32_t r = 0; r < count; r++) {
        view_hit hit = {.start_ns = hd_column_at(&block->columns[HD_COL_START], w->rows[r]),
                        .kind = (hd_kind)found->kind,
                        .row = (uint32_t)(block->first_row + w->rows[r])};
        bool at_hit = s->behind && view_hit_compare(&hit, s->from) == 0;
        bool before = view_hit_compare(&hit, s->from) < 0;
        s->found.index += before || at_hit;
        offer(&s->found, &hit, before, at_hit);
    }
}

static void walk(void *state)
{
    stepper *s = state;
    for (size_t i; (i = atomic_fetch_add(s->next, 1)) < s->count;) walk_block(s, s->list[i]);
}

/* Blocks that may have hits on both sides. */
static size_t list_blocks(uint32_t *list, uint64_t *out_before, const view_search *search, int64_t time_ns)
{
    size_t count = 0;
    *out_before = 0;
    for (size_t i = 0; i < search->block_count; i++) {
        const view_search_block *b = &search->blocks[i];
        if (b->hits == 0) continue;
        if (b->first_ns <= time_ns && b->last_ns >= time_ns)
            list[count++] = (uint32_t)i;
        else if (b->last_ns < time_ns)
            *out_before += b->hits;
    }
    return count;
}

typedef struct near_block {
    int64_t time_ns; /* no hit in it is nearer */
    uint32_t at;
} near_block;

static int by_time(const void *a, const void *b)
{
    const near_block *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* The nearest blocks on one side, until no other can have a nearer hit. */
static hd_status walk_side(stepper *s, const view_search *search, bool forward, hd_error *err)
{
    near_block *list = malloc((search->block_count + 1) * sizeof *list);
    size_t count = 0;
    if (!list) return HD_NOMEM(err);
    for (size_t i = 0; i < search->block_count; i++) {
        const view_search_block *b = &search->blocks[i];
        int64_t time = forward ? b->first_ns : b->last_ns;
        if (b->hits && (forward ? time > s->from->start_ns : time < s->from->start_ns))
            list[count++] = (near_block){time, (uint32_t)i};
    }
    hd_sort(list, count, sizeof *list, by_time);
    for (size_t i = 0; i < count; i++) {
        const near_block *near = &list[forward ? i : count - 1 - i];
        if (forward && s->found.has_next && s->found.next.start_ns < near->time_ns) break;
        if (!forward && s->found.has_previous && s->found.previous.start_ns > near->time_ns) break;
        walk_block(s, near->at);
    }
    free(list);
    return HD_OK;
}

/* Hits of blocks entirely on one side were counted before. */
static hd_status walk_sides(stepper *s, view_search_step *out, const view_search *search, hd_error *err)
{
    uint64_t index = out->index;
    s->found = *out;
    hd_status status = walk_side(s, search, true, err);
    if (status == HD_OK) status = walk_side(s, search, false, err);
    *out = s->found;
    out->index = index;
    return status;
}

static hd_status step_init(stepper *s, search_run *run, hd_error *err)
{
    search_worker *w = &s->worker;
    const view_search *search = run->search;
    w->run = run;
    w->rows = malloc(HD_BLOCK_ROWS * sizeof *w->rows);
    if (!w->rows) return HD_NOMEM(err);
    return view_matcher_init(&w->matcher, search->names_text, search->names_mode, search->query.match_case, err);
}

static void join(view_search_step *out, const view_search_step *part)
{
    out->index += part->index;
    if (part->has_next) offer(out, &part->next, false, false);
    if (part->has_previous) offer(out, &part->previous, true, false);
}

hd_status view_search_step_from(view_search_step *out, const view_search *search, const view_hit *from, bool behind,
                                hd_error *err)
{
    search_run run = {.search = (view_search *)search, .trace = view_scene_trace(search->scene)};
    atomic_size_t next = 0;
    *out = (view_search_step){0};
    uint32_t *list = malloc((search->block_count + 1) * sizeof *list);
    if (!list) return HD_NOMEM(err);
    size_t count = list_blocks(list, &out->index, search, from->start_ns);
    unsigned threads = hd_thread_count(search->threads, count);
    stepper *steppers = calloc(threads, sizeof *steppers);
    hd_status status = steppers ? HD_OK : HD_NOMEM(err);
    for (unsigned i = 0; i < threads && status == HD_OK; i++) {
        steppers[i].from = from;
        steppers[i].behind = behind;
        steppers[i].list = list;
        steppers[i].count = count;
        steppers[i].next = &next;
        status = step_init(&steppers[i], &run, err);
    }
    if (status == HD_OK) hd_threads_run(walk, steppers, sizeof *steppers, threads);
    for (unsigned i = 0; i < threads && status == HD_OK; i++) join(out, &steppers[i].found);
    if (status == HD_OK) status = walk_sides(&steppers[0], out, search, err);
    for (unsigned i = 0; i < threads && steppers; i++) {
        search_worker *w = &steppers[i].worker;
        view_matcher_deinit(&w->matcher);
        free(w->rows);
    }
    free(steppers);
    free(list);
    return status;
}
