/* launches.c - the launches of a run on a GPU: the plan's activities by call, each queue a stream, each kernel a
 * stamp */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "replay/hardware/hardware.h"
#include "replay/rows.h"
#include "trace/event.h"

enum { BUFFER_BYTES_MOST = 256 << 20, LAUNCHES_MOST = 1 << 20 /* streams hold this many events and stamps */ };

bool hardware_next_wait(replay_wait *out, const hardware *h, uint32_t node, size_t *at)
{
    while (replay_next_wait(out, h->r, &h->r->plan, node, at)) {
        if (!hardware_runs(h->r, out->from)) continue;
        if (!replay_is_work(h->r, out->from)) return true;
        out->from = hardware_head(h, out->from);
        return true;
    }
    return false;
}

/* The call that launches the activity in the plan, if that call runs. */
static uint32_t launcher(const replay *r, uint32_t node)
{
    replay_wait w;
    for (size_t at = 0; replay_next_wait(&w, r, &r->plan, node, &at);) {
        if (w.kind == HD_EDGE_LAUNCH && !(r->plan.flags[w.from] & PLAN_PINNED)) return w.from;
    }
    return HD_NONE;
}

/* By step: the remaining call of a step that is one CUDA graph. */
static uint32_t *find_step_calls(const replay *r)
{
    size_t count = (size_t)r->scope.step_count + 1;
    uint32_t *out = malloc(count * sizeof *out);
    for (size_t s = 0; out && s < count; s++) out[s] = HD_NONE;
    for (uint32_t n = r->first_work; out && n < r->graph->node_count; n++) {
        uint32_t step = replay_gpu_work(r, n)->step;
        uint32_t call = step != HD_NONE && hardware_runs(r, n) ? launcher(r, n) : HD_NONE;
        if (call != HD_NONE && out[step] == HD_NONE) out[step] = call;
    }
    return out;
}

/* Lists a queue from its first activity on. `before`: what ran before. */
static void list_queue(hardware *h, const uint32_t *afters, const uint32_t *step_calls, uint32_t node)
{
    const replay *r = h->r;
    uint32_t queue = HD_NONE, before = HD_NONE;
    for (; node != HD_NONE; node = afters[node - r->first_work]) {
        uint32_t w = node - r->first_work, step = replay_gpu_work(r, node)->step;
        if (!hardware_runs(r, node)) continue;
        if (queue == HD_NONE) queue = h->queue_count++;
        h->queues[w] = queue;
        h->calls[w] = launcher(r, node);
        if (r->plan.flags[node] & PLAN_NO_LAUNCH) {
            if (r->options->graph && step != HD_NONE)
                h->calls[w] = step_calls[step];
            else if (before != HD_NONE)
                h->calls[w] = h->calls[before];
        }
        if (replay_work(r, node)->role == HD_ROLE_KERNEL) {
            bool is_fused = hardware_is_fused(r, node) && before != HD_NONE && h->kernels[before] != HD_NONE;
            h->kernels[w] = is_fused ? h->kernels[before] : h->kernel_count++;
            if (!is_fused) h->heads[h->kernels[w]] = node;
            h->spins[h->kernels[w]] += gpu_sum(r->changed.ends[node], -r->changed.starts[node]);
        }
        before = w;
    }
}

static hd_status list_queues(hardware *h, hd_error *err)
{
    const replay *r = h->r;
    uint32_t works = r->graph->node_count - r->first_work;
    uint32_t *afters = replay_afters(r), *step_calls = find_step_calls(r);
    for (uint32_t w = 0; w < works; w++) h->calls[w] = h->kernels[w] = h->events[w] = HD_NONE;
    for (uint32_t w = 0; afters && step_calls && w < works; w++)
        if (r->plan.befores[w] == HD_NONE) list_queue(h, afters, step_calls, r->first_work + w);
    bool fine = afters && step_calls;
    hd_large_free(afters);
    free(step_calls);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* Activities of a call in order of time, which is also that of everything they wait for. */
static hd_status list_launches(hardware *h, hd_error *err)
{
    const replay *r = h->r;
    const replay_times *t = &r->changed;
    size_t count = 0, works = r->graph->node_count - r->first_work;
    uint32_t *order = hd_large_new(works + 1, sizeof *order, r->large);
    uint32_t *spare = hd_large_new(works + 1, sizeof *spare, r->large);
    for (uint32_t n = r->first_work; order && spare && n < r->graph->node_count; n++)
        if (hardware_runs(r, n) && hardware_head(h, n) == n) order[count++] = n;
    if (order && spare)
        HD_SORT_RUNS(order, spare, count, x, y,
                     t->starts[*x] != t->starts[*y] ? t->starts[*x] < t->starts[*y] : t->ends[*x] < t->ends[*y]);
    for (size_t i = 0; i < count; i++) {
        uint32_t call = h->calls[order[i] - r->first_work];
        if (call == HD_NONE)
            h->orphans[h->orphan_count++] = order[i];
        else
            h->firsts[call + 2]++;
    }
    for (uint32_t n = 0; n < r->first_work; n++) h->firsts[n + 2] += h->firsts[n + 1];
    for (size_t i = 0; i < count; i++) {
        uint32_t call = h->calls[order[i] - r->first_work];
        if (call != HD_NONE) h->launched[h->firsts[call + 1]++] = order[i];
    }
    bool fine = order && spare;
    hd_large_free(order);
    hd_large_free(spare);
    return fine ? HD_OK : HD_NOMEM(err);
}

static void number_events(hardware *h)
{
    const replay *r = h->r;
    replay_wait w;
    for (uint32_t n = 0; n < r->graph->node_count; n++) {
        for (size_t at = 0; hardware_runs(r, n) && hardware_next_wait(&w, h, n, &at);) {
            if (!hardware_is_event(h, n, w)) continue;
            uint32_t *event = &h->events[w.from - r->first_work];
            if (*event == HD_NONE) *event = h->event_count++;
        }
    }
}

static hd_status read_bytes(hardware *h, hd_error *err)
{
    const replay *r = h->r;
    uint32_t works = r->graph->node_count - r->first_work;
    gpu_copy_bytes bytes;
    bool fine = gpu_copy_bytes_init(&bytes, r->trace);
    for (uint32_t w = 0; fine && w < works; w++) {
        uint32_t node = r->first_work + w;
        if (!hardware_runs(r, node) || replay_work(r, node)->role == HD_ROLE_KERNEL) continue;
        h->bytes[w] = gpu_copy_bytes_of(&bytes, r->graph->slices[node]);
        if (h->bytes[w] < 4) h->bytes[w] = 4; /* or unknown */
        if (h->bytes[w] > BUFFER_BYTES_MOST) {
            h->bytes[w] = BUFFER_BYTES_MOST;
            h->cut_copies++;
        }
        if ((size_t)h->bytes[w] > h->buffer_bytes) h->buffer_bytes = (size_t)h->bytes[w];
    }
    gpu_copy_bytes_deinit(&bytes);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status hardware_list(hardware *h, hd_error *err)
{
    const replay *r = h->r;
    const uint32_t nodes = r->graph->node_count;
    const size_t works = (size_t)(nodes - r->first_work) + 1;
    h->from = INT64_MAX;
    for (uint32_t n = 0; n < nodes; n++)
        if (hardware_runs(r, n) && r->graph->starts[n] < h->from) h->from = r->graph->starts[n];
#define ZEROED(member, count) ((h->member = hd_large_zeroed(count, sizeof *h->member, r->large)) != NULL)
    bool fine = ZEROED(calls, works) && ZEROED(queues, works) && ZEROED(kernels, works) && ZEROED(events, works) &&
                ZEROED(is_done, works) && ZEROED(bytes, works) && ZEROED(heads, works) && ZEROED(spins, works) &&
                ZEROED(launched, works) && ZEROED(orphans, works) && ZEROED(firsts, (size_t)r->first_work + 2) &&
                ZEROED(graph_of, (size_t)r->first_work + 1);
#undef ZEROED
    if (!fine) return HD_NOMEM(err);
    HD_TRY(list_queues(h, err));
    if (!h->kernel_count)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "run: there is no kernel to launch");
    if (h->kernel_count > LAUNCHES_MOST)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "run: %u kernels, more than %d; --step or --from and --until choose a part",
                            h->kernel_count, LAUNCHES_MOST);
    HD_TRY(list_launches(h, err));
    number_events(h);
    return read_bytes(h, err);
}

void hardware_list_deinit(hardware *h)
{
    void *const lists[] = {h->calls, h->queues, h->kernels,  h->events,  (void *)h->is_done, h->bytes,
                           h->heads, h->spins,  h->launched, h->orphans, h->firsts,          h->graph_of};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) hd_large_free(lists[i]);
}
