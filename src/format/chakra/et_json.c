/* et_json.c - the JSON of PyTorch's execution trace observer, and of chakra_trace_link */
#include "base/error.h"
#include "format/chakra/chakra.h"

bool chakra_is_json(const unsigned char *head, size_t size)
{
    static const char schema[] = "\"schema\"", nodes[] = "\"nodes\"", events[] = "\"traceEvents\"";
    size_t at = 0;
    while (at < size && hd_json_is_space((char)head[at])) at++;
    return at < size && head[at] == '{' && memmem(head, size, schema, sizeof schema - 1) &&
           memmem(head, size, nodes, sizeof nodes - 1) && !memmem(head, size, events, sizeof events - 1);
}

/* Decimal microseconds. */
static bool micros(hd_fixed *out, hd_json_span value)
{
    if (value.size >= 2 && *value.data == '"') value = (hd_json_span){value.data + 1, value.size - 2};
    return hd_fixed_parse(out, value.data, value.size, 3);
}

/* One id, or a list of them. */
static hd_status take_edges(chakra_reader *r, chakra_dependency kind, hd_json_span value, hd_error *err)
{
    hd_json_span item;
    int64_t id;
    if (*value.data != '[')
        return hd_json_span_int(&id, value) && id > 0 ? chakra_add_edge(r, kind, (uint64_t)id, err) : HD_OK;
    for (const char *p = value.data; (p = hd_json_next_item(&item, p)) != NULL;)
        if (hd_json_span_int(&id, item) && id > 0) HD_TRY(chakra_add_edge(r, kind, (uint64_t)id, err));
    return HD_OK;
}

static hd_status take_member(chakra_reader *r, chakra_node *node, hd_json_span key, hd_json_span value, hd_error *err);

/* [{"name":"tid","type":"uint64","value":7}, …]: as if they were members of the node. */
static hd_status take_attributes(chakra_reader *r, chakra_node *node, hd_json_span list, hd_error *err)
{
    hd_json_span item, inner;
    hd_json_text text;
    for (const char *p = list.data; *list.data == '[' && (p = hd_json_next_item(&item, p)) != NULL;) {
        hd_json_span name = {NULL, 0}, value = {NULL, 0};
        for (const char *q = item.data; *item.data == '{' && (q = hd_json_next_member(&text, &inner, q)) != NULL;) {
            hd_json_span key = {text.data, text.size};
            if (hd_json_span_is(key, "name") && *inner.data == '"')
                name = (hd_json_span){inner.data + 1, inner.size - 2};
            if (hd_json_span_is(key, "value")) value = inner;
        }
        if (name.data && value.data && !hd_json_span_is(name, "attrs")) HD_TRY(take_member(r, node, name, value, err));
    }
    return HD_OK;
}

static hd_status take_member(chakra_reader *r, chakra_node *node, hd_json_span key, hd_json_span value, hd_error *err)
{
    int64_t number;
    if (hd_json_span_is(key, "attrs")) return take_attributes(r, node, value, err);
    if (hd_json_span_is(key, "id")) {
        if (hd_json_span_int(&number, value)) node->id = (uint64_t)number;
    } else if (hd_json_span_is(key, "name")) {
        node->name = hd_args_text(&r->args, value);
        return HD_OK;
    } else if (hd_json_span_is(key, "cat")) {
        node->category = hd_args_text(&r->args, value);
        return HD_OK;
    } else if (hd_json_span_is(key, "ts")) {
        if ((node->has_start = micros(&node->start, value))) return HD_OK;
    } else if (hd_json_span_is(key, "inclusive_dur") || hd_json_span_is(key, "dur")) {
        if ((node->has_duration = micros(&node->duration, value))) return HD_OK;
    } else if (hd_json_span_is(key, "tid")) {
        if (hd_json_span_int(&number, value)) node->thread = number;
    } else if (hd_json_span_is(key, "stream")) {
        if (hd_json_span_int(&number, value)) node->stream = number;
    } else if (hd_json_span_is(key, "scope")) {
        if (hd_json_span_int(&number, value)) node->scope = number;
    } else if (hd_json_span_is(key, "ctrl_deps") || hd_json_span_is(key, "parent")) {
        HD_TRY(take_edges(r, CHAKRA_CONTROL, value, err));
    } else if (hd_json_span_is(key, "data_deps")) {
        HD_TRY(take_edges(r, CHAKRA_DATA, value, err));
    } else if (hd_json_span_is(key, "inter_thread_dep") || hd_json_span_is(key, "sync_dep")) {
        HD_TRY(take_edges(r, CHAKRA_THREAD, value, err));
    } else if (hd_json_span_is(key, "ph")) {
        return HD_OK;
    }
    hd_args_json(&r->args, hd_args_intern(&r->args, key.data, key.size), value);
    return HD_OK;
}

static hd_status see_node(chakra_reader *r, hd_json_span value, uint64_t offset, hd_error *err)
{
    chakra_node node;
    hd_json_text text;
    hd_json_span inner;
    if (*value.data != '{') return chakra_damage(r, offset, err);
    chakra_node_init(&node);
    for (const char *p = value.data; (p = hd_json_next_member(&text, &inner, p)) != NULL;)
        HD_TRY(take_member(r, &node, (hd_json_span){text.data, text.size}, inner, err));
    return chakra_add_node(r, &node, err);
}

static hd_status read_nodes(chakra_reader *r, hd_json_stream *s, hd_error *err)
{
    hd_json_span value;
    hd_status status;
    while ((status = hd_json_stream_item(s, err)) == HD_OK) {
        status = hd_json_stream_value(s, &value, err);
        if (status == HD_END) continue;
        HD_TRY(status);
        HD_TRY(see_node(r, value, s->value_offset, err));
    }
    return status == HD_END ? HD_OK : status;
}

static hd_status keep_member(chakra_reader *r, hd_json_stream *s, hd_json_span key, hd_error *err)
{
    hd_json_span value;
    uint32_t name = hd_args_intern(&r->args, key.data, key.size);
    bool is_pid = hd_json_span_is(key, "pid");
    hd_status status = hd_json_stream_value(s, &value, err);
    if (status == HD_END) return HD_OK;
    HD_TRY(status);
    if (is_pid && r->seen_count == 0) hd_json_span_int(&r->pid, value);
    hd_builder_metadata(r->builder, name, hd_builder_intern(r->builder, value.data, value.size), r->seen_count > 0);
    return HD_OK;
}

static hd_status read_members(chakra_reader *r, hd_json_stream *s, hd_error *err)
{
    hd_json_span key;
    hd_status status = hd_json_stream_enter(s, '{', err);
    if (status == HD_OK) {
        while ((status = hd_json_stream_member(s, &key, err)) == HD_OK) {
            bool is_list = hd_json_span_is(key, "nodes");
            if (is_list) status = hd_json_stream_enter(s, '[', err);
            if (status != HD_END) HD_TRY(status);
            HD_TRY(is_list && status == HD_OK ? read_nodes(r, s, err) : keep_member(r, s, key, err));
        }
    }
    return status == HD_END ? HD_OK : status;
}

hd_status chakra_read_json(chakra_reader *r, hd_input *input, hd_error *err)
{
    hd_json_stream s = {.input = input};
    char c = 0;
    hd_status status = read_members(r, &s, err);
    if (status == HD_OK && !s.cut) status = hd_json_stream_peek(&s, &c, err);
    r->damaged += s.damaged + (c != 0);
    if (s.damaged || c) r->damage_offset = s.damaged ? s.damage_offset : s.read_bytes - s.end + s.at;
    if (status == HD_OK && r->options->strict && r->damaged)
        status =
            hd_error_set(err, HD_ERR_DAMAGED, NULL, r->damage_offset, "no valid JSON, and --strict refuses repairs");
    r->is_cut = s.cut;
    r->read_bytes = s.read_bytes;
    hd_json_stream_deinit(&s);
    return status;
}
