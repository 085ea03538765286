/* arena.h - memory that is freed all at once */
#ifndef HD_BASE_MEMORY_ARENA_H
#define HD_BASE_MEMORY_ARENA_H

#include <stddef.h>

typedef struct hd_arena_piece hd_arena_piece;

/* Zero-initialised is an empty arena with the default piece size. One thread at a time. */
typedef struct hd_arena {
    hd_arena_piece *pieces;
    size_t used, capacity; /* of the newest piece */
    size_t piece_size;
    size_t total_bytes;
} hd_arena;

/* 16-byte aligned, uninitialised; NULL: no memory. size 0 returns a valid pointer. */
void *hd_arena_alloc(hd_arena *arena, size_t size);
void hd_arena_deinit(hd_arena *arena);
/* Frees what was allocated, but keeps the memory for as much again. */
void hd_arena_empty(hd_arena *arena);

#endif
