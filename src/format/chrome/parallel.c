/* parallel.c - the array of events, read by several threads
 *
 * Threads take pieces of the text in order and parse them at the same time; what they found enters the trace in order.
 * A piece is good when its parser used it up and stands behind a comma: then the next piece did begin at an element.
 * Otherwise everybody stops, what was read ahead becomes text again, one element is read by itself (with as much text
 * as it needs), and the threads go on behind it. So the result never depends on where the pieces were cut.
 */
#include <stdlib.h>

#include "base/error.h"
#include "format/chrome/reader.h"

/* The rows (if any), issues and patches since the last take enter the builder; one thread at a time, in input order. */
static hd_status parser_commit(chrome_parser *parser, hd_chunk *chunk, hd_error *err)
{
    for (size_t i = 0; i < parser->issue_count; i++) {
        const chrome_issue *issue = &parser->issues[i];
        if (issue->count)
            hd_builder_ledger(parser->builder, CHROME_STAGE, issue->code, issue->level, issue->count,
                              issue->first_offset);
    }
    for (size_t i = 0; i < parser->patch_count; i++) {
        const hd_source_patch *patch = &parser->patches[i];
        hd_builder_patch(parser->builder, patch->offset, patch->size, patch->text);
    }
    parser->issue_count = parser->patch_count = 0;
    return chunk ? hd_builder_append(parser->builder, chunk, err) : HD_OK;
}

/* What the parser found goes into the job; the parser is ready for the next piece. */
static void run_job(chrome_reader *reader, chrome_parser *parser, chrome_job *job)
{
    chrome_span span = {
        .data = job->text.data,
        .size = job->text.end,
        .offset = job->text.offset,
        .is_final = job->is_final,
        .lines = reader->lines,
    };
    job->position = 0;
    job->stop = chrome_parse_elements(parser, &span, &job->position, &job->after_value, &job->comma, SIZE_MAX);
    if (job->stop != CHROME_STOPPED && hd_batch_take(&job->chunk, parser->batch, &parser->error) != HD_OK)
        job->stop = CHROME_STOPPED;
    if (job->stop == CHROME_STOPPED) {
        job->error = parser->error;
        parser->error = (hd_error){0};
        hd_batch_clear(parser->batch);
    }
    job->issues = parser->issues;
    job->issue_count = parser->issue_count;
    job->patches = parser->patches;
    job->patch_count = parser->patch_count;
    parser->issues = NULL;
    parser->patches = NULL;
    parser->issue_count = parser->issue_capacity = parser->patch_count = parser->patch_capacity = 0;
}

static void discard(chrome_job *job)
{
    hd_chunk_free(job->chunk);
    job->chunk = NULL;
    free(job->issues);
    free(job->patches);
    job->issues = NULL;
    job->patches = NULL;
    job->done = false;
}

/* Under the lock. The job's rows enter the trace; its text is done with if it ended as the next one needs it. */
static void commit(chrome_reader *reader, chrome_job *job)
{
    if (job->stop == CHROME_STOPPED) {
        reader->status = job->error.status;
        if (reader->err && reader->err->status == HD_OK) *reader->err = job->error;
        reader->halted = true;
        return;
    }
    chrome_parser found = {
        .builder = reader->builder,
        .issues = job->issues,
        .issue_count = job->issue_count,
        .patches = job->patches,
        .patch_count = job->patch_count,
    };
    reader->status = parser_commit(&found, job->chunk, reader->err);
    job->chunk = NULL;
    reader->after_value = job->after_value;
    reader->comma = job->comma;
    bool clean = job->stop == CHROME_AT_LIMIT && (job->is_final || (job->at_boundary && !job->after_value));
    if (!clean || reader->status != HD_OK) {
        reader->halted = true;
        return;
    }
    discard(job);
    reader->next_commit++;
}

static void report_progress(const chrome_reader *reader, uint64_t done, uint64_t total)
{
    if (reader->options->progress) reader->options->progress(reader->options->progress_user, done, total);
}

typedef struct worker {
    chrome_reader *reader;
    chrome_parser *parser;
    pthread_t thread;
    bool started;
} worker;

static void *work(void *argument)
{
    worker *self = argument;
    chrome_reader *reader = self->reader;
    pthread_mutex_lock(&reader->lock);
    while (!reader->halted) {
        if (reader->next_job == reader->next_commit + reader->job_count) { /* the oldest job is still being parsed */
            pthread_cond_wait(&reader->changed, &reader->lock);
            continue;
        }
        chrome_job *job = &reader->jobs[reader->next_job % reader->job_count];
        bool first = reader->next_job == 0; /* the others begin behind a comma */
        job->after_value = first && reader->after_value;
        job->comma = first ? reader->comma : reader->lines ? HD_OFFSET_NONE : reader->piece_comma;
        if (!chrome_next_piece(reader, job)) {
            if (reader->status != HD_OK) reader->halted = true;
            break;
        }
        reader->next_job++;
        uint64_t done = hd_input_stored_position(reader->input), total = hd_input_size_bytes(reader->input);
        pthread_mutex_unlock(&reader->lock);
        run_job(reader, self->parser, job);
        if (self->parser == reader->parsers) report_progress(reader, done, total);
        pthread_mutex_lock(&reader->lock);
        job->done = true;
        while (!reader->halted && reader->next_commit < reader->next_job &&
               reader->jobs[reader->next_commit % reader->job_count].done)
            commit(reader, &reader->jobs[reader->next_commit % reader->job_count]);
        pthread_cond_broadcast(&reader->changed);
    }
    pthread_cond_broadcast(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

/* The text of all jobs from the one that halted on becomes the front of rest again. */
static hd_status take_back_text(chrome_reader *reader)
{
    size_t size = reader->rest.end - reader->rest.begin;
    for (uint64_t i = reader->next_commit; i < reader->next_job; i++) {
        const chrome_job *job = &reader->jobs[i % reader->job_count];
        size += job->text.end - (i == reader->next_commit ? job->position : 0);
    }
    chrome_text all = {0};
    if (!chrome_text_reserve(&all, size)) return HD_NOMEM(reader->err);
    all.offset = reader->rest.offset;
    for (uint64_t i = reader->next_commit; i < reader->next_job; i++) {
        chrome_job *job = &reader->jobs[i % reader->job_count];
        size_t from = i == reader->next_commit ? job->position : 0;
        if (i == reader->next_commit) all.offset = job->text.offset + from;
        memcpy(all.data + all.end, job->text.data + from, job->text.end - from);
        all.end += job->text.end - from;
        discard(job);
    }
    memcpy(all.data + all.end, reader->rest.data + reader->rest.begin, reader->rest.end - reader->rest.begin);
    all.end += reader->rest.end - reader->rest.begin;
    memset(all.data + all.end, 0, HD_JSON_PADDING);
    chrome_text_deinit(&reader->rest);
    reader->rest = all;
    reader->next_commit = reader->next_job = 0;
    return HD_OK;
}

/* What the first parser found by itself enters the trace, but for its rows: they wait for more, since a chunk of rows
 * takes memory however few they are. */
static hd_status commit_found(chrome_reader *reader)
{
    return parser_commit(&reader->parsers[0], NULL, reader->err);
}

hd_status chrome_commit_rows(chrome_reader *reader)
{
    hd_chunk *chunk;
    if (hd_batch_row_count(reader->parsers[0].batch) == 0) return HD_OK;
    HD_TRY(hd_batch_take(&chunk, reader->parsers[0].batch, reader->err));
    return hd_builder_append(reader->builder, chunk, reader->err);
}

/* Up to max_elements of what rest holds. */
static hd_status read_in_place(chrome_reader *reader, chrome_stop *out_stop, size_t max_elements)
{
    chrome_parser *parser = &reader->parsers[0];
    chrome_text *rest = &reader->rest;
    chrome_span span = {
        .data = rest->data + rest->begin,
        .size = rest->end - rest->begin,
        .offset = rest->offset,
        .is_final = reader->input_ended,
        .lines = reader->lines,
    };
    size_t position = 0;
    *out_stop = chrome_parse_elements(parser, &span, &position, &reader->after_value, &reader->comma, max_elements);
    rest->begin += position;
    rest->offset += position;
    if (*out_stop != CHROME_STOPPED) return HD_OK;
    if (reader->err && reader->err->status == HD_OK) *reader->err = parser->error;
    return parser->error.status;
}

/* Many small documents back to back should not each wake all threads. */
static hd_status read_small(chrome_reader *reader, chrome_stop *out_stop)
{
    size_t elements = reader->chunk_size >> 12;
    *out_stop = CHROME_AT_LIMIT;
    if (elements == 0) return HD_OK; /* pieces as small as tests have them */
    if (reader->rest.end - reader->rest.begin < (size_t)1 << 12) HD_TRY(chrome_fill(reader, (size_t)1 << 16));
    HD_TRY(read_in_place(reader, out_stop, elements < 256 ? elements : 256));
    return commit_found(reader);
}

/* One element, with as much text as it takes. */
static hd_status read_one_element(chrome_reader *reader, chrome_stop *out_stop)
{
    const chrome_text *rest = &reader->rest;
    for (size_t want = (size_t)1 << 16;; want *= 2) {
        HD_TRY(chrome_fill(reader, want));
        HD_TRY(read_in_place(reader, out_stop, 1));
        if (*out_stop != CHROME_NEED_MORE) break;
        while (want <= rest->end - rest->begin) want *= 2;
        if (rest->end - rest->begin >= CHROME_ITEM_LIMIT)
            return hd_error_set(reader->err, HD_ERR_LIMIT, hd_input_path(reader->input), rest->offset,
                                "one element is larger than %d MiB, which no trace event is", CHROME_ITEM_LIMIT >> 20);
    }
    return commit_found(reader);
}

static hd_status run_workers(chrome_reader *reader)
{
    worker workers[HD_CHROME_THREAD_LIMIT];
    reader->halted = false;
    for (unsigned i = 1; i < reader->parser_count; i++) {
        workers[i] = (worker){.reader = reader, .parser = &reader->parsers[i]};
        workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    workers[0] = (worker){.reader = reader, .parser = &reader->parsers[0]};
    work(&workers[0]);
    for (unsigned i = 1; i < reader->parser_count; i++) {
        if (workers[i].started) pthread_join(workers[i].thread, NULL);
    }
    return reader->status;
}

hd_status chrome_read_elements(chrome_reader *reader)
{
    reader->after_value = false;
    reader->comma = HD_OFFSET_NONE;
    chrome_stop stop;
    HD_TRY(read_small(reader, &stop));
    if (stop == CHROME_AT_CLOSE) return HD_OK;
    for (;;) {
        HD_TRY(chrome_commit_rows(reader));
        hd_status status = run_workers(reader);
        bool unread = reader->next_commit < reader->next_job;
        stop = unread ? reader->jobs[reader->next_commit % reader->job_count].stop : CHROME_AT_LIMIT;
        if (status != HD_OK) {
            for (size_t i = 0; i < reader->job_count; i++) discard(&reader->jobs[i]);
            return status;
        }
        HD_TRY(take_back_text(reader));
        if (!unread || stop == CHROME_AT_CLOSE) return HD_OK;
        HD_TRY(read_one_element(reader, &stop));
        if (stop == CHROME_AT_CLOSE) return HD_OK;
    }
}
