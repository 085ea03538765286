/* bench_write.c - a trace in memory into a file: `bench_write [-t THREADS] FILE OUT` (compressed as OUT's name says) */
#include <sys/stat.h>

#include "bench.h"

int main(int argc, char **argv)
{
    hd_read_options options = {0};
    hd_error err = {0};
    hd_trace *trace;
    struct stat written = {0};
    char **files = argv + bench_options(&options, argc, argv, 2, "[-t THREADS] FILE OUT");
    if (hd_trace_read(&trace, files[0], &options, &err) != HD_OK) return bench_failed(&err);
    double start = bench_seconds();
    if (hd_trace_write(trace, files[1], NULL, &err) != HD_OK) return bench_failed(&err);
    double took = bench_seconds() - start;
    double bytes = (double)hd_trace_facts_of(trace)->input_bytes;
    stat(files[1], &written);
    printf("seconds=%.4f mb_per_s=%.0f events=%llu written=%lld\n", took, bytes / took / 1e6,
           (unsigned long long)hd_trace_event_count(trace), (long long)written.st_size);
    hd_trace_free(trace);
    return 0;
}
