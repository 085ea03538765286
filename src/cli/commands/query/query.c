/* query.c - heddle query: SQL over traces */
#include "cli/cli.h"
#include "cli/commands/query/session.h"
#include "cli/report_out.h"
#include "cli/shared_options.h"

#include "heddle/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct query_options {
    int format; /* rows_format; FORMAT_UNSET: by --output, --json */
    const char *output, *sql, *file;
    cli_texts parameters;
    double timeout_s;
    uint64_t rows;
    bool all, strict;
    const char *binary, *counters;
};

enum { FORMAT_UNSET = -1 };

static const struct query_options defaults = {.format = FORMAT_UNSET};

#define FIELD(member) .field = offsetof(struct query_options, member)

static const cli_option options[] = {
    {.name = "format",
     .letter = 'f',
     .kind = CLI_CHOICE,
     .value = "FORMAT",
     .choices = session_formats,
     FIELD(format),
     .help = "output format (default: the extension of -o, else table)"},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(output),
     .help = "write there: .csv, .json, .jsonl, .md, .parquet, .arrows, .txt"},
    {.name = "sql",
     .letter = 'c',
     .kind = CLI_TEXT,
     .value = "SQL",
     FIELD(sql),
     .help = "the statements, if they are not the last operand"},
    {.name = "file",
     .letter = 'i',
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(file),
     .help = "statements from a file; - is standard input"},
    {.name = "param",
     .letter = 'p',
     .kind = CLI_TEXTS,
     .value = "NAME=VALUE",
     FIELD(parameters),
     .help = "the value of :NAME in the statements: a number, null, or text ('12' is text)"},
    {.name = "timeout",
     .kind = CLI_DECIMAL,
     .value = "SECONDS",
     .max = 1e9,
     FIELD(timeout_s),
     .help = "stop a statement that runs longer; 0 is never"},
    {.name = "rows",
     .letter = 'n',
     .kind = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = 1e15,
     FIELD(rows),
     .help = "print the first N rows of a table; 0: 100 on a terminal, else all"},
    {.name = "all", .letter = 'a', .kind = CLI_FLAG, FIELD(all), .help = "every row of a table, on a terminal as well"},
    OPTION_STRICT(FIELD(strict)),
    OPTION_BINARY(FIELD(binary)),
    OPTION_COUNTERS(FIELD(counters)),
    {0},
};

/* ---- the inputs ---- */

typedef struct inputs {
    hd_query_input *list;
    hd_trace **traces;
    size_t count;
} inputs;

static void free_inputs(inputs *in)
{
    for (size_t i = 0; in->traces && i < in->count; i++) hd_trace_free(in->traces[i]);
    free(in->traces);
    free(in->list);
}

static hd_status read_inputs(inputs *in, cli_run *run, size_t count)
{
    const struct query_options *chosen = run->options;
    hd_status status = HD_OK;
    in->list = calloc(count, sizeof *in->list);
    in->traces = calloc(count, sizeof *in->traces);
    if (!in->list || !in->traces) return hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    for (; in->count < count && status == HD_OK; in->count++) {
        const char *path = run->operands[in->count];
        hd_trace **trace = &in->traces[in->count];
        status = report_read(trace, run, path,
                             (hd_read_options){.strict = chosen->strict, .binary = chosen->binary, .lazy = true});
        if (status == HD_OK) status = report_join_counters(trace, run, path, chosen->counters);
        if (status != HD_OK) {
            hd_trace_free(*trace);
            break;
        }
        in->list[in->count] = (hd_query_input){.trace = *trace, .path = path, .rank = HD_NO_NUMBER};
    }
    return status;
}

/* Warns about inputs that a query over several files would silently mix: two inputs of one rank, and clocks of which
 * one has an unknown origin. */
static void note_inputs(const inputs *in, bool shared_clock, const cli_run *run)
{
    bool clocks_differ = false;
    for (size_t i = 1; i < in->count && !run->global.quiet; i++) {
        const hd_trace_facts *facts = hd_trace_facts_of(in->traces[i]), *other = NULL;
        size_t before = 0;
        for (; before < i && !other; before++)
            if (hd_trace_facts_of(in->traces[before])->rank == facts->rank)
                other = hd_trace_facts_of(in->traces[before]);
        clocks_differ |= !shared_clock && facts->base_ns != hd_trace_facts_of(in->traces[0])->base_ns;
        if (other && facts->rank != HD_NO_NUMBER)
            fprintf(stderr, "note: inputs %zu and %zu are both rank %lld: the column input distinguishes them\n",
                    before - 1, i, (long long)facts->rank);
    }
    if (clocks_differ)
        fputs("note: not all inputs say what their clocks count from: ts compares within an input only\n", stderr);
}

/* ---- the statements to run ---- */

typedef struct asked {
    const char *sql, *name; /* name: of the file that the statements come from */
    char *text;             /* owned */
    size_t file_count;
    bool is_shell;
} asked;

/* An operand that is not a file, and no name that was meant to be one. */
static bool is_sql(const char *operand)
{
    if (strcmp(operand, "-") == 0 || access(operand, F_OK) == 0) return false;
    return strpbrk(operand, " \t\n(;") != NULL;
}

static int find_sql(asked *a, cli_run *run)
{
    const struct query_options *chosen = run->options;
    a->file_count = (size_t)run->operand_count;
    const char *last = run->operands[run->operand_count - 1];
    if (is_sql(last)) {
        a->file_count--;
        a->sql = last;
    }
    if (!a->file_count) return cli_usage_error(run, "a query needs a trace: heddle query FILE... 'SQL'");
    if ((a->sql != NULL) + (chosen->sql != NULL) + (chosen->file != NULL) > 1)
        return cli_usage_error(
            run, "statements come after the files, in --sql, or in the file of --file: only one of these");
    if (chosen->sql) a->sql = chosen->sql;
    bool is_read = chosen->file != NULL, from_stdin = !is_read || strcmp(chosen->file, "-") == 0;
    if (a->sql) return CLI_OK;
    for (size_t i = 0; i < a->file_count && from_stdin; i++)
        if (strcmp(run->operands[i], "-") == 0)
            return cli_usage_error(run, "the trace is standard input, so say what to ask: heddle query - 'SQL'");
    a->is_shell = !is_read && isatty(STDIN_FILENO);
    if (a->is_shell) return CLI_OK;
    const char *path = is_read ? chosen->file : "-";
    a->name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    if (session_read_script(&a->text, run, path) != HD_OK) return CLI_FAILED;
    a->sql = a->text;
    return CLI_OK;
}

/* ---- the output ---- */

static int choose_output(query_session *session, const asked *a, cli_run *run)
{
    const struct query_options *chosen = run->options;
    rows_format by_path = ROWS_TABLE;
    bool to_file = chosen->output && strcmp(chosen->output, "-") != 0;
    bool is_known = to_file && session_format_of(&by_path, chosen->output);
    if (run->global.json && chosen->format != FORMAT_UNSET && chosen->format != ROWS_JSON)
        return cli_usage_error(run, "--json and --format %s exclude each other", session_formats[chosen->format]);
    session->format = chosen->format != FORMAT_UNSET ? (rows_format)chosen->format
                      : run->global.json             ? ROWS_JSON
                                                     : by_path;
    if (to_file && !is_known && chosen->format == FORMAT_UNSET && !run->global.json)
        return cli_usage_error(run,
                               "-o: what to write does not follow from '%.100s': use .csv, .json, .jsonl, .md, "
                               ".parquet, .arrows or .txt, or --format",
                               chosen->output);
    bool is_terminal = !to_file && run->is_terminal;
    if (rows_are_columns(session->format) && is_terminal && !a->is_shell)
        return cli_usage_error(run, "%s output cannot be shown on a terminal: use -o FILE",
                               session_formats[session->format]);
    if (a->is_shell && (to_file || rows_are_columns(session->format)))
        return cli_usage_error(run, "in the shell, .output FILE says where results go");
    session->out.path = to_file ? chosen->output : NULL;
    session->rows_shown = chosen->rows ? chosen->rows : is_terminal && !chosen->all ? SESSION_ROWS_SHOWN : UINT64_MAX;
    return CLI_OK;
}

/* ---- the command ---- */

/* A parameter that no statement has is a slip. */
static int check_parameters(const query_session *session, int status)
{
    cli_run *run = session->run;
    for (size_t i = 0; i < session->parameter_count && status == CLI_OK && !run->out_error; i++)
        if (!session->parameters[i].is_used)
            return cli_usage_error(run, "--param: no statement has :%.60s", session->parameters[i].name);
    return status;
}

static int run_script(query_session *session, const asked *a)
{
    cli_run *run = session->run;
    bool has_columns = rows_are_columns(session->format);
    if (!has_columns && session_out_open(&session->out, &run->err) != HD_OK) return CLI_FAILED;
    int status = session_run(session, a->sql, a->name);
    status = check_parameters(session, status);
    hd_status written = status == CLI_OK ? HD_OK : HD_ERR_ARGUMENT;
    if (!has_columns) written = session_out_close(&session->out, written, &run->err);
    if (written == HD_OK && session->out.path) report_say_wrote(run, session->out.path, false);
    return status == CLI_OK && written != HD_OK ? CLI_FAILED : status;
}

/* A statement is within a step that nothing ends: the program ends with it. */
static void give_up(void *user)
{
    cli_run *run = user;
    const struct query_options *chosen = run->options;
    cli_remove_unfinished();
    fflush(stdout);
    hd_error_set(&run->err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                 "stopped after %.12g seconds, the limit, within one step", chosen->timeout_s);
    cli_report(run);
    _exit(CLI_FAILED);
}

static int run_session(query_session *session, const asked *a)
{
    cli_run *run = session->run;
    const struct query_options *chosen = run->options;
    inputs in = {0};
    const hd_query_options query_options = {
        .timeout_ms = (uint64_t)(chosen->timeout_s * 1000 + 0.5), .overdue = give_up, .overdue_user = run};
    int status = CLI_FAILED;
    bool is_read = read_inputs(&in, run, a->file_count) == HD_OK;
    session->traces = in.traces;
    session->trace_count = in.count;
    if (is_read && hd_query_new(&session->query, in.list, in.count, &query_options, &run->err) == HD_OK) {
        int64_t shift;
        note_inputs(&in, hd_query_shift(&shift, session->query, 0), run);
        status = a->is_shell ? session_shell(session) : run_script(session, a);
    }
    hd_query_free(session->query);
    free_inputs(&in);
    return status;
}

static int run(cli_run *run)
{
    const struct query_options *chosen = run->options;
    asked a = {0};
    query_session session = {.run = run, .out = {.run = run}};
    int status = find_sql(&a, run);
    session.is_shell = a.is_shell;
    for (size_t i = 0; i < chosen->parameters.count && status == CLI_OK; i++)
        if (session_set_parameter(&session, chosen->parameters.items[i]) != HD_OK) status = CLI_USAGE;
    if (status == CLI_OK) status = choose_output(&session, &a, run);
    if (status == CLI_OK) status = run_session(&session, &a);
    session_clear_parameters(&session);
    free(a.text);
    return status;
}

const cli_command cmd_query = {
    .name = "query",
    .group = CLI_START,
    .summary = "run SQL over the events of a trace",
    .usage = "FILE... ['SQL']",
    .offer = "<files>",
    .description =
        "Runs SQLite's SQL over the traces themselves: nothing is loaded or copied. Tables and columns have the "
        "names that they have in Perfetto (slice, thread_track, counter, args …); docs/reference/query-tables.md lists "
        "them, "
        "as does the table heddle_tables, and docs/query.md has examples. Several files are queried together: the "
        "columns `rank` and `input` distinguish them. Times are nanoseconds.\n\n"
        "The last operand is the query, unless it is a file. Without one, statements are read from standard input; "
        "on a terminal it starts a shell, with completion and history: .help lists its commands.\n\n"
        "A query can only read: statements that write, attach files or load extensions are refused. CREATE VIEW is "
        "allowed in scripts; the view ends with the script.\n\n"
        "On a terminal, text has the first 100 rows and fits the width; all other output has every row and all "
        "digits of numbers. Each of several statements has a result of its own. The exit status is 1 if a statement "
        "failed, 130 if it was interrupted.",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct query_options),
    .operands_min = 1,
    .operands_max = -1,
    .has_json = true,
    .run = run,
    .examples = (const cli_example[]){{"heddle query trace.json 'select name, sum(dur) from slice group by name'",
                                       "time by name"},
                                      {"heddle query rank*.heddle -o steps.parquet 'select * from step'",
                                       "the steps of all ranks, as a file for DuckDB or pandas"},
                                      {"heddle query trace.json -p name=gemm -i kernels.sql", "a file of statements"},
                                      {"heddle query trace.json", "the shell"},
                                      {0}},
};
