/* heddle.h - includes all of libheddle; an overview of the headers
 *
 * Read them in this order:
 *
 * status.h       Errors. A function that can fail returns hd_status and takes `hd_error *err` last (may be NULL), which
 *                receives what was found, where, and in which file.
 * trace.h        The trace: tracks, events in tables by kind (slices, instants, counters, flows …), strings and
 *                arguments by number, metadata, and the ledger of what reading repaired or lost. Times are ns in an
 *                int64_t. A trace never changes; any number of threads can read it; hd_trace_free frees it.
 * format.h       Files: hd_trace_read detects the format from the content, hd_trace_write from the extension.
 * source.h       The same without files: hd_trace_read_from and hd_trace_write_to take memory, descriptors, callbacks.
 * builder.h      Builds a trace event by event; every reader uses it.
 * table.h        The result of every analysis: named columns with types and units, rows, printed as text, JSON, CSV.
 * report.h       Analyses, from a trace to tables: info, check, memory. gpus.h: peak rates of GPUs.
 * launches.h     GPU activities with the API calls that launched them.
 * attribution.h  The CPU stacks of these launches. stacks.h: stacks.
 * graph.h        What each call and activity waited for. replay.h: what if.
 * memory.h       Allocations and frees.
 * index.h        What covers a time on a track, fast. names.h: short names of kernels.
 * job.h          The collectives of a rank, and with those of other ranks, which rank was late. clocks.h: clock
 *                offsets between the hosts of a job.
 * arrow.h        Events and tables as Arrow streams, for pyarrow, Polars, DuckDB. parquet.h: the same as files.
 * convert.h      `heddle convert` and `merge`, from files to a file: crop, filter, merge, repair, write.
 * fix.h          Only the repair; all other bytes are unchanged. flame.h: flame graphs.
 * pass.h         Single passes on a trace in memory. options.h: options of passes and reports.
 * version.h      The version of this release.
 *
 * These are libheddle. Other libraries have a .pc file of their name:
 *
 * libheddle-symbolize  symbolize.h: names for addresses.
 * libheddle-query      query.h: SQL over traces.
 * libheddle-view       view.h: the viewer's server.
 * libheddle-record     devices.h: this machine's GPUs. record.h, trigger.h, uprobe.h: tracing programs (Linux).
 *                      mpi.h: the processes of an MPI job (Linux).
 * libheddle-capture    session.h, mark.h, ring.h, stack.h: recording from inside a program; depends on libc alone.
 *
 * The caller frees a pointer that it receives through `**out`, with the function that the comment there names; all
 * other pointers are borrowed. Options may be NULL or all zeros for the defaults. This program adds up the time of
 * kernels and writes the trace in another format:
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
 * (Other libraries' headers are not included.)
 */
#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include "heddle/analysis/attribution.h"
#include "heddle/analysis/clocks.h"
#include "heddle/analysis/diff.h"
#include "heddle/analysis/flame.h"
#include "heddle/analysis/graph.h"
#include "heddle/analysis/job.h"
#include "heddle/analysis/launches.h"
#include "heddle/analysis/memory.h"
#include "heddle/analysis/replay.h"
#include "heddle/arrow.h"
#include "heddle/builder.h"
#include "heddle/convert.h"
#include "heddle/fix.h"
#include "heddle/format.h"
#include "heddle/gpus.h"
#include "heddle/index.h"
#include "heddle/names.h"
#include "heddle/options.h"
#include "heddle/parquet.h"
#include "heddle/pass.h"
#include "heddle/report.h"
#include "heddle/source.h"
#include "heddle/stacks.h"
#include "heddle/status.h"
#include "heddle/table.h"
#include "heddle/trace.h"
#include "heddle/version.h"

#endif
