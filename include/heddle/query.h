/* query.h - SQL over traces: SQLite with virtual tables that read the traces directly
 *
 *     hd_query *query;
 *     hd_statement *statement;
 *     hd_query_input input = {.trace = trace, .path = path, .rank = HD_NO_NUMBER};
 *     HD_TRY(hd_query_new(&query, &input, 1, NULL, &err));
 *     status = hd_query_prepare(&statement, NULL, query, "select name, sum(dur) from slice group by name", SIZE_MAX,
 *                               &err);
 *     while (status == HD_OK && (status = hd_statement_next(statement, &err)) == HD_OK) …hd_statement_at(statement, 0)
 *     hd_statement_free(statement);
 *     hd_query_free(query);
 *
 * Nothing is loaded or copied: tables are virtual, and columns are decoded when a statement uses them.
 * docs/reference/query-tables.md and the table `heddle_tables` list the tables. All is read only: statements that
 * write, attach a file or load an extension are refused.
 *
 * A query is used by one thread at a time, except for hd_query_interrupt.
 */
#ifndef HEDDLE_QUERY_H
#define HEDDLE_QUERY_H

#include "heddle/arrow.h"
#include "heddle/format.h"
#include "heddle/gpus.h"
#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_query hd_query;
typedef struct hd_statement hd_statement;

/* Everything is borrowed and must outlive the query. */
typedef struct hd_query_input {
    const hd_trace *trace;
    const char *path; /* for messages; may be NULL */
    int64_t rank;     /* value of the column `rank`; HD_NO_NUMBER: the rank in the traces or in the names of their files
                         */
} hd_query_input;

typedef struct hd_query_options {
    size_t size;          /* of this struct; see "Options" in status.h */
    uint64_t timeout_ms;  /* a statement fails with LIMIT this long after its first hd_statement_next; 0: never */
    const hd_gpus *gpus;  /* for reports that need a table of GPUs; NULL: the library's own */
    uint64_t value_bytes; /* the largest text or blob that a statement may make; 0: the maximum, 256 MiB */
    uint64_t spill_bytes; /* temporary files of all statements, mostly of sorts; 0: 16 GiB */
    uint64_t heap_bytes;  /* SQLite's heap limit for the whole program, other users of SQLite included; 0: unchanged */
    /* Called once, by another thread, when hd_statement_next has not returned 2 s after the statement's time limit: it
     * is in one step that cannot be interrupted (a report over a large trace). The only remedy is to end the
     * program. */
    void (*overdue)(void *user);
    void *overdue_user;
} hd_query_options;

/* The caller frees *out. options may be NULL. Errors: MEMORY; ARGUMENT: no input. */
hd_status hd_query_new(hd_query **out, const hd_query_input *inputs, size_t count, const hd_query_options *options,
                       hd_error *err);
void hd_query_free(hd_query *query); /* after its statements */

/* What is added to the times of an input, in ns. Several inputs are on one clock, that of the earliest
 * facts.base_ns, as with hd_traces_share_clock; the traces stay as they are. false: an input does not say what its
 * times count from, or there is no such input; then each input keeps its clock, and *out is 0. */
bool hd_query_shift(int64_t *out, const hd_query *query, size_t input);

/* From any thread or a signal handler: running statements fail with LIMIT, "interrupted". Statements prepared later are
 * not affected. */
void hd_query_interrupt(hd_query *query);

/* Prepare the first statement of sql[0 … size); SIZE_MAX: up to its NUL. *out is NULL if there is no statement (blanks,
 * comments). *rest (may be NULL): the text after it. Errors: ARGUMENT with the place in err->offset, and a hint where
 * one is known; MEMORY. */
hd_status hd_query_prepare(hd_statement **out, const char **rest, hd_query *query, const char *sql, size_t size,
                           hd_error *err);
void hd_statement_free(hd_statement *statement);
/* Whether a text ends with the semicolon of a statement and so is complete. */
bool hd_query_is_complete(const char *sql);

typedef enum hd_query_type { HD_QUERY_NULL, HD_QUERY_INT, HD_QUERY_REAL, HD_QUERY_TEXT, HD_QUERY_BLOB } hd_query_type;

typedef struct hd_query_value {
    hd_query_type type;
    int64_t integer; /* INT */
    double real;     /* REAL */
    const char
        *data; /* TEXT, BLOB: lives until the next call with the statement; not terminated. TEXT may be invalid UTF-8 */
    size_t size;
} hd_query_value;

/* Parameters are written :name, @name, $name or ?. */
size_t hd_statement_parameter_count(const hd_statement *statement);
const char *hd_statement_parameter_name(const hd_statement *statement, size_t index); /* without its prefix; NULL: ? */
/* Bind a value; unbound parameters are null. The text is copied. A parameter written ? is named by its number, "1". A
 * statement that has run starts again. Errors: ARGUMENT: no such parameter; MEMORY. */
hd_status hd_statement_set(hd_statement *statement, const char *name, hd_query_value value, hd_error *err);

/* The role of a result column, for programs that display it. */
typedef enum hd_query_role {
    HD_QUERY_PLAIN,
    HD_QUERY_SLICE_ID, /* a row of the slice table: `id` of slice */
    HD_QUERY_TIME,     /* ts: ns on the trace's clock */
    HD_QUERY_DURATION, /* dur: ns */
    HD_QUERY_TRACK_ID
} hd_query_role;

size_t hd_statement_column_count(const hd_statement *statement);
/* Names are unique: of several equal ones, all but the first get a suffix _2, _3 … */
const char *hd_statement_column_name(const hd_statement *statement, size_t column);
/* From the table column that it comes from; for expressions from its name (ts, dur). */
hd_query_role hd_statement_column_role(const hd_statement *statement, size_t column);

/* HD_OK: there is a row; HD_END: no more rows. Errors: ARGUMENT (a function got an invalid argument), LIMIT (time,
 * interrupted, a value or temporary files that are too large), IO, DAMAGED (data that can no longer be read from the
 * trace's file), MEMORY. */
hd_status hd_statement_next(hd_statement *statement, hd_error *err);
hd_query_value hd_statement_at(const hd_statement *statement, size_t column);

/* All rows as a stream of Arrow batches, which takes over the statement. A column's type is that of its values in the
 * first batch; a later batch with a value that does not fit (text in a column of numbers) makes the stream fail with
 * EINVAL and a message. INT: int64; REAL: double; TEXT: text; only nulls: int64. Errors: MEMORY. */
hd_status hd_statement_arrow_stream(struct ArrowArrayStream *out, hd_statement *statement, hd_error *err);

/* ---- the tables there are: for help and completion ---- */

typedef struct hd_query_column_about {
    const char *name, *type, *meaning; /* type: "INT", "TEXT", "REAL" */
    bool is_argument;                  /* of a table-valued function: may or must be given in parentheses */
} hd_query_column_about;

typedef struct hd_query_table_about {
    const char *name, *meaning;
    const hd_query_column_about *columns; /* ends with {0} */
} hd_query_table_about;

/* NULL beyond the last. Borrowed from the query. */
const hd_query_table_about *hd_query_table_at(const hd_query *query, size_t index);

#ifdef __cplusplus
}
#endif
#endif
