/* tool_query.c - query, find, explain_idle, stack_of: tools that run SQL */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mcp/impl.h"
#include "model/stacks/event_stacks.h"
#include "trace/event.h"

enum { QUERY_ROWS = 200, QUERY_COLUMNS = 64, FIND_ROWS = 20, FIND_NAMES = 10, IDLE_ROWS = 5, STACK_FRAMES = 200 };

/* ---- rows ---- */

static void put_value(hd_json_out *json, hd_query_value value, size_t most)
{
    char text[40];
    switch (value.type) {
    case HD_QUERY_NULL: hd_json_put_text(json, "null"); break;
    case HD_QUERY_INT: hd_json_put_int(json, value.integer); break;
    case HD_QUERY_REAL:
        snprintf(text, sizeof text, "%.15g", value.real);
        hd_json_put_text(json, isfinite(value.real) ? text : "null");
        break;
    case HD_QUERY_TEXT: mcp_put_cell(json, value.data, value.size, most); break;
    case HD_QUERY_BLOB:
        snprintf(text, sizeof text, "\"%zu bytes\"", value.size);
        hd_json_put_text(json, text);
        break;
    }
}

/* The columns `start`, `duration` and `id` of a result, SIZE_MAX: it has none. */
typedef struct places {
    size_t start, duration, id;
} places;

static places put_columns(mcp_table *table, const hd_statement *statement)
{
    places at = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
    hd_json_put(&table->columns, "[", 1);
    for (size_t i = 0; i < hd_statement_column_count(statement); i++) {
        const char *name = hd_statement_column_name(statement, i);
        if (i) hd_json_put(&table->columns, ",", 1);
        mcp_put_cell(&table->columns, name, strlen(name), 100);
        if (strcmp(name, "start") == 0) at.start = i;
        if (strcmp(name, "duration") == 0) at.duration = i;
        if (strcmp(name, "id") == 0 && hd_statement_column_role(statement, i) == HD_QUERY_SLICE_ID) at.id = i;
    }
    if (at.start != SIZE_MAX && at.duration != SIZE_MAX) hd_json_put_text(&table->columns, ",\"view\"");
    hd_json_put(&table->columns, "]", 1);
    return at;
}

static void put_row(hd_json_out *json, const hd_statement *statement, places at, int64_t start_ns, size_t most)
{
    for (size_t i = 0; i < hd_statement_column_count(statement); i++) {
        hd_json_put(json, i ? "," : "[", 1);
        put_value(json, hd_statement_at(statement, i), most);
    }
    if (at.start == SIZE_MAX || at.duration == SIZE_MAX) return;
    hd_query_value start = hd_statement_at(statement, at.start), duration = hd_statement_at(statement, at.duration);
    hd_query_value id = at.id == SIZE_MAX ? (hd_query_value){0} : hd_statement_at(statement, at.id);
    bool are_there = start.type == HD_QUERY_INT && duration.type == HD_QUERY_INT;
    hd_json_put(json, ",", 1);
    mcp_put_view(json, start_ns, start.integer, are_there ? duration.integer : -1,
                 id.type == HD_QUERY_INT ? id.integer : -1);
}

static hd_status add_row(mcp_table *table, const hd_statement *statement, places at, int64_t start_ns, hd_error *err)
{
    size_t before = table->rows.size;
    put_row(&table->rows, statement, at, start_ns, MCP_CELL_BYTES);
    if (table->rows.size - before > MCP_ROW_BYTES) {
        table->rows.size = before;
        put_row(&table->rows, statement, at, start_ns, MCP_SHORT_BYTES);
    }
    return mcp_table_end_row(table, err);
}

static hd_status add_rows(size_t *out_count, mcp_call *call, const char *name, hd_statement *statement, size_t most,
                          hd_error *err)
{
    hd_status status = HD_OK;
    size_t count = 0;
    mcp_table *table = NULL;
    places at = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
    if (hd_statement_column_count(statement) > QUERY_COLUMNS)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "sql: choose at most %d columns",
                            QUERY_COLUMNS);
    while (count < most && (status = hd_statement_next(statement, err)) == HD_OK) {
        if (!table) {
            table = mcp_answer_start(call->answer, name);
            at = put_columns(table, statement);
        }
        HD_TRY(add_row(table, statement, at, mcp_trace_start(call->trace), err));
        count++;
    }
    if (status != HD_OK && status != HD_END) return status;
    if (table) table->total = count;
    *out_count = count;
    return hd_trace_input_status(call->trace->trace, err);
}

static hd_status refuse_second(hd_query *query, const char *rest, hd_error *err)
{
    hd_statement *second;
    hd_status status = hd_query_prepare(&second, NULL, query, rest, SIZE_MAX, NULL);
    bool is_none = status == HD_OK && !second;
    hd_statement_free(second);
    if (is_none) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "sql: one statement at a time");
}

/* A parameter of SQL. */
typedef struct param {
    const char *name; /* NULL: the end */
    hd_query_value value;
} param;

/* Rows of a statement as a table, at most `most`; a column `view` where it has `start` and `duration`. *out_count: rows
 * (may be NULL). Errors: those of hd_query_prepare and hd_statement_next. */
static hd_status ask(size_t *out_count, mcp_call *call, const char *table, const char *sql, const param *params,
                     size_t most, hd_error *err)
{
    hd_query *query;
    hd_statement *statement;
    const char *rest;
    size_t count = 0;
    HD_TRY(mcp_trace_query(&query, call->mcp, call->trace, err));
    HD_TRY(hd_query_prepare(&statement, &rest, query, sql, SIZE_MAX, err));
    if (!statement) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "sql: there is no statement");
    hd_status status = refuse_second(query, rest, err);
    for (; params && params->name && status == HD_OK; params++)
        status = hd_statement_set(statement, params->name, params->value, err);
    if (status == HD_OK) status = add_rows(&count, call, table, statement, most, err);
    hd_statement_free(statement);
    if (out_count) *out_count = count;
    return status;
}

static hd_query_value text_value(const char *text)
{
    return text ? (hd_query_value){.type = HD_QUERY_TEXT, .data = text, .size = strlen(text)} : (hd_query_value){0};
}

static hd_query_value int_value(int64_t value)
{
    return (hd_query_value){.type = HD_QUERY_INT, .integer = value};
}

/* ---- query ---- */

hd_status mcp_tool_query(mcp_call *call, hd_error *err)
{
    const char *sql = mcp_arg_text(call, "sql");
    size_t rows = (size_t)mcp_arg_int(call, "rows", QUERY_ROWS), count;
    if (!sql) return HD_NOMEM(err);
    mcp_put_trace(call);
    HD_TRY(ask(&count, call, "rows", sql, NULL, rows, err));
    if (count == rows) mcp_put_text(&call->answer->head, "stopped", "after `rows` rows: there may be more");
    return HD_OK;
}

/* ---- find ---- */

/* Where clause of find; values are parameters. */
static const char *make_condition(mcp_call *call, bool has_from, bool has_until)
{
    const char *condition = "";
    static const struct {
        const char *arg, *sql;
    } parts[] = {{"text", " and s.name like '%' || :text || '%' and instr(lower(s.name), lower(:text)) > 0"},
                 {"glob", " and s.name glob :glob"},
                 {"regex", " and s.name regexp :regex"},
                 {"category", " and s.category = :category"},
                 {"role", " and s.role = :role"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && condition; i++)
        if (mcp_arg_text(call, parts[i].arg)) condition = mcp_text(call, "%s%s", condition, parts[i].sql);
    if (!condition || !*condition) return condition;
    return mcp_text(call, "1%s%s%s", condition, has_from ? " and s.ts + coalesce(s.dur, 0) >= :from" : "",
                    has_until ? " and s.ts < :until" : "");
}

/* Only those that the statement has. */
static size_t make_params(param out[8], mcp_call *call, bool has_from, int64_t from, bool has_until, int64_t until)
{
    static const char *const names[] = {"text", "glob", "regex", "category", "role"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = mcp_arg_text(call, names[i]);
        if (text) out[count++] = (param){names[i], text_value(text)};
    }
    if (has_from) out[count++] = (param){"from", int_value(from)};
    if (has_until) out[count++] = (param){"until", int_value(until)};
    out[count] = (param){0};
    return count;
}

hd_status mcp_tool_find(mcp_call *call, hd_error *err)
{
    param params[8];
    bool has_from, has_until;
    int64_t from = 0, until = 0;
    size_t count;
    HD_TRY(mcp_arg_time(&has_from, &from, call, "from", err));
    HD_TRY(mcp_arg_time(&has_until, &until, call, "until", err));
    const char *condition = make_condition(call, has_from, has_until), *order = mcp_arg_text(call, "order");
    if (!condition) return HD_NOMEM(err);
    if (!*condition)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "find what? give text, glob, regex, category or role");
    make_params(params, call, has_from, from, has_until, until);
    bool is_first = order && strcmp(order, "first") == 0;
    const char *names = mcp_text(call,
                                 "select s.name, count(*) as count, sum(s.dur) as total, max(s.dur) as longest from "
                                 "slice s where %s group by s.name order by total desc, count desc limit %d",
                                 condition, FIND_NAMES);
    const char *events =
        mcp_text(call,
                 "select s.id, s.ts as start, s.dur as duration, s.name, s.category, s.role, t.name as "
                 "track, t.device, t.stream from (select * from slice s where %s order by %s limit %" PRId64
                 ") s left join track t on t.id = s.track_id",
                 condition, is_first ? "s.ts" : "s.dur desc", mcp_arg_int(call, "rows", FIND_ROWS));
    if (!names || !events) return HD_NOMEM(err);
    mcp_put_trace(call);
    HD_TRY(ask(&count, call, "names", names, params, MCP_ROWS, err));
    if (!count) {
        mcp_put_text(&call->answer->head, "found", "nothing");
        return HD_OK;
    }
    return ask(NULL, call, "events", events, params, MCP_ROWS, err);
}

/* ---- explain_idle ---- */

/* The gap at a time; if there is none, the activity that runs. */
static hd_status explain_gap(mcp_call *call, int64_t at, hd_error *err)
{
    const param params[] = {{"at", int_value(at)}, {0}};
    size_t count;
    HD_TRY(ask(&count, call, "gaps",
               "select rank, device, process, start, duration, cause, work, call, host, op, frame, work_id, call_id "
               "from idle_gaps('rows=100000000') where start <= :at and start + duration > :at",
               params, MCP_ROWS, err));
    if (count) return HD_OK;
    mcp_put_text(&call->answer->head, "idle", "no device is idle at that time");
    return ask(NULL, call, "running",
               "select id, ts as start, dur as duration, name, role from gpu_slice where ts <= :at and ts + dur > "
               ":at limit 20",
               params, MCP_ROWS, err);
}

hd_status mcp_tool_explain_idle(mcp_call *call, hd_error *err)
{
    const char *options[4] = {NULL};
    bool has_at, is_there;
    int64_t at = 0, time = 0;
    size_t count = 0;
    static const char *const bounds[] = {"from", "until"};
    hd_report report;
    mcp_put_trace(call);
    HD_TRY(mcp_arg_time(&has_at, &at, call, "at", err));
    if (has_at) return explain_gap(call, at, err);
    options[count++] = mcp_text(call, "rows=%" PRId64, mcp_arg_int(call, "rows", IDLE_ROWS));
    for (size_t i = 0; i < 2; i++) {
        HD_TRY(mcp_arg_time(&is_there, &time, call, bounds[i], err));
        if (!is_there || __builtin_sub_overflow(time, mcp_trace_start(call->trace), &time)) continue;
        options[count++] = mcp_text(call, "%s=%" PRId64 "ns", bounds[i], time);
    }
    for (size_t i = 0; i < count; i++)
        if (!options[i]) return HD_NOMEM(err);
    HD_TRY(mcp_run_report(&report, call, "idle", options, err));
    hd_status status = mcp_add_report(call, &report, "idle;gaps;behind;notes", err);
    hd_report_free(&report);
    return status;
}

/* ---- stack_of ---- */

enum { ID_ROW_BITS = 38 }; /* of `id` in slice: below, rows of slices; at 1 << 38, instants; at 2 << 38, async slices */

/* The recorded stack of a slice or instant. Errors: MEMORY. */
static hd_status add_recorded(bool *out_has, mcp_call *call, int64_t id, hd_error *err)
{
    static const hd_kind kinds[] = {HD_KIND_SLICE, HD_KIND_INSTANT};
    const hd_trace *trace = call->trace->trace;
    int64_t table = id >> ID_ROW_BITS, row = id & ((INT64_C(1) << ID_ROW_BITS) - 1);
    *out_has = false;
    if (table > 1 || (uint64_t)row >= hd_trace_row_count(trace, kinds[table])) return HD_OK;
    hd_event_stacks *stacks;
    HD_TRY(hd_event_stacks_new(&stacks, trace, err));
    const hd_event event = hd_event_at(trace, kinds[table], (uint64_t)row);
    const hd_stacks *tree = hd_event_stacks_tree(stacks);
    uint32_t node = hd_event_stacks_of(NULL, stacks, &event), path[STACK_FRAMES];
    size_t count = 0;
    for (; node != HD_STACK_NONE && count < STACK_FRAMES; node = hd_stacks_at(tree, node).caller) path[count++] = node;
    mcp_table *out = count ? mcp_answer_start(call->answer, "stack") : NULL;
    hd_status status = HD_OK;
    if (out) hd_json_put_text(&out->columns, "[\"name\",\"kind\"]");
    while (out && count-- > 0 && status == HD_OK) {
        hd_frame frame = hd_stacks_at(tree, path[count]);
        hd_string name = hd_stacks_text(tree, frame.name);
        const char *kind = hd_frame_kind_name(frame.kind);
        hd_json_put(&out->rows, "[", 1);
        mcp_put_cell(&out->rows, name.data ? name.data : "", name.size, MCP_CELL_BYTES);
        hd_json_put(&out->rows, ",", 1);
        mcp_put_cell(&out->rows, kind, strlen(kind), MCP_CELL_BYTES);
        status = mcp_table_end_row(out, err);
    }
    if (out) out->total = out->count;
    *out_has = out != NULL;
    hd_event_stacks_free(stacks);
    return status;
}

/* The slices around one, outermost first, and itself. */
static hd_status add_around(mcp_call *call, int64_t id, hd_error *err)
{
    const param params[] = {{"id", int_value(id)}, {0}};
    return ask(NULL, call, "stack",
               "with recursive up(id, parent_id, n) as (select id, parent_id, 0 from slice where id = :id union all "
               "select s.id, s.parent_id, n + 1 from up join slice s on s.id = up.parent_id where n < 200) "
               "select s.name, s.role, s.id, s.ts as start, s.dur as duration from up join slice s on s.id = up.id "
               "order by n desc",
               params, STACK_FRAMES, err);
}

/* The call that launched GPU work; -1: none, or unknown. */
static hd_status find_launch(int64_t *out, mcp_call *call, int64_t id, hd_error *err)
{
    const hd_launches *launches;
    *out = -1;
    HD_TRY(mcp_trace_launches(&launches, call->trace, err));
    size_t low = 0, high = launches->work_count;
    while (low < high) { /* by row */
        size_t middle = low + (high - low) / 2;
        if (launches->works[middle].row < (uint64_t)id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < launches->work_count && launches->works[low].row == (uint64_t)id &&
        launches->works[low].launch != HD_NONE)
        *out = (int64_t)launches->launches[launches->works[low].launch].row;
    return HD_OK;
}

static hd_status add_stack(mcp_call *call, int64_t id, int64_t launch, hd_error *err)
{
    bool has_own, has_launchs = false;
    HD_TRY(add_recorded(&has_own, call, id, err));
    if (!has_own && launch >= 0) HD_TRY(add_recorded(&has_launchs, call, launch, err));
    mcp_put_text(&call->answer->head, "stack_from",
                 has_own       ? "recorded with the event"
                 : has_launchs ? "recorded with its launch"
                 : launch >= 0 ? "slices around its launch"
                               : "slices around it");
    return has_own || has_launchs ? HD_OK : add_around(call, launch >= 0 ? launch : id, err);
}

hd_status mcp_tool_stack_of(mcp_call *call, hd_error *err)
{
    int64_t id = mcp_arg_int(call, "id", -1), launch;
    const param params[] = {{"id", int_value(id)}, {0}};
    size_t count;
    mcp_put_trace(call);
    HD_TRY(ask(&count, call, "event",
               "select s.id, s.name, s.category, s.role, s.ts as start, s.dur as duration, t.name as track, "
               "t.pid, t.tid, t.device, t.stream from slice s left join track t on t.id = s.track_id where s.id = :id",
               params, 1, err));
    if (!count) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "id: there is no event %" PRId64, id);
    HD_TRY(find_launch(&launch, call, id, err));
    HD_TRY(ask(NULL, call, "launches",
               "select launch_id, name as call, ts as start, dur as duration, delay, work_id, work_name as work, "
               "work_dur from launch where work_id = :id union all select launch_id, name, ts, dur, delay, "
               "work_id, work_name, work_dur from launch where launch_id = :id and work_id is not :id limit 10",
               params, 10, err));
    HD_TRY(add_stack(call, id, launch, err));
    return ask(NULL, call, "args",
               "select substr(key, 6) as key, display_value as value from args where arg_set_id = (select "
               "arg_set_id from slice where id = :id)",
               params, 100, err);
}
