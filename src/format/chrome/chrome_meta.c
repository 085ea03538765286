/* chrome_meta.c - what metadata events and top-level keys say of tracks and of the whole trace
 *
 * Sources   thread_name, thread_sort_index, process_name, process_labels, process_sort_index ("M" events; the last one
 *           counts); device and stream in the arguments of GPU slices; distributedInfo, baseTimeNanoseconds
 */
#include <stdlib.h>

#include "format/chrome/chrome.h"

/* String ids of the names looked for; HD_STRING_NONE where the trace does not have it. */
typedef struct names {
    uint32_t thread_name, thread_sort_index, process_name, process_labels, process_sort_index;
    uint32_t name, labels, sort_index, device, stream;
} names;

static uint32_t find(const hd_trace *trace, const char *text)
{
    return hd_trace_find_string(trace, text, strlen(text));
}

static names find_names(const hd_trace *trace)
{
    return (names){
        .thread_name = find(trace, "thread_name"),
        .thread_sort_index = find(trace, "thread_sort_index"),
        .process_name = find(trace, "process_name"),
        .process_labels = find(trace, "process_labels"),
        .process_sort_index = find(trace, "process_sort_index"),
        .name = find(trace, "name"),
        .labels = find(trace, "labels"),
        .sort_index = find(trace, "sort_index"),
        .device = find(trace, "device"),
        .stream = find(trace, "stream"),
    };
}

static uint32_t string_arg(const hd_trace *trace, const hd_event *event, uint32_t key)
{
    hd_value value;
    if (!hd_event_arg(&value, trace, event, key) || value.type != HD_ARG_STRING) return HD_STRING_NONE;
    return (uint32_t)value.bits;
}

static void apply_meta_event(hd_builder *builder, const names *n, const hd_event *event)
{
    const hd_trace *trace = hd_builder_trace(builder);
    if (event->name == HD_STRING_NONE || event->track == HD_NONE) return;
    uint32_t text;
    int64_t order;
    if (event->name == n->thread_name) {
        if ((text = string_arg(trace, event, n->name))) hd_builder_name_track(builder, event->track, text);
        return;
    }
    if (event->name == n->thread_sort_index) {
        if (hd_event_arg_int(&order, trace, event, n->sort_index)) hd_builder_sort_track(builder, event->track, order);
        return;
    }
    bool is_name = event->name == n->process_name, is_labels = event->name == n->process_labels;
    if (!is_name && !is_labels && event->name != n->process_sort_index) return;
    uint32_t process = hd_builder_track(builder, hd_trace_track_at(trace, event->track)->pid, (hd_ident){0}, true);
    if (process == HD_NONE) return;
    if (is_name) {
        if ((text = string_arg(trace, event, n->name))) hd_builder_name_track(builder, process, text);
    } else if (is_labels) {
        if ((text = string_arg(trace, event, n->labels))) hd_builder_label_track(builder, process, text);
    } else if (hd_event_arg_int(&order, trace, event, n->sort_index)) {
        hd_builder_sort_track(builder, process, order);
    }
}

static void apply_meta_events(hd_builder *builder, const names *n)
{
    const hd_trace *trace = hd_builder_trace(builder);
    for (size_t i = 0; i < hd_trace_block_count(trace, HD_KIND_META); i++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_META, i);
        for (uint32_t row = 0; row < block->row_count; row++) {
            hd_event event;
            hd_block_event(&event, block, row);
            apply_meta_event(builder, n, &event);
        }
    }
}

/* ---- streams -------------------------------------------------------------------------------------------- */

/* Categories whose slices run on a GPU queue. */
static bool is_gpu_category(hd_string s)
{
    static const char *const exact[] = {"kernel", "Kernel",     "gpu_memcpy",          "gpu_memset", "Memcpy",
                                        "Memset", "GPU_Kernel", "gpu_user_annotation", "cuda_sync"};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        if (s.size == strlen(exact[i]) && memcmp(s.data, exact[i], s.size) == 0) return true;
    }
    return s.size >= 9 && memcmp(s.data, "mtia_ccp_", 9) == 0;
}

static void find_streams_in(hd_builder *builder, const names *n, const hd_block *block, uint8_t *category_class,
                            uint8_t *track_done)
{
    const hd_trace *trace = hd_builder_trace(builder);
    enum { UNKNOWN, CPU, GPU };
    for (uint32_t row = 0; row < block->row_count; row++) {
        uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
        if (track == HD_NONE || track_done[track]) continue;
        uint32_t category = (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], row);
        if (category_class[category] == UNKNOWN)
            category_class[category] = is_gpu_category(hd_trace_string(trace, category)) ? GPU : CPU;
        if (category_class[category] == CPU) continue;
        hd_event event;
        hd_block_event(&event, block, row);
        int64_t device = HD_NO_NUMBER, stream = HD_NO_NUMBER;
        hd_event_arg_int(&device, trace, &event, n->device);
        bool known = hd_event_arg_int(&stream, trace, &event, n->stream);
        if (!known && hd_trace_track_at(trace, track)->kind == HD_TRACK_STREAM) continue;
        hd_builder_set_stream(builder, track, device, stream);
        track_done[track] = known;
    }
}

static void find_streams(hd_builder *builder, const names *n)
{
    const hd_trace *trace = hd_builder_trace(builder);
    uint8_t *category_class = calloc(hd_trace_string_count(trace), 1);
    uint8_t *track_done = calloc((size_t)hd_trace_track_count(trace) + 1, 1);
    for (size_t i = 0; category_class && track_done && i < hd_trace_block_count(trace, HD_KIND_SLICE); i++)
        find_streams_in(builder, n, hd_trace_block_at(trace, HD_KIND_SLICE, i), category_class, track_done);
    free(category_class);
    free(track_done);
}

/* ---- facts ------------------------------------------------------------------------------------------------ */

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

static void apply_distributed_info(hd_trace_facts *facts, hd_string info)
{
    char *padded = calloc(1, info.size + HD_JSON_PADDING);
    const char *value;
    size_t size;
    if (!padded) return;
    memcpy(padded, info.data, info.size);
    if (hd_json_find(&value, &size, padded, "rank")) json_int(&facts->rank, value, size);
    if (hd_json_find(&value, &size, padded, "world_size")) json_int(&facts->world_size, value, size);
    free(padded);
}

static void apply_facts(hd_builder *builder)
{
    const hd_trace *trace = hd_builder_trace(builder);
    hd_trace_facts *facts = hd_builder_facts(builder);
    hd_string base = hd_trace_metadata_find(trace, "baseTimeNanoseconds");
    hd_string info = hd_trace_metadata_find(trace, "distributedInfo");
    if (base.size) json_int(&facts->base_ns, base.data, base.size);
    if (info.size) apply_distributed_info(facts, info);
}

void chrome_apply_metadata(hd_builder *builder)
{
    names n = find_names(hd_builder_trace(builder));
    apply_meta_events(builder, &n);
    if (hd_builder_facts(builder)->has_args) find_streams(builder, &n);
    apply_facts(builder);
}
