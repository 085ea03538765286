/* busy.c - how long a device computes between two collectives: the time that remains if the host is not the limit */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "report/gpu/gpu.h"
#include "report/job/job.h"

typedef struct place {
    int64_t rank, device, start;
    size_t at; /* of the collectives */
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* When anything but communication runs on it. false: no memory, or no such device. */
static bool spans_of(gpu_spans *out, const gpu_scope *s, const place *of)
{
    size_t count = 0, most = 1;
    for (uint32_t d = 0; d < s->device_count; d++)
        if (s->devices[d].rank == of->rank && s->devices[d].device == of->device) most += s->devices[d].count;
    gpu_span *list = hd_large_new(most, sizeof *list, s->large);
    if (!list) return false;
    for (uint32_t d = 0; d < s->device_count; d++) {
        const gpu_device *device = &s->devices[d];
        if (device->rank != of->rank || device->device != of->device) continue;
        for (uint32_t i = 0; i < device->count; i++) {
            const gpu_work *work = &s->works[s->order[device->first + i]];
            if (work->class != GPU_COMMUNICATION) list[count++] = (gpu_span){work->start, work->end};
        }
    }
    return gpu_spans_union(out, list, count, s->large);
}

static bool fill(int64_t *out, const gpu_scope *s, const hd_collectives *all, place *places, size_t count)
{
    gpu_spans spans = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++) {
        const place *now = &places[i], *before = i ? now - 1 : NULL;
        bool is_first = !before || before->rank != now->rank || before->device != now->device;
        if (is_first) {
            gpu_spans_deinit(&spans);
            fine = spans_of(&spans, s, now);
        }
        out[now->at] = HD_NO_TIME;
        if (is_first || !fine) continue;
        int64_t from = hd_collectives_at(all, before->at)->end_ns;
        out[now->at] = now->start > from ? gpu_spans_covered(&spans, from, now->start) : 0;
    }
    gpu_spans_deinit(&spans);
    return fine;
}

hd_status job_busy_before(int64_t **out, const hd_collectives *all, const hd_report_input *input, hd_error *err)
{
    static const gpu_options options = {0};
    gpu_scope scope;
    size_t count = hd_collectives_count(all);
    place *places = calloc(count + 1, sizeof *places);
    *out = calloc(count + 1, sizeof **out);
    hd_status status = gpu_scope_init(&scope, input, &options, 0, err);
    if (status == HD_OK && !(places && *out)) status = HD_NOMEM(err);
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        const hd_collective *c = hd_collectives_at(all, i);
        places[i] = (place){c->rank, c->device, c->start_ns, i};
    }
    if (status == HD_OK) hd_sort(places, count, sizeof *places, by_place);
    if (status == HD_OK && !fill(*out, &scope, all, places, count)) status = HD_NOMEM(err);
    gpu_scope_deinit(&scope);
    free(places);
    if (status == HD_OK) return HD_OK;
    free(*out);
    *out = NULL;
    return status;
}
