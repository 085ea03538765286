/* read.c - XRay logs -> trace
 *
 * Format   a header of 32 bytes, then records; specified by LLVM, "XRay Flight Data Recorder Trace Format", and
 *             compiler-rt's records of it. Basic ("naive") logs of versions 1 to 3, FDR logs of 1 to 5.
 *             docs/formats/xray.md has the mapping
 * Sniffs   a plausible header followed by a plausible record
 * Maps     enter and exit -> slice; custom and typed events -> instants; arguments of calls -> arguments
 * Units    cycles -> ns and ps by the header's frequency        Shapes   an enter and its exit -> 1 row
 * Limits   XRAY_ARGS arguments a call
 * Damage   invalid records are skipped and counted; with FDR, reading continues with the next buffer
 * Errors   FORMAT: an unknown version; DAMAGED: strict; those of options->binary
 */
#include "format/xray/xray.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

static const int64_t NS = 1000000000;
__extension__ typedef unsigned __int128 wide;

/* ---- what all of the reader uses ---- */

hd_status xray_note(xray_reader *r, const char *code, hd_ledger_level level, uint64_t count, uint64_t offset)
{
    if (!count) return HD_OK;
    hd_builder_ledger(r->builder, XRAY_STAGE, code, level, count, offset);
    if (!r->options->strict || level == HD_LEDGER_NOTE) return HD_OK;
    return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, offset, "%s, and --strict refuses repairs", code);
}

bool xray_time(int64_t *out_ns, uint32_t *out_ps, const xray_reader *r, uint64_t tsc)
{
    uint64_t seconds = tsc / r->hertz, cycles = tsc % r->hertz;
    if (seconds > (uint64_t)(INT64_MAX / NS)) return false;
    wide product = (wide)cycles * (uint64_t)NS; /* below 64 bits up to 18 GHz, where dividing is quick */
    bool is_short = product >> 64 == 0;
    uint64_t ns = is_short ? (uint64_t)product / r->hertz : (uint64_t)(product / r->hertz);
    uint64_t rest = (uint64_t)(product - (wide)ns * r->hertz);
    if (seconds * (uint64_t)NS + ns > INT64_MAX) return false;
    *out_ns = (int64_t)(seconds * (uint64_t)NS + ns);
    *out_ps = rest ? (uint32_t)((wide)rest * 1000 / r->hertz) : 0;
    return true;
}

/* llvm-xray's name for unknown functions. */
static uint32_t make_name(xray_reader *r, uint32_t function)
{
    char text[16];
    snprintf(text, sizeof text, "#%u", function);
    r->unnamed++;
    return hd_builder_intern_text(r->builder, text);
}

uint32_t xray_name(xray_reader *r, uint32_t function)
{
    uint32_t name;
    if (function < XRAY_DENSE_NAMES) {
        if (!r->names[function]) r->names[function] = make_name(r, function);
        return r->names[function];
    }
    if (hd_map_get(&name, &r->more_names, function, 0)) return name;
    name = make_name(r, function);
    return hd_map_set(&r->more_names, function, 0, name) ? name : HD_STRING_NONE;
}

/* ---- the whole ---- */

static hd_status read_header(xray_reader *r)
{
    if (r->pieces.size < XRAY_HEADER_BYTES)
        return hd_error_set(r->err, HD_ERR_FORMAT, NULL, 0,
                            "the header of an XRay log has %d bytes, this file has %llu", XRAY_HEADER_BYTES,
                            (unsigned long long)r->pieces.size);
    const uint8_t *head = hd_window_at(&r->window, 0, XRAY_HEADER_BYTES, r->err);
    if (!head) return HD_ERR_IO;
    r->version = (unsigned)hd_le_get(head, 2);
    r->is_fdr = hd_le_get(head + 2, 2) == 1;
    r->hertz = hd_le_get(head + 8, 8);
    r->buffer_bytes = hd_le_get(head + 16, 8);
    if (r->hertz) return HD_OK;
    r->hertz = (uint64_t)NS;
    return xray_note(r, "xray.no-frequency", HD_LEDGER_NOTE, 1, 8);
}

static hd_status finish(xray_reader *r)
{
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    HD_TRY(xray_finish_calls(r));
    HD_TRY(hd_rows_out_flush(&r->rows, r->err));
    HD_TRY(xray_note(r, "xray.unnamed", HD_LEDGER_NOTE, r->unnamed, HD_OFFSET_NONE));
    facts->has_args = r->want_args;
    facts->input_bytes = r->pieces.size;
    facts->base_ns = r->base_ns;
    return hd_pieces_unchanged(&r->pieces, r->err);
}

static hd_status read_all(xray_reader *r, hd_input *input)
{
    HD_TRY(hd_pieces_open(&r->pieces, input, r->err));
    r->window.pieces = &r->pieces;
    r->names = calloc(XRAY_DENSE_NAMES, sizeof *r->names);
    if (!r->names) return HD_NOMEM(r->err);
    HD_TRY(hd_rows_out_init(&r->rows, r->builder, r->options->threads, r->err));
    HD_TRY(read_header(r));
    HD_TRY(xray_find_names(r, input));
    HD_TRY(r->is_fdr ? xray_read_fdr(r) : xray_read_naive(r));
    return finish(r);
}

static void intern_keys(xray_reader *r)
{
    static const char *const args[XRAY_ARGS] = {"arg1", "arg2", "arg3", "arg4", "arg5", "arg6"};
    for (size_t i = 0; i < XRAY_ARGS; i++) r->key_arg[i] = hd_builder_intern_text(r->builder, args[i]);
    r->category = hd_builder_intern_text(r->builder, "xray");
    r->key_cpu = hd_builder_intern_text(r->builder, "cpu");
    r->key_type = hd_builder_intern_text(r->builder, "type");
    r->key_data = hd_builder_intern_text(r->builder, "data");
    r->key_tsc = hd_builder_intern_text(r->builder, "tsc");
}

hd_status xray_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    xray_reader r = {.builder = builder,
                     .options = options,
                     .err = err,
                     .want_args = options->args == HD_ARGS_ALL,
                     .base_ns = HD_NO_TIME};
    intern_keys(&r);
    hd_status status = read_all(&r, input);
    xray_calls_deinit(&r);
    hd_rows_out_deinit(&r.rows);
    hd_map_deinit(&r.more_names);
    hd_bytes_deinit(&r.text);
    free(r.names);
    hd_window_deinit(&r.window);
    hd_pieces_close(&r.pieces);
    return status;
}
