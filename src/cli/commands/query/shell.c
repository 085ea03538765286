/* shell.c - the shell of heddle query: statements until their semicolon, and commands that begin with a dot */
#include "cli/commands/query/edit.h"
#include "cli/commands/query/names.h"
#include "cli/commands/query/session.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct shell {
    query_session *session;
    names names;
    editor *editor;
    char *text; /* of the statement so far */
    bool is_over;
} shell;

/* ---- commands ---- */

static const cli_example helps[] = {
    {".tables", "the tables, and what a row of each is"},
    {".schema TABLE", "its columns"},
    {".mode FORMAT", "how rows are written: table, csv, json, jsonl, md"},
    {".output FILE",
     "results go there, by its extension; without FILE here again. A .parquet or .arrows takes one result"},
    {".rows N|all", "how many rows of a table are shown"},
    {".timer on|off", "say how long each statement took"},
    {".param NAME=VALUE", "what :NAME is in statements"},
    {".params", "the parameters that are set"},
    {".read FILE", "run the statements of a file"},
    {".quit", "as does Ctrl-D"},
    {0},
};

static int fail(const query_session *session, const char *text, const char *what)
{
    hd_error_set(&session->run->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, text, what);
    cli_report(session->run);
    return CLI_OK;
}

static void print_help(cli_run *run)
{
    for (const cli_example *help = helps; help->command; help++)
        cli_print(run, "  %-20s%s\n", help->command, help->text);
    cli_print(run, "A statement ends with a semicolon, and may have several lines. Tab completes, Ctrl-C stops.\n");
}

static void print_table(cli_run *run, hd_table_builder *builder)
{
    const hd_table_style style = {.width = run->width, .bold_head = run->color, .raw = true};
    hd_table *table;
    if (hd_table_finish(&table, builder, &run->err) == HD_OK) {
        hd_table_write(table, (hd_sink){cli_write, run}, &style, &run->err);
        hd_table_free(table);
    }
    if (!run->out_error) cli_report(run);
}

static hd_table_builder *new_table(cli_run *run, const char *const *columns)
{
    hd_table_builder *builder;
    if (hd_table_builder_new(&builder, "list", &run->err) != HD_OK) {
        cli_report(run);
        return NULL;
    }
    for (; *columns; columns++) hd_table_add_column(builder, *columns, HD_VALUE_STRING);
    return builder;
}

static void list_tables(query_session *session)
{
    static const char *const columns[] = {"table", "meaning", NULL};
    const hd_query_table_about *table;
    hd_table_builder *builder = new_table(session->run, columns);
    for (size_t i = 0; builder && (table = hd_query_table_at(session->query, i)); i++) {
        hd_table_add_text(builder, table->name);
        hd_table_add_text(builder, table->meaning);
    }
    if (builder) print_table(session->run, builder);
}

static void list_columns(query_session *session, const char *name)
{
    static const char *const columns[] = {"column", "type", "meaning", NULL};
    const hd_query_table_about *table = NULL;
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    for (size_t i = 0; (table = hd_query_table_at(session->query, i)) && strcmp(table->name, name) != 0; i++)
        hd_name_suggest(name, table->name, &best, &distance);
    if (!table) {
        fail(session, best ? "no such table; did you mean %s?" : "no table %.60s; .tables lists them",
             best ? best : name);
        return;
    }
    cli_print(session->run, "%s: %s\n", table->name, table->meaning);
    hd_table_builder *builder = new_table(session->run, columns);
    for (const hd_query_column_about *c = table->columns; builder && c->name; c++) {
        hd_table_add_text(builder, c->name);
        hd_table_add_text(builder, c->type);
        hd_table_add_text(builder, c->meaning);
    }
    if (builder) print_table(session->run, builder);
}

static void set_mode(query_session *session, const char *name)
{
    for (int i = 0; session_formats[i]; i++) {
        if (strcmp(session_formats[i], name) != 0) continue;
        if (rows_are_columns((rows_format)i))
            fail(session, "%s output cannot be shown on a terminal: use .output FILE", session_formats[i]);
        else
            session->format = (rows_format)i;
        return;
    }
    fail(session, ".mode: table, csv, json, jsonl or md, not '%.40s'", name);
}

static void close_output(query_session *session)
{
    session_out_close(&session->out, HD_OK, &session->run->err);
    cli_report(session->run);
    if (session->out.path) session->format = ROWS_TABLE;
    free((char *)session->out.path);
    session->out.path = NULL;
    session->result_count = 0;
}

static void set_output(query_session *session, const char *path)
{
    rows_format format;
    close_output(session);
    if (!*path) return;
    if (!session_format_of(&format, path)) {
        fail(session,
             ".output: what to write does not follow from '%.100s': use .csv, .json, .jsonl, .md, "
             ".parquet, .arrows or .txt",
             path);
        return;
    }
    session->out.path = strdup(path);
    if (!session->out.path) return;
    session->format = format;
    if (!rows_are_columns(format) && session_out_open(&session->out, &session->run->err) != HD_OK)
        close_output(session);
}

static void set_rows(query_session *session, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long rows = strtoull(text, &end, 10);
    if (strcmp(text, "all") == 0)
        session->rows_shown = UINT64_MAX;
    else if (*text >= '1' && *text <= '9' && !*end && errno == 0)
        session->rows_shown = rows;
    else
        fail(session, ".rows: a number or all, not '%.40s'", text);
}

static void list_parameters(query_session *session)
{
    for (size_t i = 0; i < session->parameter_count; i++) {
        const session_parameter *parameter = &session->parameters[i];
        const hd_sink sink = {cli_write, session->run};
        hd_text_write(sink, parameter->name, strlen(parameter->name));
        cli_print(session->run, " = ");
        hd_text_write(sink, parameter->text, strlen(parameter->text));
        cli_print(session->run, "\n");
    }
}

static void read_file(query_session *session, const char *path)
{
    char *text;
    if (!session->out.path) session->result_count = 0;
    if (session_read_script(&text, session->run, path) == HD_OK) session_run(session, text, path);
    cli_report(session->run);
    free(text);
}

static void run_command(shell *s, const char *line)
{
    query_session *session = s->session;
    size_t size = strcspn(line, " \t");
    const char *word = line + size + strspn(line + size, " \t");
    char name[16], *argument = strndup(word, strlen(word));
    if (!argument) return;
    for (size_t end = strlen(argument); end && strchr(" \t;", argument[end - 1]);) argument[--end] = '\0';
    snprintf(name, sizeof name, "%.*s", (int)(size < 15 ? size : 15), line);
    if (strcmp(name, ".help") == 0)
        print_help(session->run);
    else if (strcmp(name, ".tables") == 0)
        list_tables(session);
    else if (strcmp(name, ".schema") == 0 && !*argument)
        list_tables(session);
    else if (strcmp(name, ".schema") == 0)
        list_columns(session, argument);
    else if (strcmp(name, ".mode") == 0)
        set_mode(session, argument);
    else if (strcmp(name, ".output") == 0)
        set_output(session, argument);
    else if (strcmp(name, ".rows") == 0)
        set_rows(session, argument);
    else if (strcmp(name, ".timer") == 0 && strcmp(argument, "on") == 0)
        session->shows_time = true;
    else if (strcmp(name, ".timer") == 0 && strcmp(argument, "off") == 0)
        session->shows_time = false;
    else if (strcmp(name, ".params") == 0)
        list_parameters(session);
    else if (strcmp(name, ".param") == 0)
        session_set_parameter(session, argument);
    else if (strcmp(name, ".read") == 0 && *argument)
        read_file(session, argument);
    else if (strcmp(name, ".quit") == 0 || strcmp(name, ".exit") == 0)
        s->is_over = true;
    else
        fail(session, "%.40s is not a command of the shell, or lacks a word; .help lists them", line);
    cli_report(session->run);
    free(argument);
}

/* ---- statements ---- */

/* One line of the history, unless a comment would take the rest of it along. */
static void remember(shell *s)
{
    char *text = strdup(s->text);
    if (!text) return;
    for (char *at = text; *at && !strstr(text, "--"); at++)
        if (*at == '\n') *at = ' ';
    editor_remember(s->editor, text);
    free(text);
}

static void take_line(shell *s, const char *line)
{
    query_session *session = s->session;
    const char *start = line + strspn(line, " \t");
    if (!s->text && (!*start || strncmp(start, "--", 2) == 0)) return;
    if (!s->text && *start == '.') {
        editor_remember(s->editor, line);
        run_command(s, start);
        return;
    }
    char *text = NULL;
    if (asprintf(&text, "%s%s%s", s->text ? s->text : "", s->text ? "\n" : "", line) < 0) return;
    free(s->text);
    s->text = text;
    s->names.before = text;
    if (!hd_query_is_complete(text)) return;
    remember(s);
    if (!session->out.path) session->result_count = 0;
    session_run(session, text, NULL);
    if (session->out.path && rows_are_columns(session->format) && session->result_count) close_output(session);
    free(s->text);
    s->text = NULL;
    s->names.before = "";
}

static char *history_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int size = -1;
    if (state && *state == '/')
        size = asprintf(&path, "%s/heddle/query_history", state);
    else if (home && *home == '/')
        size = asprintf(&path, "%s/.local/state/heddle/query_history", home);
    return size < 0 ? NULL : path;
}

int session_shell(query_session *session)
{
    cli_run *run = session->run;
    shell s = {.session = session};
    char *history = history_path();
    const char *line;
    names_init(&s.names, session->query);
    s.editor = editor_new(history, names_complete, &s.names);
    free(history);
    if (!s.editor) {
        hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
        return CLI_FAILED;
    }
    signal(SIGINT, SIG_IGN); /* but while a line is read, or a statement runs */
    if (!run->global.quiet)
        cli_print(run, "heddle %s. Statements end with a semicolon; .help lists the commands.\n", hd_version());
    while (!s.is_over && !run->out_error) {
        fflush(stdout);
        editor_read_result result = editor_read(s.editor, s.text ? "   ...> " : "heddle> ", &line);
        if (result == EDITOR_END) break;
        if (result == EDITOR_LINE) take_line(&s, line);
        if (result == EDITOR_CANCELLED) {
            free(s.text);
            s.text = NULL;
            s.names.before = "";
        }
    }
    close_output(session);
    editor_free(s.editor);
    names_deinit(&s.names);
    free(s.text);
    run->reported = false; /* who types has seen it */
    return CLI_OK;
}
