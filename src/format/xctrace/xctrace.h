/* xctrace.h - XML of `xctrace export`: tables of typed columns, whose values refer to each other by id
 *
 *     file ──> elements (parse.c, with expat) ──> values by id (values.c) ──> rows.c: a row -> an event ──> builder
 *                         └──> schemas (tables.c)                                └──> stacks.c: backtraces
 *
 * In: the text of a file. Out: rows of a builder. Begin with read.c.
 */
#ifndef HD_FORMAT_XCTRACE_XCTRACE_H
#define HD_FORMAT_XCTRACE_XCTRACE_H

#include "base/map.h"
#include "format/format.h"
#include "format/rows_out.h"
#include "heddle/stacks.h"

#define XCTRACE_STAGE "xctrace"

enum { XCTRACE_COLUMNS = 64, XCTRACE_DEPTH = 64, XCTRACE_HOPS = 16 };

/* ---- values ---- */

/* One element of a row. Elements that refer to another have only `ref`. */
typedef struct xctrace_value {
    uint32_t type;        /* its tag, string id */
    uint32_t text;        /* of non-integers: string id */
    uint32_t fmt;         /* how it is shown: string id, where the number does not say it all */
    uint32_t name;        /* attribute `name`, of frames and binaries */
    uint32_t child, next; /* values, + 1 */
    bool has_number, is_null;
    int64_t number;
    uint64_t ref; /* the id of another, 0: none */
} xctrace_value;

typedef struct xctrace_values {
    xctrace_value *list;
    size_t count, capacity;
    hd_map by_id; /* values, + 1 */
} xctrace_values;

/* NULL: a null, or an id that is not there. Valid until a value is added. */
const xctrace_value *xctrace_value_at(const xctrace_values *values, uint32_t index);
/* The first child of a type, likewise. */
const xctrace_value *xctrace_child(const xctrace_values *values, const xctrace_value *value, uint32_t type);

/* ---- tables ---- */

typedef enum xctrace_role {
    XCTRACE_PLAIN,
    XCTRACE_START,
    XCTRACE_DURATION,
    XCTRACE_THREAD,
    XCTRACE_PROCESS,
    XCTRACE_NAME,
    XCTRACE_STACK,
    XCTRACE_KERNEL_STACK,
    XCTRACE_LANE,
    XCTRACE_GPU,
    XCTRACE_COMMAND_BUFFER,
    XCTRACE_ROLES,
} xctrace_role;

typedef enum xctrace_sort {
    XCTRACE_INTERVALS, /* slices of threads, processes or rows of their own */
    XCTRACE_QUEUES,    /* slices of a GPU's channels */
    XCTRACE_LAUNCHES,  /* calls that submit work to a GPU */
    XCTRACE_RANGES,    /* slices that may cross: async */
} xctrace_sort;

typedef struct xctrace_column {
    uint32_t key, type; /* mnemonic, engineering type: string ids */
} xctrace_column;

typedef struct xctrace_table {
    uint32_t name; /* of its schema, string id */
    uint32_t category;
    xctrace_sort sort;
    xctrace_column columns[XCTRACE_COLUMNS];
    uint32_t column_count;
    int of_role[XCTRACE_ROLES]; /* column, -1: none */
} xctrace_table;

typedef struct xctrace_pending {
    uint32_t table, first, count; /* cells */
} xctrace_pending;

typedef struct xctrace_reader {
    hd_builder *builder;
    hd_rows_out out;
    hd_stacks *stacks;
    const hd_read_options *options;
    hd_error *err;
    bool want_args;
    xctrace_values values;
    xctrace_table *tables;
    size_t table_count, table_capacity;
    uint32_t *cells; /* values of the current row, and of rows that wait for values they refer to */
    size_t cell_count, cell_capacity, row_first;
    xctrace_pending *pending;
    size_t pending_count, pending_capacity;
    hd_map stack_nodes; /* by value: node */
    hd_map gpus;        /* by name: number, + 1 */
    hd_map channels;    /* by GPU and name: number, + 1 */
    hd_map named;       /* tracks that have a name */
    hd_map runs;        /* numbers of runs */
    uint64_t rows, ranges;
    struct {
        uint32_t thread, process, pid, tid, addresses, address, backtrace, frame, sf, correlation, unnamed;
    } text; /* string ids */
} xctrace_reader;

hd_status xctrace_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);

/* read.c */
hd_status xctrace_note(xctrace_reader *r, const char *code, hd_ledger_level level, uint64_t offset);

/* parse.c: elements to tables and rows. Damage is reported, and intact data after it is read. */
hd_status xctrace_parse(xctrace_reader *r, hd_input *input);

/* tables.c */
/* Once all of its columns are there. */
void xctrace_settle_table(xctrace_reader *r, xctrace_table *table);

/* rows.c */
/* The event of a row. cells: values + 1, 0 for a null. */
hd_status xctrace_add_row(xctrace_reader *r, const xctrace_table *table, const uint32_t *cells, uint32_t count);

/* stacks.c */
/* The node of a backtrace; `below` is its caller's node. HD_NONE: no memory. */
uint32_t xctrace_stack(xctrace_reader *r, uint32_t below, uint32_t index, hd_frame_kind kind);

#endif
