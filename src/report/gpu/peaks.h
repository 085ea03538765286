/* peaks.h - peak rates of the GPUs of a rank, and rooflines: see "flops" in docs/reports/definitions.md */
#ifndef HD_REPORT_GPU_PEAKS_H
#define HD_REPORT_GPU_PEAKS_H

#include "report/gpu/gpu.h"
#include "report/gpu/op_figures.h"
#include "report/gpus.h"

enum { GPU_PEAK_NOTES = 12, GPU_NOTE_BYTES = 400 };

typedef struct gpu_peaks {
    const hd_gpus *gpus;
    hd_gpus *own;            /* NULL: they are the caller's */
    const report_gpu *given; /* all GPUs are of this model, as the options say; NULL: as the trace does */
    bool tf32;
    gpu_texts texts;   /* models */
    gpu_groups places; /* described (rank, device) pairs; device HD_NO_NUMBER means all of the rank */
    gpu_groups ranks;
    uint32_t *of_places, *of_ranks; /* text; HD_NONE: unknown */
    size_t place_capacity, rank_capacity;
    char notes[GPU_PEAK_NOTES][GPU_NOTE_BYTES];
    size_t note_count;
} gpu_peaks;

/* The model of each rank's GPUs. gpus NULL: the library's. model NULL: as the trace says. Deinit either way. Errors:
 * ARGUMENT: the table does not have the model; MEMORY. */
hd_status gpu_peaks_init(gpu_peaks *out, const gpu_scope *scope, const hd_gpus *gpus, const char *model, bool tf32,
                         hd_error *err);
void gpu_peaks_deinit(gpu_peaks *peaks);

/* The minimum time of an activity. */
typedef struct gpu_roofline {
    double peak;       /* TFLOP/s; 0: not known */
    double compute_ns; /* flop at that peak; below 0: not known */
    double memory_ns;  /* bytes at the memory's bandwidth; below 0: not known */
} gpu_roofline;
/* For the activities of a rank. Missing data is noted once. false: no memory. */
bool gpu_roofline_of(gpu_roofline *out, gpu_peaks *peaks, int64_t rank, const gpu_shape_figures *work);

/* Percent of the computing time whose FLOP are known; below, sums and rates are lower bounds. */
enum { GPU_COVERAGE_LEAST = 90 };

/* Whether it counts for model FLOP utilisation. */
static inline bool gpu_is_model_flop(gpu_shape_kind kind)
{
    return kind == GPU_GEMM || kind == GPU_ATTENTION || kind == GPU_CONVOLUTION || kind == GPU_CUSTOM;
}

/* Sums of model FLOP by rank and step: mfu.c. Zero-initialised. */
typedef struct gpu_mfu {
    gpu_groups keys;
    struct gpu_mfu_sum {
        gpu_i128 flop, span;
        double ideal_ns; /* that the peaks allow */
        uint64_t devices;
        gpu_i128 compute, known; /* time of computing kernels, and of those with known FLOP */
        bool is_unknown;         /* a peak is not known */
    } * sums;
    size_t capacity;
    uint32_t rows; /* of the table: the first keys */
} gpu_mfu;
/* `calls` equal activities; only matrix products, attention and convolution count. false: no memory. */
bool gpu_mfu_add(gpu_mfu *mfu, int64_t rank, uint32_t step, const gpu_shape_figures *work, uint64_t calls,
                 const gpu_roofline *roofline);
/* The table `mfu`, once. */
hd_status gpu_mfu_add_table(hd_report *out, gpu_mfu *mfu, const gpu_scope *scope, const gpu_op_figures *ops,
                            hd_error *err);
/* Note below the table: the share of the time with known FLOP. false: all, or there is no row. */
bool gpu_mfu_note(char *out, size_t size, const gpu_mfu *mfu);
void gpu_mfu_deinit(gpu_mfu *mfu);
extern const hd_report_column gpu_mfu_columns[];

#endif
