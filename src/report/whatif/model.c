/* model.c - the dependencies of each operation of a pipeline
 *
 * Found in the first dp rank of the first step, by kind, order and start:
 *   compute of a stage is one chain; so are the operations of each of the four point-to-point streams
 *   a send waits for its compute; a receive for the compute before, and its own compute waits for it
 *   the first backward send and receive wait for the compute two before the first backward
 *   gathers and scatters are one chain; the last gather of a chunk comes before the chunk's first forward
 *   last compute -> gc -> layernorm -> embedding -> scatters -> clip -> optimizer
 * Groups: a send with its receive; embedding over its stages; clip over stages and dp ranks; a gather or scatter over
 * dp ranks. Chunks of layers at the ends of the model have no peer: their sends and receives, if any, have
 * no partner.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "report/whatif/whatif.h"

enum { STREAMS = 4 };

typedef struct edge {
    uint32_t node, on;
} edge;

typedef struct maker {
    whatif_model *out;
    const whatif_op *ops; /* of the nodes */
    size_t count, stage_count;
    int64_t model_chunks;
    edge *edges;
    size_t edge_count, edge_capacity;
    uint32_t *firsts;   /* node of (stage, kind), by stage * WHATIF_KINDS + kind; one more at the end */
    uint32_t *group_of; /* of a node; UINT32_MAX: none yet */
    bool *is_paired;    /* of a send or receive: it has a peer */
    uint32_t *chain;    /* compute of a stage in the order of starts */
    bool no_memory;
} maker;

static uint32_t node_at(const maker *m, size_t stage, unsigned kind, size_t order)
{
    return m->firsts[stage * WHATIF_KINDS + kind] + (uint32_t)order;
}

static size_t count_of(const maker *m, size_t stage, unsigned kind)
{
    const uint32_t *first = &m->firsts[stage * WHATIF_KINDS + kind];
    return first[1] - first[0];
}

static void wait_for(maker *m, uint32_t node, uint32_t on)
{
    m->no_memory |= !hd_grow((void **)&m->edges, &m->edge_capacity, m->edge_count, sizeof *m->edges);
    if (!m->no_memory) m->edges[m->edge_count++] = (edge){node, on};
}

/* ---- one stage ---- */

static int by_start(const void *a, const void *b, void *user)
{
    const whatif_op *ops = user, *x = &ops[*(const uint32_t *)a], *y = &ops[*(const uint32_t *)b];
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return x < y ? -1 : x > y;
}

static size_t chain_compute(maker *m, size_t stage)
{
    size_t count = count_of(m, stage, WHATIF_FORWARD) + count_of(m, stage, WHATIF_BACKWARD), backward = 0;
    for (size_t i = 0; i < count; i++) m->chain[i] = node_at(m, stage, WHATIF_FORWARD, i);
    qsort_r(m->chain, count, sizeof *m->chain, by_start, (void *)m->ops);
    for (size_t i = 1; i < count; i++) wait_for(m, m->chain[i], m->chain[i - 1]);
    while (backward < count && m->ops[m->chain[backward]].kind != WHATIF_BACKWARD) backward++;
    for (unsigned kind = WHATIF_BACKWARD_SEND; kind <= WHATIF_BACKWARD_RECV && backward < count && backward > 1; kind++)
        if (count_of(m, stage, kind)) wait_for(m, node_at(m, stage, kind, 0), m->chain[backward - 2]);
    return count;
}

/* Whether activations or gradients of this compute are exchanged with another stage. */
static bool has_peer(const maker *m, const whatif_op *compute, unsigned kind)
{
    int64_t chunk = compute->model_chunk;
    if (chunk < 0) chunk = (compute->chunk > 0 ? compute->chunk : 0) * (int64_t)m->stage_count + compute->stage;
    return kind == WHATIF_FORWARD_RECV || kind == WHATIF_BACKWARD_SEND ? chunk > 0 : chunk < m->model_chunks - 1;
}

static hd_status match_stream(maker *m, size_t stage, unsigned kind, hd_error *err)
{
    unsigned compute = kind <= WHATIF_FORWARD_RECV ? WHATIF_FORWARD : WHATIF_BACKWARD;
    bool is_recv = kind == WHATIF_FORWARD_RECV || kind == WHATIF_BACKWARD_RECV;
    size_t computes = count_of(m, stage, compute), count = count_of(m, stage, kind), with_peer = 0;
    for (size_t i = 0; i < computes; i++) with_peer += has_peer(m, &m->ops[node_at(m, stage, compute, i)], kind);
    bool is_each = count == computes, lacks_first = is_recv && count + 1 == computes;
    if (count != with_peer && !is_each && !lacks_first)
        return hd_error_set(err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE, "stage %zu has %zu %s for %zu %s", stage, count,
                            whatif_kind_name(kind), computes, whatif_kind_name(compute));
    for (size_t k = 0, i = count != with_peer && !is_each; k < count; k++, i++) {
        while (count == with_peer && !has_peer(m, &m->ops[node_at(m, stage, compute, i)], kind)) i++;
        uint32_t node = node_at(m, stage, kind, k), of = node_at(m, stage, compute, i);
        m->is_paired[node] = has_peer(m, &m->ops[of], kind);
        if (k) wait_for(m, node, node - 1);
        if (is_recv) wait_for(m, of, node);
        if (!is_recv) wait_for(m, node, of);
        if (is_recv && i) wait_for(m, node, of - 1);
    }
    return HD_OK;
}

/* The first forward of each chunk waits for the chunk's last gather; `firsts` has m->count entries. */
static void gather_chunks(maker *m, size_t stage, size_t computes, uint32_t *firsts)
{
    for (size_t i = 0; i < m->count; i++) firsts[i] = UINT32_MAX;
    for (size_t i = computes; i-- > 0;) {
        const whatif_op *op = &m->ops[m->chain[i]];
        size_t chunk = op->chunk > 0 ? (size_t)op->chunk : 0;
        if (op->kind == WHATIF_FORWARD && chunk < m->count) firsts[chunk] = m->chain[i];
    }
    for (size_t k = count_of(m, stage, WHATIF_PARAMS_GATHER); k-- > 0;) {
        uint32_t node = node_at(m, stage, WHATIF_PARAMS_GATHER, k);
        size_t chunk = m->ops[node].chunk >= 0 ? (size_t)m->ops[node].chunk : k;
        if (chunk >= m->count || firsts[chunk] == UINT32_MAX) continue;
        wait_for(m, firsts[chunk], node);
        firsts[chunk] = UINT32_MAX;
    }
}

/* Chains them; returns the last. */
static uint32_t chain_kind(maker *m, size_t stage, unsigned kind, uint32_t last)
{
    for (size_t k = 0; k < count_of(m, stage, kind); k++) {
        uint32_t node = node_at(m, stage, kind, k);
        if (last != UINT32_MAX) wait_for(m, node, last);
        last = node;
    }
    return last;
}

static void chain_end(maker *m, size_t stage, size_t computes)
{
    static const uint8_t kinds[] = {WHATIF_GC,   WHATIF_LAYERNORM_REDUCE, WHATIF_EMBEDDING_REDUCE, WHATIF_GRADS_SCATTER,
                                    WHATIF_CLIP, WHATIF_OPTIMIZER};
    uint32_t last = computes ? m->chain[0] : UINT32_MAX;
    for (size_t i = 1; i < computes; i++) {
        const whatif_op *op = &m->ops[m->chain[i]], *latest = &m->ops[last];
        if (op->start_ns + op->duration_ns >= latest->start_ns + latest->duration_ns) last = m->chain[i];
    }
    for (size_t i = 0; i < sizeof kinds; i++) last = chain_kind(m, stage, kinds[i], last);
    uint32_t gather = chain_kind(m, stage, WHATIF_PARAMS_GATHER, UINT32_MAX);
    if (gather != UINT32_MAX && count_of(m, stage, WHATIF_GRADS_SCATTER))
        wait_for(m, node_at(m, stage, WHATIF_GRADS_SCATTER, 0), gather);
}

/* ---- groups ---- */

static uint32_t new_group(maker *m, bool is_over_dps)
{
    m->out->is_over_dps[m->out->group_count] = is_over_dps;
    return (uint32_t)m->out->group_count++;
}

/* The j-th send of a stage that has a peer and the j-th receive of the next stage. */
static hd_status pair_stage(maker *m, size_t stage, unsigned send, hd_error *err)
{
    size_t peer = (stage + (send == WHATIF_FORWARD_SEND ? 1 : m->stage_count - 1)) % m->stage_count;
    size_t sends = count_of(m, stage, send), recvs = count_of(m, peer, send + 1), j = 0;
    for (size_t k = 0; k < sends; k++) {
        uint32_t node = node_at(m, stage, send, k);
        if (!m->is_paired[node]) continue;
        while (j < recvs && !m->is_paired[node_at(m, peer, send + 1, j)]) j++;
        if (j == recvs) goto unequal;
        m->group_of[node] = m->group_of[node_at(m, peer, send + 1, j++)] = new_group(m, false);
    }
    while (j < recvs && !m->is_paired[node_at(m, peer, send + 1, j)]) j++;
    if (j == recvs) return HD_OK;
unequal:
    return hd_error_set(err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE, "%s of stage %zu and %s of stage %zu do not pair",
                        whatif_kind_name(send), stage, whatif_kind_name(send + 1), peer);
}

/* The k-th of all stages are one; `groups` has m->count entries. */
static void group_stages(maker *m, unsigned kind, bool is_over_dps, uint32_t *groups)
{
    for (size_t i = 0; i < m->count; i++) groups[i] = UINT32_MAX;
    for (size_t stage = 0; stage < m->stage_count; stage++) {
        for (size_t k = 0; k < count_of(m, stage, kind); k++) {
            if (groups[k] == UINT32_MAX) groups[k] = new_group(m, is_over_dps);
            m->group_of[node_at(m, stage, kind, k)] = groups[k];
        }
    }
}

static void group_rest(maker *m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        bool is_over_dps = m->ops[i].kind == WHATIF_PARAMS_GATHER || m->ops[i].kind == WHATIF_GRADS_SCATTER;
        if (m->group_of[i] == UINT32_MAX) m->group_of[i] = new_group(m, is_over_dps);
    }
}

/* ---- order ---- */

/* Edges by node: a counting sort. */
static void list_deps(maker *m)
{
    whatif_model *out = m->out;
    for (size_t i = 0; i < m->edge_count; i++) out->dep_first[m->edges[i].node + 1]++;
    for (size_t i = 0; i < m->count; i++) out->dep_first[i + 1] += out->dep_first[i];
    for (size_t i = m->edge_count; i-- > 0;) out->deps[--out->dep_first[m->edges[i].node + 1]] = m->edges[i].on;
    memmove(out->dep_first, out->dep_first + 1, m->count * sizeof *out->dep_first);
    out->dep_first[m->count] = (uint32_t)m->edge_count;
}

typedef struct topology {
    uint32_t *waits;              /* of a group: edges into it */
    uint32_t *next_first, *next;  /* of a node: the nodes that wait for it */
    uint32_t *node_first, *nodes; /* of a group */
    uint32_t *order;              /* of groups */
} topology;

static void list_lists(topology *t, const maker *m)
{
    for (size_t i = 0; i < m->edge_count; i++) {
        t->waits[m->group_of[m->edges[i].node]]++;
        t->next_first[m->edges[i].on + 1]++;
    }
    for (size_t i = 0; i < m->count; i++) t->next_first[i + 1] += t->next_first[i];
    for (size_t i = 0; i < m->count; i++) t->node_first[m->group_of[i] + 1]++;
    for (size_t i = 0; i < m->out->group_count; i++) t->node_first[i + 1] += t->node_first[i];
    uint32_t *at = t->order; /* not in use yet; has m->count entries */
    memcpy(at, t->next_first, m->count * sizeof *at);
    for (size_t i = 0; i < m->edge_count; i++) t->next[at[m->edges[i].on]++] = m->edges[i].node;
    memcpy(at, t->node_first, m->out->group_count * sizeof *at);
    for (uint32_t i = 0; i < m->count; i++) t->nodes[at[m->group_of[i]]++] = i;
}

/* Kahn's algorithm over groups. */
static size_t sort_groups(topology *t, const maker *m)
{
    size_t count = 0;
    for (uint32_t g = 0; g < m->out->group_count; g++)
        if (!t->waits[g]) t->order[count++] = g;
    for (size_t at = 0; at < count; at++) {
        for (uint32_t i = t->node_first[t->order[at]]; i < t->node_first[t->order[at] + 1]; i++) {
            uint32_t node = t->nodes[i];
            for (uint32_t n = t->next_first[node]; n < t->next_first[node + 1]; n++) {
                uint32_t group = m->group_of[t->next[n]];
                if (--t->waits[group] == 0) t->order[count++] = group;
            }
        }
    }
    return count;
}

static hd_status order_groups(maker *m, topology *t, hd_error *err)
{
    whatif_model *out = m->out;
    list_lists(t, m);
    size_t count = sort_groups(t, m), at = 0;
    for (uint32_t i = 0; i < m->count && count < out->group_count; i++) {
        if (t->waits[m->group_of[i]])
            return hd_error_set(err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE,
                                "row %llu: operations wait for each other in a circle, among them %s of stage %d",
                                (unsigned long long)m->ops[i].row, whatif_kind_name(m->ops[i].kind),
                                (int)m->ops[i].stage);
    }
    bool *is_over_dps = malloc(count);
    if (!is_over_dps) return HD_NOMEM(err);
    for (size_t g = 0; g < count; g++) {
        uint32_t group = t->order[g], size = t->node_first[group + 1] - t->node_first[group];
        memcpy(out->members + at, t->nodes + t->node_first[group], size * sizeof *out->members);
        out->group_first[g + 1] = (uint32_t)(at += size);
        is_over_dps[g] = out->is_over_dps[group];
    }
    free(out->is_over_dps);
    out->is_over_dps = is_over_dps;
    return HD_OK;
}

/* ---- all ---- */

static hd_status link_all(maker *m, uint32_t *scratch, hd_error *err)
{
    m->model_chunks = (int64_t)m->stage_count;
    for (size_t i = 0; i < m->count; i++) {
        int64_t chunks = m->ops[i].model_chunk >= 0 ? m->ops[i].model_chunk + INT64_C(1)
                         : m->ops[i].chunk >= 0     ? (m->ops[i].chunk + INT64_C(1)) * (int64_t)m->stage_count
                                                    : 0;
        if (m->ops[i].kind <= WHATIF_BACKWARD && chunks > m->model_chunks) m->model_chunks = chunks;
    }
    for (size_t stage = 0; stage < m->stage_count; stage++) {
        size_t computes = chain_compute(m, stage);
        gather_chunks(m, stage, computes, scratch);
        chain_end(m, stage, computes);
        for (unsigned s = 0; s < STREAMS; s++) HD_TRY(match_stream(m, stage, WHATIF_FORWARD_SEND + s, err));
    }
    for (size_t stage = 0; stage < m->stage_count; stage++) {
        HD_TRY(pair_stage(m, stage, WHATIF_FORWARD_SEND, err));
        HD_TRY(pair_stage(m, stage, WHATIF_BACKWARD_SEND, err));
    }
    group_stages(m, WHATIF_EMBEDDING_REDUCE, false, scratch);
    group_stages(m, WHATIF_CLIP, true, scratch);
    group_rest(m);
    return m->no_memory ? HD_NOMEM(err) : HD_OK;
}

static hd_status finish(maker *m, hd_error *err)
{
    size_t nodes = m->count, groups = m->out->group_count;
    topology t = {.waits = calloc(groups, sizeof *t.waits),
                  .next_first = calloc(nodes + 1, sizeof *t.next_first),
                  .next = calloc(m->edge_count + 1, sizeof *t.next),
                  .node_first = calloc(groups + 1, sizeof *t.node_first),
                  .nodes = calloc(nodes, sizeof *t.nodes),
                  .order = calloc(nodes, sizeof *t.order)};
    m->out->deps = calloc(m->edge_count + 1, sizeof *m->out->deps);
    bool fine = t.waits && t.next_first && t.next && t.node_first && t.nodes && t.order && m->out->deps;
    hd_status status = fine ? HD_OK : HD_NOMEM(err);
    if (fine) list_deps(m);
    if (fine) status = order_groups(m, &t, err);
    free(t.waits);
    free(t.next_first);
    free(t.next);
    free(t.node_first);
    free(t.nodes);
    free(t.order);
    return status;
}

hd_status whatif_model_make(whatif_model *out, const whatif_ops *ops, hd_error *err)
{
    size_t nodes = ops->node_count, places = ops->stage_count * WHATIF_KINDS;
    *out = (whatif_model){.node_count = nodes,
                          .dep_first = calloc(nodes + 2, sizeof *out->dep_first),
                          .group_first = calloc(nodes + 1, sizeof *out->group_first),
                          .members = calloc(nodes, sizeof *out->members),
                          .is_over_dps = calloc(nodes, 1)};
    maker m = {.out = out,
               .ops = ops->ops,
               .count = nodes,
               .stage_count = ops->stage_count,
               .firsts = calloc(places + 1, sizeof *m.firsts),
               .group_of = malloc(nodes * sizeof *m.group_of),
               .is_paired = calloc(nodes, 1),
               .chain = calloc(nodes, sizeof *m.chain)};
    uint32_t *scratch = calloc(nodes, sizeof *scratch);
    hd_status status = HD_OK;
    if (!out->dep_first || !out->group_first || !out->members || !out->is_over_dps || !m.firsts || !m.group_of ||
        !m.is_paired || !m.chain || !scratch)
        status = HD_NOMEM(err);
    for (size_t i = 0; i < nodes && status == HD_OK; i++) {
        m.firsts[(size_t)ops->ops[i].stage * WHATIF_KINDS + ops->ops[i].kind + 1]++;
        m.group_of[i] = UINT32_MAX;
    }
    for (size_t i = 0; i < places && status == HD_OK; i++) m.firsts[i + 1] += m.firsts[i];
    if (status == HD_OK) status = link_all(&m, scratch, err);
    if (status == HD_OK) status = finish(&m, err);
    free(m.edges);
    free(m.firsts);
    free(m.group_of);
    free(m.is_paired);
    free(m.chain);
    free(scratch);
    return status;
}

void whatif_model_deinit(whatif_model *model)
{
    free(model->dep_first);
    free(model->deps);
    free(model->group_first);
    free(model->members);
    free(model->is_over_dps);
    *model = (whatif_model){0};
}
