/* ascend.c - databases of Ascend's profilers as the list of formats sees them */
#include "format/ascend/ascend.h"

const hd_format hd_ascend_format = {
    .info = {.name = "ascend",
             .title = "Ascend PyTorch profiler's and msprof's database",
             .extensions = ".db",
             .reads = true,
             .keeps = "everything",
             .loses = "names and call chains that no event has"},
    .sniff = sq_sniff,
    .mapping = &ascend_mapping,
};
