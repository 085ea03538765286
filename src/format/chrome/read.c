/* read.c - Chrome trace event JSON -> trace
 *
 * Format   "Trace Event Format" (Google), as written by PyTorch Kineto, TensorFlow, JAX, rocprof, Chrome, catapult,
 *          CUPTI injections, Heddle itself; docs/formats/chrome.md has the mapping
 * Sniffs   the first byte that is not a space or comment: `{` or `[`; or `traceEvents` with its `[`
 * Maps     X, B -> slice, E -> end, i I R -> instant, C -> counter, s t f -> flow, b n e S T F p -> async, P -> sample,
 *          N O D -> object, M -> metadata, all others (and events without a usable time, except P and M) -> other, kept
 *          whole
 * Units    ts, dur: decimal microseconds -> int64 ns and ps         Shapes   n elements -> n rows
 * Limits   256 MiB an element or top-level value, 1,024 levels, 4,096 shapes (beyond: raw arguments)
 * Errors   FORMAT: no array of events; DAMAGED: strict, and something had to be repaired; LIMIT
 *
 * This file reads the text around the array: the object's other keys, several consecutive documents, lines of single
 * events. Everything works on reader->rest, the text that has been read and not yet used.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/chrome/loose.h"
#include "format/chrome/reader.h"
#include "format/lookalikes.h"

static const char *here(const chrome_reader *reader)
{
    return reader->rest.data + reader->rest.begin;
}
static size_t left(const chrome_reader *reader)
{
    return reader->rest.end - reader->rest.begin;
}

static void advance(chrome_reader *reader, size_t size)
{
    reader->rest.begin += size;
    reader->rest.offset += size;
}

/* The first byte that is no space, 0 at the end of the input. */
static hd_status next_byte(chrome_reader *reader, char *out)
{
    for (uint64_t spaces = 0;;) {
        HD_TRY(chrome_fill(reader, HD_JSON_PADDING));
        const char *p = hd_json_skip_space(here(reader));
        size_t size = (size_t)(p - here(reader));
        if (size > left(reader)) size = left(reader);
        spaces += size;
        advance(reader, size);
        if (left(reader) || reader->input_ended) break;
        if (spaces > CHROME_ITEM_LIMIT)
            return hd_error_set(reader->err, HD_ERR_LIMIT, hd_input_path(reader->input), reader->rest.offset,
                                "%d MiB of white space: this is not a trace", CHROME_ITEM_LIMIT >> 20);
        HD_TRY(chrome_fill(reader, reader->chunk_size));
    }
    *out = left(reader) ? *here(reader) : 0;
    return HD_OK;
}

/* More than one JSON document, or array of events: patches cannot make the text valid. */
static void note_layout(chrome_reader *reader, const char *code, hd_ledger_level level)
{
    hd_builder_ledger(reader->builder, CHROME_STAGE, code, level, 1, reader->rest.offset);
    hd_builder_facts(reader->builder)->needs_rewrite = true;
}

/* Records damage outside of the events. text: the replacement of `size` bytes. */
static hd_status mend(chrome_reader *reader, const char *code, hd_ledger_level level, uint64_t offset, uint64_t size,
                      const char *text, size_t text_size)
{
    if (reader->options->strict) return chrome_refuse(reader->err, code, offset);
    hd_builder_ledger(reader->builder, CHROME_STAGE, code, level, 1, offset);
    if (reader->options->sources)
        hd_builder_patch(reader->builder, offset, size,
                         text_size ? hd_builder_intern(reader->builder, text, text_size) : HD_STRING_NONE);
    return HD_OK;
}

/* Have more text than before; false: there is no more. */
static hd_status more(chrome_reader *reader, bool *out)
{
    size_t had = left(reader);
    if (had >= CHROME_ITEM_LIMIT)
        return hd_error_set(reader->err, HD_ERR_LIMIT, hd_input_path(reader->input), reader->rest.offset,
                            "one value is larger than %d MiB", CHROME_ITEM_LIMIT >> 20);
    HD_TRY(chrome_fill(reader, had < 4096 ? 65536 : had * 2));
    *out = left(reader) > had;
    return HD_OK;
}

/* ---- top-level members ---- */

/* Adds a top-level member whose valid value ends at `end`; false: no memory. */
static bool add_member(chrome_reader *reader, uint32_t key, const char *value, const char *end, bool after_events)
{
    if (chrome_is_samples(hd_builder_string(reader->builder, key), value, end))
        return chrome_keep_samples(reader, value, end);
    uint32_t text = hd_builder_intern(reader->builder, value, (size_t)(end - value));
    hd_builder_metadata(reader->builder, key, text, after_events);
    return text != HD_STRING_NONE;
}

/* The members of a valid object, the first of which is called `key`; false: no memory. */
static bool add_members(chrome_reader *reader, uint32_t key, const char *object, size_t size, bool after_events)
{
    bool fine = false;
    char *text = hd_json_copy(object, size);
    if (!text) return false;
    for (const char *p = hd_json_skip_space(text + 1); *p == '"'; key = HD_STRING_NONE) {
        hd_json_text name;
        p = hd_json_skip_space(hd_json_string(&name, p + 1));
        const char *value = hd_json_skip_space(p + 1);
        p = hd_json_skip_value(value);
        if (!p) break; /* deeper than the scanner goes */
        uint32_t name_id = key ? key : chrome_intern(&reader->parsers[0], &name);
        fine = name_id && add_member(reader, name_id, value, p, after_events);
        if (!fine) break;
        p = hd_json_skip_space(p);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    free(text);
    return fine;
}

/* A broken value of `size` bytes at rest: repaired inside an object that is made around it. */
static hd_status repair_value(chrome_reader *reader, uint32_t key, size_t size, bool after_events)
{
    static const char before[] = "{\"v\":", nothing[] = "{\"v\":null}";
    enum { BEFORE = sizeof before - 1 };
    hd_json_repair *r = &reader->parsers[0].repair;
    hd_repair_outcome outcome;
    size_t consumed;
    char *text = malloc(size + BEFORE + 1);
    if (!text) return HD_NOMEM(reader->err);
    memcpy(text, before, BEFORE);
    memcpy(text + BEFORE, here(reader), size);
    text[BEFORE + size] = '}';
    hd_status status = hd_json_repair_object(&outcome, &consumed, r, text, size + BEFORE + 1, true, reader->err);
    free(text);
    HD_TRY(status);
    bool kept = outcome == HD_REPAIR_DONE && r->size > BEFORE && memcmp(r->text, before, BEFORE) == 0;
    const char *object = kept ? r->text : nothing;
    size_t object_size = kept ? r->size : sizeof nothing - 1;
    if (!add_members(reader, key, object, object_size, after_events)) return HD_NOMEM(reader->err);
    bool cut = reader->input_ended && size == left(reader);
    const char *code = cut ? HD_JSON_TRUNCATED : r->issue_count ? r->issues[0].code : "json.invalid";
    return mend(reader, code, kept && !cut ? HD_LEDGER_REPAIR : HD_LEDGER_LOSS, reader->rest.offset, size,
                object + BEFORE, object_size - BEFORE - 1);
}

/* rest is at the value of a top-level key other than that of the events. */
static hd_status read_value(chrome_reader *reader, uint32_t key, bool after_events)
{
    const char *end;
    bool grew = true;
    while (!((end = hd_json_skip_value(here(reader))) && (end < here(reader) + left(reader) || reader->input_ended)) &&
           grew) {
        /* it may only be cut: but do not read the whole input for a broken value */
        const char *stop = chrome_probable_end(here(reader), here(reader) + left(reader));
        if (!end && stop < here(reader) + left(reader)) break;
        HD_TRY(more(reader, &grew));
    }
    size_t size = end ? (size_t)(end - here(reader))
                      : (size_t)(chrome_probable_end(here(reader), here(reader) + left(reader)) - here(reader));
    if (!end)
        HD_TRY(repair_value(reader, key, size, after_events));
    else if (!add_member(reader, key, here(reader), end, after_events))
        return HD_NOMEM(reader->err);
    advance(reader, size);
    return HD_OK;
}

/* rest is at the quote of a key: returns its id and moves rest to the value; *out_found false: it is not a key. */
static hd_status read_key(chrome_reader *reader, uint32_t *out_key, bool *out_found)
{
    for (bool grew = true; grew;) {
        hd_json_text key;
        const char *p = hd_json_string(&key, here(reader) + 1);
        if (p) p = hd_json_skip_space(p);
        if (p && *p == ':') {
            p = hd_json_skip_space(p + 1);
            if (p < here(reader) + left(reader)) {
                *out_key = chrome_intern(&reader->parsers[0], &key);
                advance(reader, (size_t)(p - here(reader)));
                *out_found = *out_key != HD_STRING_NONE;
                return HD_OK;
            }
        }
        if (left(reader) > CHROME_ITEM_LIMIT / 256) break; /* no key is that long */
        HD_TRY(more(reader, &grew));
    }
    *out_found = false;
    return HD_OK;
}

/* The events after `[`, and their `]`. An object without its end was cut: the rest is lost. An array alone may have no
 * end: the format lets programs append events and stop at any time. */
static hd_status read_array(chrome_reader *reader, bool in_object)
{
    HD_TRY(chrome_read_elements(reader));
    if (left(reader) == 0) {
        const char *close = in_object ? "]}" : "]";
        reader->cut = true;
        return mend(reader, "json.unclosed", in_object ? HD_LEDGER_LOSS : HD_LEDGER_REPAIR, reader->rest.offset, 0,
                    close, in_object ? 2 : 1);
    }
    if (*here(reader) != ']')
        return mend(reader, "json.close-missing", HD_LEDGER_REPAIR, reader->rest.offset, 0, "]", 1);
    advance(reader, 1);
    return HD_OK;
}

/* Bytes between members that are not members. */
static hd_status skip_garbage(chrome_reader *reader)
{
    enum { LONGEST_KEY = 64 }; /* of the events, with space: one that the buffer cuts is looked at again */
    HD_TRY(chrome_fill(reader, 65536));
    const char *begin = here(reader), *p = begin + 1, *end = begin + left(reader);
    const char *stop = reader->input_ended || end - begin <= LONGEST_KEY ? end : end - LONGEST_KEY;
    for (; p < stop && *p != '"' && *p != '\'' && *p != '}' && *p != ','; p++) {
        if (*p == 't' && chrome_at_word(p, begin) && chrome_loose_events(p, end)) break;
    }
    size_t size = (size_t)(p - begin);
    HD_TRY(mend(reader, "json.garbage", HD_LEDGER_LOSS, reader->rest.offset, size, NULL, 0));
    advance(reader, size);
    return HD_OK;
}

/* A key that is not quite JSON becomes `"name":`, and rest moves to its value. */
static hd_status mend_key(chrome_reader *reader, uint32_t *out_key, const char *code, const char *name,
                          size_t name_size, const char *value)
{
    hd_json_out text = {0};
    size_t size = (size_t)(value - here(reader));
    *out_key = hd_builder_intern(reader->builder, name, name_size);
    hd_json_put_string(&text, name, name_size);
    hd_json_put_text(&text, ":");
    hd_status status = text.failed || !*out_key
                           ? HD_NOMEM(reader->err)
                           : mend(reader, code, HD_LEDGER_REPAIR, reader->rest.offset, size, text.data, text.size);
    free(text.data);
    if (status == HD_OK) advance(reader, size);
    return status;
}

static bool is_loose_member(const chrome_reader *reader)
{
    chrome_loose key;
    const char *p = here(reader), *end = p + left(reader);
    return chrome_loose_key(&key, p, end) || chrome_loose_events(p, end);
}

/* The same as read_key, of one that is not quite JSON. */
static hd_status read_loose_key(chrome_reader *reader, uint32_t *out_key, bool *out_found)
{
    chrome_loose key;
    HD_TRY(chrome_fill(reader, 4096));
    const char *p = here(reader), *end = p + left(reader), *events = chrome_loose_events(p, end);
    *out_found = true;
    if (chrome_loose_key(&key, p, end)) return mend_key(reader, out_key, key.code, key.name, key.name_size, key.value);
    *out_found = events != NULL;
    return events ? mend_key(reader, out_key, "json.colon", "traceEvents", 11, events) : HD_OK;
}

static bool is_lone_event(const chrome_reader *reader);

/* rest is at the value of `traceEvents`; *out_read false: it is not an array. */
static hd_status read_events(chrome_reader *reader, bool *out_read)
{
    HD_TRY(chrome_fill(reader, 65536));
    *out_read = *here(reader) == '[';
    if (*out_read) {
        advance(reader, 1);
    } else if (*here(reader) == '{' && is_lone_event(reader)) {
        *out_read = true;
        HD_TRY(mend(reader, "json.open-missing", HD_LEDGER_REPAIR, reader->rest.offset, 0, "[", 1));
    }
    return *out_read ? read_array(reader, true) : HD_OK;
}

static hd_status read_member(chrome_reader *reader, bool *seen_events, bool *lost)
{
    uint32_t key;
    bool found = false;
    uint64_t offset = reader->rest.offset;
    if (*here(reader) == '"') HD_TRY(read_key(reader, &key, &found));
    if (!found) HD_TRY(read_loose_key(reader, &key, &found));
    *lost = !found;
    if (!found) return skip_garbage(reader);
    hd_string name = hd_builder_string(reader->builder, key);
    if (name.size == 11 && memcmp(name.data, "traceEvents", 11) == 0) {
        bool read;
        if (reader->has_array && *here(reader) == '[') note_layout(reader, "json.two-arrays", HD_LEDGER_NOTE);
        HD_TRY(read_events(reader, &read));
        reader->has_array |= read;
        *seen_events |= read;
        if (read) return HD_OK;
    }
    if (left(reader) == 0) {
        *lost = true;
        return mend(reader, HD_JSON_TRUNCATED, HD_LEDGER_LOSS, offset, reader->rest.offset - offset, NULL, 0);
    }
    if (!chrome_loose_events(here(reader), here(reader) + left(reader))) return read_value(reader, key, *seen_events);
    uint32_t nothing = hd_builder_intern(reader->builder, "null", 4); /* the key of the events keeps its position */
    if (!nothing) return HD_NOMEM(reader->err);
    hd_builder_metadata(reader->builder, key, nothing, *seen_events);
    return mend(reader, "json.value-missing", HD_LEDGER_REPAIR, reader->rest.offset, 0, "null", 4);
}

/* Drop the comment at rest, if one is there. */
static hd_status drop_comment(chrome_reader *reader, bool *out_dropped)
{
    const char *end = NULL;
    for (bool grew = true; *here(reader) == '/' && !end && grew;) {
        end = chrome_skip_comment(here(reader), here(reader) + left(reader));
        if (end || left(reader) > CHROME_ITEM_LIMIT / 256) break; /* no comment is that long */
        HD_TRY(more(reader, &grew));
        if (!grew && here(reader)[1] == '/') end = here(reader) + left(reader);
    }
    *out_dropped = end != NULL;
    if (!end) return HD_OK;
    size_t size = (size_t)(end - here(reader));
    HD_TRY(mend(reader, "json.comment", HD_LEDGER_REPAIR, reader->rest.offset, size, NULL, 0));
    advance(reader, size);
    return HD_OK;
}

/* rest is after the `{` of the outermost object, or at its first member, if the `{` is missing: then a missing `}` is
 * not a sign of truncation. */
static hd_status read_object(chrome_reader *reader, bool *seen_events, bool opened)
{
    uint64_t comma = HD_OFFSET_NONE;
    bool after_value = false;
    reader->has_array = false;
    for (;;) {
        char c;
        bool dropped;
        HD_TRY(next_byte(reader, &c));
        HD_TRY(drop_comment(reader, &dropped));
        if (dropped) continue;
        if (c == 0 && reader->input_ended && left(reader) == 0) {
            if (reader->cut) return HD_OK;
            if (comma != HD_OFFSET_NONE && !after_value)
                HD_TRY(mend(reader, "json.comma-trailing", HD_LEDGER_REPAIR, comma, 1, NULL, 0));
            return mend(reader, "json.unclosed", opened ? HD_LEDGER_LOSS : HD_LEDGER_REPAIR, reader->rest.offset, 0,
                        "}", 1);
        }
        if (c == '}') {
            if (comma != HD_OFFSET_NONE && !after_value)
                HD_TRY(mend(reader, "json.comma-trailing", HD_LEDGER_REPAIR, comma, 1, NULL, 0));
            advance(reader, 1);
            return HD_OK;
        }
        if (c == ',') {
            if (!after_value)
                HD_TRY(mend(reader, "json.comma-extra", HD_LEDGER_REPAIR, reader->rest.offset, 1, NULL, 0));
            else
                comma = reader->rest.offset;
            after_value = false;
            advance(reader, 1);
            continue;
        }
        HD_TRY(chrome_fill(reader, 4096));
        if (c != '"' && !is_loose_member(reader)) {
            HD_TRY(skip_garbage(reader));
            continue;
        }
        bool lost;
        if (after_value) HD_TRY(mend(reader, "json.comma-missing", HD_LEDGER_REPAIR, reader->rest.offset, 0, ",", 1));
        HD_TRY(read_member(reader, seen_events, &lost));
        after_value = !lost;
    }
}

/* ---- documents ---- */

/* Is the object at rest an event of its own, as in a file of one event a line? */
static bool is_lone_event(const chrome_reader *reader)
{
    const char *p = hd_json_skip_space(here(reader) + 1), *end = here(reader) + left(reader);
    bool has_phase = false;
    while (*p == '"' && p < end) {
        hd_json_text key;
        p = hd_json_string(&key, p + 1);
        if (!p) break;
        if (key.size == 2 && memcmp(key.data, "ph", 2) == 0) has_phase = true;
        if (key.size == 11 && memcmp(key.data, "traceEvents", 11) == 0) return false;
        p = hd_json_skip_space(p);
        if (*p != ':' || !(p = hd_json_skip_value(hd_json_skip_space(p + 1)))) break;
        p = hd_json_skip_space(p);
        if (*p != ',') break;
        p = hd_json_skip_space(p + 1);
    }
    return has_phase;
}

static hd_status read_document(chrome_reader *reader, char first, bool *seen_events)
{
    if (first == '[') {
        if (!*seen_events) hd_builder_facts(reader->builder)->top_level_array = true;
        *seen_events = true;
        advance(reader, 1);
        return read_array(reader, false);
    }
    HD_TRY(chrome_fill(reader, 65536));
    if (first != '{') { /* a member that has lost it */
        HD_TRY(mend(reader, "json.open-missing", HD_LEDGER_REPAIR, reader->rest.offset, 0, "{", 1));
        return read_object(reader, seen_events, false);
    }
    if (is_lone_event(reader)) {
        note_layout(reader, "json.lines", HD_LEDGER_NOTE);
        hd_builder_facts(reader->builder)->top_level_array = true;
        *seen_events = true;
        reader->lines = true;
        return chrome_read_elements(reader);
    }
    advance(reader, 1);
    return read_object(reader, seen_events, true);
}

/* Does a document begin at p: an object, an array, or the key of the events alone? */
static bool begins_document(const char *p, const char *end)
{
    return *p == '{' || *p == '[' || chrome_loose_events(p, end);
}

/* Comments, byte order marks, and commas and brackets too many before a document. */
static hd_status skip_between(chrome_reader *reader, bool *out_skipped)
{
    static const char mark[] = "\xef\xbb\xbf";
    HD_TRY(chrome_fill(reader, 4096));
    HD_TRY(drop_comment(reader, out_skipped));
    if (*out_skipped) return HD_OK;
    const char *begin = here(reader), *p = begin, *end = begin + left(reader);
    bool is_mark = left(reader) >= 3 && memcmp(p, mark, 3) == 0;
    while (!is_mark && p < end && (memchr(",]}", *p, 3) || hd_json_is_space(*p))) p++;
    *out_skipped = is_mark || (p > begin && p < end && begins_document(p, end));
    if (!*out_skipped) return HD_OK;
    size_t size = is_mark ? 3 : (size_t)(p - begin);
    HD_TRY(mend(reader, is_mark ? "json.byte-order-mark" : "json.stray", HD_LEDGER_REPAIR, reader->rest.offset, size,
                NULL, 0));
    advance(reader, size);
    return HD_OK;
}

/* The rest is not JSON: it is only counted. */
static hd_status skip_tail(chrome_reader *reader)
{
    uint64_t offset = reader->rest.offset;
    if (reader->options->strict) return chrome_refuse(reader->err, "json.trailing-garbage", offset);
    do {
        advance(reader, left(reader));
        HD_TRY(chrome_fill(reader, reader->chunk_size));
    } while (left(reader));
    return mend(reader, "json.trailing-garbage", HD_LEDGER_LOSS, offset, reader->rest.offset - offset, NULL, 0);
}

/* NULL: it is not in the ledger. */
static const hd_ledger_row *find_note(const hd_builder *builder, const char *code)
{
    const hd_trace *trace = hd_builder_trace(builder);
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (strcmp(row->code, code) == 0) return row;
    }
    return NULL;
}

/* Elements without a single object: JSON of another kind. */
static bool holds_no_event(const hd_builder *builder)
{
    const hd_ledger_row *row = find_note(builder, CHROME_NOT_AN_EVENT);
    return row && row->count == hd_trace_event_count(hd_builder_trace(builder));
}

/* Everything in the input is lost. */
static bool lost_everything(const hd_builder *builder)
{
    const hd_trace *trace = hd_builder_trace(builder);
    if (hd_trace_event_count(trace) || hd_trace_metadata_count(trace)) return false;
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        if (hd_trace_ledger_at(trace, i)->level == HD_LEDGER_LOSS) return true;
    }
    return false;
}

static hd_status read_all_documents(chrome_reader *reader, bool *seen_events)
{
    for (int documents = 0;;) {
        char first;
        bool skipped;
        HD_TRY(next_byte(reader, &first));
        if (left(reader) == 0) return HD_OK;
        HD_TRY(skip_between(reader, &skipped));
        if (skipped) continue;
        if (!begins_document(here(reader), here(reader) + left(reader))) return documents ? skip_tail(reader) : HD_OK;
        if (documents && reader->options->strict)
            return chrome_refuse(reader->err, "json.concatenated", reader->rest.offset);
        if (documents++) note_layout(reader, "json.concatenated", HD_LEDGER_REPAIR);
        HD_TRY(read_document(reader, first, seen_events));
    }
}

/* JSON of another kind, with a hint about what it looks like if it is recognised. */
static hd_status refuse_other(chrome_reader *reader)
{
    enum { LIKE_BYTES = 400 };
    char like[LIKE_BYTES];
    const uint8_t *head;
    size_t size;
    HD_TRY(hd_input_peek(reader->input, &head, &size, reader->err));
    const hd_lookalike *known = hd_lookalike_of(head, size);
    hd_lookalike_put(like, sizeof like, known && known->advice ? known : NULL);
    return hd_error_set(reader->err, HD_ERR_FORMAT, hd_input_path(reader->input), reader->rest.offset,
                        "no array of trace events found: expected [ … ] or {\"traceEvents\": [ … ]}%s", like);
}

static hd_status read_documents(chrome_reader *reader)
{
    bool seen_events = false;
    HD_TRY(read_all_documents(reader, &seen_events));
    HD_TRY(chrome_commit_rows(reader));
    HD_TRY(chrome_read_samples(reader));
    if (seen_events && holds_no_event(reader->builder))
        return hd_error_set(reader->err, HD_ERR_FORMAT, hd_input_path(reader->input), 0,
                            "a JSON array, but none of its elements is a trace event");
    if (seen_events && lost_everything(reader->builder))
        return hd_error_set(reader->err, HD_ERR_DAMAGED, hd_input_path(reader->input),
                            hd_trace_ledger_at(hd_builder_trace(reader->builder), 0)->first_offset,
                            "%s: the JSON is broken from here on, and no event could be saved",
                            hd_trace_ledger_at(hd_builder_trace(reader->builder), 0)->code);
    if (!seen_events) return refuse_other(reader);
    return HD_OK;
}

/* ---- the reader ---- */

static hd_status parser_init(chrome_parser *parser, hd_builder *builder, const hd_read_options *options, hd_error *err)
{
    parser->builder = builder;
    parser->want_args = options->args == HD_ARGS_ALL;
    parser->want_sources = options->sources;
    parser->strict = options->strict;
    hd_json_repair_init(&parser->repair, chrome_find_event_key);
    if (!chrome_shapes_init(&parser->shapes)) return HD_NOMEM(err);
    return hd_batch_new(&parser->batch, builder, err);
}

static void parser_deinit(chrome_parser *parser)
{
    chrome_shapes_deinit(&parser->shapes);
    hd_json_repair_deinit(&parser->repair);
    hd_batch_free(parser->batch);
    free(parser->scratch);
    free(parser->raw);
    free(parser->padded);
    free(parser->issues);
    free(parser->patches);
}

/* Not by the number of threads: blocks end where chunks do, and arguments are listed block by block. */
static size_t choose_chunk_size(const hd_input *input)
{
    enum { SMALLEST = 1 << 18, LARGEST = 1 << 22, CHUNKS = 32 };
    uint64_t size = hd_input_size_bytes(input);
    if (size == 0 || hd_input_compression(input) != HD_COMPRESSION_NONE) return LARGEST;
    uint64_t share = size / CHUNKS + 1;
    return share < SMALLEST ? SMALLEST : share > LARGEST ? LARGEST : (size_t)share;
}

static unsigned choose_threads(const hd_input *input, unsigned wanted)
{
    unsigned threads = hd_pipeline_threads(wanted);
    uint64_t size = hd_input_size_bytes(input);
    bool small = size && hd_input_compression(input) == HD_COMPRESSION_NONE && size < (1 << 20);
    return small && !wanted ? 1 : threads;
}

static hd_status reader_init(chrome_reader *reader)
{
    reader->parser_count = choose_threads(reader->input, reader->options->threads);
    if (reader->chunk_size == 0) reader->chunk_size = choose_chunk_size(reader->input);
    reader->parsers = calloc(reader->parser_count, sizeof *reader->parsers);
    if (!reader->parsers) return HD_NOMEM(reader->err);
    for (unsigned i = 0; i < reader->parser_count; i++)
        HD_TRY(parser_init(&reader->parsers[i], reader->builder, reader->options, reader->err));
    return chrome_pipeline_new(reader);
}

static void reader_deinit(chrome_reader *reader)
{
    hd_pipeline_free(reader->pipeline);
    for (unsigned i = 0; reader->parsers && i < reader->parser_count; i++) parser_deinit(&reader->parsers[i]);
    free(reader->parsers);
    free(reader->samples.data);
    chrome_text_deinit(&reader->rest);
}

static void note_input(chrome_reader *reader)
{
    hd_trace_facts *facts = hd_builder_facts(reader->builder);
    /* Events that a patch put between those in nanoseconds would be in microseconds. */
    if (find_note(reader->builder, CHROME_NANOS)) facts->needs_rewrite = true;
    facts->input_bytes = reader->rest.offset + left(reader);
    facts->has_sources = reader->options->sources;
    facts->has_args = reader->options->args == HD_ARGS_ALL;
}

hd_status chrome_read_pieces(hd_builder *builder, hd_input *input, const hd_read_options *options, size_t piece_size,
                             hd_error *err)
{
    chrome_reader reader = {
        .input = input, .options = options, .builder = builder, .chunk_size = piece_size, .err = err};
    hd_status status = reader_init(&reader);
    if (status == HD_OK) status = read_documents(&reader);
    if (status == HD_OK) status = hd_builder_settle_tracks(builder, err);
    if (status == HD_OK) {
        note_input(&reader);
        status = chrome_apply_metadata(builder, err);
    }
    reader_deinit(&reader);
    return status;
}

hd_status chrome_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    return chrome_read_pieces(builder, input, options, 0, err);
}

int chrome_sniff(const unsigned char *head, size_t size)
{
    const char *p = (const char *)head, *end = p + size;
    if (size >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3;
    for (const char *next = p; next;) {
        while (next < end && hd_json_is_space(*next)) next++;
        p = next;
        next = chrome_skip_comment(p, end);
    }
    if (p == end) return size ? 1 : 0;
    return begins_document(p, end) && !hd_lookalike_is_log(p, (size_t)(end - p)) ? 50 : 0;
}
