/* execution_trace.c - a graph as a Chakra execution trace: a GlobalMetadata, then Nodes, each after its length
 *
 * Simulators follow `data_deps` alone, so these have all edges; `ctrl_deps` are the launches. Both ends of a node are
 * rounded down to microseconds, so that the durations of a thread or queue sum to its span. docs/formats/chakra.md
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/map.h"
#include "base/memory/large.h"
#include "base/protobuf/write.h"
#include "base/text/decimal.h"
#include "graph/print.h"
#include "model/collectives/collectives.h"
#include "trace/event.h"

enum { METADATA_VERSION = 1 };
enum { ID = 1, NAME, TYPE, CONTROL, DATA, START_MICROS, DURATION_MICROS, ATTRIBUTE = 10 };
enum { ATTRIBUTE_NAME = 1, INT64_VALUE = 9, BOOL_VALUE = 27, STRING_VALUE = 29 };
enum { COMPUTE = 4, COLLECTIVE = 7 }; /* NodeType */
enum { FLUSH_BYTES = 1 << 16, NS_PER_MICROS = 1000 };

typedef struct et_writer {
    graph_printer *p;
    gpu_scope scope;
    gpu_collectives collectives;
    hd_bytes out, node;
    int64_t *numbers; /* by lane: tid or stream, of threads and of queues each one different */
    int64_t shift;    /* microseconds: 0 means that a start is unknown */
    hd_bytes list;    /* of dependencies */
} et_writer;

/* CollectiveCommType; -1: none of these. */
static int comm_type_of(gpu_collective collective)
{
    static const int8_t types[GPU_COLLECTIVES + 1] = {
        [GPU_ALL_REDUCE] = 0, [GPU_ALL_GATHER] = 2, [GPU_REDUCE_SCATTER] = 7, [GPU_ALL_TO_ALL] = 6,
        [GPU_BROADCAST] = 5,  [GPU_SEND_RECV] = -1, [GPU_BARRIER] = 9,        [GPU_REDUCE] = 1,
        [GPU_GATHER] = 3,     [GPU_SCATTER] = 4,    [GPU_NO_COLLECTIVE] = -1};
    return types[collective];
}

static int64_t micros(int64_t ns)
{
    return ns / NS_PER_MICROS - (ns % NS_PER_MICROS < 0);
}

/* ---- lanes ---- */

static int64_t tid_of(const hd_trace *trace, const hd_track *track)
{
    const hd_string text = hd_trace_string(trace, track->tid.text);
    int64_t number;
    bool is_number = track->tid.type == HD_IDENT_NUMBER && hd_fixed_parse_whole(&number, text.data, text.size);
    return is_number ? number : HD_NO_NUMBER;
}

/* The trace's own number, unless another thread (or queue) has it or there is none: then a free one. */
static bool number_lanes(et_writer *w)
{
    const hd_graph *g = w->p->g;
    hd_map taken = {0};
    w->numbers = malloc(((size_t)g->lane_count + 1) * sizeof *w->numbers);
    bool fine = w->numbers != NULL;
    for (uint32_t l = 0; l < g->lane_count && fine; l++) {
        const hd_track *track = hd_trace_track_at(g->trace, g->lanes[l].track);
        const bool is_queue = g->lanes[l].is_queue;
        uint32_t before;
        int64_t number = is_queue ? track->stream : tid_of(g->trace, track);
        while (number == HD_NO_NUMBER || hd_map_get(&before, &taken, (uint64_t)number, is_queue))
            number = number == HD_NO_NUMBER ? (int64_t)l : number + g->lane_count;
        w->numbers[l] = number;
        fine = hd_map_set(&taken, (uint64_t)number, is_queue, l);
    }
    hd_map_deinit(&taken);
    return fine;
}

/* ---- nodes ---- */

/* A string of protobuf is UTF-8: other bytes, as lone surrogates, become question marks. */
static void put_text(hd_bytes *out, uint32_t field, hd_string text)
{
    const bool is_valid = hd_utf8_valid(text.data, text.size, false);
    hd_pb_put_bytes(out, field, text.data, text.size);
    if (is_valid || out->failed) return;
    for (size_t at = out->size - text.size, size; at < out->size; at += size) {
        const char *p = (const char *)out->data + at;
        for (size = 1; size <= 4 && at + size <= out->size && !hd_utf8_valid(p, size, false);) size++;
        if (size <= 4 && at + size <= out->size) continue;
        out->data[at] = '?';
        size = 1;
    }
}

static size_t begin_attribute(hd_bytes *out, const char *name)
{
    size_t mark = hd_pb_begin(out, ATTRIBUTE);
    hd_pb_put_text(out, ATTRIBUTE_NAME, name);
    return mark;
}

static void put_number(hd_bytes *out, const char *name, int64_t value)
{
    size_t mark = begin_attribute(out, name);
    hd_pb_put_int(out, INT64_VALUE, value);
    hd_pb_end(out, mark);
}

static void put_string(hd_bytes *out, const char *name, hd_string value)
{
    size_t mark = begin_attribute(out, name);
    put_text(out, STRING_VALUE, value);
    hd_pb_end(out, mark);
}

/* The printed nodes that it waits for, each once: a simulator removes each node from the list once. */
static void put_dependencies(et_writer *w, uint32_t field, uint32_t node, bool launches_only)
{
    const graph_printer *p = w->p;
    w->list.size = 0;
    HD_GRAPH_EDGES(e, p->g, node) {
        const uint32_t from = hd_graph_edge_from(p->g, e);
        bool is_new = p->near[from] && (!launches_only || hd_graph_edge_kind(p->g, e) == HD_EDGE_LAUNCH);
        for (size_t before = hd_graph_first_edge(p->g, node); before != e && is_new;
             before = hd_graph_next_edge(p->g, before))
            is_new = hd_graph_edge_from(p->g, before) != from ||
                     (launches_only && hd_graph_edge_kind(p->g, before) != HD_EDGE_LAUNCH);
        if (is_new) hd_bytes_put_varint(&w->list, from);
    }
    w->node.failed |= w->list.failed;
    if (w->list.size) hd_pb_put_bytes(&w->node, field, w->list.data, w->list.size);
}

static void put_collective(et_writer *w, const gpu_collective_facts *facts)
{
    if (comm_type_of(facts->collective) < 0) return;
    put_number(&w->node, "comm_type", comm_type_of(facts->collective));
    if (facts->bytes != HD_NO_NUMBER) put_number(&w->node, "comm_size", facts->bytes);
    if (facts->group != HD_NONE) put_string(&w->node, "pg_name", gpu_text_of(&w->collectives.texts, facts->group));
}

static bool put_node(et_writer *w, uint32_t node)
{
    const hd_graph *g = w->p->g;
    const hd_graph_lane *lane = hd_graph_lane_of(g, node);
    const uint32_t slice = g->slices[node];
    const int64_t start = micros(g->starts[node]), end = micros(g->ends[node]);
    gpu_collective_facts facts = {.collective = GPU_NO_COLLECTIVE};
    if (g->kinds[node] == HD_NODE_WORK) {
        const uint32_t work = gpu_work_at(&w->scope, slice);
        if (work < w->scope.launches->work_count && w->scope.works[work].class == GPU_COMMUNICATION &&
            !gpu_collective_facts_of(&facts, &w->collectives, work))
            return false;
    }
    hd_bytes *out = &w->node;
    out->size = 0;
    hd_pb_put_uint(out, ID, node);
    put_text(out, NAME, graph_name_of(w->p, node));
    hd_pb_put_uint(out, TYPE, comm_type_of(facts.collective) < 0 ? COMPUTE : COLLECTIVE);
    put_dependencies(w, CONTROL, node, true);
    put_dependencies(w, DATA, node, false);
    hd_pb_put_uint(out, START_MICROS, (uint64_t)(start + w->shift));
    hd_pb_put_uint(out, DURATION_MICROS, (uint64_t)(end - start));
    size_t mark = begin_attribute(out, "is_cpu_op");
    hd_pb_put_uint(out, BOOL_VALUE, !lane->is_queue);
    hd_pb_end(out, mark);
    put_number(out, lane->is_queue ? "stream" : "tid", w->numbers[lane - g->lanes]);
    if (slice != HD_NONE)
        put_string(out, "cat", hd_trace_string(g->trace, hd_event_at(g->trace, HD_KIND_SLICE, slice).category));
    const char *kind = hd_node_kind_name((hd_node_kind)g->kinds[node]);
    put_string(out, "kind", (hd_string){kind, strlen(kind)});
    put_collective(w, &facts);
    return true;
}

/* ---- the file ---- */

static void flush(et_writer *w, size_t least)
{
    graph_printer *p = w->p;
    if (w->out.failed || w->node.failed) p->status = HD_ERR_MEMORY;
    if (p->status == HD_OK && w->out.size >= least && w->out.size)
        p->status = p->sink.write(p->sink.user, (const char *)w->out.data, w->out.size);
    if (w->out.size >= least) w->out.size = 0;
}

static hd_status put_nodes(et_writer *w, hd_error *err)
{
    static const char version[] = "1.0.0";
    const hd_graph *g = w->p->g;
    size_t count;
    uint32_t *order = graph_order_printed(&count, w->p);
    if (!order) return HD_NOMEM(err);
    if (count && micros(g->starts[order[0]]) < 1) w->shift = 1 - micros(g->starts[order[0]]);
    hd_pb_put_text(&w->node, METADATA_VERSION, version);
    bool fine = true;
    for (size_t i = 0; fine && w->p->status == HD_OK; i++) {
        hd_bytes_put_varint(&w->out, w->node.size);
        hd_bytes_put(&w->out, w->node.data, w->node.size);
        flush(w, FLUSH_BYTES);
        if (i == count) break;
        fine = put_node(w, order[i]);
    }
    hd_large_free(order);
    flush(w, 0);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status graph_print_execution_trace(graph_printer *p, hd_error *err)
{
    static const gpu_options none = {0};
    et_writer w = {.p = p};
    hd_status status = gpu_scope_init(&w.scope, &(hd_report_input){.trace = p->g->trace}, &none, 0, err);
    if (status == HD_OK) status = gpu_collectives_init(&w.collectives, &w.scope, err);
    if (status == HD_OK && !number_lanes(&w)) status = HD_NOMEM(err);
    if (status == HD_OK) status = put_nodes(&w, err);
    gpu_collectives_deinit(&w.collectives);
    gpu_scope_deinit(&w.scope);
    hd_bytes_deinit(&w.out);
    hd_bytes_deinit(&w.node);
    hd_bytes_deinit(&w.list);
    free(w.numbers);
    return status;
}
