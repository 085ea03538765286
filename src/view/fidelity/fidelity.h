/* fidelity.h - how much of the trace the viewer shows, and lists of every anomalous event
 *
 * The counts are those of `heddle check` and `heddle info`, by the same code. Shown events are counted from the rows as
 * laid out.
 *
 * In: a scene. Out: counts and lists. Begin with fidelity.c.
 */
#ifndef HD_VIEW_FIDELITY_FIDELITY_H
#define HD_VIEW_FIDELITY_FIDELITY_H

#include "view/scene/scene.h"

typedef enum view_doubt {
    VIEW_ON_LANES,       /* slices that do not nest on their track, and are on another lane of it; other: the row of the
                            slice that each crosses */
    VIEW_BEFORE_LAUNCH,  /* GPU activities that start before their launch; other: the row of the call */
    VIEW_NO_END,         /* slices that nothing ends */
    VIEW_NEGATIVE,       /* slices that end before they start */
    VIEW_UNBOUND_FLOWS,  /* flow points that no slice on their track is bound to */
    VIEW_NO_TIME,        /* events without a time, which no viewer can show; other: their hd_kind */
    VIEW_BACKWARD_FLOWS, /* ends of flows that begin later; other: the row of the point where each begins */
    VIEW_FLOWS_WITHOUT_START,
    VIEW_FLOWS_WITHOUT_END,
    VIEW_WITHOUT_LAUNCH,   /* other GPU activities without a launch, though the trace has launches */
    VIEW_BEFORE_RECORDING, /* GPU activities that began before the recording: their launches are not in it */
    VIEW_AFTER_RECORDING,  /* launches without activity at the end of the recording */
    VIEW_WITHOUT_WORK,     /* other launches without an activity, though the trace has activities */
    VIEW_DOUBTS
} view_doubt;

typedef struct view_doubtful {
    uint32_t row, other;
} view_doubtful;

typedef struct view_fidelity {
    uint64_t read, shown; /* slices */
    uint64_t lost, repaired, flow_points;
    struct {
        view_doubtful *list; /* track by track, or by row */
        size_t count, capacity;
    } doubts[VIEW_DOUBTS];
} view_fidelity;

/* Rows of the table of flow points. */
static inline bool view_doubt_of_flows(view_doubt doubt)
{
    return doubt == VIEW_UNBOUND_FLOWS || doubt == VIEW_BACKWARD_FLOWS || doubt == VIEW_FLOWS_WITHOUT_START ||
           doubt == VIEW_FLOWS_WITHOUT_END;
}
/* The name of a list in the protocol: "on-lanes". Static. */
const char *view_doubt_name(view_doubt doubt);

#endif
