/* test_devices.c - GPUs and their links, from made-up trees of sysfs and a test double of NVML */
#include "devices/device_trees.h"

#define NVIDIA_PROC "/proc/driver/nvidia/gpus/0000:3b:00.0/information"
#define KFD "/sys/class/kfd/kfd/topology/nodes"

static const char *double_path(void)
{
    return getenv("HEDDLE_NVML_DOUBLE");
}

static void put_nvidia(void)
{
    const char *at = put_pci("pci0000:3a/0000:3a:00.0/0000:3b:00.0", "0x030200\n", "0x10de\n", "0x2330\n", "nvidia", 0);
    put_at(at, "current_link_speed", "32.0 GT/s PCIe\n");
    put_at(at, "current_link_width", "16\n");
    put_at(at, "max_link_width", "16\n");
    put_file("/sys/module/nvidia/version", "580.95.05\n");
    put_file(NVIDIA_PROC, "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 34\nGPU UUID: \t GPU-abc\n");
}

/* ---- what the kernel tells ---- */

static void test_devices__an_empty_machine_has_no_gpu_and_all_ways_say_why(void **state)
{
    (void)state;
    hd_devices *devices = look(NULL);
    assert_int_equal(devices->gpu_count, 0);
    assert_int_equal(devices->way_count, 11);
    for (size_t i = 0; i < devices->way_count; i++) {
        assert_true(devices->ways[i].why[0] != '\0');
        if (devices->ways[i].state == HD_WAY_MISSING) assert_true(devices->ways[i].advice[0] != '\0');
    }
    assert_int_equal(state_of(devices, "cuda"), HD_WAY_MISSING);
    assert_int_equal(state_of(devices, "uprobe"), HD_WAY_MISSING);
    assert_int_equal(state_of(devices, "kernel"), HD_WAY_MISSING);
    assert_null(hd_devices_way(devices, "magic"));
    hd_devices_free(devices);
}

static void test_devices__nvidia_without_nvml_is_named_by_proc(void **state)
{
    (void)state;
    put_nvidia();
    put_pci("pci0000:3a/0000:3a:01.0/0000:3c:00.0", "0x030000\n", "0x10de\n", "0x1eb8\n", "nouveau", 0);
    put_pci("pci0000:3a/0000:3a:02.0/0000:3d:00.0", "0x030000\n", "0x10de\n", "0x1eb8\n", NULL, -1);
    put_pci("pci0000:3a/0000:3a:03.0", "0x020000\n", "0x8086\n", "0x1572\n", "i40e", 0); /* a network card */
    hd_devices *devices = look(NULL);
    assert_int_equal(devices->gpu_count, 3);
    const hd_gpu *gpu = &devices->gpus[0];
    assert_int_equal(gpu->vendor, HD_GPU_NVIDIA);
    assert_string_equal(gpu->name, "NVIDIA H100 80GB HBM3");
    assert_string_equal(gpu->uuid, "GPU-abc");
    assert_string_equal(gpu->pci, "0000:3b:00.0");
    assert_string_equal(gpu->driver, "nvidia 580.95.05");
    assert_string_equal(gpu->cpus, "0-31");
    assert_string_equal(gpu->pcie_speed, "32.0 GT/s PCIe");
    assert_int_equal(gpu->pcie_lanes, 16);
    assert_int_equal(gpu->numa_node, 0);
    assert_int_equal(gpu->memory_bytes, -1);
    assert_string_equal(gpu->problem, "");
    assert_non_null(strstr(devices->gpus[1].problem, "nouveau"));
    assert_string_equal(devices->gpus[1].name, "NVIDIA 10de:1eb8");
    assert_string_equal(devices->gpus[2].problem, "no driver is bound to it");
    assert_int_equal(devices->gpus[2].numa_node, -1);
    hd_devices_free(devices);
}

static void put_node(int number, const char *properties, const char *memory)
{
    char path[200];
    snprintf(path, sizeof path, KFD "/%d/properties", number);
    put_file(path, properties);
    if (!memory) return;
    snprintf(path, sizeof path, KFD "/%d/mem_banks/0/properties", number);
    put_file(path, memory);
    snprintf(path, sizeof path, KFD "/%d/mem_banks/1/properties", number);
    put_file(path, "heap_type 4\nsize_in_bytes 65536\n"); /* scratch of the chip, not memory */
}

static void test_devices__amd_gpus_and_their_links_come_from_kfd(void **state)
{
    (void)state;
    const char *at = put_pci("pci0000:40/0000:40:01.0/0000:43:00.0", "0x120000\n", "0x1002\n", "0x74a1\n", "amdgpu", 0);
    put_at(at, "mem_info_vram_total", "206141652992\n");
    put_at(at, "product_name", "AMD Instinct MI300X\n");
    put_pci("pci0000:80/0000:80:01.0/0000:83:00.0", "0x120000\n", "0x1002\n", "0x74a1\n", "amdgpu", 1);
    put_node(0, "cpu_cores_count 64\nsimd_count 0\n", NULL);
    put_node(9,
             "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\ndomain 0\nlocation_id 17152\n"
             "vendor_id 4098\ndevice_id 29857\nunique_id 255\n",
             "heap_type 1\nsize_in_bytes 206141652992\nflags 0\n");
    put_node(10, "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90010\ndomain 0\nlocation_id 33536\n",
             "heap_type 2\nsize_in_bytes 68702699520\n");
    put_file(KFD "/9/io_links/0/properties", "type 2\nnode_from 9\nnode_to 0\nmax_bandwidth 64000\n");
    put_file(KFD "/9/io_links/1/properties", "type 11\nnode_from 9\nnode_to 10\nweight 15\nmax_bandwidth 64000\n");
    hd_devices *devices = look(NULL);
    assert_int_equal(devices->gpu_count, 2);
    const hd_gpu *first = &devices->gpus[0], *second = &devices->gpus[1];
    assert_string_equal(first->name, "AMD Instinct MI300X");
    assert_string_equal(first->pci, "0000:43:00.0");
    assert_string_equal(first->architecture, "gfx942");
    assert_string_equal(first->uuid, "GPU-00000000000000ff");
    assert_string_equal(first->driver, "amdgpu");
    assert_int_equal(first->multiprocessors, 304);
    assert_int_equal(first->memory_bytes, 206141652992);
    assert_int_equal(first->index, 0);
    assert_string_equal(second->architecture, "gfx90a");
    assert_int_equal(second->memory_bytes, 68702699520);
    assert_int_equal(second->index, 1);
    assert_int_equal(second->numa_node, 1);
    for (size_t a = 0; a < 2; a++) {
        assert_int_equal(path_between(devices, a, a).link, HD_LINK_SELF);
        assert_int_equal(path_between(devices, a, 1 - a).link, HD_LINK_XGMI);
        assert_int_equal(path_between(devices, a, 1 - a).mb_per_s, 64000);
    }
    hd_devices_free(devices);
}

static void test_devices__intel_memory_is_the_sum_of_tiles(void **state)
{
    (void)state;
    const char *at = put_pci("pci0000:16/0000:16:02.0/0000:18:00.0", "0x038000\n", "0x8086\n", "0x0bd5\n", "xe", 0);
    put_at(at, "tile0/physical_vram_size_bytes", "68719476736\n");
    put_at(at, "tile1/physical_vram_size_bytes", "68719476736\n");
    put_pci("pci0000:00/0000:00:02.0", "0x030000\n", "0x8086\n", "0x9a49\n", "i915", -1);
    put_pci("pci0000:00/0000:00:03.0", "0x030000\n", "0x1a03\n", "0x2000\n", "ast", -1); /* the board's own display */
    put_link("/sys/class/drm/card1/device", "../../../devices/pci0000:16/0000:16:02.0/0000:18:00.0");
    put_link("/sys/class/drm/card0/device", "../../../devices/pci0000:00/0000:00:02.0");
    put_link("/sys/class/drm/card1-DP-1/device", "../card1");
    put_file("/usr/share/misc/pci.ids",
             "# names\n8086  Intel Corporation\n\t0bd5  Ponte Vecchio XT\n\t\t8086 0001  board\n"
             "1a03  ASPEED Technology, Inc.\n\t2000  Graphics Family\nC 03  Display\n");
    hd_devices *devices = look(NULL);
    assert_int_equal(devices->gpu_count, 3);
    assert_string_equal(devices->gpus[0].driver, "i915");
    assert_int_equal(devices->gpus[0].memory_bytes, -1);
    assert_string_equal(devices->gpus[0].name, "Intel 8086:9a49");
    assert_string_equal(devices->gpus[1].name, "Intel Ponte Vecchio XT");
    assert_int_equal(devices->gpus[1].index, 1);
    assert_int_equal(devices->gpus[1].memory_bytes, 137438953472);
    assert_int_equal(devices->gpus[2].vendor, HD_GPU_OTHER);
    assert_string_equal(devices->gpus[2].name, "ASPEED Technology, Inc. Graphics Family");
    hd_devices_free(devices);
}

static void test_devices__links_are_those_of_the_bus(void **state)
{
    (void)state;
    static const char *const places[] = {
        "pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:00.0/0000:13:00.0", /* 0, 1: two ports of one switch */
        "pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:01.0/0000:14:00.0",
        "pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:02.0/0000:15:00.0/0000:16:00.0/0000:17:00.0", /* 2: one below */
        "pci0000:10/0000:10:02.0/0000:20:00.0", /* 3: another port */
        "pci0000:30/0000:30:01.0/0000:31:00.0", /* 4: another host bridge, same node */
        "pci0000:50/0000:50:01.0/0000:51:00.0", /* 5: another node */
    };
    static const hd_gpu_link expected[6][6] = {
        {HD_LINK_SELF, HD_LINK_PIX, HD_LINK_PXB, HD_LINK_PHB, HD_LINK_NODE, HD_LINK_SYS},
        {HD_LINK_PIX, HD_LINK_SELF, HD_LINK_PXB, HD_LINK_PHB, HD_LINK_NODE, HD_LINK_SYS},
        {HD_LINK_PXB, HD_LINK_PXB, HD_LINK_SELF, HD_LINK_PHB, HD_LINK_NODE, HD_LINK_SYS},
        {HD_LINK_PHB, HD_LINK_PHB, HD_LINK_PHB, HD_LINK_SELF, HD_LINK_NODE, HD_LINK_SYS},
        {HD_LINK_NODE, HD_LINK_NODE, HD_LINK_NODE, HD_LINK_NODE, HD_LINK_SELF, HD_LINK_SYS},
        {HD_LINK_SYS, HD_LINK_SYS, HD_LINK_SYS, HD_LINK_SYS, HD_LINK_SYS, HD_LINK_SELF},
    };
    for (int i = 0; i < 6; i++) put_pci(places[i], "0x030200\n", "0x10de\n", "0x2330\n", "nvidia", i == 5);
    put_file("/sys/devices/system/node/online", "0-1\n");
    hd_devices *devices = look(NULL);
    assert_int_equal(devices->gpu_count, 6);
    for (size_t a = 0; a < 6; a++)
        for (size_t b = 0; b < 6; b++) assert_int_equal(path_between(devices, a, b).link, expected[a][b]);
    hd_devices_free(devices);
}

static void test_devices__nonsense_in_sysfs_is_unknown_not_believed(void **state)
{
    (void)state;
    char fifo[200], line[5000];
    const char *at = put_pci("pci0000:3a/0000:3a:00.0/0000:3b:00.0", "0x030200\n", "0x10de\n", "zebra\n", "nvidia", 7);
    put_at(at, "current_link_width", "99999999999999999999\n");
    put_at(at, "max_link_width", "-4\n");
    memset(line, 'n', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    put_at(at, "current_link_speed", line);
    put_file(NVIDIA_PROC, "Model:\x1b[31m\tred\nModel");
    put_file("/sys/bus/pci/devices/file", "no device\n");
    put_pci("pci0000:3a/0000:3a:01.0", "garbage\n", "0x10de\n", "0x1\n", NULL, 0);
    put_node(1, "simd_count 99999999999999999999\nsimd_count\n simd_count 5\n", NULL);
    put_node(2, "simd_count 8\nlocation_id 99999999\nsimd_per_cu 0\ngfx_target_version -5\n",
             "heap_type 1\nsize_in_bytes 9223372036854775807\n");
    put_file(KFD "/2/mem_banks/2/properties", "heap_type 2\nsize_in_bytes 9223372036854775807\n");
    put_file(KFD "/2/io_links/0/properties", "type 11\nnode_to 77\n");
    snprintf(fifo, sizeof fifo, "%s/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/unused", tree_root);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    snprintf(fifo, sizeof fifo, "%s/sys/module/nvidia/version", tree_root);
    make_parents(fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0); /* opening it must not wait for a writer */
    hd_devices *devices = look(NULL);
    assert_int_equal(devices->gpu_count, 2);
    assert_int_equal(devices->gpus[0].pci_device_id, -1);
    assert_int_equal(devices->gpus[0].pcie_lanes, -1);
    assert_int_equal(devices->gpus[0].pcie_lanes_max, -1);
    assert_string_equal(devices->gpus[0].name, "?[31m?red");
    assert_int_equal(strlen(devices->gpus[0].pcie_speed), HD_DEVICE_TEXT_BYTES - 1);
    assert_int_equal(devices->gpus[1].vendor, HD_GPU_AMD);
    assert_string_equal(devices->gpus[1].pci, "");
    assert_int_equal(devices->gpus[1].memory_bytes, INT64_MAX);
    assert_int_equal(devices->gpus[1].multiprocessors, -1);
    hd_devices_free(devices);
}

static void test_devices__too_many_and_no_folder_are_errors(void **state)
{
    (void)state;
    char path[200];
    hd_devices *devices;
    hd_error err = {0};
    hd_devices_options options = {.root = tree_root};
    for (int i = 0; i <= HD_DEVICE_LIMIT; i++) {
        snprintf(path, sizeof path, KFD "/%d/properties", i);
        put_file(path, "simd_count 4\n");
    }
    assert_int_equal(hd_devices_new(&devices, &options, &err), HD_ERR_LIMIT);
    assert_null(devices);
    err = (hd_error){0};
    snprintf(path, sizeof path, "%s/nowhere", tree_root);
    options.root = path;
    assert_int_equal(hd_devices_new(&devices, &options, &err), HD_ERR_IO);
    assert_string_equal(err.path, path);
}

/* ---- NVML ---- */

static void test_devices__nvml_and_the_bus_are_joined_by_pci_address(void **state)
{
    (void)state;
    put_nvidia();
    put_pci("pci0000:90/0000:90:01.0/0000:91:00.0", "0x030200\n", "0x10de\n", "0x2330\n", "nvidia", 1);
    setenv("NVML_DOUBLE", "switched", 1);
    hd_devices *devices = look(double_path());
    assert_int_equal(devices->gpu_count, 4);
    assert_string_equal(devices->driver, "580.95.05");
    assert_string_equal(devices->cuda_driver, "13.0");
    assert_string_equal(devices->nvml, "version 13.580.95");
    const hd_gpu *gpu = &devices->gpus[0];
    assert_string_equal(gpu->source, "nvml");
    assert_string_equal(gpu->pci, "0000:3b:00.0");
    assert_string_equal(gpu->uuid, "GPU-0");
    assert_string_equal(gpu->architecture, "sm_90");
    assert_int_equal(gpu->multiprocessors, 132);
    assert_int_equal(gpu->memory_bytes, 85520809984);
    assert_int_equal(gpu->numa_node, 0); /* which only the bus tells */
    assert_int_equal(devices->gpus[2].multiprocessors, 108);
    assert_string_equal(devices->gpus[3].pci, "0000:91:00.0"); /* not given to us */
    assert_non_null(strstr(devices->gpus[3].problem, "NVML does not list it"));
    assert_int_equal(path_between(devices, 0, 1).link, HD_LINK_NVLINK);
    assert_int_equal(path_between(devices, 0, 1).count, 18);
    assert_int_equal(path_between(devices, 2, 0).link, HD_LINK_NVLINK);
    assert_int_equal(path_between(devices, 2, 0).count, 12);
    assert_int_equal(path_between(devices, 1, 2).link, HD_LINK_SYS); /* the driver says that no NVLink joins them */
    hd_devices_free(devices);
}

static void test_devices__direct_nvlinks_are_counted_by_their_ends(void **state)
{
    (void)state;
    setenv("NVML_DOUBLE", "direct", 1);
    hd_devices *devices = look(double_path());
    assert_int_equal(devices->gpu_count, 3);
    assert_int_equal(path_between(devices, 0, 1).link, HD_LINK_NVLINK);
    assert_int_equal(path_between(devices, 1, 0).count, 4);
    assert_int_equal(path_between(devices, 0, 2).link, HD_LINK_SYS);
    hd_devices_free(devices);
    const hd_devices_options options = {.root = tree_root, .nvml = double_path(), .ways_only = true};
    assert_int_equal(hd_devices_new(&devices, &options, NULL), HD_OK);
    assert_int_equal(path_between(devices, 0, 1).link, HD_LINK_UNKNOWN);
    hd_devices_free(devices);
}

static void test_devices__nvml_that_fails_or_lies_is_told_and_does_no_harm(void **state)
{
    (void)state;
    hd_devices *devices;
    hd_error err = {0};
    const hd_devices_options options = {.root = tree_root, .nvml = double_path()};
    put_nvidia();
    setenv("NVML_DOUBLE", "broken", 1);
    devices = look(double_path());
    assert_string_equal(devices->nvml, "does not start: Driver?Not Loaded (9)");
    assert_int_equal(devices->gpu_count, 1);
    assert_string_equal(devices->gpus[0].problem, "");
    hd_devices_free(devices);
    setenv("NVML_DOUBLE", "many", 1);
    assert_int_equal(hd_devices_new(&devices, &options, &err), HD_ERR_LIMIT);
    setenv("NVML_DOUBLE", "hostile", 1);
    devices = look(double_path());
    assert_int_equal(devices->gpu_count, 2);
    assert_int_equal(strlen(devices->gpus[0].name), 96);
    assert_int_equal(devices->gpus[0].memory_bytes, -1);
    assert_string_equal(devices->gpus[0].architecture, "");
    assert_string_equal(devices->gpus[0].pci, "ffffffff:3b:00.0");
    hd_devices_free(devices);
    devices = look("/nowhere/libnvidia-ml.so.1");
    assert_non_null(strstr(devices->nvml, "not found"));
    hd_devices_free(devices);
    char other[200];
    snprintf(other, sizeof other, "%s", "libm.so.6");
    devices = look(other);
    assert_non_null(strstr(devices->nvml, "is not an NVML that Heddle knows"));
    hd_devices_free(devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, make_tree, remove_tree)
        IN_TREE(test_devices__an_empty_machine_has_no_gpu_and_all_ways_say_why),
        IN_TREE(test_devices__nvidia_without_nvml_is_named_by_proc),
        IN_TREE(test_devices__amd_gpus_and_their_links_come_from_kfd),
        IN_TREE(test_devices__intel_memory_is_the_sum_of_tiles),
        IN_TREE(test_devices__links_are_those_of_the_bus),
        IN_TREE(test_devices__nonsense_in_sysfs_is_unknown_not_believed),
        IN_TREE(test_devices__too_many_and_no_folder_are_errors),
        IN_TREE(test_devices__nvml_and_the_bus_are_joined_by_pci_address),
        IN_TREE(test_devices__direct_nvlinks_are_counted_by_their_ends),
        IN_TREE(test_devices__nvml_that_fails_or_lies_is_told_and_does_no_harm),
    };
    return cmocka_run_group_tests_name("devices", tests, NULL, NULL);
}
