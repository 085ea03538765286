/* read.c - text of `perf script` -> samples
 *
 * Format   what `perf script` prints, perf 3.13 to 6.x, with any list of -F: a line per sample, below it the stack from
 *          the leaf to the root, one line each, then an empty line; without stacks the function is on the line
 *          itself. docs/formats/perfscript.md
 * Sniffs   a line with a time, and below it an address; perf's own comments
 * Maps     sample -> sample named by its event; stack -> stackFrames, `sf`; period -> weight; cpu, text of tracepoints
 *          -> arguments; comm -> the thread's name
 * Units    s.µs or s.ns on perf's clock -> ns         Shapes   n samples -> n rows
 * Limits   16 MiB a line, 65,536 frames a stack         Errors   FORMAT: no valid line; DAMAGED: strict
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "format/perfscript/perfscript.h"

enum { FRAME_LIMIT = 65536 };

enum {
    LINE_UNREADABLE,
    LINE_ZERO,
    LINE_LONG,
    STACK_ORPHAN,
    FRAMES_MANY,
    TEXT_UTF8,
    COMM_CHANGED,
    RECORD,
    SOURCE_LINE,
    TIME_LOST,
};

static const hd_stack_code codes[] = {
    [LINE_UNREADABLE] = {"perf-script.line-unreadable", HD_LEDGER_LOSS, " is neither a sample nor a frame"},
    [LINE_ZERO] = {"perf-script.zeros", HD_LEDGER_LOSS, " has bytes of 0, where text is missing"},
    [LINE_LONG] = {"perf-script.line-too-long", HD_LEDGER_LOSS, " is longer than 16 MiB"},
    [STACK_ORPHAN] = {"perf-script.frame-without-sample", HD_LEDGER_LOSS, " belongs to no sample"},
    [FRAMES_MANY] = {"perf-script.stack-too-deep", HD_LEDGER_LOSS, " is deeper than 65,536 frames"},
    [TEXT_UTF8] = {"perf-script.utf8", HD_LEDGER_REPAIR, " is not UTF-8"},
    [COMM_CHANGED] = {"perf-script.comm-changed", HD_LEDGER_NOTE, " gives a thread another name"},
    [RECORD] = {"perf-script.record", HD_LEDGER_LOSS, " is not a sample"},
    [SOURCE_LINE] = {"perf-script.source-line", HD_LEDGER_LOSS, " is a place in the source"},
    [TIME_LOST] = {"perf-script.time", HD_LEDGER_LOSS, " has a time beyond 2^63 ns"},
};

typedef enum state {
    BETWEEN, /* after an empty line */
    SAMPLE,  /* below a sample's line */
    MAYBE,   /* below a line that is a sample's if a stack follows */
    LOST,    /* after an invalid line: its stack belongs to no sample */
} state;

typedef struct frame {
    uint32_t name;
    uint32_t kind; /* hd_frame_kind */
} frame;

typedef struct reader {
    hd_stack_samples samples;
    hd_input *input;
    hd_error *err;
    hd_memo lines; /* line of a stack -> name, kind, repairs */
    state state;
    frame *frames; /* of the sample, from its leaf */
    size_t frame_count, frame_capacity;
    hd_stack_sample sample;
    hd_bytes rest;  /* of the sample's line */
    hd_bytes name;  /* a frame's */
    hd_bytes maybe; /* a line that may be a sample's */
    hd_line maybe_line;
    hd_bytes event_text; /* of the last event */
    size_t event_repairs;
    uint32_t event, no_event;
    bool any_header, period_or_address, skipping;
} reader;

/* ---- frames ---- */

static hd_status make_frame(reader *r, hd_memo_value *out, const char *text, size_t size)
{
    perfscript_frame f;
    size_t repaired;
    hd_frame_kind kind;
    *out = (hd_memo_value){HD_NONE, HD_FRAME_UNKNOWN, 0};
    if (!perfscript_parse_frame(&f, text, size)) return HD_OK;
    bool unknown = !f.function.size || (f.function.size == 9 && memcmp(f.function.data, "[unknown]", 9) == 0);
    r->name.size = 0;
    if (unknown) hd_text_put_unknown(&r->name, f.file, !f.function.size && f.has_address, f.address);
    if (r->name.failed) return HD_NOMEM(r->err);
    hd_string name = unknown ? (hd_string){(char *)r->name.data, r->name.size} : f.function;
    name = hd_stack_samples_utf8(&r->samples, &repaired, name);
    out->a = hd_stack_samples_frame(&r->samples, &kind, name.data, name.size);
    if (out->a == HD_NONE) return HD_NOMEM(r->err);
    out->b = perfscript_is_kernel(&f) ? HD_FRAME_OS : kind;
    out->c = repaired > UINT32_MAX ? UINT32_MAX : (uint32_t)repaired;
    return HD_OK;
}

/* One more frame, of the text of a line. */
static hd_status add_frame(reader *r, const hd_line *line, const char *text, size_t size)
{
    uint64_t hash;
    hd_memo_value value;
    const hd_memo_value *known = hd_memo_find(&hash, &r->lines, text, size);
    if (known) {
        value = *known;
    } else {
        HD_TRY(make_frame(r, &value, text, size));
        hd_memo_add(&r->lines, hash, text, size, value);
    }
    if (value.a == HD_NONE) return hd_stack_samples_count(&r->samples, LINE_UNREADABLE, 1, line);
    if (value.c) HD_TRY(hd_stack_samples_count(&r->samples, TEXT_UTF8, value.c, line));
    if (r->frame_count == FRAME_LIMIT) return hd_stack_samples_count(&r->samples, FRAMES_MANY, 1, line);
    if (!hd_grow((void **)&r->frames, &r->frame_capacity, r->frame_count, sizeof *r->frames)) return HD_NOMEM(r->err);
    r->frames[r->frame_count++] = (frame){value.a, value.b};
    return HD_OK;
}

/* ---- samples ---- */

/* The rest after the event: without a stack below, the frame itself; else text. */
static hd_status add_rest(reader *r)
{
    hd_string rest = {(char *)r->rest.data, r->rest.size};
    perfscript_frame f;
    size_t repaired;
    if (!rest.size) return HD_OK;
    bool is_frame = !r->frame_count && perfscript_parse_frame(&f, rest.data, rest.size) && f.has_address;
    if (is_frame && r->period_or_address) r->sample.weight_type = HD_ARG_NULL;
    if (is_frame) return add_frame(r, NULL, rest.data, rest.size);
    if (r->period_or_address) return HD_OK;
    rest = hd_stack_samples_utf8(&r->samples, &repaired, rest);
    r->sample.trace = hd_builder_intern(r->samples.builder, rest.data, rest.size);
    return hd_stack_samples_count(&r->samples, TEXT_UTF8, repaired, NULL);
}

/* Ends the sample whose lines have all been read. */
static hd_status end_sample(reader *r)
{
    if (r->state != SAMPLE) return HD_OK;
    r->state = BETWEEN;
    HD_TRY(add_rest(r));
    uint32_t node = HD_STACK_NONE;
    for (size_t i = r->frame_count; i-- > 0;)
        node = hd_stacks_push(r->samples.stacks, node, r->frames[i].name, (hd_frame_kind)r->frames[i].kind);
    r->sample.node = node;
    return hd_stack_samples_add(&r->samples, &r->sample);
}

static void begin_sample(reader *r)
{
    r->sample = (hd_stack_sample){.track = HD_NONE, .name = r->no_event, .time_ns = HD_NO_TIME};
    r->frame_count = 0;
    r->rest.size = 0;
    r->period_or_address = false;
    r->state = SAMPLE;
}

/* Most samples are of the event of the one before. */
static hd_status name_sample(reader *r, const hd_line *line, hd_string event)
{
    size_t repaired;
    if (!event.size) return HD_OK;
    if (event.size != r->event_text.size || memcmp(event.data, r->event_text.data, event.size) != 0) {
        r->event_text.size = 0;
        hd_bytes_put(&r->event_text, event.data, event.size);
        if (r->event_text.failed) return HD_NOMEM(r->err);
        hd_string text = hd_stack_samples_utf8(&r->samples, &repaired, event);
        r->event = hd_builder_intern(r->samples.builder, text.data, text.size);
        r->event_repairs = repaired;
    }
    r->sample.name = r->event;
    return hd_stack_samples_count(&r->samples, TEXT_UTF8, r->event_repairs, line);
}

static hd_status find_thread(reader *r, const hd_line *line, const perfscript_header *header)
{
    hd_stack_samples *s = &r->samples;
    uint64_t hash;
    bool changed;
    r->sample.track = hd_stack_samples_known(s, &hash, &changed, header->who);
    if (r->sample.track == HD_NONE)
        r->sample.track = hd_stack_samples_thread(s, hash, &changed, header->who, &header->thread);
    if (r->sample.track == HD_NONE) return HD_OK;
    HD_TRY(hd_stack_samples_count(s, COMM_CHANGED, changed, line));
    return hd_stack_samples_count(s, TEXT_UTF8, s->comm_repairs, line);
}

static bool is_record(hd_string event)
{
    return event.size > 12 && memcmp(event.data, "PERF_RECORD_", 12) == 0;
}

static hd_status add_header(reader *r, const hd_line *line, const perfscript_header *header)
{
    if (is_record(header->event) || is_record(header->rest)) {
        r->state = LOST;
        return hd_stack_samples_count(&r->samples, RECORD, 1, line);
    }
    begin_sample(r);
    r->any_header = true;
    HD_TRY(find_thread(r, line, header));
    HD_TRY(name_sample(r, line, header->event));
    hd_bytes_put(&r->rest, header->rest.data, header->rest.size);
    if (r->rest.failed) return HD_NOMEM(r->err);
    r->period_or_address = header->has_period && !header->event.size && header->rest.size &&
                           hd_text_int(&(int64_t){0}, header->rest.data, header->rest.size);
    r->sample.time_ns = header->time_ns;
    r->sample.cpu_type = header->has_cpu ? HD_ARG_INT : HD_ARG_NULL;
    r->sample.cpu = header->cpu;
    r->sample.weight_type = header->has_period ? HD_ARG_INT : HD_ARG_NULL;
    r->sample.weight = header->period;
    return HD_OK;
}

/* ---- lines ---- */

/* The line before was no sample's: nothing of a stack came. */
static hd_status give_up_maybe(reader *r)
{
    if (r->state != MAYBE) return HD_OK;
    r->state = LOST;
    r->maybe_line.text = (char *)r->maybe.data;
    return hd_stack_samples_count(&r->samples, LINE_UNREADABLE, 1, &r->maybe_line);
}

static hd_status header_line(reader *r, const hd_line *line)
{
    perfscript_header header;
    HD_TRY(end_sample(r));
    HD_TRY(give_up_maybe(r));
    if (!perfscript_parse_header(&header, line->text, line->size)) {
        r->state = LOST;
        return hd_stack_samples_count(&r->samples, LINE_UNREADABLE, 1, line);
    }
    if (header.sure) {
        HD_TRY(add_header(r, line, &header));
        return hd_stack_samples_count(&r->samples, TIME_LOST, header.time_lost, line);
    }
    r->state = MAYBE;
    r->maybe.size = 0;
    hd_bytes_put(&r->maybe, line->text, line->size);
    r->maybe_line = *line;
    return r->maybe.failed ? HD_NOMEM(r->err) : HD_OK;
}

static hd_status frame_line(reader *r, const hd_line *line)
{
    perfscript_header header;
    if (r->state == MAYBE) {
        r->maybe_line.text = (char *)r->maybe.data;
        if (perfscript_parse_header(&header, r->maybe_line.text, r->maybe_line.size))
            HD_TRY(add_header(r, &r->maybe_line, &header));
    } else if (r->state == BETWEEN && !r->any_header) { /* perf script -F ip,sym */
        begin_sample(r);
    } else if (r->state == BETWEEN) {
        r->state = LOST;
        return hd_stack_samples_count(&r->samples, STACK_ORPHAN, 1, line);
    }
    return r->state == SAMPLE ? add_frame(r, line, line->text, line->size) : HD_OK;
}

static bool is_empty(const hd_line *line)
{
    return line->size == 0 || (*line->text <= ' ' && hd_text_trim(line->text, line->size).size == 0);
}

/* A line that begins with blanks: a frame, a sample's line that is aligned to the right, or a place in the source. */
static hd_status indented_line(reader *r, const hd_line *line)
{
    perfscript_header header;
    bool is_sample =
        memchr(line->text, ':', line->size) && perfscript_parse_header(&header, line->text, line->size) && header.sure;
    if (is_sample) return header_line(r, line);
    if (perfscript_has_address(line->text, line->size)) return frame_line(r, line);
    if (r->state == SAMPLE && (r->frame_count || r->rest.size))
        return hd_stack_samples_count(&r->samples, SOURCE_LINE, 1, line);
    return header_line(r, line);
}

/* A comment of perf's, or a sample of a thread called "#…". */
static bool is_comment(const hd_line *line)
{
    perfscript_header header;
    return *line->text == '#' &&
           !(perfscript_parse_header(&header, line->text, line->size) && header.time_ns != HD_NO_TIME);
}

/* Below a sample's line, an address without a leading blank; a thread's name may look like one. */
static bool is_frame_at_start(const reader *r, const hd_line *line)
{
    perfscript_header header;
    return (r->state == SAMPLE || r->state == MAYBE) && perfscript_is_whole_frame(line->text, line->size) &&
           !(perfscript_parse_header(&header, line->text, line->size) && header.sure);
}

static hd_status add_line(reader *r, const hd_line *line)
{
    if (is_empty(line)) {
        HD_TRY(end_sample(r));
        HD_TRY(give_up_maybe(r));
        r->state = BETWEEN;
        return HD_OK;
    }
    if (*line->text == '\t') return frame_line(r, line);
    if (*line->text == ' ') return indented_line(r, line);
    if (is_comment(line)) return HD_OK;
    if (is_frame_at_start(r, line)) return frame_line(r, line);
    return header_line(r, line);
}

static hd_status read_lines(reader *r, hd_lines *lines)
{
    hd_status status;
    hd_line line;
    while ((status = hd_lines_next(&line, lines, r->err)) == HD_OK) {
        bool skip = r->skipping;
        r->skipping = line.cut;
        if (line.cut && !skip) HD_TRY(hd_stack_samples_count(&r->samples, LINE_LONG, 1, &line));
        if (skip || line.cut) continue;
        if (line.has_zero) { /* its sample is missing frames, or the stack is another's */
            r->state = LOST;
            HD_TRY(hd_stack_samples_count(&r->samples, LINE_ZERO, 1, &line));
            continue;
        }
        HD_TRY(add_line(r, &line));
        hd_stack_samples_progress(&r->samples);
    }
    if (status != HD_END) return status;
    HD_TRY(end_sample(r));
    return give_up_maybe(r);
}

static hd_status finish(reader *r, uint64_t input_bytes)
{
    hd_trace_facts *facts = hd_builder_facts(r->samples.builder);
    facts->input_bytes = input_bytes;
    facts->base_ns = HD_NO_TIME; /* seconds since the machine started */
    if (r->samples.samples) return hd_stack_samples_finish(&r->samples);
    return hd_error_set(r->err, HD_ERR_FORMAT, hd_input_path(r->input), 0,
                        "no sample as `perf script` prints it, \"comm pid [cpu] time: period event:\" with its stack "
                        "below, is in it");
}

hd_status perfscript_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    hd_lines lines = {.input = input};
    reader r = {.input = input, .err = err, .no_event = hd_builder_intern_text(builder, "stack")};
    hd_status status = hd_stack_samples_open(&r.samples, builder, input, "perf-script", codes, options, err);
    if (status == HD_OK) status = read_lines(&r, &lines);
    if (status == HD_OK) status = finish(&r, lines.read_bytes);
    hd_stack_samples_close(&r.samples);
    hd_memo_deinit(&r.lines);
    hd_bytes_deinit(&r.rest);
    hd_bytes_deinit(&r.name);
    hd_bytes_deinit(&r.maybe);
    hd_bytes_deinit(&r.event_text);
    free(r.frames);
    hd_lines_deinit(&lines);
    return status;
}
