/* stub_tracer.c - a stand-in for the CUDA tracer, for tests of NVTX and windows by themselves
 *
 * The session and the options as inject.c has them, and no CUPTI. Linked with the real nvtx*.c, window*.c and control.c
 * into a library that programs load as they load libheddle-cuda.so. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/cuda/cuda_impl.h"
#include "capture/stub_tracer.h"

cuda_tracer cuda_the_tracer = {.lock = PTHREAD_MUTEX_INITIALIZER};
unsigned stub_switches;

void cuda_capture_set(cuda_tracer *tracer, bool is_open)
{
    stub_switches++;
    atomic_store(&tracer->is_open, is_open);
}

void cuda_flush_soon(cuda_tracer *tracer)
{
    (void)tracer;
}

void cuda_describe_window(cuda_tracer *tracer, const char *json)
{
    hd_session_metadata(tracer->session, "window", json);
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
    atomic_store(&tracer->is_open, !o->trigger && !o->has_steps && !o->delay_ms);
    cuda_window_start(tracer);
}

void stub_end(void)
{
    if (!cuda_the_tracer.session) return;
    cuda_window_end(&cuda_the_tracer);
    hd_session_stop(cuda_the_tracer.session, NULL, NULL);
}

static void begin_once(void)
{
    char path[4096];
    const char *folder = getenv("HEDDLE_CAPTURE_DIR");
    if (!folder) return;
    snprintf(path, sizeof path, "%s/stub-%d.hdcap", folder, (int)getpid());
    stub_begin(path, getenv("HEDDLE_CAPTURE_OPTIONS"));
    atexit(stub_end);
}

cuda_tracer *cuda_tracer_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_once);
    return cuda_the_tracer.session ? &cuda_the_tracer : NULL;
}
