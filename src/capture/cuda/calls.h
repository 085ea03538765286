/* calls.h - the calls of CUDA that are traced */
#ifndef HD_CAPTURE_CUDA_CALLS_H
#define HD_CAPTURE_CUDA_CALLS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum cuda_call_kind {
    CUDA_CALL_NONE,
    CUDA_CALL_LAUNCH,
    CUDA_CALL_GRAPH_LAUNCH,
    CUDA_CALL_HOST,
    CUDA_CALL_COPY,
    CUDA_CALL_SET,
    CUDA_CALL_SYNC,
    CUDA_CALL_ORDER,
    CUDA_CALL_ALLOC,
    CUDA_CALL_FREE,
    CUDA_CALL_GRAPH,
} cuda_call_kind;

typedef struct cuda_call {
    const char *name; /* as profilers show it */
    cuda_call_kind kind;
} cuda_call;

/* domain: CUPTI_DOMAIN_RUNTIME or CUPTI_DOMAIN_DRIVER; number: CUPTI's. NULL: not a traced call. */
const cuda_call *cuda_call_find(uint32_t domain, uint32_t number);

/* Numbers are below this. */
uint32_t cuda_call_limit(uint32_t domain);

/* Whether it starts kernels. */
bool cuda_call_launches(cuda_call_kind kind);

/* Whether the stack of its callers is taken. */
bool cuda_call_has_stack(cuda_call_kind kind, bool with_memory);

#endif
