/* gpu.h - what the reports about GPUs share: the scope of a trace, made once, and small tools to sum it up
 *
 * In: a trace and the options of gpu_options. Out: a gpu_scope: its pieces of work with their class, device, row and
 * step; its devices, steps and windows. docs/reports/definitions.md says what the words mean. Read scope.c first;
 * steps.c has steps and windows (repetition.c those that no annotation tells), slices.c what stands around a time on
 * the host's rows, sweep.c how time is divided among what runs, cells.c groups, statistics and cells.
 */
#ifndef HD_REPORT_GPU_GPU_H
#define HD_REPORT_GPU_GPU_H

#include "base/map.h"
#include "heddle/graph.h"
#include "pass/filter/pattern.h"
#include "report/report.h"

__extension__ typedef __int128 gpu_i128;

/* ---- options ---- */

/* What --by may name; a report says which of them it knows. */
enum {
    GPU_BY_STEP = 1,
    GPU_BY_NAME = 2,
    GPU_BY_SHORT = 4,
    GPU_BY_OP = 8,
    GPU_BY_MODULE = 16,
    GPU_BY_SHAPE = 32,
    GPU_BY_GRID = 64,
    GPU_BY_STREAM = 128,
    GPU_BY_CLASS = 256,
    GPU_BY_STACK = 512,
};

/* The first member of each report's options. */
typedef struct gpu_options {
    const char *by, *step, *names, *tracks, *ranks;
    hd_convert_time from, until;
    bool linked;
} gpu_options;

/* Their rows in the table of a report whose options begin with a gpu_options; `words` is what --by may name. */
#define GPU_OPTIONS(words)                                                                                             \
    {"by", HD_OPTION_PATTERNS, NULL, "rows for each of these: " words, offsetof(gpu_options, by)}, GPU_OPTIONS_SCOPE
#define GPU_OPTIONS_SCOPE                                                                                              \
    {"step", HD_OPTION_PATTERNS, NULL, "annotations of these names are the steps, not ProfilerStep#N or what repeats", \
     offsetof(gpu_options, step)},                                                                                     \
        {"linked", HD_OPTION_FLAG, NULL, "leave out GPU work whose launch is not known",                               \
         offsetof(gpu_options, linked)},                                                                               \
        {"from", HD_OPTION_TIME, NULL, "begin there, counted from the first event: 1.5s, 250ms, 10us, 4ns, or 10%",    \
         offsetof(gpu_options, from)},                                                                                 \
        {"until", HD_OPTION_TIME, NULL, "end there", offsetof(gpu_options, until)},                                    \
        {"names", HD_OPTION_PATTERNS, NULL, "only GPU work of these names", offsetof(gpu_options, names)},             \
        {"tracks", HD_OPTION_PATTERNS, NULL,                                                                           \
         "only GPU work on tracks whose name, process name or PROCESS/THREAD matches", offsetof(gpu_options, tracks)}, \
    {                                                                                                                  \
        "rank", HD_OPTION_PATTERNS, NULL, "only these ranks: 0,3", offsetof(gpu_options, ranks)                        \
    }

/* Before what the event of a column of ids is: "its id, as in heddle query: of the call" */
#define GPU_ID_OF "`id` in the table slice of heddle query, of "

/* ---- the scope ---- */

typedef enum gpu_class { GPU_COMPUTE, GPU_COMMUNICATION, GPU_COPY, GPU_CLASSES } gpu_class;
extern const char *const gpu_class_names[GPU_CLASSES];

/* A piece of work; its name, track and row are those of launches->works at the same index. */
typedef struct gpu_work {
    int64_t start, end;
    uint32_t launch;        /* of launches->launches, HD_NONE: not linked */
    uint32_t row, device;   /* HD_NONE: options leave it out, and nobody counts it */
    uint32_t step;          /* with --by step: that of its launch; HD_NONE */
    uint8_t class, role;    /* gpu_class, hd_role */
    bool before, is_listed; /* is_listed: it starts in [from, until) */
} gpu_work;

/* Where work runs. */
typedef struct gpu_row {
    uint32_t lane;         /* track: same_as */
    uint32_t device;       /* HD_NONE: it has no work that counts */
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
    uint32_t row, name; /* of the slice table; string */
} gpu_step;

/* From `start` on, until the next of the same rank, times are in this step; HD_NONE: in none. */
typedef struct gpu_step_change {
    int64_t rank, start;
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
    int64_t from, until; /* of lists: always a window; of accounts what has_… says */
    const hd_launches *launches;
    hd_launches *own_launches; /* NULL: they are the caller's */
    int64_t *ranks;            /* by track */
    bool *has_rank;            /* by track: --rank wants it */
    bool has_launches;         /* some work of the trace is linked */
    uint64_t large;            /* bytes from which on lists lie in files */
    gpu_work *works;           /* as launches->works */
    uint32_t *order, *by_row;  /* indices of works that count: device by device, and row by row */
    size_t counted;
    gpu_row *rows;
    uint32_t row_count;
    gpu_device *devices; /* by rank, then device */
    uint32_t device_count;
    gpu_slices annotations; /* made when steps are asked for, or by gpu_annotations */
    gpu_step *steps;        /* by start, then as in the file */
    uint32_t step_count;
    gpu_step_change *changes; /* by rank, then start */
    size_t change_count;
    const char *step_source; /* how steps were found, for a note */
} gpu_scope;

/* `by`: the words of --by that the report knows. Errors: ARGUMENT; MEMORY; LIMIT. Deinit either way. */
hd_status gpu_scope_init(gpu_scope *scope, const hd_report_input *input, const gpu_options *options, unsigned by,
                         hd_error *err);
void gpu_scope_deinit(gpu_scope *scope);

/* The lane of a track: it, or the twin whose pid and tid read the same. HD_NONE: there is no such track. */
static inline uint32_t gpu_lane_of(const hd_trace *trace, uint32_t track)
{
    uint32_t count = hd_trace_track_count(trace);
    if (track >= count) return HD_NONE;
    uint32_t lane = hd_trace_track_at(trace, track)->same_as;
    return lane < count ? lane : track;
}

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
/* An identity that every report holds does not hold. Returns INTERNAL. */
hd_status gpu_broken(const char *what, int64_t is, int64_t should, hd_error *err);

/* ---- steps and windows: steps.c ---- */

hd_status gpu_annotations(gpu_scope *scope, hd_error *err); /* fills annotations, if they are not there yet */
hd_status gpu_steps_find(gpu_scope *scope, hd_error *err);  /* by gpu_scope_init, with --by step; twice is once */
hd_status gpu_steps_by_repetition(gpu_scope *scope, hd_error *err); /* adds to steps: repetition.c */
uint32_t gpu_step_at(const gpu_scope *scope, int64_t rank, int64_t time);
static inline const char *gpu_step_note(const gpu_scope *scope)
{
    return scope->step_count
               ? scope->step_source
               : "there are no steps, nor does anything repeat: name their annotations by --step (replay: --steps)";
}
/* The same with --by step, else HD_NONE. */
static inline uint32_t gpu_step_by(const gpu_scope *scope, int64_t rank, int64_t time)
{
    return scope->by & GPU_BY_STEP ? gpu_step_at(scope, rank, time) : HD_NONE;
}

/* A stretch of a device's time. Those of a device follow one another without gaps, and are together its window. */
typedef struct gpu_piece {
    int64_t start, end;
    uint32_t window; /* index */
} gpu_piece;

typedef struct gpu_window {
    uint32_t step;  /* HD_NONE: none, or what is left beside the steps */
    int64_t length; /* of its pieces */
    uint64_t works; /* that start in it and are listed */
} gpu_window;

/* The windows of a device: those of steps by time, then the rest; those with neither time nor work are not there. */
typedef struct gpu_windows {
    gpu_window *windows;
    uint32_t count;
    gpu_piece *pieces;
    size_t piece_count;
    gpu_piece *of_steps; /* the windows of steps, not cut by --from and --until */
    size_t of_step_count;
    uint32_t rest; /* the window of all else */
} gpu_windows;

hd_status gpu_windows_init(gpu_windows *windows, const gpu_scope *scope, uint32_t device, hd_error *err);
void gpu_windows_deinit(gpu_windows *windows);
/* Calls `see` for each row that has a device, those of a device together, with *windows made for the device. The caller
 * has zeroed *windows and deinits it. */
typedef hd_status (*gpu_see_row)(void *user, const gpu_row *row, hd_error *err);
hd_status gpu_each_row(const gpu_scope *scope, gpu_windows *windows, gpu_see_row see, void *user, hd_error *err);
/* The window of an event that is listed. */
uint32_t gpu_window_of(const gpu_windows *windows, int64_t time);

/* ---- slices of the host: slices.c ---- */

/* All of these roles (bits 1 << hd_role) and of the wanted ranks. Deinit either way. */
hd_status gpu_slices_init(gpu_slices *out, const gpu_scope *scope, unsigned roles, hd_error *err);
/* Only those whose name has not 0 in `names`, which is by string id; NULL: all. */
hd_status gpu_slices_named(gpu_slices *out, const gpu_scope *scope, unsigned roles, const uint8_t *names,
                           hd_error *err);
/* Python frames of nn.Modules; what their names begin with. */
extern const char gpu_module_word[];
enum { GPU_MODULE_WORD = 11 };
hd_status gpu_modules_init(gpu_slices *out, const gpu_scope *scope, hd_error *err);
void gpu_slices_deinit(gpu_slices *slices);
/* Leave only those for which `keep` is true, which may set their `user`; and of these those that do not begin within
 * another of them. */
typedef bool gpu_slice_keep(void *user, gpu_slice *slice);
void gpu_slices_keep_outermost(gpu_slices *slices, const gpu_scope *scope, gpu_slice_keep *keep, void *user);

typedef struct gpu_place {
    int64_t time;
    uint32_t lane; /* HD_NONE: nowhere */
    uint32_t id;
} gpu_place;

/* The innermost slices of a role around places, whose ids are below `count` and which get sorted: out[id] is the string
   of its name, HD_STRING_NONE where there is none. */
hd_status gpu_innermost_names(uint32_t *out, gpu_place *places, size_t count, const gpu_scope *scope, hd_role role,
                              hd_error *err);
/* For sorted places, one after the other: all slices around, outermost first. Anything but HD_OK ends it. */
typedef hd_status gpu_around_found(void *user, uint32_t id, const uint32_t *slices, size_t count, hd_error *err);
hd_status gpu_around(const gpu_slices *slices, const gpu_place *places, size_t count, gpu_around_found *found,
                     void *user, hd_error *err);
/* The launches of work that counts as places, sorted, those that are asked for by an operator of another thread where
 * it begins; id is the launch. The caller frees them with hd_large_free. */
hd_status gpu_launch_places(gpu_place **out, size_t *out_count, const gpu_scope *scope, hd_error *err);
/* By launch, the innermost slice around it. The caller frees it with hd_large_free. */
hd_status gpu_innermost_of_launches(uint32_t **out, const gpu_scope *scope, const gpu_slices *slices, hd_error *err);

/* ---- time divided: sweep.c ---- */

/* Something that begins (change 1) or ends (-1) in one of up to GPU_KINDS kinds. */
enum { GPU_KINDS = 4 };
typedef struct gpu_edge {
    int64_t time;
    uint32_t kind;
    int32_t change;
} gpu_edge;

/* Zero-initialised is empty. */
typedef struct gpu_sweep {
    gpu_edge *edges;
    size_t count, capacity;
    uint64_t large;
} gpu_sweep;

/* [start, end); nothing if that is empty. false: no memory. */
bool gpu_sweep_add(gpu_sweep *sweep, int64_t start, int64_t end, uint32_t kind);
void gpu_sweep_deinit(gpu_sweep *sweep);
/* A stretch of a piece in which nothing begins or ends. */
typedef struct gpu_stretch {
    int64_t start, end;
    uint32_t window;
    uint32_t running[GPU_KINDS]; /* how many of each kind */
} gpu_stretch;
/* Over the pieces, which follow one another: all of their time, in order, stretch by stretch. */
typedef hd_status gpu_stretch_found(void *user, const gpu_stretch *stretch, hd_error *err);
hd_status gpu_sweep_run(gpu_sweep *sweep, const gpu_piece *pieces, size_t count, gpu_stretch_found *found, void *user,
                        hd_error *err);

/* The window of a device cut into pieces of one length, but for rounding to ns; count 0: it has no time. */
typedef struct gpu_pieces {
    int64_t start, end;
    uint32_t count;
} gpu_pieces;
enum { GPU_PIECES_MAX = 10000, GPU_PIECES_ROWS = 200000 /* of all rows of GPUs together */ };
#define GPU_OPTION_PIECES(type, table)                                                                                 \
    {                                                                                                                  \
        "pieces", HD_OPTION_COUNT, NULL, "cut the time into so many pieces, 10,000 at most: the table " table,         \
            offsetof(type, pieces)                                                                                     \
    }
gpu_pieces gpu_pieces_of(const gpu_scope *scope, uint32_t device, uint64_t wanted);
/* When piece i begins; that behind the last is the end. */
static inline int64_t gpu_piece_start(const gpu_pieces *pieces, uint32_t i)
{
    return pieces->start + (int64_t)((gpu_i128)(pieces->end - pieces->start) * i / pieces->count);
}
/* Adds `rate` times what of [start, end) lies in each piece. */
void gpu_pieces_add(double *sums, const gpu_pieces *pieces, int64_t start, int64_t end, double rate);

/* A set of times: sorted, and no two touch. */
typedef struct gpu_span {
    int64_t start, end;
} gpu_span;
typedef struct gpu_spans {
    gpu_span *list;
    int64_t *before; /* length of all before each, and of all behind the last */
    size_t count;
} gpu_spans;
/* Of count spans in any order, which it sorts; takes the list, an hd_large. false: no memory, the list is freed. */
bool gpu_spans_union(gpu_spans *out, gpu_span *list, size_t count, uint64_t large);
void gpu_spans_deinit(gpu_spans *spans);
/* The part of [start, end) that they cover. O(log n). */
int64_t gpu_spans_covered(const gpu_spans *spans, int64_t start, int64_t end);

/* ---- groups, statistics, cells: cells.c ---- */

/* Numbers 0, 1, 2 … for keys of one size, in the order in which they come. Zero-initialised but for key_size. */
typedef struct gpu_groups {
    size_t key_size;
    char *keys; /* count * key_size */
    uint32_t count;
    size_t capacity;
    hd_slots slots;
} gpu_groups;
/* Bytes of the key that no member has must be 0. HD_NONE: no memory. */
uint32_t gpu_group(gpu_groups *groups, const void *key);
static inline const void *gpu_group_key(const gpu_groups *groups, uint32_t group)
{
    return groups->keys + group * groups->key_size;
}
/* The number of a key that mostly is the one of `last`, which becomes it. */
static inline uint32_t gpu_group_near(gpu_groups *groups, uint32_t *last, const void *key)
{
    if (*last >= groups->count || memcmp(gpu_group_key(groups, *last), key, groups->key_size) != 0)
        *last = gpu_group(groups, key);
    return *last;
}
void gpu_groups_deinit(gpu_groups *groups);

/* Statistics of the values of each group. */
typedef struct gpu_stats {
    uint64_t count;
    int64_t total, mean, median, min, max;
    int64_t stddev; /* HD_NO_NUMBER: of one value */
} gpu_stats;
typedef struct gpu_value {
    int64_t value;
    uint32_t group;
} gpu_value;
/* out has one per group, all of which have values. Sorts the values. false: no memory. */
bool gpu_stats_of(gpu_stats *out, uint32_t groups, gpu_value *values, size_t count, uint64_t large);
/* a / b rounded to the nearest, halves away from 0; b > 0. */
int64_t gpu_nearest(gpu_i128 a, gpu_i128 b);

/* Numbers for texts that are made, and the text of a number. Zero-initialised. */
typedef struct gpu_texts {
    char *bytes;
    size_t size, byte_capacity;
    struct gpu_text {
        size_t at, size;
    } * list;
    uint32_t count;
    size_t capacity;
    hd_slots slots;
} gpu_texts;
uint32_t gpu_text(gpu_texts *texts, const char *data, size_t size); /* HD_NONE: no memory */
hd_string gpu_text_of(const gpu_texts *texts, uint32_t text);       /* valid until the next is added */
uint32_t gpu_text_json(gpu_texts *texts, hd_string json);           /* on one line: [[1, 2], []] */
void gpu_texts_deinit(gpu_texts *texts);

/* rank, step, step_start; and with the device behind the rank. */
void gpu_cells_rank(hd_table_builder *builder, const gpu_scope *scope, int64_t rank, uint32_t step);
void gpu_cells_device(hd_table_builder *builder, const gpu_scope *scope, uint32_t device, uint32_t step);
/* The same of the device of a row; its stream, and "pid tid". */
void gpu_cells_row(hd_table_builder *builder, const gpu_scope *scope, const gpu_row *row, uint32_t step);
/* a * times / b; null if b is 0. */
void gpu_cell_ratio(hd_table_builder *builder, gpu_i128 a, gpu_i128 b, double times);
void gpu_cell_decimal(hd_table_builder *builder, double value, bool is_known); /* null: not known; so below */
void gpu_cell_count(hd_table_builder *builder, uint64_t value, bool is_known);
void gpu_cell_time(hd_table_builder *builder, int64_t value, bool is_known);
void gpu_cell_text(hd_table_builder *builder, const gpu_texts *texts, uint32_t text); /* HD_NONE: null */

/* Sums by rank, device and step as the cells tell them, of which shares are percent. Zero-initialised. */
typedef struct gpu_shares {
    gpu_groups places;
    gpu_i128 *sums;
    size_t capacity;
} gpu_shares;
bool gpu_share_add(gpu_shares *shares, const gpu_scope *scope, uint32_t device, uint32_t step, int64_t value);
void gpu_cell_share(hd_table_builder *builder, gpu_shares *shares, const gpu_scope *scope, uint32_t device,
                    uint32_t step, int64_t value);
void gpu_shares_deinit(gpu_shares *shares);

/* The columns that gpu_cells_rank and gpu_cells_device fill. */
#define GPU_COLUMNS_STEP                                                                                               \
    {"step", HD_VALUE_STRING, "with --by step: the step's name, null beside steps"},                                   \
    {                                                                                                                  \
        "step_start", HD_VALUE_TIME, "when it began, which tells steps of one name apart"                              \
    }
#define GPU_COLUMNS_RANK {"rank", HD_VALUE_INT, "null: unknown"}, GPU_COLUMNS_STEP
#define GPU_COLUMNS_DEVICE                                                                                             \
    {"rank", HD_VALUE_INT, "null: unknown"}, {"device", HD_VALUE_INT, "null: a process that tells none"},              \
        GPU_COLUMNS_STEP
#define GPU_COLUMNS_ROW                                                                                                \
    GPU_COLUMNS_DEVICE, {"stream", HD_VALUE_INT, "null: unknown"},                                                     \
    {                                                                                                                  \
        "row", HD_VALUE_STRING, "pid and tid, as the trace has them"                                                   \
    }

/* The table of a builder into the report, its rows in the order of definitions.md: those of a rank, device and step
 * together, then by `largest` (columns parted by commas, largest first), then by all cells. largest NULL: those
 * together as they are. */
hd_status gpu_add(hd_report *out, hd_table_builder *builder, const char *largest, hd_error *err);

/* The table `notes`: what the trace lacks, and how much; and `more`, sentences that end with NULL, or NULL. */
hd_status gpu_add_notes(hd_report *out, const hd_report_about *about, const gpu_scope *scope, const char *const *more,
                        hd_error *err);
/* How many edges of a graph the clock contradicts, by kind; false: none. */
bool gpu_note_backward(char *out, size_t size, const hd_graph *graph);
/* How many waits of queues are guessed; false: none. */
bool gpu_note_guessed(char *out, size_t size, const hd_graph *graph);
extern const hd_report_column gpu_notes_columns[];
#define GPU_NOTES                                                                                                      \
    {                                                                                                                  \
        "notes", "what this trace does not tell, and so is null above", gpu_notes_columns                              \
    }

/* The name of a call without a prefix of CUPTI's and a version, as text; kept by string in `known` (text + 1, zeros at
 * first). HD_NONE: no memory. */
uint32_t gpu_call_name(gpu_texts *texts, uint32_t *known, const hd_trace *trace, uint32_t string);

/* What of the bytes of a collective, "AllReduce", goes over each link of the bus, as nccl-tests count it. false: not
 * known. */
bool gpu_bus_factor(double *out, hd_string collective, int64_t ranks); /* communication.c */

/* ---- arguments of work: args.c ---- */

/* An argument by its name, looked up once per shape. */
typedef struct gpu_arg {
    const hd_trace *trace;
    uint32_t key;
    int16_t *places; /* by shape: index, -1: none, -2: not looked at */
} gpu_arg;
bool gpu_arg_init(gpu_arg *arg, const hd_trace *trace, const char *name); /* false: no memory */
void gpu_arg_deinit(gpu_arg *arg);
/* Does any event of the trace have it? */
bool gpu_arg_is_used(const gpu_arg *arg);
bool gpu_arg_get(hd_value *out, gpu_arg *arg, const hd_block *block, uint32_t row);
/* A whole number, also as text; false: there is none. */
bool gpu_arg_whole(int64_t *out, gpu_arg *arg, const hd_block *block, uint32_t row);
/* The string id of a text, or of what an object or array was written as; HD_STRING_NONE. */
uint32_t gpu_arg_text(gpu_arg *arg, const hd_block *block, uint32_t row);
/* The text of any value, numbers as well; JSON on one line. false: no memory; *out is HD_NONE where there is none. */
bool gpu_arg_written(uint32_t *out, gpu_texts *texts, gpu_arg *arg, const hd_block *block, uint32_t row);

#endif
