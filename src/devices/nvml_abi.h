/* nvml_abi.h - the part of NVIDIA's management library that Heddle calls, declared here in our own words
 *
 * libnvidia-ml.so.1 comes with the driver and is loaded at run time, so that building needs no header of NVIDIA's. Only
 * functions are declared whose arguments have not changed since the version in their name. Handles are pointers that
 * belong to NVML; 0 is success; texts are terminated within the length given, which is not relied upon.
 */
#ifndef HD_DEVICES_NVML_ABI_H
#define HD_DEVICES_NVML_ABI_H

enum {
    NVML_FINE = 0,
    NVML_TEXT = 96,  /* long enough for all texts */
    NVML_LINKS = 36, /* NVLinks of one device that are queried: a B200 has 18 */
    NVML_LINK_ON = 1,
    NVML_REMOTE_GPU = 0, /* the type of the other end of an NVLink */
    NVML_REMOTE_SWITCH = 2,
    NVML_P2P_NVLINK = 2, /* "can these two reach each other over NVLink?" … */
    NVML_P2P_FINE = 0,   /* … "they can" */
    /* The nearest thing that two devices share. */
    NVML_SHARE_BOARD = 0,
    NVML_SHARE_BRIDGE = 10,
    NVML_SHARE_BRIDGES = 20,
    NVML_SHARE_HOST_BRIDGE = 30,
    NVML_SHARE_NODE = 40,
    NVML_SHARE_SYSTEM = 50,
};

typedef struct nvml_handle nvml_handle; /* nvmlDevice_t is a pointer to one */

typedef struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
} nvml_memory;

typedef struct nvml_pci {
    char short_address[16]; /* with a domain of 4 digits */
    unsigned domain, bus, device;
    unsigned id; /* device number << 16 | vendor number */
    unsigned subsystem_id;
    char address[32]; /* with a domain of 8 digits */
} nvml_pci;

#endif
