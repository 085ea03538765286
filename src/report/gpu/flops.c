/* flops.c - computation and data movement of operators, and their rates: see "flops" in docs/reports/definitions.md
 *
 * op_figures.c gives the figures of operators, peaks.c the peaks of their GPU, mfu.c sums up steps.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "report/coverage.h"
#include "report/gpu/op_figures.h"
#include "report/gpu/peaks.h"

typedef struct flops_options {
    gpu_options gpu;
    const char *model;
    bool tf32;
} flops_options;

/* A row of the table. */
GPU_KEY
typedef struct key {
    int64_t rank, flop, bytes;
    uint32_t step, name, dims, dtype, kind, zero;
} key;
GPU_KEY_END

typedef struct sum {
    uint64_t calls;
    gpu_i128 time;
} sum;

typedef struct flops {
    gpu_scope scope;
    gpu_peaks peaks;
    gpu_mfu mfu;
    gpu_op_figures of;
    int64_t *op_time;            /* by op; -1: it has no activity */
    report_covered covered, own; /* own: by the file of --ops */
    gpu_groups keys;
    sum *sums; /* by key */
    size_t sum_capacity;
    hd_table_builder *table;
} flops;

/* ---- time ---- */

static bool sum_work(flops *f)
{
    const gpu_scope *s = &f->scope;
    f->op_time = hd_large_new(f->of.ops.count + 1, sizeof *f->op_time, s->large);
    if (!f->op_time) return false;
    for (size_t i = 0; i < f->of.ops.count; i++) f->op_time[i] = -1;
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (work->device == HD_NONE) continue;
        bool is_known = work->launch != HD_NONE && f->of.op_of[work->launch] != HD_NONE;
        if (work->role == HD_ROLE_KERNEL && work->class == GPU_COMPUTE) {
            bool is_own = is_known && f->of.figures[f->of.ops.list[f->of.op_of[work->launch]].user].is_own;
            report_cover(&f->covered, gpu_duration(work), is_known);
            report_cover(&f->own, gpu_duration(work), is_own);
        }
        if (!is_known) continue;
        int64_t *time = &f->op_time[f->of.op_of[work->launch]];
        *time = gpu_sum(*time < 0 ? 0 : *time, gpu_duration(work));
    }
    return true;
}

static bool sum_ops(flops *f)
{
    for (size_t i = 0; i < f->of.ops.count; i++) {
        const gpu_slice *op = &f->of.ops.list[i];
        const gpu_op_figure *of = &f->of.figures[op->user];
        if (f->op_time[i] < 0 || !gpu_is_listed(&f->scope, op->start)) continue;
        const gpu_op_arguments *a = gpu_group_key(&f->of.groups, op->user);
        int64_t rank = f->scope.ranks[op->lane];
        key k = {rank,      of->flop, of->bytes, gpu_step_by(&f->scope, op->lane, op->start), a->name, of->dims,
                 of->dtype, of->kind, 0};
        uint32_t count = f->keys.count, group = gpu_group(&f->keys, &k);
        if (group == HD_NONE || !hd_grow((void **)&f->sums, &f->sum_capacity, group, sizeof *f->sums)) return false;
        if (group == count) f->sums[group] = (sum){0};
        f->sums[group].calls++;
        f->sums[group].time += f->op_time[i];
    }
    return true;
}

/* Compared with the GPU's peak. */
static void add_peak_cells(hd_table_builder *t, const gpu_roofline *r, const key *k, const sum *s)
{
    bool is_known = r->compute_ns >= 0 && r->memory_ns >= 0 && r->compute_ns + r->memory_ns > 0;
    bool by_compute = r->compute_ns >= r->memory_ns;
    double least = by_compute ? r->compute_ns : r->memory_ns, time = (double)s->time, calls = (double)s->calls;
    gpu_cell_decimal(t, r->peak, r->peak > 0);
    gpu_cell_decimal(t, (double)k->flop / least / 1000, is_known && k->flop);
    gpu_cell_decimal(t, 100 * (double)k->flop * calls / time / 1000 / r->peak, r->peak > 0 && time > 0);
    hd_table_add_text(t, !is_known ? NULL : by_compute ? "compute" : "memory");
    gpu_cell_decimal(t, 100 * calls * least / time, is_known && time > 0);
}

static bool add_row(flops *f, uint32_t group)
{
    hd_table_builder *t = f->table;
    const key *k = gpu_group_key(&f->keys, group);
    const sum *s = &f->sums[group];
    const gpu_shape_figures work = {(gpu_shape_kind)k->kind, gpu_op_dtype(&f->of, k->dtype), k->flop, k->bytes};
    const bool has_bytes = k->bytes >= 0;
    gpu_roofline roofline;
    if (!gpu_roofline_of(&roofline, &f->peaks, k->rank, &work)) return false;
    gpu_cells_rank(t, &f->scope, k->rank, k->step);
    hd_table_add_text(t, gpu_shape_kind_names[k->kind]);
    report_cell_string(t, f->scope.trace, k->name);
    gpu_cell_text(t, &f->of.texts, k->dims);
    gpu_cell_text(t, &f->of.texts, k->dtype);
    hd_table_add_count(t, s->calls);
    hd_table_add_int(t, gpu_whole(s->time));
    hd_table_add_count(t, (uint64_t)k->flop);
    gpu_cell_count(t, (uint64_t)k->bytes, has_bytes);
    gpu_cell_ratio(t, (gpu_i128)k->flop * s->calls, s->time * 1000, 1);
    gpu_cell_ratio(t, (gpu_i128)k->bytes * s->calls, has_bytes ? s->time : 0, 1);
    gpu_cell_ratio(t, k->flop, has_bytes ? k->bytes : 0, 1);
    add_peak_cells(t, &roofline, k, s);
    return gpu_mfu_add(&f->mfu, k->rank, k->step, &work, s->calls, &roofline);
}

/* ---- the report ---- */

static hd_status add_all(flops *f, hd_error *err)
{
    HD_TRY(gpu_op_figures_init(&f->of, &f->scope, err));
    if (!sum_work(f) || !sum_ops(f)) return HD_NOMEM(err);
    HD_TRY(report_builder(&f->table, &report_flops_about, "flops", err));
    for (uint32_t g = 0; g < f->keys.count; g++) {
        if (!add_row(f, g)) return HD_NOMEM(err);
    }
    return HD_OK;
}

/* What the file of --ops covers, and formulas without a result. */
static size_t add_own_notes(const char **out, char texts[2][GPU_NOTE_BYTES], const flops *f)
{
    const gpu_shapes *s = &f->of.shapes;
    size_t count = 0;
    if (!own_ops_file()) return 0;
    snprintf(texts[0], GPU_NOTE_BYTES, "%.200s gives the FLOP of %.1f %% of the GPU time of kernels that compute",
             own_ops_file(), f->own.of ? 100 * (double)f->own.known / (double)f->own.of : 0);
    out[count++] = texts[0];
    if (!s->refused) return count;
    snprintf(texts[1], GPU_NOTE_BYTES, "%.200s has no result for %llu sets of shapes: the formula of %s %s",
             own_ops_file(), (unsigned long long)s->refused, s->refused_formula, s->refused_reason);
    out[count++] = texts[1];
    return count;
}

static hd_status add_tables(hd_report *out, flops *f, hd_error *err)
{
    const char *notes[GPU_PEAK_NOTES + 5] = {NULL};
    char coverage[GPU_NOTE_BYTES], own[2][GPU_NOTE_BYTES];
    size_t count = 0;
    hd_table_builder *table = f->table;
    f->table = NULL;
    HD_TRY(gpu_add(out, table, "time", err));
    HD_TRY(gpu_mfu_add_table(out, &f->mfu, &f->scope, &f->of, err));
    if (gpu_mfu_note(coverage, sizeof coverage, &f->mfu)) notes[count++] = coverage;
    if (f->scope.counted && !gpu_arg_is_used(&f->of.args[GPU_OP_DIMS]))
        notes[count++] = "operators have no shapes (record_shapes=True of the profiler)";
    else if (f->scope.counted && !f->keys.count)
        notes[count++] = f->of.named ? "no operator whose FLOP are known has both shapes and GPU activities"
                                     : "there is no operator whose FLOP are known";
    count += add_own_notes(notes + count, own, f);
    for (size_t i = 0; i < f->peaks.note_count; i++) notes[count++] = f->peaks.notes[i];
    HD_TRY(gpu_add_notes(out, &report_flops_about, &f->scope, notes, err));
    return report_add_coverage(out, COVERAGE_FLOP, &f->covered, NULL, err);
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    const flops_options *chosen = options;
    flops f = {.keys = {.key_size = sizeof(key)}};
    hd_status status = gpu_scope_init(&f.scope, input, &chosen->gpu, GPU_BY_STEP, err);
    if (status == HD_OK) status = gpu_peaks_init(&f.peaks, &f.scope, input->gpus, chosen->model, chosen->tf32, err);
    if (status == HD_OK) status = add_all(&f, err);
    if (status == HD_OK) status = add_tables(out, &f, err);
    if (status != HD_OK) hd_report_free(out);
    hd_table_builder_free(f.table);
    gpu_op_figures_deinit(&f.of);
    gpu_peaks_deinit(&f.peaks);
    gpu_mfu_deinit(&f.mfu);
    gpu_groups_deinit(&f.keys);
    free(f.sums);
    hd_large_free(f.op_time);
    gpu_scope_deinit(&f.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column flops_columns[] = {
    GPU_COLUMNS_RANK,
    {"kind", HD_VALUE_STRING, "gemm, attention, convolution, elementwise or norm; custom: of --ops"},
    {"op", HD_VALUE_STRING, "the outermost operator with known figures"},
    {"shapes", HD_VALUE_STRING, "of its inputs"},
    {"dtype", HD_VALUE_STRING, "type of the first matrix or tensor"},
    {"calls", HD_VALUE_COUNT, "with GPU activities"},
    {"time", HD_VALUE_DURATION, "sum of the durations of these activities"},
    {"flop", HD_VALUE_COUNT, "floating-point operations of one call"},
    {"bytes", HD_VALUE_BYTES, "of one call: inputs read and outputs written once; null: unknown type"},
    {"tflops", HD_VALUE_DECIMAL, "TFLOP/s"},
    {"bandwidth", HD_VALUE_DECIMAL, "GB/s"},
    {"intensity", HD_VALUE_DECIMAL, "FLOP per byte"},
    {"peak", HD_VALUE_DECIMAL, "TFLOP/s that the GPU can do of this type; null: not known, see notes"},
    {"roof", HD_VALUE_DECIMAL, "TFLOP/s that its peak and the bandwidth of its memory allow at this intensity"},
    {"peak_share", HD_VALUE_DECIMAL, "tflops, percent of the peak"},
    {"bound", HD_VALUE_STRING, "the tighter limit: compute or memory"},
    {"roofline_share", HD_VALUE_DECIMAL, "the least time that both limits allow, in percent of the time"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"flops", "by operator and shapes, most time first", flops_columns, HD_CHART_SCATTER, "op,shapes",
     "intensity,tflops,roof,peak"},
    {"mfu",
     "model FLOP utilisation: the share of the GPUs' peak rate that matrix products, attention and convolutions reach",
     gpu_mfu_columns, HD_CHART_NONE, NULL, NULL},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {
    GPU_OPTIONS("step"),
    {"gpu", HD_OPTION_TEXT, NULL, "the GPUs are of this model, whatever the trace says: H200, 'NVIDIA H100 PCIe'",
     offsetof(flops_options, model)},
    {"tf32", HD_OPTION_FLAG, NULL, "matrix products, attention and convolutions of float were allowed TF32",
     offsetof(flops_options, tf32)},
    {0},
};

const hd_report_about report_flops_about = {
    .name = "flops",
    .title = "FLOP and bytes of operators, and how fast they compute and move them",
    .text = "Computes floating-point operations and bytes of matrix products, attention, convolutions (forward and "
            "backward), elementwise operators and norms from the shapes of their inputs, and TFLOP/s and GB/s from the "
            "time of their GPU activities. Needs a trace with shapes. Bytes are the inputs and outputs, each moved "
            "once; caches may save some of this traffic. The peaks of the GPU, from the table share/heddle/gpus.toml "
            "and your own "
            "(--gpus FILE, ~/.config/heddle/gpus.toml), give the share of the peak, the side of the roofline on which "
            "an operator is, and the utilisation of steps.",
    .options = options,
    .options_size = sizeof(flops_options),
    .wants_gpus = true,
    .tables = tables,
    .run = run,
};
