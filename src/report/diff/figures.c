/* figures.c - memory, FLOP/s and bandwidths of steps: figures for which many traces lack data
 *
 * Each has its coverage: the share of the steps, or of the time of its activities, for which the trace has the data. A
 * figure without any is null, and has the reason. What they are: "memory", "flops" (mfu) and "communication" in
 * docs/reports/definitions.md.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "heddle/analysis/memory.h"
#include "model/collectives/collectives.h"
#include "report/diff/diff.h"
#include "report/gpu/peaks.h"

/* Bytes in use in a pool from a time on. */
typedef struct level {
    int64_t time, bytes;
} level;

struct diff_figures {
    const gpu_scope *scope;
    gpu_op_figures ops;
    gpu_collectives collectives;
    bool *is_counted; /* by operator: one of its activities was added */
    hd_memory *memory;
    level *levels;         /* pool by pool, by time */
    size_t *first, *count; /* by pool */
};

/* ---- memory ---- */

static hd_status add_level(void *user, const hd_memory_step *step, hd_error *err)
{
    diff_figures *f = user;
    uint32_t pool = f->memory->groups[step->event->group].pool;
    bool has_totals = f->memory->pools[pool].has_totals;
    (void)err;
    if (!has_totals || step->event->allocated != HD_NO_NUMBER)
        f->levels[f->first[pool] + f->count[pool]++] =
            (level){step->event->time_ns, has_totals ? step->event->allocated : step->live_bytes};
    return HD_OK;
}

static hd_status find_levels(diff_figures *f, hd_error *err)
{
    const hd_memory_options options = {.size = sizeof options, .no_stacks = true};
    HD_TRY(hd_memory_new(&f->memory, f->scope->trace, &options, err));
    const hd_memory *m = f->memory;
    f->levels = hd_large_new(m->event_count + 1, sizeof *f->levels, f->scope->large);
    f->first = calloc(m->pool_count + 1, sizeof *f->first);
    f->count = calloc(m->pool_count + 1, sizeof *f->count);
    if (!f->levels || !f->first || !f->count) return HD_NOMEM(err);
    for (size_t p = 1; p < m->pool_count; p++)
        f->first[p] = f->first[p - 1] + m->pools[p - 1].allocations + m->pools[p - 1].frees;
    return hd_memory_walk(m, add_level, f, err);
}

/* The largest level in [start, end), that at its start included; 0: none is known. */
static int64_t peak_in(const level *levels, size_t count, int64_t start, int64_t end)
{
    size_t low = 0, high = count;
    int64_t peak = 0;
    HD_PARTITION_POINT(low, high, i, levels[i].time <= start);
    for (size_t i = low ? low - 1 : 0; i < count && levels[i].time < end; i++)
        if (levels[i].bytes > peak) peak = levels[i].bytes;
    return peak;
}

enum { TYPE_CPU = 0 }; /* as PyTorch numbers types of devices */

static bool is_of(const hd_memory_pool *pool, const gpu_scope *scope, const gpu_device *device)
{
    int64_t rank = pool->process < hd_trace_track_count(scope->trace) ? scope->ranks[pool->process] : HD_NO_NUMBER;
    return pool->device_type != TYPE_CPU && pool->device != HD_NO_NUMBER && pool->device == device->device &&
           (rank == device->rank || rank == HD_NO_NUMBER || device->rank == HD_NO_NUMBER);
}

void diff_figures_add_memory(const diff_figures *f, hd_diff_side *side, const gpu_windows *windows,
                             const uint32_t *sample_of, uint32_t device)
{
    for (size_t p = 0; p < f->memory->pool_count; p++) {
        if (!is_of(&f->memory->pools[p], f->scope, &f->scope->devices[device])) continue;
        for (uint32_t w = 0; w < windows->count; w++) {
            if (sample_of[w] == HD_NONE) continue;
            uint32_t step = windows->windows[w].step;
            int64_t *most = &side->samples[sample_of[w]].columns[DIFF_MEMORY],
                    start = step == HD_NONE ? INT64_MIN : f->scope->steps[step].start,
                    end = step == HD_NONE ? INT64_MAX : f->scope->steps[step].end,
                    peak = peak_in(&f->levels[f->first[p]], f->count[p], start, end);
            if (peak > *most) *most = peak;
        }
    }
}

/* ---- FLOP and bytes ---- */

static void add_time(diff_sample *sample, unsigned column, int64_t time)
{
    sample->columns[column] = gpu_sum(sample->columns[column], time);
}

static void add_computing(diff_figures *f, diff_sample *sample, const gpu_work *work, int64_t time)
{
    uint32_t op = work->launch == HD_NONE || !f->ops.op_of ? HD_NONE : f->ops.op_of[work->launch];
    add_time(sample, DIFF_COMPUTING, time);
    if (op == HD_NONE) return;
    const gpu_op_figure *figure = &f->ops.figures[f->ops.ops.list[op].user];
    add_time(sample, DIFF_COMPUTING_KNOWN, time);
    if (!f->is_counted[op] && gpu_is_model_flop(figure->kind)) add_time(sample, DIFF_FLOP, figure->flop);
    f->is_counted[op] = true;
}

static bool add_collective(diff_figures *f, diff_sample *sample, uint32_t work, int64_t time)
{
    gpu_collective_facts facts;
    double factor;
    if (!gpu_collective_facts_of(&facts, &f->collectives, work)) return false;
    add_time(sample, DIFF_COLLECTIVES, time);
    if (facts.bytes == HD_NO_NUMBER) return true;
    add_time(sample, DIFF_COLLECTIVES_SIZED, time);
    add_time(sample, DIFF_COLLECTIVE_BYTES, facts.bytes);
    if (!time || !gpu_bus_factor(&factor, facts.collective, facts.size) || factor * (double)facts.bytes > 9e18)
        return true;
    add_time(sample, DIFF_COLLECTIVES_ON_BUS, time);
    add_time(sample, DIFF_BUS_BYTES, gpu_round(factor * (double)facts.bytes));
    return true;
}

bool diff_figures_add(diff_figures *f, diff_sample *sample, uint32_t index)
{
    const gpu_work *work = &f->scope->works[index];
    if (work->class == GPU_COMMUNICATION) return add_collective(f, sample, index, gpu_duration(work));
    if (work->class == GPU_COMPUTE && work->role == HD_ROLE_KERNEL) add_computing(f, sample, work, gpu_duration(work));
    return true;
}

hd_status diff_figures_new(diff_figures **out, const gpu_scope *scope, hd_error *err)
{
    diff_figures *f = *out = calloc(1, sizeof *f);
    if (!f) return HD_NOMEM(err);
    f->scope = scope;
    HD_TRY(gpu_op_figures_init(&f->ops, scope, err));
    HD_TRY(gpu_collectives_init(&f->collectives, scope, err));
    f->is_counted = calloc(f->ops.ops.count + 1, sizeof *f->is_counted);
    return f->is_counted ? find_levels(f, err) : HD_NOMEM(err);
}

void diff_figures_free(diff_figures *f)
{
    if (!f) return;
    gpu_op_figures_deinit(&f->ops);
    gpu_collectives_deinit(&f->collectives);
    free(f->is_counted);
    hd_memory_free(f->memory);
    hd_large_free(f->levels);
    free(f->first);
    free(f->count);
    free(f);
}

/* ---- the table ---- */

gpu_i128 diff_sum(const diff_half *half, unsigned column)
{
    gpu_i128 sum = 0;
    for (uint32_t i = 0; i < half->side->sample_count; i++) {
        const diff_sample *sample = &half->side->samples[i];
        if (half->unit_of[i] != HD_NONE) sum += column == DIFF_COLUMNS ? sample->length : sample->columns[column];
    }
    return sum;
}

const char *diff_unknown(const diff_half *half, unsigned column)
{
    switch (column) {
    case DIFF_BYTES:
        return diff_sum(half, DIFF_COPIES_SIZED) == diff_sum(half, DIFF_COPIES) ? NULL : "copies without their bytes";
    case DIFF_MEMORY:
        return diff_sum(half, DIFF_MEMORY) ? NULL : "no allocations on its GPUs (profile_memory=True of the profiler)";
    case DIFF_FLOP:
        if (!diff_sum(half, DIFF_COMPUTING)) return "no kernel computes";
        return diff_sum(half, DIFF_COMPUTING_KNOWN) ? NULL
                                                    : "operators have no shapes (record_shapes=True of the profiler)";
    case DIFF_COLLECTIVE_BYTES:
        return diff_sum(half, DIFF_COLLECTIVES_SIZED) || !diff_sum(half, DIFF_COLLECTIVES)
                   ? NULL
                   : "no collective has its bytes (In msg nelems, dtype)";
    case DIFF_BUS_BYTES:
        if (!diff_sum(half, DIFF_COLLECTIVES)) return "no collectives";
        return diff_sum(half, DIFF_COLLECTIVES_ON_BUS) ? NULL : "no collective has its bytes and the size of its group";
    default: return NULL;
    }
}

/* A figure: column / divisor / scale. */
typedef struct figure {
    const char *name, *unit;
    unsigned column, divisor; /* of columns; DIFF_COUNTS: how many steps, DIFF_COLUMNS: their time */
    double scale;
    unsigned known, of; /* its coverage; DIFF_COUNTS: steps with and without */
} figure;

static const figure figures[] = {
    {"memory_peak", "MB", DIFF_MEMORY, DIFF_COUNTS, 1e6, DIFF_COUNTS, DIFF_COUNTS},
    {"flop", "GFLOP", DIFF_FLOP, DIFF_COUNTS, 1e9, DIFF_COMPUTING_KNOWN, DIFF_COMPUTING},
    {"tflops", "TFLOP/s", DIFF_FLOP, DIFF_COLUMNS, 1e3, DIFF_COMPUTING_KNOWN, DIFF_COMPUTING},
    {"collective_bytes", "MB", DIFF_COLLECTIVE_BYTES, DIFF_COUNTS, 1e6, DIFF_COLLECTIVES_SIZED, DIFF_COLLECTIVES},
    {"bus_bandwidth", "GB/s", DIFF_BUS_BYTES, DIFF_COLLECTIVES_ON_BUS, 1, DIFF_COLLECTIVES_ON_BUS, DIFF_COLLECTIVES},
};

static double share_of_steps(const diff_half *half)
{
    uint32_t with = 0;
    for (uint32_t i = 0; i < half->side->sample_count; i++)
        with += half->unit_of[i] != HD_NONE && half->side->samples[i].columns[DIFF_MEMORY] > 0;
    return half->used ? 100.0 * with / half->used : 0;
}

static double coverage_of(const diff_half *half, const figure *f)
{
    if (f->of == DIFF_COUNTS) return share_of_steps(half);
    gpu_i128 of = diff_sum(half, f->of);
    return of ? 100 * (double)diff_sum(half, f->known) / (double)of : 100; /* none of it: all are known */
}

static void put_note(hd_table_builder *out, const char *const why[2], const double coverage[2])
{
    char text[400];
    int side = why[0] ? 0 : 1;
    if (why[side])
        snprintf(text, sizeof text, "not known%s%s: %s", why[!side] ? "" : " ", why[!side] ? "" : diff_side_names[side],
                 why[side]);
    else
        snprintf(text, sizeof text, "coverage is below %d %%", GPU_COVERAGE_LEAST);
    bool is_low = coverage[0] < GPU_COVERAGE_LEAST || coverage[1] < GPU_COVERAGE_LEAST;
    hd_table_add_text(out, why[side] || is_low ? text : NULL);
}

static void put_figure(hd_table_builder *out, const diff_half half[2], const figure *f)
{
    const char *why[2] = {diff_unknown(&half[0], f->column), diff_unknown(&half[1], f->column)};
    double value[2], coverage[2];
    for (int h = 0; h < 2; h++) {
        double divisor = f->divisor == DIFF_COUNTS ? half[h].used : (double)diff_sum(&half[h], f->divisor);
        value[h] = divisor > 0 ? (double)diff_sum(&half[h], f->column) / divisor / f->scale : 0;
        coverage[h] = coverage_of(&half[h], f);
    }
    hd_table_add_text(out, f->name);
    hd_table_add_text(out, f->unit);
    for (int h = 0; h < 2; h++) gpu_cell_decimal(out, value[h], !why[h]);
    gpu_cell_decimal(out, 100 * (value[1] - value[0]) / value[0], !why[0] && !why[1] && value[0] > 0);
    for (int h = 0; h < 2; h++) gpu_cell_decimal(out, coverage[h], !why[h]);
    put_note(out, why, coverage);
}

void diff_figures_put(hd_table_builder *out, const diff_units *u)
{
    bool communicates = diff_sum(&u->half[0], DIFF_COLLECTIVES) || diff_sum(&u->half[1], DIFF_COLLECTIVES);
    if (!u->half[0].used || !u->half[1].used || u->half[0].side->has_host || u->half[1].side->has_host) return;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (communicates || figures[i].of != DIFF_COLLECTIVES) put_figure(out, u->half, &figures[i]);
}
