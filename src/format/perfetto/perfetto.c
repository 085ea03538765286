/* perfetto.c - the descriptor of Perfetto's protobuf traces */
#include "format/perfetto/perfetto.h"

const hd_format hd_perfetto_format = {
    .info = {.name = "perfetto",
             .title = "Perfetto protobuf trace (track events)",
             .extensions = ".pftrace .perfetto-trace",
             .reads = true,
             .writes = true,
             .keeps =
                 "slices, instants, counters, async slices, flows, typed arguments, stack samples, metadata, names and "
                 "order of tracks",
             .loses = "names and weights of stack samples, objects, names of flows, ends without begin, picoseconds, "
                      "order of the input"},
    .sniff = perfetto_sniff,
    .read = perfetto_read,
    .write = perfetto_write,
};
