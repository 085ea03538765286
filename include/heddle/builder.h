/* builder.h - builds a trace event by event
 *
 * A builder owns the strings, tracks and shapes; a batch collects rows. Readers with several threads give each
 * a batch and append the batches' chunks in the order of the input; all other callers use one batch.
 *
 *     hd_builder_new(&builder, err);                     hd_batch_new(&batch, builder, err);
 *     row = HD_ROW(HD_KIND_SLICE); row.start_ns = …;     hd_batch_add(batch, &row, values, err);
 *     hd_batch_take(&chunk, batch, err);                 hd_builder_append(builder, chunk, err);
 *     hd_builder_finish(&trace, builder, err);
 *
 * hd_builder_intern, _track and _shape may be called from any thread; a batch, and every other function of a
 * builder, is used by one thread at a time.
 */
#ifndef HEDDLE_BUILDER_H
#define HEDDLE_BUILDER_H

#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_builder hd_builder;
typedef struct hd_batch hd_batch;
typedef struct hd_chunk hd_chunk;

hd_status hd_builder_new(hd_builder **out, hd_error *err);
void hd_builder_free(hd_builder *builder); /* of a builder that was not finished */

/* The id of a text (copied in). Equal texts have equal ids. HD_STRING_NONE: no memory; finish fails then. At most 4 GiB
 * a string, 2^32 - 2 strings. Ids depend on the order of calls. */
uint32_t hd_builder_intern(hd_builder *builder, const char *data, size_t size);
uint32_t hd_builder_intern_text(hd_builder *builder, const char *text); /* NUL-terminated */
hd_string hd_builder_string(const hd_builder *builder, uint32_t id);

/* The track of a (pid, tid), made at its first use. tid.type HD_IDENT_NONE with `process` true: the process itself. */
uint32_t hd_builder_track(hd_builder *builder, hd_ident pid, hd_ident tid, bool process);
/* Short for numeric pid and tid. */
uint32_t hd_builder_thread(hd_builder *builder, int64_t pid, int64_t tid);
/* Change the pid and tid of a track whose events come before its metadata; with a pid and no tid it is the process.
 * false: another track has them. */
bool hd_builder_identify_track(hd_builder *builder, uint32_t track, hd_ident pid, hd_ident tid);
/* The metadata of a track. Single thread, before finish. name, labels: string ids. */
void hd_builder_name_track(hd_builder *builder, uint32_t track, uint32_t name);
void hd_builder_label_track(hd_builder *builder, uint32_t track, uint32_t labels);
void hd_builder_sort_track(hd_builder *builder, uint32_t track, int64_t sort_index);
void hd_builder_set_stream(hd_builder *builder, uint32_t track, int64_t device, int64_t stream);
void hd_builder_set_rank(hd_builder *builder, uint32_t track, int64_t rank);

/* The id of a shape, made at its first use. After HD_SHAPE_LIMIT shapes it returns HD_NONE. Then use the shape that
 * always exists, with one HD_ARG_JSON value under the key "": the text of an object of all members of the event without
 * a column, `args` included. The argument "correlation", else "correlationId", else "correlation_id" is the correlation
 * id (hd_shape.correlation) and fills HD_COL_CORRELATION. */
enum { HD_SHAPE_LIMIT = 4096 };
uint32_t hd_builder_shape(hd_builder *builder, const hd_arg_key *keys, uint32_t key_count, bool has_args);
uint32_t hd_builder_raw_shape(hd_builder *builder);

typedef struct hd_row {
    hd_kind kind;
    uint32_t track, name, category;
    uint32_t phase; /* with HD_FLAG_… */
    uint32_t shape;
    int64_t start_ns, duration_ns;
    uint32_t start_ps, end_ps;       /* 0…999 */
    uint64_t start_finer, end_finer; /* below that, in 1 / HD_FINER_PER_PS */
    uint32_t id_type;
    int64_t id;
    uint64_t source_offset;
    uint32_t source_size;
} hd_row;

/* No time, no duration, no name, no arguments. */
hd_row hd_row_of(hd_kind kind, char phase);

hd_status hd_batch_new(hd_batch **out, hd_builder *builder, hd_error *err);
void hd_batch_free(hd_batch *batch);
/* Add a row; values[i] belongs to key i of the row's shape (NULL for a shape without keys). */
hd_status hd_batch_add(hd_batch *batch, const hd_row *row, const int64_t *values, hd_error *err);
uint64_t hd_batch_row_count(const hd_batch *batch);
/* Hand over all rows as sealed blocks; the batch is empty again and may be reused. */
hd_status hd_batch_take(hd_chunk **out, hd_batch *batch, hd_error *err);
/* Forget the rows. */
void hd_batch_clear(hd_batch *batch);
void hd_chunk_free(hd_chunk *chunk);

/* Append takes the chunk over, also when it fails. */
hd_status hd_builder_append(hd_builder *builder, hd_chunk *chunk, hd_error *err);

/* stage and code are static strings. offset: HD_OFFSET_NONE if none. Rows of one (stage, code) are summed. */
void hd_builder_ledger(hd_builder *builder, const char *stage, const char *code, hd_ledger_level level, uint64_t count,
                       uint64_t offset);
/* The same, with a description of the first occurrence (a string id). */
void hd_builder_ledger_detail(hd_builder *builder, const char *stage, const char *code, hd_ledger_level level,
                              uint64_t count, uint64_t offset, uint32_t detail);
void hd_builder_metadata(hd_builder *builder, uint32_t key, uint32_t value, bool after_events);
/* Patches come nearly in the order of the input; adjacent removals are merged. After some millions no more are kept and
 * facts.needs_rewrite is set. */
void hd_builder_patch(hd_builder *builder, uint64_t offset, uint64_t size, uint32_t text);
/* For readers with several threads, once all is appended and before tracks get names: threads are numbered in the order
 * of their first events, and threads without events are removed, such as those of rows that were never appended. */
hd_status hd_builder_settle_tracks(hd_builder *builder, hd_error *err);
hd_trace_facts *hd_builder_facts(hd_builder *builder);
/* Copies the facts of the trace that this one is made from; that trace may be freed then. The span is not copied, since
 * finish computes it, nor is the fact that the bytes are in a file. */
hd_trace_facts *hd_builder_copy_facts(hd_builder *builder, const hd_trace *trace);
/* What has been appended so far, to be read back; valid until the next append. */
const hd_trace *hd_builder_trace(const hd_builder *builder);

/* Freeze: pairs begin and end events, counts, finds spans and processes. Takes the builder, also when it fails. */
hd_status hd_builder_finish(hd_trace **out, hd_builder *builder, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
