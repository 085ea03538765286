/* activity_rows.c - the conversion of each kind of record
 *
 *   CONCURRENT_KERNEL   slice "kernel" on its stream            MEMCPY, MEMCPY2, MEMSET   "gpu_memcpy", "gpu_memset"
 *   RUNTIME, DRIVER     slice on its thread
 *   OVERHEAD            slice on its thread
 *   SYNCHRONIZATION     slice "cuda_sync": waits of streams on the stream, of threads on the GPU
 *   GRAPH_TRACE         slice "graph_trace" on its stream       EXTERNAL_CORRELATION      the id of the call
 *   MEMORY2             memory                                  DEVICE, CONTEXT, NAME     metadata, names of tracks
 */
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture/cuda/calls.h"
#include "capture/cuda/cupti/activity.h"
#include "capture/cuda/describe.h"

static uint32_t stream_track(cuda_activity *a, uint32_t device, uint32_t stream)
{
    return activity_track(a, HD_SESSION_TRACK_STREAM, device, stream);
}

/* ---- work of the GPU ---- */

static void kernel_row(cuda_activity *a, const cupti_kernel *k)
{
    a->counts.kernels += k->correlation != 0;
    uint64_t shared = (uint64_t)((int64_t)k->shared_static + k->shared_dynamic);
    activity_args args = {.what = CUPTI_KIND_CONCURRENT_KERNEL,
                          .device = k->device,
                          .context = k->context,
                          .stream = k->stream,
                          .words = {k->registers, (uint32_t)shared, (uint32_t)(shared >> 32), (uint32_t)k->grid[0],
                                    (uint32_t)k->grid[1], (uint32_t)k->grid[2], (uint32_t)k->block[0],
                                    (uint32_t)k->block[1], (uint32_t)k->block[2],
                                    a->cupti->version < 14 ? 0 : k->graph}};
    hd_session_record record = {.track = stream_track(a, k->device, k->stream),
                                .name = activity_name(a, k->name ? k->name : "(kernel without a name)"),
                                .category = a->categories[ACTIVITY_KERNEL],
                                .args = activity_args_id(a, &args),
                                .node = k->graph_node,
                                .correlation = k->correlation};
    activity_learn_context(a, k->context, k->device);
    activity_emit(a, &record, k->start, k->end);
}

/* Common to copies and memsets. */
static void transfer_row(cuda_activity *a, const activity_args *args, hd_session_record *record, const char *name,
                         uint64_t start, uint64_t end)
{
    record->track = stream_track(a, args->device, args->stream);
    record->name = hd_session_intern(a->session, name);
    record->args = activity_args_id(a, args);
    activity_learn_context(a, args->context, args->device);
    activity_emit(a, record, start, end);
}

static void copy_row(cuda_activity *a, const cupti_memcpy *c)
{
    char name[96];
    activity_args args = {CUPTI_KIND_MEMCPY, c->device, c->context, c->stream,
                          .words = {a->cupti->version < 14 ? 0 : c->graph}};
    hd_session_record record = {.category = a->categories[ACTIVITY_COPY],
                                .bytes = c->bytes,
                                .node = c->graph_node,
                                .correlation = c->correlation};
    cuda_name_copy(name, sizeof name, c->copy, c->from, c->to);
    transfer_row(a, &args, &record, name, c->start, c->end);
}

static void peer_copy_row(cuda_activity *a, const cupti_memcpy2 *c)
{
    char name[96];
    activity_args args = {
        CUPTI_KIND_MEMCPY2, c->device, c->context, c->stream,
        .words = {a->cupti->version < 14 ? 0 : c->graph, c->from_device, c->from_context, c->to_device, c->to_context}};
    hd_session_record record = {.category = a->categories[ACTIVITY_COPY],
                                .bytes = c->bytes,
                                .node = c->graph_node,
                                .correlation = c->correlation};
    cuda_name_copy(name, sizeof name, c->copy, c->from, c->to);
    transfer_row(a, &args, &record, name, c->start, c->end);
}

static void set_row(cuda_activity *a, const cupti_memset *s)
{
    char name[96];
    activity_args args = {CUPTI_KIND_MEMSET, s->device, s->context, s->stream,
                          .words = {a->cupti->version < 14 ? 0 : s->graph}};
    hd_session_record record = {.category = a->categories[ACTIVITY_SET],
                                .bytes = s->bytes,
                                .node = s->graph_node,
                                .correlation = s->correlation};
    cuda_name_set(name, sizeof name, s->memory);
    transfer_row(a, &args, &record, name, s->start, s->end);
}

static void graph_row(cuda_activity *a, const cupti_graph_trace *g)
{
    activity_args args = {CUPTI_KIND_GRAPH_TRACE, g->device, g->context, g->stream, .words = {g->graph}};
    hd_session_record record = {.track = stream_track(a, g->device, g->stream),
                                .name = activity_name(a, "CUDA Graph"),
                                .category = a->categories[ACTIVITY_GRAPH],
                                .args = activity_args_id(a, &args),
                                .correlation = g->correlation};
    activity_learn_context(a, g->context, g->device);
    activity_emit(a, &record, g->start, g->end);
}

/* ---- threads of the program ---- */

/* "cudaLaunchKernel_v7000", "cuLaunchKernel_ptsz": without the version suffix. */
static void strip(char *out, size_t capacity, const char *name)
{
    snprintf(out, capacity, "%s", name);
    for (;;) {
        char *bar = strrchr(out, '_');
        bool is_version = bar && bar[1] == 'v' && bar[2] && strspn(bar + 2, "0123456789") == strlen(bar + 2);
        bool is_variant = bar && (strcmp(bar, "_ptsz") == 0 || strcmp(bar, "_ptds") == 0);
        if (!is_version && !is_variant) return;
        *bar = 0;
    }
}

static uint32_t call_name(cuda_activity *a, uint32_t domain, uint32_t number)
{
    const cuda_call *call = cuda_call_find(domain, number);
    const char *name = call ? call->name : NULL;
    char text[256];
    if (number < ACTIVITY_CALLS && a->call_names[domain == CUPTI_DOMAIN_RUNTIME][number])
        return a->call_names[domain == CUPTI_DOMAIN_RUNTIME][number];
    if (!name && a->cupti->GetCallbackName && a->cupti->GetCallbackName(domain, number, &name) != CUPTI_OK) name = NULL;
    if (name)
        strip(text, sizeof text, name);
    else
        snprintf(text, sizeof text, "%s call %u", domain == CUPTI_DOMAIN_RUNTIME ? "runtime" : "driver", number);
    uint32_t id = hd_session_intern(a->session, text);
    if (number < ACTIVITY_CALLS) a->call_names[domain == CUPTI_DOMAIN_RUNTIME][number] = id;
    return id;
}

/* A thread with an unknown id still has a track of its own. */
static uint32_t thread_track(cuda_activity *a, uint32_t thread)
{
    if (!a->tracer->has_system_ids) {
        uint32_t id = cuda_thread_id(thread);
        a->counts.threadless += id == 0;
        if (id) thread = id;
    }
    return activity_track(a, HD_SESSION_TRACK_THREAD, 0, thread);
}

static void call_row(cuda_activity *a, const cupti_api *c)
{
    uint32_t domain = c->kind == CUPTI_KIND_RUNTIME ? CUPTI_DOMAIN_RUNTIME : CUPTI_DOMAIN_DRIVER;
    activity_args args = {.what = c->kind, .words = {c->call, c->result}};
    const cuda_call *call = cuda_call_find(domain, c->call);
    a->counts.calls++;
    if (!call) {
        a->counts.filtered++;
        return;
    }
    hd_session_record record = {.track = thread_track(a, c->thread),
                                .name = call_name(a, domain, c->call),
                                .category =
                                    a->categories[domain == CUPTI_DOMAIN_RUNTIME ? ACTIVITY_RUNTIME : ACTIVITY_DRIVER],
                                .args = activity_args_id(a, &args),
                                .correlation = c->correlation};
    activity_emit(a, &record, c->start, c->end);
}

static void sync_row(cuda_activity *a, const cupti_sync *s)
{
    uint32_t device = activity_device_of(a, s->context);
    activity_args args = {CUPTI_KIND_SYNCHRONIZATION, device, s->context, s->stream, .words = {s->event}};
    bool is_of_stream = s->type == CUPTI_SYNC_STREAM_WAIT && s->stream != CUPTI_NONE;
    hd_session_record record = {.track = is_of_stream ? stream_track(a, device, s->stream)
                                                      : activity_track(a, HD_SESSION_TRACK_DEVICE, device, 0),
                                .name = activity_name(a, cuda_name_wait(s->type)),
                                .category = a->categories[ACTIVITY_SYNC],
                                .args = activity_args_id(a, &args),
                                .correlation = s->correlation};
    activity_emit(a, &record, s->start, s->end);
}

static void overhead_row(cuda_activity *a, const cupti_overhead *o)
{
    bool is_of_thread = o->object_kind == CUPTI_OBJECT_THREAD;
    hd_session_record record = {.track = is_of_thread ? thread_track(a, o->object.cpu.thread)
                                                      : activity_track(a, HD_SESSION_TRACK_PROCESS, 0, 0),
                                .name = activity_name(a, cuda_name_overhead(o->overhead)),
                                .category = a->categories[ACTIVITY_OVERHEAD]};
    activity_emit(a, &record, o->start, o->end);
}

/* ---- facts ---- */

static void external_fact(cuda_activity *a, const cupti_external *e)
{
    a->counts.facts++;
    if (!e->correlation || !e->id) return;
    activity_push(a, &(hd_session_record){
                         .kind = HD_SESSION_CALL, .time_ns = a->now_ns, .correlation = e->correlation, .value = e->id});
}

static void memory_row(cuda_activity *a, const cupti_memory2 *m)
{
    bool on_host = m->memory == CUPTI_MEMORY_PAGEABLE || m->memory == CUPTI_MEMORY_PINNED || m->device == CUPTI_NONE;
    cuda_memory memory = {.is_release = m->operation == CUPTI_MEMORY_RELEASED,
                          .device = on_host ? HD_SESSION_HOST : m->device,
                          .kind = m->memory,
                          .category = activity_name(a, cuda_name_memory(m->memory)),
                          .address = m->address,
                          .bytes = m->bytes,
                          .time_ns = activity_time(a, m->time),
                          .correlation = m->correlation};
    if (!memory.time_ns) {
        memory.time_ns = a->last_ns ? a->last_ns : a->now_ns;
        a->counts.bad_times++;
    }
    cuda_window_memory(a->tracer, &memory);
    if (!cuda_capture_has(a->tracer, memory.time_ns)) {
        a->counts.facts++;
        return;
    }
    a->counts.shown++;
    activity_push(a, &(hd_session_record){.kind = memory.is_release ? HD_SESSION_RELEASE : HD_SESSION_ALLOCATE,
                                          .time_ns = memory.time_ns,
                                          .value = memory.address,
                                          .bytes = memory.bytes,
                                          .category = memory.category,
                                          .device = memory.device,
                                          .correlation = memory.correlation});
}

/* A name that the program gave may be gone by now: read as from another process. */
static bool read_text(char *out, size_t capacity, const char *text)
{
    size_t done = 0;
    while (text && done < capacity - 1) {
        uintptr_t at = (uintptr_t)text + done;
        size_t piece = 4096 - at % 4096; /* a page at a time: the next may not be there */
        if (piece > capacity - 1 - done) piece = capacity - 1 - done;
        struct iovec to = {out + done, piece}, from = {(void *)at, piece};
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)piece) return false;
        if (memchr(out + done, 0, piece)) return true;
        done += piece;
    }
    out[done] = 0;
    return done > 0;
}

static void name_fact(cuda_activity *a, const cupti_name *n)
{
    char text[256];
    hd_session_track_info info = {.name = text};
    a->counts.facts++;
    if (!read_text(text, sizeof text, n->name)) return;
    if (n->object_kind == CUPTI_OBJECT_THREAD) {
        info.kind = HD_SESSION_TRACK_THREAD;
        info.number = n->object.cpu.thread;
    } else if (n->object_kind == CUPTI_OBJECT_STREAM) {
        info.kind = HD_SESSION_TRACK_STREAM;
        info.device = n->object.gpu.device;
        info.number = n->object.gpu.stream;
    } else {
        return;
    }
    hd_session_track(a->session, &info);
}

static void context_fact(cuda_activity *a, const cupti_context *c)
{
    a->counts.facts++;
    activity_learn_context(a, c->context, c->device);
    if (c->api == CUPTI_CONTEXT_OF_MPS && !a->has_told_mps)
        cuda_tell(a->tracer, "cuda.mps", HD_SESSION_NOTE,
                  "The process shares the GPU with others by MPS: the trace has its own work only, and the GPU may be "
                  "busy with theirs. Record all of them, or end MPS (echo quit | nvidia-cuda-mps-control).");
    a->has_told_mps |= c->api == CUPTI_CONTEXT_OF_MPS;
}

/* ---- all ---- */

/* Bytes of a record that are read above; every version has them, except the number of the graph. */
size_t activity_row_bytes(uint32_t kind, uint32_t version)
{
    size_t graph = version < 14 ? 0 : sizeof(uint32_t);
    switch (kind) {
    case CUPTI_KIND_CONCURRENT_KERNEL: return offsetof(cupti_kernel, access_policy);
    case CUPTI_KIND_MEMCPY: return offsetof(cupti_memcpy, graph) + graph;
    case CUPTI_KIND_MEMCPY2: return offsetof(cupti_memcpy2, graph) + graph;
    case CUPTI_KIND_MEMSET: return offsetof(cupti_memset, graph) + graph;
    case CUPTI_KIND_RUNTIME:
    case CUPTI_KIND_DRIVER: return sizeof(cupti_api);
    case CUPTI_KIND_SYNCHRONIZATION: return offsetof(cupti_sync, event_sync);
    case CUPTI_KIND_OVERHEAD: return offsetof(cupti_overhead, correlation);
    case CUPTI_KIND_EXTERNAL_CORRELATION: return sizeof(cupti_external);
    case CUPTI_KIND_DEVICE: return version < 17 ? offsetof(cupti_device, gpu_instance) : sizeof(cupti_device);
    case CUPTI_KIND_CONTEXT: return sizeof(cupti_context);
    case CUPTI_KIND_STREAM: return sizeof(cupti_stream);
    case CUPTI_KIND_NAME: return sizeof(cupti_name);
    case CUPTI_KIND_MEMORY2: return offsetof(cupti_memory2, pool_used);
    case CUPTI_KIND_GRAPH_TRACE: return sizeof(cupti_graph_trace);
    default: return 0;
    }
}

bool activity_row(cuda_activity *a, const cupti_record *record)
{
    switch (record->kind) {
    case CUPTI_KIND_CONCURRENT_KERNEL: kernel_row(a, (const cupti_kernel *)record); return true;
    case CUPTI_KIND_MEMCPY: copy_row(a, (const cupti_memcpy *)record); return true;
    case CUPTI_KIND_MEMCPY2: peer_copy_row(a, (const cupti_memcpy2 *)record); return true;
    case CUPTI_KIND_MEMSET: set_row(a, (const cupti_memset *)record); return true;
    case CUPTI_KIND_RUNTIME:
    case CUPTI_KIND_DRIVER: call_row(a, (const cupti_api *)record); return true;
    case CUPTI_KIND_SYNCHRONIZATION: sync_row(a, (const cupti_sync *)record); return true;
    case CUPTI_KIND_OVERHEAD: overhead_row(a, (const cupti_overhead *)record); return true;
    case CUPTI_KIND_GRAPH_TRACE: graph_row(a, (const cupti_graph_trace *)record); return true;
    case CUPTI_KIND_MEMORY2: memory_row(a, (const cupti_memory2 *)record); return true;
    case CUPTI_KIND_EXTERNAL_CORRELATION: external_fact(a, (const cupti_external *)record); return true;
    case CUPTI_KIND_NAME: name_fact(a, (const cupti_name *)record); return true;
    case CUPTI_KIND_CONTEXT: context_fact(a, (const cupti_context *)record); return true;
    case CUPTI_KIND_DEVICE:
        a->counts.facts++;
        cuda_describe_device(a, (const cupti_device *)record);
        return true;
    case CUPTI_KIND_STREAM:
        a->counts.facts++;
        cuda_describe_stream(a, (const cupti_stream *)record);
        return true;
    default: return false;
    }
}
