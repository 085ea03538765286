/* calls.c - enters and exits -> slices, by a stack for each thread; events -> instants
 *
 * An exit ends the function of its number, and those above it on the stack, whose own exits are missing (an exception,
 * longjmp). The exit of a function that is not on the stack (entered before the log begins) is an instant.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "format/numbers.h"
#include "format/xray/xray.h"

enum { SEARCH_FRAMES = 1024 };

xray_thread *xray_thread_of(xray_reader *r, uint32_t pid, uint32_t tid)
{
    hd_map_entry *known = hd_map_at(&r->thread_index, pid, tid);
    if (!known) return NULL;
    if (known->value) return &r->threads[known->value - 1];
    uint32_t track = hd_builder_thread(r->builder, pid, tid);
    if (track == HD_NONE || !hd_grow((void **)&r->threads, &r->thread_capacity, r->thread_count, sizeof *r->threads))
        return NULL;
    r->threads[r->thread_count] = (xray_thread){.track = track};
    known->value = (uint32_t)++r->thread_count;
    return &r->threads[r->thread_count - 1];
}

void xray_calls_deinit(xray_reader *r)
{
    for (size_t i = 0; i < r->thread_count; i++) {
        free(r->threads[i].frames);
        free(r->threads[i].args);
    }
    free(r->threads);
    hd_map_deinit(&r->thread_index);
}

/* ---- rows ---- */

/* cpu, then as many arguments. HD_NONE: no memory, which the builder remembers. */
static uint32_t call_shape(xray_reader *r, size_t arg_count)
{
    hd_arg_key keys[XRAY_ARGS + 1] = {{r->key_cpu, HD_ARG_INT, HD_SCOPE_ARGS, 0}};
    if (r->call_shapes[arg_count]) return r->call_shapes[arg_count] - 1;
    for (size_t i = 0; i < arg_count; i++) keys[i + 1] = (hd_arg_key){r->key_arg[i], HD_ARG_INT, HD_SCOPE_ARGS, 0};
    uint32_t shape = hd_builder_shape(r->builder, keys, (uint32_t)arg_count + 1, true);
    r->call_shapes[arg_count] = shape + 1;
    return shape;
}

/* A time out of range: the row has none, and the cycles as text. */
static hd_status add_untimed(xray_reader *r, const xray_thread *t, uint32_t name, uint64_t tsc, uint64_t offset)
{
    hd_row row = hd_row_of(HD_KIND_OTHER, 0);
    int64_t value;
    hd_arg_key key = {r->key_tsc, (uint8_t)hd_value_of_unsigned(&value, r->builder, tsc), HD_SCOPE_ARGS, 0};
    row.track = t->track;
    row.name = name;
    row.category = r->category;
    row.shape = hd_builder_shape(r->builder, &key, 1, true);
    if (row.shape == HD_NONE) return HD_NOMEM(r->err);
    HD_TRY(xray_note(r, "xray.time-out-of-range", HD_LEDGER_REPAIR, 1, offset));
    return hd_rows_out_add(&r->rows, &row, &value, r->err);
}

/* The frame on top as a slice: to an end, or without one (end_tsc NULL). */
static hd_status pop(xray_reader *r, xray_thread *t, const uint64_t *end_tsc, uint64_t offset)
{
    const xray_frame *frame = &t->frames[--t->count];
    hd_row row = hd_row_of(HD_KIND_SLICE, end_tsc ? 'X' : 'B');
    int64_t values[XRAY_ARGS + 1] = {frame->cpu}, end_ns;
    t->arg_count -= frame->arg_count;
    row.track = t->track;
    row.name = xray_name(r, frame->function);
    row.category = r->category;
    if (!xray_time(&row.start_ns, &row.start_ps, r, frame->tsc)) return add_untimed(r, t, row.name, frame->tsc, offset);
    if (end_tsc) {
        uint64_t end = *end_tsc < frame->tsc ? frame->tsc : *end_tsc;
        if (*end_tsc < frame->tsc) HD_TRY(xray_note(r, "xray.time-backwards", HD_LEDGER_REPAIR, 1, offset));
        if (!xray_time(&end_ns, &row.end_ps, r, end)) return add_untimed(r, t, row.name, end, offset);
        row.duration_ns = end_ns - row.start_ns;
    }
    if (r->want_args) {
        for (size_t i = 0; i < frame->arg_count; i++) values[i + 1] = (int64_t)t->args[t->arg_count + i];
        row.shape = call_shape(r, frame->arg_count);
        if (row.shape == HD_NONE) return HD_NOMEM(r->err);
    }
    return hd_rows_out_add(&r->rows, &row, values, r->err);
}

static hd_status add_instant(xray_reader *r, const xray_thread *t, uint32_t name, uint64_t tsc, uint64_t offset,
                             const hd_arg_key *keys, const int64_t *values, uint32_t count)
{
    hd_row row = hd_row_of(HD_KIND_INSTANT, 'i');
    row.track = t->track;
    row.name = name;
    row.category = r->category;
    if (!xray_time(&row.start_ns, &row.start_ps, r, tsc)) return add_untimed(r, t, name, tsc, offset);
    row.shape = r->want_args ? hd_builder_shape(r->builder, keys, count, true) : 0;
    return row.shape == HD_NONE ? HD_NOMEM(r->err) : hd_rows_out_add(&r->rows, &row, values, r->err);
}

/* ---- records ---- */

hd_status xray_enter(xray_reader *r, xray_thread *t, uint32_t function, uint64_t tsc, uint16_t cpu)
{
    if (!hd_grow((void **)&t->frames, &t->capacity, t->count, sizeof *t->frames)) return HD_NOMEM(r->err);
    t->frames[t->count++] = (xray_frame){tsc, function, cpu, 0};
    return HD_OK;
}

hd_status xray_add_arg(xray_reader *r, xray_thread *t, uint64_t value, uint64_t offset)
{
    xray_frame *frame = t->count ? &t->frames[t->count - 1] : NULL;
    if (!frame || frame->arg_count == XRAY_ARGS) return xray_note(r, "xray.argument-lost", HD_LEDGER_LOSS, 1, offset);
    if (!hd_grow((void **)&t->args, &t->arg_capacity, t->arg_count, sizeof *t->args)) return HD_NOMEM(r->err);
    t->args[t->arg_count++] = value;
    frame->arg_count++;
    return HD_OK;
}

hd_status xray_exit(xray_reader *r, xray_thread *t, uint32_t function, uint64_t tsc, uint64_t offset)
{
    size_t above = 0, limit = t->count < SEARCH_FRAMES ? t->count : SEARCH_FRAMES;
    while (above < limit && t->frames[t->count - 1 - above].function != function) above++;
    if (above == limit) {
        hd_string name = hd_builder_string(r->builder, xray_name(r, function));
        r->text.size = 0;
        hd_bytes_put(&r->text, "exit of ", 8);
        hd_bytes_put(&r->text, name.data, name.size);
        if (r->text.failed) return HD_NOMEM(r->err);
        uint32_t text = hd_builder_intern(r->builder, (char *)r->text.data, r->text.size);
        HD_TRY(xray_note(r, "xray.exit-unmatched", HD_LEDGER_NOTE, 1, offset));
        return add_instant(r, t, text, tsc, offset, NULL, NULL, 0);
    }
    HD_TRY(xray_note(r, "xray.exit-missing", HD_LEDGER_NOTE, above, offset));
    for (size_t i = 0; i <= above; i++) HD_TRY(pop(r, t, &tsc, offset));
    return HD_OK;
}

/* Data as text; invalid UTF-8 as hexadecimal digits. */
static hd_status data_text(uint32_t *out, xray_reader *r, const uint8_t *data, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    if (hd_utf8_valid((const char *)data, size, false)) {
        *out = hd_builder_intern(r->builder, (const char *)data, size);
        return HD_OK;
    }
    r->text.size = 0;
    hd_bytes_put(&r->text, "0x", 2);
    for (size_t i = 0; i < size; i++) {
        hd_bytes_put_u8(&r->text, (uint8_t)digits[data[i] >> 4]);
        hd_bytes_put_u8(&r->text, (uint8_t)digits[data[i] & 15]);
    }
    if (r->text.failed) return HD_NOMEM(r->err);
    *out = hd_builder_intern(r->builder, (char *)r->text.data, r->text.size);
    return HD_OK;
}

hd_status xray_add_event(xray_reader *r, const xray_thread *t, int32_t type, uint64_t tsc, uint16_t cpu,
                         const uint8_t *data, size_t size)
{
    uint32_t text = HD_STRING_NONE,
             name = hd_builder_intern_text(r->builder, type < 0 ? "custom event" : "typed event");
    HD_TRY(data_text(&text, r, data, size));
    const hd_arg_key keys[] = {{r->key_cpu, HD_ARG_INT, HD_SCOPE_ARGS, 0},
                               {r->key_data, HD_ARG_STRING, HD_SCOPE_ARGS, 0},
                               {r->key_type, HD_ARG_INT, HD_SCOPE_ARGS, 0}};
    const int64_t values[] = {cpu, text, type};
    return add_instant(r, t, name, tsc, HD_OFFSET_NONE, keys, values, type < 0 ? 2 : 3);
}

hd_status xray_finish_calls(xray_reader *r)
{
    for (size_t i = 0; i < r->thread_count; i++) {
        xray_thread *t = &r->threads[i];
        HD_TRY(xray_note(r, "xray.never-exited", HD_LEDGER_NOTE, t->count, HD_OFFSET_NONE));
        while (t->count) HD_TRY(pop(r, t, NULL, HD_OFFSET_NONE));
    }
    return HD_OK;
}
