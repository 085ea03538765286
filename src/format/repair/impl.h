/* impl.h - shared by the parts of the JSON repairer
 *
 * repair.c  the state machine: members, commas, brackets, the end of the event
 * string.c  strings: quotes, escapes, UTF-8, lost quotes, bare text
 * token.c   numbers, literals, non-finite numbers
 * look.c    lookahead: what follows, is it plausible; never writes
 */
#ifndef HD_FORMAT_REPAIR_IMPL_H
#define HD_FORMAT_REPAIR_IMPL_H

#include "format/repair/repair.h"

enum {
    LOOK_EOF = -1,   /* the text ends here for good */
    LOOK_LIMIT = -2, /* not looked: the window or the budget is used up */
    LOOK_WINDOW = 4096,
    LOOK_BASE = 65536,
    LOOK_RATE = 16,
};
#define NOWHERE SIZE_MAX

typedef enum issue_code {
    ISSUE_NONFINITE,
    ISSUE_LITERAL,
    ISSUE_NUMBER,
    ISSUE_BARE_TEXT,
    ISSUE_CONTROL,
    ISSUE_ESCAPE,
    ISSUE_UNICODE_ESCAPE,
    ISSUE_QUOTE,
    ISSUE_QUOTE_LOST,
    ISSUE_UTF8,
    ISSUE_COMMA_EXTRA,
    ISSUE_COMMA_MISSING,
    ISSUE_COLON,
    ISSUE_SINGLE_QUOTE,
    ISSUE_KEY_BARE,
    ISSUE_VALUE_MISSING,
    ISSUE_COMMENT,
    ISSUE_OPEN_MISSING,
    ISSUE_CLOSE_MISSING,
    ISSUE_MISMATCH,
    ISSUE_STRAY,
    ISSUE_TRUNCATED,
    ISSUE_DEPTH,
} issue_code;

typedef struct issue_slot {
    uint64_t offset, count;
} issue_slot;

typedef enum repair_state { AT_KEY, AT_VALUE, AT_AFTER } repair_state;
enum { IN_OBJECT, IN_ARRAY };

typedef struct repairer {
    hd_json_repair *r;
    const unsigned char *text;
    size_t size, pos;
    bool is_final;
    bool starved; /* a decision needed bytes beyond size */
    bool no_memory;
    bool finished;
    size_t consumed; /* once finished */

    repair_state state;
    uint32_t depth;                         /* open containers; the event itself is the first */
    uint8_t kind[HD_JSON_REPAIR_DEPTH];     /* IN_OBJECT, IN_ARRAY, by level */
    size_t kept[HD_JSON_REPAIR_DEPTH + 1];  /* by depth: output size after the last whole member */
    size_t members;                         /* with a colon or a value, in any object of the event */
    size_t comma_in, comma_out;             /* the comma before the member to come, or NOWHERE */
    size_t token_in, token_out, token_kept; /* the number that was the last value, or NOWHERE; kept[] before it */
    size_t first_key, first_key_size;       /* how this event begins: the next one begins alike */

    uint32_t seen; /* keys of the event itself, a bit each, by look_event_key */

    size_t look_used, look_far; /* bytes looked at; furthest place */
    issue_slot issues[HD_JSON_ISSUE_CODES], undo[HD_JSON_ISSUE_CODES];
    bool undo_armed; /* the next issue saves the issues before it, for a string that is read again */
} repairer;

/* repair.c */
void repair_put(repairer *rp, const void *bytes, size_t size);
void repair_note(repairer *rp, issue_code code, size_t offset);
static inline void repair_put_char(repairer *rp, char c)
{
    repair_put(rp, &c, 1);
}
static inline bool repair_in_array(const repairer *rp)
{
    return rp->kind[rp->depth - 1] == IN_ARRAY;
}

/* look.c; positions are offsets in the text, 0 means no */
int look_at(repairer *rp, size_t at);
void look_charge(repairer *rp, size_t from, size_t to);         /* these were looked at */
bool look_is_spent(const repairer *rp);                         /* the budget is used up: look no further */
size_t look_space(repairer *rp, size_t at);                     /* first byte that is neither space nor comment */
size_t look_comment(repairer *rp, size_t at);                   /* at `/`: the end of the comment, or 0 */
size_t look_key(repairer *rp, size_t at);                       /* at `"`: the byte after `"key" :`, or 0 */
bool look_value_start(repairer *rp, size_t at);                 /* after optional space, a value may begin here */
bool look_member(repairer *rp, size_t at);                      /* `"key": value` begins at this quote */
bool look_event(repairer *rp, size_t at);                       /* at `{`: reads like the beginning of an event */
bool look_event_after_close(repairer *rp, size_t at);           /* and `},` comes before it */
bool look_value_closes(repairer *rp, size_t at);                /* a value's quote before `at` may be its end */
bool look_closers(repairer *rp, size_t at);                     /* at `}` or `]`: leads on to something plausible */
bool look_reads_well(repairer *rp, size_t at, uint32_t depth);  /* at a key's quote: members, strictly, from here on */
bool look_array_end(repairer *rp, size_t at);                   /* at `]`: is it the end of the event array */
int look_event_key(const repairer *rp, size_t at, size_t size); /* 1 this event's first key, 2.. of find_key, or 0 */
bool look_next_event(repairer *rp, size_t at);                  /* at `{` for a key: begins with a key seen before */

/* string.c */
typedef enum string_outcome {
    STRING_DONE,
    STRING_CUT,      /* the text ends, for good or for now */
    STRING_AS_KEY,   /* it is a key: nothing written, pos at its quote */
    STRING_NO_VALUE, /* a key without a value */
    STRING_NO_COLON, /* a key, pos at its value */
} string_outcome;
string_outcome repair_key(repairer *rp);    /* at a quote of either kind */
string_outcome repair_string(repairer *rp); /* a value; at a quote of either kind */
string_outcome repair_bare_text(repairer *rp);
bool repair_bare_key(repairer *rp); /* false: no key here, nothing done */

/* token.c */
bool repair_token(repairer *rp); /* a number, literal or bare name; false: none of these, nothing done */

#endif
