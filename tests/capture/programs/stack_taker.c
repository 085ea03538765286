/* stack_taker.c - a library that takes stacks when a Python program asks it to, by ctypes */
#include <pthread.h>

#include "heddle/stack.h"

int taker_start(const char *path);
uint32_t taker_take(const char *label);
uint32_t taker_take_native(const char *label);
uint32_t taker_call(uint32_t (*function)(void));
double taker_cost(unsigned rounds);
int taker_stop(void);
uint64_t taker_count(int what);

static hd_session *session;
static const hd_stack_options with_python = {.python = true};

int taker_start(const char *path)
{
    return (int)hd_session_start(&session, path, NULL, NULL);
}

static inline __attribute__((always_inline)) uint32_t take(const char *label, const hd_stack_options *options)
{
    uint32_t stack = hd_session_stack_here(session, options);
    hd_session_emit(session, &(hd_session_record){.kind = HD_SESSION_INSTANT,
                                                  .time_ns = hd_session_now(),
                                                  .name = hd_session_intern(session, label),
                                                  .stack = stack});
    return stack;
}

/* Without the interpreter's frames. */
uint32_t taker_take_native(const char *label)
{
    return take(label, NULL);
}

uint32_t taker_take(const char *label)
{
    return take(label, &with_python);
}

/* A native function that calls back into the interpreter. */
__attribute__((noinline)) uint32_t taker_call(uint32_t (*function)(void))
{
    uint32_t out = function();
    __asm__ volatile("" : "+r"(out)); /* no tail call */
    return out;
}

/* ns a stack with Python frames. */
double taker_cost(unsigned rounds)
{
    int64_t begin = hd_session_now();
    uint32_t sum = 0;
    for (unsigned i = 0; i < rounds; i++) sum += hd_session_stack_here(session, &with_python);
    return sum ? (double)(hd_session_now() - begin) / rounds : -1;
}

uint64_t taker_count(int what)
{
    hd_stack_stats stats;
    hd_stack_statistics(&stats);
    return what == 0 ? stats.taken : what == 1 ? stats.python : stats.broken;
}

int taker_stop(void)
{
    hd_session_stack_finish(session);
    return (int)hd_session_stop(NULL, session, NULL);
}
