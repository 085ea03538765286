/* pci.c - GPUs on the PCI bus, from /sys/bus/pci/devices, and NVIDIA's names from /proc/driver/nvidia/gpus */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "devices/impl.h"

enum {
    CLASS_DISPLAY = 0x03,
    CLASS_ACCELERATOR = 0x12, /* AMD's newest compute GPUs say this; with other vendors it is not a GPU */
    VENDOR_AMD = 0x1002,
    VENDOR_INTEL = 0x8086,
    VENDOR_NVIDIA = 0x10de,
};

static hd_gpu_vendor vendor_of(int64_t id)
{
    if (id == VENDOR_NVIDIA) return HD_GPU_NVIDIA;
    if (id == VENDOR_AMD) return HD_GPU_AMD;
    return id == VENDOR_INTEL ? HD_GPU_INTEL : HD_GPU_OTHER;
}

static int64_t number_at(const device_list *list, const char *pci, const char *file)
{
    char path[DEVICES_PATH_BYTES];
    return devices_path(path, sizeof path, list->root, "/sys/bus/pci/devices/%s/%s", pci, file) ? devices_number(path)
                                                                                                : -1;
}

static void line_at(char *out, size_t size, const device_list *list, const char *pci, const char *file)
{
    char path[DEVICES_PATH_BYTES];
    out[0] = '\0';
    if (devices_path(path, sizeof path, list->root, "/sys/bus/pci/devices/%s/%s", pci, file))
        devices_line(out, size, path);
}

/* "amdgpu 6.8.5": the module's version where it has one. */
static void find_driver(hd_gpu *gpu, const device_list *list)
{
    char path[DEVICES_PATH_BYTES], name[DEVICES_NAME_BYTES], version[DEVICES_NAME_BYTES] = "";
    if (!devices_path(path, sizeof path, list->root, "/sys/bus/pci/devices/%s/driver", gpu->pci) ||
        !devices_link_name(name, sizeof name, path)) {
        devices_text(gpu->problem, sizeof gpu->problem, "no driver is bound to it");
        return;
    }
    if (devices_path(path, sizeof path, list->root, "/sys/module/%s/version", name))
        devices_line(version, sizeof version, path);
    devices_text(gpu->driver, sizeof gpu->driver, "%s%s%s", name, version[0] ? " " : "", version);
    if (strcmp(name, "nouveau") == 0)
        devices_text(gpu->problem, sizeof gpu->problem, "driven by nouveau, with which CUDA does not work");
    else if (strncmp(name, "vfio", 4) == 0)
        devices_text(gpu->problem, sizeof gpu->problem, "given to a virtual machine (%s)", name);
}

static hd_status add_device(device_list *list, const char *pci, int64_t vendor, hd_error *err)
{
    device_entry *entry;
    HD_TRY(devices_add(&entry, list, err));
    hd_gpu *gpu = &entry->gpu;
    devices_text(gpu->pci, sizeof gpu->pci, "%s", pci);
    devices_text(gpu->source, sizeof gpu->source, "pci");
    gpu->vendor = vendor_of(vendor);
    gpu->pci_vendor_id = vendor;
    gpu->pci_device_id = number_at(list, pci, "device");
    gpu->numa_node = number_at(list, pci, "numa_node");
    gpu->pcie_lanes = number_at(list, pci, "current_link_width");
    gpu->pcie_lanes_max = number_at(list, pci, "max_link_width");
    line_at(gpu->pcie_speed, sizeof gpu->pcie_speed, list, pci, "current_link_speed");
    line_at(gpu->cpus, sizeof gpu->cpus, list, pci, "local_cpulist");
    find_driver(gpu, list);
    if (gpu->vendor == HD_GPU_AMD) {
        gpu->memory_bytes = number_at(list, pci, "mem_info_vram_total");
        line_at(gpu->name, sizeof gpu->name, list, pci, "product_name");
    }
    return HD_OK;
}

/* ---- /proc/driver/nvidia/gpus/0000:3b:00.0/information: "Model: \t\t NVIDIA H100" ---- */

static void take_line(char *out, size_t size, const char *line, const char *key)
{
    size_t length = strlen(key);
    if (strncmp(line, key, length) != 0 || line[length] != ':') return;
    line += length + 1;
    line += strspn(line, " \t");
    devices_text(out, size, "%.*s", (int)strcspn(line, "\n"), line);
}

static void read_information(hd_gpu *gpu, const device_list *list)
{
    char path[DEVICES_PATH_BYTES], line[256];
    if (!devices_path(path, sizeof path, list->root, "/proc/driver/nvidia/gpus/%s/information", gpu->pci)) return;
    FILE *file = devices_open(path);
    if (!file) return;
    for (int i = 0; i < 64 && fgets(line, sizeof line, file); i++) {
        take_line(gpu->name, sizeof gpu->name, line, "Model");
        take_line(gpu->uuid, sizeof gpu->uuid, line, "GPU UUID");
    }
    fclose(file);
}

hd_status devices_find_pci(device_list *list, hd_error *err)
{
    char path[DEVICES_PATH_BYTES];
    device_names names;
    hd_status status = HD_OK;
    if (!devices_path(path, sizeof path, list->root, "/sys/bus/pci/devices")) return HD_OK;
    HD_TRY(devices_names_of(&names, path, err));
    for (size_t i = 0; i < names.count && status == HD_OK; i++) {
        const char *pci = names.list[i];
        int64_t class = number_at(list, pci, "class"), vendor = number_at(list, pci, "vendor");
        if (class < 0 || strlen(pci) >= DEVICES_NAME_BYTES) continue;
        if (class >> 16 == CLASS_DISPLAY || (class >> 16 == CLASS_ACCELERATOR && vendor == VENDOR_AMD))
            status = add_device(list, pci, vendor, err);
    }
    devices_names_deinit(&names);
    for (size_t i = 0; i < list->count; i++)
        if (list->list[i].gpu.vendor == HD_GPU_NVIDIA) read_information(&list->list[i].gpu, list);
    return status;
}
