/* values.c - values of a pickle as arguments, JSON and stacks; work is bounded where values are shared */
#include "format/pickle/values.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/numbers.h"
#include "trace/text.h"

enum { JSON_DEPTH = 32, SHARING = 64, JSON_LIMIT = 1 << 28 };
enum {
    ESCAPED = 6,
    TEXT_LIMIT = (1 << 30) / ESCAPED
}; /* bytes of JSON for one of a text, at most; of a text in JSON */

hd_status pickle_count(pickle_reader *r, size_t code, uint64_t n, uint64_t offset)
{
    const hd_line line = {.offset = offset};
    return hd_stack_samples_count(&r->samples, code, n, &line);
}

bool pickle_is_spent(const pickle_reader *r)
{
    return r->work / SHARING > r->pickle.in.size;
}

/* Whether one more look at the entries of a value is within SHARING times the input. */
bool pickle_afford(pickle_reader *r, pickle_value v)
{
    bool holds = v.type == PICKLE_LIST || v.type == PICKLE_DICT;
    r->work += 1 + (holds ? r->pickle.holders[v.number].count : 0);
    return !pickle_is_spent(r);
}

/* The number of items of a list; once the budget is spent, they are counted without visiting each. */
uint32_t pickle_item_count(const pickle_reader *r, pickle_value list)
{
    return list.type == PICKLE_LIST ? r->pickle.holders[list.number].count : 0;
}

/* ---- values as arguments, and as JSON ---- */

hd_status pickle_intern(pickle_reader *r, uint32_t *out, pickle_value v)
{
    size_t repaired;
    hd_string text = hd_stack_samples_utf8(&r->samples, &repaired, pickle_text(&r->pickle, v));
    *out = hd_builder_intern(r->builder, text.data, text.size);
    return *out == HD_STRING_NONE ? HD_NOMEM(r->err)
                                  : pickle_count(r, PICKLE_TEXT_UTF8, repaired, pickle_text_offset(&r->pickle, v));
}

static void put_json(pickle_reader *r, pickle_value v, int depth)
{
    pickle_cursor c = {0};
    pickle_value item, value;
    bool first = true;
    double number;
    uint64_t most = r->pickle.in.size < JSON_LIMIT ? r->pickle.in.size + SHARING : JSON_LIMIT;
    if (depth > JSON_DEPTH || r->json.size > most || r->told / SHARING > most) {
        r->json.failed = true;
        return;
    }
    switch (v.type) {
    case PICKLE_BOOL: hd_json_put_text(&r->json, v.bits ? "true" : "false"); return;
    case PICKLE_INT: hd_json_put_int(&r->json, (int64_t)v.bits); return;
    case PICKLE_LARGE: hd_json_put_unsigned(&r->json, v.bits); return;
    case PICKLE_FLOAT:
        memcpy(&number, &v.bits, sizeof number);
        hd_json_put_double(&r->json, number);
        return;
    case PICKLE_TEXT: {
        hd_string text = pickle_text(&r->pickle, v);
        if (text.size > TEXT_LIMIT)
            r->json.failed = true;
        else
            hd_json_put_string(&r->json, text.data, text.size);
        return;
    }
    case PICKLE_LIST:
    case PICKLE_DICT: break;
    default: hd_json_put_text(&r->json, "null"); return;
    }
    bool is_dict = v.type == PICKLE_DICT;
    hd_json_put_text(&r->json, is_dict ? "{" : "[");
    while (!r->json.failed && pickle_next(&item, &c, &r->pickle, v)) {
        if (is_dict) {
            hd_string key = pickle_text(&r->pickle, item);
            if (!pickle_next(&value, &c, &r->pickle, v)) break;
            if (r->leaves_frames && hd_string_is(key, "frames")) continue;
            hd_json_put_text(&r->json, first ? "" : ",");
            hd_json_put_string(&r->json, key.data, key.size);
            hd_json_put_text(&r->json, ":");
            item = value;
        } else {
            hd_json_put_text(&r->json, first ? "" : ",");
        }
        first = false;
        put_json(r, item, depth + 1);
    }
    hd_json_put_text(&r->json, is_dict ? "}" : "]");
}

hd_status pickle_add_arg(pickle_reader *r, const char *key, uint32_t key_id, hd_arg_type type, int64_t bits)
{
    if (r->arg_count == HD_STACK_MORE) return pickle_count(r, PICKLE_ARGUMENT_LOST, 1, HD_OFFSET_NONE);
    uint32_t id = key ? hd_builder_intern_text(r->builder, key) : key_id;
    r->keys[r->arg_count] = (hd_arg_key){.key = id, .type = (uint8_t)type, .scope = HD_SCOPE_ARGS};
    r->values[r->arg_count++] = bits;
    return id == HD_STRING_NONE ? HD_NOMEM(r->err) : HD_OK;
}

/* false: too large, or without end. */
static bool make_json(pickle_reader *r, pickle_value v)
{
    r->json.size = 0;
    put_json(r, v, 0);
    bool fine = !r->json.failed;
    r->told += r->json.size;
    r->json.failed = false;
    return fine;
}

hd_status pickle_add_value(pickle_reader *r, const char *key, uint32_t key_id, pickle_value v)
{
    uint32_t id;
    int64_t bits = (int64_t)v.bits;
    switch (v.type) {
    case PICKLE_ABSENT:
    case PICKLE_NONE:
    case PICKLE_OPAQUE: return HD_OK;
    case PICKLE_BOOL: return pickle_add_arg(r, key, key_id, HD_ARG_BOOL, bits);
    case PICKLE_INT: return pickle_add_arg(r, key, key_id, HD_ARG_INT, bits);
    case PICKLE_LARGE: {
        hd_arg_type type = hd_value_of_unsigned(&bits, r->builder, v.bits);
        return pickle_add_arg(r, key, key_id, type, bits);
    }
    case PICKLE_TEXT: HD_TRY(pickle_intern(r, &id, v)); return pickle_add_arg(r, key, key_id, HD_ARG_STRING, id);
    default: break;
    }
    if (!make_json(r, v)) return pickle_count(r, PICKLE_ARGUMENT_LOST, 1, HD_OFFSET_NONE);
    return pickle_add_arg(r, key, key_id, HD_ARG_JSON, hd_builder_intern(r->builder, r->json.data, r->json.size));
}

/* ---- stacks ---- */

int64_t pickle_int_or(pickle_value v, int64_t otherwise)
{
    return v.type == PICKLE_INT ? (int64_t)v.bits : otherwise;
}

int64_t pickle_int_of(const pickle_reader *r, pickle_value dict, const char *key, int64_t otherwise)
{
    return pickle_int_or(pickle_find(&r->pickle, dict, key), otherwise);
}

/* The id of a frame's text; HD_NONE: no memory. Frames are shared by stacks, each is put together once. */
static uint32_t find_frame(pickle_reader *r, hd_frame_kind *out_kind, pickle_value f)
{
    size_t repaired;
    const bool is_dict = f.type == PICKLE_DICT;
    const hd_map_entry *known = is_dict ? hd_map_find(&r->frames, f.number, 0) : NULL;
    if (known) {
        *out_kind = (hd_frame_kind)hd_map_find(&r->frames, f.number, 1)->value;
        return known->value;
    }
    hd_string name = pickle_text(&r->pickle, pickle_find(&r->pickle, f, "name"));
    r->text.size = 0;
    hd_text_put_frame(&r->text, name.size ? name : (hd_string){"[unknown]", 9},
                      pickle_text(&r->pickle, pickle_find(&r->pickle, f, "filename")), pickle_int_of(r, f, "line", 0),
                      0);
    hd_string text = {(char *)r->text.data, r->text.size};
    text = hd_stack_samples_utf8(&r->samples, &repaired, text);
    uint32_t id = r->text.failed ? HD_NONE : hd_stack_samples_frame(&r->samples, out_kind, text.data, text.size);
    if (!is_dict || id == HD_NONE) return id;
    bool kept = hd_map_set(&r->frames, f.number, 0, id) && hd_map_set(&r->frames, f.number, 1, *out_kind);
    return kept ? id : HD_NONE;
}

/* Frames are from the innermost to the outermost; equal lists are one stack. */
static hd_status find_stack(pickle_reader *r, uint32_t *out, pickle_value frames)
{
    pickle_cursor c = {0};
    pickle_value f;
    uint64_t id[2];
    size_t n = 0;
    *out = HD_STACK_NONE;
    if (frames.type != PICKLE_LIST) return HD_OK;
    pickle_identity(id, &r->pickle, frames);
    const hd_map_entry *known = hd_map_find(&r->stacks, id[0], id[1]);
    if (known) {
        *out = known->value;
        return HD_OK;
    }
    while (pickle_next(&f, &c, &r->pickle, frames)) {
        if (!hd_grow((void **)&r->list, &r->list_capacity, n, sizeof f)) return HD_NOMEM(r->err);
        r->list[n++] = f;
    }
    while (n && *out != HD_NONE) {
        hd_frame_kind kind = HD_FRAME_UNKNOWN;
        f = r->list[--n];
        if (!pickle_afford(r, f)) continue;
        uint32_t name = find_frame(r, &kind, f);
        *out = hd_stacks_push(r->samples.stacks, *out, name, kind);
    }
    if (*out == HD_NONE || !hd_map_set(&r->stacks, id[0], id[1], *out)) return HD_NOMEM(r->err);
    return HD_OK;
}

/* The frames as the stack of the row that is being built. */
hd_status pickle_add_stack(pickle_reader *r, pickle_value frames)
{
    uint32_t node;
    HD_TRY(find_stack(r, &node, frames));
    if (node == HD_STACK_NONE) return HD_OK;
    HD_TRY(pickle_add_arg(r, "sf", 0, HD_ARG_INT, node));
    r->keys[r->arg_count - 1].scope = HD_SCOPE_EVENT;
    return HD_OK;
}

hd_status pickle_add_row(pickle_reader *r, hd_row *row)
{
    return hd_stack_samples_add_row(&r->samples, row, r->keys, r->values, r->arg_count);
}

/* ---- the document ---- */

bool pickle_is_gone(const pickle_reader *r, pickle_value v)
{
    return r->pickle.holders[v.number].is_gone;
}

bool pickle_is_open(const pickle_reader *r, pickle_value v)
{
    return r->pickle.holders[v.number].is_open;
}

hd_status pickle_add_rest(pickle_reader *r, const char *without)
{
    pickle_cursor c = {0};
    pickle_value key, value;
    while (pickle_next(&key, &c, &r->pickle, r->pickle.root) && pickle_next(&value, &c, &r->pickle, r->pickle.root)) {
        hd_string name = pickle_text(&r->pickle, key);
        if (hd_string_is(name, without) || !name.size) continue;
        uint32_t id;
        HD_TRY(pickle_intern(r, &id, key));
        bool fine = make_json(r, value);
        if (!fine) {
            r->leaves_frames = true;
            fine = make_json(r, value);
            r->leaves_frames = false;
            HD_TRY(pickle_count(r, fine ? PICKLE_METADATA_CUT : PICKLE_ARGUMENT_LOST, 1,
                                pickle_text_offset(&r->pickle, key)));
        }
        if (fine) hd_builder_metadata(r->builder, id, hd_builder_intern(r->builder, r->json.data, r->json.size), true);
    }
    return HD_OK;
}

/* A pickle of any protocol: where its dict begins, as PROTO, FRAME, EMPTY_DICT have it, or without a header MARK DICT
 * (protocol 0) and EMPTY_DICT with its place in the memo (protocol 1). */
bool pickle_begins_dict(const unsigned char *head, size_t size)
{
    if (size < 16) return false;
    if (head[0] == '(') return head[1] == 'd' && head[2] == 'p' && head[3] >= '0' && head[3] <= '9';
    if (head[0] == '}') return head[1] == 'q' && head[3] == '(';
    return head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 && head[head[2] == 0x95 ? 11 : 2] == '}';
}

/* ---- opened and closed ---- */

hd_status pickle_reader_open(pickle_reader *r, hd_builder *builder, hd_input *input, const char *stage,
                             const hd_stack_code *codes, const hd_read_options *options, hd_error *err)
{
    r->builder = builder;
    r->err = err;
    return hd_stack_samples_open(&r->samples, builder, input, stage, codes, options, err);
}

hd_status pickle_reader_read(pickle_reader *r, const hd_pieces *pieces, const pickle_stream *stream, const char *title)
{
    pickle_deinit(&r->pickle);
    r->work = r->told = 0;
    HD_TRY(pickle_read(&r->pickle, pieces, stream, r->err));
    if (r->pickle.root.type == PICKLE_DICT) return HD_OK;
    return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, r->pickle.in.at, "the pickle is not a %s: it is not a dict",
                        title);
}

hd_status pickle_reader_check(pickle_reader *r)
{
    const pickle *p = &r->pickle;
    HD_TRY(pickle_count(r, PICKLE_TRUNCATED, p->in.truncated, p->in.at));
    HD_TRY(pickle_count(r, PICKLE_DAMAGED, p->in.damaged, p->in.at));
    return pickle_count(r, PICKLE_OBJECT_SKIPPED, p->opaque, p->opaque_at);
}

hd_status pickle_reader_finish(pickle_reader *r, uint64_t input_bytes)
{
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    facts->input_bytes = input_bytes;
    facts->base_ns = 0; /* Unix time */
    return hd_stack_samples_finish(&r->samples);
}

void pickle_reader_close(pickle_reader *r)
{
    hd_stack_samples_close(&r->samples);
    pickle_deinit(&r->pickle);
    hd_map_deinit(&r->stacks);
    hd_map_deinit(&r->frames);
    free(r->list);
    hd_bytes_deinit(&r->text);
    free(r->json.data);
}
