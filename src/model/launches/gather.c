/* gather.c - gathers calls and GPU activities of a trace, with several threads
 *
 * trace_roles.h gives the role of a slice.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"
#include "model/args/args.h"
#include "model/launches/impl.h"
#include "trace/event.h"
#include "trace/index/lane_index.h"
#include "trace/lazy.h"

enum { CHUNK_ROWS = 2048, THREAD_BLOCKS = 4 };

typedef struct gather_shared {
    launch_finder *f;
    atomic_uchar *sorts; /* by string id: hd_launch_sort + 1 */
} gather_shared;

/* One thread. */
typedef struct gatherer {
    const gather_shared *shared;
    const hd_trace *trace;
    size_t block_from, block_until;
    launch_finder found; /* only its lists */
    gpu_arg creator;     /* the id of the call that made the node of a graph */
    gpu_arg node, original;
    bool has_nodes;
    bool failed;
    int64_t category[CHUNK_ROWS];
} gatherer;

/* ---- calls ---- */

static hd_launch_sort sort_at(const gatherer *g, uint32_t name)
{
    unsigned known = atomic_load_explicit(&g->shared->sorts[name], memory_order_relaxed);
    if (known == 0) {
        known = (unsigned)hd_launch_sort_of(hd_trace_string(g->trace, name)) + 1;
        atomic_store_explicit(&g->shared->sorts[name], (unsigned char)known, memory_order_relaxed);
    }
    return (hd_launch_sort)(known - 1);
}

/* ---- rows ---- */

static bool add_work(gatherer *g, const hd_block *block, uint32_t row, hd_role role)
{
    launch_finder *found = &g->found;
    int64_t start = hd_column_at(&block->columns[HD_COL_START], row);
    int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], row);
    found->without_time += start == HD_NO_TIME;
    found->without_end += start != HD_NO_TIME && duration == HD_NO_TIME;
    if (!hd_large_grow((void **)&found->works, &found->work_capacity, found->work_count, sizeof *found->works,
                       g->shared->f->large))
        return false;
    int64_t creator;
    if (gpu_arg_whole(&creator, &g->creator, block, row) && creator) {
        if (!hd_large_grow((void **)&found->creators, &found->creator_capacity, found->creator_count,
                           sizeof *found->creators, g->shared->f->large))
            return false;
        found->creators[found->creator_count++] = (launch_creator){(uint32_t)found->work_count, creator};
    }
    found->works[found->work_count++] = (hd_work){
        .row = block->first_row + row,
        .id = hd_correlation_at(block, row),
        .start_ns = start,
        .duration_ns = duration > 0 ? duration : 0,
        .track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row),
        .name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row),
        .role = role,
        .launch = HD_NONE,
        .graph_launch = HD_NONE,
    };
    return true;
}

static bool add_call(gatherer *g, const hd_block *block, uint32_t row)
{
    launch_finder *found = &g->found;
    int64_t start = hd_column_at(&block->columns[HD_COL_START], row);
    int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], row);
    int64_t id = hd_correlation_at(block, row);
    uint32_t name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row);
    hd_launch_sort sort = sort_at(g, name);
    if (start == HD_NO_TIME) return true;
    if (!hd_large_grow((void **)&found->calls, &found->call_capacity, found->call_count, sizeof *found->calls,
                       g->shared->f->large))
        return false;
    found->calls[found->call_count++] = (launch_call){
        .row = block->first_row + row,
        .id = id,
        .start_ns = start,
        .duration_ns = duration > 0 ? duration : 0,
        .track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row),
        .name = name,
        .sort = (uint8_t)sort,
    };
    return true;
}

static bool add_node(gatherer *g, const hd_block *block, uint32_t row)
{
    launch_finder *found = &g->found;
    launch_node node = {.start_ns = hd_column_at(&block->columns[HD_COL_START], row),
                        .row = block->first_row + row,
                        .track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row),
                        .call = HD_NONE};
    if (!gpu_arg_whole(&node.id, &g->node, block, row) || node.start_ns == HD_NO_TIME) return true;
    if (!gpu_arg_whole(&node.original, &g->original, block, row)) node.original = HD_NO_NUMBER;
    if (!hd_large_grow((void **)&found->nodes, &found->node_capacity, found->node_count, sizeof *found->nodes,
                       g->shared->f->large))
        return false;
    found->nodes[found->node_count++] = node;
    return true;
}

static bool gather_block(gatherer *g, const hd_block *block)
{
    for (uint32_t first = 0; first < block->row_count; first += CHUNK_ROWS) {
        uint32_t count = block->row_count - first < CHUNK_ROWS ? block->row_count - first : CHUNK_ROWS;
        hd_column_decode(g->category, &block->columns[HD_COL_CATEGORY], first, count);
        for (uint32_t i = 0; i < count; i++) {
            hd_role role = hd_roles_in(&g->shared->f->roles, block, first + i, (uint32_t)g->category[i]);
            bool fine = true;
            g->found.roles_seen |= 1u << role;
            if (hd_role_is_work(role))
                fine = add_work(g, block, first + i, role);
            else if (role == HD_ROLE_RUNTIME || role == HD_ROLE_DRIVER)
                fine = add_call(g, block, first + i);
            else if (role == HD_ROLE_OTHER && g->has_nodes)
                fine = add_node(g, block, first + i);
            if (!fine) return false;
        }
    }
    return true;
}

static void gather_blocks(void *state)
{
    gatherer *g = state;
    hd_block_room room = {0};
    for (size_t b = g->block_from; b < g->block_until && !g->failed; b++) {
        g->failed = !gather_block(g, hd_walk_block(&room, g->trace, HD_KIND_SLICE, b));
    }
    hd_walk_end(&room, g->trace);
}

/* ---- threads ---- */

/* Appends a thread's list to the whole; the first list is taken without a copy. */
static bool append(void **list, size_t *count, void *more, size_t more_count, size_t size, uint64_t large)
{
    if (*count == 0) {
        hd_large_free(*list);
        *list = more;
        *count = more_count;
        return true;
    }
    bool fine = more_count == 0 || hd_large_resize(list, *count, *count + more_count, size, large);
    if (fine && more_count) {
        memcpy((char *)*list + *count * size, more, more_count * size);
        *count += more_count;
    }
    hd_large_free(more);
    return fine;
}

static bool collect(launch_finder *f, gatherer *gatherers, unsigned count)
{
    bool fine = true;
    for (unsigned i = 0; i < count; i++) {
        launch_finder *found = &gatherers[i].found;
        fine = fine && !gatherers[i].failed;
        for (size_t c = 0; c < found->creator_count; c++) found->creators[c].work += (uint32_t)f->work_count;
        fine &= append((void **)&f->creators, &f->creator_count, found->creators, found->creator_count,
                       sizeof *f->creators, f->large);
        fine &= append((void **)&f->calls, &f->call_count, found->calls, found->call_count, sizeof *f->calls, f->large);
        fine &= append((void **)&f->nodes, &f->node_count, found->nodes, found->node_count, sizeof *f->nodes, f->large);
        f->roles_seen |= found->roles_seen;
        f->without_time += found->without_time;
        f->without_end += found->without_end;
        fine &= append((void **)&f->works, &f->work_count, found->works, found->work_count, sizeof *f->works, f->large);
    }
    f->call_capacity = f->call_count;
    f->work_capacity = f->work_count;
    f->creator_capacity = f->creator_count;
    f->node_capacity = f->node_count;
    f->has_limit = f->call_count >= HD_NONE || f->work_count >= HD_NONE;
    return fine;
}

bool launches_gather(launch_finder *f)
{
    size_t blocks = hd_trace_block_count(f->trace, HD_KIND_SLICE);
    unsigned count = hd_thread_count(0, blocks / THREAD_BLOCKS);
    gatherer *gatherers = calloc(count, sizeof *gatherers);
    gather_shared shared = {f, calloc((size_t)hd_trace_string_count(f->trace) + 1, sizeof *shared.sorts)};
    bool fine = gatherers && shared.sorts;
    for (unsigned i = 0; fine && i < count; i++) {
        gatherers[i].shared = &shared;
        gatherers[i].trace = f->trace;
        fine = gpu_arg_init(&gatherers[i].creator, f->trace, "graphNodeCreatorCorrelationId") &&
               gpu_arg_init(&gatherers[i].node, f->trace, LAUNCH_NODE_ID) &&
               gpu_arg_init(&gatherers[i].original, f->trace, "originalGraphNodeId");
        gatherers[i].has_nodes = fine && gpu_arg_is_used(&gatherers[i].node);
        gatherers[i].block_from = blocks * i / count;
        gatherers[i].block_until = blocks * (i + 1) / count;
    }
    if (fine) {
        hd_threads_run(gather_blocks, gatherers, sizeof *gatherers, count);
        fine = collect(f, gatherers, count);
    }
    for (unsigned i = 0; gatherers && i < count; i++) {
        gpu_arg_deinit(&gatherers[i].creator);
        gpu_arg_deinit(&gatherers[i].node);
        gpu_arg_deinit(&gatherers[i].original);
    }
    free(gatherers);
    free((void *)shared.sorts);
    return fine;
}
