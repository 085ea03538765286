/* read.c - records of CUPTI activity -> trace
 *
 * Format   JSON lines of a CUPTI injection ({"type":"CONCURRENT_KERNEL","start":ns,…}), and the text that NVIDIA's
 *          samples print; docs/formats/cupti.md has the mapping
 * Sniffs   a record in the first lines, or the banner of the injection sample
 * Maps     kernels, copies, sets, calls, overheads -> slices; allocations -> instants; other types -> other
 * Units    ns         Shapes   n records -> n rows
 * Limits   lines of 64 MiB
 * Errors   FORMAT: not one record; DAMAGED: when strict
 *
 * Threads take pieces of whole records in turn, parse them at the same time, and append what they found in order.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/system.h"
#include "format/cupti/cupti.h"

enum { THREAD_LIMIT = 64, PIECE_SMALLEST = 1 << 18, PIECE_LARGEST = 1 << 22, HEAD_BYTES = 1 << 18 };

typedef struct piece_text {
    char *data;
    size_t size, capacity;
} piece_text;

typedef struct reader {
    hd_builder *builder;
    hd_input *input;
    const hd_read_options *options;
    hd_error *err;
    cupti_form form;
    size_t piece_size;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    piece_text rest; /* behind the last piece */
    uint64_t offset; /* of rest */
    uint64_t next_piece, next_commit;
    bool input_ended, halted;
    hd_status status;
    uint64_t lines, records;
} reader;

typedef struct worker {
    reader *reader;
    cupti_parser parser;
    piece_text text;
    pthread_t thread;
    bool is_started;
} worker;

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

/* Under the lock: the next piece into `text`; HD_END when there is none. */
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
    size_t left = text->size - cut;
    if (!hd_reserve(&r->rest.data, &r->rest.capacity, left + 1)) return HD_NOMEM(r->err);
    memcpy(r->rest.data, text->data + cut, left);
    r->rest.size = left;
    text->size = cut;
    memset(text->data + cut, 0, HD_JSON_PADDING);
    return HD_OK;
}

/* ---- into the trace ---- */

static void note_issues(reader *r, const cupti_parser *p)
{
    for (size_t i = 0; i < p->issue_count; i++) {
        const cupti_issue *issue = &p->issues[i];
        char where[40];
        snprintf(where, sizeof where, "first in line %llu", (unsigned long long)(r->lines + issue->line + 1));
        hd_builder_ledger_detail(r->builder, CUPTI_STAGE, issue->code, issue->level, issue->count, issue->offset,
                                 hd_builder_intern_text(r->builder, where));
    }
}

static void fail(reader *r, hd_status status, const hd_error *error)
{
    r->halted = true;
    if (r->status != HD_OK) return;
    r->status = status;
    if (error && r->err && r->err->status == HD_OK) *r->err = *error;
}

static void commit(reader *r, cupti_parser *p, hd_chunk *chunk, hd_status status)
{
    if (status != HD_OK) {
        fail(r, status, &p->error);
        return;
    }
    note_issues(r, p);
    r->lines += p->lines;
    r->records += p->records;
    status = hd_builder_append(r->builder, chunk, r->err);
    if (status != HD_OK) fail(r, status, NULL);
    r->next_commit++;
}

static hd_status parse(worker *w, hd_chunk **out, uint64_t offset)
{
    cupti_parser *p = &w->parser;
    *out = NULL;
    p->text = w->text.data;
    p->size = w->text.size;
    p->offset = offset;
    p->lines = p->records = 0;
    p->issue_count = 0;
    HD_TRY(w->reader->form == CUPTI_FORM_JSON ? cupti_parse_json(p) : cupti_parse_text(p));
    return hd_batch_take(out, p->batch, &p->error);
}

static void *work(void *argument)
{
    worker *w = argument;
    reader *r = w->reader;
    pthread_mutex_lock(&r->lock);
    while (!r->halted) {
        hd_status status = next_piece(r, &w->text);
        if (status == HD_END) break;
        if (status != HD_OK) {
            fail(r, status, NULL);
            break;
        }
        uint64_t number = r->next_piece++, offset = r->offset;
        uint64_t done = hd_input_stored_position(r->input), total = hd_input_size_bytes(r->input);
        r->offset += w->text.size;
        pthread_mutex_unlock(&r->lock);
        hd_chunk *chunk;
        status = parse(w, &chunk, offset);
        pthread_mutex_lock(&r->lock);
        while (!r->halted && r->next_commit != number) pthread_cond_wait(&r->changed, &r->lock);
        if (r->halted)
            hd_chunk_free(chunk);
        else
            commit(r, &w->parser, chunk, status);
        if (r->options->progress && !r->halted) r->options->progress(r->options->progress_user, done, total);
        pthread_cond_broadcast(&r->changed);
    }
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return NULL;
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

static hd_status mark_queues(reader *r, const worker *workers, unsigned count)
{
    for (unsigned w = 0; w < count; w++) {
        for (size_t i = 0; i < workers[w].parser.queue_count; i++) {
            cupti_queue q = workers[w].parser.queues[i];
            uint32_t track = hd_builder_thread(r->builder, q.device, q.stream);
            if (track == HD_NONE) return HD_NOMEM(r->err);
            hd_builder_set_stream(r->builder, track, q.device, q.stream);
            hd_builder_name_track(r->builder, track, number_text(r->builder, "stream ", q.stream));
        }
    }
    return HD_OK;
}

/* Devices are processes of their own, numbered like the device. A process of that number, as containers have them,
 * keeps its number; the device is then called "GPU 1". */
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
        hd_builder_sort_track(r->builder, process, 5000000 + track.device);
    }
    return HD_OK;
}

/* Since 2001, in ns: below it the clock counts from the machine's start. */
static const int64_t unix_ns = 1000000000000000000;

static hd_status finish(reader *r, const worker *workers, unsigned count)
{
    if (r->records == 0)
        return hd_error_set(
            r->err, HD_ERR_FORMAT, NULL, 0,
            "none of its %llu lines is a CUPTI record: expected {\"type\":\"CONCURRENT_KERNEL\",\"start\":"
            "…} on each, or RUNTIME [ start, end ] …",
            (unsigned long long)r->lines);
    HD_TRY(hd_builder_settle_tracks(r->builder, r->err));
    HD_TRY(mark_queues(r, workers, count));
    HD_TRY(name_devices(r));
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    int64_t first = HD_NO_TIME;
    for (unsigned w = 0; w < count; w++) {
        int64_t start = workers[w].parser.first_start;
        if (start != HD_NO_TIME && (first == HD_NO_TIME || start < first)) first = start;
    }
    facts->base_ns = first != HD_NO_TIME && first >= unix_ns ? 0 : HD_NO_TIME;
    facts->input_bytes = r->offset;
    facts->has_sources = r->options->sources;
    facts->has_args = r->options->args == HD_ARGS_ALL;
    return HD_OK;
}

/* Overheads name a thread and no process: that of the first call, if it stands near the beginning. Not of any call
 * before the overhead, since what is read must not depend on where the text is cut into pieces. */
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
    unsigned threads = r->options->threads ? r->options->threads : hd_core_count();
    uint64_t size = hd_input_size_bytes(r->input);
    bool is_small = size && size < 2 * PIECE_SMALLEST && hd_input_compression(r->input) == HD_COMPRESSION_NONE;
    if (is_small && !r->options->threads) return 1;
    return threads > THREAD_LIMIT ? THREAD_LIMIT : threads;
}

static size_t choose_piece(const reader *r, unsigned threads)
{
    uint64_t size = hd_input_size_bytes(r->input);
    if (size == 0 || hd_input_compression(r->input) != HD_COMPRESSION_NONE) return PIECE_LARGEST;
    uint64_t share = size / (threads * 4) + 1;
    return share < PIECE_SMALLEST ? PIECE_SMALLEST : share > PIECE_LARGEST ? PIECE_LARGEST : (size_t)share;
}

static hd_status parse_all(reader *r, worker *workers, unsigned count)
{
    int64_t process;
    HD_TRY(find_process(r, &process));
    for (unsigned i = 0; i < count; i++) {
        workers[i].reader = r;
        HD_TRY(cupti_parser_init(&workers[i].parser, r->builder, r->options, r->err));
        workers[i].parser.first_process = process;
    }
    for (unsigned i = 1; i < count; i++)
        workers[i].is_started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    work(&workers[0]);
    for (unsigned i = 1; i < count; i++) {
        if (workers[i].is_started) pthread_join(workers[i].thread, NULL);
    }
    HD_TRY(r->status);
    return finish(r, workers, count);
}

hd_status cupti_read_pieces(hd_builder *builder, hd_input *input, const hd_read_options *options, size_t piece_size,
                            hd_error *err)
{
    reader r = {.builder = builder, .input = input, .options = options, .err = err};
    const uint8_t *head;
    size_t head_size;
    HD_TRY(hd_input_peek(input, &head, &head_size, err));
    r.form = cupti_find_form((const char *)head, head_size);
    unsigned count = choose_threads(&r);
    r.piece_size = piece_size ? piece_size : choose_piece(&r, count);
    worker *workers = calloc(count, sizeof *workers);
    if (!workers) return HD_NOMEM(err);
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.changed, NULL);
    hd_status status = parse_all(&r, workers, count);
    for (unsigned i = 0; i < count; i++) {
        cupti_parser_deinit(&workers[i].parser);
        free(workers[i].text.data);
    }
    pthread_mutex_destroy(&r.lock);
    pthread_cond_destroy(&r.changed);
    free(r.rest.data);
    free(workers);
    return status;
}

hd_status cupti_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    return cupti_read_pieces(builder, input, options, 0, err);
}
