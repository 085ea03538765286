/* device_trees.h - made-up /sys and /proc of other machines, in a folder of the test's own */
#ifndef HD_TESTS_DEVICES_DEVICE_TREES_H
#define HD_TESTS_DEVICES_DEVICE_TREES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heddle/capture/devices.h"

static char tree_root[64];

static inline int make_tree(void **state)
{
    (void)state;
    strcpy(tree_root, "/tmp/heddle-devices-XXXXXX");
    return mkdtemp(tree_root) ? 0 : -1;
}

static inline int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline int remove_tree(void **state)
{
    (void)state;
    return nftw(tree_root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Folders above a path. */
static inline void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
}

static inline void put_file(const char *name, const char *text)
{
    char path[512];
    assert_true((size_t)snprintf(path, sizeof path, "%s%s", tree_root, name) < sizeof path);
    make_parents(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* A file below a folder. */
static inline void put_at(const char *folder, const char *name, const char *text)
{
    char path[400];
    assert_true((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path);
    put_file(path, text);
}

static inline void put_link(const char *name, const char *target)
{
    char path[512];
    assert_true((size_t)snprintf(path, sizeof path, "%s%s", tree_root, name) < sizeof path);
    make_parents(path);
    assert_int_equal(symlink(target, path), 0);
}

/* A PCI device: `place` is its path below /sys/devices, its last part the address. driver NULL: none. */
static inline const char *put_pci(const char *place, const char *class, const char *vendor, const char *device,
                                  const char *driver, int numa_node)
{
    static char folder[300];
    char link[400], target[400], node[16];
    const char *address = strrchr(place, '/') + 1;
    snprintf(folder, sizeof folder, "/sys/devices/%s", place);
    put_at(folder, "class", class);
    put_at(folder, "vendor", vendor);
    put_at(folder, "device", device);
    snprintf(node, sizeof node, "%d\n", numa_node);
    put_at(folder, "numa_node", node);
    put_at(folder, "local_cpulist", "0-31\n");
    snprintf(link, sizeof link, "/sys/bus/pci/devices/%s", address);
    snprintf(target, sizeof target, "../../../devices/%s", place);
    put_link(link, target);
    if (driver) {
        snprintf(link, sizeof link, "%s/driver", folder);
        snprintf(target, sizeof target, "../../../bus/pci/drivers/%s", driver);
        put_link(link, target);
    }
    return folder;
}

static inline hd_devices *look(const char *nvml)
{
    hd_devices *devices;
    hd_error err = {0};
    const hd_devices_options options = {.root = tree_root, .nvml = nvml};
    if (hd_devices_new(&devices, &options, &err) != HD_OK) fail_msg("%s: %s", err.path, err.message);
    return devices;
}

static inline hd_gpu_path path_between(const hd_devices *devices, size_t a, size_t b)
{
    return devices->paths[a * devices->gpu_count + b];
}

static inline hd_way_state state_of(const hd_devices *devices, const char *way)
{
    return hd_devices_way(devices, way)->state;
}

#endif
