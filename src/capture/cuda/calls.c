/* calls.c - the calls of CUDA that are traced, by their numbers */
#include "capture/cuda/calls.h"
#include "capture/cuda/cupti/abi.h"
#include "capture/cuda/cupti/calls.h"

#define ROW(number, spelling, text, what) [number] = {text, CUDA_CALL_##what},
static const cuda_call runtime_calls[] = {CUPTI_RUNTIME_CALLS(ROW)};
static const cuda_call driver_calls[] = {CUPTI_DRIVER_CALLS(ROW)};
#undef ROW

uint32_t cuda_call_limit(uint32_t domain)
{
    if (domain == CUPTI_DOMAIN_RUNTIME) return sizeof runtime_calls / sizeof *runtime_calls;
    return domain == CUPTI_DOMAIN_DRIVER ? sizeof driver_calls / sizeof *driver_calls : 0;
}

const cuda_call *cuda_call_find(uint32_t domain, uint32_t number)
{
    if (number >= cuda_call_limit(domain)) return NULL;
    const cuda_call *call = domain == CUPTI_DOMAIN_RUNTIME ? &runtime_calls[number] : &driver_calls[number];
    return call->name ? call : NULL;
}

bool cuda_call_launches(cuda_call_kind kind)
{
    return kind == CUDA_CALL_LAUNCH || kind == CUDA_CALL_GRAPH_LAUNCH;
}

bool cuda_call_has_stack(cuda_call_kind kind, bool with_memory)
{
    switch (kind) {
    case CUDA_CALL_LAUNCH:
    case CUDA_CALL_GRAPH_LAUNCH:
    case CUDA_CALL_HOST:
    case CUDA_CALL_COPY:
    case CUDA_CALL_SET: return true;
    case CUDA_CALL_ALLOC:
    case CUDA_CALL_FREE: return with_memory;
    default: return false;
    }
}
