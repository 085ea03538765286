/* elements.c - reads consecutive elements of an array of events, and repairs broken ones
 *
 * An event that the strict parser rejects goes to the repairer, and the repaired text is parsed instead. Every change
 * is recorded in the ledger and, if sources are requested, as a patch of the input's text.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/chrome/chrome.h"
#include "format/chrome/loose.h"

int chrome_find_event_key(const char *key, size_t size)
{
    static const char *const keys[] = {"ph",     "name",  "cat",  "ts",    "dur",     "pid",     "tid",     "args",
                                       "id",     "id2",   "tdur", "bp",    "s",       "sf",      "esf",     "stack",
                                       "estack", "cname", "tts",  "scope", "bind_id", "flow_in", "flow_out"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strlen(keys[i]) == size && memcmp(key, keys[i], size) == 0) return (int)i + 1;
    }
    return 0;
}

void chrome_note(chrome_parser *parser, const char *code, hd_ledger_level level, uint64_t count, uint64_t offset)
{
    for (size_t i = 0; i < parser->issue_count; i++) {
        chrome_issue *issue = &parser->issues[i];
        if (issue->code != code && strcmp(issue->code, code) != 0) continue;
        issue->count += count;
        if (offset < issue->first_offset) issue->first_offset = offset;
        return;
    }
    if (!hd_grow((void **)&parser->issues, &parser->issue_capacity, parser->issue_count, sizeof *parser->issues))
        return; /* the allocation that follows will say so */
    parser->issues[parser->issue_count++] = (chrome_issue){code, level, count, offset};
}

hd_status chrome_refuse(hd_error *err, const char *code, uint64_t offset)
{
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, offset, "%s: the JSON is broken here, and --strict refuses repairs",
                        code);
}

/* Damage at an offset; false: repairs are refused, or no memory. */
static bool mend(chrome_parser *parser, const char *code, hd_ledger_level level, uint64_t offset, uint64_t size,
                 const char *text, size_t text_size)
{
    if (parser->strict) {
        chrome_refuse(&parser->error, code, offset);
        return false;
    }
    if (code) chrome_note(parser, code, level, 1, offset);
    if (!parser->want_sources) return true;
    hd_source_patch *last = parser->patch_count ? &parser->patches[parser->patch_count - 1] : NULL;
    if (last && !text_size && last->text == HD_STRING_NONE && last->offset + last->size == offset) {
        last->size += size; /* extends the same hole */
        return true;
    }
    uint32_t id = text_size ? hd_builder_intern(parser->builder, text, text_size) : HD_STRING_NONE;
    if ((text_size && !id) ||
        !hd_grow((void **)&parser->patches, &parser->patch_capacity, parser->patch_count, sizeof *parser->patches)) {
        HD_NOMEM(&parser->error);
        return false;
    }
    parser->patches[parser->patch_count++] = (hd_source_patch){offset, size, id};
    return true;
}

/* ---- boundaries ---- */

static size_t skip_space_back(const char *text, size_t at)
{
    while (at > 0 && hd_json_is_space(text[at - 1])) at--;
    return at;
}

/* Do members with "ph" begin at p? *out_seen: how far it looked at most. */
static bool has_phase(const char **out_seen, const char *p, const char *end)
{
    while (*p == '"' && p < end) {
        hd_json_text key;
        *out_seen = end;
        p = hd_json_string(&key, p + 1);
        if (!p) return false;
        if (key.size == 2 && memcmp(key.data, "ph", 2) == 0) return true;
        p = hd_json_skip_space(p);
        if (*p != ':' || !(p = hd_json_skip_value(hd_json_skip_space(p + 1)))) return false;
        p = hd_json_skip_space(p);
        *out_seen = p;
        if (*p != ',') return false;
        p = hd_json_skip_space(p + 1);
    }
    return false;
}

/* A `{` preceded by `}` `,` and followed by members with "ph": a guess that the reader verifies. */
size_t chrome_find_last_boundary(size_t *out_comma, const char *text, size_t size)
{
    size_t at = size, looked = 0;
    while (looked <= size) {
        const char *brace = memrchr(text, '{', at);
        if (!brace) return 0;
        at = (size_t)(brace - text);
        size_t comma = skip_space_back(text, at);
        looked += 16 + at - comma;
        if (comma == 0 || text[--comma] != ',') continue;
        size_t before = skip_space_back(text, comma);
        looked += comma - before;
        if (before == 0 || text[before - 1] != '}') continue;
        const char *seen = brace;
        *out_comma = comma;
        if (has_phase(&seen, hd_json_skip_space(brace + 1), text + size)) return at;
        looked += (size_t)(seen - brace);
    }
    return 0;
}

/* ---- elements ---- */

/* Where the elements are being read. */
typedef struct place {
    chrome_parser *parser;
    const chrome_span *span;
    const char *p, *end;
    bool after_value;
    bool added_comma; /* before the element at p */
    uint64_t comma;   /* offset of the last comma */
} place;

static uint64_t offset_of(const place *at, const char *p)
{
    return at->span->offset + (uint64_t)(p - at->span->data);
}

typedef enum step { STEP_ON, STEP_NEED_MORE, STEP_CLOSED, STEP_STOPPED } step;

/* An element that is not an event: kept as its JSON text. */
static bool add_raw(chrome_parser *parser, const char *text, size_t size, uint64_t offset)
{
    hd_row row = hd_row_of(HD_KIND_OTHER, 0);
    row.shape = hd_builder_raw_shape(parser->builder);
    if (parser->want_sources) {
        row.source_offset = offset;
        row.source_size = (uint32_t)size;
    }
    parser->values[0] = hd_builder_intern(parser->builder, text, size);
    if (parser->values[0] && hd_batch_add(parser->batch, &row, parser->values, &parser->error) == HD_OK) return true;
    HD_NOMEM(&parser->error);
    return false;
}

static step parse_repaired(place *at, const char *start, size_t consumed)
{
    chrome_parser *parser = at->parser;
    hd_json_repair *r = &parser->repair;
    const char *end;
    if (!hd_reserve(&parser->padded, &parser->padded_capacity, r->size + HD_JSON_PADDING)) {
        HD_NOMEM(&parser->error);
        return STEP_STOPPED;
    }
    memcpy(parser->padded, r->text, r->size);
    memset(parser->padded + r->size, 0, HD_JSON_PADDING);
    uint64_t offset = offset_of(at, start);
    chrome_outcome outcome = chrome_parse_event(&end, parser, parser->padded, offset, (uint32_t)consumed);
    if (outcome == CHROME_FAILED) return STEP_STOPPED;
    if (outcome == CHROME_BAD) { /* valid for the repairer and not for the parser: kept as text */
        if (!add_raw(parser, r->text, r->size, offset)) return STEP_STOPPED;
        chrome_note(parser, "chrome.event-not-understood", HD_LEDGER_NOTE, 1, offset);
    }
    return mend(parser, NULL, HD_LEDGER_REPAIR, offset, consumed, parser->padded, r->size) ? STEP_ON : STEP_STOPPED;
}

static void take_back_comma(place *at)
{
    for (size_t i = 0; i < at->parser->issue_count; i++) {
        chrome_issue *issue = &at->parser->issues[i];
        if (strcmp(issue->code, "json.comma-missing") != 0) continue;
        if (--issue->count == 0) issue->first_offset = HD_OFFSET_NONE;
    }
    if (at->parser->want_sources) at->parser->patch_count--;
    at->after_value = true;
}

/* An event the strict parser refused, or bytes that are not elements at all. */
static step repair_element(place *at)
{
    chrome_parser *parser = at->parser;
    hd_repair_outcome outcome;
    size_t consumed;
    const char *start = at->p;
    if (!at->span->is_final && hd_json_is_cut(start, at->end)) return STEP_NEED_MORE;
    if (hd_json_repair_object(&outcome, &consumed, &parser->repair, start, (size_t)(at->end - start),
                              at->span->is_final, &parser->error) != HD_OK)
        return STEP_STOPPED;
    if (outcome == HD_REPAIR_NEED_MORE) return STEP_NEED_MORE;
    uint64_t offset = offset_of(at, start);
    if (parser->strict) {
        mend(parser, parser->repair.issue_count ? parser->repair.issues[0].code : "json.invalid", HD_LEDGER_REPAIR,
             offset + (parser->repair.issue_count ? parser->repair.issues[0].offset : 0), 0, NULL, 0);
        return STEP_STOPPED;
    }
    at->p = start + consumed;
    if (outcome == HD_REPAIR_HOPELESS && at->added_comma) take_back_comma(at);
    for (size_t i = 0; i < parser->repair.issue_count; i++) {
        const hd_json_issue *issue = &parser->repair.issues[i];
        chrome_note(parser, issue->code, hd_json_issue_level(issue), issue->count, offset + issue->offset);
    }
    if (outcome == HD_REPAIR_HOPELESS) /* the comma or bracket after it decides about the commas */
        return mend(parser, *start == '{' ? "chrome.event-lost" : "json.garbage", HD_LEDGER_LOSS, offset, consumed,
                    NULL, 0)
                   ? STEP_ON
                   : STEP_STOPPED;
    at->after_value = !at->span->lines;
    return parse_repaired(at, start, consumed);
}

/* A string, number, literal or array where an event should be. */
static step parse_other_element(place *at)
{
    const char *end = hd_json_skip_value(at->p);
    if (!end || end > at->end) return repair_element(at);
    if (end == at->end && !at->span->is_final) return STEP_NEED_MORE;
    if (!add_raw(at->parser, at->p, (size_t)(end - at->p), offset_of(at, at->p))) return STEP_STOPPED;
    chrome_note(at->parser, CHROME_NOT_AN_EVENT, HD_LEDGER_NOTE, 1, offset_of(at, at->p));
    at->p = end;
    at->after_value = !at->span->lines;
    return STEP_ON;
}

static step parse_element(place *at)
{
    at->added_comma = at->after_value;
    if (at->after_value && !mend(at->parser, "json.comma-missing", HD_LEDGER_REPAIR, offset_of(at, at->p), 0, ",", 1))
        return STEP_STOPPED;
    at->after_value = false;
    if (HD_UNLIKELY(*at->p != '{')) return parse_other_element(at);
    const char *end;
    chrome_outcome outcome = chrome_parse_event(&end, at->parser, at->p, offset_of(at, at->p), 0);
    if (HD_UNLIKELY(outcome == CHROME_FAILED)) return STEP_STOPPED;
    if (HD_UNLIKELY(outcome == CHROME_BAD)) return repair_element(at);
    at->p = end;
    at->after_value = !at->span->lines;
    return STEP_ON;
}

static bool take_comma(place *at)
{
    uint64_t offset = offset_of(at, at->p);
    at->p++;
    if (at->after_value) {
        at->after_value = false;
        at->comma = offset;
        return true;
    }
    return mend(at->parser, "json.comma-extra", HD_LEDGER_REPAIR, offset, 1, NULL, 0);
}

/* At the `]`, or at the end of an input without one: a preceding comma is superfluous. */
static bool drop_trailing_comma(place *at)
{
    if (at->after_value || at->comma == HD_OFFSET_NONE) return true;
    uint64_t comma = at->comma;
    at->comma = HD_OFFSET_NONE;
    return mend(at->parser, "json.comma-trailing", HD_LEDGER_REPAIR, comma, 1, NULL, 0);
}

static const char *skip_closers(const char *p)
{
    while (*p == ']' || *p == '}' || hd_json_is_space(*p)) p++;
    return p;
}

/* The true end of the array, and the members and bracket after it, are never followed by a comma and an event. So the
 * `]` at p may belong to an event that broke apart: then returns the comma before the next event, else NULL. */
static const char *skip_stray_close(const char *p, const char *limit)
{
    for (p = skip_closers(p); p < limit && (*p == ',' || *p == '"'); p = skip_closers(p)) {
        hd_json_text key;
        const char *comma = p;
        p = hd_json_skip_space(p + (*p == ','));
        if (*p == '{') {
            p = hd_json_skip_space(p + 1);
            return *p == '"' && !chrome_loose_events(p, limit) ? comma : NULL; /* or it is another document */
        }
        if (*p != '"' || !(p = hd_json_string(&key, p + 1))) return NULL;
        p = hd_json_skip_space(p);
        if (*p != ':' || !(p = hd_json_skip_value(hd_json_skip_space(p + 1)))) return NULL;
    }
    return NULL;
}

/* At a `]`, or at the key that shows that it is missing. */
static step close_array(place *at)
{
    enum { LOOK_BYTES = 2048 };
    if (*at->p != ']') return drop_trailing_comma(at) ? STEP_CLOSED : STEP_STOPPED;
    bool enough = at->end - at->p >= LOOK_BYTES;
    if (!enough && !at->span->is_final) return STEP_NEED_MORE;
    const char *limit = enough ? at->p + LOOK_BYTES : at->end, *comma = skip_stray_close(at->p, limit);
    if (!comma || comma >= limit) return drop_trailing_comma(at) ? STEP_CLOSED : STEP_STOPPED;
    uint64_t offset = offset_of(at, at->p), size = (uint64_t)(comma - at->p);
    at->p = comma;
    return mend(at->parser, "json.garbage", HD_LEDGER_LOSS, offset, size, NULL, 0) ? STEP_ON : STEP_STOPPED;
}

static chrome_stop read_elements(place *at, size_t max_elements)
{
    for (;;) {
        at->p = hd_json_skip_space(at->p);
        if (at->p >= at->end) {
            if (at->span->is_final && !drop_trailing_comma(at)) return CHROME_STOPPED;
            return CHROME_AT_LIMIT;
        }
        if (*at->p == ',') {
            if (!take_comma(at)) return CHROME_STOPPED;
            continue;
        }
        enum { LONGEST_KEY = 64 };
        if (*at->p == '"' && at->end - at->p < LONGEST_KEY && !at->span->is_final) return CHROME_NEED_MORE;
        /* another array follows one without an end */
        bool is_close = *at->p == ']' || (*at->p == '"' && chrome_loose_events(at->p, at->end));
        bool missing_comma = at->after_value;
        if (!is_close && max_elements == 0) return CHROME_AT_LIMIT;
        switch (is_close ? close_array(at) : parse_element(at)) {
        case STEP_ON: max_elements -= !is_close; break;
        case STEP_CLOSED: return CHROME_AT_CLOSE;
        case STEP_STOPPED: return CHROME_STOPPED;
        case STEP_NEED_MORE: /* it will be read again */
            if (!is_close && missing_comma) take_back_comma(at);
            return CHROME_NEED_MORE;
        }
    }
}

chrome_stop chrome_parse_elements(chrome_parser *parser, const chrome_span *span, size_t *position, bool *after_value,
                                  uint64_t *comma, size_t max_elements)
{
    place at = {
        .parser = parser,
        .span = span,
        .p = span->data + *position,
        .end = span->data + span->size,
        .after_value = *after_value,
        .comma = *comma,
    };
    chrome_stop stop = read_elements(&at, max_elements);
    *position = (size_t)(at.p - span->data);
    *after_value = at.after_value;
    *comma = at.comma;
    return stop;
}
