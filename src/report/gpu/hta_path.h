/* hta_path.h - the critical path as HTA counts it, for who compares figures with it */
#ifndef HD_REPORT_GPU_HTA_PATH_H
#define HD_REPORT_GPU_HTA_PATH_H

#include "report/gpu/gpu.h"

enum { HTA_OPERATOR, HTA_DEPENDENCY, HTA_LAUNCH, HTA_KERNEL, HTA_SYNC, HTA_KINDS };
extern const char *const hta_kind_names[HTA_KINDS]; /* as HTA calls them */

typedef struct hta_sum {
    uint64_t edges, path_edges;
    int64_t weight, path_weight; /* ns */
} hta_sum;

typedef struct hta_edge {
    uint64_t from, to; /* 2 * row of the slice table, and 1 more for its end */
    int64_t weight;
    uint8_t kind;
    bool is_on_path;
} hta_edge;

typedef struct hta_path {
    uint64_t nodes, path_nodes, path_events;
    hta_sum kinds[HTA_KINDS];
    hta_edge *edges; /* as HTA would make them */
    size_t edge_count;
} hta_path;

/* For events that start, or are launched, in [from, until]. Deinit in any case. Errors: MEMORY. */
hd_status hta_path_find(hta_path *out, const gpu_scope *scope, int64_t from, int64_t until, hd_error *err);
void hta_path_deinit(hta_path *path);

#endif
