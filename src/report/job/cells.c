/* cells.c - columns of a member's table by their names; medians */
#include "report/job/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

hd_status job_cells_of(job_cells *out, const hd_job *job, size_t member, const char *table, const job_wanted *wanted,
                       size_t count, hd_table_builder *lost, hd_error *err)
{
    hd_error why = {0};
    *out = (job_cells){0};
    hd_status status = hd_job_table(&out->table, job, member, table, &why);
    if (status == HD_ERR_MEMORY) return HD_NOMEM(err);
    if (status != HD_OK && lost) {
        const hd_job_member *about = hd_job_at(job, member);
        report_cell_int(lost, about->rank);
        hd_table_add_string(lost, about->file.data ? about->file.data : "", about->file.size);
        hd_table_add_text(lost, table);
        hd_table_add_text(lost, why.message);
    }
    if (!out->table) return HD_OK;
    out->rows = hd_table_row_count(out->table);
    for (size_t i = 0; i < count; i++) {
        size_t at = hd_table_find_column(out->table, wanted[i].name);
        if (at != SIZE_MAX && hd_table_get_column(out->table, at)->type != wanted[i].type) at = SIZE_MAX;
        out->columns[i] = at;
    }
    return HD_OK;
}

int64_t job_int(const job_cells *cells, size_t row, int column)
{
    size_t at = cells->columns[column];
    if (at == SIZE_MAX || hd_table_is_null(cells->table, row, at)) return HD_NO_NUMBER;
    switch (hd_table_get_column(cells->table, at)->type) {
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES: {
        uint64_t count = hd_table_get_count(cells->table, row, at);
        return count > INT64_MAX ? INT64_MAX : (int64_t)count;
    }
    case HD_VALUE_BOOL: return hd_table_get_bool(cells->table, row, at);
    default: return hd_table_get_int(cells->table, row, at);
    }
}

bool job_text(uint32_t *out, gpu_texts *texts, const job_cells *cells, size_t row, int column)
{
    size_t at = cells->columns[column], size;
    *out = HD_NONE;
    if (at == SIZE_MAX || hd_table_is_null(cells->table, row, at)) return true;
    const char *text = hd_table_get_string(&size, cells->table, row, at);
    *out = gpu_text(texts, text, size);
    return *out != HD_NONE;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Of values that it sorts; 0 of none. */
static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : 0;
}

bool job_spread(double *out_middle, double *out_spread, const double *values, size_t count)
{
    double *copy = malloc((count + 1) * sizeof *copy);
    if (!copy) return false;
    if (count) memcpy(copy, values, count * sizeof *copy);
    *out_middle = median(copy, count);
    for (size_t i = 0; i < count; i++) copy[i] = fabs(copy[i] - *out_middle);
    *out_spread = 1.4826 * median(copy, count);
    free(copy);
    return true;
}
