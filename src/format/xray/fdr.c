/* fdr.c - flight data recorder: buffers of one thread each
 *
 * Versions 1 and 2 write buffers of a fixed size, given in the header; from 3 on each is preceded by a record of its
 * extents. A thread's buffers are in any order: they are read in the order of their wall times.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "format/xray/xray.h"

enum { METADATA_BYTES = 16, FUNCTION_BYTES = 8, SEARCH_BYTES = 1 << 16 };

typedef enum metadata_kind {
    NEW_BUFFER,
    END_OF_BUFFER,
    NEW_CPU,
    TSC_WRAP,
    WALL_CLOCK,
    CUSTOM_EVENT,
    CALL_ARGUMENT,
    EXTENTS,
    TYPED_EVENT,
    PROCESS,
} metadata_kind;

typedef struct buffer {
    uint64_t offset, size, order; /* order: in the file */
    uint32_t pid, tid;
    uint64_t seconds, nanoseconds; /* wall time */
    bool has_wall;
} buffer;

typedef struct buffers {
    buffer *list;
    size_t count, capacity;
} buffers;

static metadata_kind kind_of(uint8_t first)
{
    return (metadata_kind)(first >> 1);
}

/* ---- where buffers are ---- */

/* Reads the records before the first call of the buffer. */
static hd_status look_into(xray_reader *r, buffer *b)
{
    enum { LOOK_RECORDS = 8 };
    size_t size = b->size < LOOK_RECORDS * METADATA_BYTES ? (size_t)b->size : LOOK_RECORDS * METADATA_BYTES;
    const uint8_t *p = size ? hd_window_at(&r->window, b->offset, size, r->err) : NULL;
    if (!p) return size ? HD_ERR_IO : HD_OK;
    bool has_pid = false;
    for (; size >= METADATA_BYTES && *p & 1; p += METADATA_BYTES, size -= METADATA_BYTES) {
        metadata_kind kind = kind_of(*p);
        if (kind == CUSTOM_EVENT || kind == TYPED_EVENT) break;
        if (kind == NEW_BUFFER) b->tid = (uint32_t)hd_le_get(p + 1, 4);
        if (kind == PROCESS) b->pid = (uint32_t)hd_le_get(p + 1, 4), has_pid = true;
        if (kind == WALL_CLOCK) {
            b->seconds = hd_le_get(p + 1, 8);
            b->nanoseconds = hd_le_get(p + 9, 4);
            b->has_wall = true;
        }
    }
    if (!has_pid && r->version == 2) b->pid = b->tid;
    return HD_OK;
}

/* A record of extents followed by a new buffer, at or after `at`; the end of the file if there is none. */
static hd_status find_extents(uint64_t *out, xray_reader *r, uint64_t at)
{
    enum { FIRST = EXTENTS << 1 | 1, NEXT = NEW_BUFFER << 1 | 1 };
    while (r->pieces.size - at > METADATA_BYTES) {
        uint64_t left = r->pieces.size - at;
        size_t size = left < SEARCH_BYTES ? (size_t)left : SEARCH_BYTES;
        const uint8_t *p = hd_window_at(&r->window, at, size, r->err);
        if (!p) return HD_ERR_IO;
        for (size_t i = 0; i + METADATA_BYTES < size; i++) {
            *out = at + i;
            if (p[i] == FIRST && p[i + METADATA_BYTES] == NEXT) return HD_OK;
        }
        at += size - METADATA_BYTES;
    }
    *out = r->pieces.size;
    return HD_OK;
}

/* The next buffer, behind its record of extents. size 0: no more. */
static hd_status next_extents(buffer *out, xray_reader *r, uint64_t *at)
{
    uint64_t found = *at;
    *out = (buffer){0};
    while (*at < r->pieces.size) {
        const uint8_t *p = NULL;
        if (r->pieces.size - *at >= METADATA_BYTES) {
            p = hd_window_at(&r->window, *at, METADATA_BYTES, r->err);
            if (!p) return HD_ERR_IO;
        }
        if (p && *p & 1 && kind_of(*p) == EXTENTS) {
            uint64_t size = hd_le_get(p + 1, 8), left = r->pieces.size - *at - METADATA_BYTES;
            *out = (buffer){.offset = *at + METADATA_BYTES, .size = size < left ? size : left};
            if (size > left) HD_TRY(xray_note(r, "xray.truncated", HD_LEDGER_LOSS, 1, *at));
            *at = out->offset + out->size;
            if (out->size) return HD_OK;
            continue;
        }
        HD_TRY(find_extents(&found, r, *at));
        HD_TRY(xray_note(r, "xray.bytes-skipped", HD_LEDGER_LOSS, 1, *at));
        *at = found;
    }
    return HD_OK;
}

static hd_status next_fixed(buffer *out, xray_reader *r, uint64_t *at)
{
    uint64_t left = r->pieces.size - *at;
    if (left && left < r->buffer_bytes) HD_TRY(xray_note(r, "xray.truncated", HD_LEDGER_LOSS, 1, *at));
    bool is_told = r->buffer_bytes >= METADATA_BYTES && r->buffer_bytes < left;
    *out = (buffer){.offset = *at, .size = is_told ? r->buffer_bytes : left};
    *at += out->size;
    return HD_OK;
}

static int in_order(const void *a, const void *b)
{
    const buffer *x = a, *y = b;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    if (x->tid != y->tid) return x->tid < y->tid ? -1 : 1;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    if (x->nanoseconds != y->nanoseconds) return x->nanoseconds < y->nanoseconds ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static hd_status find_buffers(buffers *out, xray_reader *r)
{
    uint64_t at = XRAY_HEADER_BYTES;
    for (;;) {
        buffer next;
        HD_TRY(r->version < 3 ? next_fixed(&next, r, &at) : next_extents(&next, r, &at));
        if (!next.size) break;
        HD_TRY(look_into(r, &next));
        next.order = out->count;
        if (!hd_grow((void **)&out->list, &out->capacity, out->count, sizeof *out->list)) return HD_NOMEM(r->err);
        out->list[out->count++] = next;
    }
    if (out->count) hd_sort(out->list, out->count, sizeof *out->list, in_order);
    return HD_OK;
}

/* ---- records ---- */

typedef struct expander {
    xray_reader *r;
    const buffer *buffer;
    hd_byte_reader in;
    xray_thread *thread;
    uint32_t pid, tid;
    uint64_t tsc;
    uint16_t cpu;
} expander;

static uint64_t offset_of(const expander *e, size_t record_bytes)
{
    return e->buffer->offset + e->in.at - record_bytes;
}

static hd_status set_thread(expander *e)
{
    e->thread = xray_thread_of(e->r, e->pid, e->tid);
    return e->thread ? HD_OK : HD_NOMEM(e->r->err);
}

/* The Unix time of the clock's zero, by the first buffer that has both a wall time and a time. */
static void note_clock(expander *e, uint64_t tsc)
{
    const buffer *b = e->buffer;
    int64_t ns, wall;
    uint32_t ps;
    e->tsc = tsc;
    if (!b->has_wall || e->r->base_ns != HD_NO_TIME || !xray_time(&ns, &ps, e->r, tsc)) return;
    if (__builtin_mul_overflow((int64_t)b->seconds, 1000000000, &wall) ||
        __builtin_add_overflow(wall, (int64_t)b->nanoseconds, &wall) || __builtin_sub_overflow(wall, ns, &wall))
        return;
    e->r->base_ns = wall;
}

/* The bytes of the event come after its record. Version 5 has the time since the last record, others absolute times. */
static hd_status read_event(expander *e, const uint8_t *body, bool is_typed)
{
    xray_reader *r = e->r;
    uint64_t offset = offset_of(e, METADATA_BYTES), size = hd_le_get(body, 4);
    bool has_delta = is_typed || r->version >= 5;
    uint16_t cpu = !has_delta && r->version >= 4 ? (uint16_t)hd_le_get(body + 12, 2) : e->cpu;
    if (has_delta) e->tsc += (uint64_t)(int64_t)(int32_t)hd_le_get(body + 4, 4);
    const uint8_t *data = size > INT32_MAX ? NULL : hd_byte_reader_take(&e->in, (size_t)size);
    if (!data) {
        e->in.at = e->in.size;
        return xray_note(r, "xray.event-lost", HD_LEDGER_LOSS, 1, offset);
    }
    return xray_add_event(r, e->thread, is_typed ? (int32_t)hd_le_get(body + 8, 2) : -1,
                          has_delta ? e->tsc : hd_le_get(body + 4, 8), cpu, data, (size_t)size);
}

static hd_status read_metadata(expander *e, const uint8_t *p)
{
    const uint8_t *body = p + 1;
    uint64_t offset = offset_of(e, METADATA_BYTES);
    switch (kind_of(*p)) {
    case NEW_BUFFER: e->tid = (uint32_t)hd_le_get(body, 4); return set_thread(e);
    case PROCESS: e->pid = (uint32_t)hd_le_get(body, 4); return set_thread(e);
    case END_OF_BUFFER: e->in.at = e->in.size; return HD_OK; /* no valid record follows */
    case NEW_CPU:
        e->cpu = (uint16_t)hd_le_get(body, 2);
        note_clock(e, hd_le_get(body + 2, 8));
        return HD_OK;
    case TSC_WRAP: e->tsc = hd_le_get(body, 8); return HD_OK;
    case WALL_CLOCK: return HD_OK; /* look_into has it */
    case EXTENTS: return HD_OK;
    case CUSTOM_EVENT: return read_event(e, body, false);
    case TYPED_EVENT: return read_event(e, body, true);
    case CALL_ARGUMENT: return xray_add_arg(e->r, e->thread, hd_le_get(body, 8), offset);
    default: return xray_note(e->r, "xray.record-unknown", HD_LEDGER_LOSS, 1, offset);
    }
}

static hd_status read_function(expander *e, uint64_t record)
{
    uint32_t function = (uint32_t)record >> 4;
    e->tsc += record >> 32;
    switch (record >> 1 & 7) {
    case XRAY_ENTER:
    case XRAY_ENTER_ARG: return xray_enter(e->r, e->thread, function, e->tsc, e->cpu);
    case XRAY_EXIT:
    case XRAY_TAIL_EXIT: return xray_exit(e->r, e->thread, function, e->tsc, offset_of(e, FUNCTION_BYTES));
    default: return xray_note(e->r, "xray.record-unknown", HD_LEDGER_LOSS, 1, offset_of(e, FUNCTION_BYTES));
    }
}

static hd_status read_buffer(xray_reader *r, const buffer *b)
{
    expander e = {.r = r, .buffer = b, .pid = b->pid, .tid = b->tid};
    const uint8_t *data = b->size <= SIZE_MAX ? hd_window_at(&r->window, b->offset, (size_t)b->size, r->err) : NULL;
    if (!data) return HD_ERR_IO;
    e.in = hd_byte_reader_of(data, (size_t)b->size);
    HD_TRY(set_thread(&e));
    for (size_t left; (left = hd_byte_reader_left(&e.in)) >= FUNCTION_BYTES;) {
        const uint8_t *p = e.in.data + e.in.at;
        bool is_metadata = *p & 1;
        if (is_metadata && left < METADATA_BYTES) break;
        e.in.at += is_metadata ? METADATA_BYTES : FUNCTION_BYTES;
        if (is_metadata)
            HD_TRY(read_metadata(&e, p));
        else
            HD_TRY(read_function(&e, hd_le_get(p, 8)));
    }
    if (hd_byte_reader_left(&e.in)) HD_TRY(xray_note(r, "xray.record-cut", HD_LEDGER_LOSS, 1, b->offset + e.in.at));
    return HD_OK;
}

hd_status xray_read_fdr(xray_reader *r)
{
    buffers all = {0};
    uint64_t done = 0;
    if (r->version < 1 || r->version > 5)
        return hd_error_set(r->err, HD_ERR_FORMAT, NULL, 0, "version %u of XRay's FDR logs is not known", r->version);
    hd_status status = find_buffers(&all, r);
    for (size_t i = 0; status == HD_OK && i < all.count; i++) {
        status = read_buffer(r, &all.list[i]);
        done += all.list[i].size;
        if (r->options->progress) r->options->progress(r->options->progress_user, done, r->pieces.size);
    }
    free(all.list);
    return status;
}
