/* properties.h - what the metadata says of the GPUs: Kineto's deviceProperties */
#ifndef HD_REPORT_PROPERTIES_H
#define HD_REPORT_PROPERTIES_H

#include <stdbool.h>

#include "heddle/trace.h"

typedef struct report_properties {
    int64_t rank; /* HD_NO_NUMBER: of the whole trace; else one of the ranks that were merged and do not say the same */
    int64_t id;
    char *name; /* NULL: it tells none. Whoever keeps it sets this NULL; else it is freed */
    int64_t memory_bytes, major, minor, multiprocessors; /* HD_NO_NUMBER: unknown */
    int64_t sm_threads, sm_registers, sm_shared_bytes;   /* of a multiprocessor */
} report_properties;

/* Each GPU that is described and has an id, in order, at most 4096 of a rank. false: no memory; or `found` returned it,
 * which ends it. */
typedef bool report_properties_found(void *user, report_properties *properties);
bool report_properties_read(const hd_trace *trace, report_properties_found *found, void *user);

#endif
