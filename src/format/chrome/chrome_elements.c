/* chrome_elements.c - the elements of an array of events, one after the other, mended where they are broken
 *
 * An event that the strict parser refuses goes to the repairer, and what comes back is parsed instead. Everything that
 * was changed is noted in the ledger and, if sources are wanted, as a patch of the input's text.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/vector.h"
#include "format/chrome/chrome.h"

void chrome_note(chrome_parser *parser, const char *code, hd_ledger_level level, uint64_t offset)
{
    for (size_t i = 0; i < parser->issue_count; i++) {
        chrome_issue *issue = &parser->issues[i];
        if (issue->code != code && strcmp(issue->code, code) != 0) continue;
        issue->count++;
        if (offset < issue->first_offset) issue->first_offset = offset;
        return;
    }
    if (!hd_grow((void **)&parser->issues, &parser->issue_capacity, parser->issue_count, sizeof *parser->issues))
        return; /* the allocation that follows will say so */
    parser->issues[parser->issue_count++] = (chrome_issue){code, level, 1, offset};
}

/* Damage at an offset; false: repairs are refused, or no memory. */
static bool mend(chrome_parser *parser, const char *code, hd_ledger_level level, uint64_t offset, uint64_t size,
                 const char *text, size_t text_size)
{
    if (parser->strict) {
        hd_error_set(&parser->error, HD_ERR_DAMAGED, NULL, offset, "%s: the JSON is broken here, and --strict refuses repairs",
                     code);
        return false;
    }
    if (code) chrome_note(parser, code, level, offset);
    if (!parser->want_sources) return true;
    uint32_t id = text_size ? hd_builder_intern(parser->builder, text, text_size) : HD_STRING_NONE;
    if ((text_size && !id) ||
        !hd_grow((void **)&parser->patches, &parser->patch_capacity, parser->patch_count, sizeof *parser->patches)) {
        HD_NOMEM(&parser->error);
        return false;
    }
    parser->patches[parser->patch_count++] = (hd_source_patch){offset, size, id};
    return true;
}

/* ---- boundaries ----------------------------------------------------------------------------------------- */

/* Is text[at] the `{` of an element: `}` `,` before it, and members with "ph" behind it? A guess that the reader checks. */
static bool is_boundary(const char *text, size_t size, size_t at)
{
    size_t before = at;
    while (before > 0 && hd_json_is_space(text[before - 1])) before--;
    if (before == 0 || text[--before] != ',') return false;
    while (before > 0 && hd_json_is_space(text[before - 1])) before--;
    if (before == 0 || text[before - 1] != '}') return false;
    const char *p = hd_json_skip_space(text + at + 1);
    while (*p == '"' && p < text + size) {
        hd_json_text key;
        p = hd_json_string(&key, p + 1);
        if (!p) return false;
        if (key.size == 2 && memcmp(key.data, "ph", 2) == 0) return true;
        p = hd_json_skip_space(p);
        if (*p != ':' || !(p = hd_json_skip_value(hd_json_skip_space(p + 1)))) return false;
        p = hd_json_skip_space(p);
        if (*p != ',') return false;
        p = hd_json_skip_space(p + 1);
    }
    return false;
}

enum { BOUNDARY_TRIES = 4096 }; /* an event that long is no boundary worth looking for */

size_t chrome_find_last_boundary(const char *text, size_t size)
{
    size_t at = size;
    for (int tries = 0; tries < BOUNDARY_TRIES; tries++) {
        const char *brace = memrchr(text, '{', at);
        if (!brace) return 0;
        at = (size_t)(brace - text);
        if (is_boundary(text, size, at)) return at;
    }
    return 0;
}

/* ---- elements ------------------------------------------------------------------------------------------- */

/* Where the elements are being read. */
typedef struct place {
    chrome_parser *parser;
    const chrome_span *span;
    const char *p, *end;
    bool after_value;
    uint64_t comma; /* offset of the last comma */
} place;

static uint64_t offset_of(const place *at, const char *p) { return at->span->offset + (uint64_t)(p - at->span->data); }

typedef enum step { STEP_ON, STEP_NEED_MORE, STEP_STOPPED } step;

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
    if (outcome == CHROME_BAD) { /* what the repairer calls valid and the parser does not: kept as text */
        if (chrome_add_raw(parser, r->text, r->size, offset) != CHROME_DONE) return STEP_STOPPED;
        chrome_note(parser, "chrome.event_not_understood", HD_LEDGER_NOTE, offset);
    }
    return mend(parser, NULL, HD_LEDGER_REPAIR, offset, consumed, parser->padded, r->size) ? STEP_ON : STEP_STOPPED;
}

/* An event the strict parser refused, or bytes that are no element at all. */
static step repair_element(place *at)
{
    chrome_parser *parser = at->parser;
    hd_repair_outcome outcome;
    size_t consumed;
    const char *start = at->p;
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
    for (size_t i = 0; i < parser->repair.issue_count; i++) {
        const hd_json_issue *issue = &parser->repair.issues[i];
        for (uint64_t n = 0; n < issue->count; n++)
            chrome_note(parser, issue->code, HD_LEDGER_REPAIR, offset + issue->offset);
    }
    if (outcome == HD_REPAIR_HOPELESS) /* the comma or bracket behind it sees to the commas */
        return mend(parser, *start == '{' ? "chrome.event_lost" : "json.garbage", HD_LEDGER_LOSS, offset, consumed, NULL, 0)
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
    if (chrome_add_raw(at->parser, at->p, (size_t)(end - at->p), offset_of(at, at->p)) != CHROME_DONE) return STEP_STOPPED;
    chrome_note(at->parser, "chrome.not_an_event", HD_LEDGER_NOTE, offset_of(at, at->p));
    at->p = end;
    at->after_value = !at->span->lines;
    return STEP_ON;
}

static void take_back_comma(place *at)
{
    for (size_t i = 0; i < at->parser->issue_count; i++) {
        if (strcmp(at->parser->issues[i].code, "json.missing_comma") == 0) at->parser->issues[i].count--;
    }
    if (at->parser->want_sources) at->parser->patch_count--;
    at->after_value = true;
}

static step parse_element(place *at)
{
    if (at->after_value && !mend(at->parser, "json.missing_comma", HD_LEDGER_REPAIR, offset_of(at, at->p), 0, ",", 1))
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
    return mend(at->parser, "json.extra_comma", HD_LEDGER_REPAIR, offset, 1, NULL, 0);
}

/* At the `]`, or where the input ends without one: a comma before it is one too many. */
static bool drop_trailing_comma(place *at)
{
    if (at->after_value || at->comma == HD_OFFSET_NONE) return true;
    uint64_t comma = at->comma;
    at->comma = HD_OFFSET_NONE;
    return mend(at->parser, "json.trailing_comma", HD_LEDGER_REPAIR, comma, 1, NULL, 0);
}

static chrome_stop run(place *at, size_t max_elements)
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
        if (*at->p == ']') return drop_trailing_comma(at) ? CHROME_AT_CLOSE : CHROME_STOPPED;
        if (max_elements == 0) return CHROME_AT_LIMIT;
        bool missing_comma = at->after_value;
        switch (parse_element(at)) {
        case STEP_ON: max_elements--; break;
        case STEP_STOPPED: return CHROME_STOPPED;
        case STEP_NEED_MORE: /* it will be read again */
            if (missing_comma) take_back_comma(at);
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
    chrome_stop stop = run(&at, max_elements);
    *position = (size_t)(at.p - span->data);
    *after_value = at.after_value;
    *comma = at.comma;
    return stop;
}
