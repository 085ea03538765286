/* aggregate.c - groups of rows, and the values of table columns */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "report/gpu/gpu.h"

struct gpu_sum {
    union {
        gpu_i128 sum;
        double decimals; /* of doubles */
    };
    int64_t min, max, first_of_max;
    uint64_t known;
};

/* Sums for shares are by the device's cells, not by the device: two devices may have equal cells. */
GPU_KEY
typedef struct share_key {
    int64_t rank, device;
    uint32_t process, step;
} share_key;
GPU_KEY_END

/* ---- what is measured ---- */

/* measured_count: that is none. */
static unsigned measured_at(const gpu_aggregate *a, size_t at)
{
    unsigned i = 0;
    while (i < a->measured_count && a->measured[i].at != at) i++;
    return i;
}

static void measure(gpu_aggregate *a, size_t at, const struct hd_report_fill *fill)
{
    struct gpu_measured *m = &a->measured[measured_at(a, at)];
    if (fill->how < GPU_UNKNOWN || at < a->groups.key_size) return; /* it is not a sum, and may be no int64_t */
    if (m == &a->measured[a->measured_count]) {
        assert(a->measured_count < GPU_MEASURED);
        a->measured_count++;
        *m = (struct gpu_measured){.at = at};
    }
    if (fill->how == GPU_MEAN_DECIMAL) m->is_decimal = true;
    if (fill->how == GPU_BITS) m->is_bits = true;
    if (fill->how == GPU_OF_MAX) m->of_max = fill->with;
    if (fill->how == GPU_MEDIAN || fill->how == GPU_STDDEV) a->valued = at;
}

void gpu_aggregate_init(gpu_aggregate *a, const gpu_scope *scope, const gpu_texts *texts, size_t key_size,
                        const hd_report_about *about, const char *table)
{
    *a = (gpu_aggregate){.scope = scope,
                         .texts = texts,
                         .about = about,
                         .table = table,
                         .groups.key_size = key_size,
                         .large = scope ? scope->large : UINT64_MAX};
    const hd_report_table_about *t = about->tables;
    while (strcmp(t->name, table) != 0) t++;
    a->columns = t->columns;
    for (const hd_report_column *c = a->columns; c->name; c++) {
        if (!c->fill) continue;
        measure(a, c->fill->at, c->fill);
        if (c->fill->how == GPU_RATIO) measure(a, c->fill->with, c->fill);
    }
}

static void add_to(struct gpu_sum *sum, const struct gpu_measured *m, const char *row)
{
    int64_t value, of_max;
    if (m->is_decimal) {
        double decimal;
        memcpy(&decimal, row + m->at, sizeof decimal);
        if (isnan(decimal)) return;
        sum->decimals += decimal;
        sum->known++;
        return;
    }
    memcpy(&value, row + m->at, sizeof value);
    if (value == HD_NO_NUMBER) return;
    sum->sum = m->is_bits ? sum->sum | value : sum->sum + value;
    if (!sum->known || value < sum->min) sum->min = value;
    if (!sum->known || value > sum->max) {
        memcpy(&of_max, row + m->of_max, sizeof of_max);
        sum->max = value;
        sum->first_of_max = of_max;
    }
    sum->known++;
}

bool gpu_aggregate_add(gpu_aggregate *a, const void *row)
{
    uint32_t count = a->groups.count, group = gpu_group_near(&a->groups, &a->last, row);
    size_t bytes = a->measured_count * sizeof *a->sums;
    if (group == HD_NONE || !hd_grow((void **)&a->rows, &a->row_capacity, group, sizeof *a->rows) ||
        !hd_grow((void **)&a->sums, &a->capacity, group, bytes))
        return false;
    struct gpu_sum *sums = a->sums + (size_t)group * a->measured_count;
    if (group == count) {
        memset(sums, 0, bytes);
        a->rows[group] = 0;
    }
    for (unsigned i = 0; i < a->measured_count; i++) add_to(&sums[i], &a->measured[i], row);
    a->rows[group]++;
    int64_t value = HD_NO_NUMBER;
    if (a->valued) memcpy(&value, (const char *)row + a->valued, sizeof value);
    if (value == HD_NO_NUMBER) return true;
    if (!a->values && a->scope) { /* nearly always enough */
        a->value_capacity = a->scope->counted + 1;
        a->values = hd_large_new(a->value_capacity, sizeof *a->values, a->large);
        if (!a->values) return false;
    }
    if (!hd_large_grow((void **)&a->values, &a->value_capacity, a->value_count, sizeof *a->values, a->large))
        return false;
    a->values[a->value_count++] = (gpu_value){value, group};
    return true;
}

/* Zeros where nothing is measured at `at`. */
static const struct gpu_sum *sum_of(const gpu_aggregate *a, uint32_t group, size_t at)
{
    static const struct gpu_sum none = {0};
    unsigned measured = measured_at(a, at);
    return measured < a->measured_count ? &a->sums[(size_t)group * a->measured_count + measured] : &none;
}

gpu_i128 gpu_aggregate_sum(const gpu_aggregate *a, uint32_t group, size_t at)
{
    return sum_of(a, group, at)->sum;
}

gpu_i128 gpu_aggregate_total(const gpu_aggregate *a, size_t at)
{
    gpu_i128 total = 0;
    for (uint32_t g = 0; g < a->groups.count; g++) total += sum_of(a, g, at)->sum;
    return total;
}

/* ---- cells ---- */

static void add_number(hd_table_builder *b, const hd_report_column *c, int64_t value, bool is_known)
{
    if (c->type == HD_VALUE_COUNT || c->type == HD_VALUE_BYTES)
        gpu_cell_count(b, (uint64_t)value, is_known);
    else
        gpu_cell_time(b, value, is_known);
}

/* Of the key. */
static void add_part(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *c)
{
    const gpu_scope *s = a->scope;
    const char *place = (const char *)gpu_group_key(&a->groups, group) + c->fill->at;
    int64_t whole;
    uint32_t part;
    memcpy(&part, place, sizeof part);
    switch (c->fill->how) {
    case GPU_RANK: report_cell_int(b, s->devices[part].rank); break;
    case GPU_DEVICE: report_cell_int(b, s->devices[part].device); break;
    case GPU_PROCESS: gpu_cell_process(b, s, part); break;
    case GPU_STEP: gpu_cell_step(b, s, part); break;
    case GPU_STEP_START: report_cell_int(b, part == HD_NONE ? HD_NO_NUMBER : s->steps[part].start); break;
    case GPU_STRING: report_cell_string(b, s->trace, part == HD_NONE ? HD_STRING_NONE : part); break;
    case GPU_TEXT: gpu_cell_text(b, a->texts, part); break;
    case GPU_WORD: hd_table_add_text(b, part == HD_NONE ? NULL : c->fill->words[part]); break;
    default: memcpy(&whole, place, sizeof whole); add_number(b, c, whole, whole != HD_NO_NUMBER);
    }
}

static void add_cell(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *c)
{
    const struct hd_report_fill *f = c->fill;
    const struct gpu_sum *of = sum_of(a, group, f->at);
    bool known = of->known > 0;
    switch (f->how) {
    case GPU_ROWS: hd_table_add_count(b, a->rows[group]); break;
    case GPU_UNKNOWN: hd_table_add_count(b, a->rows[group] - of->known); break;
    case GPU_SUM: add_number(b, c, gpu_whole(of->sum), known); break;
    case GPU_MEAN: add_number(b, c, known ? gpu_nearest(of->sum, of->known) : 0, known); break;
    case GPU_MEAN_DECIMAL: gpu_cell_decimal(b, of->decimals / (double)of->known, known); break;
    case GPU_MIN: add_number(b, c, of->min, known); break;
    case GPU_MAX: add_number(b, c, of->max, known); break;
    case GPU_OF_MAX: add_number(b, c, of->first_of_max, known); break;
    case GPU_MEDIAN: add_number(b, c, a->stats[group].median, known); break;
    case GPU_STDDEV: add_number(b, c, a->stats[group].stddev, of->known > 1); break;
    case GPU_RATIO: gpu_cell_ratio(b, of->sum, sum_of(a, group, f->with)->sum, f->times != 0 ? f->times : 1); break;
    case GPU_SHARE: gpu_cell_ratio(b, of->sum, known ? a->share_sums[a->share_of[group]] : 0, 100); break;
    case GPU_BITS:
    case GPU_OWN: f->own(b, a, group, c); break;
    default: add_part(b, a, group, c);
    }
}

/* ---- tables ---- */

static bool sum_shares(gpu_aggregate *a)
{
    const hd_report_column *c = a->columns;
    gpu_groups places = {.key_size = sizeof(share_key)};
    while (c->name && !(c->fill && c->fill->how == GPU_SHARE)) c++;
    if (!c->name) return true;
    a->share_of = calloc((size_t)a->groups.count + 1, sizeof *a->share_of);
    a->share_sums = calloc((size_t)a->groups.count + 1, sizeof *a->share_sums);
    bool fine = a->share_of && a->share_sums;
    for (uint32_t g = 0; fine && g < a->groups.count; g++) {
        const gpu_key *key = gpu_group_key(&a->groups, g);
        const gpu_device *device = &a->scope->devices[key->device];
        const share_key place = {device->rank, device->device, device->process, key->step};
        a->share_of[g] = gpu_group(&places, &place);
        fine = a->share_of[g] != HD_NONE;
        if (fine) a->share_sums[a->share_of[g]] += sum_of(a, g, c->fill->at)->sum;
    }
    gpu_groups_deinit(&places);
    return fine;
}

static bool find_stats(gpu_aggregate *a)
{
    if (!a->valued) return true;
    a->stats = hd_large_new((size_t)a->groups.count + 1, sizeof *a->stats, a->large);
    return a->stats && gpu_stats_of(a->stats, a->groups.count, a->values, a->value_count, a->large);
}

static void add_cells(hd_table_builder *b, const gpu_aggregate *a, uint32_t group)
{
    for (const hd_report_column *c = a->columns; c->name; c++) add_cell(b, a, group, c);
}

void gpu_add_row(hd_table_builder *b, const gpu_aggregate *a, const void *row)
{
    struct gpu_sum sums[GPU_MEASURED] = {0};
    uint64_t rows = 1;
    gpu_aggregate one = *a;
    one.groups.keys = (char *)row;
    one.sums = sums;
    one.rows = &rows;
    for (unsigned i = 0; i < a->measured_count; i++) add_to(&sums[i], &a->measured[i], row);
    add_cells(b, &one, 0);
}

bool gpu_aggregate_rows(hd_table_builder *b, gpu_aggregate *a)
{
    if (!sum_shares(a) || !find_stats(a)) return false;
    for (uint32_t g = 0; g < a->groups.count; g++) add_cells(b, a, g);
    return true;
}

hd_status gpu_add_aggregate(hd_report *out, gpu_aggregate *a, const char *largest, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, a->about, a->table, err));
    if (gpu_aggregate_rows(b, a)) return gpu_add(out, b, largest, err);
    hd_table_builder_free(b);
    return HD_NOMEM(err);
}

void gpu_aggregate_deinit(gpu_aggregate *a)
{
    gpu_groups_deinit(&a->groups);
    free(a->sums);
    free(a->rows);
    free(a->share_of);
    free(a->share_sums);
    hd_large_free(a->values);
    hd_large_free(a->stats);
}
