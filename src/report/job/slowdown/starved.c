/* starved.c - the stalls of all ranks (model/host/stalls.h), and how many occur at once
 *
 * Ranks of one host share a clock. If exactly k of n ranks are stalled most of the time, n - k run: as many as there
 * are CPUs for them.
 */
#include "report/job/slowdown/starved.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"

enum { RANK, START, END, NAME, COLUMNS };
static const job_wanted wanted[COLUMNS] = {
    {"rank", HD_VALUE_INT}, {"start", HD_VALUE_TIME}, {"end", HD_VALUE_TIME}, {"name", HD_VALUE_STRING}};

/* From then on one more (1) or one less (-1) rank is stalled, or is between its first and its last collective. */
typedef struct change {
    int64_t time;
    uint32_t host; /* text; "": not known */
    int8_t still, there;
} change;

typedef struct finder {
    const slow_job *j;
    gpu_texts names, hosts;
    change *list;
    size_t count, capacity;
    uint32_t ranks; /* with stalls or not */
    job_starved *out;
} finder;

/* The first member of this rank that has collectives; NULL. */
static const slow_member *member_of(const slow_job *j, int64_t rank)
{
    for (uint32_t m = 0; m < j->members.count; m++)
        if (slow_member_at(j, m)->rank == rank) return &j->list[m];
    return NULL;
}

static bool add_change(finder *f, uint32_t host, int64_t time, int still, int there)
{
    if (!hd_grow((void **)&f->list, &f->capacity, f->count, sizeof *f->list)) return false;
    f->list[f->count++] = (change){time, host, (int8_t)still, (int8_t)there};
    return true;
}

static bool add_stall(finder *f, const job_cells *c, size_t row, const slow_member *of, int64_t base, uint32_t host)
{
    uint32_t name;
    int64_t start = job_int(c, row, START), end = job_int(c, row, END);
    if (start == HD_NO_NUMBER || end == HD_NO_NUMBER) return true;
    if (start < of->first_end) start = of->first_end;
    if (end > of->last_end) end = of->last_end;
    if (end <= start) return true;
    if (!job_text(&name, &f->names, c, row, NAME)) return false;
    f->out->still += (double)(end - start);
    return add_change(f, host, gpu_sum(base, start), 1, 0) && add_change(f, host, gpu_sum(base, end), -1, 0);
}

/* A summary of several ranks distinguishes them by the column; those have no collectives of their own here. */
static hd_status add_member(finder *f, size_t member, hd_table_builder *lost, hd_error *err)
{
    const hd_job_member *about = hd_job_at(f->j->of, member);
    const slow_member *of = about->rank == HD_NO_NUMBER ? NULL : member_of(f->j, about->rank);
    job_cells cells = {0};
    int64_t base = about->base_ns == HD_NO_TIME ? 0 : about->base_ns;
    if (!of) return HD_OK;
    uint32_t host = gpu_text(&f->hosts, about->host.data ? about->host.data : "", about->host.size);
    hd_status status = host == HD_NONE || !add_change(f, host, gpu_sum(base, of->first_end), 0, 1) ||
                               !add_change(f, host, gpu_sum(base, of->last_end), 0, -1)
                           ? HD_NOMEM(err)
                           : job_cells_of(&cells, f->j->of, member, "stalls", wanted, COLUMNS, lost, err);
    for (size_t row = 0; status == HD_OK && row < cells.rows; row++)
        if (!add_stall(f, &cells, row, of, base, host)) status = HD_NOMEM(err);
    job_cells_deinit(&cells);
    f->ranks++;
    return status;
}

static int by_time(const void *a, const void *b)
{
    const change *x = a, *y = b;
    if (x->host != y->host) return x->host < y->host ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->still != y->still ? x->still - y->still : x->there - y->there;
}

/* From the changes of one host: while all of its ranks exist, how long how many are stalled. */
static bool count_host(finder *f, size_t from, size_t until)
{
    uint32_t ranks = 0, best = 0;
    int64_t still = 0, there = 0, all = 0;
    for (size_t i = from; i < until; i++) ranks += f->list[i].there > 0;
    int64_t *times = calloc((size_t)ranks + 1, sizeof *times);
    if (!times) return false;
    for (size_t i = from; i + 1 < until; i++) {
        still += f->list[i].still;
        there += f->list[i].there;
        if (there != ranks || still < 0 || still > ranks) continue;
        times[still] += f->list[i + 1].time - f->list[i].time;
        all += f->list[i + 1].time - f->list[i].time;
        if (times[still] > times[best]) best = (uint32_t)still;
    }
    if (ranks > 1 && all > 0 && ranks > f->out->ranks) {
        f->out->ranks = ranks;
        f->out->most = best;
        f->out->most_for = 100.0 * (double)times[best] / (double)all;
    }
    free(times);
    return true;
}

hd_status job_find_starved(job_starved *out, const slow_job *job, hd_table_builder *lost, hd_error *err)
{
    finder f = {.j = job, .out = out};
    hd_status status = HD_OK;
    *out = (job_starved){0};
    for (size_t m = 0; status == HD_OK && m < hd_job_count(job->of); m++) status = add_member(&f, m, lost, err);
    if (status == HD_OK) hd_sort(f.list, f.count, sizeof *f.list, by_time);
    for (size_t from = 0, until; status == HD_OK && from < f.count; from = until) {
        for (until = from; until < f.count && f.list[until].host == f.list[from].host;) until++;
        if (!count_host(&f, from, until)) status = HD_NOMEM(err);
    }
    out->names = f.names.count;
    if (f.ranks) out->still /= f.ranks;
    free(f.list);
    gpu_texts_deinit(&f.names);
    gpu_texts_deinit(&f.hosts);
    return status;
}
