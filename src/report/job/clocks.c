/* clocks.c - report clocks: by how much the clocks of a job's hosts differ
 *
 * In: the collectives of all members, at the Unix time of each member's clock, and files of hints. Out: a row per
 * clock, by heddle/clocks.h. A member whose host nobody tells has a clock of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "heddle/clocks.h"
#include "report/job/cells.h"

typedef struct clock_options {
    const char *ntp, *mpisync, *reference;
} clock_options;

enum { LEFT_COUNTED, LEFT_OPERATION, LEFT_KINDS };

typedef struct event_of {
    uint32_t group, series; /* text, HD_NONE; HD_NONE: the trace tells its number */
    int64_t rank;
} event_of;

/* The collectives of a rank in a group, whose numbers are counted from the first. */
typedef struct series {
    uint64_t group, content; /* content: hash of their operations, sizes and steps */
    size_t count;
    int64_t rank, device;
    bool has_steps;
} series;

typedef struct clocks {
    const hd_job *job;
    gpu_texts texts;    /* of groups, operations, hosts */
    uint32_t *clock_of; /* by member */
    uint32_t *firsts;   /* by clock: its first member */
    uint64_t *ranks;    /* by clock: members */
    size_t clock_count;
    hd_clock_event *events;
    event_of *ofs; /* by event */
    size_t count, capacity, ofs_capacity;
    series *series;
    size_t series_count, series_capacity;
    hd_clock_hint *hints;
    size_t hint_count, hint_capacity;
    uint64_t left[LEFT_KINDS], unknown_hosts;
    hd_table_builder *lost;
} clocks;

/* ---- clocks and their members ---- */

static bool find_clocks(clocks *c)
{
    size_t count = hd_job_count(c->job);
    hd_map known = {0};
    bool fine = (c->clock_of = malloc((count + 1) * sizeof *c->clock_of)) &&
                (c->firsts = malloc((count + 1) * sizeof *c->firsts)) &&
                (c->ranks = calloc(count + 1, sizeof *c->ranks));
    for (size_t m = 0; fine && m < count; m++) {
        hd_string host = hd_job_at(c->job, m)->host;
        uint32_t clock = (uint32_t)c->clock_count, text = HD_NONE;
        if (host.data) fine = (text = gpu_text(&c->texts, host.data, host.size)) != HD_NONE;
        if (text == HD_NONE || !hd_map_get(&clock, &known, text, 0)) {
            c->firsts[c->clock_count++] = (uint32_t)m;
            if (text != HD_NONE) fine = fine && hd_map_set(&known, text, 0, clock);
        }
        c->clock_of[m] = clock;
        c->ranks[clock]++;
    }
    hd_map_deinit(&known);
    return fine;
}

/* HD_NONE: none of that name. */
static uint32_t clock_named(const clocks *c, const char *name, size_t size)
{
    for (size_t i = 0; i < c->clock_count; i++) {
        hd_string host = hd_job_at(c->job, c->firsts[i])->host;
        if (host.data && host.size == size && memcmp(host.data, name, size) == 0) return (uint32_t)i;
    }
    return HD_NONE;
}

/* ---- collectives ---- */

enum { RANK, DEVICE, GROUP, STREAM, POINT, SEQUENCE, COUNTED, OPERATION, BYTES, STEP, START, END, COLUMNS };
static const job_wanted wanted[COLUMNS] = {
    {"rank", HD_VALUE_INT},     {"device", HD_VALUE_INT},          {"group", HD_VALUE_STRING},
    {"stream", HD_VALUE_INT},   {"point_to_point", HD_VALUE_BOOL}, {"sequence", HD_VALUE_INT},
    {"counted", HD_VALUE_BOOL}, {"operation", HD_VALUE_STRING},    {"bytes", HD_VALUE_COUNT},
    {"step", HD_VALUE_STRING},  {"start", HD_VALUE_TIME},          {"end", HD_VALUE_TIME}};

/* In these all members wait for all: what ends has seen all begin. Of others nobody tells the root. */
static bool is_of_all(hd_string operation)
{
    static const char *const names[] = {"AllReduce", "AllGather", "ReduceScatter", "AllToAll"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (operation.size >= size && memcmp(operation.data, names[i], size) == 0) return true;
    }
    return false;
}

/* One more of a series, or the first of another: rows of a rank, device and group follow one another. */
static bool add_to_series(clocks *c, uint64_t group, int64_t rank, int64_t device, const uint64_t *content,
                          bool has_step)
{
    series *last = c->series_count ? &c->series[c->series_count - 1] : NULL;
    if (!last || last->group != group || last->rank != rank || last->device != device) {
        if (!hd_grow((void **)&c->series, &c->series_capacity, c->series_count, sizeof *c->series)) return false;
        last = &c->series[c->series_count++];
        *last = (series){.group = group, .rank = rank, .device = device};
    }
    for (int i = 0; i < 3; i++) last->content = hd_hash_pair(last->content, content[i]);
    last->has_steps |= has_step;
    last->count++;
    return true;
}

static bool add_event(clocks *c, const job_cells *cells, size_t row, size_t member)
{
    uint32_t group, operation, step;
    int64_t start = job_int(cells, row, START), end = job_int(cells, row, END), rank = job_int(cells, row, RANK);
    int64_t base = hd_job_at(c->job, member)->base_ns, sequence = job_int(cells, row, SEQUENCE);
    int64_t device = job_int(cells, row, DEVICE);
    if (!job_text(&group, &c->texts, cells, row, GROUP) || !job_text(&operation, &c->texts, cells, row, OPERATION) ||
        !job_text(&step, &c->texts, cells, row, STEP))
        return false;
    if (start == HD_NO_NUMBER || end == HD_NO_NUMBER || sequence == HD_NO_NUMBER) return true;
    if (job_int(cells, row, POINT) == 1 || operation == HD_NONE || !is_of_all(gpu_text_of(&c->texts, operation))) {
        c->left[LEFT_OPERATION]++;
        return true;
    }
    if (rank == HD_NO_NUMBER) rank = (int64_t)member;
    if (base == HD_NO_TIME) base = 0;
    uint64_t key = group != HD_NONE ? group : ~(uint64_t)job_int(cells, row, STREAM);
    const uint64_t content[3] = {operation, (uint64_t)job_int(cells, row, BYTES), step};
    bool is_counted = job_int(cells, row, COUNTED) == 1;
    if ((is_counted && !add_to_series(c, key, rank, device, content, step != HD_NONE)) ||
        !hd_grow((void **)&c->events, &c->capacity, c->count, sizeof *c->events) ||
        !hd_grow((void **)&c->ofs, &c->ofs_capacity, c->count, sizeof *c->ofs))
        return false;
    c->ofs[c->count] = (event_of){group, is_counted ? (uint32_t)c->series_count - 1 : HD_NONE, rank};
    c->events[c->count++] = (hd_clock_event){.host = c->clock_of[member],
                                             .member = (uint32_t)hd_hash_pair((uint64_t)rank, (uint64_t)device),
                                             .operation = operation,
                                             .role = HD_CLOCK_BOTH,
                                             .group = key,
                                             .sequence = sequence,
                                             .start_ns = gpu_sum(gpu_time(start), base),
                                             .end_ns = gpu_sum(gpu_time(end), base)};
    return true;
}

/* Numbers that were counted say which collective is which only if all ranks of the group recorded the same: the same
 * operations and sizes in the same steps, by name. Others are left out. */
static bool drop_counted(clocks *c)
{
    hd_map firsts = {0}, bad = {0};
    bool fine = true;
    size_t kept = 0;
    for (uint32_t s = 0; fine && s < c->series_count; s++) {
        const series *of = &c->series[s];
        uint32_t first = s;
        if (!hd_map_get(&first, &firsts, of->group, 0)) fine = hd_map_set(&firsts, of->group, 0, s);
        const series *to = &c->series[first];
        if (fine && (of->content != to->content || of->count != to->count || !of->has_steps))
            fine = hd_map_set(&bad, of->group, 0, 1);
    }
    for (size_t i = 0; fine && i < c->count; i++) {
        uint32_t is_bad = 0, s = c->ofs[i].series;
        if (s != HD_NONE) hd_map_get(&is_bad, &bad, c->series[s].group, 0);
        c->left[LEFT_COUNTED] += is_bad;
        if (is_bad) continue;
        c->events[kept] = c->events[i];
        c->ofs[kept++] = c->ofs[i];
    }
    c->count = kept;
    hd_map_deinit(&firsts);
    hd_map_deinit(&bad);
    return fine;
}

static hd_status add_events(clocks *c, hd_error *err)
{
    bool fine = true;
    for (size_t m = 0; fine && m < hd_job_count(c->job); m++) {
        job_cells cells;
        HD_TRY(job_cells_of(&cells, c->job, m, "collectives", wanted, COLUMNS, c->lost, err));
        for (size_t row = 0; fine && row < cells.rows; row++) fine = add_event(c, &cells, row, m);
        hd_table_free(cells.table);
    }
    return fine && drop_counted(c) ? HD_OK : HD_NOMEM(err);
}

/* ---- hints ---- */

static size_t split(hd_string *out, size_t most, const char *line, size_t size)
{
    size_t count = 0, at = 0;
    while (count < most) {
        while (at < size && strchr(" \t\r,;", line[at])) at++;
        size_t begin = at;
        while (at < size && !strchr(" \t\r,;", line[at])) at++;
        if (at == begin) break;
        out[count++] = (hd_string){line + begin, at - begin};
    }
    return count;
}

static bool seconds(int64_t *out, hd_string text)
{
    hd_fixed number;
    if (!hd_fixed_parse(&number, text.data, text.size, 9)) return false;
    *out = number.whole;
    return number.whole > -INT64_MAX / 4 && number.whole < INT64_MAX / 4;
}

/* Lines "HOST OFFSET BAR" or, of mpisync, "HOST RTT OFFSET"; in seconds. Others, as headings, are no error; a file
 * without any such line is. */
static hd_status add_hints(clocks *c, const char *path, bool is_mpisync, hd_error *err)
{
    hd_input *in;
    hd_bytes bytes = {0};
    size_t lines = 0;
    HD_TRY(hd_input_open(&in, path, NULL, err));
    hd_status status = hd_input_all(&bytes, in, 1, 1 << 30, err);
    hd_input_close(in);
    for (size_t at = 0, end; status == HD_OK && at < bytes.size; at = end + 1) {
        hd_string word[3];
        const char *line = (const char *)bytes.data + at, *stop = memchr(line, '\n', bytes.size - at);
        int64_t first, second;
        end = stop ? at + (size_t)(stop - line) : bytes.size;
        if (split(word, 3, line, end - at) < 3 || !seconds(&first, word[1]) || !seconds(&second, word[2])) continue;
        uint32_t host = clock_named(c, word[0].data, word[0].size);
        lines++;
        c->unknown_hosts += host == HD_NONE;
        if (host == HD_NONE) continue;
        if (!hd_grow((void **)&c->hints, &c->hint_capacity, c->hint_count, sizeof *c->hints)) status = HD_NOMEM(err);
        if (status == HD_OK)
            c->hints[c->hint_count++] =
                is_mpisync ? (hd_clock_hint){host, second, (first + 1) / 2} : (hd_clock_hint){host, first, second};
    }
    hd_bytes_deinit(&bytes);
    if (status != HD_OK || lines) return status;
    return hd_error_set(err, HD_ERR_FORMAT, path, HD_OFFSET_NONE, "no line of it is \"%s\", in seconds",
                        is_mpisync ? "HOST RTT OFFSET" : "HOST OFFSET ERROR");
}

/* ---- tables ---- */

static void add_host(hd_table_builder *t, const clocks *c, uint32_t clock)
{
    hd_string host = hd_job_at(c->job, c->firsts[clock])->host;
    if (host.data)
        hd_table_add_string(t, host.data, host.size);
    else
        hd_table_add_null(t);
    report_cell_int(t, hd_job_at(c->job, c->firsts[clock])->rank);
}

static void add_piece(hd_table_builder *t, const hd_clock_piece *p)
{
    hd_table_add_int(t, p->offset_ns);
    hd_table_add_int(t, p->bar_ns);
    gpu_cell_decimal(t, p->drift * 1e6, p->has_drift);
    hd_table_add_int(t, p->at_ns);
    report_cell_int(t, p->from_ns == INT64_MIN ? HD_NO_NUMBER : p->from_ns);
    report_cell_int(t, p->until_ns == INT64_MAX ? HD_NO_NUMBER : p->until_ns);
}

static hd_status add_clocks(hd_report *out, const clocks *c, const hd_clocks *solved, hd_error *err)
{
    hd_table_builder *t;
    HD_TRY(report_builder(&t, &report_clocks_about, "clocks", err));
    for (uint32_t i = 0; i < c->clock_count; i++) {
        const hd_host_clock *clock = hd_clocks_host(solved, i);
        for (size_t p = 0; p < clock->piece_count || (p == 0 && !clock->piece_count); p++) {
            add_host(t, c, i);
            hd_table_add_count(t, c->ranks[i]);
            hd_table_add_text(t, hd_clock_basis_name(clock->basis));
            if (clock->piece_count)
                add_piece(t, &clock->pieces[p]);
            else
                for (int k = 0; k < 6; k++) hd_table_add_null(t);
            hd_table_add_count(t, clock->collectives);
            if (clock->via == i)
                hd_table_add_null(t), hd_table_add_null(t);
            else
                add_host(t, c, clock->via);
        }
    }
    return report_add(out, t, err);
}

static hd_status add_contradiction(hd_report *out, const clocks *c, const hd_clocks *solved, hd_error *err)
{
    hd_table_builder *t;
    HD_TRY(report_builder(&t, &report_clocks_about, "contradiction", err));
    for (size_t i = 0; i < hd_clocks_cycle_size(solved); i++) {
        const hd_clock_step *step = hd_clocks_cycle_at(solved, i);
        const hd_clock_event *giver = &c->events[step->giver], *taker = &c->events[step->taker];
        gpu_cell_text(t, &c->texts, c->ofs[step->giver].group);
        hd_table_add_int(t, giver->sequence);
        gpu_cell_text(t, &c->texts, giver->operation);
        hd_table_add_int(t, c->ofs[step->giver].rank);
        hd_table_add_int(t, giver->start_ns);
        hd_table_add_int(t, c->ofs[step->taker].rank);
        hd_table_add_int(t, taker->end_ns);
    }
    return report_add(out, t, err);
}

static hd_status add_used(hd_report *out, const clocks *c, const hd_clocks *solved, hd_error *err)
{
    const struct {
        const char *what;
        uint64_t count;
    } rows[] = {{"collectives of ranks", c->count},
                {"left out: numbered by counting, of ranks that recorded others", c->left[LEFT_COUNTED]},
                {"left out: not of all to all", c->left[LEFT_OPERATION]},
                {"left out: twice of a rank, or ends before it begins", hd_clocks_left_out(solved)},
                {"hints", c->hint_count},
                {"hints of hosts that the job does not have", c->unknown_hosts}};
    hd_table_builder *t;
    HD_TRY(report_builder(&t, &report_clocks_about, "evidence", err));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (i && !rows[i].count) continue;
        hd_table_add_text(t, rows[i].what);
        hd_table_add_count(t, rows[i].count);
    }
    return report_add(out, t, err);
}

/* ---- the report ---- */

static hd_status solve(hd_report *out, clocks *c, const clock_options *o, hd_error *err)
{
    hd_clock_options how = {.size = sizeof how};
    hd_clocks *solved;
    if (!find_clocks(c)) return HD_NOMEM(err);
    if (o->reference) {
        how.reference = clock_named(c, o->reference, strlen(o->reference));
        if (how.reference == HD_NONE)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no rank of the job ran on host '%.60s'",
                                o->reference);
    }
    if (o->ntp) HD_TRY(add_hints(c, o->ntp, false, err));
    if (o->mpisync) HD_TRY(add_hints(c, o->mpisync, true, err));
    HD_TRY(add_events(c, err));
    HD_TRY(hd_clocks_new(&solved, c->clock_count, c->events, c->count, c->hints, c->hint_count, &how, err));
    hd_status status = add_clocks(out, c, solved, err);
    if (status == HD_OK) status = add_contradiction(out, c, solved, err);
    if (status == HD_OK) status = add_used(out, c, solved, err);
    hd_clocks_free(solved);
    return status;
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    hd_job *own = NULL;
    clocks c = {0};
    HD_TRY(job_of_input(&own, input, err));
    c.job = own ? own : input->job;
    hd_status status = report_builder(&c.lost, &report_clocks_about, "lost", err);
    if (status == HD_OK) status = solve(out, &c, options, err);
    if (status == HD_OK) {
        status = report_add(out, c.lost, err);
        c.lost = NULL;
    }
    hd_table_builder_free(c.lost);
    gpu_texts_deinit(&c.texts);
    free(c.clock_of);
    free(c.firsts);
    free(c.ranks);
    free(c.events);
    free(c.ofs);
    free(c.series);
    free(c.hints);
    hd_job_free(own);
    return status;
}

static const hd_report_column clock_columns[] = {
    {"host", HD_VALUE_STRING,
     "whose clock it is; null: no trace tells it, and the rank is taken to have a clock of its own"},
    {"rank", HD_VALUE_INT, "the lowest that has this clock"},
    {"ranks", HD_VALUE_COUNT, "that have it"},
    {"basis", HD_VALUE_STRING,
     "what the offset rests on: reference, ends (of collectives), bounds (causality alone), hint; or unknown, refused"},
    {"offset", HD_VALUE_DURATION, "to be added to its times for those of the reference; null: not known"},
    {"bar", HD_VALUE_DURATION, "how far off that may be, in 99 % of cases"},
    {"drift_ppm", HD_VALUE_DECIMAL, "by how much the offset grows, in millionths; null: not measured"},
    {"at", HD_VALUE_INT, "when the offset is that, ns of its own clock, of Unix time where the trace has that"},
    {"from", HD_VALUE_INT, "the row counts from there, since the clock was set; null: always"},
    {"until", HD_VALUE_INT, "until there"},
    {"collectives", HD_VALUE_COUNT, "that were compared"},
    {"via", HD_VALUE_STRING, "the host that it was compared with; null: the reference itself, or none"},
    {"via_rank", HD_VALUE_INT, "the lowest rank of that"},
    {0}};
static const hd_report_column contradiction_columns[] = {
    {"group", HD_VALUE_STRING, "of the collective"},          {"sequence", HD_VALUE_INT, "its number"},
    {"operation", HD_VALUE_STRING, "AllReduce, AllGather …"}, {"giver", HD_VALUE_INT, "rank that had begun before"},
    {"begins", HD_VALUE_INT, "when, ns of its clock"},        {"taker", HD_VALUE_INT, "rank that ended in it"},
    {"ends", HD_VALUE_INT, "when, ns of its clock"},          {0}};
static const hd_report_column evidence_columns[] = {
    {"what", HD_VALUE_STRING, "was looked at, or left out"}, {"count", HD_VALUE_COUNT, "of them"}, {0}};
static const hd_report_column lost_columns[] = {JOB_COLUMNS_LOST};

static const hd_report_table_about tables[] = {
    {.name = "clocks", .meaning = "a row per clock, and more of one that was set in between", .columns = clock_columns},
    {.name = "contradiction",
     .meaning = "the collectives that cannot all have happened, whatever the clocks: then no offset is given",
     .columns = contradiction_columns},
    {.name = "evidence", .meaning = "what the offsets rest on", .columns = evidence_columns},
    {.name = "lost", .meaning = "what of the summaries cannot be read", .columns = lost_columns},
    {0},
};

static const hd_option_about options[] = {
    {"ntp", HD_OPTION_TEXT, NULL, "a file of lines HOST OFFSET ERROR in seconds: what chrony, NTP or PTP says of hosts",
     offsetof(clock_options, ntp)},
    {"mpisync", HD_OPTION_TEXT, NULL, "a file of Open MPI's mpisync: lines HOST RTT OFFSET",
     offsetof(clock_options, mpisync)},
    {"reference", HD_OPTION_TEXT, NULL, "the host whose clock counts; else that of the lowest rank",
     offsetof(clock_options, reference)},
    {0}};

const hd_report_about report_clocks_about = {
    .name = "clocks",
    .title = "by how much the clocks of a job's hosts differ, with error bars",
    .text = "A collective of all ranks ends for all of them at about the same time, and for none before the last has "
            "come. The "
            "first gives offset and drift of each host, along a tree of hosts that share groups; the second certifies "
            "or refuses "
            "them. Collectives are matched by group and the trace's own number; those that would have to be counted "
            "are left "
            "out. Nothing is changed in any trace.",
    .of_job = true,
    .options = options,
    .options_size = sizeof(clock_options),
    .tables = tables,
    .run = run,
};
