/* arena.c - a list of memory blocks; large requests get their own block */
#include "base/memory/arena.h"

#include <stdint.h>
#include <stdlib.h>

struct hd_arena_piece {
    hd_arena_piece *next;
    max_align_t data[];
};

/* Blocks begin small, since each of 10,000 traces may have several arenas, and double in size. */
enum { FIRST_PIECE_SIZE = 512, DEFAULT_PIECE_SIZE = 64 * 1024, ALIGNMENT = 16 };

static hd_arena_piece *piece_new(hd_arena *arena, size_t size)
{
    if (size > SIZE_MAX - sizeof(hd_arena_piece)) return NULL;
    hd_arena_piece *piece = malloc(sizeof *piece + size);
    if (piece) arena->total_bytes += sizeof *piece + size;
    return piece;
}

static size_t next_piece_size(const hd_arena *arena)
{
    if (arena->piece_size) return arena->piece_size;
    if (!arena->pieces) return FIRST_PIECE_SIZE;
    return arena->capacity < DEFAULT_PIECE_SIZE / 2 ? arena->capacity * 2 : DEFAULT_PIECE_SIZE;
}

void *hd_arena_alloc(hd_arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT) return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (arena->pieces && size <= arena->capacity - arena->used) {
        void *p = (char *)arena->pieces->data + arena->used;
        arena->used += size;
        return p;
    }
    size_t piece_size = next_piece_size(arena);
    if (size > piece_size / 4 && arena->pieces) { /* its own block, behind the current one */
        hd_arena_piece *piece = piece_new(arena, size);
        if (!piece) return NULL;
        piece->next = arena->pieces->next;
        arena->pieces->next = piece;
        return piece->data;
    }
    if (size > piece_size) piece_size = size;
    hd_arena_piece *piece = piece_new(arena, piece_size);
    if (!piece) return NULL;
    piece->next = arena->pieces;
    arena->pieces = piece;
    arena->used = size;
    arena->capacity = piece_size;
    return piece->data;
}

void hd_arena_deinit(hd_arena *arena)
{
    for (hd_arena_piece *piece = arena->pieces; piece;) {
        hd_arena_piece *next = piece->next;
        free(piece);
        piece = next;
    }
    *arena = (hd_arena){.piece_size = arena->piece_size};
}

/* Several pieces become one at the next allocation, so that a loop soon allocates nothing. */
void hd_arena_empty(hd_arena *arena)
{
    size_t total = arena->total_bytes;
    if (arena->pieces && !arena->pieces->next) {
        arena->used = 0;
        return;
    }
    hd_arena_deinit(arena);
    if (total > arena->piece_size) arena->piece_size = total;
}
