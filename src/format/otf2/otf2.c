/* otf2.c - the descriptor of OTF2 archives */
#include "format/otf2/otf2.h"

const hd_format hd_otf2_format = {
    .info =
        {.name = "otf2",
         .title = "OTF2 archive (Vampir, Score-P)",
         .extensions = ".otf2",
         .reads = false,
         .writes = true,
         .keeps =
             "events to the nanosecond, arguments as typed attributes, counters, copies, collectives, matched flows",
         .loses = "picoseconds, flow points without a partner, events without a time, order of the input"},
    .write_path = otf2_write_path,
};
