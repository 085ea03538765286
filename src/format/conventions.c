/* conventions.c - PyTorch's, and mcTracer's, conventions for arguments and top-level keys */
#include "format/conventions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "format/device_rows.h"
#include "heddle/analysis/launches.h"
#include "trace/lazy.h"
#include "trace/ranks.h"

/* String ids; HD_NONE where the trace does not have it. */
typedef struct names {
    uint32_t device, stream;
    uint32_t metax_queue, metax_device, metax_stream; /* arguments of mcTracer's kernels and copies */
} names;

/* ---- streams ---- */

/* Categories whose slices are on the track of a GPU queue; unitrace names tracks last, so killed programs have no
 * names. Waits may also be on the thread that waits, as in captures. */
uint8_t hd_conventions_class(hd_string category)
{
    if (category.size == 6 && memcmp(category.data, "gpu_op", 6) == 0) return CONVENTIONS_GPU;
    hd_role role = hd_role_of(category, (hd_string){"", 0});
    if (role == HD_ROLE_SYNC) return CONVENTIONS_SYNC;
    if (role == HD_ROLE_RUNTIME || role == HD_ROLE_DRIVER) return CONVENTIONS_CALL;
    return hd_role_is_work(role) || role == HD_ROLE_GPU_ANNOTATION ? CONVENTIONS_GPU : CONVENTIONS_CPU;
}

/* What the slices of a track imply about it. */
typedef struct said {
    int64_t device, stream;           /* if it is a stream by its slices */
    int64_t wait_device, wait_stream; /* of the first wait on it */
    bool is_stream, is_certain;       /* certain: with the stream's number */
    bool has_wait, has_calls;
} said;

/* Device and stream of a slice of a class, if its category or arguments put it on a queue. */
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

/* Nothing is left to learn. Paddle writes the device of kernels, not of the copies before them on their stream. */
static bool is_settled(const said *s, const names *n)
{
    return s->is_certain && (s->device != HD_NO_NUMBER || n->device == HD_NONE);
}

/* was_stream: by track, those that were streams before their slices were looked at. */
static void look_at(said *of, const bool *was_stream, const hd_trace *trace, const names *n, const hd_block *block,
                    uint8_t *category_class)
{
    for (uint32_t row = 0; row < block->row_count; row++) {
        uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
        if (track == HD_NONE || is_settled(&of[track], n)) continue;
        uint8_t class = class_at(category_class, trace, block, row);
        said *s = &of[track];
        int64_t device, stream;
        bool certain;
        s->has_calls |= class == CONVENTIONS_CALL;
        if (class == CONVENTIONS_SYNC && s->has_wait) continue;
        if (!numbers_of(&device, &stream, &certain, trace, n, block, row, class)) continue;
        if (class == CONVENTIONS_SYNC) {
            s->has_wait = true;
            s->wait_device = device;
            s->wait_stream = stream;
            continue;
        }
        if (s->is_stream && s->device == HD_NO_NUMBER) s->device = device;
        if (s->is_certain || (!certain && (s->is_stream || was_stream[track]))) continue;
        if (s->is_stream && device == HD_NO_NUMBER) device = s->device;
        s->is_stream = true;
        s->is_certain = certain;
        s->device = device;
        s->stream = stream;
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

/* By track; the caller frees it, also after an error. */
static hd_status look(said **out, const bool *was_stream, const hd_trace *trace, hd_error *err)
{
    const names n = find_names(trace);
    uint32_t count = hd_trace_track_count(trace);
    uint8_t *category_class = calloc((size_t)hd_trace_string_count(trace) + 1, 1);
    said *of = *out = calloc((size_t)count + 1, sizeof *of);
    bool fine = category_class && of;
    for (size_t i = 0; fine && i < hd_trace_block_count(trace, HD_KIND_SLICE); i++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, i);
        look_at(of, was_stream, trace, &n, block, category_class);
        hd_trace_release(trace, block);
    }
    for (uint32_t t = 0; fine && t < count; t++) { /* a row of waits alone */
        said *s = &of[t];
        if (!s->has_wait || s->has_calls || s->is_stream || was_stream[t]) continue;
        s->is_stream = true;
        s->device = s->wait_device;
        s->stream = s->wait_stream;
    }
    free(category_class);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status hd_conventions_find_streams(hd_builder *builder, const uint8_t *told, hd_error *err)
{
    const hd_trace *trace = hd_builder_trace(builder);
    uint32_t told_count = told ? hd_trace_track_count(trace) : 0; /* tracks for further devices come after them */
    HD_TRY(hd_device_rows_split(builder, err));
    uint32_t count = hd_trace_track_count(trace);
    said *of = NULL;
    bool *was_stream = calloc((size_t)count + 1, sizeof *was_stream);
    if (!was_stream) return HD_NOMEM(err);
    for (uint32_t t = 0; t < count; t++) was_stream[t] = hd_trace_track_at(trace, t)->kind == HD_TRACK_STREAM;
    hd_status status = look(&of, was_stream, trace, err);
    for (uint32_t t = 0; t < count && status == HD_OK; t++) {
        if (of[t].is_stream && !(t < told_count && told[t]))
            hd_builder_set_stream(builder, t, of[t].device, of[t].stream);
    }
    free(was_stream);
    free(of);
    return status;
}

/* By track, whether a metadata event of the trace gives its stream, or the rank of its process. */
static void find_told_by_events(bool *told, const hd_trace *trace)
{
    uint32_t stream = find(trace, HD_STREAM_EVENT), rank = find(trace, HD_RANK_EVENT);
    if (stream == HD_NONE && rank == HD_NONE) return;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_META); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_META, b);
        for (uint32_t row = 0; row < block->row_count; row++) {
            uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
            uint32_t name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row);
            if (track >= hd_trace_track_count(trace)) continue;
            if (name == stream) told[track] = true;
            const hd_track *of = hd_trace_track_at(trace, track);
            if (name == rank) told[of->parent == HD_NONE ? track : of->parent] = true;
        }
    }
}

static hd_untold untold_of(const hd_trace *trace, const hd_track *track, const said *s)
{
    if (track->kind == HD_TRACK_PROCESS) {
        int64_t rank = track->rank;
        if (rank == HD_NO_NUMBER || rank == hd_trace_facts_of(trace)->rank) return HD_UNTOLD_NOTHING;
        return rank == hd_rank_of_name(hd_trace_string(trace, track->name)) ? HD_UNTOLD_NOTHING : HD_UNTOLD_RANK;
    }
    if (track->kind != HD_TRACK_STREAM) return s->is_stream ? HD_UNTOLD_THREAD : HD_UNTOLD_NOTHING;
    bool same = s->is_stream && s->device == track->device && s->stream == track->stream;
    return same ? HD_UNTOLD_NOTHING : HD_UNTOLD_STREAM;
}

hd_status hd_conventions_untold(uint8_t **out, const hd_trace *trace, bool keeps_events, hd_error *err)
{
    uint32_t count = hd_trace_track_count(trace);
    said *of = NULL;
    bool *told = calloc((size_t)count + 1, sizeof *told); /* first of all: none was a stream */
    *out = calloc((size_t)count + 1, 1);
    hd_status status = told && *out ? look(&of, told, trace, err) : HD_NOMEM(err);
    if (status == HD_OK && keeps_events) find_told_by_events(told, trace);
    for (uint32_t t = 0; t < count && status == HD_OK; t++) {
        if (!told[t]) (*out)[t] = (uint8_t)untold_of(trace, hd_trace_track_at(trace, t), &of[t]);
    }
    free(told);
    free(of);
    return status;
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
