/* stack.h - walks the stack of the calling thread inside a traced program
 *
 *     uint32_t stack = hd_session_stack_here(session, NULL);
 *     hd_session_emit(session, &(hd_session_record){.kind = HD_SESSION_INSTANT, …, .stack = stack});
 *
 * Part of libheddle-capture. Linux on x86-64 and aarch64; elsewhere walks are empty.
 *
 * How
 *   A walk steps from frame to frame by the unwind tables that every shared object carries for exceptions (.eh_frame).
 *   The rule for a return address is computed once and cached in a table of 64-bit words, so that a step costs one
 *   lookup and two loads. Frames of code without tables (JIT) are unwound by frame pointer, and counted (guessed).
 *
 * Safety
 *   After a thread's first walk, a walk through known code takes no lock and no memory. It reads only mapped parts of
 *   the stack, also with invalid frame pointers and on stacks of coroutines and signal handlers. A walk may be made in
 *   a signal handler: hd_stack_walk always, hd_session_stack_here with `in_signal`. It also works in the child after
 *   fork.
 *
 * Limits
 *   When an object is unloaded and another one takes its addresses, stacks taken before the next
 *   hd_session_stack_refresh may go wrong in it, as may those through JIT code that replaces other JIT code.
 *   A walk ends at code whose frame is based on a register other than the stack and frame pointers: the loader while it
 *   binds a function, and some hand-written assembler.
 */
#ifndef HEDDLE_STACK_H
#define HEDDLE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a walk ended. */
typedef enum hd_stack_end {
    HD_STACK_WHOLE = 1, /* at the thread's first function */
    HD_STACK_TRUNCATED, /* there was no room for the outermost frames */
    HD_STACK_BROKEN     /* the frames found are right, outer ones are unknown: damage, or code that no table describes
                           */
} hd_stack_end;

typedef struct hd_stack_walked {
    hd_stack_end end;
    uint32_t guessed; /* frames unwound by frame pointer, without unwind tables */
} hd_stack_walked;

/* The addresses of the calls on the calling thread's stack (return addresses less 1; of a function that a signal
 * interrupted, the instruction itself), innermost first: `out` gets at most `capacity` of them, beginning with the
 * caller of this function, without the `skip` innermost ones. Returns their number. `walked` may be NULL. */
uint32_t hd_stack_walk(uint64_t *out, uint32_t capacity, unsigned skip, hd_stack_walked *walked);

/* Zero-initialised is the default. */
typedef struct hd_stack_options {
    size_t size;    /* of this struct; see "Options" in status.h */
    unsigned skip;  /* innermost frames to leave out; with 0 the caller of hd_session_stack_here is the first */
    bool python;    /* include the interpreter's frames; see below */
    bool in_signal; /* called in a signal handler: no Python frames; a stack that is new to the thread gets no id */
} hd_stack_options;

/* The stack of the calling thread as an id of hd_session_stack. 0: no session, no memory, or called within itself.
 *
 * python: CPython 3.11 to 3.15 in this process. Each native frame of the interpreter loop is replaced by the Python
 * functions that it runs, "function (file.py:line)", or "py::function (file:line)" where the file's name does not end
 * in .py. No interpreter function is called that takes a reference, memory or the GIL, so that frames are also
 * available in calls that released the GIL, such as PyTorch's. */
uint32_t hd_session_stack_here(hd_session *session, const hd_stack_options *options);

/* Record the current mappings in the session if they have changed, and forget old ones. stack_here does so when it
 * meets new code; a tracer calls it from time to time because of unloaded code. Not in a signal handler. */
void hd_session_stack_refresh(hd_session *session);

/* Before hd_session_stop, records the mappings that no loader knows (JIT), the functions of CPython's perf trampolines
 * (/tmp/perf-PID.map), and the statistics below as notes: "stack.taken", "stack.truncated" … */
void hd_session_stack_finish(hd_session *session);

/* Add the functions of a perf map to the session: lines "START SIZE NAME" in hexadecimal. Returns the number of
 * functions; 0 if there is no such file or its owner is neither this process's user nor root. */
uint64_t hd_session_perf_map(hd_session *session, const char *path);

/* Of this process since its start or fork. */
typedef struct hd_stack_stats {
    uint64_t taken;     /* stacks, by hd_session_stack_here with a running session */
    uint64_t cached;    /* of these, already seen by the thread */
    uint64_t truncated; /* more than HD_SESSION_STACK_MAX frames: the outermost are missing */
    uint64_t broken;    /* HD_STACK_BROKEN */
    uint64_t guessed;   /* stacks with guessed frames */
    uint64_t python;    /* stacks with Python frames */
    uint64_t failed;    /* without an id: no memory, or in_signal and new */
} hd_stack_stats;

void hd_stack_statistics(hd_stack_stats *out);

#ifdef __cplusplus
}
#endif
#endif
