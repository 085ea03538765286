/* ranks_graph.c - hd_graph_new: a graph, with the collectives of its ranks or devices matched by group and sequence */
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "graph/members.h"
#include "report/job/groups.h"
#include "trace/ranks.h"

/* Whether GPU activities are of several ranks, or devices of one. */
static bool has_several(const hd_trace *trace, const hd_launches *launches)
{
    uint32_t first = HD_NONE, seen = HD_NONE;
    for (size_t i = 0; i < launches->work_count; i++) {
        uint32_t track = launches->works[i].track;
        if (track == seen || track >= hd_trace_track_count(trace)) continue;
        seen = track;
        if (first == HD_NONE) first = track;
        if (hd_trace_rank_of(trace, track) != hd_trace_rank_of(trace, first) ||
            hd_trace_track_at(trace, track)->device != hd_trace_track_at(trace, first)->device)
            return true;
    }
    return false;
}

static int compare(const hd_collective *x, const hd_collective *y)
{
    int order = job_compare_groups(x, y);
    if (!order) order = job_compare_numbers(x->sequence, y->sequence);
    if (!order) order = job_compare_numbers(x->rank, y->rank);
    return order ? order : job_compare_numbers(x->device, y->device);
}

/* Whether list[0 … count) is one operation, with each rank and device once; the rank of all is known, or of none. If
 * numbers are counted, different bytes mean another collective. */
static bool is_one(const hd_collective *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const hd_collective *x = list[0], *y = list[i];
        bool is_same = job_is_same_text(x->operation, y->operation) &&
                       (!y->sequence_is_counted || x->bytes == y->bytes || !job_has_one_size(x->operation));
        bool is_beside = (y->rank == HD_NO_NUMBER) == (x->rank == HD_NO_NUMBER);
        if (!is_same || !is_beside || (i && compare(list[i - 1], list[i]) == 0)) return false;
    }
    return count > 1 && !list[0]->is_point_to_point;
}

static size_t one_end(const hd_collective *const *list, size_t count, size_t i)
{
    size_t end = i + 1;
    while (end < count && job_compare_groups(list[i], list[end]) == 0 && list[i]->sequence == list[end]->sequence)
        end++;
    return end;
}

/* With counted numbers the collectives of a group in a step match if all ranks have as many: otherwise it is unknown
 * which are missing. */
static bool is_same_step(const hd_collective *x, const hd_collective *y)
{
    return x->sequence_is_counted && y->sequence_is_counted && job_compare_groups(x, y) == 0 &&
           job_part_of(x->sequence) == job_part_of(y->sequence);
}

/* *out: room for all. */
static size_t find_members(graph_member *out, const hd_collective *const *list, size_t count)
{
    size_t found = 0, end;
    for (size_t i = 0; i < count; i = end) {
        const size_t before = found, each = one_end(list, count, i) - i;
        bool fits = true;
        for (size_t k = end = i; k == i || (k < count && is_same_step(list[i], list[k])); k = end) {
            end = one_end(list, count, k);
            fits &= end - k == each && is_one(list + k, each);
            for (size_t m = k; m < end; m++) out[found++] = (graph_member){list[m]->event, (uint32_t)k};
        }
        if (!fits) found = before;
    }
    return found;
}

static hd_status new_of_ranks(hd_graph **out, const hd_trace *trace, const hd_launches *launches, hd_error *err)
{
    hd_collectives *all;
    HD_TRY(hd_collectives_new(&all, trace, err));
    size_t count = hd_collectives_count(all);
    const hd_collective **list = malloc((count + 1) * sizeof *list), **spare = malloc((count + 1) * sizeof *spare);
    graph_member *members = malloc((count + 1) * sizeof *members);
    hd_status status = list && spare && members ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) {
        for (size_t i = 0; i < count; i++) list[i] = hd_collectives_at(all, i);
        HD_SORT_RUNS(list, spare, count, x, y, compare(*x, *y) < 0);
        status = graph_new(out, trace, launches, members, find_members(members, list, count), err);
    }
    free(list);
    free(spare);
    free(members);
    hd_collectives_free(all);
    return status;
}

hd_status hd_graph_new(hd_graph **out, const hd_trace *trace, const hd_launches *launches, hd_error *err)
{
    *out = NULL;
    return has_several(trace, launches) ? new_of_ranks(out, trace, launches, err)
                                        : graph_new(out, trace, launches, NULL, 0, err);
}
