/* steps.h - steps of a process, and the windows into which they divide the time of a device */
#ifndef HD_MODEL_STEPS_STEPS_H
#define HD_MODEL_STEPS_STEPS_H

#include "model/scope/scope.h"

hd_status gpu_annotations(gpu_scope *scope, hd_error *err); /* fills annotations, unless they exist */
hd_status gpu_steps_find(gpu_scope *scope, hd_error *err);  /* by gpu_scope_init, with --by step; twice is once */
hd_status gpu_steps_by_repetition(gpu_scope *scope, hd_error *err); /* adds to steps: repetition.c */
/* The step of the track's process that is open at a time; HD_NONE. A process without steps of its own uses those of the
 * only process of its rank that has some. */
uint32_t gpu_step_at(const gpu_scope *scope, uint32_t track, int64_t time);
/* The same, fast if most times are in the step of the previous one. Begin with zeros. */
typedef struct gpu_step_hint {
    int64_t from, until;
    uint32_t track, step;
} gpu_step_hint;
uint32_t gpu_step_near(const gpu_scope *scope, gpu_step_hint *hint, uint32_t track, int64_t time);
/* From the first begin of the chosen steps to their last end; the scope is by step. `chosen`: A:B, a number or a name.
 * Errors: ARGUMENT (there is no such step). */
hd_status gpu_steps_window(int64_t *out_from, int64_t *out_until, const gpu_scope *scope, const char *chosen,
                           hd_error *err);
/* --step auto */
bool gpu_steps_are_guessed(const gpu_options *options);
static inline const char *gpu_step_note(const gpu_scope *scope)
{
    if (scope->step_count) return scope->step_source;
    if (gpu_steps_are_guessed(scope->options)) return "there are no steps: no group of kernels repeats";
    if (scope->options->step) return "there are no steps: no annotation has a name that --step matches";
    return "there are no steps: --step PATTERN names their annotations, --step auto guesses them "
           "from kernels that repeat";
}
/* That of an activity with --by step, else HD_NONE: a scope that is lent may be by step where its borrower is not. */
static inline uint32_t gpu_step_of(const gpu_scope *scope, const gpu_work *work)
{
    return scope->by & GPU_BY_STEP ? work->step : HD_NONE;
}
/* The same of a time. */
static inline uint32_t gpu_step_by(const gpu_scope *scope, uint32_t track, int64_t time)
{
    return scope->by & GPU_BY_STEP ? gpu_step_at(scope, track, time) : HD_NONE;
}

/* A part of a device's time. Those of a device come in order, and are together its window, as far as it was
 * recorded. */
typedef struct gpu_piece {
    int64_t start, end;
    uint32_t window; /* index */
} gpu_piece;

typedef struct gpu_window {
    uint32_t step;  /* HD_NONE: none, or the rest outside of steps */
    int64_t length; /* of its pieces */
    uint64_t works; /* that start in it and are listed */
} gpu_window;

/* The windows of a device: those of steps by time, then the rest; without empty ones. */
typedef struct gpu_windows {
    gpu_window *windows;
    uint32_t count;
    gpu_piece *pieces;
    size_t piece_count;
    gpu_piece *of_steps; /* the windows of steps, not cut by --from and --until */
    size_t of_step_count;
    uint32_t rest; /* the window of all else */
} gpu_windows;

hd_status gpu_windows_init(gpu_windows *windows, const gpu_scope *scope, uint32_t device, hd_error *err);
void gpu_windows_deinit(gpu_windows *windows);
/* Calls `see` for each track with a device, grouped by device, with *windows made for the device. The caller has zeroed
 * *windows and deinits it. */
typedef hd_status (*gpu_see_row)(void *user, const gpu_row *row, hd_error *err);
hd_status gpu_each_row(const gpu_scope *scope, gpu_windows *windows, gpu_see_row see, void *user, hd_error *err);
/* The window of an event that is listed. */
uint32_t gpu_window_of(const gpu_windows *windows, int64_t time);

#endif
