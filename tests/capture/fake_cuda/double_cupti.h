/* double_cupti.h - TEST DOUBLE: the parts of libcupti.so.13 */
#ifndef HEDDLE_TESTS_DOUBLE_CUPTI_H
#define HEDDLE_TESTS_DOUBLE_CUPTI_H

#include "double_cuda.h"

/* Where the calling thread stands: what CUPTI allows depends on it. */
typedef enum double_place {
    DOUBLE_OUTSIDE,
    DOUBLE_IN_API,      /* callbacks of calls: flushing is allowed */
    DOUBLE_IN_RESOURCE, /* not */
    DOUBLE_IN_SYNC,     /* not */
    DOUBLE_IN_BUFFER    /* not, nor anything else but reading the buffer */
} double_place;
double_place *double_here(void);

/* Begins every function of libcupti: misuse ends the program, the script's failures are returned, its delays made. */
cupti_status double_function_begin(const char *function, bool reads_buffers);
#define FUNCTION(reads_buffers)                                                                                        \
    do {                                                                                                               \
        cupti_status scripted = double_function_begin(__func__, reads_buffers);                                        \
        if (scripted) return scripted;                                                                                 \
    } while (0)

/* double_cupti.c */
void double_attach(void); /* libcuda tells us from now on */
bool double_kind_is_on(uint32_t kind);

/* double_buffers.c */
void double_buffers_add(const double_record *record); /* times are true ones, converted later */
uint64_t double_clock(uint64_t true_ns);              /* CUPTI's */

/* double_records.c */
enum { DOUBLE_UNKNOWN_KIND = 4711, DOUBLE_UNKNOWN_BYTES = 32 };
size_t double_record_length(uint32_t kind); /* as the real library of the script's version writes it */
bool double_has_gpu_times(uint32_t kind);
/* Makes true times CUPTI's, or bad ones: what becomes of the record, for the truth. */
const char *double_set_times(double_record *record, bool is_complete, bool is_bad);
void double_tell_record(const double_record *record, const char *fate, uint64_t buffer, size_t index);

/* double_ids.c */
uint32_t double_this_thread(void); /* its id, of the kind that the tracer asked for */
void double_add_externals(uint32_t correlation);

#define DOUBLE_EXPORT __attribute__((visibility("default")))

#endif
