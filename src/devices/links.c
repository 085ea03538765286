/* links.c - the distance of two GPUs on the PCI bus
 *
 * The real path of a device in sysfs contains the bridges above it: /sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0
 * is a host bridge, a root port, the device.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "devices/impl.h"

enum { DEPTH_LIMIT = 32 };

typedef struct bus_path {
    char text[PATH_MAX];
    const char *parts[DEPTH_LIMIT]; /* from the host bridge to the device */
    size_t count;                   /* 0: not known */
} bus_path;

void devices_link(hd_gpu_path *paths, size_t count, size_t a, size_t b, hd_gpu_path path)
{
    if (path.link == HD_LINK_UNKNOWN) return;
    paths[a * count + b] = path;
    paths[b * count + a] = path;
}

static void find_path(bus_path *out, const device_list *list, const char *pci)
{
    char path[DEVICES_PATH_BYTES], *rest;
    out->count = 0;
    if (!pci[0] || !devices_path(path, sizeof path, list->root, "/sys/bus/pci/devices/%s", pci) ||
        !realpath(path, out->text))
        return;
    char *first = strstr(out->text, "/devices/pci");
    /* Some host bridges are below a platform device. */
    for (char *next = first; next; next = strstr(next + 1, "/pci")) first = next;
    if (!first) return;
    first += *first && strncmp(first, "/devices", 8) == 0 ? strlen("/devices/") : 1;
    for (char *part = strtok_r(first, "/", &rest); part && out->count < DEPTH_LIMIT; part = strtok_r(NULL, "/", &rest))
        out->parts[out->count++] = part;
}

static bool one_node(const device_list *list)
{
    char path[DEVICES_PATH_BYTES], line[DEVICES_NAME_BYTES];
    return !devices_path(path, sizeof path, list->root, "/sys/devices/system/node/online") ||
           !devices_line(line, sizeof line, path) || !strpbrk(line, ",-");
}

static hd_gpu_link link_of(const bus_path *a, const bus_path *b)
{
    size_t same = 0;
    while (same < a->count && same < b->count && strcmp(a->parts[same], b->parts[same]) == 0) same++;
    if (same == 0) return HD_LINK_UNKNOWN;
    if (same == 1) return HD_LINK_PHB;
    /* Below the common part, a switch has one port for each. */
    return a->count - same <= 2 && b->count - same <= 2 ? HD_LINK_PIX : HD_LINK_PXB;
}

static hd_gpu_link link_by_node(const hd_gpu *a, const hd_gpu *b, bool one)
{
    if (one) return HD_LINK_NODE;
    if (a->numa_node < 0 || b->numa_node < 0) return HD_LINK_UNKNOWN;
    return a->numa_node == b->numa_node ? HD_LINK_NODE : HD_LINK_SYS;
}

void devices_links_pci(hd_gpu_path *paths, const device_list *list)
{
    bool one = one_node(list);
    bus_path *known = calloc(list->count ? list->count : 1, sizeof *known);
    if (!known) return;
    for (size_t i = 0; i < list->count; i++) find_path(&known[i], list, list->list[i].gpu.pci);
    for (size_t a = 0; a < list->count; a++) {
        paths[a * list->count + a] = (hd_gpu_path){.link = HD_LINK_SELF, .mb_per_s = -1};
        for (size_t b = a + 1; b < list->count; b++) {
            const hd_gpu *x = &list->list[a].gpu, *y = &list->list[b].gpu;
            hd_gpu_path path = {.mb_per_s = -1};
            if (known[a].count && known[b].count) path.link = link_of(&known[a], &known[b]);
            if (path.link == HD_LINK_UNKNOWN && x->pci[0] && y->pci[0]) path.link = link_by_node(x, y, one);
            devices_link(paths, list->count, a, b, path);
        }
    }
    free(known);
}
