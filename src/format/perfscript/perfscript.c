/* perfscript.c - `perf script` text as the list of formats sees it */
#include "format/perfscript/perfscript.h"
#include "base/text/ends.h"
#include "format/lookalikes.h"

typedef struct survey {
    unsigned lines, headers, stacked, frames, ftrace;
    bool after_header, own_comment;
} survey;

/* "sh-1642 [002] 76.211696: sched_wakeup: …" is ftrace's: perf parts a thread's name and number. */
static bool is_of_ftrace(const perfscript_header *header)
{
    size_t i = header->who.size;
    while (i && hd_is_digit(header->who.data[i - 1])) i--;
    return header->has_cpu && !header->thread.has_tid && i && i < header->who.size && header->who.data[i - 1] == '-';
}

/* Indented by blanks or not at all, as in text from an editor. */
static bool is_bare_frame(hd_string line)
{
    perfscript_header header;
    return perfscript_is_whole_frame(line.data, line.size) &&
           !(perfscript_parse_header(&header, line.data, line.size) && header.sure);
}

static void survey_line(survey *all, hd_string line)
{
    perfscript_header header;
    perfscript_frame frame;
    bool after_header = all->after_header;
    all->after_header = false;
    if (!hd_text_trim(line.data, line.size).size) return;
    if (*line.data == '#') {
        all->own_comment |= hd_starts_with(line.data, line.size, "# captured on") ||
                            hd_starts_with(line.data, line.size, "# perf version") ||
                            hd_starts_with(line.data, line.size, "# cmdline : ");
        return;
    }
    all->lines++;
    bool is_frame = perfscript_has_address(line.data, line.size) && *line.data == '\t';
    if (is_frame || (after_header && is_bare_frame(line))) {
        all->frames++;
        all->stacked += after_header;
    } else if (perfscript_parse_header(&header, line.data, line.size)) {
        bool whole = header.sure && header.event.size && (header.thread.has_tid || header.has_cpu || header.has_period);
        all->after_header = true;
        all->headers += whole;
        all->ftrace += is_of_ftrace(&header);
        if (header.sure && perfscript_parse_frame(&frame, header.rest.data, header.rest.size) && frame.has_address)
            all->stacked++;
    }
}

/* A stack below a header is unique to this format; headers alone also occur in ftrace output. */
static int sniff(const unsigned char *head, size_t size)
{
    const char *at = (const char *)head, *end = at + size;
    survey all = {0};
    if (!size || hd_lookalike_of(head, size)) return 0;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        if (!newline && all.lines && size >= HD_INPUT_PEEK_BYTES) break; /* it may be cut */
        survey_line(&all, (hd_string){at, (size_t)(stop - at)});
        at = newline ? newline + 1 : end;
    }
    if (all.stacked) return 70;
    if (all.own_comment && *head == '#') return 70;
    if (all.ftrace * 2 > all.lines) return 0;
    if (all.headers * 2 > all.lines) return 65;
    return all.frames * 2 > all.lines && all.frames ? 50 : 0;
}

const hd_format hd_perfscript_format = {
    .info = {.name = "perf-script",
             .title = "Text of perf script",
             .extensions = ".perf",
             .reads = true,
             .keeps = "samples with time, thread, CPU, period, event and stack",
             .loses = "nothing, as nothing writes it here"},
    .sniff = sniff,
    .read = perfscript_read,
    .code = &hd_text_lines_code,
};
