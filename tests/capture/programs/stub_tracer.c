/* stub_tracer.c - a stand-in for the CUDA tracer, for tests of NVTX and windows by themselves
 *
 * The session and the options as inject.c has them, and no CUPTI. */
#include "capture/programs/stub_tracer.h"
#include "capture/cuda/impl.h"

cuda_tracer cuda_the_tracer = {.lock = PTHREAD_MUTEX_INITIALIZER};
unsigned stub_switches;

void cuda_capture_set(cuda_tracer *tracer, bool is_open)
{
    stub_switches++;
    atomic_store(is_open ? &tracer->opened_ns : &tracer->closed_ns, hd_session_now());
    atomic_store(&tracer->is_open, is_open);
}

bool cuda_capture_has(cuda_tracer *tracer, int64_t time_ns)
{
    int64_t opened = atomic_load(&tracer->opened_ns), closed = atomic_load(&tracer->closed_ns);
    return opened && time_ns >= opened && (atomic_load(&tracer->is_open) || time_ns <= closed);
}

cuda_tracer *cuda_tracer_begin(void)
{
    return cuda_the_tracer.session ? &cuda_the_tracer : NULL;
}

void cuda_flush_soon(cuda_tracer *tracer)
{
    (void)tracer;
}

void cuda_describe_window(cuda_tracer *tracer, const char *json)
{
    hd_session_metadata(tracer->session, "window", json);
}

void cuda_describe_costs(cuda_tracer *tracer, int64_t now_ns)
{
    (void)tracer, (void)now_ns;
}

void stub_begin(const char *path, const char *options)
{
    cuda_tracer *tracer = &cuda_the_tracer;
    hd_session_options how = {.fork = HD_SESSION_FORK_FILE};
    cuda_options_parse(&tracer->options, options);
    how.policy = tracer->options.policy;
    if (hd_session_start(&tracer->session, path, &how, NULL) != HD_OK) return;
    tracer->start_ns = hd_session_now();
    const cuda_options *o = &tracer->options;
    bool is_open = !o->trigger && !o->has_steps && !o->delay_ms;
    if (is_open) atomic_store(&tracer->opened_ns, tracer->start_ns);
    atomic_store(&tracer->is_open, is_open);
    cuda_window_start(tracer);
}

void stub_end(void)
{
    if (!cuda_the_tracer.session) return;
    cuda_window_end(&cuda_the_tracer);
    cuda_window_settle(&cuda_the_tracer);
    hd_session_stop(NULL, cuda_the_tracer.session, NULL);
}
