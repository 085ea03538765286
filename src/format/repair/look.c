/* look.c - lookahead of the JSON repairer: what comes next, and whether it looks like JSON
 *
 * Nothing here writes output or moves the position. Every byte read is counted; beyond LOOK_RATE per byte of text (and
 * LOOK_BASE) only the next byte is read, which keeps the total linear for every input. At the end of the window or the
 * text the answer is yes, so that a long key or a cut file does not look like damage.
 */
#include <string.h>

#include "format/repair/impl.h"

static bool is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_key_char(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

void look_charge(repairer *rp, size_t from, size_t to)
{
    rp->look_used += to - from + 1;
    if (to > rp->look_far) rp->look_far = to;
}

bool look_is_spent(const repairer *rp)
{
    return rp->look_used > LOOK_BASE + LOOK_RATE * rp->look_far;
}

int look_at(repairer *rp, size_t at)
{
    if (at < rp->size) return rp->text[at];
    if (!rp->is_final) rp->starved = true;
    return LOOK_EOF;
}

size_t look_comment(repairer *rp, size_t at)
{
    int second = look_at(rp, at + 1);
    if (look_is_spent(rp)) return 0;
    if (second != '*' && second != '/') return 0;
    size_t p = at + 2, end = at + LOOK_WINDOW, found = 0;
    for (; p < end && !found; p++) {
        int c = look_at(rp, p);
        if (c == LOOK_EOF) {
            if (second == '/') found = p;
            break;
        }
        if (second == '/' && c == '\n') found = p;
        if (second == '*' && c == '*' && look_at(rp, p + 1) == '/') found = p + 2;
    }
    look_charge(rp, at, p);
    return found;
}

size_t look_space(repairer *rp, size_t at)
{
    size_t p = at;
    for (;;) {
        if (look_is_spent(rp)) return p;
        size_t from = p;
        while (p < rp->size && is_space(rp->text[p])) p++;
        look_charge(rp, from, p);
        size_t after = look_at(rp, p) == '/' ? look_comment(rp, p) : 0;
        if (after == 0) return p;
        p = after;
    }
}

/* At `"`: the closing quote, by a plain search. LOOK_EOF and LOOK_LIMIT, or 0 if it is not a key. */
static int find_key_end(repairer *rp, size_t at, size_t *out_end)
{
    if (look_is_spent(rp)) return LOOK_LIMIT;
    size_t p = at + 1, end = at + LOOK_WINDOW;
    int c = 0;
    for (; p < end; p++) {
        c = look_at(rp, p);
        if (c == '\\') p++;
        if (c == '"' || (c < 0x20 && c != '\\')) break;
    }
    look_charge(rp, at, p);
    *out_end = p;
    if (p >= end) return LOOK_LIMIT;
    return c == '"' ? 1 : c == LOOK_EOF ? LOOK_EOF : 0;
}

size_t look_key(repairer *rp, size_t at)
{
    size_t end = at;
    if (look_at(rp, at) != '"') return 0;
    int found = find_key_end(rp, at, &end);
    if (found < 0) return end + 1;
    if (found == 0) return 0;
    size_t p = look_space(rp, end + 1);
    int c = look_at(rp, p);
    return c == ':' ? p + 1 : c == LOOK_EOF ? p : 0;
}

bool look_value_start(repairer *rp, size_t at)
{
    int c = look_at(rp, look_space(rp, at));
    return c == LOOK_EOF || (c >= '0' && c <= '9') || (c > 0 && strchr("\"{[-tfnNITF+.'", c) != NULL);
}

bool look_member(repairer *rp, size_t at)
{
    size_t value = look_key(rp, at);
    return value != 0 && look_value_start(rp, value);
}

int look_event_key(const repairer *rp, size_t at, size_t size)
{
    if (at > rp->size || size > rp->size - at) return 0;
    const unsigned char *key = rp->text + at;
    if (size > 0 && size == rp->first_key_size && memcmp(key, rp->text + rp->first_key, size) == 0) return 1;
    int found = rp->r->find_key ? rp->r->find_key((const char *)key, size) : 0;
    return found ? found + 1 : 0;
}

/* At a key's quote: whether it is a key of events. Beyond the end of the text: yes. */
static bool is_event_member(repairer *rp, size_t at)
{
    size_t end = at;
    if (look_key(rp, at) == 0) return false;
    int found = find_key_end(rp, at, &end);
    return found == LOOK_EOF || (found == 1 && look_event_key(rp, at + 1, end - at - 1) != 0);
}

bool look_event(repairer *rp, size_t at)
{
    return is_event_member(rp, look_space(rp, at + 1));
}

bool look_next_event(repairer *rp, size_t at)
{
    size_t p = look_space(rp, at + 1), end = p;
    if (look_key(rp, p) == 0) return false;
    if (find_key_end(rp, p, &end) != 1) return true;
    int key = look_event_key(rp, p + 1, end - p - 1);
    return key == 0 ? rp->depth == 1 : (rp->seen >> key & 1) != 0 || rp->members == 0;
}

bool look_event_after_close(repairer *rp, size_t at)
{
    size_t p = at, floor = at > 256 ? at - 256 : 0;
    if (look_is_spent(rp)) return false;
    while (p > floor && is_space(rp->text[p - 1])) p--;
    if (p == floor || rp->text[--p] != ',') return false;
    while (p > floor && is_space(rp->text[p - 1])) p--;
    look_charge(rp, p, at);
    return p > floor && (rp->text[p - 1] == '}' || rp->text[p - 1] == ']') && look_event(rp, at);
}

/* A key that lost a quote or its colon: `"ts: 5`, `"ts" 5`, `ts": 5`, `ts: 5`, `'ts': 5`. */
static bool is_broken_member(repairer *rp, size_t at)
{
    int open = look_at(rp, at);
    bool quoted = open == '"' || open == '\'';
    size_t from = at + quoted, p = from;
    while (p < from + 64 && is_key_char(look_at(rp, p))) p++;
    look_charge(rp, at, p);
    size_t size = p - from;
    if (size == 0 || size == 64) return false;
    int c = look_at(rp, p);
    bool closed = c == '"' || (c == '\'' && open == '\'');
    p = look_space(rp, p + closed);
    c = look_at(rp, p);
    if (c == LOOK_EOF) return true;
    if (c == ':') return look_value_start(rp, p + 1);
    if (open != '"' || !closed || look_event_key(rp, from, size) == 0) return false;
    return look_value_start(rp, p) || look_value_start(rp, p + 1);
}

/* After a comma in an object. */
static bool member_follows(repairer *rp, size_t at)
{
    size_t p = look_space(rp, at);
    for (int i = 0; i < 3 && look_at(rp, p) == ','; i++) p = look_space(rp, p + 1);
    switch (look_at(rp, p)) {
    case LOOK_EOF: return true;
    case '"': return look_key(rp, p) != 0 || is_broken_member(rp, p);
    case '}':
    case ']': return look_closers(rp, p);
    case '{': return rp->depth == 1 ? look_key(rp, look_space(rp, p + 1)) != 0 : look_event(rp, p);
    default: return is_broken_member(rp, p);
    }
}

/* After a comma in an array, or where an event of the array may begin. */
static bool element_follows(repairer *rp, size_t at)
{
    size_t p = look_space(rp, at);
    int c = look_at(rp, p);
    return c == ']' || c == '}' ? look_closers(rp, p) : c == ',' || look_value_start(rp, p);
}

bool look_closers(repairer *rp, size_t at)
{
    uint32_t depth = rp->depth;
    size_t p = at, next = at;
    for (int i = 0; i < 64; i++) {
        int c = look_at(rp, next);
        if (c != '}' && c != ']') break;
        depth -= depth > 0;
        p = next;
        next = look_space(rp, next + 1);
    }
    int c = look_at(rp, next);
    bool in_array = depth > 0 && rp->kind[depth - 1] == IN_ARRAY;
    if (c == LOOK_EOF) return true;
    if (c == '{') return depth == 0 && look_event(rp, next);
    if (c == '"') return !in_array && look_member(rp, next);
    if (c == '}' || c == ']') return true; /* 64 of them */
    if (c != ',') {
        /* one broken byte in the place of a comma, or of one more closer */
        next = look_space(rp, next + 1);
        c = look_at(rp, next);
        if (c == ',') {
            next = look_space(rp, next + 1);
            c = look_at(rp, next);
        }
        return c == '{' ? look_event(rp, next) : c == '"' && look_member(rp, next);
    }
    size_t after = look_space(rp, next + 1);
    c = look_at(rp, after);
    if (rp->text[p] == ']' && depth == 0 && c != '"') return c == '{' && look_event(rp, after);
    if (c == '"') return in_array || look_key(rp, after) != 0;
    if (c == '{') return in_array || depth == 0 || look_event(rp, after);
    if (c == '}' || c == ']' || c == ',' || c == LOOK_EOF) return true;
    if (depth == 0) return c == 'n';
    return in_array ? look_value_start(rp, after) : is_broken_member(rp, after);
}

bool look_value_closes(repairer *rp, size_t at)
{
    bool in_array = repair_in_array(rp);
    size_t p = look_space(rp, at);
    int c = look_at(rp, p);
    if (look_is_spent(rp)) return c == ',' || c == '}' || c == ']' || is_space(c) || c == LOOK_EOF;
    switch (c) {
    case LOOK_EOF: return true;
    case ':': return !in_array && look_member(rp, look_space(rp, p + 1)); /* it was a comma */
    case ',': return in_array ? element_follows(rp, p + 1) : member_follows(rp, p + 1);
    case '}':
    case ']': return look_closers(rp, p);
    case '"': return !in_array && look_member(rp, p);
    case '{': return look_event(rp, p);
    default: break;
    }
    /* one broken byte in the place of a comma or a closer */
    p = look_space(rp, p + 1);
    c = look_at(rp, p);
    if (c == '}' || c == ']') return look_closers(rp, p);
    if (c == '"') return !in_array && look_member(rp, p);
    if (c != ',') return false;
    p = look_space(rp, p + 1);
    return look_at(rp, p) == '{' && look_event(rp, p);
}

/* The strict walk: p after a value or key, or 0 if it is neither; *out_ended: the text or window ended. */
static size_t walk_value(repairer *rp, size_t p, bool *out_ended)
{
    size_t end = p;
    int c = look_at(rp, p);
    if (c == '"') {
        int found = find_key_end(rp, p, &end);
        *out_ended = found < 0;
        return found == 1 ? end + 1 : 0;
    }
    while (c = look_at(rp, end), is_key_char(c) || c == '-' || c == '+' || c == '.' || c == '#') {
        if (end > p + 64) return 0;
        end++;
    }
    *out_ended = c == LOOK_EOF;
    look_charge(rp, p, end);
    return end > p ? end : 0;
}

bool look_reads_well(repairer *rp, size_t at, uint32_t depth)
{
    enum { DEEPER = 64 };
    uint8_t kinds[DEEPER];
    uint32_t top = depth;
    bool ended = false;
    size_t p = at, limit = at + LOOK_WINDOW;
    while (p < limit) {
        if (look_is_spent(rp)) return false;
        bool in_array = (top > depth ? kinds[top - depth - 1] : rp->kind[top - 1]) == IN_ARRAY;
        if (!in_array) {
            p = look_key(rp, look_space(rp, p));
            if (p == 0) return false;
            p = look_space(rp, p);
        } else {
            p = look_space(rp, p);
        }
        int c = look_at(rp, p);
        if (c == LOOK_EOF) return true;
        if (c == '{' || c == '[') {
            if (top - depth == DEEPER) return false;
            kinds[top++ - depth] = c == '[' ? IN_ARRAY : IN_OBJECT;
            p = look_space(rp, p + 1);
            if (look_at(rp, p) != (c == '[' ? ']' : '}')) continue;
        } else {
            p = walk_value(rp, p, &ended);
            if (ended) return true;
            if (p == 0) return false;
            p = look_space(rp, p);
        }
        while (look_at(rp, p) != ',') {
            c = look_at(rp, p);
            in_array = (top > depth ? kinds[top - depth - 1] : rp->kind[top - 1]) == IN_ARRAY;
            if (c == LOOK_EOF) return true;
            if (c != (in_array ? ']' : '}')) return false;
            p = look_space(rp, p + 1);
            if (top <= depth) depth--;
            if (--top == 0) return c = look_at(rp, p), c == ',' || c == ']' || c == '}' || c == LOOK_EOF;
        }
        p++;
    }
    return true;
}

bool look_array_end(repairer *rp, size_t at)
{
    size_t p = look_space(rp, at + 1);
    int c = look_at(rp, p);
    if (c == '}') c = look_at(rp, look_space(rp, p + 1)) == LOOK_EOF ? LOOK_EOF : 0;
    if (c == LOOK_EOF) return true;
    if (c != ',') return false;
    p = look_space(rp, p + 1);
    if (look_key(rp, p) == 0 || is_event_member(rp, p)) return false;
    size_t limit = p + LOOK_WINDOW;
    if (look_is_spent(rp)) return false;
    for (; p < limit; p++) {
        c = look_at(rp, p);
        if (c == LOOK_EOF) break;
        if (c == '{' && look_event_after_close(rp, p)) return false;
    }
    look_charge(rp, at, p);
    return true;
}
