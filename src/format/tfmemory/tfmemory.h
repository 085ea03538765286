/* tfmemory.h - what the files of this folder share: the JSON of tensorflow.profiler.MemoryProfile */
#ifndef HD_FORMAT_TFMEMORY_H
#define HD_FORMAT_TFMEMORY_H

#include "base/json/json.h"
#include "base/json/write.h"
#include "base/memory/arena.h"
#include "format/format.h"
#include "format/repair/repair.h"
#include "format/rows_out.h"

#define TFMEMORY_STAGE "tfmemory"

/* A value where it stands in the text. */
typedef struct tfmemory_span {
    const char *data;
    size_t size;
} tfmemory_span;

typedef struct tfmemory_reader {
    hd_builder *builder;
    hd_rows_out rows;
    const hd_read_options *options;
    hd_error *err;
    const char *text; /* padded with zero bytes */
    size_t size;
    bool cut;  /* the text has ended, and that is told */
    bool lost; /* something was left out */
    hd_json_repair repair;
    hd_arena mended;        /* values that had to be mended */
    size_t snapshot_offset; /* of the snapshot that is read */
    char *scratch;
    size_t scratch_capacity;
    hd_json_out rest; /* the document without its snapshots */
    /* the arguments of the row that is being made: side by side */
    hd_arg_key *keys;
    int64_t *values;
    tfmemory_span *spans;
    size_t key_capacity, value_capacity, span_capacity, arg_count;
    /* the snapshots of one allocator */
    struct tfmemory_snapshot *snapshots;
    size_t snapshot_count, snapshot_capacity;
    uint32_t track, allocator; /* allocator: string id */
    uint32_t category;
} tfmemory_reader;

int tfmemory_sniff(const unsigned char *head, size_t size);
hd_status tfmemory_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);

/* ---- value.c: walking the text ---- */

/* What is at p is left out: a row of the ledger, or with --strict an error. */
hd_status tfmemory_lose(tfmemory_reader *r, const char *p, const char *what);
/* The same for what came to nothing with `status`; all but damage is handed on. */
hd_status tfmemory_pass(tfmemory_reader *r, hd_status status);
/* *at is behind `{`, or behind a value. HD_OK: *key (a string id), and *at is at its value. HD_END: behind `}`. */
hd_status tfmemory_next_member(tfmemory_reader *r, const char **at, bool *first, uint32_t *key);
/* The same for `[` and `]`. */
hd_status tfmemory_next_item(tfmemory_reader *r, const char **at, bool *first);
/* *at goes behind the value that it is at; one that is no valid JSON is mended, or becomes null. */
hd_status tfmemory_skip(tfmemory_reader *r, tfmemory_span *out, const char **at);
/* Whether *at is at `open`, which it goes behind; or at null, which stands for nothing (*is_null). */
hd_status tfmemory_enter(tfmemory_reader *r, const char **at, char open, bool *is_null);
bool tfmemory_is(const tfmemory_reader *r, uint32_t string, const char *text);
/* The value at *at as one more argument. 64-bit integers, which stand as strings, become integers. */
hd_status tfmemory_add_arg(tfmemory_reader *r, const char **at, uint32_t key);
/* A time in ps: an integer, maybe as a string. */
hd_status tfmemory_int(tfmemory_reader *r, int64_t *out, const char **at);
/* A row with the arguments, which are gone then. */
hd_status tfmemory_add_row(tfmemory_reader *r, hd_row *row);

/* ---- companion.c ---- */

extern const hd_companion tfmemory_companion;

/* ---- snapshots.c ---- */

/* *at is at the list. sampled: the list repeats snapshots of the other one. */
hd_status tfmemory_collect(tfmemory_reader *r, const char **at, bool sampled);
/* A slice and a sample for each that was collected. */
hd_status tfmemory_add_snapshots(tfmemory_reader *r);

#endif
