/* read_text.c - traces from text in memory, and back */
#include "read_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dump.h"
#include "format/chrome/reader.h"
#include "heddle/source.h"

const hd_read_options read_fast = {READ_FAST}, read_fast_strict = {READ_FAST, .strict = true};

static hd_status read_pieces(hd_trace **out, hd_input *input, const hd_read_options *options, size_t piece_size,
                             hd_error *err)
{
    hd_builder *builder;
    *out = NULL;
    HD_TRY(hd_builder_new(&builder, err));
    hd_status status = chrome_read_pieces(builder, input, options, piece_size, err);
    if (status == HD_OK) {
        hd_builder_facts(builder)->format = "chrome";
        return hd_builder_finish(out, builder, err);
    }
    hd_builder_free(builder);
    return status;
}

hd_status read_text(hd_trace **out, const char *text, size_t size, const hd_read_options *options, size_t piece_size,
                    hd_error *err)
{
    hd_byte_source *source;
    hd_input *input;
    *out = NULL;
    HD_TRY(hd_byte_source_new_memory(&source, text, size, NULL, err));
    hd_status status = hd_input_open_source(&input, source, NULL, err);
    hd_byte_source_free(source);
    if (status == HD_OK) {
        status =
            piece_size ? read_pieces(out, input, options, piece_size, err) : hd_format_read(out, input, options, err);
        hd_input_close(input);
    }
    return status;
}

char *dump_text(const char *text, size_t size, const hd_read_options *options, size_t piece_size, unsigned flags)
{
    hd_trace *trace;
    hd_error err = {0};
    hd_status status = read_text(&trace, text, size, options, piece_size, &err);
    if (status != HD_OK) {
        char *message = malloc(1024);
        assert(message && status == err.status && err.message[0] && !trace);
        snprintf(message, 1024, "error %s at %" PRId64 ": %s\n", hd_status_name(status), (int64_t)err.offset,
                 err.message);
        return message;
    }
    char *dump = dump_trace(trace, flags);
    hd_trace_free(trace);
    return dump;
}

char *write_text(const hd_trace *trace, const hd_write_options *options, size_t *out_size)
{
    hd_byte_sink *sink;
    hd_error err = {0};
    hd_status status = hd_byte_sink_new_memory(&sink, NULL, &err);
    if (status == HD_OK) status = hd_trace_write_to(trace, sink, options, &err);
    assert(status == HD_OK);
    const void *written = hd_byte_sink_get_memory(out_size, sink);
    char *text = malloc(*out_size + 1);
    assert(text && written);
    memcpy(text, written, *out_size);
    text[*out_size] = '\0';
    hd_byte_sink_free(sink);
    (void)status;
    return text;
}
