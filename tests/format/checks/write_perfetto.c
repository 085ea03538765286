/* write_perfetto.c - reads a trace and writes it for perfetto_model.py: write_perfetto [--raw] IN OUT
 *
 * Prints "events N" and the ledger of the writer, "CODE LEVEL COUNT" a line.
 */
#include <stdio.h>
#include <string.h>

#include "heddle/format.h"

static void print_row(void *user, const hd_ledger_row *row)
{
    static const char *const levels[] = {"note", "repair", "loss"};
    (void)user;
    printf("%s %s %llu\n", row->code, levels[row->level], (unsigned long long)row->count);
}

int main(int argc, char **argv)
{
    hd_trace *trace;
    hd_error err = {0};
    bool raw = argc == 4 && strcmp(argv[1], "--raw") == 0;
    if (argc != 3 + raw) return 2;
    hd_status status = hd_trace_read(&trace, argv[1 + raw], NULL, &err);
    if (status == HD_OK) {
        hd_write_options options = {.format = "perfetto", .raw = raw, .ledger = print_row};
        printf("events %llu\n", (unsigned long long)hd_trace_event_count(trace));
        status = hd_trace_write(trace, argv[2 + raw], &options, &err);
        hd_trace_free(trace);
    }
    if (status != HD_OK) fprintf(stderr, "%s: %s\n", err.path, err.message);
    return status != HD_OK;
}
