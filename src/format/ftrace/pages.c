/* pages.c - the ring buffer's pages of each CPU, merged by time
 *
 * A page has the time of its first event, how many bytes are used, and events: a head of 32 bits (5 of type or length,
 * 27 of time since the event before), then the data. Types: 0 a length follows, 1 to 28 words of data, 29 padding, 30
 * more bits of time, 31 the time itself. Of the length's upper bits two say that events were lost before the page.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/memory/vector.h"
#include "format/ftrace/ftrace.h"

enum { PADDING = 29, TIME_EXTEND = 30, TIME_STAMP = 31, TIME_BITS = 27, LENGTH_MASK = 0xfffff };
enum { MISSED_EVENTS = 1u << 31, MISSED_STORED = 1 << 30, PAGE_MIN = 64, PAGE_MAX = 1 << 24, CHUNK_LIMIT = 64 << 20 };
enum { PROGRESS_RECORDS = 1 << 14 };

hd_status ftrace_add_stream(ftrace_reader *r, int64_t cpu, uint64_t offset, uint64_t size, bool is_compressed)
{
    uint64_t left = offset < r->pieces.size ? r->pieces.size - offset : 0;
    if (is_compressed && size && size < left)
        size += left - size < 4 ? left - size : 4; /* the number of chunks is not in it */
    if (size > left) {
        HD_TRY(ftrace_note(r, "ftrace.truncated", HD_LEDGER_LOSS, 1, r->pieces.size));
        size = left;
    }
    if (!size) return HD_OK;
    if (!hd_grow((void **)&r->streams, &r->stream_capacity, r->stream_count, sizeof *r->streams))
        return HD_NOMEM(r->err);
    ftrace_stream *s = &r->streams[r->stream_count++];
    *s = (ftrace_stream){.cpu = cpu, .at = offset, .end = offset + size, .is_compressed = is_compressed};
    s->page_bytes = r->data.page_bytes;
    if (!is_compressed) return HD_OK;
    uint8_t count[4];
    if (size < 4) return ftrace_note(r, "ftrace.truncated", HD_LEDGER_LOSS, 1, offset);
    HD_TRY(hd_pieces_read(&r->pieces, count, offset, sizeof count, r->err));
    s->chunks = (uint32_t)hd_le_get(count, 4);
    s->at += 4;
    return HD_OK;
}

/* ---- bytes ---- */

/* HD_END: no more. */
static hd_status next_chunk(ftrace_reader *r, ftrace_stream *s)
{
    uint8_t head[8];
    if (!s->chunks || s->end - s->at < sizeof head) return HD_END;
    HD_TRY(hd_pieces_read(&r->pieces, head, s->at, sizeof head, r->err));
    uint64_t stored = hd_le_get(head, 4), plain = hd_le_get(head + 4, 4), offset = s->at;
    s->chunks--;
    s->at += sizeof head;
    s->plain.size = s->plain_at = 0;
    if (stored > s->end - s->at || plain > CHUNK_LIMIT) {
        s->at = s->end;
        HD_TRY(ftrace_note(r, "ftrace.truncated", HD_LEDGER_LOSS, 1, offset));
        return HD_END;
    }
    uint8_t *data = malloc(stored ? stored : 1);
    if (!data) return HD_NOMEM(r->err);
    hd_error own = {0};
    hd_status status = hd_pieces_read(&r->pieces, data, s->at, stored, r->err);
    bool is_read = status == HD_OK;
    if (is_read) status = (r->has_zstd ? hd_zstd_decompress : hd_zlib_decompress)(&s->plain, data, stored, plain, &own);
    free(data);
    s->at += stored;
    if (!is_read) return status;
    if (status == HD_ERR_MEMORY) return HD_NOMEM(r->err);
    return status == HD_OK ? HD_OK : ftrace_note(r, "ftrace.chunk-damaged", HD_LEDGER_LOSS, 1, offset);
}

/* The next page's bytes at s->page; HD_END: no more. */
static hd_status next_bytes(ftrace_reader *r, ftrace_stream *s)
{
    if (s->is_compressed) {
        while (s->plain.size - s->plain_at < s->page_bytes) {
            hd_status status = next_chunk(r, s);
            if (status != HD_OK) return status;
        }
        s->page = s->plain.data + s->plain_at;
        s->plain_at += s->page_bytes;
        s->page_offset = s->at;
        s->have = s->page_bytes;
        return HD_OK;
    }
    uint64_t left = s->end - s->at;
    if (!left) return HD_END;
    s->plain.size = 0;
    if (!hd_bytes_room(&s->plain, s->page_bytes)) return HD_NOMEM(r->err);
    size_t size = left < s->page_bytes ? (size_t)left : s->page_bytes;
    HD_TRY(hd_pieces_read(&r->pieces, s->plain.data, s->at, size, r->err));
    memset(s->plain.data + size, 0, s->page_bytes - size);
    s->page = s->plain.data;
    s->page_offset = s->at;
    s->have = (uint32_t)size;
    s->at += size;
    return HD_OK;
}

static hd_status next_page(ftrace_reader *r, ftrace_stream *s)
{
    const tp_data *d = &r->data;
    HD_TRY(next_bytes(r, s));
    uint64_t commit = hd_le_get(s->page + d->commit_at, d->commit_bytes);
    uint32_t length = (uint32_t)(commit & LENGTH_MASK), room = s->have > d->data_at ? s->have - d->data_at : 0;
    s->time = hd_le_get(s->page, 8);
    s->event_at = d->data_at;
    if (length > room) {
        HD_TRY(ftrace_note(r, "ftrace.page-damaged", HD_LEDGER_LOSS, 1, s->page_offset));
        length = room;
    }
    s->length = d->data_at + length;
    if (!s->time && !commit) return ftrace_note(r, "ftrace.zeros", HD_LEDGER_LOSS, 1, s->page_offset);
    if (!(commit & LENGTH_MASK)) return ftrace_note(r, "ftrace.page-damaged", HD_LEDGER_LOSS, 1, s->page_offset);
    if (!(commit & MISSED_EVENTS)) return HD_OK;
    bool is_stored = commit & MISSED_STORED && s->length + d->long_bytes <= s->page_bytes;
    uint64_t missed = is_stored ? hd_le_get(s->page + s->length, d->long_bytes) : 1;
    return ftrace_note(r, "ftrace.events-lost", HD_LEDGER_LOSS, missed, s->page_offset);
}

/* ---- events ---- */

/* The rest of the page cannot be parsed. */
static hd_status give_up_page(ftrace_reader *r, ftrace_stream *s)
{
    uint64_t offset = s->page_offset + s->event_at;
    s->event_at = s->length;
    return ftrace_note(r, "ftrace.page-damaged", HD_LEDGER_LOSS, 1, offset);
}

/* Parses the entry at event_at, and advances. *out_event: it is an event, not a time or padding. */
static hd_status parse_event(ftrace_reader *r, ftrace_stream *s, bool *out_event)
{
    uint32_t left = s->length - s->event_at;
    const uint8_t *at = s->page + s->event_at;
    *out_event = false;
    if (left < 4) return give_up_page(r, s);
    uint32_t head = (uint32_t)hd_le_get(at, 4), type = head & 31, delta = head >> 5, size;
    uint64_t word = left >= 8 ? hd_le_get(at + 4, 4) : 0;
    bool has_word = type == 0 || type >= PADDING;
    if (type == PADDING && delta == 0) {
        s->event_at = s->length;
        return HD_OK;
    }
    if (has_word && left < 8) return give_up_page(r, s);
    if (type == TIME_STAMP)
        s->time = (s->time & ~((UINT64_C(1) << 59) - 1)) | word << TIME_BITS | delta;
    else
        s->time += delta + (type == TIME_EXTEND ? word << TIME_BITS : 0);
    if (type >= TIME_EXTEND) {
        s->event_at += 8;
        return HD_OK;
    }
    size = has_word ? (uint32_t)(word < left ? word : left) : type * 4; /* a length counts itself */
    if (size > left - 4 || (has_word && size < 4)) return give_up_page(r, s);
    s->data = at + (has_word ? 8 : 4);
    s->data_bytes = size - (has_word ? 4 : 0);
    s->event_at += 4 + ((size + 3) & ~UINT32_C(3));
    if (s->event_at > s->length) s->event_at = s->length;
    *out_event = type != PADDING;
    return HD_OK;
}

/* HD_END: no more. */
static hd_status next_event(ftrace_reader *r, ftrace_stream *s)
{
    bool is_event = false;
    while (!is_event) {
        if (!s->page || s->event_at >= s->length) {
            HD_TRY(next_page(r, s));
            continue;
        }
        HD_TRY(parse_event(r, s, &is_event));
    }
    return HD_OK;
}

static int64_t ns_of(const ftrace_reader *r, uint64_t ticks)
{
    __extension__ typedef unsigned __int128 u128;
    if (!r->multiplier) return (int64_t)ticks;
    return (int64_t)(uint64_t)(((u128)ticks * r->multiplier) >> r->shift) + (int64_t)r->tick_offset;
}

static hd_status place_event(ftrace_reader *r, const ftrace_stream *s)
{
    tp_event event;
    uint64_t offset = s->is_compressed ? s->page_offset : s->page_offset + (uint64_t)(s->data - s->page);
    if (s->data_bytes < 2) return ftrace_note(r, "ftrace.event-damaged", HD_LEDGER_LOSS, 1, offset);
    const tp_layout *layout = tp_layouts_find(&r->data.layouts, (uint32_t)hd_le_get(s->data, 2));
    if (!layout) return ftrace_note(r, "ftrace.event-unknown", HD_LEDGER_LOSS, 1, offset);
    if (!tp_decode(&event, &r->place, layout, s->data, s->data_bytes))
        HD_TRY(ftrace_note(r, "ftrace.field-damaged", HD_LEDGER_LOSS, 1, offset));
    event.time_ns = ns_of(r, s->time);
    event.cpu = s->cpu;
    uint64_t repaired = r->place.repaired;
    HD_TRY(tp_add(&r->place, &event));
    if (r->options->progress && ++r->records % PROGRESS_RECORDS == 0)
        r->options->progress(r->options->progress_user, s->at, r->pieces.size);
    return ftrace_note(r, "ftrace.utf8", HD_LEDGER_REPAIR, r->place.repaired - repaired, offset);
}

typedef struct head {
    uint64_t time;
    ftrace_stream *stream;
} head;

static bool is_before(const head *x, const head *y)
{
    return x->time != y->time ? x->time < y->time : x->stream < y->stream;
}

static hd_status merge(ftrace_reader *r, head *heads)
{
    size_t count = 0;
    for (size_t i = 0; i < r->stream_count; i++) {
        ftrace_stream *s = &r->streams[i];
        hd_status status = next_event(r, s);
        if (status == HD_END) continue;
        HD_TRY(status);
        head added = {s->time, s};
        HD_HEAP_PUSH(heads, count, added, x, y, is_before(x, y));
    }
    while (count) {
        ftrace_stream *s = heads[0].stream;
        HD_TRY(place_event(r, s));
        hd_status status = next_event(r, s);
        if (status != HD_OK && status != HD_END) return status;
        head moved = status == HD_OK ? (head){s->time, s} : heads[--count];
        if (count) HD_HEAP_SINK(heads, count, 0, moved, x, y, is_before(x, y));
    }
    return HD_OK;
}

hd_status ftrace_read_pages(ftrace_reader *r)
{
    for (size_t i = 0; i < r->stream_count; i++) {
        uint32_t size = r->streams[i].page_bytes;
        if (size < PAGE_MIN || size < r->data.data_at + 8 || size > PAGE_MAX)
            return hd_error_set(r->err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE, "pages of %u bytes are none", size);
    }
    head *heads = malloc((r->stream_count + 1) * sizeof *heads);
    if (!heads) return HD_NOMEM(r->err);
    hd_status status = merge(r, heads);
    free(heads);
    return status;
}
