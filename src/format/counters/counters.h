/* counters.h - values of GPUs by time, as monitors print them: from text to counters
 *
 * In: text of one of the dialects below. Out: samples of counters on a process "GPU 0 counters" for each GPU. columns.c
 * says what the columns of a table are, times.c reads times, read.c the lines of tables, metrics.c those of metrics.
 */
#ifndef HD_FORMAT_COUNTERS_COUNTERS_H
#define HD_FORMAT_COUNTERS_COUNTERS_H

#include "base/io/lines.h"
#include "base/memory/memo.h"
#include "format/args.h"
#include "format/counters/times.h"
#include "format/stack_text.h"

typedef enum counters_dialect {
    COUNTERS_NONE,
    COUNTERS_CSV,     /* a row of names, as of nvidia-smi --query-gpu, rocm-smi --csv, amd-smi monitor --csv */
    COUNTERS_BARE,    /* nvidia-smi --format=csv,noheader */
    COUNTERS_DMON,    /* nvidia-smi dmon */
    COUNTERS_DCGMI,   /* dcgmi dmon */
    COUNTERS_METRICS, /* Prometheus' text */
} counters_dialect;

counters_dialect counters_dialect_of(const unsigned char *head, size_t size);

/* ---- columns ---- */

enum { COUNTERS_FIELDS = 256 };

typedef enum counters_role {
    COUNTERS_VALUE,
    COUNTERS_STAMP, /* date and time */
    COUNTERS_DATE,
    COUNTERS_CLOCK,  /* time of the day */
    COUNTERS_NUMBER, /* of the GPU */
    COUNTERS_UUID,   /* also its address on the bus: of the GPU, where there is no number */
    COUNTERS_LABEL,  /* its model */
} counters_role;

typedef struct counters_column {
    counters_role role;
    uint32_t title; /* string: as it is written, without its unit */
    uint32_t name;  /* string, with the unit; HD_STRING_NONE until a value with a unit, or without, is read */
} counters_column;

/* Whether two texts are equal but for case. */
bool counters_is_text(hd_string text, const char *other);
/* Splits at commas or blanks; at most COUNTERS_FIELDS. Returns how many; SIZE_MAX: more. */
size_t counters_split(hd_string *fields, const char *text, size_t size, bool commas);
/* What a column of that name is; `unit` is of the row below it, or empty. */
counters_column counters_column_of(hd_builder *builder, hd_string title, hd_string unit);
/* "clocks.sm (MHz)" */
uint32_t counters_name(hd_builder *builder, hd_string title, hd_string unit);

/* ---- reading ---- */

enum { LOST_LINES, LOST_VALUES, MISSING_VALUES, TEXT_VALUES, NO_TIMES, LOCAL_TIMES, COUNTERS_CODES };

typedef struct counters_reader {
    hd_builder *builder;
    hd_args args;
    hd_error *err;
    counters_dialect dialect;
    counters_column columns[COUNTERS_FIELDS];
    size_t column_count;
    bool commas, has_columns;
    size_t number_column; /* of COUNTERS_BARE; SIZE_MAX: none */
    uint32_t key;         /* "value" */
    struct {
        uint64_t count, offset;
    } tally[COUNTERS_CODES];
    counters_times times;
    hd_memo names; /* of metrics: their units */
    hd_bytes id;
} counters_reader;

void counters_count(counters_reader *r, size_t code, const hd_line *line);
/* The process of a GPU, "0" or any other text; label: its model, or empty. */
uint32_t counters_track(counters_reader *r, hd_string gpu, hd_string label);
/* Adds a sample if the text is a value; *unit is what follows the number. */
typedef struct counters_value {
    bool is_missing, is_number;
    hd_string number, unit;
} counters_value;
counters_value counters_parse_value(hd_string text);
hd_status counters_add(counters_reader *r, uint32_t track, uint32_t name, int64_t time_ns, const counters_value *value,
                       hd_string id);

hd_status counters_metrics_line(counters_reader *r, const hd_line *line);
hd_status counters_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);

#endif
