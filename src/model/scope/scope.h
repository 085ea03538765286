/* scope.h - GPU activities of a trace with their class, device, lane and step, worked out once
 *
 * In: a trace and gpu_options. Out: a gpu_scope. docs/reports/definitions.md defines the words. Begin with scope.c;
 * ../steps has steps and windows, ../host slices around a time on host lanes, ../sweep how time is divided.
 */
#ifndef HD_MODEL_SCOPE_SCOPE_H
#define HD_MODEL_SCOPE_SCOPE_H

#include "heddle/analysis/launches.h"
#include "heddle/report.h"
#include "model/class/class.h"
#include "model/pattern/pattern.h"
#include "model/scope/options.h"
#include "model/stats/stats.h"

/* A GPU activity; its name, track and row are those of launches->works at the same index. */
typedef struct gpu_work {
    int64_t start, end;
    uint32_t launch;        /* of launches->launches, HD_NONE: not linked */
    uint32_t origin;        /* the call that created its node of a graph, if known, else launch: what is around it
                               names the activity */
    uint32_t row, device;   /* HD_NONE: excluded by options, and not counted */
    uint32_t step;          /* with --by step: that of its launch; HD_NONE. Read by gpu_step_of */
    uint8_t class, role;    /* gpu_class, hd_role */
    bool before, is_listed; /* is_listed: it starts in [from, until) */
    bool is_there;          /* the device does it, whether --names and --tracks choose it or not */
} gpu_work;

/* Where work runs. */
typedef struct gpu_row {
    uint32_t lane;         /* track: same_as */
    uint32_t device;       /* HD_NONE: it has no counted activity */
    uint32_t stands_on;    /* device, even without counted activities; HD_NONE: none of those below */
    int64_t stream;        /* HD_NO_NUMBER */
    uint32_t first, count; /* in `by_row`, by start, then as in the file */
} gpu_row;

typedef struct gpu_device {
    int64_t rank, device;  /* HD_NO_NUMBER: unknown; the work of a process */
    uint32_t process;      /* track, where device is unknown, else HD_NONE */
    int64_t start, end;    /* its span */
    uint32_t first, count; /* in `order`, by start, then as in the file */
} gpu_device;

typedef struct gpu_step {
    int64_t start, end, rank;
    uint32_t process;   /* track; HD_NONE: guessed, of all processes of the rank */
    uint32_t row, name; /* of the slice table; string */
    uint32_t lane;      /* track of its thread, or of the queue of a guessed one */
} gpu_step;

/* From `start` on, until the next of the same process, times are in this step; HD_NONE: in none. */
typedef struct gpu_step_change {
    int64_t start;
    uint32_t step;
} gpu_step_change;

/* Host slices of some roles: lane by lane, in each by start, then longest first, then as in the file. */
typedef struct gpu_slice {
    int64_t start, end;
    uint32_t row, name, lane;
    uint32_t user; /* for who has the list; HD_NONE at first */
} gpu_slice;

typedef struct gpu_slices {
    gpu_slice *list;
    size_t count;
    uint32_t *first; /* by lane, one more at the end */
} gpu_slices;

typedef struct gpu_scope {
    const hd_trace *trace;
    const gpu_options *options;
    unsigned by; /* GPU_BY_… */
    bool has_from, has_until;
    int64_t from, until; /* of lists: always a window; of accounts as in has_… */
    const hd_launches *launches;
    hd_launches *own_launches; /* NULL: they are the caller's */
    /* Has the activities, their order, tracks and devices, and may have the steps; NULL: they are the scope's own */
    const struct gpu_scope *lender;
    bool steps_are_lent;
    const struct gpu_gaps *gaps; /* of the lender, if it has them */
    bool totals_only;            /* the lender reads the first table of the report, and needs no lists */
    int64_t *ranks;              /* by track */
    bool *has_rank;              /* by track: --rank wants it */
    bool has_launches;           /* some work of the trace is linked */
    uint64_t large;              /* bytes from which on lists lie in files */
    gpu_work *works;             /* as launches->works */
    gpu_work *untimed;           /* as launches->untimed: from 0 until 0; device HD_NONE: not listed */
    uint32_t *order, *by_row;    /* indices of counted activities: device by device, and track by track */
    size_t counted;
    gpu_row *rows;
    uint32_t row_count;
    gpu_device *devices; /* by rank, then device */
    uint32_t device_count;
    /* By device: when it was recorded, if its rank's captures have windows; NULL: no capture has. Other time is in no
     * account. */
    struct gpu_spans *recorded;
    gpu_slices annotations; /* made when steps are requested, or by gpu_annotations */
    gpu_step *steps;        /* by rank, process and start, then as in the file */
    uint32_t step_count;
    gpu_step_change *changes; /* process by process as in `steps`, by start */
    size_t change_count;
    struct gpu_step_changes {
        size_t first, until; /* in `changes`; none: a track without steps */
    } * changes_of;          /* by track */
    const char *step_source; /* how steps were found, for a note */
} gpu_scope;

/* How much of a report's time is over after these phases, in percent, as measured on a trace of 100,000 events. */
enum { GPU_LAUNCHES_DONE = 65, GPU_SCOPE_DONE = 72, GPU_GRAPH_DONE = 88 };

/* `by`: the words of --by that the report knows. input->scope, of the same options, by step if they say so, is lent and
 * must live longer. Errors: ARGUMENT; MEMORY; LIMIT. Deinit either way. */
hd_status gpu_scope_init(gpu_scope *scope, const hd_report_input *input, const gpu_options *options, unsigned by,
                         hd_error *err);
void gpu_scope_deinit(gpu_scope *scope);
/* recorded.c: fills `recorded`. false: no memory. */
bool gpu_recorded_find(gpu_scope *scope);
void gpu_recorded_deinit(gpu_scope *scope);

/* The lane of a track: itself, or the twin with equal pid and tid. HD_NONE: no such track. */
static inline uint32_t gpu_lane_of(const hd_trace *trace, uint32_t track)
{
    uint32_t count = hd_trace_track_count(trace);
    if (track >= count) return HD_NONE;
    uint32_t lane = hd_trace_track_at(trace, track)->same_as;
    return lane < count ? lane : track;
}

/* Of launches->processes; HD_NONE as well where the trace has one process that launches. */
static inline uint32_t gpu_process_at(const gpu_scope *scope, uint32_t track)
{
    uint32_t tracks = hd_trace_track_count(scope->trace);
    if (scope->launches->process_count < 2) return HD_NONE;
    return scope->launches->processes[track < tracks ? track : tracks];
}
/* The process that launched an activity, likewise. */
static inline uint32_t gpu_process_of(const gpu_scope *scope, uint32_t work)
{
    const hd_launches *l = scope->launches;
    if (l->process_count < 2) return HD_NONE;
    uint32_t launch = l->works[work].launch;
    return gpu_process_at(scope, launch == HD_NONE ? l->works[work].track : l->launches[launch].track);
}

/* The work that is a slice; the first after it where none is. */
uint32_t gpu_work_at(const gpu_scope *scope, uint32_t row);

static inline bool gpu_is_listed(const gpu_scope *scope, int64_t time)
{
    return time >= scope->from && time < scope->until;
}
/* Times are kept within 146 years of 0, so that no span is too long for an int64_t. */
#define GPU_LAST_TIME (INT64_MAX / 2)
static inline int64_t gpu_time(int64_t ns)
{
    return ns > GPU_LAST_TIME ? GPU_LAST_TIME : ns < -GPU_LAST_TIME ? -GPU_LAST_TIME : ns;
}
static inline int64_t gpu_duration(const gpu_work *work)
{
    return work->end - work->start;
}
static inline int64_t gpu_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN + 1 : INT64_MAX) : sum;
}
static inline int64_t gpu_whole(gpu_i128 value) /* saturates */
{
    return value > INT64_MAX ? INT64_MAX : value < -INT64_MAX ? -INT64_MAX : (int64_t)value;
}
/* An identity that must hold in every report does not. Returns INTERNAL. */
hd_status gpu_broken(const char *what, int64_t is, int64_t should, hd_error *err);

#endif
