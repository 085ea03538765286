/* collectives.h - what the trace says of a collective: kind, group, type, elements, bytes
 *
 * In: a scope, and the index of an activity that communicates. Out: its facts. The arguments are the activity's own,
 * else those of the operator or NVTX range around its launch.
 */
#ifndef HD_MODEL_COLLECTIVES_COLLECTIVES_H
#define HD_MODEL_COLLECTIVES_COLLECTIVES_H

#include "model/scope/scope.h"

enum { GPU_COLLECTIVE_ARGUMENTS = 9 };
typedef struct gpu_collectives {
    const gpu_scope *scope;
    gpu_arg args[GPU_COLLECTIVE_ARGUMENTS];
    gpu_texts texts;
    uint8_t *known;  /* by string: gpu_collective + 1 */
    gpu_slices ops;  /* record_param_comms; without any, NCCL's ranges of NVTX */
    uint32_t *op_of; /* by launch; NULL: there are none */
} gpu_collectives;
/* Deinit either way. Errors: MEMORY. */
hd_status gpu_collectives_init(gpu_collectives *out, const gpu_scope *scope, hd_error *err);
void gpu_collectives_deinit(gpu_collectives *collectives);

/* Numbers that are not known are HD_NO_NUMBER, texts HD_NONE. */
typedef struct gpu_collective_facts {
    gpu_collective collective;
    uint32_t type, group, ranks;  /* of the texts */
    int64_t size, in, out, bytes; /* ranks of the group, elements, bytes as nccl-tests count them */
} gpu_collective_facts;
bool gpu_collective_facts_of(gpu_collective_facts *out, gpu_collectives *collectives,
                             uint32_t work); /* false: no memory */

/* Bus-bandwidth factor, as in nccl-tests. false: unknown. */
bool gpu_bus_factor(double *out, gpu_collective collective, int64_t ranks);
/* The same of a collective by its name, "AllReduce". */
bool gpu_bus_factor_named(double *out, hd_string collective, int64_t ranks);

#endif
