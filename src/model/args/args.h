/* args.h - arguments of events by name */
#ifndef HD_MODEL_ARGS_ARGS_H
#define HD_MODEL_ARGS_ARGS_H

#include "model/stats/stats.h"

/* An argument by its name, looked up once per shape. */
typedef struct gpu_arg {
    const hd_trace *trace;
    uint32_t key;
    int16_t *places; /* by shape: index, -1: none, -2: not looked at */
} gpu_arg;
bool gpu_arg_init(gpu_arg *arg, const hd_trace *trace, const char *name); /* false: no memory */
void gpu_arg_deinit(gpu_arg *arg);
/* Does any event of the trace have it? */
bool gpu_arg_is_used(const gpu_arg *arg);
bool gpu_arg_get(hd_value *out, gpu_arg *arg, const hd_block *block, uint32_t row);
/* A whole number, also as text; false: there is none. */
bool gpu_arg_whole(int64_t *out, gpu_arg *arg, const hd_block *block, uint32_t row);
/* The string id of a text, or of the original text of an object or array; HD_STRING_NONE. */
uint32_t gpu_arg_text(gpu_arg *arg, const hd_block *block, uint32_t row);
/* The text of any value, numbers as well; JSON on one line. false: no memory; *out is HD_NONE where there is none. */
bool gpu_arg_written(uint32_t *out, gpu_texts *texts, gpu_arg *arg, const hd_block *block, uint32_t row);

/* The bytes of copies and memsets: "bytes", or "size" as ROCm's profilers write it. */
typedef struct gpu_copy_bytes {
    gpu_arg bytes, size;
} gpu_copy_bytes;
bool gpu_copy_bytes_init(gpu_copy_bytes *arg, const hd_trace *trace); /* false: no memory; deinit either way */
void gpu_copy_bytes_deinit(gpu_copy_bytes *arg);
/* Of a slice; HD_NO_NUMBER: unknown. */
int64_t gpu_copy_bytes_of(gpu_copy_bytes *arg, uint64_t slice);

#endif
