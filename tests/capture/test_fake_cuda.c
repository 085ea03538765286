/* test_fake_cuda.c - the test double of CUDA itself: it gives what CUPTI gives, and ends who misuses it */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_cuda/double_cuda.h"

cupti_status cuptiSubscribe(cupti_subscriber *out, cupti_callback callback, void *user);
cupti_status cuptiUnsubscribe(cupti_subscriber subscriber);
cupti_status cuptiEnableCallback(uint32_t enable, cupti_subscriber subscriber, uint32_t domain, uint32_t id);
cupti_status cuptiActivityEnable(uint32_t kind);
cupti_status cuptiActivityRegisterCallbacks(cupti_buffer_wanted wanted, cupti_buffer_done done);
cupti_status cuptiActivityFlushAll(uint32_t flag);
cupti_status cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, cupti_record **record);
cupti_status cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);

/* A tracer of a few lines. */
static struct {
    unsigned kernels, runtime, driver, unknown, bad_times, enters, exits, nodes;
    uint32_t correlations[64];
    bool is_other_thread, flush_in_buffer, flush_in_resource, is_unaligned, is_damaged;
    pthread_t main;
} seen;

static void wanted(uint8_t **buffer, size_t *size, size_t *records)
{
    static uint8_t room[16384 + 8] __attribute__((aligned(8)));
    seen.is_other_thread = !pthread_equal(pthread_self(), seen.main);
    if (seen.flush_in_buffer) cuptiActivityFlushAll(0);
    *buffer = room + (seen.is_unaligned ? 4 : 0);
    *size = 16384;
    *records = 0;
}

static void take(const cupti_record *record)
{
    if (record->kind == CUPTI_KIND_RUNTIME) seen.runtime++;
    if (record->kind == CUPTI_KIND_DRIVER) seen.driver++;
    if (record->kind == 4711) seen.unknown++;
    if (record->kind != CUPTI_KIND_CONCURRENT_KERNEL) return;
    const cupti_kernel *kernel = (const void *)record;
    if (kernel->start == 0 || kernel->end < kernel->start) seen.bad_times++;
    seen.correlations[seen.kernels++ % 64] = kernel->correlation;
}

static void done(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    cupti_record *record = NULL;
    (void)context, (void)stream, (void)size;
    cupti_status status;
    while ((status = cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_OK) take(record);
    if (status == CUPTI_BAD_KIND) seen.is_damaged = true;
}

static void called(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user, (void)id;
    if (domain == CUPTI_DOMAIN_RESOURCE) {
        seen.nodes++;
        if (seen.flush_in_resource) cuptiActivityFlushAll(0);
        return;
    }
    const cupti_call *call = data;
    if (call->site == CUPTI_SITE_ENTER) *call->scratch = ++seen.enters + 100;
    if (call->site == CUPTI_SITE_EXIT) seen.exits++;
    if (call->site == CUPTI_SITE_EXIT && *call->scratch < 100) exit(11);
}

static cupti_subscriber trace(void)
{
    cupti_subscriber subscriber = NULL;
    seen.main = pthread_self();
    if (cuptiSubscribe(&subscriber, called, NULL) != CUPTI_OK) exit(12);
    cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_RUNTIME, 211);
    cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_NODE_CREATED);
    cuptiActivityRegisterCallbacks(wanted, done);
    cuptiActivityEnable(CUPTI_KIND_CONCURRENT_KERNEL);
    cuptiActivityEnable(CUPTI_KIND_RUNTIME);
    cuptiActivityEnable(CUPTI_KIND_DRIVER);
    return subscriber;
}

static double_function *start_cuda(void)
{
    double_context *context;
    double_function *function;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    cuModuleGetFunction(&function, NULL, "kernel");
    return function;
}

static void run(unsigned launches)
{
    static const unsigned one[3] = {1, 1, 1};
    trace();
    double_function *function = start_cuda();
    for (unsigned i = 0; i < launches; i++) cudaLaunchKernel(function, one, one, 0, NULL);
    cuCtxSynchronize();
    cuptiActivityFlushAll(0);
}

#define WANT(what)                                                                                                     \
    do {                                                                                                               \
        if (!(what)) _exit(__LINE__ % 200 + 20);                                                                       \
    } while (0)

static void all_arrives(void)
{
    run(50);
    WANT(seen.kernels == 50 && seen.runtime == 50 && seen.driver >= 51);
    WANT(seen.enters == 50 && seen.exits == 50 && seen.is_other_thread && !seen.bad_times && !seen.is_damaged);
    for (int i = 1; i < 50; i++) WANT(seen.correlations[i] == seen.correlations[i - 1] + 1);
}

static void a_third_is_dropped(void)
{
    size_t dropped;
    run(30);
    WANT(seen.kernels == 20);
    cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
    WANT(dropped == 10);
    cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
    WANT(dropped == 0);
}

static void times_are_bad(void)
{
    run(30);
    WANT(seen.kernels == 30 && seen.bad_times == 6);
}

static void order_is_not_kept(void)
{
    bool is_sorted = true;
    run(50);
    WANT(seen.kernels == 50);
    for (int i = 1; i < 50; i++) is_sorted &= seen.correlations[i] > seen.correlations[i - 1];
    WANT(!is_sorted);
}

static void kinds_are_unknown(void)
{
    run(20);
    WANT(seen.kernels == 20 && seen.unknown >= 10);
}

static void a_buffer_is_damaged(void)
{
    run(20);
    WANT(seen.is_damaged && seen.kernels < 20);
}

static void enable_kernel(void)
{
    cuptiActivityEnable(CUPTI_KIND_KERNEL);
}

static void flush_in_buffer(void)
{
    seen.flush_in_buffer = true;
    run(1);
}

static void flush_in_resource(void)
{
    double_graph *graph;
    void *node;
    seen.flush_in_resource = true;
    trace();
    start_cuda();
    cuGraphCreate(&graph, 0);
    cuGraphAddKernelNode(&node, graph, &(double_kernel){.name = "k"});
}

static void unaligned(void)
{
    seen.is_unaligned = true;
    run(1);
}

static void after_unsubscribe(void)
{
    cupti_subscriber subscriber = trace();
    cuptiUnsubscribe(subscriber);
    cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_RUNTIME, 211);
}

static void flush_in_child(void)
{
    int status;
    trace();
    pid_t child = fork();
    if (child == 0) {
        cuptiActivityFlushAll(1);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) raise(WTERMSIG(status));
}

/* ---- the cases, each in a process of its own ---- */

static const struct {
    const char *name;
    void (*work)(void);
} cases[] = {
#define CASE(name)                                                                                                     \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
    CASE(all_arrives),       CASE(a_third_is_dropped),  CASE(times_are_bad),     CASE(order_is_not_kept),
    CASE(kinds_are_unknown), CASE(a_buffer_is_damaged), CASE(enable_kernel),     CASE(flush_in_buffer),
    CASE(flush_in_resource), CASE(unaligned),           CASE(after_unsubscribe), CASE(flush_in_child),
};

/* How a process that does it ends, with this script: its status, or the signal below 0. */
static int ends(const char *name, const char *script)
{
    char path[] = "/tmp/fake-cuda-script-XXXXXX";
    int fd = mkstemp(path), status;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, script, strlen(script)), (ssize_t)strlen(script));
    close(fd);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        unsetenv("CUDA_INJECTION64_PATH");
        unsetenv("FAKE_CUDA_TRUTH");
        setenv("FAKE_CUDA_SCRIPT", path, 1);
        if (!freopen("/dev/null", "w", stderr)) _exit(94);
        execl("/proc/self/exe", "test_fake_cuda", name, (char *)NULL);
        _exit(95);
    }
    waitpid(child, &status, 0);
    unlink(path);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void test_double__gives_records_and_callbacks_as_cupti_does(void **state)
{
    (void)state;
    assert_int_equal(ends("all_arrives", ""), 0);
    assert_int_equal(ends("all_arrives", "version 13\nbuffer-records 7\n"), 0);
    assert_int_equal(ends("a_third_is_dropped", "drop-every 3\n"), 0);
    assert_int_equal(ends("times_are_bad", "bad-times-every 5 zero\n"), 0);
    assert_int_equal(ends("times_are_bad", "bad-times-every 5 reversed\n"), 0);
    assert_int_equal(ends("order_is_not_kept", "order shuffled\nkernel 1\n"), 0);
    assert_int_equal(ends("order_is_not_kept", "order reversed\nkernel 1\n"), 0);
    assert_int_equal(ends("kinds_are_unknown", "unknown-every 4 # comment\n"), 0);
    assert_int_equal(ends("a_buffer_is_damaged", "damaged-every 1\n"), 0);
    assert_int_equal(ends("all_arrives", "fail cuptiSubscribe 15\n"), 12);
    assert_int_equal(ends("all_arrives", "subscriber-taken\n"), 12);
}

static void test_double__ends_who_does_what_cupti_forbids(void **state)
{
    (void)state;
    assert_int_equal(ends("enable_kernel", ""), -SIGABRT);
    assert_int_equal(ends("flush_in_buffer", ""), -SIGABRT);
    assert_int_equal(ends("flush_in_resource", ""), -SIGABRT);
    assert_int_equal(ends("unaligned", ""), -SIGABRT);
    assert_int_equal(ends("after_unsubscribe", ""), -SIGABRT);
    assert_int_equal(ends("flush_in_child", ""), -SIGABRT);
    assert_int_equal(ends("all_arrives", "nonsense\n"), -SIGABRT);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name) != 0) continue;
        signal(SIGABRT, SIG_DFL);
        cases[i].work();
        _exit(0);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_double__gives_records_and_callbacks_as_cupti_does),
                                       cmocka_unit_test(test_double__ends_who_does_what_cupti_forbids)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
