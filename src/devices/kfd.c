/* kfd.c - AMD's GPUs, from kfd, the compute part of amdgpu
 *
 * /sys/class/kfd/kfd/topology/nodes/N: CPUs and GPUs are nodes; a GPU has SIMDs. `properties` holds lines "key number";
 * mem_banks/M/properties and io_links/M/properties (and p2p_links) likewise.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "devices/impl.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"

enum {
    HEAP_PUBLIC = 1,  /* of the GPU's own memory: visible to the CPU, … */
    HEAP_PRIVATE = 2, /* … and not visible */
    LINK_XGMI = 11,
};

typedef struct property {
    const char *key;
    int64_t value; /* -1: unknown */
} property;

/* Fill in the values of a list of keys, which ends with NULL. */
static bool read_properties(property *properties, const char *path)
{
    char line[256];
    FILE *file = devices_open(path);
    if (!file) return false;
    for (int i = 0; i < 1024 && fgets(line, sizeof line, file); i++) {
        size_t key = strcspn(line, " \n");
        line[strcspn(line, "\n")] = '\0';
        for (property *p = properties; p->key; p++)
            if (line[key] == ' ' && strlen(p->key) == key && memcmp(p->key, line, key) == 0)
                p->value = devices_number_text(line + key + 1);
    }
    fclose(file);
    return true;
}

static int64_t memory_of(const device_list *list, const char *node)
{
    char path[DEVICES_PATH_BYTES];
    device_names banks;
    int64_t sum = 0;
    if (!devices_path(path, sizeof path, list->root, NODES "/%s/mem_banks", node) ||
        devices_names_of(&banks, path, NULL) != HD_OK)
        return -1;
    for (size_t i = 0; i < banks.count; i++) {
        property p[] = {{"heap_type", -1}, {"size_in_bytes", -1}, {NULL, 0}};
        if (!devices_path(path, sizeof path, list->root, NODES "/%s/mem_banks/%s/properties", node, banks.list[i]) ||
            !read_properties(p, path) || (p[0].value != HEAP_PUBLIC && p[0].value != HEAP_PRIVATE) || p[1].value < 0)
            continue;
        if (__builtin_add_overflow(sum, p[1].value, &sum)) sum = INT64_MAX;
    }
    devices_names_deinit(&banks);
    return sum ? sum : -1;
}

enum { P_SIMDS, P_SIMDS_PER_CU, P_DOMAIN, P_LOCATION, P_VENDOR, P_DEVICE, P_TARGET, P_UNIQUE, P_END };

/* 90402 is gfx942: major, minor, and the step in hexadecimal. */
static void architecture(char *out, size_t size, int64_t version)
{
    if (version <= 0 || version > 999999) return;
    devices_text(out, size, "gfx%d%x%x", (int)(version / 10000), (unsigned)(version / 100 % 100),
                 (unsigned)(version % 100));
}

static hd_status add_node(device_list *list, const char *node, int64_t *index, hd_error *err)
{
    char path[DEVICES_PATH_BYTES], pci[HD_DEVICE_TEXT_BYTES] = "";
    property p[] = {
        [P_SIMDS] = {"simd_count", -1},          [P_SIMDS_PER_CU] = {"simd_per_cu", -1}, [P_DOMAIN] = {"domain", -1},
        [P_LOCATION] = {"location_id", -1},      [P_VENDOR] = {"vendor_id", -1},         [P_DEVICE] = {"device_id", -1},
        [P_TARGET] = {"gfx_target_version", -1}, [P_UNIQUE] = {"unique_id", -1},         [P_END] = {NULL, 0}};
    if (!devices_path(path, sizeof path, list->root, NODES "/%s/properties", node) || !read_properties(p, path) ||
        p[P_SIMDS].value <= 0)
        return HD_OK; /* a CPU, or nothing that can be read */
    int64_t place = p[P_LOCATION].value, domain = p[P_DOMAIN].value < 0 ? 0 : p[P_DOMAIN].value;
    if (place >= 0 && place <= 0xffff && domain <= 0xffffffff)
        devices_text(pci, sizeof pci, "%04x:%02x:%02x.%x", (unsigned)domain, (unsigned)(place >> 8),
                     (unsigned)(place >> 3 & 31), (unsigned)(place & 7));
    device_entry *entry = pci[0] ? devices_at_pci(list, pci) : NULL;
    if (entry && entry->kfd_node >= 0) entry = NULL; /* partitions of one GPU are nodes of their own */
    if (!entry) HD_TRY(devices_add(&entry, list, err));
    hd_gpu *gpu = &entry->gpu;
    entry->kfd_node = devices_number_text(node);
    gpu->vendor = HD_GPU_AMD;
    gpu->index = (*index)++;
    devices_text(gpu->pci, sizeof gpu->pci, "%s", pci);
    devices_text(gpu->source, sizeof gpu->source, "kfd");
    if (p[P_VENDOR].value >= 0) gpu->pci_vendor_id = p[P_VENDOR].value;
    if (p[P_DEVICE].value >= 0) gpu->pci_device_id = p[P_DEVICE].value;
    if (p[P_SIMDS_PER_CU].value > 0) gpu->multiprocessors = p[P_SIMDS].value / p[P_SIMDS_PER_CU].value;
    if (p[P_UNIQUE].value > 0)
        devices_text(gpu->uuid, sizeof gpu->uuid, "GPU-%016llx", (unsigned long long)p[P_UNIQUE].value);
    architecture(gpu->architecture, sizeof gpu->architecture, p[P_TARGET].value);
    int64_t memory = memory_of(list, node);
    if (memory > gpu->memory_bytes) gpu->memory_bytes = memory;
    return HD_OK;
}

static int by_number(const char *a, const char *b)
{
    size_t x = strlen(a), y = strlen(b);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

/* Nodes in the order of their numbers, which is the order that HIP counts in: 10 after 9. */
static void sort_numbers(device_names *names)
{
    for (size_t i = 1; i < names->count; i++)
        for (size_t j = i; j > 0 && by_number(names->list[j - 1], names->list[j]) > 0; j--) {
            char *other = names->list[j];
            names->list[j] = names->list[j - 1];
            names->list[j - 1] = other;
        }
}

hd_status devices_find_kfd(device_list *list, hd_error *err)
{
    enum { NODE_LIMIT = 2 * HD_DEVICE_LIMIT };
    char path[DEVICES_PATH_BYTES];
    device_names nodes;
    int64_t index = 0;
    hd_status status = HD_OK;
    if (!devices_path(path, sizeof path, list->root, NODES)) return HD_OK;
    HD_TRY(devices_names_of(&nodes, path, err));
    if (nodes.count > NODE_LIMIT)
        status = hd_error_set(err, HD_ERR_LIMIT, path, HD_OFFSET_NONE, "%zu nodes; at most %d are looked at",
                              nodes.count, NODE_LIMIT);
    else
        sort_numbers(&nodes);
    for (size_t i = 0; i < nodes.count && status == HD_OK; i++)
        if (devices_number_text(nodes.list[i]) >= 0) status = add_node(list, nodes.list[i], &index, err);
    devices_names_deinit(&nodes);
    return status;
}

/* ---- links ---- */

static size_t at_node(const device_list *list, int64_t node)
{
    size_t i = 0;
    while (i < list->count && (node < 0 || list->list[i].kfd_node != node)) i++;
    return i;
}

static hd_status links_of(hd_gpu_path *paths, const device_list *list, size_t from, const char *kind, hd_error *err)
{
    char path[DEVICES_PATH_BYTES];
    long long node = (long long)list->list[from].kfd_node;
    device_names links;
    if (!devices_path(path, sizeof path, list->root, NODES "/%lld/%s", node, kind)) return HD_OK;
    HD_TRY(devices_names_of(&links, path, err));
    for (size_t i = 0; i < links.count; i++) {
        property p[] = {{"type", -1}, {"node_to", -1}, {"max_bandwidth", -1}, {NULL, 0}};
        if (!devices_path(path, sizeof path, list->root, NODES "/%lld/%s/%s/properties", node, kind, links.list[i]) ||
            !read_properties(p, path))
            continue;
        size_t to = at_node(list, p[1].value);
        if (to == list->count || to == from || p[0].value != LINK_XGMI) continue; /* PCIe comes from the bus itself */
        devices_link(paths, list->count, from, to,
                     (hd_gpu_path){.link = HD_LINK_XGMI, .mb_per_s = p[2].value > 0 ? p[2].value : -1});
    }
    devices_names_deinit(&links);
    return HD_OK;
}

hd_status devices_links_kfd(hd_gpu_path *paths, const device_list *list, hd_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->list[i].kfd_node < 0) continue;
        HD_TRY(links_of(paths, list, i, "io_links", err));
        HD_TRY(links_of(paths, list, i, "p2p_links", err));
    }
    return HD_OK;
}
