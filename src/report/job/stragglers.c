/* stragglers.c - collectives of several ranks matched by group and sequence: who came last, and what does not match
 *
 * All are sorted by group, sequence and member; a collective is then a run of them, and a group a run of collectives.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "report/gpu/gpu.h"
#include "report/job/groups.h"

typedef struct entry {
    const hd_collective *c;
    int64_t rank;    /* or the place of the trace */
    uint32_t member; /* of `members` */
} entry;

typedef struct member {
    int64_t rank, device;
    uint64_t compared, last;
    gpu_i128 late, waited, transfer;
    const hd_collective *newest; /* of the group that is looked at; NULL: it is not in it */
} member;

typedef struct job {
    entry *entries;
    size_t count;
    member *members;
    size_t member_count;
    hd_table_builder *stragglers, *collectives, *mismatched, *last;
} job;

static int compare_members(const entry *x, const entry *y)
{
    int order = job_compare_numbers(x->rank, y->rank);
    return order ? order : job_compare_numbers(x->c->device, y->c->device);
}

static int compare_entries(const entry *x, const entry *y)
{
    int order = job_compare_groups(x->c, y->c);
    if (!order) order = job_compare_numbers(x->c->sequence, y->c->sequence);
    return order ? order : compare_members(x, y);
}

static bool is_same_operation(const hd_collective *x, const hd_collective *y)
{
    return x->operation.size == y->operation.size &&
           (!x->operation.size || memcmp(x->operation.data, y->operation.data, x->operation.size) == 0);
}

static int64_t duration_of(const entry *e)
{
    return e->c->end_ns - e->c->start_ns;
}

/* ---- all of them, and their members ---- */

static bool find_entries(job *j, const hd_collectives *const *traces, size_t count)
{
    for (size_t t = 0; t < count; t++) j->count += hd_collectives_count(traces[t]);
    entry *spare = malloc((j->count + 1) * sizeof *spare), *next;
    next = j->entries = malloc((j->count + 1) * sizeof *j->entries);
    j->members = calloc(j->count + 1, sizeof *j->members);
    if (!spare || !next || !j->members) {
        free(spare);
        return false;
    }
    for (size_t t = 0; t < count; t++) {
        for (size_t i = 0; i < hd_collectives_count(traces[t]); i++) {
            const hd_collective *c = hd_collectives_at(traces[t], i);
            *next++ = (entry){.c = c, .rank = c->rank == HD_NO_NUMBER ? (int64_t)t : c->rank};
        }
    }
    HD_SORT_RUNS(j->entries, spare, j->count, x, y, compare_members(x, y) < 0);
    for (size_t i = 0; i < j->count; i++) {
        entry *e = &j->entries[i];
        if (!i || compare_members(e - 1, e) != 0)
            j->members[j->member_count++] = (member){.rank = e->rank, .device = e->c->device};
        e->member = (uint32_t)(j->member_count - 1);
    }
    HD_SORT_RUNS(j->entries, spare, j->count, x, y, compare_entries(x, y) < 0);
    free(spare);
    return true;
}

/* ---- cells ---- */

static void add_text(hd_table_builder *b, hd_string text)
{
    if (text.data)
        hd_table_add_string(b, text.data, text.size);
    else
        hd_table_add_null(b);
}

static void add_group(hd_table_builder *b, const hd_collective *c)
{
    add_text(b, c->group);
    report_cell_int(b, c->group.data ? HD_NO_NUMBER : c->stream);
    hd_table_add_bool(b, c->is_point_to_point);
}

static void add_member(hd_table_builder *b, const member *m)
{
    hd_table_add_int(b, m->rank);
    report_cell_int(b, m->device);
}

static void add_defect(job *j, const entry *of, const char *defect, const member *first, uint64_t count)
{
    if (!count) return;
    add_group(j->mismatched, of->c);
    hd_table_add_int(j->mismatched, of->c->sequence);
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
        const bool has[DEFECTS] = {e[i].member == e[i - 1].member, !is_same_operation(e[i].c, e->c),
                                   e[i].c->bytes != e->c->bytes, e[i].c->size != e->c->size};
        for (int d = 0; d < DEFECTS; d++) {
            if (has[d] && !counts[d]++) firsts[d] = &e[i];
        }
    }
    for (int d = 0; d < DEFECTS; d++) add_defect(j, e, defect_names[d], &j->members[firsts[d]->member], counts[d]);
    return count > 1 && !counts[DOUBLE] && !counts[OPERATION];
}

static void compare_run(job *j, const entry *e, size_t count)
{
    const entry *last = e;
    int64_t longest = duration_of(e);
    bool counted = false;
    for (size_t i = 0; i < count; i++) {
        if (duration_of(&e[i]) < duration_of(last)) last = &e[i];
        if (duration_of(&e[i]) > longest) longest = duration_of(&e[i]);
        counted |= e[i].c->sequence_is_counted;
    }
    int64_t shortest = duration_of(last);
    for (size_t i = 0; i < count; i++) {
        member *m = &j->members[e[i].member];
        m->compared++;
        m->late += longest - duration_of(&e[i]);
        m->waited += duration_of(&e[i]) - shortest;
        m->transfer += shortest;
    }
    j->members[last->member].last++;
    add_group(j->collectives, e->c);
    hd_table_add_int(j->collectives, e->c->sequence);
    hd_table_add_bool(j->collectives, counted);
    add_text(j->collectives, e->c->operation);
    hd_table_add_count(j->collectives, count);
    add_member(j->collectives, &j->members[last->member]);
    hd_table_add_int(j->collectives, longest - shortest);
    hd_table_add_int(j->collectives, shortest);
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
        add_group(j->last, m->newest);
        hd_table_add_int(j->last, m->newest->sequence);
        add_text(j->last, m->newest->operation);
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
        m->newest = e[i].c;
    }
    qsort(in, in_count, sizeof *in, by_number);
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && e[end].c->sequence == e[i].c->sequence;) end++;
        if (check_run(j, e + i, end - i)) compare_run(j, e + i, end - i);
        find_missing(j, e + i, end - i, in, in_count);
    }
    add_last(j, in, in_count, e[count - 1].c->sequence);
    free(in);
    return true;
}

/* ---- members among one another ---- */

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : 0;
}

static double mean_late(const member *m)
{
    return (double)m->late / (double)m->compared;
}

static bool add_members(job *j)
{
    double *values = malloc((j->member_count + 1) * sizeof *values), middle, spread;
    size_t count = 0;
    if (!values) return false;
    for (size_t i = 0; i < j->member_count; i++) {
        if (j->members[i].compared) values[count++] = mean_late(&j->members[i]);
    }
    middle = median(values, count);
    for (size_t i = 0; i < count; i++) values[i] = values[i] < middle ? middle - values[i] : values[i] - middle;
    spread = 1.4826 * median(values, count);
    free(values);
    for (size_t i = 0; i < j->member_count; i++) {
        const member *m = &j->members[i];
        add_member(j->stragglers, m);
        hd_table_add_count(j->stragglers, m->compared);
        hd_table_add_count(j->stragglers, m->last);
        hd_table_add_int(j->stragglers, gpu_whole(m->late));
        hd_table_add_int(j->stragglers, gpu_whole(m->waited));
        hd_table_add_int(j->stragglers, gpu_whole(m->transfer));
        if (m->compared && spread > 0)
            hd_table_add_decimal(j->stragglers, (mean_late(m) - middle) / spread);
        else
            hd_table_add_null(j->stragglers);
    }
    return true;
}

/* ---- the report ---- */

#define MEMBER                                                                                                         \
    {"rank", HD_VALUE_INT, "of the job; where it is not known, the place of the file"},                                \
    {                                                                                                                  \
        "device", HD_VALUE_INT, "of the GPU"                                                                           \
    }
#define GROUP                                                                                                          \
    {"group", HD_VALUE_STRING, "of processes, as the trace names it"},                                                 \
        {"stream", HD_VALUE_INT, "which stands for the group where that has no name"},                                 \
        {"point_to_point", HD_VALUE_BOOL, "sends and receives are counted by themselves"},                             \
    {                                                                                                                  \
        "sequence", HD_VALUE_INT, "number within the group"                                                            \
    }

static const hd_report_column straggler_columns[] = {
    MEMBER,
    {"collectives", HD_VALUE_COUNT, "that were compared"},
    {"last", HD_VALUE_COUNT, "of them to which it came last; of several the lowest"},
    {"late", HD_VALUE_DURATION, "sum of the longest duration of each less its own"},
    {"waited", HD_VALUE_DURATION, "sum of its own duration less the shortest"},
    {"transfer", HD_VALUE_DURATION, "sum of the shortest durations: nobody waited in these"},
    {"z", HD_VALUE_DECIMAL, "(late / collectives - median) / (1.4826 MAD) among all; above 3 it stands out"},
    {0}};
static const hd_report_column collective_columns[] = {
    GROUP,
    {"counted", HD_VALUE_BOOL, "the number is none of the trace: it was counted from the first of the recording on"},
    {"operation", HD_VALUE_STRING, "AllReduce, AllGather …"},
    {"members", HD_VALUE_COUNT, "that have it"},
    {"last_rank", HD_VALUE_INT, "who came last"},
    {"last_device", HD_VALUE_INT, "its GPU"},
    {"late", HD_VALUE_DURATION, "by how much it came after the first: longest less shortest duration"},
    {"transfer", HD_VALUE_DURATION, "the shortest duration"},
    {0}};
static const hd_report_column mismatched_columns[] = {
    GROUP,
    {"defect", HD_VALUE_STRING,
     "double, operation (another than the first's): not compared; missing, size, bytes (others than the first's)"},
    MEMBER,
    {"members", HD_VALUE_COUNT, "that have the defect"},
    {0}};
static const hd_report_column last_columns[] = {
    MEMBER,
    GROUP,
    {"operation", HD_VALUE_STRING, "of its last"},
    {"behind", HD_VALUE_COUNT, "collectives behind the furthest of the group"},
    {0}};

static const hd_report_table_about tables[] = {
    {.name = "stragglers",
     .meaning = "a row per rank and device: how often it came last, and what that cost the others",
     .columns = straggler_columns,
     .chart = HD_CHART_BARS,
     .chart_label = "rank,device",
     .chart_values = "late"},
    {.name = "collectives",
     .meaning = "a row per collective that was compared: who came last",
     .columns = collective_columns},
    {.name = "mismatched",
     .meaning = "a row per defect: collectives that a rank lacks, or has otherwise",
     .columns = mismatched_columns},
    {.name = "last",
     .meaning = "a row per rank and group: its last collective, where a job that hangs stopped",
     .columns = last_columns},
    {0},
};

static hd_status make_tables(job *j, hd_error *err)
{
    const hd_report_about *about = &report_stragglers_about;
    HD_TRY(report_builder(&j->stragglers, about, "stragglers", err));
    HD_TRY(report_builder(&j->collectives, about, "collectives", err));
    HD_TRY(report_builder(&j->mismatched, about, "mismatched", err));
    return report_builder(&j->last, about, "last", err);
}

static hd_status compare_all(job *j, hd_error *err)
{
    size_t end;
    for (size_t i = 0; i < j->count; i = end) {
        for (end = i + 1; end < j->count && job_compare_groups(j->entries[i].c, j->entries[end].c) == 0;) end++;
        if (!look_at_group(j, j->entries + i, end - i)) return HD_NOMEM(err);
    }
    return add_members(j) ? HD_OK : HD_NOMEM(err);
}

hd_status hd_report_stragglers(hd_report *out, const hd_collectives *const *traces, size_t count, hd_error *err)
{
    job j = {0};
    *out = (hd_report){0};
    hd_status status = find_entries(&j, traces, count) ? make_tables(&j, err) : HD_NOMEM(err);
    if (status == HD_OK) status = compare_all(&j, err);
    hd_table_builder **builders[] = {&j.stragglers, &j.collectives, &j.mismatched, &j.last};
    for (size_t i = 0; i < sizeof builders / sizeof *builders && status == HD_OK; i++) {
        hd_table_builder *table = *builders[i];
        *builders[i] = NULL;
        status = report_add(out, table, err);
    }
    if (status != HD_OK) hd_report_free(out);
    for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) hd_table_builder_free(*builders[i]);
    free(j.entries);
    free(j.members);
    return status;
}

/* Each trace's collectives, then all of them together. */
static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    size_t count = input->traces ? input->trace_count : 1;
    hd_collectives **all = calloc(count + 1, sizeof *all);
    hd_status status = all ? HD_OK : HD_NOMEM(err);
    (void)options;
    for (size_t i = 0; i < count && status == HD_OK; i++)
        status = hd_collectives_new(&all[i], input->traces ? input->traces[i] : input->trace, err);
    if (status == HD_OK) status = hd_report_stragglers(out, (const hd_collectives *const *)all, count, err);
    for (size_t i = 0; all && i < count; i++) hd_collectives_free(all[i]);
    free(all);
    return status;
}

const hd_report_about report_stragglers_about = {
    .name = "stragglers",
    .title = "which rank of a job came last to its collectives, and by how much",
    .text = "Looks at the traces of several ranks together: all FILEs are one job. Whoever comes last to a collective "
            "waits for nobody in it, so that its duration there is the shortest: no common clock is needed. "
            "Collectives are matched by group and number, never by time.",
    .of_job = true,
    .tables = tables,
    .run = run,
};
