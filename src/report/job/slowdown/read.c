/* read.c - visits and collectives of a job, from the summaries of its ranks
 *
 * A number counted within a step identifies a collective only if all ranks of the group that have any in that step have
 * the same number of them. Otherwise none of these is matched: summaries are read again, and each row of them becomes a
 * collective of one member, numbered after the matched ones, with its measured duration.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/job/groups.h"
#include "report/job/slowdown/impl.h"

/* A row of a summary, until all of its member are there. */
typedef struct slow_op {
    int64_t start, end, busy;                     /* busy: before it; HD_NO_NUMBER: unknown */
    uint32_t member, collective, operation, step; /* the last two: texts */
} op;
typedef struct group_key {
    int64_t stream;
    uint32_t name, is_point_to_point;
} group_key;
typedef struct slow_group {
    uint32_t first;
    bool has_more;
} group_members;
typedef struct collective_key {
    int64_t sequence;
    uint32_t group, zero;
} collective_key;
enum { COUNTED = 1, DIFFERS = 2 /* rows are of several collectives */, UNMATCHED = 4 };
static const size_t ROWS_MAX = 4000000000; /* so that unmatched ones can have numbers as well */

/* ---- what is read ---- */

enum {
    RANK,
    DEVICE,
    STEP,
    GROUP,
    STREAM,
    POINT,
    SEQUENCE,
    IS_COUNTED,
    OPERATION,
    SIZE,
    BYTES,
    START,
    END,
    BUSY,
    COLUMNS
};
static const job_wanted wanted[COLUMNS] = {
    {"rank", HD_VALUE_INT},     {"device", HD_VALUE_INT},   {"step", HD_VALUE_STRING},
    {"group", HD_VALUE_STRING}, {"stream", HD_VALUE_INT},   {"point_to_point", HD_VALUE_BOOL},
    {"sequence", HD_VALUE_INT}, {"counted", HD_VALUE_BOOL}, {"operation", HD_VALUE_STRING},
    {"size", HD_VALUE_INT},     {"bytes", HD_VALUE_COUNT},  {"start", HD_VALUE_TIME},
    {"end", HD_VALUE_TIME},     {"busy", HD_VALUE_DURATION}};

/* HD_NONE: no memory. */
static uint32_t find_group(slow_job *j, const group_key *key, uint32_t member)
{
    uint32_t known = j->groups.count, of = gpu_group_near(&j->groups, &j->near_group, key);
    if (of == HD_NONE || !hd_grow((void **)&j->group_members, &j->group_capacity, of, sizeof *j->group_members))
        return HD_NONE;
    if (of == known) j->group_members[of] = (group_members){.first = member};
    j->group_members[of].has_more |= j->group_members[of].first != member;
    return of;
}

/* HD_NONE: no memory. It is mostly the one after that of the previous row. */
static uint32_t find_collective(slow_job *j, const collective_key *key, const slow_transfer_kind *kind)
{
    uint32_t known = j->collective_keys.count, transfer;
    j->near_collective++;
    uint32_t of = gpu_group_near(&j->collective_keys, &j->near_collective, key);
    if (of == HD_NONE || (of < known && !(j->collectives[of].flags & UNMATCHED))) return of;
    if (of < known) of = known + (uint32_t)j->unmatched++;
    if (!hd_grow((void **)&j->collectives, &j->collective_capacity, of, sizeof *j->collectives) ||
        (transfer = gpu_group(&j->transfer_kinds, kind)) == HD_NONE)
        return HD_NONE;
    j->collectives[of] = (slow_collective){.shortest = INT64_MAX, .kind = transfer};
    return of;
}

static bool add_op(slow_job *j, const job_cells *c, size_t row, int64_t place)
{
    int64_t rank = job_int(c, row, RANK), start = gpu_time(job_int(c, row, START)),
            end = gpu_time(job_int(c, row, END));
    const slow_member_key m = {rank == HD_NO_NUMBER ? place : rank, job_int(c, row, DEVICE)};
    group_key group = {HD_NO_NUMBER, HD_NONE, job_int(c, row, POINT) == 1};
    collective_key key = {job_int(c, row, SEQUENCE), HD_NONE, 0};
    op of = {.start = start, .end = end > start ? end : start, .busy = job_int(c, row, BUSY)};
    if (!job_text(&group.name, &j->texts, c, row, GROUP) || !job_text(&of.step, &j->texts, c, row, STEP) ||
        !job_text(&of.operation, &j->texts, c, row, OPERATION))
        return false;
    if (group.name == HD_NONE) group.stream = job_int(c, row, STREAM);
    const slow_transfer_kind kind = {job_int(c, row, SIZE), job_int(c, row, BYTES), of.operation, 0};
    of.member = gpu_group_near(&j->members, &j->near_member, &m);
    if (of.member == HD_NONE || (key.group = find_group(j, &group, of.member)) == HD_NONE) return false;
    of.collective = find_collective(j, &key, &kind);
    if (of.collective == HD_NONE || !hd_grow((void **)&j->ops, &j->op_capacity, j->op_count, sizeof *j->ops))
        return false;
    slow_collective *all = &j->collectives[of.collective];
    if (of.end - of.start < all->shortest) all->shortest = of.end - of.start;
    all->count++;
    if (job_int(c, row, IS_COUNTED) == 1) all->flags |= COUNTED;
    const slow_transfer_kind *first = gpu_group_key(&j->transfer_kinds, all->kind);
    if (all->flags & COUNTED && !job_may_be_one(&j->texts, first->operation, first->bytes, kind.operation, kind.bytes))
        all->flags |= DIFFERS;
    j->counts |= all->flags & COUNTED;
    j->is_split |= of.member < j->list_count;
    j->ops[j->op_count++] = of;
    return true;
}

static bool add_visit(slow_job *j, const op *o, const op *before, uint32_t place)
{
    const job_role *role = job_role_of(&j->roles, slow_member_at(j, o->member)->rank);
    const slow_gap_kind kind = {role ? role->at[JOB_TENSOR] : -1, role ? role->at[JOB_PIPELINE] : -1, place,
                                before ? o->operation : HD_NONE};
    j->near_kind++;
    uint32_t number = gpu_group_near(&j->gap_kinds, &j->near_kind, &kind);
    if (number == HD_NONE || !hd_grow((void **)&j->visits, &j->capacity, j->count, sizeof *j->visits) ||
        (j->wants_steps && !hd_grow((void **)&j->steps, &j->step_capacity, j->count, sizeof *j->steps)))
        return false;
    if (j->wants_steps) j->steps[j->count] = o->step;
    int64_t gap = before ? o->start - before->end : 0;
    if (j->wants_busy && o->busy != HD_NO_NUMBER && o->busy < gap) gap = o->busy;
    j->visits[j->count++] = (slow_visit){gap, o->collective, number};
    return true;
}

/* Members are all there, and come in the order of their numbers. */
static bool make_visits(slow_job *j)
{
    op *spare = malloc((j->op_count + 1) * sizeof *spare);
    uint32_t place = 0;
    bool fine = spare != NULL;
    if (fine && j->op_count)
        HD_SORT_RUNS(j->ops, spare, j->op_count, x, y,
                     x->member != y->member ? x->member < y->member : x->start < y->start);
    free(spare);
    for (size_t i = 0; i < j->op_count && fine; i++) {
        const op *o = &j->ops[i], *before = i && o[-1].member == o->member ? &o[-1] : NULL;
        if (!before) {
            fine = hd_grow((void **)&j->list, &j->list_capacity, j->list_count + 1, sizeof *j->list);
            if (fine) j->list[j->list_count++] = (slow_member){j->count, o->end, o->end, o->operation};
        }
        place = !before || before->step != o->step ? 0 : place + 1;
        fine = fine && add_visit(j, o, before, place);
        if (!fine) break;
        j->list[j->list_count - 1].last_end = o->end;
        j->list[j->list_count].first = j->count;
    }
    j->op_count = 0;
    return fine;
}

typedef struct reading {
    slow_job *j;
    bool whole; /* ops are made visits after the last summary */
} reading;

static hd_status add_summary(void *user, size_t place, const job_cells *cells, hd_error *err)
{
    const reading *r = user;
    slow_job *j = r->j;
    bool fine = true, goes_on = r->whole || !j->is_split;
    for (size_t row = 0; goes_on && row < cells->rows && fine; row++) fine = add_op(j, cells, row, (int64_t)place);
    if (fine && !r->whole && !j->is_split) fine = make_visits(j);
    if (!fine) return HD_NOMEM(err);
    if (j->count + j->op_count <= ROWS_MAX) return HD_OK;
    return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 4 * 10^9 collectives");
}

/* ---- where numbers are counted ---- */

/* The collectives of a group in one step. */
typedef struct unit_key {
    int64_t part;
    uint32_t group, zero;
} unit_key;
typedef struct unit {
    uint32_t members;
    bool is_uneven;
} unit;

typedef struct units {
    gpu_groups keys;
    uint32_t near;
    unit *list;
    size_t capacity;
} units;

/* HD_NONE: no memory. Places in a step are counted from 0 without gaps: as many members are the same. */
static uint32_t add_to_unit(units *of, const slow_job *j, uint32_t number)
{
    const collective_key *key = gpu_group_key(&j->collective_keys, number);
    const slow_collective *c = &j->collectives[number];
    uint32_t known = of->keys.count;
    uint32_t at = gpu_group_near(&of->keys, &of->near, &(unit_key){job_part_of(key->sequence), key->group, 0});
    if (at == HD_NONE || !hd_grow((void **)&of->list, &of->capacity, at, sizeof *of->list)) return HD_NONE;
    if (at == known) of->list[at] = (unit){.members = c->count};
    of->list[at].is_uneven |= c->count != of->list[at].members || (c->flags & DIFFERS);
    return at;
}

/* Flags collectives, and counts their rows. false: no memory. */
static bool find_unmatched(size_t *rows, slow_job *j)
{
    units all = {.keys.key_size = sizeof(unit_key)};
    bool fine = true;
    for (int flags = 0; flags < 2 && j->counts; flags++) {
        for (uint32_t i = 0; i < j->collective_keys.count && fine; i++) {
            slow_collective *c = &j->collectives[i];
            if (!(c->flags & COUNTED)) continue;
            uint32_t at = add_to_unit(&all, j, i);
            fine = at != HD_NONE;
            if (!fine || !flags) continue;
            const collective_key *key = gpu_group_key(&j->collective_keys, i);
            bool is_alone = c->count == 1 && j->group_members[key->group].has_more;
            if (!all.list[at].is_uneven && !is_alone) continue;
            c->flags |= UNMATCHED;
            *rows += c->count;
        }
    }
    gpu_groups_deinit(&all.keys);
    free(all.list);
    return fine;
}

static hd_status judge_unmatched(size_t *rows, slow_job *j, hd_error *err)
{
    *rows = 0;
    if (!find_unmatched(rows, j)) return HD_NOMEM(err);
    const double percent = 100 * (double)*rows / (double)(j->count + j->op_count);
    if (!*rows || percent <= PERCENT_MAX) return HD_OK;
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                        "%.1f %% of the collectives cannot be joined, as the traces do not number them and ranks of a "
                        "group have others in a step: above %d %% nothing is predicted; "
                        "`heddle report stragglers -t mismatched` names them",
                        percent, (int)PERCENT_MAX);
}

/* ---- all summaries ---- */

static void forget_visits(slow_job *j)
{
    gpu_groups_deinit(&j->members);
    gpu_groups_deinit(&j->gap_kinds);
    j->count = j->op_count = j->list_count = 0;
}

static void forget_collectives(slow_job *j)
{
    gpu_groups *groups[] = {&j->groups, &j->collective_keys, &j->transfer_kinds};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) gpu_groups_deinit(groups[i]);
}

static hd_status read_summaries(reading *r, hd_table_builder *lost, hd_error *err)
{
    return job_each_table(&r->j->of, 1, NULL, "collectives", wanted, COLUMNS, lost, add_summary, r, err);
}

/* Usually a member is in one summary, and everything matches. Losses are reported once. */
hd_status slow_job_read(slow_job *j, hd_table_builder *lost, hd_error *err)
{
    j->members.key_size = sizeof(slow_member_key);
    j->groups.key_size = sizeof(group_key);
    j->collective_keys.key_size = sizeof(collective_key);
    j->gap_kinds.key_size = sizeof(slow_gap_kind);
    j->transfer_kinds.key_size = sizeof(slow_transfer_kind);
    reading r = {.j = j};
    size_t unmatched;
    HD_TRY(read_summaries(&r, lost, err));
    r.whole = j->is_split;
    if (r.whole) {
        forget_visits(j);
        forget_collectives(j);
        HD_TRY(read_summaries(&r, NULL, err));
    }
    HD_TRY(judge_unmatched(&unmatched, j, err));
    if (unmatched) {
        forget_visits(j);
        for (uint32_t c = 0; c < j->collective_keys.count; c++) j->collectives[c].count = 0;
        HD_TRY(read_summaries(&r, NULL, err));
    }
    if (r.whole && !make_visits(j)) return HD_NOMEM(err);
    free(j->ops);
    j->ops = NULL;
    j->joined_count = j->collective_keys.count;
    j->collective_count = j->joined_count + (uint32_t)j->unmatched;
    gpu_groups_deinit(&j->collective_keys);
    return HD_OK;
}

void slow_job_deinit(slow_job *j)
{
    gpu_groups *groups[] = {&j->members, &j->groups, &j->collective_keys, &j->gap_kinds, &j->transfer_kinds};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) gpu_groups_deinit(groups[i]);
    void *lists[] = {j->ops,  j->visits,    j->steps,  j->list, j->collectives, j->by_collective, j->group_members,
                     j->gaps, j->transfers, j->doubts, j->next, j->now,         j->stack,         j->kept};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    job_roles_deinit(&j->roles);
    gpu_texts_deinit(&j->texts);
}
