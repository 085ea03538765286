/* summary.c - one screen: the findings, and the main figures of other reports
 *
 * The findings are those of finding.h; the tables below them are the first rows of other reports, so that no figure is
 * computed twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/thread.h"
#include "model/roles/trace_roles.h"
#include "report/findings/finding.h"
#include "report/properties.h"
#include "trace/event.h"
#include "trace/ranks.h"

typedef struct summary_options {
    gpu_options gpu;
    uint64_t rows;
    const char *model; /* NULL: as the trace says */
} summary_options;

enum { BREAKDOWN, KERNELS, IDLE, COMMUNICATION, STEPS, MEMORY, PARTS = FINDING_PARTS };
static const char *const part_names[PARTS] = {"breakdown", "kernels", "idle", "communication", "steps", "memory"};

typedef struct summary {
    const hd_trace *trace;
    const summary_options *options;
    hd_report parts[PARTS];
    findings findings;
    hd_memory *memory;
} summary;

/* ---- cells of other reports ---- */

/* Rows [first, end) of a table of which some columns are read by name. */
typedef struct reader {
    const hd_table *table; /* NULL: there is none, and so no rows */
    size_t first, end;
} reader;

static reader read_table(const summary *s, int part, const char *name)
{
    const hd_table *table = hd_report_table(&s->parts[part], name);
    return (reader){table, 0, table ? hd_table_row_count(table) : 0};
}

/* HD_NO_NUMBER where it is null, or a text. */
static int64_t number(const reader *r, size_t row, const char *column)
{
    size_t c = hd_table_find_column(r->table, column);
    if (c == SIZE_MAX || hd_table_is_null(r->table, row, c)) return HD_NO_NUMBER;
    hd_value_type type = hd_table_get_column(r->table, c)->type;
    if (type == HD_VALUE_STRING) return HD_NO_NUMBER;
    if (type == HD_VALUE_COUNT || type == HD_VALUE_BYTES) return (int64_t)hd_table_get_count(r->table, row, c);
    return hd_table_get_int(r->table, row, c);
}

/* "" where it is null. Names are cut so that a sentence has room. */
static const char *text(char out[96], const reader *r, size_t row, const char *column)
{
    size_t size, c = hd_table_find_column(r->table, column);
    *out = '\0';
    if (c == SIZE_MAX || hd_table_is_null(r->table, row, c)) return out;
    const char *data = hd_table_get_string(&size, r->table, row, c);
    size_t kept = size;
    if (size > 90) {
        for (kept = 87; kept && ((unsigned char)data[kept] & 0xc0) == 0x80;) kept--;
    }
    snprintf(out, 96, "%.*s%s", (int)kept, data, kept < size ? "…" : "");
    return out;
}

static bool stands_before(const reader *a, size_t i, const reader *b, size_t k, bool of_device)
{
    int64_t x = number(a, i, "rank"), y = number(b, k, "rank");
    if (x != y || !of_device) return x < y;
    x = number(a, i, "device"), y = number(b, k, "device");
    char one[96], other[96];
    return x != y ? x < y : strcmp(text(one, a, i, "process"), text(other, b, k, "process")) < 0;
}

/* ---- steps ---- */

typedef struct step_sum {
    int64_t rank, median, slowest, start, id;
    uint64_t count;
    char name[96];
} step_sum;

/* Sums over the steps of a rank, in rows [from, until). */
static bool sum_steps(step_sum *out, const reader *steps, size_t from, size_t until)
{
    size_t count = until - from, slowest = from;
    gpu_stats durations = {0};
    gpu_value *list = calloc(count, sizeof *list);
    if (!list) return false;
    for (size_t i = 0; i < count; i++) {
        list[i].value = number(steps, from + i, "duration");
        if (list[i].value > number(steps, slowest, "duration")) slowest = from + i;
    }
    bool fine = gpu_stats_of(&durations, 1, list, count, UINT64_MAX);
    free(list);
    out->rank = number(steps, from, "rank");
    out->count = count;
    out->median = durations.median;
    out->slowest = durations.max;
    out->start = number(steps, slowest, "start");
    out->id = number(steps, slowest, "id");
    text(out->name, steps, slowest, "step");
    return fine;
}

static hd_status add_steps(hd_report *out, summary *s, hd_error *err)
{
    const reader steps = read_table(s, STEPS, "steps");
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_summary_about, "steps", err));
    for (size_t from = 0, until; from < steps.end; from = until) {
        step_sum sum;
        for (until = from + 1; until < steps.end && !stands_before(&steps, from, &steps, until, false);) until++;
        bool fine = sum_steps(&sum, &steps, from, until);
        if (!fine) {
            hd_table_builder_free(b);
            return HD_NOMEM(err);
        }
        report_cell_int(b, sum.rank);
        hd_table_add_count(b, sum.count);
        hd_table_add_int(b, sum.median);
        hd_table_add_int(b, sum.slowest);
        hd_table_add_text(b, sum.name);
        hd_table_add_int(b, sum.start);
    }
    return report_add(out, b, err);
}

/* ---- tables ---- */

/* Some columns of the first rows of each device (all: of all) of a table of another report. */
static hd_status add_rows(hd_report *out, const summary *s, int part, const char *from, const char *table, size_t rows,
                          hd_error *err)
{
    const reader r = read_table(s, part, from);
    const hd_report_table_about *about = report_summary_about.tables;
    hd_table_builder *b;
    while (strcmp(about->name, table) != 0) about++;
    HD_TRY(report_builder(&b, &report_summary_about, table, err));
    for (size_t i = 0, first = 0; i < r.end; i++) {
        if (i && stands_before(&r, first, &r, i, true)) first = i;
        if (i - first >= rows) continue;
        for (const hd_report_column *c = about->columns; c->name; c++)
            hd_table_add_cell(b, r.table, i, hd_table_find_column(r.table, c->name));
    }
    return report_add(out, b, err);
}

static void add_evidence(hd_table_builder *b, const finding *f)
{
    char list[FINDING_EVIDENCE * 24] = "";
    for (uint32_t i = 0; i < f->id_count; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%lld", used ? "," : "", (long long)f->ids[i]);
    }
    if (*list)
        hd_table_add_text(b, list);
    else
        hd_table_add_null(b);
}

static void add_text(hd_table_builder *b, const char *text)
{
    if (text)
        hd_table_add_text(b, text);
    else
        hd_table_add_null(b);
}

/* The evidence is one event: the longest. */
static void add_event(hd_table_builder *b, const finding *f, const hd_trace *trace)
{
    int64_t id = f->id_count ? f->ids[0] : HD_NO_NUMBER;
    report_cell_int(b, id == HD_NO_NUMBER ? HD_NO_TIME : hd_event_at(trace, HD_KIND_SLICE, (uint64_t)id).start_ns);
    report_cell_int(b, id == HD_NO_NUMBER ? HD_NO_TIME : hd_event_at(trace, HD_KIND_SLICE, (uint64_t)id).duration_ns);
    report_cell_int(b, id);
    add_evidence(b, f);
}

static void add_finding(hd_table_builder *b, const summary *s, const finding *f)
{
    const gpu_scope *scope = &s->findings.scope;
    unsigned doubts = 0;
    char advice[FINDING_ADVICE];
    for (uint32_t d = 0; d < scope->device_count; d++)
        if (f->device == HD_NONE || f->device == d)
            doubts |= gpu_doubts_of_device(s->findings.trust, scope, d, GPU_FIGURE_TIME | GPU_FIGURE_IDLE);
    report_cell_int(b, f->rank);
    if (f->device == HD_NONE) {
        hd_table_add_null(b);
        hd_table_add_null(b);
    } else {
        report_cell_int(b, scope->devices[f->device].device);
        gpu_cell_process(b, scope, f->device);
    }
    gpu_cell_step(b, scope, f->step);
    hd_table_add_text(b, f->rule->about.code);
    hd_table_add_text(b, f->rule->about.severity);
    report_cell_int(b, f->saves);
    add_text(b, finding_how_names[f->how]);
    report_cell_int(b, f->then);
    add_text(b, f->behind);
    report_cell_int(b, f->amount);
    report_cell_int(b, f->whole);
    gpu_cell_ratio(b, f->amount == HD_NO_TIME ? 0 : f->amount, f->amount == HD_NO_TIME ? 0 : f->whole, 100);
    hd_table_add_text(b, f->text);
    hd_table_add_text(b, findings_advice(advice, &s->findings, f->rule));
    add_text(b, f->reason);
    hd_table_add_text(b, doubts ? "doubtful" : f->trust_reason ? "inferred" : "firm");
    add_text(b, f->trust_reason);
    hd_table_add_count(b, f->events);
    add_event(b, f, scope->trace);
    gpu_cell_doubts(b, doubts);
}

static hd_status add_findings(hd_report *out, summary *s, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_summary_about, "findings", err));
    for (uint32_t i = 0; i < s->findings.count; i++) add_finding(b, s, &s->findings.list[i]);
    return report_add(out, b, err);
}

/* ---- what the trace is ---- */

/* The models of the devices that have activities, each once: "NVIDIA A100, Tesla V100". */
typedef struct models {
    const gpu_scope *scope;
    char text[200];
} models;

static bool add_model(void *user, report_properties *p)
{
    models *m = user;
    bool is_active = false;
    for (uint32_t d = 0; d < m->scope->device_count && !is_active; d++)
        is_active =
            m->scope->devices[d].device == p->id && (p->rank == HD_NO_NUMBER || p->rank == m->scope->devices[d].rank);
    size_t used = strlen(m->text);
    if (is_active && p->name && !strstr(m->text, p->name) && used + strlen(p->name) + 3 < sizeof m->text)
        snprintf(m->text + used, sizeof m->text - used, "%s%s", used ? ", " : "", p->name);
    return true;
}

static hd_status add_trace(hd_report *out, const summary *s, hd_error *err)
{
    const hd_trace_facts *facts = hd_trace_facts_of(s->trace);
    const findings *f = &s->findings;
    models m = {.scope = &f->scope};
    hd_table_builder *b;
    if (!report_properties_read(s->trace, add_model, &m)) return HD_NOMEM(err);
    HD_TRY(report_builder(&b, &report_summary_about, "trace", err));
    if (!f->scope.device_count) return report_add(out, b, err);
    add_text(b, hd_producer_of(s->trace));
    report_cell_int(b, facts->rank);
    report_cell_int(b, facts->world_size);
    hd_table_add_count(b, f->scope.device_count);
    add_text(b, s->options->model ? s->options->model : *m.text ? m.text : NULL);
    report_cell_int(b, f->until > f->from ? findings_whole(f) : HD_NO_TIME);
    return report_add(out, b, err);
}

/* ---- the report ---- */

/* The options that all of them know, as they were given. */
static const char **options_of_parts(const hd_report_input *input)
{
    size_t count = 0, kept = 0;
    while (input->options && input->options[count]) count++;
    const char **options = calloc(count + 1, sizeof *options);
    for (size_t i = 0; options && i < count; i++) {
        if (strncmp(input->options[i], "rows=", 5) != 0 && strncmp(input->options[i], "gpu=", 4) != 0)
            options[kept++] = input->options[i];
    }
    return options;
}

/* A part, as a task. */
typedef struct part_task {
    summary *s;
    const hd_report_input *input;
    int part;
} part_task;

static hd_status run_part(void *user, hd_error *err)
{
    const part_task *t = user;
    hd_report_input input = *t->input;
    if (t->part == MEMORY) input.options = NULL;
    return hd_report_run(&t->s->parts[t->part], part_names[t->part], &input, err);
}

static hd_status find_memory(void *user, hd_error *err)
{
    static const hd_memory_options without_stacks = {.size = sizeof without_stacks, .no_stacks = true};
    summary *s = user;
    return hd_memory_new(&s->memory, s->trace, &without_stacks, err);
}

/* The parts borrow the scope of the findings, and are not by step. */
static hd_status find_and_run_parts(summary *s, const hd_report_input *input, hd_error *err)
{
    const hd_task before[] = {
        {findings_make_graph, &s->findings}, {findings_find_gaps, &s->findings}, {find_memory, s}};
    HD_TRY(hd_tasks_run(before, input->memory ? 2 : 3, err));
    findings_end_phase(&s->findings, FINDING_TRUST + FINDING_GRAPH);
    gpu_scope lent = s->findings.scope;
    lent.gaps = &s->findings.gaps;
    lent.totals_only = true;
    const char **options = options_of_parts(input);
    hd_report_input of_parts = *input;
    of_parts.options = options;
    of_parts.launches = lent.launches;
    of_parts.scope = &lent;
    of_parts.memory = input->memory ? input->memory : s->memory;
    of_parts.progress = NULL; /* the rules' alone, in the caller's thread */
    part_task parts[PARTS];
    hd_task tasks[1 + PARTS] = {{findings_find, &s->findings}};
    for (int part = 0; part < PARTS; part++) {
        parts[part] = (part_task){s, &of_parts, part};
        tasks[1 + part] = (hd_task){run_part, &parts[part]};
    }
    hd_status status = options ? hd_tasks_run(tasks, 1 + PARTS, err) : HD_NOMEM(err);
    free(options);
    findings_end_phase(&s->findings, FINDING_PARTS * FINDING_PART);
    return status;
}

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The ranks of its job that are not in the trace. */
static hd_status tell_missing(hd_report *out, const hd_trace *trace, hd_error *err)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    uint32_t tracks = hd_trace_track_count(trace);
    size_t count = 0, kept = 0;
    if (facts->world_size == HD_NO_NUMBER) return HD_OK;
    int64_t *ranks = calloc((size_t)tracks + 1, sizeof *ranks);
    if (!ranks) return HD_NOMEM(err);
    for (uint32_t t = 0; t < tracks; t++)
        if ((ranks[count] = hd_trace_rank_of(trace, t)) >= 0) count++;
    if (!count && facts->rank >= 0) ranks[count++] = facts->rank;
    hd_sort(ranks, count, sizeof *ranks, by_number);
    for (size_t i = 0; i < count; i++)
        if (!kept || ranks[i] != ranks[kept - 1]) ranks[kept++] = ranks[i];
    hd_status status = kept ? report_tell_missing(out, facts->world_size, ranks, kept, err) : HD_OK;
    free(ranks);
    return status;
}

static hd_status add_notes(hd_report *out, summary *s, hd_error *err)
{
    hd_table_builder *b;
    const reader notes = read_table(s, BREAKDOWN, "notes");
    HD_TRY(report_builder(&b, &report_summary_about, "notes", err));
    for (size_t i = 0; i < notes.end; i++) hd_table_add_cell(b, notes.table, i, 0);
    hd_report *breakdown = &s->parts[BREAKDOWN];
    out->trust = breakdown->trust;
    breakdown->trust = NULL;
    memcpy(out->trust_text, breakdown->trust_text, sizeof out->trust_text);
    hd_status status = tell_missing(out, s->trace, err);
    if (status != HD_OK) {
        hd_table_builder_free(b);
        return status;
    }
    return report_add(out, b, err);
}

static hd_status add_tables(hd_report *out, summary *s, hd_error *err)
{
    size_t rows = s->options->rows;
    hd_status status = add_findings(out, s, err);
    if (status == HD_OK) status = add_trace(out, s, err);
    if (status == HD_OK) status = add_steps(out, s, err);
    if (status == HD_OK) status = add_rows(out, s, BREAKDOWN, "breakdown", "breakdown", SIZE_MAX, err);
    if (status == HD_OK) status = add_rows(out, s, KERNELS, "kernels", "kernels", rows, err);
    if (status == HD_OK) status = add_rows(out, s, IDLE, "idle", "idle", rows, err);
    if (status == HD_OK) status = add_rows(out, s, COMMUNICATION, "communication", "communication", rows, err);
    if (status == HD_OK) status = add_rows(out, s, MEMORY, "devices", "memory", SIZE_MAX, err);
    return status == HD_OK ? add_notes(out, s, err) : status;
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    summary s = {.trace = input->trace, .options = options};
    hd_status status = findings_init(&s.findings, input, &s.options->gpu, s.options->model, err);
    if (status == HD_OK) status = find_and_run_parts(&s, input, err);
    if (status == HD_OK)
        status = findings_add_memory(&s.findings, input->memory ? input->memory : s.memory,
                                     hd_report_table(&s.parts[MEMORY], "devices"),
                                     hd_report_table(&s.parts[MEMORY], "reserved"), err);
    hd_memory_free(s.memory);
    if (status == HD_OK) status = add_tables(out, &s, err);
    for (int part = 0; part < PARTS; part++) hd_report_free(&s.parts[part]);
    findings_deinit(&s.findings);
    return status;
}

/* ---- about ---- */

#define DEVICE                                                                                                         \
    {"rank", HD_VALUE_INT, "null: unknown"}, {"device", HD_VALUE_INT, "null: the process has no device number"},       \
    {                                                                                                                  \
        "process", HD_VALUE_STRING, "identifies a device without a number; null if it has a number"                    \
    }

static const hd_report_column findings_columns[] = {
    DEVICE,
    {"step", HD_VALUE_STRING, "the step concerned; null: all"},
    {"code", HD_VALUE_STRING, "its type; docs/findings has a page for each"},
    {"severity", HD_VALUE_STRING, "warning: it can be changed; note: good to know"},
    {"saves", HD_VALUE_DURATION,
     "the most that can be saved if the cause disappeared and all else stayed equal; null: unknown"},
    {"how", HD_VALUE_STRING, "which bound this is: path, replay or host; null: unknown"},
    {"then", HD_VALUE_DURATION, "the most that it saves once `behind` is solved, if that is more"},
    {"behind", HD_VALUE_STRING, "code of the finding to solve first: of those that hide it, the one that saves most"},
    {"amount", HD_VALUE_DURATION, "the measured time"},
    {"whole", HD_VALUE_DURATION,
     "the time that findings are shares of: from the first step to the end of the last, else the span of the devices"},
    {"share", HD_VALUE_DECIMAL, "percent: amount of whole"},
    {"finding", HD_VALUE_STRING, "the same in a sentence"},
    {"advice", HD_VALUE_STRING, "what to change"},
    {"reason", HD_VALUE_STRING, "why `saves` is not known"},
    {"trust", HD_VALUE_STRING, "firm; inferred: trust_reason says why; doubtful: doubt does"},
    {"trust_reason", HD_VALUE_STRING, "null: none"},
    {"events", HD_VALUE_COUNT, "how many show it"},
    {"start", HD_VALUE_TIME, "where to look: the longest of them"},
    {"duration", HD_VALUE_DURATION, "how long it takes"},
    {"id", HD_VALUE_INT, GPU_ID_OF "that event"},
    {"evidence", HD_VALUE_STRING, "ids of the longest, at most five, separated by commas"},
    GPU_COLUMN_DOUBT,
    {0},
};
static const hd_report_column trace_columns[] = {
    {"producer", HD_VALUE_STRING, "the program that wrote it; null: unknown"},
    {"rank", HD_VALUE_INT, "of the whole trace; null: unknown, or several"},
    {"world_size", HD_VALUE_INT, "ranks in its job; null: unknown"},
    {"devices", HD_VALUE_COUNT, "GPUs with activities; there is no row without any"},
    {"model", HD_VALUE_STRING, "of these GPUs; null: the trace does not say"},
    {"whole", HD_VALUE_DURATION, "the time that findings are about"},
    {0},
};
static const hd_report_column steps_columns[] = {
    {"rank", HD_VALUE_INT, "null: unknown"},
    {"steps", HD_VALUE_COUNT, "how many"},
    {"median", HD_VALUE_DURATION, "of their durations"},
    {"slowest", HD_VALUE_DURATION, "the longest"},
    {"step", HD_VALUE_STRING, "the step in which it happened"},
    {"start", HD_VALUE_TIME, "when it began"},
    {0},
};
static const hd_report_column breakdown_columns[] = {
    DEVICE,
    {"span", HD_VALUE_DURATION, "from the first start of its work to the last end"},
    {"compute", HD_VALUE_DURATION, "a kernel that is not communication, or a memset, runs"},
    {"exposed_communication", HD_VALUE_DURATION, "communication runs, and no compute"},
    {"exposed_copy", HD_VALUE_DURATION, "a copy runs, and neither compute nor communication"},
    {"idle", HD_VALUE_DURATION, "nothing runs"},
    {"works", HD_VALUE_COUNT, "kernels, copies and memsets"},
    {"unlinked", HD_VALUE_COUNT, "activities whose launch is unknown"},
    GPU_COLUMN_DOUBT,
    {0},
};
static const hd_report_column kernels_columns[] = {
    DEVICE,
    {"share", HD_VALUE_DECIMAL, "percent of the time of all kernels"},
    {"total", HD_VALUE_DURATION, "sum of the durations"},
    {"count", HD_VALUE_COUNT, "calls"},
    {"mean", HD_VALUE_DURATION, "of the durations"},
    {"name", HD_VALUE_STRING, "of the kernel"},
    GPU_COLUMN_DOUBT,
    {0},
};
static const hd_report_column idle_columns[] = {
    DEVICE,
    {"cause", HD_VALUE_STRING, "why nothing ran; see heddle help report idle"},
    {"total", HD_VALUE_DURATION, "sum of its gaps"},
    {"share", HD_VALUE_DECIMAL, "percent of idle time"},
    {"gaps", HD_VALUE_COUNT, "how many"},
    {"longest", HD_VALUE_DURATION, "of them"},
    GPU_COLUMN_DOUBT,
    {0},
};
static const hd_report_column communication_columns[] = {
    DEVICE,
    {"collective", HD_VALUE_STRING, "AllReduce, AllGather …; null: not known"},
    {"dtype", HD_VALUE_STRING, "type of the elements"},
    {"size", HD_VALUE_INT, "ranks in the group"},
    {"count", HD_VALUE_COUNT, "kernels"},
    {"total", HD_VALUE_DURATION, "sum of their durations"},
    {"exposed", HD_VALUE_DURATION, "of the total, while no compute runs"},
    {"bus_bandwidth", HD_VALUE_DECIMAL, "GB/s, as nccl-tests counts it"},
    {0},
};
static const hd_report_column memory_columns[] = {
    {"process", HD_VALUE_STRING, "pid of the process"},
    {"device", HD_VALUE_STRING, "name of the device or allocator"},
    {"peak", HD_VALUE_BYTES, "most that was live at once"},
    {"peak_time", HD_VALUE_TIME, "time of the peak"},
    {"final", HD_VALUE_BYTES, "live at the end"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"findings", "what to do first, by what it saves at most", findings_columns},
    {"trace", "what the trace is of", trace_columns},
    {"steps", "how long steps take, by rank", steps_columns},
    {"breakdown", "where the time of each device goes; see report breakdown", breakdown_columns, HD_CHART_BARS,
     "rank,device", "compute,exposed_communication,exposed_copy,idle"},
    {"kernels", "the kernels that take most time; see report kernels", kernels_columns, HD_CHART_BARS, "name", "total"},
    {"idle", "why nothing ran; see report idle", idle_columns, HD_CHART_BARS, "rank,device,cause", "total"},
    {"communication", "collectives that take most time; see report communication", communication_columns},
    {"memory", "the peak of each device; see report memory", memory_columns},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {
    {"rows", HD_OPTION_COUNT, "5", "of each device, of kernels, idle causes and collectives",
     offsetof(summary_options, rows)},
    {"gpu", HD_OPTION_TEXT, NULL, "the GPUs are of this model, whatever the trace says: H200, 'NVIDIA H100 PCIe'",
     offsetof(summary_options, model)},
    GPU_OPTIONS_SCOPE,
    {0},
};

const hd_report_about report_summary_about = {
    .name = "summary",
    .title = "one screen: where the time goes, and what to look at first",
    .text = "Lists what to do first, with the most that each change can save and the evidence for it, then the first "
            "rows of the reports breakdown, kernels, idle, communication, steps and memory.",
    .says_trust = true,
    .wants_gpus = true,
    .options = options,
    .options_size = sizeof(summary_options),
    .tables = tables,
    .run = run,
};
