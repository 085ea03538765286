/* read.c - perf.data -> samples
 *
 * Format   what `perf record` writes since Linux 3.2: files ("PERFILE2", a header of 0x68 bytes) and pipes (of 0x10),
 *          of little- and big-endian machines.
 *          Specified by perf.data-file-format.txt and the header perf_event of Linux. docs/formats/perfdata.md
 * Sniffs   the first 8 bytes
 * Maps     sample -> sample named by its event; its chain -> stackFrames as MODULE+0xOFFSET, `sf`; period -> weight;
 *          cpu, address -> arguments; comm -> the thread's name; exec, fork, exit, switch … -> instants; mappings ->
 *          the key `modules`; the machine -> the key `perf`
 * Units    ns on the clock of the recording          Shapes   n samples -> n rows
 * Limits   65,536 mappings a process
 * Damage   after bytes that are not a record, reading continues where consecutive records are found again
 * Errors   FORMAT: no header; DAMAGED: strict
 *
 * The kernel writes a buffer per CPU, and perf copies them one after the other, in rounds: records after the second end
 * of a round are later than all records before the first one. So records are held in a queue, sorted by time.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "format/perfdata/perfdata.h"

enum { FILE_HEADER_BYTES = 0x68, PIPE_HEADER_BYTES = 0x10, FEATURES = 256, LOOK_RECORDS = 4, SEARCH_BYTES = 1 << 16 };
enum { PLAIN_LIMIT = 64 << 20, QUEUE_BYTES = 128 << 20, PROGRESS_RECORDS = 1 << 14 };

static const hd_stack_code codes[] = {
    [PERFDATA_DAMAGED] = {"perfdata.bytes-skipped", HD_LEDGER_LOSS, NULL},
    [PERFDATA_TRUNCATED] = {"perfdata.truncated", HD_LEDGER_LOSS, NULL},
    [PERFDATA_HEADER_DAMAGED] = {"perfdata.header-damaged", HD_LEDGER_LOSS, NULL},
    [PERFDATA_SAMPLE_DAMAGED] = {"perfdata.sample-damaged", HD_LEDGER_LOSS, NULL},
    [PERFDATA_NO_EVENT] = {"perfdata.event-unknown", HD_LEDGER_LOSS, NULL},
    [PERFDATA_EVENTS_LOST] = {"perfdata.events-lost", HD_LEDGER_LOSS, NULL},
    [PERFDATA_SAMPLES_LOST] = {"perfdata.samples-lost", HD_LEDGER_LOSS, NULL},
    [PERFDATA_FIELDS] = {"perfdata.field-left-out", HD_LEDGER_NOTE, NULL},
    [PERFDATA_LAYOUT_MISSING] = {"perfdata.layout-missing", HD_LEDGER_LOSS, NULL},
    [PERFDATA_USER_STACK] = {"perfdata.stack-not-unwound", HD_LEDGER_LOSS, NULL},
    [PERFDATA_UNUSED] = {"perfdata.record-left-out", HD_LEDGER_LOSS, NULL},
    [PERFDATA_MAPS_MANY] = {"perfdata.mappings-many", HD_LEDGER_LOSS, NULL},
    [PERFDATA_TIME] = {"perfdata.time", HD_LEDGER_LOSS, NULL},
    [PERFDATA_UTF8] = {"perfdata.utf8", HD_LEDGER_REPAIR, NULL},
    [PERFDATA_SWITCHES] = {"perfdata.switch-missing", HD_LEDGER_NOTE, NULL},
    [PERFDATA_COMM_CHANGED] = {"perfdata.comm-changed", HD_LEDGER_NOTE, NULL},
};

/* A record that waits for its time. */
typedef struct waiting {
    uint64_t time;
    size_t at; /* in the queue */
    uint64_t offset;
} waiting;

typedef struct stream {
    perfdata_reader *r;
    hd_pieces pieces;
    hd_window window;
    uint64_t at, end; /* of the records */
    hd_bytes queue;   /* bytes of those that wait */
    waiting *list, *spare;
    size_t count, capacity, spare_capacity;
    bool is_unsorted;
    uint64_t newest, flush_up_to; /* times: of all so far; of those before the last end of a round */
    hd_decompressor *decompressor;
    hd_bytes plain; /* decompressed, not yet a whole record */
    uint64_t records;
} stream;

hd_status perfdata_count(perfdata_reader *r, int code, uint64_t count, uint64_t offset)
{
    const hd_line line = {.offset = offset};
    return hd_stack_samples_count(&r->samples, (size_t)code, count, &line);
}

/* ---- the order of times ---- */

static bool sort_waiting(stream *s)
{
    if (!s->is_unsorted) return true;
    if (s->spare_capacity < s->capacity) {
        waiting *spare = realloc(s->spare, s->capacity * sizeof *spare);
        if (!spare) return false;
        s->spare = spare;
        s->spare_capacity = s->capacity;
    }
    HD_SORT_RUNS(s->list, s->spare, s->count, x, y, x->time < y->time);
    return true;
}

/* Moves the remaining records to the front, in original order. */
static hd_status keep_rest(stream *s, size_t from)
{
    hd_bytes rest = {0};
    for (size_t i = from; i < s->count; i++) {
        perfdata_record record;
        perfdata_head(&record, s->queue.data + s->list[i].at, s->r->events.is_big);
        s->list[i - from] = (waiting){s->list[i].time, rest.size, s->list[i].offset};
        hd_bytes_put(&rest, record.data, record.size);
    }
    s->count -= from;
    hd_bytes_deinit(&s->queue);
    s->queue = rest;
    return rest.failed ? HD_NOMEM(s->r->samples.err) : HD_OK;
}

static hd_status flush(stream *s, uint64_t up_to)
{
    size_t i = 0;
    if (!s->count) return HD_OK;
    if (!sort_waiting(s)) return HD_NOMEM(s->r->samples.err);
    for (; i < s->count && s->list[i].time <= up_to; i++) {
        perfdata_record record = {.offset = s->list[i].offset};
        perfdata_head(&record, s->queue.data + s->list[i].at, s->r->events.is_big);
        HD_TRY(perfdata_place(s->r, &record));
    }
    if (i < s->count) return keep_rest(s, i);
    s->count = s->queue.size = 0;
    s->is_unsorted = false;
    return HD_OK;
}

static hd_status end_round(stream *s)
{
    HD_TRY(flush(s, s->flush_up_to));
    s->flush_up_to = s->newest;
    return HD_OK;
}

/* Without times at the end of all records, the file's order is all there is. */
static hd_status add_record(stream *s, const perfdata_record *record)
{
    perfdata_reader *r = s->r;
    uint64_t time;
    bool waits = r->events.count && r->events.list->has_all && perfdata_time(&time, &r->events, record) && time &&
                 time != UINT64_MAX;
    if (!waits) return perfdata_place(r, record);
    if (!hd_grow((void **)&s->list, &s->capacity, s->count, sizeof *s->list)) return HD_NOMEM(r->samples.err);
    s->list[s->count++] = (waiting){time, s->queue.size, record->offset};
    hd_bytes_put(&s->queue, record->data, record->size);
    s->is_unsorted |= time < s->newest;
    if (time > s->newest) s->newest = time;
    if (s->queue.failed) return HD_NOMEM(r->samples.err);
    return s->queue.size > QUEUE_BYTES ? end_round(s) : HD_OK; /* perf writes rounds far smaller than that */
}

/* ---- records ---- */

static hd_status take_record(stream *s, const perfdata_record *record);

/* Records may continue in the next chunk. */
static hd_status take_compressed(stream *s, const perfdata_record *record)
{
    const uint8_t *data = record->data + PERFDATA_HEAD_BYTES;
    size_t size = record->size - PERFDATA_HEAD_BYTES, at = 0;
    hd_error *err = s->r->samples.err, own = {0};
    if (record->type == PERFDATA_COMPRESSED2) { /* preceded by its size, followed by zeros */
        uint64_t given = size >= 8 ? perfdata_get(record->is_big, data, 8) : 0;
        data += size >= 8 ? 8 : 0;
        size = given <= size - (size >= 8 ? 8 : 0) ? (size_t)given : 0;
    }
    hd_status status = hd_zstd_continue(&s->plain, &s->decompressor, data, size, PLAIN_LIMIT, &own);
    if (status == HD_ERR_MEMORY) return HD_NOMEM(err);
    bool damaged = status != HD_OK;
    while (s->plain.size - at >= PERFDATA_HEAD_BYTES) {
        perfdata_record inner;
        bool fine = perfdata_head(&inner, s->plain.data + at, record->is_big) && inner.type != PERFDATA_COMPRESSED &&
                    inner.type != PERFDATA_COMPRESSED2;
        damaged |= !fine;
        if (!fine) at = s->plain.size;
        if (!fine || inner.size > s->plain.size - at) break;
        inner.offset = record->offset;
        HD_TRY(take_record(s, &inner));
        at += inner.size;
    }
    if (damaged) at = s->plain.size;
    s->plain.size -= at;
    memmove(s->plain.data, s->plain.data + at, s->plain.size);
    return damaged ? perfdata_count(s->r, PERFDATA_DAMAGED, 1, record->offset) : HD_OK;
}

static hd_status take_attr(stream *s, const perfdata_record *record)
{
    const uint8_t *attr = record->data + PERFDATA_HEAD_BYTES;
    size_t size = record->size - PERFDATA_HEAD_BYTES,
           attr_size = size >= 8 ? (size_t)perfdata_get(record->is_big, attr + 4, 4) : 0;
    if (attr_size > size) attr_size = 0;
    return perfdata_add_attr(s->r, attr, attr_size, attr + attr_size, size - attr_size, record->offset);
}

/* The layouts of tracepoints. */
static hd_status read_layouts(perfdata_reader *r, const hd_pieces *pieces, uint64_t offset, uint64_t size)
{
    char version[16] = "";
    tp_input in = {.window = {.pieces = pieces}, .at = offset, .end = offset + size, .err = r->samples.err};
    hd_status status = HD_OK;
    bool good = tp_data_magic(&r->layouts, &in, version) && !r->layouts.is_big_endian;
    if (good) status = tp_data_read(&r->layouts, &in, strcmp(version, "0.6") >= 0);
    good = good && !in.failed && !r->layouts.bad_layouts;
    hd_window_deinit(&in.window);
    if (status != HD_OK || good) return status;
    return perfdata_count(r, PERFDATA_HEADER_DAMAGED, 1, offset);
}

static hd_status take_record(stream *s, const perfdata_record *record)
{
    enum { FEATURE_HEAD = 16 };
    switch (record->type) {
    case PERFDATA_ATTR: return take_attr(s, record);
    case PERFDATA_EVENT_TYPE:
    case PERFDATA_EVENT_UPDATE: perfdata_update_event(s->r, record); return HD_OK;
    case PERFDATA_BUILD_ID: perfdata_add_build_id(s->r, record->data, record->size); return HD_OK;
    case PERFDATA_FINISHED_ROUND: return end_round(s);
    case PERFDATA_COMPRESSED:
    case PERFDATA_COMPRESSED2: return take_compressed(s, record);
    case PERFDATA_ID_INDEX:
    case PERFDATA_THREAD_MAP:
    case PERFDATA_CPU_MAP:
    case PERFDATA_TIME_CONV:
    case PERFDATA_FINISHED_INIT: return HD_OK; /* of perf itself */
    case PERFDATA_FEATURE:
        if (record->size < FEATURE_HEAD) return perfdata_count(s->r, PERFDATA_HEADER_DAMAGED, 1, record->offset);
        return perfdata_feature(s->r, perfdata_get(record->is_big, record->data + PERFDATA_HEAD_BYTES, 8),
                                record->data + FEATURE_HEAD, record->size - FEATURE_HEAD, record->offset);
    default: return add_record(s, record);
    }
}

/* Bytes after a record that its size does not include. */
static uint64_t bytes_behind(const perfdata_record *record)
{
    if (record->type == PERFDATA_TRACING_DATA && record->size >= 12)
        return perfdata_get(record->is_big, record->data + 8, 4);
    if (record->type == PERFDATA_AUXTRACE && record->size >= 16)
        return perfdata_get(record->is_big, record->data + 8, 8);
    return 0;
}

/* ---- damage ---- */

/* Whether some records follow each other from data[0] on, and the last ends where the input does. */
static bool are_records(const uint8_t *data, size_t size, bool is_all, bool is_big)
{
    size_t at = 0;
    int count = 0;
    for (; count < LOOK_RECORDS && at < size; count++) {
        perfdata_record record;
        if (size - at < PERFDATA_HEAD_BYTES) return !is_all && count > 1;
        if (!perfdata_head(&record, data + at, is_big)) return false;
        at += record.size;
    }
    return at <= size ? count > 0 : !is_all && count > 2;
}

static hd_status skip_damage(stream *s)
{
    HD_TRY(perfdata_count(s->r, PERFDATA_DAMAGED, 1, s->at));
    for (s->at++; s->at < s->end;) {
        uint64_t left = s->end - s->at;
        size_t size = left < 2 * SEARCH_BYTES ? (size_t)left : 2 * SEARCH_BYTES, i = 0;
        const uint8_t *data = hd_window_at(&s->window, s->at, size, s->r->samples.err);
        if (!data) return HD_ERR_IO;
        size_t last = left > size ? SEARCH_BYTES : size;
        while (i < last && !are_records(data + i, size - i, left == size, s->r->events.is_big)) i++;
        s->at += i;
        if (i < last) return HD_OK;
    }
    return HD_OK;
}

/* ---- the file ---- */

static hd_status read_record(stream *s)
{
    perfdata_record record = {.offset = s->at};
    hd_error *err = s->r->samples.err;
    uint64_t left = s->end - s->at;
    if (left < PERFDATA_HEAD_BYTES) {
        s->at = s->end;
        return perfdata_count(s->r, PERFDATA_TRUNCATED, 1, record.offset);
    }
    const uint8_t *data = hd_window_at(&s->window, s->at, PERFDATA_HEAD_BYTES, err);
    if (!data) return HD_ERR_IO;
    if (!perfdata_head(&record, data, s->r->events.is_big)) return skip_damage(s);
    if (record.size > left) {
        s->at = s->end;
        return perfdata_count(s->r, PERFDATA_TRUNCATED, 1, record.offset);
    }
    record.data = hd_window_at(&s->window, s->at, record.size, err);
    if (!record.data) return HD_ERR_IO;
    uint64_t behind = bytes_behind(&record);
    s->at += record.size;
    if (behind > s->end - s->at) {
        HD_TRY(perfdata_count(s->r, PERFDATA_TRUNCATED, 1, record.offset));
        behind = s->end - s->at;
    }
    if (record.type == PERFDATA_TRACING_DATA) HD_TRY(read_layouts(s->r, &s->pieces, s->at, behind));
    s->at += behind;
    return record.type == PERFDATA_TRACING_DATA ? HD_OK : take_record(s, &record);
}

static hd_status read_records(stream *s)
{
    const hd_read_options *o = s->r->samples.options;
    while (s->at < s->end) {
        HD_TRY(read_record(s));
        HD_TRY(s->r->refused);
        if (o->progress && ++s->records % PROGRESS_RECORDS == 0) o->progress(o->progress_user, s->at, s->pieces.size);
    }
    HD_TRY(flush(s, UINT64_MAX));
    return s->plain.size ? perfdata_count(s->r, PERFDATA_TRUNCATED, 1, s->end) : HD_OK;
}

/* The existing part of a section of the file. The caller frees *out, NULL: none of it exists. */
static hd_status read_section(stream *s, uint8_t **out, size_t *out_size, uint64_t offset, uint64_t size)
{
    uint64_t left = offset < s->pieces.size ? s->pieces.size - offset : 0;
    *out_size = 0;
    *out = NULL;
    if (size > left) HD_TRY(perfdata_count(s->r, PERFDATA_TRUNCATED, 1, offset));
    if (size > left) size = left;
    if (!size) return HD_OK;
    *out = malloc((size_t)size);
    if (!*out) return HD_NOMEM(s->r->samples.err);
    *out_size = (size_t)size;
    return hd_pieces_read(&s->pieces, *out, offset, (size_t)size, s->r->samples.err);
}

static hd_status read_attr(stream *s, const uint8_t *attr, size_t size, uint64_t offset)
{
    uint8_t *ids;
    size_t id_bytes;
    hd_status status = read_section(s, &ids, &id_bytes, perfdata_get(s->r->events.is_big, attr + size - 16, 8),
                                    perfdata_get(s->r->events.is_big, attr + size - 8, 8));
    if (status == HD_OK) status = perfdata_add_attr(s->r, attr, size - 16, ids, id_bytes, offset);
    free(ids);
    return status;
}

static hd_status read_attrs(stream *s, const uint8_t *header)
{
    uint8_t *data;
    size_t size, each = (size_t)perfdata_get(s->r->events.is_big, header + 16, 8);
    uint64_t offset = perfdata_get(s->r->events.is_big, header + 24, 8);
    hd_status status = read_section(s, &data, &size, offset, perfdata_get(s->r->events.is_big, header + 32, 8));
    if (each < PERFDATA_ATTR_BYTES + 16) each = 0;
    if (status == HD_OK && !each && size) status = perfdata_count(s->r, PERFDATA_HEADER_DAMAGED, 1, offset);
    for (size_t at = 0; each && status == HD_OK && each <= size - at; at += each)
        status = read_attr(s, data + at, each, offset + at);
    free(data);
    return status;
}

static hd_status read_feature(stream *s, uint64_t bit, uint64_t place)
{
    enum { FEATURE_TRACING_DATA = 1 };
    uint8_t section[16], *data;
    size_t size;
    if (s->pieces.size < sizeof section || place > s->pieces.size - sizeof section)
        return perfdata_count(s->r, PERFDATA_TRUNCATED, 1, place);
    HD_TRY(hd_pieces_read(&s->pieces, section, place, sizeof section, s->r->samples.err));
    uint64_t offset = perfdata_get(s->r->events.is_big, section, 8),
             bytes = perfdata_get(s->r->events.is_big, section + 8, 8);
    if (bit == FEATURE_TRACING_DATA && offset < s->pieces.size && bytes <= s->pieces.size - offset)
        return read_layouts(s->r, &s->pieces, offset, bytes);
    hd_status status = read_section(s, &data, &size, offset, bytes);
    if (status == HD_OK && size) status = perfdata_feature(s->r, bit, data, size, offset);
    free(data);
    return status;
}

/* The bits are in words of 8 bytes, or of 4 of a machine of 32 bits: there perf always has the host's name. */
static bool has_feature(const uint8_t *bits, uint64_t bit, bool is_big)
{
    enum { HOSTNAME_BIT = 3 };
    size_t mirror = !is_big ? 0 : bits[7] >> HOSTNAME_BIT & 1 ? 7 : 3;
    return bits[bit / 8 ^ mirror] >> bit % 8 & 1;
}

static hd_status read_file(stream *s)
{
    uint8_t header[FILE_HEADER_BYTES];
    HD_TRY(hd_pieces_read(&s->pieces, header, 0, sizeof header, s->r->samples.err));
    uint64_t data = perfdata_get(s->r->events.is_big, header + 40, 8),
             size = perfdata_get(s->r->events.is_big, header + 48, 8), place = data + size;
    HD_TRY(read_attrs(s, header));
    bool whole = data <= s->pieces.size && size && size <= s->pieces.size - data;
    for (uint64_t bit = 0; bit < FEATURES && whole; bit++) {
        if (!has_feature(header + 72, bit, s->r->events.is_big)) continue;
        HD_TRY(read_feature(s, bit, place));
        place += 16;
    }
    s->at = data < s->pieces.size ? data : s->pieces.size;
    s->end = whole ? data + size : s->pieces.size;
    if (!whole) HD_TRY(perfdata_count(s->r, PERFDATA_TRUNCATED, 1, s->end)); /* perf was killed, or the file is cut */
    return read_records(s);
}

static hd_status read_input(stream *s, hd_input *input)
{
    hd_error *err = s->r->samples.err;
    uint8_t head[PIPE_HEADER_BYTES];
    HD_TRY(hd_pieces_open(&s->pieces, input, err));
    s->window.pieces = &s->pieces;
    s->r->spaces.limit = s->pieces.size / sizeof(perfdata_mapping) + (1 << 16);
    hd_builder_facts(s->r->samples.builder)->input_bytes = s->pieces.size;
    if (s->pieces.size < sizeof head)
        return hd_error_set(err, HD_ERR_FORMAT, NULL, 0, "expected a header of perf.data");
    HD_TRY(hd_pieces_read(&s->pieces, head, 0, sizeof head, err));
    s->r->events.is_big = memcmp(head, PERFDATA_BIG_MAGIC, 8) == 0;
    bool is_pipe = perfdata_get(s->r->events.is_big, head + 8, 8) == PIPE_HEADER_BYTES;
    if (!is_pipe && s->pieces.size < FILE_HEADER_BYTES)
        return hd_error_set(err, HD_ERR_FORMAT, NULL, 0, "expected a header of perf.data, found a part of it");
    s->at = PIPE_HEADER_BYTES;
    s->end = s->pieces.size;
    HD_TRY(is_pipe ? read_records(s) : read_file(s));
    return hd_pieces_unchanged(&s->pieces, err);
}

static hd_status finish(perfdata_reader *r)
{
    hd_builder *b = r->samples.builder;
    if (r->events.count > 1) perfdata_put_events(r);
    if (r->about.size) {
        hd_json_put_text(&r->about, "}");
        if (r->about.failed) return HD_NOMEM(r->samples.err);
        const uint32_t key_id = hd_builder_intern_text(b, "perf");
        hd_builder_metadata(b, key_id, hd_builder_intern(b, r->about.data, r->about.size), false);
    }
    HD_TRY(r->refused);
    HD_TRY(perfdata_finish_modules(r));
    HD_TRY(tp_finish(&r->tracepoints));
    HD_TRY(perfdata_count(r, PERFDATA_UTF8, r->tracepoints.repaired, HD_OFFSET_NONE));
    HD_TRY(perfdata_count(r, PERFDATA_SWITCHES, r->tracepoints.switches_lost, HD_OFFSET_NONE));
    return hd_stack_samples_finish(&r->samples);
}

static void deinit(perfdata_reader *r, stream *s)
{
    hd_map *const maps[] = {&r->events.by_id,   &r->comms,          &r->build_ids,
                            &r->module_by_path, &r->module_by_name, &r->nodes};
    hd_stack_samples_close(&r->samples);
    tp_layouts_deinit(&r->layouts.layouts);
    tp_close(&r->tracepoints);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) hd_map_deinit(maps[i]);
    perfdata_spaces_deinit(&r->spaces);
    hd_bytes_deinit(&r->text);
    free(r->events.list);
    free(r->modules);
    free(r->chain);
    free(r->modes);
    free(r->about.data);
    hd_window_deinit(&s->window);
    hd_pieces_close(&s->pieces);
    hd_bytes_deinit(&s->queue);
    hd_bytes_deinit(&s->plain);
    hd_decompressor_free(s->decompressor);
    free(s->list);
    free(s->spare);
}

hd_status perfdata_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    perfdata_reader r = {0};
    stream s = {.r = &r};
    hd_builder_facts(builder)->base_ns = HD_NO_TIME;
    hd_status status = hd_stack_samples_open(&r.samples, builder, input, "perfdata", codes, options, err);
    if (status == HD_OK) status = tp_open(&r.tracepoints, builder, options, err);
    r.layouts.place = &r.tracepoints;
    if (status == HD_OK) status = read_input(&s, input);
    if (status == HD_OK) status = finish(&r);
    deinit(&r, &s);
    return status;
}
