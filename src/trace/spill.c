/* spill.c - columns in a temporary file instead of memory */
#include "trace/spill.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/temporary.h"
#include "base/system.h"
#include "trace/impl.h"

/* Windows are mapped whole at once, beyond the end of the file, and no block crosses from one to the next. */
#define WINDOW_BYTES ((uint64_t)4 << (SIZE_MAX > UINT32_MAX ? 30 : 20))
enum { ALIGNMENT = 16 };

void hd_spill_init(hd_spill *spill)
{
    *spill = (hd_spill){.file = -1};
    pthread_mutex_init(&spill->lock, NULL);
}

void hd_spill_deinit(hd_spill *spill)
{
    for (size_t i = 0; i < spill->window_count; i++) munmap(spill->windows[i], WINDOW_BYTES);
    free(spill->windows);
    if (spill->file >= 0) close(spill->file);
    hd_bytes_deinit(&spill->buffer);
    pthread_mutex_destroy(&spill->lock);
}

void hd_spill_limit(hd_spill *spill, uint64_t bytes)
{
    spill->limit = bytes - bytes / 2;
}

uint64_t hd_spill_limit_of(const hd_spill *spill)
{
    if (!HD_HAS_FILES) return UINT64_MAX;
    return spill->limit ? spill->limit : hd_memory_default() / 2;
}

/* ---- the file ---- */

/* Where the next `size` bytes will be mapped. */
static hd_status place(uint8_t **out, hd_spill *spill, uint64_t size, hd_error *err)
{
    if (size > WINDOW_BYTES) return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "a block of more than 4 GiB");
    if (spill->file < 0) HD_TRY(hd_temporary_nameless(&spill->file, err));
    if (spill->file_bytes % WINDOW_BYTES + size > WINDOW_BYTES)
        spill->file_bytes += WINDOW_BYTES - spill->file_bytes % WINDOW_BYTES;
    size_t window = (size_t)(spill->file_bytes / WINDOW_BYTES);
    if (window == spill->window_count) {
        if (!hd_grow((void **)&spill->windows, &spill->window_capacity, window, sizeof *spill->windows))
            return HD_NOMEM(err);
        void *p = mmap(NULL, WINDOW_BYTES, PROT_READ, MAP_SHARED, spill->file, (off_t)(window * WINDOW_BYTES));
        if (p == MAP_FAILED)
            return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "cannot map a temporary file: %s",
                                strerror(errno));
        spill->windows[spill->window_count++] = p;
    }
    *out = spill->windows[window] + spill->file_bytes % WINDOW_BYTES;
    return HD_OK;
}

/* Writes the buffer to the end of the file. */
static hd_status write_buffer(hd_spill *spill, hd_error *err)
{
    const uint8_t *p = spill->buffer.data;
    for (size_t left = spill->buffer.size; left;) {
        ssize_t n = pwrite(spill->file, p, left, (off_t)spill->file_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                                "cannot write the temporary file for events beyond the memory limit: %s; set TMPDIR "
                                "to a folder with space, or raise the limit",
                                strerror(n < 0 ? errno : ENOSPC));
        p += n;
        left -= (size_t)n;
        spill->file_bytes += (uint64_t)n;
    }
    return HD_OK;
}

/* ---- blocks ---- */

/* The layout of a block in the file: data of columns, then the columns of groups, then groups, each aligned. With a
 * NULL buffer only the size is computed. */
typedef struct layout {
    hd_bytes *buffer;
    const uint8_t *base; /* where byte 0 of the buffer will be mapped */
    size_t size;
} layout;

/* Returns the future address. */
static const void *lay(layout *l, const void *data, size_t size)
{
    static const uint8_t zeros[ALIGNMENT];
    size_t at = l->size, padding = (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT;
    l->size += size + padding;
    if (!l->buffer) return NULL;
    hd_bytes_put(l->buffer, data, size);
    hd_bytes_put(l->buffer, zeros, padding);
    return l->base + at;
}

static void lay_column(layout *l, hd_column *column, uint32_t row_count)
{
    if (column->width == 0) return;
    const void *data = lay(l, column->data, (size_t)row_count * column->width);
    if (l->buffer) column->data = data;
}

static void lay_block(layout *l, hd_block *block, const hd_shape *shapes)
{
    for (int c = 0; c < HD_COL_COUNT; c++) lay_column(l, &block->columns[c], block->row_count);
    for (uint32_t g = 0; g < block->group_count; g++) {
        hd_arg_group *group = (hd_arg_group *)(uintptr_t)&block->groups[g]; /* in an arena that will be freed */
        hd_column *columns = (hd_column *)(uintptr_t)group->columns;
        uint32_t key_count = shapes[group->shape].key_count;
        for (uint32_t k = 0; k < key_count; k++) lay_column(l, &columns[k], group->row_count);
        const void *list = lay(l, columns, key_count * sizeof *columns);
        if (l->buffer) group->columns = list;
    }
    const void *groups = lay(l, block->groups, block->group_count * sizeof *block->groups);
    if (l->buffer && block->group_count) block->groups = groups;
}

static hd_status move_block(hd_spill *spill, const hd_shape *shapes, hd_block *block, hd_error *err)
{
    layout sizes = {0};
    uint8_t *base = NULL;
    lay_block(&sizes, block, shapes);
    if (sizes.size == 0) return HD_OK; /* every column is constant */
    HD_TRY(place(&base, spill, sizes.size, err));
    layout l = {.buffer = &spill->buffer, .base = base};
    spill->buffer.size = 0;
    if (!hd_bytes_room(&spill->buffer, sizes.size)) return HD_NOMEM(err);
    lay_block(&l, block, shapes);
    return write_buffer(spill, err);
}

hd_status hd_spill_block(hd_spill *spill, const hd_shape *shapes, hd_block *block, hd_arena *arena, hd_error *err)
{
    hd_status status = HD_OK;
    pthread_mutex_lock(&spill->lock);
    spill->used += arena->total_bytes;
    if (spill->used > hd_spill_limit_of(spill)) {
        status = move_block(spill, shapes, block, err);
        spill->used -= arena->total_bytes;
        if (status == HD_OK) hd_arena_deinit(arena);
    }
    pthread_mutex_unlock(&spill->lock);
    return status;
}

/* The structs of the blocks stay in memory, in an arena of their own. */
static hd_status move_chunk(hd_spill *spill, const hd_shape *shapes, hd_chunk *chunk, hd_error *err)
{
    hd_arena kept = {.piece_size = chunk->block_count * sizeof(hd_block)};
    hd_block *blocks = hd_arena_alloc(&kept, chunk->block_count * sizeof *blocks);
    hd_status status = blocks ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < chunk->block_count && status == HD_OK; i++) {
        blocks[i] = *chunk->blocks[i];
        status = move_block(spill, shapes, &blocks[i], err);
    }
    if (status != HD_OK) {
        hd_arena_deinit(&kept);
        return status;
    }
    for (size_t i = 0; i < chunk->block_count; i++) chunk->blocks[i] = &blocks[i];
    hd_arena_deinit(&chunk->arena);
    chunk->arena = kept;
    return HD_OK;
}

hd_status hd_spill_chunk(hd_spill *spill, const hd_shape *shapes, hd_chunk *chunk, hd_error *err)
{
    hd_status status = HD_OK;
    pthread_mutex_lock(&spill->lock);
    spill->used += chunk->arena.total_bytes;
    if (spill->used > hd_spill_limit_of(spill)) {
        spill->used -= chunk->arena.total_bytes;
        status = move_chunk(spill, shapes, chunk, err);
    }
    pthread_mutex_unlock(&spill->lock);
    return status;
}

bool hd_spill_is_full(hd_spill *spill)
{
    pthread_mutex_lock(&spill->lock);
    uint64_t limit = hd_spill_limit_of(spill);
    bool is_full = !spill->keeps_visited && (spill->file >= 0 || spill->used > limit - limit / 8);
    pthread_mutex_unlock(&spill->lock);
    return is_full;
}

hd_status hd_spill_column(hd_spill *spill, hd_column *column, uint32_t row_count, hd_arena *arena, hd_error *err)
{
    uint8_t *base = NULL;
    size_t size = (size_t)row_count * column->width;
    if (size == 0) return HD_OK;
    if (spill->used + size <= hd_spill_limit_of(spill)) {
        spill->used += size;
        void *data = hd_arena_alloc(arena, size);
        if (!data) return HD_NOMEM(err);
        column->data = memcpy(data, column->data, size);
        return HD_OK;
    }
    layout sizes = {0};
    lay_column(&sizes, column, row_count);
    HD_TRY(place(&base, spill, sizes.size, err));
    layout l = {.buffer = &spill->buffer, .base = base};
    spill->buffer.size = 0;
    if (!hd_bytes_room(&spill->buffer, sizes.size)) return HD_NOMEM(err);
    lay_column(&l, column, row_count);
    return write_buffer(spill, err);
}

uint64_t hd_trace_large_bytes(const hd_trace *trace)
{
    return hd_spill_limit_of(&trace->spill) / 16;
}

/* ---- giving back ---- */

/* Another thread may load a block meanwhile, for which a window is added and the list moves. */
static bool in_window(const hd_spill *spill, const void *first, const void *last)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&spill->lock;
    bool found = false;
    pthread_mutex_lock(lock);
    for (size_t i = 0; i < spill->window_count && !found; i++) {
        const uint8_t *window = spill->windows[i];
        found = (const uint8_t *)first >= window && (const uint8_t *)last < window + WINDOW_BYTES;
    }
    pthread_mutex_unlock(lock);
    return found;
}

void hd_trace_release(const hd_trace *trace, const hd_block *block)
{
    const uint8_t *first = NULL;
    for (int c = 0; c < HD_COL_COUNT && !first; c++) first = block->columns[c].width ? block->columns[c].data : NULL;
    const uint8_t *last = (const uint8_t *)block->groups; /* the end of the block in the file */
    if (!first || !last || last < first || !in_window(&trace->spill, first, last)) return;
    hd_pages_leave(first, last);
}
