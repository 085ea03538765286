/* impl.h - shared by class.c and groups.c */
#ifndef HD_MODEL_CLASS_IMPL_H
#define HD_MODEL_CLASS_IMPL_H

#include "model/class/class.h"

/* A rule of the user: kernels that the glob fits are of this class, or collective; the glob stays. FORMAT, without a
 * message: there is no such class. */
hd_status class_add_rule(hd_string class, const char *glob, hd_error *err);
/* groups.c. Errors: FORMAT, with the line; LIMIT; IO; MEMORY. A failure adds no group. */
hd_status class_read_groups(const char *path, hd_error *err);
/* A table of share/groups by its name: "vllm". Errors: IO, with the names of all tables; MEMORY. */
hd_status class_read_shipped(const char *name, hd_error *err);

/* share/groups */
extern const char class_aiter[], class_megatron[], class_sglang[], class_transformer_engine[], class_vllm[];
extern const size_t class_aiter_size, class_megatron_size, class_sglang_size, class_transformer_engine_size,
    class_vllm_size;

#endif
