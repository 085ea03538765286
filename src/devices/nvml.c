/* nvml.c - NVIDIA's GPUs, from the management library of the driver, which is loaded at run time
 *
 * Every answer may fail or be missing in an old driver: then that cell stays unknown. The library may be a stranger's
 * (hd_devices_options.nvml): counts are bounded, texts are terminated here.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "devices/impl.h"
#include "devices/nvml_abi.h"

struct devices_nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_text)(int);
    int (*driver_version)(char *, unsigned);
    int (*nvml_version)(char *, unsigned);
    int (*cuda_version)(int *);
    int (*count)(unsigned *);
    int (*handle)(unsigned, nvml_handle **);
    int (*name)(nvml_handle *, char *, unsigned);
    int (*uuid)(nvml_handle *, char *, unsigned);
    int (*pci)(nvml_handle *, nvml_pci *);
    int (*memory)(nvml_handle *, nvml_memory *);
    int (*compute)(nvml_handle *, int *, int *);
    int (*cores)(nvml_handle *, unsigned *);
    int (*shared)(nvml_handle *, nvml_handle *, unsigned *);
    int (*peer)(nvml_handle *, nvml_handle *, unsigned, unsigned *);
    int (*link_state)(nvml_handle *, unsigned, unsigned *);
    int (*link_remote)(nvml_handle *, unsigned, nvml_pci *);
    int (*link_remote_type)(nvml_handle *, unsigned, unsigned *);
};

/* ---- loading ---- */

/* C has no conversion from an object's address to a function's, so the bytes are copied, as POSIX suggests. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (symbol) memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool find_all(devices_nvml *n)
{
    bool needed = find(n->library, "nvmlInit_v2", &n->init) && find(n->library, "nvmlShutdown", &n->shutdown) &&
                  find(n->library, "nvmlDeviceGetCount_v2", &n->count) &&
                  find(n->library, "nvmlDeviceGetHandleByIndex_v2", &n->handle);
    find(n->library, "nvmlErrorString", &n->error_text);
    find(n->library, "nvmlSystemGetDriverVersion", &n->driver_version);
    find(n->library, "nvmlSystemGetNVMLVersion", &n->nvml_version);
    find(n->library, "nvmlSystemGetCudaDriverVersion_v2", &n->cuda_version);
    find(n->library, "nvmlDeviceGetName", &n->name);
    find(n->library, "nvmlDeviceGetUUID", &n->uuid);
    find(n->library, "nvmlDeviceGetPciInfo_v3", &n->pci);
    find(n->library, "nvmlDeviceGetMemoryInfo", &n->memory);
    find(n->library, "nvmlDeviceGetCudaComputeCapability", &n->compute);
    find(n->library, "nvmlDeviceGetNumGpuCores", &n->cores);
    find(n->library, "nvmlDeviceGetTopologyCommonAncestor", &n->shared);
    find(n->library, "nvmlDeviceGetP2PStatus", &n->peer);
    find(n->library, "nvmlDeviceGetNvLinkState", &n->link_state);
    find(n->library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", &n->link_remote);
    find(n->library, "nvmlDeviceGetNvLinkRemoteDeviceType", &n->link_remote_type);
    return needed;
}

static void say_failure(char *told, const devices_nvml *n, int result)
{
    const char *text = n->error_text ? n->error_text(result) : NULL;
    devices_text(told, HD_WAY_TEXT_BYTES, "does not start: %.200s (%d)", text ? text : "error", result);
}

hd_status devices_nvml_open(devices_nvml **out, char *told, const char *library, hd_error *err)
{
    *out = NULL;
    devices_nvml *n = calloc(1, sizeof *n);
    if (!n) return HD_NOMEM(err);
    n->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        const char *why = dlerror();
        devices_text(told, HD_WAY_TEXT_BYTES, "not found: %.300s", why ? why : library);
    } else if (!find_all(n)) {
        devices_text(told, HD_WAY_TEXT_BYTES, "%.300s is not an NVML that Heddle knows: a function is missing",
                     library);
    } else {
        int result = n->init();
        if (result == NVML_FINE) {
            *out = n;
            return HD_OK;
        }
        say_failure(told, n, result);
    }
    if (n->library) dlclose(n->library);
    free(n);
    return HD_OK;
}

void devices_nvml_close(devices_nvml *nvml)
{
    if (!nvml) return;
    nvml->shutdown();
    dlclose(nvml->library);
    free(nvml);
}

/* ---- texts and versions ---- */

static void take_text(char *out, size_t size, const char answer[NVML_TEXT + 1])
{
    devices_text(out, size, "%.*s", NVML_TEXT, answer);
}

void devices_nvml_versions(const devices_nvml *n, hd_devices *out)
{
    char text[NVML_TEXT + 1] = "";
    int cuda = 0;
    if (n->driver_version && n->driver_version(text, NVML_TEXT) == NVML_FINE)
        take_text(out->driver, sizeof out->driver, text);
    memset(text, 0, sizeof text);
    if (n->nvml_version && n->nvml_version(text, NVML_TEXT) == NVML_FINE)
        devices_text(out->nvml, sizeof out->nvml, "version %.*s", NVML_TEXT, text);
    else
        devices_text(out->nvml, sizeof out->nvml, "of an unknown version");
    if (n->cuda_version && n->cuda_version(&cuda) == NVML_FINE && cuda > 0 && cuda < 1000000)
        devices_text(out->cuda_driver, sizeof out->cuda_driver, "%d.%d", cuda / 1000, cuda / 10 % 100);
}

/* ---- devices ---- */

/* NVML has the number of CUDA cores, not of multiprocessors; the cores of one follow from the architecture. 0:
 * unknown. */
static unsigned cores_per_multiprocessor(int major, int minor)
{
    switch (major) {
    case 5: return 128;
    case 6: return minor == 0 ? 64 : 128;
    case 7: return 64;
    case 8: return minor == 0 ? 64 : 128;
    case 9:
    case 10:
    case 11:
    case 12: return 128;
    default: return 0;
    }
}

static void find_compute(hd_gpu *gpu, const devices_nvml *n, nvml_handle *handle)
{
    int major = 0, minor = 0;
    unsigned cores = 0;
    if (!n->compute || n->compute(handle, &major, &minor) != NVML_FINE || major < 1 || major > 999 || minor < 0 ||
        minor > 9)
        return;
    devices_text(gpu->architecture, sizeof gpu->architecture, "sm_%d%d", major, minor);
    unsigned each = cores_per_multiprocessor(major, minor);
    if (each && n->cores && n->cores(handle, &cores) == NVML_FINE && cores && cores % each == 0)
        gpu->multiprocessors = cores / each;
}

static void address_of(char *out, size_t size, const nvml_pci *pci)
{
    devices_text(out, size, "%04x:%02x:%02x.0", pci->domain, pci->bus, pci->device);
}

static hd_status add_device(device_list *list, const devices_nvml *n, unsigned index, hd_error *err)
{
    nvml_handle *handle = NULL;
    nvml_pci pci = {0};
    nvml_memory memory = {0};
    char address[HD_DEVICE_TEXT_BYTES] = "", text[NVML_TEXT + 1] = "";
    if (n->handle(index, &handle) != NVML_FINE) return HD_OK;
    bool has_pci = n->pci && n->pci(handle, &pci) == NVML_FINE;
    if (has_pci) address_of(address, sizeof address, &pci);
    device_entry *entry = has_pci ? devices_at_pci(list, address) : NULL;
    if (!entry || entry->in_nvml) HD_TRY(devices_add(&entry, list, err));
    hd_gpu *gpu = &entry->gpu;
    entry->in_nvml = true;
    gpu->vendor = HD_GPU_NVIDIA;
    gpu->index = index;
    devices_text(gpu->pci, sizeof gpu->pci, "%s", address);
    devices_text(gpu->source, sizeof gpu->source, "nvml");
    if (has_pci) {
        gpu->pci_vendor_id = pci.id & 0xffff;
        gpu->pci_device_id = pci.id >> 16;
    }
    if (n->name && n->name(handle, text, NVML_TEXT) == NVML_FINE) take_text(gpu->name, sizeof gpu->name, text);
    memset(text, 0, sizeof text);
    if (n->uuid && n->uuid(handle, text, NVML_TEXT) == NVML_FINE) take_text(gpu->uuid, sizeof gpu->uuid, text);
    if (n->memory && n->memory(handle, &memory) == NVML_FINE && memory.total <= INT64_MAX)
        gpu->memory_bytes = (int64_t)memory.total;
    find_compute(gpu, n, handle);
    return HD_OK;
}

hd_status devices_find_nvml(device_list *list, const devices_nvml *n, hd_error *err)
{
    unsigned count = 0;
    if (n->count(&count) != NVML_FINE) return HD_OK;
    if (count > HD_DEVICE_LIMIT)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "NVML counts %u GPUs; at most %d are looked at",
                            count, HD_DEVICE_LIMIT);
    for (unsigned i = 0; i < count; i++) HD_TRY(add_device(list, n, i, err));
    for (size_t i = 0; i < list->count; i++) {
        hd_gpu *gpu = &list->list[i].gpu;
        if (gpu->vendor == HD_GPU_NVIDIA && !list->list[i].in_nvml && !gpu->problem[0])
            devices_text(gpu->problem, sizeof gpu->problem,
                         "NVML does not list it: not given to this container, or lost");
    }
    return HD_OK;
}

/* ---- links ---- */

typedef struct link_ends {
    nvml_handle *handle;    /* NULL: not NVML's */
    unsigned on, to_switch; /* NVLinks that are up, and those of them that go to a switch */
    unsigned direct_count;
    char direct[NVML_LINKS][HD_DEVICE_TEXT_BYTES]; /* PCI addresses at the other ends of the others */
} link_ends;

static void find_ends(link_ends *ends, const devices_nvml *n)
{
    for (unsigned link = 0; link < NVML_LINKS && n->link_state; link++) {
        unsigned state = 0, type = NVML_REMOTE_GPU;
        nvml_pci remote = {0};
        if (n->link_state(ends->handle, link, &state) != NVML_FINE || state != NVML_LINK_ON) continue;
        ends->on++;
        if (n->link_remote_type && n->link_remote_type(ends->handle, link, &type) == NVML_FINE &&
            type == NVML_REMOTE_SWITCH) {
            ends->to_switch++;
        } else if (n->link_remote && n->link_remote(ends->handle, link, &remote) == NVML_FINE) {
            address_of(ends->direct[ends->direct_count++], HD_DEVICE_TEXT_BYTES, &remote);
        }
    }
}

static uint32_t direct_links(const link_ends *from, const char *pci)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < from->direct_count; i++) count += pci[0] && strcmp(from->direct[i], pci) == 0;
    return count;
}

static hd_gpu_link shared_link(unsigned level)
{
    switch (level) {
    case NVML_SHARE_BOARD:
    case NVML_SHARE_BRIDGE: return HD_LINK_PIX;
    case NVML_SHARE_BRIDGES: return HD_LINK_PXB;
    case NVML_SHARE_HOST_BRIDGE: return HD_LINK_PHB;
    case NVML_SHARE_NODE: return HD_LINK_NODE;
    case NVML_SHARE_SYSTEM: return HD_LINK_SYS;
    default: return HD_LINK_UNKNOWN;
    }
}

static hd_gpu_path between(const devices_nvml *n, const link_ends *a, const link_ends *b, const char *pci_b)
{
    hd_gpu_path path = {.mb_per_s = -1};
    unsigned level = UINT32_MAX, peer = UINT32_MAX;
    if (n->shared && n->shared(a->handle, b->handle, &level) == NVML_FINE) path.link = shared_link(level);
    path.count = direct_links(a, pci_b);
    /* Behind switches every pair has as many links as the one with fewer; the driver says whether they are joined. */
    if (!path.count && a->to_switch && b->to_switch && n->peer &&
        n->peer(a->handle, b->handle, NVML_P2P_NVLINK, &peer) == NVML_FINE && peer == NVML_P2P_FINE)
        path.count = a->to_switch < b->to_switch ? a->to_switch : b->to_switch;
    if (path.count) path.link = HD_LINK_NVLINK;
    return path;
}

void devices_links_nvml(hd_gpu_path *paths, const device_list *list, const devices_nvml *n)
{
    link_ends *ends = calloc(list->count ? list->count : 1, sizeof *ends);
    if (!ends) return; /* keep the value from PCI */
    for (size_t i = 0; i < list->count; i++) {
        const device_entry *entry = &list->list[i];
        if (entry->in_nvml && n->handle((unsigned)entry->gpu.index, &ends[i].handle) != NVML_FINE)
            ends[i].handle = NULL;
        if (ends[i].handle) find_ends(&ends[i], n);
    }
    for (size_t a = 0; a < list->count; a++)
        for (size_t b = a + 1; b < list->count; b++)
            if (ends[a].handle && ends[b].handle)
                devices_link(paths, list->count, a, b, between(n, &ends[a], &ends[b], list->list[b].gpu.pci));
    free(ends);
}
