/* meetings.c - matches the collectives of all members by group and number
 *
 * Summaries are read once. Of a row only the data needed later is kept: its collective instance, its duration and its
 * step, as varints. Members of a group mostly have the same collectives in one order, so that the instance of a row is
 * the one after that of the previous row: this is tried first, then a hash table. A packed row is
 *
 *   the duration, shifted by 1; bit 0: the following parts are present
 *   instance - (that of the previous row + 1), zigzag, shifted by 3; bit 0: another step than the previous row, bit 1:
 *   no duration, bit 2: of another kind than its instance
 *   with bit 2 of that: the kind
 *   with bit 0 of that: the differences of the step's text and of its start, zigzag
 *
 * where the row before the first of a part has instance -1 and no step.
 */
#include "report/job/meetings_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/system.h"
#include "base/text/ends.h"
#include "report/job/groups.h"

/* ---- rows ---- */

enum {
    RANK,
    DEVICE,
    GROUP,
    STREAM,
    POINT,
    SEQUENCE,
    COUNTED,
    OPERATION,
    SIZE,
    BYTES,
    START,
    END,
    STEP,
    STEP_START,
    COLUMNS
};
static const job_wanted wanted[COLUMNS] = {
    {"rank", HD_VALUE_INT},     {"device", HD_VALUE_INT},          {"group", HD_VALUE_STRING},
    {"stream", HD_VALUE_INT},   {"point_to_point", HD_VALUE_BOOL}, {"sequence", HD_VALUE_INT},
    {"counted", HD_VALUE_BOOL}, {"operation", HD_VALUE_STRING},    {"size", HD_VALUE_INT},
    {"bytes", HD_VALUE_COUNT},  {"start", HD_VALUE_TIME},          {"end", HD_VALUE_TIME},
    {"step", HD_VALUE_STRING},  {"step_start", HD_VALUE_TIME}};

typedef struct row {
    job_party party;
    job_meeting_group group;
    int64_t sequence, bytes, size;
    uint32_t operation;
    bool is_counted, has_rank;
    packed_row packed; /* except the meeting */
} row;

static int64_t duration_of(int64_t start, int64_t end)
{
    bool is_timed = start != HD_NO_TIME && end != HD_NO_TIME && start <= end;
    return is_timed ? gpu_time(end) - gpu_time(start) : HD_NO_NUMBER;
}

static bool read_row(row *out, gpu_texts *texts, const job_cells *c, size_t at, size_t place)
{
    int64_t rank = job_int(c, at, RANK);
    bool has_rank = rank != HD_NO_NUMBER;
    *out = (row){.party = {has_rank ? rank : (int64_t)place, job_int(c, at, DEVICE)},
                 .group = {.is_point_to_point = job_int(c, at, POINT) == 1},
                 .sequence = job_int(c, at, SEQUENCE),
                 .bytes = job_int(c, at, BYTES),
                 .size = job_int(c, at, SIZE),
                 .is_counted = job_int(c, at, COUNTED) == 1,
                 .has_rank = has_rank,
                 .packed = {.step_start = job_int(c, at, STEP_START),
                            .duration = duration_of(job_int(c, at, START), job_int(c, at, END)),
                            .kind = HD_NONE}};
    if (!job_text(&out->group.name, texts, c, at, GROUP) || !job_text(&out->operation, texts, c, at, OPERATION) ||
        !job_text(&out->packed.step, texts, c, at, STEP))
        return false;
    out->group.stream = out->group.name == HD_NONE ? job_int(c, at, STREAM) : HD_NO_NUMBER;
    return true;
}

static void pack_row(hd_bytes *out, const packed_row *r, const packed_row *before)
{
    bool moves = r->step != before->step || r->step_start != before->step_start, is_timed = r->duration != HD_NO_NUMBER;
    int64_t meeting = (int64_t)r->meeting - (uint32_t)(before->meeting + 1);
    bool is_other = r->kind != HD_NONE;
    uint64_t head = hd_zigzag(meeting) << 3 | (uint64_t)is_other << 2 | (uint64_t)!is_timed << 1 | moves;
    hd_bytes_put_varint(out, (is_timed ? (uint64_t)r->duration << 1 : 0) | (head != 0));
    if (head) hd_bytes_put_varint(out, head);
    if (is_other) hd_bytes_put_varint(out, r->kind);
    if (!moves) return;
    hd_bytes_put_zigzag(out, (int64_t)r->step - before->step);
    hd_bytes_put_zigzag(out, (int64_t)((uint64_t)r->step_start - (uint64_t)before->step_start));
}

static int compare_parties(const job_party *x, const job_party *y)
{
    int order = job_compare_numbers(x->rank, y->rank);
    return order ? order : job_compare_numbers(x->device, y->device);
}

/* While rows are read, members have the numbers of their keys. */
static bool is_before(const meetings_maker *k, uint32_t x, uint32_t y)
{
    return compare_parties(gpu_group_key(&k->members, x), gpu_group_key(&k->members, y)) < 0;
}

bool meetings_add_defect(meetings_maker *k, uint32_t of, job_defect defect, uint32_t member, uint64_t members)
{
    job_meetings *m = k->m;
    uint32_t known = k->defects.count, at = gpu_group(&k->defects, (const uint32_t[]){of, (uint32_t)defect});
    if (at == HD_NONE || !hd_grow((void **)&m->defects, &k->defect_capacity, at, sizeof *m->defects)) return false;
    if (at == known) m->defects[m->defect_count++] = (job_meeting_defect){of, defect, member, 0};
    job_meeting_defect *d = &m->defects[at];
    d->members += members;
    bool by_rows = defect != JOB_DOUBLE && defect < JOB_MISSING; /* otherwise members come in order */
    if (by_rows && is_before(k, member, d->first)) d->first = member;
    return true;
}

/* A member, and its participant number in a group. */
static bool find_seat(meetings_maker *k, const row *r)
{
    job_meetings *m = k->m;
    uint32_t groups = m->groups.count, seats = k->seats.count;
    k->member = gpu_group(&k->members, &r->party);
    k->group = gpu_group(&m->groups, &r->group);
    k->seat = gpu_group(&k->seats, (const uint32_t[]){k->group, k->member});
    if (k->member == HD_NONE || k->group == HD_NONE || k->seat == HD_NONE ||
        !hd_grow((void **)&k->facts, &k->fact_capacity, k->group, sizeof *k->facts) ||
        !hd_grow((void **)&m->seats, &k->seat_capacity, k->seat, sizeof *m->seats))
        return false;
    if (k->group == groups) k->facts[k->group] = (group_facts){.size = HD_NO_NUMBER};
    if (k->seat < seats) return true;
    k->facts[k->group].members++;
    m->seats[m->seat_count++] = (job_seat){k->group, k->member, r->operation, r->sequence};
    return true;
}

/* The owner of a row, and its last one of the group. */
static bool seat_member(meetings_maker *k, const row *r, size_t place)
{
    job_meetings *m = k->m;
    bool is_same = !k->is_first && k->party.rank == r->party.rank && k->party.device == r->party.device;
    bool is_part = is_same && m->parts[m->part_count - 1].has_rank == r->has_rank;
    bool is_seat = is_same && k->key.name == r->group.name && k->key.stream == r->group.stream &&
                   k->key.is_point_to_point == r->group.is_point_to_point;
    if (!is_seat && !find_seat(k, r)) return false;
    if (!is_part) {
        if (!hd_grow((void **)&m->parts, &k->part_capacity, m->part_count, sizeof *m->parts)) return false;
        m->parts[m->part_count++] = (job_rows){k->member, r->has_rank, place, 0, m->rows.size};
        k->packed = meetings_before_first;
    }
    k->is_first = false;
    k->party = r->party;
    k->key = r->group;
    group_facts *f = &k->facts[k->group];
    if (f->size == HD_NO_NUMBER) f->size = r->size;
    f->is_counted |= r->is_counted;
    job_seat *seat = &m->seats[k->seat];
    if (r->sequence >= seat->sequence) {
        seat->operation = r->operation;
        seat->sequence = r->sequence;
    }
    return true;
}

static job_meeting_kind kind_of(const row *r)
{
    return (job_meeting_kind){.bytes = r->bytes, .size = r->size, .operation = r->operation};
}

static bool is_meeting(const meetings_maker *k, uint32_t at, const row *r)
{
    return k->m->list[at].group == k->group && k->m->list[at].sequence == r->sequence;
}

/* HD_NONE: no memory. */
static uint32_t find_meeting(meetings_maker *k, const row *r)
{
    job_meetings *m = k->m;
    uint32_t at = k->packed.meeting + 1;
    if (at < m->count && is_meeting(k, at, r)) return at;
    uint64_t hash = hd_hash_pair(k->group, (uint64_t)r->sequence);
    HD_SLOTS_FIND(at, &k->found, hash, is_meeting(k, at, r));
    if (at != HD_SLOTS_NONE) return at;
    const job_meeting_kind kind = kind_of(r);
    if (m->count >= HD_NONE || gpu_group_near(&m->kinds, &k->kind, &kind) >> JOB_KIND_BITS ||
        !hd_grow((void **)&m->list, &k->capacity, m->count, sizeof *m->list) ||
        !hd_slots_add(&k->found, hash, (uint32_t)m->count))
        return HD_NONE;
    m->list[m->count] = (job_meeting){.sequence = r->sequence,
                                      .shortest = INT64_MAX,
                                      .longest = INT64_MIN,
                                      .group = k->group,
                                      .kind = k->kind,
                                      .last = k->member};
    return (uint32_t)m->count++;
}

static bool add_row(meetings_maker *k, row *r, size_t place)
{
    job_meetings *m = k->m;
    if (!seat_member(k, r, place)) return false;
    uint32_t at = r->packed.meeting = find_meeting(k, r);
    if (at == HD_NONE) return false;
    const int64_t duration = r->packed.duration;
    job_meeting *of = &m->list[at];
    const job_meeting_kind *kind = job_meeting_kind_of(m, of);
    const bool has[JOB_MISSING] = {[JOB_OPERATION] = r->operation != kind->operation,
                                   [JOB_UNTIMED] = duration == HD_NO_NUMBER,
                                   [JOB_BYTES] = r->bytes != kind->bytes,
                                   [JOB_SIZE] = r->size != kind->size};
    if (r->is_counted && (has[JOB_OPERATION] || has[JOB_BYTES])) {
        const job_meeting_kind own = kind_of(r);
        r->packed.kind = gpu_group(&m->kinds, &own);
        if (r->packed.kind == HD_NONE) return false;
    }
    pack_row(&m->rows, &r->packed, &k->packed);
    k->packed = r->packed;
    m->parts[m->part_count - 1].count++;
    for (int d = 0; d < JOB_MISSING; d++)
        if (has[d] && !meetings_add_defect(k, at, (job_defect)d, k->member, 1)) return false;
    of->count++;
    of->is_counted |= r->is_counted;
    if (has[JOB_UNTIMED]) return true;
    of->time = gpu_sum(of->time, duration);
    if (duration > of->longest) of->longest = duration;
    if (duration < of->shortest || (duration == of->shortest && is_before(k, k->member, of->last)))
        of->last = k->member;
    if (duration < of->shortest) of->shortest = duration;
    return true;
}

static hd_status add_summary(void *user, size_t place, const job_cells *cells, hd_error *err)
{
    meetings_maker *k = user;
    row r;
    bool fine = true;
    k->is_first = true;
    for (size_t i = 0; i < cells->rows && fine; i++)
        fine = read_row(&r, &k->m->texts, cells, i, place) && add_row(k, &r, place);
    return fine && !k->m->rows.failed ? HD_OK : HD_NOMEM(err);
}

/* ---- the order of members, groups and meetings ---- */

/* Members are numbered by rank and device from here on. */
static bool order_members(meetings_maker *k)
{
    job_meetings *m = k->m;
    uint32_t count = m->member_count = k->members.count;
    uint32_t *by = malloc((count + 1) * sizeof *by), *spare = malloc((count + 1) * sizeof *spare);
    m->members = malloc((count + 1) * sizeof *m->members);
    bool fine = by && spare && m->members;
    for (uint32_t i = 0; i < count && fine; i++) by[i] = i;
    if (fine && count) HD_SORT_RUNS(by, spare, count, x, y, is_before(k, *x, *y));
    for (uint32_t i = 0; i < count && fine; i++) {
        m->members[i] = *(const job_party *)gpu_group_key(&k->members, by[i]);
        spare[by[i]] = i;
    }
    for (size_t i = 0; i < m->count && fine; i++) m->list[i].last = spare[m->list[i].last];
    for (size_t i = 0; i < m->seat_count && fine; i++) m->seats[i].member = spare[m->seats[i].member];
    for (size_t i = 0; i < m->part_count && fine; i++) m->parts[i].member = spare[m->parts[i].member];
    for (size_t i = 0; i < m->defect_count && fine; i++) m->defects[i].first = spare[m->defects[i].first];
    free(by);
    free(spare);
    return fine;
}

/* The unnamed come first, by stream; names by bytes. */
static int compare_groups(const job_meetings *m, uint32_t x, uint32_t y)
{
    const job_meeting_group *a = job_meeting_group_of(m, x), *b = job_meeting_group_of(m, y);
    int order = (a->name != HD_NONE) - (b->name != HD_NONE);
    if (!order && a->name == HD_NONE) order = job_compare_numbers(a->stream, b->stream);
    if (!order && a->name != b->name) {
        hd_string s = gpu_text_of(&m->texts, a->name), t = gpu_text_of(&m->texts, b->name);
        order = hd_text_compare(s.data, s.size, t.data, t.size);
    }
    return order ? order : job_compare_numbers(a->is_point_to_point, b->is_point_to_point);
}

static bool order_groups(meetings_maker *k)
{
    const job_meetings *m = k->m;
    uint32_t count = m->groups.count;
    uint32_t *by = malloc((count + 1) * sizeof *by), *spare = malloc((count + 1) * sizeof *spare);
    bool fine = by && spare;
    for (uint32_t i = 0; i < count && fine; i++) by[i] = i;
    if (fine && count) HD_SORT_RUNS(by, spare, count, x, y, compare_groups(m, *x, *y) < 0);
    for (uint32_t i = 0; i < count && fine; i++) k->facts[by[i]].place = i;
    free(by);
    free(spare);
    return fine;
}

static int compare_meetings(const meetings_maker *k, uint32_t x, uint32_t y)
{
    const job_meeting *a = &k->m->list[x], *b = &k->m->list[y];
    int order = job_compare_numbers(k->facts[a->group].place, k->facts[b->group].place);
    return order ? order : job_compare_numbers(a->sequence, b->sequence);
}

static bool order_meetings(meetings_maker *k)
{
    job_meetings *m = k->m;
    uint32_t *spare = malloc((m->count + 1) * sizeof *spare);
    job_seat *seats = malloc((m->seat_count + 1) * sizeof *seats);
    m->order = malloc((m->count + 1) * sizeof *m->order);
    bool fine = spare && seats && m->order;
    for (size_t i = 0; i < m->count && fine; i++) m->order[i] = (uint32_t)i;
    if (fine && m->count) HD_SORT_RUNS(m->order, spare, m->count, x, y, compare_meetings(k, *x, *y) < 0);
    if (fine && m->seat_count)
        HD_SORT_RUNS(m->seats, seats, m->seat_count, x, y,
                     x->group != y->group ? k->facts[x->group].place < k->facts[y->group].place
                                          : x->member < y->member);
    for (size_t i = m->seat_count; i-- > 0 && fine;) k->facts[m->seats[i].group].seat = i;
    free(spare);
    free(seats);
    return fine;
}

/* ---- what does not match ---- */

/* Members of a group come in participant order: an instance that all participants so far have is complete so far. */
static bool pass_member(meetings_maker *k, const job_rows *part)
{
    job_meetings *m = k->m;
    hd_byte_reader in = meetings_rows_of(m, part);
    packed_row packed = meetings_before_first;
    for (size_t i = 0; i < part->count; i++) {
        meetings_unpack_row(&packed, &in);
        uint32_t at = packed.meeting;
        met *of = &k->met[at];
        group_facts *f = &k->facts[m->list[at].group];
        if (f->last != part->member + 1) f->met++;
        f->last = part->member + 1;
        meetings_see_member(k, at, part->member);
        if (of->last == part->member + 1) {
            if (!meetings_add_defect(k, at, JOB_DOUBLE, part->member, 1)) return false;
            continue;
        }
        of->last = part->member + 1;
        of->members++;
        of->present += of->present + 1 == f->met;
    }
    return true;
}

static bool pass_members(meetings_maker *k)
{
    const job_meetings *m = k->m;
    k->met = calloc(m->count + 1, sizeof *k->met);
    job_rows *spare = malloc((m->part_count + 1) * sizeof *spare);
    bool fine = k->met && spare;
    if (fine && m->part_count) HD_SORT_RUNS(m->parts, spare, m->part_count, x, y, x->member < y->member);
    for (size_t i = 0; i < m->part_count && fine; i++) fine = pass_member(k, &m->parts[i]);
    free(spare);
    return fine;
}

/* Instances with missing members, and what that and other defects mean for them. */
static bool judge_meetings(meetings_maker *k)
{
    job_meetings *m = k->m;
    for (size_t i = 0; i < m->count; i++) {
        const met *of = &k->met[i];
        const group_facts *f = &k->facts[m->list[i].group];
        const meetings_unit *unit = meetings_unit_of(k, (uint32_t)i);
        m->list[i].count = of->members;
        m->list[i].is_compared = of->members > 1 && !meetings_is_refused(unit);
        if (of->members < f->members && !(unit && unit->is_uneven) &&
            !meetings_add_defect(k, (uint32_t)i, JOB_MISSING, m->seats[f->seat + of->present].member,
                                 f->members - of->members))
            return false;
    }
    for (size_t i = 0; i < m->defect_count; i++)
        if (m->defects[i].defect <= JOB_UNTIMED) m->list[m->defects[i].of].is_compared = false;
    return true;
}

static bool judge_groups(meetings_maker *k)
{
    job_meetings *m = k->m;
    for (uint32_t g = 0; g < m->groups.count; g++) {
        group_facts *f = &k->facts[g];
        f->is_several = f->size > 0 && f->members > f->size && f->members > 1;
        bool is_fewer = f->size > f->members && !job_meeting_group_of(m, g)->is_point_to_point;
        if ((f->is_several || is_fewer) &&
            !meetings_add_defect(k, g, is_fewer ? JOB_FEWER : JOB_SEVERAL, m->seats[f->seat].member, f->members))
            return false;
    }
    for (size_t i = 0; i < m->count; i++) m->list[i].is_compared &= !k->facts[m->list[i].group].is_several;
    return true;
}

static int compare_defects(const meetings_maker *k, const job_meeting_defect *x, const job_meeting_defect *y)
{
    bool a = x->defect >= JOB_SEVERAL, b = y->defect >= JOB_SEVERAL;
    uint32_t g = a ? x->of : k->m->list[x->of].group, h = b ? y->of : k->m->list[y->of].group;
    int order = job_compare_numbers(k->facts[g].place, k->facts[h].place);
    if (!order) order = b - a;
    if (!order && !a) order = job_compare_numbers(k->m->list[x->of].sequence, k->m->list[y->of].sequence);
    return order ? order : job_compare_numbers(x->defect, y->defect);
}

static bool order_defects(meetings_maker *k)
{
    job_meetings *m = k->m;
    job_meeting_defect *spare = malloc((m->defect_count + 1) * sizeof *spare);
    size_t count = 0;
    for (size_t i = 0; i < m->defect_count; i++)
        if (m->defects[i].members) m->defects[count++] = m->defects[i];
    m->defect_count = count;
    if (spare && m->defect_count) HD_SORT_RUNS(m->defects, spare, m->defect_count, x, y, compare_defects(k, x, y) < 0);
    free(spare);
    return spare != NULL;
}

/* ---- the whole ---- */

hd_status job_meetings_init(job_meetings *m, const hd_job *const *jobs, size_t count, hd_table_builder *lost,
                            hd_error *err)
{
    *m = (job_meetings){.groups.key_size = sizeof(job_meeting_group), .kinds.key_size = sizeof(job_meeting_kind)};
    meetings_maker k = {.m = m,
                        .members.key_size = sizeof(job_party),
                        .seats.key_size = 2 * sizeof(uint32_t),
                        .defects.key_size = 2 * sizeof(uint32_t)};
    hd_status status = job_each_table(jobs, count, NULL, "collectives", wanted, COLUMNS, lost, add_summary, &k, err);
    hd_slots_deinit(&k.found);
    if (status == HD_OK &&
        !(order_members(&k) && order_groups(&k) && order_meetings(&k) && meetings_find_units(&k) && pass_members(&k) &&
          meetings_judge_units(&k) && judge_meetings(&k) && judge_groups(&k) && order_defects(&k)))
        status = HD_NOMEM(err);
    gpu_groups_deinit(&k.members);
    gpu_groups_deinit(&k.seats);
    gpu_groups_deinit(&k.defects);
    free(k.facts);
    free(k.met);
    free(k.unit_of);
    free(k.units);
    return status;
}

void job_meetings_leave_list(job_meetings *m)
{
    void *lists[] = {m->seats, m->defects, m->parts};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    hd_bytes_deinit(&m->rows);
    m->seats = NULL;
    m->defects = NULL;
    m->parts = NULL;
}

static job_span span_of(const job_meeting *of)
{
    return of->is_compared ? (job_span){of->shortest, of->longest} : (job_span){INT64_MAX, INT64_MIN};
}

/* In their place. */
void job_meetings_leave_walk(job_meetings *m)
{
    void *lists[] = {m->seats, m->defects, m->order};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    gpu_groups_deinit(&m->kinds);
    m->seats = NULL;
    m->defects = NULL;
    m->order = NULL;
    for (size_t i = 0; i < m->count; i++) {
        const job_span span = span_of(&m->list[i]);
        memcpy((char *)m->list + i * sizeof span, &span, sizeof span);
    }
    m->spans = realloc(m->list, (m->count + 1) * sizeof *m->spans);
    if (!m->spans) m->spans = (void *)m->list;
    m->list = NULL;
}

void job_meetings_deinit(job_meetings *m)
{
    job_meetings_leave_list(m);
    void *lists[] = {m->members, m->list, m->spans, m->order};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    gpu_groups_deinit(&m->groups);
    gpu_groups_deinit(&m->kinds);
    gpu_texts_deinit(&m->texts);
}

/* ---- how late each was ---- */

enum { LEAVE_BYTES = 1 << 13 };

bool job_meetings_walk(job_meetings *m, bool (*each)(void *user, const job_arrival *arrival), void *user)
{
    bool fine = true;
    size_t first = 0, end = 0; /* of consecutive parts, the memory not returned yet */
    for (size_t p = 0; p < m->part_count && fine; p++) {
        const job_rows *part = &m->parts[p];
        const job_party *party = &m->members[part->member];
        hd_byte_reader in = meetings_rows_of(m, part);
        packed_row packed = meetings_before_first;
        if (part->first != end) first = part->first;
        for (size_t i = 0; i < part->count && fine; i++) {
            meetings_unpack_row(&packed, &in);
            const job_span of = m->spans ? m->spans[packed.meeting] : span_of(&m->list[packed.meeting]);
            if (of.longest < of.shortest) continue;
            fine = each(user, &(job_arrival){.meeting = packed.meeting,
                                             .member = part->member,
                                             .summary = part->summary,
                                             .rank = part->has_rank ? party->rank : HD_NO_NUMBER,
                                             .device = party->device,
                                             .step_start = packed.step_start,
                                             .step = packed.step,
                                             .shortest = of.shortest,
                                             .late = of.longest - packed.duration,
                                             .waited = packed.duration - of.shortest});
        }
        end = part->first + in.at;
        if (!m->is_last_walk || end - first < LEAVE_BYTES) continue;
        hd_pages_leave(m->rows.data + first, m->rows.data + end);
        first = end;
    }
    return fine;
}
