/* pack.h - a table as bytes, and back
 *
 * The format is in docs/formats/hds.md. The bytes are deterministic.
 */
#ifndef HD_TABLE_PACK_H
#define HD_TABLE_PACK_H

#include "base/bytes.h"
#include "heddle/table.h"

/* Append it. Errors: MEMORY. */
hd_status hd_table_pack(hd_bytes *out, const hd_table *table, hd_error *err);
/* A table of that name from the bytes of hd_table_pack. The caller frees it. Memory is at most 200 times `size`.
 * Errors: DAMAGED, MEMORY. */
hd_status hd_table_unpack(hd_table **out, const char *name, const void *data, size_t size, hd_error *err);

/* ---- its columns one after the other, without a table ---- */

typedef struct hd_packed_text {
    const char *data;
    size_t size;
} hd_packed_text;

/* Zero-initialised; of one after the other. The caller calls hd_packed_deinit. */
typedef struct hd_packed {
    hd_byte_reader reader;
    size_t columns, rows;
    hd_packed_text *texts; /* of all columns so far, borrowed from the bytes */
    size_t text_count, text_capacity;
    bool out_of_memory; /* why a call below gave false; else the bytes are damaged */
} hd_packed;

typedef struct hd_packed_column {
    hd_packed_text name;
    hd_value_type type;
    unsigned decimals;
    const uint8_t *nulls; /* a bit per row; NULL: no row is null */
} hd_packed_column;

bool hd_packed_begin(hd_packed *packed, const void *data, size_t size);
void hd_packed_deinit(hd_packed *packed);
/* Goes to the next column and gets its values: by row numbers, bits of decimals, or indices of `texts`; null rows keep
 * their value in `out`. After the last column, the reader is at its end. */
bool hd_packed_head(hd_packed_column *out, hd_packed *packed);
bool hd_packed_values(int64_t *out, hd_packed *packed, const hd_packed_column *column);
/* The same for values that are not needed: texts are not put into `texts`. */
bool hd_packed_skip(hd_packed *packed, const hd_packed_column *column);
static inline bool hd_packed_is_null(const hd_packed_column *column, size_t row)
{
    return column->nulls && column->nulls[row / 8] >> row % 8 & 1;
}
hd_status hd_packed_damaged(const char *name, hd_error *err); /* The DAMAGED error of hd_table_unpack. */

#endif
