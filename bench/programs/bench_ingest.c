/* bench_ingest.c - a trace with all its arguments into columns: `bench_ingest [-t THREADS] [-m] FILE` */
#include "bench.h"

int main(int argc, char **argv)
{
    hd_read_options options = {0};
    hd_error err = {0};
    hd_trace *trace;
    const char *path = argv[bench_options(&options, argc, argv, 1, "[-t THREADS] [-m] FILE")];
    double start = bench_seconds();
    if (hd_trace_read(&trace, path, &options, &err) != HD_OK) return bench_failed(&err);
    double took = bench_seconds() - start;
    double bytes = (double)hd_trace_facts_of(trace)->input_bytes;
    printf("seconds=%.4f mb_per_s=%.0f events=%llu strings=%u shapes=%u\n", took, bytes / took / 1e6,
           (unsigned long long)hd_trace_event_count(trace), hd_trace_string_count(trace), hd_trace_shape_count(trace));
    hd_trace_free(trace);
    return 0;
}
