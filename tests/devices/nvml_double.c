/* nvml_double.c - a test double of libnvidia-ml.so.1: what it answers is told by NVML_DOUBLE in the environment
 *
 * switched: three GPUs; 0 and 1 have 18 NVLinks each to switches, 2 has 12; the driver says that 0-1 and 0-2 are
 * joined. direct: three GPUs, 4 NVLinks between 0 and 1, none to 2. older: as direct without links, of a driver for
 * CUDA 12.4. broken: does not start. many: says that it has 4 billion GPUs. hostile: one GPU with texts that do not
 * end, a domain of 8 digits, no memory that can be, links that all fail.
 */
#include <stdlib.h>
#include <string.h>

#include "devices/nvml_abi.h"

#define EXPORT __attribute__((visibility("default")))

struct nvml_handle {
    unsigned index;
};

static nvml_handle handles[3] = {{0}, {1}, {2}};
enum { BUS_OF_FIRST = 0x3b, FAILED = 999 };

static int scene(const char *name)
{
    const char *chosen = getenv("NVML_DOUBLE");
    return chosen && strcmp(chosen, name) == 0;
}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int result);
EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size);
EXPORT int nvmlSystemGetNVMLVersion(char *out, unsigned size);
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *out);
EXPORT int nvmlDeviceGetCount_v2(unsigned *out);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_handle **out);
EXPORT int nvmlDeviceGetName(nvml_handle *h, char *out, unsigned size);
EXPORT int nvmlDeviceGetUUID(nvml_handle *h, char *out, unsigned size);
EXPORT int nvmlDeviceGetPciInfo_v3(nvml_handle *h, nvml_pci *out);
EXPORT int nvmlDeviceGetMemoryInfo(nvml_handle *h, nvml_memory *out);
EXPORT int nvmlDeviceGetCudaComputeCapability(nvml_handle *h, int *major, int *minor);
EXPORT int nvmlDeviceGetNumGpuCores(nvml_handle *h, unsigned *out);
EXPORT int nvmlDeviceGetTopologyCommonAncestor(nvml_handle *a, nvml_handle *b, unsigned *out);
EXPORT int nvmlDeviceGetP2PStatus(nvml_handle *a, nvml_handle *b, unsigned what, unsigned *out);
EXPORT int nvmlDeviceGetNvLinkState(nvml_handle *h, unsigned link, unsigned *out);
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_handle *h, unsigned link, nvml_pci *out);
EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_handle *h, unsigned link, unsigned *out);

int nvmlInit_v2(void)
{
    return scene("broken") ? 9 : 0;
}

int nvmlShutdown(void)
{
    return 0;
}

const char *nvmlErrorString(int result)
{
    return result == 9 ? "Driver\nNot Loaded" : "Error";
}

static int text(char *out, unsigned size, const char *answer)
{
    if (scene("hostile"))
        memset(out, 'x', size); /* no end */
    else
        strncpy(out, answer, size);
    return 0;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    return text(out, size, "580.95.05");
}

int nvmlSystemGetNVMLVersion(char *out, unsigned size)
{
    return text(out, size, "13.580.95");
}

int nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    *out = scene("older") ? 12040 : 13000;
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
    *out = scene("many") ? 4000000000u : scene("hostile") ? 1 : 3;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_handle **out)
{
    if (index > 2) return FAILED;
    *out = &handles[index];
    return 0;
}

int nvmlDeviceGetName(nvml_handle *h, char *out, unsigned size)
{
    return text(out, size, h->index == 2 ? "NVIDIA A100-SXM4-80GB" : "NVIDIA H100 80GB HBM3");
}

int nvmlDeviceGetUUID(nvml_handle *h, char *out, unsigned size)
{
    return text(out, size, h->index ? "GPU-1" : "GPU-0");
}

int nvmlDeviceGetPciInfo_v3(nvml_handle *h, nvml_pci *out)
{
    out->domain = scene("hostile") ? 0xffffffffu : 0;
    out->bus = BUS_OF_FIRST + h->index;
    out->id = 0x233010deu;
    return 0;
}

int nvmlDeviceGetMemoryInfo(nvml_handle *h, nvml_memory *out)
{
    (void)h;
    out->total = scene("hostile") ? ~0ull : 85520809984ull;
    return 0;
}

int nvmlDeviceGetCudaComputeCapability(nvml_handle *h, int *major, int *minor)
{
    *major = scene("hostile") ? -2147483647 : h->index == 2 ? 8 : 9;
    *minor = 0;
    return 0;
}

int nvmlDeviceGetNumGpuCores(nvml_handle *h, unsigned *out)
{
    *out = h->index == 2 ? 6912 : 16896;
    return 0;
}

int nvmlDeviceGetTopologyCommonAncestor(nvml_handle *a, nvml_handle *b, unsigned *out)
{
    *out = a->index + b->index == 1 ? NVML_SHARE_NODE : NVML_SHARE_SYSTEM;
    return 0;
}

int nvmlDeviceGetP2PStatus(nvml_handle *a, nvml_handle *b, unsigned what, unsigned *out)
{
    *out = what == NVML_P2P_NVLINK && a->index * b->index == 0 ? NVML_P2P_FINE : 1;
    return 0;
}

int nvmlDeviceGetNvLinkState(nvml_handle *h, unsigned link, unsigned *out)
{
    unsigned links = scene("switched") ? (h->index == 2 ? 12 : 18) : scene("direct") && h->index < 2 ? 4 : 0;
    if (scene("hostile")) links = 0xffffffffu;
    if (link >= links) return FAILED;
    *out = NVML_LINK_ON;
    return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_handle *h, unsigned link, nvml_pci *out)
{
    (void)link;
    if (scene("switched")) return FAILED;
    out->domain = 0;
    out->bus = BUS_OF_FIRST + 1 - h->index;
    return 0;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_handle *h, unsigned link, unsigned *out)
{
    (void)h;
    (void)link;
    *out = scene("switched") ? NVML_REMOTE_SWITCH : NVML_REMOTE_GPU;
    return 0;
}
