/* reader.h - the reader of whole files: its text, and the parsers that work on it */
#ifndef HD_FORMAT_CHROME_READER_H
#define HD_FORMAT_CHROME_READER_H

#include "base/pipeline.h"
#include "format/chrome/chrome.h"

/* Text followed by HD_JSON_PADDING zero bytes. */
typedef struct chrome_text {
    char *data;
    size_t begin, end, capacity;
    uint64_t offset; /* of data[begin] in the decompressed input */
} chrome_text;

/* A piece of the input on its way through a parser. */
typedef struct chrome_job {
    chrome_text text;
    bool is_final;    /* the input ends with it */
    bool at_boundary; /* it ends before a likely start of an event */
    chrome_stop stop;
    size_t position; /* where it stopped, in text.data */
    bool after_value;
    uint64_t comma;
    hd_chunk *chunk;
    chrome_issue *issues;
    size_t issue_count;
    hd_source_patch *patches;
    size_t patch_count;
    hd_error error;
} chrome_job;

typedef struct chrome_reader {
    hd_input *input;
    const hd_read_options *options;
    hd_builder *builder;
    bool input_ended;
    bool cut; /* the input ended within the array of events */
    bool lines;
    bool has_array;   /* the object that is being read has had events */
    chrome_text rest; /* read, but not given to a parser yet */
    size_t chunk_size;
    uint64_t piece_comma; /* offset of the comma before the next piece, HD_OFFSET_NONE: unknown */

    chrome_parser *parsers; /* of each worker */
    unsigned parser_count;
    hd_pipeline *pipeline; /* of jobs */

    /* position in the array of events between chunks */
    bool after_value;
    uint64_t comma;
    bool halted;             /* the oldest job did not end where the next one begins */
    hd_json_out samples;     /* elements of top-level keys of that name, until all events are read */
    uint64_t samples_offset; /* of the first */
    hd_error *err;
} chrome_reader;

/* chrome_read with chunks of a given size, 0: chosen by the size of the input. Tests cut the text at every position. */
hd_status chrome_read_pieces(hd_builder *builder, hd_input *input, const hd_read_options *options, size_t piece_size,
                             hd_error *err);

/* text.c */
bool chrome_text_reserve(chrome_text *text, size_t size);
/* Have at least `size` bytes in rest, or all there are. */
hd_status chrome_fill(chrome_reader *reader, size_t size);
void chrome_text_deinit(chrome_text *text);
/* Make job `job` from rest and the input; HD_END when nothing is left. */
hd_status chrome_next_piece(chrome_reader *reader, chrome_job *job);

/* parallel.c: the pipeline, with reader->parser_count threads. */
hd_status chrome_pipeline_new(chrome_reader *reader);
/* Reads elements until the closing bracket (rest is then at it) or the end of the input. */
hd_status chrome_read_elements(chrome_reader *reader);
/* Commits the rows that chrome_read_elements kept for later. */
hd_status chrome_commit_rows(chrome_reader *reader);
/* Elements of a text that was made of the input's at span->offset; all enters the trace. */
hd_status chrome_add_elements(chrome_reader *reader, const chrome_span *span);

/* samples.c: is the top-level member with that valid JSON value a list of stack samples? */
bool chrome_is_samples(hd_string key, const char *value, const char *end);
/* Keep its text; false: no memory. */
bool chrome_keep_samples(chrome_reader *reader, const char *value, const char *end);
/* Converts the kept samples to events, once all other events are read. */
hd_status chrome_read_samples(chrome_reader *reader);

#endif
