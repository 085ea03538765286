/* clock_hints.c - clock offsets of hosts from NTP, PTP or Open MPI's mpisync
 *
 * Format  a line per host: its name, then two numbers in seconds. By mpisync -o: the round trip to rank 0,
 *         and the offset to rank 0's clock, with microsecond digits; the bar is half of the round trip, plus one
 *         microsecond for rounding. Else: the offset to true time, and the bar
 * Skips   lines that are empty or begin with #; hosts that are not in the job are counted
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/io/lines.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "report/job/clock_events.h"

enum { WORDS = 3 };

/* All words, at most one more than WORDS. */
static size_t split(hd_string out[WORDS], const hd_line *line)
{
    size_t count = 0;
    for (size_t i = 0; i < line->size && count <= WORDS;) {
        size_t first = i;
        while (i < line->size && line->text[i] != ' ' && line->text[i] != '\t') i++;
        if (i > first && count < WORDS) out[count] = (hd_string){line->text + first, i - first};
        count += i > first;
        i++;
    }
    return count;
}

static bool read_seconds(int64_t *out_ns, hd_string text)
{
    hd_fixed number;
    if (!hd_fixed_parse(&number, text.data, text.size, 9)) return false;
    *out_ns = number.whole;
    return true;
}

static bool add_hint(clock_job *job, hd_string name, int64_t offset_ns, int64_t bar_ns)
{
    bool any = false;
    for (uint32_t h = 0; h < job->host_keys.count; h++) {
        if (!clock_job_is_host(job, h, name)) continue;
        if (!hd_grow((void **)&job->hints, &job->hint_capacity, job->hint_count, sizeof *job->hints)) return false;
        job->hints[job->hint_count++] = (hd_clock_hint){h, offset_ns, bar_ns};
        any = true;
    }
    job->uses[any ? CLOCK_HINTS : CLOCK_NO_HOST]++;
    return true;
}

static hd_status read_lines(clock_job *job, hd_lines *lines, bool is_mpisync, hd_error *err)
{
    enum { MPISYNC_DIGIT_NS = 1000 };
    hd_line line;
    hd_status status;
    while ((status = hd_lines_next(&line, lines, err)) == HD_OK) {
        hd_string words[WORDS];
        int64_t first, second;
        size_t count = split(words, &line);
        if (count == 0 || *words[0].data == '#') continue;
        if (count != WORDS || !read_seconds(&first, words[1]) || !read_seconds(&second, words[2]) ||
            (is_mpisync ? first : second) < 0)
            return hd_error_set(err, HD_ERR_FORMAT, NULL, line.offset, "line %llu is not \"HOST %s\", in seconds",
                                (unsigned long long)line.number, is_mpisync ? "RTT OFFSET" : "OFFSET BAR");
        bool fine = is_mpisync ? add_hint(job, words[0], second, first / 2 + MPISYNC_DIGIT_NS)
                               : add_hint(job, words[0], first, second);
        if (!fine) return HD_NOMEM(err);
    }
    return status == HD_END ? HD_OK : status;
}

hd_status clock_hints_read(clock_job *job, const char *path, bool is_mpisync, hd_error *err)
{
    hd_input *in;
    HD_TRY(hd_input_open(&in, path, NULL, err));
    hd_lines lines = {.input = in};
    hd_status status = read_lines(job, &lines, is_mpisync, err);
    hd_lines_deinit(&lines);
    hd_input_close(in);
    if (status != HD_OK) hd_error_set_path(err, path);
    return status;
}
