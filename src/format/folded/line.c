/* line.c - parses one line of folded stacks, and surveys the first lines of an input
 *
 * A plain line ends in a weight. An extended one begins with a time, and comm may contain blanks and numbers: pid, tid
 * and cpu are the last three consecutive integers that leave a comm of a length the kernel allows, else the first
 * three.
 */
#include "format/folded/folded.h"
#include "format/lookalikes.h"

enum { COMM_BYTES = 15, COMM_LIMIT = 256 };

/* ---- plain ---- */

static bool parse_weight(folded_line *out, const char *data, size_t size)
{
    const char *dot = memchr(data, '.', size);
    int64_t whole, fraction = 0, scale = 1;
    size_t digits = dot ? (size_t)(data + size - dot) - 1 : 0;
    if (!size || !hd_is_digit(*data) || !hd_text_int(&whole, data, size - digits - (dot ? 1 : 0))) return false;
    out->weight_type = HD_ARG_INT;
    out->weight = whole;
    if (digits == 0) return true;
    if (digits > 17 || !hd_is_digit(dot[1]) || !hd_text_int(&fraction, dot + 1, digits)) return false;
    for (size_t i = 0; i < digits; i++) scale *= 10;
    if (__builtin_mul_overflow(whole, scale, &whole) || __builtin_add_overflow(whole, fraction, &whole)) return false;
    if (whole >= (int64_t)1 << 58) return false;
    out->weight_type = HD_ARG_DECIMAL;
    out->weight = hd_decimal_pack(whole, (unsigned)digits);
    return true;
}

static bool parse_plain(folded_line *out, const char *text, size_t size)
{
    size_t start = size;
    while (start && (hd_is_digit(text[start - 1]) || text[start - 1] == '.')) start--;
    if (start == size || start == 0 || !hd_is_blank(text[start - 1])) return false;
    if (!parse_weight(out, text + start, size - start)) return false;
    out->frames = hd_text_trim(text, start);
    out->kind = FOLDED_PLAIN;
    return out->frames.size > 0;
}

/* ---- extended ---- */

typedef struct token {
    const char *start, *end;
    int64_t value;
    bool is_int;
} token;

static bool next_token(token *out, const char **at, const char *end)
{
    const char *p = *at;
    while (p < end && hd_is_blank(*p)) p++;
    if (p == end) return false;
    out->start = p;
    while (p < end && !hd_is_blank(*p) && *p != ';') p++;
    out->end = p;
    out->is_int = (p == end || *p != ';') && hd_text_int(&out->value, out->start, (size_t)(p - out->start));
    while (p < end && !hd_is_blank(*p)) p++; /* a word with a ';' is not a number */
    *at = p;
    return true;
}

static void take(folded_line *out, const char *comm, const token three[3], const char *end)
{
    out->comm = hd_text_trim(comm, (size_t)(three[0].start - comm));
    out->thread = (hd_string){comm, (size_t)(three[1].end - comm)};
    out->pid = three[0].value;
    out->tid = three[1].value;
    out->cpu = three[2].value;
    out->frames = hd_text_trim(three[2].end, (size_t)(end - three[2].end));
}

static bool parse_extended(folded_line *out, const char *text, size_t size)
{
    const char *at = text, *end = text + size, *comm;
    token three[3] = {{0}}, time;
    bool found = false;
    if (!hd_is_digit(*text) || !next_token(&time, &at, end) || !time.is_int || at == end) return false;
    comm = at + 1;
    for (unsigned ints = 0, seen = 0;; seen++) {
        three[0] = three[1];
        three[1] = three[2];
        if (!next_token(&three[2], &at, end)) break;
        ints = three[2].is_int ? ints + 1 : 0;
        size_t comm_size = seen < 2 ? 0 : (size_t)(three[0].start - comm);
        if (found && comm_size > COMM_BYTES + 1) break;
        if (!found && comm_size > COMM_LIMIT) return false;
        if (ints < 3) continue;
        take(out, comm, three, end);
        found = true;
    }
    out->time_ns = time.value;
    out->kind = FOLDED_EXTENDED;
    return found;
}

/* ---- which ---- */

void folded_parse(folded_line *out, const char *text, size_t size, folded_kind prefer)
{
    hd_string line = hd_text_trim(text, size);
    *out = (folded_line){.kind = FOLDED_BLANK};
    if (!line.size) return;
    folded_line extended = {0};
    bool is_plain = parse_plain(out, line.data, line.size);
    bool is_extended = hd_is_digit(*line.data) && parse_extended(&extended, line.data, line.size);
    bool either = is_plain && is_extended;
    if (is_extended && (!is_plain || prefer == FOLDED_EXTENDED))
        *out = extended;
    else if (!is_plain) /* a line without a weight that begins so is a comment of a tool */
        *out = (folded_line){.kind = *line.data == '#' ? FOLDED_BLANK : FOLDED_UNREADABLE};
    out->either = either;
}

typedef struct survey {
    unsigned lines, plain, extended, either;
    unsigned deep; /* valid ones with more than one frame */
} survey;

/* The last line is ignored if it may be cut and there are others. */
static survey survey_lines(const unsigned char *head, size_t size)
{
    const char *at = (const char *)head, *end = at + size;
    survey all = {0};
    folded_line line;
    if (size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        if (!newline && size >= HD_INPUT_PEEK_BYTES && all.lines) break;
        if (memchr(at, '\x1b', (size_t)(stop - at))) {
            hd_bytes clean = {0};
            hd_text_put_plain(&clean, at, (size_t)(stop - at));
            folded_parse(&line, (char *)clean.data, clean.size, FOLDED_PLAIN);
            all.deep += line.kind >= FOLDED_PLAIN && memchr(line.frames.data, ';', line.frames.size);
            hd_bytes_deinit(&clean);
        } else {
            folded_parse(&line, at, (size_t)(stop - at), FOLDED_PLAIN);
            all.deep += line.kind >= FOLDED_PLAIN && memchr(line.frames.data, ';', line.frames.size);
        }
        at = newline ? newline + 1 : end;
        if (line.kind == FOLDED_BLANK) continue;
        all.lines++;
        all.either += line.either;
        all.plain += line.kind == FOLDED_PLAIN && !line.either;
        all.extended += line.kind == FOLDED_EXTENDED;
    }
    return all;
}

folded_kind folded_prefer(const unsigned char *head, size_t size)
{
    survey s = survey_lines(head, size);
    return s.extended && !s.plain ? FOLDED_EXTENDED : FOLDED_PLAIN;
}

/* One unfinished line fills the head: frames, most likely, if it has many parts. */
static int sniff_cut(const unsigned char *head, size_t size)
{
    unsigned parts = 0;
    for (size_t i = 0; i < size; i++) {
        if (head[i] == '\n' || (head[i] < ' ' && head[i] != '\t' && head[i] != '\x1b')) return 0;
        parts += head[i] == ';';
    }
    return parts >= 8 ? 30 : 0;
}

int folded_sniff(const unsigned char *head, size_t size)
{
    if (!size || hd_lookalike_of(head, size)) return 0;
    survey s = survey_lines(head, size);
    unsigned readable = s.plain + s.extended + s.either;
    if (!s.extended && size >= HD_INPUT_PEEK_BYTES && !memchr(head, '\n', size)) return sniff_cut(head, size);
    if (!readable) return 0;
    if (s.extended * 2 > s.lines && s.extended >= s.plain) return 60;
    if (s.deep && readable * 2 > s.lines) return 60;
    if (s.deep) return 20;
    return readable * 2 > s.lines ? 5 : 0;
}
