/* pickle.h - values of a Python pickle, read without running anything
 *
 * In: a file of any size, read from begin to end. Out: a graph of values, in which lists, tuples and dicts may be
 * shared, and may contain themselves: a walk must bound its depth and length. Objects, whose creation would run code,
 * are PICKLE_OPAQUE. The items of one list, which may be most of the file, are handed over while they are read (a
 * stream).
 */
#ifndef HD_FORMAT_PICKLE_PICKLE_H
#define HD_FORMAT_PICKLE_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io/pieces.h"
#include "base/map.h"
#include "base/memory/arena.h"
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
    uint8_t zero[3]; /* values are compared as bytes */
    uint32_t number; /* of LIST and DICT: which one. Of TEXT: its size */
    uint64_t bits;   /* of INT, FLOAT, BOOL; of TEXT: its address, which pickle_text() has */
} pickle_value;

/* Items of a list, or keys and values of a dict: a chain of pieces. Equal pieces of lists share their items: each event
 * has a list of frames of its own, and few differ. */
typedef struct pickle_piece {
    uint32_t first, count;
    uint32_t next; /* HD_NONE: none */
} pickle_piece;

typedef struct pickle_holder {
    uint32_t first, last; /* pieces */
    uint32_t count : 29;
    bool is_dict : 1, is_open : 1, is_gone : 1; /* is_open: the pickle ended within it; is_gone: it was streamed */
} pickle_holder;

typedef struct pickle_input {
    hd_window window;
    const uint8_t *p, *end; /* bytes in hand */
    uint64_t end_offset;    /* of `end` */
    uint64_t size, at;      /* at: where reading ended */
    bool truncated;         /* no STOP was found */
    bool damaged;           /* at is at unreadable bytes */
    hd_status status;       /* why reading failed */
    hd_error *err;
} pickle_input;

/* Takes items of the lists in the list that the root has under `key`: its lists by number, from 0. The items, which are
 * valid during the call, are in no list later. */
typedef struct pickle_stream {
    const char *key;
    hd_status (*take)(void *user, uint64_t list, const pickle_value *items, size_t count);
    void *user;
    bool is_shallow; /* lists within items, and within items of other lists, have their count alone */
} pickle_stream;

enum { PICKLE_REUSED = 64 }; /* dicts with fewer members leave their memory to others when they are gone */

typedef struct pickle {
    pickle_input in;
    pickle_stream stream;
    uint64_t op_at; /* where the opcode that runs is */
    pickle_value root;
    uint64_t opaque, opaque_at; /* objects, where the first one is */
    pickle_value *items, *stack, *texts;
    uint32_t *memo; /* numbers of lists, dicts and texts: MEMO_… of pickle.c */
    uint32_t *marks;
    hd_arena arena;                      /* of texts */
    hd_slots text_slots;                 /* equal texts are one */
    hd_bytes line;                       /* a text of protocol 0, decoded */
    uint32_t free_pieces[PICKLE_REUSED]; /* by count, linked by `next` */
    pickle_piece *pieces;
    pickle_holder *holders;
    hd_slots lists; /* pieces of lists, by their items */
    size_t item_count, item_capacity, stack_count, stack_capacity, memo_count, memo_capacity, mark_count, mark_capacity,
        text_count, text_capacity, piece_count, piece_capacity, holder_count, holder_capacity;
    bool no_memory;
} pickle;

/* `out` may be read by the stream's function. If the pickle is cut off or damaged, its readable part is returned.
 * stream NULL: none. Errors: IO, MEMORY, those of the stream. Deinit *out in any case. */
hd_status pickle_read(pickle *out, const hd_pieces *pieces, const pickle_stream *stream, hd_error *err);
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
uint64_t pickle_text_offset(const pickle *p, pickle_value text); /* in the file, of the first such text */

#endif
