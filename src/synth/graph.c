/* graph.c - graphs of kernels: captured once, launched by each layer
 *
 * Calls that launch kernels while a stream is captured put nothing on the GPU: they make the nodes of the graph, and
 * its kernels name them later. One call then launches all of them.
 */
#include <stdlib.h>

#include "synth/impl.h"

static const synth_kernel_id node_kernels[] = {SYNTH_NORM, SYNTH_GELU, SYNTH_ADD, SYNTH_DROPOUT, SYNTH_REDUCE};
static const synth_text_id node_ops[] = {SYNTH_TEXT_ADD, SYNTH_TEXT_MUL, SYNTH_TEXT_FILL};
enum { NODE_KERNELS = sizeof node_kernels / sizeof *node_kernels, NODE_OPS = sizeof node_ops / sizeof *node_ops };

hd_status synth_graph_init(synth *s)
{
    if (!s->options.graphs) return HD_OK;
    s->graph_nodes = calloc(s->options.graphs, sizeof *s->graph_nodes);
    return s->graph_nodes ? HD_OK : HD_NOMEM(s->err);
}

static void capture_node(synth *s, synth_thread *t, uint32_t node)
{
    synth_open_op(s, t, s->texts[node_ops[node % NODE_OPS]]);
    int64_t start_ns = t->now.own;
    s->graph_nodes[node] = synth_runtime(s, t, SYNTH_TEXT_LAUNCH, 211, synth_about(s, 1400));
    synth_sample(s, t, SYNTH_TEXT_LAUNCH, node_kernels[node % NODE_KERNELS], s->graph_nodes[node], start_ns);
    synth_close_op(s, t);
}

void synth_capture_graph(synth *s)
{
    if (!s->options.graphs || !s->step_count) return;
    synth_thread *t = &s->now.main;
    s->now.shape = synth_seed(s->options.seed ^ 0x6772617068, 0);
    s->now.noise = synth_seed(s->options.seed ^ 0x6772617068, (uint64_t)s->rank + 1);
    synth_open_annotation(s, t, s->texts[SYNTH_TEXT_CAPTURE]);
    synth_runtime(s, t, SYNTH_TEXT_BEGIN_CAPTURE, 317, synth_about(s, 4000));
    for (uint32_t node = 0; node < s->options.graphs; node++) capture_node(s, t, node);
    synth_runtime(s, t, SYNTH_TEXT_END_CAPTURE, 318, synth_about(s, 9000));
    synth_runtime(s, t, SYNTH_TEXT_INSTANTIATE, 314, synth_about(s, 60000));
    synth_close_annotation(s, t);
    synth_pause(&t->now, 20000);
}

uint64_t synth_graph_size(const synth *s)
{
    if (!s->options.graphs) return 0;
    return s->options.cupti ? s->options.graphs + 3u : 2u * s->options.graphs + 4u;
}

void synth_launch_graph(synth *s, synth_thread *t)
{
    if (!s->options.graphs) return;
    synth_open_op(s, t, s->texts[SYNTH_TEXT_REPLAY]);
    int64_t correlation = synth_submit(s, t, SYNTH_TEXT_GRAPH_LAUNCH, SYNTH_KERNEL_NONE, 311, 8000);
    for (uint32_t node = 0; node < s->options.graphs; node++)
        synth_graph_kernel(s, t, node_kernels[node % NODE_KERNELS], correlation, node, s->graph_nodes[node]);
    synth_close_op(s, t);
}
