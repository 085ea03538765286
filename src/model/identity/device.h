/* device.h - the kind of a device: what a sentence calls it
 *
 * In: the name or labels of its process, or the name of its model. Out: "GPU", "TPU", "NPU" and so on, static texts. */
#ifndef HD_MODEL_IDENTITY_DEVICE_H
#define HD_MODEL_IDENTITY_DEVICE_H

#include "heddle/trace.h"

/* By a word of the text: "TPU" of "/device:TPU:0" and "TPU v6 Lite", "NPU" of "Ascend910B". "GPU": no other kind. */
const char *hd_device_kind_in(hd_string text);
/* Of the device that a track is of, by its process. "GPU" of HD_NONE. */
const char *hd_device_kind(const hd_trace *trace, uint32_t track);
/* Of all streams of the trace; "device": they are of several kinds. */
const char *hd_device_kinds(const hd_trace *trace);

#endif
