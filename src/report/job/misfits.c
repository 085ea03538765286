/* misfits.c - contradictions among the ranks of a job
 *
 * Members give rank, world size, process groups and recording time, in any order. A group of one name with different
 * ranks is a contradiction only if a rank is in both: programs split a group into several of one name. Recordings of
 * one job differ in time by clock offsets, which are not minutes.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/decimal.h"
#include "report/job/cells.h"
#include "report/job/groups.h"

/* A rank of a list, and the first list of its group with this rank. */
typedef struct seat {
    uint32_t list; /* text */
    int64_t teller;
} seat;

/* When a trace was recorded, as Unix time in ns. */
typedef struct recording {
    int64_t start, end, rank;
} recording;

typedef struct finder {
    const hd_job *job;
    const hd_job_member **members; /* by rank, the unknown first */
    size_t count;
    gpu_texts texts;
    gpu_groups lists; /* {group, spelling} */
    gpu_groups seats; /* {group, rank} */
    seat *seat_list;
    size_t seat_capacity;
    int64_t *damaged; /* ranks */
    recording *recordings;
    size_t damaged_count, recording_count;
    hd_misfit *lines; /* LINES */
    size_t line_count;
} finder;

/* ---- lines ---- */

enum { LINES = 6, RANGES_MAX = 20 };

HD_PRINTF(2, 3) static void append(hd_misfit *m, const char *format, ...)
{
    size_t used = strlen(m->text);
    va_list args;
    va_start(args, format);
    vsnprintf(m->text + used, sizeof m->text - used, format, args);
    va_end(args);
}

/* The next line, which counts if it is kept. */
static hd_misfit *next_line(finder *f, const char *code)
{
    hd_misfit *m = &f->lines[f->line_count];
    *m = (hd_misfit){.code = code};
    return m;
}

static void append_range(hd_misfit *m, uint64_t *ranges, int64_t first, int64_t last)
{
    if (++*ranges == RANGES_MAX + 1) append(m, " and more");
    if (*ranges > RANGES_MAX) return;
    append(m, *ranges > 1 ? ", %" PRId64 : "%" PRId64, first);
    if (last > first) append(m, "-%" PRId64, last);
}

/* "3-5, 9", without unknown ones. Sorts them. */
static bool append_ranks(hd_misfit *m, int64_t *ranks, size_t count)
{
    int64_t *spare = malloc((count + 1) * sizeof *spare);
    uint64_t ranges = 0;
    if (spare && count) HD_SORT_RUNS(ranks, spare, count, x, y, *x < *y);
    for (size_t i = 0, last; spare && i < count; i = last + 1) {
        for (last = i; last + 1 < count && ranks[last + 1] <= gpu_sum(ranks[last], 1);) last++;
        if (ranks[i] != HD_NO_NUMBER) append_range(m, &ranges, ranks[i], ranks[last]);
    }
    if (!ranges) append(m, "unknown");
    free(spare);
    return spare != NULL;
}

/* ---- ranks ---- */

/* The most frequent world size, of several the first by rank. */
static int64_t find_world(finder *f)
{
    gpu_groups sizes = {.key_size = sizeof(int64_t)};
    uint64_t counts[8] = {0}; /* of more sizes only the first are looked at */
    int64_t world = HD_NO_NUMBER, least = INT64_MAX, most = 0;
    uint32_t best = HD_NONE;
    for (size_t i = 0; i < f->count; i++) {
        int64_t size = f->members[i]->world_size;
        uint32_t at = size == HD_NO_NUMBER ? HD_NONE : gpu_group(&sizes, &size);
        if (at == HD_NONE) continue;
        least = size < least ? size : least;
        most = size > most ? size : most;
        if (at < 8) counts[at]++;
    }
    for (uint32_t i = 0; i < sizes.count && i < 8; i++)
        if (best == HD_NONE || counts[i] > counts[best]) best = i;
    if (best != HD_NONE) memcpy(&world, gpu_group_key(&sizes, best), sizeof world);
    if (sizes.count > 1) {
        hd_misfit *m = next_line(f, "job.world-sizes-differ");
        m->count = sizes.count - 1;
        append(m, "two jobs? Traces are of %" PRId64 " and of %" PRId64 " ranks", least, most);
        f->line_count++;
    }
    gpu_groups_deinit(&sizes);
    return world;
}

static void find_missing(finder *f, int64_t world)
{
    hd_misfit *m = next_line(f, "job.ranks-missing");
    int64_t next = 0, highest = f->count ? f->members[f->count - 1]->rank : HD_NO_NUMBER;
    uint64_t ranges = 0;
    hd_misfit list = {0};
    if (world == HD_NO_NUMBER && highest >= 0) world = highest + (highest < INT64_MAX);
    for (size_t i = 0; i <= f->count && world != HD_NO_NUMBER && highest != HD_NO_NUMBER; i++) {
        int64_t rank = i < f->count ? f->members[i]->rank : world;
        if (rank < 0) continue; /* and HD_NO_NUMBER */
        if (rank > world) rank = world;
        if (rank > next) {
            m->count += (uint64_t)(rank - next);
            append_range(&list, &ranges, next, rank - 1);
        }
        if (rank >= next && rank < INT64_MAX) next = rank + 1;
    }
    if (m->count == 1)
        append(m, "rank %s of %" PRId64 " is missing", list.text, world);
    else
        append(m, "%" PRIu64 " of %" PRId64 " ranks are missing: %s", m->count, world, list.text);
    f->line_count += m->count > 0;
}

static void find_doubles(finder *f)
{
    hd_misfit *m = next_line(f, "job.rank-twice");
    const hd_job_member *first[2] = {NULL, NULL};
    int64_t before = HD_NO_NUMBER;
    uint64_t ranges = 0;
    hd_misfit list = {0};
    for (size_t i = 1; i < f->count; i++) {
        const hd_job_member *a = f->members[i - 1], *b = f->members[i];
        if (b->rank == HD_NO_NUMBER || a->rank != b->rank) continue;
        if (!m->count++) first[0] = a, first[1] = b;
        if (b->rank != before) append_range(&list, &ranges, b->rank, b->rank);
        before = b->rank;
    }
    if (!m->count) return;
    append(m, "rank%s %s %s there more than once", ranges > 1 ? "s" : "", list.text, ranges > 1 ? "are" : "is");
    append(m, " (%.*s and %.*s): two jobs, or two recordings?", (int)first[0]->file.size, first[0]->file.data,
           (int)first[1]->file.size, first[1]->file.data);
    f->line_count++;
}

/* ---- groups ---- */

static void say_group(finder *f, uint32_t group, int64_t teller, int64_t other)
{
    hd_misfit *m = next_line(f, "job.groups-differ");
    hd_string name = gpu_text_of(&f->texts, group);
    append(m, "two jobs? Process group %.*s is of other ranks", (int)(name.size < 200 ? name.size : 200), name.data);
    if (teller == HD_NO_NUMBER || other == HD_NO_NUMBER)
        append(m, " for some");
    else
        append(m, " for rank %" PRId64 " than for rank %" PRId64, teller, other);
}

/* spelling: the original text of a list, most of which recur. */
static bool see_list(finder *f, uint32_t group, uint32_t spelling, int64_t teller)
{
    const uint32_t key[2] = {group, spelling};
    uint32_t known = f->lists.count;
    hd_misfit *m = &f->lines[f->line_count];
    bool differs = false;
    int64_t rank;
    if (gpu_group(&f->lists, key) == HD_NONE) return false;
    if (f->lists.count == known) return true;
    uint32_t list = gpu_text_json(&f->texts, gpu_text_of(&f->texts, spelling));
    if (list == HD_NONE) return false;
    for (size_t at = 0; job_next_rank(&rank, gpu_text_of(&f->texts, list), &at);) {
        const int64_t place[2] = {group, rank};
        uint32_t seats = f->seats.count, number = gpu_group(&f->seats, place);
        if (number == HD_NONE || !hd_grow((void **)&f->seat_list, &f->seat_capacity, number, sizeof *f->seat_list))
            return false;
        seat *s = &f->seat_list[number];
        if (number == seats) *s = (seat){list, teller};
        if (s->list != list && !differs && !m->count) say_group(f, group, teller, s->teller);
        differs |= s->list != list;
    }
    m->count += differs;
    return true;
}

/* The name without the suffix that distinguishes groups of one name. false: no memory. */
static bool as_told(uint32_t *group, gpu_texts *texts)
{
    const hd_string made = gpu_text_of(texts, *group), name = job_group_as_told(made);
    if (name.size == made.size) return true;
    char *copy = strndup(name.data, name.size);
    *group = copy ? gpu_text(texts, copy, name.size) : HD_NONE;
    free(copy);
    return *group != HD_NONE;
}

static hd_status see_groups(void *user, size_t place, const job_cells *cells, hd_error *err)
{
    enum { RANK, GROUP, RANKS };
    finder *f = user;
    (void)place;
    for (size_t row = 0; row < cells->rows; row++) {
        uint32_t group, ranks;
        bool fine = job_text(&group, &f->texts, cells, row, GROUP) && job_text(&ranks, &f->texts, cells, row, RANKS);
        if (fine && group != HD_NONE && ranks != HD_NONE)
            fine = as_told(&group, &f->texts) && see_list(f, group, ranks, job_int(cells, row, RANK));
        if (!fine) return HD_NOMEM(err);
    }
    return HD_OK;
}

static hd_status find_groups(finder *f, hd_error *err)
{
    static const job_wanted wanted[] = {{"rank", HD_VALUE_INT}, {"group", HD_VALUE_STRING}, {"ranks", HD_VALUE_STRING}};
    hd_misfit *m = next_line(f, "job.groups-differ");
    f->lists.key_size = sizeof(uint32_t[2]);
    f->seats.key_size = sizeof(int64_t[2]);
    hd_status status = job_each_table(&f->job, 1, NULL, "groups", wanted, 3, NULL, see_groups, f, err);
    f->line_count += m->count > 0;
    gpu_groups_deinit(&f->lists);
    gpu_groups_deinit(&f->seats);
    free(f->seat_list);
    return status;
}

/* ---- times ---- */

static hd_status see_recording(void *user, size_t place, const job_cells *cells, hd_error *err)
{
    enum { START, END };
    static const int64_t in_2001 = INT64_C(1000000000000000000); /* earlier times count from another zero */
    finder *f = user;
    const hd_job_member *m = hd_job_at(f->job, place);
    int64_t start = cells->rows ? job_int(cells, 0, START) : HD_NO_TIME;
    (void)err;
    if (m->base_ns == HD_NO_TIME || start == HD_NO_TIME || gpu_sum(start, m->base_ns) < in_2001) return HD_OK;
    int64_t end = job_int(cells, 0, END);
    f->recordings[f->recording_count++] =
        (recording){gpu_sum(start, m->base_ns), gpu_sum(end > start ? end : start, m->base_ns), m->rank};
    return HD_OK;
}

/* The longest time without a recording is between two jobs, if it is minutes; the smaller part is reported. */
static bool say_apart(finder *f, hd_misfit *m)
{
    static const int64_t minute = INT64_C(60000000000), hour = 60 * minute;
    recording *list = f->recordings, *spare = malloc((f->recording_count + 1) * sizeof *spare);
    int64_t *ranks = malloc((f->recording_count + 1) * sizeof *ranks), end = 0, gap = 10 * minute;
    size_t count = f->recording_count, later = 0;
    bool fine = spare && ranks;
    if (fine && count) HD_SORT_RUNS(list, spare, count, x, y, x->start < y->start);
    for (size_t i = 0; i < count && fine; i++) {
        if (i && list[i].start - end > gap) {
            gap = list[i].start - end;
            later = i;
        }
        end = list[i].end > end ? list[i].end : end;
    }
    if (fine && later) {
        bool is_later = count - later <= later;
        const recording *few = list + (is_later ? later : 0);
        m->count = is_later ? count - later : later;
        for (size_t i = 0; i < m->count; i++) ranks[i] = few[i].rank;
        int64_t minutes = (gap + minute / 2) / minute;
        append(m, "two jobs? %" PRIu64 " of %zu traces were recorded %" PRId64 "%s %s than the others: rank ", m->count,
               count, minutes < 120 ? minutes : (gap + hour / 2) / hour, minutes < 120 ? " min" : " h",
               is_later ? "later" : "earlier");
        fine = append_ranks(m, ranks, m->count);
        f->line_count++;
    }
    free(spare);
    free(ranks);
    return fine;
}

static hd_status find_apart(finder *f, hd_error *err)
{
    static const job_wanted wanted[] = {{"start", HD_VALUE_TIME}, {"end", HD_VALUE_TIME}};
    hd_misfit *m = next_line(f, "job.times-apart");
    f->recordings = malloc((f->count + 1) * sizeof *f->recordings);
    hd_status status = f->recordings ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = job_each_table(&f->job, 1, NULL, "rank", wanted, 2, NULL, see_recording, f, err);
    if (status == HD_OK && !say_apart(f, m)) status = HD_NOMEM(err);
    free(f->recordings);
    return status;
}

/* ---- damage ---- */

static hd_status see_damage(void *user, size_t place, const job_cells *cells, hd_error *err)
{
    finder *f = user;
    for (size_t row = 0; row < cells->rows; row++) {
        uint32_t level;
        if (!job_text(&level, &f->texts, cells, row, 0)) return HD_NOMEM(err);
        hd_string text = level == HD_NONE ? (hd_string){NULL, 0} : gpu_text_of(&f->texts, level);
        if (!text.size || (text.size == 4 && memcmp(text.data, "note", 4) == 0)) continue;
        f->damaged[f->damaged_count++] = hd_job_at(f->job, place)->rank;
        break;
    }
    return HD_OK;
}

static hd_status find_damage(finder *f, hd_error *err)
{
    static const job_wanted wanted[] = {{"level", HD_VALUE_STRING}};
    hd_misfit *m = next_line(f, "job.traces-damaged");
    f->damaged = malloc((f->count + 1) * sizeof *f->damaged);
    hd_status status = f->damaged ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = job_each_table(&f->job, 1, NULL, "ledger", wanted, 1, NULL, see_damage, f, err);
    size_t count = m->count = status == HD_OK ? f->damaged_count : 0;
    append(m, "of %zu trace%s something was lost or repaired: rank ", count, count == 1 ? "" : "s");
    if (status == HD_OK && !append_ranks(m, f->damaged, count)) status = HD_NOMEM(err);
    append(m, "; `heddle report job` lists them");
    f->line_count += count > 0;
    free(f->damaged);
    return status;
}

hd_status hd_job_misfits(hd_misfit **out, size_t *out_count, const hd_job *job, unsigned kinds, hd_error *err)
{
    finder f = {.job = job, .count = hd_job_count(job), .lines = calloc(LINES, sizeof *f.lines)};
    const hd_job_member **spare = malloc((f.count + 1) * sizeof *spare);
    f.members = malloc((f.count + 1) * sizeof *f.members);
    hd_status status = f.members && spare && f.lines ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < f.count && status == HD_OK; i++) f.members[i] = hd_job_at(job, i);
    if (f.count && status == HD_OK) HD_SORT_RUNS(f.members, spare, f.count, x, y, (*x)->rank < (*y)->rank);
    free(spare);
    if (status == HD_OK && kinds & HD_MISFIT_RANKS) {
        find_doubles(&f);
        find_missing(&f, find_world(&f));
        status = find_groups(&f, err);
        if (status == HD_OK) status = find_apart(&f, err);
    }
    if (status == HD_OK && kinds & HD_MISFIT_DAMAGE) status = find_damage(&f, err);
    gpu_texts_deinit(&f.texts);
    free(f.members);
    if (status != HD_OK || !f.line_count) free(f.lines);
    *out = status == HD_OK && f.line_count ? f.lines : NULL;
    *out_count = *out ? f.line_count : 0;
    return status;
}
