/* ids.c - names of PCI devices out of the machine's pci.ids, where it is installed
 *
 * "10de  NVIDIA Corporation" begins a vendor; "\t2330  GH100 [H100 SXM5 80GB]" is a device of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices/impl.h"

static FILE *open_ids(const char *root)
{
    static const char *const places[] = {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids", NULL};
    char path[DEVICES_PATH_BYTES];
    FILE *file = NULL;
    for (const char *const *place = places; *place && !file; place++)
        if (devices_path(path, sizeof path, root, "%s", *place)) file = devices_open(path);
    return file;
}

/* Four hexadecimal digits and two spaces; -1: something else. */
static int64_t id_of(const char *text)
{
    char digits[5] = "";
    if (strspn(text, "0123456789abcdefABCDEF") < 4 || text[4] != ' ' || text[5] != ' ') return -1;
    memcpy(digits, text, 4);
    return strtol(digits, NULL, 16);
}

static bool nameless(const device_entry *entry)
{
    return !entry->gpu.name[0] && entry->gpu.pci_vendor_id >= 0;
}

static void take(device_list *list, const char *vendor_line, int64_t vendor, const char *line)
{
    for (size_t i = 0; i < list->count; i++) {
        hd_gpu *gpu = &list->list[i].gpu;
        if (!nameless(&list->list[i]) || gpu->pci_vendor_id != vendor || gpu->pci_device_id != id_of(line)) continue;
        devices_text(gpu->name, sizeof gpu->name, "%s %s",
                     gpu->vendor == HD_GPU_OTHER ? vendor_line : hd_gpu_vendor_name(gpu->vendor), line + 6);
    }
}

static void read_ids(device_list *list, FILE *file)
{
    char line[512], name[512] = "";
    int64_t vendor = -1;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] == 'C' && line[1] == ' ') break; /* classes */
        if (line[0] == '\t' && line[1] != '\t' && vendor >= 0 && id_of(line + 1) >= 0) {
            take(list, name, vendor, line + 1);
        } else if (line[0] != '\t' && line[0] != '#' && line[0]) {
            vendor = id_of(line);
            if (vendor >= 0) memcpy(name, line + 6, strlen(line + 6) + 1);
        }
    }
}

void devices_name_rest(device_list *list)
{
    bool any = false;
    for (size_t i = 0; i < list->count; i++) any = any || nameless(&list->list[i]);
    if (!any) return;
    FILE *file = open_ids(list->root);
    if (file) {
        read_ids(list, file);
        fclose(file);
    }
    for (size_t i = 0; i < list->count; i++) {
        hd_gpu *gpu = &list->list[i].gpu;
        if (!nameless(&list->list[i])) continue;
        devices_text(gpu->name, sizeof gpu->name, "%s %04llx:%04llx", hd_gpu_vendor_name(gpu->vendor),
                     (unsigned long long)gpu->pci_vendor_id,
                     (unsigned long long)(gpu->pci_device_id < 0 ? 0 : gpu->pci_device_id));
    }
}
