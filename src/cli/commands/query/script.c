/* script.c - the statements of a text, one after the other: parameters, rows, and where an error is */
#include "cli/commands/query/session.h"
#include "cli/report_out.h"

#include "heddle/arrow.h"
#include "heddle/parquet.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SCRIPT_BYTES = 16 << 20 };

/* ---- a file of statements ---- */

static hd_status read_all(char **out, size_t *out_size, FILE *file, hd_error *err)
{
    char *text = NULL;
    size_t size = 0, capacity = 0, got = 1;
    errno = 0;
    while (got && size <= SCRIPT_BYTES) {
        if (capacity - size < 2) {
            char *grown = realloc(text, capacity = 2 * capacity + 4096);
            if (!grown) {
                free(text);
                return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
            }
            text = grown;
        }
        size += got = fread(text + size, 1, capacity - size - 1, file);
    }
    text[size] = '\0';
    *out = text;
    *out_size = size;
    return ferror(file) ? hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "%s", strerror(errno)) : HD_OK;
}

hd_status session_read_script(char **out, cli_run *run, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "r");
    size_t size = 0;
    *out = NULL;
    if (!file) return hd_error_set(&run->err, HD_ERR_IO, path, HD_OFFSET_NONE, "%s", strerror(errno));
    hd_status status = read_all(out, &size, file, &run->err);
    if (!is_stdin) fclose(file);
    const char *nul = status == HD_OK ? memchr(*out, '\0', size) : NULL;
    if (status == HD_OK && size > SCRIPT_BYTES)
        status = hd_error_set(&run->err, HD_ERR_LIMIT, path, HD_OFFSET_NONE, "more than 16 MiB are not statements");
    else if (nul)
        status = hd_error_set(&run->err, HD_ERR_ARGUMENT, path, (uint64_t)(nul - *out), "a NUL byte is not SQL");
    if (status != HD_OK && !run->err.path[0]) snprintf(run->err.path, sizeof run->err.path, "%s", path);
    if (status == HD_OK) return HD_OK;
    free(*out);
    *out = NULL;
    return status;
}

/* ---- Ctrl-C ---- */

static hd_query *running; /* a handler has nothing else to go by */
static volatile sig_atomic_t was_interrupted;
static double first_s;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Once more, a second later: it did not help, so the program ends. */
static void interrupt(int signal_number)
{
    enum { PATIENCE_S = 1 };
    if (was_interrupted && now_s() - first_s > PATIENCE_S) {
        cli_remove_unfinished();
        signal(signal_number, SIG_DFL);
        raise(signal_number);
        return;
    }
    if (!was_interrupted) first_s = now_s();
    was_interrupted = 1; /* also between two statements */
    hd_query_interrupt(running);
}

static void catch_interrupt(struct sigaction *before, hd_query *query)
{
    const struct sigaction action = {.sa_handler = interrupt};
    running = query;
    was_interrupted = 0;
    sigaction(SIGINT, &action, before);
}

/* ---- errors ---- */

/* The line of sql[at], with a caret below the place. Tabs are kept, so that the caret is aligned. */
static void show_place(const char *sql, size_t at)
{
    enum { BEFORE = 60, BEHIND = 40 };
    size_t start = at, end = at;
    while (start > 0 && sql[start - 1] != '\n' && (at - start < BEFORE || ((unsigned char)sql[start] & 0xc0) == 0x80))
        start--;
    while (sql[end] && sql[end] != '\n' && sql[end] != '\r' &&
           (end - at < BEHIND || ((unsigned char)sql[end] & 0xc0) == 0x80))
        end++;
    fputs("  ", stderr);
    for (size_t i = start; i < end; i++)
        fputc(((unsigned char)sql[i] < 0x20 && sql[i] != '\t') || sql[i] == 0x7f ? '?' : sql[i], stderr);
    fputs("\n  ", stderr);
    for (size_t i = start; i < at; i++)
        if (((unsigned char)sql[i] & 0xc0) != 0x80) fputc(sql[i] == '\t' ? '\t' : ' ', stderr);
    fputs("^\n", stderr);
}

static size_t line_of(const char *sql, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++) line += sql[i] == '\n';
    return line;
}

/* `statement`: where the statement begins that failed; the error's offset, if it has one, counts from there. */
static void report(query_session *session, const char *sql, const char *statement, const char *name)
{
    cli_run *run = session->run;
    bool has_place = run->err.status == HD_ERR_ARGUMENT && run->err.offset != HD_OFFSET_NONE;
    size_t at = (size_t)(statement - sql);
    if (has_place) at += (size_t)run->err.offset;
    if (has_place) run->err.offset = HD_OFFSET_NONE;
    at += strspn(sql + at, " \t\r\n");
    if (name) hd_error_add_cause(&run->err, "%.200s:%zu", name, line_of(sql, at));
    cli_report(run);
    if (has_place) show_place(sql, at);
}

/* ---- parameters ---- */

static bool parse_value(hd_query_value *out, char *text)
{
    char *end;
    size_t size = strlen(text);
    errno = 0;
    long long integer = strtoll(text, &end, 10);
    if (size && !*end && errno == 0) return *out = (hd_query_value){HD_QUERY_INT, .integer = integer}, true;
    double real = strtod(text, &end);
    if (size && !*end && strspn(text, "+-.0123456789eE") == size)
        return *out = (hd_query_value){HD_QUERY_REAL, .real = real}, true;
    if (strcmp(text, "null") == 0) return *out = (hd_query_value){.type = HD_QUERY_NULL}, true;
    bool quoted = size > 1 && text[0] == '\'' && text[size - 1] == '\'';
    *out = (hd_query_value){HD_QUERY_TEXT, .data = text + quoted, .size = size - 2 * quoted};
    return true;
}

hd_status session_set_parameter(query_session *session, const char *text)
{
    hd_error *err = &session->run->err;
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a parameter is name=value, not '%.60s'", text);
    size_t size = (size_t)(equals - text), i = 0;
    for (; i < session->parameter_count; i++) {
        const char *name = session->parameters[i].name;
        if (strlen(name) == size && memcmp(name, text, size) == 0) break;
    }
    if (i == SESSION_PARAMETERS)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "at most %d parameters", SESSION_PARAMETERS);
    session_parameter *parameter = &session->parameters[i];
    char *name = strndup(text, size), *value = strdup(equals + 1);
    if (!name || !value) {
        free(name);
        free(value);
        return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    }
    free(parameter->name);
    free(parameter->text);
    *parameter = (session_parameter){.name = name, .text = value};
    session->parameter_count += i == session->parameter_count;
    parse_value(&parameter->value, value);
    return HD_OK;
}

void session_clear_parameters(query_session *session)
{
    for (size_t i = 0; i < session->parameter_count; i++) {
        free(session->parameters[i].name);
        free(session->parameters[i].text);
    }
    memset(session->parameters, 0, sizeof session->parameters);
    session->parameter_count = 0;
}

static session_parameter *find_parameter(query_session *session, const char *name)
{
    for (size_t i = 0; i < session->parameter_count; i++)
        if (strcmp(session->parameters[i].name, name) == 0) return &session->parameters[i];
    return NULL;
}

static hd_status set_parameters(query_session *session, hd_statement *statement)
{
    hd_error *err = &session->run->err;
    const char *how = session->is_shell ? ".param" : "--param";
    for (size_t i = 0; i < hd_statement_parameter_count(statement); i++) {
        char number[24];
        const char *name = hd_statement_parameter_name(statement, i);
        snprintf(number, sizeof number, "%zu", i + 1);
        if (!name) name = number;
        session_parameter *parameter = find_parameter(session, name);
        if (!parameter)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "the parameter %.60s has no value: %s %.60s=…", name, how, name);
        parameter->is_used = true;
        hd_status status = hd_statement_set(statement, name, parameter->value, err);
        if (status != HD_OK) return status;
    }
    return HD_OK;
}

/* ---- results ---- */

static hd_status write_rows(query_session *session, hd_statement *statement, uint64_t *rows)
{
    cli_run *run = session->run;
    bool is_text = session->format == ROWS_TABLE, to_terminal = !session->out.file;
    rows_out out = {.format = session->format,
                    .sink = {session_out_write, &session->out},
                    /* a pipe gets results in full, as of other databases */
                    .width = is_text && to_terminal && run->is_terminal ? run->width : 0,
                    .bold = is_text && to_terminal && run->color};
    hd_status status = HD_OK, written = rows_begin(&out, statement, &run->err);
    bool is_cut = false;
    if (session->result_count++ && session->format != ROWS_JSON && session->format != ROWS_JSONL)
        session_out_write(&session->out, "\n", 1);
    while (written == HD_OK && !is_cut && (status = hd_statement_next(statement, &run->err)) == HD_OK) {
        is_cut = is_text && *rows == session->rows_shown;
        if (is_cut) break;
        written = rows_add(&out, &run->err);
        ++*rows;
    }
    if (written == HD_OK && status != HD_OK && status != HD_END) {
        /* Rows before the failure are shown. */
        hd_error ignored = {0};
        if (*rows)
            rows_finish(&out, HD_OK, &ignored);
        else
            rows_finish(&out, status, &ignored);
        return status;
    }
    written = rows_finish(&out, written, &run->err);
    if (written == HD_OK && is_cut)
        cli_print(run, "… there are more rows; %s\n", session->is_shell ? ".rows all" : "--rows N, --all");
    return written;
}

/* Reports inputs that could not be read, once. */
static hd_status check_read(query_session *session, hd_error *err)
{
    uint64_t unread = 0;
    hd_status status = HD_OK;
    for (size_t i = 0; i < session->trace_count; i++) unread += hd_trace_unloaded(session->traces[i]);
    bool is_said = unread == session->unread;
    session->unread = unread;
    for (size_t i = 0; i < session->trace_count && !is_said && status == HD_OK; i++)
        status = report_check_read(session->traces[i], session->run->operands[i], err);
    return status;
}

/* The batches of another stream; at their end, whether all was read. */
typedef struct checked_stream {
    struct ArrowArrayStream inner;
    query_session *session;
    hd_error err;
} checked_stream;

static int checked_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    checked_stream *checked = self->private_data;
    return checked->inner.get_schema(&checked->inner, out);
}

static int checked_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    checked_stream *checked = self->private_data;
    int code = checked->inner.get_next(&checked->inner, out);
    bool is_end = code == 0 && !out->release;
    return is_end && check_read(checked->session, &checked->err) != HD_OK ? EIO : code;
}

static const char *checked_error(struct ArrowArrayStream *self)
{
    checked_stream *checked = self->private_data;
    return checked->err.status != HD_OK ? checked->err.message : checked->inner.get_last_error(&checked->inner);
}

static void checked_release(struct ArrowArrayStream *self)
{
    checked_stream *checked = self->private_data;
    checked->inner.release(&checked->inner);
    self->release = NULL;
}

static hd_status write_columns(query_session *session, hd_statement *statement)
{
    cli_run *run = session->run;
    checked_stream checked = {.session = session};
    struct ArrowArrayStream stream = {checked_schema, checked_next, checked_error, checked_release, &checked};
    hd_byte_sink *sink;
    if (session->result_count++) {
        hd_statement_free(statement);
        return hd_error_set(&run->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "%s output holds one result, and another statement gives rows too",
                            session_formats[session->format]);
    }
    hd_status status = hd_statement_arrow_stream(&checked.inner, statement, &run->err);
    if (status != HD_OK) return status;
    status = hd_byte_sink_new_path(&sink, session->out.path ? session->out.path : "-", &run->err);
    if (status != HD_OK) {
        stream.release(&stream);
        return status;
    }
    status = session->format == ROWS_ARROW ? hd_arrow_write(sink, &stream, &run->err)
                                           : hd_parquet_write(sink, &stream, NULL, &run->err);
    hd_byte_sink_free(sink);
    if (checked.err.status != HD_OK) run->err = checked.err;
    return status;
}

/* Takes the statement. */
static hd_status run_statement(query_session *session, hd_statement *statement)
{
    uint64_t rows = 0;
    double start = now_s();
    hd_status status = set_parameters(session, statement);
    if (status == HD_OK && hd_statement_column_count(statement) && rows_are_columns(session->format))
        return write_columns(session, statement);
    if (status == HD_OK && hd_statement_column_count(statement))
        status = write_rows(session, statement, &rows);
    else if (status == HD_OK && (status = hd_statement_next(statement, &session->run->err)) == HD_END)
        status = HD_OK;
    hd_statement_free(statement);
    if (status == HD_OK && session->shows_time)
        cli_print(session->run, "%llu row%s, %.3f s\n", (unsigned long long)rows, rows == 1 ? "" : "s",
                  now_s() - start);
    return status;
}

int session_run(query_session *session, const char *sql, const char *name)
{
    cli_run *run = session->run;
    struct sigaction before;
    int result = CLI_OK;
    catch_interrupt(&before, session->query);
    const char *end = sql + strlen(sql);
    for (const char *at = sql, *rest; at < end && result == CLI_OK && !run->out_error; at = rest) {
        hd_statement *statement;
        hd_status status = hd_query_prepare(&statement, &rest, session->query, at, (size_t)(end - at), &run->err);
        if (status == HD_OK && !statement) break;
        if (status == HD_OK) status = run_statement(session, statement);
        hd_status read = check_read(session, status == HD_OK ? &run->err : NULL); /* a failure has said it */
        if (status == HD_OK) status = read;
        if (status == HD_OK && was_interrupted)
            status = hd_error_set(&run->err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "interrupted");
        if (status == HD_OK || run->out_error) continue;
        result = was_interrupted ? STATUS_INTERRUPTED : CLI_FAILED;
        report(session, sql, at, name);
    }
    sigaction(SIGINT, &before, NULL);
    return result;
}
