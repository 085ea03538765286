/* double_buffers.c - TEST DOUBLE: libcupti.so.13: records on their way, the buffers of the tracer, and the thread that
 * fills them */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "double_cupti.h"

enum { DAMAGED_KIND = 0x7ffffffe };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t thread;
    bool has_thread;
    cupti_buffer_wanted wanted, coming_wanted; /* coming: of who registers next; the thread changes over */
    cupti_buffer_done returned, coming_returned;
    bool is_taken; /* they are of the second who registered */
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

uint64_t double_clock(uint64_t true_ns)
{
    const double_script *s = double_script_get();
    if (!true_ns) return 0;
    if (b.clock) return true_ns + (uint64_t)b.clock_offset_ns;
    int64_t since = (int64_t)(true_ns - b.base_ns);
    return b.base_ns + (uint64_t)(since + (int64_t)((double)since * s->clock_ppm * 1e-6) + s->clock_offset_ns);
}

/* ---- filling buffers: by the thread ---- */

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
    if ((uintptr_t)buffer % 8) double_misuse("a buffer at %p, which is not a multiple of 8", (void *)buffer);
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
    double_tell_record(record, fate, b.buffers, b.records);
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

static void write_record(const double_record *record, bool is_complete)
{
    const double_script *s = double_script_get();
    double_record made = *record;
    bool is_bad = false;
    if (double_has_gpu_times(record->as.kind)) {
        uint64_t n = ++b.gpu_records;
        if (s->drop_every && n % s->drop_every == 0) return drop(record, "dropped");
        is_bad = s->bad_every && n % s->bad_every == 0;
    }
    const char *fate = double_set_times(&made, is_complete, is_bad);
    size_t length = double_record_length(record->as.kind), known = cupti_record_bytes(record->as.kind, s->version);
    if (!put(&made.as, known < sizeof made.as ? known : sizeof made.as, length)) return drop(record, "refused");
    double_tell_record(record, b.is_taken ? "taken" : fate, b.buffers, b.records);
    b.records++;
    if (s->unknown_every && ++b.all_records % s->unknown_every == 0) {
        uint32_t unknown = DOUBLE_UNKNOWN_KIND;
        if (put(&unknown, sizeof unknown, DOUBLE_UNKNOWN_BYTES)) b.records++;
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
        bool is_running = b.pending_count > 0;
        pthread_mutex_unlock(&b.lock);
        uint64_t now = double_now();
        arrange(taken, count);
        for (size_t i = 0; i < count; i++) write_record(&taken[i], taken[i].ready_ns <= now);
        free(taken);
        bool is_due = is_flush || (period && now - last_period > period * UINT64_C(1000000));
        bool is_held = double_script_get()->hold_back && is_running && !is_forced;
        if (is_due && !is_held) {
            give_back();
            last_period = now;
        }
        pthread_mutex_lock(&b.lock);
        if (is_flush && b.coming_wanted) {
            b.wanted = b.coming_wanted;
            b.returned = b.coming_returned;
            b.coming_wanted = NULL;
            b.is_taken = true;
        }
        b.flushes_done = flushes;
        pthread_cond_broadcast(&b.done);
        pthread_mutex_unlock(&b.lock);
    }
    return NULL;
}

/* ---- functions ---- */

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

static void flush_locked(bool is_forced)
{
    uint64_t mine = ++b.flushes_wanted;
    b.is_forced = is_forced;
    pthread_cond_signal(&b.work);
    while (b.flushes_done < mine) pthread_cond_wait(&b.done, &b.lock);
}

/* What was complete goes to those who had the buffers, all that comes to the others. */
static void take_over(cupti_buffer_wanted wanted, cupti_buffer_done returned)
{
    pthread_mutex_lock(&b.lock);
    b.coming_wanted = wanted;
    b.coming_returned = returned;
    flush_locked(false);
    pthread_mutex_unlock(&b.lock);
}

DOUBLE_EXPORT cupti_status cuptiActivityRegisterCallbacks(cupti_buffer_wanted wanted, cupti_buffer_done returned)
{
    FUNCTION(false);
    if (!wanted || !returned) return CUPTI_BAD_PARAMETER;
    if (double_script_get()->subscriber_taken) double_misuse("the other profiler's buffers would be taken away");
    double_attach();
    if (b.has_thread) {
        take_over(wanted, returned);
        return CUPTI_OK;
    }
    b.wanted = wanted;
    b.returned = returned;
    if (!b.base_ns) b.base_ns = double_now();
    if (pthread_create(&b.thread, NULL, fill, NULL) != 0) return CUPTI_NO_MEMORY;
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
    flush_locked(flag == CUPTI_FLUSH_FORCED);
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
