/* add.h - adding the weights of a trace to a tree: shared by the add_*.c files */
#ifndef HD_FLAME_ADD_H
#define HD_FLAME_ADD_H

#include "base/map.h"
#include "flame/flame.h"
#include "model/pattern/pattern.h"

/* ---- paths (add_path.c) ---- */

/* The last frame of a counted item, above or below its stack. */
typedef struct flame_leaf {
    uint32_t name; /* of the flame's names, HD_NONE: no leaf besides the stack's own */
    hd_frame_kind kind;
} flame_leaf;

/* ---- groups (add_group.c) ---- */

typedef struct flame_step {
    uint32_t track;
    int64_t rank;
    int64_t start_ns, end_ns;
    uint32_t name; /* string of the trace */
} flame_step;

typedef struct flame_steps {
    flame_step *by_track, *by_rank; /* the same steps, in the two orders */
    size_t count, capacity;
} flame_steps;

/* What is grouped. */
typedef struct flame_place {
    uint32_t track;   /* its track: a GPU queue or a thread */
    uint32_t thread;  /* the thread that launched or ran it; HD_NONE: unknown */
    int64_t time_ns;  /* of its launch; HD_NO_TIME: unknown */
    uint64_t gpu_row; /* slice whose arguments have device and stream, UINT64_MAX: none */
} flame_place;

/* ---- all of it (add.c) ---- */

/* The state of adding one trace to a flame. */
typedef struct flame_adder {
    hd_flame *flame;
    const hd_trace *trace; /* what is counted */
    const hd_flame_options *options;
    hd_attribution_options attribution;
    const hd_stacks *source; /* the stacks of the counted items */
    hd_error *err;
    bool has_window;
    int64_t from_ns, until_ns;
    filter_list names;
    bool no_memory;       /* for names */
    uint32_t *name_of;    /* by name of the source: name of the flame, HD_NONE: not mapped yet */
    size_t name_count;    /* of name_of */
    uint8_t *passes;      /* by name of the source, whether the patterns accept it: 0 unknown, 1 no, 2 yes */
    uint32_t *under_root; /* by stack of the source: its node under the root, 0: not mapped yet */
    size_t under_root_count;
    hd_map memo;    /* (base, stack) of the source, where the base is not the root: flame node */
    uint32_t *path; /* scratch: nodes on the way to the root */
    size_t path_capacity;
    uint32_t no_stack;               /* name of [no stack] */
    uint32_t *group_of;              /* by track: node of its rank, device, stream or thread, 0: not made yet; by name
                                        with HD_FLAME_BY_GROUP */
    uint32_t device_key, stream_key; /* strings of the trace, HD_NONE: the trace does not have it */
    bool many_devices;
    flame_steps steps;
} flame_adder;

/* Add `weight` under a group's node. `stack` is a node of the source. mark: an empty stack is shown as [no stack]. */
hd_status flame_put(flame_adder *adder, uint32_t group, uint32_t stack, flame_leaf leaf, bool mark, int64_t weight);
/* The same for an item that is itself the last frame of its stack, which is not empty; with or without its callers. */
hd_status flame_put_own(flame_adder *adder, uint32_t group, uint32_t stack, bool callers, int64_t weight);
/* Changes the source of stacks, and forgets what was mapped from the previous one. The new source may grow. */
hd_status flame_source(flame_adder *adder, const hd_stacks *stacks);
/* The event whose samples count, a string of the trace; HD_NONE: all. Sets flame->event and events. ARGUMENT: the trace
 * does not have the requested event, or the event of earlier traces. */
hd_status flame_choose_event(uint32_t *out, flame_adder *adder, const hd_trace_stacks *stacks);
/* The unit of the weights of a sample's event: "ns" … Static. */
const char *flame_unit_of_sample(const hd_trace *trace, const hd_event *sample);
/* Sets flame->unit. ARGUMENT: earlier traces have another one. */
hd_status flame_set_unit(flame_adder *adder, const char *unit);
void flame_paths_deinit(flame_adder *adder);

/* Does the name of a frame of the source pass the patterns? */
bool flame_frame_passes(flame_adder *adder, uint32_t stack);
bool flame_text_passes(flame_adder *adder, const filter_text *texts, size_t count);

hd_status flame_groups_init(flame_adder *adder);
void flame_groups_deinit(flame_adder *adder);
/* The node of the group of a place: 0 without grouping. */
hd_status flame_group_of(uint32_t *out, flame_adder *adder, const flame_place *place);

/* The part of [start, start + duration) in the window; false: none. */
bool flame_clip(int64_t *out_ns, const flame_adder *adder, int64_t start_ns, int64_t duration_ns);

/* Add a trace, by what is counted. */
hd_status flame_add_gpu(flame_adder *adder, const hd_attribution *attribution, const hd_trace *cpu);
hd_status flame_add_cpu(flame_adder *adder);
hd_status flame_add_samples(flame_adder *adder);

#endif
