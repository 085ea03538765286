/* dat.c - trace.dat of trace-cmd -> rows
 *
 * Format   versions 6 (consecutive parts) and 7 (sections, found through options; compressed or not).
 *          Specified by trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5). docs/formats/ftrace.md
 * Sniffs   17 08 44 "tracing"
 * Maps     see tracepoint/tracepoint.h
 * Units    the clock of the recording, ns; ticks of x86-tsc by the factor that the file has
 * Limits   pages of 16 MiB, 64 MiB a compressed chunk, 4,096 sections
 * Errors   FORMAT: header, big-endian, other versions; DAMAGED: strict
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/text/ends.h"
#include "format/ftrace/ftrace.h"

enum { OPTION_DONE, OPTION_BUFFER = 3, OPTION_CLOCK = 4, OPTION_CPUS = 8, OPTION_TICKS = 14 };
enum {
    SECTION_HEADER_INFO = 16,
    SECTION_FTRACE_EVENTS,
    SECTION_EVENT_FORMATS,
    SECTION_KALLSYMS,
    SECTION_PRINTK,
    SECTION_NAMES,
    SECTION_PROCESSES = 23
};
enum { WORD_BYTES = 10, CPUS_MAX = 1 << 16, SECTIONS_MAX = 4096, SECTION_LIMIT = 1 << 30 };

/* ---- options ---- */

static void take_ticks(ftrace_reader *r, const uint8_t *data, size_t size)
{
    if (size < 16) return;
    r->multiplier = (uint32_t)hd_le_get(data, 4);
    r->shift = (uint32_t)hd_le_get(data + 4, 4) & 63;
    r->tick_offset = hd_le_get(data + 8, 8);
}

/* "[local] global counter", or the clock's name alone. */
static void take_clock(ftrace_reader *r, const uint8_t *data, size_t size)
{
    static const char *const others[] = {"counter", "uptime", "perf", "x86-tsc", "tsc"};
    const char *at = memchr(data, '[', size), *text = at ? at + 1 : (const char *)data;
    size_t left = size - (size_t)(text - (const char *)data);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (i != 2 && hd_starts_with(text, left, others[i])) r->is_other_clock = true;
    }
}

static bool is_word(tp_input *in, const char *word)
{
    const uint8_t *data = tp_take(in, WORD_BYTES);
    return data && strncmp((const char *)data, word, WORD_BYTES) == 0;
}

/* Offset and size of each CPU's pages. */
static hd_status take_cpus(ftrace_reader *r, tp_input *in, uint32_t count)
{
    if (!is_word(in, "flyrecord")) return ftrace_note(r, "ftrace.header-damaged", HD_LEDGER_LOSS, 1, in->at);
    for (uint32_t i = 0; i < count && !in->failed; i++) {
        uint64_t offset = tp_take_number(in, 8), size = tp_take_number(in, 8);
        if (!in->failed) HD_TRY(ftrace_add_stream(r, i, offset, size, false));
    }
    return in->failed ? ftrace_note(r, "ftrace.truncated", HD_LEDGER_LOSS, 1, in->end) : HD_OK;
}

/* Another instance: its CPUs are at an offset. */
static hd_status take_instance(ftrace_reader *r, const tp_input *in, uint64_t offset, uint32_t count)
{
    tp_input there = {.window = {.pieces = in->window.pieces}, .at = offset, .end = in->end, .err = in->err};
    if (offset >= in->end) return ftrace_note(r, "ftrace.header-damaged", HD_LEDGER_LOSS, 1, offset);
    hd_status status = take_cpus(r, &there, count);
    hd_window_deinit(&there.window);
    return status;
}

static hd_status take_options(ftrace_reader *r, tp_input *in, uint32_t cpus)
{
    while (!in->failed) {
        uint64_t id = tp_take_number(in, 2);
        if (id == OPTION_DONE) break;
        uint64_t size = tp_take_number(in, 4), at = in->at;
        const uint8_t *data = tp_take(in, size);
        if (!data) break;
        if (id == OPTION_CLOCK) take_clock(r, data, (size_t)size);
        if (id == OPTION_TICKS) take_ticks(r, data, (size_t)size);
        if (id != OPTION_BUFFER || size < 8) continue;
        HD_TRY(take_instance(r, in, hd_le_get(data, 8), cpus));
        in->at = at + size;
    }
    return HD_OK;
}

/* ---- version 6 ---- */

static hd_status read_six(ftrace_reader *r, tp_input *in)
{
    HD_TRY(tp_data_read(&r->data, in, true));
    uint64_t cpus = tp_take_number(in, 4), at = in->at;
    if (in->failed) return ftrace_note(r, "ftrace.truncated", HD_LEDGER_LOSS, 1, in->end);
    if (cpus > CPUS_MAX) return ftrace_note(r, "ftrace.header-damaged", HD_LEDGER_LOSS, 1, at - 4);
    if (is_word(in, "options  "))
        HD_TRY(take_options(r, in, (uint32_t)cpus));
    else
        in->at = at;
    at = in->at;
    if (is_word(in, "latency  "))
        return hd_error_set(r->err, HD_ERR_UNSUPPORTED, NULL, at,
                            "a latency trace, which is text within: `trace-cmd report` prints it");
    in->at = at;
    return take_cpus(r, in, (uint32_t)cpus);
}

/* ---- version 7 ---- */

typedef struct section {
    uint64_t id, size, offset; /* of its bytes in the file */
    bool is_compressed;
} section;

static bool open_section(section *out, ftrace_reader *r, uint64_t offset)
{
    uint8_t head[16];
    hd_error own = {0};
    if (offset > r->pieces.size || r->pieces.size - offset < sizeof head) return false;
    if (hd_pieces_read(&r->pieces, head, offset, sizeof head, &own) != HD_OK) return false;
    *out = (section){hd_le_get(head, 2), hd_le_get(head + 8, 8), offset + sizeof head, hd_le_get(head + 2, 2) & 1};
    return out->size <= r->pieces.size - out->offset;
}

/* The bytes of a section, decompressed; the caller frees them. */
static hd_status section_bytes(ftrace_reader *r, hd_bytes *out, const section *s)
{
    hd_error own = {0};
    uint8_t *room = hd_bytes_room(out, (size_t)s->size + 1);
    if (!room) return HD_NOMEM(r->err);
    HD_TRY(hd_pieces_read(&r->pieces, room, s->offset, (size_t)s->size, r->err));
    out->size = (size_t)s->size;
    if (!s->is_compressed) return HD_OK;
    uint64_t stored = out->size >= 8 ? hd_le_get(out->data, 4) : UINT64_MAX;
    uint64_t plain = out->size >= 8 ? hd_le_get(out->data + 4, 4) : 0;
    hd_bytes text = {0};
    hd_status status = HD_ERR_DAMAGED;
    if (stored <= out->size - 8 && out->size >= 8 && plain <= SECTION_LIMIT)
        status =
            (r->has_zstd ? hd_zstd_decompress : hd_zlib_decompress)(&text, out->data + 8, (size_t)stored, plain, &own);
    hd_bytes_deinit(out);
    *out = text;
    if (status == HD_ERR_MEMORY) return HD_NOMEM(r->err);
    return status == HD_OK ? HD_OK : ftrace_note(r, "ftrace.chunk-damaged", HD_LEDGER_LOSS, 1, s->offset);
}

static hd_status read_part(ftrace_reader *r, uint64_t id, tp_input *in)
{
    switch (id) {
    case SECTION_HEADER_INFO: tp_data_header_info(&r->data, in); return HD_OK;
    case SECTION_FTRACE_EVENTS: return tp_data_ftrace_events(&r->data, in);
    case SECTION_EVENT_FORMATS: return tp_data_event_formats(&r->data, in);
    case SECTION_NAMES: return tp_data_threads(&r->data, in, false);
    default: return tp_data_threads(&r->data, in, true);
    }
}

static hd_status read_section(ftrace_reader *r, uint64_t id, uint64_t offset)
{
    section s;
    hd_bytes bytes = {0};
    if (!open_section(&s, r, offset) || s.id != id)
        return ftrace_note(r, "ftrace.header-damaged", HD_LEDGER_LOSS, 1, offset);
    hd_status status = section_bytes(r, &bytes, &s);
    if (status == HD_OK && bytes.size) {
        const hd_pieces memory = {.memory = bytes.data, .size = bytes.size};
        tp_input in = {.window = {.pieces = &memory}, .end = bytes.size, .err = r->err};
        status = read_part(r, id, &in);
        if (status == HD_OK && in.failed) status = ftrace_note(r, "ftrace.truncated", HD_LEDGER_LOSS, 1, s.offset);
        hd_window_deinit(&in.window);
    }
    hd_bytes_deinit(&bytes);
    return status;
}

/* Offset of the pages' section, name and clock of the instance, size of a page, and the CPUs. */
static hd_status take_buffer(ftrace_reader *r, const uint8_t *data, size_t size, uint64_t offset)
{
    const hd_pieces memory = {.memory = data, .size = size};
    tp_input in = {.window = {.pieces = &memory}, .end = size, .err = r->err};
    section s;
    char text[256];
    uint64_t place = tp_take_number(&in, 8);
    tp_take_text(&in, text, sizeof text);
    if (tp_take_text(&in, text, sizeof text)) take_clock(r, (uint8_t *)text, strlen(text));
    r->data.page_bytes = (uint32_t)tp_take_number(&in, 4);
    uint64_t cpus = tp_take_number(&in, 4);
    if (in.failed || !open_section(&s, r, place))
        return ftrace_note(r, "ftrace.header-damaged", HD_LEDGER_LOSS, 1, offset);
    for (uint64_t i = 0; i < cpus; i++) {
        uint64_t cpu = tp_take_number(&in, 4), at = tp_take_number(&in, 8), bytes = tp_take_number(&in, 8);
        if (in.failed) return ftrace_note(r, "ftrace.header-damaged", HD_LEDGER_LOSS, 1, offset);
        HD_TRY(ftrace_add_stream(r, (int64_t)cpu, at, bytes, s.is_compressed));
    }
    return HD_OK;
}

static bool is_section(uint64_t id)
{
    return (id >= SECTION_HEADER_INFO && id <= SECTION_EVENT_FORMATS) || id == SECTION_NAMES || id == SECTION_PROCESSES;
}

/* *out_next: offset of further options, 0: none. */
static hd_status take_options_seven(ftrace_reader *r, uint64_t *out_next, tp_input *in, uint64_t offset)
{
    while (!in->failed && in->at < in->end) {
        uint64_t id = tp_take_number(in, 2), size = tp_take_number(in, 4);
        const uint8_t *data = tp_take(in, size);
        if (!data) break;
        uint64_t value = size >= 8 ? hd_le_get(data, 8) : 0;
        if (id == OPTION_DONE) {
            *out_next = value;
            return HD_OK;
        }
        if (id == OPTION_CLOCK) take_clock(r, data, (size_t)size);
        if (id == OPTION_TICKS) take_ticks(r, data, (size_t)size);
        if (id == OPTION_BUFFER) HD_TRY(take_buffer(r, data, (size_t)size, offset));
        if (is_section(id)) HD_TRY(read_section(r, id, value));
    }
    return ftrace_note(r, "ftrace.header-damaged", HD_LEDGER_LOSS, 1, offset);
}

static hd_status read_seven(ftrace_reader *r, tp_input *in)
{
    char name[16], version[16];
    if (!tp_take_text(in, name, sizeof name) || !tp_take_text(in, version, sizeof version))
        return ftrace_note(r, "ftrace.truncated", HD_LEDGER_LOSS, 1, in->at);
    r->has_zstd = strcmp(name, "zstd") == 0;
    uint64_t next = tp_take_number(in, 8);
    for (int i = 0; next && i < SECTIONS_MAX; i++) {
        section s;
        hd_bytes bytes = {0};
        uint64_t offset = next;
        next = 0;
        if (!open_section(&s, r, offset) || s.id != OPTION_DONE)
            return ftrace_note(r, "ftrace.header-damaged", HD_LEDGER_LOSS, 1, offset);
        hd_status status = section_bytes(r, &bytes, &s);
        const hd_pieces memory = {.memory = bytes.data, .size = bytes.size};
        tp_input options = {.window = {.pieces = &memory}, .end = bytes.size, .err = r->err};
        if (status == HD_OK && bytes.size) status = take_options_seven(r, &next, &options, offset);
        if (status == HD_OK && !s.size) status = ftrace_note(r, "ftrace.header-damaged", HD_LEDGER_LOSS, 1, offset);
        hd_window_deinit(&options.window);
        hd_bytes_deinit(&bytes);
        HD_TRY(status);
    }
    return HD_OK;
}

/* ---- all ---- */

static hd_status read_all(ftrace_reader *r, tp_input *in)
{
    char version[16] = "";
    if (!tp_data_magic(&r->data, in, version))
        return hd_error_set(r->err, HD_ERR_FORMAT, NULL, 0, "expected the header of trace.dat, found a part of it");
    if (r->data.is_big_endian)
        return hd_error_set(r->err, HD_ERR_UNSUPPORTED, NULL, 0,
                            "a trace.dat of a big-endian machine: `trace-cmd report` prints it");
    bool is_six = strcmp(version, "6") == 0;
    if (!is_six && strcmp(version, "7") != 0)
        return hd_error_set(r->err, HD_ERR_UNSUPPORTED, NULL, 0, "version \"%s\" of trace.dat, where 6 and 7 are known",
                            version);
    HD_TRY(is_six ? read_six(r, in) : read_seven(r, in));
    HD_TRY(ftrace_note(r, "ftrace.layout-damaged", HD_LEDGER_LOSS, r->data.bad_layouts, HD_OFFSET_NONE));
    if (r->is_other_clock && !r->multiplier) HD_TRY(ftrace_note(r, "ftrace.clock", HD_LEDGER_NOTE, 1, HD_OFFSET_NONE));
    HD_TRY(ftrace_read_pages(r));
    HD_TRY(ftrace_note(r, "ftrace.switch-missing", HD_LEDGER_NOTE, r->place.switches_lost, HD_OFFSET_NONE));
    HD_TRY(tp_finish(&r->place));
    return hd_pieces_unchanged(&r->pieces, r->err);
}

hd_status ftrace_read_dat(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    ftrace_reader r = {.builder = builder, .options = options, .err = err};
    tp_input in = {.window = {.pieces = &r.pieces}, .err = err};
    r.data.place = &r.place;
    hd_builder_facts(builder)->has_args = options->args == HD_ARGS_ALL;
    hd_status status = tp_open(&r.place, builder, options, err);
    if (status == HD_OK) status = hd_pieces_open(&r.pieces, input, err);
    in.end = hd_builder_facts(builder)->input_bytes = r.pieces.size;
    if (status == HD_OK) status = read_all(&r, &in);
    for (size_t i = 0; i < r.stream_count; i++) hd_bytes_deinit(&r.streams[i].plain);
    free(r.streams);
    tp_layouts_deinit(&r.data.layouts);
    tp_close(&r.place);
    hd_window_deinit(&in.window);
    hd_pieces_close(&r.pieces);
    return status;
}
