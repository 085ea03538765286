/* counters.c - values of GPUs by time, as monitors print them -> trace
 *
 * Format   CSV of nvidia-smi --query-gpu (with or without names and units), rocm-smi and amd-smi, nvidia-smi dmon,
 *          dcgmi dmon, metrics as Prometheus takes and DCGM's exporter gives; docs/formats/counters.md
 * Sniffs   the first row, or the first two
 * Maps     a value -> a sample of a counter on the process "GPU 0 counters", with its unit in the name
 * Units    local time, Unix time, or rows -> ns; metadata say which        Shapes   n values -> n rows
 * Errors   FORMAT: no row has a value; DAMAGED: when strict
 */
#include "format/counters/counters.h"
#include "format/format.h"

static int sniff(const unsigned char *head, size_t size)
{
    counters_dialect dialect = counters_dialect_of(head, size);
    return dialect == COUNTERS_NONE ? 0 : dialect == COUNTERS_CSV || dialect == COUNTERS_BARE ? 75 : 85;
}

static const hd_check_code code = {"counters", "error",
                                   "counters.…: lines or values of the text that could not be read",
                                   "they were skipped, and the rest was read: look at the line of the example"};

const hd_format hd_counters_format = {
    .info = {.name = "counters",
             .title = "Counters of GPUs: nvidia-smi, dcgmi, Prometheus, rocm-smi",
             .extensions = ".csv .prom",
             .reads = true,
             .keeps = "all values that are numbers",
             .loses = "texts, such as versions of drivers"},
    .sniff = sniff,
    .read = counters_read,
    .code = &code,
};
