/* picture.c - what each rank did in each step, of the tables "steps" and "breakdown" of its summary
 *
 * Summaries are unpacked and read on threads, then their rows and steps are put together in order. A name that comes
 * again in a row is another step, "step (2)".
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory/arena.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/thread.h"
#include "report/job/meetings.h"
#include "view/ranks/impl.h"

enum { CELLS_MOST = 1 << 25, NAMES_PIECE = 2048 };

/* ---- pieces ---- */

/* One summary. */
typedef struct ranks_member {
    uint32_t source, member;
    const hd_job *job;
} ranks_member;

/* All of them; the caller frees *out. NULL: no memory. */
static ranks_member *list_members(size_t *out_count, const ranks_source *sources, size_t count)
{
    size_t all = 0;
    for (size_t s = 0; s < count; s++) all += hd_job_count(sources[s].job);
    ranks_member *members = malloc((all + 1) * sizeof *members), *at = members;
    for (size_t s = 0; members && s < count; s++) {
        for (size_t m = 0; m < hd_job_count(sources[s].job); m++)
            *at++ = (ranks_member){(uint32_t)s, (uint32_t)m, sources[s].job};
    }
    *out_count = all;
    return members;
}

typedef struct for_each {
    atomic_size_t next;
    size_t count;
    void (*each)(void *user, size_t i);
    void *user;
} for_each;

static void run_each(void *state)
{
    for_each *f = state;
    for (size_t i; (i = atomic_fetch_add(&f->next, 1)) < f->count;) f->each(f->user, i);
}

void ranks_for_each(size_t count, void (*each)(void *user, size_t i), void *user)
{
    for_each f = {.count = count, .each = each, .user = user};
    hd_threads_run(run_each, &f, 0, hd_thread_count(0, count));
}

uint32_t ranks_row_of(const view_picture *p, size_t member, int64_t rank, int64_t device)
{
    for (uint32_t i = p->first[member]; i < p->first[member + 1]; i++) {
        const view_picture_row *row = &p->rows[p->row_of[i]];
        if (row->rank == rank && row->device == device) return p->row_of[i];
    }
    return HD_NONE;
}

/* ---- one summary, on any thread ---- */

typedef struct cell {
    int64_t rank, device;
    int64_t figures[VIEW_FIGURES];
    hd_string name;
    uint32_t row, step;
} cell;

typedef struct part {
    cell *cells;
    size_t count;
    hd_arena names;
    hd_error err;
} part;

typedef struct maker {
    const ranks_source *sources;
    ranks_member *members;
    part *parts; /* by member */
    size_t count;
    view_picture *picture;
    size_t row_capacity, step_capacity;
    hd_slots names; /* of steps */
    struct step_seen {
        uint32_t row, times; /* how often in that row */
    } * seen;
    size_t seen_capacity;
} maker;

/* Of the step of a rank that starts then, of a table by start; HD_NO_NUMBER: not known. */
enum { OWN_RANK, OWN_START, DURATION, OWN_COLUMNS };
static int64_t find_duration(const job_cells *steps, int64_t rank, int64_t start)
{
    size_t low = 0, high = steps->rows;
    HD_PARTITION_POINT(low, high, at, job_int(steps, at, OWN_START) < start)
    for (; low < steps->rows && job_int(steps, low, OWN_START) == start; low++) {
        if (job_int(steps, low, OWN_RANK) == rank) return job_int(steps, low, DURATION);
    }
    return HD_NO_NUMBER;
}

static bool copy_name(part *p, cell *c, const hd_packed_text *name)
{
    char *copy = hd_arena_alloc(&p->names, name->size);
    if (copy) memcpy(copy, name->data, name->size);
    c->name = (hd_string){copy, name->size};
    return copy != NULL;
}

enum { RANK, DEVICE, STEP, STEP_START, SPAN, EXPOSED, IDLE, COLUMNS };
static bool read_cells(part *p, const job_cells *t, const job_cells *steps)
{
    bool fine = (p->cells = malloc((t->rows + 1) * sizeof *p->cells)) != NULL;
    p->names.piece_size = NAMES_PIECE;
    if (!t->columns[STEP] || !t->columns[STEP_START]) return fine;
    for (size_t row = 0; fine && row < t->rows; row++) {
        cell *c = &p->cells[p->count++];
        int64_t name = job_int(t, row, STEP), start = job_int(t, row, STEP_START);
        *c = (cell){.rank = job_int(t, row, RANK), .device = job_int(t, row, DEVICE), .step = HD_NONE};
        if (name == HD_NO_NUMBER) continue;
        fine = copy_name(p, c, &t->packed.texts[name]);
        c->figures[VIEW_START] = start;
        c->figures[VIEW_EXPOSED] = job_int(t, row, EXPOSED);
        c->figures[VIEW_IDLE] = job_int(t, row, IDLE);
        int64_t duration = find_duration(steps, c->rank, start);
        c->figures[VIEW_TIME] = duration == HD_NO_NUMBER ? job_int(t, row, SPAN) : duration;
    }
    return fine;
}

static void read_part(void *user, size_t i)
{
    static const job_wanted own[OWN_COLUMNS] = {
        {"rank", HD_VALUE_INT}, {"start", HD_VALUE_TIME}, {"duration", HD_VALUE_DURATION}};
    static const job_wanted wanted[COLUMNS] = {
        {"rank", HD_VALUE_INT},        {"device", HD_VALUE_INT},    {"step", HD_VALUE_STRING},
        {"step_start", HD_VALUE_TIME}, {"span", HD_VALUE_DURATION}, {"exposed_communication", HD_VALUE_DURATION},
        {"idle", HD_VALUE_DURATION}};
    maker *m = user;
    part *p = &m->parts[i];
    const ranks_member *of = &m->members[i];
    job_cells steps = {0}, breakdown = {0};
    if (job_cells_read(&steps, of->job, of->member, "steps", own, OWN_COLUMNS, &p->err) == HD_OK &&
        job_cells_read(&breakdown, of->job, of->member, "breakdown", wanted, COLUMNS, &p->err) == HD_OK &&
        !read_cells(p, &breakdown, &steps))
        (void)HD_NOMEM(&p->err);
    job_cells_deinit(&steps);
    job_cells_deinit(&breakdown);
}

/* ---- steps by name ---- */

static bool is_step(const view_picture *p, uint32_t step, hd_string name)
{
    const hd_string *own = &p->steps[step];
    return own->size == name.size && memcmp(own->data, name.data, name.size) == 0;
}

/* The number of a step, which is added if it is new; HD_NONE: no memory. */
static uint32_t step_number(maker *m, hd_string name)
{
    view_picture *p = m->picture;
    uint64_t hash = hd_hash(name.data, name.size);
    uint32_t found;
    HD_SLOTS_FIND(found, &m->names, hash, is_step(p, found, name))
    if (found != HD_SLOTS_NONE) return found;
    void *steps = p->steps, *seen = m->seen;
    bool fine = hd_grow(&steps, &m->step_capacity, p->step_count, sizeof *p->steps);
    p->steps = steps;
    fine = hd_grow(&seen, &m->seen_capacity, p->step_count, sizeof *m->seen) && fine;
    m->seen = seen;
    char *copy = fine ? malloc(name.size + 1) : NULL;
    if (!copy) return HD_NONE;
    memcpy(copy, name.data, name.size);
    found = (uint32_t)p->step_count++;
    p->steps[found] = (hd_string){copy, name.size};
    m->seen[found] = (struct step_seen){HD_NONE, 0};
    return hd_slots_add(&m->names, hash, found) ? found : HD_NONE;
}

static uint32_t step_of(maker *m, const cell *c)
{
    uint32_t step = step_number(m, c->name);
    if (step == HD_NONE) return HD_NONE;
    struct step_seen *seen = &m->seen[step];
    if (seen->row != c->row) *seen = (struct step_seen){c->row, 0};
    if (++seen->times == 1) return step;
    char *again;
    int size = asprintf(&again, "%.*s (%u)", (int)c->name.size, c->name.data, seen->times);
    if (size < 0) return HD_NONE;
    step = step_number(m, (hd_string){again, (size_t)size});
    free(again);
    return step;
}

/* ---- rows ---- */

static uint32_t add_row(maker *m, size_t member, const cell *c)
{
    view_picture *p = m->picture;
    const ranks_member *of = &m->members[member];
    void *rows = p->rows;
    bool fine = hd_grow(&rows, &m->row_capacity, p->row_count, sizeof *p->rows);
    p->rows = rows;
    if (!fine) return HD_NONE;
    p->rows[p->row_count] = (view_picture_row){.rank = c->rank,
                                               .device = c->device,
                                               .source = of->source,
                                               .member = of->member,
                                               .about = hd_job_at(of->job, of->member),
                                               .trace = m->sources[of->source].trace};
    return (uint32_t)p->row_count++;
}

/* The table has the rows of a rank and device together. */
static bool number_cells(maker *m, size_t member)
{
    part *own = &m->parts[member];
    for (size_t i = 0; i < own->count; i++) {
        cell *c = &own->cells[i];
        bool same = i > 0 && c[-1].rank == c->rank && c[-1].device == c->device;
        c->row = same ? c[-1].row : add_row(m, member, c);
        if (c->row == HD_NONE) return false;
        if (!c->name.data) continue;
        c->step = step_of(m, c);
        if (c->step == HD_NONE) return false;
    }
    return true;
}

static int compare_numbers(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static int compare_ranks(const void *x, const void *y, void *rows)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    const view_picture_row *p = (const view_picture_row *)rows + a, *q = (const view_picture_row *)rows + b;
    int order = (p->rank == HD_NO_NUMBER) - (q->rank == HD_NO_NUMBER);
    if (!order) order = compare_numbers(p->rank, q->rank);
    if (!order) order = compare_numbers(p->source, q->source);
    if (!order) order = compare_numbers(p->member, q->member);
    if (!order) order = compare_numbers(p->device, q->device);
    return order ? order : compare_numbers(a, b);
}

/* The last number in a name; -1: it has none. */
static int64_t number_in(hd_string name)
{
    int64_t number = 0;
    size_t end = name.size, first;
    while (end > 0 && !isdigit((unsigned char)name.data[end - 1])) end--;
    for (first = end; first > 0 && isdigit((unsigned char)name.data[first - 1]);) first--;
    if (first == end || end - first > 18) return -1;
    for (size_t i = first; i < end; i++) number = number * 10 + (name.data[i] - '0');
    return number;
}

static int compare_steps(const void *x, const void *y, void *steps)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    const hd_string *names = steps;
    int order = compare_numbers(number_in(names[a]), number_in(names[b]));
    return order ? order : compare_numbers(a, b);
}

/* Names of steps that come again, "step (2)", stay as they were met, and so does all else with them. */
static bool have_numbers(const view_picture *p)
{
    for (size_t i = 0; i < p->step_count; i++) {
        hd_string name = p->steps[i];
        if (number_in(name) < 0 || name.data[name.size - 1] == ')') return false;
    }
    return true;
}

/* Puts a list of elements into the order of `compare`; places[old] is where it stands now. The caller frees it; NULL:
 * no memory. */
static uint32_t *order_list(void *list, size_t size, size_t count, int (*compare)(const void *, const void *, void *))
{
    uint32_t *order = malloc((count + 1) * sizeof *order), *places = malloc((count + 1) * sizeof *places);
    char *copy = malloc((count + 1) * size);
    bool fine = order && places && copy;
    for (size_t i = 0; fine && i < count; i++) order[i] = (uint32_t)i;
    if (fine && compare) qsort_r(order, count, sizeof *order, compare, list);
    if (fine && count) memcpy(copy, list, count * size);
    for (size_t i = 0; fine && i < count; i++) {
        memcpy((char *)list + i * size, copy + order[i] * size, size);
        places[order[i]] = (uint32_t)i;
    }
    free(order);
    free(copy);
    if (fine) return places;
    free(places);
    return NULL;
}

/* ---- the picture ---- */

static int64_t *no_figures(size_t count)
{
    int64_t *figures = malloc((count + 1) * sizeof *figures);
    for (size_t i = 0; figures && i < count; i++) figures[i] = HD_NO_NUMBER;
    return figures;
}

static bool fill(maker *m, const uint32_t *rows, const uint32_t *steps)
{
    view_picture *p = m->picture;
    for (int f = 0; f < VIEW_FIGURES; f++) {
        if (!(p->figures[f] = no_figures(p->row_count * p->step_count))) return false;
    }
    p->first = calloc(m->count + 1, sizeof *p->first);
    p->row_of = malloc((p->row_count + 1) * sizeof *p->row_of);
    if (!p->first || !p->row_of) return false;
    p->member_count = m->count;
    uint32_t listed = 0;
    for (size_t member = 0; member < m->count; member++) {
        const part *own = &m->parts[member];
        for (size_t i = 0; i < own->count; i++) {
            const cell *c = &own->cells[i];
            if (c->row == listed) p->row_of[listed++] = rows[c->row];
            for (int f = 0; f < VIEW_FIGURES && c->step != HD_NONE; f++)
                p->figures[f][(size_t)rows[c->row] * p->step_count + steps[c->step]] = c->figures[f];
        }
        p->first[member + 1] = listed;
    }
    return true;
}

static hd_status put_together(maker *m, hd_error *err)
{
    view_picture *p = m->picture;
    hd_json_out lost = {0};
    for (size_t i = 0; i < m->count; i++) {
        const hd_job_member *about = hd_job_at(m->members[i].job, m->members[i].member);
        if (m->parts[i].err.status == HD_ERR_MEMORY || !number_cells(m, i)) return HD_NOMEM(err);
        if (m->parts[i].err.status != HD_OK)
            ranks_add_lost(&lost, about->file.data, about->file.size, &m->parts[i].err);
    }
    p->lost = lost.data;
    if (p->row_count && p->step_count > CELLS_MOST / p->row_count)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "%zu ranks by %zu steps are too many for a picture", p->row_count, p->step_count);
    uint32_t *rows = order_list(p->rows, sizeof *p->rows, p->row_count, compare_ranks);
    uint32_t *steps = order_list(p->steps, sizeof *p->steps, p->step_count, have_numbers(p) ? compare_steps : NULL);
    bool fine = rows && steps && fill(m, rows, steps);
    free(rows);
    free(steps);
    return fine && !lost.failed ? HD_OK : HD_NOMEM(err);
}

void ranks_picture_free(view_picture *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->step_count; i++) free((char *)(uintptr_t)p->steps[i].data);
    for (int f = 0; f < VIEW_FIGURES; f++) free(p->figures[f]);
    free(p->late);
    if (p->collectives) job_meetings_deinit(p->collectives);
    free(p->collectives);
    for (int d = 0; d < JOB_DIMENSIONS; d++) free(p->roles[d]);
    free(p->rows);
    free(p->steps);
    free(p->lost);
    free(p->late_lost);
    free(p->first);
    free(p->row_of);
    free(p);
}

hd_status ranks_picture_new(view_picture **out, const ranks_source *sources, size_t count, hd_error *err)
{
    maker m = {.sources = sources};
    m.members = list_members(&m.count, sources, count);
    m.parts = calloc(m.count + 1, sizeof *m.parts);
    m.picture = calloc(1, sizeof *m.picture);
    hd_status status = m.members && m.parts && m.picture ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) {
        ranks_for_each(m.count, read_part, &m);
        status = put_together(&m, err);
    }
    for (size_t i = 0; m.parts && i < m.count; i++) {
        hd_arena_deinit(&m.parts[i].names);
        free(m.parts[i].cells);
    }
    hd_slots_deinit(&m.names);
    free(m.seen);
    free(m.parts);
    free(m.members);
    if (status != HD_OK) ranks_picture_free(m.picture);
    *out = status == HD_OK ? m.picture : NULL;
    return status;
}
