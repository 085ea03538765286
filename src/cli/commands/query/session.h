/* session.h - shared by heddle query and its shell: a query over the inputs, its parameters, and the output
 *
 * script.c runs the statements of a text; out.c has the output; shell.c is the interactive shell.
 */
#ifndef HD_CLI_QUERY_SESSION_H
#define HD_CLI_QUERY_SESSION_H

#include "cli/cli.h"
#include "cli/commands/query/rows.h"
#include "heddle/version.h"

enum { SESSION_PARAMETERS = CLI_TEXTS_MAX, SESSION_ROWS_SHOWN = 100, STATUS_INTERRUPTED = 130 };

typedef struct session_parameter {
    char *name, *text; /* owned */
    hd_query_value value;
    bool is_used; /* a statement has it */
} session_parameter;

/* A file that appears whole or not at all; path NULL: standard output. */
typedef struct session_out {
    const char *path;
    FILE *file;
    char *temporary;
    cli_run *run;
} session_out;

typedef struct query_session {
    cli_run *run;
    hd_query *query;
    hd_trace *const *traces; /* the inputs; their paths are the run's operands */
    size_t trace_count;
    uint64_t unread; /* pieces of them that could not be read, as has been said */
    rows_format format;
    uint64_t rows_shown; /* of a result, as text; UINT64_MAX: all */
    bool is_shell;       /* errors end a statement, not the session */
    bool shows_time;
    session_parameter parameters[SESSION_PARAMETERS];
    size_t parameter_count;
    session_out out;
    size_t result_count; /* written so far */
} query_session;

/* ---- script.c ---- */

/* All statements of a text. `name` (NULL: none) is the file it comes from, for messages. Returns an exit status; errors
 * have been printed, with the line and the place in it. */
int session_run(query_session *session, const char *sql, const char *name);
/* The text of a file, "-": of standard input. The caller frees it. */
hd_status session_read_script(char **out, cli_run *run, const char *path);
/* "name=value": whole numbers, numbers, null, 'text' and text. */
hd_status session_set_parameter(query_session *session, const char *text);
void session_clear_parameters(query_session *session);

/* ---- out.c ---- */

/* The format by its name, or by a path's extension. */
extern const char *const session_formats[]; /* in the order of rows_format; ends with NULL */
bool session_format_of(rows_format *out, const char *path);

hd_status session_out_open(session_out *out, hd_error *err);
hd_status session_out_write(void *out, const char *data, size_t size); /* an hd_sink */
/* Unless `status` is HD_OK, nothing stays. */
hd_status session_out_close(session_out *out, hd_status status, hd_error *err);

/* ---- shell.c ---- */

int session_shell(query_session *session);

#endif
