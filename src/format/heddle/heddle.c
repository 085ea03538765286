/* heddle.c - the descriptor of the store */
#include "format/heddle/store.h"

const hd_format hd_heddle_format = {
    .info = {.name = "heddle",
             .title = "Heddle store: a trace parsed once, compressed, opened in milliseconds",
             .extensions = ".heddle",
             .reads = true,
             .writes = true,
             .keeps = "everything the trace holds, what was repaired or lost when it was first read, the lane index",
             .loses = "byte offsets of events in the file they came from"},
    .sniff = heddle_sniff,
    .read_input = heddle_read_input,
    .write = heddle_write,
};
