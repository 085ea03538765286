/* parallel.c - reads the array of events with several threads
 *
 * Threads take chunks of the text in order and parse them concurrently; results enter the trace in order. A chunk is
 * good if its parser used all of it and ended after a comma: then the next chunk did begin at an element. Otherwise all
 * threads stop, text read ahead is returned, one element is read alone (with as much text as it needs), and the threads
 * continue after it. So the result never depends on where the text was cut.
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

/* Moves the parser's results into the job; the parser is ready for the next chunk. */
static void parse_piece(void *user, unsigned worker, void *item)
{
    const chrome_reader *reader = user;
    chrome_parser *parser = &reader->parsers[worker];
    chrome_job *job = item;
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
}

static void deinit_job(void *item)
{
    chrome_job *job = item;
    discard(job);
    chrome_text_deinit(&job->text);
}

/* Commits the job's rows; its text is finished if it ended as the next one needs it. */
static hd_status commit(void *user, void *item, hd_error *err)
{
    chrome_reader *reader = user;
    chrome_job *job = item;
    if (job->stop == CHROME_STOPPED) {
        if (err && err->status == HD_OK) *err = job->error;
        return job->error.status;
    }
    chrome_parser found = {
        .builder = reader->builder,
        .issues = job->issues,
        .issue_count = job->issue_count,
        .patches = job->patches,
        .patch_count = job->patch_count,
    };
    hd_status status = parser_commit(&found, job->chunk, err);
    job->chunk = NULL;
    discard(job);
    reader->after_value = job->after_value;
    reader->comma = job->comma;
    reader->halted = job->stop != CHROME_AT_LIMIT || !(job->is_final || (job->at_boundary && !job->after_value));
    if (reader->options->progress)
        reader->options->progress(reader->options->progress_user, hd_input_stored_position(reader->input),
                                  hd_input_size_bytes(reader->input));
    return status == HD_OK && reader->halted ? HD_END : status;
}

hd_status chrome_pipeline_new(chrome_reader *reader)
{
    const hd_pipeline_steps steps = {sizeof(chrome_job), parse_piece, commit, deinit_job, reader};
    return hd_pipeline_new(&reader->pipeline, &steps, reader->parser_count, reader->err);
}

/* The text of all jobs from the one that halted on becomes the front of rest again. */
static hd_status take_back_text(chrome_reader *reader, chrome_stop *out_stop)
{
    chrome_job *jobs[2 * HD_PIPELINE_THREAD_LIMIT + 1];
    size_t count = 0, size = reader->rest.end - reader->rest.begin;
    while ((jobs[count] = hd_pipeline_recall(reader->pipeline))) {
        if (count > 0) jobs[count]->position = 0;
        size += jobs[count]->text.end - jobs[count]->position;
        discard(jobs[count++]);
    }
    *out_stop = count ? jobs[0]->stop : CHROME_AT_LIMIT;
    chrome_text all = {.offset = count ? jobs[0]->text.offset + jobs[0]->position : reader->rest.offset};
    if (!chrome_text_reserve(&all, size)) return HD_NOMEM(reader->err);
    for (size_t i = 0; i < count; i++) {
        const chrome_job *job = jobs[i];
        memcpy(all.data + all.end, job->text.data + job->position, job->text.end - job->position);
        all.end += job->text.end - job->position;
    }
    memcpy(all.data + all.end, reader->rest.data + reader->rest.begin, reader->rest.end - reader->rest.begin);
    all.end += reader->rest.end - reader->rest.begin;
    memset(all.data + all.end, 0, HD_JSON_PADDING);
    chrome_text_deinit(&reader->rest);
    reader->rest = all;
    return HD_OK;
}

/* Commits the results of the first parser, except its rows: these wait for more, since a chunk of rows has a minimum
 * size. */
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

hd_status chrome_add_elements(chrome_reader *reader, const chrome_span *span)
{
    chrome_parser *parser = &reader->parsers[0];
    size_t position = 0;
    bool after_value = false;
    uint64_t comma = HD_OFFSET_NONE;
    if (chrome_parse_elements(parser, span, &position, &after_value, &comma, SIZE_MAX) == CHROME_STOPPED) {
        if (reader->err && reader->err->status == HD_OK) *reader->err = parser->error;
        return parser->error.status;
    }
    for (size_t i = 0; i < parser->issue_count; i++) parser->issues[i].first_offset = span->offset;
    HD_TRY(commit_found(reader));
    return chrome_commit_rows(reader);
}

/* Reads up to max_elements from rest. */
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
    if (elements == 0) return HD_OK; /* chunks as small as in tests */
    if (reader->rest.end - reader->rest.begin < (size_t)1 << 12) HD_TRY(chrome_fill(reader, (size_t)1 << 16));
    HD_TRY(read_in_place(reader, out_stop, elements < 256 ? elements : 256));
    return commit_found(reader);
}

/* Reads one element, with as much text as it needs. */
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

/* Chunk by chunk, until the input ends or a chunk did not end where the next one begins: HD_END. */
static hd_status read_pieces(chrome_reader *reader)
{
    bool first = true; /* the others begin after a comma */
    for (void *item;; first = false) {
        HD_TRY(hd_pipeline_next(&item, reader->pipeline, reader->err));
        chrome_job *job = item;
        job->after_value = first && reader->after_value;
        job->comma = first ? reader->comma : reader->lines ? HD_OFFSET_NONE : reader->piece_comma;
        hd_status status = chrome_next_piece(reader, job);
        if (status == HD_END) return hd_pipeline_drain(reader->pipeline, reader->err);
        HD_TRY(status);
        hd_pipeline_give(reader->pipeline);
    }
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
        reader->halted = false;
        hd_status status = read_pieces(reader);
        if (status != HD_OK && status != HD_END) return status;
        HD_TRY(take_back_text(reader, &stop));
        if (!reader->halted || stop == CHROME_AT_CLOSE) return HD_OK;
        HD_TRY(read_one_element(reader, &stop));
        if (stop == CHROME_AT_CLOSE) return HD_OK;
    }
}
