/* impl.h - the server's parts
 *
 * In: lines of JSON-RPC. Out: answers, within a number of bytes. A tool is a row of the table in tools.c and a function
 * that fills an answer, which is a head and tables of rows that are JSON already; answer.c sends as much of it as is
 * wanted, and a cursor for the rest. Begin with server.c.
 */
#ifndef HD_MCP_IMPL_H
#define HD_MCP_IMPL_H

#include "base/error.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/memory/arena.h"
#include "heddle/analysis/launches.h"
#include "heddle/mcp.h"
#include "heddle/query.h"
#include "heddle/report.h"
#include "heddle/stacks.h"

/* ---- answers: answer.c ---- */

enum {
    MCP_TABLES = HD_REPORT_TABLES + 2,
    MCP_ROWS = 10000,     /* of a table that are kept */
    MCP_CELL_BYTES = 500, /* of a text; longer ones are cut, and end with "…" */
    MCP_ROW_BYTES = 2000, /* of a row; in longer ones texts are cut to MCP_SHORT_BYTES */
    MCP_SHORT_BYTES = 80,
    MCP_ANSWER_LEAST = 1000,
    MCP_ANSWER_BYTES = 4000, /* unless the caller wants another number */
    MCP_ANSWER_MOST = 100000,
};

typedef struct mcp_table {
    char name[64];
    hd_json_out columns; /* an array */
    hd_json_out rows;    /* arrays, one after the other */
    size_t *ends;        /* of each row in `rows` */
    size_t count, capacity;
    uint64_t total; /* rows that there are */
} mcp_table;

/* Zero-initialised is empty. */
typedef struct mcp_answer {
    hd_json_out head; /* members, without brackets */
    mcp_table tables[MCP_TABLES];
    size_t table_count;
} mcp_answer;

void mcp_answer_deinit(mcp_answer *answer);
/* A member of the head. */
void mcp_put_key(hd_json_out *json, const char *key);
void mcp_put_text(hd_json_out *json, const char *key, const char *text);
void mcp_put_int(hd_json_out *json, const char *key, int64_t value);

/* Adds columns of a table, all of those that some row has a value of; `columns` (may be NULL: all) are names, separated
 * by commas. Rows with `start` and `duration` get a column `view`, the place in heddle view; times there count from
 * start_ns. Errors: MEMORY. */
hd_status mcp_answer_table(mcp_answer *answer, const hd_table *table, const char *columns, int64_t start_ns,
                           hd_error *err);
/* Starts a table row by row. NULL: there are MCP_TABLES. */
mcp_table *mcp_answer_start(mcp_answer *answer, const char *name);
/* A row: its cells behind "[", without "]". Errors: MEMORY. */
hd_status mcp_table_end_row(mcp_table *table, hd_error *err);
/* A text cell, cut to `most` bytes. */
void mcp_put_cell(hd_json_out *json, const char *data, size_t size, size_t most);

/* "12.345": table and row to begin with. Writes at most about `most` bytes, of at least one row. */
hd_status mcp_answer_write(hd_json_out *out, const mcp_answer *answer, const char *cursor, size_t most, hd_error *err);

/* ---- traces: traces.c ---- */

enum { MCP_TRACES = 1024, MCP_TRACES_READ = 8 };

typedef struct mcp_trace {
    char *path;
    hd_trace *trace; /* NULL: not read yet, or given up for others */
    hd_launches *launches;
    hd_query *query;
    hd_query_input input;
    uint64_t used; /* when, by the server's count */
} mcp_trace;

struct hd_mcp {
    const hd_gpus *gpus;
    uint64_t memory_limit;
    bool only_these;
    mcp_trace traces[MCP_TRACES];
    size_t trace_count;
    uint64_t clock;
    const char *version; /* of the protocol, as agreed; static */
    /* The last answer, for its cursor. */
    char *answer_key;
    mcp_answer answer;
};

/* Reads it if it is not in memory. Errors: ARGUMENT: there is none of that number; those of hd_trace_read. */
hd_status mcp_trace_take(mcp_trace **out, hd_mcp *mcp, int64_t number, hd_error *err);
/* Reads a file, anew if it is open already. *out: its number. */
hd_status mcp_trace_open(int64_t *out, hd_mcp *mcp, const char *path, hd_error *err);
hd_status mcp_trace_query(hd_query **out, hd_mcp *mcp, mcp_trace *trace, hd_error *err);
hd_status mcp_trace_launches(const hd_launches **out, mcp_trace *trace, hd_error *err);
int64_t mcp_trace_start(const mcp_trace *trace);
void mcp_trace_close(mcp_trace *trace); /* gives its memory back; the path stays */

/* ---- tools: tools.c and tool_….c ---- */

typedef enum mcp_kind {
    MCP_TEXT = 1,
    MCP_INT,
    MCP_TIME,   /* an integer, ns on the trace's clock; or a text as the command takes it: "1.5s", "10%" */
    MCP_TEXTS,  /* an array of texts */
    MCP_INTS,   /* an array of integers */
    MCP_OBJECT, /* of anything */
} mcp_kind;

typedef struct mcp_arg {
    const char *name;
    mcp_kind kind;
    bool required;
    int64_t least, most;        /* of MCP_INT */
    const char *const *choices; /* of MCP_TEXT: ends with NULL; NULL: any */
    const char *about;
} mcp_arg;

typedef struct mcp_call mcp_call;

typedef struct mcp_tool {
    const char *name, *title, *about;
    const mcp_arg *args; /* ends with {0} */
    bool of_trace;       /* has the argument `trace` */
    hd_status (*run)(mcp_call *call, hd_error *err);
    const char *next; /* the suggested next call after an error */
} mcp_tool;

struct mcp_call {
    hd_mcp *mcp;
    const mcp_tool *tool;
    const char *args; /* a JSON object, padded and valid */
    mcp_trace *trace; /* where the tool is of one */
    int64_t number;   /* of it */
    mcp_answer *answer;
    hd_arena arena; /* freed with the call */
};

const mcp_tool *mcp_tool_at(size_t index); /* NULL beyond the last */
/* Errors: ARGUMENT: an argument is missing, unknown, or of the wrong type. */
hd_status mcp_check_args(const mcp_tool *tool, const char *args, hd_error *err);
void mcp_put_schema(hd_json_out *out, const mcp_tool *tool);

/* Of arguments that have been checked. NULL and `fallback`: it is not there. Texts live as long as the call. */
const char *mcp_arg_text(mcp_call *call, const char *name);
int64_t mcp_arg_int(const mcp_call *call, const char *name, int64_t fallback);
/* The value as ns on the trace's clock. false: it is not there. Errors: ARGUMENT. */
hd_status mcp_arg_time(bool *out_is, int64_t *out, mcp_call *call, const char *name, hd_error *err);
/* A list of texts, ending with NULL; of integers likewise, as texts. NULL: it is not there, or memory ran out. */
const char **mcp_arg_list(mcp_call *call, const char *name);
/* printf into the call's arena; NULL: no memory. */
char *mcp_text(mcp_call *call, const char *format, ...) HD_PRINTF(2, 3);
/* A decoded string at `value`; NULL: no memory, or not UTF-8. */
char *mcp_decode(mcp_call *call, const char *value);

/* Parts that tools share. */
hd_status mcp_run_report(hd_report *out, mcp_call *call, const char *name, const char *const *options, hd_error *err);
/* The tables of `wanted` ("idle:cause,total;gaps"; NULL: all) of a report, and its trust in the head. */
hd_status mcp_add_report(mcp_call *call, const hd_report *report, const char *wanted, hd_error *err);
/* "#r=FROM~UNTIL&id=ID" of heddle view, a cell; id -1: none. */
void mcp_put_view(hd_json_out *json, int64_t start_ns, int64_t from_ns, int64_t duration_ns, int64_t id);
/* The trace's number and how a person opens it. */
void mcp_put_trace(mcp_call *call);

hd_status mcp_tool_open(mcp_call *call, hd_error *err);
hd_status mcp_tool_summary(mcp_call *call, hd_error *err);
hd_status mcp_tool_findings(mcp_call *call, hd_error *err);
hd_status mcp_tool_report(mcp_call *call, hd_error *err);
hd_status mcp_tool_query(mcp_call *call, hd_error *err);
hd_status mcp_tool_timeline(mcp_call *call, hd_error *err);
hd_status mcp_tool_find(mcp_call *call, hd_error *err);
hd_status mcp_tool_explain_idle(mcp_call *call, hd_error *err);
hd_status mcp_tool_stack_of(mcp_call *call, hd_error *err);
hd_status mcp_tool_compare(mcp_call *call, hd_error *err);

/* ---- resources: resources.c ---- */

void mcp_put_resources(hd_json_out *out);
/* Its contents as a result's object; false: there is no such resource. */
bool mcp_put_resource(hd_json_out *out, const char *uri);

typedef struct mcp_doc {
    const char *name;  /* "findings/sync-item" */
    const char *title; /* its first heading */
    const char *text;
    size_t size;
} mcp_doc;
extern const mcp_doc mcp_docs[]; /* made by tools/embed_docs.py; ends with {0} */

#endif
