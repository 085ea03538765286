/* properties.h - data about the GPUs in the metadata: Kineto's deviceProperties */
#ifndef HD_REPORT_PROPERTIES_H
#define HD_REPORT_PROPERTIES_H

#include <stdbool.h>

#include "heddle/trace.h"

typedef struct report_properties {
    int64_t rank; /* HD_NO_NUMBER: of the whole trace; else one of the merged ranks, which differ */
    int64_t id;
    char *name; /* NULL: none. A callback that keeps it sets this to NULL; else it is freed */
    int64_t memory_bytes, major, minor, multiprocessors; /* HD_NO_NUMBER: unknown */
    int64_t sm_threads, sm_registers, sm_shared_bytes;   /* of a multiprocessor */
} report_properties;

/* Called for each described GPU with an id, in order, at most 4096 per rank. false: no memory; or `found` returned it,
 * which ends the iteration. */
typedef bool report_properties_found(void *user, report_properties *properties);
bool report_properties_read(const hd_trace *trace, report_properties_found *found, void *user);

#endif
