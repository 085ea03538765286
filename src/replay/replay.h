/* replay.h - replays a trace: simulates its graph (heddle/analysis/graph.h), with and without changes
 *
 * In: a trace, options. Out: when each node of the graph would run. Threads take as long as in the trace, gaps
 * included. Delays of GPU activities are not copied from the trace: each kind of edge has a modelled delay, its mean,
 * so that an unchanged replay shows what the graph is missing. Begin with run.c; model.c has the delays, simulate.c the
 * times, plan.c and change*.c what is changed, check.c the errors and path.c the critical path of a replay.
 */
#ifndef HD_REPLAY_REPLAY_H
#define HD_REPLAY_REPLAY_H

#include "heddle/analysis/graph.h"
#include "heddle/analysis/replay.h"
#include "report/gpu/gpu.h"
#include "report/report.h"

typedef struct replay_options {
    const char *steps;
    hd_convert_time from, until;
    const char *step, *stream, *events;
    double max_error;
    hd_option_texts scale;
    const char *remove, *fuse;
    const char *overlap, *schedule, *gpu, *mode;
    bool graph;
    hd_convert_time launch_cost;
    uint64_t streams;
    const char *queue_depth;
    bool run;
    uint64_t ties;
    hd_convert_time within;
} replay_options;

/* ---- delays ---- */

enum { LAG_ROLES = HD_ROLE_SET - HD_ROLE_KERNEL + 1, LAG_SORTS = HD_LAUNCH_SET + 1 };
/* Classes: launches, by kind of activity, API call, and whether that waits for its activity; edges of a queue, by the
 * roles of both activities and whether one call launched them; edges of an event; edges of a slot to a call
 * (depth.c). */
enum {
    LAG_QUEUE = LAG_ROLES * LAG_SORTS * 2,
    LAG_EVENT = LAG_QUEUE + LAG_ROLES * LAG_ROLES * 2,
    LAG_SLOT = LAG_EVENT + LAG_ROLES,
    LAG_CLASSES,
};

typedef struct replay_lag {
    int64_t ns, spread_ns; /* spread: median distance of samples from their median */
    int64_t call_ns;       /* of a launch by a waiting call: the part of it that the call takes */
    uint64_t samples;
    uint32_t of;     /* the class whose delay it has: another one if it has no samples; LAG_CLASSES: none */
    bool from_start; /* of a launch: counted from the start of the call, else from its end */
} replay_lag;

static inline uint64_t replay_chance(uint64_t seed, uint64_t number)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + number;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* ---- a replay ---- */

/* What is to run. */
enum {
    PLAN_PINNED = 1,    /* when it did */
    PLAN_GONE = 2,      /* takes no time, and needs no launch */
    PLAN_NO_LAUNCH = 4, /* another call launches it */
    PLAN_NO_LAG = 8,    /* follows at once on its queue */
    PLAN_NO_EVENT = 16, /* waits for no event, and no event waits for it */
};
typedef struct replay_edge {
    uint32_t node, from;
    uint8_t kind; /* hd_edge_kind */
} replay_edge;
/* In addition to hd_edge_kind: a call waits until an activity begins; a kernel for SMs; an activity for data, as on one
 * queue. */
enum { REPLAY_SLOT = HD_EDGE_KINDS + 1, REPLAY_SMS, REPLAY_DATA };
typedef struct replay_plan {
    int64_t *durations;  /* by node */
    uint8_t *flags;      /* by node: PLAN_… */
    uint32_t *befores;   /* by node of a queue minus first_work: the previous one there; HD_NONE */
    uint32_t *slots;     /* by node of a thread: the activity whose start the call waits for, HD_NONE; NULL: no limit */
    uint32_t *alike;     /* by node of a queue minus first_work: the node for whose events it waits, too; HD_NONE; NULL:
                            none */
    replay_edge *added;  /* edges that the graph does not have, by node */
    size_t *first_added; /* by node, one more at the end; NULL: none */
    uint64_t chance;     /* random seed of delays that vary as in the trace; 0: all delays are the mean (doubt.c) */
} replay_plan;

typedef struct replay_times {
    int64_t *starts, *ends; /* by node */
    uint32_t *bounds;       /* by node: what it waited for last; HD_NONE: nothing */
    uint8_t *bound_kinds;   /* hd_edge_kind, REPLAY_SLOT */
    uint64_t cycles;        /* edges left out because of cycles */
} replay_times;

/* A waiting call (returns.c): it returns this long after the activity is done, and not before its own work is done. */
typedef struct replay_return {
    uint32_t node;
    uint8_t what; /* hd_sync_kind: what it waits for */
    int64_t wake_ns;
} replay_return;
/* An edge into such a call from an activity other than in the graph (order.c). */
typedef struct replay_awaited {
    size_t edge;
    uint32_t node, from; /* from: HD_NONE: nothing yet */
} replay_awaited;
typedef struct replay_return_kind {
    uint32_t name;
    replay_lag own, wake;
} replay_return_kind;

/* The resources of its device that an activity takes (share.c). */
enum { SHARE_NONE, SHARE_SMS, SHARE_HELD, SHARE_IN, SHARE_OUT };
enum { SHARE_ALL = 1024 }; /* SMs of a device */
typedef struct replay_share {
    int64_t demand;  /* ns times width; of copies: ns in the trace together with one of the other direction */
    int64_t full_ns; /* until when, before it began, nothing was free; INT64_MIN */
    uint16_t width;  /* of the SMs */
    uint16_t waves;  /* waves of its blocks, if it has the SMs alone */
    uint16_t tail;   /* width of the last wave */
    int8_t priority; /* lower ones go first */
    uint8_t sort;
} replay_share;
/* The part of its rate alone that a copy gets while one of the other direction runs (engines.c). */
typedef struct replay_link {
    double part, doubt;
    uint64_t samples; /* 0: not in the trace */
    bool is_shared;   /* there are copies of both directions */
} replay_link;

/* check.c */
enum { REPLAY_STEPS, REPLAY_SPAN, REPLAY_BUSY, REPLAY_MEASURES };
typedef struct replay_measures {
    int64_t ns[REPLAY_MEASURES]; /* steps: their sum, 0: there are none */
} replay_measures;

typedef struct replay {
    const hd_trace *trace;
    const replay_options *options;
    const hd_gpus *gpus;
    gpu_options gpu_options;
    gpu_scope scope;
    hd_graph *graph;
    uint64_t large;
    uint32_t first_work;     /* first node of queues, which come after those of threads */
    uint32_t *works;         /* by node minus first_work: index in launches->works */
    uint32_t *nodes;         /* by activity: its node; HD_NONE */
    uint32_t *lanes;         /* by track: the lane of a thread; HD_NONE */
    uint8_t *launch_classes; /* by node less first_work */
    uint32_t *names;         /* by node: string, HD_STRING_NONE */
    replay_lag lags[LAG_CLASSES];
    replay_return *returns; /* by node */
    size_t return_count;
    replay_return_kind *return_kinds; /* by name */
    size_t return_kind_count, return_kind_capacity;
    int64_t *queues;         /* by lane: which of options->streams it becomes, -1: none; NULL: not requested */
    replay_awaited *awaited; /* by edge */
    size_t awaited_count;
    replay_share *shares; /* by node less first_work */
    replay_link link;
    uint64_t widthless;  /* kernels whose number of SMs is unknown */
    bool is_crowded;     /* in the trace, activities got less than they would alone */
    bool has_priorities; /* which differ */
    bool begins_full;    /* in the trace, kernels begin while no SMs are free */
    replay_plan plan;
    replay_times unchanged, changed;
    char gpu_names[2][64], gpu_note[400];
    char idle[320]; /* options that change nothing */
    bool has_window, has_change;
    int64_t from, until;
    uint64_t depth, blocked;      /* of launch queues, 0: no known limit; number of calls that imply it */
    int64_t blocked_ns;           /* what they waited */
    uint32_t waiting;             /* the most that waits with the changes, if there is no limit */
    uint64_t cut_copies, orphans; /* on hardware */
    double error;                 /* percent: the largest error of the check, except for the one worst activity */
    replay_edge *data;            /* possible edges that the trace does not show: data of moved copies */
    size_t data_count;
    replay_measures doubt; /* uncertainty of the result due to what the trace does not show */
} replay;

static inline const hd_work *replay_work(const replay *r, uint32_t node)
{
    return &r->scope.launches->works[r->works[node - r->first_work]];
}
static inline const gpu_work *replay_gpu_work(const replay *r, uint32_t node)
{
    return &r->scope.works[r->works[node - r->first_work]];
}
static inline bool replay_is_work(const replay *r, uint32_t node)
{
    return node >= r->first_work;
}
/* Scales `part` of `whole` when `whole` becomes `now`; times after `whole` keep their distance. */
static inline int64_t replay_stretch(int64_t part, int64_t whole, int64_t now)
{
    gpu_i128 at = part >= whole || whole == 0 ? (gpu_i128)now + part - whole : (gpu_i128)part * now / whole;
    return gpu_time(gpu_whole(at));
}
static inline int64_t replay_scaled(int64_t duration, double factor)
{
    double ns = (double)duration * factor + 0.5;
    return ns < (double)GPU_LAST_TIME ? (int64_t)ns : GPU_LAST_TIME;
}

/* model.c */
typedef struct replay_sample {
    uint32_t lag;
    int64_t ns;
} replay_sample;
/* From samples sorted by ns, `seen` samples thinned out to `count`. */
replay_lag replay_lag_of(const replay_sample *list, size_t count, uint64_t seen);
hd_status replay_model(replay *r, hd_error *err);
/* The class of the delay of an edge of a queue, a launch or an event. */
unsigned replay_lag_class(const replay *r, uint32_t node, uint32_t from, hd_edge_kind kind);
/* The part of the call that launches this activity and waits for it; HD_NONE: unknown, or it does not wait. */
uint32_t replay_own_call(const replay *r, uint32_t node);
/* "launch of a kernel by a call that waits" */
void replay_lag_name(char *out, size_t size, unsigned lag);

/* returns.c */
hd_status replay_find_returns(replay *r, hd_error *err);               /* separates a call's own time from its wait */
const replay_return *replay_return_of(const replay *r, uint32_t node); /* NULL: it waits for nothing */

/* simulate.c */
typedef struct replay_span {
    int64_t start, end;
} replay_span;
/* When an edge lets a node begin whose other end runs in `from_now`. */
int64_t replay_ready(const replay *r, const replay_plan *plan, uint32_t node, uint32_t from, hd_edge_kind kind,
                     replay_span from_now);
/* The waits of a node in the plan, one after another from *at 0: the previous activity of its queue, which the plan has
 * instead of the graph; the graph's other edges; edges added by the plan. false: no more. */
typedef struct replay_wait {
    uint32_t from;
    hd_edge_kind kind;
} replay_wait;
bool replay_next_wait(replay_wait *out, const replay *r, const replay_plan *plan, uint32_t node, size_t *at);
hd_status replay_simulate(replay_times *out, const replay *r, const replay_plan *plan, hd_error *err);
void replay_times_deinit(replay_times *times);
/* When a thread or queue reaches the state that it had at a time of the trace. */
int64_t replay_time_of(const replay *r, const replay_times *times, const hd_graph_lane *lane, int64_t time);

/* plan.c */
hd_status replay_plan_init(replay_plan *plan, replay *r, hd_error *err); /* all as it was */
void replay_plan_deinit(replay_plan *plan);
hd_status replay_change(replay *r, hd_error *err); /* applies the options */

/* Range of a thread's parts; empty if both are equal. */
typedef struct node_range {
    uint32_t first, end;
} node_range;
node_range replay_nodes_of_launch(const replay *r, const hd_launch *launch);
/* The part that launches this activity; HD_NONE. */
uint32_t replay_launch_node(const replay *r, uint32_t node);
/* Launch nodes take no time if all their activities have one of these flags. */
void replay_drop_calls(replay *r, unsigned flags);
void replay_note_idle(replay *r, const char *option, const char *text); /* notes that the option changes nothing */
/* Patterns as a mark by string: 2 passes, 1 does not; the caller frees it with free. */
hd_status replay_marks(uint8_t **out, const replay *r, const char *patterns, const char *option, hd_error *err);

/* depth.c */
hd_status replay_find_depth(replay *r, hd_error *err); /* of the trace; separates waits from the own time of calls */
hd_status replay_change_depth(replay *r, hd_error *err);
/* Largest number of operations of one queue that are launched and have not begun. */
hd_status replay_most_waiting(uint32_t *out, const replay *r, const replay_times *times, hd_error *err);

/* share.c */
hd_status replay_find_shares(replay *r, hd_error *err); /* of the trace */
/* Whether activities of two queues share a resource, or did in the trace. Then a replay goes in order of time. */
bool replay_shares_any(const replay *r);
typedef struct replay_sharer replay_sharer;
hd_status replay_sharer_new(replay_sharer **out, const replay *r, hd_error *err);
void replay_sharer_free(replay_sharer *sharer);
bool replay_share_failed(const replay_sharer *sharer); /* no memory */
/* By node. OPEN: its start is known, or being computed. */
enum { NODE_NEW, NODE_OPEN, NODE_DONE };
/* Whether what it needs is not free at *start, since others have priority; sets *start to when to try again, *behind to
 * the node that uses it until then. */
bool replay_share_wait(int64_t *start, uint32_t *behind, replay_sharer *sharer, const replay_times *times,
                       const uint8_t *states, uint32_t node);
/* The end of a node that begins. Call it in order of start. */
int64_t replay_share_end(replay_sharer *sharer, uint32_t node, int64_t start);
/* Since replay_share_wait: an activity that ran then, gave SMs because of its lower priority, and now ends at another
 * time; a kernel that waited for SMs, and has to try again then. */
typedef struct replay_moved {
    uint32_t node, behind;
    int64_t time;
    bool is_start;
} replay_moved;
size_t replay_share_moved(const replay_moved **out, const replay_sharer *sharer);

/* roofline.c: sets gpu_note */
hd_status replay_change_gpu(replay *r, hd_error *err);

/* queues.c */
/* Indexes the edges that a plan adds, by node. false: no memory. */
bool replay_index_added(replay_plan *plan, const replay *r, replay_edge *list, size_t count);
hd_status replay_change_queues(replay *r, hd_error *err); /* fuse, graph, overlap, streams */

/* order.c */
bool replay_is_ours(const replay *r, const hd_graph_lane *lane); /* a queue that has not only communication */
hd_status replay_set_streams(replay *r, hd_error *err);
/* Replays until the order of launches no longer changes. */
hd_status replay_settle(replay *r, hd_error *err);

/* check.c */
hd_status replay_measure(replay_measures *out, const replay *r, const replay_times *times, hd_error *err);
hd_status replay_check(hd_report *out, replay *r, hd_error *err); /* tables check, model, missing; sets error */
/* Median, 99 % and largest; sorts the list. */
hd_status replay_middle(int64_t out[3], int64_t *list, size_t count, const replay *r, hd_error *err);
hd_status replay_add_steps(hd_report *out, const replay *r, hd_error *err);
hd_status replay_add_what_if(hd_report *out, const replay *r, hd_error *err);

/* doubt.c */
int64_t replay_doubt(const replay *r, unsigned lag, uint32_t node, uint64_t chance);
hd_status replay_find_doubt(replay *r, hd_error *err);

/* notes.c */
hd_status replay_add_notes(hd_report *out, const replay *r, hd_error *err);

/* path.c */
hd_status replay_add_path(hd_report *out, const replay *r, hd_error *err);

/* hardware/ */
hd_status replay_on_hardware(hd_report *out, replay *r, hd_error *err); /* table hardware */

/* write.c */
hd_status replay_write(hd_trace **out, const replay *r, hd_error *err);

/* against.c */
hd_status replay_compare(hd_report *out, bool *out_same, const replay *a, const replay *b, hd_error *err);

/* ties.c */
hd_status replay_add_ties(hd_report *out, replay *r, hd_error *err);

/* dry.c */
hd_status replay_add_operations(hd_report *out, const replay *r, hd_error *err);

/* about.c */
extern const hd_report_about replay_about;

#endif
