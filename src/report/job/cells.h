/* cells.h - columns of a member's table by name, for tables of all versions */
#ifndef HD_REPORT_JOB_CELLS_H
#define HD_REPORT_JOB_CELLS_H

#include "report/gpu/gpu.h"
#include "report/job/job.h"
#include "table/pack.h"

typedef struct job_wanted {
    const char *name;
    hd_value_type type; /* a column of another type is none */
} job_wanted;

enum { JOB_CELLS = 24 };
/* Columns are numbers by row: indices in packed.texts for texts, HD_NO_NUMBER for nulls. Zero-initialised. */
typedef struct job_cells {
    size_t rows;
    const int64_t *columns[JOB_CELLS]; /* by `wanted`; NULL: there is none */
    hd_packed packed;
    char *bytes;       /* that are unpacked */
    int64_t *values;   /* of all columns */
    uint32_t *numbers; /* of texts, in the gpu_texts used for all of one table; HD_NONE: not known yet */
    size_t byte_capacity, value_capacity, number_capacity;
} job_cells;

/* The caller calls job_cells_deinit. An unreadable table is empty, with a row of `lost`, which has the columns below
 * (NULL: not reported). Errors: MEMORY. */
hd_status job_cells_of(job_cells *out, const hd_job *job, size_t member, const char *table, const job_wanted *wanted,
                       size_t count, hd_table_builder *lost, hd_error *err);
/* The same without `lost`: an unreadable table has no rows. The memory in *out is reused. Errors: those of
 * hd_job_table. */
hd_status job_cells_read(job_cells *out, const hd_job *job, size_t member, const char *table, const job_wanted *wanted,
                         size_t count, hd_error *err);
void job_cells_deinit(job_cells *cells);
/* Calls each(user, …) with that table of all summaries of several jobs, in order, each with its index over all of them;
 * from several threads, one at a time, while the others read ahead. order: of the members of one job; NULL: unchanged.
 * Errors: MEMORY, and those of `each`. */
typedef hd_status job_each_cells(void *user, size_t place, const job_cells *cells, hd_error *err);
hd_status job_each_table(const hd_job *const *jobs, size_t count, const uint32_t *order, const char *table,
                         const job_wanted *wanted, size_t wanted_count, hd_table_builder *lost, job_each_cells *each,
                         void *user, hd_error *err);
#define JOB_COLUMNS_LOST                                                                                               \
    {"rank", HD_VALUE_INT, "null: unknown"}, {"file", HD_VALUE_STRING, "name of its trace"},                           \
        {"table", HD_VALUE_STRING, "the table of its summary that is missing, and is read as empty"},                  \
        {"why", HD_VALUE_STRING, "the error"},                                                                         \
    {                                                                                                                  \
        0                                                                                                              \
    }

/* Numbers, times, counts (beyond int64: the highest) and bools; HD_NO_NUMBER: null, or there is no such column. */
static inline int64_t job_int(const job_cells *cells, size_t row, int column)
{
    return cells->columns[column] ? cells->columns[column][row] : HD_NO_NUMBER;
}
/* A text as one of `texts`; HD_NONE: null. false: no memory. */
static inline bool job_text(uint32_t *out, gpu_texts *texts, const job_cells *cells, size_t row, int column)
{
    int64_t at = job_int(cells, row, column);
    *out = HD_NONE;
    if (at == HD_NO_NUMBER) return true;
    if (cells->numbers[at] == HD_NONE)
        cells->numbers[at] = gpu_text(texts, cells->packed.texts[at].data, cells->packed.texts[at].size);
    return (*out = cells->numbers[at]) != HD_NONE;
}

/* Median and 1.4826 MAD. false: no memory. */
bool job_spread(double *out_middle, double *out_spread, const double *values, size_t count);

/* ---- how fast collectives are: bandwidth.c ---- */

/* A row; the members up to `operation` are its key. */
GPU_KEY
typedef struct job_transfer {
    int64_t size, bytes;      /* HD_NO_NUMBER: unknown */
    uint32_t operation, zero; /* text */
    int64_t shortest;         /* of the durations of its ranks */
    int64_t time, waited;
} job_transfer;
GPU_KEY_END
extern const hd_report_column job_bandwidth_columns[];
void job_bandwidths_init(gpu_aggregate *all, const gpu_texts *texts);

extern const hd_report_table_about job_straggler_tables[]; /* straggler_tables.c */

#endif
