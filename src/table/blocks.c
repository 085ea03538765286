/* blocks.c - complete rows of a table, stored column by column
 *
 * For a column, the minimum is stored, and each value as its difference from it in 0 to 8 bytes, as the block needs: a
 * quarter of the size of cells. The same for sizes of texts, and which cells are null.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory/vector.h"
#include "table/impl.h"

/* One of the two numbers of a cell: its value, or the size of its text, -1 for null. */
static int64_t number_of(const table_cell *cell, size_t which)
{
    return which ? (int32_t)cell->text_size : cell->as.integer;
}

static uint8_t width_for(uint64_t most)
{
    return most ? (uint8_t)((71 - __builtin_clzll(most)) / 8) : 0;
}

static table_packed measure(const table_cell *cells, size_t stride, size_t which)
{
    int64_t least = number_of(cells, which), most = least;
    for (size_t row = 1; row < TABLE_BLOCK; row++) {
        int64_t value = number_of(cells + row * stride, which);
        if (value < least) least = value;
        if (value > most) most = value;
    }
    return (table_packed){.least = (uint64_t)least, .width = width_for((uint64_t)most - (uint64_t)least)};
}

/* The first rows of the cells. NULL: no memory. */
static table_packed *make_block(const hd_table *t, const table_cell *cells)
{
    size_t count = 2 * t->column_count, size = 0;
    table_packed *block = malloc(count * sizeof *block), *whole;
    for (size_t i = 0; block && i < count; i++) {
        block[i] = measure(cells + i / 2, t->column_count, i % 2);
        block[i].offset = (uint32_t)size;
        size += (size_t)block[i].width * TABLE_BLOCK;
    }
    whole = block ? realloc(block, count * sizeof *block + size) : NULL;
    if (!whole) free(block);
    for (size_t i = 0; whole && i < count; i++) {
        uint8_t *to = (uint8_t *)(whole + count) + whole[i].offset;
        for (size_t row = 0; row < TABLE_BLOCK; row++, to += whole[i].width)
            hd_le_put(to, (uint64_t)number_of(cells + row * t->column_count + i / 2, i % 2) - whole[i].least,
                      whole[i].width);
    }
    return whole;
}

bool table_seal(hd_table *t)
{
    size_t cells = TABLE_BLOCK * t->column_count, at = 0;
    for (; t->cell_count - at >= cells && cells; at += cells) {
        if (!hd_grow((void **)&t->blocks, &t->block_room, t->block_count, sizeof *t->blocks) ||
            !(t->blocks[t->block_count] = make_block(t, t->cells + at)))
            return false;
        t->block_count++;
    }
    t->cell_count -= at;
    memmove(t->cells, t->cells + at, t->cell_count * sizeof *t->cells);
    table_cell *fewer = at > cells ? realloc(t->cells, (t->cell_count + 1) * sizeof *fewer) : NULL;
    if (fewer) {
        t->cells = fewer;
        t->cell_room = t->cell_count + 1;
    }
    return true;
}

static int64_t packed_at(const table_packed *block, size_t columns, size_t which, size_t row)
{
    const table_packed *p = &block[which];
    const uint8_t *data = (const uint8_t *)(block + 2 * columns) + p->offset + row * p->width;
    return (int64_t)(p->least + hd_le_get(data, p->width));
}

table_cell table_cell_at(const hd_table *t, size_t row, size_t column)
{
    assert(column < t->column_count && row < hd_table_row_count(t));
    if (row / TABLE_BLOCK >= t->block_count)
        return t->cells[(row - t->block_count * TABLE_BLOCK) * t->column_count + column];
    const table_packed *block = t->blocks[row / TABLE_BLOCK];
    row %= TABLE_BLOCK;
    return (table_cell){.as.integer = packed_at(block, t->column_count, 2 * column, row),
                        .text_size = (uint32_t)packed_at(block, t->column_count, 2 * column + 1, row)};
}

static void free_blocks(hd_table *t)
{
    for (size_t i = 0; i < t->block_count; i++) free(t->blocks[i]);
    free(t->blocks);
    t->blocks = NULL;
    t->block_count = t->block_room = 0;
}

bool table_unseal(hd_table *t)
{
    size_t rows = hd_table_row_count(t);
    if (!t->block_count) return true;
    table_cell *cells = malloc(rows * t->column_count * sizeof *cells);
    if (!cells) return false;
    for (size_t i = 0; i < rows * t->column_count; i++)
        cells[i] = table_cell_at(t, i / t->column_count, i % t->column_count);
    free_blocks(t);
    free(t->cells);
    t->cells = cells;
    t->cell_count = t->cell_room = rows * t->column_count;
    return true;
}

void table_cells_free(hd_table *t)
{
    free_blocks(t);
    free(t->cells);
}
