/* perf_map.h - maps that JIT compilers write for perf, /tmp/perf-PID.map: "START SIZE NAME" in each line, hexadecimal
 */
#ifndef HD_BASE_UNWIND_PERF_MAP_H
#define HD_BASE_UNWIND_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hd_perf_symbol {
    uint64_t start, size; /* size 0: without code */
    const char *name;     /* within the line: any characters, also blanks, but not at its end */
    size_t name_size;     /* not 0 */
} hd_perf_symbol;

/* Reads one line, with or without its line end. false: not such a line, or a number has more than 64 bits. */
bool hd_perf_map_line(hd_perf_symbol *out, const char *line, size_t size);

#endif
