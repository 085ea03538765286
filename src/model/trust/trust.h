/* trust.h - what is missing or impossible in a trace, and the figures that depend on it
 *
 * In: a trace and its launches, or a gpu_scope. Out: one gpu_trust per hd_launches, computed at first use. Filters of a
 * report have no effect: a defect concerns the whole trace. Reports write them as notes and into cells, JSON as the
 * object `trust`, SQL as the table trust, the check as findings. Begin with doubts.c, which names them; trust.c finds
 * them, unrecorded.c those of launches.
 */
#ifndef HD_MODEL_TRUST_TRUST_H
#define HD_MODEL_TRUST_TRUST_H

#include "model/scope/scope.h"

/* Activities of a stream that is in order may overlap by so much: programmatic dependent launches do by about 1 us, and
 * clocks are read with some noise, by which an activity may begin before its launch, too. */
enum { GPU_CLOCK_SLACK_NS = 5000 };

typedef enum gpu_doubt_code {
    GPU_DOUBT_INPUT_LOST,     /* input that could not be read */
    GPU_DOUBT_INPUT_REPAIRED, /* the repairs */
    GPU_DOUBT_CLOCKS, /* activities of devices of which all begin before or after their launch by more than all launches
                         take */
    GPU_DOUBT_BEYOND, /* activities that end beyond GPU_LAST_TIME, where their ends are held */
    GPU_DOUBT_FAR,    /* activities far outside the time of all launches */
    GPU_DOUBT_OVERLAP,     /* activities that run within another one of their stream, which runs sequentially */
    GPU_DOUBT_TOO_LONG,    /* activities out of all proportion to others of their name */
    GPU_DOUBT_UNRECORDED,  /* launches whose activities were not recorded, while those of later ones were */
    GPU_DOUBT_STEPS,       /* steps without activities although they launch some, while other steps have some */
    GPU_DOUBT_GRAPHS,      /* launches of graphs with fewer activities than others of the same graph */
    GPU_DOUBT_NO_TIME,     /* activities without times from the profiler: they are in no figure */
    GPU_DOUBT_NO_END,      /* activities without an end: they count as 0 ns */
    GPU_DOUBT_EARLY,       /* activities that begin before their launch */
    GPU_DOUBT_NO_CALLS,    /* activities of processes or devices without a recorded call, where others have calls */
    GPU_DOUBT_UNLINKED,    /* other activities without a launch that began within the recording */
    GPU_DOUBT_BEFORE,      /* activities that began before the recording, so their launches are not in it */
    GPU_DOUBT_GUESSED,     /* activities whose correlation id several processes have; from here on only in `all` */
    GPU_DOUBT_AFTER,       /* launches without activity at the end of the recording */
    GPU_DOUBT_THINNED_GPU, /* activities that `convert --min-duration` removed */
    GPU_DOUBT_THINNED,     /* the same of slices of the host */
    GPU_DOUBT_WINDOWS,     /* recorded parts of devices' spans, in a capture with windows */
    GPU_DOUBTS,
} gpu_doubt_code;

/* Figures that rest on a doubt. */
enum {
    GPU_FIGURE_TIME = 1,   /* GPU time of names, classes and shares */
    GPU_FIGURE_IDLE = 2,   /* spans, busy and idle time, and its causes */
    GPU_FIGURE_DELAY = 4,  /* from a call to its activity: delays, queues, waits */
    GPU_FIGURE_STEP = 8,   /* of a step */
    GPU_FIGURE_CALLER = 16 /* of operators, ranges, modules, stacks: data from the launch */
};

typedef struct gpu_doubt_about {
    const char *code;  /* "gpu-overlap": that of the check if it has one */
    const char *level; /* error: figures are wrong; warning: some may be, or lack something; note */
    unsigned figures;
} gpu_doubt_about;
extern const gpu_doubt_about gpu_doubt_abouts[GPU_DOUBTS];

typedef struct gpu_doubt {
    uint64_t count, of; /* of how many; 0: not known */
    int64_t ns;         /* overlap, early, too long: the longest; clocks: the least distance; windows: all of them;
                           HD_NO_TIME: none */
    uint64_t row;       /* slice of the first, where track is not HD_NONE */
    uint32_t track;
    uint32_t steps, graphs; /* unrecorded: in how many steps; of how many launches of graphs */
} gpu_doubt;

/* The missing activities of launches, per step. */
typedef struct gpu_step_doubts {
    uint32_t row;    /* slice of the step */
    uint16_t doubts; /* bits of GPU_DOUBT_UNRECORDED, GPU_DOUBT_STEPS */
} gpu_step_doubts;

typedef struct gpu_trust {
    gpu_doubt doubts[GPU_DOUBTS];
    uint64_t works, launches, steps; /* how many were looked at */
    bool is_of_input;                /* only the input was */
    bool has_launches;               /* some activity is linked with its launch */
    unsigned all;                    /* bits 1 << code of doubts that no activity of its own shows */
    uint16_t *of_works;              /* bits 1 << code by launches->works; NULL: none has any */
    uint16_t *of_lanes;              /* the same of all works of a lane, by track */
    gpu_step_doubts *of_steps;       /* of the steps ProfilerStep#N and the like, `steps` of them, by row */
    int64_t *last_recorded;          /* by track, that of no track last: the start of the last launch of its process
                                        that has activities, INT64_MAX: none has; NULL: there is no activity */
} gpu_trust;

/* Belongs to the launches. Any number of threads may ask. Errors: MEMORY, LIMIT. O(n log n) the first time. */
hd_status gpu_trust_of(const gpu_trust **out, const hd_trace *trace, const hd_launches *launches, hd_error *err);
hd_status gpu_trust_of_scope(const gpu_trust **out, const gpu_scope *scope, hd_error *err); /* the same, faster */
/* Only losses and repairs of reading. O(rows of the ledger). */
gpu_trust gpu_trust_of_input(const hd_trace *trace);
void gpu_trust_free(gpu_trust *trust);

/* Whether the recording ended before the activities of this launch began: no later launch of its process has some.
 * Those of other launches without any were lost. */
static inline bool gpu_launch_is_after(const gpu_trust *trust, const hd_launch *launch)
{
    return trust->last_recorded && launch->track != HD_NONE && launch->start_ns > trust->last_recorded[launch->track];
}

/* Defects (bits) that affect some of these figures, of the activities of a device of the scope. */
unsigned gpu_doubts_of_device(const gpu_trust *trust, const gpu_scope *scope, uint32_t device, unsigned figures);
/* Whether the device has a clock of its own: figures that compare its times with those of calls are unknown. */
bool gpu_clock_is_apart(const gpu_trust *trust, const gpu_scope *scope, uint32_t device);
/* The same of a step's figures: `works` are the bits of its activities. */
unsigned gpu_doubts_of_step(const gpu_trust *trust, const gpu_step *step, unsigned works);
/* Those bits that affect some of these figures. */
unsigned gpu_doubts_of(unsigned doubts, unsigned figures);

enum { GPU_DOUBT_TEXT = 400 };
/* A sentence about a doubt that has a count, into out. */
const char *gpu_doubt_text(char out[GPU_DOUBT_TEXT], gpu_doubt_code code, const gpu_doubt *doubt);
/* The codes of bits, "gpu-overlap, gpu-far", and the names of figures, "GPU time, delays". */
const char *gpu_doubt_codes(char out[GPU_DOUBT_TEXT], unsigned doubts);
const char *gpu_figure_names(char out[GPU_DOUBT_TEXT], unsigned figures);
/* The sentence shown first: the worst defect and the number of others, or that none was found in the checked parts. */
const char *gpu_trust_text(char out[GPU_DOUBT_TEXT], const gpu_trust *trust);

/* ---- thinned.c: what the pass thin removed ---- */

/* Arguments of the slice around removed ones, and the top-level key with the sums. */
#define THINNED_COUNT "thinned_count"
#define THINNED_NS "thinned_ns"
#define THINNED_KEY "heddle.thinned"
#define THINNED_SLICES "slices"
#define THINNED_ACTIVITIES "activities"
void trust_find_thinned(gpu_trust *trust, const hd_trace *trace);

/* ---- unrecorded.c ---- */

/* Launches of graphs that lack activities which others of the same graph have. */
hd_status trust_find_graphs(gpu_trust *trust, const gpu_scope *scope, hd_error *err);
/* Launches and steps without activity; the scope has the steps ProfilerStep#N. */
hd_status trust_find_unrecorded(gpu_trust *trust, const gpu_scope *scope, hd_error *err);

/* Counts a defect; track HD_NONE: no event shows it. */
static inline void gpu_doubt_add(gpu_doubt *doubt, uint64_t row, uint32_t track)
{
    if (doubt->count++) return;
    doubt->row = row;
    doubt->track = track;
}

#endif
