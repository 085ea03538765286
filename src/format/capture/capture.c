/* capture.c - captures as the list of formats sees them */
#include "format/capture/capture.h"

const hd_format hd_capture_format = {
    .info = {.name = "capture",
             .title = "Heddle capture, as libheddle-capture writes it while a program runs",
             .extensions = ".hdcap",
             .reads = true},
    .sniff = capture_sniff,
    .read = capture_read,
};
