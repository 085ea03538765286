/* cells.c - columns of a member's table by their names; medians */
#include "report/job/cells.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"

/* Takes the table; NULL: none. */
static void find_cells(job_cells *out, hd_table *table, const job_wanted *wanted, size_t count)
{
    *out = (job_cells){.table = table, .rows = table ? hd_table_row_count(table) : 0};
    for (size_t i = 0; table && i < count; i++) {
        size_t at = hd_table_find_column(table, wanted[i].name);
        if (at != SIZE_MAX && hd_table_get_column(table, at)->type != wanted[i].type) at = SIZE_MAX;
        out->columns[i] = at;
    }
}

static void add_lost(hd_table_builder *lost, const hd_job_member *about, const char *table, const hd_error *why)
{
    if (!lost || why->status == HD_OK) return;
    report_cell_int(lost, about->rank);
    hd_table_add_string(lost, about->file.data ? about->file.data : "", about->file.size);
    hd_table_add_text(lost, table);
    hd_table_add_text(lost, why->message);
}

hd_status job_cells_of(job_cells *out, const hd_job *job, size_t member, const char *table, const job_wanted *wanted,
                       size_t count, hd_table_builder *lost, hd_error *err)
{
    hd_error why = {0};
    hd_table *found;
    hd_status status = hd_job_table(&found, job, member, table, &why);
    find_cells(out, found, wanted, count);
    add_lost(lost, hd_job_at(job, member), table, &why);
    return status == HD_ERR_MEMORY ? HD_NOMEM(err) : HD_OK;
}

enum { AHEAD = 64 };

typedef struct ahead {
    const hd_job *job;
    const char *name;
    size_t first, count;
    atomic_size_t next;
    hd_table *tables[AHEAD];
    hd_error why[AHEAD];
} ahead;

static void read_ahead(void *state)
{
    ahead *a = state;
    for (size_t i; (i = atomic_fetch_add(&a->next, 1)) < a->count;)
        hd_job_table(&a->tables[i], a->job, a->first + i, a->name, &a->why[i]);
}

hd_status job_each_table(const hd_job *const *jobs, size_t count, const char *table, const job_wanted *wanted,
                         size_t wanted_count, hd_table_builder *lost, job_each_cells *each, void *user, hd_error *err)
{
    ahead *a = calloc(1, sizeof *a);
    hd_status status = a ? HD_OK : HD_NOMEM(err);
    size_t place = 0;
    for (size_t k = 0; k < count && status == HD_OK; k++) {
        size_t members = hd_job_count(jobs[k]);
        for (size_t first = 0; first < members && status == HD_OK; first += AHEAD) {
            *a = (ahead){.job = jobs[k], .name = table, .first = first};
            a->count = members - first < AHEAD ? members - first : AHEAD;
            hd_threads_run(read_ahead, a, 0, hd_thread_count(0, a->count));
            for (size_t i = 0; i < a->count; i++) {
                job_cells cells;
                find_cells(&cells, a->tables[i], wanted, wanted_count);
                add_lost(lost, hd_job_at(jobs[k], first + i), table, &a->why[i]);
                if (status == HD_OK && a->why[i].status == HD_ERR_MEMORY) status = HD_NOMEM(err);
                if (status == HD_OK) status = each(user, place++, &cells, err);
                hd_table_free(cells.table);
            }
        }
    }
    free(a);
    return status;
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
