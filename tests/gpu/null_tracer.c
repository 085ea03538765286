/* null_tracer.c - a tracer that asks CUPTI for what heddle's asks for, and does nothing with it: what CUPTI costs by
 * itself
 *
 * Of $HEDDLE_CUPTI, else of what the loader finds; $NULL_TRACER_KINDS are other kinds of records, "10,5", and no
 * callbacks: what each of them costs. For run.py on a GPU, and for bench/measure_inject.py, which takes
 * the test double's own cost off with it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/cuda/cupti/abi.h"

enum { BUFFERS = 64, BYTES = 1 << 20 };

int InitializeInjection(void);

static struct {
    pthread_mutex_t lock;
    uint8_t *free[BUFFERS];
    unsigned count;
    cupti_fn_ActivityFlushAll flush;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void wanted(uint8_t **buffer, size_t *size, size_t *records)
{
    pthread_mutex_lock(&pool.lock);
    *buffer = pool.count ? pool.free[--pool.count] : NULL;
    pthread_mutex_unlock(&pool.lock);
    *size = *buffer ? BYTES : 0;
    *records = 0;
}

static void done(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    pthread_mutex_lock(&pool.lock);
    pool.free[pool.count++] = buffer;
    pthread_mutex_unlock(&pool.lock);
}

static void called(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}

static void *ask(void *unused)
{
    for (;;) {
        usleep(50000);
        pool.flush(CUPTI_FLUSH_COMPLETED);
    }
    return unused;
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
    const char *named = getenv("HEDDLE_CUPTI");
    void *library = dlopen(named && *named ? named : "libcupti.so.13", RTLD_NOW);
    if (!library) library = dlopen("libcupti.so.12", RTLD_NOW);
    if (!library) return 0;
#define FIND(name) cupti_fn_##name name = (cupti_fn_##name)(uintptr_t)dlsym(library, "cupti" #name)
    FIND(Subscribe);
    FIND(EnableCallback);
    FIND(ActivityRegisterCallbacks);
    FIND(ActivityEnable);
    FIND(ActivityFlushAll);
    if (!Subscribe || !EnableCallback || !ActivityRegisterCallbacks || !ActivityEnable || !ActivityFlushAll) return 0;
    for (unsigned i = 0; i < BUFFERS; i++) pool.free[pool.count++] = malloc(BYTES);
    pool.flush = ActivityFlushAll;
    cupti_subscriber subscriber;
    if (Subscribe(&subscriber, called, NULL) != CUPTI_OK) return 0;
    ActivityRegisterCallbacks(wanted, done);
    const char *kinds = getenv("NULL_TRACER_KINDS");
    if (!kinds) {
        EnableCallback(1, subscriber, CUPTI_DOMAIN_RUNTIME, 211);
        EnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, 307);
        ActivityEnable(CUPTI_KIND_CONCURRENT_KERNEL);
        ActivityEnable(CUPTI_KIND_RUNTIME);
        ActivityEnable(CUPTI_KIND_DRIVER);
    }
    for (char *end; kinds && *kinds; kinds = *end ? end + 1 : end) ActivityEnable((uint32_t)strtoul(kinds, &end, 10));
    pthread_t thread;
    pthread_create(&thread, NULL, ask, NULL);
    return 1;
}
