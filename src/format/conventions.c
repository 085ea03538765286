/* conventions.c - what PyTorch, and mcTracer, say in arguments and top-level keys */
#include "format/conventions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "format/device_rows.h"
#include "heddle/launches.h"
#include "trace/lazy.h"

/* String ids; HD_NONE where the trace does not have it. */
typedef struct names {
    uint32_t device, stream;
    uint32_t metax_queue, metax_device, metax_stream; /* what kernels and copies of mcTracer have */
} names;

/* ---- streams ---- */

/* Categories whose slices stand on the row of a GPU queue; unitrace names rows last, so killed programs have no names.
 * Waits may also stand on the thread that waits, as in captures. */
uint8_t hd_conventions_class(hd_string category)
{
    if (category.size == 6 && memcmp(category.data, "gpu_op", 6) == 0) return CONVENTIONS_GPU;
    hd_role role = hd_role_of(category, (hd_string){"", 0});
    if (role == HD_ROLE_SYNC) return CONVENTIONS_SYNC;
    if (role == HD_ROLE_RUNTIME || role == HD_ROLE_DRIVER) return CONVENTIONS_CALL;
    return hd_role_is_work(role) || role == HD_ROLE_GPU_ANNOTATION ? CONVENTIONS_GPU : CONVENTIONS_CPU;
}

typedef struct waits {
    int64_t device, stream; /* of the first wait on a track */
    bool any, has_calls;
} waits;

/* The numbers of the row that a slice of a class tells, where its category or arguments say that it is on a queue. */
static bool numbers_of(int64_t *device, int64_t *stream, bool *has_stream, const hd_trace *trace, const names *n,
                       const hd_block *block, uint32_t row, uint8_t class)
{
    bool is_metax = class == CONVENTIONS_CPU || class == CONVENTIONS_CALL;
    hd_event event;
    hd_value queue;
    *device = *stream = HD_NO_NUMBER;
    if (is_metax && n->metax_queue == HD_NONE) return false;
    hd_block_event(&event, block, row);
    if (is_metax && !hd_event_arg(&queue, trace, &event, n->metax_queue)) return false;
    hd_event_arg_int(device, trace, &event, is_metax ? n->metax_device : n->device);
    *has_stream = hd_event_arg_int(stream, trace, &event, is_metax ? n->metax_stream : n->stream);
    return true;
}

static uint8_t class_at(uint8_t *category_class, const hd_trace *trace, const hd_block *block, uint32_t row)
{
    uint32_t category = (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], row);
    if (!category_class[category]) category_class[category] = hd_conventions_class(hd_trace_string(trace, category));
    return category_class[category];
}

static void find_streams_in(hd_builder *builder, const names *n, const hd_block *block, uint8_t *category_class,
                            uint8_t *track_done, waits *of)
{
    const hd_trace *trace = hd_builder_trace(builder);
    for (uint32_t row = 0; row < block->row_count; row++) {
        uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
        if (track == HD_NONE || track_done[track]) continue;
        uint8_t class = class_at(category_class, trace, block, row);
        int64_t device, stream;
        bool known;
        of[track].has_calls |= class == CONVENTIONS_CALL;
        if (class == CONVENTIONS_SYNC && of[track].any) continue;
        if (!numbers_of(&device, &stream, &known, trace, n, block, row, class)) continue;
        if (class == CONVENTIONS_SYNC) {
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

static names find_names(const hd_trace *trace)
{
    return (names){find(trace, "device"), find(trace, "stream"), find(trace, "hw_queue_id"), find(trace, "device_id"),
                   find(trace, "queue_id")};
}

hd_status hd_conventions_find_streams(hd_builder *builder, hd_error *err)
{
    HD_TRY(hd_device_rows_split(builder, err));
    const hd_trace *trace = hd_builder_trace(builder);
    const names n = find_names(trace);
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

/* The streams among the tracks that no slice of a block tells. */
static void find_told_in(bool *untold, uint32_t *left, const hd_trace *trace, const names *n, const hd_block *block,
                         uint8_t *category_class)
{
    for (uint32_t row = 0; row < block->row_count && *left; row++) {
        uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
        if (track == HD_NONE || !untold[track]) continue;
        const hd_track *t = hd_trace_track_at(trace, track);
        int64_t device, stream;
        bool has_stream;
        uint8_t class = class_at(category_class, trace, block, row);
        if (!numbers_of(&device, &stream, &has_stream, trace, n, block, row, class)) continue;
        if (device != t->device || stream != t->stream) continue;
        untold[track] = false;
        --*left;
    }
}

hd_status hd_conventions_untold_streams(bool **out, const hd_trace *trace, hd_error *err)
{
    const names n = find_names(trace);
    uint32_t left = 0, stream_event = find(trace, HD_STREAM_EVENT), count = hd_trace_track_count(trace);
    bool *untold = *out = calloc((size_t)count + 1, sizeof *untold);
    uint8_t *category_class = calloc((size_t)hd_trace_string_count(trace) + 1, 1);
    for (size_t b = 0; untold && category_class && b < hd_trace_block_count(trace, HD_KIND_META); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_META, b);
        for (uint32_t row = 0; row < block->row_count && stream_event != HD_NONE; row++) {
            uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
            bool tells = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row) == stream_event;
            if (tells && track < count) untold[track] = true;
        }
    }
    for (uint32_t t = 0; untold && t < count; t++) { /* what an event of the trace tells is not untold */
        const hd_track *track = hd_trace_track_at(trace, t);
        untold[t] = !untold[t] && track->kind == HD_TRACK_STREAM && track->rows[HD_KIND_SLICE];
        left += untold[t];
    }
    for (size_t b = 0; untold && category_class && left && b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, b);
        find_told_in(untold, &left, trace, &n, block, category_class);
        hd_trace_release(trace, block);
    }
    bool fine = untold && category_class;
    free(category_class);
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

void hd_conventions_rank(char out[HD_RANK_BYTES], const hd_trace *trace)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    *out = '\0';
    if (facts->rank == HD_NO_NUMBER || hd_trace_metadata_find(trace, "distributedInfo").size) return;
    int size = snprintf(out, HD_RANK_BYTES, "{\"rank\":%lld", (long long)facts->rank);
    if (facts->world_size != HD_NO_NUMBER)
        size +=
            snprintf(out + size, HD_RANK_BYTES - (size_t)size, ",\"world_size\":%lld", (long long)facts->world_size);
    snprintf(out + size, HD_RANK_BYTES - (size_t)size, "}");
}

void hd_conventions_base_time(char out[HD_BASE_TIME_BYTES], const hd_trace *trace)
{
    int64_t base_ns = hd_trace_facts_of(trace)->base_ns;
    *out = '\0';
    if (base_ns == HD_NO_TIME || hd_trace_metadata_find(trace, HD_BASE_TIME).size) return;
    snprintf(out, HD_BASE_TIME_BYTES, "%lld", (long long)base_ns);
}

hd_status hd_conventions_find_facts(hd_builder *builder, hd_error *err)
{
    const hd_trace *trace = hd_builder_trace(builder);
    hd_trace_facts *facts = hd_builder_facts(builder);
    hd_string base = hd_trace_metadata_find(trace, HD_BASE_TIME);
    hd_string info = hd_trace_metadata_find(trace, "distributedInfo");
    if (base.size) json_int(&facts->base_ns, base.data, base.size);
    return info.size ? apply_distributed_info(facts, info, err) : HD_OK;
}
