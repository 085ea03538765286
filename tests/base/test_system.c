/* test_system.c - the limits of control groups, from trees of files made here, and of ulimit */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"

static char folder[] = "/tmp/heddle_system_XXXXXX";
static int tree;

typedef struct fake_file {
    const char *path, *text;
} fake_file;

/* A file and the folders above it. */
static void put(const char *root, const fake_file *file)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, file->path);
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(file->text, out);
    fclose(out);
}

static void check(const fake_file *files, size_t count, uint64_t cores, uint64_t bytes)
{
    char root[256];
    snprintf(root, sizeof root, "%s/%d", folder, tree++);
    for (size_t i = 0; i < count; i++) put(root, &files[i]);
    assert_true(hd_core_limit_in(root) == cores);
    assert_true(hd_memory_limit_in(root) == bytes);
}

#define CHECK(files, cores, bytes) check(files, sizeof files / sizeof *files, cores, bytes)

static void test_system__version_2_says_cores_in_one_file(void **state)
{
    (void)state;
    const char *texts[] = {"200000 100000\n", "100000 100000\n", "100001 100000\n",
                           "99999 100000\n",  "1000 100000\n",   "max 100000\n",
                           "0 100000\n",      "200000 0\n",      "",
                           "-5 10\n"};
    const uint64_t cores[] = {2, 1, 2, 1, 1, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const fake_file files[] = {{"proc/self/cgroup", "0::/one\n"}, {"sys/fs/cgroup/one/cpu.max", texts[i]}};
        CHECK(files, cores[i], UINT64_MAX);
    }
}

static void test_system__the_least_limit_above_a_group_counts(void **state)
{
    (void)state;
    const fake_file above[] = {{"proc/self/cgroup", "0::/a/b/c\n"},
                               {"sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n"},
                               {"sys/fs/cgroup/a/b/cpu.max", "800000 100000\n"},
                               {"sys/fs/cgroup/a/cpu.max", "350000 100000\n"},
                               {"sys/fs/cgroup/a/b/memory.max", "5000\n"},
                               {"sys/fs/cgroup/a/memory.max", "max\n"}};
    CHECK(above, 4, 5000);
    /* in a container that sees the groups of the machine by their names, the mount itself is the group */
    const fake_file mount[] = {{"proc/self/cgroup", "0::/docker/0123\n"}, {"sys/fs/cgroup/cpu.max", "50000 100000\n"}};
    CHECK(mount, 1, UINT64_MAX);
    const fake_file root[] = {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "300000 100000\n"}};
    CHECK(root, 3, UINT64_MAX);
}

static void test_system__version_1_has_two_files_and_its_controllers_by_name(void **state)
{
    (void)state;
    const fake_file files[] = {
        {"proc/self/cgroup", "12:cpuset:/x\n4:memory:/m\n3:cpu,cpuacct:/a/b\n1:name=cpu:/n\n0::/\n"},
        {"sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n"},
        {"sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n"},
        {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "450000\n"},
        {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"},
        {"sys/fs/cgroup/cpuset/x/cpu.cfs_quota_us", "100000\n"},
        {"sys/fs/cgroup/cpuset/x/cpu.cfs_period_us", "100000\n"},
        {"sys/fs/cgroup/memory/m/memory.limit_in_bytes", "7000\n"},
        {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"}};
    CHECK(files, 5, 7000);
    const fake_file half[] = {{"proc/self/cgroup", "1:cpu:/\n"}, {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n"}};
    CHECK(half, UINT64_MAX, UINT64_MAX);
}

static void test_system__nothing_to_read_is_no_limit(void **state)
{
    (void)state;
    const fake_file nothing[] = {{"proc/self/status", ""}};
    CHECK(nothing, UINT64_MAX, UINT64_MAX);
    const fake_file odd[] = {{"proc/self/cgroup", "\n:\n::\n0:\n3:cpu\n:cpu:\n,:,:/\n"}};
    CHECK(odd, UINT64_MAX, UINT64_MAX);
    assert_true(hd_core_count() >= 1);
    assert_true(hd_core_count() <= hd_core_limit_in(""));
}

static void test_system__ulimit_bounds_memory(void **state)
{
    (void)state;
    enum { IGNORED = 77 }; /* by qemu-user, whose setrlimit succeeds and changes nothing */
    const int resources[] = {RLIMIT_AS, RLIMIT_DATA};
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
        int status;
        pid_t child = fork(); /* since the default is cached */
        if (child == 0) {
            const struct rlimit limit = {512 << 20, RLIM_INFINITY};
            struct rlimit now;
            if (setrlimit(resources[i], &limit) != 0 || getrlimit(resources[i], &now) != 0) _exit(2);
            if (now.rlim_cur != limit.rlim_cur) _exit(IGNORED);
            _exit(hd_memory_default() != limit.rlim_cur / 4);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == IGNORED) skip();
        assert_int_equal(status, 0);
    }
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_system__version_2_says_cores_in_one_file),
        cmocka_unit_test(test_system__the_least_limit_above_a_group_counts),
        cmocka_unit_test(test_system__version_1_has_two_files_and_its_controllers_by_name),
        cmocka_unit_test(test_system__nothing_to_read_is_no_limit),
        cmocka_unit_test(test_system__ulimit_bounds_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
