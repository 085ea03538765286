/* read.c - a memory profile as a trace
 *
 *     allocator                 a track of the process "TensorFlow memory"
 *     its snapshots             slices of length 0 (the action) and samples of the counters (the result)
 *     all other members         the metadata "memoryProfile", unchanged
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/tfmemory/tfmemory.h"

static const uint64_t SIZE_LIMIT = (uint64_t)1 << 30;
static const char process_name[] = "TensorFlow memory";

/* Which of two keys comes first at the top level; a Chrome trace may have our metadata. */
int tfmemory_sniff(const unsigned char *head, size_t size)
{
    static const char *const keys[] = {"memoryProfilePerAllocator", "traceEvents"};
    return hd_walk_first_key(head, size, keys, 2) == 1 ? 90 : 0;
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
    hd_walk_span span;
    HD_TRY(hd_walk_skip(&span, &r->walk, at));
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
        hd_walk_span span;
        HD_TRY(hd_walk_lose(&r->walk, *at, "no object where one must be"));
        HD_TRY(hd_walk_skip(&span, &r->walk, at));
        hd_json_put(&r->rest, span.data, span.size);
        return HD_OK;
    }
    HD_TRY(make_track(r, name));
    HD_TRY(hd_walk_enter(&r->walk, at, '{', &is_null));
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
    HD_TRY(hd_walk_enter(&r->walk, at, '{', &is_null));
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
    const char *at = hd_walk_start(&r->walk);
    bool is_null, first = true;
    uint32_t key;
    hd_status status;
    HD_TRY(hd_walk_enter(&r->walk, &at, '{', &is_null));
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
    if (at != r->walk.text + r->walk.size) HD_TRY(hd_walk_lose(&r->walk, at, "more text after the memory profile"));
    return r->rest.failed ? HD_NOMEM(r->err) : HD_OK;
}

static hd_status finish(tfmemory_reader *r)
{
    HD_TRY(hd_args_finish(&r->args, r->err));
    /* If all snapshots were lost, the rest is not a trace. */
    if (!r->walk.lost || hd_trace_event_count(hd_builder_trace(r->builder))) {
        const uint32_t key_id = hd_builder_intern_text(r->builder, "memoryProfile");
        hd_builder_metadata(r->builder, key_id, hd_builder_intern(r->builder, r->rest.data, r->rest.size), true);
    }
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    facts->input_bytes = r->walk.size;
    facts->has_args = r->args.wanted;
    facts->base_ns = HD_NO_TIME; /* the session's start, which is unknown */
    return HD_OK;
}

hd_status tfmemory_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    static const hd_walk_about about = {"memory profile", TFMEMORY_STAGE, "tfmemory.value-damaged",
                                        "tfmemory.truncated"};
    hd_error own = {0};
    err = err ? err : &own;
    tfmemory_reader r = {.builder = builder, .err = err, .category = hd_builder_intern_text(builder, "memory")};
    HD_TRY(hd_args_init(&r.args, builder, options, err));
    hd_status status = hd_walk_init(&r.walk, &about, builder, input, SIZE_LIMIT, options, err);
    if (status == HD_OK) status = read_document(&r);
    if (status == HD_OK) status = finish(&r);
    hd_args_deinit(&r.args);
    free(r.snapshots);
    free(r.rest.data);
    hd_walk_deinit(&r.walk);
    return status;
}
