/* advice.c - what to change, in the terms of an API
 *
 * Rules name CUDA's functions and tools. HIP's functions have the same names behind another prefix; what is called
 * otherwise there, or on devices that are neither NVIDIA's nor AMD's, is in a table.
 */
#include "report/advice.h"

#include <ctype.h>
#include <string.h>

#include "model/identity/device.h"

/* Longer texts before those that they contain. */
static const struct {
    const char *cuda, *hip, *other; /* other: NULL: the same */
} terms[] = {
    {"cudaMallocHost, cudaHostRegister, hipHostMalloc", "hipHostMalloc, hipHostRegister", NULL},
    {"cudaHostAlloc", "hipHostMalloc", NULL},
    {"CUDA or HIP graphs", "HIP graphs", "captured graphs"},
    {"CUDA graphs", "HIP graphs", "captured graphs"},
    {"CUDA-aware MPI", "GPU-aware MPI", "device-aware MPI"},
    {"NCCL's LL protocol", "RCCL's LL protocol", NULL},
    {"nvcc --default-stream per-thread", "hipcc -fgpu-default-stream=per-thread", NULL},
    {"__launch_bounds__, -maxrregcount", "__launch_bounds__", NULL},
    {"Nsight Compute", "ROCm Compute Profiler", "the vendor's profiler of kernels"},
    {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", NULL},
    {"Unset CUDA_LAUNCH_BLOCKING, HIP_LAUNCH_BLOCKING, AMD_SERIALIZE_KERNEL",
     "Unset HIP_LAUNCH_BLOCKING, AMD_SERIALIZE_KERNEL",
     "Turn off what makes launches wait (on Ascend ASCEND_LAUNCH_BLOCKING)"},
    {", or set CUDA_MODULE_LOADING=EAGER", "", ""},
    {"nvidia-smi -q -d PERFORMANCE (or rocm-smi)", "rocm-smi", "the vendor's monitor"},
    {"nvidia-smi -pl", "rocm-smi --setpoweroverdrive", NULL},
    {"nvidia-smi -lgc", "rocm-smi --setperfdeterminism", NULL},
    {"ProfilerActivity.CPU; heddle record; nsys --trace=cuda", "ProfilerActivity.CPU; rocprofv3 --sys-trace",
     "ProfilerActivity.CPU; in JAX host_tracer_level"},
};

/* Words in names of devices that are called GPUs. */
static const struct {
    const char *word;
    finding_api api;
} models[] = {
    {"AMD", FINDING_API_HIP},
    {"Radeon", FINDING_API_HIP},
    {"Instinct", FINDING_API_HIP},
    {"MetaX", FINDING_API_OTHER},
    {"Data Center GPU Max", FINDING_API_OTHER},
};

static bool is_gpu(const char *device_kind)
{
    return strcmp(device_kind, "GPU") == 0;
}

finding_api finding_api_of_model(hd_string model)
{
    for (size_t i = 0; model.size && i < sizeof models / sizeof *models; i++)
        if (memmem(model.data, model.size, models[i].word, strlen(models[i].word))) return models[i].api;
    return is_gpu(hd_device_kind_in(model)) ? FINDING_API_CUDA : FINDING_API_OTHER;
}

static void put(char out[FINDING_ADVICE], size_t *used, const char *text, size_t size)
{
    if (size >= FINDING_ADVICE - *used) size = FINDING_ADVICE - 1 - *used;
    memcpy(out + *used, text, size);
    *used += size;
}

/* How many bytes of `text` another text takes the place of; 0: none. */
static size_t replaced(const char **out, const char *text, finding_api api, const char *device_kind)
{
    *out = device_kind;
    if (strncmp(text, "GPU", 3) == 0 && text[3] != '-') return 3; /* not of "GPU-aware MPI" */
    if (api == FINDING_API_CUDA) return 0;
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        size_t size = strlen(terms[i].cuda);
        *out = api == FINDING_API_HIP ? terms[i].hip : terms[i].other ? terms[i].other : terms[i].cuda;
        if (strncmp(text, terms[i].cuda, size) == 0) return size;
    }
    *out = "hip"; /* of cudaMalloc, not of torch.cuda */
    return api == FINDING_API_HIP && strncmp(text, "cuda", 4) == 0 && isupper((unsigned char)text[4]) ? 4 : 0;
}

const char *finding_advice_in(char out[FINDING_ADVICE], const char *text, finding_api api, const char *device_kind)
{
    const char *instead;
    size_t used = 0;
    if (api == FINDING_API_CUDA && is_gpu(device_kind)) return text;
    while (*text) {
        size_t size = replaced(&instead, text, api, device_kind);
        put(out, &used, size ? instead : text, size ? strlen(instead) : 1);
        text += size ? size : 1;
    }
    out[used] = '\0';
    return out;
}
