/* parse.c - a pass from its text, NAME:KEY=VALUE,FLAG */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "heddle/names.h"
#include "pass/pass.h"

enum { NAME_MAX_BYTES = 64 };

typedef struct parser {
    hd_pass *pass;
    const char *at;
    char word[NAME_MAX_BYTES]; /* the key at hand */
    hd_error *err;
} parser;

const char *hd_option_kind_name(hd_option_kind kind)
{
    static const char *const names[] = {"", "flag", "decimal", "time", "offset", "text", "patterns", "texts", "file"};
    return names[kind];
}

const hd_pass_about *hd_pass_about_of(const hd_pass *pass)
{
    return pass->about;
}

const hd_option_about *hd_pass_second_option(const hd_pass_about *about)
{
    for (const hd_option_about *o = about->options; o->name; o++) {
        if (o->kind == HD_OPTION_TRACE) return o;
    }
    return NULL;
}

static void *field_of(const hd_pass *pass, const hd_option_about *option)
{
    return (char *)pass->options + option->field;
}

const char *hd_pass_second(const hd_pass *pass)
{
    const hd_option_about *option = hd_pass_second_option(pass->about);
    return option ? *(const char **)field_of(pass, option) : NULL;
}

/* ---- times ---- */

/* Digits with at most one point; *out_scale is how many stand behind it. NULL: it is no such number. */
static const char *read_digits(int64_t *out, unsigned *out_scale, const char *text)
{
    unsigned digits = 0;
    bool point = false;
    *out = 0;
    *out_scale = 0;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        if (++digits > 15) return NULL;
        *out = *out * 10 + (*text - '0');
        *out_scale += point;
    }
    return digits ? text : NULL;
}

hd_status hd_convert_time_parse(hd_convert_time *out, const char *text, hd_error *err)
{
    static const struct {
        const char *name;
        hd_convert_unit unit;
        int64_t factor;
    } units[] = {
        {"ns", HD_CONVERT_NS, 1},           {"us", HD_CONVERT_NS, 1000},    {"\xc2\xb5s", HD_CONVERT_NS, 1000},
        {"\xce\xbcs", HD_CONVERT_NS, 1000}, {"ms", HD_CONVERT_NS, 1000000}, {"s", HD_CONVERT_NS, 1000000000},
        {"%", HD_CONVERT_PERCENT, 10000},
    };
    __extension__ typedef __int128 i128;
    int64_t digits;
    unsigned scale;
    const char *unit = read_digits(&digits, &scale, text);
    if (unit && *unit == '\0' && digits == 0) unit = "ns";
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++) {
        if (strcmp(unit, units[i].name) != 0) continue;
        i128 value = (i128)digits * units[i].factor;
        while (scale-- > 0) value /= 10;
        if (value > INT64_MAX)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "'%.40s' is too large", text);
        *out = (hd_convert_time){units[i].unit, (int64_t)value};
        return HD_OK;
    }
    if (unit && *unit == '\0')
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "'%.40s' has no unit: write %.40sns, %.40sus, %.40sms, %.40ss or %.40s%%", text, text, text,
                            text, text, text);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "'%.40s' is no time: write 1.5s, 250ms, 10us, 4ns or 12.5%%", text);
}

/* ---- values ---- */

static hd_status add_text(parser *p, hd_option_texts *texts, const char *value)
{
    const char **items = hd_arena_alloc(&p->pass->texts, (texts->count + 1) * sizeof *items);
    if (!items) return HD_NOMEM(p->err);
    if (texts->count) memcpy(items, texts->items, texts->count * sizeof *items);
    items[texts->count] = value;
    *texts = (hd_option_texts){items, texts->count + 1};
    return HD_OK;
}

static hd_status add_pattern(parser *p, const char **patterns, const char *value)
{
    size_t size = (*patterns ? strlen(*patterns) : 0) + strlen(value) + 2;
    char *joined = hd_arena_alloc(&p->pass->texts, size);
    if (!joined) return HD_NOMEM(p->err);
    snprintf(joined, size, "%s%s%s", *patterns ? *patterns : "", *patterns ? "," : "", value);
    *patterns = joined;
    return HD_OK;
}

static hd_status set_decimal(parser *p, double *field, const char *value)
{
    char *end;
    *field = strtod(value, &end);
    if (end != value && *end == '\0' && *field >= 0 && *field <= 1e9) return HD_OK;
    return hd_error_set(p->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "'%.40s' is no number from 0 to 1e9", value);
}

static hd_status set_offset(parser *p, hd_convert_time *field, const char *value)
{
    bool minus = *value == '-';
    HD_TRY(hd_convert_time_parse(field, value + minus, p->err));
    if (minus) field->value = -field->value;
    if (field->unit == HD_CONVERT_NS) return HD_OK;
    return hd_error_set(p->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "is a time, such as -1.5s or 20us");
}

/* value NULL: the key stood alone. */
static hd_status set_value(parser *p, const hd_option_about *option, const char *value)
{
    void *field = field_of(p->pass, option);
    if (option->kind == HD_OPTION_FLAG) {
        *(bool *)field = true;
        if (!value) return HD_OK;
        return hd_error_set(p->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "is a flag and takes no value");
    }
    if (!value || *value == '\0')
        return hd_error_set(p->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "needs a value: %s=%s", option->name,
                            hd_option_kind_name(option->kind));
    switch (option->kind) {
    case HD_OPTION_DECIMAL: return set_decimal(p, field, value);
    case HD_OPTION_TIME: return hd_convert_time_parse(field, value, p->err);
    case HD_OPTION_OFFSET: return set_offset(p, field, value);
    case HD_OPTION_PATTERNS: return add_pattern(p, field, value);
    case HD_OPTION_TEXTS: return add_text(p, field, value);
    default: *(const char **)field = value; return HD_OK;
    }
}

/* ---- the text ---- */

/* The letters up to one of `ends`; what is too long for any name is cut, and will be unknown. */
static void read_word(parser *p, const char *ends)
{
    size_t size = strcspn(p->at, ends);
    snprintf(p->word, sizeof p->word, "%.*s", size < sizeof p->word ? (int)size : NAME_MAX_BYTES - 1, p->at);
    p->at += size;
}

/* The value up to a comma that no backslash is before. */
static hd_status read_value(char **out, parser *p)
{
    char *to = *out = hd_arena_alloc(&p->pass->texts, strlen(p->at) + 1);
    if (!to) return HD_NOMEM(p->err);
    for (; *p->at && *p->at != ','; p->at++) {
        if (*p->at == '\\' && (p->at[1] == ',' || p->at[1] == '\\')) p->at++;
        *to++ = *p->at;
    }
    *to = '\0';
    return HD_OK;
}

/* "a, b, c" into text. */
static void add_name(char *text, size_t size, const char *name)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
}

static hd_status refuse_option(parser *p)
{
    char known[HD_ERROR_MESSAGE_BYTES / 2] = "";
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    const hd_pass_about *about = p->pass->about;
    for (const hd_option_about *o = about->options; o->name; o++) {
        hd_name_suggest(p->word, o->name, &best, &distance);
        add_name(known, sizeof known, o->name);
    }
    if (best)
        return hd_error_set(p->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "pass %s has no option '%s'; did you mean %s? A comma of a value is \\,", about->name,
                            p->word, best);
    return hd_error_set(p->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "pass %s has no option '%s'; it has %s. A comma of a value is \\,", about->name, p->word,
                        *known ? known : "none");
}

static hd_status parse_option(parser *p)
{
    char *value = NULL;
    read_word(p, "=,");
    if (*p->at == '=') {
        p->at++;
        HD_TRY(read_value(&value, p));
    }
    for (const hd_option_about *o = p->pass->about->options; o->name; o++) {
        if (strcmp(o->name, p->word) != 0) continue;
        hd_status status = set_value(p, o, value);
        if (status == HD_ERR_ARGUMENT) hd_error_add_cause(p->err, "pass %s: %s", p->pass->about->name, o->name);
        return status;
    }
    return refuse_option(p);
}

static hd_status find_pass(const hd_pass_about **out, parser *p, const hd_pass_about *const *more, size_t more_count)
{
    char known[HD_ERROR_MESSAGE_BYTES / 2] = "";
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    read_word(p, ":");
    for (size_t i = 0; i < hd_pass_count() + more_count; i++) {
        const hd_pass_about *about = i < hd_pass_count() ? hd_pass_at(i) : more[i - hd_pass_count()];
        *out = about;
        if (strcmp(about->name, p->word) == 0) return HD_OK;
        hd_name_suggest(p->word, about->name, &best, &distance);
        add_name(known, sizeof known, about->name);
    }
    if (best)
        return hd_error_set(p->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no pass '%s'; did you mean %s?", p->word,
                            best);
    return hd_error_set(p->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no pass '%s'; there are %s", p->word, known);
}

hd_status hd_pass_new_default(hd_pass **out, const hd_pass_about *about, hd_error *err)
{
    hd_pass *pass = *out = calloc(1, sizeof *pass);
    if (!pass) return HD_NOMEM(err);
    pass->about = about;
    pass->options = calloc(1, about->options_size + 1);
    parser p = {.pass = pass, .err = err};
    hd_status status = pass->options ? HD_OK : HD_NOMEM(err);
    for (const hd_option_about *o = about->options; o->name && status == HD_OK; o++) {
        if (o->fallback) status = set_value(&p, o, o->fallback);
    }
    if (status == HD_OK) return HD_OK;
    hd_pass_free(pass);
    *out = NULL;
    return status;
}

hd_status hd_pass_new(hd_pass **out, const char *text, const hd_pass_about *const *more, size_t more_count,
                      hd_error *err)
{
    parser p = {.at = text, .err = err};
    const hd_pass_about *about;
    *out = NULL;
    HD_TRY(find_pass(&about, &p, more, more_count));
    HD_TRY(hd_pass_new_default(&p.pass, about, err));
    hd_status status = HD_OK;
    while (*p.at && status == HD_OK) {
        p.at++; /* the colon, or a comma */
        status = parse_option(&p);
    }
    if (status == HD_OK && about->check) status = about->check(p.pass->options, err);
    if (status == HD_OK)
        *out = p.pass;
    else
        hd_pass_free(p.pass);
    return status;
}

void hd_pass_free(hd_pass *pass)
{
    if (!pass) return;
    hd_arena_deinit(&pass->texts);
    free(pass->options);
    free(pass);
}
