/* xray.h - logs of LLVM's XRay: records of enters and exits of functions by number
 *
 *     file ──> header (read.c) ──> naive.c: records of 32 bytes   ──> calls.c: stacks of threads ──> rows
 *                   │         └──> fdr.c: buffers of a thread each ──┘        ^
 *                   └──> binary.c: names of functions, from the program's xray_instr_map
 *
 * In: the bytes of a log, and of the program. Out: rows of a builder. Begin with read.c.
 */
#ifndef HD_FORMAT_XRAY_XRAY_H
#define HD_FORMAT_XRAY_XRAY_H

#include "base/io/pieces.h"
#include "base/map.h"
#include "format/format.h"
#include "format/rows_out.h"

#define XRAY_STAGE "xray"

enum { XRAY_HEADER_BYTES = 32, XRAY_ARGS = 6, XRAY_DENSE_NAMES = 1 << 16 };

typedef enum xray_kind { XRAY_ENTER, XRAY_EXIT, XRAY_TAIL_EXIT, XRAY_ENTER_ARG } xray_kind;

/* A function that was entered and not left. */
typedef struct xray_frame {
    uint64_t tsc;
    uint32_t function;
    uint16_t cpu;
    uint16_t arg_count; /* the last of its thread's args when it is on top */
} xray_frame;

typedef struct xray_thread {
    uint32_t track;
    xray_frame *frames;
    size_t count, capacity;
    uint64_t *args; /* of the frames, consecutive */
    size_t arg_count, arg_capacity;
} xray_thread;

typedef struct xray_reader {
    hd_builder *builder;
    hd_rows_out rows;
    const hd_read_options *options;
    hd_error *err;
    bool want_args;
    hd_pieces pieces;
    hd_window window;

    /* header */
    unsigned version;
    bool is_fdr;
    uint64_t hertz, buffer_bytes;

    uint32_t *names; /* string ids by number of function, below XRAY_DENSE_NAMES; 0: not made yet */
    hd_map more_names;
    uint64_t unnamed; /* functions */

    hd_map thread_index; /* by pid and tid */
    xray_thread *threads;
    size_t thread_count, thread_capacity;

    uint32_t category, key_cpu, key_arg[XRAY_ARGS], key_type, key_data, key_tsc;
    uint32_t call_shapes[XRAY_ARGS + 1]; /* by number of args, + 1; 0: not made yet */
    int64_t base_ns;                     /* HD_NO_TIME: unknown */
    hd_bytes text;
} xray_reader;

hd_status xray_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);

/* read.c */
/* Counts damage, a loss or a note at an offset. DAMAGED when strict, except for notes. */
hd_status xray_note(xray_reader *r, const char *code, hd_ledger_level level, uint64_t count, uint64_t offset);
/* The name of a function, string id. */
uint32_t xray_name(xray_reader *r, uint32_t function);
/* Cycles as floored nanoseconds and picoseconds; false: beyond the range of times. */
bool xray_time(int64_t *out_ns, uint32_t *out_ps, const xray_reader *r, uint64_t tsc);

/* naive.c, fdr.c: all after the header */
hd_status xray_read_naive(xray_reader *r);
hd_status xray_read_fdr(xray_reader *r);

/* calls.c */
/* Valid until the next call. NULL: no memory. */
xray_thread *xray_thread_of(xray_reader *r, uint32_t pid, uint32_t tid);
hd_status xray_enter(xray_reader *r, xray_thread *t, uint32_t function, uint64_t tsc, uint16_t cpu);
/* An argument of the function that was entered last. */
hd_status xray_add_arg(xray_reader *r, xray_thread *t, uint64_t value, uint64_t offset);
hd_status xray_exit(xray_reader *r, xray_thread *t, uint32_t function, uint64_t tsc, uint64_t offset);
/* type: of a typed event, -1: a custom one. */
hd_status xray_add_event(xray_reader *r, const xray_thread *t, int32_t type, uint64_t tsc, uint16_t cpu,
                         const uint8_t *data, size_t size);
/* Functions without an exit. */
hd_status xray_finish_calls(xray_reader *r);
void xray_calls_deinit(xray_reader *r);

/* binary.c */
/* Names from options->binary, else from the program in the log's name, next to the log. Errors: only for the former. */
hd_status xray_find_names(xray_reader *r, const hd_input *input);

#endif
