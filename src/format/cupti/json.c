/* json.c - a JSON object per line
 *
 * A line goes through the strict scanner; if that rejects it, through the repairer, since the known writer does not
 * escape names. A result without a type is not a record, and is counted.
 */
#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "format/cupti/cupti.h"

/* ---- values ---- */

/* The decoded text, interned if it has escapes or non-ASCII bytes. */
static bool decode(hd_string *out, cupti_parser *p, const hd_json_text *text)
{
    *out = (hd_string){text->data, text->size};
    if (HD_LIKELY(!text->escaped && !text->wide)) return true;
    size_t size;
    if (!hd_reserve(&p->scratch, &p->scratch_capacity, text->size + 1)) return false;
    if (!hd_json_decode(p->scratch, &size, text)) return false;
    uint32_t id = hd_builder_intern(p->builder, p->scratch, size);
    *out = hd_builder_string(p->builder, id);
    return id != HD_STRING_NONE;
}

static const char *number(hd_arg_type *type, int64_t *bits, cupti_parser *p, const char *at)
{
    hd_json_number n;
    const char *end = hd_json_scan_number(&n, at);
    if (!end) return NULL;
    if (HD_LIKELY(hd_json_number_whole(bits, &n) && !(n.negative && n.mantissa == 0))) {
        *type = HD_ARG_INT;
    } else if (n.exact && n.mantissa < (uint64_t)1 << 58 && n.scale < 32 && n.scale > 0 && n.mantissa) {
        *type = HD_ARG_DECIMAL;
        *bits = hd_decimal_pack(n.negative ? -(int64_t)n.mantissa : (int64_t)n.mantissa, n.scale);
    } else {
        *type = HD_ARG_NUMBER;
        *bits = hd_builder_intern(p->builder, at, (size_t)(end - at));
    }
    return end;
}

/* {"static":1024,"dynamic":0}: the sum is Kineto's "shared memory". */
static bool shared_memory(cupti_parser *p, const char *at, size_t size)
{
    const char *end = at + size;
    hd_json_number n[2];
    static const char *const parts[] = {"{\"static\":", ",\"dynamic\":"};
    for (int i = 0; i < 2; i++) {
        size_t part = strlen(parts[i]);
        if ((size_t)(end - at) < part || memcmp(at, parts[i], part) != 0) return false;
        at = hd_json_scan_number(&n[i], at + part);
        if (!at || !n[i].exact || n[i].negative || n[i].scale || n[i].mantissa > UINT32_MAX) return false;
    }
    if (at + 1 != end || *at != '}') return false;
    cupti_record_add(p, p->arguments[CUPTI_SHARED], HD_ARG_INT, (int64_t)(n[0].mantissa + n[1].mantissa));
    cupti_record_add(p, p->key_dynamic_shared, HD_ARG_INT, (int64_t)n[1].mantissa);
    return true;
}

static const char *value(cupti_parser *p, cupti_field field, uint32_t key, const char *at)
{
    hd_arg_type type = HD_ARG_NULL;
    int64_t bits = 0;
    hd_string text = {"", 0};
    hd_json_text quoted;
    const char *from = at;
    switch (*at) {
    case '"':
        at = hd_json_string(&quoted, at + 1);
        if (!at || !decode(&text, p, &quoted)) return NULL;
        type = HD_ARG_STRING;
        if (field != CUPTI_TYPE && field != CUPTI_NAME) bits = hd_builder_intern(p->builder, text.data, text.size);
        break;
    case '{':
    case '[':
        at = hd_json_skip_value(at);
        if (!at) return NULL;
        if (field == CUPTI_SHARED && shared_memory(p, from, (size_t)(at - from))) return at;
        type = HD_ARG_JSON;
        bits = hd_builder_intern(p->builder, from, (size_t)(at - from));
        break;
    case 't':
    case 'f':
        type = HD_ARG_BOOL;
        bits = *at == 't';
        at = hd_json_skip_literal(at);
        break;
    case 'n': at = hd_json_skip_literal(at); break;
    default: at = number(&type, &bits, p, at);
    }
    /* a time is a whole number however it is written: 1.7e18 */
    bool timed = field == CUPTI_START || field == CUPTI_END || field == CUPTI_DURATION || field == CUPTI_TIMESTAMP;
    if (at && timed && (type == HD_ARG_NUMBER || type == HD_ARG_DECIMAL) &&
        hd_fixed_parse_whole(&bits, from, (size_t)(at - from)))
        type = HD_ARG_INT;
    return at && cupti_record_set(p, field, key, type, bits, text) ? at : NULL;
}

/* ---- objects ---- */

/* One object that ends exactly at `end`, followed by white space and a NUL. */
static bool object(cupti_parser *p, const char *at, const char *end)
{
    hd_json_text quoted;
    hd_string key;
    if (*at++ != '{') return false;
    for (bool is_first = true;; is_first = false) {
        at = hd_json_skip_space(at);
        if (*at == '}') break;
        if (!is_first) {
            if (*at != ',') return false;
            at = hd_json_skip_space(at + 1);
        }
        if (*at != '"' || at >= end) return false;
        at = hd_json_string(&quoted, at + 1);
        if (!at || !decode(&key, p, &quoted)) return false;
        at = hd_json_skip_space(at);
        if (*at != ':') return false;
        at = hd_json_skip_space(at + 1);
        if (at >= end) return false;
        cupti_field field = cupti_find_field(key.data, key.size);
        uint32_t id = field == CUPTI_OTHER ? hd_builder_intern(p->builder, key.data, key.size) : 0;
        at = value(p, field, id, at);
        if (!at || at >= end) return false;
    }
    return at + 1 == end && p->record.has_type;
}

/* ---- lines ---- */

static bool repair(cupti_parser *p, const char *line, size_t size, hd_error *err)
{
    hd_repair_outcome outcome;
    size_t consumed;
    if (hd_json_repair_object(&outcome, &consumed, &p->repair, line, size, true, err) != HD_OK) return false;
    if (outcome != HD_REPAIR_DONE || consumed < size) return false;
    if (!hd_reserve(&p->padded, &p->padded_capacity, p->repair.size + HD_JSON_PADDING)) return false;
    memcpy(p->padded, p->repair.text, p->repair.size);
    memset(p->padded + p->repair.size, 0, HD_JSON_PADDING);
    cupti_record_begin(p, line, size);
    return object(p, p->padded, p->padded + p->repair.size);
}

static hd_status damaged_line(cupti_parser *p, const char *line, size_t size)
{
    hd_error err = {0};
    if (!repair(p, line, size, &err)) {
        if (err.status) p->error = err;
        if (err.status) return err.status;
        return cupti_note(p, "cupti.line-broken", HD_LEDGER_LOSS, line) ? HD_OK : p->error.status;
    }
    for (size_t i = 0; i < p->repair.issue_count; i++) {
        const hd_json_issue *issue = &p->repair.issues[i];
        if (!cupti_note(p, issue->code, hd_json_issue_level(issue), line + issue->offset)) return p->error.status;
    }
    return cupti_emit(p);
}

static hd_status parse_line(cupti_parser *p, const char *line, const char *end)
{
    while (end > line && hd_json_is_space(end[-1])) end--;
    while (line < end && hd_json_is_space(*line)) line++;
    if (line == end) return HD_OK;
    if (*line != '{') return cupti_note(p, "cupti.line-skipped", HD_LEDGER_NOTE, line) ? HD_OK : p->error.status;
    cupti_record_begin(p, line, (size_t)(end - line));
    if (HD_LIKELY(object(p, line, end))) return cupti_emit(p);
    return damaged_line(p, line, (size_t)(end - line));
}

hd_status cupti_parse_json(cupti_parser *p)
{
    char *at = p->text, *end = p->text + p->size;
    if (p->offset == 0 && p->size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    while (at < end) {
        char *next = memchr(at, '\n', (size_t)(end - at));
        if (next)
            *next = '\0'; /* values do not continue on the next line: otherwise a thousand broken ones would each
                             scan the whole chunk */
        HD_TRY(parse_line(p, at, next ? next : end));
        p->lines += next != NULL;
        at = next ? next + 1 : end;
    }
    return HD_OK;
}
