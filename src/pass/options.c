/* options.c - the values of a table of options, from texts */
#include "pass/options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "heddle/names.h"

const char *hd_option_kind_name(hd_option_kind kind)
{
    static const char *const names[] = {"",       "flag", "count",    "decimal", "time",
                                        "offset", "text", "patterns", "texts",   "file"};
    return names[kind];
}

/* ---- times ---- */

/* Digits with at most one point; *out_scale: number of digits after it. NULL: not such a number. */
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

static hd_status add_text(hd_option_values *v, hd_option_texts *texts, const char *value, hd_error *err)
{
    const char **items = hd_arena_alloc(&v->texts, (texts->count + 1) * sizeof *items);
    if (!items) return HD_NOMEM(err);
    if (texts->count) memcpy(items, texts->items, texts->count * sizeof *items);
    items[texts->count] = value;
    *texts = (hd_option_texts){items, texts->count + 1};
    return HD_OK;
}

static hd_status add_pattern(hd_option_values *v, const char **patterns, const char *value, hd_error *err)
{
    size_t size = (*patterns ? strlen(*patterns) : 0) + strlen(value) + 2;
    char *joined = hd_arena_alloc(&v->texts, size);
    if (!joined) return HD_NOMEM(err);
    snprintf(joined, size, "%s%s%s", *patterns ? *patterns : "", *patterns ? "," : "", value);
    *patterns = joined;
    return HD_OK;
}

static hd_status set_count(uint64_t *field, const char *value, hd_error *err)
{
    char *end;
    errno = 0;
    *field = strtoull(value, &end, 10);
    if (value[0] >= '0' && value[0] <= '9' && *end == '\0' && !errno && *field >= 1) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "'%.40s' is not a number from 1 to %" PRIu64, value,
                        UINT64_MAX);
}

static hd_status set_decimal(double *field, const char *value, hd_error *err)
{
    char *end;
    *field = strtod(value, &end);
    if (end != value && *end == '\0' && *field >= 0 && *field <= 1e9) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "'%.40s' is not a number from 0 to 1e9", value);
}

hd_status hd_option_set_offset(hd_convert_time *field, const char *value, hd_error *err)
{
    bool minus = *value == '-';
    HD_TRY(hd_convert_time_parse(field, value + minus, err));
    if (minus) field->value = -field->value;
    if (field->unit == HD_CONVERT_NS) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "is a time, such as -1.5s or 20us");
}

static hd_status set_value(hd_option_values *v, const hd_option_about *option, const char *value, hd_error *err)
{
    void *field = (char *)v->values + option->field;
    if (option->kind == HD_OPTION_FLAG) {
        *(bool *)field = true;
        if (!value) return HD_OK;
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "is a flag and takes no value");
    }
    if (!value || *value == '\0')
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "needs a value: %s=%s", option->name,
                            hd_option_kind_name(option->kind));
    switch (option->kind) {
    case HD_OPTION_COUNT: return set_count(field, value, err);
    case HD_OPTION_DECIMAL: return set_decimal(field, value, err);
    case HD_OPTION_TIME: return hd_convert_time_parse(field, value, err);
    case HD_OPTION_OFFSET: return hd_option_set_offset(field, value, err);
    case HD_OPTION_PATTERNS: return add_pattern(v, field, value, err);
    case HD_OPTION_TEXTS: return add_text(v, field, value, err);
    default: *(const char **)field = value; return HD_OK;
    }
}

hd_status hd_option_values_init(hd_option_values *out, const hd_option_about *about, size_t size, hd_error *err)
{
    hd_status status = HD_OK;
    *out = (hd_option_values){.about = about, .values = calloc(1, size + 1)};
    if (!out->values) return HD_NOMEM(err);
    for (const hd_option_about *o = about; o && o->name && status == HD_OK; o++) {
        if (o->fallback) status = set_value(out, o, o->fallback, err);
    }
    if (status != HD_OK) hd_option_values_deinit(out);
    return status;
}

void hd_option_values_deinit(hd_option_values *v)
{
    hd_arena_deinit(&v->texts);
    free(v->values);
    *v = (hd_option_values){0};
}

void hd_name_list_add(char *text, size_t size, const char *name)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
}

static hd_status refuse_option(const hd_option_values *v, const char *of, const char *name, hd_error *err)
{
    char known[HD_ERROR_MESSAGE_BYTES / 2] = "";
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    for (const hd_option_about *o = v->about; o && o->name; o++) {
        hd_name_suggest(name, o->name, &best, &distance);
        hd_name_list_add(known, sizeof known, o->name);
    }
    if (best)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s has no option '%.60s'; did you mean %s?",
                            of, name, best);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s has no option '%.60s'; it has %s", of, name,
                        *known ? known : "none");
}

hd_status hd_option_values_set(hd_option_values *v, const char *of, const char *name, const char *value, hd_error *err)
{
    for (const hd_option_about *o = v->about; o && o->name; o++) {
        if (strcmp(o->name, name) != 0) continue;
        hd_status status = set_value(v, o, value, err);
        if (status == HD_ERR_ARGUMENT) hd_error_add_cause(err, "%s: %s", of, o->name);
        return status;
    }
    return refuse_option(v, of, name, err);
}
