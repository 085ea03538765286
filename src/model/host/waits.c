/* waits.c - waits for other ranks that are part of a collective but are not GPU activities
 *
 * A kernel of NCCL includes its waiting. On an Ascend NPU a collective is many tasks, and between its copies are waits
 * for other ranks, "Notify Wait", on the same queue.
 */
#include "model/host/waits.h"

#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "model/host/slices.h"

/* A database names them after the collective. */
static bool is_part_of_collective(hd_string name)
{
    static const char notify[] = "notify wait", joined[] = "notify_wait", whole[] = "hcom_";
    if (name.size >= sizeof whole - 1 && strncasecmp(name.data, whole, sizeof whole - 1) == 0) return true;
    return name.size == sizeof notify - 1 &&
           (strncasecmp(name.data, notify, name.size) == 0 || strncasecmp(name.data, joined, name.size) == 0);
}

/* The names of a trace that are such waits. */
typedef struct wait_names {
    bool any;
    uint8_t is_one[]; /* by string */
} wait_names;

/* Cached with the launches, so that reports need not scan all strings again. NULL: no memory. */
static const wait_names *names_of(const hd_trace *trace, const hd_launches *launches)
{
    void **place = (void **)&((hd_launches *)launches)->wait_names, *before = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (before) return before;
    uint32_t strings = hd_trace_string_count(trace);
    wait_names *made = calloc(1, sizeof *made + strings + 1);
    for (uint32_t i = 0; made && i < strings; i++)
        made->any |= made->is_one[i] = is_part_of_collective(hd_trace_string(trace, i));
    return made ? hd_keep_first(place, made) : NULL;
}

hd_status gpu_waits_any(bool *out, const hd_trace *trace, const hd_launches *launches, hd_error *err)
{
    const wait_names *names = names_of(trace, launches);
    *out = names && names->any;
    return names ? HD_OK : HD_NOMEM(err);
}

/* Whether the queue has collectives, of the work that options choose. */
static bool communicates(const gpu_scope *s, const gpu_row *row)
{
    for (uint32_t i = 0; i < row->count; i++) {
        if (s->works[s->by_row[row->first + i]].class == GPU_COMMUNICATION) return true;
    }
    return false;
}

bool gpu_row_waits(const gpu_slices *waits, const gpu_scope *s, const gpu_row *row)
{
    return waits->count && waits->first[row->lane] < waits->first[row->lane + 1] && row->device != HD_NONE &&
           communicates(s, row);
}

gpu_span gpu_wait_span(const gpu_slice *wait, const gpu_device *device)
{
    int64_t start = wait->start > device->start ? wait->start : device->start;
    int64_t end = wait->end < device->end ? wait->end : device->end;
    return (gpu_span){start, end > start ? end : start};
}

/* Adds waits to the list of each device, if there is one. */
static void go_over_waits(gpu_span **lists, size_t *counts, const gpu_scope *s, const gpu_slices *waits)
{
    for (uint32_t r = 0; r < s->row_count; r++) {
        const gpu_row *row = &s->rows[r];
        if (!gpu_row_waits(waits, s, row)) continue;
        uint32_t first = waits->first[row->lane], end = waits->first[row->lane + 1];
        for (uint32_t i = first; lists && i < end; i++)
            lists[row->device][counts[row->device] + (i - first)] =
                gpu_wait_span(&waits->list[i], &s->devices[row->device]);
        counts[row->device] += end - first;
    }
}

static bool join_waits(gpu_waits *out, const gpu_scope *s, const gpu_slices *waits)
{
    size_t *counts = calloc((size_t)s->device_count + 1, sizeof *counts);
    gpu_span **lists = calloc((size_t)s->device_count + 1, sizeof *lists);
    bool fine = counts && lists;
    if (fine) go_over_waits(NULL, counts, s, waits);
    for (uint32_t d = 0; fine && d < s->device_count; d++) {
        lists[d] = hd_large_new(counts[d] + 1, sizeof **lists, s->large);
        counts[d] = 0;
        fine = lists[d] != NULL;
    }
    if (fine) go_over_waits(lists, counts, s, waits);
    for (uint32_t d = 0; fine && d < s->device_count; d++) {
        gpu_span *list = lists[d];
        lists[d] = NULL;
        fine = gpu_spans_union(&out->list[d], list, counts[d], s->large);
    }
    for (uint32_t d = 0; lists && d < s->device_count; d++) hd_large_free(lists[d]);
    free(lists);
    free(counts);
    return fine;
}

hd_status gpu_waits_slices(gpu_slices *out, const gpu_scope *s, hd_error *err)
{
    const wait_names *names = names_of(s->trace, s->launches);
    if (!names) return HD_NOMEM(err);
    return names->any ? gpu_slices_named(out, s, 1u << HD_ROLE_SYNC, names->is_one, err) : HD_OK;
}

hd_status gpu_waits_init(gpu_waits *out, const gpu_scope *s, hd_error *err)
{
    gpu_slices waits = {0};
    *out = (gpu_waits){.list = calloc((size_t)s->device_count + 1, sizeof *out->list), .count = s->device_count};
    hd_status status = out->list ? gpu_waits_slices(&waits, s, err) : HD_NOMEM(err);
    if (status == HD_OK && waits.count && !join_waits(out, s, &waits)) status = HD_NOMEM(err);
    gpu_slices_deinit(&waits);
    return status;
}

void gpu_waits_deinit(gpu_waits *waits)
{
    for (uint32_t d = 0; waits->list && d < waits->count; d++) gpu_spans_deinit(&waits->list[d]);
    free(waits->list);
    *waits = (gpu_waits){0};
}
