/* stragglers.c - the members of a job that arrived last at its collectives, by how much, and mismatches */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/collectives/collectives.h"
#include "report/job/groups.h"
#include "report/job/meetings.h"
#include "report/job/roles.h"

typedef struct member {
    int64_t rank, device;
    uint32_t host, doubt; /* texts */
    uint32_t role;        /* members of the same tensor-parallel position and pipeline stage have the same one */
    int64_t tp, pp;
    uint64_t compared, last;
    gpu_i128 late, waited, transfer;
} member;

/* A row of the table waits. */
typedef struct wait {
    uint32_t place, member, step; /* place: in the order of instances; step: text */
    int64_t waited;
} wait;

typedef struct job {
    const hd_job *of;
    bool wants_each;
    job_meetings meetings;
    member *members; /* as in `meetings` */
    size_t member_count;
    uint32_t *roles; /* by member */
    job_lateness steps;
    job_late_step *run; /* of a member, that stand out */
    size_t run_count, run_capacity;
    wait *waited;
    size_t waited_count, waited_capacity;
    hd_table_builder *stragglers, *collectives, *mismatched, *last, *by_step, *persistent, *bandwidth, *waits, *shares,
        *lost;
} job;

/* ---- members ---- */

/* The host of a rank: that of the first member with one; and the defects that affect its times. */
static bool find_hosts(job *j, const uint32_t *doubts)
{
    for (size_t i = 0; i < j->member_count; i++) {
        member *of = &j->members[i];
        size_t m = j->of ? job_place_of_rank(j->of, of->rank) : 0;
        of->host = of->doubt = HD_NONE;
        if (!j->of || m == hd_job_count(j->of)) continue;
        if (!job_doubt_of_rank(&of->doubt, &j->meetings.texts, doubts, j->of, of->rank)) return false;
        hd_string host = hd_job_at(j->of, m)->host;
        if (!host.data) continue;
        of->host = gpu_text(&j->meetings.texts, host.data, host.size);
        if (of->host == HD_NONE) return false;
    }
    return true;
}

static hd_status make_members(job *j, hd_error *err)
{
    uint32_t *doubts = NULL;
    j->member_count = j->meetings.member_count;
    j->members = calloc(j->member_count + 1, sizeof *j->members);
    for (size_t i = 0; j->members && i < j->member_count; i++)
        j->members[i] = (member){.rank = j->meetings.members[i].rank, .device = j->meetings.members[i].device};
    j->steps.roles = j->roles = calloc(j->member_count + 1, sizeof *j->roles);
    hd_status status = j->members && j->roles ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && j->of)
        status = job_doubts_of_members(&doubts, &j->meetings.texts, j->of, GPU_FIGURE_TIME, err);
    if (status == HD_OK && !find_hosts(j, doubts)) status = HD_NOMEM(err);
    free(doubts);
    return status;
}

/* Process groups from the traces. */
static hd_status find_roles(job *j, hd_error *err)
{
    job_roles roles = {0};
    gpu_groups keys = {.key_size = 2 * sizeof(int64_t)};
    hd_status status = j->of ? job_roles_init(&roles, &j->of, 1, false, j->lost, err) : HD_OK;
    for (size_t i = 0; status == HD_OK && i < j->member_count; i++) {
        const job_role *role = job_role_of(&roles, j->members[i].rank);
        member *m = &j->members[i];
        m->tp = role && role->at[JOB_TENSOR] >= 0 ? role->at[JOB_TENSOR] : HD_NO_NUMBER;
        m->pp = role && role->at[JOB_PIPELINE] >= 0 ? role->at[JOB_PIPELINE] : HD_NO_NUMBER;
        m->role = j->roles[i] = gpu_group(&keys, (const int64_t[]){m->tp, m->pp});
        if (m->role == HD_NONE) status = HD_NOMEM(err);
    }
    gpu_groups_deinit(&keys);
    job_roles_deinit(&roles);
    return status;
}

/* ---- cells ---- */

static void add_group(hd_table_builder *b, const job *j, uint32_t group)
{
    const job_meeting_group *of = job_meeting_group_of(&j->meetings, group);
    gpu_cell_text(b, &j->meetings.texts, of->name);
    report_cell_int(b, of->stream);
    hd_table_add_bool(b, of->is_point_to_point);
}

static void add_member(hd_table_builder *b, const member *m)
{
    report_cell_int(b, m->rank);
    report_cell_int(b, m->device);
}

/* ---- collectives ---- */

static void add_defects(job *j)
{
    static const char *const names[JOB_DEFECTS] = {
        [JOB_DOUBLE] = "double",   [JOB_OPERATION] = "operation", [JOB_UNTIMED] = "untimed",
        [JOB_BYTES] = "bytes",     [JOB_SIZE] = "size",           [JOB_MISSING] = "missing",
        [JOB_COUNTED] = "counted", [JOB_SEVERAL] = "several",     [JOB_FEWER] = "fewer"};
    for (size_t i = 0; i < j->meetings.defect_count; i++) {
        const job_meeting_defect *d = &j->meetings.defects[i];
        const job_meeting *of = d->defect < JOB_SEVERAL ? &j->meetings.list[d->of] : NULL;
        add_group(j->mismatched, j, of ? of->group : d->of);
        report_cell_int(j->mismatched, of ? of->sequence : HD_NO_NUMBER);
        hd_table_add_text(j->mismatched, names[d->defect]);
        add_member(j->mismatched, &j->members[d->first]);
        hd_table_add_count(j->mismatched, d->members);
    }
}

static void add_collective(job *j, const job_meeting *of)
{
    hd_table_builder *b = j->collectives;
    const job_meeting_kind *kind = job_meeting_kind_of(&j->meetings, of);
    static const member nobody = {.rank = HD_NO_NUMBER, .device = HD_NO_NUMBER};
    uint32_t last = job_meeting_last(of);
    double factor;
    bool known = kind->bytes != HD_NO_NUMBER && of->shortest > 0 && kind->operation != HD_NONE &&
                 gpu_bus_factor_named(&factor, gpu_text_of(&j->meetings.texts, kind->operation),
                                      kind->size != HD_NO_NUMBER ? kind->size : (int64_t)of->count);
    add_group(b, j, of->group);
    report_cell_int(b, of->sequence);
    hd_table_add_bool(b, of->is_counted);
    gpu_cell_text(b, &j->meetings.texts, kind->operation);
    hd_table_add_count(b, of->count);
    add_member(b, last != HD_NONE ? &j->members[last] : &nobody);
    hd_table_add_int(b, of->longest - of->shortest);
    hd_table_add_int(b, of->shortest);
    gpu_cell_count(b, (uint64_t)kind->bytes, kind->bytes != HD_NO_NUMBER);
    gpu_cell_decimal(b, known ? (double)kind->bytes * factor / (double)of->shortest : 0, known);
}

static void add_collectives(job *j)
{
    for (size_t i = 0; i < j->meetings.count; i++) {
        const job_meeting *of = &j->meetings.list[j->meetings.order[i]];
        if (!of->is_compared) continue;
        if (job_meeting_last(of) != HD_NONE) j->members[of->last].last++;
        add_collective(j, of);
    }
}

static bool add_bandwidths(job *j)
{
    gpu_aggregate bandwidths;
    bool fine = true;
    job_bandwidths_init(&bandwidths, &j->meetings.texts);
    for (size_t i = 0; i < j->meetings.count && fine; i++) {
        const job_meeting *of = &j->meetings.list[j->meetings.order[i]];
        const job_meeting_kind *kind = job_meeting_kind_of(&j->meetings, of);
        const job_transfer transfer = {.size = kind->size != HD_NO_NUMBER ? kind->size : (int64_t)of->count,
                                       .bytes = kind->bytes,
                                       .operation = kind->operation,
                                       .shortest = of->shortest,
                                       .time = gpu_whole(of->time),
                                       .waited = gpu_whole(of->time - (gpu_i128)of->shortest * of->count)};
        if (of->is_compared) fine = gpu_aggregate_add(&bandwidths, &transfer);
    }
    fine = fine && gpu_aggregate_rows(j->bandwidth, &bandwidths);
    if (fine) hd_table_sort(j->bandwidth, "", "time");
    gpu_aggregate_deinit(&bandwidths);
    return fine;
}

/* Number of the group's collectives after number `sequence`; counted numbers have gaps. [first, end): of the group, in
 * order. */
static uint64_t count_behind(const job_meetings *m, size_t first, size_t end, int64_t sequence)
{
    size_t low = first, high = end;
    HD_PARTITION_POINT(low, high, at, m->list[m->order[at]].sequence <= sequence);
    const job_meeting *last = &m->list[m->order[end - 1]];
    return last->is_counted ? end - low : (uint64_t)last->sequence - (uint64_t)sequence;
}

/* Participants are by group, in the order of those of instances. */
static void add_lasts(job *j)
{
    const job_meetings *m = &j->meetings;
    size_t first = 0, last = 0;
    for (size_t i = 0, end; i < m->seat_count; i = end, first = last) {
        while (last < m->count && m->list[m->order[last]].group == m->seats[i].group) last++;
        for (end = i; end < m->seat_count && m->seats[end].group == m->seats[i].group; end++) {
            const job_seat *seat = &m->seats[end];
            add_member(j->last, &j->members[seat->member]);
            add_group(j->last, j, seat->group);
            report_cell_int(j->last, seat->sequence);
            gpu_cell_text(j->last, &m->texts, seat->operation);
            hd_table_add_count(j->last, count_behind(m, first, last, seat->sequence));
        }
    }
}

/* ---- how late each was ---- */

static bool add_arrival(void *user, const job_arrival *a)
{
    job *j = user;
    member *m = &j->members[a->member];
    m->compared++;
    m->late += a->late;
    m->waited += a->waited;
    m->transfer += a->shortest;
    if (j->waits) {
        if (!hd_grow((void **)&j->waited, &j->waited_capacity, j->waited_count, sizeof *j->waited)) return false;
        j->waited[j->waited_count++] = (wait){a->meeting, a->member, a->step, a->waited};
    }
    return a->step == HD_NONE || job_lateness_add(&j->steps, a);
}

/* In the order of collectives, then members. */
static bool add_waits(job *j)
{
    const job_meetings *m = &j->meetings;
    if (!j->waits) return true;
    uint32_t *places = malloc((m->count + 1) * sizeof *places);
    wait *spare = malloc((j->waited_count + 1) * sizeof *spare);
    bool fine = places && spare;
    for (size_t i = 0; i < m->count && fine; i++) places[m->order[i]] = (uint32_t)i;
    for (size_t i = 0; i < j->waited_count && fine; i++) j->waited[i].place = places[j->waited[i].place];
    if (fine && j->waited_count)
        HD_SORT_RUNS(j->waited, spare, j->waited_count, x, y,
                     x->place != y->place ? x->place < y->place : x->member < y->member);
    for (size_t i = 0; i < j->waited_count && fine; i++) {
        const wait *w = &j->waited[i];
        const job_meeting *of = &m->list[m->order[w->place]];
        add_group(j->waits, j, of->group);
        report_cell_int(j->waits, of->sequence);
        add_member(j->waits, &j->members[w->member]);
        gpu_cell_text(j->waits, &m->texts, w->step);
        hd_table_add_int(j->waits, w->waited);
        hd_table_add_int(j->waits, of->shortest);
    }
    free(places);
    free(spare);
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

/* Among peers: with a spread of 0, there are no outliers. */
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

/* By member: its deviation among those of its role. */
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
        gpu_cell_text(j->stragglers, &j->meetings.texts, m->host);
        report_cell_int(j->stragglers, m->tp);
        report_cell_int(j->stragglers, m->pp);
        gpu_cell_text(j->stragglers, &j->meetings.texts, m->doubt);
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

static void add_share(job *j, const char *by, const share *s, int64_t median, double z)
{
    hd_table_add_text(j->shares, by);
    if (s->host != HD_NONE) {
        gpu_cell_text(j->shares, &j->meetings.texts, s->host);
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
    hd_table_add_int(j->shares, median);
    gpu_cell_decimal(j->shares, z, !isnan(z));
}

enum { BY_HOST, BY_STAGE, BY_POSITION, SHARES };
static const char *const share_names[SHARES] = {"host", "pp", "tp"};

/* z is of medians over members: a host with one slow GPU is no slow host. */
static bool score_shares(job *j, int by, const share *list, uint32_t count, gpu_value *values, size_t value_count)
{
    gpu_stats *stats = calloc(count + 1, sizeof *stats);
    double *medians = malloc((count + 1) * sizeof *medians), middle, spread;
    bool fine = stats && medians && gpu_stats_of(stats, count, values, value_count, UINT64_MAX);
    for (uint32_t i = 0; fine && i < count; i++) medians[i] = (double)stats[i].median;
    fine = fine && job_spread(&middle, &spread, medians, count);
    for (uint32_t i = 0; fine && count > 1 && i < count; i++)
        add_share(j, share_names[by], &list[i], stats[i].median, spread > 0 ? (medians[i] - middle) / spread : NAN);
    free(stats);
    free(medians);
    return fine;
}

static bool add_shares_by(job *j, int by)
{
    gpu_groups keys = {.key_size = sizeof(int64_t)};
    share *list = calloc(j->member_count + 1, sizeof *list);
    gpu_value *values = malloc((j->member_count + 1) * sizeof *values);
    size_t count = 0;
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
        if (m->compared) values[count++] = (gpu_value){gpu_nearest(m->late, (gpu_i128)m->compared), at};
    }
    fine = fine && score_shares(j, by, list, keys.count, values, count);
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

/* Adds the previous outliers as a run, if it is long enough. */
static void end_run(job *j)
{
    hd_table_builder *b = j->persistent;
    const job_late_step *first = j->run;
    size_t count = j->run_count;
    gpu_i128 late = 0;
    uint64_t compared = 0;
    j->run_count = 0;
    if (count < STEPS_IN_A_ROW) return;
    double lowest = first->z;
    for (size_t i = 0; i < count; i++) {
        late += first[i].late;
        compared += first[i].compared;
        if (first[i].z < lowest) lowest = first[i].z;
    }
    add_member(b, &j->members[first->member]);
    gpu_cell_text(b, &j->meetings.texts, j->members[first->member].host);
    gpu_cell_text(b, &j->meetings.texts, first->step);
    gpu_cell_text(b, &j->meetings.texts, first[count - 1].step);
    hd_table_add_count(b, count);
    hd_table_add_int(b, gpu_whole(late));
    hd_table_add_int(b, gpu_nearest(late, (gpu_i128)compared));
    hd_table_add_decimal(b, lowest);
}

static bool add_step(void *user, const job_late_step *s)
{
    job *j = user;
    bool stands_out = s->z > STANDS_OUT;
    add_member(j->by_step, &j->members[s->member]);
    gpu_cell_text(j->by_step, &j->meetings.texts, s->step);
    report_cell_int(j->by_step, s->start);
    hd_table_add_count(j->by_step, s->compared);
    hd_table_add_int(j->by_step, s->late);
    hd_table_add_int(j->by_step, s->latest);
    hd_table_add_int(j->by_step, s->waited);
    gpu_cell_decimal(j->by_step, s->z, !isnan(s->z));
    if (j->run_count && (!stands_out || j->run->member != s->member)) end_run(j);
    if (!stands_out) return true;
    if (!hd_grow((void **)&j->run, &j->run_capacity, j->run_count, sizeof *j->run)) return false;
    j->run[j->run_count++] = *s;
    return true;
}

static bool add_again(void *user, const job_arrival *a)
{
    return a->step == HD_NONE || job_lateness_add(&((job *)user)->steps, a);
}

static bool add_steps(job *j)
{
    j->meetings.is_last_walk = true;
    bool fine = job_lateness_again(&j->steps, add_step, j) && job_meetings_walk(&j->meetings, add_again, j) &&
                job_lateness_end(&j->steps);
    end_run(j);
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
    hd_status status = job_meetings_init(&j->meetings, &j->of, j->of != NULL, j->lost, err);
    if (status == HD_OK) status = make_members(j, err);
    if (status == HD_OK) status = find_roles(j, err);
    if (status != HD_OK) return status;
    add_defects(j);
    add_lasts(j);
    bool fine = add_bandwidths(j);
    add_collectives(j);
    if (!j->waits) job_meetings_leave_walk(&j->meetings); /* before the part that needs most memory */
    fine = fine && job_meetings_walk(&j->meetings, add_arrival, j) && add_waits(j);
    return fine && add_members(j) && add_shares(j) && add_steps(j) ? HD_OK : HD_NOMEM(err);
}

static hd_status report_stragglers(hd_report *out, const hd_job *of, bool each, hd_error *err)
{
    job j = {.of = of, .wants_each = each, .steps.peers.key_size = 2 * sizeof(uint32_t)};
    *out = (hd_report){0};
    hd_status status = make_tables(&j, err);
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
    job_meetings_deinit(&j.meetings);
    free(j.members);
    free(j.roles);
    free(j.run);
    free(j.waited);
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
    return report_stragglers(out, input->job, ((const straggler_options *)options)->each, err);
}

static const hd_option_about options[] = {
    {"each", HD_OPTION_FLAG, NULL, "make the table waits", offsetof(straggler_options, each)}, {0}};

const hd_report_about report_stragglers_about = {
    .name = "stragglers",
    .title = "which rank of a job arrives last at its collectives, and by how much",
    .text = "Compares the ranks of a job: all FILEs, traces or summaries (.hds), are one job. The last rank to "
            "arrive at a collective does not wait in it, so its duration is the shortest: no common clock is "
            "needed. Collectives are matched by group and number, never by time.",
    .of_job = true,
    .says_trust = true,
    .options = options,
    .options_size = sizeof(straggler_options),
    .tables = job_straggler_tables,
    .run = run,
};
