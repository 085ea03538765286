/* gpus.h - lookups of reports in the table of GPUs (heddle/gpus.h) */
#ifndef HD_REPORT_GPUS_H
#define HD_REPORT_GPUS_H

#include "heddle/gpus.h"
#include "heddle/trace.h"

typedef enum report_dtype {
    REPORT_FP64,
    REPORT_FP32,
    REPORT_TF32,
    REPORT_BF16,
    REPORT_FP16,
    REPORT_FP8,
    REPORT_INT8,
    REPORT_DTYPES
} report_dtype;
extern const char *const report_dtype_names[REPORT_DTYPES];

typedef struct report_gpu {
    double bandwidth;            /* GB/s, above 0 */
    double peaks[REPORT_DTYPES]; /* TFLOP/s; 0: not known */
} report_gpu;

/* NULL: the table does not have it. Valid until a table is added. */
const report_gpu *report_gpu_find(const hd_gpus *gpus, hd_string name);
/* The first entry whose name contains `word` as a whole word, and its name. */
const report_gpu *report_gpu_with(hd_string *out_name, const hd_gpus *gpus, hd_string word);
/* Of that name, or with it as a word, if that is one entry; else ARGUMENT, with a name that is near. */
hd_status report_gpu_named(const report_gpu **out, const hd_gpus *gpus, const char *name, hd_error *err);

/* share/gpus.toml */
extern const char report_gpus[];
extern const size_t report_gpus_size;

#endif
