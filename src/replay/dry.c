/* dry.c - prints a plan without times: what would run, in which order, after what
 *
 * Operations are numbered in the order in which they would begin. Each lists the operations that it waits for, with the
 * kind of the edge, and the call that launches it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "replay/rows.h"

typedef struct operation {
    int64_t start;
    uint32_t node;
} operation;

enum { TEXT_BYTES = 1024, EDGES_MOST = 256 };

static bool is_left_out(const replay *r, uint32_t node)
{
    return r->plan.flags[node] & (PLAN_PINNED | PLAN_GONE);
}

/* What an operation waits for; a removed activity is replaced by what it waits for itself. */
typedef struct awaited {
    uint32_t node;
    hd_edge_kind kind; /* kind of the wait */
} awaited;

/* Into list[EDGES_MOST]. false: there are more. */
static bool find_awaited(awaited *list, size_t *count, const replay *r, uint32_t node)
{
    awaited open[EDGES_MOST] = {{node, HD_EDGE_KINDS}};
    size_t seen = 1; /* of open: removed activities, of which those before `next` are processed */
    *count = 0;
    for (size_t next = 0; next < seen; next++) {
        replay_wait w;
        for (size_t at = 0; replay_next_wait(&w, r, &r->plan, open[next].node, &at);) {
            if (!replay_is_work(r, w.from)) continue;
            bool is_out = is_left_out(r, w.from), is_there = false;
            const awaited added = {w.from, next ? open[next].kind : w.kind};
            for (size_t i = 0; i < (is_out ? seen : *count); i++) {
                const awaited *other = is_out ? &open[i] : &list[i];
                is_there |= other->node == added.node && other->kind == added.kind;
            }
            if (is_there) continue;
            if ((is_out ? seen : *count) == EDGES_MOST) return false;
            *(is_out ? &open[seen++] : &list[(*count)++]) = added;
        }
    }
    return true;
}

/* "12 queue, 7 event"; more than fit end in " …". */
static void list_edges(char *out, const replay *r, const uint32_t *numbers, uint32_t node)
{
    awaited list[EDGES_MOST];
    size_t size = 0, count;
    bool is_all = find_awaited(list, &count, r, node);
    *out = '\0';
    for (size_t i = 0; i < count; i++) {
        int added = snprintf(out + size, TEXT_BYTES - 8 - size, "%s%u %s", size ? ", " : "",
                             numbers[list[i].node - r->first_work], hd_edge_kind_name(list[i].kind));
        is_all &= added >= 0 && (size_t)added < TEXT_BYTES - 8 - size;
        if (added < 0 || (size_t)added >= TEXT_BYTES - 8 - size) break;
        size += (size_t)added;
    }
    if (!is_all) snprintf(out + size, TEXT_BYTES - size, " …");
}

static uint32_t name_of_call(const replay *r, uint32_t node)
{
    uint32_t launch = replay_work(r, node)->launch;
    bool is_launched = launch != HD_NONE && !(r->plan.flags[node] & PLAN_NO_LAUNCH);
    return is_launched ? r->scope.launches->launches[launch].name : HD_STRING_NONE;
}

static void add_operations(hd_table_builder *t, const replay *r, const operation *list, size_t count,
                           const uint32_t *numbers, const uint32_t *firsts, uint32_t *queues)
{
    for (size_t i = 0; i < count; i++) {
        char edges[TEXT_BYTES];
        uint32_t node = list[i].node, *queue = &queues[firsts[node - r->first_work] - r->first_work];
        if (!*queue) *queue = (uint32_t)i + 1; /* the first that is there */
        list_edges(edges, r, numbers, node);
        hd_table_add_count(t, i + 1);
        report_cell_int(t, r->scope.ranks[replay_work(r, node)->track]);
        report_cell_int(t, hd_trace_track_at(r->trace, replay_work(r, node)->track)->device);
        hd_table_add_count(t, *queue);
        report_cell_string(t, r->trace, replay_work(r, node)->name);
        report_cell_string(t, r->trace, name_of_call(r, node));
        hd_table_add_text(t, *edges ? edges : NULL);
        hd_table_add_int(t, r->graph->slices[node]);
    }
}

hd_status replay_add_operations(hd_report *out, const replay *r, hd_error *err)
{
    hd_table_builder *t = NULL;
    const replay_times *times = &r->changed;
    size_t works = r->graph->node_count - r->first_work, count = 0;
    operation *list = hd_large_new(works + 1, sizeof *list, r->large);
    operation *spare = hd_large_new(works + 1, sizeof *spare, r->large);
    uint32_t *numbers = hd_large_zeroed(works + 1, sizeof *numbers, r->large);
    uint32_t *queues = hd_large_zeroed(works + 1, sizeof *queues, r->large);
    uint32_t *firsts = hd_large_new(works + 1, sizeof *firsts, r->large);
    bool fine = list && spare && numbers && queues && firsts && replay_find_firsts(firsts, r);
    for (uint32_t n = r->first_work; fine && n < r->graph->node_count; n++) {
        if (!is_left_out(r, n)) list[count++] = (operation){times->starts[n], n};
    }
    if (fine) HD_SORT_RUNS(list, spare, count, x, y, x->start != y->start ? x->start < y->start : x->node < y->node);
    for (size_t i = 0; fine && i < count; i++) numbers[list[i].node - r->first_work] = (uint32_t)i + 1;
    hd_status status = fine ? report_builder(&t, &replay_about, "operations", err) : HD_NOMEM(err);
    if (status == HD_OK) {
        add_operations(t, r, list, count, numbers, firsts, queues);
        status = report_add(out, t, err);
    }
    hd_large_free(list);
    hd_large_free(spare);
    hd_large_free(numbers);
    hd_large_free(queues);
    hd_large_free(firsts);
    return status;
}
