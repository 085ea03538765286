/* bench.h - what the benchmark programs share: a clock, and their command line
 *
 * Each program does one job once and prints `key=value` words, which bench/measure.py reads. Repeating, alternating
 * with a peer, medians and peak memory are its business.
 */
#ifndef HD_BENCH_H
#define HD_BENCH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "heddle/format.h"

static inline double bench_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Options -t THREADS, -m (only the arguments of metadata); returns the index of the first operand, or exits. */
static inline int bench_options(hd_read_options *out, int argc, char **argv, int operands, const char *usage)
{
    int option;
    while ((option = getopt(argc, argv, "t:m")) != -1) {
        if (option == 't')
            out->threads = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 'm')
            out->args = HD_ARGS_META;
        else
            operands = argc + 1;
    }
    if (argc - optind != operands) {
        fprintf(stderr, "usage: %s %s\n", argv[0], usage);
        exit(2);
    }
    return optind;
}

static inline int bench_failed(const hd_error *err)
{
    fprintf(stderr, "%s: %s\n", err->path, err->message);
    return 1;
}

#endif
