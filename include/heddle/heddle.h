/* heddle.h - all of libheddle, and where to begin
 *
 * Read in this order:
 *
 * status.h       Errors. What can fail returns hd_status and takes `hd_error *err` last (NULL: not interested), which
 *                says what was found, where, and in which file.
 * trace.h        The trace: tracks, events in tables by kind (slices, instants, counters, flows …), strings and
 *                arguments by number, metadata, and the ledger of what reading repaired or lost. Times are ns in an
 *                int64_t. It never changes; any number of threads read it; hd_trace_free gives it back.
 * format.h       Files in and out: hd_trace_read finds the format by content, hd_trace_write by the name's end.
 * source.h       The same without files: hd_trace_read_from and hd_trace_write_to take memory, descriptors, callbacks.
 * builder.h      A trace of your own, event by event; what every reader is written with.
 * table.h        The result of every analysis: named columns with types and units, rows, printed as text, JSON, CSV.
 * report.h       Analyses, from a trace to tables: info, check, memory. gpus.h: what GPUs can do at most.
 * launches.h     GPU work with the call that launched it. attribution.h: and with the CPU's stack. stacks.h: stacks.
 *                graph.h: what waited for what. replay.h: what if. memory.h: allocations and frees. index.h: what
 * covers a time on a
 *                track, fast. names.h: kernels' names in short.
 * job.h          What a rank's trace tells of its job: its collectives; and with other ranks', who was late.
 *                clocks.h: by how much the clocks of its hosts differ.
 * arrow.h        Events and tables as Arrow streams, for pyarrow, polars, DuckDB. parquet.h: and as files.
 * convert.h      What `heddle convert` and `merge` do, from files to a file: crop, filter, merge, repair, write. fix.h:
 *                only the repair, byte for byte otherwise. flame.h: flame graphs.
 *                pass.h: single passes on a trace that is held. options.h: what passes and reports are told.
 *                version.h: which release this is.
 *
 * These are libheddle. What needs more than a trace is a library of its own, with a .pc of its name:
 *
 * libheddle-symbolize  symbolize.h: names for addresses.
 * libheddle-query      query.h: SQL over traces.
 * libheddle-view       view.h: the page's server.
 * libheddle-record     devices.h: this machine's GPUs. record.h, trigger.h, uprobe.h: tracing programs (Linux).
 *                      mpi.h: the processes of an MPI job (Linux).
 * libheddle-capture    session.h, mark.h, ring.h, stack.h: recording from inside of a program; stands on libc alone.
 *
 * Whoever gets a pointer through `**out` frees it, with the function that the comment there names; all else is
 * borrowed. Options may be NULL or all zeros: the defaults. A program that sums up the time of kernels and writes the
 * trace in another format:
 *
 *     #include <inttypes.h>
 *     #include <stdio.h>
 *     #include <heddle/heddle.h>
 *
 *     int main(int argc, char **argv)
 *     {
 *         hd_error err = {0};
 *         hd_trace *trace = NULL;
 *         char text[HD_ERROR_TEXT_BYTES];
 *         if (argc != 3) return 2;
 *         if (hd_trace_read(&trace, argv[1], NULL, &err) != HD_OK) {
 *             fprintf(stderr, "%s\n", hd_error_text(text, sizeof text, &err));
 *             return 1;
 *         }
 *         uint32_t kernel = hd_trace_find_string(trace, "kernel", 6);
 *         int64_t total = 0;
 *         for (size_t i = 0; i < hd_trace_block_count(trace, HD_KIND_SLICE); i++) {
 *             const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, i);
 *             for (uint32_t row = 0; row < block->row_count; row++) {
 *                 hd_event event;
 *                 hd_block_event(&event, block, row);
 *                 if (event.category == kernel && event.duration_ns != HD_NO_TIME) total += event.duration_ns;
 *             }
 *         }
 *         printf("%" PRIu64 " events, %" PRId64 " ns of kernels\n", hd_trace_event_count(trace), total);
 *         hd_status status = hd_trace_write(trace, argv[2], NULL, &err);
 *         if (status != HD_OK) fprintf(stderr, "%s\n", hd_error_text(text, sizeof text, &err));
 *         hd_trace_free(trace);
 *         return status != HD_OK;
 *     }
 *
 *     cc main.c -o main $(pkg-config --cflags --libs heddle)
 *
 * This header includes all of libheddle's own.
 */
#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include "heddle/arrow.h"
#include "heddle/attribution.h"
#include "heddle/builder.h"
#include "heddle/clocks.h"
#include "heddle/convert.h"
#include "heddle/fix.h"
#include "heddle/flame.h"
#include "heddle/format.h"
#include "heddle/gpus.h"
#include "heddle/graph.h"
#include "heddle/index.h"
#include "heddle/job.h"
#include "heddle/launches.h"
#include "heddle/memory.h"
#include "heddle/names.h"
#include "heddle/options.h"
#include "heddle/parquet.h"
#include "heddle/pass.h"
#include "heddle/replay.h"
#include "heddle/report.h"
#include "heddle/source.h"
#include "heddle/stacks.h"
#include "heddle/status.h"
#include "heddle/table.h"
#include "heddle/trace.h"
#include "heddle/version.h"

#endif
