/* shapes.c - recognising argument shapes while reading
 *
 * Real traces repeat a few dozen lists of keys. A tree of (key, type of value) steps follows an event's members; the
 * final node is the shape. The edge used last comes first, and is compared with the input before the key's end is
 * known.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/chrome/chrome.h"

enum { NODE_LIMIT = 1 << 16, LIST_LIMIT = 16 };

bool chrome_shapes_init(chrome_shapes *shapes)
{
    *shapes = (chrome_shapes){0};
    if (!hd_grow((void **)&shapes->nodes, &shapes->node_capacity, 0, sizeof *shapes->nodes) ||
        !hd_grow((void **)&shapes->edges, &shapes->edge_capacity, 0, sizeof *shapes->edges))
        return false;
    shapes->nodes[0] = (chrome_node){.shape = {HD_NONE, HD_NONE}};
    shapes->node_count = 1;
    shapes->edges[0] = (chrome_edge){0}; /* "none": matches nothing */
    shapes->edge_count = 1;
    return true;
}

void chrome_shapes_deinit(chrome_shapes *shapes)
{
    free(shapes->nodes);
    free(shapes->edges);
    hd_slots_deinit(&shapes->slots);
    hd_arena_deinit(&shapes->arena);
}

/* Without memory reading fails: that is not the limit after which events are read as raw text. */
static uint32_t no_memory(chrome_parser *parser)
{
    HD_NOMEM(&parser->error);
    return 0;
}

/* The key is stored in the text around it; its first bytes and closing quote allow a quick comparison. */
static bool fill_edge(chrome_parser *parser, chrome_edge *edge, const hd_json_text *key)
{
    char *copy = hd_arena_alloc(&parser->shapes.arena, key->size + 1);
    edge->key_id = chrome_intern(parser, key);
    if (!copy || edge->key_id == HD_STRING_NONE) return false;
    memcpy(copy, key->data, key->size);
    copy[key->size] = '"';
    edge->key = copy;
    edge->key_size = (uint32_t)key->size;
    char head[8] = {0};
    size_t size = key->size + 1 < sizeof head ? key->size + 1 : sizeof head;
    memcpy(head, copy, size);
    edge->head = hd_load64(head);
    memset(head, 0xff, size);
    memset(head + size, 0, sizeof head - size);
    edge->head_mask = hd_load64(head);
    return true;
}

static bool same_key(const chrome_edge *edge, const hd_json_text *key, hd_arg_scope scope)
{
    return edge->key_size == key->size && edge->scope == scope && memcmp(edge->key, key->data, key->size) == 0;
}

/* Of the edges that are in no list; HD_SLOTS_NONE: none. */
static uint32_t find_edge(const chrome_shapes *shapes, uint32_t node, const hd_json_text *key, hd_arg_scope scope,
                          uint64_t hash)
{
    uint32_t at;
    HD_SLOTS_FIND(at, &shapes->slots, hash, shapes->edges[at].node == node && same_key(&shapes->edges[at], key, scope));
    return at;
}

uint32_t chrome_shapes_edge(chrome_parser *parser, uint32_t node_index, const hd_json_text *key, hd_arg_scope scope)
{
    chrome_shapes *shapes = &parser->shapes;
    chrome_node *node = &shapes->nodes[node_index];
    uint32_t *link = &node->first_edge;
    for (uint32_t i; (i = *link) != 0; link = &shapes->edges[i].next) {
        chrome_edge *edge = &shapes->edges[i];
        if (!same_key(edge, key, scope)) continue;
        *link = edge->next;
        edge->next = node->first_edge;
        node->first_edge = i;
        return i;
    }
    bool listed = node->listed < LIST_LIMIT;
    uint64_t hash = listed ? 0 : hd_hash_pair(hd_hash(key->data, key->size), (uint64_t)node_index << 32 | scope);
    uint32_t found = listed ? HD_SLOTS_NONE : find_edge(shapes, node_index, key, scope, hash);
    if (found != HD_SLOTS_NONE) return found;
    if (key->size > UINT32_MAX - 1 || shapes->edge_count >= NODE_LIMIT) return 0;
    if (!hd_grow((void **)&shapes->edges, &shapes->edge_capacity, shapes->edge_count, sizeof *shapes->edges))
        return no_memory(parser);
    chrome_edge *edge = &shapes->edges[shapes->edge_count];
    *edge = (chrome_edge){.scope = (uint8_t)scope, .node = node_index, .next = listed ? node->first_edge : 0};
    if (!fill_edge(parser, edge, key) || (!listed && !hd_slots_add(&shapes->slots, hash, (uint32_t)shapes->edge_count)))
        return no_memory(parser);
    if (listed) node->first_edge = (uint32_t)shapes->edge_count;
    node->listed += listed;
    return (uint32_t)shapes->edge_count++;
}

uint32_t chrome_shapes_step(chrome_parser *parser, uint32_t node, uint32_t edge, hd_arg_type type)
{
    chrome_shapes *shapes = &parser->shapes;
    if (shapes->node_count >= NODE_LIMIT) return 0;
    if (!hd_grow((void **)&shapes->nodes, &shapes->node_capacity, shapes->node_count, sizeof *shapes->nodes))
        return no_memory(parser);
    shapes->nodes[shapes->node_count] = (chrome_node){
        .parent = node,
        .via_edge = edge,
        .via_type = (uint8_t)type,
        .depth = (uint16_t)(shapes->nodes[node].depth + 1),
        .shape = {HD_NONE, HD_NONE},
    };
    shapes->edges[edge].target[type] = (uint32_t)shapes->node_count;
    return (uint32_t)shapes->node_count++;
}

/* Of repeated keys the last counts, as in every JSON parser. The new index of each key, HD_NONE: removed. Returns how
 * many remain. */
static uint32_t drop_earlier(uint32_t *out, const hd_arg_key *keys, uint32_t count)
{
    enum { SLOTS_OF_KEYS = CHROME_KEY_LIMIT * 2 };
    uint16_t slots[SLOTS_OF_KEYS] = {0}; /* index plus 1 */
    uint32_t kept = 0;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t at = keys[i].key * 2 + (keys[i].scope == HD_SCOPE_EVENT);
        for (at %= SLOTS_OF_KEYS; slots[at]; at = (at + 1) % SLOTS_OF_KEYS) {
            const hd_arg_key *later = &keys[slots[at] - 1];
            if (later->key == keys[i].key && later->scope == keys[i].scope) break;
        }
        out[i] = slots[at] ? HD_NONE : 0;
        if (!slots[at]) slots[at] = (uint16_t)(i + 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (out[i] == 0) out[i] = kept++;
    }
    return kept;
}

uint32_t chrome_shapes_resolve(uint32_t *out_replaced, chrome_parser *parser, uint32_t node_index, bool has_args)
{
    chrome_shapes *shapes = &parser->shapes;
    hd_arg_key keys[CHROME_KEY_LIMIT];
    uint32_t to[CHROME_KEY_LIMIT];
    uint32_t count = shapes->nodes[node_index].depth;
    uint32_t at = node_index;
    for (uint32_t i = count; i-- > 0; at = shapes->nodes[at].parent) {
        const chrome_edge *edge = &shapes->edges[shapes->nodes[at].via_edge];
        keys[i] = (hd_arg_key){.key = edge->key_id, .type = shapes->nodes[at].via_type, .scope = edge->scope};
    }
    uint32_t kept = drop_earlier(to, keys, count);
    *out_replaced = count - kept;
    if (kept < count) {
        for (uint32_t i = 0; i < count; i++) {
            if (to[i] == HD_NONE) continue;
            keys[to[i]] = keys[i];
            parser->values[to[i]] = parser->values[i];
        }
        return hd_builder_shape(parser->builder, keys, kept, has_args); /* the next such event has to move its values */
    }
    uint32_t shape = hd_builder_shape(parser->builder, keys, count, has_args);
    shapes->nodes[node_index].shape[has_args] = shape;
    return shape;
}
