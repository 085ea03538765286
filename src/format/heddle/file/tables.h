/* tables.h - tables other than events: facts, metadata, ledger, tracks, shapes
 *
 * Each is the plain body of one section. Putting assigns ids to strings; getting validates everything.
 */
#ifndef HD_FORMAT_HEDDLE_FILE_TABLES_H
#define HD_FORMAT_HEDDLE_FILE_TABLES_H

#include "base/bytes.h"
#include "base/memory/arena.h"
#include "format/heddle/write/ids.h"
#include "heddle/builder.h"
#include "heddle/index.h"

/* Facts about the file itself. */
typedef struct store_totals {
    bool known;
    uint64_t rows[HD_KIND_COUNT];
    uint32_t track_count;
} store_totals;

void store_put_facts(hd_bytes *out, const hd_trace *trace);
void store_put_metadata(hd_bytes *out, store_ids *ids);
void store_put_ledger(hd_bytes *out, const hd_trace *trace);
void store_put_tracks(hd_bytes *out, store_ids *ids);
/* File ids [first, first + count). */
void store_put_shapes(hd_bytes *out, store_ids *ids, uint32_t first, uint32_t count);
/* Of the queues of devices: the time that GPU activities cover, by lane of the index as in model/roles/busy.h. */
void store_put_activity(hd_bytes *out, const hd_index *index, const int64_t *work_ns);
/* Adds them to the index, unless they were made by other rules. Errors: DAMAGED, MEMORY. */
hd_status store_get_activity(hd_index *index, hd_byte_reader body);

/* Each fills the builder; false: the bytes are not such a table, or memory ran out, which the builder records. Texts
 * that must outlive the call go to the arena. */
bool store_get_facts(store_totals *out, hd_builder *builder, hd_arena *arena, hd_byte_reader body);
bool store_get_metadata(hd_builder *builder, uint32_t string_count, hd_byte_reader body);
bool store_get_ledger(hd_builder *builder, hd_arena *arena, hd_byte_reader body);
/* The tracks get the ids 0, 1 …; with_sums: also data computed from events. */
bool store_get_tracks(hd_builder *builder, uint32_t string_count, bool with_sums, hd_byte_reader body);
bool store_get_shapes(hd_builder *builder, uint32_t string_count, uint32_t first, uint32_t count, hd_byte_reader body);

#endif
