/* memory.c - tracks live memory, whether a window is open or not
 *
 * A table by address stores for each allocation whether it is live, and whether the trace has it. When a window opens,
 * the difference is written to the trace: live allocations missing there are allocated, released ones are released,
 * both with the category "snapshot" and the time of the opening. So the live memory according to the trace is correct
 * at every moment of every window.
 *
 * CUPTI's records are late and out of order. So the beginning of a window is written a moment later, when all earlier
 * events are known; an address with an event in the meantime is written at once. Later records are corrected in the
 * same way, and events of a window that is already closed are recorded with their own times.
 */
#include "base/map.h"
#include "base/memory/vector.h"
#include "capture/cuda/window/window.h"

enum { SPANS = 256, BATCH = 4096, SETTLE_MS = 200 };

typedef struct allocation {
    uint64_t address;
    uint32_t device;
    bool is_live, is_traced;
    uint64_t bytes;        /* while it is live */
    uint64_t traced_bytes; /* as the trace has it */
    bool is_other;         /* the trace's allocation was released, and this is a later one at its address */
    bool is_early;         /* only its release is known so far */
    bool is_settled;       /* the beginning of the last window is written of it, though not of all */
    int64_t time_ns;       /* of its last event */
} allocation;

static struct {
    pthread_mutex_t lock;
    hd_session *session; /* NULL: the option memory is off */
    uint32_t snapshot;   /* the category */
    hd_slots slots;
    allocation *list;
    size_t count, capacity;
    uint64_t lost; /* there was no memory for them */
    struct {
        int64_t open_ns, close_ns;
    } spans[SPANS]; /* the last windows */
    uint64_t span_count;
    int64_t open_ns;   /* of the window whose beginning is not written yet, 0: none */
    int64_t settle_ns; /* when it will be */
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the table ---- */

static uint64_t hash_of(const allocation *what)
{
    return hd_hash_pair(what->address, what->device);
}

/* NULL: no memory. */
static allocation *find_or_add(const cuda_memory *memory)
{
    uint32_t at;
    allocation made = {.address = memory->address, .device = memory->device, .time_ns = INT64_MIN};
    uint64_t hash = hash_of(&made);
    HD_SLOTS_FIND(at, &live.slots, hash,
                  live.list[at].address == memory->address && live.list[at].device == memory->device);
    if (at != HD_SLOTS_NONE) return &live.list[at];
    if (live.count >= HD_SLOTS_NONE || !hd_grow((void **)&live.list, &live.capacity, live.count, sizeof *live.list) ||
        !hd_slots_add(&live.slots, hash, (uint32_t)live.count))
        return NULL;
    live.list[live.count] = made;
    return &live.list[live.count++];
}

/* The last takes its place. */
static void take_out(allocation *gone)
{
    uint32_t at = (uint32_t)(gone - live.list), last = (uint32_t)--live.count;
    hd_slots_remove(&live.slots, hash_of(gone), at);
    if (at == last) return;
    *gone = live.list[last];
    hd_slots_renumber(&live.slots, hash_of(gone), last, at);
}

/* ---- windows ---- */

/* Whether a window was open at that time. *next_ns: when the first after it opened, INT64_MAX: none did. */
static bool was_open(int64_t time_ns, int64_t *next_ns)
{
    uint64_t left = live.span_count < SPANS ? live.span_count : SPANS;
    *next_ns = INT64_MAX;
    for (uint64_t i = live.span_count; left--; i--) { /* late records are late by little */
        int64_t open_ns = live.spans[(i - 1) % SPANS].open_ns;
        if (time_ns >= open_ns) return time_ns < live.spans[(i - 1) % SPANS].close_ns;
        *next_ns = open_ns;
    }
    return false;
}

static void put(hd_session_kind kind, uint32_t category, int64_t time_ns, const allocation *what, uint64_t bytes)
{
    hd_session_emit(live.session, &(hd_session_record){.kind = kind,
                                                       .time_ns = time_ns,
                                                       .value = what->address,
                                                       .bytes = bytes,
                                                       .category = category,
                                                       .device = what->device});
}

/* Makes the trace agree with the live state. false: the entry is no longer needed. */
static bool put_right(allocation *what, int64_t time_ns)
{
    if (what->is_traced && (!what->is_live || what->is_other)) {
        put(HD_SESSION_RELEASE, live.snapshot, time_ns, what, what->traced_bytes);
        what->is_traced = what->is_other = false;
    }
    if (what->is_live && !what->is_traced) {
        put(HD_SESSION_ALLOCATE, live.snapshot, time_ns, what, what->bytes);
        what->is_traced = true;
        what->traced_bytes = what->bytes;
    }
    return what->is_live;
}

/* Under the lock: writes the beginning of the last window. */
static void settle(void)
{
    int64_t time_ns = live.open_ns;
    size_t told = 0;
    if (!time_ns) return;
    live.open_ns = 0;
    for (size_t i = live.count; i-- > 0;) { /* backwards: the last entry replaces a removed one */
        allocation *what = &live.list[i];
        if (what->is_settled) continue;
        bool differs = what->is_live != what->is_traced || what->is_other;
        /* A snapshot may be larger than a ring. */
        if (differs && told++ % BATCH == 0) hd_session_flush(live.session, NULL);
        if (!put_right(what, time_ns) && !what->is_early) take_out(what);
    }
    for (size_t i = 0; i < live.count; i++) live.list[i].is_settled = false;
}

void window_memory_opened(int64_t time_ns)
{
    if (!live.session) return;
    pthread_mutex_lock(&live.lock);
    settle(); /* of a window that was that short */
    live.spans[live.span_count % SPANS].open_ns = time_ns;
    live.spans[live.span_count++ % SPANS].close_ns = INT64_MAX;
    live.open_ns = time_ns;
    live.settle_ns = time_ns + SETTLE_MS * INT64_C(1000000);
    pthread_mutex_unlock(&live.lock);
    control_wake(); /* which settles */
}

int64_t window_memory_keep_time(int64_t now_ns)
{
    int64_t next_ns = INT64_MAX;
    if (!live.session) return next_ns;
    pthread_mutex_lock(&live.lock);
    if (live.open_ns && live.settle_ns <= now_ns) settle();
    if (live.open_ns) next_ns = live.settle_ns;
    pthread_mutex_unlock(&live.lock);
    return next_ns;
}

void cuda_window_settle(cuda_tracer *tracer)
{
    (void)tracer;
    if (!live.session) return;
    pthread_mutex_lock(&live.lock);
    settle();
    pthread_mutex_unlock(&live.lock);
}

void window_memory_closed(int64_t time_ns)
{
    if (!live.session) return;
    pthread_mutex_lock(&live.lock);
    if (live.span_count) live.spans[(live.span_count - 1) % SPANS].close_ns = time_ns;
    pthread_mutex_unlock(&live.lock);
}

/* ---- messages ---- */

/* Older than the known state of the address: only the record itself remains to be written. */
static bool is_stale(const allocation *what, const cuda_memory *memory)
{
    return memory->time_ns < what->time_ns;
}

static void note_allocation(allocation *what, const cuda_memory *memory, bool is_recorded)
{
    what->is_early = false;
    if (is_stale(what, memory)) return;
    what->time_ns = memory->time_ns;
    what->bytes = memory->bytes;
    what->is_live = true;
    if (is_recorded) {
        what->is_traced = true;
        what->is_other = false;
        what->traced_bytes = memory->bytes;
    } else if (what->is_traced) {
        what->is_other = true;
    }
}

static void note_release(allocation *what, const cuda_memory *memory, bool is_recorded)
{
    if (is_stale(what, memory)) return;
    what->is_early = what->time_ns == INT64_MIN;
    what->time_ns = memory->time_ns;
    what->is_live = false;
    if (is_recorded) what->is_traced = what->is_other = false;
}

/* Under the lock. is_recorded: the caller of cuda_window_memory will record it with its own time. */
static void note(const cuda_memory *memory, bool is_recorded)
{
    int64_t next_ns;
    allocation *what = find_or_add(memory);
    if (!what) {
        hd_session_note(live.session, "window.memory-lost", HD_SESSION_LOSS, ++live.lost);
        return;
    }
    bool belongs = was_open(memory->time_ns, &next_ns);
    if (live.open_ns && memory->time_ns >= live.open_ns && !what->is_settled) {
        put_right(what, live.open_ns);
        what->is_settled = true;
    }
    bool is_pending = live.open_ns && !what->is_settled && next_ns == live.open_ns;
    if (belongs && !is_recorded) {
        put(memory->is_release ? HD_SESSION_RELEASE : HD_SESSION_ALLOCATE, memory->category, memory->time_ns, what,
            memory->bytes);
        is_recorded = true;
    }
    if (memory->is_release)
        note_release(what, memory, is_recorded);
    else
        note_allocation(what, memory, is_recorded);
    /* Late, and a window opened since: its beginning was wrong. */
    if (!is_recorded && next_ns != INT64_MAX && !is_pending) put_right(what, next_ns);
    if (!what->is_live && !what->is_traced && !what->is_early) take_out(what);
}

void cuda_window_memory(cuda_tracer *tracer, const cuda_memory *memory)
{
    if (!live.session) return;
    bool is_recorded = cuda_capture_has(tracer, memory->time_ns);
    pthread_mutex_lock(&live.lock);
    note(memory, is_recorded);
    pthread_mutex_unlock(&live.lock);
}

/* ---- beginning, fork ---- */

void window_memory_start(cuda_tracer *tracer)
{
    if (!tracer->options.memory) return;
    pthread_mutex_lock(&live.lock);
    live.session = tracer->session;
    live.snapshot = hd_session_intern(tracer->session, "snapshot");
    if (atomic_load(&tracer->is_open)) {
        live.spans[0].open_ns = INT64_MIN;
        live.spans[0].close_ns = INT64_MAX;
        live.span_count = 1;
    }
    pthread_mutex_unlock(&live.lock);
}

void window_memory_fork(int phase)
{
    if (phase < 0) {
        pthread_mutex_lock(&live.lock);
        return;
    }
    if (phase > 0) { /* a GPU's memory is the parent's */
        hd_slots_clear(&live.slots);
        live.count = 0;
    }
    pthread_mutex_unlock(&live.lock);
}
