/* double_graph.c - TEST DOUBLE: graphs of kernels: made, instantiated (which clones their nodes), launched */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "double_cuda.h"

enum { NODES = 1024 };

typedef struct node {
    uint64_t id;
    double_kernel kernel;
    double_copy copy; /* of bytes: it is not a kernel */
} node;

struct double_graph {
    uint32_t id, count;
    node *nodes[NODES];
};

struct double_exec {
    uint32_t id, count;
    node *nodes[NODES];
};

static atomic_uint graphs = 1, nodes_made = 1;

uint64_t double_node_id(const void *handle)
{
    return ((const node *)handle)->id;
}

uint32_t double_graph_id(const double_graph *graph)
{
    return graph->id;
}

uint32_t double_exec_id(const double_exec *exec)
{
    return exec->id;
}

static void tell_truth(uint64_t node_id, uint64_t original, const char *name)
{
    char text[256];
    double_escape(text, sizeof text, name);
    double_truth("{\"what\": \"node\", \"node\": %llu, \"original\": %llu, \"name\": \"%s\"}",
                 (unsigned long long)node_id, (unsigned long long)original, text);
}

static void tell(uint32_t id, const cupti_graph *graph)
{
    const double_hooks *hooks = double_get_hooks();
    if (hooks) hooks->resource(id, double_current_context(), NULL, graph);
}

int cuGraphCreate(double_graph **out, unsigned flags)
{
    DOUBLE_CALL(501, "cuGraphCreate");
    (void)flags;
    *out = calloc(1, sizeof **out);
    (*out)->id = atomic_fetch_add(&graphs, 1);
    tell(CUPTI_RESOURCE_GRAPH_CREATED, &(cupti_graph){.graph = *out});
    return double_end(&call, 0);
}

static node *new_node(const node *like)
{
    node *made = calloc(1, sizeof *made);
    *made = *like;
    made->id = ((uint64_t)1 << 32) | (atomic_fetch_add(&nodes_made, 1) * 8); /* real ones are beyond 32 bits */
    return made;
}

static void *add(double_graph *graph, const node *like)
{
    if (graph->count == NODES) double_misuse("too many nodes");
    node *made = new_node(like);
    graph->nodes[graph->count++] = made;
    tell_truth(made->id, 0, made->kernel.name);
    tell(CUPTI_RESOURCE_NODE_CREATED, &(cupti_graph){.graph = graph, .node = made});
    return made;
}

void *double_graph_add(double_graph *graph, const double_kernel *kernel)
{
    return add(graph, &(node){.kernel = *kernel});
}

void double_graph_add_copy(double_graph *graph, const double_copy *copy)
{
    add(graph, &(node){.kernel.name = "copy", .copy = *copy});
}

int cuGraphAddKernelNode(void **out_node, double_graph *graph, const double_kernel *kernel)
{
    DOUBLE_CALL(502, "cuGraphAddKernelNode");
    *out_node = double_graph_add(graph, kernel);
    return double_end(&call, 0);
}

/* The caller destroys it as any other. */
int cuGraphClone(double_graph **out, double_graph *graph)
{
    DOUBLE_CALL(523, "cuGraphClone");
    *out = calloc(1, sizeof **out);
    (*out)->id = atomic_fetch_add(&graphs, 1);
    for (uint32_t i = 0; i < graph->count; i++) {
        node *original = graph->nodes[i], *made = new_node(original);
        (*out)->nodes[(*out)->count++] = made;
        tell_truth(made->id, original->id, made->kernel.name);
        tell(CUPTI_RESOURCE_NODE_CREATED, &(cupti_graph){.graph = *out, .node = made});
        tell(CUPTI_RESOURCE_NODE_CLONED,
             &(cupti_graph){.graph = *out, .original_graph = graph, .node = made, .original_node = original});
    }
    tell(CUPTI_RESOURCE_GRAPH_CLONED, &(cupti_graph){.graph = *out, .original_graph = graph});
    return double_end(&call, 0);
}

int cuGraphInstantiateWithFlags(double_exec **out, double_graph *graph, unsigned long long flags)
{
    DOUBLE_CALL(643, "cuGraphInstantiateWithFlags");
    (void)flags;
    double_exec *exec = calloc(1, sizeof *exec);
    double_graph *clone = calloc(1, sizeof *clone);
    exec->id = atomic_fetch_add(&graphs, 1);
    clone->id = atomic_fetch_add(&graphs, 1);
    tell(CUPTI_RESOURCE_EXEC_CREATE, &(cupti_graph){.graph = graph});
    for (uint32_t i = 0; i < graph->count; i++) {
        node *original = graph->nodes[i], *made = new_node(original);
        exec->nodes[exec->count++] = made;
        tell_truth(made->id, original->id, made->kernel.name);
        tell(CUPTI_RESOURCE_NODE_CREATED, &(cupti_graph){.graph = clone, .node = made});
        tell(CUPTI_RESOURCE_NODE_CLONED,
             &(cupti_graph){.graph = clone, .original_graph = graph, .node = made, .original_node = original});
    }
    tell(CUPTI_RESOURCE_GRAPH_CLONED, &(cupti_graph){.graph = clone, .original_graph = graph});
    tell(CUPTI_RESOURCE_EXEC_CREATED, &(cupti_graph){.graph = clone, .exec = exec});
    free(clone);
    *out = exec;
    return double_end(&call, 0);
}

static void run_whole(double_exec *exec, double_stream *stream, uint32_t correlation)
{
    double_span span = double_occupy(stream, exec->count * double_script_get()->kernel_ns);
    double_record record = {.as.graph = {.kind = CUPTI_KIND_GRAPH_TRACE,
                                         .correlation = correlation,
                                         .start = span.start_ns,
                                         .end = span.end_ns,
                                         .device = stream->context->device,
                                         .graph = exec->id,
                                         .context = stream->context->id,
                                         .stream = stream->id},
                            .ready_ns = span.end_ns,
                            .name = "graph"};
    double_emit(&record);
}

int cuGraphLaunch(double_exec *exec, void *handle)
{
    DOUBLE_CALL(514, "cuGraphLaunch");
    double_stream *stream = double_stream_of(handle);
    const double_hooks *hooks = double_get_hooks();
    if (hooks && hooks->whole_graphs())
        run_whole(exec, stream, call.correlation);
    else
        for (uint32_t i = 0; i < exec->count; i++) {
            const node *n = exec->nodes[i];
            if (n->copy.bytes)
                double_run_copy(stream, &n->copy, call.correlation, n->id, exec->id);
            else
                double_run_kernel(stream, &n->kernel, call.correlation, n->id, exec->id);
        }
    return double_end(&call, 0);
}

int cuGraphUpload(double_exec *exec, void *stream)
{
    DOUBLE_CALL(580, "cuGraphUpload");
    (void)exec, (void)stream;
    return double_end(&call, 0);
}

int cuGraphDestroy(double_graph *graph)
{
    DOUBLE_CALL(517, "cuGraphDestroy");
    tell(CUPTI_RESOURCE_GRAPH_DESTROY, &(cupti_graph){.graph = graph});
    for (uint32_t i = 0; i < graph->count; i++) {
        tell(CUPTI_RESOURCE_NODE_DESTROY, &(cupti_graph){.graph = graph, .node = graph->nodes[i]});
        free(graph->nodes[i]);
    }
    free(graph);
    return double_end(&call, 0);
}

int cuGraphExecDestroy(double_exec *exec)
{
    DOUBLE_CALL(516, "cuGraphExecDestroy");
    tell(CUPTI_RESOURCE_EXEC_DESTROY, &(cupti_graph){.exec = exec});
    for (uint32_t i = 0; i < exec->count; i++) free(exec->nodes[i]);
    free(exec);
    return double_end(&call, 0);
}
