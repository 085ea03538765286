/* whatif.h - computes the speed of a training job without stragglers, from a table of its operations
 *
 * ops.c reads the table; model.c finds the dependencies of each operation, from one step of one data-parallel rank;
 * simulate.c computes when each operation ends (after its dependencies; a collective ends for its whole group
 * together); about.c makes the tables. docs/reports/what-if.md defines every figure.
 */
#ifndef HD_REPORT_WHATIF_WHATIF_H
#define HD_REPORT_WHATIF_WHATIF_H

#include "report/report.h"

typedef enum whatif_kind {
    WHATIF_FORWARD,
    WHATIF_BACKWARD,
    WHATIF_GC,
    WHATIF_OPTIMIZER,
    WHATIF_COMPUTE_KINDS, /* these have fixed durations; the rest wait for their group, then transfer */
    WHATIF_FORWARD_SEND = WHATIF_COMPUTE_KINDS,
    WHATIF_FORWARD_RECV,
    WHATIF_BACKWARD_SEND,
    WHATIF_BACKWARD_RECV,
    WHATIF_PARAMS_GATHER,
    WHATIF_LAYERNORM_REDUCE,
    WHATIF_EMBEDDING_REDUCE,
    WHATIF_GRADS_SCATTER,
    WHATIF_CLIP,
    WHATIF_KINDS
} whatif_kind;

const char *whatif_kind_name(unsigned kind);

/* ---- the table ---- */

typedef enum whatif_loss {
    WHATIF_BAD_NUMBER,
    WHATIF_UNKNOWN_KIND,
    WHATIF_NEGATIVE,
    WHATIF_DOUBLE,
    WHATIF_ODD_STEP,
    WHATIF_DAMAGE,
    WHATIF_LOSSES
} whatif_loss;

typedef struct whatif_op {
    int64_t step, sequence, start_ns, duration_ns;
    uint64_t row; /* of the table, from 1 on, without its head */
    int32_t dp, stage;
    int32_t chunk, model_chunk; /* of the layers, in its stage and in the model; negative: unknown */
    uint8_t kind;
} whatif_op;

/* The operations of whole steps by (step, dp, stage, kind, order): each dp rank of a step has the same `node_count`
 * operations, so that operation n of dp rank d in step s is ops[(s * dp_count + d) * node_count + n]. */
typedef struct whatif_ops {
    whatif_op *ops;
    size_t count, step_count, dp_count, node_count, stage_count;
    uint64_t rows, losses[WHATIF_LOSSES], first_rows[WHATIF_LOSSES];
} whatif_ops;

/* Deinit it also after a failure. Errors: FORMAT, those of hd_input_open and hd_csv_next, MEMORY. */
hd_status whatif_ops_read(whatif_ops *out, const char *path, hd_error *err);
void whatif_ops_deinit(whatif_ops *ops);

/* ---- the model ---- */

/* The dependencies of node n (an operation of any dp rank in any step): deps[dep_first[n] … dep_first[n + 1]). Members
 * of a group start the transfer together: within a dp rank, or over all of them. Groups are in topological order. */
typedef struct whatif_model {
    size_t node_count, group_count;
    uint32_t *dep_first, *deps;
    uint32_t *group_first, *members;
    bool *is_over_dps; /* of a group */
} whatif_model;

/* Deinit it also after a failure. Errors: FORMAT: the operations are not those of such a pipeline, or wait for each
 * other. */
hd_status whatif_model_make(whatif_model *out, const whatif_ops *ops, hd_error *err);
void whatif_model_deinit(whatif_model *model);

/* ---- the simulation ---- */

/* Operations that keep their measured time; the rest takes the ideal time of its kind. */
typedef bool whatif_keeps(const whatif_op *op, const void *which);

typedef struct whatif_job {
    whatif_ops ops;
    whatif_model model;
    double *work_ns, *delay_ns; /* of each operation: duration or transfer, and launch delay, at least 0 */
    double ideal_ns[WHATIF_KINDS];
    double *ends;  /* for whatif_simulate: of the operations of a step */
    uint8_t *kept; /* likewise */
} whatif_job;

/* Deinit it also on failure. */
hd_status whatif_job_open(whatif_job *out, const char *path, hd_error *err);
void whatif_job_deinit(whatif_job *job);

/* The duration of each step, into out[step_count]; returns their mean. keeps NULL: all are kept. */
double whatif_simulate(double *out, whatif_job *job, bool with_delays, whatif_keeps *keeps, const void *which);
/* How long each step took. */
double whatif_measure(double *out, const whatif_job *job);

#endif
