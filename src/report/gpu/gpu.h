/* gpu.h - what the reports about GPUs share: cells, notes and shares of the tables that they fill
 *
 * What the figures mean is the model's: scope, steps, slices of the host, divided time and statistics (src/model).
 */
#ifndef HD_REPORT_GPU_GPU_H
#define HD_REPORT_GPU_GPU_H

#include "heddle/graph.h"
#include "model/args/args.h"
#include "model/host/slices.h"
#include "model/scope/scope.h"
#include "model/steps/steps.h"
#include "model/sweep/sweep.h"
#include "model/trust/trust.h"
#include "report/report.h"

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
bool gpu_note_suspects(char *out, size_t size, const hd_graph *graph);
extern const hd_report_column gpu_notes_columns[];
#define GPU_NOTES                                                                                                      \
    {                                                                                                                  \
        "notes", "what this trace does not tell, and so is null above", gpu_notes_columns                              \
    }

/* What of the bytes of a collective, "AllReduce", goes over each link of the bus, as nccl-tests count it. false: not
 * known. */
bool gpu_bus_factor(double *out, hd_string collective, int64_t ranks); /* communication.c */

#endif
