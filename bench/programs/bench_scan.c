/* bench_scan.c - ts, dur, name and ph of every event, one thread, beside peer_simdjson: `bench_scan FILE`
 *
 * Heddle finds more on the way (tracks, categories, ids, the order of kinds, valid JSON all through), and lays it all
 * down in columns before the walk below; simdjson hands the values to the loop and keeps nothing. The sums say that
 * both saw the same events. Fastest of three in one process, as the peer; reading the file counts here.
 */
#include "bench.h"

typedef struct sums {
    uint64_t events, timed, name_bytes, phases;
    double duration_us;
} sums;

static int64_t values[HD_COL_COUNT][HD_BLOCK_ROWS];

static void decode(const hd_block *block, hd_column_id column)
{
    hd_column_decode(values[column], &block->columns[column], 0, block->row_count);
}

static void add_block(sums *sum, const hd_trace *trace, const hd_block *block)
{
    decode(block, HD_COL_START);
    decode(block, HD_COL_DURATION);
    decode(block, HD_COL_NAME);
    decode(block, HD_COL_PHASE);
    for (uint32_t i = 0; i < block->row_count; i++) {
        int64_t duration = values[HD_COL_DURATION][i];
        sum->timed += values[HD_COL_START][i] != HD_NO_TIME;
        sum->name_bytes += hd_trace_string(trace, (uint32_t)values[HD_COL_NAME][i]).size;
        sum->phases += (uint64_t)values[HD_COL_PHASE][i] & HD_PHASE_MASK;
        if (duration != HD_NO_TIME) sum->duration_us += 1e-3 * (double)duration;
    }
    sum->events += block->row_count;
}

static hd_status scan(sums *out, double *out_bytes, const char *path, hd_error *err)
{
    const hd_read_options options = {.args = HD_ARGS_META, .threads = 1};
    hd_trace *trace;
    sums sum = {0};
    if (hd_trace_read(&trace, path, &options, err) != HD_OK) return err->status;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        size_t count = hd_trace_block_count(trace, (hd_kind)kind);
        for (size_t i = 0; i < count; i++) add_block(&sum, trace, hd_trace_block_at(trace, (hd_kind)kind, i));
    }
    *out = sum;
    *out_bytes = (double)hd_trace_facts_of(trace)->input_bytes;
    hd_trace_free(trace);
    return HD_OK;
}

int main(int argc, char **argv)
{
    hd_read_options none = {0};
    hd_error err = {0};
    sums sum = {0};
    double best = 1e9, bytes = 0;
    const char *path = argv[bench_options(&none, argc, argv, 1, "FILE")];
    for (int run = 0; run < 3; run++) {
        double start = bench_seconds();
        if (scan(&sum, &bytes, path, &err) != HD_OK) return bench_failed(&err);
        double took = bench_seconds() - start;
        if (took < best) best = took;
    }
    printf("seconds=%.4f mb_per_s=%.0f events=%llu timed=%llu phases=%llu name_bytes=%llu duration_us=%.0f\n", best,
           bytes / best / 1e6, (unsigned long long)sum.events, (unsigned long long)sum.timed,
           (unsigned long long)sum.phases, (unsigned long long)sum.name_bytes, sum.duration_us);
    return 0;
}
