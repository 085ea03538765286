/* read.c - SBT -> trace
 *
 * Format   TraceSmith binary trace 0.1, as TraceSmith 0.8 to 0.11 writes it; docs/formats/sbt.md has the mapping
 * Sniffs   the magic, "SBT" and a zero byte
 * Maps     launch and complete of one correlation id -> slice; a record with a duration -> slice; RangeStart, RangeEnd
 *          -> begin, end; all others -> instant
 * Units    ns
 * Shapes   n records -> n rows, minus one for each pair
 * Limits   those of the trace
 * Damage   an impossible offset or count in the header: the sections are assumed to be consecutive; an impossible
 *          record: reading continues at the next place with several consecutive records
 *
 * The string table comes after the events, so the file is copied and read from its header. If the header is unfinished
 * (zeros: the writer was killed) the sections are assumed to be consecutive.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/io/pieces.h"
#include "base/json/write.h"
#include "base/map.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "format/sbt/sbt.h"
#include "trace/spill.h"

typedef struct sbt_header {
    uint32_t flags, size;
    uint64_t metadata, strings, devices, events, event_count;
    uint8_t compression;
} sbt_header;

/* A launch and its complete. */
typedef struct pair {
    uint64_t launch, complete; /* numbers of the records */
    sbt_record record;         /* the complete */
} pair;

typedef struct open_launch {
    uint64_t number, time; /* UINT64_MAX: it has its pair */
    uint64_t correlation;
    uint8_t type;
} open_launch;

/* A record that cannot be read, and where reading goes on. */
typedef struct hole {
    size_t from, to;
    uint64_t time; /* that the next record counts from */
} hole;

typedef struct reader {
    hd_builder *builder;
    const hd_read_options *options;
    hd_error *err;
    uint64_t large;       /* hd_trace_large_bytes */
    hd_byte_reader bytes; /* the whole file */
    sbt_header header;
    bool finished; /* the header was written when the file was complete */
    uint32_t *strings;
    size_t string_count;
    uint32_t unnamed;
    uint64_t records; /* that can be read */
    size_t first;     /* position of the first record */
    uint64_t base_time;
    size_t end; /* of the records; the file's, if that is not known */
    struct {
        uint64_t device, stream;
    } seen[16]; /* of records that were read, the newest */
    size_t seen_count;
    uint64_t effort; /* bytes that may be read to find records after damage */
    hole *holes;     /* by from */
    size_t hole_count, hole_capacity;
    pair *pairs; /* by launch */
    size_t pair_count, pair_capacity;
    uint64_t *completes; /* numbers of the records in pairs, ascending */
    open_launch *open;   /* one of each correlation id and type */
    size_t open_count, open_capacity;
    hd_slots open_slots;
} reader;

int sbt_sniff(const unsigned char *head, size_t size)
{
    return size >= 8 && memcmp(head, "SBT", 4) == 0 ? 100 : 0;
}

static hd_status damaged(const reader *r, uint64_t offset, const char *what)
{
    return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, offset, "%s", what);
}

/* Damage that leaves something to read. */
static hd_status note(reader *r, const char *code, hd_ledger_level level, uint64_t count, uint64_t offset)
{
    if (r->options->strict)
        return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, offset, "%s, and --strict refuses repairs", code);
    hd_builder_ledger(r->builder, SBT_STAGE, code, level, count, offset);
    return HD_OK;
}

/* ---- header ---- */

static hd_status read_header(reader *r)
{
    hd_byte_reader *b = &r->bytes;
    sbt_header *h = &r->header;
    if (b->size < SBT_HEADER_BYTES) return damaged(r, b->size, "the file ends within the 72 bytes of its header");
    b->at = 4;
    unsigned major = (unsigned)hd_byte_reader_le(b, 2), minor = (unsigned)hd_byte_reader_le(b, 2);
    h->flags = (uint32_t)hd_byte_reader_le(b, 4);
    h->size = (uint32_t)hd_byte_reader_le(b, 4);
    h->metadata = hd_byte_reader_le(b, 8);
    h->strings = hd_byte_reader_le(b, 8);
    h->devices = hd_byte_reader_le(b, 8);
    h->events = hd_byte_reader_le(b, 8);
    hd_byte_reader_le(b, 8); /* call stacks: they are in the events */
    h->event_count = hd_byte_reader_le(b, 8);
    h->compression = hd_byte_reader_u8(b);
    if (h->compression)
        return hd_error_set(r->err, HD_ERR_UNSUPPORTED, NULL, 64,
                            "its sections are compressed (method %u), which no version of TraceSmith writes",
                            h->compression);
    if (major != 0 || minor != 1) HD_TRY(note(r, "sbt.other-version", HD_LEDGER_NOTE, 1, 4));
    r->finished = h->strings || h->events || h->event_count;
    if (!r->finished) {
        h->metadata = h->devices = 0;
        return r->bytes.size > SBT_HEADER_BYTES ? note(r, "sbt.header-unfinished", HD_LEDGER_REPAIR, 1, 16) : HD_OK;
    }
    const uint64_t offsets[] = {h->metadata, h->strings, h->devices, h->events};
    const uint8_t types[] = {SBT_METADATA, SBT_STRINGS, SBT_DEVICES, SBT_EVENTS};
    for (int i = 0; i < 4; i++) {
        bool needed = i == 3 && h->event_count;
        if (!offsets[i] && !needed) continue;
        if (offsets[i] >= 16 && offsets[i] < b->size && b->data[offsets[i]] == types[i]) continue;
        r->finished = false;
        return note(r, "sbt.offset-wrong", HD_LEDGER_REPAIR, 1, 16 + 8 * (uint64_t)i);
    }
    return HD_OK;
}

/* The reader behind the type byte of a section. */
static hd_byte_reader enter(const reader *r, uint64_t offset)
{
    hd_byte_reader out = r->bytes;
    out.at = (size_t)offset + 1;
    return out;
}

/* ---- metadata and devices ---- */

static bool put_string(hd_json_out *out, hd_byte_reader *b)
{
    uint64_t size = hd_byte_reader_varint(b);
    const uint8_t *data = size <= SIZE_MAX ? hd_byte_reader_take(b, (size_t)size) : NULL;
    if (!data) return false;
    hd_json_put_string(out, (const char *)data, (size_t)size);
    return true;
}

static void put_number(hd_json_out *out, hd_byte_reader *b)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)hd_byte_reader_varint(b));
    hd_json_put_text(out, text);
}

static void put_member(hd_json_out *out, hd_byte_reader *b, const char *key, bool first, bool is_text)
{
    hd_json_put_text(out, first ? "{" : ", ");
    hd_json_put_string(out, key, strlen(key));
    hd_json_put_text(out, ": ");
    if (!is_text)
        put_number(out, b);
    else if (!put_string(out, b))
        b->failed = true;
}

static hd_status add_metadata(reader *r, const char *key, hd_json_out *text, const hd_byte_reader *b)
{
    hd_status status = HD_OK;
    if (b->failed)
        status = note(r, "sbt.section-damaged", HD_LEDGER_LOSS, 1, b->at);
    else if (text->failed)
        status = HD_NOMEM(r->err);
    else {
        const uint32_t key_id = hd_builder_intern_text(r->builder, key);
        hd_builder_metadata(r->builder, key_id, hd_builder_intern(r->builder, text->data, text->size), false);
    }
    free(text->data);
    return status;
}

static hd_status read_metadata(reader *r, hd_byte_reader *b)
{
    hd_json_out text = {0};
    for (size_t i = 0; i < 6; i++) put_member(&text, b, sbt_file_members[i], i == 0, i < 2 || i == 4);
    hd_json_put_text(&text, "}");
    return add_metadata(r, SBT_META_FILE, &text, b);
}

static hd_status read_devices(reader *r, hd_byte_reader *b)
{
    hd_json_out text = {0};
    uint64_t count = hd_byte_reader_varint(b);
    if (count > hd_byte_reader_left(b) / SBT_DEVICE_MEMBERS)
        return note(r, "sbt.section-damaged", HD_LEDGER_LOSS, 1, b->at);
    hd_json_put_text(&text, "[");
    for (uint64_t d = 0; d < count && !b->failed; d++) {
        hd_json_put_text(&text, d ? ", " : "");
        for (size_t i = 0; i < SBT_DEVICE_MEMBERS; i++)
            put_member(&text, b, sbt_device_members[i], i == 0, sbt_device_member_is_text(i));
        hd_json_put_text(&text, "}");
    }
    hd_json_put_text(&text, "]");
    return add_metadata(r, SBT_META_DEVICES, &text, b);
}

/* ---- strings ---- */

static hd_status read_strings(reader *r, hd_byte_reader *b)
{
    uint64_t count = hd_byte_reader_varint(b);
    if (count > hd_byte_reader_left(b)) {
        HD_TRY(note(r, "sbt.section-damaged", HD_LEDGER_LOSS, 1, b->at));
        count = hd_byte_reader_left(b);
    }
    r->strings = malloc(((size_t)count + 1) * sizeof *r->strings);
    if (!r->strings) return HD_NOMEM(r->err);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size = hd_byte_reader_varint(b);
        const uint8_t *data = size <= SIZE_MAX ? hd_byte_reader_take(b, (size_t)size) : NULL;
        if (!data) return note(r, "sbt.section-damaged", HD_LEDGER_LOSS, 1, b->at);
        r->strings[r->string_count++] = hd_builder_intern(r->builder, (const char *)data, (size_t)size);
    }
    return HD_OK;
}

/* ---- pairs ---- */

static uint8_t launch_of(uint8_t complete)
{
    return complete == SBT_KERNEL_COMPLETE ? SBT_KERNEL_LAUNCH : complete == SBT_NCCL_COMPLETE ? SBT_NCCL_START : 0;
}

/* A slice has one duration and one stack: records with their own stay apart. */
static bool may_pair(const sbt_record *record, uint8_t without)
{
    return record->correlation && !(record->flags & without);
}

static open_launch *open_of(const reader *r, uint64_t correlation, uint8_t type) /* NULL: none */
{
    uint32_t at;
    HD_SLOTS_FIND(at, &r->open_slots, hd_hash_pair(correlation, type),
                  r->open[at].correlation == correlation && r->open[at].type == type);
    return at == HD_SLOTS_NONE ? NULL : &r->open[at];
}

static hd_status note_open(reader *r, const sbt_record *record, uint64_t number)
{
    open_launch *open = open_of(r, record->correlation, record->type);
    if (!open) {
        if (!hd_large_grow((void **)&r->open, &r->open_capacity, r->open_count, sizeof *r->open, r->large) ||
            !hd_large_slots_add(&r->open_slots, hd_hash_pair(record->correlation, record->type),
                                (uint32_t)r->open_count, r->large))
            return HD_NOMEM(r->err);
        open = &r->open[r->open_count++];
    }
    *open = (open_launch){number, record->time, record->correlation, record->type};
    return HD_OK;
}

static hd_status note_pair(reader *r, const sbt_record *record, uint64_t number)
{
    uint8_t launch = launch_of(record->type);
    if (launch && may_pair(record, SBT_HAS_DURATION | SBT_HAS_STACK)) {
        open_launch *open = open_of(r, record->correlation, launch);
        if (!open || open->number == UINT64_MAX || record->time < open->time) return HD_OK;
        if (!hd_large_grow((void **)&r->pairs, &r->pair_capacity, r->pair_count, sizeof *r->pairs, r->large))
            return HD_NOMEM(r->err);
        r->pairs[r->pair_count++] = (pair){open->number, number, *record};
        open->number = UINT64_MAX;
    } else if ((record->type == SBT_KERNEL_LAUNCH || record->type == SBT_NCCL_START) &&
               may_pair(record, SBT_HAS_DURATION)) {
        return note_open(r, record, number);
    }
    return HD_OK;
}

static int by_launch(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return (x->launch > y->launch) - (x->launch < y->launch);
}

/* ---- events ---- */

/* Whether the rest of the file, from the reader on, is a string table and the end. For files without a finished header.
 */
static bool at_strings(const hd_byte_reader *at)
{
    hd_byte_reader b = *at;
    if (b.data[b.size - 1] != SBT_END || hd_byte_reader_u8(&b) != SBT_STRINGS) return false;
    uint64_t count = hd_byte_reader_varint(&b);
    if (count > hd_byte_reader_left(&b)) return false;
    for (uint64_t i = 0; i < count && !b.failed; i++) {
        uint64_t size = hd_byte_reader_varint(&b);
        if (size > hd_byte_reader_left(&b)) return false;
        hd_byte_reader_take(&b, (size_t)size);
    }
    return !b.failed && hd_byte_reader_left(&b) == 1;
}

static bool plausible(const reader *r, const sbt_record *record)
{
    return (record->type < SBT_TYPE_COUNT || record->type == SBT_CUSTOM) && record->flags <= SBT_KNOWN_FLAGS &&
           (!r->finished || record->name < r->string_count);
}

/* Whether the records end here. */
static bool at_end(reader *r, const hd_byte_reader *b)
{
    if (b->at >= r->end) return true;
    if (r->finished) return false;
    if (b->data[b->at] == SBT_END && hd_byte_reader_left(b) == 1) return true;
    if (b->data[b->at] != SBT_STRINGS || r->effort < b->size) return false;
    r->effort -= b->size; /* a place that looks like a string table may be looked at to the end */
    return at_strings(b);
}

static bool is_seen(const reader *r, const sbt_record *record)
{
    size_t count = sizeof r->seen / sizeof *r->seen;
    for (size_t i = 0; i < count && i < r->seen_count; i++) {
        if (r->seen[i].device == record->device && r->seen[i].stream == record->stream) return true;
    }
    return false;
}

static void see(reader *r, const sbt_record *record)
{
    if (is_seen(r, record)) return;
    size_t at = r->seen_count++ % (sizeof r->seen / sizeof *r->seen);
    r->seen[at].device = record->device;
    r->seen[at].stream = record->stream;
}

/* Whether several consecutive records follow here, or the end; `known`: all on known streams. */
static bool goes_on(reader *r, hd_byte_reader b, bool known)
{
    enum { AHEAD = 6 };
    sbt_record record;
    for (int i = 0; i < AHEAD && !at_end(r, &b); i++) {
        size_t start = b.at;
        bool fine = sbt_record_read(&record, &b, 0) && b.at <= r->end && plausible(r, &record) &&
                    (!known || is_seen(r, &record));
        if (r->effort < b.at - start) return false;
        r->effort -= b.at - start;
        if (!fine) return false;
    }
    return r->finished || b.at + 1 < r->end; /* a file that is cut ends anywhere */
}

/* Whether as many records as in the header end where it says: then none is damaged, whatever its type. */
static bool all_fit(const reader *r, hd_byte_reader b, uint64_t left)
{
    sbt_record record;
    for (; left && b.at < r->end; left--) {
        if (!sbt_record_read(&record, &b, 0) || record.flags > SBT_KNOWN_FLAGS) return false;
    }
    return left == 0 && b.at == r->end;
}

/* The next place after `from` with several consecutive records; the end: none. Close to `from` they must be on known
 * streams, since small numbers look like records anywhere. */
static size_t find_record(reader *r, const hd_byte_reader *b, size_t from)
{
    enum { NEAR = 256 };
    hd_byte_reader at = *b;
    at.failed = false;
    for (int known = 1; known >= 0; known--) {
        size_t end = known && r->end - from > NEAR ? from + NEAR : r->end;
        for (at.at = from + 1; at.at < end && r->effort; at.at++) {
            if (goes_on(r, at, known)) return at.at;
        }
    }
    return r->end;
}

/* The bytes at `from` are not a record, and the next record is at `to`. If the time of the bad one can be read, it
 * counts. */
static hd_status add_hole(reader *r, hd_byte_reader *b, size_t from, size_t to, uint64_t *time)
{
    b->at = from;
    b->failed = false;
    uint8_t type = hd_byte_reader_u8(b), flags = hd_byte_reader_u8(b);
    uint64_t delta = hd_byte_reader_varint(b);
    if (!b->failed && sbt_type_name(type) && flags <= SBT_KNOWN_FLAGS && delta < (uint64_t)1 << 40) *time += delta;
    b->at = to;
    b->failed = false;
    if (!hd_grow((void **)&r->holes, &r->hole_capacity, r->hole_count, sizeof *r->holes)) return HD_NOMEM(r->err);
    r->holes[r->hole_count++] = (hole){from, to, *time};
    return note(r, "sbt.record-damaged", HD_LEDGER_LOSS, 1, from);
}

/* Counts the records, and finds which belong together. The reader is at the first. */
static hd_status scan_records(reader *r, hd_byte_reader *b)
{
    sbt_record record;
    uint64_t time = r->base_time, unknown_flags = 0, limit = r->header.event_count;
    bool counted = r->finished && r->header.strings <= b->at; /* nothing else says where they end */
    r->first = b->at;
    r->end = counted || !r->finished ? b->size : (size_t)r->header.strings;
    r->effort = 64 * (uint64_t)b->size + 4096;
    bool asked = !r->finished || counted, fit = false; /* of all_fit, once */
    while (!(counted && r->records == limit) && !at_end(r, b)) {
        size_t start = b->at;
        bool read = sbt_record_read(&record, b, time) && b->at <= r->end;
        if (read && !asked && !plausible(r, &record)) {
            asked = true;
            fit = r->records < limit && record.flags <= SBT_KNOWN_FLAGS && all_fit(r, *b, limit - r->records - 1);
        }
        if (!fit && (!read || (!plausible(r, &record) && (record.flags > SBT_KNOWN_FLAGS || !goes_on(r, *b, true))))) {
            size_t behind = b->at, to = find_record(r, b, start);
            if (to < r->end && !(read && to == behind)) {
                HD_TRY(add_hole(r, b, start, to, &time));
                continue;
            }
            if (!read || !r->finished) {
                b->at = start;
                b->failed = true;
                break;
            } /* otherwise of a later version, which may have further data */
        }
        unknown_flags += record.flags > SBT_KNOWN_FLAGS;
        if (plausible(r, &record)) see(r, &record);
        HD_TRY(note_pair(r, &record, r->records));
        time = record.time;
        r->records++;
    }
    if (unknown_flags) HD_TRY(note(r, "sbt.flags-unknown", HD_LEDGER_LOSS, unknown_flags, r->first));
    if (r->finished && r->records < limit) HD_TRY(note(r, "sbt.event-lost", HD_LEDGER_LOSS, limit - r->records, b->at));
    if (r->finished && r->records > limit) HD_TRY(note(r, "sbt.count-wrong", HD_LEDGER_REPAIR, 1, 56));
    if (!b->failed || r->finished) return HD_OK;
    HD_TRY(note(r, "sbt.cut-off", HD_LEDGER_LOSS, 1, b->at));
    b->at = b->size; /* nothing after it can be found */
    b->failed = false;
    return HD_OK;
}

static bool differs(const sbt_record *launch, const sbt_record *complete)
{
    bool parameters = complete->flags & SBT_HAS_KERNEL;
    return launch->device != complete->device || launch->stream != complete->stream || launch->name != complete->name ||
           complete->flags & SBT_HAS_MEMORY ||
           (parameters && memcmp(launch->kernel, complete->kernel, sizeof launch->kernel) != 0);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static hd_status sort_pairs(reader *r)
{
    r->completes = hd_large_new(r->pair_count + 1, sizeof *r->completes, r->large);
    if (!r->completes) return HD_NOMEM(r->err);
    for (size_t i = 0; i < r->pair_count; i++) r->completes[i] = r->pairs[i].complete;
    bool fine = hd_large_sort(r->pairs, r->pair_count, sizeof *r->pairs, by_launch, r->large) &&
                hd_large_sort(r->completes, r->pair_count, sizeof *r->completes, by_number, r->large);
    return fine ? HD_OK : HD_NOMEM(r->err);
}

static hd_status add_rows(reader *r, sbt_rows *rows)
{
    hd_byte_reader b = r->bytes;
    uint64_t time = r->base_time, differing = 0;
    size_t next_pair = 0, next_complete = 0, next_hole = 0;
    b.at = r->first;
    b.failed = false;
    for (uint64_t number = 0; number < r->records; number++) {
        sbt_record record;
        if (next_hole < r->hole_count && r->holes[next_hole].from == b.at) {
            time = r->holes[next_hole].time;
            b.at = r->holes[next_hole++].to;
        }
        if (!sbt_record_read(&record, &b, time))
            return damaged(r, b.at, "a record that was read once cannot be read again");
        time = record.time;
        if (next_complete < r->pair_count && r->completes[next_complete] == number) {
            next_complete++;
            continue;
        }
        const pair *p =
            next_pair < r->pair_count && r->pairs[next_pair].launch == number ? &r->pairs[next_pair++] : NULL;
        differing += p && differs(&record, &p->record);
        HD_TRY(
            sbt_rows_add(rows, &record, p ? &p->record : NULL, p ? p->complete - p->launch - 1 : 0, &r->bytes, r->err));
        if (r->options->progress && number % (1 << 16) == 0)
            r->options->progress(r->options->progress_user, b.at, b.size);
    }
    if (differing) HD_TRY(note(r, "sbt.complete-differs", HD_LEDGER_LOSS, differing, HD_OFFSET_NONE));
    return sbt_rows_finish(rows, r->err);
}

static hd_status read_records(reader *r)
{
    sbt_rows *rows;
    HD_TRY(sort_pairs(r));
    HD_TRY(sbt_rows_new(&rows, r->builder, r->strings, r->string_count, r->unnamed, r->options->threads, r->err));
    hd_status status = add_rows(r, rows);
    sbt_rows_free(rows);
    return status;
}

static hd_status scan_events(reader *r, hd_byte_reader *b)
{
    r->base_time = hd_byte_reader_varint(b);
    if (b->failed) return damaged(r, b->at, "the file ends within its events");
    return scan_records(r, b);
}

/* ---- the whole ---- */

static hd_status read_finished(reader *r)
{
    hd_byte_reader b;
    const sbt_header *h = &r->header;
    if (h->metadata) {
        b = enter(r, h->metadata);
        HD_TRY(read_metadata(r, &b));
    }
    if (h->devices) {
        b = enter(r, h->devices);
        HD_TRY(read_devices(r, &b));
    }
    if (h->strings) {
        b = enter(r, h->strings);
        HD_TRY(read_strings(r, &b));
    }
    if (!h->events) return HD_OK;
    b = enter(r, h->events);
    HD_TRY(scan_events(r, &b));
    return read_records(r);
}

/* Section after section, as the writer left them. */
static hd_status read_unfinished(reader *r)
{
    hd_byte_reader b = r->bytes;
    b.at = SBT_HEADER_BYTES;
    bool events = false;
    while (hd_byte_reader_left(&b)) {
        uint8_t type = hd_byte_reader_u8(&b);
        if (type == SBT_METADATA && !events)
            HD_TRY(read_metadata(r, &b));
        else if (type == SBT_DEVICES && !events)
            HD_TRY(read_devices(r, &b));
        else if (type == SBT_EVENTS && !events) {
            events = true;
            HD_TRY(scan_events(r, &b));
        } else if (type == SBT_STRINGS && !r->strings)
            HD_TRY(read_strings(r, &b));
        else {
            if (type != SBT_END) HD_TRY(note(r, "sbt.cut-off", HD_LEDGER_LOSS, 1, b.at - 1));
            break;
        }
    }
    if (!events) return HD_OK;
    if (!r->strings) {
        r->unnamed = hd_builder_intern_text(r->builder, "(name was not written)");
        HD_TRY(note(r, "sbt.names-missing", HD_LEDGER_LOSS, 1, HD_OFFSET_NONE));
    }
    return read_records(r);
}

/* A private copy of the whole input; above a size in a temporary file. */
static hd_status copy_file(uint8_t **out, uint64_t *out_size, hd_input *input, uint64_t large, hd_error *err)
{
    hd_pieces pieces;
    HD_TRY(hd_pieces_open(&pieces, input, err));
    *out_size = pieces.size;
    *out = hd_large_new((size_t)pieces.size + 1, 1, large);
    hd_status status = *out ? hd_pieces_read(&pieces, *out, 0, (size_t)pieces.size, err) : HD_NOMEM(err);
    if (status == HD_OK) status = hd_pieces_unchanged(&pieces, err);
    hd_pieces_close(&pieces);
    if (status != HD_OK) hd_large_free(*out);
    return status;
}

hd_status sbt_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    uint8_t *copy;
    uint64_t size, large = hd_trace_large_bytes(hd_builder_trace(builder));
    HD_TRY(copy_file(&copy, &size, input, large, err));
    reader r = {
        .builder = builder,
        .options = options,
        .err = err,
        .large = large,
        .bytes = hd_byte_reader_of(copy, (size_t)size),
        .unnamed = hd_builder_intern(builder, "", 0),
    };
    hd_status status = read_header(&r);
    if (status == HD_OK) status = r.finished ? read_finished(&r) : read_unfinished(&r);
    hd_trace_facts *facts = hd_builder_facts(builder);
    facts->input_bytes = size;
    facts->has_args = true;
    facts->base_ns = HD_NO_TIME;
    free(r.strings);
    hd_large_free(r.pairs);
    hd_large_free(r.completes);
    hd_large_slots_deinit(&r.open_slots);
    hd_large_free(r.open);
    free(r.holes);
    hd_large_free(copy);
    return status;
}
