/* impl.h - one lane on its way */
#ifndef HD_MODEL_CONTEXTS_IMPL_H
#define HD_MODEL_CONTEXTS_IMPL_H

#include "heddle/analysis/launches.h"
#include "model/contexts/contexts.h"
#include "model/roles/trace_roles.h"
#include "trace/index/lane_index.h"

/* It has a part in CPU stacks. `recording` is the string id of the category "Trace". */
bool context_is_cpu(hd_role role, uint32_t category, uint32_t recording);

/* In spans of contexts `name` says whether a slice is requested; later it is its node. */
enum { CONTEXT_SKIPPED = 0, CONTEXT_WANTED = 1 };

/* A slice that began and did not end. */
typedef struct context_open {
    int64_t end, least_end; /* its own; the smallest of those up to here */
    uint32_t row;
    uint32_t node; /* of all slices on the stack up to here; HD_NONE: not needed yet */
} context_open;

/* Memory of one thread that sweeps lanes. */
typedef struct context_sweep {
    const hd_trace *trace;
    const hd_index *units;
    hd_roles *roles;
    int64_t from, until; /* self times count in here, ns since units->base_ns */
    /* the lane at hand */
    lane_span *scratch; /* half of the spans */
    uint32_t capacity;  /* spans that it is for */
    context_open *open; /* innermost last; after the first that crosses another, some may have ended */
    size_t open_count, open_capacity;
    struct context_running {
        int64_t end;
        uint32_t at;
    } * running; /* those that time may belong to */
    size_t running_count, running_capacity;
    int64_t latest_start; /* of a slice that has a length */
    uint64_t budget;      /* steps left for slices that cross others */
    hd_stacks *stacks;    /* its names are string ids of the trace */
    const hd_block *block;
} context_sweep;

/* Sorts the spans of a lane and finds the nodes of requested ones and, unless self is NULL, the self time of all in ns.
 * `stacks` is the lane's own. Errors: MEMORY. */
hd_status context_sweep_lane(context_sweep *sweep, hd_stacks *stacks, lane_span *spans, int64_t *self, uint32_t count,
                             hd_error *err);
void context_sweep_deinit(context_sweep *sweep);

#endif
