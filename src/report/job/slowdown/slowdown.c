/* slowdown.c - how fast a job would be without stragglers: its collectives simulated, from summaries
 *
 * A rank computes from the end of a collective to the start of its next, and a collective ends for all of its ranks
 * together: (max, +) over two lists, visits by member and start, and members by collective. No common clock is needed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/decimal.h"
#include "report/job/slowdown/impl.h"

/* ---- members by collective ---- */

bool slow_make_lists(slow_job *j)
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
            slow_collective *c = &j->collectives[j->visits[i].collective];
            j->by_collective[c->first + c->arrived++] = m;
        }
    }
    return true;
}

bool slow_find_ideals(slow_job *j)
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

static uint32_t operation_of(const slow_job *j, const slow_collective *of)
{
    return ((const slow_transfer_kind *)gpu_group_key(&j->transfer_kinds, of->kind))->operation;
}

/* As the member has it. */
static uint32_t own_operation(const slow_job *j, uint32_t member, size_t visit)
{
    const slow_gap_kind *kind = gpu_group_key(&j->gap_kinds, j->visits[visit].kind);
    return visit == j->list[member].first ? j->list[member].operation : kind->operation;
}

/* The member arrives at its next collective, which ends when all have. */
static void arrive(slow_job *j, uint32_t member, bool ideal_transfers, size_t *depth, size_t *done, double *first_ends)
{
    const bool keeps_operation = j->kept_operation != NO_OPERATION;
    const slow_visit *v = &j->visits[j->next[member]];
    slow_collective *c = &j->collectives[v->collective];
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

double slow_simulate(slow_job *j, bool ideal_transfers)
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

double slow_measure(const slow_job *j)
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

static hd_status find_doubts(slow_job *j, hd_error *err)
{
    uint32_t *of_job;
    bool fine = (j->doubts = malloc(((size_t)j->members.count + 1) * sizeof *j->doubts)) != NULL;
    hd_status status = job_doubts_of_members(&of_job, &j->texts, j->of, GPU_FIGURE_TIME | GPU_FIGURE_IDLE, err);
    for (uint32_t m = 0; m < j->members.count && fine && status == HD_OK; m++)
        fine = job_doubt_of_rank(&j->doubts[m], &j->texts, of_job, j->of, slow_member_at(j, m)->rank);
    free(of_job);
    return fine ? status : HD_NOMEM(err);
}

/* The last cell of a row that depends on all members, or on the kept ones. false: no memory. */
static bool add_doubts(hd_table_builder *b, slow_job *j, bool all)
{
    uint32_t together = HD_NONE;
    bool fine = true;
    for (uint32_t m = 0; m < j->members.count && fine; m++)
        if (all || j->kept[m]) fine = job_add_doubt(&together, &j->texts, j->doubts[m]);
    gpu_cell_text(b, &j->texts, together);
    return fine;
}

static void add_members(hd_table_builder *b, slow_job *j, double ideal)
{
    const double visits_max = 1e9; /* some 15 s */
    bool each = (double)j->members.count * (double)j->count < visits_max && ideal > 0;
    for (uint32_t m = 0; m < j->members.count; m++) {
        double measured, expected = ideal_of(j, m, &measured), alone = 0;
        const job_role *role = job_role_of(&j->roles, slow_member_at(j, m)->rank);
        j->kept[m] = true;
        if (each) alone = slow_simulate(j, true) / ideal;
        j->kept[m] = false;
        hd_table_add_int(b, slow_member_at(j, m)->rank);
        report_cell_int(b, slow_member_at(j, m)->device);
        report_cell_int(b, role && role->at[JOB_TENSOR] >= 0 ? role->at[JOB_TENSOR] : HD_NO_NUMBER);
        report_cell_int(b, role && role->at[JOB_PIPELINE] >= 0 ? role->at[JOB_PIPELINE] : HD_NO_NUMBER);
        hd_table_add_int(b, gpu_round(measured));
        hd_table_add_int(b, gpu_round(expected));
        gpu_cell_decimal(b, alone, each);
        gpu_cell_text(b, &j->texts, j->doubts[m]);
    }
    hd_table_sort(b, "", "slowdown");
}

static int64_t stage_of(const slow_job *j, uint32_t member)
{
    const job_role *role = job_role_of(&j->roles, slow_member_at(j, member)->rank);
    return role ? role->at[JOB_PIPELINE] : -1;
}

/* false: no memory. */
static bool add_stages(hd_table_builder *b, slow_job *j, double ideal)
{
    int64_t last = -1;
    bool fine = true;
    for (uint32_t m = 0; m < j->members.count; m++) last = stage_of(j, m) > last ? stage_of(j, m) : last;
    for (int64_t stage = 0; stage <= last && fine; stage++) {
        uint64_t count = 0;
        for (uint32_t m = 0; m < j->members.count; m++) count += j->kept[m] = stage_of(j, m) == stage;
        if (!count) continue;
        hd_table_add_int(b, stage);
        hd_table_add_count(b, count);
        gpu_cell_decimal(b, slow_simulate(j, true) / ideal, ideal > 0);
        fine = add_doubts(b, j, false);
    }
    keep(j, false);
    return fine;
}

static hd_status add_operations(hd_table_builder *b, slow_job *j, double ideal, hd_error *err)
{
    uint32_t texts = j->texts.count; /* doubts together may be new ones */
    uint64_t *counts = calloc((size_t)texts + 1, sizeof *counts);
    bool fine = true;
    if (!counts) return HD_NOMEM(err);
    for (uint32_t c = 0; c < j->joined_count; c++) {
        uint32_t operation = operation_of(j, &j->collectives[c]);
        if (operation < texts && j->collectives[c].count) counts[operation]++;
    }
    for (uint32_t text = 0; text < texts && fine; text++) {
        if (!counts[text]) continue;
        j->kept_operation = text;
        gpu_cell_text(b, &j->texts, text);
        hd_table_add_count(b, counts[text]);
        gpu_cell_decimal(b, slow_simulate(j, true) / ideal, ideal > 0);
        fine = add_doubts(b, j, true);
    }
    free(counts);
    j->kept_operation = NO_OPERATION;
    hd_table_sort(b, "", "slowdown");
    return fine ? HD_OK : HD_NOMEM(err);
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
                                "rank: '%.40s' is not a RANK=median, such as 37=median", of->items[i]);
        for (uint32_t m = 0; m < j->members.count; m++) {
            if (slow_member_at(j, m)->rank == rank) any = is_fixed[m] = true;
        }
        if (!any)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "rank: the job has no collectives of rank %lld", (long long)rank);
    }
    return HD_OK;
}

GPU_KEY
typedef struct peer_kind {
    int64_t stage;
    uint32_t place, operation, step, zero;
} peer_kind;
GPU_KEY_END

static uint32_t peers_of(gpu_groups *peers, const slow_job *j, size_t visit)
{
    const slow_gap_kind *kind = gpu_group_key(&j->gap_kinds, j->visits[visit].kind);
    const peer_kind key = {kind->pp, kind->place, kind->operation, j->steps[visit], 0};
    return gpu_group(peers, &key);
}

/* Replaces their gaps by the median of those of all others of the stage at the same place in the same step; *alone:
 * number of those without others, which stay. */
static bool fix_gaps(slow_job *j, const bool *is_fixed, uint64_t *alone)
{
    gpu_groups peers = {.key_size = sizeof(peer_kind)};
    gpu_value *values = malloc((j->count + 1) * sizeof *values);
    size_t used = 0;
    bool fine = values != NULL;
    for (uint32_t m = 0; m < j->members.count; m++) {
        for (size_t i = j->list[m].first; i < j->list[m + 1].first && !is_fixed[m] && fine; i++) {
            values[used] = (gpu_value){gpu_round((double)j->visits[i].gap), peers_of(&peers, j, i)};
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

/* The job as measured, except these ranks. Last, since their gaps change. */
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
    double changed = slow_simulate(j, false);
    hd_table_add_count(b, count);
    hd_table_add_int(b, gpu_round(replayed));
    hd_table_add_int(b, gpu_round(changed));
    gpu_cell_decimal(b, 100 * (changed - replayed) / replayed, replayed > 0);
    hd_table_add_int(b, gpu_round(changed * error / 100));
    hd_table_add_count(b, alone);
    return add_doubts(b, j, true) ? HD_OK : HD_NOMEM(err);
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
    HD_TRY(find_doubts(j, err));
    keep(j, true);
    double measured = slow_measure(j), replayed = slow_simulate(j, false);
    if (isnan(replayed))
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                            "ranks have their collectives in different orders, or one twice, so nothing is predicted");
    double error = measured > 0 ? 100 * fabs(replayed - measured) / measured : 0;
    if (error > PERCENT_MAX)
        return hd_error_set(
            err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
            "the simulation takes %.6f s where %.6f s were measured, %.1f %% off: above %d %% nothing is predicted",
            replayed / 1e9, measured / 1e9, error, (int)PERCENT_MAX);
    hd_table_add_count(check, j->members.count);
    hd_table_add_count(check, count_joined(j));
    hd_table_add_count(check, j->unmatched);
    hd_table_add_int(check, gpu_round(measured));
    hd_table_add_int(check, gpu_round(replayed));
    hd_table_add_decimal(check, error);
    keep(j, false);
    double ideal = slow_simulate(j, true), transfers = slow_simulate(j, false);
    hd_table_add_int(what_if, gpu_round(replayed));
    hd_table_add_int(what_if, gpu_round(ideal));
    gpu_cell_decimal(what_if, replayed / ideal, ideal > 0);
    gpu_cell_decimal(what_if, transfers / ideal, ideal > 0);
    if (!add_doubts(what_if, j, true)) return HD_NOMEM(err);
    add_members(builders[RANKS], j, ideal);
    if (!add_stages(builders[STAGES], j, ideal)) return HD_NOMEM(err);
    HD_TRY(add_operations(builders[OPERATIONS], j, ideal, err));
    return add_fixed(builders[AS_PEERS], j, ranks, replayed, error, err);
}

/* ---- the report ---- */

static const hd_report_column check_columns[] = {
    {"ranks", HD_VALUE_COUNT, "and devices that have collectives"},
    {"collectives", HD_VALUE_COUNT, "simulated collectives, without the unmatched ones"},
    {"unmatched", HD_VALUE_COUNT,
     "collectives of one rank each that are not joined, as the traces do not number them and ranks of the group have "
     "others in that step: they take as long as measured; above 5 % of all the report is refused"},
    {"measured", HD_VALUE_DURATION, "mean over ranks, from the end of the first collective to that of the last"},
    {"replayed", HD_VALUE_DURATION, "the same, simulated from what was measured"},
    {"error", HD_VALUE_DECIMAL, "difference between the two in percent; above 5 the report is refused"},
    {0}};
static const hd_report_column slowdown_columns[] = {
    {"replayed", HD_VALUE_DURATION, "as of self_check"},
    {"ideal", HD_VALUE_DURATION, "if every computation took the mean, and every transfer the median, of its kind"},
    {"slowdown", HD_VALUE_DECIMAL, "S: replayed / ideal"},
    {"transfer_slowdown", HD_VALUE_DECIMAL, "where only transfers are as measured, over ideal"},
    GPU_COLUMN_DOUBT,
    {0}};
static const hd_report_column rank_columns[] = {
    {"rank", HD_VALUE_INT, "of the job; where it is not known, the place of the file"},
    {"device", HD_VALUE_INT, "of the GPU"},
    {"tp", HD_VALUE_INT, "position in its tensor-parallel group, as of report topology"},
    {"pp", HD_VALUE_INT, "pipeline stage, likewise"},
    {"compute", HD_VALUE_DURATION, "sum of what lies between its collectives"},
    {"ideal_compute", HD_VALUE_DURATION, "the same by the means"},
    {"slowdown", HD_VALUE_DECIMAL,
     "slowdown of the job with only this rank as measured; null: too many ranks to simulate each"},
    GPU_COLUMN_DOUBT,
    {0}};
static const hd_report_column stage_columns[] = {
    {"pp", HD_VALUE_INT, "pipeline stage, as of report topology"},
    {"ranks", HD_VALUE_COUNT, "and devices of it"},
    {"slowdown", HD_VALUE_DECIMAL, "of the job where only these are as measured"},
    GPU_COLUMN_DOUBT,
    {0}};
static const hd_report_column operation_columns[] = {
    {"operation", HD_VALUE_STRING, "of collectives"},
    {"collectives", HD_VALUE_COUNT, "of it"},
    {"slowdown", HD_VALUE_DECIMAL, "slowdown of the job with only these, and the computation before them, as measured"},
    GPU_COLUMN_DOUBT,
    {0}};
static const hd_report_column peer_columns[] = {
    {"ranks", HD_VALUE_COUNT, "and devices that --rank names"},
    {"before", HD_VALUE_DURATION, "replayed, as of self_check"},
    {"after", HD_VALUE_DURATION,
     "if these computed as long as the median of the others of their stage, at the same position of the same step"},
    {"change_percent", HD_VALUE_DECIMAL, "of what was before"},
    {"uncertainty", HD_VALUE_DURATION, "by how much `after` may be off: the error of the check, applied to `after`"},
    {"alone", HD_VALUE_COUNT, "computations without a counterpart on other ranks, which stay as measured"},
    GPU_COLUMN_DOUBT,
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

typedef struct slowdown_options {
    hd_option_texts ranks;
} slowdown_options;

static hd_status slowdown_of(hd_report *out, const hd_job *of, const slowdown_options *options, hd_error *err)
{
    hd_table_builder *builders[TABLES] = {NULL};
    slow_job j = {.of = of, .wants_steps = options->ranks.count > 0, .kept_operation = NO_OPERATION};
    hd_status status = HD_OK;
    *out = (hd_report){0};
    for (size_t i = 0; i < TABLES && status == HD_OK; i++)
        status = report_builder(&builders[i], &report_slowdown_about, tables[i].name, err);
    if (status == HD_OK) status = job_roles_init(&j.roles, &of, 1, false, builders[LOST], err);
    if (status == HD_OK) status = slow_job_read(&j, builders[LOST], err);
    if (status == HD_OK && !(slow_find_ideals(&j) && slow_make_lists(&j))) status = HD_NOMEM(err);
    if (status == HD_OK) status = add_rows(&j, builders, &options->ranks, err);
    for (size_t i = 0; i < TABLES && status == HD_OK; i++) {
        hd_table_builder *table = builders[i];
        builders[i] = NULL;
        status = report_add(out, table, err);
    }
    if (status != HD_OK) hd_report_free(out);
    for (size_t i = 0; i < TABLES; i++) hd_table_builder_free(builders[i]);
    slow_job_deinit(&j);
    return status;
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    return slowdown_of(out, input->job, options, err);
}

static const hd_option_about options[] = {{"rank", HD_OPTION_TEXTS, NULL,
                                           "RANK=median: how long the job would take if that rank computed like the "
                                           "median of its peers; may be given several times",
                                           offsetof(slowdown_options, ranks)},
                                          {0}};

const hd_report_about report_slowdown_about = {
    .name = "slowdown",
    .title = "how fast a job would be without stragglers, from its collectives",
    .text =
        "Simulates a job: all FILEs, traces or summaries (.hds), are one job. The time between two collectives of a "
        "rank is its computation; a collective begins when its last rank arrives, and takes the shortest of its "
        "durations. The job is simulated as measured, and with the mean of each computation among ranks of the same "
        "role and steps. Computation during a wait counts as waiting. Collectives without numbers are counted "
        "within steps, and joined only if the ranks of their group have equally many in that step. The self-check "
        "comes first; a job is refused if its simulation is more than 5 % off, or if more than 5 % of its "
        "collectives are not joined.",
    .of_job = true,
    .says_trust = true,
    .options = options,
    .options_size = sizeof(slowdown_options),
    .tables = tables,
    .run = run,
};
