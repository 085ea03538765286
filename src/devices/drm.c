/* drm.c - data that only /sys/class/drm has: memory of Intel's GPUs, and GPUs that are on no PCI bus
 *
 * card0/device is the device. Mainline kernels have no single place for the memory of Intel's discrete GPUs: xe has
 * device/tileN/physical_vram_size_bytes in some versions (also in tileN/memory), Intel's own i915 lmem_total_bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "devices/impl.h"

#define CARDS "/sys/class/drm"

/* "card0", but not "card0-DP-1" and "renderD128". */
static bool is_card(const char *name)
{
    return strncmp(name, "card", 4) == 0 && name[4] && strspn(name + 4, "0123456789") == strlen(name + 4) &&
           strlen(name) < DEVICES_NAME_BYTES;
}

static int64_t number_at(const device_list *list, const char *card, const char *file)
{
    char path[DEVICES_PATH_BYTES];
    return devices_path(path, sizeof path, list->root, CARDS "/%s/%s", card, file) ? devices_number(path) : -1;
}

static int64_t intel_memory(const device_list *list, const char *card)
{
    int64_t sum = number_at(list, card, "lmem_total_bytes"), bytes;
    if (sum > 0) return sum;
    sum = 0;
    for (int tile = 0; tile < 16; tile++) {
        char file[DEVICES_NAME_BYTES];
        devices_text(file, sizeof file, "device/tile%d/physical_vram_size_bytes", tile);
        bytes = number_at(list, card, file);
        devices_text(file, sizeof file, "device/tile%d/memory/physical_vram_size_bytes", tile);
        if (bytes <= 0) bytes = number_at(list, card, file);
        if (bytes > 0 && __builtin_add_overflow(sum, bytes, &sum)) sum = INT64_MAX;
    }
    return sum ? sum : -1;
}

/* The GPU of a system on a chip: its driver is all that is known. */
static hd_status add_platform(device_list *list, const char *card, hd_error *err)
{
    char path[DEVICES_PATH_BYTES], driver[DEVICES_NAME_BYTES], bus[DEVICES_NAME_BYTES];
    device_entry *entry;
    if (!devices_path(path, sizeof path, list->root, CARDS "/%s/device/subsystem", card) ||
        !devices_link_name(bus, sizeof bus, path) || strcmp(bus, "platform") != 0)
        return HD_OK; /* virtual and USB displays are not GPUs */
    if (!devices_path(path, sizeof path, list->root, CARDS "/%s/device/driver", card) ||
        !devices_link_name(driver, sizeof driver, path))
        return HD_OK;
    if (strcmp(driver, "simple-framebuffer") == 0 || strcmp(driver, "vkms") == 0) return HD_OK;
    HD_TRY(devices_add(&entry, list, err));
    devices_text(entry->gpu.driver, sizeof entry->gpu.driver, "%s", driver);
    devices_text(entry->gpu.name, sizeof entry->gpu.name, "%s (%s)", driver, card);
    devices_text(entry->gpu.source, sizeof entry->gpu.source, "drm");
    return HD_OK;
}

static hd_status add_card(device_list *list, const char *card, hd_error *err)
{
    char path[DEVICES_PATH_BYTES], pci[DEVICES_NAME_BYTES];
    if (!devices_path(path, sizeof path, list->root, CARDS "/%s/device", card) || !devices_exists(path)) return HD_OK;
    device_entry *entry = devices_link_name(pci, sizeof pci, path) ? devices_at_pci(list, pci) : NULL;
    if (!entry) return add_platform(list, card, err);
    if (entry->gpu.vendor == HD_GPU_INTEL && entry->gpu.memory_bytes < 0)
        entry->gpu.memory_bytes = intel_memory(list, card);
    if (entry->gpu.vendor == HD_GPU_INTEL) {
        entry->gpu.index = devices_number_text(card + 4);
        devices_text(entry->gpu.source, sizeof entry->gpu.source, "drm");
    }
    return HD_OK;
}

hd_status devices_find_drm(device_list *list, hd_error *err)
{
    char path[DEVICES_PATH_BYTES];
    device_names names;
    hd_status status = HD_OK;
    if (!devices_path(path, sizeof path, list->root, CARDS)) return HD_OK;
    HD_TRY(devices_names_of(&names, path, err));
    for (size_t i = 0; i < names.count && status == HD_OK; i++)
        if (is_card(names.list[i])) status = add_card(list, names.list[i], err);
    devices_names_deinit(&names);
    return status;
}
