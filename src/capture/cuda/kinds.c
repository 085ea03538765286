/* kinds.c - switches CUPTI's activity kinds on and off with the capture window
 *
 * API calls are switched one by one if CUPTI can do that, since programs make many irrelevant ones; else all of them
 * are on, and activity_rows.c drops the others.
 */
#include "capture/cuda/calls.h"
#include "capture/cuda/cupti/load.h"
#include "capture/cuda/impl.h"

typedef struct kind {
    uint32_t number;
    const char *name;
    uint32_t since; /* version of CUPTI; 0: all that we take */
    const char *since_name;
} kind;

/* Always on: other records refer to them. */
static const kind facts[] = {
    {CUPTI_KIND_DEVICE, "devices"},
    {CUPTI_KIND_CONTEXT, "contexts"},
    {CUPTI_KIND_STREAM, "streams"},
    {CUPTI_KIND_NAME, "names"},
};

static const kind switched[] = {
    {CUPTI_KIND_CONCURRENT_KERNEL, "kernels"},         {CUPTI_KIND_MEMCPY, "copies"},
    {CUPTI_KIND_MEMCPY2, "copies between GPUs"},       {CUPTI_KIND_MEMSET, "sets"},
    {CUPTI_KIND_SYNCHRONIZATION, "synchronisation"},   {CUPTI_KIND_OVERHEAD, "overhead"},
    {CUPTI_KIND_EXTERNAL_CORRELATION, "external ids"},
};

static const kind graphs = {CUPTI_KIND_GRAPH_TRACE, "graphs as a whole", 17, "11.6"};
static const kind memory = {CUPTI_KIND_MEMORY2, "memory", 15, "11.2"};
static const kind calls[] = {{CUPTI_KIND_RUNTIME, "runtime calls"}, {CUPTI_KIND_DRIVER, "driver calls"}};

static bool set_kind(cuda_tracer *t, const kind *k, bool is_on)
{
    if (t->cupti->version < k->since) {
        if (is_on)
            cuda_tell(t, "cuda.not-recorded", HD_SESSION_LOSS, "CUPTI does not record %s before CUDA %s.", k->name,
                      k->since_name);
        return false;
    }
    cupti_status status = is_on ? t->cupti->ActivityEnable(k->number) : t->cupti->ActivityDisable(k->number);
    if (status != CUPTI_OK && is_on)
        cuda_tell(t, "cuda.not-recorded", HD_SESSION_LOSS, "CUPTI does not record %s: %s. %s", k->name,
                  cuda_cupti_text(t->cupti, status), cuda_cupti_advice(status));
    return status == CUPTI_OK;
}

/* false: CUPTI cannot switch this domain's calls one by one. A version that is older than a call rejects that one. */
static bool set_each_call(cuda_tracer *t, uint32_t domain, bool is_on)
{
    bool is_runtime = domain == CUPTI_DOMAIN_RUNTIME, has_any = false;
    cupti_fn_ActivityEnableRuntimeApi set =
        is_runtime ? t->cupti->ActivityEnableRuntimeApi : t->cupti->ActivityEnableDriverApi;
    for (uint32_t i = 0; set && i < cuda_call_limit(domain); i++) {
        if (cuda_call_find(domain, i) && set(i, is_on) == CUPTI_OK) has_any = true;
    }
    return has_any;
}

/* Calls that are switched on one by one once the program uses CUDA give no records before CUPTI 13.5 (13.0.1 on an H100
 * gave none in any window, 13.5.0 gave all), without an error: then all calls are switched on. */
enum { CUPTI_SINGLE_CALLS_LATE = 130500 };

static bool set_calls(cuda_tracer *t, bool is_on)
{
    static const uint32_t domains[] = {CUPTI_DOMAIN_RUNTIME, CUPTI_DOMAIN_DRIVER};
    bool is_fine = true;
    if (is_on && t->is_started && t->cupti->version < CUPTI_SINGLE_CALLS_LATE && t->cupti->ActivityEnableRuntimeApi) {
        t->all_calls = true;
        hd_session_note(t->session, "cuda.calls-unfiltered", HD_SESSION_NOTE, 1);
    }
    for (int i = 0; i < 2; i++)
        is_fine &= (!t->all_calls && set_each_call(t, domains[i], is_on)) || set_kind(t, &calls[i], is_on);
    return is_fine;
}

/* Under the lock. */
static void apply(cuda_tracer *t, bool is_on)
{
    if (!t->has_activity || t->is_applied == is_on) return;
    t->is_applied = is_on;
    bool has_launches = set_calls(t, is_on);
    for (size_t i = 0; i < sizeof switched / sizeof *switched; i++) {
        bool is_fine = set_kind(t, &switched[i], is_on);
        has_launches &= is_fine || switched[i].number != CUPTI_KIND_CONCURRENT_KERNEL;
    }
    if (is_on) atomic_store(&t->launches.are_recorded, has_launches);
    if (t->options.graph_whole) set_kind(t, &graphs, is_on);
    cuda_callbacks_set(t, is_on);
}

void cuda_kinds_start(cuda_tracer *t)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) set_kind(t, &facts[i], true);
    if (t->options.memory)
        set_kind(t, &memory, true); /* also outside of the window: memory that is live when it opens
                                                          */
    if (atomic_load(&t->is_open)) apply(t, true);
    t->is_started = true;
}

void cuda_capture_set(cuda_tracer *t, bool is_open)
{
    pthread_mutex_lock(&t->lock);
    if (atomic_load(&t->is_open) != is_open) {
        atomic_fetch_add(&t->openings, 1);
        if (is_open) {
            atomic_store(&t->opened_ns, hd_session_now());
        } else {
            atomic_store(&t->closed_ns, hd_session_now());
        }
        atomic_store(&t->is_open, is_open);
        if (atomic_load(&t->state) == CUDA_RUNNING) apply(t, is_open);
    }
    pthread_mutex_unlock(&t->lock);
    cuda_flush_soon(t);
}

bool cuda_capture_has(cuda_tracer *t, int64_t time_ns)
{
    int64_t opened = atomic_load(&t->opened_ns), closed = atomic_load(&t->closed_ns);
    if (opened == 0 || time_ns < opened) return false;
    return atomic_load(&t->is_open) || time_ns <= closed;
}
