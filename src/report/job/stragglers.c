/* stragglers.c - collectives of several ranks matched by group and sequence: who came last, and what does not match
 *
 * All are sorted by group, sequence and member; a collective is then a run of them, and a group a run of collectives.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/job/cells.h"
#include "report/job/groups.h"
#include "report/job/roles.h"

typedef struct entry {
    int64_t rank, device; /* rank: or the place of the member */
    int64_t stream, sequence, start, duration, bytes, size, step_start;
    uint32_t group, operation, step; /* texts; HD_NONE: none */
    uint32_t member;                 /* of `members` */
    bool is_point_to_point, is_counted;
} entry;

typedef struct member {
    int64_t rank, device;
    uint32_t host; /* text */
    uint32_t role; /* those of the same tensor-parallel position and pipeline stage have one */
    int64_t tp, pp;
    uint64_t compared, last;
    gpu_i128 late, waited, transfer;
    const entry *newest; /* of the group that is looked at; NULL: it is not in it */
} member;

typedef struct job {
    const hd_job *of;
    bool wants_each;
    gpu_texts texts;
    entry *entries;
    size_t count, capacity;
    member *members;
    size_t member_count;
    job_lateness steps;
    job_bandwidths bandwidths;
    hd_table_builder *stragglers, *collectives, *mismatched, *last, *by_step, *persistent, *bandwidth, *waits, *shares,
        *lost;
} job;

static int compare_members(const entry *x, const entry *y)
{
    int order = job_compare_numbers(x->rank, y->rank);
    return order ? order : job_compare_numbers(x->device, y->device);
}

/* The unnamed come first, by stream; names by bytes. */
static int compare_groups(const job *j, const entry *x, const entry *y)
{
    int order = (x->group != HD_NONE) - (y->group != HD_NONE);
    if (!order && x->group == HD_NONE) order = job_compare_numbers(x->stream, y->stream);
    if (!order && x->group != y->group) {
        hd_string a = gpu_text_of(&j->texts, x->group), b = gpu_text_of(&j->texts, y->group);
        order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
        if (!order) order = job_compare_numbers((int64_t)a.size, (int64_t)b.size);
    }
    return order ? order : x->is_point_to_point - y->is_point_to_point;
}

static int compare_entries(const job *j, const entry *x, const entry *y)
{
    int order = compare_groups(j, x, y);
    if (!order) order = job_compare_numbers(x->sequence, y->sequence);
    return order ? order : compare_members(x, y);
}

/* ---- all of them, and their members ---- */

enum {
    RANK,
    DEVICE,
    STEP,
    STEP_START,
    GROUP,
    STREAM,
    POINT,
    SEQUENCE,
    COUNTED,
    OPERATION_NAME,
    SIZE,
    BYTES_,
    START,
    END,
    COLUMNS
};
static const job_wanted wanted[COLUMNS] = {{"rank", HD_VALUE_INT},
                                           {"device", HD_VALUE_INT},
                                           {"step", HD_VALUE_STRING},
                                           {"step_start", HD_VALUE_TIME},
                                           {"group", HD_VALUE_STRING},
                                           {"stream", HD_VALUE_INT},
                                           {"point_to_point", HD_VALUE_BOOL},
                                           {"sequence", HD_VALUE_INT},
                                           {"counted", HD_VALUE_BOOL},
                                           {"operation", HD_VALUE_STRING},
                                           {"size", HD_VALUE_INT},
                                           {"bytes", HD_VALUE_COUNT},
                                           {"start", HD_VALUE_TIME},
                                           {"end", HD_VALUE_TIME}};

static bool add_entry(job *j, const job_cells *c, size_t row, int64_t place)
{
    if (!hd_grow((void **)&j->entries, &j->capacity, j->count, sizeof *j->entries)) return false;
    int64_t rank = job_int(c, row, RANK), start = job_int(c, row, START), bytes = job_int(c, row, BYTES_);
    entry *e = &j->entries[j->count++];
    *e = (entry){.rank = rank == HD_NO_NUMBER ? place : rank,
                 .device = job_int(c, row, DEVICE),
                 .stream = job_int(c, row, STREAM),
                 .sequence = job_int(c, row, SEQUENCE),
                 .start = start,
                 .duration = gpu_time(job_int(c, row, END)) - gpu_time(start),
                 .bytes = bytes,
                 .size = job_int(c, row, SIZE),
                 .step_start = job_int(c, row, STEP_START),
                 .is_point_to_point = job_int(c, row, POINT) == 1,
                 .is_counted = job_int(c, row, COUNTED) == 1};
    return job_text(&e->group, &j->texts, c, row, GROUP) &&
           job_text(&e->operation, &j->texts, c, row, OPERATION_NAME) && job_text(&e->step, &j->texts, c, row, STEP);
}

static hd_status add_entries(job *j, size_t at, hd_error *err)
{
    job_cells cells;
    HD_TRY(job_cells_of(&cells, j->of, at, "collectives", wanted, COLUMNS, j->lost, err));
    bool fine = true;
    for (size_t row = 0; row < cells.rows && fine; row++) fine = add_entry(j, &cells, row, (int64_t)at);
    hd_table_free(cells.table);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* The host of a rank: that of the member that tells one, of several the first. */
static bool find_hosts(job *j)
{
    for (size_t i = 0, m = 0; i < j->member_count; i++) {
        member *of = &j->members[i];
        of->host = HD_NONE;
        for (; m < hd_job_count(j->of) && hd_job_at(j->of, m)->rank != HD_NO_NUMBER &&
               hd_job_at(j->of, m)->rank < of->rank;)
            m++;
        if (m >= hd_job_count(j->of) || hd_job_at(j->of, m)->rank != of->rank) continue;
        hd_string host = hd_job_at(j->of, m)->host;
        if (!host.data) continue;
        of->host = gpu_text(&j->texts, host.data, host.size);
        if (of->host == HD_NONE) return false;
    }
    return true;
}

static hd_status find_entries(job *j, hd_error *err)
{
    for (size_t m = 0; j->of && m < hd_job_count(j->of); m++) HD_TRY(add_entries(j, m, err));
    entry *spare = malloc((j->count + 1) * sizeof *spare);
    j->members = calloc(j->count + 1, sizeof *j->members);
    if (!spare || !j->members) {
        free(spare);
        return HD_NOMEM(err);
    }
    if (j->count) HD_SORT_RUNS(j->entries, spare, j->count, x, y, compare_members(x, y) < 0);
    for (size_t i = 0; i < j->count; i++) {
        entry *e = &j->entries[i];
        if (!i || compare_members(e - 1, e) != 0)
            j->members[j->member_count++] = (member){.rank = e->rank, .device = e->device};
        e->member = (uint32_t)(j->member_count - 1);
    }
    if (j->count) HD_SORT_RUNS(j->entries, spare, j->count, x, y, compare_entries(j, x, y) < 0);
    free(spare);
    return find_hosts(j) ? HD_OK : HD_NOMEM(err);
}

/* Roles: what traces tell of process groups. What cannot be read of them is told with the collectives. */
static hd_status find_roles(job *j, hd_error *err)
{
    job_roles roles = {0};
    gpu_groups keys = {.key_size = 2 * sizeof(int64_t)};
    hd_table_builder *lost;
    HD_TRY(report_builder(&lost, &report_stragglers_about, "lost", err));
    hd_status status = j->of ? job_roles_init(&roles, &j->of, 1, false, lost, err) : HD_OK;
    for (size_t i = 0; status == HD_OK && i < j->member_count; i++) {
        const job_role *role = job_role_of(&roles, j->members[i].rank);
        member *m = &j->members[i];
        m->tp = role && role->at[JOB_TENSOR] >= 0 ? role->at[JOB_TENSOR] : HD_NO_NUMBER;
        m->pp = role && role->at[JOB_PIPELINE] >= 0 ? role->at[JOB_PIPELINE] : HD_NO_NUMBER;
        m->role = gpu_group(&keys, (const int64_t[]){m->tp, m->pp});
        if (m->role == HD_NONE) status = HD_NOMEM(err);
    }
    gpu_groups_deinit(&keys);
    job_roles_deinit(&roles);
    hd_table_builder_free(lost);
    return status;
}

/* ---- cells ---- */

static void add_group(hd_table_builder *b, const job *j, const entry *e)
{
    gpu_cell_text(b, &j->texts, e->group);
    report_cell_int(b, e->group != HD_NONE ? HD_NO_NUMBER : e->stream);
    hd_table_add_bool(b, e->is_point_to_point);
}

static void add_member(hd_table_builder *b, const member *m)
{
    hd_table_add_int(b, m->rank);
    report_cell_int(b, m->device);
}

static void add_defect(job *j, const entry *of, const char *defect, const member *first, uint64_t count)
{
    if (!count) return;
    add_group(j->mismatched, j, of);
    report_cell_int(j->mismatched, of->sequence);
    hd_table_add_text(j->mismatched, defect);
    add_member(j->mismatched, first);
    hd_table_add_count(j->mismatched, count);
}

/* ---- one collective ---- */

enum { DOUBLE, OPERATION, BYTES, GROUP_SIZE, DEFECTS };
static const char *const defect_names[DEFECTS] = {"double", "operation", "bytes", "size"};

/* Whether the durations of the run e[0 … count) can be compared. */
static bool check_run(job *j, const entry *e, size_t count)
{
    uint64_t counts[DEFECTS] = {0};
    const entry *firsts[DEFECTS] = {e, e, e, e};
    for (size_t i = 1; i < count; i++) {
        const bool has[DEFECTS] = {e[i].member == e[i - 1].member, e[i].operation != e->operation,
                                   e[i].bytes != e->bytes, e[i].size != e->size};
        for (int d = 0; d < DEFECTS; d++) {
            if (has[d] && !counts[d]++) firsts[d] = &e[i];
        }
    }
    for (int d = 0; d < DEFECTS; d++) add_defect(j, e, defect_names[d], &j->members[firsts[d]->member], counts[d]);
    return count > 1 && !counts[DOUBLE] && !counts[OPERATION];
}

static void add_wait(job *j, const entry *e, int64_t shortest)
{
    add_group(j->waits, j, e);
    report_cell_int(j->waits, e->sequence);
    add_member(j->waits, &j->members[e->member]);
    gpu_cell_text(j->waits, &j->texts, e->step);
    hd_table_add_int(j->waits, e->duration - shortest);
    hd_table_add_int(j->waits, shortest);
}

static void add_collective(job *j, const entry *e, size_t count, const entry *last, int64_t late)
{
    hd_table_builder *b = j->collectives;
    double factor;
    bool counted = false, known = e->bytes != HD_NO_NUMBER && last->duration > 0;
    for (size_t i = 0; i < count; i++) counted |= e[i].is_counted;
    add_group(b, j, e);
    report_cell_int(b, e->sequence);
    hd_table_add_bool(b, counted);
    gpu_cell_text(b, &j->texts, e->operation);
    hd_table_add_count(b, count);
    add_member(b, &j->members[last->member]);
    hd_table_add_int(b, late);
    hd_table_add_int(b, last->duration);
    gpu_cell_count(b, (uint64_t)e->bytes, e->bytes != HD_NO_NUMBER);
    known = known && e->operation != HD_NONE &&
            gpu_bus_factor(&factor, gpu_text_of(&j->texts, e->operation),
                           e->size != HD_NO_NUMBER ? e->size : (int64_t)count);
    gpu_cell_decimal(b, known ? (double)e->bytes * factor / (double)last->duration : 0, known);
}

static bool compare_run(job *j, const entry *e, size_t count)
{
    const entry *last = e;
    int64_t longest = e->duration;
    for (size_t i = 0; i < count; i++) {
        if (e[i].duration < last->duration) last = &e[i];
        if (e[i].duration > longest) longest = e[i].duration;
    }
    int64_t shortest = last->duration;
    job_transfer transfer = {.size = e->size != HD_NO_NUMBER ? e->size : (int64_t)count,
                             .bytes = e->bytes,
                             .operation = e->operation,
                             .shortest = shortest};
    bool fine = true;
    for (size_t i = 0; i < count && fine; i++) {
        member *m = &j->members[e[i].member];
        int64_t late = longest - e[i].duration, waited = e[i].duration - shortest;
        m->compared++;
        transfer.time += e[i].duration;
        transfer.waited += waited;
        m->late += late;
        m->waited += waited;
        m->transfer += shortest;
        if (j->waits) add_wait(j, &e[i], shortest);
        if (e[i].step != HD_NONE)
            fine = job_lateness_add(&j->steps, e[i].member, e[i].step, e[i].step_start, late, waited);
    }
    j->members[last->member].last++;
    add_collective(j, e, count, last, longest - shortest);
    return fine && job_bandwidth_add(&j->bandwidths, &transfer);
}

/* ---- one group ---- */

/* in: the members of the group, sorted. e[0 … count): a collective. */
static void find_missing(job *j, const entry *e, size_t count, const uint32_t *in, size_t in_count)
{
    uint64_t missing = 0;
    const member *first = NULL;
    for (size_t i = 0, at = 0; i < in_count; i++) {
        while (at < count && e[at].member < in[i]) at++;
        if (at < count && e[at].member == in[i]) continue;
        if (!missing++) first = &j->members[in[i]];
    }
    add_defect(j, e, "missing", first, missing);
}

static void add_last(job *j, const uint32_t *in, size_t in_count, int64_t highest)
{
    for (size_t i = 0; i < in_count; i++) {
        member *m = &j->members[in[i]];
        add_member(j->last, m);
        add_group(j->last, j, m->newest);
        report_cell_int(j->last, m->newest->sequence);
        gpu_cell_text(j->last, &j->texts, m->newest->operation);
        hd_table_add_count(j->last, (uint64_t)highest - (uint64_t)m->newest->sequence);
        m->newest = NULL;
    }
}

static int by_number(const void *x, const void *y)
{
    return job_compare_numbers(*(const uint32_t *)x, *(const uint32_t *)y);
}

static bool look_at_group(job *j, const entry *e, size_t count)
{
    size_t in_count = 0, end;
    uint32_t *in = malloc(count * sizeof *in);
    if (!in) return false;
    for (size_t i = 0; i < count; i++) {
        member *m = &j->members[e[i].member];
        if (!m->newest) in[in_count++] = e[i].member;
        m->newest = &e[i];
    }
    qsort(in, in_count, sizeof *in, by_number);
    bool fine = true;
    for (size_t i = 0; i < count && fine; i = end) {
        for (end = i + 1; end < count && e[end].sequence == e[i].sequence;) end++;
        if (check_run(j, e + i, end - i)) fine = compare_run(j, e + i, end - i);
        find_missing(j, e + i, end - i, in, in_count);
    }
    add_last(j, in, in_count, e[count - 1].sequence);
    free(in);
    return fine;
}

/* ---- members among one another ---- */

static double mean_late(const member *m)
{
    return (double)m->late / (double)m->compared;
}

static int compare_roles(const member *x, const member *y)
{
    return job_compare_numbers(x->role, y->role);
}

/* Of peers: where their spread is 0, nobody stands out. */
static bool score_peers(double *z, const member *const *peers, size_t count, const member *first)
{
    double *values = malloc((count + 1) * sizeof *values), middle, spread;
    size_t compared = 0;
    if (!values) return false;
    for (size_t i = 0; i < count; i++)
        if (peers[i]->compared) values[compared++] = mean_late(peers[i]);
    bool fine = job_spread(&middle, &spread, values, compared);
    free(values);
    for (size_t i = 0; i < count && fine; i++)
        z[peers[i] - first] = peers[i]->compared && spread > 0 ? (mean_late(peers[i]) - middle) / spread : NAN;
    return fine;
}

/* By member: how it stands out among those of its role. */
static bool score_members(double *z, const job *j)
{
    const member **list = malloc((j->member_count + 1) * sizeof *list);
    const member **spare = malloc((j->member_count + 1) * sizeof *spare);
    size_t count = j->member_count, end;
    bool fine = list && spare;
    for (size_t i = 0; fine && i < count; i++) list[i] = &j->members[i];
    if (fine && count) HD_SORT_RUNS(list, spare, count, x, y, compare_roles(*x, *y) < 0);
    for (size_t i = 0; fine && i < count; i = end) {
        for (end = i + 1; end < count && compare_roles(list[end], list[i]) == 0;) end++;
        fine = score_peers(z, list + i, end - i, j->members);
    }
    free(list);
    free(spare);
    return fine;
}

static bool add_members(job *j)
{
    double *z = malloc((j->member_count + 1) * sizeof *z);
    bool fine = z && score_members(z, j);
    for (size_t i = 0; i < j->member_count && fine; i++) {
        const member *m = &j->members[i];
        add_member(j->stragglers, m);
        hd_table_add_count(j->stragglers, m->compared);
        hd_table_add_count(j->stragglers, m->last);
        hd_table_add_int(j->stragglers, gpu_whole(m->late));
        hd_table_add_int(j->stragglers, gpu_whole(m->waited));
        hd_table_add_int(j->stragglers, gpu_whole(m->transfer));
        gpu_cell_decimal(j->stragglers, z[i], !isnan(z[i]));
        gpu_cell_text(j->stragglers, &j->texts, m->host);
        report_cell_int(j->stragglers, m->tp);
        report_cell_int(j->stragglers, m->pp);
    }
    free(z);
    return fine;
}

/* Sums over members of one host, pipeline stage or tensor-parallel position. */
typedef struct share {
    uint32_t host;
    int64_t number;
    uint64_t members, compared, last;
    gpu_i128 late;
} share;

static void add_share(job *j, const char *by, const share *s, double z)
{
    hd_table_add_text(j->shares, by);
    if (s->host != HD_NONE) {
        gpu_cell_text(j->shares, &j->texts, s->host);
    } else {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)s->number);
        hd_table_add_text(j->shares, text);
    }
    hd_table_add_count(j->shares, s->members);
    hd_table_add_count(j->shares, s->compared);
    hd_table_add_count(j->shares, s->last);
    hd_table_add_int(j->shares, gpu_whole(s->late));
    hd_table_add_int(j->shares, s->compared ? gpu_nearest(s->late, (gpu_i128)s->compared) : 0);
    gpu_cell_decimal(j->shares, z, !isnan(z));
}

enum { BY_HOST, BY_STAGE, BY_POSITION, SHARES };
static const char *const share_names[SHARES] = {"host", "pp", "tp"};

static bool add_shares_by(job *j, int by)
{
    gpu_groups keys = {.key_size = sizeof(int64_t)};
    share *list = calloc(j->member_count + 1, sizeof *list);
    double *values = malloc((j->member_count + 1) * sizeof *values), middle = 0, spread = 0;
    bool fine = list && values;
    for (size_t i = 0; fine && i < j->member_count; i++) {
        const member *m = &j->members[i];
        int64_t key = by == BY_HOST ? (m->host == HD_NONE ? HD_NO_NUMBER : m->host) : by == BY_STAGE ? m->pp : m->tp;
        if (key == HD_NO_NUMBER) continue;
        uint32_t known = keys.count, at = gpu_group(&keys, &key);
        fine = at != HD_NONE;
        if (!fine) break;
        if (at == known) list[at] = (share){.host = by == BY_HOST ? m->host : HD_NONE, .number = key};
        list[at].members++;
        list[at].compared += m->compared;
        list[at].last += m->last;
        list[at].late += m->late;
    }
    for (uint32_t i = 0; fine && i < keys.count; i++)
        values[i] = list[i].compared ? (double)list[i].late / (double)list[i].compared : 0;
    fine = fine && job_spread(&middle, &spread, values, keys.count);
    for (uint32_t i = 0; fine && keys.count > 1 && i < keys.count; i++)
        add_share(j, share_names[by], &list[i], spread > 0 ? (values[i] - middle) / spread : NAN);
    gpu_groups_deinit(&keys);
    free(list);
    free(values);
    return fine;
}

static bool add_shares(job *j)
{
    bool fine = true;
    for (int by = 0; by < SHARES && fine; by++) fine = add_shares_by(j, by);
    return fine;
}

/* ---- step by step ---- */

enum { STANDS_OUT = 3, STEPS_IN_A_ROW = 3 };

static void add_persistent(job *j, const job_late_step *first, size_t count)
{
    hd_table_builder *b = j->persistent;
    gpu_i128 late = 0;
    uint64_t compared = 0;
    double lowest = first->z;
    for (size_t i = 0; i < count; i++) {
        late += first[i].late;
        compared += first[i].compared;
        if (first[i].z < lowest) lowest = first[i].z;
    }
    add_member(b, &j->members[first->member]);
    gpu_cell_text(b, &j->texts, j->members[first->member].host);
    gpu_cell_text(b, &j->texts, first->step);
    gpu_cell_text(b, &j->texts, first[count - 1].step);
    hd_table_add_count(b, count);
    hd_table_add_int(b, gpu_whole(late));
    hd_table_add_int(b, gpu_nearest(late, (gpu_i128)compared));
    hd_table_add_decimal(b, lowest);
}

static void add_step(job *j, const job_late_step *s)
{
    add_member(j->by_step, &j->members[s->member]);
    gpu_cell_text(j->by_step, &j->texts, s->step);
    report_cell_int(j->by_step, s->start);
    hd_table_add_count(j->by_step, s->compared);
    hd_table_add_int(j->by_step, gpu_whole(s->late));
    hd_table_add_int(j->by_step, gpu_whole(s->waited));
    gpu_cell_decimal(j->by_step, s->z, !isnan(s->z));
}

static bool add_steps(job *j)
{
    uint32_t *roles = calloc(j->member_count + 1, sizeof *roles);
    for (size_t i = 0; roles && i < j->member_count; i++) roles[i] = j->members[i].role;
    bool fine = roles && job_lateness_finish(&j->steps, roles);
    size_t count = j->steps.keys.count, end;
    const job_late_step *list = j->steps.list;
    free(roles);
    for (size_t i = 0; i < count && fine; i++) add_step(j, &list[i]);
    for (size_t i = 0; i < count && fine; i = end) {
        for (end = i; end < count && list[end].member == list[i].member && list[end].z > STANDS_OUT;) end++;
        if (end - i >= STEPS_IN_A_ROW) add_persistent(j, list + i, end - i);
        if (end == i) end++;
    }
    return fine;
}

/* ---- the report ---- */

static hd_status make_tables(job *j, hd_error *err)
{
    const hd_report_about *about = &report_stragglers_about;
    HD_TRY(report_builder(&j->stragglers, about, "stragglers", err));
    HD_TRY(report_builder(&j->collectives, about, "collectives", err));
    HD_TRY(report_builder(&j->mismatched, about, "mismatched", err));
    HD_TRY(report_builder(&j->last, about, "last", err));
    HD_TRY(report_builder(&j->by_step, about, "steps", err));
    HD_TRY(report_builder(&j->persistent, about, "persistent", err));
    HD_TRY(report_builder(&j->bandwidth, about, "bandwidths", err));
    HD_TRY(report_builder(&j->shares, about, "shares", err));
    if (j->wants_each) HD_TRY(report_builder(&j->waits, about, "waits", err));
    return report_builder(&j->lost, about, "lost", err);
}

static hd_status compare_all(job *j, hd_error *err)
{
    size_t end;
    for (size_t i = 0; i < j->count; i = end) {
        for (end = i + 1; end < j->count && compare_groups(j, &j->entries[i], &j->entries[end]) == 0;) end++;
        if (!look_at_group(j, j->entries + i, end - i)) return HD_NOMEM(err);
    }
    return add_members(j) && add_shares(j) && add_steps(j) &&
                   job_bandwidth_rows(j->bandwidth, &j->bandwidths, &j->texts)
               ? HD_OK
               : HD_NOMEM(err);
}

static hd_status report_stragglers(hd_report *out, const hd_job *of, bool each, hd_error *err)
{
    job j = {.of = of, .wants_each = each};
    *out = (hd_report){0};
    hd_status status = make_tables(&j, err);
    if (status == HD_OK) status = find_entries(&j, err);
    if (status == HD_OK) status = find_roles(&j, err);
    if (status == HD_OK) status = compare_all(&j, err);
    hd_table_builder **builders[] = {&j.stragglers, &j.collectives, &j.mismatched, &j.last,  &j.by_step,
                                     &j.persistent, &j.shares,      &j.bandwidth,  &j.waits, &j.lost};
    for (size_t i = 0; i < sizeof builders / sizeof *builders && status == HD_OK; i++) {
        hd_table_builder *table = *builders[i];
        *builders[i] = NULL;
        if (table) status = report_add(out, table, err);
    }
    if (status != HD_OK) hd_report_free(out);
    for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) hd_table_builder_free(*builders[i]);
    job_lateness_deinit(&j.steps);
    job_bandwidths_deinit(&j.bandwidths);
    gpu_texts_deinit(&j.texts);
    free(j.entries);
    free(j.members);
    return status;
}

hd_status hd_report_stragglers(hd_report *out, const hd_job *of, hd_error *err)
{
    return report_stragglers(out, of, false, err);
}

typedef struct straggler_options {
    bool each;
} straggler_options;

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    hd_job *own = NULL;
    HD_TRY(job_of_input(&own, input, err));
    hd_status status = report_stragglers(out, own ? own : input->job, ((const straggler_options *)options)->each, err);
    hd_job_free(own);
    return status;
}

static const hd_option_about options[] = {
    {"each", HD_OPTION_FLAG, NULL, "make the table waits", offsetof(straggler_options, each)}, {0}};

const hd_report_about report_stragglers_about = {
    .name = "stragglers",
    .title = "which rank of a job came last to its collectives, and by how much",
    .text = "Looks at the ranks of a job together: all FILEs, traces or summaries (.hds), are one job. Whoever comes "
            "last to a collective "
            "waits for nobody in it, so that its duration there is the shortest: no common clock is needed. "
            "Collectives are matched by group and number, never by time.",
    .of_job = true,
    .options = options,
    .options_size = sizeof(straggler_options),
    .tables = job_straggler_tables,
    .run = run,
};
