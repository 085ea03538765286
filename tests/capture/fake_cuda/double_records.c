/* double_records.c - TEST DOUBLE: libcupti.so.13: what a record is: its length, its times, and the truth about it */
#include <string.h>
#include <unistd.h>

#include "double_cupti.h"

size_t double_record_length(uint32_t kind)
{
    uint32_t version = double_script_get()->version;
    if (kind == DOUBLE_UNKNOWN_KIND) return DOUBLE_UNKNOWN_BYTES;
    size_t known = cupti_record_bytes(kind, version);
    if (version < 130000) return known;
    /* What is behind the fields that the tracer knows. */
    return known + (kind == CUPTI_KIND_DEVICE || kind == CUPTI_KIND_GRAPH_TRACE || kind == CUPTI_KIND_OVERHEAD ? 8
                    : kind == CUPTI_KIND_CONTEXT                                                               ? 16
                                                                                                               : 0);
}

/* ---- times ---- */

bool double_has_gpu_times(uint32_t kind)
{
    return kind == CUPTI_KIND_CONCURRENT_KERNEL || kind == CUPTI_KIND_MEMCPY || kind == CUPTI_KIND_MEMCPY2 ||
           kind == CUPTI_KIND_MEMSET || kind == CUPTI_KIND_GRAPH_TRACE;
}

/* Where the times of a record are; false: it has none. *is_one: a moment. */
static bool times_of(double_record *r, void **start, void **end)
{
    switch (r->as.kind) {
    case CUPTI_KIND_DRIVER:
    case CUPTI_KIND_RUNTIME: *start = &r->as.api.start, *end = &r->as.api.end; return true;
    case CUPTI_KIND_CONCURRENT_KERNEL: *start = &r->as.kernel.start, *end = &r->as.kernel.end; return true;
    case CUPTI_KIND_MEMCPY: *start = &r->as.copy.start, *end = &r->as.copy.end; return true;
    case CUPTI_KIND_MEMCPY2: *start = &r->as.peer.start, *end = &r->as.peer.end; return true;
    case CUPTI_KIND_MEMSET: *start = &r->as.set.start, *end = &r->as.set.end; return true;
    case CUPTI_KIND_SYNCHRONIZATION: *start = &r->as.sync.start, *end = &r->as.sync.end; return true;
    case CUPTI_KIND_OVERHEAD: *start = &r->as.overhead.start, *end = &r->as.overhead.end; return true;
    case CUPTI_KIND_GRAPH_TRACE: *start = &r->as.graph.start, *end = &r->as.graph.end; return true;
    case CUPTI_KIND_MEMORY2: *start = *end = &r->as.memory.time; return true;
    }
    return false;
}

const char *double_set_times(double_record *r, bool is_complete, bool is_bad)
{
    const double_script *s = double_script_get();
    void *start_at, *end_at;
    if (!times_of(r, &start_at, &end_at)) return "delivered";
    uint64_t start, end;
    memcpy(&start, start_at, 8);
    memcpy(&end, end_at, 8);
    start = double_clock(start);
    end = is_complete ? double_clock(end) : 0;
    if (is_bad && s->bad == DOUBLE_ZERO) start = end = 0;
    if (is_bad && s->bad == DOUBLE_REVERSED_TIMES) {
        uint64_t t = start;
        start = end;
        end = t;
    }
    memcpy(start_at, &start, 8);
    memcpy(end_at, &end, 8);
    return is_bad ? "bad-times" : is_complete ? "delivered" : "incomplete";
}

/* ---- the truth ---- */

static const char *kind_name(uint32_t kind)
{
    switch (kind) {
    case CUPTI_KIND_DRIVER: return "driver";
    case CUPTI_KIND_RUNTIME: return "runtime";
    case CUPTI_KIND_CONCURRENT_KERNEL: return "kernel";
    case CUPTI_KIND_MEMCPY: return "memcpy";
    case CUPTI_KIND_MEMCPY2: return "memcpy2";
    case CUPTI_KIND_MEMSET: return "memset";
    case CUPTI_KIND_SYNCHRONIZATION: return "sync";
    case CUPTI_KIND_OVERHEAD: return "overhead";
    case CUPTI_KIND_EXTERNAL_CORRELATION: return "external";
    case CUPTI_KIND_MEMORY2: return "memory";
    case CUPTI_KIND_GRAPH_TRACE: return "graph";
    case CUPTI_KIND_DEVICE: return "device";
    case CUPTI_KIND_CONTEXT: return "context";
    case CUPTI_KIND_STREAM: return "stream";
    }
    return "other";
}

/* What is in all records that tell of the same, in the words of the truth. */
typedef struct facts {
    uint64_t start_ns, end_ns, bytes, node, value;
    uint32_t device, context, stream, correlation, thread, graph, detail;
} facts;

static facts facts_of(const double_record *r)
{
    switch (r->as.kind) {
    case CUPTI_KIND_DRIVER:
    case CUPTI_KIND_RUNTIME:
        return (facts){.start_ns = r->as.api.start,
                       .end_ns = r->as.api.end,
                       .correlation = r->as.api.correlation,
                       .thread = r->as.api.thread,
                       .detail = r->as.api.call};
    case CUPTI_KIND_CONCURRENT_KERNEL:
        return (facts){r->as.kernel.start,
                       r->as.kernel.end,
                       0,
                       r->as.kernel.graph_node,
                       (uint64_t)r->as.kernel.grid[0],
                       r->as.kernel.device,
                       r->as.kernel.context,
                       r->as.kernel.stream,
                       r->as.kernel.correlation,
                       0,
                       r->as.kernel.graph,
                       (uint32_t)r->as.kernel.block[0]};
    case CUPTI_KIND_MEMCPY:
        return (facts){r->as.copy.start,  r->as.copy.end,     r->as.copy.bytes,  r->as.copy.graph_node,  0,
                       r->as.copy.device, r->as.copy.context, r->as.copy.stream, r->as.copy.correlation, 0,
                       r->as.copy.graph,  r->as.copy.copy};
    case CUPTI_KIND_MEMCPY2:
        return (facts){r->as.peer.start,   r->as.peer.end,    r->as.peer.bytes,       0, 0, r->as.peer.device,
                       r->as.peer.context, r->as.peer.stream, r->as.peer.correlation, 0, 0, r->as.peer.copy};
    case CUPTI_KIND_MEMSET:
        return (facts){r->as.set.start,
                       r->as.set.end,
                       r->as.set.bytes,
                       0,
                       r->as.set.value,
                       r->as.set.device,
                       r->as.set.context,
                       r->as.set.stream,
                       r->as.set.correlation,
                       0,
                       0,
                       0};
    case CUPTI_KIND_SYNCHRONIZATION:
        return (facts){.start_ns = r->as.sync.start,
                       .end_ns = r->as.sync.end,
                       .context = r->as.sync.context,
                       .stream = r->as.sync.stream,
                       .correlation = r->as.sync.correlation,
                       .detail = r->as.sync.type};
    case CUPTI_KIND_OVERHEAD:
        return (facts){.start_ns = r->as.overhead.start,
                       .end_ns = r->as.overhead.end,
                       .thread = r->as.overhead.object.cpu.thread,
                       .detail = r->as.overhead.overhead};
    case CUPTI_KIND_EXTERNAL_CORRELATION:
        return (facts){
            .value = r->as.external.id, .correlation = r->as.external.correlation, .detail = r->as.external.source};
    case CUPTI_KIND_MEMORY2:
        return (facts){r->as.memory.time,
                       r->as.memory.time,
                       r->as.memory.bytes,
                       0,
                       r->as.memory.address,
                       r->as.memory.device,
                       r->as.memory.context,
                       r->as.memory.stream,
                       r->as.memory.correlation,
                       0,
                       0,
                       r->as.memory.operation};
    case CUPTI_KIND_GRAPH_TRACE:
        return (facts){r->as.graph.start,
                       r->as.graph.end,
                       0,
                       0,
                       0,
                       r->as.graph.device,
                       r->as.graph.context,
                       r->as.graph.stream,
                       r->as.graph.correlation,
                       0,
                       r->as.graph.graph,
                       0};
    }
    return (facts){0};
}

void double_tell_record(const double_record *r, const char *fate, uint64_t buffer, size_t index)
{
    if (!double_truth_wanted()) return;
    char name[256];
    facts f = facts_of(r);
    double_escape(name, sizeof name, r->name);
    double_truth(
        "{\"what\": \"record\", \"pid\": %d, \"kind\": \"%s\", \"name\": \"%s\", \"fate\": \"%s\", \"buffer\": "
        "%llu, \"index\": %zu, \"start\": %llu, \"end\": %llu, \"device\": %u, \"context\": %u, \"stream\": %u, "
        "\"correlation\": %u, \"thread\": %u, \"bytes\": %llu, \"node\": %llu, \"graph\": %u, \"value\": %llu, "
        "\"detail\": %u}",
        getpid(), kind_name(r->as.kind), name, fate, (unsigned long long)buffer, index, (unsigned long long)f.start_ns,
        (unsigned long long)f.end_ns, f.device, f.context, f.stream, f.correlation, f.thread,
        (unsigned long long)f.bytes, (unsigned long long)f.node, f.graph, (unsigned long long)f.value, f.detail);
}
