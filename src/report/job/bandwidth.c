/* bandwidth.c - speed of collectives by operation, size of the group and bytes, and the share of waiting in their time
 *
 * The last rank to arrive does not wait, so that the shortest duration over the ranks is that of the transfer.
 */
#include "model/collectives/collectives.h"
#include "report/job/cells.h"

enum { ALGORITHM, SLOWEST, MEDIAN, FASTEST };

static void add_bandwidth(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *column)
{
    const job_transfer *key = gpu_group_key(&a->groups, group); /* no more than the key of it */
    const gpu_stats *of = &a->stats[group];
    int which = (int)column->fill->times;
    int64_t time = which == SLOWEST ? of->max : which == FASTEST ? of->min : of->median;
    double factor = 1;
    bool known = key->bytes != HD_NO_NUMBER && time > 0;
    if (which != ALGORITHM)
        known = known && key->operation != HD_NONE && key->size != HD_NO_NUMBER &&
                gpu_bus_factor_named(&factor, gpu_text_of(a->texts, key->operation), key->size);
    gpu_cell_decimal(b, known ? (double)key->bytes * factor / (double)time : 0, known);
}

#define BANDWIDTH(which)                                                                                               \
    &(const struct hd_report_fill)                                                                                     \
    {                                                                                                                  \
        GPU_OWN, .times = which, .own = add_bandwidth                                                                  \
    }
const hd_report_column job_bandwidth_columns[] = {
    {"operation", HD_VALUE_STRING, "AllReduce, AllGather …", GPU_FILL(TEXT, job_transfer, operation)},
    {"size", HD_VALUE_INT, "ranks in the group; if unknown, those that have the collective",
     GPU_FILL(NUMBER, job_transfer, size)},
    {"bytes", HD_VALUE_BYTES, "as report communication counts them; null: unknown",
     GPU_FILL(NUMBER, job_transfer, bytes)},
    {"count", HD_VALUE_COUNT, "collectives that were compared", GPU_FILL(ROWS, job_transfer, time)},
    {"time", HD_VALUE_DURATION, "sum of their durations on all ranks", GPU_FILL(SUM, job_transfer, time)},
    {"waited", HD_VALUE_DECIMAL, "percent of time beyond the shortest duration of each",
     GPU_FILL(RATIO, job_transfer, waited, offsetof(job_transfer, time), 100)},
    {"min_transfer", HD_VALUE_DURATION, "lowest of the shortest durations", GPU_FILL(MIN, job_transfer, shortest)},
    {"transfer", HD_VALUE_DURATION, "their median", GPU_FILL(MEDIAN, job_transfer, shortest)},
    {"max_transfer", HD_VALUE_DURATION, "the highest", GPU_FILL(MAX, job_transfer, shortest)},
    {"algorithm_bandwidth", HD_VALUE_DECIMAL, "GB/s: bytes / transfer", BANDWIDTH(ALGORITHM)},
    {"min_bus_bandwidth", HD_VALUE_DECIMAL, "GB/s over each link in max_transfer, as nccl-tests count it",
     BANDWIDTH(SLOWEST)},
    {"bus_bandwidth", HD_VALUE_DECIMAL, "the same in transfer", BANDWIDTH(MEDIAN)},
    {"max_bus_bandwidth", HD_VALUE_DECIMAL, "the same in min_transfer", BANDWIDTH(FASTEST)},
    {0}};

void job_bandwidths_init(gpu_aggregate *all, const gpu_texts *texts)
{
    gpu_aggregate_init(all, NULL, texts, offsetof(job_transfer, shortest), &report_stragglers_about, "bandwidths");
}
