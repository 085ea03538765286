/* tool_report.c - open, summary, findings, report: analyses of heddle/report.h as answers */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/analysis/job.h"
#include "heddle/options.h"
#include "mcp/impl.h"

enum { OPTIONS_MOST = 128, NAME_BYTES = 64 };

/* ---- parts ---- */

/* The equivalent shell command, with the path quoted. */
static void put_command(hd_json_out *out, const char *path)
{
    hd_json_out text = {0};
    hd_json_put_text(&text, "heddle view '");
    for (const char *p = path; *p; p++) {
        if (*p == '\'')
            hd_json_put_text(&text, "'\\''");
        else
            hd_json_put(&text, p, 1);
    }
    hd_json_put_text(&text, "'");
    hd_json_put_string(out, text.data ? text.data : "", text.size);
    out->failed |= text.failed;
    free(text.data);
}

void mcp_put_trace(mcp_call *call)
{
    hd_json_out *head = &call->answer->head;
    mcp_put_int(head, "trace", call->number);
    mcp_put_key(head, "show");
    put_command(head, call->trace->path);
}

hd_status mcp_run_report(hd_report *out, mcp_call *call, const char *name, const char *const *options, hd_error *err)
{
    const hd_launches *launches;
    HD_TRY(mcp_trace_launches(&launches, call->trace, err));
    const hd_report_input input = {
        .trace = call->trace->trace, .options = options, .launches = launches, .gpus = call->mcp->gpus};
    HD_TRY(hd_report_run(out, name, &input, err));
    hd_status status = hd_trace_input_status(call->trace->trace, err);
    if (status != HD_OK) hd_report_free(out);
    return status;
}

/* "kernels:share,name;idle": the columns of a table that are wanted; false: the table is not. */
static bool find_wanted(const char **out_columns, mcp_call *call, const char *wanted, const char *table)
{
    size_t size = strlen(table);
    *out_columns = NULL;
    if (!wanted) return true;
    for (const char *at = wanted; *at; at += strcspn(at, ";"), at += *at == ';') {
        if (strcspn(at, ":;") != size || memcmp(at, table, size) != 0) continue;
        if (at[size] == ':') *out_columns = mcp_text(call, "%.*s", (int)strcspn(at + size + 1, ";"), at + size + 1);
        return true;
    }
    return false;
}

hd_status mcp_add_report(mcp_call *call, const hd_report *report, const char *wanted, hd_error *err)
{
    int64_t start = call->trace ? mcp_trace_start(call->trace) : 0;
    if (report->trust_text[0]) mcp_put_text(&call->answer->head, "trust", report->trust_text);
    for (size_t i = 0; i < report->table_count; i++) {
        const hd_table *table = report->tables[i];
        const char *columns;
        if (find_wanted(&columns, call, wanted, hd_table_name(table)))
            HD_TRY(mcp_answer_table(call->answer, table, columns, start, err));
    }
    return report->trust ? mcp_answer_table(call->answer, report->trust, NULL, start, err) : HD_OK;
}

static hd_status add_whole(mcp_call *call, const char *name, const char *const *options, const char *wanted,
                           hd_error *err)
{
    hd_report report;
    HD_TRY(mcp_run_report(&report, call, name, options, err));
    hd_status status = mcp_add_report(call, &report, wanted, err);
    hd_report_free(&report);
    return status;
}

/* ---- open, summary, findings ---- */

hd_status mcp_tool_open(mcp_call *call, hd_error *err)
{
    const char *path = mcp_arg_text(call, "path");
    if (!path) return HD_NOMEM(err);
    if (strcmp(path, "-") == 0 || !*path)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "path: expected the name of a file");
    HD_TRY(mcp_trace_open(&call->number, call->mcp, path, err));
    call->trace = &call->mcp->traces[call->number];
    mcp_put_trace(call);
    mcp_put_int(&call->answer->head, "start", mcp_trace_start(call->trace));
    mcp_put_text(&call->answer->head, "next", "call summary, then findings");
    return add_whole(
        call, "info", NULL,
        "file:format,producer,start,duration,wall_start,rank,world_size,events,slices,streams,device_count,"
        "repairs,losses;devices",
        err);
}

hd_status mcp_tool_summary(mcp_call *call, hd_error *err)
{
    mcp_put_trace(call);
    return add_whole(
        call, "summary", NULL,
        "findings:rank,device,code,severity,saves,finding,id;steps;breakdown;kernels:rank,device,share,total,"
        "count,mean,name;idle:rank,device,cause,total,share,gaps,longest;communication;memory;notes",
        err);
}

hd_status mcp_tool_findings(mcp_call *call, hd_error *err)
{
    mcp_put_trace(call);
    mcp_put_text(&call->answer->head, "read", "heddle://docs/findings/CODE says how a finding is made and what to do");
    return add_whole(call, "summary", NULL, "findings;notes", err);
}

/* ---- report ---- */

static hd_status list_reports(mcp_call *call, hd_error *err)
{
    mcp_table *table = mcp_answer_start(call->answer, "reports");
    hd_json_put_text(&table->columns, "[\"name\",\"title\"]");
    for (size_t i = 0; i < hd_report_count(); i++) {
        const hd_report_about *about = hd_report_at(i);
        if (about->table_option) continue; /* of no trace */
        hd_json_put(&table->rows, "[", 1);
        mcp_put_cell(&table->rows, about->name, strlen(about->name), MCP_CELL_BYTES);
        hd_json_put(&table->rows, ",", 1);
        mcp_put_cell(&table->rows, about->title, strlen(about->title), MCP_CELL_BYTES);
        HD_TRY(mcp_table_end_row(table, err));
    }
    table->total = table->count;
    return HD_OK;
}

static const hd_option_about *find_option(const hd_report_about *about, const char *name)
{
    for (const hd_option_about *o = about->options; o && o->name; o++)
        if (strcmp(o->name, name) == 0) return o;
    return NULL;
}

/* Options of a report as its descriptor has them: "by=step". */
typedef struct options {
    const char *list[OPTIONS_MOST + 1]; /* ends with NULL */
    size_t count;
} options;

static hd_status add_option(options *out, const char *text, hd_error *err)
{
    if (!text) return HD_NOMEM(err);
    if (out->count == OPTIONS_MOST)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "options: at most %d", OPTIONS_MOST);
    out->list[out->count++] = text;
    return HD_OK;
}

/* The value at `p`: a scalar. A numeric time is on the trace's clock. */
static hd_status add_scalar(options *out, mcp_call *call, const hd_option_about *option, const char *p, size_t size,
                            hd_error *err)
{
    int64_t number;
    const bool is_text = *p == '"';
    const char *name = option->name, *text = is_text ? mcp_decode(call, p) : mcp_text(call, "%.*s", (int)size, p);
    if (*p == '{' || *p == '[')
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "options.%s: expected a string, a number, true, or an array of them", name);
    if (*p == 'f' || *p == 'n') return HD_OK; /* false, null */
    if (*p == 't') return add_option(out, name, err);
    if (!text) return HD_NOMEM(err);
    bool is_time = option->kind == HD_OPTION_TIME && !is_text && call->trace;
    char *end;
    number = strtoll(text, &end, 10);
    if (is_time && !*end && !__builtin_sub_overflow(number, mcp_trace_start(call->trace), &number))
        return add_option(out, mcp_text(call, "%s=%" PRId64 "ns", name, number), err);
    return add_option(out, mcp_text(call, "%s=%s", name, text), err);
}

static hd_status add_values(options *out, mcp_call *call, const hd_option_about *option, const char *p, const char *end,
                            hd_error *err)
{
    if (*p != '[') return add_scalar(out, call, option, p, (size_t)(end - p), err);
    p = hd_json_skip_space(p + 1);
    while (*p != ']') {
        const char *behind = hd_json_skip_value(p);
        HD_TRY(add_scalar(out, call, option, p, (size_t)(behind - p), err));
        p = hd_json_skip_space(behind);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    return HD_OK;
}

static hd_status read_options(options *out, mcp_call *call, const hd_report_about *about, hd_error *err)
{
    const char *p;
    size_t size;
    if (!hd_json_find(&p, &size, call->args, "options") || *p == 'n') return HD_OK;
    p = hd_json_skip_space(p + 1);
    while (*p == '"') {
        hd_json_text key;
        char name[NAME_BYTES];
        p = hd_json_skip_space(hd_json_string(&key, p + 1));
        p = hd_json_skip_space(p + 1);
        snprintf(name, sizeof name, "%.*s", key.size < NAME_BYTES ? (int)key.size : NAME_BYTES - 1, key.data);
        const hd_option_about *option = find_option(about, name);
        if (!option || option->kind == HD_OPTION_TRACE)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "options: report %s has no option '%s' here; heddle://reports/%s lists them",
                                about->name, name, about->name);
        const char *end = hd_json_skip_value(p);
        HD_TRY(add_values(out, call, option, p, end, err));
        p = hd_json_skip_space(end);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    return hd_report_options_valid(about->name, out->list, err);
}

/* The ranks that `traces` names, or all. */
static hd_status make_job(hd_job **out, mcp_call *call, hd_error *err)
{
    const char **numbers = mcp_arg_list(call, "traces");
    HD_TRY(hd_job_new(out, err));
    hd_status status = HD_OK;
    for (size_t i = 0; (numbers ? numbers[i] != NULL : i < call->mcp->trace_count) && status == HD_OK; i++) {
        mcp_trace *trace;
        status = mcp_trace_take(&trace, call->mcp, numbers ? strtoll(numbers[i], NULL, 10) : (int64_t)i, err);
        if (status == HD_OK) status = hd_job_add_trace(*out, trace->trace, trace->path, err);
    }
    return status == HD_OK ? hd_job_finish(*out, err) : status;
}

static hd_status run_job(hd_report *out, mcp_call *call, const hd_report_about *about, const options *o, hd_error *err)
{
    hd_job *job = NULL;
    hd_status status = make_job(&job, call, err);
    const hd_report_input input = {.job = job, .options = o->list, .gpus = call->mcp->gpus};
    if (status == HD_OK) status = hd_report_run(out, about->name, &input, err);
    hd_job_free(job);
    return status;
}

/* "kernels;notes" of ["kernels", "notes"]; each must be one of the report's. */
static hd_status read_tables(const char **out, mcp_call *call, const hd_report_about *about, hd_error *err)
{
    const char **list = mcp_arg_list(call, "tables");
    char *wanted = NULL;
    for (; list && *list; list++) {
        const hd_report_table_about *t = about->tables;
        while (t->name && strcmp(t->name, *list) != 0) t++;
        if (!t->name)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "tables: report %s has no table '%.40s'; heddle://reports/%s lists them", about->name,
                                *list, about->name);
        wanted = mcp_text(call, "%s%s;", wanted ? wanted : "", *list);
        if (!wanted) return HD_NOMEM(err);
    }
    *out = wanted;
    return HD_OK;
}

hd_status mcp_tool_report(mcp_call *call, hd_error *err)
{
    const char *name = mcp_arg_text(call, "name"), *wanted = NULL;
    hd_report report;
    options o = {0};
    if (!name) return list_reports(call, err);
    const hd_report_about *about = hd_report_about_find(name);
    if (!about || about->table_option)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "name: no report is called '%.40s' here", name);
    HD_TRY(read_options(&o, call, about, err));
    HD_TRY(read_tables(&wanted, call, about, err));
    mcp_put_text(&call->answer->head, "report", about->name);
    if (about->of_job) {
        call->trace = NULL; /* of several */
        HD_TRY(run_job(&report, call, about, &o, err));
    } else {
        mcp_put_trace(call);
        HD_TRY(mcp_run_report(&report, call, name, o.list, err));
    }
    hd_status status = mcp_add_report(call, &report, wanted, err);
    hd_report_free(&report);
    return status;
}
