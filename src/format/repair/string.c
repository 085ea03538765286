/* string.c - strings of the JSON repairer
 *
 * A string is copied run by run. Special bytes stop the run: quotes (which may close it), escapes, control characters,
 * UTF-8, and the marks by which a string without a closing quote is recognised: commas, colons, brackets. The proper
 * end of such a string is known only later, so it is then read again with that end given.
 */
#include <string.h>

#include "format/repair/impl.h"

typedef enum scan_mode { SCAN_KEY, SCAN_VALUE, SCAN_BARE } scan_mode;

typedef struct scan {
    scan_mode mode;
    unsigned char quote;                 /* the one that closes: " or ' */
    size_t open_in, start_in, start_out; /* the quote; the first byte of the content; the output before the quote */
    size_t comma_in;                     /* the last comma */
    size_t colon_in;                     /* key: where it may have ended */
    size_t close_in;                     /* value: the first closer that no bracket in the string opened */
    size_t member_in;                    /* value: the first comma that a member follows */
    size_t end_in;                       /* where it must end: it is read the second time */
    int64_t net;                         /* } less { */
    bool quoted;                         /* a quote has been seen in it */
} scan;

/* Which bytes may be copied without a look: by mode. */
static bool is_plain(unsigned char c, scan_mode mode)
{
    if (c < 0x20 || c >= 0x80) return false;
    switch (c) {
    case '"':
    case '\\':
    case ',':
    case '{':
    case '}':
    case '\'': return false;
    case ':': return mode != SCAN_KEY;
    case ']': return mode != SCAN_BARE;
    default: return true;
    }
}

/* Valid UTF-8 at `at`: its length. Else 0 and the length of the maximal subpart in *out_bad; LOOK_LIMIT bytes short
 * of the text's end count as bad. */
static size_t utf8_size(const repairer *rp, size_t at, size_t *out_bad)
{
    unsigned char lead = rp->text[at];
    size_t more = lead >= 0xC2 && lead <= 0xDF ? 1 : (lead & 0xF0) == 0xE0 ? 2 : lead >= 0xF0 && lead <= 0xF4 ? 3 : 0;
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    *out_bad = 1;
    if (more == 0) return 0;
    for (size_t i = 1; i <= more; i++) {
        if (at + i >= rp->size || rp->text[at + i] < low || rp->text[at + i] > high) return 0;
        *out_bad = i + 1;
        low = 0x80;
        high = 0xBF;
    }
    return more + 1;
}

static size_t put_utf8(repairer *rp, size_t at)
{
    size_t bad = 1, size = utf8_size(rp, at, &bad);
    if (size > 0) {
        repair_put(rp, rp->text + at, size);
        return size;
    }
    if (at + bad >= rp->size) look_at(rp, rp->size); /* the following bytes may complete it */
    repair_note(rp, ISSUE_UTF8, at);
    repair_put(rp, "\xEF\xBF\xBD", 3);
    return bad;
}

static void put_control(repairer *rp, size_t at)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char c = rp->text[at];
    repair_note(rp, ISSUE_CONTROL, at);
    switch (c) {
    case '\n': repair_put(rp, "\\n", 2); return;
    case '\t': repair_put(rp, "\\t", 2); return;
    case '\r': repair_put(rp, "\\r", 2); return;
    case '\b': repair_put(rp, "\\b", 2); return;
    case '\f': repair_put(rp, "\\f", 2); return;
    default: break;
    }
    char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    repair_put(rp, escape, sizeof escape);
}

static void put_escaped(repairer *rp, size_t from, size_t to)
{
    while (from < to) {
        unsigned char c = rp->text[from];
        if (c >= 0x80) {
            from += put_utf8(rp, from);
            continue;
        }
        if (c < 0x20) {
            put_control(rp, from);
        } else {
            if (c == '"' || c == '\\') repair_put_char(rp, '\\');
            repair_put_char(rp, (char)c);
        }
        from++;
    }
}

/* At a backslash. A bad escape makes the backslash a literal one. Returns the bytes read. */
static size_t put_escape(repairer *rp, size_t at, unsigned char quote)
{
    int c = look_at(rp, at + 1);
    if (c == '\'' && quote == '\'') {
        repair_put_char(rp, '\'');
        return 2;
    }
    if (c > 0 && c != 'u' && strchr("\"\\/bfnrt", c) != NULL) {
        repair_put(rp, rp->text + at, 2);
        return 2;
    }
    size_t digits = 0;
    while (c == 'u' && digits < 4) {
        int d = look_at(rp, at + 2 + digits);
        if (d <= 0 || strchr("0123456789abcdefABCDEF", d) == NULL) break;
        digits++;
    }
    if (digits == 4) {
        repair_put(rp, rp->text + at, 6);
        return 6;
    }
    repair_note(rp, c == 'u' ? ISSUE_UNICODE_ESCAPE : ISSUE_ESCAPE, at);
    repair_put(rp, "\\\\", 2);
    return 1;
}

/* Read the string again; this time it ends at `end`, less the space before it. */
static void restart(repairer *rp, scan *s, size_t end)
{
    while (end > s->start_in && strchr(" \t\r\n", rp->text[end - 1]) != NULL && rp->text[end - 1] != 0) end--;
    s->end_in = end;
    rp->pos = s->start_in;
    rp->r->size = s->start_out;
    if (!rp->undo_armed) memcpy(rp->issues, rp->undo, sizeof rp->issues);
    rp->undo_armed = false;
    repair_put_char(rp, '"');
}

/* The best guess where a string ended that runs into the next event, or into the end of the text. */
static size_t guess_end(const scan *s)
{
    size_t end = s->close_in < s->member_in ? s->close_in : s->member_in;
    return s->mode == SCAN_KEY && s->colon_in != NOWHERE ? s->colon_in : end;
}

/* The rest of the string is closers and space, from `from` to `to`: how many closers, or -1. */
static int count_closers(const repairer *rp, size_t from, size_t to)
{
    int count = 0;
    for (; from < to; from++) {
        unsigned char c = rp->text[from];
        if (c == '}' || c == ']') {
            count++;
        } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            return -1;
        }
        if (count > 8) return -1;
    }
    return count;
}

/* A quote right after the last comma begins `"key": value`, and the rest of the event reads well from here: the
 * string lost its closing quote before the comma. */
static bool ends_before_member(repairer *rp, scan *s, size_t at)
{
    if (s->comma_in == NOWHERE || repair_in_array(rp)) return false;
    size_t p = at;
    while (p > s->comma_in + 1 && count_closers(rp, p - 1, p) == 0) p--;
    if (p != s->comma_in + 1 || !look_member(rp, at)) return false;
    size_t end = s->comma_in;
    int closers = s->close_in == NOWHERE ? 0 : count_closers(rp, s->close_in, end);
    if (closers > 0 && (uint32_t)closers < rp->depth) end = s->close_in;
    if (end == s->comma_in) closers = 0;
    if (s->member_in == NOWHERE) s->member_in = end;
    if (!look_reads_well(rp, at, rp->depth - (uint32_t)closers)) return false;
    restart(rp, s, end);
    return true;
}

/* A quote of a key that no colon follows. Returns STRING_CUT to go on in the key. */
static string_outcome broken_key_quote(repairer *rp, scan *s, size_t at)
{
    if (s->colon_in != NOWHERE) {
        restart(rp, s, s->colon_in);
        return STRING_CUT;
    }
    size_t p = at + 1;
    while (p < at + 64 && look_at(rp, p) > 0x1F && strchr("\",:{}[]", look_at(rp, p)) == NULL) p++;
    if (look_at(rp, p) == '"' && look_at(rp, look_space(rp, p + 1)) == ':') return STRING_CUT;
    p = look_space(rp, at + 1);
    int c = look_at(rp, p);
    string_outcome outcome = STRING_CUT;
    size_t after = look_space(rp, p + 1);
    if (c == LOOK_EOF) return STRING_CUT;
    bool is_last = c == '}' && (look_at(rp, after) == LOOK_EOF || !look_value_start(rp, after));
    if (is_last) {
        outcome = STRING_NO_VALUE;
    } else if (look_value_start(rp, p)) {
        outcome = STRING_NO_COLON;
        after = p;
    } else if (c == ',' && look_key(rp, after) != 0) {
        outcome = STRING_NO_VALUE;
    } else if (look_value_start(rp, after)) {
        outcome = STRING_NO_COLON;
    }
    if (outcome == STRING_CUT) return outcome;
    repair_note(rp, outcome == STRING_NO_COLON ? ISSUE_COLON : ISSUE_VALUE_MISSING, at + 1);
    repair_put_char(rp, '"');
    rp->pos = outcome == STRING_NO_COLON ? after : at + 1;
    return outcome;
}

/* At a quote in a string. STRING_CUT: the string goes on at rp->pos. */
static string_outcome handle_quote(repairer *rp, scan *s)
{
    size_t at = rp->pos;
    bool forced = s->end_in != NOWHERE, is_own = rp->text[at] == s->quote;
    if (!forced && is_own) {
        bool closes = s->mode == SCAN_KEY ? look_at(rp, look_space(rp, at + 1)) == ':' : look_value_closes(rp, at + 1);
        if (closes) {
            if (s->mode == SCAN_BARE) repair_note(rp, ISSUE_QUOTE_LOST, s->start_in);
            repair_put_char(rp, '"');
            rp->pos = at + 1;
            return STRING_DONE;
        }
        size_t next = look_space(rp, at + 1);
        if (s->mode == SCAN_VALUE && !s->quoted && look_at(rp, next) == ':' && look_value_start(rp, next + 1)) {
            rp->pos = s->open_in;
            rp->r->size = s->start_out;
            if (!rp->undo_armed) memcpy(rp->issues, rp->undo, sizeof rp->issues);
            return STRING_AS_KEY;
        }
        s->quoted = true;
        if (s->mode == SCAN_KEY) {
            string_outcome outcome = broken_key_quote(rp, s, at);
            if (outcome != STRING_CUT || s->end_in != NOWHERE) return outcome;
        } else if (s->mode == SCAN_BARE && !repair_in_array(rp) && look_member(rp, at)) {
            repair_put_char(rp, '"');
            return STRING_DONE; /* the comma is missing */
        } else if (ends_before_member(rp, s, at)) {
            return STRING_CUT;
        }
    }
    if (rp->text[at] == '"') {
        repair_note(rp, ISSUE_QUOTE, at);
        repair_put_char(rp, '\\');
    }
    repair_put_char(rp, (char)rp->text[at]);
    rp->pos = at + 1;
    return STRING_CUT;
}

/* A mark at which bare text may end. */
static bool ends_bare(repairer *rp, size_t at)
{
    bool in_array = repair_in_array(rp);
    switch (rp->text[at]) {
    case ',': {
        size_t p = look_space(rp, at + 1);
        int c = look_at(rp, p);
        return in_array || c == LOOK_EOF || c == ',' || (c == '"' && look_key(rp, p) != 0) ||
               (c == '{' && look_event(rp, p)) || ((c == '}' || c == ']') && look_closers(rp, p));
    }
    case '}':
    case ']': return look_closers(rp, at);
    case '\n': {
        size_t p = look_space(rp, at);
        int c = look_at(rp, p);
        return is_plain((unsigned char)(c < 0 ? ',' : c), SCAN_BARE) ? false : c != '"' || look_member(rp, p);
    }
    default: return false;
    }
}

/* Keeps marks for finding the end of a string that lost its quote. true: read it again, to s->end_in. */
static bool note_mark(repairer *rp, scan *s)
{
    size_t at = rp->pos;
    switch (rp->text[at]) {
    case ',': s->comma_in = at; return false;
    case ':': {
        bool pair = look_at(rp, at + 1) == ':' || (at > s->start_in && rp->text[at - 1] == ':');
        if (s->colon_in == NOWHERE && at > s->start_in && !pair && look_value_start(rp, at + 1)) s->colon_in = at;
        return false;
    }
    case '}':
        if (++s->net > 0 && s->close_in == NOWHERE && look_closers(rp, at)) s->close_in = at;
        return false;
    case '{': {
        bool is_next = s->net > 0 && look_event_after_close(rp, at);
        s->net--;
        if (!is_next) return false;
        size_t end = guess_end(s);
        restart(rp, s, end != NOWHERE ? end : s->comma_in);
        return true;
    }
    default: return false;
    }
}

/* The end that was found for a string without its quote. */
static string_outcome end_here(repairer *rp, scan *s)
{
    size_t at = s->end_in;
    repair_note(rp, ISSUE_QUOTE_LOST, at);
    repair_put_char(rp, '"');
    rp->pos = at;
    bool is_colon = s->mode == SCAN_KEY && look_at(rp, look_space(rp, at)) == ':';
    return s->mode != SCAN_KEY || is_colon ? STRING_DONE : STRING_NO_VALUE;
}

/* At the end of the text, or a byte that is not plain. STRING_CUT and *go_on: the string goes on. */
static string_outcome scan_mark(repairer *rp, scan *s, bool *go_on)
{
    *go_on = true;
    size_t at = rp->pos;
    if (at == s->end_in) return *go_on = false, end_here(rp, s);
    if (look_at(rp, at) == LOOK_EOF) {
        /* not from far away: many such events would each read the text to its end */
        size_t guess = guess_end(s);
        if (rp->is_final && s->end_in == NOWHERE && guess != NOWHERE && at - guess < LOOK_BASE) {
            restart(rp, s, guess);
            return STRING_CUT;
        }
        return *go_on = false, STRING_CUT;
    }
    unsigned char c = rp->text[at];
    if (c == '"' || c == '\'') {
        string_outcome outcome = handle_quote(rp, s);
        *go_on = outcome == STRING_CUT;
        return outcome;
    }
    if (s->mode == SCAN_BARE && ends_bare(rp, at)) {
        while (rp->r->size > s->start_out + 1 && rp->r->text[rp->r->size - 1] == ' ') rp->r->size--;
        repair_put_char(rp, '"');
        return *go_on = false, STRING_DONE;
    }
    if (s->end_in == NOWHERE && s->mode != SCAN_BARE && note_mark(rp, s)) return STRING_CUT;
    if (c == '\\') {
        size_t size = put_escape(rp, at, s->quote);
        /* `C:\"` with the quote lost to the backslash: the backslash is the last byte of the string */
        if (at + size == s->end_in && size == 2 && rp->text[at + 1] == '"') {
            rp->r->size -= 2;
            repair_note(rp, ISSUE_ESCAPE, at);
            repair_put(rp, "\\\\", 2);
        }
        rp->pos = at + size;
    } else if (c >= 0x80) {
        rp->pos = at + put_utf8(rp, at);
    } else {
        if (c < 0x20) put_control(rp, at);
        if (c >= 0x20) repair_put_char(rp, (char)c);
        rp->pos = at + 1;
    }
    return STRING_CUT;
}

static string_outcome scan_string(repairer *rp, scan *s)
{
    s->comma_in = s->colon_in = s->close_in = s->member_in = s->end_in = NOWHERE;
    rp->undo_armed = true;
    s->start_out = rp->r->size;
    rp->pos = s->start_in;
    repair_put_char(rp, '"');
    string_outcome outcome = STRING_CUT;
    for (bool go_on = true; go_on && !rp->no_memory && !rp->starved;) {
        size_t end = s->end_in < rp->size ? s->end_in : rp->size, p = rp->pos;
        while (p < end && is_plain(rp->text[p], s->mode)) p++;
        if (p > rp->pos) repair_put(rp, rp->text + rp->pos, p - rp->pos);
        rp->pos = p;
        outcome = scan_mark(rp, s, &go_on);
    }
    rp->undo_armed = false;
    return outcome;
}

static string_outcome scan_quoted(repairer *rp, scan_mode mode)
{
    scan s = {.mode = mode, .quote = rp->text[rp->pos], .open_in = rp->pos, .start_in = rp->pos + 1};
    if (s.quote == '\'') repair_note(rp, ISSUE_SINGLE_QUOTE, rp->pos);
    return scan_string(rp, &s);
}

string_outcome repair_key(repairer *rp)
{
    return scan_quoted(rp, SCAN_KEY);
}

string_outcome repair_string(repairer *rp)
{
    return scan_quoted(rp, SCAN_VALUE);
}

string_outcome repair_bare_text(repairer *rp)
{
    scan s = {.mode = SCAN_BARE, .quote = '"', .open_in = rp->pos, .start_in = rp->pos};
    repair_note(rp, ISSUE_BARE_TEXT, rp->pos);
    return scan_string(rp, &s);
}

bool repair_bare_key(repairer *rp)
{
    size_t from = rp->pos, p = from, limit = from + 256;
    int c = look_at(rp, p);
    if (look_is_spent(rp)) return false;
    while (p < limit && c > 0x1F && strchr("\",{}[]", c) == NULL) {
        if (c == ':' && look_at(rp, p + 1) != ':' && (p == from || rp->text[p - 1] != ':')) break;
        c = look_at(rp, ++p);
    }
    look_charge(rp, from, p);
    if (rp->starved || p == from) return false;
    size_t end = p;
    bool has_quote = c == '"';
    if (has_quote) p = look_space(rp, p + 1);
    if (look_at(rp, p) != ':') return false;
    while (end > from + 1 && !has_quote && rp->text[end - 1] == ' ') end--;
    repair_note(rp, ISSUE_KEY_BARE, from);
    repair_put_char(rp, '"');
    put_escaped(rp, from, end);
    repair_put_char(rp, '"');
    rp->pos = has_quote ? p : end;
    return true;
}
