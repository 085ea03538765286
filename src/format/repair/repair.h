/* repair.h - one broken event of a JSON array -> the same event as valid JSON
 *
 * A reader's strict parser passes the text from an event's `{` on when it finds invalid JSON, together with the keys of
 * its events. The repairer finds the end of the event and rewrites it with minimal changes. One bad event costs at most
 * that event, never its neighbours.
 *
 * Rules:
 *   string end   A quote closes a string only if the text continues as JSON: after a key `:`; after a value `,`
 *                and a key (in an array: `,` and a value) or closers that lead on to one. Other quotes are escaped.
 *                A string whose own quote is lost ends before `, "key":` if the rest of the event is valid from there,
 *                else before the closers that lead to the next event.
 *   next event   `{ "key":` in place of a key, after a comma, is the next event if the key is the one this event begins
 *                with, or an event key (for Chrome ph, name, ts ...) it has already, or, at the event's own level, any
 *                key that is not an event key. Open containers are then closed. Any other `{` in place of a key is
 *                stray. Within a string that does not close, `},` and `{` with any event key suffice.
 *   early `}`    A `}` that closes the event, but is followed by `}`, by `, "key": value`, or directly by anything but
 *                a comma or a bracket, is stray and dropped.
 *   `]`          without its `[`: the end of the event array if the text ends, or continues with `}` and the end, or
 *                with `, "key":` and no event within 4 KB; else a stray byte or a broken `}`.
 *   cut text     The last member is dropped if it is incomplete: a key without value, a string, a number that touches
 *                the end, an array. Objects are closed. (A string that lost its quote within 64 KB of the end is
 *                ended as above instead.)
 *
 * Codes (stable, for the ledger):
 *   json.nonfinite       NaN, -inf, 1.#QNAN ... -> "NaN", "Infinity", "-Infinity"
 *   json.literal         True, None, undefined ... -> true, false, null
 *   json.number          +5 007 .5 5. -> 5 7 0.5 5.0; digits kept
 *   json.bare-text       text without quotes, 0x1F, 1e, 12,3 -> a string of it
 *   json.control         control character in a string, escaped
 *   json.escape          bad escape: its backslash is literal
 *   json.unicode-escape  bad \u: its backslash is literal
 *   json.quote           quote in a string, escaped
 *   json.quote-lost      string without its opening or closing quote
 *   json.utf8            invalid UTF-8, U+FFFD for each maximal subpart
 *   json.comma-extra     trailing or repeated comma, dropped
 *   json.comma-missing   comma added
 *   json.colon           missing, repeated or broken colon
 *   json.single-quote    'string'
 *   json.key-bare        key without quotes, or without the opening one
 *   json.value-missing   null put in
 *   json.comment         comment dropped
 *   json.open-missing    { added
 *   json.close-missing   } or ] added
 *   json.mismatch        } for ], or ] for }
 *   json.stray           byte that belongs nowhere, dropped
 *   json.truncated       the text ended in the event; its last member is dropped if it is not whole
 *   json.depth           value nested too deep, null instead
 *
 * Bounds: time is linear in `size`: lookahead reads at most 16 bytes per byte of input plus 64 KB, a string is read
 * at most twice. Memory is the output (at most 6 bytes per input byte, for control characters) plus 10 KB of stack.
 * No recursion. Nesting beyond HD_JSON_REPAIR_DEPTH becomes null. One hd_json_repair per thread; no global state.
 *
 * Begin with repair.c; impl.h lists the parts.
 */
#ifndef HD_FORMAT_REPAIR_REPAIR_H
#define HD_FORMAT_REPAIR_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/trace.h"

enum { HD_JSON_REPAIR_DEPTH = 1000, HD_JSON_ISSUE_CODES = 23 };

/* One kind of repair in one event. `code` is static and stable, for the ledger. */
typedef struct hd_json_issue {
    const char *code;
    uint64_t offset; /* of the first, relative to the input text */
    uint64_t count;
} hd_json_issue;

#define HD_JSON_TRUNCATED "json.truncated"

/* A cut is a loss, since the text after it is unknown. All others are repairs. */
hd_ledger_level hd_json_issue_level(const hd_json_issue *issue);

/* A number, 1 to HD_EVENT_KEY_MAX, for each key that events have; 0 for all others. */
typedef int hd_event_key(const char *key, size_t size);
enum { HD_EVENT_KEY_MAX = 30 };

/* Reusable buffers. */
typedef struct hd_json_repair {
    hd_event_key *find_key; /* NULL: the keys are unknown */
    char *text;             /* the repaired event; not terminated; valid until the next call */
    size_t size, capacity;
    hd_json_issue issues[HD_JSON_ISSUE_CODES]; /* each code at most once, by offset */
    size_t issue_count;
} hd_json_repair;

typedef enum hd_repair_outcome {
    HD_REPAIR_DONE,      /* r->text is one valid object (RFC 8259, UTF-8), at most HD_JSON_REPAIR_DEPTH deep */
    HD_REPAIR_NEED_MORE, /* undecided within these bytes: call again with the same text and more of it (doubled) */
    HD_REPAIR_HOPELESS,  /* no member could be kept; the issues still give the reasons */
} hd_repair_outcome;

void hd_json_repair_init(hd_json_repair *r, hd_event_key *find_key);
void hd_json_repair_deinit(hd_json_repair *r);

/* Repair the event that begins at text[0] (normally `{`; any other byte is treated as a lost `{`, so this also handles
 * garbage between events: the result is the part that can be saved, or HOPELESS).
 *
 * `is_final`: no bytes exist after text + size. Only then is the end of the text the end of the event. The result for a
 * part of a text is NEED_MORE or the result for the whole. *out_consumed (DONE, HOPELESS): bytes that belong to this
 * event: up to and including its `}`, or up to the comma before the next event, or the `]` of the event array, where
 * its own end is missing. 0 < consumed <= size, except for an empty text. A valid object in an array comes out byte for
 * byte with no issue. Fails with HD_ERR_MEMORY only. */
hd_status hd_json_repair_object(hd_repair_outcome *out_outcome, size_t *out_consumed, hd_json_repair *r,
                                const char *text, size_t size, bool is_final, hd_error *err);

#endif
