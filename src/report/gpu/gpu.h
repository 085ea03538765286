/* gpu.h - shared by the reports about GPUs: cells, notes and shares of their tables
 *
 * The meaning of the figures is defined by the model: scope, steps, slices of the host, divided time and statistics
 * (src/model).
 */
#ifndef HD_REPORT_GPU_GPU_H
#define HD_REPORT_GPU_GPU_H

#include "heddle/analysis/graph.h"
#include "model/args/args.h"
#include "model/host/slices.h"
#include "model/scope/scope.h"
#include "model/steps/steps.h"
#include "model/sweep/sweep.h"
#include "model/trust/trust.h"
#include "report/report.h"

/* ---- what the time of a device is divided into ---- */

typedef enum gpu_part { GPU_PART_COMPUTE, GPU_PART_COMMUNICATION, GPU_PART_COPY, GPU_PART_IDLE, GPU_PARTS } gpu_part;
/* running: bits 1 << gpu_class of running activities, and 1 << GPU_CLASSES of a wait of a collective. Communication and
 * copies are exposed if no earlier class in this order runs. */
static inline gpu_part gpu_part_of(unsigned running)
{
    if (running & 1u << GPU_COMPUTE) return GPU_PART_COMPUTE;
    if (running & (1u << GPU_COMMUNICATION | 1u << GPU_CLASSES)) return GPU_PART_COMMUNICATION;
    return running & 1u << GPU_COPY ? GPU_PART_COPY : GPU_PART_IDLE;
}
/* Those bits of a stretch. */
static inline unsigned gpu_running(const gpu_stretch *stretch)
{
    unsigned running = 0;
    for (unsigned c = 0; c <= GPU_CLASSES; c++) running |= (unsigned)(stretch->running[c] > 0) << c;
    return running;
}

/* ---- cells.c ---- */

/* The name of a step, marked if it is guessed; null for HD_NONE. */
#define GPU_STEP_GUESSED " (guessed)"
void gpu_cell_step(hd_table_builder *builder, const gpu_scope *scope, uint32_t step);
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

/* ---- aggregate.c: groups of rows, declared ----
 *
 * A row is a struct that a report makes from an activity. It begins with its key, every byte of which must be
 * initialised, followed by numbers, HD_NO_NUMBER if unknown (NAN in a double). A column names the member it is filled
 * from, and how:
 *     {"name", HD_VALUE_STRING, "of the kernel", GPU_FILL(STRING, kernel_row, name)},
 *     {"total", HD_VALUE_DURATION, "sum of the durations", GPU_FILL(SUM, kernel_row, time)},
 */
typedef enum gpu_how {
    /* Of the key. uint32_t, HD_NONE: null (but for devices); the last is an int64_t. */
    GPU_RANK, /* of a device */
    GPU_DEVICE,
    GPU_PROCESS,
    GPU_STEP,
    GPU_STEP_START,
    GPU_STRING,
    GPU_TEXT,
    GPU_WORD, /* of `words` */
    GPU_NUMBER,
    /* Of the rows. */
    GPU_ROWS,    /* how many */
    GPU_UNKNOWN, /* how many do not know the number */
    /* Of the numbers that are known; null: none is. */
    GPU_SUM,
    GPU_MEAN,
    GPU_MEAN_DECIMAL, /* of a double */
    GPU_MIN,
    GPU_MAX,
    GPU_OF_MAX, /* `with`, of the first row that has the most */
    GPU_MEDIAN, /* of one number of a table; so below */
    GPU_STDDEV,
    GPU_RATIO, /* times * sum / sum of `with` */
    GPU_SHARE, /* percent of the sum over the groups of the same rank, device, process and step */
    GPU_OWN,   /* as the report itself does it */
    GPU_BITS,  /* likewise, with the bits of all numbers together instead of a sum */
} gpu_how;
typedef struct gpu_aggregate gpu_aggregate;
struct hd_report_fill {
    gpu_how how;
    size_t at, with;          /* of the row, in bytes */
    double times;             /* 0: 1 */
    const char *const *words; /* by number */
    void (*own)(hd_table_builder *builder, const gpu_aggregate *aggregate, uint32_t group,
                const hd_report_column *column);
};
#define GPU_FILL(how, row, member, ...)                                                                                \
    &(const struct hd_report_fill)                                                                                     \
    {                                                                                                                  \
        GPU_##how, offsetof(row, member), __VA_ARGS__                                                                  \
    }
#define GPU_FILL_OWN(own)                                                                                              \
    &(const struct hd_report_fill)                                                                                     \
    {                                                                                                                  \
        GPU_OWN, 0, 0, 0, NULL, own                                                                                    \
    }

/* Its process, by name and pid, where a device has no number; null. */
void gpu_cell_process(hd_table_builder *builder, const gpu_scope *scope, uint32_t device);

/* The first members of keys of activities on devices. */
GPU_KEY
typedef struct gpu_key {
    uint32_t device, step; /* step HD_NONE: none */
} gpu_key;
GPU_KEY_END
GPU_KEY
typedef struct gpu_rank_key {
    int64_t rank;
    uint32_t step, zero;
} gpu_rank_key;
GPU_KEY_END

enum { GPU_MEASURED = 12 };
struct gpu_aggregate {
    const gpu_scope *scope;
    const gpu_texts *texts;
    uint64_t large;
    void *user; /* for a report's own way to fill a column */
    const hd_report_about *about;
    const char *table;
    const hd_report_column *columns;
    gpu_groups groups;
    uint32_t last; /* group that a row was put into */
    struct gpu_measured {
        size_t at, of_max;
        bool is_decimal, is_bits;
    } measured[GPU_MEASURED + 1];
    unsigned measured_count;
    struct gpu_sum *sums; /* by group, then as measured */
    uint64_t *rows;       /* by group */
    size_t capacity, row_capacity;
    size_t valued; /* offset of the number for median or deviation; 0: none */
    gpu_value *values;
    size_t value_count, value_capacity;
    gpu_stats *stats;   /* by group */
    uint32_t *share_of; /* by group: of share_sums */
    gpu_i128 *share_sums;
};
/* For a table of a report. scope NULL: no column is of devices, steps or strings. The caller deinits it. */
void gpu_aggregate_init(gpu_aggregate *aggregate, const gpu_scope *scope, const gpu_texts *texts, size_t key_size,
                        const hd_report_about *about, const char *table);
bool gpu_aggregate_add(gpu_aggregate *aggregate, const void *row); /* false: no memory */
/* The sum of a number over a group, and over all. */
gpu_i128 gpu_aggregate_sum(const gpu_aggregate *aggregate, uint32_t group, size_t at);
gpu_i128 gpu_aggregate_total(const gpu_aggregate *aggregate, size_t at);
/* Its rows into a builder of the table, once; false: no memory. */
bool gpu_aggregate_rows(hd_table_builder *builder, gpu_aggregate *aggregate);
/* The table into the report, as gpu_add has it. */
hd_status gpu_add_aggregate(hd_report *out, gpu_aggregate *aggregate, const char *largest, hd_error *err);
/* Adds a row that is a group of its own to the table's builder; median, deviation and share are not available. */
void gpu_add_row(hd_table_builder *builder, const gpu_aggregate *aggregate, const void *row);
void gpu_aggregate_deinit(gpu_aggregate *aggregate);

/* The columns that gpu_cells_rank and gpu_cells_device fill, and of keys that begin with a rank or a gpu_key. */
#define GPU_COLUMNS_STEP(key)                                                                                          \
    {"step", HD_VALUE_STRING, "with --by step: the step's name; null outside of steps", GPU_FILL(STEP, key, step)},    \
    {                                                                                                                  \
        "step_start", HD_VALUE_TIME, "start of the step; several steps may have one name",                             \
            GPU_FILL(STEP_START, key, step)                                                                            \
    }
#define GPU_COLUMNS_RANK                                                                                               \
    {"rank", HD_VALUE_INT, "null: unknown", GPU_FILL(NUMBER, gpu_rank_key, rank)}, GPU_COLUMNS_STEP(gpu_rank_key)
#define GPU_COLUMNS_DEVICE                                                                                             \
    {"rank", HD_VALUE_INT, "null: unknown", GPU_FILL(RANK, gpu_key, device)},                                          \
        {"device", HD_VALUE_INT, "null: the process has no device number", GPU_FILL(DEVICE, gpu_key, device)},         \
        {"process", HD_VALUE_STRING, "process id, if the device has no number; else null",                             \
         GPU_FILL(PROCESS, gpu_key, device)},                                                                          \
        GPU_COLUMNS_STEP(gpu_key)
#define GPU_COLUMNS_ROW                                                                                                \
    GPU_COLUMNS_DEVICE, {"stream", HD_VALUE_INT, "null: unknown"},                                                     \
    {                                                                                                                  \
        "row", HD_VALUE_STRING, "pid and tid, as the trace has them"                                                   \
    }

/* The last column of rows whose figures may be affected by a defect of trust, and its cell. */
#define GPU_COLUMN_DOUBT_OF(...)                                                                                       \
    {                                                                                                                  \
        "doubt", HD_VALUE_STRING, "why its figures may be wrong, as the table trust says; null: no reason is known",   \
            __VA_ARGS__                                                                                                \
    }
#define GPU_COLUMN_DOUBT GPU_COLUMN_DOUBT_OF(NULL)
void gpu_cell_doubts(hd_table_builder *builder, unsigned doubts);
void gpu_cell_doubts_of(hd_table_builder *builder, const gpu_trust *trust, const gpu_scope *scope, uint32_t device,
                        unsigned figures);

/* The table of a builder into the report, its rows in the order of definitions.md: grouped by rank, device and step,
 * then by `largest` (comma-separated columns, largest first), then by all cells. largest NULL: groups are not
 * sorted. */
hd_status gpu_add(hd_report *out, hd_table_builder *builder, const char *largest, hd_error *err);
/* The same for a kept builder, which becomes NULL; NULL: no such table. */
hd_status gpu_add_kept(hd_report *out, hd_table_builder **builder, const char *largest, hd_error *err);

/* The table `notes`: missing data of the trace, with amounts; and `more`, sentences that end with NULL, or NULL. */
hd_status gpu_add_notes(hd_report *out, const hd_report_about *about, const gpu_scope *scope, const char *const *more,
                        hd_error *err);
/* How many edges of a graph the clock contradicts, by kind; false: none. */
bool gpu_note_backward(char *out, size_t size, const hd_graph *graph);
/* How many waits of queues are guessed; false: none. */
bool gpu_note_guessed(char *out, size_t size, const hd_graph *graph);
bool gpu_note_suspects(char *out, size_t size, const hd_graph *graph);
bool gpu_note_unexamined(char *out, size_t size, const hd_graph *graph);
extern const hd_report_column gpu_notes_columns[];
#define GPU_NOTES                                                                                                      \
    {                                                                                                                  \
        "notes",                                                                                                       \
            "what the figures are based on, and what the trace does not contain: figures that need that are null",     \
            gpu_notes_columns                                                                                          \
    }

#endif
