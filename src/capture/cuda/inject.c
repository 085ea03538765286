/* inject.c - start and end: InitializeInjection, the session of the process
 *
 * The driver calls InitializeInjection within cuInit, in each process that uses CUDA and has $CUDA_INJECTION64_PATH.
 *
 * fork    CUDA cannot be used in a child of a process that uses it: the tracer does nothing there. A child of a process
 *         that does not use it yet is like any process, except that it may have inherited a session (of NVTX), which
 *         gives it a file of its own.
 * exit    CUPTI's remaining records are delivered, and the session is finished. _exit, exec and fatal signals leave the
 *         file as it is, which lacks at most some 50 ms of records.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cupti_known.h"
#include "capture/cuda/cupti/activity.h"
#include "capture/cuda/window/window.h"
#include "heddle/stack.h"

int InitializeInjection(void) __attribute__((visibility("default")));

cuda_tracer cuda_the_tracer;

static pthread_once_t begun = PTHREAD_ONCE_INIT;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER; /* in InitializeInjection */
static cuda_cupti the_cupti;                                      /* of cuda_the_tracer */
static pid_t the_process;                                         /* that our threads are in */

/* ---- the session ---- */

static bool make_path(char *out, size_t capacity, const char *folder)
{
    char host[128] = "";
    struct timespec now;
    if (gethostname(host, sizeof host - 1) != 0 || !host[0]) strcpy(host, "host");
    for (char *c = host; *c; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '-';
        if (!is_plain) *c = '_';
    }
    clock_gettime(CLOCK_REALTIME, &now);
    int size = snprintf(out, capacity, "%s/%s-%d-%lld.hdcap", folder, host, (int)getpid(),
                        (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    return size > 0 && (size_t)size < capacity;
}

static void in_child(void)
{
    cuda_tracer *t = &cuda_the_tracer;
    pthread_mutex_init(&t->lock, NULL);
    pthread_mutex_init(&t->text_lock, NULL);
    pthread_mutex_init(&one_at_a_time, NULL);
    pthread_mutex_init(&t->buffers.lock, NULL);
    t->has_helper = false; /* it is the parent's */
    memset(&t->costs, 0, sizeof t->costs);
    t->activity = NULL; /* and so are its counts */
    the_process = getpid();
    if (atomic_load(&t->state) != CUDA_OFF) atomic_store(&t->state, CUDA_FORKED);
}

static void tell_options(cuda_tracer *t)
{
    const cuda_options *o = &t->options;
    if (o->unknown)
        cuda_tell(t, "cuda.option-unknown", HD_SESSION_NOTE,
                  "HEDDLE_CAPTURE_OPTIONS has %u options that are not known, of which the first is \"%s\".", o->unknown,
                  o->first_unknown);
    if (o->bad)
        cuda_tell(t, "cuda.option-bad", HD_SESSION_NOTE,
                  "HEDDLE_CAPTURE_OPTIONS has %u values that make no sense, of which the first is \"%s\".", o->bad,
                  o->first_bad);
}

static void end(void);

static void begin(void)
{
    cuda_tracer *t = &cuda_the_tracer;
    const char *folder = getenv("HEDDLE_CAPTURE_DIR");
    char path[4096];
    if (!folder || !folder[0] || !make_path(path, sizeof path, folder)) return;
    pthread_mutex_init(&t->lock, NULL);
    pthread_mutex_init(&t->text_lock, NULL);
    cuda_options_parse(&t->options, getenv("HEDDLE_CAPTURE_OPTIONS"));
    hd_session_options options = {.policy = t->options.policy,
                                  .fork = HD_SESSION_FORK_FILE,
                                  .exit_when_alone = true,
                                  .keep_last_ns = (int64_t)(t->options.keep_last_ms * 1000000)};
    if (hd_session_start(&t->session, path, &options, NULL) != HD_OK) return;
    t->start_ns = hd_session_now();
    the_process = getpid();
    bool is_open = !t->options.delay_ms && !window_is_by_steps(&t->options) && !t->options.trigger;
    if (is_open) atomic_store(&t->opened_ns, t->start_ns);
    atomic_store(&t->is_open, is_open);
    pthread_atfork(NULL, NULL, in_child);
    tell_options(t);
    cuda_window_start(t);
    cuda_describe(t);
    atexit(end);
}

cuda_tracer *cuda_tracer_begin(void)
{
    pthread_once(&begun, begin);
    return cuda_the_tracer.session ? &cuda_the_tracer : NULL;
}

/* ---- the end ---- */

static void end(void)
{
    static atomic_bool has_ended; /* registered twice: begin, start_cuda */
    cuda_tracer *t = &cuda_the_tracer;
    int running = CUDA_RUNNING;
    /* A child of clone or _Fork, which run no handlers, would wait for threads that it does not have. */
    if (getpid() != the_process || atomic_exchange(&has_ended, true)) return;
    cuda_window_end(t);
    if (atomic_load(&t->state) == CUDA_RUNNING && t->has_activity) cuda_taken_flush_all(t);
    cuda_buffers_close(&t->buffers);
    atomic_compare_exchange_strong(&t->state, &running, CUDA_ENDED);
    cuda_helper_end(t);
    if (!t->has_helper && running != CUDA_FORKED) cuda_describe(t);
    if (cuda_window_settle) cuda_window_settle(t);
    if (t->options.stacks) hd_session_stack_finish(t->session);
    hd_session_stop(NULL, t->session, NULL);
}

/* ---- CUPTI ---- */

static void buffer_wanted(uint8_t **buffer, size_t *size, size_t *records)
{
    cuda_tracer *t = &cuda_the_tracer;
    *buffer =
        atomic_load_explicit(&t->state, memory_order_relaxed) == CUDA_RUNNING ? cuda_buffers_take(&t->buffers) : NULL;
    *size = *buffer ? CUDA_BUFFER_BYTES : 0;
    *records = 0;
    cuda_taken_sign(t);
}

static void buffer_done(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    cuda_tracer *t = &cuda_the_tracer;
    (void)context, (void)stream, (void)size;
    if (!buffer || atomic_load_explicit(&t->state, memory_order_relaxed) == CUDA_FORKED) return;
    cuda_buffers_fill(&t->buffers, buffer, valid);
    cuda_taken_sign(t);
    cuda_helper_wake(t);
}

static uint64_t read_clock(void)
{
    return (uint64_t)hd_session_now();
}

/* One subscriber for all: if a library refuses us the next one is tried, unless the reason is the process. */
static bool accepts(const cuda_cupti *cupti, void *user, char *why, size_t why_bytes)
{
    cuda_tracer *t = user;
    cupti_status status = cupti->Subscribe(&t->subscriber, cuda_on_callback, t);
    t->has_callbacks = status == CUPTI_OK;
    if (status == CUPTI_OK || status == CUPTI_OTHER_SUBSCRIBER) return true;
    if (t->refusal == CUPTI_OK) t->refusal = status;
    snprintf(why, why_bytes, "refuses (%s)", cuda_cupti_text(cupti, status));
    return false;
}

static bool asks_system_ids(const cuda_cupti *cupti)
{
    uint32_t type = CUPTI_THREAD_ID_SYSTEM;
    if (!cupti->SetThreadIdType || cupti->SetThreadIdType(CUPTI_THREAD_ID_SYSTEM) != CUPTI_OK) return false;
    if (cupti->GetThreadIdType && cupti->GetThreadIdType(&type) != CUPTI_OK) return false;
    return type == CUPTI_THREAD_ID_SYSTEM;
}

/* Records that are wrong or missing, where the program's options meet the defect; the note has all that is known. */
static void tell_defects(cuda_tracer *t)
{
    uint32_t version = t->cupti->version;
    char all[512];
    hd_session_note(t->session, "cuda.cupti-defects", HD_SESSION_NOTE, hd_cupti_tell(all, sizeof all, version));
    if (hd_cupti_has_defect(HD_CUPTI_SYNCS_MISSING, version) ||
        ((t->options.trigger || t->options.budget_ppm) && hd_cupti_has_defect(HD_CUPTI_GRAPH_IDS, version)))
        cuda_tell(t, "cuda.cupti-wrong", HD_SESSION_NOTE,
                  "This CUPTI (API %u) has known defects: %.380s. HEDDLE_CUPTI can name a newer one of the driver's "
                  "major version.",
                  version, all);
}

static void start_activity(cuda_tracer *t)
{
    const cuda_cupti *cupti = t->cupti;
    cuda_buffers_init(&t->buffers);
    tell_defects(t);
    t->has_system_ids = asks_system_ids(cupti);
    t->has_own_clock = cupti->ActivityRegisterTimestampCallback &&
                       !hd_cupti_has_defect(HD_CUPTI_ZERO_TIMES, cupti->version) &&
                       cupti->ActivityRegisterTimestampCallback(read_clock) == CUPTI_OK;
    /* Queries of unfinished operations are not waits. */
    if (cupti->ActivityEnableAllSyncRecords) cupti->ActivityEnableAllSyncRecords(0);
    cupti_status status = cupti->ActivityRegisterCallbacks(buffer_wanted, buffer_done);
    t->has_activity = status == CUPTI_OK; /* the tracer's thread looks at it */
    if (t->has_activity && !cuda_helper_start(t)) t->has_activity = false;
    if (!t->has_activity)
        cuda_tell(t, "cuda.not-recorded", HD_SESSION_LOSS, "CUPTI records nothing: %s. %s",
                  status == CUPTI_OK ? "the tracer's thread cannot be started" : cuda_cupti_text(cupti, status),
                  status == CUPTI_OK ? "" : cuda_cupti_advice(status));
}

/* With all that is wrong the program goes on. */
static void start_cuda(cuda_tracer *t)
{
    char why[400];
    if (!cuda_cupti_load(&the_cupti, accepts, t, why, sizeof why)) {
        cuda_tell(t, "cuda.no-cupti", HD_SESSION_LOSS, "%s No CUDA work is recorded. %s", why,
                  t->refusal != CUPTI_OK ? cuda_cupti_advice(t->refusal)
                                         : "It comes with the CUDA toolkit and with \"pip install "
                                           "nvidia-cuda-cupti-cu12\" (or nvidia-cuda-cupti for CUDA 13), of the "
                                           "driver's major version or older; HEDDLE_CUPTI=/path/to/libcupti.so names "
                                           "it.");
        cuda_describe(t);
        return;
    }
    t->cupti = &the_cupti;
    if (why[0]) cuda_tell(t, "cuda.other-cupti", HD_SESSION_NOTE, "%s", why);
    if (!t->has_callbacks) {
        /* Recording would take the other subscriber's buffers away. */
        cuda_tell(t, "cuda.other-subscriber", HD_SESSION_LOSS,
                  "The program is being profiled by another tool already (CUPTI takes one, before CUDA 13.3): no CUDA "
                  "work is recorded. End the other (nsys, ncu, PyTorch's profiler), or leave out heddle.");
        cuda_describe(t);
        return;
    }
    pthread_mutex_lock(&t->lock);
    start_activity(t);
    if (t->has_activity) {
        atomic_store(&t->state, CUDA_RUNNING);
        cuda_callbacks_start(t);
        cuda_kinds_start(t);
    }
    pthread_mutex_unlock(&t->lock);
    if (!t->has_activity) cuda_describe(t);
    /* Handlers run in reverse order: CUPTI's, registered when it was loaded, which shut it down, run after this one. */
    if (t->has_activity) atexit(end);
}

int InitializeInjection(void)
{
    cuda_tracer *t = cuda_tracer_begin();
    if (!t) return 1;
    if (atomic_load(&control_is_missing)) control_revive(); /* in a child of a process that used NVTX only */
    pthread_mutex_lock(&one_at_a_time);
    if (atomic_load(&t->state) == CUDA_OFF && !t->cupti) start_cuda(t);
    pthread_mutex_unlock(&one_at_a_time);
    return 1;
}
