/* double.h - the TEST DOUBLE of CUDA: a libcuda.so.1, a libcudart.so.13 and a libcupti.so.13 without a GPU
 *
 * For tests of heddle's tracer, which runs the whole way here: cuInit loads $CUDA_INJECTION64_PATH, calls give
 * callbacks, and a thread of the double fills buffers with records. Nothing is computed: a "GPU" is a time for each
 * stream until which it is busy. Clock of all truths: CLOCK_MONOTONIC.
 *
 *     double_script.c   $FAKE_CUDA_SCRIPT, the truth log, misuse      (libcuda)
 *     double_driver.c   contexts, streams, launches, waits            (libcuda)
 *     double_memory.c   copies, sets, allocations                     (libcuda)
 *     double_graph.c    graphs and their nodes                        (libcuda)
 *     double_more.c     what tests/gpu/gpu_program.c calls besides    (libcuda)
 *     double_runtime.c  the calls of the runtime, over the driver's   (libcudart)
 *     double_cupti.c    subscriber, callbacks, kinds                  (libcupti)
 *     double_ids.c      ids, and what has them                        (libcupti)
 *     double_buffers.c  buffers, and the thread that fills them       (libcupti)
 *     double_records.c  what a record is, and the truth about it      (libcupti)
 *
 * Strict: what the real CUPTI forbids, ends the program with "fake CUDA: misuse: …" and SIGABRT, so that the test
 * fails.
 *
 * $FAKE_CUDA_SCRIPT, a line each ("#" begins a comment; a line that is not understood is misuse):
 *     version N                 cuptiGetVersion; records have the lengths of then
 *     devices N                 2
 *     latency NS, kernel NS, copy NS    launch to start, durations
 *     clock OFFSET_NS PPM       of cuptiGetTimestamp, unless a clock of the tracer's is registered
 *     order sorted|shuffled|reversed    in which records that are ready are written
 *     buffer-records N          buffers are given back after so many
 *     drop-every N              every N-th record of the GPU is dropped
 *     bad-times-every N zero|reversed   every N-th record of the GPU has such times
 *     unknown-every N           a record of a kind that nobody knows after every N-th
 *     damaged-every N           every N-th buffer has a part that cannot be read
 *     late-calls-lost           calls that are switched on one by one once CUDA is in use are not recorded, as by
 *     13.0.1
 *     hold-back                 a buffer is kept as long as something runs, but for a forced flush
 *     overhead-every N          an OVERHEAD record with every N-th call
 *     subscriber-taken          there is another subscriber
 *     mps                       contexts are those of a client of MPS
 *     mig                       GPUs are instances of MIG: GPU instance 7 and up, compute instance 0
 *     pthread-ids               cuptiSetThreadIdType succeeds and changes nothing
 *     fail FUNCTION STATUS [N]  from its N-th call on, 1 at first
 *     kill FUNCTION N           its N-th call kills the process
 *     slow FUNCTION US          it takes so long
 * $FAKE_CUDA_TRUTH: a file that gets a line of JSON for each record, buffer and event worth knowing, by open, write and
 * close, so that it is whole up to the moment of a SIGKILL.
 */
#ifndef HEDDLE_TESTS_DOUBLE_H
#define HEDDLE_TESTS_DOUBLE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/cuda/cupti/abi.h"

enum { DOUBLE_RULES = 16, DOUBLE_DEVICES = 8, DOUBLE_KILL = -1 /* as a status */ };
typedef enum double_order { DOUBLE_SORTED, DOUBLE_SHUFFLED, DOUBLE_REVERSED } double_order;
typedef enum double_bad { DOUBLE_GOOD, DOUBLE_ZERO, DOUBLE_REVERSED_TIMES } double_bad;

typedef struct double_rule {
    char function[56];
    int status;
    uint64_t value; /* fail: from which call on; slow: µs */
} double_rule;

typedef struct double_script {
    uint32_t version, devices;
    uint64_t latency_ns, kernel_ns, copy_ns;
    int64_t clock_offset_ns;
    double clock_ppm;
    double_order order;
    double_bad bad;
    uint64_t buffer_records, drop_every, bad_every, unknown_every, damaged_every, overhead_every;
    bool subscriber_taken, pthread_ids, late_calls_lost, hold_back, mps, mig;
    double_rule fails[DOUBLE_RULES], slows[DOUBLE_RULES];
    unsigned fail_count, slow_count;
} double_script;

/* ---- double_script.c: exported by libcuda ---- */

const double_script *double_script_get(void);
bool double_truth_wanted(void);
void double_truth(const char *format, ...) __attribute__((format(printf, 1, 2))); /* one object, without newline */
void double_escape(char *out, size_t size, const char *text);                     /* as a string of JSON is */
_Noreturn void double_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t double_now(void);

/* ---- double_driver.c ---- */

bool double_is_in_use(void); /* cuInit is done, and with it the injection */

/* A call of the API, on the stack of the thread that makes it. */
typedef struct double_call {
    uint32_t domain, id;
    const char *function, *symbol;
    const void *parameters;
    int result;
    uint32_t correlation; /* 0: nobody looks. A call within a call has that of the outer one */
    uint64_t start_ns, scratch;
    struct double_call *outer;
} double_call;

typedef struct double_context {
    uint32_t id, device;
    struct double_stream *null_stream;
} double_context;

typedef struct double_stream {
    uint32_t id;
    double_context *context;
    uint64_t free_ns;              /* when all that it was given is done */
    struct double_graph *captured; /* NULL: what it is given runs */
} double_stream;

/* A record on its way to a buffer: the largest form, with true times; ready when what it tells of has ended. */
typedef struct double_record {
    union {
        uint32_t kind;
        cupti_api api;
        cupti_kernel kernel;
        cupti_memcpy copy;
        cupti_memcpy2 peer;
        cupti_memset set;
        cupti_sync sync;
        cupti_overhead overhead;
        cupti_external external;
        cupti_device device;
        cupti_context context;
        cupti_stream stream;
        cupti_memory2 memory;
        cupti_graph_trace graph;
    } as;
    uint64_t ready_ns;
    const char *name; /* for the truth */
} double_record;

/* What libcupti does for libcuda, once it is loaded. */
typedef struct double_hooks {
    void (*enter)(double_call *call);
    void (*leave)(double_call *call);
    void (*resource)(uint32_t id, double_context *context, double_stream *stream, const cupti_graph *graph);
    void (*synchronized)(uint32_t id, double_context *context, double_stream *stream);
    void (*record)(const double_record *record);
    bool (*whole_graphs)(void); /* GRAPH_TRACE is on */
} double_hooks;

void double_set_hooks(const double_hooks *hooks);
const double_hooks *double_get_hooks(void); /* NULL: no CUPTI, or a child of fork */

/* Begins a call: 0, or an error with which it must return at once. End: gives `result` back. */
int double_begin(double_call *call);
int double_end(double_call *call, int result);

/* Begins a function of the driver: `call` is its call. */
#define DOUBLE_CALL(number, what)                                                                                      \
    double_call call = {.domain = CUPTI_DOMAIN_DRIVER, .id = number, .function = what};                                \
    int failed = double_begin(&call);                                                                                  \
    if (failed) return failed

void double_wait_until(uint64_t ns);

double_context *double_current_context(void);
double_stream *double_stream_of(void *handle); /* NULL: the context's null stream */

/* `ns` of work on the stream, from now on: its times. */
typedef struct double_span {
    uint64_t start_ns, end_ns;
} double_span;
double_span double_occupy(double_stream *stream, uint64_t ns);
void double_emit(const double_record *record);

/* Of kernels and copies, alone or as nodes (node and graph 0: none). */
typedef struct double_kernel {
    const char *name;
    uint32_t grid[3], block[3], shared_bytes;
    uint64_t ns, stamps, behind,
        later; /* of heddle_spin (src/replay/hardware/cuda.c), which is simulated; 0: the script's */
} double_kernel;
/* Those that heddle_spin wrote into [from, from + bytes). */
void double_read_stamps(void *to, uint64_t from, size_t bytes);
void double_run_kernel(double_stream *stream, const double_kernel *kernel, uint32_t correlation, uint64_t node,
                       uint32_t graph);
typedef struct double_copy {
    uint8_t copy, from, to; /* copy 0: a set, of `value` */
    bool is_async;
    unsigned value;
    uint64_t bytes;
} double_copy;
/* While a stream is captured, a node of its graph. */
void double_run_copy(double_stream *stream, const double_copy *copy, uint32_t correlation, uint64_t node,
                     uint32_t graph);
/* No stream is captured into it any more. */
void double_end_capture(const struct double_graph *graph);

/* What cuModuleGetFunction gives. */
typedef struct double_function {
    char name[120];
} double_function;

#endif
