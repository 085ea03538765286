/* rocprofv3.c - runs of AMD's rocprofv3, as JSON or as CSVs -> trace
 *
 * Format   the output of rocprofv3 --output-format json and csv (ROCm 6.2 to 7; rocprofiler-sdk, source/lib/output):
 *          one JSON file, or a table for each kind of record; docs/formats/rocprofv3.md has the mapping
 * Sniffs   the key "rocprofiler-sdk-tool" at the top level, or the names of the columns
 * Maps     dispatches, copies -> slices of a GPU's streams; calls of HIP, HSA, RCCL, markers -> slices of threads;
 *          allocations -> "[memory]" instants; counters -> counters; other lists -> slices, or instants
 * Units    ns of the machine's clock        Shapes   n records -> n rows; a record of n counters -> n samples
 * Errors   FORMAT: a table without known columns; DAMAGED: when strict
 */
#include "format/rocprofv3/rocprofv3.h"
#include "format/json_walk.h"

static bool is_json(const unsigned char *head, size_t size)
{
    static const char *const keys[] = {"traceEvents", "rocprofiler-sdk-tool"};
    return hd_walk_first_key(head, size, keys, 2) == 2;
}

static int sniff_run(const unsigned char *head, size_t size)
{
    return is_json(head, size) || rocprof_is_csv(head, size) ? 90 : 0;
}

static hd_status read_run(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    const uint8_t *head;
    size_t size;
    rocprof_run run;
    HD_TRY(hd_input_peek(input, &head, &size, err));
    hd_status status = rocprof_run_init(&run, builder, options, err);
    if (status == HD_OK)
        status = is_json(head, size) ? rocprof_read_json(&run, input, err) : rocprof_read_csv(&run, input, err);
    if (status == HD_OK) status = rocprof_run_finish(&run, err);
    rocprof_run_deinit(&run);
    return status;
}

const hd_format hd_rocprofv3_format = {
    .info = {.name = "rocprofv3",
             .title = "JSON and CSV of AMD's rocprofv3",
             .extensions = ".csv",
             .reads = true,
             .keeps = "everything",
             .loses = "names and code objects that no record refers to"},
    .sniff = sniff_run,
    .read = read_run,
    .read_folder = rocprof_read_folder,
};
