/* advice.c - what to change, in the terms of the API that the trace has
 *
 * Rules name CUDA's functions and tools. HIP's functions have the same names behind another prefix; what is called
 * otherwise is in a table.
 */
#include <ctype.h>
#include <string.h>

#include "heddle/analysis/launches.h"
#include "report/findings/finding.h"

/* Longer texts before those that they contain. */
static const struct {
    const char *cuda, *hip;
} in_hip[] = {
    {"cudaMallocHost, cudaHostRegister, hipHostMalloc", "hipHostMalloc, hipHostRegister"},
    {"cudaHostAlloc", "hipHostMalloc"},
    {"CUDA or HIP graphs", "HIP graphs"},
    {"CUDA graphs", "HIP graphs"},
    {"CUDA-aware MPI", "GPU-aware MPI"},
    {"NCCL's LL protocol", "RCCL's LL protocol"},
    {"nvcc --default-stream per-thread", "hipcc -fgpu-default-stream=per-thread"},
    {"__launch_bounds__, -maxrregcount", "__launch_bounds__"},
    {"Nsight Compute", "ROCm Compute Profiler"},
    {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"},
    {"CUDA_LAUNCH_BLOCKING, HIP_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING"},
    {", or set CUDA_MODULE_LOADING=EAGER", ""},
    {"nvidia-smi -q -d PERFORMANCE (or rocm-smi)", "rocm-smi"},
    {"nvidia-smi -pl", "rocm-smi --setpoweroverdrive"},
    {"nvidia-smi -lgc", "rocm-smi --setperfdeterminism"},
};

bool findings_is_hip(const findings *f)
{
    bool is_hip = false;
    for (uint32_t i = 0; i < hd_trace_string_count(f->scope.trace); i++) {
        hd_string name = hd_trace_string(f->scope.trace, i);
        if (!f->names[i] || hd_launch_sort_of(name) == HD_LAUNCH_UNKNOWN) continue;
        if (findings_begins(name, "cu")) return false;
        is_hip |= findings_begins(name, "hip");
    }
    return is_hip;
}

static void put(char out[FINDING_ADVICE], size_t *used, const char *text, size_t size)
{
    if (size >= FINDING_ADVICE - *used) size = FINDING_ADVICE - 1 - *used;
    memcpy(out + *used, text, size);
    *used += size;
}

/* How many bytes of `text` another text takes the place of; 0: none. */
static size_t replaced(const char **out, const char *text)
{
    for (size_t i = 0; i < sizeof in_hip / sizeof *in_hip; i++) {
        size_t size = strlen(in_hip[i].cuda);
        *out = in_hip[i].hip;
        if (strncmp(text, in_hip[i].cuda, size) == 0) return size;
    }
    *out = "hip"; /* of cudaMalloc, not of torch.cuda */
    return strncmp(text, "cuda", 4) == 0 && isupper((unsigned char)text[4]) ? 4 : 0;
}

const char *findings_advice(char out[FINDING_ADVICE], const findings *f, const finding_rule *rule)
{
    const char *text = rule->plain_advice && !f->is_torch ? rule->plain_advice : rule->about.advice, *instead;
    if (!f->is_hip) return text;
    size_t used = 0;
    while (*text) {
        size_t size = replaced(&instead, text);
        put(out, &used, size ? instead : text, size ? strlen(instead) : 1);
        text += size ? size : 1;
    }
    out[used] = '\0';
    return out;
}
