/* args.c - arguments as typed debug annotations, with all strings interned
 *
 * Numbers   integers unchanged; a decimal as a double if the double, written with as many digits, gives the same
 *           digits, else as its text
 * JSON      objects and arrays as nested entries; null is a name without a value; empty and very deep ones are text in
 *           a nested_value. No legacy_json_value: a null in it crashes trace_processor from v51 on
 * Fields    keys of the event itself without another place are arguments called "event.KEY"
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "base/protobuf/write.h"
#include "format/perfetto/fields.h"
#include "format/perfetto/write/writer.h"

/* JSON that nests deeper, or is longer, stays text; encoded JSON is cached up to this many bytes. */
enum { DEPTH_LIMIT = 32, JSON_LIMIT = 1 << 20, MEMO_LIMIT = 64 << 20, DIGITS_LIMIT = 17 };

/* ---- strings ---- */

hd_status pf_intern_init(pf_writer *w, hd_error *err)
{
    size_t count = (size_t)hd_trace_string_count(w->trace) + 1;
    for (unsigned s = 0; s < PF_SPACE_COUNT; s++) {
        w->intern.iids[s] = calloc(count, sizeof **w->intern.iids);
        if (!w->intern.iids[s]) return HD_NOMEM(err);
    }
    w->intern.memo = calloc(count, sizeof *w->intern.memo);
    return w->intern.memo ? HD_OK : HD_NOMEM(err);
}

void pf_intern_deinit(pf_writer *w)
{
    for (unsigned s = 0; s < PF_SPACE_COUNT; s++) free(w->intern.iids[s]);
    free(w->intern.memo);
    hd_slots_deinit(&w->intern.slots);
    free(w->intern.entries);
    hd_bytes_deinit(&w->intern.texts);
    hd_bytes_deinit(&w->intern.memos);
}

static uint32_t put_entry(pf_writer *w, unsigned space, const char *data, size_t size)
{
    static const uint32_t fields[] = {
        [PF_SPACE_NAME] = PF_INTERNED_EVENT_NAMES,
        [PF_SPACE_CATEGORY] = PF_INTERNED_EVENT_CATEGORIES,
        [PF_SPACE_KEY] = PF_INTERNED_DEBUG_ANNOTATION_NAMES,
        [PF_SPACE_VALUE] = PF_INTERNED_DEBUG_ANNOTATION_STRING_VALUES,
    };
    uint32_t iid = ++w->intern.next[space];
    size_t mark = hd_pb_begin(&w->interned, fields[space]);
    hd_pb_put_uint(&w->interned, PF_ENTRY_IID, iid);
    hd_pb_put_bytes(&w->interned, PF_ENTRY_TEXT, data, size);
    hd_pb_end(&w->interned, mark);
    return iid;
}

uint32_t pf_intern_string(pf_writer *w, unsigned space, uint32_t id)
{
    uint32_t *iid = &w->intern.iids[space][id < hd_trace_string_count(w->trace) ? id : 0];
    if (!*iid) {
        hd_string text = hd_trace_string(w->trace, id);
        *iid = put_entry(w, space, text.data, text.size);
    }
    return *iid;
}

/* The iid of a text that is not a string of the trace by itself. */
static uint32_t intern_text(pf_writer *w, unsigned space, const char *data, size_t size)
{
    pf_intern *t = &w->intern;
    uint32_t id = hd_trace_find_string(w->trace, data, size);
    if (id != HD_NONE) return pf_intern_string(w, space, id);
    uint32_t at;
    uint64_t hash = hd_hash(data, size) + space;
    HD_SLOTS_FIND(at, &t->slots, hash,
                  t->entries[at].size == size && memcmp(t->texts.data + t->entries[at].offset, data, size) == 0);
    if (at != HD_SLOTS_NONE) return t->entries[at].iid;
    if (!hd_grow((void **)&t->entries, &t->entry_capacity, t->entry_count, sizeof *t->entries) ||
        !hd_slots_add(&t->slots, hash, (uint32_t)t->entry_count)) {
        w->event.failed = true;
        return 0;
    }
    uint32_t iid = put_entry(w, space, data, size);
    t->entries[t->entry_count++] = (pf_text_entry){.offset = t->texts.size, .size = (uint32_t)size, .iid = iid};
    hd_bytes_put(&t->texts, data, size);
    w->event.failed |= t->texts.failed;
    return iid;
}

/* ---- numbers ---- */

/* The digits of a number's text without sign, point, exponent, leading and trailing zeros; 0: too many. */
static size_t digits_of(char *out, const char *text, size_t size)
{
    size_t count = 0, zeros = 0;
    for (size_t i = 0; i < size && (text[i] | 0x20) != 'e'; i++) {
        if (text[i] < '0' || text[i] > '9') continue;
        if (text[i] == '0') {
            zeros += count > 0;
            continue;
        }
        if (count + zeros >= DIGITS_LIMIT) return 0;
        for (; zeros; zeros--) out[count++] = '0';
        out[count++] = text[i];
    }
    if (!count) out[count++] = '0';
    return count;
}

/* Whether a double represents a number as it was written: printed with as many digits, it has the same ones. */
static bool exact_double(double *out, const char *text, size_t size)
{
    char copy[64], printed[64], digits[DIGITS_LIMIT + 1], other[DIGITS_LIMIT + 1];
    if (size >= sizeof copy) return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    char *end;
    *out = strtod(copy, &end);
    size_t count = digits_of(digits, text, size);
    if (end != copy + size || !isfinite(*out) || !count) return false;
    if (*out == 0) return count == 1 && digits[0] == '0';
    int length = snprintf(printed, sizeof printed, "%.*e", (int)count - 1, *out);
    return digits_of(other, printed, (size_t)length) == count && memcmp(digits, other, count) == 0;
}

static bool is_uint64(uint64_t *out, hd_string text)
{
    uint64_t value = 0;
    if (text.size == 0 || text.size > 20 || (text.data[0] == '0' && text.size > 1)) return false;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *out = value;
    return true;
}

/* mantissa / 10^scale as text. */
size_t pf_decimal_text(char out[PF_DECIMAL_BYTES], int64_t packed)
{
    int64_t mantissa = hd_decimal_mantissa(packed);
    unsigned scale = hd_decimal_scale(packed);
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%0*llu", (int)(scale > 20 ? 20 : scale) + 1,
                         (unsigned long long)(mantissa < 0 ? -mantissa : mantissa));
    char *p = out;
    if (mantissa < 0) *p++ = '-';
    if (scale > 20) { /* as 0.000… with the digits at its end */
        *p++ = '0';
        *p++ = '.';
        for (unsigned i = 0; i + (unsigned)count < scale; i++) *p++ = '0';
        memcpy(p, digits, (size_t)count);
        return (size_t)(p + count - out);
    }
    memcpy(p, digits, (size_t)count - scale);
    p += (size_t)count - scale;
    if (scale) *p++ = '.';
    memcpy(p, digits + (size_t)count - scale, scale);
    return (size_t)(p + scale - out);
}

/* Decimals of at most 15 digits survive as doubles without asking. */
static bool is_short(int64_t mantissa)
{
    return mantissa > -INT64_C(1000000000000000) && mantissa < INT64_C(1000000000000000);
}

static void put_text_value(pf_writer *w, const char *data, size_t size)
{
    hd_pb_put_uint(&w->event, PF_ANNOTATION_STRING_VALUE_IID, intern_text(w, PF_SPACE_VALUE, data, size));
}

static void put_decimal(pf_writer *w, int64_t packed)
{
    char text[64];
    double value;
    if (is_short(hd_decimal_mantissa(packed)) && hd_decimal_scale(packed) <= 22) {
        hd_pb_put_double(&w->event, PF_ANNOTATION_DOUBLE_VALUE, hd_decimal_double(packed));
        return;
    }
    size_t size = pf_decimal_text(text, packed);
    if (exact_double(&value, text, size)) {
        hd_pb_put_double(&w->event, PF_ANNOTATION_DOUBLE_VALUE, value);
    } else {
        w->notes[PF_NOTE_NUMBER_TEXT]++;
        put_text_value(w, text, size);
    }
}

static void put_number_text(pf_writer *w, hd_string text)
{
    uint64_t integer;
    double value;
    if (is_uint64(&integer, text)) {
        hd_pb_put_uint(&w->event, PF_ANNOTATION_UINT_VALUE, integer);
    } else if (exact_double(&value, text.data, text.size)) {
        hd_pb_put_double(&w->event, PF_ANNOTATION_DOUBLE_VALUE, value);
    } else {
        w->notes[PF_NOTE_NUMBER_TEXT]++;
        put_text_value(w, text.data, text.size);
    }
}

bool pf_put_counter_value(pf_writer *w, unsigned type, int64_t bits)
{
    double value;
    int64_t integer;
    hd_value v = {.type = (hd_arg_type)type, .bits = bits};
    if (type == HD_ARG_INT || type == HD_ARG_BOOL) {
        hd_pb_put_int(&w->event, PF_EVENT_COUNTER_VALUE, bits);
        return true;
    }
    if (type == HD_ARG_NULL || type == HD_ARG_JSON || !hd_value_double(&value, w->trace, v)) return false;
    char copy[64];
    size_t size = 0;
    if (type == HD_ARG_DECIMAL) {
        size = pf_decimal_text(copy, bits);
    } else {
        hd_string text = hd_trace_string(w->trace, (uint32_t)bits);
        size = text.size < sizeof copy ? text.size : 0;
        memcpy(copy, text.data, size);
    }
    char *end;
    copy[size < sizeof copy ? size : 0] = '\0';
    integer = strtoll(copy, &end, 10);
    if (size && *end == '\0' && integer > INT64_MIN && integer < INT64_MAX) {
        hd_pb_put_int(&w->event, PF_EVENT_COUNTER_VALUE, integer);
        return true;
    }
    double again;
    if (!(type == HD_ARG_DECIMAL && is_short(hd_decimal_mantissa(bits))) && !exact_double(&again, copy, size))
        w->notes[PF_NOTE_COUNTER_ROUNDED]++;
    hd_pb_put_double(&w->event, PF_EVENT_DOUBLE_COUNTER_VALUE, value);
    return true;
}

/* ---- JSON ---- */

/* JSON as its text, which Perfetto shows and counts: elements of an array after an empty one keep their index. A nested
 * value that is a single string: no other producer writes these, so our reader knows that the text is JSON. */
static void put_whole_text(pf_writer *w, const char *data, size_t size)
{
    size_t mark = hd_pb_begin(&w->event, PF_ANNOTATION_NESTED_VALUE);
    hd_pb_put_bytes(&w->event, PF_NESTED_STRING_VALUE, data, size);
    hd_pb_end(&w->event, mark);
}

static const char *put_json(pf_writer *w, const char *p, unsigned depth);

/* The text of a string or key, decoded; NULL: no memory, or no UTF-8. */
static char *decode(size_t *out_size, const hd_json_text *text)
{
    char *decoded = malloc(text->size + 1);
    if (decoded && !hd_json_decode(decoded, out_size, text)) {
        free(decoded);
        return NULL;
    }
    return decoded;
}

static bool put_json_text(pf_writer *w, const hd_json_text *text, uint32_t field, unsigned space)
{
    size_t size = text->size;
    char *decoded = text->escaped || text->wide ? decode(&size, text) : NULL;
    if ((text->escaped || text->wide) && !decoded) return false;
    hd_pb_put_uint(&w->event, field, intern_text(w, space, decoded ? decoded : text->data, size));
    free(decoded);
    return true;
}

static const char *put_json_object(pf_writer *w, const char *p, unsigned depth)
{
    while (*(p = hd_json_skip_space(p)) == '"') {
        hd_json_text key;
        size_t mark = hd_pb_begin(&w->event, PF_ANNOTATION_DICT_ENTRIES);
        p = hd_json_string(&key, p + 1);
        if (!p || !put_json_text(w, &key, PF_ANNOTATION_NAME_IID, PF_SPACE_KEY)) return NULL;
        p = hd_json_skip_space(p);
        if (*p != ':') return NULL;
        p = put_json(w, hd_json_skip_space(p + 1), depth + 1);
        if (!p) return NULL;
        hd_pb_end(&w->event, mark);
        p = hd_json_skip_space(p);
        if (*p == '}') return p + 1;
        if (*p++ != ',') return NULL;
    }
    return NULL;
}

static const char *put_json_array(pf_writer *w, const char *p, unsigned depth)
{
    for (;;) {
        size_t mark = hd_pb_begin(&w->event, PF_ANNOTATION_ARRAY_VALUES);
        p = put_json(w, hd_json_skip_space(p), depth + 1);
        if (!p) return NULL;
        hd_pb_end(&w->event, mark);
        p = hd_json_skip_space(p);
        if (*p == ']') return p + 1;
        if (*p++ != ',') return NULL;
    }
}

static const char *put_json_number(pf_writer *w, const char *p)
{
    const char *end = hd_json_skip_number(p);
    if (!end) return NULL;
    hd_string text = {p, (size_t)(end - p)};
    bool is_whole = text.size < 19 && !(text.size == 2 && memcmp(p, "-0", 2) == 0);
    for (const char *c = p; is_whole && c < end; c++) is_whole = *c == '-' || hd_json_is_digit(*c);
    if (is_whole)
        hd_pb_put_int(&w->event, PF_ANNOTATION_INT_VALUE, strtoll(p, NULL, 10));
    else
        put_number_text(w, text);
    return end;
}

/* The fields of a value's annotation. p: padded text, at the value. Returns the position after it, NULL: invalid. */
static const char *put_json(pf_writer *w, const char *p, unsigned depth)
{
    const char *inside = hd_json_skip_space(p + (*p != '\0'));
    bool is_empty = (*p == '{' && *inside == '}') || (*p == '[' && *inside == ']');
    if (*p == '"') {
        hd_json_text text;
        const char *end = hd_json_string(&text, p + 1);
        return end && put_json_text(w, &text, PF_ANNOTATION_STRING_VALUE_IID, PF_SPACE_VALUE) ? end : NULL;
    }
    if (*p == '-' || hd_json_is_digit(*p)) return put_json_number(w, p);
    if (*p == 't' || *p == 'f') {
        const char *end = hd_json_skip_literal(p);
        if (end) hd_pb_put_uint(&w->event, PF_ANNOTATION_BOOL_VALUE, *p == 't');
        return end;
    }
    if (is_empty) {
        put_whole_text(w, *p == '{' ? "{}" : "[]", 2);
        return inside + 1;
    }
    if ((*p == '{' || *p == '[') && depth < DEPTH_LIMIT)
        return *p == '{' ? put_json_object(w, inside, depth) : put_json_array(w, inside, depth);
    const char *end = hd_json_skip_value(p);
    if (end && *p != 'n') put_whole_text(w, p, (size_t)(end - p));
    return end;
}

/* Puts the cached encoding of the text, or a new one. */
static void put_json_value(pf_writer *w, uint32_t id)
{
    pf_intern *t = &w->intern;
    if (id >= hd_trace_string_count(w->trace)) id = HD_STRING_NONE;
    hd_string text = hd_trace_string(w->trace, id);
    if (t->memo[id]) {
        hd_byte_reader r = hd_byte_reader_of(t->memos.data, t->memos.size);
        r.at = t->memo[id] - 1;
        size_t size = hd_byte_reader_varint(&r);
        hd_bytes_put(&w->event, t->memos.data + r.at, size);
        return;
    }
    size_t start = w->event.size;
    uint8_t *room = NULL;
    w->json.size = 0;
    if (text.size <= JSON_LIMIT) room = hd_bytes_room(&w->json, text.size + HD_JSON_PADDING);
    if (room) {
        memcpy(room, text.data, text.size);
        memset(room + text.size, 0, HD_JSON_PADDING);
    }
    const char *end = room ? put_json(w, hd_json_skip_space((const char *)room), 0) : NULL;
    if (!end || hd_json_skip_space(end) != (const char *)room + text.size) {
        w->event.size = start;
        put_whole_text(w, text.data, text.size);
    }
    if (w->event.failed || t->memos.size + w->event.size - start > MEMO_LIMIT) return;
    size_t at = t->memos.size;
    hd_bytes_put_varint(&t->memos, w->event.size - start);
    hd_bytes_put(&t->memos, w->event.data + start, w->event.size - start);
    if (t->memos.failed)
        w->event.failed = true;
    else
        t->memo[id] = at + 1;
}

/* ---- annotations ---- */

static void put_value(pf_writer *w, unsigned type, int64_t bits)
{
    switch (type) {
    case HD_ARG_NULL: break;
    case HD_ARG_BOOL: hd_pb_put_uint(&w->event, PF_ANNOTATION_BOOL_VALUE, bits != 0); break;
    case HD_ARG_INT: hd_pb_put_int(&w->event, PF_ANNOTATION_INT_VALUE, bits); break;
    case HD_ARG_DECIMAL: put_decimal(w, bits); break;
    case HD_ARG_NUMBER: put_number_text(w, hd_trace_string(w->trace, (uint32_t)bits)); break;
    case HD_ARG_STRING:
        hd_pb_put_uint(&w->event, PF_ANNOTATION_STRING_VALUE_IID, pf_intern_string(w, PF_SPACE_VALUE, (uint32_t)bits));
        break;
    default: put_json_value(w, (uint32_t)bits); break;
    }
}

static size_t begin_field(pf_writer *w, const char *key, size_t size)
{
    char name[256] = "event.";
    size_t used = size < sizeof name - 6 ? size : sizeof name - 6;
    size_t mark = hd_pb_begin(&w->event, PF_EVENT_DEBUG_ANNOTATIONS);
    memcpy(name + 6, key, used);
    hd_pb_put_uint(&w->event, PF_ANNOTATION_NAME_IID,
                   intern_text(w, PF_SPACE_KEY, name, size ? 6 + used : 5 /* all of the event */));
    return mark;
}

static bool is_binding(const pf_writer *w, const hd_arg_key *key)
{
    return key->scope == HD_SCOPE_EVENT &&
           (key->key == w->flow_keys.bind_id || key->key == w->flow_keys.flow_out || key->key == w->flow_keys.flow_in);
}

bool pf_is_unit(const pf_writer *w, const hd_arg_key *key)
{
    return key->scope == HD_SCOPE_EVENT && key->key == w->unit_key && key->type == HD_ARG_STRING;
}

void pf_put_args(pf_writer *w, const hd_event *event, bool bound)
{
    const hd_shape *shape = hd_trace_shape_at(w->trace, event->shape);
    for (uint32_t i = 0; i < shape->key_count; i++) {
        const hd_arg_key *key = &shape->keys[i];
        size_t mark;
        if (bound && is_binding(w, key)) continue;
        if (event->kind == HD_KIND_COUNTER && pf_is_unit(w, key)) continue; /* its track has it */
        if (key->scope == HD_SCOPE_ARGS) {
            if (event->kind == HD_KIND_COUNTER) continue; /* they are series */
            mark = hd_pb_begin(&w->event, PF_EVENT_DEBUG_ANNOTATIONS);
            hd_pb_put_uint(&w->event, PF_ANNOTATION_NAME_IID, pf_intern_string(w, PF_SPACE_KEY, key->key));
        } else {
            hd_string name = hd_trace_string(w->trace, key->key);
            mark = begin_field(w, name.data, name.size);
        }
        put_value(w, key->type, hd_column_at(&event->args->columns[i], event->args_row));
        hd_pb_end(&w->event, mark);
    }
}

void pf_put_id_arg(pf_writer *w, const hd_event *event)
{
    static const unsigned types[] = {HD_ARG_NULL, HD_ARG_INT, HD_ARG_STRING, HD_ARG_NUMBER};
    if (event->id_type == HD_ID_NONE) return;
    const char *key = event->id_type & HD_ID_LOCAL ? "id2.local" : event->id_type & HD_ID_GLOBAL ? "id2.global" : "id";
    size_t mark = begin_field(w, key, strlen(key));
    put_value(w, types[event->id_type & HD_ID_VALUE_MASK], event->id);
    hd_pb_end(&w->event, mark);
}

void pf_put_no_duration(pf_writer *w)
{
    hd_pb_end(&w->event, begin_field(w, "dur", 3));
}

void pf_put_async(pf_writer *w, const hd_event *event, uint32_t begin_track)
{
    uint32_t place = event->track == begin_track ? HD_NONE : pf_place_of_track(w, event->track);
    if (place != HD_NONE) {
        size_t mark = begin_field(w, "track", 5);
        hd_pb_put_int(&w->event, PF_ANNOTATION_INT_VALUE, (int64_t)place + 1);
        hd_pb_end(&w->event, mark);
    }
    if (event->duration_ns == HD_NO_TIME) return;
    size_t mark = begin_field(w, "dur", 3);
    hd_pb_put_int(&w->event, PF_ANNOTATION_INT_VALUE, event->duration_ns);
    hd_pb_end(&w->event, mark);
}
