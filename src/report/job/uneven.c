/* uneven.c - steps in which ranks have different collectives, if numbers are counted, and which are missing
 *
 * A count shows that a rank has 11 collectives where others have 12, not which one is missing. If the operations and
 * bytes of a member are those of the longest member except for some, these are missing; if several could be it, the
 * last. For members with any other differences nothing is reported.
 */
#include <stdlib.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/job/groups.h"
#include "report/job/meetings_impl.h"

/* Of an uneven unit. */
typedef struct uneven_row {
    uint32_t unit, member, kind, meeting;
} uneven_row;

typedef struct uneven_rows {
    uneven_row *list;
    size_t count, capacity;
} uneven_rows;

/* Of the instances of the longest member: the members without it. */
typedef struct lack {
    uint32_t meeting, first, members;
} lack;

/* ---- units ---- */

bool meetings_find_units(meetings_maker *k)
{
    const job_meetings *m = k->m;
    bool is_any = false, fine = true;
    for (uint32_t g = 0; g < m->groups.count; g++) is_any |= k->facts[g].is_counted;
    if (!is_any) return true;
    k->unit_of = malloc((m->count + 1) * sizeof *k->unit_of);
    if (!k->unit_of) return false;
    for (size_t i = 0, end; i < m->count; i = end) {
        const job_meeting *of = &m->list[m->order[i]], *next = of;
        for (end = i;
             end < m->count && next->group == of->group && job_part_of(next->sequence) == job_part_of(of->sequence);)
            if (++end < m->count) next = &m->list[m->order[end]];
        bool is_counted = k->facts[of->group].is_counted;
        for (size_t at = i; at < end; at++) k->unit_of[m->order[at]] = is_counted ? (uint32_t)k->unit_count : HD_NONE;
        if (!is_counted) continue;
        fine = hd_grow((void **)&k->units, &k->unit_capacity, k->unit_count, sizeof *k->units);
        if (!fine) break;
        k->units[k->unit_count++] = (meetings_unit){.first = i, .end = end};
    }
    return fine;
}

static bool is_other(job_defect defect)
{
    return defect == JOB_OPERATION || defect == JOB_BYTES;
}

/* Whether it means that the collectives at one place are several. */
static bool mixes(const job_meetings *m, const job_meeting_defect *d)
{
    return d->defect == JOB_OPERATION ||
           (d->defect == JOB_BYTES &&
            job_kind_has_one_size(&m->texts, job_meeting_kind_of(m, &m->list[d->of])->operation));
}

static bool mark_units(meetings_maker *k)
{
    const job_meetings *m = k->m;
    bool is_any = false;
    for (size_t i = 0; i < m->defect_count; i++) {
        meetings_unit *unit = m->defects[i].defect <= JOB_MISSING ? meetings_unit_of(k, m->defects[i].of) : NULL;
        if (!unit) continue;
        unit->is_mixed |= unit->members > 1 && mixes(m, &m->defects[i]);
        unit->has_double |= m->defects[i].defect == JOB_DOUBLE;
    }
    for (size_t u = 0; u < k->unit_count; u++) {
        meetings_unit *unit = &k->units[u];
        for (size_t i = unit->first; i < unit->end; i++)
            unit->is_uneven |= k->met[m->order[i]].members != unit->members;
        unit->is_mixed &= !unit->is_uneven;
        is_any |= unit->is_uneven || unit->is_mixed;
    }
    return is_any;
}

/* Drops defects found by numbers that do not identify one collective. */
static void leave_defects(meetings_maker *k)
{
    job_meetings *m = k->m;
    for (size_t i = 0; i < m->defect_count; i++) {
        const meetings_unit *unit = is_other(m->defects[i].defect) ? meetings_unit_of(k, m->defects[i].of) : NULL;
        if (unit && unit->is_uneven) m->defects[i].members = 0;
    }
}

/* ---- their rows ---- */

/* Of uneven units in [first, end). */
static bool read_rows(uneven_rows *rows, const meetings_maker *k, size_t first, size_t end)
{
    rows->count = 0;
    const job_meetings *m = k->m;
    for (size_t p = 0; p < m->part_count; p++) {
        const job_rows *part = &m->parts[p];
        hd_byte_reader in = meetings_rows_of(m, part);
        packed_row packed = meetings_before_first;
        for (size_t i = 0; i < part->count; i++) {
            meetings_unpack_row(&packed, &in);
            const uint32_t unit = k->unit_of[packed.meeting];
            if (unit == HD_NONE || unit < first || unit >= end || !k->units[unit].is_uneven) continue;
            if (!hd_grow((void **)&rows->list, &rows->capacity, rows->count, sizeof *rows->list)) return false;
            uint32_t kind = packed.kind != HD_NONE ? packed.kind : m->list[packed.meeting].kind;
            rows->list[rows->count++] = (uneven_row){unit, part->member, kind, packed.meeting};
        }
    }
    return true;
}

/* By unit, then member, then number. */
static int compare_rows(const job_meetings *m, const uneven_row *x, const uneven_row *y)
{
    int order = job_compare_numbers(x->unit, y->unit);
    if (!order) order = job_compare_numbers(x->member, y->member);
    return order ? order : job_compare_numbers(m->list[x->meeting].sequence, m->list[y->meeting].sequence);
}

static bool is_same(const job_meetings *m, const uneven_row *x, const uneven_row *y)
{
    const job_meeting_kind *a = gpu_group_key(&m->kinds, x->kind), *b = gpu_group_key(&m->kinds, y->kind);
    return job_may_be_one(&m->texts, a->operation, a->bytes, b->operation, b->bytes);
}

static size_t member_end(const uneven_row *rows, size_t count, size_t first)
{
    size_t end = first;
    while (end < count && rows[end].member == rows[first].member) end++;
    return end;
}

/* ---- what is lacking ---- */

/* Adds what is missing in `own`, if it is a subsequence of `most`. */
static void compare(lack *lacks, const job_meetings *m, const uneven_row *most, size_t most_count,
                    const uneven_row *own, size_t count)
{
    for (int adds = 0; adds < 2; adds++) {
        size_t at = 0;
        for (size_t i = 0; i < most_count; i++) {
            if (at < count && is_same(m, &most[i], &own[at]))
                at++;
            else if (adds && !lacks[i].members++)
                lacks[i].first = own->member;
        }
        if (at < count) return;
    }
}

/* The first member of the group that has nothing in the unit. */
static uint32_t first_absent(const meetings_maker *k, const group_facts *f, const uneven_row *rows, size_t count)
{
    size_t at = 0, seat = f->seat;
    while (at < count && k->m->seats[seat].member == rows[at].member) {
        at = member_end(rows, count, at);
        seat++;
    }
    return k->m->seats[seat].member;
}

static bool judge_unit(meetings_maker *k, const uneven_row *rows, size_t count)
{
    const job_meetings *m = k->m;
    const meetings_unit *unit = &k->units[rows->unit];
    const uint32_t first = m->order[unit->first];
    const group_facts *f = &k->facts[m->list[first].group];
    const uint32_t absent = f->members - unit->members;
    if (unit->has_double) return true;
    size_t most = 0, most_end = 0;
    for (size_t i = 0, end; i < count; i = end) {
        end = member_end(rows, count, i);
        if (end - i <= most_end - most) continue;
        most = i;
        most_end = end;
    }
    lack *lacks = calloc(most_end - most + 1, sizeof *lacks);
    bool fine = lacks;
    for (size_t i = 0, end; i < count && fine; i = end) {
        end = member_end(rows, count, i);
        if (i != most) compare(lacks, m, rows + most, most_end - most, rows + i, end - i);
    }
    const uint32_t nobody = absent && fine ? first_absent(k, f, rows, count) : HD_NONE;
    for (size_t i = 0; i < most_end - most && fine; i++) {
        lack *of = &lacks[i];
        if (absent && (!of->members || nobody < of->first)) of->first = nobody;
        of->members += absent;
        fine = !of->members || meetings_add_defect(k, rows[most + i].meeting, JOB_MISSING, of->first, of->members);
    }
    free(lacks);
    return fine;
}

static bool judge_some(meetings_maker *k, uneven_rows *rows, size_t first, size_t until)
{
    bool fine = read_rows(rows, k, first, until);
    uneven_row *spare = fine ? malloc((rows->count + 1) * sizeof *spare) : NULL;
    fine = spare;
    if (fine && rows->count) HD_SORT_RUNS(rows->list, spare, rows->count, x, y, compare_rows(k->m, x, y) < 0);
    free(spare);
    for (size_t i = 0, end; i < rows->count && fine; i = end) {
        for (end = i + 1; end < rows->count && rows->list[end].unit == rows->list[i].unit;) end++;
        fine = judge_unit(k, rows->list + i, end - i);
    }
    return fine;
}

static size_t count_rows(const meetings_maker *k, const meetings_unit *unit)
{
    size_t count = 0;
    for (size_t i = unit->first; i < unit->end && unit->is_uneven; i++) count += k->met[k->m->order[i]].members;
    return count;
}

/* If much is uneven members are walked again, so that their rows need not be in memory. */
bool meetings_judge_units(meetings_maker *k)
{
    enum { ROWS_MOST = 1 << 23 };
    uneven_rows rows = {0};
    if (!mark_units(k)) return true;
    leave_defects(k);
    bool fine = true;
    for (size_t u = 0; u < k->unit_count && fine; u++) {
        const meetings_unit *unit = &k->units[u];
        fine = !meetings_is_refused(unit) ||
               meetings_add_defect(k, k->m->order[unit->first], JOB_COUNTED, unit->lowest, unit->members);
    }
    for (size_t first = 0, end = 0; first < k->unit_count && fine; first = end) {
        for (size_t count = 0; end < k->unit_count; end++) {
            count += count_rows(k, &k->units[end]);
            if (end > first && count > ROWS_MOST) break;
        }
        fine = judge_some(k, &rows, first, end);
    }
    free(rows.list);
    return fine;
}
