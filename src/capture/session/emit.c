/* emit.c - events into the ring of the calling thread */
#include <time.h>

#include "base/capture_wire.h"
#include "capture/session/impl.h"

int64_t hd_session_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* For one thread of a process, which delivers all. */
static void push_delivery(hd_session *session, session_lane *lane, const session_event *event)
{
    atomic_uint_least64_t *count = session_due(session, SESSION_DELIVERED);
    uint64_t delivered = atomic_load_explicit(count, memory_order_relaxed) + 1;
    uint64_t place = atomic_load_explicit(&lane->ring.tail, memory_order_relaxed);
    atomic_store_explicit(&lane->delivery_at, place, memory_order_release);
    atomic_store_explicit(&lane->delivered, delivered, memory_order_release);
    if (hd_ring_push_one(&lane->ring, event, SESSION_EVENT_BYTES))
        atomic_store_explicit(count, delivered, memory_order_release);
    else
        atomic_store_explicit(&lane->delivery_at, UINT64_MAX, memory_order_release);
}

/* The fences are for a signal handler on this thread: it sees `busy` whenever the ring is not whole. */
void session_emit(hd_session *session, const session_event *event)
{
    if (!session) return;
    session_thread *here = &session_this_thread;
    uint64_t generation = atomic_load_explicit(session->generation, memory_order_acquire);
    if (here->busy) {
        if (generation) atomic_fetch_add_explicit(&session->live->nested, 1, memory_order_relaxed);
        return;
    }
    here->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    session_lane *lane = here->at[session->slot].lane;
    if (__builtin_expect(here->at[session->slot].generation != generation || !generation, 0))
        lane = session_attach(session);
    if (lane && event->delivers)
        push_delivery(session, lane, event);
    else if (lane)
        hd_ring_push_one(&lane->ring, event, SESSION_EVENT_BYTES);
    atomic_signal_fence(memory_order_seq_cst);
    here->busy = 0;
}

void hd_session_begin(hd_session *session, uint32_t name, uint32_t category)
{
    if (!session) return;
    session_event event = {.kind = CAPTURE_BEGIN, .time_ns = hd_session_now(), .name = name, .category = category};
    session_emit(session, &event);
}

void hd_session_end(hd_session *session)
{
    if (!session) return;
    session_event event = {.kind = CAPTURE_FINISH, .time_ns = hd_session_now()};
    session_emit(session, &event);
}

void hd_session_slice(hd_session *session, uint32_t name, uint32_t category, int64_t start_ns, int64_t duration_ns)
{
    session_event event = {.kind = CAPTURE_SLICE,
                           .time_ns = start_ns,
                           .value = duration_ns > 0 ? (uint64_t)duration_ns : 0,
                           .name = name,
                           .category = category};
    session_emit(session, &event);
}

void hd_session_instant(hd_session *session, uint32_t name, uint32_t category)
{
    if (!session) return;
    session_event event = {.kind = CAPTURE_INSTANT, .time_ns = hd_session_now(), .name = name, .category = category};
    session_emit(session, &event);
}

void hd_session_counter(hd_session *session, uint32_t name, double value)
{
    if (!session) return;
    session_event event = {.kind = CAPTURE_COUNTER, .time_ns = hd_session_now(), .name = name};
    memcpy(&event.value, &value, sizeof event.value);
    session_emit(session, &event);
}

static void emit_flow(hd_session *session, uint8_t kind, uint32_t name, uint32_t category, uint64_t id)
{
    if (!session) return;
    session_event event = {.kind = kind, .time_ns = hd_session_now(), .value = id, .name = name, .category = category};
    session_emit(session, &event);
}

void hd_session_flow_start(hd_session *session, uint32_t name, uint32_t category, uint64_t id)
{
    emit_flow(session, CAPTURE_FLOW_START, name, category, id);
}

void hd_session_flow_step(hd_session *session, uint32_t name, uint32_t category, uint64_t id)
{
    emit_flow(session, CAPTURE_FLOW_STEP, name, category, id);
}

void hd_session_flow_end(hd_session *session, uint32_t name, uint32_t category, uint64_t id)
{
    emit_flow(session, CAPTURE_FLOW_END, name, category, id);
}

static void emit_memory(hd_session *session, uint8_t kind, uint32_t category, uint64_t address, uint64_t bytes,
                        uint32_t device)
{
    if (!session) return;
    session_event event = {.kind = kind,
                           .time_ns = hd_session_now(),
                           .value = address,
                           .bytes = bytes,
                           .category = category,
                           .device = device};
    session_emit(session, &event);
}

void hd_session_allocate(hd_session *session, uint32_t category, uint64_t address, uint64_t bytes, uint32_t device)
{
    emit_memory(session, CAPTURE_ALLOCATE, category, address, bytes, device);
}

void hd_session_release(hd_session *session, uint32_t category, uint64_t address, uint64_t bytes, uint32_t device)
{
    emit_memory(session, CAPTURE_RELEASE, category, address, bytes, device);
}

void hd_session_name_thread(hd_session *session, const char *name)
{
    session_thread *here = &session_this_thread;
    if (!session || !name || here->busy) return;
    here->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t generation = atomic_load_explicit(session->generation, memory_order_acquire);
    session_lane *lane = generation && here->at[session->slot].generation == generation ? here->at[session->slot].lane
                                                                                        : session_attach(session);
    if (lane) {
        pthread_mutex_lock(&session->lock);
        size_t size = strnlen(name, SESSION_THREAD_NAME_BYTES - 1);
        memcpy(lane->name, name, size);
        lane->name[size] = 0;
        pthread_mutex_unlock(&session->lock);
        atomic_store_explicit(&lane->unannounced, true, memory_order_release);
    }
    atomic_signal_fence(memory_order_seq_cst);
    here->busy = 0;
}
