/* impl.h - the parts of hd_launches_new
 *
 * In: a trace. Out: hd_launches, each activity with its call. Begin with launches.c: gather.c finds both, join.c joins
 * them by correlation id, processes.c finds the process of activities, flows.c joins by flows, nodes.c those of graphs
 * by their nodes; asked.c finds the operators that requested calls of other threads.
 */
#ifndef HD_MODEL_LAUNCHES_IMPL_H
#define HD_MODEL_LAUNCHES_IMPL_H

#include "base/map.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "heddle/analysis/launches.h"
#include "model/flows/bind.h"
#include "model/roles/trace_roles.h"

/* A slice that may be a launch. */
typedef struct launch_call {
    uint64_t row;
    int64_t id, start_ns, duration_ns;
    uint32_t track, name;
    uint32_t outer; /* index of the call that represents it, mostly itself */
    uint32_t place; /* in the result, HD_NONE: not in it */
    uint8_t sort;
    bool is_needed; /* it launched something */
} launch_call;

/* The call that created the graph node of this activity. */
typedef struct launch_creator {
    uint32_t work;
    int64_t id;
} launch_creator;

/* An event of a thread that says when a graph's node was created. */
#define LAUNCH_NODE_ID "graph node id"
typedef struct launch_node {
    int64_t id, original, start_ns; /* original: of the node it is a clone of, HD_NO_NUMBER or 0: it is none */
    uint64_t row;
    uint32_t track, process, call; /* call: that created it, HD_NONE: not searched yet */
} launch_node;

/* The process of a track's activities, if several processes of a rank make calls. */
typedef struct launch_owner {
    uint32_t process; /* track; HD_NONE: not known, or several */
    enum { LAUNCH_GUESSED, LAUNCH_KNOWN, LAUNCH_TOLD } how;
} launch_owner;

typedef struct launch_tie launch_tie;
typedef struct launch_ties {
    hd_map places; /* row and process -> index + 1 */
    launch_tie *list;
    size_t count, capacity;
} launch_ties;

typedef struct launch_finder {
    const hd_trace *trace;
    hd_roles roles;
    uint32_t *processes;  /* by track, that of no track last */
    bool has_several;     /* processes of a rank make calls with ids */
    launch_owner *owners; /* by lane, likewise; NULL: there are not several */
    uint64_t guessed;     /* activities with an uncertain call */
    int64_t *ranks;       /* by track, that of no track last: HD_NO_NUMBER if it has none or all have the same */
    uint64_t large;       /* bytes from which on the lists below lie in files: base/memory/large.h */
    launch_call *calls;   /* by row */
    size_t call_count, call_capacity;
    hd_work *works; /* by row; launch is the index of a call until the result is made */
    size_t work_count, work_capacity;
    launch_creator *creators; /* by work */
    size_t creator_count, creator_capacity;
    launch_node *nodes;
    size_t node_count, node_capacity;
    uint32_t roles_seen;                /* bits 1 << hd_role */
    uint64_t without_time, without_end; /* works: with HD_NO_TIME; with a duration of 0 */
    bool has_limit;                     /* there were 2^32 of something */
} launch_finder;

/* The index of a track in lists by track, which have one more entry for no track. */
static inline uint32_t launch_slot(const launch_finder *f, uint32_t track)
{
    uint32_t count = hd_trace_track_count(f->trace);
    return track < count ? track : count;
}

static inline int64_t launch_rank(const launch_finder *f, uint32_t track)
{
    return f->ranks[launch_slot(f, track)];
}

/* gather.c: fills calls, works, creators, nodes. false: no memory. */
bool launches_gather(launch_finder *f);
/* processes.c. false: no memory. */
bool launches_find_processes(launch_finder *f);
bool launches_find_owners(launch_finder *f, launch_ties *ties);
/* A process may have launched an activity, by a call of that time; is_certain: no other could have. */
bool launches_add_tie(launch_ties *ties, const launch_finder *f, const hd_work *work, uint32_t process, int64_t call_ns,
                      bool is_certain);
void launches_free_ties(launch_ties *ties);
/* `processes` of the result. */
bool launches_name_processes(hd_launches *out, const launch_finder *f);
/* join.c: by ids; sets outer of the calls, launch of the works, graph_launch of those with a creator. */
bool launches_join(launch_finder *f);
/* flows.c: activities without a launch, by flows. May add calls. */
hd_status launches_join_flows(launch_finder *f, hd_error *err);
/* A slice that is neither a call by its category, nor of the GPU, becomes a call. HD_NONE: impossible; *out_fine is
 * false after a failure. */
uint32_t launches_make_call(bool *out_fine, launch_finder *f, uint64_t row);
/* nodes.c: graph_launch of activities, by the events of nodes. May add calls. false: no memory. */
bool launches_join_nodes(launch_finder *f);
/* The point that starts the flow of each point; HD_NONE where it is missing. hd_large_free; NULL: no memory. */
uint32_t *launches_find_starts(const hd_flow_point *points, size_t count, uint64_t large);
/* asked.c: `asked` of the result. */
hd_status launches_find_asked(hd_launches *out, const hd_trace *trace, uint64_t large, hd_error *err);

#endif
