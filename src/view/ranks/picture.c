/* picture.c - a picture of each rank in each step, from the tables "steps" and "breakdown" of its summary
 *
 * Summaries are unpacked and read on threads, then their rows and steps are put together in order. A name that recurs
 * in a row is another step, "step (2)".
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

enum { CELLS_MOST = 1 << 25, PIECE = 1 << 22 /* of a thread's memory */ };

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

uint32_t ranks_row_of(const view_picture *p, size_t member, int64_t rank, int64_t device)
{
    for (uint32_t i = p->first[member]; i < p->first[member + 1]; i++) {
        const view_picture_row *row = &p->rows[p->row_of[i]];
        if (row->rank == rank && row->device == device) return p->row_of[i];
    }
    return HD_NONE;
}

/* ---- one summary, on any thread ---- */

/* Consecutive rows of the table: cells of one rank and device. */
typedef struct run {
    int64_t rank, device;
} run;

/* The steps of the cells of a summary, mostly the same in all: as a text, by cell a uint32, the number of its name
 * (NO_NAME: none) and whether a row begins, then names, each preceded by its size. */
typedef struct shape {
    const uint8_t *text;
    size_t text_size, name_count, run_count;
    uint32_t *steps; /* by cell, at first numbers in order of arrival; NULL: not numbered yet */
    uint32_t *cells; /* by row of the summary, then step */
} shape;

enum { NO_NAME = 0x7fffffff, BEGINS = 1u << 31 };

typedef struct part {
    int64_t *figures; /* of all cells, consecutive */
    run *runs;
    shape *shape;
    size_t count, run_count;
    const hd_error *err; /* NULL: none */
} part;

typedef struct maker {
    const ranks_source *sources;
    ranks_member *members;
    part *parts; /* by member */
    size_t count;
    atomic_size_t next; /* of them to be read */
    view_picture *picture;
    size_t row_capacity, step_capacity;
    hd_slots names; /* of steps */
    struct step_seen {
        size_t row;
        uint32_t times; /* how often in that row */
    } * seen;
    size_t seen_capacity;
} maker;

/* A reading thread. Its parts are in its own memory. */
typedef struct reader {
    maker *maker;
    hd_arena *memory;
    shape *last;
    job_cells steps, breakdown;
    hd_bytes text;
} reader;

/* Of the step of a rank that starts then, of a table by start; HD_NO_NUMBER: not known. *near: where to look first. */
enum { OWN_RANK, OWN_START, DURATION, OWN_COLUMNS };
static int64_t find_duration(size_t *near, const job_cells *steps, int64_t rank, int64_t start)
{
    size_t low = *near, high = steps->rows;
    if (low >= high || job_int(steps, low, OWN_START) != start ||
        (low > 0 && job_int(steps, low - 1, OWN_START) >= start)) {
        low = 0;
        HD_PARTITION_POINT(low, high, at, job_int(steps, at, OWN_START) < start)
    }
    *near = low + 1;
    for (; low < steps->rows && job_int(steps, low, OWN_START) == start; low++) {
        if (job_int(steps, low, OWN_RANK) == rank) return job_int(steps, low, DURATION);
    }
    return HD_NO_NUMBER;
}

enum { RANK, DEVICE, STEP, STEP_START, SPAN, EXPOSED, IDLE, COLUMNS };

static bool begins_row(const job_cells *t, size_t row)
{
    return row == 0 || job_int(t, row, RANK) != job_int(t, row - 1, RANK) ||
           job_int(t, row, DEVICE) != job_int(t, row - 1, DEVICE);
}

/* The text of its shape: names of one column are consecutive among those of the table. */
static bool write_shape(size_t *out_names, hd_bytes *out, const job_cells *t)
{
    size_t first = SIZE_MAX, names = 0;
    uint8_t *at = hd_bytes_room(out, t->rows * 4);
    for (size_t row = 0; at && row < t->rows; row++) {
        int64_t name = job_int(t, row, STEP);
        if (first == SIZE_MAX && name != HD_NO_NUMBER) first = (size_t)name;
        size_t number = name == HD_NO_NUMBER ? NO_NAME : (size_t)name - first;
        if (number != NO_NAME && number >= names) names = number + 1;
        hd_le_put(at + row * 4, (uint32_t)number | (begins_row(t, row) ? BEGINS : 0), 4);
    }
    if (at) out->size += t->rows * 4;
    for (size_t i = 0; i < names; i++) {
        hd_bytes_put_varint(out, t->packed.texts[first + i].size);
        hd_bytes_put(out, t->packed.texts[first + i].data, t->packed.texts[first + i].size);
    }
    *out_names = names;
    return !out->failed;
}

/* That of the summary before, or a new one; NULL: no memory. */
static shape *find_shape(reader *r, const job_cells *t, size_t runs)
{
    size_t names;
    r->text.size = 0;
    if (!write_shape(&names, &r->text, t)) return NULL;
    const shape *last = r->last;
    if (last && last->text_size == r->text.size && memcmp(last->text, r->text.data, r->text.size) == 0) return r->last;
    shape *made = hd_arena_alloc(r->memory, sizeof *made);
    uint8_t *text = hd_arena_alloc(r->memory, r->text.size);
    if (!made || !text) return NULL;
    memcpy(text, r->text.data, r->text.size);
    *made = (shape){.text = text, .text_size = r->text.size, .name_count = names, .run_count = runs};
    return r->last = made;
}

static bool read_cells(part *p, reader *r)
{
    const job_cells *t = &r->breakdown;
    if (!t->rows || !t->columns[STEP] || !t->columns[STEP_START]) return true;
    for (size_t row = 0; row < t->rows; row++) p->run_count += begins_row(t, row);
    p->figures = hd_arena_alloc(r->memory, t->rows * VIEW_FIGURES * sizeof *p->figures);
    p->runs = hd_arena_alloc(r->memory, p->run_count * sizeof *p->runs);
    p->shape = p->figures && p->runs && t->rows < NO_NAME ? find_shape(r, t, p->run_count) : NULL;
    if (!p->shape) return false;
    run *next = p->runs;
    size_t near = 0;
    for (size_t row = 0; row < t->rows; row++) {
        int64_t rank = job_int(t, row, RANK), start = job_int(t, row, STEP_START), *cell = p->figures + row;
        if (begins_row(t, row)) *next++ = (run){rank, job_int(t, row, DEVICE)};
        int64_t duration = find_duration(&near, &r->steps, rank, start);
        cell[VIEW_START * t->rows] = start;
        cell[VIEW_EXPOSED * t->rows] = job_int(t, row, EXPOSED);
        cell[VIEW_IDLE * t->rows] = job_int(t, row, IDLE);
        cell[VIEW_TIME * t->rows] = duration == HD_NO_NUMBER ? job_int(t, row, SPAN) : duration;
    }
    p->count = t->rows;
    return true;
}

static void read_part(reader *r, size_t i)
{
    static const job_wanted own[OWN_COLUMNS] = {
        {"rank", HD_VALUE_INT}, {"start", HD_VALUE_TIME}, {"duration", HD_VALUE_DURATION}};
    static const job_wanted wanted[COLUMNS] = {
        {"rank", HD_VALUE_INT},        {"device", HD_VALUE_INT},    {"step", HD_VALUE_STRING},
        {"step_start", HD_VALUE_TIME}, {"span", HD_VALUE_DURATION}, {"exposed_communication", HD_VALUE_DURATION},
        {"idle", HD_VALUE_DURATION}};
    static const hd_error no_memory = {.status = HD_ERR_MEMORY};
    part *p = &r->maker->parts[i];
    const ranks_member *of = &r->maker->members[i];
    hd_error why = {0};
    hd_status status = job_cells_read(&r->steps, of->job, of->member, "steps", own, OWN_COLUMNS, &why);
    if (status == HD_OK)
        status = job_cells_read(&r->breakdown, of->job, of->member, "breakdown", wanted, COLUMNS, &why);
    hd_error *kept = status != HD_OK ? hd_arena_alloc(r->memory, sizeof *kept) : NULL;
    if (kept) *kept = why;
    if (status == HD_OK ? !read_cells(p, r) : !kept)
        p->err = &no_memory;
    else
        p->err = kept;
}

static void read_parts(void *state)
{
    reader *r = state;
    for (size_t i; (i = atomic_fetch_add(&r->maker->next, 1)) < r->maker->count;) read_part(r, i);
    job_cells_deinit(&r->steps);
    job_cells_deinit(&r->breakdown);
    hd_bytes_deinit(&r->text);
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
    m->seen[found] = (struct step_seen){SIZE_MAX, 0};
    return hd_slots_add(&m->names, hash, found) ? found : HD_NONE;
}

/* `row`: another for each. */
static uint32_t step_of(maker *m, hd_string name, size_t row)
{
    uint32_t step = step_number(m, name);
    if (step == HD_NONE) return HD_NONE;
    struct step_seen *seen = &m->seen[step];
    if (seen->row != row) *seen = (struct step_seen){row, 0};
    if (++seen->times == 1) return step;
    char *again;
    int size = asprintf(&again, "%.*s (%u)", (int)name.size, name.data, seen->times);
    if (size < 0) return HD_NONE;
    step = step_number(m, (hd_string){again, (size_t)size});
    free(again);
    return step;
}

/* `first`: number of the first row of these cells. */
static bool number_steps(maker *m, shape *s, size_t count, size_t first)
{
    hd_byte_reader text = hd_byte_reader_of(s->text + count * 4, s->text_size - count * 4);
    hd_string *names = malloc((s->name_count + 1) * sizeof *names);
    uint32_t *steps = s->steps = hd_arena_alloc(m->picture->memory, count * sizeof *steps);
    bool fine = names && steps;
    for (size_t i = 0; fine && i < s->name_count; i++) {
        size_t size = hd_byte_reader_varint(&text);
        names[i] = (hd_string){(const char *)hd_byte_reader_take(&text, size), size};
    }
    for (size_t i = 0; fine && i < count; i++) {
        uint32_t of = (uint32_t)hd_le_get(s->text + i * 4, 4), name = of & ~BEGINS;
        first += i > 0 && of & BEGINS;
        steps[i] = name == NO_NAME ? HD_NONE : step_of(m, names[name], first);
        fine = name == NO_NAME || steps[i] != HD_NONE;
    }
    free(names);
    return fine;
}

/* ---- rows ---- */

static bool add_rows(maker *m, size_t member)
{
    view_picture *p = m->picture;
    const ranks_member *of = &m->members[member];
    const part *own = &m->parts[member];
    for (size_t i = 0; i < own->run_count && own->count; i++) {
        void *rows = p->rows;
        bool fine = hd_grow(&rows, &m->row_capacity, p->row_count, sizeof *p->rows);
        p->rows = rows;
        if (!fine) return false;
        p->rows[p->row_count++] = (view_picture_row){.rank = own->runs[i].rank,
                                                     .device = own->runs[i].device,
                                                     .source = of->source,
                                                     .member = of->member,
                                                     .about = hd_job_at(of->job, of->member),
                                                     .trace = m->sources[of->source].trace,
                                                     .figures = own->figures,
                                                     .count = own->count};
    }
    p->first[member + 1] = (uint32_t)p->row_count;
    return !own->count || own->shape->steps || number_steps(m, own->shape, own->count, p->first[member]);
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

/* Recurring names of steps, "step (2)", keep the original order, and so do all others then. */
static bool have_numbers(const view_picture *p)
{
    for (size_t i = 0; i < p->step_count; i++) {
        hd_string name = p->steps[i];
        if (number_in(name) < 0 || name.data[name.size - 1] == ')') return false;
    }
    return true;
}

/* Sorts a list of elements by `compare`; places[old] is the new index. The caller frees it; NULL: no memory. */
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

/* places: of steps, by number. */
static bool place_cells(maker *m, shape *s, size_t count, const uint32_t *places)
{
    size_t steps = m->picture->step_count, all = s->run_count * steps;
    uint32_t *cells = s->cells = hd_arena_alloc(m->picture->memory, all * sizeof *cells);
    if (!cells) return false;
    memset(cells, 0xff, all * sizeof *cells);
    for (size_t i = 0; i < count; i++) {
        cells += i > 0 && hd_le_get(s->text + i * 4, 4) & BEGINS ? steps : 0;
        if (s->steps[i] != HD_NONE) cells[places[s->steps[i]]] = (uint32_t)i;
    }
    return true;
}

/* Once rows and steps have their places. */
static bool place_all(maker *m, const uint32_t *places)
{
    view_picture *p = m->picture;
    bool fine = true;
    for (size_t member = 0; member < m->count && fine; member++) {
        const part *own = &m->parts[member];
        if (own->count) fine = own->shape->cells || place_cells(m, own->shape, own->count, places);
        for (uint32_t i = p->first[member]; i < p->first[member + 1] && fine; i++)
            p->rows[p->row_of[i]].cells = own->shape->cells + (i - p->first[member]) * p->step_count;
    }
    return fine;
}

static hd_status put_together(maker *m, hd_error *err)
{
    view_picture *p = m->picture;
    hd_json_out lost = {0};
    p->member_count = m->count;
    p->first = calloc(m->count + 1, sizeof *p->first);
    bool fine = p->first != NULL;
    for (size_t i = 0; i < m->count && fine; i++) {
        const hd_job_member *about = hd_job_at(m->members[i].job, m->members[i].member);
        const hd_error *why = m->parts[i].err;
        if (why) ranks_add_lost(&lost, about->file.data, about->file.size, why);
        fine = !(why && why->status == HD_ERR_MEMORY) && add_rows(m, i);
    }
    p->lost = lost.data;
    if (fine && p->row_count && p->step_count > CELLS_MOST / p->row_count)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "%zu ranks by %zu steps are too many for a picture", p->row_count, p->step_count);
    p->row_of = fine ? order_list(p->rows, sizeof *p->rows, p->row_count, compare_ranks) : NULL;
    uint32_t *steps =
        p->row_of ? order_list(p->steps, sizeof *p->steps, p->step_count, have_numbers(p) ? compare_steps : NULL)
                  : NULL;
    fine = steps && place_all(m, steps);
    free(steps);
    return fine && !lost.failed ? HD_OK : HD_NOMEM(err);
}

void ranks_picture_free(view_picture *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->step_count; i++) free((char *)(uintptr_t)p->steps[i].data);
    for (int i = 0; p->memory && i < HD_THREAD_LIMIT; i++) hd_arena_deinit(&p->memory[i]);
    free(p->memory);
    free(p->late);
    hd_job_free(p->whole);
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
    reader readers[HD_THREAD_LIMIT];
    m.members = list_members(&m.count, sources, count);
    m.parts = calloc(m.count + 1, sizeof *m.parts);
    m.picture = calloc(1, sizeof *m.picture);
    if (m.picture) m.picture->memory = calloc(HD_THREAD_LIMIT, sizeof *m.picture->memory);
    hd_status status = m.members && m.parts && m.picture && m.picture->memory ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) {
        unsigned threads = hd_thread_count(0, m.count);
        for (unsigned i = 0; i < threads; i++) {
            m.picture->memory[i].piece_size = PIECE;
            readers[i] = (reader){.maker = &m, .memory = &m.picture->memory[i]};
        }
        hd_threads_run(read_parts, readers, sizeof *readers, threads);
        status = put_together(&m, err);
    }
    hd_slots_deinit(&m.names);
    free(m.seen);
    free(m.parts);
    free(m.members);
    if (status != HD_OK) ranks_picture_free(m.picture);
    *out = status == HD_OK ? m.picture : NULL;
    return status;
}
