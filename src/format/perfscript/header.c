/* header.c - the line above a stack
 *
 *     my worker: 1/2 11901/11903 [001] U 23012.743549:    5025125 cpu-clock:pppH: 7f9090a98bfb cmp+0x0 (/tmp/a)
 *     comm           pid/tid     cpu flags time:           period  event:          what follows
 *
 * comm may be any text, so the line is parsed from its time in both directions. Without a time it is parsed from its
 * end, and is a header only if a stack follows, or if event and thread are unmistakable.
 */
#include "format/perfscript/perfscript.h"

#include "base/text/decimal.h"

enum { PERIOD_COLUMNS = 10, ADDRESS_COLUMNS = 16, COMM_LIMIT = 256 }; /* perf writes %10lu, %16lx */

/* The last word of the text: [*out_start, size). false: there is none. */
static bool last_word(size_t *out_start, const char *text, size_t size)
{
    size_t i = size;
    while (i && !hd_is_blank(text[i - 1])) i--;
    *out_start = i;
    return i < size;
}

/* ---- time ---- */

/* "seconds.digits" */
static bool parse_time(int64_t *out, const char *text, size_t size)
{
    hd_fixed ns;
    if (!hd_fixed_parse(&ns, text, size, 9) || ns.whole == HD_NO_TIME) return false;
    *out = ns.whole;
    return true;
}

/* The first word of six or nine decimals and a colon. */
static bool find_time(size_t *out_start, size_t *out_end, const char *text, size_t size)
{
    size_t from = 0;
    for (const char *colon; (colon = memchr(text + from, ':', size - from)) != NULL;) {
        size_t end = (size_t)(colon - text), i = end;
        from = end + 1;
        if (from < size && !hd_is_blank(text[from])) continue;
        while (i && hd_is_digit(text[i - 1])) i--;
        size_t digits = end - i;
        if ((digits != 6 && digits != 9) || i < 2 || text[i - 1] != '.' || !hd_is_digit(text[i - 2])) continue;
        for (i--; i && hd_is_digit(text[i - 1]);) i--;
        if (i && !hd_is_blank(text[i - 1])) continue;
        *out_start = i;
        *out_end = end;
        return true;
    }
    return false;
}

/* ---- comm pid/tid [cpu] flags ---- */

static bool parse_cpu(int64_t *out, const char *word, size_t size)
{
    return size > 2 && word[0] == '[' && word[size - 1] == ']' && hd_text_int(out, word + 1, size - 2);
}

static bool parse_ids(hd_stack_thread *out, const char *word, size_t size)
{
    const char *slash = memchr(word, '/', size);
    size_t first = slash ? (size_t)(slash - word) : size;
    if (!slash) return out->has_tid = hd_text_int(&out->tid, word, size);
    out->has_tid = out->has_pid =
        hd_text_int(&out->pid, word, first) && hd_text_int(&out->tid, slash + 1, size - first - 1);
    return out->has_tid;
}

/* perf's letters for the CPU mode and the kind of record: U, K, UE, Sp … */
static bool is_flags(const char *word, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!memchr("KUHGgMESFsmpei", word[i], 14)) return false;
    }
    return size <= 4;
}

static void parse_who(perfscript_header *out, const char *text, size_t size)
{
    size_t start;
    hd_string left = hd_text_trim(text, size);
    if (last_word(&start, left.data, left.size) && start && is_flags(left.data + start, left.size - start)) {
        hd_string rest = hd_text_trim(left.data, start);
        hd_stack_thread thread;
        size_t before;
        int64_t cpu;
        if (last_word(&before, rest.data, rest.size) && (parse_ids(&thread, rest.data + before, rest.size - before) ||
                                                         parse_cpu(&cpu, rest.data + before, rest.size - before)))
            left = rest;
    }
    if (last_word(&start, left.data, left.size) && parse_cpu(&out->cpu, left.data + start, left.size - start)) {
        out->has_cpu = true;
        left = hd_text_trim(left.data, start);
    }
    out->who = left;
    if (last_word(&start, left.data, left.size) && parse_ids(&out->thread, left.data + start, left.size - start))
        left = hd_text_trim(left.data, start);
    out->thread.comm = left;
}

/* ---- period event: rest ---- */

/* Whether text begins with an address, followed by a blank or its end. */
static bool is_address(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size && ((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f'))) i++;
    return i >= 4 && i <= 16 && (i == size || hd_is_blank(text[i]));
}

/* The same with perf's padding: %16lx, which is rare in other text. before: start of the blanks. */
static bool is_padded(const char *before, hd_string s)
{
    size_t digits = 0;
    if (!is_address(s.data, s.size)) return false;
    while (digits < s.size && !hd_is_blank(s.data[digits])) digits++;
    return (size_t)(s.data - before) + digits >= ADDRESS_COLUMNS;
}

/* The position of the event's colon; size: none. */
static size_t event_end(const char *text, size_t size)
{
    for (size_t from = 0; from < size;) {
        const char *colon = memchr(text + from, ':', size - from);
        if (!colon) break;
        from = (size_t)(colon - text) + 1;
        if (from == size || hd_is_blank(text[from])) return from - 1;
    }
    return size;
}

static void parse_what(perfscript_header *out, const char *text, size_t size)
{
    hd_string s = hd_text_trim(text, size);
    size_t i = 0;
    while (i < s.size && hd_is_digit(s.data[i])) i++;
    if (i && (i == s.size || hd_is_blank(s.data[i])) && hd_text_int(&out->period, s.data, i)) {
        hd_string rest = hd_text_trim(s.data + i, s.size - i);
        /* a number alone may be a period or, without a stack below, an address */
        out->has_period = !rest.size || !is_address(s.data, s.size) || is_address(rest.data, rest.size) ||
                          event_end(rest.data, rest.size) < rest.size;
        if (out->has_period && rest.size) s = rest;
    }
    size_t end = is_address(s.data, s.size) ? s.size : event_end(s.data, s.size);
    if (end < s.size) {
        out->event = (hd_string){s.data, end};
        s = hd_text_trim(s.data + end + 1, s.size - end - 1);
    }
    out->rest = s;
}

/* ---- the line ---- */

/* A period before the event of a line without a time: by its columns, which pid and tid do not fill, or after a cpu.
 */
static size_t cut_period(perfscript_header *out, const char *text, size_t size)
{
    size_t start, blanks;
    hd_string s = hd_text_trim(text, size);
    size = (size_t)(s.data - text) + s.size;
    if (!last_word(&start, text, size) || !hd_text_int(&out->period, text + start, size - start)) return size;
    for (blanks = start; blanks && hd_is_blank(text[blanks - 1]);) blanks--;
    if (size - blanks < PERIOD_COLUMNS + (blanks ? 1 : 0)) return size;
    out->has_period = true;
    return blanks;
}

/* Where a word "[001]" ends that is followed by more; 0: nowhere. */
static size_t find_cpu(const char *text, size_t size)
{
    int64_t cpu;
    for (size_t i = 0; i < size && i < COMM_LIMIT; i++) {
        if (text[i] != '[' || (i && !hd_is_blank(text[i - 1]))) continue;
        const char *close = memchr(text + i, ']', size - i);
        size_t end = close ? (size_t)(close - text) + 1 : size;
        if (end < size && hd_is_blank(text[end]) && parse_cpu(&cpu, text + i, end - i)) return end;
    }
    return 0;
}

/* The event before an address with its function, and where it starts; size: there is none. */
static size_t find_event(perfscript_header *out, hd_string s)
{
    size_t start;
    for (size_t from = 0; from < s.size;) {
        size_t end = from + event_end(s.data + from, s.size - from);
        if (end >= s.size) break;
        hd_string rest = hd_text_trim(s.data + end + 1, s.size - end - 1);
        from = end + 1;
        if (!is_padded(s.data + end + 1, rest) || !last_word(&start, s.data, end)) continue;
        out->event = (hd_string){s.data + start, end - start};
        out->rest = rest;
        return start;
    }
    return s.size;
}

/* Around the cpu; else the event is at the end, or before an address. */
static bool parse_timeless(perfscript_header *out, const char *text, size_t size)
{
    hd_string s = hd_text_trim(text, size);
    size_t start, who = s.size, cpu = find_cpu(s.data, s.size);
    if (!s.size) return false;
    if (cpu) {
        parse_what(out, s.data + cpu, s.size - cpu);
        parse_who(out, s.data, cpu);
        out->sure = out->event.size > 0;
        return true;
    }
    if (s.data[s.size - 1] == ':' && last_word(&start, s.data, s.size)) {
        out->event = (hd_string){s.data + start, s.size - start - 1};
        who = start;
    } else {
        who = find_event(out, s);
    }
    if (who > COMM_LIMIT) return false;
    who = cut_period(out, s.data, who);
    parse_who(out, s.data, who);
    out->sure = out->event.size && (out->thread.has_tid || out->rest.size);
    return true;
}

bool perfscript_parse_header(perfscript_header *out, const char *text, size_t size)
{
    size_t start, end;
    *out = (perfscript_header){.time_ns = HD_NO_TIME};
    if (!find_time(&start, &end, text, size)) return parse_timeless(out, text, size);
    if (start > COMM_LIMIT) return false;
    out->sure = true;
    out->time_lost = !parse_time(&out->time_ns, text + start, end - start);
    if (out->time_lost) out->time_ns = HD_NO_TIME;
    parse_who(out, text, start);
    parse_what(out, text + end + 1, size - end - 1);
    return true;
}
