/* late.c - how late each rank came to collectives, of the table "collectives" of its summary
 *
 * No clock is compared: who comes last to a collective spends the least time in it, so a rank came later than the first
 * by the longest duration on any rank less its own; of a step, the most of any collective. Collectives are one if group
 * and number are. Numbers that were counted from the start of a recording hold only where all ranks of the group have
 * as many, of the same operation and size; numbers of the trace's own, where all name the same operation.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory/vector.h"
#include "view/ranks/impl.h"

/* One collective of one row of the picture. */
typedef struct arrival {
    uint32_t group, row, step; /* HD_NONE: in no step */
    uint32_t what;             /* a hash of the operation, and if counted of its size */
    int64_t sequence, duration;
} arrival;

typedef struct group {
    hd_string name; /* owned; with the stream where nobody named it */
    int64_t size;   /* HD_NO_NUMBER: not told */
    bool counted, differs;
    uint32_t rows, last_row;
} group;

/* The arrivals at one collective. */
typedef struct meeting {
    int64_t longest;
    uint32_t group, count, what, last_row;
    bool differs;
} meeting;

typedef struct part {
    arrival *list;
    size_t count;
    hd_error err;
} part;

typedef struct lateness {
    view_picture *picture;
    ranks_member *members;
    part *parts;
    size_t count;
    pthread_mutex_t lock; /* of the groups, while summaries are read */
    hd_slots names;
    group *groups;
    size_t group_count, group_capacity;
    hd_map found; /* meetings by group and sequence */
    meeting *meetings;
    size_t meeting_capacity;
} lateness;

/* ---- one summary, on any thread ---- */

enum { RANK, DEVICE, START_OF_STEP, STREAM, SEQUENCE, SIZE, START, END, NUMBERS };
static const char *const number_names[] = {"rank",     "device", "step_start", "stream",
                                           "sequence", "size",   "start",      "end"};

typedef struct columns {
    const hd_table *table;
    size_t numbers[NUMBERS], group, operation, bytes, counted, point_to_point;
} columns;

static size_t typed_column(const hd_table *table, const char *name, hd_value_type type)
{
    size_t at = hd_table_find_column(table, name);
    return at != SIZE_MAX && hd_table_get_column(table, at)->type == type ? at : SIZE_MAX;
}

static columns find_columns(const hd_table *table)
{
    columns c = {.table = table,
                 .group = ranks_column(table, "group", true),
                 .operation = ranks_column(table, "operation", true),
                 .bytes = typed_column(table, "bytes", HD_VALUE_COUNT),
                 .counted = typed_column(table, "counted", HD_VALUE_BOOL),
                 .point_to_point = typed_column(table, "point_to_point", HD_VALUE_BOOL)};
    for (int i = 0; i < NUMBERS; i++) c.numbers[i] = ranks_column(table, number_names[i], false);
    return c;
}

static int64_t number(const columns *c, size_t row, int which)
{
    return ranks_cell(c->table, row, c->numbers[which]);
}

static bool is_true(const columns *c, size_t row, size_t column)
{
    return column != SIZE_MAX && !hd_table_is_null(c->table, row, column) && hd_table_get_bool(c->table, row, column);
}

static hd_string text(const columns *c, size_t row, size_t column)
{
    hd_string out = {NULL, 0};
    if (column != SIZE_MAX && !hd_table_is_null(c->table, row, column))
        out.data = hd_table_get_string(&out.size, c->table, row, column);
    return out;
}

/* What tells a group from others, as bytes. */
static bool put_group(hd_json_out *out, const columns *c, size_t row)
{
    hd_string name = text(c, row, c->group);
    out->size = 0;
    hd_json_put_text(out, is_true(c, row, c->point_to_point) ? "p" : "c");
    if (name.data)
        hd_json_put_string(out, name.data, name.size);
    else
        hd_json_put_int(out, number(c, row, STREAM));
    return !out->failed;
}

/* The number of a group; HD_NONE: no memory. */
static uint32_t find_group(lateness *l, const hd_json_out *name)
{
    uint64_t hash = hd_hash(name->data, name->size);
    uint32_t at;
    HD_SLOTS_FIND(at, &l->names, hash,
                  l->groups[at].name.size == name->size && !memcmp(l->groups[at].name.data, name->data, name->size))
    if (at != HD_SLOTS_NONE) return at;
    void *list = l->groups;
    bool fine = hd_grow(&list, &l->group_capacity, l->group_count, sizeof *l->groups);
    l->groups = list;
    char *copy = fine ? malloc(name->size) : NULL;
    if (!copy) return HD_NONE;
    memcpy(copy, name->data, name->size);
    at = (uint32_t)l->group_count++;
    l->groups[at] = (group){.name = {copy, name->size}, .size = HD_NO_NUMBER, .last_row = HD_NONE};
    return hd_slots_add(&l->names, hash, at) ? at : HD_NONE;
}

static uint32_t group_of(lateness *l, const columns *c, size_t row, hd_json_out *name)
{
    if (!put_group(name, c, row)) return HD_NONE;
    pthread_mutex_lock(&l->lock);
    uint32_t at = find_group(l, name);
    if (at != HD_NONE) {
        if (l->groups[at].size == HD_NO_NUMBER) l->groups[at].size = number(c, row, SIZE);
        l->groups[at].counted |= is_true(c, row, c->counted);
    }
    pthread_mutex_unlock(&l->lock);
    return at;
}

/* Rows stand by group, then number, so that a step is mostly that of the row before, or the next. */
static uint32_t step_at(const view_picture *p, uint32_t row, int64_t start, uint32_t before)
{
    const int64_t *starts = p->figures[VIEW_START] + (size_t)row * p->step_count;
    uint32_t count = (uint32_t)p->step_count, at = before == HD_NONE ? 0 : before;
    for (uint32_t i = 0; start != HD_NO_NUMBER && i < count; i++, at = at + 1 == count ? 0 : at + 1) {
        if (starts[at] == start) return at;
    }
    return HD_NONE;
}

static bool same_group(const columns *c, size_t row)
{
    hd_string a = text(c, row - 1, c->group), b = text(c, row, c->group);
    return a.size == b.size && (a.data != NULL) == (b.data != NULL) && (!a.size || !memcmp(a.data, b.data, a.size)) &&
           number(c, row - 1, STREAM) == number(c, row, STREAM) &&
           is_true(c, row - 1, c->counted) == is_true(c, row, c->counted) &&
           is_true(c, row - 1, c->point_to_point) == is_true(c, row, c->point_to_point);
}

static uint32_t what_of(const columns *c, size_t row)
{
    hd_string operation = text(c, row, c->operation);
    uint64_t bytes = 0;
    bool sized = c->bytes != SIZE_MAX && is_true(c, row, c->counted) && !hd_table_is_null(c->table, row, c->bytes);
    if (sized) bytes = hd_table_get_count(c->table, row, c->bytes) + 1;
    return (uint32_t)hd_hash_pair(operation.size ? hd_hash(operation.data, operation.size) : 0, bytes);
}

static bool read_rows(lateness *l, size_t member, const hd_table *table)
{
    const columns c = find_columns(table);
    part *own = &l->parts[member];
    hd_json_out name = {0};
    uint32_t current = HD_NONE, step = HD_NONE;
    size_t count = hd_table_row_count(table);
    own->list = malloc((count + 1) * sizeof *own->list);
    bool fine = own->list != NULL;
    for (size_t row = 0; fine && row < count; row++) {
        int64_t sequence = number(&c, row, SEQUENCE), start = number(&c, row, START), end = number(&c, row, END),
                duration;
        uint32_t at = ranks_row_of(l->picture, member, number(&c, row, RANK), number(&c, row, DEVICE));
        if (at == HD_NONE || sequence == HD_NO_NUMBER || __builtin_sub_overflow(end, start, &duration)) continue;
        if (current == HD_NONE || row == 0 || !same_group(&c, row)) current = group_of(l, &c, row, &name);
        fine = current != HD_NONE;
        uint32_t found = step_at(l->picture, at, number(&c, row, START_OF_STEP), step);
        if (found != HD_NONE) step = found;
        own->list[own->count++] = (arrival){current, at, found, what_of(&c, row), sequence, duration};
    }
    free(name.data);
    return fine;
}

static void read_part(void *user, size_t i)
{
    lateness *l = user;
    hd_table *table;
    hd_error *err = &l->parts[i].err;
    if (hd_job_table(&table, l->members[i].job, l->members[i].member, "collectives", err) != HD_OK || !table) return;
    if (!read_rows(l, i, table)) (void)HD_NOMEM(err);
    hd_table_free(table);
}

/* ---- all of them ---- */

static bool meet(lateness *l, const arrival *a)
{
    size_t known = l->found.count;
    hd_map_entry *entry = hd_map_at(&l->found, a->group, (uint64_t)a->sequence);
    void *list = l->meetings;
    group *g = &l->groups[a->group];
    if (!entry) return false;
    if (l->found.count > known) {
        entry->value = (uint32_t)known;
        bool fine = hd_grow(&list, &l->meeting_capacity, known, sizeof *l->meetings);
        l->meetings = list;
        if (!fine) return false;
        l->meetings[known] = (meeting){.longest = INT64_MIN, .group = a->group, .what = a->what, .last_row = HD_NONE};
    }
    meeting *m = &l->meetings[entry->value];
    m->differs |= m->last_row == a->row || m->what != a->what; /* twice of one, or another */
    m->last_row = a->row;
    m->count++;
    if (a->duration > m->longest) m->longest = a->duration;
    g->rows += g->last_row != a->row;
    g->last_row = a->row;
    return true;
}

/* Groups of which nothing can be told. */
static void judge(lateness *l)
{
    for (size_t i = 0; i < l->found.count; i++) {
        const meeting *m = &l->meetings[i];
        group *g = &l->groups[m->group];
        l->picture->differs |= m->differs && g->rows > 1;
        if (g->counted && (m->differs || m->count != g->rows)) g->differs = true;
    }
    for (size_t i = 0; i < l->group_count; i++) {
        group *g = &l->groups[i];
        if (g->size > 0 && g->rows > g->size) g->differs = true; /* several groups of one name */
        l->picture->differs |= g->differs && g->rows > 1;
    }
}

static void fill(const lateness *l, int64_t *late, const arrival *a)
{
    uint32_t at = 0;
    hd_map_get(&at, &l->found, a->group, (uint64_t)a->sequence);
    const meeting *m = &l->meetings[at];
    const group *g = &l->groups[a->group];
    int64_t by;
    if (a->step == HD_NONE || m->differs || g->differs || m->count < 2) return;
    int64_t *cell = &late[(size_t)a->row * l->picture->step_count + a->step];
    if (!__builtin_sub_overflow(m->longest, a->duration, &by) && by > *cell) *cell = by;
}

static bool compare_all(lateness *l)
{
    size_t cells = l->picture->row_count * l->picture->step_count;
    bool fine = true;
    hd_json_out lost = {0};
    int64_t *late = malloc((cells + 1) * sizeof *late);
    for (size_t i = 0; late && i < cells; i++) late[i] = HD_NO_NUMBER;
    for (size_t i = 0; i < l->count && fine; i++) {
        const hd_job_member *about = hd_job_at(l->members[i].job, l->members[i].member);
        fine = late && l->parts[i].err.status != HD_ERR_MEMORY;
        if (l->parts[i].err.status != HD_OK)
            ranks_add_lost(&lost, about->file.data, about->file.size, &l->parts[i].err);
        for (size_t k = 0; k < l->parts[i].count && fine; k++) fine = meet(l, &l->parts[i].list[k]);
    }
    if (fine) judge(l);
    for (size_t i = 0; i < l->count && fine; i++) {
        for (size_t k = 0; k < l->parts[i].count; k++) fill(l, late, &l->parts[i].list[k]);
    }
    if (fine && !lost.failed) {
        l->picture->late = late;
        l->picture->late_lost = lost.data;
        return true;
    }
    free(late);
    free(lost.data);
    return false;
}

hd_status ranks_late(view_picture *picture, const ranks_source *sources, size_t count, hd_error *err)
{
    lateness l = {.picture = picture, .lock = PTHREAD_MUTEX_INITIALIZER};
    l.members = ranks_members(&l.count, sources, count);
    l.parts = calloc(l.count + 1, sizeof *l.parts);
    bool fine = l.members && l.parts;
    if (fine) ranks_for_each(l.count, read_part, &l);
    fine = fine && compare_all(&l);
    for (size_t i = 0; l.parts && i < l.count; i++) free(l.parts[i].list);
    for (size_t i = 0; i < l.group_count; i++) free((char *)(uintptr_t)l.groups[i].name.data);
    hd_slots_deinit(&l.names);
    hd_map_deinit(&l.found);
    free(l.meetings);
    free(l.groups);
    free(l.parts);
    free(l.members);
    return fine ? HD_OK : HD_NOMEM(err);
}
