/* findings.c - findings of a job: late ranks, and the cost of its transfers
 *
 * The job is simulated (slowdown.c) as recorded, with the late ranks as fast as the fastest at each place, with all
 * ranks so, and with transfers that take no time. The saving is not a sum of durations: a rank that no longer waits for
 * one rank waits for the next.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "model/host/stalls.h"
#include "model/identity/device.h"
#include "report/advice.h"
#include "report/job/slowdown/findings.h"
#include "report/job/slowdown/impl.h"
#include "report/job/slowdown/stages.h"
#include "report/job/slowdown/starved.h"

const hd_report_column job_findings_columns[] = {
    {"code", HD_VALUE_STRING,
     "cpu-starved, host-bound, late-rank, uneven-ranks, uneven-stages or transfers; docs/findings has a page for each"},
    {"severity", HD_VALUE_STRING, "warning: it can be changed; note: good to know"},
    {"saves", HD_VALUE_DURATION, "upper bound of the saving, of the time between the first and the last collective"},
    {"how", HD_VALUE_STRING, "ranks: the job simulated without it"},
    {"amount", HD_VALUE_DURATION, "the measured time, mean over ranks"},
    {"whole", HD_VALUE_DURATION, "from the end of the first collective to that of the last, mean over ranks"},
    {"share", HD_VALUE_DECIMAL, "percent: amount of whole"},
    {"finding", HD_VALUE_STRING, "the same in a sentence"},
    {"advice", HD_VALUE_STRING, "what to change"},
    {"ranks", HD_VALUE_STRING, "the ranks concerned, separated by commas; null: all"},
    {0}};

const hd_finding_code job_finding_codes[JOB_FINDINGS] = {
    {"late-rank", "warning", "some ranks come late to collectives, and the others wait for them",
     "Look at these ranks alone: heddle summary on their traces, and heddle stragglers for when. Often it is CPU "
     "binding, another process on the host, uneven batches or parts of the domain, or a slow GPU."},
    {"uneven-ranks", "warning", "ranks wait for one another, though none is late for long",
     "Give each rank its own CPUs (srun --cpu-bind, mpirun --bind-to core, numactl, OMP_NUM_THREADS) and even batches "
     "or parts of the domain; collect garbage on all ranks at once."},
    {"transfers", "warning", "collectives take time even when no rank waits",
     "Overlap them with compute, send fewer bytes (bf16, sharding, larger buckets), or use a faster link; heddle "
     "communication has their bandwidth."},
    {"uneven-stages", "warning", "a stage of the pipeline computes longer than the others",
     "Move layers to other stages: embedding and head count as layers (Megatron's "
     "--decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers, DeepSpeed's partition_method), or "
     "interleave stages."}};

typedef struct job_state {
    slow_job *j;
    hd_table_builder *b;
    double whole;            /* as it was, simulated */
    double waited, transfer; /* mean over ranks */
    double *compute, median; /* by member: sum between collectives */
    bool *is_late;           /* by member */
    uint32_t late;
    finding_api api;
    const char *device_kind; /* of the first device that has a name */
} job_state;

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Ideals become the least of each kind of gap, and 0 for transfers. */
static void set_least(slow_job *j)
{
    for (uint32_t k = 0; k < j->gap_kinds.count; k++) j->gaps[k] = INFINITY;
    for (size_t i = 0; i < j->count; i++) {
        double *least = &j->gaps[j->visits[i].kind];
        if ((double)j->visits[i].gap < *least) *least = (double)j->visits[i].gap;
    }
    for (uint32_t k = 0; k < j->transfer_kinds.count; k++) j->transfers[k] = 0;
}

static double median_of(const double *sorted, uint32_t count)
{
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* Late is who computes 1.3 times as long between collectives as the median rank. */
static bool find_late(job_state *s)
{
    const slow_job *j = s->j;
    uint32_t members = j->members.count;
    double *sorted = calloc((size_t)members + 1, sizeof *sorted);
    s->compute = calloc((size_t)members + 1, sizeof *s->compute);
    s->is_late = calloc((size_t)members + 1, sizeof *s->is_late);
    if (!sorted || !s->compute || !s->is_late) {
        free(sorted);
        return false;
    }
    for (uint32_t m = 0; m < members; m++) {
        for (size_t i = j->list[m].first + 1; i < j->list[m + 1].first; i++) {
            s->compute[m] += (double)j->visits[i].gap;
            s->transfer += (double)j->collectives[j->visits[i].collective].shortest / members;
        }
        sorted[m] = s->compute[m];
    }
    hd_sort(sorted, members, sizeof *sorted, by_value);
    double median = median_of(sorted, members);
    for (uint32_t m = 0; m < members; m++) {
        s->is_late[m] = members > 1 && s->compute[m] > 1.3 * median;
        s->late += s->is_late[m];
        s->waited += (s->whole - s->compute[m]) / members;
    }
    s->median = median_of(sorted, members - s->late); /* those that are late are the last */
    s->waited = s->waited > s->transfer ? s->waited - s->transfer : 0;
    free(sorted);
    return true;
}

static void add_row(job_state *s, const hd_finding_code *about, double after, double amount, const char *text,
                    const char *ranks)
{
    double saves = s->whole > after ? s->whole - after : 0;
    char advice[FINDING_ADVICE];
    if (amount > s->whole) amount = s->whole;
    if (saves * 100 < s->whole) return;
    hd_table_add_text(s->b, about->code);
    hd_table_add_text(s->b, about->severity);
    hd_table_add_int(s->b, gpu_round(saves));
    hd_table_add_text(s->b, "ranks");
    hd_table_add_int(s->b, gpu_round(amount));
    hd_table_add_int(s->b, gpu_round(s->whole));
    hd_table_add_decimal(s->b, 100 * amount / s->whole);
    hd_table_add_text(s->b, text);
    hd_table_add_text(s->b, finding_advice_in(advice, about->advice, s->api, s->device_kind));
    if (ranks)
        hd_table_add_text(s->b, ranks);
    else
        hd_table_add_null(s->b);
}

enum { NAMED = 8, WORTH = 10 }; /* WORTH: a tenth of the whole */

/* "0 and 6", "0, 6 and 7", "0, 1, 2 and 9 more"; and of all "0,6". */
static void name_late(char out[120], char list[160], const job_state *s)
{
    uint32_t named = 0;
    *out = *list = '\0';
    for (uint32_t m = 0; m < s->j->members.count && named < NAMED; m++) {
        if (!s->is_late[m]) continue;
        long long rank = (long long)slow_member_at(s->j, m)->rank;
        size_t used = strlen(out), size = strlen(list);
        named++;
        snprintf(out + used, 120 - used, "%s%lld", named == 1 ? "" : named == s->late ? " and " : ", ", rank);
        snprintf(list + size, 160 - size, "%s%lld", named == 1 ? "" : ",", rank);
    }
    size_t used = strlen(out);
    if (s->late > named) snprintf(out + used, 120 - used, " and %u more", s->late - named);
}

static void add_late(job_state *s)
{
    char names[120], list[160], text[400], most[HD_VALUE_TEXT_BYTES], usual[HD_VALUE_TEXT_BYTES],
        wait[HD_VALUE_TEXT_BYTES], whole[HD_VALUE_TEXT_BYTES];
    double longest = 0;
    for (uint32_t m = 0; m < s->j->members.count; m++) {
        s->j->kept[m] = !s->is_late[m];
        if (s->is_late[m] && s->compute[m] > longest) longest = s->compute[m];
    }
    name_late(names, list, s);
    snprintf(text, sizeof text,
             "Rank%s %s %s late: between collectives %s up to %s, the others %s (median). Ranks wait for others for %s "
             "of %s "
             "(%.1f %%), mean over ranks.",
             s->late == 1 ? "" : "s", names, s->late == 1 ? "is" : "are", s->late == 1 ? "it works" : "they work",
             hd_text_duration(most, gpu_round(longest)), hd_text_duration(usual, gpu_round(s->median)),
             hd_text_duration(wait, gpu_round(s->waited)), hd_text_duration(whole, gpu_round(s->whole)),
             100 * s->waited / s->whole);
    add_row(s, &job_finding_codes[0], slow_simulate(s->j, false), s->waited, text, list);
}

static void add_uneven(job_state *s)
{
    char text[300], wait[HD_VALUE_TEXT_BYTES], whole[HD_VALUE_TEXT_BYTES];
    for (uint32_t m = 0; m < s->j->members.count; m++) s->j->kept[m] = false;
    snprintf(text, sizeof text,
             "No rank is late for long, but each is now and then: ranks wait for others for %s of %s (%.1f %%), "
             "mean over ranks.",
             hd_text_duration(wait, gpu_round(s->waited)), hd_text_duration(whole, gpu_round(s->whole)),
             100 * s->waited / s->whole);
    add_row(s, &job_finding_codes[1], slow_simulate(s->j, false), s->waited, text, NULL);
}

/* The job with hosts that are not the limit: between collectives ranks take only the busy time of their devices, of
 * which *out_busy is the sum, mean over ranks. */
static hd_status simulate_busy(double *out, double *out_busy, const hd_job *of, hd_table_builder *lost, hd_error *err)
{
    slow_job j = {.of = of, .kept_operation = NO_OPERATION, .wants_busy = true};
    hd_status status = job_roles_init(&j.roles, &of, 1, false, lost, err);
    if (status == HD_OK) status = slow_job_read(&j, lost, err);
    if (status == HD_OK && !(slow_find_ideals(&j) && slow_make_lists(&j))) status = HD_NOMEM(err);
    if (status == HD_OK) {
        for (uint32_t m = 0; m < j.members.count; m++) j.kept[m] = true;
        *out = slow_simulate(&j, false);
        *out_busy = 0;
        for (uint32_t m = 0; m < j.members.count; m++)
            for (size_t i = j.list[m].first + 1; i < j.list[m + 1].first; i++)
                *out_busy += (double)j.visits[i].gap / j.members.count;
    }
    slow_job_deinit(&j);
    return status;
}

/* The same as of a trace. */
static const hd_finding_code *about(const char *code)
{
    size_t i = 0;
    while (strcmp(hd_finding_code_at(i)->code, code) != 0) i++;
    return hd_finding_code_at(i);
}

static void add_host(job_state *s, double after, double busy)
{
    char text[300], waits[HD_VALUE_TEXT_BYTES], whole[HD_VALUE_TEXT_BYTES];
    double host = 0;
    for (uint32_t m = 0; m < s->j->members.count; m++) host += s->compute[m] / s->j->members.count;
    host -= busy;
    if (host * WORTH < s->whole) return;
    snprintf(text, sizeof text,
             "The hosts set the pace: between collectives the GPUs are idle for %s of %s (%.1f %%), mean over ranks.",
             hd_text_duration(waits, gpu_round(host)), hd_text_duration(whole, gpu_round(s->whole)),
             100 * host / s->whole);
    add_row(s, about("host-bound"), after, host, text, NULL);
}

static void add_starved(job_state *s, const job_starved *of, double after)
{
    char text[400], at_once[120] = "", still[HD_VALUE_TEXT_BYTES], whole[HD_VALUE_TEXT_BYTES];
    uint32_t running = of->ranks - of->most;
    if (of->most_for >= 50 && of->most && running)
        snprintf(at_once, sizeof at_once, " For %.0f %% of the time %u of %u stall at once, as if there %s %u CPU%s.",
                 of->most_for, of->most, of->ranks, running == 1 ? "was" : "were", running, running == 1 ? "" : "s");
    snprintf(
        text, sizeof text,
        "The hosts' threads make no progress for %s of %s (%.1f %%), mean over ranks, in %u different operators.%s",
        hd_text_duration(still, gpu_round(of->still)), hd_text_duration(whole, gpu_round(s->whole)),
        100 * of->still / s->whole, of->names, at_once);
    add_row(s, about("cpu-starved"), after, of->still, text, NULL);
}

static void add_transfers(job_state *s)
{
    char text[300], transfer[HD_VALUE_TEXT_BYTES], whole[HD_VALUE_TEXT_BYTES];
    double all = s->waited + s->transfer;
    for (uint32_t m = 0; m < s->j->members.count; m++) s->j->kept[m] = true;
    snprintf(
        text, sizeof text,
        "Collectives themselves, without waiting for other ranks, take %s of %s (%.1f %%): %.0f %% of the time in them "
        "is waiting.",
        hd_text_duration(transfer, gpu_round(s->transfer)), hd_text_duration(whole, gpu_round(s->whole)),
        100 * s->transfer / s->whole, all > 0 ? 100 * s->waited / all : 0);
    add_row(s, &job_finding_codes[2], slow_simulate(s->j, true), s->transfer, text, NULL);
}

static void add_stages(job_state *s, const job_stages *of)
{
    char text[300], longest[HD_VALUE_TEXT_BYTES], mean[HD_VALUE_TEXT_BYTES];
    snprintf(text, sizeof text,
             "Stage %u of the pipeline computes %s between collectives, %.2f times the mean of %u stages, %s.",
             of->slowest, hd_text_duration(longest, gpu_round(of->longest)), of->longest / of->mean, of->stages,
             hd_text_duration(mean, gpu_round(of->mean)));
    add_row(s, &job_finding_codes[3], of->after, of->longest - of->mean, text, NULL);
}

/* By the first device that has a name. */
static hd_status find_api(job_state *out, const hd_job *of, hd_error *err)
{
    hd_table *devices;
    out->api = FINDING_API_CUDA;
    out->device_kind = hd_device_kind_in((hd_string){0});
    HD_TRY(hd_job_whole_table(&devices, of, "devices", NULL, NULL, err));
    size_t name = devices ? hd_table_find_column(devices, "name") : SIZE_MAX, size;
    for (size_t row = 0; name != SIZE_MAX && row < hd_table_row_count(devices); row++) {
        if (hd_table_is_null(devices, row, name)) continue;
        const char *text = hd_table_get_string(&size, devices, row, name);
        out->api = finding_api_of_model((hd_string){text, size});
        out->device_kind = hd_device_kind_in((hd_string){text, size});
        break;
    }
    hd_table_free(devices);
    return HD_OK;
}

hd_status job_add_findings(hd_table_builder *b, const hd_job *of, hd_table_builder *lost, hd_error *err)
{
    slow_job j = {.of = of, .kept_operation = NO_OPERATION};
    job_state s = {.j = &j, .b = b};
    job_starved starved;
    hd_error ignored = {0};
    hd_status status = job_roles_init(&j.roles, &of, 1, false, lost, err);
    if (status == HD_OK) status = slow_job_read(&j, lost, &ignored);
    if (status == HD_OK && !(slow_find_ideals(&j) && slow_make_lists(&j))) status = HD_NOMEM(err);
    if (status == HD_OK) status = find_api(&s, of, err);
    if (status == HD_OK && j.count && j.members.count > 1) {
        for (uint32_t m = 0; m < j.members.count; m++) j.kept[m] = true;
        s.whole = slow_simulate(&j, false);
        double measured = slow_measure(&j);
        bool is_like = !isnan(s.whole) && s.whole > 0 && fabs(s.whole - measured) * 100 <= PERCENT_MAX * measured;
        set_least(&j);
        status = job_find_starved(&starved, &j, lost, err);
        if (status == HD_OK && is_like && !find_late(&s)) status = HD_NOMEM(err);
        if (is_like && status == HD_OK) {
            bool is_starved = starved.names >= GPU_STALL_NAMES && starved.still * WORTH >= s.whole;
            double after = s.whole, busy = 0;
            if (is_starved || !s.late) status = simulate_busy(&after, &busy, of, lost, err);
            if (status == HD_OK && is_starved) add_starved(&s, &starved, after);
            if (status == HD_OK && !is_starved && !s.late) add_host(&s, after, busy);
            if (s.late)
                add_late(&s);
            else if (!is_starved)
                add_uneven(&s);
            add_transfers(&s);
            job_stages stages = {0};
            if (status == HD_OK) status = job_find_stages(&stages, &j, s.compute, err);
            if (stages.is_uneven && status == HD_OK) add_stages(&s, &stages);
            hd_table_sort(b, "", "saves");
        }
    }
    free(s.compute);
    free(s.is_late);
    slow_job_deinit(&j);
    /* Collectives that do not match prove nothing: there is no finding then. */
    return status == HD_ERR_UNSUPPORTED || status == HD_ERR_LIMIT ? HD_OK : status;
}
