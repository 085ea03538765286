/* perfscript.h - inside the reader of `perf script` text */
#ifndef HD_FORMAT_PERFSCRIPT_PERFSCRIPT_H
#define HD_FORMAT_PERFSCRIPT_PERFSCRIPT_H

#include "format/format.h"
#include "format/stack_samples.h"

/* The line above a stack: comm pid/tid [cpu] flags time: period event: rest, each of which may be missing. */
typedef struct perfscript_header {
    bool sure; /* it has a time, which is distinctive enough without a stack below */
    hd_stack_thread thread;
    hd_string who;   /* comm pid/tid, unchanged */
    int64_t time_ns; /* HD_NO_TIME: none */
    bool time_lost;  /* its time is beyond int64 */
    bool has_cpu, has_period;
    int64_t cpu, period;
    hd_string event; /* "" if none */
    hd_string rest;  /* the rest: an address and its function, or the text of a tracepoint */
} perfscript_header;

/* false: no line of that kind; one that is not sure is one if a stack follows. */
bool perfscript_parse_header(perfscript_header *out, const char *text, size_t size);

/* A line of a stack: address function+offset (file), each of which may be missing. */
typedef struct perfscript_frame {
    bool has_address;
    uint64_t address;
    hd_string function; /* without its offset, "" if none */
    hd_string file;     /* "" if none */
    bool inlined;
} perfscript_frame;

/* false: nothing of that kind. */
bool perfscript_parse_frame(perfscript_frame *out, const char *text, size_t size);
/* Whether a line that starts with a blank begins with an address. */
bool perfscript_has_address(const char *text, size_t size);
/* Whether it is certainly a frame: an address, and a file's path at the end. */
bool perfscript_is_whole_frame(const char *text, size_t size);
/* A frame of the operating system's kernel. */
bool perfscript_is_kernel(const perfscript_frame *frame);

hd_status perfscript_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);

#endif
