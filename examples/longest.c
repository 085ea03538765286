/* longest.c - the longest slices of a trace: longest FILE [N] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <heddle/heddle.h>

static int by_duration(const void *a, const void *b)
{
    int64_t left = ((const hd_event *)a)->duration_ns, right = ((const hd_event *)b)->duration_ns;
    return (left < right) - (left > right);
}

/* All slices that have an end; NULL: no memory. */
static hd_event *slices_of(size_t *count, const hd_trace *trace)
{
    hd_event *slices = malloc((hd_trace_event_count(trace) + 1) * sizeof *slices);
    *count = 0;
    for (size_t i = 0; slices && i < hd_trace_block_count(trace, HD_KIND_SLICE); i++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, i);
        for (uint32_t row = 0; row < block->row_count; row++) {
            hd_block_event(&slices[*count], block, row);
            *count += slices[*count].duration_ns != HD_NO_TIME;
        }
    }
    return slices;
}

int main(int argc, char **argv)
{
    hd_error err = {0};
    hd_trace *trace;
    char text[HD_ERROR_TEXT_BYTES];
    size_t count, wanted = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;
    if (argc < 2) return 2;
    if (hd_trace_read(&trace, argv[1], NULL, &err) != HD_OK) {
        fprintf(stderr, "%s\n", hd_error_text(text, sizeof text, &err));
        return 1;
    }
    hd_event *slices = slices_of(&count, trace);
    if (slices) qsort(slices, count, sizeof *slices, by_duration);
    for (size_t i = 0; slices && i < count && i < wanted; i++) {
        hd_string name = hd_trace_string(trace, slices[i].name);
        printf("%12" PRId64 " ns  %.*s\n", slices[i].duration_ns, (int)name.size, name.data);
    }
    free(slices);
    hd_trace_free(trace);
    return slices ? 0 : 1;
}
