/* slowdown.c - how fast a job would be without stragglers: its collectives simulated, from summaries
 *
 * A rank computes from the end of a collective to the start of its next, and a collective ends for all of its ranks
 * together: (max, +) over two lists, visits by member and start, and members by collective. No common clock is needed.
 *
 * A number that was counted within a step says which collective it is only if all ranks of the group that have any in
 * that step have as many. Where they have not, none of these is joined: summaries are read again, and each row of them
 * becomes a collective of one member, numbered behind the joined ones, which takes as long as measured.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/decimal.h"
#include "report/job/cells.h"
#include "report/job/roles.h"

/* A row of a summary, until all of its member are there. */
typedef struct op {
    int64_t start, end;
    uint32_t member, collective, operation, step; /* the last two: texts */
} op;

/* What stays of it: there may be hundreds of millions. */
typedef struct slow_visit {
    int64_t gap; /* to the end of the one before; 0 for the first of a member */
    uint32_t collective, kind;
} slow_visit;

typedef struct collective {
    int64_t shortest;
    double latest;           /* while simulating, as `arrived` */
    uint32_t count, arrived; /* members */
    uint32_t kind;           /* of transfers */
    union {
        uint32_t first; /* of by_collective */
        uint32_t flags; /* while rows are read */
    };
} collective;
enum { COUNTED = 1, DIFFERS = 2 /* rows are of several collectives */, UNMATCHED = 4 };

typedef struct slow_member {
    size_t first;                /* visit */
    int64_t first_end, last_end; /* of these collectives */
    uint32_t operation;          /* text: of the first */
} slow_member;

typedef struct member_key {
    int64_t rank, device; /* rank: or the place of the member */
} member_key;
typedef struct group_key {
    int64_t stream;
    uint32_t name, is_point_to_point;
} group_key;
typedef struct group_members {
    uint32_t first;
    bool has_more;
} group_members;
typedef struct collective_key {
    int64_t sequence;
    uint32_t group, zero;
} collective_key;
typedef struct gap_kind {
    int64_t tp, pp;
    uint32_t place, operation; /* place: number in its step */
} gap_kind;
typedef struct transfer_kind {
    int64_t size, bytes;
    uint32_t operation, zero;
} transfer_kind;

enum { NO_OPERATION = UINT32_MAX - 1 }; /* HD_NONE is one that is not known */
enum { PERCENT_MAX = 5 };
static const size_t ROWS_MAX = 4000000000; /* so that unmatched ones can have numbers as well */

typedef struct slow_job {
    const hd_job *of;
    gpu_texts texts;
    job_roles roles;
    gpu_groups members, groups, collective_keys, gap_kinds, transfer_kinds;
    uint32_t near_member, near_group, near_collective, near_kind;
    group_members *group_members; /* by group */
    op *ops;                      /* that are read, and not yet visits */
    slow_visit *visits;           /* by member and start */
    uint32_t *steps;              /* texts, of visits; NULL: nobody wants them */
    slow_member *list;            /* of members that have all of their visits, and one more */
    collective *collectives;
    size_t op_count, op_capacity, count, capacity, step_capacity, list_capacity, group_capacity, collective_capacity;
    uint32_t list_count, collective_count;
    uint32_t all_reduce;      /* text */
    uint32_t joined_count;    /* of collectives; what is behind them is unmatched, and of one member each */
    size_t unmatched;         /* rows */
    bool wants_steps, counts; /* counts: any number was counted */
    bool is_split;            /* a member is in several summaries: they have to be read before it is made of them */
    uint32_t *by_collective;  /* members */
    double *gaps, *transfers; /* ideal, by kind */
    size_t *next;             /* while simulating: visit, by member */
    double *now;
    uint32_t *stack;
    bool *kept;              /* members whose gaps are as measured */
    uint32_t kept_operation; /* its gaps and transfers are as measured; NO_OPERATION: of none */
} slow_job;

/* ---- what is read ---- */

enum { RANK, DEVICE, STEP, GROUP, STREAM, POINT, SEQUENCE, IS_COUNTED, OPERATION, SIZE, BYTES, START, END, COLUMNS };
static const job_wanted wanted[COLUMNS] = {
    {"rank", HD_VALUE_INT},     {"device", HD_VALUE_INT},   {"step", HD_VALUE_STRING},
    {"group", HD_VALUE_STRING}, {"stream", HD_VALUE_INT},   {"point_to_point", HD_VALUE_BOOL},
    {"sequence", HD_VALUE_INT}, {"counted", HD_VALUE_BOOL}, {"operation", HD_VALUE_STRING},
    {"size", HD_VALUE_INT},     {"bytes", HD_VALUE_COUNT},  {"start", HD_VALUE_TIME},
    {"end", HD_VALUE_TIME}};

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

/* HD_NONE: no memory. It is mostly the one behind that of the row before. */
static uint32_t find_collective(slow_job *j, const collective_key *key, const transfer_kind *kind)
{
    uint32_t known = j->collective_keys.count, transfer;
    j->near_collective++;
    uint32_t of = gpu_group_near(&j->collective_keys, &j->near_collective, key);
    if (of == HD_NONE || (of < known && !(j->collectives[of].flags & UNMATCHED))) return of;
    if (of < known) of = known + (uint32_t)j->unmatched++;
    if (!hd_grow((void **)&j->collectives, &j->collective_capacity, of, sizeof *j->collectives) ||
        (transfer = gpu_group(&j->transfer_kinds, kind)) == HD_NONE)
        return HD_NONE;
    j->collectives[of] = (collective){.shortest = INT64_MAX, .kind = transfer};
    return of;
}

/* Not of one collective. All ranks of an AllReduce have the same bytes; those of an AllToAll need not. */
static bool differs(const slow_job *j, const transfer_kind *x, const transfer_kind *y)
{
    return x->operation != y->operation || (x->operation == j->all_reduce && x->bytes != y->bytes &&
                                            x->bytes != HD_NO_NUMBER && y->bytes != HD_NO_NUMBER);
}

static bool add_op(slow_job *j, const job_cells *c, size_t row, int64_t place)
{
    int64_t rank = job_int(c, row, RANK), start = gpu_time(job_int(c, row, START)),
            end = gpu_time(job_int(c, row, END));
    const member_key m = {rank == HD_NO_NUMBER ? place : rank, job_int(c, row, DEVICE)};
    group_key group = {HD_NO_NUMBER, HD_NONE, job_int(c, row, POINT) == 1};
    collective_key key = {job_int(c, row, SEQUENCE), HD_NONE, 0};
    op of = {.start = start, .end = end > start ? end : start};
    if (!job_text(&group.name, &j->texts, c, row, GROUP) || !job_text(&of.step, &j->texts, c, row, STEP) ||
        !job_text(&of.operation, &j->texts, c, row, OPERATION))
        return false;
    if (group.name == HD_NONE) group.stream = job_int(c, row, STREAM);
    const transfer_kind kind = {job_int(c, row, SIZE), job_int(c, row, BYTES), of.operation, 0};
    of.member = gpu_group_near(&j->members, &j->near_member, &m);
    if (of.member == HD_NONE || (key.group = find_group(j, &group, of.member)) == HD_NONE) return false;
    of.collective = find_collective(j, &key, &kind);
    if (of.collective == HD_NONE || !hd_grow((void **)&j->ops, &j->op_capacity, j->op_count, sizeof *j->ops))
        return false;
    collective *all = &j->collectives[of.collective];
    if (of.end - of.start < all->shortest) all->shortest = of.end - of.start;
    all->count++;
    if (job_int(c, row, IS_COUNTED) == 1) all->flags |= COUNTED;
    if (all->flags & COUNTED && differs(j, gpu_group_key(&j->transfer_kinds, all->kind), &kind)) all->flags |= DIFFERS;
    j->counts |= all->flags & COUNTED;
    j->is_split |= of.member < j->list_count;
    j->ops[j->op_count++] = of;
    return true;
}

static const member_key *member_at(const slow_job *j, uint32_t member)
{
    return gpu_group_key(&j->members, member);
}

static bool add_visit(slow_job *j, const op *o, const op *before, uint32_t place)
{
    const job_role *role = job_role_of(&j->roles, member_at(j, o->member)->rank);
    const gap_kind kind = {role ? role->at[JOB_TENSOR] : -1, role ? role->at[JOB_PIPELINE] : -1, place,
                           before ? o->operation : HD_NONE};
    j->near_kind++;
    uint32_t number = gpu_group_near(&j->gap_kinds, &j->near_kind, &kind);
    if (number == HD_NONE || !hd_grow((void **)&j->visits, &j->capacity, j->count, sizeof *j->visits) ||
        (j->wants_steps && !hd_grow((void **)&j->steps, &j->step_capacity, j->count, sizeof *j->steps)))
        return false;
    if (j->wants_steps) j->steps[j->count] = o->step;
    j->visits[j->count++] = (slow_visit){before ? o->start - before->end : 0, o->collective, number};
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
    bool whole; /* ops are made visits behind the last summary */
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
    const collective *c = &j->collectives[number];
    uint32_t known = of->keys.count;
    uint32_t at =
        gpu_group_near(&of->keys, &of->near, &(unit_key){key->sequence / HD_COLLECTIVES_OF_STEP, key->group, 0});
    if (at == HD_NONE || !hd_grow((void **)&of->list, &of->capacity, at, sizeof *of->list)) return HD_NONE;
    if (at == known) of->list[at] = (unit){.members = c->count};
    of->list[at].is_uneven |= c->count != of->list[at].members || (c->flags & DIFFERS);
    return at;
}

/* Flags collectives, and counts rows of them. false: no memory. */
static bool find_unmatched(size_t *rows, slow_job *j)
{
    units all = {.keys.key_size = sizeof(unit_key)};
    bool fine = true;
    for (int flags = 0; flags < 2 && j->counts; flags++) {
        for (uint32_t i = 0; i < j->collective_keys.count && fine; i++) {
            collective *c = &j->collectives[i];
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
                        "group have others in a step: what would have been cannot be told above %d %%; "
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

/* Mostly a member is in one summary, and all is joined. */
static hd_status read_ops(slow_job *j, hd_table_builder *lost, hd_error *err)
{
    reading r = {.j = j};
    size_t unmatched;
    j->all_reduce = gpu_text(&j->texts, "AllReduce", 9);
    if (j->all_reduce == HD_NONE) return HD_NOMEM(err);
    HD_TRY(job_each_table(&j->of, 1, NULL, "collectives", wanted, COLUMNS, lost, add_summary, &r, err));
    r.whole = j->is_split;
    if (r.whole) {
        forget_visits(j);
        forget_collectives(j);
        HD_TRY(job_each_table(&j->of, 1, NULL, "collectives", wanted, COLUMNS, NULL, add_summary, &r, err));
    }
    HD_TRY(judge_unmatched(&unmatched, j, err));
    if (unmatched) {
        forget_visits(j);
        for (uint32_t c = 0; c < j->collective_keys.count; c++) j->collectives[c].count = 0;
        HD_TRY(job_each_table(&j->of, 1, NULL, "collectives", wanted, COLUMNS, NULL, add_summary, &r, err));
    }
    if (r.whole && !make_visits(j)) return HD_NOMEM(err);
    free(j->ops);
    j->ops = NULL;
    j->joined_count = j->collective_keys.count;
    j->collective_count = j->joined_count + (uint32_t)j->unmatched;
    gpu_groups_deinit(&j->collective_keys);
    return HD_OK;
}

/* ---- members by collective ---- */

static bool make_lists(slow_job *j)
{
    size_t members = j->members.count, at = 0;
    j->by_collective = malloc((j->count + 1) * sizeof *j->by_collective);
    j->next = calloc(members + 1, sizeof *j->next);
    j->now = calloc(members + 1, sizeof *j->now);
    j->stack = calloc(members + 1, sizeof *j->stack);
    j->kept = calloc(members + 1, sizeof *j->kept);
    if (!j->by_collective || !j->next || !j->now || !j->stack || !j->kept) return false;
    for (uint32_t c = 0; c < j->collective_count; c++) {
        j->collectives[c].first = (uint32_t)at;
        at += j->collectives[c].count;
    }
    for (uint32_t m = 0; m < members; m++) {
        for (size_t i = j->list[m].first; i < j->list[m + 1].first; i++) {
            collective *c = &j->collectives[j->visits[i].collective];
            j->by_collective[c->first + c->arrived++] = m;
        }
    }
    return true;
}

/* Of gaps the mean over ranks and steps, of transfers the median. */
static bool find_ideals(slow_job *j)
{
    uint32_t kinds = j->gap_kinds.count, transfers = j->transfer_kinds.count;
    double *counts = calloc(kinds + 1, sizeof *counts);
    gpu_value *values = malloc(((size_t)j->joined_count + 1) * sizeof *values);
    gpu_stats *stats = calloc(transfers + 1, sizeof *stats);
    j->gaps = calloc(kinds + 1, sizeof *j->gaps);
    j->transfers = calloc(transfers + 1, sizeof *j->transfers);
    bool fine = counts && values && stats && j->gaps && j->transfers;
    size_t used = 0;
    for (size_t i = 0; i < j->count && fine; i++) {
        j->gaps[j->visits[i].kind] += (double)j->visits[i].gap;
        counts[j->visits[i].kind]++;
    }
    for (uint32_t k = 0; k < kinds && fine; k++) j->gaps[k] /= counts[k];
    for (uint32_t c = 0; c < j->joined_count && fine; c++)
        if (j->collectives[c].count) values[used++] = (gpu_value){j->collectives[c].shortest, j->collectives[c].kind};
    fine = fine && gpu_stats_of(stats, transfers, values, used, UINT64_MAX);
    for (uint32_t k = 0; k < transfers && fine; k++) j->transfers[k] = (double)stats[k].median;
    free(counts);
    free(values);
    free(stats);
    return fine;
}

/* ---- the simulation ---- */

static uint32_t operation_of(const slow_job *j, const collective *of)
{
    return ((const transfer_kind *)gpu_group_key(&j->transfer_kinds, of->kind))->operation;
}

/* As the member has it. */
static uint32_t own_operation(const slow_job *j, uint32_t member, size_t visit)
{
    const gap_kind *kind = gpu_group_key(&j->gap_kinds, j->visits[visit].kind);
    return visit == j->list[member].first ? j->list[member].operation : kind->operation;
}

/* The member arrives at its next collective, which ends when all have. */
static void arrive(slow_job *j, uint32_t member, bool ideal_transfers, size_t *depth, size_t *done, double *first_ends)
{
    const bool keeps_operation = j->kept_operation != NO_OPERATION;
    const slow_visit *v = &j->visits[j->next[member]];
    collective *c = &j->collectives[v->collective];
    bool is_kept =
        j->kept[member] || (keeps_operation && own_operation(j, member, j->next[member]) == j->kept_operation);
    double at = j->now[member] + (is_kept ? (double)v->gap : j->gaps[v->kind]);
    if (!c->arrived++ || at > c->latest) c->latest = at;
    if (c->arrived < c->count) return;
    bool is_joined = v->collective < j->joined_count;
    bool is_ideal = ideal_transfers && is_joined && !(keeps_operation && operation_of(j, c) == j->kept_operation);
    double end = c->latest + (is_ideal ? j->transfers[c->kind] : (double)c->shortest);
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t m = j->by_collective[c->first + i];
        if (j->next[m] == j->list[m].first) *first_ends += end;
        j->now[m] = end;
        ++*done;
        if (++j->next[m] < j->list[m + 1].first) j->stack[(*depth)++] = m;
    }
}

/* Mean time over members from the end of the first to the end of the last collective; NaN: they wait for each other. */
static double simulate(slow_job *j, bool ideal_transfers)
{
    uint32_t members = j->members.count;
    size_t depth = 0, done = 0;
    double first_ends = 0, sum = 0;
    for (uint32_t c = 0; c < j->collective_count; c++) j->collectives[c].arrived = 0;
    for (uint32_t m = 0; m < members; m++) {
        j->next[m] = j->list[m].first;
        j->now[m] = 0;
        j->stack[depth++] = m;
    }
    while (depth) arrive(j, j->stack[--depth], ideal_transfers, &depth, &done, &first_ends);
    for (uint32_t m = 0; m < members; m++) sum += j->now[m];
    return done == j->count && members ? (sum - first_ends) / members : NAN;
}

static double measure(const slow_job *j)
{
    double sum = 0;
    for (uint32_t m = 0; m < j->members.count; m++) sum += (double)(j->list[m].last_end - j->list[m].first_end);
    return sum / j->members.count;
}

static void keep(slow_job *j, bool all)
{
    for (uint32_t m = 0; m < j->members.count; m++) j->kept[m] = all;
}

/* ---- tables ---- */

enum { CHECK, SLOWDOWN, RANKS, STAGES, OPERATIONS, AS_PEERS, LOST, TABLES };

static double ideal_of(const slow_job *j, uint32_t member, double *measured)
{
    double ideal = *measured = 0;
    for (size_t i = j->list[member].first; i < j->list[member + 1].first; i++) {
        *measured += (double)j->visits[i].gap;
        ideal += j->gaps[j->visits[i].kind];
    }
    return ideal;
}

static void add_members(hd_table_builder *b, slow_job *j, double ideal)
{
    const double visits_max = 1e9; /* some 15 s */
    bool each = (double)j->members.count * (double)j->count < visits_max && ideal > 0;
    for (uint32_t m = 0; m < j->members.count; m++) {
        double measured, expected = ideal_of(j, m, &measured), alone = 0;
        const job_role *role = job_role_of(&j->roles, member_at(j, m)->rank);
        j->kept[m] = true;
        if (each) alone = simulate(j, true) / ideal;
        j->kept[m] = false;
        hd_table_add_int(b, member_at(j, m)->rank);
        report_cell_int(b, member_at(j, m)->device);
        report_cell_int(b, role && role->at[JOB_TENSOR] >= 0 ? role->at[JOB_TENSOR] : HD_NO_NUMBER);
        report_cell_int(b, role && role->at[JOB_PIPELINE] >= 0 ? role->at[JOB_PIPELINE] : HD_NO_NUMBER);
        hd_table_add_int(b, llround(measured));
        hd_table_add_int(b, llround(expected));
        gpu_cell_decimal(b, alone, each);
    }
    hd_table_sort(b, "", "slowdown");
}

static int64_t stage_of(const slow_job *j, uint32_t member)
{
    const job_role *role = job_role_of(&j->roles, member_at(j, member)->rank);
    return role ? role->at[JOB_PIPELINE] : -1;
}

static void add_stages(hd_table_builder *b, slow_job *j, double ideal)
{
    int64_t last = -1;
    for (uint32_t m = 0; m < j->members.count; m++) last = stage_of(j, m) > last ? stage_of(j, m) : last;
    for (int64_t stage = 0; stage <= last; stage++) {
        uint64_t count = 0;
        for (uint32_t m = 0; m < j->members.count; m++) count += j->kept[m] = stage_of(j, m) == stage;
        if (!count) continue;
        hd_table_add_int(b, stage);
        hd_table_add_count(b, count);
        gpu_cell_decimal(b, simulate(j, true) / ideal, ideal > 0);
    }
    keep(j, false);
}

static hd_status add_operations(hd_table_builder *b, slow_job *j, double ideal, hd_error *err)
{
    uint64_t *counts = calloc((size_t)j->texts.count + 1, sizeof *counts);
    if (!counts) return HD_NOMEM(err);
    for (uint32_t c = 0; c < j->joined_count; c++) {
        uint32_t operation = operation_of(j, &j->collectives[c]);
        if (operation < j->texts.count && j->collectives[c].count) counts[operation]++;
    }
    for (uint32_t text = 0; text < j->texts.count; text++) {
        if (!counts[text]) continue;
        j->kept_operation = text;
        gpu_cell_text(b, &j->texts, text);
        hd_table_add_count(b, counts[text]);
        gpu_cell_decimal(b, simulate(j, true) / ideal, ideal > 0);
    }
    free(counts);
    j->kept_operation = NO_OPERATION;
    hd_table_sort(b, "", "slowdown");
    return HD_OK;
}

/* ---- ranks as their peers ---- */

/* "37=median" */
static bool parse_rank(int64_t *out, const char *text)
{
    const char *equals = strchr(text, '=');
    return equals && !strcmp(equals + 1, "median") && hd_fixed_parse_whole(out, text, (size_t)(equals - text));
}

/* Into is_fixed, by member. */
static hd_status find_fixed(bool *is_fixed, const slow_job *j, const hd_option_texts *of, hd_error *err)
{
    for (size_t i = 0; i < of->count; i++) {
        int64_t rank;
        bool any = false;
        if (!parse_rank(&rank, of->items[i]))
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "rank: '%.40s' is no RANK=median, such as 37=median", of->items[i]);
        for (uint32_t m = 0; m < j->members.count; m++) {
            if (member_at(j, m)->rank == rank) any = is_fixed[m] = true;
        }
        if (!any)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "rank: the job has no collectives of rank %lld", (long long)rank);
    }
    return HD_OK;
}

typedef struct peer_kind {
    int64_t stage;
    uint32_t place, operation, step, zero;
} peer_kind;

static uint32_t peers_of(gpu_groups *peers, const slow_job *j, size_t visit)
{
    const gap_kind *kind = gpu_group_key(&j->gap_kinds, j->visits[visit].kind);
    const peer_kind key = {kind->pp, kind->place, kind->operation, j->steps[visit], 0};
    return gpu_group(peers, &key);
}

/* Their gaps become the median of those of all others of the stage at the same place in the same step; *alone: those of
 * which there is none stay. */
static bool fix_gaps(slow_job *j, const bool *is_fixed, uint64_t *alone)
{
    gpu_groups peers = {.key_size = sizeof(peer_kind)};
    gpu_value *values = malloc((j->count + 1) * sizeof *values);
    size_t used = 0;
    bool fine = values != NULL;
    for (uint32_t m = 0; m < j->members.count; m++) {
        for (size_t i = j->list[m].first; i < j->list[m + 1].first && !is_fixed[m] && fine; i++) {
            values[used] = (gpu_value){llround((double)j->visits[i].gap), peers_of(&peers, j, i)};
            fine = values[used++].group != HD_NONE;
        }
    }
    uint32_t known = peers.count;
    gpu_stats *stats = calloc((size_t)known + 1, sizeof *stats);
    fine = fine && stats && gpu_stats_of(stats, known, values, used, UINT64_MAX);
    for (uint32_t m = 0; m < j->members.count; m++) {
        for (size_t i = j->list[m].first; i < j->list[m + 1].first && is_fixed[m] && fine; i++) {
            uint32_t of = peers_of(&peers, j, i);
            fine = of != HD_NONE;
            if (of < known) j->visits[i].gap = stats[of].median;
            *alone += of >= known;
        }
    }
    gpu_groups_deinit(&peers);
    free(values);
    free(stats);
    return fine;
}

/* The job as measured, but for these ranks. Last, since their gaps change. */
static hd_status add_fixed(hd_table_builder *b, slow_job *j, const hd_option_texts *of, double replayed, double error,
                           hd_error *err)
{
    uint64_t alone = 0, count = 0;
    if (!of->count) return HD_OK;
    bool *is_fixed = calloc((size_t)j->members.count + 1, sizeof *is_fixed);
    if (!is_fixed) return HD_NOMEM(err);
    hd_status status = find_fixed(is_fixed, j, of, err);
    if (status == HD_OK && !fix_gaps(j, is_fixed, &alone)) status = HD_NOMEM(err);
    for (uint32_t m = 0; m < j->members.count; m++) count += is_fixed[m];
    free(is_fixed);
    if (status != HD_OK) return status;
    keep(j, true);
    double changed = simulate(j, false);
    hd_table_add_count(b, count);
    hd_table_add_int(b, llround(replayed));
    hd_table_add_int(b, llround(changed));
    gpu_cell_decimal(b, 100 * (changed - replayed) / replayed, replayed > 0);
    hd_table_add_int(b, llround(changed * error / 100));
    hd_table_add_count(b, alone);
    return HD_OK;
}

static uint64_t count_joined(const slow_job *j)
{
    uint64_t count = 0;
    for (uint32_t c = 0; c < j->joined_count; c++) count += j->collectives[c].count > 0;
    return count;
}

static hd_status add_rows(slow_job *j, hd_table_builder **builders, const hd_option_texts *ranks, hd_error *err)
{
    hd_table_builder *check = builders[CHECK], *what_if = builders[SLOWDOWN];
    if (!j->count) return HD_OK;
    keep(j, true);
    double measured = measure(j), replayed = simulate(j, false);
    if (isnan(replayed))
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                            "ranks have their collectives in different orders, or one twice: what would have been "
                            "cannot be told");
    double error = measured > 0 ? 100 * fabs(replayed - measured) / measured : 0;
    if (error > PERCENT_MAX)
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                            "the simulation takes %.6f s where %.6f s were measured, %.1f %% off: what would have "
                            "been cannot be told above %d %%",
                            replayed / 1e9, measured / 1e9, error, (int)PERCENT_MAX);
    hd_table_add_count(check, j->members.count);
    hd_table_add_count(check, count_joined(j));
    hd_table_add_count(check, j->unmatched);
    hd_table_add_int(check, llround(measured));
    hd_table_add_int(check, llround(replayed));
    hd_table_add_decimal(check, error);
    keep(j, false);
    double ideal = simulate(j, true), transfers = simulate(j, false);
    hd_table_add_int(what_if, llround(replayed));
    hd_table_add_int(what_if, llround(ideal));
    gpu_cell_decimal(what_if, replayed / ideal, ideal > 0);
    gpu_cell_decimal(what_if, transfers / ideal, ideal > 0);
    add_members(builders[RANKS], j, ideal);
    add_stages(builders[STAGES], j, ideal);
    HD_TRY(add_operations(builders[OPERATIONS], j, ideal, err));
    return add_fixed(builders[AS_PEERS], j, ranks, replayed, error, err);
}

/* ---- the report ---- */

static const hd_report_column check_columns[] = {
    {"ranks", HD_VALUE_COUNT, "and devices that have collectives"},
    {"collectives", HD_VALUE_COUNT, "that were simulated, but for those unmatched"},
    {"unmatched", HD_VALUE_COUNT,
     "collectives of one rank each that are not joined, as the traces do not number them and ranks of the group have "
     "others in that step: they take as long as measured; above 5 % of all the report is refused"},
    {"measured", HD_VALUE_DURATION, "mean over ranks, from the end of the first collective to that of the last"},
    {"replayed", HD_VALUE_DURATION, "the same, simulated from what was measured"},
    {"error", HD_VALUE_DECIMAL, "between them, in percent; above 5 the report is refused"},
    {0}};
static const hd_report_column slowdown_columns[] = {
    {"replayed", HD_VALUE_DURATION, "as of self_check"},
    {"ideal", HD_VALUE_DURATION, "where every computation takes the mean, and every transfer the median, of its kind"},
    {"slowdown", HD_VALUE_DECIMAL, "S: replayed / ideal"},
    {"transfer_slowdown", HD_VALUE_DECIMAL, "where only transfers are as measured, over ideal"},
    {0}};
static const hd_report_column rank_columns[] = {
    {"rank", HD_VALUE_INT, "of the job; where it is not known, the place of the file"},
    {"device", HD_VALUE_INT, "of the GPU"},
    {"tp", HD_VALUE_INT, "position in its tensor-parallel group, as of report topology"},
    {"pp", HD_VALUE_INT, "pipeline stage, likewise"},
    {"compute", HD_VALUE_DURATION, "sum of what lies between its collectives"},
    {"ideal_compute", HD_VALUE_DURATION, "the same by the means"},
    {"slowdown", HD_VALUE_DECIMAL, "of the job where only this rank is as measured; null: too many to simulate each"},
    {0}};
static const hd_report_column stage_columns[] = {
    {"pp", HD_VALUE_INT, "pipeline stage, as of report topology"},
    {"ranks", HD_VALUE_COUNT, "and devices of it"},
    {"slowdown", HD_VALUE_DECIMAL, "of the job where only these are as measured"},
    {0}};
static const hd_report_column operation_columns[] = {
    {"operation", HD_VALUE_STRING, "of collectives"},
    {"collectives", HD_VALUE_COUNT, "of it"},
    {"slowdown", HD_VALUE_DECIMAL, "of the job where only these, and what ranks compute before them, are as measured"},
    {0}};
static const hd_report_column peer_columns[] = {
    {"ranks", HD_VALUE_COUNT, "and devices that --rank names"},
    {"before", HD_VALUE_DURATION, "replayed, as of self_check"},
    {"after", HD_VALUE_DURATION,
     "where these compute as long as the median of the others of their stage, at the same place of the same step"},
    {"change_percent", HD_VALUE_DECIMAL, "of what was before"},
    {"uncertainty", HD_VALUE_DURATION, "what `after` may be off by: the error of the check, of it"},
    {"alone", HD_VALUE_COUNT, "computations that no other rank has there, and that stay as measured"},
    {0}};
static const hd_report_column lost_columns[] = {JOB_COLUMNS_LOST};

static const hd_report_table_about tables[] = {
    {.name = "self_check", .meaning = "one row: the simulation against what was measured", .columns = check_columns},
    {.name = "slowdown", .meaning = "one row: the job without stragglers", .columns = slowdown_columns},
    {.name = "ranks", .meaning = "a row per rank and device, the costliest first", .columns = rank_columns},
    {.name = "stages", .meaning = "a row per pipeline stage", .columns = stage_columns},
    {.name = "operations",
     .meaning = "a row per kind of collective, the costliest first",
     .columns = operation_columns},
    {.name = "as_peers", .meaning = "with --rank: one row", .columns = peer_columns},
    {.name = "lost", .meaning = "what of the summaries cannot be read", .columns = lost_columns},
    {0}};

static void deinit(slow_job *j)
{
    gpu_groups *groups[] = {&j->members, &j->groups, &j->collective_keys, &j->gap_kinds, &j->transfer_kinds};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) gpu_groups_deinit(groups[i]);
    void *lists[] = {j->ops,  j->visits,    j->steps, j->list, j->collectives, j->by_collective, j->group_members,
                     j->gaps, j->transfers, j->next,  j->now,  j->stack,       j->kept};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    job_roles_deinit(&j->roles);
    gpu_texts_deinit(&j->texts);
}

typedef struct slowdown_options {
    hd_option_texts ranks;
} slowdown_options;

static hd_status slowdown_of(hd_report *out, const hd_job *of, const slowdown_options *options, hd_error *err)
{
    hd_table_builder *builders[TABLES] = {NULL};
    slow_job j = {.of = of,
                  .wants_steps = options->ranks.count > 0,
                  .kept_operation = NO_OPERATION,
                  .members.key_size = sizeof(member_key),
                  .groups.key_size = sizeof(group_key),
                  .collective_keys.key_size = sizeof(collective_key),
                  .gap_kinds.key_size = sizeof(gap_kind),
                  .transfer_kinds.key_size = sizeof(transfer_kind)};
    hd_status status = HD_OK;
    *out = (hd_report){0};
    for (size_t i = 0; i < TABLES && status == HD_OK; i++)
        status = report_builder(&builders[i], &report_slowdown_about, tables[i].name, err);
    if (status == HD_OK) status = job_roles_init(&j.roles, &of, 1, false, builders[LOST], err);
    if (status == HD_OK) status = read_ops(&j, builders[LOST], err);
    if (status == HD_OK && !(find_ideals(&j) && make_lists(&j))) status = HD_NOMEM(err);
    if (status == HD_OK) status = add_rows(&j, builders, &options->ranks, err);
    for (size_t i = 0; i < TABLES && status == HD_OK; i++) {
        hd_table_builder *table = builders[i];
        builders[i] = NULL;
        status = report_add(out, table, err);
    }
    if (status != HD_OK) hd_report_free(out);
    for (size_t i = 0; i < TABLES; i++) hd_table_builder_free(builders[i]);
    deinit(&j);
    return status;
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    hd_job *own = NULL;
    HD_TRY(job_of_input(&own, input, err));
    hd_status status = slowdown_of(out, own ? own : input->job, options, err);
    hd_job_free(own);
    return status;
}

static const hd_option_about options[] = {
    {"rank", HD_OPTION_TEXTS, NULL,
     "RANK=median: how long the job would take if that rank computed like the median of its peers; several",
     offsetof(slowdown_options, ranks)},
    {0}};

const hd_report_about report_slowdown_about = {
    .name = "slowdown",
    .title = "how fast a job would be without stragglers, from its collectives",
    .text =
        "Looks at the ranks of a job together: all FILEs, traces or summaries (.hds), are one job. What lies between "
        "two collectives of a rank is its computation; a collective begins with its last rank, and takes as long "
        "as the shortest duration over them. The job is simulated as it was measured, and with the mean of each "
        "computation among ranks of the same role and steps. Computation that ran while its rank waited counts as "
        "waiting. Collectives that traces do not number are counted within steps, and joined only where the ranks of "
        "their group have as many in that step. The self-check comes first; a job whose simulation is more than 5 % "
        "off, or of whose collectives more are not joined, is refused.",
    .of_job = true,
    .options = options,
    .options_size = sizeof(slowdown_options),
    .tables = tables,
    .run = run,
};
