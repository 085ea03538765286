/* conventions.c - what PyTorch, and mcTracer, say in arguments and top-level keys */
#include "format/conventions.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "heddle/launches.h"

/* String ids; HD_NONE where the trace does not have it. */
typedef struct names {
    uint32_t device, stream;
    uint32_t metax_queue, metax_device, metax_stream; /* what kernels and copies of mcTracer have */
} names;

/* ---- streams ---- */

enum { UNKNOWN, CPU, GPU, SYNC, CALL }; /* classes of categories */

/* Categories whose slices stand on the row of a GPU queue; unitrace names rows last, so killed programs have no names.
 * Waits may also stand on the thread that waits, as in captures. */
static uint8_t class_of(hd_string category)
{
    if (category.size == 6 && memcmp(category.data, "gpu_op", 6) == 0) return GPU;
    hd_role role = hd_role_of(category, (hd_string){"", 0});
    if (role == HD_ROLE_SYNC) return SYNC;
    if (role == HD_ROLE_RUNTIME || role == HD_ROLE_DRIVER) return CALL;
    return hd_role_is_work(role) || role == HD_ROLE_GPU_ANNOTATION ? GPU : CPU;
}

typedef struct waits {
    int64_t device, stream; /* of the first wait on a track */
    bool any, has_calls;
} waits;

static void find_streams_in(hd_builder *builder, const names *n, const hd_block *block, uint8_t *category_class,
                            uint8_t *track_done, waits *of)
{
    const hd_trace *trace = hd_builder_trace(builder);
    for (uint32_t row = 0; row < block->row_count; row++) {
        uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
        if (track == HD_NONE || track_done[track]) continue;
        uint32_t category = (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], row);
        if (category_class[category] == UNKNOWN) category_class[category] = class_of(hd_trace_string(trace, category));
        uint8_t class = category_class[category];
        bool is_metax = class == CPU || class == CALL;
        of[track].has_calls |= class == CALL;
        if ((is_metax && n->metax_queue == HD_NONE) || (class == SYNC && of[track].any)) continue;
        hd_event event;
        hd_value queue;
        hd_block_event(&event, block, row);
        if (is_metax && !hd_event_arg(&queue, trace, &event, n->metax_queue)) continue;
        int64_t device = HD_NO_NUMBER, stream = HD_NO_NUMBER;
        hd_event_arg_int(&device, trace, &event, is_metax ? n->metax_device : n->device);
        bool known = hd_event_arg_int(&stream, trace, &event, is_metax ? n->metax_stream : n->stream);
        if (class == SYNC) {
            of[track] = (waits){device, stream, true, of[track].has_calls};
            continue;
        }
        if (!known && hd_trace_track_at(trace, track)->kind == HD_TRACK_STREAM) continue;
        hd_builder_set_stream(builder, track, device, stream);
        track_done[track] = known;
    }
}

static uint32_t find(const hd_trace *trace, const char *text)
{
    return hd_trace_find_string(trace, text, strlen(text));
}

hd_status hd_conventions_find_streams(hd_builder *builder, hd_error *err)
{
    const hd_trace *trace = hd_builder_trace(builder);
    const names n = {find(trace, "device"), find(trace, "stream"), find(trace, "hw_queue_id"), find(trace, "device_id"),
                     find(trace, "queue_id")};
    uint8_t *category_class = calloc(hd_trace_string_count(trace), 1);
    uint8_t *track_done = calloc((size_t)hd_trace_track_count(trace) + 1, 1);
    waits *of = calloc((size_t)hd_trace_track_count(trace) + 1, sizeof *of);
    bool fine = category_class && track_done && of;
    for (size_t i = 0; fine && i < hd_trace_block_count(trace, HD_KIND_SLICE); i++)
        find_streams_in(builder, &n, hd_trace_block_at(trace, HD_KIND_SLICE, i), category_class, track_done, of);
    for (uint32_t t = 0; fine && t < hd_trace_track_count(trace); t++) {
        if (of[t].any && !of[t].has_calls && hd_trace_track_at(trace, t)->kind != HD_TRACK_STREAM)
            hd_builder_set_stream(builder, t, of[t].device, of[t].stream);
    }
    free(of);
    free(category_class);
    free(track_done);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- facts ---- */

/* A whole number in JSON text, quoted or not. */
static bool json_int(int64_t *out, const char *text, size_t size)
{
    char digits[24], *end;
    if (size >= 2 && text[0] == '"') {
        text++;
        size -= 2;
    }
    if (size == 0 || size >= sizeof digits) return false;
    memcpy(digits, text, size);
    digits[size] = '\0';
    *out = strtoll(digits, &end, 10);
    return end == digits + size;
}

static hd_status apply_distributed_info(hd_trace_facts *facts, hd_string info, hd_error *err)
{
    char *padded = calloc(1, info.size + HD_JSON_PADDING);
    const char *value;
    size_t size;
    if (!padded) return HD_NOMEM(err);
    memcpy(padded, info.data, info.size);
    if (hd_json_find(&value, &size, padded, "rank")) json_int(&facts->rank, value, size);
    if (hd_json_find(&value, &size, padded, "world_size")) json_int(&facts->world_size, value, size);
    free(padded);
    return HD_OK;
}

hd_status hd_conventions_find_facts(hd_builder *builder, hd_error *err)
{
    const hd_trace *trace = hd_builder_trace(builder);
    hd_trace_facts *facts = hd_builder_facts(builder);
    hd_string base = hd_trace_metadata_find(trace, "baseTimeNanoseconds");
    hd_string info = hd_trace_metadata_find(trace, "distributedInfo");
    if (base.size) json_int(&facts->base_ns, base.data, base.size);
    return info.size ? apply_distributed_info(facts, info, err) : HD_OK;
}
