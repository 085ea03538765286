/* tfmemory.c - memory profiles of TensorFlow as the list of formats sees them */
#include "format/tfmemory/tfmemory.h"

const hd_format hd_tfmemory_format = {
    .info = {.name = "tfmemory",
             .title = "TensorFlow memory profile (JSON)",
             .extensions = ".memory_profile.json",
             .reads = true,
             .keeps = "everything",
             .loses = "nothing"},
    .sniff = tfmemory_sniff,
    .read = tfmemory_read,
    .companion = &tfmemory_companion,
};
