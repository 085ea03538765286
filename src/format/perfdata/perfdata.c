/* perfdata.c - perf.data as the list of formats sees it */
#include "format/perfdata/perfdata.h"

static int sniff(const unsigned char *head, size_t size)
{
    return size >= 8 && (memcmp(head, "PERFILE2", 8) == 0 || memcmp(head, PERFDATA_BIG_MAGIC, 8) == 0) ? 100 : 0;
}

const hd_format hd_perfdata_format = {
    .info = {.name = "perfdata",
             .title = "perf.data of Linux's perf",
             .extensions = ".data",
             .reads = true,
             .keeps = "samples with time, thread, CPU, period, event and stack; what threads did",
             .loses = "branch stacks, registers, copies of stacks"},
    .sniff = sniff,
    .read = perfdata_read,
};
