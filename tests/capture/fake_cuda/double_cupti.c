/* double_cupti.c - TEST DOUBLE: libcupti.so.13: its subscriber, callbacks, kinds of records */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture/cuda/cupti/calls.h"
#include "double_cupti.h"

enum { CALLS = 1024, DOMAINS = 7, KINDS = 64 };
static struct {
    int pid; /* of the process that loaded us */
    pthread_mutex_t lock;
    cupti_callback callback;
    void *user;
    uint32_t generation; /* of the subscriber; its handle */
    atomic_bool callbacks[DOMAINS][CALLS];
    atomic_bool kinds[KINDS];
    atomic_bool records[DOMAINS][CALLS]; /* RUNTIME and DRIVER: which calls */
    atomic_uint correlation;
    atomic_ullong calls;
    atomic_uint counts[DOUBLE_RULES];
} cupti = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local double_place here;

double_place *double_here(void)
{
    return &here;
}

cupti_status double_function_begin(const char *function, bool reads_buffers)
{
    const double_script *s = double_script_get();
    if (cupti.pid != getpid()) double_misuse("%s in a child of fork", function);
    if (here == DOUBLE_IN_BUFFER && !reads_buffers) double_misuse("%s from a buffer callback", function);
    for (unsigned i = 0; i < s->slow_count; i++)
        if (strcmp(s->slows[i].function, function) == 0) usleep((useconds_t)s->slows[i].value);
    for (unsigned i = 0; i < s->fail_count; i++)
        if (strcmp(s->fails[i].function, function) == 0 &&
            atomic_fetch_add(&cupti.counts[i], 1) + 1 >= s->fails[i].value) {
            if (s->fails[i].status == DOUBLE_KILL) raise(SIGKILL);
            return s->fails[i].status;
        }
    return CUPTI_OK;
}

bool double_kind_is_on(uint32_t kind)
{
    return kind < KINDS && atomic_load(&cupti.kinds[kind]);
}

/* ---- from libcuda ---- */

static bool records_call(const double_call *call)
{
    return call->id < CALLS && atomic_load(&cupti.records[call->domain][call->id]);
}

static void call_back(double_call *call, uint32_t site)
{
    if (call->id >= CALLS || !atomic_load(&cupti.callbacks[call->domain][call->id])) return;
    double_context *context = double_current_context();
    cupti_call data = {.site = site,
                       .function = call->function,
                       .parameters = call->parameters,
                       .result = &call->result,
                       .symbol = call->symbol,
                       .context = context,
                       .context_id = context ? context->id : 0,
                       .scratch = &call->scratch,
                       .correlation = call->correlation};
    double_place before = here;
    here = DOUBLE_IN_API;
    cupti_callback callback = cupti.callback;
    if (callback) callback(cupti.user, call->domain, call->id, &data);
    here = before;
}

static void enter(double_call *call)
{
    bool is_watched = cupti.callback || double_kind_is_on(CUPTI_KIND_RUNTIME) || double_kind_is_on(CUPTI_KIND_DRIVER);
    if (is_watched)
        call->correlation = call->outer ? call->outer->correlation : atomic_fetch_add(&cupti.correlation, 1) + 1;
    call_back(call, CUPTI_SITE_ENTER);
    call->start_ns = double_now();
}

static void add_overhead(uint32_t thread)
{
    uint64_t now = double_now();
    double_record record = {.as.overhead = {.kind = CUPTI_KIND_OVERHEAD,
                                            .overhead = CUPTI_OVERHEAD_INSTRUMENTATION,
                                            .object_kind = CUPTI_OBJECT_THREAD,
                                            .object.cpu = {(uint32_t)getpid(), thread},
                                            .start = now - 500,
                                            .end = now},
                            .name = "overhead"};
    double_buffers_add(&record);
}

static void leave(double_call *call)
{
    uint64_t end = double_now();
    if (!call->outer && call->correlation) double_add_externals(call->correlation);
    if (records_call(call)) {
        double_record record = {
            .as.api = {call->domain == CUPTI_DOMAIN_RUNTIME ? CUPTI_KIND_RUNTIME : CUPTI_KIND_DRIVER, call->id,
                       call->start_ns, end, (uint32_t)getpid(), double_this_thread(), call->correlation,
                       (uint32_t)call->result},
            .name = call->function};
        double_buffers_add(&record);
        uint64_t every = double_script_get()->overhead_every;
        if (every && atomic_fetch_add(&cupti.calls, 1) % every == every - 1 && double_kind_is_on(CUPTI_KIND_OVERHEAD))
            add_overhead(double_this_thread());
    }
    call_back(call, CUPTI_SITE_EXIT);
}

static void resource(uint32_t id, double_context *context, double_stream *stream, const cupti_graph *graph)
{
    if (!atomic_load(&cupti.callbacks[CUPTI_DOMAIN_RESOURCE][id])) return;
    cupti_resource data = {context, stream, (void *)graph};
    double_place before = here;
    here = DOUBLE_IN_RESOURCE;
    cupti_callback callback = cupti.callback;
    if (callback) callback(cupti.user, CUPTI_DOMAIN_RESOURCE, id, &data);
    here = before;
}

static void synchronized(uint32_t id, double_context *context, double_stream *stream)
{
    if (!atomic_load(&cupti.callbacks[CUPTI_DOMAIN_SYNCHRONIZE][id])) return;
    void *data[2] = {context, stream};
    double_place before = here;
    here = DOUBLE_IN_SYNC;
    cupti_callback callback = cupti.callback;
    if (callback) callback(cupti.user, CUPTI_DOMAIN_SYNCHRONIZE, id, data);
    here = before;
}

static void record_of_driver(const double_record *record)
{
    if (double_kind_is_on(record->as.kind)) double_buffers_add(record);
}

static bool whole_graphs(void)
{
    return double_kind_is_on(CUPTI_KIND_GRAPH_TRACE);
}

__attribute__((constructor)) static void loaded(void)
{
    cupti.pid = getpid();
}

/* From the first function on that does something: until then the library may be unloaded. */
void double_attach(void)
{
    static const double_hooks hooks = {enter, leave, resource, synchronized, record_of_driver, whole_graphs};
    double_set_hooks(&hooks);
}

/* ---- subscriber ---- */

static void check_subscriber(const char *function, cupti_subscriber subscriber)
{
    if (!cupti.callback || (uintptr_t)subscriber != cupti.generation * 16u)
        double_misuse("%s with a subscriber that is none", function);
}

DOUBLE_EXPORT cupti_status cuptiSubscribe(cupti_subscriber *out, cupti_callback callback, void *user)
{
    FUNCTION(false);
    if (!out || !callback) return CUPTI_BAD_PARAMETER;
    if (double_script_get()->subscriber_taken || cupti.callback) return CUPTI_OTHER_SUBSCRIBER;
    double_attach();
    cupti.user = user;
    cupti.generation++;
    cupti.callback = callback;
    *out = (cupti_subscriber)(uintptr_t)(cupti.generation * 16u);
    return CUPTI_OK;
}

#ifndef DOUBLE_OLD
DOUBLE_EXPORT cupti_status cuptiSubscribe_v2(cupti_subscriber *out, cupti_callback callback, void *user,
                                             cupti_subscriber_params *params)
{
    FUNCTION(false);
    if (!params || params->bytes < sizeof *params) return CUPTI_BAD_PARAMETER;
    if (double_script_get()->subscriber_taken && params->other)
        snprintf(params->other, params->other_bytes, "CUPTI for another profiler");
    return cuptiSubscribe(out, callback, user);
}
#endif

DOUBLE_EXPORT cupti_status cuptiUnsubscribe(cupti_subscriber subscriber)
{
    FUNCTION(false);
    check_subscriber(__func__, subscriber);
    for (int domain = 0; domain < DOMAINS; domain++)
        for (int i = 0; i < CALLS; i++) atomic_store(&cupti.callbacks[domain][i], false);
    cupti.callback = NULL;
    return CUPTI_OK;
}

/* Numbers that the script's version does not know are refused. */
static bool is_known(uint32_t domain, uint32_t id)
{
    uint32_t version = double_script_get()->version;
    uint32_t runtime = version >= 130000 ? 523 : version >= 26 ? 487 : version >= 19 ? 444 : 373;
    uint32_t driver = version >= 130000 ? 807 : version >= 26 ? 784 : version >= 19 ? 696 : 598;
    static const uint32_t others[DOMAINS] = {0, 0, 0, 24, 3, 1, 4};
    if (domain == 0 || domain >= DOMAINS) return false;
    return id != 0 && id < (domain == CUPTI_DOMAIN_RUNTIME  ? runtime
                            : domain == CUPTI_DOMAIN_DRIVER ? driver
                                                            : others[domain]);
}

DOUBLE_EXPORT cupti_status cuptiEnableCallback(uint32_t enable, cupti_subscriber subscriber, uint32_t domain,
                                               uint32_t id)
{
    FUNCTION(false);
    check_subscriber(__func__, subscriber);
    if (!is_known(domain, id)) return CUPTI_BAD_PARAMETER;
    atomic_store(&cupti.callbacks[domain][id], enable != 0);
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiEnableDomain(uint32_t enable, cupti_subscriber subscriber, uint32_t domain)
{
    FUNCTION(false);
    check_subscriber(__func__, subscriber);
    if (domain == 0 || domain >= DOMAINS) return CUPTI_BAD_PARAMETER;
    for (uint32_t i = 1; i < CALLS; i++)
        if (is_known(domain, i)) atomic_store(&cupti.callbacks[domain][i], enable != 0);
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
    FUNCTION(false);
#define NAME(number, spelling, shown, kind)                                                                            \
    case number: *name = #spelling; return CUPTI_OK;
    if (domain == CUPTI_DOMAIN_RUNTIME) switch (id) {
            CUPTI_RUNTIME_CALLS(NAME)
        default: return CUPTI_BAD_PARAMETER;
        }
    if (domain == CUPTI_DOMAIN_DRIVER) switch (id) {
            CUPTI_DRIVER_CALLS(NAME)
        default: return CUPTI_BAD_PARAMETER;
        }
    return CUPTI_BAD_PARAMETER;
}

/* ---- kinds ---- */

static cupti_status set_kind(uint32_t kind, bool enable)
{
    double_attach();
    if (kind == CUPTI_KIND_KERNEL) double_misuse("kind KERNEL makes kernels run one after another");
    if (kind >= KINDS || (kind != CUPTI_KIND_CUDA_EVENT && !double_record_length(kind))) return CUPTI_BAD_KIND;
    if (kind == CUPTI_KIND_RUNTIME || kind == CUPTI_KIND_DRIVER) {
        uint32_t domain = kind == CUPTI_KIND_RUNTIME ? CUPTI_DOMAIN_RUNTIME : CUPTI_DOMAIN_DRIVER;
        for (uint32_t i = 1; i < CALLS; i++) atomic_store(&cupti.records[domain][i], enable);
    }
    atomic_store(&cupti.kinds[kind], enable);
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiActivityEnable(uint32_t kind)
{
    FUNCTION(false);
    return set_kind(kind, true);
}

DOUBLE_EXPORT cupti_status cuptiActivityDisable(uint32_t kind)
{
    FUNCTION(false);
    return set_kind(kind, false);
}

#ifndef DOUBLE_OLD
static cupti_status set_call(uint32_t kind, uint32_t domain, uint32_t id, bool enable)
{
    if (!is_known(domain, id)) return CUPTI_BAD_PARAMETER;
    if (enable && double_script_get()->late_calls_lost && double_is_in_use()) return CUPTI_OK; /* says nothing */
    atomic_store(&cupti.records[domain][id], enable);
    if (enable) atomic_store(&cupti.kinds[kind], true);
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiActivityEnableRuntimeApi(uint32_t call, uint8_t enable)
{
    FUNCTION(false);
    return set_call(CUPTI_KIND_RUNTIME, CUPTI_DOMAIN_RUNTIME, call, enable != 0);
}

DOUBLE_EXPORT cupti_status cuptiActivityEnableDriverApi(uint32_t call, uint8_t enable)
{
    FUNCTION(false);
    return set_call(CUPTI_KIND_DRIVER, CUPTI_DOMAIN_DRIVER, call, enable != 0);
}
#endif
