/* flows.h - flows without an end, backward ones, and unbound ones, for the check and the viewer
 *
 * Flows     by (category, id, name), in the order of time: s starts one, t and f need one that is started; ends of one
 *           start may be several, as with CUDA graphs. Ends before the start of a flow that has no others run backward.
 * Binding   s and t, and f with bp:"e", to a slice around them, its end included; other f to the next slice. It must
 *           be on the same track, with pid and tid of the same type: viewers distinguish 7 and "7".
 */
#ifndef HD_REPORT_FLOWS_H
#define HD_REPORT_FLOWS_H

#include "model/flows/bind.h"

/* The slices of a lane in start order, in any unit: those with a start, and an end if they need one. */
typedef struct report_slices {
    void *user;
    /* Begin with the lane of a track (of its same_as). */
    hd_status (*begin)(void *user, uint32_t track, hd_error *err);
    /* The next slice, and the track that it is on itself. HD_END: there is none. */
    hd_status (*next)(void *user, int64_t *out_start, int64_t *out_end, uint32_t *out_track, hd_error *err);
    int64_t (*time)(void *user, int64_t ns, int64_t below);
} report_slices;

typedef enum report_flow_case {
    REPORT_FLOW_WITHOUT_START,
    REPORT_FLOW_BACKWARD, /* other: its source, which is later */
    REPORT_FLOW_WITHOUT_END,
    REPORT_FLOW_UNBOUND,
} report_flow_case;

typedef void report_flow_found(void *user, report_flow_case what, const hd_flow_point *point,
                               const hd_flow_point *other);

/* Called for each case; points without a time or a track are left out, *out_points is the number of checked ones.
 * slices NULL: binding is not checked. Errors: MEMORY, LIMIT (2^32 points), those of the slices. */
hd_status report_flows_walk(uint64_t *out_points, const hd_trace *trace, const report_slices *slices,
                            report_flow_found *found, void *user, hd_error *err);

#endif
