/* double_buffers.c - TEST DOUBLE: libcupti.so.13: records on their way, the buffers of the tracer, the thread that
 * fills them, and the truth about each record */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "double_cupti.h"

enum { UNKNOWN_KIND = 4711, UNKNOWN_BYTES = 32, DAMAGED_KIND = 0x7ffffffe, OUTSTANDING = 1024 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t thread;
    bool has_thread;
    cupti_buffer_wanted wanted;
    cupti_buffer_done returned;
    cupti_clock clock;
    int64_t clock_offset_ns;
    uint64_t base_ns;

    double_record *pending;
    size_t pending_count, pending_room;
    uint64_t flushes_wanted, flushes_done;
    bool is_forced;
    uint32_t period_ms;
    size_t dropped;

    /* only the thread's */
    uint8_t *buffer;
    size_t size, used, records, most;
    uint64_t buffers, gpu_records, all_records;
    uint8_t *middle; /* a record somewhere inside of the buffer, and its number */
    size_t middle_index;
} b = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

size_t double_record_length(uint32_t kind)
{
    uint32_t version = double_script_get()->version;
    if (kind == UNKNOWN_KIND) return UNKNOWN_BYTES;
    size_t known = cupti_record_bytes(kind, version);
    if (version < 130000) return known;
    /* What is behind the fields that the tracer knows. */
    return known + (kind == CUPTI_KIND_DEVICE || kind == CUPTI_KIND_GRAPH_TRACE || kind == CUPTI_KIND_OVERHEAD ? 8
                    : kind == CUPTI_KIND_CONTEXT                                                               ? 16
                                                                                                               : 0);
}

uint64_t double_clock(uint64_t true_ns)
{
    const double_script *s = double_script_get();
    if (!true_ns) return 0;
    if (b.clock) return true_ns + (uint64_t)b.clock_offset_ns;
    int64_t since = (int64_t)(true_ns - b.base_ns);
    return b.base_ns + (uint64_t)(since + (int64_t)((double)since * s->clock_ppm * 1e-6) + s->clock_offset_ns);
}

/* ---- the truth --------------------------------------------------------------------------------------------------- */

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

static void tell_record(const double_record *r, const char *fate)
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
        getpid(), kind_name(r->as.kind), name, fate, (unsigned long long)b.buffers, b.records,
        (unsigned long long)f.start_ns, (unsigned long long)f.end_ns, f.device, f.context, f.stream, f.correlation,
        f.thread, (unsigned long long)f.bytes, (unsigned long long)f.node, f.graph, (unsigned long long)f.value,
        f.detail);
}

/* ---- filling buffers: by the thread ------------------------------------------------------------------------------ */

static void give_back(void)
{
    if (!b.buffer) return;
    const double_script *s = double_script_get();
    uint64_t number = b.buffers++;
    size_t valid = b.used, records = b.records, size = b.size, damaged = records;
    uint8_t *buffer = b.buffer;
    if (s->damaged_every && number % s->damaged_every == s->damaged_every - 1 && b.middle) {
        memcpy(b.middle, &(uint32_t){DAMAGED_KIND}, 4);
        damaged = b.middle_index;
    }
    b.buffer = NULL;
    *double_here() = DOUBLE_IN_BUFFER;
    b.returned(NULL, 0, buffer, size, valid);
    *double_here() = DOUBLE_OUTSIDE;
    double_truth("{\"what\": \"buffer\", \"pid\": %d, \"buffer\": %llu, \"records\": %zu, \"readable\": %zu, \"time\": "
                 "%llu}",
                 getpid(), (unsigned long long)number, records, damaged, (unsigned long long)double_now());
}

static bool want_buffer(void)
{
    b.used = b.records = b.most = b.size = 0;
    b.middle = NULL;
    uint8_t *buffer = NULL;
    *double_here() = DOUBLE_IN_BUFFER;
    b.wanted(&buffer, &b.size, &b.most);
    *double_here() = DOUBLE_OUTSIDE;
    if (!buffer || !b.size) return false;
    if ((uintptr_t)buffer % 8) double_misuse("a buffer at %p, which is no multiple of 8", (void *)buffer);
    if (b.size < 1024) double_misuse("a buffer of %zu bytes", b.size);
    memset(buffer, 0xA5, b.size < 4096 ? b.size : 4096); /* it is ours, and nothing in it is what it was */
    b.buffer = buffer;
    return true;
}

static void drop(const double_record *record, const char *fate)
{
    pthread_mutex_lock(&b.lock);
    b.dropped++;
    pthread_mutex_unlock(&b.lock);
    tell_record(record, fate);
}

/* Puts `length` bytes into a buffer: false, there is none. */
static bool put(const void *data, size_t known, size_t length)
{
    const double_script *s = double_script_get();
    size_t limit = s->buffer_records ? s->buffer_records : SIZE_MAX;
    if (b.most && b.most < limit) limit = b.most;
    if (b.buffer && (b.size - b.used < length || b.records >= limit)) give_back();
    if (!b.buffer && !want_buffer()) return false;
    memset(b.buffer + b.used, 0xA5, length);
    memcpy(b.buffer + b.used, data, known);
    if (!b.middle && b.records == 3) {
        b.middle = b.buffer + b.used;
        b.middle_index = b.records;
    }
    b.used += length;
    return true;
}

static bool has_gpu_times(uint32_t kind)
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

static const char *set_times(double_record *r, bool is_complete, bool is_bad)
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

static void write_record(const double_record *record, bool is_complete)
{
    const double_script *s = double_script_get();
    double_record made = *record;
    bool is_bad = false;
    if (has_gpu_times(record->as.kind)) {
        uint64_t n = ++b.gpu_records;
        if (s->drop_every && n % s->drop_every == 0) return drop(record, "dropped");
        is_bad = s->bad_every && n % s->bad_every == 0;
    }
    const char *fate = set_times(&made, is_complete, is_bad);
    size_t length = double_record_length(record->as.kind), known = cupti_record_bytes(record->as.kind, s->version);
    if (!put(&made.as, known < sizeof made.as ? known : sizeof made.as, length)) return drop(record, "refused");
    tell_record(record, fate);
    b.records++;
    if (s->unknown_every && ++b.all_records % s->unknown_every == 0) {
        uint32_t unknown = UNKNOWN_KIND;
        if (put(&unknown, sizeof unknown, UNKNOWN_BYTES)) b.records++;
    }
}

static int by_ready(const void *a, const void *c)
{
    uint64_t x = ((const double_record *)a)->ready_ns, y = ((const double_record *)c)->ready_ns;
    return x < y ? -1 : x > y;
}

static void arrange(double_record *records, size_t count)
{
    static uint64_t state = 88172645463325252u;
    double_order order = double_script_get()->order;
    if (order == DOUBLE_SORTED) return;
    qsort(records, count, sizeof *records, by_ready);
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        size_t j = order == DOUBLE_REVERSED ? count - 1 - i : i + state % (count - i);
        if (order == DOUBLE_REVERSED && j <= i) break;
        double_record t = records[i];
        records[i] = records[j];
        records[j] = t;
    }
}

/* Takes what is ready, or all, out of what is pending. */
static double_record *take_ready(size_t *count, bool is_forced)
{
    uint64_t now = double_now();
    double_record *taken = malloc((b.pending_count + 1) * sizeof *taken);
    size_t kept = 0;
    *count = 0;
    for (size_t i = 0; i < b.pending_count; i++) {
        if (is_forced || b.pending[i].ready_ns <= now)
            taken[(*count)++] = b.pending[i];
        else
            b.pending[kept++] = b.pending[i];
    }
    b.pending_count = kept;
    return taken;
}

static void *fill(void *unused)
{
    (void)unused;
    uint64_t last_period = double_now();
    for (;;) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += 2000000;
        if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
        pthread_mutex_lock(&b.lock);
        if (b.flushes_wanted == b.flushes_done) pthread_cond_timedwait(&b.work, &b.lock, &t);
        uint64_t flushes = b.flushes_wanted;
        bool is_flush = flushes != b.flushes_done, is_forced = is_flush && b.is_forced;
        size_t count;
        double_record *taken = take_ready(&count, is_forced);
        uint32_t period = b.period_ms;
        pthread_mutex_unlock(&b.lock);
        uint64_t now = double_now();
        arrange(taken, count);
        for (size_t i = 0; i < count; i++) write_record(&taken[i], taken[i].ready_ns <= now);
        free(taken);
        if (is_flush || (period && now - last_period > period * UINT64_C(1000000))) {
            give_back();
            last_period = now;
        }
        pthread_mutex_lock(&b.lock);
        b.flushes_done = flushes;
        pthread_cond_broadcast(&b.done);
        pthread_mutex_unlock(&b.lock);
    }
    return NULL;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

void double_buffers_add(const double_record *record)
{
    if (b.clock && b.clock() == 0) double_misuse("the tracer's clock says 0");
    pthread_mutex_lock(&b.lock);
    if (!b.has_thread) {
        b.dropped++; /* nobody gives buffers */
    } else {
        if (b.pending_count == b.pending_room) {
            b.pending_room = b.pending_room ? b.pending_room * 2 : 1024;
            b.pending = realloc(b.pending, b.pending_room * sizeof *b.pending);
        }
        b.pending[b.pending_count++] = *record;
        if (b.pending_count % 4096 == 0) pthread_cond_signal(&b.work);
    }
    pthread_mutex_unlock(&b.lock);
}

DOUBLE_EXPORT cupti_status cuptiActivityRegisterCallbacks(cupti_buffer_wanted wanted, cupti_buffer_done returned)
{
    FUNCTION(false);
    if (!wanted || !returned) return CUPTI_BAD_PARAMETER;
    if (double_script_get()->subscriber_taken) double_misuse("the other profiler's buffers would be taken away");
    double_attach();
    b.wanted = wanted;
    b.returned = returned;
    if (!b.base_ns) b.base_ns = double_now();
    if (!b.has_thread && pthread_create(&b.thread, NULL, fill, NULL) != 0) return CUPTI_NO_MEMORY;
    b.has_thread = true;
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiActivityFlushAll(uint32_t flag)
{
    FUNCTION(false);
    double_place place = *double_here();
    if (place == DOUBLE_IN_RESOURCE || place == DOUBLE_IN_SYNC)
        double_misuse("cuptiActivityFlushAll from a %s callback", place == DOUBLE_IN_SYNC ? "sync" : "resource");
    if (flag > CUPTI_FLUSH_FORCED) return CUPTI_BAD_PARAMETER;
    if (!b.has_thread) return CUPTI_OK;
    pthread_mutex_lock(&b.lock);
    uint64_t mine = ++b.flushes_wanted;
    b.is_forced = flag == CUPTI_FLUSH_FORCED;
    pthread_cond_signal(&b.work);
    while (b.flushes_done < mine) pthread_cond_wait(&b.done, &b.lock);
    pthread_mutex_unlock(&b.lock);
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, cupti_record **record)
{
    FUNCTION(true);
    if (!buffer || !record) return CUPTI_BAD_PARAMETER;
    uint8_t *next = buffer;
    if (*record) {
        uint32_t kind;
        memcpy(&kind, *record, 4);
        next = (uint8_t *)*record + double_record_length(kind);
    }
    if (next >= buffer + valid) return CUPTI_LIMIT_REACHED;
    uint32_t kind;
    memcpy(&kind, next, 4);
    if (!double_record_length(kind)) return CUPTI_BAD_KIND;
    *record = (cupti_record *)(void *)next;
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    FUNCTION(true);
    (void)context, (void)stream;
    pthread_mutex_lock(&b.lock);
    *dropped = b.dropped;
    b.dropped = 0;
    pthread_mutex_unlock(&b.lock);
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value)
{
    FUNCTION(false);
    bool is_byte = attribute == CUPTI_ATTRIBUTE_ZEROED_BUFFERS || attribute == CUPTI_ATTRIBUTE_HOST_PINNED;
    if (!bytes || !value || *bytes < (is_byte ? 1 : sizeof(size_t))) return CUPTI_BAD_PARAMETER;
    return attribute <= 8 ? CUPTI_OK : CUPTI_BAD_PARAMETER;
}

DOUBLE_EXPORT cupti_status cuptiGetTimestamp(uint64_t *ns)
{
    FUNCTION(false);
    if (!b.base_ns) b.base_ns = double_now();
    *ns = double_clock(double_now());
    return CUPTI_OK;
}

#ifndef DOUBLE_OLD
DOUBLE_EXPORT cupti_status cuptiActivityRegisterTimestampCallback(cupti_clock clock)
{
    FUNCTION(false);
    if (!clock) return CUPTI_BAD_PARAMETER;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        uint64_t before = double_now(), theirs = clock(), after = double_now();
        if (after - before >= best) continue;
        best = after - before;
        b.clock_offset_ns = (int64_t)(theirs - (before + after) / 2);
    }
    if (llabs((long long)b.clock_offset_ns) < 10000) b.clock_offset_ns = 0; /* it is ours, too */
    b.clock = clock;
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiActivityFlushPeriod(uint32_t ms)
{
    FUNCTION(false);
    pthread_mutex_lock(&b.lock);
    b.period_ms = ms;
    pthread_mutex_unlock(&b.lock);
    return CUPTI_OK;
}
#endif
