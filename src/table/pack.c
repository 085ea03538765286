/* pack.c - a table as bytes, column by column: numbers as differences to the row above, each text once a column */
#include "table/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/memory/vector.h"
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
        const table_cell cell = table_cell_at(table, row, column);
        if (table_is_null(&cell)) continue;
        if (type == HD_VALUE_DECIMAL) {
            memcpy(&bits, &cell, sizeof bits);
            hd_bytes_put_le(out, bits, 8);
        } else if (type == HD_VALUE_BOOL) {
            hd_bytes_put_u8(out, cell.as.boolean);
        } else {
            hd_bytes_put_zigzag(out, (int64_t)(cell.as.count - above)); /* integers and counts wrap alike */
            above = cell.as.count;
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

/* A column of rows takes an eighth of a byte a row at least, so that counts are bounded by the bytes. */
bool hd_packed_begin(hd_packed *p, const void *data, size_t size)
{
    p->reader = hd_byte_reader_of(data, size);
    p->text_count = 0;
    p->out_of_memory = false;
    p->columns = hd_byte_reader_varint(&p->reader);
    p->rows = hd_byte_reader_varint(&p->reader);
    size_t left = hd_byte_reader_left(&p->reader), cells;
    return !p->reader.failed && p->columns <= left / 4 && p->rows <= left * 8 && (!p->rows || p->columns) &&
           !__builtin_mul_overflow(p->columns, p->rows, &cells) && cells <= left * 8;
}

void hd_packed_deinit(hd_packed *p)
{
    free(p->texts);
}

bool hd_packed_head(hd_packed_column *out, hd_packed *p)
{
    size_t size = hd_byte_reader_varint(&p->reader);
    const uint8_t *name = hd_byte_reader_take(&p->reader, size);
    unsigned type = hd_byte_reader_u8(&p->reader), decimals = hd_byte_reader_u8(&p->reader);
    if (p->reader.failed || type > HD_VALUE_BOOL || decimals > 15 || !size || memchr(name, 0, size)) return false;
    unsigned any = hd_byte_reader_u8(&p->reader);
    *out = (hd_packed_column){.name = {(const char *)name, size}, .type = (hd_value_type)type, .decimals = decimals};
    if (any) out->nulls = hd_byte_reader_take(&p->reader, (p->rows + 7) / 8);
    return any <= 1 && !p->reader.failed;
}

static bool take_texts(int64_t *out, hd_packed *p, const hd_packed_column *column)
{
    size_t first = p->text_count;
    for (size_t row = 0; row < p->rows; row++) {
        if (hd_packed_is_null(column, row)) continue;
        uint64_t id = hd_byte_reader_varint(&p->reader);
        if (p->reader.failed || id > p->text_count - first) return false;
        out[row] = (int64_t)(first + id);
        if (first + id < p->text_count) continue;
        uint64_t size = hd_byte_reader_varint(&p->reader);
        const uint8_t *text = size < TABLE_NULL ? hd_byte_reader_take(&p->reader, size) : NULL;
        p->out_of_memory = !hd_grow((void **)&p->texts, &p->text_capacity, p->text_count, sizeof *p->texts);
        if (!text || p->out_of_memory) return false;
        p->texts[p->text_count++] = (hd_packed_text){(const char *)text, size};
    }
    return true;
}

/* Differences. Most take as many bytes as the one above: a branch that guesses so lets the next be read meanwhile. */
static void take_numbers(int64_t *out, hd_packed *p, const hd_packed_column *column)
{
    hd_byte_reader reader = p->reader;
    uint64_t above = 0, last = 0;
    size_t size = 0;
    for (size_t row = 0; row < p->rows && !reader.failed; row++) {
        if (hd_packed_is_null(column, row)) continue;
        bool is_word = hd_byte_reader_left(&reader) >= 8;
        uint64_t word = is_word ? hd_le_get(reader.data + reader.at, 8) : 0, ends = ~word & HD_VARINT_ENDS;
        uint64_t end = ends & (0 - ends), value;
        if (is_word && end) {
            if (__builtin_expect(end != last, 0)) size = (size_t)__builtin_ctzll(last = end) / 8 + 1;
            value = size == 1 ? word & 0x7f : hd_varint_in_word(word, ends);
            reader.at += size;
        } else {
            value = hd_byte_reader_varint(&reader);
        }
        out[row] = (int64_t)(above += (uint64_t)hd_unzigzag(value));
    }
    p->reader = reader;
}

static void take_fixed(int64_t *out, hd_packed *p, const hd_packed_column *column)
{
    for (size_t row = 0; row < p->rows && !p->reader.failed; row++) {
        if (hd_packed_is_null(column, row)) continue;
        out[row] = column->type == HD_VALUE_DECIMAL ? (int64_t)hd_byte_reader_le(&p->reader, 8)
                                                    : hd_byte_reader_u8(&p->reader) & 1;
    }
}

bool hd_packed_values(int64_t *out, hd_packed *p, const hd_packed_column *column)
{
    if (column->type == HD_VALUE_STRING) return take_texts(out, p, column);
    bool is_fixed = column->type == HD_VALUE_DECIMAL || column->type == HD_VALUE_BOOL;
    (is_fixed ? take_fixed : take_numbers)(out, p, column);
    return !p->reader.failed;
}

static size_t count_values(const hd_packed *p, const hd_packed_column *column)
{
    size_t count = p->rows;
    for (size_t row = 0; column->nulls && row < p->rows; row++) count -= hd_packed_is_null(column, row);
    return count;
}

bool hd_packed_skip(hd_packed *p, const hd_packed_column *column)
{
    size_t count = count_values(p, column), texts = 0;
    hd_byte_reader *reader = &p->reader;
    if (column->type == HD_VALUE_DECIMAL)
        (void)hd_byte_reader_take(reader, count * 8);
    else if (column->type == HD_VALUE_BOOL)
        (void)hd_byte_reader_take(reader, count);
    else if (column->type != HD_VALUE_STRING)
        hd_byte_reader_skip_varints(reader, count);
    for (size_t i = 0; column->type == HD_VALUE_STRING && i < count && !reader->failed; i++) {
        uint64_t id = hd_byte_reader_varint(reader);
        if (id > texts) return false;
        if (id < texts) continue;
        uint64_t size = hd_byte_reader_varint(reader);
        if (size >= TABLE_NULL || !hd_byte_reader_take(reader, size)) return false;
        texts++;
    }
    return !reader->failed;
}

static void put_cell(table_cell *cell, hd_value_type type, int64_t value, const hd_packed *p)
{
    if (type == HD_VALUE_BOOL)
        cell->as.boolean = value;
    else if (type != HD_VALUE_STRING)
        cell->as.integer = value; /* or the bits of a decimal */
    else {
        cell->as.text_offset = (uint64_t)((const uint8_t *)p->texts[value].data - p->reader.data);
        cell->text_size = (uint32_t)p->texts[value].size;
    }
}

/* Texts and names have the same layout as in the bytes, except that names are NUL-terminated. */
static bool take_column(hd_table *t, size_t at, hd_packed *p, int64_t *values)
{
    hd_packed_column column;
    if (!hd_packed_head(&column, p) || !hd_packed_values(values, p, &column)) return false;
    char *name = t->text + ((const uint8_t *)column.name.data - p->reader.data);
    name[column.name.size] = '\0';
    t->columns[at] = (hd_table_column){.name = name, .type = column.type, .decimals = column.decimals};
    for (size_t row = 0; row < p->rows; row++) {
        table_cell *cell = &t->cells[row * t->column_count + at];
        if (hd_packed_is_null(&column, row))
            cell->text_size = TABLE_NULL;
        else
            put_cell(cell, column.type, values[row], p);
    }
    return true;
}

static bool take_table(hd_table *t, hd_packed *p)
{
    int64_t *values = malloc((p->rows + 1) * sizeof *values);
    t->columns = calloc(p->columns + 1, sizeof *t->columns);
    t->cells = calloc(p->columns * p->rows + 1, sizeof *t->cells);
    t->text = malloc(p->reader.size + 1);
    bool fine = values && t->columns && t->cells && t->text;
    p->out_of_memory = !fine;
    if (fine) memcpy(t->text, p->reader.data, p->reader.size);
    t->column_count = t->column_room = p->columns;
    t->cell_count = t->cell_room = p->columns * p->rows;
    t->text_size = t->text_room = p->reader.size;
    t->has_names = true;
    for (size_t i = 0; i < p->columns && fine; i++) fine = take_column(t, i, p, values);
    free(values);
    return fine && hd_byte_reader_left(&p->reader) == 0;
}

hd_status hd_table_unpack(hd_table **out, const char *name, const void *data, size_t size, hd_error *err)
{
    hd_table *table = calloc(1, sizeof *table);
    hd_packed packed = {0};
    *out = NULL;
    if (!table || !(table->name = strdup(name))) {
        hd_table_free(table);
        return HD_NOMEM(err);
    }
    if (hd_packed_begin(&packed, data, size) && take_table(table, &packed)) *out = table;
    hd_packed_deinit(&packed);
    if (*out) return HD_OK;
    hd_table_free(table);
    return packed.out_of_memory ? HD_NOMEM(err) : hd_packed_damaged(name, err);
}

hd_status hd_packed_damaged(const char *name, hd_error *err)
{
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "table %s is damaged", name);
}
