/* chakra.c - execution traces of Chakra: JSON of PyTorch's observer and of chakra_trace_link, .et protobuf -> trace
 *
 * Format   JSON {"schema":"1.1.1-chakra.0.0.4", …, "nodes":[…]} of torch/csrc/profiler/standalone, and of
 *          chakra_trace_link, which adds times and GPU activities; .et: messages of et_def.proto, each after its
 *          length. docs/formats/chakra.md has the mapping
 * Sniffs   the keys "schema" and "nodes"; a GlobalMetadata: a version of digits and points, or attributes
 * Maps     nodes -> slices; data and inter-thread dependencies, and control dependencies across rows -> flows
 * Units    µs -> ns. A JSON trace without times gets the order of its nodes, a tick (ns) each; an .et without starts
 *          gets the earliest starts that durations and dependencies allow
 * Shapes   n nodes -> n rows, and two for each flow
 * Errors   FORMAT: no nodes; DAMAGED: when strict
 */
#include "format/chakra/chakra.h"

#include <stdlib.h>

#include "base/error.h"

static int sniff_trace(const unsigned char *head, size_t size)
{
    if (chakra_is_json(head, size)) return 90;
    return chakra_is_proto(head, size) ? 80 : 0;
}

static void deinit(chakra_reader *r)
{
    hd_args_deinit(&r->args);
    hd_map_deinit(&r->index);
    hd_map_deinit(&r->threads);
    free(r->seen);
    free(r->edges);
    free(r->clocks);
}

static hd_status read_trace(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    const uint8_t *head;
    size_t size;
    chakra_reader r = {.builder = builder, .options = options, .pid = 0};
    HD_TRY(hd_input_peek(input, &head, &size, err));
    r.by_order = chakra_is_json(head, size);
    hd_status status = hd_args_init(&r.args, builder, options, err);
    if (status == HD_OK) status = r.by_order ? chakra_read_json(&r, input, err) : chakra_read_proto(&r, input, err);
    if (status == HD_OK) status = chakra_finish(&r, err);
    deinit(&r);
    return status;
}

const hd_format hd_chakra_format = {
    .info = {.name = "chakra",
             .title = "Chakra execution traces (.et, and JSON of PyTorch's observer)",
             .extensions = ".et",
             .reads = true,
             .keeps = "everything",
             .loses = "documentation of attributes"},
    .sniff = sniff_trace,
    .read = read_trace,
};
