/* graph.c - where the nodes of CUDA graphs were made
 *
 * A kernel of a graph is launched by cuGraphLaunch, which says nothing of the line of the program that put it into the
 * graph. So the stack is taken when a node is made. A graph is cloned when it is instantiated: clones have the stack of
 * the node that they are a clone of, which is what the table is for.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "capture/cuda/cupti/load.h"
#include "capture/cuda/impl.h"

enum { FIRST_SLOTS = 1024, SLOTS_MAX = 1 << 22 };

typedef struct slot {
    uint64_t node; /* 0: free */
    uint32_t stack;
} slot;

/* CUPTI's callbacks have the tracer, of which there is one: so there is one table. */
static struct {
    pthread_mutex_t lock;
    slot *slots;
    uint32_t count, capacity;
    uint64_t lost;
} nodes = {.lock = PTHREAD_MUTEX_INITIALIZER};

static slot *find(slot *slots, uint32_t capacity, uint64_t node)
{
    uint32_t at = (uint32_t)hd_hash_pair(node, 0) & (capacity - 1);
    while (slots[at].node && slots[at].node != node) at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool widen(void)
{
    uint32_t capacity = nodes.capacity ? nodes.capacity * 2 : FIRST_SLOTS;
    if (nodes.count < nodes.capacity / 2) return true;
    slot *slots = capacity <= SLOTS_MAX ? calloc(capacity, sizeof *slots) : NULL;
    if (!slots) return false;
    for (uint32_t i = 0; i < nodes.capacity; i++) {
        if (nodes.slots[i].node) *find(slots, capacity, nodes.slots[i].node) = nodes.slots[i];
    }
    free(nodes.slots);
    nodes.slots = slots;
    nodes.capacity = capacity;
    return true;
}

static void remember(uint64_t node, uint32_t stack)
{
    pthread_mutex_lock(&nodes.lock);
    if (widen()) {
        slot *at = find(nodes.slots, nodes.capacity, node);
        if (!at->node) nodes.count++;
        *at = (slot){node, stack};
    } else {
        nodes.lost++;
    }
    pthread_mutex_unlock(&nodes.lock);
}

static uint32_t stack_of(uint64_t node)
{
    pthread_mutex_lock(&nodes.lock);
    uint32_t stack = nodes.capacity ? find(nodes.slots, nodes.capacity, node)->stack : 0;
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
    if (!graph || !graph->node || t->cupti->GetGraphNodeId(graph->node, &node) != CUPTI_OK || node == 0) return;
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
