/* folded.h - the data of a flame for writing folded text */
#ifndef HD_FLAME_FOLDED_H
#define HD_FLAME_FOLDED_H

#include "flame/flame.h"

/* Stacks with names that are valid in lines, and which of them have a line. */
typedef struct folded_lines {
    const hd_stacks *stacks;
    const int64_t *self, *base_self; /* base_self NULL: one weight a line */
    uint8_t *has_line;               /* by node */
    uint64_t changed_names;
    hd_stacks *own; /* the cleaned tree that the lines own, if names had to be changed */
    int64_t *own_self, *own_base;
} folded_lines;

/* folded_clean.c. The view must outlive the lines. */
hd_status folded_lines_init(folded_lines *out, const flame_view *view, bool weightless, hd_error *err);
void folded_lines_deinit(folded_lines *lines);

/* The order of the text below a node: an item is node * 2, the line of a callee, or node * 2 + 1, the lines of the
 * callee's callees. Those of node n are list[first[n]] … list[first[n + 1] - 1]. */
typedef struct folded_order {
    uint32_t *first, *list;
} folded_order;

/* folded_order.c: a depth-first walk of the items gives the lines in the byte order of sort. */
hd_status folded_order_init(folded_order *out, const folded_lines *lines, hd_error *err);
void folded_order_deinit(folded_order *order);

enum { FOLDED_WEIGHT_BYTES = 48 };
/* " 12", or " 7 12" for two flames. Returns the size. */
size_t folded_weight(char out[FOLDED_WEIGHT_BYTES], const folded_lines *lines, uint32_t node);

#endif
