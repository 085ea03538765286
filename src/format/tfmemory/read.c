/* read.c - a memory profile as a trace
 *
 *     allocator                 a track of the process "TensorFlow memory"
 *     its snapshots             slices without length (what was done) and samples of the counters (what it led to)
 *     all else, as it stands    the metadata "memoryProfile"
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/tfmemory/tfmemory.h"

enum { READ_STEP = 64 << 10 };
static const uint64_t SIZE_LIMIT = (uint64_t)1 << 30;
static const char process_name[] = "TensorFlow memory";

/* Which of two keys stands first at the top level; a Chrome trace may have our metadata. */
int tfmemory_sniff(const unsigned char *head, size_t size)
{
    static const char wanted[] = "memoryProfilePerAllocator", other[] = "traceEvents";
    size_t i = size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, depth = 0;
    for (; i < size; i++) {
        if (depth == 0 && head[i] != '{' && !hd_json_is_space((char)head[i])) return 0;
        if (head[i] == '{' || head[i] == '[') depth++;
        if (head[i] == '}' || head[i] == ']') depth--;
        if (head[i] != '"') continue;
        size_t start = ++i;
        while (i < size && head[i] != '"') i += head[i] == '\\' ? 2 : 1;
        size_t colon = i + 1;
        while (colon < size && hd_json_is_space((char)head[colon])) colon++;
        if (colon >= size || head[colon] != ':' || depth != 1) continue;
        if (i - start == sizeof wanted - 1 && memcmp(head + start, wanted, i - start) == 0) return 90;
        if (i - start == sizeof other - 1 && memcmp(head + start, other, i - start) == 0) return 0;
    }
    return 0;
}

/* ---- the text ---- */

static hd_status read_input(tfmemory_reader *r, char **text, hd_input *input)
{
    size_t capacity = 0, got;
    for (;;) {
        if (!hd_reserve(text, &capacity, r->size + READ_STEP + HD_JSON_PADDING)) return HD_NOMEM(r->err);
        hd_status status = hd_input_next(input, *text + r->size, capacity - HD_JSON_PADDING - r->size, &got, r->err);
        if (status != HD_OK && status != HD_END) return status;
        r->size += got;
        if (r->size > SIZE_LIMIT)
            return hd_error_set(r->err, HD_ERR_LIMIT, NULL, SIZE_LIMIT, "a memory profile of more than 1 GiB");
        if (status == HD_END) break;
    }
    memset(*text + r->size, 0, HD_JSON_PADDING);
    r->text = *text;
    return HD_OK;
}

/* ---- allocators ---- */

static void put_key(tfmemory_reader *r, uint32_t key, bool first)
{
    hd_string s = hd_builder_string(r->builder, key);
    if (!first) hd_json_put_text(&r->rest, ",");
    hd_json_put_string(&r->rest, s.data, s.size);
    hd_json_put_text(&r->rest, ":");
}

static hd_status keep_member(tfmemory_reader *r, const char **at, uint32_t key, bool first)
{
    tfmemory_span span;
    HD_TRY(tfmemory_skip(r, &span, at));
    put_key(r, key, first);
    hd_json_put(&r->rest, span.data, span.size);
    return HD_OK;
}

static hd_status make_track(tfmemory_reader *r, uint32_t name)
{
    hd_ident pid = {HD_IDENT_STRING, hd_builder_intern_text(r->builder, process_name)};
    uint32_t process = hd_builder_track(r->builder, pid, (hd_ident){0}, true);
    r->allocator = name;
    r->track = hd_builder_track(r->builder, pid, (hd_ident){HD_IDENT_STRING, name}, false);
    if (process == HD_NONE || r->track == HD_NONE) return HD_NOMEM(r->err);
    hd_builder_name_track(r->builder, process, pid.text);
    hd_builder_name_track(r->builder, r->track, name);
    return HD_OK;
}

static hd_status read_allocator(tfmemory_reader *r, const char **at, uint32_t name)
{
    bool is_null, first = true, first_kept = true;
    uint32_t key;
    hd_status status;
    if (**at != '{' && **at != 'n') {
        tfmemory_span span;
        HD_TRY(tfmemory_lose(r, *at, "no object where one must be"));
        HD_TRY(tfmemory_skip(r, &span, at));
        hd_json_put(&r->rest, span.data, span.size);
        return HD_OK;
    }
    HD_TRY(make_track(r, name));
    HD_TRY(tfmemory_enter(r, at, '{', &is_null));
    hd_json_put_text(&r->rest, is_null ? "null" : "{");
    if (is_null) return HD_OK;
    while ((status = tfmemory_next_member(r, at, &first, &key)) == HD_OK) {
        bool listed = tfmemory_is(r, key, "memoryProfileSnapshots");
        if (listed || tfmemory_is(r, key, "sampledTimelineSnapshots")) {
            HD_TRY(tfmemory_collect(r, at, !listed));
            continue;
        }
        HD_TRY(keep_member(r, at, key, first_kept));
        first_kept = false;
    }
    hd_json_put_text(&r->rest, "}");
    return status == HD_END ? tfmemory_add_snapshots(r) : status;
}

static hd_status read_allocators(tfmemory_reader *r, const char **at)
{
    bool is_null, first = true;
    uint32_t name;
    hd_status status;
    HD_TRY(tfmemory_enter(r, at, '{', &is_null));
    hd_json_put_text(&r->rest, is_null ? "null" : "{");
    if (is_null) return HD_OK;
    for (bool first_kept = true; (status = tfmemory_next_member(r, at, &first, &name)) == HD_OK; first_kept = false) {
        put_key(r, name, first_kept);
        HD_TRY(read_allocator(r, at, name));
    }
    hd_json_put_text(&r->rest, "}");
    return status == HD_END ? HD_OK : status;
}

/* ---- all of it ---- */

static hd_status read_document(tfmemory_reader *r)
{
    const char *at = r->text + (r->size >= 3 && memcmp(r->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    bool is_null, first = true;
    uint32_t key;
    hd_status status;
    at = hd_json_skip_space(at);
    HD_TRY(tfmemory_enter(r, &at, '{', &is_null));
    hd_json_put_text(&r->rest, "{");
    for (bool first_kept = true; (status = tfmemory_next_member(r, &at, &first, &key)) == HD_OK; first_kept = false) {
        if (!tfmemory_is(r, key, "memoryProfilePerAllocator")) {
            HD_TRY(keep_member(r, &at, key, first_kept));
            continue;
        }
        put_key(r, key, first_kept);
        HD_TRY(read_allocators(r, &at));
    }
    if (status != HD_END) return status;
    hd_json_put_text(&r->rest, "}");
    at = hd_json_skip_space(at);
    if (at != r->text + r->size) HD_TRY(tfmemory_lose(r, at, "more text behind the memory profile"));
    return r->rest.failed ? HD_NOMEM(r->err) : HD_OK;
}

static hd_status finish(tfmemory_reader *r)
{
    HD_TRY(hd_rows_out_flush(&r->rows, r->err));
    /* What stood around snapshots that were all lost is no trace. */
    if (!r->lost || hd_trace_event_count(hd_builder_trace(r->builder)))
        hd_builder_metadata(r->builder, hd_builder_intern_text(r->builder, "memoryProfile"),
                            hd_builder_intern(r->builder, r->rest.data, r->rest.size), true);
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    facts->input_bytes = r->size;
    facts->has_args = true;
    facts->base_ns = HD_NO_TIME; /* the session's start, which nothing tells */
    return HD_OK;
}

hd_status tfmemory_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    char *text = NULL;
    hd_error own = {0};
    tfmemory_reader r = {
        .builder = builder,
        .options = options,
        .err = err ? err : &own,
        .category = hd_builder_intern_text(builder, "memory"),
    };
    HD_TRY(hd_rows_out_init(&r.rows, builder, options->threads, err));
    hd_json_repair_init(&r.repair, NULL);
    hd_status status = read_input(&r, &text, input);
    if (status == HD_OK) status = read_document(&r);
    if (status == HD_OK) status = finish(&r);
    hd_rows_out_deinit(&r.rows);
    free(r.keys);
    free(r.values);
    free(r.spans);
    free(r.snapshots);
    free(r.scratch);
    free(r.rest.data);
    free(text);
    hd_json_repair_deinit(&r.repair);
    hd_arena_deinit(&r.mended);
    return status;
}
