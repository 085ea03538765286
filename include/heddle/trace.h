/* trace.h - the trace: immutable columns of events on tracks, strings, shapes, metadata, ledger
 *
 * A trace comes from a reader (format.h) or a builder (builder.h) and never changes. Any thread may read it
 * without locks. Everything borrowed from it lives until hd_trace_free().
 *
 * Events are in one table per kind. A table is a list of blocks of at most HD_BLOCK_ROWS rows, each block
 * complete in itself: its columns, and its argument values grouped by shape. All columns are integers:
 * times in nanoseconds on the trace's clock, ids of strings, tracks and shapes, packed decimals.
 */
#ifndef HEDDLE_TRACE_H
#define HEDDLE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HD_BLOCK_ROWS = 65536 };

#define HD_NO_TIME INT64_MIN   /* the event has no time, or the slice no duration (never closed, or not given) */
#define HD_NONE UINT32_MAX     /* no track, no parent, no shape … */
#define HD_STRING_NONE 0u      /* string id: the key was absent. "" has an id of its own */
#define HD_NO_NUMBER INT64_MIN /* no sort index, device, stream or rank was given */
#define HD_NO_CORRELATION (-1) /* no correlation id was given; some producers write 0 for none */

typedef struct hd_trace hd_trace;

/* ---- kinds and columns ---- */

typedef enum hd_kind {
    HD_KIND_SLICE,   /* a complete slice, or the beginning of one (phase 'B'), with its end's time filled in */
    HD_KIND_END,     /* the end event of a begin/end pair; partner is the slice's row */
    HD_KIND_INSTANT, /* something at one time */
    HD_KIND_COUNTER, /* samples of counters: each argument is a series */
    HD_KIND_FLOW,    /* a point of a flow: phase s, t or f */
    HD_KIND_ASYNC,   /* a point of an async slice */
    HD_KIND_SAMPLE,  /* a stack sample */
    HD_KIND_OBJECT,  /* object created, snapshot, destroyed */
    HD_KIND_META,    /* names and order of tracks, as events */
    HD_KIND_OTHER,   /* events of no other kind, kept whole */
    HD_KIND_COUNT
} hd_kind;

/* "slice", "end", … Static. */
const char *hd_kind_name(hd_kind kind);

typedef enum hd_column_id {
    HD_COL_START,       /* ns, floored; HD_NO_TIME: none */
    HD_COL_DURATION,    /* ns: floored end minus floored start; HD_NO_TIME: none */
    HD_COL_TRACK,       /* index into the tracks */
    HD_COL_NAME,        /* string id */
    HD_COL_CATEGORY,    /* string id */
    HD_COL_PHASE,       /* the Chrome phase character, and HD_FLAG_… above it */
    HD_COL_SHAPE,       /* shape id of the arguments; 0 is the empty shape */
    HD_COL_ARGS_ROW,    /* row in the block's argument group of that shape */
    HD_COL_ID,          /* flow, async, object id: the integer, or a string id; see HD_COL_ID_TYPE */
    HD_COL_ID_TYPE,     /* hd_id_type */
    HD_COL_START_PS,    /* the start below the nanosecond: hd_below_ns(), 0…999 if nothing is finer than 1 ps */
    HD_COL_END_PS,      /* the same of the end */
    HD_COL_PARTNER,     /* slice 'B': row of its end, END: row of its slice; -1 none */
    HD_COL_SOURCE,      /* byte offset of the event in the (decompressed) input, if requested */
    HD_COL_SOURCE_SIZE, /* bytes of it */
    HD_COL_CORRELATION, /* slices, instants, samples: the id that an API call and its GPU activities share within a
                           process, or HD_NO_CORRELATION; from the argument hd_shape.correlation */
    HD_COL_COUNT
} hd_column_id;

/* Fractions of a picosecond are counted in 10^-15 ps. The columns store picoseconds + 1000 * finer. */
#define HD_FINER_PER_PS INT64_C(1000000000000000)
static inline uint32_t hd_below_ps(int64_t column)
{
    return (uint32_t)(column % 1000);
}
/* 0 … 10^18 - 1, in 10^-15 ps: larger is later. */
static inline int64_t hd_below_ns(int64_t column)
{
    return column % 1000 * HD_FINER_PER_PS + column / 1000;
}

enum {
    HD_PHASE_MASK = 0xff,
    HD_FLAG_BIND_ENCLOSING = 0x100, /* flow with bp:"e" */
};

typedef enum hd_id_type {
    HD_ID_NONE,
    HD_ID_INT,    /* HD_COL_ID is the integer */
    HD_ID_STRING, /* HD_COL_ID is a string id */
    HD_ID_NUMBER, /* HD_COL_ID is the string id of a number that is not a canonical int64 */
    HD_ID_VALUE_MASK = 3,
    HD_ID_LOCAL = 4,  /* or-ed in: from id2.local */
    HD_ID_GLOBAL = 8, /* or-ed in: from id2.global */
} hd_id_type;

/* A column of a block: value i = base + the unsigned `width`-byte little-endian integer i of data. Width 0: every value
 * is base. Arithmetic wraps, so that the full int64 range fits. */
typedef struct hd_column {
    int64_t base;
    const void *data;
    uint32_t width; /* 0, 1, 2, 4 or 8 */
} hd_column;

static inline int64_t hd_column_at(const hd_column *column, uint32_t row)
{
    uint64_t delta = 0;
    switch (column->width) {
    case 1: delta = ((const uint8_t *)column->data)[row]; break;
    case 2: delta = ((const uint16_t *)column->data)[row]; break;
    case 4: delta = ((const uint32_t *)column->data)[row]; break;
    case 8: delta = ((const uint64_t *)column->data)[row]; break;
    default: break;
    }
    return (int64_t)((uint64_t)column->base + delta);
}

/* Rows [first, first + count) as int64, for loops over whole blocks. */
void hd_column_decode(int64_t *out, const hd_column *column, uint32_t first, uint32_t count);

/* The argument values of all rows of a block that share a shape; one column per key of the shape. */
typedef struct hd_arg_group {
    uint32_t shape;
    uint32_t row_count;
    const hd_column *columns;
} hd_arg_group;

typedef struct hd_block {
    hd_kind kind;
    uint32_t row_count;
    uint64_t first_row; /* row number of row 0 in the table */
    int64_t start_ns;   /* smallest start, HD_NO_TIME if no row has one */
    int64_t end_ns;     /* largest start or end, likewise */
    hd_column columns[HD_COL_COUNT];
    uint32_t group_count;
    const hd_arg_group *groups; /* by ascending shape id; shapes without keys have no group */
} hd_block;

uint64_t hd_trace_row_count(const hd_trace *trace, hd_kind kind);
uint64_t hd_trace_event_count(const hd_trace *trace); /* all kinds */
size_t hd_trace_block_count(const hd_trace *trace, hd_kind kind);
const hd_block *hd_trace_block_at(const hd_trace *trace, hd_kind kind, size_t index);
/* The block that contains a row of the table; *out_row is the row within it. row < hd_trace_row_count(). */
const hd_block *hd_trace_block_of(uint32_t *out_row, const hd_trace *trace, hd_kind kind, uint64_t row);

/* The order of the events in the input: runs of kinds, one byte (hd_kind) per event. All runs together have
 * hd_trace_event_count() events; the n-th SLICE byte is row n of the slice table, and so on. */
size_t hd_trace_order_count(const hd_trace *trace);
const uint8_t *hd_trace_order_at(size_t *out_count, const hd_trace *trace, size_t index);

/* One row, decoded. For single events; loops should decode columns. */
typedef struct hd_event {
    hd_kind kind;
    uint64_t row;
    int64_t start_ns, duration_ns;
    uint32_t start_ps, end_ps;       /* 0…999 */
    uint64_t start_finer, end_finer; /* below that, in 1 / HD_FINER_PER_PS */
    uint32_t track, name, category;
    char phase;
    uint32_t flags;
    uint32_t id_type;
    int64_t id;
    int64_t partner;
    uint64_t source_offset;
    uint32_t source_size;
    uint32_t shape;
    const hd_arg_group *args; /* NULL: the shape has no keys */
    uint32_t args_row;
    int64_t correlation;
} hd_event;

/* The arguments of the rows of a shape; NULL: no row has it, or it has no keys. */
const hd_arg_group *hd_block_group(const hd_block *block, uint32_t shape);

void hd_block_event(hd_event *out, const hd_block *block, uint32_t row);

/* ---- strings ---- */

typedef struct hd_string {
    const char *data; /* UTF-8, may hold NUL; not terminated */
    size_t size;
} hd_string;

/* The text of a string id; HD_STRING_NONE and unknown ids give {"", 0}. */
hd_string hd_trace_string(const hd_trace *trace, uint32_t id);
uint32_t hd_trace_string_count(const hd_trace *trace);
/* The id of a text, or HD_NONE if the trace does not have it: then no name, category or key equals it. */
uint32_t hd_trace_find_string(const hd_trace *trace, const char *data, size_t size);

/* ---- shapes and argument values ---- */

typedef enum hd_arg_type {
    HD_ARG_NULL,    /* null; the column has no value */
    HD_ARG_BOOL,    /* 0 or 1 */
    HD_ARG_INT,     /* int64 */
    HD_ARG_DECIMAL, /* hd_decimal_…: digits and scale, exact */
    HD_ARG_NUMBER,  /* string id of a number's text that is neither of the above: 1e-9, 18446744073709551615 */
    HD_ARG_STRING,  /* string id */
    HD_ARG_JSON,    /* string id of the text of an object or array */
} hd_arg_type;

typedef enum hd_arg_scope {
    HD_SCOPE_ARGS,  /* a key of the event's `args` */
    HD_SCOPE_EVENT, /* a key of the event itself that has no column: tts, cname, s … */
} hd_arg_scope;

typedef struct hd_arg_key {
    uint32_t key;  /* string id */
    uint8_t type;  /* hd_arg_type */
    uint8_t scope; /* hd_arg_scope */
    uint16_t reserved;
} hd_arg_key;

typedef struct hd_shape {
    uint32_t key_count;
    bool has_args;          /* the event had an `args` object, maybe an empty one */
    const hd_arg_key *keys; /* in the order of the input; a key may occur twice */
    int32_t correlation;    /* index of the key whose values are correlation ids, -1: none */
} hd_shape;

uint32_t hd_trace_shape_count(const hd_trace *trace);
const hd_shape *hd_trace_shape_at(const hd_trace *trace, uint32_t shape);
/* Index of the last argument named `key` (a string id) in the scope, or -1. */
int hd_shape_find(const hd_shape *shape, uint32_t key, hd_arg_scope scope);

/* Decimals keep every digit that was written: 12.500 is {12500, 3}. |mantissa| < 2^58, scale 0…31. */
static inline int64_t hd_decimal_pack(int64_t mantissa, unsigned scale)
{
    return (int64_t)((uint64_t)mantissa << 5 | (scale & 31));
}
static inline int64_t hd_decimal_mantissa(int64_t packed)
{
    return (packed - (packed & 31)) / 32;
}
static inline unsigned hd_decimal_scale(int64_t packed)
{
    return (unsigned)(packed & 31);
}
double hd_decimal_double(int64_t packed);

typedef struct hd_value {
    hd_arg_type type;
    int64_t bits; /* as the type says */
} hd_value;

/* The value of an event's argument; false if it has none of that name. */
bool hd_event_arg(hd_value *out, const hd_trace *trace, const hd_event *event, uint32_t key);
/* The same as an integer, from any number that is whole, or the text of one. */
bool hd_event_arg_int(int64_t *out, const hd_trace *trace, const hd_event *event, uint32_t key);
/* A number or numeric string as a double. */
bool hd_value_double(double *out, const hd_trace *trace, hd_value value);

/* ---- tracks ---- */

typedef enum hd_track_kind {
    HD_TRACK_PROCESS,
    HD_TRACK_THREAD, /* a CPU thread, or any track of slices of unknown type */
    HD_TRACK_STREAM, /* a GPU queue */
} hd_track_kind;

/* A pid or tid as the input had it. */
typedef enum hd_ident_type { HD_IDENT_NONE, HD_IDENT_NUMBER, HD_IDENT_STRING } hd_ident_type;
typedef struct hd_ident {
    hd_ident_type type;
    uint32_t text; /* string id of the number's text or of the string */
} hd_ident;

typedef struct hd_track {
    uint32_t id;     /* its index */
    uint32_t parent; /* track index of the process, HD_NONE for a process */
    hd_track_kind kind;
    hd_ident pid, tid; /* tid.type is HD_IDENT_NONE for a process */
    uint32_t same_as;  /* lowest track whose pid and tid read the same with another type ("7" and 7), or itself */
    uint32_t name;     /* string id */
    uint32_t labels;   /* string id, processes only */
    int64_t sort_index, device, stream, rank; /* HD_NO_NUMBER: unknown */
    uint64_t rows[HD_KIND_COUNT];             /* events on it */
    int64_t start_ns, end_ns;                 /* span of its slices, HD_NO_TIME if none */
} hd_track;

uint32_t hd_trace_track_count(const hd_trace *trace);
const hd_track *hd_trace_track_at(const hd_trace *trace, uint32_t index);

/* ---- metadata, ledger, facts ---- */

/* A top-level key of the input, in its order. */
typedef struct hd_metadata {
    uint32_t key;      /* string id */
    uint32_t value;    /* string id: JSON text */
    bool after_events; /* was after the events */
} hd_metadata;

size_t hd_trace_metadata_count(const hd_trace *trace);
const hd_metadata *hd_trace_metadata_at(const hd_trace *trace, size_t index);
/* The JSON text of a top-level key, {"", 0} if absent. */
hd_string hd_trace_metadata_find(const hd_trace *trace, const char *key);

typedef enum hd_ledger_level {
    HD_LEDGER_NOTE,   /* the input is healthy: how it was read, or a field that a trace cannot store */
    HD_LEDGER_REPAIR, /* damage was repaired; the meaning is unchanged */
    HD_LEDGER_LOSS,   /* an event, or a part of one, is not in the trace */
} hd_ledger_level;

typedef struct hd_ledger_row {
    const char *stage; /* "input", "chrome", "builder" … */
    const char *code;  /* stable: "json.bare_nan", "chrome.event-lost" … */
    hd_ledger_level level;
    uint64_t count;
    uint64_t first_offset; /* byte offset of the first, or HD_OFFSET_NONE */
    uint32_t detail;       /* string id: the first occurrence in words, HD_STRING_NONE if the code says it all */
    uint64_t lost_events;  /* of writing: how many of `count` are whole events missing from the output */
} hd_ledger_row;

size_t hd_trace_ledger_count(const hd_trace *trace);
const hd_ledger_row *hd_trace_ledger_at(const hd_trace *trace, size_t index);

typedef struct hd_trace_facts {
    const char *format;       /* "chrome" */
    const char *compression;  /* "none", "gzip", "zstd" */
    uint64_t stored_bytes;    /* size of the input as stored, 0 unknown */
    uint64_t input_bytes;     /* decompressed */
    int64_t start_ns, end_ns; /* span of all timed events, HD_NO_TIME if none. Events at or below 0 in a trace with much
                                 later times (Kineto's Record Window End) do not count */
    int64_t base_ns;          /* Unix time of the clock's zero, 0 if the times are themselves Unix time, or
                                 HD_NO_TIME if unknown */
    int64_t rank;             /* HD_NO_NUMBER: unknown */
    int64_t world_size;       /* likewise */
    bool has_sources;         /* HD_COL_SOURCE is filled */
    bool has_args;            /* arguments were read */
    bool top_level_array;     /* Chrome JSON without an enclosing object */
    bool needs_rewrite;       /* the input is not one document: patches cannot make it valid */
    /* Of a store: the input that it was made from. input_bytes is the decompressed size of that input. */
    const char *origin;             /* its format, NULL if the input is not a store */
    const char *origin_compression; /* NULL likewise */
    uint64_t origin_stored_bytes;   /* 0: unknown */
} hd_trace_facts;

const hd_trace_facts *hd_trace_facts_of(const hd_trace *trace);
/* Whether that is the format of the input or, for a store, of the store's own input. */
bool hd_trace_is_made_from(const hd_trace *trace, const char *format);

/* Places where the reader had to change the input's text to parse it; only if sources were requested. Ascending. */
typedef struct hd_source_patch {
    uint64_t offset;
    uint64_t size; /* input bytes replaced, may be 0 */
    uint32_t text; /* string id of the replacement, HD_STRING_NONE: nothing */
} hd_source_patch;

size_t hd_trace_patch_count(const hd_trace *trace);
const hd_source_patch *hd_trace_patch_at(const hd_trace *trace, size_t index);

/* Of a trace that was read with hd_read_options.lazy: IO once data was used that the file no longer contains, because
 * it changed or its disk is gone; MEMORY once there was none for a block. Results since then are wrong, and what a
 * second walk over the events met differs from what the first one did. Else HD_OK. */
hd_status hd_trace_input_status(const hd_trace *trace, hd_error *err);

/* Number of its blocks (of events, and of their order) that could not be read when they were used: they are damaged, or
 * memory ran out. Their events exist, without time, track, name and arguments. */
uint64_t hd_trace_unloaded(const hd_trace *trace);

/* Puts traces on one clock, as hd_convert does with the ranks of a job: the clock with the earliest facts.base_ns.
 * Times and base_ns change; call it before anything else uses the traces. *out_shared is false if a trace has no base
 * time: all keep their clocks. Errors: MEMORY, IO. */
hd_status hd_traces_share_clock(bool *out_shared, hd_trace *const *traces, size_t count, hd_error *err);

void hd_trace_free(hd_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
