/* sbt.c - the SBT format as the list of formats sees it */
#include "format/sbt/sbt.h"

const hd_format hd_sbt_format = {
    .info = {.name = "sbt",
             .title = "TraceSmith binary trace, version 0.1",
             .extensions = ".sbt",
             .reads = true,
             .writes = true,
             .keeps =
                 "GPU activities, ranges, markers, devices, streams, correlation, kernel and copy parameters, stacks",
             .loses = "threads' names, other arguments, categories, flows, counters, metadata, time below 1 ns"},
    .sniff = sbt_sniff,
    .read = sbt_read,
    .write = sbt_write,
};
