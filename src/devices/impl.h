/* impl.h - shared by the files of src/devices: a list in the making, and small readers of sysfs and procfs
 *
 * In: NVML, sysfs, procfs. Out: hd_devices. Begin with devices.c.
 */
#ifndef HD_DEVICES_IMPL_H
#define HD_DEVICES_IMPL_H

#include <stdio.h>

#include "heddle/capture/devices.h"

enum { DEVICES_PATH_BYTES = 1024, DEVICES_NAME_BYTES = 64 };

/* A GPU while it is being found. */
typedef struct device_entry {
    hd_gpu gpu;
    int64_t kfd_node; /* -1: none */
    bool in_nvml;
} device_entry;

typedef struct device_list {
    size_t count;
    device_entry list[HD_DEVICE_LIMIT];
    const char *root; /* "" is this machine's own */
} device_list;

/* ---- files.c: every path is below list->root; nothing is trusted ---- */

/* printf into a text of fixed size: cut where it is too long, control characters become '?'. */
void devices_text(char *out, size_t size, const char *format, ...) HD_PRINTF(3, 4);
/* root + path. False: it does not fit. */
bool devices_path(char *out, size_t size, const char *root, const char *format, ...) HD_PRINTF(4, 5);
/* The first line of a file without its end; false: no such file, or it is empty. */
bool devices_line(char *out, size_t size, const char *path);
/* A file of lines; NULL: none, or no file. */
FILE *devices_open(const char *path);
/* A number, decimal or 0x…, with nothing after it; -1: none, or it does not fit. */
int64_t devices_number(const char *path);
int64_t devices_number_text(const char *text);
/* The last component of a symbolic link's target. */
bool devices_link_name(char *out, size_t size, const char *path);
bool devices_exists(const char *path);

/* Names in a folder, in order, without "." and "..". The caller frees each, and the list. count 0: no such folder. */
typedef struct device_names {
    size_t count;
    char **list;
} device_names;
hd_status devices_names_of(device_names *out, const char *path, hd_error *err);
void devices_names_deinit(device_names *names);

/* ---- devices.c ---- */

/* A new entry with everything unknown. LIMIT: there are too many. */
hd_status devices_add(device_entry **out, device_list *list, hd_error *err);
/* The entry at a PCI address; NULL: none. */
device_entry *devices_at_pci(device_list *list, const char *pci);

/* ---- where devices come from ---- */

hd_status devices_find_pci(device_list *list, hd_error *err); /* pci.c: PCI and /proc/driver/nvidia */
hd_status devices_find_drm(device_list *list, hd_error *err); /* drm.c: Intel's memory, GPUs on no PCI bus */
hd_status devices_find_kfd(device_list *list, hd_error *err); /* kfd.c: amdgpu */
/* "Vendor device" from the machine's pci.ids for those without a name, or their numbers. ids.c */
void devices_name_rest(device_list *list);

/* nvml.c */
typedef struct devices_nvml devices_nvml;
/* Loads and initialises NVML. *out is NULL on failure; `told` (HD_WAY_TEXT_BYTES) gets the version, or the reason. */
hd_status devices_nvml_open(devices_nvml **out, char *told, const char *library, hd_error *err);
void devices_nvml_close(devices_nvml *nvml);
void devices_nvml_versions(const devices_nvml *nvml, hd_devices *out);
hd_status devices_find_nvml(device_list *list, const devices_nvml *nvml, hd_error *err);

/* ---- links: `paths` is count * count, all HD_LINK_UNKNOWN at first ---- */

void devices_links_pci(hd_gpu_path *paths, const device_list *list); /* links.c */
void devices_links_nvml(hd_gpu_path *paths, const device_list *list, const devices_nvml *nvml);
hd_status devices_links_kfd(hd_gpu_path *paths, const device_list *list, hd_error *err);
/* Sets the link between two GPUs, in both directions; HD_LINK_UNKNOWN changes nothing. */
void devices_link(hd_gpu_path *paths, size_t count, size_t a, size_t b, hd_gpu_path path);

/* ---- ways ---- */

hd_status devices_find_ways(hd_devices *devices, const char *root, hd_error *err); /* ways.c */
void devices_way_cuda(hd_way *way, hd_devices *devices, const char *root);         /* cuda.c */
void devices_way_uprobe(hd_way *way, const char *root);                            /* perf.c */
void devices_way_callchain(hd_way *way, const char *root);
void devices_way_kernel(hd_way *way, const char *root);
void devices_way_python(hd_way *way); /* python.c */

/* State, why and advice in one go; the texts are cut where they are too long. */
void devices_say(hd_way *way, hd_way_state state, const char *advice, const char *why, ...) HD_PRINTF(4, 5);

#endif
