/* summary.c - the tables of a summary: those of reports by step, and some of its own
 *
 * All have a column `rank`, which is filled from the file's name if the trace has none.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "model/host/stalls.h"
#include "model/recorder/recorder.h"
#include "model/roles/trace_roles.h"
#include "report/gpu/gpu.h"
#include "report/job/groups.h"
#include "report/job/job.h"
#include "trace/clock.h"
#include "trace/ranks.h"

/* ---- what a summary has ---- */

static const hd_report_column rank_columns[] = {
    {"rank", HD_VALUE_INT, "of the job; null: unknown, or several in one trace"},
    {"world_size", HD_VALUE_INT, "how many ranks took part"},
    {"host", HD_VALUE_STRING, "host whose clock it uses"},
    {"file", HD_VALUE_STRING, "name of the trace"},
    {"format", HD_VALUE_STRING, "of the trace, or of what it was made from"},
    {"producer", HD_VALUE_STRING, "the program that wrote it"},
    {"clock_base", HD_VALUE_INT, "Unix time in ns of the zero of all times; null: unknown"},
    {"start", HD_VALUE_TIME, "of the first event"},
    {"end", HD_VALUE_TIME, "of the last event"},
    {"events", HD_VALUE_COUNT, "of all kinds but metadata"},
    {"trust", HD_VALUE_STRING, "the worst of the table trust, or that there is none"},
    {0}};
static const hd_report_column group_columns[] = {
    {"rank", HD_VALUE_INT, "rank of the member"},
    {"group", HD_VALUE_STRING, "name of the process group, as collectives have it"},
    {"description", HD_VALUE_STRING, "as the program gave it: default_pg, tp, dp …"},
    {"backend", HD_VALUE_STRING, "library that its collectives use"},
    {"size", HD_VALUE_INT, "ranks in it"},
    {"ranks", HD_VALUE_STRING, "JSON list of them; the profiler may have cut it"},
    {0}};
static const hd_report_column collective_columns[] = {
    {"rank", HD_VALUE_INT, "null: unknown"},
    {"device", HD_VALUE_INT, "of the GPU"},
    {"step", HD_VALUE_STRING, "in which it began; null: in none"},
    {"step_start", HD_VALUE_TIME, "of that step"},
    {"group", HD_VALUE_STRING,
     "of processes: 7; \"tp from 2\": the lowest of its ranks is 2; null: identified by its stream"},
    {"stream", HD_VALUE_INT, "stream on which it ran"},
    {"point_to_point", HD_VALUE_BOOL, "sends and receives are counted separately"},
    {"sequence", HD_VALUE_INT, "number within the group"},
    {"counted", HD_VALUE_BOOL,
     "the trace has no numbers: 10^9 * (number of the step + 1) + place in it, see heddle/analysis/job.h"},
    {"operation", HD_VALUE_STRING, "AllReduce, AllGather …"},
    {"size", HD_VALUE_INT, "ranks in the group"},
    {"bytes", HD_VALUE_COUNT, "as report communication counts them; null: unknown"},
    {"start", HD_VALUE_TIME, "of its kernel"},
    {"end", HD_VALUE_TIME, "of its kernel"},
    {"id", HD_VALUE_INT, GPU_ID_OF "it"},
    {"busy", HD_VALUE_DURATION, "how long its device computes or copies since the collective before it; null: none"},
    {0}};
static const hd_report_column stall_columns[] = {
    {"rank", HD_VALUE_INT, "null: unknown"},
    {"start", HD_VALUE_TIME, "when its process stalls: no slice begins or ends, and nothing waits"},
    {"end", HD_VALUE_TIME, "when it goes on"},
    {"name", HD_VALUE_STRING, "the operator in which it does; null: between operators"},
    {0}};

static const hd_report_column recorded_columns[] = {
    {"rank", HD_VALUE_INT, "null: unknown"},
    {"group", HD_VALUE_STRING, "process group, as the dump names it"},
    {"description", HD_VALUE_STRING, "as the program gave it"},
    {"ranks", HD_VALUE_STRING, "of the group, as the dump lists them"},
    {"record", HD_VALUE_INT, "number in the recorder's ring"},
    {"point_to_point", HD_VALUE_BOOL, "sends and receives are counted separately"},
    {"sequence", HD_VALUE_INT, "number within the group"},
    {"operation", HD_VALUE_STRING, "nccl:all_reduce, nccl:send 0->1 …"},
    {"state", HD_VALUE_STRING, "scheduled, started or completed"},
    {"input_sizes", HD_VALUE_STRING, "JSON list of shapes"},
    {"output_sizes", HD_VALUE_STRING, "JSON list of shapes"},
    {"input_types", HD_VALUE_STRING, "JSON list"},
    {"output_types", HD_VALUE_STRING, "JSON list"},
    {"created", HD_VALUE_TIME, "when the host enqueued it"},
    {"frame", HD_VALUE_STRING, "the innermost frame of the user's code that did"},
    {"enqueued", HD_VALUE_INT, "number of the last collective that the rank enqueued in the group; null: unknown"},
    {0}};

/* Tables that are a report's, and which. */
static const struct source {
    const char *table, *report, *of_report, *option;
} sources[] = {{"devices", "info", "devices", NULL},        {"ledger", "info", "ledger", NULL},
               {"steps", "steps", "steps", NULL},           {"breakdown", "breakdown", "breakdown", "by=step"},
               {"idle", "idle", "idle", "by=step"},         {"copies", "copies", "copies", "by=step"},
               {"memory", "memory", "devices", "no-stacks"}};
enum { SOURCES = sizeof sources / sizeof *sources };

static const hd_report_table_about tables[] = {
    {.name = "rank", .meaning = "one row: what the summary is of", .columns = rank_columns},
    {.name = "groups", .meaning = "a row per process group in the trace", .columns = group_columns},
    {.name = "collectives", .meaning = "a row per collective, by group and number", .columns = collective_columns},
    {.name = "kernels", .meaning = "a row per kernel of a device, most time first", .columns = job_kernel_columns},
    {.name = "operators", .meaning = "a row per operator, most time first", .columns = job_operator_columns},
    {.name = "devices", .meaning = "of report info"},
    {.name = "ledger", .meaning = "of report info: what was repaired and lost"},
    {.name = "steps", .meaning = "of report steps"},
    {.name = "breakdown", .meaning = "of report breakdown, by step"},
    {.name = "idle", .meaning = "of report idle, by step: its causes"},
    {.name = "copies", .meaning = "of report copies, by step"},
    {.name = "memory", .meaning = "of report memory: its devices, with the peak"},
    {.name = "stalls", .meaning = "a row per millisecond or more in which the host stalls", .columns = stall_columns},
    {.name = "recorded", .meaning = "a row per entry of PyTorch's flight recorder", .columns = recorded_columns},
    {.name = "trust", .meaning = "what is missing or impossible in the trace, as the trust of its reports has it"},
};

const hd_report_table_about *hd_job_table_at(size_t index)
{
    return index < sizeof tables / sizeof *tables ? &tables[index] : NULL;
}

typedef struct summarizer {
    hd_report_input input;
    hd_job_member *about;
    job_add_table *add;
    void *user;
} summarizer;

static hd_status table_builder(hd_table_builder **out, const char *name, const hd_report_column *columns, hd_error *err)
{
    HD_TRY(hd_table_builder_new(out, name, err));
    for (const hd_report_column *c = columns; c->name; c++) hd_table_add_column(*out, c->name, c->type);
    return HD_OK;
}

static void text_cell(hd_table_builder *b, hd_string text)
{
    if (text.data)
        hd_table_add_string(b, text.data, text.size);
    else
        hd_table_add_null(b);
}

static hd_status finish(const summarizer *s, hd_table_builder *b, hd_error *err)
{
    hd_table *table;
    HD_TRY(hd_table_finish(&table, b, err));
    hd_status status = hd_table_row_count(table) ? s->add(s->user, table, err) : HD_OK;
    hd_table_free(table);
    return status;
}

/* The same rows, with the rank where it is unknown; a new first column, if there is none. */
static hd_status add_with_rank(const summarizer *s, const char *name, const hd_table *table, hd_error *err)
{
    hd_table_builder *b;
    size_t columns = hd_table_column_count(table), rank = hd_table_find_column(table, "rank");
    HD_TRY(hd_table_builder_new(&b, name, err));
    if (rank == SIZE_MAX) hd_table_add_column(b, "rank", HD_VALUE_INT);
    for (size_t i = 0; i < columns; i++) {
        const hd_table_column *column = hd_table_get_column(table, i);
        hd_table_add_column(b, column->name, column->type);
        hd_table_set_decimals(b, column->decimals);
    }
    for (size_t row = 0; row < hd_table_row_count(table); row++) {
        if (rank == SIZE_MAX) report_cell_int(b, s->about->rank);
        for (size_t i = 0; i < columns; i++) {
            if (i == rank && hd_table_is_null(table, row, i))
                report_cell_int(b, s->about->rank);
            else
                hd_table_add_cell(b, table, row, i);
        }
    }
    return finish(s, b, err);
}

/* ---- who it is ---- */

/* "rank7.json", "trace_rank_007.json.gz", "rank7/trace.json" */
static int64_t rank_in_path(const char *path)
{
    int64_t rank = HD_NO_NUMBER;
    for (const char *at = path; (at = strcasestr(at, "rank")) != NULL;) {
        at += 4;
        const char *digits = at + (*at == '_' || *at == '-' || *at == '=' || *at == '.');
        if (isdigit((unsigned char)*digits) && strspn(digits, "0123456789") <= 9) rank = strtol(digits, NULL, 10);
    }
    return rank;
}

/* The rank of the trace's tracks, if it is unique; else that of the trace itself, else of its path. */
static int64_t rank_of(const hd_trace *trace, const char *path)
{
    int64_t rank = HD_NO_NUMBER, own;
    for (uint32_t t = 0; t < hd_trace_track_count(trace); t++) {
        own = hd_trace_rank_of(trace, t);
        if (own == HD_NO_NUMBER || own == rank) continue;
        if (rank != HD_NO_NUMBER) return HD_NO_NUMBER;
        rank = own;
    }
    if (rank == HD_NO_NUMBER) rank = hd_trace_facts_of(trace)->rank;
    return rank != HD_NO_NUMBER ? rank : rank_in_path(path);
}

/* A JSON string as text, owned; false: no memory. Any other value is empty. */
static bool take_text(hd_string *out, const char *json)
{
    hd_json_text text;
    if (!json || *json != '"' || !hd_json_string(&text, json + 1)) return true;
    char *copy = malloc(text.size + 1);
    if (!copy) return false;
    if (hd_json_decode(copy, &out->size, &text) && out->size)
        out->data = copy;
    else
        free(copy);
    return true;
}

/* Where recorders put the name of the host: a key of the trace, and a member where its value is an object. */
static bool find_host(hd_string *out, const hd_trace *trace)
{
    static const char *const places[][2] = {
        {"hostname", NULL}, {"process", "host"}, {"perf", "hostname"}, {"distributedInfo", "hostname"}};
    bool fine = true;
    for (size_t i = 0; i < sizeof places / sizeof *places && fine && !out->data; i++) {
        hd_string value = hd_trace_metadata_find(trace, places[i][0]);
        if (!value.size) continue;
        char *padded = calloc(1, value.size + HD_JSON_PADDING);
        const char *found = padded;
        size_t size;
        if (!padded) return false;
        memcpy(padded, value.data, value.size);
        if (places[i][1] && !(*padded == '{' && hd_json_find(&found, &size, padded, places[i][1]))) found = NULL;
        fine = take_text(out, found);
        free(padded);
    }
    return fine;
}

static hd_status describe(hd_job_member *out, const hd_trace *trace, const char *path, hd_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    *out = (hd_job_member){.rank = rank_of(trace, path),
                           .world_size = hd_trace_facts_of(trace)->world_size,
                           .base_ns = hd_trace_clock_base(trace),
                           .file = {strdup(name), strlen(name)}};
    return out->file.data && find_host(&out->host, trace) ? HD_OK : HD_NOMEM(err);
}

/* ---- the rank ---- */

static hd_status add_rank(const summarizer *s, const char *trust, hd_error *err)
{
    const hd_trace *trace = s->input.trace;
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    hd_table_builder *b;
    HD_TRY(table_builder(&b, "rank", rank_columns, err));
    report_cell_int(b, s->about->rank);
    report_cell_int(b, s->about->world_size);
    text_cell(b, s->about->host);
    text_cell(b, s->about->file);
    hd_table_add_text(b, facts->origin ? facts->origin : facts->format);
    hd_table_add_text(b, hd_producer_of(trace));
    report_cell_int(b, s->about->base_ns);
    report_cell_int(b, facts->start_ns);
    report_cell_int(b, facts->end_ns);
    hd_table_add_count(b, hd_trace_event_count(trace));
    hd_table_add_text(b, trust);
    return finish(s, b, err);
}

/* Its defects: a table of its own, and the worst one in its row. */
static hd_status add_trust(const summarizer *s, hd_error *err)
{
    const gpu_trust *trust;
    hd_report report = {0};
    HD_TRY(gpu_trust_of(&trust, s->input.trace, s->input.launches, err));
    hd_status status = report_set_trust(&report, s->input.trace, trust, err);
    if (status == HD_OK) status = add_rank(s, report.trust_text, err);
    if (status == HD_OK) status = add_with_rank(s, "trust", report.trust, err);
    hd_report_free(&report);
    return status;
}

/* ---- groups ---- */

static void member_text(hd_table_builder *b, const char *json, const char *name)
{
    const char *found;
    size_t size;
    hd_string text = {NULL, 0};
    bool fine = !hd_json_find(&found, &size, json, name) || take_text(&text, found);
    text_cell(b, fine ? text : (hd_string){NULL, 0});
    free((char *)(uintptr_t)text.data);
}

/* Its name as collectives have it. */
static void add_group_name(hd_table_builder *b, const char *json)
{
    const char *found;
    size_t size;
    hd_arena texts = {0};
    hd_string text = {NULL, 0}, ranks = {NULL, 0};
    bool fine = !hd_json_find(&found, &size, json, "pg_name") || take_text(&text, found);
    hd_string name = text;
    if (hd_json_find(&found, &size, json, "ranks")) ranks = (hd_string){found, size};
    fine = fine && job_name_group(&name, ranks, &texts);
    text_cell(b, fine ? name : (hd_string){NULL, 0});
    free((char *)(uintptr_t)text.data);
    hd_arena_deinit(&texts);
}

static void add_group(hd_table_builder *b, const summarizer *s, const char *json)
{
    const char *found;
    size_t size;
    report_cell_int(b, s->about->rank);
    add_group_name(b, json);
    member_text(b, json, "pg_desc");
    member_text(b, json, "backend_config");
    if (hd_json_find(&found, &size, json, "pg_size"))
        hd_table_add_int(b, strtol(found, NULL, 10));
    else
        hd_table_add_null(b);
    if (hd_json_find(&found, &size, json, "ranks"))
        hd_table_add_string(b, found, size);
    else
        hd_table_add_null(b);
}

/* PyTorch's list of process groups. */
static hd_status add_groups(const summarizer *s, hd_error *err)
{
    hd_string info = hd_trace_metadata_find(s->input.trace, "distributedInfo");
    hd_table_builder *b;
    const char *at;
    size_t size;
    if (!info.size) return HD_OK;
    char *padded = calloc(1, info.size + HD_JSON_PADDING);
    if (!padded) return HD_NOMEM(err);
    memcpy(padded, info.data, info.size);
    hd_status status = table_builder(&b, "groups", group_columns, err);
    if (status != HD_OK) {
        free(padded);
        return status;
    }
    if (hd_json_find(&at, &size, padded, "pg_config") && *at == '[') {
        const char *end = at + size;
        for (at = hd_json_skip_space(at + 1); at < end && *at == '{';) {
            add_group(b, s, at);
            at = hd_json_skip_value(at);
            if (!at) break;
            at = hd_json_skip_space(at);
            if (*at != ',') break;
            at = hd_json_skip_space(at + 1);
        }
    }
    free(padded);
    return finish(s, b, err);
}

/* ---- collectives ---- */

static void add_collective(hd_table_builder *b, const hd_collective *c, int64_t busy)
{
    report_cell_int(b, c->rank);
    report_cell_int(b, c->device);
    text_cell(b, c->step);
    report_cell_int(b, c->step_start_ns);
    text_cell(b, c->group);
    report_cell_int(b, c->stream);
    hd_table_add_bool(b, c->is_point_to_point);
    hd_table_add_int(b, c->sequence);
    hd_table_add_bool(b, c->sequence_is_counted);
    text_cell(b, c->operation);
    report_cell_int(b, c->size);
    if (c->bytes == HD_NO_NUMBER)
        hd_table_add_null(b);
    else
        hd_table_add_count(b, (uint64_t)c->bytes);
    hd_table_add_int(b, c->start_ns);
    hd_table_add_int(b, c->end_ns);
    hd_table_add_int(b, (int64_t)c->event);
    report_cell_int(b, busy);
}

static hd_status add_collectives(const summarizer *s, hd_error *err)
{
    hd_collectives *all;
    hd_table_builder *b;
    int64_t *busy = NULL;
    HD_TRY(job_collectives_new(&all, &s->input, err));
    hd_status status = job_busy_before(&busy, all, &s->input, err);
    if (status == HD_OK) status = table_builder(&b, "collectives", collective_columns, err);
    for (size_t i = 0; status == HD_OK && i < hd_collectives_count(all); i++)
        add_collective(b, hd_collectives_at(all, i), busy[i]);
    hd_collectives_free(all);
    free(busy);
    return status == HD_OK ? finish(s, b, err) : status;
}

/* ---- stalls ---- */

static hd_status add_stalls(const summarizer *s, hd_error *err)
{
    static const gpu_options options = {0};
    gpu_scope scope;
    gpu_stalls stalls = {0};
    hd_table_builder *b = NULL;
    hd_status status = gpu_scope_init(&scope, &s->input, &options, 0, err);
    if (status == HD_OK) status = gpu_stalls_init(&stalls, &scope, err);
    if (status == HD_OK && stalls.count) status = table_builder(&b, "stalls", stall_columns, err);
    for (size_t i = 0; b && i < stalls.count; i++) {
        const gpu_stall *stall = &stalls.list[i];
        report_cell_int(b, s->about->rank != HD_NO_NUMBER ? s->about->rank : scope.ranks[stall->lane]);
        hd_table_add_int(b, stall->start);
        hd_table_add_int(b, stall->end);
        report_cell_string(b, scope.trace, stall->name);
    }
    gpu_stalls_deinit(&stalls);
    gpu_scope_deinit(&scope);
    return status == HD_OK && b ? finish(s, b, err) : status;
}

/* ---- the flight recorder ---- */

static hd_status add_recorded(const summarizer *s, hd_error *err)
{
    gpu_texts texts = {0};
    hd_recorded *list;
    size_t count;
    hd_table_builder *b = NULL;
    hd_status status = hd_recorded_new(&list, &count, &texts, s->input.trace, err);
    if (status == HD_OK && count) status = table_builder(&b, "recorded", recorded_columns, err);
    for (size_t i = 0; b && i < count; i++) {
        const hd_recorded *e = &list[i];
        report_cell_int(b, s->about->rank != HD_NO_NUMBER ? s->about->rank : e->rank);
        gpu_cell_text(b, &texts, e->group);
        gpu_cell_text(b, &texts, e->description);
        gpu_cell_text(b, &texts, e->ranks);
        report_cell_int(b, e->record);
        hd_table_add_bool(b, e->is_p2p);
        report_cell_int(b, e->sequence);
        gpu_cell_text(b, &texts, e->name);
        gpu_cell_text(b, &texts, e->state);
        gpu_cell_text(b, &texts, e->in_sizes);
        gpu_cell_text(b, &texts, e->out_sizes);
        gpu_cell_text(b, &texts, e->in_types);
        gpu_cell_text(b, &texts, e->out_types);
        report_cell_int(b, e->created_ns);
        gpu_cell_text(b, &texts, e->frame);
        report_cell_int(b, e->enqueued);
    }
    free(list);
    gpu_texts_deinit(&texts);
    return status == HD_OK && b ? finish(s, b, err) : status;
}

/* ---- tables of reports ---- */

static hd_status add_of_report(const summarizer *s, const struct source *source, hd_error *err)
{
    hd_report report;
    hd_report_input input = s->input;
    input.options = (const char *const[]){source->option, NULL};
    HD_TRY(hd_report_run(&report, source->report, &input, err));
    const hd_table *table = hd_report_table(&report, source->of_report);
    hd_status status = table ? add_with_rank(s, source->table, table, err) : HD_OK;
    hd_report_free(&report);
    return status;
}

static hd_status add_sums(const summarizer *s, hd_error *err)
{
    hd_report report;
    hd_status status = job_sums(&report, &s->input, err);
    for (size_t i = 0; status == HD_OK && i < report.table_count; i++)
        status = add_with_rank(s, hd_table_name(report.tables[i]), report.tables[i], err);
    hd_report_free(&report);
    return status;
}

hd_status job_summarize_place(hd_job_member *out, const hd_trace *trace, const char *path, job_add_table *add,
                              void *user, hd_error *err)
{
    const summarizer s = {.about = out, .add = add, .user = user, .input = {.trace = trace}};
    HD_TRY(describe(out, trace, path, err));
    HD_TRY(add_rank(&s, NULL, err));
    return add_groups(&s, err);
}

hd_status job_summarize(hd_job_member *out, const hd_trace *trace, const char *path, job_add_table *add, void *user,
                        hd_error *err)
{
    summarizer s = {.input = {.trace = trace}, .about = out, .add = add, .user = user};
    hd_launches *launches = NULL;
    hd_status status = describe(out, trace, path, err);
    if (status == HD_OK) status = hd_launches_new(&launches, trace, err);
    s.input.launches = launches;
    if (status == HD_OK) status = add_trust(&s, err);
    if (status == HD_OK) status = add_groups(&s, err);
    if (status == HD_OK) status = add_collectives(&s, err);
    if (status == HD_OK) status = add_sums(&s, err);
    if (status == HD_OK) status = add_stalls(&s, err);
    if (status == HD_OK) status = add_recorded(&s, err);
    for (size_t i = 0; i < SOURCES && status == HD_OK; i++) status = add_of_report(&s, &sources[i], err);
    hd_launches_free(launches);
    return status;
}
