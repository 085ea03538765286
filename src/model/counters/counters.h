/* counters.h - what counters of a GPU are about, from any source
 *
 * Names are those of the source: "clocks.current.sm (MHz)" of nvidia-smi, "pclk (MHz)" of its dmon, SMCLK of dcgmi,
 * DCGM_FI_DEV_SM_CLOCK, "sclk clock speed: (Mhz)" of rocm-smi, "GPC Clock Frequency" of Nsight Systems.
 */
#ifndef HD_MODEL_COUNTERS_COUNTERS_H
#define HD_MODEL_COUNTERS_COUNTERS_H

#include "heddle/trace.h"

typedef enum hd_counter_kind {
    HD_COUNTER_OTHER,
    HD_COUNTER_CLOCK,     /* of the SMs, or of graphics */
    HD_COUNTER_CLOCK_MAX, /* the highest that it may have */
    HD_COUNTER_REASONS,   /* why the clock is not higher: NVML's bits */
} hd_counter_kind;

hd_counter_kind hd_counter_kind_of(hd_string name);

/* NVML's nvmlClocksEventReasons: of these the clock is lower than the GPU could have it. */
enum { HD_REASON_POWER = 0x4 | 0x80, HD_REASON_HEAT = 0x20 | 0x40, HD_REASON_HARDWARE = 0x8, HD_REASON_IDLE = 0x1 };

/* The GPU that a process of counters is about, by its name: "GPU 0 counters", "GPU 0 monitor", "GPU 0 metrics";
 * HD_NO_NUMBER: it does not say. */
int64_t hd_counter_device(hd_string process_name);

#endif
