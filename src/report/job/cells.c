/* cells.c - columns of the tables of members by their names; medians */
#include "report/job/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/thread.h"

/* ---- one table ---- */

void job_cells_deinit(job_cells *cells)
{
    hd_packed_deinit(&cells->packed);
    free(cells->bytes);
    free(cells->values);
    free(cells->numbers);
}

/* Of columns with one name the first counts, of any type; `is_met`: by `wanted`. */
static bool is_wanted(const hd_packed_column *column, const job_wanted *wanted, bool *is_met)
{
    if (*is_met || strlen(wanted->name) != column->name.size ||
        memcmp(wanted->name, column->name.data, column->name.size) != 0)
        return false;
    *is_met = true;
    return column->type == wanted->type;
}

static bool unpack_column(job_cells *c, int64_t *values, const hd_packed_column *column)
{
    bool is_count = column->type == HD_VALUE_COUNT || column->type == HD_VALUE_BYTES;
    for (size_t row = 0; column->nulls && row < c->rows; row++) values[row] = HD_NO_NUMBER;
    if (!hd_packed_values(values, &c->packed, column)) return false;
    for (size_t row = 0; is_count && row < c->rows; row++)
        if (values[row] < 0 && !hd_packed_is_null(column, row)) values[row] = INT64_MAX;
    return true;
}

static bool unpack_columns(job_cells *c, const job_wanted *wanted, size_t count)
{
    bool is_met[JOB_CELLS] = {0};
    size_t kept = 0;
    for (size_t at = 0; at < c->packed.columns; at++) {
        hd_packed_column column;
        int64_t *values = c->values + kept * c->rows;
        bool is_kept = false;
        if (!hd_packed_head(&column, &c->packed)) return false;
        for (size_t i = 0; i < count; i++) {
            if (!is_wanted(&column, &wanted[i], &is_met[i])) continue;
            c->columns[i] = values;
            is_kept = true;
        }
        if (!(is_kept ? unpack_column(c, values, &column) : hd_packed_skip(&c->packed, &column))) return false;
        kept += is_kept;
    }
    return hd_byte_reader_left(&c->packed.reader) == 0;
}

/* Memory for the columns that are there. */
static bool make_room(job_cells *c, size_t count)
{
    size_t columns = count < c->packed.columns ? count : c->packed.columns;
    return hd_renew((void **)&c->values, &c->value_capacity, columns * c->rows + 1, sizeof *c->values);
}

static hd_status unpack(job_cells *c, const char *table, size_t size, const job_wanted *wanted, size_t count,
                        hd_error *err)
{
    hd_packed *p = &c->packed;
    bool fine = hd_packed_begin(p, c->bytes, size);
    c->rows = p->rows;
    if (fine && !make_room(c, count)) return HD_NOMEM(err);
    fine = fine && unpack_columns(c, wanted, count);
    if (!fine) return p->out_of_memory ? HD_NOMEM(err) : hd_packed_damaged(table, err);
    fine = hd_renew((void **)&c->numbers, &c->number_capacity, p->text_count + 1, sizeof *c->numbers);
    if (fine) memset(c->numbers, 0xff, (p->text_count + 1) * sizeof *c->numbers);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status job_cells_read(job_cells *c, const hd_job *job, size_t member, const char *table, const job_wanted *wanted,
                         size_t count, hd_error *err)
{
    size_t size;
    c->rows = 0;
    memset(c->columns, 0, sizeof c->columns);
    hd_status status = job_packed_table(&c->bytes, &c->byte_capacity, &size, job, member, table, err);
    if (status != HD_OK || !size) return status;
    status = unpack(c, table, size, wanted, count, err);
    if (status == HD_OK) return HD_OK;
    job_error_of(err, job, member);
    c->rows = 0;
    memset(c->columns, 0, sizeof c->columns);
    return status;
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
    *out = (job_cells){0};
    job_cells_read(out, job, member, table, wanted, count, &why);
    add_lost(lost, hd_job_at(job, member), table, &why);
    return why.status == HD_ERR_MEMORY ? HD_NOMEM(err) : HD_OK;
}

/* ---- all of them ---- */

enum { AHEAD = 64 };

/* Summaries are read in any order, and taken in theirs. */
typedef struct ahead {
    const hd_job *const *jobs;
    size_t count; /* of summaries */
    const uint32_t *order;
    const char *table;
    const job_wanted *wanted;
    size_t wanted_count;
    hd_table_builder *lost;
    job_each_cells *each;
    void *user;
    hd_error *err;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    size_t job, member; /* of the next to be read */
    size_t next, taken; /* places */
    bool is_taking;
    hd_status status;
    struct ahead_slot {
        bool is_read;
        const hd_job *job;
        size_t member;
        hd_error why;
        job_cells cells;
    } slots[AHEAD]; /* by place */
} ahead;

static void read_next(ahead *a)
{
    struct ahead_slot *s = &a->slots[a->next++ % AHEAD];
    while (a->member == hd_job_count(a->jobs[a->job])) a->job++, a->member = 0;
    s->job = a->jobs[a->job];
    s->member = a->order ? a->order[a->member] : a->member;
    a->member++;
    s->why = (hd_error){0};
    pthread_mutex_unlock(&a->lock);
    job_cells_read(&s->cells, s->job, s->member, a->table, a->wanted, a->wanted_count, &s->why);
    pthread_mutex_lock(&a->lock);
    s->is_read = true;
}

static void take_next(ahead *a)
{
    struct ahead_slot *s = &a->slots[a->taken % AHEAD];
    a->is_taking = true;
    pthread_mutex_unlock(&a->lock);
    add_lost(a->lost, hd_job_at(s->job, s->member), a->table, &s->why);
    hd_status status = s->why.status == HD_ERR_MEMORY ? HD_NOMEM(a->err) : HD_OK;
    if (status == HD_OK) status = a->each(a->user, a->taken, &s->cells, a->err);
    pthread_mutex_lock(&a->lock);
    a->is_taking = s->is_read = false;
    a->taken++;
    a->status = status;
}

static void read_and_take(void *state)
{
    ahead *a = state;
    pthread_mutex_lock(&a->lock);
    while (a->status == HD_OK && a->taken < a->count) {
        if (!a->is_taking && a->slots[a->taken % AHEAD].is_read)
            take_next(a);
        else if (a->next < a->count && a->next < a->taken + AHEAD)
            read_next(a);
        else {
            pthread_cond_wait(&a->changed, &a->lock);
            continue;
        }
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
}

hd_status job_each_table(const hd_job *const *jobs, size_t count, const uint32_t *order, const char *table,
                         const job_wanted *wanted, size_t wanted_count, hd_table_builder *lost, job_each_cells *each,
                         void *user, hd_error *err)
{
    ahead *a = calloc(1, sizeof *a);
    if (!a) return HD_NOMEM(err);
    *a = (ahead){.jobs = jobs,
                 .order = order,
                 .table = table,
                 .wanted = wanted,
                 .wanted_count = wanted_count,
                 .lost = lost,
                 .each = each,
                 .user = user,
                 .err = err};
    for (size_t i = 0; i < count; i++) a->count += hd_job_count(jobs[i]);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    hd_threads_run(read_and_take, a, 0, hd_thread_count(0, a->count));
    hd_status status = a->status;
    for (size_t i = 0; i < AHEAD; i++) job_cells_deinit(&a->slots[i].cells);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return status;
}

/* ---- medians ---- */

/* Of values that it sorts; 0 without values. */
static double median(double *values, size_t count)
{
    hd_sort(values, count, sizeof *values, hd_compare_double);
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
