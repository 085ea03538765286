/* bench_index.c - the lane index of a trace: time to build, save and load it, and its bytes after zstd
 *
 * Usage    bench_index [-t THREADS] TRACE
 */
#include "base/io/compress.h"
#include "bench.h"
#include "trace/index/lane_index.h"

static void print_order(const hd_index *index)
{
    size_t stretches = 0, slices = 0;
    for (size_t i = 0; i < index->lane_count; i++) {
        stretches += index->details[i].stretch_count;
        slices += index->details[i].stretches ? index->lanes[i].slice_count : 0;
    }
    printf("slices=%llu lanes=%zu unordered=%zu stretches=%zu", (unsigned long long)index->slice_rows,
           index->lane_count, slices, stretches);
}

static hd_status measure(const hd_trace *trace, unsigned threads, hd_error *err)
{
    hd_index *index, *loaded;
    hd_compressor *compressor;
    hd_bytes bytes = {0}, packed = {0};
    double begin = bench_seconds();
    HD_TRY(hd_index_build(&index, trace, threads, err));
    double built = bench_seconds();
    HD_TRY(hd_index_save(&bytes, index, NULL, err));
    double saved = bench_seconds();
    HD_TRY(hd_index_load(&loaded, trace, bytes.data, bytes.size, err));
    double end = bench_seconds();
    HD_TRY(hd_compressor_new(&compressor, 9, err));
    HD_TRY(hd_compress(&packed, compressor, bytes.data, bytes.size, err));
    print_order(loaded);
    printf(" build_s=%.4f save_s=%.4f load_s=%.4f bytes=%zu zstd_bytes=%zu per_event=%.4f\n", built - begin,
           saved - built, end - saved, bytes.size, packed.size,
           (double)packed.size / (double)hd_trace_event_count(trace));
    hd_compressor_free(compressor);
    hd_bytes_deinit(&bytes);
    hd_bytes_deinit(&packed);
    hd_index_free(index);
    hd_index_free(loaded);
    return HD_OK;
}

int main(int argc, char **argv)
{
    hd_read_options options = {0};
    hd_error err = {0};
    hd_trace *trace;
    int at = bench_options(&options, argc, argv, 1, "[-t THREADS] TRACE");
    if (hd_trace_read(&trace, argv[at], &options, &err) != HD_OK) return bench_failed(&err);
    hd_status status = measure(trace, options.threads, &err);
    hd_trace_free(trace);
    return status == HD_OK ? 0 : bench_failed(&err);
}
