/* xctrace.c - exports of Instruments as the list of formats sees them */
#include "format/xctrace/xctrace.h"

static int xctrace_sniff(const unsigned char *head, size_t size)
{
    static const char word[] = "<trace-query-result";
    size_t at = size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < size && (head[at] == ' ' || head[at] == '\t' || head[at] == '\r' || head[at] == '\n')) at++;
    return at < size && head[at] == '<' && memmem(head + at, size - at, word, sizeof word - 1) ? 95 : 0;
}

const hd_format hd_xctrace_format = {
    .info = {.name = "xctrace",
             .title = "Apple Instruments, `xctrace export` (Metal, CPU samples, signposts, display)",
             .extensions = ".xml",
             .reads = true,
             .keeps = "everything",
             .loses = "nothing"},
    .sniff = xctrace_sniff,
    .read = xctrace_read,
};
