/* forward_places.c - launches of backward operators where their forward operators began */
#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/flows/forward.h"
#include "model/host/slices.h"
#include "trace/event.h"

/* Ops of which the forward op is known, whose row is then their `user`. */
typedef struct forward_ops {
    forward_pair *pairs; /* by backward row */
    size_t count;
} forward_ops;

static bool has_forward(void *user, gpu_slice *op)
{
    const forward_ops *f = user;
    size_t low = 0, high = f->count;
    HD_PARTITION_POINT(low, high, at, f->pairs[at].backward < op->row);
    if (low == f->count || f->pairs[low].backward != op->row) return false;
    op->user = (uint32_t)f->pairs[low].forward;
    return true;
}

hd_status gpu_places_to_forward(gpu_place *places, size_t count, const gpu_scope *s, hd_error *err)
{
    forward_ops f = {0};
    gpu_slices ops = {0};
    uint32_t *op_of = NULL;
    hd_status status = forward_pairs(&f.pairs, &f.count, s->trace, err);
    if (status == HD_OK && f.count) status = gpu_slices_init(&ops, s, 1u << HD_ROLE_OP, err);
    if (status == HD_OK && f.count) {
        gpu_slices_keep_outermost(&ops, s, has_forward, &f);
        status = gpu_innermost_of_launches(&op_of, s, &ops, err);
    }
    for (size_t i = 0; op_of && i < count; i++) {
        uint32_t op = op_of[places[i].id];
        if (op == HD_NONE) continue;
        hd_event forward = hd_event_at(s->trace, HD_KIND_SLICE, ops.list[op].user);
        uint32_t lane = gpu_lane_of(s->trace, forward.track);
        if (lane == HD_NONE || forward.start_ns == HD_NO_TIME) continue;
        places[i].lane = lane;
        places[i].time = gpu_time(forward.start_ns);
    }
    gpu_place *spare = op_of ? hd_large_new(count + 1, sizeof *spare, s->large) : NULL;
    if (spare) HD_SORT_RUNS(places, spare, count, x, y, x->lane != y->lane ? x->lane < y->lane : x->time < y->time);
    if (op_of && !spare) status = HD_NOMEM(err);
    hd_large_free(spare);
    hd_large_free(op_of);
    hd_large_free(f.pairs);
    gpu_slices_deinit(&ops);
    return status;
}
