/* text.c - the text that NVIDIA's activity samples print
 *
 *     RUNTIME [ 10, 20 ] duration 10, "cudaMalloc_v3020", cbid 20, processId 7, threadId 8, correlationId 9
 *     CONCURRENT_KERNEL [ 30, 40 ] duration 10, "_Z1fv", correlationId 9, cacheConfigRequested 0, …
 *     <tab>grid [ 1, 1, 1 ], block [ 32, 1, 1 ], …
 *
 * A record is a line that begins with its type, and the indented lines after it, with "key value" items separated by
 * commas. Programs print to the same output: lines that begin otherwise are counted and skipped.
 */
#include "base/error.h"
#include "base/memory/vector.h"
#include "format/cupti/cupti.h"

/* ---- lines that begin a record ---- */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
    return at;
}

/* A word in capitals, maybe a kind, and a time in brackets: the word's end, or NULL. */
static const char *any_header(const char *line, const char *end)
{
    const char *at = line;
    while (at < end && ((*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') || *at == '_')) at++;
    if (at == line || at == end || *at != ' ') return NULL;
    const char *type_end = at;
    at = skip_blanks(at, end);
    if (at < end && *at != '[') { /* a kind: OVERHEAD LAZY_FUNCTION_LOADING [, MEMCPY "HtoD" [ */
        while (at < end && *at != ' ') at++;
        at = skip_blanks(at, end);
    }
    if (at == end || *at != '[') return NULL;
    at = skip_blanks(at + 1, end);
    return at < end && hd_json_is_digit(*at) ? type_end : NULL;
}

const char *cupti_text_header(const char *line, const char *end)
{
    const char *type_end = any_header(line, end);
    return type_end && cupti_find_type(line, (size_t)(type_end - line)) != CUPTI_UNKNOWN ? type_end : NULL;
}

/* ---- values ---- */

/* Digits; false when they are none, or too many. */
static bool whole_number(int64_t *out, const char *at, const char *end)
{
    uint64_t value = 0;
    bool is_negative = at < end && *at == '-';
    at += is_negative;
    if (at == end || end - at > 19) return false;
    for (; at < end; at++) {
        if (!hd_json_is_digit(*at) || value > (uint64_t)INT64_MAX / 10) return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (value > INT64_MAX) return false;
    *out = is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool all_digits(const char *at, const char *end)
{
    if (at == end) return false;
    while (at < end && hd_json_is_digit(*at)) at++;
    return at == end;
}

/* Text of the file as valid UTF-8. */
static uint32_t intern(cupti_parser *p, const char *at, size_t size)
{
    if (hd_utf8_valid(at, size, false)) return hd_builder_intern(p->builder, at, size);
    if (!hd_reserve(&p->scratch, &p->scratch_capacity, size)) return HD_STRING_NONE;
    for (size_t i = 0; i < size; i++) p->scratch[i] = (unsigned char)at[i] < 0x80 ? at[i] : '?';
    cupti_note(p, "cupti.utf8", HD_LEDGER_REPAIR, at);
    return hd_builder_intern(p->builder, p->scratch, size);
}

/* "[ 32, 1, 1 ]" -> "[32,1,1]", as Kineto writes it. */
static bool put_list(cupti_parser *p, uint32_t key, const char *at, const char *end)
{
    size_t size = 0;
    if (!hd_reserve(&p->scratch, &p->scratch_capacity, (size_t)(end - at) + 1)) return false;
    for (const char *from = at; at < end; at++) {
        if (*at == ' ') continue;
        bool is_parted = at > from && at[-1] == ' ' && size && hd_json_is_digit(p->scratch[size - 1]);
        if (is_parted && hd_json_is_digit(*at)) return false;
        if (!hd_json_is_digit(*at) && *at != ',' && *at != '[' && *at != ']') return false;
        p->scratch[size++] = *at;
    }
    if (!hd_json_valid(p->scratch, size, 2)) return false;
    cupti_record_add(p, key, HD_ARG_JSON, hd_builder_intern(p->builder, p->scratch, size));
    return true;
}

/* "(static 1024, dynamic 0)" */
static bool put_shared(cupti_parser *p, const char *at, const char *end)
{
    int64_t numbers[2];
    static const char *const words[] = {"(static ", "dynamic "};
    for (int i = 0; i < 2; i++) {
        size_t size = strlen(words[i]);
        at = skip_blanks(at, end);
        if ((size_t)(end - at) < size || memcmp(at, words[i], size) != 0) return false;
        const char *digits = at + size;
        for (at = digits; at < end && hd_json_is_digit(*at);) at++;
        if (!whole_number(&numbers[i], digits, at) || numbers[i] > UINT32_MAX || at == end) return false;
        at++;
    }
    if (at != end) return false;
    cupti_record_add(p, p->arguments[CUPTI_SHARED], HD_ARG_INT, numbers[0] + numbers[1]);
    cupti_record_add(p, p->key_dynamic_shared, HD_ARG_INT, numbers[1]);
    return true;
}

static bool put_value(cupti_parser *p, const char *key, size_t key_size, const char *at, const char *end)
{
    cupti_field field = cupti_find_field(key, key_size);
    uint32_t id = field == CUPTI_OTHER ? intern(p, key, key_size) : p->arguments[field];
    int64_t bits = 0;
    hd_string text = {"", 0};
    if (*at == '[' && put_list(p, id, at, end)) return true;
    if (field == CUPTI_SHARED && *at == '(' && put_shared(p, at, end)) return true;
    if (end - at == 6 && memcmp(at, "(null)", 6) == 0) return cupti_record_set(p, field, id, HD_ARG_NULL, 0, text);
    if (whole_number(&bits, at, end)) return cupti_record_set(p, field, id, HD_ARG_INT, bits, text);
    if (all_digits(at, end) && (*at != '0' || end - at == 1))
        return cupti_record_set(p, field, id, HD_ARG_NUMBER, intern(p, at, (size_t)(end - at)), text);
    bits = intern(p, at, (size_t)(end - at));
    return cupti_record_set(p, field, id, HD_ARG_STRING, bits, hd_builder_string(p->builder, (uint32_t)bits));
}

/* "key value", or a single word: the subject of an overhead. */
static bool put_item(cupti_parser *p, const char *at, const char *end)
{
    const char *split = at;
    at = skip_blanks(at, end);
    while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    if (at == end) return true;
    const char *open = NULL;
    for (const char *c = at; c < end && !open; c++) {
        if (*c == '[' || *c == '(') open = c;
    }
    split = open ? open : end;
    if (!open) {
        while (split > at && split[-1] != ' ') split--;
    }
    if (split == at) {
        if (cupti_find_type(p->record.type.data, p->record.type.size) != CUPTI_OVERHEAD) return false;
        uint32_t id = intern(p, at, (size_t)(end - at));
        return cupti_record_set(p, CUPTI_OBJECT_KIND, 0, HD_ARG_STRING, id, hd_builder_string(p->builder, id));
    }
    const char *key_end = split;
    while (key_end > at && key_end[-1] == ' ') key_end--;
    return key_end > at && put_value(p, at, (size_t)(key_end - at), split, end);
}

static bool put_items(cupti_parser *p, const char *at, const char *end)
{
    int depth = 0;
    const char *from = at;
    for (; at < end; at++) {
        depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
        if (*at != ',' || depth > 0) continue;
        if (!put_item(p, from, at)) return false;
        from = at + 1;
    }
    return put_item(p, from, end);
}

/* ---- records ---- */

static bool put_times(cupti_parser *p, const char **at, const char *end)
{
    const char *close = memchr(*at, ']', (size_t)(end - *at));
    const char *comma = close ? memchr(*at, ',', (size_t)(close - *at)) : NULL;
    int64_t numbers[2];
    static const hd_string none = {"", 0};
    if (!close) return false;
    const char *ends[2] = {comma ? comma : close, close}, *from = *at;
    for (int i = 0; i < (comma ? 2 : 1); i++) {
        const char *digits = skip_blanks(from, ends[i]), *digits_end = ends[i];
        while (digits_end > digits && digits_end[-1] == ' ') digits_end--;
        if (!whole_number(&numbers[i], digits, digits_end)) return false;
        from = ends[i] + 1;
    }
    *at = close + 1;
    if (!comma) return cupti_record_set(p, CUPTI_TIMESTAMP, 0, HD_ARG_INT, numbers[0], none);
    return cupti_record_set(p, CUPTI_START, 0, HD_ARG_INT, numbers[0], none) &&
           cupti_record_set(p, CUPTI_END, 0, HD_ARG_INT, numbers[1], none);
}

static void set_text(cupti_parser *p, cupti_field field, const char *at, const char *end)
{
    uint32_t id = intern(p, at, (size_t)(end - at));
    cupti_record_set(p, field, 0, HD_ARG_STRING, id, hd_builder_string(p->builder, id));
}

/* The name is everything between the first quote and the last: names may contain quotes and commas. */
static bool read_header(cupti_parser *p, const char *line, const char *type_end, const char *end)
{
    const char *at = skip_blanks(type_end, end);
    p->record.type = (hd_string){line, (size_t)(type_end - line)};
    p->record.has_type = true;
    if (*at != '[') {
        const char *word = at;
        while (at < end && *at != ' ') at++;
        if (*word == '"' && at - word > 2)
            set_text(p, CUPTI_COPY_KIND, word + 1, at - 1);
        else
            set_text(p, CUPTI_OVERHEAD_KIND, word, at);
        at = skip_blanks(at, end);
    }
    at++;
    if (!put_times(p, &at, end)) return false;
    const char *quote = memchr(at, '"', (size_t)(end - at)),
               *last = quote ? memrchr(at, '"', (size_t)(end - at)) : NULL;
    if (!quote || last == quote) return put_items(p, at, end);
    set_text(p, CUPTI_NAME, quote + 1, last);
    const char *before = quote;
    while (before > at && before[-1] == ' ') before--;
    return put_items(p, at, before) && put_items(p, last + 1, end);
}

static hd_status finish_record(cupti_parser *p, bool *is_open, bool is_good)
{
    if (!*is_open) return HD_OK;
    *is_open = false;
    if (is_good) return cupti_emit(p);
    return cupti_note(p, "cupti.line-broken", HD_LEDGER_LOSS, p->record.text) ? HD_OK : p->error.status;
}

/* The program's own output, or a record of unknown type. */
static bool note_other(cupti_parser *p, const char *line, const char *end)
{
    if (any_header(line, end)) return cupti_note(p, "cupti.record-unknown", HD_LEDGER_LOSS, line);
    return cupti_note(p, "cupti.line-skipped", HD_LEDGER_NOTE, line);
}

hd_status cupti_parse_text(cupti_parser *p)
{
    const char *at = p->text, *end = p->text + p->size;
    bool is_open = false, is_good = false;
    while (at < end) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = next ? next : end, *type_end = cupti_text_header(at, line_end);
        bool is_blank = skip_blanks(at, line_end) == line_end;
        if (type_end) {
            HD_TRY(finish_record(p, &is_open, is_good));
            cupti_record_begin(p, at, (size_t)(line_end - at));
            is_open = true;
            is_good = read_header(p, at, type_end, line_end);
        } else if (is_open && !is_blank && (*at == '\t' || *at == ' ')) {
            is_good = is_good && put_items(p, at, line_end);
            p->record.size = (uint32_t)(line_end - p->record.text);
        } else if (!is_blank) {
            HD_TRY(finish_record(p, &is_open, is_good));
            if (!note_other(p, at, line_end)) return p->error.status;
        }
        p->lines += next != NULL;
        at = next ? next + 1 : end;
        if (p->error.status) return p->error.status;
    }
    return finish_record(p, &is_open, is_good);
}
