/* pickle.h - values of a Python pickle, read without running anything
 *
 * In: bytes. Out: a graph of values, in which lists, tuples and dicts may be shared, and may contain themselves: a walk
 * must bound its depth and length. Objects, whose creation would run code, are PICKLE_OPAQUE. The graph stores 4 bytes
 * per value, the offset of the opcode that made it, which is decoded on access.
 */
#ifndef HD_FORMAT_PICKLE_PICKLE_H
#define HD_FORMAT_PICKLE_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "heddle/trace.h"

typedef enum pickle_type {
    PICKLE_ABSENT, /* pickle_find() found nothing */
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

typedef uint32_t pickle_ref; /* where its opcode is; with PICKLE_HELD: the number of a list or dict */

/* Items of a list, or keys and values of a dict: a chain of pieces. Equal pieces of lists share their items: each event
 * has a list of frames of its own, and few differ. */
typedef struct pickle_piece {
    uint32_t first, count;
    uint32_t next; /* HD_NONE: none */
} pickle_piece;

typedef struct pickle_holder {
    uint32_t first, last; /* pieces */
    uint32_t count : 30;
    bool is_dict : 1, is_open : 1; /* is_open: the pickle ended within it */
} pickle_holder;

typedef struct pickle_input {
    const uint8_t *data;
    size_t size, at;
    bool truncated; /* no STOP was found */
    bool damaged;   /* at is at unreadable bytes */
} pickle_input;

typedef struct pickle {
    pickle_input in;
    pickle_ref op_at; /* where the opcode that runs is */
    pickle_value root;
    uint64_t opaque, opaque_at; /* objects, where the first one is */
    pickle_ref *items, *stack, *memo;
    uint32_t *marks;
    pickle_piece *pieces;
    pickle_holder *holders;
    hd_slots lists; /* pieces of lists, by their items */
    size_t item_count, item_capacity, stack_count, stack_capacity, memo_count, memo_capacity, mark_count, mark_capacity,
        piece_count, piece_capacity, holder_count, holder_capacity;
    bool no_memory;
} pickle;

enum { PICKLE_SIZE_LIMIT = INT32_MAX - 1 }; /* pickle_ref has 31 bits for a place */

/* false: no memory. If the pickle is cut off or damaged, its readable part is returned. At most PICKLE_SIZE_LIMIT
 * bytes, which the caller keeps at least as long as the pickle. */
bool pickle_read(pickle *out, const uint8_t *data, size_t size);
void pickle_deinit(pickle *p);

/* Iterates over items: {.piece = HD_NONE} begins. */
typedef struct pickle_cursor {
    uint32_t piece, at;
    bool begun;
} pickle_cursor;
bool pickle_next(pickle_value *out, pickle_cursor *cursor, const pickle *p, pickle_value holder);
/* Equal for lists whose items are the same values, unless these were appended in several pieces. */
void pickle_identity(uint64_t out[2], const pickle *p, pickle_value list);
/* The last value of a key; PICKLE_ABSENT: none, or no dict. */
pickle_value pickle_find(const pickle *p, pickle_value dict, const char *key);
/* The same of several keys. */
void pickle_find_all(pickle_value *out, const char *const *keys, size_t count, const pickle *p, pickle_value dict);
hd_string pickle_text(const pickle *p, pickle_value value);

#endif
