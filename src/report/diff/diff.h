/* diff.h - aligns two sides and compares them
 *
 * In: traces. Of each, side.c keeps the steps on devices (samples), their contents (items: a kernel below an operator,
 * an operator, a module, a cause of idle time) and the time of each item in each sample (entries). Out: tables. align.c
 * matches the items of the two sides, common.c says how much they have in common, numbers.c separates changes from
 * noise, rows.c has what makes up the change, figures.c memory, FLOP/s and bandwidths, gate.c checks limits; diff.c
 * combines them: begin there.
 * baseline.c writes a side to a file, and reads it.
 */
#ifndef HD_REPORT_DIFF_DIFF_H
#define HD_REPORT_DIFF_DIFF_H

#include "heddle/analysis/diff.h"
#include "report/gpu/gaps.h"

/* ---- a side ---- */

/* Numbers of a step on a device as a whole: first the parts of its time, then counts. */
enum {
    DIFF_COMPUTE,
    DIFF_COMMUNICATION,
    DIFF_COPY,
    DIFF_IDLE,
    DIFF_HOST = DIFF_IDLE + GPU_CAUSES, /* a whole step on the CPU, of a trace without any GPU */
    DIFF_PARTS,
    DIFF_LAUNCHES = DIFF_PARTS,
    DIFF_KERNELS,
    DIFF_COPIES,
    DIFF_SYNCS,
    DIFF_BYTES,
    DIFF_COUNTS,
    DIFF_MEMORY = DIFF_COUNTS, /* from here on see figures.c; most bytes in use */
    DIFF_FLOP,
    DIFF_COLLECTIVE_BYTES,
    DIFF_JUDGED,                  /* conditions may name those before */
    DIFF_COMPUTING = DIFF_JUDGED, /* ns of kernels that compute; of those in operators whose FLOP are known */
    DIFF_COMPUTING_KNOWN,
    DIFF_COLLECTIVES, /* ns of collectives; of those whose bytes are known; of those whose bus factor is as well */
    DIFF_COLLECTIVES_SIZED,
    DIFF_COLLECTIVES_ON_BUS,
    DIFF_BUS_BYTES,    /* of the last */
    DIFF_COPIES_SIZED, /* copies whose bytes are known */
    DIFF_COLUMNS
};

typedef struct diff_sample {
    int64_t length, start;
    int64_t number;      /* at the end of its name; HD_NO_NUMBER */
    uint32_t name;       /* text; HD_NONE: all of the device's time, as there are no steps */
    uint32_t place, run; /* device of a rank; how many recordings of it came before */
    uint32_t input;      /* of the side's paths; not in a baseline, which is one */
    int64_t columns[DIFF_COLUMNS];
} diff_sample;

typedef enum diff_kind {
    DIFF_KERNEL,
    DIFF_COLLECTIVE,
    DIFF_COPYING,
    DIFF_OPERATOR,
    DIFF_MODULE,
    DIFF_GAP,
    DIFF_KINDS
} diff_kind;
extern const char *const diff_kind_names[DIFF_KINDS];

/* An operator or range, or a module, below the others of its kind around it. */
GPU_KEY
typedef struct diff_node_key {
    uint32_t parent, name, is_module; /* parent HD_NONE: none; name: text, folded */
} diff_node_key;
GPU_KEY_END

GPU_KEY
typedef struct diff_item_key {
    uint32_t kind;
    uint32_t node; /* HD_NONE: none. DIFF_GAP: gpu_cause */
    uint32_t name; /* text; of DIFF_GAP the host activity. HD_NONE: none, the node's */
} diff_item_key;
GPU_KEY_END

typedef struct diff_item {
    uint32_t before, after; /* its neighbours on its stream, at its first occurrence; HD_NONE */
    uint32_t grid;          /* text; HD_NONE */
    int64_t stream;         /* of most */
    uint64_t votes, in_graphs, works;
} diff_item;

typedef struct diff_entry {
    uint32_t item, sample, calls;
    int64_t time, cpu; /* cpu: of an operator or module itself, on its thread */
} diff_entry;

enum { DIFF_FACTS = 8 };
GPU_KEY
typedef struct diff_place_key {
    int64_t rank, device;
} diff_place_key;
GPU_KEY_END

struct hd_diff_side {
    char *step;
    char **paths;
    size_t path_count, path_capacity;
    gpu_texts texts;
    gpu_groups nodes, items, places;
    uint32_t *raw_of; /* by node: text that was folded; HD_NONE: several */
    size_t raw_capacity;
    diff_item *about; /* by item */
    size_t about_capacity;
    diff_sample *samples;
    size_t sample_count, sample_capacity;
    diff_entry *entries;
    size_t entry_count, entry_capacity;
    uint32_t *last_entry; /* by item */
    size_t last_capacity;
    uint32_t *runs_of; /* by place: how many recordings there are */
    size_t runs_capacity;
    uint32_t runs; /* the most of any */
    bool has_steps, lacks_steps;
    bool has_host;              /* steps on the CPU */
    uint32_t facts[DIFF_FACTS]; /* texts, of the first trace that says so; HD_NONE */
    uint64_t doubts[GPU_DOUBTS], doubts_of[GPU_DOUBTS];
};

extern const char *const diff_fact_names[DIFF_FACTS];
enum { DIFF_FACT_GPU, DIFF_FACT_WORLD, DIFF_FACT_PRODUCER = 4, DIFF_FACT_FORMAT };

static inline const diff_item_key *diff_key(const hd_diff_side *side, uint32_t item)
{
    return gpu_group_key(&side->items, item);
}
static inline const diff_node_key *diff_node(const hd_diff_side *side, uint32_t node)
{
    return gpu_group_key(&side->nodes, node);
}
static inline bool diff_is_work(uint32_t kind)
{
    return kind <= DIFF_COPYING;
}

/* ---- which samples are compared: units.c ---- */

/* Of one side. */
typedef struct diff_half {
    const hd_diff_side *side;
    uint32_t *unit_of; /* by sample; HD_NONE: it is not compared */
    uint32_t units, used, dropped;
    double *weight;          /* by unit: its samples */
    int64_t *lengths;        /* of used samples, sorted */
    uint32_t *by_length;     /* their samples */
    uint32_t *first, *order; /* entries by item: of item i order[first[i] … first[i + 1]) */
    double *sums;            /* by unit, zero between uses */
} diff_half;

typedef struct diff_units {
    diff_half half[2];
    bool paired; /* unit i of one is compared with unit i of the other */
    bool by_run; /* units are runs */
    uint64_t seed;
    uint32_t *touched; /* units of sums that are not zero */
    size_t touched_count;
} diff_units;

hd_status diff_units_init(diff_units *units, const hd_diff_side *before, const hd_diff_side *after, uint64_t seed,
                          hd_error *err);
void diff_units_deinit(diff_units *units);

/* ---- numbers.c ---- */

/* Means over units, and an interval for their change. */
typedef struct diff_change {
    double before, after, change, low, high;
    double error, freedom; /* of the interval; an error below 0: unknown, and no interval */
    bool is_known;         /* there are units enough for a verdict */
} diff_change;
/* The interval that misses with probability p. */
void diff_bound(diff_change *change, double p);

enum { DIFF_UNITS_MIN = 3 };
#define DIFF_MISS 0.01 /* how often an interval may */
/* The change from the sums, which are then reset to zero. */
diff_change diff_change_of(diff_units *units);
static inline void diff_put(diff_units *u, int side, uint32_t unit, double value)
{
    if (value == 0) return;
    if (u->half[0].sums[unit] == 0 && u->half[1].sums[unit] == 0) u->touched[u->touched_count++] = unit;
    u->half[side].sums[unit] += value;
}
/* The same of a column of all samples; DIFF_COLUMNS: of their lengths, DIFF_COLUMNS + 1: of all that is idle. */
diff_change diff_change_of_column(diff_units *units, unsigned column);
/* Medians of the steps; the interval is by a bootstrap over units. */
hd_status diff_change_of_step(diff_change *out, diff_units *units, hd_error *err);
double diff_median(const diff_half *half);
double diff_spread(const diff_half *half); /* half the distance between the quartiles */

/* ---- align.c ---- */

typedef enum diff_match {
    DIFF_SAME,
    DIFF_PLACE,
    DIFF_ORDER,
    DIFF_SHAPE,
    DIFF_RENAMED,
    DIFF_SPLIT,
    DIFF_FUSED,
    DIFF_MOVED,
    DIFF_GRAPH,
    DIFF_NEW,
    DIFF_GONE,
    DIFF_MATCHES
} diff_match;
extern const char *const diff_match_names[DIFF_MATCHES];

typedef struct diff_pair {
    uint32_t item[2], more[2]; /* HD_NONE; more: the second of two that one is made of */
    uint8_t match;
} diff_pair;

typedef struct diff_aligned {
    gpu_texts texts;
    uint32_t *text_of[2];       /* by text of the side */
    uint32_t *node_of[2];       /* by node: the other side's; HD_NONE */
    uint32_t *pair_of[2];       /* by item: the pair; HD_NONE */
    double *time[2], *calls[2]; /* by item: sums over the compared samples */
    diff_pair *pairs;
    size_t count, capacity;
} diff_aligned;

hd_status diff_align(diff_aligned *out, const diff_units *units, hd_error *err);
void diff_aligned_deinit(diff_aligned *aligned);

/* ---- common.c ---- */

/* Time of kernels that compute (without any GPU: of operators), of those that have a partner, and of those whose names
 * or operators' names agree with the partner's. Copies and collectives have the same names in all programs. */
typedef struct diff_common {
    double all[2], paired[2], named[2];
} diff_common;
diff_common diff_common_of(const diff_aligned *aligned, const diff_units *units);

/* ---- gate.c ---- */

typedef struct diff_condition {
    const char *text;
    unsigned column; /* DIFF_COLUMNS: the step, DIFF_COLUMNS + 1: idle, all causes; else a column */
    double limit;    /* percent, or ns, or a count */
    bool is_percent;
} diff_condition;

hd_status diff_condition_parse(diff_condition *out, const char *text, hd_error *err);
/* A row of the gate's table. step: the change of the step; conclusive: false: nothing can be said. */
hd_diff_gate diff_condition_judge(hd_table_builder *out, const diff_condition *condition, const diff_change *step,
                                  diff_units *units, bool conclusive);
/* "compute", "idle:host", "launches"; NULL: beyond the last. */
const char *diff_column_name(unsigned column);

/* ---- figures.c ---- */

/* Figures of one trace that rest on data which many traces lack. */
typedef struct diff_figures diff_figures;
hd_status diff_figures_new(diff_figures **out, const gpu_scope *scope, hd_error *err);
void diff_figures_free(diff_figures *figures); /* or NULL */
/* An activity of a sample; false: no memory. */
bool diff_figures_add(diff_figures *figures, diff_sample *sample, uint32_t work);
/* The samples of a device, by window of its windows; HD_NONE: none. */
void diff_figures_add_memory(const diff_figures *figures, hd_diff_side *side, const gpu_windows *windows,
                             const uint32_t *sample_of, uint32_t device);
/* A row of the table for each figure that a side has. */
void diff_figures_put(hd_table_builder *out, const diff_units *units);
/* Why a column is not known on a side; NULL: it is. */
const char *diff_unknown(const diff_half *half, unsigned column);
gpu_i128 diff_sum(const diff_half *half, unsigned column); /* over the compared samples; DIFF_COLUMNS: of lengths */

/* ---- report.c ---- */

extern const hd_report_about diff_about; /* with the columns of all tables */

/* ---- side.c ---- */

/* What builds a side; HD_NONE: no memory. A node's `raw`: its name before it was folded; HD_NONE: several. */
uint32_t diff_item_of(hd_diff_side *side, uint32_t kind, uint32_t node, uint32_t name);
uint32_t diff_node_of(hd_diff_side *side, diff_node_key key, uint32_t raw);
uint32_t diff_place_of(hd_diff_side *side, diff_place_key key);
hd_status diff_path_add(hd_diff_side *side, const char *path, hd_error *err);
/* Whether the two hold the same. */
bool diff_sides_are_same(const hd_diff_side *before, const hd_diff_side *after);

#endif
