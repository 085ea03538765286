/* graph.c - where the nodes of CUDA graphs were made
 *
 * A kernel of a graph is launched by cuGraphLaunch, which says nothing of the line of the program that put it into the
 * graph. So the stack is taken when a node is made. A graph is cloned when it is instantiated: clones have the stack of
 * the node that they are a clone of, which is what the table is for.
 */
#include "base/map.h"
#include "capture/cuda/cupti/load.h"
#include "capture/cuda/impl.h"

enum { NODES_MAX = 1 << 21 };

/* CUPTI's callbacks have the tracer, of which there is one: so there is one table. */
static struct {
    pthread_mutex_t lock;
    hd_map stacks; /* by node */
    uint64_t lost;
} nodes = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void remember(uint64_t node, uint32_t stack)
{
    pthread_mutex_lock(&nodes.lock);
    bool is_full = nodes.stacks.count >= NODES_MAX && !hd_map_find(&nodes.stacks, node, 0);
    nodes.lost += is_full || !hd_map_set(&nodes.stacks, node, 0, stack);
    pthread_mutex_unlock(&nodes.lock);
}

static uint32_t stack_of(uint64_t node)
{
    uint32_t stack = 0;
    pthread_mutex_lock(&nodes.lock);
    hd_map_get(&stack, &nodes.stacks, node, 0);
    pthread_mutex_unlock(&nodes.lock);
    return stack;
}

uint64_t cuda_graph_lost(void)
{
    pthread_mutex_lock(&nodes.lock);
    uint64_t lost = nodes.lost;
    pthread_mutex_unlock(&nodes.lock);
    return lost;
}

__attribute__((noinline)) void cuda_graph_on_node(cuda_tracer *t, uint32_t id, const void *data)
{
    const cupti_resource *resource = data;
    const cupti_graph *graph = resource->descriptor;
    uint64_t node = 0, original = 0;
    uint32_t stack = 0;
    if (!graph || !graph->node || !t->cupti->GetGraphNodeId) return;
    if (t->cupti->GetGraphNodeId(graph->node, &node) != CUPTI_OK || node == 0) return;
    if (id == CUPTI_RESOURCE_NODE_CREATED)
        stack = cuda_stack_here(t, 2);
    else if (id == CUPTI_RESOURCE_NODE_CLONED && graph->original_node &&
             t->cupti->GetGraphNodeId(graph->original_node, &original) == CUPTI_OK)
        stack = stack_of(original);
    if (!stack) return;
    remember(node, stack);
    hd_session_emit(
        t->session,
        &(hd_session_record){.kind = HD_SESSION_NODE, .time_ns = hd_session_now(), .node = node, .stack = stack});
}
