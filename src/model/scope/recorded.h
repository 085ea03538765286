/* recorded.h - the windows of captures (docs/windows.md): when each rank was recorded */
#ifndef HD_MODEL_SCOPE_RECORDED_H
#define HD_MODEL_SCOPE_RECORDED_H

#include "heddle/trace.h"

/* A window of a rank; then what was launched in it and ran on one device. */
typedef struct gpu_capture_window {
    int64_t rank, open, close;
    int64_t start, end; /* for gpu_recorded_find. start > end: nothing */
} gpu_capture_window;

/* By rank and time; those of a rank do not touch. A rank without windows was recorded all the time. */
typedef struct gpu_capture_windows {
    gpu_capture_window *list;
    size_t count, capacity;
} gpu_capture_windows;

/* ranks: by track. false: no memory. Deinit either way. */
bool gpu_capture_windows_find(gpu_capture_windows *out, const hd_trace *trace, const int64_t *ranks);
void gpu_capture_windows_deinit(gpu_capture_windows *windows);
/* Those of a rank: their number, and *out the first. */
size_t gpu_capture_windows_of(gpu_capture_window **out, const gpu_capture_windows *windows, int64_t rank);

#endif
