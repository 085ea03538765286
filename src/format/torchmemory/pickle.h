/* pickle.h - values of a Python pickle, read without running anything
 *
 * In: bytes. Out: a graph of values, in which lists, tuples and dicts may be shared, and may hold themselves: who walks
 * it must bound how deep and how far. Objects, whose making would run code, are PICKLE_OPAQUE.
 */
#ifndef HD_FORMAT_TORCHMEMORY_PICKLE_H
#define HD_FORMAT_TORCHMEMORY_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/trace.h"

typedef enum pickle_type {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_LARGE, /* an integer beyond int64 */
    PICKLE_FLOAT,
    PICKLE_TEXT,
    PICKLE_LIST, /* or tuple, or set */
    PICKLE_DICT,
    PICKLE_OPAQUE,
} pickle_type;

typedef struct pickle_value {
    uint8_t type;    /* pickle_type */
    uint32_t number; /* of LIST and DICT: which one. Of TEXT: its size */
    uint64_t bits;   /* of INT, FLOAT, BOOL; of TEXT: where it begins */
} pickle_value;

/* Items of a list, or keys and values of a dict: pieces one behind another. */
typedef struct pickle_piece {
    size_t first, count;
    uint32_t next; /* HD_NONE: none */
} pickle_piece;

typedef struct pickle_holder {
    uint32_t first, last; /* pieces */
    size_t count;
    bool is_open; /* the pickle ended within it */
} pickle_holder;

typedef struct pickle {
    const uint8_t *data;
    size_t size, at;
    pickle_value root;
    bool truncated;             /* no STOP was found */
    bool damaged;               /* at is at what cannot be read */
    uint64_t opaque, opaque_at; /* objects, where the first one is */
    pickle_value *items, *stack, *memo;
    size_t *marks;
    pickle_piece *pieces;
    pickle_holder *holders;
    size_t item_count, item_capacity, stack_count, stack_capacity, memo_count, memo_capacity, mark_count, mark_capacity,
        piece_count, piece_capacity, holder_count, holder_capacity;
    bool no_memory;
} pickle;

/* false: no memory. What could be read is there also where the pickle is cut off or damaged. */
bool pickle_read(pickle *out, const uint8_t *data, size_t size);
void pickle_deinit(pickle *p);

/* Items one after another: {.piece = HD_NONE} begins. */
typedef struct pickle_cursor {
    uint32_t piece;
    size_t at;
    bool begun;
} pickle_cursor;
bool pickle_next(const pickle_value **out, pickle_cursor *cursor, const pickle *p, const pickle_value *holder);
/* The last value of a key; NULL: none, or no dict. */
const pickle_value *pickle_find(const pickle *p, const pickle_value *dict, const char *key);
hd_string pickle_text(const pickle *p, const pickle_value *value);

#endif
