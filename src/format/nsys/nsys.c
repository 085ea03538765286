/* nsys.c - exports of Nsight Systems as the list of formats sees them */
#include "format/nsys/nsys.h"

const hd_format hd_nsys_format = {
    .info = {.name = "nsys",
             .title = "Nsight Systems' export to SQLite",
             .extensions = ".sqlite",
             .reads = true,
             .keeps = "everything",
             .loses = "labels of enumerations that no event has"},
    .sniff = sq_sniff,
    .mapping = &nsys_mapping,
};
