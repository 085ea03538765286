/* chrome.h - shared by the files of the Chrome JSON format
 *
 * A parser is used by one thread. It turns the text of events into rows of its batch; strings, tracks and shapes go
 * into the builder shared by all parsers.
 */
#ifndef HD_FORMAT_CHROME_CHROME_H
#define HD_FORMAT_CHROME_CHROME_H

#include "base/json/json.h"
#include "base/json/write.h"
#include "base/map.h"
#include "base/memory/arena.h"
#include "base/text/decimal.h"
#include "format/format.h"
#include "format/repair/repair.h"
#include "heddle/builder.h"

hd_event_key chrome_find_event_key; /* elements.c: for repairs */

enum { CHROME_ITEM_LIMIT = 256 << 20, CHROME_KEY_LIMIT = 1024, CHROME_TRACK_CACHE = 64, CHROME_TOKEN_LIMIT = 24 };

#define CHROME_STAGE "chrome"
#define CHROME_NOT_AN_EVENT "chrome.not-an-event"
#define CHROME_NANOS "chrome.time-ns"

/* ---- shapes while they are recognised: a tree of (key, type) steps ---- */

/* The last bytes between two values, separator, key and colon: `, "tid": `. If they occur again, one comparison
 * identifies the next member. */
enum { CHROME_LEAD_WORDS = 3 };
typedef struct chrome_lead {
    uint64_t word[CHROME_LEAD_WORDS], mask[CHROME_LEAD_WORDS];
    uint32_t size;   /* 0: none learnt */
    uint32_t member; /* chrome_member */
} chrome_lead;

static inline bool chrome_lead_matches(const chrome_lead *lead, const char *p)
{
    uint64_t other = ((hd_load64(p) ^ lead->word[0]) & lead->mask[0]) |
                     ((hd_load64(p + 8) ^ lead->word[1]) & lead->mask[1]) |
                     ((hd_load64(p + 16) ^ lead->word[2]) & lead->mask[2]);
    return other == 0 && lead->size;
}

static inline void chrome_lead_learn(chrome_lead *lead, uint32_t member, const char *from, const char *end)
{
    size_t size = (size_t)(end - from);
    char bytes[sizeof lead->word] = {0};
    *lead = (chrome_lead){0};
    if (size > sizeof bytes) return;
    memcpy(bytes, from, size);
    memcpy(lead->word, bytes, sizeof bytes);
    memset(bytes, 0xff, size);
    memset(bytes + size, 0, sizeof bytes - size);
    memcpy(lead->mask, bytes, sizeof bytes);
    lead->size = (uint32_t)size;
    lead->member = member;
}

typedef struct chrome_edge {
    chrome_lead lead;
    uint64_t head, head_mask; /* first bytes of the key and its closing quote, for a quick look */
    const char *key;          /* as written, behind the quote */
    uint32_t key_size, key_id;
    uint32_t next;                    /* edge index, 0 = none */
    uint32_t node;                    /* where it begins */
    uint32_t target[HD_ARG_JSON + 1]; /* node index by type of value, 0 = none */
    uint8_t scope;
} chrome_edge;

typedef struct chrome_node {
    uint32_t parent, via_edge; /* how it was reached */
    uint32_t first_edge;       /* most recently used first; only a few, others are in the slots */
    uint32_t shape[2];         /* shape id without and with `args`; HD_NONE unknown */
    uint16_t depth;
    uint8_t via_type, listed;
} chrome_node;

typedef struct chrome_shapes {
    chrome_node *nodes;
    size_t node_count, node_capacity;
    chrome_edge *edges;
    size_t edge_count, edge_capacity;
    hd_slots slots; /* of edges of nodes that have many */
    hd_arena arena;
} chrome_shapes;

/* ---- the parser ---- */

typedef struct chrome_token { /* a pid or tid as written */
    const char *data;
    uint32_t size;
    hd_ident_type type;
} chrome_token;

typedef struct chrome_track_entry {
    char pid[CHROME_TOKEN_LIMIT], tid[CHROME_TOKEN_LIMIT];
    uint8_t pid_size, tid_size, pid_type, tid_type;
    bool used;
    uint32_t track;
} chrome_track_entry;

typedef struct chrome_issue {
    const char *code;
    hd_ledger_level level;
    uint64_t count, first_offset;
} chrome_issue;

/* The members of an event that have a column, and other syntax around them. */
typedef enum chrome_member {
    CHROME_M_START,
    CHROME_M_PH,
    CHROME_M_TS,
    CHROME_M_ID,
    CHROME_M_BP,
    CHROME_M_CAT,
    CHROME_M_PID,
    CHROME_M_TID,
    CHROME_M_DUR,
    CHROME_M_ID2,
    CHROME_M_NAME,
    CHROME_M_ARGS,
    CHROME_M_OTHER,
    CHROME_M_END,
    CHROME_M_COUNT
} chrome_member;

enum { CHROME_LEADS = 3 }; /* predictions of what follows a member */

typedef struct chrome_parser {
    chrome_lead leads[CHROME_M_COUNT][CHROME_LEADS];
    uint8_t next_lead[CHROME_M_COUNT]; /* the one to be replaced */
    hd_builder *builder;
    hd_batch *batch;
    bool want_args, want_sources, strict;
    chrome_shapes shapes;
    chrome_track_entry tracks[CHROME_TRACK_CACHE];
    int64_t values[CHROME_KEY_LIMIT];
    hd_json_repair repair;
    char *scratch; /* decoded strings */
    size_t scratch_capacity;
    char *raw; /* an event's members as text */
    size_t raw_capacity;
    char *padded; /* a repaired event with its padding */
    size_t padded_capacity;
    chrome_issue *issues;
    size_t issue_count, issue_capacity;
    hd_source_patch *patches;
    size_t patch_count, patch_capacity;
    hd_error error;
} chrome_parser;

void chrome_note(chrome_parser *parser, const char *code, hd_ledger_level level, uint64_t count, uint64_t offset);
/* The error of strict reading. The level that knows the file adds its name. */
hd_status chrome_refuse(hd_error *err, const char *code, uint64_t offset);

/* shapes.c */
bool chrome_shapes_init(chrome_shapes *shapes);
void chrome_shapes_deinit(chrome_shapes *shapes);
/* The edge of a key from a node, made if need be; 0: the tree is full, or there is no memory, which is parser->error
 * then. `key` is behind the opening quote. */
uint32_t chrome_shapes_edge(chrome_parser *parser, uint32_t node, const hd_json_text *key, hd_arg_scope scope);
uint32_t chrome_shapes_step(chrome_parser *parser, uint32_t node, uint32_t edge, hd_arg_type type);
/* The shape id of a node, HD_NONE: too many shapes. *out_replaced: number of values that a later one of the same key
 * replaces; they are removed from parser->values. */
uint32_t chrome_shapes_resolve(uint32_t *out_replaced, chrome_parser *parser, uint32_t node, bool has_args);

/* The string id of a JSON string's text, HD_STRING_NONE: invalid UTF-8 or no memory. */
uint32_t chrome_intern(chrome_parser *parser, const hd_json_text *text);

/* ---- value.c ---- */

typedef struct chrome_value {
    hd_arg_type type;
    int64_t bits; /* as the type says */
} chrome_value;

/* Parses the value at p, interned if it is text: returns the position after it, or NULL: invalid JSON, or no memory. */
const char *chrome_parse_value(chrome_value *out, chrome_parser *parser, const char *p);
/* Parses decimal microseconds as nanoseconds: returns the position after the number; NULL: not a number, or out of
 * range. *plain: it has no exponent and at most six decimals, so that the writer reproduces it from the columns. */
const char *chrome_parse_micros(hd_fixed *ns, bool *plain, const char *p);
/* The same of text in quotes, all of it, with blanks around or none. */
bool chrome_micros_of_text(hd_fixed *ns, const char *data, size_t size);

/* ---- event.c, elements.c ---- */

typedef enum chrome_outcome {
    CHROME_DONE,
    CHROME_BAD,    /* not valid JSON */
    CHROME_FAILED, /* no memory, or strict: parser->error says it */
} chrome_outcome;

/* Parses the event whose `{` is at p and adds its row. source_offset and source_size (0: the size that was read) are
 * for its row. *out_end is after its `}`. */
chrome_outcome chrome_parse_event(const char **out_end, chrome_parser *parser, const char *p, uint64_t source_offset,
                                  uint32_t source_size);

/* Where parsing of an array's elements stopped. */
typedef enum chrome_stop {
    CHROME_AT_LIMIT,  /* all text is used, or max_elements were read */
    CHROME_AT_CLOSE,  /* at the `]` */
    CHROME_NEED_MORE, /* at an element that does not end within the text */
    CHROME_STOPPED,   /* failed: parser->error */
} chrome_stop;

typedef struct chrome_span { /* text followed by padding */
    const char *data;
    size_t size;
    uint64_t offset; /* of data[0] in the input */
    bool is_final;   /* the input ends here */
    bool lines;      /* consecutive events without commas */
} chrome_span;

/* Parses elements from *position on. *after_value: a value comes before, and no comma since; *comma: offset of the last
 * comma, or HD_OFFSET_NONE at the start of the array. */
chrome_stop chrome_parse_elements(chrome_parser *parser, const chrome_span *span, size_t *position, bool *after_value,
                                  uint64_t *comma, size_t max_elements);

/* The last place in the text where an element of an array of events seems to begin, at its `{`; 0 if none is found.
 * *out_comma: the position of the comma before it. */
size_t chrome_find_last_boundary(size_t *out_comma, const char *text, size_t size);

/* meta.c: names, order, devices and streams of tracks from metadata events, facts from top-level keys. */
hd_status chrome_apply_metadata(hd_builder *builder, hd_error *err);

/* The part of an event's time below the nanosecond, in 10^-18 ns. */
static inline int64_t chrome_part_of(uint32_t ps, uint64_t finer)
{
    return ps * HD_FINER_PER_PS + (int64_t)finer;
}

/* Writes ns and parts of 10^-18 ns, any sum of the two, as decimal microseconds, with as many decimals as needed and at
 * least the given number. */
void chrome_put_micros(hd_json_out *out, int64_t ns, int64_t part, unsigned min_decimals);

/* the format's entry points */
int chrome_sniff(const unsigned char *head, size_t size);
hd_status chrome_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);
hd_status chrome_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err);

#endif
