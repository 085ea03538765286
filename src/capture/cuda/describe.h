/* describe.h - what the tracer says of itself and of the GPUs */
#ifndef HD_CAPTURE_CUDA_DESCRIBE_H
#define HD_CAPTURE_CUDA_DESCRIBE_H

#include "capture/cuda/cupti/activity.h"

/* By the tracer's thread. */
void cuda_describe_device(cuda_activity *activity, const cupti_device *device);
void cuda_describe_stream(cuda_activity *activity, const cupti_stream *stream);

#endif
