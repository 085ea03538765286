/* window.h - windows of time in which a capture is open
 *
 *     window.c   opens and closes windows, and records them; options delay_ms, duration_ms
 *     steps.c    steps of the program, by the names of its NVTX ranges; options steps, step_name
 *     budget.c   at which steps windows open if they may cost a share of the time; option budget_ppm
 *     memory.c   tracks live memory, also while no window is open; option memory
 *     control.c  a thread that opens and closes windows in time and answers `heddle trigger`; SIGUSR2 with option
 *                trigger
 *
 * A window is open or closed for the whole process: cuda_tracer.is_open. docs/windows.md is the user documentation.
 *
 * Begin with window.c.
 */
#ifndef HD_CAPTURE_CUDA_WINDOW_WINDOW_H
#define HD_CAPTURE_CUDA_WINDOW_WINDOW_H

#include "capture/cuda/impl.h"
#include "capture/cuda/window/budget.h"

enum {
    WINDOW_LOG = 128, /* windows that are remembered */
    WINDOW_WHY_BYTES = 32,
};

typedef struct window_span {
    int64_t open_ns, close_ns; /* INT64_MAX: is open */
    char opened_by[WINDOW_WHY_BYTES], closed_by[WINDOW_WHY_BYTES];
} window_span;

typedef struct window_state {
    pthread_mutex_t lock; /* never taken by CUPTI's callbacks */
    cuda_tracer *tracer;  /* NULL: not started */
    int64_t open_at_ns;   /* when to open by itself, 0: never */
    int64_t close_at_ns;  /* when to close by itself, 0: never */
    uint64_t count;       /* windows so far: the last is at (count - 1) % WINDOW_LOG */
    window_span spans[WINDOW_LOG];
    bool has_marker; /* the beginning of the present window is in the trace */
    bool is_default; /* the present window was open when the program began, for no option said otherwise */
    uint32_t track, category;
} window_state;

extern window_state window_all __attribute__((visibility("hidden")));

/* ---- window.c ---- */

/* Whether steps open windows. */
static inline bool window_is_by_steps(const cuda_options *options)
{
    return options->has_steps || options->budget_ppm;
}

static inline bool window_is_open(void)
{
    return atomic_load_explicit(&cuda_the_tracer.is_open, memory_order_acquire);
}

enum { WINDOW_ANY = 0 };
/* `why`: "trigger", "signal", "step 10", "delay", "duration". duration_ms 0: as the options say. Not from CUPTI's
 * callbacks of buffers and resources, nor from signal handlers. The number of the window; 0: it was open. */
uint64_t window_open(const char *why, uint64_t duration_ms);
/* The window of that number, or WINDOW_ANY. false: it was closed. */
bool window_close(const char *why, uint64_t number);
/* Opens and closes windows that are due. Returns the time of the next change, INT64_MAX: none. */
int64_t window_keep_time(void);

/* ---- steps.c ---- */

/* Whether ranges count as steps at all: if not, they need not be checked. */
extern atomic_bool window_counts_steps __attribute__((visibility("hidden")));
void window_steps_start(const cuda_tracer *tracer);
bool window_is_step_name(const char *text);
/* A range begins on this thread. true: a step that counts; window_step_ends must be called at its end. */
bool window_step_begins(const char *text);
void window_step_ends(void);
uint64_t window_steps_seen(void);
/* What the windows of a budget cost, as far as steps have been measured. false: there is no budget. */
bool window_steps_budget(budget *out);
void window_steps_fork(int phase); /* -1: before; 0: in the parent; 1: in the child. As the others below */

/* ---- memory.c ---- */

void window_memory_start(cuda_tracer *tracer);
void window_memory_opened(int64_t time_ns);      /* live memory missing in the trace will be recorded */
int64_t window_memory_keep_time(int64_t now_ns); /* does what is due; returns when the next is due, INT64_MAX: never */
void window_memory_closed(int64_t time_ns);
void window_memory_fork(int phase);

/* ---- control.c ---- */

void control_start(cuda_tracer *tracer);
void control_stop(void);
void control_wake(void); /* times changed */
/* In a child of fork: the thread is not there. Cheap, called by every call of NVTX. */
extern atomic_bool control_is_missing __attribute__((visibility("hidden")));
void control_revive(void);
void control_forked(void);

/* ---- nvtx.c ---- */

void nvtx_fork(int phase);
void nvtx_end(void); /* last counts */
/* +1, -1: events of a signal handler on this thread are dropped meanwhile, as it might wait for a lock that the thread
 * holds. */
void nvtx_quiet(int change);

#endif
