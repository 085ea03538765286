/* read_text.c - traces from text in memory: a memfd is a file to the reader */
#include "read_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "dump.h"
#include "format/chrome/reader.h"

const hd_read_options read_fast = {READ_FAST}, read_fast_strict = {READ_FAST, .strict = true};

static int memory_file(char path[64], const char *text, size_t size)
{
    int fd = memfd_create("heddle-test", MFD_CLOEXEC);
    assert(fd >= 0);
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, text + done, size - done);
        assert(n > 0);
        done += (size_t)n;
    }
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

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
    char path[64];
    int fd = memory_file(path, text, size);
    hd_input *input;
    hd_status status = hd_input_open(&input, path, NULL, err);
    *out = NULL;
    if (status == HD_OK) {
        status =
            piece_size ? read_pieces(out, input, options, piece_size, err) : hd_format_read(out, input, options, err);
        hd_input_close(input);
    }
    close(fd);
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
    char path[64];
    int fd = memory_file(path, "", 0);
    hd_error err = {0};
    hd_status status = hd_trace_write(trace, path, options, &err);
    assert(status == HD_OK);
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = malloc((size_t)size + 1);
    assert(text && pread(fd, text, (size_t)size, 0) == size);
    text[size] = '\0';
    close(fd);
    *out_size = (size_t)size;
    (void)status;
    return text;
}
