/* cpuprofile.c - V8's CPU profiles -> samples
 *
 * Format   Profiler.Profile of the Chrome DevTools Protocol: a tree of nodes, the node of each sample, and the time
 *          between samples. Written by node --cpu-prof, Chrome, Deno, VS Code
 * Sniffs   its keys, and a call frame
 * Maps     node -> stack; sample -> sample, which lasts until the next; nodes of a profile without samples -> samples
 *          that count hits. docs/formats/cpuprofile.md
 * Units    µs -> ns         Shapes   n samples -> n rows
 * Limits   1 GiB         Errors   DAMAGED: no object, nothing can be read, strict
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "base/memory/vector.h"
#include "format/json_walk.h"
#include "format/stack_samples.h"
#include "trace/text.h"

static const uint64_t SIZE_LIMIT = (uint64_t)1 << 30;

enum { MICRO = 1000 };
enum { NODE_MISSING, NODE_CIRCLE, NODE_REPEATED, TIME_MISSING, TIME_BACKWARDS, SAMPLE_MISSING };

static const hd_stack_code codes[] = {
    [NODE_MISSING] = {"cpuprofile.node-missing", HD_LEDGER_LOSS, NULL},
    [NODE_CIRCLE] = {"cpuprofile.node-circle", HD_LEDGER_LOSS, NULL},
    [NODE_REPEATED] = {"cpuprofile.node-repeated", HD_LEDGER_LOSS, NULL},
    [TIME_MISSING] = {"cpuprofile.time-missing", HD_LEDGER_LOSS, NULL},
    [TIME_BACKWARDS] = {"cpuprofile.time-backwards", HD_LEDGER_NOTE, NULL},
    [SAMPLE_MISSING] = {"cpuprofile.sample-missing", HD_LEDGER_LOSS, NULL},
};

typedef enum node_state { NODE_NEW, NODE_OPEN, NODE_DONE } node_state;

typedef struct node {
    int64_t id, hits;
    uint32_t name, parent; /* parent: index, HD_NONE: none given */
    hd_frame_kind kind;
    uint32_t stack;
    node_state state;
} node;

typedef struct reader {
    hd_json_walk walk;
    hd_stack_samples samples;
    hd_builder *builder;
    hd_error *err;
    node *nodes;
    size_t node_count, node_capacity;
    hd_map by_id;   /* node */
    hd_map parents; /* of an id: node, by lists of children */
    uint32_t *path; /* nodes on the way to one that is done */
    size_t path_count, path_capacity;
    const char *lists[4]; /* positions of nodes, samples, timeDeltas, timestamps; NULL: absent */
    hd_bytes text, url;
    hd_json_out rest;
    int64_t start_us, end_us; /* HD_NO_TIME: not given */
    uint32_t track, event, category;
} reader;

enum { LIST_NODES, LIST_SAMPLES, LIST_DELTAS, LIST_TIMES, LISTS };

static hd_status count(reader *r, size_t code, uint64_t n, const char *place)
{
    const hd_line line = {.offset = hd_walk_offset(&r->walk, place)};
    return hd_stack_samples_count(&r->samples, code, n, &line);
}

/* ---- nodes ---- */

static hd_status put_string(reader *r, hd_bytes *out, const char **at)
{
    hd_string value;
    HD_TRY(hd_walk_string(&value, &r->walk, at));
    out->size = 0;
    hd_bytes_put(out, value.data, value.size);
    return out->failed ? HD_NOMEM(r->err) : HD_OK;
}

/* functionName, url, lineNumber and columnNumber, which count from 0. */
static hd_status read_call_frame(reader *r, node *out, const char **at)
{
    bool is_null, first = true, is_number;
    int64_t line = -1, column = -1;
    hd_string key;
    hd_status status = HD_END;
    hd_bytes name = {0};
    HD_TRY(hd_walk_try_enter(&r->walk, at, '{', &is_null));
    r->url.size = 0;
    while (!is_null && (status = hd_walk_member(&key, &r->walk, at, &first)) == HD_OK) {
        if (hd_string_is(key, "functionName"))
            status = put_string(r, &name, at);
        else if (hd_string_is(key, "url"))
            status = put_string(r, &r->url, at);
        else if (hd_string_is(key, "lineNumber"))
            status = hd_walk_int(&line, &is_number, &r->walk, at);
        else if (hd_string_is(key, "columnNumber"))
            status = hd_walk_int(&column, &is_number, &r->walk, at);
        else
            status = hd_walk_keep(&r->walk, &r->rest, key, at);
        if (status != HD_OK) break;
    }
    r->text.size = 0;
    hd_string function = name.size ? (hd_string){(char *)name.data, name.size} : (hd_string){"(anonymous)", 11};
    hd_text_put_frame(&r->text, function, (hd_string){(char *)r->url.data, r->url.size},
                      line < INT32_MAX ? line + 1 : 0, column < INT32_MAX ? column + 1 : 0);
    out->name = r->text.failed || name.failed
                    ? HD_NONE
                    : hd_stack_samples_frame(&r->samples, &out->kind, (char *)r->text.data, r->text.size);
    if (r->url.size) out->kind = HD_FRAME_UNKNOWN; /* code of JavaScript */
    hd_bytes_deinit(&name);
    if (out->name == HD_NONE) return HD_NOMEM(r->err);
    return status == HD_END ? HD_OK : status;
}

static hd_status read_children(reader *r, const char **at)
{
    bool is_null, first = true, is_number;
    int64_t id;
    hd_status status;
    HD_TRY(hd_walk_try_enter(&r->walk, at, '[', &is_null));
    if (is_null) return HD_OK;
    while ((status = hd_walk_item(&r->walk, at, &first)) == HD_OK) {
        const char *place = *at;
        HD_TRY(hd_walk_int(&id, &is_number, &r->walk, at));
        if (!is_number)
            HD_TRY(count(r, NODE_MISSING, 1, place));
        else if (!hd_map_set(&r->parents, (uint64_t)id, 0, (uint32_t)r->node_count))
            return HD_NOMEM(r->err);
    }
    return status == HD_END ? HD_OK : status;
}

/* Other members are kept in the metadata. */
static hd_status read_member(reader *r, node *n, hd_string key, bool *has_id, const char **at)
{
    bool is_number;
    int64_t parent;
    const char *value = *at;
    if (hd_string_is(key, "callFrame")) return read_call_frame(r, n, at);
    if (hd_string_is(key, "children")) return read_children(r, at);
    if (hd_string_is(key, "parent")) {
        HD_TRY(hd_walk_int(&parent, &is_number, &r->walk, at));
        if (!is_number) return count(r, NODE_MISSING, 1, value);
        hd_map_entry *known = hd_map_find(&r->by_id, (uint64_t)parent, 0);
        n->parent = known ? known->value : HD_NONE;
        return known ? HD_OK : count(r, NODE_MISSING, 1, value);
    }
    bool is_id = hd_string_is(key, "id"), is_hits = hd_string_is(key, "hitCount");
    HD_TRY(hd_walk_keep(&r->walk, &r->rest, key, at));
    if (!is_id && !is_hits) return HD_OK;
    HD_TRY(hd_walk_int(is_id ? &n->id : &n->hits, &is_number, &r->walk, &value));
    *has_id |= is_id && is_number;
    return HD_OK;
}

static hd_status read_node(reader *r, const char **at)
{
    bool is_null, first = true, has_id = false;
    hd_string key;
    hd_status status;
    const char *place = *at;
    node n = {.parent = HD_NONE, .name = hd_stacks_name(r->samples.stacks, "[unknown]", 9)};
    HD_TRY(hd_walk_try_enter(&r->walk, at, '{', &is_null));
    if (is_null) return HD_OK;
    if (!hd_grow((void **)&r->nodes, &r->node_capacity, r->node_count, sizeof n)) return HD_NOMEM(r->err);
    hd_json_put_text(&r->rest, r->node_count ? ",{" : "{");
    while ((status = hd_walk_member(&key, &r->walk, at, &first)) == HD_OK) HD_TRY(read_member(r, &n, key, &has_id, at));
    hd_json_put_text(&r->rest, "}");
    if (status != HD_END) return status;
    if (!has_id || hd_map_find(&r->by_id, (uint64_t)n.id, 0)) return count(r, NODE_REPEATED, 1, place);
    if (!hd_map_set(&r->by_id, (uint64_t)n.id, 0, (uint32_t)r->node_count)) return HD_NOMEM(r->err);
    r->nodes[r->node_count++] = n;
    return HD_OK;
}

static uint32_t parent_of(const reader *r, uint32_t index)
{
    const node *n = &r->nodes[index];
    const hd_map_entry *listed = hd_map_find(&r->parents, (uint64_t)n->id, 0);
    uint32_t parent = listed ? listed->value : n->parent;
    return parent < r->node_count ? parent : HD_NONE;
}

/* Its stack, and those of its callers. */
static hd_status make_stack(reader *r, uint32_t index)
{
    r->path_count = 0;
    while (index != HD_NONE && r->nodes[index].state == NODE_NEW) {
        if (!hd_grow((void **)&r->path, &r->path_capacity, r->path_count, sizeof *r->path)) return HD_NOMEM(r->err);
        r->nodes[index].state = NODE_OPEN;
        r->path[r->path_count++] = index;
        index = parent_of(r, index);
    }
    bool circle = index != HD_NONE && r->nodes[index].state == NODE_OPEN;
    uint32_t stack = index == HD_NONE || circle ? HD_STACK_NONE : r->nodes[index].stack;
    while (r->path_count) {
        node *n = &r->nodes[r->path[--r->path_count]];
        stack = hd_stacks_push(r->samples.stacks, stack, n->name, n->kind);
        n->stack = stack;
        n->state = NODE_DONE;
    }
    if (stack == HD_NONE) return HD_NOMEM(r->err);
    return count(r, NODE_CIRCLE, circle, r->lists[LIST_NODES]);
}

static hd_status read_nodes(reader *r)
{
    bool is_null, first = true;
    hd_status status;
    const char *at = r->lists[LIST_NODES];
    HD_TRY(hd_walk_try_enter(&r->walk, &at, '[', &is_null));
    if (is_null) return HD_OK;
    hd_json_put_text(&r->rest, r->rest.size > 1 ? ",\"nodes\":[" : "\"nodes\":[");
    while ((status = hd_walk_item(&r->walk, &at, &first)) == HD_OK) {
        size_t mark = r->rest.size;
        hd_status read = read_node(r, &at);
        if (read != HD_OK) r->rest.size = mark;
        HD_TRY(hd_walk_pass(&r->walk, read));
    }
    hd_json_put_text(&r->rest, "]");
    if (status != HD_END) return status;
    for (uint32_t i = 0; i < r->node_count; i++) HD_TRY(make_stack(r, i));
    return HD_OK;
}

/* ---- samples ---- */

/* The time of the next sample in µs, from the list of times or of differences. */
typedef struct clock {
    const char *at;
    bool first, ended, is_delta;
    int64_t now;
} clock;

static hd_status next_time(reader *r, clock *c, bool *out_is)
{
    int64_t value;
    *out_is = false;
    if (c->ended) return HD_OK;
    hd_status status = hd_walk_item(&r->walk, &c->at, &c->first);
    c->ended = status == HD_END;
    if (status != HD_OK) return c->ended ? HD_OK : status;
    const char *place = c->at;
    HD_TRY(hd_walk_int(&value, out_is, &r->walk, &c->at));
    if (*out_is && c->is_delta) *out_is = !__builtin_add_overflow(c->now, value, &value);
    if (!*out_is) return count(r, TIME_MISSING, 1, place);
    c->now = value;
    return HD_OK;
}

/* It lasts from `from` to `until`. */
static hd_status add_sample(reader *r, uint32_t stack, bool has_time, int64_t from, int64_t until, const char *place)
{
    hd_stack_sample s = {
        .track = r->track, .name = r->event, .category = r->category, .node = stack, .time_ns = HD_NO_TIME};
    int64_t weight, time;
    if (!has_time || __builtin_mul_overflow(from, MICRO, &time) || __builtin_sub_overflow(until, from, &weight) ||
        __builtin_mul_overflow(weight, MICRO, &weight) || time == HD_NO_TIME) {
        HD_TRY(count(r, TIME_MISSING, 1, place));
        return hd_stack_samples_add(&r->samples, &s);
    }
    s.time_ns = time;
    s.weight_type = HD_ARG_INT;
    s.weight = weight < 0 ? 0 : weight;
    HD_TRY(count(r, TIME_BACKWARDS, weight < 0, place));
    return hd_stack_samples_add(&r->samples, &s);
}

/* V8 numbers nodes from 1 on in list order. */
static const node *find_node(const reader *r, int64_t id)
{
    uint64_t usual = (uint64_t)id - 1;
    if (usual < r->node_count && r->nodes[usual].id == id) return &r->nodes[usual];
    const hd_map_entry *known = hd_map_find(&r->by_id, (uint64_t)id, 0);
    return known ? &r->nodes[known->value] : NULL;
}

static hd_status find_stack(reader *r, uint32_t *out, const char **at)
{
    bool is_number;
    int64_t id;
    const char *place = *at;
    HD_TRY(hd_walk_int(&id, &is_number, &r->walk, at));
    const node *known = is_number ? find_node(r, id) : NULL;
    *out = known ? known->stack : HD_STACK_NONE;
    return known ? HD_OK : count(r, NODE_MISSING, 1, place);
}

static hd_status read_samples(reader *r)
{
    bool is_null, first = true, has_time, has_next;
    uint32_t stack;
    hd_status status;
    const char *at = r->lists[LIST_SAMPLES];
    clock c = {.first = true, .is_delta = !r->lists[LIST_TIMES], .now = r->start_us == HD_NO_TIME ? 0 : r->start_us};
    c.at = r->lists[c.is_delta ? LIST_DELTAS : LIST_TIMES];
    HD_TRY(hd_walk_try_enter(&r->walk, &at, '[', &is_null));
    HD_TRY(hd_walk_try_enter(&r->walk, &c.at, '[', &c.ended));
    if (is_null) return HD_OK;
    HD_TRY(next_time(r, &c, &has_time));
    while ((status = hd_walk_item(&r->walk, &at, &first)) == HD_OK) {
        const char *place = at;
        int64_t now = c.now, until = now;
        HD_TRY(find_stack(r, &stack, &at));
        HD_TRY(next_time(r, &c, &has_next));
        if (has_next)
            until = c.now;
        else if (c.ended && r->end_us != HD_NO_TIME && r->end_us > now)
            until = r->end_us; /* the last one */
        HD_TRY(add_sample(r, stack, has_time, now, until, place));
        has_time = has_next;
        hd_stack_samples_progress(&r->samples);
    }
    while (status == HD_END && !c.ended) { /* times that are left over */
        HD_TRY(count(r, SAMPLE_MISSING, 1, c.at));
        HD_TRY(next_time(r, &c, &has_time));
    }
    return status == HD_END ? HD_OK : status;
}

/* A profile without samples has a hit count per node. */
static hd_status add_hits(reader *r)
{
    r->event = hd_builder_intern_text(r->builder, "hits");
    r->category = hd_builder_intern_text(r->builder, "count");
    for (size_t i = 0; i < r->node_count; i++) {
        const node *n = &r->nodes[i];
        const hd_stack_sample s = {.track = r->track,
                                   .name = r->event,
                                   .category = r->category,
                                   .node = n->stack,
                                   .time_ns = HD_NO_TIME,
                                   .weight_type = HD_ARG_INT,
                                   .weight = n->hits};
        if (n->hits > 0) HD_TRY(hd_stack_samples_add(&r->samples, &s));
    }
    return HD_OK;
}

/* ---- the document ---- */

static hd_status read_members(reader *r)
{
    static const char *const names[LISTS] = {"nodes", "samples", "timeDeltas", "timestamps"};
    bool is_null, first = true, is_number;
    hd_string key;
    hd_status status;
    const char *at = hd_walk_start(&r->walk);
    HD_TRY(hd_walk_enter(&r->walk, &at, '{', &is_null));
    while (!is_null && (status = hd_walk_member(&key, &r->walk, &at, &first)) == HD_OK) {
        const char *value = at;
        int list = 0;
        while (list < LISTS && !hd_string_is(key, names[list])) list++;
        if (list < LISTS) {
            r->lists[list] = at;
            hd_walk_pass_over(&r->walk, &at);
            continue;
        }
        bool is_start = hd_string_is(key, "startTime"), is_end = hd_string_is(key, "endTime");
        HD_TRY(hd_walk_keep(&r->walk, &r->rest, key, &at));
        if (!is_start && !is_end) continue;
        int64_t *out = is_start ? &r->start_us : &r->end_us;
        HD_TRY(hd_walk_int(out, &is_number, &r->walk, &value));
        if (!is_number) *out = HD_NO_TIME;
    }
    return is_null || status == HD_END ? HD_OK : status;
}

static hd_status read_document(reader *r)
{
    hd_ident pid = {HD_IDENT_STRING, hd_builder_intern_text(r->builder, "cpuprofile")};
    hd_ident tid = {HD_IDENT_NUMBER, hd_builder_intern_text(r->builder, "1")};
    hd_json_put_text(&r->rest, "{");
    HD_TRY(read_members(r));
    r->track = hd_builder_track(r->builder, pid, tid, false);
    if (r->track == HD_NONE) return HD_NOMEM(r->err);
    hd_builder_name_track(r->builder, r->track, hd_builder_intern_text(r->builder, "JavaScript"));
    r->event = hd_builder_intern_text(r->builder, "time");
    r->category = hd_builder_intern_text(r->builder, "nanoseconds");
    HD_TRY(read_nodes(r));
    HD_TRY(r->lists[LIST_SAMPLES] ? read_samples(r) : add_hits(r));
    hd_json_put_text(&r->rest, "}");
    uint32_t value = r->rest.failed ? HD_STRING_NONE : hd_builder_intern(r->builder, r->rest.data, r->rest.size);
    if (value == HD_STRING_NONE) return HD_NOMEM(r->err);
    hd_builder_metadata(r->builder, hd_builder_intern_text(r->builder, "cpuprofile"), value, true);
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    facts->input_bytes = r->walk.size;
    facts->base_ns = HD_NO_TIME; /* V8's clock counts from some start of the system */
    return hd_stack_samples_finish(&r->samples);
}

static hd_status cpuprofile_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    static const hd_walk_about about = {"profile", "cpuprofile", "cpuprofile.value-damaged", "cpuprofile.truncated"};
    hd_error own = {0};
    err = err ? err : &own;
    reader r = {.builder = builder, .err = err, .start_us = HD_NO_TIME, .end_us = HD_NO_TIME};
    hd_status status = hd_walk_init(&r.walk, &about, builder, input, SIZE_LIMIT, options, err);
    if (status == HD_OK) status = hd_stack_samples_open(&r.samples, builder, input, "cpuprofile", codes, options, err);
    if (status == HD_OK) status = read_document(&r);
    hd_stack_samples_close(&r.samples);
    hd_walk_deinit(&r.walk);
    hd_map_deinit(&r.by_id);
    hd_map_deinit(&r.parents);
    hd_bytes_deinit(&r.text);
    hd_bytes_deinit(&r.url);
    free(r.nodes);
    free(r.path);
    free(r.rest.data);
    return status;
}

static int cpuprofile_sniff(const unsigned char *head, size_t size)
{
    static const char frame[] = "\"callFrame\"";
    static const char *const keys[] = {"traceEvents", "nodes", "startTime", "endTime", "samples", "timeDeltas"};
    return hd_walk_first_key(head, size, keys, sizeof keys / sizeof *keys) > 1 &&
                   memmem(head, size, frame, sizeof frame - 1)
               ? 91
               : 0;
}

const hd_format hd_cpuprofile_format = {
    .info = {.name = "cpuprofile",
             .title = "CPU profiles of V8 (node, Chrome)",
             .extensions = ".cpuprofile",
             .reads = true,
             .keeps = "samples with their times and stacks, functions with file, line and column; what else nodes say",
             .loses = "nothing, as nothing writes it here"},
    .sniff = cpuprofile_sniff,
    .read = cpuprofile_read,
};
