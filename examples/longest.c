/* longest.c - the longest slices of a trace
 *
 *     longest TRACE [COUNT]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <heddle/heddle.h>

static int by_duration(const void *a, const void *b)
{
    const hd_event *x = a, *y = b;
    return (x->duration_ns < y->duration_ns) - (x->duration_ns > y->duration_ns);
}

int main(int argc, char **argv)
{
    hd_error err = {0};
    hd_trace *trace = NULL;
    char text[HD_ERROR_TEXT_BYTES];
    if (argc < 2) return 2;
    if (hd_trace_read(&trace, argv[1], NULL, &err) != HD_OK) {
        fprintf(stderr, "%s\n", hd_error_text(text, sizeof text, &err));
        return 1;
    }
    size_t count = 0, wanted = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;
    hd_event *slices = calloc(hd_trace_row_count(trace, HD_KIND_SLICE) + 1, sizeof *slices);
    if (!slices) return 1;
    for (size_t i = 0; i < hd_trace_block_count(trace, HD_KIND_SLICE); i++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, i);
        for (uint32_t row = 0; row < block->row_count; row++) {
            hd_block_event(&slices[count], block, row);
            count += slices[count].duration_ns != HD_NO_TIME; /* one that never ended has none */
        }
    }
    qsort(slices, count, sizeof *slices, by_duration);
    for (size_t i = 0; i < count && i < wanted; i++) {
        hd_string name = hd_trace_string(trace, slices[i].name);
        printf("%12" PRId64 " ns  %.*s\n", slices[i].duration_ns, (int)name.size, name.data);
    }
    free(slices);
    hd_trace_free(trace);
    return 0;
}
