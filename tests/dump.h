/* dump.h - a trace as text: what every test of a format compares, and what `.expect` files hold
 *
 * The same trace gives the same text, whatever the order in which ids were given out and rows cut into blocks: tracks
 * and shapes are sorted by what they are, events stand in the order of the input.
 */
#ifndef HD_TESTS_DUMP_H
#define HD_TESTS_DUMP_H

#include "heddle/trace.h"

enum {
    DUMP_ALL = 0,
    DUMP_CONTENT = 1, /* without what a round trip may change: sizes, source spans, patches, ledger, layout */
};

/* The caller frees the text, which is NUL-terminated. */
char *dump_trace(const hd_trace *trace, unsigned flags);

/* Ends the program, with the first line that differs, unless both dumps are the same. */
void dump_require_same(const char *before, const char *after);

#endif
