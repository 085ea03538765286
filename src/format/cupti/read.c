/* read.c - records of CUPTI activity -> trace
 *
 * Format   JSON lines of a CUPTI injection ({"type":"CONCURRENT_KERNEL","start":ns,…}), and the text that NVIDIA's
 *          samples print; docs/formats/cupti.md has the mapping
 * Sniffs   a record in the first lines, or the banner of the injection sample
 * Maps     kernels, copies, memsets, calls, overheads -> slices; allocations -> instants; other types -> other
 * Units    ns         Shapes   n records -> n rows
 * Limits   lines of 64 MiB
 * Errors   FORMAT: not one record; DAMAGED: when strict
 *
 * Chunks of whole records are parsed by several threads, and the results are appended in order.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/pipeline.h"
#include "format/cupti/cupti.h"
#include "format/numbers.h"

enum { PIECE_SMALLEST = 1 << 18, PIECE_LARGEST = 1 << 22, HEAD_BYTES = 1 << 18 };

typedef struct piece_text {
    char *data;
    size_t size, capacity;
} piece_text;

/* A chunk in progress, with its results. */
typedef struct cupti_piece {
    piece_text text;
    uint64_t offset, lines, records;
    cupti_issue issues[CUPTI_ISSUES];
    size_t issue_count;
    hd_chunk *chunk;
    hd_status status;
    hd_error error;
} cupti_piece;

typedef struct reader {
    hd_builder *builder;
    hd_input *input;
    const hd_read_options *options;
    hd_error *err;
    cupti_form form;
    size_t piece_size;
    cupti_parser *parsers; /* of each worker */
    unsigned parser_count;
    piece_text rest; /* after the last chunk */
    uint64_t offset; /* of rest */
    bool input_ended;
    uint64_t lines, records;
} reader;

/* ---- pieces ---- */

/* Of data[0, size): up to the last line within `limit` that another record may follow; 0: there is none. */
static size_t cut_before_record(const char *data, size_t limit, size_t size)
{
    const char *end = data + limit;
    while (end > data) {
        const char *newline = memrchr(data, '\n', (size_t)(end - data));
        if (!newline) return 0;
        if (newline + 1 < data + size && !hd_json_is_space(newline[1])) return (size_t)(newline + 1 - data);
        end = newline;
    }
    return 0;
}

static hd_status fill(reader *r, piece_text *text, size_t wanted)
{
    if (!hd_reserve(&text->data, &text->capacity, wanted + HD_JSON_PADDING)) return HD_NOMEM(r->err);
    while (!r->input_ended && text->size < wanted) {
        size_t got = 0;
        hd_status status = hd_input_next(r->input, text->data + text->size, wanted - text->size, &got, r->err);
        if (status != HD_OK && status != HD_END) return status;
        text->size += got;
        r->input_ended = status == HD_END;
    }
    return HD_OK;
}

/* The next piece into `text`; HD_END when there is none. */
static hd_status next_piece(reader *r, piece_text *text)
{
    size_t cut = 0;
    text->size = 0;
    if (!hd_reserve(&text->data, &text->capacity, r->rest.size + HD_JSON_PADDING)) return HD_NOMEM(r->err);
    if (r->rest.size) memcpy(text->data, r->rest.data, r->rest.size);
    text->size = r->rest.size;
    r->rest.size = 0;
    for (size_t wanted = r->piece_size; cut == 0; wanted *= 2) {
        HD_TRY(fill(r, text, wanted));
        if (text->size == 0) return HD_END;
        size_t limit = text->size < wanted ? text->size : wanted;
        cut = r->input_ended && limit == text->size ? limit : cut_before_record(text->data, limit, text->size);
        if (cut == 0 && limit >= CUPTI_LINE_LIMIT) cut = limit;
    }
    bool is_last = r->input_ended && cut == text->size && r->form != CUPTI_FORM_JSON; /* whose objects say their end */
    if (is_last && text->data[cut - 1] != '\n') hd_input_note_cut(r->input, r->offset);
    size_t left = text->size - cut;
    if (!hd_reserve(&r->rest.data, &r->rest.capacity, left + 1)) return HD_NOMEM(r->err);
    memcpy(r->rest.data, text->data + cut, left);
    r->rest.size = left;
    text->size = cut;
    memset(text->data + cut, 0, HD_JSON_PADDING);
    return HD_OK;
}

static hd_status parse_piece(cupti_parser *p, cupti_piece *piece, cupti_form form)
{
    p->text = piece->text.data;
    p->size = piece->text.size;
    p->offset = piece->offset;
    p->lines = p->records = p->issue_count = 0;
    HD_TRY(form == CUPTI_FORM_JSON ? cupti_parse_json(p) : cupti_parse_text(p));
    return hd_batch_take(&piece->chunk, p->batch, &p->error);
}

static void parse(void *user, unsigned worker, void *item)
{
    const reader *r = user;
    cupti_parser *p = &r->parsers[worker];
    cupti_piece *piece = item;
    piece->status = parse_piece(p, piece, r->form);
    piece->error = p->error;
    piece->lines = p->lines;
    piece->records = p->records;
    piece->issue_count = p->issue_count;
    memcpy(piece->issues, p->issues, p->issue_count * sizeof *p->issues);
}

/* ---- into the trace ---- */

static void note_issues(const reader *r, const cupti_piece *piece)
{
    for (size_t i = 0; i < piece->issue_count; i++) {
        const cupti_issue *issue = &piece->issues[i];
        char where[40];
        snprintf(where, sizeof where, "first in line %llu", (unsigned long long)(r->lines + issue->line + 1));
        hd_builder_ledger_detail(r->builder, CUPTI_STAGE, issue->code, issue->level, issue->count, issue->offset,
                                 hd_builder_intern_text(r->builder, where));
    }
}

static hd_status append(void *user, void *item, hd_error *err)
{
    reader *r = user;
    cupti_piece *piece = item;
    if (piece->status != HD_OK) {
        if (err && err->status == HD_OK) *err = piece->error;
        return piece->status;
    }
    note_issues(r, piece);
    r->lines += piece->lines;
    r->records += piece->records;
    hd_chunk *chunk = piece->chunk;
    piece->chunk = NULL;
    HD_TRY(hd_builder_append(r->builder, chunk, err));
    if (r->options->progress)
        r->options->progress(r->options->progress_user, hd_input_stored_position(r->input),
                             hd_input_size_bytes(r->input));
    return HD_OK;
}

static void deinit_piece(void *item)
{
    cupti_piece *piece = item;
    hd_chunk_free(piece->chunk);
    free(piece->text.data);
}

/* ---- tracks and facts ---- */

static uint32_t number_text(hd_builder *builder, const char *prefix, int64_t number)
{
    char text[48];
    snprintf(text, sizeof text, "%s%lld", prefix, (long long)number);
    return hd_builder_intern_text(builder, text);
}

static bool is_call_process(const hd_trace *trace, uint32_t pid_text)
{
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        if (track->kind == HD_TRACK_THREAD && track->pid.type == HD_IDENT_NUMBER && track->pid.text == pid_text)
            return true;
    }
    return false;
}

static hd_status mark_queues(reader *r)
{
    for (unsigned w = 0; w < r->parser_count; w++) {
        for (size_t i = 0; i < r->parsers[w].queue_count; i++) {
            cupti_queue q = r->parsers[w].queues[i];
            uint32_t track = hd_builder_thread(r->builder, q.device, q.stream);
            if (track == HD_NONE) return HD_NOMEM(r->err);
            hd_builder_set_stream(r->builder, track, q.device, q.stream);
            hd_builder_name_track(r->builder, track, number_text(r->builder, "stream ", q.stream));
        }
    }
    return HD_OK;
}

/* Devices are processes of their own, numbered like the device. If a process has that number, as in containers, it
 * keeps it; the device is then named "GPU 1". */
static hd_status name_devices(reader *r)
{
    const hd_trace *trace = hd_builder_trace(r->builder);
    uint32_t count = hd_trace_track_count(trace);
    for (uint32_t i = 0; i < count; i++) {
        hd_track track = *hd_trace_track_at(trace, i);
        if (track.kind != HD_TRACK_STREAM) continue;
        hd_ident pid = track.pid;
        uint32_t name = number_text(r->builder, "GPU ", track.device);
        if (is_call_process(trace, pid.text)) {
            pid = (hd_ident){HD_IDENT_STRING, name};
            if (!hd_builder_identify_track(r->builder, i, pid, track.tid)) continue;
        }
        uint32_t process = hd_builder_track(r->builder, pid, (hd_ident){0}, true);
        if (process == HD_NONE) return HD_NOMEM(r->err);
        hd_builder_name_track(r->builder, process, name);
        hd_sort_numbered(r->builder, process, HD_SORT_DEVICES, track.device);
    }
    return HD_OK;
}

/* Since 2001, in ns: below it the clock counts from the machine's start. */
static const int64_t unix_ns = 1000000000000000000;

static hd_status finish(reader *r)
{
    if (r->records == 0)
        return hd_error_set(
            r->err, HD_ERR_FORMAT, NULL, 0,
            "none of its %llu lines is a CUPTI record: expected {\"type\":\"CONCURRENT_KERNEL\",\"start\":"
            "…} on each, or RUNTIME [ start, end ] …",
            (unsigned long long)r->lines);
    HD_TRY(hd_builder_settle_tracks(r->builder, r->err));
    HD_TRY(mark_queues(r));
    HD_TRY(name_devices(r));
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    int64_t first = HD_NO_TIME;
    for (unsigned w = 0; w < r->parser_count; w++) {
        int64_t start = r->parsers[w].first_start;
        if (start != HD_NO_TIME && (first == HD_NO_TIME || start < first)) first = start;
    }
    facts->base_ns = first != HD_NO_TIME && first >= unix_ns ? 0 : HD_NO_TIME;
    facts->input_bytes = r->offset;
    facts->has_sources = r->options->sources;
    facts->has_args = r->options->args == HD_ARGS_ALL;
    return HD_OK;
}

/* Overheads have a thread and no process: they get that of the first call, if it is near the beginning. Not that of the
 * last call before the overhead, since the result must not depend on where the text is cut. */
static hd_status find_process(reader *r, int64_t *out)
{
    static const char key[] = "processId";
    *out = HD_NO_NUMBER;
    HD_TRY(fill(r, &r->rest, HEAD_BYTES));
    const char *end = r->rest.data + (r->rest.size < HEAD_BYTES ? r->rest.size : HEAD_BYTES);
    const char *at = memmem(r->rest.data, (size_t)(end - r->rest.data), key, sizeof key - 1);
    if (!at) return HD_OK;
    at += sizeof key - 1;
    while (at < end && (*at == '"' || *at == ':' || *at == ' ')) at++;
    const char *digits = at;
    int64_t value = 0;
    while (at < end && at - digits < 18 && hd_json_is_digit(*at)) value = value * 10 + (*at++ - '0');
    if (at > digits) *out = value;
    return HD_OK;
}

/* ---- the reader ---- */

static unsigned choose_threads(const reader *r)
{
    uint64_t size = hd_input_size_bytes(r->input);
    bool is_small = size && size < 2 * PIECE_SMALLEST && hd_input_compression(r->input) == HD_COMPRESSION_NONE;
    return is_small && !r->options->threads ? 1 : hd_pipeline_threads(r->options->threads);
}

static size_t choose_piece(const reader *r, unsigned threads)
{
    uint64_t size = hd_input_size_bytes(r->input);
    if (size == 0 || hd_input_compression(r->input) != HD_COMPRESSION_NONE) return PIECE_LARGEST;
    uint64_t share = size / (threads * 4) + 1;
    return share < PIECE_SMALLEST ? PIECE_SMALLEST : share > PIECE_LARGEST ? PIECE_LARGEST : (size_t)share;
}

static hd_status read_pieces(reader *r, hd_pipeline *pipeline)
{
    for (void *item;;) {
        HD_TRY(hd_pipeline_next(&item, pipeline, r->err));
        cupti_piece *piece = item;
        hd_status status = next_piece(r, &piece->text);
        if (status == HD_END) return hd_pipeline_drain(pipeline, r->err);
        HD_TRY(status);
        piece->offset = r->offset;
        r->offset += piece->text.size;
        hd_pipeline_give(pipeline);
    }
}

static hd_status read_all(reader *r)
{
    int64_t process;
    HD_TRY(find_process(r, &process));
    for (unsigned i = 0; i < r->parser_count; i++) {
        HD_TRY(cupti_parser_init(&r->parsers[i], r->builder, r->options, r->err));
        r->parsers[i].first_process = process;
    }
    hd_pipeline *pipeline;
    const hd_pipeline_steps steps = {sizeof(cupti_piece), parse, append, deinit_piece, r};
    HD_TRY(hd_pipeline_new(&pipeline, &steps, r->parser_count, r->err));
    hd_status status = read_pieces(r, pipeline);
    hd_pipeline_free(pipeline);
    return status == HD_OK ? finish(r) : status;
}

hd_status cupti_read_pieces(hd_builder *builder, hd_input *input, const hd_read_options *options, size_t piece_size,
                            hd_error *err)
{
    reader r = {.builder = builder, .input = input, .options = options, .err = err};
    const uint8_t *head;
    size_t head_size;
    HD_TRY(hd_input_peek(input, &head, &head_size, err));
    r.form = cupti_find_form((const char *)head, head_size);
    r.parser_count = choose_threads(&r);
    r.piece_size = piece_size ? piece_size : choose_piece(&r, r.parser_count);
    r.parsers = calloc(r.parser_count, sizeof *r.parsers);
    if (!r.parsers) return HD_NOMEM(err);
    hd_status status = read_all(&r);
    for (unsigned i = 0; i < r.parser_count; i++) cupti_parser_deinit(&r.parsers[i]);
    free(r.rest.data);
    free(r.parsers);
    return status;
}

hd_status cupti_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    return cupti_read_pieces(builder, input, options, 0, err);
}
