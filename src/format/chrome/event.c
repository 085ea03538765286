/* event.c - the text of one event -> one row
 *
 * Strict: invalid JSON is CHROME_BAD and goes to the repairer. Members with a column (ph, ts, dur, pid, tid, name, cat,
 * id, id2, bp, args) are stored there; every other member, and one of these with a value that the column cannot
 * represent exactly, becomes a value of HD_SCOPE_EVENT in the event's shape, so that nothing of an event is lost.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/chrome/chrome.h"
#include "heddle/analysis/launches.h"

enum seen {
    SEEN_PH = 1,
    SEEN_TS = 2,
    SEEN_DUR = 4,
    SEEN_PID = 8,
    SEEN_TID = 16,
    SEEN_NAME = 32,
    SEEN_CAT = 64,
    SEEN_ID = 128,
    SEEN_ARGS = 256,
    SEEN_BP = 512,
    SEEN_KEY_ID = 1024, /* SEEN_ID: one of the two has the column */
    SEEN_KEY_ID2 = 2048
};

/* How an event is read a second time. */
enum { COLUMN_DUR, COLUMN_COUNT = 11 };
typedef struct reading {
    bool raw;      /* members that have no column go as text into parser->raw */
    bool is_begin; /* dur has no column, since the end fills it */
    unsigned
        earlier[COLUMN_COUNT]; /* remaining values that a later one of the same key replaces, as in every JSON parser */
} reading;

/* The event being read. */
typedef struct event {
    chrome_parser *parser;
    hd_row row;
    chrome_token pid, tid;
    hd_fixed start_ns, dur_ns;
    uint32_t node, value_count;
    unsigned seen;
    bool has_args, duplicate, too_many, is_nanos;
    reading *again; /* NULL: the first time */
    size_t raw_size;
    const char *args; /* position of args that are read later, if only those of metadata events are requested */
    const char *dur;  /* as it was written, NULL: there is none */
    bool dur_kept;
} event;

/* ---- members that become values ---- */

static inline bool add_value(event *e, uint32_t edge, chrome_value v)
{
    chrome_shapes *shapes = &e->parser->shapes;
    uint32_t node = edge ? shapes->edges[edge].target[v.type] : 0;
    if (HD_UNLIKELY(e->value_count == CHROME_KEY_LIMIT || edge == 0 ||
                    (node == 0 && !(node = chrome_shapes_step(e->parser, e->node, edge, v.type))))) {
        e->too_many = true; /* read again as raw text */
        return false;
    }
    e->node = node;
    e->parser->values[e->value_count++] = v.bits;
    return true;
}

/* Appends the member unchanged to the text of an object. */
static const char *keep_raw(event *e, const hd_json_text *key, const char *p)
{
    chrome_parser *parser = e->parser;
    const char *end = hd_json_skip_value(p);
    if (!end || !hd_reserve(&parser->raw, &parser->raw_capacity, e->raw_size + key->size + (size_t)(end - p) + 5))
        return NULL;
    char *out = parser->raw + e->raw_size;
    *out++ = e->raw_size ? ',' : '{';
    *out++ = '"';
    memcpy(out, key->data, key->size);
    out += key->size;
    *out++ = '"';
    *out++ = ':';
    memcpy(out, p, (size_t)(end - p));
    e->raw_size = (size_t)(out - parser->raw) + (size_t)(end - p);
    return end;
}

/* A member of the event that has no column. */
static const char *parse_field(event *e, const hd_json_text *key, const char *p)
{
    chrome_value v;
    if (!e->parser->want_args) return hd_json_skip_value(p);
    if (HD_UNLIKELY(e->again && e->again->raw)) return keep_raw(e, key, p);
    p = chrome_parse_value(&v, e->parser, p);
    if (p && !e->too_many) add_value(e, chrome_shapes_edge(e->parser, e->node, key, HD_SCOPE_EVENT), v);
    return p;
}

/* p is behind the quote of a key of `args`: the edge, and *out at the key's colon. 0: bad, or too many shapes. */
static inline uint32_t parse_key(const char **out, event *e, const char *p)
{
    const chrome_shapes *shapes = &e->parser->shapes;
    uint32_t index = shapes->nodes[e->node].first_edge;
    const chrome_edge *edge = &shapes->edges[index];
    if (HD_LIKELY(index && ((hd_load64(p) ^ edge->head) & edge->head_mask) == 0 && edge->scope == HD_SCOPE_ARGS &&
                  (edge->key_size < 8 || (edge->key_size < HD_JSON_PADDING && /* nothing beyond is read */
                                          memcmp(p + 8, edge->key + 8, edge->key_size - 7) == 0)))) {
        *out = p + edge->key_size + 1;
        return index;
    }
    hd_json_text key;
    *out = hd_json_string(&key, p);
    if (!*out || (key.wide && !hd_utf8_valid(key.data, key.size, false))) {
        *out = NULL;
        return 0;
    }
    return chrome_shapes_edge(e->parser, e->node, &key, HD_SCOPE_ARGS);
}

static const char *parse_args(event *e, const char *p)
{
    const chrome_shapes *shapes = &e->parser->shapes;
    bool first = true;
    e->has_args = true;
    for (;;) {
        chrome_value v;
        uint32_t edge = shapes->nodes[e->node].first_edge;
        if (HD_LIKELY(chrome_lead_matches(&shapes->edges[edge].lead, p) && (first || *p != '{') && !e->too_many)) {
            p = hd_json_skip_space(p + shapes->edges[edge].lead.size);
        } else {
            const char *from = p;
            p = hd_json_skip_space(p + first);
            if (*p == '}') return p + 1;
            if (!first) {
                if (HD_UNLIKELY(*p != ',')) return NULL;
                p = hd_json_skip_space(p + 1);
            }
            if (HD_UNLIKELY(*p != '"')) return NULL;
            edge = parse_key(&p, e, p + 1);
            if (HD_UNLIKELY(!p)) return NULL;
            p = hd_json_skip_space(p);
            if (HD_UNLIKELY(*p != ':')) return NULL;
            p = hd_json_skip_space(p + 1);
            if (edge) chrome_lead_learn(&shapes->edges[edge].lead, 0, from, p);
        }
        p = chrome_parse_value(&v, e->parser, p);
        if (HD_UNLIKELY(!p)) return NULL;
        if (HD_LIKELY(!e->too_many)) add_value(e, edge, v);
        first = false;
    }
}

/* ---- members with a column ---- */

/* Unix time in nanoseconds, where microseconds would be beyond any date: mcTracer of MetaX. Returns the position after
 * it, or NULL. */
static const char *parse_nanos(hd_fixed *ns, const char *p)
{
    const int64_t year_2001 = 1000000000000000000;
    const char *end = hd_json_skip_number(p);
    *ns = (hd_fixed){0};
    return end && hd_fixed_parse_whole(&ns->whole, p, (size_t)(end - p)) && ns->whole >= year_2001 ? end : NULL;
}

/* ts or dur. If the columns cannot reproduce the digits, the original text is kept, too. */
static const char *parse_time(hd_fixed *ns, bool *kept, event *e, const hd_json_text *key, const char *p)
{
    bool plain;
    const char *end = chrome_parse_micros(ns, &plain, p);
    bool known = end && ns->whole != HD_NO_TIME;
    *kept = !(known && plain);
    if (HD_LIKELY(!*kept)) return end;
    if (*p == '"') {
        hd_json_text text;
        known = hd_json_string(&text, p + 1) && chrome_micros_of_text(ns, text.data, text.size);
    }
    if (!known && ns == &e->start_ns && (end = parse_nanos(ns, p)) != NULL) {
        e->is_nanos = true;
        *kept = false;
        return end;
    }
    if (!known) *ns = (hd_fixed){.whole = HD_NO_TIME};
    return parse_field(e, key, p);
}

static const char *parse_token(chrome_token *out, event *e, const hd_json_text *key, const char *p)
{
    if (*p == '"') {
        hd_json_text text;
        const char *end = hd_json_string(&text, p + 1);
        if (!end || (text.wide && !hd_utf8_valid(text.data, text.size, false))) return NULL;
        *out = (chrome_token){text.data, (uint32_t)text.size, HD_IDENT_STRING};
        return end;
    }
    if (hd_json_is_digit(*p) || *p == '-') {
        hd_json_number n;
        const char *end = hd_json_scan_number(&n, p);
        if (!end) return NULL;
        *out = (chrome_token){p, (uint32_t)(end - p), HD_IDENT_NUMBER};
        return end;
    }
    return parse_field(e, key, p);
}

static bool id_of(event *e, chrome_value v, uint32_t flags)
{
    switch (v.type) {
    case HD_ARG_INT: e->row.id_type = HD_ID_INT | flags; break;
    case HD_ARG_STRING: e->row.id_type = HD_ID_STRING | flags; break;
    case HD_ARG_DECIMAL:
    default: return false;
    case HD_ARG_NUMBER: e->row.id_type = HD_ID_NUMBER | flags; break;
    }
    e->row.id = v.bits;
    return true;
}

static const char *parse_id(event *e, const hd_json_text *key, const char *p)
{
    chrome_value v;
    if (e->seen & SEEN_ID || (*p != '"' && *p != '-' && !hd_json_is_digit(*p))) return parse_field(e, key, p);
    const char *end = chrome_parse_value(&v, e->parser, p);
    if (!end) return NULL;
    e->seen |= SEEN_ID;
    return id_of(e, v, 0) ? end : parse_field(e, key, p);
}

/* {"local": …} or {"global": …} */
static const char *parse_id2(event *e, const hd_json_text *key, const char *p)
{
    hd_json_text scope;
    chrome_value v;
    if (e->seen & SEEN_ID || *p != '{') return parse_field(e, key, p);
    const char *q = hd_json_skip_space(p + 1);
    if (*q != '"' || !(q = hd_json_string(&scope, q + 1))) return parse_field(e, key, p);
    q = hd_json_skip_space(q);
    bool local = scope.size == 5 && memcmp(scope.data, "local", 5) == 0;
    bool global = scope.size == 6 && memcmp(scope.data, "global", 6) == 0;
    if (*q != ':' || !(local || global)) return parse_field(e, key, p);
    q = hd_json_skip_space(q + 1);
    if (*q == '{' || *q == '[' || !(q = chrome_parse_value(&v, e->parser, q))) return parse_field(e, key, p);
    q = hd_json_skip_space(q);
    if (*q != '}' || !id_of(e, v, local ? HD_ID_LOCAL : HD_ID_GLOBAL)) return parse_field(e, key, p);
    e->seen |= SEEN_ID;
    return q + 1;
}

static const char *parse_text(uint32_t *out, event *e, const hd_json_text *key, const char *p)
{
    hd_json_text text;
    if (HD_UNLIKELY(*p != '"')) return parse_field(e, key, p);
    p = hd_json_string(&text, p + 1);
    if (HD_UNLIKELY(!p)) return NULL;
    *out = chrome_intern(e->parser, &text);
    return *out ? p : NULL;
}

/* The first character of a string, if it is printable: returns the position after the string, else NULL. *alone: the
 * string has no other character. */
static const char *parse_first_letter(char *out, bool *alone, event *e, const char *p)
{
    hd_json_text text;
    size_t size;
    if (*p != '"' || !(p = hd_json_string(&text, p + 1)) ||
        !hd_reserve(&e->parser->scratch, &e->parser->scratch_capacity, text.size) ||
        !hd_json_decode(e->parser->scratch, &size, &text) || size == 0)
        return NULL;
    *out = e->parser->scratch[0];
    *alone = size == 1;
    return *out > ' ' && *out < 0x7f ? p : NULL;
}

/* Chrome and Perfetto use only the first character; a longer text is kept unchanged, too. */
static const char *parse_phase(event *e, const hd_json_text *key, const char *p)
{
    char c = p[1];
    bool alone = true;
    const char *end = p + 3;
    if (HD_UNLIKELY(p[0] != '"' || c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || p[2] != '"')) {
        end = parse_first_letter(&c, &alone, e, p);
        if (!end) return parse_field(e, key, p);
    }
    e->row.phase = (e->row.phase & ~(uint32_t)HD_PHASE_MASK) | (unsigned char)c;
    return alone ? end : parse_field(e, key, p);
}

static const char *parse_bind(event *e, const hd_json_text *key, const char *p)
{
    char c;
    bool alone;
    const char *end = p + 3;
    if (HD_LIKELY(p[0] == '"' && p[1] == 'e' && p[2] == '"'))
        c = 'e', alone = true;
    else
        end = parse_first_letter(&c, &alone, e, p);
    if (!end || !alone || c != 'e') return parse_field(e, key, p);
    e->row.phase |= HD_FLAG_BIND_ENCLOSING;
    return end;
}

static const char *parse_args_member(event *e, const hd_json_text *key, const char *p)
{
    if (*p != '{' || (e->again && e->again->raw && e->parser->want_args)) return parse_field(e, key, p);
    if (e->parser->want_args) return parse_args(e, p);
    e->args = p;
    return hd_json_skip_value(p);
}

static inline const char *mark(event *e, unsigned bit, const char *p)
{
    e->duplicate |= (e->seen & bit) != 0;
    e->seen |= bit;
    return p;
}

static inline bool key_is(const hd_json_text *key, const char *name, size_t size)
{
    return key->size == size && memcmp(key->data, name, size) == 0;
}

static const hd_json_text member_keys[CHROME_M_COUNT] = {
    [CHROME_M_PH] = {"ph", 2, false, false},     [CHROME_M_TS] = {"ts", 2, false, false},
    [CHROME_M_ID] = {"id", 2, false, false},     [CHROME_M_BP] = {"bp", 2, false, false},
    [CHROME_M_CAT] = {"cat", 3, false, false},   [CHROME_M_PID] = {"pid", 3, false, false},
    [CHROME_M_TID] = {"tid", 3, false, false},   [CHROME_M_DUR] = {"dur", 3, false, false},
    [CHROME_M_ID2] = {"id2", 3, false, false},   [CHROME_M_NAME] = {"name", 4, false, false},
    [CHROME_M_ARGS] = {"args", 4, false, false},
};

static int column_of(const hd_json_text *key)
{
    static const char *const names[COLUMN_COUNT] = {"dur", "ph",   "ts", "pid", "tid", "name",
                                                    "cat", "args", "bp", "id",  "id2"};
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (key_is(key, names[i], strlen(names[i]))) return i;
    }
    return -1;
}

/* A member without a column when the event is read again: returns the position after it, else NULL. */
static const char *set_aside(event *e, const hd_json_text *key, const char *p)
{
    int column = column_of(key);
    if (column >= 0 && e->again->earlier[column]) {
        e->again->earlier[column]--;
        return hd_json_skip_value(p);
    }
    return column == COLUMN_DUR && e->again->is_begin ? parse_field(e, key, p) : NULL;
}

static chrome_member member_of(const hd_json_text *key)
{
    for (int member = CHROME_M_START + 1; member < CHROME_M_OTHER; member++) {
        if (key_is(key, member_keys[member].data, member_keys[member].size)) return (chrome_member)member;
    }
    return CHROME_M_OTHER;
}

static inline const char *parse_member(event *e, chrome_member member, const hd_json_text *key, const char *p)
{
    bool kept;
    const char *end = HD_UNLIKELY(e->again != NULL) ? set_aside(e, key, p) : NULL;
    if (HD_UNLIKELY(end)) return end;
    switch (member) {
    case CHROME_M_PH: return parse_phase(e, key, mark(e, SEEN_PH, p));
    case CHROME_M_TS: return parse_time(&e->start_ns, &kept, e, key, mark(e, SEEN_TS, p));
    case CHROME_M_ID: return parse_id(e, key, mark(e, SEEN_KEY_ID, p));
    case CHROME_M_BP: return parse_bind(e, key, mark(e, SEEN_BP, p));
    case CHROME_M_CAT: return parse_text(&e->row.category, e, key, mark(e, SEEN_CAT, p));
    case CHROME_M_PID: return parse_token(&e->pid, e, key, mark(e, SEEN_PID, p));
    case CHROME_M_TID: return parse_token(&e->tid, e, key, mark(e, SEEN_TID, p));
    case CHROME_M_DUR: e->dur = p; return parse_time(&e->dur_ns, &e->dur_kept, e, key, mark(e, SEEN_DUR, p));
    case CHROME_M_ID2: return parse_id2(e, key, mark(e, SEEN_KEY_ID2, p));
    case CHROME_M_NAME: return parse_text(&e->row.name, e, key, mark(e, SEEN_NAME, p));
    case CHROME_M_ARGS: return parse_args_member(e, key, mark(e, SEEN_ARGS, p));
    default: return parse_field(e, key, p);
    }
}

/* ---- the track ---- */

static hd_ident ident_of(chrome_parser *parser, const chrome_token *token)
{
    hd_ident ident = {.type = token->type};
    if (token->type == HD_IDENT_NUMBER) ident.text = hd_builder_intern(parser->builder, token->data, token->size);
    if (token->type == HD_IDENT_STRING) {
        bool escaped = memchr(token->data, '\\', token->size) != NULL;
        hd_json_text text = {token->data, token->size, escaped, escaped};
        ident.text = chrome_intern(parser, &text);
    }
    return ident;
}

static uint32_t track_of(event *e)
{
    chrome_parser *parser = e->parser;
    const chrome_token *pid = &e->pid, *tid = &e->tid;
    bool small = pid->size <= CHROME_TOKEN_LIMIT && tid->size <= CHROME_TOKEN_LIMIT;
    chrome_track_entry *entry = NULL;
    if (HD_LIKELY(small)) {
        uint64_t hash = hd_hash_pair(hd_hash(pid->data, pid->size), hd_hash(tid->data, tid->size));
        entry = &parser->tracks[(hash >> 32) % CHROME_TRACK_CACHE];
        if (HD_LIKELY(entry->used && entry->pid_size == pid->size && entry->tid_size == tid->size &&
                      entry->pid_type == pid->type && entry->tid_type == tid->type &&
                      memcmp(entry->pid, pid->data, pid->size) == 0 && memcmp(entry->tid, tid->data, tid->size) == 0))
            return entry->track;
    }
    bool of_process = tid->type == HD_IDENT_NONE && pid->type != HD_IDENT_NONE;
    const hd_ident pid_ident = ident_of(parser, pid); /* names in one order */
    uint32_t track = hd_builder_track(parser->builder, pid_ident, ident_of(parser, tid), of_process);
    if (!small) return track;
    *entry = (chrome_track_entry){
        .pid_size = (uint8_t)pid->size,
        .tid_size = (uint8_t)tid->size,
        .pid_type = (uint8_t)pid->type,
        .tid_type = (uint8_t)tid->type,
        .used = true,
        .track = track,
    };
    memcpy(entry->pid, pid->data, pid->size);
    memcpy(entry->tid, tid->data, tid->size);
    return track;
}

/* ---- the event ---- */

/* CUPTI's marker for an activity whose times were not recorded: it has no time, rather than an invalid one. */
static bool is_work_without_time(const event *e)
{
    if (e->seen & SEEN_TS || (e->row.phase & HD_PHASE_MASK) != 'X' || !e->row.category) return false;
    return hd_role_is_work(hd_role_of(hd_builder_string(e->parser->builder, e->row.category), (hd_string){"", 0}));
}

static hd_kind kind_of(const event *e)
{
    static const uint8_t kinds[128] = {
        ['X'] = HD_KIND_SLICE + 1,   ['B'] = HD_KIND_SLICE + 1,   ['E'] = HD_KIND_END + 1,
        ['i'] = HD_KIND_INSTANT + 1, ['I'] = HD_KIND_INSTANT + 1, ['R'] = HD_KIND_INSTANT + 1,
        ['C'] = HD_KIND_COUNTER + 1, ['s'] = HD_KIND_FLOW + 1,    ['t'] = HD_KIND_FLOW + 1,
        ['f'] = HD_KIND_FLOW + 1,    ['b'] = HD_KIND_ASYNC + 1,   ['n'] = HD_KIND_ASYNC + 1,
        ['e'] = HD_KIND_ASYNC + 1,   ['S'] = HD_KIND_ASYNC + 1,   ['T'] = HD_KIND_ASYNC + 1,
        ['F'] = HD_KIND_ASYNC + 1,   ['p'] = HD_KIND_ASYNC + 1,   ['P'] = HD_KIND_SAMPLE + 1,
        ['N'] = HD_KIND_OBJECT + 1,  ['O'] = HD_KIND_OBJECT + 1,  ['D'] = HD_KIND_OBJECT + 1,
        ['M'] = HD_KIND_META + 1,
    };
    uint8_t kind = kinds[e->row.phase & 0x7f];
    if (kind == 0) return HD_KIND_OTHER;
    if (e->row.start_ns != HD_NO_TIME || kind - 1 == HD_KIND_META) return (hd_kind)(kind - 1);
    /* stacks with a weight, as in folded text, are samples without a time; GPU activities are activities */
    if (kind - 1 == HD_KIND_SAMPLE || is_work_without_time(e)) return (hd_kind)(kind - 1);
    return HD_KIND_OTHER;
}

/* Start and end of the row. The sum is exact before it is floored. */
static void set_times(event *e)
{
    hd_row *row = &e->row;
    hd_fixed dur = e->dur_ns;
    row->start_ns = e->start_ns.whole;
    row->start_ps = (uint32_t)(e->start_ns.part / HD_FINER_PER_PS);
    row->start_finer = (uint64_t)e->start_ns.part % HD_FINER_PER_PS;
    if (HD_UNLIKELY(e->is_nanos && e->dur)) {
        const char *end = hd_json_skip_number(e->dur);
        if (!end || !hd_fixed_parse(&dur, e->dur, (size_t)(end - e->dur), 0)) dur.whole = HD_NO_TIME;
    }
    if (!e->dur || dur.whole == HD_NO_TIME) return;
    if (HD_UNLIKELY((row->phase & HD_PHASE_MASK) == 'B')) { /* its end will fill the column */
        const hd_json_text key = {.data = "dur", .size = 3};
        if (!e->dur_kept) parse_field(e, &key, e->dur);
        return;
    }
    int64_t part = e->start_ns.part + dur.part;
    bool carry = part >= HD_FIXED_ONE;
    if (carry) part -= HD_FIXED_ONE;
    row->end_ps = (uint32_t)(part / HD_FINER_PER_PS);
    row->end_finer = (uint64_t)part % HD_FINER_PER_PS;
    if (__builtin_add_overflow(dur.whole, (int64_t)carry, &row->duration_ns)) row->duration_ns = dur.whole;
}

static chrome_outcome failed(chrome_parser *parser, hd_status status)
{
    if (status == HD_ERR_MEMORY) HD_NOMEM(&parser->error);
    return CHROME_FAILED;
}

/* A known key that is written with escapes. */
static void resolve_key(hd_json_text *key, char buffer[24])
{
    size_t size;
    if (key->size > 24 || !hd_json_decode(buffer, &size, key) || size > 4) return;
    for (size_t i = 0; i < size; i++) {
        if ((buffer[i] < 'a' || buffer[i] > 'z') && buffer[i] != '2') return;
    }
    *key = (hd_json_text){.data = buffer, .size = size};
}

static void learn(chrome_parser *parser, chrome_member last, chrome_member member, const char *from, const char *end)
{
    uint8_t *next = &parser->next_lead[last];
    chrome_lead_learn(&parser->leads[last][*next], member, from, end);
    *next = (uint8_t)((*next + 1) % CHROME_LEADS);
}

/* p is behind the value of member `last`, or at the `{`: at the next value, or behind the `}` (member END), or NULL. */
static const char *next_member(chrome_member *out, hd_json_text *key, char buffer[24], chrome_parser *parser,
                               chrome_member last, const char *p)
{
    const char *from = p;
    *out = CHROME_M_END;
    p = hd_json_skip_space(p + (last == CHROME_M_START));
    if (*p == '}') {
        p++;
        if (last != CHROME_M_START) learn(parser, last, CHROME_M_END, from, p);
        return p;
    }
    if (last != CHROME_M_START) {
        if (HD_UNLIKELY(*p != ',')) return NULL;
        p = hd_json_skip_space(p + 1);
    }
    if (HD_UNLIKELY(*p != '"')) return NULL;
    p = hd_json_string(key, p + 1);
    if (HD_UNLIKELY(!p || (key->wide && !hd_utf8_valid(key->data, key->size, false)))) return NULL;
    if (HD_UNLIKELY(key->escaped)) resolve_key(key, buffer);
    p = hd_json_skip_space(p);
    if (HD_UNLIKELY(*p != ':')) return NULL;
    p = hd_json_skip_space(p + 1);
    *out = member_of(key);
    if (*out != CHROME_M_OTHER) learn(parser, last, *out, from, p);
    return p;
}

/* Parses the members of the event whose `{` is at start; returns the position after its `}`, or NULL. */
static const char *parse_members(event *e, chrome_parser *parser, const char *start, reading *again)
{
    *e = (event){.parser = parser, .row = hd_row_of(HD_KIND_OTHER, 0), .again = again};
    e->start_ns.whole = HD_NO_TIME;
    e->pid.data = e->tid.data = "";
    const char *p = start;
    for (chrome_member last = CHROME_M_START;;) {
        hd_json_text key;
        char buffer[24];
        const chrome_lead *lead = parser->leads[last];
        chrome_member member;
        if (HD_LIKELY(chrome_lead_matches(lead, p) || chrome_lead_matches(++lead, p) ||
                      chrome_lead_matches(++lead, p))) {
            member = (chrome_member)lead->member;
            p += lead->size;
            if (member == CHROME_M_END) break;
            p = parse_member(e, member, &member_keys[member], hd_json_skip_space(p));
        } else {
            p = next_member(&member, &key, buffer, parser, last, p);
            if (HD_UNLIKELY(!p)) return NULL;
            if (member == CHROME_M_END) break;
            p = parse_member(e, member, &key, p);
        }
        if (HD_UNLIKELY(!p)) return NULL;
        last = member;
    }
    if (e->args && (e->row.phase & HD_PHASE_MASK) == 'M') {
        const hd_json_text key = {.data = "args", .size = 4};
        if (!(again && again->raw ? keep_raw(e, &key, e->args) : parse_args(e, e->args))) return NULL;
    }
    set_times(e);
    return p;
}

/* HD_NONE: too many shapes or keys, or it is the shape that is used in that case. */
static uint32_t shape_of(event *e)
{
    chrome_parser *parser = e->parser;
    if (HD_UNLIKELY(e->too_many)) return HD_NONE;
    uint32_t replaced, shape = parser->shapes.nodes[e->node].shape[e->has_args];
    if (HD_UNLIKELY(shape == HD_NONE)) {
        shape = chrome_shapes_resolve(&replaced, parser, e->node, e->has_args);
        if (replaced) chrome_note(parser, "json.duplicate-key", HD_LEDGER_LOSS, replaced, e->row.source_offset);
    }
    return HD_LIKELY(shape != hd_builder_raw_shape(parser->builder)) ? shape : HD_NONE;
}

/* The event is valid. false: no memory. */
static bool read_again(event *e, const char *start, bool raw)
{
    reading again = {.raw = raw, .is_begin = raw && (e->row.phase & HD_PHASE_MASK) == 'B'};
    for (const char *p = hd_json_skip_space(start + 1); *p == '"';) {
        hd_json_text key;
        char buffer[24];
        p = hd_json_skip_space(hd_json_string(&key, p + 1));
        if (key.escaped) resolve_key(&key, buffer);
        int column = column_of(&key);
        if (column >= 0) again.earlier[column]++;
        p = hd_json_skip_space(hd_json_skip_value(hd_json_skip_space(p + 1)));
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    for (int i = 0; i < COLUMN_COUNT; i++) again.earlier[i] -= again.earlier[i] > 0;
    bool fine = parse_members(e, e->parser, start, &again) != NULL;
    e->again = NULL;
    return fine;
}

/* The members without a column as one text. */
static bool read_raw(event *e, const char *start, uint64_t source_offset)
{
    chrome_parser *parser = e->parser;
    if (!read_again(e, start, true) || !hd_reserve(&parser->raw, &parser->raw_capacity, e->raw_size + 2)) return false;
    if (e->raw_size == 0) parser->raw[e->raw_size++] = '{';
    parser->raw[e->raw_size++] = '}';
    parser->values[0] = hd_builder_intern(parser->builder, parser->raw, e->raw_size);
    e->row.shape = hd_builder_raw_shape(parser->builder);
    chrome_note(parser, "chrome.raw-arguments", HD_LEDGER_NOTE, 1, source_offset);
    return parser->values[0] != HD_STRING_NONE;
}

static chrome_outcome add_row(event *e)
{
    chrome_parser *parser = e->parser;
    e->row.kind = kind_of(e);
    bool is_timed = e->row.kind != HD_KIND_OTHER && e->row.kind != HD_KIND_SLICE;
    if (!is_timed && e->row.start_ns == HD_NO_TIME && (e->row.phase & HD_PHASE_MASK))
        chrome_note(parser, "chrome.event-without-time", HD_LEDGER_NOTE, 1, e->row.source_offset);
    if (HD_UNLIKELY(e->start_ns.rest || e->dur_ns.rest))
        chrome_note(parser, "chrome.time-cut", HD_LEDGER_NOTE, 1, e->row.source_offset);
    if (HD_UNLIKELY(e->is_nanos)) chrome_note(parser, CHROME_NANOS, HD_LEDGER_NOTE, 1, e->row.source_offset);
    e->row.track = track_of(e);
    if (!parser->want_sources) e->row.source_offset = e->row.source_size = 0;
    hd_status status = hd_batch_add(parser->batch, &e->row, parser->values, &parser->error);
    return status == HD_OK ? CHROME_DONE : failed(parser, status);
}

chrome_outcome chrome_parse_event(const char **out_end, chrome_parser *parser, const char *start,
                                  uint64_t source_offset, uint32_t source_size)
{
    event e;
    const char *end = parse_members(&e, parser, start, NULL);
    if (HD_UNLIKELY(!end)) return CHROME_BAD;
    if (HD_UNLIKELY(e.duplicate)) {
        chrome_note(parser, "json.duplicate-key", HD_LEDGER_LOSS, 1, source_offset);
        if (!read_again(&e, start, false)) return failed(parser, HD_ERR_MEMORY);
    }
    e.row.source_offset = source_offset;
    e.row.shape = shape_of(&e);
    if (HD_UNLIKELY(e.row.shape == HD_NONE) && (parser->error.status != HD_OK || !read_raw(&e, start, source_offset)))
        return failed(parser, HD_ERR_MEMORY);
    e.row.source_offset = source_offset; /* it may have been read again */
    e.row.source_size = source_size ? source_size : (uint32_t)(end - start);
    *out_end = end;
    return add_row(&e);
}
