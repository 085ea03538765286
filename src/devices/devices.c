/* devices.c - the GPUs of this machine, combined from NVML, PCI, drm and kfd */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/options.h"
#include "base/sorted.h"
#include "devices/impl.h"

/* ---- names ---- */

const char *hd_gpu_link_name(hd_gpu_link link)
{
    static const char *const names[] = {"?", "X", "NV", "XGMI", "PIX", "PXB", "PHB", "NODE", "SYS"};
    return (unsigned)link < sizeof names / sizeof *names ? names[link] : "?";
}

const char *hd_gpu_vendor_name(hd_gpu_vendor vendor)
{
    static const char *const names[] = {"other", "NVIDIA", "AMD", "Intel"};
    return (unsigned)vendor < sizeof names / sizeof *names ? names[vendor] : "other";
}

const char *hd_way_state_name(hd_way_state state)
{
    static const char *const names[] = {"no", "partly", "yes"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "no";
}

/* ---- the list ---- */

hd_status devices_add(device_entry **out, device_list *list, hd_error *err)
{
    if (list->count == HD_DEVICE_LIMIT)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than %d GPUs", HD_DEVICE_LIMIT);
    *out = &list->list[list->count++];
    **out = (device_entry){.kfd_node = -1,
                           .gpu = {.index = -1,
                                   .memory_bytes = -1,
                                   .multiprocessors = -1,
                                   .numa_node = -1,
                                   .pci_vendor_id = -1,
                                   .pci_device_id = -1,
                                   .pcie_lanes = -1,
                                   .pcie_lanes_max = -1}};
    return HD_OK;
}

device_entry *devices_at_pci(device_list *list, const char *pci)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->list[i].gpu.pci[0] && strcmp(list->list[i].gpu.pci, pci) == 0) return &list->list[i];
    return NULL;
}

static int place_of(hd_gpu_vendor vendor)
{
    return vendor == HD_GPU_OTHER ? HD_GPU_INTEL + 1 : (int)vendor;
}

static int by_place(const void *a, const void *b)
{
    const hd_gpu *x = &((const device_entry *)a)->gpu, *y = &((const device_entry *)b)->gpu;
    if (x->vendor != y->vendor) return place_of(x->vendor) < place_of(y->vendor) ? -1 : 1;
    if ((x->index < 0) != (y->index < 0)) return x->index < 0 ? 1 : -1;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    return strcmp(x->pci, y->pci);
}

/* ---- put together ---- */

/* Without NVML, the version comes from the driver's kernel module. */
static void find_nvidia_driver(hd_devices *out, const char *root)
{
    char path[DEVICES_PATH_BYTES];
    if (!out->driver[0] && devices_path(path, sizeof path, root, "/sys/module/nvidia/version"))
        devices_line(out->driver, sizeof out->driver, path);
}

static hd_status find_gpus(device_list *list, const devices_nvml *nvml, hd_error *err)
{
    HD_TRY(devices_find_pci(list, err));
    HD_TRY(devices_find_drm(list, err));
    HD_TRY(devices_find_kfd(list, err));
    if (nvml) HD_TRY(devices_find_nvml(list, nvml, err));
    devices_name_rest(list);
    if (list->count) hd_sort(list->list, list->count, sizeof *list->list, by_place);
    return HD_OK;
}

static hd_status find_links(hd_devices *out, const device_list *list, const devices_nvml *nvml, hd_error *err)
{
    devices_links_pci(out->paths, list);
    if (nvml) devices_links_nvml(out->paths, list, nvml);
    return devices_links_kfd(out->paths, list, err);
}

static hd_status fill(hd_devices *out, device_list *list, const devices_nvml *nvml, const hd_devices_options *options,
                      hd_error *err)
{
    if (nvml) devices_nvml_versions(nvml, out);
    find_nvidia_driver(out, list->root);
    HD_TRY(find_gpus(list, nvml, err));
    out->gpu_count = list->count;
    out->gpus = calloc(list->count + 1, sizeof *out->gpus);
    out->paths = calloc(list->count * list->count + 1, sizeof *out->paths);
    if (!out->gpus || !out->paths) return HD_NOMEM(err);
    for (size_t i = 0; i < list->count; i++) {
        out->gpus[i] = list->list[i].gpu;
        if (out->gpus[i].vendor == HD_GPU_NVIDIA && out->driver[0] && !out->gpus[i].problem[0])
            devices_text(out->gpus[i].driver, sizeof out->gpus[i].driver, "nvidia %.100s", out->driver);
    }
    for (size_t i = 0; i < list->count * list->count; i++) out->paths[i].mb_per_s = -1;
    if (!options->ways_only) HD_TRY(find_links(out, list, nvml, err));
    if (options->library) devices_text(out->injection, sizeof out->injection, "%s", options->library);
    return devices_find_ways(out, list->root, err);
}

static hd_status check_root(const char *root, hd_error *err)
{
    struct stat about;
    if (!root[0]) return HD_OK;
    if (stat(root, &about) != 0 || !S_ISDIR(about.st_mode))
        return hd_error_set(err, HD_ERR_IO, root, HD_OFFSET_NONE, "no folder; expected one that holds sys and proc");
    return HD_OK;
}

hd_status hd_devices_new(hd_devices **out, const hd_devices_options *options, hd_error *err)
{
    devices_nvml *nvml = NULL;
    *out = NULL;
    hd_devices_options own;
    HD_TRY(hd_options_copy(&own, sizeof own, offsetof(hd_devices_options, library), options, err));
    options = &own;
    const char *root = options->root && strcmp(options->root, "/") != 0 ? options->root : "";
    *out = NULL;
    HD_TRY(check_root(root, err));
    hd_devices *devices = calloc(1, sizeof *devices);
    device_list *list = calloc(1, sizeof *list);
    hd_status status = devices && list ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) {
        list->root = root;
        if (options->nvml || !root[0])
            status = devices_nvml_open(&nvml, devices->nvml, options->nvml ? options->nvml : "libnvidia-ml.so.1", err);
        else
            devices_text(devices->nvml, sizeof devices->nvml,
                         "not asked, as the folder looked at may be another machine's");
    }
    if (status == HD_OK) status = fill(devices, list, nvml, options, err);
    devices_nvml_close(nvml);
    free(list);
    if (status == HD_OK)
        *out = devices;
    else
        hd_devices_free(devices);
    return status;
}

void hd_devices_free(hd_devices *devices)
{
    if (!devices) return;
    free(devices->gpus);
    free(devices->paths);
    free(devices->ways);
    free(devices);
}

const hd_way *hd_devices_way(const hd_devices *devices, const char *name)
{
    for (size_t i = 0; i < devices->way_count; i++)
        if (strcmp(devices->ways[i].name, name) == 0) return &devices->ways[i];
    return NULL;
}
