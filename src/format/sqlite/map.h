/* map.h - maps rows of an SQLite file's tables to events of a trace, by tables of tables and columns
 *
 * A mapping lists the tables with events, and the roles of their columns; functions compute the rest: the track of a
 * row, its name. All tables are accounted for: those of events row by row (a row is an event, or is counted as lost by
 * reason), lookup tables, tables kept as metadata, and unknown tables, which become events by their columns' names if
 * they have times.
 *
 * Several threads read the leaves of a table's b-tree, each with a cursor and a batch of its own; the results are
 * appended in order. Read read.c first, then row.c.
 */
#ifndef HD_FORMAT_SQLITE_MAP_H
#define HD_FORMAT_SQLITE_MAP_H

#include "base/json/write.h"
#include "base/map.h"
#include "format/format.h"
#include "format/sqlite/sqlite.h"
#include "heddle/stacks.h"

/* ---- mappings ---- */

/* The role of a column. From SQ_FIELD on: a field of the format's own, available by sq_field; it is not an argument. */
typedef enum sq_role {
    SQ_ARG,    /* an argument as it is */
    SQ_STRING, /* an argument: the text with that id among the strings */
    SQ_LABEL,  /* an argument: the name with that id in the table `labels` */
    SQ_NAME,   /* the event's: a text, or the id of one among the strings */
    SQ_EXTRA,  /* an argument, unless it is "{}" */
    SQ_SKIP,
    SQ_START,
    SQ_END,
    SQ_DURATION,
    SQ_FIELD,
} sq_role;
enum { SQ_FIELDS = 24, SQ_ITEMS = 160, SQ_LOSSES = 8, SQ_LABEL_TABLES = 16 };

typedef struct sq_map_column {
    const char *name;
    int role;        /* sq_role, or SQ_FIELD and up */
    const char *key; /* of an argument; NULL: the column's name */
    const char *labels;
} sq_map_column;

typedef struct sq_worker sq_worker;
typedef struct sq_reader sq_reader;

/* Completes a row: track, name, further arguments. NULL: fine, else the ledger code with which the row is lost;
 * SQ_PLACED: the row was added as other events, or is to be dropped. */
typedef const char *sq_place(sq_worker *worker);
extern const char SQ_PLACED[];

typedef struct sq_map_table {
    const char *name;
    const char *category; /* NULL: the name of the table */
    hd_kind kind;
    char phase;
    const sq_map_column *columns; /* before those of all tables; ends with a NULL name; may be NULL */
    sq_place *place;
} sq_map_table;

typedef struct hd_sql_mapping {
    const char *const *tells;     /* tables that only files of this format have; ends with NULL */
    const sq_map_table *tables;   /* in the order in which they are read; ends with a NULL name */
    const sq_map_column *columns; /* of all tables */
    const char *const *looked_up; /* lookup tables, whose rows are not events; "X*": prefix; NULL */
    const sq_map_table *others;   /* how unknown tables with times are mapped; name NULL */
    /* The scope of a table whose ids differ from those of similar tables; NULL: 0 for all. Ids of strings, of lookups
     * and their keys are of the row's scope. */
    uint64_t (*scope)(const sq_reader *reader, const sq_table *table);
    void (*take_times)(sq_worker *worker);                 /* for rows whose times are not columns; may be NULL */
    size_t state_size, worker_size;                        /* zeroed memory for `state` and `own` */
    hd_status (*begin)(sq_reader *reader, hd_error *err);  /* before events: reads strings, and lookup tables */
    hd_status (*finish)(sq_reader *reader, hd_error *err); /* after them: names of tracks, facts */
    void (*deinit)(sq_reader *reader);
} hd_sql_mapping;

/* The reader of all such formats: the first that has such a table. *out_format is that. */
hd_status sq_read(const hd_format **out_format, hd_builder *builder, hd_input *input, const hd_read_options *options,
                  hd_error *err);
int sq_sniff(const unsigned char *head, size_t size);

/* ---- what is looked up: lookup.c ---- */

/* The text (string id of the builder) of each id of a table, HD_STRING_NONE: none. Zero-initialised is empty. */
typedef struct sq_strings {
    hd_map map;
} sq_strings;
hd_status sq_strings_read(sq_strings *out, sq_reader *reader, const char *table, const char *id, const char *text,
                          hd_error *err);
static inline uint32_t sq_strings_in(const sq_strings *strings, int64_t id, uint64_t scope)
{
    uint32_t text = HD_STRING_NONE;
    hd_map_get(&text, &strings->map, (uint64_t)id, scope);
    return text;
}
static inline uint32_t sq_strings_at(const sq_strings *strings, int64_t id)
{
    return sq_strings_in(strings, id, 0);
}
/* Patterns of table names: "X*" is every name with that prefix, "X#" is X and X_GUID. All functions below accept
 * them. */
bool sq_name_is(const char *pattern, const char *name);

/* Columns of a table of call-chain frames. `depth` 0 is the innermost; rows of one id are adjacent. kernel_mode is 1
 * for frames of the operating system; "": no such column. */
typedef struct sq_chain_table {
    const char *table, *id, *depth, *frame, *kernel_mode;
    hd_frame_kind kind;
} sq_chain_table;
/* Node of the reader's stacks by id and scope; frames are called as `names` says. */
hd_status sq_chains_read(hd_map *out, sq_reader *reader, const sq_chain_table *chains, const sq_strings *names,
                         hd_error *err);

/* The metadata `deviceProperties` in Kineto's form: of each row id, name, totalGlobalMem, computeMajor, computeMinor,
 * numSms by the columns of these names, and the last is the kind, if it may be "CPU"; "": no such column. */
enum { SQ_DEVICE_COLUMNS = 7 };
hd_status sq_devices_to_metadata(sq_reader *reader, const char *table, const char *const columns[SQ_DEVICE_COLUMNS + 1],
                                 hd_error *err);

/* An argument of a row. */
typedef struct sq_item {
    uint32_t key;
    uint8_t type;
    int64_t bits;
} sq_item;
/* Names and arguments in other tables, by a number that rows refer to. A number may have several rows, and differs
 * between scopes. Zero-initialised is empty. */
typedef struct sq_side {
    hd_map map; /* number, scope -> its first row + 1 */
    struct sq_side_row {
        uint32_t first, count; /* items */
        uint32_t name;         /* string id */
        uint32_t next;         /* row of the number + 1 */
        uint32_t last;         /* of the first row of a number: its last + 1 */
    } * rows;
    sq_item *items;
    size_t row_count, row_capacity, item_count, item_capacity;
} sq_side;
/* No effect if there is no such table. columns: as of a map table, except SQ_START …. */
hd_status sq_side_read(sq_side *out, sq_reader *reader, const char *table, const char *number,
                       const sq_map_column *columns, hd_error *err);
/* The same for a table whose rows have the key of an argument (a text, or its id among `keys`) and its value. */
hd_status sq_side_read_pairs(sq_side *out, sq_reader *reader, const char *table, const char *number,
                             const sq_strings *keys, const char *key, const char *value, hd_error *err);
/* The same, but values of one number and key are summed. */
hd_status sq_side_read_sums(sq_side *out, sq_reader *reader, const char *table, const char *number,
                            const sq_strings *keys, const char *key, const char *value, hd_error *err);
void sq_side_deinit(sq_side *side);
/* A number's rows in order: the first, and the end; NULL: none. */
const struct sq_side_row *sq_side_first(const sq_side *side, int64_t number, uint64_t scope);
static inline const struct sq_side_row *sq_side_next(const sq_side *side, const struct sq_side_row *row)
{
    return row->next ? &side->rows[row->next - 1] : NULL;
}
/* Adds name and items of all rows of a number to the worker's row; false: none. */
bool sq_side_add(sq_worker *worker, const sq_side *side, int64_t number);

/* Calls `see` for each row of a table with a cursor; `columns` are its indices, -1: none. No effect if there is no such
 * table. Ends with NULL: names. */
typedef hd_status sq_see(void *user, const sq_value *const *values, hd_error *err);
hd_status sq_each(sq_reader *reader, const char *table, const char *const *columns, sq_see *see, void *user,
                  hd_error *err);
/* The same for tables that are read again as events or metadata, or have been; by the cursor's own values. */
hd_status sq_again(sq_reader *reader, const char *table, const char *const *columns, sq_see *see, void *user,
                   hd_error *err);
hd_status sq_table_twice(sq_reader *reader, const sq_table *table, hd_status (*see)(void *user, hd_error *err),
                         void *user, hd_error *err);
/* A table as JSON, under `key` among the metadata; *out_fits: unless that is more than 1 MiB. */
hd_status sq_table_to_metadata(bool *out_fits, sq_reader *reader, const sq_table *table, const char *key,
                               hd_error *err);

/* ---- the state of reading ---- */

typedef struct sq_track {
    uint32_t track;
    int64_t numbers[4]; /* of the format's own */
} sq_track;

struct sq_reader {
    const hd_format *format;
    const hd_sql_mapping *mapping;
    sq_file *file;
    hd_builder *builder;
    const hd_read_options *options;
    void *state; /* of the format */
    sq_strings strings;
    struct sq_labels {
        const char *table;
        sq_strings strings;
    } labels[SQ_LABEL_TABLES];
    uint8_t *used; /* by table: was read */
    uint32_t sf;   /* string id */
    hd_stacks *stacks;
    sq_worker *workers;
    unsigned worker_count;
    sq_damage damage;
    uint64_t text_repairs, arguments_lost, texts_missing;
    const char *refused; /* the fault that --strict reports: the first loss or repair, preferably one with a place */
    uint64_t refused_offset;
    uint64_t rows, events, lost, placed; /* of tables of events: rows = events + lost + placed */
    uint64_t done, total;                /* leaves, for the progress */
};

/* A compiled map table. */
typedef struct sq_plan {
    const sq_map_table *map;
    const sq_table *table;
    uint32_t category;
    int roles[SQ_COLUMN_LIMIT];
    uint32_t keys[SQ_COLUMN_LIMIT];
    const sq_strings *labels[SQ_COLUMN_LIMIT]; /* of SQ_LABEL */
    uint64_t scope;
    bool has_times;
} sq_plan;

typedef struct sq_shape {
    uint64_t hash;
    uint32_t shape, count, has_sf;
    hd_arg_key *keys;
} sq_shape;

typedef struct sq_loss {
    const char *code;
    uint64_t count;
} sq_loss;

enum { SQ_SHAPE_SLOTS = 256 };
struct sq_worker {
    sq_reader *reader;
    const sq_plan *plan;
    void *own; /* of the format */
    hd_batch *batch;
    sq_cursor cursor;
    uint64_t scope; /* of the table in hand */
    /* the row in hand */
    hd_row row;
    const sq_value *fields[SQ_FIELDS];
    int64_t end;
    sq_item items[SQ_ITEMS];
    uint32_t item_count;
    uint32_t sf; /* node of its stack */
    /* across rows */
    sq_shape shapes[SQ_SHAPE_SLOTS];
    sq_track spare;
    hd_map track_index; /* numbers -> index in tracks */
    sq_track *tracks;
    size_t track_count, track_capacity;
    sq_loss losses[SQ_LOSSES];
    hd_bytes text;
    uint64_t text_repairs, arguments_lost, texts_missing, rows, events, lost, placed;
};

/* ---- for the functions of formats: row.c ---- */

/* A field as a number, also out of text ("1736410576395167660"); HD_NO_NUMBER: there is none. */
int64_t sq_field(const sq_worker *worker, int field);
int64_t sq_value_number(const sq_value *value);
/* The string id of a text, repaired if it is invalid UTF-8; HD_STRING_NONE: not a text. */
uint32_t sq_value_text(sq_worker *worker, const sq_value *value);
uint32_t sq_field_text(sq_worker *worker, int field);
/* The text of a field that is an id among the strings; HD_STRING_NONE: it is none, or, which is counted as a loss, the
 * strings lack it. */
uint32_t sq_field_string_of(sq_worker *w, const sq_strings *strings, int field); /* the same of other strings */
uint32_t sq_field_string(sq_worker *worker, int field);
void sq_add(sq_worker *worker, uint32_t key, hd_arg_type type, int64_t bits);
void sq_add_real(sq_worker *worker, uint32_t key, double value);
/* A value as it is; labels: texts by number, or NULL. */
void sq_add_value(sq_worker *worker, uint32_t key, const sq_strings *labels, const sq_value *value);
/* A field as an argument, if it is a number. */
void sq_add_field(sq_worker *worker, const char *key, int field);
/* The same of a field that may be text or have a fraction; text that is not a number is one. */
void sq_add_number(sq_worker *worker, uint32_t key, int field);
/* "[x,y,z]" under the key, if all three are there. */
void sq_add_three(sq_worker *worker, uint32_t key, const int64_t numbers[3]);
void sq_add_triple(sq_worker *worker, uint32_t key, int x, int y, int z);
/* The track with these two numbers as key, or a new entry with track HD_NONE, which the caller completes; never NULL.
 * The builder remembers when memory ran out. */
sq_track *sq_track_at(sq_worker *worker, uint64_t a, uint64_t b);
hd_ident sq_number_ident(hd_builder *builder, int64_t value);
hd_ident sq_text_ident(hd_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint32_t sq_intern(hd_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the current row unchanged; for one more event of a row. The builder remembers when memory ran out. */
void sq_emit(sq_worker *worker);
/* A point of a flow at the start of the current row, bound to the enclosing slice. category: also its name. */
void sq_emit_flow(sq_worker *worker, char phase, uint32_t category, int64_t id);

/* row.c, for read.c and lookup.c */
hd_status sq_plan_init(sq_plan *plan, sq_reader *reader, const sq_map_table *map, const sq_table *table,
                       const sq_map_column *common, hd_error *err);
void sq_add_pair(sq_worker *worker, const sq_strings *keys, const sq_value *key, const sq_value *value);
uint64_t sq_scope_of(const sq_reader *reader, const sq_table *table);
void sq_worker_take_row(sq_worker *worker, const sq_plan *plan);
hd_status sq_worker_row(sq_worker *worker, hd_error *err);

#endif
