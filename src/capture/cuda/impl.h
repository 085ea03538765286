/* impl.h - the parts of the tracer that is injected into programs that use CUDA
 *
 *     driver, in cuInit ──> inject.c ──> cupti/load.c (libcupti, found at run time)
 *     CUPTI's threads   ──> cupti/buffers.c ──> helper.c (a thread of ours) ──> cupti/activity.c ──> session ──> file
 *     launching threads ──> cupti/callbacks.c (stacks) ────────────────────────────────────────────────┘
 *     NVTX ──> nvtx/, window/ (when to capture: options, steps, trigger)
 *
 * inject.c    InitializeInjection, the session, its end           options.c   $HEDDLE_CAPTURE_OPTIONS
 * kinds.c     what is traced, switched on and off                 clock.c     CUPTI's times on the session's clock
 * calls.c     which calls of CUDA, and their names                graph.c     where nodes of graphs were made
 * describe.c  metadata and notes                                  cupti/activity_names.c  names as Kineto writes
 * taken.c     whether somebody else has CUPTI's buffers
 *
 * This runs inside of programs that are not ours: nothing is printed, nothing ended, no function fails the program.
 * Missing data is reported in notes and metadata of the session's file, which `heddle record` prints.
 *
 * The driver, CUPTI and NVTX call functions without a pointer of ours, so the tracer is one for the process:
 * cuda_tracer.
 *
 * Begin with inject.c.
 */
#ifndef HD_CAPTURE_CUDA_IMPL_H
#define HD_CAPTURE_CUDA_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/cuda/cupti/buffers.h"
#include "heddle/session.h"

/* ---- options.c ---- */

typedef struct cuda_options {
    bool stacks, python, memory, graph_whole, nvtx; /* by default: stacks, nvtx */
    bool trigger;                                   /* starts closed, opened by a trigger */
    bool has_steps;                                 /* starts closed, opened by steps */
    uint64_t delay_ms;                              /* starts closed, opened after; 0: none */
    uint64_t duration_ms;                           /* closed so long after it was opened; 0: never */
    uint64_t step_first, step_last;                 /* A:B, both included */
    uint64_t budget_ppm;   /* of the time, for windows of steps, as window/budget.h says; starts closed; 0: none */
    uint64_t keep_last_ms; /* only events of the last so long are kept; 0: all */
    uint64_t on_stall_ms;  /* they are written out if nothing happens for so long; 0: never */
    char step_name[64];    /* ranges of this name are steps; "": see window/steps.c */
    hd_ring_policy policy;
    uint32_t unknown;                      /* keys that we do not know */
    uint32_t bad;                          /* values that make no sense: the default is used */
    char first_unknown[64], first_bad[64]; /* the first of each, as it was written, cut */
} cuda_options;

/* text may be NULL: the defaults. */
void cuda_options_parse(cuda_options *out, const char *text);

/* ---- the tracer ---- */

typedef enum cuda_state {
    CUDA_OFF,     /* InitializeInjection was not called here, or found no CUPTI */
    CUDA_RUNNING, /* records may come */
    CUDA_ENDED,   /* the program ends; what CUPTI still calls does nothing */
    CUDA_FORKED   /* in a child of a process with CUDA, where CUDA cannot be used: likewise */
} cuda_state;

struct cuda_cupti;    /* cupti/load.h */
struct cuda_activity; /* activity.h */

enum { CUDA_PROBLEMS = 16 };

/* What `heddle record` prints for the user. */
typedef struct cuda_problem {
    char code[48]; /* of the note */
    char text[512];
} cuda_problem;

/* How long our code took on the program's threads: CUPTI's callbacks and calls of NVTX. */
typedef struct cuda_costs {
    atomic_uint_least64_t callbacks, callback_ns; /* an estimate: some are timed */
    atomic_uint_least64_t described;              /* callbacks, in the metadata that was written last */
    _Atomic int64_t described_ns;
} cuda_costs;

enum {
    /* The first calls of a thread are timed, then one in CUDA_TIMED: a launch makes two or four, of which one takes a
     * stack, and a range makes two. A number coprime to these samples all of them equally. */
    CUDA_TIMED = 17,
    CUDA_LONG_NS = 100000, /* a longer one was interrupted, or loaded new code: it is not extrapolated */
};

/* The time if this call is timed, else 0. number: of the thread's calls. */
static inline int64_t cuda_cost_begin(uint32_t number)
{
    return number < CUDA_TIMED || number % CUDA_TIMED == 0 ? hd_session_now() : 0;
}

/* Of a call that is timed. Returns the time. */
static inline int64_t cuda_cost_end(cuda_costs *costs, uint32_t number, int64_t start_ns)
{
    int64_t now = hd_session_now();
    uint64_t took = (uint64_t)(now - start_ns);
    if (number >= CUDA_TIMED && took < CUDA_LONG_NS) took *= CUDA_TIMED;
    atomic_fetch_add_explicit(&costs->callback_ns, took, memory_order_relaxed);
    return now;
}

/* taken.c: calls of the driver that launch and returned while the capture was open */
typedef struct cuda_launches {
    atomic_uint_least64_t answered; /* of those that were seen, when CUPTI last requested or returned a buffer */
    uint64_t looked;                /* of these, when the tracer's thread last looked */
    atomic_bool are_recorded;       /* CUPTI took on to record them */
    atomic_bool is_taken;           /* and somebody else gets the records */
} cuda_launches;

typedef struct cuda_tracer {
    cuda_options options;
    hd_session *session; /* NULL: nothing is captured, and all functions here do nothing */
    _Atomic int state;   /* cuda_state */
    atomic_bool is_open; /* the capture window, for data that CUPTI does not filter (NVTX, stacks) */
    _Atomic int64_t opened_ns, closed_ns;
    atomic_uint openings; /* and closings */
    int64_t start_ns;     /* of the session */

    pthread_mutex_t lock;           /* switching kinds, and what follows */
    const struct cuda_cupti *cupti; /* NULL: none */
    struct cupti_subscriber_of_library *subscriber;
    int refusal; /* cupti_status of the first library that would not have us */
    bool has_callbacks, has_activity;
    bool has_own_clock;  /* CUPTI uses our buffers */
    bool has_system_ids; /* of threads */
    bool is_applied;     /* kinds are on */
    bool is_started;     /* the program uses CUDA: what is switched on now is switched on late */
    bool all_calls;      /* CUPTI cannot switch single calls: calls that are not shown are recorded, too */

    cuda_buffers buffers;
    struct cuda_activity *activity; /* of the tracer's thread */
    pthread_t helper;
    bool has_helper;
    atomic_uint helper_ended; /* a futex */
    atomic_uint buffers_read;
    atomic_uint wake; /* a futex */
    atomic_bool wants_flush, wants_description, is_ending;
    cuda_launches launches;
    cuda_costs costs;
    uint64_t helper_ns; /* CPU time of our threads; of the tracer's thread */

    pthread_mutex_t text_lock; /* what follows */
    cuda_problem problems[CUDA_PROBLEMS];
    uint32_t problem_count;
    char *window; /* JSON, or NULL */
} cuda_tracer;

/* The one of this process. Zero until cuda_tracer_begin. */
extern cuda_tracer cuda_the_tracer __attribute__((visibility("hidden")));

/* inject.c: options and session, once a process (a child of fork keeps the parent's options and gets a file of its
 * own). Called by InitializeInjection and InitializeInjectionNvtx2, whichever comes first. NULL: there is no folder to
 * write to; do nothing. */
cuda_tracer *cuda_tracer_begin(void);

/* kinds.c: opens or closes the capture: is_open, and CUPTI's kinds and callbacks. Any thread, but not from CUPTI's
 * callbacks of buffers and resources, nor from a signal handler. Before CUDA is there it is remembered. */
void cuda_capture_set(cuda_tracer *tracer, bool is_open);

/* Whether a time of the session's clock is in the window, as far as it goes by now. */
bool cuda_capture_has(cuda_tracer *tracer, int64_t time_ns);
/* Under tracer->lock: what is on as long as CUDA is there; then what the window switches. */
void cuda_kinds_start(cuda_tracer *tracer);

/* helper.c: the tracer's thread. */
bool cuda_helper_start(cuda_tracer *tracer);
/* All that is full is read, unless nothing happens for some seconds. */
void cuda_helper_end(cuda_tracer *tracer);
void cuda_helper_wake(cuda_tracer *tracer);

/* The tracer's thread delivers what CUPTI has completed. The caller does not wait. Safe in signal handlers.
 */
void cuda_flush_soon(cuda_tracer *tracer);

/* describe.c: metadata `heddle.capture` has "window": json (an object), from now on. The text is copied. */
void cuda_describe_window(cuda_tracer *tracer, const char *json);
/* A note of the ledger, and a message for the user, once: the missing data and how to get it. */
void cuda_tell(cuda_tracer *tracer, const char *code, hd_session_note_level level, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Metadata has the costs of calls of NVTX from time to time: a program may use nothing else. Any thread. */
void cuda_describe_costs(cuda_tracer *tracer, int64_t now_ns);
/* Notes and metadata as they are now. By the tracer's thread, or when there is none. */
void cuda_describe(cuda_tracer *tracer);

/* taken.c: a launch returned; CUPTI requested or returned a buffer. */
void cuda_taken_launched(cuda_tracer *tracer);
void cuda_taken_sign(cuda_tracer *tracer);
/* Behind a flush, by the tracer's thread. */
void cuda_taken_look(cuda_tracer *tracer);
/* At the end: all that CUPTI has. */
void cuda_taken_flush_all(cuda_tracer *tracer);
/* Launches whose records somebody else has. By the tracer's thread, or when there is none. */
uint64_t cuda_taken_count(cuda_tracer *tracer);

/* callbacks.c, graph.c: under tracer->lock. */
void cuda_callbacks_start(cuda_tracer *tracer);
void cuda_callbacks_set(cuda_tracer *tracer, bool is_on);
/* The stack of the calling thread; that of the call it is in, if that has one. 0: none. */
uint32_t cuda_stack_here(cuda_tracer *tracer, unsigned own);
/* The system's id of a thread that CUPTI identifies by its pthread_self, if it had a callback. 0: unknown. */
uint32_t cuda_thread_id(uint32_t low_half);
/* What CUPTI calls: a cupti_callback. */
void cuda_on_callback(void *user, uint32_t domain, uint32_t id, const void *data);
void cuda_graph_on_node(cuda_tracer *tracer, uint32_t id, const void *data);
uint64_t cuda_graph_lost(void); /* nodes whose clones will have no stack */

/* ---- what window/window.c has, and inject.c calls ---- */

/* An allocation or a release reported by CUPTI (option memory): also while the capture is closed, so that what is live
 * is known when it opens. */
typedef struct cuda_memory {
    bool is_release;
    uint32_t device; /* HD_SESSION_HOST: the host's */
    uint32_t kind;   /* CUPTI_MEMORY_… */
    uint32_t category;
    uint64_t address, bytes;
    int64_t time_ns; /* on the session's clock */
    uint32_t correlation;
} cuda_memory;

/* At the end of cuda_tracer_begin: is_open is false if an option says that the capture starts closed. */
void cuda_window_start(cuda_tracer *tracer);

/* By the tracer's thread, for each record, before it is emitted (which happens if the capture is open). */
void cuda_window_memory(cuda_tracer *tracer, const cuda_memory *memory);

/* Before the session stops. */
void cuda_window_end(cuda_tracer *tracer);

/* Behind the last record of memory, before the session stops. */
void cuda_window_settle(cuda_tracer *tracer) __attribute__((weak, visibility("hidden")));

#endif
