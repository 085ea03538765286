/* cupti.h - records of CUPTI activity, as JSON lines or as the text of NVIDIA's samples
 *
 *     text ──> chunks (read.c) ──> records (json.c, text.c) ──> rows (emit.c)
 *
 * A parser is used by one thread; its counts enter the ledger when its chunk is appended.
 */
#ifndef HD_FORMAT_CUPTI_CUPTI_H
#define HD_FORMAT_CUPTI_CUPTI_H

#include "base/json/json.h"
#include "format/format.h"
#include "format/repair/repair.h"

#define CUPTI_STAGE "cupti"

enum {
    CUPTI_ITEM_LIMIT = 64, /* arguments of a record; one with more is kept as text */
    CUPTI_SHAPE_SLOTS = 128,
    CUPTI_NAME_SLOTS = 2048,
    CUPTI_TRACK_SLOTS = 256,
    CUPTI_LINE_LIMIT = 64 << 20, /* longer lines are cut there */
};

/* ---- fields ---- */

typedef enum cupti_field {
    CUPTI_OTHER, /* a key that is not known: an argument of its own name */
    CUPTI_TYPE,
    CUPTI_NAME,
    CUPTI_START,
    CUPTI_END,
    CUPTI_DURATION,
    CUPTI_TIMESTAMP,
    CUPTI_CORRELATION,
    CUPTI_DEVICE,
    CUPTI_STREAM,
    CUPTI_CONTEXT,
    CUPTI_GRAPH,
    CUPTI_GRAPH_NODE,
    CUPTI_SIZE,
    CUPTI_CBID,
    CUPTI_PROCESS,
    CUPTI_THREAD,
    CUPTI_SHARED,
    CUPTI_COPY_KIND,
    CUPTI_SOURCE_KIND,
    CUPTI_TARGET_KIND,
    CUPTI_MEMORY_KIND,
    CUPTI_OPERATION,
    CUPTI_OVERHEAD_KIND,
    CUPTI_OBJECT_KIND,
    CUPTI_OBJECT,
    CUPTI_FIELDS
} cupti_field;

/* The field of a key, in the spelling of either form. */
cupti_field cupti_find_field(const char *key, size_t size);
hd_event_key cupti_find_event_key; /* the same, for repairs */
/* The name of its argument, as Kineto has it; NULL for CUPTI_OTHER. */
const char *cupti_field_argument(cupti_field field);

typedef enum cupti_type {
    CUPTI_UNKNOWN,
    CUPTI_KERNEL,
    CUPTI_MEMCPY,
    CUPTI_MEMSET,
    CUPTI_MEMORY,
    CUPTI_RUNTIME,
    CUPTI_DRIVER,
    CUPTI_OVERHEAD
} cupti_type;

/* "CONCURRENT_KERNEL" … */
cupti_type cupti_find_type(const char *data, size_t size);

/* ---- records ---- */

typedef struct cupti_item {
    uint32_t key; /* string id */
    uint8_t type; /* hd_arg_type */
    uint8_t scope;
    int64_t bits;
} cupti_item;

typedef struct cupti_record {
    hd_string type, name, texts[CUPTI_FIELDS]; /* texts: of the fields that are words */
    int64_t numbers[CUPTI_FIELDS];             /* HD_NO_NUMBER: absent */
    cupti_item items[CUPTI_ITEM_LIMIT];
    uint32_t item_count;
    bool overflow, has_name, has_type;
    const char *text; /* all of it */
    uint32_t size;
    uint64_t offset;
} cupti_record;

typedef struct cupti_issue {
    const char *code;
    hd_ledger_level level;
    uint64_t count, offset, line; /* of the first; lines from 0 within the piece */
} cupti_issue;

enum { CUPTI_ISSUES = HD_JSON_ISSUE_CODES + 8 };

typedef struct cupti_shape {
    uint32_t shape, count;
    hd_arg_key keys[CUPTI_ITEM_LIMIT];
} cupti_shape;

typedef struct cupti_named {
    uint32_t from, to; /* string ids: as written, as shown */
    cupti_type type;
} cupti_named;

typedef struct cupti_track {
    int64_t a, b;
    uint32_t track;
    uint8_t kind; /* 0: free */
} cupti_track;

/* A GPU queue that has been met. */
typedef struct cupti_queue {
    int64_t device, stream;
} cupti_queue;

typedef struct cupti_parser {
    hd_builder *builder;
    hd_batch *batch;
    bool want_args, want_sources, is_strict;
    hd_error error;

    /* the piece; ends of lines become NUL */
    char *text;
    size_t size;
    uint64_t offset, lines, records;
    int64_t first_process; /* of the file, which overheads belong to */
    int64_t first_start;
    cupti_issue issues[CUPTI_ISSUES];
    size_t issue_count;

    cupti_record record;
    uint32_t arguments[CUPTI_FIELDS]; /* string ids */
    uint32_t categories[CUPTI_OVERHEAD + 1];
    uint32_t key_mangled, key_callback, key_dynamic_shared, key_scope, scope_process;
    cupti_shape *shapes;
    cupti_named *names;
    cupti_track tracks[CUPTI_TRACK_SLOTS];
    cupti_queue *queues;
    size_t queue_count, queue_capacity;
    hd_json_repair repair;
    char *scratch, *padded;
    size_t scratch_capacity, padded_capacity;
} cupti_parser;

hd_status cupti_parser_init(cupti_parser *p, hd_builder *builder, const hd_read_options *options, hd_error *err);
void cupti_parser_deinit(cupti_parser *p);

/* record.c */
void cupti_record_begin(cupti_parser *p, const char *text, size_t size);
void cupti_record_add(cupti_parser *p, uint32_t key, hd_arg_type type, int64_t bits);
/* Sets a value of the record. false: an invalid time. `text`: of HD_ARG_STRING, valid as long as the chunk. */
bool cupti_record_set(cupti_parser *p, cupti_field field, uint32_t key, hd_arg_type type, int64_t bits, hd_string text);
/* One more of an issue. False, with p->error, when strict and this is damage. */
bool cupti_note(cupti_parser *p, const char *code, hd_ledger_level level, const char *at);

/* Parses text[0, size) of the chunk, whole lines, followed by HD_JSON_PADDING zero bytes. Errors: in p->error. */
hd_status cupti_parse_json(cupti_parser *p);
hd_status cupti_parse_text(cupti_parser *p);
/* The row of p->record. */
hd_status cupti_emit(cupti_parser *p);

/* The form of a file; 0: unknown. */
typedef enum cupti_form { CUPTI_FORM_NONE, CUPTI_FORM_JSON, CUPTI_FORM_TEXT } cupti_form;
cupti_form cupti_find_form(const char *head, size_t size);
/* A line that begins a record of the text form: its type's end, or NULL. */
const char *cupti_text_header(const char *line, const char *end);

int cupti_sniff(const unsigned char *head, size_t size);
hd_status cupti_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);
/* The same with chunks of a given size, 0: chosen by the size of the input. */
hd_status cupti_read_pieces(hd_builder *builder, hd_input *input, const hd_read_options *options, size_t piece_size,
                            hd_error *err);

/* names.c */
/* The name of a runtime or driver call by its cbid, NULL: not in the table. */
const char *cupti_call_name(cupti_type type, int64_t cbid);
/* The displayed name: kernels demangled, calls without their version. String ids. */
uint32_t cupti_shown_name(cupti_parser *p, cupti_type type, hd_string name, uint32_t *out_raw);
/* "LAZY_FUNCTION_LOADING" -> "Lazy Function Loading"; at most `capacity` bytes. */
size_t cupti_words(char *out, size_t capacity, hd_string name);

#endif
