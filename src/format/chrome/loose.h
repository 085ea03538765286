/* loose.h - syntax around the events that is not quite JSON: other quotes, none, no colon, comments */
#ifndef HD_FORMAT_CHROME_LOOSE_H
#define HD_FORMAT_CHROME_LOOSE_H

#include <stdbool.h>
#include <stddef.h>

/* Texts end at `end`; nothing after it is read. */

/* If the key `traceEvents`, quoted in any way or not at all, is at p, followed by a `[`, with or without a colon: the
 * position of the `[`, else NULL. */
const char *chrome_loose_events(const char *p, const char *end);

/* Whether a word begins at p. `begin`: of the text. */
bool chrome_at_word(const char *p, const char *begin);

/* A key in single quotes or without any, and its colon. */
typedef struct chrome_loose {
    const char *name;
    size_t name_size;
    const char *value; /* where the value begins */
    const char *code;  /* of the ledger */
} chrome_loose;
bool chrome_loose_key(chrome_loose *out, const char *p, const char *end);

/* The position after the comment at p, or NULL: none, or unclosed. */
const char *chrome_skip_comment(const char *p, const char *end);

/* Where a value that is not valid JSON probably ends: a comma or closing bracket that is not in it, or, if none of its
 * own brackets closes, before the events. */
const char *chrome_probable_end(const char *p, const char *end);

#endif
