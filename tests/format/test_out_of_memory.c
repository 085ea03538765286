/* test_out_of_memory.c - a reader or writer whose n-th allocation fails says so, or gives all the same
 *
 * The functions of the C library that give memory go by way of this file, by --wrap of the linker.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "heddle/format.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

static atomic_long left = -1; /* allocations until the one that fails; below 0: that was it, or none does */

/* Where there is a sanitizer it can tell which allocation that was. */
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));
static bool tells;

static bool fails(void)
{
    if (atomic_load(&left) < 0 || atomic_fetch_sub(&left, 1) != 0) return false;
    if (tells && &__sanitizer_print_stack_trace) __sanitizer_print_stack_trace();
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

/* As PyTorch writes: work with device and stream, the stacks of its launches, top-level keys. */
static const char document[] =
    "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":3,\"world_size\":8},\"baseTimeNanoseconds\":"
    "1700000000000000000,"
    "\"stackFrames\":{\"1\":{\"name\":\"main\"},\"2\":{\"name\":\"step\",\"parent\":\"1\"}},\"traceEvents\":["
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"tid\":0,\"args\":{\"name\":\"python\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":7,\"args\":{\"name\":\"stream 7\"}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":7,\"tid\":9,\"ts\":1.5,\"dur\":2,"
    "\"sf\":2,"
    "\"args\":{\"correlation\":5,\"External id\":1}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":4,\"dur\":6.25,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":5,\"grid\":[1,2,3],\"est\":1.5}},"
    "{\"ph\":\"s\",\"id\":5,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":7,\"tid\":9,\"ts\":1.5},"
    "{\"ph\":\"f\",\"id\":5,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":0,\"tid\":7,\"ts\":4,\"bp\":\"e\"},"
    "{\"ph\":\"B\",\"name\":\"outer\",\"pid\":7,\"tid\":9,\"ts\":10},{\"ph\":\"E\",\"pid\":7,\"tid\":9,\"ts\":12},"
    "{\"ph\":\"C\",\"name\":\"memory\",\"pid\":7,\"ts\":11,\"args\":{\"bytes\":4096}},"
    "{\"ph\":\"i\",\"name\":\"mark\",\"pid\":7,\"tid\":9,\"ts\":11,\"s\":\"t\"},"
    "{\"ph\":\"b\",\"cat\":\"io\",\"id\":\"0x1\",\"name\":\"load\",\"pid\":7,\"tid\":9,\"ts\":1},"
    "{\"ph\":\"e\",\"cat\":\"io\",\"id\":\"0x1\",\"name\":\"load\",\"pid\":7,\"tid\":9,\"ts\":3}]}";

/* As an injected CUPTI library writes it. */
static const char records[] =
    "{\"type\":\"RUNTIME\",\"start\":1000,\"end\":3500,\"name\":\"cudaLaunchKernel_v7000\",\"correlationId\":11,"
    "\"processId\":42,\"threadId\":43}\n"
    "{\"type\":\"CONCURRENT_KERNEL\",\"start\":4000,\"end\":9000,\"name\":\"gemm\",\"correlationId\":11,\"grid\":[64,1,"
    "1],"
    "\"block\":[128,1,1],\"sharedMemory\":{\"static\":1024,\"dynamic\":16},\"deviceId\":0,\"streamId\":7}\n"
    "{\"type\":\"MEMORY2\",\"timestamp\":15000,\"memoryOperation\":\"ALLOCATE\",\"memoryKind\":\"DEVICE\",\"size\":"
    "32768,"
    "\"address\":1254,\"deviceId\":0,\"contextId\":1,\"streamId\":7,\"processId\":42}\n";

static char folder[] = "/tmp/heddle-test-XXXXXX";

static const char *const names[] = {"in.json", "in.cupti", "in.sbt", "in.heddle", "in.pftrace"};
enum { NAMES = sizeof names / sizeof *names };

/* Of formats that nothing is written in. */
static const char *const foreign[] = {
    "folded/small-extended.folded",
    "perfscript/small.perf",
    "tfmemory/two.memory_profile.json",
    "perfetto/small.pftrace",
    "perfetto/edge-args.pftrace",
    "perfetto/edge-samples.pftrace",
    "nsys/small.sqlite",
    "ascend/small.db",
    "rpd/small.rpd",
    "rocpd/v4.db",
};
static const char *const written[] = {"out.json", "out.sbt", "out.heddle", "out.pftrace"};

static const char *file_named(char *out, const char *name)
{
    sprintf(out, "%s/%s", folder, name);
    return out;
}

static bool make_file(const char *name, const char *text)
{
    char path[64];
    FILE *file = fopen(file_named(path, name), "w");
    return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

/* The document in each format. */
static int make_input(void **state)
{
    char path[64];
    hd_trace *trace;
    (void)state;
    if (!mkdtemp(folder)) return -1;
    bool fine = make_file(names[0], document) && make_file(names[1], records);
    if (!fine || hd_trace_read(&trace, file_named(path, names[0]), NULL, NULL) != HD_OK) return -1;
    for (int i = 2; i < NAMES; i++) fine &= hd_trace_write(trace, file_named(path, names[i]), NULL, NULL) == HD_OK;
    hd_trace_free(trace);
    return fine ? 0 : -1;
}

static int remove_input(void **state)
{
    char path[64];
    (void)state;
    for (int i = 0; i < NAMES; i++) unlink(file_named(path, names[i]));
    return rmdir(folder);
}

/* What the file says without the n-th allocation; *went: there was none. NULL: the reader said that memory ran out. */
static char *dump_without(bool *went, const char *path, long n)
{
    hd_trace *trace = NULL;
    hd_error err = {0};
    const hd_read_options options = {.threads = 1};
    atomic_store(&left, n);
    hd_status status = hd_trace_read(&trace, path, &options, &err);
    *went = atomic_exchange(&left, -1) >= 0;
    if (status != HD_OK) {
        if (status != HD_ERR_MEMORY || *went) fail_msg("allocation %ld: status %d: %s", n, status, err.message);
        return NULL;
    }
    char *text = dump_trace(trace, DUMP_CONTENT);
    hd_trace_free(trace);
    return text;
}

static void assert_reads(const char *path)
{
    bool went = false;
    int refused = 0, others = 0;
    char *whole = dump_without(&went, path, LONG_MAX);
    assert_true(went && whole);
    went = false;
    for (long n = 0; !went; n++) {
        char *text = dump_without(&went, path, n);
        if (text && strcmp(text, whole) != 0) {
            print_error("%s: without this allocation, of number %ld, it is another trace\n", path, n);
            others++;
            free(text);
            tells = true;
            text = dump_without(&went, path, n);
            tells = false;
        }
        refused += !text;
        free(text);
    }
    free(whole);
    assert_int_equal(others, 0);
    assert_true(refused > 20);
}

static void test_out_of_memory__what_is_read_is_whole_or_refused(void **state)
{
    (void)state;
    char path[64];
    for (int i = 0; i < NAMES; i++) assert_reads(file_named(path, names[i]));
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        char other[1024];
        snprintf(other, sizeof other, "%s/tests/format/%s", getenv("HEDDLE_SOURCE_ROOT"), foreign[i]);
        assert_reads(other);
    }
}

/* The file that is written without the n-th allocation; *went: there was none. NULL: the writer said that memory ran
 * out. */
static char *write_without(bool *went, size_t *size, const hd_trace *trace, const char *name, long n)
{
    char path[64];
    hd_error err = {0};
    const hd_write_options options = {.threads = 1};
    file_named(path, name);
    atomic_store(&left, n);
    hd_status status = hd_trace_write(trace, path, &options, &err);
    *went = atomic_exchange(&left, -1) >= 0;
    if (status != HD_OK) {
        if (status != HD_ERR_MEMORY || *went) fail_msg("%s, allocation %ld: %d: %s", name, n, status, err.message);
        return NULL;
    }
    char *bytes = file_text(path, size);
    unlink(path);
    return bytes;
}

static void assert_writes(const hd_trace *trace, const char *name)
{
    bool went = false;
    size_t size, whole_size;
    int others = 0, refused = 0;
    char *whole = write_without(&went, &whole_size, trace, name, LONG_MAX);
    assert_true(went && whole);
    went = false;
    for (long n = 0; !went; n++) {
        char *bytes = write_without(&went, &size, trace, name, n);
        if (bytes && (size != whole_size || memcmp(bytes, whole, size) != 0)) {
            print_error("%s: without this allocation, of number %ld, it is another file\n", name, n);
            others++;
            free(bytes);
            tells = true;
            bytes = write_without(&went, &size, trace, name, n);
            tells = false;
        }
        refused += !bytes;
        free(bytes);
    }
    free(whole);
    assert_int_equal(others, 0);
    assert_true(refused > 5);
}

static void test_out_of_memory__what_is_written_is_whole_or_not_there(void **state)
{
    (void)state;
    char path[64];
    hd_trace *trace;
    assert_int_equal(hd_trace_read(&trace, file_named(path, names[0]), NULL, NULL), HD_OK);
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) assert_writes(trace, written[i]);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_memory__what_is_read_is_whole_or_refused),
        cmocka_unit_test(test_out_of_memory__what_is_written_is_whole_or_not_there),
    };
    return cmocka_run_group_tests(tests, make_input, remove_input);
}
