/* naive.c - basic mode: records of 32 bytes, of all threads in the order in which they were written */
#include "base/error.h"
#include "format/xray/xray.h"

enum { RECORD_BYTES = 32, STEP_RECORDS = 8192 };

typedef struct last_call {
    xray_thread *thread; /* NULL: the record before was no enter */
    uint32_t function, tid;
} last_call;

static hd_status add_record(xray_reader *r, last_call *last, const uint8_t *p, uint64_t offset)
{
    uint32_t function = (uint32_t)hd_le_get(p + 4, 4), tid = (uint32_t)hd_le_get(p + 16, 4);
    uint32_t pid = r->version >= 3 ? (uint32_t)hd_le_get(p + 20, 4) : 0;
    uint64_t tsc = hd_le_get(p + 8, 8);
    xray_thread *thread = xray_thread_of(r, pid, tid);
    if (!thread) return HD_NOMEM(r->err);
    bool is_exit = p[3] == XRAY_EXIT || p[3] == XRAY_TAIL_EXIT;
    *last = (last_call){is_exit ? NULL : thread, function, tid};
    return is_exit ? xray_exit(r, thread, function, tsc, offset) : xray_enter(r, thread, function, tsc, p[2]);
}

/* The argument of the record before it. */
static hd_status add_payload(xray_reader *r, const last_call *last, const uint8_t *p, uint64_t offset)
{
    bool has_pid = r->version >= 3;
    uint32_t function = (uint32_t)hd_le_get(p + 4, 4), tid = (uint32_t)hd_le_get(p + 8, 4);
    if (!last->thread || last->function != function || last->tid != tid)
        return xray_note(r, "xray.argument-lost", HD_LEDGER_LOSS, 1, offset);
    return xray_add_arg(r, last->thread, hd_le_get(p + (has_pid ? 16 : 12), 8), offset);
}

hd_status xray_read_naive(xray_reader *r)
{
    last_call last = {0};
    uint64_t at = XRAY_HEADER_BYTES;
    if (r->version > 3)
        return hd_error_set(r->err, HD_ERR_FORMAT, NULL, 0, "version %u of basic XRay logs is not known", r->version);
    while (r->pieces.size - at >= RECORD_BYTES) {
        uint64_t left = (r->pieces.size - at) / RECORD_BYTES;
        size_t count = left < STEP_RECORDS ? (size_t)left : STEP_RECORDS;
        const uint8_t *p = hd_window_at(&r->window, at, count * RECORD_BYTES, r->err);
        if (!p) return HD_ERR_IO;
        for (size_t i = 0; i < count; i++, p += RECORD_BYTES, at += RECORD_BYTES) {
            uint64_t type = hd_le_get(p, 2);
            bool is_call = type == 0 && p[3] <= XRAY_ENTER_ARG;
            if (!is_call && type != 1)
                HD_TRY(xray_note(r, "xray.record-unknown", HD_LEDGER_LOSS, 1, at));
            else
                HD_TRY(is_call ? add_record(r, &last, p, at) : add_payload(r, &last, p, at));
        }
        if (r->options->progress) r->options->progress(r->options->progress_user, at, r->pieces.size);
    }
    return at < r->pieces.size ? xray_note(r, "xray.truncated", HD_LEDGER_LOSS, 1, at) : HD_OK;
}
