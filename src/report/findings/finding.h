/* finding.h - what to do first: findings with a bound of what each can save
 *
 * A finding is data: a code, the measured amount and the whole it is part of, an upper bound of the saving and its
 * method, and the advice. The sentence is made from it. Rules find them: a rule is a file in host/ or device/ and a
 * line in list.c. A rule claims nodes of the graph (heddle/analysis/graph.h): each nanosecond of a node is one
 * rule's, the first that claims it, so that no time is in two findings. Bounds come from these claims (bounds.c),
 * never from sums of durations:
 *
 *   path    on the longest path P of the graph the claims take S(P): without them that path is still |P| - S(P) long
 *   replay  the graph again with the claims at 0 ns, and without the waits that a finding frees: its longest path
 *   host    of host time and waits: from its first change on a device needs as long as it is busy then
 *
 * The least of them counts. In: a trace, its launches. Out: findings, ranked. Begin with list.c; core.c makes what
 * rules look at; docs/findings has a page for each code.
 */
#ifndef HD_REPORT_FINDINGS_FINDING_H
#define HD_REPORT_FINDINGS_FINDING_H

#include "base/error.h"
#include "report/advice.h"
#include "report/gpu/gaps.h"
#include "report/gpu/gpu.h"
#include "trace/text.h"

typedef enum finding_how {
    FINDING_NOT_KNOWN, /* `reason` says why */
    FINDING_BY_PATH,
    FINDING_BY_REPLAY,
    FINDING_BY_HOST,
    FINDING_HOWS
} finding_how;
extern const char finding_other_ranks_reason[];           /* a reason */
extern const char *const finding_how_names[FINDING_HOWS]; /* the first is NULL */

enum { FINDING_TEXT = 400, FINDING_EVIDENCE = 5 };

typedef struct findings findings;
typedef struct finding_rule {
    hd_finding_code about; /* docs/findings/CODE.md */
    /* NULL: another rule's finds it, or findings_add_memory */
    hd_status (*find)(findings *f, const struct finding_rule *rule, hd_error *err);
    const char *plain_advice; /* for programs without PyTorch; NULL: the same */
    int least_part; /* findings_gather: 5 is a fifth of the whole on the path, or there is no finding; 0: any */
} finding_rule;
extern const finding_rule finding_overhead, finding_data_loading, finding_garbage_collection, finding_module_loading,
    finding_device_allocation, finding_sync_item, finding_blocking_launch, finding_pageable_copy, finding_sync_copy,
    finding_sync_call, finding_same_stream_communication, finding_exposed_communication, finding_exposed_copy,
    finding_tensor_cores, finding_layout_conversions, finding_data_shuffle, finding_small_kernels,
    finding_kernel_hotspot, finding_gpu_bound, finding_launch_bound, finding_host_bound, finding_idle_unknown,
    finding_slow_first_step, finding_slow_step, finding_memory_limit, finding_cpu_starved, finding_recompilation,
    finding_host_collectives, finding_optimizer_loop, finding_few_blocks, finding_small_collectives,
    finding_unfused_elementwise, finding_same_stream_copy, finding_roofline_gap, finding_memory_growth,
    finding_allocator_retries, finding_memory_fragments, finding_default_stream, finding_low_clock, finding_event_wait,
    finding_uneven_kernel, finding_uneven_collective, finding_low_occupancy, finding_data_parallel, finding_slow_layer,
    finding_unaligned_matmul, finding_missing_data;
enum { FINDING_RULES = 47, FINDING_PARTS = 6 }; /* rules of that table; reports that summary.c runs */
/* How long the phases take, as measured on a trace of 47,000 launches: a rule is 1. */
enum {
    FINDING_SCOPE = 50,
    FINDING_TRUST = 8,
    FINDING_GRAPH = 24,
    FINDING_PATH = 12,
    FINDING_BOUNDS = 4,
    FINDING_PART = 3,
    FINDING_WEIGHT = FINDING_SCOPE + FINDING_TRUST + FINDING_GRAPH + FINDING_PATH + FINDING_RULES + FINDING_BOUNDS +
                     FINDING_PARTS * FINDING_PART,
};
/* The table, in the order in which rules claim; ends with NULL. */
extern const finding_rule *const finding_rules[];

typedef struct finding {
    const finding_rule *rule;
    char text[FINDING_TEXT]; /* the sentence */
    int64_t rank;            /* HD_NO_NUMBER: unknown, or several */
    uint32_t device;         /* of scope.devices; HD_NONE: of several, or none */
    uint32_t step;           /* of scope.steps; HD_NONE */
    int64_t amount, whole;   /* ns measured, of so much; HD_NO_TIME: it is no time */
    finding_how how;
    int64_t saves;            /* ns at most, as things are; HD_NO_TIME: not known */
    int64_t then;             /* the same once finding `behind` is solved; HD_NO_TIME: no more, or not known */
    const char *behind;       /* a code; NULL */
    const char *reason;       /* why `saves` is not known; NULL */
    const char *trust_reason; /* why it is not firm; NULL: it is */
    uint64_t events;
    int64_t ids[FINDING_EVIDENCE], lengths[FINDING_EVIDENCE]; /* slices that show it, the longest first */
    uint32_t id_count;
    int64_t path;         /* ns of the path that it claims */
    int64_t freed;        /* with frees_waits: how long any of its calls or claimed activities runs */
    int64_t device_needs; /* waits that are in no edge go: a device needs so much in any case; HD_NO_TIME: none do */
    bool frees_waits;     /* a path means nothing then, since it goes through the activity waited for */
    bool frees_queues;    /* the same of activities that wait for events; streams may overlap then */
    bool is_of_host;      /* never below the busy time of a device */
    bool needs_waits;     /* its time is on the path only if other queues wait for it, by events */
    bool has_other_ranks; /* in its time may be waiting for ranks that are not there */
    bool is_unordered;    /* activities after it overlap others of their queue: what they wait for is not known */
    bool may_overlap;     /* by host: the queues of a device may overlap more than they did, and it save more */
    bool is_of_all_ranks; /* its cause is on the host, and slows the ranks that are not in the trace too */
    bool takes_rest;      /* it claims what all others leave of host nodes; they are most nodes, so none has a claim */
} finding;

typedef struct finding_claim {
    uint32_t node, of; /* of findings->list */
    int64_t ns;        /* HD_NO_TIME: a wait is freed */
    int64_t path;      /* of it on the path */
} finding_claim;

/* A node of 4.3 s or more, and how much of it is claimed. */
typedef struct finding_long {
    uint32_t node;
    int64_t claimed;
} finding_long;
#define FINDINGS_LONG UINT32_MAX

enum { FINDINGS_OF_OTHERS = 1, FINDINGS_OF_WORK = 2 }; /* activities have a name, or other slices */
struct findings {
    gpu_scope scope; /* by step */
    const gpu_trust *trust;
    hd_graph *graph;
    hd_graph_piece *path; /* once the first rule has read it, findings_keep_delays */
    size_t path_count;
    int64_t from, until; /* the whole: steps if the trace has some, else the span of its devices */
    gpu_spans recorded;  /* of the devices together, where captures have windows (scope.recorded) */
    bool has_steps;
    bool is_complete;    /* the graph has all waits and launches; else a replay holds nodes back wrongly */
    bool is_torch;       /* operators or kernels are PyTorch's */
    finding_api api;     /* that advice is about */
    bool is_slowed;      /* the profiler recorded Python's functions, which slows the host */
    uint32_t first_work; /* node; those of queues follow */
    uint32_t *works;     /* by node less first_work, as are the names (strings) and classes (gpu_class) of activities */
    uint32_t *work_names;
    uint8_t *work_classes;
    /* By node, of its time within the whole what is claimed; FINDINGS_LONG: of a node so long it is in `longs`. */
    uint32_t *claimed;
    finding_long *longs; /* by node */
    size_t long_count, long_capacity;
    /* Which nodes are on the path: a bit for each, and by 64 of them how many come before; of those the time on the
     * path that is not claimed. NULL: no longer known */
    uint64_t *path_bits;
    uint32_t *path_ranks;
    int64_t *path_left;
    uint8_t *has_step;      /* by node below first_work: steps are on its thread */
    uint8_t *names;         /* by string: which slices have this name */
    int64_t *busiest;       /* by device: how long it is busy within the whole */
    gpu_gaps gaps;          /* of devices, with causes */
    uint32_t *sync_ops;     /* by call: the operator around it, string */
    uint8_t *sync_is_taken; /* by call */
    uint32_t *syncs_by_row; /* calls, by their row of the slice table */
    const hd_report_input *input;
    const char *device_kind; /* of all devices: "GPU", "TPU" (model/identity/device.h) */
    const char *model;       /* of the GPUs, as given; NULL: as the trace says */
    unsigned done;           /* of FINDING_WEIGHT, for hd_report_input.progress */
    finding *list;
    uint32_t count;
    size_t capacity;
    finding_claim *claims; /* by finding */
    size_t claim_count, claim_capacity;
    /* bounds.c */
    uint32_t *order;
    int64_t *taken, *new_starts; /* by node */
    uint8_t *flags;
    bool has_unordered;
    bool rest_is_set; /* the claims of the finding that takes the rest are set */
};

/* The scope, by step. options: the report's; model: of the GPUs, NULL: as the trace says. The caller deinits either
 * way. Errors: MEMORY, LIMIT, ARGUMENT. */
hd_status findings_init(findings *out, const hd_report_input *input, const gpu_options *options, const char *model,
                        hd_error *err);
/* Tasks (base/thread.h) on findings, which may run at the same time: the trust, and the gaps of devices; the graph. */
hd_status findings_find_gaps(void *findings, hd_error *err);
hd_status findings_make_graph(void *findings, hd_error *err);
/* A task after both, which changes neither the scope nor the gaps: all findings of the trace, ranked: what saves most
 * first, then what is not known by its amount, then what saves only once the first is solved. */
hd_status findings_find(void *findings, hd_error *err);
void findings_rank(findings *findings); /* list.c */
/* Adds those of memory, and ranks again. devices, reserved: tables of report memory; NULL: there is none.
 * memory_limit.c */
hd_status findings_add_memory(findings *findings, const hd_memory *memory, const hd_table *devices,
                              const hd_table *reserved, hd_error *err);
hd_status findings_add_growth(findings *findings, const hd_memory *memory, hd_error *err); /* memory_growth.c */
void findings_deinit(findings *findings);
/* Frees the inputs of the rules; the list, the scope and the gaps stay. */
void findings_release(findings *findings); /* core.c */

/* One more phase of the analysis has ended, which takes about this share of FINDING_WEIGHT. */
static inline void findings_end_phase(findings *f, unsigned weight)
{
    f->done += weight;
    if (f->input->progress) f->input->progress(f->input->progress_user, f->done, FINDING_WEIGHT);
}

/* core.c */
hd_status findings_prepare(findings *f, hd_error *err);
/* Without what was not recorded. */
static inline int64_t findings_time(const findings *f, int64_t from, int64_t until)
{
    return f->scope.recorded ? gpu_spans_covered(&f->recorded, from, until) : until - from;
}
static inline int64_t findings_whole(const findings *f)
{
    return findings_time(f, f->from, f->until);
}
void findings_free_path(findings *f);
/* Of the path, the delays before activities without a launch remain. false: no memory. */
bool findings_keep_delays(findings *f);
/* A hundredth of the whole. */
static inline bool findings_is_worth(const findings *f, int64_t ns)
{
    return ns > 0 && (gpu_i128)ns * 100 >= findings_whole(f);
}
static inline double findings_percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}
/* The whole lasts until it ends: an activity, or a thread of steps, within the whole. */
bool findings_is_measured(const findings *f, uint32_t node);
int64_t *findings_long_claimed(const findings *f, uint32_t node);
static inline int64_t findings_claimed(const findings *f, uint32_t node)
{
    return f->claimed[node] == FINDINGS_LONG ? *findings_long_claimed(f, node) : f->claimed[node];
}
/* What the path still has of a node; NULL: the node is not on it. */
static inline int64_t *findings_path_at(const findings *f, uint32_t node)
{
    uint64_t bits = f->path_bits[node / 64], bit = (uint64_t)1 << node % 64;
    if (!(bits & bit)) return NULL;
    return &f->path_left[f->path_ranks[node / 64] + (uint32_t)__builtin_popcountll(bits & (bit - 1))];
}
static inline int64_t findings_on_path(const findings *f, uint32_t node)
{
    const int64_t *left = findings_path_at(f, node);
    return left ? *left : 0;
}
/* How much of a node's time within the whole no rule has claimed. What they leave of a kernel is what it needs in any
 * case. */
static inline int64_t findings_left(const findings *f, uint32_t node)
{
    int64_t start = f->graph->starts[node] > f->from ? f->graph->starts[node] : f->from;
    int64_t end = f->graph->ends[node] < f->until ? f->graph->ends[node] : f->until;
    return end > start ? end - start - findings_claimed(f, node) : 0;
}
/* The same of its time on the path. */
static inline int64_t findings_left_on_path(const findings *f, uint32_t node)
{
    int64_t path = findings_on_path(f, node);
    if (path == 0) return 0;
    int64_t left = findings_left(f, node);
    return path < left ? path : left;
}
static inline bool findings_is_untouched(const findings *f, uint32_t node)
{
    return findings_claimed(f, node) == 0;
}
/* How long some work of these classes (bits 1 << gpu_class) runs on a device within the whole, and of that before
 * `until`. O(works). */
enum { FINDINGS_ALL_CLASSES = (1 << GPU_CLASSES) - 1 };
int64_t findings_busy_until(const findings *f, uint32_t device, unsigned classes, int64_t until);
int64_t findings_busy(const findings *f, uint32_t device, unsigned classes);
/* The call that waits which is this row of the slice table (index of syncs); HD_NONE. */
uint32_t findings_sync_of(const findings *f, uint64_t row);
bool findings_has_edges(const findings *f, hd_edge_kind kind);
/* One rank alone does not show which rank is waited for; several do, where the graph joins them. */
bool findings_lacks_ranks(const findings *f);
bool findings_communicates(const findings *f);
uint32_t findings_name(const findings *f, uint32_t node); /* string; HD_STRING_NONE: of a gap */
/* By index of works the number that an argument of this name has, NAN where there is none; *out NULL: no event has such
 * an argument. The caller frees it with hd_large_free. */
hd_status findings_read_numbers(double **out, const findings *f, const char *name, hd_error *err);
/* The same of texts, or of what is not text as it is written: strings; HD_STRING_NONE. */
hd_status findings_read_texts(uint32_t **out, const findings *f, const char *name, hd_error *err);
static inline bool findings_is_work(const findings *f, uint32_t node)
{
    return node >= f->first_work;
}
/* NULL: the node is of a host. */
static inline const gpu_work *findings_work(const findings *f, uint32_t node)
{
    return findings_is_work(f, node) ? &f->scope.works[f->works[node - f->first_work]] : NULL;
}
static inline bool findings_is_of_class(const findings *f, uint32_t node, gpu_class class)
{
    return findings_is_work(f, node) && f->work_classes[node - f->first_work] == class;
}
/* A name for a sentence: without template arguments, cut in the middle of nothing, at most 60 bytes. Returns out. */
const char *findings_short_text(char out[72], hd_string text);
const char *findings_short(char out[72], const hd_trace *trace, uint32_t string);
/* The same of the longest slice that shows the finding. */
const char *findings_longest(char out[72], const findings *f, const finding *of);

/* lines.c */
/* ", called by train.py(88): step": the line of the user's code (model/host/lines.h) around these sorted places to
 * which most of `lengths` (by id) belongs; "": none is known. */
hd_status findings_line(char out[96], const findings *f, const gpu_place *places, const int64_t *lengths, size_t count,
                        hd_error *err);
/* The same around the longest slice that shows the last finding. */
hd_status findings_line_of_longest(char out[96], const findings *f, hd_error *err);

/* claims.c */
/* A new finding; NULL: no memory. Valid until the next is added. */
finding *findings_add(findings *f, const finding_rule *rule);
/* The last finding goes, and its claims with it. */
void findings_drop(findings *f);
/* Claims the rest of a node, at most `most` ns of it, for the last finding. false: no memory. */
bool findings_claim(findings *f, uint32_t node, int64_t most);
/* Only this part of all that the last finding claims can be saved: the rest is anybody's again. */
void findings_scale(findings *f, double part);
/* The last finding frees an activity from waiting for events. false: no memory. */
bool findings_free_queue(findings *f, uint32_t node);
bool findings_show(findings *f, int64_t row, int64_t length); /* evidence of the last finding; true */
/* Keeps the last finding if its claims are large enough, with amount, device and evidence; else, or if the rest of the
 * whole is too small, *out is NULL. */
hd_status findings_keep(finding **out, findings *f, hd_error *err);
/* A finding of all nodes from `first` on (0, or f->first_work) that `is_one` knows: claimed if they are worth it. */
typedef bool findings_is_one(const findings *f, uint32_t node, void *user);
hd_status findings_gather(finding **out, findings *f, const finding_rule *rule, uint32_t first, findings_is_one *is_one,
                          void *user, hd_error *err);
/* The same for activities with a class that `is_one` accepts and a name that `is_name` accepts, which is called once
 * for each name. */
typedef bool findings_is_name(hd_string name);
hd_status findings_gather_named(finding **out, findings *f, const finding_rule *rule,
                                bool (*is_one)(const findings *f, uint32_t node), findings_is_name *is_name,
                                hd_error *err);
/* By string, whether a slice of the trace has this name and `is_name` says yes; *any: of some. The caller frees it.
 * NULL: no memory. */
uint8_t *findings_choose_names(bool *any, const findings *f, findings_is_name *is_name);
/* The same for all activity of threads within host slices with such a name; events and evidence are the outermost of
 * these slices. */
hd_status findings_gather_within(finding **out, findings *f, const finding_rule *rule, findings_is_name *is_name,
                                 hd_error *err);
/* The same, with the sentence "WHAT for 2ms of 10ms (20.0 %): cudaMalloc, 7 UNIT." */
hd_status findings_find_named(findings *f, const finding_rule *rule, findings_is_name *is_name, const char *what,
                              const char *unit, hd_error *err);
/* A finding of the calls that wait which `is_one` chooses (index of syncs) and none has yet. */
hd_status findings_gather_syncs(finding **out, findings *f, const finding_rule *rule,
                                bool (*is_one)(const findings *f, uint32_t sync), hd_error *err);
/* The same for calls that wait for their own copy or memset: its time is claimed too. With the sentence "WHAT for 2ms
 * of 10ms (20.0 %): Memcpy HtoD." */
hd_status findings_find_copies(findings *f, const finding_rule *rule,
                               bool (*is_one)(const findings *f, const hd_work *work), const char *what, hd_error *err);
/* The first claim of a finding, whose claims follow one another. */
size_t findings_first_claim(const findings *f, uint32_t of);
/* How long something that a finding claims runs, at any one place. -1: no memory. */
int64_t findings_claimed_time(const findings *f, uint32_t of);
/* Of the last finding "X of Y (p %)", for its sentence. Returns out. */
const char *findings_amount(char out[96], const finding *of);
#define FINDINGS_S(count) ((count) == 1 ? "" : "s") /* after a noun */
bool findings_begins(hd_string text, const char *word);

/* api.c */
/* That of the calls that launch; of several CUDA; without any that of the producer, or of the first device. */
finding_api findings_api(const findings *f);
/* What to change, in terms of the trace's framework and API: of static memory, or `out`. */
const char *findings_advice(char out[FINDING_ADVICE], const findings *f, const finding_rule *rule);
bool findings_has(hd_string text, const char *const *words, size_t count); /* any of them */
#define FINDINGS_HAS(text, words) findings_has(text, words, sizeof(words) / sizeof *(words))

/* bounds.c */
hd_status findings_bound(findings *f, hd_error *err); /* of all, in the order of their path */

#endif
