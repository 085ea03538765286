/* clocks.c - the report clocks: clock offsets between a job's hosts, and their evidence */
#include <stddef.h>
#include <stdlib.h>

#include "base/error.h"
#include "report/job/clock_events.h"
#include "report/job/job.h"

static const hd_report_column clock_columns[] = {
    {"host", HD_VALUE_STRING, "null: unknown, or the zero of its times is unknown; then it is that rank alone"},
    {"rank", HD_VALUE_INT, "the lowest on it"},
    {"ranks", HD_VALUE_COUNT, "on it"},
    {"basis", HD_VALUE_STRING,
     "reference; ends (of collectives), bounds (causality only), hint; unknown: there is no evidence; refused: the "
     "evidence contradicts itself"},
    {"offset", HD_VALUE_DURATION,
     "add this to its times, at the time at, to get those of the reference; null: unknown"},
    {"bar", HD_VALUE_DURATION, "error bar of the offset from first to last, with 99 % confidence"},
    {"drift_ppm", HD_VALUE_DECIMAL,
     "growth of the offset in millionths, from the time at on; null: not measured, the error bar includes it"},
    {"at", HD_VALUE_TIME, "Unix time on the host's clock at which the offset holds; null: at any time"},
    {"first", HD_VALUE_TIME,
     "range of the evidence for the offset; outside of it the error bar grows by 200 ppm; null: no limit"},
    {"last", HD_VALUE_TIME, "of it; a clock that steps has a row for each time between"},
    {"via", HD_VALUE_STRING, "host with which it was compared; null: none"},
    {"via_rank", HD_VALUE_INT, "the lowest rank of that host"},
    {"collectives", HD_VALUE_COUNT, "collectives by which it was compared; in the table bounds: its own"},
    {"why", HD_VALUE_STRING, "why the offset is unknown; null: it is known"},
    {0}};
#define COLLECTIVE                                                                                                     \
    {"group", HD_VALUE_STRING, "of processes"},                                                                        \
        {"stream", HD_VALUE_INT, "identifies the group if the group has no name"},                                     \
        {"operation", HD_VALUE_STRING, "AllReduce …"},                                                                 \
        {"step", HD_VALUE_INT, "its number; null: the sequence is of the whole group"},                                \
    {                                                                                                                  \
        "sequence", HD_VALUE_INT, "number within the group, or within that step"                                       \
    }
static const hd_report_column contradiction_columns[] = {
    COLLECTIVE,
    {"giver_rank", HD_VALUE_INT, "rank whose part must begin before the part of taker_rank ends"},
    {"giver_host", HD_VALUE_STRING, "its host"},
    {"giver_start", HD_VALUE_TIME, "on its clock, as Unix time"},
    {"taker_rank", HD_VALUE_INT, "rank whose part ends too early"},
    {"taker_host", HD_VALUE_STRING, "its host"},
    {"taker_end", HD_VALUE_TIME, "on its clock, as Unix time"},
    {0}};
static const hd_report_column arrival_columns[] = {
    COLLECTIVE,
    {"members", HD_VALUE_COUNT, "members that have it"},
    {"last_rank", HD_VALUE_INT,
     "the last to arrive; null: another one arrived so shortly before that the clocks "
     "cannot decide"},
    {"last_host", HD_VALUE_STRING, "its host"},
    {"first_rank", HD_VALUE_INT, "one that had to wait"},
    {"wait", HD_VALUE_DURATION,
     "the least time that the first rank waited; null: less than the error bars of the clocks"},
    {"bar", HD_VALUE_DURATION, "how far off that may be"},
    {0}};
static const hd_report_column evidence_columns[] = {
    {"what", HD_VALUE_STRING, "was looked at"}, {"count", HD_VALUE_COUNT, "of them"}, {0}};
static const hd_report_column lost_columns[] = {JOB_COLUMNS_LOST};

static const hd_report_table_about tables[] = {
    {.name = "clocks", .meaning = "a row per host, or per time between steps of its clock", .columns = clock_columns},
    {.name = "contradiction",
     .meaning = "a chain of collectives that contradict each other, so no clock offset is known",
     .columns = contradiction_columns},
    {.name = "arrivals",
     .meaning = "with --arrivals: a row per collective: who came last, as far as the clocks allow to say",
     .columns = arrival_columns},
    {.name = "evidence", .meaning = "the evidence for the offsets, and what was left out", .columns = evidence_columns},
    {.name = "lost", .meaning = "what of the summaries cannot be read", .columns = lost_columns},
    {0},
};

static const char *const use_names[CLOCK_USES] = {
    [CLOCK_USED] = "collectives of ranks",
    [CLOCK_PROVEN] = "collectives of ranks whose group has no name, taken to be of all: one rank alone did not wait",
    [CLOCK_ROOTED] = "left out: no operation that ends for all at once",
    [CLOCK_UNNAMED] = "left out: its group has no name, and is not of all ranks",
    [CLOCK_UNNUMBERED] = "left out: no number, and in no step that has one",
    [CLOCK_UNTIMED] = "left out: no time",
    [CLOCK_SPOILED] = "left out: a member twice, too many, or other operations; or it ends before it begins",
    [CLOCK_HINTS] = "hints",
    [CLOCK_NO_HOST] = "left out: a hint of a host that is not in the job",
    [CLOCK_AT_ODDS] = "refused: a host that its hint puts elsewhere than collectives do",
};

/* ---- cells ---- */

static void add_host(hd_table_builder *b, const clock_job *j, uint32_t host)
{
    gpu_cell_text(b, &j->texts, j->hosts[host].name);
}

static void add_time(hd_table_builder *b, int64_t time_ns)
{
    gpu_cell_time(b, time_ns, time_ns != INT64_MIN && time_ns != INT64_MAX);
}

/* Within the evidence. */
static int64_t worst_bar(const hd_clocks *solved, uint32_t host, const hd_clock_piece *piece)
{
    int64_t offset, first = piece->bar_ns, last = piece->bar_ns;
    if (piece->first_ns != INT64_MIN) {
        hd_clocks_at(&offset, &first, solved, host, piece->first_ns);
        hd_clocks_at(&offset, &last, solved, host, piece->last_ns);
    }
    return first > last ? first : last;
}

/* piece NULL: unknown. */
static void add_clock(hd_table_builder *b, const clock_job *j, const hd_clocks *solved, uint32_t host,
                      const hd_clock_piece *piece)
{
    static const hd_clock_piece none = {0};
    const hd_host_clock *clock = hd_clocks_host(solved, host);
    const hd_clock_piece *p = piece ? piece : &none;
    const bool is_bound = p->first_ns != INT64_MIN && piece;
    add_host(b, j, host);
    hd_table_add_int(b, j->hosts[host].rank);
    hd_table_add_count(b, j->hosts[host].ranks);
    hd_table_add_text(b, hd_clock_basis_name(clock->basis));
    gpu_cell_time(b, p->offset_ns, piece);
    gpu_cell_time(b, worst_bar(solved, host, p), piece);
    gpu_cell_decimal(b, p->drift * 1e6, p->has_drift);
    gpu_cell_time(b, p->at_ns, is_bound);
    add_time(b, piece ? p->first_ns : INT64_MIN);
    add_time(b, piece ? p->last_ns : INT64_MIN);
    gpu_cell_text(b, &j->texts, clock->via == host ? HD_NONE : j->hosts[clock->via].name);
    report_cell_int(b, clock->via == host ? HD_NO_NUMBER : j->hosts[clock->via].rank);
    hd_table_add_count(b, clock->collectives);
    const char *why = clock_job_why(j, solved, host);
    if (why)
        hd_table_add_text(b, why);
    else
        hd_table_add_null(b);
}

void clock_cells_of(hd_table_builder *b, const clock_job *j, uint64_t number, uint32_t operation, int64_t sequence)
{
    const clock_job_group *group = gpu_group_key(&j->groups, (uint32_t)number);
    const int64_t whole = INT64_C(1) << CLOCK_STEP_BITS;
    gpu_cell_text(b, &j->texts, group->name);
    report_cell_int(b, group->name == HD_NONE ? group->stream : HD_NO_NUMBER);
    gpu_cell_text(b, &j->texts, operation);
    report_cell_int(b, group->is_counted ? sequence / whole : HD_NO_NUMBER);
    hd_table_add_int(b, group->is_counted ? sequence % whole : sequence);
}

static void add_step(hd_table_builder *b, const clock_job *j, const clock_step *step)
{
    const hd_clock_event *giver = &step->giver, *taker = &step->taker;
    clock_cells_of(b, j, giver->group, giver->operation, giver->sequence);
    hd_table_add_int(b, clock_job_rank(j, giver->member));
    add_host(b, j, giver->host);
    hd_table_add_int(b, giver->start_ns);
    hd_table_add_int(b, clock_job_rank(j, taker->member));
    add_host(b, j, taker->host);
    hd_table_add_int(b, taker->end_ns);
}

/* ---- all of it ---- */

typedef struct clock_values {
    const char *ntp, *mpisync, *reference;
    bool arrivals;
} clock_values;

enum { CLOCKS, CONTRADICTION, ARRIVALS, EVIDENCE, LOST, TABLES };

/* The host of that name; else the first one with any event, by rank. HD_NONE: none of that name. */
static uint32_t reference_of(const clock_job *j, const char *name)
{
    if (!name) return j->first_host;
    for (uint32_t h = 0; h < j->host_keys.count; h++) {
        if (clock_job_is_host(j, h, (hd_string){name, strlen(name)})) return h;
    }
    return HD_NONE;
}

static hd_status add_clocks(hd_table_builder *const *builders, clock_job *j, const clock_values *values, hd_error *err)
{
    hd_clocks *solved = NULL;
    const hd_clock_options options = {.size = sizeof options, .reference = reference_of(j, values->reference)};
    if (options.reference == HD_NONE)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no rank of the job ran on a host '%.60s'",
                            values->reference);
    if (!j->host_keys.count) return HD_OK;
    HD_TRY(clock_job_solve(&solved, j, &options, err));
    j->uses[CLOCK_SPOILED] = hd_clocks_left_out(solved);
    j->uses[CLOCK_USED] -= j->uses[CLOCK_SPOILED];
    for (uint32_t h = 0; h < hd_clocks_count(solved); h++) {
        const hd_host_clock *clock = hd_clocks_host(solved, h);
        for (size_t i = 0; i < clock->piece_count; i++) add_clock(builders[CLOCKS], j, solved, h, &clock->pieces[i]);
        if (!clock->piece_count) add_clock(builders[CLOCKS], j, solved, h, NULL);
        j->uses[CLOCK_AT_ODDS] += clock->basis == HD_CLOCK_REFUSED && !hd_clocks_cycle_size(solved);
    }
    for (size_t i = 0; i < hd_clocks_cycle_size(solved); i++) add_step(builders[CONTRADICTION], j, &solved->cycle[i]);
    hd_status status = values->arrivals ? clock_arrivals(builders[ARRIVALS], j, solved, err) : HD_OK;
    hd_clocks_free(solved);
    return status;
}

static hd_status make_rows(hd_table_builder *const *builders, const hd_job *job, const clock_values *values,
                           hd_error *err)
{
    clock_job j;
    hd_status status = clock_job_init(&j, job, builders[LOST], err);
    const char *hints = values->ntp ? values->ntp : values->mpisync;
    if (status == HD_OK && hints) status = clock_hints_read(&j, hints, !values->ntp, err);
    if (status == HD_OK) status = add_clocks(builders, &j, values, err);
    for (int i = 0; i < CLOCK_USES; i++) {
        if (!j.uses[i]) continue;
        hd_table_add_text(builders[EVIDENCE], use_names[i]);
        hd_table_add_count(builders[EVIDENCE], j.uses[i]);
    }
    clock_job_deinit(&j);
    return status;
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    const clock_values *values = options;
    hd_table_builder *builders[TABLES] = {0};
    if (values->ntp && values->mpisync)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "--ntp and --mpisync lead to different clocks: give one of them");
    hd_status status = HD_OK;
    for (int i = 0; i < TABLES && status == HD_OK; i++)
        status = report_builder(&builders[i], &report_clocks_about, tables[i].name, err);
    if (status == HD_OK) status = make_rows(builders, input->job, values, err);
    for (int i = 0; i < TABLES; i++) {
        hd_table_builder *table = builders[i];
        builders[i] = NULL;
        if (status == HD_OK)
            status = report_add(out, table, err);
        else
            hd_table_builder_free(table);
    }
    return status;
}

static const hd_option_about options[] = {
    {"ntp", HD_OPTION_TRACE, NULL, "lines \"HOST OFFSET BAR\" in seconds: what to add to its clock for true time",
     offsetof(clock_values, ntp)},
    {"mpisync", HD_OPTION_TRACE, NULL, "what Open MPI's mpisync wrote: lines \"HOST RTT OFFSET\" in seconds",
     offsetof(clock_values, mpisync)},
    {"reference", HD_OPTION_TEXT, NULL, "the host whose clock counts; else that of the lowest rank",
     offsetof(clock_values, reference)},
    {"arrivals", HD_OPTION_FLAG, NULL, "make the table arrivals", offsetof(clock_values, arrivals)},
    {0}};

const hd_report_about report_clocks_about = {
    .name = "clocks",
    .title = "clock offsets between the hosts of a job, with error bars",
    .text = "Estimates the clock offsets between the hosts of a job, with error bars. A collective ends on all of "
            "its members at about the same time: offset and drift of a clock are fitted to these ends, the error "
            "bar to their spread. It cannot end on any member before the last member has begun: this confirms the "
            "result or refutes it. Collectives are matched by group and number; without numbers, by their position "
            "within the step of the same number; in groups without names, only if they turn out to be of all ranks. No "
            "trace is changed.",
    .of_job = true,
    .options = options,
    .options_size = sizeof(clock_values),
    .tables = tables,
    .run = run,
};
