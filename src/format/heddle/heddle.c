/* heddle.c - the descriptor of the store */
#include "format/heddle/store.h"

static const hd_check_code about_codes = {"heddle", "warning",
                                          "the store is damaged, or its writer was ended before it was done",
                                          "what is in the trace is right: convert it to a new store, or make it anew"};

const hd_format hd_heddle_format = {
    .info = {.name = "heddle",
             .title = "Heddle store: a trace parsed once, compressed, opened in milliseconds",
             .extensions = ".heddle",
             .reads = true,
             .writes = true,
             .keeps = "everything the trace holds, what was repaired or lost when it was first read, the lane index",
             .loses = "byte offsets of events in the file they came from"},
    .sniff = heddle_sniff,
    .read = heddle_read,
    .write = heddle_write,
    .code = &about_codes,
};
