/* bandwidth.c - how fast collectives are by operation, size of the group and bytes, and what of their time is waiting
 *
 * Whoever comes last waits for nobody, so that the shortest duration over the ranks is that of the transfer.
 */
#include <stdlib.h>

#include "base/memory/vector.h"
#include "report/job/cells.h"

typedef struct bandwidth_key {
    int64_t size, bytes;
    uint32_t operation, zero;
} bandwidth_key;

bool job_bandwidth_add(job_bandwidths *all, const job_transfer *transfer)
{
    const bandwidth_key key = {transfer->size, transfer->bytes, transfer->operation, 0};
    all->keys.key_size = sizeof key;
    uint32_t known = all->keys.count, at = gpu_group(&all->keys, &key);
    if (at == HD_NONE || !hd_grow((void **)&all->sums, &all->sum_capacity, at, sizeof *all->sums) ||
        !hd_grow((void **)&all->values, &all->value_capacity, all->count, sizeof *all->values))
        return false;
    if (at == known) all->sums[at] = (job_bandwidth_sum){0};
    all->sums[at].time += transfer->time;
    all->sums[at].waited += transfer->waited;
    all->values[all->count++] = (gpu_value){transfer->shortest, at};
    return true;
}

static void add_row(hd_table_builder *b, const gpu_texts *texts, const job_bandwidths *all, uint32_t at,
                    const gpu_stats *of)
{
    const bandwidth_key *key = gpu_group_key(&all->keys, at);
    double factor = 0, bytes = (double)key->bytes;
    bool told = key->bytes != HD_NO_NUMBER;
    bool known = told && key->operation != HD_NONE && key->size != HD_NO_NUMBER &&
                 gpu_bus_factor(&factor, gpu_text_of(texts, key->operation), key->size);
    gpu_cell_text(b, texts, key->operation);
    report_cell_int(b, key->size);
    gpu_cell_count(b, (uint64_t)key->bytes, told);
    hd_table_add_count(b, of->count);
    hd_table_add_int(b, gpu_whole(all->sums[at].time));
    gpu_cell_ratio(b, all->sums[at].waited, all->sums[at].time, 100);
    hd_table_add_int(b, of->min);
    hd_table_add_int(b, of->median);
    hd_table_add_int(b, of->max);
    gpu_cell_decimal(b, told && of->median > 0 ? bytes / (double)of->median : 0, told && of->median > 0);
    const int64_t durations[] = {of->max, of->median, of->min};
    for (int i = 0; i < 3; i++)
        gpu_cell_decimal(b, known && durations[i] > 0 ? bytes * factor / (double)durations[i] : 0,
                         known && durations[i] > 0);
}

bool job_bandwidth_rows(hd_table_builder *b, job_bandwidths *all, const gpu_texts *texts)
{
    uint32_t count = all->keys.count;
    gpu_stats *stats = calloc(count + 1, sizeof *stats);
    bool fine = stats && gpu_stats_of(stats, count, all->values, all->count, UINT64_MAX);
    for (uint32_t i = 0; i < count && fine; i++) add_row(b, texts, all, i, &stats[i]);
    free(stats);
    return fine && hd_table_sort(b, "", "time") == HD_OK;
}

void job_bandwidths_deinit(job_bandwidths *all)
{
    gpu_groups_deinit(&all->keys);
    free(all->sums);
    free(all->values);
    *all = (job_bandwidths){0};
}
