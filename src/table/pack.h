/* pack.h - a table as bytes, and back
 *
 * docs/formats/hds.md has the bytes. They depend on nothing but the table.
 */
#ifndef HD_TABLE_PACK_H
#define HD_TABLE_PACK_H

#include "base/bytes.h"
#include "heddle/table.h"

/* Append it. Errors: MEMORY. */
hd_status hd_table_pack(hd_bytes *out, const hd_table *table, hd_error *err);
/* What hd_table_pack made, as a table of that name. The caller frees it. Memory is at most 200 times `size`.
 * Errors: DAMAGED, MEMORY. */
hd_status hd_table_unpack(hd_table **out, const char *name, const void *data, size_t size, hd_error *err);

#endif
