/* devices.h - the GPUs of this machine, how they are linked, and which capture methods work here
 *
 * Devices come from NVIDIA's NVML, which is loaded at run time where it is installed, and from sysfs and procfs: PCI,
 * drm, and amdgpu's kfd. Without any of them the list is empty, which is not an error. Nothing is started on a GPU.
 *
 *     hd_devices *devices;
 *     HD_TRY(hd_devices_new(&devices, NULL, err));
 *     const hd_way *way = hd_devices_way(devices, "cuda");
 *     if (way->state == HD_WAY_MISSING) printf("%s\n%s\n", way->why, way->advice);
 *     hd_devices_free(devices);
 *
 * All text is NUL-terminated, printable, and cut where it is too long. Linux; elsewhere only the tools on PATH are
 * listed.
 */
#ifndef HEDDLE_DEVICES_H
#define HEDDLE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HD_DEVICE_TEXT_BYTES = 128, HD_WAY_TEXT_BYTES = 640, HD_DEVICE_LIMIT = 256 };

typedef enum hd_gpu_vendor { HD_GPU_OTHER, HD_GPU_NVIDIA, HD_GPU_AMD, HD_GPU_INTEL } hd_gpu_vendor;

/* One GPU. An unknown number is -1, an unknown text "". */
typedef struct hd_gpu {
    hd_gpu_vendor vendor;
    int64_t index;                           /* NVML's or kfd's index among the GPUs of its vendor; -1: known from the
                                                bus only */
    char name[HD_DEVICE_TEXT_BYTES];         /* "NVIDIA H100 80GB HBM3"; "10de:2330" without a known name */
    char pci[HD_DEVICE_TEXT_BYTES];          /* "0000:3b:00.0"; "": on no PCI bus */
    char uuid[HD_DEVICE_TEXT_BYTES];         /* "GPU-…" */
    char driver[HD_DEVICE_TEXT_BYTES];       /* "nvidia 570.86.15", "amdgpu", "xe"; "": no driver is bound to it */
    char cpus[HD_DEVICE_TEXT_BYTES];         /* CPUs of its NUMA node, in the kernel's list format: "0-31,64-95" */
    char architecture[HD_DEVICE_TEXT_BYTES]; /* "sm_90", "gfx942" */
    int64_t memory_bytes;
    int64_t multiprocessors; /* NVIDIA's SMs, AMD's compute units */
    int64_t numa_node;
    int64_t pci_vendor_id, pci_device_id;
    int64_t pcie_lanes;                    /* in use now … */
    int64_t pcie_lanes_max;                /* … and could */
    char pcie_speed[HD_DEVICE_TEXT_BYTES]; /* now: "32.0 GT/s PCIe" */
    char source[HD_DEVICE_TEXT_BYTES];     /* where this was read: "nvml", "kfd", "pci", "drm" */
    char problem[HD_DEVICE_TEXT_BYTES];    /* why it cannot be used: "no driver is bound to it"; "": no reason known */
} hd_gpu;

/* The nearest way between two GPUs, from near to far; the words of `nvidia-smi topo -m`. */
typedef enum hd_gpu_link {
    HD_LINK_UNKNOWN,
    HD_LINK_SELF,   /* X: the same */
    HD_LINK_NVLINK, /* NV#: # NVLinks, direct or through switches */
    HD_LINK_XGMI,   /* XGMI: AMD's links */
    HD_LINK_PIX,    /* at most one PCIe bridge */
    HD_LINK_PXB,    /* several PCIe bridges, no host bridge */
    HD_LINK_PHB,    /* a PCIe host bridge */
    HD_LINK_NODE,   /* between host bridges of one NUMA node */
    HD_LINK_SYS,    /* between NUMA nodes */
} hd_gpu_link;

/* "NV", "PIX", …; static. */
const char *hd_gpu_link_name(hd_gpu_link link);
const char *hd_gpu_vendor_name(hd_gpu_vendor vendor); /* "NVIDIA", "AMD", "Intel", "other" */

typedef struct hd_gpu_path {
    hd_gpu_link link;
    uint32_t count;   /* of NVLinks or XGMI links; 0: unknown */
    int64_t mb_per_s; /* from kfd; -1: unknown */
} hd_gpu_path;

typedef enum hd_way_state {
    HD_WAY_MISSING, /* does not work; `why` has the reason, `advice` the remedy */
    HD_WAY_PARTLY,  /* works in part; `why` has the missing part */
    HD_WAY_WORKS,
} hd_way_state;

/* "no", "partly", "yes". Static. */
const char *hd_way_state_name(hd_way_state state);

/* A capture method. All are always listed, in this order:
 *   session     programs that use libheddle-capture themselves
 *   cuda        libheddle-cuda.so, which the CUDA driver loads into every program: needs libcuda and CUPTI
 *   uprobe      launch functions of any library through perf_event_open
 *   stacks      CPU stacks of launches inside the program (frame pointers, DWARF)
 *   perf-stacks CPU stacks by the kernel (perf callchains), as `uprobe` uses them
 *   kernel      events of the system's kernel, by its tracepoints
 *   python      names of Python frames (CPython's perf trampoline, or its frames)
 *   nsys rocprofv3 xctrace mctracer     that tool on PATH */
typedef struct hd_way {
    const char *name;    /* static */
    const char *summary; /* one line, static */
    hd_way_state state;
    char why[HD_WAY_TEXT_BYTES];    /* the evidence: "CUPTI 13.0 in /usr/…, driver 580.95" */
    char advice[HD_WAY_TEXT_BYTES]; /* what to do, as a sentence; "": nothing */
} hd_way;

typedef struct hd_devices {
    size_t gpu_count;
    hd_gpu *gpus;       /* NVIDIA, AMD, Intel, others; each by index, then by PCI address */
    hd_gpu_path *paths; /* gpu_count * gpu_count, by row */
    size_t way_count;
    hd_way *ways;
    char driver[HD_DEVICE_TEXT_BYTES];      /* version of NVIDIA's driver: "570.86.15" */
    char cuda_driver[HD_DEVICE_TEXT_BYTES]; /* the newest CUDA version that the driver supports: "12.8" */
    char nvml[HD_WAY_TEXT_BYTES];           /* where NVML was found and its version, or why it was not used */
    char injection[HD_WAY_TEXT_BYTES];      /* absolute path of libheddle-cuda.so; "": not found */
} hd_devices;

/* Zero-initialised means this machine. */
typedef struct hd_devices_options {
    size_t size; /* of this struct; see "Options" in status.h */
    const char
        *root; /* look in DIR/sys, DIR/proc and DIR/dev, for example those of the host from inside a container; "" or
                  NULL: "/". NVML is then loaded only if it is named, and perf events, which need the running kernel,
                  are not tried */
    const char *nvml;    /* load this library instead of libnvidia-ml.so.1; NULL: that */
    bool ways_only;      /* leave out how GPUs are linked */
    const char *library; /* path of libheddle-cuda.so; NULL: $HEDDLE_CUDA_LIBRARY, else it is searched */
} hd_devices_options;

/* Detects the devices. The caller frees the result with hd_devices_free. Loads NVML, libcuda and CUPTI into this
 * process where they are found, and starts `python3` once to read its version. Thread-safe. Errors: MEMORY; IO: root is
 * not a folder; LIMIT: more than HD_DEVICE_LIMIT GPUs. */
hd_status hd_devices_new(hd_devices **out, const hd_devices_options *options, hd_error *err);
void hd_devices_free(hd_devices *devices);

/* The capture method of that name; NULL: none. */
const hd_way *hd_devices_way(const hd_devices *devices, const char *name);

/* Finds one of heddle's own files (`name`: "libheddle-cuda.so", "engine.html"): next to the running program, in
 * ../lib/heddle or ../share/heddle from there, in its build tree, or where heddle was installed. Writes the absolute
 * path into `out`; false: nowhere. */
bool hd_devices_library(char *out, size_t size, const char *name);

/* Finds a program on PATH and writes its absolute path into `out`; false: not found. */
bool hd_devices_program(char *out, size_t size, const char *name);

#ifdef __cplusplus
}
#endif
#endif
