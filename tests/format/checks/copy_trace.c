/* copy_trace.c - reads a trace and writes it again, for compare_json.py: copy_trace IN OUT
 *
 * The ledger of writing goes to standard output, a line per row.
 */
#include <stdio.h>

#include "heddle/format.h"

static void print_row(void *user, const hd_ledger_row *row)
{
    (void)user;
    printf("%s %d %llu\n", row->code, (int)row->level, (unsigned long long)row->count);
}

int main(int argc, char **argv)
{
    hd_trace *trace;
    hd_error err = {0};
    const hd_write_options options = {.clean = true, .ledger = print_row};
    if (argc != 3) return 2;
    hd_status status = hd_trace_read(&trace, argv[1], NULL, &err);
    if (status == HD_OK) {
        printf("%llu events\n", (unsigned long long)hd_trace_event_count(trace));
        status = hd_trace_write(trace, argv[2], &options, &err);
        hd_trace_free(trace);
    }
    if (status != HD_OK) fprintf(stderr, "%s: %s\n", err.path, err.message);
    return status != HD_OK;
}
