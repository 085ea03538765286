/* double_driver.c - TEST DOUBLE: libcuda.so.1: contexts, streams, launches, waits */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "double_cuda.h"

enum { STREAMS = 1024 };

static struct {
    pthread_mutex_t lock;
    atomic_int pid; /* of cuInit; 0: not initialised */
    _Atomic(const double_hooks *) hooks;
    double_context *primary[DOUBLE_DEVICES];
    uint32_t contexts, streams;
    double_stream *all[STREAMS];
    uint32_t all_count;
} gpu = {.lock = PTHREAD_MUTEX_INITIALIZER, .streams = 13};

static _Thread_local double_call *innermost;
static _Thread_local double_context *current;

void double_set_hooks(const double_hooks *hooks)
{
    atomic_store(&gpu.hooks, hooks);
}

const double_hooks *double_get_hooks(void)
{
    int pid = atomic_load(&gpu.pid);
    return pid && pid != getpid() ? NULL : atomic_load(&gpu.hooks);
}

/* ---- calls ---- */

int double_begin(double_call *call)
{
    int pid = atomic_load(&gpu.pid);
    if (pid != getpid()) return DOUBLE_NOT_INITIALIZED; /* also a child of fork: CUDA cannot be used there */
    const double_hooks *hooks = double_get_hooks();
    call->outer = innermost;
    innermost = call;
    if (hooks) hooks->enter(call);
    return 0;
}

int double_end(double_call *call, int result)
{
    const double_hooks *hooks = double_get_hooks();
    call->result = result;
    if (hooks) hooks->leave(call);
    innermost = call->outer;
    return result;
}

void double_emit(const double_record *record)
{
    const double_hooks *hooks = double_get_hooks();
    if (hooks) hooks->record(record);
}

/* ---- starting ---- */

static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (!path) return;
    void *library = dlopen(path, RTLD_NOW);
    cuda_injection start;
    if (library) *(void **)&start = dlsym(library, "InitializeInjection");
    double_truth("{\"what\": \"injection\", \"pid\": %d, \"loaded\": %s}", getpid(), library ? "true" : "false");
    if (library && start) start();
}

bool double_is_in_use(void)
{
    return atomic_load(&gpu.pid) != 0;
}

int cuInit(unsigned flags)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    (void)flags;
    if (atomic_load(&gpu.pid)) return atomic_load(&gpu.pid) == getpid() ? 0 : DOUBLE_NOT_INITIALIZED;
    pthread_mutex_lock(&once);
    if (!atomic_load(&gpu.pid)) {
        double_script_get();
        inject();
        atomic_store(&gpu.pid, getpid());
        const double_hooks *hooks = double_get_hooks();
        if (hooks) hooks->resource(CUPTI_RESOURCE_INIT_FINISHED, NULL, NULL, NULL);
    }
    pthread_mutex_unlock(&once);
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = (int)double_script_get()->devices;
    return 0;
}

/* ---- contexts and streams ---- */

static double_stream *new_stream(double_context *context, uint32_t id, uint32_t flags, uint32_t correlation)
{
    double_stream *stream = calloc(1, sizeof *stream);
    *stream = (double_stream){id, context, 0, NULL};
    pthread_mutex_lock(&gpu.lock);
    if (gpu.all_count == STREAMS) double_misuse("too many streams");
    gpu.all[gpu.all_count++] = stream;
    pthread_mutex_unlock(&gpu.lock);
    double_record record = {
        .as.stream = {CUPTI_KIND_STREAM, context->id, id, flags == 2 ? (uint32_t)-5 : 0, flags, correlation}};
    double_emit(&record);
    const double_hooks *hooks = double_get_hooks();
    if (hooks) hooks->resource(CUPTI_RESOURCE_STREAM_CREATED, context, stream, NULL);
    return stream;
}

static void describe_device(uint32_t device)
{
    double_record record = {.as.device = {.kind = CUPTI_KIND_DEVICE,
                                          .memory = UINT64_C(80) << 30,
                                          .multiprocessors = 132,
                                          .warp_threads = 32,
                                          .capability_major = 9,
                                          .id = device,
                                          .uuid = {0xfa, 0x4e, (uint8_t)device},
                                          .name = "Fake GPU (test double)",
                                          .visible = 1,
                                          .mig = double_script_get()->mig,
                                          .gpu_instance = 7 + device},
                            .name = "Fake GPU (test double)"};
    double_emit(&record);
}

static double_context *new_context(uint32_t device, uint32_t correlation)
{
    double_context *context = calloc(1, sizeof *context);
    pthread_mutex_lock(&gpu.lock);
    *context = (double_context){++gpu.contexts, device, NULL};
    pthread_mutex_unlock(&gpu.lock);
    describe_device(device);
    double_record record = {
        .as.context = {CUPTI_KIND_CONTEXT, context->id, device, double_script_get()->mps ? 2 : 1, 7}};
    double_emit(&record);
    const double_hooks *hooks = double_get_hooks();
    if (hooks) hooks->resource(CUPTI_RESOURCE_CONTEXT_CREATED, context, NULL, NULL);
    context->null_stream = new_stream(context, 7, 3, correlation);
    return context;
}

int cuDevicePrimaryCtxRetain(double_context **out, int device)
{
    DOUBLE_CALL(386, "cuDevicePrimaryCtxRetain");
    if (device < 0 || device >= (int)double_script_get()->devices) return double_end(&call, DOUBLE_INVALID_VALUE);
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!gpu.primary[device]) gpu.primary[device] = new_context((uint32_t)device, call.correlation);
    *out = gpu.primary[device];
    pthread_mutex_unlock(&lock);
    return double_end(&call, 0);
}

int cuCtxSetCurrent(double_context *context)
{
    current = context;
    return 0;
}

double_context *double_current_context(void)
{
    return current;
}

double_stream *double_stream_of(void *handle)
{
    return handle ? handle : current->null_stream;
}

/* The next cuDevicePrimaryCtxRetain makes a new one; what used the old one is no more. */
int cuDevicePrimaryCtxReset_v2(int device)
{
    DOUBLE_CALL(545, "cuDevicePrimaryCtxReset_v2");
    if (gpu.primary[device] == current) current = NULL;
    gpu.primary[device] = NULL;
    return double_end(&call, 0);
}

int cuStreamCreate(double_stream **out, unsigned flags)
{
    DOUBLE_CALL(124, "cuStreamCreate");
    pthread_mutex_lock(&gpu.lock);
    uint32_t id = gpu.streams++;
    pthread_mutex_unlock(&gpu.lock);
    *out = new_stream(current, id, flags ? 2 : 1, call.correlation);
    return double_end(&call, 0);
}

/* ---- work ---- */

double_span double_occupy(double_stream *stream, uint64_t ns)
{
    pthread_mutex_lock(&gpu.lock);
    uint64_t start = double_now() + double_script_get()->latency_ns;
    if (start < stream->free_ns) start = stream->free_ns;
    stream->free_ns = start + ns;
    pthread_mutex_unlock(&gpu.lock);
    return (double_span){start, start + ns};
}

enum { SELF_NS = 800 /* a kernel takes that much longer than it turns */ };

typedef struct stamp {
    uint64_t address;
    double_span span;
} stamp;

static stamp *stamps;
static size_t stamp_count;

static void write_stamp(uint64_t address, double_span span)
{
    pthread_mutex_lock(&gpu.lock);
    stamps = realloc(stamps, (stamp_count + 1) * sizeof *stamps);
    stamps[stamp_count++] = (stamp){address, span};
    pthread_mutex_unlock(&gpu.lock);
}

void double_read_stamps(void *to, uint64_t from, size_t bytes)
{
    for (size_t i = 0; i < stamp_count; i++) {
        uint64_t at = stamps[i].address - from;
        if (stamps[i].address >= from && at + sizeof(double_span) <= bytes)
            memcpy((char *)to + at, &stamps[i].span, sizeof(double_span));
    }
}

/* heddle_spin turns for nothing until what it is behind has run so long, as far as that began. */
static uint64_t held_ns(const double_kernel *kernel, double_stream *stream, uint64_t start)
{
    uint64_t held = 0;
    pthread_mutex_lock(&gpu.lock);
    for (size_t i = stamp_count; kernel->behind && i-- > 0;) {
        if (stamps[i].address != kernel->behind) continue;
        uint64_t due = stamps[i].span.start_ns + kernel->later;
        held = due <= start ? 0 : due - start < kernel->later ? due - start : kernel->later;
        break;
    }
    stream->free_ns += held;
    pthread_mutex_unlock(&gpu.lock);
    return held;
}

void double_run_kernel(double_stream *stream, const double_kernel *kernel, uint32_t correlation, uint64_t node,
                       uint32_t graph)
{
    double_span span = double_occupy(stream, kernel->ns ? kernel->ns : double_script_get()->kernel_ns);
    uint64_t held = held_ns(kernel, stream, span.start_ns);
    span.end_ns += held;
    if (kernel->stamps) write_stamp(kernel->stamps, (double_span){span.start_ns + held, span.end_ns - SELF_NS});
    double_record record = {.as.kernel = {.kind = CUPTI_KIND_CONCURRENT_KERNEL,
                                          .registers = 32,
                                          .start = span.start_ns,
                                          .end = span.end_ns,
                                          .completed = span.end_ns,
                                          .device = stream->context->device,
                                          .context = stream->context->id,
                                          .stream = stream->id,
                                          .shared_dynamic = (int32_t)kernel->shared_bytes,
                                          .correlation = correlation,
                                          .name = kernel->name,
                                          .graph_node = node,
                                          .graph = graph},
                            .ready_ns = span.end_ns,
                            .name = kernel->name};
    for (int i = 0; i < 3; i++) {
        record.as.kernel.grid[i] = (int32_t)kernel->grid[i];
        record.as.kernel.block[i] = (int32_t)kernel->block[i];
    }
    double_emit(&record);
}

static void emit_set(double_stream *stream, const double_copy *set, uint32_t correlation, uint64_t node, uint32_t graph)
{
    double_span span = double_occupy(stream, double_script_get()->copy_ns);
    double_record record = {.as.set = {.kind = CUPTI_KIND_MEMSET,
                                       .value = set->value,
                                       .bytes = set->bytes,
                                       .start = span.start_ns,
                                       .end = span.end_ns,
                                       .device = stream->context->device,
                                       .context = stream->context->id,
                                       .stream = stream->id,
                                       .correlation = correlation,
                                       .flags = CUPTI_ASYNC,
                                       .memory = CUPTI_MEMORY_DEVICE,
                                       .graph_node = node,
                                       .graph = graph},
                            .ready_ns = span.end_ns,
                            .name = "set"};
    double_emit(&record);
}

static void emit_copy(double_stream *stream, const double_copy *copy, uint32_t correlation, uint64_t node,
                      uint32_t graph)
{
    double_span span = double_occupy(stream, double_script_get()->copy_ns + copy->bytes / 16);
    double_record record = {.as.copy = {.kind = CUPTI_KIND_MEMCPY,
                                        .copy = copy->copy,
                                        .from = copy->from,
                                        .to = copy->to,
                                        .flags = copy->is_async ? CUPTI_ASYNC : 0,
                                        .bytes = copy->bytes,
                                        .start = span.start_ns,
                                        .end = span.end_ns,
                                        .device = stream->context->device,
                                        .context = stream->context->id,
                                        .stream = stream->id,
                                        .correlation = correlation,
                                        .graph_node = node,
                                        .graph = graph,
                                        .copies = 1},
                            .ready_ns = span.end_ns,
                            .name = "copy"};
    double_emit(&record);
}

void double_run_copy(double_stream *stream, const double_copy *copy, uint32_t correlation, uint64_t node,
                     uint32_t graph)
{
    if (stream->captured)
        double_graph_add_copy(stream->captured, copy);
    else if (copy->copy)
        emit_copy(stream, copy, correlation, node, graph);
    else
        emit_set(stream, copy, correlation, node, graph);
}

int cuModuleGetFunction(double_function **out, void *module, const char *name)
{
    double_function *function = calloc(1, sizeof *function);
    (void)module;
    snprintf(function->name, sizeof function->name, "%s", name);
    *out = function;
    return 0;
}

int cuLaunchKernel(double_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
                   void **extra)
{
    (void)extra;
    double_call call = {
        .domain = CUPTI_DOMAIN_DRIVER, .id = 307, .function = "cuLaunchKernel", .symbol = function->name};
    int failed = double_begin(&call);
    if (failed) return failed;
    double_kernel kernel = {function->name, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, 0, 0};
    if (strcmp(function->name, "heddle_spin") == 0) {
        memcpy(&kernel.stamps, arguments[0], sizeof kernel.stamps);
        memcpy(&kernel.ns, arguments[1], sizeof kernel.ns);
        memcpy(&kernel.behind, arguments[2], sizeof kernel.behind);
        memcpy(&kernel.later, arguments[3], sizeof kernel.later);
        kernel.ns += SELF_NS;
    }
    if (double_stream_of(stream)->captured)
        double_graph_add(double_stream_of(stream)->captured, &kernel);
    else
        double_run_kernel(double_stream_of(stream), &kernel, call.correlation, 0, 0);
    return double_end(&call, 0);
}

void double_wait_until(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {}
}

void double_end_capture(const double_graph *graph)
{
    pthread_mutex_lock(&gpu.lock);
    for (uint32_t i = 0; i < gpu.all_count; i++)
        if (gpu.all[i]->captured == graph) gpu.all[i]->captured = NULL;
    pthread_mutex_unlock(&gpu.lock);
}

/* ---- waiting ---- */

static void emit_sync(uint32_t type, double_stream *stream, uint64_t start_ns, uint32_t correlation)
{
    double_record record = {.as.sync = {.kind = CUPTI_KIND_SYNCHRONIZATION,
                                        .type = type,
                                        .start = start_ns,
                                        .end = double_now(),
                                        .correlation = correlation,
                                        .context = current->id,
                                        .stream = stream ? stream->id : CUPTI_NONE,
                                        .event = CUPTI_NONE},
                            .name = "sync"};
    double_emit(&record);
}

int cuStreamSynchronize(void *handle)
{
    DOUBLE_CALL(126, "cuStreamSynchronize");
    double_stream *stream = double_stream_of(handle);
    uint64_t start = double_now();
    double_wait_until(stream->free_ns);
    emit_sync(CUPTI_SYNC_STREAM, stream, start, call.correlation);
    const double_hooks *hooks = double_get_hooks();
    if (hooks) hooks->synchronized(1, stream->context, stream);
    return double_end(&call, 0);
}

int cuCtxSynchronize(void)
{
    DOUBLE_CALL(17, "cuCtxSynchronize");
    uint64_t start = double_now(), last = 0;
    pthread_mutex_lock(&gpu.lock);
    for (uint32_t i = 0; i < gpu.all_count; i++)
        if (gpu.all[i]->context == current && gpu.all[i]->free_ns > last) last = gpu.all[i]->free_ns;
    pthread_mutex_unlock(&gpu.lock);
    if (last > start) double_wait_until(last);
    emit_sync(CUPTI_SYNC_CONTEXT, NULL, start, call.correlation);
    const double_hooks *hooks = double_get_hooks();
    if (hooks) hooks->synchronized(2, current, NULL);
    return double_end(&call, 0);
}
