/* bandwidth.c - how fast collectives are by operation, size of the group and bytes, and what of their time is waiting
 *
 * Whoever comes last waits for nobody, so that the shortest duration over the ranks is that of the transfer.
 */
#include <stdlib.h>

#include "base/memory/vector.h"
#include "report/job/cells.h"
#include "report/job/groups.h"

typedef struct bandwidth_key {
    int64_t size, bytes;
    uint32_t operation, zero;
} bandwidth_key;

bool job_bandwidth_add(job_bandwidths *all, const job_transfer *transfer)
{
    const bandwidth_key key = {transfer->size, transfer->bytes, transfer->operation, 0};
    all->keys.key_size = sizeof key;
    uint32_t known = all->keys.count, at = gpu_group(&all->keys, &key);
    if (at == HD_NONE || !hd_grow((void **)&all->list, &all->capacity, at, sizeof *all->list)) return false;
    job_bandwidth *of = &all->list[at];
    if (at == known) *of = (job_bandwidth){0};
    if (!hd_grow((void **)&of->shortest, &of->capacity, of->count, sizeof *of->shortest)) return false;
    of->time += transfer->time;
    of->waited += transfer->waited;
    of->shortest[of->count++] = transfer->shortest;
    return true;
}

static int by_value(const void *a, const void *b)
{
    return job_compare_numbers(*(const int64_t *)a, *(const int64_t *)b);
}

static void add_row(hd_table_builder *b, const gpu_texts *texts, const job_bandwidths *all, uint32_t at)
{
    const bandwidth_key *key = gpu_group_key(&all->keys, at);
    const job_bandwidth *of = &all->list[at];
    size_t half = of->count / 2;
    qsort(of->shortest, of->count, sizeof *of->shortest, by_value);
    const int64_t *middle = &of->shortest[half], max = of->shortest[of->count - 1], min = of->shortest[0];
    const int64_t median = of->count % 2 ? *middle : gpu_nearest((gpu_i128)middle[-1] + *middle, 2);
    double factor = 0, bytes = (double)key->bytes;
    bool told = key->bytes != HD_NO_NUMBER;
    bool known = told && key->operation != HD_NONE && key->size != HD_NO_NUMBER &&
                 gpu_bus_factor(&factor, gpu_text_of(texts, key->operation), key->size);
    gpu_cell_text(b, texts, key->operation);
    report_cell_int(b, key->size);
    gpu_cell_count(b, (uint64_t)key->bytes, told);
    hd_table_add_count(b, of->count);
    hd_table_add_int(b, gpu_whole(of->time));
    gpu_cell_ratio(b, of->waited, of->time, 100);
    hd_table_add_int(b, min);
    hd_table_add_int(b, median);
    hd_table_add_int(b, max);
    gpu_cell_decimal(b, told && median > 0 ? bytes / (double)median : 0, told && median > 0);
    const int64_t durations[] = {max, median, min};
    for (int i = 0; i < 3; i++)
        gpu_cell_decimal(b, known && durations[i] > 0 ? bytes * factor / (double)durations[i] : 0,
                         known && durations[i] > 0);
}

bool job_bandwidth_rows(hd_table_builder *b, const job_bandwidths *all, const gpu_texts *texts)
{
    for (uint32_t i = 0; i < all->keys.count; i++) add_row(b, texts, all, i);
    return hd_table_sort(b, "", "time") == HD_OK;
}

void job_bandwidths_deinit(job_bandwidths *all)
{
    for (uint32_t i = 0; i < all->keys.count && i < all->capacity; i++) free(all->list[i].shortest);
    free(all->list);
    gpu_groups_deinit(&all->keys);
    *all = (job_bandwidths){0};
}
