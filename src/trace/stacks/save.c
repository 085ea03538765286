/* save.c - the tree of frames as a trace's stackFrames
 *
 * A tree that the trace keeps has a string in its metadata that is in no table: its text is made once, when it is first
 * read. That is rare: stacks are looked up by hd_trace_stacks_new, which lends the tree.
 */
#include <stdlib.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "heddle/stacks.h"
#include "trace/impl.h"
#include "trace/stacks/trace_stacks.h"

struct hd_kept_stacks {
    hd_stacks *tree;
    uint32_t text_id;
    pthread_mutex_t lock; /* of making the text */
    _Atomic(hd_string *) made;
    hd_string text;
    char *memory;
    atomic_bool failed;
};

/* ---- text ---- */

/* The keys of nodes: keys[node], or without such base + node. */
typedef struct node_keys {
    uint64_t base;
    const uint64_t *keys;
} node_keys;

static void put_key(hd_json_out *out, node_keys by, uint32_t node)
{
    hd_json_put_int(out, (int64_t)(by.keys ? by.keys[node] : by.base + node));
}

static void put_frame(hd_json_out *out, const hd_stacks *stacks, uint32_t node, node_keys by)
{
    hd_frame frame = hd_stacks_at(stacks, node);
    hd_string name = hd_stacks_text(stacks, frame.name);
    hd_json_put_text(out, out->size > 1 ? ",\"" : "\"");
    put_key(out, by, node);
    hd_json_put_text(out, "\":{\"name\":");
    hd_json_put_string(out, name.data, name.size);
    if (frame.kind != HD_FRAME_UNKNOWN) {
        hd_json_put_text(out, ",\"category\":\"");
        hd_json_put_text(out, hd_frame_kind_name(frame.kind));
        hd_json_put_text(out, "\"");
    }
    if (frame.caller != HD_STACK_NONE) {
        hd_json_put_text(out, ",\"parent\":");
        put_key(out, by, frame.caller);
    }
    hd_json_put_text(out, "}");
}

static void put_frames(hd_json_out *out, const hd_stacks *stacks, node_keys by)
{
    uint32_t count = hd_stacks_count(stacks);
    for (uint32_t node = 1; node < count && !out->failed; node++) put_frame(out, stacks, node, by);
    hd_json_put_text(out, "}");
}

/* ---- saved at once ---- */

/* The trace's entry for the key, NULL: none. */
static hd_metadata *find_metadata(hd_builder *builder, uint32_t key)
{
    hd_metadata *known = builder->trace.metadata;
    size_t at = builder->trace.metadata_count;
    while (at > 0 && known[at - 1].key != key) at--;
    return at ? &known[at - 1] : NULL;
}

static hd_status put_metadata(hd_builder *builder, uint32_t value, hd_error *err)
{
    uint32_t key = hd_builder_intern_text(builder, "stackFrames");
    if (key == HD_STRING_NONE || value == HD_STRING_NONE) return HD_NOMEM(err);
    hd_metadata *known = find_metadata(builder, key);
    if (known)
        known->value = value;
    else
        hd_builder_metadata(builder, key, value, true);
    return HD_OK;
}

static hd_status save(const hd_stacks *stacks, node_keys by, hd_string beside, hd_builder *builder, hd_error *err)
{
    hd_json_out out = {0};
    if (hd_stacks_count(stacks) <= 1) return HD_OK;
    if (beside.size)
        hd_json_put(&out, beside.data, beside.size);
    else
        hd_json_put_text(&out, "{");
    put_frames(&out, stacks, by);
    hd_status status = HD_OK;
    if (out.failed)
        status = HD_NOMEM(err);
    else if (out.size > UINT32_MAX)
        status = hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 4 GiB of stack frames");
    else
        status = put_metadata(builder, hd_builder_intern(builder, out.data, out.size), err);
    free(out.data);
    return status;
}

hd_status hd_stacks_save(const hd_stacks *stacks, hd_builder *builder, hd_error *err)
{
    return save(stacks, (node_keys){0}, (hd_string){"", 0}, builder, err);
}

hd_status hd_stacks_save_by(const hd_stacks *stacks, const uint64_t *keys, hd_builder *builder, hd_error *err)
{
    return save(stacks, (node_keys){.keys = keys}, (hd_string){"", 0}, builder, err);
}

hd_status hd_stacks_common_keys(uint64_t **out, const hd_stacks *stacks, hd_error *err)
{
    enum {
        SURPLUS = 12
    }; /* leaves 52 bits: JSON readers with doubles round from 2^53 on, and other programs may
          number after us */
    uint32_t count = hd_stacks_count(stacks), names = hd_stacks_name_count(stacks);
    uint64_t *keys = calloc(count, sizeof *keys), *name_keys = malloc(names * sizeof *name_keys);
    hd_map known = {0};
    hd_status status = keys && name_keys ? HD_OK : HD_NOMEM(err);
    for (uint32_t i = 0; i < names && name_keys; i++) {
        hd_string name = hd_stacks_text(stacks, i);
        name_keys[i] = hd_checksum(name.data, name.size);
    }
    for (uint32_t n = 1; n < count && status == HD_OK; n++) {
        hd_frame frame = hd_stacks_at(stacks, n);
        const uint64_t both[] = {keys[frame.caller], name_keys[frame.name]};
        keys[n] = hd_checksum(both, sizeof both) >> SURPLUS;
        hd_map_entry *entry = hd_map_at(&known, keys[n], 0);
        if (!entry) status = HD_NOMEM(err);
        if (entry && (entry->value || !keys[n]))
            status = hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "two stacks have one checksum of 52 bits");
        if (entry) entry->value = 1;
    }
    hd_map_deinit(&known);
    free(name_keys);
    if (status != HD_OK) free(keys);
    *out = status == HD_OK ? keys : NULL;
    return status;
}

hd_status hd_stacks_save_from(const hd_stacks *stacks, uint64_t base, bool beside, hd_builder *builder, hd_error *err)
{
    uint32_t key = hd_builder_intern_text(builder, "stackFrames");
    const hd_metadata *known = beside && key != HD_STRING_NONE ? find_metadata(builder, key) : NULL;
    hd_string text = known ? hd_builder_string(builder, known->value) : (hd_string){"", 0};
    while (text.size && text.data[text.size - 1] != '}') text.size--; /* the frames without the closing brace */
    if (text.size) text.size--;
    while (text.size > 1 && (unsigned char)text.data[text.size - 1] <= ' ') text.size--;
    return save(stacks, (node_keys){.base = base}, text, builder, err);
}

/* ---- kept by the trace ---- */

/* Whether the text can hold the tree unchanged, and is no longer than a string can be. */
static bool can_be_kept(const hd_stacks *stacks, hd_error *err, hd_status *out)
{
    enum { FRAME_BYTES = 96, WIDEST = 6 }; /* the bytes around a name, and of a byte as an escape */
    uint32_t names = hd_stacks_name_count(stacks), count = hd_stacks_count(stacks);
    uint64_t *sizes = malloc(names * sizeof *sizes), sum = 0;
    *out = sizes ? HD_OK : HD_NOMEM(err);
    bool kept = sizes != NULL;
    for (uint32_t i = 0; i < names && kept; i++) {
        hd_string name = hd_stacks_text(stacks, i);
        kept = hd_utf8_valid(name.data, name.size, false);
        sizes[i] = FRAME_BYTES + WIDEST * (uint64_t)name.size;
    }
    for (uint32_t n = 1; n < count && kept; n++) {
        hd_frame frame = hd_stacks_at(stacks, n);
        sum += sizes[frame.name];
        kept = frame.name != 0 && sum <= UINT32_MAX; /* a frame without a name is read as another */
    }
    free(sizes);
    return kept;
}

static hd_status keep(hd_stacks *stacks, hd_trace *trace, hd_error *err)
{
    hd_kept_stacks *kept = trace->kept;
    if (!kept) {
        kept = calloc(1, sizeof *kept);
        if (!kept) return HD_NOMEM(err);
        pthread_mutex_init(&kept->lock, NULL);
        trace->kept = kept;
        kept->text_id = hd_strings_reserve(&trace->strings);
    }
    if (kept->text_id == HD_STRING_NONE) return HD_NOMEM(err);
    hd_stacks_free(kept->tree);
    free(kept->memory);
    kept->memory = NULL;
    atomic_store(&kept->made, NULL);
    kept->tree = stacks;
    return HD_OK;
}

hd_status hd_stacks_give(hd_stacks *stacks, hd_builder *builder, hd_error *err)
{
    hd_status status = HD_OK;
    if (hd_stacks_count(stacks) <= 1 || !can_be_kept(stacks, err, &status)) {
        if (status == HD_OK) status = hd_stacks_save(stacks, builder, err);
        hd_stacks_free(stacks);
        return status;
    }
    hd_stacks_freeze(stacks);
    status = keep(stacks, &builder->trace, err);
    if (status != HD_OK) {
        hd_stacks_free(stacks);
        return status;
    }
    return put_metadata(builder, builder->trace.kept->text_id, err);
}

/* Called with the lock held. Without memory the text has no frames, and hd_trace_unloaded counts it. */
static void make_text(hd_kept_stacks *kept)
{
    hd_json_out out = {0};
    hd_json_put_text(&out, "{");
    put_frames(&out, kept->tree, (node_keys){0});
    if (out.failed) {
        free(out.data);
        kept->text = (hd_string){"{}", 2};
        atomic_store(&kept->failed, true);
    } else {
        kept->memory = out.data;
        kept->text = (hd_string){out.data, out.size};
    }
}

bool hd_kept_stacks_text(hd_string *out, hd_kept_stacks *kept, uint32_t id)
{
    if (id != kept->text_id) return false;
    hd_string *made = atomic_load_explicit(&kept->made, memory_order_acquire);
    if (!made) {
        pthread_mutex_lock(&kept->lock);
        made = atomic_load(&kept->made);
        if (!made) {
            make_text(kept);
            made = &kept->text;
            atomic_store_explicit(&kept->made, made, memory_order_release);
        }
        pthread_mutex_unlock(&kept->lock);
    }
    *out = *made;
    return true;
}

bool hd_kept_stacks_failed(const hd_kept_stacks *kept)
{
    return atomic_load(&kept->failed);
}

const hd_stacks *hd_kept_stacks_tree(const hd_trace *trace)
{
    if (!trace->kept) return NULL;
    for (size_t i = trace->metadata_count; i-- > 0;) {
        hd_string key = hd_trace_string(trace, trace->metadata[i].key);
        if (key.size == 11 && memcmp(key.data, "stackFrames", 11) == 0) /* the key may have another text by now */
            return trace->metadata[i].value == trace->kept->text_id ? trace->kept->tree : NULL;
    }
    return NULL;
}

void hd_kept_stacks_free(hd_kept_stacks *kept)
{
    if (!kept) return;
    hd_stacks_free(kept->tree);
    free(kept->memory);
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}
