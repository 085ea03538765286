/* test_out_of_memory.c - a reader whose n-th allocation fails says so, or gives all the same
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

static char folder[] = "/tmp/heddle-test-XXXXXX";

static const char *const names[] = {"in.json", "in.sbt"};
enum { NAMES = sizeof names / sizeof *names };

static const char *file_named(char *out, const char *name)
{
    sprintf(out, "%s/%s", folder, name);
    return out;
}

/* The document in each format. */
static int make_input(void **state)
{
    char path[64];
    hd_trace *trace;
    (void)state;
    if (!mkdtemp(folder)) return -1;
    FILE *file = fopen(file_named(path, names[0]), "w");
    if (!file || fputs(document, file) < 0 || fclose(file) != 0) return -1;
    if (hd_trace_read(&trace, path, NULL, NULL) != HD_OK) return -1;
    bool fine = true;
    for (int i = 1; i < NAMES; i++) fine &= hd_trace_write(trace, file_named(path, names[i]), NULL, NULL) == HD_OK;
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

static void assert_reads(const char *name)
{
    char path[64];
    file_named(path, name);
    bool went = false;
    int refused = 0, others = 0;
    char *whole = dump_without(&went, path, LONG_MAX);
    assert_true(went && whole);
    went = false;
    for (long n = 0; !went; n++) {
        char *text = dump_without(&went, path, n);
        if (text && strcmp(text, whole) != 0) {
            print_error("%s: without this allocation, of number %ld, it is another trace\n", name, n);
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
    for (int i = 0; i < NAMES; i++) assert_reads(names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_memory__what_is_read_is_whole_or_refused),
    };
    return cmocka_run_group_tests(tests, make_input, remove_input);
}
