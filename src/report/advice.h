/* advice.h - the advice of a finding in the terms of the API that the trace has */
#ifndef HD_REPORT_ADVICE_H
#define HD_REPORT_ADVICE_H

#include "heddle/trace.h"

typedef enum finding_api { FINDING_API_CUDA, FINDING_API_HIP, FINDING_API_OTHER } finding_api;
enum { FINDING_ADVICE = 1024 };

/* By the name of a device: "AMD Instinct MI300X", "TPU v6 Lite". */
finding_api finding_api_of_model(hd_string model);
/* A rule's advice in terms of another API and kind of device (model/identity/device.h): `text`, or `out`. */
const char *finding_advice_in(char out[FINDING_ADVICE], const char *text, finding_api api, const char *device_kind);

#endif
