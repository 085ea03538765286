/* write.c - trace -> store
 *
 * Writes   docs/formats/heddle.md
 * Order    facts, strings, metadata, ledger, tracks; then, in the order of the input's events, blocks of 65,536 rows of
 *          one kind, each after the strings and shapes that it is the first to use, and runs of the order; the lane
 *          index and the times of activities; copies of the small tables; footer and trailer
 * Memory   a few blocks for each thread, and 4 bytes for each string of the trace
 *
 * Nothing written is changed later, so if a writer is killed, the complete sections can be read.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/heddle/file/tables.h"
#include "format/heddle/store.h"
#include "format/heddle/write/jobs.h"
#include "model/roles/busy.h"
#include "trace/index/lane_index.h"
#include "trace/lazy.h"

enum { RUN_TEXT_BYTES = 4 << 20, TABLE_LEVEL = 9, LEVEL_MAX = 22 };

typedef struct writer {
    const hd_trace *trace;
    const hd_write_options *options;
    store_sections sections;
    store_ids ids;
    store_jobs *jobs;
    store_gatherer *gatherer;
    store_cursor cursor;
    store_gathered spare; /* gathered before it is known which strings must be written first */
    hd_compressor *compressor;
    uint32_t shapes_written;
    uint32_t pending[HD_KIND_COUNT]; /* rows that are in no block yet */
    char *order;                     /* kinds */
    size_t order_capacity;
    uint32_t order_count;
    store_order_head order_head;
    uint64_t events;
} writer;

/* ---- tables and strings ---- */

/* plain is freed. */
static hd_status add_table(writer *w, store_type type, unsigned flags, const store_run_head *head, hd_bytes *plain,
                           hd_error *err)
{
    store_job *job;
    hd_status status = store_jobs_next(&job, w->jobs, type, err);
    if (status == HD_OK) {
        job->flags = flags;
        if (head) store_put_run_head(&job->head, head);
        status = store_pack(&job->body, w->compressor, plain, err);
    }
    hd_bytes_deinit(plain);
    if (status == HD_OK) store_jobs_give(w->jobs);
    return status;
}

/* How many of the new strings, from `at` on, fit in one section. */
static size_t strings_of_run(hd_string *out, const writer *w, size_t at)
{
    size_t count = 0, bytes = 0;
    while (at + count < w->ids.new_count && count < STORE_RUN_STRINGS && bytes < RUN_TEXT_BYTES) {
        out[count] = hd_trace_string(w->trace, w->ids.new_strings[at + count]);
        bytes += out[count++].size;
    }
    return count;
}

static hd_status add_strings(writer *w, hd_error *err)
{
    uint64_t first = w->ids.string_count - w->ids.new_count;
    for (size_t at = 0; at < w->ids.new_count;) {
        store_job *job;
        HD_TRY(store_jobs_next(&job, w->jobs, STORE_STRINGS, err));
        size_t left = w->ids.new_count - at;
        if (!hd_renew((void **)&job->strings, &job->string_capacity,
                      left < STORE_RUN_STRINGS ? left : STORE_RUN_STRINGS, sizeof *job->strings))
            return HD_NOMEM(err);
        job->string_count = strings_of_run(job->strings, w, at);
        store_put_run_head(&job->head, &(store_run_head){first + at, (uint32_t)job->string_count});
        at += job->string_count;
        store_jobs_give(w->jobs);
    }
    w->ids.new_count = 0;
    return w->ids.failed ? HD_NOMEM(err) : HD_OK;
}

/* Adds shapes that have an id and are in no section, and all such strings. */
static hd_status add_shapes(writer *w, hd_error *err)
{
    store_run_head head = {w->shapes_written, w->ids.shape_count - w->shapes_written};
    hd_bytes plain = {0};
    store_put_shapes(&plain, &w->ids, (uint32_t)head.first, head.count);
    hd_status status = add_strings(w, err);
    w->shapes_written = w->ids.shape_count;
    if (status == HD_OK && head.count) return add_table(w, STORE_SHAPES, 0, &head, &plain, err);
    hd_bytes_deinit(&plain);
    return status;
}

static hd_status add_facts(writer *w, unsigned flags, hd_error *err)
{
    hd_bytes plain = {0};
    store_put_facts(&plain, w->trace);
    return add_table(w, STORE_FACTS, flags, NULL, &plain, err);
}

static hd_status add_front(writer *w, unsigned flags, hd_error *err)
{
    hd_bytes metadata = {0}, ledger = {0}, tracks = {0};
    store_put_metadata(&metadata, &w->ids);
    store_put_tracks(&tracks, &w->ids);
    store_put_ledger(&ledger, w->trace);
    hd_status status = add_facts(w, flags, err);
    if (status == HD_OK) status = add_strings(w, err);
    if (status == HD_OK)
        status = add_table(w, STORE_METADATA, flags, NULL, &metadata, err);
    else
        hd_bytes_deinit(&metadata);
    if (status == HD_OK)
        status = add_table(w, STORE_LEDGER, flags, NULL, &ledger, err);
    else
        hd_bytes_deinit(&ledger);
    if (status == HD_OK) return add_table(w, STORE_TRACKS, flags, NULL, &tracks, err);
    hd_bytes_deinit(&tracks);
    return status;
}

/* Copies of the small tables, so that a flipped bit in one of them loses nothing. */
static hd_status add_copies(writer *w, hd_error *err)
{
    HD_TRY(add_front(w, STORE_COPY, err));
    store_run_head head = {STORE_SHAPE_FIRST, w->ids.shape_count - STORE_SHAPE_FIRST};
    if (head.count == 0) return HD_OK;
    hd_bytes plain = {0};
    store_put_shapes(&plain, &w->ids, (uint32_t)head.first, head.count);
    return add_table(w, STORE_SHAPES, STORE_COPY, &head, &plain, err);
}

static hd_status put_activity(hd_bytes *out, const writer *w, const hd_index *index, hd_error *err)
{
    hd_roles roles;
    int64_t *work_ns;
    hd_status status = hd_roles_init(&roles, w->trace) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = hd_queues_busy(&work_ns, &roles, index, true, err);
    if (status == HD_OK) {
        store_put_activity(out, index, work_ns);
        free(work_ns);
    }
    hd_roles_deinit(&roles);
    return status;
}

/* The trace's own index, if it is consistent; that of a store may be wrong. */
static hd_status put_index(hd_bytes *out, hd_bytes *out_activity, writer *w, hd_error *err)
{
    hd_index *built;
    const hd_index *index = hd_trace_index(w->trace);
    hd_status status = index ? hd_index_save(out, index, w->ids.string_map, NULL) : HD_ERR_DAMAGED;
    if (status == HD_ERR_MEMORY) return HD_NOMEM(err);
    if (status == HD_OK) return put_activity(out_activity, w, index, err);
    out->size = 0;
    HD_TRY(hd_index_build(&built, w->trace, w->options->threads, err));
    status = hd_index_save(out, built, w->ids.string_map, err);
    if (status == HD_OK) status = put_activity(out_activity, w, built, err);
    hd_index_free(built);
    return status;
}

static hd_status add_index(writer *w, hd_error *err)
{
    hd_bytes plain = {0}, activity = {0};
    hd_status status = put_index(&plain, &activity, w, err);
    if (status == HD_OK)
        status = add_table(w, STORE_INDEX, STORE_SKIPPABLE, NULL, &plain, err);
    else
        hd_bytes_deinit(&plain);
    if (status == HD_OK) return add_table(w, STORE_ACTIVITY, STORE_SKIPPABLE, NULL, &activity, err);
    hd_bytes_deinit(&activity);
    return status;
}

/* ---- events ---- */

static hd_status add_block(writer *w, hd_kind kind, hd_error *err)
{
    uint32_t count = w->pending[kind];
    if (count == 0) return HD_OK;
    w->pending[kind] = 0;
    HD_TRY(store_gather(&w->spare, w->gatherer, &w->cursor, kind, count, err));
    HD_TRY(add_shapes(w, err));
    store_job *job;
    HD_TRY(store_jobs_next(&job, w->jobs, STORE_BLOCK, err));
    job->string_limit = w->ids.string_count;
    store_gathered swap = job->block;
    job->block = w->spare;
    w->spare = swap;
    store_jobs_give(w->jobs);
    return HD_OK;
}

static hd_status add_order(writer *w, hd_error *err)
{
    store_job *job;
    if (w->order_count == 0) return HD_OK;
    HD_TRY(store_jobs_next(&job, w->jobs, STORE_ORDER, err));
    if (!hd_renew((void **)&job->order, &job->order_capacity, w->order_count, sizeof *job->order)) return HD_NOMEM(err);
    for (uint32_t i = 0; i < w->order_count; i++) job->order[i] = (uint8_t)w->order[i];
    job->order_count = w->order_count;
    store_put_order_head(&job->head, &w->order_head);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        w->order_head.before[kind] += w->order_head.counts[kind];
        w->order_head.counts[kind] = 0;
    }
    w->order_count = 0;
    store_jobs_give(w->jobs);
    return HD_OK;
}

static hd_status add_event(writer *w, uint8_t kind, hd_error *err)
{
    w->order[w->order_count++] = (char)kind;
    w->order_head.counts[kind]++;
    if (++w->pending[kind] == HD_BLOCK_ROWS) HD_TRY(add_block(w, (hd_kind)kind, err));
    return w->order_count == STORE_RUN_EVENTS ? add_order(w, err) : HD_OK;
}

static hd_status add_events(writer *w, hd_error *err)
{
    for (size_t run = 0; run < hd_trace_order_count(w->trace); run++) {
        size_t count;
        const uint8_t *order = hd_trace_order_at(&count, w->trace, run);
        size_t room = w->order_count + count < STORE_RUN_EVENTS ? w->order_count + count : STORE_RUN_EVENTS;
        if (!hd_reserve(&w->order, &w->order_capacity, room)) return HD_NOMEM(err);
        for (size_t i = 0; i < count; i++) HD_TRY(add_event(w, order[i], err));
        w->events += count;
        if (w->options->progress)
            w->options->progress(w->options->progress_user, w->events, hd_trace_event_count(w->trace));
    }
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) HD_TRY(add_block(w, (hd_kind)kind, err));
    return add_order(w, err);
}

/* ---- the file ---- */

static hd_status start(writer *w, hd_error *err)
{
    int level = w->options->level;
    if (level < 0 || level > LEVEL_MAX)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "compression level %d is not in 0..%d", level,
                            LEVEL_MAX);
    HD_TRY(store_ids_init(&w->ids, w->trace, err));
    HD_TRY(store_gatherer_new(&w->gatherer, &w->ids, err));
    HD_TRY(hd_compressor_new(&w->compressor, TABLE_LEVEL, err));
    w->shapes_written = w->ids.shape_count;
    HD_TRY(store_jobs_new(&w->jobs, &w->sections, w->options->threads, level, err));
    return store_sections_start(&w->sections, err);
}

static hd_status write_all(writer *w, hd_error *err)
{
    HD_TRY(start(w, err));
    HD_TRY(add_front(w, 0, err));
    HD_TRY(add_events(w, err));
    HD_TRY(add_index(w, err));
    HD_TRY(add_copies(w, err));
    HD_TRY(store_jobs_drain(w->jobs, err));
    hd_write_note(w->options, HEDDLE_STAGE, "heddle.block-unreadable", HD_LEDGER_LOSS, hd_trace_unloaded(w->trace));
    return store_sections_finish(&w->sections, err);
}

hd_status heddle_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err)
{
    writer w = {.trace = trace, .options = options, .sections = {.output = output}};
    hd_status status = write_all(&w, err);
    store_jobs_free(w.jobs);
    store_gatherer_free(w.gatherer);
    store_gathered_deinit(&w.spare);
    store_ids_deinit(&w.ids);
    store_sections_deinit(&w.sections);
    hd_compressor_free(w.compressor);
    free(w.order);
    return status;
}
