/* callbacks.c - CUPTI's callbacks in the threads of the program: takes the stack of each launch
 *
 * A runtime call makes driver calls. CUPTI calls back for both; the stack is taken once, and both get it.
 */
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/cuda/calls.h"
#include "capture/cuda/cupti/load.h"
#include "capture/cuda/impl.h"
#include "heddle/stack.h"

enum {
    CALL_DEVICE_RESET = 164,  /* cudaDeviceReset, of the runtime */
    VERSION_WITH_STATES = 20, /* CUPTI_DOMAIN_STATE */
};

/* The call of the runtime that this thread is in. */
typedef struct here {
    bool is_inside;
    unsigned opening; /* or closing of the window: detects an exit without a callback */
    uint32_t correlation, stack;
    uint32_t launch; /* correlation of the launching call that it is in; 0: none */
    uint32_t launch_domain;
    unsigned launch_opening;
    uint32_t callbacks;
} here;

static _Thread_local here this_thread __attribute__((tls_model("initial-exec")));

static bool is_inside(cuda_tracer *t)
{
    return this_thread.is_inside && this_thread.opening == atomic_load_explicit(&t->openings, memory_order_relaxed);
}

/* The frames of this library are not shown: `own` is the number between the caller and CUPTI, including the caller. */
__attribute__((noinline)) uint32_t cuda_stack_here(cuda_tracer *t, unsigned own)
{
    hd_stack_options options = {.skip = 1 + own, .python = t->options.python};
    if (is_inside(t)) return this_thread.stack;
    return hd_session_stack_here(t->session, &options);
}

/* Parts of cuda_on_callback, as one function on the stack. */
#define PART static inline __attribute__((always_inline))

PART void begin_call(cuda_tracer *t, uint32_t domain, const cupti_call *call)
{
    bool was_inside = is_inside(t);
    if (was_inside && this_thread.correlation == call->correlation) return;
    uint32_t stack = cuda_stack_here(t, 1);
    if (stack)
        hd_session_emit(t->session, &(hd_session_record){.kind = HD_SESSION_CALL,
                                                         .time_ns = hd_session_now(),
                                                         .correlation = call->correlation,
                                                         .stack = stack});
    if (was_inside || domain != CUPTI_DOMAIN_RUNTIME) return;
    this_thread.is_inside = true;
    this_thread.opening = atomic_load_explicit(&t->openings, memory_order_relaxed);
    this_thread.correlation = call->correlation;
    this_thread.stack = stack;
}

/* A launch counts if it succeeds, is not captured into a graph, and the capture was open from its beginning to its end:
 * that one has an activity. Of a runtime call and the driver call in it, the outer one counts. */
PART void begin_launch(cuda_tracer *t, uint32_t domain, uint32_t id, const cupti_call *call)
{
    const cuda_call *what = cuda_call_find(domain, id);
    if (this_thread.launch == call->correlation || !what || !cuda_call_launches(what->kind)) return;
    this_thread.launch = call->correlation;
    this_thread.launch_domain = domain;
    this_thread.launch_opening = atomic_load_explicit(&t->openings, memory_order_relaxed);
}

PART void end_launch(cuda_tracer *t, uint32_t domain, const cupti_call *call)
{
    int result = 0;
    if (!this_thread.launch || this_thread.launch != call->correlation || this_thread.launch_domain != domain) return;
    this_thread.launch = 0;
    if (call->result) memcpy(&result, call->result, sizeof result);
    if (!result && this_thread.launch_opening == atomic_load_explicit(&t->openings, memory_order_relaxed))
        cuda_taken_launched(t);
}

PART void on_call(cuda_tracer *t, uint32_t domain, uint32_t id, const cupti_call *call)
{
    if (call->site == CUPTI_SITE_EXIT) {
        if (domain == CUPTI_DOMAIN_RUNTIME) this_thread.is_inside = false;
        end_launch(t, domain, call);
        return;
    }
    if (domain == CUPTI_DOMAIN_RUNTIME && id == CALL_DEVICE_RESET) {
        t->cupti->ActivityFlushAll(CUPTI_FLUSH_COMPLETED);
        return;
    }
    if (!atomic_load_explicit(&t->is_open, memory_order_relaxed)) return;
    begin_launch(t, domain, id, call);
    begin_call(t, domain, call);
}

static void on_state(cuda_tracer *t, uint32_t id, const cupti_state *state)
{
    if (id != CUPTI_STATE_FATAL) return;
    atomic_store(&t->launches.are_recorded, false);
    cuda_tell(t, "cuda.cupti-ended", HD_SESSION_LOSS, "CUPTI gave up, and nothing is recorded from there on: %s.",
              state->message ? state->message : "it does not say why");
}

PART void dispatch(cuda_tracer *t, uint32_t domain, uint32_t id, const void *data)
{
    switch (domain) {
    case CUPTI_DOMAIN_RUNTIME:
    case CUPTI_DOMAIN_DRIVER: on_call(t, domain, id, data); break;
    case CUPTI_DOMAIN_RESOURCE:
        if (id == CUPTI_RESOURCE_NODE_CREATED) this_thread.launch = 0; /* it is captured */
        cuda_graph_on_node(t, id, data);
        break;
    case CUPTI_DOMAIN_STATE: on_state(t, id, data); break;
    default: break;
    }
}

/* ---- threads ---- */

/* A CUPTI that does not give system thread ids gives half of pthread_self. Callbacks know both. */
enum { THREADS_MAX = 4096 };
static struct {
    pthread_mutex_t lock;
    struct {
        uint32_t low_half, id;
    } threads[THREADS_MAX]; /* a ring: the last of equal ones counts */
    uint32_t count;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void learn_thread(void)
{
    pthread_mutex_lock(&known.lock);
    known.threads[known.count % THREADS_MAX].low_half = (uint32_t)(uintptr_t)pthread_self();
    known.threads[known.count++ % THREADS_MAX].id = (uint32_t)syscall(SYS_gettid);
    pthread_mutex_unlock(&known.lock);
}

uint32_t cuda_thread_id(uint32_t low_half)
{
    uint32_t id = 0;
    pthread_mutex_lock(&known.lock);
    for (uint32_t i = 0; i < known.count && i < THREADS_MAX && !id; i++) {
        uint32_t at = (known.count - 1 - i) % THREADS_MAX;
        if (known.threads[at].low_half == low_half) id = known.threads[at].id;
    }
    pthread_mutex_unlock(&known.lock);
    return id;
}

void cuda_on_callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
    cuda_tracer *t = user;
    if (!data || atomic_load_explicit(&t->state, memory_order_relaxed) != CUDA_RUNNING) return;
    uint32_t number = this_thread.callbacks++;
    int64_t start = cuda_cost_begin(number);
    if (number == 0 && !t->has_system_ids) learn_thread();
    dispatch(t, domain, id, data);
    atomic_fetch_add_explicit(&t->costs.callbacks, 1, memory_order_relaxed);
    if (start) cuda_cost_end(&t->costs, number, start);
}

/* ---- switching ---- */

static void set_call_callbacks(cuda_tracer *t, uint32_t domain, bool is_on)
{
    for (uint32_t i = 0; i < cuda_call_limit(domain); i++) {
        const cuda_call *call = cuda_call_find(domain, i);
        if (call && cuda_call_has_stack(call->kind, t->options.memory))
            t->cupti->EnableCallback(is_on, t->subscriber, domain, i); /* refused for calls of later versions */
    }
}

void cuda_callbacks_set(cuda_tracer *t, bool is_on)
{
    if (!t->has_callbacks || !t->options.stacks) return;
    set_call_callbacks(t, CUPTI_DOMAIN_RUNTIME, is_on);
    set_call_callbacks(t, CUPTI_DOMAIN_DRIVER, is_on);
}

/* Independent of the window: a graph may be created before it is opened. */
void cuda_callbacks_start(cuda_tracer *t)
{
    if (!t->has_callbacks) return;
    t->cupti->EnableCallback(1, t->subscriber, CUPTI_DOMAIN_RUNTIME, CALL_DEVICE_RESET);
    if (t->cupti->version >= VERSION_WITH_STATES)
        t->cupti->EnableCallback(1, t->subscriber, CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL);
    if (!t->options.stacks) return;
    t->cupti->EnableCallback(1, t->subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_NODE_CREATED);
    t->cupti->EnableCallback(1, t->subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_NODE_CLONED);
}
