/* read.c - a capture -> trace
 *
 * Format   docs/formats/capture.md, versions 1.x
 * Sniffs   the magic
 * Maps     slices -> X; begin, end -> B, E; instants; counters -> the argument "value"; flows; memory -> PyTorch's
 *          [memory] instants
 *          a capture of the last events alone: events that ended before its first segment are counted as aged out; a
 *          slice declares when it was recorded
 * Units    ns of CLOCK_MONOTONIC; facts.base_ns from the header       Shapes   n events -> n rows
 * Limits   names and threads of capture_wire.h, payloads of 16 MiB
 * Errors   UNSUPPORTED: another major version;
 *          DAMAGED: not even a whole header
 *
 * Chunks are consecutive, each with its checksums. A truncated file has whole chunks up to the cut. After damaged bytes
 * the reader continues at the next whole chunk; the numbers of a thread's events show what is missing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/capture_windows.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/io/pieces.h"
#include "base/json/write.h"
#include "base/memory/vector.h"
#include "format/capture/capture.h"

/* A thread of the file. */
typedef struct thread {
    uint32_t track;            /* HD_NONE: not given yet */
    uint32_t name;             /* string id */
    uint64_t tid;              /* 0: unknown */
    bool has_elsewhere;        /* events on tracks of others */
    uint64_t next;             /* number of its next event */
    uint64_t refused, evicted; /* so far */
} thread;

/* Of a capture that keeps its last events alone: what was before the first segment that is left. */
typedef struct aged {
    bool is_known; /* there is a segment */
    int64_t from_ns, until_ns;
    uint64_t written; /* all that was written before it */
    uint64_t events;  /* those of them that a trace would have, and those of the segment that ended before it */
    uint32_t *depths; /* open slices, by track */
    size_t depth_count;
} aged;

typedef struct chunk {
    uint64_t offset; /* of its header */
    unsigned type;
    uint32_t thread, number;
    hd_byte_reader payload;
} chunk;

typedef struct reader {
    hd_builder *builder;
    const hd_read_options *options;
    hd_error *err;
    hd_pieces file;
    hd_window window; /* where it is read */
    hd_status status; /* of reading bytes, which ends everything */
    capture_context context;
    capture_rows *rows;
    uint32_t pid;
    uint64_t *events; /* offsets of the chunks that are read last: threads and their events */
    size_t event_count, event_capacity;
    thread *threads;
    uint32_t *by_number; /* index + 1 into threads, by the number in the file; 0: none */
    size_t number_count;
    uint32_t *track_owners; /* the thread of each track, 0: none */
    size_t track_count;
    size_t thread_count, thread_capacity;
    bool is_finished;
    aged aged;
    uint64_t missing, refused, evicted, nested, skipped_bytes, skipped_at;
    uint64_t bad_payload, wasted;                             /* see next_chunk */
    uint64_t seen;                                            /* events of the chunks that are here */
    uint64_t all_written, all_refused, all_evicted, all_lost; /* as the end says */
} reader;

int capture_sniff(const unsigned char *head, size_t size)
{
    return size >= CAPTURE_MAGIC_BYTES && memcmp(head, CAPTURE_MAGIC, CAPTURE_MAGIC_BYTES) == 0 ? 100 : 0;
}

static hd_status damaged(const reader *r, uint64_t offset, const char *what)
{
    return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, offset, "%s", what);
}

static hd_status note(reader *r, const char *code, hd_ledger_level level, uint64_t count, uint64_t offset)
{
    if (!count) return HD_OK;
    if (r->options->strict && level != HD_LEDGER_NOTE)
        return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, offset, "%s (%llu), and --strict refuses it", code,
                            (unsigned long long)count);
    hd_builder_ledger(r->builder, CAPTURE_STAGE, code, level, count, offset);
    return HD_OK;
}

/* Without an end chunk, the events in the program's rings are lost, an unknown number. They were lost in the program,
 * not by this reader: so a capture that has just begun is an empty trace, not an unreadable one. */
static hd_status note_end(reader *r)
{
    static const char code[] = "capture.not-finished";
    if (r->is_finished) return HD_OK;
    if (r->options->strict) return note(r, code, HD_LEDGER_LOSS, 1, r->file.size);
    hd_builder_ledger(r->builder, "program", code, HD_LEDGER_LOSS, 1, r->file.size);
    return HD_OK;
}

/* ---- header ---- */

static hd_status read_header(reader *r)
{
    if (r->file.size < CAPTURE_HEADER_BYTES)
        return damaged(r, r->file.size, "the file ends within the 64 bytes of its header");
    const uint8_t *p = hd_window_at(&r->window, 0, CAPTURE_HEADER_BYTES, r->err);
    if (!p) return HD_ERR_IO;
    unsigned major = (unsigned)hd_le_get(p + CAPTURE_AT_MAJOR, 2);
    if (hd_le_get(p + CAPTURE_AT_CHECKSUM, 8) != hd_checksum(p, CAPTURE_AT_CHECKSUM))
        return note(r, "capture.header-damaged", HD_LEDGER_LOSS, 1, 0);
    if (major != CAPTURE_MAJOR)
        return hd_error_set(r->err, HD_ERR_UNSUPPORTED, NULL, 8,
                            "a capture of version %u; this program reads version %d", major, (int)CAPTURE_MAJOR);
    r->pid = (uint32_t)hd_le_get(p + CAPTURE_AT_PID, 4);
    hd_builder_facts(r->builder)->base_ns = (int64_t)hd_le_get(p + CAPTURE_AT_UNIX, 8);
    return HD_OK;
}

/* ---- process, threads, names ---- */

static hd_status read_process(reader *r, hd_byte_reader *b)
{
    static const char *const keys[] = {"name", "executable", "host"};
    hd_json_out json = {0};
    hd_ident pid = {HD_IDENT_NUMBER, capture_number_text(r->builder, r->pid)}, none = {HD_IDENT_NONE, HD_STRING_NONE};
    for (int i = 0; i < 3; i++) {
        uint32_t text = capture_take_text(b, r->builder);
        hd_string s = hd_builder_string(r->builder, text);
        if (i == 0) hd_builder_name_track(r->builder, hd_builder_track(r->builder, pid, none, true), text);
        hd_json_put_text(&json, i ? ", \"" : "{\"");
        hd_json_put_text(&json, keys[i]);
        hd_json_put_text(&json, "\": ");
        hd_json_put_string(&json, s.data, s.size);
    }
    hd_json_put_text(&json, "}");
    hd_status status = json.failed ? HD_NOMEM(r->err) : HD_OK;
    if (status == HD_OK && !b->failed) {
        const uint32_t key_id = hd_builder_intern_text(r->builder, "process");
        hd_builder_metadata(r->builder, key_id, hd_builder_intern(r->builder, json.data, json.size), false);
    }
    free(json.data);
    return status;
}

/* Make room for entry `index` of a list of numbers, which are 0 at first. */
static bool widen(uint32_t **list, size_t *count, size_t index)
{
    if (index < *count) return true;
    size_t wider = *count ? *count : 64;
    while (wider <= index) wider *= 2;
    uint32_t *p = realloc(*list, wider * sizeof *p);
    if (!p) return false;
    memset(p + *count, 0, (wider - *count) * sizeof *p);
    *list = p;
    *count = wider;
    return true;
}

/* The thread of a number, which is at most CAPTURE_THREADS_MAX; NULL: no memory. */
static thread *find_thread(reader *r, uint32_t number)
{
    if (!widen(&r->by_number, &r->number_count, number)) return NULL;
    if (r->by_number[number]) return &r->threads[r->by_number[number] - 1];
    if (!hd_grow((void **)&r->threads, &r->thread_capacity, r->thread_count, sizeof *r->threads)) return NULL;
    r->threads[r->thread_count++] = (thread){.track = HD_NONE};
    r->by_number[number] = (uint32_t)r->thread_count;
    return &r->threads[r->thread_count - 1];
}

/* A tid that an earlier thread had is made unique by the thread's number. */
static hd_status give_track(reader *r, thread *t, uint32_t number)
{
    char text[48];
    uint64_t tid = t->tid ? t->tid : number; /* unknown tid: the thread's number is used */
    hd_ident pid = {HD_IDENT_NUMBER, capture_number_text(r->builder, r->pid)},
             ident = {HD_IDENT_NUMBER, capture_number_text(r->builder, tid)};
    t->track = hd_builder_track(r->builder, pid, ident, false);
    if (t->track == HD_NONE || !widen(&r->track_owners, &r->track_count, t->track)) return HD_NOMEM(r->err);
    if (r->track_owners[t->track] == 0) {
        r->track_owners[t->track] = number;
    } else {
        snprintf(text, sizeof text, "%llu (%u)", (unsigned long long)tid, number);
        ident = (hd_ident){HD_IDENT_STRING, hd_builder_intern_text(r->builder, text)};
        t->track = hd_builder_track(r->builder, pid, ident, false);
        if (t->track == HD_NONE) return HD_NOMEM(r->err);
    }
    if (t->name) hd_builder_name_track(r->builder, t->track, t->name);
    return HD_OK;
}

static hd_status read_thread(reader *r, const chunk *c, hd_byte_reader *b)
{
    uint64_t tid = hd_byte_reader_varint(b);
    uint32_t name = capture_take_text(b, r->builder);
    thread *t = b->failed ? NULL : find_thread(r, c->thread);
    if (b->failed) return HD_OK;
    if (!t) return HD_NOMEM(r->err);
    t->tid = tid;
    if (hd_builder_string(r->builder, name).size) t->name = name;
    if (t->track != HD_NONE && t->name) hd_builder_name_track(r->builder, t->track, t->name);
    return HD_OK;
}

/* A thread whose events are all on tracks of others, such as a tracer's, has no track of its own. */
static hd_status give_silent_tracks(reader *r)
{
    for (size_t number = 0; number < r->number_count; number++) {
        thread *t = r->by_number[number] ? &r->threads[r->by_number[number] - 1] : NULL;
        if (t && t->track == HD_NONE && !t->has_elsewhere) HD_TRY(give_track(r, t, (uint32_t)number));
    }
    return HD_OK;
}

/* ---- events ---- */

/* Checks the numbers at the start of a chunk: counts events between the thread's previous chunk and this one that were
 * neither evicted nor read. */
static bool account(reader *r, thread *t, hd_byte_reader *b, uint64_t *count)
{
    uint64_t first = hd_byte_reader_varint(b);
    *count = hd_byte_reader_varint(b);
    uint64_t refused = hd_byte_reader_varint(b), evicted = hd_byte_reader_varint(b);
    hd_byte_reader_varint(b); /* kinds */
    if (b->failed || first < t->next || refused < t->refused || evicted < t->evicted ||
        *count > hd_byte_reader_left(b) || first > UINT64_MAX - *count)
        return false;
    /* The ring may have evicted more after this chunk's events were read from it: those are counted in advance. */
    uint64_t gap = first - t->next, known = evicted - t->evicted;
    uint64_t explained = gap < known ? gap : known;
    bool has_aged = r->aged.written && t->next == 0; /* with the segments that are gone */
    if (!has_aged) r->missing += gap - explained;
    t->evicted += explained;
    r->evicted += explained;
    r->refused += refused - t->refused;
    t->refused = refused;
    t->next = first + *count;
    r->seen += *count;
    return true;
}

/* Whether an event ended before the first segment that is left, or its begin did. */
static hd_status look_at_age(bool *out, reader *r, uint32_t track, const capture_event *event)
{
    uint32_t other = capture_lists_track(r->context.lists, event->track);
    bool is_slice = event->kind == CAPTURE_SLICE && event->value <= INT64_MAX;
    int64_t end;
    if (__builtin_add_overflow(event->time_ns, is_slice ? (int64_t)event->value : 0, &end)) end = INT64_MAX;
    *out = end < r->aged.from_ns;
    if (other != HD_NONE) track = other;
    if (!widen(&r->aged.depths, &r->aged.depth_count, track)) return HD_NOMEM(r->err);
    uint32_t *depth = &r->aged.depths[track];
    if (event->kind == CAPTURE_BEGIN && !*out) ++*depth;
    if (event->kind == CAPTURE_FINISH) {
        *out = *depth == 0;
        if (!*out) --*depth;
    }
    r->aged.events += *out;
    if (!*out && end > r->aged.until_ns) r->aged.until_ns = end;
    return HD_OK;
}

static hd_status read_events(reader *r, const chunk *c, hd_byte_reader *b)
{
    uint64_t count;
    capture_event event = {0};
    thread *t = find_thread(r, c->thread);
    if (!t) return HD_NOMEM(r->err);
    if (!account(r, t, b, &count)) {
        b->failed = true;
        return HD_OK;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!capture_next_event(&event, b)) {
            r->missing += count - i;
            b->failed = true;
            return HD_OK;
        }
        if (event.kind == CAPTURE_CALL || event.kind == CAPTURE_NODE) continue; /* look_for_calls had them */
        bool is_elsewhere = capture_lists_track_kind(r->context.lists, event.track) != 0;
        t->has_elsewhere |= is_elsewhere;
        if (!is_elsewhere && t->track == HD_NONE) HD_TRY(give_track(r, t, c->thread));
        bool is_aged = false;
        if (r->aged.written) HD_TRY(look_at_age(&is_aged, r, t->track, &event));
        if (!is_aged) HD_TRY(capture_rows_add(r->rows, t->track, &event, r->err));
    }
    return HD_OK;
}

/* Reads facts about calls and nodes, which may be stored after the events they are about. */
static hd_status look_for_calls(reader *r, hd_byte_reader b)
{
    enum { HEAD = 4 };
    capture_event event = {0};
    hd_byte_reader_varint(&b);
    uint64_t count = hd_byte_reader_varint(&b);
    for (int i = 2; i < HEAD; i++) hd_byte_reader_varint(&b);
    if (!(hd_byte_reader_varint(&b) & (1u << CAPTURE_CALL | 1u << CAPTURE_NODE))) return HD_OK;
    for (uint64_t i = 0; i < count && !b.failed && capture_next_event(&event, &b); i++) {
        bool fine = true;
        if (event.kind == CAPTURE_CALL)
            fine = capture_calls_add(&r->context.calls, event.correlation, event.stack, event.value);
        else if (event.kind == CAPTURE_NODE)
            fine = capture_calls_add(&r->context.nodes, event.node, event.stack, 0);
        if (!fine) return HD_NOMEM(r->err);
    }
    return HD_OK;
}

/* ---- chunks ---- */

/* Bytes of the file, valid until the next call; NULL: unreadable, see r->status. */
static const uint8_t *bytes_at(reader *r, uint64_t offset, uint64_t size)
{
    const uint8_t *p = r->status == HD_OK ? hd_window_at(&r->window, offset, (size_t)size, r->err) : NULL;
    if (!p && r->status == HD_OK) r->status = r->window.bytes.failed ? HD_ERR_MEMORY : HD_ERR_IO;
    return p;
}

/* Decodes the header at p. */
static chunk chunk_of(const uint8_t *p, uint64_t offset)
{
    return (chunk){.offset = offset,
                   .type = (unsigned)hd_le_get(p + CAPTURE_CHUNK_AT_TYPE, 2),
                   .thread = (uint32_t)hd_le_get(p + CAPTURE_CHUNK_AT_THREAD, 4),
                   .number = (uint32_t)hd_le_get(p + CAPTURE_CHUNK_AT_NUMBER, 4),
                   .payload = hd_byte_reader_of(p + CAPTURE_CHUNK_BYTES, hd_le_get(p + CAPTURE_CHUNK_AT_SIZE, 4))};
}

static bool chunk_at(chunk *out, reader *r, uint64_t at)
{
    uint64_t left = r->file.size - at;
    const uint8_t *p = left < CAPTURE_CHUNK_BYTES ? NULL : bytes_at(r, at, CAPTURE_CHUNK_BYTES);
    r->bad_payload = 0;
    if (!p || hd_le_get(p, 8) != CAPTURE_CHUNK_MAGIC) return false;
    size_t size = chunk_of(p, at).payload.size;
    if (size > CAPTURE_PAYLOAD_MAX || size > left - CAPTURE_CHUNK_BYTES ||
        hd_le_get(p + CAPTURE_CHUNK_AT_CHECKSUM, 8) != hd_checksum(p, CAPTURE_CHUNK_AT_CHECKSUM))
        return false;
    p = bytes_at(r, at, CAPTURE_CHUNK_BYTES + size);
    if (!p) return false;
    *out = chunk_of(p, at);
    if (hd_le_get(p + CAPTURE_CHUNK_AT_PAYLOAD_SUM, 8) != hd_checksum(out->payload.data, size)) {
        r->bad_payload = size;
        return false;
    }
    return true;
}

/* The offset of the next byte that a chunk may begin with, or the end. */
static uint64_t find_chunk(reader *r, uint64_t from)
{
    enum { STEP = 1 << 16 };
    for (; from < r->file.size; from += STEP) {
        size_t size = r->file.size - from < STEP ? (size_t)(r->file.size - from) : STEP;
        const uint8_t *p = bytes_at(r, from, size), *found = p ? memchr(p, 'H', size) : NULL;
        if (found) return from + (uint64_t)(found - p);
        if (!p) break;
    }
    return r->file.size;
}

/* The next whole chunk from `at` on; false: none. Whole chunks may be inside of what a correct header claims as its
 * payload, so the search continues right after the header. Only a hostile file nests headers deeply, which would take
 * hours: once they claim more than the whole file, their payloads are skipped. */
static bool next_chunk(chunk *out, reader *r, uint64_t *at)
{
    uint64_t from = *at;
    while (*at < r->file.size && !chunk_at(out, r, *at)) {
        uint64_t next = *at + 1;
        r->wasted += r->bad_payload;
        if (r->bad_payload && r->wasted > r->file.size) next = *at + CAPTURE_CHUNK_BYTES + r->bad_payload;
        *at = find_chunk(r, next);
    }
    if (*at > from) {
        if (!r->skipped_bytes) r->skipped_at = from;
        r->skipped_bytes += *at - from;
    }
    if (*at >= r->file.size) return false;
    *at += CAPTURE_CHUNK_BYTES + out->payload.size;
    return true;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The totals. Some events are only in the totals, not in chunks of threads: events of signal handlers, of threads
 * without memory, losses that a full disk had no room to record, and events in a thread's last chunks, if those are
 * damaged. */
static void read_end(reader *r, hd_byte_reader *b)
{
    uint64_t *const totals[] = {&r->all_written, &r->all_refused, &r->all_evicted, &r->nested, &r->all_lost};
    r->is_finished = true;
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        *totals[i] = larger(*totals[i], hd_byte_reader_varint(b)); /* a snapshot of a finished capture has two ends */
}

/* Only the first counts: later ones repeat what is here. */
static void read_segment(reader *r, hd_byte_reader *b)
{
    uint64_t from = hd_byte_reader_varint(b);
    aged here = {.is_known = true, .from_ns = (int64_t)from};
    b->failed |= from > INT64_MAX;
    uint64_t kinds = hd_byte_reader_varint(b);
    for (uint64_t kind = 0; kind < kinds && !b->failed; kind++) {
        uint64_t count = hd_byte_reader_varint(b);
        if (count > UINT64_MAX - here.written) b->failed = true;
        here.written += count;
        if (kind != CAPTURE_CALL && kind != CAPTURE_NODE) here.events += count;
    }
    here.until_ns = here.from_ns;
    if (!b->failed && !r->aged.is_known) r->aged = here;
}

static hd_status read_nodes(reader *r, hd_byte_reader *b)
{
    uint64_t count = hd_byte_reader_varint(b);
    for (uint64_t i = 0; i < count && !b->failed; i++) {
        uint64_t node = hd_byte_reader_varint(b), stack = hd_byte_reader_varint(b);
        if (!b->failed && !capture_calls_add(&r->context.nodes, node, stack, 0)) return HD_NOMEM(r->err);
    }
    return HD_OK;
}

static hd_status damaged_chunk(reader *r, const chunk *c)
{
    return note(r, "capture.chunk-damaged", HD_LEDGER_LOSS, 1, c->offset);
}

static hd_status keep_for_later(reader *r, const chunk *c)
{
    if (c->thread == 0 || c->thread > CAPTURE_THREADS_MAX) return damaged_chunk(r, c);
    if (!hd_grow((void **)&r->events, &r->event_capacity, r->event_count, sizeof *r->events)) return HD_NOMEM(r->err);
    r->events[r->event_count++] = c->offset;
    return c->type == CAPTURE_EVENTS ? look_for_calls(r, c->payload) : HD_OK;
}

/* The first time: all that events refer to. */
static hd_status read_chunk(reader *r, chunk *c)
{
    hd_byte_reader *b = &c->payload;
    hd_status status = HD_OK;
    switch (c->type) {
    case CAPTURE_PROCESS: status = read_process(r, b); break;
    case CAPTURE_THREAD:
    case CAPTURE_EVENTS: return keep_for_later(r, c);
    case CAPTURE_END: read_end(r, b); break;
    case CAPTURE_SEGMENT: read_segment(r, b); break;
    case CAPTURE_NODES: status = read_nodes(r, b); break;
    case CAPTURE_NAMES:
    case CAPTURE_ARGS:
    case CAPTURE_TRACKS:
    case CAPTURE_MODULES:
    case CAPTURE_SYMBOLS:
    case CAPTURE_FRAMES:
    case CAPTURE_NOTES:
    case CAPTURE_METADATA: status = capture_lists_read(r->context.lists, c->type, b, r->err); break;
    default: return note(r, "capture.chunk-unknown", HD_LEDGER_LOSS, 1, c->offset);
    }
    return status == HD_OK && b->failed ? damaged_chunk(r, c) : status;
}

/* The second pass: threads and events of chunks with correct checksums. */
static hd_status read_kept(reader *r, uint64_t offset)
{
    chunk c;
    if (!chunk_at(&c, r, offset))
        return r->status != HD_OK ? r->status
                                  : hd_error_set(r->err, HD_ERR_IO, NULL, offset,
                                                 "the file changed after it was opened: open it again");
    hd_status status = c.type == CAPTURE_THREAD ? read_thread(r, &c, &c.payload) : read_events(r, &c, &c.payload);
    return status == HD_OK && c.payload.failed ? damaged_chunk(r, &c) : status;
}

static hd_status note_losses(reader *r)
{
    r->missing = larger(r->missing, r->all_lost);
    uint64_t here = r->seen > UINT64_MAX - r->aged.written ? UINT64_MAX : r->seen + r->aged.written;
    if (r->all_written > here) r->missing = larger(r->missing, r->all_written - here);
    r->refused = larger(r->refused, r->all_refused);
    r->evicted = larger(r->evicted, r->all_evicted);
    HD_TRY(note(r, "capture.bytes-skipped", HD_LEDGER_REPAIR, r->skipped_bytes, r->skipped_at));
    HD_TRY(note(r, "capture.events-missing", HD_LEDGER_LOSS, r->missing, HD_OFFSET_NONE));
    HD_TRY(note(r, "capture.names-lost", HD_LEDGER_LOSS, capture_lists_lost(r->context.lists), HD_OFFSET_NONE));
    HD_TRY(note(r, "capture.dropped-newest", HD_LEDGER_LOSS, r->refused, HD_OFFSET_NONE));
    HD_TRY(note(r, "capture.dropped-oldest", HD_LEDGER_LOSS, r->evicted, HD_OFFSET_NONE));
    HD_TRY(note(r, "capture.aged-out", HD_LEDGER_NOTE, r->aged.events, HD_OFFSET_NONE));
    HD_TRY(note(r, "capture.dropped-nested", HD_LEDGER_LOSS, r->nested, HD_OFFSET_NONE));
    return note_end(r);
}

/* What was before is gone, so it was neither busy nor idle. */
static hd_status declare_window(reader *r)
{
    hd_ident pid = {HD_IDENT_NUMBER, capture_number_text(r->builder, r->pid)},
             tid = {HD_IDENT_NUMBER, capture_number_text(r->builder, HD_CAPTURE_WINDOWS_TID)};
    if (!r->aged.written) return HD_OK;
    uint32_t track = hd_builder_track(r->builder, pid, tid, false);
    if (track == HD_NONE) return HD_NOMEM(r->err);
    hd_builder_name_track(r->builder, track, hd_builder_intern_text(r->builder, HD_CAPTURE_WINDOWS_NAME));
    return capture_rows_add_slice(r->rows, track, "kept", HD_CAPTURE_WINDOWS_CATEGORY, r->aged.from_ns,
                                  r->aged.until_ns, r->err);
}

static hd_status read_chunks(reader *r)
{
    chunk c = {0};
    uint64_t at = CAPTURE_HEADER_BYTES;
    while (next_chunk(&c, r, &at)) HD_TRY(read_chunk(r, &c));
    if (r->status != HD_OK) return r->status;
    HD_TRY(capture_lists_settle(r->context.lists, r->err));
    for (size_t i = 0; i < r->event_count; i++) {
        HD_TRY(read_kept(r, r->events[i]));
        if (r->options->progress) r->options->progress(r->options->progress_user, r->events[i], r->file.size);
    }
    HD_TRY(give_silent_tracks(r));
    HD_TRY(declare_window(r));
    return note_losses(r);
}

static hd_status read_all(reader *r)
{
    HD_TRY(read_header(r));
    HD_TRY(capture_lists_new(&r->context.lists, r->builder, r->pid, r->file.size, r->err));
    HD_TRY(capture_rows_new(&r->rows, r->builder, &r->context, r->options, r->err));
    HD_TRY(read_chunks(r));
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    facts->input_bytes = r->file.size;
    facts->has_args = r->options->args == HD_ARGS_ALL;
    HD_TRY(capture_rows_finish(r->rows, r->err));
    return capture_lists_finish(r->context.lists, r->err);
}

hd_status capture_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    reader r = {.builder = builder, .options = options, .err = err};
    HD_TRY(hd_pieces_open(&r.file, input, err));
    r.window.pieces = &r.file;
    hd_status status = read_all(&r);
    capture_rows_free(r.rows);
    capture_lists_free(r.context.lists);
    capture_calls_deinit(&r.context.calls);
    capture_calls_deinit(&r.context.nodes);
    free(r.events);
    free(r.threads);
    free(r.by_number);
    free(r.track_owners);
    free(r.aged.depths);
    hd_window_deinit(&r.window);
    hd_pieces_close(&r.file);
    return status;
}
