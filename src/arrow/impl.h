/* impl.h - the parts of the Arrow streams over a trace
 *
 * In: a trace. Out: its tables as Arrow arrays. Begin with stream.c, which walks blocks; tables.c lists the tables,
 * events.c, explode.c and rows.c have their columns, texts.c the dictionaries, array.c makes the structs of Arrow.
 *
 * Every column is first made as int64, one a row: numbers as they are, texts as indices of a dictionary, truth as 0 or
 * 1, doubles by their bits. array.c packs that into what Arrow wants.
 */
#ifndef HD_ARROW_IMPL_H
#define HD_ARROW_IMPL_H

#include "heddle/arrow.h"
#include "model/pattern/pattern.h"

/* ---- texts.c: dictionaries, shared by all arrays that need them ---- */

typedef struct arrow_texts arrow_texts;

/* The strings of a trace in the order of their bytes. `used` (by string id, NULL: all): which are in it. Errors:
 * MEMORY, LIMIT. */
hd_status arrow_texts_of_trace(arrow_texts **out, const hd_trace *trace, const uint8_t *used, hd_error *err);
/* A list of texts. */
typedef hd_string arrow_text_at(const void *user, uint32_t index);
hd_status arrow_texts_of_list(arrow_texts **out, uint32_t count, arrow_text_at *at, const void *user, hd_error *err);
arrow_texts *arrow_texts_keep(arrow_texts *texts);
void arrow_texts_free(arrow_texts *texts); /* one reference; NULL is fine */
/* By id of a string of the trace its index; NULL: the texts are others. */
const uint32_t *arrow_texts_map(const arrow_texts *texts);
/* Errors: ENOMEM. */
int arrow_texts_schema(struct ArrowSchema *out, const char *name, bool nullable, const arrow_texts *texts);
int arrow_texts_array(struct ArrowArray *out, arrow_texts *texts);

/* ---- array.c: 0 or ENOMEM; what was made is released again when they fail ---- */

/* A node whose strings are copied. */
int arrow_schema_init(struct ArrowSchema *out, const char *format, const char *name, bool nullable, size_t children);
/* `buffers` are malloc'ed and belong to the array from now on, also when it fails. */
int arrow_array_init(struct ArrowArray *out, int64_t length, void *const *buffers, size_t buffer_count,
                     size_t children);
/* Which rows are null: where null[i] is not 0. */
int arrow_array_set_null(struct ArrowArray *array, const uint8_t *null);
/* Keeps the owner of an array's buffers: `release` is called with `user` when the array is released. */
void arrow_array_borrow(struct ArrowArray *array, size_t buffer, const void *data, void (*release)(void *user),
                        void *user);

/* A column of `count` rows: values where null[i] is 0; null NULL: none is null. format: 'l', 'L', 't', 'i' or 'u' (an
 * int32 index of `texts`), 'g', 'b'. */
int arrow_column_array(struct ArrowArray *out, char format, const int64_t *values, const uint8_t *null, uint32_t count,
                       arrow_texts *texts);

/* ---- fields: how a column is made ---- */

typedef struct arrow_stream arrow_stream;

/* An argument of an event. */
typedef struct arrow_value {
    int64_t bits;
    uint32_t key; /* string id */
    uint8_t scope;
    uint8_t type; /* hd_arg_type */
    bool is_none; /* the row of an event without arguments */
} arrow_value;

/* The rows of a batch. */
typedef struct arrow_rows {
    arrow_stream *stream;
    const hd_block *block; /* of events; NULL: rows [first, first + count) of a list */
    uint64_t first;
    uint32_t count;
    const uint32_t *rows;             /* of the block, `count` of them; NULL: all */
    const struct arrow_value *values; /* arguments and series, likewise */
    bool has_null;                    /* nulls come from stream->null, not from the field's `null` value */
} arrow_rows;

typedef enum arrow_dictionary {
    ARROW_STRINGS, /* of the trace */
    ARROW_PHASES,
    ARROW_OWN, /* stream->own: made by `open` of the table */
    ARROW_WORDS,
} arrow_dictionary;

typedef struct arrow_field {
    const char *name;
    void (*make)(arrow_rows *rows, int64_t *out); /* NULL: the column is copied unchanged */
    hd_column_id column;
    int64_t null; /* the value that means null; columns without nulls have ARROW_NEVER */
    arrow_dictionary dictionary;
    const char *const *words; /* ARROW_WORDS; ends with NULL */
} arrow_field;

#define ARROW_NEVER (INT64_MIN + 1)
#define ARROW_NULL_DOUBLE INT64_C(0x7ff8dead00000001) /* bits of a NaN that no calculation gives */

typedef enum arrow_walk {
    ARROW_EVENTS,  /* a row an event */
    ARROW_EXPLODE, /* a row an argument or series */
    ARROW_ROWS,    /* a list: `count` rows */
} arrow_walk;

typedef struct arrow_table {
    hd_arrow_table about;
    arrow_walk walk;
    hd_kind first_kind, last_kind;
    const arrow_field *fields;                           /* besides those of all events; NULL: none */
    hd_status (*open)(arrow_stream *stream, hd_error *); /* NULL: nothing to do */
    uint64_t (*count)(const arrow_stream *stream);       /* ARROW_ROWS */
} arrow_table;

const arrow_table *arrow_table_at(size_t index); /* tables.c; NULL beyond the last */

extern const arrow_field arrow_event_fields[]; /* events.c; ends with {0} */
extern const arrow_field arrow_slice_fields[], arrow_flow_fields[], arrow_sample_fields[];
hd_status arrow_open_slices(arrow_stream *stream, hd_error *err);
hd_status arrow_open_flows(arrow_stream *stream, hd_error *err);
hd_status arrow_open_samples(arrow_stream *stream, hd_error *err);

extern const arrow_field arrow_counter_fields[], arrow_arg_fields[]; /* values.c */
hd_status arrow_open_args(arrow_stream *stream, hd_error *err);

extern const arrow_field arrow_track_fields[], arrow_string_fields[], arrow_ledger_fields[]; /* rows.c */
extern const arrow_field arrow_metadata_fields[], arrow_stack_fields[], arrow_launch_fields[];
uint64_t arrow_count_tracks(const arrow_stream *stream);
uint64_t arrow_count_strings(const arrow_stream *stream);
uint64_t arrow_count_ledger(const arrow_stream *stream);
uint64_t arrow_count_metadata(const arrow_stream *stream);
uint64_t arrow_count_stacks(const arrow_stream *stream);
uint64_t arrow_count_launches(const arrow_stream *stream);
hd_status arrow_open_strings(arrow_stream *stream, hd_error *err);
hd_status arrow_open_ledger(arrow_stream *stream, hd_error *err);
hd_status arrow_open_stacks(arrow_stream *stream, hd_error *err);
hd_status arrow_open_launches(arrow_stream *stream, hd_error *err); /* launches.c */

/* ---- a stream ---- */

typedef struct arrow_column {
    const arrow_field *field;
    const char *format;
    const char *name;
    arrow_texts *texts; /* NULL: no text */
} arrow_column;

/* The options of a table: everything its columns need besides the trace. */
typedef struct arrow_side {
    void *data;
    void (*free)(void *data);
} arrow_side;

/* Which events are wanted. */
typedef struct arrow_filter {
    bool has_start, has_end;
    int64_t start_ns, end_ns;
    filter_list names;
    uint8_t *name_passes;  /* by string: 0 not known yet, 1 no, 2 yes; NULL: all pass */
    uint8_t *track_passes; /* by track, that of no track last; NULL: all pass */
} arrow_filter;

struct arrow_stream {
    const hd_trace *trace;
    const arrow_table *table;
    arrow_column *columns;
    size_t column_count;
    arrow_filter filter;
    int64_t *ranks;     /* by track, that of no track last: HD_NO_NUMBER if unknown */
    arrow_texts *own;   /* see ARROW_OWN */
    arrow_side side[3]; /* of `open` */
    /* where it is */
    hd_kind kind;
    size_t block;
    uint64_t row;                      /* of a list */
    struct arrow_explosion *explosion; /* explode.c: of a block; NULL: none yet */
    /* for one batch */
    int64_t *values, *scratch[3];
    uint8_t *null;
    uint32_t *rows;
    void (*release)(void *user);
    void (*keep)(void *user);
    void *user;
    hd_error err;
};

/* filter.c */
hd_status arrow_filter_init(arrow_filter *out, const hd_trace *trace, const hd_arrow_options *options, hd_error *err);
void arrow_filter_deinit(arrow_filter *filter);
bool arrow_filter_takes_block(const arrow_filter *filter, const hd_block *block);
/* Fills rows with those of the block that pass; false: all do, and nothing was filled. */
bool arrow_filter_rows(uint32_t *rows, uint32_t *out_count, arrow_stream *stream, const hd_block *block);

/* explode.c: the next rows of a block, at most HD_BLOCK_ROWS, arguments key by key, so that equal values are adjacent.
 * out->count 0: the block has no more. */
hd_status arrow_explode(arrow_rows *out, arrow_stream *stream, const hd_block *block, hd_error *err);
void arrow_explosion_free(struct arrow_explosion *explosion);

/* Whether the caller wants a column of that name. */
bool arrow_wants(const arrow_stream *stream, const char *name);
/* A column of the block, decoded into scratch[slot]. */
const int64_t *arrow_look(const arrow_rows *rows, unsigned slot, hd_column_id column);
static inline uint32_t arrow_row(const arrow_rows *rows, uint32_t i)
{
    return rows->rows ? rows->rows[i] : i;
}

#endif
