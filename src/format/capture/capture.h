/* capture.h - captures: chunks (read.c), lists that they refer to (lists.c), events as rows (rows.c) */
#ifndef HD_FORMAT_CAPTURE_CAPTURE_H
#define HD_FORMAT_CAPTURE_CAPTURE_H

#include "base/bytes.h"
#include "base/capture_wire.h"
#include "base/map.h"
#include "format/capture/lists.h"
#include "format/format.h"

#define CAPTURE_STAGE "capture"

int capture_sniff(const unsigned char *head, size_t size);
hd_status capture_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);

/* One event, decoded. Ids are those of the file. */
typedef struct capture_event {
    unsigned kind;
    int64_t time_ns;
    uint64_t name, category;
    uint64_t value, bytes, device;
    uint64_t track, args, stack, correlation, node; /* 0: none */
} capture_event;

/* Decodes the next event; `event` has the previous one (zero before the first). false: no more events, or b->failed. */
bool capture_next_event(capture_event *event, hd_byte_reader *b);

/* A double with the fewest digits that represent it exactly. A non-number is text, since JSON has no number for it. */
hd_value capture_double(hd_builder *builder, double value);

/* Facts about calls and about nodes of graphs, by correlation id and by node (calls.c). */
typedef struct capture_call {
    uint64_t key;
    uint64_t external; /* 0: none */
    uint32_t stack;    /* id of the file, 0: none */
} capture_call;

typedef struct capture_calls {
    hd_slots slots;
    capture_call *list;
    size_t count, capacity;
} capture_calls;

/* Zero-initialised is empty. The last that was said of a key holds. false: no memory. */
bool capture_calls_add(capture_calls *calls, uint64_t key, uint64_t stack, uint64_t external);
const capture_call *capture_calls_find(const capture_calls *calls, uint64_t key); /* NULL: none */
void capture_calls_deinit(capture_calls *calls);

/* What rows look up. */
typedef struct capture_context {
    capture_lists *lists;
    capture_calls calls, nodes;
} capture_context;

typedef struct capture_rows capture_rows;

hd_status capture_rows_new(capture_rows **out, hd_builder *builder, capture_context *context,
                           const hd_read_options *options, hd_error *err);
void capture_rows_free(capture_rows *rows);
/* track: that of the event's thread. */
hd_status capture_rows_add(capture_rows *rows, uint32_t track, const capture_event *event, hd_error *err);
/* A slice that the file does not have. */
hd_status capture_rows_add_slice(capture_rows *rows, uint32_t track, const char *name, const char *category,
                                 int64_t start_ns, int64_t end_ns, hd_error *err);
/* Hands the rows to the builder. */
hd_status capture_rows_finish(capture_rows *rows, hd_error *err);

#endif
