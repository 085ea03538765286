/* clock_alike.c - collectives of unnamed groups -> those that provably include all ranks
 *
 * Tried   if other evidence leaves a clock unknown: on a stream on which each rank of the job has some, and none twice
 * Shift   of each rank's list relative to that of the lowest rank: the one for which the ends fit a line best. If any
 *         other shift brings half of them within SHIFT_WORSE tolerances, the shift is ambiguous
 * Groups  Lists that end together may still be of several groups in lock-step. In every group, one rank arrives last at
 *         each collective and does not wait: its duration is that of the transfer, which is about equal for collectives
 *         of equal length. For each possible transfer time, the ranks that are never faster are the largest set that
 *         can contain a group with that transfer; if there are collectives in which all ranks of a set waited, it
 *         contains no group. If only the set of all ranks remains, every group transfers as fast as the fastest, and a
 *         single rank that did not wait proves that there is one group: any other would need one too (unless something
 *         else delays a group equally each time, such as a link that serves another group first)
 * Used    only those collectives
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/job/clock_events.h"

#define SHIFT_WORSE 4.0
#define SLOPE_LIMIT 400e-6 /* of two clocks that drift by the limit of clocks.h each */
#define TOLERANCE_MIN 2e3  /* of times in whole microseconds */
#define TOGETHER 2.0       /* tolerances: ends of one collective */
#define WAITS 6.0          /* tolerances: longer than the transfer, and its variation, of its time: */
#define TRANSFERS_MIN 0.05
#define TRANSFERS_MAX 0.25
enum { VIOLATIONS_MIN = 3 };

typedef struct alike_list {
    const clock_alike_row *rows;
    size_t count;
    int64_t rank, stream;
    uint32_t host, member;
    int64_t shift; /* its row of the lowest rank's row i is i + shift */
} alike_list;

/* Of one stream. */
typedef struct alike {
    clock_job *job;
    alike_list *lists; /* by rank */
    size_t ranks;
    double *x, *y, *rest, *spare; /* ALIKE_LIST_MAX each */
    double tolerance, next_best;  /* next_best: half of the ends, by any other shift */
    double transfers;             /* of its time: variation of the transfers of the current rows */
    size_t first, count;          /* rows of the lowest rank that all have */
    int64_t *times;               /* count for each rank: how long it was in the collective */
    int64_t *shortest, *second;   /* by row: over all ranks */
    int64_t *low, *least;         /* by row: over the current ranks; by rank: over the current rows */
    bool *is_together;            /* by row */
    uint32_t *order, *at;         /* ranks; rows */
} alike;

/* ---- shifts ---- */

static size_t first_row(const alike_list *l)
{
    return l->shift < 0 ? (size_t)-l->shift : 0;
}

static size_t row_end(const alike_list *hub, const alike_list *l)
{
    int64_t end = (int64_t)l->count - l->shift;
    return end < (int64_t)hub->count ? (size_t)end : hub->count;
}

/* Rows of both; 0: too few, or they are not of the same operations. */
static size_t pair_up(alike *a, const alike_list *l)
{
    const alike_list *hub = a->lists;
    size_t first = first_row(l), end = row_end(hub, l), shorter = hub->count < l->count ? hub->count : l->count;
    if (end < first + CLOCK_SAMPLES_MIN || 2 * (end - first) < shorter) return 0;
    for (size_t i = first; i < end; i++) {
        const clock_alike_row *x = &hub->rows[i], *y = &l->rows[(int64_t)i + l->shift];
        if (x->operation != y->operation) return 0;
        a->x[i - first] = (double)((clock_i128)y->end_ns - l->rows->end_ns);
        a->y[i - first] =
            (double)((clock_i128)x->end_ns - hub->rows->end_ns - ((clock_i128)y->end_ns - l->rows->end_ns));
    }
    return end - first;
}

/* How far half, and nine tenths, of the ends are from a line. */
static void deviate(double *out_half, double *out_most, alike *a, size_t count)
{
    double error, slope = 0;
    if (count >= CLOCK_LINE_MIN) slope = clock_slope(&error, a->spare, a->x, a->y, count, count / 2);
    slope = fmin(fmax(slope, -SLOPE_LIMIT), SLOPE_LIMIT);
    for (size_t i = 0; i < count; i++) a->rest[i] = a->y[i] - slope * a->x[i];
    memcpy(a->spare, a->rest, count * sizeof *a->spare);
    double level = clock_element(a->spare, count, count / 2);
    for (size_t i = 0; i < count; i++) a->spare[i] = fabs(a->rest[i] - level);
    *out_half = clock_element(a->spare, count, count / 2);
    *out_most = clock_element(a->spare, count, (9 * count - 1) / 10);
}

/* The best shift, and the minimum of all others. false: none. */
static bool find_shift(alike *a, alike_list *l)
{
    const int64_t least = -(int64_t)a->lists->count, most = (int64_t)l->count;
    int64_t best = 0;
    double best_most = INFINITY, best_half = INFINITY, other = INFINITY;
    for (l->shift = least; l->shift < most; l->shift++) {
        size_t count = pair_up(a, l);
        double half, nearly_all;
        if (!count) continue;
        deviate(&half, &nearly_all, a, count);
        bool is_better = nearly_all < best_most;
        other = fmin(other, is_better ? best_half : half);
        if (!is_better) continue;
        best = l->shift;
        best_most = nearly_all;
        best_half = half;
    }
    l->shift = best;
    a->next_best = fmin(a->next_best, other);
    return best_most < INFINITY;
}

/* The differences of the ends of one collective, over a whole list: *out, by row of the lowest rank. false: no
 * memory. */
static bool find_distances(bool *out_is_line, double *out, alike *a, const alike_list *l)
{
    enum { SKEW_NS = 10000 };
    const alike_list *hub = a->lists;
    clock_sample *samples = malloc((a->count + 1) * sizeof *samples);
    clock_pieces pieces = {0};
    for (size_t i = 0; samples && i < a->count; i++) {
        const clock_alike_row *x = &hub->rows[a->first + i], *y = &l->rows[(int64_t)(a->first + i) + l->shift];
        samples[i] = (clock_sample){y->end_ns, clock_clip((clock_i128)x->end_ns - y->end_ns)};
    }
    bool fine = samples && clock_fit(&pieces, samples, a->count, SKEW_NS, SLOPE_LIMIT / 2);
    *out_is_line = fine && pieces.count == 1 && fabs(pieces.list->drift) <= SLOPE_LIMIT;
    for (size_t i = 0; *out_is_line && i < a->count; i++)
        out[i] = fabs((double)((clock_i128)samples[i].offset_ns - clock_piece_offset(pieces.list, samples[i].at_ns)));
    free(pieces.list);
    free(samples);
    return fine;
}

/* Compares all lists with the lowest rank's: common rows, and ends that are together. */
static bool compare_lists(clock_alike_end *out, alike *a)
{
    bool is_line = true, fine = true;
    size_t end = a->lists->count;
    a->next_best = INFINITY;
    *out = CLOCK_ALIKE_FEW;
    for (size_t r = 0; r < a->ranks; r++) {
        if (a->lists[r].count < CLOCK_SAMPLES_MIN) return true;
    }
    for (size_t r = 1; r < a->ranks; r++) {
        *out = CLOCK_ALIKE_LISTS;
        if (!find_shift(a, &a->lists[r])) return true;
        if (first_row(&a->lists[r]) > a->first) a->first = first_row(&a->lists[r]);
        if (row_end(a->lists, &a->lists[r]) < end) end = row_end(a->lists, &a->lists[r]);
    }
    *out = CLOCK_ALIKE_FEW;
    if (end < a->first + CLOCK_SAMPLES_MIN) return true;
    a->count = end - a->first;
    *out = CLOCK_ALIKE_SHIFT;
    a->tolerance = TOLERANCE_MIN;
    for (size_t r = 1; r < a->ranks && fine; r++) {
        fine = find_distances(&is_line, a->rest, a, &a->lists[r]);
        if (!fine || !is_line) return fine;
        a->tolerance = fmax(a->tolerance, clock_element(a->rest, a->count, (19 * a->count - 1) / 20));
    }
    if (a->next_best < SHIFT_WORSE * a->tolerance) return fine;
    *out = CLOCK_ALIKE_GROUPS;
    for (size_t i = 0; i < a->count; i++) a->is_together[i] = true;
    for (size_t r = 1; r < a->ranks && fine; r++) {
        fine = find_distances(&is_line, a->rest, a, &a->lists[r]);
        for (size_t i = 0; i < a->count && fine; i++) a->is_together[i] &= a->rest[i] <= TOGETHER * a->tolerance;
    }
    return fine;
}

/* ---- groups ---- */

static void measure(alike *a)
{
    for (size_t i = 0; i < a->count; i++) a->shortest[i] = a->second[i] = INT64_MAX;
    for (size_t r = 0; r < a->ranks; r++) {
        const alike_list *l = &a->lists[r];
        for (size_t i = 0; i < a->count; i++) {
            const clock_alike_row *row = &l->rows[(int64_t)(a->first + i) + l->shift];
            int64_t time = clock_clip((clock_i128)row->end_ns - row->start_ns);
            a->times[r * a->count + i] = time;
            if (time < a->second[i]) a->second[i] = time;
            if (time < a->shortest[i]) {
                a->second[i] = a->shortest[i];
                a->shortest[i] = time;
            }
        }
    }
}

/* Collectives of an operation that last alike and end together, as many as there are: a->at. How many. */
static size_t pick_rows(alike *a, uint32_t operation, uint32_t *spare)
{
    size_t found = 0, best = 0, best_first = 0;
    for (size_t i = 0; i < a->count; i++) {
        if (a->is_together[i] && a->lists->rows[a->first + i].operation == operation) a->at[found++] = (uint32_t)i;
    }
    HD_SORT_RUNS(a->at, spare, found, x, y, a->shortest[*x] < a->shortest[*y]);
    for (size_t first = 0, end = 0; first < found; first++) {
        const double limit = (1 + TRANSFERS_MAX) * (double)a->shortest[a->at[first]] + 2 * a->tolerance;
        while (end < found && (double)a->shortest[a->at[end]] <= limit) end++;
        if (end - first <= best) continue;
        best = end - first;
        best_first = first;
    }
    memmove(a->at, a->at + best_first, best * sizeof *a->at);
    double low = best ? (double)a->shortest[a->at[0]] : 0, high = best ? (double)a->shortest[a->at[best - 1]] : 0;
    a->transfers = fmin(TRANSFERS_MAX, fmax(TRANSFERS_MIN, low > 0 ? high / low - 1 : TRANSFERS_MAX));
    return best;
}

/* More than that is a wait, of a group that takes as long to transfer. */
static double wait_limit(const alike *a, double transfer)
{
    return transfer + WAITS * a->tolerance + a->transfers * transfer;
}

/* Whether no set of ranks except that of all can be a group of its own; then the maximum duration of a rank that
 * arrived last. */
static bool is_closed_by_all(double *out_limit, alike *a, size_t rows, uint32_t *spare)
{
    for (size_t r = 0; r < a->ranks; r++) {
        a->order[r] = (uint32_t)r;
        a->least[r] = INT64_MAX;
        for (size_t i = 0; i < rows; i++) {
            int64_t time = a->times[r * a->count + a->at[i]];
            if (time < a->least[r]) a->least[r] = time;
        }
    }
    HD_SORT_RUNS(a->order, spare, a->ranks, x, y, a->least[*x] > a->least[*y]);
    for (size_t i = 0; i < rows; i++) a->low[i] = INT64_MAX;
    for (size_t k = 0, end = 0; k < a->ranks; k++) {
        /* A group that transfers as fast as this rank at its fastest is among those that are never faster. */
        const double transfer = (double)a->least[a->order[k]];
        for (; end < a->ranks && (double)a->least[a->order[end]] >= transfer - a->tolerance; end++) {
            const int64_t *times = a->times + a->order[end] * a->count;
            for (size_t i = 0; i < rows; i++) a->low[i] = times[a->at[i]] < a->low[i] ? times[a->at[i]] : a->low[i];
        }
        *out_limit = wait_limit(a, transfer);
        if (end == a->ranks) return true;
        size_t all_waited = 0;
        for (size_t i = 0; i < rows; i++) all_waited += (double)a->low[i] > *out_limit;
        if (all_waited < VIOLATIONS_MIN) return false;
    }
    return true;
}

static bool add_event(alike *a, const alike_list *l, size_t row)
{
    clock_job *j = a->job;
    const clock_job_group key = {.name = HD_NONE, .stream = l->stream, .in_step = -1};
    const clock_alike_row *r = &l->rows[(int64_t)row + l->shift];
    uint32_t group = gpu_group(&j->groups, &key);
    if (group == HD_NONE || !hd_grow((void **)&j->events, &j->capacity, j->count, sizeof *j->events)) return false;
    j->events[j->count++] = (hd_clock_event){.host = l->host,
                                             .member = l->member,
                                             .operation = r->operation,
                                             .size = (uint32_t)a->ranks,
                                             .group = group,
                                             .sequence = (int64_t)row,
                                             .start_ns = r->start_ns,
                                             .end_ns = r->end_ns};
    return true;
}

/* Adds the proven collectives of an operation. */
static bool prove(clock_alike_end *out, alike *a, uint32_t operation, uint32_t *spare)
{
    size_t rows = pick_rows(a, operation, spare), proven = 0;
    double limit;
    bool fine = true;
    if (rows < CLOCK_SAMPLES_MIN || !is_closed_by_all(&limit, a, rows, spare)) return true;
    for (size_t i = 0; i < rows; i++) {
        if ((double)a->second[a->at[i]] > limit) a->at[proven++] = a->at[i];
    }
    if (proven < CLOCK_SAMPLES_MIN) return true;
    *out = CLOCK_ALIKE_FOUND;
    for (size_t r = 0; r < a->ranks; r++) {
        for (size_t i = 0; i < proven && fine; i++) fine = add_event(a, &a->lists[r], a->first + a->at[i]);
    }
    return fine;
}

static bool prove_all(clock_alike_end *out, alike *a, uint32_t *spare)
{
    const clock_alike_row *rows = a->lists->rows + a->first;
    bool fine = true;
    measure(a);
    for (size_t i = 0; i < a->count && fine; i++) {
        size_t seen = 0;
        while (rows[seen].operation != rows[i].operation) seen++;
        if (seen == i) fine = prove(out, a, rows[i].operation, spare);
    }
    return fine;
}

/* ---- streams ---- */

static bool solve_stream(clock_alike_end *out, clock_job *j, alike_list *lists, size_t ranks)
{
    alike a = {.job = j, .lists = lists, .ranks = ranks};
    uint32_t *spare = malloc((ranks + CLOCK_ALIKE_LIST_MAX) * sizeof *spare);
    a.x = malloc(4 * CLOCK_ALIKE_LIST_MAX * sizeof *a.x);
    a.low = malloc((3 * CLOCK_ALIKE_LIST_MAX + ranks) * sizeof *a.low);
    a.is_together = malloc(CLOCK_ALIKE_LIST_MAX);
    a.order = malloc((ranks + CLOCK_ALIKE_LIST_MAX) * sizeof *a.order);
    bool fine = spare && a.x && a.low && a.is_together && a.order;
    if (fine) {
        a.y = a.x + CLOCK_ALIKE_LIST_MAX;
        a.rest = a.y + CLOCK_ALIKE_LIST_MAX;
        a.spare = a.rest + CLOCK_ALIKE_LIST_MAX;
        a.shortest = a.low + CLOCK_ALIKE_LIST_MAX;
        a.second = a.shortest + CLOCK_ALIKE_LIST_MAX;
        a.least = a.second + CLOCK_ALIKE_LIST_MAX;
        a.at = a.order + ranks;
        fine = compare_lists(out, &a);
    }
    if (fine && *out == CLOCK_ALIKE_GROUPS) {
        a.times = malloc((ranks * a.count + 1) * sizeof *a.times);
        fine = a.times && prove_all(out, &a, spare);
    }
    free(spare);
    free(a.x);
    free(a.low);
    free(a.is_together);
    free(a.order);
    free(a.times);
    return fine;
}

/* Whether they are one list for each rank of the job. */
static bool are_all_ranks(const clock_job *j, const alike_list *lists, size_t count)
{
    if (count < 2 || (int64_t)count != j->alike.world) return false;
    for (size_t r = 0; r < count; r++) {
        if (lists[r].rank != (int64_t)r) return false;
    }
    return true;
}

/* Lists that have rows, by stream and rank; NULL: no memory. */
static alike_list *order_lists(size_t *out_count, clock_job *j)
{
    clock_alike *k = &j->alike;
    alike_list *lists = calloc(k->lists.count + 1, sizeof *lists),
               *spare = malloc((k->lists.count + 1) * sizeof *spare);
    clock_alike_row *rows = malloc((k->count + 1) * sizeof *rows);
    bool fine = lists && spare && rows;
    if (fine && k->count)
        HD_SORT_RUNS(k->rows, rows, k->count, x, y, x->list < y->list || (x->list == y->list && x->end_ns < y->end_ns));
    *out_count = 0;
    for (size_t i = 0, end; fine && i < k->count; i = end) {
        const clock_alike_key *key = gpu_group_key(&k->lists, k->rows[i].list);
        for (end = i + 1; end < k->count && k->rows[end].list == k->rows[i].list;) end++;
        lists[(*out_count)++] = (alike_list){.rows = k->rows + i,
                                             .count = end - i,
                                             .rank = key->rank,
                                             .stream = key->stream,
                                             .host = k->rows[i].host,
                                             .member = k->rows[i].member};
    }
    if (fine && *out_count)
        HD_SORT_RUNS(lists, spare, *out_count, x, y,
                     x->stream != y->stream ? x->stream < y->stream : x->rank < y->rank);
    free(spare);
    free(rows);
    if (!fine) free(lists);
    return fine ? lists : NULL;
}

/* Why they cannot be tried, by all streams. lists: by stream and rank; spare: room for as many. */
static clock_alike_end look_at_ranks(const clock_job *j, const alike_list *lists, size_t count, int64_t *ranks,
                                     int64_t *spare)
{
    int64_t found = 0;
    for (size_t i = 0; i < count; i++) ranks[i] = lists[i].rank;
    HD_SORT_RUNS(ranks, spare, count, x, y, *x < *y);
    for (size_t i = 0; i < count; i++)
        found += ranks[i] >= 0 && ranks[i] < j->alike.world && (!i || ranks[i] != ranks[i - 1]);
    if (found < j->alike.world) return CLOCK_ALIKE_MISSING;
    for (size_t i = 1; i < count; i++) {
        if (lists[i].stream == lists[i - 1].stream && lists[i].rank == lists[i - 1].rank) return CLOCK_ALIKE_TWICE;
    }
    return CLOCK_ALIKE_STREAMS;
}

bool clock_alike_prove(clock_job *j)
{
    clock_alike *k = &j->alike;
    k->end = !k->count ? CLOCK_ALIKE_NONE : k->world < 2 ? CLOCK_ALIKE_WORLD : CLOCK_ALIKE_MANY;
    if (k->end != CLOCK_ALIKE_MANY || k->is_full) return true;
    size_t count;
    alike_list *lists = order_lists(&count, j);
    int64_t *ranks = lists ? malloc(2 * (count + 1) * sizeof *ranks) : NULL;
    bool fine = ranks != NULL;
    if (fine) k->end = look_at_ranks(j, lists, count, ranks, ranks + count);
    for (size_t i = 0, end; fine && i < count; i = end) {
        clock_alike_end stream = k->end;
        for (end = i + 1; end < count && lists[end].stream == lists[i].stream;) end++;
        if (are_all_ranks(j, lists + i, end - i)) fine = solve_stream(&stream, j, lists + i, end - i);
        if (stream > k->end) k->end = stream;
    }
    free(ranks);
    free(lists);
    return fine;
}

bool clock_alike_add(clock_job *j, const clock_alike_key *key, const clock_alike_row *row)
{
    clock_alike *k = &j->alike;
    clock_alike_row own = *row;
    k->lists.key_size = sizeof *key;
    uint32_t before = k->near, list = gpu_group_near(&k->lists, &k->near, key);
    if (list == HD_NONE) return false;
    if (list != before) k->in_list = 0;
    k->is_full |= k->count >= CLOCK_ALIKE_ROWS_MAX;
    if (k->is_full || k->in_list++ >= CLOCK_ALIKE_LIST_MAX) return true;
    own.list = list;
    if (!hd_grow((void **)&k->rows, &k->capacity, k->count, sizeof *k->rows)) return false;
    k->rows[k->count++] = own;
    return true;
}

void clock_alike_deinit(clock_alike *of)
{
    gpu_groups_deinit(&of->lists);
    free(of->rows);
}

const char *clock_alike_text(clock_alike_end end)
{
    static const char *const texts[CLOCK_ALIKE_ENDS] = {
        [CLOCK_ALIKE_NONE] = "",
        [CLOCK_ALIKE_WORLD] = "groups of collectives have no names, and the number of ranks of the job is unknown",
        [CLOCK_ALIKE_MANY] = "groups of collectives have no names, and there are too many to be compared",
        [CLOCK_ALIKE_MISSING] = "groups of collectives have no names, and not all ranks of the job are here",
        [CLOCK_ALIKE_TWICE] = "groups of collectives have no names, and a rank is here twice",
        [CLOCK_ALIKE_STREAMS] = "groups of collectives have no names, and no stream has some of all ranks",
        [CLOCK_ALIKE_LISTS] = "groups of collectives have no names, and ranks differ in the order of operations",
        [CLOCK_ALIKE_FEW] = "groups of collectives have no names, and fewer than five are on all ranks",
        [CLOCK_ALIKE_SHIFT] = "groups of collectives have no names, and their ends match in several ways, or in none",
        [CLOCK_ALIKE_GROUPS] = "groups of collectives have no names, and may be several that look alike",
        [CLOCK_ALIKE_FOUND] = "groups of collectives have no names",
    };
    return texts[end];
}
