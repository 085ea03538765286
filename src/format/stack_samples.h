/* stack_samples.h - shared by the readers of stacks as text: samples of threads in a trace under construction
 *
 *     hd_stack_samples_open(&s, builder, …);
 *     name = hd_stack_samples_frame(&s, text, size); …        hd_stack_samples_add(&s, &sample);
 *     hd_stack_samples_finish(&s);                             hd_stack_samples_close(&s);
 */
#ifndef HD_FORMAT_STACK_SAMPLES_H
#define HD_FORMAT_STACK_SAMPLES_H

#include "base/io/lines.h"
#include "base/memory/memo.h"
#include "format/format.h"
#include "format/rows_out.h"
#include "format/stack_text.h"

/* A count of a reader, reported to the ledger at the end. */
typedef struct hd_stack_code {
    const char *code; /* static */
    hd_ledger_level level;
    const char *what; /* prefix of the first one's line, NULL: the code says it all */
} hd_stack_code;

enum { HD_STACK_CODES = 24, HD_STACK_MORE = 64, HD_STACK_PARTS = 5 };

typedef struct hd_stack_tally {
    uint64_t count, offset;
    uint32_t detail; /* string id */
} hd_stack_tally;

typedef struct hd_stack_thread {
    hd_string comm;
    bool has_pid, has_tid;
    int64_t pid, tid;
} hd_stack_thread;

typedef struct hd_stack_track {
    uint32_t comm;    /* string id, 0: none */
    uint32_t process; /* track that is named alike, HD_NONE: none */
} hd_stack_track;

typedef struct hd_stack_sample {
    uint32_t track, name, node; /* HD_NONE: no track */
    int64_t time_ns;
    hd_arg_type weight_type, cpu_type, address_type; /* HD_ARG_NULL: none */
    int64_t weight, cpu, address;
    uint32_t trace; /* string id, HD_STRING_NONE: none */
    uint32_t category;
    const hd_arg_key *more; /* further arguments, before the others */
    const int64_t *more_values;
    uint32_t more_count; /* at most HD_STACK_MORE */
} hd_stack_sample;

typedef struct hd_stack_samples {
    hd_builder *builder;
    hd_rows_out rows;
    hd_stacks *stacks;
    hd_input *input;
    const hd_read_options *options;
    hd_error *err;
    const char *stage;
    const hd_stack_code *codes;
    hd_stack_tally tally[HD_STACK_CODES];
    hd_arg_key last_keys[HD_STACK_MORE + HD_STACK_PARTS]; /* of the sample before, */
    uint32_t last_count, last_shape;                      /* and their shape */
    uint32_t key_ids[HD_STACK_PARTS];
    hd_memo threads;
    hd_stack_track *tracks; /* by track */
    size_t track_capacity;
    uint32_t track_count;
    uint8_t *kinds; /* hd_frame_kind + 1 by name, 0: not looked at */
    size_t kind_capacity;
    hd_bytes text;         /* a repaired one */
    uint32_t comm_repairs; /* of the last thread */
    uint64_t samples;
    uint64_t lines; /* read, for the progress */
} hd_stack_samples;

/* codes: a table of at most HD_STACK_CODES. */
hd_status hd_stack_samples_open(hd_stack_samples *s, hd_builder *builder, hd_input *input, const char *stage,
                                const hd_stack_code *codes, const hd_read_options *options, hd_error *err);
/* Passes held samples to the builder. */
hd_status hd_stack_samples_finish(hd_stack_samples *s);
void hd_stack_samples_close(hd_stack_samples *s);

/* Count; DAMAGED when that is no mere note and repairs are refused. line may be NULL; its number is 0 where there are
 * no lines. */
hd_status hd_stack_samples_count(hd_stack_samples *s, size_t code, uint64_t count, const hd_line *line);

/* The text as UTF-8, borrowed until the next call; *out_repaired is the number of repairs. */
hd_string hd_stack_samples_utf8(hd_stack_samples *s, size_t *out_repaired, hd_string text);

/* The name of a frame, and its kind by that name (*out_kind, may be NULL). text: UTF-8. HD_NONE: no memory. */
uint32_t hd_stack_samples_frame(hd_stack_samples *s, hd_frame_kind *out_kind, const char *text, size_t size);

/* The track of a thread; `key` is the text it was made from, which finds it again. HD_NONE: no thread, or no memory,
 * which the builder remembers. *out_changed: its comm has changed. */
uint32_t hd_stack_samples_known(hd_stack_samples *s, uint64_t *out_hash, bool *out_changed, hd_string key);
uint32_t hd_stack_samples_thread(hd_stack_samples *s, uint64_t hash, bool *out_changed, hd_string key,
                                 const hd_stack_thread *thread);

hd_status hd_stack_samples_add(hd_stack_samples *s, const hd_stack_sample *sample);
/* A row that is not a sample, with at most HD_STACK_MORE arguments. */
hd_status hd_stack_samples_add_row(hd_stack_samples *s, hd_row *row, const hd_arg_key *keys, const int64_t *values,
                                   uint32_t count);
/* A row of any kind. */
hd_status hd_stack_samples_row(hd_stack_samples *s, const hd_row *row, const int64_t *values);
/* Now and then. */
void hd_stack_samples_progress(hd_stack_samples *s);

#endif
