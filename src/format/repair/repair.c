/* repair.c - the state machine of the JSON repairer: members, commas, brackets, the end of the event
 *
 * The text is walked once with a stack of open containers. Valid text is copied; invalid text is repaired on the spot,
 * or dropped byte by byte, so that every step makes progress. The rules are in repair.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/repair/impl.h"

/* In the order of issue_code; repair.h explains them. */
static const char *const issue_names[HD_JSON_ISSUE_CODES] = {
    "json.nonfinite",     "json.literal",        "json.number",       "json.bare-text",     "json.control",
    "json.escape",        "json.unicode-escape", "json.quote",        "json.quote-lost",    "json.utf8",
    "json.comma-extra",   "json.comma-missing",  "json.colon",        "json.single-quote",  "json.key-bare",
    "json.value-missing", "json.comment",        "json.open-missing", "json.close-missing", "json.mismatch",
    "json.stray",         HD_JSON_TRUNCATED,     "json.depth",
};

void hd_json_repair_init(hd_json_repair *r, hd_event_key *find_key)
{
    *r = (hd_json_repair){.find_key = find_key};
}

void hd_json_repair_deinit(hd_json_repair *r)
{
    free(r->text);
    *r = (hd_json_repair){0};
}

void repair_put(repairer *rp, const void *bytes, size_t size)
{
    hd_json_repair *r = rp->r;
    if (size > r->capacity - r->size) {
        size_t capacity = r->capacity < 512 ? 1024 : r->capacity + r->capacity / 2;
        if (capacity - r->size < size) capacity = r->size + size;
        char *text = capacity < r->size ? NULL : realloc(r->text, capacity);
        if (text == NULL) {
            rp->no_memory = true;
            return;
        }
        r->text = text;
        r->capacity = capacity;
    }
    memcpy(r->text + r->size, bytes, size);
    r->size += size;
}

void repair_note(repairer *rp, issue_code code, size_t offset)
{
    if (rp->undo_armed) memcpy(rp->undo, rp->issues, sizeof rp->undo);
    rp->undo_armed = false;
    issue_slot *slot = &rp->issues[code];
    if (slot->count++ == 0 || offset < slot->offset) slot->offset = offset;
}

/* Copy space, drop comments. */
static void copy_space(repairer *rp)
{
    for (;;) {
        size_t p = rp->pos;
        while (p < rp->size &&
               (rp->text[p] == ' ' || rp->text[p] == '\n' || rp->text[p] == '\t' || rp->text[p] == '\r'))
            p++;
        if (p > rp->pos) repair_put(rp, rp->text + rp->pos, p - rp->pos);
        rp->pos = p;
        size_t after = p < rp->size && rp->text[p] == '/' ? look_comment(rp, p) : 0;
        if (after == 0) return;
        repair_note(rp, ISSUE_COMMENT, p);
        rp->pos = after;
    }
}

static void drop_byte(repairer *rp, issue_code code)
{
    repair_note(rp, code, rp->pos);
    rp->pos++;
}

static void end_member(repairer *rp)
{
    rp->members++;
    rp->kept[rp->depth] = rp->r->size;
    rp->comma_in = rp->comma_out = NOWHERE;
    rp->state = AT_AFTER;
}

/* Removes a trailing comma from the output again; the space after it stays. */
static void take_back_comma(repairer *rp)
{
    hd_json_repair *r = rp->r;
    if (rp->comma_out == NOWHERE) return;
    repair_note(rp, ISSUE_COMMA_EXTRA, rp->comma_in);
    memmove(r->text + rp->comma_out, r->text + rp->comma_out + 1, r->size - rp->comma_out - 1);
    r->size--;
    rp->comma_in = rp->comma_out = NOWHERE;
}

/* Closes the innermost container with its own closer, whatever the text has. */
static void pop(repairer *rp)
{
    take_back_comma(rp);
    repair_put_char(rp, repair_in_array(rp) ? ']' : '}');
    rp->depth--;
    rp->token_in = NOWHERE;
    if (rp->depth > 0) end_member(rp);
}

static void close_all(repairer *rp, size_t consumed)
{
    size_t members = rp->members;
    rp->comma_in = rp->comma_out = NOWHERE;
    while (rp->depth > 0) pop(rp);
    rp->members = members;
    rp->consumed = consumed;
    rp->finished = true;
}

/* The event ends before text[at]: closes all open containers. */
static void finish_before(repairer *rp, size_t at)
{
    rp->r->size = rp->kept[rp->depth];
    repair_note(rp, ISSUE_CLOSE_MISSING, at);
    close_all(rp, at > 0 ? at : 1);
}

/* The text ends within the event. A cut array is dropped, an object keeps its complete members. */
static void finish_truncated(repairer *rp)
{
    uint32_t depth = 0;
    while (depth < rp->depth && rp->kind[depth] == IN_OBJECT) depth++;
    rp->r->size = rp->kept[depth];
    rp->depth = depth;
    repair_note(rp, ISSUE_TRUNCATED, rp->size);
    close_all(rp, rp->size);
}

/* A container below the deepest level, passed over by counting; pos is behind its `{` or `[`. */
static void skip_deep(repairer *rp)
{
    size_t level = 1, p = rp->pos;
    repair_note(rp, ISSUE_DEPTH, p);
    for (; p < rp->size; p++) {
        unsigned char c = rp->text[p];
        if (c == '"') {
            for (p++; p < rp->size && rp->text[p] != '"'; p++) p += rp->text[p] == '\\';
        } else if (c == '}' || c == ']') {
            if (--level == 0) break;
        } else if (c == '{' || c == '[') {
            if (c == '{' && look_event_after_close(rp, p)) break;
            level++;
        }
    }
    if (p >= rp->size) {
        look_at(rp, rp->size);
        rp->pos = rp->size;
        return;
    }
    repair_put(rp, "null", 4);
    rp->pos = level == 0 ? p + 1 : p;
    end_member(rp);
}

static void push(repairer *rp, uint8_t kind)
{
    rp->token_in = NOWHERE;
    if (rp->depth == HD_JSON_REPAIR_DEPTH) {
        skip_deep(rp);
        return;
    }
    rp->kind[rp->depth++] = kind;
    repair_put_char(rp, kind == IN_ARRAY ? '[' : '{');
    rp->kept[rp->depth] = rp->r->size;
    rp->comma_in = rp->comma_out = NOWHERE;
    rp->state = kind == IN_ARRAY ? AT_VALUE : AT_KEY;
}

static void put_comma(repairer *rp)
{
    rp->comma_in = rp->pos++;
    rp->comma_out = rp->r->size;
    repair_put_char(rp, ',');
    rp->state = repair_in_array(rp) ? AT_VALUE : AT_KEY;
}

static void add_comma(repairer *rp)
{
    repair_note(rp, ISSUE_COMMA_MISSING, rp->pos);
    put_comma(rp);
    rp->pos--;
}

/* How many of the open containers are objects, down to and with level `depth`. */
static uint32_t count_objects(const repairer *rp, uint32_t depth)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < depth; i++) count += rp->kind[i] == IN_OBJECT;
    return count;
}

/* Closers in a row from `at` on, 64 at most. */
static uint32_t count_closers(repairer *rp, size_t at)
{
    uint32_t count = 0;
    size_t p = look_space(rp, at);
    while (count < 64 && look_at(rp, p) == '}') {
        count++;
        p = look_space(rp, p + 1);
    }
    return count;
}

/* After the closer at pos comes a comma and a key that events have. */
static bool event_key_follows(repairer *rp)
{
    size_t p = look_space(rp, rp->pos + 1);
    if (look_at(rp, p) != ',') return false;
    p = look_space(rp, p + 1);
    size_t after = look_key(rp, p), end = p + 1;
    while (after != 0 && end < after && end < rp->size && rp->text[end] != '"') end++;
    return after != 0 && look_event_key(rp, p + 1, end - p - 1) != 0;
}

/* `}` in an array: a broken `]`, or the end of the enclosing object, whose arrays were not closed. */
static void close_object_in_array(repairer *rp)
{
    uint32_t object = rp->depth;
    while (rp->kind[object - 1] == IN_ARRAY) object--;
    size_t p = look_space(rp, rp->pos + 1);
    int c = look_at(rp, p);
    bool is_bracket = c == ']';
    if (c == ',') {
        size_t next = look_space(rp, p + 1);
        is_bracket = look_at(rp, next) == '{' ? object > 1 : !(object == 2 && event_key_follows(rp));
    } else if (c == '}') {
        uint32_t objects = count_objects(rp, object);
        is_bracket = objects <= 64 && count_closers(rp, p) >= objects;
    }
    if (is_bracket) {
        drop_byte(rp, ISSUE_MISMATCH);
        pop(rp);
        return;
    }
    repair_note(rp, ISSUE_CLOSE_MISSING, rp->pos);
    while (repair_in_array(rp)) pop(rp);
}

/* `]` in an object. */
static void close_array_in_object(repairer *rp)
{
    bool has_array = false;
    for (uint32_t i = 0; i < rp->depth; i++) has_array |= rp->kind[i] == IN_ARRAY;
    if (has_array) {
        repair_note(rp, ISSUE_CLOSE_MISSING, rp->pos);
        while (!repair_in_array(rp)) pop(rp);
        return;
    }
    if (look_array_end(rp, rp->pos)) {
        finish_before(rp, rp->pos);
        return;
    }
    size_t p = look_space(rp, rp->pos + 1);
    int c = look_at(rp, p);
    bool is_brace = c == ',' && event_key_follows(rp);
    if (rp->depth == 1) {
        is_brace = c == ',' && look_at(rp, look_space(rp, p + 1)) == '{';
    } else if (c == '}') {
        is_brace = rp->depth <= 64 && count_closers(rp, p) < rp->depth;
    }
    drop_byte(rp, is_brace ? ISSUE_MISMATCH : ISSUE_STRAY);
    if (!is_brace) return;
    pop(rp);
    rp->consumed = rp->pos;
    rp->finished = rp->depth == 0;
}

/* `}` that closes the event, unless the event goes on. */
static void close_event(repairer *rp)
{
    size_t p = look_space(rp, rp->pos + 1);
    int c = look_at(rp, p);
    if (p == rp->pos + 1 && c >= 0 && strchr(",]}{\"/", c) == NULL) {
        drop_byte(rp, ISSUE_STRAY); /* in the middle of something; otherwise the next event ends this one */
        return;
    }
    if (c == '}' || c == '"' || (c == ',' && look_at(rp, look_space(rp, p + 1)) == '"')) {
        if (c == ',') p = look_space(rp, p + 1);
        if (c == '}' || look_member(rp, p)) {
            drop_byte(rp, ISSUE_STRAY);
            return;
        }
    }
    pop(rp);
    rp->pos++;
    rp->consumed = rp->pos;
    rp->finished = true;
}

static void close_at(repairer *rp)
{
    bool is_bracket = rp->text[rp->pos] == ']';
    if (is_bracket != repair_in_array(rp)) {
        is_bracket ? close_array_in_object(rp) : close_object_in_array(rp);
    } else if (rp->depth == 1) {
        close_event(rp);
    } else {
        rp->pos++;
        pop(rp);
    }
}

/* A number followed by something that is not a member: keeps both, as text. */
static bool amend_token(repairer *rp)
{
    if (rp->token_in == NOWHERE || repair_in_array(rp)) return false;
    rp->pos = rp->token_in;
    rp->r->size = rp->token_out;
    rp->token_in = rp->comma_in = rp->comma_out = NOWHERE;
    rp->kept[rp->depth] = rp->token_kept;
    rp->state = AT_VALUE;
    rp->members--;
    if (repair_bare_text(rp) == STRING_DONE) end_member(rp);
    return true;
}

static bool is_number_char(int c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+';
}

/* Remember the event's own keys; the key is the end of the output, from `out` to its quote. */
static void see_key(repairer *rp, size_t out)
{
    repairer key = {.r = rp->r, .text = (const unsigned char *)rp->r->text, .size = rp->r->size};
    int seen = look_event_key(&key, out, rp->r->size - 1 - out);
    if (seen > 0) rp->seen |= 1u << seen;
}

static void take_key(repairer *rp)
{
    string_outcome outcome = STRING_DONE;
    int c = rp->text[rp->pos];
    size_t out = rp->r->size;
    if (c == '"' || c == '\'') {
        outcome = repair_key(rp);
    } else if (!repair_bare_key(rp)) {
        if (rp->starved || (is_number_char(c) && amend_token(rp))) return;
        drop_byte(rp, ISSUE_STRAY);
        return;
    }
    rp->token_in = NOWHERE;
    if (outcome == STRING_CUT || rp->no_memory) return;
    if (rp->depth == 1) see_key(rp, out + 1);
    if (outcome == STRING_DONE) {
        copy_space(rp);
        rp->pos++; /* the colon, which ended the key */
    }
    rp->state = AT_VALUE;
    repair_put_char(rp, ':');
    if (outcome != STRING_NO_VALUE) return;
    repair_put(rp, "null", 4);
    end_member(rp);
    rp->members--; /* not worth an event of its own */
}

/* `{` in the place of a key: the next event, or stray. */
static void take_brace_for_key(repairer *rp)
{
    if (rp->comma_in != NOWHERE && look_next_event(rp, rp->pos)) {
        finish_before(rp, rp->comma_in);
    } else {
        drop_byte(rp, ISSUE_STRAY);
    }
}

static void step_key(repairer *rp)
{
    switch (rp->text[rp->pos]) {
    case '}':
    case ']': close_at(rp); return;
    case ',':
        if (rp->comma_in == NOWHERE) rp->comma_in = rp->pos;
        drop_byte(rp, ISSUE_COMMA_EXTRA);
        return;
    case '{': take_brace_for_key(rp); return;
    case '[': drop_byte(rp, ISSUE_STRAY); return;
    default: take_key(rp); return;
    }
}

/* A string in an array turns out to be a key: the array's end is missing. One in an object: the `{`. */
static void reread_as_key(repairer *rp)
{
    if (!repair_in_array(rp)) {
        repair_note(rp, ISSUE_OPEN_MISSING, rp->pos);
        if (rp->depth < HD_JSON_REPAIR_DEPTH) {
            push(rp, IN_OBJECT);
        } else {
            rp->pos++; /* as bare text, which includes all of it */
            if (repair_bare_text(rp) == STRING_DONE) end_member(rp);
        }
        return;
    }
    repair_note(rp, ISSUE_CLOSE_MISSING, rp->pos);
    bool had_comma = rp->comma_out != NOWHERE;
    while (repair_in_array(rp)) pop(rp);
    if (had_comma) {
        rp->issues[ISSUE_COMMA_EXTRA].count--; /* it is the object's */
        put_comma(rp);
        rp->pos--;
    } else {
        add_comma(rp);
    }
}

/* One broken byte before a container: x{"key": or x[1 */
static bool is_junk_before_container(repairer *rp)
{
    int open = look_at(rp, rp->pos + 1);
    size_t p = look_space(rp, rp->pos + 2);
    if (open == '[') return look_value_start(rp, p) || look_at(rp, p) == ']';
    return open == '{' && (look_member(rp, p) || look_at(rp, p) == '}');
}

static void take_scalar(repairer *rp)
{
    unsigned char c = rp->text[rp->pos];
    string_outcome outcome = STRING_DONE;
    if (c == '"' || c == '\'') {
        rp->token_in = NOWHERE;
        outcome = repair_string(rp);
    } else if (is_junk_before_container(rp)) {
        drop_byte(rp, ISSUE_STRAY);
        return;
    } else if (!repair_token(rp)) {
        if (rp->starved) return;
        rp->token_in = NOWHERE;
        outcome = repair_bare_text(rp);
    } else if (rp->pos == rp->size) {
        return;
    }
    if (outcome == STRING_AS_KEY) {
        reread_as_key(rp);
    } else if (outcome == STRING_DONE) {
        end_member(rp);
    }
}

/* At a closer in place of a value, with the value after it. */
static bool is_before_value(repairer *rp)
{
    unsigned char c = rp->text[rp->pos];
    size_t p = look_space(rp, rp->pos + 1);
    return (c == '}' || c == ']') && look_at(rp, p) != LOOK_EOF && look_value_start(rp, p);
}

static void step_value(repairer *rp)
{
    unsigned char c = rp->text[rp->pos];
    bool in_array = repair_in_array(rp);
    if (c == '{' || c == '[') {
        rp->pos++;
        push(rp, c == '[' ? IN_ARRAY : IN_OBJECT);
    } else if (in_array && (c == ']' || c == '}')) {
        close_at(rp);
    } else if (c == ',' && in_array) {
        drop_byte(rp, ISSUE_COMMA_EXTRA);
    } else if (c != ',' && is_before_value(rp)) {
        drop_byte(rp, ISSUE_STRAY);
    } else if (c == ',' || c == '}' || c == ']') {
        repair_note(rp, ISSUE_VALUE_MISSING, rp->pos);
        repair_put(rp, "null", 4);
        rp->token_in = NOWHERE;
        end_member(rp);
    } else if (c == ':') {
        drop_byte(rp, ISSUE_COLON);
    } else {
        take_scalar(rp);
    }
}

static void step_after(repairer *rp)
{
    unsigned char c = rp->text[rp->pos];
    bool in_array = repair_in_array(rp);
    if (c == ',') {
        put_comma(rp);
    } else if (c == '}' || c == ']') {
        close_at(rp);
    } else if (c == '{' && !in_array && look_event(rp, rp->pos) && look_next_event(rp, rp->pos)) {
        finish_before(rp, rp->pos);
    } else if (!in_array && c == '{' && look_member(rp, look_space(rp, rp->pos + 1))) {
        repair_note(rp, ISSUE_COMMA_MISSING, rp->pos);
        put_comma(rp);
    } else if (in_array ? look_value_start(rp, rp->pos) : c == '"' && look_member(rp, rp->pos)) {
        add_comma(rp);
    } else if (!(is_number_char(c) && amend_token(rp))) {
        drop_byte(rp, ISSUE_STRAY);
    }
}

static void step(repairer *rp)
{
    copy_space(rp);
    if (look_at(rp, rp->pos) == LOOK_EOF) {
        if (rp->is_final) finish_truncated(rp);
        return;
    }
    switch (rp->state) {
    case AT_KEY: step_key(rp); return;
    case AT_VALUE: step_value(rp); return;
    case AT_AFTER: step_after(rp); return;
    }
}

static void begin_event(repairer *rp)
{
    rp->comma_in = rp->comma_out = rp->token_in = NOWHERE;
    rp->r->size = 0;
    rp->pos = rp->text[0] == '{';
    if (rp->pos == 0) repair_note(rp, ISSUE_OPEN_MISSING, 0);
    push(rp, IN_OBJECT);
    size_t key = look_space(rp, rp->pos) + 1, p = key;
    if (look_at(rp, key - 1) != '"') return;
    while (p < key + 64 && look_at(rp, p) > 0x1F && look_at(rp, p) != '"') p++;
    if (p == key + 64 || look_at(rp, p) != '"') return;
    rp->first_key = key;
    rp->first_key_size = p - key;
    rp->seen = 1u << 1;
}

static void list_issues(const repairer *rp, hd_json_repair *r)
{
    r->issue_count = 0;
    for (size_t code = 0; code < HD_JSON_ISSUE_CODES; code++) {
        hd_json_issue issue = {issue_names[code], rp->issues[code].offset, rp->issues[code].count};
        if (issue.count == 0) continue;
        size_t i = r->issue_count++;
        for (; i > 0 && r->issues[i - 1].offset > issue.offset; i--) r->issues[i] = r->issues[i - 1];
        r->issues[i] = issue;
    }
}

hd_ledger_level hd_json_issue_level(const hd_json_issue *issue)
{
    return strcmp(issue->code, HD_JSON_TRUNCATED) == 0 ? HD_LEDGER_LOSS : HD_LEDGER_REPAIR;
}

hd_status hd_json_repair_object(hd_repair_outcome *out_outcome, size_t *out_consumed, hd_json_repair *r,
                                const char *text, size_t size, bool is_final, hd_error *err)
{
    *out_consumed = 0;
    *out_outcome = is_final ? HD_REPAIR_HOPELESS : HD_REPAIR_NEED_MORE;
    r->size = r->issue_count = 0;
    if (size == 0) return HD_OK;
    repairer rp = {.r = r, .text = (const unsigned char *)text, .size = size, .is_final = is_final};
    begin_event(&rp);
    while (!rp.finished && !rp.starved && !rp.no_memory) step(&rp);
    if (rp.no_memory) return HD_NOMEM(err);
    if (rp.starved) {
        *out_outcome = HD_REPAIR_NEED_MORE;
        return HD_OK;
    }
    list_issues(&rp, r);
    *out_consumed = rp.consumed;
    *out_outcome = rp.members > 0 || r->issue_count == 0 ? HD_REPAIR_DONE : HD_REPAIR_HOPELESS;
    if (*out_outcome == HD_REPAIR_HOPELESS) r->size = 0;
    return HD_OK;
}
