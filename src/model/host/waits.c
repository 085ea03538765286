/* waits.c - waits for other ranks that are part of a collective, though no work
 *
 * A kernel of NCCL contains its waiting. On an Ascend NPU a collective is many tasks, and between its copies stand waits
 * for other ranks, "Notify Wait", on the same queue.
 */
#include "model/host/waits.h"

#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/host/slices.h"

/* A database names them after the collective. */
static bool is_part_of_collective(hd_string name)
{
    static const char notify[] = "notify wait", joined[] = "notify_wait", whole[] = "hcom_";
    if (name.size >= sizeof whole - 1 && strncasecmp(name.data, whole, sizeof whole - 1) == 0) return true;
    return name.size == sizeof notify - 1 &&
           (strncasecmp(name.data, notify, name.size) == 0 || strncasecmp(name.data, joined, name.size) == 0);
}

/* By string; NULL and *any: no memory. */
static uint8_t *find_names(bool *any, const hd_trace *trace)
{
    uint32_t strings = (uint32_t)hd_trace_string_count(trace);
    uint8_t *names = calloc((size_t)strings + 1, 1);
    *any = !names;
    for (uint32_t i = 0; names && i < strings; i++) *any |= names[i] = is_part_of_collective(hd_trace_string(trace, i));
    return names;
}

/* Whether the queue has collectives, of the work that options choose. */
static bool communicates(const gpu_scope *s, const gpu_row *row)
{
    for (uint32_t i = 0; i < row->count; i++) {
        if (s->works[s->by_row[row->first + i]].class == GPU_COMMUNICATION) return true;
    }
    return false;
}

/* Takes place in the list of each device, if there is one. */
static void go_over_waits(gpu_span **lists, size_t *counts, const gpu_scope *s, const gpu_slices *waits)
{
    for (uint32_t r = 0; r < s->row_count; r++) {
        const gpu_row *row = &s->rows[r];
        uint32_t first = waits->first[row->lane], end = waits->first[row->lane + 1];
        if (row->device == HD_NONE || first == end || !communicates(s, row)) continue;
        const gpu_device *device = &s->devices[row->device];
        for (uint32_t i = first; lists && i < end; i++) {
            const gpu_slice *wait = &waits->list[i];
            lists[row->device][counts[row->device] + (i - first)] =
                (gpu_span){wait->start > device->start ? wait->start : device->start,
                           wait->end < device->end ? wait->end : device->end};
        }
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

hd_status gpu_waits_init(gpu_waits *out, const gpu_scope *s, hd_error *err)
{
    bool any;
    gpu_slices waits = {0};
    hd_status status = HD_OK;
    *out = (gpu_waits){.list = calloc((size_t)s->device_count + 1, sizeof *out->list), .count = s->device_count};
    uint8_t *names = find_names(&any, s->trace);
    if (!out->list || !names) status = HD_NOMEM(err);
    if (status == HD_OK && any) {
        status = gpu_slices_named(&waits, s, 1u << HD_ROLE_SYNC, names, err);
        if (status == HD_OK && !join_waits(out, s, &waits)) status = HD_NOMEM(err);
        gpu_slices_deinit(&waits);
    }
    free(names);
    return status;
}

void gpu_waits_deinit(gpu_waits *waits)
{
    for (uint32_t d = 0; waits->list && d < waits->count; d++) gpu_spans_deinit(&waits->list[d]);
    free(waits->list);
    *waits = (gpu_waits){0};
}
