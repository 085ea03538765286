/* fuzz_perfetto.c - libFuzzer target: the Perfetto reader and writer
 *
 * Properties: reading never crashes; what was read is written as Perfetto and as JSON, both are read again without a
 * repair, and the JSON is valid and keeps the content.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "dump.h"
#include "format/perfetto/perfetto.h"
#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static void check_json(const hd_trace *trace)
{
    size_t size;
    hd_trace *again;
    char *json = write_text(trace, &(hd_write_options){.format = "chrome"}, &size);
    require(hd_json_valid(json, size, 2000));
    require(read_text(&again, json, size, &read_fast_strict, 0, NULL) == HD_OK);
    for (int kind = HD_KIND_SLICE; kind < HD_KIND_COUNT; kind++) {
        if (kind != HD_KIND_META) /* tracks get their names that way */
            require(hd_trace_row_count(trace, (hd_kind)kind) == hd_trace_row_count(again, (hd_kind)kind));
    }
    hd_trace_free(again);
    free(json);
}

static void check_perfetto(const hd_trace *trace, bool raw)
{
    size_t size;
    hd_trace *again;
    char *packets = write_text(trace, &(hd_write_options){.format = "perfetto", .raw = raw, .threads = 1}, &size);
    require(perfetto_sniff((const unsigned char *)packets, size) > 0);
    require(read_text(&again, packets, size, &read_fast_strict, 0, NULL) == HD_OK);
    hd_trace_free(again);
    free(packets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_trace *trace;
    if (size > 1 << 16 || perfetto_sniff(data, size) == 0) return 0;
    if (read_text(&trace, (const char *)data, size, &read_fast, 0, NULL) != HD_OK) return 0;
    free(dump_trace(trace, DUMP_ALL));
    check_json(trace);
    check_perfetto(trace, size % 2);
    hd_trace_free(trace);
    return 0;
}
