/* fuzz_symbolize.c - libFuzzer target: any bytes as the file of a module whose addresses get names
 *
 * Properties: nothing crashes, and no event is lost; addresses are all over the file's first MiB.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heddle/symbolize.h"
#include "read_text.h"

enum { FRAMES = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t make_trace(char *json, size_t room, int fd)
{
    size_t at = (size_t)snprintf(json, room,
                                 "{\"modules\":[{\"name\":\"m\",\"path\":\"/proc/self/fd/%d\"}],\"traceEvents\":[", fd);
    for (int i = 1; i <= FRAMES; i++)
        at += (size_t)snprintf(json + at, room - at, "%s{\"ph\":\"P\",\"name\":\"s\",\"ts\":%d,\"sf\":%d}",
                               i > 1 ? "," : "", i, i);
    at += (size_t)snprintf(json + at, room - at, "],\"stackFrames\":{");
    for (int i = 1; i <= FRAMES; i++)
        at += (size_t)snprintf(json + at, room - at, "%s\"%d\":{\"name\":\"m+0x%x\"}", i > 1 ? "," : "", i,
                               i < FRAMES / 2 ? 0x1000 + 8 * i : 0x2000 * i);
    return at + (size_t)snprintf(json + at, room - at, "}}");
}

/* The trace never changes, only what the module's file holds. */
static hd_trace *trace_of(int fd)
{
    static char json[64 * 1024];
    hd_trace *trace;
    hd_status status = read_text(&trace, json, make_trace(json, sizeof json, fd), &read_fast, 0, NULL);
    assert(status == HD_OK);
    (void)status;
    return trace;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd;
    static hd_trace *trace;
    hd_trace *named;
    if (!trace) trace = trace_of(fd = memfd_create("fuzz", MFD_CLOEXEC));
    ssize_t written = size ? pwrite(fd, data, size, 0) : 0;
    assert(written == (ssize_t)size && ftruncate(fd, (off_t)size) == 0);
    for (int round = 0; round < 2; round++) {
        hd_symbolize_report *report;
        const hd_symbolize_options options = {.lines = round == 0, .no_inline = round == 1, .threads = 1};
        hd_status status = hd_symbolize(&named, &report, trace, &options, NULL);
        assert(status == HD_OK && hd_trace_event_count(named) == FRAMES);
        assert(report->frames == FRAMES && report->named + report->unnamed + report->others == report->frames);
        hd_symbolize_report_free(report);
        hd_trace_free(named);
    }
    return 0;
}
