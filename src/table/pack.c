/* pack.c - a table as bytes, column by column: numbers as differences to the row above, each text once a column */
#include "table/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "table/impl.h"

/* ---- packing ---- */

/* The texts of a column so far, by the row where each was met first. */
typedef struct packed_texts {
    const hd_table *table;
    size_t column;
    uint32_t *rows;
    uint32_t count;
    hd_slots slots;
} packed_texts;

static bool put_text(hd_bytes *out, packed_texts *texts, size_t row)
{
    size_t size, other_size;
    const char *text = hd_table_get_string(&size, texts->table, row, texts->column), *other;
    uint64_t hash = hd_hash(text, size);
    uint32_t id;
    HD_SLOTS_FIND(id, &texts->slots, hash,
                  (other = hd_table_get_string(&other_size, texts->table, texts->rows[id], texts->column),
                   size == other_size && (!size || memcmp(text, other, size) == 0)));
    hd_bytes_put_varint(out, id == HD_SLOTS_NONE ? texts->count : id);
    if (id != HD_SLOTS_NONE) return true;
    hd_bytes_put_varint(out, size);
    hd_bytes_put(out, text, size);
    texts->rows[texts->count] = (uint32_t)row;
    return hd_slots_add(&texts->slots, hash, texts->count++);
}

static bool put_texts(hd_bytes *out, const hd_table *table, size_t column)
{
    size_t rows = hd_table_row_count(table);
    packed_texts texts = {.table = table, .column = column, .rows = malloc((rows + 1) * sizeof *texts.rows)};
    bool fine = texts.rows && rows < UINT32_MAX;
    for (size_t row = 0; row < rows && fine; row++) {
        if (!hd_table_is_null(table, row, column)) fine = put_text(out, &texts, row);
    }
    hd_slots_deinit(&texts.slots);
    free(texts.rows);
    return fine;
}

static void put_values(hd_bytes *out, const hd_table *table, size_t column)
{
    uint64_t above = 0, bits;
    hd_value_type type = hd_table_get_column(table, column)->type;
    for (size_t row = 0; row < hd_table_row_count(table); row++) {
        const table_cell *cell = table_cell_at(table, row, column);
        if (table_is_null(cell)) continue;
        if (type == HD_VALUE_DECIMAL) {
            memcpy(&bits, cell, sizeof bits);
            hd_bytes_put_le(out, bits, 8);
        } else if (type == HD_VALUE_BOOL) {
            hd_bytes_put_u8(out, cell->as.boolean);
        } else {
            hd_bytes_put_zigzag(out, (int64_t)(cell->as.count - above)); /* integers and counts wrap alike */
            above = cell->as.count;
        }
    }
}

/* A byte that says whether there are any, then a bit per row. */
static void put_nulls(hd_bytes *out, const hd_table *table, size_t column)
{
    size_t rows = hd_table_row_count(table);
    bool any = false;
    for (size_t row = 0; row < rows && !any; row++) any = hd_table_is_null(table, row, column);
    hd_bytes_put_u8(out, any);
    for (size_t row = 0; row < rows && any; row += 8) {
        unsigned bits = 0;
        for (size_t i = 0; i < 8 && row + i < rows; i++)
            bits |= (unsigned)hd_table_is_null(table, row + i, column) << i;
        hd_bytes_put_u8(out, (uint8_t)bits);
    }
}

hd_status hd_table_pack(hd_bytes *out, const hd_table *table, hd_error *err)
{
    size_t columns = hd_table_column_count(table);
    bool fine = true;
    hd_bytes_put_varint(out, columns);
    hd_bytes_put_varint(out, hd_table_row_count(table));
    for (size_t i = 0; i < columns && fine; i++) {
        const hd_table_column *column = hd_table_get_column(table, i);
        hd_bytes_put_varint(out, strlen(column->name));
        hd_bytes_put(out, column->name, strlen(column->name));
        hd_bytes_put_u8(out, (uint8_t)column->type);
        hd_bytes_put_u8(out, (uint8_t)column->decimals);
        put_nulls(out, table, i);
        if (column->type == HD_VALUE_STRING)
            fine = put_texts(out, table, i);
        else
            put_values(out, table, i);
    }
    return fine && !out->failed ? HD_OK : HD_NOMEM(err);
}

/* ---- unpacking ---- */

typedef struct unpacker {
    hd_table *table;
    hd_byte_reader reader;
    size_t rows;
    bool out_of_memory;
} unpacker;

static bool take_column_head(unpacker *u, hd_table_column *out)
{
    size_t size = hd_byte_reader_varint(&u->reader);
    const uint8_t *name = hd_byte_reader_take(&u->reader, size);
    unsigned type = hd_byte_reader_u8(&u->reader), decimals = hd_byte_reader_u8(&u->reader);
    if (u->reader.failed || type > HD_VALUE_BOOL || decimals > 15 || !size || memchr(name, 0, size)) return false;
    char *copy = u->table->text + u->table->text_size; /* with its NUL, it is shorter than what was read of it */
    memcpy(copy, name, size);
    copy[size] = 0;
    u->table->text_size += size + 1;
    *out = (hd_table_column){.name = copy, .type = (hd_value_type)type, .decimals = decimals};
    return true;
}

static bool take_nulls(unpacker *u, size_t column)
{
    unsigned any = hd_byte_reader_u8(&u->reader);
    const uint8_t *bits = any ? hd_byte_reader_take(&u->reader, (u->rows + 7) / 8) : NULL;
    for (size_t row = 0; bits && row < u->rows; row++)
        if (bits[row / 8] >> row % 8 & 1) u->table->cells[row * u->table->column_count + column].text_size = TABLE_NULL;
    return any <= 1 && !u->reader.failed;
}

/* Equal texts are one text of the table. */
static bool take_text(unpacker *u, table_cell *cell, const table_cell **texts, size_t *count)
{
    uint64_t id = hd_byte_reader_varint(&u->reader);
    if (u->reader.failed || id > *count) return false;
    if (id == *count) {
        uint64_t size = hd_byte_reader_varint(&u->reader);
        const uint8_t *text = size < TABLE_NULL ? hd_byte_reader_take(&u->reader, size) : NULL;
        if (!text) return false;
        memcpy(u->table->text + u->table->text_size, text, size);
        cell->as.text_offset = u->table->text_size;
        cell->text_size = (uint32_t)size;
        u->table->text_size += size;
        texts[(*count)++] = cell;
    } else {
        cell->as.text_offset = texts[id]->as.text_offset;
        cell->text_size = texts[id]->text_size;
    }
    return true;
}

static bool take_texts(unpacker *u, size_t column)
{
    size_t count = 0;
    bool fine = true;
    const table_cell **texts = malloc((u->rows + 1) * sizeof *texts);
    u->out_of_memory |= !texts;
    for (size_t row = 0; texts && row < u->rows && fine; row++) {
        table_cell *cell = &u->table->cells[row * u->table->column_count + column];
        if (!table_is_null(cell)) fine = take_text(u, cell, texts, &count);
    }
    free(texts);
    return texts && fine;
}

static bool take_values(unpacker *u, size_t column)
{
    hd_value_type type = u->table->columns[column].type;
    uint64_t above = 0;
    for (size_t row = 0; row < u->rows && !u->reader.failed; row++) {
        table_cell *cell = &u->table->cells[row * u->table->column_count + column];
        if (table_is_null(cell)) continue;
        if (type == HD_VALUE_DECIMAL) {
            uint64_t bits = hd_byte_reader_le(&u->reader, 8);
            memcpy(cell, &bits, sizeof bits);
        } else if (type == HD_VALUE_BOOL) {
            cell->as.boolean = hd_byte_reader_u8(&u->reader) & 1;
        } else {
            cell->as.count = above += (uint64_t)hd_byte_reader_zigzag(&u->reader);
        }
    }
    return !u->reader.failed;
}

/* A column of rows takes an eighth of a byte a row at least, so that counts are bounded by the bytes. */
static bool take_size(unpacker *u)
{
    hd_table *t = u->table;
    uint64_t columns = hd_byte_reader_varint(&u->reader), rows = hd_byte_reader_varint(&u->reader);
    size_t left = hd_byte_reader_left(&u->reader), cells;
    if (u->reader.failed || columns > left / 4 || rows > left * 8 || (rows && !columns)) return false;
    if (__builtin_mul_overflow(columns, rows, &cells) || cells > left * 8) return false;
    t->columns = calloc(columns + 1, sizeof *t->columns);
    t->cells = calloc(cells + 1, sizeof *t->cells);
    t->text = malloc(left + 1);
    u->out_of_memory = !t->columns || !t->cells || !t->text;
    t->column_room = columns;
    t->cell_count = t->cell_room = cells;
    t->text_room = left;
    t->has_names = true;
    u->rows = rows;
    return !u->out_of_memory;
}

static bool take_table(unpacker *u, size_t columns)
{
    hd_table *t = u->table;
    for (size_t i = 0; i < columns; i++) {
        if (!take_column_head(u, &t->columns[i])) return false;
        t->column_count = columns; /* of the cells */
        if (!take_nulls(u, i)) return false;
        if (!(t->columns[i].type == HD_VALUE_STRING ? take_texts(u, i) : take_values(u, i))) return false;
    }
    return hd_byte_reader_left(&u->reader) == 0;
}

hd_status hd_table_unpack(hd_table **out, const char *name, const void *data, size_t size, hd_error *err)
{
    unpacker u = {.table = calloc(1, sizeof *u.table), .reader = hd_byte_reader_of(data, size)};
    *out = NULL;
    if (!u.table || !(u.table->name = strdup(name))) {
        hd_table_free(u.table);
        return HD_NOMEM(err);
    }
    if (take_size(&u) && take_table(&u, u.table->column_room)) {
        *out = u.table;
        return HD_OK;
    }
    hd_table_free(u.table);
    return u.out_of_memory ? HD_NOMEM(err)
                           : hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "table %s is damaged", name);
}
