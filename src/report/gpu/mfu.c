/* mfu.c - model FLOP utilisation: the FLOP of a step relative to the peak of its GPUs over its window */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "report/gpu/peaks.h"

typedef struct step_key {
    int64_t rank;
    uint64_t step;
} step_key;

bool gpu_mfu_add(gpu_mfu *mfu, int64_t rank, uint32_t step, const gpu_shape_figures *work, uint64_t calls,
                 const gpu_roofline *roofline)
{
    const step_key key = {rank, step};
    if (!gpu_is_model_flop(work->kind)) return true;
    mfu->keys.key_size = sizeof key;
    uint32_t count = mfu->keys.count, group = gpu_group(&mfu->keys, &key);
    if (group == HD_NONE || !hd_grow((void **)&mfu->sums, &mfu->capacity, group, sizeof *mfu->sums)) return false;
    struct gpu_mfu_sum *sum = &mfu->sums[group];
    if (group == count) *sum = (struct gpu_mfu_sum){0};
    sum->flop += (gpu_i128)work->flop * calls;
    sum->ideal_ns += roofline->compute_ns * (double)calls;
    sum->is_unknown |= roofline->compute_ns < 0;
    return true;
}

/* Adds the windows of a device to the sums of the first `count` matching keys. */
static hd_status add_windows(gpu_mfu *mfu, uint32_t count, const gpu_scope *scope, uint32_t device, hd_error *err)
{
    gpu_windows windows;
    hd_status status = gpu_windows_init(&windows, scope, device, err);
    if (status != HD_OK) return status;
    for (uint32_t i = 0; i < windows.count && status == HD_OK; i++) {
        const step_key key = {scope->devices[device].rank, windows.windows[i].step};
        uint32_t group = gpu_group(&mfu->keys, &key);
        if (group == HD_NONE) status = HD_NOMEM(err);
        if (group >= count || !windows.windows[i].length) continue;
        mfu->sums[group].span += windows.windows[i].length;
        mfu->sums[group].devices++;
    }
    gpu_windows_deinit(&windows);
    return status;
}

/* For the rows: the time of computing kernels, and the part of it from operators with known FLOP. */
static bool add_coverage(gpu_mfu *mfu, const gpu_scope *scope, const gpu_op_figures *ops)
{
    for (size_t i = 0; i < scope->launches->work_count; i++) {
        const gpu_work *work = &scope->works[i];
        if (work->device == HD_NONE || !work->is_listed || work->role != HD_ROLE_KERNEL || work->class != GPU_COMPUTE)
            continue;
        const step_key key = {scope->devices[work->device].rank, gpu_step_of(scope, work)};
        uint32_t group = gpu_group(&mfu->keys, &key);
        if (group == HD_NONE) return false;
        if (group >= mfu->rows) continue;
        mfu->sums[group].compute += gpu_duration(work);
        if (work->launch != HD_NONE && ops->op_of[work->launch] != HD_NONE)
            mfu->sums[group].known += gpu_duration(work);
    }
    return true;
}

static bool is_lower_bound(const struct gpu_mfu_sum *sum)
{
    return sum->known * 100 < sum->compute * GPU_COVERAGE_LEAST;
}

bool gpu_mfu_note(char *out, size_t size, const gpu_mfu *mfu)
{
    struct gpu_mfu_sum all = {0};
    bool is_lower = false;
    for (uint32_t i = 0; i < mfu->rows; i++) {
        all.compute += mfu->sums[i].compute;
        all.known += mfu->sums[i].known;
        is_lower |= is_lower_bound(&mfu->sums[i]);
    }
    if (all.known >= all.compute) return false;
    snprintf(out, size, "FLOP are known for %.1f %% of the GPU time of kernels that compute%s",
             100 * (double)all.known / (double)all.compute,
             is_lower ? ": tflops and mfu are lower bounds where it is less than 90 %" : "");
    return true;
}

hd_status gpu_mfu_add_table(hd_report *out, gpu_mfu *mfu, const gpu_scope *scope, const gpu_op_figures *ops,
                            hd_error *err)
{
    hd_table_builder *t;
    uint32_t count = mfu->rows = mfu->keys.count;
    if (count && !add_coverage(mfu, scope, ops)) return HD_NOMEM(err);
    for (uint32_t d = 0; count && d < scope->device_count; d++) HD_TRY(add_windows(mfu, count, scope, d, err));
    HD_TRY(report_builder(&t, &report_flops_about, "mfu", err));
    for (uint32_t g = 0; g < count; g++) {
        const step_key *key = gpu_group_key(&mfu->keys, g);
        const struct gpu_mfu_sum *sum = &mfu->sums[g];
        gpu_cells_rank(t, scope, key->rank, (uint32_t)key->step);
        hd_table_add_count(t, sum->devices);
        hd_table_add_int(t, gpu_whole(sum->span));
        hd_table_add_count(t, (uint64_t)gpu_whole(sum->flop));
        gpu_cell_ratio(t, sum->flop, sum->span * 1000, 1);
        gpu_cell_decimal(t, 100 * sum->ideal_ns / (double)sum->span, !sum->is_unknown && sum->span > 0);
        hd_table_add_int(t, gpu_whole(sum->compute));
        gpu_cell_ratio(t, sum->known, sum->compute, 100);
        hd_table_add_bool(t, is_lower_bound(sum));
    }
    return gpu_add(out, t, NULL, err);
}

void gpu_mfu_deinit(gpu_mfu *mfu)
{
    gpu_groups_deinit(&mfu->keys);
    free(mfu->sums);
    *mfu = (gpu_mfu){0};
}

const hd_report_column gpu_mfu_columns[] = {
    GPU_COLUMNS_RANK,
    {"devices", HD_VALUE_COUNT, "devices that the rank uses there"},
    {"span", HD_VALUE_DURATION, "of their windows, as report breakdown has them, summed up"},
    {"flop", HD_VALUE_COUNT, "of matrix products, attention and convolutions"},
    {"tflops", HD_VALUE_DECIMAL, "TFLOP/s of a device, over the whole span"},
    {"mfu", HD_VALUE_DECIMAL, "the least time for these FLOP at peak rate, in percent of the span"},
    {"compute_time", HD_VALUE_DURATION, "of the kernels that compute"},
    {"coverage", HD_VALUE_DECIMAL, "percent of it in operators whose FLOP are known"},
    {"lower_bound", HD_VALUE_BOOL, "yes: coverage is below 90 %, tflops and mfu would be higher"},
    {0},
};
