/* test_ways.c - which ways to capture work: made-up trees, programs of our own on PATH, and this machine itself */
#include "devices/device_trees.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

static void put_driver(void)
{
    put_pci("pci0000:3a/0000:3a:00.0/0000:3b:00.0", "0x030200\n", "0x10de\n", "0x2330\n", "nvidia", 0);
    put_file("/sys/module/nvidia/version", "580.95.05\n");
    put_file("/proc/driver/nvidia/version", "NVRM version: 580.95.05\n");
}

/* A program that prints a line. */
static void put_program(const char *name, const char *line)
{
    char path[200], text[300];
    snprintf(text, sizeof text, "#!/bin/sh\necho '%s'\n", line);
    put_file(name, text);
    snprintf(path, sizeof path, "%s%s", tree_root, name);
    assert_int_equal(chmod(path, 0755), 0);
}

static void set_path(const char *folders)
{
    char path[400];
    snprintf(path, sizeof path, folders, tree_root, tree_root);
    setenv("PATH", path, 1);
}

static void test_ways__cuda_says_what_is_missing_one_after_the_other(void **state)
{
    (void)state;
    hd_devices *devices = look(NULL);
    assert_non_null(strstr(hd_devices_way(devices, "cuda")->why, "no NVIDIA driver"));
    hd_devices_free(devices);
    put_driver();
    devices = look(NULL);
    const hd_way *way = hd_devices_way(devices, "cuda");
    assert_int_equal(way->state, HD_WAY_MISSING);
    assert_non_null(strstr(way->why, "no libcuda.so.1"));
    assert_non_null(strstr(way->why, "driver 580.95.05"));
    hd_devices_free(devices);
    put_file("/usr/lib64/libcuda.so.1", "");
    devices = look(NULL);
    way = hd_devices_way(devices, "cuda");
    assert_non_null(strstr(way->why, "libcuda: /usr/lib64/libcuda.so.1"));
    if (!devices->injection[0]) { /* libheddle-cuda.so is this build's own, where it has one */
        assert_int_equal(way->state, HD_WAY_MISSING);
        assert_non_null(strstr(way->why, "libheddle-cuda.so is missing"));
    } else {
        assert_int_equal(way->state, HD_WAY_PARTLY);
        assert_non_null(strstr(way->why, "only programs that bring their own CUPTI"));
    }
    hd_devices_free(devices);
    put_file("/usr/local/cuda-13.0/lib64/libcupti.so.13", "");
    devices = look(NULL);
    way = hd_devices_way(devices, "cuda");
    assert_non_null(strstr(way->why, "CUPTI 13: /usr/local/cuda-13.0/lib64/libcupti.so.13"));
    if (devices->injection[0]) { /* the tracer does not look there */
        assert_int_equal(way->state, HD_WAY_PARTLY);
        assert_non_null(strstr(way->advice, "HEDDLE_CUPTI"));
    }
    hd_devices_free(devices);
    put_file("/usr/local/cuda/lib64/libcupti.so.13", "");
    put_file("/proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n");
    devices = look(NULL);
    way = hd_devices_way(devices, "cuda");
    assert_non_null(strstr(way->why, "CUPTI 13: /usr/local/cuda/lib64/libcupti.so.13"));
    if (devices->injection[0]) {
        assert_int_equal(way->state, HD_WAY_WORKS);
        assert_non_null(strstr(way->advice, "RmProfilingAdminOnly"));
    }
    hd_devices_free(devices);
}

static void test_ways__a_cupti_that_is_newer_than_the_driver_is_passed_over(void **state)
{
    (void)state;
    const char *nvml = getenv("HEDDLE_NVML_DOUBLE");
    put_driver();
    put_file("/usr/lib64/libcuda.so.1", "");
    put_file("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13", "");
    setenv("NVML_DOUBLE", "older", 1); /* CUDA 12.4 */
    hd_devices *devices = look(nvml);
    const hd_way *way = hd_devices_way(devices, "cuda");
    assert_non_null(strstr(way->why, "CUDA 12.4"));
    if (devices->injection[0]) {
        assert_int_equal(way->state, HD_WAY_PARTLY);
        assert_non_null(strstr(way->why, "CUPTI is newer than the driver"));
    }
    hd_devices_free(devices);
    put_file("/usr/local/cuda/lib64/libcupti.so.12", "");
    devices = look(nvml);
    way = hd_devices_way(devices, "cuda");
    assert_non_null(strstr(way->why, "CUPTI 12: /usr/local/cuda/lib64/libcupti.so.12"));
    if (devices->injection[0]) assert_int_equal(way->state, HD_WAY_WORKS);
    hd_devices_free(devices);
}

static void test_ways__another_machines_kernel_is_read_and_not_tried(void **state)
{
    (void)state;
    hd_devices *devices = look(NULL);
    assert_non_null(strstr(hd_devices_way(devices, "uprobe")->why, "no uprobe events"));
    assert_int_equal(state_of(devices, "perf-stacks"), HD_WAY_MISSING);
    assert_int_equal(state_of(devices, "kernel"), HD_WAY_MISSING);
    assert_non_null(strstr(hd_devices_way(devices, "kernel")->advice, "mount -t tracefs"));
    hd_devices_free(devices);
    put_file("/sys/kernel/debug/tracing/events/sched/sched_switch/id", "316\n");
    put_file("/sys/bus/event_source/devices/uprobe/type", "9\n");
    put_file("/proc/sys/kernel/perf_event_paranoid", "4\n");
    put_file("/proc/self/status", "Name:\tx\nCapEff:\t0000004000000000\n");
    devices = look(NULL);
    assert_int_equal(state_of(devices, "uprobe"), HD_WAY_PARTLY);
    assert_non_null(strstr(hd_devices_way(devices, "uprobe")->why, "perf_event_paranoid is 4, CAP_PERFMON is held"));
    assert_int_equal(state_of(devices, "perf-stacks"), HD_WAY_PARTLY);
    assert_int_equal(state_of(devices, "kernel"), HD_WAY_PARTLY);
    hd_devices_free(devices);
    put_file("/sys/bus/event_source/devices/uprobe/type", "nine\n");
    put_file("/proc/self/status", "CapEff:\t0000000000000000\n");
    devices = look(NULL);
    assert_int_equal(state_of(devices, "uprobe"), HD_WAY_MISSING);
    assert_non_null(strstr(hd_devices_way(devices, "uprobe")->why, "CAP_PERFMON is not held"));
    hd_devices_free(devices);
}

static void test_ways__tools_are_those_that_can_be_run_from_path(void **state)
{
    (void)state;
    char found[400], expected[400];
    put_program("/b/nsys", "");
    put_program("/b/rocprofv3", "");
    put_file("/a/nsys", "not a program\n"); /* it has no right to run */
    put_file("/b/mctracer", "");
    set_path("%s/a:%s/b:");
    snprintf(expected, sizeof expected, "%s/b/nsys", tree_root);
    assert_true(hd_devices_program(found, sizeof found, "nsys"));
    assert_string_equal(found, expected);
    assert_false(hd_devices_program(found, 10, "nsys"));
    assert_false(hd_devices_program(found, sizeof found, "b/nsys"));
    assert_false(hd_devices_program(found, sizeof found, ""));
    put_file("/proc/driver/nvidia/version", "x\n");
    hd_devices *devices = look(NULL);
    assert_int_equal(state_of(devices, "nsys"), HD_WAY_WORKS);
    assert_string_equal(hd_devices_way(devices, "nsys")->why, expected);
    assert_int_equal(state_of(devices, "rocprofv3"), HD_WAY_PARTLY); /* no /dev/kfd */
    assert_int_equal(state_of(devices, "mctracer"), HD_WAY_MISSING);
    assert_int_equal(state_of(devices, "python"), HD_WAY_MISSING); /* not on this PATH */
    hd_devices_free(devices);
    unsetenv("PATH");
    assert_false(hd_devices_program(found, sizeof found, "nsys"));
}

static void test_ways__python_is_asked_for_its_version(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        hd_way_state state;
        const char *why;
    } cases[] = {
        {"3 12 1 0", HD_WAY_WORKS, "Python 3.12: stacks taken inside"},
        {"3 13 0 0", HD_WAY_PARTLY, "those by the kernel do not"},
        {"3 13 1 1", HD_WAY_PARTLY, "Python 3.13 without GIL: only stacks taken by the kernel"},
        {"3 11 0 0", HD_WAY_PARTLY, "Python 3.11: stacks taken inside"},
        {"3 15 1 0", HD_WAY_WORKS, "Python 3.15: stacks taken inside"},
        {"3 16 1 0", HD_WAY_PARTLY, "only stacks taken by the kernel"},
        {"3 10 0 0", HD_WAY_MISSING, "no stacks name functions"},
        {"2 7 0 0", HD_WAY_MISSING, "is unknown"},
        {"3 12 1", HD_WAY_MISSING, "is unknown"},
        {"nonsense", HD_WAY_MISSING, "is unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_program("/b/python3", cases[i].line);
        set_path("%s/b:/bin");
        hd_devices *devices = look(NULL);
        assert_int_equal(state_of(devices, "python"), cases[i].state);
        assert_non_null(strstr(hd_devices_way(devices, "python")->why, cases[i].why));
        hd_devices_free(devices);
    }
    put_file("/b/python3", "#!/bin/sh\nyes\n"); /* prints without end */
    hd_devices *devices = look(NULL);
    assert_int_equal(state_of(devices, "python"), HD_WAY_MISSING);
    hd_devices_free(devices);
}

/* The way says of stacks what the kernel says to us. */
static void test_ways__this_machine_is_tried_for_real(void **state)
{
    (void)state;
    hd_devices *devices;
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = 1000000,
                                   .sample_type = PERF_SAMPLE_CALLCHAIN,
                                   .disabled = 1,
                                   .exclude_kernel = 1};
    long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    int refused = errno;
    if (fd >= 0) close((int)fd);
    assert_int_equal(hd_devices_new(&devices, NULL, NULL), HD_OK);
    assert_int_equal(state_of(devices, "perf-stacks"), fd >= 0 ? HD_WAY_WORKS : HD_WAY_MISSING);
    if (fd < 0) assert_non_null(strstr(hd_devices_way(devices, "perf-stacks")->why, strerror(refused)));
    bool has_type = access("/sys/bus/event_source/devices/uprobe/type", R_OK) == 0;
    if (!has_type) assert_int_equal(state_of(devices, "uprobe"), HD_WAY_MISSING);
    bool has_events = access("/sys/kernel/tracing/events/sched/sched_switch/id", R_OK) == 0 ||
                      access("/sys/kernel/debug/tracing/events/sched/sched_switch/id", R_OK) == 0;
    if (!has_events) assert_int_equal(state_of(devices, "kernel"), HD_WAY_MISSING);
    if (state_of(devices, "kernel") == HD_WAY_MISSING)
        assert_true(hd_devices_way(devices, "kernel")->advice[0] != '\0');
    if (state_of(devices, "uprobe") == HD_WAY_MISSING)
        assert_true(hd_devices_way(devices, "uprobe")->advice[0] != '\0');
    assert_int_equal(state_of(devices, "session"), HD_WAY_WORKS);
    hd_devices_free(devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways__this_machine_is_tried_for_real), /* before PATH is changed */
        cmocka_unit_test_setup_teardown(test_ways__cuda_says_what_is_missing_one_after_the_other, make_tree,
                                        remove_tree),
        cmocka_unit_test_setup_teardown(test_ways__a_cupti_that_is_newer_than_the_driver_is_passed_over, make_tree,
                                        remove_tree),
        cmocka_unit_test_setup_teardown(test_ways__another_machines_kernel_is_read_and_not_tried, make_tree,
                                        remove_tree),
        cmocka_unit_test_setup_teardown(test_ways__tools_are_those_that_can_be_run_from_path, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(test_ways__python_is_asked_for_its_version, make_tree, remove_tree),
    };
    return cmocka_run_group_tests_name("ways", tests, NULL, NULL);
}
