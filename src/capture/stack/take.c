/* take.c - the stack of the calling thread as an id of a session
 *
 * Each thread that takes stacks has 320 KB of its own, mapped at the first one: buffers for a walk, and a cache of
 * stacks with their ids. A stack is looked up by a hash of all its frames and compared with the cached one; only a new
 * one goes to hd_session_stack, which takes the session's lock. When the cache is full it is cleared. The memory of
 * ended threads is reused, and its counts continue.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "base/options.h"
#include "capture/session/impl.h"
#include "capture/stack/impl.h"

static struct {
    pthread_once_t once;
    pthread_key_t key; /* its destructor is called when a thread ends */
    bool has_key;
    _Atomic(stack_thread *) threads;
} all = {.once = PTHREAD_ONCE_INIT};

static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    stack_thread *mine;
    bool ended;
} here;

/* ---- threads ---- */

static void thread_ends(void *unused)
{
    stack_thread *t = here.mine;
    (void)unused;
    here.ended = true;
    here.mine = NULL;
    if (t) atomic_store_explicit(&t->used, 0, memory_order_release);
}

static void set_up(void)
{
    all.has_key = pthread_key_create(&all.key, thread_ends) == 0;
}

static stack_thread *new_thread(void)
{
    stack_thread *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED) return NULL;
    atomic_store(&t->used, 1);
    t->next = atomic_load(&all.threads);
    while (!atomic_compare_exchange_weak(&all.threads, &t->next, t)) continue;
    return t;
}

static __attribute__((noinline)) stack_thread *attach(void)
{
    stack_thread *t = NULL;
    if (here.ended) return NULL;
    pthread_once(&all.once, set_up);
    if (!all.has_key) return NULL;
    for (t = atomic_load(&all.threads); t; t = t->next) {
        int free = 0;
        if (atomic_compare_exchange_strong(&t->used, &free, 1)) break;
    }
    if (!t) t = new_thread();
    if (!t) return NULL;
    t->busy = false;
    t->serial = 0;
    here.mine = t;
    pthread_setspecific(all.key, t);
    return t;
}

void stack_forked(void)
{
    for (stack_thread *t = atomic_load(&all.threads); t; t = t->next) {
        for (int i = 0; i < STACK_COUNTS; i++) atomic_store(&t->counts[i], 0);
        if (t != here.mine) atomic_store(&t->used, 0);
    }
}

static inline void count(stack_thread *t, stack_count what)
{
    uint64_t value = atomic_load_explicit(&t->counts[what], memory_order_relaxed);
    atomic_store_explicit(&t->counts[what], value + 1, memory_order_relaxed);
}

void hd_stack_statistics(hd_stack_stats *out)
{
    uint64_t sums[STACK_COUNTS] = {0};
    for (stack_thread *t = atomic_load(&all.threads); t; t = t->next) {
        for (int i = 0; i < STACK_COUNTS; i++) sums[i] += atomic_load_explicit(&t->counts[i], memory_order_relaxed);
    }
    *out = (hd_stack_stats){.taken = sums[STACK_TAKEN],
                            .cached = sums[STACK_CACHED],
                            .truncated = sums[STACK_TRUNCATED],
                            .broken = sums[STACK_BROKEN],
                            .guessed = sums[STACK_GUESSED],
                            .python = sums[STACK_PYTHON],
                            .failed = sums[STACK_FAILED]};
}

/* ---- stacks that are known ---- */

static uint64_t hash_of(const uint64_t *frames, uint32_t count)
{
    uint64_t a = count, b = UINT64_C(0x9e3779b97f4a7c15);
    uint32_t i = 0;
    for (; i + 1 < count; i += 2) { /* two chains, as a multiplication takes three cycles */
        a = (a ^ frames[i]) * UINT64_C(0xff51afd7ed558ccd);
        b = (b ^ frames[i + 1]) * UINT64_C(0xc4ceb9fe1a85ec53);
        a ^= a >> 32;
        b ^= b >> 32;
    }
    if (i < count) a = (a ^ frames[i]) * UINT64_C(0xff51afd7ed558ccd);
    a ^= b * UINT64_C(0x9e3779b97f4a7c15);
    return a ^ a >> 29;
}

static void forget(stack_thread *t, uint32_t serial)
{
    memset(t->slots, 0, sizeof t->slots);
    memset(t->names, 0, sizeof t->names);
    t->words_used = 0;
    t->serial = serial;
}

/* The slot of a stack: its own, or where it may be put. */
static stack_slot *find_slot(stack_thread *t, const uint64_t *frames, uint32_t count, uint64_t hash)
{
    enum { PROBES = 8 };
    stack_slot *free = NULL;
    for (uint32_t i = 0; i < PROBES; i++) {
        stack_slot *slot = &t->slots[(hash + i) % STACK_SLOTS];
        if (!slot->count) return slot;
        if (slot->hash == hash && slot->count == count &&
            memcmp(&t->words[slot->at], frames, count * sizeof *frames) == 0)
            return slot;
        if (i == (hash >> 32) % PROBES) free = slot;
    }
    return free;
}

static uint32_t id_of(stack_thread *t, hd_session *session, const uint64_t *frames, uint32_t count_of, bool may_add)
{
    uint64_t hash = hash_of(frames, count_of);
    stack_slot *slot = find_slot(t, frames, count_of, hash);
    if (slot->count == count_of && slot->hash == hash &&
        memcmp(&t->words[slot->at], frames, count_of * sizeof *frames) == 0) {
        count(t, STACK_CACHED);
        return slot->id;
    }
    uint32_t id = may_add ? hd_session_stack(session, frames, count_of) : 0;
    if (!id) return 0;
    if (t->words_used + count_of > STACK_SLOT_WORDS) {
        forget(t, t->serial);
        slot = &t->slots[hash % STACK_SLOTS];
    }
    memcpy(&t->words[t->words_used], frames, count_of * sizeof *frames);
    *slot = (stack_slot){hash, id, count_of, t->words_used};
    t->words_used += count_of;
    return id;
}

/* ---- taking ---- */

static uint32_t take(stack_thread *t, hd_session *session, const hd_stack_options *options, const void *anchor)
{
    const uint64_t *frames = t->frames;
    bool truncated = false;
    if (t->serial != session->serial) forget(t, session->serial);
    stack_result walked = stack_walk(t->frames, t->bounds, HD_SESSION_STACK_MAX, options->skip, anchor);
    uint32_t taken = walked.count;
    if (walked.learned && !options->in_signal) hd_session_stack_refresh(session);
    if (options->python && !options->in_signal) {
        uint32_t merged = stack_python_merge(t, session, taken, &truncated);
        if (merged) {
            frames = t->merged;
            taken = merged;
            count(t, STACK_PYTHON);
        }
    }
    count(t, STACK_TAKEN);
    if (truncated || walked.walked.end == HD_STACK_TRUNCATED) count(t, STACK_TRUNCATED);
    if (walked.walked.end == HD_STACK_BROKEN) count(t, STACK_BROKEN);
    if (walked.walked.guessed) count(t, STACK_GUESSED);
    uint32_t id = taken ? id_of(t, session, frames, taken, !options->in_signal) : 0;
    if (!id) count(t, STACK_FAILED);
    return id;
}

__attribute__((noinline)) uint32_t hd_session_stack_here(hd_session *session, const hd_stack_options *options)
{
    hd_stack_options own;
    if (hd_options_copy(&own, sizeof own, sizeof own, options, NULL) != HD_OK) return 0;
    options = &own;
    if (!session) return 0;
    if (!atomic_load_explicit(session->generation, memory_order_relaxed) && !atomic_load(&session->may_revive))
        return 0;
    stack_thread *t = here.mine;
    if (!t && !options->in_signal) t = attach();
    if (!t || t->busy) return 0;
    int kept = errno; /* the program's: looking at new modules changes it */
    t->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t id = take(t, session, options, __builtin_frame_address(0));
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = false;
    errno = kept;
    return id;
}
