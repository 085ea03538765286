/* ftrace.h - inside the reader of ftrace
 *
 *   ftrace.c   the format as the list of formats sees it
 *   dat.c      trace.dat of trace-cmd: header, options, sections
 *   pages.c    the ring buffer's pages of each CPU, merged by time
 *   graph.c    lines of the tracer function_graph, in that text
 *   text.c     the text of the kernel's `trace` file and of `trace-cmd report`
 */
#ifndef HD_FORMAT_FTRACE_FTRACE_H
#define HD_FORMAT_FTRACE_FTRACE_H

#include "base/io/compress.h"
#include "format/tracepoint/data.h"

/* Pages of a CPU. */
typedef struct ftrace_stream {
    int64_t cpu;
    uint64_t at, end; /* range in the file that is not read yet */
    bool is_compressed;
    uint32_t chunks;                             /* compressed chunks left */
    hd_bytes plain;                              /* a chunk; or a page */
    size_t plain_at;                             /* offset of the next page in it */
    uint8_t *page;                               /* borrowed from plain, NULL: none */
    uint32_t page_bytes, have, length, event_at; /* have: of a page that is cut off */
    uint64_t page_offset;                        /* in the file */
    uint64_t time;                               /* of the current event, on the clock of the recording */
    const uint8_t *data;                         /* of it */
    uint32_t data_bytes;
} ftrace_stream;

/* Calls of the tracer function_graph. Zero-initialised is empty. */
typedef struct ftrace_graph {
    struct graph_owner *owners;
    size_t count, capacity;
    hd_map by_number;
    uint64_t times_made; /* lines without a time */
} ftrace_graph;

typedef struct ftrace_graph_line {
    int64_t time_ns, cpu, tid; /* HD_NO_TIME, HD_NO_NUMBER: not given */
    int64_t duration_ns;       /* HD_NO_TIME: none */
    hd_string comm, call;      /* "name() {", "name();", "}", a comment */
    bool is_switch;            /* the CPU runs another thread from here on */
    bool is_interrupt;         /* call is its arrow */
} ftrace_graph_line;

typedef struct ftrace_reader {
    tp_place place;
    tp_data data;
    hd_pieces pieces;
    const hd_read_options *options;
    hd_error *err;
    hd_builder *builder;
    ftrace_stream *streams;
    size_t stream_count, stream_capacity;
    bool has_zstd;
    uint32_t multiplier, shift; /* of the clock's ticks; 0: they are ns */
    uint64_t tick_offset;
    bool is_other_clock; /* ticks of an unknown length */
    uint64_t records;
    ftrace_graph graph;
} ftrace_reader;

/* Count; DAMAGED when that is no mere note and repairs are refused. */
hd_status ftrace_note(ftrace_reader *r, const char *code, hd_ledger_level level, uint64_t count, uint64_t offset);
hd_status ftrace_add_stream(ftrace_reader *r, int64_t cpu, uint64_t offset, uint64_t size, bool is_compressed);
/* pages.c: all events of all CPUs in the order of their times. */
hd_status ftrace_read_pages(ftrace_reader *r);
hd_status ftrace_read_dat(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);
/* text.c */
bool ftrace_is_text(const unsigned char *head, size_t size);
/* An event with the text after its name. */
hd_status ftrace_add_event(ftrace_reader *r, hd_string name, hd_string rest, tp_event *event);
hd_status ftrace_read_text(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);
/* graph.c: a line; the part of it from its duration on. false: it is none of function_graph. */
bool ftrace_graph_parse(ftrace_graph_line *out, hd_string line);
bool ftrace_graph_call(ftrace_graph_line *out, hd_string text);
hd_status ftrace_graph_add(ftrace_reader *r, const ftrace_graph_line *line, uint64_t offset);
/* Running calls have no end. */
hd_status ftrace_graph_finish(ftrace_reader *r);
void ftrace_graph_deinit(ftrace_graph *graph);

#endif
