/* names.c - sums of several threads put together by name, with exact percentiles of the durations */
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "base/thread.h"
#include "trace/index/lane_index.h"
#include "view/select/impl.h"

typedef struct name_durations {
    uint64_t first, count;           /* in durations */
    uint64_t first_long, long_count; /* in longs */
} name_durations;

typedef struct names {
    selector *s;
    view_selection *out;
    uint32_t **place; /* by worker, by slot: in out->names */
    name_durations *durations;
    uint32_t *values;
    select_long *longs; /* slot is the place */
    size_t long_count;
    atomic_size_t next;
} names;

/* ---- sums ---- */

static void add_sum(view_select_name *name, const select_sum *sum)
{
    name->count += sum->count;
    name->mean_ns += sum->whole; /* divided later */
    if (__builtin_add_overflow(name->total_ns, sum->total, &name->total_ns)) name->total_ns = INT64_MAX;
    if (__builtin_add_overflow(name->self_ns, sum->self, &name->self_ns)) name->self_ns = INT64_MAX;
    if (sum->count == 0) return;
    if (sum->min < name->min_ns) name->min_ns = sum->min;
    bool is_first = sum->longest_track < name->longest_track ||
                    (sum->longest_track == name->longest_track && sum->longest_row < name->longest_row);
    if (sum->max < name->max_ns || (sum->max == name->max_ns && !is_first)) return;
    name->max_ns = sum->max;
    name->longest_row = sum->longest_row;
    name->longest_track = sum->longest_track;
}

/* Every name once, with its sums. */
static hd_status put_together(names *n, hd_error *err)
{
    selector *s = n->s;
    size_t most = 0;
    for (unsigned i = 0; i < s->worker_count; i++) most += s->workers[i].sum_count;
    n->out->names = malloc((most + 1) * sizeof *n->out->names);
    n->durations = calloc(most + 1, sizeof *n->durations);
    n->place = calloc(s->worker_count, sizeof *n->place);
    uint32_t *place_of = calloc((size_t)s->names + 1, sizeof *place_of);
    bool fine = n->out->names && n->durations && n->place && place_of;
    for (unsigned i = 0; i < s->worker_count && fine; i++) {
        const select_worker *w = &s->workers[i];
        fine = (n->place[i] = malloc((w->sum_count + 1) * sizeof **n->place)) != NULL;
        for (size_t slot = 0; slot < w->sum_count && fine; slot++) {
            const select_sum *sum = &w->sums[slot];
            if (!place_of[sum->name]) {
                n->out->names[n->out->name_count++] =
                    (view_select_name){.name = sum->name, .min_ns = INT64_MAX, .max_ns = -1, .longest_track = HD_NONE};
                place_of[sum->name] = (uint32_t)n->out->name_count;
            }
            n->place[i][slot] = place_of[sum->name] - 1;
            add_sum(&n->out->names[place_of[sum->name] - 1], sum);
        }
    }
    free(place_of);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- durations ---- */

static int by_place(const void *a, const void *b)
{
    const select_long *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    return (x->duration > y->duration) - (x->duration < y->duration);
}

static bool gather_longs(names *n)
{
    size_t all = 0;
    for (unsigned i = 0; i < n->s->worker_count; i++) all += n->s->workers[i].long_count;
    n->longs = malloc((all + 1) * sizeof *n->longs);
    if (!n->longs) return false;
    for (unsigned i = 0; i < n->s->worker_count; i++) {
        const select_worker *w = &n->s->workers[i];
        for (size_t j = 0; j < w->long_count; j++)
            n->longs[n->long_count++] = (select_long){n->place[i][w->longs[j].slot], w->longs[j].duration};
    }
    hd_sort(n->longs, n->long_count, sizeof *n->longs, by_place);
    for (size_t i = n->long_count; i-- > 0;) {
        n->durations[n->longs[i].slot].first_long = i;
        n->durations[n->longs[i].slot].long_count++;
    }
    return true;
}

/* The durations of each name side by side; chunks are freed as they are read. */
static bool scatter(names *n)
{
    uint64_t first = 0;
    for (size_t i = 0; i < n->out->name_count; i++) {
        n->durations[i].first = first;
        first += n->out->names[i].count;
    }
    n->values = malloc(((size_t)first + 1) * sizeof *n->values);
    if (!n->values) return false;
    for (unsigned i = 0; i < n->s->worker_count; i++) {
        select_worker *w = &n->s->workers[i];
        for (select_chunk *chunk; (chunk = w->chunks);) {
            for (uint32_t j = 0; j < chunk->count; j++) {
                name_durations *d = &n->durations[n->place[i][chunk->entries[j].slot]];
                n->values[d->first + d->count++] = chunk->entries[j].duration;
            }
            w->chunks = chunk->next;
            free(chunk);
        }
    }
    return true;
}

/* The smallest duration of which at least `percent` are no longer. */
static int64_t percentile(const names *n, const name_durations *d, unsigned percent)
{
    size_t rank = (size_t)((d->count / 100) * percent + ((d->count % 100) * percent + 99) / 100);
    size_t k = rank ? rank - 1 : 0;
    uint64_t shorter = d->count - d->long_count;
    if (k >= shorter) return n->longs[d->first_long + (k - shorter)].duration;
    return view_select_rank(n->values + d->first, (size_t)d->count, k);
}

static void find_percentiles(void *state)
{
    names *n = *(names **)state;
    for (size_t i; (i = atomic_fetch_add(&n->next, 1)) < n->out->name_count;) {
        view_select_name *name = &n->out->names[i];
        if (name->count == 0) continue;
        name->mean_ns /= (double)name->count;
        name->p50_ns = percentile(n, &n->durations[i], 50);
        name->p99_ns = percentile(n, &n->durations[i], 99);
    }
}

/* Names that have only time here, of slices that were counted elsewhere, cannot be: every piece is looked at. */
hd_status select_names(view_selection *out, selector *s, hd_error *err)
{
    names n = {.s = s, .out = out};
    hd_status status = put_together(&n, err);
    if (status == HD_OK && (!gather_longs(&n) || !scatter(&n))) status = HD_NOMEM(err);
    if (status == HD_OK) {
        names *states[16];
        unsigned threads = hd_thread_count(s->worker_count, 16);
        for (unsigned i = 0; i < threads; i++) states[i] = &n;
        hd_threads_run(find_percentiles, states, sizeof *states, threads);
    }
    for (unsigned i = 0; i < s->worker_count && n.place; i++) free(n.place[i]);
    free(n.place);
    free(n.durations);
    free(n.values);
    free(n.longs);
    return status;
}
